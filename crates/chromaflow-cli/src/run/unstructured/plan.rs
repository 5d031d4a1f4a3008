//! The plan of `run --check`: memory, order of the rows, markers, y+.

use crate::context::Context;
use crate::error::CliResult;
use crate::run::{Prepared, bytes};
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::Equations;
use chromaflow_flow::mesh::Mesh;
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
        ("mesh as read", mesh_bytes(&prepared.mesh)),
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
            None => println!("\nno viscous walls: no y+"),
        }
        println!("\nthe case can be run");
    }
    let memory: serde_json::Map<_, _> =
        parts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
    ctx.write_json(&json!({
        "mesh": { "nodes": prepared.mesh.nodes.len(), "cells": prepared.mesh.elements() },
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
    let (low, high) = first_heights(&prepared.mesh, no_slip)?;
    let unit = config.freestream.reynolds;
    let length = unit * config.reference.length;
    let friction =
        if config.turbulence.is_some() { 0.027 / length.powf(1.0 / 7.0) } else { 0.664 / length.sqrt() };
    let scale = unit * (friction / 2.0).sqrt();
    Some((low * scale, high * scale))
}

/// Smallest and largest distance from the nodes of these walls to the nearest node off them, among those that share a cell.
pub fn first_heights(mesh: &Mesh, is_wall: impl Fn(&str) -> bool) -> Option<(f64, f64)> {
    let mut on_wall = vec![false; mesh.nodes.len()];
    for marker in mesh.markers.iter().filter(|m| is_wall(&m.name)) {
        let nodes = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
        nodes.for_each(|&n| on_wall[n as usize] = true);
    }
    let mut nearest = vec![f64::INFINITY; mesh.nodes.len()];
    mesh.each_element(|_, _, nodes| {
        for &a in nodes.iter().filter(|a| on_wall[**a as usize]) {
            for &b in nodes.iter().filter(|b| !on_wall[**b as usize]) {
                let (p, q) = (mesh.nodes[a as usize], mesh.nodes[b as usize]);
                let d = (0..3).map(|k| (p[k] - q[k]).powi(2)).sum::<f64>().sqrt();
                nearest[a as usize] = nearest[a as usize].min(d);
            }
        }
    });
    let distances = nearest.into_iter().filter(|d| d.is_finite());
    let (low, high) = distances.fold((f64::INFINITY, 0.0_f64), |(l, h), d| (l.min(d), h.max(d)));
    low.is_finite().then_some((low, high))
}
