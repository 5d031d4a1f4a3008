#![allow(unsafe_code)]
//! Factors of a vector of systems at a time, and their use for later right-hand sides.
//!
//! The factors of a vector of systems lie together: `[rows, 2, m, m]` blocks (A_i, then the factors of B'_i) that the
//! elimination reads forward, then `[rows, m, m]` blocks C'_i that the substitution reads backward, all interleaved by
//! the vector's lanes. Periodic lines are bordered as in `periodic.rs`: `[rows, m, m]` blocks Z_i follow, and the last row has
//! its own A and C and the factors of the Schur complement.

use crate::rim::Size;
use crate::tridiag::ahead::Ahead;
use crate::tridiag::block;
use crate::tridiag::groups::{Array, Part, Rows, RowsMut, Target};
use crate::tridiag::lanes::WithLanes;
use crate::tridiag::source::SideBySide;
use crate::tridiag::thomas::cpu::{
    Blocks, SMALL, blocking, pivot_block, substitute, substitute_scalars, upper_block,
};
use crate::tridiag::{Precision, Shared};
use chromaflow_simd::{Columns, Vector};
use std::ops::Range;

/// Blocks kept for each row: A, the factors of B', C'; of periodic lines Z as well.
pub(crate) const fn kept(periodic: bool) -> usize {
    if periodic { 4 } else { 3 }
}

/// A thread's part in the factorization of a batch.
pub struct FactorWork<'a, 'b, P: Precision> {
    pub(crate) lower: Array<'a, P::Store>,
    pub(crate) diag: Array<'a, P::Store>,
    pub(crate) upper: Array<'a, P::Store>,
    /// 64-byte aligned; `kept` blocks a row of every vector of systems.
    pub(crate) factors: &'b Shared<'b, P::Sum>,
    pub(crate) periodic: bool,
    pub(crate) part: Part<'b>,
}

/// A thread's part in the solve of a factored batch.
pub struct SolveWork<'a, 'b, P: Precision> {
    /// As [`FactorWork::factors`].
    pub(crate) factors: &'a [P::Sum],
    pub(crate) periodic: bool,
    /// `columns` times rank entries a row.
    pub(crate) rhs: Array<'a, P::Store>,
    pub(crate) x: &'b Target<'a, P>,
    pub(crate) part: Part<'b>,
}

/// Factors a thread's vectors of systems.
pub(crate) struct Factor<'a, 'b, P: Precision, Z> {
    pub rank: Z,
    pub work: FactorWork<'a, 'b, P>,
}

/// Elimination and back-substitution of a thread's vectors of right-hand sides.
pub(crate) struct Solve<'a, 'b, P: Precision, Z> {
    pub rank: Z,
    pub work: SolveWork<'a, 'b, P>,
}

impl<P: Precision, Z: Size> WithLanes<P> for Factor<'_, '_, P, Z> {
    const PORTABLE: bool = Z::PORTABLE || Z::KNOWN == 1;
    /// The first vector with factors that are not finite.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: Columns<P::Store>>(self) -> Option<usize> {
        const { assert!(size_of::<L>() == L::LANES * size_of::<P::Sum>()) };
        let Self { rank: z, work } = self;
        let FactorWork { lower, diag, upper, factors, periodic, part: Part { vectors, scratch } } = work;
        let (n, q) = (lower.shape.rows, z.get() * z.get());
        let total = lower.shape.systems.div_ceil(L::LANES);
        let vectors = vectors(total);
        let line = kept(periodic) * n * q;
        assert!(vectors.end <= total && factors.len() == total * line * L::LANES, "room for all factors");
        let (strip, chunk) =
            blocking(lower.layout, n, line * size_of::<L>(), q * L::LANES * size_of::<P::Store>(), L::LANES);
        let pack = strip * chunk * L::LANES * q;
        let (small, stores) = scratch.take::<L, P::Store>(2 * q + z.get(), 3 * pack);
        let (pack_a, stores) = stores.split_at_mut(pack);
        let (pack_b, pack_c) = stores.split_at_mut(pack);
        let mut bad = None;
        let mut first = vectors.start;
        while first < vectors.end {
            let at = first * L::LANES;
            let count = strip.min(vectors.end - first);
            let mut start = 0;
            while start < n {
                let rows = start..(start + chunk).min(n);
                let blocks =
                    Blocks::of::<L>([&lower, &diag, &upper], at, count, &rows, [pack_a, pack_b, pack_c]);
                for v in 0..count {
                    let from = factors.ptr().cast::<L>().wrapping_add((first + v) * line);
                    // SAFETY: the vectors are this thread's, and below `total`, for which there is room (checked above,
                    // the start is aligned to 64 bytes, no lane type to more); `blocks` holds these rows of `count`.
                    let finite = unsafe {
                        let kept = std::slice::from_raw_parts_mut(from, line);
                        factor::<Z, P::Store, L>(z, n, periodic, rows.clone(), &blocks, v, kept, small)
                    };
                    if !finite && bad.is_none_or(|b| b > first + v) {
                        bad = Some(first + v);
                    }
                }
                start = rows.end;
            }
            first += count;
        }
        bad
    }
}

/// Factors `rows` of vector `v` into the line `kept`. False if any factor is not finite or any pivot infinite.
///
/// # Safety
/// `blocks` must hold `rows` of vector `v`.
#[inline(always)]
unsafe fn factor<Z: Size, S: Copy, L: Columns<S>>(
    z: Z,
    n: usize,
    periodic: bool,
    rows: Range<usize>,
    blocks: &Blocks<S>,
    v: usize,
    line: &mut [L],
    large: &mut [L],
) -> bool {
    let m = z.get();
    let q = m * m;
    assert!(rows.end <= n && line.len() == kept(periodic) * n * q, "room for the factors of a line");
    // Rows that are eliminated; the last one of a periodic line is its border.
    let inner = if periodic && n > 1 { n - 1 } else { n };
    let zero = L::c(0.0);
    let mut small = [zero; 2 * SMALL + 8];
    let work = if Z::KNOWN == 0 { large } else { &mut small[..] };
    let (b, work) = work.split_at_mut(if Z::KNOWN == 0 { q } else { SMALL });
    let (a, w) = work.split_at_mut(if Z::KNOWN == 0 { q } else { SMALL });
    let (pivots, cp) = line.split_at_mut(2 * n * q);
    let (uppers, answers) = cp.split_at_mut(n * q);
    let mut taint = zero;
    for i in rows {
        // SAFETY: `i` is one of the rows held, `e` an entry of its block.
        let load = |from: *const S, e: usize| unsafe { L::load(from.add(e * L::LANES)) };
        let [ra, rb, rc] = [&blocks.a, &blocks.b, &blocks.c].map(|array| array.row::<L>(v, i, q));
        let here = &mut pivots[2 * i * q..2 * (i + 1) * q];
        if i == inner {
            // The border sees the first and the last of the other rows.
            let c = &mut uppers[i * q..];
            for e in 0..q {
                (a[e], b[e], c[e]) = (load(ra, e), load(rb, e), load(rc, e));
            }
            block::sub_mul(z, c, &answers[..q], b);
            block::sub_mul(z, a, &answers[(inner - 1) * q..inner * q], b);
            block::factor(z, b);
        } else {
            let (above, cp) = uppers.split_at_mut(i * q);
            let coupled = i > 0 || periodic;
            for e in 0..q {
                a[e] = if coupled { load(ra, e) } else { zero };
            }
            if periodic && n == 1 {
                for e in 0..q {
                    b[e] = (load(rb, e) + a[e]) + load(rc, e);
                }
                block::factor(z, b);
            } else {
                let diag = SideBySide { at: rb, ahead: 0 };
                let above = (i > 0, &*a, &above[i.saturating_sub(1) * q..]);
                // SAFETY: as above; the block C' of the row above has q entries.
                unsafe { pivot_block(z, &diag, 0, above, b, &mut Ahead::none()) };
            }
            if i + 1 < inner {
                let upper = SideBySide { at: rc, ahead: 0 };
                // SAFETY: as above.
                unsafe { upper_block(z, &upper, 0, b, &mut [], w, &mut cp[..q], &mut Ahead::none()) };
            } else {
                cp[..q].fill(zero);
            }
            if periodic {
                let (before, answer) = answers.split_at_mut(i * q);
                let answer = &mut answer[..q];
                if i == 0 {
                    answer.copy_from_slice(&a[..q]);
                } else {
                    answer.fill(zero);
                    block::sub_mul(z, a, &before[(i - 1) * q..], answer);
                }
                if i + 1 == inner {
                    for e in 0..q {
                        answer[e] += load(rc, e);
                    }
                }
                block::solve_block(z, b, answer);
            }
        }
        here[..q].copy_from_slice(&a[..q]);
        here[q..].copy_from_slice(&b[..q]);
        let cp = &uppers[i * q..(i + 1) * q];
        // 0 x is NaN where x is infinite or NaN; an infinite pivot has the reciprocal 0.
        for e in 0..q {
            taint = taint.sub_mul(a[e], zero).sub_mul(b[e], zero).sub_mul(cp[e], zero);
        }
        for k in 0..m {
            taint = taint.sub_mul(b[k * m + k].recip(), zero);
        }
        if periodic && i + 1 == inner {
            // All rows are eliminated: Z from the last one up, before the border looks at it.
            for i in (0..inner - 1).rev() {
                let (here, below) = answers[i * q..(i + 2) * q].split_at_mut(q);
                block::sub_mul(z, &uppers[i * q..(i + 1) * q], below, here);
            }
        }
    }
    !taint.any_nan()
}

impl<P: Precision, Z: Size> WithLanes<P> for Solve<'_, '_, P, Z> {
    const PORTABLE: bool = Z::PORTABLE || Z::KNOWN == 1;
    /// The first vector with a solution that is not finite.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: Columns<P::Store>>(self) -> Option<usize> {
        const { assert!(size_of::<L>() == L::LANES * size_of::<P::Sum>()) };
        let Self { rank: z, work } = self;
        let SolveWork { factors, periodic, rhs, x, part: Part { vectors, scratch } } = work;
        let (n, q, width) = (x.shape.rows, z.get() * z.get(), rhs.width);
        let total = x.shape.systems.div_ceil(L::LANES);
        let vectors = vectors(total);
        let line = kept(periodic) * n * q;
        assert!(
            vectors.end <= total && factors.len() == total * line * L::LANES,
            "the factors of all vectors"
        );
        // SAFETY: the factors are that many whole vectors (checked above) of lanes that any bits make valid, and start at
        // a multiple of 64 bytes, to which no lane type is aligned more.
        let factors = unsafe { std::slice::from_raw_parts(factors.as_ptr().cast::<L>(), total * line) };
        let own = n * width;
        let (strip, chunk) =
            blocking(x.layout, n, own * size_of::<L>(), width * L::LANES * size_of::<P::Store>(), L::LANES);
        let (values, pack) =
            scratch.take::<L, P::Store>(strip * own + z.get(), strip * chunk * L::LANES * width);
        let (values, spare) = values.split_at_mut(strip * own);
        let mut bad = None;
        let mut first = vectors.start;
        while first < vectors.end {
            let at = first * L::LANES;
            let count = strip.min(vectors.end - first);
            let kept = |v: usize| factors[(first + v) * line..(first + v + 1) * line].split_at(2 * n * q);
            let bordered = periodic && n > 1;
            let mut start = 0;
            while start < n {
                let rows = start..(start + chunk).min(n);
                let right = rhs.rows::<L>(at, count, rows.clone(), pack);
                for (v, fp) in values.chunks_exact_mut(own).take(count).enumerate() {
                    // SAFETY: `right` holds these rows of `count` vectors.
                    unsafe {
                        forward::<Z, P::Store, L>(
                            z,
                            rows.clone(),
                            bordered.then_some(n - 1),
                            &right,
                            v,
                            width,
                            kept(v).0,
                            fp,
                            spare,
                        );
                    }
                }
                start = rows.end;
            }
            if bordered {
                for (v, fp) in values.chunks_exact_mut(own).take(count).enumerate() {
                    let (pivots, cp) = kept(v);
                    close(z, n, width, pivots, cp, fp);
                }
            }
            let mut end = n;
            while end > 0 {
                let rows = end.saturating_sub(chunk)..end;
                for (v, fp) in values.chunks_exact_mut(own).take(count).enumerate() {
                    let at = at + v * L::LANES;
                    let out = x.rows::<L>(at, &rows, pack);
                    let cp = &kept(v).1[..n * q];
                    // SAFETY: `out` takes these rows, and the systems are this thread's.
                    let finite = unsafe {
                        if bordered {
                            emit::<P::Store, L>(rows.clone(), width, fp, &out)
                        } else if Z::KNOWN == 1 && width == 1 {
                            substitute_scalars(n, rows.clone(), cp, fp, &out, None, false)
                        } else {
                            substitute::<Z, P::Store, L>(
                                z,
                                n,
                                width / z.get(),
                                rows.clone(),
                                cp,
                                fp,
                                &out,
                                false,
                            )
                        }
                    };
                    x.finish::<L>(at, rows.clone(), pack, false);
                    if !finite && bad.is_none_or(|b| b > first + v) {
                        bad = Some(first + v);
                    }
                }
                end = rows.start;
            }
            first += count;
        }
        bad
    }
}

/// `f'_i = B'_i^-1 (f_i - A_i f'_{i-1})` in `rows` of vector `v`, for all columns of `fp` (`[n, columns, m]`); the
/// border's f stays as it is.
///
/// # Safety
/// `right` must hold `rows` of vector `v`.
#[inline(always)]
unsafe fn forward<Z: Size, S: Copy, L: Columns<S>>(
    z: Z,
    rows: Range<usize>,
    border: Option<usize>,
    right: &Rows<S>,
    v: usize,
    width: usize,
    pivots: &[L],
    fp: &mut [L],
    large: &mut [L],
) {
    let m = z.get();
    let q = m * m;
    let mut small = [L::c(0.0); 8];
    let w = if Z::KNOWN == 0 { large } else { &mut small[..] };
    for i in rows {
        let (a, b) = pivots[2 * i * q..2 * (i + 1) * q].split_at(q);
        let (above, here) = fp.split_at_mut(i * width);
        let above = if i > 0 { &above[(i - 1) * width..] } else { &[] };
        let from = right.row::<L>(v, i, width);
        for column in (0..width).step_by(m) {
            for r in 0..m {
                // SAFETY: `i` is one of the rows held, column + r below its width.
                w[r] = unsafe { L::load(from.add((column + r) * L::LANES)) };
            }
            if border != Some(i) {
                if i > 0 {
                    block::sub_mul_vec(z, a, &above[column..column + m], w);
                }
                block::solve(z, b, w);
            }
            here[column..column + m].copy_from_slice(&w[..m]);
        }
    }
}

/// y of a periodic line's rows by back-substitution, its last unknown, and x of the others: they replace f' in `fp`.
#[inline(always)]
fn close<Z: Size, L: Vector>(z: Z, n: usize, width: usize, pivots: &[L], cp: &[L], fp: &mut [L]) {
    let m = z.get();
    let (q, last) = (m * m, n - 1);
    let (cp, answers) = cp.split_at(n * q);
    for i in (0..last - 1).rev() {
        let (here, below) = fp[i * width..(i + 2) * width].split_at_mut(width);
        for (here, below) in here.chunks_exact_mut(m).zip(below.chunks_exact(m)) {
            block::sub_mul_vec(z, &cp[i * q..(i + 1) * q], below, here);
        }
    }
    let (a, b) = pivots[2 * last * q..2 * n * q].split_at(q);
    let (others, end) = fp.split_at_mut(last * width);
    for (column, x) in end.chunks_exact_mut(m).enumerate() {
        let at = column * m;
        block::sub_mul_vec(z, &cp[last * q..n * q], &others[at..at + m], x);
        block::sub_mul_vec(z, a, &others[(last - 1) * width + at..][..m], x);
        block::solve(z, b, x);
    }
    for (y, answer) in others.chunks_exact_mut(width).zip(answers.chunks_exact(q)) {
        for (y, x) in y.chunks_exact_mut(m).zip(end.chunks_exact(m)) {
            block::sub_mul_vec(z, answer, x, y);
        }
    }
}

/// Writes `rows` of the solutions `fp`. False if any of them is not finite.
///
/// # Safety
/// `out` must take `rows` of systems of this thread.
#[inline(always)]
unsafe fn emit<S: Copy, L: Columns<S>>(rows: Range<usize>, width: usize, fp: &[L], out: &RowsMut<S>) -> bool {
    let zero = L::c(0.0);
    let mut taint = zero;
    for i in rows {
        let to = out.row::<L>(i, width);
        for (e, value) in fp[i * width..(i + 1) * width].iter().enumerate() {
            taint = taint.sub_mul(*value, zero);
            // SAFETY: `i` is one of the rows that `out` takes, e below its width.
            unsafe { value.store(to.add(e * L::LANES)) };
        }
    }
    !taint.any_nan()
}
