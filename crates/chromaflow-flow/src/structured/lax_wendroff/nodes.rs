//! What a node gets from the cells around it, and smoothing along the lines through it.

use super::block::NodeBlock;
use super::cells::{KEPT, RADII, SECOND_ORDER, STEP};
use super::pointwise::{smoothing, smoothing_weights};
use crate::equations::perfect_gas::{N, State};
use crate::flux::{Dissipation, pressure_switch};
use crate::real::{LANES, LaneKernel, Lanes};
use crate::structured::block::load;
use std::ops::Range;

/// Sums a node keeps: what changes V U of its control volume (5), and its time step, the least of the cells around it.
pub(super) const SUMS: usize = 6;

/// Distribution: each cell gives each of its corners an eighth of its change +- the terms along the axes, plus towards larger
/// indices. Then second and fourth differences along each axis.
pub(super) struct Gather<'a> {
    pub block: &'a NodeBlock,
    pub dissipation: Dissipation<f64>,
    pub rows: Range<usize>,
    pub out: &'a mut [f64],
}

impl LaneKernel for Gather<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { block, dissipation, rows, out } = self;
        let [pi, pj, _] = block.nodes.count;
        let [_, nj, nk] = block.cells.count;
        let (wide, len) = (block.wide(), block.nodes.len());
        let dissipation: Dissipation<V> = dissipation.lift();
        for (row, out) in rows.zip(out.chunks_exact_mut(SUMS * pi)) {
            let (j, k) = (row % pj, row / pj);
            let node0 = block.nodes.inside([0, j, k]);
            let mut i = 0;
            while i < pi {
                let mut sum = [V::c(0.0); SUMS];
                sum[5] = V::c(f64::MAX);
                // The radius on the edges to the next and from the last node along each axis.
                let mut ahead = [V::c(0.0); 3];
                let mut back = [V::c(0.0); 3];
                for around in 0..8 {
                    let upper = [around & 1, around >> 1 & 1, around >> 2];
                    let (cj, ck) = (j + upper[1], k + upper[2]);
                    if cj == 0 || cj > nj || ck == 0 || ck > nk {
                        continue;
                    }
                    let kept = &block.kept[((ck - 1) * nj + cj - 1) * KEPT * wide..][..KEPT * wide];
                    // Cell i - 1 + upper at its place, one behind the zero in front.
                    let slot = i + upper[0];
                    for c in 0..N {
                        let mut value = load::<V>(kept, c * wide + slot);
                        for axis in 0..3 {
                            let second = load::<V>(kept, (SECOND_ORDER + N * axis + c) * wide + slot);
                            if upper[axis] == 0 {
                                value += second;
                            } else {
                                value -= second;
                            }
                        }
                        sum[c] += V::c(0.125) * value;
                    }
                    // Slots without a cell have dt = 0.
                    let dt = load::<V>(kept, STEP * wide + slot);
                    sum[5] = V::select(dt.gt(V::c(0.0)), sum[5].min(dt), sum[5]);
                    for axis in 0..3 {
                        let radius = V::c(0.25) * load::<V>(kept, (RADII + axis) * wide + slot);
                        if upper[axis] == 0 {
                            back[axis] += radius;
                        } else {
                            ahead[axis] += radius;
                        }
                    }
                }
                for axis in 0..3 {
                    if !block.active[axis] {
                        continue;
                    }
                    let (first, s) = (node0 + i - 2 * block.nodes.stride[axis], block.nodes.stride[axis]);
                    let p = line::<V>(&block.q, N * len + first, s);
                    let mut switch = [V::c(0.0); 3];
                    for n in 0..3 {
                        switch[n] = pressure_switch(p[n], p[n + 1], p[n + 2]);
                    }
                    let below = smoothing_weights(dissipation, switch[0], switch[1]);
                    let above = smoothing_weights(dissipation, switch[1], switch[2]);
                    for c in 0..N {
                        let u = line::<V>(&block.q, c * len + first, s);
                        sum[c] += smoothing(&u, &above, &below, ahead[axis], back[axis]);
                    }
                }
                let count = (pi - i).min(LANES);
                for (c, value) in sum.iter().enumerate() {
                    out[c * pi + i..][..count].copy_from_slice(&value.to_array()[..count]);
                }
                i += LANES;
            }
        }
    }
}

/// Five nodes of a line, `step` apart.
#[inline(always)]
fn line<V: Lanes>(values: &[f64], first: usize, step: usize) -> State<V> {
    let mut out = [V::c(0.0); N];
    for n in 0..N {
        out[n] = load(values, first + n * step);
    }
    out
}
