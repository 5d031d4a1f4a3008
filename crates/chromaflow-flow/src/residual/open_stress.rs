//! The viscous stress at open boundaries.

use super::{Eddies, primitive_of};
use crate::bc::{Condition, ConditionClass, condition_class};
use crate::dual::Dual;
use crate::equations::perfect_gas::{N, State};
use crate::gas::{Gas, Transport, temperature};
use crate::gradient::{Gradient, NodeRecord};
use crate::parallel;
use crate::viscous::{flux_viscous_open, molecular};
use chromaflow_device::Team;

/// The open boundaries of a mesh in viscous flow, where the gas beyond draws on that inside: [`flux_viscous_open`] by the gradients of their nodes.
/// Without it they were free of stress, which parallel flow is not: `du/dy + dv/dx = 0` bends the flow of a duct before its outlet and takes away half of its
/// friction there.
///
/// The whole stress of those gradients, tau . n, was tried and left out: at Reynolds numbers of a cell below one it drives what it comes from.
pub struct OpenStress<'a> {
    /// Who computes.
    pub team: &'a Team,
    /// The mesh's metrics.
    pub dual: &'a Dual,
    /// Boundary conditions of the dual's patches.
    pub boundaries: &'a [Condition<f64>],
    /// The gas.
    pub gas: Gas<f64>,
    /// Its viscosity.
    pub transport: Transport<f64>,
    /// What turbulence adds to it.
    pub eddies: Eddies<'a>,
}

impl OpenStress<'_> {
    /// Subtracts the viscous fluxes from `out`, what flows out of each control volume, `[nodes]`.
    pub fn subtract(&self, nodes: &[NodeRecord], gradients: &[Gradient], out: &mut [State]) {
        parallel::rows(self.team, self.dual.nodes(), 1, out, |rows, out| {
            for (patch, condition) in self.dual.patches.iter().zip(self.boundaries) {
                if condition_class(condition) != ConditionClass::Open {
                    continue;
                }
                let (of_rows, areas) = patch.within(&rows);
                for (&i, n) in of_rows.iter().zip(areas) {
                    let (at, w) = (i as usize, primitive_of(&nodes[i as usize]));
                    let [molecular, _] = molecular(self.gas, self.transport, temperature(self.gas, &w));
                    let mu = molecular + self.eddies.viscosity.get(at).copied().unwrap_or(0.0);
                    let flux = flux_viscous_open(mu, &w, &gradients[at], n);
                    let sum = &mut out[at - rows.start];
                    for v in 1..N {
                        sum[v] -= flux[v];
                    }
                }
            }
        });
    }
}
