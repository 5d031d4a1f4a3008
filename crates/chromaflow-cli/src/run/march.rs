//! From a solver that is set up to forces and fields: the one loop of all kinds of case.

use super::advice::Trouble;
use super::cadence::Cadence;
use super::files::Files;
use super::flow::{Flow, resume};
use super::history::{self, Equations, Row};
use super::oscillation::Oscillation;
use super::{Args, Goal, Screen, interrupt, summary, verify};
use crate::case::{ExpectSection, OutputSection, Source};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow::Outcome;
use chromaflow_flow::StepReport;
use chromaflow_flow::config::Time;
use chromaflow_flow::march::FlowError;
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
    /// Iterations of this run.
    pub taken: usize,
    /// The last report.
    pub last: StepReport,
    /// Seconds from reading the case to here.
    pub seconds: f64,
    /// What an unsteady run settles to, with its Strouhal number.
    pub settled: Option<(Oscillation, f64)>,
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
            eprintln!("{}, {}", flow.headline(), self.ctx.device());
        }
        if self.args.check {
            flow.check(self.ctx)?;
            return Ok(Done::Success);
        }
        let rows = self.resume(flow)?;
        let finished = self.march(flow, rows)?;
        if let Some(bad) = &finished.last.bad {
            eprintln!("{}", summary::bad_state(bad));
        }
        flow.solver_mut().sync().map_err(|e| self.lost(&e))?;
        let mut facts = flow.summary();
        let steady = matches!(self.time, Time::Steady(_));
        let failed = steady && finished.outcome != Outcome::Converged;
        let trouble = failed.then(|| flow.trouble(&finished)).flatten();
        facts.insert("trouble".to_owned(), trouble.as_ref().map_or(Value::Null, Trouble::json));
        flow.release();
        let written = self.files.write_all(self, flow, &finished.rows)?;
        let summary = summary::json(self, flow, &finished, facts);
        self.files.write_summary(&summary)?;
        self.ctx.write_json(&summary)?;
        if self.ctx.verbose() {
            summary::print(self, flow, &finished, &written);
            for line in trouble.iter().flat_map(Trouble::lines) {
                println!("{line}");
            }
        }
        if self.args.verify {
            let last = finished.rows.last().expect("at least one iteration");
            verify::verify(self.expect, last, finished.last.orders, finished.settled, self.ctx)?;
        }
        if finished.interrupted {
            return Ok(Done::Short);
        }
        // All iterations that a steady case allows, short of the drop that it asks for, is not what was asked for; the
        // physical steps of an unsteady case are.
        let drop_asked = steady && !self.expect.iterations_suffice;
        Ok(Done::of(finished.outcome, drop_asked))
    }

    /// Brings the solver to where an earlier run left off; the history up to there.
    fn resume(&self, flow: &mut impl Flow) -> CliResult<Vec<Row>> {
        let own = self.files.restart();
        let path = match &self.args.restart {
            Some(path) => path.clone(),
            None if self.args.resume && own.exists() => own,
            None => return Ok(Vec::new()),
        };
        resume(flow, &path)?;
        let history = self.files.history();
        let mut rows = if history.exists() {
            history::read_of(&history, self.equations, &flow.coupled())?
        } else {
            Vec::new()
        };
        rows.retain(|r| r.iteration <= flow.solver().iteration());
        Ok(rows)
    }

    /// Iterates until an outcome or an interruption, with restarts and snapshots on the way.
    fn march(&self, flow: &mut impl Flow, mut rows: Vec<Row>) -> CliResult<Finished> {
        let goal = Goal::from(&self.time);
        let mut screen = Screen::new(goal, self.equations, self.ctx.interactive(), !self.ctx.verbose());
        let mut cadence = Cadence::new(goal, self.output);
        let before = rows.len();
        interrupt::watch();
        loop {
            let report = flow.solver_mut().try_step().map_err(|e| self.lost(&e))?;
            let row = Row::of(&report);
            rows.push(row);
            let interrupted = interrupt::asked();
            let ends = report.outcome.is_some() || interrupted;
            screen.row(&row, report.orders, ends);
            if report.rejected {
                screen.note(&format!("iteration {}: step rejected, CFL lowered", report.iteration));
            }
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
            if ends {
                if interrupted {
                    screen.note("interrupted: writing restart and fields");
                }
                return Ok(Finished {
                    outcome: report.outcome.unwrap_or(Outcome::IterationLimit),
                    interrupted: interrupted && report.outcome.is_none(),
                    settled: self.settled(&rows),
                    taken: rows.len() - before,
                    rows,
                    last: report,
                    seconds: self.start.elapsed().as_secs_f64(),
                });
            }
            let due = cadence.after(report.iteration, report.time_step);
            if due.any() {
                flow.solver_mut().sync().map_err(|e| self.lost(&e))?;
            }
            if due.restart {
                self.files.write_restart(self, flow, &rows)?;
            }
            if let Some(step) = due.fields {
                self.files.write_snapshot(self.output, flow, step)?;
            }
        }
    }

    fn settled(&self, rows: &[Row]) -> Option<(Oscillation, f64)> {
        let Time::Unsteady(unsteady) = self.time else { return None };
        let found = Oscillation::of(rows)?;
        let [length, velocity] = self.strouhal;
        Some((found, found.strouhal(unsteady.dt, length, velocity)))
    }

    /// A device that failed takes the state with it; what is on disk stays.
    fn lost(&self, error: &FlowError) -> CliError {
        let restart = self.files.restart();
        let remedy = if restart.exists() {
            format!("go on from {} with --resume", restart.display())
        } else {
            "no restart had been written yet".to_owned()
        };
        CliError::environment(format!("{error}; {remedy}"))
    }
}
