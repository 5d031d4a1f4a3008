//! Cells at walls: how high they are, and what y+ is to be expected there.

use chromaflow_flow::config::{Boundary, Equations, Freestream, Reference};
use chromaflow_flow::mesh::{Marker, Mesh};
use chromaflow_flow::turbulence::plate_friction;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A flow that may shear over its walls.
pub struct Shearing<'a> {
    pub equations: Equations,
    pub turbulent: bool,
    pub boundaries: &'a BTreeMap<String, Boundary>,
    pub stream: &'a Freestream,
    pub reference: &'a Reference,
}

/// Part of the free stream's speed by which a wall may differ from it and still go with it.
const WITH_STREAM: f64 = 0.1;

/// y+ from which on the first nodes of a wall stand farther off than in any flow that is meant: streets in the wind have some ten thousand.
const FAR: f64 = 2e4;

impl Shearing<'_> {
    /// Whether the flow shears over a wall: it has no slip, and does not go with the stream as a road does under a car.
    fn shears(&self, marker: &str) -> bool {
        match self.boundaries.get(marker) {
            Some(Boundary::MovingWall { motion, .. }) => {
                let (mach, along) =
                    (self.stream.mach, self.stream.direction(self.reference.lift_axis.unwrap_or(2)));
                let off = (0..3).map(|k| (motion.velocity[k] - mach * along[k]).powi(2)).sum::<f64>();
                motion.rotation != [0.0; 3] || off.sqrt() > WITH_STREAM * mach
            }
            other => other.is_some_and(Boundary::is_no_slip),
        }
    }

    /// Smallest and largest y+ to be expected at each wall, of places at this `share` of the way to the first nodes off it: their distance times
    /// the friction velocity of a flat plate at the Reynolds number of the reference length, laminar (Blasius: Cf = 0.664 / sqrt(Re)) or turbulent
    /// (Cf = 0.027 / Re^(1/7); White, Viscous Fluid Flow, 2006).
    pub fn y_plus(&self, mesh: &Mesh, share: f64) -> Vec<(String, [f64; 2])> {
        if self.equations == Equations::Euler {
            return Vec::new();
        }
        let unit = self.stream.reynolds;
        let reynolds = unit * self.reference.length;
        let friction = if self.turbulent { plate_friction(reynolds) } else { 0.664 / reynolds.sqrt() };
        let scale = share * unit * (friction / 2.0).sqrt();
        let walls = WallCells::by_marker(mesh, |marker| self.shears(marker));
        walls
            .into_iter()
            .map(|(wall, cells)| (wall, [scale * cells.heights.0, scale * cells.heights.1]))
            .collect()
    }

    /// The same in words; `first`: what is first, and where.
    pub fn lines(&self, first: &str, y_plus: &[(String, [f64; 2])]) -> Vec<String> {
        let layer = if self.turbulent { "turbulent" } else { "laminar" };
        let mut lines = Vec::new();
        if y_plus.is_empty() {
            lines.push("no viscous walls: no y+".to_owned());
        } else {
            lines.push(format!("y+ of the first {first} walls, as on a {layer} flat plate"));
            lines.extend(y_plus.iter().map(|(wall, [low, high])| {
                format!("  {wall:20} {} to {}", height(*low, 2), height(*high, 2))
            }));
            if y_plus.iter().any(|(_, [low, _])| *low > FAR) {
                lines.push(format!(
                    "y+ above {FAR}: is the mesh's unit the one of the Reynolds number? flow.meters says how long it is where the stream has units, \
                     flow.reynolds_length is in it, mesh.scale changes it"
                ));
            }
        }
        lines
    }
}

/// A y+ for people: with an exponent where it has more digits than anybody reads.
pub fn height(y_plus: f64, decimals: usize) -> String {
    if y_plus < 1e6 { format!("{y_plus:.decimals$}") } else { format!("{y_plus:.decimals$e}") }
}

/// The range over all walls, and by walls, for scripts.
pub fn json(y_plus: &[(String, [f64; 2])]) -> [Value; 2] {
    let all = y_plus.iter().map(|(_, range)| *range).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
    let of = |(wall, [min, max]): &(String, [f64; 2])| {
        (wall.clone(), json!({ "y_plus": { "min": min, "max": max } }))
    };
    [json!(all), Value::Object(y_plus.iter().map(of).collect())]
}

/// Cells at walls.
#[derive(Clone, Copy, Debug)]
pub struct WallCells {
    /// Smallest and largest distance from a wall's node to the nearest one off the wall, among those that share a cell.
    pub heights: (f64, f64),
    /// Median of those distances.
    pub height: f64,
    /// Median of the longest edge of the wall at a node over that distance.
    pub aspect: f64,
}

impl WallCells {
    /// Those at these walls; none where there are none.
    pub fn of(mesh: &Mesh, is_wall: impl Fn(&str) -> bool) -> Option<Self> {
        let nodes = nodes_at(mesh, is_wall);
        Self::from_nodes(&nodes, 0..nodes.len())
    }

    /// The same of each wall by itself.
    pub fn by_marker(mesh: &Mesh, is_wall: impl Fn(&str) -> bool) -> Vec<(String, Self)> {
        let nodes = nodes_at(mesh, &is_wall);
        let of = |marker: &Marker| {
            let faces = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
            let mut own: Vec<usize> = faces.map(|&n| n as usize).collect();
            own.sort_unstable();
            own.dedup();
            Some((marker.name.clone(), Self::from_nodes(&nodes, own)?))
        };
        mesh.markers.iter().filter(|m| is_wall(&m.name)).filter_map(of).collect()
    }

    /// Of these nodes, where some of them are at walls; `nodes` as [`nodes_at`] gives them.
    fn from_nodes(nodes: &[[f64; 2]], own: impl IntoIterator<Item = usize>) -> Option<Self> {
        let at_wall = own.into_iter().map(|n| nodes[n]).filter(|[height, _]| height.is_finite());
        let (mut heights, mut aspects): (Vec<f64>, Vec<f64>) =
            at_wall.map(|[height, longest]| (height, longest / height)).unzip();
        heights.sort_by(f64::total_cmp);
        aspects.sort_by(f64::total_cmp);
        let (low, high) = (*heights.first()?, *heights.last()?);
        let middle = heights.len() / 2;
        Some(Self { heights: (low, high), height: heights[middle], aspect: aspects[middle] })
    }

    /// Whether they were made for a boundary layer: much longer than high.
    pub fn are_layers(&self) -> bool {
        self.aspect >= 20.0
    }
}

/// For each node its distance from the nearest one off the walls in a cell of both, infinite off walls, and the longest edge of a wall at it.
fn nodes_at(mesh: &Mesh, is_wall: impl Fn(&str) -> bool) -> Vec<[f64; 2]> {
    let distance = |a: u32, b: u32| {
        let (p, q) = (mesh.nodes[a as usize], mesh.nodes[b as usize]);
        (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt()
    };
    // The longest edge of the wall at each node; negative off walls. Planar meshes are a cell deep, which says nothing.
    let mut longest = vec![-1.0_f64; mesh.nodes.len()];
    let deep = |a: u32, b: u32| {
        let (p, q) = (mesh.nodes[a as usize], mesh.nodes[b as usize]);
        mesh.planar.is_some() && (p[0], p[1]) == (q[0], q[1])
    };
    let mut face = |nodes: &[u32]| {
        for (k, &a) in nodes.iter().enumerate() {
            let b = nodes[(k + 1) % nodes.len()];
            let length = if deep(a, b) { 0.0 } else { distance(a, b) };
            for n in [a, b] {
                longest[n as usize] = longest[n as usize].max(length);
            }
        }
    };
    for marker in mesh.markers.iter().filter(|m| is_wall(&m.name)) {
        marker.triangles.iter().for_each(|t| face(t));
        marker.quads.iter().for_each(|q| face(q));
    }
    let mut nearest = vec![f64::INFINITY; mesh.nodes.len()];
    mesh.each_element(|_, _, nodes| {
        for &a in nodes.iter().filter(|a| longest[**a as usize] >= 0.0) {
            for &b in nodes.iter().filter(|b| longest[**b as usize] < 0.0) {
                nearest[a as usize] = nearest[a as usize].min(distance(a, b));
            }
        }
    });
    nearest.into_iter().zip(longest).map(|(height, longest)| [height, longest]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::bc::Motion;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};

    /// y+ is told wall by wall; walls with slip, and one that goes with the stream, have none.
    #[test]
    fn walls_over_which_nothing_shears_have_no_y_plus() {
        let mut mesh = box_mesh([4; 3], [1.0; 3], Cells::Hexes, 0.0);
        mesh.nodes.iter_mut().for_each(|x| x[1] *= x[1]);
        let names = ["xmin", "xmax", "floor", "top", "road", "belt"];
        mesh.markers.iter_mut().zip(names).for_each(|(m, name)| m.name = name.to_owned());
        let moving = |u: f64| {
            let motion = Motion { velocity: [u, 0.0, 0.0], rotation: [0.0; 3], center: [0.0; 3] };
            Boundary::MovingWall { motion, temperature: None }
        };
        let walls = [Boundary::NoSlipAdiabatic, Boundary::SlipWall, moving(0.2), moving(-0.2)];
        let boundaries: BTreeMap<_, _> =
            names[2..].iter().map(|name| (*name).to_owned()).zip(walls).collect();
        let stream = Freestream { mach: 0.2, reynolds: 1e6, ..Freestream::default() };
        let mut flow = Shearing {
            equations: Equations::Laminar,
            turbulent: true,
            boundaries: &boundaries,
            stream: &stream,
            reference: &Reference::default(),
        };
        let y_plus = flow.y_plus(&mesh, 1.0);
        let told: Vec<&str> = y_plus.iter().map(|(wall, _)| wall.as_str()).collect();
        assert_eq!(told, ["floor", "belt"]);
        // The first nodes off the floor stand at 1/16, but at its edge on the belt.
        let scale = 1e6 * (plate_friction(1e6) / 2.0).sqrt();
        assert!((y_plus[0].1[0] - scale / 16.0).abs() < 1e-9 * scale, "{y_plus:?}");
        assert_eq!(flow.lines("nodes off", &y_plus).len(), 3);
        let far: Vec<_> =
            y_plus.iter().map(|(wall, range)| (wall.clone(), range.map(|y| 100.0 * y))).collect();
        assert!(flow.lines("nodes off", &far).last().unwrap().starts_with("y+ above 20000"));
        let farther = [("floor".to_owned(), [0.5, 1e222])];
        assert_eq!(flow.lines("nodes off", &farther)[1], format!("  {:20} 0.50 to 1.00e222", "floor"));
        assert_eq!(json(&y_plus)[0][0], y_plus[0].1[0].min(y_plus[1].1[0]));
        flow.equations = Equations::Euler;
        assert!(flow.y_plus(&mesh, 1.0).is_empty());
    }
}
