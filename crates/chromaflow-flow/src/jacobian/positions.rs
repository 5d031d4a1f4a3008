//! The blocks of a row, eight neighbors at a time.

use super::Stored;
use crate::config::JacobianScheme;
use crate::dual::Dual;
use crate::flux::{EntropyFix, flux_jacobian, flux_van_leer_jacobians, roe_absolute};
use crate::gas::{Gas, Transport, sound_speed};
use crate::gradient::NodeRecord;
use crate::real::{LANES, LaneKernel, Lanes, Real};
use crate::viscous::{flux_viscous_block, spectral_radius_viscous, velocity_and_temperature};
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
    pub fix: EntropyFix<f64>,
    /// The gas.
    pub gas: Gas<f64>,
    /// Viscosity, where there is any.
    pub transport: Option<Transport<f64>>,
    /// The CFL number.
    pub cfl: f64,
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
        let gas = self.gas.lift::<V>();
        let fix = self.fix.lift::<V>();
        let pattern = &self.dual.pattern;
        let first = pattern.row_ptr()[self.rows.start] as usize;
        for (row, diag) in self.rows.zip(self.diag.as_chunks_mut::<25>().0) {
            let positions = pattern.range(row);
            let left = broadcast::<V>(&self.nodes[row]);
            let wl = [left[0], left[1], left[2], left[3], left[4]];
            let sound = sound_speed(gas, &wl);
            let volume = self.dual.volumes[row];
            let mut sum = [V::c(0.0); 25];
            let mut radius = V::c(0.0);
            let mut at = positions.start;
            while at < positions.end {
                let count = LANES.min(positions.end - at);
                let mut other = [0; LANES];
                let (mut area, mut used) = ([[0.0; LANES]; 3], [0.0; LANES]);
                for l in 0..LANES {
                    // Lanes past the row's end repeat its last position and are left out of the sums.
                    let k = (at + l).min(positions.end - 1);
                    used[l] = if l < count { 1.0 } else { 0.0 };
                    other[l] = pattern.col_idx()[k];
                    let sign = if other[l] as usize > row { 1.0 } else { -1.0 };
                    let n = &self.dual.areas[self.dual.edge_of[k] as usize];
                    for d in 0..3 {
                        area[d][l] = sign * n[d];
                    }
                }
                let used = V::from_array(&used);
                let n = [V::from_array(&area[0]), V::from_array(&area[1]), V::from_array(&area[2])];
                let right = V::gather(self.nodes, &other);
                let wr = [right[0], right[1], right[2], right[3], right[4]];
                let (mut own, mut block) = match self.scheme {
                    JacobianScheme::Roe => {
                        let absolute = roe_absolute(gas, &wl, &wr, &n, fix);
                        let mut own = flux_jacobian(gas, &wl, &n);
                        let mut block = flux_jacobian(gas, &wr, &n);
                        for i in 0..25 {
                            own[i] = V::c(0.5) * (own[i] + absolute[i]);
                            block[i] = V::c(0.5) * (block[i] - absolute[i]);
                        }
                        (own, block)
                    }
                    JacobianScheme::VanLeer => flux_van_leer_jacobians(gas, &wl, &wr, &n),
                };
                let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
                let mut speed = (wl[1] * n[0] + wl[2] * n[1] + wl[3] * n[2]).abs() + sound * area;
                if let Some(transport) = self.transport {
                    let transport = transport.lift::<V>();
                    speed += spectral_radius_viscous(gas, transport, &wl, &n, V::c(volume));
                    subtract_viscous(gas, transport, &left, &right, &n, &mut own, &mut block);
                }
                for i in 0..25 {
                    sum[i] += used * own[i];
                }
                radius += used * speed;
                store_blocks(&block, &mut self.off[(at - first) * 25..][..count * 25]);
                at += count;
            }
            let time = total(radius) / self.cfl + self.shift * volume;
            for i in 0..25 {
                diag[i] = total(sum[i]) + if i % 6 == 0 { time } else { 0.0 };
            }
        }
    }
}

#[inline(always)]
fn broadcast<V: Lanes>(node: &NodeRecord) -> [V; 8] {
    let mut out = [V::c(0.0); 8];
    for v in 0..8 {
        out[v] = V::c(node[v]);
    }
    out
}

#[inline(always)]
fn total<V: Lanes>(lanes: V) -> f64 {
    let l = lanes.to_array();
    ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]))
}

/// The thin-layer part of the viscous flux from `left` to `right`: differences along the edge taken across the face.
#[inline(always)]
fn subtract_viscous<V: Real>(
    gas: Gas<V>,
    transport: Transport<V>,
    left: &[V; 8],
    right: &[V; 8],
    n: &[V; 3],
    own: &mut [V; 25],
    other: &mut [V; 25],
) {
    let dx = [right[5] - left[5], right[6] - left[6], right[7] - left[7]];
    let length = (dx[0] * dx[0] + dx[1] * dx[1] + dx[2] * dx[2]).sqrt();
    let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt().max(V::c(1e-300));
    let inverse = V::c(1.0) / (length * area);
    let weight = [n[0] * inverse, n[1] * inverse, n[2] * inverse];
    let wl = [left[0], left[1], left[2], left[3], left[4]];
    let wr = [right[0], right[1], right[2], right[3], right[4]];
    let (fl, fr) = (velocity_and_temperature(gas, &wl), velocity_and_temperature(gas, &wr));
    let mut face = fl;
    for v in 0..4 {
        face[v] = V::c(0.5) * (fl[v] + fr[v]);
    }
    let still = [V::c(0.0); 3];
    let back = [-weight[0], -weight[1], -weight[2]];
    let by_left = flux_viscous_block(gas, transport, &wl, &face, &still, &back, V::c(0.5), n);
    let by_right = flux_viscous_block(gas, transport, &wr, &face, &still, &weight, V::c(0.5), n);
    for i in 0..25 {
        own[i] -= by_left[i];
        other[i] -= by_right[i];
    }
}

/// Lanes to blocks: rounds whole vectors first, then turns lanes into rows of 25.
#[inline(always)]
fn store_blocks<V: Lanes, T: Stored>(block: &[V; 25], out: &mut [T]) {
    let mut rounded = [[T::default(); LANES]; 25];
    for (r, lanes) in rounded.iter_mut().zip(block) {
        let lanes = lanes.to_array();
        for l in 0..LANES {
            r[l] = T::from_f64(lanes[l]);
        }
    }
    for (l, out) in out.as_chunks_mut::<25>().0.iter_mut().enumerate() {
        for i in 0..25 {
            out[i] = rounded[i][l];
        }
    }
}
