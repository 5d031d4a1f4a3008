//! How a case of a mesh is solved where it leaves that to the program.

use super::{CaseFile, Equations, MethodName, Mode, PrecondName};
use chromaflow_flow::config as flow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What stands for the derivative of the residual in an implicit step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NonlinearName {
    /// `newton_krylov` in steady flow, `defect_correction` else.
    #[default]
    Auto,
    /// The derivative itself, by differences of residuals, in GMRES around the first-order matrix.
    NewtonKrylov,
    /// The first-order matrix.
    DefectCorrection,
}

/// Largest CFL number of Newton-Krylov steps, whose linear systems hold the derivative of the residual.
const NEWTON_CFL: f64 = 1e6;
/// Growth of the CFL number from one such step to the next.
const NEWTON_GROWTH: f64 = 2.0;
/// Sweeps of the first-order matrix in each direction of such a step.
const NEWTON_SWEEPS: usize = 6;
/// Largest CFL number of turbulent cases that leave the linear solver to the program.
const RANS_CFL: f64 = 1e4;

impl CaseFile {
    /// Chooses what the case file, in `table`, does not say.
    ///
    /// * Steady flow takes Newton-Krylov steps, and with them CFL numbers that grow fast and without a practical limit.
    /// * Turbulent flow is solved by GMRES around block ILU, and with it at large CFL numbers: cells at walls are thousands of times
    ///   longer than high, which sweeps from node to node take thousands of iterations to cross.
    pub(super) fn choose(&mut self, table: &toml::Table) {
        let given = |section: &str, key: &str| table.get(section).is_some_and(|s| s.get(key).is_some());
        let rans = self.flow.equations == Equations::Rans;
        let (march, linear) = (&mut self.march, &mut self.linear);
        if march.nonlinear == NonlinearName::Auto {
            let steps = if march.mode == Mode::Steady && !rans {
                NonlinearName::NewtonKrylov
            } else {
                NonlinearName::DefectCorrection
            };
            march.nonlinear = steps;
        }
        let newton = march.nonlinear == NonlinearName::NewtonKrylov;
        let factors = rans && !given("linear", "method");
        if factors {
            linear.method = MethodName::Gmres;
            if !given("linear", "precond") {
                linear.precond = PrecondName::Ilu0;
            }
        }
        if newton && !given("march", "cfl_growth") {
            march.cfl_growth = NEWTON_GROWTH;
        }
        if newton && !given("linear", "sweeps") {
            linear.sweeps = NEWTON_SWEEPS;
        }
        if !given("march", "cfl_max") {
            let chosen = [(newton, NEWTON_CFL), (factors, RANS_CFL)];
            march.cfl_max = chosen.into_iter().find(|c| c.0).map_or(march.cfl_max, |c| c.1);
        }
    }

    /// What stands for the derivative of the residual.
    pub(super) fn nonlinear(&self) -> flow::Nonlinear {
        match self.march.nonlinear {
            NonlinearName::NewtonKrylov => flow::Nonlinear::NewtonKrylov(flow::NewtonKrylov {
                tolerance: self.march.newton_tolerance,
                directions: self.march.newton_directions,
            }),
            NonlinearName::Auto | NonlinearName::DefectCorrection => flow::Nonlinear::DefectCorrection,
        }
    }

    /// The key of Newton-Krylov steps in a case file that takes none, and what to do about it.
    pub(super) fn idle_key_of_newton(&self, table: &toml::Table) -> Option<(String, &'static str)> {
        let given = table.get("march").and_then(toml::Value::as_table)?;
        let idle = self.march.nonlinear != NonlinearName::NewtonKrylov;
        let key = given.keys().find(|key| idle && key.starts_with("newton_"))?;
        Some((key.clone(), "only `nonlinear = \"newton_krylov\"` has such steps"))
    }
}
