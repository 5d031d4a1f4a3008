#![allow(unsafe_code)]
//! A pointer for the members of a team.

/// A pointer that the members of a team share; each writes only what is its own.
#[derive(Clone, Copy)]
pub(crate) struct SharedMut<T>(pub *mut T);

// SAFETY: whoever dereferences it says why no two threads write one place.
unsafe impl<T: Send> Send for SharedMut<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for SharedMut<T> {}

impl<T> SharedMut<T> {
    /// The pointer (a method, so that closures capture the whole).
    pub(crate) fn get(&self) -> *mut T {
        self.0
    }
}
