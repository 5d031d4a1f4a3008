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
        let (rank, lists) = (over.share.ranks().rank() as u32, self.exchange.lists());
        let mut sent: Vec<[u32; 2]> = lists.iter().flat_map(|list| &list.send).copied().collect();
        sent.sort_unstable();
        sent.dedup();
        let first = over.first_of(sent.len())?;
        let number = |block: usize, at: usize| {
            let found = sent.binary_search(&[block as u32, at as u32]);
            first + found.expect("a cell that is sent") as u32
        };
        let come = self.exchange.received(1, |block, at, _| number(block, at));
        over.share.check()?;
        let of_others = |list: &Passing| {
            let rank = list.rank as u32;
            let numbers = come[list.receive.clone()].to_vec();
            numbers.into_iter().map(move |number| (number, rank))
        };
        let mut all: Vec<(u32, u32)> = (first..).zip(&sent).map(|(number, _)| (number, rank)).collect();
        all.extend(lists.iter().flat_map(of_others));
        all.sort_unstable();
        let row = |number: u32| all.partition_point(|&(other, _)| other < number) as u32;
        let own_row =
            |block: u32, at: u32| self.row_at(block as usize, at as usize).map_or(NONE, |row| row as u32);
        let passed = |(number, &[block, at]): (u32, &[u32; 2])| Passed {
            block,
            at,
            own_row: own_row(block, at),
            row: row(number),
        };
        let own = (first..).zip(&sent).map(passed).collect();
        let come = come.iter().map(|&number| row(number)).collect();
        let (global, owners): (Vec<u32>, Vec<u32>) = all.iter().copied().unzip();
        Ok(Some(Between { share: Arc::new(over.rows(global, &owners)?), own, come }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::generate::BoxGrid;
    use crate::ranks::Ranks;
    use crate::ranks::tests::PATIENCE;
    use chromaflow::dist::Links;
    use chromaflow_comm::run;

    /// What comes by rows is what comes by the exchange's own lists, on turned blocks; rows of cells are those of the part.
    #[test]
    fn rows_that_pass_are_the_cells_of_the_exchange() {
        let grid = BoxGrid { cells: [9, 7, 6], size: [2.0, 1.0, 0.8], wave: 0.0 }.grid();
        let grid = grid.split(0, 0, 4).unwrap().split(1, 1, 3).unwrap().split(0, 2, 3).unwrap();
        let grid = grid.reorient(1, [1, 2, 0], [true, false, false]);
        for size in 1..=grid.blocks.len() {
            let grid = grid.clone();
            let passed = run(size, PATIENCE, move |threads| {
                let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
                let (part, _) = GridPart::new(&grid, Some(&ranks)).map_err(|e| e.to_string())?;
                let between = part.between().map_err(|e| e.to_string())?.expect("ranks");
                let value = |block: usize, at: usize, c: usize| {
                    (1e6 * part.number(block) as f64 + at as f64) * if c == 0 { 1.0 } else { -0.5 }
                };
                let mut rows = vec![f64::NAN; 2 * between.share.rows()];
                for of in &between.own {
                    let (block, at) = (of.block as usize, of.at as usize);
                    (0..2).for_each(|c| rows[2 * of.row as usize + c] = value(block, at, c));
                    assert_eq!(
                        part.row_at(block, at).map(|row| row as u32),
                        (of.own_row != NONE).then_some(of.own_row)
                    );
                }
                between.share.exchange(2, &mut rows);
                let expected = part.exchange.received(2, value);
                let count = between.come.len();
                for (place, &row) in between.come.iter().enumerate() {
                    for c in 0..2 {
                        assert_eq!(rows[2 * row as usize + c], expected[c * count + place]);
                    }
                }
                Ok::<_, String>(count)
            });
            assert_eq!(passed.unwrap().iter().sum::<usize>() > 0, size > 1);
        }
    }
}
