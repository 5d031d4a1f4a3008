use crate::{Loaded, MeshError, ReadOptions, load};

/// A square of two triangles in version 4.1: its curves are in the groups that `curves` gives; of the blocks of elements so many, the last is of the triangles.
fn square(curves: [&str; 4], blocks: usize) -> Result<Loaded, MeshError> {
    let curve = |(tag, groups): (usize, &str)| format!("{tag} 0 0 0 1 1 0 {groups} 0");
    let curves: Vec<String> = (1..).zip(curves).map(curve).collect();
    let all =
        ["1 1 1 1\n1 1 2", "1 2 1 1\n2 2 3", "1 3 1 1\n3 3 4", "1 4 1 1\n4 4 1", "2 1 2 2\n5 1 2 3\n6 1 3 4"];
    let text = format!(
        "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$PhysicalNames\n2\n1 7 \"body\"\n1 9 \"upper side\"\n$EndPhysicalNames\n\
         $Entities\n0 4 1 0\n{}\n1 0 0 0 1 1 0 0 0\n$EndEntities\n\
         $Nodes\n1 4 1 4\n2 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n$EndNodes\n\
         $Elements\n{blocks} 6 1 6\n{}\n$EndElements\n",
        curves.join("\n"),
        all[..blocks].join("\n")
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("square.msh");
    std::fs::write(&path, text).unwrap();
    load(&path, &ReadOptions::default())
}

/// A curve in several physical groups has the marker of the first; a note says which.
#[test]
fn groups_that_share_curves_are_told() {
    let loaded = square(["1 7", "1 7", "2 7 9", "2 7 9"], 5).unwrap();
    assert!(loaded.report.is_clean(), "{}", loaded.report);
    let faces: Vec<_> = loaded.mesh.markers.iter().map(|m| (m.name.as_str(), m.quads.len())).collect();
    assert_eq!(faces[0], ("body", 4));
    let [note] = &loaded.notes[..] else { panic!("{:?}", loaded.notes) };
    assert!(note.contains("\"body\" and \"upper side\" are of the marker \"body\" alone"), "{note}");
    assert!(square(["1 7"; 4], 5).unwrap().notes.is_empty());
}

/// What is wrong is said with the line that it stands on.
#[test]
fn defects_have_their_lines() {
    let loaded = square(["1 7", "1 9", "1 7", "1 7"], 5).unwrap();
    let line = |marker: &str| {
        let number = loaded.mesh.markers.iter().position(|m| m.name == marker).unwrap();
        loaded.places.face(number, 4, 0).unwrap().to_string()
    };
    assert_eq!([line("body"), line("upper side")], ["line 32", "line 34"]);
    assert_eq!(loaded.places.element(crate::Kind::Prism, 1).unwrap().to_string(), "line 41");
    assert_eq!(loaded.places.node(3).unwrap().to_string(), "line 27");
}

/// A file of curves alone lacks a physical surface.
#[test]
fn a_domain_without_a_group_is_told() {
    let error = square(["1 7"; 4], 4).unwrap_err().to_string();
    assert!(error.contains("no element fills a plane") && error.contains("Physical Surface"), "{error}");
}
