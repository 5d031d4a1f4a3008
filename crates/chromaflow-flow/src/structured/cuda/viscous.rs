#![allow(unsafe_code)]
//! Launches of `viscous.cu`.

use super::super::StructuredSystem;
use super::super::block::BlockState;
use super::fluxes::BOXES;
use super::setup::{TILE, march_planes, tiles};
use super::{StructuredCuda, arguments, kernel};
use crate::gas::{Gas, Transport, ViscosityLaw};
use crate::grid::{ALIGNED, Cells, GridCuda};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream, tensor_map};

/// Most rows of cells of a tile (`ROWS` of viscous.cu): with three warps more, as many as there are registers for.
pub(super) const MOST_ROWS: usize = 12;
/// Cells of a row in shared memory before the tile's first (`BEFORE` of viscous.cu), and all: boxes begin at multiples of 32 bytes.
const BEFORE: usize = ALIGNED;
const WIDE: usize = TILE + 2 * BEFORE;

/// Bytes of dynamic shared memory: the places that viscous.cu names.
fn shared(rows: usize) -> usize {
    let boxes = |components: usize, rows: usize| (components * rows * WIDE).next_multiple_of(16);
    let states = boxes(5, rows + 2) + boxes(1, rows + 2);
    let areas = 2 * boxes(3, rows + 2) + boxes(3, rows + 3);
    let left = 16 * (rows + 2) * (TILE + 2);
    8 * (3 * states + 2 * areas + left + 2 * (rows + TILE) + 4)
}

/// `pinched`: whether faces between cells have no area, which the kernel looks for only then.
pub(super) fn source(constants: [u32; 2], rows: usize, pinched: bool) -> KernelSource {
    let source = kernel("structured_viscous", include_str!("viscous.cu"), constants);
    let source = source
        .record::<arguments::ViscousFluxes>()
        .define("ROWS", rows)
        .define("BEFORE", BEFORE)
        .define("SHARED", shared(rows));
    source.define("PINCHED", u32::from(pinched))
}

/// Whether a face between cells may have no area: inside the block, or at an end that is not all boundary.
fn pinched(block: &BlockState) -> bool {
    let BlockState { cells, metrics, patch_of, .. } = block;
    let without = |axis: usize, at: usize| metrics.area[axis].iter().all(|n| n[at] == 0.0);
    let meets = |axis: usize, high: usize| patch_of[2 * axis + high].contains(&u32::MAX);
    let ends = [0, 1, 2].map(|axis| [meets(axis, 0), meets(axis, 1)]);
    cells.rows().flat_map(|row| row..row + cells.count[0]).any(|at| {
        let cell = cells.cell(at);
        (0..3).any(|axis| {
            let (first, last) = (cell[axis] == 0, cell[axis] + 1 == cells.count[axis] as isize);
            (!first || ends[axis][0]) && without(axis, at)
                || last && ends[axis][1] && without(axis, at + cells.stride[axis])
        })
    })
}

/// The kernel and all that belongs to it alone.
pub(super) struct Viscous {
    kernel: Kernel,
    rows: usize,
    gas: Gas<f64>,
    transport: Transport<f64>,
    tiles: DeviceBuffer<u32>,
    planes: u32,
    /// Boxes of each block: of the states, as these lie in one buffer or in the other, of areas and volumes.
    maps: [DeviceBuffer<u64>; 2],
}

impl Viscous {
    /// For states in one of two buffers, at first in that of the first; none in inviscid flow.
    pub(super) fn new(
        stream: &Stream,
        solver: &StructuredSystem,
        grid: &GridCuda,
        constants: [u32; 2],
        metrics: [&DeviceBuffer<f64>; 2],
        states: [&DeviceBuffer<f64>; 2],
    ) -> Result<Option<Self>, GpuError> {
        let Some(transport) = solver.physics.transport else { return Ok(None) };
        let facts = stream.gpu().facts();
        // As many rows as fit a multiprocessor's memory.
        let rows = (1..=MOST_ROWS).rev().find(|&rows| shared(rows) <= facts.shared_bytes).unwrap_or(1);
        let pinched = solver.blocks.iter().any(pinched);
        let kernel = stream.gpu().module(&source(constants, rows, pinched))?.kernel("viscous_fluxes")?;
        kernel.allow_shared(shared(rows))?;
        let planes = march_planes(solver, rows, facts.multiprocessors);
        let [now, next] = states.map(|w| -> Result<_, GpuError> {
            let all = if facts.capability < BOXES { Vec::new() } else { maps(grid, w, metrics, rows)? };
            Ok(stream.upload(&all)?)
        });
        Ok(Some(Self {
            kernel,
            rows,
            gas: solver.physics.gas,
            transport,
            tiles: stream.upload(&tiles(solver, rows, planes))?,
            planes: planes as u32,
            maps: [now?, next?],
        }))
    }

    /// The states are in the other buffer from now on.
    pub(super) fn swap(&mut self) {
        self.maps.swap(0, 1);
    }
}

/// What the kernel reads of each block, with the cells around a tile: states, areas of lower faces along i and k, those along j, of
/// which there is a row more, volumes.
fn maps(
    grid: &GridCuda,
    w: &DeviceBuffer<f64>,
    [area, volume]: [&DeviceBuffer<f64>; 2],
    rows: usize,
) -> Result<Vec<u64>, GpuError> {
    let mut all = Vec::new();
    for (c, &offset) in grid.cells().iter().zip(grid.offsets()) {
        let Cells { count: [_, nj, nk], stride: [_, row, plane] } = *c;
        let mut map = |array: &DeviceBuffer<f64>, components, j, of| {
            let shape = [row, nj + 4, nk + 4, components];
            let array = array.part(offset..array.len());
            tensor_map(array, shape, [row, plane, grid.len()], [WIDE, j, 1, of]).map(|map| all.extend(map))
        };
        map(w, 5, rows + 2, 5)?;
        map(area, 9, rows + 2, 3)?;
        map(area, 9, rows + 3, 3)?;
        map(volume, 1, rows + 2, 1)?;
    }
    Ok(all)
}

impl StructuredCuda {
    /// Subtracts the viscous fluxes between cells.
    pub(super) fn viscous_fluxes(&self) -> Result<(), GpuError> {
        let (t, Some(v)) = (&self.tables, &self.viscous) else { return Ok(()) };
        // A warp a row, and those of the cells around the tile.
        let threads = 32 * (v.rows + 2 + (2 * v.rows + 4).div_ceil(32));
        let launch = v.kernel.launch(v.tiles.len() / 4, threads).shared(shared(v.rows));
        let arguments = arguments::ViscousFluxes {
            total: self.total(),
            planes: v.planes,
            blocks: Read::at(self.grid.records().ptr()),
            tiles: Read::at(v.tiles.ptr()),
            actives: (&t.actives).into(),
            side_ptr: (&t.side_ptr).into(),
            face_of: (&t.face_of).into(),
            w: (&self.w).into(),
            area: (&self.area).into(),
            volume: (&self.volume).into(),
            gamma: v.gas.gamma,
            viscosity: v.transport.scale,
            prandtl: v.transport.prandtl,
            sutherland_law: u32::from(v.transport.law == ViscosityLaw::Sutherland),
            sutherland: v.transport.sutherland,
            maps: Read::at(v.maps[0].ptr()),
            r: (&self.r).into(),
        };
        // SAFETY: as in `fluxes`; the cells on both sides of a face and their neighbors are cells or ghosts.
        Ok(unsafe { launch.record(&arguments).enqueue(&self.stream) }?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `fluxes`.
    #[test]
    fn tiles_fit_shared_memory() {
        let rows = |kib: usize| (1..=MOST_ROWS).rev().find(|&rows| shared(rows) <= kib << 10);
        assert_eq!([227, 163, 99].map(rows), [Some(12), Some(8), Some(4)]);
    }
}
