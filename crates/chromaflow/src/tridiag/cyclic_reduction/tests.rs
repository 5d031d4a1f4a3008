//! The operation counts of Table 1 of Stone et al. (2011).

use crate::tridiag::{Method, Operations};

/// Forward: n / 2^k rows in step k, each with one inverse and six products (the last row of a step lacks a right
/// neighbour, which saves two). Backward: two vectors a row.
#[test]
fn cyclic_reduction_counts() {
    for log in 1..=11 {
        let n = 1usize << log;
        let ops = Method::CyclicReduction.operations(n);
        assert_eq!(ops.inverses, n, "one for every row");
        assert_eq!(ops.products, 6 * (n - 1) - 2 * log);
    }
}

/// log2 n steps of n rows, each with one inverse and six products, then n inverses; the s rows at either end that lack a
/// neighbour at distance s save two products each.
#[test]
fn parallel_cyclic_reduction_counts() {
    for log in 0..=11 {
        let n = 1usize << log;
        let ops = Method::ParallelCyclicReduction.operations(n);
        assert_eq!(ops.inverses, n * log + n);
        assert_eq!(ops.products, 6 * n * log - 4 * (n - 1));
        assert_eq!(ops.vectors, 3 * n * log - 2 * (n - 1) + n);
    }
}

/// Hirshman et al. estimate 2.6 times the work of Thomas (one inverse, two products a row) for cyclic reduction of large
/// blocks.
#[test]
fn cyclic_reduction_costs_about_2_6_times_thomas() {
    let (n, m) = (1024, 64);
    let thomas = Operations { inverses: n, products: 2 * (n - 1), vectors: 3 * n - 2 };
    assert_eq!(Method::Thomas.operations(n), thomas);
    let ratio = Method::CyclicReduction.operations(n).flops(m) / thomas.flops(m);
    assert!((2.5..2.8).contains(&ratio), "ratio {ratio}");
}

/// The hybrids do less work than parallel cyclic reduction and take fewer steps than the methods that they end with.
#[test]
fn hybrids_lie_between() {
    let work = |method: Method| method.operations(512).flops(5);
    let (cr, pcr) = (work(Method::CyclicReduction), work(Method::ParallelCyclicReduction));
    for engine in [Method::CrPcr, Method::PcrThomas] {
        assert!(cr < work(engine) && work(engine) < pcr, "{engine:?}");
    }
}
