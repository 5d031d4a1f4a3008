//! What shear makes of a viscous flow: friction, heat and heights at walls without slip; vorticity.

use super::{FlowSolver, FlowSystem};
use crate::bc::WallNode;
use crate::dual::{dot, norm, sub};
use crate::gas::{Transport, temperature, viscosity};
use crate::march::{Host, Order};
use crate::output::Field;
use crate::residual::{NodeGradients, primitive_of};

/// A quantity over the nodes of a wall.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The smallest value.
    pub min: f64,
    /// The mean by area.
    pub mean: f64,
    /// The largest value.
    pub max: f64,
}

impl Spread {
    /// Of values with their areas; `None` of no area.
    fn of(values: impl Iterator<Item = (f64, f64)>) -> Option<Self> {
        let (mut min, mut max, mut sum, mut whole) = (f64::INFINITY, f64::NEG_INFINITY, 0.0, 0.0);
        for (value, area) in values {
            (min, max) = (value.min(min), value.max(max));
            (sum, whole) = (sum + value * area, whole + area);
        }
        (whole > 0.0).then(|| Self { min, mean: sum / whole, max })
    }
}

impl FlowSolver {
    /// y+ of the first nodes off each wall without slip, by markers: how well the mesh resolves the boundary layer. Empty in inviscid
    /// flow.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn y_plus(&self) -> Vec<(String, Spread)> {
        let _ = self.host.tell(Order::Heights);
        self.synced().spread_of_heights()
    }
}

impl FlowSystem {
    /// y+ of each wall without slip; over ranks the first one has them.
    fn spread_of_heights(&self) -> Vec<(String, Spread)> {
        let Some((transport, _)) = &self.viscous else { return Vec::new() };
        let heights = self.to_file_order(1, self.at_rows(self.heights(*transport)));
        let walls = self.config.boundaries.iter().filter(|(_, condition)| condition.is_no_slip());
        let spread = |name: &String| {
            let mut areas = vec![0.0; self.nodes.len()];
            for patch in self.dual.patches.iter().filter(|patch| patch.name == *name) {
                patch.nodes.iter().zip(&patch.areas).for_each(|(node, n)| areas[*node as usize] += norm(*n));
            }
            let areas = self.to_file_order(1, areas);
            let known = heights.iter().copied().zip(areas).filter(|(_, area)| *area > 0.0);
            Some((name.clone(), Spread::of(known)?))
        };
        walls.filter_map(|(name, _)| spread(name)).collect()
    }

    /// Values of `fixed` by row, zero elsewhere.
    fn at_rows(&self, values: Vec<f64>) -> Vec<f64> {
        let mut rows = vec![0.0; self.nodes.len()];
        self.fixed.iter().zip(values).for_each(|(wall, value)| rows[wall.node as usize] = value);
        rows
    }

    /// The fields of viscous flow; none of inviscid flow.
    pub(super) fn shear_fields(&self) -> Vec<Field> {
        let Some((transport, elements)) = &self.viscous else { return Vec::new() };
        let rows = self.nodes.len();
        let scalar = |name: &str, values| Field::scalar(name, self.to_file_order(1, values));
        let vector = |name: &str, values: Vec<[f64; 3]>| {
            Field::vector(name, 3, self.to_file_order(3, values.into_flattened()))
        };
        let (friction, heat) = self.loads();
        let mut fields = vec![vector("skin_friction", friction), scalar("heat_flux", heat)];
        fields.push(scalar("y_plus", self.at_rows(self.heights(*transport))));
        let (mut gradients, zeros) = (vec![[[0.0; 3]; 4]; rows], vec![0.0; rows]);
        NodeGradients::new(elements, rows).compute(&self.team, elements, &self.nodes, &zeros, &mut gradients);
        fields.push(vector("vorticity", gradients.iter().map(vorticity).collect()));
        fields.push(scalar("q_criterion", gradients.iter().map(q_criterion).collect()));
        fields
    }

    /// Which of `fixed` a node is.
    fn wall_of(&self, node: u32) -> Option<usize> {
        self.fixed.binary_search_by_key(&node, |wall| wall.node).ok()
    }

    /// Area of the walls without slip at each of `fixed`, out of the flow, and the sum of its sizes where several walls meet.
    fn wall_areas(&self) -> Vec<([f64; 3], f64)> {
        let mut areas = vec![([0.0; 3], 0.0); self.fixed.len()];
        let walls = self.dual.patches.iter().zip(&self.boundaries).filter(|(_, data)| data.kind.is_no_slip());
        for (node, n) in walls.flat_map(|(patch, _)| patch.nodes.iter().zip(&patch.areas)) {
            let Some(at) = self.wall_of(*node) else { continue };
            let (area, size) = &mut areas[at];
            (0..3).for_each(|d| area[d] += n[d]);
            *size += norm(*n);
        }
        areas
    }

    /// What walls take up by row: friction per area over the dynamic pressure, and heat per area over rho V^3 / 2.
    fn loads(&self) -> (Vec<[f64; 3]>, Vec<f64>) {
        let mach = self.config.freestream.mach;
        let dynamic = 0.5 * mach * mach;
        let (mut friction, mut heat) = (vec![[0.0; 3]; self.nodes.len()], vec![0.0; self.nodes.len()]);
        for ((wall, [x, y, z, q]), (_, area)) in self.fixed.iter().zip(&self.friction).zip(self.wall_areas())
        {
            let row = wall.node as usize;
            friction[row] = [x, y, z].map(|f| f / (area * dynamic));
            heat[row] = q / (area * dynamic * mach);
        }
        (friction, heat)
    }

    /// Heights of the first nodes off walls without slip in units of the wall, y u_tau / nu, of each of `fixed`. The first node is
    /// the neighbor that lies most nearly along the wall's normal.
    fn heights(&self, transport: Transport<f64>) -> Vec<f64> {
        let place = |i: usize| [self.nodes[i][5], self.nodes[i][6], self.nodes[i][7]];
        let walls = self.fixed.iter().zip(self.wall_areas()).zip(&self.friction);
        let height = |((wall, (n, area)), load): ((&WallNode<f64>, ([f64; 3], f64)), &[f64; 4])| {
            let (i, size) = (wall.node as usize, norm(n));
            let (mut height, mut best) = (0.0, 0.0);
            for &j in &self.dual.pattern.col_idx()[self.dual.pattern.range(i)] {
                let dx = sub(place(j as usize), place(i));
                let across = dot(dx, n).abs() / size;
                if across > best * norm(dx) {
                    (height, best) = (across, across / norm(dx));
                }
            }
            let w = primitive_of(&self.nodes[i]);
            let mu = transport.scale * viscosity(transport, temperature(self.gas, &w));
            height * (norm([load[0], load[1], load[2]]) / area * w[0]).sqrt() / mu
        };
        walls.map(height).collect()
    }
}

/// The curl of the velocity, of the gradients of (u, v, w, ..).
fn vorticity(g: &[[f64; 3]; 4]) -> [f64; 3] {
    [g[2][1] - g[1][2], g[0][2] - g[2][0], g[1][0] - g[0][1]]
}

/// Q = (|W|^2 - |S|^2) / 2 with W and S the antisymmetric and the symmetric part of the gradient of the velocity: positive in
/// vortices (Hunt, Wray and Moin, CTR-S88, 1988).
fn q_criterion(g: &[[f64; 3]; 4]) -> f64 {
    let pairs = (0..3).flat_map(|i| (0..3).map(move |k| (i, k)));
    -0.5 * pairs.map(|(i, k)| g[i][k] * g[k][i]).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that turns at the rate w has vorticity 2 w and Q = w^2; pure shear has no Q; pure strain a negative one.
    #[test]
    fn vortices_are_told_from_shear() {
        let turning = [[0.0, -3.0, 0.0], [3.0, 0.0, 0.0], [0.0; 3], [0.0; 3]];
        assert_eq!((vorticity(&turning), q_criterion(&turning)), ([0.0, 0.0, 6.0], 9.0));
        let shear = [[0.0, 0.0, 2.0], [0.0; 3], [0.0; 3], [0.0; 3]];
        assert_eq!((vorticity(&shear), q_criterion(&shear)), ([0.0, 2.0, 0.0], 0.0));
        let strain = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0; 3], [0.0; 3]];
        assert_eq!((vorticity(&strain), q_criterion(&strain)), ([0.0; 3], -1.0));
    }

    #[test]
    fn means_are_by_area() {
        let spread = Spread::of([(1.0, 3.0), (5.0, 1.0)].into_iter()).unwrap();
        assert_eq!(spread, Spread { min: 1.0, mean: 2.0, max: 5.0 });
        assert!(Spread::of(std::iter::empty()).is_none());
    }
}
