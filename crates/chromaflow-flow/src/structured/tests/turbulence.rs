//! Spalart-Allmaras beside the flow: its terms against formulas, blocks, steps, restarts, mistakes.

use super::*;
use crate::bc::Motion;
use crate::config::{
    Cfl, GridLength, Hybrid, Quadratic, Region, Rotation, Steady, Time, TurbulenceConfig, TurbulenceModel,
    WallTreatment,
};
use crate::grid::generate::FlatPlate;
use crate::structured::lax_wendroff::{LaxWendroff, LaxWendroffSolver};
use crate::turbulence::spalart_allmaras::{SaVariant, SpalartAllmaras, sa_source};
use chromaflow::Outcome;

pub(super) const ROE: Scheme = Scheme::Roe { kappa: 1.0 / 3.0, limited: false };

/// Turbulent flow in a box above its side `ymin`, all others far fields.
pub(super) fn over_a_wall(grid: &Grid, wall: Boundary) -> StructuredConfig {
    let mut config = config(grid, ROE, Equations::Laminar);
    config.boundaries.insert("ymin".to_owned(), wall);
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    config.turbulence = Some(TurbulenceConfig::default());
    config
}

/// A wall that goes with the stream.
pub(super) fn belt(mach: f64) -> Boundary {
    Boundary::MovingWall { motion: Motion { velocity: [mach, 0.0, 0.0], ..Motion::NONE }, temperature: None }
}

/// Rates of change of an unknown without the flow's: the residual over volumes.
pub(super) fn rates_of(solver: &mut StructuredSolver, v: usize) -> Vec<f64> {
    solver.rates();
    let nb = solver.coupled_unknowns().len();
    let of = |block: &BlockState| {
        let rates = block.cells.places().zip(block.turbulence_residual(v, nb));
        rates.map(|(at, r)| r / block.metrics.volume[at]).collect::<Vec<_>>()
    };
    solver.synced_mut().blocks.iter().flat_map(of).collect()
}

/// nut over all cells, and its rates.
fn rates_of_nut(solver: &mut StructuredSolver, nut: impl Fn([f64; 3]) -> f64) -> Vec<f64> {
    solver.set_unknown("nut", nut).unwrap();
    rates_of(solver, 0)
}

/// Of a uniform flow past a wall that goes with it nothing changes but by the model's sources, in blocks of all orientations.
#[test]
fn a_uniform_flow_changes_by_its_sources_alone() {
    for (second_order, terms) in [(false, ViscousTerms::Full), (true, ViscousTerms::ThinLayer)] {
        let grid = blocks(wavy([9, 7, 6]));
        let mut config = over_a_wall(&grid, belt(0.5));
        (config.freestream.alpha_deg, config.freestream.beta_deg, config.viscous) = (0.0, 0.0, terms);
        config.turbulence.as_mut().unwrap().second_order = second_order;
        let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
        let free = conserved(GasConfig::default().gas(), &solver.free_stream());
        solver.set_state(|_| free);
        let rates = rates_of_nut(&mut solver, |_| 3.0);
        let flow = solver.rates().as_flattened().iter().fold(0.0f64, |m, r| m.max(r.abs()));
        assert!(flow < 1e-12, "{flow:e}");
        let model = SpalartAllmaras { variant: SaVariant::Negative, scale: 0.5 / 100.0 };
        let mut far = 0;
        for ((x, _), rate) in solver.cells().iter().zip(rates) {
            // Next to the wall nut diffuses to it, and advection of second order looks two cells far.
            let [source, _] = sa_source(model, 1.0, 3.0, 0.0, x[1]);
            if x[1] > 0.3 {
                far += 1;
                assert!((rate + source).abs() < 1e-12, "at {x:?}: {rate} {source}");
            } else if x[1] < 0.1 {
                assert!(rate > -source, "at {x:?} it falls");
            }
        }
        assert!(far > 200);
    }
}

/// Nothing is produced in cells of regions that are kept laminar, and no other cell changes.
#[test]
fn nothing_is_produced_in_laminar_cells() {
    let half = Region { from: [-9.0; 3], to: [0.5, 9.0, 9.0] };
    let rates = |laminar: Vec<Region>| {
        let grid = blocks(wavy([9, 7, 6]));
        let mut config = over_a_wall(&grid, Boundary::NoSlipAdiabatic);
        config.turbulence.as_mut().unwrap().laminar = laminar;
        let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
        let gas = GasConfig::default().gas();
        solver.set_state(|x| conserved(gas, &[1.0, 0.4 * x[1], 0.0, 0.0, 1.0 / 1.4]));
        let places: Vec<[f64; 3]> = solver.cells().iter().map(|(x, _)| *x).collect();
        (rates_of_nut(&mut solver, |_| 30.0), places)
    };
    let (turbulent, places) = rates(Vec::new());
    let (laminar, _) = rates(vec![half]);
    let mut less = 0;
    for ((with, without), x) in turbulent.iter().zip(&laminar).zip(&places) {
        if half.holds(x, 3) {
            assert!(without >= with, "at {x:?}: {with} {without}");
            less += usize::from(without > with);
        } else {
            assert_eq!(with, without, "at {x:?}");
        }
    }
    assert!(less > 50, "{less}");
}

/// A smooth nut that is no solution.
fn smooth_nut(x: [f64; 3]) -> f64 {
    4.0 + 2.0 * (1.5 * x[0] - 0.4).sin() * (2.0 * x[1]).cos() - (1.3 * x[2] + x[0]).cos()
}

#[test]
fn blocks_of_all_orientations_are_one_block() {
    let rotating =
        TurbulenceConfig { second_order: true, rotation: Rotation::Rotating, ..TurbulenceConfig::default() };
    let curved = TurbulenceConfig {
        rotation: Rotation::Curved,
        quadratic: Quadratic::Qcr2020,
        walls: WallTreatment::Automatic,
        ..TurbulenceConfig::default()
    };
    let hybrid = TurbulenceConfig {
        hybrid: Hybrid::Ddes,
        grid_length: GridLength::AcrossVorticity,
        quadratic: Quadratic::Qcr2000,
        ..TurbulenceConfig::default()
    };
    [rotating, curved, hybrid].iter().for_each(one_block);
}

fn one_block(options: &TurbulenceConfig) {
    let run = |grid: Grid, threads: usize| {
        let mut config = over_a_wall(&grid, Boundary::NoSlipAdiabatic);
        config.turbulence = Some(options.clone());
        let mut solver = StructuredSolver::new(grid, config, team(threads)).unwrap();
        solver.set_state(smooth);
        let nut = rates_of_nut(&mut solver, smooth_nut);
        let flow = solver.rates();
        let cells = solver.cells().into_iter().map(|(x, _)| x.map(|v| (v * 1e8).round() as i64));
        let mut all: Vec<_> = cells.zip(flow.into_iter().zip(nut)).collect();
        all.sort_by_key(|(x, _)| *x);
        all
    };
    let (one, many) = (run(wavy([9, 7, 6]), 1), run(blocks(wavy([9, 7, 6])), 3));
    let size = one.iter().fold(0.0f64, |m, (_, (_, nut))| m.max(nut.abs()));
    for ((x, (a, nut_a)), (y, (b, nut_b))) in one.iter().zip(&many) {
        assert_eq!(x, y);
        assert!((nut_a - nut_b).abs() < 1e-12 * size, "at {x:?}: {nut_a} {nut_b}");
        assert!((0..5).all(|c| (a[c] - b[c]).abs() < 1e-10), "at {x:?}: {a:?} {b:?}");
    }
}

/// On a wavy grid advection by a uniform stream and diffusion differ from the equation's terms with the square of the spacing, by first-order
/// advection with the spacing itself.
#[test]
fn terms_are_of_the_order_that_is_asked_for() {
    let wave = [2.0, -1.0, 1.5];
    let error = |n: usize, second_order: bool, mach: f64, reynolds: f64| {
        let grid = wavy([n, n, n]);
        let mut config = over_a_wall(&grid, belt(mach));
        config.freestream = Freestream { mach, reynolds, alpha_deg: 0.0, ..config.freestream };
        config.freestream.beta_deg = 0.0;
        config.turbulence.as_mut().unwrap().second_order = second_order;
        let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
        let free = conserved(GasConfig::default().gas(), &solver.free_stream());
        solver.set_state(|_| free);
        let phase = |x: [f64; 3]| (0..3).map(|d| wave[d] * x[d]).sum::<f64>() + 0.4;
        let rates = rates_of_nut(&mut solver, |x| 5.0 + phase(x).sin());
        let (scale, square) = (mach / reynolds, wave.iter().map(|a| a * a).sum::<f64>());
        let model = SpalartAllmaras { variant: SaVariant::Negative, scale };
        let (mut sum, mut counted) = (0.0f64, 0u32);
        for ((x, _), rate) in solver.cells().iter().zip(rates) {
            if !(0.4..1.6).contains(&x[0]) || !(0.25..0.75).contains(&x[1]) || !(0.2..0.6).contains(&x[2]) {
                continue;
            }
            let (s, c) = phase(*x).sin_cos();
            let nut = 5.0 + s;
            let diffused = scale * 1.5 * square * (c * c * 1.622 - (1.0 + nut) * s);
            let [source, _] = sa_source(model, 1.0, nut, 0.0, x[1]);
            let exact = mach * wave[0] * c - diffused - source;
            sum += (rate - exact).powi(2);
            counted += 1;
        }
        (sum / f64::from(counted)).sqrt()
    };
    for (second_order, mach, reynolds, least, most) in
        [(false, 0.01, 1.0, 1.6, 2.4), (true, 0.5, 1e9, 1.6, 3.3), (false, 0.5, 1e9, 0.8, 1.3)]
    {
        let order =
            (error(12, second_order, mach, reynolds) / error(24, second_order, mach, reynolds)).log2();
        assert!(order > least && order < most, "{second_order}, Re {reynolds:e}: order {order}");
    }
}

/// The derivative of the friction on a wall by the cell's state, adiabatic or not, against differences; where the wall moves but for its work.
#[test]
fn walls_have_the_derivative_of_their_friction() {
    for wall in [Boundary::NoSlipAdiabatic, Boundary::NoSlipIsothermal { temperature: 1.2 }] {
        let grid = BoxGrid { cells: [2, 3, 2], size: [1.0, 0.01, 1.0], wave: 0.0 }.grid();
        let mut config = over_a_wall(&grid, wall);
        config.gas.sutherland = false;
        let mut solver = StructuredSolver::new(grid, config, team(1)).unwrap();
        let gas = GasConfig::default().gas();
        let q = conserved(gas, &[1.1, 0.3, 0.02, -0.1, 0.8]);
        let flux = |solver: &mut StructuredSolver, q: [f64; 5]| {
            solver.set_state(|_| q);
            let (host, mut physics) = (solver.synced(), solver.synced().physics);
            let patch = host.patches.iter().find(|patch| patch.name == "ymin").unwrap();
            let (cell, x) = patch.faces[1];
            let view = patch.view(&host.blocks[0], host.blocks[0].cells.inside(cell));
            let with = (patch.flux(&physics, &view, &x).0, patch.jacobian(&physics, &view));
            // What viscosity adds.
            physics.transport = None;
            let without = (patch.flux(&physics, &view, &x).0, patch.jacobian(&physics, &view));
            let flux: [f64; 5] = std::array::from_fn(|c| with.0[c] - without.0[c]);
            let jacobian: [f64; 25] = std::array::from_fn(|e| with.1[e] - without.1[e]);
            (flux, jacobian)
        };
        let (_, jacobian) = flux(&mut solver, q);
        let size = jacobian.iter().fold(0.0f64, |m, e| m.max(e.abs()));
        for column in 0..5 {
            let moved = |h: f64| {
                let mut moved = q;
                moved[column] += h;
                moved
            };
            let (above, below) = (flux(&mut solver, moved(1e-6)).0, flux(&mut solver, moved(-1e-6)).0);
            for row in 0..5 {
                let slope = (above[row] - below[row]) / 2e-6;
                let found = jacobian[5 * column + row];
                assert!((slope - found).abs() < 1e-7 * size, "{wall:?} {row} {column}: {slope} {found}");
            }
        }
    }
}

/// A plate of length 1 at a Reynolds number of a million on a small grid.
pub(super) fn plate(cut: Option<usize>, model: TurbulenceModel) -> StructuredSolver {
    let (grid, config) = plate_case(cut, model);
    StructuredSolver::new(grid, config, team(1)).unwrap()
}

pub(in crate::structured) fn plate_case(
    cut: Option<usize>,
    model: TurbulenceModel,
) -> (Grid, StructuredConfig) {
    let mut grid = FlatPlate { cells: [8, 16, 24], height: 0.4, growth: 1.45 }.grid();
    if let Some(at) = cut {
        grid = grid.split(0, 0, at).unwrap();
    }
    let total = Boundary::Inlet {
        total_pressure: 1.008_f64.powf(3.5),
        total_temperature: 1.008,
        direction: [1.0, 0.0, 0.0],
    };
    let sides = [
        ("inlet", total),
        ("outlet", Boundary::Outlet { pressure: 1.0 }),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::NoSlipAdiabatic),
        ("top", Boundary::Farfield),
    ];
    let config = StructuredConfig {
        freestream: Freestream { mach: 0.2, reynolds: 1e6, ..Freestream::default() },
        equations: Equations::Laminar,
        scheme: ROE,
        turbulence: Some(TurbulenceConfig { model, ..TurbulenceConfig::default() }),
        boundaries: sides.map(|(name, boundary)| (name.to_owned(), boundary)).into(),
        implicit: LineImplicit {
            nonlinear: Nonlinear::NewtonKrylov(NewtonKrylov::default()),
            cfl: Cfl { start: 2.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true },
            ..LineImplicit::default()
        },
        time: Time::Steady(Steady { iterations: 200, orders: 10.0 }),
        ..StructuredConfig::default()
    };
    (grid, config)
}

/// A turbulent plate converges by ten orders, flow and model; cut in two in its middle it has the same drag, and both forms of the model agree
/// where nut is nowhere negative. The drag is that of turbulent flow: Prandtl and Schlichting's formula on this length.
#[test]
fn plates_converge_and_blocks_change_nothing() {
    let drag = |mut solver: StructuredSolver| {
        let mut last = None;
        let outcome = solver.run(|report| {
            last = Some(report.coupled_orders[0]);
            true
        });
        assert_eq!(outcome, Outcome::Converged, "after {}", solver.iteration());
        assert!(last >= Some(10.0), "{last:?}");
        assert!(solver.unknown("nut").unwrap().iter().all(|nut| *nut > 0.0));
        let heights = solver.y_plus();
        assert!(heights.len() == 1 && heights[0].1.max < 5.0, "{heights:?}");
        solver.forces().total.cd
    };
    let whole = drag(plate(None, TurbulenceModel::SaNeg));
    let schlichting = 0.455 / 6.0_f64.powf(2.58);
    assert!((whole / schlichting - 1.0).abs() < 0.1, "{whole} {schlichting}");
    for (cut, model) in [(Some(13), TurbulenceModel::SaNeg), (None, TurbulenceModel::Sa)] {
        let other = drag(plate(cut, model));
        assert!((other / whole - 1.0).abs() < 1e-7, "{cut:?}, {model:?}: {other} {whole}");
    }
}

/// A restart goes on as if nothing had been, to what differences of residuals make of rounding; one without the model begins with the free stream's nut.
#[test]
fn restarts_have_the_variable() {
    let make = || plate(Some(13), TurbulenceModel::SaNeg);
    let (mut one, mut two) = (make(), make());
    (0..4).for_each(|_| drop(one.step()));
    let mut restart = one.restart();
    assert!(two.unknowns_missing_in(&restart).is_empty());
    two.resume(&restart).unwrap();
    for _ in 0..3 {
        let (a, b) = (one.step(), two.step());
        let near =
            |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() <= 1e-5 * a.abs().max(1e-6));
        assert!(near(&a.residual, &b.residual) && near(&a.coupled, &b.coupled), "{a:?} {b:?}");
    }
    restart.fields.retain(|field| field.name != "nut");
    let mut old = make();
    assert_eq!(old.unknowns_missing_in(&restart), ["nut"]);
    old.resume(&restart).unwrap();
    assert!(old.unknown("nut").unwrap().iter().all(|nut| *nut == 3.0));
    restart.fields.push(crate::output::Field::scalar("nut", vec![1.0; 7]));
    let error = old.resume(&restart).unwrap_err().to_string();
    assert!(error.contains("nut") && error.contains("7 values"), "{error}");
}

/// nut's residual is measured by each cell's own value, negative or not, with the stream's added.
#[test]
fn residuals_of_nut_are_measured_by_each_cells_own_value() {
    let mut solver = plate(Some(13), TurbulenceModel::SaNeg);
    let rates = rates_of_nut(&mut solver, |x| 40.0 * (3.0 * x[0]).sin());
    let (nut, mut sum, mut all) = (solver.unknown("nut").unwrap(), 0.0, 0.0);
    assert!(nut.iter().any(|nut| *nut < -3.0) && nut.iter().any(|nut| *nut > 30.0));
    for ((rate, nut), (_, volume)) in rates.iter().zip(&nut).zip(solver.cells()) {
        sum += (rate / (nut.abs() + 3.0)).powi(2) * volume;
        all += volume;
    }
    let (told, norm) = (solver.step().coupled[0], (sum / all).sqrt());
    assert!((told / norm - 1.0).abs() < 1e-12, "{told:e} {norm:e}");
}

/// A step that is rejected gives nut back.
#[test]
fn rejected_steps_give_everything_back() {
    let mut solver = plate(None, TurbulenceModel::SaNeg);
    (0..3).for_each(|_| drop(solver.step()));
    let (state, nut) = (solver.state(), solver.unknown("nut"));
    solver.step();
    assert!(solver.unknown("nut") != nut);
    solver.host.restore().unwrap();
    assert!(solver.state() == state && solver.unknown("nut") == nut);
    solver.set_unknown("nut", |x| if x[0] > 0.9 { f64::NAN } else { 3.0 }).unwrap();
    assert!(solver.host.first_bad().is_some_and(|row| solver.cells()[row].0[0] > 0.9));
}

/// Distances are those from the images of walls beyond periodic sides, too.
#[test]
fn walls_beyond_a_period_are_near() {
    let grid = BoxGrid { cells: [8, 4, 2], size: [2.0, 1.0, 0.8], wave: 0.0 }.grid();
    let mut grid = grid.periodic("xmin", "xmax").unwrap();
    // Wall from x = 0 to 0.5.
    let wall = grid.patches.iter().position(|patch| patch.name == "ymin").unwrap();
    let mut rest = grid.patches[wall].clone();
    (rest.name, rest.window.low[0]) = ("rest".to_owned(), 2);
    grid.patches[wall].window.high[0] = 2;
    grid.patches.push(rest);
    grid.check().unwrap();
    let config = over_a_wall(&grid, Boundary::NoSlipAdiabatic);
    let solver = StructuredSolver::new(grid, config, team(1)).unwrap();
    let host = solver.synced();
    let distances = host.blocks.iter().flat_map(|block| block.eddies.distance.clone());
    for ((x, _), distance) in solver.cells().iter().zip(distances) {
        let along = (x[0] - 0.5).max(0.0).min((2.0 - x[0]).max(0.0));
        let exact = (along * along + x[1] * x[1]).sqrt();
        assert!((distance - exact).abs() < 1e-14, "at {x:?}: {distance} {exact}");
    }
}

#[test]
fn what_is_not_there_is_told() {
    let grid = || wavy([4, 4, 4]);
    let refused = |change: &dyn Fn(&mut StructuredConfig), expect: &str| {
        let mut config = over_a_wall(&grid(), Boundary::NoSlipAdiabatic);
        change(&mut config);
        let error = StructuredSolver::new(grid(), config, team(1)).err().expect("an error").to_string();
        assert!(error.contains(expect), "{error}");
    };
    let model =
        |c: &mut StructuredConfig, f: &dyn Fn(&mut TurbulenceConfig)| f(c.turbulence.as_mut().unwrap());
    refused(&|c| c.implicit.nonlinear = Nonlinear::DefectCorrection, "leave out structured.method");
    refused(&|c| model(c, &|t| t.inflow_k = 0.0), "turbulence.inflow_k");
    refused(&|c| model(c, &|t| t.inflow = -1.0), "turbulence.inflow");
    refused(&|c| c.equations = Equations::Euler, "inviscid");
    let slips: &dyn Fn(&mut StructuredConfig) = &|c| {
        c.boundaries.insert("ymin".into(), Boundary::SlipWall);
    };
    refused(slips, "is a wall without slip");
    let config = over_a_wall(&grid(), Boundary::NoSlipAdiabatic);
    let error = LaxWendroffSolver::new(grid(), config, LaxWendroff::default(), team(1)).err().unwrap();
    assert!(error.to_string().contains("Newton-Krylov"), "{error}");
}
