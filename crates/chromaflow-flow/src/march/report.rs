//! What a step tells.

use super::Forces;
use chromaflow::Outcome;
use chromaflow_device::ranges::{Range, range};
use std::borrow::Cow;
use std::fmt;
use std::ops::{Index, IndexMut};
use std::time::Instant;

/// A component of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Factors of the diagonal blocks and sweeps, lines, or Krylov iterations.
    LinearSolver,
    /// Assembly of the matrix; changes on coarse grids.
    Assembly,
    /// Residual.
    Residual,
    /// In-place conversion of off-diagonal blocks to f16.
    Conversion,
    /// Factorization of block ILU.
    Factor,
    /// Triangular solves of block ILU.
    Solve,
    /// Residuals of the linear system.
    Correction,
    /// Matrix and residual: time steps and sources.
    TimeStep,
    /// Ghost cells.
    Exchange,
    /// Systems beside the flow, as turbulence models: their residuals, matrices and linear systems. A Newton-Krylov step has theirs
    /// in the flow's.
    Beside,
    /// Update, norms, forces.
    Misc,
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::LinearSolver,
        Self::Assembly,
        Self::Residual,
        Self::Conversion,
        Self::Factor,
        Self::Solve,
        Self::Correction,
        Self::TimeStep,
        Self::Exchange,
        Self::Beside,
        Self::Misc,
    ];

    /// Its name in tables: as in Figure 7 of Walden et al. (2019) and in Luo, Edwards, Luo & Mueller (2015).
    pub fn name(self) -> &'static str {
        match self {
            Self::LinearSolver => "Linear_solver",
            Self::Assembly => "LHS",
            Self::Residual => "RHS",
            Self::Conversion => "PIPSR",
            Self::Factor => "BILU FACT",
            Self::Solve => "BILU SOLV",
            Self::Correction => "BILU CORR",
            Self::TimeStep => "TSD",
            Self::Exchange => "exchange",
            Self::Beside => "Turb",
            Self::Misc => "Misc",
        }
    }
}

impl Part {
    /// The component begins on this thread; a profiler that listens sees it until it ends.
    #[must_use]
    pub(crate) fn begin(self) -> Running {
        Running { part: self, _range: range(self.name()) }
    }
}

/// A component under way.
pub(crate) struct Running {
    /// Which it is.
    pub part: Part,
    _range: Range,
}

/// Seconds by component. Overhead is what remains of the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Times {
    parts: [f64; Part::ALL.len()],
    /// The whole step.
    pub total: f64,
}

impl Index<Part> for Times {
    type Output = f64;

    fn index(&self, part: Part) -> &f64 {
        &self.parts[part as usize]
    }
}

impl IndexMut<Part> for Times {
    fn index_mut(&mut self, part: Part) -> &mut f64 {
        &mut self.parts[part as usize]
    }
}

impl Times {
    /// Name and seconds of each component that took any, and at last what remains of the whole.
    pub fn components(&self) -> Vec<(&'static str, f64)> {
        let taken = Part::ALL.into_iter().filter(|&part| self[part] > 0.0);
        let known: f64 = self.parts.iter().sum();
        let rest = ("Overhead", (self.total - known).max(0.0));
        taken.map(|part| (part.name(), self[part])).chain([rest]).collect()
    }

    /// Runs a component and adds the time that it takes.
    pub(crate) fn timed<T>(&mut self, part: Part, f: impl FnOnce() -> T) -> T {
        let running = part.begin();
        let start = Instant::now();
        let out = f();
        self[running.part] += start.elapsed().as_secs_f64();
        out
    }

    /// Adds another step's times.
    pub fn add(&mut self, other: &Self) {
        for (sum, seconds) in self.parts.iter_mut().zip(other.parts) {
            *sum += seconds;
        }
        self.total += other.total;
    }

    /// What has been added since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let parts = std::array::from_fn(|k| self.parts[k] - earlier.parts[k]);
        Self { parts, total: self.total - earlier.total }
    }

    /// As numbers, for messages between ranks: those of [`Part::ALL`], then the whole.
    pub(crate) fn numbers(&self) -> [f64; Part::ALL.len() + 1] {
        std::array::from_fn(|k| self.parts.get(k).copied().unwrap_or(self.total))
    }

    /// From such numbers.
    pub(crate) fn from_numbers(numbers: &[f64; Part::ALL.len() + 1]) -> Self {
        let [parts @ .., total] = *numbers;
        Self { parts, total }
    }

    /// All times by a factor.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        Self { parts: self.parts.map(|seconds| factor * seconds), total: factor * self.total }
    }
}

/// Times of one part of a step, for benchmarks.
#[derive(Clone, Debug, PartialEq)]
pub struct PartTime {
    /// Which part.
    pub name: &'static str,
    /// Bytes that it must move: each input read once, each output written once; for lines also the factors of the
    /// elimination, which go out and come back.
    pub bytes: f64,
    /// Seconds of each repeat.
    pub seconds: Vec<f64>,
}

/// A node of a mesh, or a cell of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Node in the file's order.
    Node(usize),
    /// A cell of a block.
    Cell {
        /// The block.
        block: usize,
        /// The cell's indices in it.
        cell: [usize; 3],
    },
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "node {node}"),
            Self::Cell { block, cell: [i, j, k] } => write!(f, "cell ({i}, {j}, {k}) of block {block}"),
        }
    }
}

/// Where a state became non-physical or not finite.
#[derive(Clone, Debug, PartialEq)]
pub struct BadPlace {
    /// The node or cell.
    pub place: Place,
    /// Its coordinates.
    pub at: [f64; 3],
    /// A marker it lies on, if any.
    pub marker: Option<String>,
    /// The unknowns there,
    pub state: Vec<f64>,
    /// and what they are.
    pub variables: Cow<'static, str>,
    /// The rank that has it, where there are several.
    pub rank: Option<usize>,
}

impl fmt::Display for BadPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.at;
        write!(f, "{} ({x}, {y}, {z})", self.place)?;
        if let Some(marker) = &self.marker {
            write!(f, " on marker `{marker}`")?;
        }
        if let Some(rank) = self.rank {
            write!(f, ", on rank {rank}")?;
        }
        write!(f, ": {} {:?}", self.variables, self.state)
    }
}

/// The row with the largest part of the residual that progress goes by.
#[derive(Clone, Debug, PartialEq)]
pub struct LargestResidual {
    /// Where it is, and the state there.
    pub at: BadPlace,
    /// Its part of the sum of R^2 / V over the domain.
    pub share: f64,
    /// In compressible flow the Mach number there, and the pressure over that of the free stream.
    pub flow: Option<[f64; 2]>,
}

/// What one step did. The residual, the forces and the CFL number belong to the state *before* the update.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StepReport {
    /// Iterations done so far, this one included.
    pub iteration: usize,
    /// Physical step (unsteady runs; 0 in steady ones).
    pub time_step: usize,
    /// Whether the state is the solution of that physical step.
    pub step_over: bool,
    /// Norm of dq/dt over the domain for each equation: sqrt(sum of R^2 / V over the whole volume).
    pub residual: Vec<f64>,
    /// The same of each unknown of systems beside the flow,
    pub coupled: Vec<f64>,
    /// and the orders of magnitude by which it has fallen from its largest (of the time step).
    pub coupled_orders: Vec<f64>,
    /// Orders of magnitude by which the residual has fallen since the first iteration (of the time step): density's, in
    /// incompressible flow that of all equations; the least of it and of those of systems beside the flow.
    pub orders: f64,
    /// Whether the flow's residual is nothing but rounding errors and falls no more, however few orders it has fallen.
    pub rests: bool,
    /// CFL number of the step.
    pub cfl: f64,
    /// Whether the step was of first order in space, see [`Implicit::first_order_steps`](crate::config::Implicit::first_order_steps).
    pub first_order: bool,
    /// Whether Roe's flux damped more than was asked for, see [`RoeFix::damped`](crate::flux::RoeFix::damped).
    pub damped: bool,
    /// Whether linear systems were found hard to solve, so that Roe's matrix damped more, see [`RoeFix::in_matrix`](crate::flux::RoeFix::in_matrix).
    pub hard: bool,
    /// Coarse grids that an explicit step might use: fewer from where residuals swung or a step was rejected.
    pub coarse_grids: usize,
    /// Reduction of the linear system's residual, where it was looked at; of a relaxation alone that of the residual
    /// preconditioned by the sweep.
    pub linear_reduction: Option<f64>,
    /// Rows whose update was cut.
    pub limited: usize,
    /// Whether the step was rejected: the state restored, and the CFL number lowered or GMRES given more directions.
    pub rejected: bool,
    /// Forces.
    pub forces: Forces,
    /// Times of this step.
    pub times: Times,
    /// Set when the run is over.
    pub outcome: Option<Outcome>,
    /// Set when the state or the residual became non-physical or not finite.
    pub bad: Option<BadPlace>,
}
