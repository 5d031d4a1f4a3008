#![allow(unsafe_code)]
//! Memory asked for before it is needed.

/// Brings the beginning of `records[index]` towards the caches, where the machine can: what loops that jump through
/// memory tell a few steps ahead. Any index is allowed.
#[inline(always)]
pub fn prefetch<T>(records: &[T], index: u32) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a hint, which reads nothing and may point anywhere.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(records.as_ptr().wrapping_add(index as usize).cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (records, index);
}
