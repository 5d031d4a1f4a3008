pub(in crate::structured) mod flows;
mod laws;
mod methods;
mod operators;
mod options;
mod over_ranks;
mod sectors;
mod shear;
mod shocks;
pub(super) mod turbulence;
mod two_equations;

use super::*;
use crate::config::{Boundary, Equations, Freestream, GasConfig, NewtonKrylov, Nonlinear};
use crate::flux::Dissipation;
use crate::grid::Block;
use crate::grid::generate::BoxGrid;
use std::collections::BTreeMap;

fn team(n: usize) -> Arc<Team> {
    Arc::new(Team::new(n))
}

const SCHEMES: [Scheme; 3] = [
    Scheme::Scalar(Dissipation::DEFAULT),
    Scheme::Matrix(Dissipation::DEFAULT),
    Scheme::Roe { kappa: 1.0 / 3.0, limited: true },
];

fn farfield(grid: &Grid) -> BTreeMap<String, Boundary> {
    grid.markers().iter().map(|m| ((*m).to_owned(), Boundary::Farfield)).collect()
}

fn wavy(cells: [usize; 3]) -> Grid {
    BoxGrid { cells, size: [2.0, 1.0, 0.8], wave: 0.06 }.grid()
}

/// Blocks of several orientations, one of them left-handed.
fn blocks(grid: Grid) -> Grid {
    let grid = grid.split(0, 0, 4).unwrap().split(1, 1, 3).unwrap().split(0, 2, 3).unwrap();
    let grid = grid.reorient(1, [1, 2, 0], [true, false, false]).reorient(2, [0, 2, 1], [false, false, true]);
    grid.check().unwrap();
    grid
}

fn config(grid: &Grid, scheme: Scheme, equations: Equations) -> StructuredConfig {
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
        boundaries: farfield(grid),
        ..StructuredConfig::default()
    }
}

#[test]
fn a_uniform_flow_stays_uniform() {
    for scheme in SCHEMES {
        for equations in [Equations::Euler, Equations::Laminar] {
            let grid = blocks(wavy([9, 7, 6]));
            let config = config(&grid, scheme, equations);
            let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
            let worst = |rates: &[[f64; 5]]| rates.as_flattened().iter().fold(0.0f64, |m, r| m.max(r.abs()));
            let before = solver.state();
            assert!(
                worst(&solver.rates()) < 1e-12,
                "{scheme:?}, {equations:?}: {:e}",
                worst(&solver.rates())
            );
            for _ in 0..5 {
                solver.step();
            }
            let change = solver
                .state()
                .as_flattened()
                .iter()
                .zip(before.as_flattened())
                .fold(0.0f64, |m, (a, b)| m.max((a - b).abs()));
            assert!(change < 1e-12, "{scheme:?}, {equations:?}: {change:e}");
        }
    }
}

/// Nothing sticks where nothing is viscous: walls without slip have slip there.
#[test]
fn inviscid_flow_slides_along_walls_without_slip() {
    let found = |wall| {
        let grid = wavy([8, 6, 5]);
        let mut config = config(&grid, SCHEMES[2], Equations::Euler);
        config.boundaries.insert("zmin".to_owned(), wall);
        let mut solver = StructuredSolver::new(grid, config, team(1)).unwrap();
        for _ in 0..3 {
            solver.step();
        }
        solver.state()
    };
    let slip = found(Boundary::SlipWall);
    assert_ne!(slip, found(Boundary::Farfield));
    for wall in [Boundary::NoSlipAdiabatic, Boundary::NoSlipIsothermal { temperature: 1.3 }] {
        assert_eq!(found(wall), slip);
    }
}

/// A box whose middle plane across x is drawn together to a line: two wedges that meet in faces without area.
pub(in crate::structured) fn pinched(cells: [usize; 3]) -> Grid {
    let mut grid = BoxGrid { cells, size: [2.0, 1.0, 0.8], wave: 0.0 }.grid();
    for x in &mut grid.blocks[0].nodes {
        x[1] = 0.5 + (x[1] - 0.5) * (x[0] - 1.0).abs();
    }
    grid
}

/// Nothing passes through faces without area, whatever the cells beside them have: one wedge's sum of all fluxes is that
/// through its boundary, of a uniform flow there.
#[test]
fn nothing_passes_through_faces_without_area() {
    let grid = pinched([16, 12, 8]);
    let config = config(&grid, SCHEMES[0], Equations::Laminar);
    let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
    let gas = crate::gas::Gas::AIR;
    let free = crate::gas::primitive(gas, &solver.state()[0]);
    solver.set_state(|x| {
        let across = (x[1] - 0.5) / (x[0] - 1.0).abs();
        let hill = |s: f64| (1.0 - s * s).max(0.0).powi(2);
        let s = hill((x[0] - 1.0) / 0.6) * hill(across / 0.35) * hill((x[2] - 0.4) / 0.25);
        let change = [0.1, 0.3, 0.2 + across, -0.2 + x[2], 0.1];
        conserved(gas, &std::array::from_fn(|c| free[c] + s * change[c]))
    });
    let rates = solver.rates();
    let (mut sum, mut largest) = ([0.0; 5], 0.0f64);
    for ((x, volume), rate) in solver.cells().iter().zip(&rates).filter(|((x, _), _)| x[0] < 1.0) {
        for c in 0..5 {
            sum[c] += volume * rate[c];
            // Beside these faces.
            if x[0] > 0.85 {
                largest = largest.max((volume * rate[c]).abs());
            }
        }
    }
    assert!(largest > 1e-4 && sum.iter().all(|s| s.abs() < 1e-13), "{sum:?} of {largest}");
}

/// A smooth state that is no solution.
fn smooth(x: [f64; 3]) -> [f64; 5] {
    let s = (2.0 * x[0] + 0.3).sin() * (1.5 * x[1]).cos() + 0.5 * (3.0 * x[2]).sin();
    let w = [1.0 + 0.1 * s, 0.4 + 0.05 * s, 0.1 * s, -0.2 + 0.1 * (x[0] * x[1]).cos(), 0.7 + 0.07 * s];
    conserved(crate::gas::Gas::AIR, &w)
}

/// Rates of change by the place of the cell.
fn rates_by_place(
    grid: Grid,
    scheme: Scheme,
    equations: Equations,
    threads: usize,
) -> Vec<([i64; 3], [f64; 5])> {
    let config = config(&grid, scheme, equations);
    let mut solver = StructuredSolver::new(grid, config, team(threads)).unwrap();
    solver.set_state(smooth);
    let rates = solver.rates();
    let mut all: Vec<_> = solver
        .cells()
        .iter()
        .zip(rates)
        .map(|((x, _), r)| (x.map(|v| (v * 1e8).round() as i64), r))
        .collect();
    all.sort_by_key(|(x, _)| *x);
    all
}

#[test]
fn many_blocks_are_one_block() {
    for scheme in SCHEMES {
        for equations in [Equations::Euler, Equations::Laminar] {
            let one = rates_by_place(wavy([9, 7, 6]), scheme, equations, 1);
            let many = rates_by_place(blocks(wavy([9, 7, 6])), scheme, equations, 3);
            assert_eq!(one.len(), many.len());
            for ((x, a), (y, b)) in one.iter().zip(&many) {
                assert_eq!(x, y);
                for c in 0..5 {
                    assert!((a[c] - b[c]).abs() < 1e-10, "{scheme:?}, {equations:?} at {x:?}: {a:?} {b:?}");
                }
            }
        }
    }
}

/// A plane wave of velocity at constant temperature, whose viscous terms are known: on a wavy grid the viscous part of the
/// rates, all derivatives, differs from them with the square of the spacing, in the mean over the cells.
#[test]
fn viscous_terms_are_of_second_order() {
    let (a, amplitude, phase) = ([2.0, -1.0, 1.5], [0.2, 0.3, -0.1], 0.4);
    let dot = |x: [f64; 3], y: [f64; 3]| x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
    let errors = [12, 24].map(|n| {
        let rates = [Equations::Euler, Equations::Laminar].map(|equations| {
            let grid = wavy([n, n, n]);
            let config = config(&grid, SCHEMES[0], equations);
            let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
            solver.set_state(|x| {
                let s = (dot(a, x) + phase).sin();
                let w = [1.0, amplitude[0] * s, amplitude[1] * s, amplitude[2] * s, 1.0 / 1.4];
                conserved(crate::gas::Gas::AIR, &w)
            });
            (solver.cells(), solver.rates())
        });
        let mu = 0.5 / 100.0;
        let (mut squares, mut counted) = ([0.0f64; 5], 0.0);
        for ((&(x, _), euler), laminar) in rates[0].0.iter().zip(&rates[0].1).zip(&rates[1].1) {
            // Away from the boundary, whose fluxes are its own.
            if !(0.4..1.6).contains(&x[0]) || !(0.25..0.75).contains(&x[1]) || !(0.2..0.6).contains(&x[2]) {
                continue;
            }
            counted += 1.0;
            let (s, c) = (dot(a, x) + phase).sin_cos();
            let (across, aa) = (dot(a, amplitude), dot(a, a));
            let force = [0, 1, 2].map(|i| -mu * s * (aa * amplitude[i] + across * a[i] / 3.0));
            let heat = mu * c * c * (dot(amplitude, amplitude) * aa + across * across / 3.0);
            let energy = s * dot(amplitude, force) + heat;
            let exact = [0.0, force[0], force[1], force[2], energy];
            for v in 0..5 {
                // Of fluxes out, with the residual's sign.
                let viscous = laminar[v] - euler[v];
                squares[v] += (viscous + exact[v]).powi(2);
            }
        }
        squares.map(|sum| (sum / counted).sqrt())
    });
    assert_eq!(errors[0][0], 0.0);
    for v in 1..5 {
        let order = (errors[0][v] / errors[1][v]).log2();
        assert!(order > 1.7, "component {v}: {errors:?}, order {order}");
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let run = |threads| {
        let grid = blocks(wavy([9, 7, 6]));
        let config = config(&grid, SCHEMES[0], Equations::Laminar);
        let mut solver = StructuredSolver::new(grid, config, team(threads)).unwrap();
        solver.set_state(smooth);
        let reports: Vec<_> = (0..3).map(|_| solver.step().residual).collect();
        (reports, solver.state())
    };
    let one = run(1);
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

#[test]
fn mistakes_are_told() {
    let grid = || wavy([4, 4, 4]);
    let mut missing = config(&grid(), SCHEMES[0], Equations::Euler);
    missing.boundaries.remove("xmin");
    let text = StructuredSolver::new(grid(), missing, team(1)).err().unwrap().to_string();
    assert!(text.contains("xmin"), "{text}");
    let mut extra = config(&grid(), SCHEMES[0], Equations::Euler);
    extra.boundaries.insert("wing".into(), Boundary::SlipWall);
    assert!(StructuredSolver::new(grid(), extra, team(1)).err().unwrap().to_string().contains("wing"));
    let mut gas = config(&grid(), SCHEMES[0], Equations::Euler);
    gas.gas = GasConfig { gamma: 1.0, ..GasConfig::default() };
    assert!(StructuredSolver::new(grid(), gas, team(1)).err().unwrap().to_string().contains("gamma"));
}

/// A flow that starts along a wall: nothing passes the wall, entropy and total enthalpy are the free stream's.
#[test]
fn starts_along_slip_walls() {
    let grid = BoxGrid { cells: [6, 9, 5], size: [1.0, 0.5, 1.0], wave: 0.0 }.grid().split(0, 0, 2).unwrap();
    let grid = grid.reorient(1, [1, 2, 0], [true, false, false]);
    let mut config = config(&grid, SCHEMES[0], Equations::Euler);
    config.boundaries.insert("ymax".to_owned(), Boundary::SlipWall);
    config.reference.length = 2.0;
    // By default a tenth of the wall's extent, along which there are six cells, for Newton-Krylov steps.
    let newton = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    let plain = config.implicit.nonlinear;
    for (given, nonlinear, layer) in [
        (Some(0.05), plain, 0.1),
        (None, newton, 0.1 * 5.0 / 6.0),
        (None, plain, 1e-9),
        (Some(0.0), newton, 1e-9),
    ] {
        (config.start_layer, config.implicit.nonlinear) = (given, nonlinear);
        let solver = StructuredSolver::new(grid.clone(), config.clone(), team(1)).unwrap();
        let free = solver.free_stream();
        let enthalpy = |w: &[f64; 5]| 3.5 * w[4] / w[0] + 0.5 * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
        for (q, (x, _)) in solver.state().iter().zip(solver.cells()) {
            let w = primitive(GasConfig::default().gas(), q);
            let through = free[2] * (1.0 - ((x[1] - 0.5) / layer).exp());
            let expected = [free[1], through, free[3]];
            assert!((0..3).all(|c| (w[1 + c] - expected[c]).abs() < 1e-14), "{given:?}, {x:?}: {w:?}");
            assert!(
                (crate::gas::entropy(GasConfig::default().gas(), &w) - 1.0).abs() < 1e-13,
                "{x:?}: {w:?}"
            );
            assert!((enthalpy(&w) - enthalpy(&free)).abs() < 1e-13, "{x:?}: {w:?}");
        }
    }
    config.start_layer = Some(-1.0);
    let error = StructuredSolver::new(grid, config, team(1)).err().expect("an error").to_string();
    assert!(error.contains("start_layer"), "{error}");
}

/// A sector of one cell between planes of symmetry is no plane, though it has one layer of cells: what its sides carry counts, and a stream along the axis stays.
#[test]
fn sectors_of_one_cell_between_planes_of_symmetry_keep_a_stream() {
    let block = Block::new([6, 5, 2], |[i, j, k]| {
        let (r, angle) = (0.25 * j as f64, 0.1 * (k as f64 - 0.5));
        [0.3 * i as f64, r * angle.cos(), r * angle.sin()]
    });
    let grid = Grid::one_block(block, ["in", "out", "axis", "far", "left", "right"].map(Some));
    for scheme in SCHEMES {
        for equations in [Equations::Euler, Equations::Laminar] {
            let mut config = config(&grid, scheme, equations);
            (config.freestream.alpha_deg, config.freestream.beta_deg) = (0.0, 0.0);
            for (name, boundary) in &mut config.boundaries {
                *boundary = match name.as_str() {
                    "in" | "out" => Boundary::Farfield,
                    "far" => Boundary::SlipWall,
                    _ => Boundary::Symmetry,
                };
            }
            let mut solver = StructuredSolver::new(grid.clone(), config, team(1)).unwrap();
            let free = conserved(GasConfig::default().gas(), &solver.free_stream());
            solver.set_state(|_| free);
            let largest = solver.rates().as_flattened().iter().fold(0.0_f64, |m, r| m.max(r.abs()));
            assert!(largest < 1e-12, "{scheme:?}, {equations:?}: {largest:e}");
            solver.step();
            let drag = solver.forces().total.cd;
            assert!(drag.abs() < 1e-12, "{scheme:?}, {equations:?}: {drag:e}");
        }
    }
}
