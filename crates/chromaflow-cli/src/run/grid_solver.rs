//! The solvers of compressible flow on structured grids, as a run sees them.

use crate::case::{StepName, StructuredSection};
use chromaflow_device::Team;
use chromaflow_device::cuda::Gpu;
use chromaflow_flow::StepReport;
use chromaflow_flow::grid::Grid;
use chromaflow_flow::march::{FlowError, Times};
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{Field, Restart};
use chromaflow_flow::structured::lax_wendroff::LaxWendroffSolver;
use chromaflow_flow::structured::{StructuredConfig, StructuredSolver};
use std::sync::Arc;

/// Unknowns in the cells, implicit; or in the nodes, explicit.
pub enum GridSolver {
    Cells(Box<StructuredSolver>),
    Nodes(Box<LaxWendroffSolver>),
}

/// Hands a call on.
macro_rules! either {
    ($me:expr, $solver:ident => $call:expr) => {
        match $me {
            GridSolver::Cells($solver) => $call,
            GridSolver::Nodes($solver) => $call,
        }
    };
}

impl GridSolver {
    pub fn new(
        grid: Grid,
        config: &StructuredConfig,
        section: &StructuredSection,
        team: &Arc<Team>,
    ) -> Result<Self, FlowError> {
        let (config, team) = (config.clone(), Arc::clone(team));
        if section.method == StepName::LaxWendroff {
            let solver = LaxWendroffSolver::new(grid, config, section.lax_wendroff(), team)?;
            return Ok(Self::Nodes(Box::new(solver)));
        }
        Ok(Self::Cells(Box::new(StructuredSolver::new(grid, config, team)?)))
    }

    pub fn use_gpu(&mut self, gpu: &Gpu) -> Result<(), FlowError> {
        either!(self, solver => solver.use_gpu(gpu))
    }

    pub fn try_step(&mut self) -> Result<StepReport, FlowError> {
        either!(self, solver => solver.try_step())
    }

    pub fn sync(&mut self) -> Result<(), FlowError> {
        either!(self, solver => solver.sync())
    }

    pub fn device_bytes(&self) -> usize {
        either!(self, solver => solver.device_bytes())
    }

    pub fn grid(&self) -> &Grid {
        either!(self, solver => solver.grid())
    }

    pub fn fields(&mut self) -> Vec<Field> {
        either!(self, solver => solver.fields())
    }

    pub fn iteration(&self) -> usize {
        either!(self, solver => solver.iteration())
    }

    pub fn times(&self) -> Times {
        either!(self, solver => solver.times())
    }

    pub fn entropy_error(&self) -> f64 {
        either!(self, solver => solver.entropy_error())
    }

    pub fn restart(&self) -> Restart {
        either!(self, solver => solver.restart())
    }

    pub fn restart_places(&self) -> Mesh {
        either!(self, solver => solver.restart_places())
    }

    pub fn resume(&mut self, restart: &Restart) -> Result<(), FlowError> {
        either!(self, solver => solver.resume(restart))
    }
}
