//! What shear makes of a viscous flow: friction, heat and heights at walls without slip; vorticity.

use super::StructuredSystem;
use super::block::BlockState;
use super::boundary::PatchState;
use crate::bc::{WallHeat, wall_at};
use crate::config::WallTreatment;
use crate::dual::{dot, norm, sub};
use crate::gas::{Transport, temperature, viscosity};
use crate::mesh::Mesh;
use crate::output::{Field, gradient_amid, vortex_fields};
use crate::wall_law::{law_friction, law_gradient, law_temperature};

/// Numbers of a wall's face.
const WALL: usize = 17;

/// A face of a wall without slip: friction of the fluid on it per area, over the dynamic pressure; the heat that it draws per area, over rho V^3 / 2;
/// y u_tau / nu of the first cell's center; the gradient of the velocity, that of its friction, or the law's in the first cell; the
/// temperature that a law has for the wall; u_tau / nu; the face's area.
type WallFace = [f64; WALL];

impl PatchState {
    /// Whether gas sticks to it.
    pub fn holds(&self) -> bool {
        self.condition.kind.is_no_slip()
    }
}

impl StructuredSystem {
    /// y+, u_tau / nu and area of the faces of walls without slip, patch by patch, with the names of their markers; over ranks all of them on rank 0, none elsewhere.
    pub(super) fn wall_heights(&self) -> Vec<(String, Vec<[f64; 3]>)> {
        let Some(transport) = self.physics.transport else { return Vec::new() };
        let heights =
            |faces: Vec<WallFace>| faces.into_iter().map(|face| [face[4], face[15], face[16]]).collect();
        self.wall_faces(transport).into_iter().map(|(name, faces)| (name, heights(faces))).collect()
    }

    /// Adds those of viscous flow, on points: friction, heat and y+ of walls without slip, means over the faces around a point, zero elsewhere; vorticity and the Q criterion, at walls those of the
    /// friction. The `temperature` among `fields` becomes the wall's where a law of the wall holds: there the cells beyond are what fluxes can use. Over ranks all of them on rank 0, none elsewhere. Ghost
    /// cells must be filled, those on edges, too.
    pub(super) fn add_shear_fields(&self, fields: &mut Vec<Field>) {
        let Some(transport) = self.physics.transport else { return };
        let walls = self.wall_faces(transport);
        let gradients = self.around_points(gradient_around);
        if gradients.is_empty() {
            return; // rank 0 has all of them
        }
        let (of_walls, at_walls) = wall_fields(&self.grid.to_mesh(), &walls);
        let has_laws = self.config.turbulence.as_ref().is_some_and(|t| t.walls != WallTreatment::Resolved);
        if let Some(field) = fields.iter_mut().find(|field| has_laws && field.name == "temperature") {
            for (value, wall) in field.values.iter_mut().zip(&at_walls) {
                *value = wall.map_or(*value, |(_, temperature)| temperature);
            }
        }
        let of_rows = |(g, wall): (&[f64; 9], Option<AtWall>)| {
            let g = wall.map_or(*g, |(gradient, _)| gradient);
            [[g[0], g[1], g[2]], [g[3], g[4], g[5]], [g[6], g[7], g[8]]]
        };
        let gradients: Vec<[[f64; 3]; 3]> = gradients.iter().zip(at_walls).map(of_rows).collect();
        fields.extend(of_walls);
        fields.extend(vortex_fields(&gradients));
    }

    /// Faces of walls without slip, patch by patch. Over ranks all of them on rank 0, none elsewhere.
    fn wall_faces(&self, transport: Transport<f64>) -> Vec<(String, Vec<WallFace>)> {
        let of = |patch: &PatchState| -> Vec<WallFace> {
            patch.faces.iter().map(|(cell, x)| self.wall_face(transport, patch, *cell, x)).collect()
        };
        let own = self.patches.iter().filter(|patch| patch.holds()).map(of).collect();
        let names = self.all_patches().iter().filter(|patch| patch.holds()).map(|patch| patch.name.clone());
        names.zip(self.of_all_patches(PatchState::holds, own)).collect()
    }

    fn wall_face(
        &self,
        transport: Transport<f64>,
        patch: &PatchState,
        cell: [usize; 3],
        middle: &[f64; 3],
    ) -> WallFace {
        let block = &self.blocks[patch.window.block];
        let at = block.cells.inside(cell);
        let view = patch.view(block, at);
        let (flux, friction) = patch.flux(&self.physics, &view, middle);
        let area = norm(view.n);
        let over = |load: f64| if area > 0.0 { load / area } else { 0.0 };
        let stress = friction.map(over);
        let mach = self.config.freestream.mach;
        let dynamic = 0.5 * mach.powi(2);
        let [x, y, z] = stress.map(|f| f / dynamic);
        let mut heat = 0.0;
        if patch.condition.heat == WallHeat::Isothermal {
            // What leaves besides the work on a wall that moves.
            heat =
                over(flux[4] - dot(friction, wall_at(&patch.condition, middle).velocity)) / (dynamic * mach);
        }
        let face = |[height, units]: [f64; 2], gradient: [[f64; 3]; 3], temperature: f64| {
            let [u, v, w] = gradient;
            let mut face = [0.0; WALL];
            face[..5].copy_from_slice(&[x, y, z, heat, height]);
            face[5..14].copy_from_slice([u, v, w].as_flattened());
            face[14..].copy_from_slice(&[temperature, units, area]);
            face
        };
        if let Some(place) = patch.law_at(&view, middle) {
            let gas = self.physics.gas;
            let [height, _] = law_friction(gas, transport, place, &view.w[0]);
            let seen = block.velocities().gradient(at);
            let shear = law_gradient(gas, transport, place, &view.w[0], &seen);
            return face(
                [height, height / place.distance],
                shear,
                law_temperature(gas, transport, place, &view.w[0]),
            );
        }
        let across = || over(dot(sub(*middle, block.metrics.center(at)), view.n).abs());
        let distance = block.eddies.distance.get(block.number(cell)).copied().unwrap_or_else(across);
        let w = &view.w[0];
        let in_cell = temperature(self.physics.gas, w);
        let mu = transport.scale * viscosity(transport, in_cell);
        let units = (norm(stress) * w[0]).sqrt() / mu;
        let (_, [u, v, w, _]) = patch.wall_gradient(&self.physics, &view, middle);
        face([distance * units, units], [u, v, w], in_cell)
    }
}

/// d(u, v, w)_i / dx_k at the point amid eight cells; where they have no volume, the mean of those that the block's own of them have.
fn gradient_around(block: &BlockState, around: [usize; 8]) -> [f64; 9] {
    let velocity = |at: usize| {
        let [_, u, v, w, _] = block.state(at);
        [u, v, w]
    };
    let amid = gradient_amid(&around.map(|at| block.metrics.center(at)), &around.map(velocity), block.active);
    let gradient = amid.unwrap_or_else(|| block.velocities().mean_gradient(around));
    std::array::from_fn(|n| gradient[n / 3][n % 3])
}

/// What a point on walls has: the gradient of the velocity, and the temperature that a law has for the wall.
type AtWall = ([f64; 9], f64);

/// Friction, heat and y+ on the nodes of the grid's mesh, and where there are walls, the gradient of the velocity and the wall's temperature.
fn wall_fields(mesh: &Mesh, walls: &[(String, Vec<WallFace>)]) -> ([Field; 3], Vec<Option<AtWall>>) {
    let mut sums = vec![[0.0; WALL]; mesh.nodes.len()];
    for marker in &mesh.markers {
        // Quadrilaterals of a marker come patch by patch.
        let faces = walls.iter().filter(|(name, _)| *name == marker.name).flat_map(|(_, faces)| faces);
        for (face, quad) in faces.zip(&marker.quads) {
            for &node in quad {
                let sum = &mut sums[node as usize];
                (0..WALL - 1).for_each(|c| sum[c] += face[c]);
                sum[WALL - 1] += 1.0;
            }
        }
    }
    let mean = |sum: &WallFace| sum.map(|s| s / sum[WALL - 1].max(1.0));
    let means: Vec<WallFace> = sums.iter().map(mean).collect();
    let friction = means.iter().flat_map(|[x, y, z, ..]| [*x, *y, *z]).collect();
    let of = |c: usize| means.iter().map(|mean| mean[c]).collect();
    let at_wall =
        |mean: &WallFace| (mean[WALL - 1] > 0.0).then(|| (std::array::from_fn(|n| mean[5 + n]), mean[14]));
    let fields = [
        Field::vector("skin_friction", 3, friction),
        Field::scalar("heat_flux", of(3)),
        Field::scalar("y_plus", of(4)),
    ];
    (fields, means.iter().map(at_wall).collect())
}
