//! Files that several ranks write or read together.

use chromaflow_comm::{CommError, Communicator};
use std::fmt;
use std::path::Path;

/// Why ranks could not write or read a file together: the same on all.
#[derive(Debug)]
pub enum FilesError {
    /// The first rank that could not write.
    Unwritten {
        /// It.
        rank: usize,
        /// What went wrong.
        problem: String,
    },
    /// The first rank that could not read, or what is wrong with what it read.
    Unread {
        /// It.
        rank: usize,
        /// What went wrong.
        problem: String,
    },
    /// Between ranks.
    Ranks(CommError),
}

impl fmt::Display for FilesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unwritten { rank: 0, problem } | Self::Unread { rank: 0, problem } => f.write_str(problem),
            Self::Unwritten { rank, problem } | Self::Unread { rank, problem } => {
                write!(f, "rank {rank}: {problem}")
            }
            Self::Ranks(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for FilesError {}

impl FilesError {
    /// Of what this rank could not write.
    pub(crate) fn unwritten(rank: usize, problem: String) -> Self {
        Self::Unwritten { rank, problem }
    }

    /// Of what this rank could not read.
    pub(crate) fn unread(rank: usize, problem: String) -> Self {
        Self::Unread { rank, problem }
    }
}

impl From<CommError> for FilesError {
    fn from(error: CommError) -> Self {
        Self::Ranks(error)
    }
}

/// Waits for all ranks, each of which may be busy with a file; what each says, or of the first that has failed `error`, on all.
///
/// # Errors
/// [`FilesError`].
pub fn agreed(
    ranks: &dyn Communicator,
    (own, failed): (bool, Option<String>),
    error: fn(usize, String) -> FilesError,
) -> Result<Vec<bool>, FilesError> {
    ranks.barrier_within(ranks.patience_with_files())?;
    let mine = failed.map_or_else(|| vec![u8::from(own)], |problem| format!("!{problem}").into_bytes());
    let all = ranks.gather_all(&mine)?;
    let failed = all.iter().enumerate().find_map(|(rank, said)| Some((rank, said.strip_prefix(b"!")?)));
    if let Some((rank, problem)) = failed {
        return Err(error(rank, String::from_utf8_lossy(problem).into_owned()));
    }
    Ok(all.iter().map(|said| said == &[1]).collect())
}

/// A path that other ranks can be told.
///
/// # Errors
/// What is wrong with it.
pub fn told(path: &Path) -> Result<String, String> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let text = path.to_str().map(str::to_owned);
    text.ok_or_else(|| format!("the name of {} is not UTF-8, in which ranks are told of it", path.display()))
}
