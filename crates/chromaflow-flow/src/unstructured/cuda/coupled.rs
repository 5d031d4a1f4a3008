//! The systems beside a flow on a GPU. Twin: ../coupled.rs.

use super::FlowCuda;
use crate::coupled::{CoupledSystemCuda, FlowViewCuda};
use crate::march::{FlowError, Moment, Part};
use crate::unstructured::FlowSystem;
use chromaflow::gpu::{GpuError, ShareCuda};
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use std::sync::Arc;

/// The device's forms of the systems beside a flow.
///
/// # Errors
/// [`FlowError::Gpu`], [`FlowError::Linear`].
pub fn systems(
    stream: &Stream,
    host: &FlowSystem,
    share: Option<&Arc<ShareCuda>>,
) -> Result<Vec<CoupledSystemCuda>, FlowError> {
    let view = host.view(&[], &[]);
    let make = |system| CoupledSystemCuda::new(stream, system, &view, &host.plan.batches, share);
    host.coupled.iter().map(make).collect()
}

/// Eddy viscosity of each node, where a system beside the flow has one.
pub fn eddies(coupled: &[CoupledSystemCuda]) -> Option<&DeviceBuffer<f64>> {
    coupled.iter().find_map(CoupledSystemCuda::eddy_viscosity)
}

impl FlowCuda {
    /// The flow as other systems see it in this iteration.
    pub(super) fn view(&self, at: &Moment) -> FlowViewCuda<'_> {
        let with_gradients = at.is_second_order(&self.config.space) || self.always_gradients;
        FlowViewCuda {
            stream: &self.stream,
            config: &self.config,
            mesh: &self.mesh,
            boundary: &self.boundary,
            params: &self.params,
            walls: (self.wall_nodes(), &self.fixed),
            nodes: &self.nodes,
            viscous: self.viscous.as_ref(),
            gradients: with_gradients.then_some(&self.gradients),
            fluxes: &self.fluxes,
            levels: self.levels.as_ref(),
        }
    }

    /// Calls `f` with each system beside the flow.
    pub(super) fn each_coupled(
        &mut self,
        at: &Moment,
        mut f: impl FnMut(&mut CoupledSystemCuda, &FlowViewCuda<'_>) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        let mut coupled = std::mem::take(&mut self.coupled);
        let view = self.view(at);
        let done = coupled.iter_mut().try_for_each(|system| f(system, &view));
        self.coupled = coupled;
        done
    }

    /// The same, as a component of the step.
    pub(super) fn each_timed(
        &mut self,
        at: &Moment,
        f: impl FnMut(&mut CoupledSystemCuda, &FlowViewCuda<'_>) -> Result<(), GpuError>,
    ) -> Result<(), GpuError> {
        if self.coupled.is_empty() {
            return Ok(());
        }
        let running = Part::Beside.begin();
        self.each_coupled(at, f)?;
        self.clock.done(running, &self.stream)
    }

    /// The first row where a system beside the flow went bad.
    pub(super) fn first_bad_beside(&self) -> Option<usize> {
        self.coupled.iter().find_map(CoupledSystemCuda::first_bad)
    }
}
