//! Turbulence on the device beside the host's: residuals, the matrix, steps, whole marches.

use super::super::super::block::BlockState;
use super::super::newton::tests::{Conditions, entries, grids, of, on_device};
use super::super::tests::{MATRIX, ROE, SCALAR, between_walls, blocks, bump, in_ring, plane, ring, turned};
use super::*;
use crate::config::{
    Boundary, Equations, GridLength, Hybrid, Quadratic, Rotation, Steady, Time, TurbulenceConfig,
    TurbulenceModel, Unsteady, WallTreatment,
};
use crate::grid::Grid;
use crate::jacobian::cuda::Target;
use crate::march::linear::LinearCuda;
use crate::march::newton::cuda::NewtonStepCuda;
use crate::march::newton::{NewtonStep, difference_step};
use crate::march::{Device, Moment};
use crate::output::Field as Fields;
use crate::structured::tests::pinched;
use crate::structured::tests::turbulence::plate_case;
use crate::structured::{Scheme, StructuredConfig, StructuredSolver};
use crate::testgpu::{close, close_step, gpu};
use chromaflow::gpu::{DeviceOff, Wish};
use chromaflow::{Jacobian, Outcome, Policy};
use chromaflow_device::Team;
use std::sync::Arc;

/// Between -1 and 1, of a place: without any order.
fn noise(x: [f64; 3], salt: u64) -> f64 {
    let mix = |h: u64, v: u64| (h ^ v).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
    // Places are alike to a millionth, whatever their last bits.
    let bits = x.map(|v| (v * 1e6).round() as i64 as u64);
    let hash = bits.into_iter().fold(mix(salt, 0x5bd1_e995), mix).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (hash >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A model with values that it can have, in disorder and at rest.
struct Case {
    config: TurbulenceConfig,
    rough: fn(&str, [f64; 3]) -> f64,
    calm: fn(&str) -> f64,
}

fn cases() -> Vec<Case> {
    let of = |model, second_order| TurbulenceConfig { model, second_order, ..TurbulenceConfig::default() };
    let nut = |config, rough: fn(&str, [f64; 3]) -> f64| Case { config, rough, calm: |_| 3.0 };
    // Of nut also negative values, where the model has them.
    let positive = |_: &str, x| 3.0 + 2.5 * noise(x, 7);
    let turning = TurbulenceConfig { rotation: Rotation::Rotating, ..of(TurbulenceModel::Sa, true) };
    let two = |config| Case {
        config,
        rough: |name, x| {
            if name == "k" { 1e-3 * (2.0 + 1.5 * noise(x, 7)) } else { 20.0 * (2.0 + 1.5 * noise(x, 8)) }
        },
        calm: |name| if name == "k" { 1e-3 } else { 20.0 },
    };
    vec![
        nut(of(TurbulenceModel::SaNeg, false), |_, x| 3.0 + 5.0 * noise(x, 7)),
        nut(turning, positive),
        nut(of(TurbulenceModel::SaNoFt2, true), positive),
        two(of(TurbulenceModel::Sst, true)),
        two(TurbulenceConfig { sustained: true, ..of(TurbulenceModel::SstVorticity, false) }),
        two(of(TurbulenceModel::KOmega, true)),
        nut(
            TurbulenceConfig { walls: WallTreatment::Automatic, ..of(TurbulenceModel::SaNeg, false) },
            positive,
        ),
        two(TurbulenceConfig { walls: WallTreatment::Automatic, ..of(TurbulenceModel::Sst, false) }),
        two(TurbulenceConfig { walls: WallTreatment::Functions, ..of(TurbulenceModel::KOmega, true) }),
        nut(
            TurbulenceConfig {
                quadratic: Quadratic::Qcr2020,
                rotation: Rotation::Curved,
                ..of(TurbulenceModel::SaNoFt2, false)
            },
            positive,
        ),
        two(TurbulenceConfig { quadratic: Quadratic::Qcr2000, ..of(TurbulenceModel::Sst, false) }),
        nut(
            TurbulenceConfig {
                hybrid: Hybrid::Ddes,
                grid_length: GridLength::AcrossVorticity,
                walls: WallTreatment::Automatic,
                ..of(TurbulenceModel::SaNeg, false)
            },
            positive,
        ),
        nut(TurbulenceConfig { hybrid: Hybrid::Iddes, ..of(TurbulenceModel::SaNoFt2, false) }, positive),
        two(TurbulenceConfig { hybrid: Hybrid::Iddes, ..of(TurbulenceModel::Sst, true) }),
        two(TurbulenceConfig {
            hybrid: Hybrid::Des,
            grid_length: GridLength::AcrossVorticity,
            walls: WallTreatment::Automatic,
            ..of(TurbulenceModel::SstVorticity, false)
        }),
    ]
}

fn on_the_floor(name: &str) -> Boundary {
    if name == "zmin" { Boundary::NoSlipAdiabatic } else { Boundary::Farfield }
}

fn with_walls() -> impl Iterator<Item = (&'static str, Grid, Conditions)> {
    // Models take walls.
    let without = ["in a tunnel", "loop of two", "faces without area"];
    let grids = grids().into_iter().filter(move |(name, ..)| !without.contains(name));
    grids.chain([("faces without area", pinched([6, 5, 4]), on_the_floor as Conditions)])
}

/// A solver of turbulent flow.
fn solver(
    grid: &Grid,
    conditions: Conditions,
    scheme: Scheme,
    case: &Case,
    change: impl Fn(&mut StructuredConfig),
) -> StructuredSolver {
    let mut config = of(Equations::Laminar, grid, conditions, scheme);
    config.turbulence = Some(case.config.clone());
    change(&mut config);
    let mut solver = StructuredSolver::new(grid.clone(), config, Arc::new(Team::new(2))).unwrap();
    solver.set_state(bump);
    for name in solver.coupled_unknowns() {
        solver.set_unknown(&name, |_| (case.calm)(&name)).unwrap();
    }
    solver
}

/// The same, flow and model in disorder.
fn rough(
    grid: &Grid,
    conditions: Conditions,
    scheme: Scheme,
    case: &Case,
    change: impl Fn(&mut StructuredConfig),
) -> StructuredSolver {
    let mut solver = solver(grid, conditions, scheme, case, change);
    solver.set_state(|x| {
        let q = bump(x);
        std::array::from_fn(|c| q[c] + 0.03 * noise(x, c as u64))
    });
    for name in solver.coupled_unknowns() {
        solver.set_unknown(&name, |x| (case.rough)(&name, x)).unwrap();
    }
    solver
}

fn thin(config: &mut StructuredConfig) {
    config.viscous = ViscousTerms::ThinLayer;
}

/// Residuals of the flow and of the model, and eddy viscosities, cell by cell.
#[test]
fn cuda_turbulent_residuals_are_the_hosts() {
    let Some(gpu) = gpu() else { return };
    for (name, grid, conditions) in with_walls() {
        for ((n, model), scheme) in cases().iter().enumerate().zip([ROE, SCALAR, MATRIX].into_iter().cycle())
        {
            for viscous in [thin as fn(&mut StructuredConfig), |_| {}] {
                let what = format!("{name}, model {n}, {scheme:?}");
                let mut solver = rough(&grid, conditions, scheme, model, viscous);
                let nb = solver.coupled_unknowns().len();
                solver.rates();
                let host = solver.host_to_set();
                let device = on_device(&gpu, host, 7.0);
                let eddies = device.eddies.as_ref().unwrap();
                let [flow, r, viscosity] =
                    [&device.r, &eddies.r, &eddies.viscosity].map(|buffer| buffer.download().unwrap());
                let (total, offsets) = (device.grid.len(), device.grid.offsets());
                let compare = |of: &str, pairs: Vec<(f64, f64)>| {
                    let largest = pairs.iter().fold(0.0_f64, |m, (here, _)| m.max(here.abs()));
                    assert!(largest > 0.0, "{what}, {of}");
                    for (i, (here, there)) in pairs.into_iter().enumerate() {
                        close(there, here, 1e-12, 1e-12 * largest, &format!("{what}, {of} {i}"));
                    }
                };
                let each = |c: usize, of: &dyn Fn(&BlockState, usize, usize) -> f64, there: &[f64]| {
                    let blocks = host.blocks.iter().zip(offsets);
                    let cells = blocks.flat_map(|(block, offset)| {
                        block
                            .cells
                            .places()
                            .enumerate()
                            .map(move |(number, at)| (block, number, at, offset + at))
                    });
                    cells
                        .map(|(block, number, at, place)| (of(block, number, at), there[c * total + place]))
                        .collect::<Vec<_>>()
                };
                compare("eddy viscosity", each(0, &|block, _, at| block.eddies.viscosity[at], &viscosity));
                for v in 0..nb {
                    let of = |block: &BlockState, number: usize, _: usize| {
                        block.eddies.r[block.turbulence_residual_at(number, nb) + v * block.cells.count[0]]
                    };
                    compare(&format!("residual of unknown {v}"), each(v, &of, &r));
                }
                for c in 0..5 {
                    let of = |block: &BlockState, _: usize, at: usize| {
                        let cell = block.cells.cell(at).map(|i| i as usize);
                        block.r[block.residual_at(cell) + c * block.cells.count[0]]
                    };
                    compare(&format!("residual of the flow {c}"), each(c, &of, &flow));
                }
            }
        }
    }
}

/// Entry by entry, and V/dt; the flow's matrix, too, which has eddy viscosities.
#[test]
fn cuda_turbulent_matrices_are_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let at = Moment::first(7.0);
    let unsteady = |c: &mut StructuredConfig| {
        c.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 2, subiterations: 4, orders: 10.0 });
    };
    for (name, grid, conditions) in with_walls() {
        let cases = cases();
        let times = |(n, case)| [((n, case), false), ((n, case), true)];
        // SA-RC is of steady runs.
        let there = |&((_, case), in_time): &((usize, &Case), bool)| {
            !(in_time && case.config.rotation == Rotation::Curved)
        };
        for ((n, model), in_time) in cases.iter().enumerate().flat_map(times).filter(there) {
            let what = format!("{name}, model {n}, in time: {in_time}");
            let mut solver = rough(&grid, conditions, ROE, model, |c| {
                if in_time {
                    unsteady(c);
                }
            });
            let at = Moment { bdf: solver.moment().bdf, ..at };
            assert_eq!(in_time, at.bdf.is_some());
            solver.rates();
            let host = solver.host_to_set();
            let mut device = StructuredCuda::new(&gpu.stream().unwrap(), host, Wish::Shortest).unwrap();
            Device::upload(&mut device, host).unwrap();
            device.compute_residual(at.bdf).unwrap();
            device.time_steps(at.cfl, 0.0).unwrap();
            device.boundary_jacobians().unwrap();
            let mut newton = host.newton.take().unwrap();
            newton.make_ready(&host.team).unwrap();
            host.assemble_newton(&mut newton, &at);
            let beside = newton.beside.as_ref().unwrap();
            let single = newton.implicit.policy != Policy::D;
            device
                .with_newton(|there, flow| {
                    there.assemble_all(flow, &at).unwrap();
                    same_matrix(&format!("{what}, the flow"), &newton.jacobian, &mut there.linear, single);
                    let there = there.beside.as_mut().unwrap();
                    same_matrix(&format!("{what}, the model"), &beside.jacobian, &mut there.linear, single);
                    let times = there.driving.pseudo_time.download().unwrap();
                    assert_eq!(times.len(), beside.pseudo_time.len());
                    for (row, (a, b)) in beside.pseudo_time.iter().zip(&times).enumerate() {
                        close(*b, *a, 1e-12, 0.0, &format!("{what}, V/dt of row {row}"));
                    }
                })
                .unwrap();
        }
    }
}

/// Entries are the same to the rounding of what they are stored in.
fn same_matrix(what: &str, here: &Jacobian, there: &mut LinearCuda, single: bool) {
    let Target::Rows(found, _) = there.target(false).unwrap() else { unreachable!() };
    let off: Vec<f64> = match &found.off {
        DeviceOff::F64(off) => off.download().unwrap(),
        DeviceOff::F32(off) => off.download().unwrap().iter().map(|&v| f64::from(v)).collect(),
        DeviceOff::F16 { .. } => unreachable!("not narrowed"),
    };
    let (diag, expected) = (found.diag.download().unwrap(), entries(here));
    let largest = here.diag.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    assert!(largest > 0.0 && diag.len() == here.diag.len() && off.len() == expected.len(), "{what}");
    let [rounding, floor] = if single { [1.3e-7, 3e-8] } else { [1e-12, 1e-13] };
    for (e, (a, b)) in here.diag.iter().zip(&diag).enumerate() {
        close(*b, *a, 1e-12, 1e-13 * largest, &format!("{what}, diagonal {e}"));
    }
    for (e, (a, b)) in expected.iter().zip(&off).enumerate() {
        close(*b, *a, rounding, floor * largest, &format!("{what}, entry {e} beside it"));
    }
}

/// Products with the derivative of flow and model: exact where the model has it itself, else differences.
#[test]
fn cuda_small_turbulent_products_are_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let at = Moment::first(7.0);
    for (name, grid, conditions) in with_walls() {
        for (n, case) in cases().iter().enumerate() {
            let what = format!("{name}, model {n}");
            // In disorder: at rest the products of gradients are rounding, whose sign has a part in k-omega.
            let mut solver = rough(&grid, conditions, ROE, case, |_| ());
            solver.rates();
            let host = solver.host_to_set();
            let mut device = on_device(&gpu, host, at.cfl);
            let mut newton = host.newton.take().unwrap();
            newton.make_ready(&host.team).unwrap();
            let times = host.assemble_newton(&mut newton, &at);
            let mut b = vec![0.0; 5 * times.len()];
            newton.rows.each_residual(&host.team, &host.blocks, &mut b, |_, r, b| b.copy_from_slice(&r));
            let flow = b.len();
            let (mut step, b) = host.step_from_here(&mut newton, &at, (times, b));
            let v: Vec<f64> = (0..b.len()).map(|i| noise([i as f64, 0.3, 0.7], 5)).collect();
            let length = step.norm(&Team::new(1), &v);
            let h = difference_step(step.size(), length);
            let mut here = vec![0.0; b.len()];
            step.differentiate(h, &v, &mut here);
            let (sizes, there) = device
                .with_newton(|newton, flow| {
                    newton.assemble_all(flow, &at).unwrap();
                    let there = flow.stream.upload(&v).unwrap();
                    let mut y = DeviceBuffer::zeroed(&flow.stream, v.len()).unwrap();
                    let sizes = newton
                        .at_base(flow, &at, |step, _, _| {
                            let sizes = [step.size(), step.length(&there)?];
                            step.differentiate(h, &there, &mut y)?;
                            Ok(sizes)
                        })
                        .unwrap();
                    (sizes, y.download().unwrap())
                })
                .unwrap();
            close(sizes[0], step.size(), 1e-12, 0.0, &format!("{what}, the size of the state"));
            close(sizes[1], length, 1e-12, 0.0, &format!("{what}, the length of the direction"));
            // Of differences that of rounding over the step, of derivatives that of the units.
            let exact = v.len() - flow == 2 * flow / 5;
            for (part, rounding) in [(0..flow, 1e-6), (flow..v.len(), if exact { 1e-10 } else { 1e-6 })] {
                let largest = here[part.clone()].iter().fold(0.0_f64, |m, v| m.max(v.abs()));
                assert!(largest > 0.0, "{what}");
                for i in part {
                    close(there[i], here[i], rounding, rounding * largest, &format!("{what}, entry {i}"));
                }
            }
        }
    }
}

/// Steps take the host's decisions, and have its residuals to what differences make of rounding; also through time.
#[test]
fn cuda_turbulent_steps_on_small_grids_are_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let unsteady = Time::Unsteady(Unsteady { dt: 0.05, steps: 2, subiterations: 4, orders: 10.0 });
    let cases = cases();
    for (name, grid, conditions, scheme, case, time) in [
        ("between walls", blocks(), between_walls as Conditions, ROE, 0, None),
        ("ring", ring(), between_walls, SCALAR, 1, None),
        ("turned sides", turned([13, 9, 11]), in_ring, ROE, 0, None),
        ("plane", plane(), between_walls, MATRIX, 2, None),
        ("through time", blocks(), between_walls, ROE, 0, Some(&unsteady)),
        ("between walls", blocks(), between_walls, ROE, 3, None),
        ("turned sides", turned([13, 9, 11]), in_ring, ROE, 4, None),
        ("plane", plane(), between_walls, MATRIX, 5, None),
        ("through time", ring(), between_walls, ROE, 3, Some(&unsteady)),
        ("between walls", blocks(), between_walls, ROE, 6, None),
        ("ring", ring(), between_walls, ROE, 7, None),
        ("plane", plane(), between_walls, ROE, 9, None),
        ("between walls", blocks(), between_walls, ROE, 10, None),
        ("through time", blocks(), between_walls, ROE, 11, Some(&unsteady)),
        ("through time", ring(), between_walls, ROE, 13, Some(&unsteady)),
    ] {
        let make = || {
            solver(&grid, conditions, scheme, &cases[case], |c| {
                c.time = time.copied().unwrap_or(Time::Steady(Steady { iterations: 6, orders: 14.0 }));
            })
        };
        let (mut here, mut there) = (make(), make());
        there.use_gpu(&gpu).unwrap();
        loop {
            let (a, b) = (here.step(), there.try_step().unwrap());
            let what = format!("{name}, model {case}, iteration {}", a.iteration);
            for (here, there) in [(&a.residual[..], &b.residual[..]), (&a.coupled, &b.coupled)] {
                let largest = here.iter().copied().fold(0.0, f64::max);
                assert_eq!(here.len(), there.len(), "{what}");
                for (x, y) in here.iter().zip(there) {
                    close(*y, *x, 1e-5, 1e-6 * largest, &what);
                }
            }
            if let (Some(x), Some(y)) = (a.linear_reduction, b.linear_reduction) {
                close(y, x, 1e-3, 1e-6, &what);
            }
            assert_eq!(
                (a.rejected, a.outcome, a.time_step, a.linear_reduction.is_some()),
                (b.rejected, b.outcome, b.time_step, b.linear_reduction.is_some()),
                "{what}"
            );
            close(b.cfl, a.cfl, 1e-4, 0.0, &what);
            if a.outcome.is_some() {
                break;
            }
        }
    }
}

fn same_fields(what: &str, here: &[Fields], there: &[Fields], rounding: f64) {
    assert!(!here.is_empty() && here.len() == there.len(), "{what}");
    for (a, b) in here.iter().zip(there) {
        assert_eq!(a.name, b.name, "{what}");
        let largest = a.values.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        for (x, y) in a.values.iter().zip(&b.values) {
            close(*y, *x, rounding, rounding * largest, &format!("{what}, field {}", a.name));
        }
    }
}

/// A plate with its turbulent layer, in one block and in two: as many steps but for one, the same forces, fields and heights of first cells; a restart
/// has the unknowns.
#[test]
fn cuda_turbulent_plates_end_as_the_hosts() {
    let Some(gpu) = gpu() else { return };
    let law = |options: &mut TurbulenceConfig| options.walls = WallTreatment::Automatic;
    let all = |options: &mut TurbulenceConfig| {
        (options.quadratic, options.rotation) = (Quadratic::Qcr2020, Rotation::Curved);
    };
    let none = |_: &mut TurbulenceConfig| ();
    type Change = fn(&mut TurbulenceConfig);
    for (model, cut, change) in [
        (TurbulenceModel::SaNeg, None, none as Change),
        (TurbulenceModel::Sa, Some(13), none),
        (TurbulenceModel::Sst, Some(13), none),
        (TurbulenceModel::SstVorticity, None, none),
        (TurbulenceModel::KOmega, None, none),
        (TurbulenceModel::SaNeg, Some(13), law),
        (TurbulenceModel::Sst, Some(13), law),
        (TurbulenceModel::SaNeg, Some(13), all),
    ] {
        let what = format!("{model:?}, {cut:?}");
        let make = || {
            let (grid, mut config) = plate_case(cut, model);
            change(config.turbulence.as_mut().unwrap());
            StructuredSolver::new(grid, config, Arc::new(Team::new(2))).unwrap()
        };
        let run = |solver: &mut StructuredSolver| {
            let mut last = Vec::new();
            let outcome = solver.run(|report| {
                last = [&report.residual[..], &report.coupled].concat();
                true
            });
            assert_eq!(outcome, Outcome::Converged, "{what}, after {}", solver.iteration());
            last
        };
        let (mut here, mut there) = (make(), make());
        there.use_gpu(&gpu).unwrap();
        run(&mut here);
        let last = run(&mut there);
        println!("{what}: {} iterations here, {} there", here.iteration(), there.iteration());
        assert!(here.iteration().abs_diff(there.iteration()) <= 1, "{what}");
        close_step(&what, (&[], there.forces()), (&[], here.forces()), 1e-9, 1e-9);
        there.sync().unwrap();
        same_fields(&what, &here.fields(), &there.fields(), 1e-6);
        for ((_, a), (_, b)) in here.y_plus().iter().zip(&there.y_plus()) {
            close(b.max, a.max, 1e-7, 0.0, &what);
        }
        let (a, b) = (here.restart(), there.restart());
        same_fields(&what, &a.fields, &b.fields, 1e-6);
        // What the device has come to has converged here, too.
        let mut again = make();
        again.resume(&b).unwrap();
        let report = again.step();
        for (a, b) in [&report.residual[..], &report.coupled].concat().iter().zip(&last) {
            assert!(*a <= 2.0 * b, "{what}: {a:e}, {b:e} there");
        }
    }
}
