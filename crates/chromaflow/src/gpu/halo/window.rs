//! Memory of a rank that its neighbors' devices write into, and theirs: of threads of one process the pool's, of processes of one host what
//! they hand to one another by CUDA IPC.

use crate::dist::Share;
use crate::gpu::GpuError;
use chromaflow_comm::{CommError, Communicator, Neighbor, Tag};
use chromaflow_device::cuda::{DeviceBuffer, Exported, Gpu, Imported, IpcHandle, Stream};
use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Whose memory devices write into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Between {
    /// Ranks that are threads of one process.
    Threads,
    /// Ranks that are processes of one host.
    Processes,
}

impl fmt::Display for Between {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Self::Processes { " (CUDA IPC)" } else { "" })
    }
}

impl Between {
    pub(super) fn of(ranks: &dyn Communicator) -> Self {
        if ranks.in_process().is_some() { Self::Threads } else { Self::Processes }
    }
}

/// Memory of a rank and its neighbors, all of it zero at first.
pub(super) struct Window {
    /// Its address.
    pub own: u64,
    /// That of each neighbor's, as the device here sees it.
    pub others: Vec<u64>,
    /// Keeps both: first that of others goes, of which some must be closed, then what is here.
    _kept: [Box<dyn Any + Send + Sync>; 2],
}

impl Window {
    /// Of so many words; or why a neighbor's cannot be reached, on all ranks alike. Collective. Where there are threads, the pools are open
    /// already.
    pub fn new(share: &Share, stream: &Stream, words: usize) -> Result<Result<Self, String>, GpuError> {
        let (ranks, gpu) = (&**share.ranks(), stream.gpu());
        let neighbors: Vec<usize> = share.halo().neighbors().iter().map(|n| n.rank).collect();
        if let Some(threads) = ranks.in_process() {
            let own = Arc::new(DeviceBuffer::<u32>::zeroed(stream, words)?);
            // It is there before anybody writes into it.
            stream.synchronize()?;
            let all = threads.meet(Arc::clone(&own) as _)?;
            let all: Vec<Arc<DeviceBuffer<u32>>> =
                all.into_iter().filter_map(|of| of.downcast().ok()).collect();
            let kept: Vec<_> = neighbors.iter().map(|&n| Arc::clone(&all[n])).collect();
            let others = kept.iter().map(|of| of.ptr()).collect();
            return Ok(Ok(Self { own: own.ptr(), others, _kept: [Box::new(kept), Box::new(own)] }));
        }
        let own = Exported::zeroed(stream, 4 * words).and_then(|own| {
            stream.synchronize()?;
            Ok((own.handle()?, own))
        });
        let handle = own.as_ref().map(|(handle, _)| handle.to_vec()).map_err(ToString::to_string);
        let open = |handle: &[u8]| {
            let handle: &IpcHandle = handle.try_into().map_err(|_| "no handle of CUDA IPC".to_owned())?;
            Imported::open(gpu, handle).map_err(|error| error.to_string())
        };
        let opened = match opened(ranks, &neighbors, &handle, open)? {
            Ok(opened) => opened,
            Err(why) => return Ok(Err(why)),
        };
        let (_, own) = own?;
        let others = opened.iter().map(Imported::ptr).collect();
        Ok(Ok(Self { own: own.ptr(), others, _kept: [Box::new(opened), Box::new(own)] }))
    }
}

/// Opens what the neighbors have a handle of, as this rank has one or cannot have it; or why that cannot be, on all ranks alike. Collective.
fn opened<T>(
    ranks: &dyn Communicator,
    neighbors: &[usize],
    own: &Result<Vec<u8>, String>,
    open: impl Fn(&[u8]) -> Result<T, String>,
) -> Result<Result<Vec<T>, String>, CommError> {
    let mine = match own {
        Ok(handle) => [b"+", &handle[..]].concat(),
        Err(why) => why.clone().into_bytes(),
    };
    let all = ranks.gather_all(&mine)?;
    let handles: Vec<Option<&[u8]>> = all.iter().map(|said| said.strip_prefix(b"+")).collect();
    if let Some(rank) = handles.iter().position(Option::is_none) {
        return Ok(Err(format!("rank {rank}: {}", String::from_utf8_lossy(&all[rank]))));
    }
    let open = |&n: &usize| {
        open(handles[n].unwrap_or_default())
            .map_err(|why| format!("rank {} cannot open the memory of rank {n}: {why}", ranks.rank()))
    };
    let opened: Result<Vec<T>, String> = neighbors.iter().map(open).collect();
    Ok(agreed(ranks, opened.as_ref().err().cloned())?.map_or(opened, Err))
}

/// The first fault that a rank has found, on all of them. Collective.
pub(super) fn agreed(ranks: &dyn Communicator, fault: Option<String>) -> Result<Option<String>, CommError> {
    let faults = ranks.gather_all(fault.unwrap_or_default().as_bytes())?;
    let first = faults.iter().find(|fault| !fault.is_empty());
    Ok(first.map(|fault| String::from_utf8_lossy(fault).into_owned()))
}

/// Tells each neighbor some numbers, and gives what each tells. Collective.
pub(super) fn told(
    ranks: &dyn Communicator,
    neighbors: &[Neighbor],
    tell: impl Fn(usize) -> Vec<u32>,
) -> Result<Vec<Vec<u32>>, CommError> {
    for (place, n) in neighbors.iter().enumerate() {
        ranks.send(n.rank, Tag::Collective, bytemuck::cast_slice(&tell(place)).to_vec())?;
    }
    let numbers = |bytes: Vec<u8>| bytes.as_chunks().0.iter().map(|n| u32::from_ne_bytes(*n)).collect();
    neighbors.iter().map(|n| ranks.receive(n.rank, Tag::Collective).map(numbers)).collect()
}

/// Where a rank is, as others ask of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Site {
    /// What tells hosts apart: name, and when it was started.
    host: String,
    /// What tells devices apart.
    uuid: String,
    /// The device's number in its process.
    pub ordinal: usize,
}

impl Site {
    /// Of all ranks. Collective.
    pub fn all(ranks: &dyn Communicator, gpu: &Gpu) -> Result<Vec<Self>, CommError> {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let (name, boot) = (read("/proc/sys/kernel/hostname"), read("/proc/sys/kernel/random/boot_id"));
        let facts = gpu.facts();
        let own = format!("{name} {boot}\n{}\n{}", facts.uuid, facts.ordinal);
        let all = ranks.gather_all(own.as_bytes())?;
        Ok(all.iter().map(|said| Self::told(&String::from_utf8_lossy(said))).collect())
    }

    fn told(said: &str) -> Self {
        let mut lines = said.lines();
        let mut next = || lines.next().unwrap_or_default().to_owned();
        Self { host: next(), uuid: next(), ordinal: next().parse().unwrap_or_default() }
    }

    /// Whether no two ranks share a device.
    pub fn apart(all: &[Self]) -> bool {
        all.iter().enumerate().all(|(at, site)| !all[..at].iter().any(|other| other.uuid == site.uuid))
    }
}

/// Why processes cannot write into the memory of these neighbors of a rank, as far as the places of all tell.
pub(super) fn unfit(all: &[Site], rank: usize, neighbors: &[Neighbor]) -> Option<String> {
    if !Site::apart(all) {
        return Some("processes share a GPU, where kernels must not wait for one another".to_owned());
    }
    let far = neighbors.iter().find(|n| all[n.rank].host != all[rank].host)?;
    Some(format!("ranks {} and {} are on different hosts", rank.min(far.rank), rank.max(far.rank)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_comm::{Threads, run};
    use std::time::Duration;

    const PATIENCE: Duration = Duration::from_secs(30);

    fn neighbors(ranks: &[usize]) -> Vec<Neighbor> {
        ranks.iter().map(|&rank| Neighbor { rank, send: vec![], receive: vec![] }).collect()
    }

    fn site(host: &str, uuid: &str) -> Site {
        Site::told(&format!("{host}\n{uuid}\n3"))
    }

    /// Neighbors must be on one host, not all ranks; nobody may share a GPU.
    #[test]
    fn processes_reach_one_another_on_one_host_with_a_gpu_each() {
        let all = [site("a 1", "x"), site("a 1", "y"), site("b 2", "z")];
        assert_eq!(all[0].ordinal, 3);
        assert_eq!(unfit(&all, 0, &neighbors(&[1])), None);
        assert_eq!(unfit(&all, 2, &neighbors(&[1])).unwrap(), "ranks 1 and 2 are on different hosts");
        assert_eq!(unfit(&all, 1, &neighbors(&[0, 2])).unwrap(), "ranks 1 and 2 are on different hosts");
        // A container that was started again, or another one of the same name, is another host.
        assert!(unfit(&[site("a 1", "x"), site("a 2", "y")], 0, &neighbors(&[1])).is_some());
        let shared = [site("a 1", "x"), site("a 1", "x")];
        assert!(unfit(&shared, 0, &[]).unwrap().contains("share a GPU"));
        assert!(Site::apart(&all) && !Site::apart(&shared));
    }

    /// Ranks in a ring each open their neighbors' handles; where one has none or cannot open one, all say so alike, and nothing stays open.
    #[test]
    fn handles_pass_to_neighbors_or_nobody_opens_any() {
        for (size, broken, closed) in
            [(2, None, None), (5, None, None), (5, Some(3), None), (5, None, Some((4, 0)))]
        {
            let found = run(size, PATIENCE, move |ranks: &Threads| {
                let (rank, alive) = (ranks.rank(), Arc::new(()));
                let mut ring = vec![(rank + 1) % size, (rank + size - 1) % size];
                ring.dedup();
                let own = if broken == Some(rank) {
                    Err("no IPC here".to_owned())
                } else {
                    Ok(vec![rank as u8; 64])
                };
                let open = |handle: &[u8]| {
                    assert_eq!(handle.len(), 64);
                    let of = usize::from(handle[63]);
                    assert_ne!(of, rank, "a process cannot open its own");
                    if closed == Some((rank, of)) {
                        Err("invalid".to_owned())
                    } else {
                        Ok((of, Arc::clone(&alive)))
                    }
                };
                let opened = opened(ranks, &ring, &own, open)?;
                let said = opened.map(|opened| {
                    let of: Vec<usize> = opened.iter().map(|(of, _)| *of).collect();
                    assert_eq!(of, ring);
                });
                assert_eq!(Arc::strong_count(&alive), 1, "closed again");
                Ok::<_, CommError>(said.err())
            })
            .unwrap();
            let expected = match (broken, closed) {
                (Some(rank), _) => Some(format!("rank {rank}: no IPC here")),
                (_, Some((a, b))) => Some(format!("rank {a} cannot open the memory of rank {b}: invalid")),
                _ => None,
            };
            assert_eq!(found, vec![expected; size]);
        }
    }

    /// Each neighbor is told its own numbers, and none is too few or too many.
    #[test]
    fn neighbors_tell_one_another_numbers() {
        let found = run(3, PATIENCE, |ranks: &Threads| {
            let own = ranks.rank() as u32;
            let all = neighbors(&[0, 1, 2].into_iter().filter(|&n| n != ranks.rank()).collect::<Vec<_>>());
            told(ranks, &all, |place| vec![100 * own + all[place].rank as u32; ranks.rank()])
        })
        .unwrap();
        assert_eq!(
            found,
            [vec![vec![100], vec![200, 200]], vec![vec![], vec![201, 201]], vec![vec![], vec![102]],]
        );
    }
}
