//! Faces of unstructured zones as markers: by boundary conditions, else by sections, and by what they are periodic with.

use super::Base;
use super::connections::{Group, key};
use super::tree::{Fault, Node};
use super::unstructured::{Face, Faces};
use crate::raw::Raw;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A face's nodes, sorted.
type Key = [u32; 4];

/// A face of the boundary, and what it is called.
struct Named {
    face: Face,
    /// Number of its name; none where the file has the face in no section.
    name: Option<usize>,
    /// Whether a boundary condition has it.
    conditioned: bool,
    at: u64,
}

/// The boundary of all zones.
#[derive(Default)]
pub(super) struct Boundary {
    faces: Vec<Named>,
    /// Names in the order of their first faces, and FUN3D's codes.
    names: Vec<(String, Option<i32>)>,
    by_name: BTreeMap<String, usize>,
    /// All outer faces, once they were wanted.
    skin: Option<Vec<Face>>,
}

/// Which of both sides of which group of connections a face is on.
type Side = (usize, bool);

/// What a face is called, what its image is called, and its side where that is the same.
type Class = (Option<usize>, Option<(Option<usize>, Option<Side>)>);

impl Boundary {
    /// Adds the faces of a zone, whose nodes these are; where it has none, those that its conditions' nodes span.
    pub fn add(
        &mut self,
        base: &Base,
        zone: &Node,
        mut faces: Faces,
        nodes: &[u32],
        raw: &Raw,
    ) -> Result<(), Fault> {
        let conditions: Vec<&Node> = zone.of("ZoneBC_t").flat_map(|z| z.of("BC_t")).collect();
        let mut owner: Vec<Option<usize>> = vec![None; faces.all.len()];
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
                    if let Some(&f) = faces.by_number.get(&n) {
                        owner[f].get_or_insert(c);
                    }
                };
                if is_range {
                    let inside = |n: &i64| (values[0]..=values[1]).contains(n);
                    faces.all.iter().map(|f| f.number).filter(inside).for_each(&mut give);
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
        if faces.all.is_empty() && !sets.is_empty() && base.cells == 3 {
            let own: HashSet<u32> = nodes.iter().copied().collect();
            let skin = self.skin.get_or_insert_with(|| skin(raw, |_| true));
            faces.all = skin.iter().filter(|f| f.nodes().iter().all(|n| own.contains(n))).cloned().collect();
            owner = vec![None; faces.all.len()];
        }
        for (face, owner) in faces.all.into_iter().zip(owner) {
            let inside = |set: &HashSet<u32>| face.nodes().iter().all(|n| set.contains(n));
            let owner = owner.or_else(|| sets.iter().find(|s| inside(&s.1)).map(|s| s.0));
            let (name, code) = match owner {
                Some(c) => base.marker(conditions[c]),
                None => (faces.sections.get(face.section).cloned().unwrap_or_else(|| "unnamed".into()), None),
            };
            let name = *self.by_name.entry(name).or_insert_with_key(|name| {
                self.names.push((name.clone(), code));
                self.names.len() - 1
            });
            self.faces.push(Named { face, name: Some(name), conditioned: owner.is_some(), at: faces.at });
        }
        Ok(())
    }

    /// Puts the faces into a mesh's markers. Those that a group of connections joins are markers of their own, which name one another.
    pub fn put(mut self, groups: &[Group<'_>], joined: bool, raw: &mut Raw) -> Result<(), Fault> {
        if joined {
            self.drop_seams();
        }
        let pairs = if groups.is_empty() { Pairs::default() } else { self.pair(groups, raw)? };
        let joined = self.faces.iter().filter(|_| !pairs.of.is_empty());
        let name_of: HashMap<Key, Option<usize>> = joined.map(|f| (key(f.face.nodes()), f.name)).collect();
        let class = |name: Option<usize>, of: Key| -> Class {
            let Some((image, side)) = pairs.of.get(&of) else { return (name, None) };
            let others = name_of[image];
            (name, Some((others, (name == others).then_some(*side))))
        };
        let classes: Vec<Class> = self.faces.iter().map(|f| class(f.name, key(f.face.nodes()))).collect();
        let mut kinds: HashMap<Option<usize>, HashSet<Class>> = HashMap::new();
        for class in &classes {
            kinds.entry(class.0).or_default().insert(*class);
        }
        let mut taken: HashSet<String> = self.names.iter().map(|n| n.0.clone()).collect();
        let mut markers: HashMap<Class, usize> = HashMap::new();
        let mut partners = Vec::new();
        for (named, class) in self.faces.iter().zip(&classes) {
            let of = key(named.face.nodes());
            let marker = *markers.entry(*class).or_insert_with(|| {
                let whole = kinds[&class.0].len() == 1 || class.1.is_none();
                let (name, code) = match class.0 {
                    Some(name) if whole => self.names[name].clone(),
                    _ => {
                        let wanted = &pairs.names[&pairs.of[&of].1];
                        let (mut name, mut n) = (wanted.clone(), 1);
                        while taken.contains(&name) {
                            n += 1;
                            name = format!("{wanted}_{n}");
                        }
                        taken.insert(name.clone());
                        (name, None)
                    }
                };
                let marker = raw.marker(name, code);
                partners.extend(pairs.of.get(&of).map(|(image, _)| (marker, *image)));
                marker
            });
            raw.face(marker, named.face.nodes(), named.at);
        }
        for (marker, image) in partners {
            let partner = markers[&class(name_of[&image], image)];
            raw.mesh.markers[marker].partner = Some(raw.mesh.markers[partner].name.clone());
        }
        Ok(())
    }

    /// Faces that two zones have and no condition are inside.
    fn drop_seams(&mut self) {
        let mut count: HashMap<Key, usize> = HashMap::new();
        self.faces.iter().for_each(|f| *count.entry(key(f.face.nodes())).or_default() += 1);
        self.faces.retain(|f| f.conditioned || count[&key(f.face.nodes())] == 1);
    }

    /// Finds the image of each face whose nodes have images, and adds those that the file has not among its faces.
    fn pair(&mut self, groups: &[Group<'_>], raw: &Raw) -> Result<Pairs, Fault> {
        let mut listed: HashSet<u32> =
            groups.iter().flat_map(|g| g.images.iter().flat_map(|(&a, &b)| [a, b])).collect();
        listed.extend(groups.iter().flat_map(|g| g.faces.as_flattened().as_flattened()).copied());
        let outer = skin(raw, |n| listed.contains(&n));
        let by_key: HashMap<Key, usize> =
            outer.iter().enumerate().map(|(i, f)| (key(f.nodes()), i)).collect();
        let mut pairs = Pairs::default();
        let mut used: HashSet<u32> = HashSet::new();
        let mut joins = vec![false; groups.len()];
        for (g, group) in groups.iter().enumerate() {
            for &[a, b] in &group.faces {
                if ![a, b].iter().all(|face| by_key.contains_key(face)) {
                    return Err(group.node.fault(
                        "a face of its lists lies inside the zones, or belongs to no element: name faces of the boundary",
                    ));
                }
                joins[g] |= pairs.join(a, b, g, group.node)?;
            }
            for face in &outer {
                let mut image = [u32::MAX; 4];
                let found = face.nodes().iter().zip(&mut image).all(|(n, slot)| {
                    group.images.get(n).is_some_and(|&donor| {
                        *slot = donor;
                        true
                    })
                });
                image.sort_unstable();
                let own = key(face.nodes());
                // A face that is its own image lies nowhere but on an axis.
                if !found || image == own {
                    continue;
                }
                if !by_key.contains_key(&image) {
                    let at = raw.mesh.nodes[face.nodes[0] as usize];
                    return Err(group.node.fault(format!(
                        "the face of {} nodes at {at:?} has no image among the faces of the donor's boundary: its nodes are there, but joined to \
                         other faces (another diagonal, for example); make the mesh with periodic sides",
                        face.corners
                    )));
                }
                joins[g] |= pairs.join(own, image, g, group.node)?;
                used.extend(face.nodes().iter().chain(&image).filter(|n| **n != u32::MAX));
            }
        }
        for (group, joins) in groups.iter().zip(joins) {
            // Lists of nodes of an edge of sides that are whole elsewhere add nothing.
            if !joins && !group.images.keys().all(|n| used.contains(n)) {
                return Err(group.node.fault(
                    "no face of the boundary has all of its nodes in its lists: they must hold all points of a side, those of its border, too",
                ));
            }
        }
        let known: HashSet<Key> = self.faces.iter().map(|f| key(f.face.nodes())).collect();
        let at = self.faces.last().map_or(0, |f| f.at);
        let open = outer.into_iter().filter(|f| {
            let own = key(f.nodes());
            pairs.of.contains_key(&own) && !known.contains(&own)
        });
        self.faces.extend(open.map(|face| Named { face, name: None, conditioned: false, at }));
        Ok(pairs)
    }
}

/// Faces and their images.
#[derive(Default)]
struct Pairs {
    of: HashMap<Key, (Key, Side)>,
    /// What a side is called where its faces have no name of their own.
    names: HashMap<Side, String>,
}

impl Pairs {
    /// Joins two faces; whether they are.
    fn join(&mut self, a: Key, b: Key, group: usize, node: &Node) -> Result<bool, Fault> {
        match self.of.get(&a) {
            Some((image, side)) if *image == b => {
                // The other side's own connection: its name is that side's.
                if side.1 {
                    self.names.insert(*side, node.name.clone());
                }
                return Ok(true);
            }
            None if !self.of.contains_key(&b) => {}
            _ => {
                return Err(node.fault(
                    "a face has two images, by this connection and by another one: each side is periodic with one other",
                ));
            }
        }
        self.of.insert(a, (b, (group, false)));
        self.of.insert(b, (a, (group, true)));
        self.names.entry((group, false)).or_insert_with(|| node.name.clone());
        self.names.entry((group, true)).or_insert_with(|| format!("{}_donor", node.name));
        Ok(true)
    }
}

/// The faces of elements (edges, of a planar mesh) all of whose nodes are `wanted` and that belong to one element only.
fn skin(raw: &Raw, wanted: impl Fn(u32) -> bool) -> Vec<Face> {
    let mut faces: HashMap<Key, Option<(Key, usize)>> = HashMap::new();
    let mut visit = |face: &[u32]| {
        if face.iter().all(|&n| wanted(n)) {
            let mut nodes = [u32::MAX; 4];
            nodes[..face.len()].copy_from_slice(face);
            faces.entry(key(face)).and_modify(|f| *f = None).or_insert(Some((nodes, face.len())));
        }
    };
    raw.mesh.each_element(|kind, _, e| {
        for face in kind.faces() {
            let mut nodes = [0; 4];
            face.iter().zip(&mut nodes).for_each(|(&n, slot)| *slot = e[n]);
            visit(&nodes[..face.len()]);
        }
    });
    for e in raw.flat.iter().flat_map(|flat| flat.polygons()) {
        (0..e.len()).for_each(|k| visit(&[e[k], e[(k + 1) % e.len()]]));
    }
    let mut skin: Vec<Face> = faces
        .into_values()
        .flatten()
        .map(|(nodes, corners)| Face { nodes, corners, number: 0, section: usize::MAX })
        .collect();
    skin.sort_unstable_by_key(|f| f.nodes);
    skin
}
