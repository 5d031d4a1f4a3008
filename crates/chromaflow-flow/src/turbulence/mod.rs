//! Turbulence models, and what they need of walls.

pub mod spalart_allmaras;
pub mod wall_distance;
