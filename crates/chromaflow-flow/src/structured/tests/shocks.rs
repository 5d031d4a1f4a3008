//! Shocks on grids: jumps of pressure around cells, what single cells take of the CFL number.

use super::*;
use crate::config::{Steady, Time};
use crate::flux::pressure_jump;
use crate::gas::Gas;
use crate::output::Restart;
use chromaflow::Outcome;
use flows::{by_newton, front_of_a_cylinder, steady, supersonic_sides};

/// Steady waves with jumps of pressure of a fifth to fifty between neighbors.
fn jumping(x: [f64; 3]) -> [f64; 5] {
    let p = (4.0 * (3.0 * x[0]).sin() * (5.0 * x[1] + 2.0 * x[2]).cos()).exp() / 1.4;
    conserved(Gas::AIR, &[1.0 + 0.3 * x[0], 0.4, -0.2, 0.1, p])
}

/// The sums by their places, those of one block beside those of many, which see each other across sides in any orientation.
#[test]
fn jumps_are_those_of_the_neighbors() {
    let by_place = |grid: Grid| {
        let config = config(&grid, SCHEMES[2], Equations::Euler);
        let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
        solver.set_state(jumping);
        let rates = solver.rates();
        let cells = solver.cells();
        let host = solver.synced();
        let of = |block: &BlockState| block.cells.places().map(|at| block.jumps[at]).collect::<Vec<_>>();
        let jumps: Vec<f64> = host.blocks.iter().flat_map(of).collect();
        let mut all: Vec<_> = cells
            .iter()
            .zip(jumps.into_iter().zip(rates))
            .map(|((x, _), found)| (x.map(|v| (v * 1e8).round() as i64), found))
            .collect();
        all.sort_by_key(|(x, _)| *x);
        all
    };
    let (one, many) = (by_place(wavy([9, 7, 6])), by_place(blocks(wavy([9, 7, 6]))));
    let largest = one.iter().fold(0.0_f64, |m, (_, (_, r))| m.max(r[4].abs()));
    for ((x, (jump, rate)), (y, (of_many, of_rates))) in one.iter().zip(&many) {
        assert!(x == y && (jump - of_many).abs() < 1e-13, "{x:?}: {jump} {of_many}");
        assert!((0..5).all(|c| (rate[c] - of_rates[c]).abs() < 1e-12 * largest), "{x:?}");
    }
    // Of a cell in the midst of one block, by hand.
    let grid = wavy([9, 7, 6]);
    let config = config(&grid, SCHEMES[2], Equations::Euler);
    let mut solver = StructuredSolver::new(grid, config, team(1)).unwrap();
    solver.set_state(jumping);
    solver.rates();
    let block = &solver.synced().blocks[0];
    let at = block.cells.inside([4, 3, 2]);
    let p = |at: usize| block.state(at)[4];
    let by_hand =
        block.cells.stride.iter().map(|s| pressure_jump(p(at), p(at - s)) + pressure_jump(p(at), p(at + s)));
    let by_hand: f64 = by_hand.sum();
    assert!(by_hand > 1e-3 && (block.jumps[at] / by_hand - 1.0).abs() < 1e-14, "{by_hand}");
}

/// Cells whose updates are cut take less of the CFL number, and their share is in restarts.
#[test]
fn cells_that_are_cut_wait() {
    let (grid, config) = front_of_a_cylinder();
    let make = || StructuredSolver::new(grid.clone(), by_newton(config.clone()), team(1)).unwrap();
    let (mut one, mut two) = (make(), make());
    let mut cut = 0;
    for _ in 0..4 {
        cut = one.step().limited;
    }
    let shares = one.synced().cfl_shares();
    assert_eq!(shares.len(), 24 * 24);
    assert!(cut > 0 && shares.iter().filter(|share| **share < 1.0).count() >= cut, "{cut}");
    assert!(shares.iter().all(|share| *share > 0.0 && *share <= 1.0));
    let steps = |system: &mut StructuredSystem, cfl: f64| {
        residual::time_steps(&team(1), &system.physics, cfl, LocalStep::Mean, &mut system.blocks[0]);
        system.blocks[0].dt.clone()
    };
    let taken = steps(one.host_to_set(), 3.0);
    one.host_to_set().set_cfl_shares(&vec![1.0; shares.len()]);
    let whole = steps(one.host_to_set(), 3.0);
    assert!((0..shares.len()).all(|i| (taken[i] - shares[i] * whole[i]).abs() < 1e-15));
    one.host_to_set().set_cfl_shares(&shares);

    let mut restart = one.restart();
    two.resume(&restart).unwrap();
    assert_eq!(two.synced().cfl_shares(), shares);
    let (a, b) = (one.step(), two.step());
    assert!((a.residual[0] / b.residual[0] - 1.0).abs() < 1e-12 && a.cfl == b.cfl);
    let field = restart.fields.iter_mut().find(|field| field.name == "cfl_share").unwrap();
    field.values[7] = 1.5;
    let error = two.resume(&restart).unwrap_err().to_string();
    assert!(error.contains("cfl_share") && error.contains("1.5 at cell 7"), "{error}");
    restart.fields.retain(|field| field.name != "cfl_share");
    two.resume(&restart).unwrap();
    assert!(two.synced().cfl_shares().iter().all(|share| *share == 1.0), "older restarts");
}

/// Around the upper half of a cylinder, its near wake included, at Mach 3: behind the shoulder the flow expands into near vacuum, and comes to rest, with Mach
/// numbers that expansions have.
#[test]
fn near_vacuum_behind_shoulders_comes_to_rest() {
    let mut grid = BoxGrid { cells: [32, 24, 1], size: [1.0, 1.0, 0.1], wave: 0.0 }.grid();
    for x in &mut grid.blocks[0].nodes {
        let (angle, r) =
            (std::f64::consts::PI * (1.0 - x[0]), 0.5 + 4.5 * x[1].powi(2).mul_add(0.8, 0.2 * x[1]));
        (x[0], x[1]) = (r * angle.cos(), r * angle.sin());
    }
    let mut sides = supersonic_sides(Boundary::Symmetry, Boundary::SlipWall);
    sides[1].1 = Boundary::Symmetry;
    for scheme in [SCHEMES[0], SCHEMES[1]] {
        let config = by_newton(steady(3.0, scheme, 1e6, 10.0, &sides));
        let mut solver = StructuredSolver::new(grid.clone(), config, team(1)).unwrap();
        let outcome = solver.run(|_| true);
        assert!(
            outcome == Outcome::Converged && solver.iteration() <= 150,
            "{scheme:?}: {outcome:?} after {}",
            solver.iteration()
        );
        let state = solver.state();
        let mach = state.iter().map(|q| crate::gas::mach(Gas::AIR, &crate::gas::primitive(Gas::AIR, q)));
        let largest = mach.fold(0.0, f64::max);
        assert!(largest > 3.0 && largest < 12.0, "{scheme:?}: Mach {largest}");
    }
}

/// Plain steps have no shares; their updates rise by no more than they fall.
#[test]
fn plain_steps_are_as_they_were() {
    let (grid, mut config) = front_of_a_cylinder();
    let changes = config.max_changes();
    assert_eq!(changes, [0.2, 1.0, f64::INFINITY], "around bodies");
    config.equations = Equations::Laminar;
    config.boundaries.insert("xmax".to_owned(), Boundary::Outlet { pressure: 1.0 });
    assert_eq!(config.max_changes(), [0.2, 0.2, 0.5], "in ducts, with friction");
    config.implicit.nonlinear = Nonlinear::DefectCorrection;
    assert_eq!(config.max_changes(), [0.2, 0.2, f64::INFINITY]);
    config.equations = Equations::Euler;
    config.time = Time::Steady(Steady { iterations: 10, orders: 4.0 });
    let solver = StructuredSolver::new(grid, config, team(1)).unwrap();
    assert!(solver.synced().cfl_shares().is_empty());
    let restart: Restart = solver.restart();
    assert!(restart.field("cfl_share").is_none());
}
