//! The tuned factorization against the textbook, the textbook against its definition.

use super::*;
use crate::Policy;
use chromaflow_testkit::Case;

fn jacobian(case: &str, policy: Policy) -> (Jacobian, Vec<f64>) {
    let case: Case = case.parse().unwrap();
    let (n, q) = (case.rows(), case.nb * case.nb);
    let p = case.pattern();
    let mut off = vec![0.0_f32; p.col_idx.len() * q];
    case.fill_off(0, &mut off);
    let mut diag = Buffer::zeroed(n * q);
    for i in 0..n {
        let degree = (p.row_ptr[i + 1] - p.row_ptr[i]) as usize;
        case.fill_diag(i, degree, &mut diag[i * q..(i + 1) * q]);
    }
    let off = match policy {
        Policy::D => OffDiagonal::F64(off.iter().map(|&v| f64::from(v)).collect::<Vec<_>>().into()),
        _ => OffDiagonal::F32(off.into()),
    };
    let pattern = BlockPattern::new(n, p.row_ptr, p.col_idx).unwrap();
    let b = (0..n * case.nb).map(|i| case.rhs(i)).collect();
    (Jacobian::new(pattern, case.nb, diag, off).unwrap(), b)
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    norm(&x.iter().zip(y).map(|(x, y)| x - y).collect::<Vec<_>>()) / norm(y)
}

/// ILU(0) by its definition: (L U)_ij = A_ij wherever A has a block.
#[test]
fn the_reference_reproduces_the_matrix_on_its_pattern() {
    for case in ["kuhn:4,3,3:3", "grid7:3,4,3:2", "kuhn:3,3,3:1"] {
        let (a, _) = jacobian(case, Policy::D);
        let f = reference::factor(&a, Fill::Zero, 0.0).unwrap();
        let (p, nb) = (a.pattern(), a.nb());
        let (n, q) = (a.rows() * nb, nb * nb);
        let (mut lower, mut upper) = (vec![vec![0.0; n]; n], vec![vec![0.0; n]; n]);
        for i in 0..a.rows() {
            let mut diag = f.inv_diag[i * q..(i + 1) * q].to_vec();
            gauss_jordan::invert(&mut diag, nb, nb, true, &mut Vec::new());
            for (c, r) in (0..q).map(|e| (e / nb, e % nb)) {
                lower[i * nb + r][i * nb + c] = f64::from(u8::from(r == c));
                upper[i * nb + r][i * nb + c] = diag[c * nb + r];
            }
            for k in p.range(i) {
                let j = p.col_idx()[k] as usize;
                let part = if j < i { &mut lower } else { &mut upper };
                for (c, r) in (0..q).map(|e| (e / nb, e % nb)) {
                    part[i * nb + r][j * nb + c] = f.off[k * q + c * nb + r];
                }
            }
        }
        let OffDiagonal::F64(off) = &a.off else { panic!("policy d") };
        let product = |i: usize, j: usize| (0..n).map(|k| lower[i][k] * upper[k][j]).sum::<f64>();
        for i in 0..a.rows() {
            let blocks = p.range(i).map(|k| (p.col_idx()[k] as usize, &off[k * q..(k + 1) * q]));
            for (j, block) in blocks.chain([(i, &a.diag[i * q..(i + 1) * q])]) {
                for (c, r) in (0..q).map(|e| (e / nb, e % nb)) {
                    let error = product(i * nb + r, j * nb + c) - block[c * nb + r];
                    assert!(error.abs() < 1e-12, "{case}: block ({i}, {j}) is off by {error:e}");
                }
            }
        }
    }
}

/// Norms that PETSc, AMGCL, dune-istl and plain C++ agree on.
#[test]
fn applied_to_the_known_problems_it_gives_the_known_norms() {
    for (case, expected) in [("kuhn:18,18,18:5", 1.472770), ("grid7:20,20,20:6", 3.048594)] {
        for storage in [FactorStorage::F64, FactorStorage::F32] {
            let (a, b) = jacobian(case, Policy::Ds);
            let team = Team::new(2);
            let options = BlockIluOptions { storage, ..Default::default() };
            let mut ilu = BlockIlu::new(a.pattern(), a.nb(), options, &team).unwrap();
            assert_eq!(ilu.factor(&a, &team), Ok(BlockIluReport::default()));
            let mut x = vec![f64::NAN; b.len()];
            ilu.solve(&team, &b, &mut x);
            assert!((norm(&x) - expected).abs() < 1e-6, "{case}: {}", norm(&x));
        }
    }
}

#[test]
fn tuned_is_reference_for_every_size_set_and_team() {
    for nb in [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 33] {
        let size = if nb > 8 { "3,3,2" } else { "5,4,3" };
        for fill in [Fill::Zero, Fill::DiagonalOnly] {
            let (a, b) = jacobian(&format!("kuhn:{size}:{nb}"), Policy::D);
            let exact = reference::factor(&a, fill, 0.01).unwrap();
            let expected = reference::solve(&a, &exact, &b);
            let mut first: Option<Vec<f64>> = None;
            for isa in Isa::available() {
                for (threads, storage) in
                    [(1, FactorStorage::F64), (3, FactorStorage::F64), (2, FactorStorage::F32)]
                {
                    let team = Team::new(threads);
                    let options = BlockIluOptions { fill, storage, shift: 0.01, ..Default::default() };
                    let mut ilu = BlockIlu::new(a.pattern(), nb, options, &team).unwrap();
                    ilu.isa = isa;
                    let report = ilu.factor(&a, &team).unwrap();
                    assert!(report.pivoted.is_empty() && report.shifted > 0.0);
                    let mut x = vec![f64::NAN; b.len()];
                    ilu.solve(&team, &b, &mut x);
                    let bound = if storage == FactorStorage::F64 { 1e-14 } else { 1e-6 };
                    let off = distance(&x, &expected);
                    assert!(off < bound, "nb {nb}, {fill:?}, {isa:?}, {storage:?}: {off:e}");
                    if isa == Isa::Portable && storage == FactorStorage::F64 {
                        let same = first.get_or_insert_with(|| x.clone());
                        assert_eq!(*same, x, "the number of threads shows");
                    }
                }
            }
        }
    }
}

#[test]
fn on_a_seven_point_stencil_only_diagonals_change() {
    let (a, b) = jacobian("grid7:5,4,6:3", Policy::D);
    let full = reference::factor(&a, Fill::Zero, 0.0).unwrap();
    let diagonal = reference::factor(&a, Fill::DiagonalOnly, 0.0).unwrap();
    assert_eq!(reference::solve(&a, &full, &b), reference::solve(&a, &diagonal, &b));
}

#[test]
fn bad_blocks_are_told() {
    let team = Team::new(2);
    let (mut a, b) = jacobian("grid7:3,3,3:2", Policy::D);
    a.diag[..4].copy_from_slice(&[0.0, 1.0, 1.0, 0.0]); // regular, but a zero pivot
    let mut ilu = BlockIlu::new(a.pattern(), 2, BlockIluOptions::default(), &team).unwrap();
    assert_eq!(ilu.factor(&a, &team).unwrap().pivoted, [0]);
    let mut x = vec![0.0; b.len()];
    ilu.solve(&team, &b, &mut x);
    assert!(x.iter().all(|v| v.is_finite()));

    let unguarded = BlockIluOptions { pivot_guard: false, ..Default::default() };
    let mut ilu = BlockIlu::new(a.pattern(), 2, unguarded, &team).unwrap();
    assert_eq!(ilu.factor(&a, &team), Err(SingularRow { row: 0 }));

    let mut ilu = BlockIlu::new(a.pattern(), 2, BlockIluOptions::default(), &team).unwrap();
    a.diag[..4].fill(0.0);
    a.diag[5 * 4] = f64::NAN;
    assert_eq!(ilu.factor(&a, &team), Err(SingularRow { row: 0 }));
    let (regular, _) = jacobian("grid7:3,3,3:2", Policy::D);
    assert!(ilu.factor(&regular, &team).is_ok(), "usable again after a failure");
}

#[test]
fn levels_of_a_box_are_its_hyperplanes() {
    let (a, _) = jacobian("grid7:4,3,5:1", Policy::D);
    let levels = LevelSchedule::lower(a.pattern());
    assert_eq!(levels.batches().len(), 4 + 3 + 5 - 2);
    for (level, range) in levels.batches().iter().enumerate() {
        for &row in &levels.rows()[range] {
            assert_eq!((row % 4 + row / 4 % 3 + row / 12) as usize, level);
        }
    }
}
