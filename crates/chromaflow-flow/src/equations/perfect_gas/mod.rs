//! Compressible flow of a calorically perfect gas (Euler's equations): density, velocity, pressure.

mod ghost_states;
mod share;

pub use ghost_states::{
    continued_flux, continued_state, face_flow, face_state, ghost_states, pressure_on, wall_friction_block,
    wall_gradient, wall_pressure,
};
pub use share::{linear_share, next_cfl_share, pressure_margin, velocity_share};

use super::Equations;
use crate::bc::Condition;
use crate::flux::{RoeFix, flux, flux_jacobian, roe_absolute, spectral_radius};
use crate::gas::{Gas, conserved, primitive};
use crate::real::Real;

/// Number of unknowns: density, momentum, energy.
pub const N: usize = 5;

/// Numbers of a block.
pub const NN: usize = N * N;

/// A state, a flux, a change.
pub type State<T = f64> = [T; N];

/// A block, column-major.
pub type StateBlock<T = f64> = [T; NN];

/// The equations of a gas, with what its upwind fluxes do near vanishing eigenvalues. Scaled as [`gas`](crate::gas) has it.
///
/// ```
/// use chromaflow_flow::equations::{Equations, PerfectGas};
/// use chromaflow_flow::gas::Gas;
/// let air = PerfectGas::from(Gas::AIR);
/// let w = [1.0, 0.5, 0.0, 0.0, 1.0 / 1.4];
/// assert_eq!(air.flux(&w, &[2.0, 0.0, 0.0])[0], 1.0);
/// assert_eq!(air.spectral_radius(&w, &[2.0, 0.0, 0.0]), 3.0);
/// assert!(!PerfectGas::is_admissible(&[1.0, 0.5, 0.0, 0.0, -0.1]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PerfectGas {
    /// The gas.
    pub gas: Gas<f64>,
    /// Of Roe's flux.
    pub fix: RoeFix<f64>,
}

impl From<Gas<f64>> for PerfectGas {
    fn from(gas: Gas<f64>) -> Self {
        Self { gas, fix: RoeFix::DEFAULT }
    }
}

impl Equations for PerfectGas {
    const N: usize = N;
    const CONSERVED: &'static str = "density, momentum, energy";

    type State<T: Real> = State<T>;
    type Block<T: Real> = StateBlock<T>;
    type Condition = Condition<f64>;

    #[inline(always)]
    fn conserved<T: Real>(&self, w: &State<T>) -> State<T> {
        conserved(self.gas.lift(), w)
    }

    #[inline(always)]
    fn primitive<T: Real>(&self, q: &State<T>) -> State<T> {
        primitive(self.gas.lift(), q)
    }

    #[inline(always)]
    fn flux<T: Real>(&self, w: &State<T>, n: &[T; 3]) -> State<T> {
        flux(self.gas.lift(), w, n)
    }

    #[inline(always)]
    fn flux_jacobian<T: Real>(&self, w: &State<T>, n: &[T; 3]) -> StateBlock<T> {
        flux_jacobian(self.gas.lift(), w, n)
    }

    #[inline(always)]
    fn absolute_jacobian<T: Real>(&self, left: &State<T>, right: &State<T>, n: &[T; 3]) -> StateBlock<T> {
        roe_absolute(self.gas.lift(), left, right, n, self.fix.lift())
    }

    #[inline(always)]
    fn spectral_radius<T: Real>(&self, w: &State<T>, n: &[T; 3]) -> T {
        spectral_radius(self.gas.lift(), w, n)
    }

    #[inline(always)]
    fn is_admissible(w: &State) -> bool {
        w.iter().all(|v| v.is_finite()) && w[0] > 0.0 && w[4] > 0.0
    }

    fn update_share(&self, w: &State, x: &State, most: f64) -> f64 {
        update_share(self.gas, &conserved(self.gas, w), w, x, most, most, f64::INFINITY)
    }

    fn ghost<T: Real>(
        &self,
        condition: &Condition<f64>,
        inside: [&State<T>; 2],
        n: &[T; 3],
        x: &[T; 3],
    ) -> State<T> {
        ghost_states(&condition.lift(), self.gas.lift(), inside[0], inside[1], n, x)[0]
    }
}

/// The share of the update `x` (subtracted from q, whose primitive variables are `w`) that a node can take: changes of density and
/// pressure stay below the part `most`, rises in supersonic flow below the part `rise`, changes of velocity below the part `velocity` of its own and that of
/// sound. Where the pressure, which is not linear in q, would fall too far the share is halved.
pub(crate) fn update_share(
    gas: Gas<f64>,
    q: &State,
    w: &State,
    x: &State,
    most: f64,
    rise: f64,
    velocity: f64,
) -> f64 {
    let mut share = linear_share(gas, w, x, most, rise).min(velocity_share(gas, w, x, velocity));
    for _ in 0..20 {
        if pressure_margin(gas, q, w, x, share, most) > 0.0 {
            break;
        }
        share *= 0.5;
    }
    share
}
