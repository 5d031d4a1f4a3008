//! Compressible flow on meshes.

mod hints;
mod plan;
mod slices;

pub use slices::Way;

use super::advice::{Around, Trouble};
use super::cautions::{
    Side, Told, closed_in_time, coincident, fast_walls, folded, idle_reynolds, open_layer, slipping,
};
use super::flow::{Flow, in_one_piece};
use super::history::Equations;
use super::march::{Finished, Run};
use super::openings::{self, Given};
use super::over_ranks::{self, Division};
use super::{Args, Prepared, prepare, summary};
use crate::case::{CaseFile, Source};
use crate::cite;
use crate::context::Context;
use crate::error::{CliError, CliResult};
use crate::run::files::Files;
use crate::run::profiles::WallUnits;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::gpu::Wish;
use chromaflow::order::PlanReport;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow::{BlockCsr, Outcome};
use chromaflow_device::give_back_freed;
use chromaflow_flow::config as flow;
use chromaflow_flow::config::Boundary;
use chromaflow_flow::march::{FlowError, Place};
use chromaflow_flow::mesh::{self, KindInfo, Mesh, Range};
use chromaflow_flow::output::{Field, Restart, Resumed, VtuOptions};
use chromaflow_flow::unstructured::{FlowSystem, RankReport, Ranks};
use chromaflow_flow::{FlowConfig, FlowSolver};
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// Runs a case of a mesh.
///
/// # Errors
/// As [`super::run`].
pub fn run(
    args: &Args,
    ctx: &Context,
    source: Source,
    case: CaseFile,
    ranks: Option<Ranks>,
    start: Instant,
) -> CliResult {
    let way = Way::choose(&source, &case, ranks.as_ref())?;
    let folder = args.out.clone().unwrap_or_else(|| case.folder(&source));
    let follows = ranks.as_ref().is_some_and(|ranks| ranks.ranks.rank() > 0);
    if let Some(ranks) = &ranks {
        if follows && way != Way::Slices {
            return over_ranks::follow((&source, &folder), &case, ctx, ranks.clone());
        }
        if case.output.matrix > 0 {
            return Err(source
                .error(&["output", "matrix"], "one rank alone writes linear systems: leave out --ranks"));
        }
    }
    let program = summary::peak_bytes().unwrap_or(0);
    let prepare_gpu = |config: &FlowConfig| {
        if let Some(gpu) = ctx.gpu() {
            gpu.prepare(chromaflow_flow::gpu::kernels_of(config));
        }
    };
    if way == Way::Slices {
        let mut read = 0.0;
        let ranks = ranks.unwrap_or_else(over_ranks::of_one);
        let files = if follows { None } else { Some(Files::new(folder.clone(), &case.output)?) };
        let (prepared, mut solver) = slices::prepare(source, case, ctx.team(), ranks.clone(), |config| {
            read = start.elapsed().as_secs_f64();
            prepare_gpu(config);
        })?;
        give_back_freed();
        compute_on_gpu(&mut solver, ctx, &prepared.source)?;
        let Some(files) = files else {
            return over_ranks::followed(&ranks, &folder, |patience| solver.follow_within(patience));
        };
        let flow =
            OnMesh { prepared: &prepared, quality: Value::Null, folded: None, solver, ctx, program, read };
        return lead(args, flow, (files, start));
    }
    if ctx.gpu().is_some() {
        let mut settings = case.settings(&source, false)?;
        if case.linear.open {
            // Kernels of factors wait for the mesh, which may want lines.
            settings.implicit.preconditioner = PreconditionerKind::Lines;
        }
        prepare_gpu(&settings);
    }
    let mut prepared = prepare::prepare_mesh(source, case, ctx.team().size())?;
    // Elements are looked at one by one where their quality asks for it.
    let (mesh, threads) = (&prepared.mesh, ctx.team().size());
    let found = (!args.check).then(|| mesh::quality(mesh, threads));
    let may_fold = found.as_ref().is_none_or(mesh::has_folded);
    let folded = may_fold.then(|| folded(mesh, threads)).flatten();
    let quality = found.map_or(Value::Null, |(kinds, _)| quality(&kinds));
    give_back_freed();
    let read = start.elapsed().as_secs_f64();
    let files = Files::new(folder, &prepared.case.output)?;
    let (config, team) = (prepared.config.clone(), Arc::clone(ctx.team()));
    let solver = match ranks {
        None => FlowSolver::new(&prepared.mesh, config, team),
        Some(ranks) => {
            prepared.way = Some(way);
            let (mesh, case) = (&prepared.mesh, &prepared.case);
            let stretched =
                prepared.stretching.is_some_and(|found| case.is_stretched(found, mesh.planar.is_some()));
            over_ranks::asked(&ranks, Some((mesh, stretched, case.is_slab(mesh))))?;
            FlowSolver::over_ranks(Some(&prepared.mesh), config, team, ranks)
        }
    };
    let mut solver = solver.map_err(|e| refused(&prepared.source, &e))?;
    give_back_freed();
    compute_on_gpu(&mut solver, ctx, &prepared.source)?;
    lead(args, OnMesh { prepared: &prepared, quality, folded, solver, ctx, program, read }, (files, start))
}

/// A run of a solver that is ready; other ranks follow.
fn lead(args: &Args, mut flow: OnMesh<'_>, (files, start): (Files, Instant)) -> CliResult {
    let Prepared { source, case, config, .. } = flow.prepared;
    let run = Run {
        args,
        ctx: flow.ctx,
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
    let done = run.go(&mut flow);
    if done.is_ok() {
        flow.solver.dismiss();
    }
    done
}

/// Moves the computation to the GPU that was asked for, if one was.
pub(super) fn compute_on_gpu(solver: &mut FlowSolver, ctx: &Context, source: &Source) -> CliResult<()> {
    compute_on_gpu_by(solver, ctx, source, ctx.told().wish)
}

/// The same with a wish of how messages pass between GPUs.
///
/// # Errors
/// Status 2 for what GPUs of ranks do not compute; status 3 for a GPU that fails.
pub fn compute_on_gpu_by(
    solver: &mut FlowSolver,
    ctx: &Context,
    source: &Source,
    wish: Wish,
) -> CliResult<()> {
    let Some(gpu) = ctx.gpu() else { return Ok(()) };
    solver.use_gpu_by(gpu, wish).map_err(|e| match e {
        FlowError::NotOverRanks { .. } => refused(source, &e),
        _ => CliError::environment(e.to_string()),
    })
}

/// Why a flow solver could not be made for a case.
pub fn refused(source: &Source, error: &FlowError) -> CliError {
    let text = format!("{}: {error}", source.path.display());
    match error {
        FlowError::Ranks(_) | FlowError::Share(_) => CliError::environment(text),
        _ => CliError::input(text),
    }
}

/// Smallest, mean and largest scaled Jacobian and aspect ratio over all cells.
fn quality(kinds: &[KindInfo]) -> Value {
    let count: usize = kinds.iter().map(|k| k.count).sum();
    let over = |range: fn(&KindInfo) -> Range| {
        let min = kinds.iter().map(|k| range(k).min).fold(f64::INFINITY, f64::min);
        let max = kinds.iter().map(|k| range(k).max).fold(0.0, f64::max);
        let sum: f64 = kinds.iter().map(|k| range(k).mean * k.count as f64).sum();
        json!({ "min": min, "mean": sum / count.max(1) as f64, "max": max })
    };
    json!({ "scaled_jacobian": over(|k| k.scaled_jacobian), "aspect_ratio": over(|k| k.aspect_ratio) })
}

/// A solver and its case.
struct OnMesh<'a> {
    prepared: &'a Prepared,
    quality: Value,
    folded: Option<String>,
    solver: FlowSolver,
    ctx: &'a Context,
    /// Bytes that the process held before it read anything.
    program: usize,
    /// Seconds until case and mesh were read and checked.
    read: f64,
}

/// How many lines there are, where there are any, and of what mean length.
fn lines_of(order: &PlanReport) -> String {
    if order.lines == 0 {
        return String::new();
    }
    let (lines, colors) = (order.lines, order.colors);
    format!(" ({lines} lines of {:.1} nodes in {colors} colors)", order.in_lines as f64 / lines as f64)
}

impl OnMesh<'_> {
    /// What the flow was given, for [`openings`].
    fn given(&self) -> Given<'_> {
        let config = &self.prepared.config;
        Given { conditions: &config.boundaries, gamma: config.gas.gamma, mach: config.freestream.mach }
    }

    fn division(&self) -> Option<Division<'_>> {
        let division = self.solver.division().map(|division| (division.ranks as usize, division.balance));
        Division::of(division, self.solver.halo_path())
    }
}

impl Flow for OnMesh<'_> {
    type System = FlowSystem;

    fn headline(&self) -> String {
        let Prepared { mesh_path, mesh, counts, way, config, .. } = self.prepared;
        let implicit = &config.implicit;
        let method = match (implicit.method, implicit.preconditioner) {
            (Method::Richardson, PreconditionerKind::Multicolor) => {
                format!("{} colors", self.solver.order().colors)
            }
            (Method::Richardson, alone) => alone.to_string(),
            (method, PreconditionerKind::Ilu(fill)) if fill != Fill::default() => {
                let stretched = self
                    .prepared
                    .stretching
                    .map_or_else(String::new, |s| format!(" (cells stretched {s:.1} times)"));
                format!("{method} around block ILU({fill}){stretched}")
            }
            (method, around) => format!("{method} around {around}"),
        };
        let nodes = if mesh.planar.is_some() { counts.nodes / 2 } else { counts.nodes };
        let cells = counts.cells();
        // The folder that one stands in has no name of its own.
        let whole = mesh_path.file_name().is_none().then(|| mesh_path.canonicalize().ok()).flatten();
        let path = whole.as_ref().unwrap_or(mesh_path).display();
        let ranks = over_ranks::headline(self.division());
        let way =
            way.filter(|way| *way == Way::Slices || !ranks.is_empty()).map_or_else(String::new, Way::text);
        let lines = lines_of(self.solver.order());
        format!(
            "{path}: {nodes} nodes, {cells} cells; {method}{lines}, policy {}{ranks}{way}",
            implicit.policy
        )
    }

    fn cautions(&self) -> Vec<String> {
        let Prepared { mesh, config, .. } = self.prepared;
        let told = Told {
            boundaries: &config.boundaries,
            stream: &config.freestream,
            gas: &config.gas,
            reference: &config.reference,
            turbulence: config.turbulence.as_ref(),
            time: &config.time,
        };
        let cautions = told.cautions(&Side::of_mesh(mesh, &config.boundaries));
        let layer = open_layer(mesh, &config.boundaries);
        cautions.into_iter().chain(layer).chain(coincident(mesh)).chain(self.folded.clone()).collect()
    }

    fn notes(&self) -> Vec<String> {
        let Prepared { notes, config, case, .. } = self.prepared;
        let closed = closed_in_time(&config.boundaries, &config.time);
        let idle = [slipping(&config.boundaries, config.equations), idle_reynolds(&case.flow), closed];
        notes.iter().cloned().chain(idle.into_iter().flatten()).collect()
    }

    fn check(&self, ctx: &Context) -> CliResult<()> {
        plan::check(self.prepared, &self.solver, ctx, self.program)
    }

    fn solver(&self) -> &FlowSolver {
        &self.solver
    }

    fn solver_mut(&mut self) -> &mut FlowSolver {
        &mut self.solver
    }

    fn mesh(&self) -> Cow<'_, Mesh> {
        Cow::Borrowed(&self.prepared.mesh)
    }

    fn fields(&mut self) -> Vec<Field> {
        self.solver.fields()
    }

    fn fields_of(&mut self, wanted: &dyn Fn(&str) -> bool) -> Vec<Field> {
        self.solver.fields_of(wanted)
    }

    fn write_pieces(&mut self, list: &Path, more: &[Field], options: VtuOptions) -> CliResult<Vec<PathBuf>> {
        let sliced = self.solver.surface().is_some();
        if self.solver.division().is_none() && !sliced {
            return in_one_piece(self, list, more, options);
        }
        // Of slices more is known on the boundary alone.
        let more = if sliced { &[] } else { more };
        let written = self.solver.write_pieces(list, &self.prepared.mesh, more, options);
        written.map_err(|e| CliError::environment(e.to_string()))
    }

    fn is_wall(&self, marker: &str) -> bool {
        self.prepared.config.boundaries.get(marker).is_some_and(|b| b.is_wall())
    }

    fn lift_axis(&self) -> Option<usize> {
        self.prepared.config.reference.lift_axis
    }

    fn wall_units(&self, friction: f64, pressure: f64, temperature: f64) -> Option<WallUnits> {
        let config = &self.prepared.config;
        if config.equations == flow::Equations::Euler {
            return None;
        }
        Some(WallUnits::of(&config.gas, &config.freestream, friction, pressure, temperature))
    }

    fn remarks(&self, outcome: Outcome) -> Vec<String> {
        let config = &self.prepared.config;
        let through = openings::told(&self.solver.outflow(), self.given());
        let reynolds = config.freestream.reynolds * config.reference.length;
        let turbulent = (config.turbulence.as_ref(), reynolds);
        let told = summary::apart(through, summary::heights_of("nodes off", self.solver.y_plus(), turbulent));
        let rough = config.turbulence.as_ref().map(|model| model.roughness).filter(|height| *height > 0.0);
        let rough = rough.map_or_else(Vec::new, |height| summary::rough(height, &self.solver.walls()));
        let fast = fast_walls(config.turbulence.as_ref(), config.freestream.mach);
        let left =
            (outcome == Outcome::Converged).then(|| hints::left_behind(self.solver.separated())).flatten();
        told.into_iter().chain(rough).chain(fast).chain(left).collect()
    }

    fn write_restart(&self, path: &Path, more: Restart) -> Result<(), FlowError> {
        self.solver.write_restart(path, &self.prepared.mesh, more)
    }

    fn resume(&mut self, path: &Path, how: (bool, &[String])) -> Result<Resumed, FlowError> {
        self.solver.resume_from(path, &self.prepared.mesh, how)
    }

    fn coupled(&self) -> Vec<String> {
        self.solver.coupled_unknowns()
    }

    fn linear_system(&mut self) -> Option<(BlockCsr, Vec<f64>)> {
        Some(self.solver.linear_system())
    }

    fn summary(&self) -> Map<String, Value> {
        let Prepared { mesh, counts, case, config, mesh_path, stretching, .. } = self.prepared;
        let memory = self.solver.memory();
        let fill = match config.implicit.preconditioner {
            PreconditionerKind::Ilu(fill) => fill,
            _ => Fill::default(),
        };
        let solver = json!({
            "policy": config.implicit.policy.name(),
            "method": case.linear.method.config().name(),
            "preconditioner": case.linear.precond.config().name(),
            "fill": fill.to_string(),
            "order": config.implicit.order.name(),
            "sweeps": config.implicit.sweeps,
            "colors": self.solver.order().colors,
            "lines": self.solver.order().lines,
            "nodes_in_lines": self.solver.order().in_lines,
        });
        let facts = json!({
            "conditions": summary::conditions(&case.flow, &config.boundaries, &config.reference),
            "memory": {
                "jacobian_bytes": memory.jacobian,
                "mesh_bytes": memory.mesh,
                "state_bytes": memory.state,
                "work_bytes": memory.work,
                "device_bytes": memory.device,
            },
            "mesh": {
                "file": mesh_path,
                "nodes": counts.nodes,
                "nodes_2d": mesh.planar.map(|_| counts.nodes / 2),
                "tets": counts.elements[0],
                "pyramids": counts.elements[1],
                "prisms": counts.elements[2],
                "hexes": counts.elements[3],
                "planar": mesh.planar.is_some(),
                "stretching": stretching,
                "quality": self.quality,
                "markers": mesh.markers.iter().map(|m| &m.name).collect::<Vec<_>>(),
            },
            "solver": summary::machine(self.ctx, solver),
            "references": cite::of_case(case),
        });
        let Value::Object(mut facts) = facts else { unreachable!("written above") };
        facts.insert("walls".to_owned(), summary::walls(self.solver.y_plus()));
        openings::insert(&mut facts, &self.solver.outflow(), self.given());
        if config.equations == flow::Equations::Euler {
            facts.insert("head_lost".to_owned(), json!(self.solver.separated()));
        }
        let setup = self.solver.setup_seconds().iter().map(|&(stage, s)| (stage.to_owned(), json!(s)));
        let setup = [("read".to_owned(), json!(self.read))].into_iter().chain(setup);
        facts.insert("setup_s".to_owned(), Value::Object(setup.collect()));
        over_ranks::facts(self.division(), &self.solver, &mut facts);
        if let Some(held) = self.solver.held() {
            facts.insert("slices".to_owned(), json!({ "held_bytes": held.bytes, "held_most": held.when }));
        }
        if let Some(turbulence) = &config.turbulence {
            let unknowns = if turbulence.model.is_spalart_allmaras() { 1 } else { 2 };
            let facts_of_it = json!({
                "model": case.turbulence.model, "unknowns": unknowns, "hybrid": case.turbulence.hybrid,
            });
            facts.insert("turbulence".to_owned(), facts_of_it);
        }
        facts
    }

    fn rank_reports(&self) -> Vec<RankReport> {
        let several = self.solver.division().is_some_and(|division| division.ranks > 1);
        if several { self.solver.rank_reports() } else { Vec::new() }
    }

    fn on_points(&self, width: usize, rows: &[f64]) -> Vec<f64> {
        self.solver.in_mesh_order(width, rows)
    }

    fn around(&self, place: Place) -> Option<Around> {
        let Place::Node(node) = place else { return None };
        if self.solver.surface().is_some() {
            return None;
        }
        Some(Around::node(&self.prepared.mesh, node))
    }

    fn is_open(&self, marker: &str) -> bool {
        let conditions = &self.prepared.config.boundaries;
        conditions.get(marker).is_some_and(|b| !b.is_wall() && *b != Boundary::Symmetry)
    }

    fn hints(&self, trouble: &Trouble, finished: &Finished) -> Vec<String> {
        hints::of(&self.solver, &self.prepared.config, (trouble, finished))
    }

    fn release(&mut self) {
        self.solver.release();
    }
}
