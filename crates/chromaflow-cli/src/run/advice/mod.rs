//! What to say of a steady run that did not converge: where the residual sits, what stood in its way, what to try.

mod around;

pub use around::{Around, on_points};

use super::flow::Flow;
use super::history::Row;
use super::march::Finished;
use chromaflow::Outcome;
use chromaflow_flow::StepReport;
use chromaflow_flow::config::Time;
use chromaflow_flow::march::{LargestResidual, Rejections};
use chromaflow_flow::output::Field;
use serde_json::{Value, json};

/// What stood in the way of the steps of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tally {
    /// Steps.
    pub steps: usize,
    /// Those in which the updates of some rows were cut,
    pub cut: usize,
    /// and the most rows in one of them.
    pub most_cut: usize,
    /// Those whose linear system was looked at,
    pub looked_at: usize,
    /// and was left with nine tenths of its residual or more.
    pub unsolved: usize,
    /// Largest CFL number.
    pub largest_cfl: f64,
    /// Physical steps whose subiterations ended short of the drop that is asked for.
    pub unfinished: usize,
}

/// What is left of the residual of a linear system that counts as unsolved.
const UNSOLVED: f64 = 0.9;

impl Tally {
    /// Counts a step of a run in this time.
    pub fn add(&mut self, report: &StepReport, time: &Time) {
        self.steps += 1;
        self.cut += usize::from(report.limited > 0);
        self.most_cut = self.most_cut.max(report.limited);
        if let Some(left) = report.linear_reduction {
            self.looked_at += 1;
            self.unsolved += usize::from(left.is_nan() || left >= UNSOLVED);
        }
        self.largest_cfl = self.largest_cfl.max(report.cfl);
        // Explicit steps have no subiterations: each is an iteration.
        if let Time::Unsteady(unsteady) = time
            && report.step_over
            && report.iteration > report.time_step
        {
            self.unfinished += usize::from(falls_short(report, unsteady.orders));
        }
    }
}

/// Whether a physical step ended short of these orders, and with more than rounding errors, from which nothing falls.
fn falls_short(report: &StepReport, orders: f64) -> bool {
    let solved = report.rests && report.coupled_orders.iter().all(|own| *own >= orders);
    report.orders < orders && !solved
}

/// What is known of the trouble.
pub struct Trouble {
    largest: Option<LargestResidual>,
    around: Option<Around>,
    /// The unknown beside the flow whose residual has fallen least, by how many orders, where it holds the run up.
    lagging: Option<(String, f64)>,
    rejections: Rejections,
    tally: Tally,
    cfl: f64,
    hints: Vec<String>,
    /// The residual on the points of the mesh.
    pub field: Field,
}

impl Trouble {
    /// Of a run that is over, its state on the host.
    pub fn of<F: Flow>(flow: &mut F, finished: &Finished) -> Self {
        let residuals = flow.solver_mut().residuals();
        let values = flow.on_points(residuals.equations, &residuals.rates);
        let solver = flow.solver();
        let (largest, rejections) = (solver.largest_residual(&residuals), solver.rejections());
        let around = largest.as_ref().and_then(|l| flow.around(l.at.place));
        let tally = finished.tally;
        let mut trouble = Self {
            largest,
            around,
            lagging: lagging(&flow.coupled(), &finished.last),
            rejections,
            tally,
            cfl: finished.last.cfl,
            hints: Vec::new(),
            field: Field::vector("residual", residuals.equations, values),
        };
        // Nothing stands in the way of a run that is on its way.
        if finished.outcome == Outcome::IterationLimit && trouble.is_on_its_way(finished) {
            trouble
                .hints
                .push("more march.iterations, with --resume: the residual was still falling".to_owned());
            return trouble;
        }
        trouble.hints = trouble.common_hints(finished);
        trouble.hints.extend(flow.hints(&trouble, finished));
        if let Some(marker) = trouble.marker().filter(|m| flow.is_open(m)) {
            trouble.hints.push(format!(
                "another condition on `{marker}`, or that boundary further away: a shock, a wake or a vortex that reaches it \
                 may have no steady state with what it prescribes"
            ));
        }
        trouble
    }

    /// The marker on which the largest residual lies.
    fn marker(&self) -> Option<&str> {
        self.largest.as_ref()?.at.marker.as_deref()
    }

    /// The unknown beside the flow that holds the run up, and by how many orders its residual has fallen.
    pub fn lagging(&self) -> Option<(&str, f64)> {
        self.lagging.as_ref().map(|(name, orders)| (name.as_str(), *orders))
    }

    /// Whether linear systems stood in the way.
    pub fn is_unsolved(&self) -> bool {
        self.rejections.linear > 0 || 4 * self.tally.unsolved > self.tally.looked_at
    }

    /// Whether states that are none did.
    pub fn is_unphysical(&self, finished: &Finished) -> bool {
        self.rejections.state > 0 || matches!(finished.outcome, Outcome::Diverged { .. })
    }

    /// The unknown beside the flow whose residual holds the run up, by its number.
    fn slowest(&self, finished: &Finished) -> Option<usize> {
        let (_, orders) = self.lagging.as_ref()?;
        finished.last.coupled_orders.iter().position(|own| own == orders)
    }

    /// Whether the residual was falling at the end, and linear systems were solved.
    fn is_on_its_way(&self, finished: &Finished) -> bool {
        tendency(&finished.rows, self.slowest(finished)) == Some(Tendency::Falls) && !self.is_unsolved()
    }

    fn common_hints(&self, finished: &Finished) -> Vec<String> {
        let mut hints = Vec::new();
        if self.around.as_ref().is_some_and(|a| a.scaled_jacobian < FLAT) {
            hints.push("a better mesh at that place: cells there are flat or folded".to_owned());
        }
        if tendency(&finished.rows, self.slowest(finished)) == Some(Tendency::Turns)
            && finished.last.orders > 0.5
        {
            hints.push(
                "march.mode = \"unsteady\", if the flow sheds vortices or swings by nature: the residual rises and falls \
                 about one level"
                    .to_owned(),
            );
        }
        hints
    }

    /// For scripts.
    pub fn json(&self) -> Value {
        let largest = self.largest.as_ref().map(|l| {
            json!({
                "place": l.at.place.to_string(), "at": l.at.at, "marker": l.at.marker,
                "cells": self.around.as_ref().map(Around::json),
                "share": l.share, "mach": l.flow.map(|f| f[0]), "pressure": l.flow.map(|f| f[1]),
            })
        });
        let Rejections { state, linear, growth } = self.rejections;
        let Tally { steps, cut, most_cut, looked_at, unsolved, largest_cfl, .. } = self.tally;
        json!({
            "largest_residual": largest,
            "rejected_steps": { "state": state, "linear": linear, "growth": growth },
            "cut_steps": { "steps": cut, "of": steps, "most_places": most_cut },
            "unsolved_systems": { "steps": unsolved, "of": looked_at },
            "cfl": { "last": self.cfl, "largest": largest_cfl },
            "lagging": self.lagging.as_ref().map(|(name, orders)| json!({ "unknown": name, "orders": orders })),
            "hints": self.hints,
        })
    }

    /// For people.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if let Some(l) = &self.largest {
            let [x, y, z] = l.at.at;
            let marker = l.at.marker.as_ref().map_or(String::new(), |m| format!(" on marker `{m}`"));
            let flow = l.flow.map_or(String::new(), |[mach, pressure]| {
                format!("; Mach {mach:.3}, pressure {pressure:.4} there")
            });
            // It is not that of an unknown beside the flow, which may lie elsewhere.
            let of_flow = if self.lagging.is_some() { " of the flow" } else { "" };
            lines.push(format!(
                "largest residual{of_flow}: {} ({x}, {y}, {z}){marker}, {:.1} % of the whole{flow}; all of it is the field `residual`",
                l.at.place,
                100.0 * l.share,
            ));
            lines.extend(self.around.as_ref().map(|around| format!("cells there: {}", around.line())));
        }
        if let Some((name, orders)) = &self.lagging {
            lines.push(format!("held up by {name}: its residual is {orders:.1} orders down"));
        }
        let Rejections { state, linear, growth } = self.rejections;
        if state + linear + growth > 0 {
            lines.push(format!(
                "rejected steps: {state} for an unphysical state, {linear} for a linear system that was not solved, \
                 {growth} for a residual that grew"
            ));
        }
        let Tally { steps, cut, most_cut, looked_at, unsolved, largest_cfl, .. } = self.tally;
        if cut > 0 {
            lines.push(format!(
                "cut updates: in {cut} of {steps} steps, at {most_cut} places at the most (max_change)"
            ));
        }
        if unsolved > 0 {
            lines.push(format!(
                "linear systems left with {UNSOLVED} of their residual or more: {unsolved} of {looked_at}"
            ));
        }
        if self.cfl < 0.1 * largest_cfl {
            lines.push(format!("the CFL number is down to {:.3} from {largest_cfl:.3}", self.cfl));
        }
        lines.extend(self.hints.iter().map(|hint| format!("try: {hint}")));
        lines
    }
}

/// A scaled Jacobian below which a cell is hardly one.
const FLAT: f64 = 0.02;

/// The unknown beside the flow that has fallen least, if the run has fallen no further.
pub fn lagging(names: &[String], last: &StepReport) -> Option<(String, f64)> {
    let all = names.iter().zip(&last.coupled_orders);
    let (name, &orders) = all.min_by(|a, b| a.1.total_cmp(b.1))?;
    (orders <= last.orders).then(|| (name.clone(), orders))
}

/// Where a residual is going.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tendency {
    Falls,
    Turns,
}

/// Of the density, or of an unknown beside the flow, by the last two fifths of a run and four rows at least: their second half far below the first,
/// or about the same with rises in between.
fn tendency(rows: &[Row], coupled: Option<usize>) -> Option<Tendency> {
    let rows = &rows[(3 * rows.len() / 5).min(rows.len().saturating_sub(4))..];
    if rows.len() < 4 {
        return None;
    }
    let of = |row: &Row| {
        coupled.and_then(|v| row.coupled.get(v)).copied().unwrap_or(row.residual[0]).max(f64::MIN_POSITIVE)
    };
    let size = |rows: &[Row]| rows.iter().map(|row| of(row).ln()).sum::<f64>() / rows.len() as f64;
    let (before, after) = rows.split_at(rows.len() / 2);
    let fall = size(before) - size(after);
    let rises = rows.windows(2).filter(|w| of(&w[1]) > of(&w[0])).count();
    // A tenth an iteration is far where there are only some.
    if fall > (0.1 * before.len() as f64).min(0.7) {
        Some(Tendency::Falls)
    } else {
        (rows.len() >= 20 && fall.abs() < 0.7 && 4 * rises > rows.len()).then_some(Tendency::Turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::march::{BadPlace, Place};

    /// The place of the largest residual is one of the flow, which is said where something else holds the run up.
    #[test]
    fn the_place_is_said_to_be_the_flows() {
        let of = |lagging| {
            let at = BadPlace {
                place: Place::Node(3),
                at: [0.5, 0.0, 0.0],
                marker: None,
                state: Vec::new(),
                variables: "".into(),
                rank: None,
            };
            let trouble = Trouble {
                largest: Some(LargestResidual { at, share: 0.25, flow: None }),
                around: None,
                lagging,
                rejections: Rejections::default(),
                tally: Tally::default(),
                cfl: 1.0,
                hints: Vec::new(),
                field: Field::vector("residual", 1, Vec::new()),
            };
            trouble.lines()
        };
        assert!(of(None)[0].starts_with("largest residual: "));
        let lines = of(Some(("nut".to_owned(), 2.5)));
        assert!(lines[0].starts_with("largest residual of the flow: "), "{lines:?}");
        assert_eq!(lines[1], "held up by nut: its residual is 2.5 orders down");
    }

    /// Whether a residual falls, turns about a level or hangs, by that of the density or of an unknown beside the flow, in short runs too.
    #[test]
    fn a_residual_that_falls_is_told_from_one_that_hangs() {
        type Residual = fn(f64) -> f64;
        let rows = |count: usize, density: Residual, beside: Residual| -> Vec<Row> {
            let row = |i: usize| {
                let mut row = Row { iteration: i, residual: [density(i as f64); 5], ..Row::default() };
                row.coupled[1] = beside(i as f64);
                row
            };
            (1..=count).map(row).collect()
        };
        let [falls, hangs, swings]: [Residual; 3] = [|i| 0.5_f64.powf(i), |_| 0.1, |i| 0.1 + 0.05 * i.sin()];
        for count in [8, 200] {
            assert_eq!(tendency(&rows(count, falls, hangs), None), Some(Tendency::Falls));
            assert_eq!(tendency(&rows(count, falls, hangs), Some(1)), None);
            assert_eq!(tendency(&rows(count, hangs, falls), Some(1)), Some(Tendency::Falls));
        }
        assert_eq!(tendency(&rows(200, swings, hangs), None), Some(Tendency::Turns));
        assert_eq!(tendency(&rows(8, swings, hangs), None), None, "too short to tell");
        assert_eq!(tendency(&rows(3, falls, hangs), None), None);
    }
}
