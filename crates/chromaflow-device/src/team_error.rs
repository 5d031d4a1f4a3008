//! How many threads a team may have.

use crate::Team;

/// A team that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum TeamError {
    /// More threads than make sense: none was started.
    #[error(
        "{threads} threads are too many: this process may use {cores} cores, and teams have {most} at most"
    )]
    TooMany {
        /// Threads asked for.
        threads: usize,
        /// Cores that the process may use.
        cores: usize,
        /// The most that a team may have here, see [`Team::most`].
        most: usize,
    },
    /// The system gave fewer threads than were asked for; those that it gave have ended.
    #[error(
        "the system refused thread {rank} of {threads}: {cause}; ask for fewer, or raise the limit of processes (ulimit -u)"
    )]
    Refused {
        /// Threads asked for.
        threads: usize,
        /// The first that was refused, from 0.
        rank: usize,
        /// What the system said.
        #[source]
        cause: std::io::Error,
    },
}

/// Cores that this process may use.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

impl Team {
    /// The most threads that a team may have: 64 for each core that this process may use, and 1024 where these are few. More than one
    /// for each core wait for one another; thousands take memory and the numbers of processes that others need.
    pub fn most() -> usize {
        (64 * cores()).max(1024)
    }

    /// Whether a team may have so many threads; none is started.
    ///
    /// # Errors
    /// [`TeamError::TooMany`].
    pub fn check(threads: usize) -> Result<(), TeamError> {
        let most = Self::most();
        if threads > most {
            return Err(TeamError::TooMany { threads, cores: cores(), most });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_threads_are_refused_before_any_starts() {
        assert!(Team::check(Team::most()).is_ok() && Team::most() >= 1024);
        for threads in [Team::most() + 1, 1_000_000_000, usize::MAX] {
            for made in [Team::try_new(threads), Team::try_pinned(threads)] {
                let error = made.map(|_| ()).unwrap_err();
                assert!(
                    matches!(error, TeamError::TooMany { threads: found, .. } if found == threads),
                    "{error}"
                );
            }
        }
    }
}
