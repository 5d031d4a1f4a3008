//! Messages that a device writes into the memory of another one, of ranks that are threads of one process or processes of one host.
//!
//! Each rank has two boxes for each neighbor, which take turns. A kernel of the sender writes into the box whose turn it is; an event in
//! the sender's stream says when it is full, and a count in memory that the event was recorded; the receiver's host, which is as far
//! ahead of its device as the sender's, then has its stream wait for the event. So a device waits for work that was enqueued before, and
//! for nothing else.
//!
//! A box is written again two exchanges later. The sender's stream has by then waited for the receiver's event of the exchange between,
//! which the receiver recorded after it had emptied the box; likewise an event is recorded again once its waits are enqueued.
//!
//! An event for each neighbor and a wait for each take the host longer than a small exchange takes devices. Where kernels may wait for one
//! another, an exchange with all neighbors is told by the kernel that writes and awaited by the one that reads (direct.cuh), and the hosts'
//! counts alone remain. Hosts of different processes see no counts of one another: there every exchange is told and awaited so, of all
//! neighbors, with rows for them or without.

use super::arguments::{Mail, Posts};
use super::direct::{FLAG, patience};
use super::window::{Between, Site, Window, agreed, told, unfit};
use crate::dist::Share;
use crate::gpu::GpuError;
use chromaflow_comm::{CommError, Communicator, Neighbor, Threads};
use chromaflow_device::cuda::{DeviceBuffer, Event, Gpu, Pinned, Read, Stream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The most neighbors: each has a bit that says which box is next.
pub(super) const MOST: usize = 64;

/// What the host of a rank that is a thread opens to the others.
struct End {
    /// By neighbor.
    doors: Vec<Door>,
    alarm: Arc<Alarm>,
}

/// What it opens to one other.
struct Door {
    rank: usize,
    /// That a message *to* that one is written, by turns.
    written: [Event; 2],
    /// Messages whose event was recorded.
    posted: AtomicU64,
}

/// The ends of threads.
struct Hosts {
    own: Arc<End>,
    /// Of each neighbor what it has opened, and which of its doors is ours.
    others: Vec<(Arc<End>, usize)>,
}

/// Words of the host that kernels see: the first says which neighbor they have waited for in vain (direct.cuh), one for each neighbor
/// whether it has left, which threads tell.
pub(super) struct Alarm(Pinned<u32>);

/// Set in the first word where the neighbor has left.
pub(super) const LEFT: u32 = 1 << 31;

impl Alarm {
    fn new(gpu: &Gpu, neighbors: usize) -> Result<Self, GpuError> {
        Ok(Self(Pinned::zeroed(gpu, 1 + neighbors)?))
    }

    fn word(&self, at: usize) -> &AtomicU32 {
        let word = std::ptr::from_ref(&self.0[at]).cast_mut();
        // SAFETY: an aligned word that lives as long as `self`; host and device read and write it as one.
        unsafe { AtomicU32::from_ptr(word) }
    }

    /// Where kernels find the words.
    pub fn address(&self) -> u64 {
        self.0.as_ptr() as u64
    }
}

/// The neighbors' memory.
pub(super) struct Peers {
    /// Whether no two ranks share a device.
    apart: bool,
    between: Between,
    alarm: Arc<Alarm>,
    /// The neighbors' ranks.
    ranks: Vec<usize>,
    /// Of threads.
    hosts: Option<Hosts>,
    /// Exchanges with each neighbor so far.
    done: Vec<u64>,
    /// Boxes of the neighbors, and own ones.
    outgoing: DeviceBuffer<u64>,
    incoming: DeviceBuffer<u64>,
    /// Exchanges with all neighbors that kernels told, and what those need.
    told: u32,
    mail: DeviceBuffer<u64>,
    /// What the mail names: a base of zero, a count of thread blocks, and where neighbors await numbers.
    _words: DeviceBuffer<u32>,
    _theirs: DeviceBuffer<u64>,
    stream: Stream,
    /// Numbers of exchanges from each neighbor, `FLAG` words apart, then the boxes; and those of the neighbors.
    _window: Window,
}

impl Drop for Peers {
    /// Boxes of others are kept until nothing here writes into them.
    fn drop(&mut self) {
        // A device that has failed writes nothing any more.
        let _ = self.stream.synchronize();
        for (end, door) in self.hosts.iter().flat_map(|hosts| &hosts.others) {
            end.alarm.word(1 + door).store(1, Ordering::Release);
        }
    }
}

/// Where the numbers and boxes of each neighbor begin in a window, in words, [number, box, box]; and words in all.
fn places(neighbors: &[Neighbor], words: usize) -> (Vec<[usize; 3]>, usize) {
    let mut at = neighbors.len() * FLAG;
    let mut place = |(k, n): (usize, &Neighbor)| {
        let (first, size) = (at, n.receive.len() * words);
        at += 2 * size;
        [k * FLAG, first, first + size]
    };
    let places = neighbors.iter().enumerate().map(&mut place).collect();
    (places, at)
}

impl Hosts {
    /// What hosts of threads tell one another. Collective.
    fn meet(
        threads: &Threads,
        neighbors: &[Neighbor],
        gpu: &Gpu,
        alarm: &Arc<Alarm>,
    ) -> Result<Self, GpuError> {
        let door = |n: &Neighbor| -> Result<Door, GpuError> {
            let written = [Event::untimed(gpu)?, Event::untimed(gpu)?];
            Ok(Door { rank: n.rank, written, posted: AtomicU64::new(0) })
        };
        let doors = neighbors.iter().map(door).collect::<Result<_, _>>()?;
        let own = Arc::new(End { doors, alarm: Arc::clone(alarm) });
        let all = threads.meet(Arc::clone(&own) as _)?;
        let ends: Vec<Arc<End>> = all.into_iter().filter_map(|end| end.downcast().ok()).collect();
        let other = |n: &Neighbor| {
            let end = Arc::clone(&ends[n.rank]);
            let door = end.doors.iter().position(|door| door.rank == threads.rank());
            (end, door.expect("neighbors know one another"))
        };
        Ok(Self { own, others: neighbors.iter().map(other).collect() })
    }
}

/// Why devices cannot all write into one another's memory, on all ranks alike, as far as that is known before anybody has neighbors. Collective.
pub(super) fn far(ranks: &dyn Communicator, gpu: &Gpu) -> Result<Option<String>, GpuError> {
    let (own, sites) = (ranks.rank(), Site::all(ranks, gpu)?);
    let others = || (0..sites.len()).filter(|&other| other != own);
    let mut fault = None;
    if Between::of(ranks) == Between::Threads {
        for other in others() {
            if !gpu.reaches(sites[other].ordinal)? {
                fault = Some(unreached(sites[own].ordinal, sites[other].ordinal));
                break;
            }
        }
    } else {
        let all: Vec<Neighbor> =
            others().map(|rank| Neighbor { rank, send: Vec::new(), receive: Vec::new() }).collect();
        fault = unfit(&sites, own, &all);
    }
    Ok(agreed(ranks, fault)?)
}

fn unreached(own: usize, other: usize) -> String {
    format!("GPU {own} cannot reach the memory of GPU {other}")
}

/// Why the device of a rank cannot write into the memory of its neighbors', as far as that is known beforehand. Where it can, threads open
/// their memory.
fn closed(
    gpu: &Gpu,
    (rank, sites): (usize, &[Site]),
    neighbors: &[Neighbor],
    between: Between,
) -> Result<Option<String>, GpuError> {
    if neighbors.len() > MOST {
        return Ok(Some(format!("rank {rank} has {} neighbors, at most {MOST}", neighbors.len())));
    }
    if between == Between::Processes {
        // Whether devices reach one another shows when memory is opened: a process may not see that of another one.
        return Ok(unfit(sites, rank, neighbors));
    }
    for n in neighbors {
        let other = sites[n.rank].ordinal;
        if !gpu.reaches(other)? {
            return Ok(Some(unreached(sites[rank].ordinal, other)));
        }
        gpu.open_memory_to(other)?;
    }
    Ok(None)
}

impl Peers {
    /// For rows of up to so many words; or why messages cannot pass so, on all ranks alike. Collective.
    pub fn new(share: &Arc<Share>, stream: &Stream, words: usize) -> Result<Result<Self, String>, GpuError> {
        let ranks = &**share.ranks();
        let (gpu, neighbors, between) = (stream.gpu(), share.halo().neighbors(), Between::of(ranks));
        let sites = Site::all(ranks, gpu)?;
        // One way for all, and everybody's memory is open before the first message.
        if let Some(fault) = agreed(ranks, closed(gpu, (ranks.rank(), &sites), neighbors, between)?)? {
            return Ok(Err(fault));
        }
        let (places, all) = places(neighbors, words);
        let window = match Window::new(share, stream, all)? {
            Ok(window) => window,
            Err(fault) => return Ok(Err(fault)),
        };
        let alarm = Arc::new(Alarm::new(gpu, neighbors.len())?);
        let hosts =
            ranks.in_process().map(|threads| Hosts::meet(threads, neighbors, gpu, &alarm)).transpose()?;
        let far = told(ranks, neighbors, |n| places[n].map(|at| at as u32).to_vec())?;
        let at = |base: u64, word: usize| base + 4 * word as u64;
        let there = |which: usize| {
            window.others.iter().zip(&far).map(move |(&base, far)| at(base, far[which] as usize))
        };
        let outgoing: Vec<u64> = there(1).zip(there(2)).flat_map(|(a, b)| [a, b]).collect();
        let incoming: Vec<u64> =
            places.iter().flat_map(|place| [at(window.own, place[1]), at(window.own, place[2])]).collect();
        let (words, theirs) = (stream.upload(&[0u32; 2])?, stream.upload(&there(0).collect::<Vec<_>>())?);
        let [base, done] = [words.ptr(), words.ptr() + 4];
        // No x of theirs: rows pass through boxes.
        let mail = [
            neighbors.len() as u64,
            base,
            window.own,
            theirs.ptr(),
            0,
            0,
            0,
            done,
            alarm.address(),
            patience(ranks),
        ];
        Ok(Ok(Self {
            apart: sites.len() > 1 && Site::apart(&sites),
            between,
            alarm,
            ranks: neighbors.iter().map(|n| n.rank).collect(),
            hosts,
            done: vec![0; neighbors.len()],
            outgoing: stream.upload(&outgoing)?,
            incoming: stream.upload(&incoming)?,
            told: 0,
            mail: stream.upload(&mail)?,
            _words: words,
            _theirs: theirs,
            stream: stream.clone(),
            _window: window,
        }))
    }

    /// Whose memory it is.
    pub fn between(&self) -> Between {
        self.between
    }

    /// Whether kernels may wait for those of other ranks, on all ranks alike, with neighbors or without: they then run at the same time,
    /// whatever else does.
    pub fn may_wait(&self) -> bool {
        self.apart
    }

    /// Where kernels say that they have waited in vain.
    pub fn alarm(&self) -> &Alarm {
        &self.alarm
    }

    /// Has the share of the ranks look for that.
    pub fn watched_by(&self, share: &Share) {
        let (alarm, ranks) = (Arc::clone(&self.alarm), Arc::clone(share.ranks()));
        let neighbors = self.ranks.clone();
        share.watch(move || {
            let found = alarm.word(0).load(Ordering::Acquire);
            let &rank = neighbors.get((found & !LEFT).checked_sub(1)? as usize)?;
            let threads = ranks.in_process().filter(|_| found & LEFT != 0);
            let Some(threads) = threads else {
                return Some(CommError::late(&*ranks, rank, ranks.patience()).during("its GPU's rows"));
            };
            // It says why it has left, if something went wrong there.
            threads.wait_until(rank, || false).err()
        });
    }

    /// Which box of each partner is next.
    fn turns(&self, partners: &[usize]) -> u64 {
        partners.iter().fold(0, |turns, &n| turns | (self.done[n] & 1) << n)
    }

    /// Where messages are written to.
    pub fn outgoing(&self, partners: &[usize]) -> (&DeviceBuffer<u64>, u64) {
        (&self.outgoing, self.turns(partners))
    }

    /// Where messages are found.
    pub fn incoming(&self, partners: &[usize]) -> (&DeviceBuffer<u64>, u64) {
        (&self.incoming, self.turns(partners))
    }

    /// The number of the next exchange with all neighbors, which kernels tell.
    pub fn posts(&self) -> Posts {
        Posts { mail_of: Read::<Mail>::at(self.mail.ptr()), step: self.told, edge: 0 }
    }

    /// Says that messages are written once the stream has come so far: by events, or by the kernel that writes them.
    pub fn post(&self, partners: &[usize], by_events: bool) -> Result<(), GpuError> {
        let Some(hosts) = &self.hosts else { return Ok(()) };
        for &n in partners {
            let (door, turn) = (&hosts.own.doors[n], self.done[n]);
            if by_events {
                door.written[(turn & 1) as usize].record(&self.stream)?;
            }
            door.posted.store(turn + 1, Ordering::Release);
        }
        Ok(())
    }

    /// Has the stream wait for the partners' messages, or what is enqueued next; `false` where something has failed.
    pub fn take(&self, share: &Share, partners: &[usize], by_events: bool) -> Result<bool, GpuError> {
        let Some(hosts) = &self.hosts else { return Ok(share.check().is_ok()) };
        for &n in partners {
            let ((end, door), turn) = (&hosts.others[n], self.done[n]);
            let door = &end.doors[*door];
            if !share.wait_until(self.ranks[n], || door.posted.load(Ordering::Acquire) > turn) {
                return Ok(false);
            }
            if by_events {
                self.stream.wait(&door.written[(turn & 1) as usize])?;
            }
        }
        Ok(true)
    }

    /// The exchange is over.
    pub fn next(&mut self, partners: &[usize], told: bool) {
        self.told = self.told.wrapping_add(u32::from(told));
        for &n in partners {
            self.done[n] += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers have lines of their own, boxes follow without a gap and do not overlap.
    #[test]
    fn numbers_and_boxes_have_their_places() {
        let neighbor = |rank, rows: usize| Neighbor { rank, send: vec![], receive: vec![0; rows] };
        let (places, words) = places(&[neighbor(1, 3), neighbor(4, 0), neighbor(7, 2)], 10);
        assert_eq!(places, [[0, 96, 126], [32, 156, 156], [64, 156, 176]]);
        assert_eq!(words, 196);
        assert_eq!(super::places(&[], 10), (vec![], 0));
    }
}
