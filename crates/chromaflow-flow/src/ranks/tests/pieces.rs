//! Fields that each rank writes in a piece of its own, read back against those that the first rank gathers.

use super::{PATIENCE, config, cylinder, lined_case};
use crate::config::{Boundary, Equations, TurbulenceConfig, TurbulenceModel};
use crate::mesh::Mesh;
use crate::mesh::generate::{Cells, box_mesh};
use crate::output::{Field, VtuOptions};
use crate::testmesh::mixed_cube;
use crate::unstructured::Ranks;
use crate::unstructured::periodic::{sectors, testcases};
use crate::{FlowConfig, FlowSolver};
use chromaflow::Policy;
use chromaflow_comm::{Communicator, Threads, run};
use chromaflow_device::Team;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

/// An array of a file that is not packed, by its name; numbers of so many bytes.
fn array<const N: usize>(file: &[u8], name: &str) -> Vec<[u8; N]> {
    let data = file.windows(3).position(|w| w == b">\n_").unwrap() + 3;
    let head = String::from_utf8_lossy(&file[..data]);
    let tag = head.split("<DataArray ").find(|tag| tag.contains(&format!("Name=\"{name}\""))).unwrap();
    let offset: usize = tag.split("offset=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
    let (size, rest) = file[data + offset..].split_first_chunk().unwrap();
    rest[..u64::from_le_bytes(*size) as usize].as_chunks().0.to_vec()
}

/// Nodes of the mesh by the bits of their places.
pub(super) fn by_place(nodes: &[[f64; 3]]) -> HashMap<[u64; 3], usize> {
    let all: HashMap<_, _> = nodes.iter().enumerate().map(|(i, x)| (x.map(f64::to_bits), i)).collect();
    assert_eq!(all.len(), nodes.len(), "places tell nodes apart");
    all
}

/// Nodes of each cell of the files, by nodes of the mesh, and how often; nodes that are no copy, and how often.
pub(super) type Seen = (BTreeMap<Vec<usize>, usize>, BTreeMap<usize, usize>);

/// What a file has; its values are those of `fields`.
pub(super) fn read(
    file: &Path,
    places: &HashMap<[u64; 3], usize>,
    fields: &[Field],
    (cells, own): &mut Seen,
) {
    let bytes = std::fs::read(file).unwrap();
    let points: Vec<f64> = array(&bytes, "Points").into_iter().map(f64::from_le_bytes).collect();
    let nodes: Vec<usize> = points.as_chunks::<3>().0.iter().map(|x| places[&x.map(f64::to_bits)]).collect();
    for field in fields {
        let c = field.components;
        let values: Vec<f32> = array(&bytes, &field.name).into_iter().map(f32::from_le_bytes).collect();
        assert_eq!(values.len(), c * nodes.len());
        for (values, &node) in values.chunks_exact(c).zip(&nodes) {
            let expected: Vec<f32> = field.values[node * c..][..c].iter().map(|&v| v as f32).collect();
            assert!(values == expected, "{}: {} of node {node}: {values:?}", file.display(), field.name);
        }
    }
    for (&node, ghost) in nodes.iter().zip(array::<1>(&bytes, "vtkGhostType")) {
        assert!(ghost[0] <= 1);
        *own.entry(node).or_default() += usize::from(ghost == [0]);
    }
    let corners: Vec<u64> = array(&bytes, "connectivity").into_iter().map(u64::from_le_bytes).collect();
    let mut start = 0;
    for end in array(&bytes, "offsets").into_iter().map(u64::from_le_bytes) {
        let mut cell: Vec<usize> = corners[start..end as usize].iter().map(|&n| nodes[n as usize]).collect();
        cell.sort_unstable();
        *cells.entry(cell).or_default() += 1;
        start = end as usize;
    }
}

/// The cells of a mesh, those of the front plane of a planar one.
pub(super) fn cells_of(mesh: &Mesh) -> Vec<Vec<usize>> {
    let mut all = Vec::new();
    let front = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
    mesh.each_element(|_, _, nodes| {
        let mut cell: Vec<usize> = nodes.iter().map(|&n| n as usize).filter(|&n| n < front).collect();
        cell.sort_unstable();
        all.push(cell);
    });
    all.sort();
    all
}

/// Every cell is in one piece with all its nodes, each node is no copy in one, and all values are those that the first rank gathers: of
/// elements of all kinds, planar meshes, meshes that repeat along axes or when they are turned; written twice, the second time over the
/// first.
#[test]
fn pieces_have_the_cells_and_values_of_the_whole() {
    let mixed = |mesh: &Mesh| {
        let mut config = config(&[]);
        (config.equations, config.freestream.reynolds) = (Equations::Laminar, 500.0);
        for marker in &mesh.markers {
            config.boundaries.insert(marker.name.clone(), Boundary::NoSlipAdiabatic);
        }
        config
    };
    let turbulent = |mut config: FlowConfig| {
        let model = TurbulenceModel::SaNeg;
        (config.equations, config.freestream.reynolds) = (Equations::Laminar, 1e4);
        config.turbulence = Some(TurbulenceConfig { model, ..TurbulenceConfig::default() });
        config
    };
    let mut all: Vec<(&str, Mesh, FlowConfig)> = Vec::new();
    let mesh = mixed_cube(4, 0.2);
    all.push(("mixed", mesh.clone(), mixed(&mesh)));
    let lined = lined_case(Policy::D);
    all.push(("lines", lined.mesh, turbulent(lined.config)));
    let mesh = cylinder(false);
    all.push(("planar", mesh.clone(), turbulent(mixed(&mesh))));
    let mesh = testcases::boxes(Cells::Mixed, 1, true);
    let repeats = testcases::config(&mesh, true, |_| Boundary::NoSlipAdiabatic);
    all.push(("repeats", mesh, turbulent(repeats)));
    let mesh = testcases::planes(true, 1, false);
    let repeats = testcases::config(&mesh, false, |_| Boundary::NoSlipAdiabatic);
    all.push(("planar, repeats", mesh, turbulent(repeats)));
    let mesh = sectors::ring([4, 4, 4], Cells::Mixed, 5, false);
    let mut turned = sectors::config(&mesh, |_| Boundary::NoSlipAdiabatic);
    (turned.equations, turned.freestream.reynolds) = (Equations::Laminar, 100.0);
    all.push(("turned", mesh, turned));
    let mesh = sectors::disc([4, 2, 4], 9, false);
    let turned = sectors::config(&mesh, |_| Boundary::Farfield);
    all.push(("turned about an axis of its own", mesh, turned));
    for (what, mesh, config) in all {
        for size in [2, 3, 5] {
            let dir = tempfile::tempdir().unwrap();
            let list = dir.path().join("v.pvtu");
            let more = Field::vector("number", 2, (0..2 * mesh.nodes.len()).map(|i| i as f64).collect());
            let sector =
                if what.starts_with("turned") { Some(if what == "turned" { 5 } else { 9 }) } else { None };
            let start = move |solver: &mut FlowSolver| match sector {
                Some(n) => solver.set_state(|x| sectors::swirling(x, n)),
                None => solver.set_state(testcases::wavy),
            };
            let (path, extra, file) = (list.clone(), more.clone(), mesh.clone());
            let (mut fields, written) = testcases::over_ranks(size, (&mesh, &config), start, move |solver| {
                let options = VtuOptions { compress: false };
                solver.write_pieces(&path, &file, &[], VtuOptions::default()).unwrap();
                solver.try_step().unwrap();
                let written = solver.write_pieces(&path, &file, std::slice::from_ref(&extra), options);
                (solver.fields(), written.unwrap())
            });
            fields.push(more);
            assert!(written[0] == list && written.len() == size + 1, "{what}: {written:?}");
            let text = std::fs::read_to_string(&list).unwrap();
            assert_eq!(text.matches("<Piece Source=").count(), size);
            assert!(fields.iter().all(|f| text.contains(&format!("Name=\"{}\"", f.name))), "{text}");
            let count = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
            let (places, mut seen) = (by_place(&mesh.nodes[..count]), Seen::default());
            written[1..].iter().for_each(|file| read(file, &places, &fields, &mut seen));
            assert!(seen.0.values().all(|&times| times == 1), "{what}, {size} ranks: a cell in two pieces");
            assert!(seen.0.into_keys().eq(cells_of(&mesh)), "{what}, {size} ranks: cells");
            assert!(seen.1.values().all(|&own| own == 1) && seen.1.len() == count, "{what}: copies");
        }
    }
}

/// A rank that cannot write ends the run on all: nobody lists what is not whole, nothing is left under temporary names.
#[test]
fn a_piece_that_cannot_be_written_is_an_error_of_all_ranks() {
    let mesh = box_mesh([4, 3, 3], [1.0; 3], Cells::Tets, 0.0);
    let mut config = config(&[]);
    for marker in &mesh.markers {
        config.boundaries.insert(marker.name.clone(), Boundary::Farfield);
    }
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("v.pvtu");
    // A folder where the file of rank 1 would be.
    std::fs::create_dir_all(dir.path().join("v/piece_1.vtu/in the way")).unwrap();
    let path = list.clone();
    let said = run(3, PATIENCE, move |threads: &Threads| {
        let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
        let whole = (threads.rank() == 0).then_some(&mesh);
        let mut solver =
            FlowSolver::over_ranks(whole, config.clone(), Arc::new(Team::new(1)), ranks).unwrap();
        let done = if threads.rank() == 0 {
            solver.write_pieces(&path, &mesh, &[], VtuOptions::default()).map(drop)
        } else {
            solver.follow()
        };
        Ok::<_, String>(done.unwrap_err().to_string())
    })
    .unwrap();
    for said in said {
        assert!(
            said.starts_with("the piece of rank 1: cannot write ") && said.contains("v/piece_1.vtu"),
            "{said}"
        );
    }
    assert!(!list.exists());
    let names = std::fs::read_dir(dir.path().join("v")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().ends_with("tmp")));
}
