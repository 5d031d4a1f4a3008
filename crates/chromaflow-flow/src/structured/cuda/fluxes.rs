#![allow(unsafe_code)]
//! Launches of `fluxes.cu`.

use super::super::StructuredSystem;
use super::arguments::Fluxes;
use super::kernel;
use super::tiles::{TILE, Tiles};
use crate::gpu::optional;
use crate::grid::GridCuda;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Stream};
use chromaflow_device::enqueue;

/// Most rows of cells of a tile (`ROWS` of fluxes.cu): with three warps more, as many as there are registers for.
pub(super) const MOST_ROWS: usize = 12;

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
    source.record::<Fluxes>().define("ROWS", rows).define("SHARED", shared(rows, constants[0]))
}

/// The kernel, for states in one of two buffers, at first in that of the first. A tile reads states with a rim of two cells, areas of
/// lower faces along i, j and k.
pub(super) fn fluxes(
    stream: &Stream,
    solver: &StructuredSystem,
    grid: &GridCuda,
    constants: [u32; 2],
    area: &DeviceBuffer<f64>,
    states: [&DeviceBuffer<f64>; 2],
) -> Result<Tiles, GpuError> {
    let shared = |rows| shared(rows, constants[0]);
    let source = |rows| source(constants, rows);
    Tiles::new(stream, solver, grid, ("fluxes", MOST_ROWS), shared, source, states, |w, rows| {
        let areas = [[TILE + 2, rows], [TILE, rows + 1], [TILE, rows]].map(|size| (area, [9, 3], size));
        [(w, [5, 5], [TILE + 4, rows + 4])].into_iter().chain(areas).collect()
    })
}

impl super::StructuredCuda {
    /// r: the sum of inviscid fluxes out of each cell, those through the boundary among them.
    pub(super) fn fluxes(&self) -> Result<(), GpuError> {
        let (t, f) = (&self.tables, &self.fluxes);
        let launch = f.kernel.launch(f.count(), 32 * (f.rows + 3)).shared(f.shared);
        // SAFETY: tiles begin at cells of their blocks; what is read beyond a block's cells is cut off at its ghosts, and
        // nothing is written there; the maps are those of the buffer with the states.
        Ok(unsafe {
            enqueue! { launch, &self.stream, Fluxes {
                total: self.total(), planes: f.planes, blocks: self.grid.records(), tiles: f.begin(),
                side_ptr: &t.side_ptr, face_of: &t.face_of, faces: self.face_count() as u64,
                at_boundary: &self.boundary_fluxes, w: &self.w, area: &self.area, numbers: &self.setup,
                jumps: optional(&self.jumps), maps: f.boxes(), r: &self.r,
            } }
        }?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::rows_that_fit;
    use super::*;

    /// Multiprocessors from Hopper on have room for the largest tiles, older ones for smaller tiles.
    #[test]
    fn tiles_fit_shared_memory() {
        for scheme in 0..3 {
            let rows = |kib: usize| rows_that_fit(MOST_ROWS, |rows| shared(rows, scheme), kib << 10);
            assert_eq!([227, 163, 99].map(rows), [Some(12), Some(11), Some(6)], "{scheme}");
        }
    }
}
