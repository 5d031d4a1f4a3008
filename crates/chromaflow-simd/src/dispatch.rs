#![allow(unsafe_code)]
//! One loop, compiled for every instruction set, chosen at run time.

use crate::plain::Portable;
use crate::{Columns, Lanes, Load, Native, Store, Turn};
use chromaflow_device::Isa;
use half::f16;

/// The vector types of an instruction set. A type that implements it exists inside [`dispatch`] only, where the machine has
/// the set: its vectors rest on that.
pub trait Simd: Copy + Send + Sync + 'static {
    /// A register of f32.
    type F32: Native<Elem = f32, Set = Self> + Columns<f32> + Load<f16> + Store<f16>;
    /// A register of f64.
    type F64: Turn<Elem = f64, Set = Self> + Columns<f64> + Columns<f32> + Load<f16>;
    /// Eight f64, on every machine.
    type Eight: Lanes;
    /// Runs a kernel in a function of its own, compiled for this set.
    ///
    /// # Safety
    /// What the kernel asks for.
    unsafe fn run<K: Kernel>(kernel: K) -> K::Output;
}

/// A loop to be compiled for every instruction set: a struct of what it reads and writes, and its body.
///
/// The body must be `#[inline(always)]`, and so must be what it calls: only what is inlined into [`dispatch`]'s copies is compiled
/// for their instructions. The same goes for closures passed to something that is not inlined: prefer plain `for` loops.
pub trait Kernel {
    /// Whether it is compiled for machines without vector instructions; nobody may ask for it there otherwise.
    const PORTABLE: bool = true;
    /// What the loop gives back.
    type Output;
    /// The loop.
    ///
    /// # Safety
    /// What the implementation asks for: what its pointers reach over. The instruction set is no concern of the caller's.
    unsafe fn run<S: Simd>(self) -> Self::Output;
}

/// Runs `kernel` with the instructions of `isa`, or with weaker ones where the machine lacks those.
///
/// # Safety
/// What the kernel asks for.
///
/// # Panics
/// Where only plain arrays are left and the kernel is not compiled for them.
#[inline]
pub unsafe fn dispatch<K: Kernel>(isa: Isa, kernel: K) -> K::Output {
    // SAFETY: forwarded to the caller; the machine has the set.
    unsafe {
        match isa.min(Isa::strongest()) {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => crate::x86::Avx512::run(kernel),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => crate::x86::Avx2::run(kernel),
            _ if K::PORTABLE => Portable::run(kernel),
            _ => unreachable!("machines without vector instructions take sizes known at run time"),
        }
    }
}
