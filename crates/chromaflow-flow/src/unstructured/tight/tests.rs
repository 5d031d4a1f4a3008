use crate::FlowSolver;
use crate::bc::{ConditionClass, condition_class};
use crate::config::{
    Boundary, Cfl, Coupling, FlowConfig, Limiter, NewtonKrylov, Nonlinear, Quadratic, Rotation, Steady, Time,
    TurbulenceConfig, TurbulenceModel, WallTreatment,
};
use crate::coupled::{FlowView, Tight};
use crate::gas::{conserved, primitive};
use crate::march::Moment;
use crate::mesh::Mesh;
use crate::mesh::generate::{Cells, FlatPlate, box_mesh};
use crate::testmesh::mixed_cube;
use crate::turbulence::testcases::along_a_wall;
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow::{BlockCsr, Outcome, Policy};
use chromaflow_device::Team;
use std::sync::Arc;

const AT: Moment = Moment { first_order: true, ..Moment::first(1e300) };

fn on(mesh: &Mesh, turbulence: TurbulenceConfig) -> FlowSolver {
    let mut config = along_a_wall(TurbulenceConfig { coupling: Coupling::Tight, ..turbulence });
    let names: Vec<String> = mesh.markers.iter().map(|marker| marker.name.clone()).collect();
    let kinds = ["x0", "x1", "y0", "y1", "z0", "z1"].map(|name| config.boundaries[name]);
    config.boundaries = names.into_iter().zip(kinds).collect();
    // As the matrix has them at least.
    (config.space.entropy_fix, config.space.acoustic_fix) = (0.1, 0.1);
    FlowSolver::new(mesh, config, Arc::new(Team::new(2))).unwrap()
}

fn with(model: TurbulenceModel) -> TurbulenceConfig {
    TurbulenceConfig { model, inflow_k: 1e-4, ..TurbulenceConfig::default() }
}

/// A flow along the wall at the bottom, with everything of it different everywhere; `size` of what varies.
fn state([x, y, z]: [f64; 3], size: f64) -> [f64; 5] {
    let u = 0.4 * (1.0 - size + size * z.sqrt() * (1.0 + 0.2 * (7.0 * x).sin()));
    let density = 1.0 + 0.1 * size * (3.0 * y).cos();
    let pressure = 1.0 / 1.4 + 0.05 * size * (4.0 * x).sin();
    [density, u, 0.05 + 0.05 * size * (5.0 * z).sin(), 0.03 + 0.03 * size * x, pressure]
}

/// Values of the model that vary by `size`.
fn scatter(solver: &mut FlowSolver, size: f64) {
    let wave = move |x: [f64; 3]| 1.0 + 0.5 * size * (5.0 * x[0]).sin() * (3.0 * x[1] + x[2]).cos();
    for (name, value) in [("nut", 20.0), ("k", 1e-3), ("omega", 2.0)] {
        if solver.coupled_unknowns().iter().any(|unknown| unknown == name) {
            solver.set_unknown(name, |x| value * wave(x)).unwrap();
        }
    }
}

/// Residuals of a node: the flow's, then the model's.
fn residuals(solver: &mut FlowSolver) -> Vec<Vec<f64>> {
    let host = &mut solver.host;
    host.compute_residual(&AT);
    host.coupled_residuals(&AT);
    let (m, beside) = (host.coupled[0].state.nb, &host.coupled[0].residual);
    let rows = host.residual.iter().zip(beside.chunks_exact(m));
    rows.map(|(own, beside)| own.iter().chain(beside).copied().collect()).collect()
}

/// The matrix, its unknowns and residuals as they are.
fn matrix(solver: &mut FlowSolver) -> (BlockCsr, Vec<f64>) {
    residuals(solver);
    let host = &mut solver.host;
    host.assemble(&AT);
    host.assemble_tight(&AT).unwrap();
    let tight = host.tight.as_mut().unwrap();
    (tight.jacobian().to_csr(), tight.weights().to_vec())
}

/// An entry of the block of `row` and `column`.
fn entry(a: &(BlockCsr, Vec<f64>), [row, column]: [usize; 2], [r, c]: [usize; 2]) -> f64 {
    let (nb, m) = (a.0.nb(), a.0.nb() - 5);
    let columns = a.0.pattern().columns(row);
    let at = columns.iter().position(|&j| j as usize == column).unwrap();
    let block = a.0.block(a.0.pattern().range(row).start + at);
    let weight = |i: usize, k: usize| if k < 5 { 1.0 } else { a.1[m * i + k - 5] };
    block[c * nb + r] * weight(row, r) / weight(column, c)
}

/// Derivatives of all residuals by number c of a node, by a step that is `h` of the state.
fn slopes(solver: &mut FlowSolver, node: usize, c: usize, h: f64) -> Vec<Vec<f64>> {
    let m = solver.host.coupled[0].state.nb;
    let size = if c < 5 { 1.0 } else { solver.host.coupled[0].state.values[m * node + c - 5] };
    let h = h * size;
    let [below, above] = [-h, h].map(|step| {
        let host = &mut solver.host;
        let (q, record, values) = (host.q[node], host.nodes[node], host.coupled[0].state.values.clone());
        if c < 5 {
            host.q[node][c] += step;
            let w = primitive(host.gas, &host.q[node]);
            host.nodes[node][..5].copy_from_slice(&w);
        } else {
            host.coupled[0].state.values[m * node + c - 5] += step;
        }
        let found = residuals(solver);
        let host = &mut solver.host;
        (host.q[node], host.nodes[node], host.coupled[0].state.values) = (q, record, values);
        found
    });
    let rows = below.into_iter().zip(above);
    rows.map(|(a, b)| a.iter().zip(b).map(|(a, b)| (b - a) / (2.0 * h)).collect()).collect()
}

/// Sets the flow everywhere, at walls too.
fn set(solver: &mut FlowSolver, size: f64) {
    let host = &mut solver.host;
    for (node, q) in host.nodes.iter_mut().zip(&mut host.q) {
        let w = state([node[5], node[6], node[7]], size);
        node[..5].copy_from_slice(&w);
        *q = conserved(host.gas, &w);
    }
}

/// The largest difference between entries and differences of residuals, over the largest of these, of the residuals `of` by the numbers `by`; of rows that
/// `counts` picks.
fn error(
    (solver, h): (&mut FlowSolver, f64),
    [of, by]: [std::ops::Range<usize>; 2],
    counts: impl Fn(&FlowView<'_>, usize) -> bool,
) -> f64 {
    let a = matrix(solver);
    let n = solver.host.q.len();
    let (mut off, mut size) = (0.0_f64, 0.0_f64);
    for c in by {
        for column in (0..n).step_by(7) {
            // Values that are given stay.
            if c >= 5 && solver.host.coupled[0].state.held.binary_search(&(column as u32)).is_ok() {
                continue;
            }
            let found = slopes(solver, column, c, h);
            let view = solver.host.view(&[], &[]);
            for row in a.0.pattern().columns(column).iter().map(|&row| row as usize) {
                if counts(&view, row) {
                    for r in of.clone() {
                        let (x, y) = (entry(&a, [row, column], [r, c]), found[row][r]);
                        off = off.max((x - y).abs());
                        size = size.max(y.abs());
                    }
                }
            }
        }
    }
    assert!(size > 0.0, "something depends on them");
    off / size
}

/// Nodes off the boundary, two nodes off walls: gradients of what is constant are none at their neighbors, too.
fn inside(view: &FlowView<'_>, row: usize) -> bool {
    let columns = |row: usize| view.dual.pattern.columns(row).iter();
    let on_patch = |row: &u32| view.dual.patches.iter().any(|patch| patch.nodes.binary_search(row).is_ok());
    let near = |row: usize| view.is_on_wall(row as u32) || columns(row).any(|&j| view.is_on_wall(j));
    !on_patch(&(row as u32)) && !columns(row).any(|&j| near(j as usize))
}

/// Nodes off open boundaries, whose own stress the matrix does not have.
fn off_open_boundaries(view: &FlowView<'_>, row: usize) -> bool {
    let patches = view.dual.patches.iter().zip(view.boundaries);
    let mut open = patches.filter(|(_, condition)| condition_class(condition) == ConditionClass::Open);
    !open.any(|(patch, _)| patch.nodes.binary_search(&(row as u32)).is_ok())
}

/// What the flow takes of the model is exact on meshes of all elements, on walls and planes of symmetry: viscous fluxes are linear in the eddy viscosity.
#[test]
fn the_flow_by_the_model_is_exact_off_open_boundaries() {
    let mesh = mixed_cube(4, 0.2);
    let qcr = TurbulenceConfig { quadratic: Quadratic::Qcr2000, ..with(TurbulenceModel::SaNeg) };
    let laws = TurbulenceConfig { walls: WallTreatment::Automatic, ..with(TurbulenceModel::Sa) };
    for turbulence in [with(TurbulenceModel::SaNeg), qcr, laws, with(TurbulenceModel::KOmega)] {
        let what = format!("{turbulence:?}");
        let mut solver = on(&mesh, turbulence);
        solver.set_state(|x| state(x, 1.0));
        scatter(&mut solver, 1.0);
        let nb = 5 + solver.host.coupled[0].state.nb;
        let found = error((&mut solver, 1e-5), [0..5, 5..nb], off_open_boundaries);
        assert!(found < 1e-7, "{what}: {found:e}");
    }
}

/// What the model takes of the flow off boundaries of a mesh of tetrahedra: its source, where nothing of the model varies; what carries it and what it
/// diffuses by, where the flow hardly does: Roe's dissipation stays what it is.
#[test]
fn the_model_by_the_flow_is_exact_inside_of_tetrahedra() {
    let mesh = box_mesh([6, 6, 6], [1.0; 3], Cells::Tets, 0.2);
    let rotating = TurbulenceConfig { rotation: Rotation::Rotating, ..with(TurbulenceModel::Sa) };
    for turbulence in [
        with(TurbulenceModel::SaNeg),
        rotating,
        with(TurbulenceModel::KOmega),
        with(TurbulenceModel::Sst),
        with(TurbulenceModel::SstVorticity),
    ] {
        let what = format!("{turbulence:?}");
        let mut solver = on(&mesh, turbulence);
        let nb = 5 + solver.host.coupled[0].state.nb;
        // Of a flow without any vorticity its size has no derivative.
        for (of_flow, of_model, h, most) in [(1.0, 0.0, 1e-6, 1e-5), (1e-3, 1.0, 1e-7, 1e-2)] {
            set(&mut solver, of_flow);
            scatter(&mut solver, of_model);
            for r in 5..nb {
                let found = error((&mut solver, h), [r..r + 1, 0..5], inside);
                assert!(found < most, "{what}, flow {of_flow}, model {of_model}, {r}: {found:e}");
            }
        }
    }
}

fn plate() -> (Mesh, FlowConfig) {
    let mesh = FlatPlate { cells: [4, 10, 16], height: 1.0, growth: 1.5 }.mesh();
    let mut config = along_a_wall(TurbulenceConfig::default());
    config.freestream.mach = 0.2;
    config.freestream.reynolds = 5e6;
    config.space.limiter = Limiter::None;
    config.implicit.method = Method::Gmres;
    config.implicit.preconditioner = PreconditionerKind::Ilu(Fill::Level(2));
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    config.implicit.cfl = Cfl { start: 5.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true };
    config.time = Time::Steady(Steady { iterations: 300, orders: 9.0 });
    let inlet =
        Boundary::Inlet { total_pressure: 1.02828, total_temperature: 1.008, direction: [1.0, 0.0, 0.0] };
    config.boundaries = [
        ("inlet", inlet),
        ("outlet", Boundary::Outlet { pressure: 1.0 }),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::NoSlipAdiabatic),
        ("top", Boundary::Farfield),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    (mesh, config)
}

/// The plate's friction is the same however its steps were coupled; by Newton-Krylov steps in all precisions, and by the matrix alone.
fn the_answer_does_not_depend_on_the_coupling(model: TurbulenceModel) {
    let (mesh, base) = plate();
    let friction = |change: &dyn Fn(&mut FlowConfig)| {
        let mut config = base.clone();
        config.turbulence.as_mut().unwrap().model = model;
        change(&mut config);
        let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
        let (mut friction, mut iterations) = (0.0, 0);
        let outcome = solver.run(|report| {
            (friction, iterations) = (report.forces.viscous.cd, report.iteration);
            true
        });
        assert_eq!(outcome, Outcome::Converged, "{model:?}: {iterations} iterations, {friction}");
        (friction, iterations)
    };
    let tight = |config: &mut FlowConfig| config.turbulence.as_mut().unwrap().coupling = Coupling::Tight;
    let expected = friction(&|_| ());
    let mut found = vec![("tight", friction(&tight))];
    for policy in [Policy::Ds, Policy::Dsh] {
        let of = |config: &mut FlowConfig| {
            tight(config);
            config.implicit.policy = policy;
        };
        found.push(("tight, in less than f64", friction(&of)));
    }
    if model == TurbulenceModel::SaNeg {
        let of = |config: &mut FlowConfig| {
            tight(config);
            config.implicit.nonlinear = Nonlinear::DefectCorrection;
            config.implicit.cfl.max = 1e3;
            config.time = Time::Steady(Steady { iterations: 4000, orders: 7.0 });
        };
        found.push(("tight, by the matrix alone", friction(&of)));
    }
    for (what, (value, iterations)) in found {
        println!("{model:?}, {what}: {value} after {iterations}, loose {expected:?}");
        assert!((value / expected.0 - 1.0).abs() < 1e-5, "{model:?}, {what}: {value} {expected:?}");
    }
}

#[test]
fn spalart_allmaras_has_one_answer() {
    the_answer_does_not_depend_on_the_coupling(TurbulenceModel::SaNeg);
}

#[test]
fn sst_has_one_answer() {
    the_answer_does_not_depend_on_the_coupling(TurbulenceModel::Sst);
}

/// Memory that is given back is taken again by the next step.
#[test]
fn the_matrix_is_given_back_and_made_anew() {
    let (mesh, mut config) = plate();
    config.turbulence.as_mut().unwrap().coupling = Coupling::Tight;
    let mut solvers =
        [(); 2].map(|()| FlowSolver::new(&mesh, config.clone(), Arc::new(Team::new(1))).unwrap());
    let held = solvers[0].host.tight.as_ref().map(Tight::bytes).unwrap();
    solvers[0].step();
    solvers[1].step();
    solvers[0].release();
    assert!(solvers[0].host.tight.as_ref().map(Tight::bytes).unwrap()[0] < held[0]);
    let [a, b] = solvers.map(|mut solver| solver.step().residual);
    assert_eq!(a, b);
}
