//! Turbulence: what models need of walls.

pub mod wall_distance;
