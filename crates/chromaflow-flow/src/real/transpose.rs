#![allow(unsafe_code)]
//! Records in memory to lanes and back: squares of values turned over inside the registers.
//!
//! Every `unsafe` below rests on the lane types, whose values exist only where their instructions do (see
//! [`super::x86`]), and on references to the records that are read or written. All is unrolled by hand, square by
//! square: arrays of registers that a loop runs over would live in memory.

use super::LANES;
use super::x86::{Avx2, Avx512};
use std::arch::x86_64::{
    __m256d, __m512d, _mm_load_sd, _mm_loadu_pd, _mm_store_sd, _mm_storeu_pd, _mm_storeu_ps, _mm256_add_pd,
    _mm256_castpd256_pd128, _mm256_cvtpd_ps, _mm256_extractf128_pd, _mm256_hadd_pd, _mm256_loadu_pd,
    _mm256_permute2f128_pd, _mm256_set_m128d, _mm256_setzero_pd, _mm256_storeu_pd, _mm256_storeu_ps,
    _mm256_unpackhi_pd, _mm256_unpacklo_pd, _mm256_zextpd128_pd256, _mm512_add_pd, _mm512_castpd512_pd256,
    _mm512_cvtpd_ps, _mm512_extractf64x4_pd, _mm512_insertf64x4, _mm512_loadu_pd, _mm512_setzero_pd,
    _mm512_shuffle_f64x2, _mm512_storeu_pd, _mm512_unpackhi_pd, _mm512_unpacklo_pd, _mm512_zextpd256_pd512,
};

/// The longest record.
const LONGEST: usize = 32;

/// Calls a function for the first value of each square of a record: `$f::<FIRST, N>(args)`.
macro_rules! squares {
    ($side:literal: $f:ident, $n:ident, $args:tt) => {
        const { assert!($n <= LONGEST) };
        squares!(@ $f, $n, $args, [$side] 0 1 2 3 4 5 6 7);
    };
    (@ $f:ident, $n:ident, $args:tt, [$side:literal] $($i:literal)*) => {
        $( squares!(@@ $f, $n, $args, $side, $i); )*
    };
    (@@ $f:ident, $n:ident, ($($arg:expr),*), $side:literal, $i:literal) => {
        if $side * $i < $n {
            // The minimum keeps the squares that are not there within the types.
            $f::<{ $side * $i }, $n>($($arg),*);
        }
    };
}

/// Component `k` of vector `l` becomes component `l` of vector `k`.
#[inline(always)]
fn turn8(v: [__m512d; 8]) -> [__m512d; 8] {
    // SAFETY: AVX-512 is there, see the module.
    unsafe {
        let a = [_mm512_unpacklo_pd(v[0], v[1]), _mm512_unpackhi_pd(v[0], v[1])];
        let b = [_mm512_unpacklo_pd(v[2], v[3]), _mm512_unpackhi_pd(v[2], v[3])];
        let c = [_mm512_unpacklo_pd(v[4], v[5]), _mm512_unpackhi_pd(v[4], v[5])];
        let d = [_mm512_unpacklo_pd(v[6], v[7]), _mm512_unpackhi_pd(v[6], v[7])];
        let mut out = v;
        for j in 0..2 {
            let low = _mm512_shuffle_f64x2::<0x88>(a[j], b[j]);
            let high = _mm512_shuffle_f64x2::<0x88>(c[j], d[j]);
            out[j] = _mm512_shuffle_f64x2::<0x88>(low, high);
            out[4 + j] = _mm512_shuffle_f64x2::<0xdd>(low, high);
            let low = _mm512_shuffle_f64x2::<0xdd>(a[j], b[j]);
            let high = _mm512_shuffle_f64x2::<0xdd>(c[j], d[j]);
            out[2 + j] = _mm512_shuffle_f64x2::<0x88>(low, high);
            out[6 + j] = _mm512_shuffle_f64x2::<0xdd>(low, high);
        }
        out
    }
}

/// As [`turn8`], of four by four.
#[inline(always)]
fn turn4(v: [__m256d; 4]) -> [__m256d; 4] {
    // SAFETY: AVX2 is there, see the module.
    unsafe {
        let (a, b) = (_mm256_unpacklo_pd(v[0], v[1]), _mm256_unpackhi_pd(v[0], v[1]));
        let (c, d) = (_mm256_unpacklo_pd(v[2], v[3]), _mm256_unpackhi_pd(v[2], v[3]));
        [
            _mm256_permute2f128_pd::<0x20>(a, c),
            _mm256_permute2f128_pd::<0x20>(b, d),
            _mm256_permute2f128_pd::<0x31>(a, c),
            _mm256_permute2f128_pd::<0x31>(b, d),
        ]
    }
}

/// The first `count` (at most four) values, read one by one or by twos: masked loads are slow where they touch another
/// cache line, be it with lanes that are left out.
///
/// # Safety
/// AVX2 is there, and so are `count` values.
#[inline(always)]
unsafe fn load_up_to_4(count: usize, from: *const f64) -> __m256d {
    // SAFETY: as said above.
    unsafe {
        match count {
            0 => _mm256_setzero_pd(),
            1 => _mm256_zextpd128_pd256(_mm_load_sd(from)),
            2 => _mm256_zextpd128_pd256(_mm_loadu_pd(from)),
            3 => _mm256_set_m128d(_mm_load_sd(from.add(2)), _mm_loadu_pd(from)),
            _ => _mm256_loadu_pd(from),
        }
    }
}

/// The way back.
///
/// # Safety
/// AVX2 is there, and so is room for `count` values.
#[inline(always)]
unsafe fn store_up_to_4(count: usize, to: *mut f64, v: __m256d) {
    // SAFETY: as said above.
    unsafe {
        match count {
            0 => {}
            1 => _mm_store_sd(to, _mm256_castpd256_pd128(v)),
            2 => _mm_storeu_pd(to, _mm256_castpd256_pd128(v)),
            3 => {
                _mm_storeu_pd(to, _mm256_castpd256_pd128(v));
                _mm_store_sd(to.add(2), _mm256_extractf128_pd::<1>(v));
            }
            _ => _mm256_storeu_pd(to, v),
        }
    }
}

/// As [`load_up_to_4`], of up to eight values.
///
/// # Safety
/// AVX-512 is there, and so are `count` values.
#[inline(always)]
unsafe fn load_up_to_8(count: usize, from: *const f64) -> __m512d {
    // SAFETY: as said above.
    unsafe {
        if count >= 8 {
            return _mm512_loadu_pd(from);
        }
        let low = _mm512_zextpd256_pd512(load_up_to_4(count, from));
        if count <= 4 {
            return low;
        }
        _mm512_insertf64x4::<1>(low, load_up_to_4(count - 4, from.add(4)))
    }
}

/// As [`store_up_to_4`], of up to eight values.
///
/// # Safety
/// AVX-512 is there, and so is room for `count` values.
#[inline(always)]
unsafe fn store_up_to_8(count: usize, to: *mut f64, v: __m512d) {
    // SAFETY: as said above.
    unsafe {
        if count >= 8 {
            return _mm512_storeu_pd(to, v);
        }
        store_up_to_4(count, to, _mm512_castpd512_pd256(v));
        if count > 4 {
            store_up_to_4(count - 4, to.add(4), _mm512_extractf64x4_pd::<1>(v));
        }
    }
}

/// Up to eight registers from `FIRST` on, the rest of no use.
#[inline(always)]
fn some8<const FIRST: usize, const N: usize>(lanes: &[Avx512; N]) -> [__m512d; 8] {
    // SAFETY: AVX-512 is there, see the module.
    let mut v = [unsafe { _mm512_setzero_pd() }; 8];
    for k in 0..8 {
        if FIRST + k < N {
            v[k] = lanes[FIRST + k].0;
        }
    }
    v
}

/// As [`some8`], four pairs: the lower halves, the upper ones.
#[inline(always)]
fn some4<const FIRST: usize, const N: usize>(lanes: &[Avx2; N]) -> ([__m256d; 4], [__m256d; 4]) {
    // SAFETY: AVX2 is there, see the module.
    let zero = [unsafe { _mm256_setzero_pd() }; 4];
    let (mut low, mut high) = (zero, zero);
    for k in 0..4 {
        if FIRST + k < N {
            (low[k], high[k]) = (lanes[FIRST + k].0, lanes[FIRST + k].1);
        }
    }
    (low, high)
}

/// Lane `l` of vector `k` is `records[l][k]`.
#[inline(always)]
pub fn gather8<const N: usize>(records: &[&[f64; N]; LANES]) -> [Avx512; N] {
    #[inline(always)]
    fn square<const FIRST: usize, const N: usize>(records: &[&[f64; N]; LANES], out: &mut [Avx512; N]) {
        // SAFETY: AVX-512 is there; what is read lies within the N values of each record.
        unsafe {
            let mut rows = [_mm512_setzero_pd(); 8];
            for l in 0..LANES {
                let from = records[l].as_ptr().add(FIRST);
                rows[l] = load_up_to_8(N.saturating_sub(FIRST), from);
            }
            let turned = turn8(rows);
            for k in 0..8 {
                if FIRST + k < N {
                    out[FIRST + k] = Avx512(turned[k]);
                }
            }
        }
    }
    // SAFETY: AVX-512 is there, see the module.
    let mut out = [Avx512(unsafe { _mm512_setzero_pd() }); N];
    squares!(8: square, N, (records, &mut out));
    out
}

/// Writes lane `l` of vector `k` to `out[l][k]`, for as many lanes as there are records.
#[inline(always)]
pub fn scatter8<const N: usize>(lanes: &[Avx512; N], out: &mut [[f64; N]]) {
    #[inline(always)]
    fn square<const FIRST: usize, const N: usize>(lanes: &[Avx512; N], out: &mut [[f64; N]]) {
        let rows = turn8(some8::<FIRST, N>(lanes));
        for l in 0..LANES {
            let Some(record) = out.get_mut(l) else { break };
            // SAFETY: AVX-512 is there; what is written lies within the N values of the record.
            unsafe { store_up_to_8(N.saturating_sub(FIRST), record.as_mut_ptr().add(FIRST), rows[l]) };
        }
    }
    squares!(8: square, N, (lanes, out));
}

/// As [`scatter8`], rounded to f32. Values beyond a multiple of eight go one by one.
#[inline(always)]
pub fn scatter8_single<const N: usize>(lanes: &[Avx512; N], out: &mut [[f32; N]]) {
    #[inline(always)]
    fn square<const FIRST: usize, const N: usize>(lanes: &[Avx512; N], out: &mut [[f32; N]]) {
        if FIRST + 8 > N {
            return;
        }
        let rows = turn8(some8::<FIRST, N>(lanes));
        for l in 0..LANES {
            let Some(record) = out.get_mut(l) else { break };
            // SAFETY: AVX-512 is there; eight values from FIRST on lie within the record.
            unsafe { _mm256_storeu_ps(record.as_mut_ptr().add(FIRST), _mm512_cvtpd_ps(rows[l])) };
        }
    }
    squares!(8: square, N, (lanes, out));
    for k in N / 8 * 8..N {
        let mut column = [0.0_f32; LANES];
        // SAFETY: AVX-512 is there; the column has eight values.
        unsafe { _mm256_storeu_ps(column.as_mut_ptr(), _mm512_cvtpd_ps(lanes[k].0)) };
        for l in 0..LANES {
            let Some(record) = out.get_mut(l) else { break };
            record[k] = column[l];
        }
    }
}

/// Sums over the lanes of each vector, `((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))`.
#[inline(always)]
pub fn totals8<const N: usize>(lanes: &[Avx512; N]) -> [f64; N] {
    #[inline(always)]
    fn twos(a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: AVX-512 is there, see the module.
        unsafe { _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b)) }
    }
    #[inline(always)]
    fn halves(a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: AVX-512 is there, see the module.
        unsafe { _mm512_add_pd(_mm512_shuffle_f64x2::<0x88>(a, b), _mm512_shuffle_f64x2::<0xdd>(a, b)) }
    }
    #[inline(always)]
    fn square<const FIRST: usize, const N: usize>(lanes: &[Avx512; N], out: &mut [f64; N]) {
        let v = some8::<FIRST, N>(lanes);
        let low = halves(twos(v[0], v[1]), twos(v[2], v[3]));
        let high = halves(twos(v[4], v[5]), twos(v[6], v[7]));
        // SAFETY: AVX-512 is there; what is written lies within `out`.
        unsafe { store_up_to_8(N.saturating_sub(FIRST), out.as_mut_ptr().add(FIRST), halves(low, high)) };
    }
    let mut out = [0.0; N];
    squares!(8: square, N, (lanes, &mut out));
    out
}

/// As [`gather8`], in two halves of four lanes.
#[inline(always)]
pub fn gather4<const N: usize>(records: &[&[f64; N]; LANES]) -> [Avx2; N] {
    #[inline(always)]
    fn square<const FIRST: usize, const N: usize>(records: &[&[f64; N]; LANES], out: &mut [Avx2; N]) {
        // SAFETY: AVX2 is there; what is read lies within the N values of each record.
        unsafe {
            let mut rows = [_mm256_setzero_pd(); LANES];
            for l in 0..LANES {
                rows[l] = load_up_to_4(N.saturating_sub(FIRST), records[l].as_ptr().add(FIRST));
            }
            let low = turn4([rows[0], rows[1], rows[2], rows[3]]);
            let high = turn4([rows[4], rows[5], rows[6], rows[7]]);
            for k in 0..4 {
                if FIRST + k < N {
                    out[FIRST + k] = Avx2(low[k], high[k]);
                }
            }
        }
    }
    // SAFETY: AVX2 is there, see the module.
    let zero = unsafe { _mm256_setzero_pd() };
    let mut out = [Avx2(zero, zero); N];
    squares!(4: square, N, (records, &mut out));
    out
}

macro_rules! scatter4 {
    ($name:ident, $like:literal, $type:ty, $store:expr) => {
        #[doc = $like]
        #[inline(always)]
        pub fn $name<const N: usize>(lanes: &[Avx2; N], out: &mut [[$type; N]]) {
            #[inline(always)]
            fn square<const FIRST: usize, const N: usize>(lanes: &[Avx2; N], out: &mut [[$type; N]]) {
                if FIRST + 4 > N {
                    return;
                }
                let (low, high) = some4::<FIRST, N>(lanes);
                let (low, high) = (turn4(low), turn4(high));
                for l in 0..LANES {
                    let Some(record) = out.get_mut(l) else { break };
                    let row = if l < 4 { low[l % 4] } else { high[l % 4] };
                    // SAFETY: AVX2 is there; four values from FIRST on lie within the record.
                    unsafe { $store(record.as_mut_ptr().add(FIRST), row) };
                }
            }
            squares!(4: square, N, (lanes, out));
            for k in N / 4 * 4..N {
                let mut column = [0.0; LANES];
                // SAFETY: AVX2 is there; the column has eight values.
                unsafe {
                    _mm256_storeu_pd(column.as_mut_ptr(), lanes[k].0);
                    _mm256_storeu_pd(column.as_mut_ptr().add(4), lanes[k].1);
                }
                for l in 0..LANES {
                    let Some(record) = out.get_mut(l) else { break };
                    record[k] = column[l] as $type;
                }
            }
        }
    };
}
scatter4!(scatter4, "As [`scatter8`], from two halves of four lanes.", f64, _mm256_storeu_pd);
scatter4!(scatter4_single, "As [`scatter8_single`], from two halves of four lanes.", f32, store_single);

/// Four values rounded to f32.
///
/// # Safety
/// AVX2 is there, and `to` has room for four values.
#[inline(always)]
unsafe fn store_single(to: *mut f32, row: __m256d) {
    // SAFETY: as said above.
    unsafe { _mm_storeu_ps(to, _mm256_cvtpd_ps(row)) }
}

/// As [`totals8`], of two halves of four lanes.
#[inline(always)]
pub fn totals4<const N: usize>(lanes: &[Avx2; N]) -> [f64; N] {
    /// The sums `(0 + 1) + (2 + 3)` of four vectors.
    #[inline(always)]
    fn sums(v: [__m256d; 4]) -> __m256d {
        // SAFETY: AVX2 is there, see the module.
        unsafe {
            let (a, b) = (_mm256_hadd_pd(v[0], v[1]), _mm256_hadd_pd(v[2], v[3]));
            _mm256_add_pd(_mm256_permute2f128_pd::<0x20>(a, b), _mm256_permute2f128_pd::<0x31>(a, b))
        }
    }
    #[inline(always)]
    fn square<const FIRST: usize, const N: usize>(lanes: &[Avx2; N], out: &mut [f64; N]) {
        let (low, high) = some4::<FIRST, N>(lanes);
        // SAFETY: AVX2 is there; what is written lies within `out`.
        unsafe {
            let sums = _mm256_add_pd(sums(low), sums(high));
            store_up_to_4(N.saturating_sub(FIRST), out.as_mut_ptr().add(FIRST), sums);
        }
    }
    let mut out = [0.0; N];
    squares!(4: square, N, (lanes, &mut out));
    out
}
