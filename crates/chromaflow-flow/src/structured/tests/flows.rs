//! Whole flows: order of accuracy, exact solutions, the other solver.

use super::super::*;
use crate::FlowConfig;
use crate::FlowSolver;
use crate::bc::Motion;
use crate::config::{Boundary, Cfl, Equations, Freestream, NewtonKrylov, Nonlinear, Steady, Time, Unsteady};
use crate::flux::Dissipation;
use crate::gas::Gas;
use crate::grid::generate::{BoxGrid, Channel, SmoothChannel};
use crate::grid::{Block, Side};
use crate::mesh::Planar;
use crate::mesh::generate::graded;
use chromaflow::Outcome;

pub(in crate::structured) const SCALAR: Scheme = Scheme::Scalar(Dissipation::DEFAULT);
const MATRIX: Scheme = Scheme::Matrix(Dissipation::DEFAULT);
const ROE: Scheme = Scheme::Roe { kappa: 1.0 / 3.0, limited: true };

pub(in crate::structured) fn total_state(mach: f64) -> Boundary {
    let total = 1.0 + 0.2 * mach * mach;
    Boundary::Inlet { total_pressure: total.powf(3.5), total_temperature: total, direction: [1.0, 0.0, 0.0] }
}

pub(in crate::structured) fn steady(
    mach: f64,
    scheme: Scheme,
    cfl: f64,
    orders: f64,
    names: &[(&str, Boundary)],
) -> StructuredConfig {
    StructuredConfig {
        freestream: Freestream { mach, ..Freestream::default() },
        scheme,
        boundaries: names.iter().map(|(n, b)| ((*n).to_owned(), *b)).collect(),
        implicit: LineImplicit {
            cfl: Cfl { start: 2.0, min: 0.01, max: cfl, growth: 1.1, adaptive: true },
            ..LineImplicit::default()
        },
        time: Time::Steady(Steady { iterations: 3000, orders }),
        ..StructuredConfig::default()
    }
}

pub(super) fn channel_sides(mach: f64) -> [(&'static str, Boundary); 4] {
    let (inlet, outlet) = if mach > 1.0 {
        (Boundary::Farfield, Boundary::Extrapolation)
    } else {
        (total_state(mach), Boundary::Outlet { pressure: 1.0 })
    };
    [("inlet", inlet), ("outlet", outlet), ("lower", Boundary::SlipWall), ("upper", Boundary::SlipWall)]
}

pub(in crate::structured) fn solve(grid: Grid, config: StructuredConfig) -> StructuredSolver {
    let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(1))).unwrap();
    let outcome = solver.run(|_| true);
    assert_eq!(outcome, Outcome::Converged, "after {}", solver.iteration());
    solver
}

/// Smooth subsonic flow makes no entropy: what there is falls with the square of the spacing. The flow is the same fore and
/// aft of the bump, to the same order.
#[test]
fn smooth_bump_of_second_order() {
    for (scheme, least) in [(SCALAR, 1.9), (MATRIX, 1.8), (ROE, 1.9)] {
        let mut entropy = Vec::new();
        let mut skew = Vec::new();
        for n in [1, 2] {
            let grid = SmoothChannel { cells: [48 * n, 16 * n] }.grid();
            let solver = solve(grid, steady(0.5, scheme, 10.0, 5.0, &channel_sides(0.5)));
            entropy.push(solver.entropy_error());
            let p = solver.wall_cp("lower");
            let mirror = p.iter().zip(p.iter().rev());
            skew.push(mirror.map(|(a, b)| (a.1 - b.1).abs()).fold(0.0, f64::max));
        }
        let order = |e: &[f64]| (e[0] / e[1]).log2();
        assert!(order(&entropy) > least, "{scheme:?}: {entropy:?}");
        assert!(order(&skew) > 1.4 && skew[1] < 0.12, "{scheme:?}: {skew:?}");
    }
}

/// Ni's channel: subsonic, transonic and supersonic flow against the unstructured solver on the same points: pressures on
/// the floor agree but for the arc's corners and the shocks, where both are of first order.
#[test]
fn channels_as_the_unstructured_solver_has_them() {
    for (mach, scheme) in [(0.5, ROE), (0.675, ROE), (1.4, ROE), (1.4, SCALAR), (1.4, MATRIX)] {
        let thickness = if mach > 1.0 { 0.04 } else { 0.1 };
        let shape = Channel { cells: [72, 24], thickness, triangles: false };
        let solver = solve(shape.grid(), steady(mach, scheme, 10.0, 4.0, &channel_sides(mach)));
        let config = FlowConfig {
            freestream: Freestream { mach, ..Freestream::default() },
            boundaries: channel_sides(mach).into_iter().map(|(n, b)| (n.to_owned(), b)).collect(),
            time: Time::Steady(Steady { iterations: 600, orders: 4.0 }),
            ..FlowConfig::default()
        };
        let mut other = FlowSolver::new(&shape.mesh(), config, Arc::new(Team::new(1))).unwrap();
        other.run(|_| true);
        // Both at the middles of the floor's faces: nodes 0..=72 are the floor.
        let cp = other.fields().into_iter().find(|f| f.name == "cp").unwrap();
        let floor = solver.wall_cp("lower");
        let mut off: Vec<f64> = floor
            .iter()
            .enumerate()
            .map(|(i, (_, here))| (here - 0.5 * (cp.values[i] + cp.values[i + 1])).abs())
            .collect();
        off.sort_by(f64::total_cmp);
        let (median, most) = (off[off.len() / 2], off[off.len() * 9 / 10]);
        let lift = [solver.forces().total.cl, other.forces().total.cl];
        eprintln!("M {mach}: cp differs by {median:.4}, in nine of ten by less than {most:.4}; cl {lift:?}");
        assert!(median < 0.02 && most < 0.1, "M {mach}: cp differs by {median}, {most}");
    }
}

/// A plate of length 1 behind half a length of symmetry: 32 x 24 cells.
pub(in crate::structured) fn plate() -> Grid {
    let x = |i| if i < 8 { -0.5 * graded(8 - i, 8, 1.1) } else { graded(i - 8, 24, 1.02) };
    let block = Block::new([33, 25, 2], |[i, j, k]| [x(i), 0.3 * graded(j, 24, 1.2), k as f64]);
    let planes = [Some(Planar::FRONT), Some(Planar::BACK)];
    let sides = [Some("inlet"), Some("outlet"), None, Some("top"), planes[0], planes[1]];
    let mut grid = Grid::one_block(block, sides);
    grid.add_patch("symmetry", Side::ALL[2], [0, 0, 0], [8, 0, 1]);
    grid.add_patch("wall", Side::ALL[2], [8, 0, 0], [32, 0, 1]);
    grid
}

/// Friction of the flat plate within 1 % of Blasius' from a fifth of the plate on.
#[test]
fn blasius() {
    let (mach, reynolds) = (0.4, 1e5);
    let grid = plate();
    let out = Boundary::Outlet { pressure: 1.0 };
    let sides = [
        ("inlet", total_state(mach)),
        ("outlet", out),
        ("top", out),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::NoSlipAdiabatic),
    ];
    let mut config = steady(mach, MATRIX, 20.0, 4.5, &sides);
    config.equations = Equations::Laminar;
    config.freestream.reynolds = reynolds;
    let solver = solve(grid, config);
    for (x, cf) in solver.skin_friction("wall") {
        let exact = 0.664_114_7 / (reynolds * x[0]).sqrt();
        if x[0] > 0.18 {
            assert!((cf[0] / exact - 1.0).abs() < 0.01, "x = {}: {} of Blasius'", x[0], cf[0] / exact);
        }
    }
}

/// An isentropic vortex that drifts through a periodic box: exact but for the discretization, of second order in space and
/// time together.
#[test]
fn vortex_transport() {
    let (mach, beta, radius) = (0.5, 0.2, 0.12);
    let exact = |x: [f64; 3], t: f64| {
        let wrap = |d: f64| d - d.round();
        let (dx, dy) = (wrap(x[0] - 0.5 - mach * t) / radius, wrap(x[1] - 0.5) / radius);
        let bell = (-0.5 * (dx * dx + dy * dy)).exp();
        let temperature: f64 = 1.0 - 0.5 * 0.4 * (mach * beta * bell).powi(2);
        let rho = temperature.powf(2.5);
        let w = [rho, mach * (1.0 - beta * dy * bell), mach * beta * dx * bell, 0.0, rho * temperature / 1.4];
        conserved(Gas::AIR, &w)
    };
    let mut errors = Vec::new();
    let time = 0.5;
    for n in [24, 48] {
        let grid = BoxGrid { cells: [n, n, 1], size: [1.0, 1.0, 1.0], wave: 0.0 }.grid();
        let grid = grid.periodic("xmin", "xmax").unwrap().periodic("ymin", "ymax").unwrap();
        grid.check().unwrap();
        let dt = time / n as f64;
        let config = StructuredConfig {
            freestream: Freestream { mach, ..Freestream::default() },
            scheme: Scheme::Roe { kappa: 0.0, limited: false },
            boundaries: ["zmin", "zmax"].map(|m| (m.to_owned(), Boundary::Symmetry)).into(),
            implicit: LineImplicit {
                cfl: Cfl { start: 20.0, min: 20.0, max: 20.0, growth: 1.0, adaptive: false },
                ..LineImplicit::default()
            },
            time: Time::Unsteady(Unsteady { dt, steps: n, subiterations: 12, orders: 4.0 }),
            ..StructuredConfig::default()
        };
        let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(1))).unwrap();
        solver.set_state(|x| exact(x, 0.0));
        solver.run(|_| true);
        let sum: f64 = solver
            .state()
            .iter()
            .zip(solver.cells())
            .map(|(q, (x, v))| (q[2] - exact(x, time)[2]).powi(2) * v)
            .sum();
        errors.push(sum.sqrt());
    }
    let order = (errors[0] / errors[1]).log2();
    assert!(order > 1.9, "{errors:?}: order {order}");
}

/// A restart goes on as if nothing had been.
#[test]
fn restarts() {
    let make = || {
        let grid =
            Channel { cells: [24, 8], thickness: 0.1, triangles: false }.grid().split(0, 0, 11).unwrap();
        StructuredSolver::new(
            grid,
            steady(0.5, SCALAR, 10.0, 8.0, &channel_sides(0.5)),
            Arc::new(Team::new(1)),
        )
        .unwrap()
    };
    let (mut one, mut two) = (make(), make());
    for _ in 0..6 {
        one.step();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    one.restart().write(&path, &one.restart_places()).unwrap();
    let restart = crate::output::Restart::read(&path, &two.restart_places()).unwrap();
    two.resume(&restart).unwrap();
    for _ in 0..4 {
        let (a, b) = (one.step(), two.step());
        assert_eq!((a.iteration, a.cfl), (b.iteration, b.cfl));
        for c in 0..5 {
            assert!((a.residual[c] - b.residual[c]).abs() < 1e-12, "{a:?}\n{b:?}");
        }
    }
    let bad = crate::output::Restart::default();
    assert!(two.resume(&bad).unwrap_err().to_string().contains("conserved"));
}

/// Files for ParaView: the mesh is sound, the fields are on its points.
#[test]
fn fields_on_points() {
    let grid = Channel { cells: [24, 8], thickness: 0.1, triangles: false }.grid().split(0, 1, 3).unwrap();
    let config = steady(0.5, SCALAR, 10.0, 8.0, &channel_sides(0.5));
    let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(1))).unwrap();
    solver.step();
    let mesh = solver.grid().to_mesh();
    assert_eq!(mesh.planar.map(|p| p.nodes_2d), Some(25 * 4 + 25 * 6));
    for field in solver.fields() {
        assert_eq!(field.values.len(), mesh.nodes.len() * field.components, "{}", field.name);
        assert!(field.values.iter().all(|v| v.is_finite()));
    }
    let box_grid =
        BoxGrid { cells: [3, 4, 2], size: [1.0; 3], wave: 0.05 }.grid().reorient(0, [1, 0, 2], [false; 3]);
    let mesh = box_grid.to_mesh();
    let report = crate::mesh::check(&mesh, None);
    assert_eq!(report.errors(), 0, "{report}");
}

/// Sides of a box of one layer: what its wall is, and where the wall's line begins; the stream above, an outlet.
pub(in crate::structured) fn supersonic_sides(
    begin: Boundary,
    wall: Boundary,
) -> [(&'static str, Boundary); 6] {
    [
        ("xmin", begin),
        ("xmax", Boundary::Extrapolation),
        ("ymin", wall),
        ("ymax", Boundary::Farfield),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Symmetry),
    ]
}

/// A uniform stream along a wall without slip leaves no residual of density, and has not converged.
#[test]
fn a_stream_along_a_plate_is_no_solution() {
    let sides = supersonic_sides(Boundary::Farfield, Boundary::NoSlipAdiabatic);
    let grid = BoxGrid { cells: [8, 8, 1], size: [1.0, 0.2, 0.1], wave: 0.0 }.grid();
    let mut config = steady(2.0, ROE, 20.0, 8.0, &sides);
    (config.equations, config.freestream.reynolds) = (Equations::Laminar, 1e3);
    let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(1))).unwrap();
    let first = solver.step();
    assert!(first.residual[0] == 0.0 && first.residual[1] > 0.0, "{:?}", first.residual);
    assert!(first.outcome.is_none() && first.orders == 0.0, "{} orders", first.orders);
}

/// Before a cylinder in an inviscid stream of Mach 3, by Newton-Krylov steps.
pub(in crate::structured) fn front_of_a_cylinder() -> (Grid, StructuredConfig) {
    let sides = supersonic_sides(Boundary::Extrapolation, Boundary::SlipWall);
    let mut grid = BoxGrid { cells: [24, 24, 1], size: [1.0, 1.0, 0.1], wave: 0.0 }.grid();
    for x in &mut grid.blocks[0].nodes {
        let (angle, t) = (std::f64::consts::PI * (1.5 - x[0]), x[1]);
        let r = [0.5 + t * (1.2 - 0.5), 0.5 + t * (1.9 - 0.5)];
        (x[0], x[1]) = (r[0] * angle.cos(), r[1] * angle.sin());
    }
    (grid, by_newton(steady(3.0, SCALAR, 1e6, 10.0, &sides)))
}

/// By Newton-Krylov steps as case files have them.
pub(in crate::structured) fn by_newton(mut config: StructuredConfig) -> StructuredConfig {
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    (config.implicit.cfl.growth, config.implicit.cfl.max) = (2.0, 1e6);
    config
}

/// The flow begins turned along the cylinder: total enthalpy is the stream's, the pressure where it is stopped that behind a normal shock, and
/// ten orders take at most 200 steps.
#[test]
fn supersonic_flow_begins_behind_shocks() {
    let (grid, config) = front_of_a_cylinder();
    let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(1))).unwrap();
    let mut largest: f64 = 0.0;
    for q in solver.state() {
        let w = crate::gas::primitive(Gas::AIR, &q);
        assert!((crate::gas::total_enthalpy(Gas::AIR, &w) / (2.5 + 4.5) - 1.0).abs() < 1e-12);
        largest = largest.max(1.4 * w[4]);
    }
    assert!(largest > 9.0 && largest < 12.061, "{largest}: Rayleigh's pressure is 12.061");
    let outcome = solver.run(|_| true);
    assert_eq!(outcome, Outcome::Converged);
    assert!(solver.iteration() <= 200, "{}", solver.iteration());
}

/// Constant viscosity and a Reynolds number of 10 between a wall at rest of temperature 1 and one that moves without heat flux.
pub(super) fn couette(speed: f64, scheme: Scheme, orders: f64) -> StructuredConfig {
    let motion = Motion { velocity: [speed, 0.0, 0.0], ..Motion::NONE };
    let sides = [
        ("ymin", Boundary::NoSlipIsothermal { temperature: 1.0 }),
        ("ymax", Boundary::MovingWall { motion, temperature: None }),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Symmetry),
    ];
    let mut config = steady(speed, scheme, 100.0, orders, &sides);
    config.equations = Equations::Laminar;
    config.freestream.reynolds = 10.0;
    config.gas.sutherland = false;
    config
}

/// Couette flow of constant viscosity between a wall at rest of temperature 1 and one that moves without heat flux: u = U y,
/// T = 1 + Pr (gamma - 1) U^2 (y - y^2/2).
#[test]
fn couette_flow_under_a_moving_wall() {
    let speed = 0.4;
    let exact = |y: f64| (speed * y, 1.0 + 0.72 * 0.4 * speed * speed * (y - 0.5 * y * y));
    let grid = BoxGrid { cells: [4, 12, 1], size: [0.5, 1.0, 0.2], wave: 0.0 }.grid();
    let grid = grid.periodic("xmin", "xmax").unwrap();
    let mut config = couette(speed, MATRIX, 7.0);
    let solver = solve(grid.clone(), config.clone());
    for (q, (x, _)) in solver.state().iter().zip(solver.cells()) {
        let w = crate::gas::primitive(Gas::AIR, q);
        let (u, t) = exact(x[1]);
        assert!((w[1] - u).abs() < 2e-3 * speed, "u at {x:?}: {}, exact {u}", w[1]);
        assert!((1.4 * w[4] / w[0] - t).abs() < 1e-3, "T at {x:?}: {}, exact {t}", 1.4 * w[4] / w[0]);
    }
    let across = Motion { velocity: [0.0, 0.1, 0.0], ..Motion::NONE };
    config.boundaries.insert("ymax".to_owned(), Boundary::MovingWall { motion: across, temperature: None });
    let error = StructuredSolver::new(grid, config, Arc::new(Team::new(1))).err().unwrap();
    assert!(error.to_string().contains("`ymax` moves through itself"), "{error}");
}

/// A turning frame of walls carries its gas as a rigid body: nothing shears. Ghosts beyond the edges have the walls' velocity
/// there, too.
#[test]
fn turning_walls_hold_a_rigid_body() {
    let motion = Motion { rotation: [0.0, 0.0, 0.1], center: [0.5, 0.5, 0.0], ..Motion::NONE };
    let grid = BoxGrid { cells: [6, 6, 1], size: [1.0, 1.0, 1.0], wave: 0.0 }.grid();
    let sides = ["xmin", "xmax", "ymin", "ymax"].map(|m| (m, Boundary::NoSlipAdiabatic));
    let mut config = steady(0.3, MATRIX, 10.0, 4.0, &sides);
    config.equations = Equations::Laminar;
    config.freestream.reynolds = 50.0;
    for side in ["zmin", "zmax"] {
        config.boundaries.insert(side.to_owned(), Boundary::Symmetry);
    }
    let mut solver = StructuredSolver::new(grid, config, Arc::new(Team::new(1))).unwrap();
    let velocity = |x: [f64; 3]| crate::bc::motion_at(motion, &x);
    for patch in &mut solver.host.patches {
        if patch.condition.kind.is_no_slip() {
            patch.condition.motion = motion;
        }
    }
    solver.set_state(|x| {
        let u = velocity(x);
        conserved(Gas::AIR, &[1.0, u[0], u[1], u[2], 1.0 / 1.4])
    });
    solver.host.fill_ghosts();
    let block = &solver.host.blocks[0];
    for patch in solver.host.patches.iter().filter(|p| p.condition.kind.is_no_slip()) {
        let crate::grid::Side { axis, high } = patch.window.side;
        let s = block.cells.stride[axis];
        for (at, _) in &patch.wide {
            let at = if high { at + s } else { at - s };
            let center = block.cells.cell(at).map(|i| (i as f64 + 0.5) / 6.0);
            let (ghost, body) = (block.state(at), velocity(center));
            for c in 0..2 {
                let off = (ghost[1 + c] - body[c]).abs();
                assert!(off < 1e-12, "{} at {center:?}: {}, {}", patch.name, ghost[1 + c], body[c]);
            }
        }
    }
}

/// A straight channel between a total state and a mass flow per depth: the back pressure finds the speed of that mass flow, in Newton-Krylov steps
/// within as many of them as it would take against a given pressure.
#[test]
fn a_channel_of_given_mass_flow() {
    let (mass_flow, mach) = (0.3, 0.4);
    let sides = [
        ("xmin", total_state(mach)),
        ("xmax", Boundary::MassFlowOutlet { mass_flow }),
        ("ymin", Boundary::SlipWall),
        ("ymax", Boundary::SlipWall),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Symmetry),
    ];
    let plain = steady(mach, SCALAR, 10.0, 7.0, &sides);
    let mut newton = steady(mach, SCALAR, 1e6, 7.0, &sides);
    newton.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    newton.implicit.cfl.growth = 2.0;
    newton.time = Time::Steady(Steady { iterations: 30, orders: 7.0 });
    for config in [plain, newton] {
        let grid =
            BoxGrid { cells: [12, 4, 1], size: [2.0, 1.0, 0.5], wave: 0.0 }.grid().split(0, 1, 2).unwrap();
        let solver = solve(grid, config);
        let total = 1.0 + 0.2 * mach * mach;
        for q in solver.state() {
            let w = crate::gas::primitive(Gas::AIR, &q);
            assert!((w[0] * w[1] - mass_flow).abs() < 1e-5, "{}", w[0] * w[1]);
            assert!((w[0] - (total - 0.2 * w[1] * w[1]).powf(2.5)).abs() < 1e-5, "isentropic");
        }
        let back_pressure = solver.restart().facts["back_pressure.xmax"];
        // What leaves and what comes in: the same mass, total pressure and temperature, per depth.
        let through = solver.outflow();
        assert_eq!(through.iter().map(|o| o.marker.as_str()).collect::<Vec<_>>(), ["xmin", "xmax"]);
        for (o, out) in through.iter().zip([-1.0, 1.0]) {
            assert!((o.mass_flow - out * mass_flow).abs() < 1e-5, "{o:?}");
            assert!((o.total_pressure - total.powf(3.5)).abs() < 1e-4, "{o:?}");
            assert!((o.total_temperature - total).abs() < 1e-5, "{o:?}");
            assert!((o.pressure - back_pressure * 1.4).abs() < 1e-4, "{o:?}");
        }
    }
}

/// What enters with a given velocity and leaves against the free stream's pressure is the free stream.
#[test]
fn an_inlet_of_given_velocity_makes_its_stream() {
    let sides = [
        ("xmin", Boundary::VelocityInlet { velocity: [0.4, 0.0, 0.0], temperature: 1.0 }),
        ("xmax", Boundary::Outlet { pressure: 1.0 }),
        ("ymin", Boundary::SlipWall),
        ("ymax", Boundary::SlipWall),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Symmetry),
    ];
    let grid = BoxGrid { cells: [12, 4, 1], size: [2.0, 1.0, 0.5], wave: 0.0 }.grid();
    let mut config = steady(0.4, SCALAR, 10.0, 7.0, &sides);
    config.freestream.mach = 0.3;
    let solver = solve(grid, config);
    for q in solver.state() {
        let w = crate::gas::primitive(Gas::AIR, &q);
        assert!((w[1] - 0.4).abs() < 1e-5 && (w[0] - 1.0).abs() < 1e-5, "{w:?}");
    }
}

/// M 12 from a wall that falls back by 20 degrees: the gas beside it is 1e-7 as dense as the stream, less than a difference moves the stream by.
pub(in crate::structured) fn into_vacuum() -> StructuredSolver {
    let grid = BoxGrid { cells: [40, 40, 1], size: [40.0, 40.0, 1.0], wave: 0.0 }.grid();
    let sides = [("xmin", Boundary::Farfield), ("ymin", Boundary::SlipWall)];
    let open = ["xmax", "ymax"].map(|name| (name, Boundary::Extrapolation));
    let planes = ["zmin", "zmax"].map(|name| (name, Boundary::Symmetry));
    let sides: Vec<_> = sides.into_iter().chain(open).chain(planes).collect();
    let mut config = by_newton(steady(12.0, SCALAR, 1e6, 10.0, &sides));
    config.freestream.alpha_deg = 20.0;
    config.reference.lift_axis = Some(1);
    config.implicit.cfl.growth = 2.0;
    config.time = Time::Steady(Steady { iterations: 300, orders: 10.0 });
    StructuredSolver::new(grid, config, Arc::new(Team::new(2))).unwrap()
}

#[test]
fn differences_leave_a_vacuum_its_gas() {
    let mut solver = into_vacuum();
    assert_eq!(solver.run(|_| true), Outcome::Converged);
}
