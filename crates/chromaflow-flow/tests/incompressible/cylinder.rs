//! The cylinder in a channel of Schaefer & Turek (1996), case 2D-1; flow between cylinders that turn.

use super::converged;
use chromaflow_device::Team;
use chromaflow_flow::bc::Motion;
use chromaflow_flow::grid::generate::{ChannelCylinder, Cylinder};
use chromaflow_flow::incompressible::{Boundary, Config, Given, Solver};
use std::sync::Arc;

/// Drag, lift and the pressure between front and rear against finer computations' values.
#[test]
fn channel_cylinder_at_reynolds_20() {
    let (around, away) = (64, 24);
    let grid = ChannelCylinder { cells: [around, away, 40], growth: 1.05 }.grid();
    let mut config = Config::default();
    config.fluid.viscosity = 0.001;
    config.fluid.compressibility = 0.1;
    let parabola = |x: [f64; 3]| 0.3 * 4.0 * x[1] * (0.41 - x[1]) / (0.41 * 0.41);
    config.boundaries = [
        ("cylinder", Boundary::WALL),
        ("wall", Boundary::WALL),
        ("inlet", Boundary::Inflow(Given::By(Arc::new(move |x, _| vec![parabola(x), 0.0, 0.0])))),
        ("outlet", Boundary::Outflow { pressure: 0.0 }),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    config.reference.velocity = 0.2;
    config.reference.area = 0.1;
    config.reference.markers = vec!["cylinder".to_owned()];
    let mut solver = converged(&grid, config, 6.0);
    let forces = solver.forces();
    assert_eq!(forces.markers.len(), 2, "walls of both blocks are one marker");
    let pressure = solver.fields().remove(0);
    // Points of the ring, i fastest, begin at the corner of inlet and floor and go round clockwise.
    let [front, rear] = [around / 8, 5 * around / 8].map(|i| {
        let node = grid.blocks[0].nodes[i];
        assert!((node[1] - 0.2).abs() < 1e-12, "{node:?}");
        pressure.values[i]
    });
    println!("CD {:.5}, CL {:.6}, dp {:.6}", forces.total.cd, forces.total.cl, front - rear);
    assert!((forces.total.cd / 5.57953523384 - 1.0).abs() < 0.006, "{}", forces.total.cd);
    assert!((forces.total.cl / 0.010618948146 - 1.0).abs() < 0.05, "{}", forces.total.cl);
    assert!(((front - rear) / 0.11752016697 - 1.0).abs() < 0.02, "{}", front - rear);
}

/// The inner cylinder turns twice a second, the outer one the other way: u = A r + B / r around. A wall that would move through the fluid is refused.
#[test]
fn cylinders_turn_the_flow_between_them() {
    let grid = Cylinder { cells: [48, 20], radius: 1.0, growth: 1.0, triangles: false }.grid();
    let turning = |rate: f64| Boundary::Wall {
        motion: Motion { rotation: [0.0, 0.0, rate], ..Motion::NONE },
        scalars: vec![],
    };
    let mut config = Config::default();
    config.fluid.viscosity = 0.1;
    config.boundaries = [("cylinder".into(), turning(2.0)), ("farfield".into(), turning(-0.5))].into();
    let solver = converged(&grid, config.clone(), 8.0);
    let b = 2.5 * 0.25 / 0.75;
    let a = 2.0 - b / 0.25;
    let (n, mut worst) = (solver.unknowns(), 0.0_f64);
    for (x, q) in solver.centers().iter().zip(solver.state().chunks(n)) {
        let r = x[0].hypot(x[1]);
        let [around, away] = [(x[0] * q[2] - x[1] * q[1]) / r, (x[0] * q[1] + x[1] * q[2]) / r];
        worst = worst.max((around - a * r - b / r).abs()).max(away.abs());
    }
    assert!(worst < 0.01, "{worst}");
    let across = Boundary::Wall { motion: Motion::straight([0.3, 0.0, 0.0]), scalars: vec![] };
    config.boundaries.insert("farfield".into(), across);
    let refused = Solver::new(&grid, config, Arc::new(Team::new(1))).err().unwrap().to_string();
    assert!(refused.contains("`farfield` moves through itself"), "{refused}");
}
