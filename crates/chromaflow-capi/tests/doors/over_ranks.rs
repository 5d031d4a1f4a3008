//! Rows with global columns through the C interface: by ranks that are threads here, and by a program under every MPI that is there.

use crate::handles::{given, good, taken};
use crate::programs::{compile, include};
use chromaflow_capi::{comm, context, solver, status};
use chromaflow_comm::{CommError, Communicator, Threads, run};
use chromaflow_testkit::skip;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr::null_mut;
use std::sync::Arc;
use std::time::Duration;

/// A ring of rows, rank by rank, ten on each but the second; its arrays in global numbers from 1.
fn ring(rank: usize, size: usize) -> (i64, Vec<i32>, Vec<u64>, Vec<f64>) {
    let has = |rank: usize| if rank == 1 { 0 } else { 10 };
    let (all, first): (u64, u64) = ((0..size).map(has).sum(), (0..rank).map(has).sum());
    let (mut row_ptr, mut col_idx, mut values) = (vec![1], Vec::new(), Vec::new());
    for row in first..first + has(rank) {
        col_idx.extend([(row + 1) % all + 1, row + 1, (row + all - 1) % all + 1]);
        values.extend([-1.0, 2.5 + (row as f64).sin(), -0.5]);
        row_ptr.push(col_idx.len() as i32 + 1);
    }
    (first as i64 + 1, row_ptr, col_idx, values)
}

fn said() -> (String, i64, i64) {
    let (mut text, mut row, mut col) = (vec![0_u8; 1024], -1, -1);
    // SAFETY: room for the text, and two numbers.
    let len = unsafe {
        status::chromaflow_error_place(&raw mut row, &raw mut col);
        status::chromaflow_error_text(text.as_mut_ptr().cast(), text.len())
    };
    text.truncate(len);
    (String::from_utf8(text).unwrap(), row, col)
}

#[test]
fn ranks_through_c_solve_together_and_are_refused_together() {
    for size in [1, 2, 3, 5] {
        let found = run(size, Duration::from_secs(60), move |ranks: &Threads| {
            let (first, row_ptr, mut col_idx, values) = ring(ranks.rank(), size);
            let (mut own, mut context, mut made) =
                (comm::comm_of(Arc::new(ranks.clone())), null_mut(), null_mut());
            let rows = row_ptr.len() as i64 - 1;
            let pattern = |col_idx: &[u64]| solver::Pattern {
                size: size_of::<solver::Pattern>(),
                rows,
                nb: 1,
                base: 1,
                row_ptr: given(&row_ptr, 1),
                col_idx: given(col_idx, 4),
                ghosts: 0,
            };
            let (mut rank, mut count) = (-1, -1);
            let b: Vec<f64> = (0..rows).map(|i| (i as f64 + first as f64).cos()).collect();
            let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
            // SAFETY: arrays, texts and places live through the calls.
            unsafe {
                good(comm::chromaflow_comm_place(own, &raw mut rank, &raw mut count));
                assert_eq!([rank as usize, count as usize], [ranks.rank(), size]);
                good(context::chromaflow_context_create(c"threads=2".as_ptr(), null_mut(), &raw mut context));
                let options = c"preconditioner=multicolor, tolerance=1e-12".as_ptr();
                let mut create = |pattern: solver::Pattern, first: i64| {
                    let to = &raw mut made;
                    solver::chromaflow_solver_create_over_ranks(
                        context,
                        own,
                        &raw const pattern,
                        first,
                        options,
                        to,
                    )
                };
                // Errors are the same on all ranks, also those that only one of them could see.
                let last = size - 1;
                let right = col_idx.clone();
                if ranks.rank() == last && size != 2 {
                    col_idx[1] = 1_000_000;
                    assert_eq!(create(pattern(&col_idx), first), 2, "{}", said().0);
                } else if size != 2 {
                    assert_eq!(create(pattern(&right), first), 2, "{}", said().0);
                }
                if size != 2 {
                    let (text, row, col) = said();
                    assert!(
                        text.starts_with(&format!("rank {last}: row {row}: column 1000000 is outside")),
                        "{text}"
                    );
                    assert_eq!(col, 1_000_000);
                }
                let wrong = if ranks.rank() == 0 { -7 } else { first };
                assert_eq!(create(pattern(&right), wrong), 1);
                assert!(said().0.starts_with("rank 0: first_row is -7"), "{}", said().0);
                good(create(pattern(&right), first));
                comm::chromaflow_comm_destroy(own);
                own = null_mut();
                assert_eq!(comm::chromaflow_comm_place(own, null_mut(), null_mut()), 1);
                good(solver::chromaflow_solver_set_values(
                    made,
                    given(&values, 6),
                    given::<f64>(&[], 6),
                    1,
                    null_mut(),
                ));
                good(solver::chromaflow_solver_solve(made, given(&b, 6), taken(&mut x), null_mut()));
                good(solver::chromaflow_solver_multiply(made, given(&x, 6), taken(&mut y)));
                assert!(b.iter().zip(&y).all(|(b, y)| (b - y).abs() < 1e-10));
                let (mut order, mut colors) = (vec![0; b.len()], 0);
                good(solver::chromaflow_solver_order(made, order.as_mut_ptr(), null_mut(), &raw mut colors));
                assert!((2..=3).contains(&colors), "{colors} colors");
                unsafe extern "C" fn swap(
                    _: *mut std::ffi::c_void,
                    _: i32,
                    _: chromaflow_capi::arrays::ArrayMut,
                    _: i32,
                ) -> i32 {
                    0
                }
                unsafe extern "C" fn add(_: *mut std::ffi::c_void, _: *mut f64, _: i32) -> i32 {
                    0
                }
                assert_eq!(solver::chromaflow_solver_distribute(made, Some(swap), Some(add), null_mut()), 1);
                solver::chromaflow_solver_destroy(made);
                context::chromaflow_context_destroy(context);
                Ok::<_, CommError>((order, x))
            }
        });
        let (orders, x): (Vec<Vec<i64>>, Vec<Vec<f64>>) = found.unwrap().into_iter().unzip();
        let numbers: BTreeSet<i64> = orders.into_iter().flatten().collect();
        let rows = x.concat().len();
        assert_eq!((numbers.len(), numbers.first(), numbers.last()), (rows, Some(&1), Some(&(rows as i64))));
    }
}

#[test]
fn no_mpi_is_an_error() {
    let mut made = null_mut();
    // SAFETY: texts and places live through the calls.
    unsafe {
        assert_eq!(comm::chromaflow_comm_create(std::ptr::null(), c"".as_ptr(), &raw mut made), 11);
        assert!(
            made.is_null() && said().0.starts_with("this program has loaded no MPI library"),
            "{}",
            said().0
        );
        assert_eq!(comm::chromaflow_comm_create(std::ptr::null(), c"patience=0".as_ptr(), &raw mut made), 1);
        assert!(said().0.contains("patience = `0`: expected seconds"), "{}", said().0);
    }
}

/// Folders of launchers with compilers beside them: those that `CHROMAFLOW_MPIRUN` lists, and the path's.
fn mpis() -> Vec<PathBuf> {
    let listed = std::env::var_os("CHROMAFLOW_MPIRUN").unwrap_or_default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let both = |folder: &PathBuf| folder.join("mpirun").is_file() && folder.join("mpicc").is_file();
    let listed = std::env::split_paths(&listed).filter_map(|p| p.parent().map(Path::to_owned));
    let mut found: Vec<PathBuf> = listed.filter(both).collect();
    found.extend(std::env::split_paths(&path).find(both));
    found.dedup();
    if found.is_empty() {
        skip("mpi", "no mpirun with an mpicc beside it is on the path (or in CHROMAFLOW_MPIRUN)");
    }
    found
}

/// The example prints the same on any number of ranks of every MPI.
#[test]
fn a_program_of_mpi_solves_with_global_columns() {
    for folder in mpis() {
        let made = tempfile::tempdir().unwrap();
        let source = include().ancestors().nth(3).unwrap().join("examples/implicit_global.c");
        let mpicc = folder.join("mpicc").display().to_string();
        let Some(program) = compile(made.path(), &[&mpicc, "-std=c11"], &source) else { continue };
        let mut lines = BTreeSet::new();
        for ranks in ["1", "2", "3", "5"] {
            let mut command = Command::new(folder.join("mpirun"));
            command.args(["-n", ranks]).arg(&program).stdin(Stdio::null());
            // Open MPI starts as many ranks as cores, and not as root, unless it is told to.
            command
                .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
                .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
                .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
            let output = command.output().unwrap();
            let text =
                [&output.stdout, &output.stderr].map(|b| String::from_utf8_lossy(b).into_owned()).concat();
            assert!(output.status.success(), "{mpicc}, {ranks} ranks: {text}");
            lines.insert(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        assert!(
            lines.len() == 1 && lines.first().unwrap().contains("iterations, x(1) = "),
            "{mpicc}: {lines:?}"
        );
    }
}
