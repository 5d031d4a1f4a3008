//! The layer along walls without slip with which steady viscous flow begins.

use crate::bc::{Condition, WallHeat, WallNode, wall_at};
use crate::dual::dot;
use crate::gas::{Gas, Transport};
use crate::gradient::NodeRecord;
use crate::mesh::{Marker, Mesh};
use crate::turbulence::plate_thickness;
use crate::wall_distance::NearWalls;

/// Nodes near walls without slip.
///
/// From a stream that is uniform up to the walls, a flow begins that knows no friction: it rushes around trailing edges and through steps,
/// at states that no update of a bounded size leaves soon, and shear of one cell's height has to grow into a boundary layer. So there is a layer at
/// the beginning, as thick as one at the end of a plate of the walls' length: velocities fall towards the wall's own, by the power law of 1/7 in
/// turbulent flow and by Pohlhausen's profile without pressure gradient, 2 y - 2 y^3 + y^4, in laminar flow. The pressure stays, the temperature
/// goes with the velocity as Crocco and Busemann have it, for a Prandtl number of 1.
///
/// **Source**: White (2006), Viscous Fluid Flow, sections 4-6.2 (Pohlhausen), 6-6 (power laws), 7-2 (Crocco, Busemann).
pub(crate) struct WallLayer {
    turbulent: bool,
    /// Where nodes are in it, 0 at the wall and 1 at its edge, with the wall next to them.
    nodes: Vec<(f64, WallNode<f64>)>,
}

/// Thickness of a laminar layer at the end of a plate of the length `length`: 5 L / sqrt(Re).
///
/// **Source**: Blasius (1908); White (2006), eq. 4-51.
fn laminar_thickness(length: f64, speed: f64, nu: f64) -> f64 {
    5.0 * length / (speed * length / nu).max(1.0).sqrt()
}

/// Velocity in a turbulent layer over that at its edge, at a place in it from 0 to 1.
pub(crate) fn turbulent_share(y: f64) -> f64 {
    y.powf(1.0 / 7.0)
}

impl WallLayer {
    /// Of the nodes near `walls`, those of `surface` without slip, in a stream of this Mach number; `condition_of` gives the condition of a
    /// marker.
    pub fn new<'a>(
        surface: &Mesh,
        walls: &NearWalls,
        condition_of: impl Fn(&str) -> Option<&'a Condition<f64>>,
        transport: &Transport<f64>,
        (mach, turbulent): (f64, bool),
    ) -> Self {
        let faces = |m: &Marker| m.triangles.len() + m.quads.len();
        let of_marker = |m: &Marker| std::iter::repeat_n(condition_of(&m.name), faces(m));
        let of_faces: Vec<_> = surface.markers.iter().flat_map(of_marker).collect();
        let thickness = if turbulent { plate_thickness } else { laminar_thickness };
        let thickness = thickness(walls.surface.extent(), mach, transport.scale);
        let within = walls.nearest.iter().zip(0..).filter(|(near, _)| near.distance < thickness);
        let nodes = within.filter_map(|(near, node)| {
            let condition = of_faces[near.face as usize]?;
            let wall = WallNode { node, heat: condition.heat, wall: wall_at(condition, &near.place) };
            Some((near.distance / thickness, wall))
        });
        Self { turbulent, nodes: nodes.collect() }
    }

    /// Slows the gas in the layer down, from the state that is there.
    pub fn slow(&self, gas: Gas<f64>, nodes: &mut [NodeRecord]) {
        for (y, WallNode { node, heat, wall }) in &self.nodes {
            let node = &mut nodes[*node as usize];
            let share = if self.turbulent { turbulent_share(*y) } else { y * (2.0 - y * y * (2.0 - y)) };
            let relative: [f64; 3] = std::array::from_fn(|d| node[1 + d] - wall.velocity[d]);
            let outer = gas.gamma * node[4] / node[0];
            let rise = 0.5 * (gas.gamma - 1.0) * dot(relative, relative);
            let adiabatic = outer + rise;
            let at_wall = if *heat == WallHeat::Isothermal { wall.temperature } else { adiabatic };
            let temperature = at_wall + (adiabatic - at_wall) * share - rise * share * share;
            node[0] = gas.gamma * node[4] / temperature;
            for d in 0..3 {
                node[1 + d] = wall.velocity[d] + share * relative[d];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Boundary, Equations, FlowConfig, Time, TurbulenceConfig, Unsteady};
    use crate::mesh::generate::{Cells, box_mesh};
    use crate::unstructured::FlowSolver;
    use chromaflow_device::Team;
    use std::sync::Arc;

    /// Nodes of a box of 1 x 0.1 x 0.1 above a wall, stretched towards it, at Mach 2 and a Reynolds number of 1e5, as they begin.
    fn nodes_above(wall: &Boundary, turbulent: bool, time: Time) -> Vec<NodeRecord> {
        let mesh = box_mesh([4, 2, 30], [1.0, 0.1, 0.1], Cells::Hexes, 0.0);
        let mut config = FlowConfig { time, equations: Equations::Laminar, ..FlowConfig::default() };
        (config.freestream.mach, config.freestream.reynolds) = (2.0, 1e5);
        config.turbulence = turbulent.then(TurbulenceConfig::default);
        for marker in &mesh.markers {
            let boundary = if marker.name == "zmin" { *wall } else { Boundary::Farfield };
            config.boundaries.insert(marker.name.clone(), boundary);
        }
        FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap().host.nodes.to_vec()
    }

    /// Velocities follow the profiles, pressures stay, total enthalpy is that of the stream before an adiabatic wall, and an isothermal one has
    /// its temperature.
    #[test]
    fn steady_viscous_flow_begins_with_a_layer() {
        let isothermal = Boundary::NoSlipIsothermal { temperature: 1.3 };
        for turbulent in [false, true] {
            let thickness = if turbulent { 0.16 * 1e5_f64.powf(-1.0 / 7.0) } else { 5.0 / 1e5_f64.sqrt() };
            for wall in [&Boundary::NoSlipAdiabatic, &isothermal] {
                let mut within = 0;
                for [density, u, v, w, pressure, _, _, z] in nodes_above(wall, turbulent, Time::default()) {
                    let y = (z / thickness).min(1.0);
                    within += usize::from(y < 1.0);
                    let profile =
                        if turbulent { y.powf(1.0 / 7.0) } else { 2.0 * y - 2.0 * y.powi(3) + y.powi(4) };
                    assert!((u - 2.0 * profile).abs() < 1e-13 && v == 0.0 && w == 0.0, "{u} at {y}");
                    assert!((pressure * 1.4 - 1.0).abs() < 1e-14);
                    let temperature = 1.4 * pressure / density;
                    if *wall == Boundary::NoSlipAdiabatic {
                        assert!((temperature + 0.2 * u * u - 1.8).abs() < 1e-13, "{temperature} at {y}");
                    } else if y == 0.0 {
                        assert!((temperature - 1.3).abs() < 1e-13);
                    } else {
                        assert!(temperature > 0.99 && temperature < 1.8, "{temperature} at {y}");
                    }
                }
                assert!(within >= 15 * 5, "{within}");
            }
        }
    }

    #[test]
    fn unsteady_and_frictionless_flow_begins_without() {
        let moves = |nodes: Vec<NodeRecord>| nodes.iter().filter(|node| node[1] == 2.0).count();
        let unsteady = nodes_above(&Boundary::NoSlipAdiabatic, false, Time::Unsteady(Unsteady::default()));
        assert_eq!(moves(unsteady), 5 * 3 * 30, "all but those on the wall");
        assert_eq!(moves(nodes_above(&Boundary::SlipWall, false, Time::default())), 5 * 3 * 31);
    }
}
