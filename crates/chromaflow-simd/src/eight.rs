//! Eight lanes of f64 on every machine, and records that become lanes.

use crate::operators::operators;
use crate::{Mask, Real};

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

/// A [`Real`] of eight `f64` lanes. Its values come to be inside a [`Kernel`](crate::Kernel) only.
pub trait Lanes: Real {
    /// Lanes of one register: of an `f64` vector of the same instruction set ([`Simd::F64`](crate::Simd::F64)).
    const WIDTH: usize;

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

/// Two of a kind side by side.
#[derive(Clone, Copy, Debug)]
pub struct Pair<V>(pub V, pub V);

operators!(#[inline(always)] [V: Real] Pair<V>: |a, b|
    Self(a.0 + b.0, a.1 + b.1),
    Self(a.0 - b.0, a.1 - b.1),
    Self(a.0 * b.0, a.1 * b.1),
    Self(a.0 / b.0, a.1 / b.1),
    |a| Self(-a.0, -a.1)
);

impl<M: Mask> Mask for Pair<M> {
    #[inline(always)]
    fn and(self, other: Self) -> Self {
        Self(self.0.and(other.0), self.1.and(other.1))
    }
    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self(self.0.or(other.0), self.1.or(other.1))
    }
    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0.not(), self.1.not())
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.any() | self.1.any()
    }
}

/// Functions of one number, or of two, half by half.
macro_rules! halves {
    (one: $($one:ident)*; two: $($two:ident)*; masks: $($compare:ident)*) => {
        $(#[inline(always)]
        fn $one(self) -> Self {
            Self(self.0.$one(), self.1.$one())
        })*
        $(#[inline(always)]
        fn $two(self, other: Self) -> Self {
            Self(self.0.$two(other.0), self.1.$two(other.1))
        })*
        $(#[inline(always)]
        fn $compare(self, other: Self) -> Self::Mask {
            Pair(self.0.$compare(other.0), self.1.$compare(other.1))
        })*
    };
}

impl<V: Real> Real for Pair<V> {
    type Mask = Pair<V::Mask>;
    #[inline(always)]
    fn c(value: f64) -> Self {
        Self(V::c(value), V::c(value))
    }
    halves!(one: sqrt rsqrt abs exp ln atan; two: powf min max; masks: lt le gt ge);
    #[inline(always)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        Self(V::select(mask.0, yes.0, no.0), V::select(mask.1, yes.1, no.1))
    }
}
