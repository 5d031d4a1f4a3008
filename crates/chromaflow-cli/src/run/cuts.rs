//! Cp along cuts through the walls, as CSV.

use crate::case::Cut;
use crate::error::{CliError, CliResult};
use chromaflow::files::{AtomicFile, FileError};
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{CutPoint, wall_cut, wall_points};
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

/// Cp along the cuts that a case asks for, by name; on planar meshes at all wall nodes, too. Cuts that meet no wall are left out.
/// `lift_axis` is 1 on planar meshes and 2 on others unless given.
pub fn of_walls(
    mesh: &Mesh,
    is_wall: impl Fn(&str) -> bool + Copy,
    cp: &[f64],
    cuts: &[Cut],
    lift_axis: Option<usize>,
) -> Vec<(String, Vec<CutPoint>)> {
    let up = lift_axis.unwrap_or(if mesh.planar.is_some() { 1 } else { 2 });
    let cut = |cut: &Cut| {
        let name = format!("cut_{}_{}", cut.axis.letter(), cut.at);
        (name, wall_cut(mesh, is_wall, cp, (cut.axis.index(), cut.at), up))
    };
    let mut all: Vec<_> = cuts.iter().map(cut).collect();
    if mesh.planar.is_some() {
        all.push(("cut_wall".to_owned(), wall_points(mesh, is_wall, cp, up)));
    }
    all.retain(|(_, points)| !points.is_empty());
    all
}

const HEADER: &str = "x,y,z,cp,side";

/// Writes the points of a cut; `side` is 1 for the upper side of a body, -1 for the lower.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, points: &[CutPoint]) -> CliResult<()> {
    let mut text = format!("{HEADER}\n");
    for CutPoint { position: [x, y, z], value, side } in points {
        let _ = writeln!(text, "{x},{y},{z},{value},{side}");
    }
    let mut file = AtomicFile::create(path)?;
    file.write_all(text.as_bytes()).map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(file.commit()?)
}

/// Reads a cut.
///
/// # Errors
/// Status 2 with the line that is not one of a cut.
pub fn read(path: &Path) -> CliResult<Vec<CutPoint>> {
    let text = std::fs::read_to_string(path).map_err(|e| FileError::new("cannot read", path, e))?;
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(CliError::input(format!("{} is not a cut of a run", path.display())));
    }
    let parse = |line: &str| -> Option<CutPoint> {
        let v: Vec<f64> = line.split(',').map(|c| c.parse().ok()).collect::<Option<_>>()?;
        let [x, y, z, value, side] = v[..] else { return None };
        Some(CutPoint { position: [x, y, z], value, side: side as i8 })
    };
    let bad = |i: usize| CliError::input(format!("{}:{}: not a row of a cut", path.display(), i + 2));
    lines.enumerate().map(|(i, line)| parse(line).ok_or_else(|| bad(i))).collect()
}
