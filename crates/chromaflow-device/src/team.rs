#![allow(unsafe_code)]
//! Pinned threads that run one closure together.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

/// Spins before a waiting thread gives its core away: long enough for a sweep's barriers, short enough that an
/// overcommitted machine does not collapse.
const SPINS: u32 = 2000;
/// Yields after which an idle worker goes to sleep.
const YIELDS: u32 = 200;

/// `0..n` cut into `parts` nearly equal ranges: the one with index `part`.
///
/// ```
/// use chromaflow_device::split;
/// assert_eq!((0..3).map(|p| split(10, 3, p)).collect::<Vec<_>>(), [0..4, 4..7, 7..10]);
/// ```
#[must_use]
pub fn split(n: usize, parts: usize, part: usize) -> Range<usize> {
    let (q, r) = (n / parts, n % parts);
    let start = part * q + part.min(r);
    start..start + q + usize::from(part < r)
}

/// A fixed team of threads: the caller and `size - 1` workers, each pinned to its own core where there are enough.
///
/// [`Team::run`] has every member run the same closure; members synchronize with [`Member::barrier`]. Dropping the
/// team ends its workers. A panic in any member ends the run on all of them and is raised again in the caller.
///
/// ```
/// use chromaflow_device::Team;
/// use std::sync::atomic::{AtomicUsize, Ordering};
/// let team = Team::new(3);
/// let sum = AtomicUsize::new(0);
/// team.run(|m| {
///     sum.fetch_add(m.rank() + 1, Ordering::Relaxed);
///     m.barrier();
///     assert_eq!(sum.load(Ordering::Relaxed), 6);
/// });
/// ```
pub struct Team {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
    /// One run at a time.
    running: Mutex<()>,
}

type Job = *const (dyn Fn(&Member<'_>) + Sync);

struct Shared {
    size: usize,
    job: Mutex<JobSlot>,
    wake: Condvar,
    epoch: AtomicUsize,
    done: AtomicUsize,
    arrived: AtomicUsize,
    phase: AtomicUsize,
    failed: AtomicBool,
}

struct JobSlot {
    job: Option<Job>,
    stop: bool,
}

// SAFETY: the pointer is only dereferenced between the epoch's start and the last `done`, while `Team::run` keeps the
// closure alive on its stack; the closure is Sync.
unsafe impl Send for JobSlot {}

/// One thread's view of a running [`Team`].
pub struct Member<'a> {
    rank: usize,
    shared: &'a Shared,
}

/// Raised in members that wait for one that panicked.
struct TeamFailed;

impl Member<'_> {
    /// This member's number, `0..size`; 0 is the caller of [`Team::run`].
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// Number of members.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// This member's share of `0..n`: see [`split`].
    pub fn share(&self, n: usize) -> Range<usize> {
        split(n, self.shared.size, self.rank)
    }

    /// Waits until every member has come here. What any member wrote before is visible to all after.
    pub fn barrier(&self) {
        let s = self.shared;
        if s.size == 1 {
            return;
        }
        let phase = s.phase.load(Ordering::Relaxed);
        if s.arrived.fetch_add(1, Ordering::AcqRel) + 1 == s.size {
            s.arrived.store(0, Ordering::Relaxed);
            s.phase.store(phase.wrapping_add(1), Ordering::Release);
            return;
        }
        let mut spins = 0;
        while s.phase.load(Ordering::Acquire) == phase {
            if s.failed.load(Ordering::Relaxed) {
                resume_unwind(Box::new(TeamFailed));
            }
            pause(&mut spins);
        }
    }
}

fn pause(spins: &mut u32) {
    if *spins < SPINS {
        *spins += 1;
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

impl Team {
    /// A team of `threads` (at least one). Threads are pinned to the cores this process may use, unless there are
    /// fewer of those than threads.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        let size = threads.max(1);
        let shared = Arc::new(Shared {
            size,
            job: Mutex::new(JobSlot { job: None, stop: false }),
            wake: Condvar::new(),
            epoch: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            arrived: AtomicUsize::new(0),
            phase: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
        });
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        let pin = size > 1 && cores.len() >= size;
        if pin {
            core_affinity::set_for_current(cores[0]);
        }
        let workers = (1..size)
            .map(|rank| {
                let shared = Arc::clone(&shared);
                let core = pin.then(|| cores[rank]);
                std::thread::Builder::new()
                    .name(format!("chromaflow-{rank}"))
                    .spawn(move || {
                        if let Some(core) = core {
                            core_affinity::set_for_current(core);
                        }
                        work(&shared, rank);
                    })
                    .expect("the system refused a thread")
            })
            .collect();
        Self { shared, workers, running: Mutex::new(()) }
    }

    /// As many threads as cores this process may use.
    #[must_use]
    pub fn all_cores() -> Self {
        Self::new(core_affinity::get_core_ids().map_or(1, |c| c.len()))
    }

    /// Number of members.
    pub fn size(&self) -> usize {
        self.shared.size
    }

    /// Runs `job` on every member and returns when all have finished.
    ///
    /// # Panics
    /// Raises again what a member raised. Calling it from inside a run deadlocks.
    pub fn run<F: Fn(&Member<'_>) + Sync>(&self, job: F) {
        let s = &*self.shared;
        if s.size == 1 {
            job(&Member { rank: 0, shared: s });
            return;
        }
        let guard = self.running.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let job_ref: &(dyn Fn(&Member<'_>) + Sync) = &job;
        // SAFETY: only the lifetime is erased; the loop below does not leave before every worker is done with it.
        let job_ptr: Job = unsafe { std::mem::transmute::<&(dyn Fn(&Member<'_>) + Sync), Job>(job_ref) };
        s.failed.store(false, Ordering::Relaxed);
        s.arrived.store(0, Ordering::Relaxed);
        s.done.store(0, Ordering::Relaxed);
        {
            let mut slot = s.job.lock().expect("no member panics with the job locked");
            slot.job = Some(job_ptr);
            s.epoch.fetch_add(1, Ordering::Release);
        }
        s.wake.notify_all();
        let mine = catch_unwind(AssertUnwindSafe(|| job(&Member { rank: 0, shared: s })));
        if mine.is_err() {
            s.failed.store(true, Ordering::Relaxed);
        }
        let mut spins = 0;
        while s.done.load(Ordering::Acquire) < s.size - 1 {
            pause(&mut spins);
        }
        drop(guard);
        if let Err(cause) = mine
            && !cause.is::<TeamFailed>()
        {
            resume_unwind(cause);
        }
        assert!(!s.failed.load(Ordering::Relaxed), "a team member panicked; its message is above");
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        {
            let mut slot = self.shared.job.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            slot.stop = true;
            self.shared.epoch.fetch_add(1, Ordering::Release);
        }
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

fn work(s: &Shared, rank: usize) {
    let mut seen = 0;
    loop {
        let mut spins = 0;
        let mut yields = 0;
        while s.epoch.load(Ordering::Acquire) == seen && yields < YIELDS {
            if spins == SPINS {
                yields += 1;
            }
            pause(&mut spins);
        }
        let job = {
            let mut slot = s.job.lock().expect("no member panics with the job locked");
            while s.epoch.load(Ordering::Acquire) == seen {
                slot = s.wake.wait(slot).expect("no member panics with the job locked");
            }
            if slot.stop {
                return;
            }
            slot.job.expect("an epoch starts with a job")
        };
        seen = s.epoch.load(Ordering::Acquire);
        // SAFETY: `Team::run` waits for `done` below before the closure dies.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*job)(&Member { rank, shared: s }) }));
        if outcome.is_err() {
            s.failed.store(true, Ordering::Relaxed);
        }
        s.done.fetch_add(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_runs_every_phase() {
        for size in [1, 2, 3, 5] {
            let team = Team::new(size);
            let count = AtomicUsize::new(0);
            for round in 0..50 {
                count.store(0, Ordering::Relaxed);
                team.run(|m| {
                    for phase in 1..=20 {
                        count.fetch_add(1, Ordering::Relaxed);
                        m.barrier();
                        assert_eq!(count.load(Ordering::Relaxed), phase * m.size(), "round {round}");
                        m.barrier();
                    }
                });
            }
        }
    }

    #[test]
    fn a_panic_reaches_the_caller_and_the_team_lives_on() {
        let team = Team::new(3);
        for bad in 0..3 {
            let result = catch_unwind(AssertUnwindSafe(|| {
                team.run(|m| {
                    assert!(m.rank() != bad, "planted");
                    m.barrier();
                });
            }));
            assert!(result.is_err());
            team.run(|m| m.barrier());
        }
    }

    #[test]
    fn shares_cover_the_range() {
        for n in 0..20 {
            for parts in 1..6 {
                let all: Vec<_> = (0..parts).flat_map(|p| split(n, parts, p)).collect();
                assert_eq!(all, (0..n).collect::<Vec<_>>());
            }
        }
    }
}
