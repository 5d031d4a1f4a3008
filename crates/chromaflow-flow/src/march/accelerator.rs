//! What a march asks of a device that holds the state and computes the steps in place of this process's threads.

use super::unsteady::TimeLevels;
use super::{FlowError, Source, Times};
use crate::bc::Condition;

/// Sums over one wall: pressure force, its moment, friction, its moment.
pub type WallSums = [[f64; 3]; 4];

/// What is known once a residual is there.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Sum of R^2 / V for each equation.
    pub squares: [f64; 5],
    /// Wall by wall, in the order of the patches.
    pub walls: Vec<WallSums>,
    /// The first node whose residual is not finite or whose state is none.
    pub bad: Option<usize>,
}

#[cfg(feature = "cuda")]
impl Measured {
    /// From what a device has sent.
    pub fn from_sums(sums: &crate::gpu::Sums, bad: Option<usize>) -> Self {
        let squares = sums.squares().try_into().expect("five equations");
        Self { squares, walls: sums.walls().to_vec(), bad }
    }
}

/// What the implicit part of a step did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Advanced {
    /// The row of a diagonal block that cannot be inverted: the state is then worth nothing.
    pub singular: Option<usize>,
    /// Reduction of the linear residual, where it was looked at.
    pub reduction: Option<f64>,
    /// Nodes whose update was cut.
    pub limited: usize,
    /// The first node whose new state is none.
    pub bad: Option<usize>,
}

/// The host's copy of the state and of what comes with it, in the solver's order of nodes.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only devices read it"))]
pub struct HostState<'a> {
    /// Conserved state.
    pub q: &'a mut [[f64; 5]],
    /// Earlier time levels; empty in steady runs.
    pub levels: &'a mut TimeLevels,
    /// Friction on nodes of walls without slip.
    pub friction: &'a mut [[f64; 3]],
    /// Residual.
    pub residual: &'a mut [[f64; 5]],
    /// Boundary conditions, for the back pressures that adapt.
    pub boundaries: &'a mut [Condition<f64>],
}

/// What does not change from step to step but may be set between them.
#[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "only devices read it"))]
pub struct HostSetting<'a> {
    /// Nodes of given state.
    pub held: &'a [u32],
    /// Source term.
    pub source: Option<&'a Source>,
    /// Boundary conditions.
    pub boundaries: &'a [Condition<f64>],
}

/// A device with the state, the Jacobian and everything else of a flow solver.
pub trait Accelerator: Send + Sync {
    /// Takes the host's state as the present one and as the last good one.
    fn take_state(
        &mut self,
        q: &[[f64; 5]],
        levels: &TimeLevels,
        setting: &HostSetting<'_>,
    ) -> Result<(), FlowError>;

    /// Copies state, friction and residual to the host.
    fn give_state(&self, state: &mut HostState<'_>) -> Result<(), FlowError>;

    /// Residual, norms and forces of the present state; `time` are the factors of q and its earlier levels in dq/dt.
    fn residual(&mut self, second_order: bool, time: Option<[f64; 3]>) -> Result<Measured, FlowError>;

    /// Jacobian, sweeps, update; `measure` asks for the reduction of the linear residual.
    fn advance(&mut self, cfl: f64, shift: f64, measure: bool) -> Result<Advanced, FlowError>;

    /// Returns to the last good state.
    fn take_back(&mut self) -> Result<(), FlowError>;

    /// The present state becomes the last time level.
    fn next_time_level(&mut self) -> Result<(), FlowError>;

    /// Seconds by component since the last call, by the device's own clock.
    fn times(&mut self) -> Result<Times, FlowError>;

    /// Bytes of device memory held.
    fn bytes(&self) -> usize;
}
