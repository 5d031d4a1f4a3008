#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Arithmetic.

use super::four::F32x4;
use super::{Avx2, Avx512};
use crate::operators::operators;
use crate::{Bits, Mask, Real, Turn, Vector};
#[allow(clippy::wildcard_imports)] // intrinsics by the dozen
use std::arch::x86_64::*;

macro_rules! mask {
    ($name:ident($raw:ty): |$a:ident, $b:ident| $and:expr, $or:expr, |$c:ident| $not:expr, $bits:expr) => {
        /// A truth value per lane.
        #[derive(Clone, Copy, Debug)]
        pub struct $name($raw);
        impl Mask for $name {
            #[inline(always)]
            fn and(self, other: Self) -> Self {
                let ($a, $b) = (self.0, other.0);
                Self($and)
            }
            #[inline(always)]
            fn or(self, other: Self) -> Self {
                let ($a, $b) = (self.0, other.0);
                Self($or)
            }
            #[inline(always)]
            fn not(self) -> Self {
                let $c = self.0;
                Self($not)
            }
            #[inline(always)]
            fn any(self) -> bool {
                self.bits() != 0
            }
        }
        impl Bits for $name {
            #[inline(always)]
            fn bits(self) -> u32 {
                let $c = self.0;
                $bits
            }
        }
    };
}
mask!(Bits8(__mmask8): |a, b| a & b, a | b, |a| !a, a.into());
mask!(Bits16(__mmask16): |a, b| a & b, a | b, |a| !a, a.into());
mask!(All4(__m256d): |a, b| there!(_mm256_and_pd(a, b)), there!(_mm256_or_pd(a, b)),
    |a| there!(_mm256_xor_pd(a, _mm256_castsi256_pd(_mm256_set1_epi64x(-1)))), there!(_mm256_movemask_pd(a) as u32));
mask!(All8(__m256): |a, b| there!(_mm256_and_ps(a, b)), there!(_mm256_or_ps(a, b)),
    |a| there!(_mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi64x(-1)))), there!(_mm256_movemask_ps(a) as u32));

/// A register: intrinsics that have the same form in both sets by name, the others as expressions; what one of these calls the mask,
/// the pointer or the register, the next call so, too.
macro_rules! register {
    (
        $(#[$doc:meta])*
        $name:ident($raw:ty): $lanes:literal $elem:ty, $set:ty, $four:ty, $mask:ident,
        $set1:ident $add:ident $sub:ident $mul:ident $div:ident $sqrt:ident $min:ident $max:ident $xor:ident $andnot:ident
        $fmadd:ident $fnmadd:ident $compare:ident $load:ident $store:ident,
        select: |$m:ident, $yes:ident, $no:ident| $select:expr,
        first: |$n:ident| $first:expr,
        permute: |$v:ident, $from:ident| $permute:expr,
        mul_add_first: |$x:ident, $factor:ident, $sum:ident| $mul_add_first:expr,
        load_first: |$p:ident| $load_first:expr,
        store_first: $store_first:expr,
        join: |$part:ident| $join:expr,
        turn_fours: |$rows:ident| $turn_fours:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[repr(transparent)]
        pub struct $name(pub(super) $raw);

        operators!(#[inline(always)] [] $name: |a, b|
            Self(there!($add(a.0, b.0))),
            Self(there!($sub(a.0, b.0))),
            Self(there!($mul(a.0, b.0))),
            Self(there!($div(a.0, b.0))),
            |a| Self(there!($xor(a.0, $set1(-0.0))))
        );

        impl $name {
            /// A scalar function of every lane.
            #[inline(always)]
            fn each(self, other: Self, f: impl Fn($elem, $elem) -> $elem) -> Self {
                let (mut values, mut others) = ([0.0; $lanes], [0.0; $lanes]);
                there!($store(values.as_mut_ptr(), self.0));
                there!($store(others.as_mut_ptr(), other.0));
                for l in 0..$lanes {
                    values[l] = f(values[l], others[l]);
                }
                Self(there!($load(values.as_ptr())))
            }
        }

        impl Real for $name {
            type Mask = $mask;
            #[inline(always)]
            fn c(value: f64) -> Self {
                Self(there!($set1(value as $elem)))
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                Self(there!($sqrt(self.0)))
            }
            #[inline(always)]
            fn abs(self) -> Self {
                Self(there!($andnot($set1(-0.0), self.0)))
            }
            #[inline(always)]
            fn exp(self) -> Self {
                self.each(self, |x, _| x.exp())
            }
            #[inline(always)]
            fn ln(self) -> Self {
                self.each(self, |x, _| x.ln())
            }
            #[inline(always)]
            fn atan(self) -> Self {
                self.each(self, |x, _| x.atan())
            }
            #[inline(always)]
            fn powf(self, exponent: Self) -> Self {
                self.each(exponent, |x, y| x.powf(y))
            }
            #[inline(always)]
            fn lt(self, other: Self) -> $mask {
                $mask(there!($compare::<_CMP_LT_OQ>(self.0, other.0)))
            }
            #[inline(always)]
            fn le(self, other: Self) -> $mask {
                $mask(there!($compare::<_CMP_LE_OQ>(self.0, other.0)))
            }
            #[inline(always)]
            fn gt(self, other: Self) -> $mask {
                $mask(there!($compare::<_CMP_GT_OQ>(self.0, other.0)))
            }
            #[inline(always)]
            fn ge(self, other: Self) -> $mask {
                $mask(there!($compare::<_CMP_GE_OQ>(self.0, other.0)))
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                let ($m, $yes, $no) = (mask.0, yes.0, no.0);
                Self(there!($select))
            }
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                Self(there!($min(self.0, other.0)))
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                Self(there!($max(self.0, other.0)))
            }
        }

        impl Vector for $name {
            type Elem = $elem;
            type Four = $four;
            type Set = $set;
            const LANES: usize = $lanes;

            #[inline(always)]
            fn splat(value: $elem) -> Self {
                Self(there!($set1(value)))
            }
            #[inline(always)]
            fn first($n: usize) -> $mask {
                $mask($first)
            }
            #[inline(always)]
            fn permute(self, from: &[u8; 16]) -> Self {
                let ($v, $from) = (self.0, there!(_mm_loadu_si128(from.as_ptr().cast())));
                Self(there!($permute))
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, sum: Self) -> Self {
                Self(there!($fmadd(self.0, factor.0, sum.0)))
            }
            #[inline(always)]
            fn sub_mul(self, a: Self, b: Self) -> Self {
                Self(there!($fnmadd(a.0, b.0, self.0)))
            }
            #[inline(always)]
            fn mul_add_first(self, factor: Self, sum: Self, mask: $mask) -> Self {
                let ($x, $factor, $sum, $m) = (self.0, factor.0, sum.0, mask.0);
                Self(there!($mul_add_first))
            }
            #[inline(always)]
            unsafe fn load_first($p: *const $elem, mask: $mask) -> Self {
                let $m = mask.0;
                Self($load_first)
            }
            #[inline(always)]
            unsafe fn store_first(self, $p: *mut $elem, mask: $mask) {
                let ($v, $m) = (self.0, mask.0);
                $store_first;
            }
            #[inline(always)]
            #[allow(unused_unsafe)] // of one part nothing is made
            fn join($part: [$four; 4]) -> Self {
                Self(there!($join))
            }
            #[inline(always)]
            fn turn_fours(rows: [Self; 4]) -> [Self; 4] {
                let $rows = [rows[0].0, rows[1].0, rows[2].0, rows[3].0];
                let columns = there!($turn_fours);
                [Self(columns[0]), Self(columns[1]), Self(columns[2]), Self(columns[3])]
            }
        }
    };
}

register!(
    /// Eight f64.
    F64x8(__m512d): 8 f64, Avx512, F64x4, Bits8,
    _mm512_set1_pd _mm512_add_pd _mm512_sub_pd _mm512_mul_pd _mm512_div_pd _mm512_sqrt_pd _mm512_min_pd _mm512_max_pd _mm512_xor_pd
    _mm512_andnot_pd _mm512_fmadd_pd _mm512_fnmadd_pd _mm512_cmp_pd_mask _mm512_loadu_pd _mm512_storeu_pd,
    select: |mask, yes, no| _mm512_mask_blend_pd(mask, no, yes),
    first: |n| first_512(n.min(8)) as __mmask8,
    permute: |v, from| _mm512_permutexvar_pd(_mm512_cvtepu8_epi64(from), v),
    mul_add_first: |x, factor, sum| _mm512_mask3_fmadd_pd(x, factor, sum, mask),
    load_first: |p| _mm512_maskz_loadu_pd(mask, p),
    store_first: _mm512_mask_storeu_pd(p, mask, v),
    join: |part| _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(part[0].0), part[1].0),
    turn_fours: |rows| {
        let (a, b) = (_mm512_unpacklo_pd(rows[0], rows[1]), _mm512_unpackhi_pd(rows[0], rows[1]));
        let (c, d) = (_mm512_unpacklo_pd(rows[2], rows[3]), _mm512_unpackhi_pd(rows[2], rows[3]));
        let low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        let high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        [
            _mm512_permutex2var_pd(a, low, c),
            _mm512_permutex2var_pd(b, low, d),
            _mm512_permutex2var_pd(a, high, c),
            _mm512_permutex2var_pd(b, high, d),
        ]
    }
);
register!(
    /// Sixteen f32.
    F32x16(__m512): 16 f32, Avx512, F32x4, Bits16,
    _mm512_set1_ps _mm512_add_ps _mm512_sub_ps _mm512_mul_ps _mm512_div_ps _mm512_sqrt_ps _mm512_min_ps _mm512_max_ps _mm512_xor_ps
    _mm512_andnot_ps _mm512_fmadd_ps _mm512_fnmadd_ps _mm512_cmp_ps_mask _mm512_loadu_ps _mm512_storeu_ps,
    select: |mask, yes, no| _mm512_mask_blend_ps(mask, no, yes),
    first: |n| first_512(n.min(16)) as __mmask16,
    permute: |v, from| _mm512_permutexvar_ps(_mm512_cvtepu8_epi32(from), v),
    mul_add_first: |x, factor, sum| _mm512_mask3_fmadd_ps(x, factor, sum, mask),
    load_first: |p| _mm512_maskz_loadu_ps(mask, p),
    store_first: _mm512_mask_storeu_ps(p, mask, v),
    join: |part| {
        let two = _mm512_insertf32x4::<1>(_mm512_castps128_ps512(part[0].0), part[1].0);
        _mm512_insertf32x4::<3>(_mm512_insertf32x4::<2>(two, part[2].0), part[3].0)
    },
    turn_fours: |rows| {
        let (a, b) = (_mm512_unpacklo_ps(rows[0], rows[1]), _mm512_unpackhi_ps(rows[0], rows[1]));
        let (c, d) = (_mm512_unpacklo_ps(rows[2], rows[3]), _mm512_unpackhi_ps(rows[2], rows[3]));
        [
            _mm512_shuffle_ps::<0x44>(a, c),
            _mm512_shuffle_ps::<0xee>(a, c),
            _mm512_shuffle_ps::<0x44>(b, d),
            _mm512_shuffle_ps::<0xee>(b, d),
        ]
    }
);
register!(
    /// Four f64.
    F64x4(__m256d): 4 f64, Avx2, F64x4, All4,
    _mm256_set1_pd _mm256_add_pd _mm256_sub_pd _mm256_mul_pd _mm256_div_pd _mm256_sqrt_pd _mm256_min_pd _mm256_max_pd _mm256_xor_pd
    _mm256_andnot_pd _mm256_fmadd_pd _mm256_fnmadd_pd _mm256_cmp_pd _mm256_loadu_pd _mm256_storeu_pd,
    select: |mask, yes, no| _mm256_blendv_pd(no, yes, mask),
    first: |n| there!(_mm256_castsi256_pd(first_256(2 * n.min(4)))),
    permute: |v, from| _mm256_castps_pd(_mm256_permutevar8x32_ps(_mm256_castpd_ps(v), pairs(from))),
    mul_add_first: |x, factor, sum| _mm256_fmadd_pd(_mm256_and_pd(x, mask), _mm256_and_pd(factor, mask), sum),
    load_first: |p| _mm256_maskload_pd(p, _mm256_castpd_si256(mask)),
    store_first: _mm256_maskstore_pd(p, _mm256_castpd_si256(mask), v),
    join: |part| part[0].0,
    turn_fours: |rows| turn_4(rows)
);
register!(
    /// Eight f32.
    F32x8(__m256): 8 f32, Avx2, F32x4, All8,
    _mm256_set1_ps _mm256_add_ps _mm256_sub_ps _mm256_mul_ps _mm256_div_ps _mm256_sqrt_ps _mm256_min_ps _mm256_max_ps _mm256_xor_ps
    _mm256_andnot_ps _mm256_fmadd_ps _mm256_fnmadd_ps _mm256_cmp_ps _mm256_loadu_ps _mm256_storeu_ps,
    select: |mask, yes, no| _mm256_blendv_ps(no, yes, mask),
    first: |n| there!(_mm256_castsi256_ps(first_256(n.min(8)))),
    permute: |v, from| _mm256_permutevar8x32_ps(v, _mm256_cvtepu8_epi32(from)),
    mul_add_first: |x, factor, sum| _mm256_fmadd_ps(_mm256_and_ps(x, mask), _mm256_and_ps(factor, mask), sum),
    load_first: |p| _mm256_maskload_ps(p, _mm256_castps_si256(mask)),
    store_first: _mm256_maskstore_ps(p, _mm256_castps_si256(mask), v),
    join: |part| _mm256_insertf128_ps::<1>(_mm256_castps128_ps256(part[0].0), part[1].0),
    turn_fours: |rows| {
        let (a, b) = (_mm256_unpacklo_ps(rows[0], rows[1]), _mm256_unpackhi_ps(rows[0], rows[1]));
        let (c, d) = (_mm256_unpacklo_ps(rows[2], rows[3]), _mm256_unpackhi_ps(rows[2], rows[3]));
        [
            _mm256_shuffle_ps::<0x44>(a, c),
            _mm256_shuffle_ps::<0xee>(a, c),
            _mm256_shuffle_ps::<0x44>(b, d),
            _mm256_shuffle_ps::<0xee>(b, d),
        ]
    }
);

/// The `n` lowest bits, at most 16.
#[inline(always)]
fn first_512(n: usize) -> u32 {
    (1 << n) - 1
}

/// All bits of the first `n` lanes of 32 bits, at most eight.
#[inline(always)]
pub(super) unsafe fn first_256(n: usize) -> __m256i {
    const LANES: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    _mm256_loadu_si256(LANES.as_ptr().add(8 - n).cast())
}

/// Lanes of f64 move as pairs of 32-bit lanes.
#[inline(always)]
unsafe fn pairs(from: __m128i) -> __m256i {
    let low = _mm256_slli_epi64::<1>(_mm256_cvtepu8_epi64(from));
    let high = _mm256_add_epi64(_mm256_slli_epi64::<32>(low), _mm256_set1_epi64x(1 << 32));
    _mm256_or_si256(low, high)
}

/// Four by four f64 turned over.
#[inline(always)]
unsafe fn turn_4(rows: [__m256d; 4]) -> [__m256d; 4] {
    let (a, b) = (_mm256_unpacklo_pd(rows[0], rows[1]), _mm256_unpackhi_pd(rows[0], rows[1]));
    let (c, d) = (_mm256_unpacklo_pd(rows[2], rows[3]), _mm256_unpackhi_pd(rows[2], rows[3]));
    [
        _mm256_permute2f128_pd::<0x20>(a, c),
        _mm256_permute2f128_pd::<0x20>(b, d),
        _mm256_permute2f128_pd::<0x31>(a, c),
        _mm256_permute2f128_pd::<0x31>(b, d),
    ]
}

impl Turn for F64x4 {
    #[inline(always)]
    fn turn(rows: &mut [Self; 8]) {
        let [a, b, c, d] = there!(turn_4([rows[0].0, rows[1].0, rows[2].0, rows[3].0]));
        (rows[0], rows[1], rows[2], rows[3]) = (Self(a), Self(b), Self(c), Self(d));
    }
}

impl Turn for F64x8 {
    #[inline(always)]
    fn turn(rows: &mut [Self; 8]) {
        // Pairs of neighbors, then pairs of 128 bits, then of 256 bits.
        let v = *rows;
        let a = there!([_mm512_unpacklo_pd(v[0].0, v[1].0), _mm512_unpackhi_pd(v[0].0, v[1].0)]);
        let b = there!([_mm512_unpacklo_pd(v[2].0, v[3].0), _mm512_unpackhi_pd(v[2].0, v[3].0)]);
        let c = there!([_mm512_unpacklo_pd(v[4].0, v[5].0), _mm512_unpackhi_pd(v[4].0, v[5].0)]);
        let d = there!([_mm512_unpacklo_pd(v[6].0, v[7].0), _mm512_unpackhi_pd(v[6].0, v[7].0)]);
        for j in 0..2 {
            let low = there!(_mm512_shuffle_f64x2::<0x88>(a[j], b[j])); // columns j and 4 + j of rows 0 to 3
            let high = there!(_mm512_shuffle_f64x2::<0x88>(c[j], d[j])); // of rows 4 to 7
            rows[j] = Self(there!(_mm512_shuffle_f64x2::<0x88>(low, high)));
            rows[4 + j] = Self(there!(_mm512_shuffle_f64x2::<0xdd>(low, high)));
            let low = there!(_mm512_shuffle_f64x2::<0xdd>(a[j], b[j])); // columns 2 + j and 6 + j
            let high = there!(_mm512_shuffle_f64x2::<0xdd>(c[j], d[j]));
            rows[2 + j] = Self(there!(_mm512_shuffle_f64x2::<0x88>(low, high)));
            rows[6 + j] = Self(there!(_mm512_shuffle_f64x2::<0xdd>(low, high)));
        }
    }
}

impl Turn for F32x8 {
    #[inline(always)]
    fn turn(rows: &mut [Self; 8]) {
        // Fours in each half, then the halves.
        let low = Self::turn_fours([rows[0], rows[1], rows[2], rows[3]]);
        let high = Self::turn_fours([rows[4], rows[5], rows[6], rows[7]]);
        for k in 0..4 {
            rows[k] = Self(there!(_mm256_permute2f128_ps::<0x20>(low[k].0, high[k].0)));
            rows[4 + k] = Self(there!(_mm256_permute2f128_ps::<0x31>(low[k].0, high[k].0)));
        }
    }
}
