//! What a step tells.

use crate::march::Forces;
use chromaflow::Outcome;

/// Seconds by component, named as in Luo, Edwards, Luo, Mueller (2015).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    /// Factorization.
    pub factor: f64,
    /// Triangular solves.
    pub solve: f64,
    /// Residuals of the linear system.
    pub correction: f64,
    /// Residual of the flow.
    pub rhs: f64,
    /// Matrix: fluxes.
    pub fill: f64,
    /// Matrix and residual: time steps and sources.
    pub time_step: f64,
    /// Ghost cells.
    pub exchange: f64,
    /// Update, norms, forces.
    pub misc: f64,
    /// The whole step.
    pub total: f64,
}

impl Times {
    /// Name and seconds of each component.
    pub fn components(&self) -> [(&'static str, f64); 9] {
        let parts = [
            ("BILU FACT", self.factor),
            ("BILU SOLV", self.solve),
            ("BILU CORR", self.correction),
            ("RHS", self.rhs),
            ("AFILL", self.fill),
            ("TSD", self.time_step),
            ("exchange", self.exchange),
            ("misc", self.misc),
        ];
        let known: f64 = parts.iter().map(|p| p.1).sum();
        std::array::from_fn(|i| if i < 8 { parts[i] } else { ("overhead", (self.total - known).max(0.0)) })
    }

    /// Adds another step's times.
    pub fn add(&mut self, other: &Self) {
        self.factor += other.factor;
        self.solve += other.solve;
        self.correction += other.correction;
        self.rhs += other.rhs;
        self.fill += other.fill;
        self.time_step += other.time_step;
        self.exchange += other.exchange;
        self.misc += other.misc;
        self.total += other.total;
    }
}

/// Where a state stopped being finite.
#[derive(Clone, Debug, PartialEq)]
pub struct BadCell {
    /// The block, and the cell in it.
    pub block: usize,
    /// Its indices.
    pub cell: [usize; 3],
    /// Its center.
    pub at: [f64; 3],
    /// (p, u, v, w, scalars) there.
    pub state: Vec<f64>,
}

/// What one step did. The residual, the forces and the CFL number belong to the state *before* the update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Iterations done so far, this one included.
    pub iteration: usize,
    /// Physical step (unsteady runs; 0 in steady ones).
    pub time_step: usize,
    /// Root mean square over the domain of what leaves per volume, for each equation: continuity, momentum, scalars.
    pub residual: Vec<f64>,
    /// Orders of magnitude by which all of it has fallen since the first iteration (of the time step).
    pub orders: f64,
    /// CFL number of the step.
    pub cfl: f64,
    /// |b - A x| / |b| of the linear system.
    pub linear_reduction: Option<f64>,
    /// Whether the step was taken back, the CFL number lowered.
    pub rejected: bool,
    /// Forces.
    pub forces: Forces,
    /// Times of this step.
    pub times: Times,
    /// Set when the run is over.
    pub outcome: Option<Outcome>,
    /// Set when the state or the residual stopped being finite.
    pub bad: Option<BadCell>,
}
