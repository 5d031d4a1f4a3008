//! The implicit step.

use chromaflow::Policy;
use chromaflow::dist::SweepExchange;
use chromaflow::solver::{Method, PreconditionerKind, RowOrder};

/// The implicit step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Implicit {
    /// What stands for the derivative of the residual.
    pub nonlinear: Nonlinear,
    /// Precision of the Jacobian.
    pub policy: Policy,
    /// How the linear system of a step is iterated upon.
    pub method: Method,
    /// What the method works with: around a relaxation, Richardson's iteration is the relaxation itself.
    pub preconditioner: PreconditionerKind,
    /// In which order block ILU takes the rows.
    pub order: RowOrder,
    /// Sweeps (of `ilu0` alone: corrections) a step, without a Krylov method.
    pub sweeps: usize,
    /// Sweeps of each application of a relaxation as preconditioner.
    pub preconditioner_sweeps: usize,
    /// When sweeps over ranks exchange the values of border rows.
    pub exchange: SweepExchange,
    /// Krylov methods end where the residual of the linear system has fallen to this part,
    pub krylov_tolerance: f64,
    /// or after so many iterations; GMRES keeps up to twice as many vectors.
    pub krylov_iterations: usize,
    /// The residual of the linear system is looked at every so many steps (0: never).
    pub linear_report: usize,
    /// Linearization of the inviscid flux.
    pub jacobian: JacobianScheme,
    /// The CFL number from step to step.
    pub cfl: Cfl,
    /// Most first-order steps before the second-order ones, which begin as soon as the residual has fallen by four orders. Steady flow that
    /// takes Newton-Krylov steps and has no turbulence goes back to such steps by itself where its residual has not
    /// fallen for 100 steps: once, inviscid flow once more with Roe's flux [damped](crate::flux::RoeFix::damped). It ends where the residual has not fallen
    /// for 200 steps since.
    pub first_order_steps: usize,
    /// Largest relative change of density and pressure of a node in one step, rises of supersonic nodes around bodies
    /// up to five times that; larger updates are scaled down.
    pub max_change: f64,
}

impl Default for Implicit {
    fn default() -> Self {
        Self {
            nonlinear: Nonlinear::default(),
            policy: Policy::Ds,
            method: Method::Richardson,
            preconditioner: PreconditionerKind::Multicolor,
            order: RowOrder::Rcm,
            sweeps: 15,
            preconditioner_sweeps: 1,
            exchange: SweepExchange::default(),
            krylov_tolerance: 0.01,
            krylov_iterations: 20,
            linear_report: 10,
            jacobian: JacobianScheme::Roe,
            cfl: Cfl::default(),
            first_order_steps: 0,
            max_change: 0.2,
        }
    }
}

/// What stands for the derivative of the residual in an implicit step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Nonlinear {
    /// The first-order matrix alone: steps are cheap, and many. Where that matrix is too far from the derivative, on skewed
    /// viscous cells or very irregular meshes, they lead nowhere however small they are.
    #[default]
    DefectCorrection,
    /// The derivative itself, by differences of residuals, in GMRES preconditioned with the first-order matrix: steps are few, and
    /// at large CFL numbers Newton's. Memory: up to twice [`NewtonKrylov::directions`] vectors more, or 1 GiB where
    /// systems are hard and that is more.
    ///
    /// **Source**: Knoll and Keyes, *Jacobian-free Newton-Krylov methods: a survey of approaches and applications* (2004),
    /// J. Comput. Phys. 193; Pandya, Diskin, Thomas, Frink (2016), AIAA J. 54(9).
    NewtonKrylov(NewtonKrylov),
}

impl Nonlinear {
    /// Whether steps are Newton-Krylov steps.
    pub(crate) fn is_newton(self) -> bool {
        matches!(self, Self::NewtonKrylov(_))
    }
}

/// How far the linear system of a Newton-Krylov step is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonKrylov {
    /// Part of its residual that may be left.
    pub tolerance: f64,
    /// Most directions of GMRES, each an application of the preconditioner and a residual of the flow. Up to four times as many after six systems
    /// that were not half solved (one, near the solution), and six more, where their vectors take 1 GiB of a rank at most.
    pub directions: usize,
}

impl Default for NewtonKrylov {
    fn default() -> Self {
        Self { tolerance: 0.3, directions: 40 }
    }
}

/// Linearization of the inviscid flux, first order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum JacobianScheme {
    /// 1/2 (A(q_j) - |A_roe|): the matrix of Roe's flux with its dissipation frozen.
    #[default]
    Roe,
    /// Exact derivative of van Leer's split fluxes.
    VanLeer,
}

/// The CFL number from step to step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cfl {
    /// First step.
    pub start: f64,
    /// Smallest that back-offs may reach before the run is given up.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Growth a step while all goes well.
    pub growth: f64,
    /// Whether it backs off when residuals grow or updates are cut, and recovers, and halves `max` (not below `start`; to a tenth of Newton-Krylov
    /// steps, which get it back) when residuals stall there; else it is a plain ramp.
    pub adaptive: bool,
}

impl Default for Cfl {
    fn default() -> Self {
        Self { start: 5.0, min: 0.01, max: 200.0, growth: 1.2, adaptive: true }
    }
}
