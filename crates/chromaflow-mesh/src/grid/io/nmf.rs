//! Neutral map files: which pieces of block faces are boundary, and which meet.
//!
//! A face is numbered 1, 2 for k low and high, 3, 4 for i, 5, 6 for j; a piece of it is two ranges of points, S1 to E1 and
//! S2 to E2, along the other two axes in cyclic order (i, j on faces 1 and 2; j, k on 3 and 4; k, i on 5 and 6). The first
//! points of the two sides of a one-to-one row are the same point, and so on along each range; the last word says whether
//! the first range of one side is the second of the other.
//!
//! **Source**: NASA Langley GEOLAB, *V2k Neutral Map File* documentation (nmf_documentation.html).

use crate::MeshError;
use crate::grid::{Grid, GridError, IndexMap, Interface, Patch, Side, Window};
use crate::parse::text::{Lines, Words, show};
use crate::periodic::Motion;
use chromaflow::files::{AtomicFile, FileError};
use std::io::{self, Write};
use std::path::Path;

/// Marks what is to be found from the points.
const UNKNOWN: Motion = Motion::Translation([f64::NAN; 3]);

/// Reads a neutral map file: the blocks' numbers of points, and a grid with patches and interfaces but no blocks. Blocks
/// are numbered by their order. Rows of the type `periodic` are read as one-to-one; what carries one side to the other is found
/// when the points are there, see [`crate::grid::read`].
///
/// # Errors
/// With the line.
pub fn read_nmf(path: &Path) -> Result<(Vec<[usize; 3]>, Grid), GridError> {
    let mut lines = Lines::open(path)?;
    let mut dimensions = Vec::new();
    let mut blocks = None;
    let mut grid = Grid::default();
    while lines.advance()? {
        let line = lines.text();
        let line = &line[..line.iter().position(|&b| b == b'#').unwrap_or(line.len())];
        let mut line = line.trim_ascii();
        if let Some(rest) = line.strip_suffix(b"\\") {
            line = rest.trim_ascii();
        }
        if line.is_empty() {
            continue;
        }
        let mut words = Words(line);
        let Some(count) = blocks else {
            let n = words.natural("the number of blocks").map_err(|e| lines.error(e))?;
            if n == 0 || n > 1 << 20 {
                return Err(lines.error(format!("{n} blocks: expected 1 to {}", 1 << 20)).into());
            }
            blocks = Some(n as usize);
            continue;
        };
        if dimensions.len() < count {
            dimensions.push(points(&mut words).map_err(|e| lines.error(e))?);
            continue;
        }
        row(&mut words, &dimensions, &mut grid).map_err(|e| lines.error(e))?;
    }
    if blocks.is_none_or(|n| dimensions.len() < n) {
        return Err(lines
            .error("the file ends before the blocks' numbers of points: it is cut short")
            .into());
    }
    Ok((dimensions, grid))
}

fn points(words: &mut Words<'_>) -> Result<[usize; 3], String> {
    words.natural("the block's number")?;
    let mut points = [0; 3];
    for (n, name) in points.iter_mut().zip(["IDIM", "JDIM", "KDIM"]) {
        *n = words.index(name)? as usize;
        if *n < 2 {
            return Err(format!("{name} is {n}: expected at least 2"));
        }
    }
    Ok(points)
}

/// One side of a row: its window, and the first and last point of each range.
fn side(words: &mut Words<'_>, dimensions: &[[usize; 3]]) -> Result<(Window, [[usize; 2]; 2]), String> {
    let block = words.natural("the block")?;
    let number = usize::try_from(block).ok().filter(|b| (1..=dimensions.len()).contains(b));
    let Some(number) = number else {
        return Err(format!("block {block}: expected 1 to {}", dimensions.len()));
    };
    let points = dimensions[number - 1];
    let face = words.natural("the face")?;
    if !(1..=6).contains(&face) {
        return Err(format!("face {face}: expected 1 to 6 (k, i, j low and high)"));
    }
    let side = Side { axis: [2, 0, 1][(face as usize - 1) / 2], high: face % 2 == 0 };
    let mut window = Window::whole(number - 1, side, points);
    let mut ranges = [[0; 2]; 2];
    for (range, axis) in ranges.iter_mut().zip(side.tangential()) {
        for (end, name) in range.iter_mut().zip(["S", "E"]) {
            let n = words.index(name)? as usize;
            if n == 0 || n > points[axis] {
                let (name, most) = (["i", "j", "k"][axis], points[axis]);
                return Err(format!("point {n} along {name} of block {number}: expected 1 to {most}"));
            }
            *end = n - 1;
        }
        if range[0] == range[1] {
            return Err(format!("a range from point {} to itself has no cells", range[0] + 1));
        }
        window.low[axis] = range[0].min(range[1]);
        window.high[axis] = range[0].max(range[1]);
    }
    Ok((window, ranges))
}

fn row(words: &mut Words<'_>, dimensions: &[[usize; 3]], grid: &mut Grid) -> Result<(), String> {
    let kind = words.next().ok_or("the type is missing")?;
    let name = String::from_utf8_lossy(kind).trim_matches(['\'', '"']).to_owned();
    let plain = name.to_ascii_lowercase().replace('_', "-");
    let (a, from) = side(words, dimensions)?;
    if plain != "one-to-one" && plain != "periodic" {
        grid.patches.push(Patch { name, window: a });
        return Ok(());
    }
    let (b, to) = side(words, dimensions)?;
    let swap = match words.next().map(<[u8]>::to_ascii_lowercase).as_deref() {
        None | Some(b"false" | b".false." | b"f") => false,
        Some(b"true" | b".true." | b"t") => true,
        Some(word) => return Err(format!("Swap is {:?}: expected TRUE or FALSE", show(word))),
    };
    let axes = b.side.tangential();
    let mut pairs = [(0, 0, 0); 2];
    for n in 0..2 {
        let other = if swap { 1 - n } else { n };
        let [mut start, mut end] = to[other];
        if from[n][0] > from[n][1] {
            std::mem::swap(&mut start, &mut end);
        }
        if start.abs_diff(end) != from[n][0].abs_diff(from[n][1]) {
            return Err(format!(
                "range {} of one side has {} points, its partner {}",
                n + 1,
                from[n][0].abs_diff(from[n][1]) + 1,
                start.abs_diff(end) + 1
            ));
        }
        pairs[n] = (axes[other], start, end);
    }
    let map = IndexMap::between(&a, &b, pairs);
    let motion = if plain == "periodic" { UNKNOWN } else { Motion::NONE };
    grid.interfaces.push(Interface { a, b, map, motion });
    Ok(())
}

impl Grid {
    /// Gives periodic interfaces read from a file their translations and rotations, from their points.
    pub(super) fn find_motions(&mut self) {
        for n in 0..self.interfaces.len() {
            let Interface { a, b, motion, .. } = &self.interfaces[n];
            let is_there = |w: &Window| {
                let block = self.blocks.get(w.block);
                block.is_some_and(|block| {
                    (0..3).all(|d| w.high[d] < block.points[d])
                        && block.nodes.len() == block.points.iter().product()
                })
            };
            if matches!(motion, Motion::Translation(step) if step[0].is_nan()) && is_there(a) && is_there(b) {
                self.interfaces[n].motion = self.motion_of(&self.interfaces[n]);
            }
        }
    }
}

/// Writes patches and interfaces as a neutral map file.
///
/// # Errors
/// When it cannot be written, or a name has white space or a comma in it.
pub fn write_nmf(path: &Path, grid: &Grid) -> Result<(), GridError> {
    let bad =
        |name: &&str| name.is_empty() || name.contains(|c: char| c.is_whitespace() || ",#'\"\\".contains(c));
    if let Some(name) = grid.markers().iter().find(|n| bad(n)) {
        let what = format!(
            "a neutral map file cannot hold the marker {name:?}: rename it without blanks and quotes"
        );
        return Err(MeshError::unsupported(path, what).into());
    }
    let mut file = AtomicFile::create(path)?;
    let face = |s: Side| 1 + usize::from(s.high) + [2, 4, 0][s.axis];
    let half = |w: &Window, from: [usize; 3], to: [usize; 3]| {
        let [u, v] = w.side.tangential();
        format!(
            "{:>4} {} {:>5} {:>5} {:>5} {:>5}",
            w.block + 1,
            face(w.side),
            from[u] + 1,
            to[u] + 1,
            from[v] + 1,
            to[v] + 1
        )
    };
    let mut body = || -> io::Result<()> {
        writeln!(file, "# Neutral map file\n# Block IDIM JDIM KDIM\n{}", grid.blocks.len())?;
        for (b, block) in grid.blocks.iter().enumerate() {
            let [i, j, k] = block.points;
            writeln!(file, "{:>4} {i:>5} {j:>5} {k:>5}", b + 1)?;
        }
        writeln!(file, "# Type B1 F1 S1 E1 S2 E2 B2 F2 S1 E1 S2 E2 Swap")?;
        for p in &grid.patches {
            writeln!(file, "{:20} {}", p.name, half(&p.window, p.window.low, p.window.high))?;
        }
        for i in &grid.interfaces {
            let kind = if i.motion.is_none() { "one-to-one" } else { "periodic" };
            let [from, to] =
                [i.a.low, i.a.high].map(|x| i.map.node(x.map(|n| n as isize)).map(|n| n as usize));
            let swap = i.map.axis[i.a.side.tangential()[0]] != i.b.side.tangential()[0];
            let swap = if swap { "TRUE" } else { "FALSE" };
            writeln!(file, "{kind:20} {} {} {swap}", half(&i.a, i.a.low, i.a.high), half(&i.b, from, to))?;
        }
        Ok(())
    };
    body().map_err(|e| FileError::new("cannot write", path, e))?;
    file.commit()?;
    Ok(())
}
