use crate::generate::{Cells, box_mesh};
use crate::vtk::{VtuOptions, write_mesh, write_pieces, write_surface, write_volume};
use crate::{Loaded, Mesh, ReadOptions, load};
use std::path::Path;

fn loaded(path: &Path) -> Loaded {
    let loaded = load(path, &ReadOptions::default()).unwrap();
    assert!(loaded.report.is_clean(), "{}: {}", path.display(), loaded.report);
    loaded
}

fn said(path: &Path) -> String {
    load(path, &ReadOptions::default()).unwrap_err().to_string()
}

fn same(a: &Mesh, b: &Mesh) {
    assert_eq!(a.nodes, b.nodes);
    assert_eq!((&a.tets, &a.pyramids, &a.prisms, &a.hexes), (&b.tets, &b.pyramids, &b.prisms, &b.hexes));
    assert_eq!(a.planar, b.planar);
    let names = |m: &Mesh| {
        m.markers.iter().map(|m| (m.name.clone(), m.triangles.len(), m.quads.len())).collect::<Vec<_>>()
    };
    assert_eq!(names(a), names(b));
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.vtu");
    let mut mesh = box_mesh([3, 2, 2], [1.0, 2.0, 3.0], Cells::Mixed, 0.2);
    mesh.markers[0].name = "in & <\"out\">".into();
    for compress in [false, true] {
        write_mesh(&path, &mesh, VtuOptions { compress }).unwrap();
        let back = loaded(&path);
        same(&back.mesh, &mesh);
        assert_eq!((back.flipped.elements, back.flipped.faces), ([0; 4], 0));
    }
}

/// Fields alone, as runs write them: the boundary is found.
#[test]
fn a_field_without_faces_gets_its_boundary() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.vtu");
    let mesh = box_mesh([3, 2, 2], [1.0, 2.0, 3.0], Cells::Mixed, 0.2);
    write_volume(&path, &mesh, &[], VtuOptions::default()).unwrap();
    let back = loaded(&path);
    assert_eq!(back.mesh.markers.len(), 1);
    assert_eq!(back.mesh.markers[0].name, "boundary");
    assert_eq!(back.mesh.boundary_faces(), mesh.boundary_faces());
    assert!(
        back.notes[0].contains("no boundary faces") && back.notes[0].ends_with("boundary"),
        "{:?}",
        back.notes
    );
}

#[test]
fn pieces_are_one_mesh() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.pvtu");
    let mesh = box_mesh([4, 3, 2], [1.0, 2.0, 3.0], Cells::Hexes, 0.2);
    let owner: Vec<u32> = mesh.nodes.iter().map(|x| u32::from(x[0] > 0.4) + u32::from(x[1] > 1.0)).collect();
    let written = write_pieces(&path, &mesh, &owner, &[], VtuOptions::default()).unwrap();
    assert_eq!(written.len(), 4);
    let back = loaded(&path).mesh;
    assert_eq!((back.nodes.len(), back.hexes.len()), (mesh.nodes.len(), mesh.hexes.len()));
    assert_eq!(back.boundary_faces(), mesh.boundary_faces());
    std::fs::remove_file(&written[2]).unwrap();
    assert!(said(&path).contains("piece_1.vtu"));
}

#[test]
fn a_planar_mesh_comes_back_with_its_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.vtu");
    let mesh = plane();
    write_mesh(&path, &mesh, VtuOptions::default()).unwrap();
    same(&loaded(&path).mesh, &mesh);
    write_volume(&path, &mesh, &[], VtuOptions::default()).unwrap();
    let back = loaded(&path).mesh;
    let names: Vec<&str> = back.markers.iter().map(|m| m.name.as_str()).collect();
    assert_eq!(names, ["boundary", "symmetry_front", "symmetry_back"]);
    assert_eq!(back.markers[0].quads.len(), 6);
    // A surface in space is no mesh.
    write_surface(&path, &box_mesh([2; 3], [1.0; 3], Cells::Tets, 0.0), &[], VtuOptions::default()).unwrap();
    assert!(said(&path).contains("z from 0 to 1: a surface"), "{}", said(&path));
}

/// Two quadrilaterals, one of them cut into triangles.
fn plane() -> Mesh {
    let text = "NDIME= 2\nNELEM= 3\n9 0 1 4 3\n5 1 2 4\n5 2 5 4\nNPOIN= 6\n0 0\n1 0\n2 0\n0 1\n1 1\n2 1\nNMARK= 2\nMARKER_TAG= low\n\
                MARKER_ELEMS= 2\n3 0 1\n3 1 2\nMARKER_TAG= rest\nMARKER_ELEMS= 4\n3 2 5\n3 5 4\n3 4 3\n3 3 0\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("p.su2");
    std::fs::write(&path, text).unwrap();
    loaded(&path).mesh
}

/// A box of all four types that VTK 9.7.2 and meshio 5.3.5 wrote in each way that they have, by `tests/vtu/make.py`.
#[test]
fn files_of_vtk_and_meshio_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vtu");
    let mut read = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "make.py" || name.starts_with("vtk_pieces_") {
            continue;
        }
        read += 1;
        let mesh = loaded(&path).mesh;
        assert_eq!((mesh.nodes.len(), crate::Kind::ALL.map(|k| mesh.count(k))), (19, [2, 5, 4, 1]), "{name}");
        let markers: Vec<(&str, usize)> =
            mesh.markers.iter().map(|m| (m.name.as_str(), m.triangles.len() + m.quads.len())).collect();
        let named = if name.contains("named") { ["floor", "rest"] } else { ["7", "9"] };
        assert_eq!(markers, [(named[0], 7), (named[1], 14)], "{name}");
        let volume: f64 = crate::info(&mesh).volume;
        assert!((volume - 1.0).abs() < 1e-12, "{name}: {volume}");
    }
    assert_eq!(read, 18);
}

/// A file of text with one change: what is wrong, where, and what to do.
#[test]
fn faults_name_their_array() {
    const TEXT: &str = r#"<VTKFile type="UnstructuredGrid" byte_order="LittleEndian"><UnstructuredGrid>
<Piece NumberOfPoints="4" NumberOfCells="5"><Points><DataArray type="Float64" NumberOfComponents="3">0 0 0 1 0 0 0 1 0 0 0 1
</DataArray></Points><Cells><DataArray type="Int32" Name="connectivity">0 1 2 3 0 1 2 0 1 3 0 2 3 1 2 3</DataArray>
<DataArray type="Int32" Name="offsets">4 7 10 13 16</DataArray><DataArray type="UInt8" Name="types">10 5 5 5 5</DataArray></Cells>
<CellData><DataArray type="Int32" Name="CellEntityIds">0 1 2 1 1</DataArray></CellData></Piece></UnstructuredGrid></VTKFile>"#;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.vtu");
    let put = |from: &str, to: &str| {
        assert!(TEXT.contains(from), "{from}");
        std::fs::write(&path, TEXT.replacen(from, to, 1)).unwrap();
    };
    put("VTKFile", "VTKFile");
    let mesh = loaded(&path).mesh;
    assert_eq!(
        (mesh.tets.len(), mesh.markers[0].triangles.len(), mesh.markers[1].triangles.len()),
        (1, 3, 1)
    );
    for (from, to, words) in [
        ("<VTKFile type=\"Unstr", "<VTKFile type=\"PolyData\" x=\"Unstr", "expected UnstructuredGrid"),
        (
            "<VTKFile ",
            "<VTKFile compressor=\"vtkZip\" ",
            "compressor \"vtkZip\": expected vtkZLibDataCompressor",
        ),
        ("NumberOfPoints=\"4\"", "", "<Piece> without NumberOfPoints="),
        ("NumberOfPoints=\"4\"", "NumberOfPoints=\"5\"", "12 numbers, expected three for each of 5 points"),
        (
            "NumberOfPoints=\"4\"",
            "NumberOfPoints=\"17000000000000000000\"",
            "12 numbers, expected three for each of 17000000000000000000 points",
        ),
        (
            "NumberOfCells=\"5\"",
            "NumberOfCells=\"-5\"",
            "NumberOfCells must be a natural number, found \"-5\"",
        ),
        (
            "NumberOfCells=\"5\"",
            "NumberOfCells=\"6\"",
            "array \"types\": 5 numbers, expected one for each of 6 cells",
        ),
        ("1 2 3</", "1 2 9</", "array \"connectivity\": cell 4: a point that is not one of 4"),
        ("13 16", "9 16", "cell 3: it ends at 9 of 16 numbers"),
        ("13 16", "13 17", "cell 4: it ends at 17 of 16 numbers"),
        ("0 1 0 0 0 1\n", "0 1 0 0 0 x\n", "expected a number, found \"x\""),
        ("10 5 5", "24 5 5", "type 24: an element of higher order"),
        ("10 5 5", "42 5 5", "Tetrahedralize"),
        ("10 5 5", "12 5 5", "a hexahedron of 4 points, expected 8"),
        ("Float64", "String", "type \"String\": expected Int8"),
        (
            "Int32\" Name=\"off",
            "Int32\" format=\"appended\" offset=\"0\" Name=\"off",
            "no appended data: is it cut short?",
        ),
        ("0 1 2 1 1", "0 1.5 2 1 1", "expected whole numbers, found 1.5"),
    ] {
        put(from, to);
        assert!(said(&path).contains(words), "{to:?} gives {}", said(&path));
        assert!(said(&path).contains("t.vtu: byte "), "{}", said(&path));
    }
}

/// The files of others, cut and changed: an error or a mesh, never a panic.
#[test]
fn damaged_files_of_others_are_survived() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vtu");
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("m.vtu");
    let mut seed = 7_u64;
    let mut random = |n: usize| {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (seed >> 33) as usize % n
    };
    for entry in std::fs::read_dir(&folder).unwrap() {
        let whole = std::fs::read(entry.unwrap().path()).unwrap();
        for round in 0..100 {
            let mut bytes = whole.clone();
            if round % 4 == 0 {
                bytes.truncate(random(whole.len()));
            } else {
                for _ in 0..=random(4) {
                    bytes[random(whole.len())] =
                        if round % 4 == 1 { b'0' + random(10) as u8 } else { random(256) as u8 };
                }
            }
            std::fs::write(&path, &bytes).unwrap();
            let result = load(&path, &ReadOptions::default());
            // Every array but the last is whole where all but a tail is there.
            assert!(
                round % 4 > 0 || bytes.len() * 2 > whole.len() || result.is_err(),
                "{} bytes",
                bytes.len()
            );
        }
    }
}
