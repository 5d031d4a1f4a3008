//! Children of a group: link messages, symbol tables, and fractal heaps with their indices.

use super::super::tree::{Fault, Image, MOST};

/// A child.
pub(super) struct Link {
    pub name: String,
    /// When it was made, where that is known.
    pub order: u64,
    pub at: usize,
}

impl Link {
    /// From a link message; nothing for a soft link inside the file, which CGNS makes for itself.
    pub fn read(image: Image<'_>, at: usize) -> Result<Option<Self>, Fault> {
        let flags = image.number(at + 1, 1)?;
        let mut next = at + 2;
        let mut field = |width: usize| {
            next += width;
            image.number(next - width, width)
        };
        let kind = if flags & 8 > 0 { field(1)? } else { 0 };
        let order = if flags & 4 > 0 { field(8)? } else { 0 };
        if flags & 0x10 > 0 {
            field(1)?;
        }
        let length = field(1 << (flags & 3))? as usize;
        let name = String::from_utf8_lossy(image.take(next, length)?).into_owned();
        match kind {
            0 => Ok(Some(Self { name, order, at: image.place(next + length, 8)? })),
            _ if name.starts_with(' ') => Ok(None),
            _ => Err(Fault::new(
                at,
                format!("{name:?} is a link: write the file whole, such as by `cgnsconvert -l`"),
            )),
        }
    }
}

/// A group of the old style: a tree over tables of symbols, whose names lie in a heap.
pub(super) fn symbols(
    image: Image<'_>,
    tree: usize,
    heap: usize,
    links: &mut Vec<Link>,
) -> Result<(), Fault> {
    image.expect(heap, b"HEAP")?;
    let names = image.place(heap + 24, 8)?;
    let mut nodes = vec![(tree, 0)];
    while let Some((at, depth)) = nodes.pop() {
        if image.take(at, 4)? == b"TREE" {
            if depth > 8 || nodes.len() > MOST {
                return Err(Fault::new(at, "a tree of symbols deeper than any: it is damaged"));
            }
            let used = image.number(at + 6, 2)? as usize;
            for i in 0..used {
                nodes.push((image.place(at + 32 + 16 * i, 8)?, depth + 1));
            }
            continue;
        }
        image.expect(at, b"SNOD")?;
        for i in 0..image.number(at + 6, 2)? as usize {
            let entry = at + 8 + 40 * i;
            let start = names.saturating_add(image.number(entry, 8)? as usize);
            let rest = image.bytes.get(start..).unwrap_or_default();
            let Some(end) = rest.iter().take(1 << 12).position(|&b| b == 0) else {
                return Err(Fault::new(entry, "a name without an end"));
            };
            let name = String::from_utf8_lossy(&rest[..end]).into_owned();
            if image.number(entry + 16, 4)? == 2 {
                if name.starts_with(' ') {
                    continue;
                }
                return Err(Fault::new(
                    entry,
                    format!("{name:?} is a link: write the file whole, such as by `cgnsconvert -l`"),
                ));
            }
            links.push(Link { name, order: 0, at: image.place(entry + 8, 8)? });
            if links.len() > MOST {
                return Err(Fault::new(at, "a group of more members than can be: it is damaged"));
            }
        }
    }
    Ok(())
}

/// A group of the new style with many members, from its link info message.
pub(super) fn dense(image: Image<'_>, info: usize, links: &mut Vec<Link>) -> Result<(), Fault> {
    let flags = image.number(info + 1, 1)?;
    let first = info + 2 + if flags & 1 > 0 { 8 } else { 0 };
    if image.number(first, 8)? == u64::MAX {
        return Ok(());
    }
    let heap = Heap::read(image, image.place(first, 8)?)?;
    let index = Index::read(image, image.place(first + 8, 8)?)?;
    // Records of names: a hash of 4 bytes, then the heap's identifier.
    let mut records = Vec::new();
    index.records(image, index.root, index.count, index.depth, &mut records)?;
    for record in records {
        links.extend(Link::read(image, heap.place(image, record + 4)?)?);
    }
    Ok(())
}

/// A fractal heap.
struct Heap {
    at: usize,
    width: usize,
    start: u64,
    largest: u64,
    offset_width: usize,
    root: usize,
    rows: usize,
}

impl Heap {
    fn read(image: Image<'_>, at: usize) -> Result<Self, Fault> {
        image.expect(at, b"FRHP")?;
        if image.number(at + 7, 2)? != 0 {
            return Err(Fault::new(at, "a compressed HDF5 heap: rewrite the file with `h5repack`"));
        }
        let heap = Self {
            at,
            width: image.number(at + 110, 2)? as usize,
            start: image.number(at + 112, 8)?,
            largest: image.number(at + 120, 8)?,
            offset_width: (image.number(at + 128, 2)? as usize).div_ceil(8),
            root: image.place(at + 132, 8)?,
            rows: image.number(at + 140, 2)? as usize,
        };
        let sound =
            heap.start.is_power_of_two() && heap.largest.is_power_of_two() && heap.largest >= heap.start;
        if !sound || heap.width == 0 || heap.rows > 64 || !(1..=8).contains(&heap.offset_width) {
            return Err(Fault::new(at, "a heap of impossible sizes: it is damaged"));
        }
        Ok(heap)
    }

    /// Size of the blocks of a row.
    fn size(&self, row: usize) -> u64 {
        self.start.checked_shl(row.saturating_sub(1) as u32).unwrap_or(u64::MAX)
    }

    /// Where the object of an identifier lies.
    fn place(&self, image: Image<'_>, id: usize) -> Result<usize, Fault> {
        if image.number(id, 1)? >> 4 & 3 != 0 {
            return Err(Fault::new(id, "a name too long for CGNS"));
        }
        let mut offset = image.number(id + 1, self.offset_width)?;
        let (mut block, mut rows) = (self.root, self.rows);
        for _ in 0..16 {
            if rows == 0 {
                image.expect(block, b"FHDB")?;
                return block
                    .checked_add(usize::try_from(offset).unwrap_or(usize::MAX))
                    .filter(|&p| p < image.bytes.len())
                    .ok_or_else(|| Fault::new(id, "a name beyond the end of the file"));
            }
            image.expect(block, b"FHIB")?;
            let pointers = block + 13 + self.offset_width;
            let (mut row, mut begin) = (0, 0u64);
            while row < rows && offset - begin >= self.size(row).saturating_mul(self.width as u64) {
                begin += self.size(row).saturating_mul(self.width as u64);
                row += 1;
            }
            if row == rows {
                return Err(Fault::new(id, "a name beyond its heap"));
            }
            let size = self.size(row);
            let column = ((offset - begin) / size) as usize;
            offset -= begin + column as u64 * size;
            block = image.place(pointers + 8 * (row * self.width + column), 8)?;
            rows = if size <= self.largest {
                0
            } else {
                // An indirect block of as many rows as make up its size.
                (size / self.start / self.width as u64).max(1).ilog2() as usize + 1
            };
        }
        Err(Fault::new(self.at, "a heap deeper than any: it is damaged"))
    }
}

/// A B-tree of version 2.
struct Index {
    at: usize,
    node: u64,
    record: u64,
    depth: usize,
    root: usize,
    count: usize,
}

/// Bytes that hold numbers up to a limit.
fn bytes_of(limit: u64) -> usize {
    limit.max(1).ilog2() as usize / 8 + 1
}

impl Index {
    fn read(image: Image<'_>, at: usize) -> Result<Self, Fault> {
        image.expect(at, b"BTHD")?;
        let index = Self {
            at,
            node: image.number(at + 6, 4)?,
            record: image.number(at + 10, 2)?,
            depth: image.number(at + 12, 2)? as usize,
            root: image.place(at + 16, 8)?,
            count: image.number(at + 24, 2)? as usize,
        };
        if image.number(at + 5, 1)? != 5 || index.record < 5 || index.node < 64 || index.depth > 8 {
            return Err(Fault::new(at, "an index of names of an unknown kind"));
        }
        Ok(index)
    }

    /// Bytes of the numbers of records of a child, and of all below it, in a node at a depth.
    fn widths(&self, depth: usize) -> [usize; 2] {
        let leaf = (self.node - 10) / self.record;
        let counts = bytes_of(leaf);
        let (mut all, mut totals) = (leaf, 0);
        for d in 1..=depth {
            totals = if d > 1 { bytes_of(all) } else { 0 };
            let pointer = (8 + counts + totals) as u64;
            let own = self.node.saturating_sub(10 + pointer) / (self.record + pointer);
            all = (own + 1).saturating_mul(all).saturating_add(own);
        }
        [counts, totals]
    }

    fn records(
        &self,
        image: Image<'_>,
        at: usize,
        count: usize,
        depth: usize,
        found: &mut Vec<usize>,
    ) -> Result<(), Fault> {
        image.expect(at, if depth == 0 { b"BTLF" } else { b"BTIN" })?;
        let size = self.record as usize;
        image.take(at + 6, count * size)?;
        found.extend((0..count).map(|i| at + 6 + i * size));
        if found.len() > MOST {
            return Err(Fault::new(self.at, "an index of more names than can be: it is damaged"));
        }
        if depth > 0 {
            let [counts, totals] = self.widths(depth);
            let first = at + 6 + count * size;
            for i in 0..=count {
                let pointer = first + i * (8 + counts + totals);
                let below = image.number(pointer + 8, counts)? as usize;
                self.records(image, image.place(pointer, 8)?, below, depth - 1, found)?;
            }
        }
        Ok(())
    }
}
