//! The turbulence model's part of a Newton-Krylov step: its matrix, and its unknowns in units with which they are as large as the flow's.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::residual::Physics;
use super::super::turbulence::{GridTurbulence, Links, Way};
use super::READY;
use super::matrix::{APART, GridRows, Place};
use crate::config::Implicit;
use crate::coupled::{Units, local_weights, unit_over};
use crate::jacobian::Stored;
use crate::march::linear::LinearSolver;
use crate::march::{Bdf, FlowError, Moment};
use crate::parallel;
use chromaflow::{Jacobian, OffDiagonal};
use chromaflow_device::Team;
use std::sync::Arc;

/// The matrix of the model's unknowns on the rows of the flow's, and what factors it.
pub(in super::super) struct Beside {
    turbulence: GridTurbulence,
    pub jacobian: Jacobian,
    linear: Option<LinearSolver>,
    /// V/dt of each row.
    pub pseudo_time: Vec<f64>,
    /// What is preconditioned, in its own units.
    scaled: Vec<f64>,
}

impl Beside {
    pub fn new(rows: &GridRows, implicit: &Implicit, turbulence: GridTurbulence) -> Result<Self, FlowError> {
        let (nb, n) = (turbulence.unknowns(), rows.places.len());
        let jacobian = rows.matrix(nb, implicit)?;
        let (pseudo_time, scaled) = (vec![0.0; n], vec![0.0; nb * n]);
        Ok(Self { turbulence, jacobian, linear: None, pseudo_time, scaled })
    }

    /// Sets up what solves with the matrix.
    pub fn make_ready(
        &mut self,
        team: &Arc<Team>,
        rows: &GridRows,
        implicit: &Implicit,
    ) -> Result<(), FlowError> {
        self.linear = Some(LinearSolver::new(team, &rows.batches, &self.jacobian, implicit)?);
        Ok(())
    }

    /// Makes the matrix: for each unknown an M-matrix of first-order advection, the differences across faces and derivatives of sources, with V/dt.
    pub fn assemble(
        &mut self,
        team: &Team,
        physics: &Physics,
        rows: &GridRows,
        state: (&[BlockState], &[PatchState]),
        at: &Moment,
    ) {
        let nb = self.turbulence.unknowns();
        let matrix = Matrix { turbulence: self.turbulence, nb, physics, rows, state, bdf: at.bdf };
        self.jacobian.begin_assembly();
        let (diag, times) = (&mut self.jacobian.diag, &mut self.pseudo_time);
        match &mut self.jacobian.off {
            OffDiagonal::F64(off) => matrix.fill(team, (off, diag)),
            OffDiagonal::F32(off) => matrix.fill(team, (off, diag)),
            OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
        }
        parallel::rows(team, times.len(), 1, times, |range, times| {
            for (row, time) in range.zip(times) {
                *time = matrix.pseudo_time(at, row);
            }
        });
        for (diag, time) in self.jacobian.diag.chunks_exact_mut(nb * nb).zip(&self.pseudo_time) {
            for entry in diag.iter_mut().step_by(nb + 1) {
                *entry += time;
            }
        }
        self.linear.as_ref().expect(READY).convert(&mut self.jacobian);
    }

    /// Makes the matrix ready to precondition with; the row of a diagonal block that cannot be inverted comes back as an error.
    pub fn factor(&mut self) -> Result<(), usize> {
        self.linear.as_mut().expect(READY).factor(&mut self.jacobian)
    }

    /// A step of the model by itself: its update takes the place of the residual. The row of a diagonal block that cannot be inverted comes back as an error.
    pub fn solve(&mut self, rows: &GridRows, blocks: &mut [BlockState]) -> Result<(), usize> {
        let b = gather(rows, blocks, self.turbulence, residual_at);
        let mut x = vec![0.0; b.len()];
        self.linear.as_mut().expect(READY).solve(&mut self.jacobian, &b, &mut x, false)?;
        put_update(rows, self.turbulence, &x, blocks);
        Ok(())
    }

    /// z = M^-1 r in the units of a step.
    pub(super) fn precondition(&mut self, along: &Along, r: &[f64], z: &mut [f64]) {
        // Where all units are alike, one factor afterwards will do.
        let whole = along.units.of[0][1];
        for (i, (scaled, r)) in self.scaled.iter_mut().zip(r).enumerate() {
            *scaled = r * (along.units.at(i)[1] / whole);
        }
        self.linear.as_mut().expect(READY).precondition(&self.jacobian, &self.scaled, z);
        for (i, z) in z.iter_mut().enumerate() {
            *z *= whole / along.units.at(i)[0];
        }
    }
}

/// What the matrix is made of.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    turbulence: GridTurbulence,
    /// Unknowns a row.
    nb: usize,
    physics: &'a Physics,
    rows: &'a GridRows,
    state: (&'a [BlockState], &'a [PatchState]),
    bdf: Option<Bdf>,
}

impl<'a> Matrix<'a> {
    /// The block of a row, its cell, and the model there.
    fn at(&self, row: usize) -> (&'a BlockState, &'a Place, Links<'a>) {
        let ((blocks, patches), place) = (self.state, &self.rows.places[row]);
        let block = &blocks[place.block as usize];
        (block, place, Links::new(self.physics, self.turbulence, patches, block))
    }

    fn pseudo_time(&self, at: &Moment, row: usize) -> f64 {
        let (block, place, links) = self.at(row);
        let (cell, here) = (place.cell.map(|c| c as usize), place.at as usize);
        let speed: f64 =
            (0..6).filter_map(|side| links.link(cell, here, side)).map(|link| link.speed()).sum();
        speed / (at.cfl * self.turbulence.cfl_ratio) + links.resolving(place.number(block), here)
    }

    /// Everything but V/dt.
    fn fill<T: Stored>(&self, team: &Team, (off, diag): (&mut [T], &mut [f64])) {
        let (row_ptr, nb) = (self.rows.pattern.row_ptr(), self.nb);
        let square = nb * nb;
        parallel::positions(team, row_ptr, (square, off), (square, diag), |range, off, diag| {
            off.fill(T::narrow(0.0));
            let first = row_ptr[range.start] as usize;
            for (row, diag) in range.zip(diag.chunks_exact_mut(square)) {
                let (block, place, links) = self.at(row);
                let (cell, at) = (place.cell.map(|c| c as usize), place.at as usize);
                let slope = links.slope(place.number(block));
                for r in 0..nb {
                    for c in 0..nb {
                        diag[c * nb + r] = block.metrics.volume[at] * slope[r][c];
                    }
                }
                if let Some(bdf) = self.bdf {
                    let rate = block.turbulence_time_slope(self.turbulence, bdf, at);
                    diag.iter_mut().step_by(nb + 1).for_each(|entry| *entry += rate);
                }
                for (side, &position) in self.rows.positions[row].iter().enumerate() {
                    let Some(link) = links.link(cell, at, side) else { continue };
                    for v in 0..nb {
                        diag[v * (nb + 1)] += link.coupling(v);
                        if position < APART {
                            let entry = &mut off[(position as usize - first) * square + v * (nb + 1)];
                            *entry = T::narrow(entry.wide() - link.coupling(v));
                        }
                    }
                }
            }
        });
    }
}

/// The model's unknowns where the derivative is taken.
pub(super) struct Along {
    turbulence: GridTurbulence,
    /// Those of each row, and their residuals.
    pub values: Vec<f64>,
    residual: Vec<f64>,
    units: Units,
    /// Of blocks, where the model has the derivative itself.
    pub ways: Vec<Way>,
}

fn value_at(block: &BlockState, place: &Place, v: usize, _: usize) -> f64 {
    block.turbulence(v, place.at as usize)
}

fn residual_at(block: &BlockState, place: &Place, v: usize, nb: usize) -> f64 {
    block.eddies.r[block.turbulence_residual_at(place.number(block), nb) + v * block.cells.count[0]]
}

/// What `of` says of each unknown of each row.
fn gather(
    rows: &GridRows,
    blocks: &[BlockState],
    turbulence: GridTurbulence,
    of: impl Fn(&BlockState, &Place, usize, usize) -> f64 + Copy,
) -> Vec<f64> {
    let nb = turbulence.unknowns();
    let row = |place| (0..nb).map(move |v| (place, v));
    let all = rows.places.iter().flat_map(row);
    all.map(|(place, v)| of(&blocks[place.block as usize], place, v, nb)).collect()
}

/// Puts updates in the place of residuals.
fn put_update(rows: &GridRows, turbulence: GridTurbulence, x: &[f64], blocks: &mut [BlockState]) {
    let nb = turbulence.unknowns();
    for (place, x) in rows.places.iter().zip(x.chunks_exact(nb)) {
        let block = &mut blocks[place.block as usize];
        let (from, ni) = (block.turbulence_residual_at(place.number(block), nb), block.cells.count[0]);
        (0..nb).for_each(|v| block.eddies.r[from + v * ni] = x[v]);
    }
}

impl Along {
    /// At the present state; units are such that each unknown is as large as a flow of this size, its residual as one of this norm; k and omega, as the flow beside
    /// them, are measured by what a step would change; `norm_of` is that of vectors.
    pub fn new(
        norm_of: impl Fn(&[f64]) -> f64,
        rows: &GridRows,
        blocks: &[BlockState],
        beside: &Beside,
        [size, norm]: [f64; 2],
    ) -> Self {
        let turbulence = beside.turbulence;
        let nb = turbulence.unknowns();
        let values = gather(rows, blocks, turbulence, value_at);
        let residual = gather(rows, blocks, turbulence, residual_at);
        let weight = |(i, value): (usize, &f64)| {
            local_weights(
                turbulence.weight(i % nb, *value),
                beside.pseudo_time[i / nb],
                turbulence.is_k_omega(),
            )
        };
        let weights: Vec<[f64; 2]> = values.iter().enumerate().map(weight).collect();
        let size_of = |all: &[f64], kind: usize, v: usize| {
            let of: Vec<f64> = (v..all.len()).step_by(nb).map(|i| all[i] / weights[i][kind]).collect();
            norm_of(&of)
        };
        let unit = |v| [unit_over(size_of(&values, 0, v), size), unit_over(size_of(&residual, 1, v), norm)];
        let units = Units { of: (0..nb).map(unit).collect(), weights };
        let ways = blocks.iter().filter(|_| turbulence.is_k_omega()).map(Way::new).collect();
        Self { turbulence, values, residual, units, ways }
    }

    /// The residual in its unit.
    pub fn measured(&self) -> impl Iterator<Item = f64> + '_ {
        self.residual.iter().enumerate().map(|(i, r)| r / self.units.at(i)[1])
    }

    /// Unknowns a row.
    pub fn unknowns(&self) -> usize {
        self.turbulence.unknowns()
    }

    /// Sets the blocks' unknowns to those of a step h v; where the model has the derivative itself, its direction to v.
    pub fn put(&mut self, rows: &GridRows, h: f64, v: &[f64], blocks: &mut [BlockState]) {
        let nb = self.unknowns();
        for (row, place) in rows.places.iter().enumerate() {
            let (b, at) = (place.block as usize, place.at as usize);
            let len = blocks[b].cells.len();
            for c in 0..nb {
                let i = nb * row + c;
                let unit = self.units.at(i)[0];
                match self.ways.get_mut(b) {
                    Some(way) => way.turbulence[c * len + at] = unit * v[i],
                    None => blocks[b].eddies.values[c * len + at] = self.values[i] + h * unit * v[i],
                }
            }
        }
    }

    /// y = V/dt v + (R(phi + h v) - R(phi)) / h of the model's own residual, the blocks' that of phi + h v; where the model has the derivative itself it is what the
    /// blocks have.
    pub fn differentiate(
        &self,
        rows: &GridRows,
        beside: &Beside,
        blocks: &[BlockState],
        h: f64,
        v: &[f64],
        y: &mut [f64],
    ) {
        let (nb, moved) = (self.unknowns(), gather(rows, blocks, self.turbulence, residual_at));
        for (i, y) in y.iter_mut().enumerate() {
            let [unit, residual_unit] = self.units.at(i);
            let slope = if self.ways.is_empty() { (moved[i] - self.residual[i]) / h } else { moved[i] };
            *y = (slope + beside.pseudo_time[i / nb] * unit * v[i]) / residual_unit;
        }
    }

    /// Returns to where the derivative is taken, and puts the update in the place of the residual.
    pub fn put_update(&self, rows: &GridRows, x: &[f64], blocks: &mut [BlockState]) {
        let nb = self.unknowns();
        for (place, values) in rows.places.iter().zip(self.values.chunks_exact(nb)) {
            let block = &mut blocks[place.block as usize];
            let len = block.cells.len();
            (0..nb).for_each(|v| block.eddies.values[v * len + place.at as usize] = values[v]);
        }
        let update: Vec<f64> = x.iter().enumerate().map(|(i, x)| self.units.at(i)[0] * x).collect();
        put_update(rows, self.turbulence, &update, blocks);
    }
}
