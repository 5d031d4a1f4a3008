//! Cells that pass between ranks as rows of a system of their own, of which devices exchange the ghosts.

use super::GridPart;
use crate::grid::Passing;
use chromaflow::dist::{Share, ShareError};
use std::sync::Arc;

/// Cells at interfaces between ranks: those here that others need, and those of others that come here. Some are ghosts beyond boundaries, from which
/// ghosts beyond edges take values.
pub(crate) struct Between {
    /// Both as rows; others' are ghosts.
    pub share: Arc<Share>,
    /// Block, place in its arrays and row of each that others need.
    pub own: Vec<[u32; 3]>,
    /// The row of each that comes, in the order in which the exchange has them.
    pub come: Vec<u32>,
}

impl GridPart {
    /// Cells that pass between ranks, where there are ranks; collective.
    ///
    /// # Errors
    /// [`ShareError`].
    pub(crate) fn between(&self) -> Result<Option<Between>, ShareError> {
        let Some(over) = &self.over else { return Ok(None) };
        let number = |block: usize, at: usize| over.arrays[over.blocks[block]] + at as u32;
        let lists = self.exchange.lists();
        let numbered = |&[block, at]: &[u32; 2]| [number(block as usize, at as usize), block, at];
        let mut own: Vec<[u32; 3]> = lists.iter().flat_map(|list| list.send.iter().map(numbered)).collect();
        own.sort_unstable();
        own.dedup();
        let come = self.exchange.received(1, |block, at, _| number(block, at));
        over.share.check()?;
        let rank = over.share.ranks().rank() as u32;
        let of_others = |list: &Passing| {
            let rank = list.rank as u32;
            let numbers = come[list.receive.clone()].to_vec();
            numbers.into_iter().map(move |number| (number, rank))
        };
        let mut all: Vec<(u32, u32)> = own.iter().map(|&[number, ..]| (number, rank)).collect();
        all.extend(lists.iter().flat_map(of_others));
        all.sort_unstable();
        let row = |number: u32| all.partition_point(|&(other, _)| other < number) as u32;
        let own = own.iter().map(|&[number, block, at]| [block, at, row(number)]).collect();
        let come = come.iter().map(|&number| row(number)).collect();
        let (global, owners): (Vec<u32>, Vec<u32>) = all.iter().copied().unzip();
        Ok(Some(Between { share: Arc::new(over.rows(global, &owners)?), own, come }))
    }
}
