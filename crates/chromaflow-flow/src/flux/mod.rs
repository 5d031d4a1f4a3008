//! Inviscid fluxes through a directed area.
//!
//! `n` is an area vector (unit normal times area) pointing from the left state to the right one; a flux is per time
//! through that whole area. States are primitive, blocks are derivatives by *conserved* variables, column-major, see
//! [`crate::gas`].
//!
//! Every flux F(wl, wr, n) is consistent, F(w, w, n) = F(w) . n, and conservative, F(wl, wr, n) = -F(wr, wl, -n).

mod central;
mod energy;
mod euler;
mod hllc;
mod layers;
mod positive;
mod roe;
mod shocks;
mod van_leer;

#[cfg(test)]
mod tests;

pub use central::{
    CentralCell, Dissipation, central_cell, dissipation_matrix, extrapolate_muscl, flux_matrix_dissipation,
    flux_roe_muscl, flux_scalar_dissipation, matrix_dissipation_of, pressure_switch, scalar_dissipation_of,
};
pub use energy::energy_with_mass;
pub use euler::{flux, flux_change, flux_jacobian, flux_of_enthalpy, spectral_radius};
pub use hllc::{flux_hllc, flux_hllc_jacobians};
pub use layers::{LayerFix, convective_in_layers};
pub use roe::{RoeFix, flux_roe, flux_roe_jacobians, low_mach_factor2, roe_absolute};
pub use shocks::{convective_at_shocks, kappa_at_shocks, pressure_jump};
pub use van_leer::{flux_van_leer, flux_van_leer_jacobians, van_leer_split, van_leer_split_jacobian};
