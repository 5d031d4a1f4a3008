//! The rows of one rank on its device, columns in global numbers.

use super::{LinearSolverCuda, check_options};
use crate::dist::Share;
use crate::gpu::{GpuError, ShareCuda, Wish};
use crate::order::Plan;
use crate::solver::global::{Global, Whole, agree};
use crate::solver::{Index, OwnedRows, SolverError, SolverOptions};
use chromaflow_comm::Communicator;
use chromaflow_device::Team;
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use std::sync::Arc;

/// What a rank knows of the whole matrix, and its way to the devices of others.
pub(super) struct WholeCuda {
    pub(super) whole: Whole,
    share: Arc<ShareCuda>,
}

impl WholeCuda {
    pub(super) fn share(&self) -> &Arc<ShareCuda> {
        &self.share
    }

    /// Own rows.
    pub(super) fn rows(&self) -> usize {
        self.whole.rows
    }
}

/// z = r, as solutions are: no preconditioner.
pub(super) fn copy(
    share: &ShareCuda,
    nb: usize,
) -> impl FnMut(&DeviceBuffer<f64>, &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
    move |r, z| {
        z.copy_from(&r.slice())?;
        share.exchange(nb, &z.slice())
    }
}

impl LinearSolverCuda {
    /// Sets up for the rows of one rank of a matrix that all ranks have together, columns in global numbers, on the device of `stream`; ranks
    /// may have a device each or share one. Collective. What passes between devices goes as [`ShareCuda`] finds it:
    /// by stores into the neighbors' memory, by NCCL, or through the host.
    ///
    /// **Twin**: [`LinearSolver::symbolic_over_ranks`](crate::solver::LinearSolver::symbolic_over_ranks).
    ///
    /// # Errors
    /// As its twin; [`SolverError::NotOnGpu`], [`SolverError::Gpu`].
    pub fn symbolic_over_ranks<P: Index, C: Index>(
        stream: &Stream,
        team: &Team,
        ranks: Arc<dyn Communicator>,
        rows: OwnedRows<'_, P, C>,
        nb: usize,
        options: SolverOptions,
    ) -> Result<Self, SolverError> {
        let comm = Arc::clone(&ranks);
        let check = || {
            check_options(&options)?;
            if options.preconditioner.sweeps_in_levels() {
                let (option, value) = ("preconditioner", format!("{} over ranks", options.preconditioner));
                return Err(SolverError::NotOnGpu {
                    option,
                    value,
                    remedy: "use multicolor, jacobi or ilu0",
                });
            }
            Ok(())
        };
        let Global { whole, order, layout, pattern, apart } =
            Global::new(ranks, rows, nb, &options, check, team)?;
        if apart {
            let (option, value) = ("diagonal blocks", "apart".to_owned());
            return Err(SolverError::NotOnGpu { option, value, remedy: "give them among the others" });
        }
        let report = order.report(&pattern);
        let plan = Plan { permutation: order.permutation, batches: order.batches, report };
        let share: &Arc<Share> = &whole.share;
        let share = ShareCuda::new(share, stream, &[], nb, Wish::Shortest).map_err(SolverError::from);
        let share = Arc::new(agree(&*comm, share)?);
        let first = whole.first();
        let made =
            Self::with_plan(stream, (plan, layout, pattern), nb, options, Some(WholeCuda { whole, share }));
        agree(&*comm, made.map(|solver| Self { first, ..solver }))
    }

    /// Own rows: those of a vector.
    pub fn rows(&self) -> usize {
        self.ranks.as_ref().map_or(self.plan.permutation.len(), WholeCuda::rows)
    }

    /// Where each row stands in the order inside, and where its batches begin; of several ranks the order of all rows.
    pub fn order_inside(&self) -> (Vec<u32>, Vec<u32>) {
        let (permutation, batches) = (&self.plan.permutation, &self.plan.batches);
        match &self.ranks {
            None => (permutation.new_of_old().to_vec(), batches.offsets().to_vec()),
            Some(ranks) => ranks.whole.order(permutation),
        }
    }

    /// Rows of all ranks, and ghosts of this one.
    pub fn whole_rows(&self) -> (usize, usize) {
        self.ranks.as_ref().map_or((self.plan.permutation.len(), 0), |ranks| ranks.whole.sizes())
    }
}
