#![allow(unsafe_code)]
//! A vector of systems at a time; periodic lines with their last two unknowns as a border.

use crate::tridiag::Precision;
use crate::tridiag::groups::{Array, Part, Rows, Target};
use crate::tridiag::lanes::WithLanes;
use chromaflow_simd::Columns;

/// A thread's part in the solve of a batch.
pub struct Work<'a, 'b, P: Precision> {
    pub(crate) bands: [Array<'a, P::Store>; 5],
    pub(crate) rhs: Array<'a, P::Store>,
    pub(crate) x: &'b Target<'a, P>,
    pub(crate) periodic: bool,
    pub(crate) part: Part<'b>,
}

/// Solves a thread's vectors of systems.
pub(crate) struct Penta<'a, 'b, P: Precision>(pub Work<'a, 'b, P>);

/// The border of a periodic line: how many unknowns it has at most.
const BORDER: usize = 2;

impl<P: Precision> WithLanes<P> for Penta<'_, '_, P> {
    /// The first vector with a solution that is not finite.
    type Output = Option<usize>;

    #[inline(always)]
    fn run<L: Columns<P::Store>>(self) -> Option<usize> {
        let Work { bands, rhs, x, periodic, part: Part { vectors, scratch } } = self.0;
        let (n, k) = (x.shape.rows, x.shape.rank);
        let border = if periodic { BORDER.min(n) } else { 0 };
        // Columns: the right-hand sides, then the answers to the border's unknowns.
        let width = k + border;
        let (room, pack) = scratch.take::<L, P::Store>(n * (2 + width), n * (5 + k) * L::LANES);
        let (factors, columns) = room.split_at_mut(2 * n);
        let mut bad = None;
        for vector in vectors(x.shape.systems.div_ceil(L::LANES)) {
            let at = vector * L::LANES;
            let mut rest = &mut *pack;
            let streams = bands.map(|band| {
                let (mine, other) = std::mem::take(&mut rest).split_at_mut(n * L::LANES);
                rest = other;
                Coefficients(band.rows::<L>(at, 1, 0..n, mine))
            });
            let right = rhs.rows::<L>(at, 1, 0..n, rest);
            for i in 0..n {
                for c in 0..k {
                    // SAFETY: row i is one of the n held, column c one of its k.
                    columns[i * width + c] = unsafe { L::load(right.row::<L>(0, i, k).add(c * L::LANES)) };
                }
                columns[i * width + k..(i + 1) * width].fill(L::c(0.0));
            }
            let inner = n - border;
            if border > 0 {
                // SAFETY: the streams hold n rows.
                unsafe { border_columns::<P::Store, L>(n, inner, &streams, columns, k, width) };
            }
            // SAFETY: as above, and inner is at most n.
            unsafe { sweep::<P::Store, L>(inner, &streams, factors, columns, width) };
            if border > 0 {
                // SAFETY: as above.
                unsafe { close::<P::Store, L>(n, inner, &streams, columns, k, width) };
            }
            let out = x.rows::<L>(at, &(0..n), pack);
            let zero = L::c(0.0);
            let mut taint = zero;
            for i in 0..n {
                for c in 0..k {
                    let value = columns[i * width + c];
                    // 0 x is NaN where x is infinite or NaN.
                    taint = taint.sub_mul(value, zero);
                    // SAFETY: row i is one of the n that `out` takes, and the systems are this thread's.
                    unsafe { value.store(out.row::<L>(i, k).add(c * L::LANES)) };
                }
            }
            x.finish::<L>(at, 0..n, pack, false);
            if taint.any_nan() && bad.is_none() {
                bad = Some(vector);
            }
        }
        bad
    }
}

/// One band of a vector of systems.
#[derive(Clone, Copy)]
struct Coefficients<S>(Rows<S>);

impl<S: Copy> Coefficients<S> {
    /// # Safety
    /// Row `i` must be held.
    #[inline(always)]
    unsafe fn get<L: Columns<S>>(&self, i: usize) -> L {
        // SAFETY: the caller's promise.
        unsafe { L::load(self.0.row::<L>(0, i, 1)) }
    }
}

/// Elimination and back-substitution of the first `n` rows for all columns.
///
/// # Safety
/// The streams must hold `n` rows.
#[inline(always)]
unsafe fn sweep<S: Copy, L: Columns<S>>(
    n: usize,
    streams: &[Coefficients<S>; 5],
    factors: &mut [L],
    columns: &mut [L],
    width: usize,
) {
    let zero = L::c(0.0);
    let ([mut g1, mut h1], [mut g2, mut h2]) = ([zero; 2], [zero; 2]);
    for i in 0..n {
        // SAFETY: i is below n.
        let [e, a, b, c, d] = unsafe {
            [
                if i > 1 { streams[0].get::<L>(i) } else { zero },
                if i > 0 { streams[1].get::<L>(i) } else { zero },
                streams[2].get::<L>(i),
                if i + 1 < n { streams[3].get::<L>(i) } else { zero },
                if i + 2 < n { streams[4].get::<L>(i) } else { zero },
            ]
        };
        let a = a.sub_mul(e, g2);
        let pivot = b.sub_mul(e, h2).sub_mul(a, g1).recip();
        let g = c.sub_mul(a, h1) * pivot;
        let h = d * pivot;
        factors[2 * i] = g;
        factors[2 * i + 1] = h;
        for column in 0..width {
            let mut value = columns[i * width + column];
            if i > 1 {
                value = value.sub_mul(e, columns[(i - 2) * width + column]);
            }
            if i > 0 {
                value = value.sub_mul(a, columns[(i - 1) * width + column]);
            }
            columns[i * width + column] = value * pivot;
        }
        (g2, h2, g1, h1) = (g1, h1, g, h);
    }
    for i in (0..n.saturating_sub(1)).rev() {
        let (g, h) = (factors[2 * i], factors[2 * i + 1]);
        for column in 0..width {
            let mut value = columns[i * width + column].sub_mul(g, columns[(i + 1) * width + column]);
            if i + 2 < n {
                value = value.sub_mul(h, columns[(i + 2) * width + column]);
            }
            columns[i * width + column] = value;
        }
    }
}

/// The unknown that band `band` of row `i` acts on.
#[inline(always)]
fn partner(n: usize, i: usize, band: usize) -> usize {
    (i + 2 * n + band - 2) % n
}

/// Writes how the first `inner` rows see the last unknowns into the columns behind the right-hand sides.
///
/// # Safety
/// The streams must hold `n` rows.
#[inline(always)]
unsafe fn border_columns<S: Copy, L: Columns<S>>(
    n: usize,
    inner: usize,
    streams: &[Coefficients<S>; 5],
    columns: &mut [L],
    k: usize,
    width: usize,
) {
    for i in 0..inner {
        for (band, stream) in streams.iter().enumerate() {
            let to = partner(n, i, band);
            if to >= inner {
                let slot = &mut columns[i * width + k + to - inner];
                // SAFETY: i is below n.
                *slot += unsafe { stream.get::<L>(i) };
            }
        }
    }
}

/// Solves for the last unknowns and takes their part from the others.
///
/// # Safety
/// The streams must hold `n` rows.
#[inline(always)]
unsafe fn close<S: Copy, L: Columns<S>>(
    n: usize,
    inner: usize,
    streams: &[Coefficients<S>; 5],
    columns: &mut [L],
    k: usize,
    width: usize,
) {
    let zero = L::c(0.0);
    let border = n - inner;
    // The Schur complement; a border of one is made one of two that are not coupled.
    let mut schur = [[zero; BORDER]; BORDER];
    schur[1][1] = L::c(1.0);
    for r in 0..border {
        schur[r] = [zero; BORDER];
        let row = inner + r;
        for (band, stream) in streams.iter().enumerate() {
            // SAFETY: row is below n.
            let value = unsafe { stream.get::<L>(row) };
            let to = partner(n, row, band);
            if to >= inner {
                schur[r][to - inner] += value;
                continue;
            }
            for s in 0..border {
                schur[r][s] = schur[r][s].sub_mul(value, columns[to * width + k + s]);
            }
            for c in 0..k {
                columns[row * width + c] = columns[row * width + c].sub_mul(value, columns[to * width + c]);
            }
        }
    }
    let [[p, q], [r, s]] = schur;
    let inverse = (p * s).sub_mul(q, r).recip();
    for c in 0..k {
        let f = columns[inner * width + c];
        let h = if border > 1 { columns[(inner + 1) * width + c] } else { zero };
        let last = [(s * f).sub_mul(q, h) * inverse, (p * h).sub_mul(r, f) * inverse];
        for (b, &value) in last.iter().enumerate().take(border) {
            columns[(inner + b) * width + c] = value;
            for i in 0..inner {
                columns[i * width + c] = columns[i * width + c].sub_mul(columns[i * width + k + b], value);
            }
        }
    }
}
