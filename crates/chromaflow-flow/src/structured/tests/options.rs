//! Quadratic constitutive relations, SA-RC and hybrids with large eddy simulation, against exact terms and lengths.

use super::laws::above;
use super::turbulence::{over_a_wall, rates_of};
use super::*;
use crate::config::{
    GridLength, Hybrid, Quadratic, Rotation, Steady, Time, TurbulenceConfig, TurbulenceModel, Unsteady,
    WallTreatment,
};
use crate::gas::temperature;
use crate::incompressible;
use crate::turbulence::hybrid::{HybridForm, sa_hybrid_length};
use crate::turbulence::manufactured::{self, SCALE};
use crate::turbulence::spalart_allmaras::{
    SaVariant, SpalartAllmaras, law_of_the_wall, sa_relation, sa_source_turning, sa_turning, sa_viscosities,
    strain_rates, vorticity,
};
use crate::turbulence::testcases::HYBRIDS;
use crate::viscous::{flux_quadratic, flux_quadratic_2020};

const MODEL: SpalartAllmaras<f64> = SpalartAllmaras { variant: SaVariant::Negative, scale: SCALE };

fn nut(x: [f64; 3]) -> f64 {
    6.0 + 2.0 * (1.5 * x[0] - 0.4).sin() * (2.0 * x[1]).cos() - (1.3 * x[2] + x[0]).cos()
}

/// d(u, v, w)_i / dx_k of the flow of manufactured solutions, by differences.
fn gradient(x: [f64; 3]) -> [[f64; 3]; 3] {
    let h = 1e-5;
    let by = std::array::from_fn::<_, 3, _>(|k| {
        let moved =
            |h: f64| manufactured::flow(&std::array::from_fn(|d| x[d] + if d == k { h } else { 0.0 }));
        let (after, before) = (moved(h), moved(-h));
        std::array::from_fn::<_, 3, _>(|i| (after[1 + i] - before[1 + i]) / (2.0 * h))
    });
    std::array::from_fn(|i| std::array::from_fn(|k| by[k][i]))
}

/// A solver with this flow and nut above the wall z = 0 on a wavy grid.
fn manufactured_flow(n: usize, change: impl Fn(&mut TurbulenceConfig)) -> StructuredSolver {
    let grid = wavy([n, n, n]);
    let mut config = over_a_wall(&grid, Boundary::Farfield);
    config.boundaries.insert("zmin".to_owned(), Boundary::NoSlipAdiabatic);
    config.freestream.reynolds = config.freestream.mach / SCALE;
    config.gas.sutherland = false;
    change(config.turbulence.as_mut().unwrap());
    let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
    let gas = GasConfig::default().gas();
    solver.set_state(|x| conserved(gas, &manufactured::flow(&x)));
    solver.set_unknown("nut", nut).unwrap();
    solver
}

/// Root of the mean square over cells inside of what `found` has less `exact`, of 12 and of 24 cells each way: the order, and the error over the size of the exact.
fn order(found: impl Fn(usize) -> (Vec<[f64; 3]>, Vec<f64>), exact: impl Fn([f64; 3]) -> f64) -> [f64; 2] {
    let mut size = 0.0;
    let errors = [12, 24].map(|n| {
        let (places, values) = found(n);
        let (mut sum, mut square, mut count) = (0.0f64, 0.0f64, 0.0);
        for (x, value) in places.into_iter().zip(values) {
            let inside =
                (0.4..1.6).contains(&x[0]) && (0.25..0.75).contains(&x[1]) && (0.2..0.6).contains(&x[2]);
            if inside {
                let exact = exact(x);
                (sum, square, count) = (sum + (value - exact).powi(2), square + exact * exact, count + 1.0);
            }
        }
        size = (square / count).sqrt();
        (sum / count).sqrt()
    });
    [(errors[0] / errors[1]).log2(), errors[1] / size]
}

/// What relations add to the momentum's and the energy's residual is the divergence of their stress, to second order.
#[test]
fn relations_are_the_divergence_of_their_stress() {
    for quadratic in [Quadratic::Qcr2000, Quadratic::Qcr2020] {
        let flux = |x: [f64; 3], n: [f64; 3]| {
            let (w, own) = (manufactured::flow(&x), gradient(x));
            let t = temperature(GasConfig::default().gas(), &w);
            let [nu, viscosity] = sa_viscosities(MODEL, w[0], 1.0, nut(x));
            let of_velocity = [own[0], own[1], own[2], [0.0; 3]];
            let face = [w[1], w[2], w[3], t];
            if quadratic == Quadratic::Qcr2000 {
                return flux_quadratic(viscosity, &face, &of_velocity, &n);
            }
            let relation = sa_relation(MODEL, nu, nut(x), &own, x[2]);
            flux_quadratic_2020(viscosity, relation, &face, &of_velocity, &n)
        };
        for c in 1..5 {
            let added = |n: usize| {
                let [with, without] = [quadratic, Quadratic::None]
                    .map(|quadratic| manufactured_flow(n, |options| options.quadratic = quadratic).rates());
                let places = manufactured_flow(n, |_| ()).cells().into_iter().map(|(x, _)| x).collect();
                (places, with.iter().zip(&without).map(|(a, b)| a[c] - b[c]).collect())
            };
            let exact = |x: [f64; 3]| {
                let h = 1e-3;
                let along = |d: usize| {
                    let n = std::array::from_fn(|k| f64::from(u8::from(k == d)));
                    let at = |h: f64| flux(std::array::from_fn(|k| x[k] + h * n[k]), n)[c];
                    (at(h) - at(-h)) / (2.0 * h)
                };
                -(along(0) + along(1) + along(2))
            };
            let [order, error] = order(added, exact);
            println!("{quadratic:?}, {c}: order {order:.2}, error {error:.1e}");
            assert!(order > 1.5 && error < 0.1, "{quadratic:?}, {c}: {order}, {error}");
        }
    }
}

/// What SA-RC adds to the residual of nut is the change of production with the strain's exact change along the flow, to second order.
#[test]
fn production_goes_by_how_the_strain_turns() {
    let added = |n: usize| {
        let [with, without] = [Rotation::Curved, Rotation::None].map(|rotation| {
            let mut solver = manufactured_flow(n, |options| options.rotation = rotation);
            rates_of(&mut solver, 0)
        });
        let places = manufactured_flow(n, |_| ()).cells().into_iter().map(|(x, _)| x).collect();
        (places, with.iter().zip(&without).map(|(a, b)| a - b).collect())
    };
    let exact = |x: [f64; 3]| {
        let (w, own, h) = (manufactured::flow(&x), gradient(x), 1e-3);
        let mut change = [0.0; 6];
        for d in 0..3 {
            let at = |h: f64| {
                strain_rates(&gradient(std::array::from_fn(|k| x[k] + if k == d { h } else { 0.0 })))
            };
            let (after, before) = (at(h), at(-h));
            (0..6).for_each(|c| change[c] += w[1 + d] * (after[c] - before[c]) / (2.0 * h));
        }
        let [nu, _] = sa_viscosities(MODEL, w[0], 1.0, nut(x));
        let source = |turning: f64| sa_source_turning(MODEL, nu, nut(x), vorticity(&own), x[2], turning)[0];
        source(1.0) - source(sa_turning(&own, &change))
    };
    let [order, error] = order(added, exact);
    println!("SA-RC: order {order:.2}, error {error:.1e}");
    assert!(order > 1.5 && error < 0.1, "{order}, {error}");
}

/// Momentum that incompressible cells lose over their volumes, and nut, of a flow of density 1 on a grid.
fn losses_without_density(
    grid: &Grid,
    options: &TurbulenceConfig,
    flow: impl Fn([f64; 3]) -> [f64; 3],
) -> Vec<[f64; 4]> {
    let mut config = incompressible::Config { turbulence: Some(options.clone()), ..Default::default() };
    config.fluid.viscosity = SCALE;
    let sides = ["xmin", "xmax", "ymin", "ymax", "zmax"];
    config.boundaries = sides.map(|side| (side.to_owned(), incompressible::Boundary::Symmetry)).into();
    config.boundaries.insert("zmin".to_owned(), incompressible::Boundary::WALL);
    let mut solver = incompressible::Solver::new(grid, config, team(2)).unwrap();
    solver.set_state(|x| {
        let [u, v, w] = flow(x);
        vec![0.0, u, v, w, nut(x)]
    });
    let (lost, cells) = (solver.steady_residual(), solver.cells());
    let rows = lost.chunks(5).zip(cells);
    rows.map(|(r, (_, volume))| std::array::from_fn(|c| r[1 + c] / volume)).collect()
}

/// In one flow of one density relations and curvature add the same to momentum and nut of incompressible flow, off boundaries, whose ghosts differ.
#[test]
fn incompressible_flow_has_the_same_options() {
    let flow = |[x, y, z]: [f64; 3]| {
        [0.3 * (2.0 * y).sin() + 0.1 * z, 0.2 * (1.5 * z + 0.3).cos(), 0.15 * (2.5 * x).sin() + 0.1 * y]
    };
    let cells = [9, 8, 7];
    for (quadratic, rotation) in [
        (Quadratic::Qcr2000, Rotation::None),
        (Quadratic::Qcr2020, Rotation::None),
        (Quadratic::None, Rotation::Curved),
        (Quadratic::Qcr2020, Rotation::Curved),
    ] {
        let rates = |quadratic: Quadratic, rotation: Rotation| {
            let grid = wavy(cells);
            let mut config = over_a_wall(&grid, Boundary::Farfield);
            config.boundaries.insert("zmin".to_owned(), Boundary::NoSlipAdiabatic);
            config.freestream.reynolds = config.freestream.mach / SCALE;
            config.gas.sutherland = false;
            let options = config.turbulence.as_mut().unwrap();
            (options.quadratic, options.rotation) = (quadratic, rotation);
            let there = losses_without_density(&grid, options, flow);
            let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
            let gas = GasConfig::default().gas();
            solver.set_state(|x| {
                let [u, v, w] = flow(x);
                conserved(gas, &[1.0, u, v, w, 1.0 / 1.4])
            });
            solver.set_unknown("nut", nut).unwrap();
            let of_nut = rates_of(&mut solver, 0);
            let here = solver.rates().into_iter().zip(of_nut).map(|(r, nut)| [r[1], r[2], r[3], nut]);
            here.zip(there).collect::<Vec<_>>()
        };
        let (with, without) = (rates(quadratic, rotation), rates(Quadratic::None, Rotation::None));
        let (mut seen, mut largest) = (0, [0.0_f64; 2]);
        for (row, (with, without)) in with.iter().zip(&without).enumerate() {
            let cell = [row % 9, row / 9 % 8, row / 72];
            if !cell.into_iter().zip(cells).all(|(i, n)| (2..n - 2).contains(&i)) {
                continue;
            }
            seen += 1;
            for c in 0..4 {
                let (here, there) = (with.0[c] - without.0[c], with.1[c] - without.1[c]);
                largest[c / 3] = largest[c / 3].max(here.abs());
                assert!(
                    (here - there).abs() < 1e-11,
                    "{quadratic:?}, {rotation:?}, {c} in {cell:?}: {here} {there}"
                );
            }
        }
        println!("{quadratic:?}, {rotation:?}: {largest:?}");
        assert_eq!(seen, 5 * 4 * 3);
        assert!(largest[0] > 1e-5 || quadratic == Quadratic::None, "{largest:?}");
        assert!(largest[1] > 1e-5 || rotation == Rotation::None, "{largest:?}");
    }
}

fn in_time(config: &mut StructuredConfig, steps: usize) {
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps, subiterations: 4, orders: 20.0 });
}

/// Lengths of bricks are those of their edges, and on a planar grid the depth of the layer does not count.
#[test]
fn bricks_have_the_lengths_of_their_edges() {
    let lengths = |cells: [usize; 3], size: [f64; 3], grid_length: GridLength, form: Hybrid| {
        let grid = BoxGrid { cells, size, wave: 0.0 }.grid();
        let mut config = over_a_wall(&grid, Boundary::NoSlipAdiabatic);
        let options = config.turbulence.as_mut().unwrap();
        (options.hybrid, options.grid_length) = (form, grid_length);
        in_time(&mut config, 1);
        let solver = StructuredSolver::new(grid, config, team(1)).unwrap();
        let hybrid = solver.synced().blocks[0].eddies.hybrid.clone().unwrap();
        // The flow turns about z: across it lie the edges along x and y.
        hybrid.at(7, &[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0; 3]])
    };
    let near = |found: [f64; 3], exact: [f64; 3]| {
        assert!((0..3).all(|c| (found[c] - exact[c]).abs() < 1e-12), "{found:?} {exact:?}");
    };
    // Edges 0.5, 0.2, 0.3; the wall lies along y = 0.
    let size = [2.0, 1.0, 0.9];
    near(lengths([4, 5, 3], size, GridLength::MaxEdge, Hybrid::Iddes), [0.5, 0.5, 0.2]);
    let across = (0.25_f64 * (0.25 + 0.04)).sqrt() * 2.0 / 3.0_f64.sqrt();
    near(lengths([4, 5, 3], size, GridLength::AcrossVorticity, Hybrid::Ddes), [across, 0.5, 0.2]);
    near(lengths([4, 5, 1], [2.0, 1.0, 7.0], GridLength::MaxEdge, Hybrid::Iddes), [0.5, 0.5, 0.2]);
}

/// The source of Spalart-Allmaras has the hybrid's length in the place of the distance, in a boundary layer and off it.
#[test]
fn sources_have_the_length_of_the_hybrid() {
    for (form, hybrid) in
        [(HybridForm::Des, Hybrid::Des), (HybridForm::Ddes, Hybrid::Ddes), (HybridForm::Iddes, Hybrid::Iddes)]
    {
        let rates = |hybrid: Hybrid| {
            let grid = BoxGrid { cells: [4, 24, 3], size: [0.2, 1.2, 0.15], wave: 0.0 }.grid();
            let mut config = over_a_wall(&grid, Boundary::NoSlipAdiabatic);
            config.gas.sutherland = false;
            config.turbulence.as_mut().unwrap().hybrid = hybrid;
            in_time(&mut config, 1);
            let mut solver = StructuredSolver::new(grid, config, team(1)).unwrap();
            let gas = GasConfig::default().gas();
            solver.set_state(|x| conserved(gas, &[1.0, 0.4 * x[1], 0.0, 0.0, 1.0 / 1.4]));
            solver.set_unknown("nut", |_| 0.5).unwrap();
            let places: Vec<[f64; 3]> = solver.cells().into_iter().map(|(x, _)| x).collect();
            (rates_of(&mut solver, 0), places)
        };
        let ((with, places), (without, _)) = (rates(hybrid), rates(Hybrid::None));
        let model = SpalartAllmaras { variant: SaVariant::Negative, scale: 0.5 / 100.0 };
        let (mut seen, mut differ) = (0, 0);
        for (i, x) in places.iter().enumerate() {
            // Away from sides, where gradients are those of ghosts.
            if !(0.05..0.15).contains(&x[0]) || !(0.05..0.1).contains(&x[2]) || !(0.05..1.1).contains(&x[1]) {
                continue;
            }
            let own = [[0.0, 0.4, 0.0], [0.0; 3], [0.0; 3]];
            let lengths = [0.05, 0.05, 0.05];
            let [length, _] = sa_hybrid_length(model, form, 1.0, 0.5, x[1], &lengths, &own);
            let source = |d: f64| sa_source_turning(model, 1.0, 0.5, 0.4, d, 1.0)[0];
            let (exact, found) = (source(x[1]) - source(length), with[i] - without[i]);
            assert!(
                (found - exact).abs() < 1e-10 * source(length).abs().max(1.0),
                "{hybrid:?} at {x:?}: {found} {exact}"
            );
            (seen, differ) = (seen + 1, differ + usize::from(exact.abs() > 1e-6));
        }
        assert!(seen > 10 && differ > 3, "{hybrid:?}: {seen}, {differ}");
    }
}

/// In time steps stay bounded, neither blocks nor threads change what the fields are, and lengths are no longer than those of RANS but where IDDES raises them.
#[test]
fn hybrids_in_time_stay_bounded() {
    for (model, hybrid, grid_length) in HYBRIDS {
        let what = format!("{model:?}, {hybrid:?}");
        let run = |cut: bool, threads: usize| {
            let grid = BoxGrid { cells: [5, 5, 5], size: [1.0; 3], wave: 0.03 }.grid();
            let grid = if cut { grid.split(0, 0, 3).unwrap() } else { grid };
            let mut config = over_a_wall(&grid, Boundary::NoSlipAdiabatic);
            config.freestream.reynolds = 1e4;
            let options = config.turbulence.as_mut().unwrap();
            (options.model, options.hybrid, options.grid_length) = (model, hybrid, grid_length);
            in_time(&mut config, 4);
            let mut solver = StructuredSolver::new(grid, config, team(threads)).unwrap();
            let gas = GasConfig::default().gas();
            solver.set_state(|[x, y, z]| {
                let u = 0.4 * y.sqrt() + 0.02 * (9.0 * z).sin();
                conserved(gas, &[1.0, u, 0.02 * (8.0 * z).sin() * y, 0.02 * (7.0 * x).cos(), 1.0 / 1.4])
            });
            if !model.is_spalart_allmaras() {
                solver.set_unknown("k", |_| 2e-5).unwrap();
                solver.set_unknown("omega", |_| 0.1).unwrap();
            }
            loop {
                let report = solver.step();
                assert!(!report.rejected, "{what}: {:?}", report.bad);
                if report.outcome.is_some() {
                    break;
                }
            }
            (solver.state(), solver.fields())
        };
        let ((one, fields), (two, _)) = (run(false, 1), run(false, 3));
        assert!(one == two, "{what}: threads change the result");
        assert!(one.as_flattened().iter().all(|v| v.is_finite() && v.abs() < 1e3), "{what}");
        assert!(run(true, 1).0.as_flattened().iter().all(|v| v.is_finite() && v.abs() < 1e3), "{what}");
        let field = |name: &str| &fields.iter().find(|f| f.name == name).unwrap().values;
        // Where SST's k vanishes, so does its own length, and what IDDES mixes in has no bound over it.
        let most = match (hybrid == Hybrid::Iddes, model.is_spalart_allmaras()) {
            (false, _) => 1.0 + 1e-12,
            (true, true) => 11.0,
            (true, false) => f64::MAX,
        };
        let (ratio, share) = (field("hybrid_length_ratio"), field("hybrid_share"));
        assert!(ratio.iter().all(|r| *r > 0.0 && *r <= most), "{what}");
        assert!(ratio.iter().any(|r| *r < 0.99), "{what}: no large eddies anywhere");
        assert!(share.iter().all(|s| (0.0..=1.0).contains(s)), "{what}");
    }
}

/// f_d of DDES is nothing in the law of the wall of Spalart-Allmaras but a twentieth in the buffer layer, and one in shear without eddies.
#[test]
fn ddes_keeps_boundary_layers() {
    let (u_tau, height) = (0.02, 2e-4);
    let nu = 0.5 / 1e6;
    let grid_of = |solver: &mut StructuredSolver| {
        let gas = GasConfig::default().gas();
        let edge = law_of_the_wall(12.0 * height * u_tau / nu);
        solver.set_state(|x| {
            let within = u_tau * law_of_the_wall(x[1] * u_tau / nu).min(edge);
            let u = within + 20.0 * (x[1] - 12.0 * height).max(0.0);
            conserved(gas, &[1.0, u, 0.0, 0.0, 1.0 / 1.4])
        });
        solver
            .set_unknown("nut", |x| if x[1] < 12.0 * height { 0.41 * u_tau * x[1] / nu } else { 1e-3 })
            .unwrap();
        solver.fields()
    };
    let mut solver =
        above(Boundary::NoSlipAdiabatic, TurbulenceModel::SaNeg, WallTreatment::Automatic, height, |c| {
            c.turbulence.as_mut().unwrap().hybrid = Hybrid::Ddes;
            in_time(c, 1);
        });
    let fields = grid_of(&mut solver);
    let share = &fields.iter().find(|f| f.name == "hybrid_share").unwrap().values;
    let points = solver.grid().to_mesh().nodes;
    let (mut within, mut off) = (0, 0);
    for (x, share) in points.iter().zip(share) {
        if x[0] < 5.0 * height || x[0] > 11.0 * height {
            continue;
        }
        if x[1] < 8.5 * height {
            assert!(*share < 0.05, "at {x:?}: {share}");
            within += 1;
        } else if x[1] > 13.5 * height {
            assert!(*share > 0.9, "at {x:?}: {share}");
            off += 1;
        }
    }
    assert!(within > 3 && off > 1, "{within} {off}");
}

/// Without walls the length is the grid's everywhere; RANS wants a wall.
#[test]
fn boxes_without_walls_take_the_lengths_of_the_grid() {
    let make = |hybrid: Hybrid| {
        let grid = BoxGrid { cells: [4, 4, 4], size: [1.0; 3], wave: 0.0 }.grid();
        let grid = ["x", "y", "z"]
            .iter()
            .fold(grid, |grid, axis| grid.periodic(&format!("{axis}min"), &format!("{axis}max")).unwrap());
        let mut config = config(&grid, super::turbulence::ROE, Equations::Laminar);
        config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
        config.turbulence = Some(TurbulenceConfig { hybrid, ..TurbulenceConfig::default() });
        in_time(&mut config, 2);
        StructuredSolver::new(grid, config, team(1))
    };
    let mut solver = make(Hybrid::Ddes).unwrap();
    let gas = GasConfig::default().gas();
    let turn = std::f64::consts::TAU;
    solver.set_state(|[x, y, _]| {
        let (u, v) = (0.1 * (turn * x).sin() * (turn * y).cos(), -0.1 * (turn * x).cos() * (turn * y).sin());
        conserved(gas, &[1.0, u, v, 0.0, 1.0 / 1.4])
    });
    for _ in 0..8 {
        let report = solver.step();
        assert!(report.bad.is_none(), "{:?}", report.bad);
    }
    let fields = solver.fields();
    let share = &fields.iter().find(|f| f.name == "hybrid_share").unwrap().values;
    assert!(share.iter().all(|share| *share == 1.0));
    let error = make(Hybrid::None).err().unwrap().to_string();
    assert!(error.contains("is a wall without slip"), "{error}");
}

#[test]
fn hybrids_that_there_are_not_are_told() {
    let fault = |model, hybrid, grid_length| {
        let grid = wavy([4, 4, 4]);
        let mut config = over_a_wall(&grid, Boundary::NoSlipAdiabatic);
        let options = config.turbulence.as_mut().unwrap();
        (options.model, options.hybrid, options.grid_length) = (model, hybrid, grid_length);
        StructuredSolver::new(grid, config, team(1)).err().unwrap().to_string()
    };
    let wilcox = fault(TurbulenceModel::KOmega, Hybrid::Ddes, GridLength::MaxEdge);
    assert!(wilcox.contains("sst"), "{wilcox}");
    let iddes = fault(TurbulenceModel::Sst, Hybrid::Iddes, GridLength::AcrossVorticity);
    assert!(iddes.contains("max_edge"), "{iddes}");
    let grid = wavy([4, 4, 4]);
    let mut config = over_a_wall(&grid, Boundary::NoSlipAdiabatic);
    config.turbulence.as_mut().unwrap().rotation = Rotation::Curved;
    config.time = Time::Steady(Steady { iterations: 2, orders: 2.0 });
    assert!(StructuredSolver::new(grid.clone(), config.clone(), team(1)).is_ok());
    in_time(&mut config, 2);
    let error = StructuredSolver::new(grid, config, team(1)).err().unwrap().to_string();
    assert!(error.contains("the strain of earlier times"), "{error}");
}
