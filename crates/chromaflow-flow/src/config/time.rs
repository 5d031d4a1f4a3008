//! Steady runs, and flows followed in time.

/// March to a steady state, or follow the flow in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Time {
    /// Pseudo-time with local steps.
    Steady(Steady),
    /// Second-order backward differences with subiterations; the first step is first order.
    Unsteady(Unsteady),
}

impl Default for Time {
    fn default() -> Self {
        Self::Steady(Steady::default())
    }
}

/// When a steady run ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Most iterations.
    pub iterations: usize,
    /// Orders of magnitude that the density residual and those of systems beside the flow are to fall by (or to round-off).
    pub orders: f64,
}

impl Default for Steady {
    fn default() -> Self {
        Self { iterations: 2000, orders: 10.0 }
    }
}

/// Time-accurate runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unsteady {
    /// Physical time step, in mesh length units over a_inf.
    pub dt: f64,
    /// Physical steps.
    pub steps: usize,
    /// Most subiterations a step.
    pub subiterations: usize,
    /// Orders of magnitude that the residual is to fall by in a step.
    pub orders: f64,
}

impl Default for Unsteady {
    fn default() -> Self {
        Self { dt: 0.1, steps: 100, subiterations: 50, orders: 3.0 }
    }
}
