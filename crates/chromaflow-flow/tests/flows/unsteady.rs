//! Second-order backward differences: order in time, restarts.

use chromaflow::Outcome;
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{Boundary, FlowConfig, Limiter, Time, Unsteady};
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::mesh::generate::{Cells, Plane, box_mesh};
use chromaflow_flow::output::Restart;
use std::sync::Arc;

/// A gas that expands evenly along x, u = x / (1 + t): every particle keeps its velocity, density falls as 1/(1 + t),
/// pressure as its power gamma. Linear in space, so that errors are those of the time steps.
fn expansion(x: [f64; 3], t: f64) -> [f64; 5] {
    let s = 1.0 + t;
    [1.0 / s, x[0] / s, 0.0, 0.0, s.powf(-1.4) / 1.4]
}

/// The largest error of the pressure at t = 0.8.
fn error(steps: usize) -> f64 {
    let mesh = Plane { cells: [8, 2], periodic: false, triangles: false }.mesh(
        |i, j| [0.2 + i as f64 / 32.0, j as f64 / 32.0],
        |side, _| ["xmin", "xmax", "ymin", "ymax"][side],
    );
    let sides = ["xmin", "xmax", "ymin", "ymax"];
    let mut config = FlowConfig::default();
    config.space.limiter = Limiter::None;
    // The ends are held.
    config.boundaries = sides.map(|side| (side.to_owned(), Boundary::SlipWall)).into();
    let dt = 0.8 / steps as f64;
    config.time = Time::Unsteady(Unsteady { dt, steps, subiterations: 60, orders: 8.0 });
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
    solver.set_state(|x| expansion(x, 0.0));
    for step in 1..=steps {
        let t = step as f64 * dt;
        solver.hold_state(&["xmin", "xmax"], |x| expansion(x, t)).unwrap();
        while solver.time() < t - 0.5 * dt {
            let report = solver.step();
            assert!(report.bad.is_none());
        }
    }
    let pressure = solver.fields().into_iter().find(|f| f.name == "pressure").unwrap().values;
    mesh.nodes.iter().zip(pressure).map(|(&x, p)| (p - expansion(x, 0.8)[4]).abs()).fold(0.0, f64::max)
}

#[test]
fn errors_fall_with_the_square_of_the_time_step() {
    let errors = [16, 32, 64].map(error);
    let orders = [(errors[0] / errors[1]).log2(), (errors[1] / errors[2]).log2()];
    println!("errors {errors:?}, orders {orders:?}");
    assert!(orders.iter().all(|order| (1.9..2.2).contains(order)), "{errors:?} {orders:?}");
}

fn disturbed(mesh: &Mesh, threads: usize) -> FlowSolver {
    let mut config = FlowConfig::default();
    for marker in &mesh.markers {
        config.boundaries.insert(marker.name.clone(), Boundary::Farfield);
    }
    config.time = Time::Unsteady(Unsteady { dt: 0.1, steps: 6, subiterations: 8, orders: 3.0 });
    let mut solver = FlowSolver::new(mesh, config, Arc::new(Team::new(threads))).unwrap();
    solver.set_state(|x| {
        let s = (-30.0 * x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>()).exp();
        [1.0 + 0.1 * s, 0.4, 0.1 * s, 0.0, (1.0 + 0.2 * s) / 1.4]
    });
    solver
}

#[test]
fn an_interrupted_run_is_the_run() {
    let mesh = box_mesh([4; 3], [1.0; 3], Cells::Mixed, 0.3);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("restart");
    let mut whole = disturbed(&mesh, 1);
    // Interrupted within a time step, and then at the end of one.
    let mut first = disturbed(&mesh, 1);
    let mut iterations = 0;
    while first.time() < 0.25 || iterations % 7 != 3 {
        first.step();
        iterations += 1;
    }
    first.restart().write(&path, &mesh).unwrap();
    let mut second = disturbed(&mesh, 3);
    second.resume(&Restart::read(&path, &mesh).unwrap()).unwrap();
    let reached = second.time();
    assert!(reached > 0.25, "{reached}");
    while second.time() == reached {
        second.step();
    }
    second.restart().write(&path, &mesh).unwrap();
    let mut third = disturbed(&mesh, 2);
    third.resume(&Restart::read(&path, &mesh).unwrap()).unwrap();
    assert_eq!(whole.run(|_| true), Outcome::IterationLimit);
    assert_eq!(third.run(|_| true), Outcome::IterationLimit);
    assert_eq!(whole.iteration(), third.iteration());
    for (a, b) in whole.restart().fields.iter().zip(&third.restart().fields) {
        assert_eq!(a.name, b.name);
        let off = a.values.iter().zip(&b.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 1e-14, "{} {off:e}", a.name);
    }
}
