#![allow(unsafe_code)]
//! The driver of all relaxations: sweeps, residuals, restarts, on a team of threads.

use super::diagonal::Factors;
use super::lines::factor::Couplings;
use super::lines::sweep::{LineData, sweep_lines};
use super::over_ranks::{self, Part};
use super::smoother::{Smoother, Update};
use super::sweep::{Diagonal, Double, Half, Precision, Single, SweepData, sweep_list, sweep_rows};
use super::{Direction, Guess, RelaxError, SolveOptions, SolveReport};
use crate::Outcome;
use crate::shared::SharedMut;
use crate::sparse::{Jacobian, Off, OffDiagonal, product_rows};
use crate::stop::{Control, StopCriterion};
use chromaflow_device::{Buffer, Member};
use chromaflow_simd::Elem;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Rows whose squares are summed together; sums over them follow in order, so that norms do not depend on the number
/// of threads.
const CHUNK: usize = 512;

/// Vectors kept from solve to solve.
#[derive(Default)]
pub(super) struct Work {
    single: [Buffer<f32>; 2],
    double: [Buffer<f64>; 2],
    trial: Buffer<f64>,
    rhs: Buffer<f64>,
    residual: Buffer<f64>,
    partial: Buffer<f64>,
}

/// The work vectors of a precision.
pub(super) trait Vectors: Precision {
    fn x(work: &mut Work) -> &mut [Buffer<Self::X>; 2];
    /// What couples the rows of lines, where it is of this precision.
    fn couplings(found: &Couplings) -> Option<&[Buffer<Self::X>; 2]>;
}
impl Vectors for Double {
    fn x(work: &mut Work) -> &mut [Buffer<f64>; 2] {
        &mut work.double
    }
    fn couplings(found: &Couplings) -> Option<&[Buffer<f64>; 2]> {
        if let Couplings::Double(found) = found { Some(found) } else { None }
    }
}
impl Vectors for Single {
    fn x(work: &mut Work) -> &mut [Buffer<f32>; 2] {
        &mut work.single
    }
    fn couplings(found: &Couplings) -> Option<&[Buffer<f32>; 2]> {
        if let Couplings::Single(found) = found { Some(found) } else { None }
    }
}
impl Vectors for Half {
    fn x(work: &mut Work) -> &mut [Buffer<f32>; 2] {
        &mut work.single
    }
    fn couplings(found: &Couplings) -> Option<&[Buffer<f32>; 2]> {
        if let Couplings::Single(found) = found { Some(found) } else { None }
    }
}

impl Smoother {
    pub(super) fn solve_factored(
        &mut self,
        factors: &Factors,
        jac: &Jacobian,
        outer: &Jacobian,
        b: &[f64],
        x: &mut [f64],
        options: &SolveOptions,
    ) -> Result<SolveReport, RelaxError> {
        if let Some(row) = factors.singular() {
            let outcome = Outcome::Breakdown { row };
            return Ok(SolveReport { outcome, sweeps: 0, relative_residual: None, history: Vec::new() });
        }
        let watched = options.tolerance.is_some() || options.history;
        if !outer.is_whole() && (watched || options.restart.is_some()) {
            return Err(RelaxError::DiagonalGone);
        }
        let x = SharedMut(x.as_mut_ptr());
        let problem = Problem { b, x, outer, options, watched };
        let pattern = Arc::clone(&self.pattern);
        let diag = factors.view(&jac.diag);
        Ok(match &jac.off {
            OffDiagonal::F64(v) => self.run::<Double>(&problem, Off::new(&pattern, v, None), diag),
            OffDiagonal::F32(v) => self.run::<Single>(&problem, Off::new(&pattern, v, None), diag),
            OffDiagonal::F16 { values, unscale } => {
                self.run::<Half>(&problem, Off::new(&pattern, values, Some(unscale)), diag)
            }
        })
    }

    fn run<P: Vectors>(
        &mut self,
        problem: &Problem<'_>,
        off: Off<'_, P::Off>,
        diag: Diagonal<'_>,
    ) -> SolveReport {
        let (n, rows) = (problem.b.len(), self.pattern.rows());
        let restart = problem.options.restart.is_some();
        let grow = |buffer: &mut Buffer<f64>, len: usize| {
            if buffer.len() != len {
                *buffer = Buffer::zeroed(len);
            }
            SharedMut(buffer.as_mut_ptr())
        };
        let length = |needed: bool| if needed { n } else { 0 };
        let trial = grow(&mut self.work.trial, length(restart));
        let rhs = grow(&mut self.work.rhs, length(restart));
        let residual = grow(&mut self.work.residual, length(problem.watched || restart));
        let partial = grow(&mut self.work.partial, rows.div_ceil(CHUNK));
        let two = self.update != Update::InPlace;
        let x = P::x(&mut self.work);
        for (i, buffer) in x.iter_mut().enumerate() {
            let len = length(i == 0 || two);
            if buffer.len() != len {
                *buffer = Buffer::zeroed(len);
            }
        }
        let [x0, x1] = x;
        let x0 = SharedMut(x0.as_mut_ptr());
        let x1 = if two { SharedMut(x1.as_mut_ptr()) } else { x0 };
        let couplings = self.lines.as_ref().and_then(|(_, couplings)| P::couplings(couplings.as_ref()?));
        let finite = AtomicBool::new(true);
        let report = Mutex::new(None);
        let shared = Run::<P> {
            engine: self,
            problem,
            off: SharedRef(&off),
            diag: SharedRef(&diag),
            x: [x0, x1],
            couplings,
            trial,
            rhs,
            residual,
            partial,
            finite: &finite,
        };
        self.team.run(|member| {
            let mine = shared.member(member);
            if member.rank() == 0 {
                *report.lock().expect("one writer") = Some(mine);
            }
        });
        report.into_inner().expect("one writer").expect("the first member reports")
    }
}

/// What is solved.
struct Problem<'a> {
    b: &'a [f64],
    x: SharedMut<f64>,
    outer: &'a Jacobian,
    options: &'a SolveOptions,
    watched: bool,
}

// SAFETY: the pointers in it are read by all members; `x` is written row by row by its owners.
unsafe impl Sync for Problem<'_> {}

/// A reference to data with pointers that members only read through, except for x, which its owners write.
struct SharedRef<'a, T>(&'a T);

// SAFETY: see the type; the sweep's barriers order reads and writes of x.
unsafe impl<T> Sync for SharedRef<'_, T> {}

/// What the members of a team share during a solve.
struct Run<'a, P: Precision> {
    engine: &'a Smoother,
    problem: &'a Problem<'a>,
    off: SharedRef<'a, Off<'a, P::Off>>,
    diag: SharedRef<'a, Diagonal<'a>>,
    /// The correction, twice where updates are simultaneous; the second is room for lines.
    x: [SharedMut<P::X>; 2],
    couplings: Option<&'a [Buffer<P::X>; 2]>,
    trial: SharedMut<f64>,
    rhs: SharedMut<f64>,
    residual: SharedMut<f64>,
    partial: SharedMut<f64>,
    finite: &'a AtomicBool,
}

impl<P: Precision> Run<'_, P> {
    /// The program of every member. All take the same decisions, because all see the same norms.
    fn member(&self, member: &Member<'_>) -> SolveReport {
        let (options, problem) = (self.problem.options, self.problem);
        let restarted = options.restart.is_some();
        let solution = problem.x.get();
        let mut current = 0; // which of the two x holds the correction
        let zero = options.guess == Guess::Zero;
        self.each(member, |i| {
            // SAFETY: entries of owned rows (here and below), within the lengths checked before.
            unsafe {
                if zero {
                    *solution.add(i) = 0.0;
                }
                let start = if restarted { 0.0 } else { *solution.add(i) };
                *self.x[0].get().add(i) = P::X::from_f64(start);
            }
        });
        member.barrier();

        let mut rhs = problem.b.as_ptr();
        let mut history = Vec::new();
        let norm_b = if problem.watched { self.norm(member, |rows| square(&problem.b[rows])) } else { 0.0 };
        let relative = |norm: f64| if norm_b > 0.0 { norm / norm_b } else { norm };
        if restarted && !zero {
            let norm = self.residual(member, solution, self.rhs.get());
            rhs = self.rhs.get();
            history.push(relative(norm));
        } else if problem.watched {
            history.push(if zero {
                relative(norm_b)
            } else {
                relative(self.residual(member, solution, self.residual.get()))
            });
        }
        // Relative residuals are compared; without a tolerance all sweeps are done.
        let control = Control { tolerance: options.tolerance.unwrap_or(0.0), max_iterations: options.sweeps };
        let first = history.first().copied();
        let mut criterion = StopCriterion::new(control, first.unwrap_or(1.0), 1.0);
        let mut outcome = first.filter(|_| options.tolerance.is_some()).and_then(|r| criterion.stop(r, 0));
        let mut sweep = 0;
        while sweep < options.sweeps && outcome.is_none() {
            sweep += 1;
            let correct = options.restart.is_some_and(|every| sweep.is_multiple_of(every.max(1)));
            let closes = correct || problem.watched || sweep == options.sweeps;
            if options.direction != Direction::Backward {
                let closes = closes && options.direction == Direction::Forward;
                let from_zero = sweep == 1 && (zero || restarted) && self.engine.skips_zeros();
                self.sweep(member, &mut current, rhs, (false, closes), from_zero);
            }
            if options.direction != Direction::Forward {
                self.sweep(member, &mut current, rhs, (true, closes), false);
            }
            if !(problem.watched || correct) {
                continue;
            }
            // The solution as it stands, in f64.
            let total = if restarted { self.trial.get() } else { solution };
            let x = self.x[current].get();
            self.each(member, |i| unsafe {
                // SAFETY: as above.
                let correction: f64 = (*x.add(i)).into();
                *total.add(i) = if restarted { *solution.add(i) + correction } else { correction };
            });
            member.barrier();
            let norm = self.residual(member, total, self.residual.get());
            if problem.watched {
                let now = relative(norm);
                history.push(now);
                outcome = match options.tolerance {
                    Some(_) => criterion.stop(now, sweep),
                    None => criterion.diverged(now).then_some(Outcome::Diverged { iteration: sweep }),
                };
                if outcome.is_none() && criterion.stagnates(now, sweep) {
                    outcome = Some(Outcome::Stagnated);
                }
            }
            if correct {
                let (residual, new_rhs) = (self.residual.get(), self.rhs.get());
                self.each(member, |i| unsafe {
                    // SAFETY: as above.
                    *solution.add(i) = *total.add(i);
                    *x.add(i) = P::X::from_f64(0.0);
                    *new_rhs.add(i) = *residual.add(i);
                });
                rhs = new_rhs;
                member.barrier();
            }
        }
        let x = self.x[current].get();
        let mut finite = true;
        self.each(member, |i| unsafe {
            // SAFETY: as above.
            let correction: f64 = (*x.add(i)).into();
            let value = if restarted { *solution.add(i) + correction } else { correction };
            *solution.add(i) = value;
            finite &= value.is_finite();
        });
        if !finite {
            self.finite.store(false, Ordering::Relaxed);
        }
        member.barrier();
        if !self.finite.load(Ordering::Relaxed) {
            outcome = Some(Outcome::Diverged { iteration: sweep });
        }
        let outcome = outcome.unwrap_or(Outcome::IterationLimit);
        let relative_residual = if problem.watched { history.last().copied() } else { None };
        if !options.history {
            history.clear();
        }
        SolveReport { outcome, sweeps: sweep, relative_residual, history }
    }

    /// Every entry of the member's own rows.
    fn each(&self, member: &Member<'_>, mut entry: impl FnMut(usize)) {
        let nb = self.engine.nb;
        for rows in self.engine.schedule.owned(member.rank()) {
            (rows.start * nb..rows.end * nb).for_each(&mut entry);
        }
    }

    /// One pass over all batches, the last one before somebody looks at x where it `closes`.
    fn sweep(
        &self,
        member: &Member<'_>,
        current: &mut usize,
        b: *const f64,
        (backward, closes): (bool, bool),
        from_zero: bool,
    ) {
        let engine = self.engine;
        let other = if engine.update == Update::Simultaneous { 1 - *current } else { *current };
        let data = SweepData::<P> {
            off: *self.off.0,
            diag: *self.diag.0,
            b,
            x_in: self.x[*current].get(),
            x_out: self.x[other].get(),
            damping: self.problem.options.damping,
            from_zero,
        };
        if let Some(share) = &engine.share {
            let x = (engine.nb, data.x_out);
            let simultaneous = engine.update == Update::Simultaneous;
            let all = simultaneous.then(|| over_ranks::all_are_chained(share, engine.nb));
            // SAFETY: as in `update`.
            unsafe {
                let (nb, isa, lists) = (engine.nb, engine.isa, engine.nb > 1 && engine.lines.is_none());
                over_ranks::sweep(share, member, x, (backward, closes), lists, |part, chained| {
                    let chained = all.unwrap_or(chained);
                    match part {
                        Part::Run(rows) => self.update(&data, rows, false, chained),
                        Part::List(rows) => sweep_list(isa, nb, &data, rows, chained),
                    }
                });
            }
            *current = other;
            return;
        }
        let steps = engine.schedule.steps();
        for step in 0..steps {
            let step = if backward { steps - 1 - step } else { step };
            let rows = engine.schedule.rows(step, member.rank());
            // Memory is read faster upwards, so rows go backward only where that matters.
            let backward = backward && !engine.schedule.independent(step);
            self.update(&data, rows, backward, engine.schedule.chained(step));
            member.barrier();
        }
        *current = other;
    }

    /// New values of some rows of a batch, or of the lines that begin among them.
    fn update(&self, data: &SweepData<'_, P>, rows: Range<usize>, backward: bool, chained: bool) {
        let engine = self.engine;
        // SAFETY: lengths were checked, the instruction set too; a member writes only its rows of a batch, whose
        // rows or lines do not read one another (checked when the relaxation was made), and barriers part the batches.
        unsafe {
            if let (Some((table, _)), Some(couplings)) = (&engine.lines, self.couplings) {
                let couplings = couplings.each_ref().map(|blocks| blocks.as_ptr());
                let lines = LineData { table, couplings, room: self.x[1].get() };
                sweep_lines(engine.isa, engine.nb, data, &lines, rows, backward);
            } else {
                sweep_rows(engine.isa, engine.nb, data, rows, backward, chained);
            }
        }
    }

    /// `r = b - A x`; its norm.
    fn residual(&self, member: &Member<'_>, x: *const f64, r: *mut f64) -> f64 {
        let (problem, nb) = (self.problem, self.engine.nb);
        self.norm(member, |entries| {
            let rows = entries.start / nb..entries.end / nb;
            // SAFETY: lengths were checked, the instruction set too; x is complete (a barrier came before) and each
            // chunk of r has one writer.
            unsafe {
                product_rows(self.engine.isa, problem.outer, Some(problem.b.as_ptr()), x, r, rows);
                square(std::slice::from_raw_parts(r.add(entries.start), entries.len()))
            }
        })
    }

    /// The root of a sum over all rows, taken chunk by chunk; ends with a barrier.
    fn norm(&self, member: &Member<'_>, squares: impl Fn(Range<usize>) -> f64) -> f64 {
        let (rows, nb) = (self.engine.pattern.rows(), self.engine.nb);
        let chunks = rows.div_ceil(CHUNK);
        for chunk in member.share(chunks) {
            let sum = squares(chunk * CHUNK * nb..((chunk + 1) * CHUNK).min(rows) * nb);
            // SAFETY: `partial` has one entry a chunk, and each chunk one member.
            unsafe { *self.partial.get().add(chunk) = sum };
        }
        member.barrier();
        // SAFETY: complete since the barrier.
        let total: f64 = (0..chunks).map(|chunk| unsafe { *self.partial.get().add(chunk) }).sum();
        member.barrier();
        total.sqrt()
    }
}

fn square(values: &[f64]) -> f64 {
    values.iter().map(|v| v * v).sum()
}
