#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! AVX-512 and AVX2 vectors.
//!
//! SAFETY: intrinsics need their instruction set, which [`Vector`] demands of its callers and `run_*` get from
//! [`dispatch`](super::dispatch); pointers are accessed within the bounds that [`Vector`] asks for.

use super::{Four, Kernel, Load, Narrow, Simd, Vector, Wide};
use half::f16;
#[allow(clippy::wildcard_imports)] // intrinsics by the dozen
use std::arch::x86_64::*;

#[derive(Clone, Copy)]
pub(crate) struct Avx512;
#[derive(Clone, Copy)]
pub(crate) struct Avx2;

#[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c")]
pub(super) unsafe fn run_avx512<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

#[target_feature(enable = "avx2,fma,f16c")]
pub(super) unsafe fn run_avx2<K: Kernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}

impl Simd for Avx512 {
    type F32 = __m512;
    type F64 = __m512d;
}

impl Simd for Avx2 {
    type F32 = __m256;
    type F64 = __m256d;
}

macro_rules! vector_512 {
    ($vector:ty, $four:ty, $elem:ty, $lanes:literal, $mask:ty, $widen:ident, $zero:ident $splat:ident $permute:ident $add:ident
     $fma:ident $fma_mask:ident $load_mask:ident $store:ident) => {
        impl Vector for $vector {
            type Elem = $elem;
            type Index = __m512i;
            type Mask = $mask;
            type Four = $four;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> Self {
                $zero()
            }
            #[inline(always)]
            unsafe fn splat(value: $elem) -> Self {
                $splat(value)
            }
            #[inline(always)]
            unsafe fn first(n: usize) -> $mask {
                ((1_u32 << n) - 1) as $mask
            }
            #[inline(always)]
            unsafe fn index(from: &[u8; 16]) -> __m512i {
                $widen(_mm_loadu_si128(from.as_ptr().cast()))
            }
            #[inline(always)]
            unsafe fn permute(self, index: __m512i) -> Self {
                $permute(index, self)
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                $add(self, other)
            }
            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, sum: Self) -> Self {
                $fma(self, factor, sum)
            }
            #[inline(always)]
            unsafe fn mul_add_first(self, factor: Self, sum: Self, mask: $mask) -> Self {
                $fma_mask(self, factor, sum, mask)
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $elem, mask: $mask) -> Self {
                $load_mask(mask, from)
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $elem) {
                $store(to, self);
            }
        }
    };
}
vector_512!(__m512, __m128, f32, 16, __mmask16, _mm512_cvtepu8_epi32, _mm512_setzero_ps _mm512_set1_ps _mm512_permutexvar_ps _mm512_add_ps
    _mm512_fmadd_ps _mm512_mask3_fmadd_ps _mm512_maskz_loadu_ps _mm512_storeu_ps);
vector_512!(__m512d, __m256d, f64, 8, __mmask8, _mm512_cvtepu8_epi64, _mm512_setzero_pd _mm512_set1_pd _mm512_permutexvar_pd _mm512_add_pd
    _mm512_fmadd_pd _mm512_mask3_fmadd_pd _mm512_maskz_loadu_pd _mm512_storeu_pd);

#[inline(always)]
unsafe fn index_of_8(from: __m128i) -> __m256i {
    _mm256_cvtepu8_epi32(from)
}

/// Lanes of f64 move as pairs of 32-bit lanes.
#[inline(always)]
unsafe fn index_of_4(from: __m128i) -> __m256i {
    let low = _mm256_slli_epi64::<1>(_mm256_cvtepu8_epi64(from));
    let high = _mm256_add_epi64(_mm256_slli_epi64::<32>(low), _mm256_set1_epi64x(1 << 32));
    _mm256_or_si256(low, high)
}

#[inline(always)]
unsafe fn permute_4(v: __m256d, index: __m256i) -> __m256d {
    _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), index))
}

macro_rules! vector_256 {
    ($vector:ty, $four:ty, $elem:ty, $lanes:literal, $int:ty, $zero:ident $splat:ident $add:ident
     $fma:ident $and:ident $cast:ident $load_mask:ident $store:ident, $index:ident, $permute:ident) => {
        impl Vector for $vector {
            type Elem = $elem;
            type Index = __m256i;
            type Mask = __m256i;
            type Four = $four;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> Self {
                $zero()
            }
            #[inline(always)]
            unsafe fn splat(value: $elem) -> Self {
                $splat(value)
            }
            #[inline(always)]
            unsafe fn first(n: usize) -> __m256i {
                const LANES: [$int; 2 * $lanes] = {
                    let mut lanes = [0; 2 * $lanes];
                    let mut l = 0;
                    while l < $lanes {
                        lanes[l] = -1;
                        l += 1;
                    }
                    lanes
                };
                _mm256_loadu_si256(LANES.as_ptr().add($lanes - n).cast())
            }
            #[inline(always)]
            unsafe fn index(from: &[u8; 16]) -> __m256i {
                $index(_mm_loadu_si128(from.as_ptr().cast()))
            }
            #[inline(always)]
            unsafe fn permute(self, index: __m256i) -> Self {
                $permute(self, index)
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                $add(self, other)
            }
            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, sum: Self) -> Self {
                $fma(self, factor, sum)
            }
            #[inline(always)]
            unsafe fn mul_add_first(self, factor: Self, sum: Self, mask: __m256i) -> Self {
                $fma($and(self, $cast(mask)), $and(factor, $cast(mask)), sum)
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $elem, mask: __m256i) -> Self {
                $load_mask(from, mask)
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $elem) {
                $store(to, self);
            }
        }
    };
}
vector_256!(__m256, __m128, f32, 8, i32, _mm256_setzero_ps _mm256_set1_ps _mm256_add_ps
    _mm256_fmadd_ps _mm256_and_ps _mm256_castsi256_ps _mm256_maskload_ps _mm256_storeu_ps,
    index_of_8,
    _mm256_permutevar8x32_ps);
vector_256!(__m256d, __m256d, f64, 4, i64, _mm256_setzero_pd _mm256_set1_pd _mm256_add_pd
    _mm256_fmadd_pd _mm256_and_pd _mm256_castsi256_pd _mm256_maskload_pd _mm256_storeu_pd,
    index_of_4,
    permute_4);

macro_rules! load {
    ($vector:ty, $stored:ty, $from:ident => $value:expr, $four:expr) => {
        impl Load<$stored> for $vector {
            #[inline(always)]
            unsafe fn load($from: *const $stored) -> Self {
                $value
            }
            #[inline(always)]
            unsafe fn load_four($from: *const $stored) -> Self::Four {
                $four
            }
        }
    };
}
load!(__m512, f32, p => _mm512_loadu_ps(p), _mm_loadu_ps(p));
load!(__m512, f16, p => _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())), four_of_f16(p));
load!(__m512d, f64, p => _mm512_loadu_pd(p), _mm256_loadu_pd(p));
load!(__m512d, f32, p => _mm512_cvtps_pd(_mm256_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p)));
load!(__m512d, f16, p => _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(p.cast()))), _mm256_cvtps_pd(four_of_f16(p)));
load!(__m256, f32, p => _mm256_loadu_ps(p), _mm_loadu_ps(p));
load!(__m256, f16, p => _mm256_cvtph_ps(_mm_loadu_si128(p.cast())), four_of_f16(p));
load!(__m256d, f64, p => _mm256_loadu_pd(p), _mm256_loadu_pd(p));
load!(__m256d, f32, p => _mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p)));
load!(__m256d, f16, p => _mm256_cvtps_pd(four_of_f16(p)), _mm256_cvtps_pd(four_of_f16(p)));

#[inline(always)]
unsafe fn four_of_f16(from: *const f16) -> __m128 {
    _mm_cvtph_ps(_mm_loadl_epi64(from.cast()))
}

macro_rules! four {
    ($four:ty, $elem:ty, $zero:ident $set:ident $add:ident $fma:ident $blend:ident $first:ident, $v:ident => $total:expr) => {
        impl Four for $four {
            type Elem = $elem;
            #[inline(always)]
            unsafe fn zero() -> Self {
                $zero()
            }
            #[inline(always)]
            unsafe fn gather<const N: usize>(from: *const $elem, at: *const u32) -> Self {
                let entry = |at: u32| *from.add(at as usize);
                match N {
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
                }
            }
            #[inline(always)]
            unsafe fn keep<const N: usize>(self) -> Self {
                match N {
                    0 => $zero(),
                    1 => $blend::<1>($zero(), self),
                    2 => $blend::<3>($zero(), self),
                    3 => $blend::<7>($zero(), self),
                    _ => self,
                }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                $add(self, other)
            }
            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, sum: Self) -> Self {
                $fma(self, factor, sum)
            }
            #[inline(always)]
            unsafe fn first(self) -> $elem {
                $first(self)
            }
            #[inline(always)]
            unsafe fn total(self) -> $elem {
                let $v = self;
                $total
            }
        }
    };
}
four!(__m128, f32, _mm_setzero_ps _mm_set_ps _mm_add_ps _mm_fmadd_ps _mm_blend_ps _mm_cvtss_f32, v => {
    let halves = _mm_add_ps(v, _mm_movehl_ps(v, v));
    _mm_cvtss_f32(_mm_add_ss(halves, _mm_movehdup_ps(halves)))
});
four!(__m256d, f64, _mm256_setzero_pd _mm256_set_pd _mm256_add_pd _mm256_fmadd_pd _mm256_blend_pd _mm256_cvtsd_f64, v => {
    let halves = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
    _mm_cvtsd_f64(_mm_add_sd(halves, _mm_unpackhi_pd(halves, halves)))
});

impl Narrow for __m512 {
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        _mm512_sub_ps(self, other)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        _mm512_div_ps(self, other)
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        _mm512_abs_ps(self)
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        _mm512_max_ps(self, other)
    }
    #[inline(always)]
    unsafe fn where_between(self, magnitude: Self, low: f32, high: f32) -> Self {
        let mask = _mm512_cmp_ps_mask::<_CMP_GE_OQ>(magnitude, _mm512_set1_ps(low));
        let mask = _mm512_mask_cmp_ps_mask::<_CMP_LE_OQ>(mask, magnitude, _mm512_set1_ps(high));
        _mm512_maskz_mov_ps(mask, self)
    }
    #[inline(always)]
    unsafe fn count_at_most(self, limit: f32) -> usize {
        _mm512_cmp_ps_mask::<_CMP_LE_OQ>(self, _mm512_set1_ps(limit)).count_ones() as usize
    }
    #[inline(always)]
    unsafe fn store_f16(self, to: *mut f16) {
        _mm256_storeu_si256(to.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self));
    }
}

impl Narrow for __m256 {
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        _mm256_sub_ps(self, other)
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        _mm256_div_ps(self, other)
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        _mm256_andnot_ps(_mm256_set1_ps(-0.0), self)
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        _mm256_max_ps(self, other)
    }
    #[inline(always)]
    unsafe fn where_between(self, magnitude: Self, low: f32, high: f32) -> Self {
        let above = _mm256_cmp_ps::<_CMP_GE_OQ>(magnitude, _mm256_set1_ps(low));
        let below = _mm256_cmp_ps::<_CMP_LE_OQ>(magnitude, _mm256_set1_ps(high));
        _mm256_and_ps(self, _mm256_and_ps(above, below))
    }
    #[inline(always)]
    unsafe fn count_at_most(self, limit: f32) -> usize {
        let mask = _mm256_cmp_ps::<_CMP_LE_OQ>(self, _mm256_set1_ps(limit));
        _mm256_movemask_ps(mask).count_ones() as usize
    }
    #[inline(always)]
    unsafe fn store_f16(self, to: *mut f16) {
        _mm_storeu_si128(to.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(self));
    }
}

impl Wide for __m512d {
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        _mm512_mul_pd(self, other)
    }
    #[inline(always)]
    unsafe fn recip(self) -> Self {
        _mm512_div_pd(_mm512_set1_pd(1.0), self)
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        _mm512_abs_pd(self)
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        _mm512_max_pd(self, other)
    }
    #[inline(always)]
    unsafe fn at_most(self, other: Self) -> u32 {
        _mm512_cmp_pd_mask::<_CMP_LE_OQ>(self, other).into()
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f64, mask: __mmask8) {
        _mm512_mask_storeu_pd(to, mask, self);
    }
    #[inline(always)]
    unsafe fn store_f32(self, to: *mut f32) {
        _mm256_storeu_ps(to, _mm512_cvtpd_ps(self));
    }
    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self; 8]) {
        // Pairs of neighbors, then pairs of 128 bits, then of 256 bits.
        let mut even = [rows[0]; 4];
        let mut odd = [rows[0]; 4];
        for i in 0..4 {
            even[i] = _mm512_unpacklo_pd(rows[2 * i], rows[2 * i + 1]);
            odd[i] = _mm512_unpackhi_pd(rows[2 * i], rows[2 * i + 1]);
        }
        for (parity, pairs) in [even, odd].into_iter().enumerate() {
            let a = _mm512_shuffle_f64x2::<0b10_00_10_00>(pairs[0], pairs[1]); // columns 0 and 4 of rows 0 to 3
            let b = _mm512_shuffle_f64x2::<0b11_01_11_01>(pairs[0], pairs[1]); // 2 and 6
            let c = _mm512_shuffle_f64x2::<0b10_00_10_00>(pairs[2], pairs[3]); // of rows 4 to 7
            let d = _mm512_shuffle_f64x2::<0b11_01_11_01>(pairs[2], pairs[3]);
            rows[parity] = _mm512_shuffle_f64x2::<0b10_00_10_00>(a, c);
            rows[4 + parity] = _mm512_shuffle_f64x2::<0b11_01_11_01>(a, c);
            rows[2 + parity] = _mm512_shuffle_f64x2::<0b10_00_10_00>(b, d);
            rows[6 + parity] = _mm512_shuffle_f64x2::<0b11_01_11_01>(b, d);
        }
    }
}

impl Wide for __m256d {
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        _mm256_mul_pd(self, other)
    }
    #[inline(always)]
    unsafe fn recip(self) -> Self {
        _mm256_div_pd(_mm256_set1_pd(1.0), self)
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        _mm256_andnot_pd(_mm256_set1_pd(-0.0), self)
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        _mm256_max_pd(self, other)
    }
    #[inline(always)]
    unsafe fn at_most(self, other: Self) -> u32 {
        _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_LE_OQ>(self, other)) as u32
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f64, mask: __m256i) {
        _mm256_maskstore_pd(to, mask, self);
    }
    #[inline(always)]
    unsafe fn store_f32(self, to: *mut f32) {
        _mm_storeu_ps(to, _mm256_cvtpd_ps(self));
    }
    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self; 8]) {
        let [a, b, c, d] = [rows[0], rows[1], rows[2], rows[3]];
        let (even, odd) = (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b));
        let (even_below, odd_below) = (_mm256_unpacklo_pd(c, d), _mm256_unpackhi_pd(c, d));
        rows[0] = _mm256_permute2f128_pd::<0x20>(even, even_below);
        rows[1] = _mm256_permute2f128_pd::<0x20>(odd, odd_below);
        rows[2] = _mm256_permute2f128_pd::<0x31>(even, even_below);
        rows[3] = _mm256_permute2f128_pd::<0x31>(odd, odd_below);
    }
}
