//! Ghost cells: conditions at the boundary, neighbors across interfaces, corners.

use super::config::Fluid;
use super::space::{Patch, ScalarKind, Space};
use super::turbulence::{self, Turbulence};
use crate::equations::Equations;
use crate::equations::artificial_compressibility::{GhostKind, Given};
use crate::march::{Part, Times};
use chromaflow_device::Team;

/// The cell's (p, u, v, w), and the ghost's as a patch's condition has it.
pub(super) fn ghost_of(
    patch: &Patch,
    fluid: &Fluid,
    field: &[f64],
    len: usize,
    number: usize,
    n: usize,
) -> ([f64; 4], [f64; 4]) {
    let face = &patch.faces[number];
    let state = |at: usize| std::array::from_fn(|c| field[c * len + at]);
    let (q, next, given) = (state(face.cell), state(face.next), given(patch, number, n));
    (q, fluid.equations().ghost(&given, [&q, &next], &face.n, &face.center))
}

/// What is given of the flow at a face.
pub(super) fn given(patch: &Patch, number: usize, n: usize) -> Given {
    let state = patch.given[number * n..number * n + 4].try_into().expect("four values");
    Given { kind: patch.kind, state }
}

/// d(ghost)/d(cell) of scalar `m`, and twice the part of the ghost that does not depend on the cell.
pub(super) fn scalar_ghost(patch: &Patch, m: usize, number: usize, n: usize, leaving: f64) -> (f64, f64) {
    let fixed = match patch.scalars[m] {
        ScalarKind::NoFlux => false,
        ScalarKind::Value => true,
        ScalarKind::Far => leaving < 0.0,
    };
    if fixed { (-1.0, 2.0 * patch.given[number * n + 4 + m]) } else { (1.0, 0.0) }
}

fn fill_patch(
    space: &Space,
    (fluid, turbulence): (&Fluid, Option<&Turbulence>),
    patch: &Patch,
    field: &mut [f64],
) {
    let (len, n) = (space.blocks[patch.block].cells.len(), fluid.unknowns());
    for (number, face) in patch.faces.iter().enumerate() {
        let (q, ghost) = ghost_of(patch, fluid, field, len, number, n);
        for c in 0..4 {
            field[c * len + face.ghost] = ghost[c];
        }
        let leaving: f64 = (0..3).map(|c| 0.5 * (q[1 + c] + ghost[1 + c]) * face.n[c]).sum();
        for m in 0..n - 4 {
            let (slope, rest) = scalar_ghost(patch, m, number, n, leaving);
            let at = (4 + m) * len;
            field[at + face.ghost] = slope * field[at + face.cell] + rest;
        }
        if let Some(turbulence) = turbulence {
            for v in 0..turbulence.model.unknowns() {
                let at = (turbulence.first + v) * len;
                field[at + face.ghost] = turbulence.ghost(patch, face, v, field[at + face.cell], leaving);
            }
        }
    }
    debug_assert!(patch.kind != GhostKind::Far || patch.given.len() >= n);
}

/// Ghost cells beyond the boundary.
fn fill_boundary(space: &Space, models: (&Fluid, Option<&Turbulence>), fields: &mut [Vec<f64>]) {
    for patch in &space.patches {
        fill_patch(space, models, patch, &mut fields[patch.block]);
    }
}

/// All ghost cells, and with them the terms of turbulence.
pub(super) fn fill(
    team: &Team,
    space: &Space,
    (fluid, turbulence): (&Fluid, &mut Option<Turbulence>),
    fields: &mut [Vec<f64>],
    times: &mut Times,
) {
    let n = turbulence::unknowns(fluid.unknowns(), turbulence.as_ref());
    let skewed = space.skewed || turbulence.is_some();
    if let Some(turbulence) = turbulence {
        times.timed(Part::Residual, || turbulence.find_laws(space, fields));
    }
    times.timed(Part::Residual, || fill_boundary(space, (fluid, turbulence.as_ref()), fields));
    times.timed(Part::Exchange, || exchange(space, n, skewed, fields));
    if let Some(turbulence) = turbulence {
        times.timed(Part::Residual, || turbulence.prepare(team, space, fields));
    }
}

/// Ghost cells beyond interfaces, and on edges between two boundaries. Edges are needed on skewed grids and by stresses of eddies only.
fn exchange(space: &Space, n: usize, edges: bool, fields: &mut [Vec<f64>]) {
    space.part.exchange.fill_states(fields, n);
    if edges {
        for (block, field) in space.blocks.iter().zip(fields) {
            for component in field.chunks_mut(block.cells.len()) {
                for &[corner, a, b, inside] in &block.corners {
                    component[corner] = component[a] + component[b] - component[inside];
                }
            }
        }
    }
}
