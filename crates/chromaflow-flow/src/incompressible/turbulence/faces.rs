//! What passes faces between cells, eight at once.

use super::super::config;
use super::super::residual::{load, reconstruct, slope};
use super::super::space::Block;
use super::{BY, DIFFUSING, Eddies, Turbulence};
use crate::coupled::skew_of_positive;
use crate::real::{Lanes, Real};
use crate::turbulence::cells::{MOST, Model};
use crate::turbulence::spalart_allmaras::sa_diffusivity;

/// One of the faces of eight cells, as these have it.
#[derive(Clone, Copy)]
pub(in super::super) struct Side {
    pub axis: usize,
    /// Whether it is their upper one.
    pub high: bool,
    /// The cells.
    pub at: usize,
}

impl Side {
    fn beyond(self, block: &Block) -> usize {
        let step = block.cells.stride[self.axis];
        if self.high { self.at + step } else { self.at - step }
    }

    fn face(self, block: &Block) -> usize {
        if self.high { self.at + block.cells.stride[self.axis] } else { self.at }
    }
}

/// (grad u)^T n of a face: sum over j of n_j du_j / dx_i, from differences along all of `axes`; `load` reads a place of an array.
///
/// **Arguments**: velocities lie `len` apart in `field`, the first one at `len`; `face` is the place of the cell above the face of axis `d`; the area `n`.
#[inline(always)]
pub(super) fn transposed<T: Real>(
    (block, axes): (&Block, &[usize]),
    field: &[f64],
    (d, face): (usize, usize),
    n: &[T; 3],
    load: impl Fn(&[f64], usize) -> T,
) -> [T; 3] {
    let (metrics, strides, len) = (&block.metrics, block.cells.stride, block.cells.len());
    let below = face - strides[d];
    let over = T::c(2.0) / (load(&metrics.volume, face) + load(&metrics.volume, below));
    let mut stress = [T::c(0.0); 3];
    for &e in axes {
        let (s, mut along, mut area) = (strides[e], T::c(0.0), [T::c(0.0); 3]);
        for j in 0..3 {
            let u = &field[(1 + j) * len..];
            if e == d {
                area[j] = load(&metrics.area[e][j], face);
                along += n[j] * (load(u, face) - load(u, below));
            } else {
                let area_e = &metrics.area[e][j];
                let near = load(area_e, face) + load(area_e, face + s);
                area[j] = T::c(0.25) * (near + load(area_e, below) + load(area_e, below + s));
                let near = load(u, face + s) - load(u, face - s);
                along += T::c(0.25) * n[j] * (near + load(u, below + s) - load(u, below - s));
            }
        }
        for i in 0..3 {
            stress[i] += area[i] * along * over;
        }
    }
    stress
}

/// The turbulent stress at the lower face of axis `axis` of eight cells, along the axis.
pub(in super::super) struct FaceStress<V> {
    /// Mean eddy viscosity.
    pub viscosity: V,
    /// (grad u)^T n.
    pub transposed: [V; 3],
}

impl<V: Lanes> FaceStress<V> {
    /// Takes what is not along the gradient of momentum from its flux.
    #[inline(always)]
    pub fn subtract(&self, flux: &mut [V; 4]) {
        for c in 0..3 {
            flux[1 + c] -= self.viscosity * self.transposed[c];
        }
    }
}

/// The model on a block.
#[derive(Clone, Copy)]
pub(in super::super) struct Leaving<'a> {
    pub turbulence: &'a Turbulence,
    pub eddies: &'a Eddies,
    pub block: &'a Block,
    pub field: &'a [f64],
}

impl<'a> Leaving<'a> {
    /// On the block of this number.
    pub fn of(
        turbulence: Option<&'a Turbulence>,
        (block, number): (&'a Block, usize),
        field: &'a [f64],
    ) -> Option<Self> {
        turbulence.map(|turbulence| Self { turbulence, eddies: &turbulence.blocks[number], block, field })
    }

    /// The turbulent stress at the face at `face` of axis `d`, along the area `n`.
    #[inline(always)]
    pub fn stress<V: Lanes>(&self, axes: &[usize], (d, face): (usize, usize), n: &[V; 3]) -> FaceStress<V> {
        let (of, below) = (self.eddies.coefficient(0), face - self.block.cells.stride[d]);
        let viscosity = V::c(0.5) * (load::<V>(of, below) + load::<V>(of, face));
        let block = (self.block, axes);
        let transposed = transposed(block, self.field, (d, face), n, |values, at| load::<V>(values, at));
        FaceStress { viscosity, transposed }
    }

    /// One of its unknowns, of all cells.
    fn values(&self, v: usize) -> &'a [f64] {
        &self.field[(self.turbulence.first + v) * self.block.cells.len()..]
    }

    /// What an unknown diffuses by at a face.
    #[inline(always)]
    fn gamma<V: Lanes>(&self, v: usize, side: Side) -> V {
        let (at, beyond) = (side.at, side.beyond(self.block));
        match self.turbulence.model.model {
            Model::SpalartAllmaras(sa) => {
                let one = V::c(1.0);
                let nut = [load::<V>(self.values(v), at), load::<V>(self.values(v), beyond)];
                sa_diffusivity(sa.lift(), &[one, one], &nut)
            }
            Model::KOmega(_) => {
                let of = self.eddies.coefficient(DIFFUSING + v);
                V::c(0.5) * (load::<V>(of, at) + load::<V>(of, beyond))
            }
        }
    }

    /// What leaves the `count` cells at `at` of each unknown through sides that are no boundary, less what sources bring, into their rows, `[count, n]`. `volumes` are
    /// those that pass the six sides along the axes.
    #[inline(always)]
    pub fn find<V: Lanes>(
        &self,
        axes: &[usize],
        (at, row, count): (usize, usize, usize),
        volumes: &[V; 6],
        (kappa, scheme): (V, config::Space),
        out: &mut [f64],
    ) {
        let (first, nb) = (self.turbulence.first, self.turbulence.model.unknowns());
        let volume = load::<V>(&self.block.metrics.volume, at).to_array();
        for v in 0..nb {
            let mut sum = V::c(0.0);
            for &axis in axes {
                for upper in 0..2 {
                    let passing = volumes[2 * axis + upper];
                    let outwards = if upper == 1 { passing } else { V::c(0.0) - passing };
                    let side = Side { axis, high: upper == 1, at };
                    sum += self.through::<V>(v, side, outwards, kappa, scheme);
                }
            }
            let sum = sum.to_array();
            for l in 0..count {
                out[l * (first + nb) + first + v] = sum[l] - volume[l] * self.turbulence.source(row + l, v);
            }
        }
    }

    /// What leaves eight cells of an unknown through a side that is no boundary, `outwards` the volume that leaves with it.
    #[inline(always)]
    fn through<V: Lanes>(&self, v: usize, side: Side, outwards: V, kappa: V, scheme: config::Space) -> V {
        let (block, values, axis, zero) = (self.block, self.values(v), side.axis, V::c(0.0));
        let (face, step) = (side.face(block), block.cells.stride[axis]);
        let q = [
            load::<V>(values, face - 2 * step),
            load::<V>(values, face - step),
            load::<V>(values, face),
            load::<V>(values, face + step),
        ];
        let model = &self.turbulence.model;
        let scheme = config::Space { second_order: model.second_order, ..scheme };
        let (left, right) = reconstruct(q, kappa, scheme);
        let (own, other, from, to) =
            if side.high { (q[1], q[2], left, right) } else { (q[2], q[1], right, left) };
        let mut leaves = outwards.min(zero) * (to - own) + outwards.max(zero) * (from - own);
        let metric = load::<V>(&block.slopes[axis][0], face);
        let mut gradient = metric * (other - own);
        if block.skewed {
            let along = slope::<V>(block, values, axis, face);
            let along = if side.high { along } else { zero - along };
            let mut skew = along - gradient;
            if model.is_k_omega() {
                skew = skew_of_positive(metric, &[own, other], skew);
            }
            gradient += skew;
        }
        leaves -= self.gamma::<V>(v, side) * gradient;
        leaves
    }

    /// Derivatives of [`Self::through`] of first order by the cells' own unknowns and by those beyond: by pressure and velocities, by the unknown. `here` and
    /// `there` are those of the volume.
    #[inline(always)]
    fn derivative<V: Lanes>(
        &self,
        v: usize,
        side: Side,
        outwards: V,
        (here, there): ([V; 4], [V; 4]),
    ) -> ([V; 5], [V; 5]) {
        let (values, zero) = (self.values(v), V::c(0.0));
        let change = load::<V>(values, side.beyond(self.block)) - load::<V>(values, side.at);
        let change = V::select(outwards.lt(zero), change, zero);
        let spread =
            self.gamma::<V>(v, side) * load::<V>(&self.block.slopes[side.axis][0], side.face(self.block));
        let coupling = spread - outwards.min(zero);
        let (mut mine, mut others) = ([coupling; 5], [zero - coupling; 5]);
        for c in 0..4 {
            (mine[c], others[c]) = (change * here[c], change * there[c]);
        }
        (mine, others)
    }

    /// Derivatives of the mean eddy viscosity at a side by an unknown of the cells and by that of those beyond.
    #[inline(always)]
    fn viscosity_by<V: Lanes>(&self, v: usize, side: Side) -> [V; 2] {
        debug_assert!(v < MOST);
        let (of, half) = (self.eddies.coefficient(BY + v), V::c(0.5));
        [half * load::<V>(of, side.at), half * load::<V>(of, side.beyond(self.block))]
    }

    /// Adds the derivatives of what passes a side to blocks of the matrix: of the `count` cells by their own unknowns to `diag`, by those beyond to `off`, which has
    /// three blocks a cell. `here` and `there` are those of the flow's flux outwards by pressure and velocities, `inverse` one over the compressibility.
    #[inline(always)]
    pub fn fill<V: Lanes>(
        &self,
        side: Side,
        stress: &FaceStress<V>,
        (outwards, inverse): (V, V),
        (here, there): (&[V; 16], &[V; 16]),
        count: usize,
        (diag, off): (&mut [f64], &mut [f64]),
    ) {
        let (first, nb, zero) = (self.turbulence.first, self.turbulence.model.unknowns(), V::c(0.0));
        let (n, len) = (first + nb, self.block.cells.len());
        let q = n * n;
        let (mut volume_here, mut volume_there) = ([zero; 4], [zero; 4]);
        for c in 0..4 {
            (volume_here[c], volume_there[c]) = (here[4 * c] * inverse, there[4 * c] * inverse);
        }
        for v in 0..nb {
            let r = first + v;
            let (mine, others) = self.derivative::<V>(v, side, outwards, (volume_here, volume_there));
            for c in 0..5 {
                let entry = n * (if c == 4 { r } else { c }) + r;
                let (mine, others) = (mine[c].to_array(), others[c].to_array());
                for l in 0..count {
                    diag[l * q + entry] += mine[l];
                    off[3 * l * q + entry] = others[l];
                }
            }
            let [by_mine, by_others] = self.viscosity_by::<V>(v, side);
            for c in 0..3 {
                let field = &self.field[(1 + c) * len..(2 + c) * len];
                let along = slope::<V>(self.block, field, side.axis, side.face(self.block));
                let whole = along + stress.transposed[c];
                let out = if side.high { whole } else { zero - whole };
                let (mine, others) = ((by_mine * out).to_array(), (by_others * out).to_array());
                for l in 0..count {
                    diag[l * q + n * r + 1 + c] -= mine[l];
                    off[3 * l * q + n * r + 1 + c] = -others[l];
                }
            }
        }
    }
}
