//! The state seen from outside, and files.

use super::{LaxWendroffSolver, LaxWendroffSystem};
use crate::equations::perfect_gas::{N, State};
use crate::equations::{Equations, PerfectGas};
use crate::gas::{entropy, primitive};
use crate::grid::Grid;
use crate::march::{FlowError, Forces, March};
use crate::mesh::Mesh;
use crate::on_grid::Shown;
use crate::output::{Field, Restart};

impl LaxWendroffSolver {
    /// The grid, its blocks' axes turned as the solver has them.
    pub fn grid(&self) -> &Grid {
        &self.host.grid
    }

    /// Forces of the state before the last update.
    pub fn forces(&self) -> &Forces {
        self.last_forces()
    }

    /// Conserved variables on the points of [`Grid::to_mesh`](crate::grid::Grid::to_mesh).
    pub fn state(&self) -> Vec<State> {
        let host = self.synced();
        let planar = host.grid.planar_depth().is_some();
        host.places(planar).into_iter().map(|(b, at)| host.blocks[b].state(at)).collect()
    }

    /// Sets all nodes from their coordinates, as conserved variables.
    pub fn set_state(&mut self, q: impl Fn([f64; 3]) -> State) {
        let host = self.host_to_set();
        for (b, block) in host.blocks.iter_mut().enumerate() {
            let len = block.nodes.len();
            for at in block.nodes.rows().flat_map(|row| row..row + block.nodes.count[0]) {
                let node = block.nodes.cell(at).map(|n| n as usize);
                let values = q(host.grid.blocks[b].node(node));
                for c in 0..N {
                    block.q[c * len + at] = values[c];
                }
            }
        }
        host.pressures();
        for block in &mut host.blocks {
            block.last_good.clone_from(&block.q);
        }
    }

    /// Coordinates and control volume of each copy of a node, in the order of blocks, i fastest; volumes of copies add up.
    pub fn nodes(&self) -> Vec<([f64; 3], f64)> {
        let blocks = self.host.blocks.iter().zip(&self.host.grid.blocks);
        blocks
            .flat_map(|(b, points)| points.nodes.iter().copied().zip(b.own_volume.iter().copied()))
            .collect()
    }

    /// Volume-weighted root mean square of the entropy's deviation from the free stream's.
    pub fn entropy_error(&self) -> f64 {
        let host = self.synced();
        let states = host.places(false).into_iter().map(|(b, at)| host.blocks[b].state(at));
        let off = |q: State| (entropy(host.gas, &primitive(host.gas, &q)) - 1.0).powi(2);
        let sum: f64 = states.zip(self.nodes()).map(|(q, (_, volume))| off(q) * volume).sum();
        (sum / host.volume).sqrt()
    }

    /// Pressure coefficient on each face of a marker, with the face's middle.
    pub fn wall_cp(&self, marker: &str) -> Vec<([f64; 3], f64)> {
        let host = self.synced();
        let dynamic = 0.5 * host.config.freestream.mach.powi(2);
        let mut out = Vec::new();
        for patch in host.patches.iter().filter(|p| p.name == marker) {
            let block = &host.blocks[patch.window.block];
            for face in patch.faces(&host.grid, block) {
                let (w, _) = patch.flux(host.gas, block, &face);
                out.push((face.middle, (w[4] - host.free[4]) / dynamic));
            }
        }
        out
    }

    /// Friction coefficient of each face of a no-slip marker, with the face's middle: the tangential force over area and dynamic
    /// pressure.
    pub fn skin_friction(&self, marker: &str) -> Vec<([f64; 3], [f64; 3])> {
        let host = self.synced();
        let dynamic = 0.5 * host.config.freestream.mach.powi(2);
        let mut out = Vec::new();
        let Some(transport) = host.transport else { return out };
        for patch in host.patches.iter().filter(|p| p.name == marker && p.condition.kind.is_no_slip()) {
            let block = &host.blocks[patch.window.block];
            for face in patch.faces(&host.grid, block) {
                let area = face.area.iter().map(|v| v * v).sum::<f64>().sqrt();
                let force = face.friction(host.gas, transport, block);
                out.push((face.middle, force.map(|f| f / (area * dynamic))));
            }
        }
        out
    }

    /// Values of all nodes, as [`March::residuals`](crate::march::March::residuals) has them, on the points of
    /// [`Grid::to_mesh`](crate::grid::Grid::to_mesh).
    ///
    /// **Shapes**: `[nodes, width]`, both.
    pub fn in_mesh_order(&self, width: usize, values: &[f64]) -> Vec<f64> {
        let host = &self.host;
        let mut first = vec![0];
        first.extend(host.blocks.iter().scan(0, |sum, b| {
            *sum += b.nodes.interior();
            Some(*sum)
        }));
        let number = |(b, at): (usize, usize)| {
            let block = &host.blocks[b];
            first[b] + block.number(block.nodes.cell(at).map(|n| n.max(0) as usize))
        };
        let places = host.places(host.grid.planar_depth().is_some()).into_iter();
        places.flat_map(|place| values[number(place) * width..][..width].iter().copied()).collect()
    }

    /// The places that restarts are written for: the points of the grid.
    pub fn restart_places(&self) -> Mesh {
        let mesh = self.host.grid.to_mesh();
        Mesh { nodes: mesh.nodes, ..Mesh::default() }
    }
}

impl Shown for LaxWendroffSystem {
    /// Density, velocity, pressure, mach, temperature, cp, entropy on the points of
    /// [`Grid::to_mesh`](crate::grid::Grid::to_mesh).
    fn fields(march: &mut March<Self>) -> Vec<Field> {
        let points: Vec<State> = march.state().iter().map(|q| primitive(march.host.gas, q)).collect();
        let host = &march.host;
        crate::structured::output::fields(host.gas, host.free[4], host.config.freestream.mach, &points)
    }

    fn row_restart(march: &March<Self>) -> Restart {
        let mut restart = march.start_restart();
        restart.fields.push(Field::vector("conserved", N, march.state().into_flattened()));
        restart
    }

    fn go_on(march: &mut March<Self>, restart: &Restart) -> Result<(), FlowError> {
        let fault = |problem: String| FlowError::Restart { field: "conserved".to_owned(), problem };
        let field = restart.field("conserved").ok_or_else(|| fault("is missing".to_owned()))?;
        let host = &march.host;
        let planar = host.grid.planar_depth().is_some();
        let places = host.places(planar);
        if field.components != N || field.values.len() != N * places.len() {
            return Err(fault(format!("has {} values, {} expected", field.values.len(), N * places.len())));
        }
        let states = field.values.as_chunks::<N>().0;
        for (node, q) in states.iter().enumerate() {
            let w = primitive(host.gas, q);
            if !PerfectGas::is_admissible(&w) {
                return Err(fault(format!("has no physical state at node {node}: {q:?}")));
            }
        }
        let host = march.host_to_set();
        for (&(b, at), q) in places.iter().zip(states) {
            let len = host.blocks[b].nodes.len();
            for c in 0..N {
                host.blocks[b].q[c * len + at] = q[c];
            }
        }
        host.pressures();
        march.resume_progress(restart, true);
        Ok(())
    }
}

impl LaxWendroffSystem {
    /// Block and place of each point of [`Grid::to_mesh`](crate::grid::Grid::to_mesh), in its order.
    fn places(&self, planar: bool) -> Vec<(usize, usize)> {
        let block = |b: usize| {
            let nodes = self.blocks[b].nodes;
            let [ni, nj, nk] = nodes.count;
            (0..ni * nj * nk).map(move |n| (b, nodes.inside([n % ni, n / ni % nj, n / (ni * nj)])))
        };
        if !planar {
            return (0..self.blocks.len()).flat_map(block).collect();
        }
        let layer = |k: usize| {
            (0..self.blocks.len()).flat_map(move |b| {
                let [ni, nj, _] = self.blocks[b].nodes.count;
                block(b).skip(k * ni * nj).take(ni * nj)
            })
        };
        layer(0).chain(layer(1)).collect()
    }
}
