//! Messages that a device writes into the memory of another one, of ranks that are threads of one process.
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
//! counts alone remain.

use super::arguments::{Mail, Posts};
use super::direct::{FLAG, patience};
use crate::dist::Share;
use crate::gpu::GpuError;
use chromaflow_comm::{CommError, Communicator};
use chromaflow_device::cuda::{DeviceBuffer, Event, Gpu, Pinned, Read, Stream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// The most neighbors: each has a bit that says which box is next.
pub(super) const MOST: usize = 64;

/// What a rank opens to the others.
struct End {
    ordinal: usize,
    /// By neighbor.
    doors: Vec<Door>,
    alarm: Arc<Alarm>,
    /// Numbers of exchanges from each neighbor, `FLAG` words apart.
    flags: DeviceBuffer<u32>,
    /// The boxes.
    _room: DeviceBuffer<u32>,
}

/// What a rank opens to one other.
struct Door {
    rank: usize,
    /// Addresses of its boxes for what that one sends.
    boxes: [u64; 2],
    /// That a message *to* that one is written, by turns.
    written: [Event; 2],
    /// Messages whose event was recorded.
    posted: AtomicU64,
}

/// Words of the host that kernels see: the first says which neighbor they have waited for in vain (direct.cuh), one for each neighbor
/// whether it has left.
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
    own: Arc<End>,
    /// Of each neighbor what it has opened, and which of its doors is ours.
    others: Vec<(Arc<End>, usize)>,
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
}

impl Drop for Peers {
    /// Boxes of others are kept until nothing here writes into them.
    fn drop(&mut self) {
        // A device that has failed writes nothing any more.
        let _ = self.stream.synchronize();
        for (end, door) in &self.others {
            end.alarm.word(1 + door).store(1, Ordering::Release);
        }
    }
}

impl Peers {
    /// For rows of up to so many words; or why messages cannot pass so, on all ranks alike. Collective.
    pub fn new(share: &Arc<Share>, stream: &Stream, words: usize) -> Result<Result<Self, String>, GpuError> {
        let ranks = Arc::clone(share.ranks());
        let Some(threads) = ranks.in_process() else {
            return Ok(Err("ranks are processes".to_owned()));
        };
        let (gpu, neighbors) = (stream.gpu(), share.halo().neighbors());
        let rows: usize = neighbors.iter().map(|n| n.receive.len()).sum();
        let room = DeviceBuffer::<u32>::zeroed(stream, 2 * rows * words)?;
        let flags = DeviceBuffer::<u32>::zeroed(stream, neighbors.len() * FLAG)?;
        let (mut doors, mut at) = (Vec::new(), room.ptr());
        for n in neighbors {
            let size = 4 * (n.receive.len() * words) as u64;
            let written = [Event::untimed(gpu)?, Event::untimed(gpu)?];
            doors.push(Door { rank: n.rank, boxes: [at, at + size], written, posted: AtomicU64::new(0) });
            at += 2 * size;
        }
        // The boxes are there before anybody writes into them.
        stream.synchronize()?;
        let alarm = Arc::new(Alarm::new(gpu, neighbors.len())?);
        let own = Arc::new(End { ordinal: gpu.facts().ordinal, doors, alarm, flags, _room: room });
        let all = threads.meet(Arc::clone(&own) as _)?;
        let ends: Vec<Arc<End>> = all.into_iter().filter_map(|end| end.downcast().ok()).collect();
        let mut fault = if neighbors.len() > MOST {
            format!("rank {} has {} neighbors, at most {MOST}", ranks.rank(), neighbors.len())
        } else {
            String::new()
        };
        for n in neighbors {
            let other = ends[n.rank].ordinal;
            if gpu.reaches(other)? {
                gpu.open_memory_to(other)?;
            } else {
                fault = format!("GPU {} cannot reach the memory of GPU {other}", own.ordinal);
            }
        }
        // One way for all, and everybody's memory is open before the first message.
        let faults = ranks.gather_all(fault.as_bytes())?;
        if let Some(fault) = faults.iter().find(|fault| !fault.is_empty()) {
            return Ok(Err(String::from_utf8_lossy(fault).into_owned()));
        }
        let door_to_us = |end: &End| end.doors.iter().position(|door| door.rank == ranks.rank());
        let others: Vec<(Arc<End>, usize)> = neighbors
            .iter()
            .map(|n| {
                let end = Arc::clone(&ends[n.rank]);
                let door = door_to_us(&end).expect("neighbors know one another");
                (end, door)
            })
            .collect();
        let outgoing: Vec<u64> = others.iter().flat_map(|(end, door)| end.doors[*door].boxes).collect();
        let incoming: Vec<u64> = own.doors.iter().flat_map(|door| door.boxes).collect();
        let theirs: Vec<u64> =
            others.iter().map(|(end, door)| end.flags.ptr() + 4 * (door * FLAG) as u64).collect();
        let (words, theirs) = (stream.upload(&[0u32; 2])?, stream.upload(&theirs)?);
        let [base, done] = [words.ptr(), words.ptr() + 4];
        // No x of theirs: rows pass through boxes.
        let mail = [
            neighbors.len() as u64,
            base,
            own.flags.ptr(),
            theirs.ptr(),
            0,
            0,
            0,
            done,
            own.alarm.address(),
            patience(threads),
        ];
        let mut devices: Vec<usize> = ends.iter().map(|end| end.ordinal).collect();
        devices.sort_unstable();
        Ok(Ok(Self {
            apart: devices.len() > 1 && devices.windows(2).all(|two| two[0] != two[1]),
            done: vec![0; others.len()],
            outgoing: stream.upload(&outgoing)?,
            incoming: stream.upload(&incoming)?,
            told: 0,
            mail: stream.upload(&mail)?,
            _words: words,
            _theirs: theirs,
            stream: stream.clone(),
            own,
            others,
        }))
    }

    /// Whether kernels may wait for those of other ranks, on all ranks alike, with neighbors or without: they then run at the same time,
    /// whatever else does.
    pub fn may_wait(&self) -> bool {
        self.apart
    }

    /// Where kernels say that they have waited in vain.
    pub fn alarm(&self) -> &Alarm {
        &self.own.alarm
    }

    /// Has the share of the ranks look for that.
    pub fn watched_by(&self, share: &Share) {
        let (alarm, ranks) = (Arc::clone(&self.own.alarm), Arc::clone(share.ranks()));
        let neighbors: Vec<usize> = self.own.doors.iter().map(|door| door.rank).collect();
        share.watch(move || {
            let found = alarm.word(0).load(Ordering::Acquire);
            let (threads, &rank) =
                (ranks.in_process()?, neighbors.get((found & !LEFT).checked_sub(1)? as usize)?);
            if found & LEFT == 0 {
                return Some(CommError::Late { rank, patience: threads.patience() });
            }
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
        for &n in partners {
            let (door, turn) = (&self.own.doors[n], self.done[n]);
            if by_events {
                door.written[(turn & 1) as usize].record(&self.stream)?;
            }
            door.posted.store(turn + 1, Ordering::Release);
        }
        Ok(())
    }

    /// Has the stream wait for the partners' messages, or what is enqueued next; `false` where something has failed.
    pub fn take(&self, share: &Share, partners: &[usize], by_events: bool) -> Result<bool, GpuError> {
        for &n in partners {
            let (end, door) = &self.others[n];
            let (door, turn, from) = (&end.doors[*door], self.done[n], self.own.doors[n].rank);
            if !share.wait_until(from, || door.posted.load(Ordering::Acquire) > turn) {
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
