//! A manufactured flow in a closed box of wavy cells, with a temperature that drives it.

use super::converged;
use chromaflow_flow::config::{Steady, Time};
use chromaflow_flow::grid::generate::BoxGrid;
use chromaflow_flow::incompressible::{Boundary, Config, Given, Scalar, Solver};
use std::f64::consts::PI;
use std::sync::Arc;

const VISCOSITY: f64 = 0.05;
const DIFFUSIVITY: f64 = 0.03;
const BUOYANCY: [f64; 3] = [0.3, 0.0, -0.7];

/// (p, u, v, w, s): no divergence, and nothing through the walls of the unit box.
fn exact(x: [f64; 3]) -> [f64; 5] {
    let (s, c) = (x.map(|x| (PI * x).sin()), x.map(|x| (PI * x).cos()));
    [
        c[0] * c[1] * c[2],
        s[0] * c[1] * c[2],
        c[0] * s[1] * c[2],
        -2.0 * c[0] * c[1] * s[2],
        x[0] * x[1] + x[2] * x[2],
    ]
}

/// What the equations leave of it.
fn source(x: [f64; 3]) -> Vec<f64> {
    let (s, c) = (x.map(|x| (PI * x).sin()), x.map(|x| (PI * x).cos()));
    let gradients = [
        [c[0] * c[1] * c[2], -s[0] * s[1] * c[2], -s[0] * c[1] * s[2]],
        [-s[0] * s[1] * c[2], c[0] * c[1] * c[2], -c[0] * s[1] * s[2]],
        [2.0 * s[0] * c[1] * s[2], 2.0 * c[0] * s[1] * s[2], -2.0 * c[0] * c[1] * c[2]],
    ];
    let pressure = [-s[0] * c[1] * c[2], -c[0] * s[1] * c[2], -c[0] * c[1] * s[2]];
    let q = exact(x);
    let along = |gradient: [f64; 3]| q[1] * gradient[0] + q[2] * gradient[1] + q[3] * gradient[2];
    let mut out = vec![0.0];
    for i in 0..3 {
        let friction = -3.0 * PI * PI * VISCOSITY * q[1 + i];
        out.push(PI * (along(gradients[i]) + pressure[i]) - friction - BUOYANCY[i] * q[4]);
    }
    out.push(along([x[1], x[0], 2.0 * x[2]]) - 2.0 * DIFFUSIVITY);
    out
}

/// Root mean square errors of pressure (up to a constant), velocity and scalar.
fn errors(cells: usize) -> [f64; 3] {
    let grid = BoxGrid { cells: [cells; 3], size: [1.0; 3], wave: 0.04 }.grid();
    let mut config = Config::default();
    config.fluid.viscosity = VISCOSITY;
    config.fluid.compressibility = 2.0;
    config.fluid.scalars =
        vec![Scalar { name: "s".into(), diffusivity: DIFFUSIVITY, buoyancy: BUOYANCY, reference: 0.0 }];
    for name in grid.markers() {
        let given = Given::By(Arc::new(|x, _| exact(x)[1..].to_vec()));
        config.boundaries.insert(name.to_owned(), Boundary::Inflow(given));
    }
    config.time = Time::Steady(Steady { iterations: 200, orders: 5.0 });
    let mut solver = Solver::new(&grid, config, Arc::new(chromaflow_device::Team::new(1))).unwrap();
    solver.set_source(Arc::new(|x, _| source(x)));
    solver.set_state(|x| exact(x).to_vec());
    super::finish(&mut solver);
    let (state, centers, volumes) = (solver.state(), solver.centers(), solver.volumes());
    let cells = || state.chunks(5).zip(&centers).zip(&volumes);
    let shift: f64 = cells().map(|((q, x), v)| v * (q[0] - exact(*x)[0])).sum();
    let mut sum = [0.0; 3];
    for ((q, x), v) in cells() {
        let e = exact(*x);
        sum[0] += v * (q[0] - e[0] - shift).powi(2);
        sum[1] += v * (1..4).map(|c| (q[c] - e[c]).powi(2)).sum::<f64>();
        sum[2] += v * (q[4] - e[4]).powi(2);
    }
    sum.map(f64::sqrt)
}

#[test]
fn second_order_in_space() {
    let [coarse, fine] = [8, 16].map(errors);
    let orders: Vec<f64> = coarse.iter().zip(fine).map(|(c, f)| (c / f).log2()).collect();
    println!("errors of p, u, s: {coarse:?}, {fine:?}; orders {orders:?}");
    assert!(orders.iter().all(|order| *order > 1.75), "{orders:?}");
}

/// First order is first order.
#[test]
fn constant_states_take_the_cells_values() {
    let grid = BoxGrid { cells: [6, 6, 1], size: [1.0, 1.0, 0.2], wave: 0.0 }.grid();
    let mut config = Config::default();
    config.fluid.viscosity = 0.1;
    config.space.second_order = false;
    for name in grid.markers() {
        let boundary = if name.starts_with('z') {
            Boundary::Symmetry
        } else {
            Boundary::Inflow(Given::Same(vec![0.6, -0.8, 0.0]))
        };
        config.boundaries.insert(name.to_owned(), boundary);
    }
    config.initial = vec![0.0, 0.5, -0.5];
    let solver = converged(&grid, config, 10.0);
    for q in solver.state().chunks(4) {
        assert!((q[1] - 0.6).abs() < 1e-8 && (q[2] + 0.8).abs() < 1e-8, "{q:?}");
    }
}
