#![allow(unsafe_code)]
//! Where the numbers of a vector of systems come from. Reading some can ask for those that come a few rows later, into the
//! first-level cache: hardware that follows that many arrays does not look far enough ahead while a row is eliminated.

use chromaflow_device::prefetch;
use chromaflow_simd::Columns;

/// One array of a line whose lanes are neighbouring systems, read a few numbers at a time.
pub(crate) trait Source<S: Copy, L: Columns<S>>: Copy {
    /// Makes `len` numbers of the line from `first` on ready; `room` may serve.
    ///
    /// # Safety
    /// The line must have them.
    unsafe fn fetch(&self, first: usize, len: usize, room: &mut [L]);

    /// Number `first + k`, after a [`Source::fetch`] from `first` on into the same room.
    ///
    /// # Safety
    /// It must be one of those fetched.
    unsafe fn entry(&self, first: usize, k: usize, room: &[L]) -> L;
}

/// Numbers in a cache line.
const fn in_line<S>() -> usize {
    64 / size_of::<S>()
}

/// Lanes side by side: number j of the line at `at + j W`.
#[derive(Clone, Copy)]
pub(crate) struct SideBySide<S> {
    pub at: *const S,
    /// How far behind what is read to ask; 0 for not at all.
    pub ahead: usize,
}

impl<S: Copy, L: Columns<S>> Source<S, L> for SideBySide<S> {
    #[inline(always)]
    unsafe fn fetch(&self, first: usize, len: usize, _: &mut [L]) {
        if self.ahead > 0 {
            let from = self.at.wrapping_add(first * L::LANES + self.ahead);
            for j in (0..len * L::LANES).step_by(in_line::<S>()) {
                prefetch::<1, S>(from.wrapping_add(j));
            }
        }
    }

    #[inline(always)]
    unsafe fn entry(&self, first: usize, k: usize, _: &[L]) -> L {
        // SAFETY: the caller's promise, passed on.
        unsafe { L::load(self.at.wrapping_add((first + k) * L::LANES)) }
    }
}

/// System by system: number j of lane l at `at + l stride + j`, the line's length apart. They change places in registers, right
/// before they are used.
#[derive(Clone, Copy)]
pub(crate) struct EndToEnd<S> {
    pub at: *const S,
    pub stride: usize,
    /// How far behind what is read to ask, in the next vector's lines where these end; 0 for not at all.
    pub ahead: usize,
}

impl<S: Copy, L: Columns<S>> Source<S, L> for EndToEnd<S> {
    #[inline(always)]
    unsafe fn fetch(&self, first: usize, len: usize, room: &mut [L]) {
        // SAFETY: the caller's promise, passed on.
        unsafe { L::columns(self.at.add(first), self.stride, len, room) };
        if self.ahead > 0 {
            let beyond = if first + self.ahead < self.stride { 0 } else { (L::LANES - 1) * self.stride };
            let coming = self.at.wrapping_add(first + self.ahead + beyond);
            for j in (0..len).step_by(in_line::<S>()) {
                for l in 0..L::LANES {
                    prefetch::<1, S>(coming.wrapping_add(j + l * self.stride));
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn entry(&self, _: usize, k: usize, room: &[L]) -> L {
        room[k]
    }
}
