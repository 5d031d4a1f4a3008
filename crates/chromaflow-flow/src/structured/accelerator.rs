//! Steps on a device that holds the state in place of this process's threads.

use super::StructuredSolver;
use super::block::BlockState;
use super::boundary::PatchState;
use super::measure::PartTime;
use crate::march::accelerator::{Advanced, Measured};
use crate::march::{FlowError, Times};

/// Weights of the new level, the last and the one before in the change in time, and the time step.
pub(super) type Change = ([f64; 3], f64);

/// A device with the state of a solver on structured grids.
pub(super) trait Accelerator: Send + Sync {
    /// Takes the host's state as the present one and as the last good one.
    fn take_state(&mut self, blocks: &[BlockState], patches: &[PatchState]) -> Result<(), FlowError>;

    /// Copies the state, and the back pressures that adapt, to the host.
    fn give_state(&self, blocks: &mut [BlockState], patches: &mut [PatchState]) -> Result<(), FlowError>;

    /// Residual, norms and forces of the present state; cells have the order of [`StructuredSolver::state`].
    fn residual(&mut self, change: Option<Change>) -> Result<Measured, FlowError>;

    /// Time steps, line systems, update; time steps become dt / (1 + `rate` dt).
    fn advance(&mut self, cfl: f64, rate: f64) -> Result<Advanced, FlowError>;

    /// Returns to the last good state.
    fn take_back(&mut self) -> Result<(), FlowError>;

    /// The present state becomes the last time level.
    fn next_time_level(&mut self) -> Result<(), FlowError>;

    /// Seconds by component since the last call, by the device's own clock.
    fn times(&mut self) -> Result<Times, FlowError>;

    /// Times of the parts of a step, `repeats` of each; the state stays as it is.
    fn measure(&mut self, repeats: usize) -> Result<Vec<PartTime>, FlowError>;

    /// Bytes of device memory held.
    fn bytes(&self) -> usize;
}

impl StructuredSolver {
    /// Brings what the host has changed to the device.
    pub(super) fn push(&mut self) -> Result<(), FlowError> {
        self.accelerator.push(|device| device.take_state(&self.blocks, &self.patches))
    }

    /// Brings the state from a device that computes to the host, where [`Self::state`], [`Self::fields`] and
    /// [`Self::restart`] look at it. Nothing to do where no device computes.
    ///
    /// # Errors
    /// The device's.
    pub fn sync(&mut self) -> Result<(), FlowError> {
        self.accelerator.sync(|device| device.give_state(&mut self.blocks, &mut self.patches)).map(|_| ())
    }

    /// Block and place of a cell by its number in the order of [`Self::state`].
    pub(super) fn locate(&self, number: usize) -> (usize, usize) {
        let mut rest = number;
        for (b, block) in self.blocks.iter().enumerate() {
            if rest < block.cells.interior() {
                let ni = block.cells.count[0];
                return (b, block.row(rest / ni) + rest % ni);
            }
            rest -= block.cells.interior();
        }
        panic!("cell {number} of {}", self.grid.cells());
    }

    /// Bytes of device memory held by the state and all that steps need; 0 where no device computes.
    pub fn device_bytes(&self) -> usize {
        self.accelerator.device().map_or(0, |device| device.bytes())
    }
}
