//! What a step tells.

use super::Forces;
use chromaflow::Outcome;

/// Seconds by component, as in Figure 7 of Walden et al. (2019). Overhead is what remains of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Factors of the diagonal blocks and sweeps.
    pub linear_solver: f64,
    /// Assembly of the Jacobian.
    pub lhs: f64,
    /// Residual.
    pub rhs: f64,
    /// Turbulence model.
    pub turb: f64,
    /// Update, norms, forces.
    pub misc: f64,
    /// In-place conversion of the off-diagonal blocks to f16.
    pub pipsr: f64,
    /// The whole step.
    pub total: f64,
}

impl Times {
    /// Name and seconds of each component.
    pub fn components(&self) -> [(&'static str, f64); 7] {
        let known = self.linear_solver + self.lhs + self.rhs + self.turb + self.misc + self.pipsr;
        [
            ("Linear_solver", self.linear_solver),
            ("LHS", self.lhs),
            ("RHS", self.rhs),
            ("Turb", self.turb),
            ("Misc", self.misc),
            ("PIPSR", self.pipsr),
            ("Overhead", (self.total - known).max(0.0)),
        ]
    }

    /// Adds another step's times.
    pub fn add(&mut self, other: &Self) {
        self.linear_solver += other.linear_solver;
        self.lhs += other.lhs;
        self.rhs += other.rhs;
        self.turb += other.turb;
        self.misc += other.misc;
        self.pipsr += other.pipsr;
        self.total += other.total;
    }
}

/// Where a state stopped being one.
#[derive(Clone, Debug, PartialEq)]
pub struct BadNode {
    /// Node in the file's order.
    pub node: usize,
    /// Its coordinates.
    pub at: [f64; 3],
    /// A marker it lies on, if any.
    pub marker: Option<String>,
    /// Conserved variables there.
    pub state: [f64; 5],
}

/// What one step did. The residual, the forces and the CFL number belong to the state *before* the update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Iterations done so far, this one included.
    pub iteration: usize,
    /// Physical step (unsteady runs; 0 in steady ones).
    pub time_step: usize,
    /// Norm of dq/dt over the domain for each equation: sqrt(sum of R^2 / V over the whole volume).
    pub residual: [f64; 5],
    /// Orders of magnitude by which the density residual has fallen since the first iteration (of the time step).
    pub orders: f64,
    /// CFL number of the step.
    pub cfl: f64,
    /// Reduction of the linear system's residual, preconditioned by the sweep, where it was looked at.
    pub linear_reduction: Option<f64>,
    /// Nodes whose update was cut.
    pub limited: usize,
    /// Whether the step was taken back, the CFL number lowered.
    pub rejected: bool,
    /// Forces.
    pub forces: Forces,
    /// Times of this step.
    pub times: Times,
    /// Set when the run is over.
    pub outcome: Option<Outcome>,
    /// Set when the state or the residual stopped being finite (or physical).
    pub bad: Option<BadNode>,
}

/// Steps until one has an outcome, or until one is the last that is wanted: each says whether to go on, and its outcome.
pub(crate) fn until_outcome(mut step: impl FnMut() -> (bool, Option<Outcome>)) -> Outcome {
    loop {
        match step() {
            (_, Some(outcome)) => return outcome,
            (false, None) => return Outcome::IterationLimit,
            (true, None) => {}
        }
    }
}
