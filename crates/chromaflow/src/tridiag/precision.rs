//! Which numbers a line solver stores and which it computes with.

use super::block::with_rank;
use super::factored;
use super::lanes::{LaneIo, Portable, dispatch};
use super::pentadiagonal;
use super::thomas::cpu::{Thomas, Work};
use super::whole::{Engine, Whole};
use bytemuck::Zeroable;
use chromaflow_device::Isa;
use std::fmt::Debug;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// A real number: f32 or f64.
pub trait Real:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Zeroable
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// The name on command lines and in results.
    const NAME: &'static str;
    /// Distance from 1 to the next number.
    const EPSILON: f64;
    /// The nearest number.
    fn from_f64(value: f64) -> Self;
    /// The same number, wider.
    fn to_f64(self) -> f64;
}

impl Real for f32 {
    const NAME: &'static str = "f32";
    const EPSILON: f64 = f32::EPSILON as f64;
    fn from_f64(value: f64) -> Self {
        value as f32
    }
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Real for f64 {
    const NAME: &'static str = "f64";
    const EPSILON: f64 = f64::EPSILON;
    fn from_f64(value: f64) -> Self {
        value
    }
    fn to_f64(self) -> f64 {
        self
    }
}

/// What the coefficients, right-hand sides and solutions of a batch are stored in, and what is computed with:
/// [`Single`], [`Double`] or [`Mixed`].
pub trait Precision: Sized + Copy + Send + Sync + 'static {
    /// The type of the arrays.
    type Store: Real;
    /// The type of factors and sums.
    type Sum: Real;
    #[doc(hidden)]
    type Avx512: LaneIo<Self::Store>;
    #[doc(hidden)]
    type Avx2: LaneIo<Self::Store>;
    #[doc(hidden)]
    type Portable: LaneIo<Self::Store>;
    #[doc(hidden)]
    fn run(isa: Isa, engine: Option<Engine>, work: Work<'_, '_, Self>) -> Option<usize>;
    #[doc(hidden)]
    fn run_penta(isa: Isa, work: pentadiagonal::cpu::Work<'_, '_, Self>) -> Option<usize>;
    #[doc(hidden)]
    fn run_factor(isa: Isa, rank: usize, work: factored::cpu::FactorWork<'_, '_, Self>) -> Option<usize>;
    #[doc(hidden)]
    fn run_factored(isa: Isa, rank: usize, work: factored::cpu::SolveWork<'_, '_, Self>) -> Option<usize>;
    /// `f32`, `f64` or `mixed`.
    const NAME: &'static str;
}

/// Arrays, factors and sums in f32.
#[derive(Clone, Copy, Debug)]
pub struct Single;
/// Arrays, factors and sums in f64.
#[derive(Clone, Copy, Debug)]
pub struct Double;
/// Arrays in f32, factors and sums in f64.
#[derive(Clone, Copy, Debug)]
pub struct Mixed;

macro_rules! precision {
    ($name:ident, $store:ty, $sum:ty, $w512:ident, $w2:ident, $portable:literal, $text:literal) => {
        impl Precision for $name {
            type Store = $store;
            type Sum = $sum;
            #[cfg(target_arch = "x86_64")]
            type Avx512 = super::lanes::x86::$w512;
            #[cfg(target_arch = "x86_64")]
            type Avx2 = super::lanes::x86::$w2;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx512 = Portable<$sum, $portable>;
            #[cfg(not(target_arch = "x86_64"))]
            type Avx2 = Portable<$sum, $portable>;
            type Portable = Portable<$sum, $portable>;
            const NAME: &'static str = $text;
            // Not generic: the kernels are compiled here, once, not in every crate that solves lines.
            fn run(isa: Isa, engine: Option<Engine>, work: Work<'_, '_, Self>) -> Option<usize> {
                match engine {
                    Some(engine) => dispatch::<Self, _>(isa, Whole { engine, work }),
                    None => with_rank!(isa, work.x.shape.rank, rank => dispatch::<Self, _>(isa, Thomas { rank, work })),
                }
            }
            fn run_penta(isa: Isa, work: pentadiagonal::cpu::Work<'_, '_, Self>) -> Option<usize> {
                dispatch::<Self, _>(isa, pentadiagonal::cpu::Penta(work))
            }
            fn run_factor(
                isa: Isa,
                m: usize,
                work: factored::cpu::FactorWork<'_, '_, Self>,
            ) -> Option<usize> {
                with_rank!(isa, m, rank => dispatch::<Self, _>(isa, factored::cpu::Factor { rank, work }))
            }
            fn run_factored(
                isa: Isa,
                m: usize,
                work: factored::cpu::SolveWork<'_, '_, Self>,
            ) -> Option<usize> {
                with_rank!(isa, m, rank => dispatch::<Self, _>(isa, factored::cpu::Solve { rank, work }))
            }
        }
    };
}
precision!(Single, f32, f32, F32x16, F32x8, 4, "f32");
precision!(Double, f64, f64, F64x8, F64x4, 4, "f64");
precision!(Mixed, f32, f64, F64x8, F64x4, 4, "mixed");
