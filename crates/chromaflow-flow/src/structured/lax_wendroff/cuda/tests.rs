use super::super::{LaxWendroff, LaxWendroffSolver};
use crate::bc::Motion;
use crate::config::{Boundary, Equations, Freestream, Steady, Time, Unsteady};
use crate::gas::{Gas, conserved};
use crate::grid::Grid;
use crate::grid::generate::{BoxGrid, SmoothChannel};
use crate::mesh::Planar;
use crate::structured::StructuredConfig;
use crate::testgpu::{close, close_step, gpu, restarts_go_on};
use chromaflow_device::Team;
use std::sync::Arc;

/// A wavy box of blocks of several orientations, one of them left-handed; sizes that fill no thread block.
fn blocks(cells: [usize; 3]) -> Grid {
    let grid = BoxGrid { cells, size: [2.0, 1.0, 0.8], wave: 0.05 }.grid();
    let cut = |n: usize| n / 4 * 2;
    let grid = grid.split(0, 0, cut(cells[0])).unwrap().split(1, 1, cut(cells[1])).unwrap();
    let grid = grid.split(0, 2, cut(cells[2])).unwrap();
    let grid = grid.reorient(1, [1, 2, 0], [true, false, false]).reorient(2, [0, 2, 1], [false, false, true]);
    grid.check().unwrap();
    grid
}

fn in_tunnel(name: &str) -> Boundary {
    match name {
        "xmin" | "inlet" => {
            Boundary::Inlet { total_pressure: 1.117, total_temperature: 1.032, direction: [1.0, 0.0, 0.0] }
        }
        "xmax" | "outlet" => Boundary::Outlet { pressure: 1.0 },
        "ymin" | Planar::FRONT | Planar::BACK => Boundary::Symmetry,
        "ymax" => Boundary::Extrapolation,
        "zmin" | "lower" | "upper" => Boundary::SlipWall,
        _ => Boundary::Farfield,
    }
}

fn between_walls(name: &str) -> Boundary {
    match name {
        "zmin" | "lower" => Boundary::NoSlipAdiabatic,
        "zmax" => Boundary::NoSlipIsothermal { temperature: 1.1 },
        "ymin" | "ymax" | "upper" | Planar::FRONT | Planar::BACK => Boundary::Symmetry,
        _ => Boundary::Farfield,
    }
}

/// Given velocities and walls that move.
fn driven(name: &str) -> Boundary {
    let motion =
        |u: f64| Motion { velocity: [u, 0.0, 0.0], rotation: [0.0, 0.0, 0.05], center: [0.3, 0.4, 0.0] };
    match name {
        "xmin" => Boundary::VelocityInlet { velocity: [0.4, 0.02, 0.0], temperature: 1.02 },
        "xmax" => Boundary::Outlet { pressure: 1.0 },
        "zmin" => Boundary::MovingWall { motion: motion(0.2), temperature: None },
        "zmax" => Boundary::MovingWall { motion: motion(-0.1), temperature: Some(1.1) },
        _ => Boundary::Symmetry,
    }
}

struct Case {
    name: &'static str,
    grid: Grid,
    boundary: fn(&str) -> Boundary,
    laminar: bool,
    coarse_grids: usize,
    unsteady: bool,
}

impl Case {
    fn solver(&self) -> LaxWendroffSolver {
        let config = StructuredConfig {
            freestream: Freestream { mach: 0.4, alpha_deg: 2.0, reynolds: 200.0, ..Freestream::default() },
            equations: if self.laminar { Equations::Laminar } else { Equations::Euler },
            boundaries: self.grid.markers().iter().map(|m| ((*m).to_owned(), (self.boundary)(m))).collect(),
            time: if self.unsteady {
                Time::Unsteady(Unsteady { dt: 0.1, steps: 4, subiterations: 1, orders: 10.0 })
            } else {
                Time::Steady(Steady { iterations: 12, orders: 14.0 })
            },
            ..StructuredConfig::default()
        };
        let scheme = LaxWendroff { coarse_grids: self.coarse_grids, ..LaxWendroff::default() };
        let mut solver =
            LaxWendroffSolver::new(self.grid.clone(), config, scheme, Arc::new(Team::new(2))).unwrap();
        solver.set_state(bump);
        solver
    }
}

fn bump(x: [f64; 3]) -> [f64; 5] {
    let s = (-10.0 * x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>()).exp();
    conserved(Gas::AIR, &[1.0 + 0.1 * s, 0.4, 0.1 * s, 0.05 * s, (1.0 + 0.2 * s) / 1.4])
}

/// Every kernel, boundary condition and kind of run.
fn cases() -> Vec<Case> {
    let case = |name, grid: Grid, boundary, laminar, coarse_grids, unsteady| Case {
        name,
        grid,
        boundary,
        laminar,
        coarse_grids,
        unsteady,
    };
    let channel = || SmoothChannel { cells: [48, 16] }.grid().split(0, 0, 24).unwrap();
    let ring = || {
        BoxGrid { cells: [9, 14, 6], size: [1.0, 1.0, 0.7], wave: 0.0 }
            .grid()
            .periodic("ymin", "ymax")
            .unwrap()
    };
    vec![
        case("blocks", blocks([37, 19, 11]), in_tunnel, false, 0, false),
        case("laminar blocks", blocks([37, 19, 11]), between_walls, true, 0, false),
        case("driven", blocks([37, 19, 11]), driven, true, 0, false),
        case("ring", ring(), between_walls, true, 0, false),
        case("coarse grids of blocks", blocks([64, 48, 32]), in_tunnel, false, 2, false),
        case("coarse grids of a channel", channel(), in_tunnel, false, 2, false),
        case("coarse grids, laminar", channel(), between_walls, true, 1, false),
        case("unsteady", blocks([37, 19, 11]), between_walls, true, 0, true),
    ]
}

/// Residuals and forces of every step and the fields at the end are the CPU's.
#[test]
fn cuda_histories_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    for case in cases() {
        let (mut here, mut there) = (case.solver(), case.solver());
        assert_eq!(here.host.levels.len(), case.coarse_grids, "{}", case.name);
        there.use_gpu(&gpu).unwrap();
        loop {
            let (a, b) = (here.step(), there.try_step().unwrap());
            let what = format!("{}, iteration {}", case.name, a.iteration);
            close_step(&what, (&b.residual, &b.forces), (&a.residual, &a.forces), 1e-10, 1e-11);
            let fact = |r: &crate::march::StepReport| (r.rejected, r.outcome, r.time_step);
            assert_eq!(fact(&a), fact(&b), "{what}");
            close(b.cfl, a.cfl, 1e-12, 0.0, &what);
            if a.outcome.is_some() {
                break;
            }
        }
        there.sync().unwrap();
        for (a, b) in here.state().as_flattened().iter().zip(there.state().as_flattened()) {
            close(*b, *a, 1e-10, 1e-10, &format!("{}, state", case.name));
        }
    }
}

/// For the memory checkers: a few steps with interfaces, all kernels of fine and coarse grids among them.
#[test]
fn cuda_small_lax_wendroff() {
    let Some(gpu) = gpu() else { return };
    let grid = || BoxGrid { cells: [16, 8, 8], size: [1.0; 3], wave: 0.05 }.grid().split(0, 0, 8).unwrap();
    for (laminar, coarse_grids, unsteady) in [(false, 1, false), (true, 0, true)] {
        let boundary = between_walls;
        let case = Case { name: "small", grid: grid(), boundary, laminar, coarse_grids, unsteady };
        let mut solver = case.solver();
        assert_eq!(solver.host.levels.len(), coarse_grids);
        solver.use_gpu(&gpu).unwrap();
        for _ in 0..2 {
            assert!(solver.try_step().unwrap().bad.is_none());
        }
    }
}

/// A restart written from the device goes on on either side as one run would, and twice with the same bits.
#[test]
fn cuda_lax_wendroff_restarts_on_either_side() {
    let Some(gpu) = gpu() else { return };
    let case = &cases()[1];
    restarts_go_on(&gpu, || case.solver(), 4, 1e-12, false);
}

#[test]
fn cuda_lax_wendroff_names_the_node_whose_state_is_none() {
    let Some(gpu) = gpu() else { return };
    let mut solver = cases()[0].solver();
    solver.use_gpu(&gpu).unwrap();
    solver.set_state(|x| if x[0] > 1.9 { [f64::NAN; 5] } else { bump(x) });
    let report = solver.try_step().unwrap();
    assert!(report.rejected && report.bad.is_some_and(|bad| bad.at[0] > 1.5));
}
