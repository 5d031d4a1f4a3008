use super::super::tests::pinched;
use super::super::{LineImplicit, Scheme, StepMethod, StructuredConfig, StructuredSolver, ViscousTerms};
use crate::bc::Motion;
use crate::config::{Boundary, Cfl, Equations, Freestream, Steady, Time, Unsteady};
use crate::flux::Dissipation;
use crate::gas::Gas;
use crate::grid::Grid;
use crate::grid::generate::BoxGrid;
use crate::testgpu::{close, close_step, gpu, restarts_go_on};
use chromaflow_device::Team;
use std::sync::Arc;

/// A wavy box of blocks of several orientations, one of them left-handed; sizes that fill no tile.
pub(super) fn blocks() -> Grid {
    let grid = BoxGrid { cells: [37, 19, 11], size: [2.0, 1.0, 0.8], wave: 0.06 }.grid();
    let grid = grid.split(0, 0, 14).unwrap().split(1, 1, 9).unwrap().split(0, 2, 3).unwrap();
    let grid = grid.reorient(1, [1, 2, 0], [true, false, false]).reorient(2, [0, 2, 1], [false, false, true]);
    grid.check().unwrap();
    grid
}

/// One block that closes on itself along y.
pub(super) fn ring() -> Grid {
    let grid = BoxGrid { cells: [9, 13, 6], size: [1.0, 1.0, 0.7], wave: 0.0 }.grid();
    grid.periodic("ymin", "ymax").unwrap()
}

/// Sectors whose sides are turned, of blocks of two orientations.
pub(super) fn turned(cells: [usize; 3]) -> Grid {
    let grid = crate::testmesh::sector(cells, 7).periodic("ymin", "ymax").unwrap();
    let grid = grid.split(0, 0, cells[0] / 2).unwrap().split(1, 1, cells[1] / 2).unwrap();
    grid.reorient(1, [1, 2, 0], [true, false, false])
}

pub(super) fn in_ring(name: &str) -> Boundary {
    let motion = Motion { rotation: [0.3, 0.0, 0.0], ..Motion::NONE };
    match name {
        "xmin" => Boundary::MovingWall { motion, temperature: None },
        "xmax" => Boundary::NoSlipIsothermal { temperature: 1.1 },
        "zmin" => Boundary::VelocityInlet { velocity: [0.4, 0.0, 0.0], temperature: 1.02 },
        _ => Boundary::Outlet { pressure: 1.0 },
    }
}

/// Lines enough along all axes that none is cut into segments.
fn many_lines() -> Grid {
    BoxGrid { cells: [50, 45, 47], size: [1.0, 1.0, 0.7], wave: 0.04 }.grid()
}

pub(super) fn plane() -> Grid {
    BoxGrid { cells: [21, 13, 1], size: [1.0, 1.0, 0.1], wave: 0.05 }.grid()
}

pub(super) fn in_tunnel(name: &str) -> Boundary {
    match name {
        "xmin" => {
            Boundary::Inlet { total_pressure: 1.117, total_temperature: 1.032, direction: [1.0, 0.1, 0.0] }
        }
        "xmax" => Boundary::Outlet { pressure: 1.0 },
        "ymin" => Boundary::Symmetry,
        "ymax" => Boundary::Extrapolation,
        "zmin" => Boundary::SlipWall,
        _ => Boundary::Farfield,
    }
}

pub(super) fn between_walls(name: &str) -> Boundary {
    match name {
        "zmin" => Boundary::NoSlipAdiabatic,
        "zmax" => Boundary::NoSlipIsothermal { temperature: 1.1 },
        "ymin" | "ymax" => Boundary::Symmetry,
        _ => Boundary::Farfield,
    }
}

pub(super) fn config(grid: &Grid, boundary: fn(&str) -> Boundary, scheme: Scheme) -> StructuredConfig {
    StructuredConfig {
        freestream: Freestream { mach: 0.4, alpha_deg: 5.0, reynolds: 200.0, ..Freestream::default() },
        scheme,
        boundaries: grid.markers().iter().map(|m| ((*m).to_owned(), boundary(m))).collect(),
        implicit: LineImplicit {
            cfl: Cfl { start: 4.0, min: 0.01, max: 10.0, growth: 1.1, adaptive: true },
            ..LineImplicit::default()
        },
        time: Time::Steady(Steady { iterations: 10, orders: 14.0 }),
        ..StructuredConfig::default()
    }
}

pub(super) fn bump(x: [f64; 3]) -> [f64; 5] {
    let s = (-20.0 * x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>()).exp();
    let w = [1.0 + 0.1 * s, 0.4, 0.1 * s, 0.05 * s, (1.0 + 0.2 * s) / 1.4];
    crate::gas::conserved(Gas::AIR, &w)
}

pub(super) fn solver(grid: Grid, config: &StructuredConfig) -> StructuredSolver {
    let mut solver = StructuredSolver::new(grid, config.clone(), Arc::new(Team::new(2))).unwrap();
    solver.set_state(bump);
    solver
}

pub(super) const SCALAR: Scheme = Scheme::Scalar(Dissipation::DEFAULT);
pub(super) const MATRIX: Scheme = Scheme::Matrix(Dissipation::DEFAULT);
pub(super) const ROE: Scheme = Scheme::Roe { kappa: 1.0 / 3.0, limited: true };

/// Given velocities, mass flow and walls that move.
pub(super) fn driven(name: &str) -> Boundary {
    let motion =
        |u: f64| Motion { velocity: [u, 0.0, 0.0], rotation: [0.0, 0.0, 0.05], center: [0.3, 0.4, 0.0] };
    match name {
        "xmin" => Boundary::VelocityInlet { velocity: [0.4, 0.02, 0.0], temperature: 1.02 },
        "xmax" => Boundary::MassFlowOutlet { mass_flow: 0.25 },
        "zmin" => Boundary::MovingWall { motion: motion(0.2), temperature: None },
        "zmax" => Boundary::MovingWall { motion: motion(-0.1), temperature: Some(1.1) },
        _ => Boundary::Symmetry,
    }
}

/// Every scheme, boundary condition and kind of line, a few each.
fn cases() -> Vec<(&'static str, Grid, StructuredConfig)> {
    let mut cases = Vec::new();
    let mut add = |name, grid: Grid, boundary, scheme, change: fn(&mut StructuredConfig)| {
        let mut config = config(&grid, boundary, scheme);
        change(&mut config);
        cases.push((name, grid, config));
    };
    let laminar = |c: &mut StructuredConfig| c.equations = Equations::Laminar;
    add("scalar dissipation", blocks(), in_tunnel, SCALAR, |_| {});
    add("matrix dissipation", blocks(), in_tunnel, MATRIX, |_| {});
    add("Roe", blocks(), in_tunnel, ROE, |_| {});
    add("laminar", blocks(), between_walls, SCALAR, laminar);
    add("driven", blocks(), driven, SCALAR, laminar);
    add("laminar, thin-layer, Roe", blocks(), between_walls, ROE, |c| {
        c.equations = Equations::Laminar;
        c.viscous = ViscousTerms::ThinLayer;
        c.gas.sutherland = false;
    });
    add("closed lines", ring(), between_walls, SCALAR, laminar);
    add("closed lines, Roe", ring(), in_tunnel, ROE, |_| {});
    add("turned sides", turned([21, 9, 13]), in_ring, SCALAR, laminar);
    add("turned sides, limited", turned([21, 9, 13]), in_ring, ROE, |_| {});
    add("many lines", many_lines(), between_walls, SCALAR, laminar);
    add("many lines, Roe", many_lines(), in_tunnel, ROE, |_| {});
    add("faces without area", pinched([18, 13, 7]), |_| Boundary::Farfield, SCALAR, laminar);
    add("a plane", plane(), between_walls, MATRIX, laminar);
    add("unsteady", blocks(), between_walls, SCALAR, |c| {
        c.equations = Equations::Laminar;
        c.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 3, orders: 10.0 });
    });
    for (name, grid, boundary) in [
        ("blocks", blocks(), between_walls as fn(&str) -> Boundary),
        ("ring", ring(), in_tunnel),
        ("plane", plane(), between_walls),
        ("turned sides", turned([13, 9, 11]), in_ring),
    ] {
        for (method, scheme) in [
            (StepMethod::Diagonal { fourth: true }, SCALAR),
            (StepMethod::Diagonal { fourth: false }, MATRIX),
            (StepMethod::Diagonal { fourth: true }, ROE),
            (StepMethod::Ssor { sweeps: 2, relaxation: 0.9 }, SCALAR),
        ] {
            let mut config = config(&grid, boundary, scheme);
            config.implicit.method = method;
            if name != "ring" {
                laminar(&mut config);
            }
            cases.push((name, grid.clone(), config));
        }
    }
    cases
}

/// Residuals, forces, CFL numbers and limited cells of every step are the CPU's.
#[test]
fn cuda_histories_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    for (name, grid, config) in cases() {
        let name = format!("{name}, {:?}, {:?}", config.implicit.method, config.scheme);
        let (mut here, mut there) = (solver(grid.clone(), &config), solver(grid, &config));
        there.use_gpu(&gpu).unwrap();
        loop {
            let (a, b) = (here.step(), there.try_step().unwrap());
            let what = format!("{name}, iteration {}", a.iteration);
            close_step(&what, (&b.residual, &b.forces), (&a.residual, &a.forces), 1e-9, 1e-10);
            assert_eq!(
                (a.limited, a.rejected, a.outcome, a.time_step),
                (b.limited, b.rejected, b.outcome, b.time_step),
                "{what}"
            );
            close(b.cfl, a.cfl, 1e-12, 0.0, &what);
            if a.outcome.is_some() {
                break;
            }
        }
        there.sync().unwrap();
        for (a, b) in here.fields().iter().zip(&there.fields()) {
            for (x, y) in a.values.iter().zip(&b.values) {
                close(*y, *x, 1e-9, 1e-9, &format!("{name}, field {}", a.name));
            }
        }
    }
}

/// For the memory checkers: a few steps of each kind of line, with ghosts in all stages.
#[test]
fn cuda_small_case_of_open_and_closed_lines() {
    let Some(gpu) = gpu() else { return };
    let cube = BoxGrid { cells: [9, 5, 3], size: [1.0; 3], wave: 0.05 }.grid().split(0, 0, 4).unwrap();
    let methods = [
        StepMethod::BeamWarming,
        StepMethod::Diagonal { fourth: true },
        StepMethod::Ssor { sweeps: 1, relaxation: 1.0 },
    ];
    type Case = (Grid, fn(&str) -> Boundary, Scheme);
    let grids: [Case; 4] = [
        (cube, between_walls, SCALAR),
        (ring(), between_walls, SCALAR),
        (turned([5, 4, 3]), in_ring, SCALAR),
        (turned([5, 4, 3]), in_ring, ROE),
    ];
    for (grid, (boundary, scheme), method) in
        grids.into_iter().flat_map(|(g, b, s)| methods.map(|m| (g.clone(), (b, s), m)))
    {
        let mut config = config(&grid, boundary, scheme);
        config.equations = Equations::Laminar;
        config.implicit.method = method;
        let mut solver = solver(grid, &config);
        solver.use_gpu(&gpu).unwrap();
        for _ in 0..2 {
            assert!(solver.try_step().unwrap().bad.is_none());
        }
    }
}

/// A restart written from the device goes on on either side as one run would, and twice with the same bits.
#[test]
fn cuda_restarts_go_on_on_either_side() {
    let Some(gpu) = gpu() else { return };
    let grid = blocks();
    let mut config = config(&grid, between_walls, SCALAR);
    config.equations = Equations::Laminar;
    restarts_go_on(&gpu, || solver(grid.clone(), &config), 4, 1e-12, false);
}

#[test]
fn cuda_names_the_cell_whose_state_is_none() {
    let Some(gpu) = gpu() else { return };
    let grid = blocks();
    let config = config(&grid, |_| Boundary::Farfield, SCALAR);
    let mut solver = solver(grid, &config);
    solver.use_gpu(&gpu).unwrap();
    solver.set_state(|x| if x[0] > 1.9 { [f64::NAN; 5] } else { bump(x) });
    let report = solver.try_step().unwrap();
    assert!(report.rejected && report.bad.is_some_and(|bad| bad.at[0] > 1.5));
}
