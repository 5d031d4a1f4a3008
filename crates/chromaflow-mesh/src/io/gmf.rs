//! GMF binary files (`.meshb`), versions 2 to 4.
//!
//! An integer 1 (byte order), the version, then records of a keyword, the position of the next record, a count and the
//! data, each thing with a reference at its end; nodes count from 1. Records that we do not use are passed over by
//! position. In a file of dimension 2, or one of dimension 3 without elements that fill a volume, triangles and quadrilaterals
//! are the elements and edges the boundary. **Source**: Marechal, libMeshb.

use super::patches::{NumberedFace, corners, gather};
use super::slices::{Records, Table, nodes_of, point, whole};
use crate::parse::binary::{Bytes, int};
use crate::raw::Raw;
use crate::{Kind, MeshError, ReadOptions};
use std::path::Path;

/// Things of one kind in a file.
#[derive(Clone, Copy)]
pub(super) enum Things {
    /// Of so many coordinates.
    Nodes(usize),
    Edges,
    /// Of so many corners.
    Faces(usize),
    Elements(Kind),
}

impl Things {
    fn of(keyword: i64, dimension: usize) -> Option<Self> {
        Some(match keyword {
            4 => Self::Nodes(dimension),
            5 => Self::Edges,
            6 => Self::Faces(3),
            7 => Self::Faces(4),
            8 => Self::Elements(Kind::Tetrahedron),
            9 => Self::Elements(Kind::Prism),
            10 => Self::Elements(Kind::Hexahedron),
            49 => Self::Elements(Kind::Pyramid),
            _ => return None,
        })
    }

    /// Nodes of one.
    pub(super) fn corners(self) -> usize {
        match self {
            Self::Nodes(_) => 1,
            Self::Edges => 2,
            Self::Faces(corners) => corners,
            Self::Elements(kind) => kind.nodes(),
        }
    }

    /// What they are called, and the bytes of one with its reference.
    fn record(self, width: usize) -> (&'static str, usize) {
        match self {
            Self::Nodes(dimension) => ("the vertices", 8 * dimension + width),
            Self::Edges => ("the edges", 3 * width),
            Self::Faces(_) | Self::Elements(_) => ("the elements", width * (self.corners() + 1)),
        }
    }
}

/// The dimension of a mesh.
pub(super) fn dimension(n: i64, path: &Path) -> Result<usize, MeshError> {
    match n {
        2 => Ok(2),
        3 => Ok(3),
        _ => {
            let what = format!("a mesh of dimension {n}; GMF files have dimension 2 or 3");
            Err(MeshError::unsupported(path, what))
        }
    }
}

/// What a file has.
#[derive(Default)]
pub(super) struct Collected {
    pub(super) raw: Raw,
    faces: Vec<NumberedFace>,
    edges: Vec<NumberedFace>,
}

impl Collected {
    /// Adds a node.
    pub(super) fn node(&mut self, x: [f64; 3], place: u64) {
        self.raw.mesh.nodes.push(x);
        self.raw.places.nodes.push(place);
    }

    /// Adds anything else.
    pub(super) fn add(&mut self, things: Things, nodes: &[u32], reference: i64, place: u64) {
        if let Things::Elements(kind) = things {
            return self.raw.push(kind, nodes, place);
        }
        let mut face = [u32::MAX; 4];
        face[..nodes.len()].copy_from_slice(nodes);
        let list = if nodes.len() == 2 { &mut self.edges } else { &mut self.faces };
        list.push((face, reference, place));
    }

    /// The mesh: a planar one where the dimension is 2 or no element fills a volume.
    pub(super) fn finish(
        self,
        dimension: usize,
        path: &Path,
        options: &ReadOptions,
    ) -> Result<Raw, MeshError> {
        let Self { mut raw, faces, edges } = self;
        if dimension == 3 && (raw.mesh.elements() > 0 || faces.is_empty()) {
            gather(&mut raw, &faces, path, options)?;
            return Ok(raw);
        }
        raw.lay_flat(faces.iter().flat_map(|f| corners(&f.0).iter().copied()), path)?;
        raw.flat.get_or_insert_default();
        for (nodes, _, place) in &faces {
            raw.push_flat(corners(nodes), *place);
        }
        raw.drop_unused = true; // points of the geometry are nodes in what programs make of Gmsh's files
        gather(&mut raw, &edges, path, options)?;
        Ok(raw)
    }
}

/// Reads byte order and version: the bytes of counts, nodes and references.
fn head(bytes: &mut Bytes, path: &Path) -> Result<(usize, usize), MeshError> {
    match bytes.int(4, "the header")? {
        1 => {}
        0x0100_0000 => bytes.big = true,
        other => return Err(bytes.error_at(0, format!("{other} where a GMF file has 1: not a .meshb file"))),
    }
    let version = bytes.int(4, "the header")?;
    if !(2..=4).contains(&version) {
        return Err(MeshError::unsupported(path, format!("GMF version {version}; versions 2 to 4 are read")));
    }
    // Positions have 8 bytes from version 3 on, counts, nodes and references in version 4.
    Ok((if version >= 3 { 8 } else { 4 }, if version >= 4 { 8 } else { 4 }))
}

/// Calls `take` at each record of things that a mesh has, with their number; gives the dimension.
fn each(
    bytes: &mut Bytes,
    path: &Path,
    (position, width): (usize, usize),
    mut take: impl FnMut(&mut Bytes, Things, u64) -> Result<(), MeshError>,
) -> Result<usize, MeshError> {
    let mut dimension = 3;
    loop {
        let keyword = bytes.int(4, "a keyword")?;
        if keyword == 54 {
            return Ok(dimension);
        }
        let next = bytes.int(position, "the position of the next record")?;
        if keyword == 3 {
            let n = bytes.int(4, "the dimension")?;
            dimension = self::dimension(n, path)?;
        } else if let Some(things) = Things::of(keyword, dimension) {
            let n = bytes.int(width, "a count")?;
            let n = u64::try_from(n).map_err(|_| bytes.error(format!("a count of {n}")))?;
            if let (Things::Elements(kind), 2, 1..) = (things, dimension, n) {
                return Err(bytes.error(format!("elements of type {kind} in a mesh of dimension 2")));
            }
            take(bytes, things, n)?;
        }
        if next == 0 {
            return Ok(dimension);
        }
        let gap = u64::try_from(next).ok().and_then(|n| n.checked_sub(bytes.offset));
        let gap = gap.ok_or_else(|| {
            bytes.error(format!("keyword {keyword} says that the next record is at {next}"))
        })?;
        bytes.skip(gap, "a record that is not used")?;
    }
}

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Raw, MeshError> {
    let mut bytes = Bytes::open(path, false)?;
    let (position, width) = head(&mut bytes, path)?;
    let mut all = Collected::default();
    all.raw.places.bytes = true;
    let big = bytes.big;
    let dimension = each(&mut bytes, path, (position, width), |bytes, things, n| {
        let (what, size) = things.record(width);
        bytes.records(n, size, what, |place, record| {
            if let Things::Nodes(dimension) = things {
                all.node(point(record, 8, dimension, big), place);
                return Ok(());
            }
            let (mut list, corners) = ([u32::MAX; 8], things.corners());
            nodes_of(record, width, big, &mut list[..corners])?;
            all.add(things, &list[..corners], int(&record[width * corners..], big), place);
            Ok(())
        })
    })?;
    all.finish(dimension, path, options)
}

/// Where everything stands in an uncompressed file, which is as long as it must be.
pub(super) fn records(path: &Path) -> Result<Records, MeshError> {
    let mut bytes = Bytes::jumping(path)?;
    let (position, width) = head(&mut bytes, path)?;
    let table = |things: Things| {
        let (what, size) = things.record(width);
        Table::new(what, size)
    };
    let mut records = Records {
        path: path.to_owned(),
        big: bytes.big,
        width,
        real: 8,
        nodes: table(Things::Nodes(3)),
        edges: None,
        faces: [3, 4].map(|corners| table(Things::Faces(corners))),
        patches: None,
        elements: Kind::ALL.map(|kind| table(Things::Elements(kind))),
        pyramid: [0, 1, 2, 3, 4],
    };
    let (mut nodes, mut edges) = ([2, 3].map(|n| table(Things::Nodes(n))), table(Things::Edges));
    let dimension = each(&mut bytes, path, (position, width), |bytes, things, n| {
        let (what, size) = things.record(width);
        let at = bytes.offset;
        bytes.skip(n.saturating_mul(size as u64), what)?;
        let table = match things {
            Things::Nodes(dimension) => &mut nodes[dimension - 2],
            Things::Edges => &mut edges,
            Things::Faces(corners) => &mut records.faces[corners - 3],
            Things::Elements(kind) => &mut records.elements[kind as usize],
        };
        table.add(at, n as usize);
        Ok(())
    })?;
    let [planar, spatial] = nodes;
    if dimension == 2 {
        (records.nodes, records.edges) = (planar, Some(edges));
        return Ok(records);
    }
    records.nodes = spatial;
    let no_cell = records.elements.iter().all(|table| table.count() == 0);
    if no_cell && records.faces.iter().any(|table| table.count() > 0) {
        return Err(whole(
            path,
            "triangles and quadrilaterals in a GMF file of dimension 3, without elements that fill a volume, cannot",
        ));
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::Channel;
    use crate::{Slices, load};

    /// Version 2, dimension 3: a square of two triangles and a quadrilateral in a plane, its four sides and, where `inner`, an edge within.
    fn surface(point: impl Fn(f32, f32) -> [f64; 3], inner: bool) -> Vec<u8> {
        let mut out: Vec<u8> = [1_i32, 2, 3, 20, 3].iter().flat_map(|n| n.to_le_bytes()).collect();
        let mut record = |keyword: i32, count: i32, body: Vec<u8>| {
            let next = (out.len() + 12 + body.len()) as i32;
            out.extend([keyword, next, count].iter().flat_map(|n| n.to_le_bytes()));
            out.extend(body);
        };
        let places = [(0.0, 0.0), (1.0, 0.0), (2.0, 0.0), (2.0, 1.0), (1.0, 1.0), (0.0, 1.0)];
        let vertex = |&(x, y): &(f32, f32)| {
            let coordinates = point(x, y).into_iter().flat_map(f64::to_le_bytes);
            coordinates.chain([0; 4]).collect::<Vec<u8>>()
        };
        record(4, 6, places.iter().flat_map(vertex).collect());
        let ints = |list: &[i32]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
        record(6, 2, ints(&[1, 2, 5, 0, 1, 6, 5, 0]));
        record(7, 1, ints(&[2, 3, 4, 5, 0]));
        let mut edges = vec![1, 2, 7, 2, 3, 7, 3, 4, 8, 4, 5, 9, 5, 6, 9, 6, 1, 8];
        if inner {
            edges.extend([2, 5, 3]);
        }
        record(5, edges.len() as i32 / 3, ints(&edges));
        out.extend([54_i32, 0].iter().flat_map(|n| n.to_le_bytes()));
        out
    }

    #[test]
    fn surfaces_in_a_plane_are_planar_meshes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.meshb");
        let options = ReadOptions::default();
        std::fs::write(folder.path().join("a.mapbc"), "2\n7 4000 wall\n8 5000 far\n").unwrap();
        for inner in [false, true] {
            std::fs::write(&path, surface(|x, y| [x.into(), y.into(), 0.3], inner)).unwrap();
            let found = load(&path, &options).unwrap();
            assert!(found.report.is_clean(), "{:?}", found.report);
            assert_eq!((found.mesh.prisms.len(), found.mesh.hexes.len(), found.mesh.nodes.len()), (2, 1, 12));
            let sides: Vec<_> = found.mesh.markers.iter().filter(|m| !m.is_plane()).collect();
            let named: Vec<_> = sides.iter().map(|m| (&m.name[..], m.code, m.quads.len())).collect();
            assert_eq!(named, [("wall", Some(4000), 2), ("far", Some(5000), 2), ("9", None, 2)]);
            let error = Slices::open(&path, &options).unwrap_err().to_string();
            assert!(
                error.contains("in a GMF file of dimension 3") && error.contains("read it whole"),
                "{error}"
            );
        }
        // A plane of x and z is laid into that of x and y; no plane is none.
        std::fs::write(&path, surface(|x, y| [x.into(), -2.0, y.into()], false)).unwrap();
        let found = load(&path, &options).unwrap();
        assert!(found.report.is_clean() && found.notes.iter().any(|n| n.contains("y = const")));
        std::fs::write(&path, surface(|x, y| [x.into(), y.into(), (x * y).into()], false)).unwrap();
        let error = load(&path, &options).unwrap_err().to_string();
        assert!(error.contains("a surface"), "{error}");
    }

    #[test]
    fn planar_meshes_are_written_in_two_dimensions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.meshb");
        let text = folder.path().join("a.su2");
        for triangles in [false, true] {
            let mesh = Channel { cells: [6, 4], thickness: 0.1, triangles }.mesh();
            crate::write(&text, &mesh).unwrap();
            let expected = load(&text, &ReadOptions::default()).unwrap().mesh;
            for wide in [false, true] {
                crate::write(&path, &mesh).unwrap();
                let mut bytes = Vec::new();
                crate::io::gmf_write::write_wide(&mut bytes, &mesh, wide).unwrap();
                assert_eq!(bytes[20], 2, "the dimension");
                std::fs::write(&path, bytes).unwrap();
                let found = load(&path, &ReadOptions::default()).unwrap();
                assert!(found.report.is_clean() && found.notes.is_empty(), "{:?}", found.notes);
                assert!(found.mesh == expected);
            }
        }
        // Nothing but edges is no mesh.
        let mut empty = Channel { cells: [6, 4], thickness: 0.1, triangles: false }.mesh();
        empty.hexes.clear();
        crate::write(&path, &empty).unwrap();
        let error = load(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains("no elements"), "{error}");
    }
}
