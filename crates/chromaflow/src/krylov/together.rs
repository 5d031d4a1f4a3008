//! Several right-hand sides at once.
//!
//! Each is solved by the method's own text, which is left where it needs a product and gone on with once it is there: in between, the
//! products that all of them wait for are formed together, so that matrix and factors are read once for all. Every solution, outcome and
//! history is that of the solve alone, to the last bit.

use super::gmres::{Basis, gmres, vector_at};
use super::gram_schmidt::orthogonalize;
use super::{Control, Gmres, LinearOperator, Preconditioner, Solve};
use crate::dist::Inner;
use crate::vector::{axpy, combine, scale};
use chromaflow_device::Team;
use std::cell::Cell;
use std::convert::Infallible;
use std::future::poll_fn;
use std::mem::take;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// What a method that never waits comes to.
pub(super) fn at_once<F: Future>(method: F) -> F::Output {
    match pin!(method).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => unreachable!("all products are formed where they are asked for"),
    }
}

/// What a column waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    /// to = A from
    Product,
    /// to = b - A from
    Residual,
    /// to = M from
    Correction,
}

/// The vectors of a column that are being worked with, or have been.
#[derive(Default)]
struct Work {
    /// What is to be done with them; nothing more, once it is.
    need: Option<Need>,
    from: Vec<f64>,
    to: Vec<f64>,
}

/// Where a column leaves its vectors and finds them again.
#[derive(Default)]
struct Desk(Cell<Option<Work>>);

impl Desk {
    /// Has something done with vectors; they come back.
    async fn ask(&self, need: Need, from: Vec<f64>, to: Vec<f64>) -> (Vec<f64>, Vec<f64>) {
        self.0.set(Some(Work { need: Some(need), from, to }));
        poll_fn(|_| match self.0.take() {
            Some(Work { need: None, from, to }) => Poll::Ready((from, to)),
            unfinished => {
                self.0.set(unfinished);
                Poll::Pending
            }
        })
        .await
    }
}

/// One system of several.
struct Column<'a> {
    team: &'a Team,
    operator: &'a dyn LinearOperator,
    desk: &'a Desk,
    b: &'a [f64],
    /// Whether the preconditioner is one linear map.
    fixed: bool,
    x: Vec<f64>,
    kept: Vec<f64>,
    r: Vec<f64>,
    v: Vec<Vec<f64>>,
    z: Vec<Vec<f64>>,
}

impl Column<'_> {
    fn inner(&self) -> Inner<'_> {
        Inner::new(self.team, None)
    }
}

impl Basis for Column<'_> {
    type Error = Infallible;

    fn is_exact(&self) -> bool {
        self.operator.is_exact()
    }

    fn size(&mut self) -> Result<f64, Infallible> {
        Ok(self.inner().norm2(self.b))
    }

    async fn residual(&mut self) -> Result<f64, Infallible> {
        (self.x, self.r) = self.desk.ask(Need::Residual, take(&mut self.x), take(&mut self.r)).await;
        Ok(self.inner().norm2(&self.r))
    }

    fn go_on(&mut self, iteration: usize, residual: f64) -> bool {
        self.operator.go_on(iteration, residual)
    }

    fn begin(&mut self, beta: f64) -> Result<(), Infallible> {
        let v = vector_at(&mut self.v, 0, self.r.len());
        v.copy_from_slice(&self.r);
        scale(self.team, 1.0 / beta, v);
        Ok(())
    }

    async fn expand(&mut self, j: usize, h: &mut [f64]) -> Result<f64, Infallible> {
        let (n, at) = (self.b.len(), if self.fixed { 0 } else { j });
        let z = take(vector_at(&mut self.z, at, n));
        let w = take(vector_at(&mut self.v, j + 1, n));
        let (v, z) = self.desk.ask(Need::Correction, take(&mut self.v[j]), z).await;
        self.v[j] = v;
        (self.z[at], self.v[j + 1]) = self.desk.ask(Need::Product, z, w).await;
        let (basis, rest) = self.v.split_at_mut(j + 1);
        Ok(orthogonalize(&Inner::new(self.team, None), basis, &mut rest[0], h))
    }

    fn accept(&mut self, j: usize, length: f64) -> Result<(), Infallible> {
        scale(self.team, 1.0 / length, &mut self.v[j + 1]);
        Ok(())
    }

    async fn correct(&mut self, y: &[f64]) -> Result<(), Infallible> {
        if !self.fixed {
            combine(self.team, y, &self.z[..y.len()], &mut self.x);
        } else if !y.is_empty() {
            self.r.fill(0.0);
            combine(self.team, y, &self.v[..y.len()], &mut self.r);
            let z = take(&mut self.z[0]);
            (self.r, self.z[0]) = self.desk.ask(Need::Correction, take(&mut self.r), z).await;
            axpy(self.team, 1.0, &self.z[0], &mut self.x);
        }
        Ok(())
    }

    fn keep(&mut self) -> Result<(), Infallible> {
        self.kept.clone_from(&self.x);
        Ok(())
    }

    fn recall(&mut self) -> Result<(), Infallible> {
        self.x.copy_from_slice(&self.kept);
        Ok(())
    }
}

impl Gmres {
    /// Solves A x = b for several right-hand sides at once, from the first guesses in `x`; each solve is the one that
    /// [`Gmres::solve`] gives alone, to the last bit.
    ///
    /// **Memory**: the vectors of as many solves. The operator is that of one rank alone; its [`LinearOperator::go_on`] is told of the
    /// iterations of all solves in turn, and ends the one that it is told of.
    ///
    /// # Panics
    /// When there are not as many `b` as `x`, or one of them has not `a.len()` entries.
    pub fn solve_many(
        &self,
        team: &Team,
        a: &dyn LinearOperator,
        m: &mut dyn Preconditioner,
        b: &[&[f64]],
        x: &mut [&mut [f64]],
        control: &Control,
    ) -> Vec<Solve> {
        let n = a.len();
        assert_eq!(b.len(), x.len(), "as many right-hand sides as solutions");
        assert!(b.iter().all(|b| b.len() == n) && x.iter().all(|x| x.len() == n), "one entry an unknown");
        assert!(a.links().is_none(), "columns are solved together on one rank alone");
        let desks: Vec<Desk> = b.iter().map(|_| Desk::default()).collect();
        let (fixed, lengths) = (m.is_fixed(), self.lengths());
        let column = |(k, x): (usize, &&mut [f64])| {
            let (r, v, z) = (vec![0.0; n], Vec::new(), Vec::new());
            let mut column = Column {
                team,
                operator: a,
                desk: &desks[k],
                b: b[k],
                fixed,
                x: x.to_vec(),
                kept: Vec::new(),
                r,
                v,
                z,
            };
            Box::pin(async move {
                let Ok(solve) = gmres(&mut column, control, lengths).await;
                (solve, column.x)
            })
        };
        let mut running: Vec<_> = x.iter().enumerate().map(column).collect();
        let mut ends: Vec<Option<(Solve, Vec<f64>)>> = b.iter().map(|_| None).collect();
        while ends.iter().any(Option::is_none) {
            for (end, method) in ends.iter_mut().zip(&mut running).filter(|(end, _)| end.is_none()) {
                if let Poll::Ready(result) = poll(method.as_mut()) {
                    *end = Some(result);
                }
            }
            serve(team, a, m, b, &desks);
        }
        let found = ends.into_iter().flatten().zip(x);
        let copied = found.map(|((solve, from), to)| {
            to.copy_from_slice(&from);
            solve
        });
        copied.collect()
    }
}

fn poll<F: Future>(method: Pin<&mut F>) -> Poll<F::Output> {
    method.poll(&mut Context::from_waker(Waker::noop()))
}

/// Does what the columns wait for.
fn serve(team: &Team, a: &dyn LinearOperator, m: &mut dyn Preconditioner, b: &[&[f64]], desks: &[Desk]) {
    let mut asked: Vec<(usize, Work)> =
        desks.iter().enumerate().filter_map(|(k, desk)| Some((k, desk.0.take()?))).collect();
    for need in [Need::Residual, Need::Correction, Need::Product] {
        let of_kind = asked.iter_mut().filter(|(_, work)| work.need == Some(need));
        if need == Need::Residual {
            let mut columns: Vec<_> =
                of_kind.map(|(k, work)| (b[*k], &work.from[..], &mut work.to[..])).collect();
            a.residual_many(team, &mut columns);
            continue;
        }
        let mut columns: Vec<_> = of_kind.map(|(_, work)| (&work.from[..], &mut work.to[..])).collect();
        match need {
            Need::Correction => m.apply_many(team, &mut columns),
            _ => a.apply_many(team, &mut columns),
        }
    }
    for (k, work) in asked {
        desks[k].0.set(Some(Work { need: None, ..work }));
    }
}
