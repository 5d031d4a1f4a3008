#![allow(unsafe_code, unsafe_op_in_unsafe_fn)]
//! AVX-512 and AVX2 registers.
//!
//! SAFETY of this folder: intrinsics need their instruction set. The types below cannot be named outside this crate, and
//! [`dispatch`](crate::dispatch()) alone brings them to life, after the machine was asked for the set. Pointers are accessed within
//! the bounds that [`Vector`](crate::Vector), [`Load`](crate::Load), [`Store`](crate::Store) and the like ask of their callers.

use crate::eight::Pair;
use crate::{Kernel, Simd};

/// Intrinsics called from where their instruction set is.
macro_rules! there {
    ($call:expr) => {
        // SAFETY: as said at the top of the folder.
        unsafe { $call }
    };
}

mod eight;
mod four;
mod memory;
mod registers;

use registers::{F32x8, F32x16, F64x4, F64x8};

/// AVX-512 F, BW, DQ, VL.
#[derive(Clone, Copy)]
pub struct Avx512;
/// AVX2, FMA, F16C.
#[derive(Clone, Copy)]
pub struct Avx2;

impl Simd for Avx512 {
    type F32 = F32x16;
    type F64 = F64x8;
    type Eight = F64x8;
    #[inline(always)]
    unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c")]
        unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<Avx512>()
        }
        run(kernel)
    }
}

impl Simd for Avx2 {
    type F32 = F32x8;
    type F64 = F64x4;
    type Eight = Pair<F64x4>;
    #[inline(always)]
    unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn run<K: Kernel>(kernel: K) -> K::Output {
            kernel.run::<Avx2>()
        }
        run(kernel)
    }
}

pub(crate) fn flush() {
    // Every processor of this architecture has the instruction.
    there!(std::arch::x86_64::_mm_sfence());
}
