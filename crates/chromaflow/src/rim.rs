//! The rim: the only place where run-time choices become types.
//!
//! Block sizes of [`with_size!`]'s list are compiled as constants, all others (up to 128) run with a size known at run
//! time. Every constant is one more copy of a kernel for each instruction set and policy, so:
//!
//! * development builds compile only 1, 4, 5 and 6 as constants, so that they stay quick;
//! * kernels for which a constant gains less take a shorter list (`few:`);
//! * code without vector instructions is compiled for sizes known at run time alone, on machines that have any.
//!
//! Tests reach every size in both kinds of build. The instruction set becomes a type in [`chromaflow_simd::dispatch`], the
//! policy in [`crate::relax`].

use chromaflow_device::Isa;

/// A block size: a constant of the type, or a value.
pub(crate) trait Size: Copy + Sync {
    /// The size, if the compiler knows it, else 0.
    const KNOWN: usize;
    /// Whether kernels of this size are compiled without vector instructions.
    const PORTABLE: bool;
    /// The size.
    fn get(self) -> usize;
}

/// A block size known to the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Fixed<const NB: usize>;

/// A block size known at run time.
#[derive(Clone, Copy)]
pub(crate) struct Dynamic(pub usize);

impl<const NB: usize> Size for Fixed<NB> {
    const KNOWN: usize = NB;
    const PORTABLE: bool = cfg!(not(target_arch = "x86_64"));
    #[inline(always)]
    fn get(self) -> usize {
        NB
    }
}

impl Size for Dynamic {
    const KNOWN: usize = 0;
    const PORTABLE: bool = true;
    #[inline(always)]
    fn get(self) -> usize {
        self.0
    }
}

/// Whether kernels of constant sizes are there for an instruction set.
pub(crate) fn has_constant_sizes(isa: Isa) -> bool {
    Fixed::<1>::PORTABLE || isa != Isa::Portable
}

/// Evaluates an expression with `$size` bound to the [`Size`] that stands for the block size `$nb`.
macro_rules! with_size {
    ($isa:expr, $nb:expr, $size:ident => $body:expr) => {
        $crate::rim::with_size!(
            @list $isa, $nb, $size => $body, always: 1 4 5 6, release: 2 3 7 8 10 12 16 20 24 32
        )
    };
    (few: $isa:expr, $nb:expr, $size:ident => $body:expr) => {
        $crate::rim::with_size!(@list $isa, $nb, $size => $body, always: 1 4 5 6, release: 10 16)
    };
    (lines: $isa:expr, $nb:expr, $size:ident => $body:expr) => {
        $crate::rim::with_size!(@list $isa, $nb, $size => $body, always: 4 5, release: 2 3 6 7 8)
    };
    (@list $isa:expr, $nb:expr, $size:ident => $body:expr, always: $($a:literal)*, release: $($r:literal)*) => {
        match ($nb, $crate::rim::has_constant_sizes($isa)) {
            $(($a, true) => { let $size = $crate::rim::Fixed::<$a>; $body })*
            $(#[cfg(not(debug_assertions))] ($r, true) => { let $size = $crate::rim::Fixed::<$r>; $body })*
            (nb, _) => { let $size = $crate::rim::Dynamic(nb); $body }
        }
    };
}
pub(crate) use with_size;
