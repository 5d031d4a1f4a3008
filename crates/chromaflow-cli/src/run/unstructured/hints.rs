//! What to try where a steady run on a mesh did not converge.

use crate::run::advice::Trouble;
use crate::run::history::Equations;
use crate::run::march::Finished;
use chromaflow::Policy;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::PreconditionerKind;
use chromaflow_flow::config::{Boundary, Coupling, Limiter, Nonlinear, TurbulenceConfig};
use chromaflow_flow::{FlowConfig, FlowSolver};

/// Orders of the residual below which a flow has run away.
const RUNAWAY: f64 = -1.0;

/// Part of the walls that inviscid flow has left, from which a run says so.
const SEPARATED: f64 = 0.05;

/// Orders of the residual beyond which what single precision leaves of a linear system counts.
const DEEP: f64 = 6.0;

/// Orders by which an unknown of a turbulence model may lag behind the flow where each has a matrix of its own.
const LAGS: f64 = 2.0;

/// What to try.
pub fn of(
    solver: &FlowSolver,
    config: &FlowConfig,
    (trouble, finished): (&Trouble, &Finished),
) -> Vec<String> {
    let own = Equations::Compressible.fallen(&finished.rows);
    let mut hints = Vec::new();
    hints.extend(tighter(config.turbulence.as_ref(), trouble.lagging(), own));
    hints.extend(wider(config.implicit.policy, finished.last.orders).filter(|_| trouble.is_unsolved()));
    if trouble.is_unsolved() {
        hints.push(match (config.implicit.nonlinear, config.implicit.preconditioner) {
            (Nonlinear::NewtonKrylov(options), PreconditionerKind::Ilu(Fill::Level(level))) => format!(
                "linear.fill = {}, linear.precond = \"multicolor\" or march.newton_directions = {}: linear systems are not solved",
                level + 1,
                2 * options.directions
            ),
            (Nonlinear::NewtonKrylov(_), _) => {
                "linear.method = \"gmres\" with linear.precond = \"ilu0\" and linear.fill = 1".to_owned()
            }
            (Nonlinear::DefectCorrection, _) => {
                "linear.method = \"gmres\" with linear.precond = \"ilu0\": sweeps do not solve these systems"
                    .to_owned()
            }
        });
    }
    if trouble.is_unphysical(finished) {
        hints.push("march.cfl_start = 1 and march.first_order_iterations = 50".to_owned());
    }
    for marker in solver.leaves_below_sound() {
        hints.push(format!(
            "[boundary] {marker} = {{ kind = \"outlet\", pressure = 1.0 }}, or what it is: the flow leaves there below the speed of sound, and \
             extrapolation sets no pressure"
        ));
    }
    let given = |(_, b): &(&String, &Boundary)| matches!(b, Boundary::VelocityInlet { .. });
    if let Some((marker, _)) = config.boundaries.iter().find(given)
        && finished.last.orders < RUNAWAY
    {
        hints.push(format!(
            "a lower velocity at `{marker}`, or kind = \"inlet\" with a total state: through a velocity inlet comes the more mass the higher the \
             pressure behind it is, and a duct that chokes there fills for ever"
        ));
    }
    // What a flow that has only begun leaves of its walls says nothing.
    let separated = if finished.last.orders > 1.0 { solver.separated() } else { 0.0 };
    if separated > SEPARATED {
        hints.push(format!(
            "flow.equations = \"laminar\" or \"rans\", or march.mode = \"unsteady\": this flow has left {:.0} % of its walls. Nothing in inviscid \
             flow says where it does, nor what is in the dead water; it may have no steady state",
            100.0 * separated
        ));
    }
    let limited = config.space.second_order && config.space.limiter != Limiter::None;
    if limited && finished.last.orders > 1.0 {
        let other =
            if config.space.limiter == Limiter::Venkatakrishnan { "van_albada" } else { "venkatakrishnan" };
        hints.push(format!("numerics.limiter = \"{other}\", or a larger numerics.limiter_k"));
    }
    hints
}

/// Says of a converged inviscid flow that it has lost head along this part of its walls.
pub fn left_behind(head_lost: f64) -> Option<String> {
    (head_lost > SEPARATED).then(|| {
        format!(
            "along {:.0} % of its walls this inviscid flow has lost half of its head and more, which numerical dissipation alone takes: behind a \
             sharp edge, or where it has left them. Look at its velocity there; another start (march.first_order_iterations = 100, a smaller \
             march.cfl_start) may find another solution, finer cells at edges lose less",
            100.0 * head_lost
        )
    })
}

/// Unknowns of turbulence models.
const OF_TURBULENCE: [&str; 3] = ["nut", "k", "omega"];

/// One matrix, where an unknown of the turbulence model lags far behind the flow.
fn tighter(
    turbulence: Option<&TurbulenceConfig>,
    lagging: Option<(&str, f64)>,
    flow: Option<f64>,
) -> Option<String> {
    let (name, orders) = lagging.filter(|(name, _)| OF_TURBULENCE.contains(name))?;
    let is_loose = turbulence?.coupling == Coupling::Loose;
    (is_loose && flow? - orders >= LAGS).then(|| {
        format!("turbulence.coupling = \"tight\": {name} lags behind the flow, and one matrix for both solves them together")
    })
}

/// Wider numbers, where linear systems are left of residuals that are small already.
fn wider(policy: Policy, orders: f64) -> Option<String> {
    (policy != Policy::D && orders > DEEP).then(|| {
        format!(
            "linear.policy = \"d\": at residuals as small as these the single precision of \"{policy}\" may be what leaves linear systems unsolved"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Head lost along more than a twentieth of the walls is told.
    #[test]
    fn flows_that_have_lost_their_head_are_told() {
        assert!(left_behind(0.3).unwrap().starts_with("along 30 % of its walls"));
        assert_eq!(left_behind(0.04), None);
    }

    /// One matrix is for models that lag, not for scalars or where there is one already.
    #[test]
    fn a_model_that_lags_is_coupled_tightly() {
        let loose = TurbulenceConfig { coupling: Coupling::Loose, ..TurbulenceConfig::default() };
        let tight = TurbulenceConfig { coupling: Coupling::Tight, ..TurbulenceConfig::default() };
        let told = tighter(Some(&loose), Some(("nut", 2.5)), Some(6.0)).unwrap();
        assert!(told.starts_with("turbulence.coupling = \"tight\": nut lags"), "{told}");
        for (model, name, flow) in [
            (Some(&tight), "nut", Some(6.0)),
            (Some(&loose), "nut", Some(4.0)),
            (Some(&loose), "nut", None),
            (Some(&loose), "dye", Some(6.0)),
            (None, "nut", Some(6.0)),
        ] {
            assert_eq!(tighter(model, Some((name, 2.5)), flow), None);
        }
        assert_eq!(tighter(Some(&loose), None, Some(6.0)), None);
    }

    /// Double precision is for small residuals.
    #[test]
    fn small_residuals_take_double_precision() {
        assert!(wider(Policy::Ds, 8.8).unwrap().starts_with("linear.policy = \"d\": "));
        assert!(wider(Policy::Dsh, 6.9).is_some());
        assert_eq!([wider(Policy::D, 8.8), wider(Policy::Ds, 3.0)], [None, None]);
    }
}
