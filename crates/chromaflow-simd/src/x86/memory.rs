#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! To and from memory.

use super::four::F32x4;
use super::registers::{F32x8, F32x16, F64x4, F64x8, first_256};
use crate::{Columns, Load, Plain, Store, Vector};
use half::f16;
#[allow(clippy::wildcard_imports)] // intrinsics by the dozen
use std::arch::x86_64::*;

macro_rules! load {
    ($name:ident, $stored:ty, $p:ident => $value:expr, $four:expr) => {
        impl Load<$stored> for $name {
            #[inline(always)]
            unsafe fn load($p: *const $stored) -> Self {
                Self($value)
            }
            #[inline(always)]
            unsafe fn load_four($p: *const $stored) -> Self::Four {
                $four
            }
        }
    };
}
load!(F32x16, f32, p => _mm512_loadu_ps(p), four_f32(p));
load!(F32x16, f16, p => _mm512_cvtph_ps(_mm256_loadu_si256(p.cast())), four_f16(p));
load!(F64x8, f64, p => _mm512_loadu_pd(p), four_f64(p));
load!(F64x8, f32, p => _mm512_cvtps_pd(_mm256_loadu_ps(p)), wide(four_f32(p)));
load!(F64x8, f16, p => _mm512_cvtps_pd(_mm256_cvtph_ps(_mm_loadu_si128(p.cast()))), wide(four_f16(p)));
load!(F32x8, f32, p => _mm256_loadu_ps(p), four_f32(p));
load!(F32x8, f16, p => _mm256_cvtph_ps(_mm_loadu_si128(p.cast())), four_f16(p));
load!(F64x4, f64, p => _mm256_loadu_pd(p), four_f64(p));
load!(F64x4, f32, p => wide(four_f32(p)).0, wide(four_f32(p)));
load!(F64x4, f16, p => wide(four_f16(p)).0, wide(four_f16(p)));

#[inline(always)]
unsafe fn four_f64(from: *const f64) -> F64x4 {
    F64x4(_mm256_loadu_pd(from))
}

#[inline(always)]
unsafe fn four_f32(from: *const f32) -> F32x4 {
    F32x4(_mm_loadu_ps(from))
}

#[inline(always)]
unsafe fn four_f16(from: *const f16) -> F32x4 {
    F32x4(_mm_cvtph_ps(_mm_loadl_epi64(from.cast())))
}

#[inline(always)]
unsafe fn wide(four: F32x4) -> F64x4 {
    F64x4(_mm256_cvtps_pd(four.0))
}

macro_rules! store {
    ($name:ident, $stored:ty, |$v:ident, $p:ident| $store:expr $(, past: $past:expr)?) => {
        impl Store<$stored> for $name {
            #[inline(always)]
            unsafe fn store(self, $p: *mut $stored) {
                let $v = self.0;
                $store;
            }
            $(
                const PAST_CACHES: bool = true;
                #[inline(always)]
                unsafe fn store_past(self, $p: *mut $stored) {
                    let $v = self.0;
                    $past;
                }
            )?
        }
    };
}
store!(F64x8, f64, |v, p| _mm512_storeu_pd(p, v), past: _mm512_stream_pd(p, v));
store!(F64x8, f32, |v, p| _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)));
store!(F32x16, f32, |v, p| _mm512_storeu_ps(p, v), past: _mm512_stream_ps(p, v));
store!(F32x16, f16, |v, p| _mm256_storeu_si256(p.cast(), _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)));
store!(F64x4, f64, |v, p| _mm256_storeu_pd(p, v));
store!(F64x4, f32, |v, p| _mm_storeu_ps(p, _mm256_cvtpd_ps(v)));
store!(F32x8, f32, |v, p| _mm256_storeu_ps(p, v));
store!(F32x8, f16, |v, p| _mm_storeu_si128(p.cast(), _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v)));

macro_rules! columns {
    ($name:ident, $stored:ty, $tile:ty, |$p:ident, $count:ident| $four:expr) => {
        impl Columns<$stored> for $name {
            type Tile = $tile;
            #[inline(always)]
            unsafe fn first_four($p: *const $stored, $count: usize) -> Self::Four {
                $four
            }
        }
    };
}
columns!(F64x8, f64, F64x8, |p, count| first_f64(p, count));
columns!(F64x8, f32, F32x8, |p, count| wide(first_f32(p, count)));
columns!(F32x16, f32, F32x8, |p, count| first_f32(p, count));
columns!(F64x4, f64, F64x4, |p, count| first_f64(p, count));
columns!(F64x4, f32, Plain<f32, 4>, |p, count| wide(first_f32(p, count)));
columns!(F32x8, f32, F32x8, |p, count| first_f32(p, count));

/// The first `count` of four numbers.
#[inline(always)]
unsafe fn first_f64(from: *const f64, count: usize) -> F64x4 {
    if count == 4 { four_f64(from) } else { F64x4::load_first(from, F64x4::first(count)) }
}

/// The first `count` of four numbers.
#[inline(always)]
unsafe fn first_f32(from: *const f32, count: usize) -> F32x4 {
    if count == 4 {
        return four_f32(from);
    }
    F32x4(_mm_maskload_ps(from, _mm256_castsi256_si128(first_256(count))))
}
