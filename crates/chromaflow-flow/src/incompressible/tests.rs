//! The residual of uniform flow, the matrix against derivatives, restarts.

mod options;
mod over_ranks;
mod shear;
mod turbulence;

use super::*;
use crate::bc::Motion;
use crate::config::{Cfl, Time};
use crate::grid::Grid;
use crate::grid::generate::{BoxGrid, FlatPlate};
use chromaflow_device::Team;
use std::sync::Arc;

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a} and {b}");
    }
}

/// The layer along a plate, on a planar grid of two blocks.
pub(super) fn plate_of(time: Time) -> (Grid, Config) {
    let grid = FlatPlate { cells: [6, 12, 24], height: 0.4, growth: 1.3 }.grid().split(0, 0, 11).unwrap();
    let mut config = Config { time, initial: vec![0.0, 1.0], ..Config::default() };
    config.fluid.viscosity = 1e-6;
    config.boundaries = [
        ("inlet", Boundary::Inflow(Given::Same(vec![1.0, 0.0, 0.0]))),
        ("outlet", Boundary::Outflow { pressure: 0.0 }),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::WALL),
        ("top", Boundary::Farfield(vec![0.0, 1.0, 0.0, 0.0])),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    config.implicit.cfl = Cfl { start: 5.0, max: 1e4, ..config.implicit.cfl };
    (grid, config)
}

/// A wavy box of two blocks with all kinds of boundaries that a uniform flow along `velocity` passes.
fn passed(velocity: [f64; 3], scalars: usize) -> (Grid, Config) {
    let grid = BoxGrid { cells: [7, 5, 4], size: [1.0; 3], wave: 0.04 }.grid().split(0, 0, 3).unwrap();
    let mut config = Config::default();
    config.fluid.compressibility = 1.3;
    for m in 0..scalars {
        config.fluid.scalars.push(Scalar {
            name: format!("s{m}"),
            diffusivity: 0.02 * m as f64,
            buoyancy: [0.0, 0.3, -0.2],
            reference: 0.5 + m as f64,
        });
    }
    config.initial = [0.2].into_iter().chain(velocity).collect();
    let scalars: Vec<f64> = config.fluid.scalars.iter().map(|s| s.reference).collect();
    let state: Vec<f64> = config.initial.iter().copied().chain(scalars.iter().copied()).collect();
    let wall = scalars.iter().map(|&s| WallScalar::Value(s)).collect();
    config.boundaries = [
        ("xmin", Boundary::Inflow(Given::Same(state[1..].to_vec()))),
        ("xmax", Boundary::Outflow { pressure: 0.2 }),
        ("ymin", Boundary::Farfield(state.clone())),
        ("ymax", Boundary::Farfield(state)),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Wall { motion: Motion::straight(velocity), scalars: wall }),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    (grid, config)
}

#[test]
fn uniform_flow_stays_uniform() {
    for scalars in [0, 1, 3] {
        let (grid, mut config) = passed([1.0, 0.4, 0.0], scalars);
        config.fluid.viscosity = 0.01;
        let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1))).unwrap();
        let worst = solver.steady_residual().into_iter().fold(0.0, |m: f64, r| m.max(r.abs()));
        assert!(worst < 2e-15, "{worst:e}");
    }
}

/// The matrix without its time step is the derivative of the first-order residual: at a uniform flow, where holding |A|
/// fixed is no approximation, and on an orthogonal grid, where the viscous terms have no more neighbors than the matrix.
#[test]
fn the_matrix_is_the_residuals_derivative() {
    for scalars in [0, 2] {
        let (_, mut config) = passed([1.0, 0.4, 0.0], scalars);
        let grid = BoxGrid { cells: [9, 3, 4], size: [1.0, 0.4, 0.7], wave: 0.0 }.grid();
        let grid = grid.split(0, 0, 3).unwrap().reorient(1, [1, 2, 0], [true, false, true]);
        config.fluid.viscosity = 0.03;
        config.space.second_order = false;
        config.implicit.cfl.start = f64::INFINITY;
        config.implicit.cfl.max = f64::INFINITY;
        let mut solver = Solver::new(&grid, config, Arc::new(Team::new(2))).unwrap();
        let (matrix, _) = solver.linear_system();
        let base = solver.state();
        let n = solver.unknowns();
        let direction: Vec<f64> =
            (0..base.len()).map(|i| ((7 * i * i + 3 * i) % 23) as f64 / 11.0 - 1.0).collect();
        // Walls and inflow continue the pressure over two cells, the matrix from one: leave it as it is at the boundary.
        let inside = |x: [f64; 3]| {
            (0..3).all(|c| {
                let size = [1.0, 0.4, 0.7][c];
                let h = size / [9.0, 3.0, 4.0][c];
                x[c] > 2.0 * h || c == 1 && x[c] > h
            }) && x[2] < 0.7 - 0.36
        };
        let direction: Vec<f64> = direction
            .chunks(n)
            .zip(solver.centers())
            .flat_map(|(d, x)| {
                let keep = if inside(x) { 1.0 } else { 0.0 };
                d.iter().enumerate().map(move |(c, d)| if c == 0 { d * keep } else { *d }).collect::<Vec<_>>()
            })
            .collect();
        let mut product = vec![0.0; base.len()];
        matrix.multiply(&Team::new(1), &direction, &mut product);
        let mut at = |h: f64| {
            let moved: Vec<f64> = base.iter().zip(&direction).map(|(b, d)| b + h * d).collect();
            solver.host.set_rows(&moved);
            solver.steady_residual()
        };
        let (up, down) = (at(1e-5), at(-1e-5));
        for i in 0..product.len() {
            let difference = (up[i] - down[i]) / 2e-5;
            assert!(
                (product[i] - difference).abs() < 2e-7,
                "{scalars} scalars, {i}: {} {difference}",
                product[i]
            );
        }
    }
}

#[test]
fn wrong_cases_are_refused() {
    let (grid, config) = passed([1.0, 0.0, 0.0], 1);
    let team = || Arc::new(Team::new(1));
    let message = |change: &dyn Fn(&mut Config)| {
        let mut config = config.clone();
        change(&mut config);
        Solver::new(&grid, config, team()).err().expect("refused").to_string()
    };
    let missing = message(&|c| {
        c.boundaries.remove("ymin");
    });
    assert!(missing.contains("`ymin`"), "{missing}");
    let unknown = message(&|c| {
        c.boundaries.insert("wing".into(), Boundary::Symmetry);
    });
    assert!(unknown.contains("`wing`") && unknown.contains("xmin"), "{unknown}");
    let few = message(&|c| {
        c.boundaries.insert("xmin".into(), Boundary::Inflow(Given::Same(vec![1.0, 0.0, 0.0])));
    });
    assert!(few.contains("expected 4"), "{few}");
    let mut blanked = grid.clone();
    blanked.blocks[1].blank = vec![1; blanked.blocks[1].nodes.len()];
    blanked.blocks[1].blank[7] = 0;
    let refused = Solver::new(&blanked, config.clone(), team()).err().expect("refused").to_string();
    assert!(refused.contains("block 1") && refused.contains("IBLANK is 0"), "{refused}");
    assert!(message(&|c| c.fluid.viscosity = -1.0).contains("viscosity"));
    assert!(message(&|c| c.fluid.compressibility = 0.0).contains("compressibility"));
}

/// The matrix in its stencils, with what couples blocks apart, is the matrix as one.
#[test]
fn couplings_of_blocks_are_part_of_the_system() {
    let grid = BoxGrid { cells: [2, 5, 1], size: [1.0; 3], wave: 0.0 }.grid();
    // Two cells wide along x and one along z, periodic along both: neighbors that come twice, and the cell itself.
    let grid = grid.periodic("xmin", "xmax").unwrap().periodic("zmin", "zmax").unwrap();
    let grid = grid.split(0, 1, 2).unwrap().reorient(1, [1, 0, 2], [true, false, false]);
    let mut config = Config::default();
    config.fluid.viscosity = 0.1;
    config.fluid.scalars.push(Scalar { diffusivity: 0.2, ..Scalar::default() });
    config.boundaries = ["ymin", "ymax"].map(|name| (name.to_owned(), Boundary::WALL)).into();
    let mut solver = Solver::new(&grid, config, Arc::new(Team::new(2))).unwrap();
    solver.set_state(|x| vec![x[0], x[1], (7.0 * x[0]).sin(), x[2], x[0] * x[1]]);
    let (matrix, b) = solver.linear_system();
    let x: Vec<f64> = (0..b.len()).map(|i| ((7 * i * i + 3 * i) % 23) as f64 / 11.0 - 1.0).collect();
    let mut whole = vec![0.0; b.len()];
    matrix.residual(&Team::new(1), &b, &x, &mut whole);
    let mut parts = Vec::new();
    let mut rest = &x[..];
    for cells in [4, 6] {
        let (head, tail) = rest.split_at(5 * cells);
        parts.push(head.to_vec());
        rest = tail;
    }
    let mut residual = parts.clone();
    solver.host.system.residual(&Team::new(1), &solver.host.space, &b, &parts, &mut residual);
    close(&residual.concat(), &whole, 1e-13);
}

/// A run that was interrupted and one that was not are the same, also in the middle of a physical step; the number of
/// threads changes nothing.
#[test]
fn restarts_and_threads_change_nothing() {
    let make = |threads: usize| {
        let (grid, mut config) = passed([1.0, 0.4, 0.0], 1);
        config.fluid.viscosity = 0.01;
        config.time =
            Time::Unsteady(crate::config::Unsteady { dt: 0.1, steps: 4, subiterations: 3, orders: 9.0 });
        let mut solver = Solver::new(&grid, config, Arc::new(Team::new(threads))).unwrap();
        solver.set_state(|x| vec![0.2, 1.0, 0.4 + 0.3 * x[0] * x[2], 0.1 * x[1], x[0]]);
        solver
    };
    let (mut one, mut two) = (make(1), make(3));
    for _ in 0..9 {
        one.step();
    }
    for _ in 0..5 {
        two.step();
    }
    let restart = two.restart();
    let mut three = make(2);
    three.resume(&restart).unwrap();
    for _ in 0..4 {
        three.step();
    }
    assert_eq!(one.state(), three.state());
    assert_eq!(one.time(), three.time());
    assert!(one.time() > 0.0);
}

/// A state that is set is the one that rejected steps return to, so a bad one ends the run.
#[test]
fn a_state_that_is_none_ends_the_run() {
    let (grid, config) = passed([1.0, 0.4, 0.0], 0);
    let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1))).unwrap();
    solver.set_state(|x| vec![0.0, if x[1] < 0.2 { f64::NAN } else { 0.0 }, 0.0, 0.0]);
    let mut bad = None;
    let outcome = solver.run(|r| {
        bad = r.bad.clone().or(bad.take());
        true
    });
    assert!(matches!(outcome, chromaflow::Outcome::Diverged { .. }), "{outcome:?}");
    assert!(bad.is_some_and(|bad| bad.at[1] < 0.4));
}
