//! Flows that models of turbulence are tested in.

use crate::config::{Boundary, Equations, FlowConfig, GridLength, Hybrid, TurbulenceConfig, TurbulenceModel};
use chromaflow::Policy;

/// Hybrids of each kind, on either model.
pub const HYBRIDS: [(TurbulenceModel, Hybrid, GridLength); 4] = [
    (TurbulenceModel::SaNeg, Hybrid::Ddes, GridLength::AcrossVorticity),
    (TurbulenceModel::SaNoFt2, Hybrid::Iddes, GridLength::MaxEdge),
    (TurbulenceModel::Sst, Hybrid::Iddes, GridLength::MaxEdge),
    (TurbulenceModel::SstVorticity, Hybrid::Des, GridLength::MaxEdge),
];

/// A flow along the wall at the bottom of a cube.
pub fn along_a_wall(turbulence: TurbulenceConfig) -> FlowConfig {
    let mut config = FlowConfig { turbulence: Some(turbulence), ..FlowConfig::default() };
    config.equations = Equations::Laminar;
    config.freestream.mach = 0.4;
    config.freestream.reynolds = 1e4;
    config.implicit.policy = Policy::D;
    for name in ["x0", "x1", "y0", "y1", "z0", "z1"] {
        let boundary = match name {
            "z0" => Boundary::NoSlipAdiabatic,
            "y0" | "y1" => Boundary::Symmetry,
            _ => Boundary::Farfield,
        };
        config.boundaries.insert(name.to_owned(), boundary);
    }
    config
}
