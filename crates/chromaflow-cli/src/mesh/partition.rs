//! `chromaflow mesh partition`: how a mesh is divided among ranks.

use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow_flow::mesh::{Field, Mesh, vtk};
use chromaflow_flow::ranks::{Size, Survey};
use serde_json::json;
use std::num::NonZeroU32;
use std::path::Path;

/// What a table has of each rank.
type Column = fn(&Size) -> usize;

/// Prints what each rank gets, and writes the rank of every node where a file is asked for.
///
/// # Errors
/// Status 2 for a file that is no `.vtu`; status 3 where it cannot be written.
pub fn partition(
    mesh: &Mesh,
    (ranks, lines): (NonZeroU32, bool),
    output: Option<&Path>,
    ctx: &Context,
) -> CliResult {
    if let Some(path) = output.filter(|path| path.extension().is_none_or(|e| e != "vtu")) {
        return Err(CliError::input(format!("ranks of nodes are written as .vtu, not {}", path.display())));
    }
    let survey = Survey::new(mesh, ranks.get(), lines);
    if let Some(path) = output {
        let field = Field::scalar("rank", survey.owner.iter().map(|&rank| f64::from(rank)).collect());
        vtk::write_volume(path, mesh, &[field], vtk::VtuOptions::default())?;
    }
    let columns: [(&str, Column); 4] = [
        ("rows", |s| s.rows),
        ("ghosts", |s| s.ghosts),
        ("elements", |s| s.elements),
        ("neighbors", |s| s.neighbors),
    ];
    let range = |of: Column| {
        let all = || survey.parts.iter().map(of);
        let mean = all().sum::<usize>() as f64 / survey.parts.len() as f64;
        (all().min().unwrap_or(0), mean, all().max().unwrap_or(0))
    };
    if ctx.verbose() {
        println!(
            "{ranks} ranks, balance {:.3} (most blocks of a rank over the mean), {} edges between them",
            survey.quality.balance, survey.quality.cut
        );
        if lines {
            println!("{} lines of {} rows are not cut", survey.lines, survey.in_lines);
        }
        println!();
        println!("{:<10} {:>10} {:>12} {:>10}", "a rank's", "least", "mean", "most");
        for (name, of) in columns {
            let (least, mean, most) = range(of);
            println!("{name:<10} {least:>10} {mean:>12.1} {most:>10}");
        }
        if let Some(path) = output {
            println!("\n{}: the rank of every node", path.display());
        }
    }
    let ranges: serde_json::Map<_, _> = columns
        .iter()
        .map(|(name, of)| {
            let (least, mean, most) = range(*of);
            ((*name).to_owned(), json!({ "min": least, "mean": mean, "max": most }))
        })
        .collect();
    ctx.write_json(&json!({
        "ranks": ranks, "balance": survey.quality.balance, "cut": survey.quality.cut, "parts": ranges, "lines": survey.lines,
        "nodes_in_lines": survey.in_lines,
    }))?;
    Ok(Done::Success)
}
