#![allow(unsafe_code)]
//! The diagonalized factors: A = T L T^-1 along each axis with T frozen at each cell, so that a line's system falls into
//! scalar ones, three of them with the same coefficients:
//! ```text
//! dq = T_k (I + dt/V d_k L_k)^-1 T_k^-1  T_j (I + dt/V d_j L_j)^-1 T_j^-1  T_i (I + dt/V d_i L_i)^-1 T_i^-1 (-dt/V R).
//! ```
//! The operator of a family of waves has central differences of their speed through the faces, less a dissipation with the
//! spectral radius r: that of the residual twice over, 2 r (e2 (x_c - x_b) - e4 (x_d - 3 x_c + 3 x_b - x_a)) at the face
//! between b and c; or the second differences of the block form. Beyond a line's ends there is no change; waves leave through
//! them.
//!
//! **Source**: Pulliam & Chaussee, *A diagonal form of an implicit approximate-factorization algorithm* (1981); Pulliam,
//! *Artificial dissipation models for the Euler equations* (1986): implicit second and fourth differences. Less than twice the
//! residual's coefficients, and matrix dissipation in the operator, were slower here or diverged.

use super::block::SharedLines;
use super::config::Scheme;
use super::lines::{Interleaved, Lines, Workspace};
use super::waves::{
    WaveFace, from_waves, middle_state, to_waves, unit_normal, wave_face, wave_rows, wave_weights,
};
use crate::equations::perfect_gas::{N, State};
use crate::flux::Dissipation;
use crate::gas::Gas;
use crate::real::{LANES, LaneKernel, Lanes, dispatch};
use crate::viscous::spectral_radius_viscous;
use chromaflow::tridiag::{LineOutcome, PentaBatch};
use chromaflow_device::Isa;

/// Waves of the same speed: entropy and vorticity (three), V + c, V - c.
const FAMILIES: usize = 3;

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
        work.rhs.resize(N * n * LANES, 0.0);
        work.x.resize(N * n * LANES, 0.0);
        let fourth = fourth && !matches!(self.physics.scheme, Scheme::Roe { .. });
        let places = Places { n, band: Interleaved::new(n), columns: Interleaved::new(3 * n) };
        let layout = places.band.layout();
        dispatch(Isa::detect(), Assemble { lines: self, work, r, fourth, places });
        // Three right-hand sides for the first family, one for each of the others.
        let (cut, cut3) = (n * LANES, 3 * n * LANES);
        let mut result = Ok(());
        let families = [(LANES, 3, 0..cut, 0..cut3), (2 * LANES, 1, cut..3 * cut, cut3..5 * cut)];
        for (systems, columns, rows, vectors) in families {
            let bands = std::array::from_fn(|b| &work.bands[b][rows.clone()]);
            let batch = PentaBatch::new(systems, n, layout, bands).expect("buffers of the batch's shape");
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
        dispatch(Isa::detect(), Finish { lines: self, x: &work.x, r, places });
        result
    }

    /// Unit normals of the cells at `at`: between their faces along the axis.
    #[inline(always)]
    fn normal<V: Lanes>(&self, at: usize) -> [V; 3] {
        let (low, high) = (self.area::<V>(at), self.area::<V>(at + self.block.cells.stride[self.axis]));
        unit_normal(&low, &high)
    }

    /// Areas of the lower faces of the cells at `at`.
    #[inline(always)]
    fn area<V: Lanes>(&self, at: usize) -> [V; 3] {
        let mut area = [V::c(0.0); 3];
        for c in 0..3 {
            area[c] = self.gather(&self.block.metrics.area[self.axis][c], at);
        }
        area
    }

    #[inline(always)]
    fn state<V: Lanes>(&self, at: usize) -> State<V> {
        let len = self.block.cells.len();
        let mut w = [V::c(0.0); N];
        for c in 0..N {
            w[c] = self.gather(&self.block.w, c * len + at);
        }
        w
    }
}

struct Assemble<'a, 'b> {
    lines: &'a Lines<'b>,
    work: &'a mut Workspace,
    r: &'a SharedLines<'a>,
    fourth: bool,
    places: Places,
}

impl Assemble<'_, '_> {
    /// The lower face of the cells at `at`, number `c` of the lines' faces.
    #[inline(always)]
    fn face<V: Lanes>(&self, gas: Gas<V>, at: usize, c: usize, n: usize) -> WaveFace<V> {
        let lines = self.lines;
        let (block, physics) = (lines.block, lines.physics);
        let step = block.cells.stride[lines.axis];
        let (before, after) = (lines.state::<V>(at - step), lines.state::<V>(at));
        let area = lines.area::<V>(at);
        let open = !block.closed[lines.axis];
        let mut viscous = V::c(0.0);
        if let Some(transport) = &physics.transport {
            let volume = &block.metrics.volume;
            let volume = V::c(0.5) * (lines.gather::<V>(volume, at - step) + lines.gather::<V>(volume, at));
            let mean = middle_state(&before, &after);
            viscous = spectral_radius_viscous(gas, transport.lift(), &mean, &area, volume);
        }
        let dissipation = match physics.scheme {
            Scheme::Scalar(d) | Scheme::Matrix(d) => d,
            Scheme::Roe { .. } => Dissipation::DEFAULT,
        };
        let mut pressure = [V::c(0.0), before[4], after[4], V::c(0.0)];
        if self.fourth {
            let p = &block.w[4 * block.cells.len()..];
            pressure[0] = lines.gather(p, at - 2 * step);
            pressure[3] = lines.gather(p, at + step);
        }
        let near = open && (c <= 1 || c + 1 >= n);
        let weights = wave_weights(&pressure, dissipation.lift(), V::c(lines.dissipation), self.fourth, near);
        wave_face(gas, &before, &after, &area, &weights, open && (c == 0 || c == n), viscous)
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
            for (f, row) in wave_rows(&low, &high, tau).into_iter().enumerate() {
                for (b, value) in row.into_iter().enumerate() {
                    self.places.band.store(&mut self.work.bands[b][f * n * LANES..], c, value);
                }
            }
            // SAFETY: the cells of this group's lines belong to one member.
            let x = unsafe { lines.right_side::<V>(self.r, cell, tau) };
            let waves = to_waves(gas, &lines.state(at), &lines.normal(at), &x);
            for v in 0..N {
                let (family, places, entry) = self.places.amplitude(c, v);
                places.store(&mut self.work.rhs[family..], entry, waves[v]);
            }
            low = high;
        }
    }
}

/// Where numbers of lines of `n` cells lie.
#[derive(Clone, Copy)]
struct Places {
    n: usize,
    /// Of one coefficient, or amplitude, a cell.
    band: Interleaved,
    /// Of three amplitudes a cell.
    columns: Interleaved,
}

impl Places {
    /// Amplitude `v` of cell `c`: where its family begins, and its entry there. Three are columns of the first family.
    #[inline(always)]
    fn amplitude(self, c: usize, v: usize) -> (usize, Interleaved, usize) {
        if v < 3 { (0, self.columns, 3 * c + v) } else { (v * self.n * LANES, self.band, c) }
    }
}

/// Amplitudes back to conserved variables.
struct Finish<'a, 'b> {
    lines: &'a Lines<'b>,
    x: &'a [f64],
    r: &'a SharedLines<'a>,
    places: Places,
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
            let mut waves = [V::c(0.0); N];
            for v in 0..N {
                let (family, places, entry) = self.places.amplitude(c, v);
                waves[v] = places.load(&self.x[family..], entry);
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
    use crate::gas::sound_speed;

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
