#![allow(unsafe_code)]
//! Vectors of neighbouring systems: where their rows are read and written, and the work space of a thread.

use super::precision::Precision;
use super::{Layout, Shape};
use chromaflow_device::{Buffer, Team};
use chromaflow_simd::{Columns, Vector};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Work space of one thread; it grows and stays.
#[derive(Default)]
pub(crate) struct Scratch {
    bytes: Buffer<[u64; 8]>,
}

impl Scratch {
    /// Room for `lanes` vectors `L` (unspecified values) and, behind them, `stores` values `S`.
    pub(crate) fn take<L: Vector, S: Copy>(&mut self, lanes: usize, stores: usize) -> (&mut [L], &mut [S]) {
        let front = (lanes * size_of::<L>()).div_ceil(64);
        let back = (stores * size_of::<S>()).div_ceil(64);
        if self.bytes.len() < front + back {
            self.bytes = Buffer::zeroed(front + back);
        }
        let start = self.bytes.as_mut_ptr();
        // SAFETY: the buffer is 64-byte aligned and has `front` units for the vectors, then `back` for the values; the
        // two do not overlap, and any bits are a valid vector or float.
        unsafe {
            (
                std::slice::from_raw_parts_mut(start.cast::<L>(), lanes),
                std::slice::from_raw_parts_mut(start.add(front).cast::<S>(), stores),
            )
        }
    }
}

/// The work spaces of a team's members; they stay.
#[derive(Default)]
pub(crate) struct Workers(Vec<Mutex<Scratch>>);

/// What is a member's own.
pub struct Part<'a> {
    /// Its vectors of so many.
    pub(crate) vectors: &'a dyn Fn(usize) -> Range<usize>,
    pub(crate) scratch: &'a mut Scratch,
}

impl Workers {
    /// Does every member's part; the first of the vectors that parts found in trouble.
    pub(crate) fn run(
        &mut self,
        team: &Team,
        work: impl Fn(Part<'_>) -> Option<usize> + Sync,
    ) -> Option<usize> {
        self.0.resize_with(self.0.len().max(team.size()), Mutex::default);
        let bad = AtomicUsize::new(usize::MAX);
        team.run(|member| {
            let mut scratch = self.0[member.rank()].lock().unwrap_or_else(PoisonError::into_inner);
            let found = work(Part { vectors: &|count| member.share(count), scratch: &mut scratch });
            bad.fetch_min(found.unwrap_or(usize::MAX), Ordering::Relaxed);
        });
        Some(bad.into_inner()).filter(|&vector| vector < usize::MAX)
    }
}

/// Rows of vectors of systems, interleaved by the vector's lanes: entry e of row i of vector v at
/// `ptr + v vector + ((i - first) width + e) lanes`.
#[derive(Clone, Copy)]
pub(crate) struct Rows<S> {
    ptr: *const S,
    vector: usize,
    first: usize,
}

impl<S: Copy> Rows<S> {
    /// Where row 0 of vector `v` is or would be, for [`SideBySide`](super::source::SideBySide).
    #[inline(always)]
    pub(crate) fn line<L: Columns<S>>(&self, v: usize, width: usize) -> *const S {
        self.ptr.wrapping_add(v * self.vector).wrapping_sub(self.first * width * L::LANES)
    }

    /// Row `i` of vector `v`, for [`Columns::load`] at multiples of the lanes.
    #[inline(always)]
    pub(crate) fn row<L: Columns<S>>(&self, v: usize, i: usize, width: usize) -> *const S {
        self.ptr.wrapping_add(v * self.vector).wrapping_add((i - self.first) * width * L::LANES)
    }
}

/// One array of a batch.
#[derive(Clone, Copy)]
pub(crate) struct Array<'a, S> {
    pub values: &'a [S],
    pub layout: Layout,
    pub shape: Shape,
    pub width: usize,
}

/// True if vectors of `lanes` systems are read and written as they lie.
#[inline(always)]
pub(crate) fn in_place(layout: Layout, shape: Shape, system: usize, lanes: usize) -> bool {
    layout == Layout::Interleaved { lanes } && system + lanes <= shape.systems
}

impl<S: Copy> Array<'_, S> {
    /// Rows `rows` of `count` vectors of systems from `system` on (beyond the last system: the last one again), in
    /// place where they lie interleaved by `L::LANES`, otherwise rearranged into `room` (`[count, rows, width, W]`).
    pub(crate) fn rows<L: Columns<S>>(
        &self,
        system: usize,
        count: usize,
        rows: Range<usize>,
        room: &mut [S],
    ) -> Rows<S> {
        let (shape, width) = (self.shape, self.width);
        let place = self.layout.place(shape, width, system);
        let whole = system + count * L::LANES <= shape.systems;
        if whole && self.layout == (Layout::Interleaved { lanes: L::LANES }) {
            let ptr = self.values[place.base + rows.start * place.row..].as_ptr();
            return Rows { ptr, vector: shape.rows * width * L::LANES, first: rows.start };
        }
        let vector = rows.len() * width * L::LANES;
        assert!(room.len() >= count * vector, "room for the rows of {count} vectors");
        let result = Rows { ptr: room.as_ptr(), vector, first: rows.start };
        match self.layout {
            Layout::Aos if whole => {
                for v in 0..count {
                    let from = &self.values[place.base + v * L::LANES * place.system + rows.start * width..];
                    let len = rows.len() * width;
                    assert!(
                        from.len() >= (L::LANES - 1) * place.system + len,
                        "the last system's rows are there"
                    );
                    let to = room[v * vector..].as_mut_ptr();
                    // SAFETY: the two assertions above are the bounds that `interleave` asks for.
                    unsafe { L::interleave(from.as_ptr(), place.system, len, to) };
                }
            }
            Layout::Soa | Layout::Strided { system: 1, .. } if whole => {
                for (i, row) in rows.enumerate() {
                    for entry in 0..width {
                        let at = place.base + row * place.row + entry * place.entry;
                        let k = i * width + entry;
                        for (v, lanes) in
                            self.values[at..][..count * L::LANES].chunks_exact(L::LANES).enumerate()
                        {
                            room[v * vector + k * L::LANES..][..L::LANES].copy_from_slice(lanes);
                        }
                    }
                }
            }
            _ => self.gather::<L>(system, rows, vector, &mut room[..count * vector]),
        }
        result
    }

    /// Any layout, any number of systems left.
    fn gather<L: Columns<S>>(&self, system: usize, rows: Range<usize>, vector: usize, room: &mut [S]) {
        for (v, room) in room.chunks_exact_mut(vector).enumerate() {
            for lane in 0..L::LANES {
                let system = (system + v * L::LANES + lane).min(self.shape.systems - 1);
                let place = self.layout.place(self.shape, self.width, system);
                for (k, i) in rows.clone().enumerate() {
                    for e in 0..self.width {
                        room[(k * self.width + e) * L::LANES + lane] =
                            self.values[place.base + i * place.row + e * place.entry];
                    }
                }
            }
        }
    }
}

/// The array of solutions, shared by threads that write their own systems.
pub(crate) struct Target<'a, P: Precision> {
    pub values: super::Shared<'a, P::Store>,
    pub layout: Layout,
    pub shape: Shape,
}

impl<P: Precision> Target<'_, P> {
    /// Where `rows` of a vector of systems are written, interleaved: straight into the array, or into `room` first.
    #[inline(always)]
    pub(crate) fn rows<L: Columns<P::Store>>(
        &self,
        system: usize,
        rows: &Range<usize>,
        room: &mut [P::Store],
    ) -> RowsMut<P::Store> {
        let m = self.shape.rank;
        if in_place(self.layout, self.shape, system, L::LANES) {
            let place = self.layout.place(self.shape, m, system);
            let ptr = self.values.ptr().wrapping_add(place.base + rows.start * place.row);
            return RowsMut { ptr, first: rows.start };
        }
        assert!(room.len() >= rows.len() * m * L::LANES, "room for the rows of one vector");
        RowsMut { ptr: room.as_mut_ptr(), first: rows.start }
    }

    /// Moves `rows` written into `room` to where they belong, past the caches if so asked and possible.
    pub(crate) fn finish<L: Columns<P::Store>>(
        &self,
        system: usize,
        rows: Range<usize>,
        room: &[P::Store],
        past: bool,
    ) {
        let (shape, m) = (self.shape, self.shape.rank);
        if in_place(self.layout, shape, system, L::LANES) {
            return;
        }
        let place = self.layout.place(shape, m, system);
        if self.layout == Layout::Aos && system + L::LANES <= shape.systems {
            let to = self.values.ptr().wrapping_add(place.base + rows.start * m);
            let len = rows.len() * m;
            assert!(room.len() >= len * L::LANES, "the rows of one vector");
            // SAFETY: the systems system .. system + W are all there (checked above), each with `len` entries from
            // row `rows.start` on, and belong to this thread.
            unsafe { L::deinterleave(room.as_ptr(), len, to, place.system, past) };
            return;
        }
        let live = L::LANES.min(shape.systems - system);
        for (k, i) in rows.enumerate() {
            for e in 0..m {
                let lanes = &room[(k * m + e) * L::LANES..][..live];
                for (lane, &value) in lanes.iter().enumerate() {
                    self.values.set(self.layout.index(shape, m, system + lane, i, e), value);
                }
            }
        }
    }
}

/// Rows of a vector of systems, to be written.
#[derive(Clone, Copy)]
pub(crate) struct RowsMut<S> {
    ptr: *mut S,
    first: usize,
}

impl<S: Copy> RowsMut<S> {
    /// Row `i`, for [`Columns::store`] at multiples of the lanes.
    #[inline(always)]
    pub(crate) fn row<L: Columns<S>>(&self, i: usize, rank: usize) -> *mut S {
        self.ptr.wrapping_add((i - self.first) * rank * L::LANES)
    }
}
