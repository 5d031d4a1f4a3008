//! Rows in lines over ranks.

use super::{
    Local, NB, PATIENCE, ROWS, SIZES, SweepExchange, System, alone, exchanging, local_of, options, planned,
};
use crate::gallery::tetrahedral;
use crate::order::Lines;
use crate::solver::{AssembledSolver, Method, PreconditionerKind, SolverOptions};
use crate::{BlockPattern, Policy};
use chromaflow_comm::{CommError, Threads, run};
use chromaflow_device::Team;
use std::sync::Arc;

/// The same where half of the rows lie in lines of two to eight, which go wherever the blocks lead.
pub(crate) fn lined_system_of(rows: usize, blocks: usize, seed: u64, policy: Policy) -> System {
    let (ptr, columns) = tetrahedral(rows, blocks, seed);
    let pattern = BlockPattern::new(rows, ptr, columns).unwrap();
    let (mut free, mut lists, mut covered) = (vec![true; rows], Vec::new(), 0);
    for seed in 0..rows {
        let (mut line, mut next) = (Vec::new(), Some(seed as u32).filter(|_| free[seed]));
        while let Some(row) = next.filter(|_| line.len() < 2 + seed % 7 && 2 * covered < rows) {
            free[row as usize] = false;
            line.push(row);
            covered += 1;
            next = pattern.columns(row as usize).iter().copied().find(|&c| free[c as usize]);
        }
        lists.push(line);
    }
    let lines = Lines::new(rows, &lists).unwrap();
    assert!(lines.iter().any(|line| line.len() == 8) && 5 * lines.covered() > 2 * rows);
    planned(&pattern, &lines, policy)
}

pub(crate) fn lined_system(policy: Policy) -> System {
    lined_system_of(ROWS, 1500, 3, policy)
}

/// Sweeps over lines of so many ranks, each with its part.
#[cfg(feature = "cuda")]
pub(crate) fn lined_sweeps(size: usize, when: SweepExchange, sweeps: usize) -> Vec<f64> {
    let o = options(Method::Richardson, PreconditionerKind::Lines, Policy::D);
    exchanging(when, size, SolverOptions { sweeps, ..o }, (false, 1, false, 1)).0
}

/// Over lines, too, on one rank and over all of them where nothing is late; the system is solved all the same.
#[test]
fn sweeps_over_lines_that_exchange_late_solve_the_same_system() {
    let whole = lined_system(Policy::D);
    let o = options(Method::Richardson, PreconditionerKind::Lines, Policy::D);
    let (exact, _) = alone(&whole, &o, false);
    let solve = SolverOptions { method: Method::Gmres, ..o };
    let (solution, _) = alone(&whole, &solve, true);
    for when in [SweepExchange::ColorLate, SweepExchange::EverySweep, SweepExchange::EverySolve] {
        for size in SIZES {
            let (x, _) = exchanging(when, size, o, (false, 1, false, 2));
            assert_eq!(x == exact, size == 1, "{when:?} on {size} ranks");
            let (x, _) = exchanging(when, size, solve, (true, 2, false, 1));
            assert!(x.iter().zip(&solution).all(|(x, y)| (x - y).abs() <= 1e-9), "{when:?} on {size} ranks");
        }
    }
}

/// Nobody solves for a line that two ranks have parts of.
#[test]
fn a_line_has_one_owner() {
    let found = run(2, PATIENCE, |ranks: &Threads| {
        let whole = lined_system(Policy::D);
        let line = (0..ROWS).map(|row| whole.batches.line_of(row)).find(|line| line.len() > 4).unwrap();
        let owners: Vec<u32> = (0..ROWS).map(|row| u32::from(row >= line.start + 2)).collect();
        let Local { share, batches, jacobian, .. } = local_of(ranks, &whole, &owners, 1, false);
        let (team, o) =
            (Arc::new(Team::new(1)), options(Method::Gmres, PreconditionerKind::Lines, Policy::D));
        let solver = AssembledSolver::over_ranks(&team, jacobian.pattern(), NB, &batches, &share, &o);
        Ok::<_, CommError>((line.start, solver.err().expect("the line is cut").to_string()))
    });
    for (start, words) in found.unwrap() {
        let expected =
            format!("rows {} and {} of the whole matrix follow one another in a line", start + 1, start + 2);
        assert!(words.starts_with(&expected), "{words}");
    }
}
