#![allow(unsafe_code)]
//! Aligned host memory.

use bytemuck::Zeroable;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A fixed-length array in host memory: 64-byte aligned, zeroed, and readable for [`Buffer::TAIL`] bytes past its
/// end, so that SIMD kernels may load whole vectors at the last block.
///
/// Large buffers come from the system as untouched zero pages: the thread that first *writes* a page decides on
/// which memory node it lies (first touch), so let the owner of a range fill it.
pub struct Buffer<T> {
    ptr: NonNull<T>,
    len: usize,
}

// SAFETY: a Buffer owns its allocation like a Vec<T> does; sharing and sending follow T.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: as above; &Buffer gives only &[T].
unsafe impl<T: Sync> Sync for Buffer<T> {}

impl<T: Zeroable + Copy> Buffer<T> {
    /// Alignment of the first element, in bytes (one cache line, one AVX-512 vector).
    pub const ALIGN: usize = 64;
    /// Bytes past the end that may be read (their value is unspecified).
    pub const TAIL: usize = 64;

    /// `len` zeros.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        let layout = Self::layout(len);
        // SAFETY: the layout is never of size zero (TAIL bytes at least).
        let raw = unsafe { alloc_zeroed(layout) };
        let Some(ptr) = NonNull::new(raw.cast::<T>()) else { handle_alloc_error(layout) };
        Self { ptr, len }
    }

    /// A copy of `values`.
    #[must_use]
    pub fn from_slice(values: &[T]) -> Self {
        let mut buffer = Self::zeroed(values.len());
        buffer.copy_from_slice(values);
        buffer
    }
}

impl<T> Buffer<T> {
    fn layout(len: usize) -> Layout {
        let bytes =
            len.checked_mul(size_of::<T>()).and_then(|b| b.checked_add(64)).expect("buffer size overflows");
        Layout::from_size_align(bytes, 64).expect("buffer size overflows")
    }

    /// Bytes of the elements (the tail not counted).
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl<T> Drop for Buffer<T> {
    fn drop(&mut self) {
        // SAFETY: allocated in `zeroed` with this very layout; T: Copy there, so nothing needs dropping.
        unsafe { dealloc(self.ptr.as_ptr().cast(), Self::layout(self.len)) }
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `ptr` is valid for `len` elements, all initialized (zeroed, T: Zeroable).
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`, and `&mut self` is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl<T: Zeroable + Copy> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        Self::from_slice(self)
    }
}

impl<T: fmt::Debug> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: Zeroable + Copy> From<Vec<T>> for Buffer<T> {
    fn from(values: Vec<T>) -> Self {
        Self::from_slice(&values)
    }
}

impl<T: Zeroable + Copy> Default for Buffer<T> {
    fn default() -> Self {
        Self::zeroed(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligned_zeroed_and_cloned() {
        for len in [0, 1, 7, 64, 1000] {
            let mut b = Buffer::<f64>::zeroed(len);
            assert_eq!(b.as_ptr() as usize % 64, 0);
            assert!(b.iter().all(|&v| v == 0.0));
            for (i, v) in b.iter_mut().enumerate() {
                *v = i as f64;
            }
            assert_eq!(&*b.clone(), &*b);
            assert_eq!(b.bytes(), 8 * len);
        }
    }
}
