//! The results of a run: as JSON, and as tables on the screen.

use super::oscillation::Oscillation;
use super::{Finished, Prepared, bytes, duration};
use crate::cite;
use crate::context::Context;
use chromaflow::Outcome;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::Time;
use chromaflow_flow::march::{BadPlace, Coefficients, Forces};
use chromaflow_flow::unstructured::Memory;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Everything that scripts may want. `memory` is what the solver held while it marched.
pub fn json(
    prepared: &Prepared,
    solver: &FlowSolver,
    finished: &Finished,
    memory: Memory,
    ctx: &Context,
) -> Value {
    let (mesh, last) = (&prepared.mesh, &finished.last);
    let order = solver.order();
    let components: serde_json::Map<String, Value> =
        solver.times().components().into_iter().map(|(name, s)| (name.to_owned(), json!(s))).collect();
    json!({
        "case": prepared.source.path,
        "title": prepared.case.case.title,
        "outcome": finished.outcome.name(),
        "interrupted": finished.interrupted,
        "iterations": last.iteration,
        "time_steps": last.time_step,
        "residual_orders": last.orders,
        "residual": last.residual,
        "forces": forces(&last.forces),
        "oscillation": oscillation(prepared, finished).map(settled),
        "time": {
            "total_s": finished.seconds,
            "march_s": solver.times().total,
            "per_iteration_s": solver.times().total / finished.rows.len().max(1) as f64,
            "components": components,
        },
        "memory": {
            "peak_bytes": peak_bytes(),
            "jacobian_bytes": memory.jacobian,
            "mesh_bytes": memory.mesh,
            "state_bytes": memory.state,
            "work_bytes": memory.work,
            "device_bytes": memory.device,
        },
        "mesh": {
            "file": prepared.mesh_path,
            "nodes": mesh.nodes.len(),
            "tets": mesh.tets.len(),
            "pyramids": mesh.pyramids.len(),
            "prisms": mesh.prisms.len(),
            "hexes": mesh.hexes.len(),
            "planar": mesh.planar.is_some(),
            "markers": mesh.markers.iter().map(|m| &m.name).collect::<Vec<_>>(),
        },
        "solver": {
            "policy": prepared.config.implicit.policy.name(),
            "method": prepared.case.linear.method.config().name(),
            "preconditioner": prepared.case.linear.precond.config().name(),
            "fill": prepared.case.linear.fill.to_string(),
            "order": prepared.config.implicit.order.name(),
            "sweeps": prepared.config.implicit.sweeps,
            "colors": order.colors,
            "threads": ctx.team().size(),
            "backend": if ctx.gpu().is_some() { "cuda" } else { "cpu" },
            "gpu": ctx.gpu().map(|gpu| gpu.facts().name.clone()),
        },
        "bad_node": last.bad.as_ref().map(bad_state),
        "versions": { "chromaflow": env!("CARGO_PKG_VERSION") },
        "references": cite::of_case(&prepared.case),
    })
}

/// What an unsteady run settles to, with its Strouhal number.
pub fn oscillation(prepared: &Prepared, finished: &Finished) -> Option<(Oscillation, f64)> {
    let Time::Unsteady(unsteady) = prepared.config.time else { return None };
    let found = Oscillation::of(&finished.rows)?;
    let config = &prepared.config;
    Some((found, found.strouhal(unsteady.dt, config.reference.length, config.freestream.mach)))
}

/// Forces by marker, split into pressure and friction.
pub fn forces(f: &Forces) -> Value {
    let part = |c: &Coefficients| json!({ "cl": c.cl, "cd": c.cd, "cm": c.cm, "force": c.force, "moment": c.moment });
    let markers: serde_json::Map<String, Value> = f
        .markers
        .iter()
        .map(|m| (m.name.clone(), json!({ "pressure": part(&m.pressure), "viscous": part(&m.viscous) })))
        .collect();
    json!({
        "cl": f.total.cl,
        "cd": f.total.cd,
        "cm": f.total.cm,
        "pressure": part(&f.pressure),
        "viscous": part(&f.viscous),
        "markers": markers,
    })
}

/// What an unsteady run settled to, and its Strouhal number.
pub fn settled((o, strouhal): (Oscillation, f64)) -> Value {
    json!({
        "mean_cl": o.mean_cl, "mean_cd": o.mean_cd, "cl_amplitude": o.cl_amplitude,
        "strouhal": strouhal, "periods": o.periods,
    })
}

/// Where a flow stopped being one.
pub fn bad_state(bad: &BadPlace) -> String {
    format!("no physical state at {bad}")
}

/// Prints how the run ended, the forces, where the time went, what was written.
pub fn print(prepared: &Prepared, solver: &FlowSolver, finished: &Finished, written: &[PathBuf]) {
    let (last, times) = (&finished.last, solver.times());
    print_end(&Ending {
        outcome: finished.outcome,
        interrupted: finished.interrupted,
        iterations: last.iteration,
        residual: "density residual",
        orders: last.orders,
        seconds: finished.seconds,
        forces: &last.forces,
        settled: oscillation(prepared, finished),
        components: &times.components(),
        march: times.total,
        written,
    });
}

/// What the screen says of any kind of run when it has ended.
pub struct Ending<'a> {
    pub outcome: Outcome,
    pub interrupted: bool,
    pub iterations: usize,
    /// Whose reduction `orders` is.
    pub residual: &'a str,
    pub orders: f64,
    /// The whole run.
    pub seconds: f64,
    pub forces: &'a Forces,
    /// What an unsteady run settled to, and its Strouhal number.
    pub settled: Option<(Oscillation, f64)>,
    pub components: &'a [(&'static str, f64)],
    /// Seconds of all steps.
    pub march: f64,
    pub written: &'a [PathBuf],
}

/// Prints how a run ended, the forces of every wall, what an unsteady run settled to, where the time went, what was written.
pub fn print_end(ending: &Ending<'_>) {
    let Ending { forces: f, settled, components, march: total, written, .. } = *ending;
    let outcome = if ending.interrupted { "interrupted".to_owned() } else { ending.outcome.to_string() };
    println!(
        "\n{outcome} after {} iterations: {} down {:.1} orders, {}, {} at the peak",
        ending.iterations,
        ending.residual,
        ending.orders,
        duration(ending.seconds),
        peak_bytes().map_or_else(|| "memory unknown".to_owned(), bytes)
    );
    println!("\n{:20} {:>12} {:>12} {:>12}", "", "CL", "CD", "CM");
    let line = |name: &str, c: &Coefficients| println!("{name:20} {:12.7} {:12.7} {:12.7}", c.cl, c.cd, c.cm);
    for m in &f.markers {
        line(&format!("{} pressure", m.name), &m.pressure);
        if m.viscous.force != [0.0; 3] {
            line(&format!("{} viscous", m.name), &m.viscous);
        }
    }
    line("total", &f.total);
    if let Some((o, strouhal)) = settled {
        println!(
            "\nover the last {} periods: mean CL {:.5}, mean CD {:.5}, amplitude of CL {:.5}, Strouhal number {strouhal:.4}",
            o.periods, o.mean_cl, o.mean_cd, o.cl_amplitude
        );
    }
    println!("\n{:14} {:>10} {:>7}", "component", "seconds", "share");
    for (name, seconds) in components {
        println!("{name:14} {seconds:10.3} {:6.1}%", 100.0 * seconds / total.max(1e-9));
    }
    println!("{:14} {total:10.3}", "march");
    let files: Vec<_> = written.iter().filter_map(|p| p.file_name()?.to_str()).collect();
    if let Some(folder) = written.first().and_then(|p| p.parent()) {
        println!("\n{}: {}", folder.display(), files.join(", "));
    }
}

/// The most memory that this process held, where the system tells.
pub fn peak_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? * 1024)
}
