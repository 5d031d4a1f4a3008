#![allow(unsafe_code)]
//! Ghost cells beyond interfaces on a GPU.

use super::Exchange;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Share, Stream};
use chromaflow_device::{kernel_arguments, kernel_record};

kernel_record! {
    /// What `fill_ghosts` takes.
    struct FillGhosts {
        pairs: u32, components: u32, cells: u64, by_cell: u32, copies: Read<[u32; 2]>, fields: Share<f64>,
    }
}

pub(crate) fn kernel_source() -> KernelSource {
    KernelSource::new("exchange", include_str!("exchange.cu")).record::<FillGhosts>()
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
/// **Launch shape**: a thread a value, 256 threads. **Twin**: [`Exchange::fill`].
pub struct ExchangeCuda {
    kernel: Kernel,
    /// Ghost cell, cell.
    pairs: DeviceBuffer<u32>,
    cells: usize,
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
        let pairs: Vec<u32> = exchange.pairs(first).flatten().collect();
        Ok(Self {
            kernel: stream.gpu().module(&kernel_source())?.kernel("fill_ghosts")?,
            pairs: stream.upload(&pairs)?,
            cells,
        })
    }

    /// Whether there is nothing to copy.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Enqueues the copies.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When `fields` does not have `components` of these entries.
    pub fn fill(
        &self,
        stream: &Stream,
        fields: &mut DeviceBuffer<f64>,
        components: usize,
        layout: FieldLayout,
    ) -> Result<(), GpuError> {
        assert_eq!(fields.len(), components * self.cells, "components of all cells and ghosts");
        if self.is_empty() {
            return Ok(());
        }
        let pairs = self.pairs.len() / 2;
        let launch = self.kernel.launch((pairs * components).div_ceil(256), 256);
        // SAFETY: both cells of each pair are below `cells`; no pair reads what another writes.
        Ok(unsafe {
            launch
                .record(&kernel_arguments! { FillGhosts {
                    pairs: pairs as u32, components: components as u32, cells: self.cells as u64,
                    by_cell: u32::from(layout == FieldLayout::Cells), copies: &self.pairs, fields: &*fields,
                } })
                .enqueue(stream)
        }?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::generate::BoxGrid;
    use super::*;

    #[test]
    fn cuda_copies_are_the_cpus() {
        let Some(gpu) = crate::testgpu::gpu() else { return };
        let stream = gpu.stream().unwrap();
        let grid = BoxGrid { cells: [7, 5, 4], size: [1.0; 3], wave: 0.05 }.grid();
        let grid =
            grid.split(0, 0, 3).unwrap().split(0, 1, 2).unwrap().reorient(1, [2, 0, 1], [true, false, true]);
        let exchange = Exchange::new(&grid);
        let (first, cells, components) = (exchange.first_cells(), exchange.cells(), 3);
        let value = |c: usize, cell: usize| (c * cells + cell) as f64;
        let ends = first.iter().copied().skip(1).chain([cells]);
        let mut fields: Vec<Vec<f64>> = (first.iter().zip(ends))
            .map(|(&a, b)| (0..components).flat_map(|c| (a..b).map(move |i| value(c, i))).collect())
            .collect();
        exchange.fill(&mut fields, components);
        let there = ExchangeCuda::new(&stream, &exchange, &first, cells).unwrap();
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
            for (&start, field) in first.iter().zip(&fields) {
                let len = field.len() / components;
                for (i, expected) in field.iter().enumerate() {
                    assert_eq!(found[at(i / len, start + i % len)], *expected, "{layout:?}");
                }
            }
        }
    }
}
