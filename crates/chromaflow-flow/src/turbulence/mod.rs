//! Turbulence models.

pub(crate) mod cells;
pub mod hybrid;
pub mod k_omega;
#[cfg(test)]
pub(crate) mod manufactured;
#[cfg(test)]
mod manufactured_flow;
pub mod spalart_allmaras;
#[cfg(test)]
pub(crate) mod testcases;
#[cfg(test)]
mod tests;
pub(crate) mod velocities;
pub(crate) mod walls;

use crate::config::{Region, Time, TurbulenceConfig};
use crate::march::FlowError;
use crate::mesh::Mesh;

/// Local friction coefficient of a turbulent flat plate: Cf = 0.027 Re^(-1/7), `reynolds` on the distance from its leading edge.
///
/// **Source**: White (2006), Viscous Fluid Flow, eq. 6-70.
///
/// ```
/// use chromaflow_flow::turbulence::plate_friction;
/// assert!((plate_friction(1e7) - 0.0027).abs() < 1e-5);
/// ```
pub fn plate_friction(reynolds: f64) -> f64 {
    0.027 * reynolds.powf(-1.0 / 7.0)
}

/// The inverse of the wall unit of [`plate_friction`]: the Reynolds number on a plate's length L at whose end y+ = 1 is at `height` L.
///
/// ```
/// use chromaflow_flow::turbulence::{plate_friction, plate_reynolds};
/// let reynolds = plate_reynolds(1e-6);
/// assert!((1e-6 * reynolds * (plate_friction(reynolds) / 2.0).sqrt() - 1.0).abs() < 1e-12);
/// ```
pub fn plate_reynolds(height: f64) -> f64 {
    (height * (0.5 * plate_friction(1.0)).sqrt()).powf(-14.0 / 13.0)
}

/// Thickness of a turbulent layer at the end of a plate of the length L, in a stream of this speed and kinematic viscosity `nu`:
/// 0.16 L Re^(-1/7).
///
/// **Source**: White (2006), Viscous Fluid Flow, eq. 6-71.
pub(crate) fn plate_thickness(length: f64, speed: f64, nu: f64) -> f64 {
    0.16 * length * (speed * length / nu).max(1.0).powf(-1.0 / 7.0)
}

/// Largest y+ of a first point off a wall at which a law of the wall still holds, on a plate of this Reynolds number: the logarithmic layer
/// ends at a fifth of the layer's thickness (Pope 2000, Turbulent Flows, sec. 7.1.4); at least 300, as where layers are thicker than a plate's.
///
/// ```
/// use chromaflow_flow::turbulence::end_of_log_layer;
/// assert!((1150.0..1200.0).contains(&end_of_log_layer(1e7)));
/// ```
pub fn end_of_log_layer(reynolds: f64) -> f64 {
    let thickness = plate_thickness(1.0, 1.0, 1.0 / reynolds);
    (0.2 * thickness * reynolds * (0.5 * plate_friction(reynolds)).sqrt()).max(300.0)
}

/// What production is multiplied by at each of some places in `mesh`: 0 in regions that are kept laminar, so that transition is where they end;
/// empty where there are none.
pub(crate) fn production(
    config: &TurbulenceConfig,
    mesh: &Mesh,
    places: impl Iterator<Item = [f64; 3]>,
) -> Vec<f64> {
    if config.laminar.is_empty() {
        return Vec::new();
    }
    let dimensions = if mesh.planar.is_some() { 2 } else { 3 };
    let laminar = |place: &[f64; 3]| config.laminar.iter().any(|region| region.holds(place, dimensions));
    places.map(|place| if laminar(&place) { 0.0 } else { 1.0 }).collect()
}

pub(crate) fn check(config: &TurbulenceConfig, time: &Time) -> Result<(), FlowError> {
    if let Some((key, problem)) = config.option_problem(matches!(time, Time::Unsteady(_))) {
        return Err(FlowError::TurbulenceOption { key, problem });
    }
    let numbers = [
        ("turbulence.inflow", config.inflow),
        ("turbulence.inflow_k", config.inflow_k),
        ("turbulence.inflow_ratio", config.inflow_ratio),
        ("turbulence.prandtl", config.prandtl),
        ("turbulence.cfl_ratio", config.cfl_ratio),
    ];
    let ordered = |region: &Region| (0..3).all(|d| region.from[d] <= region.to[d]);
    if !config.laminar.iter().all(ordered) {
        let problem =
            "expected boxes `{ from = [x, y, z], to = [x, y, z] }` whose `from` is nowhere above their `to`";
        return Err(FlowError::TurbulenceOption { key: "laminar", problem });
    }
    for (name, value) in numbers {
        if !(value > 0.0 && value.is_finite()) {
            return Err(FlowError::Value { name: name.into(), value, expected: "must be positive" });
        }
    }
    Ok(())
}
