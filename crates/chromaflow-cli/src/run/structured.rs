//! Compressible flow on structured grids.

use super::flow::Flow;
use super::history::Equations;
use super::march::Run;
use super::{Args, summary};
use crate::case::{CaseFile, Source, StepName};
use crate::cite;
use crate::context::Context;
use crate::error::{CliError, CliResult};
use crate::run::files::Files;
use chromaflow_device::cuda::Gpu;
use chromaflow_flow::StepReport;
use chromaflow_flow::config::Boundary;
use chromaflow_flow::grid::{Grid, GridError};
use chromaflow_flow::march::{FlowError, Times};
use chromaflow_flow::mesh::{Mesh, Planar};
use chromaflow_flow::output::{Field, Restart};
use chromaflow_flow::structured::lax_wendroff::LaxWendroffSolver;
use chromaflow_flow::structured::{StructuredConfig, StructuredSolver};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
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
pub fn run(args: &Args, ctx: &Context, source: &Source, case: &CaseFile, start: Instant) -> CliResult {
    case.check(source)?;
    let grid = case.grid.load(source)?;
    let markers: Vec<_> = grid.markers().iter().map(|m| ((*m).to_owned(), known(m))).collect();
    let config = case.structured.config(case.config(source, &markers, planar(&grid))?);
    let files = Files::new(args.out.clone().unwrap_or_else(|| case.folder(source)), &case.output)?;
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
    let bad = |e: FlowError| CliError::input(format!("{}: {e}", source.path.display()));
    let (wanted, team) = (config.clone(), Arc::clone(ctx.team()));
    if case.structured.method == StepName::LaxWendroff {
        let scheme = case.structured.lax_wendroff();
        let solver = LaxWendroffSolver::new(grid, wanted, scheme, team).map_err(bad)?;
        OnGrid { case, config, ctx, solver }.go(&run)
    } else {
        let solver = StructuredSolver::new(grid, wanted, team).map_err(bad)?;
        OnGrid { case, config, ctx, solver }.go(&run)
    }
}

/// Whether the grid is two-dimensional with its lift along y.
fn planar(grid: &Grid) -> bool {
    let markers = grid.markers();
    grid.planar_axis().is_some() && [Planar::FRONT, Planar::BACK].iter().all(|m| markers.contains(m))
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

/// A solver and its case.
struct OnGrid<'a, S> {
    case: &'a CaseFile,
    config: StructuredConfig,
    ctx: &'a Context,
    solver: S,
}

impl<S: GridSolver> OnGrid<'_, S> {
    fn go(mut self, run: &Run<'_>) -> CliResult {
        if let Some(gpu) = self.ctx.gpu() {
            self.solver.use_gpu(gpu).map_err(|e| match e {
                FlowError::Linear(what) => run.source.error(&["structured", "method"], &what),
                other => CliError::environment(other.to_string()),
            })?;
        }
        run.go(&mut self)
    }
}

impl<S: GridSolver> Flow for OnGrid<'_, S> {
    fn headline(&self) -> String {
        let grid = self.solver.grid();
        let (blocks, cells) = (grid.blocks.len(), grid.cells());
        format!("structured grid: {blocks} blocks, {cells} cells; {}", self.case.structured.method.title())
    }

    fn check(&self, ctx: &Context) -> CliResult<()> {
        let grid = self.solver.grid();
        if ctx.verbose() {
            println!("\nmarkers");
            for name in grid.markers() {
                println!("  {name:20} {:?}", self.config.boundaries[name]);
            }
            println!("\nthe case can be run");
        }
        ctx.write_json(&json!({
            "grid": { "cells": grid.cells(), "blocks": grid.blocks.len() },
            "memory": { "device_bytes": self.solver.device_bytes() },
        }))
    }

    fn step(&mut self) -> Result<StepReport, FlowError> {
        self.solver.try_step()
    }

    fn sync(&mut self) -> Result<(), FlowError> {
        self.solver.sync()
    }

    fn iteration(&self) -> usize {
        self.solver.iteration()
    }

    fn times(&self) -> Times {
        self.solver.times()
    }

    fn mesh(&self) -> Cow<'_, Mesh> {
        Cow::Owned(self.solver.grid().to_mesh())
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

    fn restart(&self) -> Restart {
        self.solver.restart()
    }

    fn restart_places(&self) -> Cow<'_, Mesh> {
        Cow::Owned(self.solver.restart_places())
    }

    fn resume(&mut self, restart: &Restart) -> Result<(), FlowError> {
        self.solver.resume(restart)
    }

    fn summary(&self) -> Map<String, Value> {
        let grid = self.solver.grid();
        let solver = json!({ "method": self.case.structured.method.title() });
        let facts = json!({
            "entropy_error": self.solver.entropy_error(),
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
        let Value::Object(facts) = facts else { unreachable!("written above") };
        facts
    }
}

/// What the solvers of structured grids have in common: unknowns in the cells, implicit; in the nodes, explicit.
trait GridSolver {
    fn use_gpu(&mut self, gpu: &Gpu) -> Result<(), FlowError>;
    fn try_step(&mut self) -> Result<StepReport, FlowError>;
    fn sync(&mut self) -> Result<(), FlowError>;
    fn device_bytes(&self) -> usize;
    fn grid(&self) -> &Grid;
    fn fields(&mut self) -> Vec<Field>;
    fn iteration(&self) -> usize;
    fn times(&self) -> Times;
    fn entropy_error(&self) -> f64;
    fn restart(&self) -> Restart;
    fn restart_places(&self) -> Mesh;
    fn resume(&mut self, restart: &Restart) -> Result<(), FlowError>;
}

/// Hands every call on to the solver's own method of that name.
macro_rules! grid_solver {
    ($solver:ty) => {
        impl GridSolver for $solver {
            fn use_gpu(&mut self, gpu: &Gpu) -> Result<(), FlowError> {
                <$solver>::use_gpu(self, gpu)
            }
            fn try_step(&mut self) -> Result<StepReport, FlowError> {
                <$solver>::try_step(self)
            }
            fn sync(&mut self) -> Result<(), FlowError> {
                <$solver>::sync(self)
            }
            fn device_bytes(&self) -> usize {
                <$solver>::device_bytes(self)
            }
            fn grid(&self) -> &Grid {
                <$solver>::grid(self)
            }
            fn fields(&mut self) -> Vec<Field> {
                <$solver>::fields(self)
            }
            fn iteration(&self) -> usize {
                <$solver>::iteration(self)
            }
            fn times(&self) -> Times {
                <$solver>::times(self)
            }
            fn entropy_error(&self) -> f64 {
                <$solver>::entropy_error(self)
            }
            fn restart(&self) -> Restart {
                <$solver>::restart(self)
            }
            fn restart_places(&self) -> Mesh {
                <$solver>::restart_places(self)
            }
            fn resume(&mut self, restart: &Restart) -> Result<(), FlowError> {
                <$solver>::resume(self, restart)
            }
        }
    };
}

grid_solver!(StructuredSolver);
grid_solver!(LaxWendroffSolver);
