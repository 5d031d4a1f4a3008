//! What the solver needs to know besides the grid.
//!
//! **Units**: density is 1, so that pressure is pressure over density; lengths in the grid's unit, velocities in whatever
//! unit the boundary conditions and the viscosity share.

use crate::bc::Motion;
use crate::config::{Cfl, NewtonKrylov, Time, TurbulenceConfig};
use crate::equations::{ArtificialCompressibility, Equations};
use crate::march::{FlowError, keeps, motion_keeps, not_turned};
use crate::mesh::periodic::Rotation;
use chromaflow::factor::structured_ilu::StructuredIluOptions;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Most unknowns a cell on a GPU.
pub const MAX_UNKNOWNS_ON_GPU: usize = 32;

/// The whole set-up.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The fluid, and what it carries.
    pub fluid: Fluid,
    /// A turbulence model; its k is over [`Reference::velocity`] squared.
    pub turbulence: Option<TurbulenceConfig>,
    /// Force per mass, which drives flow through periodic sides.
    pub force: [f64; 3],
    /// Boundary condition of each marker by its name. The two planes of a planar grid need none: they are symmetry.
    pub boundaries: BTreeMap<String, Boundary>,
    /// Initial state (p, u, v, w, scalars); scalars that are missing start at their reference.
    pub initial: Vec<f64>,
    /// Discretization in space.
    pub space: Space,
    /// The implicit step.
    pub implicit: Implicit,
    /// March to a steady state, or follow the flow in time.
    pub time: Time,
    /// How forces are made into coefficients.
    pub reference: Reference,
}

impl Config {
    /// Refuses what is not the same in every sector of a grid whose periodic sides are turned. Values by place are those of the grid's own
    /// sector.
    pub(super) fn check_turned(&self, rotation: &Rotation) -> Result<(), FlowError> {
        let of = |what: &str, name: &str, vector: &[f64]| match *vector {
            [u, v, w, ..] => keeps(rotation, || format!("the {what} {:?} of `{name}`", [u, v, w]), [u, v, w]),
            _ => Ok(()),
        };
        for (name, boundary) in &self.boundaries {
            match boundary {
                Boundary::Wall { motion, .. } => motion_keeps(rotation, name, motion)?,
                Boundary::Inflow(Given::Same(values)) => of("velocity", name, values)?,
                Boundary::Farfield(state) => of("velocity", name, state.get(1..).unwrap_or_default())?,
                Boundary::Inflow(Given::By(_)) | Boundary::Outflow { .. } | Boundary::Symmetry => {}
            }
        }
        of("force", "the set-up", &self.force)?;
        for scalar in &self.fluid.scalars {
            of("buoyancy", &scalar.name, &scalar.buoyancy)?;
        }
        if self.space.limited {
            let what = "the limiter of components, `limited`,".to_owned();
            return Err(not_turned(rotation, what, "leave it out"));
        }
        Ok(())
    }
}

/// The fluid.
#[derive(Clone, Debug, PartialEq)]
pub struct Fluid {
    /// Kinematic viscosity; 0 for none.
    pub viscosity: f64,
    /// Artificial compressibility beta: the square of the pseudo-sound speed in fluid at rest. About the square of the
    /// largest velocity, or a few times that.
    pub compressibility: f64,
    /// What the flow carries: n = 4 + their number unknowns a cell.
    pub scalars: Vec<Scalar>,
}

impl Fluid {
    /// Unknowns a cell.
    pub fn unknowns(&self) -> usize {
        ArtificialCompressibility::N + self.scalars.len()
    }

    /// The equations of pressure and velocity.
    pub(super) fn equations(&self) -> ArtificialCompressibility {
        ArtificialCompressibility { beta: self.compressibility }
    }
}

impl Default for Fluid {
    fn default() -> Self {
        Self { viscosity: 0.0, compressibility: 1.0, scalars: Vec::new() }
    }
}

/// A scalar s that is carried, spreads, and may drive the flow (Boussinesq).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scalar {
    /// Its name in files, `temperature` for instance.
    pub name: String,
    /// Diffusivity.
    pub diffusivity: f64,
    /// Force per volume for each unit of s - reference: -(thermal expansion) x gravity for a temperature.
    pub buoyancy: [f64; 3],
    /// Where it drives nothing, and starts.
    pub reference: f64,
}

/// Values over places and times.
pub type Function = Arc<dyn Fn([f64; 3], f64) -> Vec<f64> + Send + Sync>;

/// What a boundary gives: the same everywhere, or by place and time.
#[derive(Clone)]
pub enum Given {
    /// The same everywhere.
    Same(Vec<f64>),
    /// By place and time.
    By(Function),
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Same(values) => values.fmt(f),
            Self::By(_) => f.write_str("by place and time"),
        }
    }
}

/// Condition of a scalar on a wall.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum WallScalar {
    /// No flux through the wall (adiabatic).
    #[default]
    NoFlux,
    /// A value on the wall (isothermal).
    Value(f64),
}

/// A boundary condition.
#[derive(Clone, Debug)]
pub enum Boundary {
    /// A wall without slip, at rest or moving along itself; scalars that are missing have no flux.
    Wall {
        /// How it moves.
        motion: Motion<f64>,
        /// Each scalar.
        scalars: Vec<WallScalar>,
    },
    /// Velocity and scalars given: three values and one a scalar. The pressure comes from inside.
    Inflow(Given),
    /// Pressure given; velocity and scalars from inside.
    Outflow {
        /// The pressure.
        pressure: f64,
    },
    /// A plane of symmetry, or a wall with slip.
    Symmetry,
    /// Far away: the state (p, u, v, w, scalars) there, taken or not as characteristics say.
    Farfield(Vec<f64>),
}

impl Boundary {
    /// A wall at rest, without fluxes of scalars.
    pub const WALL: Self = Self::Wall { motion: Motion::NONE, scalars: Vec::new() };

    /// Whether forces are summed on it.
    pub fn is_wall(&self) -> bool {
        matches!(self, Self::Wall { .. })
    }
}

/// Discretization in space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Second order by reconstruction, or first order.
    pub second_order: bool,
    /// Weight of the central difference in the reconstruction: 1/3 is of third order on even grids, -1 is one-sided, 1
    /// central.
    pub kappa: f64,
    /// Van Albada's limiter, for scalars with fronts; smooth flow needs none.
    pub limited: bool,
    /// Flux of pressure and momentum.
    pub flux: Flux,
}

/// Flux of pressure and momentum through faces between cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Flux {
    /// Roe's flux between the extrapolated states.
    #[default]
    Roe,
    /// Central, with matrix dissipation.
    Central {
        /// Factor of the third differences.
        fourth: f64,
        /// Smallest |V| over |V| + c.
        convective: f64,
    },
}

impl Default for Space {
    fn default() -> Self {
        Self { second_order: true, kappa: 1.0 / 3.0, limited: false, flux: Flux::Roe }
    }
}

/// The implicit step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Implicit {
    /// CFL number of the local pseudo-time steps.
    pub cfl: Cfl,
    /// The factorization.
    pub ilu: StructuredIluOptions,
    /// Most correction steps M xi = b - A x after the first solve.
    pub corrections: usize,
    /// They end when the linear residual has fallen by this factor.
    pub reduction: f64,
    /// Newton-Krylov steps, around the matrix of plain ones; none: plain steps.
    pub newton: Option<NewtonKrylov>,
}

impl Default for Implicit {
    fn default() -> Self {
        let cfl = Cfl { start: 5.0, min: 0.01, max: 100.0, growth: 1.2, adaptive: true };
        Self { cfl, ilu: StructuredIluOptions::default(), corrections: 3, reduction: 1e-2, newton: None }
    }
}

/// How forces are made into coefficients: over velocity^2 area / 2.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Velocity.
    pub velocity: f64,
    /// Area; on planar grids the length, forces are per depth.
    pub area: f64,
    /// Length of moments.
    pub length: f64,
    /// Point about which moments are taken.
    pub center: [f64; 3],
    /// Unit vector of drag.
    pub drag: [f64; 3],
    /// Unit vector of lift.
    pub lift: [f64; 3],
    /// Markers of walls that the totals are of; empty: all walls.
    pub markers: Vec<String>,
}

impl Default for Reference {
    fn default() -> Self {
        Self {
            velocity: 1.0,
            area: 1.0,
            length: 1.0,
            center: [0.0; 3],
            drag: [1.0, 0.0, 0.0],
            lift: [0.0, 1.0, 0.0],
            markers: Vec::new(),
        }
    }
}
