//! Transport of a passive scalar phi, carried by the flow and diffused, one unknown beside the flow:
//! ```text
//! d(rho phi)/dt + div(rho u phi) - div(Gamma grad phi) = 0,   Gamma = mu / Sc
//! ```
//! The mass fluxes are the flow's own; phi is reconstructed upwind, of second order by the least squares gradients that the
//! flow has, too. The matrix is that of the first-order scheme with thin-layer diffusion, an M-matrix.
//!
//! **Boundaries**: walls let nothing through, or have a given value; mass that enters through an open boundary has the
//! marker's value or the inflow's; where mass leaves, and at planes of symmetry, nothing is prescribed.
//!
//! | file | |
//! |---|---|
//! | `cpu.rs` | residual and matrix |
//! | `cuda.rs`, `scalar.cu` | the same on a GPU |
//! | `../coupled/transport.rs` | what faces carry |

#[cfg(feature = "cuda")]
mod arguments;
mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(test)]
mod tests;

use crate::bc::{ConditionClass, ConditionKind, condition_class};
use crate::config::ScalarConfig;
use crate::coupled::{Coupled, CoupledState, FlowView};
use crate::gradient::{Gradient, NodeRecord};
use crate::march::{FlowError, Moment};
use chromaflow::Jacobian;
use chromaflow_device::Buffer;

/// The equation of a passive scalar.
pub struct Scalar {
    config: ScalarConfig,
    names: [String; 1],
    /// Value of each patch of the dual: what flows in there, or what a wall has.
    values: Vec<f64>,
    /// Whether the patch is a wall of given value.
    holds: Vec<bool>,
    /// Square of the differences that the limiter leaves alone.
    eps2: f64,
    work: Work,
}

/// Of the present residual.
#[derive(Default)]
struct Work {
    /// phi, zeros, and the place: what the least squares take.
    records: Buffer<NodeRecord>,
    gradients: Buffer<Gradient>,
    /// Gamma at the nodes.
    gammas: Vec<f64>,
    /// What leaves a for b through each face.
    fluxes: Vec<f64>,
}

impl Scalar {
    /// First moments of the faces that its fluxes have. What gradients make of them may overshoot: a limited scalar has none.
    fn moments<'a>(&self, flow: &FlowView<'a>) -> &'a [[[f64; 3]; 3]] {
        if self.config.limited { &[] } else { flow.moments }
    }

    /// The equation on the mesh of a flow.
    ///
    /// # Errors
    /// [`FlowError::Value`] for a number out of range, [`FlowError::NoMarker`] and [`FlowError::NoValueThere`] for a value at a
    /// marker that the mesh does not have or that cannot have one.
    pub fn new(config: &ScalarConfig, flow: &FlowView<'_>) -> Result<Self, FlowError> {
        check(config)?;
        let patches = &flow.dual.patches;
        for name in config.values.keys() {
            if !patches.iter().any(|p| p.name == *name) {
                let known = patches.iter().map(|p| p.name.clone()).collect();
                return Err(FlowError::NoMarker { name: name.clone(), known });
            }
        }
        let (mut values, mut holds) = (Vec::new(), Vec::new());
        for (patch, condition) in patches.iter().zip(flow.boundaries) {
            let given = config.values.get(&patch.name);
            if given.is_some() && condition.kind == ConditionKind::Symmetry {
                let (name, marker) = (config.name.clone(), patch.name.clone());
                return Err(FlowError::NoValueThere { name, marker, condition: "plane of symmetry" });
            }
            values.push(given.copied().unwrap_or(config.inflow));
            holds.push(given.is_some() && condition_class(condition) != ConditionClass::Open);
        }
        let size = scale(config);
        Ok(Self {
            names: [config.name.clone()],
            values,
            holds,
            eps2: (SMOOTH * size).powi(2),
            config: config.clone(),
            work: Work::default(),
        })
    }

    fn is_second_order(&self, at: &Moment) -> bool {
        self.config.second_order && !at.first_order
    }
}

/// Differences below this part of the values' size are smooth: the limiter leaves them alone.
const SMOOTH: f64 = 0.1;

/// The size of the values.
fn scale(config: &ScalarConfig) -> f64 {
    config.values.values().fold(config.inflow.abs(), |most, v| most.max(v.abs()))
}

fn check(config: &ScalarConfig) -> Result<(), FlowError> {
    let fault = |name: String, value, expected| Err(FlowError::Value { name: name.into(), value, expected });
    if !(config.schmidt > 0.0 && config.schmidt.is_finite()) {
        return fault("scalar.schmidt".into(), config.schmidt, "must be positive");
    }
    if let Some(gamma) = config.diffusivity.filter(|gamma| !(*gamma >= 0.0 && gamma.is_finite())) {
        return fault("scalar.diffusivity".into(), gamma, "must be zero or positive");
    }
    for (marker, &value) in &config.values {
        if !value.is_finite() {
            return fault(format!("scalar.markers.{marker}"), value, "must be finite");
        }
    }
    if !config.inflow.is_finite() {
        return fault("scalar.inflow".into(), config.inflow, "must be finite");
    }
    Ok(())
}

impl Coupled for Scalar {
    fn unknowns(&self) -> &[String] {
        &self.names
    }

    fn initial(&self, flow: &FlowView<'_>, row: usize, out: &mut [f64]) {
        let patches = flow.dual.patches.iter().zip(&self.holds).zip(&self.values);
        let mut on =
            patches.filter(|((patch, holds), _)| **holds && patch.nodes.binary_search(&(row as u32)).is_ok());
        // Where walls of different values meet, the first one's holds.
        out[0] = on.next().map_or(self.config.inflow, |(_, &value)| value);
    }

    fn given(&self, flow: &FlowView<'_>) -> Vec<u32> {
        let patches = flow.dual.patches.iter().zip(&self.holds).filter(|(_, holds)| **holds);
        let mut nodes: Vec<u32> = patches.flat_map(|(patch, _)| patch.nodes.iter().copied()).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    fn scales(&self) -> Vec<f64> {
        vec![scale(&self.config)]
    }

    fn residual(&mut self, flow: &FlowView<'_>, state: &CoupledState, at: &Moment, residual: &mut [f64]) {
        self.compute_residual(flow, state, at, residual);
    }

    fn assemble(&self, flow: &FlowView<'_>, _state: &CoupledState, at: &Moment, jacobian: &mut Jacobian) {
        self.compute_matrix(flow, at, jacobian);
    }

    #[cfg(feature = "cuda")]
    fn kernel_sources(
        &self,
        config: &crate::config::FlowConfig,
    ) -> Vec<chromaflow_device::cuda::KernelSource> {
        cuda::sources_of(self.config.limited, &config.space)
    }

    #[cfg(feature = "cuda")]
    fn on_device(
        &self,
        stream: &chromaflow_device::cuda::Stream,
        flow: &FlowView<'_>,
    ) -> Result<Box<dyn crate::coupled::CoupledCuda>, FlowError> {
        Ok(Box::new(cuda::ScalarCuda::new(stream, self, flow)?))
    }
}
