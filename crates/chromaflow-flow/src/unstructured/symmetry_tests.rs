//! Half a mesh between planes of symmetry is like the whole one.

use super::FlowSolver;
use super::periodic::sectors::{config, disc};
use crate::bc::{ConditionKind, into_frame};
use crate::config::{
    Boundary, Equations, FlowConfig, GradientWeights, NewtonKrylov, Nonlinear, Steady, Time,
};
use crate::dual::{Dual, norm};
use crate::gradient::Mirrors;
use crate::mesh::Mesh;
use crate::mesh::generate::{Cells, box_mesh};
use chromaflow::Policy;
use chromaflow_device::Team;
use std::collections::HashMap;
use std::f64::consts::TAU;
use std::sync::Arc;

/// A sector of `n` of a disc whose sides are planes: `cells` along the radius, around and along the axis.
fn straight(cells: [usize; 3], n: usize) -> Mesh {
    let mut mesh = disc(cells, n, false);
    let [radial, around, _] = cells;
    let columns = around + 1;
    for (at, x) in mesh.nodes.iter_mut().enumerate() {
        let (station, within) = (at / (1 + radial * columns), at % (1 + radial * columns));
        let (i, j) = if within == 0 { (0, 0) } else { (1 + (within - 1) / columns, (within - 1) % columns) };
        let (r, angle) = (i as f64 / radial as f64, TAU * j as f64 / (around * n) as f64);
        *x = [0.3 * station as f64 * (1.0 + 0.1 * r * r), r * angle.cos(), r * angle.sin()];
    }
    mesh
}

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

/// A solver in that flow.
fn solver_with(
    mesh: &Mesh,
    conditions: impl Fn(&str) -> Boundary,
    planes: usize,
    viscous: bool,
    weights: GradientWeights,
) -> FlowSolver {
    let mut config = FlowConfig::default();
    config.freestream.mach = 0.4;
    config.boundaries = mesh.markers.iter().map(|m| (m.name.clone(), conditions(&m.name))).collect();
    config.space.gradient = weights;
    config.implicit.policy = Policy::D;
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
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

/// The same in a sector of [`straight`].
fn solver(mesh: &Mesh, planes: usize) -> FlowSolver {
    let conditions = |name: &str| if name.starts_with('y') { Boundary::Symmetry } else { Boundary::Farfield };
    solver_with(mesh, conditions, planes, false, GradientWeights::Unweighted)
}

/// Rates R/V by place, off the far field: half a face of a bent one points out of the plane.
fn rates(solver: &mut FlowSolver) -> HashMap<[i64; 3], [f64; 5]> {
    let at = solver.next_moment();
    let host = &mut solver.host;
    host.compute_residual(&at);
    let cell = |v: f64| (v * 1e5 + 0.387).floor() as i64;
    let open =
        host.dual.patches.iter().zip(&host.boundaries).filter(|(_, c)| c.kind == ConditionKind::Farfield);
    let open: Vec<u32> = open.flat_map(|(patch, _)| patch.nodes.iter().copied()).collect();
    let inner = (0..host.q.len()).filter(|i| !open.contains(&(*i as u32)));
    let rate = |i: usize| host.residual[i].map(|r| r / host.dual.volumes[i]);
    inner.map(|i| ([5, 6, 7].map(|k| cell(host.nodes[i][k])), rate(i))).collect()
}

/// A quarter of a box between two planes, or a half, or all of it. Stations are uneven, so that nothing is exact by chance.
fn part_of_box(halves: [bool; 2]) -> Mesh {
    let double = |k: usize| if halves[k] { 1 } else { 2 };
    let mut mesh = box_mesh([5, 3 * double(0), 2 * double(1)], [1.0; 3], Cells::Hexes, 0.0);
    for x in &mut mesh.nodes {
        for k in 0..2 {
            let y = if halves[k] { x[1 + k] } else { 2.0 * x[1 + k] - 1.0 };
            x[1 + k] = 0.8 * y * (1.0 + 0.3 * y.abs());
        }
        x[0] += 0.2 * x[0] * x[0];
    }
    mesh
}

/// Rates between planes of symmetry are those of the whole mesh.
#[test]
fn parts_between_planes_are_like_the_whole() {
    for viscous in [false, true] {
        for weights in [GradientWeights::Unweighted, GradientWeights::InverseDistance] {
            let rates = |halves: [bool; 2]| {
                let mesh = part_of_box(halves);
                let symmetric = |name: &str| halves[0] && name == "ymin" || halves[1] && name == "zmin";
                let conditions =
                    |name: &str| if symmetric(name) { Boundary::Symmetry } else { Boundary::Farfield };
                rates(&mut solver_with(&mesh, conditions, 2, viscous, weights))
            };
            let all = rates([false; 2]);
            let size = all.values().flatten().fold(0.0_f64, |m, r| m.max(r.abs()));
            for halves in [[true, false], [false, true], [true, true]] {
                let part = rates(halves);
                assert!(size > 0.1 && part.len() > 20);
                for (place, own) in &part {
                    for v in 0..5 {
                        let off = (own[v] - all[place][v]).abs() / size;
                        assert!(
                            off < 1e-12,
                            "{halves:?}: rate {v} at {place:?} is {own:?} for {:?}",
                            all[place]
                        );
                    }
                }
            }
        }
    }
}

/// Of linear fields whose mirror images they are themselves, gradients are exact on an axis, too.
#[test]
fn gradients_on_an_axis_are_exact() {
    let mesh = straight([3, 2, 4], 10);
    let mut solver = solver(&mesh, 5);
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
    let mut solver = solver(&straight([3, 2, 2], 8), 4);
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
            assert!((own[a] - rows[a]).abs() < 1e-12 * norm(rows), "{own:?} {rows:?} {mirror:?}");
        }
    }
}

/// The flow between planes keeps to them from the beginning, whatever walls make of it, and converges.
#[test]
fn steps_keep_momentum_in_the_planes() {
    let mesh = straight([4, 2, 6], 8);
    let mut solver = solver(&mesh, 4);
    solver.host.config.time = Time::Steady(Steady { iterations: 60, orders: 8.0 });
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
    let mesh = straight([3, 3, 2], 4);
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
    assert_eq!([mirrors("outer"), mirrors("ymin")], [0, 4 * 3]);
}
