#![allow(unsafe_code)]
//! Ghost cells beyond interfaces on a GPU.

use super::Exchange;
use chromaflow::dist;
use chromaflow::gpu::{GpuError, ShareCuda, Wish};
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Share, Stream, Write};
use chromaflow_device::{enqueue, kernels};
use std::sync::Arc;

kernels! {
    struct Kernels {
        fill_ghosts: FillGhosts {
            pairs: u32, components: u32, cells: u64, by_cell: u32, copies: Read<[u32; 2]>, others: Read<f64>,
            fields: Share<f64>,
        },
        take_cells: TakeCells {
            count: u32, components: u32, cells: u64, by_cell: u32, list: Read<[u32; 2]>, fields: Read<f64>,
            rows: Write<f64>,
        },
        fill_turned_ghosts: FillTurnedGhosts {
            count: u32, components: u32, cells: u64, by_cell: u32, copies: Read<u32>, matrices: Read<f64>,
            fields: Share<f64>,
        },
    }
}

pub(crate) fn kernel_source() -> KernelSource {
    KernelSource::new("exchange", include_str!("exchange.cu")).records::<Kernels>()
}

/// How components of the cells of all blocks lie in one array. Cells of a block lie as [`super::Cells`] has them, blocks one
/// after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldLayout {
    /// `[components, cells]`
    Components,
    /// `[cells, components]`
    Cells,
}

/// An [`Exchange`] on a device.
///
/// **Launch shape**: a thread a value, or a cell where sides are turned, 256 threads. **Twin**: [`Exchange::fill_states`].
pub struct ExchangeCuda {
    kernels: Kernels,
    /// Ghost cell, cell.
    pairs: DeviceBuffer<u32>,
    /// Ghost cell, cell, number of the matrix; the matrices.
    turned: DeviceBuffer<u32>,
    matrices: DeviceBuffer<f64>,
    /// Both kinds without their matrices; empty where none are turned.
    all: DeviceBuffer<u32>,
    cells: usize,
    /// Where there are ranks.
    over: Option<OverRanks>,
}

/// What passes between ranks before copies are made.
struct OverRanks {
    share: Arc<ShareCuda>,
    /// Cell and row of each cell that others need; the same by where it lies among the cells' own rows, `u32::MAX` of ghosts.
    own: DeviceBuffer<u32>,
    own_by_rows: DeviceBuffer<u32>,
    /// The row of each that comes.
    come: DeviceBuffer<u32>,
    /// `[rows, components]`, of this rank's cells and those that come.
    rows: DeviceBuffer<f64>,
}

/// Cells at interfaces between ranks: those here that others need, and those of others that come here. Some are ghosts beyond boundaries, from which
/// ghosts beyond edges take values.
pub(crate) struct Between {
    /// Both as rows; others' are ghosts.
    pub share: Arc<dist::Share>,
    /// Those that others need.
    pub own: Vec<Passed>,
    /// The row of each that comes, in the order in which the exchange has them.
    pub come: Vec<u32>,
}

/// A cell that another rank needs.
pub(crate) struct Passed {
    /// Its block.
    pub block: u32,
    /// Its place in the block's arrays.
    pub at: u32,
    /// Its row among the blocks' cells; [`u32::MAX`] of a ghost.
    pub own_row: u32,
    /// Its row among those that pass.
    pub row: u32,
}

/// Values that came from other ranks.
pub(crate) struct OfOthers<'a> {
    /// Row after row.
    pub values: &'a DeviceBuffer<f64>,
    /// Which row each cell is, in the order in which the exchange has those that come.
    pub rows: &'a DeviceBuffer<u32>,
}

/// The most components of a cell that pass between ranks, and how they are to.
#[derive(Clone, Copy, Debug)]
pub struct Passage {
    /// The most components.
    pub widest: usize,
    /// How.
    pub wish: Wish,
}

impl ExchangeCuda {
    /// Uploads the list of copies; compiles or loads the kernel. In arrays of `cells` entries a component, block b begins at
    /// `first[b]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]: out of memory among others.
    pub fn new(
        stream: &Stream,
        exchange: &Exchange,
        first: &[usize],
        cells: usize,
    ) -> Result<Self, GpuError> {
        Self::with(stream, exchange, first, cells, None)
    }

    /// The same for blocks of a rank; collective. Sides that are turned are of grids on one rank.
    ///
    /// # Errors
    /// As [`Self::new`]; [`GpuError::Ranks`].
    pub(crate) fn over_ranks(
        stream: &Stream,
        exchange: &Exchange,
        first: &[usize],
        cells: usize,
        (between, Passage { widest, wish }): (&Between, Passage),
    ) -> Result<Self, GpuError> {
        let share = Arc::new(ShareCuda::new(&between.share, stream, &[], widest, wish)?);
        let own = between.own.iter().flat_map(|of| [first[of.block as usize] as u32 + of.at, of.row]);
        let by_rows = between.own.iter().flat_map(|of| [of.own_row, of.row]);
        let over = OverRanks {
            own: stream.upload(&own.collect::<Vec<_>>())?,
            own_by_rows: stream.upload(&by_rows.collect::<Vec<_>>())?,
            come: stream.upload(&between.come)?,
            rows: DeviceBuffer::zeroed(stream, widest * between.share.rows())?,
            share,
        };
        // What comes from others lies behind all cells.
        let first = [first, &[cells]].concat();
        Self::with(stream, exchange, &first, cells, Some((over, &between.come)))
    }

    fn with(
        stream: &Stream,
        exchange: &Exchange,
        first: &[usize],
        cells: usize,
        over: Option<(OverRanks, &[u32])>,
    ) -> Result<Self, GpuError> {
        let row = |from: u32| match &over {
            Some((_, come)) if from as usize >= cells => cells as u32 + come[from as usize - cells],
            _ => from,
        };
        let pairs: Vec<u32> = exchange.pairs(first).flat_map(|[ghost, cell]| [ghost, row(cell)]).collect();
        let turned: Vec<u32> = exchange.turned(first).flatten().collect();
        let untwisted = turned.chunks_exact(3).flat_map(|copy| [copy[0], copy[1]]);
        let all: Vec<u32> =
            if turned.is_empty() { Vec::new() } else { pairs.iter().copied().chain(untwisted).collect() };
        let module = stream.gpu().module(&kernel_source())?;
        Ok(Self {
            kernels: Kernels::of(&module)?,
            pairs: stream.upload(&pairs)?,
            turned: stream.upload(&turned)?,
            all: stream.upload(&all)?,
            matrices: stream.upload(exchange.matrices().as_flattened().as_flattened())?,
            cells,
            over: over.map(|(over, _)| over),
        })
    }

    /// The ranks, where there are some.
    pub(crate) fn ranks(&self) -> Option<&ShareCuda> {
        self.over.as_ref().map(|over| &*over.share)
    }

    /// Whether copies may be recorded in a graph: no host takes part in them.
    pub(crate) fn is_recordable(&self) -> bool {
        self.ranks().is_none_or(ShareCuda::is_recordable)
    }

    /// Enqueues the copies of states, over ranks collectively, whose components 1 to 3 are a vector.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When `fields` does not have `components` of these entries, or sides are turned and there are fewer than four.
    pub fn fill(
        &self,
        stream: &Stream,
        fields: &mut DeviceBuffer<f64>,
        components: usize,
        layout: FieldLayout,
    ) -> Result<(), GpuError> {
        let (by_cell, turned) = (u32::from(layout == FieldLayout::Cells), self.turned.len() / 3);
        self.pass(stream, fields, components, by_cell)?;
        self.copy(stream, &self.pairs, fields, components, by_cell)?;
        if turned > 0 {
            assert!(components >= 4, "states with a vector");
            // SAFETY: as above; matrices have the numbers of these pairs.
            unsafe {
                enqueue! { self.kernels.fill_turned_ghosts.launch(turned.div_ceil(256), 256), stream, FillTurnedGhosts {
                    count: turned as u32, components: components as u32, cells: self.cells as u64, by_cell,
                    copies: &self.turned, matrices: &self.matrices, fields: &*fields,
                } }?;
            }
        }
        Ok(())
    }

    /// Enqueues the copies, over ranks collectively, of numbers that are no parts of vectors, `[components, cells]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When `fields` does not have `components` of these entries.
    pub fn fill_numbers(
        &self,
        stream: &Stream,
        fields: &mut DeviceBuffer<f64>,
        components: usize,
    ) -> Result<(), GpuError> {
        let copies = if self.all.is_empty() { &self.pairs } else { &self.all };
        self.pass(stream, fields, components, 0)?;
        self.copy(stream, copies, fields, components, 0)
    }

    /// Has cells of other ranks come here.
    fn pass(
        &self,
        stream: &Stream,
        fields: &DeviceBuffer<f64>,
        components: usize,
        by_cell: u32,
    ) -> Result<(), GpuError> {
        let Some(over) = &self.over else { return Ok(()) };
        self.pass_some(stream, over, &over.own, (fields, components, by_cell))
    }

    /// Has values of rows of other ranks come here; none without ranks. Collective.
    ///
    /// **Shapes**: x `[rows, components]`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`], [`GpuError::Ranks`].
    pub(crate) fn of_others(
        &self,
        stream: &Stream,
        x: &DeviceBuffer<f64>,
        components: usize,
    ) -> Result<Option<OfOthers<'_>>, GpuError> {
        let Some(over) = &self.over else { return Ok(None) };
        self.pass_some(stream, over, &over.own_by_rows, (x, components, 1))?;
        Ok(Some(OfOthers { values: &over.rows, rows: &over.come }))
    }

    fn pass_some(
        &self,
        stream: &Stream,
        OverRanks { share, rows, .. }: &OverRanks,
        list: &DeviceBuffer<u32>,
        (fields, components, by_cell): (&DeviceBuffer<f64>, usize, u32),
    ) -> Result<(), GpuError> {
        let count = list.len() / 2;
        let launch = self.kernels.take_cells.launch((count * components).div_ceil(256), 256);
        // SAFETY: cells, or rows, are those of `fields`; `rows` has room for the widest.
        unsafe {
            enqueue! { launch, stream, TakeCells {
                count: count as u32, components: components as u32, cells: self.cells as u64, by_cell,
                list, fields, rows,
            } }?;
        }
        share.exchange(components, &rows.part(0..components * share.share().rows()))
    }

    fn copy(
        &self,
        stream: &Stream,
        copies: &DeviceBuffer<u32>,
        fields: &mut DeviceBuffer<f64>,
        components: usize,
        by_cell: u32,
    ) -> Result<(), GpuError> {
        assert_eq!(fields.len(), components * self.cells, "components of all cells and ghosts");
        let pairs = copies.len() / 2;
        if pairs == 0 {
            return Ok(());
        }
        let others = self.over.as_ref().map(|over| &over.rows);
        // SAFETY: both cells of each pair are below `cells`, or the second is a row of `others`; no pair reads what another writes.
        Ok(unsafe {
            enqueue! { self.kernels.fill_ghosts.launch((pairs * components).div_ceil(256), 256), stream, FillGhosts {
                pairs: pairs as u32, components: components as u32, cells: self.cells as u64, by_cell, copies, others,
                fields: &*fields,
            } }
        }?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Grid;
    use super::super::generate::BoxGrid;
    use super::*;

    /// Copies of a grid on a device beside those on the CPU.
    fn compared(grid: &Grid, components: usize) {
        let Some(gpu) = crate::testgpu::gpu() else { return };
        let stream = gpu.stream().unwrap();
        let exchange = Exchange::new(grid);
        let (first, cells) = (exchange.first_cells(), exchange.cells());
        let value = |c: usize, cell: usize| (c * cells + cell) as f64;
        let ends = first.iter().copied().skip(1).chain([cells]);
        let mut fields: Vec<Vec<f64>> = (first.iter().zip(ends))
            .map(|(&a, b)| (0..components).flat_map(|c| (a..b).map(move |i| value(c, i))).collect())
            .collect();
        exchange.fill_states(&mut fields, components);
        let there = ExchangeCuda::new(&stream, &exchange, &first, cells).unwrap();
        let mut plain: Vec<Vec<f64>> = (first.iter().zip(&fields))
            .map(|(&a, field)| (a..a + field.len() / components).map(|i| value(0, i)).collect())
            .collect();
        exchange.fill(&mut plain, 1);
        let mut numbers = stream.upload(&(0..cells).map(|i| value(0, i)).collect::<Vec<_>>()).unwrap();
        there.fill_numbers(&stream, &mut numbers, 1).unwrap();
        assert_eq!(numbers.download().unwrap(), plain.concat(), "numbers");
        for layout in [FieldLayout::Components, FieldLayout::Cells] {
            let at = |c: usize, cell: usize| match layout {
                FieldLayout::Components => c * cells + cell,
                FieldLayout::Cells => cell * components + c,
            };
            let mut flat = vec![0.0; components * cells];
            for c in 0..components {
                for cell in 0..cells {
                    flat[at(c, cell)] = value(c, cell);
                }
            }
            let mut device = stream.upload(&flat).unwrap();
            there.fill(&stream, &mut device, components, layout).unwrap();
            let found = device.download().unwrap();
            // Three products, each of a number of this size.
            let allowed = if exchange.matrices().is_empty() { 0.0 } else { 1e-15 * flat.len() as f64 };
            for (&start, field) in first.iter().zip(&fields) {
                let len = field.len() / components;
                for (i, expected) in field.iter().enumerate() {
                    let found = found[at(i / len, start + i % len)];
                    assert!((found - expected).abs() <= allowed, "{layout:?}: {found}, {expected}");
                }
            }
        }
    }

    #[test]
    fn cuda_copies_are_the_cpus() {
        let grid = BoxGrid { cells: [7, 5, 4], size: [1.0; 3], wave: 0.05 }.grid();
        let grid =
            grid.split(0, 0, 3).unwrap().split(0, 1, 2).unwrap().reorient(1, [2, 0, 1], [true, false, true]);
        compared(&grid, 5);
    }

    /// A sector of a ring, two cells wide: its second ghosts are turned twice.
    #[test]
    fn cuda_small_turned_copies_are_the_cpus() {
        let grid = crate::testmesh::sector([5, 2, 4], 9).periodic("ymin", "ymax").unwrap();
        let grid = grid.split(0, 0, 2).unwrap().reorient(1, [2, 0, 1], [true, false, true]);
        for components in [4, 5, 7] {
            compared(&grid, components);
        }
    }
}
