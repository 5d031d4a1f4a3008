//! A flow code's Jacobian through Rust and through every door that is compiled: the same iterations, the same bits.

use crate::handles::Handles;
use crate::programs::{C, CPP, FORTRAN, build};
use chromaflow::solver::{BlockLayout, LinearSolver};
use chromaflow::sparse::io;
use chromaflow::{BlockCsr, SolverOptions, Team};
use chromaflow_testkit::data;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

const OPTIONS: [&str; 3] = [
    "preconditioner=ilu0,policy=d,order=natural",
    "policy=dsh,sweeps=2",
    "method=bicgstab,preconditioner=ilu1",
];

fn matrix() -> Option<BlockCsr> {
    let file = data("matrices/kfun3d_m6A_step5_bs4.petsc.xz")?;
    Some(io::read_matrix(&file, Some(4)).unwrap().matrix)
}

pub fn right_hand_side(matrix: &BlockCsr) -> Vec<f64> {
    (0..matrix.pattern().rows() * matrix.nb()).map(|i| (i as f64 * 0.37).sin()).collect()
}

/// Iterations, x of A x = b, z = M b, by Rust on one thread.
pub fn by_rust(matrix: &BlockCsr, b: &[f64], text: &str) -> Vec<f64> {
    let mut options = SolverOptions::default();
    options.set_all(text).unwrap();
    let team = Arc::new(Team::new(1));
    let mut solver = LinearSolver::symbolic(team, matrix.pattern(), matrix.nb(), options).unwrap();
    solver.numeric(matrix.values(), BlockLayout::ColumnMajor).unwrap();
    let mut result = vec![0.0; 1 + 2 * b.len()];
    let (x, z) = result[1..].split_at_mut(b.len());
    let report = solver.solve(b, x).unwrap();
    solver.apply(b, z).unwrap();
    result[0] = report.iterations as f64;
    result
}

fn same(found: &[f64], expected: &[f64]) -> bool {
    found.len() == expected.len() && found.iter().zip(expected).all(|(x, y)| x.to_bits() == y.to_bits())
}

#[test]
fn two_threads_through_c_give_the_bits_of_one_in_rust() {
    let Some(matrix) = matrix() else { return };
    let b = right_hand_side(&matrix);
    for text in OPTIONS {
        let expected = by_rust(&matrix, &b, text);
        let there = Handles::new("threads=2", &matrix, text);
        let mut y = vec![0.0; b.len()];
        there.solve(&b, &mut y);
        assert!(same(&y, &expected[1..=b.len()]), "{text}");
        there.apply(&b, &mut y);
        assert!(same(&y, &expected[1 + b.len()..]), "{text}");
    }
}

/// The file that the programs read.
fn write(matrix: &BlockCsr, b: &[f64], to: &Path) {
    let pattern = matrix.pattern();
    let sizes = [pattern.rows() as u32, matrix.nb() as u32, pattern.col_idx().len() as u32];
    let integers = sizes.iter().chain(pattern.row_ptr()).chain(pattern.col_idx());
    let mut bytes: Vec<u8> = integers.flat_map(|v| v.to_ne_bytes()).collect();
    bytes.extend(matrix.values().iter().chain(b).flat_map(|v| v.to_ne_bytes()));
    std::fs::write(to, bytes).unwrap();
}

#[test]
fn programs_in_c_cpp_and_fortran_give_the_bits_of_rust() {
    let Some(matrix) = matrix() else { return };
    let b = right_hand_side(&matrix);
    let folder = tempfile::tempdir().unwrap();
    let (system, result) = (folder.path().join("system"), folder.path().join("result"));
    write(&matrix, &b, &system);
    let expected = OPTIONS.map(|text| by_rust(&matrix, &b, text));
    for (words, name) in [(C, "jacobian.c"), (CPP, "jacobian.cpp"), (FORTRAN, "jacobian.f90")] {
        let Some(program) = build(folder.path(), words, name) else { continue };
        for (text, expected) in OPTIONS.iter().zip(&expected) {
            let mut command = Command::new(&program);
            command.args([&system, Path::new(text), &result]).env_remove("CHROMAFLOW_OPTIONS");
            let ended = command.output().unwrap();
            assert!(ended.status.success(), "{name}, {text}: {ended:?}");
            let bytes = std::fs::read(&result).unwrap();
            let found: Vec<f64> =
                bytes.chunks_exact(8).map(|v| f64::from_ne_bytes(v.try_into().unwrap())).collect();
            assert!(same(&found, expected), "{name}, {text}: {} and {} iterations", found[0], expected[0]);
        }
    }
}
