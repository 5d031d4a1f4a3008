//! Files of the CGNS library (`tests/cgns`, written by the program beside them) and what damage does.

use super::*;
use crate::{ReadOptions, check, info, load};
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
    for name in ["sections_hdf5", "mixed_adf", "vertices_hdf5", "many_hdf5", "many_adf"] {
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
    for name in ["sections_hdf5", "mixed_adf", "structured_adf", "structured_hdf5", "many_hdf5"] {
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
