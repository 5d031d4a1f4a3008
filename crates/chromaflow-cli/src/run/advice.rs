//! What to say of a steady run that did not converge: where the residual sits, what stood in its way, what to try.

use super::march::Finished;
use chromaflow::Outcome;
use chromaflow::solver::Method;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{FlowConfig, Limiter};
use chromaflow_flow::march::{LargestResidual, Rejections};
use serde_json::{Value, json};

/// What is known of the trouble.
pub struct Trouble {
    largest: Option<LargestResidual>,
    rejections: Rejections,
    hints: Vec<String>,
}

impl Trouble {
    /// Of a run that is over, its state on the host.
    pub fn of(config: &FlowConfig, solver: &FlowSolver, finished: &Finished) -> Self {
        let rejections = solver.rejections();
        Self { largest: solver.largest_residual(), rejections, hints: hints(config, finished, &rejections) }
    }

    /// For scripts.
    pub fn json(&self) -> Value {
        let largest = self.largest.as_ref().map(|l| {
            json!({
                "place": l.at.place.to_string(), "at": l.at.at, "marker": l.at.marker,
                "share": l.share, "mach": l.mach, "pressure": l.pressure,
            })
        });
        let Rejections { state, linear, growth } = self.rejections;
        json!({
            "largest_residual": largest,
            "rejected_steps": { "state": state, "linear": linear, "growth": growth },
            "hints": self.hints,
        })
    }

    /// For people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(l) = &self.largest {
            let [x, y, z] = l.at.at;
            let marker = l.at.marker.as_ref().map_or(String::new(), |m| format!(" on marker `{m}`"));
            lines.push(format!(
                "largest residual: {} ({x}, {y}, {z}){marker}, {:.1} % of the whole; Mach {:.3}, pressure {:.4} there",
                l.at.place,
                100.0 * l.share,
                l.mach,
                l.pressure
            ));
        }
        let Rejections { state, linear, growth } = self.rejections;
        if state + linear + growth > 0 {
            lines.push(format!(
                "rejected steps: {state} for an unphysical state, {linear} for a linear system that was not solved, \
                 {growth} for a residual that grew"
            ));
        }
        lines.extend(self.hints.iter().map(|hint| format!("try: {hint}")));
        lines
    }
}

fn hints(config: &FlowConfig, finished: &Finished, rejections: &Rejections) -> Vec<String> {
    let mut hints = Vec::new();
    if rejections.linear > 0 && config.implicit.method == Method::Richardson {
        hints.push(
            "linear.method = \"gmres\" with linear.precond = \"ilu0\": sweeps do not solve these systems"
                .to_owned(),
        );
    }
    if rejections.state > 0 || matches!(finished.outcome, Outcome::Diverged { .. }) {
        hints.push("march.cfl_start = 1 and march.first_order_iterations = 50".to_owned());
    }
    let limited = config.space.second_order && config.space.limiter != Limiter::None;
    if limited && finished.last.orders > 1.0 {
        let other =
            if config.space.limiter == Limiter::Venkatakrishnan { "van_albada" } else { "venkatakrishnan" };
        hints.push(format!("numerics.limiter = \"{other}\", or a larger numerics.limiter_k"));
    }
    let falling =
        finished.rows.iter().rev().nth(finished.rows.len() / 5).is_some_and(|row| {
            finished.rows.last().is_some_and(|last| last.residual[0] < 0.3 * row.residual[0])
        });
    if falling {
        hints.push("more march.iterations: the residual was still falling".to_owned());
    }
    hints
}
