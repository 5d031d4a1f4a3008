//! Gauss-Seidel sweeps against their dense matrices, and what the default preconditioner does on matrices of all kinds.

use super::tests::{dense, largest_error, sample, wave};
use super::*;
use crate::order::{Adjacency, PlanOptions, Rcm, reverse_cuthill_mckee};
use crate::relax::Direction;
use crate::{BlockCsr, Outcome};
use chromaflow_testkit::dense_solve;

/// D + w L or D + w U by blocks, where the rank of a row says which of its columns come before it.
fn triangle(a: &[f64], nb: usize, rank: &[usize], w: f64, upper: bool) -> Vec<f64> {
    let n = rank.len() * nb;
    let part = |(at, &v): (usize, &f64)| {
        let (col, row) = (rank[at / n / nb], rank[at % n / nb]);
        match col.cmp(&row) {
            std::cmp::Ordering::Equal => v,
            std::cmp::Ordering::Less if !upper => w * v,
            std::cmp::Ordering::Greater if upper => w * v,
            _ => 0.0,
        }
    };
    a.iter().enumerate().map(part).collect()
}

/// One sweep from zero is the inverse of the method's matrix: (D + w L) / w, (D + w U) / w, or
/// (D + w L) D^-1 (D + w U) / (w (2 - w)), in the given and in the reverse Cuthill-McKee order, whatever the threads.
#[test]
fn a_sweep_from_zero_is_the_inverse_of_its_dense_matrix() {
    use PreconditionerKind::{GaussSeidel, Ssor};
    let rows = 60;
    for nb in 1..=6 {
        let (row_ptr, col_idx, values) = sample(rows, nb);
        let (a, r) = (dense(&row_ptr, &col_idx, nb, &values), wave(rows * nb));
        let given = Rows::from_arrays(IndexBase::One, &row_ptr, &col_idx, 0).unwrap().pattern;
        let rcm = reverse_cuthill_mckee(&Adjacency::of(&given).unwrap());
        for (in_rcm, w) in [(false, 1.0), (true, 1.0), (false, 1.3), (true, 0.7)] {
            let mut rank: Vec<usize> = (0..rows).collect();
            if in_rcm {
                rcm.old_of_new().iter().enumerate().for_each(|(new, &old)| rank[old as usize] = new);
            }
            let solve = |upper, b: &[f64]| dense_solve(&triangle(&a, nb, &rank, w, upper), b).unwrap();
            let diagonal = triangle(&a, nb, &rank, 0.0, false);
            let scaled = |v: Vec<f64>, s: f64| v.iter().map(|v| s * v).collect::<Vec<_>>();
            let middle = chromaflow_testkit::dense_multiply(&diagonal, &solve(false, &r), rows * nb);
            for (preconditioner, direction, expected) in [
                (GaussSeidel, Direction::Forward, scaled(solve(false, &r), w)),
                (GaussSeidel, Direction::Backward, scaled(solve(true, &r), w)),
                (GaussSeidel, Direction::Symmetric, scaled(solve(true, &middle), w * (2.0 - w))),
                (Ssor, Direction::Forward, scaled(solve(true, &middle), w * (2.0 - w))),
            ] {
                let mut first: Option<Vec<f64>> = None;
                for threads in [1, 3] {
                    let options = SolverOptions {
                        preconditioner,
                        direction,
                        damping: w,
                        policy: Policy::D,
                        plan: PlanOptions {
                            rcm: if in_rcm { Rcm::Always } else { Rcm::Never },
                            balance: true,
                            ..PlanOptions::default()
                        },
                        ..SolverOptions::default()
                    };
                    let team = Arc::new(Team::new(threads));
                    let set_up = (IndexBase::One, &row_ptr[..], &col_idx[..]);
                    let mut solver =
                        LinearSolver::symbolic_from_arrays(team, set_up.0, set_up.1, set_up.2, nb, options)
                            .unwrap();
                    solver.numeric(&values, BlockLayout::ColumnMajor).unwrap();
                    let mut z = vec![0.0; r.len()];
                    solver.apply(&r, &mut z).unwrap();
                    let size = expected.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
                    let error = largest_error(&z, &expected) / size;
                    assert!(
                        error < 1e-12,
                        "{preconditioner} {direction:?} nb {nb} rcm {in_rcm} w {w}: {error}"
                    );
                    assert_eq!(*first.get_or_insert_with(|| z.clone()), z, "threads");
                }
            }
        }
    }
}

#[test]
fn gauss_seidel_by_colors_is_refused_by_its_other_name() {
    let mut options = SolverOptions::default();
    options.set_all("preconditioner=ssor, order=multicolor").unwrap();
    let said = options.check().unwrap_err();
    assert!(said.contains("color by color they are preconditioner multicolor"), "{said}");
}

const SIDE: usize = 30;

/// Kinds of matrices that a user may come with.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Random neighbors and entries, diagonal dominant by rows.
    Dominant,
    /// Poisson's equation on cells up to a thousand times longer than high.
    Stretched,
    /// An upwinded vortex with little diffusion.
    Convected,
    /// The five-point Laplacian.
    MMatrix,
    /// Upwind neighbors alone, and every third row's missing one of them: A + A^T has more blocks.
    OneSided,
}

/// Couplings of a row: columns and sizes, all negative.
fn couplings(kind: Kind, row: usize) -> Vec<(usize, f64)> {
    let (i, j) = (row % SIDE, row / SIDE);
    if let Kind::Dominant = kind {
        let column = |k: usize| (row * 7919 + k * 104_729 + k * k * row + 13) % (SIDE * SIDE);
        let mut columns: Vec<usize> = (0..6).map(column).filter(|&c| c != row).collect();
        columns.sort_unstable();
        columns.dedup();
        return columns.into_iter().map(|c| (c, -(((row * 31 + c * 17) % 89) as f64 / 89.0))).collect();
    }
    let half = SIDE as f64 / 2.0;
    let wind = [half - j as f64, i as f64 - half];
    let steep = 10f64.powf(3.0 * (1.0 - j as f64 / SIDE as f64));
    let sides = [
        (i > 0, -1, 0),
        (i + 1 < SIDE, 1, 0),
        (j > 0, -(SIDE as isize), 1),
        (j + 1 < SIDE, SIDE as isize, 1),
    ];
    let mut found = Vec::new();
    for (at, (inside, step, axis)) in sides.into_iter().enumerate() {
        let upwind = (wind[axis] * if at.is_multiple_of(2) { 1.0 } else { -1.0 }).max(0.0);
        let size = match kind {
            Kind::Stretched => [1.0, steep][axis],
            Kind::Convected => upwind + 1e-2,
            Kind::OneSided if row.is_multiple_of(3) && axis == 0 => 0.0,
            Kind::OneSided => upwind,
            _ => 1.0,
        };
        if inside && size > 0.0 {
            found.push(((row as isize + step) as usize, -size));
        }
    }
    found
}

/// The matrix, whose blocks are couplings times a block near the identity.
fn matrix(kind: Kind, nb: usize) -> BlockCsr {
    let (mut row_ptr, mut col_idx, mut values) = (vec![0], Vec::new(), Vec::new());
    for row in 0..SIDE * SIDE {
        let mut entries = couplings(kind, row);
        // A boundary value or a long time step keeps the diagonal a little above the sum.
        let sum: f64 = entries.iter().map(|e| -e.1).sum();
        let excess = if let Kind::Dominant = kind { 1.5 } else { 1.01 };
        entries.push((row, excess * sum + 0.05));
        entries.sort_by_key(|e| e.0);
        for (col, size) in entries {
            col_idx.push(col as u32);
            for e in 0..nb * nb {
                let noise = ((row * 13 + col * 29 + e * 7) % 41) as f64 / 41.0 - 0.5;
                let unit = if e.is_multiple_of(nb + 1) { 1.0 } else { 0.05 * noise };
                values.push(size * unit);
            }
        }
        row_ptr.push(col_idx.len() as u32);
    }
    let pattern = BlockPattern::new(SIDE * SIDE, row_ptr, col_idx).unwrap();
    BlockCsr::new(pattern, nb, values).unwrap()
}

/// Whoever says nothing gets few iterations on matrices of any kind, fewer than with multicolor sweeps on all of them, and far
/// fewer where rows are coupled strongly along lines.
#[test]
fn the_default_is_good_for_matrices_of_all_kinds() {
    for (kind, most, gain) in [
        (Kind::Dominant, 12, 1.3),
        (Kind::Stretched, 40, 2.5),
        (Kind::Convected, 60, 8.0),
        (Kind::MMatrix, 35, 1.5),
        (Kind::OneSided, 10, 5.0),
    ] {
        for nb in 1..=6 {
            let a = matrix(kind, nb);
            let b = wave(SIDE * SIDE * nb);
            let count = |options| {
                let mut solver =
                    LinearSolver::symbolic(Arc::new(Team::new(1)), a.pattern(), nb, options).unwrap();
                solver.numeric(a.values(), BlockLayout::ColumnMajor).unwrap();
                let solve = solver.solve(&b, &mut vec![0.0; b.len()]).unwrap();
                assert_eq!(solve.outcome, Outcome::Converged, "{kind:?} nb {nb}");
                solve.iterations
            };
            let default = count(SolverOptions::default());
            let preconditioner = PreconditionerKind::Multicolor;
            let sweeps = count(SolverOptions { preconditioner, ..SolverOptions::default() });
            let enough = default <= most && gain * default as f64 <= sweeps as f64;
            assert!(enough, "{kind:?} nb {nb}: {default} iterations, with multicolor sweeps {sweeps}");
        }
    }
}
