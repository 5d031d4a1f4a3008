#![allow(unsafe_code)]
//! An output array that the members of a team write in disjoint parts.

use std::marker::PhantomData;

/// A mutable slice shared by threads, each of which writes entries of its own systems only.
pub(crate) struct Shared<'a, T> {
    ptr: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: the type only hands out a pointer and single writes; `set` and the users of `ptr` write disjoint entries from
// different threads (each system belongs to one thread).
unsafe impl<T: Send> Sync for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<'_, T> {}

impl<'a, T: Copy> Shared<'a, T> {
    pub(crate) fn new(values: &'a mut [T]) -> Self {
        Self { ptr: values.as_mut_ptr(), len: values.len(), life: PhantomData }
    }

    /// The first entry.
    pub(crate) fn ptr(&self) -> *mut T {
        self.ptr
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Writes the entries from `at` on, which no other thread touches meanwhile.
    #[cfg(feature = "cuda")]
    pub(crate) fn copy(&self, at: usize, values: &[T]) {
        assert!(
            at <= self.len && values.len() <= self.len - at,
            "{} from {at} of {}",
            values.len(),
            self.len
        );
        // SAFETY: the entries are inside the slice (checked above); they are written by one thread each.
        unsafe { self.ptr.add(at).copy_from_nonoverlapping(values.as_ptr(), values.len()) }
    }

    /// Writes entry `at`, which no other thread touches meanwhile.
    pub(crate) fn set(&self, at: usize, value: T) {
        assert!(at < self.len, "entry {at} of {}", self.len);
        // SAFETY: `at` is inside the slice (checked above); entries are written by one thread each.
        unsafe { self.ptr.add(at).write(value) }
    }
}
