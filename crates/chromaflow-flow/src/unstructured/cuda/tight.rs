//! Steps by one matrix of the flow and the model of turbulence on a GPU. Twin: ../tight/mod.rs.

use super::{AT_HAND, FlowCuda};
use crate::coupled::tight::cuda::{Replaced, TightCuda};
use crate::flux::LayerFix;
use crate::gpu::Params;
use crate::jacobian::cuda::Target;
use crate::march::{FlowError, Moment};
use crate::unstructured::FlowSystem;
use chromaflow::gpu::{GpuError, ShareCuda};
use chromaflow_device::cuda::Stream;
use std::sync::Arc;

/// The matrix on the device, where the host has one.
///
/// # Errors
/// [`FlowError::Gpu`], [`FlowError::Linear`].
pub(super) fn tight_of(
    stream: &Stream,
    host: &FlowSystem,
    share: Option<&Arc<ShareCuda>>,
    (depth, layers): (f64, LayerFix<f64>),
) -> Result<Option<TightCuda>, FlowError> {
    if host.tight.is_none() {
        return Ok(None);
    }
    let system = host.coupled.iter().find(|system| system.drives_flow()).expect(AT_HAND);
    let periods = &host.dual.periods;
    let params =
        |transport| Params::new(stream, &host.config, host.gas, Some(transport), depth, layers, periods);
    let view = host.view(&[], &[]);
    TightCuda::new(stream, &view, system.state.nb, &host.plan.batches, share, params).map(Some)
}

impl FlowCuda {
    /// Whether a step is by one matrix.
    pub(super) fn is_tight(&self, at: &Moment) -> bool {
        self.tight.is_some() && at.together
    }

    /// Enqueues the one matrix from the flow's, which is assembled.
    pub(super) fn assemble_tight(&mut self, at: &Moment) -> Result<(), GpuError> {
        let mut tight = self.tight.take().expect(AT_HAND);
        let mut linear = self.linear.take().expect(AT_HAND);
        let Target::Rows(own, _) = linear.target(false)? else {
            unreachable!("set up for blocks in the order of the pattern")
        };
        let mut coupled = std::mem::take(&mut self.coupled);
        let view = self.view(at);
        let replaced =
            Replaced { walls: (self.wall_nodes(), &self.fixed), mirrors: &self.mirrors, held: &self.held };
        let system = coupled.iter_mut().find(|system| system.drives_flow()).expect(AT_HAND);
        let done = system
            .enqueue_joint(&view, at)
            .and_then(|()| tight.fill(&view, own, system, self.planar, &replaced));
        (self.coupled, self.linear, self.tight) = (coupled, Some(linear), Some(tight));
        done
    }

    /// Finds the updates of both by the one matrix alone.
    pub(super) fn solve_tight(&mut self, at: &Moment) -> Result<Option<f64>, GpuError> {
        let tight = self.tight.as_mut().expect(AT_HAND);
        let system = self.coupled.iter().find(|system| system.drives_flow()).expect(AT_HAND);
        let [residual, update] = system.residual_and_update();
        tight.solve(&self.stream, [&self.residual, residual], [&self.update, update], at.measure)
    }
}
