//! What a march asks of a system of equations, wherever its state lies.

use super::control::LARGEST_APART;
use super::newton::Effort;
use super::{
    BadPlace, FlowError, Forces, Holding, LargestResidual, Order, PartTime, Residuals, StepControl, Times,
};
use crate::config::{NewtonKrylov, Space, Time};
use chromaflow::dist::Share;
use std::sync::Arc;

/// Sums over one wall: pressure force, its moment, friction, its moment.
pub type WallSums = [[f64; 3]; 4];

/// Where in a run a residual or a step is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The iteration, from 1.
    pub iteration: usize,
    /// Whether the step is of first order in space, whatever the discretization that the run is for.
    pub first_order: bool,
    /// Whether Roe's flux damps more than the run asks for, see [`RoeFix::damped`](crate::flux::RoeFix::damped).
    pub damped: bool,
    /// CFL number of the step.
    pub cfl: f64,
    /// The factor of [`NewtonKrylov::tolerance`] in this step, at most 1.
    pub forcing: f64,
    /// The factor of [`NewtonKrylov::directions`] in this step, at least 1.
    pub widening: usize,
    /// The part of its solution that a Newton-Krylov step takes, at most 1.
    pub part: f64,
    /// Whether Roe's matrix damps all waves, see [`RoeFix::in_matrix`](crate::flux::RoeFix::in_matrix).
    pub hard: bool,
    /// The derivative in physical time; none in steady runs.
    pub bdf: Option<Bdf>,
    /// Whether the reduction of the linear residual is asked for.
    pub measure: bool,
    /// What rounding makes of the flow's rows of a difference along the step, over the flow's residual; 1 where it is less. What is beside the flow is measured by
    /// that: a residual that is made as large as one of rounding is lost in it.
    pub noise: f64,
    /// Whether a Newton-Krylov step solves for the flow and for what it depends on at once; else each takes a step of its own.
    pub together: bool,
    /// How many of its coarse grids an explicit step may use.
    pub coarse_grids: usize,
}

impl Moment {
    /// The first step of a steady run at a CFL number, in second order, for systems that are tested without a march.
    #[cfg(test)]
    pub const fn first(cfl: f64) -> Self {
        Self {
            iteration: 1,
            first_order: false,
            damped: false,
            cfl,
            forcing: 1.0,
            widening: 1,
            part: 1.0,
            hard: false,
            bdf: None,
            measure: false,
            noise: 1.0,
            together: true,
            coarse_grids: usize::MAX,
        }
    }

    /// How far the linear system of a Newton-Krylov step is solved, in how many directions, and what is taken of its solution.
    pub fn newton(&self, options: &NewtonKrylov) -> Effort {
        Effort {
            tolerance: self.forcing * options.tolerance,
            directions: self.widening * options.directions,
            part: self.part,
        }
    }

    /// Whether the step is of second order in space, of a discretization that is or is not.
    pub fn is_second_order(&self, space: &Space) -> bool {
        space.second_order && !self.first_order
    }

    /// Factors of q, of the last time level and of the one before in dq/dt; `None` in steady runs.
    pub fn time_factors(&self) -> Option<[f64; 3]> {
        self.bdf.map(|bdf| bdf.factors())
    }

    /// The factor of q in dq/dt; 0 in steady runs.
    pub fn time_shift(&self) -> f64 {
        self.time_factors().map_or(0.0, |f| f[0])
    }
}

/// Backward differences in time: dq/dt = (w0 q + w1 q_n + w2 q_nm1) / dt.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bdf {
    /// Weights of the new level, of the last one and of the one before.
    pub weights: [f64; 3],
    /// Physical time step.
    pub dt: f64,
}

impl Bdf {
    /// The weights over the time step.
    pub fn factors(&self) -> [f64; 3] {
        self.weights.map(|w| w / self.dt)
    }
}

/// What is known once a residual is there.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Sum of R^2 / V for each equation.
    pub squares: Vec<f64>,
    /// The same for each unknown of systems beside the flow.
    pub coupled: Vec<f64>,
    /// Forces on walls.
    pub forces: Forces,
    /// Whether the residual is finite; of explicit schemes also whether the new state is physical.
    pub good: bool,
    /// The first row where it is not, if that is known without a search.
    pub first_bad: Option<usize>,
}

impl Measured {
    /// Good where all sums are finite.
    pub fn new(squares: Vec<f64>, forces: Forces) -> Self {
        let good = squares.iter().all(|s| s.is_finite());
        Self { good, squares, coupled: Vec::new(), forces, first_bad: None }
    }

    /// With the sums of systems beside the flow.
    #[must_use]
    pub fn with_coupled(self, coupled: Vec<f64>) -> Self {
        Self { good: self.good && coupled.iter().all(|s| s.is_finite()), coupled, ..self }
    }
}

/// What the implicit part of a step did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Advanced {
    /// The row of a diagonal block that cannot be inverted: the state is then worth nothing.
    pub singular: Option<usize>,
    /// Reduction of the linear residual, where it was looked at.
    pub reduction: Option<f64>,
    /// Rows whose update was cut.
    pub limited: usize,
    /// The first row whose new state is non-physical or not finite.
    pub bad: Option<usize>,
}

impl Advanced {
    /// With what a system beside this one did.
    #[must_use]
    pub fn with(self, other: &Self) -> Self {
        Self {
            singular: self.singular.or(other.singular),
            limited: self.limited.max(other.limited),
            bad: self.bad.or(other.bad),
            ..self
        }
    }
}

/// A system of equations with its state on the host or on a device: the parts of an iteration.
pub trait System: Send + Sync {
    /// Residual, norms and forces of the present state. An explicit scheme takes its step here, and its residual is what the
    /// step changed over its time step.
    ///
    /// # Errors
    /// A device's.
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError>;

    /// The implicit part of a step: matrix, linear solver, update. Nothing in explicit schemes.
    ///
    /// # Errors
    /// A device's.
    fn advance(&mut self, at: &Moment) -> Result<Advanced, FlowError>;

    /// Returns to the last good state: the step is rejected.
    ///
    /// # Errors
    /// A device's.
    fn restore(&mut self) -> Result<(), FlowError>;

    /// The present state becomes the last time level.
    ///
    /// # Errors
    /// A device's.
    fn next_level(&mut self) -> Result<(), FlowError>;

    /// Seconds by component since the last call; of a device by its own clock.
    ///
    /// # Errors
    /// A device's.
    fn times(&mut self) -> Result<Times, FlowError>;

    /// Times of the parts of a step, `repeats` of each, for benchmarks; the state stays as it is.
    ///
    /// # Errors
    /// A device's.
    fn parts(&mut self, _at: &Moment, _repeats: usize) -> Result<Vec<PartTime>, FlowError> {
        Ok(Vec::new())
    }
}

/// The form on the host, which also knows the case: it is what a march is made of.
pub trait Host: System + Sized {
    /// How steps are chosen.
    type Control: StepControl;

    /// Whether each iteration is an explicit step, in unsteady runs a physical one.
    const EXPLICIT: bool = false;

    /// Steady or unsteady, and when the run ends.
    fn time(&self) -> &Time;

    /// The same, to be changed under way.
    fn time_mut(&mut self) -> &mut Time;

    /// Volume of the domain.
    fn volume(&self) -> f64;

    /// Rows of unknowns.
    fn rows(&self) -> usize;

    /// What progress and step control go by, from the norms of all equations: that of the first one, density's. A uniform stream along a wall leaves
    /// density's zero and has not converged: there it is the largest of all.
    fn size(residual: &[f64]) -> f64 {
        if residual[0] == 0.0 { residual.iter().copied().fold(0.0, f64::max) } else { residual[0] }
    }

    /// What has the CFL number fall where it rises: [`Host::size`], and where other equations than density's run away by themselves, they.
    fn judged(&self, residual: &[f64]) -> f64 {
        Self::size(residual)
    }

    /// For each unknown of systems beside the flow: the norm of a residual that is nothing but rounding.
    fn round_off(&self) -> Vec<f64> {
        Vec::new()
    }

    /// Size of a residual that is nothing but rounding errors; 0 where that is not known.
    fn flow_round_off(&self) -> f64 {
        0.0
    }

    /// Whether the flow and what it depends on take steps of their own until their residuals have fallen.
    fn starts_apart(&self) -> bool {
        false
    }

    /// Largest CFL number of such steps.
    fn largest_apart(&self) -> f64 {
        LARGEST_APART
    }

    /// What the flow is one of, in words: stream, gas, equations, conditions, fluxes, models; nothing of how it is found. Empty where residuals of all
    /// equations end a run.
    fn problem(&self) -> String {
        String::new()
    }

    /// Most steps at the start that are of first order in space.
    fn first_order_steps(&self) -> usize {
        0
    }

    /// How often a run whose residual falls no more may go back to the flow of first order and begin anew from there: the second time
    /// [damped](Moment::damped).
    fn returns(&self) -> usize {
        0
    }

    /// After how many rises of its residual a run that may go back does so at once; 0 for none.
    fn rises(&self) -> usize {
        0
    }

    /// Sets the state that the run began with, where it may go back twice.
    fn start_anew(&mut self) {}

    /// The linear residual is looked at every so many iterations (0: only where that costs nothing).
    fn linear_report(&self) -> usize {
        0
    }

    /// The first row with a residual or state that is non-physical or not finite; over ranks by its number in the whole system, as
    /// all rows that pass between a host and its march.
    fn first_bad(&self) -> Option<usize>;

    /// The place of a row, and the state there.
    fn place(&self, row: usize) -> BadPlace;

    /// The residual of the present state; of explicit schemes what a step would change, over its time step.
    fn residuals(&mut self, at: &Moment) -> Residuals;

    /// Where the residual that was found last is largest among all ranks; the outer one is none where this rank is alone.
    fn largest_of_ranks(&self) -> Option<Option<LargestResidual>> {
        None
    }

    /// In compressible flow the Mach number at a row, and the pressure over that of the free stream.
    fn mach_and_pressure(&self, _row: usize) -> Option<[f64; 2]> {
        None
    }

    /// Has the other ranks do what this one is about to do, where there are any and this is the first.
    ///
    /// # Errors
    /// [`FlowError::Ranks`].
    fn tell(&self, order: Order) -> Result<(), FlowError> {
        order.tell(self.share())
    }

    /// This rank's rows among all, where there are ranks.
    fn share(&self) -> Option<&Arc<Share>> {
        None
    }

    /// What this rank has.
    fn holding(&self) -> Holding {
        Holding { rows: self.rows(), ..Holding::default() }
    }

    /// A physical step that ends at `time` begins: values given by time are to be set.
    fn begin_step(&mut self, _time: f64) {}
}

/// The form on a device that computes in place of the host's form `S`.
pub(crate) trait Device<S>: System {
    /// Takes the host's state as the present one and as the last good one, and what else may have been set.
    fn upload(&mut self, host: &S) -> Result<(), FlowError>;

    /// Gives the state to the host.
    fn download(&self, host: &mut S) -> Result<(), FlowError>;

    /// Takes what [`Host::begin_step`] has set.
    fn take_given(&mut self, _host: &S) -> Result<(), FlowError> {
        Ok(())
    }

    /// Takes all memory that steps need and loads all code, so that nothing can be missing in the middle of a march; the
    /// state stays as it is.
    #[cfg(any(feature = "cuda", test))]
    fn rehearse(&mut self, _at: &Moment) -> Result<(), FlowError> {
        Ok(())
    }

    /// Bytes of device memory held.
    fn bytes(&self) -> usize;
}
