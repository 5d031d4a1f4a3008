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
    }
}

/// The turbulence model of `equations = "rans"`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TurbulenceSection {
    /// Which model.
    pub model: ModelName,
    /// The model's variable in what flows in, over the kinematic viscosity of the free stream.
    pub inflow: f64,
    /// Turbulent Prandtl number.
    pub prandtl: f64,
    /// Order of accuracy of the advection of the model's variable: 1 or 2.
    pub order: u8,
    /// CFL number of the model's equation over the flow's.
    pub cfl_ratio: f64,
}

impl Default for TurbulenceSection {
    fn default() -> Self {
        let d = flow::TurbulenceConfig::default();
        Self {
            model: ModelName::default(),
            inflow: d.inflow,
            prandtl: d.prandtl,
            order: if d.second_order { 2 } else { 1 },
            cfl_ratio: d.cfl_ratio,
        }
    }
}

impl CaseFile {
    /// The solver's set-up of turbulence, if there is any.
    ///
    /// # Errors
    /// A value out of its range, with its key.
    pub(super) fn turbulence(&self, source: &Source) -> CliResult<Option<flow::TurbulenceConfig>> {
        if self.flow.equations != Equations::Rans {
            return Ok(None);
        }
        let t = &self.turbulence;
        let fail = |key: &str, value: f64, expected: &str| {
            Err(source.error(&["turbulence", key], &format!("{key} is {value}: expected {expected}")))
        };
        for (key, value) in [("inflow", t.inflow), ("prandtl", t.prandtl), ("cfl_ratio", t.cfl_ratio)] {
            if !(value > 0.0 && value.is_finite()) {
                return fail(key, value, "a positive number");
            }
        }
        if !(1..=2).contains(&t.order) {
            return fail("order", t.order.into(), "1 or 2");
        }
        Ok(Some(flow::TurbulenceConfig {
            model: t.model.config(),
            inflow: t.inflow,
            prandtl: t.prandtl,
            second_order: t.order == 2,
            cfl_ratio: t.cfl_ratio,
        }))
    }

    /// The key of `[turbulence]` in a case file that nothing would read, and what to do about it.
    pub(super) fn idle_key_of_turbulence(&self, table: &toml::Table) -> Option<(String, &'static str)> {
        let given = table.get("turbulence").and_then(toml::Value::as_table)?;
        let idle = self.flow.equations != Equations::Rans;
        let key = given.keys().next().filter(|_| idle)?;
        Some((key.clone(), "only `equations = \"rans\"` in [flow] has turbulence"))
    }
}
