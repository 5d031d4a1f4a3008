//! What happens in a cell: the balance of fluxes through its faces, its time step, and what it gives to its corners.

use super::block::NodeBlock;
use crate::flux::{flux, flux_change, spectral_radius};
use crate::gas::{Gas, primitive};
use crate::real::{LANES, LaneKernel, Lanes};
use crate::structured::block::load;
use std::ops::Range;

/// Values a cell keeps, one after another along its row: the balance, then V dU (5); the second-order terms of the three
/// axes (15); dt times the spectral radii (3); dt.
pub(super) const KEPT: usize = 24;
pub(super) const SECOND_ORDER: usize = 5;
pub(super) const RADII: usize = 20;
pub(super) const STEP: usize = 23;

/// Sums of eight corners by the three bits of their place (i, j, k), eight cells at a time.
#[inline(always)]
fn corners<V: Lanes>(block: &NodeBlock, at: usize) -> [[V; 5]; 8] {
    let (len, s) = (block.nodes.len(), block.nodes.stride);
    let mut q = [[V::c(0.0); 5]; 8];
    for (b, q) in q.iter_mut().enumerate() {
        let node = at + (b & 1) * s[0] + (b >> 1 & 1) * s[1] + (b >> 2) * s[2];
        for c in 0..5 {
            q[c] = load(&block.q, c * len + node);
        }
    }
    q
}

/// Mean of the corners on one side of an axis, as a primitive state.
#[inline(always)]
fn face_state<V: Lanes>(gas: Gas<V>, q: &[[V; 5]; 8], axis: usize, high: usize) -> [V; 5] {
    let mut mean = [V::c(0.0); 5];
    for b in 0..8 {
        if b >> axis & 1 == high {
            for c in 0..5 {
                mean[c] += V::c(0.25) * q[b][c];
            }
        }
    }
    primitive(gas, &mean)
}

#[inline(always)]
fn mean_state<V: Lanes>(gas: Gas<V>, q: &[[V; 5]; 8]) -> [V; 5] {
    let mut mean = [V::c(0.0); 5];
    for corner in q {
        for c in 0..5 {
            mean[c] += V::c(0.125) * corner[c];
        }
    }
    primitive(gas, &mean)
}

/// The first `count` lanes.
#[inline(always)]
fn put<V: Lanes>(to: &mut [f64], at: usize, count: usize, value: V) {
    to[at..at + count].copy_from_slice(&value.to_array()[..count]);
}

/// Mean area along an axis.
#[inline(always)]
fn mean_area<V: Lanes>(block: &NodeBlock, axis: usize, at: usize) -> [V; 3] {
    let step = block.cells.stride[axis];
    let mut n = [V::c(0.0); 3];
    for k in 0..3 {
        let area = &block.metrics.area[axis][k];
        n[k] = V::c(0.5) * (load::<V>(area, at) + load::<V>(area, at + step));
    }
    n
}

/// The sum of fluxes out of each cell through the faces between cells, and the local time step `courant` V over the
/// largest spectral radius.
pub(super) struct Balance<'a> {
    pub block: &'a NodeBlock,
    pub gas: Gas<f64>,
    pub courant: f64,
    pub rows: Range<usize>,
    pub out: &'a mut [f64],
}

impl LaneKernel for Balance<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { block, gas, courant, rows, out } = self;
        let gas: Gas<V> = gas.lift();
        let [ni, nj, _] = block.cells.count;
        let wide = block.wide();
        for (row, out) in rows.zip(out.chunks_exact_mut(KEPT * wide)) {
            let place = [0, row % nj, row / nj];
            let (cell0, node0) = (block.cells.inside(place), block.nodes.inside(place));
            let mut i = 0;
            while i < ni {
                let at = cell0 + i;
                let q = corners::<V>(block, node0 + i);
                let mean = mean_state(gas, &q);
                let mut sum = [V::c(0.0); 5];
                let mut largest = V::c(1e-300);
                for axis in 0..3 {
                    if !block.active[axis] {
                        continue;
                    }
                    for high in 0..2 {
                        let state = face_state(gas, &q, axis, high);
                        let face = at + high * block.cells.stride[axis];
                        let mut n = [V::c(0.0); 3];
                        for k in 0..3 {
                            n[k] = load(&block.open[axis][k], face);
                        }
                        let through = flux(gas, &state, &n);
                        let sign = V::c(if high == 1 { 1.0 } else { -1.0 });
                        for c in 0..5 {
                            sum[c] += sign * through[c];
                        }
                    }
                    let radius = spectral_radius(gas, &mean, &mean_area(block, axis, at));
                    largest = largest.max(radius);
                }
                let step = V::c(courant) * load::<V>(&block.metrics.volume, at) / largest;
                let count = (ni - i).min(LANES);
                for c in 0..5 {
                    put(out, c * wide + 1 + i, count, sum[c]);
                }
                put(out, STEP * wide + 1 + i, count, step);
                i += LANES;
            }
        }
    }
}

/// From balances to the changes dU = -dt/V R and the second-order terms dt A dU . S of each axis. `step` is the same for all
/// cells where it is given.
pub(super) struct Changes<'a> {
    pub block: &'a NodeBlock,
    pub gas: Gas<f64>,
    pub step: Option<f64>,
    pub rows: Range<usize>,
    pub kept: &'a mut [f64],
}

impl LaneKernel for Changes<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { block, gas, step, rows, kept } = self;
        let gas: Gas<V> = gas.lift();
        let [ni, nj, _] = block.cells.count;
        let wide = block.wide();
        for (row, kept) in rows.zip(kept.chunks_exact_mut(KEPT * wide)) {
            let place = [0, row % nj, row / nj];
            let (cell0, node0) = (block.cells.inside(place), block.nodes.inside(place));
            let mut i = 0;
            while i < ni {
                let at = cell0 + i;
                let mean = mean_state(gas, &corners::<V>(block, node0 + i));
                let dt = match step {
                    Some(dt) => V::c(dt),
                    None => load(kept, STEP * wide + 1 + i),
                };
                let volume = load::<V>(&block.metrics.volume, at);
                let mut change = [V::c(0.0); 5];
                let mut du = [V::c(0.0); 5];
                for c in 0..5 {
                    change[c] = -(dt * load::<V>(kept, c * wide + 1 + i));
                    du[c] = change[c] / volume;
                }
                let count = (ni - i).min(LANES);
                for c in 0..5 {
                    put(kept, c * wide + 1 + i, count, change[c]);
                }
                put(kept, STEP * wide + 1 + i, count, dt);
                for axis in 0..3 {
                    if !block.active[axis] {
                        continue;
                    }
                    let n = mean_area(block, axis, at);
                    let second = flux_change(gas, &mean, &n, &du);
                    for c in 0..5 {
                        let what = SECOND_ORDER + 5 * axis + c;
                        put(kept, what * wide + 1 + i, count, dt * second[c]);
                    }
                    let radius = dt * spectral_radius(gas, &mean, &n);
                    put(kept, (RADII + axis) * wide + 1 + i, count, radius);
                }
                i += LANES;
            }
        }
    }
}
