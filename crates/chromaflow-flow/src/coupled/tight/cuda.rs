#![allow(unsafe_code)]
//! Launches of tight.cu.

use super::super::FACES;
use super::arguments::{
    JointHeld, JointLaws, JointMirrors, JointPlanar, JointResidual, JointRows, JointState, JointWalls,
    JointWeights, Kernels,
};
use crate::config::FlowConfig;
use crate::coupled::{CoupledSystemCuda, FlowView, FlowViewCuda};
use crate::equations::perfect_gas::N;
use crate::gas::Transport;
use crate::gpu::{Params, blocks, source};
use crate::gradient::cuda::MirrorsCuda;
use crate::jacobian::cuda::Target;
use crate::march::FlowError;
use crate::march::linear::{LinearCuda, Shape};
use chromaflow::RowBatches;
use chromaflow::gpu::{DeviceJacobian, GpuError, ShareCuda, Storage};
use chromaflow_device::cuda::{DeviceBuffer, KernelSource, Read, Share, Stream, Write};
use chromaflow_device::enqueue;
use std::sync::Arc;

/// `NodeSlopes`, for kernels that fill and read them.
pub const NODE_SLOPES: &str = include_str!("slopes.cuh");

/// Numbers of [`NodeSlopes`](super::NodeSlopes).
const SLOPES: usize = 14;

fn kernel_source(nb: usize, stored: usize) -> KernelSource {
    let tables = format!("{FACES}{NODE_SLOPES}");
    let text = source("tight", &tables, include_str!("tight.cu")).records::<Kernels>();
    text.define("NB", nb).define("STORED", stored)
}

/// For one unknown and for two, each with off-diagonal values of both sizes.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    [(1, 4), (1, 8), (2, 4), (2, 8)].map(|(nb, stored)| kernel_source(nb, stored)).to_vec()
}

/// Those that [`TightCuda::new`] asks for beside a system of `nb` unknowns.
pub(crate) fn sources_of(nb: usize, config: &FlowConfig, shape: &Shape) -> Vec<KernelSource> {
    let stored = Storage::from(config.implicit.policy).assembled().bytes();
    let mut sources = vec![kernel_source(nb, stored)];
    sources.extend(LinearCuda::kernel_sources(&config.implicit, N + nb, false, shape).0);
    sources
}

/// The one matrix on the device. **Twin**: [`Tight`](super::Tight). **Launch shapes**: a thread a row for the blocks, a warp a node of the boundary, a thread a
/// number of vectors.
pub(crate) struct TightCuda {
    nb: usize,
    pub linear: LinearCuda,
    kernels: Kernels,
    /// As the flow has them, of a gas without viscosity.
    without_gas: Params,
    ones: DeviceBuffer<f64>,
    unit_fluxes: DeviceBuffer<f64>,
    slopes: DeviceBuffer<f64>,
    weights: DeviceBuffer<f64>,
    /// Nodes whose shear is that of a law of the wall.
    laws: DeviceBuffer<u32>,
    b: DeviceBuffer<f64>,
    x: DeviceBuffer<f64>,
}

/// Nodes of the flow's boundary whose rows are replaced.
pub(crate) struct Replaced<'a> {
    /// `WallNode`, and how many.
    pub walls: (usize, &'a DeviceBuffer<u64>),
    pub mirrors: &'a MirrorsCuda,
    pub held: &'a DeviceBuffer<u32>,
}

impl TightCuda {
    /// For a flow and a system of `nb` unknowns beside it; `params` makes the numbers of the set-up with another transport.
    ///
    /// # Errors
    /// [`FlowError::Gpu`], [`FlowError::Linear`].
    pub fn new(
        stream: &Stream,
        flow: &FlowView<'_>,
        nb: usize,
        batches: &RowBatches,
        share: Option<&Arc<ShareCuda>>,
        params: impl FnOnce(Transport<f64>) -> Result<Params, GpuError>,
    ) -> Result<Self, FlowError> {
        let (n, implicit) = (flow.dual.nodes(), &flow.config.implicit);
        let stored = if Storage::from(implicit.policy) == Storage::F64 { 8 } else { 4 };
        let module = stream.gpu().module(&kernel_source(nb, stored))?;
        let transport = flow.transport.ok_or(FlowError::TurbulenceInviscid)?;
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        let laws: Vec<u32> = flow.laws[1].iter().map(|law| law.node).collect();
        Ok(Self {
            nb,
            linear: LinearCuda::new(stream, &flow.dual.pattern, N + nb, batches, implicit, false, share)?,
            kernels: Kernels::of(&module)?,
            without_gas: params(Transport { scale: 0.0, ..transport })?,
            ones: stream.upload(&vec![1.0; n])?,
            unit_fluxes: buffer(N * flow.dual.edges.len())?,
            slopes: buffer(SLOPES * nb * n)?,
            weights: buffer(nb * n)?,
            laws: stream.upload(&laws)?,
            b: buffer((N + nb) * n)?,
            x: buffer((N + nb) * n)?,
        })
    }

    /// Enqueues the matrix from the flow's, `own`, and the system's, both as assembled.
    ///
    /// # Errors
    /// The device's.
    pub fn fill(
        &mut self,
        flow: &FlowViewCuda<'_>,
        own: &DeviceJacobian,
        system: &mut CoupledSystemCuda,
        planar: bool,
        replaced: &Replaced<'_>,
    ) -> Result<(), GpuError> {
        let (stream, mesh, n, nb, k) = (flow.stream, flow.mesh, flow.mesh.rows, self.nb, &self.kernels);
        let viscous = flow.viscous.expect("turbulence is beside viscous flow");
        self.unit_fluxes.fill_bytes(0)?;
        let eddies = [Some(&self.ones), system.relation()];
        viscous.subtract(stream, &self.without_gas, flow.nodes, eddies, &mut self.unit_fluxes)?;
        system.slopes(flow, &self.slopes)?;
        let (parts, Target::Rows(jacobian, _)) = (system.joint()?, self.linear.target(false)?) else {
            unreachable!("set up for blocks in the order of the pattern")
        };
        let (carried, values) = (parts.physics.carried().0, &parts.state.values);
        assert!(
            own.nb() == N && jacobian.nb() == N + nb && parts.jacobian.nb() == nb && values.len() == nb * n
        );
        assert!(own.pattern().rows() == n && jacobian.pattern().rows() == n);
        let [own_off, beside_off] = [own.off.assembled()?, parts.jacobian.off.assembled()?].map(Read::at);
        let off = jacobian.off.assembled()?;
        let (held, given) = (replaced.held, &parts.state.held);
        // SAFETY: matrices have the mesh's pattern, whose positions name edges, and off-diagonal values of the size that the kernels were made for; vectors
        // have the lengths of their set-up, for this mesh; the nodes of lists are rows.
        unsafe {
            if planar {
                enqueue! { k.joint_planar.launch(blocks(mesh.edges, 256), 256), stream, JointPlanar {
                    edges: mesh.edges as u32, fluxes: &self.unit_fluxes,
                } }?;
            }
            enqueue! { k.joint_weights.launch(blocks(nb * n, 256), 256), stream, JointWeights {
                rows: n as u32, floors: parts.floors, values, weights: &self.weights,
            } }?;
            enqueue! { k.joint_laws.launch(blocks(self.laws.len(), 128), 128), stream, JointLaws {
                count: self.laws.len() as u32, node_of: &self.laws, slopes: &self.slopes,
            } }?;
            enqueue! { k.joint_rows.launch(blocks(n, 128), 128), stream, JointRows {
                rows: n as u32, row_ptr: &mesh.row_ptr, col_idx: &mesh.col_idx,
                signed_edge: &mesh.signed_edge, areas: &mesh.areas, nodes: flow.nodes,
                volumes: &mesh.volumes, fluxes: flow.fluxes, unit_fluxes: &self.unit_fluxes,
                diffused: parts.physics.diffused().expect("what drives the flow diffuses"),
                faces: &carried.faces, values, weights: &self.weights, slopes: &self.slopes,
                params: &flow.params.values, per_volume: u32::from(carried.is_per_volume()), own_off,
                own_diag: &own.diag, beside_off, beside_diag: &parts.jacobian.diag, off: Write::at(off),
                diag: &jacobian.diag,
            } }?;
            let (walls, mirrors) = (replaced.walls, replaced.mirrors);
            enqueue! { k.joint_walls.launch(blocks(walls.0, 4), 128), stream, JointWalls {
                count: walls.0 as u32, walls: walls.1, row_ptr: &mesh.row_ptr, off: Share::at(off),
                diag: &jacobian.diag,
            } }?;
            enqueue! { k.joint_mirrors.launch(blocks(mirrors.count, 4), 128), stream, JointMirrors {
                count: mirrors.count as u32, mirrors: &mirrors.nodes, row_ptr: &mesh.row_ptr,
                off: Share::at(off), diag: &jacobian.diag,
            } }?;
            enqueue! { k.joint_held.launch(blocks(held.len(), 4), 128), stream, JointHeld {
                count: held.len() as u32, node_of: held, row_ptr: &mesh.row_ptr, off: Share::at(off),
                diag: &jacobian.diag,
            } }?;
            enqueue! { k.joint_given.launch(blocks(given.len(), 4), 128), stream, JointHeld {
                count: given.len() as u32, node_of: given, row_ptr: &mesh.row_ptr, off: Share::at(off),
                diag: &jacobian.diag,
            } }?;
        }
        Ok(())
    }

    /// z = M^-1 r of both, residuals to states, none of them in units.
    ///
    /// # Errors
    /// The device's.
    pub fn precondition(
        &mut self,
        stream: &Stream,
        [r, beside_r]: [&DeviceBuffer<f64>; 2],
        [z, beside_z]: [&DeviceBuffer<f64>; 2],
    ) -> Result<(), GpuError> {
        self.gather(stream, r, beside_r)?;
        self.linear.precondition(&self.b, &mut self.x)?;
        self.scatter(stream, z, beside_z)
    }

    /// Solves for the updates of both; what is left of the residual, as [`LinearCuda::solve`] says.
    ///
    /// # Errors
    /// The device's.
    pub fn solve(
        &mut self,
        stream: &Stream,
        [residual, beside]: [&DeviceBuffer<f64>; 2],
        [update, of_beside]: [&DeviceBuffer<f64>; 2],
        measure: bool,
    ) -> Result<Option<f64>, GpuError> {
        self.gather(stream, residual, beside)?;
        let left = self.linear.solve(&self.b, &mut self.x, measure)?;
        self.scatter(stream, update, of_beside)?;
        Ok(left)
    }

    fn rows(&self) -> usize {
        self.ones.len()
    }

    fn gather(
        &self,
        stream: &Stream,
        own: &DeviceBuffer<f64>,
        beside: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(own.len() == N * self.rows() && beside.len() == self.weights.len());
        // SAFETY: vectors have so many numbers a row.
        Ok(unsafe {
            enqueue! { self.kernels.joint_residual.launch(blocks(self.b.len(), 256), 256), stream, JointResidual {
                rows: self.rows() as u32, own, beside, weights: &self.weights, out: &self.b,
            } }
        }?)
    }

    fn scatter(
        &self,
        stream: &Stream,
        own: &DeviceBuffer<f64>,
        beside: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        assert!(own.len() == N * self.rows() && beside.len() == self.weights.len());
        // SAFETY: vectors have so many numbers a row.
        Ok(unsafe {
            enqueue! { self.kernels.joint_state.launch(blocks(self.x.len(), 256), 256), stream, JointState {
                rows: self.rows() as u32, from: &self.x, weights: &self.weights, own, beside,
            } }
        }?)
    }
}
