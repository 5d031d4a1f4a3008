#![allow(unsafe_code)]
//! Launches of turned.cu.

use super::TurnedEdges;
use crate::gpu::{AddedCuda, Params, blocks, source};
use crate::residual::arguments::EdgeFluxes;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Share, Stream, Write};
use chromaflow_device::{enqueue, kernels};

kernels! {
    struct Kernels {
        turned_ends: TurnedEnds {
            count: u32, ends: Read<u32>, factors: Read<[u32; 2]>, turns: Read<f64>, nodes: Read<f64>,
            gradients: Read<f64>, limits: Read<f64>, to_nodes: Write<f64>, to_gradients: Write<f64>,
            to_limits: Write<f64>,
        },
        turned_back: TurnedBack {
            count: u32, edges: Read<u32>, turns: Read<f64>, from: Read<f64>, fluxes: Share<f64>,
        },
    }
}

pub(crate) fn kernel_source() -> KernelSource {
    source("turned", "", include_str!("turned.cu")).records::<Kernels>()
}

/// Edges at the seam of turned sides on the device, with what their fluxes are made from.
///
/// **Twin**: [`Inviscid::turned_fluxes`](crate::residual::Inviscid::turned_fluxes). **Launch shapes**: a thread an end, a thread an edge.
pub struct TurnedCuda {
    count: usize,
    edges: DeviceBuffer<u32>,
    ends: DeviceBuffer<u32>,
    /// The row whose factors of limiters each has, and whether they are turned.
    factors: DeviceBuffer<u32>,
    /// Places of the ends among those that are turned.
    places: DeviceBuffer<u32>,
    turns: DeviceBuffer<f64>,
    areas: DeviceBuffer<f64>,
    mapped: AddedCuda,
    moments: DeviceBuffer<f64>,
    nodes: DeviceBuffer<f64>,
    gradients: DeviceBuffer<f64>,
    limits: DeviceBuffer<f64>,
    fluxes: DeviceBuffer<f64>,
    kernels: Kernels,
}

impl TurnedCuda {
    /// None where there are no such edges.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream, turned: &TurnedEdges) -> Result<Option<Self>, GpuError> {
        let count = turned.edges.len();
        if count == 0 {
            return Ok(None);
        }
        let module = stream.gpu().module(&kernel_source())?;
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        let factors = turned.factors.iter().flat_map(|&(row, turns)| [row, u32::from(turns)]);
        let factors: Vec<u32> = factors.collect();
        let places: Vec<u32> = (0..2 * count as u32).collect();
        Ok(Some(Self {
            count,
            edges: stream.upload(&turned.edges)?,
            ends: stream.upload(&turned.ends)?,
            factors: stream.upload(&factors)?,
            places: stream.upload(&places)?,
            turns: stream.upload(turned.turns.as_flattened().as_flattened())?,
            areas: stream.upload(turned.areas.as_flattened())?,
            mapped: AddedCuda::new(stream, &turned.mapped)?,
            moments: stream.upload(turned.moments.as_flattened().as_flattened())?,
            nodes: buffer(16 * count)?,
            gradients: buffer(32 * count)?,
            limits: buffer(10 * count)?,
            fluxes: buffer(5 * count)?,
            kernels: Kernels::of(&module)?,
        }))
    }

    /// Replaces the fluxes of these edges, by the kernel of edges of second order; `limits` where a limiter is node-wise.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn replace(
        &self,
        stream: &Stream,
        (kernel, params): (&Kernel, &Params),
        [nodes, gradients]: [&DeviceBuffer<f64>; 2],
        limits: Option<&DeviceBuffer<f64>>,
        fluxes: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(nodes.len() / 8 == gradients.len() / 16);
        let (count, Kernels { turned_ends: ends, turned_back: back }) = (self.count, &self.kernels);
        // SAFETY: ends are rows of the mesh and edges those of it; scratch arrays have room for two ends an edge.
        unsafe {
            enqueue! { ends.launch(blocks(2 * count, 128), 128), stream, TurnedEnds {
                count: 2 * count as u32, ends: &self.ends, factors: &self.factors, turns: &self.turns, nodes,
                gradients, limits, to_nodes: &self.nodes, to_gradients: &self.gradients,
                to_limits: &self.limits,
            } }?;
            enqueue! { kernel.launch(blocks(count, 128), 128), stream, EdgeFluxes {
                edges: count as u32, ends: &self.places, areas: &self.areas, nodes: &self.nodes,
                gradients: &self.gradients, limits: &self.limits, mapped_first: self.mapped.first(), mapped: self.mapped.values(),
                moments: &self.moments, params: &params.values, out: &self.fluxes,
            } }?;
            enqueue! { back.launch(blocks(count, 128), 128), stream, TurnedBack {
                count: count as u32, edges: &self.edges, turns: &self.turns, from: &self.fluxes,
                fluxes: &*fluxes,
            } }?;
        }
        Ok(())
    }
}
