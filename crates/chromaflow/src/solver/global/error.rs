//! Errors that all ranks return alike.

use crate::solver::SolverError;
use chromaflow_comm::post::gather_all;
use chromaflow_comm::{CommError, Communicator, Op};

/// What sort of error one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A length, an option, a call out of order.
    Argument,
    /// Index arrays, or ranges of rows, that make no pattern.
    Pattern,
    /// NaN or infinity in what is given.
    NotFinite,
    /// A diagonal block without inverse.
    Singular,
    /// Nothing to solve with yet, or a matrix that was not kept.
    NoValues,
    /// Not to be had on this device.
    Unsupported,
    /// The device or its driver.
    Device,
    /// A function of the caller's.
    Callback,
    /// Messages between ranks.
    Ranks,
}

impl ErrorKind {
    const ALL: [Self; 9] = [
        Self::Argument,
        Self::Pattern,
        Self::NotFinite,
        Self::Singular,
        Self::NoValues,
        Self::Unsupported,
        Self::Device,
        Self::Callback,
        Self::Ranks,
    ];
}

/// What is wrong with a matrix that several ranks have rows of. Every rank returns the same; rows and columns are those of the whole matrix,
/// as the caller's arrays count them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GlobalError {
    /// Ranges of rows that do not join.
    #[error(
        "the rows of rank {rank} begin with {start}, expected {expected}{}: ranks have rows one after the other, without gaps", after(*.rank)
    )]
    Ranges {
        /// The first rank that is wrong.
        rank: usize,
        /// Where its rows begin.
        start: u64,
        /// Where they should.
        expected: u64,
    },
    /// More rows than 32 bits number.
    #[error("{rows} rows on all ranks: 32 bits number no more than {}", u32::MAX - 1)]
    TooLarge {
        /// How many there are.
        rows: u64,
    },
    /// Ranks that do not say the same.
    #[error("rank {rank} has {found}, rank 0 {expected}: all ranks must say the same")]
    Disagree {
        /// The first rank that differs from the lowest one.
        rank: usize,
        /// What it has.
        found: String,
        /// What the lowest one has.
        expected: String,
    },
    /// An error that one rank found.
    #[error("rank {rank}: {text}")]
    OnRank {
        /// The rank; of several the lowest.
        rank: usize,
        /// What sort of error it is.
        kind: ErrorKind,
        /// The row that it is about.
        row: Option<u64>,
        /// The column.
        col: Option<u64>,
        /// What the rank says.
        text: String,
    },
}

fn after(rank: usize) -> String {
    if rank == 0 { String::new() } else { format!(", where those of rank {} end", rank - 1) }
}

const NOWHERE: u64 = u64::MAX;

/// An error on its way to the others: sort, row and column, text.
fn told(error: &SolverError) -> Vec<u8> {
    let (row, col) = error.place().map_or((NOWHERE, NOWHERE), |(row, col)| (row, col.unwrap_or(NOWHERE)));
    let kind = ErrorKind::ALL.iter().position(|&kind| kind == error.kind()).unwrap_or(0);
    let mut bytes = vec![kind as u8];
    bytes.extend_from_slice(&row.to_le_bytes());
    bytes.extend_from_slice(&col.to_le_bytes());
    bytes.extend_from_slice(error.to_string().as_bytes());
    bytes
}

fn understood(rank: usize, bytes: &[u8]) -> Option<GlobalError> {
    let (&kind, rest) = bytes.split_first()?;
    let (row, rest) = rest.split_first_chunk::<8>()?;
    let (col, text) = rest.split_first_chunk::<8>()?;
    let number = |bytes: &[u8; 8]| Some(u64::from_le_bytes(*bytes)).filter(|&n| n != NOWHERE);
    Some(GlobalError::OnRank {
        rank,
        kind: *ErrorKind::ALL.get(kind as usize)?,
        row: number(row),
        col: number(col),
        text: String::from_utf8_lossy(text).into_owned(),
    })
}

/// What this rank has found, where all ranks have found nothing wrong; else the error of the lowest rank that has, the same on every one.
/// Collective.
///
/// # Errors
/// [`GlobalError::OnRank`], [`SolverError::Comm`]; errors that all ranks have already stay what they are.
pub fn agree<T>(ranks: &dyn Communicator, here: Result<T, SolverError>) -> Result<T, SolverError> {
    if matches!(here, Err(SolverError::Global(_) | SolverError::Comm(_))) {
        return here; // all ranks have it
    }
    let mut bad = [f64::from(u8::from(here.is_err()))];
    ranks.reduce(Op::Max, &mut bad)?;
    match here {
        Ok(found) if bad == [0.0] => Ok(found),
        here => Err(first_of(ranks, here.err().as_ref())?),
    }
}

/// The error of the lowest rank that has one. Collective; some rank has one.
pub(in crate::solver) fn first_of(
    ranks: &dyn Communicator,
    here: Option<&SolverError>,
) -> Result<SolverError, CommError> {
    let all = ranks.gather_all(&here.map_or(Vec::new(), told))?;
    let first = all.iter().enumerate().find_map(|(rank, bytes)| understood(rank, bytes));
    let nobody = CommError::Lists { rank: ranks.rank(), fault: "an error of no rank".to_owned() };
    Ok(first.ok_or(nobody)?.into())
}

/// Refuses what not all ranks say alike, a line each: of the first line that differs somewhere, what the first such rank has. Collective.
pub(super) fn same(ranks: &dyn Communicator, lines: &str) -> Result<(), SolverError> {
    let all = ranks.gather_all(lines.as_bytes())?;
    let lines_of = |rank: usize| String::from_utf8_lossy(&all[rank]).into_owned();
    let first = lines_of(0);
    for rank in 1..all.len() {
        let own = lines_of(rank);
        if let Some((found, expected)) = own.lines().zip(first.lines()).find(|(a, b)| a != b) {
            let clean = |line: &str| line.trim().trim_end_matches(',').to_owned();
            let (found, expected) = (clean(found), clean(expected));
            return Err(GlobalError::Disagree { rank, found, expected }.into());
        }
        if own != first {
            let (found, expected) = (own, first);
            return Err(GlobalError::Disagree { rank, found, expected }.into());
        }
    }
    Ok(())
}

/// Refuses ranges of rows that do not join, `[start, rows]` of every rank, the lowest beginning with `first`; where each begins, from 0, and
/// how many there are. Collective.
pub(super) fn joined(ranks: &dyn Communicator, first: usize, own: [u64; 2]) -> Result<Vec<u64>, SolverError> {
    let (mut starts, mut end) = (Vec::with_capacity(ranks.size() + 1), first as u64);
    for (rank, of) in gather_all(ranks, &own)?.into_iter().enumerate() {
        let [start, rows] = <[u64; 2]>::try_from(of).unwrap_or([NOWHERE; 2]);
        if start != end {
            return Err(GlobalError::Ranges { rank, start, expected: end }.into());
        }
        starts.push(start - first as u64);
        end = start.saturating_add(rows);
    }
    let rows = end - first as u64;
    if rows >= u64::from(u32::MAX) {
        return Err(GlobalError::TooLarge { rows }.into());
    }
    starts.push(rows);
    Ok(starts)
}
