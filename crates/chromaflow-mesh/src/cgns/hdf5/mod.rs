//! As much of HDF5 as CGNS files are made of: groups of old and new style, attributes of text, arrays of whole and
//! real numbers, contiguous, compact, or in chunks that may be packed.
//!
//! **Source**: The HDF Group, *HDF5 File Format Specification*, version 3.0.

mod chunks;
mod filters;
mod group;
mod object;

use super::tree::{DEPTH, Fault, Image, MOST, Node, Values, is_left_out};
use object::Object;

/// Whether a file begins as one.
pub(super) fn is_hdf5(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x89HDF\r\n\x1a\n")
}

/// Reads the tree, without what no mesh needs.
pub(super) fn read(bytes: &[u8]) -> Result<Node, Fault> {
    read_tree(bytes, false)
}

/// Reads the whole tree.
#[cfg(test)]
pub(super) fn read_all(bytes: &[u8]) -> Result<Node, Fault> {
    read_tree(bytes, true)
}

fn read_tree(bytes: &[u8], all: bool) -> Result<Node, Fault> {
    let image = Image { bytes, big: false };
    let version = image.number(8, 1)?;
    let (sizes, root) = match version {
        0 | 1 => (13, 24 + 8 * 4 + 8 + if version == 1 { 4 } else { 0 }),
        2 | 3 => (9, 36),
        _ => return Err(Fault::new(8, format!("HDF5 superblock version {version}: 0 to 3 are read"))),
    };
    if image.take(sizes, 2)? != [8, 8] {
        return Err(Fault::new(
            sizes,
            "an HDF5 file whose places are not of 8 bytes: rewrite it with `h5repack`",
        ));
    }
    let root = image.place(root, 8)?;
    let mut reader = Reader { image, nodes: 0, all };
    reader.node("/", root, 0)
}

struct Reader<'a> {
    image: Image<'a>,
    /// Solutions too.
    all: bool,
    nodes: usize,
}

impl Reader<'_> {
    fn node(&mut self, name: &str, at: usize, depth: usize) -> Result<Node, Fault> {
        self.nodes += 1;
        if depth > DEPTH || self.nodes > MOST {
            return Err(Fault::new(at, "a tree deeper or larger than any: it is damaged"));
        }
        let object = Object::read(self.image, at)?;
        let mut node = Node { name: name.to_owned(), at: at as u64, ..Node::default() };
        node.label = object.text("label").unwrap_or_default();
        if object.text("type").as_deref() == Some("LK") {
            return Err(node
                .fault("a link to another file or node: write the file whole, such as by `cgnsconvert -l`"));
        }
        if !self.all && is_left_out(&node.label) {
            return Ok(node);
        }
        let mut links = object.links(self.image)?;
        links.sort_by(|a, b| (a.order, &a.name).cmp(&(b.order, &b.name)));
        for link in links {
            if link.name == " data" {
                (node.values, node.dims) = Object::read(self.image, link.at)?.data(self.image)?;
            } else if !link.name.starts_with(' ') {
                node.children.push(self.node(&link.name, link.at, depth + 1)?);
            }
        }
        // Text is stored as numbers of one byte.
        if let (Some("C1"), Values::Ints(_)) = (object.text("type").as_deref(), &node.values) {
            return Err(node.fault("text of wide characters"));
        }
        Ok(node)
    }
}
