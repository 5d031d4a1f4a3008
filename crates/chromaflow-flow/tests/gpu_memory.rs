//! A march on a GPU whose memory others take: one test, alone in its process, because it takes everything.

use chromaflow_device::Team;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Gpu, Stream};
use chromaflow_flow::config::{Boundary, FlowConfig, Steady, Time};
use chromaflow_flow::march::FlowError;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::mesh::generate::{Cells, box_mesh};
use chromaflow_flow::output::Restart;
use chromaflow_flow::{FlowSolver, StepReport};
use std::sync::Arc;

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

fn residuals(solver: &mut FlowSolver, steps: usize) -> Vec<[f64; 5]> {
    (0..steps).map(|_| solver.try_step().map(|StepReport { residual, .. }| residual).unwrap()).collect()
}

#[test]
fn gpu_memory_that_others_take_ends_no_march() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        Err(reason) => return chromaflow_testkit::skip("gpu", &reason.to_string()),
    };
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
