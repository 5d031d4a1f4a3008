//! Quadratic constitutive relations where they act, friction of laws of the wall in the matrix, Newton-Krylov steps.

use super::turbulence::channel_case;
use super::*;
use crate::bc::Motion;
use crate::config::{Cfl, NewtonKrylov, Quadratic, Steady, TurbulenceConfig, TurbulenceModel, WallTreatment};
use chromaflow::Outcome;

/// A quarter of a square duct of half width 1, periodic along it, that a force drives at a friction Reynolds number of 300, with laws of the wall.
fn duct(quadratic: Quadratic) -> Solver {
    let grid =
        BoxGrid { cells: [1, 16, 16], size: [1.0; 3], wave: 0.0 }.grid().periodic("xmin", "xmax").unwrap();
    let mut config = Config { force: [2.0, 0.0, 0.0], ..Config::default() };
    config.fluid.viscosity = 1.0 / 300.0;
    config.fluid.compressibility = 300.0;
    config.initial = vec![0.0, 15.0];
    config.reference.velocity = 15.0;
    let walls = WallTreatment::Automatic;
    config.turbulence = Some(TurbulenceConfig { quadratic, walls, ..TurbulenceConfig::default() });
    config.boundaries = [
        ("ymin", Boundary::WALL),
        ("zmin", Boundary::WALL),
        ("ymax", Boundary::Symmetry),
        ("zmax", Boundary::Symmetry),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    newton(&mut config, 1e5);
    config.time = Time::Steady(Steady { iterations: 150, orders: 8.0 });
    Solver::new(&grid, config, Arc::new(Team::new(2))).unwrap()
}

/// Newton-Krylov steps as cases have them.
pub(super) fn newton(config: &mut Config, max: f64) {
    config.implicit.newton = Some(NewtonKrylov::default());
    config.implicit.cfl = Cfl { start: 5.0, max, growth: 2.0, ..config.implicit.cfl };
}

/// Stresses of an eddy viscosity leave a duct's flow straight; quadratic ones drive vortices towards the corner along the diagonal, of one or some percent of the mean
/// velocity, as measured (Gavrilakis 1992: 1.9 % of the bulk velocity at a friction Reynolds number of 300).
#[test]
fn ducts_have_vortices_in_corners_by_quadratic_stresses() {
    let across = [Quadratic::None, Quadratic::Qcr2000, Quadratic::Qcr2020].map(|quadratic| {
        let mut solver = duct(quadratic);
        let outcome = solver.run(|_| true);
        assert_eq!(outcome, Outcome::Converged, "{quadratic:?}");
        let drag = 0.5 * 15.0 * 15.0 * solver.forces().viscous.force[0];
        assert!((drag / 2.0 - 1.0).abs() < 1e-6, "{quadratic:?}: {drag}");
        let (state, places) = (solver.state(), solver.centers());
        let bulk = state.chunks(5).map(|q| q[1]).sum::<f64>() / places.len() as f64;
        let largest = state.chunks(5).map(|q| q[2].hypot(q[3])).fold(0.0, f64::max) / bulk;
        // On the diagonal half way to the corner, where the flow goes towards it.
        let at = places.iter().position(|x| (x[1] - 0.40625).abs() < 1e-9 && (x[2] - 0.40625).abs() < 1e-9);
        let q = &state[5 * at.unwrap()..][..5];
        println!("{quadratic:?}: bulk {bulk:.3}, across {largest:.5}, on the diagonal {:.5}", q[2] / bulk);
        (largest, q[2] / bulk, (q[2] - q[3]).abs() / bulk)
    });
    assert!(across[0].0 < 1e-6, "{across:?}");
    for (largest, towards, skew) in &across[1..] {
        assert!((0.005..0.04).contains(largest) && *towards < -0.002 && *skew < 1e-6, "{across:?}");
    }
}

/// The matrix has the derivative of a law's friction by the velocity of the first cell, along the wall and across it: that of differences, where nothing else varies along the wall.
#[test]
fn the_matrix_has_the_friction_of_laws() {
    for model in [TurbulenceModel::SaNeg, TurbulenceModel::Sst] {
        let grid = BoxGrid { cells: [6, 6, 4], size: [1.0, 1.0, 0.5], wave: 0.0 }.grid();
        let grid = grid.periodic("xmin", "xmax").unwrap().periodic("ymin", "ymax").unwrap();
        let mut config = Config::default();
        config.fluid.viscosity = 1e-4;
        config.boundaries =
            [("zmin".to_owned(), Boundary::WALL), ("zmax".to_owned(), Boundary::Symmetry)].into();
        config.turbulence =
            Some(TurbulenceConfig { model, walls: WallTreatment::Functions, ..TurbulenceConfig::default() });
        config.implicit.cfl = Cfl { start: f64::INFINITY, max: f64::INFINITY, ..config.implicit.cfl };
        config.space.second_order = false;
        let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1))).unwrap();
        let of_model: &[f64] = if model.is_spalart_allmaras() { &[20.0] } else { &[1e-3, 3.0] };
        solver.set_state(|_| [0.0, 0.8, 0.6, 0.0].into_iter().chain(of_model.iter().copied()).collect());
        let (n, centers, base) = (solver.unknowns(), solver.centers(), solver.state());
        let first = |row: usize| centers[row][2] < 0.1;
        for along in [1, 2] {
            let direction: Vec<f64> =
                (0..base.len()).map(|i| if i % n == along && first(i / n) { 1.0 } else { 0.0 }).collect();
            let (matrix, _) = solver.linear_system();
            let mut product = vec![0.0; base.len()];
            matrix.multiply(&Team::new(1), &direction, &mut product);
            let mut at = |h: f64| {
                let moved: Vec<f64> = base.iter().zip(&direction).map(|(b, d)| b + h * d).collect();
                solver.host.set_rows(&moved);
                solver.steady_residual()
            };
            let (h, mut seen) = (1e-5, 0);
            let (up, down) = (at(h), at(-h));
            for row in (0..centers.len()).filter(|&row| first(row)) {
                for c in [1, 2] {
                    let (i, area) = (row * n + c, 1.0 / 36.0);
                    let difference = (up[i] - down[i]) / (2.0 * h);
                    assert!(
                        (product[i] - difference).abs() < 1e-6 * area,
                        "{model:?}: {} {difference}",
                        product[i]
                    );
                    seen += usize::from(difference.abs() > 1e-4 * area);
                }
            }
            assert!(seen > 60, "{seen}");
            solver.host.set_rows(&base);
        }
    }
}

/// Channels on cells that resolve the wall and, with laws, on coarse ones reach ten orders in a hundred steps or so, where plain steps take some hundred to thousands.
#[test]
fn newton_steps_converge_with_laws_of_the_wall() {
    for (model, cells, growth, walls, most) in [
        (TurbulenceModel::Sst, 96, 1.08, WallTreatment::Resolved, 120),
        (TurbulenceModel::SaNeg, 32, 1.0, WallTreatment::Automatic, 60),
        (TurbulenceModel::Sst, 32, 1.0, WallTreatment::Functions, 150),
        (TurbulenceModel::Sst, 100, 1.0, WallTreatment::Functions, 150),
    ] {
        let (grid, mut config) = channel_case(model, 5000.0, (cells, growth), walls);
        newton(&mut config, 1e6);
        config.time = Time::Steady(Steady { iterations: most, orders: 10.0 });
        let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1))).unwrap();
        let mut last = None;
        let outcome = solver.run(|report| {
            last = Some(report.clone());
            true
        });
        let last = last.unwrap();
        println!("{model:?}, {cells} cells, {walls:?}: {} steps, {:?}", last.iteration, last.coupled_orders);
        assert_eq!(outcome, Outcome::Converged, "{model:?}, {cells}, {walls:?}: {last:?}");
    }
}

/// Channels with a law of the wall become turbulent, with a few cells and begun too slow or too fast, by default settings.
#[test]
fn driven_channels_do_not_run_away() {
    for model in [TurbulenceModel::KOmega, TurbulenceModel::Sst, TurbulenceModel::SaNeg] {
        for (cells, reynolds, speed) in
            [(16, 5000.0, 0.5), (32, 50_000.0, 1.5), (64, 5000.0, 1.5), (32, 1000.0, 1.0)]
        {
            let (grid, mut config) = channel_case(model, reynolds, (cells, 1.0), WallTreatment::Automatic);
            let middle = f64::ln(reynolds) / 0.41 + 5.0;
            config.initial = vec![0.0, speed * middle];
            config.reference.velocity = speed * middle;
            newton(&mut config, 1e6);
            config.time = Time::Steady(Steady { iterations: 300, orders: 10.0 });
            let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1))).unwrap();
            let outcome = solver.run(|_| true);
            let found = solver.state()[(solver.centers().len() - 1) * solver.unknowns() + 1];
            let what =
                format!("{model:?}, {cells} cells, {reynolds}, {speed}: {found} in the middle, law {middle}");
            println!("{what}, {} iterations", solver.iteration());
            assert_eq!(outcome, Outcome::Converged, "{what}");
            assert!((found / middle - 1.0).abs() < 0.08, "{what}");
        }
    }
}

/// Air at rest between a hot and a cold wall: Newton-Krylov steps set it in motion, of which its residual has nothing at first. The heat that passes is de
/// Vahl Davis's (1983) at a Rayleigh number of 1e4, 2.243, but for the coarse grid.
#[test]
fn newton_krylov_steps_leave_rest() {
    let grid = BoxGrid { cells: [24, 24, 1], size: [1.0; 3], wave: 0.0 }.grid();
    let (mut config, diffusivity) = (Config { initial: Vec::new(), ..Config::default() }, 0.011_867_8);
    config.fluid.viscosity = 0.71 * diffusivity;
    let (name, buoyancy) = ("temperature".to_owned(), [0.0, 1.0, 0.0]);
    config.fluid.scalars = vec![Scalar { name, diffusivity, buoyancy, reference: 0.0 }];
    let wall = |value| Boundary::Wall {
        motion: Motion::straight([0.0; 3]),
        scalars: vec![WallScalar::Value(value)],
    };
    config.boundaries = [
        ("xmin", wall(0.5)),
        ("xmax", wall(-0.5)),
        ("ymin", Boundary::WALL),
        ("ymax", Boundary::WALL),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Symmetry),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    newton(&mut config, 1e5);
    config.time = Time::Steady(Steady { iterations: 100, orders: 8.0 });
    let mut solver = Solver::new(&grid, config, Arc::new(Team::new(2))).unwrap();
    assert_eq!(solver.run(|_| true), Outcome::Converged);
    let rising = solver.state().chunks(5).map(|q| q[2]).fold(0.0, f64::max);
    assert!((0.15..0.25).contains(&rising), "{rising}: 19.6 diffusivities are 0.233");
}
