//! Incomplete factorizations.

pub mod block_ilu;
pub mod structured_ilu;

/// Words of the findings of a factorization on a device: the first singular row, the number of pivoted rows, the bits of the
/// largest shift, then pivoted rows (as in device.cuh).
#[cfg(feature = "cuda")]
const FINDINGS: usize = 4 + PIVOTED;
/// How many pivoted rows are remembered by number.
#[cfg(feature = "cuda")]
const PIVOTED: usize = 1020;

/// A kernel file behind what factorizations share.
#[cfg(feature = "cuda")]
fn device_source(name: &'static str, text: &str, nb: usize) -> chromaflow_device::cuda::KernelSource {
    let text = format!("{}\n#line 1 \"{name}.cu\"\n{text}", include_str!("device.cuh"));
    let source = crate::gpu::source(name, &text, crate::gpu::Storage::F64);
    source.define("NB", nb).define("MOST_FINDINGS", PIVOTED)
}
