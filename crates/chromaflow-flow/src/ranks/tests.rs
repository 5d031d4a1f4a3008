//! Parts of meshes, and flows over ranks: what ranks have together is what one rank has.

mod histories;
mod lines;
mod pieces;
mod restarts;
mod sides;
mod sliced;

use super::cut::Touched;
use super::wire::{pack, unpack};
use super::{Division, by_host};
use crate::bc::Motion;
use crate::config::{
    Boundary, Coupling, Equations, Limiter, NewtonKrylov, Nonlinear, Quadrature, ScalarConfig, Steady, Time,
    TurbulenceConfig, TurbulenceModel, Unsteady,
};
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::mesh::generate::{Cells, Cylinder, box_mesh};
use crate::numbering::{Numbering, renumber};
use crate::output::Restart;
use crate::testmesh::mixed_cube;
use crate::unstructured::Ranks;
use crate::{FlowConfig, FlowSolver};
use chromaflow::Policy;
use chromaflow::dist::SweepExchange;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::order::PlanOptions;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_comm::{CommError, Communicator, Solo, Tag, Threads, run};
use chromaflow_device::Team;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use lines::layers;
pub(crate) use lines::lined_case;
#[cfg(feature = "cuda")]
pub(crate) use lines::lined_newton_case;

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
const SIZES: [usize; 5] = [1, 2, 3, 5, 8];

pub(crate) fn cylinder(triangles: bool) -> Mesh {
    Cylinder { cells: [24, 14], radius: 6.0, growth: 1.25, triangles }.mesh()
}

/// Every element and face around an owned node or one next to it is there, with its nodes at their places; parts read back.
#[test]
fn parts_have_two_layers_of_elements_around_their_nodes() {
    for (mesh, ranks, lines) in [
        (mixed_cube(5, 0.2), 3, false),
        (cylinder(true), 4, false),
        (mixed_cube(2, 0.0), 40, false),
        (layers(), 5, true),
        (layers(), 80, true),
        (cylinder(false), 3, true),
    ] {
        let team = Team::new(1);
        let (mesh, plan, edges) = renumber(&mesh, Numbering { lines, ..Numbering::default() }, &team);
        let rows = plan.permutation.len();
        let division = Division::new(&super::graph(&edges, rows, 1), plan.batches.lines(), &[ranks], 1);
        let cutter = super::cutter(&mesh, &plan, &edges, &division, Touched::new(&mesh, rows));
        let (mut owned, mut elements) = (0, 0);
        for rank in 0..ranks {
            let part = cutter.part(rank);
            assert_eq!(unpack(&pack(&part)), Some(part.clone()));
            assert_eq!(unpack(&pack(&part)[1..]), None);
            let n = part.global.len();
            let of_line = |row: &u32| {
                let line = plan.batches.line_of(*row as usize);
                line.start as u32..line.end as u32
            };
            let whole = |(at, row): (usize, &u32)| {
                part.batches().line_of(at).map(|at| part.global[at]).eq(of_line(row))
            };
            let own = |(_, row): &(usize, &u32)| division.owner[**row as usize] == rank;
            assert!(
                part.global.iter().enumerate().filter(own).all(whole),
                "rank {rank} of {ranks}: its lines"
            );
            assert_eq!(part.batches().lines().is_some(), lines);
            assert_eq!(part.mesh.planar.map(|p| p.nodes_2d), mesh.planar.map(|_| n));
            for (at, &row) in part.global.iter().enumerate() {
                assert_eq!(part.mesh.nodes[at], mesh.nodes[row as usize]);
                assert_eq!(part.file[at], plan.permutation.old_of_new()[row as usize]);
                if mesh.planar.is_some() {
                    assert_eq!(part.mesh.nodes[at + n], mesh.nodes[row as usize + rows]);
                }
            }
            let row = |i: u32| i as usize % rows;
            let own = |i: u32| division.owner[row(i)] == rank;
            let mut near = vec![false; rows];
            mesh.each_element(|_, _, nodes| {
                if nodes.iter().any(|&i| own(i)) {
                    for &i in nodes {
                        near[row(i)] = true;
                    }
                }
            });
            let mut expected = 0;
            mesh.each_element(|_, _, nodes| expected += usize::from(nodes.iter().any(|&i| near[row(i)])));
            assert_eq!(part.mesh.elements(), expected, "rank {rank} of {ranks}");
            let complete: Vec<u32> =
                part.global.iter().zip(&part.complete).filter(|(_, c)| **c == 1).map(|(r, _)| *r).collect();
            assert_eq!(complete, (0..rows as u32).filter(|&r| near[r as usize]).collect::<Vec<_>>());
            let faces = |mesh: &Mesh, here: &dyn Fn(u32) -> bool| -> Vec<usize> {
                let count = |m: &crate::mesh::Marker| {
                    m.triangles.iter().filter(|f| f.iter().any(|&i| here(i))).count()
                        + m.quads.iter().filter(|f| f.iter().any(|&i| here(i))).count()
                };
                mesh.markers.iter().map(count).collect()
            };
            assert_eq!(faces(&part.mesh, &|_| true), faces(&mesh, &|i| near[row(i)]));
            owned += part.owner.iter().filter(|&&o| o == rank).count();
            elements += part.mesh.elements();
            let surface = part.with_surface(false);
            let planes = |m: &&crate::mesh::Marker| mesh.planar.is_none() || !m.is_plane();
            assert_eq!(surface.markers.len(), mesh.markers.iter().filter(planes).count());
            for (own, whole) in surface.markers.iter().zip(mesh.markers.iter().filter(planes)) {
                for (f, g) in own.quads.iter().zip(&whole.quads) {
                    let at = |mesh: &Mesh, i: u32| mesh.nodes[i as usize];
                    assert_eq!(f.map(|i| at(&surface, i)), g.map(|i| at(&mesh, i)));
                    if let (Some(a), Some(b)) = (surface.planar, mesh.planar) {
                        assert_eq!(a.edge(*f).map(|i| at(&surface, i)), b.edge(*g).map(|i| at(&mesh, i)));
                    }
                }
            }
        }
        assert_eq!(owned, rows);
        let longest = plan.batches.lines().map_or(0, |l| l.windows(2).map(|l| l[1] - l[0]).max().unwrap());
        assert_eq!(longest > 1, lines);
        // To a hundredth, or to a line.
        let most = rows as f64 / f64::from(ranks);
        assert!(!lines || division.quality.rows[1] as f64 <= 1.15 * most + f64::from(longest));
        assert!(elements >= mesh.elements());
    }
}

/// Ranks of one host get neighboring parts, wherever a launcher put them.
#[test]
fn ranks_are_taken_host_by_host() {
    let names = |list: &[&str]| list.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>();
    assert_eq!(by_host(&names(&["a", "a", "a"])), (vec![3], vec![0, 1, 2]));
    assert_eq!(by_host(&names(&["b", "a", "b", "c", "a", "b"])), (vec![3, 2, 1], vec![0, 2, 5, 1, 4, 3]));
    let (mesh, team) = (mixed_cube(4, 0.1), Team::new(1));
    let (_, plan, edges) = renumber(&mesh, PlanOptions::default(), &team);
    let pattern = super::graph(&edges, plan.permutation.len(), 1);
    let parts = Division::new(&pattern, None, &[2, 1], 2);
    let given = Division::new(&pattern, None, &[2, 1], 2).given_to(&[0, 2, 1]);
    assert!(parts.owner.iter().zip(&given.owner).all(|(part, rank)| *rank == [0, 2, 1][*part as usize]));
    assert_eq!(given.quality, parts.quality);
}

/// A case: its mesh, its set-up, how the state begins, how many iterations.
#[derive(Clone)]
pub(crate) struct Case {
    pub(crate) mesh: Mesh,
    pub(crate) config: FlowConfig,
    pub(crate) bump: bool,
    pub(crate) iterations: usize,
}

/// What a run gives: residuals of each iteration, forces, CFL numbers, the restart in the file's order.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) residuals: Vec<Vec<f64>>,
    pub(crate) forces: Vec<[f64; 3]>,
    pub(crate) cfl: Vec<f64>,
    pub(crate) fields: Vec<(String, Vec<f64>)>,
    pub(crate) outflow: Vec<(String, Vec<f64>)>,
    pub(crate) restart: Restart,
}

fn bump(x: [f64; 3]) -> [f64; 5] {
    let s = (-30.0 * x.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>()).exp();
    [1.0 + 0.1 * s, 0.4, 0.1 * s, 0.0, (1.0 + 0.2 * s) / 1.4]
}

fn march(solver: &mut FlowSolver, case: &Case, set: bool) -> Outcome {
    if case.bump && set {
        solver.set_state(bump);
    }
    let (mut residuals, mut forces, mut cfl) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..case.iterations {
        let report = solver.try_step().unwrap();
        residuals.push([report.residual, report.coupled].concat());
        forces.push([report.forces.total.cl, report.forces.total.cd, report.forces.total.cm]);
        cfl.push(report.cfl);
    }
    solver.sync().unwrap();
    let through = solver.outflow().into_iter();
    let through =
        through.map(|o| (o.marker, vec![o.mass_flow, o.pressure, o.total_pressure, o.total_temperature]));
    let fields = solver.fields().into_iter().map(|f| (f.name, f.values)).collect();
    Outcome { residuals, forces, cfl, fields, outflow: through.collect(), restart: solver.restart() }
}

/// On so many ranks of this process, from a restart or the beginning.
fn over(size: usize, case: &Case, reproducible: bool, from: Option<&Restart>) -> Outcome {
    over_with(size, case, (reproducible, from), |_| Ok(()))
}

/// The same, after each rank has done something with its solver.
pub(crate) fn over_with(
    size: usize,
    case: &Case,
    (reproducible, from): (bool, Option<&Restart>),
    prepare: impl Fn(&mut FlowSolver) -> Result<(), FlowError> + Send + Sync + 'static,
) -> Outcome {
    over_messages(size, case, (reproducible, from), prepare, |threads| Arc::new(threads.clone()))
}

/// The same with messages that pass as `communicator` has them.
fn over_messages(
    size: usize,
    case: &Case,
    (reproducible, from): (bool, Option<&Restart>),
    prepare: impl Fn(&mut FlowSolver) -> Result<(), FlowError> + Send + Sync + 'static,
    communicator: impl Fn(&Threads) -> Arc<dyn Communicator> + Send + Sync + 'static,
) -> Outcome {
    let (case, from) = (case.clone(), from.cloned());
    let mut found = run(size, PATIENCE, move |threads: &Threads| {
        let rank = threads.rank();
        let ranks = Ranks { ranks: communicator(threads), reproducible };
        let mesh = (rank == 0).then_some(&case.mesh);
        let team = Arc::new(Team::new(1));
        let solver = FlowSolver::over_ranks(mesh, case.config.clone(), team, ranks);
        marched(rank, solver, &case, from.as_ref(), &prepare)
    })
    .unwrap();
    found.swap_remove(0).expect("the first rank has the outcome")
}

/// A rank's part of a march; the first has the outcome.
fn marched(
    rank: usize,
    solver: Result<FlowSolver, FlowError>,
    case: &Case,
    from: Option<&Restart>,
    prepare: impl Fn(&mut FlowSolver) -> Result<(), FlowError>,
) -> Result<Option<Outcome>, String> {
    let mut solver = solver.map_err(|e| e.to_string())?;
    if case.bump {
        solver.set_state(bump);
    }
    prepare(&mut solver).map_err(|e| e.to_string())?;
    if rank > 0 {
        return solver.follow().map(|()| None).map_err(|e| e.to_string());
    }
    if let Some(restart) = from {
        solver.resume(restart).map_err(|e| e.to_string())?;
    }
    let outcome = march(&mut solver, case, false);
    solver.dismiss();
    Ok(Some(outcome))
}

fn alone(case: &Case) -> Outcome {
    alone_with(case, |_| Ok(()))
}

/// One solver alone, after something was done with it.
pub(crate) fn alone_with(case: &Case, prepare: impl Fn(&mut FlowSolver) -> Result<(), FlowError>) -> Outcome {
    let mut solver = FlowSolver::new(&case.mesh, case.config.clone(), Arc::new(Team::new(1))).unwrap();
    if case.bump {
        solver.set_state(bump);
    }
    prepare(&mut solver).unwrap();
    march(&mut solver, case, false)
}

/// The largest difference of two lists over the largest value.
pub(crate) fn apart(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    let size = a.iter().fold(1e-300_f64, |m, v| m.max(v.abs()));
    a.iter().zip(b).map(|(a, b)| (a - b).abs() / size).fold(0.0, f64::max)
}

pub(crate) fn near(found: &Outcome, expected: &Outcome, most: f64, what: &str) {
    for (k, (a, b)) in found.residuals.iter().zip(&expected.residuals).enumerate() {
        assert!(apart(a, b) <= most, "{what}: residuals of iteration {k}: {a:?}, alone {b:?}");
    }
    for (a, b) in found.forces.iter().zip(&expected.forces) {
        assert!(apart(a, b) <= most || apart(a, b) * a[1].abs() < 1e-13, "{what}: {a:?}, alone {b:?}");
    }
    assert_eq!(found.cfl, expected.cfl, "{what}");
    assert_eq!(found.fields.len(), expected.fields.len());
    let through = found.outflow.iter().zip(&expected.outflow);
    for ((name, a), (other, b)) in found.fields.iter().zip(&expected.fields).chain(through) {
        assert_eq!(name, other);
        // Friction and heights are small differences of states.
        assert!(apart(a, b) <= 100.0 * most, "{what}: field {name} is {} apart", apart(a, b));
    }
    for (a, b) in found.restart.fields.iter().zip(&expected.restart.fields) {
        assert!(a.name == b.name && apart(&a.values, &b.values) <= most, "{what}: {}", a.name);
    }
}

pub(crate) fn config(boundaries: &[(&str, Boundary)]) -> FlowConfig {
    let mut config = FlowConfig::default();
    config.freestream.mach = 0.4;
    config.freestream.alpha_deg = 3.0;
    config.implicit.policy = Policy::D;
    for (name, boundary) in boundaries {
        config.boundaries.insert((*name).to_owned(), *boundary);
    }
    config
}

pub(crate) fn cube(wall: &Boundary) -> FlowConfig {
    let sides = ["x0", "x1", "y0", "y1", "z0"].map(|side| (side, Boundary::Farfield));
    let mut config = config(&sides);
    config.boundaries.insert("z1".to_owned(), *wall);
    config
}

/// Inviscid flow by plain steps in all policies, on all element types.
pub(crate) fn plain_cases() -> Vec<(String, Case)> {
    let with = |(limiter, policy)| {
        let mut config = cube(&Boundary::SlipWall);
        (config.space.limiter, config.implicit.policy) = (limiter, policy);
        if limiter == Limiter::None {
            config.space.quadrature = Quadrature::Linear;
        }
        let case = Case { mesh: mixed_cube(5, 0.2), config, bump: true, iterations: 8 };
        (format!("{limiter:?}, {policy}"), case)
    };
    let choices = [
        (Limiter::VanAlbada, Policy::D),
        (Limiter::Venkatakrishnan, Policy::Ds),
        (Limiter::None, Policy::Ds),
        (Limiter::VanAlbada, Policy::Dsh),
    ];
    choices.map(with).into()
}

/// Inviscid flow by Newton-Krylov steps around sweeps.
pub(crate) fn newton_case() -> Case {
    let mut config = cube(&Boundary::SlipWall);
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.sweeps, config.implicit.cfl.growth) = (4, 2.0);
    Case { mesh: mixed_cube(5, 0.2), config, bump: true, iterations: 8 }
}

/// A mass flow through an outlet, a wall that moves.
pub(crate) fn outlet_case() -> Case {
    let mut config = cube(&Boundary::MovingWall {
        motion: Motion { velocity: [0.1, 0.0, 0.0], rotation: [0.0; 3], center: [0.0; 3] },
        temperature: None,
    });
    config.boundaries.insert("x1".to_owned(), Boundary::MassFlowOutlet { mass_flow: 0.38 });
    (config.equations, config.freestream.reynolds) = (Equations::Laminar, 500.0);
    Case { mesh: mixed_cube(3, 0.1), config, bump: true, iterations: 6 }
}

/// Inviscid flow by plain steps: bit for bit but for sums, in all policies (f16 blocks of all ranks have one scale), on all element types.
#[test]
fn plain_steps_are_those_of_one_rank() {
    for (what, case) in plain_cases() {
        let expected = alone(&case);
        for size in SIZES {
            near(&over(size, &case, false, None), &expected, 1e-12, &format!("{what} on {size} ranks"));
        }
    }
}

/// More ranks than nodes along an axis, and than some parts have rows; a mass flow through an outlet, a wall that moves.
#[test]
fn conditions_that_look_at_whole_markers_see_all_ranks() {
    let case = outlet_case();
    let expected = alone(&case);
    for size in [2, 5, 30] {
        near(&over(size, &case, false, None), &expected, 1e-11, &format!("{size} ranks"));
    }
}

/// Newton-Krylov steps around sweeps: differences of residuals carry rounding at 1e-8, sums of which steer the next step, so that
/// histories agree less well than those of plain steps, and bit for bit where sums are exact.
#[test]
fn newton_steps_are_those_of_one_rank() {
    let case = newton_case();
    let expected = alone(&case);
    let exact = over(1, &case, true, None);
    near(&exact, &expected, 1e-6, "exact sums");
    for size in SIZES {
        near(&over(size, &case, false, None), &expected, 1e-6, &format!("{size} ranks"));
        let found = over(size, &case, true, None);
        assert!(found == exact, "with exact sums on {size} ranks");
    }
    // One rank without threads of its own is the same.
    let ranks = Ranks { ranks: Arc::new(Solo), reproducible: true };
    let team = Arc::new(Team::new(2));
    let mut solver = FlowSolver::over_ranks(Some(&case.mesh), case.config.clone(), team, ranks).unwrap();
    assert!(march(&mut solver, &case, true) == exact);
}

/// Viscous flow past a cylinder on a planar mesh, curved layers mapped; a scalar beside it; turbulence.
#[test]
fn viscous_flow_and_what_marches_beside_it_are_those_of_one_rank() {
    let of = |model, coupling| Some((model, coupling));
    for model in [
        None,
        of(TurbulenceModel::SaNeg, Coupling::Loose),
        of(TurbulenceModel::SaNeg, Coupling::Tight),
        of(TurbulenceModel::Sst, Coupling::Loose),
    ] {
        let turbulent = model.is_some();
        let mesh = cylinder(!turbulent);
        let mut config = config(&[("cylinder", Boundary::NoSlipAdiabatic), ("farfield", Boundary::Farfield)]);
        config.freestream.mach = 0.2;
        config.freestream.reynolds = if turbulent { 1e5 } else { 100.0 };
        config.equations = Equations::Laminar;
        if let Some((model, coupling)) = model {
            config.turbulence = Some(TurbulenceConfig { model, coupling, ..TurbulenceConfig::default() });
        } else {
            config.scalar = Some(ScalarConfig::default());
        }
        let case = Case { mesh, config, bump: false, iterations: 6 };
        let expected = alone(&case);
        for size in SIZES {
            let what = format!("{model:?}, {size} ranks");
            near(&over(size, &case, false, None), &expected, 1e-10, &what);
        }
    }
}

/// Ranks whose every message waits for a while that nobody can foresee, before it goes and before it is looked at.
#[derive(Debug)]
pub(crate) struct Delayed {
    ranks: Threads,
    seed: AtomicU64,
}

impl Delayed {
    pub(crate) fn new(ranks: Threads, seed: u64) -> Self {
        let seed = AtomicU64::new(seed << 20 | ranks.rank() as u64);
        Self { ranks, seed }
    }

    fn wait(&self) {
        // A linear congruential generator: Knuth's multiplier.
        let next =
            |x: u64| Some(x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407));
        let drawn = self.seed.fetch_update(Relaxed, Relaxed, next).unwrap() >> 33;
        // One in 16 waits longer than most computations between two messages.
        let most = if drawn.is_multiple_of(16) { 400 } else { 20 };
        std::thread::sleep(Duration::from_micros(drawn / 16 % most));
    }
}

impl Communicator for Delayed {
    fn rank(&self) -> usize {
        self.ranks.rank()
    }
    fn size(&self) -> usize {
        self.ranks.size()
    }
    fn send(&self, to: usize, tag: Tag, bytes: Vec<u8>) -> Result<(), CommError> {
        self.wait();
        self.ranks.send(to, tag, bytes)
    }
    fn receive_within(&self, patience: Duration, from: usize, tag: Tag) -> Result<Vec<u8>, CommError> {
        self.wait();
        self.ranks.receive_within(patience, from, tag)
    }
    fn patience(&self) -> Duration {
        self.ranks.patience()
    }
}

/// Whole marches, whose every message comes when it likes: not a bit of residuals, forces, fields and restart changes.
#[test]
fn random_delays_change_nothing() {
    let (_, dsh) = plain_cases().pop().unwrap();
    let mut late = plain_cases().swap_remove(0).1;
    late.config.implicit.exchange = SweepExchange::ColorLate;
    let cases =
        [("dsh", dsh), ("late", late), ("Newton-Krylov", newton_case()), ("lines", lined_case(Policy::Ds))];
    for (what, case) in cases {
        let case = Case { iterations: 3, ..case };
        for size in [2, 5] {
            let expected = over(size, &case, false, None);
            for seed in 1..=3 {
                let found = over_messages(
                    size,
                    &case,
                    (false, None),
                    |_| Ok(()),
                    move |ranks| Arc::new(Delayed::new(ranks.clone(), seed)),
                );
                assert!(found == expected, "{what} on {size} ranks, seed {seed}");
            }
        }
    }
}

/// Incomplete factors are of parts: the same solution, found in other steps.
#[test]
fn factors_of_parts_lead_to_the_same_flow() {
    let mut config = cube(&Boundary::SlipWall);
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.method, config.implicit.preconditioner) =
        (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(1)));
    config.implicit.cfl.growth = 2.0;
    config.time = Time::Steady(Steady { iterations: 60, orders: 9.0 });
    let case = Case { mesh: mixed_cube(5, 0.2), config, bump: true, iterations: 30 };
    let last = |o: &Outcome| o.residuals.last().unwrap()[0] / o.residuals[0][0];
    let expected = alone(&case);
    assert!(last(&expected) < 1e-9);
    for size in SIZES {
        let found = over(size, &case, false, None);
        assert!(last(&found) < 1e-9, "{size} ranks: {}", last(&found));
        let forces = apart(found.forces.last().unwrap(), expected.forces.last().unwrap());
        assert!(forces < 1e-8, "{size} ranks: {forces}");
    }
}

/// A restart of any number of ranks goes on on any other, in time too.
#[test]
fn restarts_do_not_know_of_ranks() {
    let mut config = cube(&Boundary::SlipWall);
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 9, subiterations: 3, orders: 9.0 });
    let case = Case { mesh: mixed_cube(4, 0.2), config, bump: true, iterations: 7 };
    let whole = alone(&Case { iterations: 14, ..case.clone() });
    for (first, then) in [(3, 1), (1, 3), (2, 8)] {
        let half = over(first, &case, false, None);
        let second = over(then, &case, false, Some(&half.restart));
        for (a, b) in second.residuals.iter().zip(&whole.residuals[7..]) {
            assert!(apart(a, b) < 1e-11, "{first}, then {then} ranks");
        }
    }
}

/// All ranks take the same decision on a state that one of them loses, and say where it is.
#[test]
fn a_bad_state_of_one_rank_is_found_by_all() {
    let mut config = cube(&Boundary::SlipWall);
    config.implicit.cfl.start = 5.0;
    let case = Case { mesh: mixed_cube(4, 0.2), config, bump: false, iterations: 1 };
    let place = |size: usize| {
        let case = case.clone();
        let mut found = run(size, PATIENCE, move |threads: &Threads| {
            let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
            let mesh = (threads.rank() == 0).then_some(&case.mesh);
            let team = Arc::new(Team::new(1));
            let mut solver = FlowSolver::over_ranks(mesh, case.config.clone(), team, ranks).unwrap();
            solver.set_state(|x| {
                let w = bump(x);
                if x[0] > 0.7 && x[1] > 0.7 { [w[0], f64::NAN, w[2], w[3], w[4]] } else { w }
            });
            if threads.rank() > 0 {
                return solver.follow().map(|()| None).map_err(|e| e.to_string());
            }
            let report = solver.try_step().map_err(|e| e.to_string())?;
            solver.dismiss();
            let rank = report.bad.as_ref().and_then(|bad| bad.rank);
            assert_eq!(rank.is_some(), threads.size() > 1, "one rank alone needs no name");
            assert!(rank.is_none_or(|rank| rank < threads.size()));
            Ok::<_, String>(Some((report.rejected, report.bad.map(|bad| (bad.place, bad.at, bad.marker)))))
        })
        .unwrap();
        found.swap_remove(0).unwrap()
    };
    let one = place(1);
    assert!(one.0 && one.1.is_some());
    for size in [2, 3, 5] {
        assert_eq!(place(size), one, "{size} ranks");
    }
}

/// A mesh in two pieces that nothing joins, and one that is a needle.
#[test]
fn odd_meshes_are_divided_like_others() {
    let mut two = box_mesh([4, 3, 2], [1.0, 1.0, 1.0], Cells::Tets, 0.1);
    let (other, n) = (two.clone(), two.nodes.len() as u32);
    two.nodes.extend(other.nodes.iter().map(|x| [x[0] + 3.0, x[1], x[2]]));
    two.tets.extend(other.tets.iter().map(|t| t.map(|i| i + n)));
    for (marker, more) in two.markers.iter_mut().zip(&other.markers) {
        marker.triangles.extend(more.triangles.iter().map(|f| f.map(|i| i + n)));
    }
    let needle = box_mesh([40, 1, 1], [40.0, 1.0, 1.0], Cells::Prisms, 0.0);
    for (mesh, name) in [(two, "two pieces"), (needle, "a needle")] {
        let mut config = config(&[]);
        for marker in &mesh.markers {
            config.boundaries.insert(marker.name.clone(), Boundary::Farfield);
        }
        let case = Case { mesh, config, bump: true, iterations: 5 };
        let expected = alone(&case);
        for size in [2, 3, 5, 8] {
            near(&over(size, &case, false, None), &expected, 1e-12, &format!("{name} on {size} ranks"));
        }
    }
}
