//! PLOT3D as binary: Fortran records or a plain stream, either byte order, 4- or 8-byte reals.

use super::plot3d::{Dimensions, MOST_BLOCKS};
use super::plot3d_text;
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

/// How a file can be read.
struct Layout {
    /// Whether the first byte of a number is its highest.
    big: bool,
    records: bool,
    /// Whether it begins with the number of blocks.
    counted: bool,
    /// Coordinates of a point.
    each: u64,
}

/// Bytes of a point in each variant: reals of 8 or 4 bytes, without and with IBLANK.
fn variants(each: u64) -> [u64; 4] {
    [8 * each, 4 * each, 8 * each + 4, 4 * each + 4]
}

/// The layout of a file. A stream has no marks: it is what its points fill to the last byte, which hardly anything else does by chance but records that
/// are cut short, with their marks taken for points. So what has all marks of a header comes before it, what has some after it.
fn layout(data: &[u8], planar: Option<bool>) -> Option<Layout> {
    let each = [3, 2].into_iter().filter(|&e| planar.is_none_or(|p| p == (e == 2)));
    let of = |records: bool, counted: bool| {
        let big = if records { [true, false] } else { [false, true] };
        let each = each.clone();
        big.into_iter()
            .flat_map(move |big| each.clone().map(move |each| Layout { big, records, counted, each }))
    };
    let records = |whole: bool| {
        let mut all = of(true, true).chain(of(true, false));
        all.find(|layout| layout.has_marks(data, whole))
    };
    let stream = || of(false, true).chain(of(false, false)).find(|layout| layout.is_filled_by(data));
    let cut_stream = || {
        // Sizes of blocks, before them perhaps a small count.
        let word = |n: usize, big: bool| data.get(4 * n..4 * n + 4).map(|b| binary::int(b, big));
        let plausible = |n: Option<i64>| n.is_some_and(|n| n > 0 && n < 1 << 20);
        let each = if planar == Some(true) { 2 } else { 3 };
        let big =
            [false, true].into_iter().find(|&big| plausible(word(0, big)) && plausible(word(1, big)))?;
        Some(Layout { big, records: false, counted: plausible(word(each as usize, big)), each })
    };
    records(true).or_else(stream).or_else(|| records(false)).or_else(cut_stream)
}

impl Layout {
    /// Whether a file has the marks of records up to those about the points of its blocks; `whole`: and the one before the first block.
    fn has_marks(&self, data: &[u8], whole: bool) -> bool {
        let word = |n: usize| data.get(4 * n..4 * n + 4).map(|b| binary::int(b, self.big));
        let (count, at) = if self.counted {
            if [word(0), word(2)] != [Some(4); 2] {
                return false;
            }
            (word(1).and_then(|count| u64::try_from(count).ok()), 3)
        } else {
            (Some(1), 0)
        };
        let Some(count) = count.filter(|count| (1..=MOST_BLOCKS).contains(count)) else { return false };
        let mark = Some((4 * self.each * count) as i64);
        let end = at + 1 + (self.each * count) as usize;
        if word(at) != mark || (whole || !self.counted) && word(end) != mark {
            return false;
        }
        let first = (at + 1..at + 1 + self.each as usize).try_fold(1_i64, |all, n| all.checked_mul(word(n)?));
        let fits = |v: u64| first.and_then(|first| first.checked_mul(v as i64)) == word(end + 1);
        !whole || word(end + 1).is_some() && variants(self.each).into_iter().any(fits)
    }

    /// Whether the points of a stream are as many as the file has room for.
    fn is_filled_by(&self, data: &[u8]) -> bool {
        let number = |bytes: &[u8]| u64::try_from(binary::int(bytes, self.big)).ok().filter(|&n| n > 0);
        let (count, rest) = match data.split_at_checked(4) {
            Some((count, rest)) if self.counted => (number(count), rest),
            _ => (Some(1), data),
        };
        let Some(count) = count.filter(|&count| count <= MOST_BLOCKS) else { return false };
        let Some((header, rest)) = rest.split_at_checked((4 * self.each * count) as usize) else {
            return false;
        };
        let size = |block: &[u8]| block.chunks_exact(4).try_fold(1_u64, |all, n| all.checked_mul(number(n)?));
        let mut blocks = header.chunks_exact(4 * self.each as usize).map(size);
        let (first, more) = (blocks.next().flatten(), blocks.try_fold(0_u64, |all, n| all.checked_add(n?)));
        let (Some(first), Some(points)) = (first, first.zip(more).and_then(|(a, b)| a.checked_add(b))) else {
            return false;
        };
        let fits = |v: &u64| points.checked_mul(*v) == Some(rest.len() as u64);
        match variants(self.each).iter().position(fits) {
            Some(plain) if plain < 2 => true,
            // As long as without IBLANK in one more dimension: its numbers are small, and not all of them 0.
            Some(with_blanks) => {
                let reals = variants(self.each)[with_blanks - 2] * first;
                let blanks = &rest[reals as usize..(reals + 4 * first) as usize];
                let mut blanks = blanks.chunks_exact(4).map(|n| binary::int(n, self.big));
                blanks.clone().any(|n| n != 0) && blanks.all(|n| n.abs() < 1 << 16)
            }
            None => false,
        }
    }
}

/// Whether a file begins with nothing but numbers written out.
fn is_written_out(data: &[u8]) -> bool {
    let begin = &data[..data.len().min(512)];
    let of_numbers = |b: &u8| b.is_ascii_digit() || b.is_ascii_whitespace() || b"+-.,*eEdD".contains(b);
    begin.iter().any(u8::is_ascii_digit) && begin.iter().all(of_numbers)
}

pub(super) fn read(path: &Path, planar: Option<bool>) -> Result<Vec<Block>, MeshError> {
    let data = Bytes::open(path, false)?.rest()?;
    let mut file = Cursor { path, data: &data, at: 0, big: false, records: false };
    let Some(Layout { big, records, counted, each }) = layout(&data, planar) else {
        // Text is often named as binary files are (.xyz, .x, .g).
        if is_written_out(&data) {
            return plot3d_text::read(path, planar);
        }
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

    let variants = variants(each);
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
