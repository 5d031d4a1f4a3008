//! ADF, the file beneath older CGNS files.
//!
//! A header of 186 bytes, nodes of 246, tables of children and chunks of data. Places are a block (of 4096 bytes) and an
//! offset: in versions A as hexadecimal text, in versions B as binary numbers of 8 and 4 bytes.
//!
//! **Source**: *ADF User's Guide*, McDonnell Douglas (1998); the layout is that of `ADF_internals.c` of the CGNS library.

use super::tree::{DEPTH, Fault, Image, MOST, Node, Values, is_left_out};

const BLOCK: u64 = 4096;

struct Adf<'a> {
    image: Image<'a>,
    /// Places are hexadecimal text.
    text: bool,
    nodes: usize,
}

/// Whether a file begins as one.
pub(super) fn is_adf(bytes: &[u8]) -> bool {
    bytes.get(4..25) == Some(b"ADF Database Version ".as_slice())
}

/// Reads the tree.
pub(super) fn read(bytes: &[u8]) -> Result<Node, Fault> {
    let mut image = Image { bytes, big: false };
    image.expect(96, b"AdF2")?;
    image.big = match image.take(100, 1)? {
        b"L" => false,
        b"B" => true,
        other => {
            let format = String::from_utf8_lossy(other).into_owned();
            return Err(Fault::new(
                104,
                format!("numbers of the format {format:?}: only IEEE numbers are read"),
            ));
        }
    };
    image.expect(130, b"AdF4")?;
    let text = image.take(25, 1)? == b"A";
    let mut adf = Adf { image, text, nodes: 0 };
    let root = adf.pointer(134)?;
    adf.node(root, 0)
}

impl Adf<'_> {
    fn hex(&self, at: usize, n: usize) -> Result<u64, Fault> {
        let text = self.image.take(at, n)?;
        let number = std::str::from_utf8(text).ok().and_then(|t| u64::from_str_radix(t, 16).ok());
        number.ok_or_else(|| {
            Fault::new(
                at,
                format!("expected a hexadecimal number, found {:?}", String::from_utf8_lossy(text)),
            )
        })
    }

    /// A place: block and offset.
    fn pointer(&self, at: usize) -> Result<usize, Fault> {
        let (block, offset) = if self.text {
            (self.hex(at, 8)?, self.hex(at + 8, 4)?)
        } else {
            (self.image.number(at, 8)?, self.image.number(at + 8, 4)?)
        };
        let place = block
            .checked_mul(BLOCK)
            .and_then(|b| b.checked_add(offset))
            .and_then(|p| usize::try_from(p).ok());
        place.filter(|&p| p < self.image.bytes.len()).ok_or_else(|| {
            Fault::new(at, format!("block {block}, offset {offset} lie beyond the end of the file"))
        })
    }

    fn name(&self, at: usize) -> Result<String, Fault> {
        Ok(String::from_utf8_lossy(self.image.take(at, 32)?).trim_end_matches([' ', '\0']).to_owned())
    }

    fn node(&mut self, at: usize, depth: usize) -> Result<Node, Fault> {
        self.nodes += 1;
        if depth > DEPTH || self.nodes > MOST {
            return Err(Fault::new(at, "a tree deeper or larger than any: it is damaged"));
        }
        self.image.expect(at, b"NoDe")?;
        let mut node =
            Node { name: self.name(at + 4)?, label: self.name(at + 36)?, at: at as u64, ..Node::default() };
        let (children, kind) = (self.hex(at + 68, 8)? as usize, self.name(at + 96)?);
        if kind == "LK" {
            return Err(node
                .fault("a link to another file or node: write the file whole, such as by `cgnsconvert -l`"));
        }
        if is_left_out(&node.label) {
            return Ok(node);
        }
        for d in 0..(self.hex(at + 128, 2)? as usize).min(12) {
            let at = at + 130 + 8 * d;
            let n = if self.text { self.hex(at, 8)? } else { self.image.number(at, 8)? };
            node.dims.push(usize::try_from(n).map_err(|_| Fault::new(at, "an impossible size"))?);
        }
        if kind != "MT" && !node.dims.is_empty() {
            node.values = self.data(at, &kind, &node.dims)?;
        }
        if children > 0 {
            let table = self.pointer(at + 84)?;
            self.image.expect(table, b"SNTb")?;
            for i in 0..children {
                let child = self.pointer(table + 16 + 44 * i + 32)?;
                node.children.push(self.node(child, depth + 1)?);
            }
        }
        Ok(node)
    }

    fn data(&self, at: usize, kind: &str, dims: &[usize]) -> Result<Values, Fault> {
        let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let count = count
            .filter(|&n| n <= self.image.bytes.len())
            .ok_or_else(|| Fault::new(at, "an impossible size"))?;
        let chunks = self.hex(at + 226, 4)? as usize;
        if chunks == 0 {
            return Ok(Values::None);
        }
        let first = self.pointer(at + 230)?;
        if chunks == 1 {
            self.image.expect(first, b"DaTa")?;
            return self.image.values(first + 16, kind, count);
        }
        // Data that grew: pieces in a table of their beginnings and ends.
        self.image.expect(first, b"DCtb")?;
        let mut bytes = Vec::new();
        for i in 0..chunks {
            let entry = first + 16 + 24 * i;
            let (begin, end) = (self.pointer(entry)?, self.pointer(entry + 12)?);
            self.image.expect(begin, b"DaTa")?;
            let n = end
                .checked_sub(begin + 16)
                .ok_or_else(|| Fault::new(entry, "a chunk that ends before it begins"))?;
            if bytes.len() + n > self.image.bytes.len() {
                return Err(Fault::new(entry, "chunks that overlap"));
            }
            bytes.extend_from_slice(self.image.take(begin + 16, n)?);
        }
        Image { bytes: &bytes, big: self.image.big }
            .values(0, kind, count)
            .map_err(|fault| Fault { at: at as u64, what: fault.what })
    }
}
