//! Pairs of markers that are one and the same place of a flow that repeats.
//!
//! [`merge`] makes of both nodes of every pair (of four or eight, where several pairs meet) one node, and inner faces of the pair's faces:
//! what comes out is an ordinary mesh without boundary there. Elements then reach around, and the way from one of their corners to
//! another is the shortest of all that differ by [`Periods`].
//!
//! Sides that are turned about an axis have no such way: their merged mesh says only which nodes are neighbors, and [`Turned`] by how many
//! turns each node of the file stands from the one that it became.

mod error;
mod matching;
mod motion;
mod rotation;
#[cfg(test)]
mod tests;
mod turns;

pub use error::PeriodicError;
pub use motion::Motion;
pub use rotation::{Matrix, Rotation, product};

use crate::Groups;
use crate::{Marker, Mesh, Planar, dot, sub};
pub(crate) use matching::matched;
use turns::Turns;

/// Translations, three at most, after which a mesh repeats.
///
/// ```
/// use chromaflow_mesh::periodic::Periods;
/// let periods = Periods::new(&[[2.0, 0.0, 0.0], [0.5, 1.0, 0.0]]).unwrap();
/// // From a node near one side to the image of one near the other.
/// assert_eq!(periods.nearest([1.9, 0.25, 7.0]), [1.9 - 2.0, 0.25, 7.0]);
/// assert_eq!(periods.nearest([0.5, 0.9, 0.0]), [0.0, 0.9 - 1.0, 0.0]);
/// assert!(Periods::new(&[[1.0, 0.0, 0.0], [2.0, 0.0, 0.0]]).is_none()); // one is a multiple of the other
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Periods {
    count: usize,
    steps: [[f64; 3]; 3],
    across: [[f64; 3]; 3],
}

impl Periods {
    /// Of these translations; none where they are more than three or depend on one another.
    pub fn new(steps: &[[f64; 3]]) -> Option<Self> {
        let mut out = Self { count: steps.len(), ..Self::default() };
        if steps.len() > 3 {
            return None;
        }
        out.steps[..steps.len()].copy_from_slice(steps);
        // Each reciprocal vector is what the others leave of its own, by Gram and Schmidt, over its length squared.
        for k in 0..steps.len() {
            let mut basis: Vec<[f64; 3]> = Vec::new();
            for &other in (0..steps.len()).filter(|&j| j != k).map(|j| &steps[j]) {
                basis.push(rest(other, &basis));
            }
            let own = rest(steps[k], &basis);
            let size = dot(own, own);
            if size.is_nan() || size <= 1e-12 * dot(steps[k], steps[k]) {
                return None;
            }
            out.across[k] = own.map(|v| v / size);
        }
        Some(out)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The translations t_k, `[periods]`.
    pub fn steps(&self) -> &[[f64; 3]] {
        &self.steps[..self.count]
    }

    /// Vectors r_k with r_k . t_l = 1 for k = l, else 0: so many periods along t_k lie in dx as r_k . dx, `[periods]`.
    pub fn across(&self) -> &[[f64; 3]] {
        &self.across[..self.count]
    }

    /// `dx` between two neighbors, less the period that is in it where one of them is given by its image.
    #[inline(always)]
    pub fn nearest(&self, dx: [f64; 3]) -> [f64; 3] {
        let mut out = dx;
        for (t, r) in self.steps().iter().zip(self.across()) {
            let part = dot(dx, *r);
            let whole = if part > 0.5 {
                1.0
            } else if part < -0.5 {
                -1.0
            } else {
                continue;
            };
            out = std::array::from_fn(|d| out[d] - whole * t[d]);
        }
        out
    }
}

/// What is left of `v` without its parts along an orthogonal basis.
fn rest(v: [f64; 3], basis: &[[f64; 3]]) -> [f64; 3] {
    basis.iter().fold(v, |v, b| {
        let size = dot(*b, *b);
        let part = if size > 0.0 { dot(v, *b) / size } else { 0.0 };
        std::array::from_fn(|d| v[d] - part * b[d])
    })
}

/// Which nodes of a mesh became which of the merged one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images {
    /// Node of the merged mesh of each node.
    pub merged: Vec<u32>,
    /// The lowest node of each node of the merged mesh.
    pub first: Vec<u32>,
    /// Markers whose faces are inner ones of the merged mesh.
    pub joined: Vec<String>,
    /// Where a pair is turned, by what.
    pub turned: Option<Turned>,
}

/// How nodes of a mesh with turned sides stand to those that they became.
#[derive(Clone, Debug, PartialEq)]
pub struct Turned {
    /// The rotation from one side to the other.
    pub rotation: Rotation,
    /// How often the place of its merged node is turned to give each node's own, `[nodes]`: -1, 0 or 1.
    pub by: Vec<i8>,
    /// Nodes of the merged mesh on the axis, ascending.
    pub on_axis: Vec<u32>,
}

/// Markers that are joined: what leaves through the one enters through the other.
pub type Pair = [String; 2];

/// Pairs that a mesh's file says, each once.
pub fn pairs_of(mesh: &Mesh) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = Vec::new();
    for marker in &mesh.markers {
        let Some(partner) = &marker.partner else { continue };
        if !pairs.iter().flatten().any(|known| *known == marker.name || known == partner) {
            pairs.push([marker.name.clone(), partner.clone()]);
        }
    }
    pairs
}

/// FUN3D's code of periodic sides in a `.mapbc` file.
pub const CODE: i32 = 6100;

/// The marker, of those that `may` be it, whose nodes are those of `marker` after a translation, or else a rotation, where there is one.
pub fn partner_of<'a>(mesh: &'a Mesh, marker: &Marker, may: impl Fn(&Marker) -> bool) -> Option<&'a Marker> {
    let others = mesh.markers.iter().filter(|other| other.name != marker.name && may(other));
    let mut turned = None;
    for other in others {
        match matched(mesh, marker, other) {
            Ok((Motion::Translation(_), _)) => return Some(other),
            Ok((Motion::Rotation(_), _)) => turned = turned.or(Some(other)),
            Err(_) => {}
        }
    }
    turned
}

/// Whether the one side of a pair is turned to give the other one.
pub fn is_turned(mesh: &Mesh, [from, to]: &Pair) -> bool {
    let sides = mesh.marker(from).zip(mesh.marker(to));
    sides.is_some_and(|(from, to)| matches!(matched(mesh, from, to), Ok((Motion::Rotation(_), _))))
}

/// Finds the partners of markers that a `.mapbc` file calls periodic without saying with which.
pub fn pair_by_code(mesh: &mut Mesh) {
    let mut found = Vec::new();
    for (k, marker) in mesh.markers.iter().enumerate() {
        if marker.code == Some(CODE)
            && marker.partner.is_none()
            && let Some(partner) = partner_of(mesh, marker, |other| other.code == Some(CODE))
        {
            found.push((k, partner.name.clone()));
        }
    }
    for (k, partner) in found {
        mesh.markers[k].partner = Some(partner);
    }
}

/// The mesh with the nodes of each pair of markers merged; the markers themselves are gone.
///
/// The translation of a pair is that between the means of their nodes; the rotation of one that no translation matches, that between
/// their means and areas. Nodes match where they lie within [`PeriodicError::TOLERANCE`] of
/// the shortest edge there from one another's image; the merged node has the place of the lowest of them, so that the mesh is closed to
/// round-off even where the file's coordinates are not.
///
/// # Errors
/// [`PeriodicError`]: an unknown marker; sides of which one is not the other's image; cells as wide as half a period.
///
/// ```
/// use chromaflow_mesh::{generate::{Cells, box_mesh}, periodic::merge};
/// let mesh = box_mesh([4, 3, 5], [1.0, 1.0, 1.0], Cells::Hexes, 0.0);
/// let pair = |a: &str, b: &str| [a.to_owned(), b.to_owned()];
/// let (merged, images) = merge(&mesh, &[pair("xmin", "xmax"), pair("zmin", "zmax")]).unwrap();
/// assert_eq!(merged.nodes.len(), 4 * 4 * 5);
/// assert_eq!(images.merged.len(), 5 * 4 * 6);
/// assert_eq!(merged.markers.len(), 2);
/// ```
pub fn merge(mesh: &Mesh, pairs: &[Pair]) -> Result<(Mesh, Images), PeriodicError> {
    let plane = mesh.planar.map_or(mesh.nodes.len(), |p| p.nodes_2d) as u32;
    let mut groups = Groups::new(plane as usize);
    let mut steps: Vec<[f64; 3]> = Vec::new();
    let mut turns = Turns::default();
    let mut taken: Vec<&String> = Vec::new();
    for pair in pairs {
        for name in pair {
            if taken.contains(&name) {
                return Err(PeriodicError::Twice { marker: name.clone() });
            }
            taken.push(name);
        }
        let [from, to] = pair;
        let (motion, nodes) = matched(mesh, side(mesh, from)?, side(mesh, to)?)?;
        for &[a, b] in &nodes {
            groups.join(a % plane, b % plane);
        }
        match motion {
            Motion::Translation(step) if !steps.iter().any(|known| is_same(known, &step)) => steps.push(step),
            Motion::Translation(_) => {}
            Motion::Rotation(rotation) => turns.add(mesh, pair, rotation, nodes)?,
        }
    }
    let Some(periods) = Periods::new(&steps) else {
        return Err(PeriodicError::Dependent { steps });
    };
    let mut images = Images::of(&groups.all_lowest(), mesh.nodes.len());
    images.joined = taken.iter().map(|&name| name.clone()).collect();
    images.turned = turns.of_nodes(mesh, &images, &steps)?;
    let mut out = Mesh {
        nodes: images.first.iter().map(|&i| mesh.nodes[i as usize]).collect(),
        tets: mesh.tets.clone(),
        pyramids: mesh.pyramids.clone(),
        prisms: mesh.prisms.clone(),
        hexes: mesh.hexes.clone(),
        markers: mesh.markers.iter().filter(|m| !taken.contains(&&m.name)).cloned().collect(),
        planar: mesh.planar.map(|p| Planar { nodes_2d: images.first.len() / 2, ..p }),
        periods,
    };
    are_fine_enough(mesh, &periods)?;
    out.renumber(|i| images.merged[i as usize]);
    for pair in pairs {
        matching::faces_agree(mesh, &images, [side(mesh, &pair[0])?, side(mesh, &pair[1])?])?;
    }
    Ok((out, images))
}

fn side<'a>(mesh: &'a Mesh, name: &str) -> Result<&'a Marker, PeriodicError> {
    mesh.marker(name).ok_or_else(|| PeriodicError::UnknownMarker {
        marker: name.to_owned(),
        all: mesh.markers.iter().map(|m| m.name.as_str()).collect::<Vec<_>>().join(", "),
    })
}

/// Whether two translations are the same, forth or back.
fn is_same(a: &[f64; 3], b: &[f64; 3]) -> bool {
    let apart = |sign: f64| -> f64 { (0..3).map(|d| (a[d] - sign * b[d]).powi(2)).sum() };
    apart(1.0).min(apart(-1.0)) <= 1e-8 * dot(*a, *a)
}

impl Images {
    /// Nodes of the merged mesh in the order of their lowest ones, `lowest` of each node of the front plane, or of all nodes; those of
    /// the back plane of a planar mesh, `nodes` in all, after those in front.
    fn of(lowest: &[u32], nodes: usize) -> Self {
        let mut images = Self { merged: Vec::with_capacity(nodes), ..Self::default() };
        for (i, &lowest) in lowest.iter().enumerate() {
            if lowest as usize == i {
                images.merged.push(images.first.len() as u32);
                images.first.push(lowest);
            } else {
                images.merged.push(images.merged[lowest as usize]);
            }
        }
        if lowest.len() < nodes {
            let (plane, front) = (lowest.len() as u32, images.first.len() as u32);
            images.merged.extend_from_within(..);
            images.merged[plane as usize..].iter_mut().for_each(|i| *i += front);
            images.first.extend_from_within(..);
            images.first[front as usize..].iter_mut().for_each(|i| *i += plane);
        }
        images
    }
}

/// Elements must be narrower than half a period, so that the shortest way between two of their corners is theirs; `mesh` is not merged.
///
/// # Errors
/// [`PeriodicError::Coarse`] of the first that is not.
pub fn are_fine_enough(mesh: &Mesh, periods: &Periods) -> Result<(), PeriodicError> {
    let mut wide = None;
    mesh.each_element(|_, _, nodes| {
        if wide.is_some() {
            return;
        }
        for (k, &a) in nodes.iter().enumerate() {
            for &b in &nodes[..k] {
                let dx = sub(mesh.nodes[a as usize], mesh.nodes[b as usize]);
                let parts = periods.across().iter().map(|r| dot(dx, *r).abs());
                // A little less than a half, for rounding.
                if let Some(at) = parts.into_iter().position(|part| part > 0.499) {
                    wide = Some((mesh.nodes[b as usize], periods.steps()[at]));
                }
            }
        }
    });
    wide.map_or(Ok(()), |(at, step)| Err(PeriodicError::Coarse { at, step }))
}

impl Mesh {
    /// From one node of an element to another of the same, the shortest way where the mesh repeats.
    #[inline(always)]
    pub fn between(&self, a: u32, b: u32) -> [f64; 3] {
        self.periods.nearest(sub(self.nodes[b as usize], self.nodes[a as usize]))
    }

    /// The place of each corner of an element or a face, `nodes`, next to its first: of `nodes.len()` corners, 8 at most.
    #[inline(always)]
    pub fn corners(&self, nodes: &[u32]) -> [[f64; 3]; 8] {
        let mut out = [[0.0; 3]; 8];
        for (x, &i) in out.iter_mut().zip(nodes) {
            *x = self.nodes[i as usize];
        }
        if !self.periods.is_empty() {
            let first = out[0];
            for x in &mut out[1..nodes.len()] {
                let dx = self.periods.nearest(sub(*x, first));
                *x = std::array::from_fn(|d| first[d] + dx[d]);
            }
        }
        out
    }
}
