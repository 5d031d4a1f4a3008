//! Tiles of columns whose order a persistent kernel keeps by itself.

use super::StructuredIluOptions;
use super::stencil::{DeviceStencil, Grids};
use crate::factor::{FINDINGS, device_source};
use crate::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Module, Stream};
use std::sync::Arc;

/// A kernel file behind what all of them share.
macro_rules! text {
    ($name:literal) => {
        concat!(include_str!("pencil.cu"), "\n#line 1 \"", $name, "\"\n", include_str!($name))
    };
}

/// Shared memory that a thread block may have on devices of compute capability 9.
const SHARED_BYTES: usize = 227 << 10;

/// The tile of a factorization by warps, and how many of them copy: for the block sizes that it was measured for.
const fn by_warps(nb: usize) -> Option<(Pencil, usize)> {
    let (j, k, stages, copiers) = match nb {
        4 | 5 | 8 => (4, 2, 3, 2),
        6 => (4, 3, 4, 3),
        _ => return None,
    };
    Some((Pencil { kernel: PencilKernel::FactorWarps, j, k, stages }, copiers))
}

fn copiers(nb: usize) -> usize {
    by_warps(nb).map_or(0, |(_, copiers)| copiers)
}

/// Which kernels work on a tile, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PencilKernel {
    /// The passes of an apply.
    Passes,
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
            PencilKernel::Passes | PencilKernel::FactorRows => rows,
            PencilKernel::FactorWarps => {
                rows + self.columns().div_ceil(32 / (3 * nb.div_ceil(2))) + copiers(nb)
            }
            PencilKernel::FactorBlocks => nb.div_ceil(8).pow(2),
        }
    }

    /// Bytes of shared memory.
    fn shared(self, nb: usize) -> usize {
        let (q, row, columns, faces) = (nb * nb, nb.next_multiple_of(2), self.columns(), self.j + self.k);
        8 * match self.kernel {
            PencilKernel::Passes => columns * (self.stages * apart(4 * q, nb) + 5 * row) + row,
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

    /// Tiles that fit a multiprocessor, largest first: what tuning tries.
    pub fn candidates(nb: usize, factor: bool) -> Vec<Pencil> {
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
        let kernels: &[(PencilKernel, usize)] = if factor {
            &[(PencilKernel::FactorRows, 2)]
        } else {
            &[(PencilKernel::Passes, 4), (PencilKernel::Passes, 3), (PencilKernel::Passes, 2)]
        };
        let all = SIDES
            .into_iter()
            .flat_map(|(j, k)| kernels.iter().map(move |&(kernel, stages)| Pencil { kernel, j, k, stages }));
        let blocks = Pencil { kernel: PencilKernel::FactorBlocks, j: 1, k: 1, stages: 2 };
        let others = by_warps(nb).map(|w| w.0).into_iter().chain((nb > 8).then_some(blocks));
        let all = others.filter(|_| factor).chain(all);
        let most = if factor { 1024 } else { 512 };
        all.filter(|p| p.shared(nb) <= SHARED_BYTES - 1024 && p.threads(nb) <= most).collect()
    }

    /// The tile for grid blocks of these sizes on a device of so many multiprocessors, from measurements on an H200
    /// (`bench/block-ilu-h200.md`): factorizations by warps for single blocks, by thread blocks for large n; else small tiles where
    /// blocks are so many that all multiprocessors are busy anyway, or the largest of which there are enough.
    fn choose(nb: usize, factor: bool, grids: &Grids, (multiprocessors, shared): (usize, usize)) -> Pencil {
        let tiles = |j: usize, k: usize| -> usize {
            grids.dims.iter().map(|d| d[1].div_ceil(j) * d[2].div_ceil(k)).sum()
        };
        let busy = tiles(4, 2) >= 8 * multiprocessors;
        let mut all = Pencil::candidates(nb, factor);
        all.retain(|p| p.shared(nb) + 1024 <= shared);
        let other = all.iter().find(|p| factor && p.kernel != PencilKernel::FactorRows);
        if let Some(other) = other.filter(|_| nb > 8 || !busy) {
            return *other;
        }
        let (kernel, most) = match (factor, busy, nb) {
            (false, true, _) => (PencilKernel::Passes, 16),
            (false, false, _) => (PencilKernel::Passes, 25),
            (true, true, 4..=5) => (PencilKernel::FactorRows, 24),
            (true, true, 8) => (PencilKernel::FactorRows, 4),
            (true, true, _) => (PencilKernel::FactorRows, 8),
            (true, false, _) => (PencilKernel::FactorRows, 25),
        };
        let fit = |p: &&Pencil| p.kernel == kernel && p.columns() <= most && (factor || p.stages == 4);
        let enough = all.iter().filter(fit).find(|p| tiles(p.j, p.k) >= multiprocessors);
        let smallest = || all.iter().rfind(fit).or(all.last());
        *enough.or_else(smallest).expect("a single column fits for all sizes")
    }

    fn source(self, nb: usize) -> KernelSource {
        let (name, text) = match self.kernel {
            PencilKernel::Passes => ("passes", text!("passes.cu")),
            PencilKernel::FactorRows => ("factor_rows", text!("factor_rows.cu")),
            PencilKernel::FactorWarps => ("factor_warps", text!("factor_warps.cu")),
            PencilKernel::FactorBlocks => ("factor_blocks", text!("factor_blocks.cu")),
        };
        let source = device_source(name, text, nb);
        source
            .define("TJ", self.j)
            .define("TK", self.k)
            .define("STAGES", self.stages)
            .define("COPIERS", copiers(nb))
    }
}

/// Sources for a block size, those that are chosen on a large device.
pub(super) fn pencil_sources(nb: usize) -> Vec<KernelSource> {
    let mut all: Vec<Pencil> = Vec::new();
    for cells in [8, 65, 1000] {
        let grids = Grids::new(&[[cells, cells, cells]]).expect("not too many cells");
        for factor in [true, false] {
            let pencil = Pencil::choose(nb, factor, &grids, (132, SHARED_BYTES));
            if !all.contains(&pencil) {
                all.push(pencil);
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
        given: Option<[Pencil; 2]>,
    ) -> Result<Self, GpuError> {
        let facts = stream.gpu().facts();
        let device = (facts.multiprocessors, facts.shared_bytes);
        let [factor, passes] =
            given.unwrap_or_else(|| [true, false].map(|f| Pencil::choose(nb, f, grids, device)));
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

    pub fn bytes(&self) -> usize {
        self.y.bytes() + self.factor.table.bytes() + self.passes.table.bytes()
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
        // SAFETY: `a` and `inverse` were checked to hold all cells, and tiles name cells within them; the kernel waits only
        // for tiles of earlier tickets, which thread blocks that run already hold.
        unsafe {
            let poison = cut.module.kernel("pencil_poison")?;
            poison.launch(cut.tiles, 128).arg(&cut.table).arg(inverse).enqueue(&self.stream)?;
            kernel
                .launch(self.blocks(cut, *here), cut.pencil.threads(self.nb))
                .shared(cut.pencil.shared(self.nb))
                .arg(cut.tiles as u32)
                .arg(&cut.table)
                .arg(&cut.tickets)
                .arg(&a.lower)
                .arg(&a.diag)
                .arg(&a.upper)
                .arg(inverse)
                .arg(options.shift)
                .arg(i32::from(options.pivot_guard))
                .arg(findings)
                .enqueue(&self.stream)?;
        }
        Ok(())
    }

    pub fn solve(
        &self,
        a: &DeviceStencil,
        inverse: &DeviceBuffer<f64>,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let cut = &self.passes;
        type Values<'a> = &'a DeviceBuffer<f64>;
        let launch = |(kernel, here): &(Kernel, usize), arrays: &[Values<'_>]| {
            let threads = cut.pencil.threads(self.nb);
            let launch = kernel.launch(self.blocks(cut, *here), threads).shared(cut.pencil.shared(self.nb));
            let launch = launch.arg(cut.tiles as u32).arg(&cut.table).arg(&cut.tickets);
            let launch = arrays.iter().fold(launch, |launch, array| launch.arg(*array));
            // SAFETY: as in `factor`; vectors were checked, too.
            unsafe { launch.enqueue(&self.stream) }
        };
        launch(&self.forward_kernel, &[&a.lower, inverse, b, &self.y, x])?;
        launch(&self.backward_kernel, &[&a.upper, inverse, &self.y, x])?;
        Ok(())
    }
}
