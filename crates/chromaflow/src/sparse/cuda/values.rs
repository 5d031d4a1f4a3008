#![allow(unsafe_code)]
//! Values of a matrix on the device: converted from an assembled one, or assembled where they are read.

use super::arguments::{Conversion, ToPanel, ToSliced};
use super::{BlockMatrixCuda, Chunk};
use crate::gpu::{DeviceJacobian, DeviceOff, GpuError, Storage};
use chromaflow_device::cuda::{DeviceBuffer, Read, Write};
use chromaflow_device::kernel_arguments;
use std::sync::Arc;

/// Where an assembly on the device may put its blocks itself, so that no conversion is needed: the format of sliced.cu, without
/// rounding to f16.
///
/// Lane L = r NB + c holds column c of the blocks of row r of a chunk. Slots stand in pairs: the 2 NB values of a lane in vectors
/// of 16, 8 and 4 bytes, vector by vector over the lanes; an odd last slot stands alone in the same way. Rows that are shorter than
/// their chunk end with zeros. [`SELL`] has it as CUDA C++.
pub struct InPlace<'a> {
    /// Rows a chunk.
    pub rows: usize,
    /// The chunks.
    pub chunks: &'a DeviceBuffer<Chunk>,
    /// Row of the matrix at each place of the chunks.
    pub perm: &'a DeviceBuffer<u32>,
    /// Off-diagonal blocks: f64 for storage `d`, else f32.
    pub values: &'a DeviceBuffer<u32>,
    /// Diagonal blocks, column-major, in the order of the matrix's rows.
    pub diag: &'a DeviceBuffer<f64>,
}

/// Values of another storage than the matrix keeps, or of another matrix.
fn not_taken(from: Storage, to: Storage) -> GpuError {
    let (from, to) = (from.name(), to.name());
    GpuError::Unsupported(format!(
        "blocks assembled for policy `{from}` cannot be stored for `{to}`: assemble them for `{to}`"
    ))
}

impl BlockMatrixCuda {
    /// Policy `dsh`: searches the f32 blocks of `jac` for beta, the scale of the values that are set next, which otherwise is done
    /// on the way.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn find_scale(&mut self, jac: &DeviceJacobian) -> Result<Option<&DeviceBuffer<f32>>, GpuError> {
        if let (DeviceOff::F32(values), Storage::F16) = (&jac.off, self.storage) {
            self.scale = Some(crate::gpu::global_scale(&self.vectors, values)?);
        }
        Ok(self.scale_found())
    }

    /// Policy `dsh`: the scale beta that was found for the values that are set next.
    pub(crate) fn scale_found(&self) -> Option<&DeviceBuffer<f32>> {
        self.scale.as_ref().map(|(beta, _)| beta)
    }

    /// Policy `dsh`: the same with one scale for the matrices of several ranks, of which `agree` knows the largest magnitude of all.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn find_scale_together(
        &mut self,
        jac: &DeviceJacobian,
        agree: impl FnOnce(f32) -> f32,
    ) -> Result<(), GpuError> {
        if let (DeviceOff::F32(values), Storage::F16) = (&jac.off, self.storage) {
            let mut bits = crate::gpu::largest_of(&self.vectors, values)?;
            let largest = agree(f32::from_bits(bits.download()?[0]));
            bits.upload(&[largest.to_bits()])?;
            self.take_largest(&bits)?;
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

    /// Takes the values of `jac`, which is free to be assembled anew after this; no wait.
    ///
    /// For `dsh` both f16 blocks ([`DeviceJacobian::narrow`]) and f32 blocks are taken; the latter are scaled by one beta
    /// on the way.
    ///
    /// # Errors
    /// [`GpuError::OtherMatrix`] for another pattern or block size, [`GpuError::Unsupported`] for values
    /// of another storage, [`GpuError::Cuda`].
    pub fn set_values(&mut self, jac: &DeviceJacobian) -> Result<(), GpuError> {
        let whole = self.part_of.as_ref().map_or(&self.pattern, |(whole, _)| whole);
        let same = Arc::ptr_eq(jac.pattern(), whole) || **jac.pattern() == **whole;
        if !same || jac.nb() != self.nb {
            return Err(GpuError::OtherMatrix);
        }
        let from = jac.off.storage();
        let taken = match self.storage {
            Storage::F64 => matches!(from, Storage::F64 | Storage::F32),
            Storage::F32 | Storage::Bf16 => from == Storage::F32,
            Storage::F16 => matches!(from, Storage::F32 | Storage::F16),
        };
        if !taken {
            return Err(not_taken(from, self.storage));
        }
        let mut scale = 0;
        let made;
        match &jac.off {
            DeviceOff::F16 { unscale, .. } => self.take_unscale(unscale)?,
            DeviceOff::F32(values) if self.storage == Storage::F16 => {
                made = match self.scale.take() {
                    Some(found) => found,
                    None => crate::gpu::global_scale(&self.vectors, values)?,
                };
                scale = made.0.ptr();
                self.take_unscale(&made.1)?;
            }
            _ => {}
        }
        self.diag.copy_from(&jac.diag.slice())?;
        if !self.converts.contains_key(&from) {
            let module = self.stream.gpu().module(&self.tile.convert_source(self.nb, self.storage, from))?;
            let name = if self.tile.is_sliced() { "to_sliced" } else { "to_panel" };
            self.converts.insert(from, module.kernel(name)?);
        }
        let conversion = kernel_arguments! { Conversion {
            row_ptr: &self.row_ptr, given: Read::at(jac.off.ptr()),
            kept: self.part_of.as_ref().map(|(_, kept)| kept), scale: Read::at(scale), scale_stride: 0_u32,
            values: Write::at(self.values.ptr()),
        } };
        let launch = if self.tile.is_sliced() {
            let (chunks, perm) = ((&self.chunks).into(), self.perm.as_ref().into());
            let launch = self.converts[&from].launch(self.chunk_count, self.tile.chunk() * self.nb);
            launch.record(&ToSliced { chunks, perm, conversion })
        } else {
            self.converts[&from].launch(self.pattern.rows(), 128).record(&ToPanel { conversion })
        };
        // SAFETY: the format was made for this pattern and block size: every chunk or row has its place in `values`, and every block is
        // one of those that are given.
        unsafe { launch.enqueue(&self.stream)? };
        self.has_values = true;
        Ok(())
    }

    fn take_unscale(&mut self, from: &DeviceBuffer<f32>) -> Result<(), GpuError> {
        if self.unscale.len() != from.len() {
            self.unscale = DeviceBuffer::uninitialized(&self.stream, from.len())?;
        }
        self.unscale_stride = u32::from(from.len() > 1);
        Ok(self.unscale.copy_from(&from.slice())?)
    }

    /// Where blocks may be assembled; none where the values kept are not those that are assembled, or for large blocks.
    pub fn in_place(&self) -> Option<InPlace<'_>> {
        let whole = matches!(self.storage, Storage::F64 | Storage::F32);
        let perm = self.perm.as_ref().filter(|_| whole)?;
        let (chunks, values, diag) = (&self.chunks, &self.values, &self.diag);
        Some(InPlace { rows: self.tile.chunk(), chunks, perm, values, diag })
    }

    /// To be called when blocks were assembled [in place](Self::in_place).
    pub fn assembled(&mut self) {
        self.has_values = true;
    }
}
