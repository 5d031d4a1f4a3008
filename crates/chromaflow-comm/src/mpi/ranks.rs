//! Ranks that MPI started.

use super::abi::{Calls, Room};
use super::{Found, Launch, MpiError, find};
use crate::{CommError, Communicator, Tag};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The ranks of MPI: those that a launcher started together, or of a communicator that the program has. All calls must come from the thread
/// that opened it, or, where the program asked MPI for more, one at a time.
#[derive(Debug)]
pub struct Mpi {
    /// It is the duplicate of a communicator of the program, which has begun with MPI itself and ends it.
    duplicate: bool,
    calls: Calls,
    rank: usize,
    size: usize,
    patience: Duration,
    /// Messages that are on their way, with their bytes.
    outbox: Mutex<Vec<(Request, Vec<u8>)>>,
}

/// A request. It may move while MPI knows it: what it holds is a handle.
struct Request(Room);

impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Request")
    }
}

/// Bytes of the longest message: counts of MPI are 32 bits wide. One of exactly so many is followed by another.
const LONGEST: usize = 1 << 30;
/// Longest wait for what was sent to leave, at the end.
const PARTING: Duration = Duration::from_secs(60);
/// Looks for a message before the thread lets others run.
const LOOKS: u32 = 2000;

impl Mpi {
    /// Opens the library of the launcher that started this process, and joins the other ranks; no rank waits longer than `patience`
    /// for a message.
    ///
    /// # Errors
    /// [`MpiError`].
    pub fn join(launch: Launch, patience: Duration) -> Result<Self, MpiError> {
        let calls = open(launch)?;
        let [rank, size] = calls.begin()?;
        if size != launch.size {
            let library = calls.found.library.display().to_string();
            // Only one of them is to speak, but each takes itself for the first.
            return Err(MpiError::TwoMpis {
                launcher: launch.launcher,
                started: launch.size,
                library,
                seen: size,
            });
        }
        Ok(Self { duplicate: false, calls, rank, size, patience, outbox: Mutex::new(Vec::new()) })
    }

    /// The ranks of a communicator of this program, which has called `MPI_Init`: by Fortran's number of it (`MPI_Comm_c2f`, a 32-bit integer in
    /// every MPI), else `MPI_COMM_WORLD`. They pass messages by a duplicate of their own, given back when this is dropped. Collective, and so is
    /// the drop.
    ///
    /// # Errors
    /// [`MpiError`].
    pub fn of_program(fortran: Option<i32>, patience: Duration) -> Result<Self, MpiError> {
        let asked = std::env::var_os(find::ASKED).is_some();
        let mut last = MpiError::NotLoaded;
        for path in find::loaded() {
            match Calls::open_loaded(&path) {
                // Of several libraries the one that has begun.
                Ok(calls) if !calls.is_under_way() => {
                    last = MpiError::NotBegun { library: path.display().to_string() };
                }
                Ok(mut calls) => {
                    let [rank, size] = calls.join(fortran)?;
                    return Ok(Self {
                        duplicate: true,
                        calls,
                        rank,
                        size,
                        patience,
                        outbox: Mutex::default(),
                    });
                }
                Err(error) if asked => return Err(error),
                Err(_) => {}
            }
        }
        Err(last)
    }

    /// The library in use.
    pub fn found(&self) -> &Found {
        &self.calls.found
    }

    /// Libraries that could be opened on this machine, best first; for reports.
    pub fn libraries() -> Vec<Found> {
        find::candidates().into_iter().filter_map(|path| Calls::look_at(&path).ok()).collect()
    }

    /// Ends all ranks with this exit status: for a rank that has failed.
    pub fn abort(&self, status: u8) {
        self.calls.abort(i32::from(status));
    }

    /// Waits until what was sent has left, and ends MPI. All ranks do so together.
    pub fn leave(&self) {
        self.empty_outbox();
        if !self.duplicate {
            self.calls.end();
        }
    }

    /// Waits until what was sent has left, which is soon where the others have taken it.
    fn empty_outbox(&self) {
        let (start, longest) = (Instant::now(), self.patience.min(PARTING));
        while !self.clear_outbox().unwrap_or(true) && start.elapsed() < longest {
            thread::yield_now();
        }
    }

    /// Drops what has been sent; whether nothing is left.
    fn clear_outbox(&self) -> Result<bool, CommError> {
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        let mut at = 0;
        while at < outbox.len() {
            if self.calls.done(&mut outbox[at].0.0).map_err(|e| failed(&e))? {
                drop(outbox.swap_remove(at));
            } else {
                at += 1;
            }
        }
        Ok(outbox.is_empty())
    }

    fn partner(&self, rank: usize) -> Result<(), CommError> {
        if rank < self.size && rank != self.rank {
            return Ok(());
        }
        Err(CommError::NoRank { rank, own: self.rank, size: self.size })
    }

    fn next_part(&self, patience: Duration, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        let start = Instant::now();
        let mut looks = 0_u32;
        loop {
            if let Some(bytes) = self.calls.receive(from, number(tag)).map_err(|e| failed(&e))? {
                return Ok(bytes);
            }
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                self.clear_outbox()?;
                if start.elapsed() > patience {
                    return Err(CommError::Late { rank: from, patience });
                }
                thread::yield_now();
            }
        }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.duplicate && self.calls.is_under_way() {
            self.empty_outbox();
            self.calls.part();
        }
    }
}

impl Communicator for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), CommError> {
        self.partner(to)?;
        self.clear_outbox()?;
        let mut outbox = self.outbox.lock().unwrap_or_else(PoisonError::into_inner);
        let mut post = |bytes: Vec<u8>| {
            let mut request = Room::EMPTY;
            self.calls.send(&bytes, to, number(tag), &mut request).map_err(|e| failed(&e))?;
            outbox.push((Request(request), bytes));
            Ok(())
        };
        if bytes.len() < LONGEST {
            return post(bytes);
        }
        bytes.chunks(LONGEST).try_for_each(|part| post(part.to_vec()))?;
        if bytes.len().is_multiple_of(LONGEST) { post(Vec::new()) } else { Ok(()) }
    }

    fn receive_within(&self, patience: Duration, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        self.partner(from)?;
        let mut all = Vec::new();
        loop {
            let part = self.next_part(patience, from, tag)?;
            let last = part.len() < LONGEST;
            if last && all.is_empty() {
                return Ok(part);
            }
            all.extend_from_slice(&part);
            if last {
                return Ok(all);
            }
        }
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// The first library that opens.
fn open(launch: Launch) -> Result<Calls, MpiError> {
    let candidates = find::candidates();
    let asked = std::env::var_os(find::ASKED).is_some();
    for path in &candidates {
        match Calls::open(path) {
            Ok(calls) => return Ok(calls),
            Err(error) if asked => return Err(error),
            Err(_) => {}
        }
    }
    let tried: Vec<String> = candidates.iter().map(|path| path.display().to_string()).collect();
    let (ranks, launcher) = (launch.size, launch.launcher);
    Err(MpiError::NoLibrary { ranks, launcher, tried: tried.join(", ") })
}

/// The number of a tag, far below the least upper bound that MPI promises.
fn number(tag: Tag) -> i32 {
    match tag {
        Tag::Collective => 0,
        Tag::Halo(number) => 1 + number as i32 % 30_000,
    }
}

fn failed(error: &MpiError) -> CommError {
    CommError::Library { why: error.to_string() }
}
