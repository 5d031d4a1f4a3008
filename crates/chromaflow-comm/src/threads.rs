//! Ranks that are threads of this process.

use crate::{CommError, Communicator, Log, Op, RunError, Tag};
use std::any::Any;
use std::collections::{HashMap, VecDeque};
use std::fmt::{self, Display};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Longest sleep of a wait without an end.
const LONGEST: Duration = Duration::from_secs(60);

/// One of the ranks that [`run`] starts.
#[derive(Clone, Debug)]
pub struct Threads {
    rank: usize,
    world: Arc<World>,
    log: Arc<Log>,
}

/// What the ranks share.
struct World {
    /// One a rank: what was sent to it.
    boxes: Vec<Mailbox>,
    /// One a rank: its values of a reduction.
    slots: Vec<Slot>,
    /// Ranks that have returned without an error.
    left: Vec<AtomicBool>,
    /// The first failure: the rank and its words.
    ended: OnceLock<(usize, String)>,
    /// Longest wait for a message.
    patience: Duration,
    /// One a rank: what it hands to all others ([`Threads::meet`]).
    handed: Mutex<Vec<Option<Handed>>>,
    /// Whether each rank may have a core of its own.
    roomy: bool,
}

/// What ranks of one process hand to one another.
pub type Handed = Arc<dyn Any + Send + Sync>;

/// By sender and tag, oldest first.
type Messages = HashMap<(usize, Tag), VecDeque<Vec<u8>>>;

#[derive(Debug, Default)]
struct Mailbox {
    messages: Mutex<Messages>,
    news: Condvar,
    /// Messages that have come so far.
    count: AtomicUsize,
    /// Whether the last wait ended in a long sleep: others need the cores.
    crowded: AtomicBool,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, Messages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Most values of a reduction that pass through slots: more of them pass as messages.
const FEW: usize = 16;

/// Values that a rank has put out for reductions; two reductions take turns. A line of the cache is of one rank.
#[derive(Default)]
#[repr(align(128))]
struct Slot {
    /// Reductions whose values were put out.
    count: AtomicU64,
    lengths: [AtomicUsize; 2],
    values: [[AtomicU64; FEW]; 2],
}

impl Slot {
    fn put(&self, values: &[f64]) -> u64 {
        let turn = self.count.load(Ordering::Relaxed); // no other rank writes it
        let k = (turn & 1) as usize;
        self.lengths[k].store(values.len(), Ordering::Relaxed);
        for (slot, value) in self.values[k].iter().zip(values) {
            slot.store(value.to_bits(), Ordering::Relaxed);
        }
        self.count.store(turn + 1, Ordering::Release);
        turn
    }

    fn has(&self, turn: u64) -> bool {
        self.count.load(Ordering::Acquire) > turn
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("World").field("ranks", &self.boxes.len()).finish_non_exhaustive()
    }
}

impl World {
    fn new(size: usize, patience: Duration) -> Self {
        let boxes = (0..size).map(|_| Mailbox::default()).collect();
        let slots = (0..size).map(|_| Slot::default()).collect();
        let left = (0..size).map(|_| AtomicBool::new(false)).collect();
        let handed = Mutex::new(vec![None; size]);
        let roomy = thread::available_parallelism().is_ok_and(|cores| cores.get() >= size);
        Self { boxes, slots, left, ended: OnceLock::new(), patience, handed, roomy }
    }

    /// A rank has failed; only the first failure is kept.
    fn end(&self, rank: usize, why: String) {
        let first = self.ended.set((rank, why)).is_ok();
        if first {
            self.wake();
        }
    }

    /// A rank has returned and will send nothing more.
    fn leave(&self, rank: usize) {
        self.left[rank].store(true, Ordering::Release);
        self.wake();
    }

    /// Wakes all who wait. The lock makes sure that nobody is between looking and waiting.
    fn wake(&self) {
        for mailbox in &self.boxes {
            drop(mailbox.lock());
            mailbox.news.notify_all();
        }
    }

    fn check(&self) -> Result<(), CommError> {
        match self.ended.get() {
            Some((rank, why)) => Err(CommError::Ended { rank: *rank, why: why.clone() }),
            None => Ok(()),
        }
    }
}

impl Threads {
    fn partner(&self, rank: usize) -> Result<(), CommError> {
        let size = self.size();
        if rank < size && rank != self.rank {
            return Ok(());
        }
        Err(CommError::NoRank { rank, own: self.rank, size })
    }
}

impl Communicator for Threads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.world.boxes.len()
    }

    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), CommError> {
        self.partner(to)?;
        self.world.check()?;
        let mailbox = &self.world.boxes[to];
        mailbox.lock().entry((self.rank, tag)).or_default().push_back(bytes);
        mailbox.count.fetch_add(1, Ordering::Release);
        mailbox.news.notify_all();
        Ok(())
    }

    fn receive_within(&self, patience: Duration, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        self.partner(from)?;
        let (mailbox, started) = (&self.world.boxes[self.rank], Instant::now());
        // To be woken takes longer than most messages do: with a core to spare a rank looks before it sleeps, as members of a team do.
        let mut rows = match (self.world.roomy, mailbox.crowded.load(Ordering::Relaxed)) {
            (false, _) => 0,
            (_, true) => 1,
            (_, false) => ROWS_OF_MESSAGES,
        };
        let mut messages = mailbox.lock();
        loop {
            self.world.check()?;
            if let Some(bytes) = messages.get_mut(&(from, tag)).and_then(VecDeque::pop_front) {
                return Ok(bytes);
            }
            if self.world.left[from].load(Ordering::Acquire) {
                return Err(CommError::Left { rank: from });
            }
            let rest = patience.saturating_sub(started.elapsed());
            if rest.is_zero() {
                return Err(CommError::late(self, from, patience));
            }
            if rows > 0 {
                let count = mailbox.count.load(Ordering::Acquire);
                drop(messages);
                let news = (0..LOOKS).any(|_| {
                    std::hint::spin_loop();
                    mailbox.count.load(Ordering::Acquire) != count
                });
                if !news {
                    rows -= 1;
                    thread::yield_now();
                }
                messages = mailbox.lock();
                continue;
            }
            let asleep = Instant::now();
            let woken = mailbox.news.wait_timeout(messages, rest.min(LONGEST));
            messages = woken.unwrap_or_else(PoisonError::into_inner).0;
            mailbox.crowded.store(asleep.elapsed() > SHORT_SLEEP, Ordering::Relaxed);
        }
    }

    fn patience(&self) -> Duration {
        self.world.patience
    }

    fn check(&self) -> Result<(), CommError> {
        self.world.check()
    }

    fn log(&self) -> Option<&Log> {
        Some(&self.log)
    }

    fn in_process(&self) -> Option<&Threads> {
        Some(self)
    }

    /// A few values pass through memory that all ranks see, where each has a core: every rank reads those of all, in their order.
    ///
    /// A slot is written again two reductions later. All ranks have by then put out their values of the one between, which they do once
    /// they have read those before.
    fn reduce_each(&self, op: &dyn Fn(usize) -> Op, values: &mut [f64]) -> Result<(), CommError> {
        // Without values ranks wait for one another, maybe long, and sleep meanwhile.
        if !self.world.roomy || values.is_empty() || values.len() > FEW {
            return self.reduce_by_messages(op, values);
        }
        self.world.check()?;
        let turn = self.world.slots[self.rank].put(values);
        let (k, count) = ((turn & 1) as usize, values.len());
        for (from, slot) in self.world.slots.iter().enumerate() {
            if from != self.rank {
                self.wait_until(from, || slot.has(turn))?;
            }
            let found = slot.lengths[k].load(Ordering::Relaxed);
            if found != count {
                let [expected, found] = [count, found].map(|n| n * size_of::<f64>());
                return Err(CommError::Length { from, expected, found });
            }
            for (place, (value, other)) in values.iter_mut().zip(&slot.values[k]).enumerate() {
                let other = f64::from_bits(other.load(Ordering::Relaxed));
                *value = if from == 0 { other } else { op(place).of(*value, other) };
            }
        }
        Ok(())
    }
}

/// Looks at a condition in a row without giving the core away: some 20 microseconds, what a message takes that is on its way.
const LOOKS: u32 = 2_000;
/// A sleep that is not worth its waking.
const SHORT_SLEEP: Duration = Duration::from_micros(250);
/// So often a rank looks in a row for a message before it sleeps, some 250 microseconds.
const ROWS_OF_MESSAGES: u32 = 12;
/// So often a rank looks in a row before it sleeps between looks, some milliseconds: the core may be wanted by another one's threads.
const ROWS_OF_LOOKS: u32 = 100;
/// How long it then sleeps.
const NAP: Duration = Duration::from_micros(50);

impl Threads {
    /// Hands an object to all ranks and returns those of all, in their order; collective. Memory that ranks share begins here.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    pub fn meet(&self, mine: Handed) -> Result<Vec<Handed>, CommError> {
        let lock = || self.world.handed.lock().unwrap_or_else(PoisonError::into_inner);
        lock()[self.rank] = Some(mine);
        self.barrier()?;
        let all = lock().iter().flatten().cloned().collect();
        // Nobody takes back what others have not seen.
        self.barrier()?;
        lock()[self.rank] = None;
        Ok(all)
    }

    /// Waits until `ready` says so, which the rank `from` brings about in memory that both see: no message passes, and waits of up to some
    /// milliseconds are as short as they can be.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, or `from` has left or stays silent too long.
    pub fn wait_until(&self, from: usize, ready: impl Fn() -> bool) -> Result<(), CommError> {
        self.partner(from)?;
        let started = Instant::now();
        let mut row = 0;
        loop {
            for _ in 0..LOOKS {
                if ready() {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            self.world.check()?;
            // Whoever leaves has done all it will do: a last look comes after it.
            if self.world.left[from].load(Ordering::Acquire) {
                return if ready() { Ok(()) } else { Err(CommError::Left { rank: from }) };
            }
            if started.elapsed() >= self.world.patience {
                return Err(CommError::late(self, from, self.world.patience));
            }
            if row < ROWS_OF_LOOKS {
                row += 1;
                thread::yield_now();
            } else {
                thread::sleep(NAP);
            }
        }
    }
}

/// How a rank ended.
enum End<T, E> {
    Value(T),
    Failed(E),
    Panicked(String),
}

/// Runs a job on so many ranks, each a thread of this process, and returns their values in the order of ranks.
///
/// No rank waits longer than `patience` for a message. Once a rank has failed, the others get [`CommError::Ended`] from
/// their next message. A rank that does not look at its messages cannot be ended from outside: after `patience` it is
/// left behind, which is why the job must own what it uses.
///
/// ```
/// use chromaflow_comm::{CommError, Communicator, Op, run};
/// use std::time::Duration;
/// let sums = run(3, Duration::from_secs(30), |ranks| {
///     let mut sum = [1.0 + ranks.rank() as f64];
///     ranks.reduce(Op::Sum, &mut sum)?;
///     Ok::<_, CommError>(sum[0])
/// });
/// assert_eq!(sums.unwrap(), [6.0, 6.0, 6.0]);
/// ```
///
/// # Errors
/// The first failure, as [`RunError`].
pub fn run<T, E, F>(size: usize, patience: Duration, job: F) -> Result<Vec<T>, RunError<E>>
where
    T: Send + 'static,
    E: Display + Send + 'static,
    F: Fn(&Threads) -> Result<T, E> + Send + Sync + 'static,
{
    if size == 0 {
        return Err(RunError::NoRanks);
    }
    let (world, job) = (Arc::new(World::new(size, patience)), Arc::new(job));
    let (sender, ends) = mpsc::channel();
    for rank in 0..size {
        let own = Threads { rank, world: Arc::clone(&world), log: Arc::default() };
        let (job, sender) = (Arc::clone(&job), sender.clone());
        let started = thread::Builder::new().name(format!("rank {rank}")).spawn(move || {
            // A receiver that is gone has stopped waiting for this rank.
            let _ = sender.send((rank, work(&own, &*job)));
        });
        if let Err(source) = started {
            world.end(rank, format!("it got no thread ({source})"));
            return Err(RunError::Spawn { rank, source });
        }
    }
    drop(sender);
    collect(&world, &ends)
}

/// The job of one rank; tells the others how it ended.
fn work<T, E: Display>(own: &Threads, job: &impl Fn(&Threads) -> Result<T, E>) -> End<T, E> {
    let result = catch_unwind(AssertUnwindSafe(|| job(own).map_err(|error| (error.to_string(), error))));
    match result {
        Ok(Ok(value)) => {
            own.world.leave(own.rank);
            End::Value(value)
        }
        Ok(Err((why, error))) => {
            own.world.end(own.rank, why);
            End::Failed(error)
        }
        Err(payload) => {
            let message = message(payload.as_ref());
            own.world.end(own.rank, format!("it panicked: {message}"));
            End::Panicked(message)
        }
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

/// Waits for all ranks, and once one has failed no longer than the patience for the others.
fn collect<T, E>(world: &World, ends: &Receiver<(usize, End<T, E>)>) -> Result<Vec<T>, RunError<E>> {
    let mut values: Vec<Option<T>> = world.boxes.iter().map(|_| None).collect();
    let (mut failure, mut deadline) = (None, None);
    loop {
        let next = match deadline {
            None => ends.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => {
                ends.recv_timeout(Instant::saturating_duration_since(&deadline, Instant::now()))
            }
        };
        let Ok((rank, end)) = next else { break };
        let first = world.ended.get().is_some_and(|ended| ended.0 == rank);
        match end {
            End::Value(value) => values[rank] = Some(value),
            End::Failed(error) if first => failure = Some(RunError::Failed { rank, error }),
            End::Panicked(message) if first => failure = Some(RunError::Panicked { rank, message }),
            End::Failed(_) | End::Panicked(_) => {} // it follows from the first failure
        }
        if failure.is_some() && deadline.is_none() {
            deadline = Some(Instant::now() + world.patience);
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok(values.into_iter().flatten().collect()),
    }
}
