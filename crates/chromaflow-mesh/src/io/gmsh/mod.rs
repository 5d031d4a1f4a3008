//! Gmsh's `.msh` files, versions 2.2 and 4.1, text and binary.
//!
//! Markers are the physical groups of the boundary, which version 4.1 keeps with the geometric entities and not with the
//! elements; a boundary entity of no group becomes a marker of its own number. **Source**: Gmsh reference manual, "Gmsh
//! mesh file formats".

#[cfg(test)]
mod tests;
mod types;

use super::scan::Scan;
use crate::raw::{Flat, Raw};
use crate::{Kind, MeshError};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use types::{Type, kind};

/// A boundary patch: the dimension, whether it is a physical group, its number.
type Patch = (u8, bool, i64);

/// Why a file may have no cells.
const SAVED: &str = "Gmsh saves what is in a physical group, where there is any: give the whole domain a Physical Surface (planar) or Physical Volume, or \
                     set Mesh.SaveAll = 1";

#[derive(Default)]
struct Reader {
    raw: Raw,
    /// Tags of the nodes, in the order of the file.
    tags: Vec<u64>,
    number: HashMap<u64, u32>,
    names: HashMap<(i64, i64), String>,
    /// First physical group of each entity.
    groups: HashMap<(u8, i64), i64>,
    /// Further ones: an entity, the group.
    overlaps: Vec<((u8, i64), i64)>,
    /// Elements of one and two dimensions; the fourth node `u32::MAX` where there are fewer.
    lines: Vec<([u32; 2], Patch, u64)>,
    surfaces: Vec<([u32; 4], Patch, u64)>,
    /// Patch of each geometric entity that has elements.
    patches: HashMap<(u8, i64), Patch>,
    /// Entities of $Periodic: dimension, slave, master.
    periodic: Vec<(u8, i64, i64)>,
    legacy: bool,
    /// Elements of higher order were read.
    curved: bool,
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Raw, MeshError> {
    let mut scan = Scan::open(path)?;
    let mut reader = Reader::default();
    let mut seen = [false; 3];
    while let Some(line) = scan.rest_of_line()? {
        let Some(section) = line.trim_ascii().strip_prefix(b"$") else {
            if !seen[0] {
                let what = "no Gmsh file: it does not begin with $MeshFormat (PETSc-FUN3D's .msh files hold edges and \
                            no elements, and cannot be used)";
                return Err(MeshError::unsupported(path, what));
            }
            if line.trim_ascii().is_empty() {
                continue;
            }
            return Err(scan.error("expected a section that begins with $"));
        };
        if !seen[0] && section != b"MeshFormat" && section != b"Comments" {
            return Err(scan.error("expected $MeshFormat first"));
        }
        match section {
            b"MeshFormat" => {
                seen[0] = true;
                reader.header(&mut scan, path)?;
            }
            b"PhysicalNames" => reader.names(&mut scan)?,
            b"Entities" if !reader.legacy => reader.entities(&mut scan)?,
            b"PartitionedEntities" => {
                return Err(MeshError::unsupported(path, "a partitioned mesh; save it in one piece"));
            }
            b"Nodes" => {
                seen[1] = true;
                reader.nodes(&mut scan)?;
            }
            b"Elements" if seen[1] => {
                seen[2] = true;
                reader.elements(&mut scan)?;
            }
            b"Periodic" => reader.periodic(&mut scan)?,
            b"Elements" => return Err(scan.error("$Elements before $Nodes")),
            _ => {}
        }
        let end = [b"$End", section].concat();
        loop {
            let Some(line) = scan.rest_of_line()? else {
                let name = String::from_utf8_lossy(&end).into_owned();
                return Err(scan.error(format!("the file ends without {name}: it is cut short")));
            };
            if line.trim_ascii().ends_with(&end) {
                break;
            }
        }
    }
    if seen != [true; 3] {
        return Err(scan.error("the file has no $MeshFormat, $Nodes or $Elements: it is cut short"));
    }
    reader.raw.places.bytes = scan.binary;
    reader.finish(path)
}

impl Reader {
    fn header(&mut self, scan: &mut Scan, path: &Path) -> Result<(), MeshError> {
        let version = scan.real("the version")?;
        // 2.0 and 2.1 hold nothing that is written otherwise in 2.2.
        self.legacy = (2.0..2.25).contains(&version);
        if !self.legacy && version != 4.1 {
            let what = format!(
                "version {version} of Gmsh's format; save the mesh as version 2.2 or 4.1, with `gmsh FILE -save -format msh41 -o NEW.msh`"
            );
            return Err(MeshError::unsupported(path, what));
        }
        let binary = scan.int("the file type")? == 1;
        let size = scan.int("the data size")?;
        scan.rest_of_line()?;
        if size != 8 {
            return Err(MeshError::unsupported(path, format!("numbers of {size} bytes; only 8 are read")));
        }
        if binary {
            scan.binary = true;
            scan.big = match scan.int("the byte order")? {
                1 => false,
                0x0100_0000 => true,
                other => return Err(scan.error(format!("{other} where the byte order is told by a 1"))),
            };
        }
        Ok(())
    }

    fn names(&mut self, scan: &mut Scan) -> Result<(), MeshError> {
        let line = |scan: &mut Scan| {
            let text =
                scan.rest_of_line()?.ok_or_else(|| scan.error("the file ends inside $PhysicalNames"))?;
            Ok::<_, MeshError>(String::from_utf8_lossy(&text).trim().to_owned())
        };
        let n: u64 = line(scan)?.parse().map_err(|_| scan.error("expected the number of names"))?;
        for _ in 0..n {
            let text = line(scan)?;
            // Any blanks between the numbers, none of which counts but those within the name.
            let word = |text: &str| {
                let (word, rest) = text.trim_start().split_once(char::is_whitespace)?;
                Some((word.parse::<i64>().ok()?, rest.to_owned()))
            };
            let parts = word(&text).and_then(|(dimension, rest)| Some((dimension, word(&rest)?)));
            let Some((dimension, (tag, name))) = parts else {
                return Err(scan.error(format!("expected: dimension number \"name\", found {text:?}")));
            };
            // Quotation marks within a name are its own.
            let name = name.trim();
            let name = name.strip_prefix('"').and_then(|name| name.strip_suffix('"')).unwrap_or(name);
            self.names.insert((dimension, tag), name.to_owned());
        }
        Ok(())
    }

    fn entities(&mut self, scan: &mut Scan) -> Result<(), MeshError> {
        let what = "$Entities";
        let mut counts = [0; 4];
        for slot in &mut counts {
            *slot = scan.size(what)?;
        }
        for (dimension, n) in (0u8..).zip(counts) {
            for _ in 0..n {
                let tag = scan.int(what)?;
                for _ in 0..if dimension == 0 { 3 } else { 6 } {
                    scan.real(what)?;
                }
                for k in 0..scan.size(what)? {
                    let group = scan.int(what)?.abs();
                    if k == 0 {
                        self.groups.insert((dimension, tag), group);
                    } else {
                        self.overlaps.push(((dimension, tag), group));
                    }
                }
                if dimension > 0 {
                    for _ in 0..scan.size(what)? {
                        scan.int(what)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn node(&mut self, tag: u64, scan: &mut Scan) -> Result<(), MeshError> {
        let mut x = [0.0; 3];
        let place = scan.place()?;
        for c in &mut x {
            *c = scan.real("a coordinate")?;
        }
        let number = self.raw.mesh.nodes.len() as u32;
        if number == u32::MAX {
            return Err(scan.error("too many nodes"));
        }
        if self.number.insert(tag, number).is_some() {
            return Err(scan.error(format!("node {tag} stands here a second time")));
        }
        self.raw.mesh.nodes.push(x);
        self.raw.places.nodes.push(place);
        Ok(())
    }

    fn nodes(&mut self, scan: &mut Scan) -> Result<(), MeshError> {
        let what = "$Nodes";
        if self.legacy {
            let was = std::mem::replace(&mut scan.binary, false); // the count is a word even in binary files
            let n = scan.size(what)?;
            scan.rest_of_line()?;
            scan.binary = was;
            for _ in 0..n {
                let tag = scan.int("the number of a node")?;
                let tag = u64::try_from(tag).map_err(|_| scan.error(format!("node {tag}")))?;
                self.node(tag, scan)?;
            }
            return Ok(());
        }
        let blocks = scan.size(what)?;
        for _ in 0..3 {
            scan.size(what)?;
        }
        for _ in 0..blocks {
            let dimension = scan.int(what)?;
            scan.int(what)?;
            let parametric = scan.int(what)? != 0;
            let n = scan.size(what)?;
            self.tags.clear();
            for _ in 0..n {
                self.tags.push(scan.size("the number of a node")?);
            }
            for k in 0..self.tags.len() {
                self.node(self.tags[k], scan)?;
                if parametric {
                    for _ in 0..dimension.clamp(0, 3) {
                        scan.real(what)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn elements(&mut self, scan: &mut Scan) -> Result<(), MeshError> {
        let what = "$Elements";
        if !self.legacy {
            let blocks = scan.size(what)?;
            for _ in 0..3 {
                scan.size(what)?;
            }
            for _ in 0..blocks {
                scan.int(what)?;
                let entity = scan.int(what)?;
                let kind = kind(scan.int("the element's type")?, scan)?;
                let group = self.groups.get(&(kind.1, entity)).copied().unwrap_or(0);
                for _ in 0..scan.size(what)? {
                    let place = scan.place()?;
                    scan.size("an element")?;
                    self.element(scan, kind, group, entity, place)?;
                }
            }
            return Ok(());
        }
        let was = std::mem::replace(&mut scan.binary, false);
        let n = scan.size(what)?;
        scan.rest_of_line()?;
        scan.binary = was;
        let mut done = 0;
        while done < n {
            // Binary files tell the type once for many elements, text files every time.
            let mut place = scan.place()?;
            let (kind, many, tags) = if scan.binary {
                let kind = kind(scan.int("the element's type")?, scan)?;
                (kind, scan.int(what)?, scan.int(what)?)
            } else {
                scan.int("an element")?;
                let kind = kind(scan.int("the element's type")?, scan)?;
                (kind, 1, scan.int(what)?)
            };
            if many < 1 || many as u64 > n - done {
                return Err(scan.error(format!("a block of {many} elements, where {} are left", n - done)));
            }
            for _ in 0..many {
                if scan.binary {
                    place = scan.place()?;
                    scan.int("an element")?;
                }
                let mut tag = [0; 2];
                for k in 0..tags {
                    let value = scan.int("an element's tag")?;
                    if let Some(slot) = tag.get_mut(k as usize) {
                        *slot = value;
                    }
                }
                self.element(scan, kind, tag[0], tag[1], place)?;
            }
            done += many as u64;
        }
        Ok(())
    }

    fn element(
        &mut self,
        scan: &mut Scan,
        (number, dimension, corners, more): Type,
        group: i64,
        entity: i64,
        place: u64,
    ) -> Result<(), MeshError> {
        let mut nodes = [u32::MAX; 8];
        for slot in &mut nodes[..corners] {
            let tag = if self.legacy { scan.int("a node")? as u64 } else { scan.size("a node")? };
            *slot = *self.number.get(&tag).ok_or_else(|| scan.error(format!("there is no node {tag}")))?;
        }
        for _ in 0..more {
            let _ = if self.legacy { scan.int("a node")? as u64 } else { scan.size("a node")? };
        }
        self.curved |= more > 0;
        let patch = if group > 0 { (dimension, true, group) } else { (dimension, false, entity) };
        self.patches.insert((dimension, entity), patch);
        match number {
            1 => self.lines.push(([nodes[0], nodes[1]], patch, place)),
            2 | 3 => self.surfaces.push(([nodes[0], nodes[1], nodes[2], nodes[3]], patch, place)),
            4 => self.raw.push(Kind::Tetrahedron, &nodes[..4], place),
            5 => self.raw.push(Kind::Hexahedron, &nodes, place),
            6 => self.raw.push(Kind::Prism, &nodes[..6], place),
            7 => self.raw.push(Kind::Pyramid, &nodes[..5], place),
            _ => {}
        }
        Ok(())
    }

    /// Which entities are images of which; their nodes are found by where they are.
    fn periodic(&mut self, scan: &mut Scan) -> Result<(), MeshError> {
        let what = "$Periodic";
        let was = scan.binary;
        scan.binary = was && !self.legacy; // version 2.2 has it as text even in binary files
        for _ in 0..scan.size(what)? {
            let [dimension, slave, master] = [scan.int(what)?, scan.int(what)?, scan.int(what)?];
            if let Ok(dimension) = u8::try_from(dimension) {
                self.periodic.push((dimension, slave, master));
            }
            let mut pairs = None;
            if self.legacy {
                scan.rest_of_line()?;
                let line = scan.rest_of_line()?.unwrap_or_default();
                let line = String::from_utf8_lossy(&line).trim().to_owned();
                if !line.starts_with("Affine") {
                    let count = line.parse::<u64>();
                    pairs = Some(
                        count.map_err(|_| scan.error(format!("expected the number of nodes in {what}")))?,
                    );
                }
            } else {
                for _ in 0..scan.size(what)? {
                    scan.real(what)?;
                }
            }
            let pairs = match pairs {
                Some(pairs) => pairs,
                None => scan.size(what)?,
            };
            for _ in 0..2 * pairs {
                scan.size(what)?;
            }
        }
        if scan.binary != was {
            scan.rest_of_line()?;
        }
        scan.binary = was;
        Ok(())
    }

    /// Names the partners of markers whose entities are images of one another.
    fn partners(&mut self, markers: &BTreeMap<Patch, usize>, of: u8) {
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        let mut unclear = Vec::new();
        for &(dimension, slave, master) in self.periodic.iter().filter(|p| p.0 == of) {
            let marker = |entity: i64| markers.get(self.patches.get(&(dimension, entity))?).copied();
            let (Some(a), Some(b)) = (marker(slave), marker(master)) else { continue };
            let fits = |one: usize, other: usize| found.get(&one).is_none_or(|known| *known == other);
            if a != b && fits(a, b) && fits(b, a) {
                found.extend([(a, b), (b, a)]);
            } else {
                unclear.extend([a, b]);
            }
        }
        for (a, b) in found {
            if unclear.contains(&a) || unclear.contains(&b) {
                continue;
            }
            self.raw.mesh.markers[a].partner = Some(self.raw.mesh.markers[b].name.clone());
        }
        unclear.sort_unstable();
        unclear.dedup();
        for marker in unclear {
            let name = &self.raw.mesh.markers[marker].name;
            self.raw.notes.push(format!(
                "marker {name:?} is periodic with more than one marker, or with itself: give each side a physical group of its own"
            ));
        }
    }

    fn markers(&mut self, patches: impl Iterator<Item = Patch>) -> BTreeMap<Patch, usize> {
        let mut markers: BTreeMap<Patch, usize> = patches.map(|p| (p, 0)).collect();
        for (&(dimension, physical, tag), slot) in &mut markers {
            let what = if dimension == 1 { "curve" } else { "surface" };
            let name = if physical { self.group(dimension, tag) } else { format!("{what}_{tag}") };
            *slot = self.raw.marker(name, None);
        }
        markers
    }

    /// The name of a physical group, or its number.
    fn group(&self, dimension: u8, tag: i64) -> String {
        self.names.get(&(i64::from(dimension), tag)).cloned().unwrap_or_else(|| tag.to_string())
    }

    /// Says which physical groups share entities of the boundary, which has these dimensions: a face has one marker.
    fn tell_overlaps(&mut self, of: u8) {
        let shared = self.overlaps.iter().filter(|(entity, _)| entity.0 == of);
        let pairs: BTreeSet<(i64, i64)> = shared
            .filter(|(entity, _)| self.patches.contains_key(entity))
            .map(|(entity, group)| (self.groups[entity], *group))
            .collect();
        for (kept, other) in pairs {
            let [kept, other] = [kept, other].map(|group| self.group(of, group));
            let what = if of == 1 { "curves" } else { "surfaces" };
            self.raw.notes.push(format!(
                "{what} that are in the physical groups {kept:?} and {other:?} are of the marker {kept:?} alone: give them groups of their own for both names"
            ));
        }
    }

    fn finish(mut self, path: &Path) -> Result<Raw, MeshError> {
        self.raw.drop_unused = true; // points of the geometry are nodes too
        if self.curved {
            self.raw
                .notes
                .push("elements of higher order were read by their corners: sides are straight".to_owned());
        }
        if self.raw.mesh.elements() > 0 {
            let surfaces = std::mem::take(&mut self.surfaces);
            let markers = self.markers(surfaces.iter().map(|s| s.1));
            for (nodes, patch, place) in &surfaces {
                let corners = if nodes[3] == u32::MAX { 3 } else { 4 };
                self.raw.face(markers[patch], &nodes[..corners], *place);
            }
            self.partners(&markers, 2);
            self.tell_overlaps(2);
            return Ok(self.raw);
        }
        if self.surfaces.is_empty() {
            return Err(MeshError::unsupported(
                path,
                format!("no element fills a plane or a volume. {SAVED}"),
            ));
        }
        let corners = |nodes: &[u32; 4]| nodes[..if nodes[3] == u32::MAX { 3 } else { 4 }].to_vec();
        let flat = self.raw.lay_flat(self.surfaces.iter().flat_map(|s| corners(&s.0)), path);
        flat.map_err(|error| match error {
            MeshError::Unsupported { path, what } => {
                MeshError::Unsupported { path, what: format!("{what}. {SAVED}") }
            }
            other => other,
        })?;
        let lines = std::mem::take(&mut self.lines);
        let markers = self.markers(lines.iter().map(|l| l.1));
        self.partners(&markers, 1);
        self.tell_overlaps(1);
        let mut flat = Flat { edges: vec![Vec::new(); markers.len()], ..Flat::default() };
        for (nodes, patch, place) in &lines {
            flat.edges[markers[patch]].push(*nodes);
            self.raw.places.markers[markers[patch]].quads.push(*place);
        }
        for &(nodes, _, place) in &self.surfaces {
            if nodes[3] == u32::MAX {
                flat.triangles.push([nodes[0], nodes[1], nodes[2]]);
                self.raw.places.elements[Kind::Prism as usize].push(place);
            } else {
                flat.quads.push(nodes);
                self.raw.places.elements[Kind::Hexahedron as usize].push(place);
            }
        }
        self.raw.flat = Some(flat);
        Ok(self.raw)
    }
}
