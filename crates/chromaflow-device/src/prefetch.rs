#![allow(unsafe_code)]
//! Memory asked for before it is needed.

/// Asks for the cache line at `at`, which may lie anywhere, in the first-level cache (`LEVEL` 1) or the second; nothing where a machine
/// has no such instruction.
#[inline(always)]
pub fn prefetch<const LEVEL: u8, T>(at: *const T) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        // SAFETY: a hint that reads nothing.
        unsafe {
            match LEVEL {
                1 => _mm_prefetch::<_MM_HINT_T0>(at.cast()),
                _ => _mm_prefetch::<_MM_HINT_T1>(at.cast()),
            }
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}
