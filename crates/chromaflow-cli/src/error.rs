//! How a subcommand ends: done, short of what was asked, or an error with its exit status.

use chromaflow::Outcome;
use chromaflow::files::FileError;
use std::io;

/// What every subcommand returns.
pub type CliResult<T = Done> = Result<T, CliError>;

/// How a subcommand that did not fail ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Done {
    /// Everything that was asked for: exit status 0.
    Success,
    /// A numerical outcome short of what was asked for: exit status 1.
    Short,
}

impl Done {
    /// The exit status of a solve: converged, or all the iterations that were asked for where no tolerance was, is 0.
    pub fn of(outcome: Outcome, tolerance_asked: bool) -> Self {
        match outcome {
            Outcome::Converged => Done::Success,
            Outcome::IterationLimit if !tolerance_asked => Done::Success,
            _ => Done::Short,
        }
    }
}

/// An error that ends the command. Make one with [`CliError::input`] or [`CliError::environment`], or by `?` from a
/// [`FileError`].
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// Bad usage or input: exit status 2.
    #[error("{0}")]
    Input(String),
    /// Disk, memory or device: exit status 3.
    #[error("{0}")]
    Environment(String),
}

impl CliError {
    /// Bad usage or input: exit status 2. The message names place, expectation and remedy.
    pub fn input(message: impl Into<String>) -> Self {
        CliError::Input(message.into())
    }

    /// Disk, memory or device: exit status 3.
    pub fn environment(message: impl Into<String>) -> Self {
        CliError::Environment(message.into())
    }

    /// A device that failed: exit status 3.
    pub fn device(error: impl std::fmt::Display) -> Self {
        CliError::Environment(error.to_string())
    }

    /// The same with what was noted before, which may be why.
    #[must_use]
    pub fn noted(self, notes: &[String]) -> Self {
        let add = |message: String| notes.iter().fold(message, |all, note| all + "\nnote: " + note);
        match self {
            CliError::Input(message) => CliError::Input(add(message)),
            CliError::Environment(message) => CliError::Environment(add(message)),
        }
    }

    /// The exit status.
    pub fn status(&self) -> u8 {
        match self {
            CliError::Input(_) => 2,
            CliError::Environment(_) => 3,
        }
    }
}

/// A file that cannot be found or read as what it should be is bad input; anything else that goes wrong with a file
/// (no right to write, disk full, I/O error) is the environment.
impl From<FileError> for CliError {
    fn from(error: FileError) -> Self {
        use io::ErrorKind::{InvalidData, InvalidInput, IsADirectory, NotFound, UnexpectedEof};
        let writing = error.action.contains("write") || error.action.contains("create");
        match error.source.kind() {
            NotFound | IsADirectory | InvalidData | InvalidInput | UnexpectedEof if !writing => {
                CliError::input(error.to_string())
            }
            _ => CliError::environment(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn outcomes_map_to_statuses() {
        assert_eq!(Done::of(Outcome::Converged, true), Done::Success);
        assert_eq!(Done::of(Outcome::IterationLimit, false), Done::Success);
        assert_eq!(Done::of(Outcome::IterationLimit, true), Done::Short);
        assert_eq!(Done::of(Outcome::Diverged { iteration: 3 }, false), Done::Short);
    }

    #[test]
    fn missing_input_and_full_disk_differ() {
        let of = |action, kind: io::ErrorKind| {
            CliError::from(FileError::new(action, Path::new("x"), io::Error::from(kind))).status()
        };
        assert_eq!(of("cannot open", io::ErrorKind::NotFound), 2);
        assert_eq!(of("cannot create", io::ErrorKind::NotFound), 3);
        assert_eq!(of("cannot write", io::ErrorKind::StorageFull), 3);
    }
}
