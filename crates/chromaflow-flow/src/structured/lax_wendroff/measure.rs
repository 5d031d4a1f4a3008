//! Times of the parts of a step, for benchmarks.

use super::cells::KEPT;
use super::{LaxWendroffSolver, LaxWendroffSystem};
use crate::march::{FlowError, Moment, PartTime};

/// Doubles a node that the parts of a step move: states have 5, pressures, volumes and time steps 1, areas 9; cells keep
/// [`KEPT`].
pub(super) const CELLS: f64 = 5.0 + 9.0 + 1.0 + KEPT as f64;
pub(super) const NODES: f64 = KEPT as f64 + 6.0 + 1.0 + 7.0;
pub(super) const RATES: f64 = 6.0 + 5.0 + 2.0;
/// The least that a step could move: states and metrics read once, states written once.
const STEP: f64 = 6.0 + 9.0 + 2.0 + 6.0;

impl LaxWendroffSolver {
    /// Runs each part of a step `repeats` times and at last whole steps, by the device's clock where one computes. The bytes of
    /// `grid_step` are those that any form of the scheme must move, those of the parts what they move.
    ///
    /// # Errors
    /// The device's.
    pub fn measure(&mut self, repeats: usize) -> Result<Vec<PartTime>, FlowError> {
        let bytes = 8.0 * self.host.node_count() as f64 * STEP;
        self.measure_parts(repeats, bytes)
    }
}

impl LaxWendroffSystem {
    pub(super) fn node_count(&self) -> usize {
        self.blocks.iter().map(|b| b.nodes.interior()).sum()
    }

    /// Runs each part of a step `repeats` times.
    pub(super) fn measure_here(&mut self, at: &Moment, repeats: usize) -> Vec<PartTime> {
        let nodes = self.node_count() as f64;
        let mut parts = Vec::new();
        let mut part = |name, doubles: f64, work: &mut dyn FnMut()| {
            parts.push(PartTime::of(name, 8.0 * nodes * doubles, repeats, work));
        };
        part("grid_norms", RATES, &mut || {
            std::hint::black_box(self.squares());
        });
        part("grid_balance", CELLS, &mut || self.balance(at.cfl));
        part("grid_distribute", NODES, &mut || self.distribute(None));
        parts
    }
}
