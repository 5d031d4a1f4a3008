//! Small airfoil flows: convergence with every limiter, forces that stay what they are.

use chromaflow::Outcome;
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{Boundary, FlowConfig, Limiter, Steady, Time};
use chromaflow_flow::mesh::generate::Airfoil;
use std::sync::Arc;

struct Run {
    outcome: Outcome,
    first: f64,
    orders: f64,
    iterations: usize,
    cl: f64,
    cd: f64,
}

fn run(mach: f64, alpha: f64, limiter: Limiter, iterations: usize) -> Run {
    let mesh = Airfoil { cells: [64, 20], radius: 15.0, growth: 1.35, triangles: false }.mesh();
    let mut config = FlowConfig::default();
    config.freestream.mach = mach;
    config.freestream.alpha_deg = alpha;
    config.space.limiter = limiter;
    config.boundaries.insert("airfoil".to_owned(), Boundary::SlipWall);
    config.boundaries.insert("farfield".to_owned(), Boundary::Farfield);
    config.time = Time::Steady(Steady { iterations, orders: 10.0 });
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
    let (mut first, mut orders, mut total) = (None, 0.0, 0);
    let outcome = solver.run(|report| {
        assert!(report.bad.is_none(), "{limiter:?} {:?}", report.bad);
        first.get_or_insert(report.residual[0]);
        (orders, total) = (report.orders, report.iteration);
        true
    });
    let forces = solver.forces().total;
    let run = Run { outcome, first: first.unwrap(), orders, iterations: total, cl: forces.cl, cd: forces.cd };
    println!(
        "M {mach} {limiter:?}: {:?} in {total}, {orders:.2} orders from {:.9e}, CL {:.9e} CD {:.9e}",
        run.outcome, run.first, run.cl, run.cd
    );
    run
}

#[test]
fn transonic_with_every_limiter() {
    let smooth = run(0.8, 1.25, Limiter::VanAlbada, 600);
    assert_eq!(smooth.outcome, Outcome::Converged);
    // Those that are not differentiable ring, but stay bounded and give the same flow.
    for limiter in [Limiter::Venkatakrishnan, Limiter::Barth] {
        let other = run(0.8, 1.25, limiter, 150);
        assert!(!matches!(other.outcome, Outcome::Diverged { .. }));
        assert!(other.orders > 1.0, "{limiter:?} {}", other.orders);
        assert!((other.cl / smooth.cl - 1.0).abs() < 0.1, "{limiter:?}: {} {}", other.cl, smooth.cl);
    }
}

#[test]
fn subsonic_forces_stay_what_they_are() {
    let run = run(0.5, 2.0, Limiter::VanAlbada, 600);
    // The limiter makes most of the drag on so coarse a mesh.
    assert_eq!(run.outcome, Outcome::Converged);
    for (name, found, stored) in [
        ("first residual", run.first, 6.747464699e-2),
        ("CL", run.cl, 2.484171524e-1),
        ("CD", run.cd, 5.294431799e-3),
    ] {
        assert!(
            (found / stored - 1.0).abs() < 1e-6,
            "{name} {found:.9e}, drag {:.9e}, {} iterations",
            run.cd,
            run.iterations
        );
    }
    assert!(run.iterations < 300, "{}", run.iterations);
}
