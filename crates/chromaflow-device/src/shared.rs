#![allow(unsafe_code)]
//! Arrays that the members of a team write in disjoint parts.

use std::marker::PhantomData;
use std::ops::Range;

/// A mutable slice that the members of a [`Team`](crate::Team) share, each writing its own part.
///
/// Where parts are contiguous per member, `split_at_mut` serves; this is for rows that are written in the order of a
/// schedule.
pub struct SharedSlice<'a, T> {
    ptr: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: all access goes through unsafe methods whose callers promise that parts written are disjoint.
unsafe impl<T: Send> Sync for SharedSlice<'_, T> {}
// SAFETY: as a &mut [T], which it borrows.
unsafe impl<T: Send> Send for SharedSlice<'_, T> {}

impl<'a, T> SharedSlice<'a, T> {
    /// Shares `values` for as long as this lives.
    pub fn new(values: &'a mut [T]) -> Self {
        Self { ptr: values.as_mut_ptr(), len: values.len(), life: PhantomData }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Asks for the value at `index`, which may be any, before it is needed.
    #[inline(always)]
    pub fn prefetch(&self, index: usize) {
        crate::prefetch::<1, T>(self.ptr.wrapping_add(index));
    }

    /// The values in `range`, to read.
    ///
    /// # Safety
    /// Nobody writes any of them while the result lives.
    ///
    /// # Panics
    /// When the range leaves the slice.
    pub unsafe fn read(&self, range: Range<usize>) -> &[T] {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} leaves 0..{}", self.len);
        // SAFETY: inside the slice (checked above); not written meanwhile (the caller's promise).
        unsafe { std::slice::from_raw_parts(self.ptr.add(range.start), range.len()) }
    }

    /// The values in `range`, to write.
    ///
    /// # Safety
    /// Nobody else reads or writes any of them while the result lives.
    ///
    /// # Panics
    /// When the range leaves the slice.
    #[allow(clippy::mut_from_ref)] // the point of the type: the caller promises that parts are disjoint
    pub unsafe fn write(&self, range: Range<usize>) -> &mut [T] {
        assert!(range.start <= range.end && range.end <= self.len, "{range:?} leaves 0..{}", self.len);
        // SAFETY: inside the slice (checked above); exclusive (the caller's promise).
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(range.start), range.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Team;

    #[test]
    fn members_write_interleaved_parts() {
        let mut values = vec![0; 30];
        let shared = SharedSlice::new(&mut values);
        Team::new(3).run(|m| {
            for i in (m.rank()..15).step_by(m.size()) {
                // SAFETY: pair i belongs to one member.
                unsafe { shared.write(2 * i..2 * i + 2) }.copy_from_slice(&[i, i]);
            }
        });
        assert!(values.iter().enumerate().all(|(k, &v)| v == k / 2));
    }
}
