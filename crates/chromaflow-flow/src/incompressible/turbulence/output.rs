//! What is seen of a model from outside: names, fields, friction, y+.

use super::super::IncompressibleSystem;
use super::super::residual::boundary_flux;
use super::super::space::{Block, Face, Patch};
use super::Turbulence;
use crate::march::Spread;
use crate::turbulence::hybrid::FIELDS;

/// Friction of the fluid on a wall per area, over the dynamic pressure; y u_tau / nu of the first cell's center; the face's area.
type WallFace = [f64; 5];

impl IncompressibleSystem {
    /// See [`March::y_plus`](crate::march::March::y_plus).
    pub(in super::super) fn heights_at_walls(&self) -> Vec<(String, Spread)> {
        let (Some(turbulence), part) = (&self.turbulence, &self.space.part) else { return Vec::new() };
        let mut names: Vec<&String> = Vec::new();
        for (name, wall) in &part.patches {
            if *wall && !names.contains(&name) {
                names.push(name);
            }
        }
        let heights = |name: &String| {
            let patches = self.space.patches.iter().filter(|patch| patch.wall && patch.name == *name);
            let of =
                |patch| self.wall_faces(turbulence, patch).into_iter().map(|(_, [.., y, area])| (y, area));
            Spread::of(patches.flat_map(of), part.share().map(|share| &**share))
        };
        names.into_iter().filter_map(|name| Some((name.clone(), heights(name)?))).collect()
    }

    /// Faces of a wall.
    fn wall_faces<'a>(&'a self, turbulence: &Turbulence, patch: &'a Patch) -> Vec<(&'a Face, WallFace)> {
        let (space, fluid) = (&self.space, &self.config.fluid);
        let (block, field) = (&space.blocks[patch.block], &self.fields[patch.block]);
        let dynamic = 0.5 * self.config.reference.velocity.powi(2);
        let size = |v: &[f64; 3]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let of = |face: &'a Face| {
            let eddies = super::at_boundary(Some(turbulence), patch, face);
            let flux = boundary_flux(fluid, (block, &space.axes), field, face, (eddies, true));
            let area = size(&face.n);
            let stress = flux.friction.map(|f| if area > 0.0 { f / area } else { 0.0 });
            let distance = turbulence.blocks[patch.block].distance[face.cell];
            let [x, y, z] = stress.map(|f| f / dynamic);
            (face, [x, y, z, distance * size(&stress).sqrt() / fluid.viscosity, area])
        };
        patch.faces.iter().map(of).collect()
    }

    /// Of turbulent flow, each with its number of components, on the points of this rank's blocks: eddy viscosity over the fluid's; friction and y+ at walls, means over the
    /// faces around a point.
    pub(in super::super) fn turbulence_fields(&self) -> Vec<(&'static str, usize, Vec<Vec<f64>>)> {
        let Some(turbulence) = &self.turbulence else { return Vec::new() };
        let blocks = &self.space.blocks;
        let mut ratios: Vec<Vec<f64>> = (turbulence.blocks.iter())
            .map(|eddies| eddies.coefficient(0).iter().map(|nu| nu / turbulence.nu).collect())
            .collect();
        let points = |b: &Block| b.cells.count.map(|n| n + 1);
        let of = |b: &Block| vec![WallFace::default(); points(b).iter().product()];
        let mut sums: Vec<Vec<WallFace>> = blocks.iter().map(of).collect();
        for patch in &self.space.patches {
            for face in &patch.faces {
                let own = ratios[patch.block][face.cell];
                ratios[patch.block][face.ghost] = if patch.wall { -own } else { own };
            }
            if !patch.wall {
                continue;
            }
            let (block, sums) = (&blocks[patch.block], &mut sums[patch.block]);
            let (cells, [ni, nj, _]) = (block.cells, points(block));
            for (face, [x, y, z, height, _]) in self.wall_faces(turbulence, patch) {
                let cell = cells.cell(face.cell).map(|i| i as usize);
                let step = face.cell.abs_diff(face.ghost);
                let high = usize::from(face.ghost > face.cell);
                for corner in 0..8 {
                    let at: [usize; 3] = std::array::from_fn(|d| cell[d] + (corner >> d & 1));
                    if (0..3).all(|d| cells.stride[d] != step || corner >> d & 1 == high) {
                        let sum = &mut sums[at[0] + ni * (at[1] + nj * at[2])];
                        for (sum, value) in sum.iter_mut().zip([x, y, z, height, 1.0]) {
                            *sum += value;
                        }
                    }
                }
            }
        }
        let hybrid = self.hybrid_fields(turbulence);
        let ratios = blocks.iter().zip(&ratios).map(|(b, field)| b.point_values(&self.space.axes, field));
        let mean = |sum: &WallFace, c: usize| sum[c] / sum[4].max(1.0);
        let friction =
            sums.iter().map(|all| all.iter().flat_map(|s| [0, 1, 2].map(|c| mean(s, c))).collect());
        let heights = sums.iter().map(|all| all.iter().map(|s| mean(s, 3)).collect());
        let mut fields = vec![
            ("eddy_viscosity_ratio", 1, ratios.collect()),
            ("skin_friction", 3, friction.collect()),
            ("y_plus", 1, heights.collect()),
        ];
        fields.extend(hybrid);
        fields
    }

    /// Of hybrids, their length over that of RANS and the share of large eddy simulation.
    fn hybrid_fields(&self, turbulence: &Turbulence) -> Vec<(&'static str, usize, Vec<Vec<f64>>)> {
        let space = &self.space;
        if turbulence.form.is_none() {
            return Vec::new();
        }
        let of_cells = |block: &Block| {
            let (len, mut field) = (block.cells.len(), vec![0.0; 2 * block.cells.len()]);
            for row in block.rows() {
                (0..2).for_each(|c| field[c * len + block.at(row)] = turbulence.hybrid[2 * row + c]);
            }
            field
        };
        let mut fields: Vec<Vec<f64>> = space.blocks.iter().map(of_cells).collect();
        space.part.exchange.fill(&mut fields.iter_mut().map(|f| &mut f[..]).collect::<Vec<_>>(), 2);
        for patch in &space.patches {
            let (len, field) = (space.blocks[patch.block].cells.len(), &mut fields[patch.block]);
            for face in &patch.faces {
                (0..2).for_each(|c| field[c * len + face.ghost] = field[c * len + face.cell]);
            }
        }
        let of_points = |c: usize| {
            let of = |(block, field): (&Block, &Vec<f64>)| {
                let len = block.cells.len();
                block.point_values(&space.axes, &field[c * len..(c + 1) * len])
            };
            space.blocks.iter().zip(&fields).map(of).collect()
        };
        FIELDS.into_iter().enumerate().map(|(c, name)| (name, 1, of_points(c))).collect()
    }
}
