//! Flows on meshes that no rank has whole.

use super::pieces::{Seen, by_place, cells_of, read};
use super::{Case, Outcome, PATIENCE, SIZES, alone, apart, bump, config, cube, cylinder, lined_case, march};
use super::{marched, newton_case, over, plain_cases};
use crate::FlowSolver;
use crate::config::{
    Boundary, Equations, NewtonKrylov, Nonlinear, Steady, Time, TurbulenceConfig, TurbulenceModel,
};
use crate::mesh::{Mesh, ReadOptions, write};
use crate::output::{Restart, VtuOptions};
use crate::ranks::{Ranks, Sliced};
use crate::testmesh::mixed_cube;
use chromaflow::Policy;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_comm::{Communicator, Threads, run};
use chromaflow_device::Team;
use std::path::PathBuf;
use std::sync::Arc;

/// A case whose mesh lies in a file.
pub(super) struct Stored {
    pub(super) path: PathBuf,
    pub(super) case: Case,
    _dir: tempfile::TempDir,
}

pub(super) fn stored(case: Case) -> Stored {
    let name = if case.mesh.planar.is_some() { "mesh.su2" } else { "mesh.lb8.ugrid" };
    stored_as(case, name)
}

fn stored_as(case: Case, name: &str) -> Stored {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    write(&path, &case.mesh).unwrap();
    let mesh = crate::mesh::read(&path, &ReadOptions::default()).unwrap();
    Stored { path, case: Case { mesh, ..case }, _dir: dir }
}

impl Stored {
    /// What each rank finds with its solver.
    pub(super) fn each<T: Send + 'static>(
        &self,
        size: usize,
        reproducible: bool,
        job: impl Fn(usize, Result<FlowSolver, crate::march::FlowError>) -> Result<T, String>
        + Send
        + Sync
        + 'static,
    ) -> Vec<T> {
        let (path, config) = (self.path.clone(), self.case.config.clone());
        run(size, PATIENCE, move |threads: &Threads| {
            let sliced = Sliced::read(threads, &path, &ReadOptions::default()).map_err(|e| e.to_string())?;
            let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible };
            job(
                threads.rank(),
                FlowSolver::over_slices(sliced, config.clone(), Arc::new(Team::new(1)), ranks),
            )
        })
        .unwrap()
    }

    pub(super) fn over(&self, size: usize, reproducible: bool, from: Option<&Restart>) -> Outcome {
        let (case, from) = (self.case.clone(), from.cloned());
        let mut found = self.each(size, reproducible, move |rank, solver| {
            marched(rank, solver, &case, from.as_ref(), |_| Ok(()))
        });
        found.swap_remove(0).expect("the first rank has the outcome")
    }
}

fn viscous(turbulent: bool) -> Case {
    let mut config = cube(&Boundary::NoSlipAdiabatic);
    (config.equations, config.freestream.reynolds) =
        (Equations::Laminar, if turbulent { 1e5 } else { 500.0 });
    if turbulent {
        let model = TurbulenceModel::SaNeg;
        config.turbulence = Some(TurbulenceConfig { model, ..TurbulenceConfig::default() });
    }
    Case { mesh: mixed_cube(4, 0.1), config, bump: true, iterations: 5 }
}

/// Turbulent flow over thin layers of hexahedra, swept by colors.
fn layered() -> Case {
    let mut case = lined_case(Policy::D);
    case.config.implicit.preconditioner = PreconditionerKind::Multicolor;
    case.config.turbulence =
        Some(TurbulenceConfig { model: TurbulenceModel::SaNeg, ..TurbulenceConfig::default() });
    case
}

/// Flow in a plane, inviscid on triangles or turbulent on quadrilaterals.
fn planar(triangles: bool) -> Case {
    let wall = if triangles { Boundary::SlipWall } else { Boundary::NoSlipAdiabatic };
    let mut config = config(&[("cylinder", wall), ("farfield", Boundary::Farfield)]);
    if !triangles {
        (config.equations, config.freestream.reynolds) = (Equations::Laminar, 1e4);
        config.turbulence =
            Some(TurbulenceConfig { model: TurbulenceModel::SaNeg, ..TurbulenceConfig::default() });
    }
    Case { mesh: cylinder(triangles), config, bump: true, iterations: 5 }
}

/// At a state that is none of rest, on elements of all types.
#[test]
fn residuals_by_slices_are_those_of_the_whole_mesh() {
    for (what, case) in [
        ("inviscid", plain_cases().swap_remove(0).1),
        ("laminar", viscous(false)),
        ("turbulent", viscous(true)),
        ("layers", layered()),
        ("planar", planar(true)),
        ("planar, turbulent", planar(false)),
    ] {
        check_residuals(what, case, &SIZES, bump);
    }
}

/// That so many ranks by slices find the whole mesh's residual of a state, node by node of the file.
pub(super) fn check_residuals(what: &str, case: Case, sizes: &[usize], state: fn([f64; 3]) -> [f64; 5]) {
    let stored = stored(case);
    let mut solver =
        FlowSolver::new(&stored.case.mesh, stored.case.config.clone(), Arc::new(Team::new(1))).unwrap();
    solver.set_state(state);
    let b = solver.assembled().2.to_vec();
    let expected = solver.in_mesh_order(5, &b);
    assert_eq!(expected.len(), 5 * stored.case.mesh.nodes.len());
    for &size in sizes {
        let found = stored.each(size, false, move |_, solver| {
            let mut solver = solver.map_err(|e| e.to_string())?;
            solver.set_state(state);
            let b = solver.assembled().2.to_vec();
            Ok(solver.by_file(5, &b))
        });
        let off = apart(&found[0], &expected);
        assert!(off < 1e-12, "{what} on {size} ranks: {off}");
    }
}

/// Histories, forces, fields and restarts of one rank, but for the rounding of sums, and bit for bit where these are exact.
#[test]
fn marches_by_slices_are_the_same_on_any_number_of_ranks() {
    for (what, case) in [
        ("plain", plain_cases().swap_remove(1).1),
        ("Newton-Krylov", newton_case()),
        ("laminar", viscous(false)),
        ("layers", layered()),
        ("planar", planar(true)),
        ("planar, turbulent", planar(false)),
    ] {
        let stored = stored(case);
        let exact = stored.over(1, true, None);
        for size in SIZES {
            assert!(stored.over(size, true, None) == exact, "{what} on {size} ranks");
            let near = stored.over(size, false, None);
            for (a, b) in near.residuals.iter().zip(&exact.residuals) {
                assert!(apart(a, b) < 1e-6, "{what} on {size} ranks: {a:?}, with exact sums {b:?}");
            }
        }
        assert!(stored.over(30, true, None) == exact, "{what} on more ranks than some have nodes");
    }
}

#[test]
fn marches_by_slices_do_not_depend_on_the_format() {
    for case in [newton_case(), viscous(true)] {
        let expected = stored(case.clone()).over(1, true, None);
        for name in ["mesh.su2", "mesh.meshb"] {
            let stored = stored_as(case.clone(), name);
            for size in [1, 2, 3, 5] {
                assert!(stored.over(size, true, None) == expected, "{name} on {size} ranks");
            }
        }
    }
}

/// Sweeps over colors, and incomplete factors of each rank's rows: other steps, the same flow.
#[test]
fn marches_by_slices_end_at_the_flow_of_the_whole_mesh() {
    for preconditioner in [PreconditionerKind::Multicolor, PreconditionerKind::Ilu(Fill::Level(1))] {
        let mut config = cube(&Boundary::SlipWall);
        config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
        (config.implicit.method, config.implicit.preconditioner) = (Method::Gmres, preconditioner);
        config.implicit.cfl.growth = 2.0;
        config.time = Time::Steady(Steady { iterations: 60, orders: 9.0 });
        let stored = stored(Case { mesh: mixed_cube(5, 0.2), config, bump: true, iterations: 30 });
        let last = |o: &Outcome| o.residuals.last().unwrap()[0] / o.residuals[0][0];
        let expected = alone(&stored.case);
        assert!(last(&expected) < 1e-9);
        for size in [1, 2, 5] {
            let found = stored.over(size, false, None);
            assert!(last(&found) < 1e-9, "{preconditioner} on {size} ranks: {}", last(&found));
            let forces = apart(found.forces.last().unwrap(), expected.forces.last().unwrap());
            assert!(forces < 1e-8, "{preconditioner} on {size} ranks: {forces}");
            let states = apart(&found.restart.fields[0].values, &expected.restart.fields[0].values);
            assert!(states < 1e-8, "{preconditioner} on {size} ranks: {states}");
        }
    }
}

/// A restart of a mesh read by slices is one of the file's mesh, and goes on there and the other way round.
#[test]
fn restarts_do_not_know_of_slices() {
    let stored = stored(viscous(true));
    let half = stored.over(3, false, None);
    let whole = over(2, &stored.case, false, Some(&half.restart));
    let again = stored.over(5, false, Some(&half.restart));
    assert!(apart(&whole.residuals[0], &again.residuals[0]) < 1e-11);
    let back = stored.over(2, false, Some(&whole.restart));
    let on = over(1, &stored.case, false, Some(&whole.restart));
    assert!(apart(&back.residuals[0], &on.residuals[0]) < 1e-11);
}

/// Cells, copies and values of pieces are those of the whole; fields that rank 0 has are on the boundary.
#[test]
fn pieces_of_slices_have_the_cells_and_values_of_the_whole() {
    check_pieces(&stored(Case { iterations: 0, ..planar(true) }));
    let mut config = config(&[]);
    let mesh: Mesh = mixed_cube(4, 0.2);
    for marker in &mesh.markers {
        config.boundaries.insert(marker.name.clone(), Boundary::Farfield);
    }
    check_pieces(&stored(Case { mesh, config, bump: true, iterations: 0 }));
}

pub(super) fn check_pieces(stored: &Stored) {
    let mesh = &stored.case.mesh;
    // In a plane two components of vorticity are nothing but the rounding of sums, which have the order of rows.
    let is_seen = |name: &str| mesh.planar.is_none() || !["vorticity", "q_criterion"].contains(&name);
    let fields = alone(&stored.case).fields;
    let fields: Vec<_> = fields
        .into_iter()
        .map(|(name, values)| {
            let components = values.len() / mesh.nodes.len();
            crate::output::Field { name, components, values }
        })
        .filter(|field| is_seen(&field.name))
        .collect();
    for size in [1, 2, 3, 5] {
        let dir = tempfile::tempdir().unwrap();
        let list = dir.path().join("v.pvtu");
        let (path, case) = (list.clone(), stored.case.clone());
        let mut found = stored.each(size, false, move |rank, solver| {
            let mut solver = solver.map_err(|e| e.to_string())?;
            solver.set_state(bump);
            if rank > 0 {
                return solver.follow().map(|()| None).map_err(|e| e.to_string());
            }
            let options = VtuOptions { compress: false };
            let written = solver.write_pieces(&path, &case.mesh, &[], options).unwrap();
            let surface = solver.surface().unwrap().nodes.clone();
            let outcome = march(&mut solver, &case, false);
            solver.dismiss();
            Ok(Some((written, surface, outcome.fields)))
        });
        let (written, surface, on_surface) = found.swap_remove(0).unwrap();
        let count = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
        let (places, mut seen) = (by_place(&mesh.nodes), Seen::default());
        written[1..].iter().for_each(|file| read(file, &places, &fields, &mut seen));
        assert!(seen.0.values().all(|&times| times == 1), "{size} ranks: a cell in two pieces");
        assert!(seen.0.into_keys().eq(cells_of(mesh)), "{size} ranks: cells");
        assert!(seen.1.values().all(|&own| own == 1) && seen.1.len() == count, "{size} ranks: copies");
        for ((name, values), whole) in on_surface.iter().filter(|(name, _)| is_seen(name)).zip(&fields) {
            let c = whole.components;
            assert_eq!((name, values.len()), (&whole.name, c * surface.len()));
            for (x, values) in surface.iter().zip(values.chunks_exact(c)) {
                assert_eq!(values, &whole.values[places[&x.map(f64::to_bits)] * c..][..c], "{name} at {x:?}");
            }
        }
    }
}
