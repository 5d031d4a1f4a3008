//! What the flow solver needs to know besides the mesh: plain structs, every field with a default.
//!
//! **Units**: nondimensional by the free stream: density by rho_inf, velocity by the speed of sound a_inf, pressure by
//! rho_inf a_inf^2 (so that p_inf = 1/gamma), temperature by T_inf; lengths in the mesh's own unit; time by mesh unit
//! over a_inf. Boundary pressures and temperatures are given as ratios to the static free stream values.

mod beside;
mod implicit;
mod space;
mod time;

pub use crate::bc::Boundary;
pub use beside::{
    Coupling, GridLength, Hybrid, Quadratic, Region, Rotation, ScalarConfig, TurbulenceConfig,
    TurbulenceModel, WallTreatment,
};
pub use implicit::{Cfl, Implicit, JacobianScheme, NewtonKrylov, Nonlinear};
pub use space::{FluxScheme, GradientWeights, Limiter, Quadrature, Space};
pub use time::{Steady, Time, Unsteady};

use std::collections::BTreeMap;
use std::sync::Arc;

/// The whole set-up of a flow solution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowConfig {
    /// The gas.
    pub gas: GasConfig,
    /// Conditions far away, which scale everything else.
    pub freestream: Freestream,
    /// Which equations are solved.
    pub equations: Equations,
    /// Discretization in space.
    pub space: Space,
    /// Boundary condition of each marker by its name. The two planes of a planar mesh need none: they are symmetry.
    pub boundaries: BTreeMap<String, Boundary>,
    /// Which marker each [`Boundary::Periodic`] one is periodic with; a pair needs one entry, and none where the mesh's file says it.
    pub partners: BTreeMap<String, String>,
    /// The implicit step.
    pub implicit: Implicit,
    /// Lines of nodes of the mesh that [`PreconditionerKind::Lines`](chromaflow::solver::PreconditionerKind::Lines) solves for together, in the place of those along its short edges; over
    /// ranks the first one's. [`read_lines`](crate::mesh::read_lines) reads and checks them.
    pub lines: Option<Arc<[Vec<u32>]>>,
    /// March to a steady state, or follow the flow in time.
    pub time: Time,
    /// How forces are made into coefficients.
    pub reference: Reference,
    /// A passive scalar that the flow carries along.
    pub scalar: Option<ScalarConfig>,
    /// A turbulence model beside viscous flow.
    pub turbulence: Option<TurbulenceConfig>,
}

/// Where dissipation is to shrink no further, over the free stream's Mach number. Three is what flows around bodies reach; from Mach 1/3
/// on the flux is Roe's own.
const CUTOFF: f64 = 3.0;

/// See [`FlowConfig::max_rise`].
pub(crate) fn max_rise(boundaries: &BTreeMap<String, Boundary>, max_change: f64) -> f64 {
    let of_its_own = |boundary: &Boundary| {
        use Boundary::{Inlet, MassFlowOutlet, Outlet, VelocityInlet};
        matches!(boundary, VelocityInlet { .. } | Inlet { .. } | Outlet { .. } | MassFlowOutlet { .. })
    };
    let duct = boundaries.values().any(of_its_own);
    max_change * if duct { 1.0 } else { 5.0 }
}

/// See [`FlowConfig::max_velocity_change`].
pub(crate) fn max_velocity_change(equations: Equations) -> f64 {
    if equations == Equations::Laminar { 0.5 } else { f64::INFINITY }
}

impl FlowConfig {
    /// The Mach number of the fastest gas that the set-up tells of, see [`Boundary::fastest`].
    fn fastest_mach(&self) -> f64 {
        Boundary::fastest(&self.boundaries, self.gas.gas(), self.freestream.mach)
    }

    /// The Mach number below which dissipation shrinks no further, at most 1.
    pub fn cutoff_mach(&self) -> f64 {
        self.space.cutoff_mach.unwrap_or_else(|| CUTOFF * self.fastest_mach()).min(1.0)
    }

    /// The largest relative rise of density and pressure of a supersonic node in one step: five times the largest fall in flows around bodies, whose
    /// pressures the stream bounds, and as the largest fall in ducts and cascades, whose ends set a flow of their own: pressures run away there.
    pub(crate) fn max_rise(&self) -> f64 {
        max_rise(&self.boundaries, self.implicit.max_change)
    }

    /// The largest change of the velocity in one step, over its own size and the speed of sound: a half in viscous flow. Without friction the flow around
    /// an edge turns at once, and shocks that wander take longer with a bound.
    pub(crate) fn max_velocity_change(&self) -> f64 {
        max_velocity_change(self.equations)
    }

    /// Whether what marches beside the flow looks at the elements themselves.
    pub(crate) fn needs_elements(&self) -> bool {
        self.turbulence.as_ref().is_some_and(|t| t.grid_length == GridLength::AcrossVorticity)
    }

    /// Squares of the changes of each primitive variable that the limiter leaves alone, see [`Space::limiter_k`].
    pub fn limiter_eps2(&self) -> [f64; 5] {
        let k = self.space.limiter_k;
        self.freestream.changes(self.gas.gas()).map(|change| (k * change) * (k * change))
    }
}

/// A calorically perfect gas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GasConfig {
    /// Ratio of specific heats.
    pub gamma: f64,
    /// Prandtl number.
    pub prandtl: f64,
    /// Sutherland's constant over T_inf is `sutherland_k / freestream.temperature_k`.
    pub sutherland_k: f64,
    /// Whether viscosity follows Sutherland's law; else it is constant.
    pub sutherland: bool,
}

impl Default for GasConfig {
    fn default() -> Self {
        Self { gamma: 1.4, prandtl: 0.72, sutherland_k: 110.4, sutherland: true }
    }
}

/// Conditions far away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Freestream {
    /// Mach number.
    pub mach: f64,
    /// Angle of attack in degrees: in the x-z plane (x-y where [`Reference::lift_axis`] says y, as on planar meshes).
    pub alpha_deg: f64,
    /// Sideslip angle in degrees.
    pub beta_deg: f64,
    /// Reynolds number per mesh length unit; needed for laminar flow.
    pub reynolds: f64,
    /// Static temperature in kelvin; only Sutherland's law needs it.
    pub temperature_k: f64,
}

impl Default for Freestream {
    fn default() -> Self {
        Self { mach: 0.5, alpha_deg: 0.0, beta_deg: 0.0, reynolds: 0.0, temperature_k: 288.15 }
    }
}

/// Which equations are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Equations {
    /// Inviscid.
    #[default]
    Euler,
    /// Viscous, laminar.
    Laminar,
}

/// How forces are made into coefficients.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Area, in squared mesh units; on planar meshes the length per unit depth.
    pub area: f64,
    /// Length of the pitching moment.
    pub length: f64,
    /// Point about which moments are taken.
    pub moment_center: [f64; 3],
    /// Axis along which lift points at zero incidence: 1 (y) or 2 (z); `None` is y on planar meshes, z on others.
    pub lift_axis: Option<usize>,
    /// Walls whose forces are in the totals: a body without its base, say; all where there are none.
    pub markers: Vec<String>,
}

impl Default for Reference {
    fn default() -> Self {
        Self { area: 1.0, length: 1.0, moment_center: [0.0; 3], lift_axis: None, markers: Vec::new() }
    }
}

impl Reference {
    /// Whether the forces on this wall are in the totals.
    pub fn counts(&self, wall: &str) -> bool {
        self.markers.is_empty() || self.markers.iter().any(|m| m == wall)
    }
}
