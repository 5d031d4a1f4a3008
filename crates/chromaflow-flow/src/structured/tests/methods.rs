//! Implicit methods against each other.

use super::super::*;
use crate::config::{Boundary, Cfl, Equations, Freestream, NewtonKrylov, Nonlinear, Steady, Time};
use crate::flux::Dissipation;
use crate::grid::Grid;
use crate::grid::generate::{BoxGrid, SmoothChannel};
use chromaflow::Outcome;

const SCALAR: Scheme = Scheme::Scalar(Dissipation::DEFAULT);
const MATRIX: Scheme = Scheme::Matrix(Dissipation::DEFAULT);
const METHODS: [StepMethod; 4] = [
    StepMethod::BeamWarming,
    StepMethod::Diagonal { fourth: true },
    StepMethod::Diagonal { fourth: false },
    StepMethod::Ssor { sweeps: 2, relaxation: 1.0 },
];

fn bump(scheme: Scheme, method: StepMethod) -> StructuredConfig {
    let total = 1.05f64;
    let inlet = Boundary::Inlet {
        total_pressure: total.powf(3.5),
        total_temperature: total,
        direction: [1.0, 0.0, 0.0],
    };
    let sides = [
        ("inlet", inlet),
        ("outlet", Boundary::Outlet { pressure: 1.0 }),
        ("lower", Boundary::SlipWall),
        ("upper", Boundary::SlipWall),
    ];
    StructuredConfig {
        freestream: Freestream { mach: 0.5, ..Freestream::default() },
        scheme,
        boundaries: sides.into_iter().map(|(n, b)| (n.to_owned(), b)).collect(),
        implicit: LineImplicit {
            method,
            cfl: Cfl { start: 2.0, min: 0.01, max: 10.0, growth: 1.1, adaptive: true },
            ..LineImplicit::default()
        },
        time: Time::Steady(Steady { iterations: 3000, orders: 6.0 }),
        ..StructuredConfig::default()
    }
}

/// The steady state belongs to the residual: every method finds the same.
#[test]
fn one_steady_state() {
    for (scheme, methods) in [(SCALAR, &METHODS[..]), (MATRIX, &[METHODS[1], METHODS[3]])] {
        let mut states: Vec<Vec<[f64; 5]>> = Vec::new();
        for &method in methods {
            let grid = SmoothChannel { cells: [24, 8] }.grid().split(0, 0, 13).unwrap();
            let mut solver =
                StructuredSolver::new(grid, bump(scheme, method), Arc::new(Team::new(2))).unwrap();
            let outcome = solver.run(|_| true);
            assert_eq!(outcome, Outcome::Converged, "{method:?} after {}", solver.iteration());
            states.push(solver.state());
        }
        for (state, method) in states.iter().zip(methods) {
            let change = state.as_flattened().iter().zip(states[0].as_flattened());
            let most = change.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(most < 1e-5, "{method:?}: {most:e}");
        }
    }
}

/// Newton-Krylov steps find the steady state of plain ones, each scheme's, across interfaces that turn the axes, in few steps of few
/// directions: the matrix that preconditions them is close to the derivative.
#[test]
fn newton_krylov_steps_find_it_too() {
    let roe = Scheme::Roe { kappa: 1.0 / 3.0, limited: true };
    for scheme in [SCALAR, MATRIX, roe] {
        let grid = || SmoothChannel { cells: [24, 8] }.grid().split(0, 0, 13).unwrap();
        let mut config = bump(scheme, METHODS[0]);
        let team = || Arc::new(Team::new(2));
        let mut plain = StructuredSolver::new(grid(), config.clone(), team()).unwrap();
        assert_eq!(plain.run(|_| true), Outcome::Converged, "{scheme:?}");
        config.time = Time::Steady(Steady { iterations: 40, orders: 10.0 });
        config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov { tolerance: 0.3, directions: 20 });
        config.implicit.cfl = Cfl { start: 5.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true };
        let turned = grid().reorient(1, [1, 0, 2], [true, false, true]);
        let mut newton = StructuredSolver::new(turned, config, team()).unwrap();
        let mut reductions = Vec::new();
        let outcome = newton.run(|step| {
            reductions.extend(step.linear_reduction);
            true
        });
        assert_eq!(outcome, Outcome::Converged, "{scheme:?}");
        assert!(reductions.iter().all(|&left| left <= 0.3), "{scheme:?}: {reductions:?}");
        let drag = [plain.forces(), newton.forces()].map(|f| f.total.cd);
        assert!((drag[0] - drag[1]).abs() < 1e-6, "{scheme:?}: {drag:?}");
    }
}

fn box_config(grid: &Grid, method: StepMethod, scheme: Scheme, equations: Equations) -> StructuredConfig {
    let farfield = |m: &&str| ((*m).to_owned(), Boundary::Farfield);
    StructuredConfig {
        freestream: Freestream {
            mach: 0.5,
            alpha_deg: 20.0,
            beta_deg: -10.0,
            reynolds: 100.0,
            ..Freestream::default()
        },
        equations,
        scheme,
        boundaries: grid.markers().iter().map(farfield).collect(),
        implicit: LineImplicit { method, ..LineImplicit::default() },
        ..StructuredConfig::default()
    }
}

fn wavy_blocks() -> Grid {
    let grid = BoxGrid { cells: [9, 7, 6], size: [2.0, 1.0, 0.8], wave: 0.06 }.grid();
    let grid = grid.split(0, 0, 4).unwrap().split(1, 1, 3).unwrap();
    grid.reorient(1, [1, 2, 0], [true, false, false]).reorient(2, [0, 2, 1], [false, false, true])
}

#[test]
fn a_uniform_flow_stays_uniform() {
    for method in METHODS {
        for equations in [Equations::Euler, Equations::Laminar] {
            let grid = wavy_blocks();
            let config = box_config(&grid, method, SCALAR, equations);
            let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(2))).unwrap();
            let before = solver.state();
            for _ in 0..5 {
                solver.step();
            }
            let state = solver.state();
            let change = state.as_flattened().iter().zip(before.as_flattened());
            let most = change.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            assert!(most < 1e-12, "{method:?}, {equations:?}: {most:e}");
        }
    }
}

/// A smooth state that is no solution.
fn smooth(x: [f64; 3]) -> [f64; 5] {
    let s = (2.0 * x[0] + 0.3).sin() * (1.5 * x[1]).cos() + 0.5 * (3.0 * x[2]).sin();
    let w = [1.0 + 0.1 * s, 0.4 + 0.05 * s, 0.1 * s, -0.2 + 0.1 * (x[0] * x[1]).cos(), 0.7 + 0.07 * s];
    conserved(crate::gas::Gas::AIR, &w)
}

/// The state after a step from a smooth one, half as long as a run's first: beside far fields of another gas no update is to be cut.
fn after_a_step(grid: Grid, mut config: StructuredConfig, threads: usize) -> Vec<[f64; 5]> {
    config.implicit.cfl.start = 1.0;
    let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(threads))).unwrap();
    solver.set_state(smooth);
    let report = solver.step();
    assert!(!report.rejected && report.limited == 0, "{report:?}");
    solver.state()
}

#[test]
fn the_number_of_threads_changes_nothing() {
    for method in METHODS {
        let run = |threads| {
            let grid = wavy_blocks();
            let config = box_config(&grid, method, MATRIX, Equations::Laminar);
            after_a_step(grid, config, threads)
        };
        let one = run(1);
        assert_eq!(one, run(2), "{method:?}");
        assert_eq!(one, run(3), "{method:?}");
    }
}

/// Along a single straight line there is nothing to factor: many sweeps find what the block tridiagonal solve finds, with
/// the same derivatives of the boundaries.
#[test]
fn sweeps_solve_the_lines_system() {
    let line = || BoxGrid { cells: [24, 1, 1], size: [2.0, 0.1, 0.1], wave: 0.0 }.grid();
    for equations in [Equations::Euler, Equations::Laminar] {
        let step = |method| {
            let grid = line();
            let mut config = box_config(&grid, method, SCALAR, equations);
            for side in ["ymin", "ymax", "zmin", "zmax"] {
                config.boundaries.insert(side.to_owned(), Boundary::Symmetry);
            }
            config.implicit.cfl.start = 3.0;
            config.implicit.dissipation = Some(0.5);
            after_a_step(grid, config, 2)
        };
        let exact = step(StepMethod::BeamWarming);
        let swept = step(StepMethod::Ssor { sweeps: 60, relaxation: 1.0 });
        for (a, b) in exact.as_flattened().iter().zip(swept.as_flattened()) {
            assert!((a - b).abs() < 1e-12, "{equations:?}: {a} {b}");
        }
    }
}

/// On a closed line, in a state whose eigenvectors are nearly the same everywhere, the diagonal form with second differences
/// is the block form.
#[test]
fn diagonal_factors_are_block_factors_of_a_uniform_flow() {
    let step = |method| {
        let grid = BoxGrid { cells: [32, 1, 1], size: [1.0, 0.1, 0.1], wave: 0.0 }.grid();
        let grid = grid.periodic("xmin", "xmax").unwrap();
        let mut config = box_config(&grid, method, SCALAR, Equations::Euler);
        for side in ["ymin", "ymax", "zmin", "zmax"] {
            config.boundaries.insert(side.to_owned(), Boundary::Symmetry);
        }
        let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(1))).unwrap();
        let wave = |x: f64| 1e-6 * (std::f64::consts::TAU * x).sin();
        let at = |x: f64| [1.0 + wave(x), 0.5 + wave(x + 0.1), 2.0 * wave(x), -wave(x), 0.7 + wave(2.0 * x)];
        solver.set_state(|x| conserved(crate::gas::Gas::AIR, &at(x[0])));
        let before = solver.state();
        solver.step();
        let pairs = solver.state().into_iter().zip(before);
        pairs.map(|(a, b)| std::array::from_fn(|c| (a[c] - b[c]) * 1e6)).collect::<Vec<[f64; 5]>>()
    };
    let block = step(StepMethod::BeamWarming);
    let diagonal = step(StepMethod::Diagonal { fourth: false });
    assert!(block.as_flattened().iter().any(|v| v.abs() > 0.5), "there is an update");
    for (a, b) in block.as_flattened().iter().zip(diagonal.as_flattened()) {
        assert!((a - b).abs() < 1e-5, "{a} {b}");
    }
}

/// Slow flow is dissipated by the speed of what is carried where steps are Newton's; what is asked for is a Mach number up to 1.
#[test]
fn the_cutoff_follows_the_stream_and_is_checked() {
    let grid = wavy_blocks();
    let plain = box_config(&grid, StepMethod::BeamWarming, SCALAR, Equations::Euler);
    assert_eq!(plain.cutoff_mach(), 1.0);
    let mut newton = plain.clone();
    newton.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    for (mach, cutoff) in [(0.5, 1.0), (0.02, 0.1)] {
        newton.freestream.mach = mach;
        assert!((newton.cutoff_mach() - cutoff).abs() < 1e-15);
    }
    for bad in [0.0, -0.1, 1.5, f64::NAN] {
        newton.cutoff_mach = Some(bad);
        let error =
            StructuredSolver::new(grid.clone(), newton.clone(), Arc::new(Team::new(1))).err().unwrap();
        assert!(error.to_string().contains("cutoff_mach"), "{error}");
    }
}
