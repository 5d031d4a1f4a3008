//! The rim: the only place where run-time choices become types.
//!
//! Block sizes of [`with_size!`]'s list are compiled as constants, all others (up to 128) run with a size known at run
//! time. **Development builds compile only 1, 4, 5 and 6 as constants**, so that they stay quick; tests reach every
//! size in both kinds of build. The instruction set becomes a type in [`crate::simd::dispatch`], the policy in
//! [`with_policy!`].

/// A block size: a constant of the type, or a value.
pub(crate) trait Size: Copy + Sync {
    /// The size, if the compiler knows it, else 0.
    const KNOWN: usize;
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
    #[inline(always)]
    fn get(self) -> usize {
        NB
    }
}

impl Size for Dynamic {
    const KNOWN: usize = 0;
    #[inline(always)]
    fn get(self) -> usize {
        self.0
    }
}

/// Evaluates an expression with `$size` bound to the [`Size`] that stands for the block size `$nb`.
macro_rules! with_size {
    ($nb:expr, $size:ident => $body:expr) => {
        $crate::rim::with_size!(@list $nb, $size => $body, always: 1 4 5 6, release: 2 3 7 8 10 12 16 20 24 32)
    };
    (@list $nb:expr, $size:ident => $body:expr, always: $($a:literal)*, release: $($r:literal)*) => {
        match $nb {
            $($a => { let $size = $crate::rim::Fixed::<$a>; $body })*
            $(#[cfg(not(debug_assertions))] $r => { let $size = $crate::rim::Fixed::<$r>; $body })*
            nb => { let $size = $crate::rim::Dynamic(nb); $body }
        }
    };
}
pub(crate) use with_size;
