//! Figures 9 and 10 of the block ILU paper: time a cell over the size of the grid, and over the number of unknowns.

use super::{Args, Bench, Engine};
use crate::figures::{Figures, list};
use chromaflow::gallery::Case;
use chromaflow_cli::bench::ilu::Parts;
use chromaflow_cli::context::Context;
use chromaflow_cli::error::{CliError, CliResult, Done};
use chromaflow_cli::plot::{Picture, Series};
use serde_json::{Value, json};
use std::fmt::Write;

/// Correction steps of the paper's runs: with the first estimate the factors are applied once more than this.
const CORRECTIONS: f64 = 3.0;

/// What is timed, as the parts (a) to (d) of the figures have it.
const PARTS: [&str; 4] = ["overall", "factor", "solve", "residual"];

/// Table 3 of Luo, Edwards, Luo, Mueller (2015), n = 6, ns a cell: who, and factor, solve, residual. Their text has no other times.
const TABLE_3: [(&str, [f64; 3]); 2] =
    [("sequential, one core of a Xeon E5645", [3480.0, 840.0, 510.0]), ("CUDA, M2050", [122.0, 60.4, 32.4])];

/// One of the two figures.
struct Figure {
    name: &'static str,
    title: &'static str,
    about: &'static str,
    /// What the horizontal axis has.
    x: &'static str,
    pictures: [&'static str; 4],
}

const FIGURE_9: Figure = Figure {
    name: "figure_9",
    title: "Figure 9 of the block ILU paper: time a cell over the size of the grid, n = 6",
    about: "The paper's times are those of its Table 3, for the largest grid; its text has no others.",
    x: "cells along an edge",
    pictures: ["figure_9a", "figure_9b", "figure_9c", "figure_9d"],
};
const FIGURE_10: Figure = Figure {
    name: "figure_10",
    title: "Figure 10 of the block ILU paper: time a cell over the unknowns of a cell",
    about: "Systems for 4 and 6 unknowns are concatenated. The paper's text has no times for these grids: it says that times follow n^2 for \
            large n, and that its CUDA form is ahead of its OpenACC form for all n to 32.",
    x: "unknowns a cell, n",
    pictures: ["figure_10a", "figure_10b", "figure_10c", "figure_10d"],
};

/// A grid of a figure, and ns a cell of each engine, in the order of [`PARTS`].
struct Domain {
    case: Case,
    x: usize,
    runs: Vec<(&'static str, [f64; 4])>,
}

/// Measures the figures that were asked for, and prints their tables.
///
/// # Errors
/// Bad usage; no GPU where an engine needs one; an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let engines = Engine::chosen(&args.engine, ctx)?;
    let asked = args.figure.iter().map(|&figure| domains(figure, args)).collect::<CliResult<Vec<_>>>()?;
    let mut figures = Figures::default();
    for (figure, mut domains) in asked {
        for domain in &mut domains {
            let bench = Bench::new(&domain.case, &args.options(), ctx);
            let a = bench.stencil();
            for &engine in &engines {
                let parts = bench.structured(engine, &a, ctx)?;
                domain.runs.push((engine.name(), per_cell(&parts, a.cells())));
            }
        }
        figures.add(figure.name, markdown(figure, &domains), json(&domains));
        figures.pictures.extend((0..4).map(|part| (figure.pictures[part], picture(figure, part, &domains))));
    }
    print!("{}", figures.markdown());
    if let Some(folder) = &args.plots {
        figures.draw(folder)?;
    }
    ctx.write_json(&json!({ "figures": figures.json() }))?;
    Ok(Done::Success)
}

/// The grids of a figure: cubes of 15^3 to 65^3 cells, or for n = 4 to 32 cubes of roughly `--work` / n^2 cells.
fn domains(figure: u32, args: &Args) -> CliResult<(&'static Figure, Vec<Domain>)> {
    let sizes = |default: &[usize]| args.sizes.as_deref().map_or_else(|| Ok(default.to_vec()), list);
    let domain = |x: usize, side: usize, parts: &str| {
        let case = format!("grid7:{side},{side},{side}:{parts}").parse();
        let case = case.map_err(|e: chromaflow::gallery::BadCase| CliError::input(e.to_string()))?;
        Ok(Domain { case, x, runs: Vec::new() })
    };
    let (figure, all): (_, CliResult<Vec<Domain>>) = match figure {
        9 => {
            let sides = sizes(&[15, 25, 35, 45, 55, 65])?;
            (&FIGURE_9, sides.into_iter().map(|side| domain(side, side, "6")).collect())
        }
        10 => {
            let all = sizes(&[4, 6, 8, 10, 12, 16, 20, 24, 28, 32])?;
            let of = |n: usize| {
                domain(n, ((args.work / (n * n) as f64).cbrt().round() as usize).max(1), &parts(n)?)
            };
            (&FIGURE_10, all.into_iter().map(of).collect())
        }
        other => return Err(CliError::input(format!("there is no --figure {other}: expected 9 or 10"))),
    };
    Ok((figure, all?))
}

/// n unknowns from systems of 4, and one of 6 where 4 does not divide n: `4+4+6`.
fn parts(n: usize) -> CliResult<String> {
    if n < 4 || n % 2 == 1 {
        return Err(CliError::input(format!("n = {n}: systems of 4 and 6 unknowns make even n from 4 on")));
    }
    let mut parts = vec!["4"; n / 4];
    if n % 4 == 2 {
        *parts.last_mut().expect("n is at least 6") = "6";
    }
    Ok(parts.join("+"))
}

/// ns a cell.
fn per_cell(parts: &Parts, cells: usize) -> [f64; 4] {
    let [factor, solve, residual] =
        [parts.factor, parts.apply, parts.residual].map(|t| 1e9 * t.median / cells as f64);
    [factor + (CORRECTIONS + 1.0) * solve + CORRECTIONS * residual, factor, solve, residual]
}

fn markdown(figure: &Figure, domains: &[Domain]) -> String {
    let mut text = format!(
        "\n## {}\n\nns a cell, medians; overall: a factorization, four solves and three residuals, summed. n^2: overall over n^2. {}\n\n\
         | case | cells | engine | overall | n^2 | factor | solve | residual |\n|---|---|---|---|---|---|---|---|\n",
        figure.title, figure.about
    );
    for domain in domains {
        let (case, cells, q) = (&domain.case, domain.case.rows(), (domain.case.nb * domain.case.nb) as f64);
        for (engine, [overall, factor, solve, residual]) in &domain.runs {
            let scaled = overall / q;
            let _ = writeln!(
                text,
                "| `{case}` | {cells} | {engine} | {overall:.2} | {scaled:.3} | {factor:.2} | {solve:.2} | {residual:.2} |"
            );
        }
        for (who, [factor, solve, residual]) in of_the_paper(case) {
            let _ =
                writeln!(text, "| the paper | {cells} | {who} | - | - | {factor} | {solve} | {residual} |");
        }
    }
    text
}

/// What the paper's text has for a case.
fn of_the_paper(case: &Case) -> &'static [(&'static str, [f64; 3])] {
    if case.dims == [65; 3] && case.parts == [6] { &TABLE_3 } else { &[] }
}

fn json(domains: &[Domain]) -> Value {
    let named = |names: &[&str], values: &[f64]| -> Value {
        names.iter().zip(values).map(|(&name, &ns)| (name.to_owned(), json!(ns))).collect()
    };
    let domain = |d: &Domain| {
        let ours = d.runs.iter().map(|(engine, ns)| ((*engine).to_owned(), named(&PARTS, ns)));
        let paper = of_the_paper(&d.case).iter().map(|(who, ns)| ((*who).to_owned(), named(&PARTS[1..], ns)));
        json!({
            "case": d.case.to_string(), "cells": d.case.rows(), "nb": d.case.nb,
            "ns_per_cell": ours.collect::<Value>(), "paper_ns_per_cell": paper.collect::<Value>(),
        })
    };
    domains.iter().map(domain).collect()
}

fn picture(figure: &Figure, part: usize, domains: &[Domain]) -> Picture {
    let series = |run: usize| Series {
        name: domains[0].runs[run].0.into(),
        points: domains.iter().map(|d| (d.x as f64, d.runs[run].1[part])).collect(),
        line: true,
    };
    Picture {
        title: format!("Block ILU(0): {}", PARTS[part]),
        x: figure.x,
        y: "ns a cell",
        log: [true, true],
        series: (0..domains[0].runs.len()).map(series).collect(),
    }
}
