use crate::FlowSolver;
use crate::config::{Boundary, Equations, FlowConfig, Limiter, ScalarConfig, Steady, Time, Unsteady};
use crate::coupled::CoupledSystem;
use crate::march::{Bdf, Moment};
use crate::testmesh::mixed_cube;
use chromaflow::{BlockCsr, Policy};
use chromaflow_device::Team;
use std::sync::Arc;

fn tunnel(name: &str) -> Boundary {
    match name {
        "x0" | "x1" => Boundary::Farfield,
        "z0" => Boundary::NoSlipAdiabatic,
        "z1" => Boundary::NoSlipIsothermal { temperature: 1.1 },
        _ => Boundary::Symmetry,
    }
}

fn config(boundary: impl Fn(&str) -> Boundary, scalar: ScalarConfig) -> FlowConfig {
    let mut config = FlowConfig { scalar: Some(scalar), ..FlowConfig::default() };
    config.freestream.mach = 0.4;
    config.freestream.reynolds = 200.0;
    config.equations = Equations::Laminar;
    config.implicit.policy = Policy::D;
    for name in ["x0", "x1", "y0", "y1", "z0", "z1"] {
        config.boundaries.insert(name.to_owned(), boundary(name));
    }
    config
}

fn solver(config: &FlowConfig, threads: usize) -> FlowSolver {
    FlowSolver::new(&mixed_cube(5, 0.2), config.clone(), Arc::new(Team::new(threads))).unwrap()
}

fn bump(x: [f64; 3]) -> [f64; 5] {
    let s = (-30.0 * x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>()).exp();
    [1.0 + 0.1 * s, 0.4, 0.1 * s, 0.05 * s, (1.0 + 0.2 * s) / 1.4]
}

fn profile(x: [f64; 3]) -> f64 {
    0.7 + (3.0 * x[0]).sin() * (2.0 * x[1]).cos() + 0.5 * x[2] * x[2]
}

fn hot_wall() -> ScalarConfig {
    ScalarConfig { inflow: 0.2, values: [("z0".to_owned(), 1.0)].into(), ..ScalarConfig::default() }
}

fn values(solver: &FlowSolver) -> &[f64] {
    &solver.host.coupled[0].state.values
}

/// The state of the first iteration of a run that is `unsteady` or not, with the scalar's residual.
fn at(cfl: f64, unsteady: bool) -> Moment {
    let bdf = unsteady.then_some(Bdf { weights: [1.5, -2.0, 0.5], dt: 0.05 });
    Moment { bdf, ..Moment::first(cfl) }
}

fn residual(solver: &mut FlowSolver, at: &Moment) -> Vec<f64> {
    solver.host.compute_residual(at);
    solver.host.coupled_residuals(at);
    solver.host.coupled[0].residual.clone()
}

/// The matrix of the next step, in the solver's order.
fn matrix(solver: &mut FlowSolver, at: &Moment) -> BlockCsr {
    residual(solver, at);
    let mut coupled = std::mem::take(&mut solver.host.coupled);
    let view = solver.host.view(&solver.host.gradients, &solver.host.fluxes);
    let matrix = coupled[0].assemble(&view, at).unwrap().to_csr();
    solver.host.coupled = coupled;
    matrix
}

#[test]
fn a_constant_stays_constant_while_the_flow_changes() {
    for time in [
        Time::Steady(Steady { iterations: 8, orders: 20.0 }),
        Time::Unsteady(Unsteady { dt: 0.1, steps: 3, subiterations: 2, orders: 20.0 }),
    ] {
        let scalar = ScalarConfig { inflow: 0.3, ..ScalarConfig::default() };
        let mut solver = solver(&FlowConfig { time, ..config(tunnel, scalar) }, 2);
        solver.set_state(bump);
        solver.run(|report| {
            assert!(report.residual[0] > 1e-6, "the flow is at work");
            assert!(report.coupled[0] < 1e-14, "{:e}", report.coupled[0]);
            true
        });
        assert!(values(&solver).iter().all(|phi| (phi - 0.3).abs() < 1e-14));
    }
}

/// In a flow that has converged, what the control volumes lose is what leaves through the boundary.
#[test]
fn what_is_lost_leaves_through_the_boundary() {
    let scalar = ScalarConfig { inflow: 0.3, diffusivity: Some(0.01), ..ScalarConfig::default() };
    let mut config = config(|_| Boundary::Farfield, scalar);
    config.equations = Equations::Euler;
    let mut solver = solver(&config, 1);
    solver.set_unknown("scalar", profile).unwrap();
    let lost: f64 = residual(&mut solver, &at(1.0, false)).iter().sum();
    let (host, phi) = (&solver.host, values(&solver));
    let velocity = [host.nodes[0][1], host.nodes[0][2], host.nodes[0][3]];
    let mut left = 0.0;
    for patch in &host.dual.patches {
        for (&i, n) in patch.nodes.iter().zip(&patch.areas) {
            let mass = velocity[0] * n[0] + velocity[1] * n[1] + velocity[2] * n[2];
            left += mass * if mass > 0.0 { phi[i as usize] } else { 0.3 };
        }
    }
    assert!(left.abs() > 0.01 && (lost - left).abs() < 1e-14, "{lost} {left}");
}

#[test]
fn the_matrix_is_the_derivative_of_the_first_order_residual() {
    for (unsteady, boundary) in [(false, tunnel as fn(&str) -> Boundary), (true, |_| Boundary::Farfield)] {
        let mut config = config(boundary, ScalarConfig { second_order: false, ..hot_wall() });
        if unsteady {
            config.time = Time::Unsteady(Unsteady::default());
        }
        let mut solver = solver(&config, 1);
        solver.set_state(bump);
        solver.set_unknown("scalar", profile).unwrap();
        let at = at(1e300, unsteady);
        let a = matrix(&mut solver, &at);
        let before = residual(&mut solver, &at);
        let direction: Vec<f64> = (0..before.len()).map(|i| (0.3 * i as f64).sin()).collect();
        for (phi, d) in solver.host.coupled[0].state.values.iter_mut().zip(&direction) {
            *phi += d;
        }
        // The residual is linear: any step serves.
        let after = residual(&mut solver, &at);
        let CoupledSystem { state, .. } = &solver.host.coupled[0];
        for i in (0..before.len()).filter(|i| !state.held.contains(&(*i as u32))) {
            let columns = a.pattern().columns(i).iter().zip(a.pattern().range(i));
            let product: f64 = columns.map(|(&j, k)| a.block(k)[0] * direction[j as usize]).sum();
            let difference = after[i] - before[i];
            assert!((product - difference).abs() < 1e-13, "row {i}: {product} {difference}");
        }
    }
}

#[test]
fn the_matrix_is_an_m_matrix() {
    let mut config = config(tunnel, hot_wall());
    config.time = Time::Unsteady(Unsteady::default());
    let mut solver = solver(&config, 2);
    solver.set_state(bump);
    let a = matrix(&mut solver, &at(50.0, true));
    for i in 0..a.pattern().rows() {
        let mut sum = 0.0;
        for (&j, k) in a.pattern().columns(i).iter().zip(a.pattern().range(i)) {
            let entry = a.block(k)[0];
            assert!(if j as usize == i { entry > 0.0 } else { entry <= 0.0 }, "({i}, {j}): {entry}");
            sum += entry;
        }
        assert!(sum > 0.0, "row {i} dominates");
    }
}

/// Between a wall of value 1 and an inflow of 0.2: nothing leaves this range in first order, by the M-matrix; in second order
/// it does by a twentieth at one node of this irregular mesh of five cells.
#[test]
fn a_wall_of_given_value_warms_the_stream() {
    for (second_order, beyond) in [(false, 1e-12), (true, 0.05)] {
        let mut config = config(tunnel, ScalarConfig { second_order, ..hot_wall() });
        config.time = Time::Steady(Steady { iterations: 300, orders: 8.0 });
        let mut solver = solver(&config, 2);
        let mut last = None;
        let outcome = solver.run(|report| {
            last = Some(report.clone());
            true
        });
        assert_eq!(outcome, chromaflow::Outcome::Converged);
        let last = last.unwrap();
        assert!(last.coupled_orders[0] >= 8.0 && last.orders <= last.coupled_orders[0], "{last:?}");
        let field = solver.fields().into_iter().find(|f| f.name == "scalar").unwrap().values;
        let mesh = mixed_cube(5, 0.2);
        for (x, phi) in mesh.nodes.iter().zip(&field) {
            assert!((0.2 - beyond..=1.0 + beyond).contains(phi), "{x:?}: {phi}");
            assert!(x[2] > 0.0 || *phi == 1.0, "the wall keeps its value");
        }
        let mean = field.iter().sum::<f64>() / field.len() as f64;
        assert!(mean > 0.3 && mean < 0.9, "{mean}");
    }
}

#[test]
fn restarts_and_threads_change_nothing() {
    for unsteady in [false, true] {
        let mut config = config(tunnel, hot_wall());
        config.time = if unsteady {
            Time::Unsteady(Unsteady { dt: 0.1, steps: 4, subiterations: 3, orders: 20.0 })
        } else {
            Time::Steady(Steady { iterations: 8, orders: 20.0 })
        };
        let run = |threads: usize, split: bool| {
            let mut one = solver(&config, threads);
            one.set_state(bump);
            one.set_unknown("scalar", profile).unwrap();
            if split {
                for _ in 0..5 {
                    one.step();
                }
                let restart = one.restart();
                one = solver(&config, threads);
                one.resume(&restart).unwrap();
            }
            let mut orders = Vec::new();
            one.run(|report| {
                orders.push(report.coupled_orders[0]);
                true
            });
            (one.restart().field("scalar").unwrap().values.clone(), orders.pop())
        };
        let whole = run(1, false);
        assert_eq!(whole, run(3, false), "threads");
        let split = run(1, true);
        for (a, b) in whole.0.iter().zip(&split.0) {
            assert!((a - b).abs() < 1e-14, "{a} {b}");
        }
    }
}

#[test]
fn restarts_without_it_leave_it_at_its_beginning() {
    let with = config(tunnel, hot_wall());
    let restart = solver(&FlowConfig { scalar: None, ..with.clone() }, 1).restart();
    let mut solver = solver(&with, 1);
    assert_eq!(solver.unknowns_missing_in(&restart), ["scalar"]);
    let before = values(&solver).to_vec();
    solver.resume(&restart).unwrap();
    assert_eq!(values(&solver), before);
    assert!(solver.unknowns_missing_in(&solver.restart()).is_empty());
}

#[test]
fn faults_are_named() {
    let fault = |scalar| {
        let config = config(tunnel, scalar);
        let solver = FlowSolver::new(&mixed_cube(3, 0.0), config, Arc::new(Team::new(1)));
        solver.err().unwrap().to_string()
    };
    let at = |marker: &str, value| ScalarConfig {
        values: [(marker.to_owned(), value)].into(),
        ..ScalarConfig::default()
    };
    assert!(fault(ScalarConfig { schmidt: 0.0, ..ScalarConfig::default() }).contains("scalar.schmidt = 0"));
    assert!(fault(at("wing", 1.0)).contains("`wing`"));
    assert!(fault(at("y0", 1.0)).contains("plane of symmetry"));
    assert!(fault(at("z0", f64::NAN)).contains("scalar.markers.z0"));
    let mut solver = solver(&config(tunnel, hot_wall()), 1);
    assert!(solver.set_unknown("smoke", profile).unwrap_err().to_string().contains("`smoke`"));
}

#[test]
fn a_value_that_is_not_finite_is_named() {
    let mut config = config(|_| Boundary::Farfield, hot_wall());
    config.space.limiter = Limiter::None;
    config.scalar.as_mut().unwrap().second_order = false;
    let mut solver = solver(&config, 1);
    solver.host.coupled[0].state.values[7] = f64::NAN;
    solver.host.coupled[0].state.last_good[7] = f64::NAN;
    let report = solver.step();
    assert!(report.rejected);
    let bad = report.bad.unwrap();
    assert!(bad.variables.ends_with("energy, scalar") && bad.state[5].is_nan(), "{bad}");
    assert!(bad.state[..5].iter().all(|v| v.is_finite()));
}
