//! A flow code's Jacobian through the C interface and through Rust: the same bits.
#![allow(unsafe_code)]

mod handles;

use chromaflow::solver::{BlockLayout, LinearSolver};
use chromaflow::sparse::io;
use chromaflow::{SolverOptions, Team};
use chromaflow_testkit::data;
use handles::Handles;
use std::sync::Arc;

const OPTIONS: [&str; 3] = [
    "preconditioner=ilu0,policy=d,order=natural",
    "policy=dsh,sweeps=2",
    "method=bicgstab,preconditioner=ilu1",
];

#[test]
fn a_jacobian_through_c_and_rust_gives_the_same_bits() {
    let Some(file) = data("matrices/kfun3d_m6A_step5_bs4.petsc.xz") else { return };
    let matrix = io::read_matrix(&file, Some(4)).unwrap().matrix;
    let n = matrix.pattern().rows() * matrix.nb();
    let b: Vec<f64> = (0..n).map(|i| (i as f64 * 0.37).sin()).collect();
    for text in OPTIONS {
        let mut options = SolverOptions::default();
        options.set_all(text).unwrap();
        let team = Arc::new(Team::new(1));
        let mut here = LinearSolver::symbolic(team, matrix.pattern(), matrix.nb(), options).unwrap();
        here.numeric(matrix.values(), BlockLayout::ColumnMajor).unwrap();
        let there = Handles::new("threads=2", &matrix, text);
        let (mut x, mut y) = (vec![0.0; n], vec![0.0; n]);
        here.solve(&b, &mut x).unwrap();
        there.solve(&b, &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| x.to_bits() == y.to_bits()), "{text}");
        here.apply(&b, &mut x).unwrap();
        there.apply(&b, &mut y);
        assert!(x.iter().zip(&y).all(|(x, y)| x.to_bits() == y.to_bits()), "{text}");
    }
}
