//! PLOT3D as binary: Fortran records or a plain stream, either byte order, 4- or 8-byte reals.

use super::plot3d::{Dimensions, MOST_BLOCKS};
use crate::grid::Block;
use crate::parse::binary::{self, Bytes};
use crate::{MeshError, Place};
use std::path::Path;

/// A file in memory, read from the front.
struct Cursor<'a> {
    path: &'a Path,
    data: &'a [u8],
    at: usize,
    big: bool,
    records: bool,
}

impl<'a> Cursor<'a> {
    fn error(&self, what: impl Into<String>) -> MeshError {
        MeshError::Syntax {
            path: self.path.to_owned(),
            place: Place::Byte(self.at as u64),
            what: what.into(),
        }
    }

    fn take(&mut self, n: u64, what: &str) -> Result<&'a [u8], MeshError> {
        let rest = &self.data[self.at..];
        if (rest.len() as u64) < n {
            return Err(self.error(format!("the file ends inside {what}: it is cut short")));
        }
        self.at += n as usize;
        Ok(&rest[..n as usize])
    }

    fn int(&mut self, what: &str) -> Result<i64, MeshError> {
        Ok(binary::int(self.take(4, what)?, self.big))
    }

    /// The mark before or after a record that should have one of these lengths; which one.
    fn mark(&mut self, lengths: &[u64], what: &str) -> Result<usize, MeshError> {
        let found = self.int(what)?;
        lengths.iter().position(|&n| n as i64 == found).ok_or_else(|| {
            self.error(format!("a record of {found} bytes for {what}, expected one of {lengths:?}"))
        })
    }
}

/// How the beginning of a file can be read: byte order, records, whether blocks are counted, dimensions a block.
fn layout(data: &[u8], planar: Option<bool>) -> Option<(bool, bool, bool, u64)> {
    let word = |n: usize, big: bool| data.get(4 * n..4 * n + 4).map(|b| binary::int(b, big));
    let each = [3, 2].into_iter().filter(|&e| planar.is_none_or(|p| p == (e == 2)));
    for big in [true, false] {
        for each in each.clone() {
            if word(0, big) == Some(4) && word(2, big) == Some(4) {
                let count = word(1, big)?;
                if count > 0 && word(3, big) == count.checked_mul(4 * each) {
                    return Some((big, true, true, each as u64));
                }
            }
            if word(0, big) == Some(4 * each) && word(each as usize + 1, big) == Some(4 * each) {
                return Some((big, true, false, each as u64));
            }
        }
    }
    // No records: a small count, then sizes.
    let plausible = |n: Option<i64>| n.is_some_and(|n| n > 0 && n < 1 << 20);
    [false, true]
        .into_iter()
        .find(|&big| plausible(word(0, big)) && plausible(word(1, big)))
        .map(|big| (big, false, true, if planar == Some(true) { 2 } else { 3 }))
}

pub(super) fn read(path: &Path, planar: Option<bool>) -> Result<Vec<Block>, MeshError> {
    let data = Bytes::open(path, false)?.rest()?;
    let mut file = Cursor { path, data: &data, at: 0, big: false, records: false };
    let Some((big, records, counted, each)) = layout(&data, planar) else {
        return Err(file.error(
            "this is neither binary PLOT3D (a number of blocks and their points, with or without Fortran's record marks) \
             nor named as text (.fmt, .p3dfmt, .txt)",
        ));
    };
    (file.big, file.records) = (big, records);
    let mut count = 1;
    if counted {
        if records {
            file.mark(&[4], "the number of blocks")?;
        }
        count = file.int("the number of blocks")? as u64;
        if records {
            file.mark(&[4], "the number of blocks")?;
        }
        if count == 0 || count > MOST_BLOCKS {
            return Err(file.error(format!("{count} blocks: expected 1 to {MOST_BLOCKS}")));
        }
    }
    let what = "the points of the blocks";
    if records {
        file.mark(&[4 * each * count], what)?;
    }
    let mut header = Vec::new();
    for _ in 0..each * count {
        let n = file.int(what)?;
        header.push(u64::try_from(n).map_err(|_| file.error(format!("{n} points along an axis")))?);
    }
    if records {
        file.mark(&[4 * each * count], what)?;
    }
    let size = Dimensions::new(&header, each as usize).map_err(|what| file.error(what))?;

    // Bytes of a point in each variant: reals of 4 or 8 bytes, without and with IBLANK.
    let variants = [8 * each, 4 * each, 8 * each + 4, 4 * each + 4];
    let mut blocks = Vec::new();
    let rest = (data.len() - file.at) as u64;
    let mut variant = variants.iter().position(|v| v * size.points() == rest);
    for b in 0..size.blocks.len() {
        let n = size.blocks[b].iter().product::<usize>() as u64;
        let what = format!("the coordinates of block {b}");
        if file.records {
            variant = Some(file.mark(&variants.map(|v| v * n), &what)?);
        }
        let Some(variant) = variant else {
            return Err(file.error(format!(
                "{rest} bytes for {} points: expected {} (8-byte reals) or {} (4-byte reals), or 4 more a point with \
                 IBLANK; the file is cut short or of another kind",
                size.points(),
                8 * each * size.points(),
                4 * each * size.points()
            )));
        };
        let real = if variant % 2 == 0 { 8 } else { 4 };
        let xyz = file.take(n * each * real, &what)?;
        let values: Vec<f64> = xyz.chunks_exact(real as usize).map(|x| binary::real(x, big)).collect();
        let blank = file.take(if variant < 2 { 0 } else { 4 * n }, &what)?;
        let blank = blank.chunks_exact(4).map(|x| binary::int(x, big) as i32).collect();
        if file.records {
            file.mark(&[variants[variant] * n], &what)?;
        }
        blocks.push(size.block(b, &values, blank));
    }
    Ok(blocks)
}
