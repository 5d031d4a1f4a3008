#![allow(unsafe_code)]
//! Lanes in plain arrays, which the compiler vectorizes as the target allows.

use crate::eight::Lanes;
use crate::operators::operators;
use crate::{Bits, Columns, Four, Kernel, LANES, Load, Mask, Packet, Real, Simd, Store, Turn, Vector};
use half::f16;
use std::array::from_fn;

/// The set of all machines.
#[derive(Clone, Copy)]
pub struct Portable;

impl Simd for Portable {
    type F32 = Plain<f32, 8>;
    type F64 = Plain<f64, 8>;
    type Eight = Plain<f64, 8>;
    #[inline(always)]
    unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
        // SAFETY: forwarded to the caller.
        unsafe { kernel.run::<Self>() }
    }
}

/// `N` lanes.
#[derive(Clone, Copy, Debug)]
#[repr(transparent)]
pub struct Plain<T, const N: usize>([T; N]);

/// A truth value per lane.
#[derive(Clone, Copy, Debug)]
pub struct PlainMask<const N: usize>([bool; N]);

impl<const N: usize> Mask for PlainMask<N> {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(from_fn(|l| self.0[l] & other.0[l]))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(from_fn(|l| self.0[l] | other.0[l]))
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0.map(|x| !x))
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.contains(&true)
    }
}

impl<const N: usize> Bits for PlainMask<N> {
    #[inline(always)]
    fn bits(self) -> u32 {
        (0..N).map(|l| u32::from(self.0[l]) << l).sum()
    }
}

/// Functions that dev builds call: inlined they were a quarter of the machine code of the tests of flows, for machines without vectors.
macro_rules! arithmetic {
    ($(fn $name:ident($($argument:tt)*) -> $result:ty $body:block)*) => { $(
        #[cfg_attr(debug_assertions, inline(never))]
        #[cfg_attr(not(debug_assertions), inline(always))]
        fn $name($($argument)*) -> $result $body
    )* };
}

macro_rules! plain {
    ($elem:ty) => {
        operators!(#[cfg_attr(debug_assertions, inline(never))] #[cfg_attr(not(debug_assertions), inline(always))] [const N: usize] Plain<$elem, N>: |a, b|
            Self(from_fn(|l| a.0[l] + b.0[l])),
            Self(from_fn(|l| a.0[l] - b.0[l])),
            Self(from_fn(|l| a.0[l] * b.0[l])),
            Self(from_fn(|l| a.0[l] / b.0[l])),
            |a| Self(a.0.map(|x| -x))
        );

        impl<const N: usize> Real for Plain<$elem, N> {
            type Mask = PlainMask<N>;
            arithmetic! {
                fn c(value: f64) -> Self {
                    Self([value as $elem; N])
                }
                fn sqrt(self) -> Self {
                    Self(self.0.map(<$elem>::sqrt))
                }
                fn abs(self) -> Self {
                    Self(self.0.map(<$elem>::abs))
                }
                fn exp(self) -> Self {
                    Self(self.0.map(<$elem>::exp))
                }
                fn ln(self) -> Self {
                    Self(self.0.map(<$elem>::ln))
                }
                fn atan(self) -> Self {
                    Self(self.0.map(<$elem>::atan))
                }
                fn powf(self, exponent: Self) -> Self {
                    Self(from_fn(|l| self.0[l].powf(exponent.0[l])))
                }
                fn lt(self, other: Self) -> PlainMask<N> {
                    PlainMask(from_fn(|l| self.0[l] < other.0[l]))
                }
                fn le(self, other: Self) -> PlainMask<N> {
                    PlainMask(from_fn(|l| self.0[l] <= other.0[l]))
                }
                fn gt(self, other: Self) -> PlainMask<N> {
                    PlainMask(from_fn(|l| self.0[l] > other.0[l]))
                }
                fn ge(self, other: Self) -> PlainMask<N> {
                    PlainMask(from_fn(|l| self.0[l] >= other.0[l]))
                }
                fn select(mask: PlainMask<N>, yes: Self, no: Self) -> Self {
                    Self(from_fn(|l| if mask.0[l] { yes.0[l] } else { no.0[l] }))
                }
            }
        }

        impl<const N: usize> Vector for Plain<$elem, N> {
            type Elem = $elem;
            type Four = Plain<$elem, 4>;
            type Set = Portable;
            const LANES: usize = N;

            #[inline(always)]
            fn splat(value: $elem) -> Self {
                Self([value; N])
            }
            #[inline(always)]
            fn first(n: usize) -> PlainMask<N> {
                PlainMask(from_fn(|l| l < n))
            }
            #[inline(always)]
            fn permute(self, from: &[u8; 16]) -> Self {
                Self(from_fn(|l| self.0[from[l] as usize % N]))
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, sum: Self) -> Self {
                Self(from_fn(|l| self.0[l] * factor.0[l] + sum.0[l]))
            }
            #[inline(always)]
            fn sub_mul(self, a: Self, b: Self) -> Self {
                Self(from_fn(|l| self.0[l] - a.0[l] * b.0[l]))
            }
            #[inline(always)]
            fn mul_add_first(self, factor: Self, sum: Self, mask: PlainMask<N>) -> Self {
                Self::select(mask, self.mul_add(factor, sum), sum)
            }
            #[inline(always)]
            unsafe fn load_first(from: *const $elem, mask: PlainMask<N>) -> Self {
                // SAFETY: a lane of the mask.
                Self(from_fn(|l| if mask.0[l] { unsafe { *from.add(l) } } else { 0.0 }))
            }
            #[inline(always)]
            unsafe fn store_first(self, to: *mut $elem, mask: PlainMask<N>) {
                for l in 0..N {
                    if mask.0[l] {
                        // SAFETY: a lane of the mask.
                        unsafe { *to.add(l) = self.0[l] };
                    }
                }
            }
            #[inline(always)]
            fn join(parts: [Self::Four; 4]) -> Self {
                Self(from_fn(|l| parts[l / 4].0[l % 4]))
            }
            #[inline(always)]
            fn turn_fours(rows: [Self; 4]) -> [Self; 4] {
                from_fn(|k| Self(from_fn(|l| rows[l % 4].0[l / 4 * 4 + k])))
            }
        }

        impl<const N: usize> Turn for Plain<$elem, N> {
            #[inline(always)]
            fn turn(rows: &mut [Self; 8]) {
                let from = *rows;
                for r in 0..N {
                    rows[r] = Self(from_fn(|c| from[c].0[r]));
                }
            }
        }

        impl Four for Plain<$elem, 4> {
            type Elem = $elem;
            #[inline(always)]
            fn zero() -> Self {
                Self([0.0; 4])
            }
            #[inline(always)]
            unsafe fn gather<const N: usize>(from: *const $elem, at: *const u32) -> Self {
                // SAFETY: the caller's promise about the first N.
                Self(from_fn(|l| if l < N { unsafe { *from.add(*at.add(l) as usize) } } else { 0.0 }))
            }
            #[inline(always)]
            fn keep<const N: usize>(self) -> Self {
                Self(from_fn(|l| if l < N { self.0[l] } else { 0.0 }))
            }
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn mul_add(self, factor: Self, sum: Self) -> Self {
                Vector::mul_add(self, factor, sum)
            }
            #[inline(always)]
            fn first(self) -> $elem {
                self.0[0]
            }
            #[inline(always)]
            fn total(self) -> $elem {
                (self.0[0] + self.0[2]) + (self.0[1] + self.0[3])
            }
        }
    };
}
plain!(f32);
plain!(f64);

/// Loads and stores of `$stored`, read and written as `$bits`.
macro_rules! memory {
    ($elem:ty, $stored:ty as $bits:ty, $value:ident => $lane:expr, $back:expr) => {
        impl<const N: usize> Load<$stored> for Plain<$elem, N> {
            #[inline(always)]
            unsafe fn load(from: *const $stored) -> Self {
                // SAFETY: the caller promises N values.
                Self(unsafe { from.cast::<[$bits; N]>().read_unaligned() }.map(|$value| $lane))
            }
            #[inline(always)]
            unsafe fn load_four(from: *const $stored) -> Plain<$elem, 4> {
                // SAFETY: the caller promises four values.
                unsafe { <Plain<$elem, 4> as Load<$stored>>::load(from) }
            }
        }
        impl<const N: usize> Store<$stored> for Plain<$elem, N> {
            #[inline(always)]
            unsafe fn store(self, to: *mut $stored) {
                // SAFETY: the caller promises room for N values.
                unsafe { to.cast::<[$bits; N]>().write_unaligned(self.0.map(|$value| $back)) };
            }
        }
    };
}
memory!(f32, f32 as f32, v => v, v);
memory!(f32, f16 as u16, v => widen(v), narrow(v));
memory!(f64, f64 as f64, v => v, v);
memory!(f64, f32 as f32, v => v.into(), v as f32);
memory!(f64, f16 as u16, v => widen(v).into(), narrow(v as f32));

macro_rules! columns {
    ($($elem:ty: $stored:ty)*) => { $(
        impl Columns<$stored> for Plain<$elem, 8> {
            type Tile = Plain<$stored, 8>;
            #[inline(always)]
            unsafe fn first_four(from: *const $stored, count: usize) -> Plain<$elem, 4> {
                // SAFETY: the caller's promise about the first numbers.
                Plain(from_fn(|l| if l < count { unsafe { *from.add(l) }.into() } else { 0.0 }))
            }
        }
    )* };
}
columns!(f32: f32 f64: f64 f64: f32);

impl Lanes for Plain<f64, LANES> {
    const WIDTH: usize = LANES;

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

/// f16 to f32 without branches: the exponent is moved by a multiplication, which also normalizes subnormals.
#[inline(always)]
pub(crate) fn widen(bits: u16) -> f32 {
    let magnitude = u32::from(bits & 0x7fff) << 13;
    let scaled = (f32::from_bits(magnitude) * f32::from_bits(0x7780_0000)).to_bits(); // * 2^112
    let special = magnitude | 0x7f80_0000;
    let magnitude = if magnitude >= 0x0f80_0000 { special } else { scaled };
    f32::from_bits(magnitude | u32::from(bits & 0x8000) << 16)
}

/// The bits of a number rounded to f16, to the nearest, ties to even, without branches: adding a constant moves the rounding to the
/// right bit.
#[inline(always)]
pub fn narrow(value: f32) -> u16 {
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
