//! The Spalart-Allmaras model, one equation beside the flow: SA-neg, SA, SA-noft2.
//!
//! | file | |
//! |---|---|
//! | `formulas.rs` | the model's terms, on hosts and devices |
//! | `cpu.rs` | residual and matrix |
//! | `cuda.rs`, `sa.cu` | the same on a GPU |
//!
//! **Space**: advection in the form that is not conservative, by the volume that passes each face,
//! sum of min(U, 0) (nut_j - nut_i), of first order (by choice of second): a constant nut stays, whatever the flow does.
//! Diffusion takes |grad nut|^2 along in its coefficient, see [`sa_diffusivity`]; gradients at nodes are means over the
//! corners of elements ([`NodeGradients`]), and so is the vorticity.
//!
//! **Boundaries**: nut = 0 at walls without slip; what enters through open boundaries has the value of the free stream;
//! nothing diffuses through open boundaries and planes of symmetry.
//!
//! **Matrix**: the first-order scheme with diffusion along edges, an M-matrix; the source's exact derivative where it adds to
//! the diagonal.

#[cfg(feature = "cuda")]
mod arguments;
mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod formulas;

#[cfg(test)]
mod tests;

pub use formulas::{
    SaVariant, SpalartAllmaras, clipped_vorticity, eddy_ratio, sa_diffusing, sa_diffusivity,
    sa_diffusivity_to_wall, sa_joint_terms, sa_kept, sa_low_reynolds, sa_relation, sa_rotating, sa_source,
    sa_source_turning, sa_turning, sa_viscosities, strain_rates, vorticity,
};

use super::hybrid::{FIELDS, HybridGrid, any_wanted, sa_hybrid_length};
use super::k_omega::deformation;
use super::walls::replace_shear;
use crate::config::{Quadratic, Rotation, TurbulenceConfig};
use crate::coupled::{Coupled, CoupledState, FlowView, NodeSlopes};
use crate::march::{FlowError, Moment};
use crate::mesh::Mesh;
use crate::parallel;
use crate::residual::{NodeGradients, ViscousElements};
use crate::wall_distance::NearWalls;
use chromaflow::Jacobian;

/// The equation of nut on one mesh.
pub struct SaEquation {
    model: SpalartAllmaras<f64>,
    config: TurbulenceConfig,
    names: [String; 1],
    /// From the walls, by rows.
    distance: Vec<f64>,
    /// What production is multiplied by, by rows; empty for 1.
    production: Vec<f64>,
    hybrid: Option<HybridGrid>,
    gradients: NodeGradients,
    work: Work,
}

/// Of the present state.
#[derive(Default)]
struct Work {
    /// Kinematic viscosity over that of the free stream.
    nu: Vec<f64>,
    /// Eddy viscosity, over rho_inf a_inf and the mesh unit.
    eddy: Vec<f64>,
    /// Of (u, v, w, nut).
    gradients: Vec<[[f64; 3]; 4]>,
    /// fw of QCR2020, where it is asked for.
    relation: Vec<f64>,
    /// Source per volume and its derivative.
    source: Vec<[f64; 2]>,
    /// Of each edge: the volume that passes its face, what it carries of nut, and grad nut . n.
    faces: Vec<[f64; 3]>,
}

impl SaEquation {
    /// The equation on `mesh`, numbered as the rows of `flow`, with its walls without slip.
    ///
    /// # Errors
    /// [`FlowError::Value`] for numbers out of range; those of [`HybridGrid::new`].
    pub fn new(
        config: &TurbulenceConfig,
        variant: SaVariant,
        (mesh, walls): (&Mesh, &NearWalls),
        elements: &ViscousElements,
        flow: &FlowView<'_>,
    ) -> Result<Self, FlowError> {
        super::check(config, &flow.config.time)?;
        let scale = flow.transport.map_or(0.0, |transport| transport.scale);
        Ok(Self {
            model: SpalartAllmaras { variant, scale },
            config: config.clone(),
            names: ["nut".to_owned()],
            distance: walls.distances(),
            production: super::production(
                config,
                mesh,
                flow.nodes.iter().map(|node| [node[5], node[6], node[7]]),
            ),
            hybrid: HybridGrid::new(config, (mesh, walls), flow)?,
            gradients: NodeGradients::new(elements, flow.dual, flow.nodes),
            work: Work::default(),
        })
    }

    /// What stands for the distance from the wall in the source of a row, and the share of large eddy simulation in it: `gradient`
    /// d(u, v, w)_i / dx_k.
    fn length(&self, row: usize, nu: f64, nut: f64, gradient: &[[f64; 3]; 3]) -> [f64; 2] {
        let distance = self.distance[row];
        self.hybrid.as_ref().map_or([distance, 0.0], |grid| {
            sa_hybrid_length(self.model, grid.form(), nu, nut, distance, &grid.at(row, gradient), gradient)
        })
    }

    /// What stands for the size of the vorticity in the source.
    fn turning(&self, gradient: &[[f64; 3]; 3]) -> f64 {
        let omega = vorticity(gradient);
        if self.config.rotation == Rotation::Rotating {
            sa_rotating(omega, deformation(gradient)[0])
        } else {
            omega
        }
    }

    /// What production is multiplied by at a row: fr1 of SA-RC, 1 without it, and nothing where the flow is kept laminar. The change
    /// of the strain along the flow is the sum over faces of U (S_j - S_i) / 2 over the volume, U the volume that leaves; in time the strain
    /// itself does not change.
    fn produced(&self, flow: &FlowView<'_>, gradients: &[[[f64; 3]; 4]], row: usize) -> f64 {
        let share = self.production.get(row).copied().unwrap_or(1.0);
        if self.config.rotation != Rotation::Curved {
            return share;
        }
        let strain = |i: usize| {
            let [u, v, w, _] = gradients[i];
            strain_rates(&[u, v, w])
        };
        let (dual, own, mut change) = (flow.dual, strain(row), [0.0; 6]);
        for k in dual.pattern.range(row) {
            let (j, edge) = (dual.pattern.col_idx()[k] as usize, dual.edge_of[k] as usize);
            let half = if j > row { 0.5 } else { -0.5 };
            let leaving = half * cpu::passing(flow, edge) / dual.volumes[row];
            for ((change, there), here) in change.iter_mut().zip(strain(j)).zip(own) {
                *change += leaving * (there - here);
            }
        }
        let [u, v, w, _] = gradients[row];
        share * sa_turning(&[u, v, w], &change)
    }

    /// Whether negative values have a model of their own.
    fn may_be_negative(&self) -> bool {
        self.model.variant == SaVariant::Negative
    }
}

impl Coupled for SaEquation {
    fn unknowns(&self) -> &[String] {
        &self.names
    }

    fn initial(&self, flow: &FlowView<'_>, row: usize, out: &mut [f64]) {
        out[0] = if flow.is_on_wall(row as u32) { 0.0 } else { self.config.inflow };
    }

    fn given(&self, flow: &FlowView<'_>) -> Vec<u32> {
        flow.wall_rows()
    }

    fn scales(&self) -> Vec<f64> {
        vec![1.0]
    }

    fn local_floor(&self, _unknown: usize) -> Option<f64> {
        Some(self.config.inflow)
    }

    fn prepare(&mut self, flow: &FlowView<'_>, values: &[f64]) {
        [self.work.nu, self.work.eddy] = self.viscosities(flow, values);
        if self.config.quadratic == Quadratic::Qcr2020 {
            self.find_gradients(flow, values);
            let (model, distance) = (self.model, &self.distance);
            let Work { nu, gradients, relation, .. } = &mut self.work;
            relation.resize(values.len(), 0.0);
            parallel::rows(flow.team, values.len(), 1, relation, |rows, out| {
                for (i, relation) in rows.zip(out) {
                    let [u, v, w, _] = gradients[i];
                    *relation = sa_relation(model, nu[i], values[i], &[u, v, w], distance[i]);
                }
            });
        }
    }

    fn relation(&self) -> &[f64] {
        &self.work.relation
    }

    fn drives_flow(&self) -> bool {
        true
    }

    fn eddy_viscosity(&self) -> &[f64] {
        &self.work.eddy
    }

    fn residual(&mut self, flow: &FlowView<'_>, state: &CoupledState, at: &Moment, residual: &mut [f64]) {
        self.compute_residual(flow, state, at, residual);
    }

    fn assemble(&self, flow: &FlowView<'_>, state: &CoupledState, at: &Moment, jacobian: &mut Jacobian) {
        self.carried(flow, state, at).assemble(jacobian);
    }

    fn pseudo_time(&self, flow: &FlowView<'_>, state: &CoupledState, at: &Moment, out: &mut [f64]) {
        self.carried(flow, state, at).pseudo_time(out);
    }

    fn slopes(&self, flow: &FlowView<'_>, state: &CoupledState, out: &mut [NodeSlopes]) {
        self.find_slopes(flow, state, out);
    }

    fn through(&self, state: &CoupledState, [i, j]: [usize; 2], edge: usize, _unknown: usize) -> f64 {
        let (nu, nut) = (&self.work.nu, &state.values);
        let diffuses = sa_diffusivity(self.model, &[nu[i], nu[j]], &[nut[i], nut[j]]) > 0.0;
        if diffuses { self.work.faces[edge][2] } else { 0.0 }
    }

    fn carries_volume(&self) -> bool {
        true
    }

    fn update(&self, values: &mut [f64], update: &[f64]) -> bool {
        let new = values[0] - update[0];
        let kept = if self.may_be_negative() { new } else { sa_kept(values[0], update[0]) };
        values[0] = kept;
        kept > new
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
        Ok(Box::new(cuda::SaCuda::new(stream, self, flow)?))
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
        let [nu, eddy] = self.viscosities(flow, values);
        let ratio = values.iter().zip(&nu).map(|(nut, nu)| eddy_ratio(nut / nu)).collect();
        let mut fields = vec![
            ("wall_distance".to_owned(), self.distance.clone()),
            ("eddy_viscosity_ratio".to_owned(), ratio),
            ("eddy_viscosity".to_owned(), eddy),
        ];
        if self.hybrid.is_some() && FIELDS.into_iter().any(wanted) {
            let mut gradients = vec![[[0.0; 3]; 4]; values.len()];
            let flat = gradients.as_flattened_mut().as_flattened_mut();
            self.gradients.compute::<1>(flow.team, flow.nodes, values.as_chunks().0, flat);
            replace_shear(flow, flat, 12);
            let at = |i: usize| {
                let [u, v, w, _] = gradients[i];
                let [length, share] = self.length(i, nu[i], values[i], &[u, v, w]);
                // Walls have no length to compare with.
                let distance = self.distance[i];
                [if distance > 0.0 { length / distance } else { 1.0 }, share]
            };
            let both: Vec<[f64; 2]> = (0..values.len()).map(at).collect();
            for (k, name) in FIELDS.into_iter().enumerate() {
                fields.push((name.to_owned(), both.iter().map(|pair| pair[k]).collect()));
            }
        }
        fields
    }
}

/// The model's exact law of the wall: u+ over y+ in a layer of constant stress, where nut+ = kappa y+ down to the wall.
///
/// **Source**: Allmaras, Johnson & Spalart (2012), ICCFD7-1902.
///
/// ```
/// use chromaflow_flow::turbulence::spalart_allmaras::law_of_the_wall;
/// assert!((law_of_the_wall(100.0) - 16.320216076).abs() < 1e-8);
/// ```
pub fn law_of_the_wall(y: f64) -> f64 {
    let (a1, a2) = (8.148221580024245, -6.9287093849022945);
    let (b1, b2) = (7.4600876082527945, 7.468145790401841);
    let log = |a: f64, b: f64| ((y + a).powi(2) + b * b).ln();
    let angle = |a: f64, b: f64| b.atan2(y + a);
    5.0333908790505579 + 2.5496773539754747 * log(a1, b1)
        - 1.3301651588535228 * log(a2, b2)
        - 3.599459109332379 * angle(a1, b1)
        - 3.6397531868684494 * angle(a2, b2)
}
