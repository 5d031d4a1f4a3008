//! Sectors whose sides are turned, beside the rings that they are part of, and exact flows around an axis.

use super::*;
use crate::bc::Motion;
use crate::config::{Cfl, Steady, Time, TurbulenceConfig, TurbulenceModel, Unsteady};
use crate::gas::Gas;
use crate::mesh::periodic::Rotation;
use crate::structured::lax_wendroff::{LaxWendroff, LaxWendroffSolver};
use crate::testmesh::{LENGTH, arc, off_turned, ring_of, sector, swirling};
use chromaflow::Outcome;
use std::f64::consts::TAU;

const UNLIMITED: Scheme = Scheme::Roe { kappa: 1.0 / 3.0, limited: false };
/// Those that have no limiter of components: the axes do not show in them.
const FREE_OF_AXES: [Scheme; 3] = [SCHEMES[0], SCHEMES[1], UNLIMITED];

/// Blocks of two orientations, one of them left-handed, sides turned in one interface of the second pieces.
fn pieces(cells: [usize; 3], n: usize) -> Grid {
    let grid = sector(cells, n).periodic("ymin", "ymax").unwrap();
    let grid = grid.split(0, 0, cells[0] / 2).unwrap().split(1, 1, cells[1] / 2).unwrap();
    let grid = grid.reorient(1, [1, 2, 0], [true, false, false]).reorient(2, [0, 2, 1], [false, true, false]);
    grid.check().unwrap();
    assert_eq!(grid.rotation().and_then(|rotation| rotation.sectors()), Some(n as u32));
    grid
}

fn around(grid: &Grid, scheme: Scheme, equations: Equations) -> StructuredConfig {
    let mut config = config(grid, scheme, equations);
    (config.freestream.alpha_deg, config.freestream.beta_deg) = (0.0, 0.0);
    let spin = Motion { rotation: [0.3, 0.0, 0.0], ..Motion::NONE };
    for (name, boundary) in &mut config.boundaries {
        *boundary = match (name.as_str(), equations) {
            ("xmin", Equations::Euler) => Boundary::SlipWall,
            ("xmin", _) => Boundary::MovingWall { motion: spin, temperature: None },
            ("xmax", Equations::Euler) => Boundary::Symmetry,
            ("xmax", _) => Boundary::NoSlipIsothermal { temperature: 1.1 },
            _ => Boundary::Farfield,
        };
    }
    config
}

fn swirled(grid: Grid, config: StructuredConfig, n: usize) -> StructuredSolver {
    let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
    solver.set_state(|x| conserved(Gas::AIR, &swirling(x, n)));
    for name in solver.coupled_unknowns() {
        solver.set_unknown(&name, |x| 3.0 * swirling([x[0] + 0.2, x[1], x[2]], n)[0]).unwrap();
    }
    solver
}

/// What sectors of a ring have beside what one of them has, see [`off_turned`].
fn off(one: &[[f64; 5]], all: &[[f64; 5]], n: usize) -> f64 {
    off_turned(5, one.as_flattened(), all.as_flattened(), n)
}

fn scalars(values: &[f64]) -> Vec<[f64; 5]> {
    values.iter().map(|v| [*v, 0.0, 0.0, 0.0, 0.0]).collect()
}

/// Of a sector and its ring.
fn both(cells: [usize; 3], n: usize, change: &dyn Fn(&Grid) -> StructuredConfig) -> [StructuredSolver; 2] {
    let sector = pieces(cells, n);
    let config = change(&sector);
    [swirled(sector.clone(), config.clone(), n), swirled(ring_of(&sector, n), config, n)]
}

#[test]
fn sectors_have_the_rates_of_their_ring() {
    for scheme in FREE_OF_AXES {
        for equations in [Equations::Euler, Equations::Laminar] {
            for (cells, n) in [([6, 5, 4], 9), ([5, 4, 6], 2), ([4, 6, 5], 3)] {
                let [mut one, mut all] = both(cells, n, &|grid| around(grid, scheme, equations));
                let off = off(&one.rates(), &all.rates(), n);
                assert!(off < 1e-12, "{scheme:?}, {equations:?}, {n} sectors: {off:e}");
                let [a, b] = [&one, &all].map(|solver| solver.forces().total);
                for v in 0..3 {
                    let forces = [n as f64 * a.force[v] - b.force[v], n as f64 * a.moment[v] - b.moment[v]];
                    assert!(forces.iter().all(|off| off.abs() < 1e-12), "{a:?} {b:?}");
                }
            }
        }
    }
}

fn turbulent(grid: &Grid, second_order: bool) -> StructuredConfig {
    let mut config = around(grid, UNLIMITED, Equations::Laminar);
    config.freestream.reynolds = 1e4;
    config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    config.turbulence = Some(TurbulenceConfig { second_order, ..TurbulenceConfig::default() });
    config
}

/// Distances too, where walls a sector away are nearest.
#[test]
fn turbulence_of_sectors_is_that_of_their_ring() {
    for second_order in [false, true] {
        let of = |grid: &Grid| {
            let mut config = turbulent(grid, second_order);
            config.boundaries.insert("xmax".into(), Boundary::SlipWall);
            config.boundaries.insert("rest".into(), Boundary::SlipWall);
            config
        };
        let n = 9;
        let mut sector = sector([6, 6, 4], n).periodic("ymin", "ymax").unwrap();
        // Only a part of the inner side is a wall.
        let wall = sector.patches.iter().position(|patch| patch.name == "xmin").unwrap();
        let mut rest = sector.patches[wall].clone();
        (rest.name, rest.window.low[1]) = ("rest".to_owned(), 2);
        sector.patches[wall].window.high[1] = 2;
        sector.patches.push(rest);
        sector.check().unwrap();
        let config = of(&sector);
        let [mut one, mut all] =
            [sector.clone(), ring_of(&sector, n)].map(|grid| swirled(grid, config.clone(), n));
        let rates = off(&one.rates(), &all.rates(), n);
        let part = |solver: &StructuredSolver, f: &dyn Fn(&BlockState) -> Vec<f64>| {
            scalars(&solver.host.blocks.iter().flat_map(f).collect::<Vec<_>>())
        };
        let distance = |block: &BlockState| block.eddies.distance.clone();
        let residual = |block: &BlockState| block.eddies.r.clone();
        let distances = off(&part(&one, &distance), &part(&all, &distance), n);
        let residuals = off(&part(&one, &residual), &part(&all, &residual), n);
        assert!(
            rates < 1e-12 && distances < 1e-13 && residuals < 1e-11,
            "{rates:e} {distances:e} {residuals:e}"
        );
        // A sector alone sees other distances.
        let mut alone = sector.clone();
        for (i, name) in sector.interfaces.iter().zip(["rest"]) {
            alone
                .patches
                .extend([i.a, i.b].map(|window| crate::grid::Patch { name: name.to_owned(), window }));
        }
        alone.interfaces.clear();
        let alone = StructuredSolver::new(alone, config, team(1)).unwrap();
        let [a, b] = [&alone, &one].map(|solver| part(solver, &distance));
        assert!(a.iter().zip(&b).any(|(a, b)| a[0] > 1.01 * b[0]), "walls a sector away are nearer");
    }
}

/// What leaves through one side enters through the other, by limiters of components, too: nothing is lost between walls.
#[test]
fn limited_fluxes_balance() {
    let n = 5;
    let grid = pieces([6, 5, 4], n);
    let mut config = around(&grid, SCHEMES[2], Equations::Euler);
    config.boundaries.values_mut().for_each(|boundary| *boundary = Boundary::SlipWall);
    let mut solver = swirled(grid, config, n);
    let mut lost = || {
        let mut sum = [0.0; 5];
        for ((_, volume), rate) in solver.cells().iter().zip(solver.rates()) {
            (0..5).for_each(|c| sum[c] += volume * rate[c]);
        }
        let lost = sum[0].abs().max(sum[4].abs());
        solver.host_to_set().turned.clear();
        lost
    };
    let [joined, apart] = [lost(), lost()];
    assert!(joined < 1e-14 && apart > 1e-6, "{joined:e}, {apart:e}");
}

#[test]
fn a_stream_along_the_axis_stays() {
    for scheme in SCHEMES {
        for equations in [Equations::Euler, Equations::Laminar] {
            let grid = pieces([6, 5, 4], 7);
            let mut config = around(&grid, scheme, equations);
            config.boundaries.values_mut().for_each(|boundary| *boundary = Boundary::Farfield);
            let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
            let worst = |solver: &mut StructuredSolver| {
                solver.rates().as_flattened().iter().fold(0.0f64, |m, r| m.max(r.abs()))
            };
            assert!(worst(&mut solver) < 2e-12, "{scheme:?}, {equations:?}: {:e}", worst(&mut solver));
            (0..5).for_each(|_| drop(solver.step()));
            assert!(worst(&mut solver) < 2e-12, "{scheme:?}, {equations:?}: {:e}", worst(&mut solver));
        }
    }
}

/// Steps of all methods that take sides as borders between blocks.
#[test]
fn steps_of_sectors_are_those_of_their_ring() {
    for method in [
        StepMethod::BeamWarming,
        StepMethod::Diagonal { fourth: true },
        StepMethod::Ssor { sweeps: 3, relaxation: 1.0 },
    ] {
        for equations in [Equations::Euler, Equations::Laminar] {
            let [mut one, mut all] = both([6, 5, 4], 5, &|grid| {
                let mut config = around(grid, SCHEMES[0], equations);
                config.implicit.method = method;
                config
            });
            for _ in 0..4 {
                let (a, b) = (one.step(), all.step());
                assert!((a.residual[0] / b.residual[0] - 1.0).abs() < 1e-9, "{method:?}: {a:?} {b:?}");
            }
            let off = off(&one.state(), &all.state(), 5);
            assert!(off < 1e-12, "{method:?}, {equations:?}: {off:e}");
        }
    }
}

fn vanes(n: usize) -> Grid {
    // Walls on both sides in the middle of the passage, which turn the flow; periodic ahead and behind.
    let grid = sector([4, 6, 16], n);
    let mut grid = Grid { patches: grid.patches, ..grid };
    for x in &mut grid.blocks[0].nodes {
        let s = x[0] / LENGTH;
        let turned = Rotation { point: [0.0; 3], axis: [1.0, 0.0, 0.0], angle: 0.25 * s * s };
        *x = turned.moved(1, *x);
    }
    for name in ["ymin", "ymax"] {
        let side = grid.patches.iter().position(|patch| patch.name == name).unwrap();
        let whole = grid.patches.remove(side);
        for (part, [from, to]) in [("ahead", [0, 5]), ("vane", [5, 11]), ("behind", [11, 16])] {
            let mut patch = whole.clone();
            (patch.window.low[2], patch.window.high[2]) = (from, to);
            patch.name = if part == "vane" { part.to_owned() } else { format!("{part}_{name}") };
            grid.patches.push(patch);
        }
    }
    let grid = grid.periodic("ahead_ymin", "ahead_ymax").unwrap();
    let grid = grid.periodic("behind_ymin", "behind_ymax").unwrap();
    grid.check().unwrap();
    grid
}

/// Converged flow between vanes that turn it: of a passage and of the whole ring.
#[test]
fn steady_flow_of_a_passage_is_that_of_the_ring() {
    let n = 6;
    let passage = vanes(n);
    let newton = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    let laminar = |mut config: StructuredConfig| {
        (config.equations, config.freestream.reynolds) = (Equations::Laminar, 200.0);
        config
    };
    let turbulent = |config| {
        let mut config = laminar(config);
        config.freestream.reynolds = 1e4;
        config.turbulence = Some(TurbulenceConfig::default());
        config
    };
    let two_equations = |config| {
        let mut config: StructuredConfig = turbulent(config);
        config.turbulence =
            Some(TurbulenceConfig { model: TurbulenceModel::Sst, ..TurbulenceConfig::default() });
        config
    };
    type Change<'a> = (&'a str, Scheme, &'a dyn Fn(StructuredConfig) -> StructuredConfig);
    let changes: [Change; 5] = [
        ("Euler", SCHEMES[0], &|config| config),
        ("Euler, Roe", UNLIMITED, &|config| config),
        ("laminar", SCHEMES[1], &laminar),
        ("turbulent", UNLIMITED, &turbulent),
        ("turbulent, two equations", UNLIMITED, &two_equations),
    ];
    for (what, scheme, change) in changes {
        let solved = |grid: Grid| {
            let total = 1.0_f64 + 0.2 * 0.09;
            let mut base = StructuredConfig {
                freestream: Freestream { mach: 0.3, ..Freestream::default() },
                scheme,
                implicit: LineImplicit {
                    nonlinear: newton,
                    cfl: Cfl { start: 5.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true },
                    ..LineImplicit::default()
                },
                time: Time::Steady(Steady { iterations: 80, orders: 11.0 }),
                ..StructuredConfig::default()
            };
            base = change(base);
            let wall = if base.equations == Equations::Euler {
                Boundary::SlipWall
            } else {
                Boundary::NoSlipAdiabatic
            };
            let inlet = Boundary::Inlet {
                total_pressure: total.powf(3.5),
                total_temperature: total,
                direction: [1.0, 0.0, 0.0],
            };
            base.boundaries = (grid.markers().iter())
                .map(|&name| {
                    let boundary = match name {
                        "zmin" => inlet,
                        "zmax" => Boundary::Outlet { pressure: 1.0 },
                        _ => wall,
                    };
                    (name.to_owned(), boundary)
                })
                .collect();
            let mut solver = StructuredSolver::new(grid, base, team(2)).unwrap();
            let outcome = solver.run(|_| true);
            assert_eq!(outcome, Outcome::Converged, "{what}: {:?}", solver.iteration());
            solver
        };
        let (one, all) = (solved(passage.clone()), solved(ring_of(&passage, n)));
        let off = off(&one.state(), &all.state(), n);
        let around = |(q, (x, _)): ([f64; 5], ([f64; 3], f64))| {
            (x[1] * q[3] - x[2] * q[2]) / (x[1].hypot(x[2]) * q[0])
        };
        let swirl = one.state().into_iter().zip(one.cells()).map(around).fold(0.0, f64::max);
        let torque = [&one, &all].map(|solver| solver.forces().total.moment[0]);
        eprintln!(
            "{what}: {} and {} iterations, off by {off:e}, swirl up to {swirl}, {torque:?}",
            one.iteration(),
            all.iteration()
        );
        assert!(off < 1e-8 && swirl > 0.02, "{what}: {off:e}, swirl {swirl}");
        assert!((n as f64 * torque[0] - torque[1]).abs() < 1e-8, "{what}: {torque:?}");
    }
}

fn plane(boundaries: &[(&str, Boundary)]) -> StructuredConfig {
    let planes = [("front", Boundary::Symmetry), ("back", Boundary::Symmetry)];
    let all = boundaries.iter().chain(&planes);
    StructuredConfig {
        boundaries: all.map(|(n, b)| ((*n).to_owned(), *b)).collect(),
        ..StructuredConfig::default()
    }
}

/// Around the axis, and along the radius.
fn in_circles(x: [f64; 3], u: f64) -> [f64; 2] {
    let r = x[0].hypot(x[1]);
    [-u * x[1] / r, u * x[0] / r]
}

/// Couette's flow between cylinders, the inner one turning: u = A r + B / r whatever the density; of the heat of friction, which leaves through
/// the outer one, T = 1 + Pr (gamma - 1) B^2 (1/4 - 1/r^2 + 2 ln(2/r)). Of second order.
#[test]
fn couette_flow_between_cylinders() {
    let speed = 0.5;
    let b = speed / (1.0 - 0.25);
    let exact_u = |r: f64| -0.25 * b * r + b / r;
    let k = 0.72 * 0.4 * b * b;
    let exact_t = |r: f64| 1.0 + k * (0.25 - 1.0 / (r * r) + 2.0 * (2.0 / r).ln());
    let motion = Motion { rotation: [0.0, 0.0, speed], ..Motion::NONE };
    let errors = [8, 16].map(|cells| {
        let mut config = plane(&[
            ("inner", Boundary::MovingWall { motion, temperature: None }),
            ("outer", Boundary::NoSlipIsothermal { temperature: 1.0 }),
        ]);
        config.equations = Equations::Laminar;
        (config.freestream.mach, config.freestream.reynolds, config.gas.sutherland) = (speed, 20.0, false);
        config.scheme = SCHEMES[1];
        config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
        config.implicit.cfl = Cfl { start: 5.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true };
        config.time = Time::Steady(Steady { iterations: 100, orders: 9.0 });
        let mut solver = StructuredSolver::new(arc([cells, cells / 2], 0.7), config, team(2)).unwrap();
        let outcome = solver.run(|_| true);
        assert_eq!(outcome, Outcome::Converged, "{}", solver.iteration());
        let mut sums = [0.0; 3];
        for (q, (x, volume)) in solver.state().iter().zip(solver.cells()) {
            let (w, r) = (primitive(Gas::AIR, q), x[0].hypot(x[1]));
            let [u, v] = in_circles(x, exact_u(r));
            let t = 1.4 * w[4] / w[0];
            let off = [(w[1] - u).hypot(w[2] - v) / speed, (t - exact_t(r)) / k];
            (0..2).for_each(|c| sums[c] += volume * off[c] * off[c]);
            sums[2] += volume;
        }
        [0, 1].map(|c| (sums[c] / sums[2]).sqrt())
    });
    let orders = [0, 1].map(|c| (errors[0][c] / errors[1][c]).log2());
    eprintln!("speed {speed}: {errors:?}, orders {orders:?}");
    assert!(orders.iter().all(|order| *order > 1.8), "speed {speed}: {errors:?}, orders {orders:?}");
}

/// A free vortex, u = G / r of one entropy and total enthalpy, between slip walls: of second order after a turn.
#[test]
fn a_free_vortex_stays() {
    let strength = 0.6;
    let exact = |x: [f64; 3]| {
        let u = strength / x[0].hypot(x[1]);
        let t: f64 = 1.0 - 0.2 * u * u;
        let [p, q] = in_circles(x, u);
        conserved(Gas::AIR, &[t.powf(2.5), p, q, 0.0, t.powf(3.5) / 1.4])
    };
    let errors = [10, 20].map(|cells| {
        let mut config = plane(&[("inner", Boundary::SlipWall), ("outer", Boundary::SlipWall)]);
        config.freestream.mach = strength;
        config.scheme = Scheme::Roe { kappa: 0.0, limited: false };
        config.implicit.cfl = Cfl { start: 20.0, min: 20.0, max: 20.0, growth: 1.0, adaptive: false };
        config.time = Time::Unsteady(Unsteady {
            dt: 1.0 / cells as f64,
            steps: 2 * cells,
            subiterations: 15,
            orders: 4.0,
        });
        let mut solver = StructuredSolver::new(arc([cells, cells / 2], 0.7), config, team(2)).unwrap();
        solver.set_state(exact);
        solver.run(|_| true);
        let of = solver.state().into_iter().zip(solver.cells());
        of.map(|(q, (x, v))| (1..3).map(|c| (q[c] - exact(x)[c]).powi(2)).sum::<f64>() * v)
            .sum::<f64>()
            .sqrt()
    });
    let order = (errors[0] / errors[1]).log2();
    assert!(order > 1.8, "{errors:?}: order {order}");
}

/// A sector one cell wide is a flow that is the same all around: beside its ring, and in Newton-Krylov steps.
#[test]
fn a_wedge_is_one_cell_wide() {
    let n = 24;
    let wedge = || {
        let mut grid = BoxGrid { cells: [8, 1, 7], size: [1.0; 3], wave: 0.0 }.grid();
        for x in &mut grid.blocks[0].nodes {
            let (r, angle) = (0.4 + x[0] + 0.1 * x[2] * x[2], TAU / n as f64 * x[1]);
            *x = [1.2 * x[2], r * angle.cos(), r * angle.sin()];
        }
        grid.periodic("ymin", "ymax").unwrap()
    };
    let of = |grid: &Grid, equations| {
        let mut config = around(grid, UNLIMITED, equations);
        config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
        config.implicit.cfl = Cfl { start: 5.0, min: 0.01, max: 1e6, growth: 2.0, adaptive: true };
        config.time = Time::Steady(Steady { iterations: 60, orders: 10.0 });
        config
    };
    for equations in [Equations::Euler, Equations::Laminar] {
        let config = of(&wedge(), equations);
        let axial = |grid: Grid| {
            let mut solver = StructuredSolver::new(grid, config.clone(), team(2)).unwrap();
            solver.set_state(|x| {
                let (r, s) = (x[1].hypot(x[2]), (3.0 * x[0] + x[1].hypot(x[2])).sin());
                let (out, swirl) = (0.1 * s / r, 0.2 + 0.1 * s / r);
                let w =
                    [1.0 + 0.1 * s, 0.4, out * x[1] - swirl * x[2], out * x[2] + swirl * x[1], 0.7 - 0.1 * s];
                conserved(Gas::AIR, &w)
            });
            solver
        };
        let (mut one, mut all) = (axial(wedge()), axial(ring_of(&wedge(), n)));
        let off = off(&one.rates(), &all.rates(), n);
        assert!(off < 1e-12, "{equations:?}: {off:e}");
        let outcome = one.run(|_| true);
        eprintln!("{equations:?}: {} iterations", one.iteration());
        assert_eq!(outcome, Outcome::Converged, "{equations:?} after {}", one.iteration());
    }
}

/// What is not the same in every sector is told, and what cannot be turned.
#[test]
fn what_points_across_the_axis_is_told() {
    let refused = |change: &dyn Fn(&mut StructuredConfig), expect: &str| {
        let grid = pieces([4, 4, 4], 5);
        let mut config = around(&grid, SCHEMES[0], Equations::Euler);
        change(&mut config);
        let error = StructuredSolver::new(grid, config, team(1)).err().expect("an error").to_string();
        assert!(error.contains(expect) && error.contains("[1.0, 0.0, 0.0]"), "{error}");
    };
    refused(&|c| c.freestream.alpha_deg = 1.0, "choose `alpha` and `beta`");
    let inlet = Boundary::VelocityInlet { velocity: [0.4, 0.1, 0.0], temperature: 1.0 };
    refused(&|c| _ = c.boundaries.insert("zmin".into(), inlet), "of `zmin`");
    let motion = Motion { rotation: [0.0, 0.1, 0.0], ..Motion::NONE };
    let wall = Boundary::MovingWall { motion, temperature: None };
    refused(&|c| _ = c.boundaries.insert("xmin".into(), wall), "walls turn about the axis");
    let grid = pieces([4, 4, 4], 5);
    let config = around(&grid, SCHEMES[0], Equations::Euler);
    let error = LaxWendroffSolver::new(grid, config, LaxWendroff::default(), team(1)).err().unwrap();
    assert!(error.to_string().contains("choose another structured.method"), "{error}");
    // Without a far field the stream is a start alone, that of its part along the axis.
    let grid = pieces([4, 4, 4], 5);
    let mut config = around(&grid, SCHEMES[0], Equations::Euler);
    config.boundaries.values_mut().for_each(|boundary| *boundary = Boundary::SlipWall);
    config.freestream.alpha_deg = 90.0;
    let free = StructuredSolver::new(grid, config, team(1)).unwrap().free_stream();
    assert!(free[1..4].iter().all(|u| u.abs() < 1e-15), "{free:?}");
}
