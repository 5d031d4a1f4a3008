//! The residual that rounding errors leave.

use crate::dual::Dual;
use crate::gas::{Gas, sound_speed};

/// Density residual of a flow that has none, in the norm of [`StepReport::residual`](crate::march::StepReport::residual): the
/// fluxes through a control volume's faces, (|u . n| + c |n|) rho at the free stream, each known to a unit in the last
/// place.
pub(crate) fn round_off(dual: &Dual, gas: Gas<f64>, free: &[f64; 5]) -> f64 {
    let sound = sound_speed(gas, free);
    let through = |n: &[f64; 3]| {
        let along = free[1] * n[0] + free[2] * n[1] + free[3] * n[2];
        free[0] * (along.abs() + sound * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt())
    };
    let mut fluxes = vec![0.0; dual.nodes()];
    for (ends, n) in dual.edges.iter().zip(&dual.areas) {
        for &i in ends {
            fluxes[i as usize] += through(n);
        }
    }
    for patch in &dual.patches {
        for (&i, n) in patch.nodes.iter().zip(&patch.areas) {
            fluxes[i as usize] += through(n);
        }
    }
    let squares: f64 = fluxes.iter().zip(&dual.volumes).map(|(f, volume)| f * f / volume.abs()).sum();
    let volume: f64 = dual.volumes.iter().sum();
    f64::EPSILON * (squares / volume).sqrt()
}
