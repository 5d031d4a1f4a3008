use super::*;
use crate::config::{Boundary, Freestream, Steady, Time, Unsteady};
use crate::gas::conserved;
use crate::grid::generate::{BoxGrid, Channel, FlatPlate, SmoothChannel};
use crate::structured::StructuredSolver;

const FINE: LaxWendroff = LaxWendroff { courant: 0.8, coarse_grids: 0 };

fn coarse(coarse_grids: usize) -> LaxWendroff {
    LaxWendroff { coarse_grids, ..FINE }
}

fn team(n: usize) -> Arc<Team> {
    Arc::new(Team::new(n))
}

/// Blocks of several orientations, one of them left-handed.
fn wavy_blocks() -> Grid {
    let grid = BoxGrid { cells: [9, 7, 6], size: [2.0, 1.0, 0.8], wave: 0.06 }.grid();
    let grid = grid.split(0, 0, 4).unwrap().split(1, 1, 3).unwrap().split(0, 2, 3).unwrap();
    grid.reorient(1, [1, 2, 0], [true, false, false]).reorient(2, [0, 2, 1], [false, false, true])
}

fn box_config(grid: &Grid) -> StructuredConfig {
    StructuredConfig {
        freestream: Freestream { mach: 0.5, alpha_deg: 20.0, beta_deg: -10.0, ..Freestream::default() },
        boundaries: grid.markers().iter().map(|m| ((*m).to_owned(), Boundary::Farfield)).collect(),
        ..StructuredConfig::default()
    }
}

#[test]
fn a_uniform_flow_stays_uniform() {
    for equations in [Equations::Euler, Equations::Laminar] {
        let grid = wavy_blocks();
        let mut config = box_config(&grid);
        config.equations = equations;
        config.freestream.reynolds = 10.0;
        let mut solver = LaxWendroffSolver::new(grid, config, FINE, team(2)).unwrap();
        let before = solver.state();
        for _ in 0..10 {
            solver.step();
        }
        let state = solver.state();
        let change = state.as_flattened().iter().zip(before.as_flattened());
        let most = change.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(most < 1e-12, "{equations:?}: {most:e}");
    }
}

/// A smooth state that is no solution.
fn smooth(x: [f64; 3]) -> [f64; 5] {
    let s = (2.0 * x[0] + 0.3).sin() * (1.5 * x[1]).cos() + 0.5 * (3.0 * x[2]).sin();
    let w = [1.0 + 0.1 * s, 0.4 + 0.05 * s, 0.1 * s, -0.2 + 0.1 * (x[0] * x[1]).cos(), 0.7 + 0.07 * s];
    conserved(Gas::AIR, &w)
}

/// States of laminar flow after three steps by the place of the node.
fn by_place(grid: Grid, threads: usize) -> Vec<([i64; 3], [f64; 5])> {
    let mut config = box_config(&grid);
    config.equations = Equations::Laminar;
    config.freestream.reynolds = 100.0;
    let mut solver = LaxWendroffSolver::new(grid, config, FINE, team(threads)).unwrap();
    solver.set_state(smooth);
    for _ in 0..3 {
        assert!(!solver.step().rejected);
    }
    let places = solver.nodes().into_iter().map(|(x, _)| x.map(|v| (v * 1e8).round() as i64));
    let mut all: Vec<_> = places.zip(solver.state()).collect();
    all.sort_by_key(|(x, _)| *x);
    all.dedup_by(|a, b| a.0 == b.0);
    all
}

#[test]
fn many_blocks_are_one_block() {
    let one = by_place(BoxGrid { cells: [9, 7, 6], size: [2.0, 1.0, 0.8], wave: 0.06 }.grid(), 1);
    let many = by_place(wavy_blocks(), 3);
    assert_eq!(one.len(), many.len());
    for ((x, a), (y, b)) in one.iter().zip(&many) {
        assert_eq!(x, y);
        for c in 0..5 {
            assert!((a[c] - b[c]).abs() < 1e-12, "at {x:?}: {a:?} {b:?}");
        }
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let one = by_place(wavy_blocks(), 1);
    assert_eq!(one, by_place(wavy_blocks(), 2));
    assert_eq!(one, by_place(wavy_blocks(), 5));
}

/// What cells lose their neighbors get: in a periodic box the sums of mass, momentum and energy stay, with equal time steps.
#[test]
fn conservation() {
    let grid = BoxGrid { cells: [8, 6, 5], size: [1.0; 3], wave: 0.0 }.grid();
    let grid = grid.periodic("xmin", "xmax").unwrap().periodic("ymin", "ymax").unwrap();
    let grid = grid.periodic("zmin", "zmax").unwrap();
    let mut config = box_config(&grid);
    config.time = Time::Unsteady(Unsteady { dt: 0.05, steps: 5, subiterations: 1, orders: 1.0 });
    let mut solver = LaxWendroffSolver::new(grid, config, FINE, team(1)).unwrap();
    let wave = |x: f64| 0.1 * (std::f64::consts::TAU * x).sin();
    let start = |x: [f64; 3]| {
        let (a, b) = (wave(x[0] + 0.1), wave(x[1] + 2.0 * x[2]));
        conserved(Gas::AIR, &[1.0 + a + b, 0.3 + b, a, 0.1 - a, 0.7 + 0.5 * b])
    };
    solver.set_state(start);
    let sums = |s: &LaxWendroffSolver| {
        let mut sum = [0.0; 5];
        for (q, (_, v)) in s.state().iter().zip(s.nodes()) {
            sum = std::array::from_fn(|c| sum[c] + q[c] * v);
        }
        sum
    };
    let before = sums(&solver);
    solver.run(|_| true);
    let after = sums(&solver);
    for c in 0..5 {
        assert!((before[c] - after[c]).abs() < 1e-13, "{before:?} {after:?}");
    }
}

fn channel_sides(mach: f64) -> [(&'static str, Boundary); 4] {
    let total = 1.0 + 0.2 * mach * mach;
    let inlet = Boundary::Inlet {
        total_pressure: total.powf(3.5),
        total_temperature: total,
        direction: [1.0, 0.0, 0.0],
    };
    let (inlet, outlet) = if mach > 1.0 {
        (Boundary::Farfield, Boundary::Extrapolation)
    } else {
        (inlet, Boundary::Outlet { pressure: 1.0 })
    };
    [("inlet", inlet), ("outlet", outlet), ("lower", Boundary::SlipWall), ("upper", Boundary::SlipWall)]
}

fn channel(mach: f64, orders: f64) -> StructuredConfig {
    StructuredConfig {
        freestream: Freestream { mach, ..Freestream::default() },
        boundaries: channel_sides(mach).into_iter().map(|(n, b)| (n.to_owned(), b)).collect(),
        time: Time::Steady(Steady { iterations: 2500, orders }),
        ..StructuredConfig::default()
    }
}

/// Smooth subsonic flow makes no entropy: what there is falls with the square of the spacing, as do differences fore and aft.
#[test]
fn smooth_bump_of_second_order() {
    let (mut entropy, mut skew) = (Vec::new(), Vec::new());
    for n in [1, 2] {
        let grid = SmoothChannel { cells: [36 * n, 12 * n] }.grid();
        let mut solver = LaxWendroffSolver::new(grid, channel(0.5, 3.0), coarse(3), team(1)).unwrap();
        solver.run(|_| true);
        entropy.push(solver.entropy_error());
        let p = solver.wall_cp("lower");
        skew.push(p.iter().zip(p.iter().rev()).map(|(a, b)| (a.1 - b.1).abs()).fold(0.0, f64::max));
    }
    let order = |e: &[f64]| (e[0] / e[1]).log2();
    eprintln!("entropy {entropy:?}, fore against aft {skew:?}");
    assert!(order(&entropy) > 1.8, "{entropy:?}");
    assert!(order(&skew) > 1.4, "{skew:?}");
}

/// Ni's channel by both structured solvers: pressures on the floor agree but for corners and shocks.
#[test]
fn channels_as_approximate_factorization_has_them() {
    for mach in [0.5, 0.675, 1.4] {
        let thickness = if mach > 1.0 { 0.04 } else { 0.1 };
        let shape = Channel { cells: [72, 24], thickness, triangles: false };
        let grid = shape.grid().split(0, 0, 32).unwrap();
        let mut solver = LaxWendroffSolver::new(grid, channel(mach, 3.0), coarse(2), team(1)).unwrap();
        let mut orders = 0.0;
        solver.run(|report| {
            orders = report.orders;
            true
        });
        let mut config = channel(mach, 3.0);
        config.implicit.cfl.max = 10.0;
        config.scheme = Scheme::Roe { kappa: 1.0 / 3.0, limited: true };
        let mut other = StructuredSolver::new(shape.grid(), config, team(1)).unwrap();
        other.run(|_| true);
        let (a, b) = (solver.wall_cp("lower"), other.wall_cp("lower"));
        let mut off: Vec<f64> = a.iter().zip(&b).map(|(a, b)| (a.1 - b.1).abs()).collect();
        off.sort_by(f64::total_cmp);
        let (median, most) = (off[off.len() / 2], off[off.len() * 9 / 10]);
        let lift = [solver.forces().total.cl, other.forces().total.cl];
        eprintln!(
            "M {mach}: {orders:.1} orders; cp differs by {median:.4}, nine of ten by less than {most:.4}; {lift:?}"
        );
        assert!(orders > 2.9, "M {mach}: {orders} orders");
        assert!(median < 0.02 && most < 0.1, "M {mach}: cp differs by {median}, {most}");
    }
}

/// Drag of a channel that turns up by 10 degrees at Mach 2 and back is that of the oblique shock below and of the expansion above, although nodes at
/// its corners have pressures between those of both sides.
#[test]
fn corners_do_not_smear_the_drag_of_a_turn() {
    let (n, slope) = (16, 10.0_f64.to_radians().tan());
    let mut grid = SmoothChannel { cells: [3 * n, 20] }.grid();
    // One unit long, from half a unit on.
    for (at, x) in grid.blocks[0].nodes.iter_mut().enumerate() {
        let (i, j) = (at % (3 * n + 1), at / (3 * n + 1) % 21);
        let along = i as f64 / n as f64;
        let floor = slope * (along - 0.5).clamp(0.0, 1.0);
        (x[0], x[1]) = (along, floor + 1.5 * j as f64 / 20.0);
    }
    let mut solver = LaxWendroffSolver::new(grid, channel(2.0, 3.0), coarse(2), team(1)).unwrap();
    solver.run(|_| true);
    // Pressures 1.7066 and 0.5480 times the stream's, 1 / gamma, over gamma M^2 / 2 times it.
    let (drag, known) = (solver.forces().total.cd, (1.7066 - 0.5480) * slope / 2.8);
    assert!((drag / known - 1.0).abs() < 0.01, "{drag}, {known}");
}

/// An isentropic vortex that drifts through a periodic box: of second order in space and time together.
#[test]
fn vortex_transport() {
    let (mach, beta, radius, time) = (0.5, 0.2, 0.12, 0.5);
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
    for n in [32, 64] {
        let grid = BoxGrid { cells: [n, n, 1], size: [1.0, 1.0, 1.0], wave: 0.0 }.grid();
        let grid = grid.periodic("xmin", "xmax").unwrap().periodic("ymin", "ymax").unwrap();
        let config = StructuredConfig {
            freestream: Freestream { mach, ..Freestream::default() },
            boundaries: ["zmin", "zmax"].map(|m| (m.to_owned(), Boundary::Symmetry)).into(),
            time: Time::Unsteady(Unsteady { dt: time / n as f64, steps: n, subiterations: 1, orders: 1.0 }),
            ..StructuredConfig::default()
        };
        let mut solver = LaxWendroffSolver::new(grid, config, FINE, team(1)).unwrap();
        solver.set_state(|x| exact(x, 0.0));
        solver.run(|_| true);
        let pairs = solver.state().into_iter().zip(solver.nodes());
        let sum: f64 = pairs.map(|(q, (x, v))| (q[2] - exact(x, time)[2]).powi(2) * v).sum();
        errors.push(sum.sqrt());
    }
    let order = (errors[0] / errors[1]).log2();
    eprintln!("{errors:?} {order}");
    assert!(order > 1.9, "{errors:?}: order {order}");
}

/// A restart goes on as if nothing had been.
#[test]
fn restarts() {
    let make = || {
        let grid = SmoothChannel { cells: [24, 8] }.grid().split(0, 0, 10).unwrap();
        LaxWendroffSolver::new(grid, channel(0.5, 6.0), coarse(1), team(1)).unwrap()
    };
    let (mut one, mut two) = (make(), make());
    for _ in 0..6 {
        one.step();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.safetensors");
    one.restart().write(&path, &one.restart_places()).unwrap();
    two.resume(&crate::output::Restart::read(&path, &two.restart_places()).unwrap()).unwrap();
    for _ in 0..3 {
        let (a, b) = (one.step(), two.step());
        assert_eq!((a.iteration, a.residual), (b.iteration, b.residual));
    }
    let bad = crate::output::Restart::default();
    assert!(two.resume(&bad).unwrap_err().to_string().contains("conserved"));
}

/// Slope of Blasius' profile by eta, of f''' + f f'' / 2 = 0, in steps of 0.01.
fn blasius_profile() -> Vec<f64> {
    let (h, mut y) = (0.01, [0.0, 0.0, 0.332_057_3]);
    let slope = |y: [f64; 3]| [y[1], y[2], -0.5 * y[0] * y[2]];
    let mut out = vec![0.0];
    for _ in 0..1000 {
        let ahead = |k: [f64; 3], by: f64| std::array::from_fn::<f64, 3, _>(|i| y[i] + by * k[i]);
        let k1 = slope(y);
        let k2 = slope(ahead(k1, 0.5 * h));
        let k3 = slope(ahead(k2, 0.5 * h));
        let k4 = slope(ahead(k3, h));
        y = std::array::from_fn(|i| y[i] + h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]));
        out.push(y[1]);
    }
    out
}

/// Friction of the flat plate within 1 % of Blasius' from a fifth of the plate on, but for the last fifth, where neighbors
/// alternate at the outlet. It starts from his profile: explicit steps would take a layer as thin as this one from nothing to
/// its end in some ten thousands.
#[test]
fn blasius() {
    let (mach, reynolds): (f64, f64) = (0.4, 2e4);
    let profile = blasius_profile();
    let out = Boundary::Outlet { pressure: 1.0 };
    let sides = [
        channel_sides(mach)[0],
        ("outlet", out),
        ("top", out),
        ("symmetry", Boundary::Symmetry),
        ("wall", Boundary::NoSlipAdiabatic),
    ];
    let mut config = channel(mach, 6.0);
    config.boundaries = sides.into_iter().map(|(n, b)| (n.to_owned(), b)).collect();
    config.equations = Equations::Laminar;
    config.freestream.reynolds = reynolds;
    config.time = Time::Steady(Steady { iterations: 8000, orders: 6.0 });
    config.scheme = Scheme::Scalar(Dissipation { fourth: 1.0 / 128.0, ..Dissipation::DEFAULT });
    let grid = FlatPlate { cells: [12, 30, 30], height: 0.5, growth: 1.15 }.grid();
    let mut solver = LaxWendroffSolver::new(grid, config, FINE, team(1)).unwrap();
    solver.set_state(|[x, y, _]| {
        let eta = if x > 0.0 { y * (reynolds / x).sqrt() } else { 10.0 };
        let u = if x == 0.0 && y == 0.0 { 0.0 } else { profile[((100.0 * eta) as usize).min(1000)] };
        let t = 1.0 + 0.85 * 0.2 * mach * mach * (1.0 - u * u);
        conserved(Gas::AIR, &[1.0 / t, mach * u, 0.0, 0.0, 1.0 / 1.4])
    });
    let mut last = None;
    solver.run(|report| {
        last = Some((report.iteration, report.orders));
        true
    });
    let friction = solver.skin_friction("wall");
    let ratios: Vec<f64> =
        friction.iter().map(|(x, cf)| cf[0] * (reynolds * x[0]).sqrt() / 0.664_114_7).collect();
    eprintln!("{last:?}: friction over Blasius' {ratios:.3?}");
    for ((x, _), ratio) in friction.iter().zip(&ratios) {
        let inside = (0.18..0.8).contains(&x[0]);
        assert!(!inside || (ratio - 1.0).abs() < 0.01, "x = {}: {ratio}", x[0]);
    }
}

/// A weak shear wave in a periodic box, oblique to the grid, decays as exp(-nu k^2 t): of second order in space and time
/// together.
#[test]
fn shear_wave() {
    let (mach, reynolds, weak, time) = (0.2, 20.0, 1e-4, 1.0);
    let k = std::f64::consts::TAU;
    // The part of v; nu = mach / reynolds.
    let exact = |x: [f64; 3], t: f64| {
        let decay = (-mach / reynolds * 2.0 * k * k * t).exp();
        weak * decay * (k * (x[0] - mach * t + x[1])).sin()
    };
    let mut errors = Vec::new();
    for n in [16, 32] {
        let grid = BoxGrid { cells: [n, n, 1], size: [1.0, 1.0, 1.0], wave: 0.0 }.grid();
        let grid = grid.periodic("xmin", "xmax").unwrap().periodic("ymin", "ymax").unwrap();
        let config = StructuredConfig {
            freestream: Freestream { mach, reynolds, ..Freestream::default() },
            equations: Equations::Laminar,
            scheme: Scheme::Scalar(Dissipation { fourth: 1.0 / 256.0, ..Dissipation::DEFAULT }),
            boundaries: ["zmin", "zmax"].map(|m| (m.to_owned(), Boundary::Symmetry)).into(),
            time: Time::Unsteady(Unsteady { dt: time / n as f64, steps: n, subiterations: 1, orders: 1.0 }),
            ..StructuredConfig::default()
        };
        let mut solver = LaxWendroffSolver::new(grid, config, FINE, team(1)).unwrap();
        solver.set_state(|x| {
            let wave = exact(x, 0.0);
            conserved(Gas::AIR, &[1.0, mach - wave, wave, 0.0, 1.0 / 1.4])
        });
        solver.run(|_| true);
        let pairs = solver.state().into_iter().zip(solver.nodes());
        let sum: f64 = pairs.map(|(q, (x, v))| (q[2] / q[0] - exact(x, time)).powi(2) * v).sum();
        errors.push(sum.sqrt() / weak);
    }
    let order = (errors[0] / errors[1]).log2();
    eprintln!("{errors:?} {order}");
    assert!(order > 1.8, "{errors:?}: order {order}");
}
