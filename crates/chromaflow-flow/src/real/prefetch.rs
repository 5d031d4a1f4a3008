//! Records asked for before they are needed.

/// Brings the beginning of `records[index]` towards the caches, where the machine can: what loops that jump through
/// memory tell a few steps ahead. Any index is allowed.
#[inline(always)]
pub fn prefetch<T>(records: &[T], index: u32) {
    chromaflow_device::prefetch::<1, T>(records.as_ptr().wrapping_add(index as usize));
}
