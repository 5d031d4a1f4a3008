//! Order of accuracy of the transport of a scalar, by a manufactured solution in a manufactured flow.

use crate::accuracy::{exact, flow, source, square, wave};
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{Boundary, FlowConfig, Limiter, Quadrature, ScalarConfig, Steady, Time};
use chromaflow_flow::mesh::generate::{Cells, box_mesh};
use chromaflow_flow::mesh::{Mesh, ReadOptions, load};
use std::sync::Arc;

/// Gamma, a tenth of the flux of mass times the length of the domain: both kinds of transport count.
const GAMMA: f64 = 0.05;

/// phi and rho u . grad phi - Gamma div grad phi.
fn scalar(x: [f64; 3], planar: bool) -> [f64; 2] {
    let a = [2.0, -1.5, if planar { 0.0 } else { 1.0 }];
    let (phi, w) = (wave(x, a, 0.4), flow(x, planar).map(|w| w.v));
    let carried = w[0] * (w[1] * phi.d[0] + w[2] * phi.d[1] + w[3] * phi.d[2]);
    let laplacian = -(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) * phi.v;
    [1.0 + 0.3 * phi.v, 0.3 * (carried - GAMMA * laplacian)]
}

/// Root of the mean square of the error over the inner nodes.
fn error(mesh: &Mesh, quadrature: Quadrature) -> f64 {
    let planar = mesh.planar.is_some();
    let mut config = FlowConfig {
        scalar: Some(ScalarConfig { limited: false, diffusivity: Some(GAMMA), ..ScalarConfig::default() }),
        time: Time::Steady(Steady { iterations: 200, orders: 5.0 }),
        ..FlowConfig::default()
    };
    config.space.limiter = Limiter::None;
    config.space.quadrature = quadrature;
    config.implicit.cfl.start = 50.0;
    let sides: Vec<&str> = mesh.markers.iter().filter(|m| !m.is_plane()).map(|m| m.name.as_str()).collect();
    for side in &sides {
        config.boundaries.insert((*side).to_owned(), Boundary::Farfield);
    }
    let mut solver = FlowSolver::new(mesh, config, Arc::new(Team::new(2))).unwrap();
    let state = |x: [f64; 3]| exact(x, planar);
    solver.set_state(state);
    solver.hold_state(&sides, state).unwrap();
    solver.set_source(Box::new(move |x| source(x, planar)));
    solver.set_unknown("scalar", |x| scalar(x, planar)[0]).unwrap();
    solver.hold_unknown("scalar", &sides, |x| scalar(x, planar)[0]).unwrap();
    solver.set_unknown_source("scalar", |x| scalar(x, planar)[1]).unwrap();
    assert_eq!(solver.run(|_| true), chromaflow::Outcome::Converged);
    let fields = solver.fields();
    let found = fields.iter().find(|f| f.name == "scalar").unwrap();
    let inside = |x: [f64; 3]| x[..if planar { 2 } else { 3 }].iter().all(|x| *x > 1e-9 && *x < 1.0 - 1e-9);
    let inner = mesh.nodes.iter().zip(&found.values).filter(|(x, _)| inside(**x));
    let (sum, count) = inner.fold((0.0, 0.0), |(sum, count), (x, phi)| {
        (sum + (phi - scalar(*x, planar)[0]).powi(2), count + 1.0)
    });
    f64::sqrt(sum / count)
}

fn check(name: &str, quadrature: Quadrature, n: [usize; 2], mesh: impl Fn(usize) -> Mesh) {
    let errors = n.map(|n| error(&mesh(n), quadrature));
    let order = (errors[0] / errors[1]).ln() / (n[1] as f64 / n[0] as f64).ln();
    let [coarse, fine] = errors;
    println!("{name:>26} {n:?}: {coarse:.3e} {fine:.3e} order {order:.2}");
    assert!(order > 1.9, "{name}: {order}");
}

#[test]
fn a_scalar_is_of_second_order_in_the_plane() {
    use Quadrature::{EdgeMidpoint, Linear};
    check("quadrilaterals", EdgeMidpoint, [16, 48], |n| square(n, false, 0.0));
    check("irregular quadrilaterals", Linear, [16, 48], |n| square(n, false, 0.4));
    check("irregular triangles", EdgeMidpoint, [16, 48], |n| square(n, true, 0.4));
}

#[test]
fn a_scalar_is_of_second_order_in_space() {
    use Quadrature::{EdgeMidpoint, Linear};
    let cube = |cells, jitter| move |n| box_mesh([n; 3], [1.0; 3], cells, jitter);
    check("hexahedra", EdgeMidpoint, [8, 16], cube(Cells::Hexes, 0.0));
    check("irregular hexahedra", Linear, [8, 16], cube(Cells::Hexes, 0.3));
    check("irregular tetrahedra", EdgeMidpoint, [8, 16], cube(Cells::Tets, 0.3));
    check("irregular mixed", Linear, [8, 16], cube(Cells::Mixed, 0.3));
}

/// On meshes of airfoil and wing, while the flow around them begins to form: nothing makes or loses any of it.
#[test]
fn a_constant_scalar_stays_on_real_meshes() {
    for name in ["mesh2d/naca0012_inv.su2.xz", "mesh3d/oneram6_sharpTE_gmsh_15k.su2.xz"] {
        let Some(path) = chromaflow_testkit::data(name) else { continue };
        let mesh = load(&path, &ReadOptions::default()).unwrap().mesh;
        let mut config = FlowConfig {
            scalar: Some(ScalarConfig { inflow: 0.7, diffusivity: Some(0.01), ..ScalarConfig::default() }),
            ..FlowConfig::default()
        };
        for marker in mesh.markers.iter().filter(|m| !m.is_plane()) {
            let far = marker.name == "farfield";
            let boundary = if far { Boundary::Farfield } else { Boundary::SlipWall };
            config.boundaries.insert(marker.name.clone(), boundary);
        }
        let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
        for _ in 0..4 {
            let report = solver.step();
            assert!(report.residual[0] > 1e-6 && !report.rejected, "{name}: the flow is at work");
            assert!(report.coupled_orders[0].is_infinite(), "{name}: {:e}", report.coupled[0]);
        }
        let fields = solver.fields();
        let found = fields.iter().find(|f| f.name == "scalar").unwrap();
        assert!(found.values.iter().all(|phi| (phi - 0.7).abs() < 1e-14), "{name}");
    }
}
