//! One rank alone.

use crate::{CommError, Communicator, Op, Tag};
use std::time::Duration;

/// One rank alone: nothing is sent, and values are their own sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct Solo;

impl Communicator for Solo {
    fn rank(&self) -> usize {
        0
    }

    fn size(&self) -> usize {
        1
    }

    fn send(&self, to: usize, _: Tag, _: Vec<u8>) -> Result<(), CommError> {
        Err(CommError::NoRank { rank: to, own: 0, size: 1 })
    }

    fn receive_within(&self, _: Duration, from: usize, _: Tag) -> Result<Vec<u8>, CommError> {
        Err(CommError::NoRank { rank: from, own: 0, size: 1 })
    }

    fn patience(&self) -> Duration {
        Duration::MAX
    }

    fn reduce_each(&self, _: &dyn Fn(usize) -> Op, _: &mut [f64]) -> Result<(), CommError> {
        Ok(())
    }
}
