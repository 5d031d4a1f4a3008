//! Regions that are kept laminar, of all models.

use super::testcases::along_a_wall;
use crate::config::{Region, TurbulenceConfig, TurbulenceModel};
use crate::march::{FlowError, Moment};
use crate::testmesh::mixed_cube;
use crate::{FlowConfig, FlowSolver};
use chromaflow_device::Team;
use std::sync::Arc;

const HALF: Region = Region { from: [-1.0, -1.0, -1.0], to: [0.5, 2.0, 2.0] };

fn config(model: TurbulenceModel, laminar: Vec<Region>) -> FlowConfig {
    along_a_wall(TurbulenceConfig { model, laminar, ..TurbulenceConfig::default() })
}

/// The model's residual in a shear flow, unknowns of a node side by side, and the places of the rows.
fn residual(model: TurbulenceModel, laminar: Vec<Region>) -> (Vec<f64>, Vec<[f64; 3]>) {
    let team = Arc::new(Team::new(2));
    let mut solver = FlowSolver::new(&mixed_cube(4, 0.1), config(model, laminar), team).unwrap();
    solver.set_state(|x| [1.0, 0.4 * x[2].sqrt(), 0.0, 0.0, 1.0 / 1.4]);
    if model.is_spalart_allmaras() {
        solver.set_unknown("nut", |x| 40.0 * x[2]).unwrap();
    } else {
        solver.set_unknown("k", |x| 1e-3 * x[2]).unwrap();
        solver.set_unknown("omega", |x| 1.0 + 0.01 / (x[2] * x[2])).unwrap();
    }
    let at = Moment::first(1e300);
    solver.host.compute_residual(&at);
    solver.host.coupled_residuals(&at);
    let places = solver.host.nodes.iter().map(|node| [node[5], node[6], node[7]]).collect();
    (solver.host.coupled[0].residual.clone(), places)
}

/// In the region every residual is larger by what is not produced there, which shear makes positive; beyond it not a bit changes, and a region
/// that holds no node changes nothing at all.
#[test]
fn nothing_is_produced_in_laminar_regions() {
    use TurbulenceModel as M;
    for model in [M::SaNeg, M::Sa, M::SaNoFt2, M::Sst, M::SstVorticity, M::KOmega] {
        let (turbulent, places) = residual(model, Vec::new());
        let (half, _) = residual(model, vec![HALF]);
        let away = Region { from: [5.0; 3], to: [6.0; 3] };
        assert_eq!(residual(model, vec![away]).0, turbulent, "{model:?}");
        let nb = turbulent.len() / places.len();
        let mut less = 0;
        for (row, place) in places.iter().enumerate() {
            for v in 0..nb {
                let (with, without) = (turbulent[nb * row + v], half[nb * row + v]);
                if HALF.holds(place, 3) {
                    assert!(without >= with, "{model:?} at {place:?}: {with}, {without}");
                    less += usize::from(without > with);
                } else {
                    assert_eq!(with.to_bits(), without.to_bits(), "{model:?} at {place:?}");
                }
            }
        }
        assert!(less > 10, "{model:?}: {less}");
    }
}

#[test]
fn a_region_upside_down_is_refused() {
    let region = Region { from: [0.0; 3], to: [1.0, -1.0, 1.0] };
    let config = config(TurbulenceModel::SaNeg, vec![region]);
    let fault = FlowSolver::new(&mixed_cube(2, 0.0), config, Arc::new(Team::new(1))).err().unwrap();
    assert!(matches!(fault, FlowError::TurbulenceOption { key: "laminar", .. }), "{fault}");
}
