//! The calorically perfect gas: states and their conversions, and the scaling of everything else in this crate.
//!
//! # Scaling
//! Lengths by the mesh's unit L; density by the free stream's, velocities by the free stream's *speed of sound*,
//! temperature and viscosity by the free stream's (the scaling of FUN3D):
//! ```text
//! rho = rho' / rho'inf    u = u' / a'inf    p = p' / (rho'inf a'inf^2)    T = T' / T'inf = gamma p / rho
//! mu = mu' / mu'inf       t = t' a'inf / L
//! ```
//! so that the free stream has density 1, pressure 1/gamma, speed of sound 1, temperature 1 and speed Mach. Viscous
//! terms carry the factor Mach / Re, with Re = rho'inf V'inf L / mu'inf per mesh unit, see [`Transport`].
//!
//! # States
//! * conserved `q = (rho, rho u, rho v, rho w, E)` with E = p/(gamma - 1) + rho |u|^2 / 2, per volume;
//! * primitive `w = (rho, u, v, w, p)`, which everything pointwise takes: it is what gets reconstructed.
//!
//! Blocks `[T; 25]` are column-major: derivative of component r by component c at `c * 5 + r`.

mod free_stream;
mod state;

#[cfg(test)]
pub(crate) mod tests;

pub use free_stream::total_over_static;
pub use state::{
    Gas, Transport, ViscosityLaw, by_conserved, conserved, conserved_by_primitive, entropy,
    from_primitive_block, mach, multiply, primitive, primitive_by_conserved, relative_change,
    relative_change_at_most, sound_at, sound_at_slopes, sound_speed, temperature, total_enthalpy, viscosity,
};
