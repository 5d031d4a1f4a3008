//! Turbulence models.

pub mod k_omega;
pub mod spalart_allmaras;

use crate::config::TurbulenceConfig;
use crate::coupled::FlowView;
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::wall_distance::WallSurface;

/// Distances of the rows of `flow` from its walls without slip.
fn wall_distances(mesh: &Mesh, flow: &FlowView<'_>) -> Result<Vec<f64>, FlowError> {
    let is_wall = |name: &str| flow.config.boundaries.get(name).is_some_and(|b| b.is_no_slip());
    let walls = WallSurface::new(mesh, |marker| is_wall(&marker.name))?;
    let nearest = walls.nearest_of(&mesh.nodes[..flow.dual.nodes()], flow.team);
    Ok(nearest.iter().map(|near| near.distance).collect())
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
