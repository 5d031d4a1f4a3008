#![allow(unsafe_code)]
//! Thomas with a vector of systems at a time.
//!
//! The elimination of a row needs only the row above, so the factors C' and f' of a vector of systems are all that is
//! kept between the two sweeps: they lie in the thread's work space (205 KB for eight systems of 128 rows of rank 5 in
//! f64), which stays in the second-level cache, and memory sees each coefficient once.

use crate::rim::Size;
use crate::tridiag::ahead::{Ahead, Prefetched};
use crate::tridiag::block::{self, each};
use crate::tridiag::groups::{Array, Part, Rows, RowsMut, Target, in_place};
use crate::tridiag::lanes::WithLanes;
use crate::tridiag::source::{EndToEnd, SideBySide, Source};
use crate::tridiag::{Layout, Precision};
use chromaflow_device::prefetch;
use chromaflow_simd::{Columns, flush};
use std::ops::Range;

/// Factors of one strip of vectors that a core's second-level cache keeps beside the rows that stream through it.
const STRIP_BYTES: usize = 512 << 10;
/// Batches of which no cache keeps much: solutions go past the caches.
const STREAM_BYTES: usize = 32 << 20;
/// Rows to come that are asked for: enough to cover the way from memory, little of the first-level cache.
const AHEAD_BYTES: usize = 12 << 10;
/// What lies as far apart falls into the same set of a first-level cache.
const SETS_BYTES: usize = 4 << 10;
/// Solutions that wait in the first-level cache until they go where they belong.
const BACK_BYTES: usize = 8 << 10;
/// Rearranged rows that wait in the second-level cache: as many arrays are read in turn, runs as long as this allows let the
/// hardware see what comes.
const PACK_BYTES: usize = 64 << 10;

/// A thread's part in the solve of a batch.
pub struct Work<'a, 'b, P: Precision> {
    pub(crate) lower: Array<'a, P::Store>,
    pub(crate) diag: Array<'a, P::Store>,
    pub(crate) upper: Array<'a, P::Store>,
    pub(crate) rhs: Array<'a, P::Store>,
    pub(crate) x: &'b Target<'a, P>,
    /// Whether the ends are coupled (lines that stream are open).
    pub(crate) periodic: bool,
    pub(crate) part: Part<'b>,
}

/// Elimination and back-substitution of a thread's vectors of systems.
pub(crate) struct Thomas<'a, 'b, P: Precision, Z> {
    pub rank: Z,
    pub work: Work<'a, 'b, P>,
}

impl<P: Precision, Z: Size> WithLanes<P> for Thomas<'_, '_, P, Z> {
    const PORTABLE: bool = Z::PORTABLE || Z::KNOWN == 1;
    /// The first vector with a solution that is not finite.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: Columns<P::Store>>(self) -> Option<usize> {
        let Self { rank: z, work } = self;
        let Work { lower, diag, upper, rhs, x, part: Part { vectors, scratch }, .. } = work;
        let (n, m, q) = (x.shape.rows, z.get(), z.get() * z.get());
        let vectors = vectors(x.shape.systems.div_ceil(L::LANES));
        let line = n * (q + m);
        let size = size_of::<P::Store>();
        let (strip, chunk) = blocking(x.layout, n, line * size_of::<L>(), q * L::LANES * size, L::LANES);
        let bytes = x.shape.systems * n * (3 * q + 2 * m) * size;
        let streams = |least| x.layout != Layout::Soa && bytes >= least;
        let row = (3 * q + m) * L::LANES * size;
        // Short rows ask for others as they are read, long ones while they are eliminated; ranks known at run time have arithmetic
        // enough.
        let asks = streams(2 * STRIP_BYTES);
        let ahead = |least| {
            if asks && block::in_registers::<Z>() && Z::KNOWN > 1 {
                (AHEAD_BYTES / row).max(least)
            } else {
                0
            }
        };
        let long = asks && !block::in_registers::<Z>() && Z::KNOWN > 0;
        let mut windows = if long { Ahead::new(n, row, 2 * m) } else { Ahead::none() };
        // Scalar systems wait for memory and little else: all rows of the next vector are asked for.
        let scalars = streams(STREAM_BYTES) && Z::KNOWN == 1 && line * size_of::<L>() <= STRIP_BYTES;
        let past = streams(STREAM_BYTES) && L::PAST_CACHES;
        let aligned = x.values.ptr().align_offset(64) == 0;
        // Whole cache lines of each system.
        let back = (BACK_BYTES / (m * L::LANES * size)).next_multiple_of(64 / size);
        let back = if x.layout == Layout::Soa { 1 } else { back.min(n) };
        let pack = strip * chunk * L::LANES;
        let (lanes, stores) = scratch.take::<L, P::Store>(
            strip * line + 2 * q + m,
            3 * pack * q + strip * chunk.max(back) * L::LANES * m,
        );
        let (factors, small) = lanes.split_at_mut(strip * line);
        let (pack_a, stores) = stores.split_at_mut(pack * q);
        let (pack_b, stores) = stores.split_at_mut(pack * q);
        let (pack_c, pack_f) = stores.split_at_mut(pack * q);
        let mut bad = None;
        let mut first = vectors.start;
        while first < vectors.end {
            let at = first * L::LANES;
            let count = strip.min(vectors.end - first);
            let whole = at + L::LANES <= x.shape.systems;
            let (direct, aside) =
                (whole && x.layout == Layout::Aos, in_place(x.layout, x.shape, at, L::LANES));
            let arrays = [&lower, &diag, &upper, &rhs];
            let [a, b, c, f] = arrays.map(|array| {
                array.values.as_ptr().wrapping_add((first + count) * L::LANES * n * array.width)
            });
            let next = scalars.then_some([a, b, c]);
            if direct || aside {
                let coming = arrays.map(|array| {
                    let vector = L::LANES * n * array.width;
                    let here = array.values.as_ptr().wrapping_add(first * vector);
                    Prefetched { here, next: here.wrapping_add(vector), width: array.width }
                });
                windows.begin(direct, L::LANES, coming);
            }
            if direct {
                // Where all lines fall into the same sets, each array asks for another row: what has come is not driven out
                // before it is read.
                let (far, crowded) = (ahead(2), (n * q * size).is_multiple_of(SETS_BYTES));
                let far =
                    if crowded { [0, 1, 2, 1].map(|nearer| far.saturating_sub(nearer)) } else { [far; 4] };
                let sources = std::array::from_fn(|k| EndToEnd {
                    at: arrays[k].values[at * n * arrays[k].width..].as_ptr(),
                    stride: n * arrays[k].width,
                    ahead: far[k] * arrays[k].width,
                });
                // SAFETY: all systems of the vector are there, with all rows.
                unsafe { forward::<Z, _, L, _>(z, n, 0..n, &sources, factors, small, &mut windows, next) };
            } else {
                let ahead = if aside { ahead(1) * L::LANES } else { 0 };
                let mut start = 0;
                while start < n {
                    let rows = start..(start + chunk).min(n);
                    let blocks =
                        Blocks::of::<L>([&lower, &diag, &upper], at, count, &rows, [pack_a, pack_b, pack_c]);
                    let right = rhs.rows::<L>(at, count, rows.clone(), pack_f);
                    for (v, factors) in factors.chunks_exact_mut(line).take(count).enumerate() {
                        let sources = [(&blocks.a, q), (&blocks.b, q), (&blocks.c, q), (&right, m)].map(
                            |(rows, width)| SideBySide { at: rows.line::<L>(v, width), ahead: ahead * width },
                        );
                        // SAFETY: `blocks` and `right` hold these rows for `count` vectors.
                        unsafe {
                            forward::<Z, _, L, _>(
                                z,
                                n,
                                rows.clone(),
                                &sources,
                                factors,
                                small,
                                &mut windows,
                                next,
                            );
                        }
                    }
                    start = rows.end;
                }
            }
            let mut end = n;
            while end > 0 {
                let rows = (end - 1) / back * back..end;
                for v in 0..count {
                    let at = at + v * L::LANES;
                    let out = x.rows::<L>(at, &rows, pack_f);
                    let (cp, fp) = factors[v * line..(v + 1) * line].split_at_mut(n * q);
                    let stream = past && aligned && in_place(x.layout, x.shape, at, L::LANES);
                    // SAFETY: `out` takes these rows, and the systems are this thread's.
                    let finite = unsafe {
                        if Z::KNOWN == 1 {
                            substitute_scalars(n, rows.clone(), cp, fp, &out, next.map(|_| f), stream)
                        } else {
                            substitute::<Z, P::Store, L>(z, n, 1, rows.clone(), cp, fp, &out, stream)
                        }
                    };
                    x.finish::<L>(at, rows.clone(), pack_f, past);
                    if !finite && bad.is_none_or(|b| b > first + v) {
                        bad = Some(first + v);
                    }
                }
                end = rows.start;
            }
            first += count;
        }
        if past {
            flush();
        }
        bad
    }
}

/// How many vectors go through a row together, and how many rows at once.
///
/// With the system index fastest the rows of one vector are single cache lines far apart: several vectors use whole
/// runs of them. Otherwise one vector goes through as many rows as the caches keep near once rearranged.
pub(crate) fn blocking(
    layout: Layout,
    n: usize,
    line_bytes: usize,
    block_bytes: usize,
    lanes: usize,
) -> (usize, usize) {
    match layout {
        Layout::Soa | Layout::Strided { system: 1, .. } => ((STRIP_BYTES / line_bytes).clamp(1, 64), 1),
        Layout::Interleaved { lanes: l } if l == lanes => (1, n),
        _ => (1, (PACK_BYTES / (3 * block_bytes)).clamp(1, n)),
    }
}

/// The blocks in rows of a strip of vectors of systems.
pub(crate) struct Blocks<S> {
    pub a: Rows<S>,
    pub b: Rows<S>,
    pub c: Rows<S>,
}

impl<S: Copy> Blocks<S> {
    /// `rows` of the `count` vectors from system `at` on, of lower, diagonal and upper blocks; rearranged in `packs` if need be.
    #[inline(always)]
    pub fn of<L: Columns<S>>(
        arrays: [&Array<'_, S>; 3],
        at: usize,
        count: usize,
        rows: &Range<usize>,
        [a, b, c]: [&mut [S]; 3],
    ) -> Self {
        let [lower, diag, upper] = arrays;
        Self {
            a: lower.rows::<L>(at, count, rows.clone(), a),
            b: diag.rows::<L>(at, count, rows.clone(), b),
            c: upper.rows::<L>(at, count, rows.clone(), c),
        }
    }
}

/// Small blocks live on the stack, where constant indices let them become registers.
pub(crate) const SMALL: usize = 64;

/// Eliminates the lower blocks of `rows` of a line of any rank: C' and f' of all rows into `factors`.
///
/// # Safety
/// As [`eliminate`].
#[inline(always)]
unsafe fn forward<Z: Size, S: Copy, L: Columns<S>, A: Source<S, L>>(
    z: Z,
    n: usize,
    rows: Range<usize>,
    sources: &[A; 4],
    factors: &mut [L],
    large: &mut [L],
    windows: &mut Ahead<S>,
    next: Option<[*const S; 3]>,
) {
    let (cp, fp) = factors.split_at_mut(n * z.get() * z.get());
    // SAFETY: the caller's promise, passed on.
    unsafe {
        if Z::KNOWN == 1 {
            eliminate_scalars::<_, L, _>(n, rows, sources, cp, fp, next);
        } else {
            eliminate::<Z, _, L, _>(z, n, rows, sources, cp, fp, large, windows);
        }
    }
}

/// Eliminates the lower blocks of `rows` of a line (`sources`: A, B, C, f): C' into `cp` (`[n, m, m]`), f' into `fp` (`[n, m]`).
///
/// # Safety
/// The sources must have these rows.
#[inline(always)]
unsafe fn eliminate<Z: Size, S: Copy, L: Columns<S>, A: Source<S, L>>(
    z: Z,
    n: usize,
    rows: Range<usize>,
    [lower, diag, upper, right]: &[A; 4],
    cp: &mut [L],
    fp: &mut [L],
    large: &mut [L],
    windows: &mut Ahead<S>,
) {
    let m = z.get();
    let q = m * m;
    assert!(rows.end <= n && cp.len() >= n * q && fp.len() >= n * m, "room for the factors of a line");
    let (mut small_a, mut small_b, mut small_w) = ([L::c(0.0); SMALL], [L::c(0.0); SMALL], [L::c(0.0); 8]);
    let (a, b, w) = if Z::KNOWN == 0 {
        let (a, rest) = large.split_at_mut(q);
        let (b, w) = rest.split_at_mut(q);
        (a, b, w)
    } else {
        (&mut small_a[..], &mut small_b[..], &mut small_w[..])
    };
    for i in rows {
        windows.row(i);
        // SAFETY: `i` is one of the rows of the sources, the entries are below q and m; cp and fp have n rows (checked above),
        // and the blocks of rows i - 1 and i do not overlap.
        unsafe {
            right.fetch(i * m, m, w);
            for r in 0..m {
                w[r] = right.entry(i * m, r, w);
            }
            if i > 0 {
                lower.fetch(i * q, q, a);
                for e in 0..q {
                    a[e] = lower.entry(i * q, e, a);
                }
                block::sub_mul_vec(z, a, fp.get_unchecked((i - 1) * m..i * m), w);
            }
            // Where there is no row above, any block does for its C'.
            let above = i.saturating_sub(1) * q;
            pivot_block(z, diag, i * q, (i > 0, a, cp.get_unchecked(above..above + q)), b, windows);
            block::solve(z, b, w);
            fp.get_unchecked_mut(i * m..(i + 1) * m).copy_from_slice(&w[..m]);
            if i + 1 < n {
                upper_block(z, upper, i * q, b, a, w, cp.get_unchecked_mut(i * q..(i + 1) * q), windows);
            }
        }
    }
}

/// B' = B - A C' of the row above (where there is one), and its factors; B is the block of `diag` from number `first` on.
///
/// # Safety
/// `diag` must have that block, the blocks of the row above must have rank squared entries.
#[inline(always)]
pub(crate) unsafe fn pivot_block<Z: Size, S: Copy, L: Columns<S>>(
    z: Z,
    diag: &impl Source<S, L>,
    first: usize,
    (coupled, a, above): (bool, &[L], &[L]), // no Option: a and b would not stay in registers
    b: &mut [L],
    windows: &mut Ahead<S>,
) {
    let m = z.get();
    // SAFETY: the caller's promise.
    unsafe { diag.fetch(first, m * m, b) };
    each!(columns z: j => {
        for r in j * m..(j + 1) * m {
            // SAFETY: an entry of the block.
            b[r] = unsafe { diag.entry(first, r, b) };
        }
        if coupled {
            // SAFETY: column j of the block above.
            let c = unsafe { above.get_unchecked(j * m..(j + 1) * m) };
            block::sub_mul_vec(z, a, c, &mut b[j * m..(j + 1) * m]);
        }
        windows.ask();
    });
    block::factor(z, b);
}

/// C' = B'^-1 C with the factors `b`, column by column through `w`; C is the block of `upper` from number `first` on.
///
/// # Safety
/// `upper` must have that block.
#[inline(always)]
pub(crate) unsafe fn upper_block<Z: Size, S: Copy, L: Columns<S>>(
    z: Z,
    upper: &impl Source<S, L>,
    first: usize,
    b: &[L],
    room: &mut [L],
    w: &mut [L],
    cp: &mut [L],
    windows: &mut Ahead<S>,
) {
    let m = z.get();
    // SAFETY: the caller's promise.
    unsafe { upper.fetch(first, m * m, room) };
    each!(columns z: j => {
        for r in 0..m {
            // SAFETY: an entry of the block.
            w[r] = unsafe { upper.entry(first, j * m + r, room) };
        }
        block::solve(z, b, w);
        for r in 0..m {
            cp[j * m + r] = w[r];
        }
        windows.ask();
    });
}

/// [`eliminate`] for scalar systems, a tile of rows at a time: the row above stays in registers. As many lines of each of the
/// arrays `next` are asked for.
///
/// # Safety
/// As [`eliminate`].
#[inline(always)]
unsafe fn eliminate_scalars<S: Copy, L: Columns<S>, A: Source<S, L>>(
    n: usize,
    rows: Range<usize>,
    [lower, diag, upper, right]: &[A; 4],
    cp: &mut [L],
    fp: &mut [L],
    next: Option<[*const S; 3]>,
) {
    const TILE: usize = 8;
    assert!(rows.end <= n && cp.len() >= n && fp.len() >= n, "room for the factors of a line");
    let zero = L::c(0.0);
    // C' and f' above the first row are zero, and so is A there.
    let mut c = if rows.start > 0 { cp[rows.start - 1] } else { zero };
    let mut f = if rows.start > 0 { fp[rows.start - 1] } else { zero };
    let [mut ra, mut rb, mut rc, mut rf] = [[zero; TILE]; 4];
    for first in rows.clone().step_by(TILE) {
        let len = TILE.min(rows.end - first);
        // SAFETY: these are rows of the sources and below n, the length of cp and fp.
        unsafe {
            lower.fetch(first, len, &mut ra);
            diag.fetch(first, len, &mut rb);
            upper.fetch(first, len, &mut rc);
            right.fetch(first, len, &mut rf);
        }
        for k in 0..len {
            let i = first + k;
            // SAFETY: as above, and k is below the length fetched.
            unsafe {
                let a = if i > 0 { lower.entry(first, k, &ra) } else { zero };
                let pivot = diag.entry(first, k, &rb).sub_mul(a, c).recip();
                f = right.entry(first, k, &rf).sub_mul(a, f) * pivot;
                c = upper.entry(first, k, &rc) * pivot;
                *cp.get_unchecked_mut(i) = c;
                *fp.get_unchecked_mut(i) = f;
            }
            if let Some([a, b, c]) = next {
                prefetch::<2, S>(a.wrapping_add(i * L::LANES));
                prefetch::<2, S>(b.wrapping_add(i * L::LANES));
                prefetch::<2, S>(c.wrapping_add(i * L::LANES));
            }
        }
    }
}

/// [`substitute`] for scalar systems: the row below stays in a register. As many lines of the array `next` are asked for.
///
/// # Safety
/// As [`substitute`].
#[inline(always)]
pub(crate) unsafe fn substitute_scalars<S: Copy, L: Columns<S>>(
    n: usize,
    rows: Range<usize>,
    cp: &[L],
    fp: &mut [L],
    out: &RowsMut<S>,
    next: Option<*const S>,
    past: bool,
) -> bool {
    assert!(rows.end <= n && cp.len() >= n && fp.len() >= n, "the factors of a line");
    let zero = L::c(0.0);
    let mut taint = zero;
    let mut x = if rows.end < n { fp[rows.end] } else { zero };
    for i in rows.rev() {
        // SAFETY: `i` is below n, the length of cp and fp, and one of the rows that `out` takes.
        unsafe {
            let c = if i + 1 < n { *cp.get_unchecked(i) } else { zero };
            x = fp.get_unchecked(i).sub_mul(c, x);
            *fp.get_unchecked_mut(i) = x;
            taint = taint.sub_mul(x, zero);
            if past {
                x.store_past(out.row::<L>(i, 1));
            } else {
                x.store(out.row::<L>(i, 1));
            }
        }
        if let Some(array) = next {
            prefetch::<2, S>(array.wrapping_add(i * L::LANES));
        }
    }
    !taint.any_nan()
}

/// Back-substitution of `rows`, from the last, for `columns` right-hand sides (`fp`: `[n, columns, m]`): x replaces f' and
/// goes to `out`, past the caches if so asked. False if any of it is not finite.
///
/// # Safety
/// `out` must take `rows` of systems of this thread; past the caches its rows are aligned to cache lines.
#[inline(always)]
pub(crate) unsafe fn substitute<Z: Size, S: Copy, L: Columns<S>>(
    z: Z,
    n: usize,
    columns: usize,
    rows: Range<usize>,
    cp: &[L],
    fp: &mut [L],
    out: &RowsMut<S>,
    past: bool,
) -> bool {
    let m = z.get();
    let (q, width) = (m * m, columns * m);
    assert!(rows.end <= n && cp.len() >= n * q && fp.len() >= n * width, "the factors of a line");
    let zero = L::c(0.0);
    let mut taint = zero;
    for i in rows.rev() {
        let to = out.row::<L>(i, width);
        for column in (0..width).step_by(m) {
            let at = i * width + column;
            // SAFETY: cp and fp have n rows (checked above), and the column's m entries lie in one; `i` is one of the
            // rows that `out` takes, column + r below its width.
            unsafe {
                if i + 1 < n {
                    let (here, below) =
                        fp.get_unchecked_mut(at..at + width + m).split_at_mut_unchecked(width);
                    block::sub_mul_vec(z, cp.get_unchecked(i * q..(i + 1) * q), below, &mut here[..m]);
                }
                let here = fp.get_unchecked(at..at + m);
                for r in 0..m {
                    // 0 x is NaN where x is infinite or NaN.
                    taint = taint.sub_mul(here[r], zero);
                    let to = to.add((column + r) * L::LANES);
                    if past {
                        here[r].store_past(to);
                    } else {
                        here[r].store(to);
                    }
                }
            }
        }
    }
    !taint.any_nan()
}
