//! Arithmetic, of scalars as of lanes.

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
    /// Whether it holds in any lane.
    fn any(self) -> bool;
}

/// A real number, or several in the lanes of a vector; derivatives may come with it.
///
/// Nothing is fused or reordered: a lane holds the very bits of the scalar function. `exp`, `ln`, `atan` and `powf` call the
/// scalar library function for each lane.
///
/// ```
/// use chromaflow_simd::Real;
/// fn smooth_abs<T: Real>(x: T, delta: T) -> T {
///     let inside = (x * x + delta * delta) / (T::c(2.0) * delta);
///     T::select(x.abs().lt(delta), inside, x.abs())
/// }
/// assert_eq!(smooth_abs(-3.0, 0.5), 3.0);
/// assert_eq!(smooth_abs(0.5_f32, 0.5), 0.5);
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

impl Mask for bool {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        self & other
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self | other
    }
    #[inline(always)]
    fn not(self) -> Self {
        !self
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
}

macro_rules! scalar {
    ($t:ty) => {
        impl Real for $t {
            type Mask = bool;

            #[inline(always)]
            fn c(value: f64) -> Self {
                value as $t
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                <$t>::sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                <$t>::abs(self)
            }
            #[inline(always)]
            fn exp(self) -> Self {
                <$t>::exp(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                <$t>::ln(self)
            }
            #[inline(always)]
            fn atan(self) -> Self {
                <$t>::atan(self)
            }
            #[inline(always)]
            fn powf(self, exponent: Self) -> Self {
                <$t>::powf(self, exponent)
            }
            #[inline(always)]
            fn lt(self, other: Self) -> bool {
                self < other
            }
            #[inline(always)]
            fn le(self, other: Self) -> bool {
                self <= other
            }
            #[inline(always)]
            fn gt(self, other: Self) -> bool {
                self > other
            }
            #[inline(always)]
            fn ge(self, other: Self) -> bool {
                self >= other
            }
            #[inline(always)]
            fn select(mask: bool, yes: Self, no: Self) -> Self {
                if mask { yes } else { no }
            }
        }
    };
}

scalar!(f64);
scalar!(f32);
