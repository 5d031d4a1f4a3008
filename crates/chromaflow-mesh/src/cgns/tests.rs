//! Files of the CGNS library and of Gmsh (`tests/cgns`; one of them rewritten by h5py with big-endian numbers), files of our own, and what
//! damage does.

use super::*;
use crate::{Field, ReadOptions, check, info, load};
use std::path::PathBuf;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cgns").join(name)
}

fn areas(path: &Path) -> Vec<(String, f64)> {
    let loaded = load(path, &ReadOptions::default()).unwrap();
    assert!(loaded.report.is_clean(), "{}: {}", path.display(), loaded.report);
    let info = info(&loaded.mesh);
    info.markers.into_iter().map(|m| (m.name, m.area)).collect()
}

#[test]
fn meshes_of_the_library_have_their_volumes_and_boundaries() {
    for name in ["sections_hdf5", "mixed_adf", "vertices_hdf5", "many_hdf5", "many_adf", "big_endian_hdf5"] {
        let path = file(&format!("{name}.cgns.xz"));
        let loaded = load(&path, &ReadOptions::default()).unwrap();
        assert!(loaded.report.is_clean(), "{name}: {}", loaded.report);
        let counts = crate::Kind::ALL.map(|k| loaded.mesh.count(k));
        assert_eq!(counts, [0, 1, 1, 1], "{name}");
        // A cube, half a cube, a pyramid of height 1.
        assert!((info(&loaded.mesh).volume - (1.5 + 1.0 / 3.0)).abs() < 1e-6, "{name}");
        let floor = areas(&path).into_iter().find(|m| m.0 == "floor").unwrap();
        assert!((floor.1 - 1.5).abs() < 1e-6, "{name}: {}", floor.1);
        assert_eq!(loaded.mesh.marker("floor").unwrap().code, Some(4000));
    }
}

#[test]
fn grids_of_the_library_have_families_and_turned_interfaces() {
    for name in ["structured_adf", "structured_hdf5"] {
        let path = file(&format!("{name}.cgns.xz"));
        assert!(is_grid(&path).unwrap());
        let grid = read_grid(&path).unwrap();
        grid.check().unwrap();
        assert_eq!(
            (grid.blocks.len(), grid.interfaces.len()),
            (2, 1),
            "{name}: both zones name the interface"
        );
        assert_eq!(grid.markers(), ["far", "wall"]);
        let mesh = load(&path, &ReadOptions::default()).unwrap().mesh;
        assert!(check(&mesh, None).is_clean());
        assert_eq!(mesh.hexes.len(), 4 * 2 * 3 + 2 * 3 * 3);
        assert!((info(&mesh).volume - 3.5 * 2.0 * 3.0).abs() < 1e-12);
    }
    assert!(read_grid(&file("sections_hdf5.cgns.xz")).is_err());
}

/// Arrays in chunks, packed or not, by h5py (`tests/cgns/make_chunked.py`): the same meshes as without; what is not read names the remedy.
#[test]
fn arrays_in_chunks_are_those_without() {
    for kind in ["sections", "structured"] {
        let plain = load(&file(&format!("{kind}_hdf5.cgns.xz")), &ReadOptions::default()).unwrap();
        for way in ["packed", "parts", "v110_single", "v110_implicit", "v110_fixed", "v110_ones", "latest"] {
            let other = load(&file(&format!("{kind}_{way}.cgns.xz")), &ReadOptions::default()).unwrap();
            assert!(other.mesh == plain.mesh, "{kind} {way}");
        }
    }
    for (name, words) in [
        (
            "sections_lzf",
            "HDF5's filter 32000 (lzf): deflate, shuffle and fletcher32 are read; rewrite the file with `h5repack",
        ),
        ("sections_v110_growing", "chunks that may grow"),
        ("structured_v110_growing_two", "chunks that may grow"),
    ] {
        let error = load(&file(&format!("{name}.cgns.xz")), &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(words), "{name}: {error}");
    }
}

/// Gmsh puts conditions on faces at `CellCenter`, by families of its own that belong to those of the physical groups.
#[test]
fn files_of_gmsh_have_the_names_of_physical_groups() {
    let path = file("gmsh_hdf5.cgns.xz");
    let sides = areas(&path);
    let names: Vec<&str> = sides.iter().map(|s| s.0.as_str()).collect();
    assert_eq!(names, ["west", "east", "walls"]);
    for ((name, area), exact) in sides.iter().zip([1.0, 1.0, 4.0]) {
        assert!((area - exact).abs() < 1e-12, "{name}: {area}");
    }
}

#[test]
fn a_file_of_the_data_set_has_its_elements_and_boundaries() {
    let Some(path) = chromaflow_testkit::data("mesh2d/bump_2d_0177x081.cgns.xz") else { return };
    let loaded = load(&path, &ReadOptions::default()).unwrap();
    assert!(loaded.report.is_clean(), "{}", loaded.report);
    assert_eq!((loaded.mesh.nodes.len(), loaded.mesh.hexes.len()), (2 * 14_337, 14_080));
    let sides: Vec<&str> =
        loaded.mesh.markers.iter().map(|m| m.name.as_str()).filter(|m| !m.starts_with("symmetry_")).collect();
    assert_eq!(sides.len(), 6, "{sides:?}");
}

/// Every damaged file is an error or another mesh: no panic, and no memory beyond what the file's size explains.
#[test]
fn damaged_files_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let plain = ["sections_hdf5", "mixed_adf", "structured_adf", "structured_hdf5", "many_hdf5"];
    for name in plain.into_iter().chain(["structured_packed", "sections_v110_fixed", "sections_v110_single"])
    {
        let mut whole = Vec::new();
        files::open(&file(&format!("{name}.cgns.xz"))).unwrap().read_to_end(&mut whole).unwrap();
        let path = folder.path().join("a.cgns");
        let mut state = 12345_u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        for round in 0..400 {
            let mut bytes = whole.clone();
            if round % 4 == 0 {
                bytes.truncate(random(whole.len()));
            } else {
                for _ in 0..=random(8) {
                    let at = random(bytes.len());
                    bytes[at] = [0xFF, 0, bytes[at] ^ 1 << random(8), random(256) as u8][random(4)];
                }
            }
            std::fs::write(&path, &bytes).unwrap();
            let _ = load(&path, &ReadOptions::default());
            let _ = read_grid(&path).and_then(|grid| grid.check());
        }
    }
    for (bytes, expected) in
        [(&b"\x89HDF\r\n\x1a\n\x09"[..], "superblock version 9"), (b"", "neither HDF5 nor ADF")]
    {
        let path = folder.path().join("b.cgns");
        std::fs::write(&path, bytes).unwrap();
        let error = load(&path, &ReadOptions::default()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

/// A mesh of all four types, and a planar one.
fn made() -> [crate::Mesh; 2] {
    use crate::generate::{AirfoilO, Cells, Section, box_mesh};
    let mut mixed = box_mesh([4, 4, 6], [1.0, 1.0, 1.5], Cells::Mixed, 0.0);
    mixed.markers[0].code = Some(4000);
    mixed.markers[1].name = "a name of forty characters, no less of it".to_owned();
    let section = Section::naca4("0012").unwrap();
    let planar = AirfoilO { section, cells: [24, 8], radius: 10.0, first: 1e-2, triangles: true }.mesh();
    [mixed, planar]
}

#[test]
fn meshes_that_are_written_are_read_back() {
    let folder = tempfile::tempdir().unwrap();
    for (n, mesh) in made().into_iter().enumerate() {
        let path = folder.path().join(format!("{n}.cgns"));
        let field = Field::vector("velocity", 3, mesh.nodes.iter().flatten().copied().collect());
        write(&path, &mesh, &[field, Field::scalar("cp", vec![0.5; mesh.nodes.len()])]).unwrap();
        let loaded = load(&path, &ReadOptions::default()).unwrap();
        assert!(loaded.report.is_clean(), "{}", loaded.report);
        assert_eq!(loaded.flipped.elements, [0; 4]);
        let mut expected = mesh.clone();
        if n == 0 {
            // The longest name that a node may have.
            expected.markers[1].name.truncate(32);
        }
        for marker in &mut expected.markers {
            if marker.is_plane() {
                marker.code = Some(6663);
            }
        }
        assert!(loaded.mesh == expected, "mesh {n}");
        // As another reader of the tree sees it: every component by the standard's name, at the vertices.
        let bytes = std::fs::read(&path).unwrap();
        let solution = solution_of(&bytes);
        let names: Vec<&str> = if n == 0 {
            vec!["VelocityX", "VelocityY", "VelocityZ", "CoefPressure"]
        } else {
            vec!["VelocityX", "VelocityY", "CoefPressure"]
        };
        let nodes = mesh.planar.map_or(mesh.nodes.len(), |p| p.nodes_2d);
        assert_eq!(solution.iter().map(|a| a.0.as_str()).collect::<Vec<_>>(), names);
        let y: Vec<f64> = mesh.nodes[..nodes].iter().map(|x| x[1]).collect();
        assert_eq!(solution[1].1, y);
    }
}

/// Names and values of the arrays of the solution of a file's first zone.
fn solution_of(bytes: &[u8]) -> Vec<(String, Vec<f64>)> {
    let tree = hdf5::read_all(bytes).unwrap();
    let base = tree.of("CGNSBase_t").next().unwrap();
    let zone = base.of("Zone_t").next().unwrap();
    let solution = zone.of("FlowSolution_t").next().unwrap();
    solution.of("DataArray_t").map(|a| (a.name.clone(), a.reals().unwrap().to_vec())).collect()
}

#[test]
fn grids_that_are_written_are_read_back() {
    use crate::grid::generate::{BoxGrid, ChannelCylinder};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cgns");
    let wavy = BoxGrid { cells: [6, 5, 4], size: [1.0; 3], wave: 0.05 }.grid();
    let turned = ChannelCylinder { cells: [16, 4, 8], growth: 1.2 }.grid();
    let periodic = wavy.clone().periodic("ymin", "ymax").unwrap();
    let mut sector = wavy.clone();
    for x in &mut sector.blocks[0].nodes {
        let (r, angle) = (1.0 + x[0], 40_f64.to_radians() * x[1]);
        *x = [r * angle.cos(), r * angle.sin(), x[2]];
    }
    let sector = sector.periodic("ymin", "ymax").unwrap();
    assert!(sector.rotation().is_some_and(|rotation| rotation.sectors() == Some(9)));
    for grid in [wavy.split(0, 0, 2).unwrap(), turned, periodic, sector] {
        let points: usize = grid.blocks.iter().map(|b| b.nodes.len()).sum();
        let field = Field::scalar("pressure", (0..points).map(|n| n as f64).collect());
        write_grid(&path, &grid, &[field]).unwrap();
        let read = read_grid(&path).unwrap();
        read.check().unwrap();
        assert_eq!(read.blocks, grid.blocks);
        assert_eq!(read.patches.len(), grid.patches.len());
        assert!(grid.patches.iter().all(|p| read.patches.contains(p)));
        assert_eq!(read.interfaces, grid.interfaces);
        let first = &solution_of(&std::fs::read(&path).unwrap())[0];
        assert_eq!(first.0, "Pressure");
        let expected: Vec<f64> = (0..grid.blocks[0].nodes.len()).map(|n| n as f64).collect();
        assert_eq!(first.1, expected);
    }
}

/// The sign of a Transform's entry across the face pairs no points: some programs write the other one.
#[test]
fn the_sign_across_an_interface_is_free() {
    use crate::grid::generate::BoxGrid;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.cgns");
    let grid = BoxGrid { cells: [6, 5, 4], size: [1.0; 3], wave: 0.05 }.grid().split(0, 0, 2).unwrap();
    for grid in [grid.clone(), grid.reorient(1, [0, 1, 2], [true, false, false])] {
        let mut other = grid.clone();
        for interface in &mut other.interfaces {
            let (map, across) = (&mut interface.map, interface.a.side.axis);
            map.sign[across] *= -1;
            // The face still leads to the face.
            let [from, to] = [interface.a.low[across], interface.b.low[map.axis[across]]].map(|n| n as isize);
            map.offset[across] = to - map.sign[across] * from;
        }
        assert!(other.check().is_err());
        write_grid(&path, &other, &[]).unwrap();
        let read = read_grid(&path).unwrap();
        read.check().unwrap();
        assert_eq!(read.interfaces, grid.interfaces);
    }
}
