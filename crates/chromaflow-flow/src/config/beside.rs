//! What marches beside the flow: a scalar, turbulence.

use std::collections::BTreeMap;

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
    /// Of k-omega models: the height of roughness of walls, mesh units, for Wilcox's omega there; 0 for Menter's.
    pub roughness: f64,
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
    /// Which matrices implicit steps on meshes go by.
    pub coupling: Coupling,
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
        if self.roughness > 0.0 && self.model.is_spalart_allmaras() {
            let problem =
                "Spalart-Allmaras has no omega at walls: expected sst, sst-v or k-omega as the model, or 0";
            return Some(("roughness", problem));
        }
        if self.roughness > 0.0 && self.walls != WallTreatment::Resolved {
            let problem = "a law of the wall has its own omega there, of smooth walls: expected walls = \"resolved\", or 0";
            return Some(("roughness", problem));
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
            roughness: 0.0,
            sustained: false,
            prandtl: 0.9,
            second_order: false,
            cfl_ratio: 1.0,
            hybrid: Hybrid::None,
            grid_length: GridLength::MaxEdge,
            quadratic: Quadratic::None,
            rotation: Rotation::None,
            walls: WallTreatment::Resolved,
            coupling: Coupling::Loose,
            laminar: Vec::new(),
        }
    }
}

/// Which matrices implicit steps of a flow with turbulence go by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Coupling {
    /// One for the flow and one for the model, each with a linear solver of its own.
    #[default]
    Loose,
    /// One for both, whose blocks also have what the flow takes of the model and the model of the flow: see [`crate::coupled::tight`].
    Tight,
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

    /// Unknowns of a node or a cell.
    pub fn unknowns(self) -> usize {
        if self.is_spalart_allmaras() { 1 } else { 2 }
    }
}
