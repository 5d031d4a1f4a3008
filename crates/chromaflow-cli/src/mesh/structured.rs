//! `mesh` commands on PLOT3D grids.

use super::Input;
use crate::context::{Context, ensure_writable};
use crate::error::{CliError, CliResult, Done};
use crate::run::counted;
use chromaflow_flow::grid::{
    BlockInfo, Grid, GridError, PLOT3D_ENDINGS, Plot3d, Plot3dOptions, is_plot3d, map_beside, read_joined,
    read_plot3d, read_unchecked, write_nmf, write_plot3d,
};
use chromaflow_flow::mesh::{Affine, Format, Planar, cgns};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn cli(error: GridError) -> CliError {
    match error {
        GridError::File(e) => e.into(),
        other => CliError::input(other.to_string()),
    }
}

/// The map of a grid: the one that is named, or the one beside it.
fn map_of(input: &Input) -> Option<PathBuf> {
    input.map.clone().or_else(|| map_beside(&input.mesh))
}

/// The blocks with their map; without one, as their points say.
fn blocks(input: &Input) -> Result<(Grid, Option<PathBuf>), GridError> {
    let options = Plot3dOptions::default();
    match map_of(input) {
        Some(map) => Ok((read_unchecked(&input.mesh, &map, &options)?, Some(map))),
        None => Ok((Grid::joined(read_plot3d(&input.mesh, &options)?), None)),
    }
}

/// Whether a grid stays blocks from one file to another: PLOT3D and CGNS hold them.
pub fn keeps_blocks(input: &Input, output: &Path) -> CliResult<bool> {
    let is_cgns = |path: &Path| matches!(Format::of(path), Ok(Format::Cgns));
    if !is_cgns(output) && !is_plot3d(output) {
        return Ok(false);
    }
    let from_cgns = is_cgns(&input.mesh) && cgns::is_grid(&input.mesh)?;
    if is_plot3d(output) && !from_cgns && !is_plot3d(&input.mesh) {
        let (mesh, output) = (input.mesh.display(), output.display());
        return Err(CliError::input(format!("{mesh} is no structured grid, as {output} would have to be")));
    }
    Ok(from_cgns || is_plot3d(&input.mesh))
}

/// Writes a structured grid in another format; PLOT3D gets its neutral map beside it.
pub fn convert(input: &Input, output: &Path, ctx: &Context) -> CliResult {
    let grid = if is_plot3d(&input.mesh) {
        load(input)?
    } else {
        let grid = cgns::read_grid(&input.mesh).map_err(cli)?;
        grid.check().map_err(|e| CliError::input(format!("{}: {e}", input.mesh.display())))?;
        grid
    };
    if is_plot3d(output) {
        let map = chromaflow::files::without_compression(output).with_extension("nmf");
        chromaflow_flow::grid::write(output, &map, &grid, Plot3d::of(output)).map_err(cli)?;
    } else {
        cgns::write_grid(output, &grid, &[])?;
    }
    let points: usize = grid.blocks.iter().map(|b| b.nodes.len()).sum();
    if ctx.verbose() {
        let (blocks, interfaces) = (grid.blocks.len(), grid.interfaces.len());
        let [blocks, interfaces] = [counted(blocks, "block"), counted(interfaces, "interface")];
        println!("{}: {blocks}, {points} points, {interfaces}", output.display());
    }
    ctx.write_json(&json!({ "mesh": output, "blocks": grid.blocks.len(), "points": points }))?;
    Ok(Done::Success)
}

/// A sound grid.
pub fn load(input: &Input) -> CliResult<Grid> {
    read_joined(&input.mesh, map_of(input).as_deref(), &Plot3dOptions::default()).map_err(|error| match error
    {
        GridError::File(_) | GridError::Read(_) => cli(error),
        other => CliError::input(format!("{}: {other}", input.mesh.display())),
    })
}

/// Facts about a grid, sound or not.
pub fn info(input: &Input, ctx: &Context) -> CliResult {
    let (grid, map) = blocks(input).map_err(cli)?;
    let facts = grid.info();
    if ctx.verbose() {
        let points: usize = facts.iter().map(|b| b.points.iter().product::<usize>()).sum();
        println!(
            "format     PLOT3D, {}, {points} points, {} cells",
            counted(facts.len(), "block"),
            grid.cells()
        );
        println!("volume     {:.12e}", facts.iter().map(|b| b.volume).sum::<f64>());
        match &map {
            Some(map) => println!("map        {}", map.display()),
            None => println!(
                "map        none: faces that meet were found from the points (`chromaflow mesh nmf` writes them)"
            ),
        }
        println!(
            "\n{:>5} {:>18} {:>6}  {:>26}  {:>6} {:>8}",
            "block", "points", "turn", "cell volume", "bad", "blanked"
        );
        for (n, b) in facts.iter().enumerate() {
            let [i, j, k] = b.points;
            let turn = if b.right_handed { "right" } else { "left" };
            let [low, high] = b.cell_volume;
            let points = format!("{i} x {j} x {k}");
            println!(
                "{n:>5} {points:>18} {turn:>6}  {low:>11.4e} ... {high:>10.4e}  {:>6} {:>8}",
                b.bad, b.blanked
            );
        }
        println!();
        print_patches(&grid);
    }
    ctx.write_json(&json(&grid, &facts, map.as_deref()))?;
    Ok(Done::Success)
}

fn print_patches(grid: &Grid) {
    println!("{:<24} {:>6} {:>9}", "patch", "pieces", "faces");
    for name in grid.markers() {
        let windows: Vec<_> =
            grid.patches.iter().filter(|p| p.name == name).map(|p| p.window.faces()).collect();
        println!("{name:<24} {:>6} {:>9}", windows.len(), windows.iter().map(|[u, v]| u * v).sum::<usize>());
    }
    println!("{} interfaces", grid.interfaces.len());
}

fn json(grid: &Grid, facts: &[BlockInfo], map: Option<&Path>) -> Value {
    json!({
        "format": "PLOT3D",
        "map": map,
        "cells": grid.cells(),
        "interfaces": grid.interfaces.len(),
        "blocks": facts.iter().map(|b| json!({
            "points": b.points, "right_handed": b.right_handed, "volume": b.volume,
            "cell_volume": b.cell_volume, "bad_cells": b.bad, "first_bad": b.first_bad, "blanked": b.blanked,
        })).collect::<Vec<_>>(),
        "patches": grid.markers(),
    })
}

/// Whether a grid can be used.
pub fn check(input: &Input, ctx: &Context) -> CliResult {
    let (grid, map) = blocks(input).map_err(cli)?;
    let facts = grid.info();
    let bad: usize = facts.iter().map(|b| b.bad).sum();
    // Periodic rows have their translation only when read with the points.
    let result = if map.is_some() { load(input).map(|_| ()) } else { grid.check().map_err(cli) };
    ctx.write_json(&json!({
        "mesh": input.mesh, "errors": usize::from(result.is_err()), "bad_cells": bad,
        "findings": result.as_ref().err().map(ToString::to_string),
    }))?;
    result?;
    if ctx.verbose() {
        let blocks = counted(facts.len(), "block");
        println!("{}: {blocks}, {} cells, no errors", input.mesh.display(), grid.cells());
    }
    Ok(Done::Success)
}

/// Writes the map of a grid that has none.
pub fn nmf(path: &Path, output: Option<&Path>, ctx: &Context) -> CliResult {
    if !is_plot3d(path) {
        return Err(CliError::input(format!(
            "{} is no PLOT3D grid by its name: expected {PLOT3D_ENDINGS}",
            path.display()
        )));
    }
    let beside = || chromaflow::files::without_compression(path).with_extension("nmf");
    let output = output.map_or_else(beside, Path::to_owned);
    if output.exists() {
        return Err(CliError::input(format!("{} exists: give another name, or remove it", output.display())));
    }
    ensure_writable(&output)?;
    let grid = Grid::joined(read_plot3d(path, &Plot3dOptions::default()).map_err(cli)?);
    write_nmf(&output, &grid).map_err(cli)?;
    if ctx.verbose() {
        let interfaces = counted(grid.interfaces.len(), "interface");
        println!("{}: {}, {interfaces}", output.display(), counted(grid.blocks.len(), "block"));
        println!("\nNames stand for where faces lie: give each patch the name that your case uses.");
        for patch in &grid.patches {
            println!("  {:<20} {}{}", patch.name, patch.window, hint(&grid, patch));
        }
    }
    ctx.write_json(&json(&grid, &grid.info(), Some(&output)))?;
    Ok(Done::Success)
}

/// What a patch may be, by where its points lie.
fn hint(grid: &Grid, patch: &chromaflow_flow::grid::Patch) -> String {
    if [Planar::FRONT, Planar::BACK].contains(&patch.name.as_str()) {
        return "; the layer's own plane".into();
    }
    let block = &grid.blocks[patch.window.block];
    for (c, axis) in ["x", "y", "z"].iter().enumerate() {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for at in patch.window.nodes() {
            let x = block.node(at)[c];
            (low, high) = (low.min(x), high.max(x));
        }
        if high - low <= 1e-9 * (1.0 + low.abs()) {
            return format!("; in the plane {axis} = {low}: a plane of symmetry, an inlet, an outlet?");
        }
    }
    "; curved: a wall or the far field?".into()
}

/// Moves the points of a grid; its map stays what it is.
pub fn transform(path: &Path, output: &Path, map: &Affine, ctx: &Context) -> CliResult {
    if !is_plot3d(output) {
        return Err(CliError::input(format!(
            "a PLOT3D grid is transformed into a PLOT3D grid, not {}: convert it first",
            output.display()
        )));
    }
    let mut blocks = read_plot3d(path, &Plot3dOptions::default()).map_err(cli)?;
    for block in &mut blocks {
        block.nodes.iter_mut().for_each(|x| *x = map.of(*x));
    }
    write_plot3d(output, &blocks, Plot3d::of(output)).map_err(cli)?;
    let points: usize = blocks.iter().map(|b| b.nodes.len()).sum();
    if ctx.verbose() {
        println!("{}: {}, {points} points", output.display(), counted(blocks.len(), "block"));
    }
    ctx.write_json(&json!({ "mesh": output, "blocks": blocks.len(), "points": points }))?;
    Ok(Done::Success)
}
