#![allow(unsafe_code)]
//! Thomas with a vector of systems at a time.
//!
//! The elimination of a row needs only the row above, so the factors C' and f' of a vector of systems are all that is
//! kept between the two sweeps: they lie in the thread's work space (205 KB for eight systems of 128 rows of rank 5 in
//! f64), which stays in the second-level cache, and memory sees each coefficient once.

use crate::tridiag::block::{self, Rank};
use crate::tridiag::groups::{Array, Rows, RowsMut, Scratch, Target, in_place};
use crate::tridiag::lanes::{LaneIo, WithLanes, flush, prefetch};
use crate::tridiag::{Layout, Precision};
use std::ops::Range;

/// Factors of one strip of vectors that a core's second-level cache keeps beside the rows that stream through it.
const STRIP_BYTES: usize = 512 << 10;
/// Batches of scalar systems of which no cache keeps much: solutions go past the caches.
const STREAM_BYTES: usize = 32 << 20;
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
    /// This thread's vectors of so many.
    pub(crate) vectors: &'b dyn Fn(usize) -> Range<usize>,
    pub(crate) scratch: &'b mut Scratch,
}

/// Elimination and back-substitution of a thread's vectors of systems.
pub(crate) struct Thomas<'a, 'b, P: Precision, Z> {
    pub rank: Z,
    pub work: Work<'a, 'b, P>,
}

impl<P: Precision, Z: Rank> WithLanes<P> for Thomas<'_, '_, P, Z> {
    /// The first vector with a solution that is not finite.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: LaneIo<P::Store>>(self) -> Option<usize> {
        let Self { rank: z, work } = self;
        let Work { lower, diag, upper, rhs, x, vectors, scratch, .. } = work;
        let (n, m, q) = (x.shape.rows, z.get(), z.get() * z.get());
        let vectors = vectors(x.shape.systems.div_ceil(L::W));
        let line = n * (q + m);
        let (strip, chunk) =
            blocking(x.layout, n, line * size_of::<L>(), q * L::W * size_of::<P::Store>(), L::W);
        let pack = strip * chunk * L::W;
        let (lanes, stores) = scratch.take::<L, P::Store>(strip * line + 2 * q + m, pack * (3 * q + m));
        let (factors, small) = lanes.split_at_mut(strip * line);
        let (pack_a, stores) = stores.split_at_mut(pack * q);
        let (pack_b, stores) = stores.split_at_mut(pack * q);
        let (pack_c, pack_f) = stores.split_at_mut(pack * q);
        // Scalar systems wait for memory and little else: the rows of the next vector, which lie behind those of this one, are
        // fetched meanwhile, and solutions go past the caches.
        let bytes = 5 * x.shape.systems * n * size_of::<P::Store>();
        let short = line * size_of::<L>() <= STRIP_BYTES;
        let ahead = Z::FIXED == 1 && x.layout != Layout::Soa && bytes >= STREAM_BYTES && short;
        let past = ahead && L::PAST_CACHES && x.values.ptr().align_offset(64) == 0;
        let mut bad = None;
        let mut first = vectors.start;
        while first < vectors.end {
            let at = first * L::W;
            let count = strip.min(vectors.end - first);
            let past = past && in_place(x.layout, x.shape, at, L::W);
            let next = [lower, diag, upper, rhs]
                .map(|array| array.values.as_ptr().wrapping_add((first + count) * n * L::W));
            let mut start = 0;
            while start < n {
                let rows = start..(start + chunk).min(n);
                let blocks =
                    Blocks::of::<L>([&lower, &diag, &upper], at, count, &rows, [pack_a, pack_b, pack_c]);
                let right = rhs.rows::<L>(at, count, rows.clone(), pack_f);
                for v in 0..count {
                    let (cp, fp) = factors[v * line..(v + 1) * line].split_at_mut(n * q);
                    // SAFETY: `blocks` and `right` hold these rows for `count` vectors.
                    unsafe {
                        if ahead {
                            let next = Some([next[0], next[1], next[2]]);
                            eliminate_scalars::<_, L>(n, rows.clone(), &blocks, &right, v, cp, fp, next);
                        } else if Z::FIXED == 1 {
                            eliminate_scalars::<_, L>(n, rows.clone(), &blocks, &right, v, cp, fp, None);
                        } else {
                            eliminate::<Z, P::Store, L>(
                                z,
                                n,
                                rows.clone(),
                                &blocks,
                                &right,
                                v,
                                cp,
                                fp,
                                small,
                            );
                        }
                    }
                }
                start = rows.end;
            }
            let mut end = n;
            while end > 0 {
                let rows = end.saturating_sub(chunk)..end;
                for v in 0..count {
                    let at = at + v * L::W;
                    let out = x.rows::<L>(at, &rows, pack_f);
                    let (cp, fp) = factors[v * line..(v + 1) * line].split_at_mut(n * q);
                    // SAFETY: `out` takes these rows, and the systems are this thread's.
                    let finite = unsafe {
                        if ahead {
                            substitute_scalars(n, rows.clone(), cp, fp, &out, Some((next[3], past)))
                        } else if Z::FIXED == 1 {
                            substitute_scalars(n, rows.clone(), cp, fp, &out, None)
                        } else {
                            substitute::<Z, P::Store, L>(z, n, 1, rows.clone(), cp, fp, &out)
                        }
                    };
                    x.finish::<L>(at, rows.clone(), pack_f);
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
        Layout::Soa => ((STRIP_BYTES / line_bytes).clamp(1, 64), 1),
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
    pub fn of<L: LaneIo<S>>(
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

/// Eliminates the lower blocks of `rows` of vector `v`: C' into `cp` (`[n, m, m]`), f' into `fp` (`[n, m]`).
///
/// # Safety
/// `blocks` and `right` must hold `rows` of vector `v`.
#[inline(always)]
unsafe fn eliminate<Z: Rank, S: Copy, L: LaneIo<S>>(
    z: Z,
    n: usize,
    rows: Range<usize>,
    blocks: &Blocks<S>,
    right: &Rows<S>,
    v: usize,
    cp: &mut [L],
    fp: &mut [L],
    large: &mut [L],
) {
    let m = z.get();
    let q = m * m;
    assert!(rows.end <= n && cp.len() >= n * q && fp.len() >= n * m, "room for the factors of a line");
    let mut small = [L::splat(0.0); 2 * SMALL + 8];
    let work = if Z::FIXED == 0 { large } else { &mut small[..] };
    let (b, work) = work.split_at_mut(if Z::FIXED == 0 { q } else { SMALL });
    let (a, w) = work.split_at_mut(if Z::FIXED == 0 { q } else { SMALL });
    for i in rows {
        let (ra, rb) = (blocks.a.row::<L>(v, i, q), blocks.b.row::<L>(v, i, q));
        let (rc, rf) = (blocks.c.row::<L>(v, i, q), right.row::<L>(v, i, m));
        // SAFETY: `i` is one of the rows held, the entries are below q and m; cp and fp have n rows (checked above),
        // and the blocks of rows i - 1 and i do not overlap.
        unsafe {
            for r in 0..m {
                w[r] = L::load(rf.add(r * L::W));
            }
            if i > 0 {
                for e in 0..q {
                    a[e] = L::load(ra.add(e * L::W));
                }
                block::sub_mul_vec(z, a, fp.get_unchecked((i - 1) * m..i * m), w);
            }
            let above = if i > 0 { Some((&*a, cp.get_unchecked((i - 1) * q..i * q))) } else { None };
            pivot_block(z, rb, above, b);
            block::solve(z, b, w);
            let fp = fp.get_unchecked_mut(i * m..(i + 1) * m);
            fp.copy_from_slice(&w[..m]);
            if i + 1 < n {
                upper_block(z, rc, b, w, cp.get_unchecked_mut(i * q..(i + 1) * q));
            }
        }
    }
}

/// B' = B - A C' of the row above (where there is one), and its factors.
///
/// # Safety
/// `from` must be readable for a block, the blocks of the row above must have rank squared entries.
#[inline(always)]
pub(crate) unsafe fn pivot_block<Z: Rank, S: Copy, L: LaneIo<S>>(
    z: Z,
    from: *const S,
    above: Option<(&[L], &[L])>,
    b: &mut [L],
) {
    let m = z.get();
    for j in 0..m {
        for r in j * m..(j + 1) * m {
            // SAFETY: an entry of the block.
            b[r] = unsafe { L::load(from.add(r * L::W)) };
        }
        if let Some((a, c)) = above {
            // SAFETY: column j of the block above.
            let c = unsafe { c.get_unchecked(j * m..(j + 1) * m) };
            block::sub_mul_vec(z, a, c, &mut b[j * m..(j + 1) * m]);
        }
    }
    block::factor(z, b);
}

/// C' = B'^-1 C with the factors `b`, column by column through `w`.
///
/// # Safety
/// `from` must be readable for a block.
#[inline(always)]
pub(crate) unsafe fn upper_block<Z: Rank, S: Copy, L: LaneIo<S>>(
    z: Z,
    from: *const S,
    b: &[L],
    w: &mut [L],
    cp: &mut [L],
) {
    let m = z.get();
    for j in 0..m {
        for r in 0..m {
            // SAFETY: an entry of the block.
            w[r] = unsafe { L::load(from.add((j * m + r) * L::W)) };
        }
        block::solve(z, b, w);
        for r in 0..m {
            cp[j * m + r] = w[r];
        }
    }
}

/// [`eliminate`] for scalar systems: the row above stays in registers. As many lines of each of the arrays `next` are fetched.
///
/// # Safety
/// As [`eliminate`].
#[inline(always)]
unsafe fn eliminate_scalars<S: Copy, L: LaneIo<S>>(
    n: usize,
    rows: Range<usize>,
    blocks: &Blocks<S>,
    right: &Rows<S>,
    v: usize,
    cp: &mut [L],
    fp: &mut [L],
    next: Option<[*const S; 3]>,
) {
    assert!(rows.end <= n && cp.len() >= n && fp.len() >= n, "room for the factors of a line");
    // C' and f' above the first row are zero, and so is A there.
    let mut c = if rows.start > 0 { cp[rows.start - 1] } else { L::splat(0.0) };
    let mut f = if rows.start > 0 { fp[rows.start - 1] } else { L::splat(0.0) };
    for i in rows {
        // SAFETY: `i` is one of the rows held and below n, the length of cp and fp.
        unsafe {
            let a = if i > 0 { L::load(blocks.a.row::<L>(v, i, 1)) } else { L::splat(0.0) };
            let pivot = L::load(blocks.b.row::<L>(v, i, 1)).sub_mul(a, c).recip();
            f = L::load(right.row::<L>(v, i, 1)).sub_mul(a, f).mul(pivot);
            c = L::load(blocks.c.row::<L>(v, i, 1)).mul(pivot);
            *cp.get_unchecked_mut(i) = c;
            *fp.get_unchecked_mut(i) = f;
        }
        if let Some([a, b, c]) = next {
            prefetch(a.wrapping_add(i * L::W));
            prefetch(b.wrapping_add(i * L::W));
            prefetch(c.wrapping_add(i * L::W));
        }
    }
}

/// [`substitute`] for scalar systems: the row below stays in a register. As many lines of the array `next.0` are fetched; with
/// `next.1` the solution goes past the caches.
///
/// # Safety
/// As [`substitute`]; with `next.1` the rows of `out` are aligned to cache lines.
#[inline(always)]
pub(crate) unsafe fn substitute_scalars<S: Copy, L: LaneIo<S>>(
    n: usize,
    rows: Range<usize>,
    cp: &[L],
    fp: &mut [L],
    out: &RowsMut<S>,
    next: Option<(*const S, bool)>,
) -> bool {
    assert!(rows.end <= n && cp.len() >= n && fp.len() >= n, "the factors of a line");
    let zero = L::splat(0.0);
    let mut taint = zero;
    let mut x = if rows.end < n { fp[rows.end] } else { zero };
    for i in rows.rev() {
        // SAFETY: `i` is below n, the length of cp and fp, and one of the rows that `out` takes.
        unsafe {
            let c = if i + 1 < n { *cp.get_unchecked(i) } else { zero };
            x = fp.get_unchecked(i).sub_mul(c, x);
            *fp.get_unchecked_mut(i) = x;
            taint = taint.sub_mul(x, zero);
            if let Some((_, true)) = next {
                x.store_past(out.row::<L>(i, 1));
            } else {
                x.store(out.row::<L>(i, 1));
            }
        }
        if let Some((array, _)) = next {
            prefetch(array.wrapping_add(i * L::W));
        }
    }
    !taint.any_nan()
}

/// Back-substitution of `rows`, from the last, for `columns` right-hand sides (`fp`: `[n, columns, m]`): x replaces f' and
/// goes to `out`. False if any of it is not finite.
///
/// # Safety
/// `out` must take `rows` of systems of this thread.
#[inline(always)]
pub(crate) unsafe fn substitute<Z: Rank, S: Copy, L: LaneIo<S>>(
    z: Z,
    n: usize,
    columns: usize,
    rows: Range<usize>,
    cp: &[L],
    fp: &mut [L],
    out: &RowsMut<S>,
) -> bool {
    let m = z.get();
    let (q, width) = (m * m, columns * m);
    assert!(rows.end <= n && cp.len() >= n * q && fp.len() >= n * width, "the factors of a line");
    let zero = L::splat(0.0);
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
                    here[r].store(to.add((column + r) * L::W));
                }
            }
        }
    }
    !taint.any_nan()
}
