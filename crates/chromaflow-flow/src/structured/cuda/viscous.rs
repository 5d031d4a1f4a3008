#![allow(unsafe_code)]
//! Launches of `viscous.cu`.

use super::super::StructuredSystem;
use super::super::block::BlockState;
use super::super::turbulence::GridTurbulence;
use super::arguments::ViscousFluxes;
use super::tiles::{TILE, Tiles};
use super::{StructuredCuda, kernel};
use crate::gas::{Gas, Transport, ViscosityLaw};
use crate::grid::{ALIGNED, GridCuda};
use crate::viscous::with_eddies;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Stream};
use chromaflow_device::enqueue;

/// Most rows of cells of a tile (`ROWS` of viscous.cu): with three warps more, as many as there are registers for.
const MOST_ROWS: usize = 12;
/// The same with an eddy viscosity, which takes more of them.
const MOST_TURBULENT: usize = 9;
/// Cells of a row in shared memory before the tile's first (`BEFORE` of viscous.cu), and all: boxes begin at multiples of 32 bytes.
const BEFORE: usize = ALIGNED;
const WIDE: usize = TILE + 2 * BEFORE;

/// Bytes of dynamic shared memory: the places that viscous.cu names.
fn shared(rows: usize, turbulent: bool) -> usize {
    let boxes = |components: usize, rows: usize| (components * rows * WIDE).next_multiple_of(16);
    let states = boxes(5, rows + 2) + boxes(1, rows + 2) * (1 + usize::from(turbulent));
    let areas = 2 * boxes(3, rows + 2) + boxes(3, rows + 3);
    let left = 16 * (rows + 2) * (TILE + 2);
    8 * (3 * states + 2 * areas + left + 2 * (rows + TILE) + 4)
}

/// `pinched`: whether faces between cells have no area, which the kernel looks for only then; `turbulent`: whether there is an eddy viscosity.
fn source(constants: [u32; 2], rows: usize, [pinched, turbulent]: [bool; 2]) -> KernelSource {
    let source = kernel("structured_viscous", include_str!("viscous.cu"), constants);
    let source = source
        .record::<ViscousFluxes>()
        .define("ROWS", rows)
        .define("BEFORE", BEFORE)
        .define("SHARED", shared(rows, turbulent));
    source.define("PINCHED", u32::from(pinched)).define("TURBULENT", u32::from(turbulent))
}

fn most_rows(turbulent: bool) -> usize {
    if turbulent { MOST_TURBULENT } else { MOST_ROWS }
}

/// With as many rows as there are at most.
pub(super) fn largest_source(constants: [u32; 2], kinds: [bool; 2]) -> KernelSource {
    source(constants, most_rows(kinds[1]), kinds)
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
    /// Conductivity over viscosity of eddies; 0 without a model.
    eddy_ratio: f64,
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
        eddies: Option<&DeviceBuffer<f64>>,
        states: [&DeviceBuffer<f64>; 2],
    ) -> Result<Option<Self>, GpuError> {
        let Some(transport) = solver.physics.transport else { return Ok(None) };
        let kinds = [solver.blocks.iter().any(pinched), eddies.is_some()];
        let shared = |rows| shared(rows, eddies.is_some());
        let (name, source) = (("viscous_fluxes", most_rows(kinds[1])), |rows| source(constants, rows, kinds));
        let tiles = Tiles::new(stream, solver, grid, name, shared, source, states, |w, rows| {
            let of = |array, components, j| (array, components, [WIDE, j]);
            let mut parts = vec![
                of(w, [5, 5], rows + 2),
                of(area, [9, 3], rows + 2),
                of(area, [9, 3], rows + 3),
                of(volume, [1, 1], rows + 2),
            ];
            parts.extend(eddies.map(|eddies| of(eddies, [1, 1], rows + 2)));
            parts
        })?;
        let gas = solver.physics.gas;
        let of_eddies = |model: GridTurbulence| with_eddies(gas, &[0.0; 2], 1.0, model.prandtl)[1];
        let eddy_ratio = solver.physics.turbulence.map_or(0.0, of_eddies);
        Ok(Some(Self { tiles, gas, transport, eddy_ratio }))
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
        // SAFETY: as in `fluxes`; the cells on both sides of a face and their neighbors are cells or ghosts.
        Ok(unsafe {
            enqueue! { launch, &self.stream, ViscousFluxes {
                total: self.total(), planes: *planes, blocks: self.grid.records(), tiles: v.tiles.begin(),
                actives: &t.actives, side_ptr: &t.side_ptr, face_of: &t.face_of, w: &self.w, area: &self.area,
                volume: &self.volume, eddies: self.eddy_viscosity(), gamma: v.gas.gamma,
                viscosity: v.transport.scale, prandtl: v.transport.prandtl,
                sutherland_law: v.transport.law == ViscosityLaw::Sutherland,
                sutherland: v.transport.sutherland, eddy_ratio: v.eddy_ratio, maps: v.tiles.boxes(), r: &self.r,
            } }
        }?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tiles::rows_that_fit;
    use super::*;

    /// As `fluxes`.
    #[test]
    fn tiles_fit_shared_memory() {
        let rows = |turbulent| {
            move |kib: usize| rows_that_fit(most_rows(turbulent), |rows| shared(rows, turbulent), kib << 10)
        };
        assert_eq!([227, 163, 99].map(rows(false)), [Some(12), Some(8), Some(4)]);
        assert_eq!([227, 163, 99].map(rows(true)), [Some(9), Some(7), Some(3)]);
    }
}
