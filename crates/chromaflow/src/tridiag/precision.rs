//! Which numbers a line solver stores and which it computes with.

use super::block::with_rank;
use super::factored;
use super::lanes::dispatch;
use super::pentadiagonal;
use super::thomas::cpu::{Thomas, Work};
use super::whole::{Engine, Whole};
use chromaflow_device::Isa;
use chromaflow_simd::{Columns, Elem, Simd};

/// What the coefficients, right-hand sides and solutions of a batch are stored in, and what is computed with:
/// [`Single`], [`Double`] or [`Mixed`].
pub trait Precision: Sized + Copy + Send + Sync + 'static {
    /// The type of the arrays.
    type Store: Elem;
    /// The type of factors and sums.
    type Sum: Elem;
    /// Vectors of sums, a system in each lane.
    #[doc(hidden)]
    type Lanes<S: Simd>: Columns<Self::Store>;
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
    ($name:ident, $store:ty, $sum:ty, $lanes:ident, $text:literal) => {
        impl Precision for $name {
            type Store = $store;
            type Sum = $sum;
            type Lanes<S: Simd> = S::$lanes;
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
precision!(Single, f32, f32, F32, "f32");
precision!(Double, f64, f64, F64, "f64");
precision!(Mixed, f32, f64, F64, "mixed");
