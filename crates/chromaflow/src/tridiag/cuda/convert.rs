#![allow(unsafe_code)]
//! Arrays in device memory from one layout into another.

use super::arguments::Rearrange;
use crate::tridiag::{Layout, Shape};
use bytemuck::Pod;
use chromaflow_device::cuda::{CudaError, DeviceBuffer, Kernel, KernelSource, Read, Stream, Write};

/// The kernel's text for arrays of `store`.
pub(super) fn source(store: &'static str) -> KernelSource {
    KernelSource::new("tridiag_layout", include_str!("layout.cu"))
        .record::<Rearrange>()
        .define("STORE", store)
}

/// Rearranges arrays of the batches of one shape.
pub(super) struct Convert {
    kernel: Kernel,
    systems: usize,
}

/// Systems side by side in a group.
fn lanes(layout: Layout, systems: usize) -> usize {
    match layout {
        Layout::Aos => 1,
        Layout::Soa => systems,
        Layout::Interleaved { lanes } => lanes,
        Layout::Strided { .. } => unreachable!("refused when the solver is made"),
    }
}

impl Convert {
    pub fn new(stream: &Stream, shape: Shape, store: &'static str) -> Result<Self, CudaError> {
        Ok(Self { kernel: stream.gpu().module(&source(store))?.kernel("convert")?, systems: shape.systems })
    }

    /// Enqueues the copy of an array with `inner` entries a system.
    pub fn enqueue<S: Pod>(
        &self,
        stream: &Stream,
        inner: usize,
        (from, from_layout): (&DeviceBuffer<S>, Layout),
        (to, to_layout): (&DeviceBuffer<S>, Layout),
    ) -> Result<(), CudaError> {
        let systems = self.systems;
        assert!(from.len().min(to.len()) >= inner * systems, "arrays of {systems} systems x {inner}");
        let blocks = systems.div_ceil(32) * inner.div_ceil(32);
        let [lanes_from, lanes_to] = [from_layout, to_layout].map(|l| lanes(l, systems) as i32);
        let (from, to) = (Read::at(from.ptr()), Write::at(to.ptr()));
        let (inner, systems) = (inner as i64, systems as i32);
        let arguments = Rearrange { from, to, inner, systems, lanes_from, lanes_to };
        // SAFETY: both arrays hold every entry of every system (checked above; groups of lanes are padded to whole ones by
        // their layout); the kernel touches no other.
        unsafe { self.kernel.launch(blocks, 256).record(&arguments).enqueue(stream) }
    }
}
