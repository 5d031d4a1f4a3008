#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! Lanes in plain arrays, which the compiler vectorizes as the target allows.
//!
//! SAFETY: the only unsafe operations are accesses through pointers, within the bounds that [`Vector`] asks for.

use super::{Four, Load, Narrow, Simd, Vector, Wide};
use half::f16;
use std::array::from_fn;

#[derive(Clone, Copy)]
pub(crate) struct Portable;

#[derive(Clone, Copy)]
pub(crate) struct Lanes<T, const N: usize>([T; N]);

macro_rules! lanes {
    ($elem:ty, $lanes:literal) => {
        impl Vector for Lanes<$elem, $lanes> {
            type Elem = $elem;
            type Index = [u8; $lanes];
            type Mask = usize;
            type Four = Lanes<$elem, 4>;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> Self {
                Self([0.0; $lanes])
            }
            #[inline(always)]
            unsafe fn splat(value: $elem) -> Self {
                Self([value; $lanes])
            }
            #[inline(always)]
            unsafe fn first(n: usize) -> usize {
                n
            }
            #[inline(always)]
            unsafe fn index(from: &[u8; 16]) -> Self::Index {
                from_fn(|l| from[l])
            }
            #[inline(always)]
            unsafe fn permute(self, index: Self::Index) -> Self {
                Self(from_fn(|l| self.0[index[l] as usize % $lanes]))
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                Self(from_fn(|l| self.0[l] + other.0[l]))
            }
            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, sum: Self) -> Self {
                Self(from_fn(|l| self.0[l] * factor.0[l] + sum.0[l]))
            }
            #[inline(always)]
            unsafe fn mul_add_first(self, factor: Self, sum: Self, mask: usize) -> Self {
                Self(from_fn(|l| if l < mask { self.0[l] * factor.0[l] + sum.0[l] } else { sum.0[l] }))
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $elem, mask: usize) -> Self {
                Self(from_fn(|l| if l < mask { *from.add(l) } else { 0.0 }))
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut $elem) {
                to.cast::<[$elem; $lanes]>().write_unaligned(self.0);
            }
        }

        impl Four for Lanes<$elem, 4> {
            type Elem = $elem;
            #[inline(always)]
            unsafe fn zero() -> Self {
                Self([0.0; 4])
            }
            #[inline(always)]
            unsafe fn gather<const N: usize>(from: *const $elem, at: *const u32) -> Self {
                Self(from_fn(|l| if l < N { *from.add(*at.add(l) as usize) } else { 0.0 }))
            }
            #[inline(always)]
            unsafe fn keep<const N: usize>(self) -> Self {
                Self(from_fn(|l| if l < N { self.0[l] } else { 0.0 }))
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                Self(from_fn(|l| self.0[l] + other.0[l]))
            }
            #[inline(always)]
            unsafe fn mul_add(self, factor: Self, sum: Self) -> Self {
                Self(from_fn(|l| self.0[l] * factor.0[l] + sum.0[l]))
            }
            #[inline(always)]
            unsafe fn first(self) -> $elem {
                self.0[0]
            }
            #[inline(always)]
            unsafe fn total(self) -> $elem {
                (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
            }
        }
    };
}
lanes!(f32, 8);
lanes!(f64, 8);

macro_rules! load {
    ($elem:ty, $stored:ty as $bits:ty, $value:ident => $lane:expr) => {
        impl Load<$stored> for Lanes<$elem, 8> {
            #[inline(always)]
            unsafe fn load(from: *const $stored) -> Self {
                Self(from.cast::<[$bits; 8]>().read_unaligned().map(|$value| $lane))
            }
            #[inline(always)]
            unsafe fn load_four(from: *const $stored) -> Lanes<$elem, 4> {
                Lanes(from.cast::<[$bits; 4]>().read_unaligned().map(|$value| $lane))
            }
        }
    };
}
load!(f32, f32 as f32, v => v);
load!(f32, f16 as u16, bits => widen(bits));
load!(f64, f64 as f64, v => v);
load!(f64, f32 as f32, v => v.into());
load!(f64, f16 as u16, bits => widen(bits).into());

/// f16 to f32 without branches: the exponent is moved by a multiplication, which also normalizes subnormals.
#[inline(always)]
pub(crate) fn widen(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits(); // * 2^112
    let special = magnitude | 0x7f80_0000;
    let magnitude = if magnitude >= 0x0f80_0000 { special } else { scaled };
    f32::from_bits(magnitude | u32::from(bits & 0x8000) << 16)
}

/// f32 to f16, to the nearest, ties to even, without branches: adding a constant moves the rounding to the right bit.
#[inline(always)]
pub(crate) fn narrow(value: f32) -> u16 {
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    // Below 2^-14: adding 1/2 leaves the subnormal in the low bits of the sum.
    let small = (f32::from_bits(magnitude) + 0.5).to_bits().wrapping_sub(0.5_f32.to_bits());
    // Else: the exponent moves by 112, and half of the last place kept, or a bit less for even ones, is added.
    let odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_sub(112 << 23).wrapping_add(0xfff + odd) >> 13;
    let rounded = if magnitude < 113 << 23 { small } else { normal };
    let infinite = if magnitude > 0x7f80_0000 { 0x7e00 } else { 0x7c00 };
    let rounded = if magnitude >= 143 << 23 { infinite } else { rounded };
    rounded as u16 | (bits >> 16) as u16 & 0x8000
}

impl Narrow for Lanes<f32, 8> {
    #[inline(always)]
    unsafe fn sub(self, other: Self) -> Self {
        Self(from_fn(|l| self.0[l] - other.0[l]))
    }
    #[inline(always)]
    unsafe fn div(self, other: Self) -> Self {
        Self(from_fn(|l| self.0[l] / other.0[l]))
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Self(from_fn(|l| self.0[l].abs()))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Self(from_fn(|l| if self.0[l] > other.0[l] { self.0[l] } else { other.0[l] }))
    }
    #[inline(always)]
    unsafe fn where_between(self, magnitude: Self, low: f32, high: f32) -> Self {
        Self(from_fn(|l| if (low..=high).contains(&magnitude.0[l]) { self.0[l] } else { 0.0 }))
    }
    #[inline(always)]
    unsafe fn count_at_most(self, limit: f32) -> usize {
        self.0.iter().map(|&v| usize::from(v <= limit)).sum()
    }
    #[inline(always)]
    unsafe fn store_f16(self, to: *mut f16) {
        to.cast::<[u16; 8]>().write_unaligned(from_fn(|l| narrow(self.0[l])));
    }
}

impl Wide for Lanes<f64, 8> {
    #[inline(always)]
    unsafe fn mul(self, other: Self) -> Self {
        Self(from_fn(|l| self.0[l] * other.0[l]))
    }
    #[inline(always)]
    unsafe fn recip(self) -> Self {
        Self(self.0.map(|v| 1.0 / v))
    }
    #[inline(always)]
    unsafe fn abs(self) -> Self {
        Self(self.0.map(f64::abs))
    }
    #[inline(always)]
    unsafe fn max(self, other: Self) -> Self {
        Self(from_fn(|l| if self.0[l] > other.0[l] { self.0[l] } else { other.0[l] }))
    }
    #[inline(always)]
    unsafe fn at_most(self, other: Self) -> u32 {
        (0..8).map(|l| u32::from(self.0[l] <= other.0[l]) << l).sum()
    }
    #[inline(always)]
    unsafe fn store_first(self, to: *mut f64, mask: usize) {
        for l in 0..mask {
            *to.add(l) = self.0[l];
        }
    }
    #[inline(always)]
    unsafe fn store_f32(self, to: *mut f32) {
        to.cast::<[f32; 8]>().write_unaligned(self.0.map(|v| v as f32));
    }
    #[inline(always)]
    unsafe fn transpose(rows: &mut [Self; 8]) {
        let from = *rows;
        *rows = from_fn(|r| Self(from_fn(|c| from[c].0[r])));
    }
}

impl Simd for Portable {
    type F32 = Lanes<f32, 8>;
    type F64 = Lanes<f64, 8>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn narrowing_rounds_as_the_standard_has_it() {
        let mut bits = 0_u32;
        while let Some(next) = bits.checked_add(8191) {
            for b in [bits, bits & !0x1fff, bits & !0x1fff | 0x1000, bits & !0xfff | 0xfff] {
                let value = f32::from_bits(b);
                let (mine, theirs) = (f16::from_bits(narrow(value)), f16::from_f32(value));
                assert!(
                    mine.to_bits() == theirs.to_bits() || (mine.is_nan() && theirs.is_nan()),
                    "{value:e}"
                );
            }
            bits = next;
        }
    }

    #[test]
    fn every_half_widens() {
        for bits in 0..=u16::MAX {
            let (mine, theirs) = (widen(bits), f16::from_bits(bits).to_f32());
            assert!(mine.to_bits() == theirs.to_bits() || (mine.is_nan() && theirs.is_nan()), "{bits:#x}");
        }
    }
}
