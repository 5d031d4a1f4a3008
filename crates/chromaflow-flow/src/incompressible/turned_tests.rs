//! Sectors whose sides are turned, beside the rings that they are part of; Couette's flow between cylinders.

use super::*;
use crate::bc::Motion;
use crate::config::{Cfl, Steady, Time};
use crate::grid::Grid;
use crate::testmesh::{arc, off_turned, ring_of, sector, swirling};
use chromaflow::Outcome;
use chromaflow_device::Team;
use std::sync::Arc;

fn set_up(scalars: usize) -> Config {
    let mut config = Config::default();
    (config.fluid.viscosity, config.fluid.compressibility) = (0.02, 1.3);
    for m in 0..scalars {
        config.fluid.scalars.push(Scalar {
            diffusivity: 0.01,
            buoyancy: [0.3, 0.0, 0.0],
            ..Scalar::default()
        });
        config.fluid.scalars[m].name = format!("s{m}");
    }
    let state: Vec<f64> = [0.1, 0.5, 0.0, 0.0].into_iter().chain((0..scalars).map(|m| m as f64)).collect();
    config.boundaries = [
        ("xmin", Boundary::WALL),
        (
            "xmax",
            Boundary::Wall {
                motion: Motion::straight([0.2, 0.0, 0.0]),
                scalars: vec![WallScalar::Value(0.4); scalars],
            },
        ),
        ("zmin", Boundary::Inflow(Given::Same(state[1..].to_vec()))),
        ("zmax", Boundary::Farfield(state)),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    config
}

fn swirled(grid: &Grid, config: &Config, n: usize) -> Solver {
    let mut solver = Solver::new(grid, config.clone(), Arc::new(Team::new(2))).unwrap();
    let count = solver.unknowns();
    solver.set_state(|x| {
        let w = swirling(x, n);
        let scalars = (4..count).map(|m| w[0] * m as f64);
        [w[4], w[1], w[2], w[3]].into_iter().chain(scalars).collect()
    });
    solver
}

/// Residuals, and products with the matrix, of sectors of one block and more, one or two cells wide among them.
#[test]
fn sectors_have_the_system_of_their_ring() {
    for (cells, n) in [([6, 5, 4], 9), ([4, 2, 5], 6), ([5, 1, 4], 12), ([3, 4, 4], 2)] {
        for (scalars, split) in [(0, false), (2, true)] {
            let mut one = sector(cells, n).periodic("ymin", "ymax").unwrap();
            if split {
                one = one.split(0, 0, 1).unwrap().split(0, 2, 2).unwrap();
                one = one.reorient(1, [1, 2, 0], [true, false, false]);
            }
            for flux in [config::Flux::Roe, config::Flux::Central { fourth: 0.03, convective: 0.1 }] {
                let mut config = set_up(scalars);
                config.space.flux = flux;
                let [mut one, mut all] =
                    [one.clone(), ring_of(&one, n)].map(|grid| swirled(&grid, &config, n));
                let count = one.unknowns();
                let residual = off_turned(count, &one.steady_residual(), &all.steady_residual(), n);
                let product = |solver: &mut Solver| {
                    let (matrix, _) = solver.linear_system();
                    let x = |x: [f64; 3]| {
                        let w = swirling([x[0] + 0.1, x[1], x[2]], n);
                        let scalars = (4..count).map(|m| w[4] * m as f64).collect::<Vec<_>>();
                        [w[0], w[1], w[2], w[3]].into_iter().chain(scalars)
                    };
                    let x: Vec<f64> = solver.centers().into_iter().flat_map(x).collect();
                    let mut y = vec![0.0; x.len()];
                    matrix.multiply(&Team::new(1), &x, &mut y);
                    y
                };
                let product = off_turned(count, &product(&mut one), &product(&mut all), n);
                assert!(residual < 1e-12 && product < 1e-12, "{cells:?}, {n}: {residual:e}, {product:e}");
            }
        }
    }
}

/// A converged flow, and that of the ring.
#[test]
fn steady_flow_of_a_sector_is_that_of_its_ring() {
    let n = 5;
    let sector = sector([6, 4, 8], n).periodic("ymin", "ymax").unwrap();
    let mut config = set_up(0);
    config.boundaries.insert("zmax".into(), Boundary::Outflow { pressure: 0.0 });
    // A stream that swirls, by place in a sector and in the ring alike.
    let spin = |x: [f64; 3], _: f64| vec![0.5, -0.4 * x[2], 0.4 * x[1]];
    config.boundaries.insert("zmin".into(), Boundary::Inflow(Given::By(Arc::new(spin))));
    config.implicit.cfl = Cfl { start: 5.0, min: 0.1, max: 200.0, growth: 1.5, adaptive: true };
    config.time = Time::Steady(Steady { iterations: 600, orders: 11.0 });
    let [one, all] = [sector.clone(), ring_of(&sector, n)].map(|grid| {
        let mut solver = Solver::new(&grid, config.clone(), Arc::new(Team::new(2))).unwrap();
        let outcome = solver.run(|_| true);
        assert_eq!(outcome, Outcome::Converged, "after {}", solver.iteration());
        eprintln!("{} iterations", solver.iteration());
        solver.state()
    });
    let off = off_turned(4, &one, &all, n);
    assert!(off < 1e-8, "{off:e}");
}

/// Between an inner cylinder that turns and an outer one at rest: u = A r + B / r, of second order.
#[test]
fn couette_flow_between_cylinders() {
    let speed = 0.5;
    let b = speed / (1.0 - 0.25);
    let exact = |r: f64| -0.25 * b * r + b / r;
    let errors = [8, 16].map(|cells| {
        let mut config = Config::default();
        (config.fluid.viscosity, config.fluid.compressibility) = (0.05, 0.5);
        let turns = move |x: [f64; 3], _: f64| vec![-speed * x[1], speed * x[0], 0.0];
        config.boundaries = [
            ("inner", Boundary::Inflow(Given::By(Arc::new(turns)))),
            ("outer", Boundary::WALL),
            ("front", Boundary::Symmetry),
            ("back", Boundary::Symmetry),
        ]
        .map(|(name, boundary)| (name.to_owned(), boundary))
        .into();
        config.implicit.cfl = Cfl { start: 5.0, min: 0.1, max: 500.0, growth: 1.5, adaptive: true };
        config.time = Time::Steady(Steady { iterations: 600, orders: 8.0 });
        let mut solver = Solver::new(&arc([cells, cells / 2], 0.7), config, Arc::new(Team::new(2))).unwrap();
        let outcome = solver.run(|_| true);
        assert_eq!(outcome, Outcome::Converged, "after {}", solver.iteration());
        let mut sum = 0.0;
        for (q, x) in solver.state().chunks_exact(4).zip(solver.centers()) {
            let r = x[0].hypot(x[1]);
            let u = [-exact(r) * x[1] / r, exact(r) * x[0] / r];
            sum += (q[1] - u[0]).powi(2) + (q[2] - u[1]).powi(2);
        }
        (sum / (solver.state().len() / 4) as f64).sqrt()
    });
    let order = (errors[0] / errors[1]).log2();
    eprintln!("{errors:?}, order {order}");
    assert!(order > 1.8 && errors[1] < 2e-3, "{errors:?}, order {order}");
}

#[test]
fn what_points_across_the_axis_is_told() {
    let grid = sector([4, 4, 4], 5).periodic("ymin", "ymax").unwrap();
    let refused = |change: &dyn Fn(&mut Config), expect: &str| {
        let mut config = set_up(1);
        change(&mut config);
        let error = Solver::new(&grid, config, Arc::new(Team::new(1))).err().expect("refused").to_string();
        assert!(error.contains(expect) && error.contains("[1.0, 0.0, 0.0]"), "{error}");
    };
    let across = Boundary::Wall { motion: Motion::straight([0.0, 0.1, 0.0]), scalars: vec![] };
    refused(&|c| _ = c.boundaries.insert("xmin".into(), across.clone()), "of `xmin`");
    let state = vec![0.0, 1.0, 0.1, 0.0, 0.0];
    refused(&|c| _ = c.boundaries.insert("zmax".into(), Boundary::Farfield(state.clone())), "of `zmax`");
    refused(&|c| c.fluid.scalars[0].buoyancy = [0.0, 0.0, 1.0], "buoyancy");
    refused(&|c| c.space.limited = true, "limiter");
}
