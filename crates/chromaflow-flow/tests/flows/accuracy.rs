//! Order of accuracy by manufactured solutions of the Euler equations, held exactly on the boundary.

use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{Boundary, FlowConfig, Limiter, Quadrature, Steady, Time};
use chromaflow_flow::flux::flux;
use chromaflow_flow::gas::Gas;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::mesh::generate::{Cells, Plane, box_mesh};
use chromaflow_flow::real::{Dual, Real};
use std::sync::Arc;

pub type Gradients = Dual<f64, 3>;

/// sin(a . x + phase) with its gradient.
pub fn wave(x: [f64; 3], a: [f64; 3], phase: f64) -> Gradients {
    let (s, c) = (a[0] * x[0] + a[1] * x[1] + a[2] * x[2] + phase).sin_cos();
    Dual { v: s, d: a.map(|a| a * c) }
}

/// A smooth subsonic flow, with its gradients; without the third velocity and any change along z where it is planar.
pub fn flow(x: [f64; 3], planar: bool) -> [Gradients; 5] {
    let z = if planar { 0.0 } else { 1.0 };
    let around = |mean: f64, size: f64, a: [f64; 3], phase: f64| {
        Gradients::c(mean) + Gradients::c(size) * wave(x, [a[0], a[1], z * a[2]], phase)
    };
    [
        around(1.0, 0.1, [2.0, 1.0, 1.5], 0.3),
        around(0.5, 0.1, [1.0, -2.0, 1.0], 0.7),
        around(0.2, 0.1, [-1.0, 1.5, 2.0], 1.1),
        around(0.1 * z, 0.1 * z, [1.5, 1.0, -1.0], 0.2),
        around(1.0 / 1.4, 0.1, [1.5, 2.0, 1.0], 0.5),
    ]
}

pub fn exact(x: [f64; 3], planar: bool) -> [f64; 5] {
    flow(x, planar).map(|w| w.v)
}

/// Divergence of the flow's flux.
pub fn source(x: [f64; 3], planar: bool) -> [f64; 5] {
    let w = flow(x, planar);
    let mut sum = [0.0; 5];
    for d in 0..3 {
        let n = std::array::from_fn(|k| Gradients::c(if k == d { 1.0 } else { 0.0 }));
        let f = flux(Gas::AIR.lift(), &w, &n);
        for v in 0..5 {
            sum[v] += f[v].d[d];
        }
    }
    sum
}

/// Means over the nodes that are not held of |error| and, rooted, of its square, all variables together.
fn errors(mesh: &Mesh, quadrature: Quadrature) -> [f64; 2] {
    let planar = mesh.planar.is_some();
    let mut config = FlowConfig::default();
    config.space.limiter = Limiter::None;
    config.space.quadrature = quadrature;
    config.implicit.cfl.start = 50.0;
    config.time = Time::Steady(Steady { iterations: 200, orders: 5.0 });
    for marker in mesh.markers.iter().filter(|m| !m.is_plane()) {
        config.boundaries.insert(marker.name.clone(), Boundary::Farfield);
    }
    let mut solver = FlowSolver::new(mesh, config, Arc::new(Team::new(2))).unwrap();
    let state = |x: [f64; 3]| exact(x, planar);
    solver.set_state(state);
    let sides: Vec<&str> = mesh.markers.iter().filter(|m| !m.is_plane()).map(|m| m.name.as_str()).collect();
    solver.hold_state(&sides, state).unwrap();
    solver.set_source(Box::new(move |x| source(x, planar)));
    // From the exact state the first residual is the truncation error: five orders below it is far below the error.
    let outcome = solver.run(|_| true);
    assert_eq!(outcome, chromaflow::Outcome::Converged);
    let fields = solver.fields();
    let (mut one, mut two) = (0.0, 0.0);
    let inside = |x: [f64; 3]| x[..if planar { 2 } else { 3 }].iter().all(|x| *x > 1e-9 && *x < 1.0 - 1e-9);
    let mut count = 0.0;
    for (i, &x) in mesh.nodes.iter().enumerate().filter(|(_, x)| inside(**x)) {
        count += 5.0;
        let w = state(x);
        let found = [
            fields[0].values[i],
            fields[1].values[3 * i],
            fields[1].values[3 * i + 1],
            fields[1].values[3 * i + 2],
            fields[2].values[i],
        ];
        for v in 0..5 {
            let e = (found[v] - w[v]).abs();
            one += e;
            two += e * e;
        }
    }
    [one / count, (two / count).sqrt()]
}

/// Observed orders in L1 and L2 between each mesh of n cells each way and the next.
fn orders(name: &str, quadrature: Quadrature, meshes: impl Iterator<Item = (usize, Mesh)>) -> Vec<[f64; 2]> {
    let found: Vec<(usize, [f64; 2])> = meshes.map(|(n, mesh)| (n, errors(&mesh, quadrature))).collect();
    let mut out = Vec::new();
    println!("{name:>32} {:4} L1 {:.3e} L2 {:.3e}", found[0].0, found[0].1[0], found[0].1[1]);
    for pair in found.windows(2) {
        let ratio = (pair[1].0 as f64 / pair[0].0 as f64).ln();
        let order: [f64; 2] = std::array::from_fn(|k| (pair[0].1[k] / pair[1].1[k]).ln() / ratio);
        let [one, two] = pair[1].1;
        println!("{name:>32} {:4} L1 {one:.3e} {:.2} L2 {two:.3e} {:.2}", pair[1].0, order[0], order[1]);
        out.push(order);
    }
    out
}

/// The unit square, its inner nodes moved by up to `jitter` half cells.
pub fn square(n: usize, triangles: bool, jitter: f64) -> Mesh {
    let noise = |i: usize, j: usize, k: f64| {
        let s = (12.9898 * i as f64 + 78.233 * j as f64 + k).sin() * 43758.5453;
        2.0 * (s - s.floor()) - 1.0
    };
    Plane { cells: [n, n], periodic: false, triangles }.mesh(
        |i, j| {
            let inside = i > 0 && j > 0 && i < n && j < n;
            let shift = |k| if inside { 0.5 * jitter * noise(i, j, k) } else { 0.0 };
            [(i as f64 + shift(0.0)) / n as f64, (j as f64 + shift(1.0)) / n as f64]
        },
        |side, _| ["xmin", "xmax", "ymin", "ymax"][side],
    )
}

/// Regular and irregular meshes of all elements.
#[test]
fn second_order_in_the_plane() {
    use Quadrature::{EdgeMidpoint, Linear};
    for (triangles, jitter, quadrature) in
        [(false, 0.0, EdgeMidpoint), (false, 0.4, Linear), (true, 0.4, EdgeMidpoint), (true, 0.4, Linear)]
    {
        let name = if triangles { "triangles" } else { "quadrilaterals" };
        let meshes = [16, 64].map(|n| (n, square(n, triangles, jitter)));
        check(&format!("{name} {jitter} {quadrature:?}"), quadrature, meshes.into_iter());
    }
}

#[test]
fn second_order_in_space() {
    use Quadrature::{EdgeMidpoint, Linear};
    for (cells, jitter, quadrature) in [
        (Cells::Hexes, 0.0, EdgeMidpoint),
        (Cells::Hexes, 0.3, Linear),
        (Cells::Prisms, 0.3, Linear),
        (Cells::Tets, 0.3, EdgeMidpoint),
        (Cells::Tets, 0.3, Linear),
        (Cells::Mixed, 0.0, Linear),
        (Cells::Mixed, 0.3, Linear),
    ] {
        let meshes = [8, 16].map(|n| (n, box_mesh([n; 3], [1.0; 3], cells, jitter)));
        check(&format!("{cells:?} {jitter} {quadrature:?}"), quadrature, meshes.into_iter());
    }
}

fn check(name: &str, quadrature: Quadrature, meshes: impl Iterator<Item = (usize, Mesh)>) {
    for order in orders(name, quadrature, meshes).as_flattened() {
        assert!(*order > 1.9, "{name}: {order}");
    }
}
