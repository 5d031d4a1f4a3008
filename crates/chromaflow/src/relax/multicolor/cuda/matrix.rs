#![allow(unsafe_code)]
//! The matrix in the kernels' layout: where everything lies, and the kernels that bring values there.

use super::layout::{Chunk, Layout};
use super::tile::padded;
use super::{MulticolorCuda, Sliced, Tile};
use crate::gpu::{DeviceJacobian, DeviceOff, GpuError, Storage, Vectors};
use crate::order::RowBatches;
use crate::relax::{FactorReport, RelaxError};
use crate::sparse::BlockPattern;
use chromaflow_device::cuda::{Arg, DeviceBuffer, Stream};
use std::ops::Range;
use std::sync::Arc;

/// The matrix in the kernels' layout.
pub(super) struct Matrix {
    pub(super) chunks: DeviceBuffer<Chunk>,
    pub(super) chunk_count: usize,
    pub(super) perm: Option<DeviceBuffer<u32>>,
    /// Column numbers in sweep order (panels: as assembled).
    pub(super) index: Arc<DeviceBuffer<u32>>,
    pub(super) row_ptr: Arc<DeviceBuffer<u32>>,
    pub(super) values: DeviceBuffer<u32>,
    pub(super) inverse: DeviceBuffer<f64>,
    pub(super) diag: DeviceBuffer<f64>,
    pub(super) unscale: DeviceBuffer<f32>,
    pub(super) unscale_stride: u32,
}

/// Where an assembly on the device may put its blocks itself, so that no conversion is needed: the layout of sliced.cu, without
/// rounding to f16.
///
/// Lane L = r NB + c holds column c of the blocks of row r of a chunk. Slots stand in pairs: the 2 NB values of a lane in vectors
/// of 16, 8 and 4 bytes, vector by vector over the lanes; an odd last slot stands alone in the same way. Rows that are shorter than
/// their chunk end with zeros.
pub struct InPlace<'a> {
    /// Rows a chunk.
    pub rows: usize,
    /// The chunks.
    pub chunks: &'a DeviceBuffer<Chunk>,
    /// Row of the matrix at each place of the sweep order.
    pub perm: &'a DeviceBuffer<u32>,
    /// Off-diagonal blocks: f64 for storage `d`, else f32.
    pub values: &'a DeviceBuffer<u32>,
    /// Diagonal blocks, column-major, in the order of the matrix's rows.
    pub diag: &'a DeviceBuffer<f64>,
}

impl Matrix {
    pub(super) fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
        tile: Tile,
    ) -> Result<(Self, Vec<Range<u32>>), GpuError> {
        let (rows, q) = (pattern.rows(), nb * nb);
        let row_ptr = Arc::new(stream.upload(pattern.row_ptr())?);
        let col_idx = stream.upload(pattern.col_idx())?;
        let unscale = DeviceBuffer::zeroed(stream, 1)?;
        let diag = DeviceBuffer::zeroed(stream, rows * q)?;
        if let Tile::Sliced(Sliced { chunk, window, .. }) = tile {
            let layout = Layout::new(pattern, batches, chunk, window);
            let perm = layout.perm.unwrap_or_else(|| (0..rows as u32).collect());
            let mut place = vec![0; rows];
            for (at, &row) in perm.iter().enumerate() {
                place[row as usize] = at as u32;
            }
            let (chunks, perm) = (stream.upload(&layout.chunks)?, stream.upload(&perm)?);
            let place = stream.upload(&place)?;
            let index = DeviceBuffer::<u32>::uninitialized(stream, layout.slots * chunk)?;
            let words = layout.slots * chunk * q * storage.bytes() / 4;
            let from = if storage == Storage::F64 { Storage::F64 } else { Storage::F32 };
            let module = stream.gpu().module(&tile.convert_source(nb, storage, from))?;
            // SAFETY: `index` has a word for every slot of every row of every chunk.
            unsafe {
                module
                    .kernel("sliced_index")?
                    .launch(layout.chunks.len(), 128)
                    .arg(&chunks)
                    .arg(&perm)
                    .arg(&place)
                    .arg(&*row_ptr)
                    .arg(&col_idx)
                    .arg(rows as u32)
                    .arg(&index)
                    .enqueue(stream)?;
            }
            let matrix = Self {
                chunk_count: layout.chunks.len(),
                inverse: DeviceBuffer::zeroed(stream, layout.chunks.len() * chunk * q)?,
                chunks,
                perm: Some(perm),
                index: Arc::new(index),
                row_ptr,
                values: DeviceBuffer::zeroed(stream, words)?,
                diag,
                unscale,
                unscale_stride: 0,
            };
            return Ok((matrix, layout.batches));
        }
        let block = nb * padded(nb, storage);
        let matrix = Self {
            chunks: DeviceBuffer::zeroed(stream, 1)?,
            chunk_count: 0,
            perm: None,
            index: Arc::new(col_idx),
            row_ptr,
            values: DeviceBuffer::zeroed(stream, pattern.nnzb() * block * storage.bytes() / 4)?,
            inverse: DeviceBuffer::zeroed(stream, rows * block)?,
            diag,
            unscale,
            unscale_stride: 0,
        };
        Ok((matrix, batches.iter().map(|b| b.start as u32..b.end as u32).collect()))
    }

    /// The address of the permutation; 0 where there is none.
    pub(super) fn perm_ptr(&self) -> u64 {
        self.perm.as_ref().map_or(0, DeviceBuffer::ptr)
    }

    pub(super) fn unscale_arg(&self, storage: Storage) -> (u64, u32) {
        if storage == Storage::F16 { (self.unscale.ptr(), self.unscale_stride) } else { (0, 0) }
    }

    /// 1 / beta, brought into sweep order where there is one a row.
    fn take_unscale(&mut self, vectors: &Vectors, from: &DeviceBuffer<f32>) -> Result<(), GpuError> {
        if self.unscale.len() != from.len() {
            self.unscale = DeviceBuffer::uninitialized(vectors.stream(), from.len())?;
        }
        self.unscale_stride = u32::from(from.len() > 1);
        if self.perm.is_some() && from.len() > 1 {
            let args = [from.len() as u64, self.perm_ptr(), from.bits(), (&self.unscale).bits()];
            // SAFETY: both hold a value a row.
            unsafe { vectors.run("gather_rows", from.len(), args) }
        } else {
            Ok(self.unscale.copy_from(&from.slice())?)
        }
    }
}

impl MulticolorCuda {
    /// Takes the values of `jac`: off-diagonal blocks into the kernels' layout, diagonal blocks inverted. `jac` is free to
    /// be assembled anew after this.
    ///
    /// For `dsh` both f16 blocks ([`DeviceJacobian::narrow`]) and f32 blocks are taken; the latter are scaled by one beta
    /// on the way.
    ///
    /// # Errors
    /// [`RelaxError::OtherMatrix`] for another pattern or block size, [`GpuError::Unsupported`] for values of another
    /// storage, [`GpuError::Cuda`].
    pub fn factor(&mut self, jac: &DeviceJacobian) -> Result<FactorReport, GpuError> {
        self.convert(jac)?;
        let report = self.invert()?;
        self.factored = true;
        Ok(report)
    }

    /// Policy `dsh`: searches the f32 blocks of `jac` for the scale of the conversion that follows, which otherwise does it
    /// itself; for timing it apart.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn find_scale(&mut self, jac: &DeviceJacobian) -> Result<(), GpuError> {
        if let (DeviceOff::F32(values), Storage::F16) = (&jac.off, self.storage) {
            self.scale = Some(crate::gpu::global_scale(&self.vectors, values)?);
        }
        Ok(())
    }

    /// Policy `dsh`: the same where the largest magnitude is known, as the bits of an f32 on the device.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn take_largest(&mut self, bits: &DeviceBuffer<u32>) -> Result<(), GpuError> {
        self.scale = Some(crate::gpu::scale_of(&self.vectors, bits)?);
        Ok(())
    }

    /// The first half of [`Self::factor`]: off-diagonal blocks into the kernels' layout.
    ///
    /// # Errors
    /// As [`Self::factor`].
    pub fn convert(&mut self, jac: &DeviceJacobian) -> Result<(), GpuError> {
        let same = Arc::ptr_eq(jac.pattern(), &self.pattern) || **jac.pattern() == *self.pattern;
        if !same || jac.nb() != self.nb {
            return Err(RelaxError::OtherMatrix.into());
        }
        let (nb, tile, stream) = (self.nb, self.tile, &self.stream);
        let from = jac.off.storage();
        let fits = match self.storage {
            Storage::F64 => matches!(from, Storage::F64 | Storage::F32),
            Storage::F32 | Storage::Bf16 => from == Storage::F32,
            Storage::F16 => matches!(from, Storage::F32 | Storage::F16),
        };
        if !fits {
            let (from, to) = (from.name(), self.storage.name());
            return Err(GpuError::Unsupported(format!(
                "blocks assembled for policy `{from}` cannot be swept with `{to}`: assemble them for `{to}`"
            )));
        }
        let m = &mut self.matrix;
        let unscale_was = (m.unscale.ptr(), m.unscale_stride);
        let mut scale = 0;
        let made;
        match &jac.off {
            DeviceOff::F16 { unscale, .. } => m.take_unscale(&self.vectors, unscale)?,
            DeviceOff::F32(values) if self.storage == Storage::F16 => {
                made = match self.scale.take() {
                    Some(found) => found,
                    None => crate::gpu::global_scale(&self.vectors, values)?,
                };
                scale = made.0.ptr();
                m.take_unscale(&self.vectors, &made.1)?;
            }
            _ => {}
        }
        if unscale_was != (m.unscale.ptr(), m.unscale_stride) {
            self.graphs.clear(); // they name the old memory
        }
        m.diag.copy_from(&jac.diag.slice())?;
        if !self.converts.contains_key(&from) {
            let module = stream.gpu().module(&tile.convert_source(nb, self.storage, from))?;
            let name = if tile.is_sliced() { "to_sliced" } else { "to_panel" };
            self.converts.insert(from, module.kernel(name)?);
        }
        let kernel = &self.converts[&from];
        // SAFETY: the layout was made for this pattern and block size: every chunk or row has its place in `values`.
        unsafe {
            if tile.is_sliced() {
                kernel
                    .launch(m.chunk_count, tile.chunk() * nb)
                    .arg(&m.chunks)
                    .arg(m.perm_ptr())
                    .arg(&*jac.row_ptr)
                    .arg(jac.off.ptr())
                    .arg(scale)
                    .arg(0u32)
                    .arg(&m.values)
                    .enqueue(stream)?;
            } else {
                kernel
                    .launch(self.pattern.rows(), 128)
                    .arg(&*m.row_ptr)
                    .arg(jac.off.ptr())
                    .arg(scale)
                    .arg(0u32)
                    .arg(&m.values)
                    .enqueue(stream)?;
            }
        }
        Ok(())
    }

    /// The second half of [`Self::factor`]: the inverses of the diagonal blocks.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn invert(&mut self) -> Result<FactorReport, GpuError> {
        self.invert_launch()?;
        let told = self.told[0].download()?;
        self.singular = (told[1] > 0).then_some(told[2] as usize);
        Ok(FactorReport {
            pivoted: told[0] as usize,
            pivoted_rows: Vec::new(),
            singular: told[1] as usize,
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
        self.convert(jac)?;
        self.invert_launch()?;
        (self.factored, self.singular) = (true, None);
        Ok(&self.told[0])
    }

    /// Where blocks may be assembled; none where the sweeps' values are not those that are assembled, or for large blocks.
    pub fn in_place(&self) -> Option<InPlace<'_>> {
        let m = &self.matrix;
        let whole = matches!(self.storage, Storage::F64 | Storage::F32);
        let perm = m.perm.as_ref().filter(|_| whole)?;
        Some(InPlace { rows: self.tile.chunk(), chunks: &m.chunks, perm, values: &m.values, diag: &m.diag })
    }

    /// [`Self::factor_later`] for blocks that were assembled [in place](Self::in_place).
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn factor_assembled_later(&mut self) -> Result<&DeviceBuffer<u32>, GpuError> {
        self.invert_launch()?;
        (self.factored, self.singular) = (true, None);
        Ok(&self.told[0])
    }

    pub(super) fn invert_launch(&mut self) -> Result<(), GpuError> {
        let [told, start] = &mut self.told;
        told.copy_from(&start.slice())?;
        let (nb, tile, m) = (self.nb, self.tile, &self.matrix);
        let places = if tile.is_sliced() { m.chunk_count * tile.chunk() } else { self.pattern.rows() };
        let (blocks, threads, shared) = invert_shape(nb, places);
        if shared > 0 {
            self.invert.allow_shared(shared)?;
        }
        // SAFETY: `inverse` has room for the blocks of all chunks or rows, `told` for three words.
        unsafe {
            self.invert
                .launch(blocks, threads)
                .shared(shared)
                .arg(places as u32)
                .arg(&m.chunks)
                .arg(m.perm_ptr())
                .arg(&m.diag)
                .arg(&m.inverse)
                .arg(&*told)
                .enqueue(&self.stream)?;
        }
        Ok(())
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

/// Rows are covered, and no row of a batch reads another one of it.
pub(super) fn check_batches(pattern: &BlockPattern, batches: &RowBatches) -> Result<(), RelaxError> {
    if batches.rows() != pattern.rows() {
        return Err(RelaxError::Rows { found: batches.rows(), rows: pattern.rows() });
    }
    for (i, batch) in batches.iter().enumerate() {
        for row in batch.clone() {
            if let Some(&col) = pattern.columns(row).iter().find(|&&c| batch.contains(&(c as usize))) {
                return Err(RelaxError::Dependent { row, col: col as usize, batch: i });
            }
        }
    }
    Ok(())
}
