//! Steps on a device that holds the state in place of this process's threads.

use super::LaxWendroffSolver;
use super::block::NodeBlock;
use crate::march::accelerator::Measured;
use crate::march::{FlowError, Times};
use crate::structured::PartTime;

/// A device with the state of a Lax-Wendroff solver.
pub(super) trait Accelerator: Send + Sync {
    /// Takes the host's state as the present one and as the last good one.
    fn take_state(&mut self, blocks: &[NodeBlock]) -> Result<(), FlowError>;

    /// Copies the state to the host.
    fn give_state(&self, blocks: &mut [NodeBlock]) -> Result<(), FlowError>;

    /// A step with local time steps, or by `dt` in as many equal parts as stability asks for: sums of the squares of what it
    /// changed over its time step, forces of the state before it, the first node whose new state is none.
    fn step(&mut self, courant: f64, dt: Option<f64>) -> Result<Measured, FlowError>;

    /// Returns to the last good state.
    fn take_back(&mut self) -> Result<(), FlowError>;

    /// Seconds by component since the last call, by the device's own clock.
    fn times(&mut self) -> Result<Times, FlowError>;

    /// Times of the parts of a step, `repeats` of each; the state stays as it is.
    fn measure(&mut self, repeats: usize, courant: f64) -> Result<Vec<PartTime>, FlowError>;

    /// Bytes of device memory held.
    fn bytes(&self) -> usize;
}

impl LaxWendroffSolver {
    /// Brings what the host has changed to the device.
    pub(super) fn push(&mut self) -> Result<(), FlowError> {
        self.accelerator.push(|device| device.take_state(&self.blocks))
    }

    /// Brings the state from a device that computes to the host, where [`Self::state`], [`Self::fields`] and
    /// [`Self::restart`] look at it. Nothing to do where no device computes.
    ///
    /// # Errors
    /// The device's.
    pub fn sync(&mut self) -> Result<(), FlowError> {
        self.accelerator.sync(|device| device.give_state(&mut self.blocks)).map(|_| ())
    }

    /// Bytes of device memory held by the state and all that steps need; 0 where no device computes.
    pub fn device_bytes(&self) -> usize {
        self.accelerator.device().map_or(0, |device| device.bytes())
    }
}
