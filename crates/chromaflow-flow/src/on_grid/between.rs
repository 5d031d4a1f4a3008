//! Cells that pass between ranks as rows of a system of their own, whose ghosts devices exchange.

use super::{GridPart, NONE};
use crate::grid::cuda::{Between, Passed};
use crate::grid::{ExchangeCuda, Passage, Passing};
use crate::march::FlowError;
use chromaflow::dist::ShareError;
use chromaflow_device::cuda::Stream;
use std::sync::Arc;

impl GridPart {
    /// Copies across interfaces on a device, over ranks where there are some; collective. As [`ExchangeCuda::new`].
    ///
    /// # Errors
    /// [`FlowError::Gpu`], [`FlowError::Ranks`].
    pub(crate) fn exchange_on(
        &self,
        stream: &Stream,
        first: &[usize],
        cells: usize,
        passage: Passage,
    ) -> Result<ExchangeCuda, FlowError> {
        let exchange = match self.between()? {
            None => ExchangeCuda::new(stream, &self.exchange, first, cells),
            Some(between) => {
                ExchangeCuda::over_ranks(stream, &self.exchange, first, cells, (&between, passage))
            }
        };
        Ok(exchange?)
    }

    /// Cells that pass between ranks, where there are ranks; collective.
    fn between(&self) -> Result<Option<Between>, ShareError> {
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
        let own_row =
            |block: u32, at: u32| self.row_at(block as usize, at as usize).map_or(NONE, |row| row as u32);
        let passed = |&[number, block, at]: &[u32; 3]| Passed {
            block,
            at,
            own_row: own_row(block, at),
            row: row(number),
        };
        let own = own.iter().map(passed).collect();
        let come = come.iter().map(|&number| row(number)).collect();
        let (global, owners): (Vec<u32>, Vec<u32>) = all.iter().copied().unzip();
        Ok(Some(Between { share: Arc::new(over.rows(global, &owners)?), own, come }))
    }
}
