#![allow(unsafe_code)]
//! Systems beside a flow on a GPU. Twins: ../mod.rs, ../system.rs.

mod arguments;
mod carried;
mod direction;
mod newton;

use super::{CoupledSystem, FlowView};
use crate::config::FlowConfig;
use crate::gpu::{BoundaryCuda, MeshCuda, Params, Sums, ViscousCuda, blocks, source};
use crate::jacobian::cuda::Target;
use crate::march::linear::{LinearCuda, Shape};
use crate::march::{Advanced, FlowError, Moment};
pub use arguments::CarriedFace;
pub(crate) use arguments::SubtractUpdate;
use arguments::{CheckValues, HeldResidual, HeldRows, Kernels, NewtonKernels, ResidualNorms, SubtractSource};
pub use carried::{CarriedCuda, Carrier, FACES};
use chromaflow::RowBatches;
use chromaflow::gpu::{DeviceJacobian, GpuError, ShareCuda, Storage};
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Kernel, KernelSource, Pinned, Share, Stream};
use chromaflow_device::enqueue;
pub use direction::DirectionCuda;
pub(crate) use newton::{Driving, Measure as Measuring};
use std::sync::Arc;

fn kernel_source(nb: usize, stored: usize) -> KernelSource {
    source("coupled", "", include_str!("coupled.cu"))
        .records::<Kernels>()
        .records::<NewtonKernels>()
        .define("NB", nb)
        .define("STORED", stored)
}

/// For one unknown and for two, each with off-diagonal values of both sizes.
pub(crate) fn kernel_sources() -> Vec<KernelSource> {
    let cases = [(1, 4), (1, 8), (2, 4), (2, 8)];
    cases
        .iter()
        .flat_map(|&(nb, stored)| [kernel_source(nb, stored), carried::kernel_source(nb, stored)])
        .collect()
}

/// The flow on the device as the systems beside it see it. Twin: [`FlowView`].
#[derive(Clone, Copy)]
pub struct FlowViewCuda<'a> {
    /// Where everything is enqueued.
    pub stream: &'a Stream,
    /// The set-up.
    pub config: &'a FlowConfig,
    /// The mesh's metrics.
    pub mesh: &'a MeshCuda,
    /// Its boundary with the flow's conditions.
    pub boundary: &'a BoundaryCuda,
    /// Numbers of the set-up, gas and viscosity among them.
    pub params: &'a Params,
    /// Nodes on walls without slip: how many, and an array of `WallNode`.
    pub walls: (usize, &'a DeviceBuffer<u64>),
    /// rho, u, v, w, p and the place of each node, `[rows, 8]`.
    pub nodes: &'a DeviceBuffer<f64>,
    /// The elements of viscous flow.
    pub viscous: Option<&'a ViscousCuda>,
    /// Gradients of the flow, `[rows, 16]`; none where its residual is of first order.
    pub gradients: Option<&'a DeviceBuffer<f64>>,
    /// What leaves a for b through the face of each edge, `[edges, 5]`.
    pub fluxes: &'a DeviceBuffer<f64>,
    /// Conserved states of the last time level and of the one before, `[rows, 5]`; none in steady runs.
    pub levels: Option<&'a [DeviceBuffer<f64>; 2]>,
}

/// Unknowns of a system beside a flow on the device, `[rows, nb]`. Twin: [`CoupledState`](super::CoupledState).
pub struct CoupledStateCuda {
    /// The present values.
    pub values: DeviceBuffer<f64>,
    last_good: DeviceBuffer<f64>,
    /// The last time level and the one before; none in steady runs.
    pub levels: Option<[DeviceBuffer<f64>; 2]>,
    pub(crate) held: DeviceBuffer<u32>,
    /// Of them those whose values are the equations' own.
    pub given: DeviceBuffer<u32>,
    source: Option<DeviceBuffer<f64>>,
}

/// The equations of a system beside the flow, on the device. Twin: [`Coupled`](super::Coupled).
pub trait CoupledCuda: Send + Sync {
    /// Writes the values of nodes where they follow the flow, before [`CoupledCuda::prepare`].
    ///
    /// # Errors
    /// The device's.
    fn give(
        &self,
        _flow: &FlowViewCuda<'_>,
        _nodes: &DeviceBuffer<u32>,
        _values: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        Ok(())
    }

    /// Makes what the flow takes of this system, before the flow's residual.
    ///
    /// # Errors
    /// The device's.
    fn prepare(&mut self, _flow: &FlowViewCuda<'_>, _values: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        Ok(())
    }

    /// Eddy viscosity of each node as of the last [`CoupledCuda::prepare`].
    fn eddy_viscosity(&self) -> Option<&DeviceBuffer<f64>> {
        None
    }

    /// fw of each node for the stress of QCR2020, as of the last [`Self::prepare`].
    fn relation(&self) -> Option<&DeviceBuffer<f64>> {
        None
    }

    /// Writes the residual.
    ///
    /// # Errors
    /// The device's.
    fn residual(
        &mut self,
        flow: &FlowViewCuda<'_>,
        state: &CoupledStateCuda,
        at: &Moment,
        residual: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError>;

    /// What the flow carries, filled by the residual, and the CFL number over the flow's.
    fn carried(&self) -> (&CarriedCuda, f64);

    /// Writes the matrix of a step, blocks in the order of the pattern.
    ///
    /// # Errors
    /// The device's.
    fn assemble(
        &self,
        flow: &FlowViewCuda<'_>,
        at: &Moment,
        jacobian: &DeviceJacobian,
    ) -> Result<(), GpuError> {
        let (carried, ratio) = self.carried();
        carried.assemble(flow, at.cfl * ratio, jacobian)
    }

    /// Writes the V/dt of each row that the matrix has; asked for of systems that drive the flow.
    ///
    /// # Errors
    /// The device's.
    fn pseudo_time(
        &self,
        flow: &FlowViewCuda<'_>,
        at: &Moment,
        out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (carried, ratio) = self.carried();
        carried.pseudo_time(flow, at.cfl * ratio, out)
    }

    /// Writes the `NodeSlopes` of each row and unknown, as of the last residual. Twin: [`Coupled::slopes`](super::Coupled::slopes).
    ///
    /// # Errors
    /// The device's.
    fn slopes(
        &self,
        _flow: &FlowViewCuda<'_>,
        _state: &CoupledStateCuda,
        _out: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        Ok(())
    }

    /// What passes each edge, as of the last residual: carried of each unknown, then diffused of each; of one unknown diffused as either side sees it.
    fn diffused(&self) -> Option<&DeviceBuffer<f64>> {
        None
    }

    /// Twin: [`Coupled::has_derivative`](super::Coupled::has_derivative).
    fn has_derivative(&self) -> bool {
        false
    }

    /// Twin: [`Coupled::direct`](super::Coupled::direct).
    ///
    /// # Errors
    /// The device's.
    fn direct(
        &mut self,
        _way: &DirectionCuda<'_>,
        _state: &CoupledStateCuda,
        _changes: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        Ok(())
    }

    /// Twin: [`Coupled::derivative`](super::Coupled::derivative).
    ///
    /// # Errors
    /// The device's.
    fn derivative(
        &mut self,
        _way: &DirectionCuda<'_>,
        _moved: &FlowViewCuda<'_>,
        _at: &Moment,
        _state: &CoupledStateCuda,
        _changes: &DeviceBuffer<f64>,
        _out: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        Ok(())
    }

    /// Twin: [`Coupled::leave_direction`](super::Coupled::leave_direction).
    fn leave_direction(&mut self) {}

    /// A kernel that subtracts updates where they have to be cut, with the arguments of `subtract_update` in coupled.cu and a
    /// thread a number of values.
    fn update_kernel(&self) -> Option<&Kernel> {
        None
    }
}

/// What a system gives to one matrix with the flow's.
pub(crate) struct JointParts<'a> {
    pub physics: &'a dyn CoupledCuda,
    pub state: &'a CoupledStateCuda,
    pub floors: &'a DeviceBuffer<f64>,
    pub jacobian: &'a DeviceJacobian,
}

/// Where the counters stand.
#[derive(Clone, Copy)]
enum Count {
    BadResidual,
    BadState,
    Limited,
    Number,
}

/// A system beside a flow on the device. Twin: [`CoupledSystem`].
pub struct CoupledSystemCuda {
    nb: usize,
    physics: Box<dyn CoupledCuda>,
    state: CoupledStateCuda,
    residual: DeviceBuffer<f64>,
    update: DeviceBuffer<f64>,
    linear: LinearCuda,
    share: Option<Arc<ShareCuda>>,
    given_follow_flow: bool,
    /// Of unknowns that are measured by their own value at each node, what is added to it, `[nb]`; negative of others.
    floors: DeviceBuffer<f64>,
    /// Where the flow depends on this system.
    driving: Option<Driving>,
    kernels: Kernels,
    sums: Sums,
    counts: DeviceBuffer<u32>,
    no_counts: DeviceBuffer<u32>,
    host_counts: Pinned<u32>,
}

/// Sources of the kernels that [`CoupledSystemCuda::new`] asks for.
pub(crate) fn sources_of(host: &CoupledSystem, config: &FlowConfig, shape: &Shape) -> Vec<KernelSource> {
    let (nb, implicit) = (host.state.nb, &config.implicit);
    let stored = Storage::from(implicit.policy).assembled().bytes();
    let mut sources = host.physics.kernel_sources(config);
    sources.extend([kernel_source(nb, stored), carried::kernel_source(nb, stored)]);
    sources.extend(LinearCuda::kernel_sources(implicit, nb, false, shape).0);
    sources
}

impl CoupledSystemCuda {
    /// Room for a system and what its steps need; the state comes with [`Self::upload`].
    ///
    /// # Errors
    /// [`FlowError::Gpu`], [`FlowError::Linear`].
    pub fn new(
        stream: &Stream,
        host: &CoupledSystem,
        flow: &FlowView<'_>,
        batches: &RowBatches,
        share: Option<&Arc<ShareCuda>>,
    ) -> Result<Self, FlowError> {
        let (nb, rows, implicit) = (host.state.nb, flow.dual.nodes(), &flow.config.implicit);
        let linear = LinearCuda::new(stream, &flow.dual.pattern, nb, batches, implicit, false, share)?;
        let stored = if Storage::from(implicit.policy) == Storage::F64 { 8 } else { 4 };
        let module = stream.gpu().module(&kernel_source(nb, stored))?;
        let norm_blocks = blocks(rows, 256).min(4 * stream.gpu().facts().multiprocessors);
        let mut counts = [0; Count::Number as usize];
        counts[Count::BadResidual as usize] = u32::MAX;
        counts[Count::BadState as usize] = u32::MAX;
        let buffer = || DeviceBuffer::<f64>::zeroed(stream, nb * rows);
        let unsteady = !host.state.levels[0].is_empty();
        let floors: Vec<f64> = host.floors().iter().map(|floor| floor.unwrap_or(-1.0)).collect();
        Ok(Self {
            nb,
            physics: host.physics.on_device(stream, flow)?,
            state: CoupledStateCuda {
                values: buffer()?,
                last_good: buffer()?,
                levels: if unsteady { Some([buffer()?, buffer()?]) } else { None },
                held: stream.upload(&[])?,
                given: stream.upload(&[])?,
                source: None,
            },
            residual: buffer()?,
            update: buffer()?,
            linear,
            share: share.cloned(),
            given_follow_flow: host.physics.given_follow_flow(),
            floors: stream.upload(&floors)?,
            driving: if host.drives_flow() {
                Some(Driving::new(stream, &floors, stored, rows, host.has_derivative())?)
            } else {
                None
            },
            kernels: Kernels::of(&module)?,
            sums: Sums::new(stream, nb, norm_blocks, [])?,
            counts: stream.upload(&counts)?,
            no_counts: stream.upload(&counts)?,
            host_counts: Pinned::zeroed(stream.gpu(), counts.len())?,
        })
    }

    /// Takes the host's state.
    ///
    /// # Errors
    /// The device's.
    pub fn upload(&mut self, host: &CoupledSystem, stream: &Stream) -> Result<(), GpuError> {
        let (state, from) = (&mut self.state, &host.state);
        state.values.upload(&from.values)?;
        state.last_good.copy_from(&state.values.slice())?;
        if let Some(levels) = &mut state.levels {
            for (level, from) in levels.iter_mut().zip(&from.levels) {
                level.upload(from)?;
            }
        }
        state.held = stream.upload(&from.held)?;
        state.given = stream.upload(&from.given)?;
        state.source = if from.source.is_empty() { None } else { Some(stream.upload(&from.source)?) };
        Ok(())
    }

    /// Gives the state to the host.
    ///
    /// # Errors
    /// The device's.
    pub fn download(&self, host: &mut CoupledSystem) -> Result<(), GpuError> {
        self.state.values.download_into(&mut host.state.values)?;
        self.residual.download_into(&mut host.residual)?;
        if let Some(levels) = &self.state.levels {
            for (level, to) in levels.iter().zip(&mut host.state.levels) {
                level.download_into(to)?;
            }
        }
        Ok(())
    }

    /// Before the flow's residual; see [`CoupledCuda::prepare`].
    ///
    /// # Errors
    /// The device's.
    pub fn prepare(&mut self, flow: &FlowViewCuda<'_>) -> Result<(), GpuError> {
        if self.driving.as_ref().is_some_and(Driving::is_directed) {
            return Ok(());
        }
        self.physics.give(flow, &self.state.given, &mut self.state.values)?;
        if self.given_follow_flow {
            // Ghosts without all their neighbors cannot tell how far these are.
            self.exchange()?;
        }
        self.physics.prepare(flow, &self.state.values)
    }

    /// See [`CoupledCuda::slopes`].
    ///
    /// # Errors
    /// The device's.
    pub fn slopes(&self, flow: &FlowViewCuda<'_>, out: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.physics.slopes(flow, &self.state, out)
    }

    /// What goes into one matrix with the flow's, the matrix as last enqueued.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn joint(&mut self) -> Result<JointParts<'_>, GpuError> {
        let Target::Rows(jacobian, _) = self.linear.target(false)? else {
            unreachable!("set up for blocks in the order of the pattern")
        };
        let (physics, state, floors) = (&*self.physics, &self.state, &self.floors);
        Ok(JointParts { physics, state, floors, jacobian })
    }

    /// See [`CoupledCuda::relation`].
    pub fn relation(&self) -> Option<&DeviceBuffer<f64>> {
        self.physics.relation()
    }

    /// See [`CoupledCuda::eddy_viscosity`].
    pub fn eddy_viscosity(&self) -> Option<&DeviceBuffer<f64>> {
        self.physics.eddy_viscosity()
    }

    /// Enqueues the residual and its norms; [`Self::squares`] has them once the stream has come so far.
    ///
    /// # Errors
    /// The device's.
    pub fn enqueue_residual(&mut self, flow: &FlowViewCuda<'_>, at: &Moment) -> Result<(), GpuError> {
        self.counts.copy_from(&self.no_counts.slice())?;
        self.find_residual(flow, at)?;
        let (k, stream, n) = (&self.kernels, flow.stream, flow.mesh.rows);
        // SAFETY: vectors have nb values a row; partial sums have room for nb numbers a thread block.
        unsafe {
            enqueue! { k.residual_norms.launch(self.sums.norm_blocks(), 256), stream, ResidualNorms {
                rows: n as u32, residual: &self.residual, volumes: &flow.mesh.volumes,
                values: &self.state.values, floors: &self.floors, partials: &self.sums.norms,
                first_bad: self.count(Count::BadResidual),
            } }?;
        }
        self.sums.add_up(stream, &self.kernels.add_parts)?;
        Ok(self.counts.download_later(&mut self.host_counts)?)
    }

    /// Enqueues the residual.
    ///
    /// # Errors
    /// The device's.
    pub fn find_residual(&mut self, flow: &FlowViewCuda<'_>, at: &Moment) -> Result<(), GpuError> {
        self.physics.residual(flow, &self.state, at, &mut self.residual)?;
        let (k, state, stream, n) = (&self.kernels, &self.state, flow.stream, flow.mesh.rows);
        // SAFETY: vectors have nb values a row; held nodes are rows.
        unsafe {
            if let Some(source) = &state.source {
                let launch = k.subtract_source.launch(blocks(self.nb * n, 256), 256);
                enqueue! { launch, stream, SubtractSource {
                    rows: n as u32, volumes: &flow.mesh.volumes, source, residual: &self.residual,
                } }?;
            }
            enqueue! { k.held_residual.launch(blocks(state.held.len(), 128), 128), stream, HeldResidual {
                count: state.held.len() as u32, node_of: &state.held, residual: &self.residual,
            } }?;
        }
        self.clear_ghosts(&self.residual)
    }

    /// Makes a residual of a vector, where there are ranks.
    fn clear_ghosts(&self, values: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.share.as_ref().map_or(Ok(()), |share| share.clear(self.nb, &values.slice()))
    }

    /// Ghosts get their owners' values, where there are ranks.
    ///
    /// # Errors
    /// The device's.
    pub fn exchange(&self) -> Result<(), GpuError> {
        self.share.as_ref().map_or(Ok(()), |share| share.exchange(self.nb, &self.state.values.slice()))
    }

    /// The sum of R^2/V of each unknown.
    pub fn squares(&self) -> &[f64] {
        self.sums.squares()
    }

    /// The same, to be added to those of other ranks.
    pub fn sums_mut(&mut self) -> &mut [f64] {
        self.sums.all_mut()
    }

    /// The first row with a residual or an unknown that is not finite.
    pub fn first_bad(&self) -> Option<usize> {
        self.first(Count::BadResidual)
    }

    /// Enqueues the matrix of a step, with the rows of given values.
    ///
    /// # Errors
    /// The device's.
    pub(crate) fn enqueue_matrix(&mut self, flow: &FlowViewCuda<'_>, at: &Moment) -> Result<(), GpuError> {
        let Target::Rows(jacobian, _) = self.linear.target(false)? else {
            unreachable!("set up for blocks in the order of the pattern")
        };
        self.physics.assemble(flow, at, jacobian)?;
        let off = jacobian.off.assembled()?;
        let held = self.kernels.held_rows.launch(blocks(self.state.held.len(), 128), 128);
        // SAFETY: held nodes are rows of the matrix, whose pattern is the mesh's.
        Ok(unsafe {
            enqueue! { held, flow.stream, HeldRows {
                count: self.state.held.len() as u32, node_of: &self.state.held, row_ptr: &flow.mesh.row_ptr,
                off: Share::at(off), diag: &jacobian.diag,
            } }
        }?)
    }

    /// Enqueues the implicit part of a step; [`Self::advanced`] tells what it did once the stream has come so far.
    ///
    /// # Errors
    /// The device's.
    pub fn enqueue_advance(&mut self, flow: &FlowViewCuda<'_>, at: &Moment) -> Result<(), GpuError> {
        self.enqueue_matrix(flow, at)?;
        self.linear.find_scale()?;
        self.linear.solve(&self.residual, &mut self.update, false)?;
        self.take_update(flow)
    }

    /// Enqueues that the update is taken, cut where it leaves the unknowns' range.
    ///
    /// # Errors
    /// The device's.
    pub fn take_update(&mut self, flow: &FlowViewCuda<'_>) -> Result<(), GpuError> {
        let (stream, n) = (flow.stream, flow.mesh.rows);
        self.state.last_good.copy_from(&self.state.values.slice())?;
        // Cuts are counted where rows are owned; ghosts follow them.
        self.clear_ghosts(&self.update)?;
        let update = self.physics.update_kernel().unwrap_or(&self.kernels.subtract_update);
        // SAFETY: vectors have nb values a row.
        unsafe {
            enqueue! { update.launch(blocks(self.nb * n, 256), 256), stream, SubtractUpdate {
                rows: n as u32, update: &self.update, values: &self.state.values,
                limited: self.count(Count::Limited),
            } }?;
            enqueue! { self.kernels.check_values.launch(blocks(n, 128), 128), stream, CheckValues {
                rows: n as u32, values: &self.state.values, first_bad: self.count(Count::BadState),
            } }?;
        }
        Ok(self.counts.download_later(&mut self.host_counts)?)
    }

    /// What the step did.
    pub fn advanced(&self) -> Advanced {
        Advanced {
            singular: self.linear.singular(),
            reduction: None,
            limited: self.host_counts[Count::Limited as usize] as usize,
            bad: self.first(Count::BadState),
        }
    }

    /// Returns to the last good state.
    ///
    /// # Errors
    /// The device's.
    pub fn restore(&mut self) -> Result<(), GpuError> {
        Ok(self.state.values.copy_from(&self.state.last_good.slice())?)
    }

    /// The present state becomes the last time level.
    ///
    /// # Errors
    /// The device's.
    pub fn next_level(&mut self) -> Result<(), GpuError> {
        if let Some(levels) = &mut self.state.levels {
            levels.swap(0, 1);
            levels[0].copy_from(&self.state.values.slice())?;
        }
        Ok(())
    }

    /// The residual as last enqueued.
    #[cfg(test)]
    pub(crate) fn residual(&self) -> &DeviceBuffer<f64> {
        &self.residual
    }

    /// The matrix as last enqueued.
    #[cfg(test)]
    pub(crate) fn jacobian(&mut self) -> Result<&DeviceJacobian, GpuError> {
        match self.linear.target(false)? {
            Target::Rows(jacobian, _) => Ok(jacobian),
            Target::InPlace(_) => unreachable!("set up for blocks in the order of the pattern"),
        }
    }

    fn count(&self, which: Count) -> DeviceSlice<'_, u32> {
        self.counts.part(which as usize..which as usize + 1)
    }

    fn first(&self, which: Count) -> Option<usize> {
        let found = self.host_counts[which as usize];
        (found != u32::MAX).then_some(found as usize)
    }
}
