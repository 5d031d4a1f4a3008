//! The state at the beginning: the free stream, what walls give, in steady supersonic flow a shock layer before walls that face the
//! stream, and in steady viscous flow a layer along walls without slip.

use crate::bc::{Condition, WallHeat, WallNode};
use crate::config::{FlowConfig, Time};
use crate::dual::{Dual, Patch};
use crate::equations::perfect_gas::State;
use crate::gas::{Gas, Transport};
use crate::gradient::NodeRecord;
use crate::mesh::{Marker, Mesh, dot};
use crate::parallel;
use crate::ranks::{Rows, Seam};
use crate::wall_distance::{NearWalls, Nearest};
use crate::wall_layer::WallLayer;
use chromaflow::dist::{Links, Share};
use chromaflow_device::{Buffer, Team};
use std::borrow::Cow;
use std::sync::Arc;

/// The walls of a mesh, as its set-up asks for them.
pub(super) struct Walls {
    /// All walls.
    pub around: Option<Around>,
    /// Those without slip, of steady and of turbulent viscous flow.
    pub held: Option<NearWalls>,
    layer: Option<WallLayer>,
}

impl Walls {
    /// Of a mesh and a surface that has all its walls.
    pub fn new(
        (mesh, surface): (&Mesh, &Mesh),
        dual: &Dual,
        conditions: &[Condition<f64>],
        transport: Option<&Transport<f64>>,
        (free, config): (&State, &FlowConfig),
        team: &Team,
        rows: Option<&Rows>,
    ) -> Self {
        let share = rows.map(|rows| &rows.share);
        let seam = rows.and_then(|rows| rows.seam.as_ref());
        let near = |is_wall: &dyn Fn(&Marker) -> bool| {
            let mut near = NearWalls::of(surface, is_wall, &mesh.nodes[..dual.nodes()], team)?;
            if let Some(seam) = seam {
                seam.follow(&mut near);
            }
            Some(near)
        };
        let patches = || dual.patches.iter().zip(conditions);
        let condition_of =
            |name: &str| patches().find(|(patch, _)| patch.name == name).map(|(_, condition)| condition);
        let holds = |name: &str| condition_of(name).is_some_and(|condition| condition.kind.is_no_slip());
        let steady = matches!(config.time, Time::Steady(_));
        let viscous = transport.filter(|_| steady || config.turbulence.is_some());
        let held = viscous.and_then(|_| near(&|marker| holds(&marker.name)));
        let asked = (config.space.second_order && config.space.mapped) || config.freestream.mach > 1.0;
        let around = asked.then(|| {
            let walls: Vec<_> = patches().filter(|(_, condition)| condition.kind.is_wall()).collect();
            // Where no wall lets the gas slip they are the same.
            let same =
                held.as_ref().filter(|_| walls.iter().all(|(_, condition)| condition.kind.is_no_slip()));
            let is_wall = |marker: &Marker| walls.iter().any(|(patch, _)| patch.name == marker.name);
            let found = same.map(Cow::Borrowed);
            let near = found.or_else(|| near(&is_wall).map(Cow::Owned))?;
            Some(Around::new(mesh, &near, walls.iter().map(|(patch, _)| *patch), free, (team, share)))
        });
        let layer = transport.filter(|_| steady).zip(held.as_ref());
        let stream = (config.freestream.mach, config.turbulence.is_some());
        let layer =
            layer.map(|(transport, held)| WallLayer::new(surface, held, condition_of, transport, stream));
        Self { around: around.flatten(), held, layer }
    }
}

impl Seam {
    /// The nearest places of images are those of their rows: around an axis they stand in sectors beyond those whose walls were looked at.
    fn follow(&self, near: &mut NearWalls) {
        for &(row, of, turns) in &self.images {
            let own = near.nearest[of as usize];
            near.nearest[row as usize] = Nearest { place: self.rotation.moved(turns, own.place), ..own };
        }
    }
}

/// The state at the `n` rows of a mesh from which a run begins.
pub(super) fn beginning(
    walls: &Walls,
    mesh: &Mesh,
    fixed: &[WallNode<f64>],
    (n, gas): (usize, Gas<f64>),
    free: &State,
    (config, team): (&FlowConfig, &Team),
) -> Buffer<NodeRecord> {
    let mut nodes = Buffer::<NodeRecord>::zeroed(n);
    parallel::rows(team, n, 1, &mut nodes, |rows, nodes| {
        for (node, x) in nodes.iter_mut().zip(&mesh.nodes[rows]) {
            *node = [free[0], free[1], free[2], free[3], free[4], x[0], x[1], x[2]];
        }
    });
    if let Some(around) = walls.around.as_ref().filter(|_| matches!(config.time, Time::Steady(_))) {
        around.add_shock_layer(gas, free, &mut nodes, team);
    }
    if let Some(layer) = &walls.layer {
        layer.slow(gas, &mut nodes);
    }
    // Walls without slip give their velocity and, where they have one, their temperature.
    for WallNode { node, heat, wall } in fixed {
        let node = &mut nodes[*node as usize];
        node[1..4].copy_from_slice(&wall.velocity);
        if *heat == WallHeat::Isothermal {
            node[0] = gas.gamma * node[4] / wall.temperature;
        }
    }
    nodes
}

/// Thickness of the layer over the smaller extent of all walls across the stream: within the layer before a nose of a tenth of that, whose
/// shock stands off by a fifth to a half of its radius.
const LAYER: f64 = 0.02;

/// Where walls, with and without slip, are as the rows see them.
pub(super) struct Around {
    /// From the nearest wall.
    pub distance: Vec<f64>,
    /// The way away from it, of length 1; on walls against their areas.
    pub away: Vec<[f64; 3]>,
    /// Thickness of the shock layer at the beginning.
    thickness: f64,
}

impl Around {
    /// Of the nodes of a mesh next to `walls`, whose parts of the boundary are `patches`.
    fn new<'a>(
        mesh: &Mesh,
        walls: &NearWalls,
        patches: impl Iterator<Item = &'a Patch>,
        free: &State,
        (team, share): (&Team, Option<&Arc<Share>>),
    ) -> Self {
        let nearest = &walls.nearest;
        // On the wall itself the way away from it is against the areas.
        let mut away = vec![[0.0; 3]; nearest.len()];
        for patch in patches {
            for (&i, area) in patch.nodes.iter().zip(&patch.areas) {
                let away = &mut away[i as usize];
                *away = std::array::from_fn(|d| away[d] - area[d]);
            }
        }
        let unit = |v: [f64; 3]| {
            let size = (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt();
            if size > 0.0 { v.map(|v| v / size) } else { v }
        };
        let mut distance = vec![0.0; nearest.len()];
        let outputs = ((1, &mut away[..]), (1, &mut distance[..]));
        parallel::rows2(team, nearest.len(), outputs.0, outputs.1, |rows, away, distance| {
            let around = nearest[rows.clone()].iter().zip(&mesh.nodes[rows]);
            for ((away, distance), (near, x)) in away.iter_mut().zip(distance).zip(around) {
                let on_wall = away.iter().any(|v| *v != 0.0);
                let mut from = std::array::from_fn(|d| if on_wall { away[d] } else { x[d] - near.place[d] });
                if mesh.planar.is_some() {
                    from[2] = 0.0;
                }
                (*away, *distance) = (unit(from), near.distance);
            }
        });
        if let Some(share) = share {
            share.exchange(3, away.as_flattened_mut());
            // On the axis of turned sides walls lie all around: there is no way away from them but along it.
            for image in &share.images().on_axis {
                let away = &mut away[image.row as usize];
                if dot(*away, *away) < 1.0 - 1e-9 {
                    *away = [0.0; 3];
                }
            }
        }
        let thickness = LAYER * walls.surface.extent_across(&unit([free[1], free[2], free[3]]));
        Self { distance, away, thickness }
    }

    /// Replaces the state within the layer by that behind a normal shock of the stream's part towards the wall, where that part is supersonic;
    /// what is left of it behind the shock falls to zero at the wall.
    ///
    /// A bow shock moves by a cell in some steps. From the free stream it begins at the wall, and crosses all the layers of cells
    /// that are made for a boundary layer.
    fn add_shock_layer(&self, gas: Gas<f64>, free: &State, nodes: &mut [NodeRecord], team: &Team) {
        let sound = (gas.gamma * free[4] / free[0]).sqrt();
        parallel::rows(team, nodes.len(), 1, nodes, |rows, nodes| {
            let around = self.distance[rows.clone()].iter().zip(&self.away[rows]);
            for (node, (&d, away)) in nodes.iter_mut().zip(around) {
                let towards = -dot(*away, [free[1], free[2], free[3]]);
                if d >= self.thickness || towards <= sound {
                    continue;
                }
                let (density, pressure) = behind_shock(gas, towards / sound);
                node[0] = density * free[0];
                node[4] = pressure * free[4];
                let left = towards * (d / self.thickness) / density;
                for k in 0..3 {
                    node[1 + k] = free[1 + k] + (towards - left) * away[k];
                }
            }
        });
    }
}

/// Density and pressure behind a normal shock of this Mach number, at least 1, over those before it.
///
/// **Source**: Anderson (2003), Modern Compressible Flow, eq. 3.53 and 3.57.
fn behind_shock(gas: Gas<f64>, mach: f64) -> (f64, f64) {
    let (g, square) = (gas.gamma, mach * mach);
    let density = (g + 1.0) * square / ((g - 1.0) * square + 2.0);
    (density, 1.0 + 2.0 * g / (g + 1.0) * (square - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Boundary, Unsteady};
    use crate::mesh::generate::{Cells, box_mesh};
    use crate::unstructured::FlowSolver;

    /// Nodes of a box along x, whose end x = 0.2 is a wall of 1 x 1, in a stream towards it.
    fn nodes_before_a_wall(mach: f64, time: Time) -> Vec<NodeRecord> {
        let mesh = box_mesh([40, 2, 2], [0.2, 1.0, 1.0], Cells::Hexes, 0.0);
        let mut config = FlowConfig { time, ..FlowConfig::default() };
        config.freestream.mach = mach;
        for marker in &mesh.markers {
            let wall = marker.name == "xmax";
            let boundary = if wall { Boundary::SlipWall } else { Boundary::Farfield };
            config.boundaries.insert(marker.name.clone(), boundary);
        }
        FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap().host.nodes.to_vec()
    }

    /// Density and pressure are those of the tables at M 3, mass passes the shock, and the gas rests at the wall; farther off is the stream.
    #[test]
    fn a_supersonic_stream_has_a_shock_layer_before_a_wall() {
        let nodes = nodes_before_a_wall(3.0, Time::default());
        let (mut behind, mut before) = (0, 0);
        for [density, u, v, w, pressure, x, ..] in nodes {
            let d = 0.2 - x;
            assert!(v == 0.0 && w == 0.0);
            if d < LAYER - 1e-9 {
                behind += 1;
                assert!((density - 3.857).abs() < 1e-3 && (pressure * 1.4 - 10.333).abs() < 1e-3);
                assert!((density * u - 3.0 * d / LAYER).abs() < 1e-9, "{u} at {d}");
            } else if d > LAYER + 1e-9 {
                before += 1;
                assert!(density == 1.0 && u == 3.0 && (pressure * 1.4 - 1.0).abs() < 1e-14);
            }
        }
        assert!(behind >= 4 * 9 && before >= 36 * 9 - 9, "{behind}, {before}");
    }

    #[test]
    fn subsonic_and_unsteady_flow_begins_with_the_stream() {
        let unsteady = Time::Unsteady(Unsteady::default());
        for (mach, time) in [(0.9, Time::default()), (3.0, unsteady)] {
            assert!(nodes_before_a_wall(mach, time).iter().all(|node| node[0] == 1.0 && node[1] == mach));
        }
    }
}
