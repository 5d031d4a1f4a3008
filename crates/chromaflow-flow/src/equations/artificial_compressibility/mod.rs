//! Incompressible flow by artificial compressibility: pressure over density, velocity.

mod flux;
mod ghost;
#[cfg(test)]
mod tests;

pub use flux::{
    flux_incompressible, flux_incompressible_central, flux_incompressible_derivative,
    flux_incompressible_jacobian, flux_incompressible_roe, flux_incompressible_roe_derivatives, flux_scalar,
    normal_slope, spectral_radius_incompressible,
};
pub use ghost::{GhostKind, ghost_incompressible, ghost_incompressible_jacobian};

use super::Equations;
use crate::real::Real;
use flux::{mean_state, pseudo_wave_matrix, pseudo_wave_sizes, pseudo_waves};

/// Number of unknowns: pressure and velocity.
pub const N: usize = 4;

/// Numbers of a block.
pub const NN: usize = N * N;

/// The equations in pseudo-time: dp/dtau / beta + div u = 0, du/dtau + div(u u) + grad p = 0.
///
/// ```
/// use chromaflow_flow::equations::{ArtificialCompressibility, Equations};
/// let still = ArtificialCompressibility { beta: 4.0 };
/// assert_eq!(still.spectral_radius(&[0.3, 0.0, 0.0, 0.0], &[0.0, 1.5, 0.0]), 3.0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArtificialCompressibility {
    /// The square of the pseudo-sound speed in fluid at rest.
    pub beta: f64,
}

/// What is given at a boundary's face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Given {
    /// Which part of the state.
    pub kind: GhostKind,
    /// The state.
    pub state: [f64; N],
}

impl Equations for ArtificialCompressibility {
    const N: usize = N;
    const CONSERVED: &'static str = "pressure, velocity";

    type State<T: Real> = [T; N];
    type Block<T: Real> = [T; NN];
    type Condition = Given;

    #[inline(always)]
    fn conserved<T: Real>(&self, w: &[T; N]) -> [T; N] {
        *w
    }

    #[inline(always)]
    fn primitive<T: Real>(&self, q: &[T; N]) -> [T; N] {
        *q
    }

    #[inline(always)]
    fn flux<T: Real>(&self, w: &[T; N], n: &[T; 3]) -> [T; N] {
        flux_incompressible(T::c(self.beta), w, n)
    }

    #[inline(always)]
    fn flux_jacobian<T: Real>(&self, w: &[T; N], n: &[T; 3]) -> [T; NN] {
        flux_incompressible_jacobian(T::c(self.beta), w, n)
    }

    #[inline(always)]
    fn absolute_jacobian<T: Real>(&self, left: &[T; N], right: &[T; N], n: &[T; 3]) -> [T; NN] {
        let x = pseudo_waves(T::c(self.beta), &mean_state(left, right), n);
        pseudo_wave_matrix(&x, &pseudo_wave_sizes(&x))
    }

    #[inline(always)]
    fn spectral_radius<T: Real>(&self, w: &[T; N], n: &[T; 3]) -> T {
        spectral_radius_incompressible(T::c(self.beta), w, n)
    }

    #[inline(always)]
    fn is_admissible(w: &[f64; N]) -> bool {
        w.iter().all(|v| v.is_finite())
    }

    #[inline(always)]
    fn ghost<T: Real>(&self, condition: &Given, [w, next]: [&[T; N]; 2], n: &[T; 3], _x: &[T; 3]) -> [T; N] {
        let state = condition.state.map(T::c);
        ghost_incompressible(condition.kind, T::c(self.beta), w, next[0], &state, n)
    }
}
