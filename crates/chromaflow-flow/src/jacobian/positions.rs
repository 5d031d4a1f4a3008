//! The blocks of a row, eight neighbors at a time.

use super::{Stored, share_at};
use crate::config::JacobianScheme;
use crate::dual::Dual;
use crate::equations::perfect_gas::{N, NN};
use crate::flux::{RoeFix, flux_jacobian, flux_van_leer_jacobians, roe_absolute};
use crate::gas::{Gas, Transport, sound_speed};
use crate::gradient::NodeRecord;
use crate::real::{LANES, LaneKernel, Lanes, Real, prefetch};
use crate::residual::Eddies;
use crate::viscous::{
    mean_velocity_and_temperature, molecular, spectral_radius_viscous, spectral_radius_viscous_of,
    thin_layer_blocks, weight_across, with_eddies,
};
use std::ops::Range;

/// Blocks of some rows: (i, j) = dF_ij / dq_j off the diagonal, (i, i) = sum of dF_ij / dq_i + V/dt on it, with F_ij the
/// flux that leaves i for j.
pub struct RowBlocks<'a, T> {
    /// Which rows.
    pub rows: Range<usize>,
    /// Pattern and areas.
    pub dual: &'a Dual,
    /// All nodes.
    pub nodes: &'a [NodeRecord],
    /// Linearization.
    pub scheme: JacobianScheme,
    /// Entropy fix of Roe's matrix.
    pub fix: RoeFix<f64>,
    /// The gas.
    pub gas: Gas<f64>,
    /// Viscosity, where there is any.
    pub transport: Option<Transport<f64>>,
    /// What turbulence adds to it.
    pub eddies: Eddies<'a>,
    /// The CFL number.
    pub cfl: f64,
    /// Each node's share of it, see [`Assembly::shares`](super::Assembly); all of it where empty.
    pub shares: &'a [f64],
    /// Added to every diagonal entry, times the control volume: the physical time derivative.
    pub shift: f64,
    /// Off-diagonal blocks of these rows, column-major.
    pub off: &'a mut [T],
    /// Diagonal blocks of these rows, column-major.
    pub diag: &'a mut [f64],
}

impl<T: Stored> LaneKernel for RowBlocks<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        // One loop for each case: what a case does not need takes no registers.
        match (self.scheme, self.transport) {
            (JacobianScheme::Roe, None) => self.fill::<V, true, false>(),
            (JacobianScheme::Roe, Some(_)) => self.fill::<V, true, true>(),
            (JacobianScheme::VanLeer, None) => self.fill::<V, false, false>(),
            (JacobianScheme::VanLeer, Some(_)) => self.fill::<V, false, true>(),
        }
    }
}

impl<T: Stored> RowBlocks<'_, T> {
    #[inline(always)]
    fn fill<V: Lanes, const ROE: bool, const VISCOUS: bool>(self) {
        let gas = self.gas.lift::<V>();
        let fix = self.fix.lift::<V>();
        let pattern = &self.dual.pattern;
        let first = pattern.row_ptr()[self.rows.start] as usize;
        let off = self.off.as_chunks_mut::<NN>().0;
        for (row, diag) in self.rows.zip(self.diag.as_chunks_mut::<NN>().0) {
            let positions = pattern.range(row);
            let left = broadcast::<V>(&self.nodes[row]);
            let wl = [left[0], left[1], left[2], left[3], left[4]];
            let sound = sound_speed(gas, &wl);
            let volume = self.dual.volumes[row];
            // The diagonal block, and half the sum of spectral radii.
            let mut sum = [V::c(0.0); NN + 1];
            let mut faces = [V::c(0.0); 3];
            let mut at = positions.start;
            while at < positions.end {
                prefetch_faces(self.dual, self.nodes, at + AHEAD);
                let (other, half) = half_faces::<V>(self.dual, row, at..positions.end);
                let right = V::gather(self.nodes, &other);
                let wr = [right[0], right[1], right[2], right[3], right[4]];
                let area = (half[0] * half[0] + half[1] * half[1] + half[2] * half[2]).sqrt();
                sum[NN] += (wl[1] * half[0] + wl[2] * half[1] + wl[3] * half[2]).abs() + sound * area;
                let mut block = if ROE {
                    let absolute = roe_absolute(gas, &wl, &wr, &half, fix);
                    let mut block = flux_jacobian(gas, &wr, &half);
                    // Short loops: arrays stay in registers where the compiler unrolls all that run over them.
                    for c in 0..N {
                        for r in 0..N {
                            sum[c * N + r] += absolute[c * N + r];
                            block[c * N + r] -= absolute[c * N + r];
                        }
                    }
                    for d in 0..3 {
                        faces[d] += half[d];
                    }
                    block
                } else {
                    let (own, block) = flux_van_leer_jacobians(gas, &wl, &wr, &twice(&half));
                    for c in 0..N {
                        for r in 0..N {
                            sum[c * N + r] += own[c * N + r];
                        }
                    }
                    block
                };
                if VISCOUS && let Some(transport) = self.transport {
                    let transport = transport.lift::<V>();
                    let n = twice(&half);
                    let face = mean_velocity_and_temperature(gas, &wl, &wr);
                    let mut diffusing = molecular(gas, transport, face[3]);
                    if self.eddies.viscosity.is_empty() {
                        sum[NN] += V::c(0.5) * spectral_radius_viscous(gas, transport, &wl, &n, V::c(volume));
                    } else {
                        let (own, eddies) =
                            (V::c(self.eddies.viscosity[row]), self.eddies.gather::<V>(&other));
                        let prandtl = V::c(self.eddies.prandtl);
                        diffusing = with_eddies(gas, &diffusing, V::c(0.5) * (own + eddies), prandtl);
                        sum[NN] +=
                            V::c(0.5) * spectral_radius_viscous_of(gas, &diffusing, &wl, &n, V::c(volume));
                    }
                    let dx = self.dual.between(&[left[5], left[6], left[7]], &[right[5], right[6], right[7]]);
                    let weight = weight_across(&n, &dx);
                    let (by_left, by_right) =
                        thin_layer_blocks(gas, &diffusing, &face, &wl, &wr, &weight, &n);
                    for c in 0..N {
                        for r in 0..N {
                            sum[c * N + r] -= by_left[c * N + r];
                            block[c * N + r] -= by_right[c * N + r];
                        }
                    }
                }
                let end = (at + LANES).min(positions.end);
                T::store(&block, &mut off[at - first..end - first]);
                at = end;
            }
            if ROE {
                let own = flux_jacobian(gas, &wl, &faces);
                for c in 0..N {
                    for r in 0..N {
                        sum[c * N + r] += own[c * N + r];
                    }
                }
            }
            let totals = V::totals(&sum);
            let time = 2.0 * totals[NN] / (self.cfl * share_at(self.shares, row)) + self.shift * volume;
            diag.copy_from_slice(&totals[..NN]);
            for c in 0..N {
                diag[c * (N + 1)] += time;
            }
        }
    }
}

/// So many positions before their use, nodes and areas are asked for.
const AHEAD: usize = 4 * LANES;

/// Asks for what eight positions will need.
#[inline(always)]
fn prefetch_faces(dual: &Dual, nodes: &[NodeRecord], at: usize) {
    let range = at..at + LANES;
    if let (Some(columns), Some(edges)) = (dual.pattern.col_idx().get(range.clone()), dual.edge_of.get(range))
    {
        for l in 0..LANES {
            prefetch(nodes, columns[l]);
            prefetch(&dual.areas, edges[l]);
        }
    }
}

/// Nodes across the next faces of a row and half the areas that point to them; lanes past the row's end repeat its last
/// node, with no area.
#[inline(always)]
fn half_faces<V: Lanes>(dual: &Dual, row: usize, positions: Range<usize>) -> ([u32; LANES], [V; 3]) {
    let (columns, edges) = (&dual.pattern.col_idx()[positions.clone()], &dual.edge_of[positions]);
    let mut other = [columns[columns.len() - 1]; LANES];
    let mut edge = [edges[edges.len() - 1]; LANES];
    if let (Some(columns), Some(edges)) = (columns.first_chunk(), edges.first_chunk()) {
        (other, edge) = (*columns, *edges);
    } else {
        for l in 0..LANES {
            if l < columns.len() && l < edges.len() {
                (other[l], edge[l]) = (columns[l], edges[l]);
            }
        }
    }
    let mut node = [0.0; LANES];
    for l in 0..LANES {
        node[l] = other[l] as f64;
    }
    let forth = V::from_array(&node).gt(V::c(row as f64));
    let there = V::from_array(&LANE_NUMBERS).lt(V::c(columns.len() as f64));
    let half = V::select(there, V::select(forth, V::c(0.5), V::c(-0.5)), V::c(0.0));
    let [x, y, z] = V::gather(&dual.areas, &edge);
    (other, [half * x, half * y, half * z])
}

const LANE_NUMBERS: [f64; LANES] = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0];

#[inline(always)]
fn twice<V: Real>(half: &[V; 3]) -> [V; 3] {
    [half[0] + half[0], half[1] + half[1], half[2] + half[2]]
}

#[inline(always)]
fn broadcast<V: Lanes>(node: &NodeRecord) -> [V; 8] {
    let mut out = [V::c(0.0); 8];
    for v in 0..8 {
        out[v] = V::c(node[v]);
    }
    out
}
