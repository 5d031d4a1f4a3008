//! All methods, ranks, lengths, layouts, precisions and instruction sets against the reference and against dense solves.

use super::thomas::reference::{Line, Lu};
use super::*;
use chromaflow_device::{Isa, Team};

/// Reproducible numbers in [-0.5, 0.5).
pub(super) struct Random(pub u64);

impl Random {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 40) as f64 / 16777216.0 - 0.5
    }
}

/// Coefficients and right-hand side in one layout; block rows are diagonally dominant.
pub(super) struct Data<S> {
    shape: Shape,
    layout: Layout,
    pub lower: Vec<S>,
    pub diag: Vec<S>,
    pub upper: Vec<S>,
    pub rhs: Vec<S>,
}

impl<S: Real> Data<S> {
    pub(super) fn new(shape: Shape, layout: Layout, seed: u64) -> Self {
        let mut random = Random(seed);
        let m = shape.rank;
        let mut array = |width: usize, boost: f64| {
            let mut values = vec![S::from_f64(0.0); layout.len(shape, width).unwrap()];
            for s in 0..shape.systems {
                for i in 0..shape.rows {
                    for e in 0..width {
                        let on_diagonal = e % (m + 1) == 0;
                        values[layout.index(shape, width, s, i, e)] =
                            S::from_f64(random.next() + if on_diagonal { boost } else { 0.0 });
                    }
                }
            }
            values
        };
        let boost = 1.5 * m as f64 + 1.0;
        let (lower, diag) = (array(m * m, 0.0), array(m * m, boost));
        Self { shape, layout, lower, diag, upper: array(m * m, 0.0), rhs: array(m, 0.0) }
    }

    pub(super) fn batch(&self, periodic: bool) -> Batch<'_, S> {
        let batch = Batch::new(self.shape, self.layout, &self.lower, &self.diag, &self.upper).unwrap();
        if periodic { batch.periodic() } else { batch }
    }

    /// System `s` solved by the reference in f64.
    pub(super) fn reference(&self, s: usize, periodic: bool) -> Vec<f64> {
        let (batch, q) = (self.batch(periodic), self.shape.block());
        let line = Line {
            rank: self.shape.rank,
            lower: batch.gather(&self.lower, q, s),
            diag: batch.gather(&self.diag, q, s),
            upper: batch.gather(&self.upper, q, s),
            periodic,
        };
        line.solve(&batch.gather::<f64>(&self.rhs, self.shape.rank, s), false).unwrap()
    }
}

/// Solves and compares with the reference; returns the solution.
fn check<P: Precision>(
    data: &Data<P::Store>,
    team: &Team,
    options: Options,
    periodic: bool,
) -> Vec<P::Store> {
    let (shape, layout) = (data.shape, data.layout);
    let mut x = vec![P::Store::from_f64(f64::NAN); layout.len(shape, shape.rank).unwrap()];
    let outcome = Solver::<P>::new(options).solve(team, &data.batch(periodic), &data.rhs, &mut x).unwrap();
    assert_eq!(outcome, LineOutcome::Solved);
    // Dominant rows: errors do not grow along the line; sums have some 3 m terms.
    let tolerance = P::Store::EPSILON.max(P::Sum::EPSILON) * 4.0 * (3 * shape.rank + 2) as f64;
    for s in 0..shape.systems {
        let exact = data.reference(s, periodic);
        for (k, exact) in exact.iter().enumerate() {
            let (i, r) = (k / shape.rank, k % shape.rank);
            let got = x[layout.index(shape, shape.rank, s, i, r)].to_f64();
            assert!(
                (got - exact).abs() <= tolerance,
                "{shape:?} {layout} {options:?} periodic {periodic}: system {s}, row {i}, entry {r}: {got}, not {exact}"
            );
        }
    }
    x
}

#[test]
fn large_batches_that_stream_through_the_caches() {
    fn compare<P: Precision>(team: &Team, shape: Shape, layout: Layout) {
        let data = Data::<P::Store>::new(shape, layout, 5);
        let m = shape.rank;
        let len = layout.len(shape, m).unwrap();
        // Aligned, as solutions are that go past the caches as vectors, and not.
        for offset in [0, 3] {
            let mut x = chromaflow_device::Buffer::<P::Store>::zeroed(len + offset);
            let x = &mut x[offset..];
            let mut solver = Solver::<P>::new(Options::default());
            assert_eq!(solver.solve(team, &data.batch(false), &data.rhs, x).unwrap(), LineOutcome::Solved);
            for s in (0..shape.systems).filter(|s| s % 97 == 0 || s + 9 > shape.systems) {
                for (k, exact) in data.reference(s, false).iter().enumerate() {
                    let (i, r) = (k / m, k % m);
                    let got = x[layout.index(shape, m, s, i, r)].to_f64();
                    let close = (got - exact).abs() <= 4.0 * (3 * m + 2) as f64 * P::Store::EPSILON;
                    assert!(
                        close,
                        "{layout} {}: system {s}, row {i}, entry {r}: {got}, not {exact}",
                        P::NAME
                    );
                }
            }
        }
    }
    let team = Team::new(2);
    for layout in [Layout::Aos, Layout::Interleaved { lanes: 8 }, Layout::Interleaved { lanes: 4 }] {
        compare::<Double>(&team, Shape::new(6003, 150, 1), layout);
        compare::<Double>(&team, Shape::new(2021, 72, 3), layout);
    }
    compare::<Double>(&team, Shape::new(2021, 71, 3), Layout::Aos);
    // Systems a multiple of 4 KiB apart; blocks that just stay in registers, and such that do not.
    compare::<Double>(&team, Shape::new(1003, 128, 4), Layout::Aos);
    for layout in [Layout::Aos, Layout::Interleaved { lanes: 8 }] {
        compare::<Double>(&team, Shape::new(1203, 41, 5), layout);
        compare::<Double>(&team, Shape::new(403, 29, 7), layout);
        compare::<Mixed>(&team, Shape::new(2021, 45, 4), layout);
    }
    for layout in [Layout::Aos, Layout::Interleaved { lanes: 16 }] {
        compare::<Single>(&team, Shape::new(12_010, 150, 1), layout);
        compare::<Single>(&team, Shape::new(2021, 141, 3), layout);
    }
    compare::<Mixed>(&team, Shape::new(12_010, 150, 1), Layout::Interleaved { lanes: 8 });
}

#[test]
fn the_order_of_the_data_changes_no_bit() {
    fn compare<P: Precision>(shape: Shape, isa: Isa) {
        let team = Team::new(1);
        let solve = |layout: Layout| {
            let data = Data::<P::Store>::new(shape, layout, 9);
            let mut x = vec![P::Store::from_f64(f64::NAN); layout.len(shape, shape.rank).unwrap()];
            let mut solver = Solver::<P>::new(Options { isa, ..Options::default() });
            solver.solve(&team, &data.batch(false), &data.rhs, &mut x).unwrap();
            let mut ordered = vec![P::Store::from_f64(0.0); shape.systems * shape.rows * shape.rank];
            convert(&team, shape, shape.rank, layout, &x, Layout::Aos, &mut ordered).unwrap();
            ordered
        };
        let one_by_one = solve(Layout::Aos);
        assert!(one_by_one == solve(Layout::Soa), "{shape:?} {isa:?} {}", P::NAME);
        for lanes in [4, 8, 16] {
            assert!(
                one_by_one == solve(Layout::Interleaved { lanes }),
                "{shape:?} {isa:?} {} {lanes}",
                P::NAME
            );
        }
        // Blocks slowest with room between the rows, as ADI codes have them; rows slowest; systems slowest.
        for (system, row, entry) in [(1, 40, 900), (90, 3200, 1), (2000, 1, 22)] {
            let strided = Layout::Strided { system, row, entry };
            assert!(one_by_one == solve(strided), "{shape:?} {isa:?} {} {strided}", P::NAME);
        }
    }
    for rank in 1..=9 {
        for isa in Isa::available() {
            let shape = Shape::new(35, 21, rank);
            compare::<Double>(shape, isa);
            compare::<Single>(shape, isa);
            compare::<Mixed>(shape, isa);
        }
    }
}

/// The dense matrix of a line, solved with pivoting.
pub(super) fn dense(line: &Line<f64>, rhs: &[f64]) -> Vec<f64> {
    let (m, size) = (line.rank, rhs.len());
    let n = size / m;
    let mut matrix = vec![0.0; size * size];
    let mut put = |i: usize, j: usize, block: &[f64]| {
        for c in 0..m {
            for r in 0..m {
                matrix[(j * m + c) * size + i * m + r] += block[c * m + r];
            }
        }
    };
    for i in 0..n {
        let at = i * m * m..(i + 1) * m * m;
        put(i, i, &line.diag[at.clone()]);
        if i > 0 || line.periodic {
            put(i, (i + n - 1) % n, &line.lower[at.clone()]);
        }
        if i + 1 < n || line.periodic {
            put(i, (i + 1) % n, &line.upper[at]);
        }
    }
    let mut x = rhs.to_vec();
    Lu::new(size, matrix, true).unwrap().solve(&mut x);
    x
}

#[test]
fn the_reference_solves_the_dense_system() {
    for periodic in [false, true] {
        for (rows, rank) in [(1, 1), (2, 1), (3, 1), (9, 1), (1, 3), (2, 3), (3, 2), (7, 5), (12, 4)] {
            let shape = Shape::new(1, rows, rank);
            let data = Data::<f64>::new(shape, Layout::Aos, 7);
            let (lower, diag, upper) = (data.lower.clone(), data.diag.clone(), data.upper.clone());
            let line = Line { rank, lower, diag, upper, periodic };
            let exact = dense(&line, &data.rhs);
            for pivoting in [false, true] {
                let x = line.solve(&data.rhs, pivoting).unwrap();
                for (x, exact) in x.iter().zip(&exact) {
                    assert!((x - exact).abs() < 1e-14, "rows {rows}, rank {rank}, periodic {periodic}");
                }
            }
        }
    }
}

#[test]
fn a_system_of_two_rows_by_hand() {
    // [2 1; 1 3] x = [4; 7] has x = [1; 2].
    let batch = Batch::new(Shape::new(1, 2, 1), Layout::Soa, &[9.0, 1.0], &[2.0, 3.0], &[1.0, 9.0]).unwrap();
    for method in Method::ALL {
        let mut x = [0.0; 2];
        let mut solver = Solver::<Double>::new(Options { method, ..Options::default() });
        solver.solve(&Team::new(1), &batch, &[4.0, 7.0], &mut x).unwrap();
        assert!((x[0] - 1.0).abs() < 1e-15 && (x[1] - 2.0).abs() < 1e-15, "{method}: {x:?}");
    }
}

#[test]
fn every_rank_in_every_layout_and_instruction_set() {
    let team = Team::new(1);
    for rank in (1..=9).chain([12, 16]) {
        for layout in
            [Layout::Aos, Layout::Soa, Layout::Interleaved { lanes: 8 }, Layout::Interleaved { lanes: 3 }]
        {
            for isa in Isa::available() {
                let options = Options { isa, ..Options::default() };
                let shape = Shape::new(19, 6, rank);
                check::<Double>(&Data::new(shape, layout, 1), &team, options, false);
                check::<Single>(&Data::new(shape, layout, 2), &team, options, false);
                check::<Mixed>(&Data::new(shape, layout, 3), &team, options, false);
            }
        }
    }
    let options = Options::default();
    check::<Double>(&Data::new(Shape::new(3, 3, 64), Layout::Aos, 1), &team, options, false);
}

#[test]
fn every_method_at_lengths_that_are_no_powers_of_two() {
    let team = Team::new(2);
    for method in Method::ALL {
        let options = Options { method, ..Options::default() };
        for rows in [1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 100, 257, 1000, 2000] {
            for rank in [1, 2, 5] {
                let shape = Shape::new(if rows > 300 { 9 } else { 17 }, rows, rank);
                check::<Double>(&Data::new(shape, Layout::Aos, rows as u64), &team, options, false);
                check::<Single>(&Data::new(shape, Layout::Soa, rows as u64), &team, options, false);
            }
        }
        check::<Mixed>(&Data::new(Shape::new(5, 70, 11), Layout::Aos, 5), &team, options, false);
    }
}

#[test]
fn periodic_lines() {
    let team = Team::new(2);
    for rows in [1, 2, 3, 4, 9, 64, 301] {
        for rank in [1, 2, 5, 9] {
            let shape = Shape::new(11, rows, rank);
            for method in Method::ALL {
                let options = Options { method, ..Options::default() };
                check::<Double>(&Data::new(shape, Layout::Aos, 3), &team, options, true);
                check::<Single>(&Data::new(shape, Layout::Soa, 4), &team, options, true);
            }
            let pivoting = Options { pivoting: Pivoting::Partial, ..Options::default() };
            check::<Double>(&Data::new(shape, Layout::Aos, 3), &team, pivoting, true);
        }
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    for method in Method::ALL {
        let options = Options { method, ..Options::default() };
        for layout in [Layout::Aos, Layout::Soa, Layout::Interleaved { lanes: 8 }] {
            let data = Data::<f64>::new(Shape::new(101, 13, 4), layout, 9);
            let one = check::<Double>(&data, &Team::new(1), options, false);
            for threads in [2, 3, 7] {
                let many = check::<Double>(&data, &Team::new(threads), options, false);
                let same = one.iter().zip(&many).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "{method} {layout}, {threads} threads");
            }
        }
    }
}

/// u'' = e^x on [0, 1], u(0) = 0, u(1) = 1 has u = e^x - 1 + (2 - e) x; its discrete problem is
/// u_{i-1} - 2 u_i + u_{i+1} = h^2 e^{x_i} (Stone et al. 2011, Eqs. 9 and 10).
#[test]
fn the_one_dimensional_poisson_problem_converges_with_second_order() {
    let error = |n: usize, method: Method| {
        let h = 1.0 / (n as f64 + 1.0);
        let x = |i: usize| (i as f64 + 1.0) * h;
        let mut rhs: Vec<f64> = (0..n).map(|i| h * h * x(i).exp()).collect();
        rhs[n - 1] -= 1.0;
        let (off, diag) = (vec![1.0; n], vec![-2.0; n]);
        let batch = Batch::new(Shape::new(1, n, 1), Layout::Aos, &off, &diag, &off).unwrap();
        let mut u = vec![0.0; n];
        let mut solver = Solver::<Double>::new(Options { method, ..Options::default() });
        assert_eq!(solver.solve(&Team::new(1), &batch, &rhs, &mut u).unwrap(), LineOutcome::Solved);
        let e = std::f64::consts::E;
        (0..n).map(|i| (u[i] - (x(i).exp() - 1.0 + (2.0 - e) * x(i))).abs()).fold(0.0, f64::max)
    };
    for method in Method::ALL {
        for n in [16, 100, 255] {
            let ratio = error(n, method) / error(2 * n + 1, method);
            assert!((ratio - 4.0).abs() < 0.05, "{method}, {n} rows: halving h divides the error by {ratio}");
        }
    }
}

#[test]
fn a_singular_block_names_its_system_and_row() {
    let team = Team::new(2);
    for layout in [Layout::Aos, Layout::Soa, Layout::Interleaved { lanes: 8 }] {
        for (rank, rows) in [(1, 12), (3, 12), (5, 1), (9, 4)] {
            let shape = Shape::new(40, rows, rank);
            let mut data = Data::<f64>::new(shape, layout, 5);
            for (system, row) in [(37, 0), (21, rows / 2), (30, rows - 1)] {
                for e in 0..rank * rank {
                    let at = layout.index(shape, rank * rank, system, row, e);
                    data.diag[at] = 0.0;
                    data.lower[at] = 0.0;
                }
                let mut x = vec![0.0; layout.len(shape, rank).unwrap()];
                for pivoting in [Pivoting::None, Pivoting::Partial] {
                    let mut solver = Solver::<Double>::new(Options { pivoting, ..Options::default() });
                    let outcome = solver.solve(&team, &data.batch(false), &data.rhs, &mut x).unwrap();
                    let expected = if system == 37 { (37, 0) } else { (21, rows / 2) };
                    let expected = LineOutcome::Breakdown { system: expected.0, row: expected.1 };
                    assert_eq!(outcome, expected, "{layout}, rank {rank}, {pivoting:?}");
                }
                let healthy = data.reference(20, false);
                for (k, exact) in healthy.iter().enumerate() {
                    let got = x[layout.index(shape, rank, 20, k / rank, k % rank)];
                    assert!((got - exact).abs() < 1e-13, "the neighbours are solved");
                }
            }
        }
    }
}

#[test]
fn pivoting_solves_what_the_plain_order_cannot() {
    // A regular block with a zero first pivot.
    let diag = [0.0, 1.0, 1.0, 0.0];
    let zero = [0.0; 4];
    let batch = Batch::new(Shape::new(1, 1, 2), Layout::Aos, &zero, &diag, &zero).unwrap();
    let team = Team::new(1);
    let mut x = [0.0; 2];
    let plain = Solver::<Double>::new(Options::default()).solve(&team, &batch, &[3.0, 4.0], &mut x).unwrap();
    assert_eq!(plain, LineOutcome::Breakdown { system: 0, row: 0 });
    let options = Options { pivoting: Pivoting::Partial, ..Options::default() };
    let pivoted = Solver::<Double>::new(options).solve(&team, &batch, &[3.0, 4.0], &mut x).unwrap();
    assert_eq!((pivoted, x), (LineOutcome::Solved, [4.0, 3.0]));
}

#[test]
fn layouts_convert_into_each_other_and_back() {
    let team = Team::new(2);
    let layouts =
        [Layout::Aos, Layout::Soa, Layout::Interleaved { lanes: 8 }, Layout::Interleaved { lanes: 5 }];
    for (systems, rows, width) in [(1, 1, 1), (8, 3, 4), (19, 5, 9), (33, 2, 25)] {
        let shape = Shape::new(systems, rows, 1);
        let source: Vec<f64> = (0..systems * rows * width).map(|k| k as f64).collect();
        for from in layouts {
            let mut middle = vec![f64::NAN; from.len(shape, width).unwrap()];
            convert(&team, shape, width, Layout::Aos, &source, from, &mut middle).unwrap();
            for to in layouts {
                let mut other = vec![f64::NAN; to.len(shape, width).unwrap()];
                convert(&team, shape, width, from, &middle, to, &mut other).unwrap();
                assert!(other.iter().all(|v| v.is_finite()), "padding is written");
                let mut back = vec![f64::NAN; source.len()];
                convert(&team, shape, width, to, &other, Layout::Aos, &mut back).unwrap();
                assert_eq!(source, back, "{from} to {to}");
            }
        }
    }
}

#[test]
fn misuse_is_said() {
    let short = [0.0; 3];
    let (a, shape) = ([0.0; 4], Shape::new(2, 2, 1));
    let wrong = Batch::new(shape, Layout::Aos, &a, &short, &a).unwrap_err();
    assert_eq!(wrong, TridiagError::Length { array: "diag", found: 3, expected: 4 });
    assert_eq!(
        Batch::<f64>::new(Shape::new(1, 1, 65), Layout::Aos, &[], &[], &[]).unwrap_err(),
        TridiagError::Rank { rank: 65 }
    );
    assert_eq!(
        Batch::<f64>::new(Shape::new(1, 0, 1), Layout::Aos, &[], &[], &[]).unwrap_err(),
        TridiagError::NoRows
    );
    let huge = Shape::new(usize::MAX / 2, 8, 1);
    assert_eq!(
        Batch::<f64>::new(huge, Layout::Aos, &[], &[], &[]).unwrap_err(),
        TridiagError::TooLarge { shape: huge }
    );
    // Entries of a row 4 apart and rows 3 apart meet at 12.
    let strided = |system, row, entry| Layout::Strided { system, row, entry };
    let wide = Shape::new(2, 5, 2);
    let overlap = Batch::new(wide, strided(100, 3, 4), &[0.0; 200], &[0.0; 200], &[0.0; 200]).unwrap_err();
    assert_eq!(overlap, TridiagError::Overlap { stride: 4, end: 13 });
    assert_eq!(strided(100, 4, 1).len(wide, 4), Ok(120));
    assert_eq!(strided(0, 4, 1).len(wide, 4), Err(TridiagError::Overlap { stride: 0, end: 1 }));
    let too_short = Batch::new(wide, strided(100, 4, 1), &[0.0; 119], &[0.0; 120], &[0.0; 120]).unwrap_err();
    assert_eq!(too_short, TridiagError::Length { array: "lower", found: 119, expected: 120 });
    assert!(Batch::new(wide, strided(100, 4, 1), &[0.0; 130], &[0.0; 120], &[0.0; 120]).is_ok());
    assert!("cyclic".parse::<Method>().unwrap_err().to_string().contains("pcr-thomas"));
}
