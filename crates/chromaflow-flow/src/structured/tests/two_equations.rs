//! k and omega beside the flow: their terms against exact ones, derivatives against differences, blocks, steps, restarts.

use super::turbulence::{belt, over_a_wall, plate, rates_of};
use super::*;
use crate::config::{Cfl, Steady, Time, TurbulenceConfig, TurbulenceModel, Unsteady, WallTreatment};
use crate::structured::turbulence::{Way, derivative, direct};
use crate::turbulence::k_omega::{
    KOmega, KOmegaVariant, k_omega_blending, k_omega_rate, k_omega_sources, k_omega_wall,
};
use crate::turbulence::manufactured::{self, SCALE, source_of_two};
use chromaflow::Outcome;

const MODELS: [TurbulenceModel; 3] =
    [TurbulenceModel::Sst, TurbulenceModel::SstVorticity, TurbulenceModel::KOmega];

fn set(solver: &mut StructuredSolver, k: impl Fn([f64; 3]) -> f64, omega: impl Fn([f64; 3]) -> f64) {
    solver.set_unknown("k", k).unwrap();
    solver.set_unknown("omega", omega).unwrap();
}

/// Of uniform turbulence in a uniform flow past a wall that goes with it nothing changes but by sources, in blocks of all orientations.
#[test]
fn uniform_turbulence_changes_by_its_sources_alone() {
    for (model, second_order, terms) in [
        (MODELS[0], false, ViscousTerms::Full),
        (MODELS[1], true, ViscousTerms::ThinLayer),
        (MODELS[2], true, ViscousTerms::Full),
    ] {
        let grid = blocks(wavy([9, 7, 6]));
        let mut config = over_a_wall(&grid, belt(0.5));
        (config.freestream.alpha_deg, config.freestream.beta_deg, config.viscous) = (0.0, 0.0, terms);
        let options = config.turbulence.as_mut().unwrap();
        (options.model, options.second_order) = (model, second_order);
        (options.inflow_k, options.inflow_ratio) = (0.02, 0.02 / (7.0 * 0.5 / 100.0));
        let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
        let free = conserved(GasConfig::default().gas(), &solver.free_stream());
        solver.set_state(|_| free);
        set(&mut solver, |_| 0.02, |_| 7.0);
        let rates = [0, 1].map(|v| rates_of(&mut solver, v));
        let variant = KOmegaVariant::of(model).unwrap();
        let exact = KOmega { variant, ambient_k: 0.0, ambient_omega: 0.0, roughness: 0.0 };
        let (mut far, still) = (0, [[0.0; 3]; 2]);
        for (i, (x, _)) in solver.cells().iter().enumerate() {
            let [f1, f2] = k_omega_blending(exact, &[1.0, 0.5 / 100.0], x[1], &[0.02, 7.0], &still);
            let rate = k_omega_rate(exact, f2, 7.0, &[0.0; 4]);
            let [k, omega, ..] = k_omega_sources(exact, f1, &rate, 1.0, &[0.02, 7.0], &[0.0; 4], &still, 1.0);
            // Next to the wall k and omega diffuse to and from it.
            if x[1] > 0.3 {
                far += 1;
                assert!((rates[0][i] + k).abs() < 1e-12, "{model:?} at {x:?}: {} {k}", rates[0][i]);
                assert!((rates[1][i] + omega).abs() < 1e-10, "{model:?} at {x:?}: {} {omega}", rates[1][i]);
            } else if x[1] < 0.1 {
                assert!(rates[0][i] > -k && rates[1][i] < -omega, "at {x:?} k falls, omega grows");
            }
        }
        assert!(far > 200);
    }
}

/// Residuals of smooth fields, on a wavy grid in a flow along a wall, differ from the equations' exact terms by the order of the advection.
#[test]
fn terms_are_of_the_order_of_the_advection() {
    for (model, second_order, least) in
        [(MODELS[0], false, 0.8), (MODELS[0], true, 1.6), (MODELS[1], true, 1.6), (MODELS[2], true, 1.6)]
    {
        let errors = [12, 24].map(|n| {
            let grid = wavy([n, n, n]);
            let mut config = over_a_wall(&grid, Boundary::Farfield);
            config.boundaries.insert("zmin".to_owned(), Boundary::NoSlipAdiabatic);
            config.freestream.reynolds = config.freestream.mach / SCALE;
            config.gas.sutherland = false;
            let options = config.turbulence.as_mut().unwrap();
            (options.model, options.second_order) = (model, second_order);
            let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
            let gas = GasConfig::default().gas();
            solver.set_state(|x| conserved(gas, &manufactured::flow(&x)));
            set(&mut solver, |x| manufactured::k(&x), |x| manufactured::omega(&x));
            let rates = [0, 1].map(|v| rates_of(&mut solver, v));
            let (mut sums, mut count) = ([0.0; 2], 0.0);
            for (i, (x, _)) in solver.cells().iter().enumerate() {
                let inside =
                    (0.4..1.6).contains(&x[0]) && (0.25..0.75).contains(&x[1]) && (0.2..0.6).contains(&x[2]);
                if inside {
                    let exact = source_of_two(KOmegaVariant::of(model).unwrap(), *x);
                    (0..2).for_each(|v| sums[v] += (rates[v][i] - exact[v]).powi(2));
                    count += 1.0;
                }
            }
            sums.map(|sum: f64| (sum / count).sqrt())
        });
        for v in 0..2 {
            let order = (errors[0][v] / errors[1][v]).log2();
            println!("{model:?} {v}, second order {second_order}: {order:.2}");
            assert!(order > least && order < 3.3, "{model:?} {v}, {second_order}: {errors:?}");
        }
    }
}

/// Turbulence that flows along decays as (1 + beta omega_0 t)^(-beta*/beta) with t = x / U, far from walls.
#[test]
fn free_streams_decay_by_the_exact_law() {
    for (model, beta) in [(MODELS[0], 0.0828), (MODELS[2], 0.0708)] {
        let grid = BoxGrid { cells: [128, 4, 1], size: [4.0, 50.0, 1.0], wave: 0.0 }.grid();
        let mut config = over_a_wall(&grid, belt(0.5));
        config.freestream =
            Freestream { mach: 0.5, reynolds: 1e8, alpha_deg: 0.0, beta_deg: 0.0, ..config.freestream };
        for side in ["ymax", "zmin", "zmax"] {
            config.boundaries.insert(side.to_owned(), Boundary::Symmetry);
        }
        config.implicit.cfl = Cfl { start: 100.0, max: 1e6, growth: 2.0, ..config.implicit.cfl };
        let options = config.turbulence.as_mut().unwrap();
        let omega = 2.0;
        let scale = 0.5 / 1e8;
        *options = TurbulenceConfig {
            model,
            second_order: true,
            inflow_k: 1e-4,
            inflow_ratio: 1e-4 / (omega * scale),
            ..TurbulenceConfig::default()
        };
        config.time = Time::Steady(Steady { iterations: 200, orders: 8.0 });
        let mut solver = StructuredSolver::new(grid, config, team(1)).unwrap();
        let [density, u, v, w, pressure] = solver.free_stream();
        let gas = GasConfig::default().gas();
        solver
            .set_state(|x| conserved(gas, &[density, u, v, w, pressure * (1.0 + 1e-4 * (3.0 * x[0]).sin())]));
        set(&mut solver, |_| 1e-4, |_| omega);
        assert_eq!(solver.run(|_| true), Outcome::Converged, "{:?}", solver.rejections());
        let [k, w] = ["k", "omega"].map(|name| solver.unknown(name).unwrap());
        let mut seen = 0;
        for (i, (x, _)) in solver.cells().iter().enumerate().filter(|(_, (x, _))| x[1] > 30.0) {
            let whole = 1.0 + beta * omega * x[0] / 0.5;
            let exact = [1e-4 * whole.powf(-0.09 / beta), omega / whole];
            let error = [k[i] / exact[0] - 1.0, w[i] / exact[1] - 1.0];
            assert!(error.iter().all(|e| e.abs() < 3e-3), "{model:?} at {x:?}: {error:?}");
            seen += 1;
        }
        assert!(seen > 100);
    }
}

/// The unknowns of all cells after a time of 1 in steps of this length, in a uniform flow between a wall that goes with it and a plane of symmetry, periodic along
/// it; at the beginning they are waves along the flow, of this size over the mean.
fn after_a_while(model: TurbulenceModel, dt: f64, size: f64) -> (Vec<[f64; 3]>, Vec<Vec<f64>>) {
    let grid = BoxGrid { cells: [16, 4, 1], size: [1.0, 50.0, 1.0], wave: 0.0 }.grid();
    let grid = grid.periodic("xmin", "xmax").unwrap();
    let mut config = over_a_wall(&grid, belt(0.5));
    config.freestream =
        Freestream { mach: 0.5, reynolds: 1e8, alpha_deg: 0.0, beta_deg: 0.0, ..config.freestream };
    for side in ["ymax", "zmin", "zmax"] {
        config.boundaries.insert(side.to_owned(), Boundary::Symmetry);
    }
    config.implicit.cfl = Cfl { start: 1e6, max: 1e6, ..config.implicit.cfl };
    config.turbulence.as_mut().unwrap().model = model;
    let steps = (1.0 / dt).round() as usize;
    config.time = Time::Unsteady(Unsteady { dt, steps, subiterations: 30, orders: 6.0 });
    let mut solver = StructuredSolver::new(grid, config, team(1)).unwrap();
    // A simple wave of sound, lest the flow's residual be nothing but rounding.
    let [density, u, v, w, pressure] = solver.free_stream();
    let sound = |x: [f64; 3]| (1e-6 + 0.05 * size) * (std::f64::consts::TAU * x[0]).sin();
    let gas = GasConfig::default().gas();
    solver.set_state(|x| {
        let part = sound(x);
        conserved(gas, &[density * (1.0 + part), u + part, v, w, pressure * (1.0 + gas.gamma * part)])
    });
    let wave = |mean: f64| move |x: [f64; 3]| mean * (1.0 + size * (std::f64::consts::TAU * x[0]).sin());
    let names = solver.coupled_unknowns();
    let means = if names.len() == 1 { [5.0, 0.0] } else { [1e-4, 2.0] };
    for (name, mean) in names.iter().zip(means) {
        solver.set_unknown(name, wave(mean)).unwrap();
    }
    assert_eq!(solver.run(|_| true), Outcome::IterationLimit);
    assert!((solver.time() - 1.0).abs() < 1e-12, "{}", solver.time());
    let places = solver.cells().into_iter().map(|(x, _)| x).collect();
    (places, names.iter().map(|name| solver.unknown(name).unwrap()).collect())
}

/// Steps of a half differ from those of a quarter by a quarter of what whole ones differ from halves.
#[test]
fn steps_in_time_are_of_second_order() {
    for model in [TurbulenceModel::SaNeg, TurbulenceModel::Sst, TurbulenceModel::KOmega] {
        let all = [0.1, 0.05, 0.025].map(|dt| after_a_while(model, dt, 0.2).1);
        for v in 0..all[0].len() {
            let differ =
                |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
            let order = (differ(&all[0][v], &all[1][v]) / differ(&all[1][v], &all[2][v])).log2();
            println!("{model:?} {v}: {order:.2}");
            assert!(order > 1.7 && order < 2.6, "{model:?} {v}: {order}");
        }
    }
}

/// Uniform turbulence decays in time as [`free_streams_decay_by_the_exact_law`] has it along a stream.
#[test]
fn turbulence_decays_in_time_by_the_exact_law() {
    for (model, beta) in [(MODELS[0], 0.0828), (MODELS[2], 0.0708)] {
        let (places, values) = after_a_while(model, 0.02, 0.0);
        let whole: f64 = 1.0 + 2.0 * beta;
        let exact = [1e-4 * whole.powf(-0.09 / beta), 2.0 / whole];
        let far: Vec<usize> = (0..places.len()).filter(|i| places[*i][1] > 30.0).collect();
        assert!(far.len() == 32);
        for v in 0..2 {
            for &i in &far {
                let error = values[v][i] / exact[v] - 1.0;
                assert!(error.abs() < 3e-5, "{model:?} {v} at {:?}: {error:e}", places[i]);
            }
        }
    }
}

/// A flow with all kinds of boundaries on this grid, and turbulence that varies in all directions.
fn scattered(
    grid: Grid,
    threads: usize,
    (model, walls): (TurbulenceModel, WallTreatment),
    second_order: bool,
) -> StructuredSolver {
    let mut config = over_a_wall(&grid, Boundary::NoSlipIsothermal { temperature: 1.2 });
    let total = Boundary::Inlet { total_pressure: 1.2, total_temperature: 1.05, direction: [1.0, 0.0, 0.0] };
    for (side, boundary) in
        [("xmin", total), ("xmax", Boundary::Outlet { pressure: 1.0 }), ("zmin", Boundary::Symmetry)]
    {
        config.boundaries.insert(side.to_owned(), boundary);
    }
    let options = config.turbulence.as_mut().unwrap();
    (options.model, options.second_order, options.walls) = (model, second_order, walls);
    let mut solver = StructuredSolver::new(grid, config, team(threads)).unwrap();
    solver.set_state(smooth);
    set(
        &mut solver,
        |[x, y, z]| 1e-3 * (y + 0.1) * (1.5 + (5.0 * x).sin() * (3.0 * z).cos()),
        |[x, y, z]| (1.0 + 0.5 * (4.0 * x + z).sin()) * (1.0 + 0.1 / (y * y)),
    );
    solver
}

#[test]
fn blocks_of_all_orientations_are_one_block() {
    let treatments = [WallTreatment::Automatic, WallTreatment::Functions, WallTreatment::Resolved];
    for model in MODELS.into_iter().zip(treatments) {
        let run = |grid: Grid, threads: usize| {
            let mut solver = scattered(grid, threads, model, true);
            let flow = solver.rates();
            let [k, omega] = [0, 1].map(|v| rates_of(&mut solver, v));
            let cells = solver.cells().into_iter().map(|(x, _)| x.map(|v| (v * 1e8).round() as i64));
            let rates = flow.into_iter().zip(k.into_iter().zip(omega));
            let mut all: Vec<_> = cells.zip(rates).collect();
            all.sort_by_key(|(x, _)| *x);
            all
        };
        let (one, many) = (run(wavy([9, 7, 6]), 1), run(blocks(wavy([9, 7, 6])), 3));
        for ((x, (a, (k_a, omega_a))), (y, (b, (k_b, omega_b)))) in one.iter().zip(&many) {
            assert_eq!(x, y);
            assert!((k_a - k_b).abs() < 1e-11 * k_a.abs().max(1e-3), "{model:?} at {x:?}: {k_a} {k_b}");
            assert!(
                (omega_a - omega_b).abs() < 1e-11 * omega_a.abs().max(1.0),
                "at {x:?}: {omega_a} {omega_b}"
            );
            assert!((0..5).all(|c| (a[c] - b[c]).abs() < 1e-10), "at {x:?}: {a:?} {b:?}");
        }
    }
}

/// The derivative along a direction against differences: of the residual, and of the eddy viscosity that the flow takes.
#[test]
fn derivatives_along_directions_are_those_of_differences() {
    for (model, second_order) in [
        ((MODELS[0], WallTreatment::Resolved), true),
        ((MODELS[1], WallTreatment::Resolved), false),
        ((MODELS[2], WallTreatment::Resolved), true),
        ((MODELS[0], WallTreatment::Automatic), true),
        ((MODELS[2], WallTreatment::Functions), false),
    ] {
        let mut solver = scattered(blocks(wavy([9, 7, 6])), 2, model, second_order);
        solver.rates();
        let host = solver.synced_mut();
        let (team, physics, turbulence) =
            (Arc::clone(&host.team), host.physics, host.physics.turbulence.unwrap());
        let wave = |x: [f64; 3], k: usize| (3.0 * x[0] + 2.0 * x[1] - x[2] + 1.9 * k as f64).sin();
        let mut ways: Vec<Way> = host.blocks.iter().map(Way::new).collect();
        let bases: Vec<BlockState> = host.blocks.clone();
        for (way, block) in ways.iter_mut().zip(&bases) {
            let len = block.cells.len();
            for at in block.cells.places() {
                let x = std::array::from_fn(|c| block.metrics.center[c][at]);
                (0..5).for_each(|c| way.w[c * len + at] = 0.1 * wave(x, c));
                (0..2).for_each(|v| way.turbulence[v * len + at] = block.turbulence(v, at) * wave(x, 5 + v));
            }
        }
        let h = 1e-6;
        direct(
            &team,
            &physics,
            turbulence,
            &host.patches,
            (&mut host.blocks, &host.part.exchange),
            &mut ways,
            h,
        );
        let eddies: Vec<Vec<f64>> = host.blocks.iter().map(|b| b.eddies.viscosity.clone()).collect();
        derivative(&team, &physics, turbulence, &host.patches, &mut host.blocks, &ways, None);
        let found: Vec<Vec<f64>> = host.blocks.iter().map(|b| b.eddies.r.clone()).collect();
        let moved = [-h, h].map(|step| {
            for ((block, way), base) in host.blocks.iter_mut().zip(&ways).zip(&bases) {
                let len = block.cells.len();
                for at in base.cells.places() {
                    (0..5).for_each(|c| {
                        block.w[c * len + at] = base.w[c * len + at] + step * way.w[c * len + at];
                    });
                    (0..2).for_each(|v| {
                        let i = v * len + at;
                        block.eddies.values[i] = base.eddies.values[i] + step * way.turbulence[i];
                    });
                }
            }
            host.compute_residual(None);
            host.blocks.iter().map(|b| (b.eddies.r.clone(), b.eddies.viscosity.clone())).collect::<Vec<_>>()
        });
        for (b, base) in bases.iter().enumerate() {
            let nb = 2;
            for v in 0..nb {
                let of = |r: &[f64]| -> Vec<f64> {
                    let ni = base.cells.count[0];
                    r.chunks_exact(ni).skip(v).step_by(nb).flatten().copied().collect()
                };
                let (found, low, high) = (of(&found[b]), of(&moved[0][b].0), of(&moved[1][b].0));
                let largest = found.iter().fold(0.0f64, |m, r| m.max(r.abs()));
                for (i, found) in found.iter().enumerate() {
                    let slope = (high[i] - low[i]) / (2.0 * h);
                    assert!(
                        (found - slope).abs() < 2e-6 * largest,
                        "{model:?}, block {b}, {v}, {i}: {found} {slope}"
                    );
                }
            }
            let largest = eddies[b].iter().fold(0.0f64, |m, e| m.max(e.abs()));
            for at in base.cells.places() {
                let end = moved[1][b].1[at];
                assert!(
                    (eddies[b][at] - end).abs() < 1e-9 * largest,
                    "{model:?}, {at}: {} {end}",
                    eddies[b][at]
                );
            }
        }
    }
}

/// With thin layers and advection of first order the matrix of k times k is the residual of k where no boundary is: an M-matrix but for the source.
#[test]
fn the_matrix_is_that_of_the_residual() {
    use crate::structured::turbulence::Links;
    let grid = blocks(wavy([9, 7, 6]));
    let mut solver = scattered(grid, 1, (MODELS[0], WallTreatment::Resolved), false);
    solver.synced_mut().physics.terms = ViscousTerms::ThinLayer;
    solver.rates();
    let host = solver.synced();
    let (turbulence, mut seen) = (host.physics.turbulence.unwrap(), 0);
    for block in &host.blocks {
        let links = Links::new(&host.physics, turbulence, &host.patches, block);
        let cells = block.cells;
        for (number, at) in block.cells.places().enumerate() {
            let cell = cells.cell(at).map(|c| c as usize);
            let slope = links.slope(number);
            let (mut sum, mut inside) =
                (block.metrics.volume[at] * slope[0][0] * block.turbulence(0, at), true);
            for side in 0..6 {
                let link = links.link(cell, at, side).unwrap();
                assert!(link.coupling(0) >= 0.0 && link.coupling(1) >= 0.0);
                let step = cells.stride[side / 2];
                let beyond = if side % 2 == 1 { at + step } else { at - step };
                sum += link.coupling(0) * (block.turbulence(0, at) - block.turbulence(0, beyond));
                let [u, v] = [(side / 2 + 1) % 3, (side / 2 + 2) % 3];
                let end = if side % 2 == 1 { cells.count[side / 2] - 1 } else { 0 };
                let patch = block.patch_of[side][cell[u] + cells.count[u] * cell[v]];
                inside &= cell[side / 2] != end || patch == u32::MAX;
            }
            if inside {
                let r = block.eddies.r[block.turbulence_residual_at(number, 2)];
                assert!((sum - r).abs() < 1e-13 * (1.0 + r.abs()), "at {cell:?}: {sum} {r}");
                seen += 1;
            }
        }
    }
    assert!(seen > 100, "{seen}");
}

/// Walls are felt half a cell away: k goes to nothing there, omega comes from Menter's value by the distance of the first center, or Wilcox's.
#[test]
fn walls_have_no_k_and_an_omega_by_the_first_cell() {
    for (model, roughness) in MODELS.into_iter().flat_map(|model| [(model, 0.0), (model, 0.5)]) {
        let rates = |wall: Boundary| {
            let grid = BoxGrid { cells: [4, 5, 3], size: [1.0; 3], wave: 0.0 }.grid();
            let mut config = over_a_wall(&grid, wall);
            config.boundaries.insert("ymax".to_owned(), Boundary::NoSlipAdiabatic);
            let turbulence = config.turbulence.as_mut().unwrap();
            (turbulence.model, turbulence.roughness) = (model, roughness);
            config.gas.sutherland = false;
            let mut solver = StructuredSolver::new(grid, config, team(1)).unwrap();
            let still = conserved(GasConfig::default().gas(), &[1.25, 0.0, 0.0, 0.0, 1.0]);
            solver.set_state(|_| still);
            set(&mut solver, |_| 0.02, |_| 7.0);
            let rates = [0, 1].map(|v| rates_of(&mut solver, v));
            let first = solver.cells().iter().position(|(x, _)| x[1] < 0.2 && x[0] > 0.3).unwrap();
            [rates[0][first], rates[1][first]]
        };
        let (with, without) = (rates(Boundary::NoSlipAdiabatic), rates(Boundary::Symmetry));
        let variant = KOmegaVariant::of(model).unwrap();
        let exact = KOmega { variant, ambient_k: 0.0, ambient_omega: 0.0, roughness };
        // Height 0.2: mu / (0.1 * 0.2) of the difference; the source's blending sees the other wall from afar.
        let (mu, omega) = (0.5 / 100.0, k_omega_wall(exact, 0.5 / 100.0 / 1.25, 0.1));
        let through = mu / 0.02;
        assert!(
            (with[0] - without[0] - through * 0.02).abs() < 0.05 * through * 0.02,
            "{with:?} {without:?}"
        );
        let entering = through * (omega - 7.0);
        assert!((without[1] - with[1] - entering).abs() < 0.02 * entering, "{with:?} {without:?} {entering}");
    }
}

/// A turbulent plate converges by ten orders, flow, k and omega, and cut in two in its middle it has the same drag, that of turbulent flow.
#[test]
fn plates_converge_and_blocks_change_nothing() {
    let schlichting = 0.455 / 6.0_f64.powf(2.58);
    for model in MODELS {
        let drag = |cut: Option<usize>| {
            let (mut solver, mut last) = (plate(cut, model), Vec::new());
            let outcome = solver.run(|report| {
                last.clone_from(&report.coupled_orders);
                true
            });
            println!("{model:?}, {cut:?}: {} steps", solver.iteration());
            assert_eq!(
                outcome,
                Outcome::Converged,
                "{model:?}, {cut:?} after {}, {last:?}",
                solver.iteration()
            );
            assert!(last.len() == 2 && last.iter().all(|orders| *orders >= 10.0), "{last:?}");
            for name in ["k", "omega"] {
                assert!(solver.unknown(name).unwrap().iter().all(|value| *value > 0.0));
            }
            solver.forces().total.cd
        };
        let (whole, cut) = (drag(None), drag(Some(13)));
        assert!((whole / schlichting - 1.0).abs() < 0.15, "{model:?}: {whole} {schlichting}");
        assert!((cut / whole - 1.0).abs() < 1e-7, "{model:?}: {cut} {whole}");
    }
}

/// A restart goes on as if nothing had been, to what differences of residuals make of rounding; rejected steps give everything back.
#[test]
fn restarts_and_rejected_steps_have_both_unknowns() {
    let make = || plate(Some(13), TurbulenceModel::Sst);
    let (mut one, mut two) = (make(), make());
    (0..4).for_each(|_| drop(one.step()));
    let mut restart = one.restart();
    assert!(two.unknowns_missing_in(&restart).is_empty());
    two.resume(&restart).unwrap();
    let both = |solver: &StructuredSolver| ["k", "omega"].map(|name| solver.unknown(name).unwrap());
    assert_eq!(both(&one), both(&two));
    for _ in 0..3 {
        let (a, b) = (one.step(), two.step());
        let near =
            |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * a.abs().max(1e-6));
        assert!(near(&a.residual, &b.residual) && near(&a.coupled, &b.coupled), "{a:?} {b:?}");
    }
    let before = both(&one);
    one.step();
    assert_ne!(both(&one), before);
    one.host.restore().unwrap();
    assert_eq!(both(&one), before);
    restart.fields.retain(|field| field.name != "omega");
    assert_eq!(two.unknowns_missing_in(&restart), ["omega"]);
    restart.fields.push(crate::output::Field::scalar("omega", vec![0.0; one.grid().cells()]));
    let error = two.resume(&restart).unwrap_err().to_string();
    assert!(error.contains("omega") && error.contains("out of its range"), "{error}");
}

/// Steps from a wild state stay positive.
#[test]
fn values_stay_positive() {
    for model in MODELS {
        let mut solver = plate(None, model);
        solver.set_unknown("omega", |x| 10.0 * (20.0 * x[0]).sin().abs() + 1e-3).unwrap();
        solver.set_unknown("k", |x| 1e-3 * (9.0 * x[0] + 30.0 * x[1]).sin().powi(4) + 1e-12).unwrap();
        for _ in 0..20 {
            solver.step();
            for name in ["k", "omega"] {
                assert!(solver.unknown(name).unwrap().iter().all(|value| *value > 0.0), "{model:?}");
            }
        }
    }
}
