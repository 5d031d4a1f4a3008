//! What kernels have in common that march through tiles of cells, plane by plane.

use super::super::StructuredSystem;
use super::arguments::TensorMap;
use crate::grid::{Cells, GridCuda};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream, tensor_map};

/// Cells of a tile along i (`COLUMNS` of structured.cuh).
pub(super) const TILE: usize = 32;
/// Most planes that a thread block marches through: `viscous_fluxes` has a bit each of 64.
const MOST_PLANES: usize = 64;

/// Compute capability from which on the GPU copies boxes by itself.
const BOXES: (u32, u32) = (9, 0);

/// What a tile reads: an array, its components and those of a box, the cells of a box along i and j.
pub(super) type Part<'a> = (&'a DeviceBuffer<f64>, [usize; 2], [usize; 2]);

/// A kernel that marches, and all that belongs to it alone.
pub(super) struct Tiles {
    pub(super) kernel: Kernel,
    /// Rows of cells of a tile.
    pub(super) rows: usize,
    /// Bytes of dynamic shared memory.
    pub(super) shared: usize,
    list: DeviceBuffer<u32>,
    pub(super) planes: u32,
    /// Boxes of each block: with the states as these lie in one buffer or in the other.
    maps: [DeviceBuffer<u64>; 2],
}

impl Tiles {
    /// With as many rows, `most` at the most, as fit a multiprocessor's memory, of which they take `shared`. What a tile reads is
    /// said for states in one of two buffers, at first in the first.
    pub(super) fn new<'a>(
        stream: &Stream,
        solver: &StructuredSystem,
        grid: &GridCuda,
        (name, most): (&str, usize),
        shared: impl Fn(usize) -> usize,
        source: impl Fn(usize) -> KernelSource,
        states: [&'a DeviceBuffer<f64>; 2],
        parts: impl Fn(&'a DeviceBuffer<f64>, usize) -> Vec<Part<'a>>,
    ) -> Result<Self, GpuError> {
        let facts = stream.gpu().facts();
        let rows = rows_that_fit(most, &shared, facts.shared_bytes).unwrap_or(1);
        let kernel = stream.gpu().module(&source(rows))?.kernel(name)?;
        kernel.allow_shared(shared(rows))?;
        let planes = march_planes(solver, rows, facts.multiprocessors);
        let [now, next] = states.map(|w| -> Result<_, GpuError> {
            let all = if facts.capability < BOXES { Vec::new() } else { maps(grid, &parts(w, rows))? };
            Ok(stream.upload(&all)?)
        });
        Ok(Self {
            kernel,
            rows,
            shared: shared(rows),
            list: stream.upload(&tiles(solver, rows, planes))?,
            planes: planes as u32,
            maps: [now?, next?],
        })
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.list.len() / 4
    }

    /// Where they begin.
    pub(super) fn begin(&self) -> Read<[u32; 4]> {
        Read::at(self.list.ptr())
    }

    /// The boxes of the buffer with the states.
    pub(super) fn boxes(&self) -> Read<TensorMap> {
        Read::at(self.maps[0].ptr())
    }

    /// The states are in the other buffer from now on.
    pub(super) fn swap(&mut self) {
        self.maps.swap(0, 1);
    }
}

/// The most rows that take no more than `bytes`.
pub(super) fn rows_that_fit(most: usize, shared: impl Fn(usize) -> usize, bytes: usize) -> Option<usize> {
    (1..=most).rev().find(|&rows| shared(rows) <= bytes)
}

/// The boxes of each block.
fn maps(grid: &GridCuda, parts: &[Part<'_>]) -> Result<Vec<u64>, GpuError> {
    let mut all = Vec::new();
    for (c, &offset) in grid.cells().iter().zip(grid.offsets()) {
        let Cells { count: [_, nj, nk], stride: [_, row, plane] } = *c;
        for &(array, [components, of], [i, j]) in parts {
            let shape = [row, nj + 4, nk + 4, components];
            let array = array.part(offset..array.len());
            all.extend(tensor_map(array, shape, [row, plane, grid.len()], [i, j, 1, of])?);
        }
    }
    Ok(all)
}

/// Planes of a march with which thread blocks, one a multiprocessor at a time and two planes to begin and to end with, are done
/// first.
fn march_planes(solver: &StructuredSystem, rows: usize, multiprocessors: usize) -> usize {
    let rounds = |planes: usize| {
        let tiles: usize = solver
            .blocks
            .iter()
            .map(|b| b.cells.count)
            .map(|[ni, nj, nk]| ni.div_ceil(TILE) * nj.div_ceil(rows) * nk.div_ceil(planes))
            .sum();
        tiles.div_ceil(multiprocessors)
    };
    (1..=MOST_PLANES).min_by_key(|&planes| rounds(planes) * (planes + 2)).unwrap_or(MOST_PLANES)
}

/// Tiles {block, i, j, k} of `rows` cells along j and so many planes.
fn tiles(solver: &StructuredSystem, rows: usize, planes: usize) -> Vec<u32> {
    let mut tiles = Vec::new();
    for (b, block) in solver.blocks.iter().enumerate() {
        let [ni, nj, nk] = block.cells.count;
        for k in (0..nk).step_by(planes) {
            for j in (0..nj).step_by(rows) {
                for i in (0..ni).step_by(TILE) {
                    tiles.extend([b, i, j, k].map(|n| n as u32));
                }
            }
        }
    }
    tiles
}
