#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Four lanes.

use super::registers::F64x4;
use crate::Four;
#[allow(clippy::wildcard_imports)] // intrinsics by the dozen
use std::arch::x86_64::*;

/// Four f32.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct F32x4(pub(super) __m128);

macro_rules! four {
    ($four:ident, $elem:ty, $zero:ident $set:ident $add:ident $fma:ident $blend:ident $first:ident, |$v:ident| $total:expr) => {
        impl Four for $four {
            type Elem = $elem;
            #[inline(always)]
            fn zero() -> Self {
                Self(there!($zero()))
            }
            #[inline(always)]
            unsafe fn gather<const N: usize>(from: *const $elem, at: *const u32) -> Self {
                let entry = |at: u32| *from.add(at as usize);
                Self(match N {
                    // Two indices in one load.
                    4 => {
                        let [low, high] = at.cast::<[u64; 2]>().read_unaligned();
                        let (second, fourth) = ((low >> 32) as u32, (high >> 32) as u32);
                        $set(entry(fourth), entry(high as u32), entry(second), entry(low as u32))
                    }
                    3 => $set(0.0, entry(*at.add(2)), entry(*at.add(1)), entry(*at)),
                    2 => $set(0.0, 0.0, entry(*at.add(1)), entry(*at)),
                    1 => $set(0.0, 0.0, 0.0, entry(*at)),
                    _ => $zero(),
                })
            }
            #[inline(always)]
            fn keep<const N: usize>(self) -> Self {
                Self(there!(match N {
                    0 => $zero(),
                    1 => $blend::<1>($zero(), self.0),
                    2 => $blend::<3>($zero(), self.0),
                    3 => $blend::<7>($zero(), self.0),
                    _ => self.0,
                }))
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                Self(there!($add(self.0, other.0)))
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, sum: Self) -> Self {
                Self(there!($fma(self.0, factor.0, sum.0)))
            }
            #[inline(always)]
            fn first(self) -> $elem {
                there!($first(self.0))
            }
            #[inline(always)]
            fn total(self) -> $elem {
                let $v = self.0;
                there!($total)
            }
        }
    };
}
four!(F32x4, f32, _mm_setzero_ps _mm_set_ps _mm_add_ps _mm_fmadd_ps _mm_blend_ps _mm_cvtss_f32, |v| {
    let halves = _mm_add_ps(v, _mm_movehl_ps(v, v));
    _mm_cvtss_f32(_mm_add_ss(halves, _mm_movehdup_ps(halves)))
});
four!(F64x4, f64, _mm256_setzero_pd _mm256_set_pd _mm256_add_pd _mm256_fmadd_pd _mm256_blend_pd _mm256_cvtsd_f64, |v| {
    let halves = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
    _mm_cvtsd_f64(_mm_add_sd(halves, _mm_unpackhi_pd(halves, halves)))
});
