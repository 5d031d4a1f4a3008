#![allow(unsafe_code)]
//! Lanes without special instructions: small arrays that the compiler vectorizes as far as the base set allows.

use super::{Lane, LaneIo};
use crate::tridiag::whole::{Engine, Line};

/// `W` numbers in an array.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Portable<T, const W: usize>([T; W]);

macro_rules! portable {
    ($t:ty) => {
        impl<const W: usize> Lane for Portable<$t, W> {
            const W: usize = W;
            #[inline(always)]
            fn splat(value: f64) -> Self {
                Self([value as $t; W])
            }
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                Self(std::array::from_fn(|l| self.0[l] + other.0[l]))
            }
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                Self(std::array::from_fn(|l| self.0[l] - other.0[l]))
            }
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                Self(std::array::from_fn(|l| self.0[l] * other.0[l]))
            }
            #[inline(always)]
            fn sub_mul(self, a: Self, b: Self) -> Self {
                Self(std::array::from_fn(|l| self.0[l] - a.0[l] * b.0[l]))
            }
            #[inline(always)]
            fn recip(self) -> Self {
                Self(std::array::from_fn(|l| 1.0 / self.0[l]))
            }
            #[inline(always)]
            fn any_nan(self) -> bool {
                self.0.iter().any(|v| v.is_nan())
            }
            fn solve_line(engine: Engine, line: &mut Line<'_, Self>) {
                engine.solve(line);
            }
        }
    };
}
portable!(f32);
portable!(f64);

macro_rules! portable_io {
    ($t:ty, $s:ty) => {
        impl<const W: usize> LaneIo<$s> for Portable<$t, W> {
            #[inline(always)]
            unsafe fn load(from: *const $s) -> Self {
                // SAFETY: the caller promises W readable values; arrays are aligned as their elements.
                let values = unsafe { *from.cast::<[$s; W]>() };
                Self(std::array::from_fn(|l| values[l] as $t))
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $s) {
                // SAFETY: the caller promises W writable values.
                unsafe { *to.cast::<[$s; W]>() = std::array::from_fn(|l| self.0[l] as $s) };
            }
        }
    };
}
portable_io!(f32, f32);
portable_io!(f64, f64);
portable_io!(f64, f32);
