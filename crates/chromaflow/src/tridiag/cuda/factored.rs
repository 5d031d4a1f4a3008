#![allow(unsafe_code)]
//! Factor once, solve for many right-hand sides, on a GPU.

use super::chunks::{self, Keep, Level};
use super::convert::Convert;
use super::engine::{GpuEngine, c_type};
use super::{GpuBatch, GpuTridiagError, Rearranged, check_shape, first_bad_row, take_bad};
use crate::tridiag::{Layout, LineOutcome, Precision, Shape, TridiagError};
use bytemuck::Pod;
use chromaflow_device::cuda::{DeviceBuffer, Stream};

/// Keeps the factors of a batch of line systems on a GPU and solves with them, as often as asked: ranks to 16, lines of any
/// length, open or periodic.
///
/// Of each row B'^-1, B'^-1 A and C' are kept (of lines in chunks two more blocks): the elimination of a right-hand side is
/// products of blocks and vectors only. The batch's arrays are not needed after [`GpuFactoredSolver::factor`].
///
/// **Precision**: as `P` says; factors are kept in the precision of sums.
///
/// **Source**: as [`crate::tridiag::factored`] and `chunks.cu`.
pub struct GpuFactoredSolver<P: Precision> {
    shape: Shape,
    layout: Layout,
    level: Level<P::Store, P::Sum>,
    convert: Option<Convert>,
    /// Right-hand sides and solutions system by system, where the data's layout is another.
    vectors: [DeviceBuffer<P::Store>; 2],
    bad: DeviceBuffer<i32>,
}

impl<P: Precision> GpuFactoredSolver<P>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    /// A solver for batches of this shape and layout on the device of `stream`, with no factors yet.
    ///
    /// # Errors
    /// [`TridiagError::Unsupported`] for ranks above [`super::MAX_GPU_RANK`]; [`chromaflow_device::cuda::CudaError`].
    pub fn new(
        stream: &Stream,
        shape: Shape,
        layout: Layout,
        periodic: bool,
    ) -> Result<Self, GpuTridiagError> {
        check_shape(shape, layout)?;
        let convert = (layout != Layout::Aos).then(|| Convert::new(stream, shape, c_type::<P::Store>()));
        let empty = || DeviceBuffer::uninitialized(stream, 0);
        Ok(Self {
            shape,
            layout,
            level: Level::new(stream, shape, periodic, Keep::Factors, &chunks::cut)?,
            convert: convert.transpose()?,
            vectors: [empty()?, empty()?],
            bad: DeviceBuffer::from_slice(stream, &[i32::MAX])?,
        })
    }

    /// Enqueues the factorization. Pivots are taken as they come.
    ///
    /// # Errors
    /// [`TridiagError::Length`], [`chromaflow_device::cuda::CudaError`].
    pub fn factor(&mut self, stream: &Stream, batch: &GpuBatch<'_, P::Store>) -> Result<(), GpuTridiagError> {
        batch.check(self.shape, self.layout)?;
        if self.shape.systems == 0 {
            return Ok(());
        }
        let Some(convert) = &self.convert else {
            // SAFETY: the arrays have this shape (checked above), system by system.
            unsafe { self.level.factor(stream, batch.addresses())? };
            return Ok(());
        };
        let own = Rearranged::new(stream, self.shape, GpuEngine::Chunks.layout())?;
        let inner = self.shape.rows * self.shape.block();
        for (from, to) in [(batch.lower, &own.lower), (batch.diag, &own.diag), (batch.upper, &own.upper)] {
            convert.enqueue(stream, inner, (from, self.layout), (to, Layout::Aos))?;
        }
        let inside = GpuBatch { lower: &own.lower, diag: &own.diag, upper: &own.upper };
        // SAFETY: as above; the arrays are freed in the stream's order.
        unsafe { self.level.factor(stream, inside.addresses())? };
        Ok(())
    }

    /// Enqueues the solve for `columns` right-hand sides; memory is allocated where they are more than ever before.
    ///
    /// **Shapes**: `rhs`, `x` in the batch's layout with `columns` times rank entries a row, entry `r` of column `c` at
    /// `c * rank + r`.
    ///
    /// # Errors
    /// [`TridiagError::Length`], [`TridiagError::TooLarge`], [`chromaflow_device::cuda::CudaError`].
    pub fn solve(
        &mut self,
        stream: &Stream,
        columns: usize,
        rhs: &DeviceBuffer<P::Store>,
        x: &mut DeviceBuffer<P::Store>,
    ) -> Result<(), GpuTridiagError> {
        let (shape, layout) = (self.shape, self.layout);
        let width = columns.checked_mul(shape.rank).ok_or(TridiagError::TooLarge { shape })?;
        let len = layout.len(shape, width)?;
        TridiagError::check_len("rhs", rhs.len(), len)?;
        TridiagError::check_len("x", x.len(), len)?;
        if len == 0 {
            return Ok(());
        }
        self.level.reserve(stream, columns)?;
        let Some(convert) = &self.convert else {
            // SAFETY: the arrays have this shape (checked above), system by system.
            unsafe { self.level.solve_kept(stream, columns, rhs.ptr(), x.ptr(), &self.bad)? };
            return Ok(());
        };
        let inner = shape.rows * width;
        for own in &mut self.vectors {
            if own.len() < shape.systems * inner {
                *own = DeviceBuffer::uninitialized(stream, shape.systems * inner)?;
            }
        }
        let [own_rhs, own_x] = &self.vectors;
        convert.enqueue(stream, inner, (rhs, layout), (own_rhs, Layout::Aos))?;
        // SAFETY: as above.
        unsafe { self.level.solve_kept(stream, columns, own_rhs.ptr(), own_x.ptr(), &self.bad)? };
        Ok(convert.enqueue(stream, inner, (own_x, Layout::Aos), (x, layout))?)
    }

    /// Waits for the solves so far and says how they ended; `x` is the last one's solution, of `columns` columns. A zero
    /// pivot shows in the solutions: its system and row are looked up in the factors.
    ///
    /// # Errors
    /// [`chromaflow_device::cuda::CudaError`].
    pub fn outcome(
        &mut self,
        columns: usize,
        x: &DeviceBuffer<P::Store>,
    ) -> Result<LineOutcome, GpuTridiagError> {
        let Some(system) = take_bad(&mut self.bad)? else { return Ok(LineOutcome::Solved) };
        if let Some(row) = self.level.broken_row(system)? {
            return Ok(LineOutcome::Breakdown { system, row });
        }
        let width = columns * self.shape.rank;
        Ok(first_bad_row::<P>(self.shape, self.layout, width, &x.download()?, system))
    }
}
