//! From a solver that is set up to forces and fields: the one loop of all kinds of case.

use super::advice::{Tally, Trouble};
use super::cadence::Cadence;
use super::control::{Control, Orders};
use super::files::{Files, means_beside};
use super::flow::Flow;
use super::history::{self, Equations, Row};
use super::live::Live;
use super::loads::Loads;
use super::oscillation::Oscillation;
use super::record;
use super::samples::Samples;
use super::trace::Trace;
use super::{Args, Goal, Screen, interrupt, over_ranks, summary, verify};
use crate::case::{ExpectSection, OutputSection, Source};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::Outcome;
use chromaflow_device::ranges::{profiler, range};
use chromaflow_flow::StepReport;
use chromaflow_flow::config::Time;
use chromaflow_flow::march::FlowError;
use chromaflow_flow::output::Restart;
use serde_json::Value;
use std::time::Instant;

/// A run, but for its solver.
pub struct Run<'a> {
    pub args: &'a Args,
    pub ctx: &'a Context,
    pub source: &'a Source,
    /// The case's title; may be empty.
    pub title: &'a str,
    pub output: &'a OutputSection,
    pub expect: &'a ExpectSection,
    pub time: Time,
    /// What residuals are of.
    pub equations: Equations,
    /// Length and velocity of the Strouhal number.
    pub strouhal: [f64; 2],
    pub files: Files,
    /// When the case began to be read.
    pub start: Instant,
}

/// What a run did.
pub struct Finished {
    /// How it ended.
    pub outcome: Outcome,
    /// Whether Ctrl-C ended it.
    pub interrupted: bool,
    /// Every iteration, those before a restart too.
    pub rows: Vec<Row>,
    /// The forces of every wall in them.
    pub loads: Loads,
    /// What was recorded after each physical step.
    pub samples: Samples,
    /// Iterations of this run.
    pub taken: usize,
    /// What stood in the way of its steps.
    pub tally: Tally,
    /// The last report.
    pub last: StepReport,
    /// Seconds from reading the case to here.
    pub seconds: f64,
    /// What the lift of an unsteady run does at its end, with its Strouhal number.
    pub swings: Option<(Oscillation, f64)>,
}

impl Run<'_> {
    /// Says what is going to be done, and does it: all of it, or the check that was asked for.
    ///
    /// # Errors
    /// Status 2 for a restart that does not fit and results that are not the expected ones; status 3 for what the disk or the
    /// device refuses.
    pub fn go(&self, flow: &mut impl Flow) -> CliResult {
        if self.ctx.verbose() {
            let name = self.source.path.file_stem().and_then(|n| n.to_str()).unwrap_or("case");
            eprintln!("{}", if self.title.is_empty() { name } else { self.title });
            eprintln!("{}, {}{}", flow.headline(), self.ctx.device(), self.ctx.placed());
            for caution in flow.cautions() {
                eprintln!("warning: {caution}");
            }
            for missed in record::missed(flow, self.output) {
                eprintln!("warning: {missed}");
            }
            for note in flow.notes() {
                eprintln!("note: {note}");
            }
            if let Err(why) = profiler() {
                eprintln!("warning: {why}; no profiler sees this run");
            }
        }
        let dt = if let Time::Unsteady(unsteady) = self.time { unsteady.dt } else { 1.0 };
        let mut samples = Samples::new(self.output, dt, flow)?;
        if self.args.check {
            // A restart that a run would begin from has to be there, and to fit.
            self.resume(flow, &mut samples)?;
            flow.check(self.ctx)?;
            return Ok(Done::Success);
        }
        let (rows, loads) = self.resume(flow, &mut samples)?;
        let mut trace = self.args.trace.as_ref().map(|_| Trace::new(self.start));
        if let Some(trace) = &mut trace {
            trace.phase("read and set up", 0.0);
        }
        let finished = self.march(flow, (rows, loads, samples), &mut trace)?;
        let marched = trace.as_ref().map_or(0.0, Trace::now);
        if let Some(bad) = &finished.last.bad {
            eprintln!("{}", summary::bad_state(bad));
        }
        flow.solver_mut().sync().map_err(|e| self.lost(&e))?;
        let mut facts = flow.summary();
        let steady = matches!(self.time, Time::Steady(_));
        let failed = steady && finished.outcome != Outcome::Converged;
        let trouble = failed.then(|| Trouble::of(flow, &finished));
        facts.insert("trouble".to_owned(), trouble.as_ref().map_or(Value::Null, Trouble::json));
        let ranks = flow.rank_reports();
        flow.release();
        let residual = trouble.as_ref().map(|t| &t.field);
        let written = {
            let _range = range("write results");
            self.files.write_all(self, flow, &finished, residual)?
        };
        if let (Some(mut trace), Some(path)) = (trace, &self.args.trace) {
            trace.phase("write results", marched);
            trace.write(path)?;
        }
        let summary = summary::json(self, flow, &finished, (facts, &ranks));
        self.files.write_summary(&summary)?;
        self.ctx.write_json(&summary)?;
        if self.ctx.verbose() {
            summary::print(self, flow, &finished, (&written, &ranks));
            for line in trouble.iter().flat_map(Trouble::lines) {
                println!("{line}");
            }
        }
        if self.args.verify {
            let last = finished.rows.last().expect("at least one iteration");
            verify::verify(self.expect, last, finished.last.orders, finished.swings, self.ctx)?;
        }
        if finished.interrupted {
            return Ok(Done::Short);
        }
        // All iterations that a steady case allows, short of the drop that it asks for, is not what was asked for; the
        // physical steps of an unsteady case are.
        let drop_asked = steady && !self.expect.iterations_suffice;
        Ok(Done::of(finished.outcome, drop_asked))
    }

    /// Brings the solver to where an earlier run left off; the histories up to there.
    fn resume(&self, flow: &mut impl Flow, samples: &mut Samples) -> CliResult<(Vec<Row>, Loads)> {
        let own = self.files.restart();
        let path = match &self.args.restart {
            Some(path) => path.clone(),
            None if self.args.resume && own.exists() => own,
            None => return Ok((Vec::new(), Loads::default())),
        };
        let resumed = flow.resume(&path, (self.args.anew, &samples.kept()));
        let mut resumed = resumed.map_err(|e| match e {
            FlowError::Ranks(_) | FlowError::Files(_) => over_ranks::ended(&e),
            _ => CliError::input(format!("{}: {e}", path.display())),
        })?;
        for name in resumed.missing.iter().filter(|_| self.ctx.verbose()) {
            eprintln!("note: the restart has no `{name}`, which starts anew");
        }
        if resumed.other_flow && self.ctx.verbose() {
            eprintln!(
                "note: {} is of another flow (stream, gas, model, condition or flux): this one starts from its state, and iterations and residuals \
                 count anew",
                path.display()
            );
        }
        if self.args.anew || resumed.other_flow {
            return Ok((Vec::new(), Loads::default()));
        }
        let history = self.files.history();
        let mut rows = if history.exists() {
            history::read_of(&history, self.equations, &flow.coupled())?
        } else {
            Vec::new()
        };
        rows.retain(|r| r.iteration <= flow.solver().iteration());
        let loads = self.files.loads();
        let mut loads = if loads.exists() { Loads::read(&loads)? } else { Loads::default() };
        loads.rows.retain(|r| r.iteration <= flow.solver().iteration());
        let means = means_beside(&path);
        if flow.grid().is_some() && !samples.kept().is_empty() && means.exists() {
            let means = Restart::read(&means, &flow.mesh()).map_err(|e| CliError::input(e.to_string()))?;
            resumed.restart.extend(means);
        }
        samples.recall(&resumed.restart, self.files.folder(), rows.last().map_or(0, |row| row.time_step))?;
        Ok((rows, loads))
    }

    /// Iterates until an outcome or an interruption, with restarts and snapshots on the way.
    fn march(
        &self,
        flow: &mut impl Flow,
        (mut rows, mut loads, mut samples): (Vec<Row>, Loads, Samples),
        trace: &mut Option<Trace>,
    ) -> CliResult<Finished> {
        let goal = Goal::from(&self.time);
        let mut screen = Screen::new(goal, self.equations, self.ctx.interactive(), !self.ctx.verbose());
        let cadence = Cadence::new(goal, self.output);
        let before = rows.len();
        let mut control = Control::new(self.files.folder());
        let mut tally = Tally::default();
        let mut live =
            Live::new(self.files.folder(), self.title, goal, self.equations, &flow.coupled(), &rows);
        let (mut first_order, mut damped, mut hard, mut coarse_grids) = (false, false, false, None);
        interrupt::watch();
        loop {
            let report = flow.solver_mut().try_step().map_err(|e| self.lost(&e))?;
            let row = Row::of(&report);
            tally.add(&report, &self.time);
            rows.push(row);
            loads.push(&report);
            live.push(&row);
            if let Some(trace) = trace {
                trace.iteration(report.iteration, &report.times);
            }
            let orders = orders(&mut control, flow, &mut screen);
            let interrupted = interrupt::asked() || orders.stop;
            let ends = report.outcome.is_some() || interrupted;
            screen.row(&row, report.orders, ends);
            if report.rejected {
                screen.note(&format!("iteration {}: step rejected, taken again", report.iteration));
            }
            if report.first_order != first_order {
                first_order = report.first_order;
                let order = if first_order { "first" } else { "second" };
                screen.note(&format!(
                    "iteration {}: steps of {order} order in space from here",
                    report.iteration
                ));
            }
            let left = report.coarse_grids;
            if coarse_grids.replace(left).is_some_and(|before| before > left) {
                let what = "the flow swings with what coarse grids carry across its shocks";
                screen.note(&format!("iteration {}: {what}: steps with {left} from here", report.iteration));
            }
            if report.damped && !damped {
                damped = true;
                let flux = summary::damped_flux();
                screen.note(&format!("iteration {}: no steady flow was found: {flux}", report.iteration));
            }
            if report.hard && !hard {
                let what = "linear systems are hard to solve: their matrix damps entropy and shear";
                screen.note(&format!("iteration {}: {what}", report.iteration));
            }
            hard = report.hard;
            if self.output.matrix == report.iteration {
                flow.solver_mut().sync().map_err(|e| self.lost(&e))?;
                if let Some(path) = self.files.write_system(self.output, flow)? {
                    screen.note(&format!(
                        "iteration {}: linear system in {}",
                        report.iteration,
                        path.display()
                    ));
                }
            }
            let over = report.step_over.then_some(report.time_step);
            if let Some(step) = over.filter(|step| samples.wants(*step)) {
                flow.solver_mut().sync().map_err(|e| self.lost(&e))?;
                samples.take(step, &flow.fields_of(&|name| samples.reads(name)))?;
            }
            let due = cadence.after(report.iteration, over);
            if let Some(step) = due.fields {
                flow.solver_mut().sync().map_err(|e| self.lost(&e))?;
                let dt = if let Time::Unsteady(unsteady) = self.time { unsteady.dt } else { 1.0 };
                self.files.write_snapshot(self.output, flow, (step, dt))?;
            }
            if ends {
                if interrupted {
                    screen.note("interrupted: writing restart and fields");
                }
                return Ok(Finished {
                    outcome: report.outcome.unwrap_or(Outcome::IterationLimit),
                    interrupted: interrupted && report.outcome.is_none(),
                    swings: self.swings(&rows),
                    taken: rows.len() - before,
                    tally,
                    rows,
                    loads,
                    samples,
                    last: report,
                    seconds: self.start.elapsed().as_secs_f64(),
                });
            }
            if due.restart || orders.checkpoint {
                flow.solver_mut().sync().map_err(|e| self.lost(&e))?;
                self.files.write_restart(self, flow, &rows, &loads, &samples)?;
            }
        }
    }

    fn swings(&self, rows: &[Row]) -> Option<(Oscillation, f64)> {
        let Time::Unsteady(unsteady) = self.time else { return None };
        let found = Oscillation::of(rows)?;
        let [length, velocity] = self.strouhal;
        Some((found, found.strouhal(unsteady.dt, length, velocity)))
    }

    /// A device or a rank has failed.
    fn lost(&self, error: &FlowError) -> CliError {
        over_ranks::with_remedy(error, &self.files.restart())
    }
}

/// Follows what the control file says; what the march itself has to do is left.
fn orders(control: &mut Control, flow: &mut impl Flow, screen: &mut Screen) -> Orders {
    let orders = match control.take() {
        None => return Orders::default(),
        Some(Err(why)) => {
            screen.note(&why);
            return Orders::default();
        }
        Some(Ok(orders)) => orders,
    };
    if let Some(largest) = orders.cfl_max {
        flow.solver_mut().set_largest_cfl(largest);
        screen.note(&format!("control: the largest CFL number is {largest}"));
    }
    if let Some(most) = orders.iterations {
        flow.solver_mut().set_iterations(most);
        screen.note(&format!("control: {most} iterations at most"));
    }
    if orders.checkpoint {
        screen.note("control: writing a restart");
    }
    orders
}
