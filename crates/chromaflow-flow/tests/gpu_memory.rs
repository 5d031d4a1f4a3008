//! Memory of a GPU: what solvers say that they take, and marches when others take it. These tests are alone in their process,
//! one after another, because they look at all of it and take everything.

use chromaflow_device::Team;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Gpu, Stream};
use chromaflow_flow::config::{Boundary, Equations, FlowConfig, Steady, Time, Unsteady};
use chromaflow_flow::grid::generate::BoxGrid;
use chromaflow_flow::incompressible;
use chromaflow_flow::march::FlowError;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::mesh::generate::{Cells, box_mesh};
use chromaflow_flow::output::Restart;
use chromaflow_flow::structured::lax_wendroff::{LaxWendroff, LaxWendroffSolver};
use chromaflow_flow::structured::{StructuredConfig, StructuredSolver};
use chromaflow_flow::{FlowSolver, StepReport};
use std::sync::{Arc, Mutex};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn gpu() -> Option<Gpu> {
    chromaflow_testkit::available("gpu", Gpu::open(0))
}

/// Takes all memory but less than 16 MiB; what the last refusal said.
fn take_all(stream: &Stream) -> (Vec<DeviceBuffer<u8>>, CudaError) {
    let (mut taken, mut bytes) = (Vec::new(), 4 << 30);
    loop {
        match DeviceBuffer::uninitialized(stream, bytes) {
            Ok(buffer) => taken.push(buffer),
            Err(CudaError::OutOfMemory { .. }) if bytes > 16 << 20 => bytes /= 2,
            Err(refusal) => return (taken, refusal),
        }
    }
}

fn solver(mesh: &Mesh) -> FlowSolver {
    let mut config = FlowConfig::default();
    config.freestream.mach = 0.4;
    config.freestream.alpha_deg = 5.0;
    config.time = Time::Steady(Steady { iterations: 100, orders: 14.0 });
    for marker in &mesh.markers {
        let wall = marker.name == "zmin";
        let condition = if wall { Boundary::SlipWall } else { Boundary::Farfield };
        config.boundaries.insert(marker.name.clone(), condition);
    }
    FlowSolver::new(mesh, config, Arc::new(Team::new(2))).unwrap()
}

fn residuals(solver: &mut FlowSolver, steps: usize) -> Vec<Vec<f64>> {
    (0..steps).map(|_| solver.try_step().map(|StepReport { residual, .. }| residual).unwrap()).collect()
}

#[test]
fn gpu_memory_that_others_take_ends_no_march() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let Some(gpu) = gpu() else { return };
    let mesh = box_mesh([32, 32, 32], [1.0; 3], Cells::Tets, 0.2);
    let mut alone = solver(&mesh);
    alone.use_gpu(&gpu).unwrap();
    let expected = residuals(&mut alone, 24);

    let mut marching = solver(&mesh);
    marching.use_gpu(&gpu).unwrap();
    let (taken, refusal) = take_all(&gpu.stream().unwrap());
    let CudaError::OutOfMemory { asked, free, total } = refusal else { panic!("{refusal}") };
    assert!(asked == 16 << 20 && free < total && total == gpu.facts().memory_bytes, "{refusal}");
    // The reduction of the linear residual is looked at in some of these steps.
    assert_eq!(residuals(&mut marching, 12), expected[..12], "with no memory left");
    marching.sync().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("restart.safetensors");
    marching.restart().write(&path, &mesh).unwrap();
    let written = std::fs::read(&path).unwrap();

    // There is no room for another one, which says so and harms nothing.
    let mut late = solver(&mesh);
    let refused = late.use_gpu(&gpu).unwrap_err();
    assert!(matches!(&refused, FlowError::Gpu(_)), "{refused}");
    assert!(refused.to_string().starts_with("out of GPU memory: "), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), written);
    assert_eq!(residuals(&mut marching, 12), expected[12..], "after the other one was refused");

    // With room again it goes on from the restart.
    drop(taken);
    late.use_gpu(&gpu).unwrap();
    late.resume(&Restart::read(&path, &mesh).unwrap()).unwrap();
    assert_eq!(residuals(&mut late, 12), expected[12..], "from the restart");
}

/// Bytes that this process has allocated, as the driver counts them, and bytes that are free on the device. What is freed goes
/// back to the device first.
fn in_use_and_free(gpu: &Gpu) -> (usize, usize) {
    (gpu.allocated().unwrap(), gpu.memory().unwrap().0)
}

/// What a solver says that it takes is what the driver counts, to the rounding of sizes, and what free memory becomes less by, to
/// the size of the pieces that the driver takes.
fn counted<S>(gpu: &Gpu, name: &str, solver: impl Fn() -> S, start: impl Fn(&mut S) -> usize) {
    let (rounding, piece) = (256 << 10, 64 << 20);
    let mut first = solver();
    let before = in_use_and_free(gpu).0;
    let said = start(&mut first);
    let counted = in_use_and_free(gpu).0 - before;
    println!("{name}: says {said}, {counted} are counted");
    assert!(counted >= said && counted <= said + rounding, "{name}: says {said}, {counted} are counted");
    // Kernels are loaded now.
    let mut more: Vec<S> = (0..3).map(|_| solver()).collect();
    let before = in_use_and_free(gpu).1;
    let said: usize = more.iter_mut().map(start).sum();
    let gone = before - in_use_and_free(gpu).1;
    println!("{name}: three say {said}, {gone} are gone");
    assert!(gone.abs_diff(said) < piece, "{name}: three say {said}, {gone} are gone");
}

#[test]
fn gpu_memory_is_what_solvers_say() {
    let _alone = ONE_AT_A_TIME.lock().unwrap();
    let Some(gpu) = gpu() else { return };
    let mesh = box_mesh([28, 28, 28], [1.0; 3], Cells::Tets, 0.2);
    counted(
        &gpu,
        "unstructured",
        || solver(&mesh),
        |solver| {
            solver.use_gpu(&gpu).unwrap();
            solver.memory().device
        },
    );
    // Thin along one axis: many faces beside few cells.
    let grid = BoxGrid { cells: [160, 120, 4], size: [1.0; 3], wave: 0.05 }.grid();
    let mut config = StructuredConfig {
        equations: Equations::Laminar,
        boundaries: (grid.markers().iter()).map(|m| ((*m).to_owned(), Boundary::SlipWall)).collect(),
        ..StructuredConfig::default()
    };
    config.freestream.reynolds = 100.0;
    let team = || Arc::new(Team::new(2));
    counted(
        &gpu,
        "structured",
        || StructuredSolver::new(grid.clone(), config.clone(), team()).unwrap(),
        |solver| {
            solver.use_gpu(&gpu).unwrap();
            solver.device_bytes()
        },
    );
    let scheme = LaxWendroff { coarse_grids: 1, ..LaxWendroff::default() };
    let explicit = || LaxWendroffSolver::new(grid.clone(), config.clone(), scheme, team()).unwrap();
    counted(&gpu, "Lax-Wendroff", explicit, |solver| {
        solver.use_gpu(&gpu).unwrap();
        solver.device_bytes()
    });
    let mut config = incompressible::Config::default();
    config.fluid.viscosity = 0.01;
    config.boundaries =
        grid.markers().iter().map(|m| ((*m).to_owned(), incompressible::Boundary::WALL)).collect();
    config.time = Time::Unsteady(Unsteady { dt: 0.1, steps: 1, subiterations: 1, orders: 1.0 });
    let make = || incompressible::Solver::new(&grid, config.clone(), team()).unwrap();
    counted(&gpu, "incompressible", make, |solver| {
        solver.use_gpu(&gpu).unwrap();
        solver.memory().device
    });
}
