//! Fields, friction and heights at walls, the model's variable in restarts.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::{StructuredSolver, StructuredSystem};
use super::start::near_walls;
use crate::gas::{temperature, viscosity};
use crate::march::{FlowError, Host, Order, Spread};
use crate::mesh::Mesh;
use crate::output::{Field, Restart};
use crate::turbulence::spalart_allmaras::{eddy_ratio, sa_viscosities};

/// Name of the model's variable.
const NUT: &str = "nut";

impl StructuredSolver {
    /// Names of the unknowns beside the flow: the turbulence model's, if there is one.
    pub fn coupled_unknowns(&self) -> Vec<String> {
        self.host.physics.turbulence.iter().map(|_| NUT.to_owned()).collect()
    }

    /// Those of them that a restart does not have: it was written without them.
    pub fn unknowns_missing_in(&self, restart: &Restart) -> Vec<String> {
        self.coupled_unknowns().into_iter().filter(|name| restart.field(name).is_none()).collect()
    }

    /// nut of all cells, in the order of [`StructuredSolver::state`]; empty without a turbulence model.
    pub fn turbulence(&self) -> Vec<f64> {
        let host = self.synced();
        if host.physics.turbulence.is_none() {
            return Vec::new();
        }
        let of = |block: &BlockState| block.places().map(|at| block.eddies.nut[at]).collect::<Vec<_>>();
        host.blocks.iter().flat_map(of).collect()
    }

    /// Sets nut of all cells from their centers' coordinates; nothing without a turbulence model.
    pub fn set_turbulence(&mut self, nut: impl Fn([f64; 3]) -> f64) {
        let values: Vec<f64> = self.cells().into_iter().map(|(x, _)| nut(x)).collect();
        let host = self.host_to_set();
        if host.physics.turbulence.is_some() {
            host.take_turbulence(&values);
        }
    }

    /// y+ of the first cells at walls without slip of turbulent flow, by markers: how well the grid resolves the boundary layer.
    pub fn y_plus(&self) -> Vec<(String, Spread)> {
        let host = self.synced();
        let _ = host.tell(Order::Heights);
        let mut walls: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for (name, faces) in host.wall_faces() {
            let heights = faces.iter().map(|&[.., height, area]| (height, area));
            match walls.iter_mut().find(|(other, _)| *other == name) {
                Some((_, all)) => all.extend(heights),
                None => walls.push((name, heights.collect())),
            }
        }
        let spread =
            |(name, all): (String, Vec<(f64, f64)>)| Some((name, Spread::of(all.into_iter(), None)?));
        walls.into_iter().filter_map(spread).collect()
    }
}

/// A face of a wall without slip: friction of the fluid on it per area, over the dynamic pressure; y u_tau / nu of the first cell's center; the
/// face's area.
type WallFace = [f64; 5];

impl PatchState {
    /// Whether turbulence ends at it.
    fn holds(&self) -> bool {
        self.condition.kind.is_no_slip()
    }
}

impl StructuredSystem {
    /// Faces of walls without slip in turbulent flow, patch by patch; none without a model. Over ranks all of them on rank 0, none
    /// elsewhere.
    fn wall_faces(&self) -> Vec<(String, Vec<WallFace>)> {
        if self.physics.turbulence.is_none() {
            return Vec::new();
        }
        let of = |patch: &PatchState| -> Vec<WallFace> {
            patch.faces.iter().map(|(cell, x)| self.wall_face(patch, *cell, x)).collect()
        };
        let own = self.patches.iter().filter(|patch| patch.holds()).map(of).collect();
        let names = self.all_patches().iter().filter(|patch| patch.holds()).map(|patch| patch.name.clone());
        names.zip(self.of_all_patches(PatchState::holds, own)).collect()
    }

    fn wall_face(&self, patch: &PatchState, cell: [usize; 3], x: &[f64; 3]) -> WallFace {
        let block = &self.blocks[patch.window.block];
        let view = patch.view(block, block.cells.inside(cell));
        let (_, friction) = patch.flux(&self.physics, &view, x);
        let size = |v: &[f64; 3]| v.iter().map(|v| v * v).sum::<f64>().sqrt();
        let area = size(&view.n);
        let stress = friction.map(|f| if area > 0.0 { f / area } else { 0.0 });
        let [ni, nj, _] = block.cells.count;
        let distance = block.eddies.distance[(cell[2] * nj + cell[1]) * ni + cell[0]];
        let (w, dynamic) = (&view.w[0], 0.5 * self.config.freestream.mach.powi(2));
        let mu = self.physics.transport.map_or(1.0, |transport| {
            transport.scale * viscosity(transport, temperature(self.physics.gas, w))
        });
        let height = distance * (size(&stress) * w[0]).sqrt() / mu;
        let [x, y, z] = stress.map(|f| f / dynamic);
        [x, y, z, height, area]
    }

    /// Of turbulent flow, on points of these states: nut, distance from walls, eddy viscosity over the gas's own and over rho_inf a_inf and the
    /// grid's length unit; friction and y+ of walls without slip, means over the faces around a point.
    pub(in crate::structured) fn turbulence_fields(&mut self, points: &[[f64; 5]]) -> Vec<Field> {
        let (Some(sa), Some(transport)) = (self.physics.turbulence, self.physics.transport) else {
            return Vec::new();
        };
        super::prepare(&self.team, &self.physics, sa, &self.patches, &mut self.blocks, &self.exchange);
        let nut: Vec<f64> =
            self.on_points(|block, at| [block.eddies.nut[at]]).into_iter().map(|[nut]| nut).collect();
        let walls = self.wall_faces();
        if points.is_empty() {
            return Vec::new(); // rank 0 has all of them
        }
        let both: Vec<[f64; 2]> = (points.iter().zip(&nut))
            .map(|(w, nut)| {
                let mu = viscosity(transport, temperature(self.physics.gas, w));
                let [nu, eddies] = sa_viscosities(sa.model, w[0], mu, *nut);
                [eddy_ratio(nut / nu), eddies]
            })
            .collect();
        let mesh = self.grid.to_mesh();
        let distance = near_walls((&self.grid, &mesh), self.all_patches(), &mesh.nodes, &self.team)
            .map_or_else(|_| vec![0.0; nut.len()], |near| near.distances());
        let [friction, heights] = wall_fields(&mesh, &walls);
        vec![
            Field::scalar(NUT, nut),
            Field::scalar("wall_distance", distance),
            Field::scalar("eddy_viscosity_ratio", both.iter().map(|pair| pair[0]).collect()),
            Field::scalar("eddy_viscosity", both.iter().map(|pair| pair[1]).collect()),
            friction,
            heights,
        ]
    }

    pub(in crate::structured) fn store_turbulence(&self, restart: &mut Restart) {
        if self.physics.turbulence.is_some() {
            let of = |block: &BlockState| block.places().map(|at| block.eddies.nut[at]).collect::<Vec<_>>();
            let values = self.of_all_cells(1, self.blocks.iter().flat_map(of).collect());
            restart.fields.push(Field::scalar(NUT, values));
        }
    }

    /// nut of all cells in a restart; empty where there is no model, or the restart was written without one.
    pub(in crate::structured) fn turbulence_of(&self, restart: &Restart) -> Result<Vec<f64>, FlowError> {
        let Some(field) = restart.field(NUT).filter(|_| self.physics.turbulence.is_some()) else {
            return Ok(Vec::new());
        };
        let fault = |problem: String| FlowError::Restart { field: NUT.to_owned(), problem };
        let expected = self.cells();
        if field.components != 1 || field.values.len() != expected {
            return Err(fault(format!("has {} values, {expected} expected", field.values.len())));
        }
        match field.values.iter().position(|nut| !nut.is_finite()) {
            Some(cell) => Err(fault(format!("is out of its range at cell {cell}"))),
            None => Ok(field.values.clone()),
        }
    }

    /// Takes nut of all cells; what is there stays where there are none.
    pub(in crate::structured) fn take_turbulence(&mut self, nut: &[f64]) {
        let mut values = nut.iter();
        for block in &mut self.blocks {
            for (at, nut) in block.places().zip(values.by_ref()) {
                block.eddies.nut[at] = *nut;
            }
            block.eddies.last_good.copy_from_slice(&block.eddies.nut);
        }
    }
}

/// Friction and y+ on the nodes of the grid's mesh.
fn wall_fields(mesh: &Mesh, walls: &[(String, Vec<WallFace>)]) -> [Field; 2] {
    let mut sums = vec![[0.0; 5]; mesh.nodes.len()];
    for marker in &mesh.markers {
        // Quadrilaterals of a marker come patch by patch.
        let faces = walls.iter().filter(|(name, _)| *name == marker.name).flat_map(|(_, faces)| faces);
        for (&[x, y, z, height, _], quad) in faces.zip(&marker.quads) {
            for &node in quad {
                for (sum, value) in sums[node as usize].iter_mut().zip([x, y, z, height, 1.0]) {
                    *sum += value;
                }
            }
        }
    }
    let mean = |sum: &[f64; 5]| sum.map(|s| s / sum[4].max(1.0));
    let friction = sums.iter().map(mean).flat_map(|[x, y, z, ..]| [x, y, z]).collect();
    let heights = sums.iter().map(mean).map(|sum| sum[3]).collect();
    [Field::vector("skin_friction", 3, friction), Field::scalar("y_plus", heights)]
}
