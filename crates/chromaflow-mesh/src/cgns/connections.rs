//! Which points of unstructured zones are one, and which are images of one another.
//!
//! **Source**: *CGNS Standard Interface Data Structures*, version 4: `GridConnectivity_t`, `GridConnectivity1to1_t`, `Periodic_t`.

use super::tree::{Fault, Node};
use super::unstructured::Faces;
use crate::periodic::{Matrix, PeriodicError, product};
use crate::raw::Raw;
use crate::{Groups, norm, sub};
use std::collections::HashMap;

/// The zones of a base, and the number of the first node of each and of all.
pub(super) struct Zones<'a> {
    pub base: &'a Node,
    pub nodes: Vec<&'a Node>,
    pub first: Vec<usize>,
}

/// What carries points to their donors: x' = m x + step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Carried {
    matrix: Matrix,
    step: [f64; 3],
    /// The file's numbers: center, angles in radians, translation.
    pub said: [[f64; 3]; 3],
}

impl Carried {
    const NOT: Self = Self {
        matrix: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        step: [0.0; 3],
        said: [[0.0; 3]; 3],
    };

    /// Turned about x, y and z through the center, one after another, then moved.
    fn new(center: [f64; 3], angles: [f64; 3], translation: [f64; 3]) -> Self {
        let mut matrix = Self::NOT.matrix;
        for (axis, angle) in angles.into_iter().enumerate() {
            let (sin, cos) = angle.sin_cos();
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            let rows = [matrix[a], matrix[b]];
            for c in 0..3 {
                matrix[a][c] = cos * rows[0][c] - sin * rows[1][c];
                matrix[b][c] = sin * rows[0][c] + cos * rows[1][c];
            }
        }
        let turned = product(&matrix, center);
        let step = std::array::from_fn(|d| center[d] - turned[d] + translation[d]);
        // Without signs of zeros, so that one motion is one.
        let said = [center, angles, translation].map(|v| v.map(|x| x + 0.0));
        Self { matrix, step, said }
    }

    fn image(&self, x: [f64; 3]) -> [f64; 3] {
        let turned = product(&self.matrix, x);
        std::array::from_fn(|d| turned[d] + self.step[d])
    }

    fn back(&self) -> Self {
        let matrix = std::array::from_fn(|r| std::array::from_fn(|c| self.matrix[c][r]));
        Self { matrix, step: product(&matrix, self.step).map(|v| -v), said: self.said }
    }

    /// Size of what was added up for an image: single precision is that of this.
    fn reach(&self, x: [f64; 3]) -> f64 {
        norm(x) + norm(self.step)
    }
}

/// The kind of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    /// Both lists are the same points.
    Joined,
    /// Images by a motion, where the file has one that moves anything.
    Periodic(Option<Carried>),
}

/// A connection: pairs of nodes of all zones, or of faces.
pub(super) struct Connection<'a> {
    pub node: &'a Node,
    pub kind: Kind,
    pub points: Vec<[u32; 2]>,
    /// Sorted nodes of faces.
    pub faces: Vec<[[u32; 4]; 2]>,
}

/// All one-to-one connections; others are errors.
pub(super) fn read<'a>(zones: &Zones<'a>, faces: &[Faces], raw: &Raw) -> Result<Vec<Connection<'a>>, Fault> {
    let mut all = Vec::new();
    let mut shortest = Vec::new();
    for (z, zone) in zones.nodes.iter().enumerate() {
        for connectivity in zone.of("ZoneGridConnectivity_t") {
            let is_one = |c: &&Node| ["GridConnectivity_t", "GridConnectivity1to1_t"].contains(&&*c.label);
            for node in connectivity.children.iter().filter(is_one) {
                if shortest.is_empty() {
                    shortest = shortest_edges(raw);
                }
                let outer = [zones.base, zone, connectivity];
                all.push(one(zones, z, node, outer, faces, (raw, &shortest))?);
            }
        }
    }
    Ok(all)
}

fn one<'a>(
    zones: &Zones<'a>,
    z: usize,
    node: &'a Node,
    outer: [&Node; 3],
    faces: &[Faces],
    (raw, shortest): (&Raw, &[f64]),
) -> Result<Connection<'a>, Fault> {
    let always = node.label == "GridConnectivity1to1_t";
    let unsaid = if always { "Abutting1to1" } else { "Overset" };
    let kind = node.of("GridConnectivityType_t").next().map_or(unsaid, Node::text);
    let location = node.of("GridLocation_t").next().map_or("Vertex", Node::text);
    let of_faces = ["FaceCenter", "EdgeCenter"].contains(&location);
    if kind != "Abutting1to1" || !(of_faces || location == "Vertex") {
        return Err(node.fault(format!(
            "a connection of the type {kind} at {location}: only Abutting1to1 at Vertex, FaceCenter or EdgeCenter is read; make both sides \
             meet point by point, or leave the connection out"
        )));
    }
    let donor = node.text().rsplit('/').next().unwrap_or_default();
    let other = zones.nodes.iter().position(|zone| zone.name == donor);
    let other = other.ok_or_else(|| {
        let names: Vec<&str> = zones.nodes.iter().map(|zone| zone.name.as_str()).collect();
        node.fault(format!("its donor {donor:?} is no zone (the zones are {})", names.join(", ")))
    })?;
    let kind = periodic(node, outer)?;
    let most = |zone: usize| (zones.first[zone + 1] - zones.first[zone]).max(faces[zone].all.len());
    let own = list(node, ["PointList", "PointRange"], most(z))?;
    let its = list(node, ["PointListDonor", "PointRangeDonor"], most(other))?;
    if own.1.len() != its.1.len() {
        return Err(node.fault(format!(
            "its lists have {} and {} points: each point of the one is joined to the point of the other that stands at its place; write lists of \
             one length",
            own.1.len(),
            its.1.len()
        )));
    }
    let mut found = Connection { node, kind, points: Vec::new(), faces: Vec::new() };
    let ends = [(z, own), (other, its)];
    if of_faces {
        let sides = ends.map(|(zone, (list, numbers))| -> Result<Vec<&[u32]>, Fault> {
            let face = |n: &i64| {
                faces[zone].numbered(*n).ok_or_else(|| {
                    let name = &zones.nodes[zone].name;
                    list.fault(format!("{n} is no face of zone {name:?}: write the sides' faces as elements, and their numbers here"))
                })
            };
            numbers.iter().map(face).collect()
        });
        let [own, its] = sides;
        for (a, b) in own?.into_iter().zip(its?) {
            found.pair_faces([a, b], raw)?;
        }
    } else {
        let sides = ends.map(|(zone, (list, numbers))| -> Result<Vec<u32>, Fault> {
            let range = zones.first[zone]..zones.first[zone + 1];
            let place = |n: &i64| {
                let at = usize::try_from(*n - 1).ok().filter(|&n| n < range.len());
                at.map(|at| (range.start + at) as u32).ok_or_else(|| {
                    let name = &zones.nodes[zone].name;
                    list.fault(format!("point {n} of zone {name:?}, which has points 1 to {}", range.len()))
                })
            };
            numbers.iter().map(place).collect()
        });
        let [own, its] = sides;
        found.points = own?.into_iter().zip(its?).map(|(a, b)| [a, b]).collect();
    }
    found.check(zones, raw, shortest)?;
    Ok(found)
}

/// The numbers of a list, or of a range of `most` at most one after another, and the node that has them.
fn list<'a>(node: &'a Node, [list, range]: [&str; 2], most: usize) -> Result<(&'a Node, Vec<i64>), Fault> {
    if let Some(list) = node.child(list) {
        return Ok((list, list.ints()?.to_vec()));
    }
    let range = node.child(range).ok_or_else(|| node.fault(format!("it has no {list} and no {range}")))?;
    match *range.ints()? {
        // Either way.
        [a, b] if a > 0 && b > 0 && a.abs_diff(b) < most as u64 => {
            Ok((range, if a <= b { (a..=b).collect() } else { (b..=a).rev().collect() }))
        }
        _ => Err(range.fault(format!("expected the first and the last of {most} points at most, from 1"))),
    }
}

/// What a connection says of being periodic. `outer`: the nodes that it is in.
fn periodic(node: &Node, outer: [&Node; 3]) -> Result<Kind, Fault> {
    for property in node.of("GridConnectivityProperty_t") {
        let Some(periodic) = property.of("Periodic_t").next() else { continue };
        let vector = |name: &str| -> Result<[f64; 3], Fault> {
            let Some(array) = periodic.child(name) else { return Ok([0.0; 3]) };
            let values = array.reals()?;
            if values.len() > 3 || values.iter().any(|v| !v.is_finite()) {
                return Err(array.fault("expected a number for each axis"));
            }
            Ok(std::array::from_fn(|d| values.get(d).copied().unwrap_or(0.0)))
        };
        let [center, angles, step] =
            [vector("RotationCenter")?, vector("RotationAngle")?, vector("Translation")?];
        let array = periodic.child("RotationAngle");
        let inner = array.into_iter().chain([periodic, property, node]);
        let unit = angle_unit(inner.chain(outer.into_iter().rev()));
        let said = angles != [0.0; 3] || step != [0.0; 3];
        return Ok(Kind::Periodic(said.then(|| Carried::new(center, angles.map(|a| a * unit), step))));
    }
    Ok(Kind::Joined)
}

/// An angle of the file in radians, by the innermost of the nodes that has units; radians where none has, or its data has no dimension.
fn angle_unit<'a>(nodes: impl Iterator<Item = &'a Node>) -> f64 {
    let (mut class, mut unit) = (None, None);
    for node in nodes {
        class = class.or_else(|| node.of("DataClass_t").next().map(Node::text));
        unit = unit.or_else(|| node.of("DimensionalUnits_t").next());
    }
    if class.is_some_and(|class| !["Dimensional", "NormalizedByDimensional", "Null"].contains(&class)) {
        return 1.0;
    }
    // Five words of 32 characters: mass, length, time, temperature, angle.
    let angle = unit.and_then(|unit| unit.text().get(128..)).unwrap_or_default();
    if angle.trim_matches([' ', '\0']) == "Degree" { 1_f64.to_radians() } else { 1.0 }
}

impl Connection<'_> {
    /// Faces whose corners are paired by where they are; without a motion only the faces are.
    fn pair_faces(&mut self, [a, b]: [&[u32]; 2], raw: &Raw) -> Result<(), Fault> {
        if a.len() != b.len() {
            return Err(self.node.fault(format!("a face of {} corners has a donor of {}", a.len(), b.len())));
        }
        self.faces.push([key(a), key(b)]);
        let motion = match self.kind {
            Kind::Joined => Carried::NOT,
            Kind::Periodic(Some(motion)) => motion,
            Kind::Periodic(None) => return Ok(()),
        };
        let at = |n: u32| raw.mesh.nodes[n as usize];
        // The way of the motion that brings the middles together.
        let middle = |face: &[u32]| -> [f64; 3] {
            std::array::from_fn(|d| face.iter().map(|&n| at(n)[d]).sum::<f64>() / face.len() as f64)
        };
        let off = |motion: Carried| norm(sub(motion.image(middle(a)), middle(b)));
        let motion = if off(motion.back()) < off(motion) { motion.back() } else { motion };
        for &n in a {
            let image = motion.image(at(n));
            let far = |m: &u32| norm(sub(at(*m), image));
            let nearest = b.iter().copied().min_by(|p, q| far(p).total_cmp(&far(q)));
            self.points.extend(nearest.map(|m| [n, m]));
        }
        Ok(())
    }

    /// Points lie where their donors are, or are carried there, this way or the other.
    fn check(&self, zones: &Zones<'_>, raw: &Raw, shortest: &[f64]) -> Result<(), Fault> {
        let at = |n: u32| raw.mesh.nodes[n as usize];
        // Single precision has seven digits.
        let allowed = |motion: &Carried, [a, b]: [u32; 2]| {
            let short = shortest[a as usize].min(shortest[b as usize]);
            let short = if short.is_finite() { PeriodicError::TOLERANCE * short } else { 0.0 };
            short.max(2e-6 * motion.reach(at(a)))
        };
        let worst = |motion: &Carried| {
            let over =
                |pair: &[u32; 2]| norm(sub(motion.image(at(pair[0])), at(pair[1]))) / allowed(motion, *pair);
            let pairs = self
                .points
                .iter()
                .map(|pair| (over(pair), *pair))
                .filter(|(over, _)| over.is_nan() || *over > 1.0);
            pairs.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, pair)| pair)
        };
        let motion = match self.kind {
            Kind::Joined => Carried::NOT,
            Kind::Periodic(Some(motion)) => motion,
            Kind::Periodic(None) => return Ok(()),
        };
        let Some(pair) = worst(&motion) else { return Ok(()) };
        if self.kind != Kind::Joined && worst(&motion.back()).is_none() {
            return Ok(());
        }
        let named = |n: u32| {
            let zone = zones.first.partition_point(|&first| first <= n as usize) - 1;
            format!("point {} of zone {:?}", n as usize - zones.first[zone] + 1, zones.nodes[zone].name)
        };
        let [a, b] = pair.map(named);
        let (from, image, to) = (at(pair[0]), motion.image(at(pair[0])), at(pair[1]));
        let (off, allowed) = (norm(sub(image, to)), allowed(&motion, pair));
        let remedy = if self.kind == Kind::Joined {
            "both lists name the same points in one order; sides that are images of one another need a Periodic_t".to_owned()
        } else {
            let [center, angles, step] = motion.said;
            let degrees = angles.map(f64::to_degrees);
            format!(
                "Periodic_t turns by {degrees:?} degrees about {center:?} and moves by {step:?}; both lists name points and their images in one \
                 order, and angles are radians where no DimensionalUnits say degrees"
            )
        };
        Err(self.node.fault(format!(
            "{a} at {from:?} comes to {image:?}, and its donor, {b}, is at {to:?}, {off:.3e} from there ({allowed:.3e} are allowed): {remedy}"
        )))
    }
}

/// A face's name: its nodes, sorted.
pub(super) fn key(face: &[u32]) -> [u32; 4] {
    let mut key = [u32::MAX; 4];
    key[..face.len()].copy_from_slice(face);
    key.sort_unstable();
    key
}

/// The shortest edge at each node.
fn shortest_edges(raw: &Raw) -> Vec<f64> {
    let mut shortest = vec![f64::INFINITY; raw.mesh.nodes.len()];
    let mut edge = |a: u32, b: u32| {
        let length = norm(sub(raw.mesh.nodes[a as usize], raw.mesh.nodes[b as usize]));
        // Corners of collapsed elements are no edge.
        for n in [a, b].into_iter().filter(|_| length > 0.0) {
            shortest[n as usize] = shortest[n as usize].min(length);
        }
    };
    raw.mesh.each_element(|kind, _, e| kind.edges().iter().for_each(|&[a, b]| edge(e[a], e[b])));
    for face in raw.flat.iter().flat_map(|flat| flat.polygons()) {
        (0..face.len()).for_each(|k| edge(face[k], face[(k + 1) % face.len()]));
    }
    shortest
}

/// The first of the nodes that are one, for every node.
pub(super) fn joined(connections: &[Connection<'_>], count: usize) -> Vec<u32> {
    let mut same = Groups::new(count);
    for connection in connections.iter().filter(|c| c.kind == Kind::Joined) {
        connection.points.iter().for_each(|&[a, b]| same.join(a, b));
    }
    same.all_lowest()
}

/// Connections of one motion together, with nodes that are joined being one.
pub(super) struct Group<'a> {
    /// The first of them.
    pub node: &'a Node,
    /// The donor of each point.
    pub images: HashMap<u32, u32>,
    pub faces: Vec<[[u32; 4]; 2]>,
}

/// Periodic connections by their motions. Each that names none is by itself.
pub(super) fn groups<'a>(connections: &[Connection<'a>], same: &[u32]) -> Result<Vec<Group<'a>>, Fault> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut by_motion: HashMap<[u64; 9], usize> = HashMap::new();
    for connection in connections {
        let Kind::Periodic(motion) = connection.kind else { continue };
        let next = groups.len();
        let place = motion.map_or(next, |motion| {
            let said = motion.said.as_flattened();
            *by_motion.entry(std::array::from_fn(|k| said[k].to_bits())).or_insert(next)
        });
        if place == next {
            groups.push(Group { node: connection.node, images: HashMap::new(), faces: Vec::new() });
        }
        let group = &mut groups[place];
        for [a, b] in connection.points.iter().map(|pair| pair.map(|n| same[n as usize])) {
            if *group.images.entry(a).or_insert(b) != b {
                return Err(connection.node.fault("a point has two donors: name each point once"));
            }
        }
        let named = |key: [u32; 4]| {
            let mut new = key.map(|n| same.get(n as usize).copied().unwrap_or(u32::MAX));
            new.sort_unstable();
            new
        };
        group.faces.extend(connection.faces.iter().map(|pair| pair.map(named)));
    }
    Ok(groups)
}
