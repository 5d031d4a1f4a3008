#![allow(unsafe_code)]
//! Launches of walls.cu.

use crate::gpu::{ALONG, Params, blocks, source, upload_structs};
use crate::wall_law::LawNode;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Share, Stream, Write};
use chromaflow_device::{enqueue, kernels};

kernels! {
    struct Kernels {
        replace_shear: ReplaceShear {
            count: u32, layers: Read<LawNode<f64>>, nodes: Read<f64>, params: Read<Params>,
            before: Write<f64>, gradients: Share<f64>,
        },
        replace_shear_along: ReplaceShearAlong {
            count: u32, layers: Read<LawNode<f64>>, nodes: Read<f64>, along: Read<f64>, params: Read<Params>,
            before: Read<f64>, slopes: Share<f64>,
        },
    }
}

/// For gradients of the velocity and of one quantity besides, or of two.
pub(crate) fn kernel_source(two: bool) -> KernelSource {
    let text = source("walls", ALONG, include_str!("walls.cu")).records::<Kernels>();
    text.define("GRADIENTS", if two { 15 } else { 12 })
}

/// Nodes next to walls with laws on a device; none where there are no such walls. **Twin**: [`replace_shear`](super::replace_shear).
/// **Launch shape**: a thread a node.
pub struct ShearCuda {
    layers: DeviceBuffer<u64>,
    count: usize,
    /// Gradients of the velocity without the law, `[count, 9]`.
    before: DeviceBuffer<f64>,
    kernels: Kernels,
}

impl ShearCuda {
    /// A copy of `layers`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, layers: &[LawNode<f64>], two: bool) -> Result<Option<Self>, GpuError> {
        if layers.is_empty() {
            return Ok(None);
        }
        let module = stream.gpu().module(&kernel_source(two))?;
        Ok(Some(Self {
            layers: upload_structs(stream, layers)?,
            count: layers.len(),
            before: DeviceBuffer::zeroed(stream, 9 * layers.len())?,
            kernels: Kernels::of(&module)?,
        }))
    }

    /// Replaces the shear in gradients.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn replace(
        &self,
        stream: &Stream,
        params: &Params,
        nodes: &DeviceBuffer<f64>,
        gradients: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        // SAFETY: the nodes of the list are rows, each once.
        Ok(unsafe {
            enqueue! { self.kernels.replace_shear.launch(blocks(self.count, 128), 128), stream, ReplaceShear {
                count: self.count as u32, layers: &self.layers, nodes, params: &params.values,
                before: &self.before, gradients,
            } }
        }?)
    }

    /// The same of derivatives along a direction, after [`Self::replace`].
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn replace_along(
        &self,
        stream: &Stream,
        params: &Params,
        [nodes, along]: [&DeviceBuffer<f64>; 2],
        slopes: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        // SAFETY: the nodes of the list are rows, each once.
        Ok(unsafe {
            enqueue! { self.kernels.replace_shear_along.launch(blocks(self.count, 128), 128), stream, ReplaceShearAlong {
                count: self.count as u32, layers: &self.layers, nodes, along, params: &params.values,
                before: &self.before, slopes,
            } }
        }?)
    }
}
