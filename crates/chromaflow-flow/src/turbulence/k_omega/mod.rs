//! Models of two equations beside the flow, k and omega: SST-2003m, SST-Vm, Wilcox2006m-klim.
//!
//! | file | |
//! |---|---|
//! | `formulas.rs` | the models' terms, on hosts and devices |
//! | `cpu.rs` | residual and matrix |
//! | `derivative.rs` | the residual's derivative along a direction |
//! | `cuda.rs`, `k_omega.cu` | the same on a GPU |
//!
//! **Space**: k and omega are per mass and move with the flow's own mass fluxes, sum of min(m, 0) (phi_j - phi_i), of first order (by
//! choice of second): constants stay, whatever the flow does. Gradients at nodes, of velocity, k and omega, are means over the
//! corners of elements ([`NodeGradients`]).
//!
//! **Boundaries**: at walls without slip k = 0 and Menter's omega, or Wilcox's of a slightly rough one, [`k_omega_wall`], which follows the viscosity of the gas there;
//! what enters through open boundaries has the values of the free stream; nothing diffuses through open boundaries and planes of
//! symmetry.
//!
//! **Matrix**: the first-order scheme with diffusion along edges, an M-matrix for each unknown; the exact derivative of k's source by k and by
//! omega, and that of omega's by omega where it adds to the diagonal, which leaves the matrix triangular. The source of k is proportional to k, so the
//! matrix A of k has A k = R + V/dt k + what enters: an M-matrix, with which no k becomes negative, as long as V/dt > -R/k. V/dt is twice that rate at
//! least, no more than the source's; near a solution it vanishes.
//!
//! **Steps**: k and omega differ by six orders of magnitude between walls, layers and the free stream: residuals, and parts of
//! Newton-Krylov steps, are measured by their own values at each node, and derivatives along directions are exact (`derivative.rs`): no step of a
//! difference suits them all. Values fall by steps of their logarithms, by four fifths at most ([`k_omega_kept`]).

#[cfg(feature = "cuda")]
mod arguments;
mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod derivative;
mod formulas;

#[cfg(test)]
mod tests;

pub use formulas::{
    KOmega, KOmegaVariant, deformation, k_omega_blending, k_omega_diffusing, k_omega_kept, k_omega_law,
    k_omega_law_of_cells, k_omega_rate, k_omega_shortened, k_omega_slope, k_omega_sources, k_omega_terms,
    k_omega_terms_of_hybrid, k_omega_uncut, k_omega_viscous, k_omega_wall, k_resolving, producing,
};

use super::hybrid::{FIELDS, HybridGrid, any_wanted};
use super::{plate_friction, plate_thickness};
use crate::config::{TurbulenceConfig, TurbulenceModel, WallTreatment};
use crate::coupled::{Coupled, CoupledState, Direction, FlowView, NodeSlopes};
use crate::gas::{Gas, temperature, viscosity};
use crate::march::{FlowError, Moment};
use crate::mesh::Mesh;
use crate::real::Real;
use crate::residual::{NodeGradients, ViscousElements, primitive_of};
use crate::wall_distance::NearWalls;
use crate::wall_law::{LawNode, WallLaw, law_friction};
use chromaflow::Jacobian;

/// k and omega of a row.
const NB: usize = 2;
/// Their names.
pub(crate) const NAMES: [&str; NB] = ["k", "omega"];
/// Of a row: d(u, v, w, k, omega)_i / dx_k.
const GRADIENTS: usize = 15;
/// sqrt(beta*) and kappa of the layer at the beginning.
const LAYER: [f64; 2] = [0.3, 0.41];
/// Wall units over which it is damped.
const VAN_DRIEST: f64 = 25.0;

/// The equations of k and omega on one mesh.
pub struct KOmegaEquations {
    model: KOmega<f64>,
    config: TurbulenceConfig,
    names: [String; NB],
    /// k and omega of what flows in.
    inflow: [f64; NB],
    layer: StartLayer,
    /// What production is multiplied by, by rows; empty for 1.
    production: Vec<f64>,
    /// From the walls, by rows.
    distance: Vec<f64>,
    /// Wall nodes, ascending, and the distance of the first node off the wall of each.
    walls: Vec<u32>,
    heights: Vec<f64>,
    hybrid: Option<HybridGrid>,
    gradients: NodeGradients,
    work: Work,
    way: derivative::Way,
}

/// Of the present state.
#[derive(Clone, Debug, Default)]
struct Work {
    /// `[rows, GRADIENTS]`.
    gradients: Vec<f64>,
    /// Of nodes next to walls with laws: gradients of the velocity without them.
    without_law: Vec<[[f64; 3]; 3]>,
    nodes: Vec<NodeTerms>,
    /// Eddy viscosity, over rho_inf a_inf and the mesh unit.
    eddies: Vec<f64>,
    /// Of each edge, of k and of omega: what the mass through its face carries, and the gradient's part along its normal.
    faces: Vec<[[f64; NB]; 2]>,
    /// The rate at which k grows at each node, no more than its source makes it.
    growths: Vec<f64>,
}

/// What the equations take of a node.
#[derive(Clone, Copy, Debug, Default)]
struct NodeTerms<T = f64> {
    /// What k and omega diffuse by.
    diffusing: [T; NB],
    /// Sources per volume, and derivatives as [`k_omega_sources`] has them.
    sources: [T; 5],
    /// Of a hybrid: the length of RANS over its own, and the share of large eddy simulation.
    hybrid: [T; 2],
}

/// Molecular viscosity of the gas, over rho_inf a_inf and the mesh unit.
fn viscosity_at<T: Real>(flow: &FlowView<'_>, state: &[T; 5]) -> T {
    let gas = Gas { gamma: T::c(flow.gas.gamma) };
    flow.transport.map_or(T::c(0.0), |transport| {
        let transport = transport.lift();
        transport.scale * viscosity(transport, temperature(gas, state))
    })
}

impl KOmegaEquations {
    /// The equations on `mesh`, numbered as the rows of `flow`, with its walls without slip.
    ///
    /// # Errors
    /// [`FlowError::Value`] for numbers out of range; those of [`HybridGrid::new`].
    pub fn new(
        config: &TurbulenceConfig,
        variant: KOmegaVariant,
        (mesh, walls): (&Mesh, &NearWalls),
        elements: &ViscousElements,
        flow: &FlowView<'_>,
    ) -> Result<Self, FlowError> {
        super::check(config, &flow.config.time)?;
        let distance = walls.distances();
        let scale = flow.transport.map_or(0.0, |transport| transport.scale);
        let (model, inflow) = model_of(config, variant, scale);
        Ok(Self {
            model,
            config: config.clone(),
            names: NAMES.map(str::to_owned),
            inflow,
            layer: StartLayer::new(model, inflow, walls.surface.extent(), flow.config.freestream.mach, scale),
            heights: flow
                .wall_rows()
                .iter()
                .map(|&row| first_height(flow, &distance, row as usize))
                .collect(),
            walls: flow.wall_rows(),
            production: super::production(
                config,
                mesh,
                flow.nodes.iter().map(|node| [node[5], node[6], node[7]]),
            ),
            distance,
            hybrid: HybridGrid::new(config, (mesh, walls), flow)?,
            gradients: NodeGradients::new(elements, flow.dual, flow.nodes),
            work: Work::default(),
            way: derivative::Way::default(),
        })
    }

    /// k and omega at a wall node, `state` the rho, u, v, w and p of rows.
    fn wall_values<T: Real>(
        &self,
        flow: &FlowView<'_>,
        row: usize,
        state: impl Fn(usize) -> [T; 5],
    ) -> [T; NB] {
        let model = self.model.lift();
        if let (Some(at), Some(transport)) = (flow.law_at(row as u32), flow.transport) {
            let LawNode { other, place, .. } = flow.laws[0][at];
            let (w, gas) = (state(other as usize), Gas { gamma: T::c(flow.gas.gamma) });
            let [units, friction] = law_friction(gas, transport.lift(), place.lift(), &w);
            let distance = T::c(place.distance);
            let blended = self.config.walls == WallTreatment::Automatic;
            return k_omega_law(model, blended, units, friction * distance / units, distance);
        }
        let at = self.walls.binary_search(&(row as u32)).expect("a node on a wall");
        let w = state(row);
        [T::c(0.0), k_omega_wall(model, viscosity_at(flow, &w) / w[0], T::c(self.heights[at]))]
    }
}

impl KOmegaVariant {
    /// Its law of the wall.
    pub(crate) fn law(self) -> WallLaw {
        match self {
            Self::Sst => WallLaw::Sst,
            Self::SstVorticity => WallLaw::SstVorticity,
            Self::Wilcox => WallLaw::Wilcox,
        }
    }

    /// That of a model of two equations.
    pub(crate) fn of(model: TurbulenceModel) -> Option<Self> {
        match model {
            TurbulenceModel::Sst => Some(Self::Sst),
            TurbulenceModel::SstVorticity => Some(Self::SstVorticity),
            TurbulenceModel::KOmega => Some(Self::Wilcox),
            TurbulenceModel::SaNeg | TurbulenceModel::Sa | TurbulenceModel::SaNoFt2 => None,
        }
    }
}

/// The model of a set-up, and k and omega of what flows in; `scale` is the kinematic viscosity of the free stream.
pub(crate) fn model_of(
    config: &TurbulenceConfig,
    variant: KOmegaVariant,
    scale: f64,
) -> (KOmega<f64>, [f64; NB]) {
    let inflow = [config.inflow_k, config.inflow_k / (config.inflow_ratio * scale)];
    let [ambient_k, ambient_omega] = if config.sustained { inflow } else { [0.0; NB] };
    (KOmega { variant, ambient_k, ambient_omega, roughness: config.roughness }, inflow)
}

/// k and omega off walls at the beginning: a turbulent layer, lest boundary layers come to rest in a laminar state: k = u_tau^2 / sqrt(beta*),
/// less towards the wall as van Driest damps and towards the layer's edge, and the larger omega of the viscous layer,
/// 6 nu / (beta d^2), and of the logarithmic one, u_tau / (sqrt(beta*) kappa d). Off the layer there is the free stream.
pub(crate) struct StartLayer {
    model: KOmega<f64>,
    inflow: [f64; NB],
    thickness: f64,
    /// Its friction velocity.
    friction: f64,
    /// Root of k at its edge and beyond over that of k near the wall.
    edge: f64,
    nu: f64,
}

impl StartLayer {
    /// Of walls of this length, as at the end of such a plate: see [`plate_thickness`] and [`plate_friction`].
    pub fn new(model: KOmega<f64>, inflow: [f64; NB], length: f64, speed: f64, nu: f64) -> Self {
        let reynolds = (speed * length / nu).max(1.0);
        let friction = speed * (0.5 * plate_friction(reynolds)).sqrt();
        Self { model, inflow, thickness: plate_thickness(length, speed, nu), friction, edge: 0.0, nu }
    }

    /// Of flow that is driven along its walls: all of it is layer, and nothing flows in. `friction` is the friction velocity that balances the force, `depth` the volume
    /// over the walls' area; in the middle of a channel k is a quarter of u_tau^2 / sqrt(beta*).
    ///
    /// **Source**: Moser, Kim and Mansour (1999), Phys. Fluids 11(4).
    pub fn driven(model: KOmega<f64>, [friction, depth]: [f64; 2], nu: f64) -> Self {
        Self { model, inflow: [0.0; NB], thickness: depth, friction, edge: 0.5, nu }
    }

    /// At this distance from the walls.
    pub fn at(&self, distance: f64) -> [f64; NB] {
        let (&Self { nu, thickness, friction, edge, .. }, [root, kappa], d) = (self, LAYER, distance);
        // No more than there is at the wall.
        let near = k_omega_viscous(self.model, nu, d).min(k_omega_wall(self.model, nu, d));
        let damped = 1.0 - (-d * friction / (VAN_DRIEST * nu)).exp();
        let layer = friction / root.sqrt() * damped * (1.0 - (1.0 - edge) * (d / thickness).min(1.0));
        let near = near.hypot(friction / (root * kappa * d));
        [self.inflow[0] + layer * layer, self.inflow[1] + near]
    }
}

/// Distance from the walls of the neighbor off them that is nearest to them; where all neighbors are on walls, the shortest edge.
fn first_height(flow: &FlowView<'_>, distance: &[f64], row: usize) -> f64 {
    let place = |i: usize| [flow.nodes[i][5], flow.nodes[i][6], flow.nodes[i][7]];
    let length = |j: usize| {
        let dx = flow.dual.between(&place(row), &place(j));
        dx.into_iter().map(|d| d * d).sum::<f64>().sqrt()
    };
    let on_wall = |j: usize| flow.is_on_wall(j as u32);
    let columns = &flow.dual.pattern.col_idx()[flow.dual.pattern.range(row)];
    let (mut off, mut edge) = (f64::INFINITY, f64::INFINITY);
    for j in columns.iter().map(|&j| j as usize).filter(|&j| j != row) {
        edge = edge.min(length(j));
        if !on_wall(j) {
            off = off.min(distance[j]);
        }
    }
    if off.is_finite() { off } else { edge }
}

impl Coupled for KOmegaEquations {
    fn unknowns(&self) -> &[String] {
        &self.names
    }

    /// See [`StartLayer`].
    fn initial(&self, flow: &FlowView<'_>, row: usize, out: &mut [f64]) {
        out.copy_from_slice(&if flow.is_on_wall(row as u32) {
            self.wall_values(flow, row, |i| primitive_of(&flow.nodes[i]))
        } else {
            self.layer.at(self.distance[row])
        });
    }

    fn given(&self, _flow: &FlowView<'_>) -> Vec<u32> {
        self.walls.clone()
    }

    fn given_follow_flow(&self) -> bool {
        true
    }

    fn scales(&self) -> Vec<f64> {
        vec![1.0; NB]
    }

    fn local_floor(&self, unknown: usize) -> Option<f64> {
        Some(if unknown == 0 { self.inflow[0] } else { 0.0 })
    }

    fn prepare(&mut self, flow: &FlowView<'_>, values: &[f64]) {
        let mut work = std::mem::take(&mut self.work);
        self.find_terms(flow, values, &mut work);
        self.work = work;
    }

    fn drives_flow(&self) -> bool {
        true
    }

    fn starts_apart(&self) -> bool {
        true
    }

    fn has_derivative(&self) -> bool {
        true
    }

    fn direct(&mut self, way: &Direction<'_>, state: &CoupledState, changes: &mut [f64]) {
        self.take_direction(way, state, changes);
    }

    fn derivative(
        &mut self,
        way: &Direction<'_>,
        moved: &FlowView<'_>,
        at: &Moment,
        state: &CoupledState,
        changes: &[f64],
        out: &mut [f64],
    ) {
        self.compute_derivative(way, moved, at, state, changes, out);
    }

    fn leave_direction(&mut self) {
        self.way.taken = false;
    }

    fn eddy_viscosity(&self) -> &[f64] {
        if self.way.taken { &self.way.eddies } else { &self.work.eddies }
    }

    fn residual(&mut self, flow: &FlowView<'_>, state: &CoupledState, at: &Moment, residual: &mut [f64]) {
        self.compute_residual(flow, state, at, residual);
    }

    fn assemble(&self, flow: &FlowView<'_>, _state: &CoupledState, at: &Moment, jacobian: &mut Jacobian) {
        self.carried(flow, at).assemble(jacobian);
    }

    fn pseudo_time(&self, flow: &FlowView<'_>, _state: &CoupledState, at: &Moment, out: &mut [f64]) {
        self.carried(flow, at).pseudo_time(out);
    }

    fn slopes(&self, flow: &FlowView<'_>, state: &CoupledState, out: &mut [NodeSlopes]) {
        self.find_slopes(flow, state, out);
    }

    fn through(&self, _state: &CoupledState, _nodes: [usize; 2], edge: usize, unknown: usize) -> f64 {
        self.work.faces[edge][1][unknown]
    }

    fn update(&self, values: &mut [f64], update: &[f64]) -> bool {
        let mut cut = false;
        for (value, &change) in values.iter_mut().zip(update) {
            cut |= change > k_omega_uncut(*value);
            *value = k_omega_kept(*value, change);
        }
        cut
    }

    fn is_good(&self, values: &[f64]) -> bool {
        values.iter().all(|v| v.is_finite()) && values[0] >= 0.0 && values[1] > 0.0
    }

    #[cfg(feature = "cuda")]
    fn kernel_sources(
        &self,
        _config: &crate::config::FlowConfig,
    ) -> Vec<chromaflow_device::cuda::KernelSource> {
        cuda::sources_of(self.model.variant, self.hybrid.as_ref().map(HybridGrid::form))
    }

    #[cfg(feature = "cuda")]
    fn on_device(
        &self,
        stream: &chromaflow_device::cuda::Stream,
        flow: &FlowView<'_>,
    ) -> Result<Box<dyn crate::coupled::CoupledCuda>, FlowError> {
        Ok(Box::new(cuda::KOmegaCuda::new(stream, self, flow)?))
    }

    fn fields(
        &self,
        flow: &FlowView<'_>,
        values: &[f64],
        wanted: &dyn Fn(&str) -> bool,
    ) -> Vec<(String, Vec<f64>)> {
        if !any_wanted(wanted) {
            return Vec::new();
        }
        let mut work = Work::default();
        self.find_terms(flow, values, &mut work);
        let ratio = work.eddies.iter().zip(flow.nodes).map(|(eddy, node)| {
            let t = temperature(flow.gas, &primitive_of(node));
            flow.transport.map_or(0.0, |transport| eddy / (transport.scale * viscosity(transport, t)))
        });
        let mut fields = vec![
            ("wall_distance".to_owned(), self.distance.clone()),
            ("eddy_viscosity_ratio".to_owned(), ratio.collect()),
            ("eddy_viscosity".to_owned(), work.eddies),
        ];
        if self.hybrid.is_some() {
            let ratios = work.nodes.iter().map(|node| 1.0 / node.hybrid[0]).collect();
            fields.push((FIELDS[0].to_owned(), ratios));
            fields.push((FIELDS[1].to_owned(), work.nodes.iter().map(|node| node.hybrid[1]).collect()));
        }
        fields
    }
}
