#![allow(unsafe_code)]
//! The scalar that pointwise physics is written for.
//!
//! Fluxes, boundary states, limiters and viscous terms are plain generic functions over [`Real`]. Put in for `T`
//! * `f64` or `f32`, they are ordinary functions;
//! * a [`Lanes`] type, they compute eight edges or nodes at once, see [`dispatch()`];
//! * a [`Dual`], they give their own derivatives.
//!
//! The same texts are emitted as CUDA C++. That holds as long as they keep to **the subset**:
//! * free functions, generic over `T: Real` only, each `#[inline(always)]`; structs of scalars and arrays, fixed
//!   arrays `[T; 5]`, tuples; enums without data; constants;
//! * loops `for i in 0..5` with constant bounds;
//! * `if`, `match` and early `return` only on what is the same for all lanes (booleans, integers, enums), never on
//!   a `T`: a choice by value is `T::select(a.lt(b), x, y)`, `min`, `max` or `abs`;
//! * constants as `T::c(1.4)`; no method besides those of [`Real`] and [`Mask`]; no closures, no allocation, no
//!   references stored in structs.
//!
//! **Precision.** No operation is fused or reordered, so a lane holds the very bits of the scalar function, on every
//! instruction set. `exp`, `ln`, `atan` and `powf` call the scalar library function per lane.

mod dual;
#[cfg(test)]
mod tests;

pub use chromaflow_simd::{LANES, Lanes, Mask, Packet, Real};
pub use dual::Dual;

use chromaflow_device::Isa;
use chromaflow_simd::{Kernel, Simd};

/// A loop over eight lanes at a time: a [`Kernel`] whose body sees nothing of an instruction set but [`Lanes`].
///
/// The body must be `#[inline(always)]`, and so must be what it calls. The same goes for closures passed to something that is not
/// inlined: prefer plain `for` loops.
///
/// ```
/// use chromaflow_device::Isa;
/// use chromaflow_flow::real::{LaneKernel, Lanes, Packet, Real, dispatch};
///
/// struct Roots<'a>(&'a mut [Packet]);
/// impl LaneKernel for Roots<'_> {
///     type Output = ();
///     #[inline(always)]
///     fn run<V: Lanes>(self) {
///         for packet in self.0 {
///             V::load(packet).sqrt().store(packet);
///         }
///     }
/// }
/// let mut data = [Packet([4.0; 8]); 3];
/// dispatch(Isa::detect(), Roots(&mut data));
/// assert_eq!(data[2].0, [2.0; 8]);
/// ```
pub trait LaneKernel {
    /// What the loop gives back.
    type Output;
    /// The loop.
    fn run<V: Lanes>(self) -> Self::Output;
}

/// Runs `kernel` with the instructions of `isa`, or with weaker ones where the machine lacks those. All give the same
/// bits.
pub fn dispatch<K: LaneKernel>(isa: Isa, kernel: K) -> K::Output {
    struct Eights<K>(K);
    impl<K: LaneKernel> Kernel for Eights<K> {
        type Output = K::Output;
        #[inline(always)]
        unsafe fn run<S: Simd>(self) -> K::Output {
            self.0.run::<S::Eight>()
        }
    }
    // SAFETY: a loop over lanes asks for nothing.
    unsafe { chromaflow_simd::dispatch(isa, Eights(kernel)) }
}

/// So many edges or neighbors before their use, loops ask for what they will gather.
pub const AHEAD: usize = 32;

/// Brings the beginning of `records[index]` towards the caches, where the machine can: what loops that jump through
/// memory tell a few steps ahead. Any index is allowed.
#[inline(always)]
pub fn prefetch<T>(records: &[T], index: u32) {
    chromaflow_device::prefetch::<1, T>(records.as_ptr().wrapping_add(index as usize));
}
