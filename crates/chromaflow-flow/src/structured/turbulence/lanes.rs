//! k and omega in eight cells at a time: sources and viscosities, what passes faces that are no boundaries; of numbers, or of numbers with derivatives along a
//! direction.

use super::super::block::{BlockState, load};
use super::super::config::ViscousTerms;
use super::super::residual::Physics;
use super::{GridTurbulence, MOST, kappa};
use crate::coupled::skew_of_positive;
use crate::equations::perfect_gas::{N, State};
use crate::gas::{Transport, temperature, viscosity};
use crate::limiter::extrapolate;
use crate::parallel;
use crate::real::{Dual, LANES, LaneKernel, Lanes, Real, dispatch};
use crate::turbulence::k_omega::{KOmega, k_omega_terms};
use chromaflow_device::{Isa, Team};
use std::marker::PhantomData;
use std::ops::Range;

/// Numbers of a cell, `[rows, TERMS, ni]`: eddy viscosity, what k and omega diffuse by, sources and their derivatives as [`k_omega_sources`] has them.
pub(super) const TERMS: usize = 8;
/// Where sources begin in them.
pub(super) const SOURCES: usize = 3;

/// How kernels take numbers of eight cells.
pub(super) trait Kind: Send + Sync {
    type Of<V: Lanes>: Real;
    /// Eight neighbors along i.
    fn load<V: Lanes>(values: &[f64], slopes: &[f64], at: usize) -> Self::Of<V>;
    /// The first ones of them.
    fn part<V: Lanes>(values: &[f64], slopes: &[f64], range: Range<usize>) -> Self::Of<V>;
    fn constant<V: Lanes>(value: V) -> Self::Of<V>;
    /// What is kept of a result.
    fn kept<V: Lanes>(result: Self::Of<V>) -> V;
}

/// As they are.
pub(super) struct Plain;
/// With their derivatives along a direction, which are what is kept.
pub(super) struct Along;

impl Kind for Plain {
    type Of<V: Lanes> = V;
    #[inline(always)]
    fn load<V: Lanes>(values: &[f64], _: &[f64], at: usize) -> V {
        load(values, at)
    }
    #[inline(always)]
    fn part<V: Lanes>(values: &[f64], _: &[f64], range: Range<usize>) -> V {
        part(&values[range])
    }
    #[inline(always)]
    fn constant<V: Lanes>(value: V) -> V {
        value
    }
    #[inline(always)]
    fn kept<V: Lanes>(result: V) -> V {
        result
    }
}

impl Kind for Along {
    type Of<V: Lanes> = Dual<V, 1>;
    #[inline(always)]
    fn load<V: Lanes>(values: &[f64], slopes: &[f64], at: usize) -> Dual<V, 1> {
        Dual { v: load(values, at), d: [load(slopes, at)] }
    }
    #[inline(always)]
    fn part<V: Lanes>(values: &[f64], slopes: &[f64], range: Range<usize>) -> Dual<V, 1> {
        Dual { v: part(&values[range.clone()]), d: [part(&slopes[range])] }
    }
    #[inline(always)]
    fn constant<V: Lanes>(value: V) -> Dual<V, 1> {
        Dual::constant(value)
    }
    #[inline(always)]
    fn kept<V: Lanes>(result: Dual<V, 1>) -> V {
        result.d[0]
    }
}

/// Up to eight values, ones behind them.
#[inline(always)]
fn part<V: Lanes>(values: &[f64]) -> V {
    let mut lanes = [1.0; LANES];
    lanes[..values.len()].copy_from_slice(values);
    V::from_array(&lanes)
}

/// Writes the first lanes.
#[inline(always)]
fn put<V: Lanes>(value: V, out: &mut [f64]) {
    out.copy_from_slice(&value.to_array()[..out.len()]);
}

/// What kernels read of a block: values, or their derivatives. Arrays as [`Eddies`](super::Eddies) has them.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'a> {
    pub w: &'a [f64],
    pub turbulence: &'a [f64],
    pub diffusing: &'a [f64],
    pub terms: &'a [f64],
}

impl<'a> Numbers<'a> {
    /// Those of a block.
    pub fn of(block: &'a BlockState) -> Self {
        let eddies = &block.eddies;
        let (diffusing, terms) = (&eddies.diffusing[..], &eddies.terms[..]);
        Self { w: &block.w, turbulence: &eddies.values, diffusing, terms }
    }
}

/// The model on a block: numbers and derivatives, which [`Plain`] does not read.
pub(super) struct Cells<'a, K> {
    pub physics: &'a Physics,
    pub turbulence: GridTurbulence,
    pub model: KOmega<f64>,
    pub block: &'a BlockState,
    pub numbers: Numbers<'a>,
    pub slopes: Numbers<'a>,
    pub kind: PhantomData<K>,
}

impl<'a> Cells<'a, Plain> {
    pub fn plain(
        physics: &'a Physics,
        (model, turbulence): (KOmega<f64>, GridTurbulence),
        block: &'a BlockState,
    ) -> Self {
        let numbers = Numbers::of(block);
        Self { physics, turbulence, model, block, numbers, slopes: numbers, kind: PhantomData }
    }
}

impl<K: Kind> Cells<'_, K> {
    /// Terms of all cells, `[rows, TERMS, ni]`.
    pub fn find_terms(&self, team: &Team, out: &mut [f64]) {
        let width = TERMS * self.block.cells.count[0];
        parallel::rows(team, self.block.rows(), width, out, |rows, out| {
            dispatch(Isa::detect(), Terms { cells: self, rows, out });
        });
    }

    /// What leaves each cell through faces that are no boundary, less its sources: `[rows, 2, ni]`.
    pub fn find_residual(&self, team: &Team, out: &mut [f64]) {
        let width = MOST * self.block.cells.count[0];
        parallel::rows(team, self.block.rows(), width, out, |rows, out| {
            dispatch(Isa::detect(), Balance { cells: self, rows, out });
        });
    }

    #[inline(always)]
    fn state<V: Lanes>(&self, at: usize) -> State<K::Of<V>> {
        let (len, mut w) = (self.block.cells.len(), [K::Of::<V>::c(0.0); N]);
        for c in 0..N {
            w[c] = K::load(self.numbers.w, self.slopes.w, c * len + at);
        }
        w
    }

    #[inline(always)]
    fn value<V: Lanes>(&self, v: usize, at: usize) -> K::Of<V> {
        K::load(self.numbers.turbulence, self.slopes.turbulence, v * self.block.cells.len() + at)
    }

    #[inline(always)]
    fn diffusing<V: Lanes>(&self, v: usize, at: usize) -> K::Of<V> {
        K::load(self.numbers.diffusing, self.slopes.diffusing, v * self.block.cells.len() + at)
    }

    /// Sum of the areas of a cell's two faces along an axis.
    #[inline(always)]
    fn areas<V: Lanes>(&self, axis: usize, at: usize) -> [K::Of<V>; 3] {
        let (area, s) = (&self.block.metrics.area[axis], self.block.cells.stride[axis]);
        let mut sum = [K::Of::<V>::c(0.0); 3];
        for c in 0..3 {
            sum[c] = K::constant(load::<V>(&area[c], at) + load::<V>(&area[c], at + s));
        }
        sum
    }

    #[inline(always)]
    fn volume<V: Lanes>(&self, at: usize) -> K::Of<V> {
        K::constant(load(&self.block.metrics.volume, at))
    }

    /// d(u, v, w, k, omega)_i / dx_k, from the means of both cells at each face.
    #[inline(always)]
    fn gradients<V: Lanes>(&self, at: usize) -> [[K::Of<V>; 3]; 5] {
        let mut gradients = [[K::Of::<V>::c(0.0); 3]; 5];
        let scale = K::Of::<V>::c(0.25) / self.volume::<V>(at);
        for axis in 0..3 {
            if !self.block.active[axis] {
                continue;
            }
            let (s, area) = (self.block.cells.stride[axis], self.areas::<V>(axis, at));
            let (before, after) = (self.state::<V>(at - s), self.state::<V>(at + s));
            for i in 0..N {
                let change = if i < 3 {
                    after[1 + i] - before[1 + i]
                } else {
                    self.value::<V>(i - 3, at + s) - self.value::<V>(i - 3, at - s)
                };
                for k in 0..3 {
                    gradients[i][k] += scale * change * area[k];
                }
            }
        }
        gradients
    }

    /// Of eight cells at this distance from walls, production multiplied by `share`.
    #[inline(always)]
    fn terms<V: Lanes>(
        &self,
        transport: Transport<K::Of<V>>,
        at: usize,
        distance: K::Of<V>,
        share: K::Of<V>,
    ) -> [K::Of<V>; TERMS] {
        let w = self.state::<V>(at);
        let turbulence = [self.value::<V>(0, at), self.value::<V>(1, at)];
        let mu = transport.scale * viscosity(transport, temperature(self.physics.gas.lift(), &w));
        let (model, gas, gradients) = (self.model.lift::<K::Of<V>>(), [w[0], mu], self.gradients::<V>(at));
        let [eddy, of_k, of_omega, sources @ .., _, _] =
            k_omega_terms(model, &gas, distance, share, &turbulence, &gradients);
        let [k, omega, k_by_k, k_by_omega, omega_by_omega] = sources;
        [eddy, of_k, of_omega, k, omega, k_by_k, k_by_omega, omega_by_omega]
    }

    /// What leaves eight cells through one of their faces, `sign` times the lower one of the cell at `face`.
    #[inline(always)]
    fn leaving<V: Lanes>(
        &self,
        axis: usize,
        at: usize,
        [beyond, face]: [usize; 2],
        sign: f64,
    ) -> [K::Of<V>; MOST] {
        let (half, zero) = (K::Of::<V>::c(0.5), K::Of::<V>::c(0.0));
        let (wa, wb) = (self.state::<V>(at), self.state::<V>(beyond));
        let (mut n, mut square, mut mass) = ([zero; 3], zero, zero);
        for c in 0..3 {
            n[c] = K::constant(V::c(sign) * load::<V>(&self.block.open[axis][c], face));
            square += n[c] * n[c];
            mass += half * (wa[0] * wa[1 + c] + wb[0] * wb[1 + c]) * n[c];
        }
        let across = square / (half * (self.volume::<V>(at) + self.volume::<V>(beyond)));
        let full = self.physics.terms == ViscousTerms::Full;
        let weight = K::Of::<V>::c(kappa(self.physics));
        let mut leaves = [zero; MOST];
        for v in 0..MOST {
            let (own, other) = (self.value::<V>(v, at), self.value::<V>(v, beyond));
            let mut through = across * (other - own);
            if full {
                let skew = half * (self.along::<V>(axis, v, at, &n) + self.along::<V>(axis, v, beyond, &n));
                let bounded = skew_of_positive(across, &[own, other], skew);
                // Nothing goes through faces without an open area.
                through += K::Of::<V>::select(square.gt(zero), bounded, zero);
            }
            let gamma = half * (self.diffusing::<V>(v, at) + self.diffusing::<V>(v, beyond));
            leaves[v] =
                mass.min(zero) * (other - own) - K::Of::<V>::select(square.gt(zero), gamma * through, zero);
            if self.turbulence.second_order {
                // Of the cells behind; those beyond ghosts are not looked at where nothing passes.
                let (behind, far) =
                    (self.value::<V>(v, 2 * at - beyond), self.value::<V>(v, 2 * beyond - at));
                let (one, minus) = (K::Of::<V>::c(1.0), K::Of::<V>::c(-0.5));
                let left = extrapolate(own, other, half * (other - behind), weight, one);
                let right = extrapolate(other, own, minus * (far - own), weight, one);
                leaves[v] += mass.max(zero) * (left - own) + mass.min(zero) * (right - other);
            }
        }
        leaves
    }

    /// grad phi . n of a cell's changes along the axes other than this one.
    #[inline(always)]
    fn along<V: Lanes>(&self, axis: usize, v: usize, at: usize, n: &[K::Of<V>; 3]) -> K::Of<V> {
        let mut sum = K::Of::<V>::c(0.0);
        for other in 0..3 {
            if other == axis || !self.block.active[other] {
                continue;
            }
            let (s, area) = (self.block.cells.stride[other], self.areas::<V>(other, at));
            let change = self.value::<V>(v, at + s) - self.value::<V>(v, at - s);
            sum += change * (area[0] * n[0] + area[1] * n[1] + area[2] * n[2]);
        }
        K::Of::<V>::c(0.25) * sum / self.volume::<V>(at)
    }
}

struct Terms<'a, 'b, K> {
    cells: &'a Cells<'b, K>,
    rows: Range<usize>,
    out: &'a mut [f64],
}

impl<K: Kind> LaneKernel for Terms<'_, '_, K> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { cells, rows, out } = self;
        let (block, Some(transport)) = (cells.block, &cells.physics.transport) else { return };
        let (eddies, ni, transport) = (&block.eddies, block.cells.count[0], transport.lift::<K::Of<V>>());
        for (row, out) in rows.zip(out.chunks_exact_mut(TERMS * ni)) {
            let (start, mut i) = (block.row(row), 0);
            while i < ni {
                let count = (ni - i).min(LANES);
                let own = row * ni + i..row * ni + i + count;
                let mut share = V::c(1.0);
                if !eddies.production.is_empty() {
                    share = part(&eddies.production[own.clone()]);
                }
                let (distance, share) = (K::constant(part::<V>(&eddies.distance[own])), K::constant(share));
                let terms = cells.terms::<V>(transport, start + i, distance, share);
                for c in 0..TERMS {
                    put(K::kept::<V>(terms[c]), &mut out[c * ni + i..][..count]);
                }
                i += LANES;
            }
        }
    }
}

struct Balance<'a, 'b, K> {
    cells: &'a Cells<'b, K>,
    rows: Range<usize>,
    out: &'a mut [f64],
}

impl<K: Kind> LaneKernel for Balance<'_, '_, K> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Self { cells, rows, out } = self;
        let (block, numbers, slopes) = (cells.block, cells.numbers.terms, cells.slopes.terms);
        let ni = block.cells.count[0];
        for (row, out) in rows.zip(out.chunks_exact_mut(MOST * ni)) {
            let (start, mut i) = (block.row(row), 0);
            while i < ni {
                let (at, count) = (start + i, (ni - i).min(LANES));
                let volume = cells.volume::<V>(at);
                let mut sums = [K::Of::<V>::c(0.0); MOST];
                for v in 0..MOST {
                    let from = (row * TERMS + SOURCES + v) * ni + i;
                    sums[v] = -volume * K::part::<V>(numbers, slopes, from..from + count);
                }
                for side in 0..6 {
                    let (axis, high) = (side / 2, side % 2 == 1);
                    if !block.active[axis] {
                        continue;
                    }
                    let step = block.cells.stride[axis];
                    let (beyond, face, sign) =
                        if high { (at + step, at + step, 1.0) } else { (at - step, at, -1.0) };
                    let leaves = cells.leaving::<V>(axis, at, [beyond, face], sign);
                    for v in 0..MOST {
                        sums[v] += leaves[v];
                    }
                }
                for v in 0..MOST {
                    put(K::kept::<V>(sums[v]), &mut out[v * ni + i..][..count]);
                }
                i += LANES;
            }
        }
    }
}
