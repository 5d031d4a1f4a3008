//! Turbulence models beside a flow on a GPU against the CPU: entry by entry, and whole marches.

use super::super::FlowSolver;
use super::{FlowCuda, coupled};
use crate::config::{
    Boundary, Cfl, Coupling, FlowConfig, GridLength, Hybrid, JacobianScheme, Limiter, NewtonKrylov,
    Nonlinear, Quadratic, Region, Rotation, Steady, Time, TurbulenceConfig, TurbulenceModel, Unsteady,
    WallTreatment,
};
use crate::jacobian::cuda::Target;
use crate::march::{Bdf, Device, Moment};
use crate::mesh::Mesh;
use crate::mesh::generate::FlatPlate;
use crate::testgpu::{close, close_step, gpu, restarts_go_on};
use crate::testmesh::mixed_cube;
use crate::turbulence::testcases::along_a_wall;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::gpu::{DeviceJacobian, DeviceOff};
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow::{Jacobian, OffDiagonal, Outcome, Policy};
use chromaflow_device::Team;
use chromaflow_device::cuda::Gpu;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;

fn config(turbulence: TurbulenceConfig) -> FlowConfig {
    let mut config = along_a_wall(turbulence);
    config.implicit.method = Method::Gmres;
    config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
    config.implicit.krylov_tolerance = 1e-8;
    config.implicit.krylov_iterations = 40;
    config.time = Time::Steady(Steady { iterations: 8, orders: 20.0 });
    config.boundaries.insert("z1".to_owned(), Boundary::NoSlipIsothermal { temperature: 1.1 });
    config
}

fn with(model: TurbulenceModel, second_order: bool) -> TurbulenceConfig {
    TurbulenceConfig { model, second_order, cfl_ratio: 0.7, ..TurbulenceConfig::default() }
}

fn unsteady() -> Time {
    Time::Unsteady(Unsteady { dt: 0.05, steps: 2, subiterations: 3, orders: 20.0 })
}

fn solver_on(mesh: &Mesh, config: &FlowConfig) -> FlowSolver {
    FlowSolver::new(mesh, config.clone(), Arc::new(Team::new(2))).unwrap()
}

/// A number in [-1, 1) for each place, another one for each seed.
fn noise(seed: u64, x: [f64; 3]) -> f64 {
    let mut state = seed;
    for v in x {
        state = (state ^ v.to_bits()).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        state ^= state >> 29;
    }
    (state.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

/// A flow and values of the model's unknowns, random about smooth ones.
fn scattered(config: &FlowConfig, seed: u64) -> FlowSolver {
    let mut solver = solver_on(&mixed_cube(5, 0.2), config);
    let at = |k: u64, x: [f64; 3]| noise(seed.wrapping_add(k), x);
    solver.set_state(|x| {
        let u = 0.4 * (1.0 + 0.2 * at(1, x)) * x[2].sqrt();
        [1.0 + 0.1 * at(2, x), u, 0.05 * at(3, x), 0.05 * at(4, x), (1.0 + 0.1 * at(5, x)) / 1.4]
    });
    let model = config.turbulence.as_ref().unwrap().model;
    if !model.is_spalart_allmaras() {
        solver.set_unknown("k", |x| 0.01 * x[2] * (at(6, x) + 1.01)).unwrap();
        solver.set_unknown("omega", |x| (2.0 + at(7, x)) * (1.0 + 0.1 / (x[2] * x[2]))).unwrap();
        return solver;
    }
    let negative = model == TurbulenceModel::SaNeg;
    let shift = if negative { 0.3 } else { 1.01 };
    solver.set_unknown("nut", |x| 40.0 * x[2] * (at(6, x) + shift)).unwrap();
    solver
}

pub(super) fn close_all(found: &[f64], expected: &[f64], relative: f64, what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    let largest = expected.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    assert!(largest > 0.0, "{what} says something");
    for (i, (a, b)) in found.iter().zip(expected).enumerate() {
        close(*a, *b, relative, relative * largest, &format!("{what}, {i}"));
    }
}

/// Each of a row's `nb` numbers among its likes.
fn close_rows(found: &[f64], expected: &[f64], nb: usize, relative: f64, what: &str) {
    for v in 0..nb {
        let of = |all: &[f64]| all.iter().skip(v).step_by(nb).copied().collect::<Vec<f64>>();
        close_all(&of(found), &of(expected), relative, &format!("{what}, unknown {v}"));
    }
}

/// Each of a block's entries among its likes.
fn close_blocks(found: &[f64], expected: &[f64], nb: usize, relative: f64, what: &str) {
    for entry in 0..nb * nb {
        let of = |all: &[f64]| all.iter().skip(entry).step_by(nb * nb).copied().collect::<Vec<f64>>();
        if of(expected).iter().any(|v| *v != 0.0) {
            close_all(&of(found), &of(expected), relative, &format!("{what}, entry {entry}"));
        }
    }
}

pub(super) fn close_matrix(found: &DeviceJacobian, expected: &Jacobian, what: &str) {
    close_matrix_within(1e-11, found, expected, what);
}

fn close_matrix_within(relative: f64, found: &DeviceJacobian, expected: &Jacobian, what: &str) {
    let DeviceOff::F64(off) = &found.off else { panic!("blocks in f64") };
    let OffDiagonal::F64(expected_off) = &expected.off else { panic!("blocks in f64") };
    close_blocks(
        &found.diag.download().unwrap(),
        &expected.diag,
        expected.nb(),
        relative,
        &format!("{what}, diagonal"),
    );
    let off = off.download().unwrap();
    close_blocks(&off, expected_off, expected.nb(), relative, &format!("{what}, off it"));
}

/// Eddy viscosity, residuals and matrices of flow and model, every entry of them, at random states.
#[test]
fn cuda_small_turbulence_entry_by_entry() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    let models = [
        TurbulenceModel::SaNeg,
        TurbulenceModel::Sa,
        TurbulenceModel::SaNoFt2,
        TurbulenceModel::Sst,
        TurbulenceModel::SstVorticity,
        TurbulenceModel::KOmega,
    ];
    let plain = models.map(|model| (model, Hybrid::None, GridLength::MaxEdge));
    let hybrids = [
        (TurbulenceModel::SaNeg, Hybrid::Des, GridLength::AcrossVorticity),
        (TurbulenceModel::SaNoFt2, Hybrid::Ddes, GridLength::MaxEdge),
        (TurbulenceModel::Sa, Hybrid::Iddes, GridLength::MaxEdge),
        (TurbulenceModel::Sst, Hybrid::Iddes, GridLength::MaxEdge),
        (TurbulenceModel::SstVorticity, Hybrid::Ddes, GridLength::AcrossVorticity),
        (TurbulenceModel::Sst, Hybrid::Des, GridLength::MaxEdge),
    ];
    for (case, (model, hybrid, grid_length)) in plain.into_iter().chain(hybrids).enumerate() {
        for (second_order, in_time) in [(false, false), (true, true)] {
            // Beside hybrids the other options.
            let (quadratic, rotation) = match hybrid {
                Hybrid::None => (Quadratic::None, Rotation::None),
                _ if !model.is_spalart_allmaras() => (Quadratic::Qcr2000, Rotation::None),
                Hybrid::Iddes => (Quadratic::Qcr2000, Rotation::Rotating),
                _ if in_time => (Quadratic::Qcr2020, Rotation::Rotating),
                _ => (Quadratic::Qcr2020, Rotation::Curved),
            };
            // Every other case has laws of the wall.
            let walls = [WallTreatment::Resolved, WallTreatment::Automatic, WallTreatment::Functions]
                [(case + usize::from(second_order)) % 3];
            let half = Region { from: [-1.0; 3], to: [0.5, 2.0, 2.0] };
            let laminar = if second_order { vec![half] } else { Vec::new() };
            let options = with(model, second_order);
            let turbulence =
                TurbulenceConfig { hybrid, grid_length, quadratic, rotation, walls, laminar, ..options };
            let turbulence = TurbulenceConfig { coupling: Coupling::Tight, ..turbulence };
            let mut config = config(turbulence);
            config.space.dissipation = if hybrid == Hybrid::None { 1.0 } else { 0.3 };
            if in_time {
                (config.time, config.implicit.jacobian) = (unsteady(), JacobianScheme::VanLeer);
            }
            let seed = RandomState::new().hash_one(case);
            let what = format!("{model:?}, {hybrid:?}, second order {second_order}, seed {seed}");
            let mut solver = scattered(&config, seed);
            let bdf = in_time.then_some(Bdf { weights: [1.5, -2.0, 0.5], dt: 0.05 });
            let at = Moment { bdf, ..Moment::first(20.0) };
            let host = &mut solver.host;
            // Earlier levels are other states.
            host.coupled[0].state.values.iter_mut().for_each(|value| *value *= 1.01);
            let mut device = FlowCuda::new(&stream, host, None).unwrap();
            device.upload(host).unwrap();
            host.compute_residual(&at);
            host.coupled_residuals(&at);
            host.assemble(&at);
            device.compute_residual(&at).unwrap();
            device.assemble(at.cfl, at.time_shift()).unwrap();
            device
                .each_coupled(&at, |system, view| {
                    system.find_residual(view, &at)?;
                    system.enqueue_matrix(view, &at)
                })
                .unwrap();

            let eddies = coupled::eddies(&device.coupled).unwrap().download().unwrap();
            let rounding = if model.is_spalart_allmaras() { 1e-13 } else { 1e-12 };
            close_all(
                &eddies,
                host.coupled[0].physics.eddy_viscosity(),
                rounding,
                &format!("{what}: eddies"),
            );
            let residual = device.residual.download().unwrap();
            for v in 0..5 {
                let of = |all: &[f64]| all.iter().skip(v).step_by(5).copied().collect::<Vec<f64>>();
                let expected = of(host.residual.as_flattened());
                close_all(&of(&residual), &expected, 1e-11, &format!("{what}: residual {v}"));
            }
            let linear = device.linear.as_mut().unwrap();
            let Target::Rows(matrix, _) = linear.target(false).unwrap() else { panic!("by rows") };
            close_matrix(matrix, &host.jacobian, &format!("{what}: matrix of the flow"));

            let system = &mut device.coupled[0];
            let residual = system.residual().download().unwrap();
            let nb = host.coupled[0].state.nb;
            close_rows(
                &residual,
                &host.coupled[0].residual,
                nb,
                1e-11,
                &format!("{what}: residual of the model"),
            );
            let mut coupled = std::mem::take(&mut host.coupled);
            let expected = coupled[0].assemble(&host.view(&[], &host.fluxes), &at).unwrap();
            close_matrix(system.jacobian().unwrap(), expected, &format!("{what}: matrix of the model"));
            host.coupled = coupled;

            host.assemble_tight(&at).unwrap();
            device.assemble_tight(&at).unwrap();
            let tight = device.tight.as_mut().unwrap();
            let Target::Rows(matrix, _) = tight.linear.target(false).unwrap() else { panic!("by rows") };
            let expected = host.tight.as_mut().unwrap().jacobian();
            close_matrix_within(1e-9, matrix, expected, &format!("{what}: matrix of both"));
        }
    }
}

/// Plain SA and k-omega models cut updates that would make values negative, as many and to the same values as the CPU.
#[test]
fn cuda_small_turbulence_updates_are_cut_as_on_the_cpu() {
    let Some(gpu) = gpu() else { return };
    for model in [TurbulenceModel::Sa, TurbulenceModel::SaNeg, TurbulenceModel::Sst] {
        let mut config = config(with(model, false));
        config.implicit.cfl.start = 1e3;
        config.implicit.krylov_tolerance = 1e-12;
        let seed = RandomState::new().hash_one(1);
        let (mut here, mut there) = (scattered(&config, seed), scattered(&config, seed));
        there.use_gpu(&gpu).unwrap();
        let (a, b) = (here.step(), there.try_step().unwrap());
        there.sync().unwrap();
        assert_eq!((a.limited, a.rejected), (b.limited, b.rejected), "{model:?}, seed {seed}");
        let [x, y] = [&here, &there].map(|solver| &solver.host.coupled[0].state.values);
        close_rows(y, x, here.host.coupled[0].state.nb, 1e-8, &format!("{model:?}, seed {seed}"));
        if model != TurbulenceModel::SaNeg {
            assert!(y.iter().all(|value| *value >= 0.0), "seed {seed}");
        }
    }
}

/// Residuals, forces, CFL numbers and fields of every step are the CPU's: around ILU, and with sweeps whose matrix is assembled
/// in place.
#[test]
fn cuda_turbulence_histories_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let default = TurbulenceConfig::default();
    let mut cases = vec![("GMRES around block ILU(0)", config(default.clone()))];
    let mut sweeps = config(with(TurbulenceModel::Sa, true));
    sweeps.implicit.method = Method::Richardson;
    sweeps.implicit.preconditioner = PreconditionerKind::Multicolor;
    cases.push(("sweeps, second order", sweeps.clone()));
    sweeps.implicit.jacobian = JacobianScheme::VanLeer;
    sweeps.time = unsteady();
    cases.push(("sweeps, unsteady", sweeps));
    cases.push(("SST", config(with(TurbulenceModel::Sst, false))));
    let mut unsteady_wilcox = config(with(TurbulenceModel::KOmega, true));
    unsteady_wilcox.time = unsteady();
    cases.push(("Wilcox, second order, unsteady", unsteady_wilcox));
    let mut hybrid = config(with(TurbulenceModel::SaNeg, true));
    hybrid.turbulence.as_mut().unwrap().hybrid = Hybrid::Ddes;
    hybrid.time = unsteady();
    cases.push(("DDES on SA-neg", hybrid.clone()));
    hybrid.turbulence = Some(TurbulenceConfig { hybrid: Hybrid::Iddes, ..with(TurbulenceModel::Sst, false) });
    cases.push(("IDDES on SST", hybrid));
    let mut cases: Vec<_> =
        cases.into_iter().map(|(name, config)| (name, mixed_cube(6, 0.2), config)).collect();
    cases.push(("a flat plate", plate(), on_plate()));
    for (name, mesh, config) in cases {
        let [mut here, mut there] = [(); 2].map(|()| solver_on(&mesh, &config));
        there.use_gpu(&gpu).unwrap();
        loop {
            let (a, b) = (here.step(), there.try_step().unwrap());
            let what = format!("{name}, iteration {}", a.iteration);
            close_step(&what, (&b.residual, &b.forces), (&a.residual, &a.forces), 1e-8, 1e-10);
            for (x, y) in a.coupled.iter().zip(&b.coupled) {
                close(*y, *x, 1e-9, 1e-12, &format!("{what}, residual of the model"));
            }
            assert_eq!((a.limited, a.rejected, a.outcome), (b.limited, b.rejected, b.outcome), "{what}");
            close(b.cfl, a.cfl, 1e-10, 0.0, &what);
            if a.outcome.is_some() {
                break;
            }
        }
        there.sync().unwrap();
        let (expected, found) = (here.fields(), there.fields());
        assert!(expected.iter().any(|field| field.name == "eddy_viscosity"));
        for (a, b) in expected.iter().zip(&found) {
            assert_eq!((&a.name, a.values.len()), (&b.name, b.values.len()));
            for (x, y) in a.values.iter().zip(&b.values) {
                close(*y, *x, 1e-7, 1e-9, &format!("{name}, field {}", a.name));
            }
        }
    }
}

/// As many directions in each system as are asked for: how many a tolerance takes is for round-off to decide.
const DIRECTIONS: NewtonKrylov = NewtonKrylov { tolerance: 1e-12, directions: 8 };

/// The first steps of both agree to plotting accuracy.
fn newton_steps_agree(gpu: &Gpu, config: &FlowConfig, steps: usize) {
    let [mut here, mut there] = [(); 2].map(|()| solver_on(&plate(), config));
    there.use_gpu(gpu).unwrap();
    for _ in 0..steps {
        let (a, b) = (here.step(), there.try_step().unwrap());
        let what = format!("iteration {}", a.iteration);
        assert_eq!(a.coupled.len(), b.coupled.len());
        for (x, y) in a.residual.iter().zip(&b.residual).chain(a.coupled.iter().zip(&b.coupled)) {
            close(*y, *x, 1e-2, 1e-7, &what);
        }
        let reductions = [a.linear_reduction, b.linear_reduction].map(Option::unwrap);
        close(reductions[1], reductions[0], 5e-2, 1e-9, &format!("{what}, linear system"));
        assert_eq!((a.rejected, a.outcome), (b.rejected, b.outcome), "{what}");
    }
}

/// Newton-Krylov steps of flow and model at once, around factors of two levels of fill: the differences that make their derivatives are
/// disturbed by round-off, which the steps carry on. At one CFL number histories agree to plotting accuracy; where it follows the
/// residual, round-off may decide when it falls, and solutions agree at the end.
#[test]
fn cuda_newton_krylov_steps_of_turbulent_flow_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let mut config = on_plate();
    config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(2));
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(DIRECTIONS);
    config.implicit.cfl = Cfl { start: 5.0, min: 5.0, max: 5.0, growth: 1.0, adaptive: false };
    newton_steps_agree(&gpu, &config, 6);
    // Vorticity of the thinnest layers needs more digits of the state than nine orders give it.
    config.time = Time::Steady(Steady { iterations: 150, orders: 11.0 });
    // On cells that grow by 1.5 histories are chance: 65 to 150 iterations or more, another number where the Reynolds number changes by 1e-7.
    let mesh = plate_of(1.3);
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    config.implicit.cfl = Cfl { start: 5.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true };
    let [mut here, mut there] = [(); 2].map(|()| solver_on(&mesh, &config));
    there.use_gpu(&gpu).unwrap();
    let iterations = [&mut here, &mut there].map(|solver| {
        let mut last = (0, 0.0, 0.0);
        let outcome = solver.run(|r| {
            last = (r.iteration, r.orders, r.cfl);
            true
        });
        assert_eq!(outcome, Outcome::Converged, "iteration, orders, CFL {last:?}");
        last.0
    });
    let [here_took, there_took] = iterations;
    assert!(2 * here_took > there_took && 2 * there_took > here_took, "{iterations:?}");
    there.sync().unwrap();
    for (a, b) in here.fields().iter().zip(&there.fields()) {
        for (x, y) in a.values.iter().zip(&b.values) {
            close(*y, *x, 1e-6, 1e-6, &format!("field {}", a.name));
        }
    }
}

/// The same of SST at one CFL number, the first steps: its unknowns are measured by their own values at each node.
#[test]
fn cuda_newton_krylov_steps_of_two_equations_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let mut config = on_plate();
    config.turbulence.as_mut().unwrap().model = TurbulenceModel::Sst;
    config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(2));
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(DIRECTIONS);
    config.implicit.cfl = Cfl { start: 5.0, min: 5.0, max: 5.0, growth: 1.0, adaptive: false };
    newton_steps_agree(&gpu, &config, 4);
}

/// The same around one matrix of the flow and the model, in f64 and in f32.
#[test]
fn cuda_newton_krylov_steps_of_tightly_coupled_flow_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    for (model, policy) in [(TurbulenceModel::SaNeg, Policy::Ds), (TurbulenceModel::Sst, Policy::D)] {
        let mut config = on_plate();
        let turbulence = config.turbulence.as_mut().unwrap();
        (turbulence.model, turbulence.coupling) = (model, Coupling::Tight);
        config.implicit.policy = policy;
        config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(2));
        config.implicit.nonlinear = Nonlinear::NewtonKrylov(DIRECTIONS);
        config.implicit.cfl = Cfl { start: 5.0, min: 5.0, max: 5.0, growth: 1.0, adaptive: false };
        newton_steps_agree(&gpu, &config, 4);
    }
}

/// The plate of a boundary layer, a layer of cells of one depth.
fn plate() -> Mesh {
    plate_of(1.5)
}

fn plate_of(growth: f64) -> Mesh {
    FlatPlate { cells: [4, 10, 16], height: 1.0, growth }.mesh()
}

fn on_plate() -> FlowConfig {
    let mut config = config(TurbulenceConfig::default());
    config.freestream.mach = 0.2;
    config.freestream.reynolds = 5e6;
    config.space.limiter = Limiter::None;
    config.implicit.cfl.max = 1e4;
    config.time = Time::Steady(Steady { iterations: 15, orders: 20.0 });
    config.boundaries.clear();
    let inlet =
        Boundary::Inlet { total_pressure: 1.02828, total_temperature: 1.008, direction: [1.0, 0.0, 0.0] };
    for (name, kind) in [
        ("inlet", inlet),
        ("outlet", Boundary::Outlet { pressure: 1.0 }),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::NoSlipAdiabatic),
        ("top", Boundary::Farfield),
    ] {
        config.boundaries.insert(name.to_owned(), kind);
    }
    config
}

/// A restart written from the device goes on on either side as one run would.
#[test]
fn cuda_small_turbulence_restarts_on_either_side() {
    let Some(gpu) = gpu() else { return };
    for model in [TurbulenceModel::SaNeg, TurbulenceModel::Sst] {
        let config = config(TurbulenceConfig { model, ..TurbulenceConfig::default() });
        restarts_go_on(&gpu, || solver_on(&mixed_cube(4, 0.2), &config), 4, 1e-12, true);
    }
}

/// Matrices and factors in f32, as cases have by default, converge as far as on the CPU.
#[test]
fn cuda_turbulence_converges_with_factors_in_f32() {
    let Some(gpu) = gpu() else { return };
    let mut config = on_plate();
    config.implicit.policy = Policy::Ds;
    config.implicit.krylov_tolerance = 0.01;
    config.implicit.krylov_iterations = 20;
    config.time = Time::Steady(Steady { iterations: 60, orders: 20.0 });
    let [mut here, mut there] = [(); 2].map(|()| solver_on(&plate(), &config));
    there.use_gpu(&gpu).unwrap();
    let [a, b] = [&mut here, &mut there].map(|solver| {
        let mut last = None;
        solver.run(|report| {
            last = Some((report.orders, report.forces.viscous.cd));
            true
        });
        last.unwrap()
    });
    assert!(a.0 > 1.0 && (a.0 - b.0).abs() < 0.5, "orders {} and {}", a.0, b.0);
    close(b.1, a.1, 1e-3, 0.0, "friction");
}
