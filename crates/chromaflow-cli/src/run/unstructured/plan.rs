//! The plan of `run --check`: memory, order of the rows, markers, y+.

use crate::context::Context;
use crate::error::CliResult;
use crate::run::{Prepared, bytes};
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::Equations;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::turbulence::plate_friction;
use serde_json::json;

/// What drawing pictures takes at the end, whatever the mesh: two bitmaps of the larger ones.
const PLOTS: usize = 26_000_000;

/// The parts of the program that are read from its file only when it marches.
const CODE: usize = 3_000_000;

/// Prints the plan. `program` is what the process held before it read anything.
pub fn check(prepared: &Prepared, solver: &FlowSolver, ctx: &Context, program: usize) -> CliResult<()> {
    let memory = solver.memory();
    let output = &prepared.case.output;
    // Files are written when the Jacobian and more is gone.
    let volume = if output.volume { file_bytes(&prepared.mesh) } else { 0 };
    let plots = if output.plots { PLOTS + FIELDS * prepared.mesh.nodes.len() } else { 0 };
    let files = volume.max(plots);
    let parts = [
        ("program", program + CODE),
        ("Jacobian", memory.jacobian),
        ("dual mesh", memory.mesh),
        ("state", memory.state),
        ("work arrays", memory.work),
        ("mesh as read", solver.held().map_or_else(|| mesh_bytes(&prepared.mesh), |held| held.bytes)),
        ("files to write", files.saturating_sub(solver.releasable())),
    ];
    let total: usize = parts.iter().map(|p| p.1).sum();
    let order = solver.order();
    let y_plus = y_plus(prepared);
    if ctx.verbose() {
        println!("\nmemory");
        for (name, n) in parts.into_iter().filter(|p| p.1 > 0) {
            println!("  {name:15} {:>10}", bytes(n));
        }
        println!("  {:15} {:>10}", "total", bytes(total));
        if memory.device > 0 {
            println!("  {:15} {:>10}", "on the GPU", bytes(memory.device));
        }
        println!("\norder of the rows");
        println!("  bandwidth {} -> {}", order.before.bandwidth, order.after.bandwidth);
        println!("  {} colors of {} to {} rows", order.colors, order.smallest, order.largest);
        println!("\nmarkers");
        for marker in &prepared.mesh.markers {
            let faces = marker.triangles.len() + marker.quads.len();
            let condition = &prepared.config.boundaries[&marker.name];
            println!("  {:20} {faces:8} faces   {condition}", marker.name);
        }
        match y_plus {
            Some((low, high)) => {
                let layer = if prepared.config.turbulence.is_some() { "turbulent" } else { "laminar" };
                println!(
                    "\ny+ of the first nodes off the wall, as on a {layer} flat plate: {low:.2} to {high:.2}"
                );
            }
            None if solver.surface().is_some() => println!("\na mesh in slices: a run tells y+"),
            None => println!("\nno viscous walls: no y+"),
        }
        println!("\nthe case can be run");
    }
    let memory: serde_json::Map<_, _> =
        parts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
    ctx.write_json(&json!({
        "mesh": { "nodes": prepared.counts.nodes, "cells": prepared.counts.cells() },
        "colors": order.colors,
        "memory": { "parts": memory, "total_bytes": total },
        "y_plus": y_plus.map(|(low, high)| [low, high]),
    }))
}

/// Nine values a node in f64.
const FIELDS: usize = 72;

/// What a `.vtu` file takes: the fields; lists of the cells; all arrays of the file, once plain, half of them again
/// compressed.
fn file_bytes(mesh: &Mesh) -> usize {
    let cells = mesh.elements();
    let corners =
        4 * mesh.tets.len() + 5 * mesh.pyramids.len() + 6 * mesh.prisms.len() + 8 * mesh.hexes.len();
    let lists = 4 * corners + 9 * cells;
    let plain = 60 * mesh.nodes.len() + 8 * corners + 9 * cells;
    FIELDS * mesh.nodes.len() + lists + plain + plain / 2
}

fn mesh_bytes(mesh: &Mesh) -> usize {
    let faces: usize = mesh.markers.iter().map(|m| size_of_val(&*m.triangles) + size_of_val(&*m.quads)).sum();
    size_of_val(&*mesh.nodes)
        + size_of_val(&*mesh.tets)
        + size_of_val(&*mesh.pyramids)
        + size_of_val(&*mesh.prisms)
        + size_of_val(&*mesh.hexes)
        + faces
}

/// Smallest and largest y+ of the first nodes off viscous walls: their distance times the friction velocity of a flat plate at the
/// Reynolds number of the reference length, laminar (Blasius: Cf = 0.664 / sqrt(Re)) or turbulent (Cf = 0.027 / Re^(1/7); White,
/// Viscous Fluid Flow, 2006).
fn y_plus(prepared: &Prepared) -> Option<(f64, f64)> {
    let config = &prepared.config;
    if config.equations == Equations::Euler {
        return None;
    }
    let no_slip = |name: &str| config.boundaries.get(name).is_some_and(|b| b.is_no_slip());
    let (low, high) = WallCells::of(&prepared.mesh, no_slip)?.heights;
    let unit = config.freestream.reynolds;
    let length = unit * config.reference.length;
    let friction = if config.turbulence.is_some() { plate_friction(length) } else { 0.664 / length.sqrt() };
    let scale = unit * (friction / 2.0).sqrt();
    Some((low * scale, high * scale))
}

/// Cells at walls.
#[derive(Clone, Copy, Debug)]
pub struct WallCells {
    /// Smallest and largest distance from a wall's node to the nearest one off the wall, among those that share a cell.
    pub heights: (f64, f64),
    /// Median of those distances.
    pub height: f64,
    /// Median of the longest edge of the wall at a node over that distance.
    pub aspect: f64,
}

impl WallCells {
    /// Those at these walls; none where there are none.
    pub fn of(mesh: &Mesh, is_wall: impl Fn(&str) -> bool) -> Option<Self> {
        let distance = |a: u32, b: u32| {
            let (p, q) = (mesh.nodes[a as usize], mesh.nodes[b as usize]);
            (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt()
        };
        // The longest edge of the wall at each node; negative off walls. Planar meshes are a cell deep, which says nothing.
        let mut longest = vec![-1.0_f64; mesh.nodes.len()];
        let deep = |a: u32, b: u32| {
            let (p, q) = (mesh.nodes[a as usize], mesh.nodes[b as usize]);
            mesh.planar.is_some() && (p[0], p[1]) == (q[0], q[1])
        };
        let mut face = |nodes: &[u32]| {
            for (k, &a) in nodes.iter().enumerate() {
                let b = nodes[(k + 1) % nodes.len()];
                let length = if deep(a, b) { 0.0 } else { distance(a, b) };
                for n in [a, b] {
                    longest[n as usize] = longest[n as usize].max(length);
                }
            }
        };
        for marker in mesh.markers.iter().filter(|m| is_wall(&m.name)) {
            marker.triangles.iter().for_each(|t| face(t));
            marker.quads.iter().for_each(|q| face(q));
        }
        let mut nearest = vec![f64::INFINITY; mesh.nodes.len()];
        mesh.each_element(|_, _, nodes| {
            for &a in nodes.iter().filter(|a| longest[**a as usize] >= 0.0) {
                for &b in nodes.iter().filter(|b| longest[**b as usize] < 0.0) {
                    nearest[a as usize] = nearest[a as usize].min(distance(a, b));
                }
            }
        });
        let at_wall = nearest.iter().zip(&longest).filter(|(height, _)| height.is_finite());
        let (mut heights, mut aspects): (Vec<f64>, Vec<f64>) =
            at_wall.map(|(&height, &longest)| (height, longest / height)).unzip();
        heights.sort_by(f64::total_cmp);
        aspects.sort_by(f64::total_cmp);
        let (low, high) = (*heights.first()?, *heights.last()?);
        let middle = heights.len() / 2;
        Some(Self { heights: (low, high), height: heights[middle], aspect: aspects[middle] })
    }

    /// Whether they were made for a boundary layer: much longer than high.
    pub fn are_layers(&self) -> bool {
        self.aspect >= 20.0
    }
}
