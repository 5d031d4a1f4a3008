#![allow(unsafe_code)]
//! One block's state, and how a team writes it row by row.

use super::turbulence::Eddies;
use crate::equations::perfect_gas::{N, State};
use crate::grid::{Cells, Metrics};
use crate::real::{LANES, Lanes};
use crate::turbulence::velocities::Velocities;
use chromaflow_device::{SharedSlice, Team, split};

/// A block with everything that is computed on it.
#[derive(Clone, Debug)]
pub(super) struct BlockState {
    pub cells: Cells,
    pub metrics: Metrics,
    /// Face areas with zeros where the boundary's own fluxes take the place of those between cells.
    pub open: [[Vec<f64>; 3]; 3],
    /// Axes with more than one cell, or with a neighbor along them.
    pub active: [bool; 3],
    /// Axes whose two ends are one interface: every line along them is closed.
    pub closed: [bool; 3],
    /// Primitive variables with ghosts, `[5, cells]`.
    pub w: Vec<f64>,
    /// The last good state.
    pub last_good: Vec<f64>,
    /// Earlier time levels, newest first; empty in steady runs.
    pub levels: [Vec<f64>; 2],
    /// Residual, then update: `[rows, 5, ni]`.
    pub r: Vec<f64>,
    /// With Roe's flux, of each cell and those beyond interfaces the sum of [`pressure_jump`](crate::flux::pressure_jump) over the neighbors along the
    /// axes; else empty.
    pub jumps: Vec<f64>,
    /// Local time steps, `[rows, ni]`.
    pub dt: Vec<f64>,
    /// The share of the CFL number that each cell takes, see [`next_cfl_share`](crate::march::next_cfl_share), as `dt`; empty where steps are plain
    /// ones.
    pub cfl_shares: Vec<f64>,
    /// For each of the six sides, the patch of each face (`u32::MAX` where there is none), first tangential axis fastest.
    pub patch_of: [Vec<u32>; 6],
    /// Its turbulence; nothing in flow without a model.
    pub eddies: Eddies,
}

impl BlockState {
    /// Its velocities as models of turbulence see them.
    pub fn velocities(&self) -> Velocities<'_> {
        Velocities { metrics: &self.metrics, active: self.active, state: &self.w }
    }

    /// Rows of cells along i.
    pub fn rows(&self) -> usize {
        self.cells.count[1] * self.cells.count[2]
    }

    /// Place of the first cell of a row.
    #[inline(always)]
    pub fn row(&self, row: usize) -> usize {
        let nj = self.cells.count[1];
        self.cells.inside([0, row % nj, row / nj])
    }

    /// Primitive state of the cell at `at`.
    #[inline(always)]
    pub fn state(&self, at: usize) -> State {
        let n = self.cells.len();
        std::array::from_fn(|c| self.w[c * n + at])
    }

    /// Sets the primitive state of the cell at `at`.
    #[inline(always)]
    pub fn set(&mut self, at: usize, w: State) {
        let n = self.cells.len();
        for c in 0..N {
            self.w[c * n + at] = w[c];
        }
    }

    /// Where component 0 of the residual of cell `[i, j, k]` lies; the next ones follow `ni` apart.
    #[inline(always)]
    pub fn residual_at(&self, [i, j, k]: [usize; 3]) -> usize {
        let [ni, nj, _] = self.cells.count;
        (k * nj + j) * N * ni + i
    }
}

/// Eight neighbors along i.
#[inline(always)]
pub(super) fn load<V: Lanes>(values: &[f64], at: usize) -> V {
    V::from_array(values[at..].first_chunk::<LANES>().expect("rows are followed by ghosts"))
}

/// Five components of eight neighbors along i; `len` is that of one component.
#[inline(always)]
pub(super) fn load_state<V: Lanes>(w: &[f64], len: usize, at: usize) -> State<V> {
    let mut out = [V::c(0.0); N];
    for c in 0..N {
        out[c] = load(w, c * len + at);
    }
    out
}

/// Calls `f(row, values)` for every row of cells along i: `values` are the row's five components of `w`, without
/// ghosts. Rows are shared out to the team.
pub(super) fn each_row(
    team: &Team,
    cells: Cells,
    w: &mut [f64],
    f: impl Fn(usize, &mut [&mut [f64]; N]) + Sync,
) {
    each_row_beside(team, cells, w, (0, &mut []), |row, parts, _| f(row, parts));
}

/// The same of any number of components, with `width` values a row of an array beside them.
pub(super) fn each_row_beside<const C: usize>(
    team: &Team,
    cells: Cells,
    w: &mut [f64],
    (width, beside): (usize, &mut [f64]),
    f: impl Fn(usize, &mut [&mut [f64]; C], &mut [f64]) + Sync,
) {
    let [ni, nj, nk] = cells.count;
    let len = cells.len();
    assert_eq!((w.len(), beside.len()), (C * len, width * nj * nk));
    let (shared, beside) = (SharedSlice::new(w), SharedSlice::new(beside));
    team.run(|member| {
        for row in split(nj * nk, member.size(), member.rank()) {
            let at = cells.inside([0, row % nj, row / nj]);
            // SAFETY: the rows of different numbers do not overlap (ni is at most a row's length in memory), nor do the
            // components, `len` apart; a row belongs to one member.
            let mut parts = std::array::from_fn(|c| unsafe { shared.write(c * len + at..c * len + at + ni) });
            // SAFETY: as above, rows one after another.
            f(row, &mut parts, unsafe { beside.write(width * row..width * (row + 1)) });
        }
    });
}

/// The residual array of a block, written by a team line by line.
pub(super) struct SharedLines<'a>(SharedSlice<'a, f64>);

impl<'a> SharedLines<'a> {
    pub(super) fn new(r: &'a mut [f64]) -> Self {
        Self(SharedSlice::new(r))
    }

    /// # Safety
    /// No other member writes the entry at `at` meanwhile.
    #[inline(always)]
    pub(super) unsafe fn get(&self, at: usize) -> f64 {
        // SAFETY: the caller's promise.
        unsafe { self.0.read(at..at + 1)[0] }
    }

    /// # Safety
    /// No other member reads or writes the entry at `at` meanwhile.
    #[inline(always)]
    pub(super) unsafe fn set(&self, at: usize, value: f64) {
        // SAFETY: the caller's promise.
        unsafe { self.0.write(at..at + 1)[0] = value };
    }
}
