#![allow(unsafe_code)]
//! The unfactored step by symmetric successive over-relaxation: with central differences and scalar dissipation
//! ```text
//! (I + tau D) dq_c + tau sum_faces (A(q_n) . S / 2 - d I) dq_n = -tau R_c,    tau = dt/V,
//! ```
//! n the cell beyond the face with the area S outwards, d the face's dissipation and D the sum of the d. Own Jacobians
//! cancel over a closed cell, so that D is a number, and a block only next to the boundary, whose faces add their own
//! derivatives. Cells are visited in planes i + j + k = const, up and down: those of a plane do not depend on each other, so
//! that the result is that of the lexicographic order for any number of threads. Blocks are coupled through ghost cells that
//! are refreshed between sweeps.
//!
//! **Source**: Yoon & Jameson, *Lower-upper symmetric-Gauss-Seidel method for the Euler and Navier-Stokes equations* (1988);
//! Nichols, Tramel & Buning, *Solver and turbulence model upgrades to OVERFLOW 2 for unsteady and high-speed applications*
//! (2006).

use super::block::{BlockState, load, load_state};
use super::boundary::PatchState;
use super::residual::Physics;
use crate::equations::perfect_gas::{N, NN, State, StateBlock};
use crate::flux::{flux_change, flux_jacobian, spectral_radius};
use crate::gas::Gas;
use crate::parallel;
use crate::ranks::BlockExchange;
use crate::real::{LANES, LaneKernel, Lanes, dispatch};
use crate::viscous::spectral_radius_viscous;
use chromaflow::block::inverse;
use chromaflow_device::{Isa, SharedSlice, Team, split};
use std::ops::Range;

/// Cells of a plane on average from which a team shares it: fewer are done before the team has met.
const SHARED_PLANE: usize = 128;
/// No dense block.
const NONE: u32 = u32::MAX;

/// Work space of all blocks.
#[derive(Default)]
pub(super) struct Ssor {
    pub blocks: Vec<Field>,
}

pub(super) struct Field {
    /// Places of cells plane by plane, and where the planes begin.
    pub order: Vec<u32>,
    pub planes: Vec<usize>,
    /// For each cell in that order: its first face's place in `damping`, and its block in `inverses` where it has one.
    faces: Vec<u32>,
    pub dense: Vec<u32>,
    /// Position in the order of each dense block's cell.
    pub dense_cells: Vec<u32>,
    inverses: Vec<StateBlock>,
    /// Dissipation of faces, `[nk + 1, nj + 1, 3, ni + 1]`.
    damping: Vec<f64>,
    /// tau, and 1 / (1 + tau D), in that order.
    tau: Vec<f64>,
    diagonal: Vec<f64>,
    /// Right-hand sides in that order; states and updates by place, with ghosts.
    rhs: Vec<State>,
    w: Vec<State>,
    x: Vec<State>,
}

impl Field {
    fn new(block: &BlockState) -> Self {
        let count = block.cells.count;
        let [ni, nj, nk] = count;
        let mut cells: Vec<[usize; 3]> =
            (0..ni * nj * nk).map(|n| [n % ni, n / ni % nj, n / (ni * nj)]).collect();
        cells.sort_by_key(|[i, j, k]| (i + j + k, *k, *j));
        let mut planes = vec![0];
        for n in 1..cells.len() {
            if cells[n].iter().sum::<usize>() != cells[n - 1].iter().sum::<usize>() {
                planes.push(n);
            }
        }
        planes.push(cells.len());
        let closed = |cell: [usize; 3]| {
            (0..6).any(|side| {
                let (axis, high) = (side / 2, side % 2 == 1);
                block.active[axis]
                    && cell[axis] == if high { count[axis] - 1 } else { 0 }
                    && patch_at(block, axis, high, cell).is_some()
            })
        };
        let (mut dense, mut dense_cells) = (Vec::with_capacity(cells.len()), Vec::new());
        for (n, &cell) in cells.iter().enumerate() {
            dense.push(if closed(cell) { dense_cells.len() as u32 } else { NONE });
            if closed(cell) {
                dense_cells.push(n as u32);
            }
        }
        let zero = || vec![[0.0; N]; block.cells.len()];
        Self {
            order: cells.iter().map(|&c| block.cells.inside(c) as u32).collect(),
            planes,
            faces: cells.iter().map(|[i, j, k]| ((k * (nj + 1) + j) * 3 * (ni + 1) + i) as u32).collect(),
            dense,
            inverses: vec![[0.0; NN]; dense_cells.len()],
            dense_cells,
            damping: vec![0.0; 3 * (ni + 1) * (nj + 1) * (nk + 1)],
            tau: vec![0.0; cells.len()],
            diagonal: vec![0.0; cells.len()],
            rhs: vec![[0.0; N]; cells.len()],
            w: zero(),
            x: zero(),
        }
    }

    /// Everything that stays the same through the sweeps of a step; no update so far.
    fn prepare(
        &mut self,
        team: &Team,
        physics: &Physics,
        dissipation: f64,
        patches: &[PatchState],
        block: &BlockState,
    ) {
        let [ni, nj, nk] = block.cells.count;
        let rows = (nj + 1) * (nk + 1);
        parallel::rows(team, rows, 3 * (ni + 1), &mut self.damping, |rows, out| {
            dispatch(Isa::detect(), Damping { block, physics, dissipation, rows, out });
        });
        let n = block.cells.len();
        parallel::rows(team, n, 1, &mut self.w, |range, out| {
            for (at, w) in range.zip(out) {
                *w = block.state(at);
            }
        });
        self.x.fill([0.0; N]);
        let (order, faces, damping) = (&self.order, &self.faces, &self.damping);
        let stride = face_strides(block);
        let inverse_volume = |at: usize| 1.0 / block.metrics.volume[at];
        parallel::rows2(
            team,
            order.len(),
            (1, &mut self.tau[..]),
            (1, &mut self.diagonal[..]),
            |range, tau, diagonal| {
                for ((n, tau), diagonal) in range.zip(tau).zip(diagonal) {
                    let at = order[n] as usize;
                    let [i, j, k] = block.cells.cell(at).map(|c| c as usize);
                    *tau = block.dt[(k * nj + j) * ni + i] * inverse_volume(at);
                    let mut sum = 0.0;
                    for d in (0..3).filter(|&d| block.active[d]) {
                        let face = faces[n] as usize + d * (ni + 1);
                        sum += damping[face] + damping[face + stride[d]];
                    }
                    *diagonal = 1.0 / (1.0 + *tau * sum);
                }
            },
        );
        let tau = &self.tau;
        parallel::rows(team, order.len(), 1, &mut self.rhs, |range, out| {
            for (n, rhs) in range.zip(out) {
                let cell = block.cells.cell(order[n] as usize).map(|c| c as usize);
                let at = block.residual_at(cell);
                *rhs = std::array::from_fn(|v| -tau[n] * block.r[at + v * ni]);
            }
        });
        let (dense_cells, diagonal) = (&self.dense_cells, &self.diagonal);
        parallel::rows(team, dense_cells.len(), 1, &mut self.inverses, |range, out| {
            for (slot, out) in range.zip(out) {
                let n = dense_cells[slot] as usize;
                let own = boundary_block(physics, patches, block, order[n] as usize);
                let mut full = own.map(|v| tau[n] * v);
                for k in 0..N {
                    full[6 * k] += 1.0 / diagonal[n];
                }
                // A singular block's inverse is not finite: the update's check names the cell.
                out.copy_from_slice(&inverse(N, &full).0);
            }
        });
    }
}

/// What the boundary's faces of the cell at `at` add to its diagonal block: their own derivatives, and half the cell's Jacobian
/// with the area of its open faces, which is that of the closed ones turned round.
fn boundary_block(physics: &Physics, patches: &[PatchState], block: &BlockState, at: usize) -> StateBlock {
    let cell = block.cells.cell(at).map(|c| c as usize);
    let mut sum = [0.0; NN];
    for axis in (0..3).filter(|&d| block.active[d]) {
        for high in [false, true] {
            if cell[axis] != if high { block.cells.count[axis] - 1 } else { 0 } {
                continue;
            }
            let Some(number) = patch_at(block, axis, high, cell) else { continue };
            let view = patches[number].view(block, at);
            let outer = patches[number].jacobian(physics, &view);
            let own = flux_jacobian(physics.gas, &view.w[0], &view.n);
            for e in 0..NN {
                sum[e] += outer[e] - 0.5 * own[e];
            }
        }
    }
    sum
}

/// The patch on a side of a cell next to it.
fn patch_at(block: &BlockState, axis: usize, high: bool, cell: [usize; 3]) -> Option<usize> {
    let (u, v) = ((axis + 1) % 3, (axis + 2) % 3);
    let place = cell[u] + block.cells.count[u] * cell[v];
    let number = block.patch_of[2 * axis + usize::from(high)][place];
    (number != u32::MAX).then_some(number as usize)
}

/// Distance in `damping` of the two faces of a cell along each axis.
fn face_strides(block: &BlockState) -> [usize; 3] {
    let row = 3 * (block.cells.count[0] + 1);
    [1, row, row * (block.cells.count[1] + 1)]
}

/// Dissipation of the lower faces of all cells.
struct Damping<'a> {
    block: &'a BlockState,
    physics: &'a Physics,
    dissipation: f64,
    rows: Range<usize>,
    out: &'a mut [f64],
}

impl LaneKernel for Damping<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { block, physics, dissipation, rows, out } = self;
        let gas: Gas<V> = physics.gas.lift();
        let [ni, nj, _] = block.cells.count;
        let (wide, len) = (ni + 1, block.cells.len());
        let half = V::c(0.5);
        for (row, out) in rows.zip(out.chunks_exact_mut(3 * wide)) {
            let start = block.cells.inside([0, row % (nj + 1), row / (nj + 1)]);
            for axis in 0..3 {
                let step = block.cells.stride[axis];
                let mut i = 0;
                while i < wide {
                    let at = start + i;
                    let (before, after) =
                        (load_state::<V>(&block.w, len, at - step), load_state::<V>(&block.w, len, at));
                    let mut area = [V::c(0.0); 3];
                    for k in 0..3 {
                        area[k] = load(&block.open[axis][k], at);
                    }
                    let sum = spectral_radius(gas, &before, &area) + spectral_radius(gas, &after, &area);
                    let mut damping = V::c(0.5 * dissipation) * sum;
                    if let Some(transport) = &physics.transport {
                        let volume = half
                            * (load::<V>(&block.metrics.volume, at - step)
                                + load::<V>(&block.metrics.volume, at));
                        let mut mean = [V::c(0.0); N];
                        for k in 0..N {
                            mean[k] = half * (before[k] + after[k]);
                        }
                        damping += spectral_radius_viscous(gas, transport.lift(), &mean, &area, volume);
                    }
                    let count = (wide - i).min(LANES);
                    out[axis * wide + i..][..count].copy_from_slice(&damping.to_array()[..count]);
                    i += LANES;
                }
            }
        }
    }
}

impl Ssor {
    /// The work space, where the method needs it.
    pub(super) fn new(blocks: &[BlockState]) -> Self {
        Self { blocks: blocks.iter().map(Field::new).collect() }
    }

    /// `sweeps` symmetric sweeps over all blocks: residuals become updates.
    pub(super) fn solve(
        &mut self,
        team: &Team,
        physics: &Physics,
        dissipation: f64,
        (sweeps, relaxation): (usize, f64),
        patches: &[PatchState],
        blocks: &mut [BlockState],
        exchange: &BlockExchange,
    ) {
        for (field, block) in self.blocks.iter_mut().zip(blocks.iter()) {
            field.prepare(team, physics, dissipation, patches, block);
        }
        for sweep in 0..2 * sweeps {
            if sweep > 0 && !exchange.is_empty() {
                let mut fields: Vec<&mut [State]> = self.blocks.iter_mut().map(|f| &mut f.x[..]).collect();
                exchange.fill_rows(&mut fields);
            }
            for (field, block) in self.blocks.iter_mut().zip(blocks.iter()) {
                field.sweep(team, physics, block, sweep % 2 == 1, relaxation);
            }
        }
        for (field, block) in self.blocks.iter().zip(blocks) {
            let ni = block.cells.count[0];
            let (cells, mut r) = (block.cells, std::mem::take(&mut block.r));
            let nj = cells.count[1];
            parallel::rows(team, block.rows(), N * ni, &mut r, |rows, out| {
                for (row, out) in rows.zip(out.chunks_exact_mut(N * ni)) {
                    let start = cells.inside([0, row % nj, row / nj]);
                    for (i, x) in field.x[start..start + ni].iter().enumerate() {
                        for v in 0..N {
                            out[v * ni + i] = x[v];
                        }
                    }
                }
            });
            block.r = r;
        }
    }
}

impl Field {
    /// One sweep, up the planes or down.
    fn sweep(&mut self, team: &Team, physics: &Physics, block: &BlockState, down: bool, relaxation: f64) {
        let mut x = std::mem::take(&mut self.x);
        let shared = SharedSlice::new(&mut x);
        let (me, count) = (&*self, self.planes.len() - 1);
        let part = |step: usize, size: usize, rank: usize| {
            let plane = if down { count - 1 - step } else { step };
            let (first, last) = (me.planes[plane], me.planes[plane + 1]);
            let mine = split(last - first, size, rank);
            let cells = first + mine.start..first + mine.end;
            if !cells.is_empty() {
                dispatch(Isa::detect(), Plane { field: me, physics, block, cells, relaxation, x: &shared });
            }
        };
        if me.order.len() < SHARED_PLANE * count {
            (0..count).for_each(|step| part(step, 1, 0));
        } else {
            team.run(|member| {
                for step in 0..count {
                    part(step, member.size(), member.rank());
                    member.barrier();
                }
            });
        }
        self.x = x;
    }
}

/// Cells of one plane, eight at a time.
struct Plane<'a> {
    field: &'a Field,
    physics: &'a Physics,
    block: &'a BlockState,
    /// In the order of the planes.
    cells: Range<usize>,
    relaxation: f64,
    x: &'a SharedSlice<'a, State>,
}

impl LaneKernel for Plane<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { field, physics, block, cells, relaxation, x } = self;
        let gas: Gas<V> = physics.gas.lift();
        let stride = face_strides(block);
        let wide = block.cells.count[0] + 1;
        let half = V::c(0.5);
        let mut first = cells.start;
        while first < cells.end {
            let lanes = (cells.end - first).min(LANES);
            let (mut at, mut face) = ([0; LANES], [0; LANES]);
            for l in 0..LANES {
                let n = first + l.min(lanes - 1);
                (at[l], face[l]) = (field.order[n] as usize, field.faces[n] as usize);
            }
            let mut sum = [V::c(0.0); N];
            for d in 0..3 {
                if !block.active[d] {
                    continue;
                }
                let step = block.cells.stride[d];
                for high in 0..2 {
                    let (mut neighbors, mut area, mut damping) =
                        ([[0.0; LANES]; 10], [[0.0; LANES]; 3], [0.0; LANES]);
                    for l in 0..LANES {
                        let other = if high == 1 { at[l] + step } else { at[l] - step };
                        let lower = if high == 1 { at[l] + step } else { at[l] };
                        // SAFETY: a neighbor lies in another plane, which no member writes now.
                        let dx = unsafe { x.read(other..other + 1)[0] };
                        let w = field.w[other];
                        for v in 0..N {
                            neighbors[v][l] = w[v];
                            neighbors[5 + v][l] = dx[v];
                        }
                        for k in 0..3 {
                            area[k][l] = block.open[d][k][lower];
                        }
                        damping[l] = field.damping[face[l] + d * wide + high * stride[d]];
                    }
                    let mut w = [V::c(0.0); N];
                    let mut dx = [V::c(0.0); N];
                    for v in 0..N {
                        w[v] = V::from_array(&neighbors[v]);
                        dx[v] = V::from_array(&neighbors[5 + v]);
                    }
                    let mut n = [V::c(0.0); 3];
                    for k in 0..3 {
                        n[k] = V::from_array(&area[k]);
                    }
                    let change = flux_change(gas, &w, &n, &dx);
                    let sign = if high == 1 { half } else { -half };
                    let damping = V::from_array(&damping);
                    for v in 0..N {
                        sum[v] += sign * change[v] - damping * dx[v];
                    }
                }
            }
            let sums = sum.map(V::to_array);
            for l in 0..lanes {
                let n = first + l;
                let mut value: State = std::array::from_fn(|v| field.rhs[n][v] - field.tau[n] * sums[v][l]);
                if field.dense[n] == NONE {
                    value = value.map(|v| v * field.diagonal[n]);
                } else {
                    let inverse = &field.inverses[field.dense[n] as usize];
                    let right = value;
                    value = std::array::from_fn(|r| (0..N).map(|c| inverse[c * N + r] * right[c]).sum());
                }
                // SAFETY: this cell belongs to this member, and its neighbors lie in other planes.
                let own = unsafe { &mut x.write(at[l]..at[l] + 1)[0] };
                *own = std::array::from_fn(|v| own[v] + relaxation * (value[v] - own[v]));
            }
            first += LANES;
        }
    }
}
