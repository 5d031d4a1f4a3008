//! PLOT3D as text, by the rules of Fortran's list-directed input: any line breaks, commas, repeat counts (`2*0.5`).

use super::plot3d::{Dimensions, MOST_BLOCKS};
use crate::MeshError;
use crate::grid::Block;
use crate::parse::text::{self, Lines, Words, show};
use std::path::Path;

/// Numbers of a text file, one after another.
struct Numbers {
    lines: Lines,
    /// Where the rest of the line begins.
    at: usize,
    value: f64,
    repeat: u64,
}

impl Numbers {
    /// The next number; `None` at the end of the file.
    fn next(&mut self) -> Result<Option<f64>, MeshError> {
        while self.repeat == 0 {
            let line = self.lines.text();
            let mut words = Words(&line[self.at.min(line.len())..]);
            let Some(word) = words.next() else {
                if !self.lines.advance()? {
                    return Ok(None);
                }
                self.at = 0;
                continue;
            };
            self.at = line.len() - words.0.len();
            let star = word.iter().position(|&b| b == b'*');
            let (repeat, number) = match star {
                Some(n) => (text::natural(&word[..n]), &word[n + 1..]),
                None => (Some(1), word),
            };
            let (Some(repeat), Some(value)) = (repeat, text::real(number)) else {
                let message = format!("expected a number, found {:?}", show(word));
                return Err(self.lines.error(message));
            };
            (self.repeat, self.value) = (repeat, value);
        }
        self.repeat -= 1;
        Ok(Some(self.value))
    }

    fn natural(&mut self, what: &str) -> Result<u64, MeshError> {
        let Some(x) = self.next()? else {
            return Err(self.lines.error(format!("the file ends inside {what}: it is cut short")));
        };
        if x >= 0.0 && x.fract() == 0.0 && x < 1e15 {
            return Ok(x as u64);
        }
        Err(self.lines.error(format!("expected {what}, a natural number, found {x}")))
    }
}

/// Numbers on a line, repeats counted.
fn numbers_on(line: &[u8]) -> u64 {
    Words(line)
        .map(|word| {
            let star = word.iter().position(|&b| b == b'*');
            star.and_then(|n| text::natural(&word[..n])).unwrap_or(1)
        })
        .fold(0, u64::saturating_add)
}

pub(super) fn read(path: &Path, planar: Option<bool>) -> Result<Vec<Block>, MeshError> {
    let mut numbers = Numbers { lines: Lines::open(path)?, at: 0, value: 0.0, repeat: 0 };
    // The first line is a number of blocks, or already the one block's points.
    let first = loop {
        if !numbers.lines.advance()? {
            return Err(numbers.lines.error("the file is empty"));
        }
        match numbers_on(numbers.lines.text()) {
            0 => {}
            n => break n,
        }
    };
    let mut header = Vec::new();
    let (count, each) = match first {
        2 if planar != Some(false) => (1, 2),
        3 => (1, 3),
        _ => {
            let count = numbers.natural("the number of blocks")?;
            if count == 0 || count > MOST_BLOCKS {
                return Err(numbers.lines.error(format!("{count} blocks: expected 1 to {MOST_BLOCKS}")));
            }
            header.push(numbers.natural("the points of block 0")?);
            // Two or three numbers a block: as many as the line of the first block has, all on it or block by block.
            let on_line = if first == 1 { numbers_on(numbers.lines.text()) } else { first - 1 };
            let guess = if on_line == 2 || (on_line == 2 * count && on_line % 3 != 0) { 2 } else { 3 };
            (count, planar.map_or(guess, |planar| if planar { 2 } else { 3 }))
        }
    };
    while (header.len() as u64) < count * each {
        let what = format!("the points of block {}", header.len() as u64 / each);
        header.push(numbers.natural(&what)?);
    }
    let size = Dimensions::new(&header, each as usize).map_err(|what| numbers.lines.error(what))?;

    let (points, coordinates) = (size.points(), size.coordinates() as u64);
    let most = points * (coordinates + 1);
    let mut values = Vec::new();
    while let Some(x) = numbers.next()? {
        if values.len() as u64 == most {
            let what = format!(
                "more than {coordinates} coordinates and IBLANK for each of {points} points: is it another kind of file?"
            );
            return Err(numbers.lines.error(what));
        }
        values.push(x);
    }
    let with_blank = values.len() as u64 == most;
    if !with_blank && values.len() as u64 != points * coordinates {
        let what = format!(
            "{} numbers for {points} points: expected {} ({coordinates} coordinates), or {most} with IBLANK; the file is \
             cut short or of another kind",
            values.len(),
            points * coordinates
        );
        return Err(numbers.lines.error(what));
    }
    let mut rest = &values[..];
    Ok((0..size.blocks.len())
        .map(|b| {
            let n = size.blocks[b].iter().product::<usize>();
            let (xyz, after) = rest.split_at(n * coordinates as usize);
            let (blank, after) = after.split_at(if with_blank { n } else { 0 });
            rest = after;
            size.block(b, xyz, blank.iter().map(|&x| x as i32).collect())
        })
        .collect())
}
