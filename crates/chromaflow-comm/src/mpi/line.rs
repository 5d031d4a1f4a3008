//! One thread at a time in the library: what MPI calls serialized.

use super::abi::Calls;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// An opened library that several threads use in turn.
#[derive(Debug)]
pub(super) struct Line {
    calls: Calls,
    turn: Mutex<()>,
    /// Threads that wait for it.
    waiting: AtomicU32,
}

impl Line {
    pub fn new(calls: Calls) -> Self {
        Self { calls, turn: Mutex::new(()), waiting: AtomicU32::new(0) }
    }

    /// Does what calls the library, when no other thread does.
    pub fn with<T>(&self, f: impl FnOnce(&Calls) -> T) -> T {
        let free = self.turn.try_lock();
        let turn = match free {
            // A thread that looks for messages in a row leaves a turn to the other one.
            Ok(turn) if self.waiting.load(Ordering::Relaxed) == 0 => turn,
            free => {
                drop(free);
                self.waiting.fetch_add(1, Ordering::Relaxed);
                thread::yield_now();
                let turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
                self.waiting.fetch_sub(1, Ordering::Relaxed);
                turn
            }
        };
        let done = f(&self.calls);
        drop(turn);
        done
    }

    /// The library, for what asks it nothing.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }
}
