//! Order of accuracy of the flow and Spalart-Allmaras solved together by a manufactured solution of both, held on the sides of a cube: the eddy viscosity is that of the model's
//! variable, which the flow carries.

use super::manufactured::{First, SCALE, Second, flow, nut, place, source_of_nut};
use super::testcases::along_a_wall;
use crate::FlowSolver;
use crate::config::{
    Boundary, Cfl, NewtonKrylov, Nonlinear, Steady, Time, TurbulenceConfig, TurbulenceModel,
};
use crate::mesh::generate::{Cells, box_mesh};
use crate::real::Real;
use chromaflow::Outcome;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_device::Team;
use std::sync::Arc;

/// Prandtl numbers, of the gas and turbulent.
const PRANDTL: [f64; 2] = [0.72, 0.9];

/// Divergence of the flow's fluxes, of viscosity 1 (times [`SCALE`]) and that of the eddies of [`nut`]: of mass, momentum, energy.
fn source_of_flow(x: [f64; 3]) -> [f64; 5] {
    let w = flow(&place(x));
    let here: [First; 3] = std::array::from_fn(|d| First::variable(x[d], d));
    let [rho, u, v, q, p] = flow(&here);
    let (velocity, one) = ([u, v, q], |v: f64| First::c(v));
    let gradient = |i: usize, k: usize| w[1 + i].d[k];
    let temperature = Second::c(1.4) * w[4] / w[0];
    // nu is 1 / rho.
    let chi = nut(&here) * rho;
    let cube = chi * chi * chi;
    let eddies = chi * cube / (cube + one(7.1_f64.powi(3)));
    let mu = one(SCALE) * (one(1.0) + eddies);
    let conductivity = one(SCALE / 0.4) * (one(1.0 / PRANDTL[0]) + eddies * one(1.0 / PRANDTL[1]));
    let widening = gradient(0, 0) + gradient(1, 1) + gradient(2, 2);
    let kinetic = one(0.5) * rho * (u * u + v * v + q * q);
    let mut source = [0.0; 5];
    for k in 0..3 {
        let out = rho * velocity[k];
        let mut energy = (one(3.5) * p + kinetic) * velocity[k] - conductivity * temperature.d[k];
        source[0] += out.d[k];
        for i in 0..3 {
            let mut stress = mu * (gradient(i, k) + gradient(k, i));
            let mut momentum = out * velocity[i];
            if i == k {
                stress -= mu * one(2.0 / 3.0) * widening;
                momentum += p;
            }
            energy -= stress * velocity[i];
            source[1 + i] += (momentum - stress).d[k];
        }
        source[4] += energy.d[k];
    }
    source
}

/// Roots of the mean squares of the errors of rho, velocity, pressure and nut, over what each is of size, where nothing is held.
fn errors(cells: Cells, jitter: f64, n: usize) -> [f64; 4] {
    let turbulence = TurbulenceConfig {
        model: TurbulenceModel::SaNeg,
        second_order: true,
        prandtl: PRANDTL[1],
        ..TurbulenceConfig::default()
    };
    let mut config = along_a_wall(turbulence);
    config.freestream.reynolds = config.freestream.mach / SCALE;
    config.gas.sutherland = false;
    for side in ["y0", "y1"] {
        config.boundaries.insert(side.to_owned(), Boundary::Farfield);
    }
    let implicit = &mut config.implicit;
    implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (implicit.method, implicit.preconditioner) = (Method::Gmres, PreconditionerKind::Ilu(Fill::default()));
    implicit.cfl = Cfl { start: 20.0, max: 1e6, growth: 2.0, ..implicit.cfl };
    config.time = Time::Steady(Steady { iterations: 60, orders: 7.0 });
    let mut mesh = box_mesh([n; 3], [1.0; 3], cells, jitter);
    for marker in &mut mesh.markers {
        marker.name = marker.name.replace("min", "0").replace("max", "1");
    }
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
    let sides = ["x0", "x1", "y0", "y1", "z0", "z1"];
    // On the wall, where values are held, the source of nut has no end.
    let off = |x: [f64; 3]| [x[0], x[1], x[2].max(1e-3)];
    solver.set_state(|x| flow(&x));
    solver.hold_state(&sides, |x| flow(&x)).unwrap();
    solver.set_source(Box::new(source_of_flow));
    solver.set_unknown("nut", |x| nut(&x)).unwrap();
    solver.hold_unknown("nut", &sides, |x| nut(&x)).unwrap();
    solver.set_unknown_source("nut", |x| source_of_nut(off(x))).unwrap();
    let mut last = None;
    let outcome = solver.run(|report| {
        last = Some((report.orders, report.coupled_orders.clone()));
        true
    });
    assert_eq!(outcome, Outcome::Converged, "{cells:?}, {n}: {last:?}");
    let fields = solver.fields();
    let found = fields.iter().find(|field| field.name == "nut").unwrap().values.clone();
    let (mut sums, mut count) = ([0.0; 4], 0.0);
    for (i, x) in mesh.nodes.iter().enumerate() {
        if x.iter().any(|x| *x < 1e-9 || *x > 1.0 - 1e-9) {
            continue;
        }
        let w = flow(x);
        let off = (0..3).map(|d| (fields[1].values[3 * i + d] - w[1 + d]).powi(2)).sum::<f64>();
        count += 1.0;
        sums[0] += (fields[0].values[i] / w[0] - 1.0).powi(2);
        sums[1] += off / 0.25;
        sums[2] += (fields[2].values[i] / w[4] - 1.0).powi(2);
        sums[3] += (found[i] / nut(x) - 1.0).powi(2);
    }
    sums.map(|sum: f64| (sum / count).sqrt())
}

#[test]
fn flow_and_eddies_together_are_of_second_order() {
    for (cells, jitter, least) in
        [(Cells::Hexes, 0.0, [1.8, 1.8, 1.8, 1.8]), (Cells::Tets, 0.2, [1.7, 1.7, 1.7, 0.9])]
    {
        let [coarse, fine] = [10, 20].map(|n| errors(cells, jitter, n));
        let orders: [f64; 4] = std::array::from_fn(|v| (coarse[v] / fine[v]).log2());
        println!("{cells:?}: {coarse:?} {fine:?} orders {orders:.2?}");
        for v in 0..4 {
            assert!(orders[v] > least[v] && fine[v] < 0.01, "{cells:?}, {v}: {coarse:?} {fine:?} {orders:?}");
        }
    }
}
