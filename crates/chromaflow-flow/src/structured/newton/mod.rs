//! Newton-Krylov steps on a grid, around the first-order matrix in block ILU; of turbulent flow for the model's unknowns at once, around a matrix of
//! their own.

mod beside;
mod matrix;
#[cfg(test)]
mod tests;

use super::StructuredSystem;
use super::block::{BlockState, each_row};
use super::over_ranks::norm;
use super::turbulence::{self, GridTurbulence};
use super::{Physics, residual};
use crate::config::{Implicit, NewtonKrylov};
use crate::equations::perfect_gas::{N, State};
use crate::flux::RoeFix;
use crate::gas::{conserved, primitive, relative_change, relative_change_at_most};
use crate::march::linear::LinearSolver;
use crate::march::newton::{self, LEAST_SHARE, NewtonStep};
use crate::march::{FlowError, Host, Moment};
use crate::on_grid::GridPart;
use crate::real::Dual;
use beside::{Along, Beside};
use chromaflow::dist::{Links, Share};
use chromaflow::factor::block_ilu::Fill;
use chromaflow::krylov::Gmres;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow::{Jacobian, Team};
use chromaflow_comm::Op;
pub(super) use matrix::GridRows;
#[cfg(feature = "cuda")]
pub(super) use matrix::{APART, Place};
use std::sync::Arc;

/// What such steps keep: the matrix and what factors it.
pub(super) struct GridNewton {
    pub options: NewtonKrylov,
    /// How the matrix is stored and factored.
    pub implicit: Implicit,
    pub rows: GridRows,
    pub jacobian: Jacobian,
    /// Made for the first step on the host: a device has its own.
    linear: Option<LinearSolver>,
    /// Of turbulent flow.
    pub beside: Option<Beside>,
}

/// Levels of fill of the factors: on grids of one layer of cells they cost little.
const FILL: [u32; 2] = [2, 1];

impl GridNewton {
    pub(super) fn new(
        blocks: &[BlockState],
        part: &GridPart,
        options: NewtonKrylov,
        turbulence: Option<GridTurbulence>,
    ) -> Result<Self, FlowError> {
        let mut spatial = blocks.iter().any(|block| block.active == [true; 3]);
        if let Some(share) = part.share() {
            spatial = share.largest(f32::from(u8::from(spatial))) > 0.0;
        }
        let fill = FILL[usize::from(spatial)];
        let implicit = Implicit {
            method: Method::Gmres,
            preconditioner: PreconditionerKind::Ilu(Fill::Level(fill)),
            ..Implicit::default()
        };
        // Over ranks each block alone, whatever rank has it: steps do not depend on the number of ranks.
        let rows = match &part.over {
            None => GridRows::new(blocks, &part.exchange, &implicit)?,
            Some(_) => GridRows::new(blocks, &part.exchange.within_blocks(), &implicit)?,
        };
        let jacobian = rows.matrix(N, &implicit)?;
        let beside = turbulence.map(|model| Beside::new(&rows, &implicit, model)).transpose()?;
        Ok(Self { options, implicit, rows, jacobian, linear: None, beside })
    }

    /// Sets up what solves with the matrices on the host, once.
    pub(super) fn make_ready(&mut self, team: &Arc<Team>) -> Result<(), FlowError> {
        if self.linear.is_some() {
            return Ok(());
        }
        if let Some(beside) = &mut self.beside {
            beside.make_ready(team, &self.rows, &self.implicit)?;
        }
        self.linear = Some(LinearSolver::new(team, &self.rows.batches, &self.jacobian, &self.implicit)?);
        Ok(())
    }
}

const READY: &str = "steps on the host begin with making ready";

/// The step's system; unknowns in the order of the matrix's rows.
pub(super) struct GridStep<'a> {
    system: &'a mut StructuredSystem,
    newton: &'a mut GridNewton,
    at: Moment,
    /// Primitive states with ghosts of each block.
    states: Vec<Vec<f64>>,
    residual: Vec<f64>,
    /// V/dt of each row.
    pseudo_time: Vec<f64>,
    /// |q|
    size: f64,
    /// Whether differences may take their step along any direction.
    bears: bool,
    share: Option<Arc<Share>>,
    /// Of turbulent flow, whose unknowns follow the flow's.
    along: Option<Along>,
    /// What residuals of the flow are divided by in GMRES's norm, where those beside it are measured by each cell's own values: V/dt of each row, else empty.
    weights: Vec<f64>,
}

/// Each row's five entries over its weight.
fn weigh(weights: &[f64], residual: &mut [f64]) {
    for (row, weight) in residual.as_chunks_mut::<N>().0.iter_mut().zip(weights) {
        for r in row {
            *r /= weight;
        }
    }
}

impl GridStep<'_> {
    /// Sets blocks to q + h v.
    fn move_flow(&mut self, h: f64, v: &[f64]) {
        let (gas, team, rows) =
            (self.system.physics.gas, Arc::clone(&self.system.team), &self.newton.rows.rows);
        let mut first = 0;
        for (block, state) in self.system.blocks.iter_mut().zip(&self.states) {
            let (cells, len) = (block.cells, block.cells.len());
            let [ni, nj, _] = cells.count;
            let rows = &rows[first..];
            each_row(&team, cells, &mut block.w, |line, w| {
                let start = cells.inside([0, line % nj, line / nj]);
                for i in 0..ni {
                    let row = N * rows[line * ni + i] as usize;
                    let q = conserved(gas, &std::array::from_fn(|c| state[c * len + start + i]));
                    let new = primitive(gas, &std::array::from_fn(|c| q[c] + h * v[row + c]));
                    for c in 0..N {
                        w[c][i] = new[c];
                    }
                }
            });
            first += block.rows() * ni;
        }
    }

    /// Whether the model beside the flow has the derivative of its residual itself.
    fn directed(&self) -> bool {
        self.along.as_ref().is_some_and(|along| !along.ways.is_empty())
    }

    /// The residuals of a step h v, or of the model the derivative itself.
    fn find_residuals(&mut self, h: f64, v: &[f64]) {
        let (own, changes) = v.split_at(self.residual.len());
        self.move_flow(h, own);
        let Self { system, newton, along, at, .. } = self;
        let Some(along) = along else {
            system.compute_residual(at.bdf);
            return;
        };
        along.put(&newton.rows, h, changes, &mut system.blocks);
        let Some(model) = system.physics.turbulence.filter(|_| !along.ways.is_empty()) else {
            system.compute_residual(at.bdf);
            return;
        };
        let (gas, team) = (system.physics.gas, Arc::clone(&system.team));
        for (place, v) in newton.rows.places.iter().zip(own.as_chunks::<N>().0) {
            let (b, at) = (place.block as usize, place.at as usize);
            let (len, way) = (system.blocks[b].cells.len(), &mut along.ways[b]);
            let q = conserved(gas, &std::array::from_fn(|c| way.state[c * len + at]));
            let w = primitive(gas.lift(), &std::array::from_fn(|c| Dual { v: q[c], d: [v[c]] }));
            (0..N).for_each(|c| way.w[c * len + at] = w[c].d[0]);
        }
        let physics: Physics = system.physics;
        let state = (&mut system.blocks[..], &system.part.exchange);
        turbulence::direct(&team, &physics, model, &system.patches, state, &mut along.ways, h);
        system.fill_ghosts();
        system.flow_residual(at.bdf);
        turbulence::derivative(
            &team,
            &physics,
            model,
            &system.patches,
            &mut system.blocks,
            &along.ways,
            at.bdf,
        );
    }
}

impl NewtonStep for GridStep<'_> {
    fn len(&self) -> usize {
        self.residual.len() + self.along.as_ref().map_or(0, |along| along.values.len())
    }

    fn size(&self) -> f64 {
        self.size
    }

    fn norm(&self, team: &Team, v: &[f64]) -> f64 {
        let of = |v: &[f64]| norm(team, self.share.as_deref(), v);
        if self.directed() { of(&v[..self.residual.len()]).max(LEAST_SHARE * of(v)) } else { of(v) }
    }

    fn relative_change(&mut self, team: &Team, v: &[f64]) -> f64 {
        if self.bears {
            return 0.0;
        }
        let (gas, places, states) = (self.system.physics.gas, &self.newton.rows.places, &self.states);
        let v = v.as_chunks().0;
        newton::largest(team, self.share.as_deref(), places.len(), |row| {
            let (state, at) = (&states[places[row].block as usize], places[row].at as usize);
            let w = std::array::from_fn(|c| state[state.len() / N * c + at]);
            relative_change(&conserved(gas, &w), &v[row])
        })
    }

    fn differentiate(&mut self, h: f64, v: &[f64], y: &mut [f64]) {
        self.find_residuals(h, v);
        let team = Arc::clone(&self.system.team);
        let (base, times) = (&self.residual, &self.pseudo_time);
        let (y, of_changes) = y.split_at_mut(self.residual.len());
        self.newton.rows.each_residual(&team, &self.system.blocks, y, |row, moved, y| {
            for c in 0..N {
                y[c] = (moved[c] - base[N * row + c]) / h + times[row] * v[N * row + c];
            }
        });
        weigh(&self.weights, y);
        if let (Some(along), Some(beside)) = (&self.along, &self.newton.beside) {
            let changes = &v[self.residual.len()..];
            along.differentiate(&self.newton.rows, beside, &self.system.blocks, h, changes, of_changes);
        }
    }

    fn precondition(&mut self, r: &[f64], z: &mut [f64]) {
        let n = self.residual.len();
        let GridNewton { linear, jacobian, beside, .. } = &mut *self.newton;
        let linear = linear.as_mut().expect(READY);
        if self.weights.is_empty() {
            linear.precondition(jacobian, &r[..n], &mut z[..n]);
        } else {
            let weighted: Vec<f64> =
                r[..n].iter().enumerate().map(|(i, r)| r * self.weights[i / N]).collect();
            linear.precondition(jacobian, &weighted, &mut z[..n]);
        }
        if let (Some(along), Some(beside)) = (&self.along, beside) {
            beside.precondition(along, &r[n..], &mut z[n..]);
        }
    }
}

impl StructuredSystem {
    /// Makes the matrices of a step at the present state. V/dt of each row.
    pub(super) fn assemble_newton(&mut self, newton: &mut GridNewton, at: &Moment) -> Vec<f64> {
        let team = Arc::clone(&self.team);
        for block in &mut self.blocks {
            residual::time_steps(&team, &self.physics, at.cfl, self.config.implicit.local_step, block);
        }
        let GridNewton { rows, jacobian, linear, beside, .. } = newton;
        let linear = linear.as_mut().expect(READY);
        let pseudo_time = rows.pseudo_times(&self.blocks);
        let mut diagonal = pseudo_time.clone();
        if let (Some(bdf), true) = (at.bdf, beside.is_some()) {
            rows.add_time_shift(&self.blocks, bdf.factors()[0], &mut diagonal);
        }
        let least = RoeFix::least_in_matrix(at.hard, self.config.freestream.mach);
        rows.assemble(&team, (&self.physics, least), (&self.blocks, &self.patches), &diagonal, jacobian);
        linear.convert(jacobian);
        if let Some(beside) = beside {
            beside.assemble(&team, &self.physics, rows, (&self.blocks, &self.patches), at);
        }
        pseudo_time
    }

    /// Solves (V/dt + dR/dq) x = R by flexible GMRES, or in steps apart with the matrices of the flow and of the model; -x takes the place of the residual. The
    /// relative residual that is left, or the number of a cell whose diagonal block cannot be inverted.
    pub(super) fn solve_newton(
        &mut self,
        newton: &mut GridNewton,
        at: &Moment,
    ) -> Result<Option<f64>, usize> {
        let team = Arc::clone(&self.team);
        let pseudo_time = self.assemble_newton(newton, at);
        let GridNewton { rows, jacobian, linear, options, beside, .. } = newton;
        let linear = linear.as_mut().expect(READY);
        let mut b = vec![0.0; N * pseudo_time.len()];
        rows.each_residual(&team, &self.blocks, &mut b, |_, r, b| b.copy_from_slice(&r));
        if let (false, Some(beside)) = (at.together, &mut *beside) {
            let mut x = vec![0.0; b.len()];
            let solved = linear.solve(jacobian, &b, &mut x, false);
            let solved = solved.and_then(|left| beside.solve(rows, &mut self.blocks).map(|()| left));
            self.all_regular(solved.map(drop).map_err(|row| rows.cell(row)))?;
            rows.put_update(&x, &mut self.blocks);
            // Each rank has solved by itself; steps are chosen by what is left where most is.
            let mut left = [solved.ok().flatten().unwrap_or(0.0)];
            if let Some(share) = Host::share(self) {
                share.reduce(Op::Max, &mut left);
            }
            return Ok(Some(left[0]));
        }
        let mut factored = linear.factor(jacobian);
        if let Some(beside) = beside.as_mut().filter(|_| factored.is_ok()) {
            factored = beside.factor();
        }
        self.all_regular(factored.map_err(|row| rows.cell(row)))?;
        let options = at.newton(options);
        let (mut step, b) = self.step_from_here(newton, at, (pseudo_time, b));
        let (mut x, share) = (vec![0.0; b.len()], step.share.clone());
        let links = share.as_deref().map(|share| share as &dyn Links);
        let left = newton::solve(&team, &mut step, &options, links, &b, &mut x, &mut Gmres::default());
        for (block, state) in step.system.blocks.iter_mut().zip(step.states) {
            block.w = state;
        }
        let (own, changes) = x.split_at(step.residual.len());
        if let Some(along) = &step.along {
            along.put_update(&step.newton.rows, changes, &mut step.system.blocks);
        }
        newton.rows.put_update(own, &mut self.blocks);
        Ok(Some(left))
    }

    /// The system of a step from the present state with its residual `b` in the order of rows, and that residual as GMRES measures it.
    pub(super) fn step_from_here<'a>(
        &'a mut self,
        newton: &'a mut GridNewton,
        at: &Moment,
        (pseudo_time, mut b): (Vec<f64>, Vec<f64>),
    ) -> (GridStep<'a>, Vec<f64>) {
        let share = Host::share(self).cloned();
        let (team, gas) = (Arc::clone(&self.team), self.physics.gas);
        let (rows, beside) = (&newton.rows, &newton.beside);
        let squares = |q: State| q.iter().map(|q| q * q).sum::<f64>();
        let states = rows.states(&self.blocks).map(|w| squares(conserved(gas, &w)));
        let size = match &share {
            None => states.sum::<f64>().sqrt(),
            Some(share) => share.sums(1, |add| states.for_each(|square| add(0, square)))[0].sqrt(),
        };
        let residual = b.clone();
        let norm = |x: &[f64]| norm(&team, share.as_deref(), x);
        let local = self.physics.turbulence.is_some_and(|model| model.is_k_omega());
        let weights = if local { pseudo_time.clone() } else { Vec::new() };
        weigh(&weights, &mut b);
        let along = beside.as_ref().map(|beside| {
            let noise = if local { 1.0 } else { at.noise };
            let sizes = [size, noise * norm(&b)];
            Along::new(norm, rows, &self.blocks, beside, sizes)
        });
        b.extend(along.iter().flat_map(Along::measured));
        // A flow and what is beside it are as large; of a model that has derivatives itself steps go by the flow.
        let size = if along.is_some() && !local { size * 2.0_f64.sqrt() } else { size };
        let places = &newton.rows.places;
        let most = newton::largest(&team, share.as_deref(), places.len(), |row| {
            let state = self.blocks[places[row].block as usize].state(places[row].at as usize);
            relative_change_at_most(&conserved(gas, &state))
        });
        let states = self.blocks.iter().map(|block| block.w.clone()).collect();
        let step = GridStep {
            at: *at,
            states,
            residual,
            pseudo_time,
            size,
            bears: newton::bears(size, most),
            share,
            along,
            weights,
            system: self,
            newton,
        };
        (step, b)
    }
}
