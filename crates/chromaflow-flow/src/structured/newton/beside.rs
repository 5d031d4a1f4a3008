//! The turbulence model's part of a Newton-Krylov step: its matrix, and its unknowns in units with which they are as large as the flow's.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::residual::Physics;
use super::super::turbulence::SaTerms;
use super::matrix::{APART, GridRows};
use crate::config::Implicit;
use crate::jacobian::Stored;
use crate::march::linear::LinearSolver;
use crate::march::{FlowError, Moment};
use crate::parallel;
use chromaflow::{Jacobian, OffDiagonal};
use chromaflow_device::Team;
use std::sync::Arc;

/// The matrix of the model's variable on the rows of the flow's, and what factors it.
pub(super) struct Beside {
    jacobian: Jacobian,
    linear: LinearSolver,
    /// V/dt of each row.
    pseudo_time: Vec<f64>,
}

impl Beside {
    pub fn new(team: &Arc<Team>, rows: &GridRows, implicit: &Implicit) -> Result<Self, FlowError> {
        let jacobian = rows.matrix(1, implicit)?;
        let linear = LinearSolver::new(team, &rows.batches, &jacobian, implicit)?;
        Ok(Self { jacobian, linear, pseudo_time: vec![0.0; rows.places.len()] })
    }

    /// Makes the matrix, ready to precondition with: an M-matrix of first-order advection, the differences across faces and the source's derivative where
    /// it adds to the diagonal, with V/dt. The row of a diagonal that is zero comes back as an error.
    pub fn factor(
        &mut self,
        team: &Team,
        physics: &Physics,
        rows: &GridRows,
        state: (&[BlockState], &[PatchState]),
        at: &Moment,
    ) -> Result<(), usize> {
        self.jacobian.begin_assembly();
        let (diag, times) = (&mut self.jacobian.diag, &mut self.pseudo_time);
        match &mut self.jacobian.off {
            OffDiagonal::F64(off) => fill(team, physics, rows, state, (off, diag)),
            OffDiagonal::F32(off) => fill(team, physics, rows, state, (off, diag)),
            OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
        }
        parallel::rows(team, times.len(), 1, times, |range, times| {
            for (row, time) in range.zip(times) {
                *time = pseudo_time(physics, rows, state, at, row);
            }
        });
        for (diag, time) in self.jacobian.diag.iter_mut().zip(&self.pseudo_time) {
            *diag += time;
        }
        self.linear.convert(&mut self.jacobian);
        self.linear.factor(&mut self.jacobian)
    }

    /// z = M^-1 r in the units of a step.
    pub fn precondition(&mut self, along: &Along, r: &[f64], z: &mut [f64]) {
        self.linear.precondition(&self.jacobian, r, z);
        let [unit, residual_unit] = along.units;
        for z in z {
            *z *= residual_unit / unit;
        }
    }
}

/// The terms of the model at a row: its cell, the cell's place, and what has its faces.
fn terms<'a>(
    physics: &Physics,
    rows: &GridRows,
    (blocks, patches): (&'a [BlockState], &'a [PatchState]),
    row: usize,
) -> Option<(SaTerms<'a>, [usize; 3], usize)> {
    let place = &rows.places[row];
    let terms = SaTerms::new(physics, physics.turbulence?, patches, &blocks[place.block as usize]);
    Some((terms, place.cell.map(|c| c as usize), place.at as usize))
}

fn pseudo_time(
    physics: &Physics,
    rows: &GridRows,
    state: (&[BlockState], &[PatchState]),
    at: &Moment,
    row: usize,
) -> f64 {
    let Some((terms, cell, place)) = terms(physics, rows, state, row) else { return 0.0 };
    let speed: f64 = (0..6).filter_map(|side| terms.face(cell, place, side)).map(|face| face.speed()).sum();
    speed / (at.cfl * physics.turbulence.map_or(1.0, |sa| sa.cfl_ratio))
}

/// Everything but V/dt.
fn fill<T: Stored>(
    team: &Team,
    physics: &Physics,
    rows: &GridRows,
    state: (&[BlockState], &[PatchState]),
    (off, diag): (&mut [T], &mut [f64]),
) {
    let row_ptr = rows.pattern.row_ptr();
    parallel::positions(team, row_ptr, (1, off), (1, diag), |range, off, diag| {
        off.fill(T::narrow(0.0));
        let first = row_ptr[range.start] as usize;
        for (row, diag) in range.zip(diag) {
            let Some((terms, cell, place)) = terms(physics, rows, state, row) else { continue };
            let at = &rows.places[row];
            let block = &state.0[at.block as usize];
            let slope = block.eddies.slope[at.number(block)];
            *diag = block.metrics.volume[place] * (-slope).max(0.0);
            for (side, &position) in rows.positions[row].iter().enumerate() {
                let Some(face) = terms.face(cell, place, side) else { continue };
                *diag += face.coupling();
                if position < APART {
                    let entry = &mut off[position as usize - first];
                    *entry = T::narrow(entry.wide() - face.coupling());
                }
            }
        }
    });
}

/// The model's variable where the derivative is taken.
pub(super) struct Along {
    /// nut of each row, and its residual.
    pub values: Vec<f64>,
    residual: Vec<f64>,
    /// What nut and its residual are measured in.
    units: [f64; 2],
}

/// The residuals of nut in the order of rows.
fn residuals<'a>(rows: &'a GridRows, blocks: &'a [BlockState]) -> impl Iterator<Item = f64> + 'a {
    rows.places.iter().map(|place| {
        let block = &blocks[place.block as usize];
        block.eddies.r[place.number(block)]
    })
}

impl Along {
    /// At the present state; units are such that nut is as large as a flow of this size, its residual as the flow's.
    pub fn new(
        norm: impl Fn(&[f64]) -> f64,
        rows: &GridRows,
        blocks: &[BlockState],
        size: f64,
        flow: &[f64],
    ) -> Self {
        let value = |place: &super::matrix::Place| blocks[place.block as usize].eddies.nut[place.at as usize];
        let values: Vec<f64> = rows.places.iter().map(value).collect();
        let residual: Vec<f64> = residuals(rows, blocks).collect();
        let over =
            |part: f64, whole: f64| Some(part / whole).filter(|ratio| ratio.is_normal()).unwrap_or(1.0);
        let units = [over(norm(&values), size), over(norm(&residual), norm(flow))];
        Self { values, residual, units }
    }

    /// The residual in its unit.
    pub fn measured(&self) -> impl Iterator<Item = f64> + '_ {
        self.residual.iter().map(|r| r / self.units[1])
    }

    /// Sets the blocks to nut + h v.
    pub fn put(&self, rows: &GridRows, h: f64, v: &[f64], blocks: &mut [BlockState]) {
        for ((place, value), v) in rows.places.iter().zip(&self.values).zip(v) {
            blocks[place.block as usize].eddies.nut[place.at as usize] = value + h * self.units[0] * v;
        }
    }

    /// y = V/dt v + (R(nut + h v) - R(nut)) / h of the model's own residual, the blocks' that of nut + h v.
    pub fn differentiate(
        &self,
        rows: &GridRows,
        beside: &Beside,
        blocks: &[BlockState],
        h: f64,
        v: &[f64],
        y: &mut [f64],
    ) {
        let [unit, residual_unit] = self.units;
        let state = self.residual.iter().zip(&beside.pseudo_time).zip(v);
        for ((y, moved), ((base, time), v)) in y.iter_mut().zip(residuals(rows, blocks)).zip(state) {
            *y = ((moved - base) / h + time * unit * v) / residual_unit;
        }
    }

    /// Returns to nut, and puts the update in the place of the residual.
    pub fn put_update(&self, rows: &GridRows, x: &[f64], blocks: &mut [BlockState]) {
        for ((place, value), x) in rows.places.iter().zip(&self.values).zip(x) {
            let block = &mut blocks[place.block as usize];
            block.eddies.nut[place.at as usize] = *value;
            let number = place.number(block);
            block.eddies.r[number] = self.units[0] * x;
        }
    }
}
