//! The GPU engines against the CPU.

use super::*;
use crate::tridiag::{Double, Options, Real, Single, Solver};
use chromaflow_device::Team;
use chromaflow_device::cuda::Gpu;

/// A stream of a device, or None with the reason said.
fn stream() -> Option<Stream> {
    match Gpu::open(0).and_then(|gpu| gpu.stream()) {
        Ok(stream) => Some(stream),
        Err(why) => {
            chromaflow_testkit::skip("gpu", &why.to_string());
            None
        }
    }
}

/// Coefficients and right-hand side of one batch, diagonally dominant.
fn data<S: Real>(shape: Shape, layout: Layout, seed: u64) -> [Vec<S>; 4] {
    let mut state = seed;
    let mut random = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f64 / 16777216.0 - 0.5
    };
    let m = shape.rank;
    let mut array = |width: usize, boost: f64| {
        let mut values = vec![S::from_f64(0.0); layout.len(shape, width).unwrap()];
        for s in 0..shape.systems {
            for i in 0..shape.rows {
                for e in 0..width {
                    let dominance = if e % (m + 1) == 0 { boost } else { 0.0 };
                    values[layout.index(shape, width, s, i, e)] = S::from_f64(random() + dominance);
                }
            }
        }
        values
    };
    [array(m * m, 0.0), array(m * m, 1.5 * m as f64 + 1.0), array(m * m, 0.0), array(m, 0.0)]
}

/// Every engine that takes the shape, in both layouts, against Thomas on the CPU; outputs start as NaN.
fn compare<P: Precision>(stream: &Stream, shape: Shape)
where
    P::Store: Pod,
{
    for layout in [Layout::Aos, Layout::Soa] {
        let [lower, diag, upper, rhs] = data::<P::Store>(shape, layout, 1 + shape.rows as u64);
        let batch = Batch::new(shape, layout, &lower, &diag, &upper).unwrap();
        let mut exact = rhs.clone();
        let mut cpu = Solver::<P>::new(Options::default());
        assert_eq!(cpu.solve(&Team::new(1), &batch, &rhs, &mut exact).unwrap(), LineOutcome::Solved);
        let [lower, diag, upper, rhs] =
            [&lower, &diag, &upper, &rhs].map(|values| stream.upload(values).unwrap());
        let on_device = GpuBatch { lower: &lower, diag: &diag, upper: &upper };
        for engine in GpuEngine::ALL {
            let mut solver = match GpuSolver::<P>::new(stream, shape, layout, engine) {
                Ok(solver) => solver,
                Err(GpuTridiagError::Input(TridiagError::Unsupported { .. })) => continue,
                Err(other) => panic!("{other}"),
            };
            let mut x = stream.upload(&vec![P::Store::from_f64(f64::NAN); exact.len()]).unwrap();
            solver.solve(stream, &on_device, &rhs, &mut x).unwrap();
            assert_eq!(solver.outcome(&on_device, &rhs, &x).unwrap(), LineOutcome::Solved);
            let tolerance = P::Sum::EPSILON * 8.0 * (3 * shape.rank + 2) as f64;
            for (k, (got, exact)) in x.download().unwrap().iter().zip(&exact).enumerate() {
                let error = (got.to_f64() - exact.to_f64()).abs();
                assert!(error <= tolerance, "{shape:?} {layout} {engine:?}: entry {k} is off by {error}");
            }
        }
    }
}

#[test]
fn every_engine_agrees_with_the_cpu() {
    let Some(stream) = stream() else { return };
    for rank in 1..=MAX_GPU_RANK {
        for (systems, rows) in [(1, 1), (33, 2), (70, 37)] {
            compare::<Double>(&stream, Shape::new(systems, rows, rank));
            compare::<Single>(&stream, Shape::new(systems, rows, rank));
        }
    }
    for (systems, rows, rank) in [(9000, 3, 5), (5, 1500, 1), (3, 2000, 4), (512, 128, 5), (512, 128, 4)] {
        compare::<Double>(&stream, Shape::new(systems, rows, rank));
        compare::<Single>(&stream, Shape::new(systems, rows, rank));
    }
}

#[test]
fn a_breakdown_on_the_device_names_system_and_row() {
    let Some(stream) = stream() else { return };
    let shape = Shape::new(50, 20, 3);
    for layout in [Layout::Aos, Layout::Soa] {
        let [mut lower, mut diag, upper, rhs] = data::<f64>(shape, layout, 3);
        for e in 0..9 {
            diag[layout.index(shape, 9, 41, 7, e)] = 0.0;
            lower[layout.index(shape, 9, 41, 7, e)] = 0.0;
        }
        let [lower, diag, upper, rhs] =
            [&lower, &diag, &upper, &rhs].map(|values| stream.upload(values).unwrap());
        let batch = GpuBatch { lower: &lower, diag: &diag, upper: &upper };
        let mut x = DeviceBuffer::zeroed(&stream, rhs.len()).unwrap();
        let mut solver = GpuSolver::<Double>::new(&stream, shape, layout, GpuEngine::Thomas).unwrap();
        solver.solve(&stream, &batch, &rhs, &mut x).unwrap();
        let outcome = solver.outcome(&batch, &rhs, &x).unwrap();
        assert_eq!(outcome, LineOutcome::Breakdown { system: 41, row: 7 });
    }
}

#[test]
fn the_engine_follows_the_measurements() {
    let choose = |systems, rows, rank, bytes| GpuEngine::choose(Shape::new(systems, rows, rank), bytes);
    assert_eq!(choose(16384, 128, 5, 8), GpuEngine::Thomas);
    assert_eq!(choose(16384, 128, 1, 4), GpuEngine::ScalarThomas);
    assert_eq!(choose(512, 128, 5, 8), GpuEngine::CyclicReduction);
    assert_eq!(choose(512, 128, 1, 4), GpuEngine::CyclicReduction);
    assert_eq!(choose(512, 16, 1, 4), GpuEngine::ScalarThomas);
    // 2000 rows of rank 5 do not fit shared memory.
    assert_eq!(choose(512, 2000, 5, 8), GpuEngine::Thomas);
}
