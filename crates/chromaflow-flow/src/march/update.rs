//! How much of an update a state of compressible flow can take.

use crate::gas::{Gas, primitive};

/// The share of the update `x` (subtracted from q, whose primitive variables are `w`) that a node can take: changes of density and pressure stay below `most`.
pub(crate) fn update_share(gas: Gas<f64>, q: &[f64; 5], w: &[f64; 5], x: &[f64; 5], most: f64) -> f64 {
    let [rho, u, v, s, p] = *w;
    let d_rho = x[0].abs() / rho;
    let kinetic = 0.5 * (u * u + v * v + s * s);
    let d_p = (gas.gamma - 1.0) * (kinetic * x[0] - u * x[1] - v * x[2] - s * x[3] + x[4]);
    let mut share = 1.0_f64.min(most / d_rho.max(1e-30)).min(most * p / d_p.abs().max(1e-30));
    // The pressure is not linear in q: check, and halve while it would fall too far.
    for _ in 0..20 {
        let mut new = *q;
        for k in 0..5 {
            new[k] -= share * x[k];
        }
        if primitive(gas, &new)[4] > (1.0 - 2.0 * most).max(0.05) * p {
            break;
        }
        share *= 0.5;
    }
    share
}
