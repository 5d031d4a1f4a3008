//! Fluxes and the matrix against derivatives.

mod over_ranks;

use super::*;
use crate::config::Time;
use crate::grid::Grid;
use crate::grid::generate::BoxGrid;
use crate::real::{Dual, Real};
use chromaflow_device::Team;
use std::sync::Arc;

fn samples() -> Vec<([f64; 4], [f64; 4], [f64; 3])> {
    let mut state = 7_u64;
    let mut unit = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    };
    (0..50)
        .map(|_| {
            (
                std::array::from_fn(|_| unit()),
                std::array::from_fn(|_| unit()),
                std::array::from_fn(|_| unit()),
            )
        })
        .collect()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance, "{i}: {a} and {b}");
    }
}

/// A matrix (column-major 4 x 4) times a vector.
fn times(a: &[f64; 16], x: &[f64; 4]) -> [f64; 4] {
    std::array::from_fn(|r| (0..4).map(|c| a[4 * c + r] * x[c]).sum())
}

#[test]
fn the_flux_jacobian_is_the_duals() {
    for (q, _, n) in samples() {
        let f = flux_incompressible(Dual::c(1.7), &Dual::<f64, 4>::variables(&q, 0), &n.map(Dual::c));
        let exact: Vec<f64> = (0..16).map(|k| f[k % 4].d[k / 4]).collect();
        close(&flux_incompressible_jacobian(1.7, &q, &n), &exact, 1e-15);
    }
}

/// The mean is Roe's average; |A| has |A| |A| = A A; waves from one side only are that side's flux.
#[test]
fn roes_matrix_has_its_properties() {
    let beta = 1.7;
    for (ql, qr, n) in samples() {
        let mean: [f64; 4] = std::array::from_fn(|c| 0.5 * (ql[c] + qr[c]));
        let dq: [f64; 4] = std::array::from_fn(|c| qr[c] - ql[c]);
        let a = flux_incompressible_jacobian(beta, &mean, &n);
        let (fl, fr) = (flux_incompressible(beta, &ql, &n), flux_incompressible(beta, &qr, &n));
        let jump: [f64; 4] = std::array::from_fn(|c| fr[c] - fl[c]);
        close(&times(&a, &dq), &jump, 1e-14);
        let roe = flux_incompressible_roe(beta, &ql, &qr, &n);
        let (left, right) = flux_incompressible_roe_jacobians(beta, &mean, &mean, &n);
        let size: [f64; 16] = std::array::from_fn(|k| left[k] - right[k]);
        let damped = times(&size, &dq);
        let expected: [f64; 4] = std::array::from_fn(|c| 0.5 * (fl[c] + fr[c] - damped[c]));
        close(&roe, &expected, 1e-14);
        close(&times(&size, &damped), &times(&a, &times(&a, &dq)), 1e-13);
        // Conservation: the same face seen from the other side.
        let other = flux_incompressible_roe(beta, &qr, &ql, &n.map(|c| -c));
        close(&roe, &other.map(|f| -f), 1e-15);
    }
}

/// Central differences leave a parabola's third difference out; without a bound on |V| their dissipation is Roe's.
#[test]
fn the_central_flux_is_roes_with_another_weight() {
    let beta = 1.7;
    for (q, d, n) in samples() {
        let at = |s: f64| -> [f64; 4] { std::array::from_fn(|c| q[c] + d[c] * s * s * s) };
        let (before, left, right, after) = (at(-1.5), at(-0.5), at(0.5), at(1.5));
        let central = flux_incompressible_central(beta, &before, &left, &right, &after, &n, 1.0 / 12.0, 0.0);
        let sides = |a: &[f64; 4], b: &[f64; 4], c: &[f64; 4]| -> [f64; 4] {
            std::array::from_fn(|i| b[i] + (c[i] - b[i]) / 3.0 + (b[i] - a[i]) / 6.0)
        };
        let (ql, qr) = (sides(&before, &left, &right), sides(&after, &right, &left));
        let mean: [f64; 4] = std::array::from_fn(|c| 0.5 * (left[c] + right[c]));
        let (a, b) = flux_incompressible_roe_jacobians(beta, &mean, &mean, &n);
        let size: [f64; 16] = std::array::from_fn(|k| a[k] - b[k]);
        let jump: [f64; 4] = std::array::from_fn(|c| qr[c] - ql[c]);
        let (plain, damped) = (flux_incompressible(beta, &mean, &n), times(&size, &jump));
        let expected: [f64; 4] = std::array::from_fn(|c| plain[c] - 0.5 * damped[c]);
        close(&central, &expected, 1e-13);
    }
}

/// With |A| held fixed the Jacobians are exact where the two states agree.
#[test]
fn roe_jacobians_at_equal_states_are_the_duals() {
    for (q, _, n) in samples() {
        let (left, right) = flux_incompressible_roe_jacobians(1.7, &q, &q, &n);
        let (beta, n) = (Dual::c(1.7), n.map(Dual::c));
        let f = flux_incompressible_roe(
            beta,
            &Dual::<f64, 8>::variables(&q, 0),
            &Dual::<f64, 8>::variables(&q, 4),
            &n,
        );
        let exact = |first: usize| -> Vec<f64> { (0..16).map(|k| f[k % 4].d[first + k / 4]).collect() };
        close(&left, &exact(0), 1e-14);
        close(&right, &exact(4), 1e-14);
    }
}

#[test]
fn derivatives_along_unit_vectors_are_columns() {
    for (ql, qr, n) in samples() {
        let (left, right) = flux_incompressible_roe_jacobians(1.7, &ql, &qr, &n);
        for c in 0..4 {
            let unit = std::array::from_fn(|i| if i == c { 1.0 } else { 0.0 });
            let (l, r) = flux_incompressible_roe_derivatives(1.7, &ql, &qr, &n, &unit);
            close(&l, &left[4 * c..4 * c + 4], 1e-15);
            close(&r, &right[4 * c..4 * c + 4], 1e-15);
        }
    }
}

#[test]
fn ghost_jacobians_are_the_duals() {
    let kinds = [GhostKind::Velocity, GhostKind::Pressure, GhostKind::Mirror, GhostKind::Far];
    for (q, given, n) in samples() {
        for kind in kinds {
            // The far field's waves are held fixed: exact where both states agree.
            let given = if kind == GhostKind::Far { q } else { given };
            let x = Dual::<f64, 4>::variables(&q, 0);
            let ghost = ghost_incompressible(
                kind,
                Dual::c(1.7),
                &x,
                // The next cell's pressure moves with the cell's.
                x[0] + Dual::c(0.3),
                &given.map(Dual::c),
                &n.map(Dual::c),
            );
            let exact: Vec<f64> = (0..16).map(|k| ghost[k % 4].d[k / 4]).collect();
            close(&ghost_incompressible_jacobian(kind, 1.7, &q, &given, &n), &exact, 1e-14);
        }
    }
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
        ("zmax", Boundary::Wall { velocity, scalars: wall }),
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
