#![allow(unsafe_code)]
//! Eight lanes in one AVX-512 register or two AVX registers.
//!
//! The types stay inside this crate: only [`dispatch`](super::dispatch()) makes them, after the machine was asked for
//! the instructions. Every `unsafe` below rests on that.

use super::{LANES, Lanes, Mask, Packet, Real, transpose};
use std::arch::x86_64::{
    __m256d, __m512d, __mmask8, _CMP_GE_OQ, _CMP_GT_OQ, _CMP_LE_OQ, _CMP_LT_OQ, _mm256_add_pd, _mm256_and_pd,
    _mm256_andnot_pd, _mm256_blendv_pd, _mm256_castsi256_pd, _mm256_cmp_pd, _mm256_div_pd, _mm256_loadu_pd,
    _mm256_max_pd, _mm256_min_pd, _mm256_mul_pd, _mm256_or_pd, _mm256_set1_epi64x, _mm256_set1_pd,
    _mm256_sqrt_pd, _mm256_storeu_pd, _mm256_sub_pd, _mm256_xor_pd, _mm512_abs_pd, _mm512_add_pd,
    _mm512_cmp_pd_mask, _mm512_div_pd, _mm512_loadu_pd, _mm512_mask_blend_pd, _mm512_max_pd, _mm512_min_pd,
    _mm512_mul_pd, _mm512_set1_pd, _mm512_sqrt_pd, _mm512_storeu_pd, _mm512_sub_pd, _mm512_xor_pd,
};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Eight lanes in one register.
#[derive(Clone, Copy, Debug)]
pub struct Avx512(pub(super) __m512d);

/// Eight lanes in two registers.
#[derive(Clone, Copy, Debug)]
pub struct Avx2(pub(super) __m256d, pub(super) __m256d);

/// One bit per lane.
#[derive(Clone, Copy, Debug)]
pub struct Avx512Mask(__mmask8);

/// All bits of a lane.
#[derive(Clone, Copy, Debug)]
pub struct Avx2Mask(__m256d, __m256d);

macro_rules! operator {
    ($trait:ident, $fn:ident, $assign:ident, $fn_assign:ident, $wide:ident, $half:ident) => {
        impl $trait for Avx512 {
            type Output = Self;
            #[inline(always)]
            fn $fn(self, o: Self) -> Self {
                // SAFETY: values of this type exist only where AVX-512 does, see the module.
                Self(unsafe { $wide(self.0, o.0) })
            }
        }
        impl $assign for Avx512 {
            #[inline(always)]
            fn $fn_assign(&mut self, o: Self) {
                *self = $trait::$fn(*self, o);
            }
        }
        impl $trait for Avx2 {
            type Output = Self;
            #[inline(always)]
            fn $fn(self, o: Self) -> Self {
                // SAFETY: values of this type exist only where AVX2 does, see the module.
                unsafe { Self($half(self.0, o.0), $half(self.1, o.1)) }
            }
        }
        impl $assign for Avx2 {
            #[inline(always)]
            fn $fn_assign(&mut self, o: Self) {
                *self = $trait::$fn(*self, o);
            }
        }
    };
}
operator!(Add, add, AddAssign, add_assign, _mm512_add_pd, _mm256_add_pd);
operator!(Sub, sub, SubAssign, sub_assign, _mm512_sub_pd, _mm256_sub_pd);
operator!(Mul, mul, MulAssign, mul_assign, _mm512_mul_pd, _mm256_mul_pd);
operator!(Div, div, DivAssign, div_assign, _mm512_div_pd, _mm256_div_pd);

impl Neg for Avx512 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: values of this type exist only where AVX-512 does, see the module.
        Self(unsafe { _mm512_xor_pd(self.0, _mm512_set1_pd(-0.0)) })
    }
}

impl Neg for Avx2 {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe {
            let sign = _mm256_set1_pd(-0.0);
            Self(_mm256_xor_pd(self.0, sign), _mm256_xor_pd(self.1, sign))
        }
    }
}

impl Mask for Avx512Mask {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self(!self.0)
    }
}

impl Mask for Avx2Mask {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe { Self(_mm256_and_pd(self.0, other.0), _mm256_and_pd(self.1, other.1)) }
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe { Self(_mm256_or_pd(self.0, other.0), _mm256_or_pd(self.1, other.1)) }
    }
    #[inline(always)]
    fn not(self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe {
            let ones = _mm256_castsi256_pd(_mm256_set1_epi64x(-1));
            Self(_mm256_xor_pd(self.0, ones), _mm256_xor_pd(self.1, ones))
        }
    }
}

macro_rules! each_lane {
    ($type:ty) => {
        #[inline(always)]
        fn exp(self) -> Self {
            Self::from_array(&self.to_array().map(f64::exp))
        }
        #[inline(always)]
        fn ln(self) -> Self {
            Self::from_array(&self.to_array().map(f64::ln))
        }
        #[inline(always)]
        fn atan(self) -> Self {
            Self::from_array(&self.to_array().map(f64::atan))
        }
        #[inline(always)]
        fn powf(self, exponent: Self) -> Self {
            let (mut base, exponent) = (self.to_array(), exponent.to_array());
            for i in 0..LANES {
                base[i] = base[i].powf(exponent[i]);
            }
            Self::from_array(&base)
        }
    };
}

macro_rules! compare_wide {
    ($fn:ident, $predicate:ident) => {
        #[inline(always)]
        fn $fn(self, other: Self) -> Avx512Mask {
            // SAFETY: values of this type exist only where AVX-512 does, see the module.
            Avx512Mask(unsafe { _mm512_cmp_pd_mask::<$predicate>(self.0, other.0) })
        }
    };
}

impl Real for Avx512 {
    type Mask = Avx512Mask;

    #[inline(always)]
    fn c(value: f64) -> Self {
        // SAFETY: this type is named only where AVX-512 is, see the module.
        Self(unsafe { _mm512_set1_pd(value) })
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: values of this type exist only where AVX-512 does, see the module.
        Self(unsafe { _mm512_sqrt_pd(self.0) })
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: values of this type exist only where AVX-512 does, see the module.
        Self(unsafe { _mm512_abs_pd(self.0) })
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: values of this type exist only where AVX-512 does, see the module.
        Self(unsafe { _mm512_min_pd(self.0, other.0) })
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: values of this type exist only where AVX-512 does, see the module.
        Self(unsafe { _mm512_max_pd(self.0, other.0) })
    }
    each_lane!(Avx512);
    compare_wide!(lt, _CMP_LT_OQ);
    compare_wide!(le, _CMP_LE_OQ);
    compare_wide!(gt, _CMP_GT_OQ);
    compare_wide!(ge, _CMP_GE_OQ);
    #[inline(always)]
    fn select(mask: Avx512Mask, yes: Self, no: Self) -> Self {
        // SAFETY: values of this type exist only where AVX-512 does, see the module.
        Self(unsafe { _mm512_mask_blend_pd(mask.0, no.0, yes.0) })
    }
}

impl Lanes for Avx512 {
    #[inline(always)]
    fn load(from: &Packet) -> Self {
        Self::from_array(&from.0)
    }
    #[inline(always)]
    fn store(self, to: &mut Packet) {
        // SAFETY: AVX-512 as in the module; a packet is eight f64.
        unsafe { _mm512_storeu_pd(to.0.as_mut_ptr(), self.0) }
    }
    #[inline(always)]
    fn from_array(from: &[f64; LANES]) -> Self {
        // SAFETY: AVX-512 as in the module; the array is eight f64.
        Self(unsafe { _mm512_loadu_pd(from.as_ptr()) })
    }
    #[inline(always)]
    fn to_array(self) -> [f64; LANES] {
        let mut out = Packet::ZERO;
        self.store(&mut out);
        out.0
    }
    #[inline(always)]
    fn gather<const N: usize>(records: &[[f64; N]], index: &[u32; LANES]) -> [Self; N] {
        transpose::gather8(&chosen(records, index))
    }
    #[inline(always)]
    fn scatter<const N: usize>(lanes: &[Self; N], out: &mut [[f64; N]]) {
        transpose::scatter8(lanes, out);
    }
    #[inline(always)]
    fn scatter_single<const N: usize>(lanes: &[Self; N], out: &mut [[f32; N]]) {
        transpose::scatter8_single(lanes, out);
    }
    #[inline(always)]
    fn totals<const N: usize>(lanes: &[Self; N]) -> [f64; N] {
        transpose::totals8(lanes)
    }
}

/// The records of these numbers.
#[inline(always)]
fn chosen<'a, const N: usize>(records: &'a [[f64; N]], index: &[u32; LANES]) -> [&'a [f64; N]; LANES] {
    let mut out = [&records[index[0] as usize]; LANES];
    for l in 1..LANES {
        out[l] = &records[index[l] as usize];
    }
    out
}

macro_rules! compare_halves {
    ($fn:ident, $predicate:ident) => {
        #[inline(always)]
        fn $fn(self, other: Self) -> Avx2Mask {
            // SAFETY: values of this type exist only where AVX2 does, see the module.
            unsafe {
                Avx2Mask(
                    _mm256_cmp_pd::<$predicate>(self.0, other.0),
                    _mm256_cmp_pd::<$predicate>(self.1, other.1),
                )
            }
        }
    };
}

impl Real for Avx2 {
    type Mask = Avx2Mask;

    #[inline(always)]
    fn c(value: f64) -> Self {
        // SAFETY: this type is named only where AVX2 is, see the module.
        unsafe { Self(_mm256_set1_pd(value), _mm256_set1_pd(value)) }
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe { Self(_mm256_sqrt_pd(self.0), _mm256_sqrt_pd(self.1)) }
    }
    #[inline(always)]
    fn abs(self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe {
            let sign = _mm256_set1_pd(-0.0);
            Self(_mm256_andnot_pd(sign, self.0), _mm256_andnot_pd(sign, self.1))
        }
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe { Self(_mm256_min_pd(self.0, other.0), _mm256_min_pd(self.1, other.1)) }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe { Self(_mm256_max_pd(self.0, other.0), _mm256_max_pd(self.1, other.1)) }
    }
    each_lane!(Avx2);
    compare_halves!(lt, _CMP_LT_OQ);
    compare_halves!(le, _CMP_LE_OQ);
    compare_halves!(gt, _CMP_GT_OQ);
    compare_halves!(ge, _CMP_GE_OQ);
    #[inline(always)]
    fn select(mask: Avx2Mask, yes: Self, no: Self) -> Self {
        // SAFETY: values of this type exist only where AVX2 does, see the module.
        unsafe { Self(_mm256_blendv_pd(no.0, yes.0, mask.0), _mm256_blendv_pd(no.1, yes.1, mask.1)) }
    }
}

impl Lanes for Avx2 {
    #[inline(always)]
    fn load(from: &Packet) -> Self {
        Self::from_array(&from.0)
    }
    #[inline(always)]
    fn store(self, to: &mut Packet) {
        // SAFETY: AVX2 as in the module; a packet is eight f64, of which each half takes four.
        unsafe {
            _mm256_storeu_pd(to.0.as_mut_ptr(), self.0);
            _mm256_storeu_pd(to.0.as_mut_ptr().add(4), self.1);
        }
    }
    #[inline(always)]
    fn from_array(from: &[f64; LANES]) -> Self {
        // SAFETY: AVX2 as in the module; the array is eight f64, of which each half takes four.
        unsafe { Self(_mm256_loadu_pd(from.as_ptr()), _mm256_loadu_pd(from.as_ptr().add(4))) }
    }
    #[inline(always)]
    fn to_array(self) -> [f64; LANES] {
        let mut out = Packet::ZERO;
        self.store(&mut out);
        out.0
    }
    #[inline(always)]
    fn gather<const N: usize>(records: &[[f64; N]], index: &[u32; LANES]) -> [Self; N] {
        transpose::gather4(&chosen(records, index))
    }
    #[inline(always)]
    fn scatter<const N: usize>(lanes: &[Self; N], out: &mut [[f64; N]]) {
        transpose::scatter4(lanes, out);
    }
    #[inline(always)]
    fn scatter_single<const N: usize>(lanes: &[Self; N], out: &mut [[f32; N]]) {
        transpose::scatter4_single(lanes, out);
    }
    #[inline(always)]
    fn totals<const N: usize>(lanes: &[Self; N]) -> [f64; N] {
        transpose::totals4(lanes)
    }
}
