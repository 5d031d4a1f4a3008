//! From a case file to a mesh and a checked configuration.

use super::unstructured::Way;
use crate::case::{Case, CaseFile, Source};
use crate::context::Backend;
use crate::error::{CliError, CliResult};
use crate::mesh::STRAIGHT;
use chromaflow_flow::FlowConfig;
use chromaflow_flow::config::Boundary;
use chromaflow_flow::mesh::{self, Counts, Mesh, MeshError, Planar, ReadOptions};
use std::path::{Path, PathBuf};

/// A case that can be run.
pub struct Prepared {
    /// The text, for errors.
    pub source: Source,
    /// The case file.
    pub case: CaseFile,
    /// Where the mesh was found.
    pub mesh_path: PathBuf,
    /// The mesh, scaled and refined; of one that ranks read by slices the boundary.
    pub mesh: Mesh,
    /// What was left out of the mesh, or assumed, as it was read.
    pub notes: Vec<String>,
    /// How much the whole mesh has of everything.
    pub counts: Counts,
    /// How several ranks came to the mesh, and why.
    pub way: Option<Way>,
    /// The solver's configuration.
    pub config: FlowConfig,
    /// How stretched the mesh is, where that decided on the preconditioner: [`chromaflow_flow::stretching`].
    pub stretching: Option<f64>,
}

/// Reads a case file, applies `sets` (`section.key=value`), chooses for the backend what they leave open, reads its mesh, checks
/// everything.
///
/// # Errors
/// Status 2 with the place of what is wrong.
pub fn prepare(path: &Path, sets: &[String], backend: Backend) -> CliResult<Prepared> {
    match Case::read(path, sets, backend)? {
        (source, Case::Unstructured(case)) => prepare_mesh(source, case, 0),
        (source, other) => {
            let (path, title) = (source.path.display(), other.kind().title());
            Err(CliError::input(format!("{path} is {title}: expected one of a mesh")))
        }
    }
}

/// The same of a case that was read; the mesh is checked on so many threads (0: one per core that this process may use).
///
/// # Errors
/// As [`prepare`].
pub fn prepare_mesh(source: Source, mut case: CaseFile, threads: usize) -> CliResult<Prepared> {
    case.check(&source)?;
    let mesh_path = case.mesh_path(&source)?;
    let options = ReadOptions { threads, ..case.read_options(&source)? };
    let (mut mesh, mut notes) = mesh::read_with_notes(&mesh_path, &options)?;
    if case.mesh.refine > 0 {
        notes.push(format!("mesh.refine: {STRAIGHT}"));
    }
    for _ in 0..case.mesh.refine {
        mesh = mesh::refine(&mesh).map_err(|e| source.error(&["mesh", "refine"], &e.to_string()))?;
    }
    let scale = case.mesh.scale.0;
    if scale != 1.0 {
        for x in mesh.nodes.iter_mut().flatten() {
            *x *= scale;
        }
        if let Some(planar) = &mut mesh.planar {
            planar.depth *= scale;
        }
    }
    let markers: Vec<_> = mesh.markers.iter().map(|m| (m.name.clone(), known(m))).collect();
    if let Some(message) = case.without_condition(&mesh, |_| false) {
        return Err(source.error(&["boundary"], &message).noted(&notes));
    }
    let stretching = case.choose_on_mesh(&mesh, threads);
    // A marker that the mesh does not have may have been left out.
    let mut config =
        case.config(&source, &markers, mesh.planar.is_some()).map_err(|error| error.noted(&notes))?;
    config.lines = case.read_lines(&source, &mesh)?;
    let counts = Counts::of(&mesh);
    Ok(Prepared { source, case, mesh_path, mesh, notes, counts, way: None, config, stretching })
}

/// The condition that a mesh file itself gives: the planes of a planar mesh, FUN3D's codes of a `.mapbc` file.
pub fn known(marker: &mesh::Marker) -> Option<Boundary> {
    if [Planar::FRONT, Planar::BACK].contains(&marker.name.as_str()) {
        return Some(Boundary::Symmetry);
    }
    if marker.partner.is_some() {
        return Some(Boundary::Periodic);
    }
    match marker.code? {
        3000 => Some(Boundary::SlipWall),
        4000 => Some(Boundary::NoSlipAdiabatic),
        5000 | 5025 | 5050 => Some(Boundary::Farfield),
        5005 | 5026 => Some(Boundary::Extrapolation),
        6661..=6663 => Some(Boundary::Symmetry),
        mesh::periodic::CODE => Some(Boundary::Periodic),
        _ => None, // inlets and outlets need values
    }
}

impl From<MeshError> for CliError {
    fn from(error: MeshError) -> Self {
        match error {
            MeshError::File(file) => file.into(),
            other => CliError::input(other.to_string()),
        }
    }
}
