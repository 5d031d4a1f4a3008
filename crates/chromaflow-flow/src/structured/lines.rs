#![allow(unsafe_code)]
//! Approximate factorization: one block-tridiagonal system a grid line, axis after axis, eight lines at a time. (Its
//! diagonalized form is in [`super::diagonal`].)
//!
//! Jacobian blocks are made where they are used, in the buffers of the eight lines at hand.

use super::block::{BlockState, SharedLines};
use super::boundary::PatchState;
use super::config::{Scheme, StepMethod};
use super::residual::Physics;
use crate::equations::perfect_gas::{N, NN, State, StateBlock};
use crate::flux::{dissipation_matrix, flux_jacobian, roe_absolute, spectral_radius};
use crate::gas::Gas;
use crate::real::{LANES, LaneKernel, Lanes, dispatch};
use crate::viscous::spectral_radius_viscous;
use chromaflow::tridiag::{Batch, Double, Layout, LineOutcome, Options, PentaSolver, Shape, Solver};
use chromaflow_device::{Isa, Team, split};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Work space of a team: buffers and a line solver for each member.
pub(super) struct LineSolver {
    members: Vec<Mutex<Workspace>>,
}

pub(super) struct Workspace {
    solver: Solver<Double>,
    pub scalars: PentaSolver<Double>,
    /// A team of the member alone, inside its lines.
    pub alone: Team,
    lower: Vec<f64>,
    diagonal: Vec<f64>,
    upper: Vec<f64>,
    /// Coefficients of scalar systems.
    pub bands: [Vec<f64>; 5],
    pub rhs: Vec<f64>,
    pub x: Vec<f64>,
}

impl LineSolver {
    pub(super) fn new(members: usize) -> Self {
        let workspace = || {
            Mutex::new(Workspace {
                solver: Solver::new(Options::default()),
                scalars: PentaSolver::new(),
                alone: Team::new(1),
                lower: Vec::new(),
                diagonal: Vec::new(),
                upper: Vec::new(),
                bands: Default::default(),
                rhs: Vec::new(),
                x: Vec::new(),
            })
        };
        Self { members: (0..members).map(|_| workspace()).collect() }
    }

    /// Solves the factors of all axes: `block.r` goes from the residual R to the update
    /// `dq = L_k^-1 L_j^-1 L_i^-1 (-dt/V R)`, L = I + dt/V (differences of the flux Jacobians along one axis).
    ///
    /// # Errors
    /// The place of a cell whose line broke down.
    pub(super) fn factors(
        &self,
        team: &Team,
        physics: &Physics,
        (method, dissipation): (StepMethod, f64),
        patches: &[PatchState],
        block: &mut BlockState,
    ) -> Result<(), usize> {
        let mut r = std::mem::take(&mut block.r);
        let [ni, nj, nk] = block.cells.count;
        let mut scaled = false;
        let bad = AtomicUsize::new(usize::MAX);
        for axis in (0..3).filter(|&d| block.active[d]) {
            // Lanes are neighbors along i, or along j for lines along i.
            let (across, other) = if axis == 0 { (1, 2) } else { (0, 3 - axis) };
            let count = [ni, nj, nk];
            let groups = count[across].div_ceil(LANES) * count[other];
            let shared = SharedLines::new(&mut r);
            let me = &*block;
            team.run(|member| {
                let mut workspace =
                    self.members[member.rank()].lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                for group in split(groups, member.size(), member.rank()) {
                    let per = count[across].div_ceil(LANES);
                    let mut first = [0; 3];
                    first[across] = group % per * LANES;
                    first[other] = group / per;
                    let lines = Lines {
                        block: me,
                        physics,
                        patches,
                        dissipation,
                        axis,
                        across,
                        first,
                        lanes: (count[across] - first[across]).min(LANES),
                        scaled,
                    };
                    // The groups' lines are different cells, so no two members touch the same entries of r.
                    let solved = match method {
                        StepMethod::Diagonal { fourth } => {
                            lines.solve_diagonal(&mut workspace, &shared, fourth)
                        }
                        _ => lines.solve(&mut workspace, &shared),
                    };
                    if let Err(at) = solved {
                        bad.fetch_min(at, Ordering::Relaxed);
                    }
                }
            });
            scaled = true;
        }
        block.r = r;
        match bad.into_inner() {
            usize::MAX => Ok(()),
            at => Err(at),
        }
    }
}

/// The order of `entries` numbers of each of eight lines: interleaved by as many lines as the machine's vectors have lanes, so that the line
/// solvers read them where they lie; all of one vector's before the next one's.
#[derive(Clone, Copy)]
pub(super) struct Interleaved {
    lanes: usize,
    entries: usize,
}

impl Interleaved {
    pub(super) fn new(entries: usize) -> Self {
        struct Width;
        impl LaneKernel for Width {
            type Output = usize;
            #[inline(always)]
            fn run<V: Lanes>(self) -> usize {
                V::WIDTH
            }
        }
        Self { lanes: dispatch(Isa::detect(), Width), entries }
    }

    pub(super) fn layout(self) -> Layout {
        Layout::Interleaved { lanes: self.lanes }
    }

    /// Where number `entry` of line `l` lies.
    #[inline(always)]
    pub(super) fn at(self, entry: usize, l: usize) -> usize {
        (l / self.lanes * self.entries + entry) * self.lanes + l % self.lanes
    }

    /// Writes number `entry` of all lines.
    #[inline(always)]
    pub(super) fn store<V: Lanes>(self, to: &mut [f64], entry: usize, value: V) {
        let values = value.to_array();
        for first in (0..LANES).step_by(V::WIDTH) {
            let at = first * self.entries + entry * V::WIDTH;
            to[at..at + V::WIDTH].copy_from_slice(&values[first..first + V::WIDTH]);
        }
    }

    /// Number `entry` of all lines.
    #[inline(always)]
    pub(super) fn load<V: Lanes>(self, from: &[f64], entry: usize) -> V {
        let mut values = [0.0; LANES];
        for first in (0..LANES).step_by(V::WIDTH) {
            let at = first * self.entries + entry * V::WIDTH;
            values[first..first + V::WIDTH].copy_from_slice(&from[at..at + V::WIDTH]);
        }
        V::from_array(&values)
    }
}

/// Eight neighboring lines (or fewer at a block's end).
pub(super) struct Lines<'a> {
    pub block: &'a BlockState,
    pub physics: &'a Physics,
    patches: &'a [PatchState],
    pub dissipation: f64,
    pub axis: usize,
    /// The axis along which the lines lie side by side.
    across: usize,
    /// First cell of the first line.
    first: [usize; 3],
    pub lanes: usize,
    /// Whether the right-hand side is already an update rather than the residual.
    scaled: bool,
}

impl Lines<'_> {
    fn solve(&self, work: &mut Workspace, r: &SharedLines<'_>) -> Result<(), usize> {
        let n = self.block.cells.count[self.axis];
        for (buffer, width) in [
            (&mut work.lower, NN),
            (&mut work.diagonal, NN),
            (&mut work.upper, NN),
            (&mut work.rhs, N),
            (&mut work.x, N),
        ] {
            buffer.resize(n * width * LANES, 0.0);
        }
        let (blocks, rows) = (Interleaved::new(n * NN), Interleaved::new(n * N));
        dispatch(Isa::detect(), Assemble { lines: self, work, r, blocks, rows });
        self.boundaries(work, blocks);
        let (shape, layout) = (Shape::new(LANES, n, N), blocks.layout());
        let batch = Batch::new(shape, layout, &work.lower, &work.diagonal, &work.upper)
            .expect("buffers of the batch's shape");
        let batch = if self.block.closed[self.axis] { batch.periodic() } else { batch };
        let outcome = work
            .solver
            .solve(&work.alone, &batch, &work.rhs, &mut work.x)
            .expect("buffers of the batch's shape");
        dispatch(Isa::detect(), Finish { lines: self, x: &work.x, r, rows });
        match outcome {
            LineOutcome::Breakdown { system, row } if system < self.lanes => {
                Err(self.block.cells.inside(self.cell(row, system)))
            }
            _ => Ok(()),
        }
    }

    /// Cell `c` of line `l`.
    #[inline(always)]
    pub(super) fn cell(&self, c: usize, l: usize) -> [usize; 3] {
        let mut cell = self.first;
        cell[self.axis] = c;
        cell[self.across] += l;
        cell
    }

    /// Values of the cells of all lines, from that of the first line's at `at`.
    #[inline(always)]
    pub(super) fn gather<V: Lanes>(&self, values: &[f64], at: usize) -> V {
        let apart = self.block.cells.stride[self.across];
        if apart == 1 && self.lanes == LANES {
            return V::from_array(values[at..].first_chunk::<LANES>().expect("eight cells of a row"));
        }
        let mut out = [0.0; LANES];
        for l in 0..LANES {
            out[l] = values[at + l.min(self.lanes - 1) * apart];
        }
        V::from_array(&out)
    }

    /// Time steps of the lines' cells, from the first line's `cell`.
    #[inline(always)]
    pub(super) fn steps<V: Lanes>(&self, cell: [usize; 3]) -> V {
        let [ni, nj, _] = self.block.cells.count;
        let first = (cell[2] * nj + cell[1]) * ni + cell[0];
        let apart = if self.across == 0 { 1 } else { ni };
        let mut out = [0.0; LANES];
        for l in 0..LANES {
            out[l] = self.block.dt[first + l.min(self.lanes - 1) * apart];
        }
        V::from_array(&out)
    }

    /// Right-hand sides of the lines' cells: the update so far, or -`tau` R in the first factor.
    ///
    /// # Safety
    /// Nobody writes these cells' entries of `r` meanwhile.
    #[inline(always)]
    pub(super) unsafe fn right_side<V: Lanes>(
        &self,
        r: &SharedLines<'_>,
        cell: [usize; 3],
        tau: V,
    ) -> State<V> {
        let ni = self.block.cells.count[0];
        let first = self.block.residual_at(cell);
        let apart = if self.across == 0 { 1 } else { N * ni };
        let mut out = [V::c(0.0); N];
        for v in 0..N {
            let mut values = [0.0; LANES];
            for l in 0..LANES {
                // SAFETY: the caller's promise.
                values[l] = unsafe { r.get(first + v * ni + l.min(self.lanes - 1) * apart) };
            }
            let value = V::from_array(&values);
            out[v] = if self.scaled { value } else { -(tau * value) };
        }
        out
    }

    /// The solution of cell `c` of each line, five components of eight lines.
    ///
    /// # Safety
    /// Nobody else reads or writes these cells' entries of `r` meanwhile.
    #[inline(always)]
    pub(super) unsafe fn put(&self, r: &SharedLines<'_>, c: usize, x: &[[f64; LANES]; N]) {
        let ni = self.block.cells.count[0];
        for l in 0..self.lanes {
            let at = self.block.residual_at(self.cell(c, l));
            for v in 0..N {
                // SAFETY: the caller's promise.
                unsafe { r.set(at + v * ni, x[v][l]) };
            }
        }
    }

    /// Adds the derivatives of boundary fluxes to the first and last cells' diagonal blocks.
    fn boundaries(&self, work: &mut Workspace, blocks: Interleaved) {
        let n = self.block.cells.count[self.axis];
        let u = (self.axis + 1) % 3;
        let v = (self.axis + 2) % 3;
        for (high, c) in [(false, 0), (true, n - 1)] {
            for l in 0..LANES {
                let cell = self.cell(c, l.min(self.lanes - 1));
                let place = cell[u] + self.block.cells.count[u] * cell[v];
                let number = self.block.patch_of[2 * self.axis + usize::from(high)][place];
                let Some(patch) = self.patches.get(number as usize) else { continue };
                let at = self.block.cells.inside(cell);
                let jacobian = patch.jacobian(self.physics, &patch.view(self.block, at));
                let row =
                    self.block.cells.count[0] * (cell[1] + self.block.cells.count[1] * cell[2]) + cell[0];
                let tau = self.block.dt[row] / self.block.metrics.volume[at];
                for (e, value) in jacobian.iter().enumerate() {
                    work.diagonal[blocks.at(c * NN + e, l)] += tau * value;
                }
            }
        }
    }
}

/// Fills the buffers of eight lines.
struct Assemble<'a, 'b> {
    lines: &'a Lines<'b>,
    work: &'a mut Workspace,
    r: &'a SharedLines<'a>,
    blocks: Interleaved,
    rows: Interleaved,
}

impl LaneKernel for Assemble<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { lines, work, r, blocks, rows } = self;
        let (block, axis) = (lines.block, lines.axis);
        let n = block.cells.count[axis];
        let gas: Gas<V> = lines.physics.gas.lift();
        let len = block.cells.len();
        let step = block.cells.stride[axis];
        let start = block.cells.inside(lines.cell(0, 0));
        let gather = |values: &[f64], at: usize| -> V { lines.gather(values, at) };
        let half = V::c(0.5);
        // Of the face below the cell: half its Jacobians at the cells on both sides, its dissipation.
        let mut below_outer = [V::c(0.0); NN];
        let mut below_inner = [V::c(0.0); NN];
        let mut below_damping = [V::c(0.0); NN];
        for c in 0..=n {
            let at = start + c * step;
            // The face between cell c - 1 and cell c.
            let before: State<V> = std::array::from_fn(|k| gather(&block.w, k * len + at - step));
            let after: State<V> = std::array::from_fn(|k| gather(&block.w, k * len + at));
            let area: [V; 3] = std::array::from_fn(|k| gather(&block.open[axis][k], at));
            let outer = times(half, flux_jacobian(gas, &before, &area));
            let inner = times(half, flux_jacobian(gas, &after, &area));
            let share = V::c(lines.dissipation);
            let mut damping = match lines.physics.scheme {
                Scheme::Roe { .. } => {
                    times(share, roe_absolute(gas, &before, &after, &area, lines.physics.fix.lift()))
                }
                Scheme::Matrix(d) => times(share, dissipation_matrix(gas, &before, &after, &area, d.lift())),
                Scheme::Scalar(_) => {
                    let sum = spectral_radius(gas, &before, &area) + spectral_radius(gas, &after, &area);
                    diagonal(half * share * sum)
                }
            };
            if let Some(transport) = &lines.physics.transport {
                let volume =
                    half * (gather(&block.metrics.volume, at - step) + gather(&block.metrics.volume, at));
                let mean: State<V> = std::array::from_fn(|k| half * (before[k] + after[k]));
                let viscous = spectral_radius_viscous(gas, transport.lift(), &mean, &area, volume);
                for k in 0..N {
                    damping[6 * k] += viscous;
                }
            }
            if c > 0 {
                // Now both faces of cell c - 1 are known.
                let row = c - 1;
                let cell = lines.cell(row, 0);
                let own = at - step;
                let tau = lines.steps::<V>(cell) / gather(&block.metrics.volume, own);
                for e in 0..NN {
                    let identity = if e % 6 == 0 { V::c(1.0) } else { V::c(0.0) };
                    let lower = -(tau * (below_outer[e] + below_damping[e]));
                    let upper = tau * (inner[e] - damping[e]);
                    let own = outer[e] - below_inner[e] + damping[e] + below_damping[e];
                    blocks.store(&mut work.lower, row * NN + e, lower);
                    blocks.store(&mut work.upper, row * NN + e, upper);
                    blocks.store(&mut work.diagonal, row * NN + e, identity + tau * own);
                }
                // SAFETY: the cells of this group's lines belong to one member.
                let rhs = unsafe { lines.right_side::<V>(r, cell, tau) };
                for v in 0..N {
                    rows.store(&mut work.rhs, row * N + v, rhs[v]);
                }
            }
            (below_outer, below_inner, below_damping) = (outer, inner, damping);
        }
    }
}

/// Solutions back to where residuals lie.
struct Finish<'a, 'b> {
    lines: &'a Lines<'b>,
    x: &'a [f64],
    r: &'a SharedLines<'a>,
    rows: Interleaved,
}

impl LaneKernel for Finish<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { lines, x, r, rows } = self;
        for c in 0..lines.block.cells.count[lines.axis] {
            let mut values = [[0.0; LANES]; N];
            for v in 0..N {
                values[v] = rows.load::<V>(x, c * N + v).to_array();
            }
            // SAFETY: the cells of this group's lines belong to one member.
            unsafe { lines.put(r, c, &values) };
        }
    }
}

#[inline(always)]
fn times<V: Lanes>(factor: V, mut block: StateBlock<V>) -> StateBlock<V> {
    for value in &mut block {
        *value = factor * *value;
    }
    block
}

#[inline(always)]
fn diagonal<V: Lanes>(value: V) -> StateBlock<V> {
    let mut block = [V::c(0.0); NN];
    for k in 0..N {
        block[6 * k] = value;
    }
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers lie where the line solver's layout has them, in vectors of its width.
    #[test]
    fn eight_lines_lie_as_the_line_solver_reads_them() {
        let (n, width) = (3, 4);
        let order = Interleaved::new(n * width);
        let lanes = Solver::<Double>::new(Options::default()).lanes();
        assert_eq!(order.layout(), Layout::Interleaved { lanes });
        let mut buffer = vec![f64::NAN; n * width * LANES];
        let value = |entry: usize, l: usize| (10 * entry + l) as f64;
        for entry in 0..n * width {
            let values: [f64; LANES] = std::array::from_fn(|l| value(entry, l));
            let back = dispatch(Isa::detect(), StoreAndLoad { order, to: &mut buffer, entry, values });
            assert_eq!(back, values);
        }
        for (l, entry) in (0..LANES * n * width).map(|k| (k % LANES, k / LANES)) {
            let shape = Shape::new(LANES, n, 2);
            let place = order.layout().index(shape, width, l, entry / width, entry % width);
            assert_eq!(place, order.at(entry, l));
            assert_eq!(buffer[place], value(entry, l), "line {l}, entry {entry}");
        }
    }

    struct StoreAndLoad<'a> {
        order: Interleaved,
        to: &'a mut [f64],
        entry: usize,
        values: [f64; LANES],
    }

    impl LaneKernel for StoreAndLoad<'_> {
        type Output = [f64; LANES];
        #[inline(always)]
        fn run<V: Lanes>(self) -> [f64; LANES] {
            self.order.store(self.to, self.entry, V::from_array(&self.values));
            self.order.load::<V>(self.to, self.entry).to_array()
        }
    }
}
