//! A solver whose blocks are given to ranks, each with its device: what passes between them besides ghosts. Twin: ../over_ranks.rs.

use super::turbulence::EddiesCuda;
use super::{Count, StructuredCuda};
use crate::march::{Advanced, FlowError};
use chromaflow_comm::Op;

impl StructuredCuda {
    /// Norms and forces become those of all ranks; the first cell with a bad residual comes back, by its number in the grid.
    pub(super) fn over_all_ranks(&mut self) -> Result<Option<usize>, FlowError> {
        let found = self.first(Count::BadResidual);
        let Some(share) = &self.share else { return Ok(found) };
        let own = self.sums.all_mut();
        let beside = self.eddies.as_mut().map(EddiesCuda::sums_mut).unwrap_or_default();
        let mut all = [&*own, &*beside].concat();
        let mut found = [found.map(|cell| share.global(cell))];
        share.sum_and_lowest(&mut all, &mut found);
        let (of_flow, of_eddies) = all.split_at(own.len());
        own.copy_from_slice(of_flow);
        beside.copy_from_slice(of_eddies);
        share.share().check()?;
        Ok(found[0])
    }

    /// The lowest of all ranks' cells, by its number in the grid, of this rank's `cell` or none.
    pub(super) fn lowest(&self, cell: Option<usize>) -> Option<usize> {
        let Some(share) = &self.share else { return cell };
        share.lowest([cell.map(|cell| share.global(cell))])[0]
    }

    /// The largest of all ranks' values.
    pub(super) fn largest(&self, value: f64) -> f64 {
        let mut all = [value];
        if let Some(share) = &self.share {
            share.share().reduce(Op::Max, &mut all);
        }
        all[0]
    }

    /// Sums over this rank's cells become sums over all.
    pub(super) fn sum<const W: usize>(&self, mut sums: [f64; W]) -> [f64; W] {
        if let Some(share) = &self.share {
            share.sum(&mut sums);
        }
        sums
    }

    /// What a step did on all ranks, cells by their numbers in the grid. `limited`: updates that were cut, of the flow and of what is beside it.
    pub(super) fn agree(&self, done: Advanced, limited: [usize; 2]) -> Result<Advanced, FlowError> {
        let mut limited = limited.map(|count| count as f64);
        let mut found = [done.singular, done.bad];
        if let Some(share) = &self.share {
            found = found.map(|cell| cell.map(|cell| share.global(cell)));
            share.sum_and_lowest(&mut limited, &mut found);
            share.share().check()?;
        }
        let [singular, bad] = found;
        Ok(Advanced { singular, bad, limited: limited[0].max(limited[1]) as usize, ..done })
    }
}
