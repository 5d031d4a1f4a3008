//! Dense blocks whose entries are vectors over systems: LU without pivoting, triangular solves, products.
//!
//! Column-major: entry (r, c) at `c * m + r`. Loops over pivots are unrolled by hand for ranks known at compile time,
//! so that every index below is a constant there and a small block can stay in registers.

use crate::rim::Size;
use chromaflow_simd::Vector;

/// Whether a block of a rank known at compile time stays in registers where there are enough of them.
pub const fn in_registers<Z: Size>() -> bool {
    1 <= Z::KNOWN && Z::KNOWN <= 5
}

/// Calls `$body` with `$rank` bound to the [`Size`] that serves `$m` best: a constant up to 8 where there are vector instructions to
/// feed, and for scalar systems everywhere; one run-time kernel for all else.
macro_rules! with_rank {
    ($isa:expr, $m:expr, $rank:ident => $body:expr) => {
        if $m == 1 {
            let $rank = $crate::rim::Fixed::<1>;
            $body
        } else {
            $crate::rim::with_size!(lines: $isa, $m, $rank => $body)
        }
    };
}
pub(super) use with_rank;

/// `$body` for each `$k` below the rank, unrolled where that is a constant; with `columns`, of much work each, only where a block
/// stays in registers.
macro_rules! each {
    ($z:ident: $k:ident => $body:block) => {
        $crate::tridiag::block::each!($z: $k in [0, 1, 2, 3, 4, 5, 6, 7] => $body)
    };
    (columns $z:ident: $k:ident => $body:block) => {
        if $crate::tridiag::block::in_registers::<Z>() {
            $crate::tridiag::block::each!(@ $z: $k in [0, 1, 2, 3, 4] => $body);
        } else {
            for $k in 0..$z.get() $body
        }
    };
    (rev $z:ident: $k:ident => $body:block) => {
        if Z::KNOWN == 0 {
            for $k in (0..$z.get()).rev() $body
        } else {
            $crate::tridiag::block::each!(@ $z: $k in [7, 6, 5, 4, 3, 2, 1, 0] => $body);
        }
    };
    ($z:ident: $k:ident in [$($n:literal),*] => $body:block) => {
        if Z::KNOWN == 0 {
            for $k in 0..$z.get() $body
        } else {
            $crate::tridiag::block::each!(@ $z: $k in [$($n),*] => $body);
        }
    };
    (@ $z:ident: $k:ident in [$($n:literal),*] => $body:block) => {
        $(if $n < $z.get() {
            let $k = $n;
            $body
        })*
    };
}
pub(super) use each;

/// Factors `b = L U` in place: unit L below the diagonal, U above, reciprocal pivots on it.
#[inline(always)]
pub fn factor<Z: Size, L: Vector>(z: Z, b: &mut [L]) {
    let m = z.get();
    each!(z: k => {
        let pivot = b[k * m + k].recip();
        b[k * m + k] = pivot;
        for r in k + 1..m {
            b[k * m + r] *= pivot;
        }
        for c in k + 1..m {
            let upper = b[c * m + k];
            for r in k + 1..m {
                b[c * m + r] = b[c * m + r].sub_mul(b[k * m + r], upper);
            }
        }
    });
}

/// `v <- (L U)^-1 v` with factors of [`factor`].
#[inline(always)]
pub fn solve<Z: Size, L: Vector>(z: Z, lu: &[L], v: &mut [L]) {
    let m = z.get();
    each!(z: k => {
        let known = v[k];
        for r in k + 1..m {
            v[r] = v[r].sub_mul(lu[k * m + r], known);
        }
    });
    each!(rev z: k => {
        let known = v[k] * lu[k * m + k];
        v[k] = known;
        for r in 0..k {
            v[r] = v[r].sub_mul(lu[k * m + r], known);
        }
    });
}

/// `v <- v - a w`.
#[inline(always)]
pub fn sub_mul_vec<Z: Size, L: Vector>(z: Z, a: &[L], w: &[L], v: &mut [L]) {
    let m = z.get();
    each!(z: k => {
        let factor = w[k];
        for r in 0..m {
            v[r] = v[r].sub_mul(a[k * m + r], factor);
        }
    });
}

/// `b <- b - a c`, all blocks.
#[inline(always)]
pub fn sub_mul<Z: Size, L: Vector>(z: Z, a: &[L], c: &[L], b: &mut [L]) {
    let m = z.get();
    for j in 0..m {
        sub_mul_vec(z, a, &c[j * m..(j + 1) * m], &mut b[j * m..(j + 1) * m]);
    }
}

/// `c <- (L U)^-1 c`, column by column.
#[inline(always)]
pub fn solve_block<Z: Size, L: Vector>(z: Z, lu: &[L], c: &mut [L]) {
    let m = z.get();
    for j in 0..m {
        solve(z, lu, &mut c[j * m..(j + 1) * m]);
    }
}
