//! Dense blocks whose entries are vectors over systems: LU without pivoting, triangular solves, products.
//!
//! Column-major: entry (r, c) at `c * m + r`. Loops over pivots are unrolled by hand for ranks known at compile time,
//! so that every index below is a constant there and a small block can stay in registers.

use super::lanes::Lane;

/// The rank of blocks: a constant or a number.
pub trait Rank: Copy {
    /// The rank, or 0 where it is known at run time only.
    const FIXED: usize;
    /// Whether a block stays in registers where there are enough of them.
    const IN_REGISTERS: bool = 1 <= Self::FIXED && Self::FIXED <= 5;
    /// Whether kernels of this rank are compiled without vector instructions.
    const PORTABLE: bool = Self::FIXED <= 1 || cfg!(not(target_arch = "x86_64"));
    /// The rank.
    fn get(self) -> usize;
}

/// A rank known at compile time.
#[derive(Clone, Copy)]
pub struct Fixed<const M: usize>;

impl<const M: usize> Rank for Fixed<M> {
    const FIXED: usize = M;
    #[inline(always)]
    fn get(self) -> usize {
        M
    }
}

/// A rank known at run time.
#[derive(Clone, Copy)]
pub struct Dynamic(pub usize);

impl Rank for Dynamic {
    const FIXED: usize = 0;
    #[inline(always)]
    fn get(self) -> usize {
        self.0
    }
}

/// Calls `$body` with `$rank` bound to the rank type that serves `$m` best: a constant up to 8 where there are vector
/// instructions to feed (1, 4 and 5 in development builds, so that they stay quick), one run-time kernel for all else.
macro_rules! with_rank {
    ($isa:expr, $m:expr, $rank:ident => $body:expr) => {
        with_rank!(@ $isa, $m, $rank => $body, always: 4 5, release: 2 3 6 7 8)
    };
    (@ $isa:expr, $m:expr, $rank:ident => $body:expr, always: $($a:literal)*, release: $($r:literal)*) => {
        match $m {
            1 => {
                let $rank = $crate::tridiag::block::Fixed::<1>;
                $body
            }
            $($a if $isa != Isa::Portable => {
                let $rank = $crate::tridiag::block::Fixed::<$a>;
                $body
            })*
            $(#[cfg(not(debug_assertions))] $r if $isa != Isa::Portable => {
                let $rank = $crate::tridiag::block::Fixed::<$r>;
                $body
            })*
            m => {
                let $rank = $crate::tridiag::block::Dynamic(m);
                $body
            }
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
        if Z::IN_REGISTERS {
            $crate::tridiag::block::each!(@ $z: $k in [0, 1, 2, 3, 4] => $body);
        } else {
            for $k in 0..$z.get() $body
        }
    };
    (rev $z:ident: $k:ident => $body:block) => {
        if Z::FIXED == 0 {
            for $k in (0..$z.get()).rev() $body
        } else {
            $crate::tridiag::block::each!(@ $z: $k in [7, 6, 5, 4, 3, 2, 1, 0] => $body);
        }
    };
    ($z:ident: $k:ident in [$($n:literal),*] => $body:block) => {
        if Z::FIXED == 0 {
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
pub fn factor<Z: Rank, L: Lane>(z: Z, b: &mut [L]) {
    let m = z.get();
    each!(z: k => {
        let pivot = b[k * m + k].recip();
        b[k * m + k] = pivot;
        for r in k + 1..m {
            b[k * m + r] = b[k * m + r].mul(pivot);
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
pub fn solve<Z: Rank, L: Lane>(z: Z, lu: &[L], v: &mut [L]) {
    let m = z.get();
    each!(z: k => {
        let known = v[k];
        for r in k + 1..m {
            v[r] = v[r].sub_mul(lu[k * m + r], known);
        }
    });
    each!(rev z: k => {
        let known = v[k].mul(lu[k * m + k]);
        v[k] = known;
        for r in 0..k {
            v[r] = v[r].sub_mul(lu[k * m + r], known);
        }
    });
}

/// `v <- v - a w`.
#[inline(always)]
pub fn sub_mul_vec<Z: Rank, L: Lane>(z: Z, a: &[L], w: &[L], v: &mut [L]) {
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
pub fn sub_mul<Z: Rank, L: Lane>(z: Z, a: &[L], c: &[L], b: &mut [L]) {
    let m = z.get();
    for j in 0..m {
        sub_mul_vec(z, a, &c[j * m..(j + 1) * m], &mut b[j * m..(j + 1) * m]);
    }
}

/// `c <- (L U)^-1 c`, column by column.
#[inline(always)]
pub fn solve_block<Z: Rank, L: Lane>(z: Z, lu: &[L], c: &mut [L]) {
    let m = z.get();
    for j in 0..m {
        solve(z, lu, &mut c[j * m..(j + 1) * m]);
    }
}
