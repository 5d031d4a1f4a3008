//! Values of an experiment or another program, to be drawn beside a cut.

use crate::error::{CliError, CliResult};
use chromaflow::files::FileError;
use std::path::Path;

/// Reads pairs of place and pressure coefficient. Columns are found by their names (`x` or `x/c`; `cp`, or `-cp`, which is turned
/// round); without names they are the first two. Cells are parted by commas, semicolons or blanks; `#` begins a comment.
///
/// # Errors
/// Status 2 with the line that has no such numbers.
pub fn read(path: &Path) -> CliResult<Vec<(f64, f64)>> {
    let text = std::fs::read_to_string(path).map_err(|e| FileError::new("cannot read", path, e))?;
    let lines =
        text.lines().enumerate().map(|(i, line)| (i + 1, line.split('#').next().unwrap_or_default().trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty()).peekable();
    let cells = |line: &str| -> Vec<String> {
        let parts =
            line.split([',', ';', ' ', '\t']).map(|cell| cell.trim().trim_matches('"').to_ascii_lowercase());
        parts.filter(|cell| !cell.is_empty()).collect()
    };
    let bad = |line: usize, what: &str| CliError::input(format!("{}:{line}: {what}", path.display()));
    let (mut columns, mut sign) = ([0, 1], 1.0);
    if let Some(&(number, first)) = lines.peek()
        && cells(first).iter().any(|cell| cell.parse::<f64>().is_err())
    {
        lines.next();
        let names = cells(first);
        let find = |known: &[&str]| names.iter().position(|name| known.contains(&name.as_str()));
        let cp = find(&["cp", "c_p", "-cp", "-c_p"]);
        let (Some(x), Some(cp)) = (find(&["x", "x/c"]), cp) else {
            return Err(bad(number, "expected columns named x (or x/c) and cp (or -cp)"));
        };
        (columns, sign) = ([x, cp], if names[cp].starts_with('-') { -1.0 } else { 1.0 });
    }
    let points: CliResult<Vec<_>> = lines
        .map(|(number, line)| {
            let cells = cells(line);
            let value = |column: usize| cells.get(column).and_then(|cell| cell.parse::<f64>().ok());
            match columns.map(value) {
                [Some(x), Some(cp)] => Ok((x, sign * cp)),
                _ => Err(bad(number, "expected two numbers, x and cp")),
            }
        })
        .collect();
    let points = points?;
    if points.is_empty() {
        return Err(CliError::input(format!("{} has no rows to compare with", path.display())));
    }
    Ok(points)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vec<(f64, f64)>, String> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        read(file.path()).map_err(|e| e.to_string())
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
}
