//! What the flow solver needs to know besides the mesh: plain structs, every field with a default.
//!
//! **Units**: nondimensional by the free stream: density by rho_inf, velocity by the speed of sound a_inf, pressure by
//! rho_inf a_inf^2 (so that p_inf = 1/gamma), temperature by T_inf; lengths in the mesh's own unit; time by mesh unit
//! over a_inf. Boundary pressures and temperatures are given as ratios to the static free stream values.

pub use crate::bc::Boundary;
use chromaflow::Policy;
use chromaflow::dist::SweepExchange;
use chromaflow::solver::{Method, PreconditionerKind, RowOrder};
use std::collections::BTreeMap;

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

impl FlowConfig {
    /// The Mach number below which dissipation shrinks no further, at most 1.
    pub fn cutoff_mach(&self) -> f64 {
        self.space.cutoff_mach.unwrap_or(CUTOFF * self.freestream.mach).min(1.0)
    }

    /// The largest relative rise of density and pressure of a supersonic node in one step: five times the largest fall in flows around bodies, whose
    /// pressures the stream bounds, and as the largest fall in ducts and cascades, whose ends set a flow of their own: pressures run away there.
    pub(crate) fn max_rise(&self) -> f64 {
        let of_its_own = |boundary: &Boundary| {
            use Boundary::{Inlet, MassFlowOutlet, Outlet, VelocityInlet};
            matches!(boundary, VelocityInlet { .. } | Inlet { .. } | Outlet { .. } | MassFlowOutlet { .. })
        };
        let duct = self.boundaries.values().any(of_its_own);
        self.implicit.max_change * if duct { 1.0 } else { 5.0 }
    }

    /// The largest change of the velocity in one step, over its own size and the speed of sound: a half in viscous flow. Without friction the flow around
    /// an edge turns at once, and shocks that wander take longer with a bound.
    pub(crate) fn max_velocity_change(&self) -> f64 {
        if self.equations == Equations::Laminar { 0.5 } else { f64::INFINITY }
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

/// Discretization in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Inviscid flux.
    pub flux: FluxScheme,
    /// Entropy fix of Roe's flux for the convective waves: eigenvalues below this fraction of the spectral radius are rounded off. Larger
    /// than a hundredth, it thickens boundary layers; between thin layers of inviscid flow it grows, see
    /// [`LayerFix`](crate::flux::LayerFix).
    pub entropy_fix: f64,
    /// The same for the acoustic waves, which are slow at sonic lines and in shocks alone.
    pub acoustic_fix: f64,
    /// The Mach number below which changes of velocity dissipate no less, in Roe's flux and at slip walls, see
    /// [`RoeFix`](crate::flux::RoeFix); `None` for three times the free stream's, 1 for none of it.
    pub cutoff_mach: Option<f64>,
    /// What the dissipation of Roe's flux is multiplied by: 1, and less for large eddies.
    pub dissipation: f64,
    /// Second order by reconstruction, or first order.
    pub second_order: bool,
    /// UMUSCL kappa: weight of the edge difference against the gradient. 0 is the gradient alone, 1/3 the
    /// third-order formula in one dimension, 1 a central average.
    pub kappa: f64,
    /// Limiter of the reconstruction.
    pub limiter: Limiter,
    /// Changes that limiters leave alone: their eps is this part of what a body makes of the stream, variable by
    /// variable, see [`Freestream::changes`]. The same for a mesh in any unit and of any width.
    pub limiter_k: f64,
    /// Weights of the least squares gradients.
    pub gradient: GradientWeights,
    /// Whether thin layers on curved walls are mapped, see [`Mapping`](crate::gradient::Mapping).
    pub mapped: bool,
    /// Where fluxes between control volumes are integrated.
    pub quadrature: Quadrature,
}

impl Default for Space {
    fn default() -> Self {
        Self {
            flux: FluxScheme::Roe,
            entropy_fix: 0.005,
            acoustic_fix: 0.3,
            cutoff_mach: None,
            dissipation: 1.0,
            second_order: true,
            kappa: 0.0,
            limiter: Limiter::VanAlbada,
            limiter_k: 1.0,
            gradient: GradientWeights::Unweighted,
            mapped: true,
            quadrature: Quadrature::EdgeMidpoint,
        }
    }
}

/// Inviscid flux of the residual.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FluxScheme {
    /// Roe (1981) with an entropy fix.
    #[default]
    Roe,
    /// HLLC of Toro, Spruce and Speares (1994).
    Hllc,
    /// Flux vector splitting of van Leer (1982).
    VanLeer,
}

/// Limiter of the reconstruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Limiter {
    /// None: for smooth flow.
    None,
    /// Edge-wise van Albada, differentiable everywhere.
    #[default]
    VanAlbada,
    /// Venkatakrishnan (1995), node-wise.
    Venkatakrishnan,
    /// Barth and Jespersen (1989), node-wise. Not differentiable: does not converge to round-off.
    Barth,
}

/// Weights of the least squares gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GradientWeights {
    /// All neighbors alike: robust on curved, stretched meshes.
    #[default]
    Unweighted,
    /// By the inverse distance.
    InverseDistance,
}

/// Where fluxes between control volumes are integrated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quadrature {
    /// One flux at the middle of each edge, times the directed area of its whole face. Of second order on triangles and
    /// tetrahedra of any shape and on other elements of smoothly varying shape; towards first order on irregular
    /// quadrilaterals, pyramids, prisms and hexahedra.
    #[default]
    EdgeMidpoint,
    /// Adds what a flux that varies linearly over the face's true shape carries besides: of second order on all
    /// elements of any shape. For smooth flow: the gradients in it are not limited.
    Linear,
}

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
    /// fallen for 100 steps: once, inviscid flow once more with Roe's flux [damped](crate::flux::RoeFix::damped).
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
    /// at large CFL numbers Newton's. Memory: up to twice [`NewtonKrylov::directions`] vectors more.
    ///
    /// **Source**: Knoll and Keyes, *Jacobian-free Newton-Krylov methods: a survey of approaches and applications* (2004),
    /// J. Comput. Phys. 193; Pandya, Diskin, Thomas, Frink (2016), AIAA J. 54(9).
    NewtonKrylov(NewtonKrylov),
}

/// How far the linear system of a Newton-Krylov step is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NewtonKrylov {
    /// Part of its residual that may be left.
    pub tolerance: f64,
    /// Most directions of GMRES, each an application of the preconditioner and a residual of the flow.
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
    /// Whether it backs off when residuals grow or updates are cut, and recovers, and halves `max` (not below `start`)
    /// when residuals stall there; else it is a plain ramp.
    pub adaptive: bool,
}

impl Default for Cfl {
    fn default() -> Self {
        Self { start: 5.0, min: 0.01, max: 200.0, growth: 1.2, adaptive: true }
    }
}

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
    /// Orders of magnitude that the density residual is to fall by (or to round-off).
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
        Self { dt: 0.1, steps: 100, subiterations: 20, orders: 2.0 }
    }
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

/// A passive scalar phi, which the flow carries along and which diffuses: see [`crate::scalar`].
#[derive(Clone, Debug, PartialEq)]
pub struct ScalarConfig {
    /// Its name in fields, histories and restarts.
    pub name: String,
    /// What flows in, and what is there at the beginning.
    pub inflow: f64,
    /// Schmidt number: Gamma = mu / schmidt in viscous flow, nothing in inviscid flow.
    pub schmidt: f64,
    /// A constant Gamma in the place of mu / schmidt, over rho_inf a_inf and the mesh unit.
    pub diffusivity: Option<f64>,
    /// Second order in space, or first.
    pub second_order: bool,
    /// Whether the reconstruction is limited (van Albada); else it may overshoot at jumps.
    pub limited: bool,
    /// Values by marker: given at walls, and of what flows in through open boundaries.
    pub values: BTreeMap<String, f64>,
}

impl Default for ScalarConfig {
    fn default() -> Self {
        Self {
            name: "scalar".to_owned(),
            inflow: 0.0,
            schmidt: 0.7,
            diffusivity: None,
            second_order: true,
            limited: true,
            values: BTreeMap::new(),
        }
    }
}

/// A turbulence model: see [`crate::turbulence`].
#[derive(Clone, Debug, PartialEq)]
pub struct TurbulenceConfig {
    /// Which one.
    pub model: TurbulenceModel,
    /// Of Spalart-Allmaras: its variable in what flows in, over the kinematic viscosity of the free stream: 3 to 5.
    pub inflow: f64,
    /// Of k-omega models: k of what flows in, over a_inf^2.
    pub inflow_k: f64,
    /// Of k-omega models: eddy viscosity of what flows in over the viscosity of the free stream, which gives omega.
    pub inflow_ratio: f64,
    /// Of k-omega models: whether sources keep k and omega of what flows in from decaying.
    pub sustained: bool,
    /// Turbulent Prandtl number.
    pub prandtl: f64,
    /// Second order in the advection of the model's variables, or first.
    pub second_order: bool,
    /// CFL number of the model's equations over the flow's.
    pub cfl_ratio: f64,
    /// Large eddy simulation off walls.
    pub hybrid: Hybrid,
    /// The length of the grid in it.
    pub grid_length: GridLength,
    /// What the turbulent stress has besides that of an eddy viscosity.
    pub quadratic: Quadratic,
    /// Of Spalart-Allmaras: what production makes of rotation and curvature.
    pub rotation: Rotation,
    /// What stands at walls without slip for the layer next to them.
    pub walls: WallTreatment,
    /// Where the flow is kept laminar: nothing is produced there.
    pub laminar: Vec<Region>,
}

/// A box along the axes, its sides included; mesh units.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Region {
    /// The lowest coordinates.
    pub from: [f64; 3],
    /// The highest.
    pub to: [f64; 3],
}

impl Region {
    /// Whether a place lies in it, by its first `dimensions` coordinates.
    pub fn holds(&self, place: &[f64; 3], dimensions: usize) -> bool {
        (0..dimensions).all(|d| (self.from[d]..=self.to[d]).contains(&place[d]))
    }
}

/// What stands at walls without slip for the layer next to them, see [`crate::wall_law`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WallTreatment {
    /// Nothing: the mesh resolves it.
    #[default]
    Resolved,
    /// A law of the wall; omega is that of the logarithmic layer.
    Functions,
    /// A law of the wall; omega goes from that of the viscous to that of the logarithmic layer.
    Automatic,
}

impl TurbulenceConfig {
    /// Why what its model does not have is refused, if it is; `in_time`: whether the run is unsteady.
    pub fn option_problem(&self, in_time: bool) -> Option<(&'static str, &'static str)> {
        if self.quadratic == Quadratic::Qcr2020 && !self.model.is_spalart_allmaras() {
            let problem = "the constants of QCR2020 go by a function of Spalart-Allmaras: expected sa-neg, sa or sa-noft2 as the model, or 2000";
            return Some(("qcr", problem));
        }
        if self.rotation == Rotation::Curved && in_time {
            let problem = "SA-RC of a run in time needs the strain of earlier times, which is not kept: expected a steady run, or sa-r";
            return Some(("rotation_correction", problem));
        }
        None
    }

    /// Why its hybrid is refused, if it is.
    pub fn hybrid_problem(&self) -> Option<&'static str> {
        match (self.hybrid, self.model, self.grid_length) {
            (Hybrid::None, ..) => None,
            (_, TurbulenceModel::KOmega, _) => Some(
                "of Wilcox's k-omega no constant of a hybrid is published: expected sst, sst-v, sa-neg, sa or sa-noft2 as the model",
            ),
            (Hybrid::Iddes, _, GridLength::AcrossVorticity) => Some(
                "iddes has a length of its own, of the longest edge, the distance from walls and the spacing across them: \
                 expected grid_length max_edge, or ddes",
            ),
            _ => None,
        }
    }
}

/// Hybrids of RANS and large eddy simulation, see [`crate::turbulence::hybrid`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Hybrid {
    /// RANS everywhere.
    #[default]
    None,
    /// DES97.
    Des,
    /// DDES.
    Ddes,
    /// IDDES.
    Iddes,
}

/// The length of the grid in a hybrid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GridLength {
    /// The longest edge of the node.
    #[default]
    MaxEdge,
    /// The size of its control volume across the vorticity.
    AcrossVorticity,
}

impl Default for TurbulenceConfig {
    fn default() -> Self {
        Self {
            model: TurbulenceModel::SaNeg,
            inflow: 3.0,
            inflow_k: 9e-9,
            inflow_ratio: 0.009,
            sustained: false,
            prandtl: 0.9,
            second_order: false,
            cfl_ratio: 1.0,
            hybrid: Hybrid::None,
            grid_length: GridLength::MaxEdge,
            quadratic: Quadratic::None,
            rotation: Rotation::None,
            walls: WallTreatment::Resolved,
            laminar: Vec::new(),
        }
    }
}

/// Quadratic constitutive relations, see [`flux_quadratic`](crate::viscous::flux_quadratic).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Quadratic {
    /// None: the stress of an eddy viscosity alone.
    #[default]
    None,
    /// QCR2000.
    Qcr2000,
    /// QCR2020, with constants that go by fw of Spalart-Allmaras.
    Qcr2020,
}

/// Corrections of Spalart-Allmaras for rotation and curvature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rotation {
    /// None.
    #[default]
    None,
    /// SA-R: production falls where the flow turns more than it is strained.
    Rotating,
    /// SA-RC: it goes by how the strain turns along the flow.
    Curved,
}

/// Turbulence models.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TurbulenceModel {
    /// Spalart-Allmaras, the negative model where its variable is.
    #[default]
    SaNeg,
    /// Spalart-Allmaras, the variable kept positive.
    Sa,
    /// The same without ft2.
    SaNoFt2,
    /// SST-2003m of Menter, Kuntz and Langtry.
    Sst,
    /// SST-Vm: Menter's model of 1994 with vorticity in the production.
    SstVorticity,
    /// Wilcox2006m-klim.
    KOmega,
}

impl TurbulenceModel {
    /// Whether it is a form of the Spalart-Allmaras model.
    pub fn is_spalart_allmaras(self) -> bool {
        matches!(self, Self::SaNeg | Self::Sa | Self::SaNoFt2)
    }
}
