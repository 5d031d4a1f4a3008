//! Flows that repeat on a GPU are the CPU's.

use crate::config::{Boundary, Steady, Time};
use crate::mesh::generate::Cells;
use crate::testgpu::{close, close_step, gpu, gpu_of, gpus};
use crate::unstructured::FlowSolver;
use crate::unstructured::periodic::sectors::{self, disc, ring};
use crate::unstructured::periodic::testcases::{
    boxes, config, flows, layers, newton, over_ranks, planes, solver,
};
use chromaflow::Policy;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::gpu::Wish;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_device::Team;
use chromaflow_device::cuda::Gpu;
use std::sync::Arc;

/// Every scheme and system beside the flow that reads the way to a neighbor, on elements of all types, with pairs along one axis and along
/// two that meet in corners: residuals and fields of some steps.
#[test]
fn cuda_histories_of_small_flows_that_repeat_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    for both in [false, true] {
        for (cells, mesh) in [
            ("mixed", boxes(Cells::Mixed, 1, both)),
            ("triangles", planes(true, 1, both)),
            ("layers", layers(Cells::Hexes, 1, both)),
        ] {
            for (name, change) in flows() {
                let mut config = config(&mesh, both, |marker| match marker {
                    "ymin" | "zmin" => Boundary::NoSlipAdiabatic,
                    marker if marker.starts_with("symmetry") => Boundary::Symmetry,
                    _ => Boundary::Farfield,
                });
                change(&mut config);
                // Turbulence needs a wall.
                if both && mesh.planar.is_some() && config.turbulence.is_some() {
                    continue;
                }
                config.implicit.policy = Policy::D;
                config.implicit.method = Method::Gmres;
                config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
                (config.implicit.krylov_tolerance, config.implicit.krylov_iterations) = (1e-8, 40);
                config.time = Time::Steady(Steady { iterations: 4, orders: 14.0 });
                let (mut here, mut there) = (solver(&mesh, config.clone()), solver(&mesh, config));
                there.use_gpu(&gpu).unwrap();
                for _ in 0..4 {
                    let (a, b) = (here.step(), there.try_step().unwrap());
                    let what = format!("{cells}, {name}, both {both}, iteration {}", a.iteration);
                    close_step(&what, (&b.residual, &b.forces), (&a.residual, &a.forces), 1e-8, 1e-9);
                    for (x, y) in a.coupled.iter().zip(&b.coupled) {
                        close(*y, *x, 1e-8, 1e-12, &format!("{what}, beside the flow"));
                    }
                }
                there.sync().unwrap();
                for (a, b) in here.fields().iter().zip(&there.fields()) {
                    assert_eq!(a.values.len(), a.components * mesh.nodes.len());
                    let size = a.values.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
                    for (x, y) in a.values.iter().zip(&b.values) {
                        close(
                            *y,
                            *x,
                            1e-8,
                            1e-8 * size,
                            &format!("{cells}, {name}, both {both}, field {}", a.name),
                        );
                    }
                }
            }
        }
    }
}

/// That a steady run converges on both, to the same flow.
fn converges_as_on_the_cpu(gpu: &Gpu, start: impl Fn() -> FlowSolver) {
    let [here, there] = [false, true].map(|on_gpu| {
        let mut solver = start();
        if on_gpu {
            solver.use_gpu(gpu).unwrap();
        }
        assert_eq!(solver.run(|_| true), chromaflow::Outcome::Converged, "on a GPU: {on_gpu}");
        solver.sync().unwrap();
        solver.fields()
    });
    for (a, b) in here.iter().zip(&there).take(3) {
        for (x, y) in a.values.iter().zip(&b.values) {
            close(*y, *x, 1e-6, 1e-6, &a.name);
        }
    }
}

/// Newton-Krylov steps on a GPU converge across the seam.
#[test]
fn cuda_newton_steps_converge_across_the_seam() {
    let Some(gpu) = gpu() else { return };
    let (mesh, config) = newton();
    converges_as_on_the_cpu(&gpu, || solver(&mesh, config.clone()));
}

/// Sectors whose sides are turned, to the axis or not, as narrow as a cell: histories and fields, on one GPU as one rank and on two.
#[test]
fn cuda_histories_of_small_sectors_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let meshes = [
        ("ring", ring([5, 4, 5], Cells::Mixed, 5, false), 5),
        ("disc", disc([5, 3, 5], 5, false), 5),
        ("wedge", disc([5, 1, 5], 36, false), 36),
    ];
    for (cells, mesh, n) in meshes {
        for (name, change) in flows() {
            for (policy, method) in [(Policy::D, Method::Gmres), (Policy::Ds, Method::Richardson)] {
                let what = format!("{cells}, {name}, {policy:?}");
                let mut config = sectors::config(&mesh, |marker| match marker {
                    "xmin" | "outer" => Boundary::NoSlipAdiabatic,
                    _ => Boundary::Farfield,
                });
                change(&mut config);
                (config.implicit.policy, config.implicit.method) = (policy, method);
                if method == Method::Gmres {
                    config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
                    (config.implicit.krylov_tolerance, config.implicit.krylov_iterations) = (1e-8, 40);
                }
                config.time = Time::Steady(Steady { iterations: 4, orders: 14.0 });
                let start = || sectors::solver(&mesh, config.clone(), n);
                let (mut here, mut there) = (start(), start());
                there.use_gpu(&gpu).unwrap();
                // Sweeps in f32 differ by its rounding.
                let most = if policy == Policy::D { 1e-8 } else { 1e-4 };
                for _ in 0..4 {
                    let (a, b) = (here.step(), there.try_step().unwrap());
                    let what = format!("{what}, iteration {}", a.iteration);
                    if policy == Policy::D {
                        close_step(&what, (&b.residual, &b.forces), (&a.residual, &a.forces), most, most);
                    }
                    for (x, y) in a.residual.iter().chain(&a.coupled).zip(b.residual.iter().chain(&b.coupled))
                    {
                        close(*y, *x, most, 1e-12, &what);
                    }
                }
                there.sync().unwrap();
                for (a, b) in here.fields().iter().zip(&there.fields()) {
                    let size = a.values.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
                    for (x, y) in a.values.iter().zip(&b.values) {
                        close(*y, *x, most, most * size, &format!("{what}, field {}", a.name));
                    }
                }
            }
        }
    }
}

/// Ranks on GPUs take the steps of one GPU on a sector.
#[test]
fn gpu_ranks_share_a_sector() {
    let Some((gpu, _alone)) = gpus() else { return };
    let (mesh, n) = (disc([5, 3, 5], 5, false), 5);
    let mut config = sectors::config(&mesh, |marker| match marker {
        "outer" => Boundary::NoSlipAdiabatic,
        _ => Boundary::Farfield,
    });
    config.equations = crate::config::Equations::Laminar;
    config.freestream.reynolds = 100.0;
    config.space.limiter = crate::config::Limiter::Venkatakrishnan;
    config.time = Time::Steady(Steady { iterations: 6, orders: 14.0 });
    let mut one = sectors::solver(&mesh, config.clone(), n);
    one.use_gpu(&gpu).unwrap();
    let expected: Vec<_> = (0..5).map(|_| one.try_step().unwrap()).collect();
    for size in [1, 2, 3] {
        for wish in [Wish::Shortest, Wish::Staged] {
            let start = move |solver: &mut FlowSolver| {
                solver.set_state(|x| sectors::swirling(x, n));
                solver.use_gpu_by(&gpu_of(solver).unwrap(), wish).unwrap();
            };
            let march =
                |solver: &mut FlowSolver| -> Vec<_> { (0..5).map(|_| solver.try_step().unwrap()).collect() };
            let steps = over_ranks(size, (&mesh, &config), start, march);
            for (a, b) in steps.iter().zip(&expected) {
                let what = format!("{size} ranks, {wish:?}, iteration {}", a.iteration);
                close_step(&what, (&a.residual, &a.forces), (&b.residual, &b.forces), 1e-9, 1e-9);
            }
        }
    }
}

/// Newton-Krylov steps on a GPU converge on a sector.
#[test]
fn cuda_newton_steps_converge_on_a_sector() {
    let Some(gpu) = gpu() else { return };
    let mesh = disc([5, 3, 5], 5, false);
    let (_, of_box) = newton();
    let mut config = sectors::config(&mesh, |marker| match marker {
        "outer" => Boundary::NoSlipIsothermal { temperature: 1.0 },
        _ => Boundary::Farfield,
    });
    (config.implicit, config.time, config.equations) = (of_box.implicit, of_box.time, of_box.equations);
    (config.freestream.mach, config.freestream.reynolds) = (0.3, 50.0);
    config.space.limiter = crate::config::Limiter::None;
    converges_as_on_the_cpu(&gpu, || FlowSolver::new(&mesh, config.clone(), Arc::new(Team::new(2))).unwrap());
}
