#![allow(unsafe_code)]
//! What a vector is beyond a [`Real`]: its lanes, its way to and from memory, fused arithmetic.

use crate::{Mask, Real, Simd};
use bytemuck::Zeroable;

/// A number that fills a lane: f32 or f64.
pub trait Elem: Real + Into<f64> + PartialOrd + Default + Zeroable + Send + Sync + 'static {
    /// Distance from 1 to the next number.
    const EPSILON: f64;
    /// The nearest number.
    #[inline(always)]
    fn from_f64(value: f64) -> Self {
        Self::c(value)
    }
    /// The same number, wider.
    #[inline(always)]
    fn to_f64(self) -> f64 {
        self.into()
    }
}
impl Elem for f32 {
    const EPSILON: f64 = f32::EPSILON as f64;
}
impl Elem for f64 {
    const EPSILON: f64 = f64::EPSILON;
}

/// A comparison of lanes as bits.
pub trait Bits: Mask {
    /// Bit l for lane l; those beyond the lanes are zero.
    fn bits(self) -> u32;
}

/// One vector of `LANES` values.
///
/// Values of the types that stand for registers come to be inside [`dispatch`](crate::dispatch()) only, which is what their
/// arithmetic rests on.
pub trait Vector: Real<Mask: Bits> + Send + Sync + 'static {
    /// A lane.
    type Elem: Elem;
    /// Four lanes of the same kind.
    type Four: Four<Elem = Self::Elem>;
    /// The instruction set.
    type Set: Simd;
    /// How many lanes there are: a multiple of four, but in plain arrays.
    const LANES: usize;

    /// The same value in every lane.
    fn splat(value: Self::Elem) -> Self;
    /// The first `n` lanes, or all.
    fn first(n: usize) -> Self::Mask;
    /// Lane `l` from lane `from[l]`.
    fn permute(self, from: &[u8; 16]) -> Self;
    /// `self * factor + sum`, fused where the instruction set has it.
    fn mul_add(self, factor: Self, sum: Self) -> Self;
    /// `self - a b`, fused where the instruction set has it.
    fn sub_mul(self, a: Self, b: Self) -> Self;
    /// `self * factor + sum` in the lanes of `mask`, `sum` in the others whatever `self` has there.
    fn mul_add_first(self, factor: Self, sum: Self, mask: Self::Mask) -> Self;
    /// 1 / self.
    #[inline(always)]
    fn recip(self) -> Self {
        Self::c(1.0) / self
    }
    /// True if any lane is NaN.
    #[inline(always)]
    fn any_nan(self) -> bool {
        self.le(self).bits() != Self::first(Self::LANES).bits()
    }

    /// The lanes of `mask`, zero in the others; no other memory is touched.
    ///
    /// # Safety
    /// `from` must be valid for reading the lanes of `mask`.
    unsafe fn load_first(from: *const Self::Elem, mask: Self::Mask) -> Self;
    /// Stores the lanes of `mask`; no other memory is touched.
    ///
    /// # Safety
    /// `to` must be valid for writing the lanes of `mask`.
    unsafe fn store_first(self, to: *mut Self::Elem, mask: Self::Mask);

    /// Numbers 4 p to 4 p + 3 from part p, for the parts that there are lanes for.
    fn join(parts: [Self::Four; 4]) -> Self;
    /// Each four lanes of four vectors turned over: lane 4 p + r of vector k from lane 4 p + k of vector r.
    fn turn_fours(rows: [Self; 4]) -> [Self; 4];
}

/// A vector that reads and writes values as its lanes are.
pub trait Native: Vector + Load<<Self as Vector>::Elem> + Store<<Self as Vector>::Elem> {}
impl<V: Vector + Load<<V as Vector>::Elem> + Store<<V as Vector>::Elem>> Native for V {}

/// Vectors of which as many as they have lanes, at most eight, are a square.
pub trait Turn: Native {
    /// Exchanges rows and columns of the square that the first `LANES` of `rows` are.
    fn turn(rows: &mut [Self; 8]);
}

/// Loads `LANES` values, or four, stored as `T`, converted to lanes.
pub trait Load<T>: Vector {
    /// Reads `LANES` consecutive values, aligned as a `T` is or not at all.
    ///
    /// # Safety
    /// `from` must be valid for reading them.
    unsafe fn load(from: *const T) -> Self;
    /// Reads four.
    ///
    /// # Safety
    /// `from` must be valid for reading them.
    unsafe fn load_four(from: *const T) -> Self::Four;
}

/// Stores `LANES` values as `T`, rounded to the nearest, ties to even; those beyond its range become infinite.
pub trait Store<T>: Vector {
    /// Writes `LANES` consecutive values, aligned as a `T` is or not at all.
    ///
    /// # Safety
    /// `to` must be valid for writing them.
    unsafe fn store(self, to: *mut T);

    /// Whether [`Store::store_past`] is more than a store.
    const PAST_CACHES: bool = false;

    /// Writes `LANES` consecutive values past the caches; a thread's last such store is followed by [`flush`].
    ///
    /// # Safety
    /// As [`Store::store`]; `to` must be aligned to a cache line of 64 bytes.
    #[inline(always)]
    unsafe fn store_past(self, to: *mut T) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.store(to) };
    }
}

/// Four lanes that are put together entry by entry: on many processors faster than an instruction that gathers.
pub trait Four: Copy {
    /// A lane.
    type Elem;
    /// Zeros.
    fn zero() -> Self;
    /// The entries of `from` at the first `N` indices, zero in the other lanes.
    ///
    /// # Safety
    /// `at` must be valid for reading `N` indices, at most four, and `from` for the entries that they name.
    unsafe fn gather<const N: usize>(from: *const Self::Elem, at: *const u32) -> Self;
    /// The first `N` lanes, zero in the others.
    fn keep<const N: usize>(self) -> Self;
    /// `self + other`.
    fn plus(self, other: Self) -> Self;
    /// `self * factor + sum`.
    fn mul_add(self, factor: Self, sum: Self) -> Self;
    /// Lane 0.
    fn first(self) -> Self::Elem;
    /// The sum of all lanes, `(0 + 2) + (1 + 3)`.
    fn total(self) -> Self::Elem;
}

/// Makes stores past the caches visible to other threads, as ordinary ones are.
pub fn flush() {
    #[cfg(target_arch = "x86_64")]
    crate::x86::flush();
}
