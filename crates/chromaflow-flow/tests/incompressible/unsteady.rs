//! Vortices that decay (Taylor 1923), on a doubly periodic grid.

use chromaflow::Outcome;
use chromaflow_device::Team;
use chromaflow_flow::config::{Cfl, Time, Unsteady};
use chromaflow_flow::grid::generate::BoxGrid;
use chromaflow_flow::grid::{Grid, IndexMap, Interface};
use chromaflow_flow::incompressible::{Boundary, Config, Solver};
use chromaflow_flow::mesh::periodic::Motion;
use std::f64::consts::TAU;
use std::sync::Arc;

const VISCOSITY: f64 = 0.05;
const END: f64 = 0.8;

fn exact(x: [f64; 3], t: f64) -> Vec<f64> {
    let (x, y) = (x[0], x[1]);
    let f = (-2.0 * VISCOSITY * t).exp();
    let p = -0.25 * f * f * ((2.0 * x).cos() + (2.0 * y).cos());
    // Blown along x, so that convection has errors of its own.
    vec![p, f * x.cos() * y.sin(), -f * x.sin() * y.cos(), 0.0]
}

/// The box of circumference 2 pi along x and y.
fn periodic(cells: usize) -> Grid {
    let mut grid = BoxGrid { cells: [cells, cells, 1], size: [TAU, TAU, 1.0], wave: 0.0 }.grid();
    for axis in 0..2 {
        let window = |high: bool| {
            grid.patches
                .iter()
                .map(|p| p.window)
                .find(|w| w.side.axis == axis && w.side.high == high)
                .unwrap()
        };
        let (a, b) = (window(true), window(false));
        let (mut map, mut translation) = (IndexMap::IDENTITY, [0.0; 3]);
        map.offset[axis] = -(cells as isize);
        translation[axis] = TAU;
        grid.interfaces.push(Interface { a, b, map, motion: Motion::Translation(translation) });
        grid.patches.retain(|p| p.window.side.axis != axis);
    }
    grid
}

/// State at the end.
fn solution(cells: usize, steps: usize) -> Solver {
    let grid = periodic(cells);
    let mut config = Config::default();
    config.fluid.viscosity = VISCOSITY;
    config.fluid.compressibility = 4.0;
    config.boundaries = [("zmin".into(), Boundary::Symmetry), ("zmax".into(), Boundary::Symmetry)].into();
    config.implicit.cfl = Cfl { start: 100.0, min: 1.0, max: 100.0, growth: 1.0, adaptive: false };
    config.time = Time::Unsteady(Unsteady { dt: END / steps as f64, steps, subiterations: 60, orders: 6.0 });
    let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1))).unwrap();
    solver.set_state(|x| exact(x, 0.0));
    let mut most = 0;
    let mut started = 0;
    let outcome = solver.run(|report| {
        if report.orders >= 6.0 {
            most = most.max(report.iteration - started);
            started = report.iteration;
        }
        report.bad.is_none()
    });
    println!("{cells} cells, {steps} steps: {} iterations, at most {most} a step", solver.iteration());
    assert_eq!(outcome, Outcome::IterationLimit);
    assert!((solver.time() - END).abs() < 1e-12);
    solver
}

fn velocity_error(cells: usize, steps: usize) -> f64 {
    let solver = solution(cells, steps);
    let states = solver.state();
    let sum: f64 = states
        .chunks(4)
        .zip(solver.centers())
        .map(|(q, x)| {
            let e = exact(x, END);
            (q[1] - e[1]).powi(2) + (q[2] - e[2]).powi(2)
        })
        .sum();
    (sum / (cells * cells) as f64).sqrt()
}

#[test]
fn vortices_decay_with_second_order() {
    let errors = [velocity_error(12, 4), velocity_error(24, 8)];
    let order = (errors[0] / errors[1]).log2();
    println!("errors {errors:?}, order {order:.2}");
    assert!(order > 1.8, "{errors:?}");
}

#[test]
fn errors_fall_with_the_square_of_the_time_step() {
    let states = [4, 8, 16].map(|steps| solution(12, steps).state());
    let change = |a: &[f64], b: &[f64]| {
        let both = a.chunks(4).zip(b.chunks(4));
        both.map(|(a, b)| (1..4).map(|c| (a[c] - b[c]).powi(2)).sum::<f64>()).sum::<f64>().sqrt()
    };
    let changes = [change(&states[0], &states[1]), change(&states[1], &states[2])];
    let order = (changes[0] / changes[1]).log2();
    println!("changes {changes:?}, order {order:.2}");
    assert!((1.7..2.5).contains(&order), "{changes:?}");
}
