//! Fluxes through the boundary and their derivatives.

use crate::bc::{
    Inlet, bc_farfield, bc_farfield_jacobian, bc_inlet, bc_inlet_jacobian, bc_outlet, bc_outlet_jacobian,
    flux_slip_wall, flux_slip_wall_jacobian, flux_through, flux_through_jacobian,
};
use crate::config::Boundary;
use crate::flux::flux_jacobian;
use crate::gas::Gas;

/// A boundary condition with what it needs to know, scaled.
#[derive(Clone, Copy, Debug)]
pub struct BoundaryData {
    /// Which condition.
    pub kind: Boundary,
    /// Primitive state of the free stream.
    pub free: [f64; 5],
}

impl BoundaryData {
    /// Flux out of the domain at the interior state `w` through the outward area `n`.
    pub fn flux(&self, gas: Gas<f64>, w: &[f64; 5], n: &[f64; 3]) -> [f64; 5] {
        match self.kind {
            Boundary::Farfield => flux_through(gas, &bc_farfield(gas, w, &self.free, n), n),
            Boundary::SlipWall
            | Boundary::Symmetry
            | Boundary::NoSlipAdiabatic
            | Boundary::NoSlipIsothermal { .. } => flux_slip_wall(w, n),
            Boundary::Inlet { total_pressure, total_temperature, direction } => {
                let inlet = Inlet::new(gas, total_pressure, total_temperature, direction);
                flux_through(gas, &bc_inlet(gas, w, inlet, n), n)
            }
            Boundary::Outlet { pressure } => {
                flux_through(gas, &bc_outlet(gas, w, pressure / gas.gamma, n), n)
            }
            Boundary::Extrapolation => flux_through(gas, w, n),
        }
    }

    /// Derivative of [`BoundaryData::flux`] by the conserved state, column-major 5 x 5.
    pub fn flux_jacobian(&self, gas: Gas<f64>, w: &[f64; 5], n: &[f64; 3]) -> [f64; 25] {
        match self.kind {
            Boundary::Farfield => {
                let wb = bc_farfield(gas, w, &self.free, n);
                flux_through_jacobian(gas, w, &wb, &bc_farfield_jacobian(gas, w, &self.free, n), n)
            }
            Boundary::SlipWall
            | Boundary::Symmetry
            | Boundary::NoSlipAdiabatic
            | Boundary::NoSlipIsothermal { .. } => flux_slip_wall_jacobian(gas, w, n),
            Boundary::Inlet { total_pressure, total_temperature, direction } => {
                let inlet = Inlet::new(gas, total_pressure, total_temperature, direction);
                let wb = bc_inlet(gas, w, inlet, n);
                flux_through_jacobian(gas, w, &wb, &bc_inlet_jacobian(gas, w, inlet, n), n)
            }
            Boundary::Outlet { pressure } => {
                let back = pressure / gas.gamma;
                let wb = bc_outlet(gas, w, back, n);
                flux_through_jacobian(gas, w, &wb, &bc_outlet_jacobian(gas, w, back, n), n)
            }
            Boundary::Extrapolation => flux_jacobian(gas, w, n),
        }
    }
}
