use super::*;
use crate::{Field, Marker, Mesh};
use flate2::read::ZlibDecoder;
use std::io::Read;
use std::path::PathBuf;

/// One element of each kind, not connected; a marker with a triangle and a quadrilateral.
fn mesh() -> Mesh {
    let hex: Vec<[f64; 3]> = [
        [0., 0., 0.],
        [1., 0., 0.],
        [1., 1., 0.],
        [0., 1., 0.],
        [0., 0., 1.],
        [1., 0., 1.],
        [1., 1., 1.],
        [0., 1., 1.],
    ]
    .into();
    Mesh {
        nodes: hex,
        tets: vec![[0, 1, 2, 5]],
        pyramids: vec![[0, 1, 2, 3, 6]],
        prisms: vec![[0, 1, 2, 4, 5, 6]],
        hexes: vec![[0, 1, 2, 3, 4, 5, 6, 7]],
        markers: vec![
            Marker { name: "wall".into(), quads: vec![[0, 3, 2, 1]], ..Marker::default() },
            Marker { name: "top".into(), triangles: vec![[4, 5, 6], [4, 6, 7]], ..Marker::default() },
        ],
        ..Mesh::default()
    }
}

fn field(mesh: &Mesh) -> Field {
    Field::scalar("p", mesh.nodes.iter().map(|x| x[0] + 10.0 * x[1] + 100.0 * x[2]).collect())
}

/// The bytes of an array of a `.vtu` file.
fn array(file: &[u8], name: &str) -> Vec<u8> {
    let split = file.windows(2).position(|w| w == b"\n_").unwrap() + 2;
    let text = std::str::from_utf8(&file[..split]).unwrap();
    let tag = text.lines().find(|l| l.contains(&format!("Name=\"{name}\""))).unwrap();
    let offset: usize = tag.split("offset=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let data = &file[split + offset..];
    let word = |i: usize| u64::from_le_bytes(data[8 * i..][..8].try_into().unwrap()) as usize;
    if !text.contains("compressor") {
        return data[8..][..word(0)].to_vec();
    }
    let (blocks, mut at, mut out) = (word(0), 8 * (3 + word(0)), Vec::new());
    for b in 0..blocks {
        ZlibDecoder::new(&data[at..][..word(3 + b)]).read_to_end(&mut out).unwrap();
        at += word(3 + b);
    }
    out
}

#[test]
fn vtu_arrays_read_back_plain_and_compressed() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v.vtu");
    let mesh = mesh();
    for compress in [false, true] {
        write_volume(&path, &mesh, &[field(&mesh)], VtuOptions { compress }).unwrap();
        let file = std::fs::read(&path).unwrap();
        assert_eq!(array(&file, "types"), [10, 14, 13, 12]);
        let p: Vec<f32> =
            array(&file, "p").chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(p, [0., 1., 11., 10., 100., 101., 111., 110.]);
        let ends: Vec<u64> =
            array(&file, "offsets").chunks(8).map(|b| u64::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(ends, [4, 9, 15, 23]);
        write_surface(&path, &mesh, &[field(&mesh)], VtuOptions { compress }).unwrap();
        let file = std::fs::read(&path).unwrap();
        assert_eq!(array(&file, "types"), [9, 5, 5]);
        let of: Vec<i32> =
            array(&file, "marker").chunks(4).map(|b| i32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(of, [0, 1, 1]);
    }
}

/// Each cell is in the piece of whoever owns its first node, with its own nodes and their values; a list of fewer pieces leaves none of a
/// longer one behind.
#[test]
fn pieces_have_their_cells_and_the_values_of_their_nodes() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v.pvtu");
    let mut mesh = mesh();
    mesh.tets.push([5, 2, 6, 1]);
    let owner = [0, 0, 0, 0, 0, 2, 1, 0];
    let names = |written: &[PathBuf]| -> Vec<String> {
        written.iter().map(|p| p.strip_prefix(dir.path()).unwrap().display().to_string()).collect()
    };
    let written = write_pieces(&path, &mesh, &owner, &[field(&mesh)], VtuOptions::default()).unwrap();
    assert_eq!(names(&written), ["v.pvtu", "v/piece_0.vtu", "v/piece_2.vtu"]);
    let piece = std::fs::read(&written[2]).unwrap();
    assert_eq!(array(&piece, "types"), [10]);
    let nodes: Vec<i64> =
        array(&piece, "connectivity").chunks(8).map(|b| i64::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(nodes, [2, 1, 3, 0]);
    let p: Vec<f32> =
        array(&piece, "p").chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    assert_eq!(p, [1., 11., 101., 111.]);
    assert_eq!(array(&piece, "vtkGhostType"), [1; 4]);
    let all = std::fs::read(&written[1]).unwrap();
    assert_eq!(array(&all, "types"), [10, 14, 13, 12]);
    assert_eq!(array(&all, "vtkGhostType"), [0; 8]);
    let list = std::fs::read_to_string(&path).unwrap();
    assert_eq!(list.matches("<Piece Source=").count(), 2);
    assert!(list.contains("<Piece Source=\"v/piece_2.vtu\"/>"), "{list}");

    let written = write_pieces(&path, &mesh, &[0; 8], &[field(&mesh)], VtuOptions::default()).unwrap();
    assert_eq!(names(&written), ["v.pvtu", "v/piece_0.vtu"]);
    let other = dir.path().join("v/notes.txt");
    std::fs::write(&other, "").unwrap();
    assert_eq!(std::fs::read_dir(dir.path().join("v")).unwrap().count(), 2);
    remove_pieces(&path).unwrap();
    assert!(written.iter().all(|file| !file.exists()) && other.exists());
    remove_pieces(&path).unwrap();
}

#[test]
fn a_large_array_spans_several_zlib_blocks() {
    let n = 70_000; // 840 kB of coordinates
    let mesh = Mesh { nodes: (0..n).map(|i| [f64::from(i), 0.5, 0.0]).collect(), ..Mesh::default() };
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("v.vtu");
    write_volume(&path, &mesh, &[], VtuOptions::default()).unwrap();
    let points = array(&std::fs::read(&path).unwrap(), "Points");
    let last = f64::from_le_bytes(points[24 * (n as usize - 1)..][..8].try_into().unwrap());
    assert_eq!((points.len(), last), (24 * n as usize, f64::from(n - 1)));
}
