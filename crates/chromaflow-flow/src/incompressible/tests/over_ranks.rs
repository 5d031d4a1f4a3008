//! Blocks given to ranks: the same flow, bit for bit, on any number of them, that of one rank without ranks to rounding.

use crate::bc::Motion;
use crate::config::{NewtonKrylov, Steady, Time, TurbulenceConfig, TurbulenceModel, Unsteady};
use crate::grid::Grid;
use crate::grid::generate::BoxGrid;
use crate::incompressible::{Boundary, Config, Given, Scalar, Solver, WallScalar};
use crate::march::{FlowError, LargestResidual, StepReport, Times};
use crate::on_grid::centers;
use crate::output::{Field, Restart};
use crate::ranks::Ranks;
use crate::ranks::tests::{PATIENCE, apart};
use chromaflow_comm::{Communicator, Solo, run};
use chromaflow_device::Team;
use std::sync::Arc;

/// Four blocks of several orientations; a stream with a warm scalar past walls, one of which moves.
fn grid() -> Grid {
    let whole = BoxGrid { cells: [9, 7, 6], size: [2.0, 1.0, 0.8], wave: 0.03 }.grid();
    let cut = whole.split(0, 0, 4).unwrap().split(1, 1, 3).unwrap().split(0, 2, 2).unwrap();
    cut.reorient(1, [2, 0, 1], [true, false, true]).reorient(2, [1, 0, 2], [false, true, false])
}

/// Steady or unsteady, the model of turbulence, and whether steps are Newton-Krylov ones.
type Case = (Time, Option<TurbulenceModel>, bool);

fn config((time, model, newton): Case) -> Config {
    let turbulence =
        model.map(|model| TurbulenceConfig { model, inflow_k: 1e-3, ..TurbulenceConfig::default() });
    let mut config = Config { time, turbulence, initial: vec![0.0, 1.0], ..Config::default() };
    config.implicit.newton = newton.then(NewtonKrylov::default);
    config.fluid.viscosity = 0.02;
    let (name, buoyancy) = ("temperature".to_owned(), [0.0, 0.5, 0.0]);
    config.fluid.scalars = vec![Scalar { name, diffusivity: 0.03, buoyancy, reference: 0.0 }];
    let wall =
        Boundary::Wall { motion: Motion::straight([0.3, 0.0, 0.0]), scalars: vec![WallScalar::Value(1.0)] };
    config.boundaries = [
        ("xmin", Boundary::Inflow(Given::Same(vec![1.0, 0.0, 0.0, 0.0]))),
        ("xmax", Boundary::Outflow { pressure: 0.0 }),
        ("ymin", wall),
        ("ymax", Boundary::WALL),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::WALL),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    config
}

/// What is seen of a run.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    steps: Vec<StepReport>,
    restart: Restart,
    fields: Vec<Field>,
    outflow: Vec<Vec<f64>>,
    largest: Option<LargestResidual>,
    heights: Vec<(String, [f64; 2])>,
}

fn march(solver: &mut Solver, steps: usize, from: Option<&Restart>) -> Found {
    let (dir, places) = (tempfile::tempdir().unwrap(), centers(&grid()));
    let path = dir.path().join("r.safetensors");
    if let Some(restart) = from {
        restart.write(&path, &places).unwrap();
        solver.resume_from(&path, &places, (false, &[])).unwrap();
    }
    let steps = (0..steps).map(|_| StepReport { times: Times::default(), ..solver.step() }).collect();
    solver.sync().unwrap();
    let (restart, fields) = (solver.restart(), solver.fields());
    solver.write_restart(&path, &places, Restart::default()).unwrap();
    let by_ranges = std::fs::read(&path).unwrap();
    restart.write(&path, &places).unwrap();
    assert!(std::fs::read(&path).unwrap() == by_ranges, "a restart file by ranges");
    let outflow = ["xmin", "xmax", "ymin"].map(|marker| solver.outflow(marker)).to_vec();
    let residuals = solver.residuals();
    let rates = solver.of_all_cells(solver.unknowns(), &residuals.rates);
    assert_eq!(rates.len(), solver.unknowns() * grid().cells());
    let largest = solver.largest_residual(&residuals);
    let heights = solver.y_plus().into_iter().map(|(wall, y)| (wall, [y.min, y.max])).collect();
    Found { steps, restart, fields, outflow, largest, heights }
}

fn alone(case: Case, steps: usize, from: Option<&Restart>) -> Found {
    let mut solver = Solver::new(&grid(), config(case), Arc::new(Team::new(1))).unwrap();
    march(&mut solver, steps, from)
}

fn over(size: usize, case: Case, steps: usize, from: Option<&Restart>) -> Found {
    over_with((size, true), case, steps, from, |_| Ok(()))
}

/// The same after something has been done with each solver.
fn over_with(
    (size, reproducible): (usize, bool),
    case: Case,
    steps: usize,
    from: Option<&Restart>,
    prepare: impl Fn(&mut Solver) -> Result<(), FlowError> + Send + Sync + 'static,
) -> Found {
    let from = from.cloned();
    let mut found = run(size, PATIENCE, move |threads| {
        let (rank, several) = (threads.rank(), threads.size() > 1);
        let ranks: Arc<dyn Communicator> = if several { Arc::new(threads.clone()) } else { Arc::new(Solo) };
        let ranks = Ranks { ranks, reproducible };
        let solver = Solver::over_ranks(&grid(), config(case), Arc::new(Team::new(1)), &ranks);
        let mut solver = solver.map_err(|e| e.to_string())?;
        assert_eq!(solver.division().is_some(), several);
        prepare(&mut solver).map_err(|e| e.to_string())?;
        if rank > 0 {
            return solver.follow().map(|()| None).map_err(|e| e.to_string());
        }
        let found = march(&mut solver, steps, from.as_ref());
        assert_eq!(solver.rank_reports().iter().map(|of| of.rows).sum::<usize>(), grid().cells());
        solver.dismiss();
        Ok::<_, String>(Some(found))
    })
    .unwrap();
    found.swap_remove(0).expect("the first rank has what is found")
}

/// Steady and in time, laminar and turbulent, by both kinds of steps.
fn cases() -> Vec<Case> {
    let steady = Time::Steady(Steady { iterations: 100, orders: 8.0 });
    let unsteady = Time::Unsteady(Unsteady { dt: 0.05, steps: 4, subiterations: 3, orders: 2.0 });
    vec![
        (steady, None, false),
        (unsteady, None, false),
        (steady, Some(TurbulenceModel::Sst), false),
        (unsteady, Some(TurbulenceModel::SaNeg), false),
        (steady, None, true),
        (steady, Some(TurbulenceModel::SaNeg), true),
        (steady, Some(TurbulenceModel::Sst), true),
    ]
}

#[test]
fn any_number_of_ranks_has_the_same_bits() {
    for case in cases() {
        let (one, plain) = (over(1, case, 9, None), alone(case, 9, None));
        for size in [2, 3, 4] {
            let several = over(size, case, 9, None);
            assert_eq!(several.steps, one.steps, "{size} ranks");
            assert!(several == one, "{size} ranks");
        }
        for (a, b) in plain.fields.iter().zip(&one.fields) {
            assert!(apart(&a.values, &b.values) < 1e-10, "{}: {:e}", a.name, apart(&a.values, &b.values));
        }
        for (a, b) in plain.steps.iter().zip(&one.steps) {
            assert!(apart(&a.residual, &b.residual) < 1e-9, "{:?} {:?}", a.residual, b.residual);
            assert!((a.forces.total.cd - b.forces.total.cd).abs() < 1e-10 * b.forces.total.cd.abs());
        }
        assert!(apart(&plain.outflow.concat(), &one.outflow.concat()) < 1e-10);
        let place = |found: &Found| found.largest.as_ref().map(|l| l.at.place);
        assert!(place(&plain) == place(&one) && place(&one).is_some());
        // Restarts cross from ranks to ranks, and to none.
        let half = over(3, case, 5, None);
        let rest = over(1, case, 4, Some(&half.restart));
        assert!(rest == over(2, case, 4, Some(&half.restart)));
        for (a, b) in rest.fields.iter().zip(&one.fields) {
            assert!(apart(&a.values, &b.values) < 1e-10, "{}", a.name);
        }
        for (a, b) in alone(case, 4, Some(&half.restart)).fields.iter().zip(&one.fields) {
            assert!(apart(&a.values, &b.values) < 1e-10, "{}", a.name);
        }
    }
}

/// Blocks of ranks that compute on GPUs, on one where there is but one.
#[cfg(feature = "cuda")]
mod on_gpus {
    use super::*;
    use crate::testgpu::{gpu_of, gpus};
    use chromaflow::gpu::Wish;

    fn on_ranks(size: usize, case: Case, wish: Wish) -> Found {
        over_with((size, false), case, 9, None, move |solver| {
            solver.use_gpu_by(&gpu_of(solver)?, wish)?;
            let path = solver.halo_path().expect("a device of a rank");
            assert!(size == 1 || path.starts_with("staged") == (wish == Wish::Staged), "{path}");
            Ok(())
        })
    }

    /// Ranks on GPUs have the flow of one on a CPU, whatever way messages pass.
    #[test]
    fn gpu_ranks_have_the_flow_of_one() {
        let Some((_, _alone)) = gpus() else { return };
        for case in cases() {
            let one = over(1, case, 9, None);
            let most = if case.2 { 1e-6 } else { 1e-9 };
            for size in [1, 2, 3] {
                let found = on_ranks(size, case, Wish::Shortest);
                for (a, b) in found.fields.iter().zip(&one.fields) {
                    let apart = apart(&a.values, &b.values);
                    assert!(
                        a.name == b.name && apart < most,
                        "{case:?}, {size} ranks, {}: {apart:e}",
                        a.name
                    );
                }
                for (a, b) in found.steps.iter().zip(&one.steps) {
                    assert!((a.forces.total.cd - b.forces.total.cd).abs() < most * b.forces.total.cd.abs());
                }
                assert!(apart(&found.outflow.concat(), &one.outflow.concat()) < most);
                let same = found == on_ranks(size, case, Wish::Staged);
                assert!(same, "{case:?}, {size} ranks: peer stores and staged");
            }
        }
    }
}
