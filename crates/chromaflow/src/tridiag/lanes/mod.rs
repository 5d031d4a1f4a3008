#![allow(unsafe_code)]
//! Vectors whose lanes are different systems: every operation of a line solver acts on `W` systems at once.
//!
//! The traits are implemented for AVX-512, AVX2 and portable arrays. Code written over them must be `#[inline(always)]`
//! all the way down from [`dispatch`], so that it is compiled with the instructions of the chosen set.

mod portable;
pub use portable::Portable;
#[cfg(target_arch = "x86_64")]
pub mod x86;

use super::precision::Precision;
use super::whole::{Engine, Line};
use chromaflow_device::Isa;

/// `W` numbers, one of each of `W` systems.
pub trait Lane: Copy + Send + Sync + 'static {
    /// Number of lanes.
    const W: usize;
    /// The same value in every lane.
    fn splat(value: f64) -> Self;
    /// self + other.
    fn add(self, other: Self) -> Self;
    /// self - other.
    fn sub(self, other: Self) -> Self;
    /// self * other.
    fn mul(self, other: Self) -> Self;
    /// self - a b (fused where the instruction set has it).
    fn sub_mul(self, a: Self, b: Self) -> Self;
    /// 1 / self.
    fn recip(self) -> Self;
    /// True if any lane is NaN.
    fn any_nan(self) -> bool;
    /// Solves a whole line: compiled once for each lane type.
    fn solve_line(engine: Engine, line: &mut Line<'_, Self>);
}

/// Memory access of a [`Lane`] to arrays of `S`.
pub trait LaneIo<S: Copy>: Lane {
    /// Reads `W` consecutive values.
    ///
    /// # Safety
    /// `from` must be valid for reading `W` values; no alignment beyond that of `S` is needed.
    unsafe fn load(from: *const S) -> Self;

    /// Writes `W` consecutive values.
    ///
    /// # Safety
    /// `to` must be valid for writing `W` values.
    unsafe fn store(self, to: *mut S);

    /// Whether [`LaneIo::store_past`] is more than a store.
    const PAST_CACHES: bool = false;

    /// Writes `W` consecutive values past the caches; a thread's last such store is followed by [`flush`].
    ///
    /// # Safety
    /// As [`LaneIo::store`]; `to` must be aligned to a cache line of 64 bytes.
    #[inline(always)]
    unsafe fn store_past(self, to: *mut S) {
        // SAFETY: the caller's promise, passed on.
        unsafe { self.store(to) };
    }

    /// Gathers `W` arrays that lie `stride` apart into one of interleaved lanes: `to[j * W + l] = from[l * stride + j]`
    /// for `j < len`.
    ///
    /// # Safety
    /// `from` must be valid for reading `len` values at each of the `W` multiples of `stride`, `to` for writing
    /// `len * W` values; they must not overlap.
    #[inline(always)]
    unsafe fn interleave(from: *const S, stride: usize, len: usize, to: *mut S) {
        for j in 0..len {
            for l in 0..Self::W {
                // SAFETY: l < W and j < len, as the caller promises.
                unsafe { *to.add(j * Self::W + l) = *from.add(l * stride + j) };
            }
        }
    }

    /// The same into vectors: lane l of `to[j]` from `from[l * stride + j]`, for `j < len`.
    ///
    /// # Safety
    /// `from` must be valid for reading `len` values at each of the `W` multiples of `stride`.
    #[inline(always)]
    unsafe fn columns(from: *const S, stride: usize, len: usize, to: &mut [Self]) {
        const { assert!(Self::W <= 16) };
        for (j, to) in to[..len].iter_mut().enumerate() {
            // SAFETY: l < W and j < len, as the caller promises; the array has W values.
            *to = unsafe {
                let mut lanes = [*from.add(j); 16];
                for l in 1..Self::W {
                    lanes[l] = *from.add(l * stride + j);
                }
                Self::load(lanes.as_ptr())
            };
        }
    }

    /// The inverse of [`LaneIo::interleave`]: `to[l * stride + j] = from[j * W + l]`; with `past`, where whole cache lines can be
    /// written, past the caches.
    ///
    /// # Safety
    /// As [`LaneIo::interleave`], with reading and writing exchanged.
    #[inline(always)]
    unsafe fn deinterleave(from: *const S, len: usize, to: *mut S, stride: usize, _past: bool) {
        for j in 0..len {
            for l in 0..Self::W {
                // SAFETY: l < W and j < len, as the caller promises.
                unsafe { *to.add(l * stride + j) = *from.add(j * Self::W + l) };
            }
        }
    }
}

/// Makes stores past the caches visible to other threads, as ordinary ones are.
pub fn flush() {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every processor of this architecture has the instruction.
    unsafe {
        core::arch::x86_64::_mm_sfence();
    }
}

/// A computation that can run with any lane type.
pub trait WithLanes<P: Precision> {
    /// Whether it is compiled for machines without vector instructions; nobody may ask for it there otherwise.
    const PORTABLE: bool = true;
    /// What it returns.
    type Output;
    /// Runs it; implementations are `#[inline(always)]`.
    fn run<L: LaneIo<P::Store>>(self) -> Self::Output;
}

/// Runs `work` with the lanes of an instruction set.
#[cfg(target_arch = "x86_64")]
pub fn dispatch<P: Precision, K: WithLanes<P>>(isa: Isa, work: K) -> K::Output {
    #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
    unsafe fn avx512<P: Precision, K: WithLanes<P>>(work: K) -> K::Output {
        work.run::<P::Avx512>()
    }
    #[target_feature(enable = "avx2,fma")]
    unsafe fn avx2<P: Precision, K: WithLanes<P>>(work: K) -> K::Output {
        work.run::<P::Avx2>()
    }
    match isa {
        // SAFETY: `Solver` keeps only instruction sets that this processor has.
        Isa::Avx512 => unsafe { avx512::<P, K>(work) },
        // SAFETY: as above.
        Isa::Avx2 => unsafe { avx2::<P, K>(work) },
        Isa::Portable if K::PORTABLE => work.run::<P::Portable>(),
        Isa::Portable => unreachable!("machines without vector instructions take ranks known at run time"),
    }
}

/// Runs `work` with portable lanes, the only ones there are.
#[cfg(not(target_arch = "x86_64"))]
pub fn dispatch<P: Precision, K: WithLanes<P>>(_: Isa, work: K) -> K::Output {
    work.run::<P::Portable>()
}

/// Number of systems that one vector of an instruction set holds: interleaved storage by this number is read
/// without rearranging.
pub fn width<P: Precision>(isa: Isa) -> usize {
    match isa {
        Isa::Avx512 => P::Avx512::W,
        Isa::Avx2 => P::Avx2::W,
        Isa::Portable => P::Portable::W,
    }
}
