//! Newton-Krylov steps: the same solutions as by defect correction in a part of the steps, and solutions where that has none.

use chromaflow::Outcome;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{
    Boundary, Equations, FlowConfig, Limiter, NewtonKrylov, Nonlinear, ScalarConfig, Steady, Time,
};
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::mesh::generate::{Airfoil, Plane};
use std::sync::Arc;

fn side(side: usize, _: usize) -> &'static str {
    ["x0", "x1", "y0", "y1"][side]
}

/// Growing CFL numbers, as the command takes them for such steps.
fn newton(config: &mut FlowConfig, options: NewtonKrylov) {
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(options);
    (config.implicit.sweeps, config.implicit.cfl.growth, config.implicit.cfl.max) = (6, 2.0, 1e6);
}

/// The converged solver, its iterations, and the residuals of density.
fn solve(mesh: &Mesh, config: &FlowConfig, threads: usize) -> (FlowSolver, Vec<f64>) {
    let mut solver = FlowSolver::new(mesh, config.clone(), Arc::new(Team::new(threads))).unwrap();
    let mut history = Vec::new();
    let outcome = solver.run(|report| {
        history.push(report.residual[0]);
        true
    });
    let end = history.last().unwrap() / history[0];
    assert_eq!(outcome, Outcome::Converged, "{end:e} in {}", history.len());
    (solver, history)
}

#[test]
fn an_airfoil_needs_a_third_of_the_steps_and_has_the_same_forces() {
    let mesh = Airfoil { cells: [64, 20], radius: 15.0, growth: 1.35, triangles: false }.mesh();
    let mut config = FlowConfig::default();
    config.freestream.mach = 0.5;
    config.freestream.alpha_deg = 2.0;
    config.boundaries.insert("airfoil".to_owned(), Boundary::SlipWall);
    config.boundaries.insert("farfield".to_owned(), Boundary::Farfield);
    config.time = Time::Steady(Steady { iterations: 400, orders: 10.0 });
    let (by_correction, slow) = solve(&mesh, &config, 1);
    newton(&mut config, NewtonKrylov::default());
    let (by_newton, fast) = solve(&mesh, &config, 1);
    assert!(3 * fast.len() <= slow.len(), "{} and {} steps", fast.len(), slow.len());
    let forces = [&by_correction, &by_newton].map(|solver| solver.forces().total);
    assert!((forces[0].cl - forces[1].cl).abs() < 1e-8 && (forces[0].cd - forces[1].cd).abs() < 1e-8);
    assert_eq!(solve(&mesh, &config, 3).1, fast, "threads change nothing");
}

/// Parallelograms sheared by four, a wall below: the thin-layer matrix is too far from the derivative for its own steps.
#[test]
fn skewed_viscous_cells_converge() {
    let point = |i, j| [(i + 4 * j) as f64 / 24.0, j as f64 / 24.0];
    let mesh = Plane { cells: [24, 24], periodic: false, triangles: false }.mesh(point, side);
    let mut config = FlowConfig { equations: Equations::Laminar, ..FlowConfig::default() };
    (config.freestream.mach, config.freestream.reynolds) = (0.3, 5.0);
    for name in ["x0", "x1", "y1"] {
        config.boundaries.insert(name.to_owned(), Boundary::Farfield);
    }
    config.boundaries.insert("y0".to_owned(), Boundary::NoSlipAdiabatic);
    config.time = Time::Steady(Steady { iterations: 100, orders: 10.0 });
    newton(&mut config, NewtonKrylov::default());
    let (_, history) = solve(&mesh, &config, 2);
    assert!(history.len() < 80, "{}", history.len());
}

/// With its linear systems solved well, the end of the run is Newton's: orders double. And what it is preconditioned with, and a
/// scalar beside the flow, do not change where it ends.
#[test]
fn orders_double_at_the_end() {
    let point = |i, j| {
        let [x, y] = [i as f64 / 12.0, j as f64 / 12.0];
        [x, y + 0.1 * (1.0 - y) * (3.0 * x).sin()]
    };
    let mesh = Plane { cells: [12, 12], periodic: false, triangles: true }.mesh(point, side);
    let mut config = FlowConfig { equations: Equations::Laminar, ..FlowConfig::default() };
    (config.freestream.mach, config.freestream.reynolds) = (0.4, 100.0);
    config.space.limiter = Limiter::None;
    for (name, boundary) in [
        ("x0", Boundary::Farfield),
        ("x1", Boundary::Farfield),
        ("y0", Boundary::NoSlipIsothermal { temperature: 1.05 }),
        ("y1", Boundary::Farfield),
    ] {
        config.boundaries.insert(name.to_owned(), boundary);
    }
    config.scalar = Some(ScalarConfig { values: [("y0".to_owned(), 1.0)].into(), ..ScalarConfig::default() });
    config.time = Time::Steady(Steady { iterations: 200, orders: 10.0 });
    let (plain, _) = solve(&mesh, &config, 2);
    let mut ends = Vec::new();
    for preconditioner in
        [PreconditionerKind::Multicolor, PreconditionerKind::Lines, PreconditionerKind::Ilu(Fill::Level(0))]
    {
        config.implicit.preconditioner = preconditioner;
        config.implicit.method =
            if preconditioner.is_relaxation() { Method::Richardson } else { Method::Gmres };
        newton(&mut config, NewtonKrylov { tolerance: 1e-4, directions: 100 });
        config.implicit.cfl.max = 1e9;
        let (solver, history) = solve(&mesh, &config, 2);
        for (a, b) in plain.fields().iter().zip(&solver.fields()) {
            let off = a.values.iter().zip(&b.values).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(off < 1e-7, "{}: {off:e}", a.name);
        }
        ends.push(history.windows(2).map(|r| (r[0] / r[1]).log10()).fold(0.0, f64::max));
    }
    assert!(ends.iter().all(|&orders| orders > 2.0), "orders in the best step: {ends:?}");
}
