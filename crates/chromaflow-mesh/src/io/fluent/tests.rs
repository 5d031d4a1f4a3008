use crate::generate::{Cells, box_mesh};
use crate::{Kind, Mesh, MeshError, ReadOptions, faces, info, load};
use std::collections::HashMap;
use std::path::Path;

/// A section's body, as words or as bytes.
fn section(out: &mut Vec<u8>, index: u32, head: &str, binary: bool, words: &str, bytes: &[u8]) {
    if binary {
        out.extend(format!("({} ({head})(", 3000 + index).bytes());
        out.extend(bytes);
        out.extend(format!(")\nEnd of Binary Section   {})\n", 3000 + index).bytes());
    } else {
        out.extend(format!("({index} ({head})(\n{words}))\n").bytes());
    }
}

/// A mesh as Fluent has it; one of a plane by its edges there.
fn write(path: &Path, mesh: &Mesh, binary: bool) {
    let planar = mesh.planar.is_some();
    let count = mesh.planar.map_or(mesh.nodes.len(), |p| p.nodes_2d);
    let mut out = format!("(0 \"a (comment\")\n(2 {})\n(10 (0 1 {count:x} 0))\n", if planar { 2 } else { 3 })
        .into_bytes();
    out.extend(
        format!("(37 (\n(rp \"a)\" 1)))\n(12 (0 1 {:x} 0))\n(12 (2 1 {0:x} 1 0)(1 2 3))\n", mesh.elements())
            .bytes(),
    );
    let used = if planar { 2 } else { 3 };
    let lines: Vec<String> = mesh.nodes[..count]
        .iter()
        .map(|x| x[..used].iter().map(|x| format!("{x:e}")).collect::<Vec<_>>().join(" "))
        .collect();
    let bytes: Vec<u8> =
        mesh.nodes[..count].iter().flat_map(|x| &x[..used]).flat_map(|x| x.to_le_bytes()).collect();
    section(&mut out, 10, &format!("1 1 {count:x} 1 {used}"), binary, &lines.join("\n"), &bytes);
    let ours = |nodes: &[u32]| -> Option<Vec<u32>> {
        let low: Vec<u32> = nodes.iter().copied().filter(|n| (*n as usize) < count).map(|n| n + 1).collect();
        (low.len() == if planar { 2 } else { nodes.len() }).then_some(low)
    };
    let (mut sides, mut inner) = (HashMap::new(), Vec::new());
    for e in 0..mesh.elements() {
        let (kind, _, nodes) = mesh.element(e);
        for local in 0..kind.faces().len() {
            let (face, corners) = faces::face_nodes(kind, nodes, local as u8);
            let Some(face) = ours(&face[..corners]) else { continue };
            let mut key = face.clone();
            key.sort_unstable();
            match sides.remove(&key) {
                None => drop(sides.insert(key, e as u32 + 1)),
                Some(other) => inner.push((face, [other, e as u32 + 1])),
            }
        }
    }
    let mut first = 1;
    let mut zone = |name: &str, number: u32, kind: u32, faces: &[(Vec<u32>, [u32; 2])]| {
        let rows = faces.iter().map(|(f, cells)| [&[f.len() as u32][..], f, cells].concat());
        let words: Vec<String> = rows
            .clone()
            .map(|row| row.iter().map(|n| format!("{n:x}")).collect::<Vec<_>>().join(" "))
            .collect();
        let bytes: Vec<u8> = rows.flatten().flat_map(u32::to_le_bytes).collect();
        let last = first + faces.len() - 1;
        section(
            &mut out,
            13,
            &format!("{number:x} {first:x} {last:x} {kind:x} 0"),
            binary,
            &words.join("\n"),
            &bytes,
        );
        out.extend(format!("(45 ({number} kind {name})())\n").bytes());
        first = last + 1;
    };
    zone("inside", 3, 2, &inner);
    for (number, m) in (10..).zip(mesh.markers.iter().filter(|m| !(planar && m.is_plane()))) {
        let all = m.triangles.iter().map(|t| t.to_vec()).chain(m.quads.iter().map(|q| q.to_vec()));
        let own: Vec<_> = all
            .map(|face| {
                let face = ours(&face).unwrap();
                let mut key = face.clone();
                key.sort_unstable();
                (face, [sides[&key], 0])
            })
            .collect();
        zone(&m.name, number, if m.name == "zmin" { 3 } else { 10 }, &own);
    }
    std::fs::write(path, out).unwrap();
}

#[test]
fn cells_come_together_from_faces_and_edges() {
    let folder = tempfile::tempdir().unwrap();
    let planar = {
        let mut text = String::from("NDIME= 2\nNELEM= 3\n9 0 1 4 3\n5 1 2 5\n5 1 5 4\nNPOIN= 6\n");
        text += "0 0\n1 0\n2 0\n0 1\n1 1\n2 1\nNMARK= 2\nMARKER_TAG= wall\nMARKER_ELEMS= 4\n3 0 1\n3 1 2\n3 4 3\n3 5 4\n";
        text += "MARKER_TAG= far\nMARKER_ELEMS= 2\n3 3 0\n3 2 5\n";
        std::fs::write(folder.path().join("a.su2"), text).unwrap();
        load(&folder.path().join("a.su2"), &ReadOptions::default()).unwrap().mesh
    };
    for mesh in [box_mesh([4, 3, 3], [1.0; 3], Cells::Mixed, 0.2), planar] {
        for (name, binary) in [("a.msh", false), ("b.cas", true)] {
            let path = folder.path().join(name);
            write(&path, &mesh, binary);
            let loaded = load(&path, &ReadOptions::default()).unwrap();
            assert!(loaded.report.is_clean(), "{}", loaded.report);
            assert_eq!(Kind::ALL.map(|k| loaded.mesh.count(k)), Kind::ALL.map(|k| mesh.count(k)));
            let (a, b) = (info(&loaded.mesh), info(&mesh));
            assert!((a.volume - b.volume).abs() < 1e-13);
            let names = |i: &crate::Info| {
                i.markers.iter().map(|m| (m.name.clone(), m.triangles, m.quads)).collect::<Vec<_>>()
            };
            assert_eq!(names(&a), names(&b));
            // Walls, and velocity inlets.
            let code = |m: &crate::Marker| m.code == Some(if m.name == "zmin" { 4000 } else { 7100 });
            assert!(loaded.mesh.markers.iter().all(|m| m.is_plane() || code(m)));
        }
    }
}

#[test]
fn damaged_files_and_polygons_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.msh");
    let mesh = box_mesh([2, 2, 2], [1.0; 3], Cells::Mixed, 0.0);
    let mut state = 7_u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % n
    };
    for binary in [false, true] {
        write(&path, &mesh, binary);
        let whole = std::fs::read(&path).unwrap();
        for round in 0..200 {
            let mut bytes = whole.clone();
            if round % 3 == 0 {
                bytes.truncate(random(whole.len() - 200));
            } else {
                let at = random(bytes.len());
                bytes[at] = b"0123456789abcf() x\"\xFF"[random(20)];
            }
            std::fs::write(&path, &bytes).unwrap();
            let result = load(&path, &ReadOptions::default());
            assert!(round % 3 > 0 || result.is_err(), "cut at {}", bytes.len());
        }
    }
    let pentagon =
        "(2 2)(10 (1 1 5 1 2)(0 0 1 0 2 1 1 2 0 1))(13 (2 1 5 3 2)(1 2 1 0 2 3 1 0 3 4 1 0 4 5 1 0 5 1 1 0))";
    std::fs::write(&path, pentagon).unwrap();
    let error = load(&path, &ReadOptions::default()).unwrap_err();
    assert!(
        matches!(&error, MeshError::Unsupported { .. }) && error.to_string().contains("polygons"),
        "{error}"
    );
    // As meshio writes it: no faces, and a line before the bytes.
    let cells = "(2 2)(10 (0 1 3 0))(10 (1 1 3 1 2)(\n0 0 1 0 0 1\n))(12 (1 0 1 1 1)(\n1 2 3\n))";
    std::fs::write(&path, cells).unwrap();
    let error = load(&path, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("it has no faces"), "{error}");
}
