#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Eight lanes, in one register or in two.

use super::registers::{F64x4, F64x8};
use crate::eight::Pair;
use crate::records::{self, Parts, Row};
use crate::{LANES, Lanes, Packet};
#[allow(clippy::wildcard_imports)] // intrinsics by the dozen
use std::arch::x86_64::*;

impl Row for F64x4 {
    #[inline(always)]
    unsafe fn load_up_to(count: usize, from: *const f64) -> Self {
        Self(match count {
            0 => _mm256_setzero_pd(),
            1 => _mm256_zextpd128_pd256(_mm_load_sd(from)),
            2 => _mm256_zextpd128_pd256(_mm_loadu_pd(from)),
            3 => _mm256_set_m128d(_mm_load_sd(from.add(2)), _mm_loadu_pd(from)),
            _ => _mm256_loadu_pd(from),
        })
    }
    #[inline(always)]
    unsafe fn store_up_to(self, count: usize, to: *mut f64) {
        let low = _mm256_castpd256_pd128(self.0);
        match count {
            0 => {}
            1 => _mm_store_sd(to, low),
            2 => _mm_storeu_pd(to, low),
            3 => {
                _mm_storeu_pd(to, low);
                _mm_store_sd(to.add(2), _mm256_extractf128_pd::<1>(self.0));
            }
            _ => _mm256_storeu_pd(to, self.0),
        }
    }
}

impl Row for F64x8 {
    #[inline(always)]
    unsafe fn load_up_to(count: usize, from: *const f64) -> Self {
        if count >= 8 {
            return Self(_mm512_loadu_pd(from));
        }
        let low = _mm512_zextpd256_pd512(F64x4::load_up_to(count, from).0);
        if count <= 4 {
            return Self(low);
        }
        Self(_mm512_insertf64x4::<1>(low, F64x4::load_up_to(count - 4, from.add(4)).0))
    }
    #[inline(always)]
    unsafe fn store_up_to(self, count: usize, to: *mut f64) {
        if count >= 8 {
            return _mm512_storeu_pd(to, self.0);
        }
        F64x4(_mm512_castpd512_pd256(self.0)).store_up_to(count, to);
        if count > 4 {
            F64x4(_mm512_extractf64x4_pd::<1>(self.0)).store_up_to(count - 4, to.add(4));
        }
    }
}

impl Parts for F64x8 {
    type Row = Self;
    #[inline(always)]
    fn of(parts: [Self; 2]) -> Self {
        parts[0]
    }
    #[inline(always)]
    fn part(self, _: usize) -> Self {
        self
    }
    #[inline(always)]
    fn sums(v: [Self; 8]) -> Self {
        #[inline(always)]
        fn twos(a: F64x8, b: F64x8) -> F64x8 {
            F64x8(there!(_mm512_unpacklo_pd(a.0, b.0))) + F64x8(there!(_mm512_unpackhi_pd(a.0, b.0)))
        }
        #[inline(always)]
        fn halves(a: F64x8, b: F64x8) -> F64x8 {
            let low = F64x8(there!(_mm512_shuffle_f64x2::<0x88>(a.0, b.0)));
            low + F64x8(there!(_mm512_shuffle_f64x2::<0xdd>(a.0, b.0)))
        }
        let low = halves(twos(v[0], v[1]), twos(v[2], v[3]));
        let high = halves(twos(v[4], v[5]), twos(v[6], v[7]));
        halves(low, high)
    }
}

impl Parts for Pair<F64x4> {
    type Row = F64x4;
    #[inline(always)]
    fn of(parts: [F64x4; 2]) -> Self {
        Self(parts[0], parts[1])
    }
    #[inline(always)]
    fn part(self, p: usize) -> F64x4 {
        if p == 0 { self.0 } else { self.1 }
    }
    #[inline(always)]
    fn sums(v: [Self; 8]) -> F64x4 {
        /// The sums `(0 + 1) + (2 + 3)` of four vectors.
        #[inline(always)]
        fn fours(v: [F64x4; 4]) -> F64x4 {
            let a = there!(_mm256_hadd_pd(v[0].0, v[1].0));
            let b = there!(_mm256_hadd_pd(v[2].0, v[3].0));
            F64x4(there!(_mm256_permute2f128_pd::<0x20>(a, b)))
                + F64x4(there!(_mm256_permute2f128_pd::<0x31>(a, b)))
        }
        fours([v[0].0, v[1].0, v[2].0, v[3].0]) + fours([v[0].1, v[1].1, v[2].1, v[3].1])
    }
}

/// Eight lanes in registers of `$width` that lie in memory by `$load` and `$store`.
macro_rules! eight {
    ($name:ty, $width:literal: |$from:ident| $load:expr, |$v:ident, $to:ident| $store:expr) => {
        impl Lanes for $name {
            const WIDTH: usize = $width;

            #[inline(always)]
            fn load(from: &Packet) -> Self {
                Self::from_array(&from.0)
            }
            #[inline(always)]
            fn store(self, to: &mut Packet) {
                let ($v, $to) = (self, to.0.as_mut_ptr());
                there!($store);
            }
            #[inline(always)]
            fn from_array(from: &[f64; LANES]) -> Self {
                let $from = from.as_ptr();
                there!($load)
            }
            #[inline(always)]
            fn to_array(self) -> [f64; LANES] {
                let mut out = Packet::ZERO;
                Lanes::store(self, &mut out);
                out.0
            }
            #[inline(always)]
            fn gather<const N: usize>(records: &[[f64; N]], index: &[u32; LANES]) -> [Self; N] {
                records::gather(records, index)
            }
            #[inline(always)]
            fn scatter<const N: usize>(lanes: &[Self; N], out: &mut [[f64; N]]) {
                records::scatter(lanes, out);
            }
            #[inline(always)]
            fn scatter_single<const N: usize>(lanes: &[Self; N], out: &mut [[f32; N]]) {
                records::scatter_single(lanes, out);
            }
            #[inline(always)]
            fn totals<const N: usize>(lanes: &[Self; N]) -> [f64; N] {
                records::totals(lanes)
            }
        }
    };
}
eight!(F64x8, 8: |from| Self(_mm512_loadu_pd(from)), |v, to| _mm512_storeu_pd(to, v.0));
eight!(Pair<F64x4>, 4: |from| Self(F64x4(_mm256_loadu_pd(from)), F64x4(_mm256_loadu_pd(from.add(4)))), |v, to| {
    _mm256_storeu_pd(to, v.0.0);
    _mm256_storeu_pd(to.add(4), v.1.0);
});
