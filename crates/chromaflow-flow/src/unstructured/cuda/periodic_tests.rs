//! Flows that repeat on a GPU are the CPU's.

use crate::config::{Boundary, Steady, Time};
use crate::mesh::generate::Cells;
use crate::testgpu::{close, close_step, gpu};
use crate::unstructured::periodic::testcases::{boxes, config, flows, layers, newton, planes, solver};
use chromaflow::Policy;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};

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

/// Newton-Krylov steps on a GPU converge across the seam.
#[test]
fn cuda_newton_steps_converge_across_the_seam() {
    let Some(gpu) = gpu() else { return };
    let (mesh, config) = newton();
    let [here, there] = [false, true].map(|on_gpu| {
        let mut solver = solver(&mesh, config.clone());
        if on_gpu {
            solver.use_gpu(&gpu).unwrap();
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
