//! What happens in a cell: the balance of fluxes through its faces, its time step, and what it gives to its corners.

use super::block::NodeBlock;
use super::pointwise::{corner_face, corner_gradient, corner_mean};
use crate::equations::perfect_gas::{N, State};
use crate::flux::{flux, flux_change, spectral_radius};
use crate::gas::{Gas, Transport};
use crate::real::{LANES, LaneKernel, Lanes};
use crate::structured::block::load;
use crate::viscous::{flux_viscous, spectral_radius_viscous, velocity_and_temperature};
use std::ops::Range;

/// Values a cell keeps, one after another along its row: the balance, then its change (5); the terms along each of the three
/// axes (15); the spectral radii (3); dt. Changes and terms are rates, but on coarse grids.
pub(super) const KEPT: usize = 24;
pub(super) const SECOND_ORDER: usize = 5;
pub(super) const RADII: usize = 20;
pub(super) const STEP: usize = 23;

/// Sums of eight corners by the three bits of their place (i, j, k), eight cells at a time.
#[inline(always)]
fn corners<V: Lanes>(block: &NodeBlock, at: usize) -> [State<V>; 8] {
    let (len, s) = (block.nodes.len(), block.nodes.stride);
    let mut q = [[V::c(0.0); N]; 8];
    for (b, q) in q.iter_mut().enumerate() {
        let node = at + (b & 1) * s[0] + (b >> 1 & 1) * s[1] + (b >> 2) * s[2];
        for c in 0..N {
            q[c] = load(&block.q, c * len + node);
        }
    }
    q
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
    pub transport: Option<Transport<f64>>,
    pub courant: f64,
    pub rows: Range<usize>,
    pub out: &'a mut [f64],
}

impl LaneKernel for Balance<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { block, gas, transport, courant, rows, out } = self;
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
                let mean = corner_mean(gas, &q);
                let mut sum = [V::c(0.0); N];
                let mut largest = V::c(1e-300);
                for axis in 0..3 {
                    if !block.active[axis] {
                        continue;
                    }
                    for high in 0..2 {
                        let state = corner_face(gas, &q, axis, high);
                        let face = at + high * block.cells.stride[axis];
                        let mut n = [V::c(0.0); 3];
                        for k in 0..3 {
                            n[k] = load(&block.open[axis][k], face);
                        }
                        let through = flux(gas, &state, &n);
                        let sign = V::c(if high == 1 { 1.0 } else { -1.0 });
                        for c in 0..N {
                            sum[c] += sign * through[c];
                        }
                    }
                    let n = mean_area(block, axis, at);
                    let mut radius = spectral_radius(gas, &mean, &n);
                    if let Some(transport) = &transport {
                        let volume = load(&block.metrics.volume, at);
                        let viscous = spectral_radius_viscous(gas, transport.lift(), &mean, &n, volume);
                        radius += V::c(2.0) * viscous;
                    }
                    largest = largest.max(radius);
                }
                let step = V::c(courant) * load::<V>(&block.metrics.volume, at) / largest;
                let count = (ni - i).min(LANES);
                for c in 0..N {
                    put(out, c * wide + 1 + i, count, sum[c]);
                }
                put(out, STEP * wide + 1 + i, count, step);
                i += LANES;
            }
        }
    }
}

/// From balances to V dU / dt = -R and the terms (A dU - 2 F_viscous) . S of each axis, with dU = -dt/V R; where a grid
/// `carries` the changes of another one, to the same times dt / V. `step` is the same for all cells where it is given.
pub(super) struct Changes<'a> {
    pub block: &'a NodeBlock,
    pub gas: Gas<f64>,
    pub transport: Option<Transport<f64>>,
    pub step: Option<f64>,
    pub carries: bool,
    pub rows: Range<usize>,
    pub kept: &'a mut [f64],
}

impl LaneKernel for Changes<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { block, gas, transport, step, carries, rows, kept } = self;
        let gas: Gas<V> = gas.lift();
        let [ni, nj, _] = block.cells.count;
        let wide = block.wide();
        for (row, kept) in rows.zip(kept.chunks_exact_mut(KEPT * wide)) {
            let place = [0, row % nj, row / nj];
            let (cell0, node0) = (block.cells.inside(place), block.nodes.inside(place));
            let mut i = 0;
            while i < ni {
                let at = cell0 + i;
                let q = corners::<V>(block, node0 + i);
                let mean = corner_mean(gas, &q);
                let dt = match step {
                    Some(dt) => V::c(dt),
                    None => load(kept, STEP * wide + 1 + i),
                };
                let volume = load::<V>(&block.metrics.volume, at);
                let scale = if carries { dt / volume } else { V::c(1.0) };
                let mut change = [V::c(0.0); N];
                let mut du = [V::c(0.0); N];
                for c in 0..N {
                    let rate = -load::<V>(kept, c * wide + 1 + i);
                    change[c] = scale * rate;
                    du[c] = dt * rate / volume;
                }
                let viscous = transport.as_ref().map(|transport| {
                    let mut area = [[[V::c(0.0); 3]; 2]; 3];
                    for axis in 0..3 {
                        for high in 0..2 {
                            for k in 0..3 {
                                let face = at + high * block.cells.stride[axis];
                                area[axis][high][k] = load(&block.metrics.area[axis][k], face);
                            }
                        }
                    }
                    let middle = velocity_and_temperature(gas, &mean);
                    (transport.lift(), middle, corner_gradient(gas, &q, &area, volume))
                });
                let count = (ni - i).min(LANES);
                for c in 0..N {
                    put(kept, c * wide + 1 + i, count, change[c]);
                }
                put(kept, STEP * wide + 1 + i, count, dt);
                for axis in 0..3 {
                    if !block.active[axis] {
                        continue;
                    }
                    let n = mean_area(block, axis, at);
                    let mut second = flux_change(gas, &mean, &n, &du);
                    if let Some((transport, middle, gradient)) = &viscous {
                        let through = flux_viscous(gas, *transport, middle, gradient, &n);
                        for c in 0..N {
                            second[c] -= V::c(2.0) * through[c];
                        }
                    }
                    for c in 0..N {
                        let what = SECOND_ORDER + N * axis + c;
                        put(kept, what * wide + 1 + i, count, scale * second[c]);
                    }
                    let radius = spectral_radius(gas, &mean, &n);
                    put(kept, (RADII + axis) * wide + 1 + i, count, radius);
                }
                i += LANES;
            }
        }
    }
}
