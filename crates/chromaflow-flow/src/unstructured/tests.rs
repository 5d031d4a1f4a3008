use super::*;
use crate::FlowConfig;
use crate::bc::{Condition, Motion};
use crate::config::{
    Boundary, Equations, Limiter, NewtonKrylov, Nonlinear, Steady, Time, TurbulenceConfig, TurbulenceModel,
};
use crate::gas::{Gas, total_enthalpy};
use crate::gradient::NodeRecord;
use crate::march::{Moment, Place};
use crate::mesh::generate::{Cells, Cylinder, Plane, box_mesh};
use crate::residual::primitive_of;
use crate::testmesh::mixed_cube;
use crate::turbulence::testcases::along_a_wall;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind, RowOrder};
use chromaflow::{Outcome, Policy};
use chromaflow_device::Team;
use std::sync::Arc;

fn config(boundary: impl Fn(&str) -> Boundary) -> FlowConfig {
    let mut config = FlowConfig::default();
    config.freestream.mach = 0.4;
    config.freestream.alpha_deg = 5.0;
    for name in ["x0", "x1", "y0", "y1", "z0", "z1"] {
        config.boundaries.insert(name.to_owned(), boundary(name));
    }
    config
}

fn solver(config: FlowConfig, threads: usize) -> FlowSolver {
    FlowSolver::new(&mixed_cube(6, 0.2), config, Arc::new(Team::new(threads))).unwrap()
}

fn bump(x: [f64; 3]) -> [f64; 5] {
    let s = (-30.0 * x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>()).exp();
    [1.0 + 0.1 * s, 0.4, 0.1 * s, 0.0, (1.0 + 0.2 * s) / 1.4]
}

#[test]
fn a_disturbance_leaves_through_the_far_field_by_ten_orders() {
    let mut histories = Vec::new();
    for (policy, threads) in [(Policy::D, 1), (Policy::Ds, 1), (Policy::Ds, 3), (Policy::Dsh, 2)] {
        let mut config = config(|_| Boundary::Farfield);
        config.implicit.policy = policy;
        let mut solver = solver(config, threads);
        solver.set_state(bump);
        let mut history = Vec::new();
        let outcome = solver.run(|r| {
            history.push(r.residual[0]);
            true
        });
        assert_eq!(outcome, Outcome::Converged, "{policy:?} {:?}", history.last());
        assert!(history.len() < 100, "{}", history.len());
        let w = &solver.fields()[0].values;
        assert!(w.iter().all(|rho| (rho - 1.0).abs() < 1e-9));
        histories.push(history);
    }
    assert_eq!(histories[1], histories[2], "threads change nothing");
    for other in [&histories[1], &histories[3]] {
        for (a, b) in histories[0].iter().zip(other).take(10) {
            assert!((a / b).log10().abs() < 0.05, "policies differ: {a} {b}");
        }
    }
}

/// Incomplete factors depend on the order of the rows, solutions of the linear systems do not.
#[test]
fn histories_with_incomplete_factors_converge_in_any_order_of_the_rows() {
    let mut histories = Vec::new();
    for &order in RowOrder::ALL {
        let mut config = config(|_| Boundary::Farfield);
        config.implicit.method = Method::Gmres;
        config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(0));
        (config.implicit.order, config.implicit.policy) = (order, Policy::D);
        (config.implicit.krylov_tolerance, config.implicit.krylov_iterations) = (1e-12, 60);
        let mut solver = solver(config.clone(), 2);
        assert_eq!(solver.order().colors > 1, order == RowOrder::Multicolor);
        let banded = solver.order().after.bandwidth < solver.order().before.bandwidth;
        assert_eq!(banded, order != RowOrder::Natural, "{order}");
        solver.set_state(bump);
        let mut history = Vec::new();
        let outcome = solver.run(|r| {
            history.push(r.residual[0]);
            true
        });
        assert_eq!(outcome, Outcome::Converged, "{order} {:?}", history.last());
        histories.push(history);
        // A few corrections a step do as well.
        (config.implicit.method, config.implicit.sweeps) = (Method::Richardson, 4);
        let mut solver = self::solver(config, 1);
        solver.set_state(bump);
        assert_eq!(solver.run(|_| true), Outcome::Converged, "{order}");
    }
    for history in &histories[1..] {
        assert_eq!(history.len(), histories[0].len());
        for (a, b) in history.iter().zip(&histories[0]).take(8) {
            assert!((a - b).abs() < 1e-8 * a + 1e-13, "{a:e} {b:e}");
        }
    }
}

#[test]
fn restarts_go_on_where_they_left() {
    let run = |split: bool| {
        let mut config = config(|_| Boundary::Farfield);
        config.time = Time::Steady(Steady { iterations: 6, orders: 20.0 });
        let mut one = solver(config.clone(), 1);
        one.set_state(bump);
        if split {
            for _ in 0..3 {
                one.step();
            }
            let restart = one.restart();
            one = solver(config, 2);
            one.resume(&restart).unwrap();
        }
        one.run(|_| true);
        one.restart().fields[0].values.clone()
    };
    for (a, b) in run(false).iter().zip(run(true)) {
        assert!((a - b).abs() < 1e-14, "{a} {b}");
    }
}

#[test]
fn released_memory_is_taken_again() {
    let run = |release: bool| {
        let mut solver = solver(config(|_| Boundary::Farfield), 1);
        solver.set_state(bump);
        for _ in 0..4 {
            if release {
                let held = solver.memory().total();
                let most = solver.releasable();
                solver.release();
                assert!(2 * most > held && held - solver.memory().total() >= most);
            }
            solver.step();
        }
        solver.restart().fields[0].values.clone()
    };
    assert_eq!(run(false), run(true));
}

#[test]
fn a_channel_with_friction_slows_down_at_the_wall() {
    let mut config = config(|name| match name {
        "x0" => {
            Boundary::Inlet { total_pressure: 1.117, total_temperature: 1.032, direction: [1.0, 0.0, 0.0] }
        }
        "x1" => Boundary::Outlet { pressure: 1.0 },
        "z0" => Boundary::NoSlipAdiabatic,
        "z1" => Boundary::NoSlipIsothermal { temperature: 1.0 },
        _ => Boundary::Symmetry,
    });
    config.freestream.alpha_deg = 0.0;
    config.equations = Equations::Laminar;
    config.freestream.reynolds = 50.0;
    let mut solver = solver(config, 2);
    assert_eq!(solver.run(|_| true), Outcome::Converged);
    let forces = solver.forces();
    // Friction pulls both walls along the flow; pressure does not.
    assert!(forces.viscous.force[0] > 0.1 && forces.pressure.force[0].abs() < 1e-12);
    for marker in &forces.markers {
        assert!(marker.viscous.force[0] > 0.05, "{}", marker.name);
    }
    let mesh = mixed_cube(6, 0.2);
    let fields = solver.fields();
    for (i, x) in mesh.nodes.iter().enumerate() {
        if x[2] == 0.0 || x[2] == 1.0 {
            assert_eq!(fields[1].values[3 * i..3 * i + 3], [0.0; 3], "no slip");
        }
        if x[2] == 1.0 {
            assert!((fields[4].values[i] - 1.0).abs() < 1e-12, "wall temperature");
        }
    }
}

/// Solved to the end, a system has one solution, by whatever norm.
#[test]
fn updates_do_not_depend_on_what_residuals_are_measured_by() {
    let mut solver = solver(along_a_wall(TurbulenceConfig::default()), 2);
    (0..3).for_each(|_| drop(solver.step()));
    let (host, at) = (&mut solver.host, Moment::first(30.0));
    let [by_residual, by_change] = [false, true].map(|by_change| {
        host.compute_residual(&at);
        host.driving_residuals(&at);
        host.assemble(&at);
        host.linear.as_ref().unwrap().convert(&mut host.jacobian);
        let options = NewtonKrylov { tolerance: 1e-7, directions: 100 };
        assert!(host.solve_measured(&at, &options, by_change).unwrap() <= 1e-7);
        [host.update.clone(), host.coupled[0].update.clone()]
    });
    for (a, b) in by_residual.iter().zip(&by_change) {
        let largest = a.iter().fold(0.0_f64, |largest, v| largest.max(v.abs()));
        assert!(largest > 0.0 && a != b);
        for (a, b) in a.iter().zip(b) {
            assert!((a - b).abs() < 1e-4 * largest, "{a} {b} of {largest}");
        }
    }
}

/// Of subsonic streams beside `sa-neg`, and of all beside k and omega.
#[test]
fn streams_and_models_decide_what_residuals_are_measured_by() {
    for (model, mach, by_change) in [
        (TurbulenceModel::SaNeg, 0.4, true),
        (TurbulenceModel::SaNeg, 1.4, false),
        (TurbulenceModel::Sst, 1.4, true),
    ] {
        let mut config = along_a_wall(TurbulenceConfig { model, ..TurbulenceConfig::default() });
        config.freestream.mach = mach;
        assert_eq!(solver(config, 1).host.measures_by_change(), by_change, "{model:?}, {mach}");
    }
    assert!(!solver(config(|_| Boundary::Farfield), 1).host.measures_by_change(), "nothing beside the flow");
}

/// Half of two slip walls lies in dead water; viscous and supersonic flow have none to speak of.
#[test]
fn the_part_of_walls_that_a_flow_has_left() {
    let walls = |name: &str| if name.starts_with('y') { Boundary::SlipWall } else { Boundary::Farfield };
    let part = |equations, fast: f64| {
        let mut config = config(walls);
        (config.equations, config.freestream.reynolds) = (equations, 100.0);
        let mut solver = solver(config, 1);
        solver.set_state(|x| [1.0, if x[0] > 0.58 { 0.05 } else { fast }, 0.0, 0.0, 1.0 / 1.4]);
        solver.separated()
    };
    // Three of seven rows of nodes, the last with half the area.
    assert!((part(Equations::Euler, 0.4) - 5.0 / 12.0).abs() < 0.03, "{}", part(Equations::Euler, 0.4));
    assert!((part(Equations::Euler, 1.2) - 5.0 / 12.0).abs() < 0.03, "a shock loses less");
    assert_eq!([part(Equations::Laminar, 0.4), part(Equations::Euler, 1.6)], [0.0; 2]);
    assert_eq!(part(Equations::Euler, 0.05), 0.0, "nothing is lost where all is alike");
}

#[test]
fn faults_of_the_set_up_are_named() {
    let mesh = mixed_cube(3, 0.0);
    let team = Arc::new(Team::new(1));
    let mut missing = config(|_| Boundary::Farfield);
    missing.boundaries.remove("y1");
    let fault = |c| FlowSolver::new(&mesh, c, Arc::clone(&team)).err().unwrap().to_string();
    assert!(fault(missing).contains("`y1`"));
    let mut extra = config(|_| Boundary::Farfield);
    extra.boundaries.insert("wing".into(), Boundary::SlipWall);
    assert!(fault(extra).contains("`wing`"));
    let mut laminar = config(|_| Boundary::Farfield);
    laminar.equations = Equations::Laminar;
    assert!(fault(laminar).contains("reynolds"));
}

#[test]
fn a_state_that_is_not_finite_is_an_outcome_that_names_the_node() {
    // In a scheme of first order a bad state spoils its neighbors alone; those of the first color have larger numbers.
    let mut config = config(|_| Boundary::Farfield);
    config.space.second_order = false;
    let mut solver = solver(config, 1);
    assert!(solver.host.plan.batches.range(0).contains(&5));
    solver.host.q[5][0] = f64::NAN;
    solver.host.refresh_nodes();
    solver.host.last_good.copy_from_slice(&solver.host.q);
    let mut bad = None;
    let outcome = solver.run(|r| {
        bad = r.bad.clone().or(bad.take());
        true
    });
    assert!(matches!(outcome, Outcome::Diverged { .. }));
    let bad = bad.expect("a node is named");
    assert_eq!(bad.place, Place::Node(solver.host.plan.permutation.old_of_new()[5] as usize));
    assert!(bad.state[0].is_nan());
}

/// Couette flow of constant viscosity between a wall at rest of temperature 1 and one that moves without heat flux: u = U z,
/// T = 1 + Pr (gamma - 1) U^2 (z - z^2/2), friction mu U. The work of the moving wall is all of the heat that leaves through
/// the other.
#[test]
fn couette_flow_under_a_moving_wall() {
    let (speed, reynolds) = (0.4, 10.0);
    let exact = |x: [f64; 3]| {
        let t = 1.0 + 0.72 * 0.4 * speed * speed * (x[2] - 0.5 * x[2] * x[2]);
        [1.0 / t, speed * x[2], 0.0, 0.0, 1.0 / 1.4]
    };
    let motion = Motion { velocity: [speed, 0.0, 0.0], ..Motion::NONE };
    let mut config = FlowConfig { equations: Equations::Laminar, ..FlowConfig::default() };
    (config.freestream.mach, config.freestream.reynolds) = (speed, reynolds);
    config.gas.sutherland = false;
    config.space.limiter = Limiter::None;
    config.boundaries = [
        ("xmin", Boundary::Farfield),
        ("xmax", Boundary::Farfield),
        ("ymin", Boundary::Symmetry),
        ("ymax", Boundary::Symmetry),
        ("zmin", Boundary::NoSlipIsothermal { temperature: 1.0 }),
        ("zmax", Boundary::MovingWall { motion, temperature: None }),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    let mesh = |n| box_mesh([4, 2, n], [1.0, 0.5, 1.0], Cells::Hexes, 0.0);
    let friction = (speed / reynolds) * speed / (0.5 * speed * speed);
    let mut errors = Vec::new();
    for n in [4, 8] {
        let mesh = mesh(n);
        let mut solver = FlowSolver::new(&mesh, config.clone(), Arc::new(Team::new(2))).unwrap();
        solver.hold_state(&["xmin", "xmax"], exact).unwrap();
        assert_eq!(solver.run(|_| true), Outcome::Converged);
        let fields = solver.fields();
        let skin = fields.iter().find(|f| f.name == "skin_friction").unwrap();
        let drawn = fields.iter().find(|f| f.name == "heat_flux").unwrap();
        // Of u, T, friction and heat.
        let mut largest = [0.0_f64; 4];
        for (i, &x) in mesh.nodes.iter().enumerate() {
            let w = exact(x);
            let u = &fields[1].values[3 * i..3 * i + 3];
            largest[0] = largest[0].max((u[0] - w[1]).abs() / speed);
            largest[1] = largest[1].max((fields[4].values[i] - 1.0 / w[0]).abs());
            let pull = if x[2] == 0.0 { friction } else { -friction };
            if (x[2] == 0.0 || x[2] == 1.0) && x[0] > 0.0 && x[0] < 1.0 {
                largest[2] = largest[2].max((skin.values[3 * i] / pull - 1.0).abs());
                // The work of the moving wall, friction times its speed, which is the free stream's.
                let heat = if x[2] == 0.0 { friction } else { 0.0 };
                largest[3] = largest[3].max((drawn.values[i] - heat).abs() / friction);
            }
            if x[2] == 1.0 {
                // Of rho u and rho: to a rounding or two.
                let off = (u[0] - speed).abs().max(u[1].abs()).max(u[2].abs());
                assert!(off < 1e-15, "the wall takes the gas along: {u:?}");
            }
        }
        errors.push(largest);
    }
    for (v, most) in [1e-6, 5e-6, 1e-4, 3e-4].into_iter().enumerate() {
        assert!(errors[0][v] < most && errors[1][v] < 0.3 * errors[0][v], "{errors:?}");
    }
    let across = Motion { velocity: [0.0, 0.0, 0.1], ..Motion::NONE };
    config.boundaries.insert("zmax".into(), Boundary::MovingWall { motion: across, temperature: None });
    let error = FlowSolver::new(&mesh(4), config, Arc::new(Team::new(1))).err().unwrap();
    assert!(error.to_string().contains("`zmax` moves through itself"), "{error}");
}

/// What enters with a given velocity and leaves against the free stream's pressure is the free stream.
#[test]
fn an_inlet_of_given_velocity_makes_its_stream() {
    let mut config = config(|name| match name {
        "x0" => Boundary::VelocityInlet { velocity: [0.4, 0.0, 0.0], temperature: 1.0 },
        "x1" => Boundary::Outlet { pressure: 1.0 },
        _ => Boundary::SlipWall,
    });
    config.freestream.alpha_deg = 0.0;
    let mut solver = solver(config, 2);
    solver.set_state(bump);
    assert_eq!(solver.run(|_| true), Outcome::Converged);
    let fields = solver.fields();
    for i in 0..fields[0].values.len() {
        assert!((fields[0].values[i] - 1.0).abs() < 1e-7, "density");
        assert!((fields[1].values[3 * i] - 0.4).abs() < 1e-7, "velocity");
        assert!((1.4 * fields[2].values[i] - 1.0).abs() < 1e-7, "pressure");
    }
}

/// A channel of area 1 between a total state and a mass flow: the back pressure finds the speed u of that mass flow, in Newton-Krylov steps within as many
/// of them as it would take against a given pressure, at low Mach numbers, too; a restart has it.
#[test]
fn a_channel_of_given_mass_flow() {
    let newton = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    let cases = [
        (0.3, 1.032f64, Nonlinear::DefectCorrection, 2000),
        (0.3, 1.032, newton, 30),
        (0.02, 1.0001, newton, 30),
    ];
    for (mass_flow, total, nonlinear, iterations) in cases {
        let mut config = config(|name| match name {
            "x0" => Boundary::Inlet {
                total_pressure: total.powf(3.5),
                total_temperature: total,
                direction: [1.0, 0.0, 0.0],
            },
            "x1" => Boundary::MassFlowOutlet { mass_flow },
            _ => Boundary::SlipWall,
        });
        config.implicit.nonlinear = nonlinear;
        if nonlinear == newton {
            config.freestream.mach = mass_flow;
            (config.implicit.cfl.max, config.implicit.cfl.growth) = (1e6, 2.0);
            config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(1));
        }
        let mut solver =
            solver(FlowConfig { time: Time::Steady(Steady { iterations, orders: 9.0 }), ..config }, 2);
        assert_eq!(solver.run(|_| true), Outcome::Converged, "{mass_flow} {nonlinear:?}");
        let fields = solver.fields();
        for (rho, u) in fields[0].values.iter().zip(fields[1].values.chunks(3)) {
            let t = total - 0.2 * u[0] * u[0];
            assert!((rho * u[0] - mass_flow).abs() < 1e-6, "{}", rho * u[0]);
            assert!((rho - t.powf(2.5)).abs() < 1e-6, "isentropic");
        }
        // What leaves and what comes in: the same mass, total pressure and temperature.
        let through = solver.outflow();
        assert_eq!(through.iter().map(|o| o.marker.as_str()).collect::<Vec<_>>(), ["x0", "x1"]);
        for (o, out) in through.iter().zip([-1.0, 1.0]) {
            assert!((o.mass_flow - out * mass_flow).abs() < 1e-6, "{o:?}");
            assert!((o.total_pressure - total.powf(3.5)).abs() < 1e-5, "{o:?}");
            assert!((o.total_temperature - total).abs() < 1e-6, "{o:?}");
            assert!((o.pressure - solver.restart().facts["back_pressure.x1"] * 1.4).abs() < 1e-5, "{o:?}");
        }
        let restart = solver.restart();
        let pressure = restart.facts["back_pressure.x1"];
        let mean = fields[2].values.iter().sum::<f64>() / fields[2].values.len() as f64;
        assert!((pressure - mean).abs() < 1e-6, "{pressure} {mean}");
        let largest = |of: fn(&Condition<f64>) -> f64, solver: &FlowSolver| {
            solver.host.boundaries.iter().map(of).fold(0.0, f64::max)
        };
        let before = largest(|b| b.held, &solver);
        for condition in &mut solver.host.boundaries {
            (condition.outlet.pressure, condition.held) = (0.5, 0.5);
        }
        solver.resume(&restart).unwrap();
        assert_eq!(largest(|b| b.held, &solver), before);
        assert_eq!(largest(|b| b.outlet.pressure, &solver), before);
    }
}

/// Friction lies along a curved wall; what momentum leaves of a node's pressure is pressure.
#[test]
fn friction_lies_along_walls() {
    let mesh = Cylinder { cells: [32, 16], radius: 8.0, growth: 1.3, triangles: false }.mesh();
    let mut config = FlowConfig { equations: Equations::Laminar, ..FlowConfig::default() };
    (config.freestream.mach, config.freestream.reynolds) = (0.2, 40.0);
    config.boundaries = [("cylinder", Boundary::NoSlipAdiabatic), ("farfield", Boundary::Farfield)]
        .map(|(name, boundary)| (name.to_owned(), boundary))
        .into();
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
    solver.run(|report| report.iteration < 6);
    let (fields, forces) = (solver.fields(), solver.forces());
    let skin = fields.iter().find(|f| f.name == "skin_friction").unwrap();
    let (mut most, mut off) = (0.0_f64, 0.0_f64);
    for (x, f) in mesh.nodes.iter().zip(skin.values.chunks_exact(3)) {
        most = most.max(f[0].hypot(f[1]));
        off = off.max((f[0] * x[0] + f[1] * x[1]).abs() / x[0].hypot(x[1]));
    }
    assert!(most > 0.01 && off < 1e-12 * most, "{most} {off}");
    let sum = forces.pressure.cd + forces.viscous.cd;
    assert!((forces.total.cd - sum).abs() < 1e-14 && forces.viscous.cd > 0.1 * sum, "{forces:?}");
}

/// Where a wall without slip begins and ends at open boundaries its friction is that of a gas at rest there: coefficients do not grow as the
/// Mach number falls.
#[test]
fn walls_that_end_at_open_boundaries_have_no_waves_in_their_friction() {
    let mesh = box_mesh([8, 2, 8], [1.0, 0.25, 1.0], Cells::Hexes, 0.0);
    let drag = |mach: f64, driven: bool| {
        let ends = if driven {
            [
                Boundary::VelocityInlet { velocity: [mach, 0.0, 0.0], temperature: 1.0 },
                Boundary::Outlet { pressure: 1.0 },
            ]
        } else {
            [Boundary::Farfield; 2]
        };
        let mut config = FlowConfig { equations: Equations::Laminar, ..FlowConfig::default() };
        config.boundaries = [
            ("xmin", ends[0]),
            ("xmax", ends[1]),
            ("zmin", Boundary::NoSlipAdiabatic),
            ("zmax", Boundary::SlipWall),
            ("ymin", Boundary::Symmetry),
            ("ymax", Boundary::Symmetry),
        ]
        .map(|(name, boundary)| (name.to_owned(), boundary))
        .into();
        (config.freestream.mach, config.freestream.reynolds) = (mach, 50.0);
        let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
        assert_eq!(solver.run(|_| true), Outcome::Converged, "M {mach}, driven: {driven}");
        solver.forces().viscous.cd
    };
    for driven in [true, false] {
        let [fast, slow] = [0.1, 0.01].map(|mach| drag(mach, driven));
        assert!(fast > 0.1 && fast < 1.0, "driven: {driven}, {fast}");
        assert!((slow / fast - 1.0).abs() < 0.2, "driven: {driven}, {slow} {fast}");
    }
}

/// M 12 from a wall that falls back by 20 degrees: the gas beside it is 1e-8 as dense as the stream, less than a difference moves the stream by.
pub(super) fn into_vacuum() -> FlowSolver {
    let plane = Plane { cells: [40, 40], periodic: false, triangles: false };
    let mesh = plane.mesh(|i, j| [i as f64, j as f64], |side, _| ["x0", "x1", "y0", "y1"][side]);
    let mut config = FlowConfig::default();
    (config.freestream.mach, config.freestream.alpha_deg) = (12.0, 20.0);
    config.reference.lift_axis = Some(1);
    let sides = [("x0", Boundary::Farfield), ("y0", Boundary::SlipWall)];
    let open = ["x1", "y1"].map(|name| (name, Boundary::Extrapolation));
    config.boundaries = sides.into_iter().chain(open).map(|(name, side)| (name.to_owned(), side)).collect();
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.method, config.implicit.preconditioner) =
        (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(2)));
    (config.implicit.cfl.growth, config.implicit.cfl.max) = (2.0, 1e6);
    config.time = Time::Steady(Steady { iterations: 250, orders: 10.0 });
    FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap()
}

#[test]
fn differences_leave_a_vacuum_its_gas() {
    let mut solver = into_vacuum();
    assert_eq!(solver.run(|_| true), Outcome::Converged);
    let least = solver.host.nodes.iter().map(|node| node[0]).fold(1.0, f64::min);
    assert!(least < 1e-5, "{least}");
}

/// M 3 over the edge of a flat base: total temperature stays near the stream's, where it fell to 0.46 of it in the shear behind the edge.
#[test]
fn total_temperature_behind_an_edge() {
    // Grid lines from the wall, which turns down after twenty cells, to the outer side.
    let (top, base, rows) = (20.0, 10.0, 24);
    let place = |i: usize, j: usize| {
        let turned = ((i as f64 - top) / base).max(0.0);
        let foot = [0.1 * (i as f64).min(top), -0.5 * turned];
        let end = match turned {
            0.0 => [foot[0], 3.0],
            t if t < 0.5 => [2.0 + 8.0 * t, 3.0],
            t => [6.0, 3.0 - 3.5 * (2.0 * t - 1.0)],
        };
        let height = |j: usize| (1.12f64.powi(j as i32) - 1.0) / (1.12f64.powi(rows as i32) - 1.0);
        [0, 1].map(|d| foot[d] + (end[d] - foot[d]) * height(j))
    };
    let plane = Plane { cells: [30, rows], periodic: false, triangles: false };
    let mesh = plane.mesh(place, |side, _| ["x0", "x1", "y0", "y1"][side]);
    let mut config = FlowConfig::default();
    config.freestream.mach = 3.0;
    config.reference.lift_axis = Some(1);
    let sides = [
        ("x0", Boundary::Farfield),
        ("x1", Boundary::Symmetry),
        ("y0", Boundary::SlipWall),
        ("y1", Boundary::Extrapolation),
    ];
    config.boundaries = sides.map(|(name, side)| (name.to_owned(), side)).into();
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.method, config.implicit.preconditioner) =
        (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(2)));
    (config.implicit.cfl.growth, config.implicit.cfl.max) = (2.0, 1e6);
    config.time = Time::Steady(Steady { iterations: 250, orders: 8.0 });
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
    assert_eq!(solver.run(|_| true), Outcome::Converged);
    let of_node = |node: &NodeRecord| 0.4 * total_enthalpy(Gas::AIR, &primitive_of(node)) / 2.8;
    let all: Vec<f64> = solver.host.nodes.iter().map(of_node).collect();
    assert!(all.iter().all(|t| (0.8..1.05).contains(t)), "{:?}", all.iter().copied().reduce(f64::min));
}

/// Nothing sticks where nothing is viscous: walls without slip, cold, hot and moving ones, have slip there.
#[test]
fn inviscid_flow_slides_along_walls_without_slip() {
    let found = |wall: Boundary| {
        let mut config = config(|name| if name == "z0" { wall } else { Boundary::Farfield });
        config.freestream.alpha_deg = 0.0;
        config.time = Time::Steady(Steady { iterations: 4, orders: 10.0 });
        let mut solver = solver(config, 1);
        solver.set_state(bump);
        let mut forces = Vec::new();
        solver.run(|report| {
            forces.push((report.residual.clone(), report.forces.total.cd));
            true
        });
        (forces, solver.fields().into_iter().map(|field| field.values).collect::<Vec<_>>())
    };
    let slip = found(Boundary::SlipWall);
    assert_eq!(slip.0.len(), 4);
    let motion = Motion { velocity: [0.1, 0.0, 0.0], ..Motion::NONE };
    for wall in [
        Boundary::NoSlipAdiabatic,
        Boundary::NoSlipIsothermal { temperature: 1.3 },
        Boundary::MovingWall { motion, temperature: None },
    ] {
        assert!(found(wall) == slip, "{wall}");
    }
}
