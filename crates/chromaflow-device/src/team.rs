#![allow(unsafe_code)]
//! Threads that run one closure together.

use crate::TeamError;
use core_affinity::CoreId;
use std::hint;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Looks that a thread takes before it sleeps, some 25 ns each: to wake a thread of a quiet machine costs tens of microseconds, so
/// that waits of a few hundred are better spent awake.
const PATIENT: u32 = 10_000;
/// The same after a long sleep: somebody else needs the cores, and a thread that holds one and waits delays those it waits for.
const HASTY: u32 = 1000;
/// Looks in a row, after which a thread offers its core to others: where threads are more than cores, who is waited for may have
/// none, and a barrier took all of a patient wait (220 us in place of 5). On a quiet machine the offer takes less than a microsecond.
const ROW: u32 = 64;
/// A sleep that is not worth its waking.
const SHORT_SLEEP: Duration = Duration::from_micros(250);

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

/// A fixed team of threads: the caller and `size - 1` workers.
///
/// No thread is tied to a core: the system moves a thread away from a core that somebody else uses, so that several teams, or
/// several programs, share a machine. [`Team::pinned`] ties the workers, the caller's thread never.
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
    /// Counts runs.
    epoch: Signal,
    /// Counts workers that finished the run.
    done: Signal,
    arrived: AtomicUsize,
    /// Counts barriers passed.
    phase: Signal,
    failed: AtomicBool,
}

impl Shared {
    /// Ends the run on every member, those that sleep at a barrier among them.
    fn fail(&self) {
        self.failed.store(true, Ordering::SeqCst);
        self.phase.wake();
    }
}

/// A number that threads wait for: awake a while, with their core on offer, then asleep. How long the last sleep took decides how long the next wait stays
/// awake.
///
/// Either the thread that changes it sees who sleeps, or who goes to sleep sees the change: both write their own word before they
/// read the other's, all in one order (`SeqCst`).
#[repr(align(128))]
struct Signal {
    value: AtomicUsize,
    looks: AtomicU32,
    asleep: AtomicUsize,
    lock: Mutex<()>,
    changed: Condvar,
}

impl Signal {
    fn new() -> Self {
        Self {
            value: AtomicUsize::new(0),
            looks: AtomicU32::new(PATIENT),
            asleep: AtomicUsize::new(0),
            lock: Mutex::new(()),
            changed: Condvar::new(),
        }
    }

    fn get(&self) -> usize {
        self.value.load(Ordering::SeqCst)
    }

    fn set(&self, value: usize) {
        self.value.store(value, Ordering::SeqCst);
        self.wake();
    }

    fn increase(&self) {
        self.value.fetch_add(1, Ordering::SeqCst);
        self.wake();
    }

    fn wake(&self) {
        if self.asleep.load(Ordering::SeqCst) > 0 {
            drop(self.lock()); // who counts as asleep but has not slept yet holds it until it does
            self.changed.notify_all();
        }
    }

    /// Returns when `over`, which reads this number or what is stored before a [`Signal::wake`].
    fn wait(&self, over: impl Fn(usize) -> bool) {
        for look in 1..=self.looks.load(Ordering::Relaxed) {
            if over(self.get()) {
                return;
            }
            if look % ROW == 0 {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
        let start = Instant::now();
        let mut guard = self.lock();
        self.asleep.fetch_add(1, Ordering::SeqCst);
        while !over(self.get()) {
            guard = self.changed.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        self.asleep.fetch_sub(1, Ordering::SeqCst);
        drop(guard);
        let looks = if start.elapsed() > SHORT_SLEEP { HASTY } else { PATIENT };
        self.looks.store(looks, Ordering::Relaxed);
    }

    fn lock(&self) -> MutexGuard<'_, ()> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
        let phase = s.phase.get();
        if s.arrived.fetch_add(1, Ordering::AcqRel) + 1 == s.size {
            s.arrived.store(0, Ordering::Relaxed);
            s.phase.set(phase.wrapping_add(1));
            return;
        }
        s.phase.wait(|now| now != phase || s.failed.load(Ordering::SeqCst));
        if s.phase.get() == phase {
            resume_unwind(Box::new(TeamFailed));
        }
    }
}

impl Team {
    /// A team of `threads` (at least one).
    ///
    /// # Panics
    /// When there are too many or the system refuses one; [`Team::try_new`] returns that.
    #[must_use]
    pub fn new(threads: usize) -> Self {
        Self::try_new(threads).unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// A team of `threads` (at least one).
    ///
    /// # Errors
    /// [`TeamError`] for more than [`Team::most`], before any starts, and when the system refuses one.
    pub fn try_new(threads: usize) -> Result<Self, TeamError> {
        Self::with_cores(threads, &[])
    }

    /// A team of `threads` whose workers are tied to a core each, the second and following of those this process may use, where
    /// there are enough: for a program that has a machine of several sockets to itself. Two such teams, in one program or in two,
    /// would share those cores and leave others idle.
    ///
    /// # Panics
    /// When the system refuses a thread; [`Team::try_pinned`] returns that.
    #[must_use]
    pub fn pinned(threads: usize) -> Self {
        Self::try_pinned(threads).unwrap_or_else(|refused| panic!("{refused}"))
    }

    /// As [`Team::pinned`].
    ///
    /// # Errors
    /// [`TeamError`] for more than [`Team::most`], before any starts, and when the system refuses one.
    pub fn try_pinned(threads: usize) -> Result<Self, TeamError> {
        let cores = core_affinity::get_core_ids().unwrap_or_default();
        Self::with_cores(threads, if cores.len() >= threads { &cores } else { &[] })
    }

    fn with_cores(threads: usize, cores: &[CoreId]) -> Result<Self, TeamError> {
        let size = threads.max(1);
        Self::check(size)?;
        let shared = Arc::new(Shared {
            size,
            job: Mutex::new(JobSlot { job: None, stop: false }),
            epoch: Signal::new(),
            done: Signal::new(),
            arrived: AtomicUsize::new(0),
            phase: Signal::new(),
            failed: AtomicBool::new(false),
        });
        // Dropped when a thread is refused, it ends those that are there.
        let mut team = Self { shared, workers: Vec::new(), running: Mutex::new(()) };
        for rank in 1..size {
            let shared = Arc::clone(&team.shared);
            let core = cores.get(rank).copied();
            let worker = thread::Builder::new().name(format!("chromaflow-{rank}")).spawn(move || {
                if let Some(core) = core {
                    core_affinity::set_for_current(core);
                }
                work(&shared, rank);
            });
            team.workers.push(worker.map_err(|cause| TeamError::Refused { threads: size, rank, cause })?);
        }
        Ok(team)
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
        let guard = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        let job_ref: &(dyn Fn(&Member<'_>) + Sync) = &job;
        // SAFETY: only the lifetime is erased; the loop below does not leave before every worker is done with it.
        let job_ptr: Job = unsafe { std::mem::transmute::<&(dyn Fn(&Member<'_>) + Sync), Job>(job_ref) };
        s.failed.store(false, Ordering::Relaxed);
        s.arrived.store(0, Ordering::Relaxed);
        s.done.value.store(0, Ordering::Relaxed);
        s.job.lock().expect("no member panics with the job locked").job = Some(job_ptr);
        s.epoch.increase();
        let mine = catch_unwind(AssertUnwindSafe(|| job(&Member { rank: 0, shared: s })));
        if mine.is_err() {
            s.fail();
        }
        s.done.wait(|finished| finished == s.size - 1);
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
        self.shared.job.lock().unwrap_or_else(PoisonError::into_inner).stop = true;
        self.shared.epoch.increase();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
    }
}

fn work(s: &Shared, rank: usize) {
    let mut seen = 0;
    loop {
        s.epoch.wait(|now| now != seen);
        let job = {
            let slot = s.job.lock().expect("no member panics with the job locked");
            if slot.stop {
                return;
            }
            slot.job.expect("an epoch starts with a job")
        };
        seen = s.epoch.get();
        // SAFETY: `Team::run` waits for `done` below before the closure dies.
        let outcome = catch_unwind(AssertUnwindSafe(|| unsafe { (*job)(&Member { rank, shared: s }) }));
        if outcome.is_err() {
            s.fail();
        }
        s.done.increase();
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

    /// Those that sleep at a barrier are woken by the member that panics, too.
    #[test]
    fn a_late_panic_wakes_those_that_sleep() {
        for team in [Team::new(3), Team::pinned(3)] {
            for bad in 0..3 {
                let result = catch_unwind(AssertUnwindSafe(|| {
                    team.run(|m| {
                        if m.rank() == bad {
                            thread::sleep(10 * SHORT_SLEEP);
                            panic!("planted");
                        }
                        m.barrier();
                    });
                }));
                assert!(result.is_err());
                team.run(|m| m.barrier());
            }
        }
    }

    /// Neighbors exchange numbers through barriers; `delay` may hold a member up.
    fn rounds(team: &Team, rounds: usize, delay: impl Fn(usize, usize) + Sync) {
        let cells: Vec<AtomicUsize> = (0..team.size()).map(|_| AtomicUsize::new(0)).collect();
        team.run(|m| {
            for round in 1..=rounds {
                delay(round, m.rank());
                cells[m.rank()].store(round, Ordering::Relaxed);
                m.barrier();
                let neighbor = &cells[(m.rank() + 1) % m.size()];
                assert_eq!(neighbor.load(Ordering::Relaxed), round);
                m.barrier();
            }
        });
        assert!(cells.iter().all(|c| c.load(Ordering::Relaxed) == rounds));
    }

    /// Waits that end awake, that end soon after falling asleep, and long ones.
    #[test]
    fn members_meet_whether_they_spin_or_sleep() {
        for size in [2, 3] {
            rounds(&Team::new(size), 30, |round, rank| {
                if round % size == rank {
                    thread::sleep([Duration::ZERO, SHORT_SLEEP, 8 * SHORT_SLEEP][round % 3]);
                }
            });
        }
    }

    #[test]
    fn two_teams_of_two_threads_work_at_once() {
        thread::scope(|scope| {
            for size in [2, 3] {
                scope.spawn(move || {
                    let team = Team::new(size);
                    (0..20).for_each(|_| rounds(&team, 20, |_, _| {}));
                });
            }
        });
    }

    /// Threads that never wait on every core: the team gets its work done among them.
    #[test]
    fn a_team_on_busy_cores_ends() {
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
                scope.spawn(|| {
                    while !over.load(Ordering::Relaxed) {
                        hint::spin_loop();
                    }
                });
            }
            let outcome = catch_unwind(AssertUnwindSafe(|| rounds(&Team::new(2), 100, |_, _| {})));
            over.store(true, Ordering::Relaxed);
            outcome.unwrap_or_else(|cause| resume_unwind(cause));
        });
    }

    /// Members that share a core pass a barrier as soon as each has had its turn, not after a patient wait: 200 of them take a
    /// millisecond or two, and took 40. The best of many runs, since others may hold the core.
    #[test]
    fn members_on_one_core_let_each_other_work() {
        let Some(core) = core_affinity::get_core_ids().and_then(|cores| cores.first().copied()) else {
            return;
        };
        let best = thread::scope(|scope| {
            let measure = || {
                core_affinity::set_for_current(core); // the team's threads inherit it
                let team = Team::new(2);
                let mut took = Vec::new();
                for _ in 0..20 {
                    let start = Instant::now();
                    rounds(&team, 100, |_, _| {});
                    took.push(start.elapsed());
                }
                took.into_iter().min().expect("twenty runs")
            };
            scope.spawn(measure).join().expect("the team ends")
        });
        assert!(best < Duration::from_millis(15), "200 barriers took {best:?}");
    }

    #[test]
    fn the_callers_thread_stays_free() {
        let mine = core_affinity::get_core_ids();
        for team in [Team::new(2), Team::pinned(2), Team::all_cores()] {
            team.run(|m| m.barrier());
            assert_eq!(core_affinity::get_core_ids(), mine);
        }
        assert_eq!(core_affinity::get_core_ids(), mine);
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
