//! GMF text files (`.mesh`), of Medit, Mmg, Gmsh and others.
//!
//! Words: `MeshVersionFormatted` and a number, then keywords, each with a count and the data as in the binary form; `#` begins a comment.
//! Keywords that we do not use are passed over. **Source**: Frey, *MEDIT: an interactive mesh visualization software*, INRIA RT-0253 (2001).

use super::gmf::{Collected, Things};
use super::scan::Scan;
use crate::raw::Raw;
use crate::{Kind, MeshError, ReadOptions};
use std::path::Path;

/// What a keyword announces.
fn things(keyword: &[u8], dimension: usize) -> Option<Things> {
    Some(match keyword {
        b"Vertices" => Things::Nodes(dimension),
        b"Edges" => Things::Edges,
        b"Triangles" => Things::Faces(3),
        b"Quadrilaterals" | b"Quads" => Things::Faces(4),
        b"Tetrahedra" => Things::Elements(Kind::Tetrahedron),
        b"Prisms" | b"Pentahedra" => Things::Elements(Kind::Prism),
        b"Hexahedra" | b"Hexaedra" => Things::Elements(Kind::Hexahedron),
        b"Pyramids" => Things::Elements(Kind::Pyramid),
        _ => return None,
    })
}

/// Reads a file.
pub(super) fn read(path: &Path, options: &ReadOptions) -> Result<Raw, MeshError> {
    let mut scan = Scan::open(path)?;
    if scan.keyword()?.as_deref() != Some(b"MeshVersionFormatted") {
        let what = "no GMF text: it does not begin with MeshVersionFormatted";
        return Err(MeshError::unsupported(path, what));
    }
    let mut all = Collected::default();
    let mut dimension = 3;
    loop {
        let Some(keyword) = scan.keyword()? else {
            return Err(scan.error("the file ends without End: it is cut short"));
        };
        match &keyword[..] {
            b"End" => break,
            b"Dimension" => dimension = super::gmf::dimension(scan.int("the dimension")?, path)?,
            keyword => {
                if let Some(things) = things(keyword, dimension) {
                    section(&mut scan, things, dimension, &mut all)?;
                }
            }
        }
    }
    all.finish(dimension, path, options)
}

/// Reads as many things as the next number says, each with a reference behind it.
fn section(scan: &mut Scan, things: Things, dimension: usize, all: &mut Collected) -> Result<(), MeshError> {
    let count = scan.size("a count")?;
    if let (Things::Elements(kind), 2, 1..) = (things, dimension, count) {
        return Err(scan.error(format!("elements of type {kind} in a mesh of dimension 2")));
    }
    for _ in 0..count {
        if let Things::Nodes(dimension) = things {
            let mut x = [0.0; 3];
            for c in &mut x[..dimension] {
                *c = scan.real("a coordinate")?;
            }
            all.node(x, scan.place()?);
            scan.real("a reference")?;
            continue;
        }
        let mut list = [u32::MAX; 8];
        let corners = things.corners();
        for slot in &mut list[..corners] {
            let number = scan.int("a node")?;
            *slot = crate::parse::binary::node(number).map_err(|what| scan.error(what))?;
        }
        let place = scan.place()?;
        let reference = scan.int("a reference")?;
        all.add(things, &list[..corners], reference, place);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::generate::{Cells, box_mesh};
    use crate::{Kind, ReadOptions, load, write};
    use std::fmt::Write as _;

    fn planar(dimension: usize) -> String {
        let z = if dimension == 3 { " 0.5" } else { "" };
        format!(
            "MeshVersionFormatted 2\n\nDimension {dimension}\n# six points\nVertices\n6\n0 0{z} 0\n1 0{z} 0\n2 0{z} 0\n2 1{z} 0\n1 1{z} 0\n0 1{z} 0\n\
             Corners 1\n1\nTriangles\n2\n1 2 5 0\n1 6 5 0\nQuadrilaterals\n1\n2 3 4 5 0\nEdges\n6\n1 2 7\n2 3 7\n3 4 8\n4 5 9\n5 6 9\n6 1 8\n\
             Normals\n1\n0 -1.5e-3\n\nEnd\n"
        )
    }

    #[test]
    fn planar_texts_are_planar_meshes() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.mesh");
        let options = ReadOptions::default();
        for dimension in [2, 3] {
            std::fs::write(&path, planar(dimension)).unwrap();
            let found = load(&path, &options).unwrap();
            assert!(found.report.is_clean(), "{:?}", found.report);
            assert_eq!((found.mesh.prisms.len(), found.mesh.hexes.len(), found.mesh.nodes.len()), (2, 1, 12));
            let names: Vec<_> =
                found.mesh.markers.iter().filter(|m| !m.is_plane()).map(|m| &m.name[..]).collect();
            assert_eq!(names, ["7", "8", "9"]);
        }
        let said = |from: &str, to: &str| {
            std::fs::write(&path, planar(2).replacen(from, to, 1)).unwrap();
            load(&path, &options).unwrap_err().to_string()
        };
        for (from, to, what) in [
            ("End", "", "without End"),
            ("MeshVersionFormatted", "MFEM mesh", "does not begin with MeshVersionFormatted"),
            ("Dimension 2", "Dimension 4", "GMF files have dimension 2 or 3"),
            ("2 3 4 5 0", "2 3 4 x 0", "expected a number for a node, found \"x\""),
            ("2 3 4 5 0", "2 3 4 -5 0", "-5"),
            ("Quadrilaterals\n1\n", "Tetrahedra\n1\n", "in a mesh of dimension 2"),
        ] {
            let text = said(from, to);
            assert!(text.contains(what), "{what}: {text}");
        }
    }

    /// A text of all types is the mesh that the binary form has.
    #[test]
    fn texts_are_what_binary_files_are() {
        let folder = tempfile::tempdir().unwrap();
        let mesh = box_mesh([4, 4, 4], [1.0, 2.0, 3.0], Cells::Mixed, 0.1);
        let mut text = "MeshVersionFormatted 2 Dimension 3\n".to_owned();
        let _ = writeln!(text, "Vertices {}", mesh.nodes.len());
        for [x, y, z] in &mesh.nodes {
            let _ = writeln!(text, "{x:e} {y:e} {z:e} 0");
        }
        let mut list = |name: &str, lists: Vec<(Vec<u32>, usize)>| {
            let _ = writeln!(text, "{name}\n{}", lists.len());
            for (nodes, number) in lists {
                for n in nodes {
                    let _ = write!(text, "{} ", n + 1);
                }
                let _ = writeln!(text, "{number}");
            }
        };
        for (name, kind) in [
            ("Pyramids", Kind::Pyramid),
            ("Tetrahedra", Kind::Tetrahedron),
            ("Prisms", Kind::Prism),
            ("Hexahedra", Kind::Hexahedron),
        ] {
            list(name, (0..mesh.count(kind)).map(|i| (mesh.nodes_of(kind, i).to_vec(), 0)).collect());
        }
        let markers = || (1..).zip(&mesh.markers);
        list(
            "Triangles",
            markers().flat_map(|(k, m)| m.triangles.iter().map(move |f| (f.to_vec(), k))).collect(),
        );
        list(
            "Quadrilaterals",
            markers().flat_map(|(k, m)| m.quads.iter().map(move |f| (f.to_vec(), k))).collect(),
        );
        text.push_str("End\n");
        let paths = ["a.mesh", "a.meshb"].map(|name| folder.path().join(name));
        std::fs::write(&paths[0], text).unwrap();
        write(&paths[1], &mesh).unwrap();
        let [one, other] = paths.map(|path| load(&path, &ReadOptions::default()).unwrap());
        assert!(one.report.is_clean() && one.mesh == other.mesh);
        let error = write(&folder.path().join("b.mesh"), &mesh).unwrap_err().to_string();
        assert!(error.contains(".meshb"), "{error}");
    }
}
