//! What stands where in a restart file: its header, and ranges of its arrays.

use super::{Restart, RestartError};
use chromaflow::files::{FileError, RangeReader};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

const FORMAT: &str = "chromaflow-restart-1";
pub const COORDINATES: &str = "coordinates";
/// No header of ours comes near this; a larger length means another format.
const MAX_HEADER: u64 = 1 << 24;

/// Facts and arrays of a restart of so many nodes. Arrays stand one after another, `[nodes, components]` in f64, little-endian.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    pub facts: BTreeMap<String, f64>,
    /// Names and numbers of components, in the order of the file.
    pub arrays: Vec<(String, usize)>,
    pub nodes: usize,
}

impl Layout {
    /// Takes in facts and fields of another restart of the mesh.
    pub fn extend(&mut self, more: &Restart) {
        self.facts.extend(more.facts.clone());
        self.arrays.extend(more.fields.iter().map(|field| (field.name.clone(), field.components)));
    }

    /// Length and text of the header; `fingerprint` as [`super::fingerprint`].
    pub fn header(&self, fingerprint: u64) -> Vec<u8> {
        let mut header = Map::new();
        let mut meta = Map::new();
        meta.insert("format".into(), FORMAT.into());
        meta.insert("mesh".into(), format!("{fingerprint:016x}").into());
        for (name, value) in &self.facts {
            meta.insert(format!("fact.{name}"), value.to_string().into());
        }
        header.insert("__metadata__".into(), meta.into());
        let mut offset = 0;
        for (name, components) in &self.arrays {
            let end = offset + 8 * self.nodes * components;
            let entry =
                json!({ "dtype": "F64", "shape": [self.nodes, components], "data_offsets": [offset, end] });
            header.insert(name.clone(), entry);
            offset = end;
        }
        let mut text = Value::Object(header).to_string();
        text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));
        [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
    }

    /// Where the nodes of a range begin in each array, behind a header of so many bytes, and after them the end of the file.
    pub fn offsets(widths: &[usize], nodes: usize, header: u64, from: usize) -> Vec<u64> {
        let mut array = header;
        let mut offsets = Vec::with_capacity(widths.len() + 1);
        for &width in widths {
            offsets.push(array + 8 * (from * width) as u64);
            array += 8 * (nodes * width) as u64;
        }
        offsets.push(array);
        offsets
    }
}

/// A restart file of a mesh of so many nodes that is being read.
pub struct Stored {
    pub layout: Layout,
    header: u64,
    file: RangeReader,
    path: PathBuf,
}

impl Stored {
    /// Opens it and reads its header. Of planar meshes nodes are on two `planes`, of which users see one.
    ///
    /// # Errors
    /// Not a restart file, or of another number of nodes.
    pub fn open(path: &Path, nodes: usize, planes: usize) -> Result<Self, RestartError> {
        let bad = |what: &str| RestartError::Format { path: path.to_owned(), what: what.to_owned() };
        let mut file = RangeReader::open(path)?;
        let io = |e| RestartError::from(FileError::new("cannot read", path, e));
        let length = file.read_at(0, 8).map_err(io)?;
        let length = u64::from_le_bytes(length.try_into().map_err(|_| bad("it is shorter than a header"))?);
        if length > MAX_HEADER {
            return Err(bad("its header has an impossible length"));
        }
        let text = file.read_at(8, length).map_err(io)?;
        let header: Value =
            serde_json::from_slice(&text).map_err(|e| bad(&format!("its header is no JSON ({e})")))?;
        let meta = &header["__metadata__"];
        if meta["format"].as_str() != Some(FORMAT) {
            return Err(bad("its header does not say so"));
        }
        let mut entries = Vec::new();
        for (name, entry) in header.as_object().into_iter().flatten().filter(|(k, _)| *k != "__metadata__") {
            let number = |pointer: &str| entry.pointer(pointer).and_then(Value::as_u64);
            let (Some(found), Some(components), Some(from), Some(to)) = (
                number("/shape/0"),
                number("/shape/1"),
                number("/data_offsets/0"),
                number("/data_offsets/1"),
            ) else {
                return Err(bad(&format!("array `{name}` has no shape")));
            };
            if found != nodes as u64 {
                let planes = if found % planes as u64 == 0 { planes } else { 1 };
                let (found, nodes) = (found / planes as u64, nodes / planes);
                let what = format!("it has {found} nodes, the mesh {nodes}");
                return Err(RestartError::OtherMesh { path: path.to_owned(), what });
            }
            let expected = found.checked_mul(components).and_then(|x| x.checked_mul(8));
            if components > 64 || to.checked_sub(from) != expected || entry["dtype"] != "F64" {
                return Err(bad(&format!("array `{name}` has an impossible size")));
            }
            entries.push((from, name.clone(), components as usize));
        }
        entries.sort();
        let mut layout = Layout { nodes, ..Layout::default() };
        let mut at = 0;
        for (from, name, components) in entries {
            if from != at {
                return Err(bad("its arrays overlap or have gaps"));
            }
            at += 8 * (nodes * components) as u64;
            layout.arrays.push((name, components));
        }
        for (name, value) in meta.as_object().into_iter().flatten() {
            if let Some(name) = name.strip_prefix("fact.") {
                let value = value.as_str().and_then(|v| v.parse().ok());
                layout.facts.insert(name.into(), value.ok_or_else(|| bad("a fact is no number"))?);
            }
        }
        if !layout.arrays.iter().any(|(name, components)| name == COORDINATES && *components == 3) {
            return Err(bad("it has no coordinates"));
        }
        Ok(Self { layout, header: 8 + length, file, path: path.to_owned() })
    }

    /// Reads the nodes of a range of all arrays, in their order.
    ///
    /// # Errors
    /// When the file ends before, or cannot be read.
    pub fn arrays(mut self, range: &Range<usize>) -> Result<Vec<Vec<f64>>, RestartError> {
        let Layout { arrays, nodes, .. } = &self.layout;
        let widths: Vec<usize> = arrays.iter().map(|(_, components)| *components).collect();
        let offsets = Layout::offsets(&widths, *nodes, self.header, range.start);
        let mut all = Vec::with_capacity(arrays.len());
        for ((name, components), offset) in arrays.iter().zip(offsets) {
            let size = 8 * (range.len() * components) as u64;
            let bytes = self.file.read_at(offset, size);
            let bytes = bytes.map_err(|e: io::Error| FileError::new("cannot read", &self.path, e))?;
            if bytes.len() as u64 != size {
                let what = format!("it ends inside `{name}`");
                return Err(RestartError::Format { path: self.path, what });
            }
            all.push(bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect());
        }
        Ok(all)
    }
}
