//! A sector of a ring about the x axis, whose sides are turned, against an exact solution.

use chromaflow::Outcome;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::bc::Motion;
use chromaflow_flow::config::{
    Boundary, Equations, FlowConfig, Limiter, NewtonKrylov, Nonlinear, Steady, Time,
};
use chromaflow_flow::mesh::generate::{Cells, box_mesh};
use chromaflow_flow::mesh::{self, Mesh, ReadOptions, cgns};
use std::f64::consts::TAU;
use std::sync::Arc;

/// Radii of the ring, and its length.
const INNER: f64 = 1.0;
const OUTER: f64 = 2.0;
const LENGTH: f64 = 0.8;

/// A sixth of the ring, its sides curved, its ends repeating along the axis: cells along the radius, around and along the axis.
fn sixth([radial, around, axial]: [usize; 3], cells: Cells) -> Mesh {
    let mut mesh = box_mesh([radial, around, axial], [1.0, 1.0, 1.0], cells, 0.0);
    for x in &mut mesh.nodes {
        let [r, a, z] = *x;
        let wave = (TAU * z).sin();
        let radius = INNER + (OUTER - INNER) * (r + 0.05 * r * (1.0 - r) * ((TAU * a).sin() + wave));
        let angle = TAU / 6.0 * (a + 0.3 * r * r + 0.025 * wave);
        *x = [LENGTH * z, radius * angle.cos(), radius * angle.sin()];
    }
    mesh
}

fn config(walls: [Boundary; 2]) -> FlowConfig {
    let mut config = FlowConfig::default();
    for side in ["ymin", "ymax", "zmin", "zmax"] {
        config.boundaries.insert(side.to_owned(), Boundary::Periodic);
    }
    config.boundaries.insert("xmin".to_owned(), walls[0]);
    config.boundaries.insert("xmax".to_owned(), walls[1]);
    config.partners = [("ymin", "ymax"), ("zmax", "zmin")].map(|(a, b)| (a.to_owned(), b.to_owned())).into();
    config.space.limiter = Limiter::None;
    (config.implicit.method, config.implicit.preconditioner) =
        (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(0)));
    (config.implicit.cfl.growth, config.implicit.cfl.max) = (2.0, 1e6);
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    config.time = Time::Steady(Steady { iterations: 200, orders: 9.0 });
    config
}

fn polar(x: [f64; 3]) -> (f64, [f64; 3]) {
    let r = (x[1] * x[1] + x[2] * x[2]).sqrt();
    (r, [0.0, -x[2] / r, x[1] / r])
}

/// Couette and Taylor's flow between cylinders of which the outer one turns: u = A r + B / r, exact in compressible flow of constant
/// viscosity, too, since r^2 times the shear stress is constant. The root mean square of the velocity's error over
/// the outer speed.
fn error_between_cylinders(n: usize, cells: Cells) -> f64 {
    let speed = 0.3;
    let mesh = sixth([n, n, 2 * n / 3], cells);
    let motion = Motion { rotation: [speed / OUTER, 0.0, 0.0], ..Motion::NONE };
    let wall = Boundary::MovingWall { motion, temperature: Some(1.0) };
    let mut config = config([Boundary::NoSlipIsothermal { temperature: 1.0 }, wall]);
    config.equations = Equations::Laminar;
    (config.freestream.mach, config.freestream.reynolds) = (speed, 20.0);
    config.gas.sutherland = false;
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
    solver.set_state(|x| {
        let (r, around) = polar(x);
        let u = around.map(|v| v * speed * (r - INNER));
        [1.0, u[0], u[1], u[2], 1.0 / 1.4]
    });
    let outcome = solver.run(|_| true);
    assert_eq!(outcome, Outcome::Converged, "{cells:?}, {n}");
    // Zero at r = 1, `speed` at r = 2.
    let b = -speed / (OUTER - 1.0 / OUTER);
    let velocity = &solver.fields()[1].values;
    let mut sum = 0.0;
    for (&x, u) in mesh.nodes.iter().zip(velocity.chunks_exact(3)) {
        let (r, around) = polar(x);
        let exact = around.map(|v| v * (b / r - b * r));
        sum += (0..3).map(|d| ((u[d] - exact[d]) / speed).powi(2)).sum::<f64>();
    }
    (sum / mesh.nodes.len() as f64).sqrt()
}

/// The order is still rising: 1.81 between these meshes.
#[test]
fn flow_between_cylinders_is_that_of_couette_and_taylor() {
    let errors = [6, 12].map(|n| error_between_cylinders(n, Cells::Hexes));
    let order = (errors[0] / errors[1]).log2();
    println!("{errors:?}, order {order:.2}");
    assert!(order > 1.75 && errors[1] < 1.5e-3, "{errors:?} {order}");
}

/// Sides that a CGNS file connects, translated and turned, carry bit for bit the flow of those that the case names.
#[test]
fn sides_that_a_cgns_file_connects_are_those_of_the_case() {
    let mesh = sixth([4, 4, 4], Cells::Prisms);
    let motion = Motion { rotation: [0.15, 0.0, 0.0], ..Motion::NONE };
    let wall = Boundary::MovingWall { motion, temperature: Some(1.0) };
    let mut config = config([Boundary::NoSlipIsothermal { temperature: 1.0 }, wall]);
    config.equations = Equations::Laminar;
    (config.freestream.mach, config.freestream.reynolds) = (0.3, 20.0);
    config.time = Time::Steady(Steady { iterations: 5, orders: 9.0 });
    let residual = |mesh: &Mesh, config: FlowConfig| {
        let mut solver = FlowSolver::new(mesh, config, Arc::new(Team::new(2))).unwrap();
        solver.set_state(|x| {
            let (r, around) = polar(x);
            let u = around.map(|v| 0.3 * v * (r - INNER));
            [1.0, u[0], u[1], u[2], 1.0 / 1.4]
        });
        solver.run(|_| true);
        (solver.residual().to_vec(), solver.fields().into_iter().map(|f| f.values).collect::<Vec<_>>())
    };
    let named = residual(&mesh, config.clone());

    let mut with = mesh.clone();
    for (a, b) in std::mem::take(&mut config.partners) {
        for (one, other) in [(&a, &b), (&b, &a)] {
            with.markers.iter_mut().find(|m| m.name == *one).unwrap().partner = Some(other.clone());
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sixth.cgns");
    cgns::write(&path, &with, &[]).unwrap();
    let read = mesh::read(&path, &ReadOptions::default()).unwrap();
    assert!(residual(&read, config) == named);
}
