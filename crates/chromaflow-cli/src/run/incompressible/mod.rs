//! Incompressible flow on structured grids: case files with a section `[incompressible]`.

pub(crate) mod case;
mod grid;
mod profile;
#[cfg(test)]
mod tests;

use super::advice::{Trouble, on_points};
use super::flow::Flow;
use super::history::Equations;
use super::march::{Finished, Run};
use super::over_ranks::{self, Division};
use super::unstructured::refused;
use super::{Args, bytes, counted, summary};
use crate::case::{Source, TurbulenceSection};
use crate::cite;
use crate::context::Context;
use crate::error::{CliError, CliResult};
use crate::run::files::Files;
use case::IncompressibleCase;
use chromaflow::{BlockCsr, Outcome};
use chromaflow_flow::bc::Motion;
use chromaflow_flow::grid::{Grid, Metrics};
use chromaflow_flow::incompressible::{Boundary, Config, IncompressibleSystem, Solver};
use chromaflow_flow::march::FlowError;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{Field, Restart, Resumed};
use chromaflow_flow::unstructured::{RankReport, Ranks};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

/// Makes the grid of a case and checks everything but the solver's own set-up.
///
/// # Errors
/// Status 2 with the place of what is wrong.
pub fn check(source: &Source, case: &IncompressibleCase) -> CliResult<()> {
    prepare(source, case).map(|_| ())
}

fn prepare(source: &Source, case: &IncompressibleCase) -> CliResult<(Grid, Config)> {
    // Blocks of planar grids may lie in any axes of their own.
    let grid = case.grid.load(source)?.thin_axis_last();
    let plane = grid.plane().map(|(lacks, _)| lacks);
    let config = case.config(source, &grid::places(&grid), plane)?;
    Ok((grid, config))
}

/// Runs a case of incompressible flow.
///
/// # Errors
/// As [`super::run`].
pub fn run(
    args: &Args,
    ctx: &Context,
    source: &Source,
    case: &IncompressibleCase,
    ranks: Option<&Ranks>,
    start: Instant,
) -> CliResult {
    let (grid, config) = prepare(source, case)?;
    let team = Arc::clone(ctx.team());
    let solver = match ranks {
        None => Solver::new(&grid, config.clone(), team),
        Some(ranks) => {
            over_ranks::same_grid(ranks, source, &grid)?;
            Solver::over_ranks(&grid, config.clone(), team, ranks)
        }
    };
    let mut solver = solver.map_err(|e| refused(source, &e))?;
    let folder = args.out.clone().unwrap_or_else(|| case.output.folder_of(source));
    let follower = ranks.filter(|ranks| ranks.ranks.rank() > 0);
    let files = if follower.is_none() { Some(Files::new(folder.clone(), &case.output)?) } else { None };
    if let Some(gpu) = ctx.gpu() {
        solver.use_gpu_by(gpu, ctx.told().wish).map_err(|e| CliError::environment(e.to_string()))?;
    }
    let Some(files) = files else {
        let ranks = follower.expect("only followers write nothing");
        return over_ranks::followed(ranks, &folder, |patience| solver.follow_within(patience));
    };
    let centers = Metrics::all_cells(&grid).into_iter().map(|(center, _)| center);
    let centers = Mesh { nodes: centers.collect(), ..Mesh::default() };
    let run = Run {
        args,
        ctx,
        source,
        title: &case.case.title,
        output: &case.output,
        expect: &case.expect,
        time: config.time,
        equations: Equations::Incompressible,
        strouhal: [config.reference.length, config.reference.velocity],
        files,
        start,
    };
    let mut flow = InCells {
        mesh: grid.to_mesh(),
        centers,
        grid,
        config,
        ctx,
        turbulence: case.turbulence.as_ref(),
        solver,
    };
    let done = run.go(&mut flow);
    if done.is_ok() {
        flow.solver.dismiss();
    }
    done
}

/// Says of walls that nothing holds the fluid to them.
fn without_viscosity(config: &Config) -> Option<String> {
    let walls = config.boundaries.iter().filter(|(_, b)| matches!(b, Boundary::Wall { .. }));
    let names = walls.map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    (config.fluid.viscosity == 0.0 && !names.is_empty()).then(|| {
        format!(
            "{names}: incompressible.viscosity is 0, so that nothing holds the fluid to walls without slip; give it a value, or \"symmetry\" to walls with slip"
        )
    })
}

/// A condition as case files say it.
fn words(condition: &Boundary) -> String {
    match condition {
        Boundary::Wall { motion, .. } if *motion == Motion::NONE => "wall".to_owned(),
        Boundary::Wall { motion: Motion { velocity, rotation, .. }, .. } if *rotation == [0.0; 3] => {
            format!("wall, velocity {velocity:?}")
        }
        Boundary::Wall { motion: Motion { velocity, rotation, center }, .. } => {
            format!("wall, velocity {velocity:?}, rotation {rotation:?} about {center:?}")
        }
        Boundary::Inflow(given) => format!("inflow, velocity and scalars {given:?}"),
        Boundary::Outflow { pressure } => format!("outflow, pressure {pressure}"),
        Boundary::Symmetry => "symmetry".to_owned(),
        Boundary::Farfield(state) => format!("farfield, state {state:?}"),
    }
}

/// A solver and its case.
struct InCells<'a> {
    grid: Grid,
    config: Config,
    /// The grid as points and cells, for files; the cells' centers, for restarts.
    mesh: Mesh,
    centers: Mesh,
    ctx: &'a Context,
    turbulence: Option<&'a TurbulenceSection>,
    solver: Solver,
}

impl InCells<'_> {
    fn division(&self) -> Option<Division<'_>> {
        Division::of(self.solver.division(), self.solver.halo_path())
    }
}

impl Flow for InCells<'_> {
    type System = IncompressibleSystem;

    fn headline(&self) -> String {
        let (blocks, corrections) = (self.grid.blocks.len(), self.config.implicit.corrections);
        format!(
            "{} cells in {}, {} unknowns a cell; block ILU(0), {}{}",
            self.grid.cells(),
            counted(blocks, "block"),
            self.solver.unknowns(),
            counted(corrections, "correction"),
            over_ranks::headline(self.division()),
        )
    }

    fn cautions(&self) -> Vec<String> {
        without_viscosity(&self.config).into_iter().collect()
    }

    fn check(&self, ctx: &Context) -> CliResult<()> {
        let m = self.solver.memory();
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
            for name in self.grid.markers() {
                let patches = self.grid.patches.iter().filter(|p| p.name == name);
                let faces: usize = patches.map(|p| p.window.faces().iter().product::<usize>()).sum();
                let condition = self.config.boundaries.get(name);
                let condition = condition.map_or_else(|| "symmetry".to_owned(), words);
                println!("  {name:20} {faces:8} faces   {condition}");
            }
            println!("\nthe case can be run");
        }
        let memory: Map<_, _> = parts.iter().map(|(name, n)| ((*name).to_owned(), json!(n))).collect();
        ctx.write_json(&json!({
            "grid": { "cells": self.grid.cells(), "blocks": self.grid.blocks.len() },
            "memory": { "parts": memory, "total_bytes": m.total() },
        }))
    }

    fn solver(&self) -> &Solver {
        &self.solver
    }

    fn solver_mut(&mut self) -> &mut Solver {
        &mut self.solver
    }

    fn grid(&self) -> Option<&Grid> {
        Some(&self.grid)
    }

    fn mesh(&self) -> Cow<'_, Mesh> {
        Cow::Borrowed(&self.mesh)
    }

    fn fields(&mut self) -> Vec<Field> {
        let mut fields = self.solver.fields();
        if self.mesh.planar.is_some() {
            // Both planes of every block come to be the first plane of all blocks, then the second.
            for field in &mut fields {
                let mut planes = [Vec::new(), Vec::new()];
                let mut rest = &field.values[..];
                for block in &self.grid.blocks {
                    for plane in &mut planes {
                        let (values, after) =
                            rest.split_at(block.points[0] * block.points[1] * field.components);
                        plane.extend_from_slice(values);
                        rest = after;
                    }
                }
                field.values = planes.concat();
            }
        }
        fields
    }

    fn is_wall(&self, marker: &str) -> bool {
        matches!(self.config.boundaries.get(marker), Some(Boundary::Wall { .. }))
    }

    fn lift_axis(&self) -> Option<usize> {
        None
    }

    fn write_restart(&self, path: &Path, more: Restart) -> Result<(), FlowError> {
        self.solver.write_restart(path, &self.centers, more)
    }

    fn resume(&mut self, path: &Path, how: (bool, &[String])) -> Result<Resumed, FlowError> {
        self.solver.resume_from(path, &self.centers, how)
    }

    fn linear_system(&mut self) -> Option<(BlockCsr, Vec<f64>)> {
        Some(self.solver.linear_system())
    }

    fn remarks(&self, _outcome: Outcome) -> Vec<String> {
        let mut told = summary::heights("cells at", self.solver.y_plus());
        let rough = self.turbulence.map(|model| model.roughness).filter(|height| *height > 0.0);
        told.extend(rough.map_or_else(Vec::new, |height| summary::rough(height, &self.solver.walls())));
        told
    }

    fn coupled(&self) -> Vec<String> {
        self.solver.coupled_unknowns()
    }

    fn on_points(&self, width: usize, rows: &[f64]) -> Vec<f64> {
        on_points(&self.mesh, width, &self.solver.of_all_cells(width, rows))
    }

    fn is_open(&self, marker: &str) -> bool {
        use Boundary::{Farfield, Inflow, Outflow};
        matches!(self.config.boundaries.get(marker), Some(Inflow(_) | Outflow { .. } | Farfield(_)))
    }

    fn hints(&self, trouble: &Trouble, finished: &Finished) -> Vec<String> {
        let mut hints = Vec::new();
        if trouble.is_unsolved() {
            let more = 2 * self.config.implicit.corrections;
            hints.push(format!("linear.corrections = {more}: linear systems are not solved"));
        }
        if trouble.is_unphysical(finished) {
            hints.push("march.cfl_start = 1 with march.cfl_max = 10".to_owned());
        }
        hints
    }

    fn rank_reports(&self) -> Vec<RankReport> {
        self.solver.division().map_or_else(Vec::new, |_| self.solver.rank_reports())
    }

    fn residual(&self, norms: &[f64]) -> Value {
        let named = self.solver.equations().into_iter().zip(norms);
        Value::Object(named.map(|(name, r)| (name, json!(r))).collect())
    }

    fn summary(&self) -> Map<String, Value> {
        let memory = self.solver.memory();
        let outflow = |name: &str| (name.to_owned(), json!(self.solver.outflow(name)));
        let outflow: Map<_, _> = self.grid.markers().into_iter().map(outflow).collect();
        let solver = json!({
            "unknowns": self.solver.unknowns(),
            "corrections": self.config.implicit.corrections,
        });
        let facts = json!({
            "physical_time": self.solver.time(),
            // What leaves through each marker: volume, then each scalar.
            "outflow": outflow,
            "memory": {
                "jacobian_bytes": memory.jacobian,
                "factors_bytes": memory.factors,
                "mesh_bytes": memory.grid,
                "state_bytes": memory.state,
                "device_bytes": memory.device,
            },
            "mesh": {
                "blocks": self.grid.blocks.iter().map(|b| b.points).collect::<Vec<_>>(),
                "planar": self.mesh.planar.is_some(),
                "cells": self.grid.cells(),
                "nodes": self.grid.blocks.iter().map(|b| b.nodes.len()).sum::<usize>(),
                "markers": self.grid.markers(),
            },
            "solver": summary::machine(self.ctx, solver),
            "references": cite::of_incompressible(),
        });
        let Value::Object(mut facts) = facts else { unreachable!("written above") };
        over_ranks::facts(self.division(), &self.solver, &mut facts);
        if let Some(turbulence) = &self.turbulence {
            facts.insert("walls".to_owned(), summary::walls(self.solver.y_plus()));
            let unknowns = self.solver.coupled_unknowns().len();
            facts.insert("turbulence".to_owned(), json!({ "model": turbulence.model, "unknowns": unknowns }));
        }
        facts
    }
}
