//! The first-order matrix of a structured grid, all blocks of cells in one, as meshes have it: it preconditions Newton-Krylov steps.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::residual::Physics;
use crate::config::Implicit;
use crate::equations::Equations;
use crate::equations::perfect_gas::{N, NN, State, StateBlock};
use crate::grid::Exchange;
use crate::jacobian::Stored;
use crate::march::FlowError;
use crate::march::linear::plan_options;
use crate::march::turn_columns;
use crate::mesh::periodic::Matrix;
use crate::on_grid::{NONE, rows_around};
use crate::parallel;
use crate::viscous::{mean_velocity_and_temperature, molecular, thin_layer_blocks, with_eddies};
use chromaflow::order::Plan;
use chromaflow::{BlockPattern, Jacobian, OffDiagonal, RowBatches};
use chromaflow_device::Team;

/// Where a row of the matrix lies on the grid.
#[derive(Clone, Copy, Debug)]
pub(in crate::structured) struct Place {
    pub block: u32,
    /// Cell, ghosts counted.
    pub at: u32,
    pub cell: [u32; 3],
}

impl Place {
    /// The cell's number without ghosts.
    pub fn number(&self, block: &BlockState) -> usize {
        block.number(self.cell.map(|c| c as usize))
    }

    /// Its place among the cells of a side of the block, where it is one of them.
    pub fn on_side(&self, block: &BlockState, side: usize) -> Option<usize> {
        let axis = side / 2;
        let [u, v] = [(axis + 1) % 3, (axis + 2) % 3].map(|d| (d, self.cell[d] as usize));
        let end = if side % 2 == 1 { block.cells.count[axis] - 1 } else { 0 };
        (self.cell[axis] as usize == end).then(|| u.1 + block.cells.count[u.0] * v.1)
    }

    /// Where its residual lies.
    fn residual(&self, block: &BlockState) -> usize {
        block.residual_at(self.cell.map(|c| c as usize))
    }
}

/// A neighbor that the matrix leaves out: its face counts, its column does not.
pub(in crate::structured) const APART: u32 = NONE - 1;

/// The rows of a grid's matrix: one a cell, in the order of the solver.
pub(in crate::structured) struct GridRows {
    pub places: Vec<Place>,
    /// The cell beyond each of the six faces (low and high along i, j, k): its position in the pattern; `NONE` where there is none,
    /// `APART` where it is left out.
    pub positions: Vec<[u32; 6]>,
    /// The row of each cell, blocks one after another, i fastest.
    pub rows: Vec<u32>,
    pub batches: RowBatches,
    pub pattern: BlockPattern,
    /// Of each cell and ghost of the blocks one and the number of the matrix that turns its vectors, 0 where none does; empty where no sides are
    /// turned.
    turns: Vec<Vec<u8>>,
    pub matrices: Vec<Matrix>,
}

impl GridRows {
    /// Numbers the cells of all blocks and finds their neighbors: across interfaces those that `exchange` knows.
    pub fn new(blocks: &[BlockState], exchange: &Exchange, implicit: &Implicit) -> Result<Self, FlowError> {
        let failed = |e: &dyn std::fmt::Display| FlowError::Linear(e.to_string());
        let mut places = Vec::new();
        for (b, block) in blocks.iter().enumerate() {
            places.extend(block.cells.places().map(|at| {
                let cell = block.cells.cell(at).map(|c| c as u32);
                Place { block: b as u32, at: at as u32, cell }
            }));
        }
        let numbers = rows_around(blocks.iter().map(|b| b.cells), exchange, 0);
        let beyond = |place: &Place, side: usize| {
            let (block, axis) = (&blocks[place.block as usize], side / 2);
            if !block.active[axis] {
                return None;
            }
            let (at, step) = (place.at as usize, block.cells.stride[axis]);
            let number = numbers[place.block as usize][if side % 2 == 1 { at + step } else { at - step }];
            (number != NONE).then_some(number)
        };
        let is_apart = |place: &Place, side: usize| {
            let block = &blocks[place.block as usize];
            let at_end = patch_number(block, place, side).is_some_and(|number| number == u32::MAX);
            block.active[side / 2] && at_end && beyond(place, side).is_none()
        };
        let mut row_ptr = vec![0];
        let mut col_idx: Vec<u32> = Vec::with_capacity(6 * places.len());
        for (n, place) in places.iter().enumerate() {
            let mut row: Vec<u32> = (0..6).filter_map(|side| beyond(place, side)).collect();
            row.retain(|&other| other as usize != n);
            row.sort_unstable();
            row.dedup();
            col_idx.extend(row);
            row_ptr.push(u32::try_from(col_idx.len()).map_err(|e| failed(&e))?);
        }
        let natural = BlockPattern::new(places.len(), row_ptr, col_idx).map_err(|e| failed(&e))?;
        let plan = Plan::new(&natural, &plan_options(implicit)).map_err(|e| failed(&e))?;
        let (pattern, _) = natural.permuted(&plan.permutation);
        let rows = plan.permutation.new_of_old().to_vec();
        let order = plan.permutation.old_of_new();
        let positions = order.iter().enumerate().map(|(row, &old)| {
            let place = &places[old as usize];
            std::array::from_fn(|side| {
                let other = beyond(place, side).map(|other| rows[other as usize]);
                let range = pattern.range(row);
                let found = other.and_then(|col| pattern.col_idx()[range.clone()].binary_search(&col).ok());
                let none = if is_apart(place, side) { APART } else { NONE };
                found.map_or(none, |k| (range.start + k) as u32)
            })
        });
        let positions = positions.collect();
        let places = order.iter().map(|&old| places[old as usize]).collect();
        let (turns, matrices) = (exchange.turns(), exchange.matrices().to_vec());
        Ok(Self { places, positions, rows, batches: plan.batches, pattern, turns, matrices })
    }

    /// A matrix of zeros on these rows, in blocks of `nb`.
    pub fn matrix(&self, nb: usize, implicit: &Implicit) -> Result<Jacobian, FlowError> {
        Jacobian::zeroed(self.pattern.clone(), nb, implicit.policy)
            .map_err(|e| FlowError::Linear(e.to_string()))
    }

    /// V/dt of each row, from the blocks' local time steps.
    pub fn pseudo_times(&self, blocks: &[BlockState]) -> Vec<f64> {
        let time = |place: &Place| {
            let block = &blocks[place.block as usize];
            block.metrics.volume[place.at as usize] / block.dt[place.number(block)]
        };
        self.places.iter().map(time).collect()
    }

    /// Adds volumes times the factor of q in dq/dt.
    pub fn add_time_shift(&self, blocks: &[BlockState], factor: f64, out: &mut [f64]) {
        for (place, out) in self.places.iter().zip(out) {
            *out += factor * blocks[place.block as usize].metrics.volume[place.at as usize];
        }
    }

    /// Primitive states in the order of rows.
    pub fn states<'a>(&'a self, blocks: &'a [BlockState]) -> impl Iterator<Item = State> + 'a {
        self.places.iter().map(|place| blocks[place.block as usize].state(place.at as usize))
    }

    /// Calls `f(row, residual, out)` for each row, `out` its five entries of a vector in the order of rows.
    pub fn each_residual(
        &self,
        team: &Team,
        blocks: &[BlockState],
        out: &mut [f64],
        f: impl Fn(usize, State, &mut State) + Sync,
    ) {
        parallel::rows(team, self.places.len(), N, out, |rows, out| {
            for (row, out) in rows.zip(out.as_chunks_mut::<N>().0) {
                let place = &self.places[row];
                let block = &blocks[place.block as usize];
                let (at, ni) = (place.residual(block), block.cells.count[0]);
                f(row, std::array::from_fn(|c| block.r[at + c * ni]), out);
            }
        });
    }

    /// Puts -x in the place of the residual.
    pub fn put_update(&self, x: &[f64], blocks: &mut [BlockState]) {
        for (place, x) in self.places.iter().zip(x.as_chunks::<N>().0) {
            let block = &mut blocks[place.block as usize];
            let (at, ni) = (place.residual(block), block.cells.count[0]);
            for c in 0..N {
                block.r[at + c * ni] = -x[c];
            }
        }
    }

    /// Block and cell of a row.
    pub fn cell(&self, row: usize) -> (usize, usize) {
        let place = &self.places[row];
        (place.block as usize, place.at as usize)
    }

    /// Writes V/dt + dR/dq of the first-order scheme: Roe's flux with its dissipation held, the viscous flux of the change across each
    /// face, and the boundary's own derivatives. `pseudo_time`: V/dt of each row; `least`: see [`RoeFix::in_matrix`](crate::flux::RoeFix::in_matrix).
    pub fn assemble(
        &self,
        team: &Team,
        (physics, least): (&Physics, f64),
        (blocks, patches): (&[BlockState], &[PatchState]),
        pseudo_time: &[f64],
        jacobian: &mut Jacobian,
    ) {
        jacobian.begin_assembly();
        let diag = &mut jacobian.diag;
        let physics = (physics, least);
        match &mut jacobian.off {
            OffDiagonal::F64(off) => self.fill(team, physics, (blocks, patches), pseudo_time, off, diag),
            OffDiagonal::F32(off) => self.fill(team, physics, (blocks, patches), pseudo_time, off, diag),
            OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
        }
    }

    fn fill<T: Stored>(
        &self,
        team: &Team,
        (physics, least): (&Physics, f64),
        (blocks, patches): (&[BlockState], &[PatchState]),
        pseudo_time: &[f64],
        off: &mut [T],
        diag: &mut [f64],
    ) {
        let row_ptr = self.pattern.row_ptr();
        parallel::positions(team, row_ptr, (NN, off), (NN, diag), |rows, off, diag| {
            off.fill(T::narrow(0.0));
            let first = row_ptr[rows.start] as usize;
            for (row, diag) in rows.zip(diag.as_chunks_mut::<NN>().0) {
                let place = &self.places[row];
                let block = &blocks[place.block as usize];
                *diag = [0.0; NN];
                (0..N).for_each(|c| diag[(N + 1) * c] = pseudo_time[row]);
                for side in 0..6 {
                    let position = self.positions[row][side];
                    if position == NONE {
                        add_boundary(physics, patches, block, place, side, diag);
                        continue;
                    }
                    let other = face_blocks((physics, least), block, place.at as usize, side, diag);
                    if position == APART {
                        continue;
                    }
                    let other = self.by_its_own(place, side, block, other);
                    let at = NN * (position as usize - first);
                    for (entry, value) in off[at..at + 25].iter_mut().zip(other) {
                        *entry = T::narrow(entry.wide() + value);
                    }
                }
            }
        });
    }
}

/// What [`BlockState::patch_of`] has of a cell's face, where it is one of the block's.
fn patch_number(block: &BlockState, place: &Place, side: usize) -> Option<u32> {
    place.on_side(block, side).map(|at| block.patch_of[side][at])
}

impl GridRows {
    /// One and the number of the matrix that turns vectors beyond a side, 0 where none does.
    #[inline]
    pub fn turn(&self, place: &Place, side: usize, block: &BlockState) -> u8 {
        let Some(turns) = self.turns.get(place.block as usize) else { return 0 };
        let (at, step) = (place.at as usize, block.cells.stride[side / 2]);
        turns[if side % 2 == 1 { at + step } else { at - step }]
    }

    /// The derivative by the state beyond a face, by that state as its own row has it: in other axes where sides are turned.
    #[inline]
    fn by_its_own(&self, place: &Place, side: usize, block: &BlockState, mut by: StateBlock) -> StateBlock {
        let turn = self.turn(place, side, block);
        if let Some(matrix) = usize::from(turn).checked_sub(1).map(|number| &self.matrices[number]) {
            turn_columns(&mut by, N, matrix);
        }
        by
    }
}

/// Adds the derivative of the flux out through a boundary face by the cell's own state.
fn add_boundary(
    physics: &Physics,
    patches: &[PatchState],
    block: &BlockState,
    place: &Place,
    side: usize,
    diag: &mut StateBlock,
) {
    let number = patch_number(block, place, side);
    let Some(patch) = number.and_then(|number| patches.get(number as usize)) else { return };
    let view = patch.view(block, place.at as usize);
    let x = patch.middle_of(place.cell.map(|c| c as usize));
    let of_law = patch.law_jacobian(physics, &view, &x);
    for by in [Some(patch.jacobian(physics, &view)), of_law].into_iter().flatten() {
        for (d, value) in diag.iter_mut().zip(by) {
            *d += value;
        }
    }
}

/// The derivative of the flux out through a face by the state beyond it; that by the cell's own is added to `diag`.
fn face_blocks(
    (physics, least): (&Physics, f64),
    block: &BlockState,
    at: usize,
    side: usize,
    diag: &mut StateBlock,
) -> StateBlock {
    let (gas, axis, step) = (physics.gas, side / 2, block.cells.stride[side / 2]);
    let (beyond, face, sign) =
        if side % 2 == 1 { (at + step, at + step, 1.0) } else { (at - step, at, -1.0) };
    let n: [f64; 3] = std::array::from_fn(|c| sign * block.open[axis][c][face]);
    let (own, other) = (block.state(at), block.state(beyond));
    let mut equations = physics.equations();
    equations.fix = equations.fix.in_matrix(least);
    let (by_own, mut off) = equations.upwind_jacobians(&own, &other, &n);
    for (entry, by) in diag.iter_mut().zip(by_own) {
        *entry += by;
    }
    if let Some(transport) = physics.transport {
        let volume = 0.5 * (block.metrics.volume[at] + block.metrics.volume[beyond]);
        let middle = mean_velocity_and_temperature(gas, &own, &other);
        let mut diffusing = molecular(gas, transport, middle[3]);
        if let Some(turbulence) = physics.turbulence {
            let eddies = &block.eddies.viscosity;
            diffusing = with_eddies(gas, &diffusing, 0.5 * (eddies[at] + eddies[beyond]), turbulence.prandtl);
        }
        let weight = n.map(|n| n / volume);
        let (by_own, by_other) = thin_layer_blocks(gas, &diffusing, &middle, &own, &other, &weight, &n);
        for e in 0..NN {
            diag[e] -= by_own[e];
            off[e] -= by_other[e];
        }
    }
    off
}
