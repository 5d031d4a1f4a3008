//! Eight lanes as an array, for machines without wide vectors: the compiler turns the loops into what it has.

use super::{LANES, Lanes, Mask, Packet, Real};
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

/// Eight lanes.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
pub struct Portable([f64; LANES]);

/// A truth value per lane.
#[derive(Clone, Copy, Debug)]
pub struct PortableMask([bool; LANES]);

impl Portable {
    #[inline(always)]
    fn map(self, f: impl Fn(f64) -> f64) -> Self {
        let mut out = self;
        for x in &mut out.0 {
            *x = f(*x);
        }
        out
    }
    #[inline(always)]
    fn zip(self, o: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        let mut out = self;
        for i in 0..LANES {
            out.0[i] = f(self.0[i], o.0[i]);
        }
        out
    }
    #[inline(always)]
    fn compare(self, o: Self, f: impl Fn(f64, f64) -> bool) -> PortableMask {
        let mut out = [false; LANES];
        for i in 0..LANES {
            out[i] = f(self.0[i], o.0[i]);
        }
        PortableMask(out)
    }
}

macro_rules! operator {
    ($trait:ident, $fn:ident, $assign:ident, $fn_assign:ident, $op:tt) => {
        impl $trait for Portable {
            type Output = Self;
            #[inline(always)]
            fn $fn(self, o: Self) -> Self {
                self.zip(o, |a, b| a $op b)
            }
        }
        impl $assign for Portable {
            #[inline(always)]
            fn $fn_assign(&mut self, o: Self) {
                *self = *self $op o;
            }
        }
    };
}
operator!(Add, add, AddAssign, add_assign, +);
operator!(Sub, sub, SubAssign, sub_assign, -);
operator!(Mul, mul, MulAssign, mul_assign, *);
operator!(Div, div, DivAssign, div_assign, /);

impl Neg for Portable {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

impl Mask for PortableMask {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        let mut out = self;
        for i in 0..LANES {
            out.0[i] &= other.0[i];
        }
        out
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        let mut out = self;
        for i in 0..LANES {
            out.0[i] |= other.0[i];
        }
        out
    }
    #[inline(always)]
    fn not(self) -> Self {
        let mut out = self;
        for x in &mut out.0 {
            *x = !*x;
        }
        out
    }
}

impl Real for Portable {
    type Mask = PortableMask;

    #[inline(always)]
    fn c(value: f64) -> Self {
        Self([value; LANES])
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f64::sqrt)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f64::abs)
    }
    #[inline(always)]
    fn exp(self) -> Self {
        self.map(f64::exp)
    }
    #[inline(always)]
    fn ln(self) -> Self {
        self.map(f64::ln)
    }
    #[inline(always)]
    fn atan(self) -> Self {
        self.map(f64::atan)
    }
    #[inline(always)]
    fn powf(self, exponent: Self) -> Self {
        self.zip(exponent, f64::powf)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> PortableMask {
        self.compare(other, |a, b| a < b)
    }
    #[inline(always)]
    fn le(self, other: Self) -> PortableMask {
        self.compare(other, |a, b| a <= b)
    }
    #[inline(always)]
    fn gt(self, other: Self) -> PortableMask {
        self.compare(other, |a, b| a > b)
    }
    #[inline(always)]
    fn ge(self, other: Self) -> PortableMask {
        self.compare(other, |a, b| a >= b)
    }
    #[inline(always)]
    fn select(mask: PortableMask, yes: Self, no: Self) -> Self {
        let mut out = no;
        for i in 0..LANES {
            out.0[i] = if mask.0[i] { yes.0[i] } else { no.0[i] };
        }
        out
    }
}

impl Lanes for Portable {
    #[inline(always)]
    fn load(from: &Packet) -> Self {
        Self(from.0)
    }
    #[inline(always)]
    fn store(self, to: &mut Packet) {
        to.0 = self.0;
    }
    #[inline(always)]
    fn from_array(from: &[f64; LANES]) -> Self {
        Self(*from)
    }
    #[inline(always)]
    fn to_array(self) -> [f64; LANES] {
        self.0
    }
}
