//! PLOT3D grid files, multi-block and single-block, two- and three-dimensional, with and without IBLANK.
//!
//! **Source**: Walatka, Buning, Pierce & Elson, *PLOT3D User's Manual*, NASA TM 101067 (1990), section 8.

use super::header::{Form, Plot3d, Plot3dOptions, is_planar, is_text};
use super::{plot3d_binary, plot3d_text};
use crate::MeshError;
use crate::grid::{Block, GridError};
use chromaflow::files::{AtomicFile, FileError};
use std::io::{self, Write};
use std::path::Path;

/// Reads the blocks of a PLOT3D file, plain or compressed. Form, byte order, precision, IBLANK and the line that counts
/// blocks are found out from the file; of a stream, which has no marks, from its length.
///
/// # Errors
/// When the file is cut short or its numbers make no sense, with the line or byte.
pub fn read_plot3d(path: &Path, options: &Plot3dOptions) -> Result<Vec<Block>, GridError> {
    let planar = options.planar.or_else(|| is_planar(path).then_some(true));
    let blocks = if options.text.unwrap_or_else(|| is_text(path)) {
        plot3d_text::read(path, planar)?
    } else {
        plot3d_binary::read(path, planar)?
    };
    Ok(layers(blocks))
}

/// Blocks of one point along an axis that all lie in a plane of two coordinates, a two-dimensional grid in a three-dimensional file, become layers as
/// those of a two-dimensional file do: with these two coordinates as x and y, and an axis along z in the place of the one that is missing, the last.
fn layers(mut blocks: Vec<Block>) -> Vec<Block> {
    let is_sheet = |block: &Block| block.points.iter().filter(|&&n| n == 1).count() == 1;
    let size: [f64; 3] = std::array::from_fn(|c| {
        let all = blocks.iter().flat_map(|block| &block.nodes).map(|x| x[c]);
        let (low, high) =
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        high - low
    });
    let extent = size.into_iter().fold(0.0, f64::max);
    let thin = [2, 1, 0].into_iter().find(|&c| size[c] <= 1e-9 * extent);
    if let Some(thin) = thin.filter(|_| blocks.iter().all(is_sheet)) {
        let [x, y] = [[1, 2], [0, 2], [0, 1]][thin];
        for block in &mut blocks {
            let along: Vec<usize> = block.points.into_iter().filter(|&n| n > 1).collect();
            block.points = [along[0], along[1], 2];
            let layer = |z: f64| block.nodes.iter().map(move |p| [p[x], p[y], z]);
            block.nodes = layer(0.0).chain(layer(1.0)).collect();
            block.blank = block.blank.repeat(2);
        }
    }
    blocks
}

/// Points of the blocks of a file, checked to be ones that memory can hold.
pub(super) struct Dimensions {
    pub blocks: Vec<[usize; 3]>,
    pub planar: bool,
}

/// The largest number of blocks that is believed.
pub(super) const MOST_BLOCKS: u64 = 1 << 20;

impl Dimensions {
    /// From the numbers of a header, `each` (2 or 3) a block.
    pub(super) fn new(numbers: &[u64], each: usize) -> Result<Self, String> {
        let mut blocks = Vec::new();
        for (b, n) in numbers.chunks(each).enumerate() {
            if n.len() < each || n.contains(&0) {
                return Err(format!("block {b} has {n:?} points: expected {each} positive numbers"));
            }
            let points = n.iter().try_fold(1u64, |all, &n| all.checked_mul(n)).filter(|&all| all < 1 << 40);
            if points.is_none() {
                return Err(format!("block {b} has {n:?} points: more than can be"));
            }
            // A plane becomes a layer.
            blocks.push([n[0] as usize, n[1] as usize, if each == 3 { n[2] as usize } else { 1 }]);
        }
        Ok(Self { blocks, planar: each == 2 })
    }

    /// Coordinates of each point in the file.
    pub(super) fn coordinates(&self) -> usize {
        if self.planar { 2 } else { 3 }
    }

    pub(super) fn points(&self) -> u64 {
        self.blocks.iter().map(|b| b.iter().product::<usize>() as u64).sum()
    }

    /// A block from its values, one coordinate after another, and its blanks (or none).
    pub(super) fn block(&self, number: usize, values: &[f64], blank: Vec<i32>) -> Block {
        let [ni, nj, nk] = self.blocks[number];
        let n = ni * nj * nk;
        if !self.planar {
            let nodes = (0..n).map(|p| [values[p], values[n + p], values[2 * n + p]]).collect();
            return Block { points: [ni, nj, nk], nodes, blank };
        }
        let layer = |z: f64| (0..n).map(move |p| [values[p], values[n + p], z]);
        let nodes = layer(0.0).chain(layer(1.0)).collect();
        Block { points: [ni, nj, 2], nodes, blank: blank.repeat(2) }
    }
}

/// Writes a three-dimensional multi-block file, with IBLANK if any block has it.
///
/// # Errors
/// When the file cannot be written; nothing is left behind then.
pub fn write_plot3d(path: &Path, blocks: &[Block], format: Plot3d) -> Result<(), GridError> {
    let mut file = AtomicFile::create(path)?;
    let with_blank = blocks.iter().any(|b| !b.blank.is_empty());
    let body = |file: &mut AtomicFile| -> io::Result<()> {
        if format.form == Form::Text {
            return text(file, blocks, with_blank);
        }
        let sizes: Vec<[i32; 3]> = blocks.iter().map(|b| b.points.map(|n| n as i32)).collect();
        let count = [blocks.len() as i32];
        record(file, format, 4, |file| ints(file, format, &count))?;
        record(file, format, 12 * blocks.len(), |file| ints(file, format, sizes.as_flattened()))?;
        for block in blocks {
            let real = if format.double { 8 } else { 4 };
            let length = block.nodes.len() * (3 * real + if with_blank { 4 } else { 0 });
            record(file, format, length, |file| {
                for c in 0..3 {
                    for x in &block.nodes {
                        real_bytes(file, format, x[c])?;
                    }
                }
                match (with_blank, block.blank.is_empty()) {
                    (false, _) => Ok(()),
                    (true, false) => ints(file, format, &block.blank),
                    (true, true) => ints(file, format, &vec![1; block.nodes.len()]),
                }
            })?;
        }
        Ok(())
    };
    let too_long = |b: &Block| b.nodes.len().saturating_mul(28) > i32::MAX as usize;
    if format.form == Form::Records && blocks.iter().any(too_long) {
        return Err(MeshError::unsupported(
            path,
            "a block of more than 2 GB does not fit a Fortran record: write a stream or text",
        )
        .into());
    }
    body(&mut file).map_err(|e| FileError::new("cannot write", path, e))?;
    file.commit()?;
    Ok(())
}

pub(super) fn record(
    file: &mut AtomicFile,
    format: Plot3d,
    length: usize,
    body: impl FnOnce(&mut AtomicFile) -> io::Result<()>,
) -> io::Result<()> {
    let mark = [length as i32];
    if format.form == Form::Records {
        ints(file, format, &mark)?;
    }
    body(file)?;
    if format.form == Form::Records { ints(file, format, &mark) } else { Ok(()) }
}

pub(super) fn ints(file: &mut AtomicFile, format: Plot3d, values: &[i32]) -> io::Result<()> {
    values
        .iter()
        .try_for_each(|v| file.write_all(&if format.big_endian { v.to_be_bytes() } else { v.to_le_bytes() }))
}

pub(super) fn real_bytes(file: &mut AtomicFile, format: Plot3d, x: f64) -> io::Result<()> {
    match (format.double, format.big_endian) {
        (true, true) => file.write_all(&x.to_be_bytes()),
        (true, false) => file.write_all(&x.to_le_bytes()),
        (false, true) => file.write_all(&(x as f32).to_be_bytes()),
        (false, false) => file.write_all(&(x as f32).to_le_bytes()),
    }
}

fn text(file: &mut AtomicFile, blocks: &[Block], with_blank: bool) -> io::Result<()> {
    writeln!(file, "{}", blocks.len())?;
    for b in blocks {
        writeln!(file, "{} {} {}", b.points[0], b.points[1], b.points[2])?;
    }
    for b in blocks {
        for c in 0..3 {
            for line in b.nodes.chunks(4) {
                let words: Vec<String> = line.iter().map(|x| format!("{:?}", x[c])).collect();
                writeln!(file, "{}", words.join(" "))?;
            }
        }
        if with_blank {
            let all = if b.blank.is_empty() { vec![1; b.nodes.len()] } else { b.blank.clone() };
            for line in all.chunks(32) {
                let words: Vec<String> = line.iter().map(i32::to_string).collect();
                writeln!(file, "{}", words.join(" "))?;
            }
        }
    }
    Ok(())
}
