#![allow(unsafe_code)]
//! Approximate factorization: one block-tridiagonal system a grid line, axis after axis, eight lines at a time.
//!
//! Jacobian blocks are made where they are used, in the buffers of the eight lines at hand.

use super::block::{BlockState, SharedLines};
use super::boundary::PatchState;
use super::config::Scheme;
use super::residual::Physics;
use crate::flux::{flux_jacobian, roe_absolute, spectral_radius};
use crate::gas::Gas;
use crate::real::{LANES, LaneKernel, Lanes, dispatch};
use crate::viscous::spectral_radius_viscous;
use chromaflow::tridiag::{Batch, Double, Layout, LineOutcome, Options, Shape, Solver};
use chromaflow_device::{Isa, Team, split};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Work space of a team: buffers and a line solver for each member.
pub(super) struct LineSolver {
    members: Vec<Mutex<Workspace>>,
}

struct Workspace {
    solver: Solver<Double>,
    /// A team of the member alone, inside its lines.
    alone: Team,
    lower: Vec<f64>,
    diagonal: Vec<f64>,
    upper: Vec<f64>,
    rhs: Vec<f64>,
    x: Vec<f64>,
}

impl LineSolver {
    pub(super) fn new(members: usize) -> Self {
        let workspace = || {
            Mutex::new(Workspace {
                solver: Solver::new(Options::default()),
                alone: Team::new(1),
                lower: Vec::new(),
                diagonal: Vec::new(),
                upper: Vec::new(),
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
        dissipation: f64,
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
                    if let Err(at) = lines.solve(&mut workspace, &shared) {
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

/// Eight neighboring lines (or fewer at a block's end).
struct Lines<'a> {
    block: &'a BlockState,
    physics: &'a Physics,
    patches: &'a [PatchState],
    dissipation: f64,
    axis: usize,
    /// The axis along which the lines lie side by side.
    across: usize,
    /// First cell of the first line.
    first: [usize; 3],
    lanes: usize,
    /// Whether the right-hand side is already an update rather than the residual.
    scaled: bool,
}

impl Lines<'_> {
    fn solve(&self, work: &mut Workspace, r: &SharedLines<'_>) -> Result<(), usize> {
        let n = self.block.cells.count[self.axis];
        for (buffer, width) in [
            (&mut work.lower, 25),
            (&mut work.diagonal, 25),
            (&mut work.upper, 25),
            (&mut work.rhs, 5),
            (&mut work.x, 5),
        ] {
            buffer.resize(n * width * LANES, 0.0);
        }
        dispatch(Isa::detect(), Assemble { lines: self, work, r });
        self.boundaries(work);
        let (shape, layout) = (Shape::new(LANES, n, 5), Layout::Interleaved { lanes: LANES });
        let batch = Batch::new(shape, layout, &work.lower, &work.diagonal, &work.upper)
            .expect("buffers of the batch's shape");
        let batch = if self.block.closed[self.axis] { batch.periodic() } else { batch };
        let outcome = work
            .solver
            .solve(&work.alone, &batch, &work.rhs, &mut work.x)
            .expect("buffers of the batch's shape");
        let ni = self.block.cells.count[0];
        for c in 0..n {
            for l in 0..self.lanes {
                let at = self.block.residual_at(self.cell(c, l));
                for v in 0..5 {
                    // SAFETY: this cell belongs to one of this group's lines, and the group to one member.
                    unsafe { r.set(at + v * ni, work.x[(c * 5 + v) * LANES + l]) };
                }
            }
        }
        match outcome {
            LineOutcome::Breakdown { system, row } if system < self.lanes => {
                Err(self.block.cells.inside(self.cell(row, system)))
            }
            _ => Ok(()),
        }
    }

    /// Cell `c` of line `l`.
    #[inline(always)]
    fn cell(&self, c: usize, l: usize) -> [usize; 3] {
        let mut cell = self.first;
        cell[self.axis] = c;
        cell[self.across] += l;
        cell
    }

    /// Adds the derivatives of boundary fluxes to the first and last cells' diagonal blocks.
    fn boundaries(&self, work: &mut Workspace) {
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
                    work.diagonal[(c * 25 + e) * LANES + l] += tau * value;
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
}

impl LaneKernel for Assemble<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { lines, work, r } = self;
        let (block, axis) = (lines.block, lines.axis);
        let n = block.cells.count[axis];
        let gas: Gas<V> = lines.physics.gas.lift();
        let len = block.cells.len();
        let [ni, nj, _] = block.cells.count;
        let step = block.cells.stride[axis];
        let start = block.cells.inside(lines.cell(0, 0));
        let apart = block.cells.stride[lines.across];
        let gather = |values: &[f64], at: usize| -> V {
            if apart == 1 && lines.lanes == LANES {
                return V::from_array(values[at..].first_chunk::<LANES>().expect("eight cells of a row"));
            }
            V::from_array(&std::array::from_fn(|l| values[at + l.min(lines.lanes - 1) * apart]))
        };
        let half = V::c(0.5);
        // Of the face below the cell: half its Jacobians at the cells on both sides, its dissipation.
        let mut below_outer = [V::c(0.0); 25];
        let mut below_inner = [V::c(0.0); 25];
        let mut below_damping = [V::c(0.0); 25];
        for c in 0..=n {
            let at = start + c * step;
            // The face between cell c - 1 and cell c.
            let before: [V; 5] = std::array::from_fn(|k| gather(&block.w, k * len + at - step));
            let after: [V; 5] = std::array::from_fn(|k| gather(&block.w, k * len + at));
            let area: [V; 3] = std::array::from_fn(|k| gather(&block.open[axis][k], at));
            let mut sides = [[V::c(0.0); 25]; 2];
            for (side, state) in sides.iter_mut().zip([&before, &after]) {
                *side = half_of(flux_jacobian(gas, state, &area));
            }
            let [outer, inner] = sides;
            let mut damping = if let Scheme::Roe { .. } = lines.physics.scheme {
                half_of(roe_absolute(gas, &before, &after, &area, lines.physics.fix.lift()))
            } else {
                let sum = spectral_radius(gas, &before, &area) + spectral_radius(gas, &after, &area);
                diagonal(V::c(0.5 * lines.dissipation) * sum)
            };
            if let Some(transport) = &lines.physics.transport {
                let volume =
                    half * (gather(&block.metrics.volume, at - step) + gather(&block.metrics.volume, at));
                let mean: [V; 5] = std::array::from_fn(|k| half * (before[k] + after[k]));
                let viscous = spectral_radius_viscous(gas, transport.lift(), &mean, &area, volume);
                for k in 0..5 {
                    damping[6 * k] += viscous;
                }
            }
            if c > 0 {
                // Now both faces of cell c - 1 are known.
                let row = c - 1;
                let cell = lines.cell(row, 0);
                let own = at - step;
                let steps = {
                    let row0 = (cell[2] * nj + cell[1]) * ni + cell[0];
                    let apart = if lines.across == 0 { 1 } else { ni };
                    V::from_array(&std::array::from_fn(|l| block.dt[row0 + l.min(lines.lanes - 1) * apart]))
                };
                let tau = steps / gather(&block.metrics.volume, own);
                for e in 0..25 {
                    let identity = if e % 6 == 0 { V::c(1.0) } else { V::c(0.0) };
                    let lower = -(tau * (below_outer[e] + below_damping[e]));
                    let upper = tau * (inner[e] - damping[e]);
                    let own = outer[e] - below_inner[e] + damping[e] + below_damping[e];
                    let place = (row * 25 + e) * LANES;
                    store(&mut work.lower, place, lower);
                    store(&mut work.upper, place, upper);
                    store(&mut work.diagonal, place, identity + tau * own);
                }
                let first = block.residual_at(cell);
                let apart = if lines.across == 0 { 1 } else { 5 * ni };
                for v in 0..5 {
                    let values = std::array::from_fn(|l| {
                        let at = first + v * ni + l.min(lines.lanes - 1) * apart;
                        // SAFETY: the cells of this group's lines belong to one member.
                        unsafe { r.get(at) }
                    });
                    let mut value = V::from_array(&values);
                    if !lines.scaled {
                        value = -(tau * value);
                    }
                    store(&mut work.rhs, (row * 5 + v) * LANES, value);
                }
            }
            (below_outer, below_inner, below_damping) = (outer, inner, damping);
        }
    }
}

#[inline(always)]
fn store<V: Lanes>(to: &mut [f64], at: usize, value: V) {
    to[at..at + LANES].copy_from_slice(&value.to_array());
}

#[inline(always)]
fn half_of<V: Lanes>(mut block: [V; 25]) -> [V; 25] {
    for value in &mut block {
        *value = V::c(0.5) * *value;
    }
    block
}

#[inline(always)]
fn diagonal<V: Lanes>(value: V) -> [V; 25] {
    let mut block = [V::c(0.0); 25];
    for k in 0..5 {
        block[6 * k] = value;
    }
    block
}
