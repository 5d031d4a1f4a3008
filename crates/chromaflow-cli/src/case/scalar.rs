//! `[scalar]`: a passive scalar that the flow carries along.

use super::{CaseFile, Equations, Source};
use crate::error::CliResult;
use chromaflow_flow::config as flow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A passive scalar that the flow carries along and that diffuses, in cases of meshes; there is one where `name` is given.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ScalarSection {
    /// Its name in fields, histories and restarts; empty: no scalar.
    pub name: String,
    /// What flows in, and what is there at the beginning.
    pub inflow: f64,
    /// Schmidt number of laminar flow: the diffusivity is the viscosity over it.
    pub schmidt: f64,
    /// A constant diffusivity (times density) in the place of viscosity over `schmidt`, over rho_inf a_inf and the mesh unit;
    /// inviscid flow has none without it.
    pub diffusivity: Option<f64>,
    /// Order of accuracy in space: 1 or 2.
    pub order: u8,
    /// Whether the reconstruction of second order is limited (van Albada). At a jump it still overshoots by up to some 5 % of it on triangles, 3 % on quadrilaterals; `order = 1` never does.
    pub limited: bool,
    /// Values by marker: `wing = 1.0` at a wall, which lets nothing through otherwise; at an open boundary what flows in
    /// there in the place of `inflow`.
    pub markers: BTreeMap<String, f64>,
}

impl Default for ScalarSection {
    fn default() -> Self {
        let d = flow::ScalarConfig::default();
        Self {
            name: String::new(),
            inflow: d.inflow,
            schmidt: d.schmidt,
            diffusivity: d.diffusivity,
            order: if d.second_order { 2 } else { 1 },
            limited: d.limited,
            markers: d.values,
        }
    }
}

/// Names that other fields have.
const TAKEN: [&str; 12] = [
    "density",
    "velocity",
    "pressure",
    "mach",
    "temperature",
    "cp",
    "entropy",
    "skin_friction",
    "eddy_viscosity",
    "momentum",
    "energy",
    "conserved",
];

impl ScalarSection {
    /// Says which key of `given` nothing would read: all without a name, and `schmidt` where no viscosity is divided by it.
    pub fn idle_key(&self, laminar: bool, given: &toml::Table) -> Option<(String, &'static str)> {
        if self.name.is_empty() {
            return given
                .keys()
                .next()
                .map(|key| (key.clone(), "give the scalar a `name`, or leave the section out"));
        }
        let idle = given.contains_key("schmidt") && (self.diffusivity.is_some() || !laminar);
        idle.then(|| {
            (
                "schmidt".to_owned(),
                "only laminar flow without a `diffusivity` has a viscosity to divide by it",
            )
        })
        .or_else(|| {
            let idle = self.order == 1 && given.contains_key("limited");
            idle.then(|| ("limited".to_owned(), "only `order = 2` has a reconstruction to limit"))
        })
    }

    /// The solver's set-up, if there is a scalar.
    ///
    /// # Errors
    /// A name that another field has or that files cannot have, an order that is neither 1 nor 2, turbulent flow.
    pub fn config(&self, source: &Source, equations: Equations) -> CliResult<Option<flow::ScalarConfig>> {
        if self.name.is_empty() {
            return Ok(None);
        }
        let fail = |key: &str, problem: String| Err(source.error(&["scalar", key], &problem));
        if equations == Equations::Rans {
            let problem =
                "the turbulent diffusion of a scalar has no model: expected euler or laminar equations";
            return fail("name", problem.to_owned());
        }
        if !self.name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return fail("name", format!("name is {:?}: expected letters, digits and _", self.name));
        }
        if TAKEN.contains(&self.name.as_str()) || self.name.starts_with("conserved_") {
            return fail("name", format!("`{}` is the name of another field", self.name));
        }
        if !(1..=2).contains(&self.order) {
            return fail("order", format!("order is {}: expected 1 or 2", self.order));
        }
        Ok(Some(flow::ScalarConfig {
            name: self.name.clone(),
            inflow: self.inflow,
            schmidt: self.schmidt,
            diffusivity: self.diffusivity,
            second_order: self.order == 2,
            limited: self.limited,
            values: self.markers.clone(),
        }))
    }
}

impl CaseFile {
    /// The key of `[scalar]` in a case file that nothing would read, and what to do about it.
    pub(super) fn idle_key_of_scalar(&self, table: &toml::Table) -> Option<(String, &'static str)> {
        let given = table.get("scalar").and_then(toml::Value::as_table)?;
        self.scalar.idle_key(self.flow.equations == Equations::Laminar, given)
    }
}
