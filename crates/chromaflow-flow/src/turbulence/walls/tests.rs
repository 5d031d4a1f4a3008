use crate::FlowSolver;
use crate::config::{
    Boundary, Cfl, Equations, FlowConfig, Limiter, NewtonKrylov, Nonlinear, Steady, Time, TurbulenceConfig,
    TurbulenceModel, WallTreatment,
};
use crate::mesh::generate::FlatPlate;
use chromaflow::Policy;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_device::Team;
use std::sync::Arc;

fn on_plate(model: TurbulenceModel, walls: WallTreatment) -> FlowConfig {
    let turbulence = TurbulenceConfig { model, walls, ..TurbulenceConfig::default() };
    let mut config = FlowConfig { turbulence: Some(turbulence), ..FlowConfig::default() };
    config.equations = Equations::Laminar;
    config.freestream.mach = 0.2;
    config.freestream.reynolds = 5e6;
    config.space.limiter = Limiter::None;
    config.implicit.policy = Policy::D;
    config.implicit.method = Method::Gmres;
    config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(2));
    config.implicit.krylov_iterations = 40;
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov { tolerance: 0.3, directions: 40 });
    config.implicit.cfl = Cfl { start: 5.0, min: 0.1, max: 1e6, growth: 2.0, adaptive: true };
    config.time = Time::Steady(Steady { iterations: 200, orders: 9.0 });
    let inlet =
        Boundary::Inlet { total_pressure: 1.02828, total_temperature: 1.008, direction: [1.0, 0.0, 0.0] };
    for (name, kind) in [
        ("inlet", inlet),
        ("outlet", Boundary::Outlet { pressure: 1.0 }),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::NoSlipAdiabatic),
        ("top", Boundary::Farfield),
    ] {
        config.boundaries.insert(name.to_owned(), kind);
    }
    config
}

/// Drag of the plate, mean y+ and orders, on a mesh of so many cells away from it.
fn plate(model: TurbulenceModel, walls: WallTreatment, away: usize) -> [f64; 3] {
    let mesh = FlatPlate { cells: [6, 16, away], height: 0.5, growth: 1.25 }.mesh();
    let mut solver = FlowSolver::new(&mesh, on_plate(model, walls), Arc::new(Team::new(1))).unwrap();
    let (mut orders, mut drag) = (0.0, 0.0);
    solver.run(|report| {
        (orders, drag) = (report.orders, report.forces.viscous.cd);
        true
    });
    [drag, solver.y_plus()[0].1.mean, orders]
}

/// The friction of a plate at y+ of 50 by a law of the wall is that of a mesh that resolves the viscous layer, where without a law it
/// is twice as much, and on that mesh the law changes it by a percent: nothing switches.
#[test]
fn plates_of_any_first_cell_have_one_friction() {
    use WallTreatment::{Automatic, Resolved};
    for (model, percent) in [(TurbulenceModel::SaNeg, [1.0, 3.0]), (TurbulenceModel::Sst, [2.0, 4.0])] {
        let [resolved, fine, _] = plate(model, Resolved, 45);
        let [unchanged, _, orders] = plate(model, Automatic, 45);
        let [law, coarse, of_law] = plate(model, Automatic, 27);
        assert!(fine < 1.5 && coarse > 40.0 && coarse < 80.0, "{model:?}: {fine} {coarse}");
        assert!(orders > 8.9 && of_law > 8.9, "{model:?}: {orders} {of_law}");
        for (found, percent) in [unchanged, law].into_iter().zip(percent) {
            assert!((found / resolved - 1.0).abs() < 0.01 * percent, "{model:?}: {found} {resolved}");
        }
        if model == TurbulenceModel::SaNeg {
            let [wrong, _, _] = plate(model, Resolved, 27);
            assert!(wrong > 1.7 * resolved, "{wrong} {resolved}");
        }
    }
}
