#![allow(unsafe_code)]
//! Vectors of floating-point lanes, one implementation an instruction set.
//!
//! Kernels are written once over [`Simd`] and compiled for each set: [`dispatch`] calls them inside a function that has
//! the set's features enabled, and everything below is `inline(always)`, so that it is compiled with them too.

mod portable;
#[cfg(target_arch = "x86_64")]
mod x86;

pub(crate) use portable::narrow as narrow_to_f16;

use bytemuck::Zeroable;
use chromaflow_device::Isa;
use std::ops::{Add, Mul};

/// One vector of `LANES` values.
///
/// # Safety
/// Every method needs the instruction set of its type, which [`dispatch`] makes sure of. Loads and stores touch
/// `LANES` values at the pointer, the masked ones only the lanes of their mask.
pub(crate) trait Vector: Copy {
    /// A lane.
    type Elem: Copy + Into<f64> + Add<Output = Self::Elem> + Mul<Output = Self::Elem> + Zeroable;
    /// Where each lane of a permutation comes from.
    type Index: Copy;
    /// A choice of lanes.
    type Mask: Copy;
    /// Four lanes of the same kind.
    type Four: Four<Elem = Self::Elem>;
    const LANES: usize;

    unsafe fn zero() -> Self;
    unsafe fn splat(value: Self::Elem) -> Self;
    /// The first `n` lanes.
    unsafe fn first(n: usize) -> Self::Mask;
    /// Lane `l` from lane `from[l]`.
    unsafe fn index(from: &[u8; 16]) -> Self::Index;
    unsafe fn permute(self, index: Self::Index) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// `self * factor + sum`.
    unsafe fn mul_add(self, factor: Self, sum: Self) -> Self;
    /// `self * factor + sum` in the lanes of `mask`, `sum` in the others whatever `self` has there.
    unsafe fn mul_add_first(self, factor: Self, sum: Self, mask: Self::Mask) -> Self;
    /// The lanes of `mask`, zero in the others; no other memory is touched.
    unsafe fn load_first(from: *const Self::Elem, mask: Self::Mask) -> Self;
    unsafe fn store(self, to: *mut Self::Elem);
}

/// Loads `LANES` values, or four, stored as `T`, converted to lanes.
pub(crate) trait Load<T>: Vector {
    unsafe fn load(from: *const T) -> Self;
    unsafe fn load_four(from: *const T) -> Self::Four;
}

/// Four lanes that are put together entry by entry: on many processors faster than an instruction that gathers.
///
/// # Safety
/// As [`Vector`]; gathers read `N` indices, at most four, and the entries that they name.
pub(crate) trait Four: Copy {
    /// A lane.
    type Elem;
    unsafe fn zero() -> Self;
    /// The entries of `from` at the first `N` indices, zero in the other lanes.
    unsafe fn gather<const N: usize>(from: *const Self::Elem, at: *const u32) -> Self;
    /// The first `N` lanes, zero in the others.
    unsafe fn keep<const N: usize>(self) -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// `self * factor + sum`.
    unsafe fn mul_add(self, factor: Self, sum: Self) -> Self;
    unsafe fn first(self) -> Self::Elem;
    /// The sum of all lanes.
    unsafe fn total(self) -> Self::Elem;
}

/// What rounding f32 to f16 needs beyond [`Vector`].
///
/// # Safety
/// As [`Vector`].
pub(crate) trait Narrow: Vector<Elem = f32> {
    unsafe fn sub(self, other: Self) -> Self;
    unsafe fn div(self, other: Self) -> Self;
    unsafe fn abs(self) -> Self;
    /// The larger of both, `other` where `self` is NaN.
    unsafe fn max(self, other: Self) -> Self;
    /// Where `magnitude` lies in low..=high the lanes of `self`, zero elsewhere.
    unsafe fn where_between(self, magnitude: Self, low: f32, high: f32) -> Self;
    /// Number of lanes below or equal to `limit`.
    unsafe fn count_at_most(self, limit: f32) -> usize;
    /// Stores `LANES` values rounded to the nearest f16, ties to even; those beyond its range become infinite.
    unsafe fn store_f16(self, to: *mut half::f16);
}

/// What eliminating several blocks at a time needs beyond [`Vector`].
///
/// # Safety
/// As [`Vector`].
pub(crate) trait Wide: Vector<Elem = f64> + Load<f64> {
    unsafe fn mul(self, other: Self) -> Self;
    unsafe fn recip(self) -> Self;
    unsafe fn abs(self) -> Self;
    /// The larger of both, `other` where `self` is NaN.
    unsafe fn max(self, other: Self) -> Self;
    /// One bit for each lane: `self <= other`, not where one is NaN.
    unsafe fn at_most(self, other: Self) -> u32;
    /// Stores the lanes of `mask`; no other memory is touched.
    unsafe fn store_first(self, to: *mut f64, mask: Self::Mask);
    /// Stores `LANES` values rounded to f32.
    unsafe fn store_f32(self, to: *mut f32);
    /// Exchanges rows and columns of the square that the first `LANES` of `rows` are.
    unsafe fn transpose(rows: &mut [Self; 8]);
}

/// The vector types of an instruction set.
pub(crate) trait Simd: Copy {
    type F32: Narrow + Load<f32> + Load<half::f16>;
    type F64: Wide + Load<f32> + Load<half::f16>;
}

/// Code to be compiled for every instruction set. Implementations of `run` are `#[inline(always)]`, as is everything
/// they call.
pub(crate) trait Kernel {
    /// Whether it is compiled for machines without vector instructions; nobody may ask for it there otherwise.
    const PORTABLE: bool = true;
    type Output;
    /// # Safety
    /// The instruction set of `S` must be there; beyond that, what the implementation says.
    unsafe fn run<S: Simd>(self) -> Self::Output;
}

/// Runs a kernel compiled for `isa`.
///
/// # Safety
/// The machine must have `isa`; beyond that, what the kernel says.
pub(crate) unsafe fn dispatch<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    // SAFETY: forwarded to the caller.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => x86::run_avx512(kernel),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => x86::run_avx2(kernel),
            _ if K::PORTABLE => kernel.run::<portable::Portable>(),
            _ => unreachable!("the rim gives other sizes to machines without vector instructions"),
        }
    }
}
