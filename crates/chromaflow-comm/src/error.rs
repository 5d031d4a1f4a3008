//! What ends a communication, or a run of several ranks.

use crate::{Communicator, Log};
use std::fmt::Display;
use std::io;
use std::time::Duration;

/// Why a message did not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommError {
    /// Another rank failed, and with it the run.
    #[error("rank {rank} ended the run: {why}")]
    Ended {
        /// The rank that failed first.
        rank: usize,
        /// Its own words.
        why: String,
    },
    /// A rank returned while a message from it was still expected.
    #[error(
        "rank {rank} has finished, but a message from it is still expected: all ranks must take the same steps"
    )]
    Left {
        /// The rank that has finished.
        rank: usize,
    },
    /// A rank sent nothing for as long as the communicator waits.
    #[error("rank {rank}{} did not answer for {} s{at}; the run ends", in_brackets(.seat), .patience.as_secs_f64())]
    Late {
        /// The rank that is silent.
        rank: usize,
        /// Its host and device, where they are known.
        seat: String,
        /// How long was waited.
        patience: Duration,
        /// What the rank that waited was at, as far as it is known.
        at: String,
    },
    /// Messages between devices stand still for as long as the communicator waits.
    #[error("messages between GPUs stand still for {} s{at}: another rank does not answer; the run ends", .patience.as_secs_f64())]
    Silent {
        /// How long was waited.
        patience: Duration,
        /// What the rank that waited was at, as far as it is known.
        at: String,
    },
    /// A rank that is not there, or the caller itself.
    #[error("rank {rank} is no partner of rank {own}: expected another rank below {size}")]
    NoRank {
        /// The rank asked for.
        rank: usize,
        /// The rank that asks.
        own: usize,
        /// Number of ranks.
        size: usize,
    },
    /// A message of another length than expected.
    #[error(
        "the message from rank {from} has {found} bytes, expected {expected}: all ranks must take the same steps"
    )]
    Length {
        /// The sender.
        from: usize,
        /// Bytes expected.
        expected: usize,
        /// Bytes received.
        found: usize,
    },
    /// The library that carries messages.
    #[error("{why}")]
    Library {
        /// Its own words.
        why: String,
    },
    /// Exchange lists that do not fit each other or the rows.
    #[error("the halo of rank {rank}: {fault}")]
    Lists {
        /// The rank whose list it is.
        rank: usize,
        /// What is wrong and what was expected.
        fault: String,
    },
}

fn in_brackets(seat: &str) -> String {
    if seat.is_empty() { String::new() } else { format!(" ({seat})") }
}

impl CommError {
    /// That a rank is silent, with what `ranks` knows of both.
    pub fn late(ranks: &(impl Communicator + ?Sized), rank: usize, patience: Duration) -> Self {
        let seat = ranks.log().map_or_else(String::new, |log| log.seat(rank).to_owned());
        Self::Late { rank, seat, patience, at: at(ranks) }
    }

    /// That messages between devices stand still, with what `ranks` knows.
    pub fn silent(ranks: &(impl Communicator + ?Sized), patience: Duration) -> Self {
        Self::Silent { patience, at: at(ranks) }
    }

    /// The same where it was waited for this.
    #[must_use]
    pub fn during(mut self, what: impl Display) -> Self {
        if let Self::Late { at, .. } | Self::Silent { at, .. } = &mut self {
            *at = format!("{at}, {what}");
        }
        self
    }
}

fn at(ranks: &(impl Communicator + ?Sized)) -> String {
    let iteration = ranks.log().map_or(0, Log::iteration);
    if iteration == 0 { String::new() } else { format!(" at iteration {iteration}") }
}

/// Why a run of several ranks ended: the first failure; those that follow from it are left out.
#[derive(Debug, thiserror::Error)]
pub enum RunError<E> {
    /// No ranks were asked for.
    #[error("0 ranks cannot run anything: ask for 1 or more")]
    NoRanks,
    /// The system gave no thread.
    #[error("no thread for rank {rank} ({source}): ask for fewer ranks")]
    Spawn {
        /// The rank without a thread.
        rank: usize,
        /// The system's reason.
        source: io::Error,
    },
    /// A rank returned an error.
    #[error("rank {rank}: {error}")]
    Failed {
        /// The rank.
        rank: usize,
        /// Its error.
        error: E,
    },
    /// A rank panicked.
    #[error("rank {rank} panicked: {message}")]
    Panicked {
        /// The rank.
        rank: usize,
        /// The panic's message.
        message: String,
    },
}
