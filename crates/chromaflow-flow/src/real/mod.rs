//! The scalar that pointwise physics is written for.
//!
//! Fluxes, boundary states, limiters and viscous terms are plain generic functions over [`Real`]. Put in for `T`
//! * `f64` or `f32`, they are ordinary functions;
//! * a [`Lanes`] type, they compute eight edges or nodes at once, see [`dispatch`];
//! * a [`Dual`], they give their own derivatives.
//!
//! The same texts are emitted as CUDA C++. That holds as long as they keep to **the subset**:
//! * free functions, generic over `T: Real` only, each `#[inline(always)]`; structs of scalars and arrays, fixed
//!   arrays `[T; 5]`, tuples; enums without data; constants;
//! * loops `for i in 0..5` with constant bounds;
//! * `if`, `match` and early `return` only on what is the same for all lanes (booleans, integers, enums), never on
//!   a `T`: a choice by value is `T::select(a.lt(b), x, y)`, `min`, `max` or `abs`;
//! * constants as `T::c(1.4)`; no method besides those of [`Real`] and [`Mask`]; no closures, no allocation, no
//!   references stored in structs.
//!
//! **Precision.** No operation is fused or reordered, so a lane holds the very bits of the scalar function, on every
//! instruction set. `exp`, `ln`, `atan` and `powf` call the scalar library function per lane.

mod dispatch;
mod dual;
mod portable;
mod prefetch;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod transpose;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod tests;

pub use dispatch::{LaneKernel, dispatch};
pub use dual::Dual;
pub use prefetch::prefetch;

use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Outcome of a comparison: `bool`, or one bit per lane.
pub trait Mask: Copy {
    /// Both.
    fn and(self, other: Self) -> Self;
    /// Either or both.
    fn or(self, other: Self) -> Self;
    /// The opposite.
    fn not(self) -> Self;
}

/// A real number, or eight of them, or one with derivatives.
///
/// ```
/// use chromaflow_flow::real::{Dual, Real};
/// fn smooth_abs<T: Real>(x: T, delta: T) -> T {
///     let inside = (x * x + delta * delta) / (T::c(2.0) * delta);
///     T::select(x.abs().lt(delta), inside, x.abs())
/// }
/// assert_eq!(smooth_abs(-3.0, 0.5), 3.0);
/// let slope = smooth_abs(Dual::<f64, 1>::variable(0.25, 0), Dual::c(0.5)).d[0];
/// assert_eq!(slope, 0.5);
/// ```
pub trait Real:
    Copy
    + Debug
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + SubAssign
    + MulAssign
    + DivAssign
{
    /// What a comparison gives.
    type Mask: Mask;

    /// A constant, the same in all lanes.
    fn c(value: f64) -> Self;
    /// Square root.
    fn sqrt(self) -> Self;
    /// 1 / sqrt(x): on a GPU cheaper than either the root or a quotient.
    #[inline(always)]
    fn rsqrt(self) -> Self {
        Self::c(1.0) / self.sqrt()
    }
    /// Absolute value.
    fn abs(self) -> Self;
    /// e to this power.
    fn exp(self) -> Self;
    /// Natural logarithm.
    fn ln(self) -> Self;
    /// Arc tangent.
    fn atan(self) -> Self;
    /// This number, which is positive, to a power.
    fn powf(self, exponent: Self) -> Self;

    /// `self < other`; false where either is not a number, as in all four.
    fn lt(self, other: Self) -> Self::Mask;
    /// `self <= other`.
    fn le(self, other: Self) -> Self::Mask;
    /// `self > other`.
    fn gt(self, other: Self) -> Self::Mask;
    /// `self >= other`.
    fn ge(self, other: Self) -> Self::Mask;
    /// `yes` where the mask holds, else `no`. Both are computed.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// The smaller; `other` where the two do not compare (either is not a number) or are equal.
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        Self::select(self.lt(other), self, other)
    }
    /// The larger; `other` where the two do not compare or are equal.
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        Self::select(self.gt(other), self, other)
    }
}

/// Lanes of a [`Lanes`] type, on every machine.
pub const LANES: usize = 8;

/// Eight `f64`, 64-byte aligned: how lanes lie in memory.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(64))]
pub struct Packet(pub [f64; LANES]);

impl Packet {
    /// Zeros.
    pub const ZERO: Self = Self([0.0; LANES]);
}

/// A [`Real`] of eight `f64` lanes. Its values come to be inside a [`LaneKernel`] only.
pub trait Lanes: Real {
    /// From memory.
    fn load(from: &Packet) -> Self;
    /// To memory.
    fn store(self, to: &mut Packet);

    /// From memory of any alignment.
    fn from_array(from: &[f64; LANES]) -> Self;
    /// To memory of any alignment.
    fn to_array(self) -> [f64; LANES];

    /// Component `k` of lane `l` is `records[index[l]][k]`: eight records of `N` numbers turned into `N` lanes.
    #[inline(always)]
    fn gather<const N: usize>(records: &[[f64; N]], index: &[u32; LANES]) -> [Self; N] {
        let mut out = [Self::c(0.0); N];
        for k in 0..N {
            let mut packet = Packet::ZERO;
            for l in 0..LANES {
                packet.0[l] = records[index[l] as usize][k];
            }
            out[k] = Self::load(&packet);
        }
        out
    }

    /// The way back: lane `l` of `lanes[k]` goes to `out[l][k]`, for as many lanes as `out` has records.
    #[inline(always)]
    fn scatter<const N: usize>(lanes: &[Self; N], out: &mut [[f64; N]]) {
        for k in 0..N {
            for (record, value) in out.iter_mut().zip(lanes[k].to_array()) {
                record[k] = value;
            }
        }
    }

    /// As [`Lanes::scatter`], rounded to f32.
    #[inline(always)]
    fn scatter_single<const N: usize>(lanes: &[Self; N], out: &mut [[f32; N]]) {
        for k in 0..N {
            for (record, value) in out.iter_mut().zip(lanes[k].to_array()) {
                record[k] = value as f32;
            }
        }
    }

    /// Sums over the lanes of each of `N` numbers: `((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))`.
    #[inline(always)]
    fn totals<const N: usize>(lanes: &[Self; N]) -> [f64; N] {
        let mut out = [0.0; N];
        for k in 0..N {
            let l = lanes[k].to_array();
            out[k] = ((l[0] + l[1]) + (l[2] + l[3])) + ((l[4] + l[5]) + (l[6] + l[7]));
        }
        out
    }
}
