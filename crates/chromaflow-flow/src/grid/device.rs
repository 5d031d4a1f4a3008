#![allow(unsafe_code)]
//! A grid's blocks on a GPU: one array for all of them, reductions over their cells.
//!
//! An array has [`GridCuda::len`] entries a component, structure of arrays: the blocks one after another, each as
//! [`Cells`] has it with its ghosts, i fastest. The first cell of each row, behind its ghosts, lies at a multiple of
//! [`ALIGNED`] entries. Kernels that include `grid.cuh` go over all blocks in one launch.

use super::{ALIGNED, Cells, GHOSTS, Grid};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Launch, Read, Stream, Write};
use chromaflow_device::{enqueue, kernel_elements, kernel_record, kernels};

kernel_elements! {
    /// A block of a grid as kernels read it.
    pub struct GridBlock: "GridBlock" in u32;
}

kernel_record! {
    /// The blocks of a grid, and block and first entry of each chunk.
    pub(crate) struct Chunks { blocks: Read<GridBlock>, chunks: Read<[u32; 2]> }
}

kernels! {
    struct Kernels {
        reduce_cells: ReduceCells {
            op: u32, chunk_count: u32, over: Chunks, field: Read<f64>, partials: Write<f64>,
        },
        reduce_partials: ReducePartials { op: u32, count: u32, partials: Read<f64>, out: Write<f64> },
    }
}

/// What kernels over grids share: put before their text.
pub(crate) const GRID_CUH: &str = include_str!("grid.cuh");

/// Entries that a thread block of a kernel over chunks takes (`CHUNK` of grid.cuh): its number of threads.
pub const CHUNK: usize = 256;

/// Thread blocks of a reduction: as many on every device, so that sums have one order.
const PARTS: usize = 512;

pub(crate) fn kernel_source() -> KernelSource {
    KernelSource::new(
        "grid",
        format!("#line 1 \"grid.cuh\"\n{GRID_CUH}\n#line 1 \"grid.cu\"\n{}", include_str!("grid.cu")),
    )
    .records::<Kernels>()
}

/// What a reduction makes of the cells' values. A value that is no number makes the result none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduction {
    /// The least.
    Min,
    /// The largest.
    Max,
    /// The sum, always added in the same order.
    Sum,
    /// The sum of squares: the square of the 2-norm.
    SumOfSquares,
}

/// Where the blocks of a grid lie in device arrays, and the kernels that all solvers on grids need.
pub struct GridCuda {
    stream: Stream,
    cells: Vec<Cells>,
    offsets: Vec<usize>,
    len: usize,
    records: DeviceBuffer<u32>,
    chunks: DeviceBuffer<u32>,
    kernels: Kernels,
    partials: DeviceBuffer<f64>,
}

impl GridCuda {
    /// For the blocks of a grid.
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] for 2^32 cells and ghosts or more; [`GpuError::Cuda`].
    pub fn new(stream: &Stream, grid: &Grid) -> Result<Self, GpuError> {
        Self::over(stream, grid.blocks.iter().map(|b| Cells::new(b.cells())).collect())
    }

    /// For blocks of these shapes, whose cells may be a grid's nodes.
    ///
    /// # Errors
    /// As [`GridCuda::new`].
    pub fn over(stream: &Stream, cells: Vec<Cells>) -> Result<Self, GpuError> {
        let (mut offsets, mut len, mut first) = (Vec::new(), ALIGNED - GHOSTS, 0);
        let (mut records, mut chunks) = (Vec::new(), Vec::new());
        for (block, c) in cells.iter().enumerate() {
            offsets.push(len);
            records.extend(record(c, c.stride, len, first));
            let [last, begin] = [c.count.map(|n| n - 1), [0; 3]].map(|cell| c.inside(cell));
            chunks.extend((begin..=last).step_by(CHUNK).flat_map(|start| [block as u32, start as u32]));
            len += c.len();
            first += c.interior();
        }
        len = len.next_multiple_of(ALIGNED);
        // A last chunk may reach beyond the array's end by less than its length.
        if len + CHUNK > u32::MAX as usize {
            return Err(GpuError::Unsupported(format!(
                "a grid of {first} cells: one GPU takes fewer than 2^32 with ghosts; use several or `--backend cpu`"
            )));
        }
        let module = stream.gpu().module(&kernel_source())?;
        Ok(Self {
            stream: stream.clone(),
            cells,
            offsets,
            len,
            records: stream.upload(&records)?,
            chunks: stream.upload(&chunks)?,
            kernels: Kernels::of(&module)?,
            partials: DeviceBuffer::zeroed(stream, PARTS + 1)?,
        })
    }

    /// Shape of each block.
    pub fn cells(&self) -> &[Cells] {
        &self.cells
    }

    /// Where each block begins in an array.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Entries of an array of one component.
    #[allow(clippy::len_without_is_empty)] // a grid is never empty
    pub fn len(&self) -> usize {
        self.len
    }

    /// Cells of all blocks, without ghosts.
    pub fn interior(&self) -> usize {
        self.cells.iter().map(Cells::interior).sum()
    }

    /// Block and place in it of cell number `number`, as [`grid.cuh`](self) counts the cells of all blocks.
    pub fn place(&self, number: usize) -> (usize, usize) {
        let mut rest = number;
        for (block, c) in self.cells.iter().enumerate() {
            if rest < c.interior() {
                let [ni, nj, _] = c.count;
                return (block, c.inside([rest % ni, rest / ni % nj, rest / (ni * nj)]));
            }
            rest -= c.interior();
        }
        panic!("cell {number} of {}", self.interior());
    }

    /// Records of the blocks (`GridBlock` of grid.cuh).
    pub fn records(&self) -> &DeviceBuffer<u32> {
        &self.records
    }

    /// Records of the blocks with other strides, for arrays that have been rearranged.
    pub(crate) fn records_with(&self, stride: impl Fn(&Cells) -> [usize; 3]) -> Vec<u32> {
        let mut first = 0;
        let mut records = Vec::new();
        for (c, &offset) in self.cells.iter().zip(&self.offsets) {
            records.extend(record(c, stride(c), offset, first));
            first += c.interior();
        }
        records
    }

    /// Block and first entry of each chunk.
    pub fn chunks(&self) -> &DeviceBuffer<u32> {
        &self.chunks
    }

    /// A launch over all chunks, to be given [`Self::chunk_records`] among its arguments.
    pub fn launch<'k>(&self, kernel: &'k Kernel) -> Launch<'k> {
        kernel.launch(self.chunks.len() / 2, CHUNK)
    }

    /// What kernels over chunks take.
    pub(crate) fn chunk_records(&self) -> Chunks {
        Chunks { blocks: (&self.records).into(), chunks: (&self.chunks).into() }
    }

    /// Arrays of `components` components from one array a block, ghosts included.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When an array has another length.
    pub fn upload<A: AsRef<[f64]>>(
        &self,
        fields: impl IntoIterator<Item = A>,
        components: usize,
    ) -> Result<DeviceBuffer<f64>, GpuError> {
        let mut all = vec![0.0; components * self.len];
        for ((field, c), offset) in fields.into_iter().zip(&self.cells).zip(&self.offsets) {
            assert_eq!(field.as_ref().len(), components * c.len(), "components of all cells and ghosts");
            for (to, from) in all.chunks_mut(self.len).zip(field.as_ref().chunks(c.len())) {
                to[*offset..offset + c.len()].copy_from_slice(from);
            }
        }
        Ok(self.stream.upload(&all)?)
    }

    /// The way back.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When an array has another length.
    pub fn download<A: AsMut<[f64]>>(
        &self,
        from: &DeviceBuffer<f64>,
        fields: impl IntoIterator<Item = A>,
    ) -> Result<(), GpuError> {
        let all = from.download()?;
        for ((mut field, c), offset) in fields.into_iter().zip(&self.cells).zip(&self.offsets) {
            let field = field.as_mut();
            assert_eq!(field.len() / c.len(), all.len() / self.len, "components of all cells and ghosts");
            for (to, from) in field.chunks_mut(c.len()).zip(all.chunks(self.len)) {
                to.copy_from_slice(&from[*offset..offset + c.len()]);
            }
        }
        Ok(())
    }

    /// Enqueues the reduction of one component over the cells of all blocks; the result is the one number of `out`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When the array has no such component.
    pub fn reduce_later(
        &mut self,
        field: &DeviceBuffer<f64>,
        component: usize,
        reduction: Reduction,
        out: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let values = field.part(component * self.len..(component + 1) * self.len);
        assert!(!out.is_empty());
        let Kernels { reduce_cells, reduce_partials } = &self.kernels;
        let (op, count) = (reduction as u32, self.chunks.len() / 2);
        let parts = count.min(PARTS);
        // SAFETY: cells of chunks that are inside lie in the arrays; there is room for a number a thread block.
        unsafe {
            enqueue! { reduce_cells.launch(parts, CHUNK), &self.stream, ReduceCells {
                op, chunk_count: count as u32, over: self.chunk_records(), field: values,
                partials: &self.partials,
            } }?;
            enqueue! { reduce_partials.launch(1, 256), &self.stream, ReducePartials {
                op, count: parts as u32, partials: &self.partials, out: &*out,
            } }?;
        }
        Ok(())
    }

    /// The reduction of one component over the cells of all blocks.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn reduce(
        &mut self,
        field: &DeviceBuffer<f64>,
        component: usize,
        reduction: Reduction,
    ) -> Result<f64, GpuError> {
        let mut out = DeviceBuffer::zeroed(&self.stream, 1)?;
        self.reduce_later(field, component, reduction, &mut out)?;
        Ok(out.download()?[0])
    }
}

/// A block's record, `GridBlock` of grid.cuh.
fn record(cells: &Cells, stride: [usize; 3], offset: usize, first: usize) -> [u32; 8] {
    let [ni, nj, nk] = cells.count.map(|n| n as u32);
    let [si, sj, sk] = stride.map(|n| n as u32);
    [offset as u32, first as u32, ni, nj, nk, si, sj, sk]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::generate::BoxGrid;

    fn stream() -> Option<Stream> {
        Some(crate::testgpu::gpu()?.stream().expect("a stream"))
    }

    /// Blocks of several orientations and sizes.
    fn grid() -> Grid {
        let grid = BoxGrid { cells: [9, 7, 6], size: [2.0, 1.0, 0.8], wave: 0.05 }.grid();
        let grid = grid.periodic("ymin", "ymax").unwrap().split(0, 0, 4).unwrap().split(1, 2, 3).unwrap();
        let grid =
            grid.reorient(1, [1, 2, 0], [true, false, false]).reorient(2, [0, 2, 1], [false, false, true]);
        grid.check().unwrap();
        grid
    }

    fn fields(grid: &Grid, components: usize) -> Vec<Vec<f64>> {
        let value = |b: usize, n: usize| ((b * 7919 + n * 104_729) % 1009) as f64 - 500.5;
        let len = |b: usize| components * Cells::new(grid.blocks[b].cells()).len();
        (0..grid.blocks.len()).map(|b| (0..len(b)).map(|n| value(b, n)).collect()).collect()
    }

    #[test]
    fn cuda_reductions_take_cells_and_no_ghosts() {
        let Some(stream) = stream() else { return };
        let grid = grid();
        let mut there = GridCuda::new(&stream, &grid).unwrap();
        for (c, offset) in there.cells().iter().zip(there.offsets()) {
            assert!(
                c.rows().all(|row| (offset + row).is_multiple_of(ALIGNED))
                    && there.len().is_multiple_of(ALIGNED)
            );
        }
        let mut host = fields(&grid, 2);
        let mut cells = Vec::new();
        for (field, block) in host.iter_mut().zip(&grid.blocks) {
            let c = Cells::new(block.cells());
            let inside: Vec<usize> = c.rows().flat_map(|row| row..row + c.count[0]).collect();
            for at in 0..c.len() {
                if !inside.contains(&at) {
                    field[c.len() + at] = f64::NAN;
                }
            }
            cells.extend(inside.iter().map(|&at| field[c.len() + at]));
        }
        let numbers: Vec<usize> = (0..there.interior()).collect();
        let places: Vec<f64> = numbers
            .iter()
            .map(|&n| {
                let (block, at) = there.place(n);
                host[block][there.cells()[block].len() + at]
            })
            .collect();
        assert_eq!(places, cells, "the numbers of cells");
        let device = there.upload(&host, 2).unwrap();
        let mut reduce = |r| there.reduce(&device, 1, r).unwrap();
        assert_eq!(reduce(Reduction::Min), cells.iter().copied().fold(f64::INFINITY, f64::min));
        assert_eq!(reduce(Reduction::Max), cells.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        // Halves of integers: exact in any order.
        assert_eq!(reduce(Reduction::Sum), cells.iter().sum::<f64>());
        assert_eq!(reduce(Reduction::SumOfSquares), cells.iter().map(|x| x * x).sum::<f64>());
        assert!(there.reduce(&device, 0, Reduction::Max).unwrap().is_finite());
        host[1][there.place(there.cells()[0].interior()).1] = f64::NAN;
        let device = there.upload(&host, 2).unwrap();
        assert!(there.reduce(&device, 0, Reduction::Min).unwrap().is_nan());
    }
}
