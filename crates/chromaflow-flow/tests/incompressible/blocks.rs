//! Many blocks are one.

use super::converged;
use chromaflow_flow::bc::Motion;
use chromaflow_flow::grid::Grid;
use chromaflow_flow::grid::generate::BoxGrid;
use chromaflow_flow::incompressible::{Boundary, Config, Given, Scalar, WallScalar};

fn config() -> Config {
    let mut config = Config::default();
    config.fluid.viscosity = 0.02;
    config.fluid.scalars = vec![Scalar {
        name: "temperature".into(),
        diffusivity: 0.03,
        buoyancy: [0.0, 0.5, 0.0],
        reference: 0.0,
    }];
    config.initial = vec![0.0, 1.0];
    let wall =
        Boundary::Wall { motion: Motion::straight([0.3, 0.0, 0.0]), scalars: vec![WallScalar::Value(1.0)] };
    config.boundaries = [
        ("xmin", Boundary::Inflow(Given::Same(vec![1.0, 0.0, 0.0, 0.0]))),
        ("xmax", Boundary::Outflow { pressure: 0.0 }),
        ("ymin", wall),
        ("ymax", Boundary::WALL),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::WALL),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    config
}

/// State by place, in an order that does not depend on blocks.
fn solution(grid: &Grid) -> Vec<([i64; 3], Vec<f64>)> {
    let solver = converged(grid, config(), 9.0);
    let key = |x: &[f64; 3]| x.map(|c| (c * 1e9).round() as i64);
    let mut cells: Vec<_> = solver
        .centers()
        .iter()
        .map(key)
        .zip(solver.state().chunks(solver.unknowns()).map(<[f64]>::to_vec))
        .collect();
    cells.sort_by_key(|c| c.0);
    cells
}

#[test]
fn split_and_turned_blocks_give_the_flow_of_one() {
    let whole = BoxGrid { cells: [12, 8, 6], size: [2.0, 1.0, 0.8], wave: 0.03 }.grid();
    let cut = whole.clone().split(0, 0, 5).unwrap().split(1, 1, 3).unwrap().split(0, 2, 2).unwrap();
    let cut = cut.reorient(1, [2, 0, 1], [true, false, true]).reorient(2, [1, 0, 2], [false, true, false]);
    cut.check().unwrap();
    let (one, many) = (solution(&whole), solution(&cut));
    let mut worst = 0.0_f64;
    for ((x, a), (y, b)) in one.iter().zip(&many) {
        assert_eq!(x, y);
        worst = a.iter().zip(b).fold(worst, |w, (a, b)| w.max((a - b).abs()));
    }
    println!("largest difference {worst:e}");
    assert!(worst < 1e-8);
}
