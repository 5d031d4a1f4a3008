//! Unstructured zones as a mesh.

use super::tree::{Fault, Node};
use super::{Base, HIGHER, KINDS, coordinates, sizes};
use crate::Groups;
use crate::Kind;
use crate::raw::{Flat, Raw};
use std::collections::{BTreeMap, HashMap, HashSet};

/// The mesh of all zones; nodes that one-to-one connections name are one.
pub(super) fn raw(base: &Base) -> Result<Raw, Fault> {
    let mut raw = Raw { flat: (base.cells == 2).then(Flat::default), drop_unused: true, ..Raw::default() };
    raw.places.bytes = true;
    let zones: Vec<&Node> = base.zones().collect();
    let (mut first, mut number) = (Vec::new(), HashMap::new());
    for (z, zone) in zones.iter().enumerate() {
        let count = sizes(zone, 1)?[0];
        first.push(raw.mesh.nodes.len());
        number.insert(zone.name.as_str(), z);
        let nodes = coordinates(zone, count)?;
        (0..count).for_each(|_| raw.places.nodes.push(zone.at));
        raw.mesh.nodes.extend(nodes);
    }
    first.push(raw.mesh.nodes.len());
    if u32::try_from(raw.mesh.nodes.len()).is_err() {
        return Err(base.node.fault("2^32 nodes or more"));
    }
    let same = connections(&zones, &first, &number)?;
    for (z, zone) in zones.iter().enumerate() {
        let nodes = &same[first[z]..first[z + 1]];
        let mut sections = Sections::default();
        for section in zone.of("Elements_t") {
            sections.add(section, nodes, base.cells, &mut raw)?;
        }
        if sections.curved {
            let what = "elements of higher order were read by their corners: sides are straight";
            raw.notes.push(format!("zone {:?}: {what}", zone.name));
        }
        sections.boundaries(base, zone, nodes, &mut raw)?;
    }
    Ok(raw)
}

/// The first of the nodes that are one, for every node of all zones. Those of a periodic connection stay two: what joins them is for whoever
/// reads the mesh to say.
fn connections(zones: &[&Node], first: &[usize], number: &HashMap<&str, usize>) -> Result<Vec<u32>, Fault> {
    let mut same = Groups::new(first[zones.len()]);
    for (z, zone) in zones.iter().enumerate() {
        for connection in zone.of("ZoneGridConnectivity_t").flat_map(|c| c.of("GridConnectivity_t")) {
            let kind = connection.of("GridConnectivityType_t").next().map_or("Overset", Node::text);
            let location = connection.of("GridLocation_t").next().map_or("Vertex", Node::text);
            if connection.of("GridConnectivityProperty_t").any(|p| p.of("Periodic_t").next().is_some()) {
                continue;
            }
            if kind != "Abutting1to1" || location != "Vertex" {
                return Err(connection.fault(format!(
                    "a connection of the type {kind} at {location}: only Abutting1to1 at Vertex is read"
                )));
            }
            let donor = connection.text().rsplit('/').next().unwrap_or_default();
            let Some(&other) = number.get(donor) else {
                return Err(connection.fault(format!("its donor {donor:?} is no zone")));
            };
            let list = |name: &str, zone: usize| -> Result<Vec<usize>, Fault> {
                let node =
                    connection.child(name).ok_or_else(|| connection.fault(format!("it has no {name}")))?;
                let count = first[zone + 1] - first[zone];
                let place = |&n: &i64| {
                    let n = usize::try_from(n - 1).ok().filter(|&n| n < count);
                    n.map(|n| first[zone] + n).ok_or_else(|| node.fault("a node that its zone does not have"))
                };
                node.ints()?.iter().map(place).collect()
            };
            let (own, its) = (list("PointList", z)?, list("PointListDonor", other)?);
            if own.len() != its.len() {
                return Err(connection.fault("its two lists have different lengths"));
            }
            for (a, b) in own.into_iter().zip(its) {
                same.join(a as u32, b as u32);
            }
        }
    }
    Ok(same.all_lowest())
}

/// A face of the file.
struct Face {
    nodes: [u32; 4],
    corners: usize,
    /// Its number among the zone's elements.
    number: i64,
    section: usize,
}

#[derive(Default)]
struct Sections {
    faces: Vec<Face>,
    names: Vec<String>,
    /// Elements of full dimension that were read before this zone's.
    at: u64,
    /// Elements of higher order were among them.
    curved: bool,
}

impl Sections {
    fn add(&mut self, section: &Node, nodes: &[u32], cells: usize, raw: &mut Raw) -> Result<(), Fault> {
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
        self.names.push(section.name.clone());
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
                let node = usize::try_from(n - 1).ok().and_then(|n| nodes.get(n));
                *slot = *node.ok_or_else(|| {
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
                let section = self.names.len() - 1;
                self.faces.push(Face { nodes, corners: element.len(), number, section });
            }
            _ => {}
        }
    }

    /// Gives faces to markers: by the boundary conditions, else by their sections.
    fn boundaries(mut self, base: &Base, zone: &Node, nodes: &[u32], raw: &mut Raw) -> Result<(), Fault> {
        let conditions: Vec<&Node> = zone.of("ZoneBC_t").flat_map(|z| z.of("BC_t")).collect();
        let mut owner: Vec<Option<usize>> = vec![None; self.faces.len()];
        let by_number: HashMap<i64, usize> =
            self.faces.iter().enumerate().map(|(i, f)| (f.number, i)).collect();
        let mut sets: Vec<(usize, HashSet<u32>)> = Vec::new();
        for (c, bc) in conditions.iter().enumerate() {
            let location = bc.of("GridLocation_t").next().map_or("Vertex", Node::text);
            let find = |name: &str| bc.child(name);
            let elements = find("ElementList").or_else(|| find("ElementRange"));
            let Some(node) = elements.or_else(|| find("PointList")).or_else(|| find("PointRange")) else {
                continue;
            };
            let values = node.ints()?;
            let is_range = node.name.ends_with("Range");
            if is_range && (values.len() != 2 || values[1].checked_sub(values[0]).is_none()) {
                return Err(node.fault("expected the first and the last of a range"));
            }
            // Faces are elements, too: programs say FaceCenter, Gmsh CellCenter.
            if elements.is_some() || location != "Vertex" {
                let mut give = |n: i64| {
                    if let Some(&f) = by_number.get(&n) {
                        owner[f].get_or_insert(c);
                    }
                };
                if is_range {
                    self.faces
                        .iter()
                        .map(|f| f.number)
                        .filter(|n| (values[0]..=values[1]).contains(n))
                        .for_each(&mut give);
                } else {
                    values.iter().copied().for_each(&mut give);
                }
            } else {
                let node_of = |n: i64| usize::try_from(n - 1).ok().and_then(|n| nodes.get(n)).copied();
                let set = if is_range {
                    let (from, to) = (values[0].max(1), values[1].min(nodes.len() as i64));
                    (from..=to).filter_map(node_of).collect()
                } else {
                    values.iter().filter_map(|&n| node_of(n)).collect()
                };
                sets.push((c, set));
            }
        }
        if self.faces.is_empty() && !sets.is_empty() && base.cells == 3 {
            self.faces = skin(raw);
            owner = vec![None; self.faces.len()];
        }
        for (f, face) in
            self.faces.iter().enumerate().filter(|(f, _)| owner[*f].is_none()).collect::<Vec<_>>()
        {
            let inside = |set: &HashSet<u32>| face.nodes[..face.corners].iter().all(|n| set.contains(n));
            owner[f] = sets.iter().find(|s| inside(&s.1)).map(|s| s.0);
        }
        let mut markers: BTreeMap<String, usize> =
            raw.mesh.markers.iter().enumerate().map(|(i, m)| (m.name.clone(), i)).collect();
        for (face, owner) in self.faces.iter().zip(owner) {
            let (name, code) = match owner {
                Some(c) => base.marker(conditions[c]),
                None => (self.names.get(face.section).cloned().unwrap_or_else(|| "unnamed".into()), None),
            };
            let marker = match markers.get(&name) {
                Some(&m) => m,
                None => *markers.entry(name.clone()).or_insert(raw.marker(name, code)),
            };
            let nodes = &face.nodes[..face.corners];
            if let Some(flat) = &mut raw.flat {
                flat.edges[marker].push([nodes[0], nodes[1]]);
                raw.places.markers[marker].quads.push(self.at);
            } else {
                raw.face(marker, nodes, self.at);
            }
        }
        Ok(())
    }
}

/// The faces that belong to one element only.
fn skin(raw: &Raw) -> Vec<Face> {
    let mut faces: HashMap<[u32; 4], Option<([u32; 4], usize)>> = HashMap::new();
    raw.mesh.each_element(|kind, _, e| {
        for face in kind.faces() {
            let mut nodes = [u32::MAX; 4];
            face.iter().zip(&mut nodes).for_each(|(&n, slot)| *slot = e[n]);
            let mut key = nodes;
            key.sort_unstable();
            faces.entry(key).and_modify(|f| *f = None).or_insert(Some((nodes, face.len())));
        }
    });
    let mut skin: Vec<Face> = faces
        .into_values()
        .flatten()
        .map(|(nodes, corners)| Face { nodes, corners, number: 0, section: usize::MAX })
        .collect();
    skin.sort_unstable_by_key(|f| f.nodes);
    skin
}
