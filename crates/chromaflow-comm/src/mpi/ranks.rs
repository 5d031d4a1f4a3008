//! Ranks that MPI started.

use super::abi::{Calls, Room};
use super::beats::Beats;
use super::line::Line;
use super::{Found, Launch, MpiError, find};
use crate::{CommError, Communicator, Log, Tag};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The ranks of MPI: those that a launcher started together, or of a communicator that the program has. All calls must come from the thread
/// that opened it, or, where the program asked MPI for more, one at a time.
#[derive(Debug)]
pub struct Mpi {
    /// It is the duplicate of a communicator of the program, which has begun with MPI itself and ends it.
    duplicate: bool,
    line: Arc<Line>,
    rank: usize,
    size: usize,
    patience: Duration,
    log: Log,
    /// Where the library lets several threads call it.
    beats: Mutex<Option<Beats>>,
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
/// What part of its patience a rank waits longer for one that gives signs of life: whoever waits for the silent one itself speaks first.
const A_LITTLE: u32 = 10;
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
        let ([rank, size], serialized) = calls.begin()?;
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
        let line = Arc::new(Line::new(calls));
        let beats = serialized.then(|| Beats::begin(&line, rank, size, patience)).flatten();
        Ok(Self::of(line, [rank, size], patience, beats, false))
    }

    fn of(
        line: Arc<Line>,
        [rank, size]: [usize; 2],
        patience: Duration,
        beats: Option<Beats>,
        duplicate: bool,
    ) -> Self {
        Self {
            duplicate,
            line,
            rank,
            size,
            patience,
            log: Log::default(),
            beats: Mutex::new(beats),
            outbox: Mutex::default(),
        }
    }

    /// The ranks of a communicator of this program, which has called `MPI_Init`: by Fortran's number of it (`MPI_Comm_c2f`, a 32-bit integer in
    /// every MPI), else `MPI_COMM_WORLD`. They pass messages by a duplicate of their own, given back when this is dropped, and give no signs of
    /// life between: the program may not let several threads call MPI. Collective, and so is the drop.
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
                    let ranks = calls.join(fortran)?;
                    return Ok(Self::of(Arc::new(Line::new(calls)), ranks, patience, None, true));
                }
                Err(error) if asked => return Err(error),
                Err(_) => {}
            }
        }
        Err(last)
    }

    /// The library in use.
    pub fn found(&self) -> &Found {
        &self.line.calls().found
    }

    /// Libraries that could be opened on this machine, best first; for reports.
    pub fn libraries() -> Vec<Found> {
        find::candidates().into_iter().filter_map(|path| Calls::look_at(&path).ok()).collect()
    }

    /// Ends all ranks with this exit status: for a rank that has failed.
    pub fn abort(&self, status: u8) {
        self.line.with(|calls| calls.abort(i32::from(status)));
    }

    /// Waits until what was sent has left, and ends MPI. All ranks do so together.
    pub fn leave(&self) {
        if self.duplicate {
            return self.empty_outbox();
        }
        let mut beats = self.beats();
        if let Some(beats) = beats.as_mut() {
            beats.end();
        }
        drop(beats);
        // When all are here, none sends signs any more.
        if self.barrier().is_ok()
            && let Some(beats) = self.beats().take()
        {
            beats.clear();
        }
        self.empty_outbox();
        self.line.with(Calls::end);
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
            if self.line.with(|calls| calls.done(&mut outbox[at].0.0)).map_err(|e| failed(&e))? {
                drop(outbox.swap_remove(at));
            } else {
                at += 1;
            }
        }
        Ok(outbox.is_empty())
    }

    fn beats(&self) -> MutexGuard<'_, Option<Beats>> {
        self.beats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the process of a rank has given no sign for as long as ranks have patience; `false` where nobody gives any.
    fn misses(&self, rank: usize) -> bool {
        self.beats().as_ref().is_some_and(|beats| beats.misses(rank))
    }

    /// Who is silent where a message of `from` does not come: that rank, or one that it waits for itself. None where all give signs of life, so far.
    fn silent(&self, from: usize) -> Option<usize> {
        let told = self.beats().is_some();
        if !told || self.misses(from) { Some(from) } else { self.missed() }
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
            let found = self.line.with(|calls| calls.receive(from, number(tag)));
            if let Some(bytes) = found.map_err(|e| failed(&e))? {
                return Ok(bytes);
            }
            looks += 1;
            if looks.is_multiple_of(LOOKS) {
                self.clear_outbox()?;
                // Who waits for longer than else, waits for one that is there.
                let gone = patience > self.patience && self.misses(from);
                if gone {
                    return Err(CommError::late(self, from, self.patience));
                }
                let waited = start.elapsed();
                if waited > patience {
                    let longer = waited > patience + patience / A_LITTLE;
                    if let Some(silent) = self.silent(from).or_else(|| longer.then_some(from)) {
                        return Err(CommError::late(self, silent, patience));
                    }
                }
                thread::yield_now();
            }
        }
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if self.duplicate && self.line.with(Calls::is_under_way) {
            self.empty_outbox();
            self.line.with(Calls::part);
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
            self.line
                .with(|calls| calls.send(&bytes, to, number(tag), &mut request))
                .map_err(|e| failed(&e))?;
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

    fn missed(&self) -> Option<usize> {
        (0..self.size).find(|&rank| rank != self.rank && self.misses(rank))
    }

    fn log(&self) -> Option<&Log> {
        Some(&self.log)
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// The first library that opens.
fn open(launch: Launch) -> Result<Calls, MpiError> {
    open_first(launch, &find::candidates(), std::env::var_os(find::ASKED).is_some())
}

/// The first of these that opens; where it was asked for by name, there is but one.
fn open_first(launch: Launch, candidates: &[PathBuf], asked: bool) -> Result<Calls, MpiError> {
    for path in candidates {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_library_is_an_error_that_names_what_was_tried() {
        let launch = Launch { launcher: "srun", size: 8 };
        let tried = ["/nowhere/libmpi.so.40", "/nowhere/libmpi.so.12"].map(PathBuf::from);
        let error = open_first(launch, &tried, false).unwrap_err();
        assert_eq!(
            error.to_string(),
            "8 ranks were started by srun, but no MPI library was found (tried /nowhere/libmpi.so.40, /nowhere/libmpi.so.12): set \
             CHROMAFLOW_MPI to the libmpi of this srun; on one host use --ranks 8 without it"
        );
        let error = open_first(launch, &tried[..1], true).unwrap_err().to_string();
        assert!(
            error.starts_with("CHROMAFLOW_MPI names /nowhere/libmpi.so.40, which cannot be opened"),
            "{error}"
        );
    }
}
