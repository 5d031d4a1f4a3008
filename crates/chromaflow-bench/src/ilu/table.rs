//! Table 1 of the block ILU paper: the same sums of squares from everybody, on a system of the incompressible solver.

use super::{Args, Engine, OnDevice, on_gpu, squares};
use crate::figures::{Figures, list};
use chromaflow::factor::structured_ilu::{StencilMatrix, StructuredIlu, StructuredIluOptions};
use chromaflow::{Policy, Storage};
use chromaflow_cli::context::Context;
use chromaflow_cli::error::{CliError, CliResult, Done};
use chromaflow_flow::bc::Motion;
use chromaflow_flow::config::Cfl;
use chromaflow_flow::grid::generate::BoxGrid;
use chromaflow_flow::incompressible::{Boundary, Config, Given, Scalar, Solver, WallScalar};
use serde_json::{Value, json};
use std::fmt::Write;

/// Cells of the paper's block, and its steps: the first estimate and 19 corrections.
const CELLS: [usize; 3] = [51, 97, 63];
const STEPS: usize = 20;
/// Iterations of the flow solver before the system is taken, and their CFL number.
const ITERATIONS: usize = 3;
const CFL: f64 = 10.0;

/// Table 1 of Luo, Edwards, Luo, Mueller (2015): step, sequential, fine-grained.
const PUBLISHED: [(usize, f64, f64); 6] = [
    (0, 0.542674993335e5, 0.542674993335e5),
    (1, 0.170814598038e4, 0.170814598038e4),
    (2, 0.131446936261e3, 0.131446936261e3),
    (11, 0.138239874038e-5, 0.138239874038e-5),
    (12, 0.180227555902e-6, 0.180227555901e-6),
    (19, 0.126561189429e-12, 0.126561185003e-12),
];

/// Takes a system out of the flow solver, and prints sums of squares of the residual before each step: the sequential reference's,
/// and how far each engine's are from them.
///
/// # Errors
/// Bad usage; no GPU where an engine needs one; an unwritable result.
pub fn run(table: u32, args: &Args, ctx: &Context) -> CliResult {
    if table != 1 {
        return Err(CliError::input(format!("there is no --table {table}: expected 1")));
    }
    let engines = Engine::chosen(&args.engine, ctx)?;
    if args.policy != Policy::D && engines.iter().any(|e| matches!(e, Engine::Acc | Engine::Cl)) {
        return Err(CliError::input("engines acc and cl have policy d alone: take cpu or cuda"));
    }
    let storage = args.policy.storage();
    let cells = match args.sizes.as_deref().map(list).transpose()?.as_deref() {
        None => CELLS,
        Some(&[i, j, k]) => [i, j, k],
        Some(_) => return Err(CliError::input("--sizes of a table: expected cells along i, j, k")),
    };
    let (a, b) = system(cells, ctx)?;
    let expected = squares::reference(&a, &b, STEPS)?;
    let mut found = Vec::new();
    for engine in engines.into_iter().filter(|&e| e != Engine::Reference) {
        let squares = if engine == Engine::Cpu {
            tuned_squares(&a, &b, storage, ctx)?
        } else {
            let mut on = OnDevice::new(&ctx.open_gpu()?, &a, &b, 1, storage)?;
            squares::on_device(&mut on, on_gpu(engine), STEPS)?
        };
        found.push((engine.name(), squares));
    }
    let mut figures = Figures::default();
    figures.add(
        "table_1",
        markdown(cells, args.policy, &expected, &found),
        json(cells, args.policy, &expected, &found),
    );
    print!("{}", figures.markdown());
    ctx.write_json(&json!({ "figures": figures.json() }))?;
    Ok(Done::Success)
}

/// The linear system of a flow through a wavy box after a few iterations: n = 6, with a temperature that drives it and a dye.
fn system(cells: [usize; 3], ctx: &Context) -> CliResult<(StencilMatrix, Vec<f64>)> {
    let grid = BoxGrid { cells, size: [2.0, 1.0, 1.0], wave: 0.04 }.grid();
    let mut config = Config { initial: vec![0.0, 0.5, 0.0, 0.0], ..Config::default() };
    config.fluid.viscosity = 0.002;
    let scalar = |name: &str, diffusivity, buoyancy| Scalar {
        name: name.to_owned(),
        diffusivity,
        buoyancy,
        reference: 0.0,
    };
    config.fluid.scalars =
        vec![scalar("temperature", 0.003, [0.0, 0.2, 0.0]), scalar("dye", 0.001, [0.0; 3])];
    config.implicit.cfl = Cfl { start: CFL, max: CFL, growth: 1.0, ..config.implicit.cfl };
    let inflow = Boundary::Inflow(Given::Same(vec![1.0, 0.0, 0.0, 0.0, 1.0]));
    let floor =
        Boundary::Wall { motion: Motion::NONE, scalars: vec![WallScalar::Value(1.0), WallScalar::NoFlux] };
    let walls = ["ymax", "zmin", "zmax"].map(|name| (name.to_owned(), Boundary::WALL));
    let others = [("xmin", inflow), ("xmax", Boundary::Outflow { pressure: 0.0 }), ("ymin", floor)];
    config.boundaries = walls.into_iter().chain(others.map(|(name, b)| (name.to_owned(), b))).collect();
    let solver = Solver::new(&grid, config, ctx.team().clone());
    let mut solver = solver.map_err(|e| CliError::input(e.to_string()))?;
    while solver.iteration() < ITERATIONS {
        solver.step();
    }
    let (mut blocks, b) = solver.into_stencil_system();
    Ok((blocks.remove(0), b))
}

/// Sums of squares by the tuned form on all threads.
fn tuned_squares(a: &StencilMatrix, b: &[f64], storage: Storage, ctx: &Context) -> CliResult<Vec<f64>> {
    let (team, options) = (ctx.team(), StructuredIluOptions { storage, ..StructuredIluOptions::default() });
    let ilu = StructuredIlu::new(&[a.dims()], a.nb(), options, team);
    let mut ilu = ilu.map_err(CliError::device)?;
    ilu.factor(team, &[a]).map_err(CliError::device)?;
    let (mut x, mut r, mut update) = (vec![0.0; b.len()], vec![0.0; b.len()], vec![vec![0.0; b.len()]]);
    let step = |_| {
        a.residual(team, b, &x, &mut r);
        ilu.solve(team, &[a], &[&r], &mut update);
        x.iter_mut().zip(&update[0]).for_each(|(x, u)| *x += u);
        squares::sum_of_squares(&r)
    };
    Ok((0..STEPS).map(step).collect())
}

type Squares = [(&'static str, Vec<f64>)];

fn off(found: f64, expected: f64) -> f64 {
    (found - expected).abs() / expected
}

fn markdown([i, j, k]: [usize; 3], policy: Policy, expected: &[f64], found: &Squares) -> String {
    let mut engines = String::new();
    for (engine, _) in found {
        let _ = write!(engines, " {engine}, off by |");
    }
    let lines = "---|".repeat(found.len());
    let mut text = format!(
        "\n## Table 1 of the block ILU paper: sums of squares of the residual, n = 6, {i} x {j} x {k}\n\nA system of the incompressible \
         solver after {ITERATIONS} iterations with CFL {CFL}; the paper's is another system. Factors of the engines \
         under policy {policy}. Off by: relative to the sequential one, which is f64.\n\n\
         | step | sequential |{engines} the paper: sequential | fine-grained |\n|---|---|{lines}---|---|\n"
    );
    for (step, &expected) in expected.iter().enumerate() {
        let _ = write!(text, "| {step} | {expected:.12e} |");
        for (_, squares) in found {
            let _ = write!(text, " {:.1e} |", off(squares[step], expected));
        }
        let _ = match PUBLISHED.iter().find(|p| p.0 == step) {
            Some((_, sequential, fine)) => writeln!(text, " {sequential:.11e} | {fine:.11e} |"),
            None => writeln!(text, " | |"),
        };
    }
    text
}

fn json(cells: [usize; 3], policy: Policy, expected: &[f64], found: &Squares) -> Value {
    let published: Vec<_> =
        PUBLISHED.iter().map(|(step, sequential, fine)| json!([step, sequential, fine])).collect();
    json!({
        "cells": cells, "nb": 6, "policy": policy.to_string(), "sequential": expected,
        "engines": found.iter().map(|(name, squares)| ((*name).to_owned(), json!(squares))).collect::<Value>(),
        "paper": published,
    })
}
