//! Restart files that ranks write and read by ranges, held against those that one rank writes and reads whole.

use super::sliced::stored;
use super::{Case, PATIENCE, bump, cube, cylinder};
use crate::config::{Boundary, Equations, ScalarConfig, Time, TurbulenceConfig, TurbulenceModel, Unsteady};
use crate::mesh::Mesh;
use crate::mesh::generate::Cells;
use crate::output::{Field, Restart};
use crate::testmesh::mixed_cube;
use crate::unstructured::Ranks;
use crate::unstructured::periodic::{sectors, testcases};
use crate::{FlowConfig, FlowSolver};
use chromaflow_comm::{CommError, Communicator, Tag, Threads, run};
use chromaflow_device::Team;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

const SIZES: [usize; 4] = [1, 2, 3, 5];

/// How the state of a place begins.
type Start = fn([f64; 3]) -> [f64; 5];

/// Turbulent flow in time with a scalar: all fields that restarts have, at all time levels.
fn full(mut config: FlowConfig) -> FlowConfig {
    let model = TurbulenceModel::Sst;
    (config.equations, config.freestream.reynolds) = (Equations::Laminar, 1e4);
    config.turbulence = Some(TurbulenceConfig { model, ..TurbulenceConfig::default() });
    config.scalar = Some(ScalarConfig { name: "dye".to_owned(), ..ScalarConfig::default() });
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 9, subiterations: 2, orders: 9.0 });
    config
}

/// Meshes of all kinds, each with how its state begins: in space, planar, that repeat along axes and when they are turned.
fn cases() -> Vec<(&'static str, Mesh, FlowConfig, Start)> {
    let walls = |mesh: &Mesh| {
        let mut config = super::config(&[]);
        for marker in &mesh.markers {
            config.boundaries.insert(marker.name.clone(), Boundary::NoSlipAdiabatic);
        }
        config
    };
    let planar = cylinder(true);
    let repeats = testcases::boxes(Cells::Mixed, 1, true);
    let plane_repeats = testcases::planes(true, 1, false);
    let turned = sectors::ring([3, 4, 3], Cells::Hexes, 5, false);
    let no_slip = |_: &str| Boundary::NoSlipAdiabatic;
    let mut of_sector = sectors::config(&turned, |_| Boundary::SlipWall);
    of_sector.time = full(of_sector.clone()).time;
    vec![
        ("inviscid", mixed_cube(4, 0.2), cube(&Boundary::SlipWall), bump),
        ("turbulent in time", mixed_cube(4, 0.1), full(cube(&Boundary::NoSlipAdiabatic)), bump),
        ("planar", planar.clone(), full(walls(&planar)), bump),
        ("repeats", repeats.clone(), full(testcases::config(&repeats, true, no_slip)), testcases::wavy),
        (
            "planar, repeats",
            plane_repeats.clone(),
            testcases::config(&plane_repeats, false, no_slip),
            testcases::wavy,
        ),
        ("turned", turned, of_sector, |x| sectors::swirling(x, 5)),
    ]
}

/// What is none of the solver's.
fn more(nodes: usize) -> Restart {
    let values = (0..2 * nodes).map(|i| (i as f64).sqrt()).collect();
    Restart {
        facts: [("samples".to_owned(), 3.0)].into(),
        fields: vec![Field::vector("velocity_mean", 2, values)],
    }
}

/// The only file of a folder.
fn only(path: &Path) -> Vec<u8> {
    let names: Vec<_> = std::fs::read_dir(path.parent().unwrap()).unwrap().collect();
    assert_eq!(names.len(), 1, "nothing is left under temporary names");
    std::fs::read(path).unwrap()
}

/// What rank 0 does with a solver over ranks of a mesh that it has; sums are exact.
fn over<T: Send + 'static>(
    size: usize,
    (mesh, config, start): (&Mesh, &FlowConfig, Start),
    job: impl Fn(&mut FlowSolver) -> T + Send + Sync + 'static,
) -> T {
    let (mesh, config) = (mesh.clone(), config.clone());
    let mut found = run(size, PATIENCE, move |threads: &Threads| {
        let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: true };
        let whole = (threads.rank() == 0).then_some(&mesh);
        let mut solver =
            FlowSolver::over_ranks(whole, config.clone(), Arc::new(Team::new(1)), ranks).unwrap();
        solver.set_state(start);
        if threads.rank() > 0 {
            return solver.follow().map(|()| None).map_err(|e| e.to_string());
        }
        let done = job(&mut solver);
        solver.dismiss();
        Ok::<_, String>(Some(done))
    })
    .unwrap();
    found.swap_remove(0).unwrap()
}

/// The file of [`Restart::write`] from what rank 0 gathers, byte for byte, on any number of ranks; written twice, the second time over the
/// first, and after steps the same on all numbers.
#[test]
fn files_by_ranges_are_those_of_one_rank() {
    for (what, mesh, config, start) in cases() {
        let mut alone = FlowSolver::new(&mesh, config.clone(), Arc::new(Team::new(1))).unwrap();
        alone.set_state(start);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.safetensors");
        alone.write_restart(&path, &mesh, more(mesh.nodes.len())).unwrap();
        let at_first = only(&path);
        let mut restart = alone.restart();
        restart.extend(more(mesh.nodes.len()));
        assert_eq!(Restart::read(&path, &mesh).unwrap().fields.len(), restart.fields.len(), "{what}");
        let mut later: Option<Vec<u8>> = None;
        for size in SIZES {
            let whole = mesh.clone();
            let [first, second, gathered] = over(size, (&mesh, &config, start), move |solver| {
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("r.safetensors");
                let more = || more(whole.nodes.len());
                solver.write_restart(&path, &whole, more()).unwrap();
                let first = only(&path);
                for _ in 0..5 {
                    solver.try_step().unwrap();
                }
                solver.write_restart(&path, &whole, more()).unwrap();
                let second = only(&path);
                let mut restart = solver.restart();
                restart.extend(more());
                restart.write(&path, &whole).unwrap();
                [first, second, only(&path)]
            });
            assert!(first == at_first, "{what} on {size} ranks");
            assert!(second == gathered && second != first, "{what} on {size} ranks, after steps");
            assert!(*later.get_or_insert(second.clone()) == second, "{what} on {size} ranks, after steps");
        }
    }
}

/// Of a mesh that no rank has whole the file has its nodes where they are, as one of the whole mesh.
#[test]
fn files_of_slices_are_those_of_one_rank() {
    for (what, mesh, config, _) in cases() {
        // What wants a rank that has the mesh.
        if ["planar, repeats", "turned"].contains(&what) {
            continue;
        }
        let stored = stored(Case { mesh, config, bump: true, iterations: 0 });
        let mesh = &stored.case.mesh;
        let mut alone = FlowSolver::new(mesh, stored.case.config.clone(), Arc::new(Team::new(1))).unwrap();
        alone.set_state(bump);
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.safetensors");
        alone.write_restart(&path, mesh, Restart::default()).unwrap();
        let expected = only(&path);
        for size in SIZES {
            let found = stored.each(size, true, |rank, solver| {
                let mut solver = solver.map_err(|e| e.to_string())?;
                solver.set_state(bump);
                if rank > 0 {
                    return solver.follow().map(|()| Vec::new()).map_err(|e| e.to_string());
                }
                let dir = tempfile::tempdir().unwrap();
                let path = dir.path().join("r.safetensors");
                solver.write_restart(&path, &Mesh::default(), Restart::default()).unwrap();
                solver.resume_from(&path, &Mesh::default(), (false, &[])).unwrap();
                solver.write_restart(&path, &Mesh::default(), Restart::default()).unwrap();
                solver.dismiss();
                Ok(only(&path))
            });
            assert!(found[0] == expected, "{what} on {size} ranks");
        }
    }
}

/// A mesh's nodes in another order, and that order.
fn shuffled(mesh: &Mesh) -> (Mesh, Vec<usize>) {
    let n = mesh.nodes.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by_key(|i| (i * 7919) % n);
    (Mesh { nodes: order.iter().map(|&i| mesh.nodes[i]).collect(), ..Mesh::default() }, order)
}

/// Ranges, in the order of the mesh or another, packed or not, bring back what one rank reads whole, with facts and the fields that are
/// wanted whole.
#[test]
fn ranges_are_read_as_one_rank_reads_the_whole() {
    for (what, mesh, config, start) in cases() {
        let dir = tempfile::tempdir().unwrap();
        let all = more(mesh.nodes.len());
        let mut solver = FlowSolver::new(&mesh, config.clone(), Arc::new(Team::new(1))).unwrap();
        solver.set_state(start);
        for _ in 0..5 {
            solver.try_step().unwrap();
        }
        let mut written = solver.restart();
        written.extend(all.clone());
        let (other, order) = shuffled(&mesh);
        let mut moved = written.clone();
        for field in &mut moved.fields {
            let c = field.components;
            field.values = order.iter().flat_map(|i| field.values[i * c..][..c].to_vec()).collect();
        }
        let paths = ["a.safetensors", "b.safetensors", "c.safetensors.gz"].map(|name| dir.path().join(name));
        written.write(&paths[0], &mesh).unwrap();
        moved.write(&paths[1], &other).unwrap();
        written.write(&paths[2], &mesh).unwrap();
        for (path, anew) in paths.iter().flat_map(|path| [(path, false), (path, true)]) {
            let go_on = {
                let (path, mesh, whole) = (path.clone(), mesh.clone(), ["velocity_mean".to_owned()]);
                move |solver: &mut FlowSolver| {
                    let resumed = solver.resume_from(&path, &mesh, (anew, &whole)).unwrap();
                    assert!(resumed.missing.is_empty());
                    let kept = resumed.restart.field("velocity_mean").unwrap().clone();
                    (resumed.restart.facts, kept, solver.restart())
                }
            };
            let mut alone = FlowSolver::new(&mesh, config.clone(), Arc::new(Team::new(1))).unwrap();
            let expected = go_on(&mut alone);
            assert_eq!(expected.1, all.fields[0], "{what}");
            assert_eq!(alone.iteration(), if anew { 0 } else { 5 });
            for size in SIZES {
                let found = over(size, (&mesh, &config, start), go_on.clone());
                assert!(found == expected, "{what} from {} on {size} ranks", path.display());
            }
        }
    }
}

/// What each rank says where the first has something done that fails.
fn said(
    size: usize,
    communicator: impl Fn(&Threads) -> Arc<dyn Communicator> + Send + Sync + 'static,
    job: impl Fn(&mut FlowSolver, &Mesh) -> Result<(), crate::march::FlowError> + Send + Sync + 'static,
) -> Vec<String> {
    let mesh = mixed_cube(3, 0.2);
    run(size, PATIENCE, move |threads: &Threads| {
        let ranks = Ranks { ranks: communicator(threads), reproducible: false };
        let whole = (threads.rank() == 0).then_some(&mesh);
        let config = cube(&Boundary::SlipWall);
        let mut solver = FlowSolver::over_ranks(whole, config, Arc::new(Team::new(1)), ranks).unwrap();
        let done = if threads.rank() == 0 { job(&mut solver, &mesh) } else { solver.follow() };
        Ok::<_, String>(done.unwrap_err().to_string())
    })
    .unwrap()
}

fn plain(threads: &Threads) -> Arc<dyn Communicator> {
    Arc::new(threads.clone())
}

/// Ranks of which the second is told of files in a folder of another host's.
#[derive(Debug)]
struct Elsewhere(Threads);

impl Communicator for Elsewhere {
    fn rank(&self) -> usize {
        self.0.rank()
    }
    fn size(&self) -> usize {
        self.0.size()
    }
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), CommError> {
        self.0.send(to, tag, bytes)
    }
    fn receive_within(&self, patience: Duration, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        let bytes = self.0.receive_within(patience, from, tag)?;
        Ok(match String::from_utf8(bytes) {
            // What rank 0 tells of a file.
            Ok(text) if self.rank() == 1 && text.starts_with('[') => {
                text.replace("/here/", "/there/").into_bytes()
            }
            Ok(text) => text.into_bytes(),
            Err(bytes) => bytes.into_bytes(),
        })
    }
    fn patience(&self) -> Duration {
        self.0.patience()
    }
}

/// All ranks say what the first that fails says; the file from before stays, nothing half-written does.
#[test]
fn a_range_that_cannot_be_written_or_read_is_an_error_of_all_ranks() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("here");
    std::fs::create_dir(&folder).unwrap();
    let path = folder.join("r.safetensors");
    std::fs::write(&path, "from before").unwrap();
    let write = |path: PathBuf| {
        move |solver: &mut FlowSolver, mesh: &Mesh| solver.write_restart(&path, mesh, Restart::default())
    };
    let read = |path: PathBuf| {
        move |solver: &mut FlowSolver, mesh: &Mesh| solver.resume_from(&path, mesh, (false, &[])).map(drop)
    };
    let second_is_elsewhere =
        |threads: &Threads| -> Arc<dyn Communicator> { Arc::new(Elsewhere(threads.clone())) };
    let agree = |said: Vec<String>| {
        assert!(said.iter().all(|other| *other == said[0]), "{said:?}");
        said[0].clone()
    };
    // No folder; a name that promises compression; a folder of that name.
    let nowhere = dir.path().join("missing/r.safetensors");
    let found = agree(said(3, plain, write(nowhere.clone())));
    assert!(found.starts_with("cannot create ") && found.contains("missing/r.safetensors"), "{found}");
    let found = agree(said(3, plain, write(folder.join("r.safetensors.gz"))));
    assert!(found.contains("a compressed file is written by one alone"), "{found}");
    std::fs::create_dir_all(dir.path().join("full/in the way")).unwrap();
    let found = agree(said(2, plain, write(dir.path().join("full"))));
    assert!(found.starts_with("cannot write "), "{found}");
    // One rank alone cannot.
    let found = agree(said(3, second_is_elsewhere, write(path.clone())));
    assert!(
        found.starts_with("rank 1: cannot write ")
            && found.ends_with("restarts need a file system that all hosts share"),
        "{found}"
    );
    assert_eq!(only(&path), b"from before");
    assert!(!dir.path().join("full").read_dir().unwrap().any(|e| e.unwrap().path().is_file()));
    let entries = std::fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(entries.into_iter().all(|name| !name.to_string_lossy().ends_with("tmp")));

    // Whatever one rank says of a file that is none, cut short or of another mesh.
    let mesh = mixed_cube(3, 0.2);
    let solver = FlowSolver::new(&mesh, cube(&Boundary::SlipWall), Arc::new(Team::new(1))).unwrap();
    solver.restart().write(&path, &mesh).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let found = agree(said(3, second_is_elsewhere, read(path.clone())));
    assert!(found.starts_with("rank 1: cannot open ") && found.contains("all hosts share"), "{found}");
    let mut moved = mesh.clone();
    moved.nodes[40][1] += 1e-9;
    moved.nodes[7][0] += 1e-9;
    let bad = folder.join("bad.safetensors");
    for kind in 0..5 {
        match kind {
            0 => std::fs::write(&bad, "no restart at all").unwrap(),
            1 => std::fs::write(&bad, &whole[..40]).unwrap(),
            2 => std::fs::write(&bad, &whole[..whole.len() - 1]).unwrap(),
            3 => solver.restart().write(&bad, &moved).unwrap(),
            _ => std::fs::remove_file(&bad).unwrap(),
        }
        let expected = Restart::read(&bad, &mesh).unwrap_err().to_string();
        for size in [1, 3] {
            let found = agree(said(size, plain, read(bad.clone())));
            assert!(found == expected || found == format!("rank {}: {expected}", size - 1), "{found}");
        }
    }
}
