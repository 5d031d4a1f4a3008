//! Choices made at run time.

use crate::Policy;
use crate::factor::block_ilu::Fill;
use crate::order::{ColoringMethod, PlanOptions};
use crate::relax::{DiagonalForm, Direction};
use crate::sparse::HalfScale;
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

/// How to solve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// Multicolor point-implicit sweeps alone, as in the nonlinear iteration of a flow code.
    Multicolor,
    /// Block Jacobi sweeps alone.
    Jacobi,
    /// Corrections by block ILU alone, x <- x + M (b - A x).
    Ilu0,
    /// Restarted flexible GMRES around a preconditioner.
    #[default]
    Gmres,
    /// BiCGStab around a preconditioner.
    BiCgStab,
}
named!(Method, "method": Multicolor = "multicolor", Jacobi = "jacobi", Ilu0 = "ilu0", Gmres = "gmres", BiCgStab = "bicgstab");

/// What a Krylov method is preconditioned with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PreconditionerKind {
    /// Multicolor point-implicit sweeps from zero.
    #[default]
    Multicolor,
    /// Block Jacobi sweeps from zero.
    Jacobi,
    /// Block ILU, of [`SolverOptions::fill`]: for matrices whose couplings are too strong for point-implicit sweeps. Policy
    /// `d` keeps its factors in f64, `ds` in f32, `dsh` in scaled f16.
    Ilu,
    /// Nothing.
    None,
}
named!(
    PreconditionerKind,
    "preconditioner": Multicolor = "multicolor", Jacobi = "jacobi", Ilu = "ilu0", None = "none"
);

/// In which order block ILU takes the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RowOrder {
    /// As they are given.
    Natural,
    /// By reverse Cuthill-McKee: the best factors, in as many levels as the band is long.
    #[default]
    Rcm,
    /// Color by color: as few levels as there are colors, at the price of more iterations.
    Multicolor,
}
named!(RowOrder, "order": Natural = "natural", Rcm = "rcm", Multicolor = "multicolor");

/// Everything about a solve that is chosen at run time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverOptions {
    /// How to solve.
    pub method: Method,
    /// What a Krylov method is preconditioned with; relaxations ignore it.
    pub preconditioner: PreconditionerKind,
    /// The precision of relaxations, alone or as preconditioners.
    pub policy: Policy,
    /// How `dsh` is scaled.
    pub half_scale: HalfScale,
    /// How diagonal blocks are kept.
    pub diagonal: DiagonalForm,
    /// The order of the rows. Methods without multicolor sweeps do not color; block ILU does where `colored` says so.
    pub plan: PlanOptions,
    /// Which blocks the factors of block ILU have.
    pub fill: Fill,
    /// Whether block ILU takes the rows color by color: as few levels as there are colors, at the price of more
    /// iterations.
    pub colored: bool,
    /// Sweeps of each application of the preconditioner; of a relaxation alone, the sweeps to do where there is no
    /// tolerance.
    pub sweeps: usize,
    /// The order of the colors.
    pub direction: Direction,
    /// Factor on every change of x within a sweep.
    pub damping: f64,
    /// Stop at ||b - A x|| <= tolerance ||b||; 0 does all iterations.
    pub tolerance: f64,
    /// Most iterations: applications of the preconditioner, or sweeps of a relaxation with a tolerance.
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
    /// Whether a relaxation without tolerance records the residual after every sweep, which costs about one more sweep
    /// each time. Methods with a tolerance and Krylov methods always do.
    pub history: bool,
}

impl Default for SolverOptions {
    /// Flexible GMRES(50, growing) to ten orders around one forward multicolor sweep in `ds`, colors found after reverse
    /// Cuthill-McKee. More sweeps an application save iterations where sweeps alone converge, and harm where they
    /// do not.
    fn default() -> Self {
        Self {
            method: Method::Gmres,
            preconditioner: PreconditionerKind::Multicolor,
            policy: Policy::Ds,
            half_scale: HalfScale::Global,
            diagonal: DiagonalForm::Inverse,
            plan: PlanOptions::default(),
            fill: Fill::default(),
            colored: false,
            sweeps: 1,
            direction: Direction::Forward,
            damping: 1.0,
            tolerance: 1e-10,
            max_iterations: 2000,
            restart: 50,
            longest_restart: 1000,
            correction_sweeps: 1,
            history: false,
        }
    }
}

impl SolverOptions {
    /// What a flow code does in a nonlinear iteration: a fixed number of forward multicolor sweeps.
    #[must_use]
    pub fn sweeps(sweeps: usize) -> Self {
        Self { method: Method::Multicolor, sweeps, tolerance: 0.0, correction_sweeps: 0, ..Self::default() }
    }

    /// The relaxation that runs, alone or as preconditioner.
    pub(super) fn relaxation(&self) -> PreconditionerKind {
        match self.method {
            Method::Multicolor => PreconditionerKind::Multicolor,
            Method::Jacobi => PreconditionerKind::Jacobi,
            Method::Ilu0 => PreconditionerKind::Ilu,
            Method::Gmres | Method::BiCgStab => self.preconditioner,
        }
    }

    /// Whether the rows are taken color by color.
    fn in_colors(&self) -> bool {
        match self.relaxation() {
            PreconditionerKind::Multicolor => true,
            PreconditionerKind::Ilu => self.colored,
            PreconditionerKind::Jacobi | PreconditionerKind::None => false,
        }
    }

    /// Colors only where they are used.
    pub(super) fn effective_plan(&self) -> PlanOptions {
        if self.in_colors() {
            return self.plan;
        }
        PlanOptions { coloring: ColoringMethod::None, ..self.plan }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.in_colors() && self.plan.coloring == ColoringMethod::None {
            return Err(
                "rows in the order of colors need a coloring: choose one, or the jacobi method".into()
            );
        }
        if !(self.damping > 0.0 && self.damping <= 2.0) {
            return Err(format!("damping is {}: expected a value above 0 and up to 2", self.damping));
        }
        if !(self.tolerance >= 0.0 && self.tolerance < 1.0) {
            return Err(format!("the tolerance is {}: expected a value from 0 to below 1", self.tolerance));
        }
        if self.sweeps == 0 && self.relaxation() != PreconditionerKind::None {
            return Err("at least one sweep is needed".into());
        }
        Ok(())
    }

    pub(super) fn same_setup(&self, other: &Self) -> bool {
        let setup = |o: &Self| {
            (o.method, o.preconditioner, o.policy, o.half_scale, o.diagonal, o.plan, o.fill, o.colored)
        };
        setup(self) == setup(other)
    }
}
