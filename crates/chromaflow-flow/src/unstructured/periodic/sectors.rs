//! Sectors of rings and discs about the x axis, the whole ones made of the same sectors, and flows on them.

use crate::config::{Boundary, FlowConfig};
use crate::mesh::generate::{Cells, box_mesh};
use crate::mesh::periodic::{Pair, Periods, merge};
use crate::mesh::{Marker, Mesh};
pub use crate::testmesh::swirling;
use crate::testmesh::{LENGTH, moved};
use crate::unstructured::FlowSolver;
use chromaflow_device::Team;
use std::f64::consts::TAU;
use std::sync::Arc;

/// Of `cells` along the radius, around a sector and along the axis, between the radii 0.5 and 1.3: one sector of `n`, or all of them.
pub fn ring([radial, around, axial]: [usize; 3], cells: Cells, n: usize, whole: bool) -> Mesh {
    let times = if whole { n } else { 1 };
    let sizes = [1.0, times as f64, LENGTH];
    let mut mesh = box_mesh([radial, around * times, axial], sizes, cells, 0.0);
    if whole {
        let pair: Pair = ["ymin", "ymax"].map(str::to_owned);
        mesh = merge(&mesh, &[pair]).unwrap().0;
        mesh.periods = Periods::default();
    }
    for x in &mut mesh.nodes {
        *x = moved([0.5 + 0.8 * x[0], TAU / n as f64 * x[1], x[2]], n);
    }
    mesh
}

/// A disc of prisms around the axis and hexahedra around those.
pub fn disc([radial, around, axial]: [usize; 3], n: usize, whole: bool) -> Mesh {
    let all = if whole { around * n } else { around };
    let columns = if whole { all } else { all + 1 };
    let node = |i: usize, j: usize, k: usize| -> u32 {
        let plane = 1 + radial * columns;
        let within = if i == 0 { 0 } else { 1 + (i - 1) * columns + j % columns };
        (k * plane + within) as u32
    };
    let mut mesh = Mesh::default();
    for k in 0..=axial {
        let x = LENGTH * k as f64 / axial as f64;
        mesh.nodes.push([x, 0.0, 0.0]);
        for i in 1..=radial {
            for j in 0..columns {
                let angle = TAU * j as f64 / (around * n) as f64;
                mesh.nodes.push(moved([i as f64 / radial as f64, angle, x], n));
            }
        }
    }
    let mut markers = ["inflow", "outflow", "outer", "ymin", "ymax"]
        .map(|name| Marker { name: name.into(), ..Marker::default() });
    for k in 0..axial {
        for j in 0..all {
            let at = |k: usize| [node(0, 0, k), node(1, j, k), node(1, j + 1, k)];
            let ([a, b, c], [d, e, f]) = (at(k), at(k + 1));
            mesh.prisms.push([a, b, c, d, e, f]);
            for i in 1..radial {
                let at =
                    |k: usize| [node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k)];
                let (below, above) = (at(k), at(k + 1));
                mesh.hexes.push(std::array::from_fn(|v| if v < 4 { below[v] } else { above[v - 4] }));
            }
            let quad = |i| [node(i, j, k), node(i, j + 1, k), node(i, j + 1, k + 1), node(i, j, k + 1)];
            markers[2].quads.push(quad(radial));
        }
        if !whole {
            for i in 0..radial {
                let quad =
                    |j: usize| [node(i, j, k), node(i + 1, j, k), node(i + 1, j, k + 1), node(i, j, k + 1)];
                let [a, b, c, d] = quad(all);
                markers[3].quads.push(quad(0));
                markers[4].quads.push([d, c, b, a]);
            }
        }
    }
    for (side, k) in [(0, 0), (1, axial)] {
        let way = |mut face: Vec<u32>| {
            if side == 0 {
                face.reverse();
            }
            face
        };
        for j in 0..all {
            let face = way(vec![node(0, 0, k), node(1, j, k), node(1, j + 1, k)]);
            markers[side].triangles.push([face[0], face[1], face[2]]);
            for i in 1..radial {
                let face =
                    way(vec![node(i, j, k), node(i + 1, j, k), node(i + 1, j + 1, k), node(i, j + 1, k)]);
                markers[side].quads.push([face[0], face[1], face[2], face[3]]);
            }
        }
    }
    mesh.markers = markers.into_iter().filter(|m| !(m.triangles.is_empty() && m.quads.is_empty())).collect();
    mesh
}

/// A flow along the axis; sides are periodic where the mesh has them, what is given at other markers.
pub fn config(mesh: &Mesh, other: impl Fn(&str) -> Boundary) -> FlowConfig {
    let mut config = FlowConfig::default();
    config.freestream.mach = 0.4;
    for marker in &mesh.markers {
        let boundary = match marker.name.as_str() {
            "ymin" | "ymax" => Boundary::Periodic,
            name => other(name),
        };
        config.boundaries.insert(marker.name.clone(), boundary);
    }
    if mesh.marker("ymin").is_some() {
        config.partners.insert("ymin".into(), "ymax".into());
    }
    config
}

/// A solver in that flow, systems beside it in one that varies, too.
pub fn solver(mesh: &Mesh, config: FlowConfig, n: usize) -> FlowSolver {
    let mut solver = FlowSolver::new(mesh, config, Arc::new(Team::new(2))).unwrap();
    solver.set_state(|x| swirling(x, n));
    for name in solver.coupled_unknowns() {
        let size = match name.as_str() {
            "k" => 1e-3,
            "scalar" => 1.0,
            "omega" => 5.0,
            _ => 1e-4,
        };
        solver.set_unknown(&name, |x| size * swirling([x[0] + 0.2, x[1], x[2]], n)[0]).unwrap();
    }
    solver
}
