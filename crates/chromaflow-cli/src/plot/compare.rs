//! Values of an experiment or another program, to be drawn beside a cut.

use super::tecplot;
use crate::error::{CliError, CliResult};
use chromaflow::files::FileError;
use std::io::Read;
use std::path::Path;

/// Columns of the place and of the pressure coefficient, and the sign of the latter.
fn columns(names: &[String]) -> Option<([usize; 2], f64)> {
    let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
    let cp = find(&["cp", "c_p", "-cp", "-c_p"])?;
    let x = find(&["x", "x/c", "x/l"])?;
    Some(([x, cp], if names[cp].starts_with('-') { -1.0 } else { 1.0 }))
}

/// The pairs of one zone of a file of Tecplot's: the one whose title has `zone` in it, the only one where nothing is said.
fn of_tecplot(path: &Path, text: &str, zone: Option<&str>) -> CliResult<Vec<(f64, f64)>> {
    let bad = |line: usize, what: &str| CliError::input(format!("{}:{line}: {what}", path.display()));
    let found = tecplot::read(text).map_err(|(line, what)| bad(line, &what))?;
    let Some((columns, sign)) = columns(&found.names) else {
        let names = found.names.join(", ");
        return Err(CliError::input(format!(
            "{}: expected variables named x (or x/c, x/l) and cp (or -cp), found {names}",
            path.display()
        )));
    };
    let titles = || found.zones.iter().map(|z| format!("  {}", z.title)).collect::<Vec<_>>().join("\n");
    let chosen: Vec<_> =
        found.zones.iter().filter(|z| zone.is_none_or(|part| z.title.contains(part))).collect();
    let [chosen] = chosen[..] else {
        return Err(CliError::input(format!(
            "{} has {} zones{}: name one by a part of its title with --zone\n{}",
            path.display(),
            chosen.len(),
            zone.map_or(String::new(), |part| format!(" whose titles have {part:?} in them")),
            titles()
        )));
    };
    let points: CliResult<Vec<_>> = chosen
        .rows
        .iter()
        .map(|(line, row)| match columns.map(|column| row.get(column)) {
            [Some(x), Some(cp)] => Ok((*x, sign * cp)),
            _ => Err(bad(*line, "fewer numbers than variables")),
        })
        .collect();
    points
}

/// Reads pairs of place and pressure coefficient. Columns are found by their names (`x`, `x/c` or `x/l`; `cp`, or `-cp`, which is
/// turned round); without names they are the first two. Cells are parted by commas, semicolons or blanks; `#` begins a comment.
/// Of a text file of Tecplot's it is the zone whose title has `zone` in it.
///
/// # Errors
/// Status 2 with the line that has no such numbers, or the zones that there are.
pub fn read(path: &Path, zone: Option<&str>) -> CliResult<Vec<(f64, f64)>> {
    let mut text = String::new();
    let mut file = chromaflow::files::open(path)?;
    file.read_to_string(&mut text).map_err(|e| FileError::new("cannot read", path, e))?;
    let none = || CliError::input(format!("{} has no rows to compare with", path.display()));
    if tecplot::is_tecplot(&text) {
        return of_tecplot(path, &text, zone).and_then(|p| if p.is_empty() { Err(none()) } else { Ok(p) });
    }
    if zone.is_some() {
        return Err(CliError::input(format!("{} is no file of Tecplot's: it has no zones", path.display())));
    }
    let lines =
        text.lines().enumerate().map(|(i, line)| (i + 1, line.split('#').next().unwrap_or_default().trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty()).peekable();
    let cells = |line: &str| -> Vec<String> {
        let parts =
            line.split([',', ';', ' ', '\t']).map(|cell| cell.trim().trim_matches('"').to_ascii_lowercase());
        parts.filter(|cell| !cell.is_empty()).collect()
    };
    let bad = |line: usize, what: &str| CliError::input(format!("{}:{line}: {what}", path.display()));
    let (mut at, mut sign) = ([0, 1], 1.0);
    if let Some(&(number, first)) = lines.peek()
        && cells(first).iter().any(|cell| cell.parse::<f64>().is_err())
    {
        lines.next();
        let Some(found) = columns(&cells(first)) else {
            return Err(bad(number, "expected columns named x (or x/c) and cp (or -cp)"));
        };
        (at, sign) = found;
    }
    let points: CliResult<Vec<_>> = lines
        .map(|(number, line)| {
            let cells = cells(line);
            let value = |column: usize| cells.get(column).and_then(|cell| cell.parse::<f64>().ok());
            match at.map(value) {
                [Some(x), Some(cp)] => Ok((x, sign * cp)),
                _ => Err(bad(number, "expected two numbers, x and cp")),
            }
        })
        .collect();
    let points = points?;
    if points.is_empty() {
        return Err(none());
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<(f64, f64)>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path(), None).map_err(|e| e.to_string())
    }

    #[test]
    fn columns_are_found_by_name_or_by_place() {
        let expected = Ok(vec![(0.0, 1.0), (0.5, -0.25)]);
        assert_eq!(of("# experiment\n0 1\n0.5\t-0.25\n"), expected);
        assert_eq!(of("y,x/c,-Cp\n9,0,-1\n9,0.5,0.25\n"), expected);
        assert!(of("x,y\n0,1\n").unwrap_err().contains(":1: expected columns"));
        assert!(of("x,cp\n0,1\n0.5\n").unwrap_err().contains(":3: expected two numbers"));
        assert!(of("x,cp\n").unwrap_err().contains("no rows"));
    }

    #[test]
    fn zones_of_tecplot_are_found_by_their_titles() {
        let text = "TITLE = \"wing\"\nVARIABLES = \"Section\", \"X/L\"\n\"CP\"\n\
                    ZONE T=\", N= 7, Section 1\", I=  2, F=POINT\n 1 0.0 1.0\n 1 0.5 -0.25\n\
                    ZONE T=\"Section 2\"\n N=1, E=1, F=FEPOINT\n 2 0.1 0.3E+00\n 1 1 1\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let of = |zone| read(file.path(), zone).map_err(|e| e.to_string());
        assert_eq!(of(Some("Section 1")), Ok(vec![(0.0, 1.0), (0.5, -0.25)]));
        assert_eq!(of(Some("Section 2")), Ok(vec![(0.1, 0.3)]), "elements are no points");
        let error = of(None).unwrap_err();
        assert!(error.contains("2 zones") && error.contains("Section 2"), "{error}");
        assert!(of(Some("Section 3")).unwrap_err().contains("0 zones"));
        std::fs::write(file.path(), text.replace("F=POINT", "F=BLOCK")).unwrap();
        assert!(
            read(file.path(), Some("1")).unwrap_err().to_string().contains(":4: a zone of the form BLOCK")
        );
        std::fs::write(file.path(), "VARIABLES = x cp\n0 1\n").unwrap();
        assert_eq!(read(file.path(), None).unwrap(), [(0.0, 1.0)]);
    }

    #[test]
    fn the_measured_wing_is_read() {
        let Some(path) = chromaflow_testkit::data("reference/onera_m6_exp_case2308.dat.xz") else { return };
        assert_eq!(read(&path, Some("Section 5")).unwrap().len(), 45);
        assert!(read(&path, None).unwrap_err().to_string().contains("7 zones"));
    }
}
