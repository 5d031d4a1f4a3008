//! What the structured solver needs to know besides the grid.

use crate::config::{
    Boundary, Cfl, Equations, Freestream, GasConfig, Nonlinear, Reference, Steady, Time, TurbulenceConfig,
    Unsteady, max_rise, max_velocity_change,
};
use crate::flux::Dissipation;
use std::collections::BTreeMap;

/// The whole set-up. Units are those of [`crate::config`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StructuredConfig {
    /// The gas.
    pub gas: GasConfig,
    /// Conditions far away, which scale everything else.
    pub freestream: Freestream,
    /// Which equations are solved.
    pub equations: Equations,
    /// Inviscid fluxes.
    pub scheme: Scheme,
    /// The Mach number below which dissipation shrinks no further, above 0 and at most 1; `None` for the default of
    /// [`StructuredConfig::cutoff_mach`].
    pub cutoff_mach: Option<f64>,
    /// Viscous fluxes.
    pub viscous: ViscousTerms,
    /// The turbulence model of viscous flow, by Newton-Krylov steps on the CPU.
    pub turbulence: Option<TurbulenceConfig>,
    /// Boundary condition of each marker by its name.
    pub boundaries: BTreeMap<String, Boundary>,
    /// The implicit step.
    pub implicit: LineImplicit,
    /// Thickness, over the reference length, of the layer at walls in which the flow starts along them: at slip walls, and in supersonic
    /// streams at all; 0 starts with the free stream in every cell. None: a tenth of these walls' largest extent along an axis in steady inviscid
    /// flow and steady supersonic flow by Newton-Krylov steps, else 0.
    pub start_layer: Option<f64>,
    /// March to a steady state, or follow the flow in time.
    pub time: Time,
    /// How forces are made into coefficients.
    pub reference: Reference,
}

/// Inviscid fluxes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scheme {
    /// Central differences with scalar dissipation (Jameson, Schmidt & Turkel).
    Scalar(Dissipation<f64>),
    /// Central differences with matrix dissipation (Swanson & Turkel): sharper shocks and boundary layers.
    Matrix(Dissipation<f64>),
    /// Roe's flux between extrapolations from both sides.
    Roe {
        /// Weight of the formula: 1/3 is of third order in one dimension.
        kappa: f64,
        /// Whether van Albada's limiter acts.
        limited: bool,
    },
}

impl Default for Scheme {
    fn default() -> Self {
        Self::Scalar(Dissipation::DEFAULT)
    }
}

/// Viscous fluxes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ViscousTerms {
    /// All derivatives at each face.
    #[default]
    Full,
    /// Only the derivatives across each face: the thin-layer approximation in all directions.
    ThinLayer,
}

/// How the implicit step is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum StepMethod {
    /// Approximate factorization into block tridiagonal systems (Beam & Warming).
    #[default]
    BeamWarming,
    /// The same with each factor's blocks diagonalized, frozen eigenvectors beside them: scalar systems (Pulliam &
    /// Chaussee). Cheaper by a factor; of first order in time where a flow is followed, until subiterations converge.
    Diagonal {
        /// Second and fourth differences in the implicit operator, twice those of the central schemes' residual:
        /// pentadiagonal systems. Else, and with [`Scheme::Roe`], second differences: tridiagonal ones.
        fourth: bool,
    },
    /// Symmetric successive over-relaxation of the unfactored operator, cell by cell (LU-SGS for one sweep).
    Ssor {
        /// Symmetric sweeps a step.
        sweeps: usize,
        /// Factor of each cell's change, 1 for Gauss-Seidel.
        relaxation: f64,
    },
}

impl StepMethod {
    /// CFL numbers that it stands as a rule. The error of a factorization grows with their square: 5 to 20 converges best, and
    /// where 20 is too much the largest is halved on the way. Sweeps have no such error.
    pub fn cfl(self) -> Cfl {
        let max = if matches!(self, Self::Ssor { .. }) { 200.0 } else { 20.0 };
        Cfl { start: 2.0, min: 0.01, max, growth: 1.1, adaptive: true }
    }
}

/// The implicit step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineImplicit {
    /// The plain step.
    pub method: StepMethod,
    /// Plain steps, or Newton-Krylov steps in their place, around the first-order matrix in block ILU.
    pub nonlinear: Nonlinear,
    /// The CFL number from step to step.
    pub cfl: Cfl,
    /// Second-difference dissipation of the implicit operator over the spectral radius (over |A| with [`Scheme::Matrix`] and
    /// [`Scheme::Roe`] in block systems); 1/2 is first-order upwinding. None: see [`StructuredConfig::implicit_dissipation`].
    pub dissipation: Option<f64>,
    /// How local time steps follow the shape of cells.
    pub local_step: LocalStep,
    /// Largest relative change of density and pressure of a cell in one step; larger updates are scaled down. By Newton-Krylov steps rises of supersonic cells
    /// around bodies may be five times that, and changes of the velocity of viscous flow are bounded, too.
    pub max_change: f64,
}

impl Default for LineImplicit {
    fn default() -> Self {
        let method = StepMethod::default();
        Self {
            method,
            nonlinear: Nonlinear::default(),
            cfl: method.cfl(),
            dissipation: None,
            local_step: LocalStep::Mean,
            max_change: 0.2,
        }
    }
}

/// The wave speed that local time steps are made of: dt = CFL V / radius.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LocalStep {
    /// The largest of the spectral radii along the axes.
    Largest,
    /// The geometric mean of the largest and the smallest: in stretched cells the implicit step across them may be as much
    /// too long as it is too short along them. The same in cells of equal sides.
    #[default]
    Mean,
}

impl StructuredConfig {
    /// The implicit operator's dissipation: what is asked for, or 1/2 for Roe's flux and for SSOR, whose sweeps need upwinding,
    /// and for factored central schemes four times the coefficient of the fourth differences.
    ///
    /// That is as much as these have for the shortest waves. More is worse: the error of a factorization,
    /// `(dt/V)^2 L_i L_j`, then has terms that the residual's dissipation does not outweigh. Waves that stand still, whose
    /// speeds along two axes cancel (Mach waves of supersonic flow), grow when dt |A| / V times the square of that dissipation
    /// exceeds a number near one half.
    pub fn implicit_dissipation(&self) -> f64 {
        let chosen = match (self.implicit.method, self.scheme) {
            (StepMethod::Ssor { .. }, _) | (_, Scheme::Roe { .. }) => 0.5,
            (_, Scheme::Scalar(d) | Scheme::Matrix(d)) => 4.0 * d.fourth,
        };
        self.implicit.dissipation.unwrap_or(chosen)
    }

    /// The Mach number below which dissipation shrinks no further, see [`RoeFix::cutoff_mach`](crate::flux::RoeFix::cutoff_mach): what is asked for, or by
    /// Newton-Krylov steps five times that of the fastest gas that the set-up tells of, see [`Boundary::fastest`], so that slow flow is dissipated as flow at Mach 0.2 and faster flow by |A|. Plain steps have |A| at every
    /// speed (1): their implicit operators have no more.
    pub fn cutoff_mach(&self) -> f64 {
        let fastest = || Boundary::fastest(&self.boundaries, self.gas.gas(), self.freestream.mach);
        self.cutoff_mach.unwrap_or_else(|| if self.takes_newton() { (5.0 * fastest()).min(1.0) } else { 1.0 })
    }

    /// See [`Host::problem`](crate::march::Host::problem).
    pub(super) fn problem(&self) -> String {
        let fluxes = (self.scheme, self.cutoff_mach, self.viscous, &self.turbulence);
        format!("{:?}", (self.gas, self.freestream, self.equations, fluxes, &self.boundaries))
    }

    /// Whether steps are Newton-Krylov steps.
    pub(super) fn takes_newton(&self) -> bool {
        self.implicit.nonlinear.is_newton()
    }

    /// The largest relative changes of density and pressure, falls and rises of supersonic flow, and of the velocity of a cell in one step: those of
    /// meshes, but that plain steps let rise no more than fall, and any velocity pass.
    pub(super) fn max_changes(&self) -> [f64; 3] {
        let most = self.implicit.max_change;
        if !self.takes_newton() {
            return [most, most, f64::INFINITY];
        }
        [most, max_rise(&self.boundaries, most), max_velocity_change(self.equations)]
    }

    /// The steady goal, if it is one.
    pub(super) fn steady(&self) -> Option<Steady> {
        match self.time {
            Time::Steady(steady) => Some(steady),
            Time::Unsteady(_) => None,
        }
    }

    /// The time steps, if the flow is followed in time.
    pub(super) fn unsteady(&self) -> Option<Unsteady> {
        match self.time {
            Time::Steady(_) => None,
            Time::Unsteady(unsteady) => Some(unsteady),
        }
    }
}
