//! Blocks of a structured grid given to ranks, whole: the largest first, to the rank that has least.
//!
//! Every rank knows the whole grid and computes on its own blocks. Ghost cells beyond interfaces take the values of their owners,
//! whoever has them. What depends on the order of a sum is summed block by block (or patch by patch), and these in the order of
//! blocks: results then do not depend on the number of ranks.

use super::{Ranks, rows, wire};
use crate::grid::{Exchange, Grid, Passing};
use bytemuck::Pod;
use chromaflow::dist::{Share, ShareError};
use chromaflow::{BlockPattern, RowBatches};
use chromaflow_comm::{CommError, Communicator, Op};
use std::ops::Deref;
use std::sync::Arc;

/// A rank's blocks among all of a grid.
#[derive(Clone, Debug)]
pub struct BlockRanks {
    /// Its cells, block by block, i fastest: all of them its own.
    pub share: Arc<Share>,
    /// The rank of each block of the grid.
    pub owner: Vec<u32>,
    /// Numbers of this rank's blocks in the grid, ascending.
    pub blocks: Vec<usize>,
    /// Most cells that a rank has, over the mean.
    pub balance: f64,
}

/// The rank of each block of so many cells, and the most cells of a rank over the mean.
///
/// **Source**: Graham, *Bounds on multiprocessing timing anomalies* (1969): the longest first is at most a third above the best.
fn given(cells: &[usize], ranks: usize) -> (Vec<u32>, f64) {
    let mut order: Vec<usize> = (0..cells.len()).collect();
    order.sort_by_key(|&block| std::cmp::Reverse(cells[block]));
    let (mut owner, mut loads) = (vec![0; cells.len()], vec![0; ranks]);
    for block in order {
        let least = (0..ranks).min_by_key(|&rank| loads[rank]).unwrap_or(0);
        owner[block] = least as u32;
        loads[least] += cells[block];
    }
    let (most, all) = (loads.iter().max().copied().unwrap_or(0), cells.iter().sum::<usize>());
    (owner, (most * ranks) as f64 / all.max(1) as f64)
}

/// A share of rows that no matrix couples, with these numbers and owners, of `all`.
fn uncoupled(
    ranks: &Arc<dyn Communicator>,
    all: usize,
    global: Vec<u32>,
    owners: &[u32],
) -> Result<Share, ShareError> {
    let (n, rank) = (global.len(), ranks.rank());
    let fault = |fault: String| ShareError::Rows { rank, fault };
    let pattern = BlockPattern::new(n, vec![0; n + 1], Vec::new()).map_err(|e| fault(e.to_string()))?;
    let batches = RowBatches::new(vec![0, n as u32]);
    Share::new(Arc::clone(ranks), &pattern, &batches, &[[all; 2]], global, owners)
}

impl BlockRanks {
    /// Of a grid that every rank has; collective. There are at least as many blocks as ranks.
    ///
    /// # Errors
    /// [`ShareError`].
    pub fn new(ranks: &Ranks, grid: &Grid) -> Result<Self, ShareError> {
        let cells: Vec<usize> = grid.blocks.iter().map(|b| b.cells().iter().product()).collect();
        let (rank, all) = (ranks.ranks.rank() as u32, cells.iter().sum::<usize>());
        let (owner, balance) = given(&cells, ranks.ranks.size());
        let blocks: Vec<usize> = (0..owner.len()).filter(|&block| owner[block] == rank).collect();
        let (mut global, mut first) = (Vec::new(), 0);
        for (block, count) in cells.iter().enumerate() {
            if owner[block] == rank {
                global.extend(first as u32..(first + count) as u32);
            }
            first += count;
        }
        let owners = vec![rank; global.len()];
        let share = uncoupled(&ranks.ranks, all, global, &owners)?;
        let share = Arc::new(if ranks.reproducible { share.exactly() } else { share });
        Ok(Self { share, owner, blocks, balance })
    }

    /// Where this rank's so many numbers begin when those of all ranks follow one another; collective.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn first_of(&self, count: usize) -> Result<u32, CommError> {
        let ranks = self.share.ranks();
        let counts = ranks.gather_all(&(count as u32).to_ne_bytes())?;
        Ok(counts.iter().take(ranks.rank()).flat_map(|count| wire::values::<u32>(count)).sum())
    }

    /// Cells or ghosts, of this rank and of others, by numbers that all ranks give them, as rows; collective.
    ///
    /// # Errors
    /// [`ShareError`].
    pub fn rows(&self, global: Vec<u32>, owners: &[u32]) -> Result<Share, ShareError> {
        uncoupled(self.share.ranks(), self.share.whole(), global, owners)
    }

    /// Number of ranks, and [`Self::balance`]; none where there is one rank.
    pub fn division(&self) -> Option<(usize, f64)> {
        let size = self.share.ranks().size();
        (size > 1).then_some((size, self.balance))
    }

    /// Copies across interfaces into this rank's blocks.
    pub fn exchange(&self, grid: &Grid) -> BlockExchange {
        let (copies, lists) = Exchange::new(grid).of_rank(&self.owner, self.share.ranks().rank() as u32);
        BlockExchange { copies, between: Some((Arc::clone(&self.share), lists)) }
    }

    /// On every rank what `count` things have, each of which one rank has: the same bits everywhere.
    pub fn of_all<const N: usize>(
        &self,
        count: usize,
        own: impl IntoIterator<Item = (usize, [f64; N])>,
    ) -> Vec<[f64; N]> {
        let mut all = vec![[0.0; N]; count];
        for (at, values) in own {
            all[at] = values;
        }
        self.share.reduce(Op::Sum, all.as_flattened_mut());
        all
    }

    /// Sums over all blocks, in their order, of `width` numbers that each block of this rank has: the same bits on every rank and any
    /// number of them.
    pub fn sum_blocks<V: AsRef<[f64]>>(&self, width: usize, own: impl IntoIterator<Item = V>) -> Vec<f64> {
        let mut all = vec![0.0; width * self.owner.len()];
        for (block, of) in self.blocks.iter().zip(own) {
            all[width * block..][..width].copy_from_slice(of.as_ref());
        }
        self.share.reduce(Op::Sum, &mut all);
        let mut sums = vec![0.0; width];
        for of in all.chunks_exact(width.max(1)) {
            sums.iter_mut().zip(of).for_each(|(sum, of)| *sum += of);
        }
        sums
    }

    /// On rank 0 the lists of all things in their order, each from the rank that has its block; nothing elsewhere. `things` says the block
    /// and the length of each, `own` has those of this rank. NaN where ranks have failed ([`Share::check`] says so). Collective.
    pub fn gather_lists(
        &self,
        things: impl Iterator<Item = (usize, usize)>,
        own: &[Vec<f64>],
    ) -> Vec<Vec<f64>> {
        let ranks = self.share.ranks();
        let parts = self.share.check().and_then(|()| ranks.gather(0, bytemuck::cast_slice(&own.concat())));
        if ranks.rank() > 0 {
            return Vec::new();
        }
        let parts: Vec<Vec<f64>> = parts.unwrap_or_default().iter().map(|part| wire::values(part)).collect();
        let mut next = vec![0; ranks.size()];
        let of = |(block, length): (usize, usize)| {
            let rank = self.owner[block] as usize;
            let start = next[rank];
            next[rank] += length;
            let list = parts.get(rank).and_then(|part| part.get(start..start + length));
            list.map_or_else(|| vec![f64::NAN; length], <[f64]>::to_vec)
        };
        things.map(of).collect()
    }

    /// Values of all cells on rank 0; nothing elsewhere. NaN where ranks have failed. Collective.
    ///
    /// **Shapes**: values `[own cells, width]`, out `[cells of the grid, width]`.
    pub fn gather(&self, width: usize, values: &[f64]) -> Vec<f64> {
        rows::gather(&self.share, width, values)
    }

    /// Values of this rank's cells from those of all cells on rank 0; collective.
    ///
    /// **Shapes**: values `[cells of the grid, width]` on rank 0, out `[own cells, width]`.
    ///
    /// # Errors
    /// [`CommError`].
    pub fn scatter(&self, width: usize, values: &[f64]) -> Result<Vec<f64>, CommError> {
        rows::scatter(&**self.share.ranks(), self.share.global(), width, values)
    }
}

/// Copies across interfaces, between blocks of this rank and from those of others. Where there are no others it is the [`Exchange`] that it
/// stands for.
#[derive(Clone, Debug, Default)]
pub struct BlockExchange {
    copies: Exchange,
    between: Option<(Arc<Share>, Vec<Passing>)>,
}

impl Deref for BlockExchange {
    type Target = Exchange;

    fn deref(&self) -> &Exchange {
        &self.copies
    }
}

impl BlockExchange {
    /// For all interfaces of a grid, on one rank.
    pub fn new(grid: &Grid) -> Self {
        Self { copies: Exchange::new(grid), between: None }
    }

    /// Whether there is nothing to copy, nor to tell others.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty() && self.between.is_none()
    }

    /// What passes to and from other ranks.
    pub fn lists(&self) -> &[Passing] {
        self.between.as_ref().map_or(&[], |(_, lists)| lists)
    }

    /// Cells that come from other ranks.
    pub fn count(&self) -> usize {
        self.lists().last().map_or(0, |list| list.receive.end)
    }

    /// As [`Exchange::fill`], over all ranks; collective.
    ///
    /// # Panics
    /// When an array has another length.
    pub fn fill<T: Pod, A: AsMut<[T]> + AsRef<[T]>>(&self, fields: &mut [A], components: usize) {
        self.with_others(fields, components, |all| self.copies.fill(all, components));
    }

    /// As [`Exchange::fill_states`].
    ///
    /// # Panics
    /// As [`Self::fill`].
    pub fn fill_states<A: AsMut<[f64]> + AsRef<[f64]>>(&self, fields: &mut [A], components: usize) {
        self.with_others(fields, components, |all| self.copies.fill_states(all, components));
    }

    /// As [`Exchange::fill_rows`].
    ///
    /// # Panics
    /// As [`Self::fill`].
    pub fn fill_rows<A: AsMut<[[f64; 5]]> + AsRef<[[f64; 5]]>>(&self, fields: &mut [A]) {
        self.with_others(fields, 1, |all| self.copies.fill_rows(all));
    }

    /// Has `copy` fill the fields, with what comes from other ranks behind them.
    fn with_others<T: Pod, A: AsMut<[T]> + AsRef<[T]>>(
        &self,
        fields: &mut [A],
        components: usize,
        copy: impl FnOnce(&mut [&mut [T]]),
    ) {
        let mut others = match self.between {
            None => Vec::new(),
            Some(_) => self.received(components, |block, cell, c| {
                let field = fields[block].as_ref();
                field[c * (field.len() / components) + cell]
            }),
        };
        let own = fields.iter_mut().map(AsMut::as_mut);
        let mut all: Vec<&mut [T]> = own.chain(self.between.is_some().then_some(&mut others[..])).collect();
        copy(&mut all);
    }

    /// What other ranks have in the cells that ghosts here take values from: `value` gives a component of a cell of one of this rank's
    /// blocks. Zeros where something has failed. Collective.
    ///
    /// **Shapes**: out `[components, cells that come]`.
    pub fn received<T: Pod>(&self, components: usize, value: impl Fn(usize, usize, usize) -> T) -> Vec<T> {
        let count = self.count();
        let mut all = vec![T::zeroed(); components * count];
        let Some((share, lists)) = &self.between else { return all };
        if cfg!(debug_assertions) {
            // A cell that nobody sends shows: all bits set are NaN in every precision.
            bytemuck::cast_slice_mut::<T, u8>(&mut all).fill(u8::MAX);
        }
        for list in lists.iter().filter(|list| !list.send.is_empty()) {
            let cells =
                |c: usize| list.send.iter().map(move |&[block, cell]| [block as usize, cell as usize, c]);
            let packed: Vec<T> =
                (0..components).flat_map(cells).map(|[block, cell, c]| value(block, cell, c)).collect();
            share.post(list.rank, bytemuck::cast_slice(&packed).to_vec());
        }
        for list in lists.iter().filter(|list| !list.receive.is_empty()) {
            let bytes = list.receive.len() * size_of::<T>();
            let what = || "the exchange of blocks".to_owned();
            let Some(packed) = share.take(list.rank, components * bytes, what) else {
                // Nothing of it is used: the share says why.
                all.chunks_exact_mut(count).for_each(|all| all[list.receive.clone()].fill(T::zeroed()));
                continue;
            };
            for (all, part) in all.chunks_exact_mut(count).zip(packed.chunks_exact(bytes)) {
                all[list.receive.clone()].copy_from_slice(&wire::values(part));
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::Cells;
    use crate::grid::generate::{BoxGrid, Cylinder};
    use crate::ranks::tests::PATIENCE;
    use chromaflow_comm::run;

    #[test]
    fn the_largest_blocks_come_first() {
        assert_eq!(given(&[3, 9, 5, 4, 4], 2), (vec![1, 0, 1, 1, 0], 26.0 / 25.0));
        assert_eq!(given(&[7; 3], 3), (vec![0, 1, 2], 1.0));
    }

    /// Ghosts of every block, of turned ones and of one that meets itself, are those of one rank; lists and sums come together.
    #[test]
    fn ghosts_and_sums_are_those_of_one_rank() {
        let turned = BoxGrid { cells: [9, 7, 6], size: [2.0, 1.0, 0.8], wave: 0.0 }.grid();
        let turned = turned.split(0, 0, 4).unwrap().split(1, 1, 3).unwrap().split(0, 2, 3).unwrap();
        let turned = turned.reorient(1, [1, 2, 0], [true, false, false]);
        let ring = Cylinder { cells: [16, 9], radius: 4.0, growth: 1.2, triangles: false }.grid();
        let ring = ring.split(0, 1, 4).unwrap();
        for grid in [turned, ring] {
            let lengths: Vec<usize> = grid.blocks.iter().map(|b| Cells::new(b.cells()).len()).collect();
            let field = |block: usize| -> Vec<f64> {
                (0..2 * lengths[block]).map(|at| (1000 * block + at) as f64 + 0.1).collect()
            };
            let mut expected: Vec<Vec<f64>> = (0..lengths.len()).map(field).collect();
            Exchange::new(&grid).fill(&mut expected, 2);
            let sum = expected.iter().fold(0.0, |sum, of| sum + of[0]);
            for size in 1..=grid.blocks.len() {
                let grid = grid.clone();
                let found = run(size, PATIENCE, {
                    let (lengths, fields) =
                        (lengths.clone(), (0..lengths.len()).map(field).collect::<Vec<_>>());
                    move |threads| {
                        let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
                        let over = BlockRanks::new(&ranks, &grid).map_err(|e| e.to_string())?;
                        let mut own: Vec<Vec<f64>> =
                            over.blocks.iter().map(|&block| fields[block].clone()).collect();
                        over.exchange(&grid).fill(&mut own, 2);
                        let sum = over.sum_blocks(1, own.iter().map(|field| [field[0]]));
                        let cells =
                            (threads.rank() == 0).then(|| (0..grid.cells()).map(|n| n as f64).collect());
                        let cells: Vec<f64> = cells.unwrap_or_default();
                        let numbers = over.scatter(1, &cells).map_err(|e| e.to_string())?;
                        assert!(numbers.iter().zip(over.share.global()).all(|(a, &b)| *a == f64::from(b)));
                        let lists = (0..lengths.len()).map(|block| (block, 2 * lengths[block]));
                        Ok::<_, String>((sum, over.gather_lists(lists, &own)))
                    }
                })
                .unwrap();
                assert!(found.iter().all(|(of, _)| of[0].to_bits() == sum.to_bits()));
                assert_eq!(found[0].1, expected, "{size} ranks");
                assert!(found[1..].iter().all(|(_, lists)| lists.is_empty()));
            }
        }
    }
}
