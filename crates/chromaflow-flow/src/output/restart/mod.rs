//! Restart files: fields by name and the place of each node, so that a run goes on after a change of the mesh's node
//! order, of the coloring, of the number of threads.
//!
//! The layout is that of safetensors: 8 bytes with the length of a JSON header, the header, the arrays (f64,
//! little-endian). Python reads it with `safetensors.numpy.load_file`.

mod layout;

pub(crate) use layout::{COORDINATES, Layout, Stored};

use super::Field;
use crate::mesh::{Mesh, mixed};
use chromaflow::files::{AtomicFile, FileError};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a run needs to go on.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Restart {
    /// Facts by name: iteration, cfl, time and so on. Numbers are written so that they read back exactly.
    pub facts: BTreeMap<String, f64>,
    /// The fields, in the order of the mesh's nodes.
    pub fields: Vec<Field>,
}

/// What came of going on from a restart file.
#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    /// Its facts, and the fields that were asked for, on the nodes of the mesh; all of them where there is one rank.
    pub restart: Restart,
    /// Unknowns that it does not have: they stay as they are.
    pub missing: Vec<String>,
    /// Whether its steady flow was another one, of another stream, gas, model, condition or flux: its state is a guess, and iterations and residuals
    /// count anew.
    pub other_flow: bool,
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

impl RestartError {
    /// That it has no node where the mesh has one.
    pub(crate) fn no_node(path: &Path, [x, y, z]: [f64; 3], node: usize) -> Self {
        let what = format!("it has no node at ({x}, {y}, {z}), where the mesh has node {node}");
        Self::OtherMesh { path: path.to_owned(), what }
    }
}

/// A number that says which mesh this is whatever the order of its nodes: the sum of a hash of each node's place.
pub fn fingerprint(nodes: &[[f64; 3]]) -> u64 {
    (nodes.len() as u64).wrapping_add(hash_of(nodes))
}

/// What some nodes of a mesh add to its [`fingerprint`], which begins with their number.
pub(crate) fn hash_of(nodes: &[[f64; 3]]) -> u64 {
    nodes.iter().fold(0, |sum, p| sum.wrapping_add(hash_of_place(&bits(p))))
}

/// A hash of a place.
pub(crate) fn hash_of_place(place: &[u64; 3]) -> u64 {
    place.iter().fold(0x9E37_79B9_7F4A_7C15, |h: u64, &b| mixed(h ^ b))
}

/// A place as bits that compare equal where the numbers do (0.0 and -0.0 alike).
pub(crate) fn bits(p: &[f64; 3]) -> [u64; 3] {
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

    /// Its facts, and its arrays of a mesh of so many nodes, coordinates first.
    pub(crate) fn layout(&self, nodes: usize) -> Layout {
        let fields = self.fields.iter().map(|field| (field.name.clone(), field.components));
        let arrays = std::iter::once((COORDINATES.to_owned(), 3)).chain(fields).collect();
        Layout { facts: self.facts.clone(), arrays, nodes }
    }

    /// Takes in facts and fields of another.
    pub fn extend(&mut self, more: Self) {
        self.facts.extend(more.facts);
        self.fields.extend(more.fields);
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
        let header = self.layout(n).header(fingerprint(&mesh.nodes));
        let mut file = AtomicFile::create(path)?;
        let mut body = || -> io::Result<()> {
            file.write_all(&header)?;
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
        let planes = if mesh.planar.is_some() { 2 } else { 1 };
        let stored = Stored::open(path, mesh.nodes.len(), planes)?;
        let Layout { facts, arrays, nodes } = stored.layout.clone();
        let named = arrays.into_iter().zip(stored.arrays(&(0..nodes))?);
        let (places, fields): (Vec<_>, Vec<_>) = named
            .map(|((name, components), values)| Field { name, components, values })
            .partition(|field| field.name == COORDINATES);
        let mut restart = Self { facts, fields };
        restart.reorder(path, &places[0].values, mesh)?;
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
                return Err(RestartError::no_node(path, *p, i));
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
