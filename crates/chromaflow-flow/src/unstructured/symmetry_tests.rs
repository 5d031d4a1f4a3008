//! Half a mesh between planes of symmetry is like the whole one.

use super::FlowSolver;
use super::periodic::sectors::{config, disc, ring};
use crate::bc::into_frame;
use crate::config::{Boundary, Equations, GradientWeights, Nonlinear, Steady, Time};
use crate::dual::{Dual, norm};
use crate::gradient::Mirrors;
use crate::mesh::Mesh;
use crate::mesh::generate::Cells;
use chromaflow_device::Team;
use std::collections::HashMap;
use std::sync::Arc;

/// A flow without swirl that is its own mirror image in `planes` planes through the x axis.
fn mirrored(x: [f64; 3], planes: usize) -> [f64; 5] {
    let (r, angle) = (x[1].hypot(x[2]), planes as f64 * x[2].atan2(x[1]));
    let wave = (r * r).min(1.0) * angle.cos();
    let (out, around) = (0.1 * r * (1.0 + wave) + 0.05 * r * x[0], 0.05 * r * (r * r).min(1.0) * angle.sin());
    let (cos, sin) = if r > 0.0 { (x[1] / r, x[2] / r) } else { (1.0, 0.0) };
    let density = 1.0 + 0.1 * wave + 0.05 * x[0];
    [
        density,
        0.4 + 0.1 * wave,
        out * cos - around * sin,
        out * sin + around * cos,
        0.7 + 0.1 * wave * x[0] + 0.05 * r * r,
    ]
}

/// A solver in that flow, planes of symmetry where the mesh is a sector.
fn solver(mesh: &Mesh, planes: usize, viscous: bool, weights: GradientWeights) -> FlowSolver {
    let mut config = config(mesh, |_| Boundary::Farfield);
    config.partners.clear();
    for side in ["ymin", "ymax"] {
        if let Some(condition) = config.boundaries.get_mut(side) {
            *condition = Boundary::Symmetry;
        }
    }
    config.space.gradient = weights;
    // Faces in the planes are half as wide as the whole mesh has them, which counts between thin layers.
    config.space.entropy_fix = 0.0;
    if viscous {
        config.equations = Equations::Laminar;
        config.freestream.reynolds = 50.0;
    }
    let mut solver = FlowSolver::new(mesh, config, Arc::new(Team::new(2))).unwrap();
    solver.set_state(|x| mirrored(x, planes));
    solver
}

/// Rates R/V by place, in rows whose momentum out of planes of symmetry is none.
fn rates(solver: &mut FlowSolver) -> HashMap<[i64; 3], [f64; 5]> {
    let at = solver.next_moment();
    let host = &mut solver.host;
    host.compute_residual(&at);
    let cell = |v: f64| (v * 1e5 + 0.387).floor() as i64;
    let rows = host.nodes.iter().zip(&host.residual).zip(&host.dual.volumes);
    rows.map(|((node, r), volume)| ([5, 6, 7].map(|k| cell(node[k])), r.map(|r| r / volume))).collect()
}

/// A sector between `planes` planes has the rates that it has in the whole mesh.
fn is_like_the_whole(mesh: impl Fn(bool) -> Mesh, planes: usize, viscous: bool, weights: GradientWeights) {
    let [one, all] = [false, true].map(|whole| rates(&mut solver(&mesh(whole), planes, viscous, weights)));
    let size = all.values().flatten().fold(0.0_f64, |m, r| m.max(r.abs()));
    assert!(size > 0.1 && one.len() > 20);
    // On an axis of many images gradients are others, which the fluxes to the next nodes have.
    let near = |place: &[i64; 3]| planes > 2 && (place[1] as f64).hypot(place[2] as f64) < 0.3e5;
    assert!(one.keys().filter(|place| !near(place)).count() > 20);
    for (place, own) in one.iter().filter(|(place, _)| !near(place)) {
        let whole = &all[place];
        for v in 0..5 {
            let off = (own[v] - whole[v]).abs() / size;
            assert!(off < 1e-12, "{planes} planes: rate {v} at {place:?} is {} for {}", own[v], whole[v]);
        }
    }
}

#[test]
fn a_sector_between_planes_is_like_the_whole() {
    for viscous in [false, true] {
        for weights in [GradientWeights::Unweighted, GradientWeights::InverseDistance] {
            // A disc to its axis: planes at right angles, and six of them; a ring.
            is_like_the_whole(|whole| disc([4, 3, 3], 4, whole), 2, viscous, weights);
            is_like_the_whole(|whole| disc([4, 2, 3], 12, whole), 6, viscous, weights);
            is_like_the_whole(|whole| ring([4, 5, 3], Cells::Hexes, 6, whole), 3, viscous, weights);
        }
    }
}

/// Of linear fields whose mirror images they are themselves, gradients are exact on an axis, too.
#[test]
fn gradients_on_an_axis_are_exact() {
    let mesh = disc([3, 2, 4], 10, false);
    let mut solver = solver(&mesh, 5, false, GradientWeights::Unweighted);
    solver.set_state(|x| [1.0 + 0.1 * x[0], 0.3 + 0.2 * x[0], 0.4 * x[1], 0.4 * x[2], 0.7 - 0.1 * x[0]]);
    let at = solver.next_moment();
    let host = &mut solver.host;
    host.compute_residual(&at);
    for mirror in host.mirrors.nodes.iter().filter(|m| m.mirror.alike > 0.0) {
        let g = &host.gradients[mirror.node as usize];
        let exact = [0.1, 0.2, 0.0, 0.0, -0.1, 0.0, 0.0, 0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.4, 0.0];
        for k in 0..15 {
            assert!((g[k] - exact[k]).abs() < 1e-12, "{k}: {g:?}");
        }
    }
    assert!(host.mirrors.nodes.iter().any(|m| m.mirror.alike > 0.0));
}

#[test]
fn the_matrix_holds_momentum_in_the_planes() {
    let mut solver = solver(&disc([3, 2, 2], 8, false), 4, false, GradientWeights::Unweighted);
    solver.assembled();
    let host = &solver.host;
    let matrix = host.jacobian.to_csr();
    let x: Vec<f64> = (0..5 * host.q.len()).map(|k| (0.37 * k as f64).sin()).collect();
    let mut y = vec![0.0; x.len()];
    matrix.multiply(&Team::new(1), &x, &mut y);
    assert!(host.mirrors.nodes.iter().any(|m| m.mirror.inside == [1.0, 0.0, 0.0]), "nodes on the axis");
    for mirror in &host.mirrors.nodes {
        let i = 5 * mirror.node as usize;
        let of = |x: &[f64]| into_frame(&mirror.mirror.frame, &[x[i + 1], x[i + 2], x[i + 3]]);
        let (own, rows) = (of(&x), of(&y));
        for a in (0..3).filter(|&a| mirror.mirror.inside[a] == 0.0) {
            assert!((own[a] - rows[a]).abs() < 1e-12 * norm(rows), "{mirror:?}");
        }
    }
}

/// The flow between planes keeps to them from the beginning, whatever walls make of it, and converges.
#[test]
fn steps_keep_momentum_in_the_planes() {
    let mesh = disc([4, 2, 6], 8, false);
    let mut solver = solver(&mesh, 4, false, GradientWeights::Unweighted);
    assert!(matches!(solver.host.config.implicit.nonlinear, Nonlinear::NewtonKrylov(_)));
    solver.host.config.time = Time::Steady(Steady { iterations: 60, orders: 9.0, ..Steady::default() });
    let outcome = solver.run(|_| true);
    assert_eq!(outcome, chromaflow::Outcome::Converged);
    for mirror in &solver.host.mirrors.nodes {
        let q = &solver.host.q[mirror.node as usize];
        let m = into_frame(&mirror.mirror.frame, &[q[1], q[2], q[3]]);
        for a in (0..3).filter(|&a| mirror.mirror.inside[a] == 0.0) {
            assert!(m[a].abs() < 1e-14, "{m:?}");
        }
    }
}

/// Curved surfaces that are called planes of symmetry let nothing through, and that is all.
#[test]
fn curved_surfaces_are_no_planes() {
    let mesh = ring([3, 6, 2], Cells::Hexes, 4, false);
    let dual = Dual::new(&mesh);
    let mirrors = |marker: &str| {
        let mut config = config(&mesh, |_| Boundary::Farfield);
        config.partners.clear();
        let of = |name: &str| if name == marker { Boundary::Symmetry } else { Boundary::Farfield };
        let gas = config.gas.gas();
        let free = config.freestream.primitive(gas, 1);
        let conditions: Vec<_> = dual.patches.iter().map(|p| of(&p.name).condition(gas, free)).collect();
        Mirrors::new(&mesh, &dual, &conditions, &[]).nodes.len()
    };
    assert_eq!([mirrors("xmin"), mirrors("xmax")], [0, 0], "inner and outer radius");
    assert_eq!(mirrors("ymin"), 4 * 3);
}
