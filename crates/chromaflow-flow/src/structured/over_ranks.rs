//! A solver whose blocks are given to ranks. Rank 0 leads: what it is asked for it tells the others, who do their part of it in
//! [`StructuredSolver::follow`].

use super::boundary::{self, PatchState};
use super::{StructuredSolver, StructuredSystem, WallLoads};
use crate::grid::Metrics;
use crate::march::over_ranks::{self as ranks, loads, part};
use crate::march::{FlowError, Measured, Order};
use crate::output::Restart;
use crate::ranks::BlockRanks;
use chromaflow::dist::{Inner, Links, Share};
use chromaflow_comm::Op;
use chromaflow_device::Team;
use std::borrow::Cow;

/// A rank's part of a grid that all ranks know.
pub(super) struct Over {
    pub ranks: BlockRanks,
    /// All patches of the grid, without their faces.
    pub patches: Vec<PatchState>,
    /// Which of them each patch of this rank is.
    pub numbers: Vec<usize>,
    /// Residuals of the turbulence model that are nothing but rounding.
    pub round_off: Vec<f64>,
}

impl Over {
    /// The root of the sum of squares over all blocks, in their order.
    pub fn root(&self, own: impl Iterator<Item = f64>) -> f64 {
        self.ranks.sum_blocks(1, own.map(|value| [value * value]))[0].sqrt()
    }
}

impl StructuredSolver {
    /// Does a rank's part of whatever rank 0 is asked for, until rank 0 ends ([`StructuredSolver::dismiss`](crate::march::March::dismiss)).
    ///
    /// # Errors
    /// [`FlowError::Ranks`] when another rank has failed.
    pub fn follow(&mut self) -> Result<(), FlowError> {
        self.follow_by(|me, order| {
            match order {
                Order::Fields => drop(me.fields()),
                Order::Restart => drop(me.restart()),
                Order::Resume => me.resume(&Restart::default())?,
                Order::Largest => {
                    let found = me.residuals();
                    drop(me.of_all_cells(found.equations, &found.rates));
                    drop(me.largest_residual(&found));
                }
                Order::Heights => drop(me.y_plus()),
                _ => {} // what all systems do alike, or nothing
            }
            Ok(())
        })
    }

    /// Number of ranks, and the most cells that one of them has over the mean; none where there is one.
    pub fn division(&self) -> Option<(usize, f64)> {
        self.host.over.as_ref()?.ranks.division()
    }

    /// Values of this rank's cells as those of all cells on rank 0, none elsewhere: collective, as
    /// [`March::residuals`](crate::march::March::residuals) says.
    ///
    /// **Shapes**: `[cells, width]`.
    pub fn of_all_cells<'a>(&self, width: usize, values: &'a [f64]) -> Cow<'a, [f64]> {
        match &self.host.over {
            None => Cow::Borrowed(values),
            Some(over) => Cow::Owned(over.ranks.gather(width, values)),
        }
    }

    /// Centers and volumes of all cells of the grid.
    pub(super) fn whole_cells(&self) -> Vec<([f64; 3], f64)> {
        if self.host.over.is_none() {
            return self.cells();
        }
        Metrics::all_cells(&self.host.grid)
    }

    /// Conserved variables of all cells of the grid, on rank 0.
    pub(super) fn whole_state(&self) -> Vec<[f64; 5]> {
        if self.host.over.is_none() {
            return self.state();
        }
        let restart = self.restart();
        restart.fields.first().map_or_else(Vec::new, |state| state.values.as_chunks::<5>().0.to_vec())
    }
}

impl StructuredSystem {
    /// All patches of the grid; over ranks without faces.
    pub(super) fn all_patches(&self) -> &[PatchState] {
        self.over.as_ref().map_or(&self.patches, |over| &over.patches)
    }

    /// Finds the residuals of the turbulence model that are nothing but rounding.
    pub(super) fn find_round_off(&mut self) {
        let Some(over) = &self.over else { return };
        let all: Vec<Vec<f64>> =
            (0..self.blocks.len()).map(|b| self.turbulence_round_off(b..b + 1)).collect();
        let unknowns = 0..self.turbulence_round_off(0..0).len();
        let found = unknowns.map(|k| over.root(all.iter().map(|of| of[k]))).collect();
        if let Some(over) = &mut self.over {
            over.round_off = found;
        }
    }

    /// The number of a block in the grid.
    pub(super) fn block_number(&self, block: usize) -> usize {
        self.over.as_ref().map_or(block, |over| over.ranks.blocks[block])
    }

    /// See [`StructuredSolver::of_all_cells`].
    pub(super) fn of_all_cells(&self, width: usize, values: Vec<f64>) -> Vec<f64> {
        match &self.over {
            None => values,
            Some(over) => over.ranks.gather(width, &values),
        }
    }

    /// What each block has on its points, of all blocks on rank 0; none elsewhere.
    pub(super) fn of_all_blocks<const N: usize>(&self, own: Vec<Vec<[f64; N]>>) -> Vec<Vec<[f64; N]>> {
        let things = self.grid.blocks.iter().enumerate().map(|(b, block)| (b, block.points.iter().product()));
        self.gathered(things, own)
    }

    /// What each face of the patches of a kind has, of all of them on rank 0; none elsewhere.
    pub(super) fn of_all_patches<const N: usize>(
        &self,
        kind: impl Fn(&PatchState) -> bool,
        own: Vec<Vec<[f64; N]>>,
    ) -> Vec<Vec<[f64; N]>> {
        let all = self.all_patches().iter().filter(|patch| kind(patch));
        self.gathered(all.map(|patch| (patch.window.block, patch.window.cells().count())), own)
    }

    fn gathered<const N: usize>(
        &self,
        things: impl Iterator<Item = (usize, usize)>,
        own: Vec<Vec<[f64; N]>>,
    ) -> Vec<Vec<[f64; N]>> {
        let Some(over) = &self.over else { return own };
        let own: Vec<Vec<f64>> = own.into_iter().map(Vec::into_flattened).collect();
        let lists = over.ranks.gather_lists(things.map(|(block, length)| (block, N * length)), &own);
        lists.iter().map(|list| list.as_chunks::<N>().0.to_vec()).collect()
    }

    /// The number of a cell of this rank, over ranks the lowest of all.
    pub(super) fn lowest(&self, cell: Option<(usize, usize)>) -> Option<usize> {
        let own = cell.map(|(block, at)| self.number(block, at));
        self.over.as_ref().map_or(own, |over| over.ranks.share.lowest(own))
    }

    /// Whether all ranks could invert their blocks; else the first cell where one could not.
    pub(super) fn all_regular(&self, found: Result<(), (usize, usize)>) -> Result<(), usize> {
        self.lowest(found.err()).map_or(Ok(()), Err)
    }

    /// Numbers of cells of all ranks.
    pub(super) fn count<const N: usize>(&self, own: [usize; N]) -> [usize; N] {
        let Some(over) = &self.over else { return own };
        let mut all = own.map(|n| n as f64);
        over.ranks.share.reduce(Op::Sum, &mut all);
        all.map(|n| n as usize)
    }

    /// One step of the back pressure of outlets of given mass flow.
    pub(super) fn adapt_outlets(&mut self) {
        let gas = self.physics.gas;
        let Some(over) = &mut self.over else {
            return boundary::adapt_outlets(gas, &mut self.patches, &self.blocks);
        };
        let outlets = boundary::outlets(&over.patches);
        if outlets.is_empty() {
            return;
        }
        let own = self.patches.iter().zip(&over.numbers).filter(|(patch, _)| patch.condition.mass_flow > 0.0);
        let own = own.map(|(patch, &number)| (number, patch.add_outflow(gas, &self.blocks, [0.0; 2])));
        let flows = over.ranks.of_all(over.patches.len(), own);
        for outlet in outlets {
            let sum = outlet.iter().fold([0.0; 2], |[f, s], &p| [f + flows[p][0], s + flows[p][1]]);
            boundary::set_pressure(&mut over.patches, &outlet, sum);
        }
        for (patch, &number) in self.patches.iter_mut().zip(&over.numbers) {
            patch.condition.outlet.pressure = over.patches[number].condition.outlet.pressure;
        }
    }

    /// What is known of the residual of all ranks.
    pub(super) fn measured_over(&self, over: &Over, walls: &[WallLoads]) -> Measured {
        let beside = self.turbulence_squares(0..0).len();
        let squares = self.blocks.iter().enumerate().map(|(b, block)| {
            let mut sums = [0.0; 5];
            self.add_squares(block, &mut sums);
            [sums.to_vec(), self.turbulence_squares(b..b + 1)].concat()
        });
        let mut squares = over.ranks.sum_blocks(5 + beside, squares);
        let coupled = squares.split_off(5);
        let own =
            walls.iter().map(|(patch, pressure, viscous)| (over.numbers[*patch], [*pressure, *viscous]));
        let loads = over.ranks.of_all(over.patches.len(), own.map(|(patch, of)| (patch, loads(&of))));
        let walls = over.patches.iter().zip(&loads).filter(|(patch, _)| patch.condition.kind.is_wall());
        let forces = self.forces_of(walls.map(|(patch, of)| (&*patch.name, part(&of[..6]), part(&of[6..]))));
        Measured::new(squares, forces).with_coupled(coupled)
    }

    /// A restart of this rank's cells from one of all cells on rank 0; collective.
    pub(super) fn scattered<'a>(&self, restart: &'a Restart) -> Result<Cow<'a, Restart>, FlowError> {
        let Some(over) = &self.over else { return Ok(Cow::Borrowed(restart)) };
        let scatter = |width: usize, values: &[f64]| over.ranks.scatter(width, values);
        let all = ranks::scattered(&**over.ranks.share.ranks(), restart, self.grid.cells(), scatter);
        all.map(Cow::Owned)
    }
}

/// |x| of vectors of this rank's unknowns, or of all ranks'.
pub(super) fn norm(team: &Team, share: Option<&Share>, x: &[f64]) -> f64 {
    Inner::new(team, share.map(|share| share as &dyn Links)).norm2(x)
}
