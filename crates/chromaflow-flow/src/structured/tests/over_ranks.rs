//! Blocks given to ranks: the same flow, bit for bit, on any number of them, that of one rank without ranks to rounding.

use super::*;
use crate::config::{
    Cfl, GridLength, Hybrid, Quadratic, Rotation, Steady, TurbulenceConfig, TurbulenceModel, Unsteady,
    WallTreatment,
};
use crate::grid::generate::{Cylinder, SmoothChannel};
use crate::march::{BadPlace, LargestResidual, Outflow, Spread, StepReport};
use crate::output::{Field, Restart};
use crate::ranks::Ranks;
use crate::ranks::tests::{Delayed, PATIENCE, apart};
use chromaflow_comm::{Communicator, Solo, Threads, run};
use std::thread::sleep;
use std::time::Duration;

/// A flow and its steps.
#[derive(Clone)]
struct Case {
    grid: Grid,
    config: StructuredConfig,
    steps: usize,
    /// A state to begin with that is no solution.
    smooth: bool,
}

/// What is seen of a run.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    steps: Vec<StepReport>,
    restart: Restart,
    fields: Vec<Field>,
    y_plus: Vec<(String, Spread)>,
    outflow: Vec<Outflow>,
    entropy: f64,
    largest: Option<LargestResidual>,
}

fn march(solver: &mut StructuredSolver, case: &Case, from: Option<&Restart>) -> Found {
    let (dir, places) = (tempfile::tempdir().unwrap(), solver.restart_places());
    let path = dir.path().join("r.safetensors");
    if let Some(restart) = from {
        restart.write(&path, &places).unwrap();
        let resumed = solver.resume_from(&path, &places, (false, &[])).unwrap();
        assert!(resumed.missing.is_empty() && resumed.restart.facts == restart.facts);
    }
    let step = |_| StepReport { times: Times::default(), ..solver.step() };
    let steps = (0..case.steps).map(step).collect();
    solver.sync().unwrap();
    let (restart, fields, y_plus) = (solver.restart(), solver.fields(), solver.y_plus());
    let outflow = solver.outflow();
    let mean =
        Restart { fields: vec![Field::scalar("mean", vec![0.5; places.nodes.len()])], ..Restart::default() };
    solver.write_restart(&path, &places, mean.clone()).unwrap();
    let (by_ranges, mut whole) = (std::fs::read(&path).unwrap(), restart.clone());
    whole.extend(mean);
    whole.write(&path, &places).unwrap();
    assert!(std::fs::read(&path).unwrap() == by_ranges, "a restart file by ranges");
    let entropy = solver.entropy_error();
    let residuals = solver.residuals();
    let rates = solver.of_all_cells(5, &residuals.rates);
    assert_eq!(rates.len(), 5 * case.grid.cells());
    let largest = solver.largest_residual(&residuals);
    Found { steps, restart, fields, y_plus, outflow, entropy, largest }
}

fn begun(solver: &mut StructuredSolver, case: &Case) {
    if case.smooth {
        solver.set_state(smooth);
    }
}

fn alone(case: &Case, from: Option<&Restart>) -> Found {
    let mut solver = StructuredSolver::new(case.grid.clone(), case.config.clone(), team(1)).unwrap();
    begun(&mut solver, case);
    march(&mut solver, case, from)
}

/// On ranks that are threads; one of them computes as several do.
fn over(size: usize, case: &Case, from: Option<&Restart>) -> Found {
    over_with(size, case, (from, true), |_| Ok(()))
}

/// The same after something has been done with each solver; `reproducible` as ranks are.
fn over_with(
    size: usize,
    case: &Case,
    (from, reproducible): (Option<&Restart>, bool),
    prepare: impl Fn(&mut StructuredSolver) -> Result<(), FlowError> + Send + Sync + 'static,
) -> Found {
    over_messages(size, case, (from, reproducible), prepare, |threads| Arc::new(threads.clone()))
}

/// The same with messages that pass as `communicator` has them.
fn over_messages(
    size: usize,
    case: &Case,
    (from, reproducible): (Option<&Restart>, bool),
    prepare: impl Fn(&mut StructuredSolver) -> Result<(), FlowError> + Send + Sync + 'static,
    communicator: impl Fn(&Threads) -> Arc<dyn Communicator> + Send + Sync + 'static,
) -> Found {
    let (case, from) = (case.clone(), from.cloned());
    let mut found = run(size, PATIENCE, move |threads| {
        let (rank, several) = (threads.rank(), threads.size() > 1);
        let ranks = if several { communicator(threads) } else { Arc::new(Solo) };
        let ranks = Ranks { ranks, reproducible };
        let (grid, config) = (case.grid.clone(), case.config.clone());
        let mut solver =
            StructuredSolver::over_ranks(grid, config, team(1), &ranks).map_err(|e| e.to_string())?;
        assert_eq!(solver.division().is_some(), several);
        begun(&mut solver, &case);
        prepare(&mut solver).map_err(|e| e.to_string())?;
        if rank > 0 {
            return solver.follow().map(|()| None).map_err(|e| e.to_string());
        }
        let found = march(&mut solver, &case, from.as_ref());
        assert_eq!(solver.rank_reports().iter().map(|of| of.rows).sum::<usize>(), case.grid.cells());
        solver.dismiss();
        Ok::<_, String>(Some(found))
    })
    .unwrap();
    found.swap_remove(0).expect("the first rank has what is found")
}

/// Two rings around a cylinder, each of which meets itself.
fn rings() -> Grid {
    let ring = Cylinder { cells: [24, 12], radius: 6.0, growth: 1.25, triangles: false }.grid();
    ring.split(0, 1, 4).unwrap()
}

fn around(scheme: Scheme, equations: Equations) -> StructuredConfig {
    let mut config = config(&rings(), scheme, equations);
    (config.freestream.mach, config.freestream.alpha_deg, config.freestream.beta_deg) = (0.3, 3.0, 0.0);
    let wall = if equations == Equations::Euler { Boundary::SlipWall } else { Boundary::NoSlipAdiabatic };
    config.boundaries.insert("cylinder".to_owned(), wall);
    config.implicit.cfl = Cfl { start: 2.0, min: 0.01, max: 20.0, growth: 1.3, adaptive: true };
    config
}

/// Four turned blocks with walls of two patches and more, an outlet of given mass flow across two.
fn in_a_box(scheme: Scheme, equations: Equations) -> Case {
    let grid = blocks(wavy([9, 7, 6]));
    let mut config = config(&grid, scheme, equations);
    let wall = if equations == Equations::Euler { Boundary::SlipWall } else { Boundary::NoSlipAdiabatic };
    config.boundaries.insert("ymin".to_owned(), wall);
    config.boundaries.insert("zmax".to_owned(), Boundary::SlipWall);
    config.boundaries.insert("xmax".to_owned(), Boundary::MassFlowOutlet { mass_flow: 0.2 });
    Case { grid, config, steps: 6, smooth: true }
}

/// Every kind of step, on grids of turned blocks and on rings.
fn cases() -> Vec<(&'static str, Case)> {
    let newton = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    let ring = |scheme, equations| Case {
        grid: rings(),
        config: around(scheme, equations),
        steps: 8,
        smooth: false,
    };
    let mut all = vec![
        ("lines", in_a_box(SCHEMES[2], Equations::Euler)),
        ("lines, viscous", in_a_box(SCHEMES[1], Equations::Laminar)),
        ("rings", ring(SCHEMES[0], Equations::Laminar)),
    ];
    let mut diagonal = ring(SCHEMES[0], Equations::Euler);
    diagonal.config.implicit.method = StepMethod::Diagonal { fourth: true };
    all.push(("diagonal", diagonal));
    let mut ssor = in_a_box(SCHEMES[0], Equations::Laminar);
    ssor.config.implicit.method = StepMethod::Ssor { sweeps: 3, relaxation: 1.0 };
    all.push(("ssor", ssor));
    let mut unsteady = in_a_box(SCHEMES[0], Equations::Laminar);
    unsteady.config.time =
        Time::Unsteady(Unsteady { dt: 0.05, steps: 3, subiterations: 3, ..Unsteady::default() });
    unsteady.steps = 8;
    all.push(("unsteady", unsteady));
    let mut inviscid = ring(SCHEMES[2], Equations::Euler);
    inviscid.config.implicit.nonlinear = newton;
    all.push(("newton", inviscid));
    let mut turned = in_a_box(SCHEMES[2], Equations::Laminar);
    (turned.config.implicit.nonlinear, turned.steps) = (newton, 4);
    all.push(("newton in a box", turned));
    let mut turbulent = ring(SCHEMES[2], Equations::Laminar);
    turbulent.config.freestream.reynolds = 1e5;
    turbulent.config.implicit.nonlinear = newton;
    turbulent.config.turbulence = Some(TurbulenceConfig::default());
    all.push(("turbulent", turbulent.clone()));
    // Laws of the wall, what the stress has besides, and what production makes of curvature; a hybrid in time.
    turbulent.config.turbulence = Some(TurbulenceConfig {
        walls: WallTreatment::Automatic,
        quadratic: Quadratic::Qcr2020,
        rotation: Rotation::Curved,
        ..TurbulenceConfig::default()
    });
    all.push(("turbulent with options", turbulent.clone()));
    turbulent.config.turbulence = Some(TurbulenceConfig {
        hybrid: Hybrid::Ddes,
        grid_length: GridLength::AcrossVorticity,
        ..TurbulenceConfig::default()
    });
    turbulent.config.time =
        Time::Unsteady(Unsteady { dt: 0.05, steps: 2, subiterations: 4, ..Unsteady::default() });
    all.push(("hybrid", turbulent));
    all
}

/// Nine blocks of a wavy box, some of them turned: for more ranks than two axes have blocks.
fn many_blocks() -> Vec<(&'static str, Case)> {
    let whole = wavy([9, 7, 6]);
    let mut grid = whole.split(0, 0, 3).unwrap().split(1, 0, 3).unwrap();
    for block in 0..3 {
        grid = grid.split(block, 1, 3).unwrap();
    }
    for block in [0, 2, 4] {
        grid = grid.split(block, 2, 2).unwrap();
    }
    let grid = grid.reorient(1, [1, 2, 0], [true, false, false]).reorient(6, [0, 2, 1], [false, false, true]);
    grid.check().unwrap();
    assert_eq!(grid.blocks.len(), 9);
    let of = |scheme, equations| Case { grid: grid.clone(), steps: 4, ..in_a_box(scheme, equations) };
    let mut ssor = of(SCHEMES[0], Equations::Laminar);
    ssor.config.implicit.method = StepMethod::Ssor { sweeps: 3, relaxation: 1.0 };
    let mut newton = of(SCHEMES[2], Equations::Laminar);
    newton.config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    let lines = of(SCHEMES[2], Equations::Euler);
    vec![("lines, nine blocks", lines), ("ssor, nine blocks", ssor), ("newton, nine blocks", newton)]
}

#[test]
fn any_number_of_ranks_has_the_same_bits() {
    for (name, case) in cases().into_iter().chain(many_blocks()) {
        let one = over(1, &case, None);
        for size in [2, 3, 5, 8].into_iter().filter(|size| *size <= case.grid.blocks.len()) {
            let several = over(size, &case, None);
            assert_eq!(several.steps, one.steps, "{name}: {size} ranks");
            assert!(several == one, "{name}: {size} ranks");
        }
        // A solver without ranks: sums are in another order, and block ILU reaches across interfaces.
        let plain = alone(&case, None);
        let newton = matches!(case.config.implicit.nonlinear, Nonlinear::NewtonKrylov(_));
        for (a, b) in plain.steps.iter().zip(&one.steps).take(if newton { 1 } else { case.steps }) {
            assert!(apart(&a.residual, &b.residual) < 1e-10, "{name}: {:?} {:?}", a.residual, b.residual);
            let cd = [a, b].map(|step| step.forces.total.cd);
            assert!((cd[0] - cd[1]).abs() < 1e-10 * (1.0 + cd[0].abs()), "{name}: {cd:?}");
        }
        if !newton {
            near(name, &plain, &one, 1e-10);
        }
    }
}

/// That all that is seen of two runs at their ends is the same but for rounding, or what they have not converged to.
fn near(name: &str, a: &Found, b: &Found, most: f64) {
    for (a, b) in a.fields.iter().zip(&b.fields) {
        let apart = apart(&a.values, &b.values);
        assert!(a.name == b.name && apart < most, "{name}, {}: {apart:e}", a.name);
    }
    assert_eq!(a.fields.len(), b.fields.len());
    assert!((a.entropy - b.entropy).abs() <= most * b.entropy, "{name}: {} {}", a.entropy, b.entropy);
    let place = |found: &Found| found.largest.as_ref().map(|l| (l.at.place, l.at.marker.clone()));
    assert!(most > 1e-9 || place(a) == place(b), "{name}: {:?} {:?}", a.largest, b.largest);
    for ((wall, a), (other, b)) in a.y_plus.iter().zip(&b.y_plus) {
        assert!(wall == other && (a.mean - b.mean).abs() < most * b.mean, "{name}: {wall}");
    }
    assert_eq!(a.y_plus.len(), b.y_plus.len());
    for (a, b) in a.outflow.iter().zip(&b.outflow) {
        assert!(a.marker == b.marker && (a.mass_flow - b.mass_flow).abs() < most, "{name}: {a:?} {b:?}");
    }
    assert_eq!(a.outflow.len(), b.outflow.len());
}

/// Channels and turbulent plates that have converged are the same flow, whatever preconditioned their steps: in a few steps more.
#[test]
fn newton_steps_over_ranks_end_at_the_flow_of_one() {
    let channel = SmoothChannel { cells: [24, 8] }.grid().split(0, 0, 10).unwrap().split(1, 1, 3).unwrap();
    let mut subsonic = config(&channel, SCHEMES[2], Equations::Euler);
    (subsonic.freestream.alpha_deg, subsonic.freestream.beta_deg) = (0.0, 0.0);
    let sides = super::flows::channel_sides(0.5).map(|(name, boundary)| (name.to_owned(), boundary));
    subsonic.boundaries = sides.into();
    subsonic.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    subsonic.implicit.cfl = Cfl { start: 2.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true };
    subsonic.time = Time::Steady(Steady { iterations: 200, orders: 10.0 });
    let (plate, turbulent) = super::turbulence::plate_case(Some(13), TurbulenceModel::SaNeg);
    let (same_plate, of_two_equations) = super::turbulence::plate_case(Some(13), TurbulenceModel::Sst);
    for (name, grid, config) in [
        ("channel", channel, subsonic),
        ("plate", plate, turbulent),
        ("plate, sst", same_plate, of_two_equations),
    ] {
        let case = Case { grid, config, steps: 80, smooth: false };
        let (one, several) = (alone(&case, None), over_with(2, &case, (None, false), |_| Ok(())));
        let converged = |found: &Found| found.steps.iter().position(|step| step.outcome.is_some());
        let (steps, of_two) = (converged(&one).unwrap(), converged(&several).unwrap());
        eprintln!("{name}: {steps} steps on one rank, {of_two} over two");
        assert!(of_two <= steps + 8, "{name}: {steps} {of_two}");
        near(name, &one, &several, 1e-6);
    }
}

/// A restart does not know how many ranks wrote it. (It has conserved variables: what goes on from it differs from what went through by
/// their rounding.)
#[test]
fn restarts_cross_from_ranks_to_ranks() {
    for (name, mut case) in cases() {
        if !["ssor", "unsteady", "turbulent"].contains(&name) {
            continue;
        }
        let through = over(2, &case, None);
        let all = case.steps;
        case.steps = 4;
        let half = over(3.min(case.grid.blocks.len()), &case, None);
        assert!(half == over(1, &case, None), "{name}");
        case.steps = all - 4;
        let one = over(1, &case, Some(&half.restart));
        assert!(one == over(2, &case, Some(&half.restart)), "{name}");
        assert_eq!(one.steps[0].iteration, 5);
        if name != "turbulent" {
            near(name, &one, &through, 1e-10);
            near(name, &alone(&case, Some(&half.restart)), &through, 1e-10);
        }
    }
}

/// A device adapts the outlets of its own rank's patches; the rank that leads has them in its restarts wherever they lie, and states beyond the boundary are
/// of them.
#[test]
fn back_pressures_of_own_patches_are_those_of_all() {
    let (_, case) = cases().into_iter().find(|(name, _)| *name == "newton in a box").unwrap();
    for size in 1..=case.grid.blocks.len() {
        over_with(size, &Case { steps: 1, ..case.clone() }, (None, false), |solver| {
            let host = &mut solver.host;
            for patch in host.patches.iter_mut().filter(|patch| patch.condition.mass_flow > 0.0) {
                (patch.condition.held, patch.condition.outlet.pressure) = (0.5, 0.5);
            }
            host.fill_ghosts();
            // Two hundredths away at the most.
            let mut outlets = host.patches.iter().filter(|patch| patch.condition.mass_flow > 0.0);
            assert!(outlets.all(|patch| (patch.condition.outlet.pressure - 0.5).abs() < 0.0101));
            if host.part.share().is_none_or(|share| share.ranks().rank() == 0) {
                assert_eq!(solver.restart().facts["back_pressure.xmax"], 0.5);
            }
            Ok(())
        });
    }
}

/// Messages that come when they like change no bit.
#[test]
fn random_delays_change_nothing() {
    let turbulent = cases().into_iter().find(|(name, _)| *name == "turbulent").expect("a case of that name");
    for (name, case) in many_blocks().into_iter().chain([turbulent]) {
        let case = Case { steps: 3, ..case };
        for size in [2, 5].into_iter().filter(|size| *size <= case.grid.blocks.len()) {
            let expected = over(size, &case, None);
            for seed in 1..=2 {
                let late = move |threads: &Threads| -> Arc<dyn Communicator> {
                    Arc::new(Delayed::new(threads.clone(), seed))
                };
                let found = over_messages(size, &case, (None, true), |_| Ok(()), late);
                assert!(found == expected, "{name} on {size} ranks, seed {seed}");
            }
        }
    }
}

/// A state that is none is told with its block's number in the grid, and all ranks go back with their steps.
#[test]
fn bad_states_are_told_by_their_place() {
    let case = in_a_box(SCHEMES[0], Equations::Euler);
    let last = case.grid.blocks.len() - 1;
    let spoil = move |solver: &mut StructuredSolver| {
        let host = solver.host_to_set();
        let own = (0..host.blocks.len()).find(|&block| host.part.number(block) == last);
        if let Some(block) = own.map(|own| &mut host.blocks[own]) {
            let at = block.cells.inside([1, 0, 1]);
            block.w[at] = f64::NAN;
        }
    };
    let mut plain = StructuredSolver::new(case.grid.clone(), case.config.clone(), team(1)).unwrap();
    spoil(&mut plain);
    let expected = plain.step().bad.unwrap();
    assert_eq!(expected.rank, None);
    for size in [1, 2, 4] {
        let case = case.clone();
        let found = run(size, PATIENCE, move |threads| {
            let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
            let solver =
                StructuredSolver::over_ranks(case.grid.clone(), case.config.clone(), team(1), &ranks);
            let mut solver = solver.map_err(|e| e.to_string())?;
            spoil(&mut solver);
            let report = solver.try_step().map_err(|e| e.to_string())?;
            // The state from before.
            let next = solver.try_step().map_err(|e| e.to_string())?;
            Ok::<_, String>((report.bad, report.rejected, next.bad))
        })
        .unwrap();
        for (bad, rejected, next) in found {
            // NaN differs from itself.
            let bad = bad.unwrap();
            assert_eq!(bad.rank.is_some(), size > 1);
            assert!(bad.rank.is_none_or(|rank| rank < size));
            let bad = BadPlace { rank: None, ..bad };
            assert_eq!(format!("{bad:?}"), format!("{expected:?}"), "{size} ranks");
            assert!(rejected && next.is_none());
        }
    }
}

#[test]
fn more_ranks_than_blocks_are_an_error() {
    let case = cases().swap_remove(2).1;
    let error = run(3, PATIENCE, move |threads| {
        let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
        let solver = StructuredSolver::over_ranks(case.grid.clone(), case.config.clone(), team(1), &ranks);
        match solver {
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("3 ranks, but the grid has 2 blocks") && error.contains("grid.split"), "{error}");
}

/// Rank 0 writes fields for as long as it takes; between steps it has failed when it asks for nothing.
#[test]
fn followers_wait_for_fields_and_not_for_ever_between_steps() {
    let (patience, longer) = (Duration::from_secs(2), Duration::from_secs(3));
    let case = in_a_box(SCHEMES[0], Equations::Euler);
    let ended = run(2, PATIENCE, move |threads| {
        let rank = threads.rank();
        let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
        let solver = StructuredSolver::over_ranks(case.grid.clone(), case.config.clone(), team(1), &ranks);
        let mut solver = solver.map_err(|e| e.to_string())?;
        if rank > 0 {
            return solver.follow_within(patience).map_err(|e| e.to_string());
        }
        solver.step();
        solver.fields();
        sleep(longer);
        solver.try_step().map_err(|e| format!("after fields: {e}"))?;
        sleep(2 * longer);
        Ok(())
    });
    let error = ended.unwrap_err().to_string();
    assert!(error.contains("rank 0 did not answer for 2 s"), "{error}");
}

/// Blocks of ranks that compute on GPUs, on one where there is but one: what passes between them, and how, is the same.
#[cfg(feature = "cuda")]
mod on_gpus {
    use super::*;
    use crate::testgpu::{gpu_of, gpus};
    use chromaflow::gpu::Wish;

    fn on_ranks(size: usize, case: &Case, wish: Wish) -> Found {
        over_with(size, case, (None, false), move |solver| {
            solver.use_gpu_by(&gpu_of(solver)?, wish)?;
            let path = solver.halo_path().expect("a device of a rank");
            assert!(size == 1 || path.starts_with("staged") == (wish == Wish::Staged), "{path}");
            Ok(())
        })
    }

    /// Steps apart, then together.
    fn two_equations() -> (&'static str, Case) {
        let (grid, config) = super::super::turbulence::plate_case(Some(13), TurbulenceModel::Sst);
        ("sst", Case { grid, config, steps: 80, smooth: false })
    }

    /// Every kind of step: ranks have the flow of one, whose first plain step, which takes no sum, they have bit for bit; that of the CPU to
    /// rounding; whatever way messages pass.
    #[test]
    fn gpu_ranks_have_the_flow_of_one() {
        let Some((_, _alone)) = gpus() else { return };
        for (name, mut case) in cases().into_iter().chain([two_equations()]) {
            // Laws of the wall and curvature make of a rounding error of 1e-14 one of 1.5e-7 in eight of these steps, on two instruction sets
            // of one CPU; of 1e-8 in four.
            if name == "turbulent with options" {
                case.steps = 4;
            }
            let newton = matches!(case.config.implicit.nonlinear, Nonlinear::NewtonKrylov(_));
            let first = Case { steps: 1, ..case.clone() };
            let (one, step) = (on_ranks(1, &case, Wish::Shortest), on_ranks(1, &first, Wish::Shortest));
            let on_host = over_with(1, &case, (None, false), |_| Ok(()));
            let most = if newton { 1e-6 } else { 1e-9 };
            near(name, &one, &on_host, most);
            for size in (2..=case.grid.blocks.len()).filter(|size| *size < 4) {
                let what = format!("{name}, {size} ranks");
                let several = on_ranks(size, &case, Wish::Shortest);
                near(&what, &one, &several, most);
                // What Newton-Krylov steps leave of their systems depends on how sums are rounded, steps apart on whose blocks they solve for.
                let alike = if name == "sst" {
                    0
                } else if newton {
                    3
                } else {
                    case.steps
                };
                for (a, b) in one.steps.iter().zip(&several.steps).take(alike) {
                    assert!(
                        apart(&a.residual, &b.residual) < most,
                        "{what}: {:?} {:?}",
                        a.residual,
                        b.residual
                    );
                    let cd = [a, b].map(|step| step.forces.total.cd);
                    assert!((cd[0] - cd[1]).abs() < most * (1.0 + cd[0].abs()), "{what}: {cd:?}");
                }
                assert!(several == on_ranks(size, &case, Wish::Staged), "{what}: peer stores and staged");
                if !newton {
                    let found = on_ranks(size, &first, Wish::Shortest);
                    assert!(found.restart.fields == step.restart.fields, "{what}: the first step");
                }
            }
        }
    }

    /// Exact sums are the CPU's.
    #[test]
    fn gpu_ranks_refuse_exact_sums() {
        let Some((gpu, _alone)) = gpus() else { return };
        let case = cases().swap_remove(0).1;
        let ranks = Ranks { ranks: Arc::new(Solo), reproducible: true };
        let mut solver = StructuredSolver::over_ranks(case.grid, case.config, team(1), &ranks).unwrap();
        let error = solver.use_gpu(&gpu).unwrap_err().to_string();
        assert!(error.contains("--reproducible") && error.contains("CPU cores"), "{error}");
    }
}
