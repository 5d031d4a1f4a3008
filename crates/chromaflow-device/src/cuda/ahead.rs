//! Kernels compiled in the background: before they are asked for, while a mesh is read.

use super::compile::KernelSource;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Makes the machine code of a source; nothing where that fails (who asks for it then fails in the same way, and says so).
type Compile = dyn Fn(&KernelSource) -> Option<Vec<u8>> + Send + Sync;

#[derive(Debug)]
enum Job {
    Waiting,
    Running,
    Done(Option<Vec<u8>>),
}

#[derive(Debug, Default)]
struct Jobs {
    queue: VecDeque<KernelSource>,
    known: HashMap<u64, Job>,
}

/// Sources that threads work through in their order.
pub(super) struct Ahead {
    shared: Arc<Shared>,
    workers: Mutex<Vec<JoinHandle<()>>>,
    most: usize,
}

struct Shared {
    jobs: Mutex<Jobs>,
    /// A job is done.
    done: Condvar,
    compile: Box<Compile>,
}

impl Shared {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        loop {
            let source = {
                let mut jobs = self.jobs();
                let Some(source) = jobs.queue.pop_front() else { return };
                jobs.known.insert(source.key(), Job::Running);
                source
            };
            // A compiler that panics must not leave anyone waiting.
            let call = std::panic::AssertUnwindSafe(|| (self.compile)(&source));
            let image = std::panic::catch_unwind(call).unwrap_or(None);
            self.jobs().known.insert(source.key(), Job::Done(image));
            self.done.notify_all();
        }
    }
}

impl Ahead {
    /// Nothing to do yet; at most `most` threads.
    pub fn new(
        most: usize,
        compile: impl Fn(&KernelSource) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Self {
        let shared =
            Arc::new(Shared { jobs: Mutex::default(), done: Condvar::new(), compile: Box::new(compile) });
        Self { shared, workers: Mutex::default(), most: most.max(1) }
    }

    /// Begins with these sources, those that are known left out.
    pub fn add(&self, sources: Vec<KernelSource>) {
        let mut fresh = 0;
        let mut jobs = self.shared.jobs();
        for source in sources {
            if let std::collections::hash_map::Entry::Vacant(slot) = jobs.known.entry(source.key()) {
                slot.insert(Job::Waiting);
                jobs.queue.push_back(source);
                fresh += 1;
            }
        }
        drop(jobs);
        let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        workers.retain(|w| !w.is_finished());
        for _ in 0..fresh.min(self.most.saturating_sub(workers.len())) {
            let shared = Arc::clone(&self.shared);
            let thread = std::thread::Builder::new().name("chromaflow-nvrtc".to_owned());
            // Without threads everything is compiled when it is asked for.
            if let Ok(worker) = thread.spawn(move || shared.work()) {
                workers.push(worker);
            }
        }
    }

    /// The machine code of a source that was added, waited for where it is under way. Nothing where it was not added, has not
    /// begun (it is taken off the list) or failed.
    pub fn take(&self, source: &KernelSource) -> Option<Vec<u8>> {
        let key = source.key();
        let mut jobs = self.shared.jobs();
        loop {
            match jobs.known.get_mut(&key)? {
                Job::Waiting => {
                    jobs.queue.retain(|s| s.key() != key);
                    jobs.known.insert(key, Job::Done(None));
                    return None;
                }
                Job::Running => jobs = self.shared.done.wait(jobs).unwrap_or_else(PoisonError::into_inner),
                Job::Done(image) => return image.take(),
            }
        }
    }

    /// Whether a source was added.
    pub fn has(&self, source: &KernelSource) -> bool {
        self.shared.jobs().known.contains_key(&source.key())
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        // What is under way ends first: a compiler must not outlive its library.
        self.shared.jobs().queue.clear();
        for worker in self.workers.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            let _ = worker.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn source(n: usize) -> KernelSource {
        KernelSource::new("k", "text").define("N", n)
    }

    #[test]
    fn every_source_is_compiled_once_and_waited_for() {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let ahead = Ahead::new(3, |source| {
            COUNT.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(std::time::Duration::from_millis(2));
            Some(source.options[0].as_bytes().to_vec())
        });
        ahead.add((0..20).map(source).collect());
        ahead.add((10..30).map(source).collect());
        assert!(ahead.has(&source(29)) && !ahead.has(&source(30)));
        let mut taken = 0;
        for n in (0..30).rev() {
            // Those at the end of the list have not begun: the one who asks compiles them.
            if let Some(image) = ahead.take(&source(n)) {
                assert_eq!(image, format!("-DN={n}").as_bytes());
                taken += 1;
            }
            assert_eq!(ahead.take(&source(n)), None, "taken once");
        }
        assert_eq!(ahead.take(&source(99)), None, "never added");
        drop(ahead);
        assert_eq!(COUNT.load(Ordering::Relaxed), taken, "nothing is compiled for nobody");
    }

    #[test]
    fn failures_are_left_to_who_asks() {
        let ahead = Ahead::new(1, |source| {
            assert!(source.options[0] != "-DN=1", "a compiler that panics");
            None
        });
        ahead.add(vec![source(0), source(1), source(2)]);
        assert!((0..3).all(|n| ahead.take(&source(n)).is_none()));
    }
}
