//! The tuned factorization against the textbook, the textbook against its definition.

use super::*;
use crate::gallery::Case;
use crate::{Jacobian, OffDiagonal, Policy};

pub(super) fn jacobian(case: &str, policy: Policy) -> (Jacobian, Vec<f64>) {
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

pub(super) fn distance(x: &[f64], y: &[f64]) -> f64 {
    norm(&x.iter().zip(y).map(|(x, y)| x - y).collect::<Vec<_>>()) / norm(y)
}

/// ILU(0) by its definition: (L U)_ij = A_ij wherever A has a block.
#[test]
fn the_reference_reproduces_the_matrix_on_its_pattern() {
    for case in ["kuhn:4,3,3:3", "grid7:3,4,3:2", "kuhn:3,3,3:1"] {
        let (a, _) = jacobian(case, Policy::D);
        let f = reference::factor(&a, Fill::Level(0), 0.0).unwrap();
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
        for storage in [Storage::F64, Storage::F32] {
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
        for fill in [Fill::Level(0), Fill::DiagonalOnly, Fill::Level(1)] {
            let (a, b) = jacobian(&format!("kuhn:{size}:{nb}"), Policy::D);
            let exact = reference::factor(&a, fill, 0.01).unwrap();
            let expected = reference::solve(&a, &exact, &b);
            for isa in Isa::available() {
                let mut first: Option<Vec<f64>> = None;
                let (wide, single, half) = (Storage::F64, Storage::F32, Storage::F16);
                for (threads, storage) in [(1, wide), (3, wide), (2, single), (2, half)] {
                    let team = Team::new(threads);
                    let options = BlockIluOptions { fill, storage, shift: 0.01, ..Default::default() };
                    let mut ilu = BlockIlu::new(a.pattern(), nb, options, &team).unwrap();
                    ilu.isa = isa;
                    let report = ilu.factor(&a, &team).unwrap();
                    assert!(report.pivoted.is_empty() && report.shifted > 0.0);
                    let mut x = vec![f64::NAN; b.len()];
                    ilu.solve(&team, &b, &mut x);
                    let bound = match storage {
                        Storage::F64 => 2e-14,
                        Storage::F32 => 1e-6,
                        Storage::F16 => 5e-3,
                        Storage::Bf16 => unreachable!("there are no such factors"),
                    };
                    let off = distance(&x, &expected);
                    assert!(off < bound, "nb {nb}, {fill:?}, {isa:?}, {storage:?}: {off:e}");
                    if storage == Storage::F64 && nb > 1 {
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
    let full = reference::factor(&a, Fill::Level(0), 0.0).unwrap();
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

/// ILU(k) as the textbook has it, with the level of every entry of a dense array of blocks beside it.
fn dense_ilu(a: &Jacobian, k: u32) -> (Vec<Vec<Option<u32>>>, Vec<f64>) {
    let (n, nb) = (a.rows(), a.nb());
    let (p, off, q) = (a.pattern(), a.off_f64(), nb * nb);
    let mut level = vec![vec![None; n]; n];
    let mut block = vec![vec![vec![0.0; q]; n]; n];
    for i in 0..n {
        level[i][i] = Some(0);
        block[i][i].copy_from_slice(&a.diag[i * q..(i + 1) * q]);
        for e in p.range(i) {
            let j = p.col_idx()[e] as usize;
            level[i][j] = Some(0);
            block[i][j].copy_from_slice(&off[e * q..(e + 1) * q]);
        }
    }
    let product = |x: &[f64], y: &[f64]| -> Vec<f64> {
        let entry = |e: usize| (0..nb).map(|m| x[m * nb + e % nb] * y[e / nb * nb + m]).sum();
        (0..q).map(entry).collect()
    };
    for i in 0..n {
        for m in 0..i {
            let Some(im) = level[i][m].filter(|&l| l <= k) else { continue };
            block[i][m] = product(&block[i][m], &crate::block::inverse(nb, &block[m][m]).0);
            for j in m + 1..n {
                let Some(mj) = level[m][j] else { continue };
                let new = im + mj + 1;
                level[i][j] = Some(level[i][j].map_or(new, |l| l.min(new)));
                let change = product(&block[i][m], &block[m][j]);
                block[i][j].iter_mut().zip(change).for_each(|(v, c)| *v -= c);
            }
        }
        for j in 0..n {
            level[i][j] = level[i][j].filter(|&l| l <= k);
            if level[i][j].is_none() {
                block[i][j].fill(0.0);
            }
        }
    }
    // L U as one dense matrix, for a solve that has nothing to do with the ones tested.
    let side = n * nb;
    let mut whole = vec![0.0; side * side];
    let identity: Vec<f64> = (0..q).map(|e| f64::from(u8::from(e % (nb + 1) == 0))).collect();
    for i in 0..n {
        for j in 0..n {
            let mut sum = vec![0.0; q];
            for m in 0..=i.min(j) {
                let left = if m == i { &identity } else { &block[i][m] };
                product(left, &block[m][j]).iter().zip(&mut sum).for_each(|(v, s)| *s += v);
            }
            for e in 0..q {
                whole[(j * nb + e / nb) * side + i * nb + e % nb] = sum[e];
            }
        }
    }
    (level, whole)
}

#[test]
fn levels_of_fill_are_those_of_the_dense_algorithm_and_end_in_lu() {
    for case in ["kuhn:4,3,3:2", "grid7:4,3,4:3", "kuhn:3,3,2:1"] {
        let (a, b) = jacobian(case, Policy::D);
        let mut blocks = a.pattern().nnzb();
        for k in [0, 1, 2, 3, 100] {
            let (level, whole) = dense_ilu(&a, k);
            let filled = fill::fill_pattern(a.pattern(), k).unwrap();
            for i in 0..a.rows() {
                let columns = |j: &usize| level[i][*j].is_some() && *j != i;
                let expected: Vec<u32> = (0..a.rows()).filter(columns).map(|j| j as u32).collect();
                assert_eq!(filled.columns(i), expected, "{case}, level {k}, row {i}");
            }
            assert!(filled.nnzb() >= blocks);
            blocks = filled.nnzb();
            let expected = chromaflow_testkit::dense_solve(&whole, &b).unwrap();
            for threads in [1, 2] {
                let team = Team::new(threads);
                let options =
                    BlockIluOptions { fill: Fill::Level(k), storage: Storage::F64, ..Default::default() };
                let mut ilu = BlockIlu::new(a.pattern(), a.nb(), options, &team).unwrap();
                ilu.factor(&a, &team).unwrap();
                let mut x = vec![f64::NAN; b.len()];
                ilu.solve(&team, &b, &mut x);
                assert!(distance(&x, &expected) < 1e-13, "{case}, level {k}: {:e}", distance(&x, &expected));
                if k == 100 {
                    let mut r = vec![0.0; b.len()];
                    a.to_csr().residual(&team, &b, &x, &mut r);
                    assert!(norm(&r) < 1e-13 * norm(&b), "{case}: the full factorization solves");
                }
            }
        }
    }
}

/// What a team of one size set up, a team of another size uses.
#[test]
fn the_team_may_change_after_the_symbolic_phase() {
    let (a, b) = jacobian("kuhn:6,5,4:5", Policy::D);
    let mut first: Option<Vec<f64>> = None;
    for (made_for, used_by) in [(1, 1), (1, 3), (2, 1), (2, 3)] {
        let mut ilu =
            BlockIlu::new(a.pattern(), 5, BlockIluOptions::default(), &Team::new(made_for)).unwrap();
        let team = Team::new(used_by);
        ilu.factor(&a, &team).unwrap();
        let mut x = vec![f64::NAN; b.len()];
        ilu.solve(&team, &b, &mut x);
        assert_eq!(*first.get_or_insert_with(|| x.clone()), x, "made for {made_for}, used by {used_by}");
    }
}

#[test]
fn the_first_singular_row_is_told_whoever_finds_it() {
    let (mut a, _) = jacobian("kuhn:6,5,4:2", Policy::D);
    for row in [87, 33, 60, 34] {
        a.diag[row * 4..(row + 1) * 4].fill(f64::NAN);
    }
    for threads in [1, 2, 4] {
        let team = Team::new(threads);
        let mut ilu = BlockIlu::new(a.pattern(), 2, BlockIluOptions::default(), &team).unwrap();
        assert_eq!(ilu.factor(&a, &team), Err(SingularRow { row: 33 }));
    }
}

#[test]
fn tiles_of_a_level_need_earlier_levels_only() {
    for (case, threads) in
        [("kuhn:40,6,5:1", 2), ("kuhn:4,3,30:1", 8), ("grid7:140,3,2:1", 2), ("grid7:1,1,1:1", 2)]
    {
        let (a, _) = jacobian(case, Policy::D);
        for pattern in [(**a.pattern()).clone(), fill::fill_pattern(a.pattern(), 2).unwrap()] {
            for upper in [false, true] {
                let wave = Wavefront::new(&pattern, upper, threads);
                let mut place = vec![None; a.rows()]; // level, tile, position
                for (level, tiles) in wave.levels().enumerate() {
                    for tile in tiles {
                        for position in wave.positions(tile..tile + 1) {
                            let old = place[wave.rows[position] as usize].replace((level, tile, position));
                            assert_eq!(old, None, "every row once");
                        }
                    }
                }
                for row in 0..a.rows() {
                    let (level, tile, position) = place[row].expect("every row");
                    for &c in pattern.columns(row).iter().filter(|&&c| (c as usize > row) == upper) {
                        let (other_level, other_tile, other) = place[c as usize].unwrap();
                        let before = other_level < level || (other_tile == tile && other < position);
                        assert!(before, "{case}, upper {upper}: row {row} needs row {c}");
                    }
                }
            }
        }
    }
}
