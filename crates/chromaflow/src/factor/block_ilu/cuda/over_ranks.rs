#![allow(unsafe_code)]
//! Block ILU of each rank's own rows on its device. Twin: ../over_ranks.rs.

use super::DeviceBlockIlu;
use crate::factor::block_ilu::over_ranks::FactoredRows;
use crate::factor::block_ilu::{BlockIluOptions, SingularRow};
use crate::gpu::{DeviceJacobian, DeviceOff, FoldsCuda, GpuError, ShareCuda, Storage};
use crate::sparse::{BlockPattern, check_len};
use chromaflow_device::cuda::DeviceBuffer;
use std::sync::Arc;

/// z = M r with each rank's factors of the rows it owns and of the ghosts next to them: a restricted additive Schwarz preconditioner.
///
/// **Twin**: [`IluOverRanks`](crate::factor::block_ilu::IluOverRanks).
pub struct DeviceIluOverRanks {
    share: Arc<ShareCuda>,
    ilu: DeviceBlockIlu,
    /// Local numbers of the factored rows, and positions of their blocks in the local pattern.
    rows: DeviceBuffer<u32>,
    positions: DeviceBuffer<u32>,
    /// Blocks in the columns of images, where there are any.
    folds: Option<FoldsCuda>,
    numbers: Vec<u32>,
    nb: usize,
    /// Their blocks.
    part: DeviceJacobian,
    /// Of the factored rows; and of all local ones.
    work: [DeviceBuffer<f64>; 2],
    all: DeviceBuffer<f64>,
}

impl DeviceIluOverRanks {
    /// The symbolic phase, for matrices on `pattern`, whose rows are those of `share` and whose values come as `storage`.
    ///
    /// # Errors
    /// As [`DeviceBlockIlu::new`].
    pub fn new(
        share: &Arc<ShareCuda>,
        pattern: &BlockPattern,
        nb: usize,
        options: BlockIluOptions,
        storage: Storage,
    ) -> Result<Self, GpuError> {
        let stream = share.stream();
        let FactoredRows { rows, positions, pattern: own, folds } = FactoredRows::new(share.share(), pattern);
        let work = || DeviceBuffer::zeroed(stream, rows.len() * nb);
        Ok(Self {
            ilu: DeviceBlockIlu::new(stream, &own, nb, options)?,
            part: DeviceJacobian::uninitialized(stream, &own, nb, storage)?,
            work: [work()?, work()?],
            all: DeviceBuffer::zeroed(stream, share.share().rows() * nb)?,
            rows: stream.upload(&rows)?,
            positions: stream.upload(&positions)?,
            folds: FoldsCuda::new(stream, &folds, share.share().images())?,
            numbers: rows,
            nb,
            share: Arc::clone(share),
        })
    }

    /// The numeric phase.
    ///
    /// # Errors
    /// [`GpuError::Shape`] for a matrix of another size; [`GpuError::Unsupported`] for blocks in f16; [`GpuError::Cuda`].
    pub fn factor(&mut self, a: &DeviceJacobian) -> Result<(), GpuError> {
        let q = self.nb * self.nb;
        check_len("diagonal", a.diag.len(), self.share.share().rows() * q, || "rows * nb * nb".to_owned())?;
        let words = match (&a.off, &self.part.off) {
            (DeviceOff::F64(_), DeviceOff::F64(_)) => 2 * q,
            (DeviceOff::F32(_), DeviceOff::F32(_)) => q,
            _ => {
                return Err(GpuError::Unsupported(
                    "incomplete factors over ranks are made of the values that are assembled".to_owned(),
                ));
            }
        };
        // SAFETY: rows and positions are those of the matrix's pattern, and `part` has a block for each.
        unsafe {
            self.share.pack(&self.rows, 2 * q, a.diag.ptr(), self.part.diag.ptr(), false)?;
            self.share.pack(&self.positions, words, a.off.ptr(), self.part.off.ptr(), false)?;
            if let Some(folds) = &self.folds {
                self.share.fold(folds, a, &self.part)?;
            }
        }
        self.ilu.factor(&self.part)
    }

    /// Waits for the factorization and says which row has a singular diagonal block, by its local number.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn report(&self) -> Result<Result<(), SingularRow>, GpuError> {
        let local = |bad: SingularRow| SingularRow { row: self.numbers[bad.row] as usize };
        Ok(self.ilu.report()?.map(|_| ()).map_err(local))
    }

    /// Enqueues z = M r. Ghosts of r do not count; those of z are their owners'. Collective.
    ///
    /// **Shapes**: `r`, `z` `[owned and ghost rows, nb]`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn solve(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let nb = self.nb;
        check_len("z", z.len(), self.all.len(), || "rows * nb".to_owned())?;
        self.all.copy_from(&r.slice())?;
        self.share.exchange(nb, &self.all.slice())?;
        let [b, x] = &mut self.work;
        // SAFETY: the rows are those of the vectors, and `work` has room for as many.
        unsafe { self.share.pack(&self.rows, 2 * nb, self.all.ptr(), b.ptr(), false)? };
        self.ilu.solve(b, x)?;
        // SAFETY: as above.
        unsafe { self.share.pack(&self.rows, 2 * nb, z.ptr(), x.ptr(), true)? };
        self.share.exchange(nb, &z.slice())
    }
}
