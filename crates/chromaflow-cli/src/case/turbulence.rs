//! `[turbulence]`: the model of RANS.

use super::{CaseFile, Equations, Source, choice};
use crate::error::CliResult;
use chromaflow_flow::config as flow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

choice! {
    /// Turbulence models.
    ModelName => flow::TurbulenceModel {
        /// Spalart-Allmaras, the negative model where its variable is.
        #[serde(rename = "sa-neg")]
        SaNeg => flow::TurbulenceModel::SaNeg,
        /// Spalart-Allmaras, the variable kept positive.
        #[serde(rename = "sa")]
        Sa => flow::TurbulenceModel::Sa,
        /// The same without the term ft2.
        #[serde(rename = "sa-noft2")]
        SaNoFt2 => flow::TurbulenceModel::SaNoFt2,
        /// Menter's SST of 2003, SST-2003m.
        #[serde(rename = "sst")]
        Sst => flow::TurbulenceModel::Sst,
        /// Menter's SST of 1994 with vorticity in the production, SST-Vm.
        #[serde(rename = "sst-v")]
        SstVorticity => flow::TurbulenceModel::SstVorticity,
        /// Wilcox's k-omega of 2006 with limited production, Wilcox2006m-klim.
        #[serde(rename = "k-omega")]
        KOmega => flow::TurbulenceModel::KOmega,
    }
}

choice! {
    /// Hybrids of RANS and large eddy simulation.
    HybridName => flow::Hybrid {
        /// RANS everywhere.
        None => flow::Hybrid::None,
        /// Detached eddy simulation of 1997: the shorter one of the model's length and of the grid's.
        Des => flow::Hybrid::Des,
        /// Delayed: boundary layers are kept RANS, however fine the grid.
        Ddes => flow::Hybrid::Ddes,
        /// Improved delayed: boundary layers may be resolved down to their inner part.
        Iddes => flow::Hybrid::Iddes,
    }
}
choice! {
    /// Lengths of the grid in hybrids.
    GridLengthName => flow::GridLength {
        /// The longest edge of each node.
        MaxEdge => flow::GridLength::MaxEdge,
        /// The size of each control volume across the vorticity: shear layers on flat cells become unstable sooner.
        AcrossVorticity => flow::GridLength::AcrossVorticity,
    }
}

choice! {
    /// Quadratic constitutive relations.
    QuadraticName => flow::Quadratic {
        /// The stress of an eddy viscosity alone.
        #[serde(rename = "none")]
        None => flow::Quadratic::None,
        /// QCR2000: normal stresses differ in shear, as vortices in corners need.
        #[serde(rename = "2000")]
        Qcr2000 => flow::Quadratic::Qcr2000,
        /// QCR2020, of `sa` and its kin: constants that go by the model's fw, and what 2/3 rho k would be.
        #[serde(rename = "2020")]
        Qcr2020 => flow::Quadratic::Qcr2020,
    }
}

choice! {
    /// What stands at walls without slip for the layer next to them.
    WallsName => flow::WallTreatment {
        /// Nothing: the mesh resolves it, y+ of the first nodes about 1.
        Resolved => flow::WallTreatment::Resolved,
        /// A law of the wall, for meshes of y+ 30 to 100.
        Functions => flow::WallTreatment::Functions,
        /// A law of the wall for any y+.
        Automatic => flow::WallTreatment::Automatic,
    }
}

choice! {
    /// Matrices that implicit steps on meshes go by.
    CouplingName => flow::Coupling {
        /// One for the flow and one for the model, each with a linear solver of its own.
        Loose => flow::Coupling::Loose,
        /// One for both, of blocks of 6 x 6 (`sa` and its kin) or 7 x 7: what each takes of the other is in it, too.
        Tight => flow::Coupling::Tight,
    }
}

choice! {
    /// Corrections for rotation and curvature.
    RotationName => flow::Rotation {
        /// None.
        #[serde(rename = "none")]
        None => flow::Rotation::None,
        /// SA-R: production falls where the flow turns more than it is strained.
        #[serde(rename = "sa-r")]
        SaR => flow::Rotation::Rotating,
        /// SA-RC: production goes by how the strain turns along the flow, in steady runs.
        #[serde(rename = "sa-rc")]
        SaRc => flow::Rotation::Curved,
    }
}

/// A box along the axes.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Region {
    /// Its lowest coordinates, mesh units.
    pub from: [f64; 3],
    /// Its highest.
    pub to: [f64; 3],
}

/// The turbulence model of `equations = "rans"`, or of incompressible flow where there is this section.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TurbulenceSection {
    /// Which model.
    pub model: ModelName,
    /// Of `sa` and its kin: the model's variable in what flows in, over the kinematic viscosity of the free stream.
    pub inflow: f64,
    /// Of `sst`, `sst-v` and `k-omega`: k of what flows in, over the square of the free stream's speed of sound; of incompressible flow over the square of
    /// `reference.velocity`.
    pub inflow_k: f64,
    /// Of the same: eddy viscosity of what flows in over the viscosity of the free stream, which gives omega.
    pub inflow_ratio: f64,
    /// Of the same: the height of roughness of walls without slip, mesh units: omega there is Wilcox's, 40000 nu / roughness^2, whatever the mesh: that of up to five wall
    /// units (k_s+ = roughness u_tau / nu), which are smooth to the flow. For higher roughness Wilcox has a lower omega, which is not here: at 60 a third of the friction is missing. 0: Menter's,
    /// which goes by the first nodes or cells off walls.
    pub roughness: f64,
    /// Of the same: whether sources keep what flows in from decaying.
    pub sustained: bool,
    /// Turbulent Prandtl number.
    pub prandtl: f64,
    /// Order of accuracy of the advection of the model's variables: 1 or 2.
    pub order: u8,
    /// CFL number of the model's equations over the flow's.
    pub cfl_ratio: f64,
    /// Large eddy simulation off walls, in unsteady runs with `sa` and its kin, `sst` and `sst-v`.
    pub hybrid: HybridName,
    /// The length of the grid in it; `iddes` has one of its own.
    pub grid_length: GridLengthName,
    /// What the turbulent stress has besides that of an eddy viscosity.
    pub qcr: QuadraticName,
    /// Of `sa` and its kin: the correction for rotation and curvature.
    pub rotation_correction: RotationName,
    /// What stands at walls without slip for the layer next to them.
    pub walls: WallsName,
    /// Which matrices implicit steps on meshes go by. On structured grids there is no choice: compressible flow has one for the flow and one for the model,
    /// incompressible flow one for both.
    pub coupling: CouplingName,
    /// Boxes in which the flow is kept laminar, for transition where they end: nothing is produced there, for example
    /// `[{ from = [-1, -1, 0], to = [0.1, 1, 0] }]`; mesh units, sides included, and on planar meshes z does not count.
    pub laminar: Vec<Region>,
}

impl Default for TurbulenceSection {
    fn default() -> Self {
        let d = flow::TurbulenceConfig::default();
        Self {
            model: ModelName::default(),
            inflow: d.inflow,
            inflow_k: d.inflow_k,
            inflow_ratio: d.inflow_ratio,
            roughness: d.roughness,
            sustained: d.sustained,
            prandtl: d.prandtl,
            order: if d.second_order { 2 } else { 1 },
            cfl_ratio: d.cfl_ratio,
            hybrid: HybridName::default(),
            grid_length: GridLengthName::default(),
            qcr: QuadraticName::default(),
            rotation_correction: RotationName::default(),
            walls: WallsName::default(),
            coupling: CouplingName::default(),
            laminar: Vec::new(),
        }
    }
}

impl TurbulenceSection {
    /// The solver's set-up; `in_time`: whether the run is unsteady.
    ///
    /// # Errors
    /// A value out of its range, with its key.
    pub fn config(&self, source: &Source, in_time: bool) -> CliResult<flow::TurbulenceConfig> {
        let t = self;
        let fail = |key: &str, value: f64, expected: &str| {
            Err(source.error(&["turbulence", key], &format!("{key} is {value}: expected {expected}")))
        };
        let numbers = [
            ("inflow", t.inflow),
            ("inflow_k", t.inflow_k),
            ("inflow_ratio", t.inflow_ratio),
            ("prandtl", t.prandtl),
            ("cfl_ratio", t.cfl_ratio),
        ];
        for (key, value) in numbers {
            if !(value > 0.0 && value.is_finite()) {
                return fail(key, value, "a positive number");
            }
        }
        if !(t.roughness >= 0.0 && t.roughness.is_finite()) {
            return fail("roughness", t.roughness, "0 or a positive number");
        }
        if !(1..=2).contains(&t.order) {
            return fail("order", t.order.into(), "1 or 2");
        }
        let config = flow::TurbulenceConfig {
            model: t.model.config(),
            inflow: t.inflow,
            inflow_k: t.inflow_k,
            inflow_ratio: t.inflow_ratio,
            roughness: t.roughness,
            sustained: t.sustained,
            prandtl: t.prandtl,
            second_order: t.order == 2,
            cfl_ratio: t.cfl_ratio,
            hybrid: t.hybrid.config(),
            grid_length: t.grid_length.config(),
            quadratic: t.qcr.config(),
            rotation: t.rotation_correction.config(),
            walls: t.walls.config(),
            coupling: t.coupling.config(),
            laminar: t.laminar.iter().map(|&Region { from, to }| flow::Region { from, to }).collect(),
        };
        if let Some((key, problem)) = config.option_problem(in_time) {
            return Err(source.error(&["turbulence", key], problem));
        }
        match config.hybrid_problem() {
            Some(problem) => Err(source.error(&["turbulence", "hybrid"], problem)),
            None => Ok(config),
        }
    }

    /// The key of those that are given which no structured grid would read, and what to do about it.
    pub fn idle_on_grids(given: &toml::Table) -> Option<(String, &'static str)> {
        let remedy = "incompressible flow has one matrix for all unknowns always, and compressible flow on structured grids never: leave it out";
        given.contains_key("coupling").then(|| ("coupling".to_owned(), remedy))
    }

    /// The key of those that are given which the model would not read, and what to do about it.
    pub fn idle_key(&self, given: &toml::Table) -> Option<(String, &'static str)> {
        if self.hybrid == HybridName::None && given.contains_key("grid_length") {
            return Some(("grid_length".to_owned(), "only hybrids have a length of the grid: set `hybrid`"));
        }
        let (of_others, remedy): (&[&str], _) = if self.model.config().is_spalart_allmaras() {
            (
                &["inflow_k", "inflow_ratio", "roughness", "sustained"],
                "`sa` and its kin have one variable, and `inflow` says it",
            )
        } else {
            (
                &["inflow", "rotation_correction"],
                "k-omega models have `inflow_k` and `inflow_ratio` for what flows in, and no correction for rotation",
            )
        };
        let key = given.keys().find(|key| of_others.contains(&key.as_str()))?;
        Some((key.clone(), remedy))
    }
}

impl CaseFile {
    /// The solver's set-up of turbulence, if there is any.
    ///
    /// # Errors
    /// A value out of its range, with its key.
    pub(super) fn turbulence(&self, source: &Source) -> CliResult<Option<flow::TurbulenceConfig>> {
        let rans = self.flow.equations == Equations::Rans;
        let in_time = self.march.mode == super::Mode::Unsteady;
        rans.then(|| self.turbulence.config(source, in_time)).transpose()
    }

    /// The key of `[turbulence]` in a case file that nothing would read, and what to do about it.
    pub(super) fn idle_key_of_turbulence(&self, table: &toml::Table) -> Option<(String, &'static str)> {
        let given = table.get("turbulence").and_then(toml::Value::as_table)?;
        if self.flow.equations != Equations::Rans {
            let key = given.keys().next()?;
            return Some((key.clone(), "only `equations = \"rans\"` in [flow] has turbulence"));
        }
        self.turbulence.idle_key(given)
    }
}
