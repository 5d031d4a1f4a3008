//! Laws of the wall on a mesh: which nodes take one, and their part of the residual. See [`crate::wall_law`].

use super::FlowSystem;
use super::shear::SHARP;
use crate::bc::{ConditionKind, WallNode};
use crate::config::{TurbulenceConfig, WallTreatment};
use crate::dual::{dot, norm};
use crate::residual::primitive_of;
use crate::turbulence::k_omega::KOmegaVariant;
use crate::wall_distance::NearWalls;
use crate::wall_law::{LawNode, LawPlace, WallLaw, law_flux, law_load, law_temperature};

/// The law of a model's walls; none where the mesh resolves them.
fn law_of(turbulence: &TurbulenceConfig) -> Option<WallLaw> {
    (turbulence.walls != WallTreatment::Resolved)
        .then(|| KOmegaVariant::of(turbulence.model).map_or(WallLaw::SpalartAllmaras, KOmegaVariant::law))
}

impl FlowSystem {
    /// Takes the nodes on walls without slip that have one off it along the wall's normal from those whose velocity is the wall's, where the
    /// set-up asks for laws of the wall. Nodes at sharp edges, and those all of whose neighbors are on walls, stay.
    pub(super) fn start_laws(&mut self, walls: &NearWalls) {
        let Some(law) = self.config.turbulence.as_ref().and_then(law_of) else { return };
        if self.fixed.is_empty() {
            return;
        }
        let nearest = &walls.nearest;
        let areas = self.wall_areas();
        let place = |i: usize| [self.nodes[i][5], self.nodes[i][6], self.nodes[i][7]];
        let of_node = |(at, wall): (usize, &WallNode<f64>)| {
            let (i, (n, area)) = (wall.node as usize, areas[at]);
            let size = norm(n);
            if size < SHARP * area {
                return None;
            }
            let away = n.map(|n| -n / size);
            let (mut other, mut best) = (None, 0.0);
            for &j in &self.dual.pattern.col_idx()[self.dual.pattern.range(i)] {
                if j as usize == i || self.wall_of(j).is_some() {
                    continue;
                }
                let dx = self.dual.between(&place(i), &place(j as usize));
                let across = dot(dx, away) / norm(dx);
                if across > best {
                    (other, best) = (Some(j), across);
                }
            }
            let other = other?;
            let distance = nearest[other as usize].distance;
            let wall_there = wall.wall;
            let seen = LawPlace { law, heat: wall.heat, area, distance, away, wall: wall_there };
            Some(LawNode { node: wall.node, other, place: seen })
        };
        let laws: Vec<LawNode<f64>> = self.fixed.iter().enumerate().filter_map(of_node).collect();
        let layers = self.layers_next_to(&laws, |row| {
            let (x, near) = (place(row), &nearest[row]);
            let away = std::array::from_fn(|d| (x[d] - near.place[d]) / near.distance);
            (near.distance, away)
        });
        self.fixed.retain(|wall| laws.binary_search_by_key(&wall.node, |law| law.node).is_err());
        for condition in self.boundaries.iter_mut().filter(|c| c.kind == ConditionKind::NoSlip) {
            // The gas slides along; what it loses by friction is not the condition's business.
            condition.kind = ConditionKind::SlipWall;
        }
        self.laws = [laws, layers];
    }

    /// Nodes off walls next to nodes with laws; `seen` gives the distance from the wall and the way away from it.
    fn layers_next_to(
        &self,
        laws: &[LawNode<f64>],
        seen: impl Fn(usize) -> (f64, [f64; 3]),
    ) -> Vec<LawNode<f64>> {
        let mut layers = Vec::new();
        for row in 0..self.dual.nodes() {
            let columns = &self.dual.pattern.col_idx()[self.dual.pattern.range(row)];
            let law_at = |j: &u32| laws.binary_search_by_key(j, |law| law.node).ok();
            if self.wall_of(row as u32).is_some() {
                continue;
            }
            if let Some(at) = columns.iter().find_map(law_at) {
                let (distance, away) = seen(row);
                let place = LawPlace { area: 0.0, distance, away, ..laws[at].place };
                layers.push(LawNode { node: row as u32, other: row as u32, place });
            }
        }
        layers
    }

    /// Puts the temperatures of walls with a law, by rows, where those of the nodes on them stand, which slide along.
    pub(super) fn put_temperatures_of_laws(&self, values: &mut [f64]) {
        let Some((transport, _)) = self.viscous else { return };
        for LawNode { node, other, place } in &self.laws[0] {
            let seen = primitive_of(&self.nodes[*other as usize]);
            values[*node as usize] = law_temperature(self.gas, transport, *place, &seen);
        }
    }

    /// Adds what walls with a law take up.
    pub(super) fn add_laws(&mut self, residual: &mut [[f64; 5]]) {
        let Some((transport, _)) = self.viscous else { return };
        let loads = &mut self.friction[self.fixed.len()..];
        for (LawNode { node, other, place }, taken) in self.laws[0].iter().zip(loads) {
            *taken = law_load(self.gas, transport, *place, &primitive_of(&self.nodes[*other as usize]));
            let flux = law_flux(*place, taken);
            for (sum, part) in residual[*node as usize].iter_mut().zip(flux) {
                *sum += part;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FlowSolver;
    use crate::config::{Boundary, Equations, FlowConfig};
    use crate::mesh::generate::{Cells, box_mesh};
    use chromaflow_device::Team;
    use std::sync::Arc;

    /// The temperature in files is the wall's, where a law stands for the layer: the one given, or what Crocco and Busemann have of a stream of
    /// Mach 0.5, 1 + 0.72^(1/3) 0.2 0.5^2. Off the walls it is the gas's.
    #[test]
    fn walls_with_a_law_show_their_temperature() {
        let mesh = box_mesh([4, 4, 6], [1.0; 3], Cells::Hexes, 0.0);
        let of = |wall: Boundary, walls: WallTreatment| {
            let turbulence = TurbulenceConfig { walls, ..TurbulenceConfig::default() };
            let mut config = FlowConfig {
                equations: Equations::Laminar,
                turbulence: Some(turbulence),
                ..FlowConfig::default()
            };
            (config.freestream.mach, config.freestream.reynolds) = (0.5, 1e6);
            for marker in &mesh.markers {
                let boundary = if marker.name == "zmin" { wall } else { Boundary::Farfield };
                config.boundaries.insert(marker.name.clone(), boundary);
            }
            let solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
            let fields = solver.fields_of(&|name| name == "temperature");
            let at = |is_wall: bool| {
                let mean = |sum: [f64; 2]| sum[0] / sum[1];
                let own = mesh.nodes.iter().zip(&fields[0].values).filter(|(x, _)| (x[2] == 0.0) == is_wall);
                mean(own.fold([0.0; 2], |[sum, count], (_, t)| [sum + t, count + 1.0]))
            };
            [true, false].map(at)
        };
        let hot = Boundary::NoSlipIsothermal { temperature: 1.2 };
        for (wall, expected) in [(hot, 1.2), (Boundary::NoSlipAdiabatic, 1.0 + 0.72_f64.cbrt() * 0.2 * 0.25)]
        {
            for walls in [WallTreatment::Functions, WallTreatment::Automatic] {
                let [wall, off] = of(wall, walls);
                assert!((wall - expected).abs() < 1e-12 && (off - 1.0).abs() < 1e-12, "{wall} {off}");
            }
        }
    }
}
