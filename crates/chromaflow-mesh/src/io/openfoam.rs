//! OpenFOAM meshes: the folder `polyMesh` with the files `points`, `faces`, `owner`, `neighbour` and `boundary`, as text.
//!
//! Cells are put together from their faces, whose normals point out of their owners. A mesh of one layer between `empty` patches is planar.
//!
//! **Source**: *OpenFOAM User Guide*, section 4.1, "Mesh description".

use crate::raw::{Flat, Flipped, Raw, orient_elements};
use crate::{Kind, Marker, Mesh, MeshError, Place};
use chromaflow::files::{self, FileError};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The folder of a mesh, from the name of it, of a case, or of one of the files.
pub(super) fn folder(path: &Path) -> Option<PathBuf> {
    let own = path.file_name().is_some_and(|n| n == "polyMesh");
    let candidates = [path.to_owned(), path.join("polyMesh"), path.join("constant/polyMesh")];
    let found = candidates.iter().find(|c| c.join("points").is_file() || c.join("points.gz").is_file());
    found.cloned().or_else(|| own.then(|| path.to_owned()))
}

/// Words of a file: numbers, names, and `(){};` one by one.
struct Tokens {
    path: PathBuf,
    text: Vec<u8>,
    at: usize,
    line: u64,
}

impl Tokens {
    fn open(folder: &Path, name: &str) -> Result<Self, MeshError> {
        let plain = folder.join(name);
        let packed = folder.join(format!("{name}.gz"));
        let path = if packed.is_file() && !plain.is_file() { packed } else { plain };
        let mut text = Vec::new();
        files::open(&path)?.read_to_end(&mut text).map_err(|e| FileError::new("cannot read", &path, e))?;
        let mut tokens = Self { path, text, at: 0, line: 1 };
        tokens.header()?;
        Ok(tokens)
    }

    fn error(&self, what: impl Into<String>) -> MeshError {
        MeshError::Syntax { path: self.path.clone(), place: Place::Line(self.line), what: what.into() }
    }

    fn rest(&self) -> &[u8] {
        &self.text[self.at..]
    }

    fn skip(&mut self, n: usize) {
        let end = (self.at + n).min(self.text.len());
        self.line += self.text[self.at..end].split(|&b| b == b'\n').skip(1).count() as u64;
        self.at = end;
    }

    /// The next word; nothing at the end.
    fn next(&mut self) -> Option<&str> {
        loop {
            let blank = self.rest().iter().take_while(|b| b.is_ascii_whitespace()).count();
            self.skip(blank);
            let end_of =
                |mark: &[u8]| self.rest().windows(mark.len()).position(|w| w == mark).map(|n| n + mark.len());
            if self.rest().starts_with(b"//") {
                let n = end_of(b"\n").unwrap_or(self.rest().len());
                self.skip(n);
            } else if self.rest().starts_with(b"/*") {
                let n = end_of(b"*/").unwrap_or(self.rest().len());
                self.skip(n);
            } else {
                break;
            }
        }
        let sign = |b: &u8| b"(){};".contains(b);
        let length = match self.rest().first()? {
            b if sign(b) => 1,
            b'"' => 2 + self.rest()[1..].iter().take_while(|b| **b != b'"').count(),
            _ => self.rest().iter().take_while(|b| !b.is_ascii_whitespace() && !sign(b)).count(),
        };
        let start = self.at;
        self.at = (start + length).min(self.text.len());
        Some(std::str::from_utf8(&self.text[start..self.at]).unwrap_or("?"))
    }

    fn expect(&mut self, sign: &str) -> Result<(), MeshError> {
        let found = self.next().unwrap_or("the end of the file").to_owned();
        if found == sign { Ok(()) } else { Err(self.error(format!("expected {sign:?}, found {found:?}"))) }
    }

    fn number<T: std::str::FromStr>(&mut self, what: &str) -> Result<T, MeshError> {
        let word = self.next().unwrap_or("the end of the file").to_owned();
        word.parse().map_err(|_| self.error(format!("expected {what}, found {word:?}")))
    }

    /// The dictionary `FoamFile { ... }` that files begin with.
    fn header(&mut self) -> Result<(), MeshError> {
        let (at, line) = (self.at, self.line);
        if self.next() != Some("FoamFile") {
            (self.at, self.line) = (at, line);
            return Ok(());
        }
        self.expect("{")?;
        let mut last = String::new();
        loop {
            match self.next().map(str::to_owned) {
                None => return Err(self.error("the header has no end")),
                Some(word) if word == "}" => return Ok(()),
                Some(word) if last == "format" && word != "ascii" => {
                    return Err(self.error(format!(
                        "a file in the form {word:?}: write text with `foamFormatConvert` after `writeFormat ascii;` in controlDict"
                    )));
                }
                Some(word) => last = word,
            }
        }
    }

    /// A list: its length, then `item` that many times in brackets.
    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, MeshError>,
    ) -> Result<Vec<T>, MeshError> {
        let count: usize = self.number("the length of a list")?;
        self.expect("(")?;
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(item(self)?);
        }
        self.expect(")")?;
        Ok(all)
    }
}

struct Patch {
    name: String,
    kind: String,
    /// The patch that it is periodic with.
    neighbour: Option<String>,
    first: usize,
    count: usize,
}

fn patch(tokens: &mut Tokens) -> Result<Patch, MeshError> {
    let name = tokens.next().unwrap_or_default().trim_matches('"').to_owned();
    let mut patch = Patch { name, kind: String::new(), neighbour: None, first: 0, count: 0 };
    tokens.expect("{")?;
    loop {
        let Some(key) = tokens.next().map(str::to_owned) else {
            return Err(tokens.error(format!("the patch {:?} has no end", patch.name)));
        };
        match key.as_str() {
            "}" => return Ok(patch),
            ";" => {}
            "type" => tokens.next().unwrap_or_default().clone_into(&mut patch.kind),
            "neighbourPatch" => patch.neighbour = tokens.next().map(|name| name.trim_matches('"').to_owned()),
            "nFaces" => patch.count = tokens.number("a number of faces")?,
            "startFace" => patch.first = tokens.number("the number of a face")?,
            _ => while tokens.next().is_some_and(|word| word != ";") {},
        }
    }
}

/// Reads a mesh.
pub(super) fn read(path: &Path) -> Result<Raw, MeshError> {
    let folder = folder(path)
        .ok_or_else(|| MeshError::unsupported(path, "a folder without an OpenFOAM mesh: no points file"))?;
    let mut tokens = Tokens::open(&folder, "points")?;
    let nodes = tokens.list(|t| {
        t.expect("(")?;
        let x = [t.number("a coordinate")?, t.number("a coordinate")?, t.number("a coordinate")?];
        t.expect(")")?;
        Ok(x)
    })?;
    let mut tokens = Tokens::open(&folder, "faces")?;
    let faces: Vec<Vec<u32>> = tokens.list(|t| {
        let face = t.list(|t| t.number::<u32>("the number of a point"))?;
        match face.iter().find(|&&n| n as usize >= nodes.len()) {
            Some(n) => Err(t.error(format!("point {n} of {}", nodes.len()))),
            None => Ok(face),
        }
    })?;
    let mut cells: Vec<Vec<u32>> = Vec::new();
    for name in ["owner", "neighbour"] {
        let mut tokens = Tokens::open(&folder, name)?;
        let mut number = 0;
        let most = faces.len();
        tokens.list(|t| {
            let cell: usize = t.number("the number of a cell")?;
            if number >= most || cell >= most {
                return Err(t.error(format!("cell {cell} of face {number}: there are {most} faces")));
            }
            if cells.len() <= cell {
                cells.resize_with(cell + 1, Vec::new);
            }
            cells[cell].push(number as u32);
            number += 1;
            Ok(())
        })?;
    }
    let mut mesh = Mesh { nodes, ..Mesh::default() };
    for (number, cell) in cells.iter().enumerate() {
        let faces: Vec<&[u32]> = cell.iter().map(|&f| faces[f as usize].as_slice()).collect();
        if !put(&mut mesh, &faces) {
            let corners: Vec<String> = faces.iter().map(|f| f.len().to_string()).collect();
            return Err(MeshError::unsupported(
                path,
                format!(
                    "cell {number} has faces of {} corners: only tetrahedra, pyramids, prisms and hexahedra are read, no other \
                     polyhedra; mesh without them, or cut them with `foamToVTK -poly-decomp`",
                    corners.join(", ")
                ),
            ));
        }
    }
    orient_elements(&mut mesh, &mut Flipped::default(), 1);
    let mut empty = Vec::new();
    for patch in Tokens::open(&folder, "boundary")?.list(patch)? {
        let end = patch.first.checked_add(patch.count).filter(|&end| end <= faces.len());
        let Some(end) = end else {
            let what = format!(
                "the patch {:?} has faces {} and {} after it, of {}",
                patch.name,
                patch.first,
                patch.count,
                faces.len()
            );
            return Err(MeshError::unsupported(path, what));
        };
        let code = match patch.kind.as_str() {
            "wall" => Some(4000),
            "symmetry" | "symmetryPlane" | "wedge" | "empty" => Some(6661),
            _ => None,
        };
        let partner = patch.neighbour.filter(|_| patch.kind.starts_with("cyclic"));
        let mut marker = Marker { name: patch.name, code, partner, ..Marker::default() };
        for face in &faces[patch.first..end] {
            match face[..] {
                [a, b, c] => marker.triangles.push([a, b, c]),
                [a, b, c, d] => marker.quads.push([a, b, c, d]),
                _ => {
                    return Err(MeshError::unsupported(
                        path,
                        format!("a face of {} corners on {:?}", face.len(), marker.name),
                    ));
                }
            }
        }
        if !marker.triangles.is_empty() || !marker.quads.is_empty() {
            empty.push(patch.kind == "empty");
            mesh.markers.push(marker);
        }
    }
    match flattened(&mesh, &empty) {
        Some(mut flat) => {
            flat.lay_flat(0..flat.mesh.nodes.len() as u32, path)?;
            Ok(flat)
        }
        None => Ok(Raw::of_mesh(mesh)),
    }
}

/// The planar mesh of which a mesh is one layer, normal to an axis, between the markers that are `empty`: the faces of these on one side, and the edges that the
/// others have there.
fn flattened(mesh: &Mesh, empty: &[bool]) -> Option<Raw> {
    let faces = |empties: bool| {
        let markers = mesh.markers.iter().zip(empty).filter(move |(_, empty)| **empty == empties);
        markers.flat_map(|(m, _)| {
            let triangles = m.triangles.iter().map(|t| t.as_slice());
            triangles.chain(m.quads.iter().map(|q| q.as_slice()))
        })
    };
    // Twice the area, as a vector out of the mesh.
    let area = |face: &[u32]| -> [f64; 3] {
        std::array::from_fn(|k| {
            let (a, b) = ((k + 1) % 3, (k + 2) % 3);
            let p = |i: usize| mesh.nodes[face[i % face.len()] as usize];
            (0..face.len()).map(|i| p(i)[a] * p(i + 1)[b] - p(i)[b] * p(i + 1)[a]).sum()
        })
    };
    let normal = area(faces(true).next()?).map(f64::abs);
    let axis = (0..3).max_by(|&a, &b| normal[a].total_cmp(&normal[b]))?;
    // The side from which the others turn to the left in the plane that `lay_flat` makes of it.
    let sign = if axis == 1 { -1.0 } else { 1.0 };
    let side: Vec<&[u32]> = faces(true).filter(|face| sign * area(face)[axis] > 0.0).collect();
    if side.len() != mesh.elements() || 2 * side.len() != faces(true).count() {
        return None;
    }
    // Numbers on that side.
    let mut near = vec![u32::MAX; mesh.nodes.len()];
    let mut nodes = Vec::new();
    for &n in side.iter().copied().flatten() {
        if near[n as usize] == u32::MAX {
            near[n as usize] = nodes.len() as u32;
            nodes.push(mesh.nodes[n as usize]);
        }
    }
    let new = |n: u32| near[n as usize];
    let mut flat = Flat::default();
    for face in side {
        match *face {
            [a, b, c] => flat.triangles.push([a, b, c].map(new)),
            [a, b, c, d] => flat.quads.push([a, b, c, d].map(new)),
            _ => return None,
        }
    }
    let mut markers = Vec::new();
    for (marker, _) in mesh.markers.iter().zip(empty).filter(|(_, empty)| !**empty) {
        let edge = |quad: &[u32; 4]| -> Option<[u32; 2]> {
            let [a, b, c, d] = quad.map(new);
            let on = [[a, b, c, d], [b, c, d, a], [c, d, a, b], [d, a, b, c]];
            let of_edge = |q: &&[u32; 4]| q.map(|n| n != u32::MAX) == [true, true, false, false];
            // That side is the far one of the layer here and the near one of the layer that it becomes.
            on.iter().find(of_edge).map(|q| [q[1], q[0]])
        };
        flat.edges.push(marker.quads.iter().map(edge).collect::<Option<_>>()?);
        let Marker { name, code, partner, triangles, .. } = marker.clone();
        markers.push(Marker { name, code, partner, ..Marker::default() });
        if !triangles.is_empty() {
            return None;
        }
    }
    let mut raw = Raw::of_mesh(Mesh { nodes, markers, ..Mesh::default() });
    raw.flat = Some(flat);
    raw.notes.push("one layer between empty patches: a planar mesh".to_owned());
    Some(raw)
}

/// Adds the element that has these faces; whether it is one. Its orientation is looked at later.
pub(super) fn put(mesh: &mut Mesh, faces: &[&[u32]]) -> bool {
    let of = |corners: usize| faces.iter().filter(|f| f.len() == corners).count();
    let (kind, base) = match (of(3), of(4), faces.len()) {
        (4, 0, 4) => (Kind::Tetrahedron, 3),
        (4, 1, 5) => (Kind::Pyramid, 4),
        (2, 3, 5) => (Kind::Prism, 3),
        (0, 6, 6) => (Kind::Hexahedron, 4),
        _ => return false,
    };
    let Some(base) = faces.iter().find(|f| f.len() == base) else { return false };
    // The node that an edge leads to from a node of the base.
    let above = |n: u32| {
        faces.iter().find_map(|f| {
            let at = f.iter().position(|m| *m == n)?;
            [f[(at + 1) % f.len()], f[(at + f.len() - 1) % f.len()]].into_iter().find(|m| !base.contains(m))
        })
    };
    let top: Option<Vec<u32>> = base.iter().map(|&n| above(n)).collect();
    let Some(top) = top else { return false };
    match kind {
        Kind::Tetrahedron => mesh.tets.push([base[0], base[1], base[2], top[0]]),
        Kind::Pyramid => mesh.pyramids.push([base[0], base[1], base[2], base[3], top[0]]),
        Kind::Prism => mesh.prisms.push([base[0], base[1], base[2], top[0], top[1], top[2]]),
        Kind::Hexahedron => {
            mesh.hexes.push([base[0], base[1], base[2], base[3], top[0], top[1], top[2], top[3]]);
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use crate::generate::{Cells, box_mesh};
    use crate::{Kind, Mesh, MeshError, ReadOptions, faces, info, load};
    use std::path::Path;

    /// A mesh as OpenFOAM has it, all of its patches walls.
    fn write(folder: &Path, mesh: &Mesh) {
        write_as(folder, mesh, &|_| "wall");
    }

    /// The same with patches of other types.
    fn write_as(folder: &Path, mesh: &Mesh, kind: &dyn Fn(&str) -> &'static str) {
        std::fs::create_dir_all(folder).unwrap();
        let head = |class: &str| {
            format!("/* a comment */\nFoamFile\n{{ version 2.0; format ascii; class {class}; }}\n// * * *\n")
        };
        let put = |name: &str, class: &str, items: &[String]| {
            let text = format!("{}{}\n(\n{}\n)\n", head(class), items.len(), items.join("\n"));
            std::fs::write(folder.join(name), text).unwrap();
        };
        let list = |nodes: &[u32]| {
            format!("{}({})", nodes.len(), nodes.iter().map(u32::to_string).collect::<Vec<_>>().join(" "))
        };
        let (mut inner, mut owner, mut neighbour) = (Vec::new(), Vec::new(), Vec::new());
        let mut element_faces = std::collections::HashMap::new();
        for e in 0..mesh.elements() {
            let (kind, _, nodes) = mesh.element(e);
            for local in 0..kind.faces().len() {
                let (face, corners) = faces::face_nodes(kind, nodes, local as u8);
                let mut key = face[..corners].to_vec();
                key.sort_unstable();
                match element_faces.remove(&key) {
                    None => drop(element_faces.insert(key, (face[..corners].to_vec(), e))),
                    Some((face, other)) => {
                        inner.push(list(&face));
                        owner.push(other.to_string());
                        neighbour.push(e.to_string());
                    }
                }
            }
        }
        let mut patches = Vec::new();
        for m in &mesh.markers {
            let first = inner.len();
            for face in m.triangles.iter().map(|t| t.to_vec()).chain(m.quads.iter().map(|q| q.to_vec())) {
                let mut key = face.clone();
                key.sort_unstable();
                owner.push(element_faces[&key].1.to_string());
                inner.push(list(&face));
            }
            let count = inner.len() - first;
            patches.push(format!(
                "{} {{ type {}; inGroups 1(wall); nFaces {count}; startFace {first}; }}",
                m.name,
                kind(&m.name)
            ));
        }
        put(
            "points",
            "vectorField",
            &mesh.nodes.iter().map(|[x, y, z]| format!("({x:?} {y:?} {z:?})")).collect::<Vec<_>>(),
        );
        put("faces", "faceList", &inner);
        put("owner", "labelList", &owner);
        put("neighbour", "labelList", &neighbour);
        put("boundary", "polyBoundaryMesh", &patches);
    }

    #[test]
    fn cells_come_together_from_their_faces() {
        let folder = tempfile::tempdir().unwrap();
        let mesh = box_mesh([4, 3, 3], [1.0; 3], Cells::Mixed, 0.2);
        write(&folder.path().join("constant/polyMesh"), &mesh);
        let loaded = load(folder.path(), &ReadOptions::default()).unwrap();
        assert!(loaded.report.is_clean(), "{}", loaded.report);
        assert_eq!(Kind::ALL.map(|k| loaded.mesh.count(k)), Kind::ALL.map(|k| mesh.count(k)));
        let (a, b) = (info(&loaded.mesh), info(&mesh));
        assert!((a.volume - b.volume).abs() < 1e-13);
        assert_eq!(
            a.markers.iter().map(|m| &m.name).collect::<Vec<_>>(),
            b.markers.iter().map(|m| &m.name).collect::<Vec<_>>()
        );
    }

    /// A layer between empty patches is a planar mesh, normal to whichever axis; more than one layer has symmetry there.
    #[test]
    fn layers_between_empty_patches_are_planar() {
        let folder = tempfile::tempdir().unwrap();
        for (cells, axis) in [([4, 3, 1], 2), ([4, 1, 3], 1), ([1, 4, 3], 0)] {
            let mut mesh = box_mesh(cells, [1.0, 2.0, 3.0], Cells::Hexes, 0.0);
            let normal = |m: &crate::Marker, mesh: &Mesh| {
                let x = m.quads[0].map(|n| mesh.nodes[n as usize]);
                (0..3).find(|&k| x.iter().all(|p| p[k] == x[0][k])).unwrap()
            };
            let names: Vec<String> =
                mesh.markers.iter().enumerate().map(|(i, m)| format!("{}{i}", normal(m, &mesh))).collect();
            mesh.markers.iter_mut().zip(names).for_each(|(m, name)| m.name = name);
            let kind = |name: &str| -> &'static str {
                match name {
                    name if name.starts_with(&axis.to_string()) => "empty",
                    name if name.ends_with('4') || name.ends_with('0') => "patch",
                    _ => "symmetryPlane",
                }
            };
            write_as(folder.path().join("polyMesh").as_path(), &mesh, &kind);
            let loaded = load(folder.path(), &ReadOptions::default()).unwrap();
            assert!(loaded.report.is_clean(), "{axis}: {}", loaded.report);
            assert_eq!(loaded.flipped, crate::raw::Flipped::default(), "{axis}");
            let planar = loaded.mesh.planar.expect("a planar mesh");
            assert_eq!((planar.nodes_2d, loaded.mesh.elements()), (20, 12), "{axis}");
            let area = [6.0, 3.0, 2.0][axis];
            assert!((info(&loaded.mesh).volume - area).abs() < 1e-13, "{axis}");
            let codes = loaded.mesh.markers.iter().filter(|m| m.code == Some(6661)).count();
            assert!(codes >= 2 && loaded.mesh.markers.len() == 6, "{axis}");
            assert!(loaded.notes[0].starts_with("one layer between empty patches"), "{:?}", loaded.notes);
        }
        let thick = box_mesh([3, 3, 2], [1.0; 3], Cells::Hexes, 0.0);
        write_as(folder.path().join("polyMesh").as_path(), &thick, &|_| "empty");
        let loaded = load(folder.path(), &ReadOptions::default()).unwrap();
        assert!(loaded.report.is_clean() && loaded.mesh.planar.is_none());
        assert!(loaded.mesh.markers.iter().all(|m| m.code == Some(6661)));
    }

    #[test]
    fn damaged_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let poly = folder.path().join("polyMesh");
        write(&poly, &box_mesh([2, 2, 2], [1.0; 3], Cells::Mixed, 0.0));
        let mut state = 7_u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for name in ["points", "faces", "owner", "neighbour", "boundary"] {
            let whole = std::fs::read(poly.join(name)).unwrap();
            for round in 0..60 {
                let mut bytes = whole.clone();
                if round % 3 == 0 {
                    bytes.truncate(random(whole.len()));
                } else {
                    let at = random(bytes.len());
                    bytes[at] = b"0123456789(){}; x\xFF"[random(18)];
                }
                std::fs::write(poly.join(name), &bytes).unwrap();
                let result = load(&poly, &ReadOptions::default());
                assert!(
                    round % 3 > 0 || bytes.len() + 3 > whole.len() || result.is_err(),
                    "{name} cut at {}",
                    bytes.len()
                );
            }
            std::fs::write(poly.join(name), &whole).unwrap();
        }
        let binary = std::fs::read_to_string(poly.join("points")).unwrap().replace("ascii", "binary");
        std::fs::write(poly.join("points"), binary).unwrap();
        let error = load(&poly, &ReadOptions::default()).unwrap_err();
        assert!(
            matches!(&error, MeshError::Syntax { .. }) && error.to_string().contains("foamFormatConvert"),
            "{error}"
        );
    }
}
