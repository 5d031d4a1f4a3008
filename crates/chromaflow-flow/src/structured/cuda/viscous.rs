#![allow(unsafe_code)]
//! Launches of `viscous.cu`.

use super::super::StructuredSystem;
use super::super::block::BlockState;
use super::tiles::{TILE, Tiles};
use super::{StructuredCuda, arguments, kernel};
use crate::gas::{Gas, Transport, ViscosityLaw};
use crate::grid::{ALIGNED, GridCuda};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Stream};

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
    cells.places().any(|at| {
        let cell = cells.cell(at);
        (0..3).any(|axis| {
            let (first, last) = (cell[axis] == 0, cell[axis] + 1 == cells.count[axis] as isize);
            (!first || ends[axis][0]) && without(axis, at)
                || last && ends[axis][1] && without(axis, at + cells.stride[axis])
        })
    })
}

/// The kernel and the gas that it is for.
pub(super) struct Viscous {
    pub(super) tiles: Tiles,
    gas: Gas<f64>,
    transport: Transport<f64>,
}

impl Viscous {
    /// For states in one of two buffers, at first in that of the first; none in inviscid flow. A tile reads, with the cells around it,
    /// states, areas of lower faces along i and k, those along j, of which there is a row more, and volumes.
    pub(super) fn new(
        stream: &Stream,
        solver: &StructuredSystem,
        grid: &GridCuda,
        constants: [u32; 2],
        [area, volume]: [&DeviceBuffer<f64>; 2],
        states: [&DeviceBuffer<f64>; 2],
    ) -> Result<Option<Self>, GpuError> {
        let Some(transport) = solver.physics.transport else { return Ok(None) };
        let pinched = solver.blocks.iter().any(pinched);
        let (name, source) = (("viscous_fluxes", MOST_ROWS), |rows| source(constants, rows, pinched));
        let tiles = Tiles::new(stream, solver, grid, name, shared, source, states, |w, rows| {
            let of = |array, components, j| (array, components, [WIDE, j]);
            vec![
                of(w, [5, 5], rows + 2),
                of(area, [9, 3], rows + 2),
                of(area, [9, 3], rows + 3),
                of(volume, [1, 1], rows + 2),
            ]
        })?;
        Ok(Some(Self { tiles, gas: solver.physics.gas, transport }))
    }
}

impl StructuredCuda {
    /// Subtracts the viscous fluxes between cells.
    pub(super) fn viscous_fluxes(&self) -> Result<(), GpuError> {
        let (t, Some(v)) = (&self.tables, &self.viscous) else { return Ok(()) };
        let Tiles { kernel, rows, shared, planes, .. } = &v.tiles;
        // A warp a row, and those of the cells around the tile.
        let threads = 32 * (rows + 2 + (2 * rows + 4).div_ceil(32));
        let launch = kernel.launch(v.tiles.count(), threads).shared(*shared);
        let arguments = arguments::ViscousFluxes {
            total: self.total(),
            planes: *planes,
            blocks: Read::at(self.grid.records().ptr()),
            tiles: v.tiles.begin(),
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
            maps: v.tiles.boxes(),
            r: (&self.r).into(),
        };
        // SAFETY: as in `fluxes`; the cells on both sides of a face and their neighbors are cells or ghosts.
        Ok(unsafe { launch.record(&arguments).enqueue(&self.stream) }?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::rows_that_fit;
    use super::*;

    /// As `fluxes`.
    #[test]
    fn tiles_fit_shared_memory() {
        let rows = |kib: usize| rows_that_fit(MOST_ROWS, shared, kib << 10);
        assert_eq!([227, 163, 99].map(rows), [Some(12), Some(8), Some(4)]);
    }
}
