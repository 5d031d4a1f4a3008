#![allow(unsafe_code)]
//! Aligned host memory.

use bytemuck::{AnyBitPattern, NoUninit, Zeroable};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A fixed-length array in host memory: 64-byte aligned, zeroed, and readable for [`Buffer::TAIL`] bytes past its
/// end, so that SIMD kernels may load whole vectors at the last block.
///
/// Large buffers come from the system as untouched zero pages, huge ones where the system offers them (Linux): the
/// thread that first *writes* a page decides on which memory node it lies (first touch), so let the owner of a range
/// fill it.
pub struct Buffer<T> {
    ptr: NonNull<T>,
    len: usize,
    memory: Memory,
}

/// What the system gave; the elements start somewhere inside.
struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

/// One cache line, one AVX-512 vector.
const ALIGN: usize = 64;
const TAIL: usize = 64;
const HUGE_PAGE: usize = 2 << 20;

// SAFETY: a Buffer owns its allocation like a Vec<T> does; sharing and sending follow T.
unsafe impl<T: Send> Send for Buffer<T> {}
// SAFETY: as above; &Buffer gives only &[T].
unsafe impl<T: Sync> Sync for Buffer<T> {}

impl<T: Zeroable + Copy> Buffer<T> {
    /// Alignment of the first element, in bytes.
    pub const ALIGN: usize = ALIGN;
    /// Bytes past the end that may be read (their value is unspecified).
    pub const TAIL: usize = TAIL;

    /// `len` zeros.
    ///
    /// # Panics
    /// When the size overflows the address space.
    #[must_use]
    pub fn zeroed(len: usize) -> Self {
        const { assert!(align_of::<T>() <= ALIGN) };
        let bytes = len.checked_mul(size_of::<T>()).expect("buffer size overflows");
        let align = if bytes >= 2 * HUGE_PAGE { HUGE_PAGE } else { ALIGN };
        // Asked for with little alignment, memory comes as untouched zero pages; with more, the allocator would write
        // the zeros itself, here and now.
        let layout = bytes
            .checked_add(TAIL + align)
            .and_then(|total| Layout::from_size_align(total, 16).ok())
            .expect("buffer size overflows");
        // SAFETY: the layout is not of size zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else { handle_alloc_error(layout) };
        let skip = start.align_offset(align);
        // SAFETY: skip < align, so that skip + bytes + TAIL lies within the layout.
        let ptr = unsafe { start.add(skip) };
        if align == HUGE_PAGE {
            advise_huge_pages(ptr, bytes + TAIL);
        }
        Self { ptr: ptr.cast(), len, memory: Memory { start, layout } }
    }

    /// A copy of `values`.
    #[must_use]
    pub fn from_slice(values: &[T]) -> Self {
        let mut buffer = Self::zeroed(values.len());
        buffer.copy_from_slice(values);
        buffer
    }

    /// The same memory seen as `len` values of another type, which keep the bytes that are there.
    ///
    /// # Panics
    /// When `len` values do not fit into the allocation this buffer was made with.
    #[must_use]
    pub fn reinterpret<U: AnyBitPattern>(self, len: usize) -> Buffer<U>
    where
        T: NoUninit,
    {
        const { assert!(align_of::<U>() <= ALIGN) };
        assert!(len <= self.capacity::<U>(), "no room for {len} values");
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is not dropped, so that its memory has one owner again.
        let memory = unsafe { std::ptr::read(&raw const this.memory) };
        Buffer { ptr: this.ptr.cast(), len, memory }
    }
}

/// Gives memory that was freed, but kept by the allocator, back to the system, where that can be asked for (glibc): after
/// a phase that needed much for a short time.
pub fn give_back_freed() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        // SAFETY: touches free memory of the allocator only.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(target_os = "linux")]
fn advise_huge_pages(ptr: NonNull<u8>, bytes: usize) {
    unsafe extern "C" {
        fn madvise(address: *mut std::ffi::c_void, length: usize, advice: i32) -> i32;
    }
    const MADV_HUGEPAGE: i32 = 14;
    // SAFETY: the range is whole pages of our own allocation and the advice changes no content. A refusal costs speed
    // at most.
    unsafe { madvise(ptr.as_ptr().cast(), bytes / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages(_: NonNull<u8>, _: usize) {}

impl<T> Buffer<T> {
    /// How many values of another type the memory has room for.
    pub fn capacity<U>(&self) -> usize {
        let skip = self.ptr.as_ptr() as usize - self.memory.start.as_ptr() as usize;
        (self.memory.layout.size() - skip - TAIL) / size_of::<U>()
    }

    /// Bytes of the elements (the tail not counted).
    pub fn bytes(&self) -> usize {
        self.len * size_of::<T>()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: allocated in `Buffer::zeroed` with this very layout; elements are Copy, so nothing needs dropping.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
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

    #[test]
    fn large_ones_are_zeroed_too() {
        let mut b = Buffer::<u8>::zeroed(5 << 20);
        assert_eq!(b.as_ptr() as usize % HUGE_PAGE, 0);
        assert!(b.iter().all(|&v| v == 0));
        b[(5 << 20) - 1] = 1;
    }

    #[test]
    fn another_type_sees_the_same_bytes() {
        let b = Buffer::from_slice(&[1.0_f32, 2.0, 3.0]);
        let bits = b.reinterpret::<u32>(2);
        assert_eq!(&*bits, [1.0_f32.to_bits(), 2.0_f32.to_bits()]);
        let back = bits.reinterpret::<f32>(3);
        assert_eq!(&*back, [1.0, 2.0, 3.0]);
    }

    #[test]
    #[should_panic(expected = "no room")]
    fn another_type_must_fit() {
        let _ = Buffer::<u8>::zeroed(8).reinterpret::<f64>(1000);
    }
}
