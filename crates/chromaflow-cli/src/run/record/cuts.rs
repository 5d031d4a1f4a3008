//! Cp along cuts through the walls, as CSV.

use crate::case::Cut;
use crate::context::write_whole;
use crate::error::{CliError, CliResult};
use crate::numbers::Cell;
use chromaflow::files::FileError;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{Curve, CutPoint, wall_cut, wall_points};
use std::fmt::Write as _;
use std::path::Path;

/// The name of a cut's files.
pub fn name(cut: &Cut) -> String {
    format!("cut_{}_{}", cut.axis.letter(), cut.at)
}

/// Cp along the cuts that a case asks for, by name; on planar meshes at all wall nodes, too. Cuts that meet no wall are left out.
/// `lift_axis` is 1 on planar meshes and 2 on others unless given.
pub fn of_walls(
    mesh: &Mesh,
    is_wall: impl Fn(&str) -> bool + Copy,
    cp: &[f64],
    cuts: &[Cut],
    lift_axis: Option<usize>,
) -> Vec<(String, Vec<Curve>)> {
    let up = lift_axis.unwrap_or(if mesh.planar.is_some() { 1 } else { 2 });
    let cut = |cut: &Cut| (name(cut), wall_cut(mesh, is_wall, cp, (cut.axis.index(), cut.at), up));
    let mut all: Vec<_> = cuts.iter().map(cut).collect();
    if mesh.planar.is_some() {
        all.push(("cut_wall".to_owned(), wall_points(mesh, is_wall, cp, up)));
    }
    all.retain(|(_, curves)| !curves.is_empty());
    all
}

const HEADER: &str = "x,y,z,cp,side,curve,marker";

/// Writes the curves of a cut, point after point; `side` is 1 for the upper side of a body, -1 for the lower, `curve` counts
/// the curves from 0.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, curves: &[Curve]) -> CliResult<()> {
    let mut text = format!("{HEADER}\n");
    for (number, Curve { marker, side, points }) in curves.iter().enumerate() {
        for CutPoint { position: [x, y, z], value } in points {
            let [x, y, z, value] = [*x, *y, *z, *value].map(Cell);
            let _ = writeln!(text, "{x},{y},{z},{value},{side},{number},{marker}");
        }
    }
    write_whole(path, text.as_bytes())
}

/// Reads a cut.
///
/// # Errors
/// Status 2 with the line that is not one of a cut.
pub fn read(path: &Path) -> CliResult<Vec<Curve>> {
    let text = std::fs::read_to_string(path).map_err(|e| FileError::new("cannot read", path, e))?;
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(CliError::input(format!(
            "{} is not a cut of a run: its first line is not {HEADER}",
            path.display()
        )));
    }
    let mut curves: Vec<Curve> = Vec::new();
    for (i, line) in lines.enumerate() {
        let mut parse = || -> Option<()> {
            let cells: Vec<&str> = line.splitn(7, ',').collect();
            let [x, y, z, value, side, number, marker] = cells[..] else { return None };
            if number.parse() != Ok(curves.len().wrapping_sub(1)) {
                let marker = marker.to_owned();
                (number.parse() == Ok(curves.len())).then_some(())?;
                curves.push(Curve { marker, side: side.parse().ok()?, points: Vec::new() });
            }
            let position = [x.parse().ok()?, y.parse().ok()?, z.parse().ok()?];
            curves.last_mut()?.points.push(CutPoint { position, value: value.parse().ok()? });
            Some(())
        };
        let bad = || CliError::input(format!("{}:{}: not a row of a cut", path.display(), i + 2));
        parse().ok_or_else(bad)?;
    }
    Ok(curves)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_read_back_exactly() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cut_y_0.csv");
        let point = |x: f64| CutPoint { position: [x, 0.1 + 0.2, -1e-17], value: 1.0 / 3.0 };
        let curve =
            |marker: &str, side| Curve { marker: marker.into(), side, points: vec![point(0.0), point(1.0)] };
        let curves = vec![curve("wing, left", 1), curve("wing, left", -1), curve("flap", 1)];
        write(&path, &curves).unwrap();
        assert_eq!(read(&path).unwrap(), curves);
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(",1,2,flap", ",1,7,flap")).unwrap();
        let error = read(&path).unwrap_err();
        assert!(error.to_string().ends_with("cut_y_0.csv:6: not a row of a cut"), "{error}");
    }
}
