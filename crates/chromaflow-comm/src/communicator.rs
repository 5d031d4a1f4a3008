//! The one interface between ranks.

use crate::{CommError, Log, Threads};
use std::fmt::Debug;
use std::time::Duration;

/// How values of several ranks become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Added in the order of ranks.
    Sum,
    /// The least; NaN when any is NaN, so that no rank overlooks another's.
    Min,
    /// The largest; NaN when any is NaN.
    Max,
}

impl Op {
    pub(crate) fn of(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Sum => a + b,
            _ if a.is_nan() || b.is_nan() => f64::NAN,
            Self::Min => a.min(b),
            Self::Max => a.max(b),
        }
    }
}

/// What a message belongs to. Messages of one sender and one tag arrive in the order they were sent; those of other
/// tags may pass them, so that a sum can be taken while a halo is in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tag {
    /// Sums, broadcasts, gathers.
    Collective,
    /// A halo exchange; the number tells apart arrays that are in flight at once.
    Halo(u32),
}

/// So many times as long as for any other message ranks wait for those that write files: disks that many write to are slow.
const WITH_FILES: u32 = 5;

/// Ranks of one problem, numbered from 0, and the messages between them.
///
/// An implementation gives [`send`](Self::send) and [`receive_within`](Self::receive_within); everything else is made of them, and may
/// be replaced where a library does it better. Collective operations are called by all ranks in the same order.
pub trait Communicator: Debug + Send + Sync {
    /// My number.
    fn rank(&self) -> usize;

    /// Number of ranks.
    fn size(&self) -> usize;

    /// Sends bytes to another rank; returns without waiting for it.
    ///
    /// # Errors
    /// [`CommError::NoRank`]; [`CommError::Ended`] when another rank has failed.
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), CommError>;

    /// The oldest message of another rank with this tag; waits for it, but no longer than so.
    ///
    /// # Errors
    /// [`CommError::NoRank`]; [`CommError`] when another rank has failed, has left or stays silent too long.
    fn receive_within(&self, patience: Duration, from: usize, tag: Tag) -> Result<Vec<u8>, CommError>;

    /// As [`Communicator::receive_within`], with the [patience](Self::patience) of this communicator.
    ///
    /// # Errors
    /// As [`Communicator::receive_within`].
    fn receive(&self, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        self.receive_within(self.patience(), from, tag)
    }

    /// As [`Communicator::receive`] without an end to the wait, but for ranks that fail or leave: for preparations and files of fields
    /// that take one rank much longer than another.
    ///
    /// # Errors
    /// As [`Communicator::receive`].
    fn receive_patiently(&self, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        self.receive_within(Duration::MAX, from, tag)
    }

    /// How long a rank waits for another one.
    fn patience(&self) -> Duration;

    /// How long a rank waits for another one that writes files in the midst of a run: five times as long as else.
    fn patience_with_files(&self) -> Duration {
        self.patience().saturating_mul(WITH_FILES)
    }

    /// Whether another rank is known to have failed, without a message.
    ///
    /// # Errors
    /// [`CommError::Ended`].
    fn check(&self) -> Result<(), CommError> {
        Ok(())
    }

    /// A rank that is known to be silent for as long as ranks have patience, whoever waits for it; none where nobody tells.
    fn missed(&self) -> Option<usize> {
        None
    }

    /// What errors say of ranks besides their numbers, where that is kept.
    fn log(&self) -> Option<&Log> {
        None
    }

    /// This rank as a thread of its process, where all ranks are: they can then hand memory to one another.
    fn in_process(&self) -> Option<&Threads> {
        None
    }

    /// Returns when all ranks have come here.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    fn barrier(&self) -> Result<(), CommError> {
        self.reduce(Op::Sum, &mut [])
    }

    /// As [`Communicator::barrier`], but waits no longer than so.
    ///
    /// # Errors
    /// As [`Communicator::barrier`].
    fn barrier_within(&self, patience: Duration) -> Result<(), CommError> {
        let (own, size) = (self.rank(), self.size());
        let wait = |from| self.receive_within(patience, from, Tag::Collective).map(drop);
        if own > 0 {
            self.send(0, Tag::Collective, Vec::new())?;
            return wait(0);
        }
        others(own, size).try_for_each(wait)?;
        others(own, size).try_for_each(|to| self.send(to, Tag::Collective, Vec::new()))
    }

    /// As [`Communicator::barrier`] without an end to the wait, but for ranks that fail or leave: for preparations that take one rank much
    /// longer than another.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed or has left.
    fn barrier_patiently(&self) -> Result<(), CommError> {
        self.barrier_within(Duration::MAX)
    }

    /// The root's bytes on every rank.
    ///
    /// # Errors
    /// [`CommError::NoRank`] for a root that is not there; [`CommError`] when another rank has failed, has left or stays silent too long.
    fn broadcast(&self, root: usize, bytes: &mut Vec<u8>) -> Result<(), CommError> {
        partner(self.rank(), root, self.size())?;
        if self.rank() == root {
            return others(root, self.size())
                .try_for_each(|to| self.send(to, Tag::Collective, bytes.clone()));
        }
        *bytes = self.receive(root, Tag::Collective)?;
        Ok(())
    }

    /// The bytes of all ranks, in their order, on the root; nothing elsewhere. Lengths may differ.
    ///
    /// # Errors
    /// [`CommError::NoRank`] for a root that is not there; [`CommError`] when another rank has failed, has left or stays silent too long.
    fn gather(&self, root: usize, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        partner(self.rank(), root, self.size())?;
        if self.rank() != root {
            self.send(root, Tag::Collective, mine.to_vec())?;
            return Ok(Vec::new());
        }
        let of = |from| if from == root { Ok(mine.to_vec()) } else { self.receive(from, Tag::Collective) };
        (0..self.size()).map(of).collect()
    }

    /// The bytes of all ranks, in their order, on every rank.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    fn gather_all(&self, mine: &[u8]) -> Result<Vec<Vec<u8>>, CommError> {
        let parts = self.gather(0, mine)?;
        let mut lengths: Vec<u8> = parts.iter().flat_map(|p| (p.len() as u64).to_le_bytes()).collect();
        let mut joined = parts.concat();
        self.broadcast(0, &mut lengths)?;
        self.broadcast(0, &mut joined)?;
        let mut rest = joined.as_slice();
        let lengths = lengths.chunks_exact(8).map(|l| bytemuck::pod_read_unaligned::<u64>(l) as usize);
        lengths
            .map(|expected| {
                let length = CommError::Length { from: 0, expected, found: rest.len() };
                let (part, after) = rest.split_at_checked(expected).ok_or(length)?;
                rest = after;
                Ok(part.to_vec())
            })
            .collect()
    }

    /// Each value becomes its sum, minimum or maximum over all ranks, the same bits on every rank.
    ///
    /// **Precision**: f64, combined in the order of ranks, whatever the order of arrival. A sum depends on the number
    /// of ranks by round-off.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long; [`CommError::Length`] when ranks reduce
    /// different numbers of values.
    fn reduce(&self, op: Op, values: &mut [f64]) -> Result<(), CommError> {
        self.reduce_each(&|_| op, values)
    }

    /// The same with an operation for each value, by its place: one message where several kinds of numbers are to be agreed on.
    ///
    /// # Errors
    /// As [`Communicator::reduce`].
    fn reduce_each(&self, op: &dyn Fn(usize) -> Op, values: &mut [f64]) -> Result<(), CommError> {
        self.reduce_by_messages(op, values)
    }

    /// The same through the lowest rank: what [`reduce_each`](Self::reduce_each) is made of where nothing better is at hand.
    ///
    /// # Errors
    /// As [`Communicator::reduce`].
    fn reduce_by_messages(&self, op: &dyn Fn(usize) -> Op, values: &mut [f64]) -> Result<(), CommError> {
        let (parts, count) = (self.gather(0, bytemuck::cast_slice(values))?, values.len());
        for (from, part) in parts.iter().enumerate().skip(1) {
            for (place, (value, other)) in values.iter_mut().zip(floats(from, part, count)?).enumerate() {
                *value = op(place).of(*value, other);
            }
        }
        let mut bytes = bytemuck::cast_slice(values).to_vec();
        self.broadcast(0, &mut bytes)?;
        for (value, all) in values.iter_mut().zip(floats(0, &bytes, count)?) {
            *value = all;
        }
        Ok(())
    }
}

/// The numbers in a message that must have so many.
pub(crate) fn floats(
    from: usize,
    bytes: &[u8],
    count: usize,
) -> Result<impl Iterator<Item = f64>, CommError> {
    let expected = count * size_of::<f64>();
    if bytes.len() != expected {
        return Err(CommError::Length { from, expected, found: bytes.len() });
    }
    Ok(bytes.chunks_exact(size_of::<f64>()).map(bytemuck::pod_read_unaligned))
}

/// Checks the root of a collective operation, which may be the caller.
fn partner(own: usize, rank: usize, size: usize) -> Result<(), CommError> {
    if rank < size { Ok(()) } else { Err(CommError::NoRank { rank, own, size }) }
}

fn others(own: usize, size: usize) -> impl Iterator<Item = usize> {
    (0..size).filter(move |&rank| rank != own)
}
