//! How much of an update a state of compressible flow can take.

use super::share::{linear_share, pressure_margin, velocity_share};
use crate::gas::Gas;

/// The share of the update `x` (subtracted from q, whose primitive variables are `w`) that a node can take: changes of density and
/// pressure stay below the part `most`, rises in supersonic flow below the part `rise`, changes of velocity below the part `velocity` of its own and that of
/// sound. Where the pressure, which is not linear in q, would fall too far the share is halved.
pub(crate) fn update_share(
    gas: Gas<f64>,
    q: &[f64; 5],
    w: &[f64; 5],
    x: &[f64; 5],
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
