//! Central fluxes that keep density and pressure positive.

use super::central::CentralCell;
use crate::real::Real;

/// The largest size, as [`flux_kept_positive`] measures it, of what a flux has beside the local Lax-Friedrichs flux. Any below 0.8 keeps density and
/// pressure positive; with this one the states between keep three quarters of both.
const MOST_EXCESS: f64 = 0.25;

/// The central flux `flux` between the cells b and c, with as much of the local Lax-Friedrichs flux in its place as density and pressure need to stay
/// positive: L + s (F - L), L = (F(b) + F(c)) / 2 - a (c - b) / 2, a the larger spectral radius of both cells.
///
/// In a time step dt with a sum of dt a / V of at most 1 over its faces a cell's new state is a mean of its old one and of b - (F - F(b)) / a, or
/// c + (F - F(c)) / a, over the faces.
/// Of L both are one state, q = (b + c) / 2 - (F(c) - F(b)) / (2 a), whose density r and pressure p are positive; of F they are q -+ x, x = (F - L) / a. Seen
/// with the velocity of q, where q has the energy e = p / (gamma - 1) and no momentum, x = (dr, dm, de) has the size
/// (dr/r)^2 + (de/e)^2 + |dm|^2 / (2 r e), and s x has at most the size [`MOST_EXCESS`]^2 with s = (1 + (size / `MOST_EXCESS`^2)^4)^(-1/8). In smooth flow x is
/// half a difference of neighbors, and the change that s makes of the order of its ninth power: 30 % from cell to cell give 1 - s = 0.03, 20 % 0.001, 10 % 5e-6.
///
/// Central fluxes have no positivity of their own: where a flow expands around a shoulder into near vacuum they leave cells whose pressure is rounding beside
/// their kinetic energy.
///
/// `half`: half of the area from b to c; `speeds`: the cells' velocities through it; `mean`: (F(b) + F(c)) / 2.
///
/// **Source**: Perthame & Shu, Numer. Math. 73 (1996) 119 (means of states between); Hu, Adams & Shu, J. Comput. Phys. 242 (2013) 169 (fluxes cut towards
/// the Lax-Friedrichs flux). They cut where a given time step would leave a negative value; this cut is smooth and knows no time step, as steady states and
/// Newton steps need.
#[inline(always)]
pub(super) fn flux_kept_positive<T: Real>(
    b: &CentralCell<T>,
    c: &CentralCell<T>,
    half: &[T; 3],
    speeds: &[T; 2],
    mean: &[T; 5],
    flux: &[T; 5],
) -> [T; 5] {
    let (one, part) = (T::c(1.0), T::c(0.5));
    let area = (half[0] * half[0] + half[1] * half[1] + half[2] * half[2]).sqrt();
    // Half of a; kept from zero where a face has no area.
    let fastest = (speeds[0].abs() + b.sound * area).max(speeds[1].abs() + c.sound * area).max(T::c(1e-200));
    let by_fastest = part / fastest;
    let mut between = [T::c(0.0); 5];
    let mut change = [T::c(0.0); 5];
    let mut excess = [T::c(0.0); 5];
    for i in 0..5 {
        between[i] = part * (b.q[i] + c.q[i]) - by_fastest * (c.q[i] * speeds[1] - b.q[i] * speeds[0]);
        change[i] = c.q[i] - b.q[i];
    }
    let rise = c.pressure - b.pressure;
    for i in 0..3 {
        between[1 + i] -= by_fastest * rise * half[i];
    }
    // rho E = rho H - p.
    between[4] -= part * (b.pressure + c.pressure);
    change[4] -= rise;
    for i in 0..5 {
        excess[i] = fastest * change[i] - (mean[i] - flux[i]);
        change[i] = by_fastest * excess[i];
    }
    let inverse = one / between[0];
    let mut kinetic = T::c(0.0);
    let mut work = T::c(0.0);
    let mut momentum2 = T::c(0.0);
    for i in 0..3 {
        let velocity = between[1 + i] * inverse;
        kinetic += part * velocity * velocity;
        work += velocity * change[1 + i];
        let momentum = change[1 + i] - velocity * change[0];
        momentum2 += momentum * momentum;
    }
    let by_energy = one / (between[4] - kinetic * between[0]).max(T::c(1e-200));
    let density = change[0] * inverse;
    let energy = (change[4] - work + kinetic * change[0]) * by_energy;
    let size = density * density + energy * energy + part * momentum2 * inverse * by_energy;
    // Bounded: at faces without area, where both fluxes are rounding, the eighth power would be infinite.
    let over = (size * T::c(1.0 / (MOST_EXCESS * MOST_EXCESS))).min(T::c(1e30));
    let over2 = over * over;
    let share = one / (one + over2 * over2).sqrt().sqrt().sqrt();
    let mut out = [T::c(0.0); 5];
    for i in 0..5 {
        out[i] = flux[i] - (one - share) * excess[i];
    }
    out
}
