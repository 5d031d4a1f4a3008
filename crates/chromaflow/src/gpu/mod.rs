//! What device algorithms share: types of storage, the assembled matrix on the device, vectors.
//!
//! Kernels are CUDA C++ text without headers: [`common.cuh`](self) and the kernel's own file, compiled by NVRTC with
//! block size, storage and tile as constants.

pub(crate) mod arguments;
mod halo;
mod jacobian;
mod plain;
mod vectors;

pub use crate::policy::Storage;
pub use halo::{Between, Path, ShareCuda, Wish};
pub(crate) use halo::{Direct, FoldsCuda, Ghosts, MAIL, Posts};
pub use jacobian::{DeviceJacobian, DeviceOff, NarrowReport, Scaling};
pub(crate) use jacobian::{global_scale, largest_of, scale_of};
pub use plain::PlainSweep;
pub use vectors::Vectors;

use crate::relax::RelaxError;
use crate::sparse::ShapeError;
use crate::sparse::cuda::{Mode, Tile};
use chromaflow_device::cuda::{CudaError, KernelSource};

/// Why a device algorithm could not be set up or run.
#[derive(Debug, thiserror::Error)]
pub enum GpuError {
    /// The device or one of its libraries.
    #[error(transparent)]
    Cuda(#[from] CudaError),
    /// Arrays of the wrong shape.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// Misuse of a relaxation.
    #[error(transparent)]
    Relax(#[from] RelaxError),
    /// Another pattern or block size than this was set up for.
    #[error("this was set up for another pattern or block size: make a new one for every pattern")]
    OtherMatrix,
    /// Between ranks.
    #[error(transparent)]
    Ranks(#[from] chromaflow_comm::CommError),
    /// Rows cannot pass between the devices of ranks as is wished for.
    #[error(
        "there is no way for rows between GPUs: {why}; or have them pass through the host, which is slow: --halo staged"
    )]
    NoWay {
        /// What stands in the way of each.
        why: String,
    },
    /// No values yet.
    #[error("the matrix has no values yet: set them first")]
    NoValues,
    /// A combination there is no kernel for.
    #[error("{0}")]
    Unsupported(String),
}

const COMMON: &str = include_str!("common.cuh");

/// A kernel file behind what all of them share.
pub(crate) fn source(name: &'static str, text: &str, storage: Storage) -> KernelSource {
    KernelSource::new(name, format!("{COMMON}\n#line 1 \"{name}.cu\"\n{text}"))
        .define("STORAGE", storage.code())
}

/// The tiles of sweeps whose kernels are built ahead.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tiles {
    /// That of large matrices.
    Largest,
    /// Those of matrices of any size.
    Chosen,
    /// All that tuning tries.
    Candidates,
}

/// Sources of the kernels of the relaxations for a block size, for building ahead.
pub fn kernel_sources(nb: usize, storage: Storage, tiles: Tiles) -> Vec<KernelSource> {
    let tiles = match tiles {
        Tiles::Largest => vec![Tile::choose(nb, storage, usize::MAX, 1)],
        Tiles::Chosen => Tile::all(nb, storage),
        Tiles::Candidates => {
            [1, 40, 1000].into_iter().flat_map(|rows| Tile::candidates(nb, storage, rows)).collect()
        }
    };
    let mut sources: Vec<KernelSource> = Vec::new();
    let all = tiles.iter().flat_map(|tile| {
        let inverts = crate::relax::invert_source(tile, nb, storage);
        let awaits = tile.is_sliced().then(|| tile.source(nb, storage, Mode::AwaitSweep));
        tile.sources(nb, storage).into_iter().chain(awaits).chain([inverts])
    });
    let all = all.chain([plain::plain_source(nb)]).chain(crate::relax::line_sources(nb, storage));
    for source in all {
        if !sources.iter().any(|s| s.name == source.name && s.options == source.options) {
            sources.push(source);
        }
    }
    sources
}

/// Sources of the kernels that know no block size, for building ahead.
pub fn vector_sources() -> Vec<KernelSource> {
    let vectors = [Storage::F64, Storage::F32].into_iter().map(vectors::vector_source);
    vectors.chain([crate::solver::transfer_source(), halo::kernel_source()]).collect()
}

/// A device's stream for a test, or a skip that is counted.
#[cfg(test)]
pub(crate) fn test_stream() -> Option<chromaflow_device::cuda::Stream> {
    let stream = chromaflow_device::cuda::Gpu::open(0).and_then(|gpu| gpu.stream());
    chromaflow_testkit::available("gpu", stream)
}
