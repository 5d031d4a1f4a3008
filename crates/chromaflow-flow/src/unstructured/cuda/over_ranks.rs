//! A flow whose rows are those of a rank on its device: what passes between ranks. Twin: ../over_ranks.rs.

use super::{Count, FlowCuda};
use crate::coupled::CoupledSystemCuda;
use crate::equations::perfect_gas::N;
use crate::march::{Advanced, FlowError};
use crate::unstructured::{FlowSolver, FlowSystem};
use chromaflow::gpu::{GpuError, ShareCuda, Wish};
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use std::sync::Arc;

/// Numbers of a node record, the widest row that passes.
const WIDEST: usize = 8;

/// The rank's rows on its device, where there are ranks; collective.
///
/// # Errors
/// [`FlowError::Gpu`].
pub(super) fn share(
    stream: &Stream,
    host: &FlowSystem,
    wish: Wish,
) -> Result<Option<Arc<ShareCuda>>, FlowError> {
    let Some(rows) = &host.over else { return Ok(None) };
    let widest = host.coupled.iter().map(|system| system.state.nb).fold(WIDEST, usize::max);
    Ok(Some(Arc::new(ShareCuda::new(&rows.share, stream, rows.incomplete(), widest, wish)?)))
}

impl FlowSolver {
    /// How messages pass between the devices of ranks; none where no devices of ranks compute.
    pub fn halo_path(&self) -> Option<&str> {
        self.host.over.as_ref()?.halo.as_deref()
    }
}

impl FlowCuda {
    /// Ghosts get their owners' states: all that passes between two residuals.
    pub(super) fn exchange_states(&self) -> Result<(), GpuError> {
        let Some(share) = &self.share else { return Ok(()) };
        share.exchange(N, &self.q.slice())?;
        // Not from q: a state that was given in primitive variables differs from them by rounding.
        share.exchange(8, &self.nodes.slice())?;
        self.coupled.iter().try_for_each(CoupledSystemCuda::exchange)
    }

    /// Makes a residual of a vector, where there are ranks.
    pub(super) fn clear_ghosts(&self, values: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.share.as_ref().map_or(Ok(()), |share| share.clear(N, &values.slice()))
    }

    /// Norms and forces become those of all ranks; the first row with a bad residual comes back, over ranks by its number in the whole
    /// mesh.
    pub(super) fn over_all_ranks(&mut self) -> Result<Option<usize>, FlowError> {
        let found = [self.first(Count::BadResidual), self.first_bad_beside()];
        let Some(share) = &self.share else { return Ok(found[0].or(found[1])) };
        let beside = self.coupled.iter_mut().map(CoupledSystemCuda::sums_mut);
        let mut parts: Vec<&mut [f64]> = std::iter::once(self.sums.all_mut()).chain(beside).collect();
        let mut all: Vec<f64> = parts.iter().flat_map(|part| part.iter().copied()).collect();
        let mut found = found.map(|row| row.map(|row| share.global(row)));
        share.sum_and_lowest(&mut all, &mut found);
        let mut rest = &all[..];
        for part in &mut parts {
            let (own, after) = rest.split_at(part.len());
            part.copy_from_slice(own);
            rest = after;
        }
        share.share().check()?;
        Ok(found[0].or(found[1]))
    }

    /// What the steps of the flow and of the systems beside it did on all ranks, rows by their numbers in the whole mesh; what a rank alone
    /// did stays as it is.
    pub(super) fn agree(&self, all: &mut [Advanced]) -> Result<(), FlowError> {
        let Some(share) = &self.share else { return Ok(()) };
        let mut limited: Vec<f64> = all.iter().map(|done| done.limited as f64).collect();
        // Singular rows have their numbers in the whole mesh already.
        let mut found: Vec<Option<usize>> =
            all.iter().flat_map(|done| [done.singular, done.bad.map(|row| share.global(row))]).collect();
        share.sum_and_lowest(&mut limited, &mut found);
        for ((done, limited), found) in all.iter_mut().zip(limited).zip(found.chunks_exact(2)) {
            [done.singular, done.bad] = [found[0], found[1]];
            done.limited = limited as usize;
        }
        Ok(share.share().check()?)
    }
}
