//! The lid-driven cavity of Ghia, Ghia & Shin (1982) and the heated one of de Vahl Davis (1983); at Ra 1e6 of Le Quere (1991).

use super::{converged, interpolate};
use chromaflow_flow::bc::Motion;
use chromaflow_flow::grid::generate::Cavity;
use chromaflow_flow::incompressible::{Boundary, Config, Scalar, Solver, WallScalar};

/// The velocity on the two center lines: y and u at x = 1/2, x and v at y = 1/2, walls included, where u is `walls`. The
/// number of cells is odd, so that cells lie on the lines.
fn center_lines(solver: &Solver, cells: usize, walls: [f64; 2]) -> [(Vec<f64>, Vec<f64>); 2] {
    let (state, centers, n) = (solver.state(), solver.centers(), solver.unknowns());
    [(1, 1, walls), (0, 2, [0.0; 2])].map(|(axis, component, [first, last])| {
        let (mut points, mut values) = (vec![0.0], vec![first]);
        for m in 0..cells {
            let cell = if axis == 1 { cells / 2 + cells * m } else { m + cells * (cells / 2) };
            assert!((centers[cell][1 - axis] - 0.5).abs() < 1e-12);
            points.push(centers[cell][axis]);
            values.push(state[n * cell + component]);
        }
        points.push(1.0);
        values.push(last);
        (points, values)
    })
}

const Y: [f64; 15] = [
    0.0547, 0.0625, 0.0703, 0.1016, 0.1719, 0.2813, 0.4531, 0.5, 0.6172, 0.7344, 0.8516, 0.9531, 0.9609,
    0.9688, 0.9766,
];
const X: [f64; 15] = [
    0.0625, 0.0703, 0.0781, 0.0938, 0.1563, 0.2266, 0.2344, 0.5, 0.8047, 0.8594, 0.9063, 0.9453, 0.9531,
    0.9609, 0.9688,
];

/// Ghia's u at Y and v at X. The v at Re 400 and x = 0.9063, -0.23827, breaks its line's trend and is left out.
const TABLES: [(f64, [f64; 15], [f64; 15]); 3] = [
    (
        100.0,
        [
            -0.03717, -0.04192, -0.04775, -0.06434, -0.10150, -0.15662, -0.21090, -0.20581, -0.13641,
            0.00332, 0.23151, 0.68717, 0.73722, 0.78871, 0.84123,
        ],
        [
            0.09233, 0.10091, 0.10890, 0.12317, 0.16077, 0.17507, 0.17527, 0.05454, -0.24533, -0.22445,
            -0.16914, -0.10313, -0.08864, -0.07391, -0.05906,
        ],
    ),
    (
        400.0,
        [
            -0.08186, -0.09266, -0.10338, -0.14612, -0.24299, -0.32726, -0.17119, -0.11477, 0.02135, 0.16256,
            0.29093, 0.55892, 0.61756, 0.68439, 0.75837,
        ],
        [
            0.18360,
            0.19713,
            0.20920,
            0.22965,
            0.28124,
            0.30203,
            0.30174,
            0.05186,
            -0.38598,
            -0.44993,
            f64::NAN,
            -0.22847,
            -0.19254,
            -0.15663,
            -0.12146,
        ],
    ),
    (
        1000.0,
        [
            -0.18109, -0.20196, -0.22220, -0.29730, -0.38289, -0.27805, -0.10648, -0.06080, 0.05702, 0.18719,
            0.33304, 0.46604, 0.51117, 0.57492, 0.65928,
        ],
        [
            0.27485, 0.29012, 0.30353, 0.32627, 0.37095, 0.33075, 0.32235, 0.02526, -0.31966, -0.42665,
            -0.51550, -0.39188, -0.33714, -0.27669, -0.21388,
        ],
    ),
];

/// Largest differences of u and v on the center lines from Ghia's table.
fn lid_driven(table: usize, cells: usize, clustering: f64) -> [f64; 2] {
    let (reynolds, u_table, v_table) = TABLES[table];
    let grid = Cavity { cells: [cells; 2], clustering }.grid();
    let mut config = Config::default();
    config.fluid.viscosity = 1.0 / reynolds;
    let lid = Boundary::Wall { motion: Motion::straight([1.0, 0.0, 0.0]), scalars: vec![] };
    config.boundaries = [("wall".into(), Boundary::WALL), ("lid".into(), lid)].into();
    let solver = converged(&grid, config, 5.0);
    let [(y, u), (x, v)] = center_lines(&solver, cells, [0.0, 1.0]);
    let worst = |table: &[f64], points: &[f64], line: &[f64], at: &[f64]| {
        let off = table.iter().zip(at).map(|(t, &a)| (interpolate(points, line, a) - t).abs());
        off.filter(|off| off.is_finite()).fold(0.0, f64::max)
    };
    let off = [worst(&u_table, &y, &u, &Y), worst(&v_table, &x, &v, &X)];
    println!("Re {reynolds}: largest differences from Ghia et al.: u {:.5}, v {:.5}", off[0], off[1]);
    off
}

#[test]
fn lid_driven_cavity_at_reynolds_100() {
    let off = lid_driven(0, 41, 1.2);
    assert!(off[0] < 0.005 && off[1] < 0.0095, "{off:?}");
}

#[test]
fn lid_driven_cavity_at_reynolds_400() {
    let off = lid_driven(1, 47, 1.4);
    assert!(off[0] < 0.006 && off[1] < 0.009, "{off:?}");
}

#[test]
fn lid_driven_cavity_at_reynolds_1000() {
    let off = lid_driven(2, 55, 1.6);
    assert!(off[0] < 0.01 && off[1] < 0.018, "{off:?}");
}

/// Nusselt number of the hot wall, largest u on the vertical center line, largest v on the horizontal one, in units of
/// diffusivity over height.
fn heated(rayleigh: f64, (cells, clustering, orders): (usize, f64, f64)) -> [f64; 3] {
    let mut grid = Cavity { cells: [cells; 2], clustering }.grid();
    for patch in &mut grid.patches {
        match (patch.window.side.axis, patch.window.side.high) {
            (0, false) => patch.name = "hot".into(),
            (0, true) => patch.name = "cold".into(),
            (1, _) => patch.name = "insulated".into(),
            _ => {}
        }
    }
    // Velocities over those of free fall.
    let prandtl = 0.71_f64;
    let unit = (rayleigh * prandtl).sqrt();
    let mut config = Config::default();
    config.fluid.viscosity = prandtl / unit;
    config.fluid.scalars = vec![Scalar {
        name: "temperature".into(),
        diffusivity: 1.0 / unit,
        buoyancy: [0.0, 1.0, 0.0],
        reference: 0.0,
    }];
    let wall = |t| Boundary::Wall { motion: Motion::straight([0.0; 3]), scalars: vec![WallScalar::Value(t)] };
    config.boundaries =
        [("hot".into(), wall(0.5)), ("cold".into(), wall(-0.5)), ("insulated".into(), Boundary::WALL)].into();
    let solver = converged(&grid, config, orders);
    let [hot, cold] = ["hot", "cold"].map(|wall| solver.outflow(wall)[1] * unit);
    assert!((hot + cold).abs() < 1e-4 * cold, "what enters leaves: {hot} {cold}");
    assert!(solver.outflow("insulated")[1].abs() < 1e-14);
    let lines = center_lines(&solver, cells, [0.0; 2]);
    let largest = lines.map(|(points, values)| {
        // Between points, too.
        (0..=1000).map(|i| interpolate(&points, &values, f64::from(i) / 1000.0)).fold(0.0, f64::max) * unit
    });
    println!("Ra {rayleigh}: Nu {cold:.4}, u {:.4}, v {:.4}", largest[0], largest[1]);
    [cold, largest[0], largest[1]]
}

#[test]
fn heated_cavity_at_rayleigh_1e3_to_1e6() {
    let cases = [
        (1e3, (21, 1.0, 6.0), [1.118, 3.649, 3.697]),
        (1e4, (33, 1.0, 6.0), [2.243, 16.178, 19.617]),
        (1e5, (41, 1.0, 6.0), [4.519, 34.73, 68.59]),
        (1e6, (55, 1.6, 7.0), [8.825, 64.83, 220.6]),
    ];
    for (rayleigh, shape, expected) in cases {
        let found = heated(rayleigh, shape);
        for (f, e) in found.iter().zip(expected) {
            assert!((f / e - 1.0).abs() < 0.008, "{found:?}, expected {expected:?}");
        }
    }
}
