use super::super::config::Flux;
use super::super::tests::plate_of;
use super::super::{Boundary, Config, Given, Scalar, Solver, WallScalar};
use crate::bc::Motion;
use crate::config::{Steady, Time, Unsteady};
use crate::grid::Grid;
use crate::grid::generate::{BoxGrid, ChannelCylinder};
use crate::testgpu::{close, close_step, gpu, restarts_go_on};
use chromaflow::Outcome;
use chromaflow::Storage;
use chromaflow_device::Team;
use chromaflow_device::cuda::Gpu;
use std::sync::Arc;

fn scalars(count: usize) -> Vec<Scalar> {
    let of = |m: usize| Scalar {
        name: format!("s{m}"),
        diffusivity: 0.01 * m as f64,
        buoyancy: [0.0, 0.3, -0.2 * m as f64],
        reference: 0.5 - 0.1 * m as f64,
    };
    (0..count).map(of).collect()
}

/// All kinds of boundaries, walls with given and free scalars.
pub(super) fn config(count: usize) -> Config {
    let mut config = Config::default();
    config.fluid.viscosity = 0.02;
    config.fluid.compressibility = 1.3;
    config.fluid.scalars = scalars(count);
    config.initial = vec![0.1, 1.0, 0.2, -0.1];
    let state = || (0..4 + count).map(|c| [0.1, 1.0, 0.2, -0.1, 0.5].get(c).copied().unwrap_or(0.3));
    let inflow = Given::By(Arc::new(move |x, t| {
        let wave = 1.0 + 0.2 * (3.0 * x[1] + t).sin();
        [wave, 0.1, 0.0].into_iter().chain((0..count).map(|m| 0.1 * m as f64 + x[2])).collect()
    }));
    let values = (0..count).map(|m| if m % 2 == 0 { WallScalar::Value(1.0) } else { WallScalar::NoFlux });
    let wall = Boundary::Wall { motion: Motion::straight([0.3, 0.0, 0.1]), scalars: values.collect() };
    config.boundaries = [
        ("xmin", Boundary::Inflow(inflow)),
        ("xmax", Boundary::Outflow { pressure: 0.1 }),
        ("ymin", wall),
        ("ymax", Boundary::Farfield(state().collect())),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::WALL),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    config.time = Time::Steady(Steady { iterations: 12, orders: 12.0 });
    config
}

/// Five blocks, some of them turned.
pub(super) fn blocks(wave: f64) -> Grid {
    let grid = BoxGrid { cells: [11, 8, 6], size: [2.0, 1.0, 0.8], wave }.grid();
    let grid =
        grid.split(0, 0, 5).unwrap().split(1, 1, 3).unwrap().split(0, 2, 2).unwrap().split(2, 0, 1).unwrap();
    grid.reorient(1, [2, 0, 1], [true, false, true]).reorient(2, [1, 0, 2], [false, true, false])
}

fn channel() -> (Grid, Config) {
    let mut config = Config::default();
    config.fluid.viscosity = 0.001;
    config.fluid.compressibility = 0.3;
    let inflow = Given::By(Arc::new(|x, _| vec![0.3 * 4.0 * x[1] * (0.41 - x[1]) / (0.41 * 0.41), 0.0, 0.0]));
    config.boundaries = [
        ("cylinder", Boundary::WALL),
        ("wall", Boundary::WALL),
        ("inlet", Boundary::Inflow(inflow)),
        ("outlet", Boundary::Outflow { pressure: 0.0 }),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    config.time = Time::Steady(Steady { iterations: 15, orders: 12.0 });
    (ChannelCylinder { cells: [32, 12, 20], growth: 1.1 }.grid(), config)
}

/// [`plate_of`] in steady flow.
pub(super) fn plate() -> (Grid, Config) {
    plate_of(Time::Steady(Steady { iterations: 12, orders: 12.0 }))
}

/// A box that is periodic along two axes, with a single cell along one of them.
pub(super) fn periodic() -> (Grid, Config) {
    let grid = BoxGrid { cells: [9, 7, 1], size: [1.0; 3], wave: 0.0 }.grid();
    let grid = grid.periodic("xmin", "xmax").unwrap().periodic("zmin", "zmax").unwrap();
    let mut config = Config::default();
    config.fluid.viscosity = 0.02;
    config.boundaries = [
        ("ymin".to_owned(), Boundary::WALL),
        ("ymax".to_owned(), Boundary::Wall { motion: Motion::straight([1.0, 0.0, 0.2]), scalars: vec![] }),
    ]
    .into();
    config.time = Time::Steady(Steady { iterations: 12, orders: 12.0 });
    (grid.split(0, 0, 4).unwrap(), config)
}

/// Sectors whose sides are turned: of `around` cells.
pub(super) fn turned(around: usize, scalars: usize) -> (Grid, Config) {
    let grid = crate::testmesh::sector([7, around, 6], 9).periodic("ymin", "ymax").unwrap();
    let grid = grid.split(0, 0, 3).unwrap().reorient(1, [1, 2, 0], [true, false, false]);
    let mut config = Config::default();
    config.fluid.viscosity = 0.02;
    for m in 0..scalars {
        config.fluid.scalars.push(Scalar { name: format!("s{m}"), diffusivity: 0.01, ..Scalar::default() });
    }
    let spin = move |x: [f64; 3], _: f64| {
        [0.5, -0.4 * x[2], 0.4 * x[1]].into_iter().chain((0..scalars).map(|m| m as f64)).collect()
    };
    config.boundaries = [
        ("xmin", Boundary::WALL),
        ("xmax", Boundary::Wall { motion: Motion::straight([0.2, 0.0, 0.0]), scalars: vec![] }),
        ("zmin", Boundary::Inflow(Given::By(Arc::new(spin)))),
        ("zmax", Boundary::Outflow { pressure: 0.0 }),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    config.time = Time::Steady(Steady { iterations: 12, orders: 12.0 });
    (grid, config)
}

fn cases() -> Vec<(&'static str, Grid, Config)> {
    let with = |count: usize, change: &dyn Fn(&mut Config)| {
        let mut config = config(count);
        change(&mut config);
        config
    };
    let (channel, around) = channel();
    let (closed, between) = periodic();
    [
        ("wavy blocks", blocks(0.03), with(0, &|_| {})),
        ("wavy blocks, two scalars", blocks(0.03), with(2, &|_| {})),
        (
            "straight blocks, first order, 13 unknowns",
            blocks(0.0),
            with(9, &|c| c.space.second_order = false),
        ),
        ("limited, 20 unknowns", blocks(0.03), with(16, &|c| c.space.limited = true)),
        (
            "central",
            blocks(0.02),
            with(1, &|c| c.space.flux = Flux::Central { fourth: 0.03, convective: 0.1 }),
        ),
        (
            "unsteady",
            blocks(0.03),
            with(1, &|c| {
                c.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 4, orders: 10.0 });
            }),
        ),
        ("couplings in f16", blocks(0.03), with(1, &|c| c.implicit.ilu.storage = Storage::F16)),
        ("cylinder in a channel", channel, around),
        ("periodic", closed, between),
    ]
    .into_iter()
    .chain([(5, 0), (2, 2), (1, 0), (1, 2)].map(|(around, scalars)| {
        let (grid, config) = turned(around, scalars);
        ("turned sides", grid, config)
    }))
    .collect()
}

fn solver(grid: &Grid, config: &Config) -> Solver {
    let mut solver = Solver::new(grid, config.clone(), Arc::new(Team::new(2))).unwrap();
    let n = solver.unknowns();
    solver.set_state(|x| {
        let bump = (-8.0 * x.iter().map(|x| (x - 0.4).powi(2)).sum::<f64>()).exp();
        (0..n).map(|c| [0.1, 0.5, 0.2, -0.1].get(c).copied().unwrap_or(0.3) + 0.1 * c as f64 * bump).collect()
    });
    solver
}

#[test]
fn cuda_histories_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    for (name, grid, config) in cases() {
        compare_histories(&gpu, name, || solver(&grid, &config));
    }
}

/// Few cells in two blocks, all kinds of boundaries and steps of both kinds, for compute-sanitizer.
#[test]
fn cuda_small_case() {
    let Some(gpu) = gpu() else { return };
    let grid = BoxGrid { cells: [5, 4, 3], size: [2.0, 1.0, 0.8], wave: 0.03 }.grid().split(0, 0, 2).unwrap();
    let mut config = config(1);
    config.time = Time::Steady(Steady { iterations: 2, orders: 12.0 });
    compare_histories(&gpu, "small", || solver(&grid, &config));
    for around in [2, 1] {
        let (grid, mut config) = turned(around, 1);
        config.time = Time::Steady(Steady { iterations: 2, orders: 12.0 });
        compare_histories(&gpu, "small, turned", || solver(&grid, &config));
    }
    config.space.flux = Flux::Central { fourth: 0.03, convective: 0.1 };
    config.implicit.ilu.storage = Storage::F16;
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 2, subiterations: 1, orders: 10.0 });
    compare_histories(&gpu, "small, unsteady", || solver(&grid, &config));
}

/// Residuals, forces, CFL numbers and linear reductions of every step are the CPU's, and the state at the end.
pub(super) fn compare_histories(gpu: &Gpu, name: &str, make: impl Fn() -> Solver) {
    let (mut here, mut there) = (make(), make());
    there.use_gpu(gpu).unwrap();
    loop {
        let (a, b) = (here.step(), there.try_step().unwrap());
        let what = format!("{name}, iteration {}", a.iteration);
        close_step(&what, (&b.residual, &b.forces), (&a.residual, &a.forces), 1e-9, 1e-10);
        assert_eq!(a.coupled.len(), b.coupled.len(), "{what}");
        for (x, y) in a.coupled.iter().zip(&b.coupled) {
            close(*y, *x, 1e-9, 0.0, &format!("{what}, residual of turbulence"));
        }
        assert_eq!((a.rejected, a.outcome, a.time_step), (b.rejected, b.outcome, b.time_step), "{what}");
        close(b.cfl, a.cfl, 1e-9, 0.0, &what);
        if let Some(reduction) = a.linear_reduction {
            let found = b.linear_reduction.unwrap();
            close(found, reduction, 1e-6, 1e-9, &format!("{what}, linear reduction"));
        }
        if a.outcome.is_some() {
            break;
        }
    }
    there.sync().unwrap();
    for (x, y) in here.state().iter().zip(there.state()) {
        close(y, *x, 1e-9, 1e-9, &format!("{name}, state"));
    }
    for (a, b) in here.fields().iter().zip(&there.fields()) {
        for (x, y) in a.values.iter().zip(&b.values) {
            close(*y, *x, 1e-9, 1e-9, &format!("{name}, field {}", a.name));
        }
    }
}

#[test]
fn cuda_converges_and_gives_the_same_bits_twice() {
    let Some(gpu) = gpu() else { return };
    let (grid, mut config) = channel();
    config.time = Time::Steady(Steady { iterations: 300, orders: 9.0 });
    let history = || {
        let mut solver = solver(&grid, &config);
        solver.use_gpu(&gpu).unwrap();
        let mut history = Vec::new();
        let outcome = solver.run(|r| {
            history.push(r.residual.clone());
            true
        });
        assert_eq!(outcome, Outcome::Converged, "{:?}", history.last());
        history
    };
    assert_eq!(history(), history());
}

/// A restart written from the device goes on on either side as one run would, also in the middle of a physical step.
#[test]
fn cuda_restarts_go_on_on_either_side() {
    let Some(gpu) = gpu() else { return };
    let (grid, mut config) = (blocks(0.02), config(1));
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 4, orders: 10.0 });
    restarts_go_on(&gpu, || solver(&grid, &config), 7, 1e-11, true);
}

#[test]
fn cuda_names_the_cell_whose_state_is_none() {
    let Some(gpu) = gpu() else { return };
    let (grid, config) = channel();
    let named = |on_gpu: bool| {
        let mut solver = solver(&grid, &config);
        if on_gpu {
            solver.use_gpu(&gpu).unwrap();
        }
        let mut rows = solver.state();
        rows[4 * 17 + 1] = f64::NAN;
        solver.host_to_set().set_rows(&rows);
        let mut bad = None;
        let outcome = solver.run(|r| {
            bad = r.bad.clone().or(bad.take());
            true
        });
        assert!(matches!(outcome, Outcome::Diverged { .. }));
        bad.expect("a cell is named").place
    };
    // The first cell whose residual the bad state spoils: the same on both sides.
    assert_eq!(named(true), named(false));
}
