//! The residual that rounding errors leave.

use crate::config::{FlowConfig, FluxScheme};
use crate::dual::Dual;
use crate::equations::perfect_gas::State;
use crate::gas::{Gas, sound_speed};
use crate::parallel;
use chromaflow::dist::Share;
use chromaflow_device::Team;

/// (|u . n| + c |n| / f) rho: what a flux through the area n is made of. Dissipation of slow flow, P^-1 |P A|, takes pressures apart by 1 / f of what
/// |A| takes them, f the Mach number below which it shrinks no further, 1 without.
pub(crate) fn flux_size(gas: Gas<f64>, w: &State, n: &[f64; 3], cutoff_mach: f64) -> f64 {
    let along = w[1] * n[0] + w[2] * n[1] + w[3] * n[2];
    let size = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    w[0] * (along.abs() + sound_speed(gas, w) / cutoff_mach * size)
}

/// Density residual of a flow that has none, in the norm of [`StepReport::residual`](crate::march::StepReport::residual): the
/// fluxes through a control volume's faces at the free stream, by their [`flux_size`], each known to a unit in the last place. Over ranks, that of the
/// whole mesh.
pub(crate) fn round_off(
    dual: &Dual,
    gas: Gas<f64>,
    (free, config): (&State, &FlowConfig),
    share: Option<&Share>,
    team: &Team,
) -> f64 {
    let cutoff_mach = if config.space.flux == FluxScheme::Roe { config.cutoff_mach() } else { 1.0 };
    let sizes = parallel::map(team, &dual.areas, |n| flux_size(gas, free, n, cutoff_mach));
    let mut fluxes = vec![0.0; dual.nodes()];
    parallel::rows(team, dual.nodes(), 1, &mut fluxes, |rows, fluxes| {
        for (row, flux) in rows.zip(fluxes) {
            // Edges of a row ascend.
            dual.edge_of[dual.pattern.range(row)].iter().for_each(|&edge| *flux += sizes[edge as usize]);
        }
    });
    for patch in &dual.patches {
        for (&i, n) in patch.nodes.iter().zip(&patch.areas) {
            fluxes[i as usize] += flux_size(gas, free, n, cutoff_mach);
        }
    }
    if let Some(share) = share {
        let [squares, volume] =
            share.sum_rows(|i| [fluxes[i] * fluxes[i] / dual.volumes[i].abs(), dual.volumes[i]]);
        return f64::EPSILON * (squares / volume).sqrt();
    }
    let squares: f64 = fluxes.iter().zip(&dual.volumes).map(|(f, volume)| f * f / volume.abs()).sum();
    let volume: f64 = dual.volumes.iter().sum();
    f64::EPSILON * (squares / volume).sqrt()
}
