//! Which engines there are, which one a batch gets, and how its kernel is launched.

use super::arguments::{Thomas, WholeLines};
use super::chunks;
use crate::tridiag::{Layout, Shape, TridiagError};
use chromaflow_device::cuda::KernelSource;
use std::fmt;
use std::str::FromStr;

/// The largest rank that the kernels are compiled for: 16 lanes own a column of a block each.
pub const MAX_GPU_RANK: usize = 16;
/// The largest rank whose blocks fit the registers of one thread.
const MAX_THREAD_RANK: usize = 8;
/// The largest rank of parallel cyclic reduction: a thread holds three blocks.
const MAX_PCR_RANK: usize = 4;

/// Dynamic shared memory that a block may ask for on any device since compute capability 9 (less elsewhere is an error of
/// the driver that names the limit).
const SHARED_BYTES: usize = 227 << 10;

/// For each rank, type of sums and order of data the letters of the fastest engines: groups for 16, 32 .. 2048 rows, in each a letter
/// for 128, 256 .. 16384 systems.
const CHOICE: &str = include_str!("choice.txt");

/// How a batch is solved on a GPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GpuEngine {
    /// By shape, from measurements (see [`GpuEngine::choose`]).
    #[default]
    Auto,
    /// One thread a system.
    Thomas,
    /// One thread a scalar system, factors on the chip.
    ScalarThomas,
    /// One thread block a system.
    CyclicReduction,
    /// One thread block a system, one thread a row.
    ParallelCyclicReduction,
    /// One warp a scalar system: Thomas inside its lanes, parallel cyclic reduction between them.
    Warp,
    /// Lines cut into chunks, a few lanes a chunk.
    Chunks,
}

impl GpuEngine {
    /// The engines.
    pub const ALL: [GpuEngine; 7] = [
        GpuEngine::Auto,
        GpuEngine::Thomas,
        GpuEngine::ScalarThomas,
        GpuEngine::CyclicReduction,
        GpuEngine::ParallelCyclicReduction,
        GpuEngine::Warp,
        GpuEngine::Chunks,
    ];

    /// The name on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            GpuEngine::Auto => "auto",
            GpuEngine::Thomas => "thomas",
            GpuEngine::ScalarThomas => "thomas-scalar",
            GpuEngine::CyclicReduction => "cr",
            GpuEngine::ParallelCyclicReduction => "pcr",
            GpuEngine::Warp => "warp",
            GpuEngine::Chunks => "chunks",
        }
    }

    /// The order of data that the engine reads as it lies; other ones are rearranged on the device first.
    pub fn layout(self) -> Layout {
        match self {
            GpuEngine::Auto | GpuEngine::Thomas | GpuEngine::ScalarThomas => Layout::Soa,
            _ => Layout::Aos,
        }
    }

    /// Whether the engine solves lines of this shape with arrays and sums of so many bytes a number.
    pub fn takes(self, shape: Shape, periodic: bool, sizes: [usize; 2]) -> bool {
        (!periodic || self == GpuEngine::Chunks) && Plan::new(self, shape, sizes).is_ok()
    }

    /// The engine for batches of a shape in an order of data (None: the one that the engine reads) and sums of `bytes` bytes: the
    /// fastest of the nearest batch measured on an H200 (`choice.txt`, which `chromaflow-papers tridiag --survey` writes), the time to
    /// rearrange data included. Periodic lines and ranks above 8 are for the chunks alone.
    pub fn choose(shape: Shape, layout: Option<Layout>, periodic: bool, bytes: usize) -> GpuEngine {
        if periodic || shape.rank > MAX_THREAD_RANK {
            return GpuEngine::Chunks;
        }
        let order = match layout {
            Some(Layout::Soa) => "soa",
            Some(Layout::Aos) => "aos",
            _ => "any",
        };
        let name = format!("{} {} {order} ", shape.rank, if bytes == 4 { "f32" } else { "f64" });
        let grid = CHOICE.lines().find_map(|line| line.strip_prefix(&name)).unwrap_or_default();
        let nearest = |value: usize, first: usize| {
            (value.max(1) as f64 / first as f64).log2().round().clamp(0.0, 7.0) as usize
        };
        let (row, column) = (nearest(shape.rows, 16), nearest(shape.systems, 128));
        // What is best for shorter lines may have no room for these.
        let codes = [row, row + 1].map(|row| grid.split(' ').nth(row).and_then(|g| g.chars().nth(column)));
        let engines =
            codes.into_iter().filter_map(|code| Self::ALL.into_iter().find(|e| Some(e.code()) == code));
        // Lines longer than all that were measured: few of them are cut.
        let long = if shape.systems <= 2048 { GpuEngine::Chunks } else { GpuEngine::Thomas };
        engines.into_iter().find(|e| e.takes(shape, false, [bytes; 2])).unwrap_or(long)
    }

    /// The engine's letter in `choice.txt`.
    pub fn code(self) -> char {
        match self {
            GpuEngine::Auto => '-',
            GpuEngine::Thomas => 't',
            GpuEngine::ScalarThomas => 's',
            GpuEngine::CyclicReduction => 'c',
            GpuEngine::ParallelCyclicReduction => 'p',
            GpuEngine::Warp => 'w',
            GpuEngine::Chunks => 'k',
        }
    }
}

impl fmt::Display for GpuEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for GpuEngine {
    type Err = TridiagError;
    fn from_str(s: &str) -> Result<Self, TridiagError> {
        GpuEngine::ALL.into_iter().find(|e| e.name() == s).ok_or(TridiagError::Unsupported {
            method: "the GPU",
            what: "this method",
            remedy: "auto, thomas, thomas-scalar, cr, pcr, warp or chunks",
        })
    }
}

/// Launch shape of an engine that is one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub engine: GpuEngine,
    pub threads: usize,
    pub blocks: usize,
    pub shared: usize,
    stages: usize,
    share: usize,
    most_share: usize,
    lane_rows: usize,
}

impl Plan {
    /// For arrays and sums of so many bytes a number.
    pub fn new(engine: GpuEngine, shape: Shape, [store, sum]: [usize; 2]) -> Result<Self, TridiagError> {
        let unsupported = |what, remedy| TridiagError::Unsupported { method: engine.name(), what, remedy };
        let scalar = matches!(engine, GpuEngine::ScalarThomas | GpuEngine::Warp);
        if scalar && shape.rank > 1 {
            return Err(unsupported("blocks", "thomas, cr or chunks"));
        }
        let pcr = engine == GpuEngine::ParallelCyclicReduction;
        if shape.rank > MAX_THREAD_RANK && engine != GpuEngine::Chunks || pcr && shape.rank > MAX_PCR_RANK {
            return Err(unsupported("blocks of this rank", "chunks"));
        }
        let (rows, systems) = (shape.rows, shape.systems);
        let base = Self {
            engine,
            threads: 128,
            blocks: systems,
            shared: 0,
            stages: 2,
            share: 1,
            most_share: 1,
            lane_rows: 1,
        };
        let (odd_block, odd_vector) = (shape.block() | 1, shape.rank | 1);
        let plan = match engine {
            // Rows stream through shared memory: as many ahead as two blocks of a multiprocessor have room for.
            GpuEngine::Auto | GpuEngine::Thomas => {
                let row = (3 * shape.block() + shape.rank) * store;
                let threads = if systems >= 8192 && row * 128 * 2 <= SHARED_BYTES { 128 } else { 32 };
                let stages = if row * threads * 3 <= SHARED_BYTES / 2 { 3 } else { 2 };
                let shared = row * threads * stages;
                Self { threads, blocks: systems.div_ceil(threads), shared, stages, ..base }
            }
            GpuEngine::ScalarThomas => {
                Self { threads: 64, blocks: systems.div_ceil(64), shared: 2 * rows * 64 * sum, ..base }
            }
            GpuEngine::CyclicReduction => {
                // Measured on an H200: scalars want one thread a row, blocks several, more as rows get fewer.
                let (share, most_share) = match shape.rank {
                    1 => (1, 1),
                    2..=4 => (4, 4),
                    _ => (2, 16),
                };
                let threads = match shape.rank {
                    1 if rows <= 64 => 32,
                    1 if rows <= 128 => 64,
                    5.. if rows <= 64 => 64,
                    _ => 128,
                };
                let shared = rows * (3 * odd_block + odd_vector) * sum;
                Self { threads, shared, share, most_share, ..base }
            }
            GpuEngine::ParallelCyclicReduction => {
                let threads = rows.next_power_of_two().max(32);
                // The registers of a multiprocessor, shared by a block's threads.
                if threads > if shape.rank == 1 { 1024 } else { 256 } {
                    return Err(unsupported("lines of so many rows", "cr or chunks"));
                }
                Self { threads, shared: rows * (2 * odd_block + odd_vector) * sum, ..base }
            }
            GpuEngine::Warp => {
                let lane_rows = rows.div_ceil(32).next_power_of_two();
                if lane_rows * sum > 128 {
                    return Err(unsupported("lines of so many rows", "cr or chunks"));
                }
                Self { threads: 64, blocks: systems.div_ceil(2), lane_rows, ..base }
            }
            GpuEngine::Chunks => Self { blocks: 0, ..base },
        };
        if plan.shared > SHARED_BYTES {
            return Err(unsupported("lines that exceed shared memory", "chunks"));
        }
        Ok(plan)
    }

    /// The kernel's text and constants, and its entry; of chunks, whose entries are several, the text alone.
    pub fn source(&self, rank: usize, types: [&'static str; 2]) -> (KernelSource, &'static str) {
        let (name, text, entry) = match self.engine {
            GpuEngine::Auto | GpuEngine::Thomas => {
                ("tridiag_thomas", include_str!("thomas.cu"), "thomas_thread")
            }
            GpuEngine::ScalarThomas => ("tridiag_scalar", include_str!("scalar.cu"), "thomas_scalar"),
            GpuEngine::Warp => ("tridiag_warp", include_str!("warp.cu"), "warp_scalar"),
            GpuEngine::CyclicReduction => ("tridiag_cr", include_str!("reduction.cu"), "cyclic_reduction"),
            GpuEngine::ParallelCyclicReduction => {
                ("tridiag_pcr", include_str!("parallel.cu"), "parallel_cyclic_reduction")
            }
            GpuEngine::Chunks => ("tridiag_chunks", include_str!("chunks.cu"), ""),
        };
        let (block, lines) = (crate::block::BLOCK_CUH, include_str!("lines.cuh"));
        let text = format!("{block}\n#line 1 \"lines.cuh\"\n{lines}\n#line 1 \"{name}.cu\"\n{text}");
        let source = KernelSource::new(name, text)
            .define("STORE", types[0])
            .define("REAL", types[1])
            .define("NB", rank);
        let source = match self.engine {
            GpuEngine::Auto | GpuEngine::Thomas => {
                source.record::<Thomas>().define("STAGES", self.stages).define("THREADS", self.threads)
            }
            GpuEngine::Chunks => chunks::with_records(source).define("THREADS", chunks::THREADS),
            _ => source.record::<WholeLines>(),
        };
        let source = match self.engine {
            GpuEngine::ScalarThomas => source
                .define("THREADS", self.threads)
                .define("AHEAD", if types[1] == "double" { 8 } else { 16 }),
            GpuEngine::CyclicReduction => source
                .define("THREADS", self.threads)
                .define("SHARE", self.share)
                .define("MOST_SHARE", self.most_share),
            GpuEngine::ParallelCyclicReduction => source.define("THREADS", self.threads),
            GpuEngine::Warp => source.define("LANE_ROWS", self.lane_rows),
            GpuEngine::Auto | GpuEngine::Thomas | GpuEngine::Chunks => source,
        };
        (source, entry)
    }
}

/// A number's type in kernels.
pub(super) fn c_type<V>() -> &'static str {
    if size_of::<V>() == 8 { "double" } else { "float" }
}

/// The texts for blocks of rank `rank`, for building ahead.
pub fn kernel_sources(rank: usize) -> Vec<KernelSource> {
    let mut sources: Vec<KernelSource> = Vec::new();
    for (types, sizes) in
        [(["float", "float"], [4, 4]), (["double", "double"], [8, 8]), (["float", "double"], [4, 8])]
    {
        let lengths: &[usize] = if rank == 1 { &[32, 64, 128, 256, 512, 1024] } else { &[32, 64, 128, 256] };
        for (systems, &rows) in [512, 16384].into_iter().flat_map(|s| lengths.iter().map(move |n| (s, n))) {
            for engine in GpuEngine::ALL {
                if let Ok(plan) = Plan::new(engine, Shape::new(systems, rows, rank), sizes)
                    && rank <= MAX_GPU_RANK
                {
                    sources.push(plan.source(rank, types).0);
                }
            }
        }
        if rank == 1 {
            sources.push(super::convert::source(types[0]));
        }
    }
    let mut known = std::collections::BTreeSet::new();
    sources.retain(|s| known.insert((s.name, s.options.join(" "))));
    sources
}
