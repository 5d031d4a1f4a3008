#![allow(unsafe_code)]
//! AVX-512 and AVX2 lanes.
//!
//! Values of these types only come to life inside `dispatch`, which has checked for the instructions; every `unsafe`
//! block below rests on that, and on the caller's promise about pointers.

use super::{Lane, LaneIo};
use crate::tridiag::whole::{Engine, Line};
use chromaflow_device::prefetch;
#[allow(clippy::wildcard_imports)] // the list of names would be longer than the file's other code
use core::arch::x86_64::*;

macro_rules! lane {
    ($name:ident, $raw:ty, $t:ty, $w:literal, $what:literal, $features:literal, $set1:ident, $add:ident, $sub:ident, $mul:ident, $fnmadd:ident,
     $div:ident, |$v:ident| $nan:expr) => {
        #[doc = $what]
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub struct $name($raw);

        impl Lane for $name {
            const W: usize = $w;
            #[inline(always)]
            fn splat(value: f64) -> Self {
                // SAFETY: the instructions are there (see the module).
                Self(unsafe { $set1(value as $t) })
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $add(self.0, other.0) })
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $sub(self.0, other.0) })
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $mul(self.0, other.0) })
            }
            #[inline(always)]
            fn sub_mul(self, a: Self, b: Self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $fnmadd(a.0, b.0, self.0) })
            }
            #[inline(always)]
            fn recip(self) -> Self {
                // SAFETY: as above.
                Self(unsafe { $div($set1(1.0), self.0) })
            }
            #[inline(always)]
            fn any_nan(self) -> bool {
                let $v = self.0;
                // SAFETY: as above.
                unsafe { $nan }
            }
            fn solve_line(engine: Engine, line: &mut Line<'_, Self>) {
                #[target_feature(enable = $features)]
                unsafe fn run(engine: Engine, line: &mut Line<'_, $name>) {
                    engine.solve(line);
                }
                // SAFETY: as above.
                unsafe { run(engine, line) }
            }
        }
    };
}

lane!(
    F64x8,
    __m512d,
    f64,
    8,
    "Eight f64 in an AVX-512 register.",
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma",
    _mm512_set1_pd,
    _mm512_add_pd,
    _mm512_sub_pd,
    _mm512_mul_pd,
    _mm512_fnmadd_pd,
    _mm512_div_pd,
    |v| _mm512_cmp_pd_mask::<_CMP_UNORD_Q>(v, v) != 0
);
lane!(
    F32x16,
    __m512,
    f32,
    16,
    "Sixteen f32 in an AVX-512 register.",
    "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma",
    _mm512_set1_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_fnmadd_ps,
    _mm512_div_ps,
    |v| _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v) != 0
);
lane!(
    F64x4,
    __m256d,
    f64,
    4,
    "Four f64 in an AVX register.",
    "avx2,fma",
    _mm256_set1_pd,
    _mm256_add_pd,
    _mm256_sub_pd,
    _mm256_mul_pd,
    _mm256_fnmadd_pd,
    _mm256_div_pd,
    |v| _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_UNORD_Q>(v, v)) != 0
);
lane!(
    F32x8,
    __m256,
    f32,
    8,
    "Eight f32 in an AVX register.",
    "avx2,fma",
    _mm256_set1_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_fnmadd_ps,
    _mm256_div_ps,
    |v| _mm256_movemask_ps(_mm256_cmp_ps::<_CMP_UNORD_Q>(v, v)) != 0
);

/// Moves `len` columns in square tiles of `$n`; the last tile overlaps its neighbour instead of being cut. The loops are
/// functions of their own, compiled once.
macro_rules! tiles {
    ($s:ty, $n:literal, $w:literal, $features:literal, $tile:ident, past: $past:literal) => {
        unsafe fn interleave(from: *const $s, stride: usize, len: usize, to: *mut $s) {
            #[target_feature(enable = $features)]
            unsafe fn run(from: *const $s, stride: usize, len: usize, to: *mut $s) {
                for half in 0..$w / $n {
                    let mut j = 0;
                    while j < len {
                        let at = j.min(len - $n);
                        // What is asked for next: too many arrays for the hardware to guess.
                        for l in half * $n..half * $n + $n {
                            prefetch::<2, $s>(from.wrapping_add(l * stride + at + len));
                        }
                        // SAFETY: at + n <= len, and lanes half n .. half n + n < W.
                        unsafe {
                            $tile(
                                from.add(half * $n * stride + at),
                                stride,
                                to.add(at * $w + half * $n),
                                $w,
                                false,
                            );
                        }
                        j += $n;
                    }
                }
            }
            if len < $n {
                // SAFETY: the caller's promise, passed on.
                unsafe { interleave_short::<$s, $w>(from, stride, len, to) };
            } else {
                // SAFETY: the caller's promise, passed on; the instructions are there (see the module).
                unsafe { run(from, stride, len, to) };
            }
        }
        unsafe fn deinterleave(from: *const $s, len: usize, to: *mut $s, stride: usize, past: bool) {
            #[target_feature(enable = $features)]
            unsafe fn run(from: *const $s, len: usize, to: *mut $s, stride: usize, past: bool) {
                // A tile is as wide as a cache line, and all systems' lines begin alike.
                let past = past && $past && $n * size_of::<$s>() == 64 && stride.is_multiple_of($n);
                let head = if past { to.align_offset(64) } else { 0 };
                for half in 0..$w / $n {
                    let move_tile = |at: usize, past: bool| {
                        let to = to.wrapping_add(half * $n * stride + at);
                        // SAFETY: at + n <= len, and lanes half n .. half n + n < W; past the caches only whole lines go.
                        unsafe { $tile(from.add(at * $w + half * $n), $w, to, stride, past) };
                    };
                    if head > 0 {
                        move_tile(0, false);
                    }
                    let mut j = head;
                    while j + $n <= len {
                        move_tile(j, past);
                        j += $n;
                    }
                    if j < len {
                        move_tile(len - $n, false);
                    }
                }
            }
            if len < $n {
                // SAFETY: the caller's promise, passed on.
                unsafe { deinterleave_short::<$s, $w>(from, len, to, stride) };
            } else {
                // SAFETY: as in `interleave`.
                unsafe { run(from, len, to, stride, past) };
            }
        }
    };
}

/// Columns of numbers that lie system by system, four at a time: `$row` has the numbers at `$at` of one system, in further parts of
/// the register those of the fourth, eighth ... system behind it; `$transpose` brings the lanes of a number together.
macro_rules! columns {
    ($s:ty, |$at:ident, $stride:ident, $count:ident| $row:expr, $raw:ty, $transpose:ident) => {
        #[inline(always)]
        unsafe fn columns(from: *const $s, stride: usize, len: usize, to: &mut [Self]) {
            /// The first `$count` of four columns.
            #[inline(always)]
            unsafe fn quad(from: *const $s, $stride: usize, $count: usize) -> [$raw; 4] {
                // SAFETY: the caller has checked that these numbers can be read; the instructions are there (see the module).
                unsafe {
                    let mut $at = from;
                    let first = $row;
                    $at = $at.add($stride);
                    let second = $row;
                    $at = $at.add($stride);
                    let third = $row;
                    $at = $at.add($stride);
                    $transpose([first, second, third, $row])
                }
            }
            assert!(to.len() >= len, "room for the columns");
            let mut j = 0;
            while j + 4 <= len {
                // SAFETY: columns j .. j + 4 of each system can be read.
                let columns = unsafe { quad(from.add(j), stride, 4) };
                for k in 0..4 {
                    to[j + k] = Self(columns[k]);
                }
                j += 4;
            }
            if j < len {
                // SAFETY: as many columns as are left.
                let columns = unsafe { quad(from.add(j), stride, len - j) };
                for k in 0..3 {
                    if j + k < len {
                        to[j + k] = Self(columns[k]);
                    }
                }
            }
        }
    };
}

/// The first `count` of four numbers.
#[inline(always)]
unsafe fn four_f64(from: *const f64, count: usize) -> __m256d {
    // SAFETY: the caller promises that they can be read, and AVX2.
    unsafe {
        if count == 4 {
            return _mm256_loadu_pd(from);
        }
        let wanted = _mm256_cmpgt_epi64(_mm256_set1_epi64x(count as i64), _mm256_setr_epi64x(0, 1, 2, 3));
        _mm256_maskload_pd(from, wanted)
    }
}

/// The first `count` of four numbers.
#[inline(always)]
unsafe fn four_f32(from: *const f32, count: usize) -> __m128 {
    // SAFETY: the caller promises that they can be read, and AVX2.
    unsafe {
        if count == 4 {
            return _mm_loadu_ps(from);
        }
        let wanted = _mm_cmpgt_epi32(_mm_set1_epi32(count as i32), _mm_setr_epi32(0, 1, 2, 3));
        _mm_maskload_ps(from, wanted)
    }
}

/// Four columns from rows l (lower half) and l + 4.
#[inline(always)]
unsafe fn transpose_f64x8(r: [__m512d; 4]) -> [__m512d; 4] {
    // SAFETY: the caller promises AVX-512.
    unsafe {
        let (a, b) = (_mm512_unpacklo_pd(r[0], r[1]), _mm512_unpackhi_pd(r[0], r[1]));
        let (c, d) = (_mm512_unpacklo_pd(r[2], r[3]), _mm512_unpackhi_pd(r[2], r[3]));
        let low = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
        let high = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
        [
            _mm512_permutex2var_pd(a, low, c),
            _mm512_permutex2var_pd(b, low, d),
            _mm512_permutex2var_pd(a, high, c),
            _mm512_permutex2var_pd(b, high, d),
        ]
    }
}

/// Four columns from four rows.
#[inline(always)]
unsafe fn transpose_f64x4(r: [__m256d; 4]) -> [__m256d; 4] {
    // SAFETY: the caller promises AVX2.
    unsafe {
        let (a, b) = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
        let (c, d) = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
        [
            _mm256_permute2f128_pd::<0x20>(a, c),
            _mm256_permute2f128_pd::<0x20>(b, d),
            _mm256_permute2f128_pd::<0x31>(a, c),
            _mm256_permute2f128_pd::<0x31>(b, d),
        ]
    }
}

/// Four columns from rows l, l + 4, l + 8, l + 12 in the quarters.
#[inline(always)]
unsafe fn transpose_f32x16(r: [__m512; 4]) -> [__m512; 4] {
    // SAFETY: the caller promises AVX-512.
    unsafe {
        let (a, b) = (_mm512_unpacklo_ps(r[0], r[1]), _mm512_unpackhi_ps(r[0], r[1]));
        let (c, d) = (_mm512_unpacklo_ps(r[2], r[3]), _mm512_unpackhi_ps(r[2], r[3]));
        [
            _mm512_shuffle_ps::<0x44>(a, c),
            _mm512_shuffle_ps::<0xee>(a, c),
            _mm512_shuffle_ps::<0x44>(b, d),
            _mm512_shuffle_ps::<0xee>(b, d),
        ]
    }
}

/// Four columns from rows l (lower half) and l + 4.
#[inline(always)]
unsafe fn transpose_f32x8(r: [__m256; 4]) -> [__m256; 4] {
    // SAFETY: the caller promises AVX2.
    unsafe {
        let (a, b) = (_mm256_unpacklo_ps(r[0], r[1]), _mm256_unpackhi_ps(r[0], r[1]));
        let (c, d) = (_mm256_unpacklo_ps(r[2], r[3]), _mm256_unpackhi_ps(r[2], r[3]));
        [
            _mm256_shuffle_ps::<0x44>(a, c),
            _mm256_shuffle_ps::<0xee>(a, c),
            _mm256_shuffle_ps::<0x44>(b, d),
            _mm256_shuffle_ps::<0xee>(b, d),
        ]
    }
}

unsafe fn interleave_short<S: Copy, const W: usize>(from: *const S, stride: usize, len: usize, to: *mut S) {
    for l in 0..W {
        for j in 0..len {
            // SAFETY: l < W, j < len, as the caller of `interleave` promises.
            unsafe { *to.add(j * W + l) = *from.add(l * stride + j) };
        }
    }
}

unsafe fn deinterleave_short<S: Copy, const W: usize>(from: *const S, len: usize, to: *mut S, stride: usize) {
    for l in 0..W {
        for j in 0..len {
            // SAFETY: l < W, j < len, as the caller of `deinterleave` promises.
            unsafe { *to.add(l * stride + j) = *from.add(j * W + l) };
        }
    }
}

/// Transposes an 8 x 8 tile of f64, past the caches where `to` and `cols` are multiples of a cache line and it is asked for.
#[inline]
#[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
unsafe fn tile8_f64(from: *const f64, rows: usize, to: *mut f64, cols: usize, past: bool) {
    // SAFETY: the caller promises 8 readable values at each of 8 multiples of `rows`, 8 writable ones at each of 8
    // multiples of `cols`, and AVX-512.
    unsafe {
        let r: [__m512d; 8] = std::array::from_fn(|i| _mm512_loadu_pd(from.add(i * rows)));
        let even: [__m512d; 4] = std::array::from_fn(|i| _mm512_unpacklo_pd(r[2 * i], r[2 * i + 1]));
        let odd: [__m512d; 4] = std::array::from_fn(|i| _mm512_unpackhi_pd(r[2 * i], r[2 * i + 1]));
        for (parity, t) in [even, odd].into_iter().enumerate() {
            let (a, b) = (_mm512_shuffle_f64x2::<0x88>(t[0], t[1]), _mm512_shuffle_f64x2::<0x88>(t[2], t[3]));
            let (c, d) = (_mm512_shuffle_f64x2::<0xdd>(t[0], t[1]), _mm512_shuffle_f64x2::<0xdd>(t[2], t[3]));
            for (column, values) in [
                (parity, _mm512_shuffle_f64x2::<0x88>(a, b)),
                (parity + 4, _mm512_shuffle_f64x2::<0xdd>(a, b)),
                (parity + 2, _mm512_shuffle_f64x2::<0x88>(c, d)),
                (parity + 6, _mm512_shuffle_f64x2::<0xdd>(c, d)),
            ] {
                if past {
                    _mm512_stream_pd(to.add(column * cols), values);
                } else {
                    _mm512_storeu_pd(to.add(column * cols), values);
                }
            }
        }
    }
}

/// Transposes a 4 x 4 tile of f64.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn tile4_f64(from: *const f64, rows: usize, to: *mut f64, cols: usize, _past: bool) {
    // SAFETY: as `tile8_f64`, with 4 for 8 and AVX2 for AVX-512.
    unsafe {
        let r: [__m256d; 4] = std::array::from_fn(|i| _mm256_loadu_pd(from.add(i * rows)));
        let (a, b) = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
        let (c, d) = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
        _mm256_storeu_pd(to, _mm256_permute2f128_pd::<0x20>(a, c));
        _mm256_storeu_pd(to.add(cols), _mm256_permute2f128_pd::<0x20>(b, d));
        _mm256_storeu_pd(to.add(2 * cols), _mm256_permute2f128_pd::<0x31>(a, c));
        _mm256_storeu_pd(to.add(3 * cols), _mm256_permute2f128_pd::<0x31>(b, d));
    }
}

/// Transposes an 8 x 8 tile of f32.
#[inline]
#[target_feature(enable = "avx2,fma")]
unsafe fn tile8_f32(from: *const f32, rows: usize, to: *mut f32, cols: usize, _past: bool) {
    // SAFETY: as `tile8_f64`, with AVX2 for AVX-512.
    unsafe {
        let r: [__m256; 8] = std::array::from_fn(|i| _mm256_loadu_ps(from.add(i * rows)));
        // Pairs, quadruples, halves.
        let lo: [__m256; 4] = std::array::from_fn(|i| _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]));
        let hi: [__m256; 4] = std::array::from_fn(|i| _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]));
        for (high, t) in [lo, hi].into_iter().enumerate() {
            for (second, (a, b)) in [
                (_mm256_shuffle_ps::<0x44>(t[0], t[1]), _mm256_shuffle_ps::<0x44>(t[2], t[3])),
                (_mm256_shuffle_ps::<0xee>(t[0], t[1]), _mm256_shuffle_ps::<0xee>(t[2], t[3])),
            ]
            .into_iter()
            .enumerate()
            {
                let column = 2 * high + second;
                _mm256_storeu_ps(to.add(column * cols), _mm256_permute2f128_ps::<0x20>(a, b));
                _mm256_storeu_ps(to.add((column + 4) * cols), _mm256_permute2f128_ps::<0x31>(a, b));
            }
        }
    }
}

impl LaneIo<f64> for F64x8 {
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises W readable values.
        Self(unsafe { _mm512_loadu_pd(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises W writable values.
        unsafe { _mm512_storeu_pd(to, self.0) }
    }
    const PAST_CACHES: bool = true;
    #[inline(always)]
    unsafe fn store_past(self, to: *mut f64) {
        // SAFETY: the caller promises W writable values, aligned.
        unsafe { _mm512_stream_pd(to, self.0) }
    }
    tiles!(f64, 8, 8, "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma", tile8_f64, past: true);
    columns!(
        f64,
        |at, stride, n| _mm512_insertf64x4::<1>(
            _mm512_castpd256_pd512(four_f64(at, n)),
            four_f64(at.add(4 * stride), n)
        ),
        __m512d,
        transpose_f64x8
    );
}

impl LaneIo<f32> for F64x8 {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises W readable values.
        Self(unsafe { _mm512_cvtps_pd(_mm256_loadu_ps(from)) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises W writable values.
        unsafe { _mm256_storeu_ps(to, _mm512_cvtpd_ps(self.0)) }
    }
    tiles!(f32, 8, 8, "avx2,fma", tile8_f32, past: false);
    columns!(
        f32,
        |at, stride, n| _mm512_insertf64x4::<1>(
            _mm512_castpd256_pd512(_mm256_cvtps_pd(four_f32(at, n))),
            _mm256_cvtps_pd(four_f32(at.add(4 * stride), n))
        ),
        __m512d,
        transpose_f64x8
    );
}

impl LaneIo<f32> for F32x16 {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises W readable values.
        Self(unsafe { _mm512_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises W writable values.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    const PAST_CACHES: bool = true;
    #[inline(always)]
    unsafe fn store_past(self, to: *mut f32) {
        // SAFETY: the caller promises W writable values, aligned.
        unsafe { _mm512_stream_ps(to, self.0) }
    }
    tiles!(f32, 8, 16, "avx2,fma", tile8_f32, past: false);
    columns!(
        f32,
        |at, stride, n| {
            let first = _mm512_castps128_ps512(four_f32(at, n));
            let two = _mm512_insertf32x4::<1>(first, four_f32(at.add(4 * stride), n));
            let three = _mm512_insertf32x4::<2>(two, four_f32(at.add(8 * stride), n));
            _mm512_insertf32x4::<3>(three, four_f32(at.add(12 * stride), n))
        },
        __m512,
        transpose_f32x16
    );
}

impl LaneIo<f64> for F64x4 {
    #[inline(always)]
    unsafe fn load(from: *const f64) -> Self {
        // SAFETY: the caller promises W readable values.
        Self(unsafe { _mm256_loadu_pd(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f64) {
        // SAFETY: the caller promises W writable values.
        unsafe { _mm256_storeu_pd(to, self.0) }
    }
    tiles!(f64, 4, 4, "avx2,fma", tile4_f64, past: false);
    columns!(f64, |at, stride, n| four_f64(at, n), __m256d, transpose_f64x4);
}

impl LaneIo<f32> for F64x4 {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises W readable values.
        Self(unsafe { _mm256_cvtps_pd(_mm_loadu_ps(from)) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises W writable values.
        unsafe { _mm_storeu_ps(to, _mm256_cvtpd_ps(self.0)) }
    }
    columns!(f32, |at, stride, n| _mm256_cvtps_pd(four_f32(at, n)), __m256d, transpose_f64x4);
}

impl LaneIo<f32> for F32x8 {
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller promises W readable values.
        Self(unsafe { _mm256_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller promises W writable values.
        unsafe { _mm256_storeu_ps(to, self.0) }
    }
    tiles!(f32, 8, 8, "avx2,fma", tile8_f32, past: false);
    columns!(
        f32,
        |at, stride, n| _mm256_insertf128_ps::<1>(
            _mm256_castps128_ps256(four_f32(at, n)),
            four_f32(at.add(4 * stride), n)
        ),
        __m256,
        transpose_f32x8
    );
}
