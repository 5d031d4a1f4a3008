//! The implicit matrix: first-order inviscid fluxes with frozen dissipation, the viscous terms between neighbors, the
//! boundary; then time steps and sources on the diagonal.
//!
//! Fine-grained: every row fills its own blocks from its six faces, eight rows of a grid line at once, so that no two rows
//! write one block and no face waits for another.
//!
//! **Source**: Luo, Edwards, Luo, Mueller 2015, whose AFILL and TSD work by faces and by cells with many unknowns each.

use super::config::Fluid;
use super::ghosts::{ghost_of, given, scalar_ghost};
use super::residual::{Line, load, next_line};
use super::space::{Block, Patch, Space};
use super::system::System;
use super::turbulence::{self, Leaving, Side, Turbulence};
use crate::equations::Equations;
use crate::equations::artificial_compressibility::{flux_incompressible_roe, ghost_incompressible_jacobian};
use crate::parallel;
use crate::real::{LaneKernel, Lanes, dispatch};
use chromaflow_device::{Isa, Team};
use std::ops::Range;

struct FillTask<'a> {
    space: &'a Space,
    fields: &'a [Vec<f64>],
    fluid: &'a Fluid,
    turbulence: Option<&'a Turbulence>,
    /// Rows of one block.
    rows: Range<usize>,
    /// Blocks of these rows, as [`chromaflow::factor::structured_ilu::StencilMatrix`] has them.
    diag: &'a mut [f64],
    lower: &'a mut [f64],
    upper: &'a mut [f64],
}

impl LaneKernel for FillTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let (fluid, equations) = (self.fluid, self.fluid.equations());
        let (beta, viscosity) = (V::c(fluid.compressibility), V::c(fluid.viscosity));
        let zero = V::c(0.0);
        let n = turbulence::unknowns(fluid.unknowns(), self.turbulence);
        let q = n * n;
        self.diag.fill(0.0);
        let (mut row, mut number) = (self.rows.start, 0);
        while row < self.rows.end {
            let Line { block, number: b, at, count, .. } =
                next_line(self.space, &mut number, row, self.rows.end);
            let (len, field) = (block.cells.len(), &self.fields[b]);
            let leaving = Leaving::of(self.turbulence, (block, b), field);
            let mut own = [zero; 16];
            for &d in &self.space.axes {
                let step = block.cells.stride[d];
                for side in 0..2 {
                    let face = at + side * step;
                    let open = load::<V>(&block.open[d], face);
                    let mut area = [zero; 3];
                    for c in 0..3 {
                        area[c] = open * load::<V>(&block.metrics.area[d][c], face);
                    }
                    let (mut ql, mut qr) = ([zero; 4], [zero; 4]);
                    for c in 0..4 {
                        ql[c] = load::<V>(&field[c * len..], face - step);
                        qr[c] = load::<V>(&field[c * len..], face);
                    }
                    let (left, right) = equations.upwind_jacobians(&ql, &qr, &area);
                    let metric = load::<V>(&block.slopes[d][0], face);
                    let stress = leaving.map(|of| of.stress(&self.space.axes, (d, face), &area));
                    let mut friction = viscosity * metric;
                    if let Some(stress) = &stress {
                        friction += stress.viscosity * metric;
                    }
                    // The cell is on the left of its upper faces, on the right of its lower ones, where the flux enters.
                    let mut here = [zero; 16];
                    let mut there = [zero; 16];
                    for k in 0..16 {
                        if side == 1 {
                            (here[k], there[k]) = (left[k], right[k]);
                        } else {
                            (here[k], there[k]) = (-right[k], -left[k]);
                        }
                    }
                    for c in 1..4 {
                        here[5 * c] += friction;
                        there[5 * c] -= friction;
                    }
                    for k in 0..16 {
                        own[k] += here[k];
                    }
                    // Beyond the boundary there is nothing: areas are zero there.
                    let off = if side == 1 {
                        &mut self.upper[(3 * (row - self.rows.start) + d) * q..]
                    } else {
                        &mut self.lower[(3 * (row - self.rows.start) + 2 - d) * q..]
                    };
                    for k in 0..16 {
                        let values = there[k].to_array();
                        for l in 0..count {
                            off[3 * l * q + n * (k / 4) + k % 4] = values[l];
                        }
                    }
                    if n == 4 {
                        continue;
                    }
                    let flux = flux_incompressible_roe(beta, &ql, &qr, &area);
                    let inverse = V::c(1.0) / beta;
                    let volume = flux[0] * inverse;
                    let outwards = if side == 1 { volume } else { -volume };
                    let half = V::c(0.5);
                    let leaves = half * (outwards + outwards.abs());
                    let enters = half * (outwards - outwards.abs());
                    for (m, scalar) in fluid.scalars.iter().enumerate() {
                        let r = 4 + m;
                        let field = &field[r * len..];
                        let from =
                            V::select(volume.ge(zero), load::<V>(field, face - step), load::<V>(field, face))
                                * inverse;
                        let mut spread = V::c(scalar.diffusivity) * metric;
                        if let (Some(of), Some(stress)) = (&leaving, &stress) {
                            spread += stress.viscosity / V::c(of.turbulence.model.prandtl) * metric;
                        }
                        let mut mine = [zero; 5];
                        let mut others = [zero; 5];
                        for c in 0..4 {
                            mine[c] = from * here[4 * c];
                            others[c] = from * there[4 * c];
                        }
                        (mine[4], others[4]) = (leaves + spread, enters - spread);
                        for c in 0..5 {
                            let entry = n * (if c == 4 { r } else { c }) + r;
                            let (mine, others) = (mine[c].to_array(), others[c].to_array());
                            for l in 0..count {
                                self.diag[(row + l - self.rows.start) * q + entry] += mine[l];
                                off[3 * l * q + entry] = others[l];
                            }
                        }
                    }
                    let (Some(of), Some(stress)) = (&leaving, &stress) else { continue };
                    let at_side = Side { axis: d, high: side == 1, at };
                    let own = &mut self.diag[(row - self.rows.start) * q..];
                    of.fill(at_side, stress, (outwards, inverse), (&here, &there), count, (own, off));
                }
            }
            for k in 0..16 {
                let values = own[k].to_array();
                for l in 0..count {
                    self.diag[(row + l - self.rows.start) * q + n * (k / 4) + k % 4] += values[l];
                }
            }
            row += count;
        }
    }
}

/// Adds a patch's derivatives to the diagonal of its block.
fn add_boundary(
    space: &Space,
    (fluid, turbulence): (&Fluid, Option<&Turbulence>),
    patch: &Patch,
    fields: &[Vec<f64>],
    diag: &mut [f64],
) {
    let flow = fluid.unknowns();
    let n = turbulence::unknowns(flow, turbulence);
    let (equations, beta) = (fluid.equations(), fluid.compressibility);
    let (block, field) = (&space.blocks[patch.block], &fields[patch.block]);
    let len = block.cells.len();
    for (number, face) in patch.faces.iter().enumerate() {
        let (q, ghost) = ghost_of(patch, fluid, field, len, number, flow);
        let eddies = turbulence::at_boundary(turbulence, patch, face);
        let mean: [f64; 4] = std::array::from_fn(|c| 0.5 * (q[c] + ghost[c]));
        let given = given(patch, number, flow).state;
        let follows = ghost_incompressible_jacobian(patch.kind, beta, &q, &given, &face.n);
        let unit = |r: usize, c: usize| f64::from(u8::from(r == c));
        let by_face = equations.flux_jacobian(&mean, &face.n);
        let diag = &mut diag[(face.row - block.first_row) * n * n..][..n * n];
        let mut by_cell = [0.0; 16];
        for c in 0..4 {
            for r in 0..4 {
                let product = |k: usize| by_face[4 * k + r] * 0.5 * (unit(k, c) + follows[4 * c + k]);
                by_cell[4 * c + r] = (0..4).map(product).sum();
                diag[n * c + r] += by_cell[4 * c + r];
                if r > 0 {
                    diag[n * c + r] +=
                        (fluid.viscosity + eddies) * face.slope[0] * (unit(r, c) - follows[4 * c + r]);
                }
            }
        }
        let leaving = equations.flux(&mean, &face.n)[0] / beta;
        for (m, scalar) in fluid.scalars.iter().enumerate() {
            let (slope, rest) = scalar_ghost(patch, m, number, flow, leaving);
            let inside = field[(4 + m) * len + face.cell];
            let value = 0.5 * (inside + slope * inside + rest);
            let r = 4 + m;
            for c in 0..4 {
                diag[n * c + r] += value * by_cell[4 * c] / beta;
            }
            let diffusivity = turbulence::diffusivity_at(turbulence, patch, face, scalar.diffusivity);
            diag[n * r + r] += leaving * 0.5 * (1.0 + slope) + diffusivity * face.slope[0] * (1.0 - slope);
        }
        let Some(turbulence) = turbulence else { continue };
        for v in 0..n - flow {
            let r = flow + v;
            let own = field[r * len + face.cell];
            let [_, by_own, by_volume] = turbulence.through_boundary(patch, face, v, own, leaving);
            diag[n * r + r] += by_own;
            for c in 0..4 {
                diag[n * c + r] += by_volume * by_cell[4 * c] / beta;
            }
        }
        if patch.wall {
            let relative = std::array::from_fn(|c| 0.5 * (q[1 + c] - ghost[1 + c]));
            turbulence.add_friction_slope(patch, face, &relative, diag);
        }
        turbulence.add_friction((block, &space.axes), field, (patch, face), diag);
    }
}

/// Fills the matrix of the steady residual (AFILL).
pub(super) fn fill(
    team: &Team,
    space: &Space,
    (fluid, turbulence): (&Fluid, Option<&Turbulence>),
    fields: &[Vec<f64>],
    system: &mut System,
) {
    let n = turbulence::unknowns(fluid.unknowns(), turbulence);
    let (q, isa) = (n * n, Isa::detect());
    for (block, a) in space.blocks.iter().zip(&mut system.blocks) {
        let (diag, lower, upper) =
            ((q, &mut a.diag[..]), (3 * q, &mut a.lower[..]), (3 * q, &mut a.upper[..]));
        parallel::rows3(team, block.cells.interior(), diag, lower, upper, |rows, diag, lower, upper| {
            let rows = block.first_row + rows.start..block.first_row + rows.end;
            dispatch(isa, FillTask { space, fields, fluid, turbulence, rows, diag, lower, upper });
        });
    }
    system.join();
    for patch in &space.patches {
        add_boundary(space, (fluid, turbulence), patch, fields, &mut system.blocks[patch.block].diag);
    }
}

/// Adds time steps and sources to the diagonal (TSD): the volume over the local pseudo-time step, which is the volume over
/// the largest of the three directions' spectral radii times `cfl`; `rate` times the volume but in the pressure's row,
/// the factor of the new level in the physical time derivative; buoyancy; turbulence. `residual` is that of all rows, `[rows, n]`.
pub(super) fn add_time_step(
    team: &Team,
    space: &Space,
    (fluid, turbulence): (&Fluid, Option<&Turbulence>),
    fields: &[Vec<f64>],
    (cfl, rate): (f64, f64),
    (residual, system): (&[f64], &mut System),
) {
    let n = turbulence::unknowns(fluid.unknowns(), turbulence);
    for (block, a) in space.blocks.iter().zip(&mut system.blocks) {
        parallel::rows(team, block.cells.interior(), n * n, &mut a.diag, |rows, diag| {
            let rows = block.first_row + rows.start..block.first_row + rows.end;
            time_step_rows(space, (fluid, turbulence), fields, (cfl, rate), residual, rows, diag);
        });
    }
}

/// The volume of a cell over its time step at a CFL number of 1: the largest of the spectral radii of the directions.
fn radius(
    space: &Space,
    (fluid, turbulence): (&Fluid, Option<&Turbulence>),
    (block, number): (&Block, usize),
    field: &[f64],
    at: usize,
) -> f64 {
    let (len, metrics) = (block.cells.len(), &block.metrics);
    let volume = metrics.volume[at];
    let q = std::array::from_fn(|c| field[c * len + at]);
    let viscosity = turbulence.map_or(fluid.viscosity, |t| t.viscosity(number, at));
    let spread = fluid.scalars.iter().fold(viscosity, |m, s| m.max(s.diffusivity));
    let mut radius = 0.0_f64;
    for &d in &space.axes {
        let (low, high) = (metrics.face(d, at), metrics.face(d, at + block.cells.stride[d]));
        let area: [f64; 3] = std::array::from_fn(|c| 0.5 * (low[c] + high[c]));
        let area2: f64 = area.iter().map(|a| a * a).sum();
        let waves = fluid.equations().spectral_radius(&q, &area);
        radius = radius.max(waves + 2.0 * spread * area2 / volume);
    }
    radius
}

/// [`radius`] of every row.
pub(super) fn find_radii(
    space: &Space,
    models: (&Fluid, Option<&Turbulence>),
    fields: &[Vec<f64>],
    out: &mut [f64],
) {
    for ((number, block), field) in space.blocks.iter().enumerate().zip(fields) {
        for row in block.rows() {
            out[row] = radius(space, models, (block, number), field, block.at(row));
        }
    }
}

fn time_step_rows(
    space: &Space,
    (fluid, turbulence): (&Fluid, Option<&Turbulence>),
    fields: &[Vec<f64>],
    (cfl, rate): (f64, f64),
    residual: &[f64],
    rows: Range<usize>,
    diag: &mut [f64],
) {
    let n = turbulence::unknowns(fluid.unknowns(), turbulence);
    let (mut row, mut number) = (rows.start, 0);
    while row < rows.end {
        let Line { block, number: b, at, count, .. } = next_line(space, &mut number, row, rows.end);
        let (field, metrics) = (&fields[b], &block.metrics);
        for l in 0..count {
            let at = at + l;
            let volume = metrics.volume[at];
            let radius = radius(space, (fluid, turbulence), (block, b), field, at);
            let entries = &mut diag[(row + l - rows.start) * n * n..][..n * n];
            for c in 0..n {
                entries[c * n + c] += radius / cfl + if c > 0 { volume * rate } else { 0.0 };
            }
            for (m, scalar) in fluid.scalars.iter().enumerate() {
                for c in 0..3 {
                    entries[(4 + m) * n + 1 + c] -= volume * scalar.buoyancy[c];
                }
            }
            if let Some(turbulence) = turbulence {
                let residual = &residual[(row + l) * n..][..n];
                turbulence.add_sources(block, row + l, (radius / cfl, residual), entries);
            }
        }
        row += count;
    }
}
