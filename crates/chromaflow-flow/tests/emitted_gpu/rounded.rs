//! A number with a bound of its rounding error, carried along by the arithmetic itself.

use chromaflow_flow::real::{Mask, Real};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// A value computed in f64, and how far a computation of unit roundoff u can be from it, in units of u, to first order:
/// every operation adds its own rounding to what it makes of its operands' errors. Fused operations round less often, so
/// the bound is theirs too.
///
/// **Source**: running error analysis, Higham, Accuracy and Stability of Numerical Algorithms (2002), 3.3.
#[derive(Clone, Copy, Debug)]
pub struct Rounded<const SINGLE: bool> {
    pub value: f64,
    pub error: f64,
}

/// A comparison, and whether its operands' errors leave it open.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    yes: bool,
    open: bool,
}

impl Mask for Choice {
    fn and(self, other: Self) -> Self {
        Self { yes: self.yes & other.yes, open: self.open | other.open }
    }
    fn or(self, other: Self) -> Self {
        Self { yes: self.yes | other.yes, open: self.open | other.open }
    }
    fn not(self) -> Self {
        Self { yes: !self.yes, open: self.open }
    }
    fn any(self) -> bool {
        self.yes
    }
}

impl<const S: bool> Rounded<S> {
    /// The unit roundoff: of f32, or of f64.
    const UNIT: f64 = if S { f32::EPSILON as f64 / 2.0 } else { f64::EPSILON / 2.0 };

    /// The result of an operation that rounds by `roundings` units, with operands' errors carried over as `carried`.
    fn of(value: f64, carried: f64, roundings: f64) -> Self {
        Self { value, error: carried + roundings * value.abs() }
    }

    /// Open within twice the errors: either of two computations may have them.
    fn compare(self, other: Self, yes: bool) -> Choice {
        Choice {
            yes,
            open: (self.value - other.value).abs() <= 2.0 * Self::UNIT * (self.error + other.error),
        }
    }
}

impl<const S: bool> Add for Rounded<S> {
    type Output = Self;
    fn add(self, o: Self) -> Self {
        Self::of(self.value + o.value, self.error + o.error, 1.0)
    }
}
impl<const S: bool> Sub for Rounded<S> {
    type Output = Self;
    fn sub(self, o: Self) -> Self {
        Self::of(self.value - o.value, self.error + o.error, 1.0)
    }
}
impl<const S: bool> Mul for Rounded<S> {
    type Output = Self;
    fn mul(self, o: Self) -> Self {
        Self::of(self.value * o.value, self.error * o.value.abs() + o.error * self.value.abs(), 1.0)
    }
}
impl<const S: bool> Div for Rounded<S> {
    type Output = Self;
    fn div(self, o: Self) -> Self {
        let value = self.value / o.value;
        Self::of(value, (self.error + o.error * value.abs()) / o.value.abs(), 1.0)
    }
}
impl<const S: bool> Neg for Rounded<S> {
    type Output = Self;
    fn neg(self) -> Self {
        Self { value: -self.value, error: self.error }
    }
}
impl<const S: bool> AddAssign for Rounded<S> {
    fn add_assign(&mut self, o: Self) {
        *self = *self + o;
    }
}
impl<const S: bool> SubAssign for Rounded<S> {
    fn sub_assign(&mut self, o: Self) {
        *self = *self - o;
    }
}
impl<const S: bool> MulAssign for Rounded<S> {
    fn mul_assign(&mut self, o: Self) {
        *self = *self * o;
    }
}
impl<const S: bool> DivAssign for Rounded<S> {
    fn div_assign(&mut self, o: Self) {
        *self = *self / o;
    }
}

impl<const S: bool> Real for Rounded<S> {
    type Mask = Choice;

    fn c(value: f64) -> Self {
        let exact = !S || f64::from(value as f32) == value;
        Self { value, error: if exact { 0.0 } else { value.abs() } }
    }
    fn sqrt(self) -> Self {
        let value = self.value.sqrt();
        Self::of(value, if self.error > 0.0 { 0.5 * self.error / value } else { 0.0 }, 1.0)
    }
    fn abs(self) -> Self {
        Self { value: self.value.abs(), error: self.error }
    }
    // Library functions: CUDA's pow is within two units in the last place, its exp and log within one; a unit in the last
    // place is at most two roundings.
    fn exp(self) -> Self {
        let value = self.value.exp();
        Self::of(value, value * self.error, 2.0)
    }
    fn ln(self) -> Self {
        Self::of(self.value.ln(), self.error / self.value.abs(), 2.0)
    }
    fn atan(self) -> Self {
        Self::of(self.value.atan(), self.error / (1.0 + self.value * self.value), 4.0)
    }
    fn powf(self, exponent: Self) -> Self {
        let value = self.value.powf(exponent.value);
        let base = exponent.value.abs() * self.error / self.value.abs();
        Self::of(value, value.abs() * (base + self.value.ln().abs() * exponent.error), 4.0)
    }

    fn lt(self, other: Self) -> Choice {
        self.compare(other, self.value < other.value)
    }
    fn le(self, other: Self) -> Choice {
        self.compare(other, self.value <= other.value)
    }
    fn gt(self, other: Self) -> Choice {
        self.compare(other, self.value > other.value)
    }
    fn ge(self, other: Self) -> Choice {
        self.compare(other, self.value >= other.value)
    }
    /// Where the choice is open, the other one may be taken: their distance is an error, too.
    fn select(mask: Choice, yes: Self, no: Self) -> Self {
        let (taken, other) = if mask.yes { (yes, no) } else { (no, yes) };
        if !mask.open || taken.value == other.value {
            let error = if mask.open { taken.error.max(other.error) } else { taken.error };
            return Self { value: taken.value, error };
        }
        let apart = (yes.value - no.value).abs() / Self::UNIT;
        Self { value: taken.value, error: taken.error.max(other.error) + apart }
    }
}
