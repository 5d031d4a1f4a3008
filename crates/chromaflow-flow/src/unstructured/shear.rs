//! What shear makes of a viscous flow: friction, heat and heights at walls without slip; vorticity.

use super::{FlowSolver, FlowSystem};
use crate::config::Boundary;
use crate::dual::{Patch, along_and_rest, dot, norm, smooth_normal};
use crate::gas::{Transport, temperature, viscosity};
use crate::march::{Host, Order, Spread};
use crate::output::{Field, vortex_fields};
use crate::residual::{NodeGradients, primitive_of};

impl FlowSolver {
    /// y+ of the first nodes off each wall without slip, by markers: how well the mesh resolves the boundary layer. Empty in inviscid
    /// flow.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn y_plus(&self) -> Vec<(String, Spread)> {
        self.walls().into_iter().map(|(wall, [y_plus, _])| (wall, y_plus)).collect()
    }

    /// Of each wall without slip y+ of the first nodes off it, and u_tau / nu per mesh unit: what makes wall units of any height there. Empty in
    /// inviscid flow.
    ///
    /// # Panics
    /// As [`Self::y_plus`].
    pub fn walls(&self) -> Vec<(String, [Spread; 2])> {
        // Over ranks, what cannot be told shows at the next step.
        let _ = self.host.tell(Order::Heights);
        let host = self.synced();
        let share = host.share().map(|share| &**share);
        let Some((transport, _)) = &host.viscous else { return Vec::new() };
        let heights = host.heights(*transport);
        let walls = host.dual.patches.iter().filter(|patch| host.is_viscous(patch));
        let spread = |(name, areas): (&str, Vec<(usize, f64)>)| {
            let [height, units] =
                [0, 1].map(|c| Spread::of(areas.iter().map(|&(at, area)| (heights[at][c], area)), share));
            Some((name.to_owned(), [height?, units?]))
        };
        let areas = walls.map(|patch| {
            let own = |node: u32| share.is_none_or(|share| share.owns(node as usize));
            let areas = patch.nodes.iter().zip(&patch.sizes).filter(|(node, _)| own(**node));
            let of = |(node, size): (&u32, &f64)| Some((host.wall_of(*node)?, *size));
            (patch.name.as_str(), areas.filter_map(of).collect())
        });
        areas.filter_map(spread).collect()
    }
}

impl FlowSystem {
    /// The fields of viscous flow by rows, all that are found with one that `wanted` picks; none of inviscid flow.
    pub(super) fn shear_fields(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Field> {
        let Some((transport, elements)) = &self.viscous else { return Vec::new() };
        let rows = self.q.len();
        let vector = |name: &str, values: Vec<[f64; 3]>| Field::vector(name, 3, values.into_flattened());
        let mut fields = Vec::new();
        if ["skin_friction", "heat_flux", "y_plus"].into_iter().any(wanted) {
            let (friction, heat) = self.loads();
            fields.extend([vector("skin_friction", friction), Field::scalar("heat_flux", heat)]);
            let mut heights = vec![0.0; rows];
            for (row, [height, _]) in self.wall_rows().zip(self.heights(*transport)) {
                heights[row as usize] = height;
            }
            fields.push(Field::scalar("y_plus", heights));
        }
        if !["vorticity", "q_criterion"].into_iter().any(wanted) {
            return fields;
        }
        let (mut of_velocity, nothing) = (vec![[[0.0; 3]; 3]; rows], vec![[]; rows]);
        let out = of_velocity.as_flattened_mut().as_flattened_mut();
        NodeGradients::new(elements, &self.dual, &self.nodes).compute(&self.team, &self.nodes, &nothing, out);
        fields.extend(vortex_fields(&of_velocity));
        fields
    }

    /// Whether a patch is a wall whose velocity the gas has, at its nodes or across a layer that a law stands for.
    pub(super) fn is_viscous(&self, patch: &Patch) -> bool {
        self.config.boundaries.get(&patch.name).is_some_and(Boundary::is_no_slip)
    }

    /// Rows of `fixed`, then of `laws`.
    pub(super) fn wall_rows(&self) -> impl Iterator<Item = u32> {
        self.fixed.iter().map(|wall| wall.node).chain(self.laws[0].iter().map(|law| law.node))
    }

    /// Which of them a node is.
    pub(super) fn wall_of(&self, node: u32) -> Option<usize> {
        let of_law = || self.laws[0].binary_search_by_key(&node, |law| law.node).ok();
        let fixed = self.fixed.binary_search_by_key(&node, |wall| wall.node).ok();
        fixed.or_else(|| of_law().map(|at| self.fixed.len() + at))
    }

    /// Area of the walls without slip at each of [`Self::wall_rows`], out of the flow, and its size, which at sharp edges is more than the vector's.
    pub(super) fn wall_areas(&self) -> Vec<([f64; 3], f64)> {
        let mut areas = vec![([0.0; 3], 0.0); self.fixed.len() + self.laws[0].len()];
        let walls = self.dual.patches.iter().filter(|patch| self.is_viscous(patch));
        let parts = walls.flat_map(|patch| patch.nodes.iter().zip(&patch.areas).zip(&patch.sizes));
        for ((node, n), part) in parts {
            let Some(at) = self.wall_of(*node) else { continue };
            let (area, size) = &mut areas[at];
            (0..3).for_each(|d| area[d] += n[d]);
            *size += part;
        }
        areas
    }

    /// What walls take up by row: friction per area over the dynamic pressure, and heat per area over rho V^3 / 2.
    fn loads(&self) -> (Vec<[f64; 3]>, Vec<f64>) {
        let mach = self.config.freestream.mach;
        let dynamic = 0.5 * mach * mach;
        let (mut friction, mut heat) = (vec![[0.0; 3]; self.q.len()], vec![0.0; self.q.len()]);
        for ((row, [x, y, z, q]), (n, area)) in self.wall_rows().zip(&self.friction).zip(self.wall_areas()) {
            let row = row as usize;
            let [_, shear] = along_and_rest([*x, *y, *z], smooth_normal(n, area));
            friction[row] = shear.map(|f| f / (area * dynamic));
            heat[row] = q / (area * dynamic * mach);
        }
        (friction, heat)
    }

    /// Heights of the first nodes off walls without slip in units of the wall, y u_tau / nu, and u_tau / nu, of each of [`Self::wall_rows`]. The first node is
    /// the neighbor that lies most nearly along the wall's normal; at sharp edges, whose normal points along the wake, the nearest one off walls.
    fn heights(&self, transport: Transport<f64>) -> Vec<[f64; 2]> {
        let place = |i: usize| [self.nodes[i][5], self.nodes[i][6], self.nodes[i][7]];
        let walls = self.wall_rows().zip(self.wall_areas()).zip(&self.friction);
        let height = |row: u32, (n, area): ([f64; 3], f64), load: &[f64; 4]| {
            let (i, size) = (row as usize, norm(n));
            let (mut height, mut best, mut nearest) = (0.0, 0.0, f64::INFINITY);
            for &j in &self.dual.pattern.col_idx()[self.dual.pattern.range(i)] {
                let dx = self.dual.between(&place(i), &place(j as usize));
                let across = dot(dx, n).abs() / size;
                if across > best * norm(dx) {
                    (height, best) = (across, across / norm(dx));
                }
                if j as usize != i && self.wall_of(j).is_none() {
                    nearest = nearest.min(norm(dx));
                }
            }
            if size < SHARP * area && nearest.is_finite() {
                height = nearest;
            }
            let w = primitive_of(&self.nodes[i]);
            let mu = transport.scale * viscosity(transport, temperature(self.gas, &w));
            let [_, shear] = along_and_rest([load[0], load[1], load[2]], smooth_normal(n, area));
            let units = (norm(shear) / area * w[0]).sqrt() / mu;
            [height * units, units]
        };
        walls.map(|((wall, area), load)| height(wall, area, load)).collect()
    }
}

/// Size of the area vector of a wall's part over the part's area below which it is the edge of two sides: they turn by more than 120 degrees.
pub(super) const SHARP: f64 = 0.5;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bc::WallNode;
    use crate::config::{Equations, FlowConfig};
    use crate::mesh::generate::Airfoil;
    use chromaflow_device::Team;
    use std::sync::Arc;

    /// At the sharp trailing edge of an airfoil area, and with it friction and y+, are those of both sides: like those of the neighbors.
    #[test]
    fn sharp_edges_have_the_heights_of_their_sides() {
        let mesh = Airfoil { cells: [64, 24], radius: 10.0, growth: 1.3, triangles: false }.mesh();
        let mut config = FlowConfig { equations: Equations::Laminar, ..FlowConfig::default() };
        config.freestream.reynolds = 5e3;
        config.boundaries.insert("airfoil".to_owned(), Boundary::NoSlipAdiabatic);
        config.boundaries.insert("farfield".to_owned(), Boundary::Farfield);
        let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
        for _ in 0..10 {
            solver.step();
        }
        let host = &solver.host;
        let edge = host.fixed.iter().enumerate().max_by(|(_, a), (_, b)| {
            let x = |wall: &WallNode<f64>| host.nodes[wall.node as usize][5];
            x(a).total_cmp(&x(b))
        });
        let at = edge.unwrap().0;
        let (vector, size) = host.wall_areas()[at];
        assert!(norm(vector) < 0.4 * size, "the edge is sharp: {vector:?}, {size}");
        let heights: Vec<f64> =
            host.heights(host.viscous.as_ref().unwrap().0).into_iter().map(|[height, _]| height).collect();
        let mut others: Vec<f64> = (0..heights.len()).filter(|i| *i != at).map(|i| heights[i]).collect();
        others.sort_by(f64::total_cmp);
        assert!(heights[at] < 2.0 * others.last().unwrap(), "{} {others:?}", heights[at]);
    }
}
