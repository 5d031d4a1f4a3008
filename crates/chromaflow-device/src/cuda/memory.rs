#![allow(unsafe_code)]
//! Memory on the device, and page-locked memory on the host.

use super::error::check;
use super::{CudaError, Gpu, Stream};
use bytemuck::{Pod, Zeroable};
use cudarc::driver::sys::{self, CUresult};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Range};

/// An array in device memory, allocated and freed in the order of a stream.
pub struct DeviceBuffer<T> {
    ptr: u64,
    len: usize,
    stream: Stream,
    /// Bytes that were allocated for it; 0 where the memory is another's.
    held: usize,
    of: PhantomData<T>,
}

/// A part of a [`DeviceBuffer`].
#[derive(Clone, Copy, Debug)]
pub struct DeviceSlice<'a, T> {
    ptr: u64,
    len: usize,
    of: PhantomData<&'a T>,
}

impl<T: Pod> DeviceSlice<'_, T> {
    /// The device address.
    pub fn ptr(&self) -> u64 {
        self.ptr
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T: Pod> DeviceBuffer<T> {
    /// `len` values, not set.
    ///
    /// # Errors
    /// [`CudaError::OutOfMemory`] with what was asked and what is free, [`CudaError::Driver`].
    pub fn uninitialized(stream: &Stream, len: usize) -> Result<Self, CudaError> {
        stream.gpu().bind()?;
        let bytes = len.saturating_mul(size_of::<T>());
        // The driver refuses empty allocations.
        let held = bytes.max(1);
        let mut ptr = 0;
        // SAFETY: writes one address; freed once, in Drop.
        let status =
            unsafe { sys::cuMemAllocFromPoolAsync(&raw mut ptr, held, stream.gpu().pool(), stream.raw()) };
        if status == CUresult::CUDA_ERROR_OUT_OF_MEMORY {
            let (free, total) = stream.gpu().memory()?;
            return Err(CudaError::OutOfMemory { asked: bytes, free, total });
        }
        check("cuMemAllocAsync", status)?;
        stream.hold(held);
        Ok(Self { ptr, len, stream: stream.clone(), held, of: PhantomData })
    }

    /// `len` values whose bytes are all zero.
    ///
    /// # Errors
    /// As [`Self::uninitialized`].
    pub fn zeroed(stream: &Stream, len: usize) -> Result<Self, CudaError> {
        let mut buffer = Self::uninitialized(stream, len)?;
        buffer.fill_bytes(0)?;
        Ok(buffer)
    }

    /// A copy of `values`.
    ///
    /// # Errors
    /// As [`Self::uninitialized`].
    pub fn from_slice(stream: &Stream, values: &[T]) -> Result<Self, CudaError> {
        let mut buffer = Self::uninitialized(stream, values.len())?;
        buffer.upload(values)?;
        Ok(buffer)
    }

    /// Another library's array, which stays its own: it is not freed here.
    ///
    /// # Safety
    /// `ptr` points to `len` values of type `T` in memory that the device of `stream` can reach, aligned for `T`, which
    /// stay valid, and are used by nobody else without ordering, as long as what is returned lives.
    pub unsafe fn adopt(stream: &Stream, ptr: u64, len: usize) -> Self {
        Self { ptr, len, stream: stream.clone(), held: 0, of: PhantomData }
    }

    /// The device address.
    pub fn ptr(&self) -> u64 {
        self.ptr
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes.
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }

    /// The stream in whose order this memory lives.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// The whole.
    pub fn slice(&self) -> DeviceSlice<'_, T> {
        DeviceSlice { ptr: self.ptr, len: self.len, of: PhantomData }
    }

    /// A part.
    ///
    /// # Panics
    /// When `range` lies outside.
    pub fn part(&self, range: Range<usize>) -> DeviceSlice<'_, T> {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "{range:?} outside of {} values",
            self.len
        );
        let ptr = self.ptr + (range.start * size_of::<T>()) as u64;
        DeviceSlice { ptr, len: range.len(), of: PhantomData }
    }

    /// Sets every byte.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn fill_bytes(&mut self, byte: u8) -> Result<(), CudaError> {
        self.fill_bytes_of(0..self.len, byte)
    }

    /// Sets every byte of a part.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    ///
    /// # Panics
    /// When `range` lies outside.
    pub fn fill_bytes_of(&mut self, range: Range<usize>, byte: u8) -> Result<(), CudaError> {
        let part = self.part(range);
        if part.is_empty() {
            return Ok(());
        }
        self.stream.gpu().bind()?;
        // SAFETY: the range is this buffer's own.
        check("cuMemsetD8Async", unsafe {
            sys::cuMemsetD8Async(part.ptr, byte, part.len * size_of::<T>(), self.stream.raw())
        })
    }

    /// Copies `values` from the host. Returns when `values` may be changed again.
    ///
    /// # Errors
    /// [`CudaError::Length`], [`CudaError::Driver`].
    pub fn upload(&mut self, values: &[T]) -> Result<(), CudaError> {
        self.upload_part(0..self.len, values)
    }

    /// Copies `values` from the host to a part of this buffer. Returns when `values` may be changed again.
    ///
    /// # Errors
    /// [`CudaError::Length`], [`CudaError::Driver`].
    ///
    /// # Panics
    /// When `range` lies outside.
    pub fn upload_part(&mut self, range: Range<usize>, values: &[T]) -> Result<(), CudaError> {
        let part = self.part(range);
        same_len("host array to upload", values.len(), part.len)?;
        if part.is_empty() {
            return Ok(());
        }
        self.stream.gpu().bind()?;
        // SAFETY: both ranges hold the bytes of `values`; the host's is kept until the copy is done.
        unsafe {
            let bytes = size_of_val(values);
            check(
                "cuMemcpyHtoD",
                sys::cuMemcpyHtoDAsync_v2(part.ptr, values.as_ptr().cast(), bytes, self.stream.raw()),
            )?;
        }
        self.stream.synchronize()
    }

    /// Copies to the host.
    ///
    /// # Errors
    /// [`CudaError::Length`], [`CudaError::Driver`].
    pub fn download_into(&self, values: &mut [T]) -> Result<(), CudaError> {
        self.download_part_into(0..self.len, values)
    }

    /// Copies a part to the host.
    ///
    /// # Errors
    /// [`CudaError::Length`], [`CudaError::Driver`].
    ///
    /// # Panics
    /// When `range` lies outside.
    pub fn download_part_into(&self, range: Range<usize>, values: &mut [T]) -> Result<(), CudaError> {
        let part = self.part(range);
        same_len("host array to download into", values.len(), part.len)?;
        if part.is_empty() {
            return Ok(());
        }
        self.stream.gpu().bind()?;
        // SAFETY: both ranges hold the bytes of `values`; the host's is kept until the copy is done.
        unsafe {
            let bytes = size_of_val(values);
            check(
                "cuMemcpyDtoH",
                sys::cuMemcpyDtoHAsync_v2(values.as_mut_ptr().cast(), part.ptr, bytes, self.stream.raw()),
            )?;
        }
        self.stream.synchronize()
    }

    /// The values on the host.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    pub fn download(&self) -> Result<Vec<T>, CudaError> {
        let mut values = vec![T::zeroed(); self.len];
        self.download_into(&mut values)?;
        Ok(values)
    }

    /// Copies from another part of device memory, in the order of this buffer's stream.
    ///
    /// # Errors
    /// [`CudaError::Length`], [`CudaError::Driver`].
    pub fn copy_from(&mut self, from: &DeviceSlice<'_, T>) -> Result<(), CudaError> {
        same_len("device array to copy", from.len, self.len)?;
        if self.is_empty() {
            return Ok(());
        }
        self.stream.gpu().bind()?;
        // SAFETY: both ranges hold `bytes` bytes; `&mut self` and the slice's borrow keep them apart.
        check("cuMemcpyDtoD", unsafe {
            sys::cuMemcpyDtoDAsync_v2(self.ptr, from.ptr, self.bytes(), self.stream.raw())
        })
    }

    /// Repeats the first `period` values to the end, in the order of this buffer's stream.
    ///
    /// # Errors
    /// [`CudaError::Driver`].
    ///
    /// # Panics
    /// When `period` is 0 or more than there are.
    pub fn repeat(&mut self, period: usize) -> Result<(), CudaError> {
        assert!((1..=self.len).contains(&period), "a period of {period} in {} values", self.len);
        self.stream.gpu().bind()?;
        let mut done = period;
        while done < self.len {
            // Whole periods, as many as there are.
            let len = done.min(self.len - done);
            let to = self.ptr + (done * size_of::<T>()) as u64;
            // SAFETY: both ranges are this buffer's own, `len` values long, and the second begins where the first ends.
            check("cuMemcpyDtoD", unsafe {
                sys::cuMemcpyDtoDAsync_v2(to, self.ptr, len * size_of::<T>(), self.stream.raw())
            })?;
            done += len;
        }
        Ok(())
    }

    /// Copies a part of page-locked memory to the values from `at` on, in the order of `stream`, without waiting: what is in
    /// the page-locked memory must stay there until the stream has come so far.
    ///
    /// # Errors
    /// [`CudaError::Length`] when the part reaches beyond either end, [`CudaError::Driver`].
    pub fn upload_later(
        &mut self,
        stream: &Stream,
        at: usize,
        from: &Pinned<T>,
        part: Range<usize>,
    ) -> Result<(), CudaError> {
        let len = part.len();
        if part.end > from.len || len > self.len.saturating_sub(at) {
            let expected = from.len.min(self.len.saturating_sub(at));
            return Err(CudaError::Length { what: "pinned part to upload", found: len, expected });
        }
        if len == 0 {
            return Ok(());
        }
        stream.gpu().bind()?;
        let to = self.ptr + (at * size_of::<T>()) as u64;
        // SAFETY: both ranges hold `len` values (checked above); pinned memory is waited for before it is freed.
        check("cuMemcpyHtoD", unsafe {
            let from = from.ptr.add(part.start).cast();
            sys::cuMemcpyHtoDAsync_v2(to, from, len * size_of::<T>(), stream.raw())
        })
    }

    /// Copies to page-locked memory without waiting: the values are there when the stream has come so far.
    ///
    /// # Errors
    /// [`CudaError::Length`], [`CudaError::Driver`].
    pub fn download_later(&self, to: &mut Pinned<T>) -> Result<(), CudaError> {
        same_len("pinned array to download into", to.len, self.len)?;
        self.stream.gpu().bind()?;
        // SAFETY: both ranges hold `bytes` bytes; pinned memory is waited for before it is freed.
        check("cuMemcpyDtoH", unsafe {
            sys::cuMemcpyDtoHAsync_v2(to.ptr.cast(), self.ptr, self.bytes(), self.stream.raw())
        })
    }

    /// Copies a part to the values from `at` on of page-locked memory, without waiting: they are there when the stream has come so far.
    ///
    /// # Errors
    /// [`CudaError::Length`] when the part reaches beyond the end, [`CudaError::Driver`].
    ///
    /// # Panics
    /// When `part` lies outside.
    pub fn download_part_later(
        &self,
        part: Range<usize>,
        to: &mut Pinned<T>,
        at: usize,
    ) -> Result<(), CudaError> {
        let part = self.part(part);
        if part.len > to.len.saturating_sub(at) {
            let expected = to.len.saturating_sub(at);
            return Err(CudaError::Length {
                what: "pinned part to download into",
                found: part.len,
                expected,
            });
        }
        if part.is_empty() {
            return Ok(());
        }
        self.stream.gpu().bind()?;
        // SAFETY: both ranges hold `len` values (checked above); pinned memory is waited for before it is freed.
        check("cuMemcpyDtoH", unsafe {
            let (to, bytes) = (to.ptr.add(at).cast(), part.len * size_of::<T>());
            sys::cuMemcpyDtoHAsync_v2(to, part.ptr, bytes, self.stream.raw())
        })
    }

    /// The same bytes as values of another type: how f32 blocks become f16 blocks in place.
    ///
    /// # Panics
    /// When the bytes do not divide into values of `U`.
    #[must_use]
    pub fn cast<U: Pod>(self) -> DeviceBuffer<U> {
        assert!(self.bytes().is_multiple_of(size_of::<U>()), "{} bytes do not divide", self.bytes());
        let this = std::mem::ManuallyDrop::new(self);
        DeviceBuffer {
            ptr: this.ptr,
            len: this.len * size_of::<T>() / size_of::<U>(),
            // SAFETY: `this` is never dropped or used again, so the stream moves out once.
            stream: unsafe { std::ptr::read(&raw const this.stream) },
            held: this.held,
            of: PhantomData,
        }
    }

    /// The first `len` values as a buffer; the rest stays allocated until this is dropped.
    ///
    /// # Panics
    /// When `len` is more than there are.
    #[must_use]
    pub fn shortened(mut self, len: usize) -> Self {
        assert!(len <= self.len);
        self.len = len;
        self
    }
}

fn same_len(what: &'static str, found: usize, expected: usize) -> Result<(), CudaError> {
    if found == expected { Ok(()) } else { Err(CudaError::Length { what, found, expected }) }
}

impl<T> Drop for DeviceBuffer<T> {
    fn drop(&mut self) {
        if self.held > 0 && self.stream.gpu().bind().is_ok() {
            // SAFETY: allocated in `uninitialized`, freed once, after all work enqueued on its stream.
            unsafe { sys::cuMemFreeAsync(self.ptr, self.stream.raw()) };
            self.stream.let_go(self.held);
        }
    }
}

impl<T> fmt::Debug for DeviceBuffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceBuffer({} x {}, {:#x})", self.len, std::any::type_name::<T>(), self.ptr)
    }
}

/// Page-locked host memory: copies to and from the device run at full speed and without waiting.
pub struct Pinned<T> {
    ptr: *mut T,
    len: usize,
    gpu: Gpu,
}

// SAFETY: plain memory, owned.
unsafe impl<T: Send> Send for Pinned<T> {}
// SAFETY: `&Pinned` gives only `&[T]`.
unsafe impl<T: Sync> Sync for Pinned<T> {}

impl<T: Zeroable + Copy> Pinned<T> {
    /// `len` zeros.
    ///
    /// # Errors
    /// [`CudaError::Driver`] when the system gives no more page-locked memory.
    pub fn zeroed(gpu: &Gpu, len: usize) -> Result<Self, CudaError> {
        gpu.bind()?;
        let mut ptr = std::ptr::null_mut();
        let bytes = (len * size_of::<T>()).max(1);
        // SAFETY: writes one address; freed once, in Drop. The bytes are set, and all-zero is a value of T.
        unsafe {
            check("cuMemAllocHost", sys::cuMemAllocHost_v2(&raw mut ptr, bytes))?;
            std::ptr::write_bytes(ptr.cast::<u8>(), 0, bytes);
        }
        Ok(Self { ptr: ptr.cast(), len, gpu: gpu.clone() })
    }
}

impl<T> Drop for Pinned<T> {
    fn drop(&mut self) {
        if self.gpu.bind().is_ok() {
            // SAFETY: allocated by cuMemAllocHost, freed once; the driver waits for copies under way.
            unsafe { sys::cuMemFreeHost(self.ptr.cast()) };
        }
    }
}

impl<T> Deref for Pinned<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `len` initialized values.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }
}

impl<T> DerefMut for Pinned<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr, self.len) }
    }
}

impl<T> fmt::Debug for Pinned<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pinned({} x {})", self.len, std::any::type_name::<T>())
    }
}
