//! Tiles of columns whose order a persistent kernel keeps by itself.

use super::StructuredIluOptions;
use super::stencil::{DeviceStencil, Grids};
use crate::Storage;
use crate::factor::{FINDINGS, device_source};
use crate::gpu::GpuError;
use chromaflow_device::cuda::{
    DeviceBuffer, Kernel, KernelSource, Module, Read, Share, Stream, Watch, Write,
};
use chromaflow_device::{kernel_arguments, kernel_elements, kernel_record};
use std::sync::Arc;

/// A kernel file behind what all of them share.
macro_rules! text {
    ($($name:literal),*) => {
        concat!(include_str!("pencil.cu"), $("\n#line 1 \"", $name, "\"\n", include_str!($name)),*)
    };
}

/// Bytes of the three couplings of a cell with its lower or upper neighbors (`couplings.cuh`).
pub(super) fn coupling_bytes(nb: usize, storage: Storage) -> usize {
    let q = nb * nb;
    match storage {
        Storage::F64 => 24 * q,
        Storage::F32 => (12 * q).next_multiple_of(16),
        Storage::F16 | Storage::Bf16 => ((6 * q).next_multiple_of(4) + 4).next_multiple_of(16),
    }
}

/// Shared memory that a thread block may have on devices of compute capability 9.
const SHARED_BYTES: usize = 227 << 10;

/// Which kernels work on a tile, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PencilKernel {
    /// The passes of an apply by warps that solve, copy and receive.
    PassesWarps,
    /// The passes by a thread block a cell: large blocks.
    PassesBlocks,
    /// The factorization by a lane a row of a cell.
    FactorRows,
    /// The factorization by warps that multiply, invert and copy.
    FactorWarps,
    /// The factorization by a thread block a cell: large blocks.
    FactorBlocks,
}

/// How a kernel cuts grid blocks: columns of cells along i, `j` x `k` of them a tile, and how many steps ahead blocks are
/// fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pencil {
    /// Who works on it.
    pub kernel: PencilKernel,
    /// Columns along j.
    pub j: usize,
    /// Columns along k.
    pub k: usize,
    /// Stages of the copies.
    pub stages: usize,
    /// Warps that copy, where some do nothing else.
    pub copiers: usize,
    /// How the passes have the couplings.
    pub storage: Storage,
}

/// Values that a cell takes in shared memory (`APART` in the kernels).
fn apart(values: usize, nb: usize) -> usize {
    values.next_multiple_of(16) + nb.next_multiple_of(2)
}

impl Pencil {
    fn columns(self) -> usize {
        self.j * self.k
    }

    fn threads(self, nb: usize) -> usize {
        let rows = self.columns().div_ceil(32 / nb.min(32));
        32 * match self.kernel {
            PencilKernel::FactorRows => rows,
            PencilKernel::PassesWarps => rows + self.copiers + ((self.j + self.k) * nb).div_ceil(32),
            PencilKernel::PassesBlocks => match nb {
                ..=12 => 2,
                13..=16 => 4,
                _ => 8,
            },
            PencilKernel::FactorWarps => {
                rows + self.columns().div_ceil(32 / (3 * nb.div_ceil(2))) + self.copiers
            }
            PencilKernel::FactorBlocks => nb.div_ceil(8).pow(2),
        }
    }

    /// Bytes of shared memory.
    fn shared(self, nb: usize) -> usize {
        let (q, row, columns, faces) = (nb * nb, nb.next_multiple_of(2), self.columns(), self.j + self.k);
        8 * match self.kernel {
            PencilKernel::PassesWarps => {
                let staged = apart(coupling_bytes(nb, self.storage) / 8 + q, nb);
                columns * (self.stages * staged + 3 * row) + 2 * faces * row + q + row
            }
            PencilKernel::PassesBlocks => 0,
            PencilKernel::FactorRows => {
                let block = apart(q, nb);
                columns * (2 * apart(7 * q, nb) + 2 * block + 3 * row) + faces * block + q + row
            }
            PencilKernel::FactorWarps => {
                let block = apart(nb * row, nb);
                columns * (self.stages * apart(7 * q, nb) + 5 * block) + faces * block
            }
            PencilKernel::FactorBlocks => {
                let (side, stride) = (nb.div_ceil(8), (nb + 3) / 8 * 8 + 4);
                20 * nb * stride + 2 * (2 * side + 1) * 96 + 16 * side * side
            }
        }
    }

    /// Tiles that fit a multiprocessor, the largest of a kernel first: what tuning tries.
    pub fn candidates(nb: usize, factor: bool, storage: Storage) -> Vec<Pencil> {
        use PencilKernel::{FactorBlocks, FactorRows, FactorWarps, PassesBlocks, PassesWarps};
        const SIDES: [(usize, usize); 14] = [
            (8, 8),
            (8, 6),
            (6, 6),
            (8, 4),
            (6, 5),
            (5, 5),
            (6, 4),
            (4, 4),
            (4, 3),
            (3, 3),
            (4, 2),
            (2, 2),
            (2, 1),
            (1, 1),
        ];
        // Tiles of so many columns at the least and at the most.
        let tiles = |kernel, least: usize, most: usize, stages: &[usize], copiers: &[usize]| {
            let mut all = Vec::new();
            for &(j, k) in SIDES.iter().filter(|(j, k)| (least..=most).contains(&(j * k))) {
                for &stages in stages {
                    let of = |&copiers| Pencil { kernel, j, k, stages, copiers, storage };
                    all.extend(copiers.iter().map(of));
                }
            }
            all
        };
        let mut all = match (factor, nb) {
            (true, ..=3) => Vec::new(),
            (true, 4..=8) => tiles(FactorWarps, 8, 12, &[3, 4], &[2, 3, 4, 5, 6]),
            (true, _) => tiles(FactorBlocks, 1, 1, &[2], &[0]),
            (false, ..=8) => tiles(PassesWarps, 1, 25, &[4, 3], &[2, 4, 6]),
            (false, _) => tiles(PassesBlocks, 1, 1, &[4, 3, 2], &[0]),
        };
        if factor {
            all.extend(tiles(FactorRows, 1, 64, &[2], &[0]));
        }
        all.into_iter().filter(|p| p.shared(nb) <= SHARED_BYTES - 1024 && p.threads(nb) <= 1024).collect()
    }

    /// The tile for grid blocks of these sizes on a device of so many multiprocessors, from measurements on an H200
    /// (`bench/block-ilu-h200.md`): others where blocks are so many that all multiprocessors are busy anyway; the first candidate
    /// that fits a device with little shared memory.
    fn choose(
        nb: usize,
        factor: bool,
        storage: Storage,
        grids: &Grids,
        (multiprocessors, shared): (usize, usize),
    ) -> Pencil {
        let tiles = |j: usize, k: usize| -> usize {
            grids.dims.iter().map(|d| d[1].div_ceil(j) * d[2].div_ceil(k)).sum()
        };
        let busy = tiles(4, 2) >= 8 * multiprocessors;
        // A tile of a planar grid is as long as others are wide.
        let flat = |axis: usize| grids.dims.iter().all(|d| d[axis] == 1);
        let of = |kernel, j: usize, k: usize, stages, copiers| {
            let [j, k] = if flat(2) { [j * k, 1] } else { [j, k] };
            let [j, k] = if flat(1) { [1, j * k] } else { [j, k] };
            Pencil { kernel, j, k, stages, copiers, storage }
        };
        let preferred = match (factor, busy, nb) {
            (true, false, 4 | 8) => of(PencilKernel::FactorWarps, 4, 2, 3, 2),
            (true, false, 5) => of(PencilKernel::FactorWarps, 3, 3, 4, 3),
            (true, false, 6) => of(PencilKernel::FactorWarps, 3, 3, 3, 4),
            (true, false, 7) => of(PencilKernel::FactorWarps, 4, 2, 4, 4),
            (true, true, 4..=5) => of(PencilKernel::FactorRows, 6, 4, 2, 0),
            (true, true, 8) => of(PencilKernel::FactorRows, 2, 2, 2, 0),
            (true, true, ..=8) => of(PencilKernel::FactorRows, 4, 2, 2, 0),
            (true, false, ..=8) => of(PencilKernel::FactorRows, 5, 5, 2, 0),
            (true, _, _) => of(PencilKernel::FactorBlocks, 1, 1, 2, 0),
            (false, true, ..=8) => of(PencilKernel::PassesWarps, 5, 5, 4, 6),
            (false, false, ..=6) => of(PencilKernel::PassesWarps, 4, 3, 4, 6),
            (false, false, 7..=8) => of(PencilKernel::PassesWarps, 4, 3, 4, 4),
            (false, _, _) => of(PencilKernel::PassesBlocks, 1, 1, 3, 0),
        };
        let fits = |p: &Pencil| p.shared(nb) + 1024 <= shared;
        if fits(&preferred) {
            return preferred;
        }
        let all = Pencil::candidates(nb, factor, storage);
        *all.iter().find(|p| fits(p)).or(all.last()).expect("a single column fits for all sizes")
    }

    fn source(self, nb: usize) -> KernelSource {
        let (name, text) = match self.kernel {
            PencilKernel::PassesWarps => ("passes_warps", text!("couplings.cuh", "passes_warps.cu")),
            PencilKernel::PassesBlocks => ("passes_blocks", text!("couplings.cuh", "passes_blocks.cu")),
            PencilKernel::FactorRows => ("factor_rows", text!("factor_rows.cu")),
            PencilKernel::FactorWarps => ("factor_warps", text!("factor_warps.cu")),
            PencilKernel::FactorBlocks => ("factor_blocks", text!("factor_blocks.cu")),
        };
        device_source(name, text, nb)
            .records::<(PoisonTiles, FactorTiles, PassTiles)>()
            .define("TJ", self.j)
            .define("TK", self.k)
            .define("STAGES", self.stages)
            .define("COPIERS", self.copiers)
            .define("FACTORS", self.storage as u32)
    }
}

kernel_elements! {
    /// First cell and cells of the grid block, first column; two words unused.
    struct TileWords: "Tile" in u32;
}

kernel_record! {
    struct PoisonTiles { table: Read<TileWords>, inverse: Write<f64> }
    struct FactorTiles {
        tiles: u32, table: Read<TileWords>, tickets: Share<u32>, lower: Read<f64>, diag: Read<f64>,
        upper: Read<f64>, inverse: Share<f64>, shift: f64, guard: i32, findings: Share<u32>,
    }

    /// y = D^-1 (b - L y), or x = y - D^-1 U x without b; what has been read is poisoned.
    struct PassTiles {
        tiles: u32, table: Read<TileWords>, tickets: Share<u32>, couplings: Read<u8>, inverse: Read<f64>,
        b: Watch<f64>, y: Share<f64>, x: Share<f64>,
    }
}

/// Sources for a block size: those that are chosen on a large device, or all candidates.
pub(super) fn pencil_sources(nb: usize, candidates: bool) -> Vec<KernelSource> {
    let mut all: Vec<Pencil> = Vec::new();
    for factor in [true, false] {
        if candidates {
            all.extend(Pencil::candidates(nb, factor, Storage::F64));
            continue;
        }
        for cells in [8, 65, 1000] {
            let grids = Grids::new(&[[cells, cells, cells]]).expect("not too many cells");
            for storage in [Storage::F64, Storage::F32, Storage::F16] {
                let pencil = Pencil::choose(nb, factor, storage, &grids, (132, SHARED_BYTES));
                if !all.contains(&pencil) && (!factor || storage == Storage::F64) {
                    all.push(pencil);
                }
            }
        }
    }
    all.into_iter().map(|pencil| pencil.source(nb)).collect()
}

/// First cell and cells of the grid block, first column; two words unused.
pub(super) type Tile = [u32; 8];

/// Tiles in an order in which none comes before one that it needs: those that wait for fewer others first.
pub(super) fn tiles(grids: &Grids, pencil: Pencil) -> Vec<Tile> {
    let mut all = Vec::new();
    for (&first, &[ni, nj, nk]) in grids.first.iter().zip(&grids.dims) {
        if ni == 0 {
            continue;
        }
        for k in (0..nk).step_by(pencil.k) {
            for j in (0..nj).step_by(pencil.j) {
                let depth = j / pencil.j + k / pencil.k;
                all.push((depth, [first, ni, nj, nk, j, k, 0, 0].map(|n| n as u32)));
            }
        }
    }
    all.sort_by_key(|(depth, _)| *depth);
    all.into_iter().map(|(_, tile)| tile).collect()
}

/// One cut of the grid blocks with its kernels.
struct Cut {
    pencil: Pencil,
    module: Arc<Module>,
    tiles: usize,
    table: DeviceBuffer<u32>,
    /// The next ticket, and how many thread blocks are done: zero between launches.
    tickets: DeviceBuffer<u32>,
}

impl Cut {
    fn new(stream: &Stream, grids: &Grids, nb: usize, pencil: Pencil) -> Result<Self, GpuError> {
        let table = tiles(grids, pencil);
        Ok(Self {
            pencil,
            module: stream.gpu().module(&pencil.source(nb))?,
            tiles: table.len(),
            table: stream.upload(table.as_flattened())?,
            tickets: DeviceBuffer::zeroed(stream, 2)?,
        })
    }

    /// A kernel, and how many of its thread blocks run at once.
    fn kernel(&self, name: &str, nb: usize) -> Result<(Kernel, usize), GpuError> {
        let (kernel, threads, shared) =
            (self.module.kernel(name)?, self.pencil.threads(nb), self.pencil.shared(nb));
        kernel.allow_shared(shared)?;
        let here = kernel.blocks_per_multiprocessor(threads, shared)?;
        Ok((kernel, here.max(1)))
    }
}

/// The schedule on the device.
pub(super) struct Pencils {
    stream: Stream,
    nb: usize,
    factor: Cut,
    passes: Cut,
    factor_kernel: (Kernel, usize),
    forward_kernel: (Kernel, usize),
    backward_kernel: (Kernel, usize),
    /// The solution of the forward pass; where tiles wait for it, poisoned between solves.
    y: DeviceBuffer<f64>,
}

impl Pencils {
    pub fn new(
        stream: &Stream,
        grids: &Grids,
        nb: usize,
        storage: Storage,
        given: Option<[Pencil; 2]>,
    ) -> Result<Self, GpuError> {
        let facts = stream.gpu().facts();
        let device = (facts.multiprocessors, facts.shared_bytes);
        let [factor, passes] = given.unwrap_or_else(|| {
            let factor = Pencil::choose(nb, true, Storage::F64, grids, device);
            [factor, Pencil::choose(nb, false, storage, grids, device)]
        });
        if passes.storage != storage {
            let what = format!("passes over factors in {:?} where these are in {storage:?}", passes.storage);
            return Err(GpuError::Unsupported(what));
        }
        let factor = Cut::new(stream, grids, nb, factor)?;
        let passes = Cut::new(stream, grids, nb, passes)?;
        let mut y = DeviceBuffer::uninitialized(stream, grids.cells() * nb)?;
        y.fill_bytes(0xff)?;
        Ok(Self {
            stream: stream.clone(),
            nb,
            factor_kernel: factor.kernel("pencil_factor", nb)?,
            forward_kernel: passes.kernel("pencil_forward", nb)?,
            backward_kernel: passes.kernel("pencil_backward", nb)?,
            factor,
            passes,
            y,
        })
    }

    pub fn pencils(&self) -> [Pencil; 2] {
        [self.factor.pencil, self.passes.pencil]
    }

    fn blocks(&self, cut: &Cut, here: usize) -> usize {
        cut.tiles.min(here * self.stream.gpu().facts().multiprocessors)
    }

    pub fn factor(
        &self,
        a: &DeviceStencil,
        options: StructuredIluOptions,
        inverse: &DeviceBuffer<f64>,
        findings: &DeviceBuffer<u32>,
    ) -> Result<(), GpuError> {
        debug_assert_eq!(findings.len(), FINDINGS);
        let (cut, (kernel, here)) = (&self.factor, &self.factor_kernel);
        let poison = kernel_arguments!(PoisonTiles { table: &cut.table, inverse });
        let arguments = kernel_arguments! { FactorTiles {
            tiles: cut.tiles as u32, table: &cut.table, tickets: &cut.tickets, lower: &a.lower, diag: &a.diag,
            upper: &a.upper, inverse, shift: options.shift, guard: options.pivot_guard, findings,
        } };
        let launch = kernel.launch(self.blocks(cut, *here), cut.pencil.threads(self.nb));
        // SAFETY: `a` and `inverse` were checked to hold all cells, and tiles name cells within them; the kernel waits only
        // for tiles of earlier tickets, which thread blocks that run already hold.
        unsafe {
            let kernel = cut.module.kernel("pencil_poison")?;
            kernel.launch(cut.tiles, 128).record(&poison).enqueue(&self.stream)?;
            launch.shared(cut.pencil.shared(self.nb)).record(&arguments).enqueue(&self.stream)?;
        }
        Ok(())
    }

    /// `couplings`: where those with lower and with upper neighbors lie.
    pub fn solve(
        &self,
        couplings: [Read<u8>; 2],
        inverse: &DeviceBuffer<f64>,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let cut = &self.passes;
        let passes = [(&self.forward_kernel, b.into()), (&self.backward_kernel, Watch::NONE)];
        for (((kernel, here), b), couplings) in passes.into_iter().zip(couplings) {
            let arguments = kernel_arguments! { PassTiles {
                tiles: cut.tiles as u32, table: &cut.table, tickets: &cut.tickets, couplings, inverse, b,
                y: &self.y, x,
            } };
            let launch = kernel.launch(self.blocks(cut, *here), cut.pencil.threads(self.nb));
            let launch = launch.shared(cut.pencil.shared(self.nb)).record(&arguments);
            // SAFETY: as in `factor`; vectors were checked, too.
            unsafe { launch.enqueue(&self.stream)? };
        }
        Ok(())
    }
}
