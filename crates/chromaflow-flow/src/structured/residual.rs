//! Flux differences of all cells, eight neighbors along i at a time.

use super::block::{BlockState, each_row_beside, load, load_state};
use super::config::{LocalStep, Scheme, ViscousTerms};
use super::turbulence::GridTurbulence;
use crate::equations::PerfectGas;
use crate::equations::perfect_gas::{N, State};
use crate::flux::{
    Dissipation, RoeFix, convective_at_shocks, flux_matrix_dissipation, flux_roe_muscl,
    flux_scalar_dissipation, pressure_jump, spectral_radius,
};
use crate::gas::{Gas, Transport, temperature, viscosity};
use crate::parallel;
use crate::real::{LANES, LaneKernel, Lanes, dispatch};
use crate::viscous::{
    conductivity_by_mu, flux_viscous_across, flux_viscous_along, molecular, spectral_radius_viscous_of,
    velocity_and_temperature, with_eddies,
};
use chromaflow_device::{Isa, Team};
use std::ops::Range;

/// What fluxes depend on besides the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Physics {
    pub gas: Gas<f64>,
    pub scheme: Scheme,
    pub transport: Option<Transport<f64>>,
    pub terms: ViscousTerms,
    pub fix: RoeFix<f64>,
    /// The turbulence model, of viscous flow that has one.
    pub turbulence: Option<GridTurbulence>,
}

impl Physics {
    /// The equations without their transport terms.
    pub fn equations(&self) -> PerfectGas {
        PerfectGas { gas: self.gas, fix: self.fix }
    }
}

/// The sum of the fluxes out of each cell, without those through boundary faces, into `block.r`.
pub(super) fn residual(team: &Team, physics: &Physics, block: &mut BlockState) {
    let mut r = std::mem::take(&mut block.r);
    let (rows, width) = (block.rows(), N * block.cells.count[0]);
    let shared = &*block;
    parallel::rows(team, rows, width, &mut r, |rows, out| {
        dispatch(Isa::detect(), Fluxes { block: shared, physics: *physics, rows, out });
    });
    block.r = r;
}

/// The sum of [`pressure_jump`] over the neighbors of each cell along the axes, into `block.jumps`.
pub(super) fn find_jumps(team: &Team, block: &mut BlockState) {
    let mut jumps = std::mem::take(&mut block.jumps);
    let (cells, shared) = (block.cells, &*block);
    let p = &block.w[4 * cells.len()..];
    each_row_beside(team, cells, &mut jumps, (0, &mut []), |row, [jumps], _| {
        let start = shared.row(row);
        jumps.fill(0.0);
        for step in (0..3).filter(|&d| shared.active[d]).map(|d| cells.stride[d]) {
            let around = p[start - step..].iter().zip(&p[start..]).zip(&p[start + step..]);
            for (jump, ((before, here), after)) in jumps.iter_mut().zip(around) {
                *jump += pressure_jump(*here, *before) + pressure_jump(*here, *after);
            }
        }
    });
    block.jumps = jumps;
}

/// The local time step of each cell, `cfl` times its share of it and the volume over a spectral radius made from those along the axes,
/// into `block.dt`.
///
/// **Source**: Stone, Duque, Zhang, Car, Owens & Davis 2011, eq. 11, which has the smallest radius where the largest limits
/// the step.
pub(super) fn time_steps(team: &Team, physics: &Physics, cfl: f64, local: LocalStep, block: &mut BlockState) {
    let mut dt = std::mem::take(&mut block.dt);
    let (rows, width) = (block.rows(), block.cells.count[0]);
    let shared = &*block;
    parallel::rows(team, rows, width, &mut dt, |rows, out| {
        dispatch(Isa::detect(), Steps { block: shared, physics: *physics, cfl, local, rows, out });
    });
    block.dt = dt;
    for (dt, share) in block.dt.iter_mut().zip(&block.cfl_shares) {
        *dt *= share;
    }
}

struct Fluxes<'a> {
    block: &'a BlockState,
    physics: Physics,
    rows: Range<usize>,
    out: &'a mut [f64],
}

impl LaneKernel for Fluxes<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { block, physics, rows, out } = self;
        let face = Face::<V>::new(block, &physics);
        let [ni, nj, _] = block.cells.count;
        let wide = (ni + 1).next_multiple_of(LANES) + LANES;
        // Fluxes just computed; those through the faces above the last row and the last plane.
        let mut fresh = vec![0.0; N * wide];
        let mut above = vec![0.0; N * wide];
        let mut behind = vec![0.0; if block.active[2] { N * wide * nj } else { 0 }];
        let first = rows.start;
        for (row, out) in rows.zip(out.chunks_exact_mut(N * ni)) {
            let at = block.row(row);
            out.fill(0.0);
            // Along the row; below it where nothing is stored yet, above; in front of it likewise, behind.
            let steps = [
                (0, block.active[0]),
                (1, block.active[1] && (row == first || row % nj == 0)),
                (1, block.active[1]),
                (2, block.active[2] && row < first + nj),
                (2, block.active[2]),
            ];
            for (n, &(axis, wanted)) in steps.iter().enumerate() {
                if !wanted {
                    continue;
                }
                let entry = n == 1 || n == 3;
                let shift = if n == 0 || entry { 0 } else { block.cells.stride[axis] };
                // The one call, since all of it is inlined for every instruction set.
                face.row(axis, at + shift, if n == 0 { ni + 1 } else { ni }, &mut fresh, wide);
                if n == 0 {
                    for c in 0..N {
                        for i in 0..ni {
                            out[c * ni + i] += fresh[c * wide + i + 1] - fresh[c * wide + i];
                        }
                    }
                    continue;
                }
                let j = row % nj;
                let stored =
                    if axis == 1 { &mut above[..] } else { &mut behind[N * wide * j..N * wide * (j + 1)] };
                if !entry {
                    for c in 0..N {
                        for i in 0..ni {
                            out[c * ni + i] += fresh[c * wide + i] - stored[c * wide + i];
                        }
                    }
                }
                stored.copy_from_slice(&fresh);
            }
        }
    }
}

/// Fluxes through faces between cells.
struct Face<'a, V> {
    block: &'a BlockState,
    scheme: Scheme,
    gas: Gas<V>,
    dissipation: Dissipation<V>,
    fix: RoeFix<V>,
    transport: Option<Transport<V>>,
    terms: ViscousTerms,
    /// The turbulent Prandtl number, where blocks have an eddy viscosity.
    turbulent: Option<f64>,
}

impl<'a, V: Lanes> Face<'a, V> {
    #[inline(always)]
    fn new(block: &'a BlockState, physics: &Physics) -> Self {
        let dissipation = match physics.scheme {
            Scheme::Scalar(d) | Scheme::Matrix(d) => d,
            Scheme::Roe { .. } => Dissipation::DEFAULT,
        };
        let dissipation = Dissipation { cutoff_mach: physics.fix.cutoff_mach, ..dissipation };
        // No closure: it would not be compiled for the instructions at hand.
        let mut transport = None;
        if let Some(of_numbers) = &physics.transport {
            transport = Some(of_numbers.lift());
        }
        let mut turbulent = None;
        if let Some(model) = &physics.turbulence {
            turbulent = Some(model.prandtl);
        }
        Self {
            block,
            scheme: physics.scheme,
            gas: physics.gas.lift(),
            dissipation: dissipation.lift(),
            fix: physics.fix.lift(),
            transport,
            terms: physics.terms,
            turbulent,
        }
    }

    /// Fluxes through the lower faces along `axis` of `count` cells from `at` on, `[5, wide]`.
    #[inline(always)]
    fn row(&self, axis: usize, at: usize, count: usize, out: &mut [f64], wide: usize) {
        let mut i = 0;
        while i < count {
            let flux = self.flux(axis, at + i);
            for c in 0..N {
                out[c * wide + i..][..LANES].copy_from_slice(&flux[c].to_array());
            }
            i += LANES;
        }
    }

    /// Flux through the lower faces of eight cells.
    #[inline(always)]
    fn flux(&self, axis: usize, at: usize) -> State<V> {
        let (w, len, step) = (&self.block.w, self.block.cells.len(), self.block.cells.stride[axis]);
        let n = area::<V>(&self.block.open[axis], at);
        let wa = load_state(w, len, at - 2 * step);
        let wb = load_state(w, len, at - step);
        let wc = load_state(w, len, at);
        let wd = load_state(w, len, at + step);
        let mut flux = match self.scheme {
            Scheme::Scalar(_) => flux_scalar_dissipation(self.gas, &wa, &wb, &wc, &wd, &n, self.dissipation),
            Scheme::Matrix(_) => flux_matrix_dissipation(self.gas, &wa, &wb, &wc, &wd, &n, self.dissipation),
            Scheme::Roe { kappa, limited } => {
                let limited = V::c(if limited { 1.0 } else { 0.0 });
                let (before, after) = (load(&self.block.jumps, at - step), load(&self.block.jumps, at));
                let mut fix = self.fix;
                fix.convective = convective_at_shocks(fix.convective, before, after);
                flux_roe_muscl(self.gas, &wa, &wb, &wc, &wd, &n, V::c(kappa), limited, fix)
            }
        };
        if let Some(transport) = self.transport {
            let viscous = self.viscous(transport, axis, at, &wb, &wc, &n);
            for c in 0..4 {
                flux[1 + c] -= viscous[c];
            }
        }
        flux
    }

    /// Viscous flux of momentum and energy: of the change across the face, there; of those along the other axes, the
    /// mean of the two cells', as each has it with its own areas, volume, viscosity and velocity.
    ///
    /// **Source**: Blazek, CFD: Principles and Applications, chapter 5, averages the cells' gradients and replaces the
    /// derivative between the two cells by the compact one; here fluxes are averaged, which a cell makes once.
    #[inline(always)]
    fn viscous(
        &self,
        transport: Transport<V>,
        axis: usize,
        at: usize,
        wb: &State<V>,
        wc: &State<V>,
        n: &[V; 3],
    ) -> [V; 4] {
        let volume = &self.block.metrics.volume;
        let places = [at - self.block.cells.stride[axis], at];
        let ratio = conductivity_by_mu(self.gas, transport);
        let states = [velocity_and_temperature(self.gas, wb), velocity_and_temperature(self.gas, wc)];
        let mut mu = [V::c(0.0); 2];
        let mut volumes = [V::c(0.0); 2];
        for side in 0..2 {
            mu[side] = transport.scale * viscosity(transport, states[side][3]);
            volumes[side] = load(volume, places[side]);
        }
        // Of each side, and of both.
        let mut ratios = [ratio; 3];
        if let Some(prandtl) = self.turbulent {
            let mut heat = [V::c(0.0); 2];
            for side in 0..2 {
                let eddies = load(&self.block.eddies.viscosity, places[side]);
                [mu[side], heat[side]] =
                    with_eddies(self.gas, &[mu[side], ratio * mu[side]], eddies, V::c(prandtl));
                ratios[side] = heat[side] / mu[side];
            }
            ratios[2] = (heat[0] + heat[1]) / (mu[0] + mu[1]);
        }
        let mean = (mu[0] + mu[1]) / (volumes[0] + volumes[1]);
        let mut flux = flux_viscous_across(ratios[2], mean, &states[0], &states[1], n);
        if self.terms == ViscousTerms::ThinLayer {
            return flux;
        }
        // Nothing goes through faces without an open area.
        let open = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).gt(V::c(0.0));
        for side in 0..2 {
            // A change over two cells and two sums of two areas are twice what they stand for each; half of the flux.
            let scale = V::c(0.0625) * mu[side] / volumes[side];
            let half = self.along(ratios[side], scale, axis, places[side], &states[side]);
            for c in 0..4 {
                flux[c] += V::select(open, half[c], V::c(0.0));
            }
        }
        flux
    }

    /// What the changes along the other axes at a cell bring through the sum of its areas along `axis`.
    #[inline(always)]
    fn along(&self, ratio: V, mu: V, axis: usize, at: usize, state: &[V; 4]) -> [V; 4] {
        let mut changes = [[V::c(0.0); 4]; 2];
        let mut areas = [[V::c(0.0); 3]; 2];
        for d in 0..2 {
            let other = (axis + 1 + d) % 3;
            if !self.block.active[other] {
                continue;
            }
            let s = self.block.cells.stride[other];
            let (before, after) = (self.thermal(at - s), self.thermal(at + s));
            for i in 0..4 {
                changes[d][i] = after[i] - before[i];
            }
            areas[d] = self.areas(other, at);
        }
        flux_viscous_along(ratio, mu, state, &changes, &areas, &self.areas(axis, at))
    }

    /// Sum of the areas of a cell's two faces along an axis.
    #[inline(always)]
    fn areas(&self, axis: usize, at: usize) -> [V; 3] {
        let m = &self.block.metrics.area[axis];
        let (low, high) = (area::<V>(m, at), area::<V>(m, at + self.block.cells.stride[axis]));
        [low[0] + high[0], low[1] + high[1], low[2] + high[2]]
    }

    #[inline(always)]
    fn thermal(&self, at: usize) -> [V; 4] {
        let w = load_state(&self.block.w, self.block.cells.len(), at);
        velocity_and_temperature(self.gas, &w)
    }
}

#[inline(always)]
fn area<V: Lanes>(area: &[Vec<f64>; 3], at: usize) -> [V; 3] {
    [load(&area[0], at), load(&area[1], at), load(&area[2], at)]
}

struct Steps<'a> {
    block: &'a BlockState,
    physics: Physics,
    cfl: f64,
    local: LocalStep,
    rows: Range<usize>,
    out: &'a mut [f64],
}

impl LaneKernel for Steps<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { block, physics, cfl, local, rows, out } = self;
        let gas = physics.gas.lift::<V>();
        let ni = block.cells.count[0];
        for (row, out) in rows.zip(out.chunks_exact_mut(ni)) {
            let start = block.row(row);
            let mut i = 0;
            while i < ni {
                let at = start + i;
                let w = load_state::<V>(&block.w, block.cells.len(), at);
                let volume = load::<V>(&block.metrics.volume, at);
                let (mut largest, mut smallest) = (V::c(1e-300), V::c(1e300));
                let mut diffusing = [V::c(0.0); 2];
                if let Some(transport) = &physics.transport {
                    diffusing = molecular(gas, transport.lift(), temperature(gas, &w));
                    if let Some(model) = &physics.turbulence {
                        let eddies = load(&block.eddies.viscosity, at);
                        diffusing = with_eddies(gas, &diffusing, eddies, V::c(model.prandtl));
                    }
                }
                for d in 0..3 {
                    if !block.active[d] {
                        continue;
                    }
                    let low = area::<V>(&block.metrics.area[d], at);
                    let high = area::<V>(&block.metrics.area[d], at + block.cells.stride[d]);
                    let mut n = [V::c(0.0); 3];
                    for k in 0..3 {
                        n[k] = V::c(0.5) * (low[k] + high[k]);
                    }
                    let mut radius = spectral_radius(gas, &w, &n);
                    if physics.transport.is_some() {
                        radius += V::c(2.0) * spectral_radius_viscous_of(gas, &diffusing, &w, &n, volume);
                    }
                    largest = largest.max(radius);
                    smallest = smallest.min(radius);
                }
                if local == LocalStep::Mean {
                    largest = (largest * smallest).sqrt();
                }
                let steps = (V::c(cfl) * volume / largest).to_array();
                let count = (ni - i).min(LANES);
                out[i..i + count].copy_from_slice(&steps[..count]);
                i += LANES;
            }
        }
    }
}
