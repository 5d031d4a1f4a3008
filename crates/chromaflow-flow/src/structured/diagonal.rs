#![allow(unsafe_code)]
//! The diagonalized factors: A = T L T^-1 along each axis with T frozen at each cell, so that a line's system falls into
//! scalar ones, three of them with the same coefficients:
//! ```text
//! dq = T_k (I + dt/V d_k L_k)^-1 T_k^-1  T_j (I + dt/V d_j L_j)^-1 T_j^-1  T_i (I + dt/V d_i L_i)^-1 T_i^-1 (-dt/V R).
//! ```
//! The operator of a family of waves has central differences of their speed through the faces, less a dissipation with the
//! spectral radius r: that of the residual twice over, 2 r (e2 (x_c - x_b) - e4 (x_d - 3 x_c + 3 x_b - x_a)) at the face
//! between b and c; or r/2 (x_c - x_b), that of the block form. Beyond a line's ends there is no change; waves leave through
//! them.
//!
//! **Source**: Pulliam & Chaussee, *A diagonal form of an implicit approximate-factorization algorithm* (1981); Pulliam,
//! *Artificial dissipation models for the Euler equations* (1986): implicit second and fourth differences. Less than twice the
//! residual's coefficients, and matrix dissipation in the operator, were slower here or diverged.

use super::block::SharedLines;
use super::config::Scheme;
use super::lines::{Lines, Workspace, store};
use crate::flux::{Dissipation, pressure_switch, spectral_radius};
use crate::gas::{Gas, sound_speed};
use crate::real::{LANES, LaneKernel, Lanes, Real, dispatch};
use crate::viscous::spectral_radius_viscous;
use chromaflow::tridiag::{Layout, LineOutcome, PentaBatch};
use chromaflow_device::Isa;

/// Waves of the same speed: entropy and vorticity (three), V + c, V - c.
const FAMILIES: usize = 3;

/// Amplitudes of a change `x` of the conserved variables at the state `w` for the unit normal `k`: entropy and vorticity as
/// the vector k s + du x k, s = drho - dp/c^2; then dp/(rho c) + du . k and dp/(rho c) - du . k.
///
/// **Source**: Pulliam & Chaussee 1981 (their T^-1, other lengths of its rows).
#[inline(always)]
pub(super) fn to_waves<T: Real>(gas: Gas<T>, w: &[T; 5], k: &[T; 3], x: &[T; 5]) -> [T; 5] {
    let [rho, u, v, s, _] = *w;
    let c = sound_speed(gas, w);
    let kinetic = T::c(0.5) * (u * u + v * v + s * s);
    let dp = (gas.gamma - T::c(1.0)) * (kinetic * x[0] - u * x[1] - v * x[2] - s * x[3] + x[4]);
    let du = [(x[1] - u * x[0]) / rho, (x[2] - v * x[0]) / rho, (x[3] - s * x[0]) / rho];
    let entropy = x[0] - dp / (c * c);
    let along = k[0] * du[0] + k[1] * du[1] + k[2] * du[2];
    let pressure = dp / (rho * c);
    [
        k[0] * entropy + du[1] * k[2] - du[2] * k[1],
        k[1] * entropy + du[2] * k[0] - du[0] * k[2],
        k[2] * entropy + du[0] * k[1] - du[1] * k[0],
        pressure + along,
        pressure - along,
    ]
}

/// The inverse of [`to_waves`].
#[inline(always)]
pub(super) fn from_waves<T: Real>(gas: Gas<T>, w: &[T; 5], k: &[T; 3], a: &[T; 5]) -> [T; 5] {
    let [rho, u, v, s, _] = *w;
    let c = sound_speed(gas, w);
    let half = T::c(0.5);
    let along = half * (a[3] - a[4]);
    let dp = half * rho * c * (a[3] + a[4]);
    let drho = k[0] * a[0] + k[1] * a[1] + k[2] * a[2] + dp / (c * c);
    let du = [
        k[1] * a[2] - k[2] * a[1] + k[0] * along,
        k[2] * a[0] - k[0] * a[2] + k[1] * along,
        k[0] * a[1] - k[1] * a[0] + k[2] * along,
    ];
    let kinetic = half * (u * u + v * v + s * s);
    [
        drho,
        u * drho + rho * du[0],
        v * drho + rho * du[1],
        s * drho + rho * du[2],
        dp / (gas.gamma - T::c(1.0)) + kinetic * drho + rho * (u * du[0] + v * du[1] + s * du[2]),
    ]
}

impl Lines<'_> {
    /// The factor of one axis for these lines: what is in `r` becomes the solution.
    ///
    /// # Errors
    /// The place of a cell whose line broke down.
    pub(super) fn solve_diagonal(
        &self,
        work: &mut Workspace,
        r: &SharedLines<'_>,
        fourth: bool,
    ) -> Result<(), usize> {
        let n = self.block.cells.count[self.axis];
        for band in &mut work.bands {
            band.resize(FAMILIES * n * LANES, 0.0);
        }
        work.rhs.resize(5 * n * LANES, 0.0);
        work.x.resize(5 * n * LANES, 0.0);
        let fourth = fourth && !matches!(self.physics.scheme, Scheme::Roe { .. });
        dispatch(Isa::detect(), Assemble { lines: self, work, r, fourth });
        // Three right-hand sides for the first family, one for each of the others.
        let (cut, cut3) = (n * LANES, 3 * n * LANES);
        let mut result = Ok(());
        let families = [(LANES, 3, 0..cut, 0..cut3), (2 * LANES, 1, cut..3 * cut, cut3..5 * cut)];
        for (systems, columns, rows, vectors) in families {
            let bands = std::array::from_fn(|b| &work.bands[b][rows.clone()]);
            let batch = PentaBatch::new(systems, n, Layout::Interleaved { lanes: LANES }, bands)
                .expect("buffers of the batch's shape");
            let batch = if self.block.closed[self.axis] { batch.periodic() } else { batch };
            let (rhs, x) = (&work.rhs[vectors.clone()], &mut work.x[vectors]);
            let outcome = work
                .scalars
                .solve(&work.alone, &batch, columns, rhs, x)
                .expect("buffers of the batch's shape");
            if let LineOutcome::Breakdown { system, row } = outcome
                && system % LANES < self.lanes
            {
                result = Err(self.block.cells.inside(self.cell(row, system % LANES)));
            }
        }
        dispatch(Isa::detect(), Finish { lines: self, x: &work.x, r });
        result
    }

    /// Unit normals of the cells at `at`: between their faces along the axis.
    #[inline(always)]
    fn normal<V: Lanes>(&self, at: usize) -> [V; 3] {
        let step = self.block.cells.stride[self.axis];
        let area = &self.block.metrics.area[self.axis];
        let mut n = [V::c(0.0); 3];
        for c in 0..3 {
            n[c] = self.gather::<V>(&area[c], at) + self.gather::<V>(&area[c], at + step);
        }
        let inverse = V::c(1.0) / (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
        [n[0] * inverse, n[1] * inverse, n[2] * inverse]
    }

    #[inline(always)]
    fn state<V: Lanes>(&self, at: usize) -> [V; 5] {
        let len = self.block.cells.len();
        let mut w = [V::c(0.0); 5];
        for c in 0..5 {
            w[c] = self.gather(&self.block.w, c * len + at);
        }
        w
    }
}

/// Coefficients at a face: x_b and x_c through central differences, then those of the dissipation by family.
#[derive(Clone, Copy)]
struct Face<V> {
    /// Half the waves' speeds times the area.
    half_speed: [V; FAMILIES],
    /// Of x_c - x_b.
    second: [V; FAMILIES],
    /// Of x_d - 3 x_c + 3 x_b - x_a, with the sign of a smoothing.
    fourth: [V; FAMILIES],
}

struct Assemble<'a, 'b> {
    lines: &'a Lines<'b>,
    work: &'a mut Workspace,
    r: &'a SharedLines<'a>,
    fourth: bool,
}

impl Assemble<'_, '_> {
    /// The lower face of the cells at `at`, number `c` of the lines' faces.
    #[inline(always)]
    fn face<V: Lanes>(&self, gas: Gas<V>, at: usize, c: usize, n: usize) -> Face<V> {
        let lines = self.lines;
        let (block, physics) = (lines.block, lines.physics);
        let (zero, half) = (V::c(0.0), V::c(0.5));
        let step = block.cells.stride[lines.axis];
        let (before, after) = (lines.state::<V>(at - step), lines.state::<V>(at));
        let mut mean = [zero; 5];
        for v in 0..5 {
            mean[v] = half * (before[v] + after[v]);
        }
        let mut area = [zero; 3];
        for k in 0..3 {
            area[k] = lines.gather(&block.metrics.area[lines.axis][k], at);
        }
        let speed = mean[1] * area[0] + mean[2] * area[1] + mean[3] * area[2];
        let radius = half * (spectral_radius(gas, &before, &area) + spectral_radius(gas, &after, &area));
        let sound =
            sound_speed(gas, &mean) * (area[0] * area[0] + area[1] * area[1] + area[2] * area[2]).sqrt();
        let speeds = [speed, speed + sound, speed - sound];
        let mut face =
            Face { half_speed: [zero; FAMILIES], second: [zero; FAMILIES], fourth: [zero; FAMILIES] };
        let ends = (c == 0 || c == n) && !block.closed[lines.axis];
        let near = (c <= 1 || c + 1 >= n) && !block.closed[lines.axis];
        let mut viscous = zero;
        if let Some(transport) = &physics.transport {
            let volume = half
                * (lines.gather::<V>(&block.metrics.volume, at - step)
                    + lines.gather::<V>(&block.metrics.volume, at));
            viscous = spectral_radius_viscous(gas, transport.lift(), &mean, &area, volume);
        }
        let dissipation = match physics.scheme {
            Scheme::Scalar(d) | Scheme::Matrix(d) => d,
            Scheme::Roe { .. } => Dissipation::DEFAULT,
        };
        let mut e2 = zero;
        let mut e4 = zero;
        if self.fourth && !ends {
            let pressure = |at: usize| lines.gather::<V>(&block.w, 4 * block.cells.len() + at);
            let left = pressure_switch(pressure(at - 2 * step), before[4], after[4]);
            let right = pressure_switch(before[4], after[4], pressure(at + step));
            e2 = V::c(dissipation.second) * left.max(right);
            e4 = (V::c(dissipation.fourth) - e2).max(zero);
            if near {
                // No second neighbor on one side: second differences in the place of fourth ones.
                e2 += V::c(2.0) * e4;
                e4 = zero;
            }
        }
        let share = V::c(lines.dissipation);
        for f in 0..FAMILIES {
            face.half_speed[f] = half * speeds[f];
            if ends {
                // Upwind, so that waves leave.
                face.second[f] = half * speeds[f].abs();
            } else if self.fourth {
                let rate = V::c(4.0) * share * radius;
                face.second[f] = rate * e2;
                face.fourth[f] = rate * e4;
            } else {
                face.second[f] = share * radius;
            }
            face.second[f] += viscous;
        }
        face
    }
}

impl LaneKernel for Assemble<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (lines, block) = (self.lines, self.lines.block);
        let n = block.cells.count[lines.axis];
        let gas: Gas<V> = lines.physics.gas.lift();
        let step = block.cells.stride[lines.axis];
        let start = block.cells.inside(lines.cell(0, 0));
        let mut low = self.face::<V>(gas, start, 0, n);
        for c in 0..n {
            let at = start + c * step;
            let high = self.face::<V>(gas, at + step, c + 1, n);
            let cell = lines.cell(c, 0);
            let tau = lines.steps::<V>(cell) / lines.gather(&block.metrics.volume, at);
            let three = V::c(3.0);
            for f in 0..FAMILIES {
                let (l2, h2, l4, h4) = (low.second[f], high.second[f], low.fourth[f], high.fourth[f]);
                let values = [
                    l4,
                    -(low.half_speed[f] + l2 + three * l4 + h4),
                    high.half_speed[f] - low.half_speed[f] + l2 + h2 + three * (l4 + h4),
                    high.half_speed[f] - h2 - three * h4 - l4,
                    h4,
                ];
                for (b, value) in values.into_iter().enumerate() {
                    let value = tau * value + if b == 2 { V::c(1.0) } else { V::c(0.0) };
                    store(&mut self.work.bands[b], (f * n + c) * LANES, value);
                }
            }
            // SAFETY: the cells of this group's lines belong to one member.
            let x = unsafe { lines.right_side::<V>(self.r, cell, tau) };
            let waves = to_waves(gas, &lines.state(at), &lines.normal(at), &x);
            for v in 0..5 {
                store(&mut self.work.rhs, place(n, c, v), waves[v]);
            }
            low = high;
        }
    }
}

/// Where amplitude `v` of cell `c` lies: three columns of one family, then the other families.
#[inline(always)]
fn place(n: usize, c: usize, v: usize) -> usize {
    if v < 3 { (3 * c + v) * LANES } else { (v * n + c) * LANES }
}

/// Amplitudes back to conserved variables.
struct Finish<'a, 'b> {
    lines: &'a Lines<'b>,
    x: &'a [f64],
    r: &'a SharedLines<'a>,
}

impl LaneKernel for Finish<'_, '_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (lines, block) = (self.lines, self.lines.block);
        let n = block.cells.count[lines.axis];
        let gas: Gas<V> = lines.physics.gas.lift();
        let start = block.cells.inside(lines.cell(0, 0));
        for c in 0..n {
            let at = start + c * block.cells.stride[lines.axis];
            let mut waves = [V::c(0.0); 5];
            for v in 0..5 {
                let from = place(n, c, v);
                waves[v] = V::from_array(self.x[from..].first_chunk::<LANES>().expect("eight lines"));
            }
            let x = from_waves(gas, &lines.state(at), &lines.normal(at), &waves);
            // SAFETY: the cells of this group's lines belong to one member.
            unsafe { lines.put(self.r, c, &x.map(V::to_array)) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flux::flux_jacobian;

    /// T^-1 A T is diagonal, with the waves' speeds.
    #[test]
    fn waves_diagonalize_the_jacobian() {
        let (w, k) = ([1.3, 0.4, -0.7, 0.2, 0.9], [0.48, -0.6, 0.64]);
        let a = flux_jacobian(Gas::AIR, &w, &k);
        let speed = w[1] * k[0] + w[2] * k[1] + w[3] * k[2];
        let c = sound_speed(Gas::AIR, &w);
        let speeds = [speed, speed, speed, speed + c, speed - c];
        for n in 0..5 {
            let mut unit = [0.0; 5];
            unit[n] = 1.0;
            let x = from_waves(Gas::AIR, &w, &k, &unit);
            let back = to_waves(Gas::AIR, &w, &k, &x);
            let ax = std::array::from_fn(|r| (0..5).map(|c| a[c * 5 + r] * x[c]).sum());
            let image = to_waves(Gas::AIR, &w, &k, &ax);
            for m in 0..5 {
                assert!((back[m] - unit[m]).abs() < 1e-14, "{n}: {back:?}");
                assert!((image[m] - speeds[n] * unit[m]).abs() < 1e-13, "{n}: {image:?}");
            }
        }
    }
}
