//! A solver whose blocks are given to ranks. Rank 0 leads: what it is asked for it tells the others, who do their part of it in
//! [`March::follow`](crate::march::March::follow).

use super::boundary::{self, PatchState};
use super::{StructuredSolver, StructuredSystem};
use crate::equations::perfect_gas::N;
use crate::grid::Metrics;
use chromaflow::dist::{Inner, Links, Share};
use chromaflow_comm::Op;
use chromaflow_device::Team;

/// What a rank knows of the whole grid.
pub(super) struct Over {
    /// All patches of the grid, without their faces.
    pub patches: Vec<PatchState>,
    /// Residuals of the turbulence model that are nothing but rounding.
    pub round_off: Vec<f64>,
}

impl StructuredSolver {
    /// Centers and volumes of all cells of the grid.
    pub(super) fn whole_cells(&self) -> Vec<([f64; 3], f64)> {
        if self.host.part.over.is_none() {
            return self.cells();
        }
        Metrics::all_cells(&self.host.grid)
    }

    /// Conserved variables of all cells of the grid, on rank 0.
    pub(super) fn whole_state(&self) -> Vec<[f64; N]> {
        if self.host.part.over.is_none() {
            return self.state();
        }
        let restart = self.restart();
        restart.fields.first().map_or_else(Vec::new, |state| state.values.as_chunks::<N>().0.to_vec())
    }
}

impl StructuredSystem {
    /// All patches of the grid; over ranks without faces.
    pub(super) fn all_patches(&self) -> &[PatchState] {
        self.over.as_ref().map_or(&self.patches, |over| &over.patches)
    }

    /// Finds the residuals of the turbulence model that are nothing but rounding.
    pub(super) fn find_round_off(&mut self) {
        let all: Vec<Vec<f64>> =
            (0..self.blocks.len()).map(|b| self.turbulence_round_off(b..b + 1)).collect();
        let unknowns = 0..self.turbulence_round_off(0..0).len();
        if let Some(over) = &mut self.over {
            let root = |k: usize| self.part.sum(all.iter().map(|of| of[k].powi(2))).sqrt();
            over.round_off = unknowns.map(root).collect();
        }
    }

    /// What each block has on its points, of all blocks on rank 0; none elsewhere.
    pub(super) fn of_all_blocks<const W: usize>(&self, own: Vec<Vec<[f64; W]>>) -> Vec<Vec<[f64; W]>> {
        let things = self.grid.blocks.iter().enumerate().map(|(b, block)| (b, block.points.iter().product()));
        self.gathered(things, own)
    }

    /// What each face of the patches of a kind has, of all of them on rank 0; none elsewhere.
    pub(super) fn of_all_patches<const W: usize>(
        &self,
        kind: impl Fn(&PatchState) -> bool,
        own: Vec<Vec<[f64; W]>>,
    ) -> Vec<Vec<[f64; W]>> {
        let all = self.all_patches().iter().filter(|patch| kind(patch));
        self.gathered(all.map(|patch| (patch.window.block, patch.window.cells().count())), own)
    }

    fn gathered<const W: usize>(
        &self,
        things: impl Iterator<Item = (usize, usize)>,
        own: Vec<Vec<[f64; W]>>,
    ) -> Vec<Vec<[f64; W]>> {
        let own = own.into_iter().map(Vec::into_flattened).collect();
        let lists = self.part.gather_lists(things.map(|(block, length)| (block, W * length)), own);
        lists.iter().map(|list| list.as_chunks::<W>().0.to_vec()).collect()
    }

    /// Whether all ranks could invert their blocks; else the first cell where one could not.
    pub(super) fn all_regular(&self, found: Result<(), (usize, usize)>) -> Result<(), usize> {
        let own = found.err().map(|(block, at)| self.part.row(block, at));
        self.part.lowest(own).map_or(Ok(()), Err)
    }

    /// Numbers of cells of all ranks.
    pub(super) fn count<const W: usize>(&self, own: [usize; W]) -> [usize; W] {
        let Some(share) = self.part.share() else { return own };
        let mut all = own.map(|n| n as f64);
        share.reduce(Op::Sum, &mut all);
        all.map(|n| n as usize)
    }

    /// The pressures from which outlets are adapted, each with the numbers of its patches among all of the grid's. Collective.
    pub(super) fn held_everywhere(&self) -> Vec<(Vec<usize>, f64)> {
        let outlets = boundary::outlets(self.all_patches());
        let own = |outlet: &Vec<usize>| {
            let own = outlet.iter().find_map(|&patch| self.part.own_patch(patch));
            own.map_or(0.0, |patch| self.patches[patch].condition.held)
        };
        let mut held: Vec<f64> = outlets.iter().map(own).collect();
        if let Some(share) = self.part.share().filter(|_| !held.is_empty()) {
            share.reduce(Op::Max, &mut held);
        }
        outlets.into_iter().zip(held).collect()
    }

    /// Back pressures of outlets of given mass flow, by the state.
    pub(super) fn adapt_outlets(&mut self) {
        let (gas, alone) = (self.physics.gas, if self.config.takes_newton() { 0.0 } else { 1.0 });
        let (Some(Over { patches, .. }), Some(ranks)) = (&self.over, &self.part.over) else {
            return boundary::adapt_outlets(gas, &mut self.patches, &self.blocks, alone);
        };
        let outlets = boundary::outlets(patches);
        if outlets.is_empty() {
            return;
        }
        let own =
            self.patches.iter().zip(&self.part.numbers).filter(|(patch, _)| patch.condition.mass_flow > 0.0);
        let own = own.map(|(patch, &number)| (number, patch.add_outflow(gas, &self.blocks, [0.0; 2])));
        let flows = ranks.of_all(patches.len(), own);
        for outlet in outlets {
            let sum = outlet.iter().fold([0.0; 2], |[f, s], &p| [f + flows[p][0], s + flows[p][1]]);
            let own: Vec<usize> = outlet.into_iter().filter_map(|patch| self.part.own_patch(patch)).collect();
            boundary::set_pressure(gas, &mut self.patches, &own, sum, alone);
        }
    }
}

/// |x| of vectors of this rank's unknowns, or of all ranks'.
pub(super) fn norm(team: &Team, share: Option<&Share>, x: &[f64]) -> f64 {
    Inner::new(team, share.map(|share| share as &dyn Links)).norm2(x)
}
