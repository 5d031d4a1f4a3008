//! Messages by NCCL, between GPUs of one host or of many.
//!
//! A kernel packs the rows into boxes, one a neighbor; all messages of an exchange are one group on a stream beside, so that interior rows
//! are worked on while they fly; another kernel unpacks them. No host takes part: all of it may be recorded in the graph of a solve.
//!
//! NCCL's kernels wait for the other rank without an end. A thread looks after them: where a rank has failed, or the messages of this one
//! stand still for as long as the ranks have patience, it ends them, and [`Share::check`] says why.

use super::List;
use super::boxes::Boxes;
use crate::dist::Share;
use crate::gpu::GpuError;
use chromaflow_comm::{CommError, Communicator};
use chromaflow_device::cuda::{CudaError, Event, Gpu, Leg, Nccl, NcclRank, Stream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How often a guard looks.
const LOOK: Duration = Duration::from_millis(50);

/// A rank's messages by NCCL.
pub(super) struct ByNccl {
    pub boxes: Boxes,
    /// Numbers of the neighbors' ranks.
    neighbors: Vec<usize>,
    rank: Arc<NcclRank>,
    /// The stream of messages.
    beside: Stream,
    packed: Event,
    arrived: Event,
    guard: Guard,
    version: String,
}

impl ByNccl {
    /// For rows of up to so many words; or why messages cannot pass so, on all ranks alike. Collective.
    pub fn new(share: &Arc<Share>, stream: &Stream, words: usize) -> Result<Result<Self, String>, GpuError> {
        let (ranks, neighbors) = (share.ranks(), share.halo().neighbors());
        if ranks.size() < 2 {
            return Ok(Err("a rank alone".to_owned()));
        }
        if let Some(why) = missing(&**ranks, stream.gpu())? {
            return Ok(Err(why));
        }
        let nccl = Nccl::open()?;
        let mut id = if ranks.rank() == 0 { nccl.id()?.to_vec() } else { Vec::new() };
        ranks.broadcast(0, &mut id)?;
        let id =
            id.try_into().map_err(|_| GpuError::Unsupported("an id of NCCL has 128 bytes".to_owned()))?;
        let rank = Arc::new(NcclRank::join(stream.gpu(), id, ranks.rank(), ranks.size())?);
        let beside = stream.gpu().stream()?;
        let made = Self {
            boxes: Boxes::new(neighbors, stream, words)?,
            neighbors: neighbors.iter().map(|n| n.rank).collect(),
            guard: Guard::new(Arc::clone(ranks), Arc::clone(&rank), [stream.clone(), beside.clone()])?,
            rank,
            beside,
            packed: Event::untimed(stream.gpu())?,
            arrived: Event::untimed(stream.gpu())?,
            version: nccl.version(),
        };
        // Ranks connect with their first messages, which cannot be recorded.
        stream.synchronize()?;
        let whole = |side: usize, n: usize| made.boxes.bytes(side, &made.boxes.whole(side, n));
        let legs = made.neighbors.iter().enumerate();
        let legs: Vec<Leg> =
            legs.map(|(n, &rank)| Leg { rank, send: whole(0, n), receive: whole(1, n) }).collect();
        // SAFETY: the boxes have so many bytes, and each rank has the counterparts of its neighbors' messages.
        unsafe { made.rank.pass(&made.beside, &legs)? };
        made.beside.synchronize()?;
        ranks.barrier()?;
        Ok(Ok(made))
    }

    /// Its version.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Has the share of the ranks look for what has gone wrong.
    pub fn watched_by(&self, share: &Share) {
        let found = Arc::clone(&self.guard.found);
        share.watch(move || found.get().cloned());
    }

    /// Sends what was packed and receives as much, beside the stream of all work.
    pub fn pass(&self, list: &List, words: usize, stream: &Stream) -> Result<(), GpuError> {
        self.packed.record(stream)?;
        self.beside.wait(&self.packed)?;
        let rows = list.send.counts.iter().zip(&list.receive.counts);
        let part = |side: usize, n: usize, rows: usize| {
            self.boxes.bytes(side, &self.boxes.part(side, n, rows * words))
        };
        let leg = |(&n, (&sent, &received)): (&usize, (&usize, &usize))| Leg {
            rank: self.neighbors[n],
            send: part(0, n, sent),
            receive: part(1, n, received),
        };
        let legs: Vec<Leg> = list.partners.iter().zip(rows).map(leg).collect();
        // SAFETY: boxes have room for all rows that pass; what one sends in an exchange the other receives.
        unsafe { self.rank.pass(&self.beside, &legs)? };
        Ok(self.arrived.record(&self.beside)?)
    }

    /// Has the stream wait for the neighbors' messages.
    pub fn take(&self, stream: &Stream) -> Result<(), GpuError> {
        Ok(stream.wait(&self.arrived)?)
    }
}

impl Drop for ByNccl {
    fn drop(&mut self) {
        // What is under way ends before the communicator does. A device that has failed does nothing any more.
        let _ = self.beside.synchronize();
    }
}

/// Why messages of all these ranks cannot pass by NCCL, on all of them alike. Collective.
pub(super) fn missing(ranks: &dyn Communicator, gpu: &Gpu) -> Result<Option<String>, CommError> {
    let found = match Nccl::open() {
        Ok(nccl) => format!("+{} {}", nccl.version(), gpu.facts().uuid),
        Err(error) => error.to_string(),
    };
    let all = ranks.gather_all(found.as_bytes())?;
    let all: Vec<_> = all.iter().map(|found| String::from_utf8_lossy(found).into_owned()).collect();
    Ok(unfit(&all))
}

/// Why messages cannot pass by NCCL, of what each rank has found: `+version uuid`, or what is wrong there.
fn unfit(all: &[String]) -> Option<String> {
    let mut fit = Vec::new();
    for (rank, found) in all.iter().enumerate() {
        match found.strip_prefix('+').and_then(|found| found.split_once(' ')) {
            Some(found) => fit.push(found),
            None => return Some(format!("rank {rank}: {found}")),
        }
    }
    for (rank, (version, uuid)) in fit.iter().enumerate() {
        if *version != fit[0].0 {
            return Some(format!("rank {rank} has NCCL {version}, rank 0 {}", fit[0].0));
        }
        if let Some(other) = fit[..rank].iter().position(|(_, other)| other == uuid) {
            return Some(format!("ranks {other} and {rank} share a GPU, which NCCL refuses"));
        }
    }
    None
}

/// Looks after messages that wait for other ranks.
struct Guard {
    over: Arc<AtomicBool>,
    /// What has gone wrong.
    found: Arc<OnceLock<CommError>>,
    thread: Option<JoinHandle<()>>,
}

impl Guard {
    /// Of a rank whose messages are on one of these streams.
    fn new(
        ranks: Arc<dyn Communicator>,
        rank: Arc<NcclRank>,
        streams: [Stream; 2],
    ) -> Result<Self, GpuError> {
        let over = Arc::new(AtomicBool::new(false));
        let found = Arc::new(OnceLock::new());
        let (ends, finds) = (Arc::clone(&over), Arc::clone(&found));
        let look = move || {
            let ask = || streams.each_ref().map(Stream::asked);
            let stands = |stream: &Stream| stream.is_idle().is_ok_and(|idle| idle == Some(false));
            let (mut asked, mut since) = (ask(), Instant::now());
            while !ends.load(Ordering::Acquire) {
                thread::park_timeout(LOOK);
                // A host that waits for its device asks for nothing more.
                let now = ask();
                if now != asked || !streams.iter().any(stands) {
                    (asked, since) = (now, Instant::now());
                }
                let error = match (ranks.check(), rank.check()) {
                    (Err(error), _) => error,
                    (_, Err(error)) => CommError::Library { why: error.to_string() },
                    _ if since.elapsed() < ranks.patience() => continue,
                    _ => match ranks.missed() {
                        Some(rank) => {
                            CommError::late(&*ranks, rank, ranks.patience()).during("its GPU's rows")
                        }
                        None => CommError::silent(&*ranks, ranks.patience()),
                    },
                };
                let _ = finds.set(error); // the first of this guard
                rank.abort();
                return;
            }
        };
        let thread = thread::Builder::new().name("nccl-guard".to_owned()).spawn(look);
        let thread = thread
            .map_err(|e| CudaError::Library { call: "a thread for NCCL's guard", status: e.to_string() })?;
        Ok(Self { over, found, thread: Some(thread) })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join(); // it panics nowhere, and nobody asks what it found any more
        }
    }
}

#[cfg(test)]
mod tests {
    use super::unfit;

    #[test]
    fn ranks_agree_on_what_they_have() {
        let all = |found: &[&str]| unfit(&found.iter().map(|&f| f.to_owned()).collect::<Vec<_>>());
        assert_eq!(all(&["+2.27.3 a", "+2.27.3 b"]), None);
        assert_eq!(all(&["+2.27.3 a", "not found"]).unwrap(), "rank 1: not found");
        assert_eq!(all(&["+2.27.3 a", "+2.18.0 b"]).unwrap(), "rank 1 has NCCL 2.18.0, rank 0 2.27.3");
        assert!(all(&["+2.27.3 a", "+2.27.3 b", "+2.27.3 a"]).unwrap().starts_with("ranks 0 and 2 share"));
    }
}
