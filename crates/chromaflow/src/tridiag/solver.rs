//! Methods, options, and the solver that keeps its work space.

use super::groups::{Array, Target, Workers};
use super::lanes::width;
use super::thomas::cpu::Work;
use super::thomas::reference::Line;
use super::whole::{self, Engine, Operations};
use super::{Batch, LineOutcome, Precision, Real, Shared, TridiagError};
use chromaflow_device::{Isa, Team};
use chromaflow_simd::{Plain, Real as _};
use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;
use std::sync::Mutex;

/// How systems are solved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Method {
    /// The fastest for the shape at hand: on a CPU that is [`Method::Thomas`].
    #[default]
    Auto,
    /// The Thomas algorithm.
    Thomas,
    /// Cyclic reduction.
    CyclicReduction,
    /// Parallel cyclic reduction.
    ParallelCyclicReduction,
    /// Cyclic reduction, then parallel cyclic reduction on the last rows.
    CrPcr,
    /// Parallel cyclic reduction, then Thomas on the short lines that it leaves.
    PcrThomas,
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 6] = [
        Method::Auto,
        Method::Thomas,
        Method::CyclicReduction,
        Method::ParallelCyclicReduction,
        Method::CrPcr,
        Method::PcrThomas,
    ];

    /// The name on command lines and in results; `hybrid` is read as [`Method::CrPcr`] as well.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Thomas => "thomas",
            Method::CyclicReduction => "cr",
            Method::ParallelCyclicReduction => "pcr",
            Method::CrPcr => "cr-pcr",
            Method::PcrThomas => "pcr-thomas",
        }
    }

    /// The block operations on a line of `rows` rows: counted while one is solved; those of Thomas, which streams, by formula.
    ///
    /// **Source**: Stone et al. (2011), Table 1.
    pub fn operations(self, rows: usize) -> Operations {
        type One = Plain<f64, 1>;
        let Some(engine) = self.engine(false) else {
            let pairs = rows.saturating_sub(1);
            return Operations { inverses: rows, products: 2 * pairs, vectors: rows + 2 * pairs };
        };
        let mut room = vec![One::c(0.0); whole::Line::<One>::room(rows, 1, false)];
        let mut line = whole::Line::new(rows, 1, false, &mut room);
        line.b.fill(One::c(1.0));
        engine.solve(&mut line);
        line.count
    }

    /// The engine of lines that are read whole; None for Thomas on open lines, which streams.
    fn engine(self, periodic: bool) -> Option<Engine> {
        let engine = match self {
            Method::Auto | Method::Thomas => return periodic.then_some(Engine::Thomas),
            Method::CyclicReduction => Engine::CyclicReduction,
            Method::ParallelCyclicReduction => Engine::ParallelCyclicReduction,
            Method::CrPcr => Engine::CrPcr,
            Method::PcrThomas => Engine::PcrThomas,
        };
        Some(engine)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A method name that is not one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown tridiagonal method `{0}`: expected auto, thomas, cr, pcr, cr-pcr (or hybrid) or pcr-thomas")]
pub struct UnknownMethod(String);

impl FromStr for Method {
    type Err = UnknownMethod;
    fn from_str(s: &str) -> Result<Self, UnknownMethod> {
        let name = if s == "hybrid" { "cr-pcr" } else { s };
        Method::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| UnknownMethod(s.to_owned()))
    }
}

/// Which pivots the factorization of a block takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Pivoting {
    /// The diagonal as it comes: right for the diagonally dominant blocks of implicit schemes, and the fast way.
    #[default]
    None,
    /// The largest entry of the column (inside the block): one system at a time, several times slower.
    Partial,
}

/// What a [`Solver`] does and with what.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The method.
    pub method: Method,
    /// Pivoting inside blocks.
    pub pivoting: Pivoting,
    /// The vector instructions to use, at most (weaker ones where the machine lacks them).
    pub isa: Isa,
}

impl Default for Options {
    fn default() -> Self {
        Self { method: Method::default(), pivoting: Pivoting::default(), isa: Isa::detect() }
    }
}

/// Solves batches of line systems; keeps its work space between calls.
///
/// **Precision**: as `P` says: [`super::Single`], [`super::Double`] or [`super::Mixed`]. Results do not depend on the
/// number of threads; they may differ in the last bits between instruction sets (fused products).
pub struct Solver<P> {
    options: Options,
    workers: Workers,
    precision: PhantomData<P>,
}

impl<P: Precision> Solver<P> {
    /// A solver with no work space yet.
    pub fn new(mut options: Options) -> Self {
        options.isa = options.isa.min(Isa::strongest());
        Self { options, workers: Workers::default(), precision: PhantomData }
    }

    /// The number of systems that go through the vector unit together: data interleaved by this number
    /// ([`super::Layout::Interleaved`]) are read without rearranging.
    pub fn lanes(&self) -> usize {
        width::<P>(self.options.isa)
    }

    /// Solves every system of `batch` for its right-hand side; the inputs are kept.
    ///
    /// **Shapes**: `rhs`, `x` in the batch's layout with rank entries a row. **Outcome**: a zero pivot, or numbers that
    /// overflow, are a [`LineOutcome::Breakdown`] that names the first such system and its row.
    ///
    /// # Errors
    /// [`TridiagError::Length`], [`TridiagError::Unsupported`].
    pub fn solve(
        &mut self,
        team: &Team,
        batch: &Batch<'_, P::Store>,
        rhs: &[P::Store],
        x: &mut [P::Store],
    ) -> Result<LineOutcome, TridiagError> {
        let shape = batch.shape;
        batch.layout.check(shape, shape.rank, "rhs", rhs.len())?;
        batch.layout.check(shape, shape.rank, "x", x.len())?;
        if shape.systems == 0 {
            return Ok(LineOutcome::Solved);
        }
        let engine = self.options.method.engine(batch.periodic);
        if self.options.pivoting == Pivoting::Partial {
            if !matches!(self.options.method, Method::Auto | Method::Thomas) {
                let method = self.options.method.name();
                return Err(TridiagError::Unsupported { method, what: "pivoting", remedy: "thomas" });
            }
            return Ok(one_by_one::<P>(team, batch, rhs, x));
        }
        let isa = self.options.isa;
        let array = |values, width| Array { values, layout: batch.layout, shape, width };
        let target = Target::<P> { values: Shared::new(x), layout: batch.layout, shape };
        let bad = self.workers.run(team, |part| {
            let work = Work {
                lower: array(batch.lower, shape.block()),
                diag: array(batch.diag, shape.block()),
                upper: array(batch.upper, shape.block()),
                rhs: array(rhs, shape.rank),
                x: &target,
                periodic: batch.periodic,
                part,
            };
            P::run(isa, engine, work)
        });
        Ok(bad.map_or(LineOutcome::Solved, |vector| diagnose::<P>(batch, rhs, x, vector * self.lanes())))
    }
}

/// Each system by the reference, with pivoting.
fn one_by_one<P: Precision>(
    team: &Team,
    batch: &Batch<'_, P::Store>,
    rhs: &[P::Store],
    x: &mut [P::Store],
) -> LineOutcome {
    let (shape, layout, m) = (batch.shape, batch.layout, batch.shape.rank);
    let out = Shared::new(x);
    let worst = Mutex::new(None::<(usize, usize)>);
    team.run(|member| {
        for s in member.share(shape.systems) {
            let line = line_of::<P>(batch, s);
            let solved = line.solve(&batch.gather::<P::Sum>(rhs, m, s), true);
            for k in 0..shape.rows * m {
                let value = solved.as_ref().map_or(f64::NAN, |x| x[k].to_f64());
                out.set(layout.index(shape, m, s, k / m, k % m), P::Store::from_f64(value));
            }
            // A sound pivot does not make numbers of right-hand sides that are none, or bring too large ones within range.
            let finite = |v: &P::Sum| P::Store::from_f64(v.to_f64()).to_f64().is_finite();
            let trouble = match &solved {
                Err(row) => Some(*row),
                Ok(x) => x.iter().position(|v| !finite(v)).map(|at| at / m),
            };
            if let Some(row) = trouble {
                let mut worst = worst.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                *worst = Some(worst.map_or((s, row), |w| w.min((s, row))));
            }
        }
    });
    match worst.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner) {
        None => LineOutcome::Solved,
        Some((system, row)) => LineOutcome::Breakdown { system, row },
    }
}

/// One system of a batch, in the precision of its sums.
pub(super) fn line_of<P: Precision>(batch: &Batch<'_, P::Store>, s: usize) -> Line<P::Sum> {
    let q = batch.shape.block();
    Line {
        rank: batch.shape.rank,
        lower: batch.gather(batch.lower, q, s),
        diag: batch.gather(batch.diag, q, s),
        upper: batch.gather(batch.upper, q, s),
        periodic: batch.periodic,
    }
}

/// Finds the first system from `start` on whose solution is not finite, and its row, by solving it once more.
pub(super) fn diagnose<P: Precision>(
    batch: &Batch<'_, P::Store>,
    rhs: &[P::Store],
    x: &[P::Store],
    start: usize,
) -> LineOutcome {
    let m = batch.shape.rank;
    for system in start..batch.shape.systems {
        let values = batch.gather::<f64>(x, m, system);
        let Some(at) = values.iter().position(|v| !v.is_finite()) else { continue };
        let row = match line_of::<P>(batch, system).solve(&batch.gather::<P::Sum>(rhs, m, system), false) {
            Err(row) => row,
            Ok(_) => at / m,
        };
        return LineOutcome::Breakdown { system, row };
    }
    LineOutcome::Solved
}
