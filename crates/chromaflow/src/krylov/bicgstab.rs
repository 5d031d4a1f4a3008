//! BiCGStab.

use super::monitor::{Monitor, System};
use super::system::HostSystem;
use super::{Control, LinearOperator, Preconditioner, Solve};
use crate::Outcome;
use crate::dist::Inner;
use crate::vector::{axpy, xpay};
use chromaflow_device::Team;
use std::convert::Infallible;

/// BiCGStab with the preconditioner on the right: eight vectors of memory however long it runs.
///
/// The preconditioner must stay the same from one iteration to the next. When the shadow residual becomes orthogonal
/// to the residual the method starts anew from where it is; when that happens again at once, it has broken down.
///
/// **Precision**: f64, sums chunked: the iterates do not depend on the number of threads. The residual is computed anew in the end and whenever it has
/// fallen by an order; where the recurrence has run away from it, the method starts anew. What is handed back is the best solution of those looked at.
/// **Outcome**: as [`Gmres`](super::Gmres); [`Outcome::Diverged`] also when the residual has grown by ten orders.
/// **Source**: van der Vorst (1992).
#[derive(Clone, Copy, Debug, Default)]
pub struct BiCgStab;

impl BiCgStab {
    /// Solves A x = b from the first guess in `x`.
    ///
    /// # Panics
    /// When `b` or `x` has not `a.len()` entries.
    pub fn solve(
        self,
        team: &Team,
        a: &dyn LinearOperator,
        m: &mut dyn Preconditioner,
        b: &[f64],
        x: &mut [f64],
        control: &Control,
    ) -> Solve {
        let HostSystem { mut r, x, .. } = HostSystem::new(team, a, b, x);
        let mut own: [Vec<f64>; 6] = std::array::from_fn(|_| vec![0.0; b.len()]);
        let [shadow, p, v, t, kept, z] = &mut own;
        let all: [&mut [f64]; COUNT] = [shadow, p, v, t, kept, z, &mut r, x];
        let Ok(solve) = bicgstab(&mut HostVectors { team, a, m, b, all }, control);
        solve
    }
}

/// The vectors of the method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Name {
    Shadow,
    P,
    V,
    T,
    Kept,
    Z,
    R,
    X,
}

/// How many there are.
pub(super) const COUNT: usize = Name::X as usize + 1;

/// What the method does with its vectors, wherever they live.
pub(super) trait Space: System {
    /// z = M from, to = A z
    fn product(&mut self, from: Name, to: Name) -> Result<(), Self::Error>;

    /// to = from
    fn copy(&mut self, from: Name, to: Name) -> Result<(), Self::Error>;

    /// to = to + alpha from
    fn add(&mut self, alpha: f64, from: Name, to: Name) -> Result<(), Self::Error>;

    /// p = r + beta p
    fn turn(&mut self, beta: f64) -> Result<(), Self::Error>;

    /// Inner products.
    fn dots<const N: usize>(&mut self, pairs: [(Name, Name); N]) -> Result<[f64; N], Self::Error>;
}

/// How a run from a computed residual ends.
enum RunEnd {
    /// The recurrence says so; the residual must be looked at.
    Converged,
    /// The recurrence has run away from the residual.
    Parted,
    Limit,
    /// Whoever listens has had enough.
    Stopped,
    Diverged,
    Breakdown,
    Stagnated,
}

/// The method.
pub(super) fn bicgstab<S: Space>(space: &mut S, control: &Control) -> Result<Solve, S::Error> {
    let (mut monitor, mut norm) = Monitor::start(space, control)?;
    let outcome = loop {
        if let Some(outcome) = monitor.stop(norm) {
            break outcome;
        }
        let (before, at) = (norm, monitor.iterations());
        space.copy(Name::X, Name::Kept)?;
        let mut best = norm;
        let end = run(space, &mut monitor, &mut best)?;
        norm = space.residual()?;
        if norm.is_nan() || norm > best {
            space.copy(Name::Kept, Name::X)?;
            norm = space.residual()?;
        }
        match end {
            RunEnd::Diverged => break Outcome::Diverged { iteration: monitor.iterations() },
            RunEnd::Stagnated => break Outcome::Stagnated,
            RunEnd::Stopped => {
                monitor.correct(norm);
                break Outcome::IterationLimit;
            }
            RunEnd::Breakdown if monitor.iterations() < at + 2 => break Outcome::Breakdown { row: 0 },
            RunEnd::Converged | RunEnd::Parted if !monitor.converged(norm) && norm > 0.5 * before => {
                break Outcome::Stagnated;
            }
            _ => monitor.correct(norm),
        }
    };
    Ok(monitor.finish(outcome, norm))
}

/// A recurrence whose residual is so many times smaller than the true one has run away from it.
const PARTED: f64 = 10.0;

/// Iterates from the residual r, of norm `best`, which is also the shadow residual; keeps better solutions, and the norm of their residual.
fn run<S: Space>(space: &mut S, monitor: &mut Monitor, best: &mut f64) -> Result<RunEnd, S::Error> {
    space.copy(Name::R, Name::Shadow)?;
    space.copy(Name::R, Name::P)?;
    let [mut rho] = space.dots([(Name::R, Name::R)])?;
    let shadow = rho.sqrt();
    let mut norm = shadow;
    loop {
        if monitor.limit_reached() {
            return Ok(RunEnd::Limit);
        }
        space.product(Name::P, Name::V)?;
        let [sigma, vv] = space.dots([(Name::Shadow, Name::V), (Name::V, Name::V)])?;
        if !sigma.is_finite() {
            monitor.push(f64::NAN);
            return Ok(RunEnd::Diverged);
        }
        if tiny(sigma, shadow * vv.sqrt()) {
            monitor.push(norm);
            return Ok(RunEnd::Breakdown);
        }
        let alpha = rho / sigma;
        space.add(alpha, Name::Z, Name::X)?;
        space.add(-alpha, Name::V, Name::R)?;
        let [rr] = space.dots([(Name::R, Name::R)])?;
        let half = rr.sqrt();
        monitor.push(half);
        if monitor.converged(half) {
            return Ok(RunEnd::Converged);
        }
        if !monitor.tell(space) {
            return Ok(RunEnd::Stopped);
        }
        if monitor.limit_reached() {
            return Ok(RunEnd::Limit);
        }
        space.product(Name::R, Name::T)?;
        let [tt, tr] = space.dots([(Name::T, Name::T), (Name::T, Name::R)])?;
        if !tt.is_finite() || !tr.is_finite() {
            monitor.push(f64::NAN);
            return Ok(RunEnd::Diverged);
        }
        if tiny(tr, tt.sqrt() * half) {
            monitor.push(half);
            return Ok(RunEnd::Breakdown);
        }
        let omega = tr / tt;
        space.add(omega, Name::Z, Name::X)?;
        space.add(-omega, Name::T, Name::R)?;
        let [rr, next] = space.dots([(Name::R, Name::R), (Name::Shadow, Name::R)])?;
        norm = rr.sqrt();
        monitor.push(norm);
        if monitor.converged(norm) {
            return Ok(RunEnd::Converged);
        }
        if !monitor.tell(space) {
            return Ok(RunEnd::Stopped);
        }
        if monitor.diverged(norm) {
            return Ok(RunEnd::Diverged);
        }
        if monitor.stagnates(norm) {
            return Ok(RunEnd::Stagnated);
        }
        if tiny(next, shadow * norm) {
            return Ok(RunEnd::Breakdown);
        }
        if norm < 0.1 * *best {
            space.copy(Name::R, Name::T)?;
            let looked_at = space.residual()?;
            space.copy(Name::T, Name::R)?;
            if looked_at < *best {
                space.copy(Name::X, Name::Kept)?;
                *best = looked_at;
            }
            if looked_at.is_nan() || looked_at > PARTED * norm {
                return Ok(RunEnd::Parted);
            }
        }
        let beta = next / rho * (alpha / omega);
        rho = next;
        // p = r + beta (p - omega v)
        space.add(-omega, Name::V, Name::P)?;
        space.turn(beta)?;
    }
}

/// Whether an inner product is zero up to the rounding of its terms.
fn tiny(product: f64, norms: f64) -> bool {
    product.abs() <= f64::EPSILON * norms
}

/// The vectors on this process's threads.
struct HostVectors<'a> {
    team: &'a Team,
    a: &'a dyn LinearOperator,
    m: &'a mut dyn Preconditioner,
    b: &'a [f64],
    all: [&'a mut [f64]; COUNT],
}

impl HostVectors<'_> {
    /// The inner product of the system.
    fn inner(&self) -> Inner<'_> {
        Inner::new(self.team, self.a.links())
    }

    /// One vector to read and another one to change.
    fn two(&mut self, from: Name, to: Name) -> (&[f64], &mut [f64]) {
        let [from, to] = self.all.get_disjoint_mut([from as usize, to as usize]).expect("two vectors");
        (from, to)
    }
}

impl System for HostVectors<'_> {
    type Error = Infallible;

    fn size(&mut self) -> Result<f64, Infallible> {
        Ok(self.inner().norm2(self.b))
    }

    fn residual(&mut self) -> Result<f64, Infallible> {
        let (team, a, b) = (self.team, self.a, self.b);
        let (x, r) = self.two(Name::X, Name::R);
        a.residual(team, b, x, r);
        Ok(Inner::new(team, a.links()).norm2(r))
    }

    fn go_on(&mut self, iteration: usize, residual: f64) -> bool {
        self.a.go_on(iteration, residual)
    }
}

impl Space for HostVectors<'_> {
    fn product(&mut self, from: Name, to: Name) -> Result<(), Infallible> {
        let [from, z, to] =
            self.all.get_disjoint_mut([from, Name::Z, to].map(|v| v as usize)).expect("three vectors");
        self.m.apply(self.team, from, z);
        self.a.apply(self.team, z, to);
        Ok(())
    }

    fn copy(&mut self, from: Name, to: Name) -> Result<(), Infallible> {
        let (from, to) = self.two(from, to);
        to.copy_from_slice(from);
        Ok(())
    }

    fn add(&mut self, alpha: f64, from: Name, to: Name) -> Result<(), Infallible> {
        let team = self.team;
        let (from, to) = self.two(from, to);
        axpy(team, alpha, from, to);
        Ok(())
    }

    fn turn(&mut self, beta: f64) -> Result<(), Infallible> {
        let team = self.team;
        let (r, p) = self.two(Name::R, Name::P);
        xpay(team, r, beta, p);
        Ok(())
    }

    fn dots<const N: usize>(&mut self, pairs: [(Name, Name); N]) -> Result<[f64; N], Infallible> {
        Ok(self.inner().dots(pairs.map(|(x, y)| (&*self.all[x as usize], &*self.all[y as usize]))))
    }
}
