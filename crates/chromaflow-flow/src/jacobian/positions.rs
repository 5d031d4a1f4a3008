//! Off-diagonal blocks, eight at a time along the rows.

use super::Stored;
use crate::config::JacobianScheme;
use crate::dual::Dual;
use crate::flux::{EntropyFix, flux_jacobian, flux_van_leer_jacobians, roe_absolute};
use crate::gas::{Gas, Transport, sound_speed};
use crate::gradient::NodeRecord;
use crate::real::{LANES, LaneKernel, Lanes, Real};
use crate::viscous::{flux_viscous_block, spectral_radius_viscous, velocity_and_temperature};
use std::ops::Range;

/// Blocks (i, j) = dF_ij / dq_j of some rows.
pub struct OffDiagonalBlocks<'a, T> {
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
    /// Blocks of these rows, column-major.
    pub out: &'a mut [T],
}

impl<T: Stored> LaneKernel for OffDiagonalBlocks<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let gas = self.gas.lift::<V>();
        let fix = self.fix.lift::<V>();
        let pattern = &self.dual.pattern;
        let (first, last) =
            (pattern.row_ptr()[self.rows.start] as usize, pattern.row_ptr()[self.rows.end] as usize);
        let mut row = self.rows.start;
        let mut at = first;
        while at < last {
            let (mut own, mut other) = ([0; LANES], [0; LANES]);
            let mut area = [[0.0; LANES]; 3];
            for l in 0..LANES {
                let k = (at + l).min(last - 1);
                while pattern.row_ptr()[row + 1] as usize <= k {
                    row += 1;
                }
                let col = pattern.col_idx()[k];
                own[l] = row as u32;
                other[l] = col;
                let sign = if col as usize > row { 1.0 } else { -1.0 };
                let n = &self.dual.areas[self.dual.edge_of[k] as usize];
                for d in 0..3 {
                    area[d][l] = sign * n[d];
                }
            }
            let n = [V::from_array(&area[0]), V::from_array(&area[1]), V::from_array(&area[2])];
            let left = V::gather(self.nodes, &own);
            let right = V::gather(self.nodes, &other);
            let wl = [left[0], left[1], left[2], left[3], left[4]];
            let wr = [right[0], right[1], right[2], right[3], right[4]];
            let mut block = match self.scheme {
                JacobianScheme::Roe => {
                    let absolute = roe_absolute(gas, &wl, &wr, &n, fix);
                    let mut block = flux_jacobian(gas, &wr, &n);
                    for i in 0..25 {
                        block[i] = V::c(0.5) * (block[i] - absolute[i]);
                    }
                    block
                }
                JacobianScheme::VanLeer => flux_van_leer_jacobians(gas, &wl, &wr, &n).1,
            };
            if let Some(transport) = self.transport {
                subtract_viscous(gas, transport.lift::<V>(), &left, &right, &n, &mut block);
            }
            let count = LANES.min(last - at);
            store_blocks(&block, &mut self.out[(at - first) * 25..][..count * 25]);
            at += LANES;
        }
    }
}

/// The thin-layer part of the viscous flux from `left` to `right`: differences along the edge taken across the face.
#[inline(always)]
fn subtract_viscous<V: Real>(
    gas: Gas<V>,
    transport: Transport<V>,
    left: &[V; 8],
    right: &[V; 8],
    n: &[V; 3],
    block: &mut [V; 25],
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
    let viscous = flux_viscous_block(gas, transport, &wr, &face, &still, &weight, V::c(0.5), n);
    for i in 0..25 {
        block[i] -= viscous[i];
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

/// Diagonal blocks of some rows: minus the sums of the off-diagonal blocks in their columns, plus V/dt.
pub struct DiagonalBlocks<'a, T> {
    /// Which rows.
    pub rows: Range<usize>,
    /// Pattern and areas.
    pub dual: &'a Dual,
    /// Position of block (j, i) for that of (i, j).
    pub transpose: &'a [u32],
    /// All off-diagonal blocks.
    pub off: &'a [T],
    /// All nodes.
    pub nodes: &'a [NodeRecord],
    /// The gas.
    pub gas: Gas<f64>,
    /// Viscosity, where there is any.
    pub transport: Option<Transport<f64>>,
    /// The CFL number.
    pub cfl: f64,
    /// Added to every diagonal entry, times the control volume: the physical time derivative.
    pub shift: f64,
    /// Blocks of these rows.
    pub out: &'a mut [f64],
}

impl<T: Stored> LaneKernel for DiagonalBlocks<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let blocks = self.off.as_chunks::<25>().0;
        for (i, out) in self.rows.zip(self.out.as_chunks_mut::<25>().0) {
            let mut sum = [0.0; 25];
            let node = &self.nodes[i];
            let w = [node[0], node[1], node[2], node[3], node[4]];
            let sound = sound_speed(self.gas, &w);
            let volume = self.dual.volumes[i];
            let mut radius = 0.0;
            for k in self.dual.pattern.range(i) {
                let other = &blocks[self.transpose[k] as usize];
                for v in 0..25 {
                    sum[v] -= other[v].to_f64();
                }
                let n = &self.dual.areas[self.dual.edge_of[k] as usize];
                let area = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
                radius += (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]).abs() + sound * area;
                if let Some(transport) = self.transport {
                    radius += spectral_radius_viscous(self.gas, transport, &w, n, volume);
                }
            }
            for c in 0..5 {
                sum[c * 6] += radius / self.cfl + self.shift * volume;
            }
            *out = sum;
        }
    }
}
