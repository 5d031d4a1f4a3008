//! Signs of life: a thread of each process tells the others once in a while that it is there, whatever its ranks do meanwhile.
//!
//! A rank that reads a mesh or writes files sends nothing for as long as that takes, and who waits for it cannot know for how long. What
//! it can know is whether the process is there: one that is stopped, or whose host hangs or is cut off, is silent. All ranks tell rank 0,
//! and rank 0 tells them, with the numbers of those that it has not heard of: two messages a rank and beat, however many ranks there are.

use super::abi::Room;
use super::line::Line;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// What they travel with: beyond the tags of all else, and below the least upper bound that MPI promises.
const BEAT: i32 = 30_001;
/// Beats in the time that ranks have patience for one another.
const IN_PATIENCE: u32 = 30;
/// So many beats late a thread has been held up.
const LATE: u32 = 5;

/// The beats of this process, and what it has heard of others.
#[derive(Debug)]
pub(super) struct Beats {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct State {
    line: Arc<Line>,
    rank: usize,
    began: Instant,
    interval: Duration,
    over: AtomicBool,
    /// When each rank was heard of last, in milliseconds since the beginning: on rank 0 all, elsewhere rank 0.
    heard: Vec<AtomicU64>,
    /// When the thread looked last. Who was stopped itself, or got no core, knows nothing of others.
    looked: AtomicU64,
    /// Ranks that rank 0 has not heard of for too long, as it has told.
    silent: Mutex<Vec<u32>>,
}

impl State {
    fn now(&self) -> u64 {
        self.began.elapsed().as_millis() as u64
    }

    /// Whether a rank that this one hears of itself has been silent for as long as nearly all of the patience: what has not come by then is
    /// known to all a beat or two later.
    fn misses(&self, rank: usize) -> bool {
        let now = self.now();
        let longer = |since: &AtomicU64, beats: u32| {
            u128::from(now.saturating_sub(since.load(Ordering::Relaxed)))
                > (self.interval * beats).as_millis()
        };
        longer(&self.heard[rank], IN_PATIENCE - 2) && !longer(&self.looked, LATE)
    }

    /// Takes what has come.
    fn hear(&self) {
        let partners = if self.rank == 0 { 1..self.heard.len() } else { 0..1 };
        for from in partners {
            // What fails here fails where somebody waits, too.
            while let Ok(Some(bytes)) = self.line.with(|calls| calls.receive(from, BEAT)) {
                self.heard[from].store(self.now(), Ordering::Relaxed);
                if self.rank > 0 {
                    let numbers = bytes.as_chunks().0.iter().map(|n| u32::from_le_bytes(*n));
                    *self.silent.lock().unwrap_or_else(PoisonError::into_inner) = numbers.collect();
                }
            }
        }
    }

    fn beat(&self) {
        let ranks = self.heard.len();
        let partners: Vec<usize> = if self.rank == 0 { (1..ranks).collect() } else { vec![0] };
        // A message to each; the next one when the one before has left.
        let mut sent: Vec<Option<(Room, Vec<u8>)>> = partners.iter().map(|_| None).collect();
        let left = |message: &mut Option<(Room, Vec<u8>)>| {
            let done = message
                .as_mut()
                .is_none_or(|(request, _)| self.line.with(|calls| calls.done(request)).unwrap_or(true));
            if done {
                *message = None;
            }
            done
        };
        while !self.over.load(Ordering::Acquire) {
            let now = self.now();
            let before = self.looked.swap(now, Ordering::Relaxed);
            if u128::from(now - before) > (self.interval * LATE).as_millis() {
                self.heard.iter().for_each(|heard| heard.store(now, Ordering::Relaxed));
            }
            self.hear();
            let mut told = Vec::new();
            if self.rank == 0 {
                for rank in (1..ranks).filter(|&rank| self.misses(rank)) {
                    told.extend_from_slice(&(rank as u32).to_le_bytes());
                }
            }
            for (&to, message) in partners.iter().zip(&mut sent) {
                if !left(message) {
                    continue;
                }
                let (_, bytes) = message.insert((Room::EMPTY, told.clone()));
                let mut request = Room::EMPTY;
                let posted = self.line.with(|calls| calls.send(bytes, to, BEAT, &mut request));
                match (posted, message) {
                    (Ok(()), Some((room, _))) => *room = request,
                    (_, message) => *message = None,
                }
            }
            thread::park_timeout(self.interval);
        }
        // What is under way keeps its bytes until it has left, or until MPI ends without it.
        let end = Instant::now();
        while !sent.iter_mut().all(left) && end.elapsed() < self.interval {
            thread::yield_now();
        }
        sent.into_iter().flatten().for_each(|(_, bytes)| std::mem::forget(bytes));
    }
}

impl Beats {
    /// Of one of so many ranks, which have this patience; none where there is no thread for them.
    pub fn begin(line: &Arc<Line>, rank: usize, size: usize, patience: Duration) -> Option<Self> {
        let state = Arc::new(State {
            line: Arc::clone(line),
            rank,
            began: Instant::now(),
            interval: patience / IN_PATIENCE,
            over: AtomicBool::new(false),
            looked: AtomicU64::new(0),
            heard: (0..size).map(|_| AtomicU64::new(0)).collect(),
            silent: Mutex::default(),
        });
        let own = Arc::clone(&state);
        let thread = thread::Builder::new().name("beats".to_owned()).spawn(move || own.beat()).ok()?;
        Some(Self { state, thread: Some(thread) })
    }

    /// Whether a rank has given no sign for as long as ranks have patience.
    pub fn misses(&self, rank: usize) -> bool {
        let state = &self.state;
        if state.rank == 0 || rank == 0 {
            return state.misses(rank);
        }
        state.silent.lock().unwrap_or_else(PoisonError::into_inner).contains(&(rank as u32))
    }

    /// No more of them from here on.
    pub fn end(&mut self) {
        self.state.over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join(); // it panics nowhere
        }
    }

    /// Takes those that have come, once nobody sends any more.
    pub fn clear(&self) {
        self.state.hear();
    }
}

impl Drop for Beats {
    fn drop(&mut self) {
        self.end();
    }
}
