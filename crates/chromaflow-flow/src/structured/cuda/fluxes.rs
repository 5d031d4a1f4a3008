#![allow(unsafe_code)]
//! Launches of `fluxes.cu`.

use super::super::StructuredSystem;
use super::setup::{TILE, march_planes, tiles};
use super::{arguments, kernel};
use crate::grid::{Cells, GridCuda};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream, tensor_map};

/// Most rows of cells of a tile (`ROWS` of fluxes.cu): with three warps more, as many as there are registers for.
pub(super) const MOST_ROWS: usize = 12;
/// Compute capability from which on the GPU copies boxes by itself.
pub(super) const BOXES: (u32, u32) = (9, 0);

/// Bytes of dynamic shared memory: FluxMemory of fluxes.cu.
fn shared(rows: usize, scheme: u32) -> usize {
    let boxes = |doubles: usize| (8 * doubles).next_multiple_of(128);
    let (columns, edges) = (TILE, 2 * (TILE + rows));
    let states = boxes(5 * (rows + 4) * (columns + 4));
    let areas = boxes(3 * rows * (columns + 2)) + boxes(3 * (rows + 1) * columns) + boxes(3 * rows * columns);
    let before = if scheme == 2 { 15 * rows } else { 0 };
    let doubles = 10 * ((rows + 1) * columns + rows + edges) + before;
    let barriers = 4 + 2 * (rows + 2);
    (3 * states + 2 * areas + 8 * (doubles + barriers) + 4 * (4 * edges + 3)).next_multiple_of(128)
}

pub(super) fn source(constants: [u32; 2], rows: usize) -> KernelSource {
    let source = kernel("structured_fluxes", include_str!("fluxes.cu"), constants);
    source.record::<arguments::Fluxes>().define("ROWS", rows).define("SHARED", shared(rows, constants[0]))
}

/// The kernel and all that belongs to it alone.
pub(super) struct Fluxes {
    kernel: Kernel,
    threads: usize,
    shared: usize,
    tiles: DeviceBuffer<u32>,
    planes: u32,
    /// Boxes of each block: of the states, as these lie in one buffer or in the other, and of areas.
    maps: [DeviceBuffer<u64>; 2],
}

impl Fluxes {
    /// For states in one of two buffers, at first in that of the first.
    pub(super) fn new(
        stream: &Stream,
        solver: &StructuredSystem,
        grid: &GridCuda,
        constants: [u32; 2],
        area: &DeviceBuffer<f64>,
        states: [&DeviceBuffer<f64>; 2],
    ) -> Result<Self, GpuError> {
        let (facts, scheme) = (stream.gpu().facts(), constants[0]);
        // As many rows as fit a multiprocessor's memory.
        let fits = |&rows: &usize| shared(rows, scheme) <= facts.shared_bytes;
        let rows = (1..=MOST_ROWS).rev().find(fits).unwrap_or(1);
        let kernel = stream.gpu().module(&source(constants, rows))?.kernel("fluxes")?;
        kernel.allow_shared(shared(rows, scheme))?;
        let planes = march_planes(solver, rows, facts.multiprocessors);
        let [now, next] = states.map(|w| -> Result<_, GpuError> {
            let all = if facts.capability < BOXES { Vec::new() } else { maps(grid, w, area, rows)? };
            Ok(stream.upload(&all)?)
        });
        Ok(Self {
            kernel,
            threads: 32 * (rows + 3),
            shared: shared(rows, scheme),
            tiles: stream.upload(&tiles(solver, rows, planes))?,
            planes: planes as u32,
            maps: [now?, next?],
        })
    }

    /// The states are in the other buffer from now on.
    pub(super) fn swap(&mut self) {
        self.maps.swap(0, 1);
    }
}

/// What the kernel reads of each block: states with a rim of two cells, areas of lower faces along i, j and k.
fn maps(
    grid: &GridCuda,
    w: &DeviceBuffer<f64>,
    area: &DeviceBuffer<f64>,
    rows: usize,
) -> Result<Vec<u64>, GpuError> {
    let mut all = Vec::new();
    for (c, &offset) in grid.cells().iter().zip(grid.offsets()) {
        let Cells { count: [_, nj, nk], stride: [_, row, plane] } = *c;
        let mut map = |array: &DeviceBuffer<f64>, components, [i, j]: [usize; 2], of| {
            let shape = [row, nj + 4, nk + 4, components];
            let array = array.part(offset..array.len());
            tensor_map(array, shape, [row, plane, grid.len()], [i, j, 1, of]).map(|map| all.extend(map))
        };
        map(w, 5, [TILE + 4, rows + 4], 5)?;
        for size in [[TILE + 2, rows], [TILE, rows + 1], [TILE, rows]] {
            map(area, 9, size, 3)?;
        }
    }
    Ok(all)
}

impl super::StructuredCuda {
    /// r: the sum of inviscid fluxes out of each cell, those through the boundary among them.
    pub(super) fn fluxes(&self) -> Result<(), GpuError> {
        let (t, f) = (&self.tables, &self.fluxes);
        let launch = f.kernel.launch(f.tiles.len() / 4, f.threads).shared(f.shared);
        let arguments = arguments::Fluxes {
            total: self.total(),
            planes: f.planes,
            blocks: Read::at(self.grid.records().ptr()),
            tiles: Read::at(f.tiles.ptr()),
            side_ptr: (&t.side_ptr).into(),
            face_of: (&t.face_of).into(),
            faces: self.face_count() as u64,
            at_boundary: (&self.boundary_fluxes).into(),
            w: (&self.w).into(),
            area: (&self.area).into(),
            numbers: Read::at(self.setup.ptr()),
            maps: Read::at(f.maps[0].ptr()),
            r: (&self.r).into(),
        };
        // SAFETY: tiles begin at cells of their blocks; what is read beyond a block's cells is cut off at its ghosts, and
        // nothing is written there; the maps are those of the buffer with the states.
        Ok(unsafe { launch.record(&arguments).enqueue(&self.stream) }?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiprocessors from Hopper on have room for the largest tiles, older ones for smaller tiles.
    #[test]
    fn tiles_fit_shared_memory() {
        for scheme in 0..3 {
            let rows = |kib: usize| (1..=MOST_ROWS).rev().find(|&rows| shared(rows, scheme) <= kib << 10);
            assert_eq!([227, 163, 99].map(rows), [Some(12), Some(11), Some(6)], "{scheme}");
        }
    }
}
