use super::super::FlowSolver;
use super::FlowCuda;
use super::turbulence_tests::{close_all, close_matrix};
use crate::bc::Motion;
use crate::config::{
    Boundary, Equations, FlowConfig, FluxScheme, GradientWeights, JacobianScheme, Limiter, NewtonKrylov,
    Nonlinear, Quadrature, ScalarConfig, Steady, Time, Unsteady,
};
use crate::jacobian::cuda::Target;
use crate::march::{Device, Moment, Place};
use crate::testgpu::{close, close_step, gpu, restarts_go_on};
use crate::testmesh::mixed_cube;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind, RowOrder};
use chromaflow::{Outcome, Policy};
use chromaflow_device::Team;
use chromaflow_device::cuda::Gpu;
use std::sync::Arc;

fn config(boundary: impl Fn(&str) -> Boundary) -> FlowConfig {
    let mut config = FlowConfig::default();
    config.freestream.mach = 0.4;
    config.freestream.alpha_deg = 5.0;
    config.implicit.policy = Policy::D;
    config.time = Time::Steady(Steady { iterations: 12, orders: 14.0 });
    for name in ["x0", "x1", "y0", "y1", "z0", "z1"] {
        config.boundaries.insert(name.to_owned(), boundary(name));
    }
    config
}

fn bump(x: [f64; 3]) -> [f64; 5] {
    let s = (-30.0 * x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>()).exp();
    [1.0 + 0.1 * s, 0.4, 0.1 * s, 0.0, (1.0 + 0.2 * s) / 1.4]
}

fn solver(config: &FlowConfig) -> FlowSolver {
    let mut mesh = mixed_cube(6, 0.2);
    if config.implicit.preconditioner == PreconditionerKind::Lines {
        mesh.nodes.iter_mut().for_each(|x| x[2] *= 0.03); // so that there are some
    }
    let mut solver = FlowSolver::new(&mesh, config.clone(), Arc::new(Team::new(2))).unwrap();
    assert_eq!(config.implicit.preconditioner == PreconditionerKind::Lines, solver.order().lines > 0);
    solver.set_state(bump);
    if config.scalar.is_some() {
        solver.set_unknown("scalar", |x| 0.5 + (3.0 * x[0]).sin() * (2.0 * x[1]).cos() + 0.3 * x[2]).unwrap();
    }
    solver
}

fn from_the_wall() -> ScalarConfig {
    ScalarConfig { inflow: 0.2, values: [("z0".to_owned(), 1.0)].into(), ..ScalarConfig::default() }
}

fn in_tunnel(name: &str) -> Boundary {
    match name {
        "x0" => {
            Boundary::Inlet { total_pressure: 1.117, total_temperature: 1.032, direction: [1.0, 0.1, 0.0] }
        }
        "x1" => Boundary::Outlet { pressure: 1.0 },
        "y0" => Boundary::Symmetry,
        "y1" => Boundary::Extrapolation,
        "z0" => Boundary::SlipWall,
        _ => Boundary::Farfield,
    }
}

fn between_walls(name: &str) -> Boundary {
    match name {
        "z0" => Boundary::NoSlipAdiabatic,
        "z1" => Boundary::NoSlipIsothermal { temperature: 1.1 },
        "y0" | "y1" => Boundary::Symmetry,
        _ => Boundary::Farfield,
    }
}

/// Given velocities, mass flow and walls that move.
fn driven(name: &str) -> Boundary {
    let motion =
        |u: f64| Motion { velocity: [u, 0.0, 0.0], rotation: [0.0, 0.0, 0.05], center: [0.3, 0.4, 0.0] };
    match name {
        "x0" => Boundary::VelocityInlet { velocity: [0.4, 0.02, 0.0], temperature: 1.02 },
        "x1" => Boundary::MassFlowOutlet { mass_flow: 0.35 },
        "z0" => Boundary::MovingWall { motion: motion(0.2), temperature: None },
        "z1" => Boundary::MovingWall { motion: motion(-0.1), temperature: Some(1.1) },
        _ => Boundary::Symmetry,
    }
}

/// Roe's flux as asked for, damped, with the matrix of hard systems, and as asked for again: residuals and matrices are the CPU's.
#[test]
fn cuda_small_damped_fluxes_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    let stream = gpu.stream().unwrap();
    let mut config = config(in_tunnel);
    config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0)); // by rows
    config.implicit.method = Method::Gmres;
    let mut solver = solver(&config);
    let host = &mut solver.host;
    let mut device = FlowCuda::new(&stream, host, None).unwrap();
    device.upload(host).unwrap();
    let mut seen: Vec<[Vec<f64>; 2]> = Vec::new();
    for (damped, hard) in [(false, false), (true, false), (true, true), (false, true), (false, false)] {
        let at = Moment { damped, hard, ..Moment::first(20.0) };
        host.compute_residual(&at);
        host.assemble(&at);
        device.compute_residual(&at).unwrap();
        device.assemble(at.cfl, at.time_shift()).unwrap();
        let expected = host.residual.as_flattened().to_vec();
        close_all(&device.residual.download().unwrap(), &expected, 1e-11, "residual");
        let linear = device.linear.as_mut().unwrap();
        let Target::Rows(matrix, _) = linear.target(false).unwrap() else { panic!("by rows") };
        close_matrix(matrix, &host.jacobian, "matrix");
        seen.push([expected, host.jacobian.diag.to_vec()]);
    }
    let [usual, damped, both, hard, again] = seen.try_into().unwrap();
    assert!(usual == again && usual[0] == hard[0] && damped[0] == both[0] && usual[0] != damped[0]);
    assert!(usual[1] != hard[1] && damped[1] != both[1]);
}

/// Every scheme and boundary condition, a few each.
fn cases() -> Vec<(&'static str, FlowConfig)> {
    let mut cases = Vec::new();
    let mut add = |name, boundary: fn(&str) -> Boundary, change: fn(&mut FlowConfig)| {
        let mut c = config(boundary);
        change(&mut c);
        cases.push((name, c));
    };
    let laminar = |c: &mut FlowConfig| {
        c.equations = Equations::Laminar;
        c.freestream.reynolds = 200.0;
    };
    add("Roe, van Albada", in_tunnel, |_| {});
    add("first order, van Leer's Jacobian", in_tunnel, |c| {
        c.space.second_order = false;
        c.implicit.jacobian = JacobianScheme::VanLeer;
    });
    add("HLLC, Venkatakrishnan, first-order start", in_tunnel, |c| {
        c.space.flux = FluxScheme::Hllc;
        c.space.limiter = Limiter::Venkatakrishnan;
        c.implicit.first_order_steps = 4;
    });
    add("van Leer, Barth, inverse distance", in_tunnel, |c| {
        c.space.flux = FluxScheme::VanLeer;
        c.space.limiter = Limiter::Barth;
        c.space.gradient = GradientWeights::InverseDistance;
    });
    add(
        "unlimited, kappa 1/3, linear quadrature",
        |_| Boundary::Farfield,
        |c| {
            c.space.limiter = Limiter::None;
            c.space.kappa = 1.0 / 3.0;
            c.space.quadrature = Quadrature::Linear;
        },
    );
    add("laminar", between_walls, laminar);
    add("driven", driven, laminar);
    add("laminar, van Leer's Jacobian, constant viscosity", between_walls, |c| {
        c.equations = Equations::Laminar;
        c.freestream.reynolds = 50.0;
        c.gas.sutherland = false;
        c.implicit.jacobian = JacobianScheme::VanLeer;
    });
    add("Jacobi", in_tunnel, |c| c.implicit.preconditioner = PreconditionerKind::Jacobi);
    add("sweeps over lines", in_tunnel, |c| c.implicit.preconditioner = PreconditionerKind::Lines);
    add("flexible GMRES around sweeps over lines", between_walls, |c| {
        c.implicit.method = Method::Gmres;
        c.implicit.preconditioner = PreconditionerKind::Lines;
        c.equations = Equations::Laminar;
        c.freestream.reynolds = 200.0;
    });
    add("flexible GMRES around multicolor sweeps", between_walls, |c| {
        c.implicit.method = Method::Gmres;
        c.equations = Equations::Laminar;
        c.freestream.reynolds = 200.0;
    });
    add("BiCGStab around Jacobi sweeps", in_tunnel, |c| {
        c.implicit.method = Method::BiCgStab;
        c.implicit.preconditioner = PreconditionerKind::Jacobi;
        c.implicit.krylov_tolerance = 1e-6;
    });
    add("corrections by block ILU(0)", in_tunnel, |c| {
        c.implicit.method = Method::Richardson;
        c.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
        c.implicit.sweeps = 3;
    });
    add("GMRES around block ILU(0)", between_walls, |c| {
        c.implicit.method = Method::Gmres;
        c.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
        c.implicit.krylov_tolerance = 1e-4;
        c.equations = Equations::Laminar;
        c.freestream.reynolds = 200.0;
    });
    add("corrections by block ILU(0), color by color", between_walls, |c| {
        c.implicit.method = Method::Richardson;
        c.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
        c.implicit.sweeps = 3;
        c.implicit.order = RowOrder::Multicolor;
    });
    add("GMRES around block ILU(0), rows as given", in_tunnel, |c| {
        c.implicit.method = Method::Gmres;
        c.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
        c.implicit.krylov_tolerance = 1e-4;
        c.implicit.order = RowOrder::Natural;
    });
    add("BiCGStab around block DILU", in_tunnel, |c| {
        c.implicit.method = Method::BiCgStab;
        c.implicit.preconditioner = PreconditionerKind::Ilu(Fill::DiagonalOnly);
        c.implicit.krylov_tolerance = 1e-6;
    });
    add("unsteady", between_walls, |c| {
        c.equations = Equations::Laminar;
        c.freestream.reynolds = 200.0;
        c.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 3, orders: 10.0 });
    });
    add("a scalar", between_walls, |c| {
        c.equations = Equations::Laminar;
        c.freestream.reynolds = 200.0;
        c.scalar = Some(from_the_wall());
    });
    add("a scalar of first order, unsteady", between_walls, |c| {
        c.equations = Equations::Laminar;
        c.freestream.reynolds = 200.0;
        c.scalar = Some(ScalarConfig { second_order: false, ..from_the_wall() });
        c.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 3, orders: 10.0 });
    });
    add(
        "an unlimited scalar, linear quadrature, GMRES, first-order start",
        |_| Boundary::Farfield,
        |c| {
            c.space.quadrature = Quadrature::Linear;
            c.implicit.method = Method::Gmres;
            c.implicit.first_order_steps = 3;
            let diffusivity = Some(0.01);
            c.scalar =
                Some(ScalarConfig { limited: false, diffusivity, inflow: 0.3, ..ScalarConfig::default() });
        },
    );
    cases
}

/// Residuals, forces, CFL numbers and limited nodes of every step are the CPU's.
#[test]
fn cuda_histories_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    for (name, config) in cases() {
        let (mut here, mut there) = (solver(&config), solver(&config));
        there.use_gpu(&gpu).unwrap();
        loop {
            let (a, b) = (here.step(), there.try_step().unwrap());
            let what = format!("{name}, iteration {}", a.iteration);
            close_step(&what, (&b.residual, &b.forces), (&a.residual, &a.forces), 1e-9, 1e-10);
            for (x, y) in a.coupled.iter().zip(&b.coupled) {
                close(*y, *x, 1e-10, 1e-12, &format!("{what}, residual of the scalar"));
            }
            assert_eq!(a.coupled.len(), b.coupled.len(), "{what}");
            assert_eq!(
                (a.limited, a.rejected, a.outcome, a.time_step),
                (b.limited, b.rejected, b.outcome, b.time_step)
            );
            close(b.cfl, a.cfl, 1e-12, 0.0, &what);
            if let Some(reduction) = a.linear_reduction {
                close(
                    b.linear_reduction.unwrap(),
                    reduction,
                    1e-6,
                    1e-9,
                    &format!("{what}, linear reduction"),
                );
            }
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

/// Newton-Krylov steps take derivatives by differences, which round-off disturbs in the eighth digit: histories agree to so many,
/// and solutions to what nine orders of the residual leave. A scalar beside the flow sees the state that its step began with.
#[test]
fn cuda_newton_krylov_steps_of_a_small_case_are_the_cpus() {
    let Some(gpu) = gpu() else { return };
    type Case = (&'static str, fn(&str) -> Boundary, fn(&mut FlowConfig));
    let cases: [Case; 3] = [
        ("in a tunnel", in_tunnel, |_| {}),
        ("between walls", between_walls, |c| c.scalar = Some(from_the_wall())),
        ("around block ILU(0)", between_walls, |c| {
            c.implicit.method = Method::Gmres;
            c.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
        }),
    ];
    for (name, boundary, change) in cases {
        let mut config = config(boundary);
        config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov { tolerance: 0.1, directions: 20 });
        (config.implicit.sweeps, config.implicit.cfl.growth, config.implicit.cfl.max) = (5, 2.0, 1e4);
        config.time = Time::Steady(Steady { iterations: 400, orders: 9.0 });
        if name != "in a tunnel" {
            config.equations = Equations::Laminar;
            config.freestream.reynolds = 200.0;
        }
        change(&mut config);
        let (mut here, mut there) = (solver(&config), solver(&config));
        there.use_gpu(&gpu).unwrap();
        for _ in 0..5 {
            let (a, b) = (here.step(), there.try_step().unwrap());
            let what = format!("{name}, iteration {}", a.iteration);
            for (x, y) in a.residual.iter().zip(&b.residual).chain(a.coupled.iter().zip(&b.coupled)) {
                close(*y, *x, 1e-5, 1e-7, &what);
            }
            let reductions = [a.linear_reduction, b.linear_reduction].map(Option::unwrap);
            close(reductions[1], reductions[0], 1e-3, 1e-9, &what);
            assert_eq!((a.rejected, a.outcome), (b.rejected, b.outcome), "{what}");
        }
        for (side, solver) in [("here", &mut here), ("there", &mut there)] {
            let mut last = (0, 0.0, 0.0);
            let outcome = solver.run(|r| {
                last = (r.iteration, r.orders, r.cfl);
                true
            });
            assert_eq!(outcome, Outcome::Converged, "{name}, {side}: iteration, orders, CFL {last:?}");
        }
        there.sync().unwrap();
        for (a, b) in here.fields().iter().zip(&there.fields()) {
            for (x, y) in a.values.iter().zip(&b.values) {
                close(*y, *x, 1e-6, 1e-7, &format!("{name}, field {}", a.name));
            }
        }
    }
}

/// Layers a hundred times as wide as high over a bump, inviscid: their fix of convective waves is that of the CPU, at the start, where
/// the first updates are cut, and in the end.
#[test]
fn cuda_thin_layers_of_a_small_inviscid_case_are_the_cpus() {
    use crate::mesh::generate::{Plane, graded};
    let Some(gpu) = gpu() else { return };
    let plane = Plane { cells: [24, 12], periodic: false, triangles: false };
    let point = |i: usize, j: usize| {
        let (x, t) = (i as f64 / 8.0, graded(j, 12, 1.7));
        let floor = 0.05 * (-20.0 * (x - 1.5) * (x - 1.5)).exp();
        [x, floor + t * (1.0 - floor)]
    };
    let mesh = plane.mesh(point, |side, _| ["x0", "x1", "y0", "y1"][side]);
    let mut config = config(|name| match name {
        "y0" | "y1" => Boundary::SlipWall,
        _ => Boundary::Farfield,
    });
    for name in ["z0", "z1"] {
        config.boundaries.remove(name);
    }
    (config.freestream.alpha_deg, config.implicit.sweeps) = (0.0, 5);
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.method, config.implicit.preconditioner) =
        (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(2)));
    (config.implicit.cfl.growth, config.implicit.cfl.max) = (2.0, 1e6);
    config.time = Time::Steady(Steady { iterations: 100, orders: 9.0 });
    let solver = || FlowSolver::new(&mesh, config.clone(), Arc::new(Team::new(1))).unwrap();
    let (mut here, mut there) = (solver(), solver());
    there.use_gpu(&gpu).unwrap();
    for _ in 0..4 {
        let (a, b) = (here.step(), there.try_step().unwrap());
        let what = format!("iteration {}", a.iteration);
        for (x, y) in a.residual.iter().zip(&b.residual) {
            close(*y, *x, 1e-5, 1e-7, &what);
        }
        assert_eq!((a.rejected, a.limited), (b.rejected, b.limited), "{what}");
    }
    for solver in [&mut here, &mut there] {
        assert_eq!(solver.run(|_| true), Outcome::Converged);
    }
    there.sync().unwrap();
    for (a, b) in here.fields().iter().zip(&there.fields()) {
        for (x, y) in a.values.iter().zip(&b.values) {
            close(*y, *x, 1e-6, 1e-7, &format!("field {}", a.name));
        }
    }
}

#[test]
fn cuda_differences_leave_a_vacuum_its_gas() {
    let Some(gpu) = gpu() else { return };
    let mut solver = super::super::tests::into_vacuum();
    solver.use_gpu(&gpu).unwrap();
    assert_eq!(solver.run(|_| true), Outcome::Converged);
}

#[test]
fn cuda_converges_with_every_policy_and_gives_the_same_bits_twice() {
    let Some(gpu) = gpu() else { return };
    for policy in [Policy::D, Policy::Ds, Policy::Dsh] {
        let mut config = config(|_| Boundary::Farfield);
        config.implicit.policy = policy;
        config.time = Time::Steady(Steady { iterations: 100, orders: 10.0 });
        let history = || {
            let mut solver = solver(&config);
            solver.use_gpu(&gpu).unwrap();
            let mut history = Vec::new();
            let outcome = solver.run(|r| {
                history.push(r.residual.clone());
                true
            });
            assert_eq!(outcome, Outcome::Converged, "{policy:?} {:?}", history.last());
            solver.sync().unwrap();
            assert!(solver.fields()[0].values.iter().all(|rho| (rho - 1.0).abs() < 1e-9));
            history
        };
        assert_eq!(history(), history(), "{policy:?}");
    }
}

/// Factors in f32 converge as far, with levels of fill, too; those in f16 are refused by name.
#[test]
fn cuda_factors_in_f32_and_says_what_it_lacks() {
    let Some(gpu) = gpu() else { return };
    let with = |policy, fill| {
        let mut config = config(|_| Boundary::Farfield);
        config.implicit.method = Method::Gmres;
        config.implicit.preconditioner = PreconditionerKind::Ilu(fill);
        config.implicit.policy = policy;
        config.time = Time::Steady(Steady { iterations: 100, orders: 10.0 });
        solver(&config)
    };
    for level in [0, 2] {
        let mut good = with(Policy::Ds, Fill::Level(level));
        good.use_gpu(&gpu).unwrap();
        assert_eq!(good.run(|_| true), Outcome::Converged, "fill {level}");
    }
    let error = with(Policy::Dsh, Fill::Level(0)).use_gpu(&gpu).err().unwrap().to_string();
    assert!(error.contains("use the CPU"), "{error}");
}

/// A restart written from the device goes on on either side as one run would.
#[test]
fn cuda_small_case_restarts_on_either_side() {
    let Some(gpu) = gpu() else { return };
    let mut config = config(between_walls);
    config.equations = Equations::Laminar;
    config.freestream.reynolds = 200.0;
    config.time = Time::Steady(Steady { iterations: 8, orders: 20.0 });
    config.scalar = Some(from_the_wall());
    restarts_go_on(&gpu, || solver(&config), 4, 1e-12, true);
}

#[test]
fn cuda_names_the_node_whose_state_is_not_finite() {
    let Some(gpu) = gpu() else { return };
    // In a scheme of first order a bad state spoils its neighbors alone; those of the first color have larger numbers.
    let mut config = config(|_| Boundary::Farfield);
    config.space.second_order = false;
    let mut solver = solver(&config);
    solver.use_gpu(&gpu).unwrap();
    assert!(solver.host.plan.batches.range(0).contains(&5));
    solver.host_to_set();
    solver.host.q[5][0] = f64::NAN;
    let mut bad = None;
    let outcome = solver.run(|r| {
        bad = r.bad.clone().or(bad.take());
        true
    });
    assert!(matches!(outcome, Outcome::Diverged { .. }));
    let bad = bad.expect("a node is named");
    assert_eq!(bad.place, Place::Node(solver.host.plan.permutation.old_of_new()[5] as usize));
}

/// Each precision of the matrix, to convergence: the scalar of the CPU in `d`.
#[test]
fn cuda_scalar_converges_with_every_policy() {
    let Some(gpu) = gpu() else { return };
    let run = |policy, on_gpu: bool| {
        let mut config = config(between_walls);
        config.equations = Equations::Laminar;
        config.freestream.reynolds = 200.0;
        config.implicit.policy = policy;
        config.scalar = Some(from_the_wall());
        config.time = Time::Steady(Steady { iterations: 300, orders: 9.0 });
        let mut solver = solver(&config);
        if on_gpu {
            solver.use_gpu(&gpu).unwrap();
        }
        assert_eq!(solver.run(|_| true), Outcome::Converged, "{policy:?}");
        solver.sync().unwrap();
        solver.fields().into_iter().find(|f| f.name == "scalar").unwrap().values
    };
    let here = run(Policy::D, false);
    for policy in [Policy::D, Policy::Ds, Policy::Dsh] {
        for (a, b) in here.iter().zip(run(policy, true)) {
            close(b, *a, 1e-6, 1e-6, &format!("{policy:?}"));
        }
    }
}

/// Every kernel of every case is known before it is asked for, so that none is waited for alone.
#[test]
fn gpu_kernels_are_prepared() {
    if gpu().is_none() {
        return;
    }
    for (name, config) in cases() {
        let gpu = Gpu::open(0).unwrap();
        let mut solver = solver(&config);
        solver.use_gpu(&gpu).unwrap();
        solver.try_step().unwrap();
        assert_eq!(gpu.unprepared(), Vec::<String>::new(), "{name}");
    }
}
