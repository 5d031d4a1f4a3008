//! How several ranks come to a mesh: the first reads it whole, or each its slices.

use super::refused;
use crate::case::{CaseFile, PrecondName, Reading, Source, is_of_hexahedra};
use crate::error::{CliError, CliResult};
use crate::run::over_ranks;
use crate::run::prepare::{Prepared, known};
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::march::FlowError;
use chromaflow_flow::mesh::Slices;
use chromaflow_flow::ranks::Sliced;
use chromaflow_flow::unstructured::Ranks;
use std::sync::Arc;

/// Nodes from which a mesh is read by slices where the case does not say: what one rank can hold, order and cut in minutes and some 80 GB.
const MANY: usize = 100_000_000;

/// How several ranks came to a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The first rank read it whole and cut its graph; of a large mesh, what stood in the way of slices.
    Whole(Option<&'static str>),
    /// Each rank read its slices.
    Slices,
}

impl Way {
    /// For the second line of a run.
    pub fn text(self) -> String {
        match self {
            Self::Whole(None) => ", mesh cut by rank 0".to_owned(),
            Self::Whole(Some(why)) => format!(", mesh cut by rank 0 (no slices: {why})"),
            Self::Slices => ", mesh in slices along a Hilbert curve".to_owned(),
        }
    }

    /// Chosen by the first rank, for all; collective where there are several.
    ///
    /// # Errors
    /// Status 2 where the case asks for slices of what has none; status 3 when another rank has failed.
    pub fn choose(source: &Source, case: &CaseFile, ranks: Option<&Ranks>) -> CliResult<Self> {
        let asked = case.mesh.reading;
        let Some(Ranks { ranks, .. }) = ranks.filter(|ranks| ranks.ranks.size() > 1) else {
            return if asked == Reading::Slices {
                Self::of_first(source, case)
            } else {
                Ok(Self::Whole(None))
            };
        };
        let mut told = Vec::new();
        let mut own = Self::Whole(None);
        if ranks.rank() == 0 {
            own = Self::of_first(source, case)?;
            told = vec![u8::from(own == Self::Slices)];
        }
        let lost = |e: chromaflow_comm::CommError| CliError::environment(e.to_string());
        ranks.barrier_patiently().map_err(lost)?;
        ranks.broadcast(0, &mut told).map_err(lost)?;
        Ok(if told == [1] { Self::Slices } else { own })
    }

    fn of_first(source: &Source, case: &CaseFile) -> CliResult<Self> {
        if case.mesh.reading == Reading::Whole {
            return Ok(Self::Whole(None));
        }
        case.check(source)?;
        let path = case.mesh_path(source)?;
        // The nodes of a mesh that is large take more than a few bytes each, and texts are read to be counted.
        let may_be_large = std::fs::metadata(&path).is_ok_and(|file| file.len() > 24 * MANY as u64);
        if case.mesh.reading == Reading::Auto && !may_be_large {
            return Ok(Self::Whole(None));
        }
        let slices = Slices::open(&path, &case.read_options(source)?);
        let found = slices.as_ref().ok().map(Slices::counts);
        // Where the case names none, slices have factors in their place.
        let lines = case.linear.precond == PrecondName::Lines
            || case.mesh.reading == Reading::Auto
                && case.linear.open
                && found.as_ref().is_some_and(is_of_hexahedra);
        let output = &case.output;
        let samples =
            !(output.averages.is_empty() && output.probes.is_empty() && output.volume_means.is_empty());
        let reasons = [
            (case.mesh.refine > 0, ["mesh", "refine"], "refinement"),
            (lines, ["linear", "precond"], "lines, which cross the mesh"),
            (
                output.volume && !output.pieces,
                ["output", "pieces"],
                "the field in one file: output.pieces = true",
            ),
            (!output.formats.is_empty(), ["output", "formats"], "further files of the field"),
            (!output.profiles.is_empty(), ["output", "profiles"], "profiles"),
            (samples, ["output", "averages"], "means and probes"),
            (output.matrix > 0, ["output", "matrix"], "the linear system"),
        ];
        let reason = reasons.into_iter().find(|(there, ..)| *there);
        match (case.mesh.reading, reason, found) {
            (Reading::Slices, Some((_, [section, key], what)), _) => {
                let text = format!(
                    "{what}: mesh.reading = \"slices\" leaves no rank with the whole mesh, which this wants; change it, or leave out \
                     mesh.reading"
                );
                Err(source.error(&[section, key], &text))
            }
            // What is wrong with the file, all ranks say alike.
            (Reading::Slices, None, _) => Ok(Self::Slices),
            (_, None, Some(counts)) if counts.nodes > MANY => Ok(Self::Slices),
            (_, Some((.., what)), Some(counts)) if counts.nodes > MANY => Ok(Self::Whole(Some(what))),
            _ => Ok(Self::Whole(None)),
        }
    }
}

/// A rank's part of a case by slices: the solver, and the case with the boundary as its mesh; collective.
///
/// # Errors
/// As [`super::run`].
pub fn prepare(
    source: Source,
    case: CaseFile,
    team: &Arc<Team>,
    ranks: Ranks,
    ready: impl FnOnce(&chromaflow_flow::FlowConfig),
) -> CliResult<(Prepared, FlowSolver)> {
    case.check(&source)?;
    let found = case.mesh_path(&source);
    over_ranks::same_mesh(&*ranks.ranks, &source, found.as_deref().ok())?;
    let mesh_path = found?;
    let sliced = Sliced::read(&*ranks.ranks, &mesh_path, &case.read_options(&source)?);
    let mut sliced = sliced.map_err(|e| refused(&source, &FlowError::Sliced(e)))?;
    sliced.scale(case.mesh.scale.0);
    let markers: Vec<_> = sliced.markers().iter().map(|m| (m.name.clone(), known(m))).collect();
    let config = case.config(&source, &markers, sliced.is_planar())?;
    let counts = sliced.counts();
    ready(&config);
    let solver = FlowSolver::over_slices(sliced, config.clone(), Arc::clone(team), ranks);
    let solver = solver.map_err(|e| refused(&source, &e))?;
    let mesh = solver.surface().cloned().unwrap_or_default();
    let way = Some(Way::Slices);
    let notes = Vec::new();
    Ok((Prepared { source, case, mesh_path, mesh, notes, counts, way, config, stretching: None }, solver))
}
