//! Forward derivatives.

use super::Real;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A number with its derivatives by `N` variables (forward differentiation). Comparisons look at the value alone. The square root of zero,
/// which has no derivative, has that of a constant.
///
/// `T` may itself be lanes, or a dual for second derivatives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dual<T, const N: usize> {
    /// The value.
    pub v: T,
    /// Derivatives by each of the variables.
    pub d: [T; N],
}

impl<T: Real, const N: usize> Dual<T, N> {
    /// A constant: derivatives zero.
    #[inline(always)]
    pub fn constant(v: T) -> Self {
        Self { v, d: [T::c(0.0); N] }
    }

    /// Variable number `i` at the value `v`.
    #[inline(always)]
    pub fn variable(v: T, i: usize) -> Self {
        let mut d = [T::c(0.0); N];
        d[i] = T::c(1.0);
        Self { v, d }
    }

    /// Variables `first..first + M` at the values `v`.
    #[inline(always)]
    pub fn variables<const M: usize>(v: &[T; M], first: usize) -> [Self; M] {
        let mut out = [Self::c(0.0); M];
        for i in 0..M {
            out[i] = Self::variable(v[i], first + i);
        }
        out
    }

    /// `M` constants.
    #[inline(always)]
    pub fn constants<const M: usize>(v: &[T; M]) -> [Self; M] {
        let mut out = [Self::c(0.0); M];
        for i in 0..M {
            out[i] = Self::constant(v[i]);
        }
        out
    }

    /// Chain rule: value `v`, derivatives times `slope`.
    #[inline(always)]
    fn chain(self, v: T, slope: T) -> Self {
        let mut d = self.d;
        for x in &mut d {
            *x *= slope;
        }
        Self { v, d }
    }

    /// Chain rule of two: value `v`, derivatives `a` times its own plus `b` times those of `o`.
    #[inline(always)]
    fn combine(self, v: T, a: T, o: Self, b: T) -> Self {
        let mut d = self.d;
        for i in 0..N {
            d[i] = a * d[i] + b * o.d[i];
        }
        Self { v, d }
    }
}

impl<T: Real, const N: usize> Add for Dual<T, N> {
    type Output = Self;
    #[inline(always)]
    fn add(self, o: Self) -> Self {
        let mut out = self;
        out += o;
        out
    }
}

impl<T: Real, const N: usize> Sub for Dual<T, N> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, o: Self) -> Self {
        let mut out = self;
        out -= o;
        out
    }
}

impl<T: Real, const N: usize> Mul for Dual<T, N> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        self.combine(self.v * o.v, o.v, o, self.v)
    }
}

impl<T: Real, const N: usize> Div for Dual<T, N> {
    type Output = Self;
    #[inline(always)]
    fn div(self, o: Self) -> Self {
        let v = self.v / o.v;
        let r = T::c(1.0) / o.v;
        self.combine(v, r, o, -v * r)
    }
}

impl<T: Real, const N: usize> Neg for Dual<T, N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.chain(-self.v, T::c(-1.0))
    }
}

impl<T: Real, const N: usize> AddAssign for Dual<T, N> {
    #[inline(always)]
    fn add_assign(&mut self, o: Self) {
        self.v += o.v;
        for i in 0..N {
            self.d[i] += o.d[i];
        }
    }
}

impl<T: Real, const N: usize> SubAssign for Dual<T, N> {
    #[inline(always)]
    fn sub_assign(&mut self, o: Self) {
        self.v -= o.v;
        for i in 0..N {
            self.d[i] -= o.d[i];
        }
    }
}

impl<T: Real, const N: usize> MulAssign for Dual<T, N> {
    #[inline(always)]
    fn mul_assign(&mut self, o: Self) {
        *self = *self * o;
    }
}

impl<T: Real, const N: usize> DivAssign for Dual<T, N> {
    #[inline(always)]
    fn div_assign(&mut self, o: Self) {
        *self = *self / o;
    }
}

impl<T: Real, const N: usize> Real for Dual<T, N> {
    type Mask = T::Mask;

    #[inline(always)]
    fn c(value: f64) -> Self {
        Self::constant(T::c(value))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        let v = self.v.sqrt();
        let positive = v.gt(T::c(0.0));
        self.chain(v, T::select(positive, T::c(0.5) / T::select(positive, v, T::c(1.0)), T::c(0.0)))
    }
    #[inline(always)]
    fn rsqrt(self) -> Self {
        let v = self.v.rsqrt();
        self.chain(v, T::c(-0.5) * v * v * v)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        Self::select(self.v.lt(T::c(0.0)), -self, self)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        let v = self.v.exp();
        self.chain(v, v)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.chain(self.v.ln(), T::c(1.0) / self.v)
    }
    #[inline(always)]
    fn atan(self) -> Self {
        self.chain(self.v.atan(), T::c(1.0) / (T::c(1.0) + self.v * self.v))
    }
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        let v = self.v.powf(exponent.v);
        let base = exponent.v * self.v.powf(exponent.v - T::c(1.0));
        let log = v * self.v.ln();
        self.combine(v, base, exponent, log)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> T::Mask {
        self.v.lt(other.v)
    }
    #[inline(always)]
    fn le(self, other: Self) -> T::Mask {
        self.v.le(other.v)
    }
    #[inline(always)]
    fn gt(self, other: Self) -> T::Mask {
        self.v.gt(other.v)
    }
    #[inline(always)]
    fn ge(self, other: Self) -> T::Mask {
        self.v.ge(other.v)
    }
    #[inline(always)]
    fn select(mask: T::Mask, yes: Self, no: Self) -> Self {
        let mut out = no;
        out.v = T::select(mask, yes.v, no.v);
        for i in 0..N {
            out.d[i] = T::select(mask, yes.d[i], no.d[i]);
        }
        out
    }
}
