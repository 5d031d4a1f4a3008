//! Equations as a type: what a solver has to know of a system of conservation laws dq/dt + div F(q) = 0, in one place.
//!
//! | type | unknowns | of |
//! |---|---|---|
//! | [`PerfectGas`] | 5 | compressible flow: [`gas`](crate::gas), [`flux`](crate::flux), [`bc`](crate::bc) |
//! | [`ArtificialCompressibility`] | 4 | incompressible flow |
//!
//! A set of equations is a value: the gas, the compressibility. Its functions are pointwise and generic over the scalar, see
//! [`real`](crate::real); those behind them are emitted for GPUs. What holds for every set of equations (Jacobians, consistency,
//! conservation, uniform states kept on curvilinear grids) `tests.rs` asks of each of them, and of linear acoustics besides, a set that
//! nothing else here knows.
//!
//! States are *primitive* where nothing else is said: what is extrapolated to faces. Derivatives are by the *conserved* variables q.

pub mod artificial_compressibility;
pub mod perfect_gas;
#[cfg(test)]
mod tests;

pub use artificial_compressibility::ArtificialCompressibility;
pub use perfect_gas::PerfectGas;

use crate::real::Real;
use std::ops::IndexMut;

/// A fixed number of numbers: a state, a block.
pub trait Numbers<T>: Copy + IndexMut<usize, Output = T> + AsRef<[T]> + AsMut<[T]> {
    /// All of them zero.
    fn zero() -> Self;
}

impl<T: Real, const N: usize> Numbers<T> for [T; N] {
    #[inline(always)]
    fn zero() -> Self {
        [T::c(0.0); N]
    }
}

/// A system of conservation laws in three dimensions.
///
/// Areas `n` are directed, from the left state to the right one or out of the domain; fluxes are through the whole of them. Blocks are
/// column-major.
pub trait Equations: Copy + Send + Sync + 'static {
    /// Number of unknowns: the size of blocks.
    const N: usize;

    /// Names of the conserved variables, for messages.
    const CONSERVED: &'static str;

    /// `N` numbers.
    type State<T: Real>: Numbers<T>;

    /// `N` times `N` numbers.
    type Block<T: Real>: Numbers<T>;

    /// What is given at a boundary.
    type Condition;

    /// q of a state.
    fn conserved<T: Real>(&self, w: &Self::State<T>) -> Self::State<T>;

    /// The state of q.
    fn primitive<T: Real>(&self, q: &Self::State<T>) -> Self::State<T>;

    /// F . n of a state.
    fn flux<T: Real>(&self, w: &Self::State<T>, n: &[T; 3]) -> Self::State<T>;

    /// A = d(F . n)/dq.
    fn flux_jacobian<T: Real>(&self, w: &Self::State<T>, n: &[T; 3]) -> Self::Block<T>;

    /// |A| at Roe's average of two states, as their upwind flux has it: eigenvalues may be kept from vanishing.
    fn absolute_jacobian<T: Real>(
        &self,
        left: &Self::State<T>,
        right: &Self::State<T>,
        n: &[T; 3],
    ) -> Self::Block<T>;

    /// Largest eigenvalue of A in size.
    fn spectral_radius<T: Real>(&self, w: &Self::State<T>, n: &[T; 3]) -> T;

    /// Whether a state is one: finite, and what must be positive is.
    fn is_admissible(w: &Self::State<f64>) -> bool;

    /// The share, at most 1, of an update `x` (subtracted from q) that the state `w` can take: what must be positive changes by no more
    /// than the part `most` of itself.
    fn update_share(&self, _w: &Self::State<f64>, _x: &Self::State<f64>, _most: f64) -> f64 {
        1.0
    }

    /// The state beyond a boundary's face of outward area `n` and middle `x`, from those of the two cells inside, the nearer first.
    fn ghost<T: Real>(
        &self,
        condition: &Self::Condition,
        inside: [&Self::State<T>; 2],
        n: &[T; 3],
        x: &[T; 3],
    ) -> Self::State<T>;

    /// Derivatives of the upwind flux (F(left) + F(right) - |A| (right - left))/2 by the left and by the right state, |A| held fixed:
    /// (A(left) + |A|)/2 and (A(right) - |A|)/2. Exact where the two states agree.
    #[inline(always)]
    fn upwind_jacobians<T: Real>(
        &self,
        left: &Self::State<T>,
        right: &Self::State<T>,
        n: &[T; 3],
    ) -> (Self::Block<T>, Self::Block<T>) {
        let absolute = self.absolute_jacobian(left, right, n);
        let (mut by_left, mut by_right) = (self.flux_jacobian(left, n), self.flux_jacobian(right, n));
        for k in 0..Self::N * Self::N {
            by_left[k] = T::c(0.5) * (by_left[k] + absolute[k]);
            by_right[k] = T::c(0.5) * (by_right[k] - absolute[k]);
        }
        (by_left, by_right)
    }

    /// The upwind flux: [`Self::upwind_jacobians`] has its derivatives.
    fn upwind_flux<T: Real>(
        &self,
        left: &Self::State<T>,
        right: &Self::State<T>,
        n: &[T; 3],
    ) -> Self::State<T> {
        let absolute = self.absolute_jacobian(left, right, n);
        let (ql, qr) = (self.conserved(left), self.conserved(right));
        let (fl, fr) = (self.flux(left, n), self.flux(right, n));
        let mut flux = <Self::State<T>>::zero();
        for r in 0..Self::N {
            let mut damped = T::c(0.0);
            for c in 0..Self::N {
                damped += absolute[Self::N * c + r] * (qr[c] - ql[c]);
            }
            flux[r] = T::c(0.5) * (fl[r] + fr[r] - damped);
        }
        flux
    }
}
