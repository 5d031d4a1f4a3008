//! The state seen from outside.

use super::block::BlockState;
use super::{StructuredSolver, StructuredSystem};
use crate::equations::perfect_gas::{N, State};
use crate::equations::{Equations, PerfectGas};
use crate::gas::{conserved, entropy, primitive};
use crate::grid::{Grid, Metrics};
use crate::march::{Bdf, FlowError, Forces, PartTime};

impl StructuredSolver {
    /// The grid, its blocks' axes turned as the solver has them: see [`Grid::thin_axis_last`].
    pub fn grid(&self) -> &Grid {
        &self.host.grid
    }

    /// Areas, volumes and centers of a block.
    pub fn metrics(&self, block: usize) -> &Metrics {
        &self.host.blocks[block].metrics
    }

    /// The primitive state of the free stream.
    pub fn free_stream(&self) -> State {
        self.host.free
    }

    /// Conserved variables of all cells: block by block, i fastest; over ranks of this one's, as everything here but
    /// [`StructuredSolver::entropy_error`].
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn state(&self) -> Vec<State> {
        let host = self.synced();
        let of = |block: &BlockState, at| conserved(host.physics.gas, &block.state(at));
        host.blocks.iter().flat_map(|b| b.cells.places().map(move |at| of(b, at))).collect()
    }

    /// Sets all cells from their centers' coordinates, as conserved variables; also the earlier time levels.
    pub fn set_state(&mut self, q: impl Fn([f64; 3]) -> State) {
        let host = self.host_to_set();
        for block in &mut host.blocks {
            for at in block.cells.places() {
                block.set(at, primitive(host.physics.gas, &q(block.metrics.center(at))));
            }
            block.last_good.copy_from_slice(&block.w);
            for level in &mut block.levels {
                if !level.is_empty() {
                    level.copy_from_slice(&block.w);
                }
            }
        }
    }

    /// Forces of the state before the last update.
    pub fn forces(&self) -> &Forces {
        self.last_forces()
    }

    /// The residual of the present state over the cells' volumes, in the order of [`StructuredSolver::state`].
    pub fn rates(&mut self) -> Vec<State> {
        let bdf = self.moment().bdf;
        self.synced_mut().rates(bdf)
    }

    /// Volume-weighted root mean square of the entropy's deviation from the free stream's: zero in smooth inviscid flow but
    /// for the scheme's error.
    pub fn entropy_error(&self) -> f64 {
        let gas = self.host.physics.gas;
        let sum: f64 = self
            .whole_state()
            .iter()
            .zip(self.whole_cells())
            .map(|(q, (_, volume))| (entropy(gas, &primitive(gas, q)) - 1.0).powi(2) * volume)
            .sum();
        (sum / self.host.volume).sqrt()
    }

    /// Pressure coefficient on each face of a marker: the face's middle, and the pressure there less the free stream's over
    /// the dynamic pressure.
    pub fn wall_cp(&self, marker: &str) -> Vec<([f64; 3], f64)> {
        let host = self.synced();
        let dynamic = 0.5 * host.config.freestream.mach.powi(2);
        let mut out = Vec::new();
        for patch in host.patches.iter().filter(|p| p.name == marker) {
            let block = &host.blocks[patch.window.block];
            for (cell, x) in &patch.faces {
                let view = patch.view(block, block.cells.inside(*cell));
                out.push((*x, (patch.wall_pressure(&view) - host.free[4]) / dynamic));
            }
        }
        out
    }

    /// Friction coefficient of each face of a no-slip marker: its middle, and the tangential force over area and dynamic
    /// pressure.
    pub fn skin_friction(&self, marker: &str) -> Vec<([f64; 3], [f64; 3])> {
        let host = self.synced();
        let dynamic = 0.5 * host.config.freestream.mach.powi(2);
        let mut out = Vec::new();
        for patch in host.patches.iter().filter(|p| p.name == marker && p.condition.kind.is_no_slip()) {
            let block = &host.blocks[patch.window.block];
            for (cell, x) in &patch.faces {
                let view = patch.view(block, block.cells.inside(*cell));
                let (_, friction) = patch.flux(&host.physics, &view, x);
                let area = view.n.iter().map(|v| v * v).sum::<f64>().sqrt();
                out.push((*x, friction.map(|f| f / (area * dynamic))));
            }
        }
        out
    }

    /// Runs each part of a step `repeats` times and at last whole steps; by the device's clock where one computes. The
    /// state is that of the first steps afterwards.
    ///
    /// # Errors
    /// The device's.
    pub fn measure(&mut self, repeats: usize) -> Result<Vec<PartTime>, FlowError> {
        let bytes = self.host.step_bytes();
        self.measure_parts(repeats, bytes)
    }
}

impl StructuredSystem {
    /// The share of the CFL number that each cell takes, by numbers of cells; empty where steps are plain ones.
    pub(super) fn cfl_shares(&self) -> Vec<f64> {
        self.blocks.iter().flat_map(|block| &block.cfl_shares).copied().collect()
    }

    /// Sets them.
    pub(super) fn set_cfl_shares(&mut self, shares: &[f64]) {
        let mut rest = shares;
        for block in &mut self.blocks {
            let own;
            (own, rest) = rest.split_at(block.cfl_shares.len());
            block.cfl_shares.copy_from_slice(own);
        }
    }

    /// See [`StructuredSolver::rates`].
    pub(super) fn rates(&mut self, bdf: Option<Bdf>) -> Vec<State> {
        self.compute_residual(bdf);
        let mut out = Vec::with_capacity(self.part.rows());
        for block in &self.blocks {
            let ni = block.cells.count[0];
            for row in 0..block.rows() {
                let start = block.row(row);
                for i in 0..ni {
                    let volume = block.metrics.volume[start + i];
                    out.push(std::array::from_fn(|c| block.r[(row * N + c) * ni + i] / volume));
                }
            }
        }
        out
    }

    /// The first cell with a density or pressure that is not positive, or a state or residual that is not finite.
    pub(super) fn first_bad_cell(&self) -> Option<(usize, usize)> {
        for (b, block) in self.blocks.iter().enumerate() {
            let ni = block.cells.count[0];
            for row in 0..block.rows() {
                let start = block.row(row);
                for i in 0..ni {
                    let w = block.state(start + i);
                    let finite = (0..N).all(|c| block.r[(row * N + c) * ni + i].is_finite());
                    let finite = finite && block.has_good_turbulence(self.physics.turbulence, start + i);
                    if !(finite && PerfectGas::is_admissible(&w)) {
                        return Some((b, start + i));
                    }
                }
            }
        }
        None
    }
}
