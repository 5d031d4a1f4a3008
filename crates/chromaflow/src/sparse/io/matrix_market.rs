//! Matrix Market files.

use super::error::Located;
use super::scalar::for_entries;
use super::{Fault, Place, ScalarCsr};
use crate::BlockCsr;
use std::io::{BufRead, Read, Write};

/// Longer lines are no Matrix Market.
const LONGEST_LINE: u64 = 1 << 16;
/// Rows that a file with fewer entries may have.
const FREE_ROWS: usize = 1 << 20;
/// Entries for which memory is set aside on the word of the header.
const TRUSTED: usize = 1 << 20;

/// Lines with their numbers.
struct Lines<'a> {
    input: &'a mut dyn BufRead,
    text: Vec<u8>,
    number: u64,
}

impl<'a> Lines<'a> {
    fn new(input: &'a mut dyn BufRead) -> Self {
        Self { input, text: Vec::new(), number: 0 }
    }

    fn here(&self) -> Place {
        Place::Line(self.number)
    }

    /// The next line, without the space around it; `None` at the end.
    fn next(&mut self) -> Result<Option<&str>, Located> {
        self.text.clear();
        self.number += 1;
        let place = Place::Line(self.number);
        let read = (&mut *self.input).take(LONGEST_LINE).read_until(b'\n', &mut self.text);
        if read.map_err(|e| place.fault(e.into()))? == 0 {
            return Ok(None);
        }
        if self.text.len() as u64 == LONGEST_LINE && self.text.last() != Some(&b'\n') {
            return Err(place.fault(Fault::expected("a line of text", "an endless line")));
        }
        match std::str::from_utf8(&self.text) {
            Ok(line) => Ok(Some(line.trim())),
            Err(_) if self.text.starts_with(b"%") => Ok(Some("%")), // names in comments may have any encoding
            Err(_) => Err(place.fault(Fault::expected("a line of text", "binary data"))),
        }
    }

    /// The next line that is neither empty nor a comment.
    fn next_data(&mut self) -> Result<Option<&str>, Located> {
        loop {
            // A second look at the buffer, because the borrow checker does not see that this one ends.
            match self.next()? {
                None => return Ok(None),
                Some(line) if line.is_empty() || line.starts_with('%') => {}
                Some(_) => break,
            }
        }
        Ok(Some(std::str::from_utf8(&self.text).expect("checked above").trim()))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Coordinate,
    Array,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

struct Header {
    layout: Layout,
    pattern: bool,
    symmetry: Symmetry,
    /// From a comment `% block size N`.
    block_size: Option<usize>,
    /// The numbers of the size line.
    sizes: Vec<usize>,
}

fn read_header(lines: &mut Lines<'_>) -> Result<Header, Located> {
    let first = lines.next()?.unwrap_or_default().to_ascii_lowercase();
    let words: Vec<&str> = first.split_whitespace().collect();
    let place = lines.here();
    let bad = |expected, found: &str| Err(place.fault(Fault::expected(expected, found)));
    let [banner, object, layout, field, symmetry] = words[..] else {
        return bad(
            "%%MatrixMarket matrix coordinate|array real|integer|pattern general|symmetric|skew-symmetric",
            &first,
        );
    };
    if banner != "%%matrixmarket" || object != "matrix" {
        return bad("%%MatrixMarket matrix", &first);
    }
    let layout = match layout {
        "coordinate" => Layout::Coordinate,
        "array" => Layout::Array,
        other => return bad("coordinate or array", other),
    };
    let pattern = match field {
        "real" | "integer" | "double" => false,
        "pattern" if layout == Layout::Coordinate => true,
        "complex" => {
            let remedy = "split the system into real and imaginary parts";
            return Err(place.fault(Fault::Unsupported { what: "a complex matrix".into(), remedy }));
        }
        other => return bad("real, integer or pattern", other),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" | "hermitian" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::Skew,
        other => return bad("general, symmetric or skew-symmetric", other),
    };
    let mut block_size = None;
    let sizes = loop {
        let Some(line) = lines.next()? else {
            return Err(lines.here().fault(Fault::Truncated { what: "size lines", found: 0, expected: 1 }));
        };
        if let Some(comment) = line.strip_prefix('%') {
            let hint = comment.trim_start().strip_prefix("block size").map(str::trim_start);
            let digits = hint.map(|h| h.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default());
            block_size = digits.and_then(|d| d.parse().ok()).or(block_size);
        } else if !line.is_empty() {
            break line.to_owned();
        }
    };
    let numbers: Option<Vec<usize>> = sizes.split_whitespace().map(|w| w.parse().ok()).collect();
    let expected = if layout == Layout::Coordinate { 3 } else { 2 };
    match numbers {
        Some(sizes) if sizes.len() == expected => Ok(Header { layout, pattern, symmetry, block_size, sizes }),
        _ if expected == 3 => Err(lines.here().fault(Fault::expected("rows, columns and entries", &sizes))),
        _ => Err(lines.here().fault(Fault::expected("rows and columns", &sizes))),
    }
}

/// The matrix and the block size that a comment names.
pub(super) fn read_matrix(input: &mut dyn BufRead) -> Result<(ScalarCsr, Option<usize>), Located> {
    let mut lines = Lines::new(input);
    let header = read_header(&mut lines)?;
    let place = lines.here();
    if header.layout == Layout::Array {
        let what = "a dense matrix (array)".into();
        return Err(place.fault(Fault::Unsupported { what, remedy: "write it in coordinate form" }));
    }
    let (rows, cols, nnz) = (header.sizes[0], header.sizes[1], header.sizes[2]);
    for (what, count) in [("rows", rows), ("columns", cols), ("entries", nnz)] {
        if u32::try_from(count).is_err() {
            return Err(place.fault(Fault::TooLarge { what, count: count as u64 }));
        }
    }
    if rows.max(cols) > nnz.max(FREE_ROWS) {
        return Err(place.fault(Fault::TooSparse { rows, cols, nnz }));
    }
    let mirrored = header.symmetry != Symmetry::General;
    let mut entries: Vec<(u32, u32, f64)> = Vec::with_capacity(nnz.min(TRUSTED));
    // Where entries stand in a row: the first of them and its line.
    let mut runs: Vec<(usize, u64)> = Vec::new();
    for found in 0..nnz {
        let line = match lines.next_data() {
            Ok(Some(line)) => line,
            Ok(None) => {
                let place = lines.here();
                return Err(place.fault(Fault::Truncated { what: "entries", found, expected: nnz }));
            }
            Err(e) => return Err(e),
        };
        match parse_entry(line, &header, rows, cols) {
            Ok((row, col, value)) => {
                let line = lines.number;
                if runs.last().is_none_or(|&(first, start)| start + (found - first) as u64 != line) {
                    runs.push((found, line));
                }
                entries.push((row, col, value));
                if mirrored && row != col {
                    entries.push((col, row, if header.symmetry == Symmetry::Skew { -value } else { value }));
                }
            }
            Err(fault) => return Err(lines.here().fault(fault)),
        }
    }
    if lines.next_data()?.is_some() {
        return Err(lines.here().fault(Fault::TooMany { expected: nnz }));
    }
    if rows.max(cols) > entries.len().max(FREE_ROWS) {
        return Err(place.fault(Fault::TooSparse { rows, cols, nnz }));
    }
    let matrix = ScalarCsr::from_entries(rows, cols, &entries)
        .map_err(|fault| located(fault, &entries, mirrored, &runs))?;
    Ok((matrix, header.block_size))
}

/// An entry that is given twice has two lines.
fn located(fault: Fault, entries: &[(u32, u32, f64)], mirrored: bool, runs: &[(usize, u64)]) -> Located {
    let Fault::Duplicate { row, col, .. } = fault else { return Place::File.fault(fault) };
    let (mut places, mut at, mut found) = (Vec::new(), 0, 0);
    while let Some(&(r, c, _)) = entries.get(at) {
        let here = (r as usize + 1, c as usize + 1);
        let both = mirrored && r != c;
        if here == (row, col) || both && here == (col, row) {
            let (first, line) = runs[runs.partition_point(|run| run.0 <= found) - 1];
            places.push(line + (found - first) as u64);
        }
        at += 1 + usize::from(both); // its image comes after it
        found += 1;
    }
    match places[..] {
        [first, second, ..] => Place::Line(second).fault(Fault::Duplicate { row, col, first: Some(first) }),
        _ => Place::File.fault(fault),
    }
}

/// An entry, from 0.
fn parse_entry(line: &str, header: &Header, rows: usize, cols: usize) -> Result<(u32, u32, f64), Fault> {
    let mut words = line.split_ascii_whitespace();
    let mut index = || words.next().and_then(|w| w.parse::<i64>().ok());
    let (Some(row), Some(col)) = (index(), index()) else {
        return Err(Fault::expected("a row and a column number", line));
    };
    if !(1..=rows as i64).contains(&row) || !(1..=cols as i64).contains(&col) {
        return Err(Fault::Index { row, col, rows, cols });
    }
    let value = if header.pattern { 1.0 } else { parse_number(words.next().unwrap_or_default(), line)? };
    if words.next().is_some() {
        return Err(Fault::expected("row, column and value, nothing else", line));
    }
    let (row, col) = (row as usize, col as usize);
    if !value.is_finite() {
        return Err(Fault::NotFinite { row, col, value });
    }
    Ok((row as u32 - 1, col as u32 - 1, value))
}

/// A number, also with Fortran's exponent letter D.
fn parse_number(word: &str, line: &str) -> Result<f64, Fault> {
    let fault = || Fault::expected("a number", if word.is_empty() { line } else { word });
    if let Ok(value) = word.parse() {
        return Ok(value);
    }
    word.replace(['d', 'D'], "e").parse().map_err(|_| fault())
}

pub(super) fn read_vector(input: &mut dyn BufRead) -> Result<Vec<f64>, Located> {
    let mut lines = Lines::new(input);
    let header = read_header(&mut lines)?;
    let place = lines.here();
    let len = header.sizes[0];
    if header.sizes[1] != 1 || header.layout != Layout::Array {
        let what = "this as a vector".to_owned();
        let remedy = "a vector is `matrix array real general` with one column";
        return Err(place.fault(Fault::Unsupported { what, remedy }));
    }
    let mut values = Vec::with_capacity(len.min(TRUSTED));
    while let Some(line) = lines.next_data()? {
        if values.len() == len {
            return Err(lines.here().fault(Fault::TooMany { expected: len }));
        }
        let parsed = parse_number(line, line);
        let value = parsed.map_err(|fault| Place::Line(lines.number).fault(fault))?;
        if !value.is_finite() {
            let fault = Fault::NotFinite { row: values.len() + 1, col: 1, value };
            return Err(lines.here().fault(fault));
        }
        values.push(value);
    }
    if values.len() < len {
        let fault = Fault::Truncated { what: "entries", found: values.len(), expected: len };
        return Err(lines.here().fault(fault));
    }
    Ok(values)
}

pub(super) fn write_matrix(out: &mut dyn Write, matrix: &BlockCsr) -> std::io::Result<()> {
    let (pattern, nb) = (matrix.pattern(), matrix.nb());
    writeln!(out, "%%MatrixMarket matrix coordinate real general")?;
    writeln!(out, "% block size {nb} (all entries of a block are written, zeros too)")?;
    writeln!(out, "{} {} {}", pattern.rows() * nb, pattern.cols() * nb, pattern.nnzb() * nb * nb)?;
    for_entries(matrix, |row, col, value| writeln!(out, "{} {} {value:e}", row + 1, col + 1))
}

pub(super) fn write_vector(out: &mut dyn Write, values: &[f64]) -> std::io::Result<()> {
    writeln!(out, "%%MatrixMarket matrix array real general")?;
    writeln!(out, "{} 1", values.len())?;
    values.iter().try_for_each(|v| writeln!(out, "{v:e}"))
}
