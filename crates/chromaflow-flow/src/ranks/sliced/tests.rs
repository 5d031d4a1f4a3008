//! Parts made of slices: together the mesh, and the same on any number of ranks.

use super::{Kept, Part, Sliced, SlicedError};
use crate::dual::Dual;
use crate::laps::Laps;
use crate::mesh::generate::{Cells, box_mesh};
use crate::mesh::pairs::Pairs;
use crate::mesh::{Mesh, ReadOptions, read, write};
use crate::numbering::Numbering;
use crate::ranks::tests::cylinder;
use crate::testmesh::mixed_cube;
use chromaflow::order::{ColoringMethod, PlanOptions, Rcm};
use chromaflow_comm::{Communicator, RunError, Threads, run};
use chromaflow_device::Team;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

const SIZES: [usize; 6] = [1, 2, 3, 5, 8, 40];

fn parts(
    path: &Path,
    size: usize,
    numbering: Numbering<'static>,
) -> Result<Vec<(Part, Kept)>, RunError<SlicedError>> {
    let path = path.to_owned();
    run(size, Duration::from_secs(60), move |ranks: &Threads| {
        let sliced = Sliced::read(ranks, &path, &ReadOptions::default())?;
        let team = Team::new(1 + ranks.rank() % 2);
        sliced.divide(ranks, numbering, (&team, &mut Laps::default()), true)
    })
}

/// A mesh as its file has it.
fn stored(mesh: &Mesh, name: &str) -> (tempfile::TempDir, PathBuf, Mesh) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    write(&path, mesh).unwrap();
    let whole = read(&path, &ReadOptions::default()).unwrap();
    (dir, path, whole)
}

/// Nodes of elements and faces of a mesh by other numbers, in order.
fn lists(mesh: &Mesh, number: impl Fn(u32) -> u32) -> Vec<Vec<Vec<u32>>> {
    let of = |nodes: &[u32]| nodes.iter().map(|&i| number(i)).collect::<Vec<_>>();
    let mut all = vec![
        mesh.tets.iter().map(|e| of(e)).collect(),
        mesh.pyramids.iter().map(|e| of(e)).collect(),
        mesh.prisms.iter().map(|e| of(e)).collect(),
        mesh.hexes.iter().map(|e| of(e)).collect(),
    ];
    for marker in &mesh.markers {
        all.push(marker.triangles.iter().map(|f| of(f)).collect());
        all.push(marker.quads.iter().map(|f| of(f)).collect());
    }
    all
}

/// What does not depend on the number of ranks: rows and colors of nodes and elements by the numbers of the file.
type Order = (Vec<u32>, Vec<u32>, Vec<u32>);

/// Holds a division against the mesh of the file.
fn check(parts: &[(Part, Kept)], whole: &Mesh, volumes: &[f64]) -> Order {
    let n = whole.planar.map_or(whole.nodes.len(), |planar| planar.nodes_2d);
    let of_row = |i: u32| i % n as u32;
    let (mut row, mut owner) = (vec![u32::MAX; n], vec![u32::MAX; n]);
    for (rank, (part, _)) in (0..).zip(parts) {
        assert!(part.global.is_sorted() && part.global.len() == part.file.len());
        for (at, &node) in part.file.iter().enumerate().filter(|(at, _)| part.owner[*at] == rank) {
            let seen = std::mem::replace(&mut owner[node as usize], rank);
            assert_eq!(seen, u32::MAX, "node {node} has one owner");
            row[node as usize] = part.global[at];
        }
    }
    let all: BTreeSet<u32> = row.iter().copied().collect();
    assert!(all.into_iter().eq(0..n as u32), "each row once");
    let all_edges = Pairs::edges(whole);
    let edges = all_edges.below(n);
    let degrees = crate::ranks::degrees(&edges, n);
    let mut colors = vec![u32::MAX; n];
    let expected = lists(whole, |i| i);
    let mut element_colors = vec![u32::MAX; whole.elements()];
    for (rank, (part, kept)) in (0..).zip(parts) {
        assert_eq!(part.whole.iter().map(|c| c[0]).sum::<u64>(), n as u64);
        assert_eq!(
            part.whole.iter().map(|c| c[1]).sum::<u64>(),
            degrees.iter().map(|&d| u64::from(d) + 2).sum::<u64>()
        );
        assert_eq!((part.report.edges, part.report.rows), (edges.len(), n));
        for (at, &node) in part.file.iter().enumerate() {
            let node = node as usize;
            assert_eq!(part.mesh.nodes[at], whole.nodes[node]);
            assert_eq!((part.owner[at], part.global[at]), (owner[node], row[node]));
            let color = part.colors.partition_point(|&start| start as usize <= at) as u32 - 1;
            assert!(colors[node] == color || colors[node] == u32::MAX);
            colors[node] = color;
        }
        let own = |i: &u32| owner[of_row(*i) as usize] == rank;
        let around = expected[..4].iter().flatten().filter(|e| e.iter().any(own)).flatten();
        let near: BTreeSet<u32> = around.map(|&i| of_row(i)).collect();
        let complete = part.file.iter().zip(&part.complete).filter(|(_, c)| **c == 1).map(|(&i, _)| i);
        assert_eq!(complete.collect::<BTreeSet<_>>(), near);
        // In the order of the file, and turned as there.
        let here = part.file.len();
        let found = lists(&part.mesh, |i| part.file[i as usize % here] + (i as usize / here * n) as u32);
        let mut first = 0;
        let mut next = part.element_colors.iter();
        for (kind, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let here = |e: &&Vec<u32>| e.iter().any(|i| near.contains(&of_row(*i)));
            assert!(found.iter().eq(expected.iter().filter(here)), "rank {rank}: list {kind}");
            for (e, _) in expected.iter().enumerate().filter(|(_, e)| kind < 4 && here(e)) {
                let (known, color) = (&mut element_colors[first + e], *next.next().unwrap());
                assert!(*known == color || *known == u32::MAX);
                *known = color;
            }
            first += if kind < 4 { expected.len() } else { 0 };
        }
        let on_surface =
            |i: u32| whole.nodes.iter().position(|x| *x == kept.surface.nodes[i as usize]).unwrap() as u32;
        // Of a planar mesh without its planes.
        let end = expected.len() - if whole.planar.is_some() { 4 } else { 0 };
        assert!(lists(&kept.surface, on_surface)[4..] == expected[4..end]);
        let rows = kept.surface_rows.iter().enumerate();
        assert!(rows.into_iter().all(|(at, &r)| row[on_surface(at as u32) as usize] == r));
        assert!(part.surface == kept.surface && part.mesh == kept.mesh);
        let dual = Dual::of_edges(&part.mesh, &Pairs::edges(&part.mesh), &Team::new(1));
        for (at, &node) in part.file.iter().enumerate().filter(|(at, _)| part.owner[*at] == rank) {
            let expected = volumes[node as usize];
            assert!((dual.volumes[at] - expected).abs() <= 1e-13 * expected, "volume of node {node}");
        }
    }
    assert!(edges.iter().all(|(a, b)| colors[a as usize] != colors[b as usize]), "colors of rows");
    let quality = parts[0].0.quality;
    assert_eq!(
        quality.cut,
        edges.iter().filter(|&(a, b)| owner[a as usize] != owner[b as usize]).count() as u64
    );
    let costs = (0..parts.len() as u32)
        .map(|rank| (0..n).filter(|&i| owner[i] == rank).map(|i| u64::from(degrees[i]) + 2).sum::<u64>());
    let (sum, most) = (costs.clone().sum::<u64>() as f64, costs.max().unwrap() as f64);
    assert!((quality.balance - most * parts.len() as f64 / sum).abs() < 1e-12);
    // To a row or so of the mean.
    assert!(most <= sum / parts.len() as f64 + f64::from(*degrees.iter().max().unwrap()) + 2.0);
    // No two elements of a type with a common edge share a color.
    let mut seen = BTreeSet::new();
    for (e, &color) in element_colors.iter().enumerate() {
        let (kind, _, nodes) = whole.element(e);
        let ends = kind.edges().iter().map(|&[p, q]| all_edges.find(nodes[p], nodes[q]));
        assert!(ends.into_iter().all(|edge| seen.insert((kind, color, edge))));
    }
    (row, colors, element_colors)
}

#[test]
fn parts_of_slices_are_the_mesh_on_any_number_of_ranks() {
    let tets = box_mesh([9, 4, 3], [3.0, 1.0, 1.0], Cells::Tets, 0.2);
    let needle = box_mesh([40, 1, 1], [40.0, 1.0, 1.0], Cells::Prisms, 0.0);
    let mut of_mesh = BTreeMap::new();
    for (mesh, name) in [
        (mixed_cube(5, 0.2), "mixed.lb8.ugrid"),
        (mixed_cube(2, 0.0), "small.b8.ugrid"),
        (tets, "tets.r8.ugrid"),
        (needle.clone(), "needle.lb8l.ugrid"),
        (mixed_cube(5, 0.2), "mixed.su2"),
        (mixed_cube(5, 0.2), "mixed.meshb"),
        (needle, "needle.su2"),
        (cylinder(true), "triangles.su2"),
        (cylinder(false), "quads.su2"),
    ] {
        let (_dir, path, whole) = stored(&mesh, name);
        let volumes = Dual::of_edges(&whole, &Pairs::edges(&whole), &Team::new(1)).volumes.clone();
        let mut first = None;
        for size in SIZES {
            let found = parts(&path, size, Numbering::default()).unwrap();
            let order = check(&found, &whole, &volumes);
            assert!(*first.get_or_insert_with(|| order.clone()) == order, "{name} on {size} ranks");
        }
        // The same mesh in another format is the same.
        let stem = name.split('.').next().unwrap_or_default().to_owned();
        let order = first.expect("one size at least");
        assert!(*of_mesh.entry(stem).or_insert_with(|| order.clone()) == order, "{name}");
    }
}

/// For incomplete factors the rows of a rank stand together, in the order that they would have alone.
#[test]
fn rows_without_colors_are_those_of_ranks() {
    let (_dir, path, whole) = stored(&mixed_cube(5, 0.2), "mixed.lb8.ugrid");
    let plan = PlanOptions { rcm: Rcm::Always, coloring: ColoringMethod::None, balance: false };
    for size in [1, 3] {
        let found = parts(&path, size, Numbering { plan, ..Numbering::default() }).unwrap();
        let mut next = 0;
        for (rank, (part, _)) in (0..).zip(&found) {
            let own = part.global.iter().zip(&part.owner).filter(|(_, owner)| **owner == rank);
            for (&row, _) in own {
                assert_eq!(row, next);
                next += 1;
            }
        }
        let report = found[0].0.report;
        assert_eq!((next as usize, report.colors), (whole.nodes.len(), 1));
        assert!(size > 1 || report.after.bandwidth < report.before.bandwidth);
    }
}

/// The most that a rank holds falls with the number of ranks, in messages under way too.
#[test]
fn no_rank_holds_the_whole() {
    let (_dir, path, whole) = stored(&box_mesh([20, 20, 20], [1.0; 3], Cells::Tets, 0.1), "box.lb8.ugrid");
    let mesh = 24 * whole.nodes.len() + 16 * whole.tets.len();
    let most = |size| {
        let held = parts(&path, size, Numbering::default()).unwrap();
        held.iter().map(|(_, kept)| kept.held.bytes).max().unwrap()
    };
    let [one, eight] = [most(1), most(8)];
    assert!(one > 2 * mesh && eight < mesh, "{mesh} bytes of a mesh: {one} alone, {eight} a rank of eight");
}

/// Every rank ends with the words of the reader of the whole file.
#[test]
fn broken_files_are_the_same_error_on_all_ranks() {
    let mesh = mixed_cube(3, 0.0);
    let (dir, path, whole) = stored(&mesh, "good.b8.ugrid");
    let bytes = std::fs::read(&path).unwrap();
    let [n, t, q] = [0, 4, 8].map(|at| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap()) as usize);
    let faces = 28 + 24 * n;
    let elements = faces + 4 * (3 * t + 4 * q) + 4 * (t + q);
    let edited = |name: &str, edit: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = bytes.clone();
        edit(&mut bytes);
        let path = dir.path().join(format!("{name}.b8.ugrid"));
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let put = |at: usize, value: i32| {
        move |bytes: &mut Vec<u8>| bytes[at..at + 4].copy_from_slice(&value.to_be_bytes())
    };
    let node = |bytes: &[u8], at: usize| i32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut unused = mesh.clone();
    unused.nodes.push([3.0; 3]);
    let mut open = mesh.clone();
    open.markers[1].quads.pop();
    open.markers[1].triangles.pop();
    let mut doubled = mesh.clone();
    let again = doubled.tets[1];
    doubled.tets.push(again);
    let mut flat = mesh.clone();
    let [a, b, ..] = flat.tets[5];
    flat.nodes[a as usize] = flat.nodes[b as usize];
    let written = |name: &str, mesh: &Mesh| {
        let path =
            dir.path().join(if name.contains('.') { name.to_owned() } else { format!("{name}.b8.ugrid") });
        write(&path, mesh).unwrap();
        path
    };
    // Lines and bytes of the other formats.
    let changed = |name: &str, from: &str, to: &str| {
        let path = written(name, &mesh);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{from}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        path
    };
    let cut = |name: &str, share: usize| {
        let path = written(name, &mesh);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() * share / 100]).unwrap();
        path
    };
    for path in [
        edited("cut", &|bytes| bytes.truncate(elements + 50)),
        edited("head", &put(4, -5)),
        edited("zero", &put(elements + 16 * 20 + 4, 0)),
        edited("face", &put(faces + 8, -3)),
        edited("beyond", &put(elements + 16 * 7, n as i32 + 9)),
        edited("infinite", &|bytes| bytes[28 + 24 * 11..][..8].copy_from_slice(&f64::NAN.to_be_bytes())),
        edited("counts", &put(12, 1 << 30)),
        written("unused", &unused),
        written("open", &open),
        written("doubled", &doubled),
        written("flat", &flat),
        written("open.su2", &open),
        written("doubled.su2", &doubled),
        written("flat.meshb", &flat),
        changed("type.su2", "\n10 ", "\n11 "),
        changed("word.su2", "\n12 ", "\n12 one "),
        changed("beyond.su2", "\n12 ", "\n12 99991 "),
        changed("announced.su2", "NPOIN= ", "NPOIN= 1"),
        changed("number.su2", "\n10 ", "\n10 ten "),
        cut("cut30.su2", 30),
        cut("cut90.su2", 90),
        cut("cut30.meshb", 30),
        cut("cut90.meshb", 90),
        dir.path().join("nowhere.lb8.ugrid"),
    ] {
        let expected = read(&path, &ReadOptions::default()).unwrap_err().to_string();
        for size in [1, 2, 5] {
            let path = path.clone();
            let said = run(size, Duration::from_secs(60), move |ranks: &Threads| {
                let divided = Sliced::read(ranks, &path, &ReadOptions::default()).and_then(|sliced| {
                    sliced.divide(ranks, Numbering::default(), (&Team::new(1), &mut Laps::default()), false)
                });
                Ok::<_, String>(divided.map(drop).unwrap_err().to_string())
            });
            for said in said.unwrap() {
                assert_eq!(said, expected, "{size} ranks");
            }
        }
    }
    // An element that names a node twice: the whole reader knows where its nodes are, too.
    let twice = edited("twice", &put(elements + 4, node(&bytes, elements)));
    let said = parts(&twice, 2, Numbering::default()).unwrap_err().to_string();
    assert!(
        said.contains("stands in it twice") && said.contains(&format!("byte {elements}: tetrahedron 0")),
        "{said}"
    );
    assert!(whole.elements() > 0);
}

/// What wants a rank with the whole mesh says so.
#[test]
fn what_cannot_be_sliced_is_refused_with_a_remedy() {
    let mesh = mixed_cube(2, 0.0);
    let (_dir, path, _) = stored(&mesh, "mesh.msh");
    let (_second, packed, _) = stored(&mesh, "mesh.lb8.ugrid.gz");
    let mut alike = mesh.clone();
    alike.markers[1].name = alike.markers[0].name.clone();
    let (_fourth, alike, _) = stored(&alike, "alike.su2");
    for (path, what) in
        [(path, "in the format Gmsh"), (packed, "a compressed mesh"), (alike, "two markers of one name")]
    {
        let said = parts(&path, 2, Numbering::default()).unwrap_err().to_string();
        assert!(said.contains(what) && said.contains("read it whole"), "{said}");
    }
    let (_third, path, _) = stored(&mesh, "mesh.lb8.ugrid");
    let said = parts(&path, 2, Numbering { lines: true, ..Numbering::default() }).unwrap_err().to_string();
    assert!(said.contains("the preconditioner `lines`") && said.contains("choose `multicolor`"), "{said}");
}
