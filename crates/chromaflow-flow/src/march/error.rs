//! A set-up that cannot be run.

use crate::bc::Motion;
use crate::grid::GridError;
use crate::mesh::periodic::PeriodicError;
use crate::output::RestartError;
use crate::ranks::{FilesError, SlicedError};
use chromaflow::dist::ShareError;
use chromaflow::files::FileError;
use chromaflow_comm::CommError;
use std::borrow::Cow;

/// Why a flow solver could not be made.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// A marker of the mesh without a boundary condition.
    #[error("marker `{marker}` has no boundary condition; give it one (the mesh's markers are {all})")]
    MissingBoundary {
        /// Its name.
        marker: String,
        /// All markers of the mesh.
        all: String,
    },
    /// A boundary condition for a marker that the mesh does not have.
    #[error(
        "there is a boundary condition for marker `{marker}`, which the mesh does not have (its markers are {all})"
    )]
    UnknownMarker {
        /// Its name.
        marker: String,
        /// All markers of the mesh.
        all: String,
    },
    /// Periodic sides that do not fit.
    #[error(transparent)]
    Periodic(Box<PeriodicError>),
    /// A moving wall that would move through the flow.
    #[error(
        "the wall `{marker}` moves through itself: {through:.3} of its velocity is across it; a moving wall slides along itself \
         (a belt) or turns about its axis (a cylinder)"
    )]
    MovingWall {
        /// Its name.
        marker: String,
        /// Share of the velocity across the wall.
        through: f64,
    },
    /// A condition that a solver does not have.
    #[error("`{marker}` is a {condition}, which {solver} does not have: expected {expected}")]
    Unsupported {
        /// The marker.
        marker: String,
        /// The condition's word.
        condition: &'static str,
        /// The solver.
        solver: &'static str,
        /// What to use instead.
        expected: &'static str,
    },
    /// A marker that is asked for something that it cannot give.
    #[error("there is no marker `{name}` of this kind; there are {known:?}")]
    NoMarker {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A boundary condition gives too few or too many values.
    #[error(
        "marker `{name}`: {found} values are given, expected {expected} (the velocity, or the whole state, and one for each scalar)"
    )]
    Values {
        /// The marker.
        name: String,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// A number out of its range.
    #[error("{name} = {value}: {expected}")]
    Value {
        /// Which number.
        name: Cow<'static, str>,
        /// What it is.
        value: f64,
        /// What it should be.
        expected: &'static str,
    },
    /// A control volume that is not positive.
    #[error("the control volume of node {node} at {at:?} is {volume:e}: an element there is inside out")]
    Volume {
        /// Node in the file's order.
        node: usize,
        /// Its coordinates.
        at: [f64; 3],
        /// The volume.
        volume: f64,
    },
    /// The grid.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// Blanked points.
    #[error(
        "block {block}, point {at:?}: IBLANK is {value}; this solver computes every cell of its blocks: cut blanked regions out into \
         blocks of their own, with walls around them"
    )]
    Blanked {
        /// The block.
        block: usize,
        /// The first such point.
        at: [usize; 3],
        /// What is there.
        value: i32,
    },
    /// An unknown that no system beside the flow has.
    #[error("no system beside the flow has an unknown `{name}`; there are {known:?}")]
    NoUnknown {
        /// Its name.
        name: String,
        /// Those that there are.
        known: Vec<String>,
    },
    /// A value at a marker that cannot have one.
    #[error(
        "`{name}` has a value at `{marker}`, which is a {condition}: values are given at walls and open boundaries"
    )]
    NoValueThere {
        /// The unknown.
        name: String,
        /// The marker.
        marker: String,
        /// Its boundary condition.
        condition: &'static str,
    },
    /// A distance from walls where there are none.
    #[error(
        "none of the markers {markers} is a wall without slip, which turbulence models need the distance from: give a marker \
         the condition no_slip or moving_wall (wall in incompressible flow), or choose laminar or inviscid flow"
    )]
    NoWall {
        /// All markers of the mesh.
        markers: String,
    },
    /// Turbulence without viscosity.
    #[error(
        "there is a turbulence model in inviscid flow, which has no boundary layers: choose viscous equations, or no model"
    )]
    TurbulenceInviscid,
    /// A hybrid with large eddies that does not fit the rest of the turbulence model.
    #[error("turbulence.hybrid: {problem}")]
    Hybrid {
        /// Why, and what to do.
        problem: &'static str,
    },
    /// An option of a turbulence model that it, or the run, has no place for.
    #[error("turbulence.{key}: {problem}")]
    TurbulenceOption {
        /// Which one, as in case files.
        key: &'static str,
        /// Why, and what to do.
        problem: &'static str,
    },
    /// A restart field that is missing or has the wrong length.
    #[error("restart field `{field}` {problem}")]
    Restart {
        /// Its name.
        field: String,
        /// What is wrong.
        problem: String,
    },
    /// The GPU or one of its libraries.
    #[cfg(feature = "cuda")]
    #[error(transparent)]
    Gpu(#[from] chromaflow::gpu::GpuError),
    /// Between ranks.
    #[error(transparent)]
    Ranks(#[from] CommError),
    /// A piece of the fields that its rank could not write.
    #[error("the piece of rank {rank}: {problem}")]
    Piece {
        /// The first such rank.
        rank: usize,
        /// What went wrong.
        problem: String,
    },
    /// A restart file that cannot be written or read, or is of another mesh.
    #[error(transparent)]
    Files(FilesError),
    /// A rank's rows.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// What is not computed over ranks.
    #[error("{what} is computed by one rank alone: leave out --ranks and mpirun, or {remedy}")]
    NotOverRanks {
        /// What was asked for.
        what: String,
        /// What to do instead.
        remedy: &'static str,
    },
    /// A mesh that ranks read by slices.
    #[error(transparent)]
    Sliced(#[from] SlicedError),
    /// More ranks than blocks.
    #[error(
        "{ranks} ranks, but the grid has {blocks} {}, and a rank computes whole blocks: ask for {blocks} or fewer, or cut the grid with \
         grid.split (lines end at interfaces: steps by lines change where blocks are cut)",
        if *blocks == 1 { "block" } else { "blocks" }
    )]
    FewBlocks {
        /// Blocks.
        blocks: usize,
        /// Ranks.
        ranks: usize,
    },
    /// What is not the same in every sector of a mesh with turned periodic sides.
    #[error(
        "periodic sides are turned about the axis {axis:?}, and {what} is not the same in every sector: {remedy}"
    )]
    NotTurned {
        /// What.
        what: String,
        /// The axis.
        axis: [f64; 3],
        /// What to do instead.
        remedy: &'static str,
    },
    /// A matrix that the linear solver refuses.
    #[error("linear solver: {0}")]
    Linear(String),
}

/// Refuses a wall of whose velocity the part `through` goes through it, more than the facets of a curved one may have.
pub(crate) fn slides(marker: &str, through: f64) -> Result<(), FlowError> {
    if through > Motion::MOST_THROUGH {
        return Err(FlowError::MovingWall { marker: marker.to_owned(), through });
    }
    Ok(())
}

#[cfg(feature = "cuda")]
impl From<chromaflow_device::cuda::CudaError> for FlowError {
    fn from(error: chromaflow_device::cuda::CudaError) -> Self {
        Self::Gpu(error.into())
    }
}

impl From<FilesError> for FlowError {
    fn from(error: FilesError) -> Self {
        match error {
            FilesError::Ranks(error) => Self::Ranks(error),
            file => Self::Files(file),
        }
    }
}

impl From<FileError> for FlowError {
    fn from(error: FileError) -> Self {
        Self::Files(FilesError::unwritten(0, error.to_string()))
    }
}

impl From<RestartError> for FlowError {
    fn from(error: RestartError) -> Self {
        Self::Files(FilesError::unread(0, error.to_string()))
    }
}

impl From<PeriodicError> for FlowError {
    fn from(error: PeriodicError) -> Self {
        Self::Periodic(Box::new(error))
    }
}
