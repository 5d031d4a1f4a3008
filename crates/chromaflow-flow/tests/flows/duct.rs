//! Laminar flow between parallel walls against Poiseuille.

use chromaflow::Outcome;
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{Boundary, Equations, FlowConfig, NewtonKrylov, Nonlinear, Steady, Time};
use chromaflow_flow::mesh::generate::Plane;
use std::sync::Arc;

const LENGTH: f64 = 4.0;
const MACH: f64 = 0.01;

/// Friction on the lower wall, (x, Cf Re / 12), of a duct of height 1 driven by the pressure at its ends.
fn friction(reynolds: f64, triangles: bool) -> Vec<(f64, f64)> {
    let (ni, nj) = (32, 16);
    let plane = Plane { cells: [ni, nj], periodic: false, triangles };
    let mesh = plane.mesh(
        |i, j| [LENGTH * i as f64 / ni as f64, j as f64 / nj as f64],
        |side, _| ["inlet", "outlet", "lower", "upper"][side],
    );
    let mut config = FlowConfig { equations: Equations::Laminar, ..FlowConfig::default() };
    config.freestream.mach = MACH;
    config.freestream.reynolds = reynolds;
    config.gas.sutherland = false;
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.cfl.growth, config.implicit.cfl.max) = (2.0, 1e6);
    config.time = Time::Steady(Steady { iterations: 100, orders: 8.0 });
    // What friction takes at a mean velocity of MACH, 12 L / Re, and the dynamic pressure of the mean of u^2, 6/5.
    let head = 12.0 * LENGTH / reynolds + 0.6;
    let inlet = Boundary::Inlet {
        total_pressure: 1.0 + 1.4 * MACH * MACH * head,
        total_temperature: 1.0,
        direction: [1.0, 0.0, 0.0],
    };
    for (name, kind) in [
        ("inlet", inlet),
        ("outlet", Boundary::Outlet { pressure: 1.0 }),
        ("lower", Boundary::NoSlipAdiabatic),
        ("upper", Boundary::NoSlipAdiabatic),
    ] {
        config.boundaries.insert(name.to_owned(), kind);
    }
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
    assert_eq!(solver.run(|_| true), Outcome::Converged);
    let fields = solver.fields();
    let values = &fields.iter().find(|f| f.name == "skin_friction").unwrap().values;
    let nodes = mesh.nodes.iter().enumerate().filter(|(_, x)| x[1] == 0.0 && x[2] == 0.0);
    nodes.map(|(i, x)| (x[0], values[3 * i] * reynolds / 12.0)).collect()
}

/// Cf = 12 / Re from the middle on, to the last node (but the last two on triangles): gas beyond an outlet draws on that inside.
#[test]
fn friction_of_a_duct_holds_to_its_outlet() {
    for (reynolds, triangles) in [(1.0, false), (10.0, false), (10.0, true)] {
        let along = friction(reynolds, triangles);
        let middle = along[along.len() / 2].1;
        assert!((middle - 1.0).abs() < 0.06, "Re {reynolds}: {middle}");
        let last = along.len() - if triangles { 2 } else { 0 };
        for (x, value) in &along[along.len() / 2..last] {
            assert!((value / middle - 1.0).abs() < 0.05, "Re {reynolds}, x {x}: {value}, {middle}");
        }
    }
}
