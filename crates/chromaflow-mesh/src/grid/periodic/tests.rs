//! Sides that are turned: what is found of them, ghosts, mistakes.

use super::super::generate::BoxGrid;
use super::super::{Block, Exchange, Metrics, Patch};
use super::*;
use crate::periodic::product;

/// One of `n` sectors about an axis through a point, with curved sides `ymin` and `ymax`; `angle` of each.
fn sector(cells: [usize; 3], axis: [f64; 3], angle: f64) -> Grid {
    let mut grid = BoxGrid { cells, size: [1.0; 3], wave: 0.03 }.grid();
    let around = Rotation { point: [0.3, -0.2, 0.5], axis, angle: 1.0 };
    let out = if axis[0].abs() > 0.9 { [0.0, 1.0, 0.0] } else { [1.0, 0.0, 0.0] };
    let along = product(&around.along(), out);
    let out: [f64; 3] = std::array::from_fn(|d| out[d] - along[d]);
    for x in &mut grid.blocks[0].nodes {
        let turn = Rotation { angle: angle * x[1] + 0.1 * (3.0 * x[2] + x[0]).sin(), ..around };
        let place = std::array::from_fn(|d| {
            around.point[d] + (0.6 + x[0] + 0.05 * x[2]) * out[d] + (x[2] + 0.1 * x[0]) * axis[d]
        });
        *x = turn.moved(1, place);
    }
    grid
}

/// Sides that are turned are found, whatever the axis, in blocks of any orientation; places of ghosts, and vectors, are turned.
#[test]
fn turned_sides_of_any_axis() {
    for axis in [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [2.0 / 7.0, 3.0 / 7.0, 6.0 / 7.0]] {
        for (n, count) in [(2.0, 6), (9.0, 2), (24.0, 1), (5.3, 3)] {
            let angle = std::f64::consts::TAU / n;
            let grid = sector([5, count, 4], axis, angle).periodic("ymin", "ymax").unwrap();
            let grid = grid.split(0, 0, 2).unwrap().split(0, 2, 2).unwrap();
            let grid = grid.reorient(1, [2, 0, 1], [true, false, true]);
            grid.check().unwrap();
            let found = grid.rotation().unwrap();
            assert!((found.angle.abs() - angle).abs() < 1e-9 && found.keeps(axis), "{found:?}");
            let off = (0..3).map(|d| (found.axis[d] - axis[d]).abs()).fold(0.0, f64::max);
            assert!(off < 1e-9 && found.radius([0.3, -0.2, 0.5]) < 1e-9, "{found:?}");
            // One cell wide: the second ghosts are turned twice.
            let metrics = Metrics::of_grid(&grid);
            let exchange = Exchange::new(&grid);
            assert_eq!(exchange.matrices().len(), if count == 1 { 4 } else { 2 });
            let state = |x: [f64; 3]| {
                let e: [f64; 3] = std::array::from_fn(|d| x[d] - [0.3, -0.2, 0.5][d]);
                let spin = crate::cross(axis, e);
                [crate::norm(spin), spin[0], spin[1], spin[2], crate::dot(axis, e)]
            };
            let mut fields: Vec<Vec<f64>> = Vec::new();
            let mut rows: Vec<Vec<[f64; 5]>> = Vec::new();
            for m in &metrics {
                let at = |at: usize| state(std::array::from_fn(|c| m.center[c][at]));
                let inside = |n: usize| {
                    let cell = m.cells.cell(n);
                    (0..3).all(|d| (0..m.cells.count[d] as isize).contains(&cell[d]))
                };
                rows.push(
                    (0..m.cells.len()).map(|n| if inside(n) { at(n) } else { [f64::NAN; 5] }).collect(),
                );
                let own = &rows[rows.len() - 1];
                fields.push((0..5).flat_map(|c| own.iter().map(move |q| q[c])).collect());
            }
            exchange.fill_states(&mut fields, 5);
            exchange.fill_rows(&mut rows);
            let mut ghosts = 0;
            for ((m, field), rows) in metrics.iter().zip(&fields).zip(&rows) {
                for (n, row) in rows.iter().enumerate().filter(|(_, row)| row[0].is_finite()) {
                    let exact = state(std::array::from_fn(|c| m.center[c][n]));
                    let cell = m.cells.cell(n);
                    let beyond =
                        (0..3).filter(|&d| !(0..m.cells.count[d] as isize).contains(&cell[d])).count();
                    // Metrics of ghosts beyond more sides are those of grids that go on.
                    if beyond > if count == 1 { 1 } else { 2 } {
                        continue;
                    }
                    for c in 0..5 {
                        assert_eq!(row[c].to_bits(), field[c * rows.len() + n].to_bits());
                        assert!((row[c] - exact[c]).abs() < 1e-12, "{axis:?}, {n}: {row:?} {exact:?}");
                    }
                    ghosts += 1;
                }
            }
            assert!(ghosts > grid.cells() + 2 * 5 * 4);
        }
    }
}

fn is_wrong(error: &GridError, of: impl Fn(&PeriodicError) -> bool) -> bool {
    matches!(error, GridError::Periodic(e) if of(e))
}

/// What does not go together is told, with the points and how far apart they are.
#[test]
fn sides_that_do_not_match_are_told() {
    let axis = [0.0, 0.0, 1.0];
    let grid = || sector([4, 4, 4], axis, 0.7);
    let mut moved = grid();
    let at = moved.blocks[0].index([2, 4, 3]);
    moved.blocks[0].nodes[at][2] += 0.01;
    let error = moved.periodic("ymin", "ymax").unwrap().check().unwrap_err();
    assert!(matches!(&error, GridError::Gap { gap, .. } if *gap > 5e-3 && *gap < 2e-2), "{error}");
    let text = error.to_string();
    assert!(text.contains("[2, 4, 3]") && text.contains("turned by") && text.contains("apart"), "{text}");
    // Sides of which no motion makes one another.
    let mut skew = grid();
    for x in &mut skew.blocks[0].nodes {
        x[0] *= 1.0 + 0.2 * x[1];
    }
    assert!(matches!(skew.periodic("ymin", "ymax").unwrap().check(), Err(GridError::Gap { .. })));
    // A translation across the axis; another rotation.
    let mut two = grid().periodic("ymin", "ymax").unwrap();
    assert!(two.check().is_ok());
    let mut other =
        BoxGrid { cells: [2, 2, 2], size: [1.0; 3], wave: 0.0 }.grid().periodic("xmin", "xmax").unwrap();
    let shifted = |w: Window| Window { block: 1, ..w };
    two.blocks.append(&mut other.blocks);
    two.patches.extend(other.patches.iter().map(|p| Patch { window: shifted(p.window), ..p.clone() }));
    two.interfaces.extend(other.interfaces.iter().map(|i| Interface {
        a: shifted(i.a),
        b: shifted(i.b),
        ..i.clone()
    }));
    let error = two.check().unwrap_err();
    assert!(is_wrong(&error, |e| matches!(e, PeriodicError::Skew { .. })), "{error}");
    let mut third = sector([4, 4, 4], axis, 0.6).periodic("ymin", "ymax").unwrap();
    two.blocks[1] = third.blocks.remove(0);
    two.patches.retain(|p| p.window.block == 0);
    two.patches.extend(third.patches.iter().map(|p| Patch { window: shifted(p.window), ..p.clone() }));
    let own = &third.interfaces[0];
    two.interfaces[1] = Interface { a: shifted(own.a), b: shifted(own.b), ..own.clone() };
    let error = two.check().unwrap_err();
    assert!(is_wrong(&error, |e| matches!(e, PeriodicError::Rotations { .. })), "{error}");
    // A sector that reaches its axis must be a whole part of the circle.
    let to_axis = |angle: f64| {
        let block = Block::new([4, 4, 3], |[i, j, k]| {
            let (r, a) = (i as f64, angle * j as f64 / 3.0);
            [r * a.cos(), r * a.sin(), k as f64]
        });
        let names = ["axis", "outer", "low", "high", "zmin", "zmax"];
        Grid::one_block(block, names.map(Some)).periodic("low", "high").unwrap().check()
    };
    to_axis(std::f64::consts::TAU / 7.0).unwrap();
    let error = to_axis(0.8).unwrap_err();
    assert!(is_wrong(&error, |e| matches!(e, PeriodicError::Axis { .. })), "{error}");
}
