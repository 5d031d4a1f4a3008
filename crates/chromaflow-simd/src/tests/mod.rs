#![allow(unsafe_code)]
//! Every set of this machine against scalars and plain loops.

mod arithmetic;
mod memory;
mod records;

use crate::{Kernel, Simd, dispatch};
use chromaflow_device::Isa;

/// What a test does with the types of a set.
trait Check {
    fn check<S: Simd>(&self, isa: Isa);
}

/// Does it for all sets of this machine.
fn everywhere(check: &impl Check) {
    struct In<'a, C>(&'a C, Isa);
    impl<C: Check> Kernel for In<'_, C> {
        type Output = ();
        #[inline(always)]
        unsafe fn run<S: Simd>(self) {
            self.0.check::<S>(self.1);
        }
    }
    for isa in Isa::available() {
        // SAFETY: tests ask for nothing.
        unsafe { dispatch(isa, In(check, isa)) };
    }
}
