//! The state seen from outside.

use super::StructuredSolver;
use crate::gas::{conserved, entropy, primitive, sound_speed, temperature};
use crate::grid::{Grid, Metrics};
use crate::march::{BadNode, Forces, Times};

impl StructuredSolver {
    /// The grid, its blocks' axes turned as the solver has them: see [`Grid::thin_axis_last`].
    pub fn grid(&self) -> &Grid {
        &self.grid
    }

    /// Areas, volumes and centers of a block.
    pub fn metrics(&self, block: usize) -> &Metrics {
        &self.blocks[block].metrics
    }

    /// Iterations done so far.
    pub fn iteration(&self) -> usize {
        self.course.iteration
    }

    /// The primitive state of the free stream.
    pub fn free_stream(&self) -> [f64; 5] {
        self.free
    }

    /// Conserved variables of all cells: block by block, i fastest.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn state(&self) -> Vec<[f64; 5]> {
        self.accelerator.assert_synced();
        let mut out = Vec::with_capacity(self.grid.cells());
        for block in &self.blocks {
            for at in block.cells.rows().flat_map(|row| row..row + block.cells.count[0]) {
                out.push(conserved(self.physics.gas, &block.state(at)));
            }
        }
        out
    }

    /// Sets all cells from their centers' coordinates, as conserved variables; also the earlier time levels.
    pub fn set_state(&mut self, q: impl Fn([f64; 3]) -> [f64; 5]) {
        self.accelerator.host_changes();
        for block in &mut self.blocks {
            let cells = block.cells;
            for at in cells.rows().flat_map(|row| row..row + cells.count[0]) {
                let x = std::array::from_fn(|c| block.metrics.center[c][at]);
                block.set(at, primitive(self.physics.gas, &q(x)));
            }
            block.last_good.copy_from_slice(&block.w);
            for level in &mut block.levels {
                if !level.is_empty() {
                    level.copy_from_slice(&block.w);
                }
            }
        }
    }

    /// Center and volume of all cells, in the order of [`StructuredSolver::state`].
    pub fn cells(&self) -> Vec<([f64; 3], f64)> {
        let mut out = Vec::with_capacity(self.grid.cells());
        for block in &self.blocks {
            let m = &block.metrics;
            for at in block.cells.rows().flat_map(|row| row..row + block.cells.count[0]) {
                out.push((std::array::from_fn(|c| m.center[c][at]), m.volume[at]));
            }
        }
        out
    }

    /// Forces of the state before the last update.
    pub fn forces(&self) -> &Forces {
        &self.forces
    }

    /// The residual of the present state over the cells' volumes, in the order of [`StructuredSolver::state`].
    pub fn rates(&mut self) -> Vec<[f64; 5]> {
        self.compute_residual();
        let mut out = Vec::with_capacity(self.grid.cells());
        for block in &self.blocks {
            let ni = block.cells.count[0];
            for row in 0..block.rows() {
                let start = block.row(row);
                for i in 0..ni {
                    let volume = block.metrics.volume[start + i];
                    out.push(std::array::from_fn(|c| block.r[(row * 5 + c) * ni + i] / volume));
                }
            }
        }
        out
    }

    /// Volume-weighted root mean square of the entropy's deviation from the free stream's: zero in smooth inviscid flow but
    /// for the scheme's error.
    pub fn entropy_error(&self) -> f64 {
        let gas = self.physics.gas;
        let sum: f64 = self
            .state()
            .iter()
            .zip(self.cells())
            .map(|(q, (_, volume))| (entropy(gas, &primitive(gas, q)) - 1.0).powi(2) * volume)
            .sum();
        (sum / self.volume).sqrt()
    }

    /// Pressure coefficient on each face of a marker: the face's middle, and the pressure there less the free stream's over
    /// the dynamic pressure.
    pub fn wall_cp(&self, marker: &str) -> Vec<([f64; 3], f64)> {
        let dynamic = 0.5 * self.config.freestream.mach.powi(2);
        let mut out = Vec::new();
        for patch in self.patches.iter().filter(|p| p.name == marker) {
            let block = &self.blocks[patch.window.block];
            for (cell, x) in &patch.faces {
                let view = patch.view(block, block.cells.inside(*cell));
                out.push((*x, (patch.wall_pressure(&view) - self.free[4]) / dynamic));
            }
        }
        out
    }

    /// Friction coefficient of each face of a no-slip marker: its middle, and the tangential force over area and dynamic
    /// pressure.
    pub fn skin_friction(&self, marker: &str) -> Vec<([f64; 3], [f64; 3])> {
        let dynamic = 0.5 * self.config.freestream.mach.powi(2);
        let mut out = Vec::new();
        for patch in self.patches.iter().filter(|p| p.name == marker && p.condition.kind.is_no_slip()) {
            let block = &self.blocks[patch.window.block];
            for (cell, x) in &patch.faces {
                let view = patch.view(block, block.cells.inside(*cell));
                let (_, friction) = patch.flux(&self.physics, &view, x);
                let area = view.n.iter().map(|v| v * v).sum::<f64>().sqrt();
                out.push((*x, friction.map(|f| f / (area * dynamic))));
            }
        }
        out
    }

    /// Times of all steps so far.
    pub fn times(&self) -> Times {
        self.times
    }

    /// Mach number and temperature over the free stream's of a conserved state.
    pub fn mach_and_temperature(&self, q: &[f64; 5]) -> (f64, f64) {
        let gas = self.physics.gas;
        let w = primitive(gas, q);
        let speed = (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]).sqrt();
        (speed / sound_speed(gas, &w), temperature(gas, &w))
    }

    /// The first cell with a density or pressure that is not positive, or a state or residual that is not finite.
    pub(super) fn first_bad(&self) -> Option<BadNode> {
        for (b, block) in self.blocks.iter().enumerate() {
            let ni = block.cells.count[0];
            for row in 0..block.rows() {
                let start = block.row(row);
                for i in 0..ni {
                    let w = block.state(start + i);
                    let finite = (0..5).all(|c| block.r[(row * 5 + c) * ni + i].is_finite());
                    if !(finite && w.iter().all(|v| v.is_finite()) && w[0] > 0.0 && w[4] > 0.0) {
                        return Some(self.bad_cell(b, start + i));
                    }
                }
            }
        }
        None
    }

    /// A cell by its block and place.
    pub(super) fn bad_cell(&self, b: usize, at: usize) -> BadNode {
        let block = &self.blocks[b];
        let cell = block.cells.cell(at).map(|n| n.max(0) as usize);
        let before: usize = self.blocks[..b].iter().map(|b| b.cells.interior()).sum();
        let [ni, nj, _] = block.cells.count;
        let touching = self
            .patches
            .iter()
            .find(|p| p.window.block == b && p.faces.iter().any(|(other, _)| *other == cell));
        BadNode {
            node: before + cell[0] + ni * (cell[1] + nj * cell[2]),
            at: std::array::from_fn(|c| block.metrics.center[c][at]),
            marker: touching.map(|p| p.name.clone()),
            state: conserved(self.physics.gas, &block.state(at)),
        }
    }
}
