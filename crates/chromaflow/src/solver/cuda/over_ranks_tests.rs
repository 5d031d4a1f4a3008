//! Rows of ranks on devices beside those of ranks on the host: all on one device, and each on its own where there are several.

use super::*;
use crate::Outcome;
use crate::gpu::test_stream;
use crate::relax::Direction;
use crate::solver::global::tests::{Matrix, wave};
use crate::solver::{ErrorKind, LinearSolver, OwnedRows};
use chromaflow_comm::{Communicator, Threads, run};
use chromaflow_device::cuda::Gpu;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const SIZES: [usize; 4] = [1, 2, 3, 5];

/// Whether each rank is to have a device of its own, where there are so many.
fn places(size: usize) -> Vec<bool> {
    let count = Gpu::count().unwrap_or(0);
    [Some(false), (size > 1 && count >= size).then_some(true)].into_iter().flatten().collect()
}

/// A rank's solvers on the host and on a device, with values.
fn pair(
    matrix: &Matrix,
    ranks: &Threads,
    apart: bool,
    options: SolverOptions,
) -> Result<(LinearSolver, LinearSolverCuda, Stream), SolverError> {
    let range = matrix.range(ranks.rank(), ranks.size());
    let part = matrix.part(range.clone());
    let rows = OwnedRows {
        base: IndexBase::Zero,
        start: range.start as u64,
        row_ptr: &part.row_ptr,
        col_idx: &part.col_idx,
    };
    let team = Arc::new(Team::new(1));
    let comm: Arc<dyn Communicator> = Arc::new(ranks.clone());
    let mut here =
        LinearSolver::symbolic_over_ranks(Arc::clone(&team), Arc::clone(&comm), rows, matrix.nb, options)?;
    here.numeric(&part.values, BlockLayout::ColumnMajor)?;
    let stream = Gpu::open(if apart { ranks.rank() } else { 0 }).and_then(|gpu| gpu.stream());
    let stream = stream.map_err(GpuError::from)?;
    let mut there = LinearSolverCuda::symbolic_over_ranks(&stream, &team, comm, rows, matrix.nb, options)?;
    there.numeric(&part.values, BlockLayout::ColumnMajor)?;
    assert_eq!((there.rows(), there.whole_rows()), (here.rows(), here.whole_rows()));
    assert_eq!(there.order_inside(), here.order_inside());
    Ok((here, there, stream))
}

#[track_caller]
fn near(x: &[f64], y: &[f64], close: f64, what: &str) {
    assert_eq!(x.len(), y.len(), "{what}");
    let largest = y.iter().fold(1.0_f64, |m, v| m.max(v.abs()));
    let off = x.iter().zip(y).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    assert!(off <= close * largest, "{what}: {off:e} of {largest:e}");
}

/// Products, one application and solves, with arrays of the host and of the device.
#[test]
fn cuda_rows_of_ranks_are_solved_as_on_the_host() {
    if test_stream().is_none() {
        return;
    }
    for (rows, nb, symmetric) in [(90, 3, false), (140, 5, true), (61, 1, false), (3, 2, true)] {
        let matrix = Matrix::random(rows, nb, 17 + rows as u64, symmetric);
        for words in [
            "preconditioner=multicolor, policy=d, sweeps=2",
            "preconditioner=multicolor, policy=ds, method=bicgstab",
            "preconditioner=multicolor, policy=dsh",
            "preconditioner=multicolor, policy=d, method=richardson, tolerance=0, correction_sweeps=0, sweeps=5",
            "preconditioner=multicolor, policy=d, method=richardson, correction_sweeps=2",
            "preconditioner=jacobi, policy=d, sweeps=2",
            "preconditioner=ilu0, policy=d",
            "preconditioner=ilu0, policy=ds, order=multicolor, method=bicgstab",
            "preconditioner=none",
        ] {
            let mut options = SolverOptions::default();
            options.set_all(words).unwrap();
            for (size, apart) in
                SIZES.into_iter().flat_map(|size| places(size).into_iter().map(move |p| (size, p)))
            {
                let matrix = matrix.clone();
                let found = run(size, PATIENCE, move |ranks: &Threads| {
                    let (mut here, mut there, stream) = pair(&matrix, ranks, apart, options)?;
                    let what = format!("{rows} rows of {nb}, {words}, {size} ranks, apart: {apart}");
                    let range = matrix.range(ranks.rank(), size);
                    let b: Vec<f64> = (range.start * nb..range.end * nb).map(|i| wave(3, i)).collect();
                    let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
                    here.multiply(&b, &mut x)?;
                    there.multiply(&b, &mut y)?;
                    near(&y, &x, 1e-13, &format!("{what}: product"));
                    let close = match options.policy {
                        Policy::D => 1e-11,
                        Policy::Ds => 1e-4,
                        Policy::Dsh => 1e-2,
                    };
                    here.apply(&b, &mut x)?;
                    there.apply(&b, &mut y)?;
                    near(&y, &x, close, &format!("{what}: application"));
                    let upload = |v: &[f64]| stream.upload(v).map_err(GpuError::from);
                    let (given, mut taken) = (upload(&b)?, upload(&vec![7.0; b.len()])?);
                    for _ in 0..3 {
                        there.apply(&given, &mut taken)?;
                        assert!(taken.download().map_err(GpuError::from)? == y, "{what}: on the device");
                    }
                    x.fill(0.0);
                    y.fill(0.0);
                    let expected = here.solve(&b, &mut x)?;
                    let found = there.solve(&b, &mut y)?;
                    assert_eq!(found.outcome, expected.outcome, "{what}");
                    let off = found.iterations.abs_diff(expected.iterations);
                    assert!(off <= 2 + expected.iterations / 20, "{what}: {}", found.iterations);
                    near(&y, &x, 1e-8, &format!("{what}: solution"));
                    let mut taken = upload(&vec![0.0; b.len()])?;
                    there.solve(&given, &mut taken)?;
                    near(
                        &taken.download().map_err(GpuError::from)?,
                        &y,
                        1e-12,
                        &format!("{what}: solved there"),
                    );
                    Ok::<_, SolverError>(found.iterations)
                });
                let found = found.unwrap();
                assert!(found.iter().all(|n| *n == found[0]), "{words}: the same on all ranks");
            }
        }
    }
}

/// Around multicolor sweeps iterations do not depend on the number of ranks.
#[test]
fn cuda_iterations_do_not_depend_on_the_number_of_ranks() {
    if test_stream().is_none() {
        return;
    }
    let matrix = Matrix::random(150, 4, 23, false);
    let options = SolverOptions {
        preconditioner: PreconditionerKind::Multicolor,
        policy: Policy::D,
        direction: Direction::Symmetric,
        ..SolverOptions::default()
    };
    let counts = SIZES.map(|size| {
        let matrix = matrix.clone();
        let found = run(size, PATIENCE, move |ranks: &Threads| {
            let (_, mut there, _) = pair(&matrix, ranks, false, options)?;
            let b = vec![1.0; there.rows() * 4];
            let solve = there.solve(&b, &mut vec![0.0; b.len()])?;
            assert_eq!(solve.outcome, Outcome::Converged);
            // Squares beyond the range of f64 are the same system.
            let (tiny, mut x) = (vec![2.0_f64.powi(-900); b.len()], vec![0.0; b.len()]);
            assert_eq!(there.solve(&tiny, &mut x)?, solve);
            Ok::<_, SolverError>(solve.iterations)
        });
        found.unwrap()[0]
    });
    assert!(counts.iter().all(|&n| n == counts[0]), "{counts:?}");
}

/// What one rank gives wrong is an error on all, in global numbers; the solver goes on.
#[test]
fn cuda_errors_are_the_same_on_all_ranks() {
    if test_stream().is_none() {
        return;
    }
    let matrix = Matrix::random(60, 2, 29, true);
    let options =
        SolverOptions { preconditioner: PreconditionerKind::Multicolor, ..SolverOptions::default() };
    let found = run(3, PATIENCE, move |ranks: &Threads| {
        let (_, mut there, _) = pair(&matrix, ranks, false, options)?;
        let last = ranks.rank() == 2;
        let range = matrix.range(ranks.rank(), 3);
        let part = matrix.part(range.clone());
        let b = vec![1.0; there.rows() * 2];
        let mut said = Vec::new();
        let mut tell = |error: SolverError| said.push((error.to_string(), error.kind(), error.place()));
        let mut bad = b.clone();
        if last {
            bad[3] = f64::NAN;
        }
        tell(there.solve(&bad, &mut vec![0.0; b.len()]).unwrap_err());
        let mut values = part.values.clone();
        if last {
            values[4 * part.row_ptr[5] as usize + 1] = f64::INFINITY;
        }
        tell(there.numeric(&values, BlockLayout::ColumnMajor).unwrap_err());
        tell(there.solve(&b, &mut vec![0.0; b.len()]).unwrap_err());
        there.numeric(&part.values, BlockLayout::ColumnMajor)?;
        assert_eq!(there.solve(&b, &mut vec![0.0; b.len()])?.outcome, Outcome::Converged);
        Ok::<_, SolverError>((said, range.start))
    });
    let found = found.unwrap();
    assert!(found.iter().all(|(said, _)| *said == found[0].0), "{:?}", found[0].0);
    let (said, start) = (&found[0].0, found[2].1 as u64);
    assert_eq!(said[0].0, format!("rank 2: b of row {}, entry 1 of it, from 0, is NaN", start + 1));
    assert_eq!((said[1].1, said[1].2.map(|p| p.0)), (ErrorKind::NotFinite, Some(start + 5)));
    assert_eq!(said[2].1, ErrorKind::NoValues, "{}", said[2].0);
}
