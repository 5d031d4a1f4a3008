//! Turbulence on the device beside the host's: residuals and coefficients, the matrix, steps, whole marches.

use super::super::super::{Config, Solver};
use super::super::FlowCuda;
use super::super::tests::{blocks, compare_histories, config, plate, turned};
use crate::config::{
    Cfl, GridLength, Hybrid, NewtonKrylov, Quadratic, Region, Rotation, Steady, Time, TurbulenceConfig,
    TurbulenceModel, Unsteady, WallTreatment,
};
use crate::grid::Grid;
use crate::grid::generate::BoxGrid;
use crate::incompressible::config::Flux;
use crate::march::Device;
use crate::testgpu::{close, gpu, restarts_go_on};
use chromaflow::gpu::Wish;
use chromaflow::{Outcome, Storage};
use chromaflow_device::Team;
use chromaflow_device::cuda::DeviceBuffer;
use std::sync::Arc;

/// Between -1 and 1, of a place: without any order.
fn noise(x: [f64; 3], salt: u64) -> f64 {
    let mix = |h: u64, v: u64| (h ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    // Places are alike to a millionth, whatever their last bits.
    let bits = x.map(|v| (v * 1e6).round() as i64 as u64);
    let hash = bits.into_iter().fold(mix(salt, 0x5bd1_e995), mix).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// Every model, advection of both orders, and what some of them have besides.
fn models() -> [TurbulenceConfig; 13] {
    let of = |model, second_order| TurbulenceConfig {
        model,
        second_order,
        inflow_k: 2e-3,
        inflow_ratio: 4.0,
        ..TurbulenceConfig::default()
    };
    let laminar = vec![Region { from: [-1.0; 3], to: [0.7, 2.0, 2.0] }];
    [
        of(TurbulenceModel::SaNeg, true),
        TurbulenceConfig { rotation: Rotation::Rotating, ..of(TurbulenceModel::Sa, false) },
        TurbulenceConfig { laminar, ..of(TurbulenceModel::SaNoFt2, true) },
        TurbulenceConfig { prandtl: 0.7, ..of(TurbulenceModel::Sst, true) },
        TurbulenceConfig { sustained: true, cfl_ratio: 0.5, ..of(TurbulenceModel::SstVorticity, false) },
        of(TurbulenceModel::KOmega, true),
        TurbulenceConfig {
            hybrid: Hybrid::Ddes,
            grid_length: GridLength::AcrossVorticity,
            ..of(TurbulenceModel::SaNeg, true)
        },
        TurbulenceConfig { hybrid: Hybrid::Iddes, ..of(TurbulenceModel::Sst, true) },
        TurbulenceConfig { walls: WallTreatment::Automatic, ..of(TurbulenceModel::Sst, true) },
        TurbulenceConfig { walls: WallTreatment::Functions, ..of(TurbulenceModel::KOmega, false) },
        TurbulenceConfig { walls: WallTreatment::Functions, ..of(TurbulenceModel::Sa, true) },
        TurbulenceConfig { quadratic: Quadratic::Qcr2000, ..of(TurbulenceModel::Sst, true) },
        TurbulenceConfig {
            quadratic: Quadratic::Qcr2020,
            walls: WallTreatment::Automatic,
            ..of(TurbulenceModel::SaNeg, true)
        },
    ]
}

/// The same, and in steady flow SA-RC.
fn models_of(config: &Config) -> Vec<TurbulenceConfig> {
    let mut all = models().to_vec();
    if let Time::Steady(_) = config.time {
        all.push(TurbulenceConfig {
            rotation: Rotation::Curved,
            quadratic: Quadratic::Qcr2020,
            ..all[0].clone()
        });
    }
    all
}

/// Grids with walls that go along themselves and do not, inflow, outflow, farfield, symmetry; periodic and turned ones, where the cell itself is next to it too.
fn grids() -> Vec<(&'static str, Grid, Config)> {
    let first = |mut config: Config| {
        config.space.second_order = false;
        config
    };
    let limited = |mut config: Config| {
        config.space.limited = true;
        config
    };
    let central = |mut config: Config| {
        config.space.flux = Flux::Central { fourth: 0.03, convective: 0.1 };
        config
    };
    let in_time = |mut config: Config| {
        config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 3, orders: 10.0 });
        config
    };
    let (periodic, between) = super::super::tests::periodic();
    let (around, spun) = turned(5, 1);
    let (alone, in_ring) = turned(1, 0);
    let (layer, along) = plate();
    vec![
        ("wavy blocks", blocks(0.03), config(0)),
        ("wavy blocks, two scalars, first order", blocks(0.03), first(config(2))),
        ("straight blocks, limited", blocks(0.0), limited(config(1))),
        ("wavy blocks, central, in time", blocks(0.02), in_time(central(config(1)))),
        ("periodic", periodic, between),
        ("turned sides", around, spun),
        ("turned sides of one cell", alone, in_ring),
        ("plate", layer, along),
    ]
}

/// A solver of turbulent flow, in disorder or not; of nut also negative values where the model has them.
fn solver(grid: &Grid, config: &Config, model: &TurbulenceConfig, roughness: f64) -> Solver {
    let config = Config { turbulence: Some(model.clone()), ..config.clone() };
    let nut = model.model.is_spalart_allmaras();
    let most = if model.model == TurbulenceModel::SaNeg { 5.0 } else { 2.5 };
    let mut solver = Solver::new(grid, config, Arc::new(Team::new(2))).unwrap();
    let (n, own) = (solver.unknowns(), model.model.unknowns());
    solver.set_state(|x| {
        let bump = (-8.0 * x.iter().map(|x| (x - 0.4).powi(2)).sum::<f64>()).exp();
        let rough = |salt: u64| roughness * noise(x, salt);
        let flow = |c: usize| {
            let mean = [0.1, 0.5, 0.2, -0.1].get(c).copied().unwrap_or(0.3);
            mean + 0.1 * (c + 1) as f64 * bump + 0.2 * rough(c as u64)
        };
        let mut state: Vec<f64> = (0..n - own).map(flow).collect();
        if nut {
            state.push(3.0 + most * rough(71));
        } else {
            state.extend([2e-3 * (2.0 + 1.5 * rough(71)), 5.0 * (2.0 + 1.5 * rough(72))]);
        }
        state
    });
    solver
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0_f64, |m, v| m.max(v.abs()))
}

/// Numbers of the host beside those of the device, each within a share of the largest and `floor`.
fn compare(what: &str, here: &[f64], there: &[f64], floor: f64) {
    assert_eq!(here.len(), there.len(), "{what}");
    let floor = 1e-12 * largest(here) + floor;
    for (i, (here, there)) in here.iter().zip(there).enumerate() {
        assert!(here.is_finite(), "{what} {i}: {here}");
        close(*there, *here, 1e-11, floor, &format!("{what} {i}"));
    }
}

/// Numbers of an array of rows, one in `n`.
fn each(values: &[f64], n: usize, c: usize) -> Vec<f64> {
    values.iter().skip(c).step_by(n).copied().collect()
}

/// Residuals and coefficients, then all blocks of the matrix, entry by entry, of states in disorder; what is written stands on what is no number before.
#[test]
fn cuda_turbulent_residuals_and_matrices_are_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let nowhere = |buffer: &mut DeviceBuffer<f64>| buffer.fill_bytes(0xff).unwrap();
    for (name, grid, config) in grids() {
        for model in models_of(&config) {
            let what = format!("{name}, {:?}", model.model);
            let mut solver = solver(&grid, &config, &model, 1.0);
            let at = solver.moment();
            let host = solver.host_to_set();
            host.prepare_system(&at);
            let mut device = FlowCuda::new(&gpu.stream().unwrap(), host, Wish::Shortest).unwrap();
            Device::upload(&mut device, host).unwrap();
            let (n, whole) = (host.n, host.space.axes.len() == 3);
            for buffer in [&mut device.residual, &mut device.steps, &mut device.matrix.diag] {
                nowhere(buffer);
            }
            // Along the axis of a planar grid nothing is written.
            if whole {
                nowhere(&mut device.matrix.lower);
                nowhere(&mut device.matrix.upper);
            }
            nowhere(&mut device.eddies.as_mut().unwrap().sources);
            device.compute_residual(at.time_factors()).unwrap();
            let r = device.residual.download().unwrap();
            for c in 0..n {
                let (here, there) = (each(&host.residual, n, c), each(&r, n, c));
                assert!(largest(&here) > 0.0, "{what}, residual {c}");
                compare(&format!("{what}, residual {c}"), &here, &there, 0.0);
            }
            let eddies = device.eddies.as_ref().unwrap();
            let coefficients = eddies.coefficients.download().unwrap();
            let turbulence = host.turbulence.as_ref().unwrap();
            let viscosity = |all: &mut dyn FnMut(f64, f64)| {
                let offsets = device.grid.arrays.offsets();
                for ((block, of), first) in host.space.blocks.iter().zip(&turbulence.blocks).zip(offsets) {
                    block.cells.places().for_each(|at| all(of.coefficient(0)[at], coefficients[first + at]));
                }
            };
            let (mut here, mut there) = (Vec::new(), Vec::new());
            viscosity(&mut |a, b| {
                here.push(a);
                there.push(b);
            });
            assert!(largest(&here) > 0.0, "{what}, eddy viscosity");
            compare(&format!("{what}, eddy viscosity"), &here, &there, 0.0);
            device.assemble(at.cfl, at.time_shift()).unwrap();
            let turns = !host.system.matrices.is_empty();
            let of_host = |of: fn(&chromaflow::factor::structured_ilu::StencilMatrix) -> &[f64]| {
                host.system.blocks.iter().flat_map(of).copied().collect::<Vec<f64>>()
            };
            let mut parts = vec![("diagonal", of_host(|a| &a.diag), &device.matrix.diag)];
            // Couplings with turned cells are turned where they are used.
            if !turns {
                parts.push(("below", of_host(|a| &a.lower), &device.matrix.lower));
                parts.push(("above", of_host(|a| &a.upper), &device.matrix.upper));
            }
            for (part, here, there) in parts {
                let there = there.download().unwrap();
                // Entries of one place together, which are of one size; roundings are those of their rows.
                let rows: Vec<f64> = (0..n).map(|r| 1e-14 * largest(&each(&here, n, r))).collect();
                for entry in 0..n * n {
                    let of = format!("{what}, {part}, entry {entry}, cell");
                    compare(&of, &each(&here, n * n, entry), &each(&there, n * n, entry), rows[entry % n]);
                }
            }
        }
    }
}

/// Histories of every model, steady and in time; norms of all unknowns, forces, CFL numbers, linear reductions, states and fields.
#[test]
fn cuda_turbulent_histories_are_the_hosts() {
    let Some(gpu) = gpu() else { return };
    for (name, grid, config) in grids() {
        for model in models_of(&config) {
            let what = format!("{name}, {:?}", model.model);
            compare_histories(&gpu, &what, || solver(&grid, &config, &model, 0.0));
        }
    }
    let (grid, mut config) = plate();
    config.implicit.ilu.storage = Storage::F16;
    for model in models() {
        compare_histories(&gpu, "couplings in f16", || solver(&grid, &config, &model, 0.0));
    }
}

/// Few cells in two blocks, all kinds of boundaries, for compute-sanitizer.
#[test]
fn cuda_small_turbulent_case() {
    let Some(gpu) = gpu() else { return };
    let grid = BoxGrid { cells: [5, 4, 3], size: [2.0, 1.0, 0.8], wave: 0.03 }.grid().split(0, 0, 2).unwrap();
    let mut config = config(1);
    config.time = Time::Steady(Steady { iterations: 2, orders: 12.0 });
    for model in models() {
        compare_histories(&gpu, "small", || solver(&grid, &config, &model, 0.0));
    }
    let (grid, mut config) = turned(1, 1);
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 2, subiterations: 1, orders: 10.0 });
    for model in models() {
        compare_histories(&gpu, "small, turned", || solver(&grid, &config, &model, 0.0));
    }
}

/// From the layer that runs begin with to round-off, twice with the same bits, in as many steps as on the CPU, with its drag: by plain steps and by Newton-Krylov's, whose numbers of
/// directions rounding may change.
#[test]
fn cuda_turbulent_plates_converge_as_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    let (grid, mut config) = plate();
    config.time = Time::Steady(Steady { iterations: 600, orders: 9.0 });
    // Plain steps of k-omega swing at larger CFL numbers, and come down slowly once these have been cut.
    let mut bounded = config.clone();
    bounded.implicit.cfl.max = 300.0;
    let mut by_newton = config.clone();
    by_newton.implicit.newton = Some(NewtonKrylov::default());
    by_newton.implicit.cfl = Cfl { max: 1e6, growth: 2.0, ..config.implicit.cfl };
    let resolved = WallTreatment::Resolved;
    for (config, model, walls, apart) in [
        (&config, TurbulenceModel::SaNeg, resolved, 2),
        (&config, TurbulenceModel::Sst, resolved, 2),
        (&bounded, TurbulenceModel::KOmega, resolved, 2),
        (&by_newton, TurbulenceModel::SaNeg, resolved, 8),
        (&by_newton, TurbulenceModel::Sst, resolved, 8),
        (&by_newton, TurbulenceModel::KOmega, WallTreatment::Automatic, 8),
    ] {
        let turbulence = TurbulenceConfig { model, walls, inflow_k: 1e-6, ..TurbulenceConfig::default() };
        let config = Config { turbulence: Some(turbulence), ..config.clone() };
        let run = |on_gpu: bool| {
            let mut solver = Solver::new(&grid, config.clone(), Arc::new(Team::new(2))).unwrap();
            if on_gpu {
                solver.use_gpu(&gpu).unwrap();
            }
            let mut history = Vec::new();
            let outcome = solver.run(|r| {
                let all: Vec<f64> = r.residual.iter().chain(&r.coupled).copied().collect();
                history.push(all);
                true
            });
            assert_eq!(outcome, Outcome::Converged, "{model:?}: {:?}", history.last());
            solver.sync().unwrap();
            let outflow = solver.outflow("outlet");
            (history, solver.forces().total.cd, outflow, solver.y_plus())
        };
        let (here, there) = (run(false), run(true));
        assert_eq!(there.0, run(true).0, "the same bits");
        let (steps, steps_here) = (there.0.len(), here.0.len());
        println!("{model:?}, {walls:?}: {steps} steps, on the host {steps_here}");
        assert!(steps.abs_diff(steps_here) <= apart, "{model:?}: {steps} {steps_here}");
        close(there.1, here.1, 1e-8, 0.0, "drag");
        for (a, b) in here.2.iter().zip(&there.2) {
            close(*b, *a, 1e-8, 1e-12, "outflow");
        }
        assert_eq!(here.3.len(), there.3.len());
        for ((_, a), (_, b)) in here.3.iter().zip(&there.3) {
            close(b.mean, a.mean, 1e-7, 0.0, "y+");
        }
    }
}

/// A restart written from the device goes on on either side as one run would, also in the middle of a physical step.
#[test]
fn cuda_turbulent_restarts_go_on_on_either_side() {
    let Some(gpu) = gpu() else { return };
    let (grid, mut config) = (blocks(0.02), config(1));
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 4, orders: 10.0 });
    for model in models() {
        restarts_go_on(&gpu, || solver(&grid, &config, &model, 0.0), 7, 1e-11, true);
    }
}

/// The first cell that a bad value of the model spoils is named as on the host.
#[test]
fn cuda_names_the_cell_whose_turbulence_is_none() {
    let Some(gpu) = gpu() else { return };
    let (grid, config) = plate();
    let named = |on_gpu: bool| {
        let mut solver = solver(&grid, &config, &models()[3], 0.0);
        if on_gpu {
            solver.use_gpu(&gpu).unwrap();
        }
        let n = solver.unknowns();
        let mut rows = solver.state();
        rows[n * 17 + n - 1] = f64::NAN;
        solver.host_to_set().set_rows(&rows);
        let mut bad = None;
        let outcome = solver.run(|r| {
            bad = r.bad.clone().or(bad.take());
            true
        });
        assert!(matches!(outcome, Outcome::Diverged { .. }));
        bad.expect("a cell is named").place
    };
    assert_eq!(named(true), named(false));
}
