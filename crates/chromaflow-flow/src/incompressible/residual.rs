//! What leaves each cell: fluxes, viscous terms, buoyancy; eight cells of a grid line at once.
//!
//! Every cell sums its own six faces. The flux of a face is computed from both sides, with the same numbers and so the same
//! bits, instead of being stored: cells do not wait for one another, and nothing is written twice.

use super::config::{self, Fluid, Flux};
use super::space::{Block, Face, Patch, ScalarKind, Space};
use super::turbulence::{self, Leaving, Turbulence};
use crate::dual::dot;
use crate::equations::Equations;
use crate::equations::artificial_compressibility::{
    GhostKind, flux_incompressible_central, flux_incompressible_roe, flux_scalar, normal_slope,
};
use crate::limiter::{extrapolate, extrapolate_van_albada};
use crate::parallel;
use crate::real::{LANES, LaneKernel, Lanes, Real, dispatch};
use chromaflow_device::{Isa, Team};
use std::ops::Range;

/// Eight values along i. What lies beyond the cells of the line is read, too, and not used.
#[inline(always)]
pub(super) fn load<V: Lanes>(field: &[f64], at: usize) -> V {
    let values: &[f64; LANES] = field[at..at + LANES].try_into().expect("eight values");
    V::from_array(values)
}

/// A line of at most eight cells of a block.
pub(super) struct Line<'a> {
    pub block: &'a Block,
    /// Number of the block, place of the first cell, number of cells.
    pub number: usize,
    pub at: usize,
    pub count: usize,
}

/// The next line of `rows`, which `row` steps through.
#[inline(always)]
pub(super) fn next_line<'a>(space: &'a Space, number: &mut usize, row: usize, end: usize) -> Line<'a> {
    while row >= space.blocks[*number].rows().end {
        *number += 1;
    }
    let block = &space.blocks[*number];
    let ni = block.cells.count[0];
    let left = ni - (row - block.first_row) % ni;
    Line { block, number: *number, at: block.at(row), count: left.min(LANES).min(end - row) }
}

pub(super) struct ResidualTask<'a> {
    pub space: &'a Space,
    pub fields: &'a [Vec<f64>],
    pub fluid: &'a Fluid,
    pub turbulence: Option<&'a Turbulence>,
    pub scheme: config::Space,
    pub rows: Range<usize>,
    /// `[rows, n]`
    pub out: &'a mut [f64],
}

/// The states on both sides of a face from the four cells around it, one component.
#[inline(always)]
pub(super) fn reconstruct<V: Real>(q: [V; 4], kappa: V, scheme: config::Space) -> (V, V) {
    let half = V::c(0.5);
    if !scheme.second_order {
        return (q[1], q[2]);
    }
    let (left, right) = (half * (q[2] - q[0]), half * (q[1] - q[3]));
    if scheme.limited {
        let eps2 = V::c(1e-12);
        return (
            extrapolate_van_albada(q[1], q[2], left, kappa, eps2),
            extrapolate_van_albada(q[2], q[1], right, kappa, eps2),
        );
    }
    let one = V::c(1.0);
    (extrapolate(q[1], q[2], left, kappa, one), extrapolate(q[2], q[1], right, kappa, one))
}

/// The gradient of a field along the area of the face of axis `d` at `face`.
#[inline(always)]
pub(super) fn slope<V: Lanes>(block: &Block, field: &[f64], d: usize, face: usize) -> V {
    let strides = block.cells.stride;
    let below = face - strides[d];
    let across = load::<V>(field, face) - load::<V>(field, below);
    let own = load::<V>(&block.slopes[d][0], face);
    if !block.skewed {
        return own * across;
    }
    let (e, f) = (strides[(d + 1) % 3], strides[(d + 2) % 3]);
    let metric = [own, load::<V>(&block.slopes[d][1], face), load::<V>(&block.slopes[d][2], face)];
    let first = [
        load::<V>(field, face + e) - load::<V>(field, face - e),
        load::<V>(field, below + e) - load::<V>(field, below - e),
    ];
    let second = [
        load::<V>(field, face + f) - load::<V>(field, face - f),
        load::<V>(field, below + f) - load::<V>(field, below - f),
    ];
    normal_slope(&metric, across, &first, &second)
}

impl LaneKernel for ResidualTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (fluid, scheme) = (self.fluid, self.scheme);
        let (beta, viscosity, kappa) =
            (V::c(fluid.compressibility), V::c(fluid.viscosity), V::c(scheme.kappa));
        let n = turbulence::unknowns(fluid.unknowns(), self.turbulence);
        let (mut row, mut number) = (self.rows.start, 0);
        while row < self.rows.end {
            let Line { block, number: b, at, count, .. } =
                next_line(self.space, &mut number, row, self.rows.end);
            let (len, field) = (block.cells.len(), &self.fields[b]);
            let leaving = Leaving::of(self.turbulence, (block, b), field);
            let mut sum = [V::c(0.0); 4];
            // The volume that leaves through each of the six faces, inwards where negative.
            let mut volumes = [V::c(0.0); 6];
            // Eddy viscosities at them.
            let mut eddies = [V::c(0.0); 6];
            for &d in &self.space.axes {
                let step = block.cells.stride[d];
                for side in 0..2 {
                    let face = at + side * step;
                    let open = load::<V>(&block.open[d], face);
                    let mut area = [V::c(0.0); 3];
                    for c in 0..3 {
                        area[c] = open * load::<V>(&block.metrics.area[d][c], face);
                    }
                    let states: [[V; 4]; 4] = std::array::from_fn(|m| {
                        std::array::from_fn(|c| load::<V>(&field[c * len..], face + m * step - 2 * step))
                    });
                    let [before, left, right, after] = &states;
                    let mut flux = match scheme.flux {
                        Flux::Central { fourth, convective } if scheme.second_order => {
                            let (fourth, convective) = (V::c(fourth), V::c(convective));
                            flux_incompressible_central(
                                beta, before, left, right, after, &area, fourth, convective,
                            )
                        }
                        _ => {
                            let (mut ql, mut qr) = ([V::c(0.0); 4], [V::c(0.0); 4]);
                            for c in 0..4 {
                                let q = [before[c], left[c], right[c], after[c]];
                                (ql[c], qr[c]) = reconstruct(q, kappa, scheme);
                            }
                            flux_incompressible_roe(beta, &ql, &qr, &area)
                        }
                    };
                    volumes[2 * d + side] = flux[0] / beta;
                    if fluid.viscosity > 0.0 {
                        let mut viscosity = viscosity;
                        if let Some(of) = &leaving {
                            let stress = of.stress(&self.space.axes, (d, face), &area);
                            eddies[2 * d + side] = stress.viscosity;
                            viscosity += stress.viscosity;
                            stress.subtract(&mut flux);
                        }
                        for c in 1..4 {
                            let field = &field[c * len..(c + 1) * len];
                            flux[c] -= viscosity * slope::<V>(block, field, d, face);
                        }
                    }
                    for c in 0..4 {
                        if side == 1 {
                            sum[c] += flux[c];
                        } else {
                            sum[c] -= flux[c];
                        }
                    }
                }
            }
            let volume = load::<V>(&block.metrics.volume, at);
            let out = &mut self.out[(row - self.rows.start) * n..][..count * n];
            for (m, scalar) in fluid.scalars.iter().enumerate() {
                let field = &field[(4 + m) * len..(5 + m) * len];
                let mut carried = V::c(0.0);
                for &d in &self.space.axes {
                    let step = block.cells.stride[d];
                    for side in 0..2 {
                        let face = at + side * step;
                        let q = [
                            load::<V>(field, face - 2 * step),
                            load::<V>(field, face - step),
                            load::<V>(field, face),
                            load::<V>(field, face + step),
                        ];
                        let (left, right) = reconstruct(q, kappa, scheme);
                        let mut diffusivity = V::c(scalar.diffusivity);
                        if let Some(of) = &leaving {
                            diffusivity += eddies[2 * d + side] / V::c(of.turbulence.model.prandtl);
                        }
                        let flux = flux_scalar(volumes[2 * d + side], left, right)
                            - diffusivity * slope::<V>(block, field, d, face);
                        if side == 1 {
                            carried += flux;
                        } else {
                            carried -= flux;
                        }
                    }
                }
                let carried = carried.to_array();
                for l in 0..count {
                    out[l * n + 4 + m] = carried[l];
                }
                let excess = volume * (load::<V>(field, at) - V::c(scalar.reference));
                for c in 0..3 {
                    sum[1 + c] -= excess * V::c(scalar.buoyancy[c]);
                }
            }
            for c in 0..4 {
                let values = sum[c].to_array();
                for l in 0..count {
                    out[l * n + c] = values[l];
                }
            }
            if let Some(of) = &leaving {
                of.find(&self.space.axes, (at, row, count), &volumes, (kappa, scheme), out);
            }
            row += count;
        }
    }
}

/// What leaves through a boundary face: the plain flux of the mean of cell and ghost, with the viscous part of the
/// momentum and of the scalars.
pub(super) struct BoundaryFlux {
    pub inviscid: [f64; 4],
    /// Momentum that leaves by friction.
    pub friction: [f64; 3],
}

/// A component of a boundary face, between cell and ghost, and its slope outwards.
pub(super) fn at_face(block: &Block, field: &[f64], face: &Face) -> (f64, f64) {
    let (inside, outside) = (field[face.cell], field[face.ghost]);
    let mean = 0.5 * (inside + outside);
    if !block.skewed {
        return (mean, face.slope[0] * (outside - inside));
    }
    let along = face.along.map(|s| {
        let difference = |at: usize| field[at + s] - field[at - s];
        [difference(face.cell), difference(face.ghost)]
    });
    (mean, normal_slope(&face.slope, outside - inside, &along[0], &along[1]))
}

/// Scalar `m` as [`at_face`] has it. Where nothing diffuses through a face nothing does on skewed grids either, whose slopes have a part along the face.
pub(super) fn scalar_at_face(
    block: &Block,
    field: &[f64],
    (patch, face): (&Patch, &Face),
    m: usize,
) -> (f64, f64) {
    let len = block.cells.len();
    let (mean, slope) = at_face(block, &field[(4 + m) * len..(5 + m) * len], face);
    (mean, if patch.scalars[m] == ScalarKind::NoFlux { 0.0 } else { slope })
}

/// `eddies` is the eddy viscosity there; at walls, where it stands for a law's friction, momentum goes along the gradient alone. A mirror has no
/// friction along itself: what skewed grids find of it is left out.
pub(super) fn boundary_flux(
    fluid: &Fluid,
    (block, axes): (&Block, &[usize]),
    field: &[f64],
    (patch, face): (&Patch, &Face),
    eddies: f64,
) -> BoundaryFlux {
    let len = block.cells.len();
    let (mut q, mut friction) = ([0.0; 4], [0.0; 3]);
    for c in 0..4 {
        let (mean, slope) = at_face(block, &field[c * len..(c + 1) * len], face);
        q[c] = mean;
        if c > 0 {
            friction[c - 1] = -(fluid.viscosity + eddies) * slope;
        }
    }
    if eddies > 0.0 && !patch.wall {
        let transposed = turbulence::transposed_at((block, axes), field, face);
        (0..3).for_each(|c| friction[c] -= eddies * transposed[c]);
    }
    if block.skewed && patch.kind == GhostKind::Mirror {
        let through = dot(friction, face.n) / dot(face.n, face.n).max(f64::MIN_POSITIVE);
        friction = face.n.map(|n| through * n);
    }
    BoundaryFlux { inviscid: fluid.equations().flux(&q, &face.n), friction }
}

/// Adds the fluxes of a patch.
fn add_boundary(
    space: &Space,
    (fluid, turbulence): (&Fluid, Option<&Turbulence>),
    patch: &Patch,
    fields: &[Vec<f64>],
    out: &mut [f64],
) {
    let n = turbulence::unknowns(fluid.unknowns(), turbulence);
    let (block, field) = (&space.blocks[patch.block], &fields[patch.block]);
    let len = block.cells.len();
    for face in &patch.faces {
        let eddies = turbulence::at_boundary(turbulence, patch, face);
        let flux = boundary_flux(fluid, (block, &space.axes), field, (patch, face), eddies);
        let out = &mut out[face.row * n..(face.row + 1) * n];
        out[0] += flux.inviscid[0];
        for c in 0..3 {
            out[1 + c] += flux.inviscid[1 + c] + flux.friction[c];
        }
        let volume = flux.inviscid[0] / fluid.compressibility;
        for (m, scalar) in fluid.scalars.iter().enumerate() {
            let (mean, slope) = scalar_at_face(block, field, (patch, face), m);
            let diffusivity = turbulence::diffusivity_at(turbulence, patch, face, scalar.diffusivity);
            out[4 + m] += volume * mean - diffusivity * slope;
        }
        if let Some(turbulence) = turbulence {
            for v in 0..n - turbulence.first {
                let own = field[(turbulence.first + v) * len + face.cell];
                let [leaves, ..] = turbulence.through_boundary(patch, face, v, own, volume);
                out[turbulence.first + v] += leaves;
            }
        }
    }
}

/// The steady residual of every row. Ghost cells must be filled.
///
/// **Shapes**: `out` `[rows, n]`, n with the unknowns of turbulence, whose terms must be there.
pub(super) fn residual(
    team: &Team,
    space: &Space,
    (fluid, turbulence): (&Fluid, Option<&Turbulence>),
    scheme: config::Space,
    fields: &[Vec<f64>],
    out: &mut [f64],
) {
    let isa = Isa::detect();
    let n = turbulence::unknowns(fluid.unknowns(), turbulence);
    parallel::rows(team, space.rows, n, out, |rows, out| {
        dispatch(isa, ResidualTask { space, fields, fluid, turbulence, scheme, rows, out });
    });
    for patch in &space.patches {
        add_boundary(space, (fluid, turbulence), patch, fields, out);
    }
    if let Some(turbulence) = turbulence {
        turbulence.add_quadratic(team, space, fields, out);
    }
}
