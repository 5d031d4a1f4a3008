#![allow(unsafe_code)]
//! The assembled matrix on the device, and its storage reduction in place.

use super::arguments::{GlobalScale, Largest, Narrow, NarrowRows, RowScales};
use super::{GpuError, Storage, Vectors};
use crate::sparse::{BlockPattern, Jacobian, OffDiagonal};
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use chromaflow_device::kernel_arguments;
use half::f16;
use std::sync::Arc;

/// Off-diagonal blocks on the device, `[nnzb, nb (column), nb (row)]`.
#[derive(Debug)]
pub enum DeviceOff {
    /// Policy `d`.
    F64(DeviceBuffer<f64>),
    /// Policy `ds`, and `dsh` until it is narrowed.
    F32(DeviceBuffer<f32>),
    /// Policy `dsh`: the stored value times `unscale` is the block's value.
    F16 {
        /// Scaled values; the memory of the f32 values they replaced stays allocated behind them.
        values: DeviceBuffer<f16>,
        /// 1 / beta: one for all rows, or one a row.
        unscale: DeviceBuffer<f32>,
    },
}

impl DeviceOff {
    /// Its storage.
    pub fn storage(&self) -> Storage {
        match self {
            DeviceOff::F64(_) => Storage::F64,
            DeviceOff::F32(_) => Storage::F32,
            DeviceOff::F16 { .. } => Storage::F16,
        }
    }

    pub(crate) fn ptr(&self) -> u64 {
        match self {
            DeviceOff::F64(v) => v.ptr(),
            DeviceOff::F32(v) => v.ptr(),
            DeviceOff::F16 { values, .. } => values.ptr(),
        }
    }

    /// The address that an assembly in f64 or f32 writes to.
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] once the values are narrowed to f16.
    pub fn assembled(&self) -> Result<u64, GpuError> {
        match self {
            DeviceOff::F64(values) => Ok(values.ptr()),
            DeviceOff::F32(values) => Ok(values.ptr()),
            DeviceOff::F16 { .. } => Err(GpuError::Unsupported(
                "a matrix is assembled in f64 or f32, and narrowed to f16 after that".to_owned(),
            )),
        }
    }

    /// The address of 1 / beta (0 where there is none) and the distance between those of successive rows.
    pub(crate) fn unscale(&self) -> (u64, u32) {
        match self {
            DeviceOff::F16 { unscale, .. } => (unscale.ptr(), u32::from(unscale.len() > 1)),
            _ => (0, 0),
        }
    }
}

/// Which values share a scale in f16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scaling {
    /// One beta = 65504 / max |O| for the whole matrix, as FUN3D has it.
    #[default]
    Global,
    /// One a row: keeps small rows from vanishing.
    PerRow,
}

/// What narrowing to f16 lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NarrowReport {
    /// Values beyond the range of f16 after scaling, NaN and infinity among them.
    pub overflowed: u64,
    /// Non-zero values that became zero.
    pub underflowed: u64,
    /// Values that became subnormal and so lost bits.
    pub subnormal: u64,
}

/// A [`Jacobian`] in device memory: D in f64, O in the precision of a policy, blocks column-major.
///
/// **Shapes**: `diag [rows, nb (column), nb (row)]`, `off [nnzb, nb (column), nb (row)]`.
#[derive(Debug)]
pub struct DeviceJacobian {
    pattern: Arc<BlockPattern>,
    nb: usize,
    stream: Stream,
    pub(crate) row_ptr: Arc<DeviceBuffer<u32>>,
    pub(crate) col_idx: Arc<DeviceBuffer<u32>>,
    /// Diagonal blocks.
    pub diag: DeviceBuffer<f64>,
    /// Off-diagonal blocks.
    pub off: DeviceOff,
}

/// Values that one thread block of the in-place conversion takes at a time (as in vector.cu).
const NARROW_CHUNK: usize = 512 * 8 * 4;

impl DeviceJacobian {
    /// A copy of `jac`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]: out of memory among others.
    pub fn upload(stream: &Stream, jac: &Jacobian) -> Result<Self, GpuError> {
        crate::sparse::check_square(jac.pattern())?;
        let off = match &jac.off {
            OffDiagonal::F64(v) => DeviceOff::F64(stream.upload(v)?),
            OffDiagonal::F32(v) => DeviceOff::F32(stream.upload(v)?),
            OffDiagonal::F16 { values, unscale } => {
                DeviceOff::F16 { values: stream.upload(values)?, unscale: stream.upload(unscale)? }
            }
        };
        let diag = stream.upload(&jac.diag)?;
        Self::from_parts(stream, jac.pattern(), jac.nb(), diag, off)
    }

    /// A matrix whose values are yet to be set (f32 for `dsh`, to be narrowed after assembly).
    ///
    /// # Errors
    /// [`GpuError::Cuda`]: out of memory among others; [`GpuError::Shape`] for a block size outside 1..=128.
    pub fn uninitialized(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        storage: Storage,
    ) -> Result<Self, GpuError> {
        let values = pattern.nnzb() * nb * nb;
        let off = match storage {
            Storage::F64 => DeviceOff::F64(DeviceBuffer::uninitialized(stream, values)?),
            _ => DeviceOff::F32(DeviceBuffer::uninitialized(stream, values)?),
        };
        let diag = DeviceBuffer::uninitialized(stream, pattern.rows() * nb * nb)?;
        Self::from_parts(stream, pattern, nb, diag, off)
    }

    fn from_parts(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        diag: DeviceBuffer<f64>,
        off: DeviceOff,
    ) -> Result<Self, GpuError> {
        crate::sparse::check_nb(nb)?;
        Ok(Self {
            row_ptr: Arc::new(stream.upload(pattern.row_ptr())?),
            col_idx: Arc::new(stream.upload(pattern.col_idx())?),
            pattern: pattern.clone(),
            nb,
            stream: stream.clone(),
            diag,
            off,
        })
    }

    /// Where the off-diagonal blocks are.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// The block size.
    pub fn nb(&self) -> usize {
        self.nb
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let off = match &self.off {
            DeviceOff::F64(v) => v.bytes(),
            DeviceOff::F32(v) => v.bytes(),
            DeviceOff::F16 { values, unscale } => values.bytes() + unscale.bytes(),
        };
        self.diag.bytes() + off + self.row_ptr.bytes() + self.col_idx.bytes()
    }

    /// The stream in whose order the values live.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Replaces f32 off-diagonal blocks by scaled f16 ones in the same memory, in one pass over it (two with the search
    /// for the largest value): stored = round(beta * value), beta = 65504 / max |O|.
    ///
    /// Blocks that are in f16 already stay as they are.
    ///
    /// **Source**: Walden et al. (2019), Algorithm 4, which needs two kernels that each read and write; here chunks are
    /// taken in order by tickets, so that one pass suffices.
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] for blocks in f64, [`GpuError::Cuda`].
    pub fn narrow(&mut self, scaling: Scaling) -> Result<NarrowReport, GpuError> {
        let vectors = Vectors::new(&self.stream, Storage::F32)?;
        match &self.off {
            DeviceOff::F16 { .. } => return Ok(NarrowReport::default()),
            DeviceOff::F64(_) => {
                return Err(GpuError::Unsupported(
                    "f64 blocks are not narrowed: assemble policy dsh in f32".into(),
                ));
            }
            DeviceOff::F32(_) => {}
        }
        let placeholder = DeviceOff::F32(DeviceBuffer::uninitialized(&self.stream, 0)?);
        let DeviceOff::F32(values) = std::mem::replace(&mut self.off, placeholder) else { unreachable!() };
        let rows = self.pattern.rows();
        let (scale, unscale) = match scaling {
            Scaling::Global => global_scale(&vectors, &values)?,
            Scaling::PerRow => {
                let scale = DeviceBuffer::<f32>::uninitialized(&self.stream, rows)?;
                let unscale = DeviceBuffer::<f32>::uninitialized(&self.stream, rows)?;
                let arguments = kernel_arguments! { RowScales {
                    rows: rows as u32, q: (self.nb * self.nb) as u32, row_ptr: &*self.row_ptr, x: &values,
                    scale: &scale, unscale: &unscale,
                } };
                let kernel = vectors.kernel("row_scales")?;
                // SAFETY: a warp a row; both results hold a value a row.
                unsafe { kernel.launch(rows.div_ceil(8), 256).record(&arguments).enqueue(&self.stream)? };
                (scale, unscale)
            }
        };
        let per_row = (scaling == Scaling::PerRow).then(|| (&*self.row_ptr, rows, self.nb * self.nb));
        let report = narrow_in_place(&vectors, &values, &scale, per_row)?;
        let len = values.len();
        self.off = DeviceOff::F16 { values: values.cast::<f16>().shortened(len), unscale };
        Ok(report)
    }
}

/// beta and 1 / beta of all values, found on the device.
pub(crate) fn global_scale(
    vectors: &Vectors,
    values: &DeviceBuffer<f32>,
) -> Result<(DeviceBuffer<f32>, DeviceBuffer<f32>), GpuError> {
    scale_of(vectors, &largest_of(vectors, values)?)
}

/// The largest magnitude, the bits of an f32.
pub(crate) fn largest_of(
    vectors: &Vectors,
    values: &DeviceBuffer<f32>,
) -> Result<DeviceBuffer<u32>, GpuError> {
    let stream = vectors.stream();
    let bits = DeviceBuffer::<u32>::zeroed(stream, 1)?;
    let arguments = kernel_arguments!(Largest { n: values.len() as u64, x: values, bits: &bits });
    let (kernel, blocks) = (vectors.kernel("largest")?, 4 * stream.gpu().facts().multiprocessors);
    // SAFETY: reads `len` values; the result is a single word.
    unsafe { kernel.launch(blocks, 512).record(&arguments).enqueue(stream)? };
    Ok(bits)
}

/// beta and 1 / beta for a largest magnitude, the bits of an f32.
pub(crate) fn scale_of(
    vectors: &Vectors,
    bits: &DeviceBuffer<u32>,
) -> Result<(DeviceBuffer<f32>, DeviceBuffer<f32>), GpuError> {
    let stream = vectors.stream();
    let scale = DeviceBuffer::<f32>::uninitialized(stream, 1)?;
    let unscale = DeviceBuffer::<f32>::uninitialized(stream, 1)?;
    let arguments = kernel_arguments!(GlobalScale { bits, scale: &scale, unscale: &unscale });
    let kernel = vectors.kernel("global_scale")?;
    // SAFETY: one thread, single words.
    unsafe { kernel.launch(1, 1).record(&arguments).enqueue(stream)? };
    Ok((scale, unscale))
}

/// The one-pass conversion; `per_row` gives row pointers, rows and values a block.
pub(crate) fn narrow_in_place(
    vectors: &Vectors,
    values: &DeviceBuffer<f32>,
    scale: &DeviceBuffer<f32>,
    per_row: Option<(&DeviceBuffer<u32>, usize, usize)>,
) -> Result<NarrowReport, GpuError> {
    let stream = vectors.stream();
    let flags = DeviceBuffer::<u32>::zeroed(stream, values.len().div_ceil(NARROW_CHUNK) + 1)?;
    let counts = DeviceBuffer::<u64>::zeroed(stream, 3)?;
    narrow_launch(vectors, values, scale, per_row, &flags, &counts)?;
    let counts = counts.download()?;
    Ok(NarrowReport { overflowed: counts[0], underflowed: counts[1], subnormal: counts[2] })
}

/// Enqueues the conversion; `flags` (one a chunk, and the ticket first) and `counts` are zero.
pub(crate) fn narrow_launch(
    vectors: &Vectors,
    values: &DeviceBuffer<f32>,
    scale: &DeviceBuffer<f32>,
    per_row: Option<(&DeviceBuffer<u32>, usize, usize)>,
    flags: &DeviceBuffer<u32>,
    counts: &DeviceBuffer<u64>,
) -> Result<(), GpuError> {
    let stream = vectors.stream();
    let chunks = values.len().div_ceil(NARROW_CHUNK);
    let blocks = (4 * stream.gpu().facts().multiprocessors).min(chunks);
    let kernel = vectors.kernel(if per_row.is_some() { "narrow_rows" } else { "narrow" })?;
    let (ticket, flags) = (flags.part(0..1), flags.part(1..flags.len()));
    let n = values.len() as u64;
    let narrow = kernel_arguments!(Narrow { n, data: values, scale, ticket, flags, counts });
    let launch = kernel.launch(blocks, 512);
    let launch = match per_row {
        None => launch.record(&narrow),
        Some((row_ptr, rows, q)) => {
            let (rows, q) = (rows as u32, q as u32);
            launch.record(&kernel_arguments!(NarrowRows { narrow, row_ptr, rows, q }))
        }
    };
    // SAFETY: `values` is read and overwritten in place, chunk by chunk; there is a flag for every chunk.
    Ok(unsafe { launch.enqueue(stream) }?)
}
