//! Systems of equations that march with a flow on its mesh: passive scalars, turbulence models. Each has unknowns, a matrix
//! and a linear solver of its own, with blocks of its own size.
//!
//! The coupling is loose, unless it is asked for a [tight] one, in one matrix. Within an iteration everything is taken at one state:
//! ```text
//! prepare     what the flow needs of the others, such as an eddy viscosity    Coupled::prepare
//! residuals   the flow's, then the others', with the flow's mass fluxes       Coupled::residual
//! decision    one for all: rejected, converged, or another step               march::Progress
//! advance     each system's own matrix and linear step                        Coupled::assemble
//! ```
//! A new system is a folder that implements [`Coupled`] (and for GPUs `CoupledCuda`) and a line in
//! `unstructured/coupled.rs`. The state, its time levels, restarts, norms, rejection and the linear step come with
//! [`CoupledSystem`].

#[cfg(feature = "cuda")]
mod cuda;
mod direction;
mod matrix;
mod newton;
mod system;
pub mod tight;
mod transport;

#[cfg(feature = "cuda")]
pub use cuda::{
    CarriedCuda, CarriedFace, Carrier, CoupledCuda, CoupledStateCuda, CoupledSystemCuda, DirectionCuda,
    FACES, FlowViewCuda,
};
#[cfg(feature = "cuda")]
pub(crate) use cuda::{Driving, Measuring, SubtractUpdate, kernel_sources, sources_of};
pub use direction::Direction;
pub use matrix::Carried;
pub(crate) use newton::{Units, local_weights, unit_over};
pub use system::{CoupledState, CoupledSystem};
pub(crate) use tight::Tight;
#[cfg(feature = "cuda")]
pub use tight::cuda::NODE_SLOPES;
pub use tight::{NodeSlopes, joint_by_state, joint_by_velocity, joint_carried, joint_mass_by_own};
pub use transport::{
    flux_carried, flux_diffused, flux_entering, gradient_of_positive, rate_of_carried, rate_slope_of_carried,
    skew_of_positive,
};

use crate::bc::{Condition, ConditionClass, WallNode, condition_class, condition_flux};
use crate::config::FlowConfig;
use crate::dual::Dual;
use crate::gas::{Gas, Transport};
use crate::gradient::{Added, Gradient, NodeRecord};
use crate::march::Moment;
use crate::parallel;
use crate::ranks::Rows;
use crate::residual::primitive_of;
use crate::viscous::weight_across;
use crate::wall_law::LawNode;
use chromaflow::Jacobian;
use chromaflow::dist::Share;
use chromaflow_device::Team;
use std::sync::Arc;

/// The flow as the systems beside it see it; rows in the solver's order.
#[derive(Clone, Copy)]
pub struct FlowView<'a> {
    /// Who computes.
    pub team: &'a Arc<Team>,
    /// The set-up.
    pub config: &'a FlowConfig,
    /// The mesh's metrics.
    pub dual: &'a Dual,
    /// What periods add to the increment of each position; empty where the mesh does not repeat.
    pub shifts: &'a Added<3>,
    /// First moments of the faces, where fluxes vary over them; else empty.
    pub moments: &'a [[[f64; 3]; 3]],
    /// The gas.
    pub gas: Gas<f64>,
    /// Its viscosity; none in inviscid flow.
    pub transport: Option<Transport<f64>>,
    /// Boundary conditions of the dual's patches.
    pub boundaries: &'a [Condition<f64>],
    /// Nodes on walls without slip, ascending.
    pub walls: &'a [WallNode<f64>],
    /// Nodes on walls with a law of the wall, ascending, and nodes off walls next to these; none where the mesh resolves all walls.
    pub laws: [&'a [LawNode<f64>]; 2],
    /// rho, u, v, w, p and the place of each node.
    pub nodes: &'a [NodeRecord],
    /// Gradients of the flow; empty where its residual is of first order.
    pub gradients: &'a [Gradient],
    /// What leaves a for b through the face of each edge, the first component mass; of the present residual. Empty before the
    /// first one and in [`Coupled::prepare`].
    pub fluxes: &'a [[f64; 5]],
    /// Conserved states of the last time level and of the one before; empty in steady runs.
    pub levels: [&'a [[f64; 5]]; 2],
    /// The rank's rows, where the mesh is divided among ranks: values of ghosts are their owners' at the beginning of each residual,
    /// and all that is computed from them is right for owned rows and those next to them.
    pub rows: Option<&'a Rows>,
}

impl FlowView<'_> {
    /// From a row to a neighbor's, the shortest way where the mesh repeats.
    #[inline]
    pub fn between(&self, a: usize, b: usize) -> [f64; 3] {
        let place = |i: usize| -> [f64; 3] { std::array::from_fn(|d| self.nodes[i][5 + d]) };
        self.dual.between(&place(a), &place(b))
    }

    /// Nodes on viscous walls, ascending.
    pub fn wall_rows(&self) -> Vec<u32> {
        let of_laws = self.laws[0].iter().map(|law| law.node);
        let mut rows: Vec<u32> = self.walls.iter().map(|wall| wall.node).chain(of_laws).collect();
        rows.sort_unstable();
        rows
    }

    /// Whether a row is a node on a viscous wall.
    pub fn is_on_wall(&self, row: u32) -> bool {
        let fixed = self.walls.binary_search_by_key(&row, |wall| wall.node).is_ok();
        fixed || self.law_at(row).is_some()
    }

    /// Which of the nodes with a law of the wall a row is.
    pub fn law_at(&self, row: u32) -> Option<usize> {
        self.laws[0].binary_search_by_key(&row, |law| law.node).ok()
    }

    /// What passes between ranks, where the mesh is divided among them.
    pub fn share(&self) -> Option<&Arc<Share>> {
        self.rows.map(|rows| &rows.share)
    }

    /// Whether an iteration is of second order in space.
    pub fn is_second_order(&self, at: &Moment) -> bool {
        at.is_second_order(&self.config.space)
    }

    /// Calls `f(open, values)` for each node of each open boundary, with the `width` values of its row of `out`: patch after patch at each
    /// node.
    pub fn at_open_nodes(&self, width: usize, out: &mut [f64], f: impl Fn(&OpenNode, &mut [f64]) + Sync) {
        parallel::rows(self.team, self.dual.nodes(), width, out, |rows, out| {
            for (patch, condition) in self.boundaries.iter().enumerate() {
                if condition_class(condition) != ConditionClass::Open {
                    continue;
                }
                let (nodes, areas) = self.dual.patches[patch].within(&rows);
                for (&node, &area) in nodes.iter().zip(areas) {
                    let mut open = OpenNode { patch, node: node as usize, area, mass: 0.0 };
                    open.mass = self.mass_out(&open);
                    f(&open, &mut out[(open.node - rows.start) * width..][..width]);
                }
            }
        });
    }

    /// The mass that leaves at a node of an open boundary, which may be one of another view of the same flow.
    pub fn mass_out(&self, open: &OpenNode) -> f64 {
        let w = primitive_of(&self.nodes[open.node]);
        condition_flux(&self.boundaries[open.patch], self.gas, &w, &open.area)[0]
    }
}

/// A node of an open boundary.
#[derive(Clone, Copy, Debug)]
pub struct OpenNode {
    /// The boundary's patch.
    pub patch: usize,
    /// Its row.
    pub node: usize,
    /// Its part of the patch, out of the mesh, a length squared.
    pub area: [f64; 3],
    /// The mass that leaves there, over rho_inf a_inf and a length squared.
    pub mass: f64,
}

/// Area over the length across the face `n` of the edge `dx`: the weight of the edge's difference in the flux through it.
pub(crate) fn edge_weight(n: &[f64; 3], dx: &[f64; 3]) -> f64 {
    let w = weight_across(n, dx);
    w[0] * n[0] + w[1] * n[1] + w[2] * n[2]
}

/// The equations of a system beside the flow; its unknowns are in a [`CoupledState`].
///
/// **Shapes**: unknowns and residuals `[rows, nb]`, nb the number of [`Coupled::unknowns`]. **Units**: as the flow's, see
/// [`crate::config`].
pub trait Coupled: Send + Sync {
    /// Names of the unknowns: of fields, of columns in histories, of restart fields.
    fn unknowns(&self) -> &[String];

    /// The unknowns of a node at the beginning, in the flow's initial state; nodes of given values have these.
    fn initial(&self, flow: &FlowView<'_>, row: usize, out: &mut [f64]);

    /// Nodes whose values are given, ascending: their rows are identities.
    fn given(&self, flow: &FlowView<'_>) -> Vec<u32>;

    /// Whether given values follow the flow: [`Coupled::initial`] then says them anew before each residual.
    fn given_follow_flow(&self) -> bool {
        false
    }

    /// Size of the values of each unknown, to tell a residual from the rounding of its sums; 1 where it is local.
    fn scales(&self) -> Vec<f64>;

    /// Of an unknown that spans orders of magnitude over the mesh, the size below which it counts for nothing:
    /// its residual and its part of Newton-Krylov steps are measured by the size of its own value at each node, plus this.
    fn local_floor(&self, _unknown: usize) -> Option<f64> {
        None
    }

    /// Whether the flow's gradients are needed in iterations of first order, too.
    fn needs_gradients(&self) -> bool {
        false
    }

    /// Makes what the flow takes of this system, from the present state of both, before the flow's residual.
    fn prepare(&mut self, _flow: &FlowView<'_>, _values: &[f64]) {}

    /// Whether the flow depends on this system: Newton-Krylov steps then solve for both at once.
    fn drives_flow(&self) -> bool {
        false
    }

    /// Whether Newton-Krylov steps are to wait until steps of the flow and of this system by themselves have brought both under way: where
    /// the derivative taken far from a solution leads out of the range of its unknowns.
    fn starts_apart(&self) -> bool {
        false
    }

    /// Whether it has the derivative of its residual along a direction itself ([`Coupled::direct`], [`Coupled::derivative`]), for
    /// Newton-Krylov steps. Differences are taken otherwise, by a step that must suit all unknowns of all nodes at once: no such step is left where
    /// they span orders of magnitude.
    fn has_derivative(&self) -> bool {
        false
    }

    /// Takes a direction, that of its own unknowns in `changes`, `[rows, nb]`, where rows of given values that follow the flow are to be set. What the flow
    /// takes of this system is then that of [`Direction::h`] along the direction, until [`Coupled::leave_direction`].
    fn direct(&mut self, _way: &Direction<'_>, _state: &CoupledState, _changes: &mut [f64]) {}

    /// Writes the derivative of [`Coupled::residual`] along the direction; `moved` is the flow at the end of the step. Rows of given values are
    /// not its business.
    fn derivative(
        &mut self,
        _way: &Direction<'_>,
        _moved: &FlowView<'_>,
        _at: &Moment,
        _state: &CoupledState,
        _changes: &[f64],
        _out: &mut [f64],
    ) {
    }

    /// What the flow takes is that of the last [`Coupled::prepare`] again.
    fn leave_direction(&mut self) {}

    /// Eddy viscosity of each node for the viscous fluxes of the flow, over rho_inf a_inf and the mesh unit; empty where this
    /// system has none. As of the last [`Coupled::prepare`].
    fn eddy_viscosity(&self) -> &[f64] {
        &[]
    }

    /// fw of each node for the stress of QCR2020, as of the last [`Coupled::prepare`]; empty where it is not asked for.
    fn relation(&self) -> &[f64] {
        &[]
    }

    /// Writes the residual, what leaves every control volume and what it gains per time. Sources of manufactured solutions
    /// and nodes of given values are not its business.
    fn residual(&mut self, flow: &FlowView<'_>, state: &CoupledState, at: &Moment, residual: &mut [f64]);

    /// Writes the matrix of a step, diagonal blocks with V/dt. Rows of given values are replaced afterwards.
    fn assemble(&self, flow: &FlowView<'_>, state: &CoupledState, at: &Moment, jacobian: &mut Jacobian);

    /// Writes how what is taken of each node changes, `[rows, nb]`, for a matrix [with the flow](tight); asked for of systems that drive it, as of the last residual.
    fn slopes(&self, _flow: &FlowView<'_>, _state: &CoupledState, _out: &mut [NodeSlopes]) {}

    /// The gradient of an unknown along the normal of an edge's face, times its area, from the first node to the second, as of the last residual; nothing where, as
    /// the first of `nodes` sees it, none of it diffuses.
    fn through(&self, _state: &CoupledState, _nodes: [usize; 2], _edge: usize, _unknown: usize) -> f64 {
        0.0
    }

    /// Whether its unknowns are per volume, and carried by that; else by mass.
    fn carries_volume(&self) -> bool {
        false
    }

    /// Writes that V/dt of each row; asked for of systems that drive the flow.
    fn pseudo_time(&self, _flow: &FlowView<'_>, _state: &CoupledState, _at: &Moment, _out: &mut [f64]) {}

    /// Subtracts a node's update from its unknowns, cut where they would leave their range; whether it was cut.
    fn update(&self, values: &mut [f64], update: &[f64]) -> bool {
        for (value, change) in values.iter_mut().zip(update) {
            *value -= change;
        }
        false
    }

    /// Whether a node's unknowns are in their range.
    fn is_good(&self, values: &[f64]) -> bool {
        values.iter().all(|v| v.is_finite())
    }

    /// Fields to look at besides the unknowns: name, values `[rows]`. What costs much is found where `wanted` picks it, or something found with it, by name.
    fn fields(
        &self,
        _flow: &FlowView<'_>,
        _values: &[f64],
        _wanted: &dyn Fn(&str) -> bool,
    ) -> Vec<(String, Vec<f64>)> {
        Vec::new()
    }

    /// Sources of the kernels that the form on a device asks for besides those of all systems, to be compiled ahead.
    #[cfg(feature = "cuda")]
    fn kernel_sources(
        &self,
        _config: &crate::config::FlowConfig,
    ) -> Vec<chromaflow_device::cuda::KernelSource> {
        Vec::new()
    }

    /// The form on a device.
    ///
    /// # Errors
    /// The device's; [`FlowError::Linear`](crate::march::FlowError::Linear) where there is none.
    #[cfg(feature = "cuda")]
    fn on_device(
        &self,
        stream: &chromaflow_device::cuda::Stream,
        flow: &FlowView<'_>,
    ) -> Result<Box<dyn CoupledCuda>, crate::march::FlowError>;

    /// The number of unknowns a node.
    fn nb(&self) -> usize {
        self.unknowns().len()
    }
}
