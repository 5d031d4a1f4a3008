use super::*;
use crate::tridiag::{Double, Mixed, Single};
use chromaflow_testkit::dense_solve;

/// Reproducible numbers in [-0.5, 0.5).
fn noise(i: usize) -> f64 {
    let mut z = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (z >> 11) as f64 / (1u64 << 53) as f64 - 0.5
}

struct Data<S> {
    systems: usize,
    rows: usize,
    layout: Layout,
    columns: usize,
    bands: [Vec<S>; 5],
    rhs: Vec<S>,
}

impl<S: Real> Data<S> {
    fn new(systems: usize, rows: usize, layout: Layout, columns: usize) -> Self {
        let fill = |width: usize, seed: usize, boost: f64| {
            let shape = Shape::new(systems, rows, width);
            let mut values = vec![S::from_f64(0.0); layout.len(shape, width).unwrap()];
            for s in 0..systems {
                for i in 0..rows {
                    for c in 0..width {
                        let number = noise(seed + 7 * (c + width * (i + rows * s)));
                        values[layout.index(shape, width, s, i, c)] = S::from_f64(number + boost);
                    }
                }
            }
            values
        };
        let bands = std::array::from_fn(|b| fill(1, b, if b == 2 { 3.0 } else { 0.0 }));
        Self { systems, rows, layout, columns, bands, rhs: fill(columns, 5, 0.0) }
    }

    fn batch(&self, periodic: bool) -> PentaBatch<'_, S> {
        let bands = std::array::from_fn(|b| &self.bands[b][..]);
        let batch = PentaBatch::new(self.systems, self.rows, self.layout, bands).unwrap();
        if periodic { batch.periodic() } else { batch }
    }

    /// A system by a dense solve.
    fn dense(&self, s: usize, column: usize, periodic: bool) -> Vec<f64> {
        let (n, batch) = (self.rows, self.batch(periodic));
        let mut a = vec![0.0; n * n];
        for i in 0..n {
            for (band, value) in batch.row(s, i).into_iter().enumerate() {
                let to = i as isize + band as isize - 2;
                if periodic || (0..n as isize).contains(&to) {
                    a[to.rem_euclid(n as isize) as usize * n + i] += value;
                }
            }
        }
        let shape = Shape::new(self.systems, n, self.columns);
        let b: Vec<f64> =
            (0..n).map(|i| self.rhs[self.layout.index(shape, self.columns, s, i, column)].to_f64()).collect();
        dense_solve(&a, &b).unwrap()
    }
}

fn check<P: Precision>(data: &Data<P::Store>, periodic: bool, isa: Isa, threads: usize) {
    let mut solver = PentaSolver::<P>::with_isa(isa);
    let mut x = vec![P::Store::from_f64(0.0); data.rhs.len()];
    let outcome =
        solver.solve(&Team::new(threads), &data.batch(periodic), data.columns, &data.rhs, &mut x).unwrap();
    assert_eq!(outcome, LineOutcome::Solved);
    let shape = Shape::new(data.systems, data.rows, data.columns);
    for s in 0..data.systems {
        for c in 0..data.columns {
            for (i, exact) in data.dense(s, c, periodic).into_iter().enumerate() {
                let found = x[data.layout.index(shape, data.columns, s, i, c)].to_f64();
                let allowed = 100.0 * <P::Store as Real>::EPSILON;
                assert!(
                    (found - exact).abs() <= allowed,
                    "{} rows {} system {s} row {i} periodic {periodic}: {found} {exact}",
                    P::NAME,
                    data.rows
                );
            }
        }
    }
}

#[test]
fn against_dense_solves() {
    for rows in [1, 2, 3, 4, 5, 6, 7, 16, 33] {
        for periodic in [false, true] {
            for isa in Isa::available() {
                for layout in [
                    Layout::Aos,
                    Layout::Soa,
                    Layout::Interleaved { lanes: 8 },
                    Layout::Interleaved { lanes: 4 },
                ] {
                    check::<Double>(&Data::new(19, rows, layout, 1), periodic, isa, 1);
                }
                check::<Double>(&Data::new(11, rows, Layout::Soa, 3), periodic, isa, 2);
                check::<Single>(&Data::new(35, rows, Layout::Aos, 2), periodic, isa, 3);
                check::<Mixed>(&Data::new(9, rows, Layout::Interleaved { lanes: 8 }, 1), periodic, isa, 1);
            }
        }
    }
}

#[test]
fn the_reference_by_hand() {
    // 2 x0 + x1 = 4, x0 + 2 x1 + x2 = 8, x0 + x1 + 3 x2 = 12 with x = (1, 2, 3).
    let bands = [[0.0, 0.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 1.0, 0.0], [1.0, 1.0, 3.0, 0.0, 0.0]];
    let x = reference::solve(&bands, &[4.0, 8.0, 12.0]).unwrap();
    assert!(x.iter().zip([1.0, 2.0, 3.0]).all(|(x, e)| (x - e).abs() < 1e-15), "{x:?}");
    assert_eq!(
        reference::solve(&[[0.0, 0.0, 1.0, 1.0, 0.0], [0.0, 1.0, 1.0, 0.0, 0.0]], &[1.0, 1.0]),
        Err(1)
    );
}

#[test]
fn long_lines_and_the_reference() {
    let data = Data::<f64>::new(5, 2000, Layout::Soa, 1);
    let mut solver = PentaSolver::<Double>::new();
    let mut x = vec![0.0; data.rhs.len()];
    solver.solve(&Team::new(2), &data.batch(false), 1, &data.rhs, &mut x).unwrap();
    for s in 0..5 {
        let bands: Vec<[f64; 5]> = (0..2000).map(|i| data.batch(false).row(s, i)).collect();
        let rhs: Vec<f64> = (0..2000).map(|i| data.rhs[i * 5 + s]).collect();
        let exact = reference::solve(&bands, &rhs).unwrap();
        assert!((0..2000).all(|i| (x[i * 5 + s] - exact[i]).abs() < 1e-13));
    }
}

#[test]
fn breakdowns_and_misfits() {
    let mut data = Data::<f64>::new(20, 6, Layout::Soa, 1);
    for band in &mut data.bands {
        band[2 * 20 + 13] = 0.0; // row 2 of system 13
    }
    let mut x = vec![0.0; data.rhs.len()];
    let outcome = PentaSolver::<Double>::new().solve(&Team::new(1), &data.batch(false), 1, &data.rhs, &mut x);
    assert_eq!(outcome.unwrap(), LineOutcome::Breakdown { system: 13, row: 2 });
    assert!((0..6).all(|i| x[i * 20 + 12].is_finite() && x[i * 20 + 14].is_finite()));
    let bands = std::array::from_fn(|b| &data.bands[b][..]);
    assert!(matches!(
        PentaBatch::new(21, 6, Layout::Soa, bands),
        Err(TridiagError::Length { array: "lower2", .. })
    ));
    assert!(matches!(PentaBatch::new(20, 0, Layout::Soa, bands), Err(TridiagError::NoRows)));
}
