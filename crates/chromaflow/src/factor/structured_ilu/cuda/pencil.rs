//! Tiles of columns whose order a persistent kernel keeps by itself.

use super::StructuredIluOptions;
use super::stencil::{DeviceStencil, Grids};
use crate::factor::{FINDINGS, device_source};
use crate::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Module, Stream};
use std::sync::Arc;

const TEXT: &str = include_str!("pencil.cu");

/// Shared memory that a thread block may have on devices of compute capability 9.
const SHARED_BYTES: usize = 227 << 10;

/// How a kernel cuts grid blocks: columns of cells along i, `j` x `k` of them a tile, and how many steps ahead blocks are
/// fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pencil {
    /// Columns along j.
    pub j: usize,
    /// Columns along k.
    pub k: usize,
    /// Stages of the copies of a pass (a factorization has two).
    pub stages: usize,
}

/// Values that a cell takes in shared memory (`APART` in the kernel).
fn apart(values: usize, nb: usize) -> usize {
    values.next_multiple_of(16) + nb.next_multiple_of(2)
}

/// Block sizes whose products in a factorization are the tensor cores' (`TENSOR` in the kernel).
fn tensor(nb: usize) -> bool {
    matches!(nb, 5 | 7 | 8)
}

impl Pencil {
    fn columns(self) -> usize {
        self.j * self.k
    }

    fn threads(self, nb: usize) -> usize {
        self.columns().div_ceil(32 / nb) * 32
    }

    /// Of a factorization: a warp a column where the tensor cores multiply.
    fn factor_threads(self, nb: usize) -> usize {
        if tensor(nb) { 32 * self.columns() } else { self.threads(nb) }
    }

    fn factor_shared(self, nb: usize) -> usize {
        let (q, row) = (nb * nb, nb.next_multiple_of(2));
        let (rows, zeros) = if tensor(nb) { (row, 0) } else { (3 * row, q + row) };
        let per_column = 2 * apart(7 * q, nb) + 2 * apart(q, nb) + rows;
        8 * (self.columns() * per_column + (self.j + self.k) * apart(q, nb) + zeros)
    }

    fn pass_shared(self, nb: usize) -> usize {
        let row = nb.next_multiple_of(2);
        8 * (self.columns() * (self.stages * apart(4 * nb * nb, nb) + 5 * row) + row)
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
        let mut all = Vec::new();
        for (j, k) in SIDES {
            for stages in if factor { [2].as_slice() } else { [4, 3, 2].as_slice() } {
                let pencil = Pencil { j, k, stages: *stages };
                let (shared, threads) = if factor {
                    (pencil.factor_shared(nb), pencil.factor_threads(nb))
                } else {
                    (pencil.pass_shared(nb), pencil.threads(nb))
                };
                if shared <= SHARED_BYTES - 1024 && threads <= if factor { 1024 } else { 512 } {
                    all.push(pencil);
                }
            }
        }
        all
    }

    /// The tile for grid blocks of these sizes on a device of so many multiprocessors, from measurements on an H200
    /// (`bench/block-ilu-h200.md`): small ones where blocks are so many that all multiprocessors are busy anyway, else the
    /// largest of which there are enough.
    fn choose(nb: usize, factor: bool, grids: &Grids, multiprocessors: usize) -> Pencil {
        let tiles = |j: usize, k: usize| -> usize {
            grids.dims.iter().map(|d| d[1].div_ceil(j) * d[2].div_ceil(k)).sum()
        };
        let busy = tiles(4, 2) >= 8 * multiprocessors;
        let most = match (factor, busy) {
            (true, true) => 9 - usize::from(!tensor(nb)),
            (true, false) if tensor(nb) => 16,
            (false, true) => 16,
            _ => 25,
        };
        let all = Pencil::candidates(nb, factor);
        let mut fit = all.iter().filter(|p| p.columns() <= most && (factor || p.stages == 4)).peekable();
        let smallest = fit.clone().last().or(all.last()).copied();
        let enough = fit.find(|p| tiles(p.j, p.k) >= multiprocessors).copied();
        enough.or(smallest).expect("a single column fits for all sizes")
    }

    fn source(self, nb: usize) -> KernelSource {
        let source = device_source("pencil", TEXT, nb);
        source.define("TJ", self.j).define("TK", self.k).define("STAGES", self.stages)
    }
}

/// Sources for a block size, those that are chosen on a large device.
pub(super) fn pencil_sources(nb: usize) -> Vec<KernelSource> {
    let mut all: Vec<Pencil> = Vec::new();
    for cells in [8, 65, 1000] {
        let grids = Grids::new(&[[cells, cells, cells]]).expect("not too many cells");
        for factor in [true, false] {
            let pencil = Pencil::choose(nb, factor, &grids, 132);
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
    fn kernel(&self, name: &str, threads: usize, shared: usize) -> Result<(Kernel, usize), GpuError> {
        let kernel = self.module.kernel(name)?;
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
        let multiprocessors = stream.gpu().facts().multiprocessors;
        let [factor, passes] =
            given.unwrap_or_else(|| [true, false].map(|f| Pencil::choose(nb, f, grids, multiprocessors)));
        let (factor, passes) = (Cut::new(stream, grids, nb, factor)?, Cut::new(stream, grids, nb, passes)?);
        let mut y = DeviceBuffer::uninitialized(stream, grids.cells() * nb)?;
        y.fill_bytes(0xff)?;
        let (pass_threads, pass_shared) = (passes.pencil.threads(nb), passes.pencil.pass_shared(nb));
        let (threads, shared) = (factor.pencil.factor_threads(nb), factor.pencil.factor_shared(nb));
        Ok(Self {
            stream: stream.clone(),
            nb,
            factor_kernel: factor.kernel("pencil_factor", threads, shared)?,
            forward_kernel: passes.kernel("pencil_forward", pass_threads, pass_shared)?,
            backward_kernel: passes.kernel("pencil_backward", pass_threads, pass_shared)?,
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
                .launch(self.blocks(cut, *here), cut.pencil.factor_threads(self.nb))
                .shared(cut.pencil.factor_shared(self.nb))
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
            let launch =
                kernel.launch(self.blocks(cut, *here), threads).shared(cut.pencil.pass_shared(self.nb));
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
