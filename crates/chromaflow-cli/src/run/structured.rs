//! Compressible flow on structured grids.

use super::advice::{Trouble, on_points};
use super::cautions::{Side, Told, closed_in_time, fast_walls, idle_reynolds, open_layer_of, slipping};
use super::flow::Flow;
use super::history::Equations;
use super::march::{Finished, Run};
use super::openings::{self, Given};
use super::over_ranks::{self, Division};
use super::profiles::WallUnits;
use super::unstructured::refused;
use super::walls::{self, Shearing};
use super::{Args, bytes, counted, summary};
use crate::case::{CaseFile, Source, StepName};
use crate::cite;
use crate::context::Context;
use crate::error::{CliError, CliResult};
use crate::run::files::Files;
use chromaflow::Outcome;
use chromaflow::gpu::Wish;
use chromaflow_device::cuda::Gpu;
use chromaflow_flow::config::Boundary;
use chromaflow_flow::grid::{Grid, GridError};
use chromaflow_flow::march::{FlowError, Host, March, Outflow};
use chromaflow_flow::mesh::{Mesh, Planar};
use chromaflow_flow::on_grid::Shown;
use chromaflow_flow::output::{Field, Restart, Resumed};
use chromaflow_flow::structured::lax_wendroff::{LaxWendroffSolver, LaxWendroffSystem};
use chromaflow_flow::structured::{Scheme, StructuredConfig, StructuredSolver, StructuredSystem, lift_axis};
use chromaflow_flow::unstructured::{RankReport, Ranks};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

impl From<GridError> for CliError {
    fn from(error: GridError) -> Self {
        match error {
            GridError::File(file) => file.into(),
            GridError::Read(mesh) => mesh.into(),
            other => CliError::input(other.to_string()),
        }
    }
}

/// Runs a case of a structured grid.
///
/// # Errors
/// As [`super::run`].
pub fn run(
    args: &Args,
    ctx: &Context,
    source: &Source,
    case: &CaseFile,
    ranks: Option<&Ranks>,
    start: Instant,
) -> CliResult {
    case.check(source)?;
    // Blocks of planar grids may lie in any axes of their own.
    let grid = case.grid.load(source)?.thin_axis_last();
    if let Some(ranks) = ranks {
        over_ranks::same_grid(ranks, source, &grid)?;
    }
    let markers: Vec<_> = grid.markers().iter().map(|m| ((*m).to_owned(), known(m))).collect();
    let is_open =
        |(name, condition): &(String, Option<_>)| condition.is_none() && !case.boundary.contains_key(name);
    if markers.iter().any(is_open)
        && let Some(message) = case.without_condition(&grid.to_mesh(), |marker| known(marker).is_some())
    {
        return Err(source.error(&["boundary"], &message));
    }
    let config = case.structured.config(case.config(source, &markers, lift_axis(&grid) == 1)?);
    let bad = |e: FlowError| match e {
        FlowError::TurbulenceOption { key, problem } => source.error(&["turbulence", key], problem),
        other => refused(source, &other),
    };
    let folder = args.out.clone().unwrap_or_else(|| case.folder(source));
    if let Some(ranks) = ranks.filter(|ranks| ranks.ranks.rank() > 0) {
        let solver = StructuredSolver::over_ranks(grid, config, Arc::clone(ctx.team()), ranks);
        let mut solver = solver.map_err(bad)?;
        compute_on_gpu(&mut solver, ctx, source)?;
        return over_ranks::followed(ranks, &folder, |patience| solver.follow_within(patience));
    }
    let files = Files::new(folder, &case.output)?;
    let run = Run {
        args,
        ctx,
        source,
        title: &case.case.title,
        output: &case.output,
        expect: &case.expect,
        time: config.time,
        equations: Equations::Compressible,
        strouhal: [config.reference.length, config.freestream.mach],
        files,
        start,
    };
    let (wanted, team) = (config.clone(), Arc::clone(ctx.team()));
    if case.structured.method == StepName::LaxWendroff {
        let scheme = case.structured.lax_wendroff();
        let solver = LaxWendroffSolver::new(grid, wanted, scheme, team).map_err(bad)?;
        OnGrid { case, config, ctx, solver, mesh: OnceCell::new() }.go(&run)
    } else {
        let solver = match ranks {
            None => StructuredSolver::new(grid, wanted, team),
            Some(ranks) => StructuredSolver::over_ranks(grid, wanted, team, ranks),
        };
        OnGrid { case, config, ctx, solver: solver.map_err(bad)?, mesh: OnceCell::new() }.go(&run)
    }
}

/// Moves a solver to the GPU, where one computes.
fn compute_on_gpu<S: GridSystem>(solver: &mut March<S>, ctx: &Context, source: &Source) -> CliResult<()> {
    let Some(gpu) = ctx.gpu() else { return Ok(()) };
    S::use_gpu(solver, gpu, ctx.told().wish).map_err(|e| match e {
        FlowError::Linear(what) => source.error(&["structured", "method"], &what),
        other => CliError::environment(other.to_string()),
    })
}

/// The condition that a neutral map file's type of boundary stands for, where it needs no values.
fn known(marker: &str) -> Option<Boundary> {
    match marker.to_ascii_lowercase().as_str() {
        Planar::FRONT | Planar::BACK => Some(Boundary::Symmetry),
        "viscous_solid" | "viscous_weak" => Some(Boundary::NoSlipAdiabatic),
        "tangency" | "tangency_strong" => Some(Boundary::SlipWall),
        "farfield_riem" | "farfield_roe" | "farfield" => Some(Boundary::Farfield),
        "extrapolate" | "extrapolation" => Some(Boundary::Extrapolation),
        name if name.starts_with("symmetry_") => Some(Boundary::Symmetry),
        _ => None,
    }
}

/// Most blocks that a plan lists.
const LISTED: usize = 30;

/// A solver and its case.
struct OnGrid<'a, S: Host> {
    case: &'a CaseFile,
    config: StructuredConfig,
    ctx: &'a Context,
    solver: March<S>,
    /// The grid as a mesh, once files want it.
    mesh: OnceCell<Mesh>,
}

impl<S: GridSystem> OnGrid<'_, S> {
    /// What the flow was given, for [`openings`].
    fn given(&self) -> Given<'_> {
        let config = &self.config;
        Given { conditions: &config.boundaries, gamma: config.gas.gamma, mach: config.freestream.mach }
    }

    fn go(mut self, run: &Run<'_>) -> CliResult {
        compute_on_gpu(&mut self.solver, self.ctx, run.source)?;
        let done = run.go(&mut self);
        if done.is_ok() {
            self.solver.dismiss();
        }
        done
    }
}

impl<S: GridSystem> Flow for OnGrid<'_, S> {
    type System = S;

    fn headline(&self) -> String {
        let grid = S::grid(&self.solver);
        let (blocks, cells) = (grid.blocks.len(), grid.cells());
        let ranks = over_ranks::headline(S::division(&self.solver));
        format!(
            "structured grid: {}, {cells} cells; {}{ranks}",
            counted(blocks, "block"),
            self.case.step_title()
        )
    }

    fn cautions(&self) -> Vec<String> {
        let config = &self.config;
        let told = Told {
            boundaries: &config.boundaries,
            stream: &config.freestream,
            gas: &config.gas,
            reference: &config.reference,
            turbulence: config.turbulence.as_ref(),
            time: &config.time,
        };
        let grid = S::grid(&self.solver);
        let cautions = told.cautions(&Side::of_grid(grid, &config.boundaries));
        cautions.into_iter().chain(open_layer_of(grid, &config.boundaries)).collect()
    }

    fn notes(&self) -> Vec<String> {
        let slipping = slipping(&self.config.boundaries, self.config.equations);
        let implicit = self.case.structured.method != StepName::LaxWendroff;
        let closed = closed_in_time(&self.config.boundaries, &self.config.time).filter(|_| implicit);
        slipping.into_iter().chain(idle_reynolds(&self.case.flow)).chain(closed).collect()
    }

    fn check(&self, ctx: &Context) -> CliResult<()> {
        let grid = S::grid(&self.solver);
        let config = &self.config;
        let shearing = Shearing {
            equations: config.equations,
            turbulent: config.turbulence.is_some(),
            boundaries: &config.boundaries,
            stream: &config.freestream,
            reference: &config.reference,
        };
        let in_nodes = self.case.structured.method == StepName::LaxWendroff;
        let (first, share) = if in_nodes { ("nodes off", 1.0) } else { ("cells at", 0.5) };
        let y_plus = shearing.y_plus(&self.mesh(), share);
        let points: usize = grid.blocks.iter().map(|b| b.nodes.len()).sum();
        let device = self.solver.device_bytes();
        if ctx.verbose() {
            println!("\nblocks");
            for (number, block) in grid.blocks.iter().enumerate().take(LISTED) {
                let [ni, nj, nk] = block.cells();
                println!("  {number:4} {ni:6} x {nj} x {nk} cells, {} points", block.nodes.len());
            }
            if grid.blocks.len() > LISTED {
                println!("  and {} more", grid.blocks.len() - LISTED);
            }
            if device > 0 {
                println!("\nmemory on the GPU {:>10}", bytes(device));
            }
            println!("\n{}", summary::stream(&self.case.flow));
            println!("\nmarkers");
            for name in grid.markers() {
                let windows = grid.patches.iter().filter(|p| p.name == name).map(|p| p.window.faces());
                let faces: usize = windows.map(|[along, across]| along * across).sum();
                println!("  {name:20} {faces:8} faces   {}", config.boundaries[name]);
            }
            println!();
            shearing.lines(first, &y_plus).iter().for_each(|line| println!("{line}"));
            println!("\nthe case can be run");
        }
        let [range, walls] = walls::json(&y_plus);
        ctx.write_json(&json!({
            "grid": { "cells": grid.cells(), "blocks": grid.blocks.len(), "nodes": points },
            "conditions": summary::conditions(&self.case.flow, &config.boundaries, &config.reference),
            "memory": { "device_bytes": device },
            "y_plus": range,
            "walls": walls,
        }))
    }

    fn solver(&self) -> &March<S> {
        &self.solver
    }

    fn solver_mut(&mut self) -> &mut March<S> {
        &mut self.solver
    }

    fn grid(&self) -> Option<&Grid> {
        Some(S::grid(&self.solver))
    }

    fn mesh(&self) -> Cow<'_, Mesh> {
        Cow::Borrowed(self.mesh.get_or_init(|| S::grid(&self.solver).to_mesh()))
    }

    fn fields(&mut self) -> Vec<Field> {
        self.solver.fields()
    }

    fn is_wall(&self, marker: &str) -> bool {
        self.config.boundaries.get(marker).is_some_and(Boundary::is_wall)
    }

    fn lift_axis(&self) -> Option<usize> {
        self.config.reference.lift_axis
    }

    fn write_restart(&self, path: &Path, more: Restart) -> Result<(), FlowError> {
        self.solver.write_restart(path, &S::restart_places(&self.solver), more)
    }

    fn resume(&mut self, path: &Path, how: (bool, &[String])) -> Result<Resumed, FlowError> {
        let places = S::restart_places(&self.solver);
        self.solver.resume_from(path, &places, how)
    }

    fn coupled(&self) -> Vec<String> {
        self.solver.coupled_unknowns()
    }

    fn remarks(&self, _outcome: Outcome) -> Vec<String> {
        let reynolds = self.config.freestream.reynolds * self.config.reference.length;
        let outflow = S::outflow(&self.solver).unwrap_or_default();
        let through = openings::told(&outflow, self.given());
        let turbulent = (self.config.turbulence.as_ref(), reynolds);
        let told = summary::apart(through, summary::heights_of("cells at", self.solver.y_plus(), turbulent));
        let rough =
            self.config.turbulence.as_ref().map(|model| model.roughness).filter(|height| *height > 0.0);
        let rough = rough.map_or_else(Vec::new, |height| summary::rough(height, &self.solver.walls()));
        let fast = fast_walls(self.config.turbulence.as_ref(), self.config.freestream.mach);
        told.into_iter().chain(rough).chain(fast).collect()
    }

    fn rank_reports(&self) -> Vec<RankReport> {
        S::division(&self.solver).map_or_else(Vec::new, |_| self.solver.rank_reports())
    }

    fn wall_units(&self, friction: f64, pressure: f64, temperature: f64) -> Option<WallUnits> {
        self.config.turbulence.as_ref()?;
        Some(WallUnits::of(&self.config.gas, &self.config.freestream, friction, pressure, temperature))
    }

    fn on_points(&self, width: usize, rows: &[f64]) -> Vec<f64> {
        S::on_points(&self.solver, &self.mesh(), width, rows)
    }

    fn is_open(&self, marker: &str) -> bool {
        self.config.boundaries.get(marker).is_some_and(|b| !b.is_wall() && *b != Boundary::Symmetry)
    }

    fn hints(&self, trouble: &Trouble, finished: &Finished) -> Vec<String> {
        let mut hints = Vec::new();
        let explicit = self.case.structured.method == StepName::LaxWendroff;
        let newton = self.case.takes_newton_steps();
        if explicit {
            hints.push("structured.coarse_grids = 0, or a smaller structured.courant".to_owned());
        } else if newton {
            if trouble.is_unsolved() {
                hints.push("march.newton_directions = 80: linear systems are not solved".to_owned());
            }
            let fourth = match self.config.scheme {
                Scheme::Roe { .. } => "",
                _ => ", or a larger structured.fourth where cells are much longer than high",
            };
            hints.push(format!("march.cfl_start = 0.5{fourth}"));
        } else {
            hints.push("march.nonlinear = \"newton_krylov\", or march.cfl_max = 5".to_owned());
        }
        for marker in extrapolated(&self.config.boundaries, self.config.freestream.mach) {
            hints.push(format!(
                "[boundary] {marker} = {{ kind = \"outlet\", pressure = 1.0 }}, or what it is: the stream is slower than sound, and extrapolation sets no \
                 pressure"
            ));
        }
        // Newton-Krylov steps do so by themselves.
        if trouble.is_unphysical(finished) && !newton {
            hints.push("structured.start_layer = 0.1: the flow then starts along walls".to_owned());
        }
        hints
    }

    fn summary(&self) -> Map<String, Value> {
        let grid = S::grid(&self.solver);
        let solver = json!({ "method": self.case.step_title() });
        let facts = json!({
            "conditions": summary::conditions(&self.case.flow, &self.config.boundaries, &self.config.reference),
            "entropy_error": S::entropy_error(&self.solver),
            "memory": { "device_bytes": self.solver.device_bytes() },
            "mesh": {
                "file": self.case.grid.file,
                "blocks": grid.blocks.len(),
                "cells": grid.cells(),
                "nodes": grid.blocks.iter().map(|b| b.nodes.len()).sum::<usize>(),
                "markers": grid.markers(),
            },
            "solver": summary::machine(self.ctx, solver),
            "references": cite::of_case(self.case),
        });
        let Value::Object(mut facts) = facts else { unreachable!("written above") };
        over_ranks::facts(S::division(&self.solver), &self.solver, &mut facts);
        facts.insert("walls".to_owned(), summary::walls(self.solver.y_plus()));
        if let Some(outflow) = S::outflow(&self.solver) {
            openings::insert(&mut facts, &outflow, self.given());
        }
        if self.config.turbulence.is_some() {
            let model = self.case.turbulence.model;
            facts.insert(
                "turbulence".to_owned(),
                json!({ "model": model, "unknowns": self.solver.coupled_unknowns().len() }),
            );
        }
        facts
    }
}

/// Markers of extrapolation in a stream slower than sound.
fn extrapolated(boundaries: &BTreeMap<String, Boundary>, mach: f64) -> impl Iterator<Item = &String> {
    let slow = boundaries.iter().filter(move |(_, b)| mach < 1.0 && **b == Boundary::Extrapolation);
    slow.map(|(marker, _)| marker)
}

/// What the solvers of structured grids have in common besides: unknowns in the cells, implicit; in the nodes, explicit.
trait GridSystem: Shown {
    fn use_gpu(solver: &mut March<Self>, gpu: &Gpu, wish: Wish) -> Result<(), FlowError>;
    fn grid(solver: &March<Self>) -> &Grid;
    fn entropy_error(solver: &March<Self>) -> f64;
    fn on_points(solver: &March<Self>, mesh: &Mesh, width: usize, rows: &[f64]) -> Vec<f64>;
    fn restart_places(solver: &March<Self>) -> Mesh;
    fn outflow(_: &March<Self>) -> Option<Vec<Outflow>> {
        None
    }
    fn division(_: &March<Self>) -> Option<Division<'_>> {
        None
    }
}

/// Hands every call on to the solver's own method of that name; rows are put on points by the second function.
macro_rules! grid_system {
    ($system:ty, $use_gpu:expr, $on_points:expr $(, $more:item)*) => {
        impl GridSystem for $system {
            fn use_gpu(solver: &mut March<Self>, gpu: &Gpu, wish: Wish) -> Result<(), FlowError> {
                $use_gpu(solver, gpu, wish)
            }
            fn grid(solver: &March<Self>) -> &Grid {
                solver.grid()
            }
            fn entropy_error(solver: &March<Self>) -> f64 {
                solver.entropy_error()
            }
            fn on_points(solver: &March<Self>, mesh: &Mesh, width: usize, rows: &[f64]) -> Vec<f64> {
                $on_points(solver, mesh, width, rows)
            }
            fn restart_places(solver: &March<Self>) -> Mesh {
                solver.restart_places()
            }
            $($more)*
        }
    };
}

grid_system!(
    StructuredSystem,
    StructuredSolver::use_gpu_by,
    |solver: &StructuredSolver, mesh: &Mesh, width, rows| {
        on_points(mesh, width, &solver.of_all_cells(width, rows))
    },
    fn outflow(solver: &March<Self>) -> Option<Vec<Outflow>> {
        Some(solver.outflow())
    },
    fn division(solver: &March<Self>) -> Option<Division<'_>> {
        Division::of(solver.division(), solver.halo_path())
    }
);
grid_system!(
    LaxWendroffSystem,
    |solver: &mut LaxWendroffSolver, gpu, _| solver.use_gpu(gpu),
    |solver: &LaxWendroffSolver, _: &Mesh, width, rows| solver.in_mesh_order(width, rows)
);
