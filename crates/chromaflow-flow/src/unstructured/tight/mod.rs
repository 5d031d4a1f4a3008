//! Steps by one matrix of the flow and the model of turbulence, see [`crate::coupled::tight`].

#[cfg(test)]
mod tests;

use super::FlowSystem;
use super::coupled::eddies;
use crate::bc::{MirrorNode, WallHeat, WallNode, mirror_kept, strong_wall_energy};
use crate::config::Coupling;
use crate::coupled::Tight;
use crate::equations::perfect_gas::{N, State};
use crate::gas::Transport;
use crate::march::{FlowError, Moment};
use crate::residual::Eddies;

const AT_HAND: &str = "a tightly coupled flow has its matrix";

impl FlowSystem {
    /// Room for the one matrix, where the set-up asks for it.
    pub(super) fn start_tight(&mut self) -> Result<(), FlowError> {
        let asked = self.config.turbulence.as_ref().is_some_and(|model| model.coupling == Coupling::Tight);
        if let Some(number) = self.driving().filter(|_| asked) {
            let nb = self.coupled[number].state.nb;
            self.tight = Some(Tight::new(&self.view(&[], &[]), nb, &self.plan.batches)?);
        }
        Ok(())
    }

    /// The system that the flow depends on.
    fn driving(&self) -> Option<usize> {
        self.coupled.iter().position(|system| system.drives_flow())
    }

    /// Whether a step is by one matrix.
    pub(super) fn is_tight(&self, at: &Moment) -> bool {
        self.tight.is_some() && at.together
    }

    /// Makes the one matrix from the flow's, which is assembled.
    pub(super) fn assemble_tight(&mut self, at: &Moment) -> Result<(), FlowError> {
        let mut tight = self.tight.take().expect(AT_HAND);
        self.find_unit_fluxes(tight.unit_fluxes());
        let jacobian = std::mem::replace(&mut self.jacobian, super::access::no_matrix());
        let filled = self.with_coupled(at, |view, coupled| {
            let system = coupled.iter_mut().find(|system| system.drives_flow()).expect(AT_HAND);
            system.assemble_joint(view, at)?;
            tight.fill(view, &jacobian, system)
        });
        self.jacobian = jacobian;
        self.hold_joint(&mut tight);
        if let Some(over) = &self.over {
            over.identities(tight.jacobian());
        }
        self.tight = Some(tight);
        filled
    }

    /// Viscous fluxes of a unit of eddy viscosity.
    fn find_unit_fluxes(&self, out: &mut [State]) {
        out.fill([0.0; N]);
        let Some((transport, elements)) = &self.viscous else { return };
        let ones = vec![1.0; self.q.len()];
        let eddies = Eddies { viscosity: &ones, ..eddies(&self.config, &self.coupled) };
        // Nothing of the gas.
        let transport = Transport { scale: 0.0, ..*transport };
        elements.subtract(&self.team, self.gas, transport, eddies, &self.nodes, out);
        if self.planar {
            for flux in out.iter_mut() {
                flux[3] = 0.0;
            }
        }
    }

    /// What boundaries make of the rows of their nodes, of the columns of the model, as of residuals.
    fn hold_joint(&self, tight: &mut Tight) {
        for &WallNode { node, heat, wall } in &self.fixed {
            tight.change_columns(node as usize, |r| {
                let energy = if heat == WallHeat::Isothermal { 0.0 } else { strong_wall_energy(wall, r) };
                [r[0], 0.0, 0.0, 0.0, energy]
            });
        }
        for MirrorNode { node, mirror, .. } in &self.mirrors.nodes {
            tight.change_columns(*node as usize, |r| mirror_kept(mirror, r));
        }
        for &node in &self.held {
            tight.change_columns(node as usize, |_| [0.0; N]);
        }
    }

    /// Makes it ready to precondition with; the row of a diagonal block that cannot be inverted comes back as an error.
    pub(super) fn factor_tight(&mut self) -> Result<(), usize> {
        self.tight.as_mut().expect(AT_HAND).factor()
    }

    /// Finds the updates of both by the one matrix alone.
    pub(super) fn solve_tight(&mut self, at: &Moment) -> Result<Option<f64>, usize> {
        let number = self.driving().expect(AT_HAND);
        let tight = self.tight.as_mut().expect(AT_HAND);
        tight.solve(&self.team, &mut self.coupled[number], &self.residual, &mut self.update, at.measure)
    }
}
