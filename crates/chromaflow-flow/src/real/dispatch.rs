#![allow(unsafe_code)]
//! One loop over lanes, compiled for every instruction set, chosen at run time.

use super::Lanes;
use super::portable::Portable;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2, Avx512};
use chromaflow_device::Isa;

/// A loop over lanes: a struct of what it reads and writes, and its body generic over the lane type.
///
/// The body must be `#[inline(always)]`, and so must be what it calls: only what is inlined into
/// [`dispatch`]'s copies is compiled for their instructions. The same goes for closures passed to something that is
/// not inlined: prefer plain `for` loops.
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
    match isa.min(Isa::detect()) {
        // SAFETY: detect() found AVX-512 F, BW, DQ, VL.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx512 => unsafe { avx512(kernel) },
        // SAFETY: detect() found AVX2 and FMA.
        #[cfg(target_arch = "x86_64")]
        Isa::Avx2 => unsafe { avx2(kernel) },
        _ => kernel.run::<Portable>(),
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
fn avx512<K: LaneKernel>(kernel: K) -> K::Output {
    kernel.run::<Avx512>()
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
fn avx2<K: LaneKernel>(kernel: K) -> K::Output {
    kernel.run::<Avx2>()
}
