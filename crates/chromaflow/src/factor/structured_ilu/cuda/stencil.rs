//! The 7-point matrix on the device.

use super::super::StencilMatrix;
use crate::gpu::GpuError;
use crate::sparse::{check_len, check_nb};
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use std::ops::Range;
use std::sync::Arc;

/// Grid blocks one behind the other: which cells are whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Grids {
    pub dims: Vec<[usize; 3]>,
    /// First cell of each block, and the number of all cells.
    pub first: Vec<usize>,
}

impl Grids {
    pub fn new(dims: &[[usize; 3]]) -> Result<Self, GpuError> {
        let mut first = vec![0usize];
        for d in dims {
            let cells = d.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
            let end = cells.and_then(|cells| first[first.len() - 1].checked_add(cells));
            // The kernels count cells, and thrice the cells, in 32 bits.
            let end = end.filter(|&n| n < (u32::MAX / 4) as usize).ok_or_else(|| {
                GpuError::Unsupported(format!("grid blocks of {dims:?} cells: too many for one device"))
            })?;
            first.push(end);
        }
        Ok(Self { dims: dims.to_vec(), first })
    }

    pub fn cells(&self) -> usize {
        self.first[self.first.len() - 1]
    }
}

/// Block-sparse matrices of the 7-point stencil on the device, one for each block of a grid, f64.
///
/// **Shapes**: cells of all grid blocks one behind the other, cell `(i, j, k)` of a block is number `i + I (j + J k)` behind
/// its first; blocks are column-major. This is the layout of [`StencilMatrix`] and of the kernels, so that device code may
/// fill the three arrays directly. Blocks that would couple with a cell outside are never read.
#[derive(Debug)]
pub struct DeviceStencil {
    grids: Arc<Grids>,
    nb: usize,
    /// Diagonal blocks, `[cells, nb, nb]`.
    pub diag: DeviceBuffer<f64>,
    /// Couplings with k-1, j-1, i-1: `[cells, 3, nb, nb]`.
    pub lower: DeviceBuffer<f64>,
    /// Couplings with i+1, j+1, k+1: `[cells, 3, nb, nb]`.
    pub upper: DeviceBuffer<f64>,
}

impl DeviceStencil {
    /// Matrices whose blocks are yet to be set.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a block size outside 1..=128, [`GpuError::Cuda`]: out of memory among others.
    pub fn uninitialized(stream: &Stream, dims: &[[usize; 3]], nb: usize) -> Result<Self, GpuError> {
        check_nb(nb)?;
        let grids = Arc::new(Grids::new(dims)?);
        let values = grids.cells() * nb * nb;
        let room = |blocks: usize| DeviceBuffer::uninitialized(stream, blocks * values);
        Ok(Self { nb, diag: room(1)?, lower: room(3)?, upper: room(3)?, grids })
    }

    /// Copies of matrices of one block size.
    ///
    /// # Errors
    /// As [`Self::uninitialized`]; [`GpuError::Shape`] when block sizes differ.
    pub fn upload(stream: &Stream, matrices: &[&StencilMatrix]) -> Result<Self, GpuError> {
        let dims: Vec<_> = matrices.iter().map(|a| a.dims()).collect();
        let mut all = Self::uninitialized(stream, &dims, matrices.first().map_or(1, |a| a.nb()))?;
        for (block, a) in matrices.iter().enumerate() {
            all.set(block, a)?;
        }
        Ok(all)
    }

    /// Replaces the matrix of a grid block.
    ///
    /// # Errors
    /// [`GpuError::Shape`] when it has another shape, [`GpuError::Cuda`].
    ///
    /// # Panics
    /// When there is no such grid block.
    pub fn set(&mut self, block: usize, a: &StencilMatrix) -> Result<(), GpuError> {
        let cells = self.cells_of(block);
        check_len("block size", a.nb(), self.nb, || "that of the other grid blocks".to_owned())?;
        check_len("matrix", a.cells(), cells.len(), || format!("cells of grid block {block}"))?;
        let q = self.nb * self.nb;
        let parts =
            [(1, &a.diag, &mut self.diag), (3, &a.lower, &mut self.lower), (3, &a.upper, &mut self.upper)];
        for (blocks, from, to) in parts {
            let range = cells.start * blocks * q..cells.end * blocks * q;
            to.upload_part(range, &from[..cells.len() * blocks * q])?;
        }
        Ok(())
    }

    /// Cells along i, j, k of every grid block.
    pub fn dims(&self) -> &[[usize; 3]] {
        &self.grids.dims
    }

    /// Number of cells of all grid blocks.
    pub fn cells(&self) -> usize {
        self.grids.cells()
    }

    /// The cells of a grid block among all.
    ///
    /// # Panics
    /// When there is no such grid block.
    pub fn cells_of(&self, block: usize) -> Range<usize> {
        self.grids.first[block]..self.grids.first[block + 1]
    }

    /// The block size.
    pub fn nb(&self) -> usize {
        self.nb
    }

    /// The stream in whose order the values live.
    pub fn stream(&self) -> &Stream {
        self.diag.stream()
    }

    pub(super) fn grids(&self) -> &Arc<Grids> {
        &self.grids
    }
}
