//! Meshes that repeat, and flows on them.

use crate::config::{
    Boundary, Equations, FlowConfig, GridLength, Hybrid, Limiter, NewtonKrylov, Nonlinear, Quadrature,
    ScalarConfig, Space, Steady, Time, TurbulenceConfig, TurbulenceModel,
};
use crate::mesh::Mesh;
use crate::mesh::generate::{Cells, Plane, box_mesh};
use crate::output::Restart;
use crate::unstructured::{FlowSolver, Ranks};
use chromaflow::factor::block_ilu::Fill;
use chromaflow::solver::{Method, PreconditionerKind};
use chromaflow_comm::{Communicator, Threads, run};
use chromaflow_device::Team;
use std::f64::consts::TAU;
use std::sync::Arc;
use std::time::Duration;

/// The period along x.
pub const LENGTH: f64 = 1.5;

/// What moves a place: the same a period further along x (and, with `both`, along y), on the sides too.
fn moved(x: [f64; 3], both: bool) -> [f64; 3] {
    let (a, b, c) = (TAU * x[0] / LENGTH, TAU * x[1], TAU * x[2]);
    let inside = |t: f64| if both { 1.0 } else { (0.5 * t).sin() };
    [
        x[0] + 0.02 * (b + 0.3).sin() + 0.01 * (3.0 * c + a).sin(),
        x[1] + 0.015 * (2.0 * a + 0.7).sin() * inside(b),
        x[2] + 0.015 * (a + b + 0.2).cos() * (0.5 * c).sin(),
    ]
}

/// A box of `times` periods along x, all its nodes moved by what repeats.
pub fn boxes(cells: Cells, times: usize, both: bool) -> Mesh {
    boxes_of([8, 8, 4], cells, times, both)
}

/// The same of thin layers across x, in which Roe's flux has a fix of its own.
pub fn layers(cells: Cells, times: usize, both: bool) -> Mesh {
    boxes_of([24, 5, 4], cells, times, both)
}

fn boxes_of([x, y, z]: [usize; 3], cells: Cells, times: usize, both: bool) -> Mesh {
    let mut mesh = box_mesh([x * times, y, z], [LENGTH * times as f64, 1.0, 1.0], cells, 0.0);
    for x in &mut mesh.nodes {
        *x = moved(*x, both);
    }
    mesh
}

/// The same of a planar mesh.
pub fn planes(triangles: bool, times: usize, both: bool) -> Mesh {
    Plane { cells: [8 * times, 8], periodic: false, triangles }.mesh(
        |i, j| {
            let [x, y, _] = moved([LENGTH * i as f64 / 8.0, j as f64 / 8.0, 0.0], both);
            [x, y]
        },
        |side, _| ["xmin", "xmax", "ymin", "ymax"][side],
    )
}

/// Periodic along x (and y), what is given at other sides.
pub fn config(mesh: &Mesh, both: bool, other: impl Fn(&str) -> Boundary) -> FlowConfig {
    let mut config = FlowConfig::default();
    config.freestream.mach = 0.4;
    for marker in &mesh.markers {
        let boundary = match marker.name.as_str() {
            "xmin" | "xmax" => Boundary::Periodic,
            "ymin" | "ymax" if both => Boundary::Periodic,
            name => other(name),
        };
        config.boundaries.insert(marker.name.clone(), boundary);
    }
    config.partners.insert("xmin".into(), "xmax".into());
    if both {
        config.partners.insert("ymax".into(), "ymin".into());
    }
    config
}

/// A flow that repeats with the mesh and varies everywhere.
pub fn wavy(x: [f64; 3]) -> [f64; 5] {
    let (a, b, c) = (TAU * x[0] / LENGTH, TAU * x[1], TAU * x[2]);
    [
        1.0 + 0.2 * (a + 0.4).sin() * (b + 0.1).cos(),
        0.4 + 0.1 * (a + b).cos() + 0.05 * c.sin(),
        0.1 * (2.0 * a - b).sin(),
        0.0,
        (1.0 + 0.1 * (a - 0.3).cos() + 0.1 * b.sin()) / 1.4,
    ]
}

/// A name, and what it changes in a set-up.
pub type Flow = (&'static str, fn(&mut FlowConfig));

/// Viscous flow, in which walls without slip have none.
pub fn laminar(c: &mut FlowConfig) {
    c.equations = Equations::Laminar;
    c.freestream.reynolds = 100.0;
}

/// Schemes and equations: everything that reads the way from a node to its neighbor.
pub fn flows() -> Vec<Flow> {
    fn turbulent(c: &mut FlowConfig, model: TurbulenceModel) {
        laminar(c);
        c.freestream.reynolds = 1e4;
        c.turbulence = Some(TurbulenceConfig { model, second_order: true, ..TurbulenceConfig::default() });
    }
    fn hybrid(c: &mut FlowConfig, model: TurbulenceModel, hybrid: Hybrid, grid_length: GridLength) {
        turbulent(c, model);
        c.turbulence = c.turbulence.take().map(|t| TurbulenceConfig { hybrid, grid_length, ..t });
    }
    vec![
        ("Roe, van Albada", laminar),
        ("Venkatakrishnan", |c| {
            laminar(c);
            c.space.limiter = Limiter::Venkatakrishnan;
        }),
        ("linear quadrature", |c| {
            laminar(c);
            c.space = Space { limiter: Limiter::None, quadrature: Quadrature::Linear, kappa: 0.3, ..c.space };
        }),
        ("laminar, a scalar", |c| {
            laminar(c);
            c.scalar = Some(ScalarConfig::default());
        }),
        ("Spalart and Allmaras", |c| turbulent(c, TurbulenceModel::SaNeg)),
        ("SST", |c| turbulent(c, TurbulenceModel::Sst)),
        ("DDES across the vorticity", |c| {
            hybrid(c, TurbulenceModel::SaNeg, Hybrid::Ddes, GridLength::AcrossVorticity);
        }),
        ("IDDES", |c| hybrid(c, TurbulenceModel::Sst, Hybrid::Iddes, GridLength::MaxEdge)),
    ]
}

/// Slow viscous flow along a wall, by Newton-Krylov steps to nine orders.
pub fn newton() -> (Mesh, FlowConfig) {
    let mesh = boxes(Cells::Mixed, 1, false);
    let mut config = config(&mesh, false, |marker| match marker {
        "ymin" => Boundary::NoSlipIsothermal { temperature: 1.0 },
        "ymax" => Boundary::Farfield,
        _ => Boundary::Symmetry,
    });
    config.equations = Equations::Laminar;
    config.freestream.reynolds = 20.0;
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.method, config.implicit.preconditioner) =
        (Method::Gmres, PreconditionerKind::Ilu(Fill::Level(1)));
    (config.implicit.cfl.growth, config.implicit.cfl.max) = (2.0, 1e6);
    config.time = Time::Steady(Steady { iterations: 60, orders: 9.0 });
    (mesh, config)
}

/// A solver in that flow, systems beside it in one that varies, too.
pub fn solver(mesh: &Mesh, config: FlowConfig) -> FlowSolver {
    let mut solver = FlowSolver::new(mesh, config, Arc::new(Team::new(2))).unwrap();
    solver.set_state(wavy);
    for name in solver.coupled_unknowns() {
        let size = match name.as_str() {
            "k" => 1e-3,
            "scalar" => 1.0,
            "omega" => 5.0,
            _ => 1e-4,
        };
        solver.set_unknown(&name, |x| size * wavy([x[0] + 0.2, x[1], x[2]])[0]).unwrap();
    }
    solver
}

/// What `march` finds over so many ranks, which are threads, on the first of them, which the others follow; all `start` alike.
pub fn over_ranks<T: Send + 'static>(
    size: usize,
    (mesh, config): (&Mesh, &FlowConfig),
    start: impl Fn(&mut FlowSolver) + Send + Sync + 'static,
    march: impl Fn(&mut FlowSolver) -> T + Send + Sync + 'static,
) -> T {
    let (mesh, config) = (mesh.clone(), config.clone());
    let mut found = run(size, Duration::from_secs(60), move |threads: &Threads| {
        let ranks = Ranks { ranks: Arc::new(threads.clone()), reproducible: false };
        let whole = (threads.rank() == 0).then_some(&mesh);
        let team = Arc::new(Team::new(1));
        let mut solver = FlowSolver::over_ranks(whole, config.clone(), team, ranks).unwrap();
        start(&mut solver);
        if threads.rank() > 0 {
            return solver.follow().map(|()| None).map_err(|e| e.to_string());
        }
        let found = march(&mut solver);
        solver.dismiss();
        Ok::<_, String>(Some(found))
    })
    .unwrap();
    found.swap_remove(0).unwrap()
}

/// Residuals of five steps, and the restart after them.
pub fn five_steps(solver: &mut FlowSolver) -> (Vec<[f64; 5]>, Restart) {
    let step = |_| {
        let residual = solver.try_step().unwrap().residual;
        std::array::from_fn(|v| residual[v])
    };
    let residuals = (0..5).map(step).collect();
    (residuals, solver.restart())
}

/// The same, and the restart is one to go on from.
pub fn five_steps_and_on(solver: &mut FlowSolver) -> (Vec<[f64; 5]>, Restart) {
    let found = five_steps(solver);
    solver.resume(&found.1).unwrap();
    found
}

/// That ranks took the steps of one, and have its state after them.
pub fn alike(what: &str, (a, b): (&[[f64; 5]], &Restart), (of_one, state): (&[[f64; 5]], &Restart)) {
    for (a, b) in a.iter().zip(of_one) {
        let largest = b.iter().fold(0.0_f64, |m, v| m.max(*v));
        assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-10 * largest), "{what}: {a:?} {b:?}");
    }
    for (a, b) in b.fields[0].values.iter().zip(&state.fields[0].values) {
        assert!((a - b).abs() < 1e-11, "{what}: {a} {b}");
    }
}
