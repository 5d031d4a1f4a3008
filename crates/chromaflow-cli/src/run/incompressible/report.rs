//! What is going to be done, and the results: on the screen and as JSON.

use super::super::bytes;
use super::super::summary::{Ending, bad_state, forces, peak_bytes, print_end, settled};
use super::{Finished, Prepared};
use crate::cite;
use crate::context::Context;
use crate::error::{CliResult, Done};
use chromaflow_flow::incompressible::Solver;
use serde_json::{Map, Value, json};
use std::path::PathBuf;

/// Two lines before the first iteration.
pub fn headline(prepared: &Prepared, solver: &Solver, ctx: &Context) {
    let name = prepared.source.path.file_stem().and_then(|n| n.to_str()).unwrap_or("case");
    let title = &prepared.case.case.title;
    eprintln!("{}", if title.is_empty() { name } else { title });
    let (blocks, threads) = (prepared.grid.blocks.len(), ctx.team().size());
    let plural = |n| if n == 1 { "" } else { "s" };
    let who = ctx
        .gpu()
        .map_or_else(|| format!("{threads} thread{}", plural(threads)), |gpu| gpu.facts().name.clone());
    eprintln!(
        "{} cells in {blocks} block{}, {} unknowns a cell; block ILU(0), {} correction{}, {who}",
        prepared.grid.cells(),
        plural(blocks),
        solver.unknowns(),
        prepared.config.implicit.corrections,
        plural(prepared.config.implicit.corrections),
    );
}

/// Prints the plan and ends.
pub fn check(prepared: &Prepared, solver: &Solver, ctx: &Context) -> CliResult {
    let m = solver.memory();
    let parts = [("matrix", m.jacobian), ("factors", m.factors), ("grid", m.grid), ("state", m.state)];
    if ctx.verbose() {
        println!("\nmemory");
        for (name, n) in parts {
            println!("  {name:15} {:>10}", bytes(n));
        }
        println!("  {:15} {:>10}", "total", bytes(m.total()));
        if m.device > 0 {
            println!("  {:15} {:>10}", "on the GPU", bytes(m.device));
        }
        println!("\nmarkers");
        for name in prepared.grid.markers() {
            let patches = prepared.grid.patches.iter().filter(|p| p.name == name);
            let faces: usize = patches.map(|p| p.window.faces().iter().product::<usize>()).sum();
            let condition = prepared
                .config
                .boundaries
                .get(name)
                .map_or_else(|| "Symmetry".to_owned(), |condition| format!("{condition:?}"));
            println!("  {name:20} {faces:8} faces   {condition}");
        }
        println!("\nthe case can be run");
    }
    let memory: Map<_, _> = parts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
    ctx.write_json(&json!({
        "grid": { "cells": prepared.grid.cells(), "blocks": prepared.grid.blocks.len() },
        "memory": { "parts": memory, "total_bytes": m.total() },
    }))?;
    Ok(Done::Success)
}

/// Everything that scripts may want, under the names that other cases have.
pub fn json(prepared: &Prepared, solver: &Solver, finished: &Finished, ctx: &Context) -> Value {
    let (last, memory) = (&finished.last, solver.memory());
    let residual: Map<_, _> =
        solver.equations().into_iter().zip(&last.residual).map(|(name, r)| (name, json!(r))).collect();
    let components: Map<_, _> =
        solver.times().components().into_iter().map(|(name, s)| (name.to_owned(), json!(s))).collect();
    let outflow: Map<_, _> = prepared
        .grid
        .markers()
        .into_iter()
        .map(|name| (name.to_owned(), json!(solver.outflow(name))))
        .collect();
    json!({
        "case": prepared.source.path,
        "title": prepared.case.case.title,
        "outcome": finished.outcome.name(),
        "interrupted": finished.interrupted,
        "iterations": last.iteration,
        "time_steps": last.time_step,
        "physical_time": solver.time(),
        "residual_orders": last.orders,
        "residual": residual,
        "forces": forces(&last.forces),
        // What leaves through each marker: volume, then each scalar.
        "outflow": outflow,
        "time": {
            "total_s": finished.seconds,
            "march_s": solver.times().total,
            "per_iteration_s": solver.times().total / finished.rows.len().max(1) as f64,
            "components": components,
        },
        "memory": {
            "peak_bytes": peak_bytes(),
            "jacobian_bytes": memory.jacobian,
            "factors_bytes": memory.factors,
            "mesh_bytes": memory.grid,
            "state_bytes": memory.state,
            "device_bytes": memory.device,
        },
        "mesh": {
            "blocks": prepared.grid.blocks.iter().map(|b| b.points).collect::<Vec<_>>(),
            "cells": prepared.grid.cells(),
            "markers": prepared.grid.markers(),
        },
        "solver": {
            "unknowns": solver.unknowns(),
            "corrections": prepared.config.implicit.corrections,
            "threads": ctx.team().size(),
            "backend": if ctx.gpu().is_some() { "cuda" } else { "cpu" },
            "gpu": ctx.gpu().map(|gpu| gpu.facts().name.clone()),
        },
        "bad_cell": last.bad.as_ref().map(bad_state),
        "oscillation": prepared.settled(&finished.rows).map(settled),
        "versions": { "chromaflow": env!("CARGO_PKG_VERSION") },
        "references": cite::of_incompressible(),
    })
}

/// Prints how the run ended, the forces, where the time went, what was written.
pub fn print(prepared: &Prepared, solver: &Solver, finished: &Finished, written: &[PathBuf]) {
    let (last, times) = (&finished.last, solver.times());
    print_end(&Ending {
        outcome: finished.outcome,
        interrupted: finished.interrupted,
        iterations: last.iteration,
        residual: "residual",
        orders: last.orders,
        seconds: finished.seconds,
        forces: &last.forces,
        settled: prepared.settled(&finished.rows),
        components: &times.components(),
        march: times.total,
        written,
    });
}
