#![allow(unsafe_code)]
//! Vectors whose lanes are different systems: every operation of a line solver acts on as many systems at once as there are lanes.

use super::precision::Precision;
use chromaflow_device::Isa;
use chromaflow_simd::{Columns, Kernel, Simd};
use std::marker::PhantomData;

/// A computation that can run with the vectors of any instruction set.
pub trait WithLanes<P: Precision> {
    /// As [`Kernel::PORTABLE`].
    const PORTABLE: bool = true;
    /// What it returns.
    type Output;
    /// Runs it; implementations are `#[inline(always)]`, all the way down.
    fn run<L: Columns<P::Store>>(self) -> Self::Output;
}

/// Runs `work` with the vectors that a precision has in an instruction set.
pub fn dispatch<P: Precision, K: WithLanes<P>>(isa: Isa, work: K) -> K::Output {
    struct Lanes<P, K>(K, PhantomData<P>);
    impl<P: Precision, K: WithLanes<P>> Kernel for Lanes<P, K> {
        const PORTABLE: bool = K::PORTABLE;
        type Output = K::Output;
        #[inline(always)]
        unsafe fn run<S: Simd>(self) -> K::Output {
            self.0.run::<P::Lanes<S>>()
        }
    }
    // SAFETY: the work asks for nothing.
    unsafe { chromaflow_simd::dispatch(isa, Lanes::<P, K>(work, PhantomData)) }
}

/// Number of systems that one vector of an instruction set holds: interleaved storage by this number is read
/// without rearranging.
pub fn width<P: Precision>(isa: Isa) -> usize {
    struct Width;
    impl<P: Precision> WithLanes<P> for Width {
        type Output = usize;
        #[inline(always)]
        fn run<L: Columns<P::Store>>(self) -> usize {
            L::LANES
        }
    }
    dispatch::<P, _>(isa, Width)
}
