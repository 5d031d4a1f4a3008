//! Arrays in chunks: where the chunks lie, and what they hold, put together.
//!
//! **Source**: HDF5 file format specification, version 3.0, III.A.1 (trees of version 1), IV.A.2.i (layouts), VII (fixed arrays).

use super::super::tree::{Fault, Image};
use super::filters::{Filter, undo};
use std::collections::BTreeSet;

/// What to do about an array that is not read.
pub(super) const REMEDY: &str = "rewrite the file with `h5repack -l CONTI -f NONE in.cgns out.cgns`";

/// Deepest tree of chunks that is believed.
const DEPTH: usize = 16;

/// A chunk: its number in each dimension among all, where it lies, bytes there, filters that were left out.
struct Chunk {
    index: Vec<usize>,
    at: usize,
    size: usize,
    mask: u64,
}

/// The array of a layout message of class 2: its shape and that of a chunk, the slowest dimension first.
struct Array<'a> {
    image: Image<'a>,
    layout: usize,
    dims: &'a [usize],
    chunk: Vec<usize>,
    /// Chunks in each dimension.
    grid: Vec<usize>,
    /// Bytes of a number, and of a chunk that is not packed.
    width: usize,
    bytes: usize,
}

/// The bytes of an array in chunks, the last dimension the fastest; nothing where none was written.
pub(super) fn read(
    image: Image<'_>,
    layout: usize,
    (dims, width): (&[usize], usize),
    filters: &[Filter],
) -> Result<Option<Vec<u8>>, Fault> {
    let new = image.number(layout, 1)? >= 4;
    let rank = image.number(layout + if new { 3 } else { 2 }, 1)? as usize;
    let (first, field) =
        if new { (layout + 5, image.number(layout + 4, 1)? as usize) } else { (layout + 11, 4) };
    if rank != dims.len() + 1 || rank < 2 || !(1..=8).contains(&field) {
        return Err(Fault::new(layout, "chunks of another shape than the array's: it is damaged"));
    }
    let sizes = (0..rank).map(|d| Ok(image.number(first + field * d, field)? as usize));
    let mut chunk: Vec<usize> = sizes.collect::<Result<_, Fault>>()?;
    let element = chunk.pop();
    // A file packs numbers a thousand times at most, which bounds what a damaged one may ask for.
    let most = image.bytes.len().saturating_mul(2048);
    let product = |sizes: &[usize], what: &str| {
        let n = sizes.iter().try_fold(width, |n, &d| n.checked_mul(d)).filter(|&n| n <= most);
        n.ok_or_else(|| {
            Fault::new(layout, format!("{what} of {sizes:?} numbers: larger than the file can hold"))
        })
    };
    let (bytes, total) = (product(&chunk, "chunks")?, product(dims, "an array")?);
    if bytes == 0 || element != Some(width) {
        return Err(Fault::new(layout, format!("chunks of {chunk:?} numbers: it is damaged")));
    }
    if total == 0 {
        return Ok(Some(Vec::new()));
    }
    let grid: Vec<usize> = dims.iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).collect();
    let array = Array { image, layout, dims, chunk, grid, width, bytes };
    let found = if new { array.of_index(first + field * rank)? } else { array.of_tree(layout + 3)? };
    let Some(found) = found else { return Ok(None) };
    let mut data = vec![0; total];
    let mut there = BTreeSet::new();
    for chunk in &found {
        let packed = image.take(chunk.at, chunk.size)?.to_vec();
        let plain = undo(filters, chunk.mask, packed, array.bytes.saturating_add(64));
        let plain = plain.and_then(|plain| {
            let wrong = format!("has {} bytes, expected {}", plain.len(), array.bytes);
            if plain.len() == array.bytes { Ok(plain) } else { Err(wrong) }
        });
        let plain = plain.map_err(|what| Fault::new(chunk.at, format!("a chunk {what}")))?;
        array.put(&chunk.index, &plain, &mut data);
        there.insert(chunk.index.clone());
    }
    let all: usize = array.grid.iter().product();
    if there.len() != all {
        return Err(Fault::new(
            layout,
            format!("{} of {all} chunks are there: the array was not written whole", there.len()),
        ));
    }
    Ok(Some(data))
}

impl Array<'_> {
    fn fault(&self, what: &str) -> Fault {
        Fault::new(self.layout, what)
    }

    /// Puts the numbers of a chunk where they belong; what reaches over the array's end is left out.
    fn put(&self, index: &[usize], plain: &[u8], data: &mut [u8]) {
        let last = self.dims.len() - 1;
        let corner = |d: usize| index[d] * self.chunk[d];
        let own = self.chunk[last].min(self.dims[last] - corner(last)) * self.width;
        for (row, bytes) in plain.chunks_exact(self.chunk[last] * self.width).enumerate() {
            let (mut rest, mut stride, mut to) = (row, self.dims[last], corner(last));
            let mut inside = true;
            for d in (0..last).rev() {
                let place = corner(d) + rest % self.chunk[d];
                rest /= self.chunk[d];
                inside &= place < self.dims[d];
                to += place * stride;
                stride *= self.dims[d];
            }
            if inside {
                data[to * self.width..][..own].copy_from_slice(&bytes[..own]);
            }
        }
    }

    /// The chunk that is the n-th, the last dimension the fastest.
    fn nth(&self, mut n: usize) -> Vec<usize> {
        let mut index = vec![0; self.grid.len()];
        for d in (0..index.len()).rev() {
            index[d] = n % self.grid[d];
            n /= self.grid[d];
        }
        index
    }

    /// How many chunks there are, each of which needs some bytes of the file.
    fn count(&self) -> Result<usize, Fault> {
        let n = self.grid.iter().try_fold(1_usize, |n, &g| n.checked_mul(g));
        n.filter(|&n| n <= self.image.bytes.len())
            .ok_or_else(|| self.fault("more chunks than the file has bytes: it is damaged"))
    }

    /// Layout version 3: a tree whose keys are size, mask and corner of each chunk.
    fn of_tree(&self, at: usize) -> Result<Option<Vec<Chunk>>, Fault> {
        let image = self.image;
        if image.number(at, 8)? == u64::MAX {
            return Ok(None);
        }
        let (rank, count) = (self.dims.len(), self.count()?);
        let key = 8 + 8 * (rank + 1);
        let mut found: Vec<Chunk> = Vec::new();
        let mut nodes = vec![(image.place(at, 8)?, 0)];
        let mut seen = 0;
        while let Some((at, depth)) = nodes.pop() {
            seen += 1;
            if depth > DEPTH || seen > count.saturating_add(DEPTH) || found.len() > count {
                return Err(Fault::new(at, "a tree of chunks larger than any: it is damaged"));
            }
            image.expect(at, b"TREE")?;
            let (kind, level) = (image.number(at + 4, 1)?, image.number(at + 5, 1)?);
            if kind != 1 {
                return Err(Fault::new(at, "a tree that is not one of chunks"));
            }
            for i in 0..image.number(at + 6, 2)? as usize {
                let own = at + 24 + i * (key + 8);
                let child = image.place(own + key, 8)?;
                if level > 0 {
                    nodes.push((child, depth + 1));
                    continue;
                }
                let mut index = Vec::with_capacity(rank);
                for d in 0..rank {
                    let corner = image.number(own + 8 + 8 * d, 8)? as usize;
                    if !corner.is_multiple_of(self.chunk[d]) || corner >= self.dims[d] {
                        return Err(Fault::new(
                            own,
                            "a chunk that begins outside of its array or within another",
                        ));
                    }
                    index.push(corner / self.chunk[d]);
                }
                let (size, mask) = (image.number(own, 4)? as usize, image.number(own + 4, 4)?);
                found.push(Chunk { index, at: child, size, mask });
            }
        }
        Ok(Some(found))
    }

    /// Layout versions 4 and 5: an index of one of five kinds, of which those of arrays that do not grow are read.
    fn of_index(&self, at: usize) -> Result<Option<Vec<Chunk>>, Fault> {
        let (image, flags) = (self.image, self.image.number(self.layout + 2, 1)?);
        let kind = image.number(at, 1)?;
        let packed_alone = kind == 1 && flags & 2 > 0;
        let place = at
            + 1
            + match kind {
                1 if packed_alone => 12,
                1 | 2 => 0,
                3 => 1,
                _ => {
                    return Err(self.fault(&format!(
                        "an array in chunks that may grow, written for the latest HDF5 alone; {REMEDY}"
                    )));
                }
            };
        if image.number(place, 8)? == u64::MAX {
            return Ok(None);
        }
        let (start, count) = (image.place(place, 8)?, self.count()?);
        let mut found = Vec::new();
        match kind {
            1 => {
                let (size, mask) = if packed_alone {
                    (image.number(at + 1, 8)? as usize, image.number(at + 9, 4)?)
                } else {
                    (self.bytes, 0)
                };
                found.push(Chunk { index: self.nth(0), at: start, size, mask });
            }
            2 => found.extend((0..count).map(|n| Chunk {
                index: self.nth(n),
                at: start.saturating_add(n.saturating_mul(self.bytes)),
                size: self.bytes,
                mask: 0,
            })),
            _ => self.of_fixed_array(start, count, &mut found)?,
        }
        // Chunks that reach over the end may have been left as they are.
        if flags & 1 > 0 {
            let whole =
                |c: &Chunk| (0..self.dims.len()).all(|d| (c.index[d] + 1) * self.chunk[d] <= self.dims[d]);
            found.iter_mut().filter(|c| !whole(c)).for_each(|c| c.mask = u64::MAX);
        }
        Ok(Some(found))
    }

    fn of_fixed_array(&self, at: usize, count: usize, found: &mut Vec<Chunk>) -> Result<(), Fault> {
        let image = self.image;
        image.expect(at, b"FAHD")?;
        let (packed, entry) = (image.number(at + 5, 1)? == 1, image.number(at + 6, 1)? as usize);
        let (pages, entries) = (image.number(at + 7, 1)?, image.number(at + 8, 8)?);
        if entries != count as u64 || entry < if packed { 13 } else { 8 } || entry > 20 {
            return Err(Fault::new(at, "a list of chunks of another length than the array's"));
        }
        if pages < 64 && entries > 1 << pages {
            return Err(self.fault(&format!(
                "an array of {entries} chunks, written for the latest HDF5 alone; {REMEDY}"
            )));
        }
        let block = image.place(at + 16, 8)?;
        image.expect(block, b"FADB")?;
        for n in 0..count {
            let own = block + 14 + n * entry;
            if image.number(own, 8)? == u64::MAX {
                continue;
            }
            let (size, mask) = if packed {
                (image.number(own + 8, entry - 12)? as usize, image.number(own + entry - 4, 4)?)
            } else {
                (self.bytes, 0)
            };
            found.push(Chunk { index: self.nth(n), at: image.place(own, 8)?, size, mask });
        }
        Ok(())
    }
}
