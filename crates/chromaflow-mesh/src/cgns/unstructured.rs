//! Unstructured zones as a mesh.

use super::boundary::Boundary;
use super::connections::{self, Zones};
use super::tree::{Fault, Node};
use super::{Base, HIGHER, KINDS, coordinates, sizes};
use crate::Kind;
use crate::raw::{Flat, Raw};
use std::collections::HashMap;
use std::ops::Range;

/// The mesh of all zones; nodes that one-to-one connections name are one, and markers that periodic ones name have their partners.
pub(super) fn raw(base: &Base) -> Result<Raw, Fault> {
    let mut raw = Raw { flat: (base.cells == 2).then(Flat::default), drop_unused: true, ..Raw::default() };
    raw.places.bytes = true;
    let mut zones = Zones { base: &base.node, nodes: base.zones().collect(), first: Vec::new() };
    for zone in &zones.nodes {
        let count = sizes(zone, 1)?[0];
        zones.first.push(raw.mesh.nodes.len());
        let nodes = coordinates(zone, count)?;
        (0..count).for_each(|_| raw.places.nodes.push(zone.at));
        raw.mesh.nodes.extend(nodes);
    }
    zones.first.push(raw.mesh.nodes.len());
    if u32::try_from(raw.mesh.nodes.len()).is_err() {
        return Err(base.node.fault("2^32 nodes or more"));
    }
    let mut all = Vec::new();
    for (z, zone) in zones.nodes.iter().enumerate() {
        let mut faces = Faces::default();
        for section in zone.of("Elements_t") {
            faces.add(section, zones.first[z]..zones.first[z + 1], base.cells, &mut raw)?;
        }
        if faces.curved {
            let what = "elements of higher order were read by their corners: sides are straight";
            raw.notes.push(format!("zone {:?}: {what}", zone.name));
        }
        all.push(faces);
    }
    let connections = connections::read(&zones, &all, &raw)?;
    let same = connections::joined(&connections, raw.mesh.nodes.len());
    let groups = connections::groups(&connections, &same)?;
    let joined = connections.iter().any(|c| c.kind == connections::Kind::Joined);
    if joined {
        raw.renumber(|n| same[n as usize]);
        all.iter_mut().flat_map(|faces| &mut faces.all).for_each(|face| face.renumber(&same));
    }
    let mut boundary = Boundary::default();
    for (z, (zone, faces)) in zones.nodes.iter().zip(all).enumerate() {
        boundary.add(base, zone, faces, &same[zones.first[z]..zones.first[z + 1]], &raw)?;
    }
    boundary.put(&groups, joined, &mut raw)?;
    Ok(raw)
}

/// A face of the file.
#[derive(Clone)]
pub(super) struct Face {
    pub nodes: [u32; 4],
    pub corners: usize,
    /// Its number among the zone's elements.
    pub number: i64,
    pub section: usize,
}

impl Face {
    pub fn nodes(&self) -> &[u32] {
        &self.nodes[..self.corners]
    }

    fn renumber(&mut self, same: &[u32]) {
        self.nodes[..self.corners].iter_mut().for_each(|n| *n = same[*n as usize]);
    }
}

/// Faces of a zone.
#[derive(Default)]
pub(super) struct Faces {
    pub all: Vec<Face>,
    pub by_number: HashMap<i64, usize>,
    /// Names of their sections.
    pub sections: Vec<String>,
    /// Where the zone's last element of full dimension stands in the file.
    pub at: u64,
    /// Elements of higher order were among them.
    curved: bool,
}

impl Faces {
    /// The nodes of the face of this number.
    pub fn numbered(&self, number: i64) -> Option<&[u32]> {
        self.by_number.get(&number).map(|&face| self.all[face].nodes())
    }

    fn add(&mut self, section: &Node, nodes: Range<usize>, cells: usize, raw: &mut Raw) -> Result<(), Fault> {
        let kind = section.ints()?.first().copied().unwrap_or(0);
        let range = section.child("ElementRange").ok_or_else(|| section.fault("it has no ElementRange"))?;
        let &[start, end] = range.ints()? else { return Err(range.fault("expected two numbers")) };
        let list = section.child("ElementConnectivity");
        let list = list.ok_or_else(|| section.fault("it has no ElementConnectivity"))?;
        let values = list.ints()?;
        let count =
            end.checked_sub(start).and_then(|n| usize::try_from(n + 1).ok()).filter(|&n| n <= values.len());
        let count = count
            .ok_or_else(|| range.fault(format!("elements {start} to {end}, of {} numbers", values.len())))?;
        self.sections.push(section.name.clone());
        let one = |kind: i64| {
            let higher = |(linear, all): &(i64, &[(i64, usize)])| {
                all.iter().find(|t| t.0 == kind).map(|t| (*linear, t.1))
            };
            let (linear, nodes) = HIGHER.iter().find_map(higher).unwrap_or((kind, 0));
            let found = KINDS.iter().find(|k| k.0 == linear);
            found.map(|&(kind, _, corners)| (kind, corners, nodes.max(corners))).ok_or_else(|| {
                section.fault(match kind {
                    22 | 23 => "polygons or polyhedra (NGON_n, NFACE_n): write tetrahedra, pyramids, prisms and hexahedra".to_owned(),
                    43.. => format!("elements of type {kind}, which are of fourth order: write linear ones"),
                    _ => format!("elements of the unknown type {kind}"),
                })
            })
        };
        let mut at = 0;
        for i in 0..count {
            let kind = if kind == 20 {
                at += 1;
                *values
                    .get(at - 1)
                    .ok_or_else(|| list.fault(format!("it ends at element {}", start + i as i64)))?
            } else {
                kind
            };
            let (kind, corners, all) = one(kind)?;
            let end = at + all;
            let part = values.get(at..end).map(|all| &all[..corners]);
            let part = part.ok_or_else(|| list.fault(format!("it ends at element {}", start + i as i64)))?;
            at = end;
            let mut element = [u32::MAX; 8];
            for (slot, &n) in element.iter_mut().zip(part) {
                let node = usize::try_from(n - 1).ok().filter(|&n| n < nodes.len());
                *slot = node.map(|n| (nodes.start + n) as u32).ok_or_else(|| {
                    list.fault(format!(
                        "element {} has node {n}: expected 1 to {}",
                        start + i as i64,
                        nodes.len()
                    ))
                })?;
            }
            self.curved |= all > corners;
            self.put(kind, &element[..corners], (start + i as i64, list.at), cells, raw);
        }
        Ok(())
    }

    fn put(&mut self, kind: i64, element: &[u32], (number, at): (i64, u64), cells: usize, raw: &mut Raw) {
        self.at = self.at.max(at);
        let at = self.at;
        let volume = match kind {
            10 => Some(Kind::Tetrahedron),
            12 => Some(Kind::Pyramid),
            14 => Some(Kind::Prism),
            17 => Some(Kind::Hexahedron),
            _ => None,
        };
        match (volume, &mut raw.flat) {
            (Some(kind), None) => raw.push(kind, element, at),
            (None, Some(flat)) if kind == 5 => {
                flat.triangles.push([element[0], element[1], element[2]]);
                raw.places.elements[Kind::Prism as usize].push(at);
            }
            (None, Some(flat)) if kind == 7 => {
                flat.quads.push([element[0], element[1], element[2], element[3]]);
                raw.places.elements[Kind::Hexahedron as usize].push(at);
            }
            _ if element.len() == cells || (cells == 3 && element.len() == 4 && kind == 7) => {
                let mut nodes = [u32::MAX; 4];
                nodes[..element.len()].copy_from_slice(element);
                let section = self.sections.len() - 1;
                self.by_number.insert(number, self.all.len());
                self.all.push(Face { nodes, corners: element.len(), number, section });
            }
            _ => {}
        }
    }
}
