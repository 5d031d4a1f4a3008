//! The case file: what `chromaflow run` reads. Every key has a default (see `run --print-defaults`) but the mesh file.
//!
//! The doc comments below are the reference: the JSON schema, the printed defaults and the book's table of keys are
//! made from them.

mod boundary;
mod chosen;
mod config;
mod describe;
mod grid;
pub mod guess;
mod kind;
mod output;
mod parse;
mod scalar;
mod structured;
#[cfg(test)]
mod tests;
mod turbulence;
mod units;
mod words;

pub use boundary::BoundarySpec;
pub use chosen::{NonlinearName, is_of_hexahedra};
pub use config::find;
pub use describe::{defaults, reference, schema};
pub use grid::{Generate, GridSection};
pub use kind::{Case, SolverKind};
pub use output::{Axis, Cut, FieldFormat, OutputSection, Profile};
pub use parse::{Source, nearest};
pub use scalar::ScalarSection;
pub use structured::{SchemeName, StepName, StructuredSection};
pub use turbulence::{GridLengthName, HybridName, ModelName, QuadraticName, RotationName, TurbulenceSection};
pub(crate) use words::choice;
pub use words::{
    Equations, ExchangeName, Flux, Gradient, JacobianKind, Limiter, MethodName, OrderName, PolicyName,
    PrecondName, Quadrature, Viscosity,
};

use chromaflow::solver::MethodWord;
use chromaflow_flow::config as flow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A flow case.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CaseFile {
    /// What the case is.
    pub case: CaseSection,
    /// Where the mesh comes from.
    pub mesh: MeshSection,
    /// The gas, the free stream and the equations.
    pub flow: FlowSection,
    /// How forces are made into coefficients.
    pub reference: ReferenceSection,
    /// Boundary condition of each marker of the mesh: `wing = "slip_wall"`, or a table where the condition has
    /// parameters: `inlet = { kind = "inlet", total_pressure = 1.02, total_temperature = 1.005 }`. Markers whose
    /// condition the mesh file knows itself (FUN3D codes of a .mapbc file, the two planes of a planar mesh) need none.
    pub boundary: BTreeMap<String, BoundarySpec>,
    /// Discretization in space.
    pub numerics: NumericsSection,
    /// The march to a steady state, or in time.
    pub march: MarchSection,
    /// The linear system of each step.
    pub linear: LinearSection,
    /// The turbulence model of `equations = "rans"`.
    pub turbulence: TurbulenceSection,
    /// A passive scalar that the flow carries along.
    pub scalar: ScalarSection,
    /// A structured grid in the place of a mesh.
    pub grid: GridSection,
    /// The solver of structured grids.
    pub structured: StructuredSection,
    /// What is written, and where.
    pub output: OutputSection,
    /// Stored results that `run --verify` compares with.
    pub expect: ExpectSection,
}

/// What the case is.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct CaseSection {
    /// One line for the screen and the files.
    pub title: String,
    /// What it shows, where its conditions and reference values come from.
    pub description: String,
}

/// Where the mesh comes from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MeshSection {
    /// Mesh file (SU2, UGRID, Gmsh; plain, .gz, .xz or .zst), relative to the case file; where it is not there, it is
    /// looked for in the folder that the environment variable CHROMAFLOW_DATA names.
    pub file: PathBuf,
    /// Names and conditions of numbered markers (.mapbc), found as the mesh file is; empty: the file beside the mesh
    /// that has its name, if there is one.
    pub mapbc: PathBuf,
    /// Take elements that are folded over their neighbors, with the negative volume that they have among them, rather
    /// than refuse the mesh. Control volumes must be positive all the same.
    pub allow_tangled: bool,
    /// Uniform refinements after reading: each multiplies the cells by eight (by four on planar meshes). New nodes lie amid the old ones: curved walls stay the
    /// polygons that they are in the file.
    pub refine: u32,
    /// Factor applied to all coordinates; everything below is in the scaled unit.
    pub scale: Scale,
    /// How several ranks come to the mesh.
    pub reading: Reading,
}

/// How several ranks come to a mesh.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// By slices beyond 100 million nodes, where file and case allow it; else whole.
    #[default]
    Auto,
    /// The first rank reads it whole and cuts it along its graph.
    Whole,
    /// Each rank reads its slices, and parts are pieces of a curve of Hilbert: no rank holds the whole. Of binary UGRID and GMF files
    /// and SU2's texts; fields are written in pieces.
    Slices,
}

/// A factor that defaults to one.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct Scale(pub f64);

impl Default for Scale {
    fn default() -> Self {
        Self(1.0)
    }
}

/// The gas, the free stream and the equations.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FlowSection {
    /// Which equations are solved.
    pub equations: Equations,
    /// Mach number of the free stream.
    pub mach: f64,
    /// Angle of attack, degrees: from x towards the lift axis.
    pub alpha: f64,
    /// Sideslip angle, degrees.
    pub beta: f64,
    /// Reynolds number based on `reynolds_length`; needed for viscous flow, unless `altitude` or `pressure` gives it.
    pub reynolds: f64,
    /// Length of the Reynolds number, mesh units.
    pub reynolds_length: f64,
    /// Static temperature of the free stream, kelvin; only Sutherland's law and a stream with units need it.
    pub temperature: f64,
    /// Altitude, metres: temperature, and with it the Reynolds number, of the standard atmosphere.
    pub altitude: Option<f64>,
    /// Velocity of the free stream, metres a second, in the place of `mach`; with `temperature` or `altitude`.
    pub velocity: Option<f64>,
    /// Static pressure of the free stream, pascal, in the place of `reynolds`; with `temperature`.
    pub pressure: Option<f64>,
    /// Metres that the mesh's unit is long, for the Reynolds number of a stream with units.
    pub meters: f64,
    /// Ratio of specific heats.
    pub gamma: f64,
    /// Prandtl number.
    pub prandtl: f64,
    /// How viscosity depends on temperature.
    pub viscosity: Viscosity,
    /// Sutherland's constant, kelvin.
    pub sutherland: f64,
}

impl Default for FlowSection {
    fn default() -> Self {
        let (gas, free) = (flow::GasConfig::default(), flow::Freestream::default());
        Self {
            equations: Equations::default(),
            mach: free.mach,
            alpha: free.alpha_deg,
            beta: free.beta_deg,
            reynolds: free.reynolds,
            reynolds_length: 1.0,
            temperature: free.temperature_k,
            altitude: None,
            velocity: None,
            pressure: None,
            meters: 1.0,
            gamma: gas.gamma,
            prandtl: gas.prandtl,
            viscosity: if gas.sutherland { Viscosity::Sutherland } else { Viscosity::Constant },
            sutherland: gas.sutherland_k,
        }
    }
}

/// How forces are made into coefficients.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ReferenceSection {
    /// Area, squared mesh units; on planar meshes the length per unit depth.
    pub area: f64,
    /// Length of the pitching moment, mesh units.
    pub length: f64,
    /// Point about which moments are taken, mesh units.
    pub moment_center: [f64; 3],
    /// Axis along which lift points at zero incidence.
    pub lift_axis: LiftAxis,
    /// Walls whose forces are in the totals: a body without its base, say; all where there are none.
    pub markers: Vec<String>,
}

impl Default for ReferenceSection {
    fn default() -> Self {
        let d = flow::Reference::default();
        Self {
            area: d.area,
            length: d.length,
            moment_center: d.moment_center,
            lift_axis: LiftAxis::Auto,
            markers: Vec::new(),
        }
    }
}

/// Axis along which lift points at zero incidence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LiftAxis {
    /// y on planar meshes, z on others.
    #[default]
    Auto,
    /// y.
    Y,
    /// z.
    Z,
}

/// Discretization in space.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NumericsSection {
    /// Order of the inviscid discretization, 1 or 2.
    pub order: u8,
    /// Inviscid flux.
    pub flux: Flux,
    /// Entropy fix of Roe's flux for what is carried: eigenvalues below this fraction of the spectral radius are rounded off. Larger than
    /// a hundredth, it thickens boundary layers; between thin layers of inviscid flow on meshes it grows with their flatness, to 0.3 at most.
    pub entropy_fix: f64,
    /// The same for sound, which stands still at sonic lines and in shocks alone.
    pub acoustic_fix: f64,
    /// Mach number below which changes of velocity dissipate no less, in Roe's flux and at slip walls: where it is not given, three
    /// times that of the fastest gas that the case tells of (the free stream, velocity inlets, what comes of an inlet's total pressure at the lowest pressure
    /// of outlets and far fields); 1 for Roe's own dissipation at every speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cutoff_mach: Option<f64>,
    /// What the dissipation of Roe's flux is multiplied by: 1, and less for large eddies; too little lets odd and even nodes part.
    pub dissipation: f64,
    /// UMUSCL kappa: 0 the gradient alone, 1 a central average. It fades to 0 at strong shocks.
    pub kappa: f64,
    /// Limiter of the reconstruction.
    pub limiter: Limiter,
    /// Changes that limiters leave alone, as part of what a body makes of the stream where it comes to rest.
    pub limiter_k: f64,
    /// Weights of the least-squares gradients.
    pub gradient: Gradient,
    /// Whether gradients and extrapolation follow thin layers on curved walls.
    pub mapped_gradients: bool,
    /// Where fluxes between control volumes are integrated.
    pub quadrature: Quadrature,
}

impl Default for NumericsSection {
    fn default() -> Self {
        let d = flow::Space::default();
        Self {
            order: if d.second_order { 2 } else { 1 },
            flux: Flux::of(d.flux),
            entropy_fix: d.entropy_fix,
            acoustic_fix: d.acoustic_fix,
            cutoff_mach: d.cutoff_mach,
            dissipation: d.dissipation,
            kappa: d.kappa,
            limiter: Limiter::of(d.limiter),
            limiter_k: d.limiter_k,
            gradient: Gradient::of(d.gradient),
            mapped_gradients: d.mapped,
            quadrature: Quadrature::of(d.quadrature),
        }
    }
}

/// The march to a steady state, or in time.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct MarchSection {
    /// Steady or unsteady.
    pub mode: Mode,
    /// Most iterations of a steady run.
    pub iterations: usize,
    /// Orders of magnitude by which the residuals of a steady run are to fall (or to round-off): the density's, from its largest where only walls move the gas at first, and those of a turbulence model and of scalars.
    pub residual_drop: f64,
    /// Physical time step of an unsteady run, mesh units over the speed of sound of the free stream.
    pub dt: f64,
    /// Physical steps of an unsteady run.
    pub steps: usize,
    /// Most subiterations of a physical step.
    pub subiterations: usize,
    /// Orders of magnitude by which the residual is to fall in each physical step.
    pub subiteration_drop: f64,
    /// What stands for the derivative of the residual in a step: in steady flow the derivative itself, unless given.
    pub nonlinear: NonlinearName,
    /// Part of its linear system's residual that a Newton-Krylov step may leave.
    pub newton_tolerance: f64,
    /// Most directions of the GMRES of a Newton-Krylov step; up to four times as many where systems are not solved and their vectors take 1 GiB at most.
    pub newton_directions: usize,
    /// CFL number of the first iteration; unless given, 2 of plain steps on structured grids.
    pub cfl_start: f64,
    /// Smallest CFL number that back-offs may reach before the run is given up.
    pub cfl_min: f64,
    /// Largest CFL number; unless given, 1e6 of Newton-Krylov steps, 1e4 of others in turbulent flow that is given no
    /// `linear.method`, and of plain steps on structured grids 20, ssor 200.
    pub cfl_max: f64,
    /// Growth of the CFL number per iteration while all goes well; unless given, 2 of Newton-Krylov steps.
    pub cfl_growth: f64,
    /// Whether the CFL number backs off when residuals grow; else it is a plain ramp.
    pub cfl_adaptive: bool,
    /// Most first-order iterations before the second-order ones, which begin as soon as the residual has fallen by four orders. Steady flow
    /// without k and omega goes back to them by itself, once, where its residual has not fallen for 100 iterations, or has risen three times with Spalart-Allmaras at a subsonic Mach number.
    pub first_order_iterations: usize,
    /// Largest relative change of density and pressure of a node or cell in one iteration; without inlets and outlets rises of supersonic ones up to five times that (structured grids: by Newton-Krylov steps, as what follows). Velocities of viscous flow change by half of the sum of their own size and the speed of sound at most.
    pub max_change: f64,
}

/// Steady or unsteady.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Pseudo-time with local steps.
    #[default]
    Steady,
    /// Second-order backward differences with subiterations.
    Unsteady,
}

impl Default for MarchSection {
    fn default() -> Self {
        let (s, u, i) = (flow::Steady::default(), flow::Unsteady::default(), flow::Implicit::default());
        let n = flow::NewtonKrylov::default();
        Self {
            mode: Mode::Steady,
            iterations: s.iterations,
            residual_drop: s.orders,
            dt: u.dt,
            steps: u.steps,
            subiterations: u.subiterations,
            subiteration_drop: u.orders,
            nonlinear: NonlinearName::Auto,
            newton_tolerance: n.tolerance,
            newton_directions: n.directions,
            cfl_start: i.cfl.start,
            cfl_min: i.cfl.min,
            cfl_max: i.cfl.max,
            cfl_growth: i.cfl.growth,
            cfl_adaptive: i.cfl.adaptive,
            first_order_iterations: i.first_order_steps,
            max_change: i.max_change,
        }
    }
}

/// The linear system of each step.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinearSection {
    /// Precision policy.
    pub policy: PolicyName,
    /// How the system is solved: sweeps alone, or a Krylov method; viscous flow takes gmres around ilu0 where none is given
    /// (unsteady laminar flow sweeps; steady flow on stretched hexahedra four sweeps of lines), and inviscid flow on planar meshes whose cells are long and thin, on others where they are made for boundary layers.
    pub method: MethodName,
    /// What gmres and bicgstab are preconditioned with; alone it asks for gmres.
    pub precond: PrecondName,
    /// Lines of nodes in FUN3D's format (`.lines_fmt`), found as the mesh file is, that `lines` solves for together; empty: those along the short edges of the
    /// mesh. Where neither `method` nor `precond` is given, gmres around four sweeps of them.
    pub lines: PathBuf,
    /// Level of fill of the factors of ilu0: 0 for the blocks of the matrix, 1, 2, ... for more of them. Where neither
    /// this nor `method` is given, 2 on planar meshes and slabs and 1 on others in Newton-Krylov steps of viscous flow, and of inviscid flow on
    /// meshes with such cells; else 0.
    pub fill: Option<u32>,
    /// Order in which ilu0 takes the rows; sweeps go by color.
    pub order: OrderName,
    /// Sweeps (of ilu0 alone: corrections) per iteration; gmres and bicgstab have `max_iterations` instead. Of Newton-Krylov steps,
    /// in each direction, and 6 unless given.
    pub sweeps: usize,
    /// Sweeps of each application of multicolor, jacobi or lines as preconditioner.
    pub precond_sweeps: usize,
    /// When sweeps over several ranks exchange values at the borders of their parts. Other than `color` is for runs that
    /// wait for messages more than they compute: below some hundred thousand nodes a rank between hosts.
    pub exchange: ExchangeName,
    /// gmres and bicgstab end where the residual of the system has fallen to this part.
    pub tolerance: f64,
    /// Most iterations of gmres (which keeps up to twice as many vectors) and bicgstab.
    pub max_iterations: usize,
    /// First-order linearization of the inviscid flux.
    pub jacobian: JacobianKind,
    /// Whether the mesh decides how Newton-Krylov steps of viscous flow are preconditioned.
    #[serde(skip)]
    pub open: bool,
}

impl Default for LinearSection {
    fn default() -> Self {
        let d = flow::Implicit::default();
        Self {
            policy: PolicyName::of(d.policy),
            method: MethodName::of(MethodWord::of(d.method, d.preconditioner).expect("a method with a word")),
            precond: PrecondName::of(d.preconditioner),
            lines: PathBuf::new(),
            fill: None,
            order: OrderName::of(d.order),
            sweeps: d.sweeps,
            precond_sweeps: d.preconditioner_sweeps,
            exchange: ExchangeName::of(d.exchange),
            tolerance: d.krylov_tolerance,
            max_iterations: d.krylov_iterations,
            jacobian: JacobianKind::of(d.jacobian),
            open: false,
        }
    }
}

/// Stored results that `run --verify` compares with.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ExpectSection {
    /// Lift coefficient.
    pub cl: Option<f64>,
    /// Drag coefficient.
    pub cd: Option<f64>,
    /// Mean lift coefficient, over whole periods of the last third of an unsteady run.
    pub mean_cl: Option<f64>,
    /// Mean drag coefficient, over whole periods of the last third of an unsteady run.
    pub mean_cd: Option<f64>,
    /// Amplitude of the lift coefficient in the last third of an unsteady run.
    pub cl_amplitude: Option<f64>,
    /// Strouhal number of the lift in the last third of an unsteady run, with the length of `[reference]`.
    pub strouhal: Option<f64>,
    /// Largest difference of the coefficients and of the Strouhal number.
    pub tolerance: f64,
    /// Most iterations to the end.
    pub iterations_at_most: Option<usize>,
    /// Fewest orders of magnitude by which the residuals fall: the density's, and those of a turbulence model and of scalars.
    pub residual_orders_at_least: Option<f64>,
    /// Whether ending at `march.iterations`, short of `march.residual_drop`, is what the case is meant to do.
    pub iterations_suffice: bool,
}
