//! Flows whose ranks compute on GPUs against one GPU. All ranks are on the same one: what passes between them, and how, is the same.

use crate::FlowSolver;
use crate::config::{
    Boundary, Equations, NewtonKrylov, Nonlinear, ScalarConfig, Steady, Time, TurbulenceConfig,
    TurbulenceModel, Unsteady,
};
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::mesh::generate::{Cells, box_mesh};
use crate::ranks::tests::{
    Case, Outcome, PATIENCE, alone_with, apart, config, cube, cylinder, lined_case, lined_newton_case, near,
    newton_case, outlet_case, over_with, plain_cases,
};
use crate::testgpu::{gpu_of, gpus};
use crate::testmesh::mixed_cube;
use crate::unstructured::Ranks;
use chromaflow::Policy;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::gpu::Wish;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_comm::{Communicator, Threads, run};
use chromaflow_device::Team;
use chromaflow_device::cuda::Gpu;
use std::sync::Arc;

/// On so many ranks, each on a GPU of its own where there are enough.
fn on_ranks(size: usize, case: &Case, wish: Wish) -> Outcome {
    over_with(size, case, (false, None), move |solver| {
        solver.use_gpu_by(&gpu_of(solver)?, wish)?;
        let path = solver.halo_path().expect("a device of a rank");
        assert_eq!(path.starts_with("staged"), wish == Wish::Staged, "{path}");
        Ok(())
    })
}

fn on_one(case: &Case, gpu: &Gpu) -> Outcome {
    alone_with(case, |solver| solver.use_gpu(gpu))
}

/// Histories agree with those of one GPU, those of both ways with one another bit for bit.
fn agree(case: &Case, gpu: &Gpu, sizes: &[usize], most: f64, what: &str) {
    let expected = on_one(case, gpu);
    for &size in sizes {
        let found = on_ranks(size, case, Wish::Shortest);
        near(&found, &expected, most, &format!("{what} on {size} GPUs"));
        assert!(found == on_ranks(size, case, Wish::Staged), "{what} on {size} GPUs: peer stores and staged");
    }
}

/// The state after one plain step, which takes no sum over rows, is that of one GPU bit for bit: so are residual, matrix and sweeps.
fn same_first_step(case: &Case, gpu: &Gpu, what: &str) {
    let case = Case { iterations: 1, ..case.clone() };
    let expected = on_one(&case, gpu);
    for size in [2, 3] {
        let found = on_ranks(size, &case, Wish::Shortest);
        assert!(found.restart.fields == expected.restart.fields, "{what} on {size} GPUs: the first step");
    }
}

fn case(mesh: Mesh, config: crate::FlowConfig) -> Case {
    Case { mesh, config, bump: true, iterations: 8 }
}

/// Inviscid flow by plain steps, in all policies (f16 blocks of all ranks have one scale), on all element types.
#[test]
fn gpu_ranks_take_the_plain_steps_of_one() {
    let Some((gpu, _alone)) = gpus() else { return };
    for (what, case) in plain_cases() {
        same_first_step(&case, &gpu, &what);
        agree(&case, &gpu, &[1, 2, 3], 1e-12, &what);
    }
}

/// More ranks than nodes along an axis; one that has few rows or none of a color.
#[test]
fn gpu_small_parts_and_odd_meshes_are_marched_like_others() {
    let Some((gpu, _alone)) = gpus() else { return };
    let few = Case { iterations: 3, ..case(mixed_cube(2, 0.1), cube(&Boundary::SlipWall)) };
    agree(&few, &gpu, &[2, 5], 1e-12, "few nodes");
    let mesh = box_mesh([20, 1, 1], [20.0, 1.0, 1.0], Cells::Prisms, 0.0);
    let mut needle = config(&[]);
    for marker in &mesh.markers {
        needle.boundaries.insert(marker.name.clone(), Boundary::Farfield);
    }
    agree(&Case { iterations: 3, ..case(mesh, needle) }, &gpu, &[3], 1e-12, "a needle");
}

/// Differences of residuals carry rounding at 1e-8, as over ranks on CPUs.
#[test]
fn gpu_ranks_take_the_newton_steps_of_one() {
    let Some((gpu, _alone)) = gpus() else { return };
    agree(&newton_case(), &gpu, &[1, 2, 3], 1e-6, "Newton-Krylov");
}

/// Viscous flow past a cylinder on a planar mesh, by plain steps, with a scalar beside it; walls that are warm or move.
#[test]
fn gpu_ranks_march_viscous_flow_and_a_scalar_like_one() {
    let Some((gpu, _alone)) = gpus() else { return };
    let mut config = config(&[
        ("cylinder", Boundary::NoSlipIsothermal { temperature: 1.05 }),
        ("farfield", Boundary::Farfield),
    ]);
    (config.freestream.mach, config.freestream.reynolds) = (0.2, 100.0);
    (config.equations, config.scalar) = (Equations::Laminar, Some(ScalarConfig::default()));
    let case = Case { bump: false, iterations: 6, ..case(cylinder(true), config) };
    same_first_step(&case, &gpu, "viscous");
    agree(&case, &gpu, &[2, 3], 1e-10, "viscous");
}

/// Turbulence models with one unknown and with two, in steps of their own and in Newton-Krylov steps together with the flow.
#[test]
fn gpu_ranks_march_turbulent_flow_like_one() {
    let Some((gpu, _alone)) = gpus() else { return };
    for (model, newton) in [
        (TurbulenceModel::SaNeg, false),
        (TurbulenceModel::SaNeg, true),
        (TurbulenceModel::Sst, false),
        (TurbulenceModel::Sst, true),
    ] {
        let mut config = config(&[("cylinder", Boundary::NoSlipAdiabatic), ("farfield", Boundary::Farfield)]);
        (config.freestream.mach, config.freestream.reynolds) = (0.2, 1e5);
        config.equations = Equations::Laminar;
        config.turbulence = Some(TurbulenceConfig { model, ..TurbulenceConfig::default() });
        if newton {
            config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
        }
        let case = Case { bump: false, iterations: 5, ..case(cylinder(false), config) };
        let what = format!("{model:?}, Newton {newton}");
        if !newton {
            same_first_step(&case, &gpu, &what);
        }
        agree(&case, &gpu, &[2, 3], if newton { 1e-5 } else { 1e-10 }, &what);
    }
}

/// Steps in time, which keep earlier levels of ghosts.
#[test]
fn gpu_ranks_march_in_time_like_one() {
    let Some((gpu, _alone)) = gpus() else { return };
    let mut config = cube(&Boundary::SlipWall);
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 3, orders: 9.0 });
    agree(&case(mixed_cube(4, 0.2), config), &gpu, &[3], 1e-12, "in time");
}

/// GMRES, BiCGStab and Jacobi sweeps in plain steps.
#[test]
fn gpu_ranks_solve_with_every_method_like_one() {
    let Some((gpu, _alone)) = gpus() else { return };
    for (method, preconditioner) in [
        (Method::Gmres, PreconditionerKind::Multicolor),
        (Method::BiCgStab, PreconditionerKind::Jacobi),
        (Method::Gmres, PreconditionerKind::None),
        (Method::Richardson, PreconditionerKind::Jacobi),
    ] {
        let mut config = cube(&Boundary::SlipWall);
        (config.implicit.method, config.implicit.preconditioner) = (method, preconditioner);
        config.implicit.linear_report = 2;
        let case = Case { iterations: 4, ..case(mixed_cube(4, 0.2), config) };
        agree(&case, &gpu, &[2, 3], 1e-10, &format!("{method} with {preconditioner}"));
    }
}

/// Sweeps over lines: alone in plain steps in all policies, around turbulent flow in Newton-Krylov steps.
#[test]
fn gpu_ranks_relax_lines_like_one() {
    let Some((gpu, _alone)) = gpus() else { return };
    for policy in [Policy::D, Policy::Ds, Policy::Dsh] {
        let case = lined_case(policy);
        same_first_step(&case, &gpu, &format!("lines, {policy}"));
        agree(&case, &gpu, &[1, 2, 3], 1e-11, &format!("lines, {policy}"));
    }
    agree(&lined_newton_case(), &gpu, &[1, 2, 3], 1e-5, "Newton-Krylov around lines");
}

/// Incomplete factors are of parts: the same solution, found in other steps.
#[test]
fn gpu_factors_of_parts_lead_to_the_same_flow() {
    let Some((gpu, _alone)) = gpus() else { return };
    let mut config = cube(&Boundary::SlipWall);
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.method, config.implicit.preconditioner) =
        (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(1)));
    config.implicit.cfl.growth = 2.0;
    config.time = Time::Steady(Steady { iterations: 60, orders: 9.0 });
    let case = Case { iterations: 30, ..case(mixed_cube(5, 0.2), config) };
    let last = |o: &Outcome| o.residuals.last().unwrap()[0] / o.residuals[0][0];
    let expected = on_one(&case, &gpu);
    assert!(last(&expected) < 1e-9);
    for size in [1, 2, 3] {
        let found = on_ranks(size, &case, Wish::Shortest);
        assert!(last(&found) < 1e-9, "{size} GPUs: {}", last(&found));
        let forces = apart(found.forces.last().unwrap(), expected.forces.last().unwrap());
        assert!(forces < 1e-8, "{size} GPUs: {forces}");
    }
}

/// A restart of ranks on GPUs goes on on one CPU rank.
#[test]
fn gpu_restarts_do_not_know_of_ranks() {
    let Some((gpu, _alone)) = gpus() else { return };
    let half = Case { iterations: 4, ..case(mixed_cube(4, 0.2), cube(&Boundary::SlipWall)) };
    let whole = on_one(&Case { iterations: 8, ..half.clone() }, &gpu);
    let first = on_ranks(3, &half, Wish::Shortest);
    let second = over_with(1, &half, (false, Some(&first.restart)), |_| Ok(()));
    for (a, b) in second.residuals.iter().zip(&whole.residuals[4..]) {
        assert!(apart(a, b) < 1e-10, "{a:?}, {b:?}");
    }
}

/// All ranks take the same decision on a state that one of them loses, and say where it is.
#[test]
fn gpu_ranks_find_a_bad_state_of_one() {
    let Some((_, _alone)) = gpus() else { return };
    let place = |size: usize| {
        let mut found = run(size, PATIENCE, move |threads: &Threads| {
            let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
            let mesh = mixed_cube(4, 0.2);
            let mesh = (threads.rank() == 0).then_some(&mesh);
            let (config, team) = (cube(&Boundary::SlipWall), Arc::new(Team::new(1)));
            let mut solver = FlowSolver::over_ranks(mesh, config, team, ranks)?;
            solver.use_gpu(&gpu_of(&solver)?)?;
            solver.set_state(|x| {
                let u = if x[0] > 0.7 && x[1] > 0.7 { f64::NAN } else { 0.4 };
                [1.0, u, 0.0, 0.0, 1.0 / 1.4]
            });
            if threads.rank() > 0 {
                return solver.follow().map(|()| None);
            }
            let report = solver.try_step()?;
            solver.dismiss();
            Ok::<_, FlowError>(Some((report.rejected, report.bad.map(|bad| (bad.place, bad.at, bad.marker)))))
        })
        .unwrap();
        found.swap_remove(0).unwrap()
    };
    let one = place(1);
    assert!(one.0 && one.1.is_some());
    for size in [2, 3] {
        assert_eq!(place(size), one, "{size} ranks");
    }
}

/// Mass flows through outlets are those of all ranks; walls that move.
#[test]
fn gpu_ranks_see_the_whole_flow_through_an_outlet() {
    let Some((gpu, _alone)) = gpus() else { return };
    agree(&outlet_case(), &gpu, &[2, 3], 1e-11, "through an outlet");
}

/// What GPUs do not compute is refused by name, on every rank.
#[test]
fn gpu_ranks_refuse_exact_sums() {
    let Some((_, _alone)) = gpus() else { return };
    let refused = run(2, PATIENCE, |threads: &Threads| {
        let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: true };
        let mesh = mixed_cube(3, 0.1);
        let mesh = (threads.rank() == 0).then_some(&mesh);
        let config = cube(&Boundary::SlipWall);
        let mut solver = FlowSolver::over_ranks(mesh, config, Arc::new(Team::new(1)), ranks)?;
        Ok::<_, FlowError>(solver.use_gpu(&gpu_of(&solver)?).err().map(|e| e.to_string()))
    });
    for found in refused.unwrap() {
        assert!(found.as_ref().is_some_and(|text| text.contains("--reproducible")), "{found:?}");
    }
}
