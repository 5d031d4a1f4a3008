//! The plan of `run --check`: memory, order of the rows, markers, y+.

use crate::context::Context;
use crate::error::CliResult;
use crate::mesh::in_parts;
use crate::run::walls::{self, Shearing};
use crate::run::{Prepared, bytes, counted, summary};
use chromaflow_flow::FlowSolver;
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
        ("mesh as read", solver.held().map_or_else(|| mesh_bytes(&prepared.mesh), |held| held.bytes)),
        ("files to write", files.saturating_sub(solver.releasable())),
    ];
    let total: usize = parts.iter().map(|p| p.1).sum();
    let order = solver.order();
    let config = &prepared.config;
    let shearing = Shearing {
        equations: config.equations,
        turbulent: config.turbulence.is_some(),
        boundaries: &config.boundaries,
        stream: &config.freestream,
        reference: &config.reference,
    };
    let y_plus = shearing.y_plus(&prepared.mesh, 1.0);
    let [range, walls] = walls::json(&y_plus);
    if ctx.verbose() {
        // Of slices nobody has the whole mesh.
        if solver.surface().is_none()
            && let Some(note) = in_parts(&prepared.mesh)
        {
            println!("note: {note}");
        }
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
        println!("  {} of {} to {} rows", counted(order.colors, "color"), order.smallest, order.largest);
        println!("\n{}", summary::stream(&prepared.case.flow));
        println!("\nmarkers");
        for marker in &prepared.mesh.markers {
            let faces = marker.triangles.len() + marker.quads.len();
            let condition = &prepared.config.boundaries[&marker.name];
            println!("  {:20} {faces:8} faces   {condition}", marker.name);
        }
        if solver.surface().is_some() {
            println!("\na mesh in slices: a run tells y+");
        } else {
            println!();
            shearing.lines("nodes off", &y_plus).iter().for_each(|line| println!("{line}"));
        }
        println!("\nthe case can be run");
    }
    let memory: serde_json::Map<_, _> =
        parts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
    ctx.write_json(&json!({
        "mesh": { "nodes": prepared.counts.nodes, "cells": prepared.counts.cells() },
        "conditions": summary::conditions(&prepared.case.flow, &config.boundaries, &config.reference),
        "colors": order.colors,
        "memory": { "parts": memory, "total_bytes": total },
        "y_plus": range,
        "walls": walls,
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
