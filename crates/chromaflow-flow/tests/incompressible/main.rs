//! Whole incompressible flows on structured grids: exact solutions, published cavities, blocks.

mod accuracy;
mod blocks;
mod cavity;
mod channel;
mod cylinder;
mod unsteady;

use chromaflow_device::Team;
use chromaflow_flow::config::{Steady, Time};
use chromaflow_flow::grid::Grid;
use chromaflow_flow::incompressible::{Config, Solver};
use std::sync::Arc;

/// Marches to a residual that has fallen by `orders`.
fn converged(grid: &Grid, mut config: Config, orders: f64) -> Solver {
    config.time = Time::Steady(Steady { iterations: 1000, orders });
    let mut solver = Solver::new(grid, config, Arc::new(Team::new(1))).unwrap();
    finish(&mut solver);
    solver
}

fn finish(solver: &mut Solver) {
    let start = std::time::Instant::now();
    let mut last = None;
    let outcome = solver.run(|report| {
        if std::env::var_os("CHROMAFLOW_TRACE").is_some() {
            println!(
                "{:4} {:8.1e} {:?} {:.2e}",
                report.iteration,
                report.cfl,
                report.orders,
                report.linear_reduction.unwrap_or(0.0)
            );
        }
        last = Some(report.clone());
        true
    });
    let last = last.unwrap();
    println!(
        "{outcome} after {} iterations, {:.2} s, {:.1} orders",
        last.iteration,
        start.elapsed().as_secs_f64(),
        last.orders
    );
    for (name, seconds) in solver.times().components() {
        print!("{name} {seconds:.3} ");
    }
    println!();
    assert_eq!(outcome, chromaflow::Outcome::Converged);
}

/// Values at `at` between points by a cubic through the four nearest; `points` ascend.
fn interpolate(points: &[f64], values: &[f64], at: f64) -> f64 {
    let first = points.partition_point(|&p| p < at).saturating_sub(2).min(points.len() - 4);
    (first..first + 4)
        .map(|i| {
            let others = (first..first + 4).filter(|&j| j != i);
            values[i] * others.map(|j| (at - points[j]) / (points[i] - points[j])).product::<f64>()
        })
        .sum()
}
