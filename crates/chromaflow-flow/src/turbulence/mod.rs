//! Turbulence models.

pub mod spalart_allmaras;
