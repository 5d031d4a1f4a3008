//! Choices made at run time.

use super::NullSpace;
use crate::Policy;
use crate::factor::block_ilu::Fill;
use crate::order::{ColoringMethod, PlanOptions, Rcm};
use crate::relax::{DiagonalForm, Direction};
use crate::sparse::HalfScale;
use crate::stop::Control;
use std::fmt;
use std::str::FromStr;

macro_rules! named {
    ($name:ident, $what:literal: $($variant:ident = $text:literal),*) => {
        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The name used on the command line and in results.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text),* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }

        impl FromStr for $name {
            type Err = String;
            fn from_str(s: &str) -> Result<Self, String> {
                let known: Vec<_> = Self::ALL.iter().map(|v| v.name()).collect();
                Self::ALL.iter().copied().find(|v| v.name() == s)
                    .ok_or_else(|| format!("unknown {} `{s}`: expected {}", $what, known.join(", ")))
            }
        }
    };
}

/// How to iterate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// Corrections by the preconditioner alone, x <- x + M (b - A x).
    Richardson,
    /// Restarted flexible GMRES.
    #[default]
    Gmres,
    /// BiCGStab.
    BiCgStab,
}
named!(Method, "method": Richardson = "richardson", Gmres = "gmres", BiCgStab = "bicgstab");

/// An approximate inverse M of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PreconditionerKind {
    /// Multicolor point-implicit sweeps from zero.
    Multicolor,
    /// Block Gauss-Seidel sweeps from zero in the given or the reverse Cuthill-McKee order, by
    /// [`SolverOptions::direction`]; with a damping other than 1, successive over-relaxation.
    GaussSeidel,
    /// The same, each sweep forward and then backward. One from zero is z = M^-1 r with
    /// M = (D + w L) D^-1 (D + w U) / (w (2 - w)), where A = L + D + U by blocks and w is the damping. **Source**: Young
    /// (1971); Saad, *Iterative Methods for Sparse Linear Systems* (2003), 4.1 and 10.2.
    Ssor,
    /// Block Jacobi sweeps from zero.
    Jacobi,
    /// Multicolor line-implicit sweeps from zero, along lines of strong coupling ([`Lines`](crate::order::Lines)), which an
    /// [`AssembledSolver`](super::AssembledSolver) is given with its batches: for meshes of long, thin cells.
    Lines,
    /// Block ILU with this fill: for matrices whose couplings are too strong for point-implicit sweeps. Policy `d` keeps
    /// its factors in f64, `ds` in f32, `dsh` in scaled f16.
    Ilu(Fill),
    /// Nothing.
    None,
}

impl Default for PreconditionerKind {
    /// Block ILU(0).
    fn default() -> Self {
        PreconditionerKind::Ilu(Fill::Level(0))
    }
}

impl PreconditionerKind {
    /// All of them, ILU without fill.
    pub const ALL: &[PreconditionerKind] = &[
        PreconditionerKind::Multicolor,
        PreconditionerKind::GaussSeidel,
        PreconditionerKind::Ssor,
        PreconditionerKind::Jacobi,
        PreconditionerKind::Lines,
        PreconditionerKind::Ilu(Fill::Level(0)),
        PreconditionerKind::None,
    ];

    /// The name used on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            PreconditionerKind::Multicolor => "multicolor",
            PreconditionerKind::GaussSeidel => "gauss_seidel",
            PreconditionerKind::Ssor => "ssor",
            PreconditionerKind::Jacobi => "jacobi",
            PreconditionerKind::Lines => "lines",
            PreconditionerKind::Ilu(_) => "ilu0",
            PreconditionerKind::None => "none",
        }
    }

    /// The same with this fill, where it has any.
    #[must_use]
    pub fn with_fill(self, fill: Fill) -> Self {
        if let PreconditionerKind::Ilu(_) = self { PreconditionerKind::Ilu(fill) } else { self }
    }

    /// The fill of block ILU.
    pub fn fill(self) -> Option<Fill> {
        if let PreconditionerKind::Ilu(fill) = self { Some(fill) } else { None }
    }

    /// Whether it is a point- or line-implicit relaxation.
    pub fn is_relaxation(self) -> bool {
        self == PreconditionerKind::Jacobi || self.sweeps_in_batches()
    }

    /// Whether its sweeps go batch by batch, each with the latest values of the others.
    pub fn sweeps_in_batches(self) -> bool {
        self == PreconditionerKind::Multicolor || self == PreconditionerKind::Lines || self.sweeps_in_levels()
    }

    /// Which way its sweeps go, where there is a choice by `asked`.
    pub fn direction(self, asked: Direction) -> Direction {
        if self == PreconditionerKind::Ssor { Direction::Symmetric } else { asked }
    }

    /// Whether those batches are the levels of an order of the rows.
    pub fn sweeps_in_levels(self) -> bool {
        matches!(self, PreconditionerKind::GaussSeidel | PreconditionerKind::Ssor)
    }
}

impl fmt::Display for PreconditionerKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for PreconditionerKind {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        let known: Vec<_> = Self::ALL.iter().map(|v| v.name()).collect();
        let found = Self::ALL.iter().copied().find(|v| v.name() == s);
        found.ok_or_else(|| format!("unknown preconditioner `{s}`: expected {}", known.join(", ")))
    }
}

/// The words by which command lines and case files choose a method: a Krylov method, which goes around a preconditioner
/// chosen beside it, or a preconditioner by itself, which means Richardson's corrections by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MethodWord {
    /// Multicolor point-implicit sweeps alone, as in the nonlinear iteration of a flow code.
    Multicolor,
    /// Block Gauss-Seidel sweeps alone.
    GaussSeidel,
    /// Symmetric block Gauss-Seidel sweeps alone.
    Ssor,
    /// Block Jacobi sweeps alone.
    Jacobi,
    /// Line-implicit sweeps alone.
    Lines,
    /// Corrections by block ILU alone.
    Ilu0,
    /// GMRES around a preconditioner.
    #[default]
    Gmres,
    /// BiCGStab around a preconditioner.
    BiCgStab,
}
named!(
    MethodWord,
    "method": Multicolor = "multicolor", GaussSeidel = "gauss_seidel", Ssor = "ssor", Jacobi = "jacobi", Lines = "lines", Ilu0 = "ilu0", Gmres = "gmres", BiCgStab = "bicgstab"
);

impl MethodWord {
    /// Method and preconditioner; `around` is what Krylov methods go around, `fill` that of block ILU.
    pub fn choice(self, around: PreconditionerKind, fill: Fill) -> (Method, PreconditionerKind) {
        let (method, preconditioner) = match self {
            MethodWord::Multicolor => (Method::Richardson, PreconditionerKind::Multicolor),
            MethodWord::GaussSeidel => (Method::Richardson, PreconditionerKind::GaussSeidel),
            MethodWord::Ssor => (Method::Richardson, PreconditionerKind::Ssor),
            MethodWord::Jacobi => (Method::Richardson, PreconditionerKind::Jacobi),
            MethodWord::Lines => (Method::Richardson, PreconditionerKind::Lines),
            MethodWord::Ilu0 => (Method::Richardson, PreconditionerKind::Ilu(fill)),
            MethodWord::Gmres => (Method::Gmres, around),
            MethodWord::BiCgStab => (Method::BiCgStab, around),
        };
        (method, preconditioner.with_fill(fill))
    }

    /// The word for a choice; none for Richardson's iteration without a preconditioner.
    pub fn of(method: Method, preconditioner: PreconditionerKind) -> Option<Self> {
        match (method, preconditioner) {
            (Method::Gmres, _) => Some(MethodWord::Gmres),
            (Method::BiCgStab, _) => Some(MethodWord::BiCgStab),
            (Method::Richardson, PreconditionerKind::Multicolor) => Some(MethodWord::Multicolor),
            (Method::Richardson, PreconditionerKind::GaussSeidel) => Some(MethodWord::GaussSeidel),
            (Method::Richardson, PreconditionerKind::Ssor) => Some(MethodWord::Ssor),
            (Method::Richardson, PreconditionerKind::Jacobi) => Some(MethodWord::Jacobi),
            (Method::Richardson, PreconditionerKind::Lines) => Some(MethodWord::Lines),
            (Method::Richardson, PreconditionerKind::Ilu(_)) => Some(MethodWord::Ilu0),
            (Method::Richardson, PreconditionerKind::None) => None,
        }
    }
}

/// In which order block ILU and Gauss-Seidel sweeps take the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RowOrder {
    /// As they are given where they lie in a band, else by reverse Cuthill-McKee ([`Rcm::UnlessBanded`]).
    #[default]
    Auto,
    /// As they are given.
    Natural,
    /// By reverse Cuthill-McKee: the best factors, in as many levels as the band is long; with levels of fill by its colored fronts ([`Rcm::ColoredFronts`]).
    Rcm,
    /// Color by color: as few levels as there are colors, at the price of more iterations.
    Multicolor,
}
named!(RowOrder, "order": Auto = "auto", Natural = "natural", Rcm = "rcm", Multicolor = "multicolor");

impl RowOrder {
    /// Whether rows are reordered; before colors always, but in the natural order.
    pub fn rcm(self) -> Rcm {
        match self {
            RowOrder::Auto => Rcm::UnlessBanded,
            RowOrder::Natural => Rcm::Never,
            RowOrder::Rcm | RowOrder::Multicolor => Rcm::Always,
        }
    }
}

/// The iterations of a relaxation alone.
pub(super) struct SweepCourse {
    /// Sweeps of an iteration.
    pub(super) once: usize,
    /// Whether they are of a correction, from zero, or of x itself.
    pub(super) corrects: bool,
    /// When to stop, in iterations.
    pub(super) control: Control,
}

/// Most memory for vectors of cycles longer than the restart asked for.
const BASIS_BYTES: usize = 1 << 30;

/// Everything about a solve that is chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverOptions {
    /// How to iterate.
    pub method: Method,
    /// The approximate inverse that the method works with.
    pub preconditioner: PreconditionerKind,
    /// The precision of relaxations, alone or as preconditioners.
    pub policy: Policy,
    /// How `dsh` is scaled.
    pub half_scale: HalfScale,
    /// How diagonal blocks are kept.
    pub diagonal: DiagonalForm,
    /// The order of the rows. Methods without multicolor sweeps do not color; block ILU does where `colored` says so.
    pub plan: PlanOptions,
    /// Whether block ILU takes the rows color by color: as few levels as there are colors, at the price of more
    /// iterations.
    pub colored: bool,
    /// Sweeps of each application of the preconditioner. Of Richardson's iteration without a tolerance: the sweeps, or the
    /// corrections by block ILU, to do in all.
    pub sweeps: usize,
    /// The order of the colors, or of the rows; [`PreconditionerKind::Ssor`] goes both ways whatever it says.
    pub direction: Direction,
    /// Factor on every change of x within a sweep.
    pub damping: f64,
    /// Stop at ||b - A x|| <= tolerance ||b||; 0 does all iterations.
    pub tolerance: f64,
    /// Most iterations: applications of the preconditioner, or sweeps of a relaxation alone with a tolerance.
    pub max_iterations: usize,
    /// Iterations of GMRES between restarts.
    pub restart: usize,
    /// Cycles of GMRES that do not halve the residual are followed by longer ones, up to this many iterations or 1 GiB
    /// of vectors; no more than `restart` keeps them as they are.
    pub longest_restart: usize,
    /// Of a relaxation alone: sweeps after which the correction is added to the solution in f64 and the residual formed
    /// anew in f64, so that low precision inside does not limit the accuracy; 0 never does. With a tolerance and 0
    /// the residual is looked at after every sweep, but x keeps the policy's precision.
    pub correction_sweeps: usize,
    /// What the matrix takes to zero, of [`LinearSolver`](super::LinearSolver) on one rank and a host.
    pub null_space: NullSpace,
    /// Whether the matrix itself is kept in f64. Without it there is no [`solve`](super::LinearSolver::solve) and no
    /// [`multiply`](super::LinearSolver::multiply), only [`apply`](super::LinearSolver::apply) and
    /// [`solve_matrix_free`](super::LinearSolver::solve_matrix_free): all that a caller with a Krylov method of his own needs. Block
    /// ILU then takes half of the memory and less time for new values; other preconditioners, and GPUs, keep what they need.
    pub keep_matrix: bool,
    /// Whether a relaxation without tolerance records the residual after every sweep, which costs about one more sweep
    /// each time. Methods with a tolerance and Krylov methods always do.
    pub history: bool,
}

impl Default for SolverOptions {
    /// Flexible GMRES(50, growing) to ten orders around block ILU(0) in `ds`, rows in reverse Cuthill-McKee order
    /// unless they lie in a band. Of
    /// what there is it needs the fewest iterations on matrices of unknown kind: as many as sweeps where the diagonal
    /// rules, a tenth where stretched cells or convection couple rows strongly. Its apply costs about one sweep, its
    /// set-up some more. On a GPU, where its levels are many and short, prefer multicolor sweeps.
    fn default() -> Self {
        Self {
            method: Method::Gmres,
            preconditioner: PreconditionerKind::default(),
            policy: Policy::Ds,
            half_scale: HalfScale::Global,
            diagonal: DiagonalForm::Inverse,
            plan: PlanOptions { rcm: Rcm::UnlessBanded, ..PlanOptions::default() },
            colored: false,
            sweeps: 1,
            direction: Direction::Forward,
            damping: 1.0,
            tolerance: 1e-10,
            max_iterations: 2000,
            restart: 50,
            longest_restart: 1000,
            correction_sweeps: 1,
            null_space: NullSpace::None,
            keep_matrix: true,
            history: false,
        }
    }
}

impl SolverOptions {
    /// What a flow code does in a nonlinear iteration: a fixed number of forward multicolor sweeps.
    #[must_use]
    pub fn sweeps(sweeps: usize) -> Self {
        Self {
            method: Method::Richardson,
            preconditioner: PreconditionerKind::Multicolor,
            sweeps,
            tolerance: 0.0,
            correction_sweeps: 0,
            ..Self::default()
        }
    }

    /// Whether the rows are taken color by color.
    fn in_colors(&self) -> bool {
        match self.preconditioner {
            PreconditionerKind::Multicolor | PreconditionerKind::Lines => true,
            PreconditionerKind::Ilu(_) => self.colored,
            _ => false,
        }
    }

    /// Colors or levels only where they are used.
    pub(super) fn effective_plan(&self) -> PlanOptions {
        if self.in_colors() {
            let rcm = if self.plan.rcm == Rcm::Never { Rcm::Never } else { Rcm::Always };
            return PlanOptions { rcm, ..self.plan };
        }
        let levels = self.preconditioner.sweeps_in_levels();
        let coloring = if levels { ColoringMethod::Levels } else { ColoringMethod::None };
        let rcm = match self.preconditioner {
            PreconditionerKind::Ilu(fill) => self.plan.rcm.for_fill(fill.levels()),
            _ => self.plan.rcm,
        };
        PlanOptions { rcm, coloring, ..self.plan }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.preconditioner == PreconditionerKind::Lines {
            return Err("a pattern alone has no lines of strong coupling: give them to an AssembledSolver, as batches of a plan of \
                 lines, or use ilu0, multicolor or ssor"
                .into());
        }
        if self.in_colors() && self.plan.coloring == ColoringMethod::None {
            return Err(
                "rows in the order of colors need a coloring: choose one, or the jacobi method".into()
            );
        }
        if self.colored && self.preconditioner.sweeps_in_levels() {
            return Err(format!(
                "{} sweeps go in the natural or the rcm order: color by color they are preconditioner multicolor",
                self.preconditioner
            ));
        }
        self.check_numbers()
    }

    /// What does not concern the order of the rows.
    pub(super) fn check_numbers(&self) -> Result<(), String> {
        if !(self.damping > 0.0 && self.damping <= 2.0) {
            return Err(format!("damping is {}: expected a value above 0 and up to 2", self.damping));
        }
        if !(self.tolerance >= 0.0 && self.tolerance < 1.0) {
            return Err(format!("the tolerance is {}: expected a value from 0 to below 1", self.tolerance));
        }
        if self.sweeps == 0 && self.preconditioner != PreconditionerKind::None {
            return Err("sweeps is 0: expected at least one".into());
        }
        if self.restart == 0 {
            return Err(format!(
                "restart is 0: GMRES needs at least one iteration between restarts, {} are the default",
                Self::default().restart
            ));
        }
        Ok(())
    }

    /// Whether a solver that was set up with `other` can go on with these.
    pub(super) fn check_setup(&self, other: &Self) -> Result<(), String> {
        let setup = |o: &Self| {
            (o.preconditioner, o.policy, o.half_scale, o.diagonal, o.plan, o.colored, o.keep_matrix)
        };
        if setup(self) == setup(other) {
            return Ok(());
        }
        let what = "preconditioner, policy, diagonal form, order and keep_matrix are fixed when the solver is set up";
        Err(what.to_owned())
    }

    /// Iterations in all of Richardson's iteration.
    pub(super) fn total(&self) -> usize {
        if self.tolerance == 0.0 { self.sweeps } else { self.max_iterations }
    }

    /// How a relaxation alone goes on.
    pub(super) fn course_of_sweeps(&self) -> SweepCourse {
        let (total, inner) = (self.total(), self.correction_sweeps);
        let unwatched = self.tolerance == 0.0 && !self.history;
        let once = match inner {
            0 if unwatched => total.max(1),
            0 => 1,
            inner => inner,
        };
        let control = Control { tolerance: self.tolerance, max_iterations: total.div_ceil(once) };
        SweepCourse { once, corrects: inner > 0, control }
    }

    /// Iterations of the first cycle of GMRES and of the longest one, whose vectors (two an iteration, of so many unknowns) take
    /// 1 GiB at most unless `restart` asks for more.
    ///
    /// ```
    /// let options = chromaflow::SolverOptions::default();
    /// assert_eq!(options.cycles(10_000), (50, 1000));
    /// assert_eq!(options.cycles(1_000_000), (50, 67));
    /// ```
    pub fn cycles(&self, unknowns: usize) -> (usize, usize) {
        let affordable = BASIS_BYTES / (16 * unknowns.max(1));
        (self.restart, self.longest_restart.min(affordable).max(self.restart))
    }
}
