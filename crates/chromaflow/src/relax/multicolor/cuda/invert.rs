#![allow(unsafe_code)]
//! The numeric phase: values into the matrix, diagonal blocks inverted.

use super::MulticolorCuda;
use crate::gpu::{DeviceJacobian, GpuError, Storage};
use crate::relax::FactorReport;
use crate::sparse::cuda::arguments::Invert;
use crate::sparse::cuda::{InPlace, Tile, padded, sell_source};
use chromaflow_device::cuda::{DeviceBuffer, KernelSource};
use chromaflow_device::kernel_arguments;

const INVERT: &str = include_str!("invert.cu");

/// The inversion that goes with a tile.
pub(crate) fn invert_source(tile: &Tile, nb: usize, storage: Storage) -> KernelSource {
    let sliced = tile.is_sliced();
    // The inverse is in f64 whatever the storage: one text for all.
    sell_source("invert", INVERT, Storage::F32)
        .record::<Invert>()
        .define("NB", nb)
        .define("LD", if sliced { nb } else { padded(nb, storage) })
        .define("C", tile.chunk())
        .define("SLICED", u32::from(sliced))
}

impl MulticolorCuda {
    /// Takes the values of `jac` and inverts the diagonal blocks. `jac` is free to be assembled anew after this.
    ///
    /// # Errors
    /// As [`BlockMatrixCuda::set_values`](crate::sparse::cuda::BlockMatrixCuda::set_values).
    pub fn factor(&mut self, jac: &DeviceJacobian) -> Result<FactorReport, GpuError> {
        self.set_values(jac)?;
        let report = self.invert()?;
        self.factored = true;
        Ok(report)
    }

    /// The first half of [`Self::factor`]: the values, brought into the format of the matrix.
    ///
    /// # Errors
    /// As [`Self::factor`].
    pub fn set_values(&mut self, jac: &DeviceJacobian) -> Result<(), GpuError> {
        let before = self.matrix.unscale_arg();
        self.matrix.set_values(jac)?;
        if before != self.matrix.unscale_arg() {
            self.graphs.clear(); // they name the old memory
        }
        Ok(())
    }

    /// The second half of [`Self::factor`]: the inverses of the diagonal blocks.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn invert(&mut self) -> Result<FactorReport, GpuError> {
        self.invert_launch()?;
        self.report()
    }

    /// What the last inversion found.
    pub(in crate::relax) fn report(&mut self) -> Result<FactorReport, GpuError> {
        let status = self.status[0].download()?;
        self.singular = (status[1] > 0).then_some(status[2] as usize);
        Ok(FactorReport {
            pivoted: status[0] as usize,
            pivoted_rows: Vec::new(),
            singular: status[1] as usize,
            singular_rows: self.singular.iter().map(|&r| r as u32).collect(),
        })
    }

    /// [`Self::factor`] without waiting for its report: the inverses of singular blocks are zero, and what was found
    /// stands on the device when the stream has come so far, as three words: rows whose pivots were exchanged, singular
    /// rows, the first of these.
    ///
    /// # Errors
    /// As [`Self::factor`].
    pub fn factor_later(&mut self, jac: &DeviceJacobian) -> Result<&DeviceBuffer<u32>, GpuError> {
        self.set_values(jac)?;
        self.factor_assembled_later()
    }

    /// Where blocks may be assembled; none where the sweeps' values are not those that are assembled, or for large blocks.
    pub fn in_place(&self) -> Option<InPlace<'_>> {
        self.matrix.in_place()
    }

    /// [`Self::factor_later`] for blocks that were assembled [in place](Self::in_place).
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn factor_assembled_later(&mut self) -> Result<&DeviceBuffer<u32>, GpuError> {
        self.matrix.assembled();
        self.invert_launch()?;
        (self.factored, self.singular) = (true, None);
        Ok(&self.status[0])
    }

    fn invert_launch(&mut self) -> Result<(), GpuError> {
        let [status, start] = &mut self.status;
        status.copy_from(&start.slice())?;
        let m = &self.matrix;
        let places = m.launches() * m.tile().chunk();
        let (blocks, threads, shared) = invert_shape(m.nb(), places);
        if shared > 0 {
            self.invert.allow_shared(shared)?;
        }
        let arguments = kernel_arguments! { Invert {
            count: places as u32, chunks: &m.chunks, perm: m.perm.as_ref(), diag: &m.diag,
            dinv: &self.inverse, report: status,
        } };
        let launch = self.invert.launch(blocks, threads).shared(shared).record(&arguments);
        // SAFETY: `inverse` has room for the blocks of all chunks or rows, `status` for three words.
        Ok(unsafe { launch.enqueue(&self.stream) }?)
    }
}

/// Thread blocks, threads and bytes of shared memory with which `convert.cu` inverts `places` diagonal blocks.
pub(crate) fn invert_shape(nb: usize, places: usize) -> (usize, usize, usize) {
    match nb {
        1..=8 => (places.div_ceil(4 * (32 / nb)), 128, 0),
        9..=16 => (places, 64, nb * (nb | 1) * 8),
        17..=32 => (places, 128, nb * (nb | 1) * 8),
        _ => (places, 256, nb * (nb | 1) * 8),
    }
}
