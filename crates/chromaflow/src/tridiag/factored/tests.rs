//! The kept factors against the one-shot solver, bit by bit, and against dense solves.

use super::*;
use crate::tridiag::tests::{Data, Random, dense};
use crate::tridiag::thomas::reference::Line;
use crate::tridiag::{Double, Mixed, Options, Single, Solver};

/// `columns` right-hand sides, each in an array of its own and all together.
fn right_hand_sides<S: Real>(shape: Shape, layout: Layout, columns: usize) -> (Vec<Vec<S>>, Vec<S>) {
    let m = shape.rank;
    let mut random = Random(91);
    let mut single = vec![vec![S::from_f64(0.0); layout.len(shape, m).unwrap()]; columns];
    let mut together = vec![S::from_f64(0.0); layout.len(shape, columns * m).unwrap()];
    for s in 0..shape.systems {
        for i in 0..shape.rows {
            for (c, single) in single.iter_mut().enumerate() {
                for r in 0..m {
                    let value = S::from_f64(random.next());
                    single[layout.index(shape, m, s, i, r)] = value;
                    together[layout.index(shape, columns * m, s, i, c * m + r)] = value;
                }
            }
        }
    }
    (single, together)
}

/// Factors once, solves for 1 and for `columns` right-hand sides, and compares with the one-shot solver.
fn check<P: Precision>(shape: Shape, layout: Layout, isa: Isa, team: &Team, columns: usize) {
    let m = shape.rank;
    let data = Data::<P::Store>::new(shape, layout, 7);
    let (single, together) = right_hand_sides::<P::Store>(shape, layout, columns);
    let mut solver = FactoredSolver::<P>::with_isa(isa);
    assert_eq!(solver.factor(team, &data.batch(false)).unwrap(), LineOutcome::Solved);
    let nothing = P::Store::from_f64(f64::NAN);
    let mut all = vec![nothing; together.len()];
    assert_eq!(solver.solve(team, columns, &together, &mut all).unwrap(), LineOutcome::Solved);
    let mut one_shot = Solver::<P>::new(Options { isa, ..Options::default() });
    for (c, rhs) in single.iter().enumerate() {
        let (mut exact, mut alone) = (vec![nothing; rhs.len()], vec![nothing; rhs.len()]);
        one_shot.solve(team, &data.batch(false), rhs, &mut exact).unwrap();
        assert_eq!(solver.solve(team, 1, rhs, &mut alone).unwrap(), LineOutcome::Solved);
        for s in 0..shape.systems {
            for k in 0..shape.rows * m {
                let (i, r) = (k / m, k % m);
                let at = layout.index(shape, m, s, i, r);
                let exact = exact[at].to_f64().to_bits();
                let place =
                    format!("{shape:?} {layout} {isa:?} {}: column {c}, system {s}, row {i}", P::NAME);
                assert_eq!(alone[at].to_f64().to_bits(), exact, "{place}, alone");
                let at = layout.index(shape, columns * m, s, i, c * m + r);
                assert_eq!(all[at].to_f64().to_bits(), exact, "{place}, of {columns}");
            }
        }
    }
}

#[test]
fn every_rank_layout_and_instruction_set_as_the_one_shot_solver() {
    let team = Team::new(1);
    for rank in (1..=9).chain([12, 16]) {
        for layout in
            [Layout::Aos, Layout::Soa, Layout::Interleaved { lanes: 8 }, Layout::Interleaved { lanes: 3 }]
        {
            for isa in Isa::available() {
                let shape = Shape::new(19, 6, rank);
                check::<Double>(shape, layout, isa, &team, 3);
                check::<Single>(shape, layout, isa, &team, 2);
                check::<Mixed>(shape, layout, isa, &team, 2);
            }
        }
    }
    check::<Double>(Shape::new(3, 3, 64), Layout::Aos, Isa::detect(), &team, 2);
}

#[test]
fn every_length_and_number_of_threads_as_the_one_shot_solver() {
    for rows in [1, 2, 3, 17, 100, 1000] {
        for (rank, columns) in [(1, 1), (1, 7), (2, 4), (5, 2)] {
            for threads in [1, 3] {
                let (shape, team) = (Shape::new(37, rows, rank), Team::new(threads));
                check::<Double>(shape, Layout::Aos, Isa::detect(), &team, columns);
                check::<Single>(shape, Layout::Soa, Isa::detect(), &team, columns);
            }
        }
    }
}

#[test]
fn dense_solves() {
    let team = Team::new(2);
    for (rows, rank, columns) in [(1, 1, 1), (5, 1, 3), (1, 3, 2), (7, 2, 2), (6, 5, 4), (4, 9, 2)] {
        let (shape, layout) = (Shape::new(9, rows, rank), Layout::Soa);
        let data = Data::<f64>::new(shape, layout, 3);
        let (single, together) = right_hand_sides::<f64>(shape, layout, columns);
        let mut solver = FactoredSolver::<Double>::new();
        solver.factor(&team, &data.batch(false)).unwrap();
        let mut x = vec![f64::NAN; together.len()];
        solver.solve(&team, columns, &together, &mut x).unwrap();
        let (batch, q) = (data.batch(false), rank * rank);
        for s in 0..shape.systems {
            let line = Line {
                rank,
                lower: batch.gather(&data.lower, q, s),
                diag: batch.gather(&data.diag, q, s),
                upper: batch.gather(&data.upper, q, s),
                periodic: false,
            };
            for (c, rhs) in single.iter().enumerate() {
                for (k, exact) in dense(&line, &batch.gather(rhs, rank, s)).iter().enumerate() {
                    let at = layout.index(shape, columns * rank, s, k / rank, c * rank + k % rank);
                    assert!((x[at] - exact).abs() < 1e-14, "{shape:?}: system {s}, column {c}, entry {k}");
                }
            }
        }
    }
}

#[test]
fn a_singular_block_names_its_system_and_row_until_factored_anew() {
    let team = Team::new(2);
    for layout in [Layout::Aos, Layout::Soa, Layout::Interleaved { lanes: 8 }] {
        for (rank, rows) in [(1, 12), (3, 12), (5, 1), (9, 4)] {
            let shape = Shape::new(40, rows, rank);
            let mut data = Data::<f64>::new(shape, layout, 5);
            let mut solver = FactoredSolver::<Double>::new();
            let mut x = vec![0.0; data.rhs.len()];
            for (system, row) in [(37, 0), (21, rows / 2)] {
                let sound = (data.diag.clone(), data.lower.clone());
                for e in 0..rank * rank {
                    let at = layout.index(shape, rank * rank, system, row, e);
                    (data.diag[at], data.lower[at]) = (0.0, 0.0);
                }
                let expected = LineOutcome::Breakdown { system, row };
                let what = format!("{layout}, rank {rank}, {rows} rows");
                assert_eq!(solver.factor(&team, &data.batch(false)).unwrap(), expected, "{what}");
                assert_eq!(solver.solve(&team, 1, &data.rhs, &mut x).unwrap(), expected, "{what}");
                for (k, exact) in data.reference(20, false).iter().enumerate() {
                    let got = x[layout.index(shape, rank, 20, k / rank, k % rank)];
                    assert!((got - exact).abs() < 1e-13, "the neighbours are solved: {what}");
                }
                // A right-hand side that is no number in an earlier system comes first.
                let mut rhs = data.rhs.clone();
                rhs[layout.index(shape, rank, 4, rows - 1, 0)] = f64::INFINITY;
                let early = solver.solve(&team, 1, &rhs, &mut x).unwrap();
                assert!(matches!(early, LineOutcome::Breakdown { system: 4, .. }), "{early}");
                (data.diag, data.lower) = sound;
            }
            assert_eq!(solver.factor(&team, &data.batch(false)).unwrap(), LineOutcome::Solved);
            assert_eq!(solver.solve(&team, 1, &data.rhs, &mut x).unwrap(), LineOutcome::Solved);
        }
    }
    // An infinite pivot would give zeros.
    let batch =
        Batch::new(Shape::new(1, 2, 1), Layout::Aos, &[0.0; 2], &[1.0, f64::INFINITY], &[0.0; 2]).unwrap();
    let outcome = FactoredSolver::<Double>::new().factor(&team, &batch).unwrap();
    assert_eq!(outcome, LineOutcome::Breakdown { system: 0, row: 1 });
}

/// Whatever the choice of pivots, and with factors kept or not, a right-hand side that is no number is no solution.
#[test]
fn right_hand_sides_that_are_no_numbers_are_named() {
    let team = Team::new(2);
    let (layout, shape) = (Layout::Soa, Shape::new(21, 7, 3));
    let mut data = Data::<f64>::new(shape, layout, 5);
    data.rhs[layout.index(shape, 3, 13, 4, 1)] = f64::NAN;
    let mut x = vec![0.0; data.rhs.len()];
    for pivoting in [Pivoting::None, Pivoting::Partial] {
        let mut kept = FactoredSolver::<Double>::new().with_pivoting(pivoting);
        assert_eq!(kept.factor(&team, &data.batch(false)).unwrap(), LineOutcome::Solved);
        let options = Options { pivoting, ..Options::default() };
        let once = Solver::<Double>::new(options).solve(&team, &data.batch(false), &data.rhs, &mut x);
        for outcome in [once.unwrap(), kept.solve(&team, 1, &data.rhs, &mut x).unwrap()] {
            assert!(matches!(outcome, LineOutcome::Breakdown { system: 13, .. }), "{outcome}");
        }
    }
}

#[test]
fn misuse_is_said_and_leaves_the_factors() {
    let team = Team::new(1);
    let mut solver = FactoredSolver::<Double>::new();
    let early = solver.solve(&team, 1, &[1.0], &mut [0.0]).unwrap_err();
    assert_eq!(early, TridiagError::Length { array: "rhs", found: 1, expected: 0 });
    let batch = Batch::new(Shape::new(1, 1, 1), Layout::Aos, &[9.0], &[2.0], &[9.0]).unwrap();
    solver.factor(&team, &batch).unwrap();
    let short = solver.solve(&team, 2, &[1.0, 2.0], &mut [0.0]).unwrap_err();
    assert_eq!(short, TridiagError::Length { array: "x", found: 1, expected: 2 });
    let huge = solver.solve(&team, usize::MAX, &[], &mut []).unwrap_err();
    assert!(matches!(huge, TridiagError::TooLarge { .. }), "{huge}");
    let mut x = [0.0; 2];
    assert_eq!(solver.solve(&team, 2, &[1.0, 2.0], &mut x).unwrap(), LineOutcome::Solved);
    assert_eq!((x, solver.shape().systems, solver.layout()), ([0.5, 1.0], 1, Layout::Aos));
    assert_eq!(solver.solve(&team, 0, &[], &mut []).unwrap(), LineOutcome::Solved);
}

/// Periodic lines, and either choice of pivots, against the one-shot solver.
#[test]
fn periodic_lines_and_pivoting() {
    let team = Team::new(2);
    for (systems, rows, rank) in [(3, 1, 1), (19, 2, 5), (11, 3, 1), (21, 17, 5), (9, 30, 9), (5, 101, 3)] {
        for layout in [Layout::Aos, Layout::Soa, Layout::Interleaved { lanes: 8 }] {
            for (periodic, pivoting) in
                [(true, Pivoting::None), (true, Pivoting::Partial), (false, Pivoting::Partial)]
            {
                let shape = Shape::new(systems, rows, rank);
                let data = Data::<f64>::new(shape, layout, 7);
                let (single, together) = right_hand_sides::<f64>(shape, layout, 3);
                let mut solver = FactoredSolver::<Double>::new().with_pivoting(pivoting);
                assert_eq!(solver.factor(&team, &data.batch(periodic)).unwrap(), LineOutcome::Solved);
                let mut all = vec![f64::NAN; together.len()];
                assert_eq!(solver.solve(&team, 3, &together, &mut all).unwrap(), LineOutcome::Solved);
                let mut one_shot = Solver::<Double>::new(Options { pivoting, ..Options::default() });
                for (c, rhs) in single.iter().enumerate() {
                    let mut exact = vec![f64::NAN; rhs.len()];
                    one_shot.solve(&team, &data.batch(periodic), rhs, &mut exact).unwrap();
                    for s in 0..systems {
                        for k in 0..rows * rank {
                            let (i, r) = (k / rank, k % rank);
                            let exact = exact[layout.index(shape, rank, s, i, r)];
                            let got = all[layout.index(shape, 3 * rank, s, i, c * rank + r)];
                            assert!(
                                (got - exact).abs() < 1e-13,
                                "{shape:?} {layout} periodic {periodic} {pivoting:?}: {got}, not {exact}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn breakdowns_of_periodic_and_pivoted_factors_name_system_and_row() {
    let team = Team::new(2);
    let shape = Shape::new(20, 9, 3);
    for (periodic, pivoting) in
        [(true, Pivoting::None), (true, Pivoting::Partial), (false, Pivoting::Partial)]
    {
        for row in [0, 5, 8] {
            let mut data = Data::<f64>::new(shape, Layout::Aos, 5);
            for e in 0..9 {
                let at = Layout::Aos.index(shape, 9, 13, row, e);
                (data.diag[at], data.lower[at], data.upper[at]) = (0.0, 0.0, 0.0);
            }
            let expected = LineOutcome::Breakdown { system: 13, row };
            let mut solver = FactoredSolver::<Double>::new().with_pivoting(pivoting);
            assert_eq!(
                solver.factor(&team, &data.batch(periodic)).unwrap(),
                expected,
                "{periodic} {pivoting:?}"
            );
            let mut x = vec![0.0; data.rhs.len()];
            assert_eq!(solver.solve(&team, 1, &data.rhs, &mut x).unwrap(), expected);
            assert!(x[12 * 27..13 * 27].iter().all(|v| v.is_finite()), "its neighbour is solved");
        }
    }
}
