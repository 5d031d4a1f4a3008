//! Viscous terms: stresses and heat flux from gradients, cells' gradients from their nodes, and Jacobian blocks.
//!
//! Gradients are of (u, v, w, T), row by row: `[[T; 3]; 4]`. Viscous fluxes through a directed area count as the
//! inviscid ones with the opposite sign: the residual takes F_inviscid - F_viscous.

mod green_gauss;
mod stress;

#[cfg(test)]
mod tests;

pub use green_gauss::{
    CellWeights, edge_augmented, hex_weights, prism_weights, pyramid_weights, tet_weights,
};
pub use stress::{
    conductivity_by_mu, flux_quadratic, flux_quadratic_2020, flux_viscous, flux_viscous_across,
    flux_viscous_along, flux_viscous_block, flux_viscous_block_of, flux_viscous_of, flux_viscous_open,
    mean_velocity_and_temperature, molecular, spectral_radius_viscous, spectral_radius_viscous_of,
    thin_layer_blocks, traction, velocity_and_temperature, weight_across, with_eddies,
};
