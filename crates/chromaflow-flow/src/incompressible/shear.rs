//! What shear makes of a viscous flow: friction, heights and fluxes of scalars at walls; vorticity.

use super::IncompressibleSystem;
use super::residual::{boundary_flux, scalar_at_face};
use super::space::{Block, Face, Patch};
use super::turbulence::{at_boundary, diffusivity_at};
use crate::dual::{dot, norm, sub};
use crate::march::Spread;
use crate::output::{Field, vortex_fields};

/// Friction of the fluid on a wall per area, over the dynamic pressure; y u_tau / nu of the first cell's center; u_tau / nu; the face's area.
type WallFace = [f64; 6];

/// A field's name and number of components, and its values on the points of this rank's blocks.
pub(super) type OnBlocks = (String, usize, Vec<Vec<f64>>);

impl IncompressibleSystem {
    /// See [`March::walls`](crate::march::March::walls).
    pub(super) fn heights_at_walls(&self) -> Vec<(String, [Spread; 2])> {
        let (Some(_), part) = (&self.turbulence, &self.space.part) else { return Vec::new() };
        let mut names: Vec<&String> = Vec::new();
        for (name, wall) in &part.patches {
            if *wall && !names.contains(&name) {
                names.push(name);
            }
        }
        let heights = |name: &String| {
            let patches = self.space.patches.iter().filter(|patch| patch.wall && patch.name == *name);
            let of = |patch: &'_ Patch| -> Vec<WallFace> {
                patch.faces.iter().map(|face| self.wall_face(patch, face)).collect()
            };
            let (faces, share) =
                (patches.flat_map(of).collect::<Vec<_>>(), part.share().map(|share| &**share));
            let [height, units] =
                [3, 4].map(|c| Spread::of(faces.iter().map(|face| (face[c], face[5])), share));
            Some([height?, units?])
        };
        names.into_iter().filter_map(|name| Some((name.clone(), heights(name)?))).collect()
    }

    fn wall_face(&self, patch: &Patch, face: &Face) -> WallFace {
        let (space, fluid) = (&self.space, &self.config.fluid);
        let (block, field) = (&space.blocks[patch.block], &self.fields[patch.block]);
        let turbulence = self.turbulence.as_ref();
        let dynamic = 0.5 * self.config.reference.velocity.powi(2);
        let eddies = at_boundary(turbulence, patch, face);
        let flux = boundary_flux(fluid, (block, &space.axes), field, (patch, face), eddies);
        let area = norm(face.n);
        let over = |load: f64| if area > 0.0 { load / area } else { 0.0 };
        let stress = flux.friction.map(over);
        let across = || {
            let [cell, ghost] = [face.cell, face.ghost].map(|at| block.metrics.center(at));
            over(0.5 * dot(sub(ghost, cell), face.n).abs())
        };
        let distance =
            turbulence.map_or_else(across, |turbulence| turbulence.distance(patch.block, face.cell));
        let [x, y, z] = stress.map(|f| f / dynamic);
        let units = norm(stress).sqrt() / fluid.viscosity;
        [x, y, z, distance * units, units, area]
    }

    /// What the wall draws of each scalar through a face per area: its diffusivity times the slope towards the wall.
    fn drawn<'a>(&'a self, patch: &'a Patch, face: &'a Face) -> impl Iterator<Item = f64> + 'a {
        let (block, field) = (&self.space.blocks[patch.block], &self.fields[patch.block]);
        let area = norm(face.n);
        self.config.fluid.scalars.iter().enumerate().map(move |(m, scalar)| {
            let (_, slope) = scalar_at_face(block, field, (patch, face), m);
            let by = diffusivity_at(self.turbulence.as_ref(), patch, face, scalar.diffusivity);
            if area > 0.0 { -by * slope / area } else { 0.0 }
        })
    }

    /// Of viscous flow, on the points of this rank's blocks: friction, y+ and what is drawn of scalars at walls, means over the faces around a point, zero elsewhere; vorticity
    /// and the Q criterion. Ghost cells must be filled.
    pub(super) fn shear_fields(&self) -> Vec<OnBlocks> {
        if self.config.fluid.viscosity <= 0.0 {
            return Vec::new();
        }
        let (blocks, scalars) = (&self.space.blocks, &self.config.fluid.scalars);
        let width = 5 + scalars.len();
        // Sums over the faces around each point; the number of faces is the last one.
        let mut sums: Vec<Vec<f64>> =
            blocks.iter().map(|b| vec![0.0; width * points(b).iter().product::<usize>()]).collect();
        for patch in self.space.patches.iter().filter(|patch| patch.wall) {
            let (block, sums) = (&blocks[patch.block], &mut sums[patch.block]);
            for face in &patch.faces {
                let [x, y, z, height, ..] = self.wall_face(patch, face);
                let drawn = self.drawn(patch, face);
                let values: Vec<f64> = [x, y, z, height].into_iter().chain(drawn).chain([1.0]).collect();
                for point in corners(block, face) {
                    for (sum, value) in sums[width * point..].iter_mut().zip(&values) {
                        *sum += value;
                    }
                }
            }
        }
        let mean = |name: &str, first: usize, components: usize| -> OnBlocks {
            let of = |sums: &Vec<f64>| -> Vec<f64> {
                let points = sums.chunks_exact(width);
                points
                    .flat_map(|sum| (first..first + components).map(|c| sum[c] / sum[width - 1].max(1.0)))
                    .collect()
            };
            (name.to_owned(), components, sums.iter().map(of).collect())
        };
        let mut fields = vec![mean("skin_friction", 0, 3), mean("y_plus", 3, 1)];
        for (m, scalar) in scalars.iter().enumerate() {
            fields.push(mean(&format!("{}_flux", scalar.name), 4 + m, 1));
        }
        let vortices: Vec<_> = blocks
            .iter()
            .zip(&self.fields)
            .map(|(block, field)| vortex_fields(&block.point_gradients(&self.space.axes, field)))
            .collect();
        for (n, Field { name, components, .. }) in vortex_fields(&[]).into_iter().enumerate() {
            fields.push((name, components, vortices.iter().map(|fields| fields[n].values.clone()).collect()));
        }
        fields
    }
}

/// Numbers of a block's points along its axes.
fn points(block: &Block) -> [usize; 3] {
    block.cells.count.map(|n| n + 1)
}

/// The points of a face, by their numbers in the block.
fn corners<'a>(block: &'a Block, face: &'a Face) -> impl Iterator<Item = usize> + 'a {
    let (cells, [ni, nj, _]) = (block.cells, points(block));
    let cell = cells.cell(face.cell).map(|i| i as usize);
    let step = face.cell.abs_diff(face.ghost);
    let high = usize::from(face.ghost > face.cell);
    (0..8).filter_map(move |corner| {
        let on_it = (0..3).all(|d| cells.stride[d] != step || corner >> d & 1 == high);
        let at: [usize; 3] = std::array::from_fn(|d| cell[d] + (corner >> d & 1));
        on_it.then_some(at[0] + ni * (at[1] + nj * at[2]))
    })
}
