//! Meshes as other programs and hands write them, by the public interface.
use chromaflow_mesh::grid::{Plot3dOptions, read_plot3d};
use chromaflow_mesh::{Mesh, MeshError, ReadOptions, read, write};
use std::fmt::Write;

fn parse(name: &str, text: &str) -> Result<Mesh, MeshError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    read(&path, &ReadOptions::default())
}

/// A plane of n x n squares; `twisted` has two nodes in the wrong order.
fn squares(n: usize, twisted: usize) -> String {
    let at = |i: usize, j: usize| j * (n + 1) + i;
    let mut text = format!("NDIME= 2\nNELEM= {}\n", n * n);
    for e in 0..n * n {
        let (i, j) = (e % n, e / n);
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        let [c, d] = if e == twisted { [d, c] } else { [c, d] };
        let _ = writeln!(text, "9 {a} {b} {c} {d}");
    }
    let _ = writeln!(text, "NPOIN= {}", (n + 1) * (n + 1));
    for k in 0..(n + 1) * (n + 1) {
        let [i, j] = [k % (n + 1), k / (n + 1)];
        // Nothing is so even that the twisted cell's halves cancel.
        let _ = writeln!(text, "{} {}", i as f64 + 0.1 * (j * j) as f64, j as f64 * (1.0 + 0.1 * i as f64));
    }
    let _ = writeln!(text, "NMARK= 1\nMARKER_TAG= rim\nMARKER_ELEMS= {}", 4 * n);
    for k in 0..n {
        let sides = [
            [at(k, 0), at(k + 1, 0)],
            [at(k, n), at(k + 1, n)],
            [at(0, k), at(0, k + 1)],
            [at(n, k), at(n, k + 1)],
        ];
        for [a, b] in sides {
            let _ = writeln!(text, "3 {a} {b}");
        }
    }
    text
}

/// A cell whose nodes cross agrees with one neighbor and not with the opposite one. Which of the others is inside out is no question then.
#[test]
fn a_crossed_cell_turns_no_other_over() {
    parse("a.su2", &squares(7, usize::MAX)).unwrap();
    for twisted in [8, 24, 40] {
        let error = parse("a.su2", &squares(7, twisted)).unwrap_err().to_string();
        assert!(error.contains("non_manifold") && error.contains("wrong order"), "{error}");
        let blamed = format!("hexahedron {twisted} ");
        let inside_out =
            error.lines().filter(|line| line.contains("inside out") && !line.contains(&blamed)).count();
        assert_eq!(inside_out, 0, "{error}");
    }
}

/// Names of physical groups are what stands between the outer quotation marks; numbers are apart by any blanks.
#[test]
fn names_of_physical_groups_are_taken_whole() {
    let names = ["2 1 \"far field \"outer\"\"", "2\t2   \"Wand (½) \"", "  3 3 \"air\" "];
    let text = format!(
        "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n{}\n{}\n$EndPhysicalNames\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n\
         $Elements\n5\n1 2 2 1 1 1 2 3\n2 2 2 1 1 1 2 4\n3 2 2 2 2 1 3 4\n4 2 2 2 2 2 3 4\n5 4 2 3 1 1 2 3 4\n$EndElements\n",
        names.len(),
        names.join("\n")
    );
    let mesh = parse("a.msh", &text).unwrap();
    let found: Vec<&str> = mesh.markers.iter().map(|m| &*m.name).collect();
    assert_eq!(found, ["far field \"outer\"", "Wand (½) "]);
}

/// A two-dimensional grid in a three-dimensional file, one point along any axis and in any plane of two coordinates, is the layer that a
/// two-dimensional file gives.
#[test]
fn a_plane_of_points_in_space_is_a_layer() {
    let (ni, nj) = (4, 3);
    let plane: Vec<[f64; 2]> =
        (0..ni * nj).map(|p| [(p % ni) as f64 + 0.1 * (p / ni) as f64, (p / ni) as f64]).collect();
    let folder = tempfile::tempdir().unwrap();
    let blocks_of = |head: String, coordinates: &[Vec<f64>], name: &str| {
        let path = folder.path().join(name);
        let numbers = coordinates.concat().iter().map(f64::to_string).collect::<Vec<_>>().join(" ");
        std::fs::write(&path, format!("{head}\n{numbers}\n")).unwrap();
        read_plot3d(&path, &Plot3dOptions::default())
    };
    let along = |c: usize| plane.iter().map(|x| x[c]).collect::<Vec<_>>();
    let expected = blocks_of(format!("1\n{ni} {nj}"), &[along(0), along(1)], "a.p2dfmt").unwrap();
    assert_eq!(expected[0].points, [ni, nj, 2]);
    let constant = vec![2.5; plane.len()];
    for head in [format!("{ni} {nj} 1"), format!("{ni} 1 {nj}"), format!("1 {ni} {nj}")] {
        for coordinates in [
            [along(0), along(1), constant.clone()],
            [along(0), constant.clone(), along(1)],
            [constant.clone(), along(0), along(1)],
        ] {
            let found = blocks_of(format!("1\n{head}"), &coordinates, "a.p3dfmt").unwrap();
            assert_eq!(
                (found[0].points, &found[0].nodes),
                (expected[0].points, &expected[0].nodes),
                "{head}"
            );
        }
    }
    // A surface in space is none.
    let bent = blocks_of(format!("1\n{ni} {nj} 1"), &[along(0), along(1), along(0)], "a.p3dfmt").unwrap();
    assert_eq!(bent[0].points, [ni, nj, 1]);
}

/// Some editors begin a text with a mark that says it is UTF-8.
#[test]
fn a_mark_before_the_text_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let plain = parse("a.su2", &squares(3, usize::MAX)).unwrap();
    for format in ["su2", "ugrid", "msh"] {
        let path = folder.path().join(format!("a.{format}"));
        write(&path, &plain).unwrap();
        let expected = read(&path, &ReadOptions::default()).unwrap();
        for file in [path.clone(), folder.path().join("a.mapbc")] {
            if let Ok(text) = std::fs::read(&file) {
                std::fs::write(&file, [b"\xef\xbb\xbf", &*text].concat()).unwrap();
            }
        }
        assert_eq!(read(&path, &ReadOptions::default()).unwrap(), expected, "{format}");
    }
    let mac = parse("a.su2", &squares(3, usize::MAX).replace('\n', "\r")).unwrap_err().to_string();
    assert!(mac.len() < 300, "{mac}");
}
