//! Newton-Krylov steps: GMRES with the derivative of the residual of all unknowns at once, by differences, around the matrix of plain steps.
//!
//! What that matrix holds fixed is there: production where velocities change, laws of the wall, the second order of fluxes. Unknowns are measured by
//! the pseudo-sound speed sqrt(beta), pressure by beta, k and omega by each cell's own values; residuals by what they would change at a CFL number of 1.
//! Each scalar and unknown of turbulence is as large as the flow then, and its residual as large as the flow's.
//!
//! **Source**: Knoll and Keyes (2004), J. Comput. Phys. 193.

use super::IncompressibleSystem;
use super::fill;
use crate::config::NewtonKrylov;
use crate::coupled::unit_over;
use crate::march::newton::{self, NewtonStep};
use crate::march::{Host, Moment, Part, Times};
use chromaflow::dist::{Inner, Links, Share};
use chromaflow::krylov::Gmres;
use chromaflow_device::Team;
use std::sync::Arc;

/// What unknowns and residuals are divided by.
pub(super) struct Measures {
    /// By component.
    pub unknowns: Vec<f64>,
    pub residuals: Vec<f64>,
    /// Of each row: the volume over its time step at a CFL number of 1.
    pub radii: Vec<f64>,
}

impl Measures {
    /// A residual as GMRES has it, `i` its place among those of rows.
    fn measured(&self, i: usize, r: f64) -> f64 {
        let n = self.unknowns.len();
        r / (self.radii[i / n] * self.residuals[i % n])
    }
}

/// A step's system.
struct Step<'a> {
    system: &'a mut IncompressibleSystem,
    at: Moment,
    /// States with ghosts, and the residual, as the matrix has it, where the derivative is taken.
    fields: Vec<Vec<f64>>,
    residual: Vec<f64>,
    measures: Measures,
    /// V/dt of each unknown, `[rows, n]`.
    times: Vec<f64>,
    size: f64,
    share: Option<Arc<Share>>,
    /// A right-hand side as the matrix has it.
    right: Vec<f64>,
    spent: Times,
}

impl Step<'_> {
    /// Sets the state to q + h v.
    fn move_state(&mut self, h: f64, v: &[f64]) {
        let (system, n) = (&mut *self.system, self.measures.unknowns.len());
        for ((block, base), field) in system.space.blocks.iter().zip(&self.fields).zip(&mut system.fields) {
            let len = block.cells.len();
            for row in block.rows() {
                let at = block.at(row);
                for c in 0..n {
                    let weight = system.turbulence.as_ref().map_or(1.0, |t| t.weight(base, len, at, c));
                    let unit = weight * self.measures.unknowns[c];
                    field[c * len + at] = base[c * len + at] + h * unit * v[row * n + c];
                }
            }
        }
    }
}

impl NewtonStep for Step<'_> {
    fn len(&self) -> usize {
        self.residual.len()
    }

    fn size(&self) -> f64 {
        self.size
    }

    fn norm(&self, team: &Team, v: &[f64]) -> f64 {
        norm(team, self.share.as_deref(), v)
    }

    fn differentiate(&mut self, h: f64, v: &[f64], y: &mut [f64]) {
        self.move_state(h, v);
        let Self { system, at, fields, residual, measures, times, spent, .. } = self;
        system.find_residual(at, fields, spent);
        let n = measures.unknowns.len();
        for (i, y) in y.iter_mut().enumerate() {
            let slope = (system.residual[i] - residual[i]) / h;
            *y = measures.measured(i, slope + times[i] * measures.unknowns[i % n] * v[i]);
        }
    }

    fn precondition(&mut self, r: &[f64], z: &mut [f64]) {
        let Self { system, measures, right, spent, .. } = self;
        let n = measures.unknowns.len();
        for (i, right) in right.iter_mut().enumerate() {
            *right = r[i] * measures.radii[i / n] * measures.residuals[i % n];
        }
        system.solve_plain(right, spent);
        let found = system.update.iter().flatten();
        for ((i, z), x) in z.iter_mut().enumerate().zip(found) {
            *z = x / measures.unknowns[i % n];
        }
    }
}

fn norm(team: &Team, share: Option<&Share>, x: &[f64]) -> f64 {
    Inner::new(team, share.map(|share| share as &dyn Links)).norm2(x)
}

impl IncompressibleSystem {
    /// The matrix of plain steps is there, factored: solves (V/dt + dR/dq) x = R, x in the place of the update. What is left of the residual.
    pub(super) fn solve_newton(&mut self, at: &Moment, options: &NewtonKrylov, spent: &mut Times) -> f64 {
        let (team, share, n) = (Arc::clone(&self.team), Host::share(self).cloned(), self.n);
        let (measures, size) = self.measures(share.as_deref());
        let mut times = vec![0.0; self.residual.len()];
        self.pseudo_times(at.cfl, &measures.radii, &mut times);
        let b: Vec<f64> = self.residual.iter().enumerate().map(|(i, r)| measures.measured(i, *r)).collect();
        let mut step = Step {
            at: *at,
            fields: self.fields.clone(),
            residual: self.residual.clone(),
            measures,
            times,
            size,
            share: share.clone(),
            right: vec![0.0; b.len()],
            spent: Times::default(),
            system: self,
        };
        let mut x = vec![0.0; b.len()];
        let links = share.as_deref().map(|share| share as &dyn Links);
        let vectors = &mut Gmres::default();
        let left = newton::solve(&team, &mut step, &at.newton(options), links, &b, &mut x, vectors);
        let Step { fields, residual, measures, spent: of_step, .. } = step;
        (self.fields, self.residual) = (fields, residual);
        spent.add(&of_step);
        for (update, (i, x)) in self.update.iter_mut().flatten().zip(x.iter().enumerate()) {
            *update = measures.unknowns[i % n] * x;
        }
        left
    }

    /// The residual of the present state, k's and omega's measured by the values of other `fields`.
    fn find_residual(&mut self, at: &Moment, fields: &[Vec<f64>], times: &mut Times) {
        self.find_unmeasured(at, times);
        if let Some(turbulence) = &self.turbulence {
            times
                .timed(Part::TimeStep, || turbulence.scale_residual(&self.space, fields, &mut self.residual));
        }
    }

    /// The residual before k's and omega's is measured by their values.
    pub(super) fn find_unmeasured(&mut self, at: &Moment, times: &mut Times) {
        self.fill_ghosts(times);
        let mut found = std::mem::take(&mut self.residual);
        times.timed(Part::Residual, || self.find_steady(&mut found));
        self.residual = found;
        times.timed(Part::TimeStep, || self.add_time_and_source(at));
    }

    /// The update from the matrix of plain steps, which is factored; |b - A x| / |b|.
    pub(super) fn solve_plain(&mut self, b: &[f64], times: &mut Times) -> f64 {
        self.linear.solve((&self.system, &self.space), &self.team, b, &mut self.update, times)
    }

    /// V/dt of each unknown as the matrix has it, `radii` the volumes over time steps at a CFL number of 1.
    fn pseudo_times(&self, cfl: f64, radii: &[f64], out: &mut [f64]) {
        let n = self.n;
        for block in &self.space.blocks {
            for row in block.rows() {
                let (part, out) = (radii[row] / cfl, &mut out[row * n..][..n]);
                out.fill(part);
                if let Some(turbulence) = &self.turbulence {
                    let residual = &self.residual[row * n..][..n];
                    turbulence.add_pseudo_time(block, row, (part, residual), |v, time| out[v] += time);
                }
            }
        }
    }

    /// Values of a component over what they are measured by but for its unit, by rows.
    fn relative(&self, c: usize) -> Vec<f64> {
        let mut all = vec![0.0; self.space.rows];
        for (block, field) in self.space.blocks.iter().zip(&self.fields) {
            let len = block.cells.len();
            for row in block.rows() {
                let at = block.at(row);
                let weight = self.turbulence.as_ref().map_or(1.0, |t| t.weight(field, len, at, c));
                all[row] = field[c * len + at] / weight;
            }
        }
        all
    }

    fn measures(&self, share: Option<&Share>) -> (Measures, f64) {
        let n = self.n;
        let mut radii = vec![0.0; self.space.rows];
        let models = (&self.config.fluid, self.turbulence.as_ref());
        fill::find_radii(&self.space, models, &self.fields, &mut radii);
        let norm = |v: &[f64]| norm(&self.team, share, v);
        let of_residual = |c: usize| {
            let over: Vec<f64> =
                (radii.iter().enumerate()).map(|(row, r)| self.residual[row * n + c] / r).collect();
            norm(&over)
        };
        let values: Vec<f64> = (0..n).map(|c| norm(&self.relative(c))).collect();
        let left: Vec<f64> = (0..n).map(of_residual).collect();
        let (unknowns, residuals, size) = units(self.config.fluid.compressibility, &values, &left);
        (Measures { unknowns, residuals, radii }, size)
    }
}

/// What unknowns and residuals are measured by, from the norms of each component of the state and of residuals over V/dt; |q| so measured, 1 where all of it is zero.
pub(super) fn units(beta: f64, values: &[f64], residuals: &[f64]) -> (Vec<f64>, Vec<f64>, f64) {
    let speed = beta.sqrt();
    let flow = [beta, speed, speed, speed];
    let of = |norms: &[f64]| -> Vec<f64> {
        let whole = norms.iter().zip(flow).map(|(norm, unit)| (norm / unit).powi(2)).sum::<f64>().sqrt();
        flow.into_iter().chain(norms[4..].iter().map(|norm| unit_over(*norm, whole))).collect()
    };
    let (unknowns, residuals) = (of(values), of(residuals));
    let size = values.iter().zip(&unknowns).map(|(norm, unit)| (norm / unit).powi(2)).sum::<f64>();
    // A fluid at rest, without a pressure or a scalar, gives differences no length.
    (unknowns, residuals, if size > 0.0 { size.sqrt() } else { 1.0 })
}
