//! Nodes on planes of symmetry as those of the whole mesh, made of this one and of its mirror images.
//!
//! Fluxes through a plane of symmetry are those of a slip wall, so that a node's mass and energy balance as half of the whole one's do. What the whole
//! mesh has besides: its momentum balances in the plane alone, and gradients see the images of neighbors. Where two planes meet in a line, as
//! on the axis of a sector of a body of revolution, only momentum along it is left, and images lie all around.

use super::{Added, Gradient, NodeRecord, SHOCK};
use crate::bc::{
    Condition, ConditionKind, Mirror, MirrorNode, WallNode, mirror_add, mirror_gradient, mirror_kept,
};
use crate::config::GradientWeights;
use crate::dual::{Dual, cross, dot, norm, scale, sub};
use crate::equations::perfect_gas::State;
use crate::flux::pressure_jump;
use crate::gas::{Gas, primitive};
use crate::mesh::{Marker, Mesh};
use crate::parallel;
use chromaflow::BlockPattern;
use chromaflow_device::Team;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The nodes on planes of symmetry, ascending, and how many images each of their neighbors has.
#[derive(Clone, Debug, Default)]
pub struct Mirrors {
    /// The nodes.
    pub nodes: Vec<MirrorNode<f64>>,
    /// Of each neighbor of each node: so many images, itself included.
    pub weights: Vec<f64>,
}

/// Sine of an angle below which directions are the same, and places on a plane.
const FLAT: f64 = 1e-6;
/// Planes of symmetry meet at right angles or sharper ones: the product of their normals at most.
const BENT: f64 = 1e-3;

impl Mirrors {
    /// Of a mesh whose rows are those of `dual`. Nodes on walls without slip have no momentum to speak of; surfaces that bend, and the
    /// elements' faces next to where they do, are no planes, and just let nothing through.
    pub fn new(mesh: &Mesh, dual: &Dual, conditions: &[Condition<f64>], walls: &[WallNode<f64>]) -> Self {
        let of =
            |name: &str| dual.patches.iter().position(|patch| patch.name == name).map(|p| conditions[p].kind);
        let markers = || mesh.markers.iter().filter(|m| of(&m.name) == Some(ConditionKind::Symmetry));
        let row = |node: u32| node % dual.nodes() as u32;
        let mut normals: BTreeMap<u32, Vec<[f64; 3]>> = BTreeMap::new();
        for face in markers().flat_map(faces) {
            let normal = normal(mesh, face);
            for &node in face {
                let known = normals.entry(row(node)).or_default();
                if !known.iter().any(|n| norm(cross(*n, normal)) < FLAT) {
                    known.push(normal);
                }
            }
        }
        let is_bent = |normals: &[[f64; 3]]| {
            normals.iter().enumerate().any(|(k, n)| normals[..k].iter().any(|m| dot(*n, *m) > BENT))
        };
        let bent: BTreeSet<u32> =
            normals.iter().filter(|(_, of)| is_bent(of)).map(|(node, _)| *node).collect();
        let by_bends = markers().flat_map(faces).filter(|face| face.iter().any(|&i| bent.contains(&row(i))));
        let left: BTreeSet<u32> = by_bends.flatten().map(|&node| row(node)).collect();
        let mut out = Self::default();
        for (node, normals) in normals {
            if !left.contains(&node) && walls.binary_search_by_key(&node, |wall| wall.node).is_err() {
                out.push(mesh, dual, node, &normals);
            }
        }
        out
    }

    fn push(&mut self, mesh: &Mesh, dual: &Dual, node: u32, normals: &[[f64; 3]]) {
        let n = normals[0];
        let (axes, inside, planes) = match normals {
            [_] => {
                let least = (0..3).min_by(|&a, &b| n[a].abs().total_cmp(&n[b].abs())).expect("three");
                let unit = std::array::from_fn(|d| f64::from(u8::from(d == least)));
                let along = unit_of(cross(n, unit));
                ([cross(along, n), along, n], [1.0, 1.0, 0.0], 1.0)
            }
            [_, other] => {
                let line = unit_of(cross(n, *other));
                let angle = std::f64::consts::PI - dot(n, *other).clamp(-1.0, 1.0).acos();
                ([line, cross(n, line), n], [1.0, 0.0, 0.0], (std::f64::consts::PI / angle).round())
            }
            _ => ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], [0.0; 3], 2.0),
        };
        self.nodes.push(MirrorNode {
            node,
            first: self.weights.len() as u32,
            mirror: Mirror {
                frame: std::array::from_fn(|k| axes[k / 3][k % 3]),
                inside,
                alike: f64::from(u8::from(normals.len() == 2 && planes != 2.0)),
            },
        });
        let here = &mesh.nodes[node as usize];
        for k in dual.pattern.range(node as usize) {
            let d = dual.between(here, &mesh.nodes[dual.pattern.col_idx()[k] as usize]);
            let off = normals.iter().filter(|n| dot(**n, d).abs() > FLAT * norm(d)).count();
            self.weights.push(match (off, normals.len()) {
                (0, _) => 1.0,
                (1, 2) => planes,
                (2, 2) => 2.0 * planes,
                _ => f64::from(1_u32 << off.min(8)),
            });
        }
    }

    /// Those in a range of rows.
    pub(crate) fn within(&self, rows: &Range<usize>) -> &[MirrorNode<f64>] {
        parallel::within(&self.nodes, rows, |mirror| mirror.node)
    }

    /// Takes from the states of the nodes in `rows`, whose `q` and `nodes` these are, what momentum points out of the planes.
    pub(crate) fn hold(&self, gas: Gas<f64>, rows: &Range<usize>, q: &mut [State], nodes: &mut [NodeRecord]) {
        for MirrorNode { node, mirror, .. } in self.within(rows) {
            let at = *node as usize - rows.start;
            let (q, node) = (&mut q[at], &mut nodes[at]);
            *q = mirror_kept(mirror, q);
            node[..5].copy_from_slice(&primitive(gas, q));
        }
    }

    /// Gradients of the nodes and what they know a shock by, in the place of what neighbors on one side alone make. `mapped` is as
    /// [`least_squares`](super::least_squares) has it.
    pub fn gradients(
        &self,
        team: &Team,
        pattern: &BlockPattern,
        nodes: &[NodeRecord],
        weights: GradientWeights,
        mapped: &Added<3>,
        out: &mut [Gradient],
    ) {
        let by_distance = weights == GradientWeights::InverseDistance;
        parallel::rows(team, nodes.len(), 1, out, |rows, out| {
            for &MirrorNode { node, first, mirror } in self.within(&rows) {
                let (i, mut sums, mut jumps) = (node as usize, [0.0; 24], 0.0);
                let own = &nodes[i];
                let neighbors = pattern.columns(i).iter().zip(&self.weights[first as usize..]);
                for (k, (&j, &images)) in neighbors.enumerate() {
                    let other = &nodes[j as usize];
                    let added = mapped.get(i, k);
                    let d: [f64; 3] = std::array::from_fn(|d| other[5 + d] - own[5 + d] + added[d]);
                    let diff = std::array::from_fn(|v| other[v] - own[v]);
                    let weight = if by_distance { images / dot(d, d) } else { images };
                    mirror_add(&mirror, weight, &d, &diff, &mut sums);
                    jumps += images * pressure_jump(own[4], other[4]);
                }
                let gradient = &mut out[i - rows.start];
                gradient[..SHOCK].copy_from_slice(&mirror_gradient(&mirror, &sums));
                gradient[SHOCK] = jumps;
            }
        });
    }
}

/// The faces of a marker.
fn faces(marker: &Marker) -> impl Iterator<Item = &[u32]> {
    marker.triangles.iter().map(|t| t.as_slice()).chain(marker.quads.iter().map(|q| q.as_slice()))
}

/// The unit normal of a face, outwards.
fn normal(mesh: &Mesh, face: &[u32]) -> [f64; 3] {
    let x = &mesh.corners(face)[..face.len()];
    let [a, b] = match x {
        [a, b, c] => [sub(*b, *a), sub(*c, *a)],
        _ => [sub(x[2], x[0]), sub(x[3], x[1])],
    };
    unit_of(cross(a, b))
}

fn unit_of(v: [f64; 3]) -> [f64; 3] {
    scale(1.0 / norm(v), v)
}
