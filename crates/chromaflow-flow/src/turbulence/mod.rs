//! Turbulence models.

pub mod hybrid;
pub mod k_omega;
pub mod spalart_allmaras;

use crate::config::TurbulenceConfig;
use crate::coupled::FlowView;
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::wall_distance::{Nearest, WallSurface};

/// Distances of the rows of `flow` from its walls without slip.
fn wall_distances(mesh: &Mesh, flow: &FlowView<'_>) -> Result<Vec<f64>, FlowError> {
    Ok(nearest_walls(mesh, flow)?.iter().map(|near| near.distance).collect())
}

/// The places of those walls that are nearest to the rows.
fn nearest_walls(mesh: &Mesh, flow: &FlowView<'_>) -> Result<Vec<Nearest>, FlowError> {
    let is_wall = |name: &str| flow.config.boundaries.get(name).is_some_and(|b| b.is_no_slip());
    let walls = WallSurface::new(mesh, |marker| is_wall(&marker.name))?;
    Ok(walls.nearest_of(&mesh.nodes[..flow.dual.nodes()], flow.team))
}

fn check(config: &TurbulenceConfig) -> Result<(), FlowError> {
    let numbers = [
        ("turbulence.inflow", config.inflow),
        ("turbulence.inflow_k", config.inflow_k),
        ("turbulence.inflow_ratio", config.inflow_ratio),
        ("turbulence.prandtl", config.prandtl),
        ("turbulence.cfl_ratio", config.cfl_ratio),
    ];
    for (name, value) in numbers {
        if !(value > 0.0 && value.is_finite()) {
            return Err(FlowError::Value { name: name.into(), value, expected: "must be positive" });
        }
    }
    Ok(())
}
