//! Restart files: fields by name and the place of each node, so that a run goes on after a change of the mesh's node
//! order, of the coloring, of the number of threads.
//!
//! The layout is that of safetensors: 8 bytes with the length of a JSON header, the header, the arrays (f64,
//! little-endian). Python reads it with `safetensors.numpy.load_file`.

use super::Field;
use crate::mesh::Mesh;
use chromaflow::files::{AtomicFile, FileError};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const FORMAT: &str = "chromaflow-restart-1";
const COORDINATES: &str = "coordinates";
/// No header of ours comes near this; a larger length means another format.
const MAX_HEADER: u64 = 1 << 24;

/// What a run needs to go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restart {
    /// Facts by name: iteration, cfl, time and so on. Numbers are written so that they read back exactly.
    pub facts: BTreeMap<String, f64>,
    /// The fields, in the order of the mesh's nodes.
    pub fields: Vec<Field>,
}

/// Why a restart file does not serve.
#[derive(Debug, thiserror::Error)]
pub enum RestartError {
    /// It cannot be read.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is not a restart file, or not a whole one.
    #[error("{path} is not a restart file of this program: {what}")]
    Format {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// It belongs to another mesh.
    #[error(
        "{path} belongs to another mesh: {what}; start without it, or give the mesh that it was written with"
    )]
    OtherMesh {
        /// The file.
        path: PathBuf,
        /// How the meshes differ.
        what: String,
    },
}

/// A number that says which mesh this is whatever the order of its nodes: the sum of a hash of each node's place.
pub fn fingerprint(nodes: &[[f64; 3]]) -> u64 {
    let mix = |z: u64| {
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    };
    let hash = |p: &[f64; 3]| bits(p).iter().fold(0x9E37_79B9_7F4A_7C15, |h: u64, &b| mix(h ^ b));
    nodes.iter().fold(nodes.len() as u64, |sum, p| sum.wrapping_add(hash(p)))
}

/// A place as bits that compare equal where the numbers do (0.0 and -0.0 alike).
fn bits(p: &[f64; 3]) -> [u64; 3] {
    p.map(|x| (x + 0.0).to_bits())
}

impl Restart {
    /// Sets a fact.
    pub(crate) fn set(&mut self, name: &str, value: f64) {
        self.facts.insert(name.to_owned(), value);
    }

    /// A fact that is a positive number.
    pub(crate) fn positive(&self, name: &str) -> Option<f64> {
        self.facts.get(name).copied().filter(|v| v.is_finite() && *v > 0.0)
    }

    /// A field by name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|f| f.name == name)
    }

    /// Writes the file; an older one of that name stays until the new one is complete.
    ///
    /// # Errors
    /// When it cannot be written (disk full): the older file is untouched then.
    ///
    /// # Panics
    /// If a field is not as long as the mesh.
    pub fn write(&self, path: &Path, mesh: &Mesh) -> Result<(), FileError> {
        let n = mesh.nodes.len();
        let mut header = Map::new();
        let mut meta = Map::new();
        meta.insert("format".into(), FORMAT.into());
        meta.insert("mesh".into(), format!("{:016x}", fingerprint(&mesh.nodes)).into());
        for (name, value) in &self.facts {
            meta.insert(format!("fact.{name}"), value.to_string().into());
        }
        header.insert("__metadata__".into(), meta.into());
        let mut offset = 0;
        let shapes = std::iter::once((COORDINATES, 3))
            .chain(self.fields.iter().map(|f| (f.name.as_str(), f.components)));
        for (name, components) in shapes {
            let end = offset + 8 * n * components;
            let entry = json!({ "dtype": "F64", "shape": [n, components], "data_offsets": [offset, end] });
            header.insert(name.into(), entry);
            offset = end;
        }
        let mut text = Value::Object(header).to_string();
        text.push_str(&" ".repeat(text.len().next_multiple_of(8) - text.len()));

        let mut file = AtomicFile::create(path)?;
        let mut body = || -> io::Result<()> {
            file.write_all(&(text.len() as u64).to_le_bytes())?;
            file.write_all(text.as_bytes())?;
            mesh.nodes.iter().flatten().try_for_each(|x| file.write_all(&x.to_le_bytes()))?;
            for field in &self.fields {
                assert_eq!(field.values.len(), n * field.components, "field {}", field.name);
                field.values.iter().try_for_each(|x| file.write_all(&x.to_le_bytes()))?;
            }
            Ok(())
        };
        body().map_err(|e| FileError::new("cannot write", path, e))?;
        file.commit()
    }

    /// Reads a file and brings its fields into the order of this mesh's nodes, which are found by their coordinates.
    ///
    /// # Errors
    /// Not a restart file, cut short, or of another mesh.
    pub fn read(path: &Path, mesh: &Mesh) -> Result<Self, RestartError> {
        let bad = |what: &str| RestartError::Format { path: path.to_owned(), what: what.to_owned() };
        let mut file = chromaflow::files::open(path)?;
        let io = |e| RestartError::from(FileError::new("cannot read", path, e));
        let mut length = [0; 8];
        file.read_exact(&mut length).map_err(|_| bad("it is shorter than a header"))?;
        let length = u64::from_le_bytes(length);
        if length > MAX_HEADER {
            return Err(bad("its header has an impossible length"));
        }
        let mut text = Vec::new();
        file.by_ref().take(length).read_to_end(&mut text).map_err(io)?;
        let header: Value =
            serde_json::from_slice(&text).map_err(|e| bad(&format!("its header is no JSON ({e})")))?;
        let meta = &header["__metadata__"];
        if meta["format"].as_str() != Some(FORMAT) {
            return Err(bad("its header does not say so"));
        }
        let n = mesh.nodes.len();
        let mut entries = Vec::new();
        for (name, entry) in header.as_object().into_iter().flatten().filter(|(k, _)| *k != "__metadata__") {
            let number = |pointer: &str| entry.pointer(pointer).and_then(Value::as_u64);
            let (Some(nodes), Some(components), Some(from), Some(to)) = (
                number("/shape/0"),
                number("/shape/1"),
                number("/data_offsets/0"),
                number("/data_offsets/1"),
            ) else {
                return Err(bad(&format!("array `{name}` has no shape")));
            };
            if nodes != n as u64 {
                let what = format!("it has {nodes} nodes, the mesh {n}");
                return Err(RestartError::OtherMesh { path: path.to_owned(), what });
            }
            let expected = nodes.checked_mul(components).and_then(|x| x.checked_mul(8));
            if components > 64 || to.checked_sub(from) != expected || entry["dtype"] != "F64" {
                return Err(bad(&format!("array `{name}` has an impossible size")));
            }
            entries.push((from, name.clone(), components as usize));
        }
        entries.sort();
        let mut restart = Self::default();
        let mut at = 0;
        for (from, name, components) in entries {
            if from != at {
                return Err(bad("its arrays overlap or have gaps"));
            }
            let mut bytes = Vec::new();
            let size = 8 * n as u64 * components as u64;
            file.by_ref().take(size).read_to_end(&mut bytes).map_err(io)?;
            if bytes.len() as u64 != size {
                return Err(bad(&format!("it ends inside `{name}`")));
            }
            at += size;
            let values = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().expect("8 bytes")));
            restart.fields.push(Field { name, components, values: values.collect() });
        }
        for (name, value) in meta.as_object().into_iter().flatten() {
            if let Some(name) = name.strip_prefix("fact.") {
                let value = value.as_str().and_then(|v| v.parse().ok());
                restart.facts.insert(name.into(), value.ok_or_else(|| bad("a fact is no number"))?);
            }
        }
        let place = restart.fields.iter().position(|f| f.name == COORDINATES && f.components == 3);
        let place = place.ok_or_else(|| bad("it has no coordinates"))?;
        let coordinates = restart.fields.remove(place).values;
        restart.reorder(path, &coordinates, mesh)?;
        restart.fields.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(restart)
    }

    /// Brings fields whose nodes lie at `coordinates` into the mesh's order.
    fn reorder(&mut self, path: &Path, coordinates: &[f64], mesh: &Mesh) -> Result<(), RestartError> {
        if coordinates == mesh.nodes.as_flattened() {
            return Ok(());
        }
        // Nodes at one place (both sides of a slit) are taken in their order in the file.
        let mut at: HashMap<[u64; 3], Vec<usize>> = HashMap::with_capacity(mesh.nodes.len());
        for (i, p) in coordinates.as_chunks::<3>().0.iter().enumerate().rev() {
            at.entry(bits(p)).or_default().push(i);
        }
        let mut source = Vec::with_capacity(mesh.nodes.len());
        for (i, p) in mesh.nodes.iter().enumerate() {
            let Some(from) = at.get_mut(&bits(p)).and_then(Vec::pop) else {
                let what =
                    format!("it has no node at ({}, {}, {}), where the mesh has node {i}", p[0], p[1], p[2]);
                return Err(RestartError::OtherMesh { path: path.to_owned(), what });
            };
            source.push(from);
        }
        for field in &mut self.fields {
            let c = field.components;
            field.values = source.iter().flat_map(|&i| field.values[i * c..][..c].iter().copied()).collect();
        }
        Ok(())
    }
}
