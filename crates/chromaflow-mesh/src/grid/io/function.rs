//! PLOT3D function files: fields on the points of a grid.
//!
//! **Source**: Walatka, Buning, Pierce & Elson, *PLOT3D User's Manual*, NASA TM 101067 (1990), section 8.3.

use super::header::{Form, Plot3d};
use super::plot3d::{ints, real_bytes, record};
use crate::grid::{Grid, GridError};
use crate::{Field, MeshError};
use chromaflow::files::{AtomicFile, FileError};
use std::io::{self, Write};
use std::path::Path;

/// Writes fields on the points of all blocks, one block after another ([`Grid::by_block`]): a function file, which belongs to a
/// three-dimensional multi-block grid file. Components of vectors are functions of their own. The names, one a line, go into the
/// file of the same name that ends in `.nam`, where post-processors look for them.
///
/// # Errors
/// When a file cannot be written, or a block does not fit a Fortran record.
///
/// # Panics
/// If a field is not as long as the grid's points.
pub fn write_function(path: &Path, grid: &Grid, fields: &[Field], format: Plot3d) -> Result<(), GridError> {
    let points: usize = grid.blocks.iter().map(|b| b.nodes.len()).sum();
    let mut functions = Vec::new();
    for field in fields {
        let c = field.components;
        assert_eq!(field.values.len(), points * c, "field {} has the wrong length", field.name);
        for k in 0..c {
            let end = match c {
                1 => String::new(),
                2 | 3 => format!("_{}", ["x", "y", "z"][k]),
                _ => format!("_{}", k + 1),
            };
            functions.push((format!("{}{end}", field.name), field, k));
        }
    }
    let real = if format.double { 8 } else { 4 };
    let too_long = |n: usize| n.saturating_mul(real * functions.len()) > i32::MAX as usize;
    if format.form == Form::Records && grid.blocks.iter().any(|b| too_long(b.nodes.len())) {
        let what = "a block of more than 2 GB does not fit a Fortran record: write fewer fields, or .vtkhdf";
        return Err(MeshError::unsupported(path, what).into());
    }
    let mut sizes: Vec<i32> = Vec::new();
    for block in &grid.blocks {
        sizes.extend(block.points.iter().map(|&n| n as i32));
        sizes.push(functions.len() as i32);
    }
    let mut file = AtomicFile::create(path)?;
    let body = |file: &mut AtomicFile| -> io::Result<()> {
        let count = grid.blocks.len() as i32;
        if format.form == Form::Text {
            writeln!(file, "{count}")?;
            sizes.chunks(4).try_for_each(|s| writeln!(file, "{} {} {} {}", s[0], s[1], s[2], s[3]))?;
        } else {
            record(file, format, 4, |file| ints(file, format, &[count]))?;
            record(file, format, 4 * sizes.len(), |file| ints(file, format, &sizes))?;
        }
        let mut first = 0;
        for block in &grid.blocks {
            let n = block.nodes.len();
            let own = |field: &Field, k: usize| {
                let c = field.components;
                field.values[first * c..(first + n) * c]
                    .iter()
                    .skip(k)
                    .step_by(c)
                    .copied()
                    .collect::<Vec<_>>()
            };
            if format.form == Form::Text {
                for (_, field, k) in &functions {
                    for line in own(field, *k).chunks(4) {
                        let words: Vec<String> = line.iter().map(|x| format!("{x:?}")).collect();
                        writeln!(file, "{}", words.join(" "))?;
                    }
                }
            } else {
                record(file, format, n * real * functions.len(), |file| {
                    for (_, field, k) in &functions {
                        own(field, *k).into_iter().try_for_each(|x| real_bytes(file, format, x))?;
                    }
                    Ok(())
                })?;
            }
            first += n;
        }
        Ok(())
    };
    body(&mut file).map_err(|e| FileError::new("cannot write", path, e))?;
    file.commit()?;
    let names = path.with_extension("nam");
    let mut file = AtomicFile::create(&names)?;
    let written = functions.iter().try_for_each(|(name, ..)| writeln!(file, "{name}"));
    written.map_err(|e| FileError::new("cannot write", &names, e))?;
    Ok(file.commit()?)
}
