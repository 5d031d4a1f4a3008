//! One row at a time; the eight lanes are the components of a node record, so that the differences of all variables
//! and the moments of the neighbors' positions come out of the same three products.

use super::{Added, Gradient, NodeRecord, SHOCK};
use crate::config::GradientWeights;
use crate::flux::pressure_jump;
use crate::parallel;
use crate::real::{AHEAD, LaneKernel, Lanes, dispatch, prefetch};
use chromaflow::BlockPattern;
use chromaflow_device::{Isa, Team};
use std::ops::Range;

/// Gradients of all nodes.
///
/// **Shapes**: `nodes [rows]`, `out [rows]`. On planar meshes, where all z are the same, derivatives along z
/// are zero; so are all gradients of a node whose neighbors lie in another plane. `mapped`: what is added to the increments of
/// rows, see [`Mapping`](super::Mapping).
pub fn least_squares(
    team: &Team,
    pattern: &BlockPattern,
    nodes: &[NodeRecord],
    weights: GradientWeights,
    mapped: &Added<3>,
    out: &mut [Gradient],
) {
    parallel::rows(team, pattern.rows(), 1, out, |rows, out| {
        let by_distance = weights == GradientWeights::InverseDistance;
        dispatch(Isa::detect(), Kernel { rows, pattern, nodes, by_distance, mapped, out });
    });
}

struct Kernel<'a> {
    rows: Range<usize>,
    pattern: &'a BlockPattern,
    nodes: &'a [NodeRecord],
    by_distance: bool,
    mapped: &'a Added<3>,
    out: &'a mut [Gradient],
}

impl LaneKernel for Kernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let columns = self.pattern.col_idx();
        for (i, out) in self.rows.zip(self.out) {
            let own = &self.nodes[i];
            let here = V::from_array(own);
            let mut sum = [V::c(0.0); 3];
            let mut jumps = 0.0;
            let (range, mapped) = (self.pattern.range(i), self.mapped.of(i));
            for (at, k) in range.enumerate() {
                if let Some(&later) = columns.get(k + AHEAD) {
                    prefetch(self.nodes, later);
                }
                let j = columns[k];
                let other = &self.nodes[j as usize];
                jumps += pressure_jump(own[4], other[4]);
                let mut diff = V::from_array(other) - here;
                let mut d = [other[5] - own[5], other[6] - own[6], other[7] - own[7]];
                if let Some(added) = mapped.get(at) {
                    diff += V::from_array(&[0.0, 0.0, 0.0, 0.0, 0.0, added[0], added[1], added[2]]);
                    d = std::array::from_fn(|axis| d[axis] + added[axis]);
                }
                let weight =
                    if self.by_distance { 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) } else { 1.0 };
                for k in 0..3 {
                    sum[k] += V::c(weight * d[k]) * diff;
                }
            }
            let [x, y, z] = [sum[0].to_array(), sum[1].to_array(), sum[2].to_array()];
            // All neighbors in one plane z: nothing changes along z.
            let zz = if z[7] == 0.0 { 1.0 } else { z[7] };
            let m = inverse([x[5], x[6], x[7], y[6], y[7], zz]);
            let rows = [[m[0], m[1], m[2]], [m[1], m[3], m[4]], [m[2], m[4], m[5]]];
            for (d, row) in rows.iter().enumerate() {
                let g = V::c(row[0]) * sum[0] + V::c(row[1]) * sum[1] + V::c(row[2]) * sum[2];
                out[d * 5..d * 5 + 5].copy_from_slice(&g.to_array()[..5]);
            }
            out[SHOCK] = jumps;
        }
    }
}

/// Inverse of a symmetric positive definite matrix (xx, xy, xz, yy, yz, zz), zero where it is singular. Scaled to a unit
/// diagonal first, so that flat cells lose no digits.
#[inline(always)]
fn inverse(m: [f64; 6]) -> [f64; 6] {
    let s = [1.0 / m[0].sqrt(), 1.0 / m[3].sqrt(), 1.0 / m[5].sqrt()];
    let (xy, xz, yz) = (m[1] * s[0] * s[1], m[2] * s[0] * s[2], m[4] * s[1] * s[2]);
    let (cxx, cxy, cxz) = (1.0 - yz * yz, xz * yz - xy, xy * yz - xz);
    let det = cxx + xy * cxy + xz * cxz;
    if det.is_nan() || det <= 1e-14 {
        return [0.0; 6];
    }
    let r = 1.0 / det;
    [
        cxx * r * s[0] * s[0],
        cxy * r * s[0] * s[1],
        cxz * r * s[0] * s[2],
        (1.0 - xz * xz) * r * s[1] * s[1],
        (xy * xz - yz) * r * s[1] * s[2],
        (1.0 - xy * xy) * r * s[2] * s[2],
    ]
}
