//! What a flow code does with the solver: the pattern once, new blocks in every nonlinear iteration.
//!
//! ```text
//! cargo run --release --example drop_in_solver
//! ```
//!
//! The system is that of an implicit step for advection and diffusion of three coupled fields on a periodic box. The
//! arrays are those a Fortran code would have: indices from 1, blocks column-major, the diagonal block first.

use chromaflow::solver::{BlockLayout, IndexBase, LinearSolver, SolverOptions};
use chromaflow::{Outcome, Team};
use std::sync::Arc;
use std::time::Instant;

const N: usize = 16;
const NB: usize = 3;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (row_ptr, col_idx) = pattern();
    let rows = row_ptr.len() - 1;

    // Symbolic: once a mesh. One team of threads serves all solvers of a program.
    let team = Arc::new(Team::all_cores());
    let options = SolverOptions { tolerance: 1e-8, ..SolverOptions::default() };
    let mut solver =
        LinearSolver::symbolic_from_arrays(team, IndexBase::One, &row_ptr, &col_idx, NB, options)?;
    let order = solver.order();
    println!("{rows} rows, {} colors of {} to {} rows", order.colors, order.smallest, order.largest);

    let b: Vec<f64> = (0..rows * NB).map(|i| (i as f64 * 0.1).sin()).collect();
    let mut x = vec![0.0; rows * NB];
    for step in 1..=3 {
        // Numeric: whenever the blocks have changed.
        solver.numeric(&blocks(rows, 10.0_f64.powi(step)), BlockLayout::ColumnMajor)?;
        // Apply: as often as there are right-hand sides. Here x starts from the solution before.
        let start = Instant::now();
        let solve = solver.solve(&b, &mut x)?;
        println!(
            "step {step}: {} after {} iterations, residual {:.1e}, {:.1} ms",
            solve.outcome,
            solve.iterations,
            solve.relative_residual,
            start.elapsed().as_secs_f64() * 1e3
        );
        if solve.outcome != Outcome::Converged {
            return Err("a flow code would cut its time step here".into());
        }
    }
    Ok(())
}

/// Row pointers and columns of a 7-point stencil on a periodic box of N x N x N cells.
fn pattern() -> (Vec<i32>, Vec<i32>) {
    let (mut row_ptr, mut col_idx) = (vec![1], Vec::new());
    for cell in 0..N * N * N {
        let place = [cell % N, cell / N % N, cell / (N * N)];
        col_idx.push(cell as i32 + 1);
        for axis in 0..3 {
            for step in [1, N - 1] {
                let mut other = place;
                other[axis] = (place[axis] + step) % N;
                col_idx.push((other[0] + N * (other[1] + N * other[2])) as i32 + 1);
            }
        }
        row_ptr.push(col_idx.len() as i32 + 1);
    }
    (row_ptr, col_idx)
}

/// One block after the other, each by columns: volume / time step, diffusion and upwind advection.
fn blocks(rows: usize, cfl: f64) -> Vec<f64> {
    let mut values = Vec::new();
    for _ in 0..rows {
        for neighbor in 0..7 {
            for c in 0..NB {
                for r in 0..NB {
                    let coupling = if r == c { 1.0 } else { 0.2 };
                    values.push(match neighbor {
                        0 if r == c => 1.0 / cfl + 12.0,
                        0 => 0.3,
                        1 | 3 | 5 => -coupling, // downwind: diffusion alone
                        _ => -coupling - 0.9 * f64::from(u8::from(r == c)), // upwind
                    });
                }
            }
        }
    }
    values
}
