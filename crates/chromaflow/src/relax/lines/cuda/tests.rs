//! The device's sweeps over lines against a dense reference and the twin.

use super::LinesCuda;
use crate::gpu::{DeviceJacobian, GpuError, Scaling, Storage, test_stream};
use crate::relax::lines::tests::{System, system};
use crate::relax::{Direction, Guess, RelaxOptions, Smoother, SolveOptions};
use crate::{BlockPattern, Outcome, Policy, RowBatches};
use chromaflow_device::Team;
use chromaflow_device::cuda::Stream;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

/// Other numbers on every run.
fn seed() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64 | 1
}

/// The twin's solution.
fn by_twin(system: &System, options: &SolveOptions) -> Vec<f64> {
    let (pattern, nb) = (Arc::clone(system.jac.pattern()), system.jac.nb());
    let team = Arc::new(Team::new(1));
    let mut twin = Smoother::lines(team, pattern, nb, &system.batches, RelaxOptions::default()).unwrap();
    assert_eq!(twin.factor(&system.jac).unwrap().singular, 0);
    let mut x = system.guess.clone();
    twin.solve(&system.jac, &system.b, &mut x, options).unwrap();
    x
}

fn check(stream: &Stream, cells: [usize; 2], nb: usize, policy: Policy, direction: Direction, damping: f64) {
    let seed = seed();
    let what = format!("{cells:?} nb {nb} {policy} {direction:?} damping {damping} seed {seed}");
    // Values of f16 lie on the host as well as on the device: both sides round alike.
    let system = system(cells, nb, policy, seed);
    let (pattern, storage) = (Arc::clone(system.jac.pattern()), Storage::from(policy));
    let mut lines = LinesCuda::new(stream, &pattern, nb, &system.batches, storage).unwrap();
    let device = DeviceJacobian::upload(stream, &system.jac).unwrap();
    // Twice: the second elimination replaces the first.
    lines.factor(&device).unwrap();
    assert_eq!(lines.factor(&device).unwrap().singular, 0, "{what}");
    let b = stream.upload(&system.b).unwrap();
    for guess in [Guess::Zero, Guess::Given] {
        let options = SolveOptions { direction, damping, guess, ..SolveOptions::sweeps(3) };
        let solved = |lines: &mut LinesCuda| {
            let mut x = stream.upload(&system.guess).unwrap();
            if guess == Guess::Zero {
                x.fill_bytes(0xff).unwrap();
            }
            assert_eq!(lines.solve(&b, &mut x, &options).unwrap().outcome, Outcome::IterationLimit, "{what}");
            x.download().unwrap()
        };
        let (found, again) = (solved(&mut lines), solved(&mut lines));
        assert!(found == again, "{what}: not the same bits on a second run");
        let expected = by_twin(&system, &options);
        let scale = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
        let most = 20.0 * chromaflow_testkit::rounding(policy == Policy::D) * scale;
        for (i, (f, e)) in found.iter().zip(&expected).enumerate() {
            assert!((f - e).abs() <= most, "{what} {guess:?}: entry {i} is {f}, expected {e}");
        }
    }
}

#[test]
fn cuda_lines_match_the_twin_for_every_block_size() {
    let Some(stream) = test_stream() else { return };
    for nb in 1..=10 {
        for policy in Policy::ALL {
            for (direction, damping) in
                [(Direction::Forward, 1.0), (Direction::Backward, 0.8), (Direction::Symmetric, 1.0)]
            {
                check(&stream, [37, 23], nb, policy, direction, damping);
            }
        }
    }
}

#[test]
fn cuda_lines_at_awkward_sizes() {
    let Some(stream) = test_stream() else { return };
    for nb in [1, 2, 5, 6, 7] {
        for cells in [[1, 1], [1, 2], [1, 70], [2, 5], [33, 6], [200, 9], [7, 130]] {
            for policy in Policy::ALL {
                check(&stream, cells, nb, policy, Direction::Symmetric, 1.0);
            }
        }
    }
}

#[test]
fn cuda_small_lines_for_the_sanitizer() {
    let Some(stream) = test_stream() else { return };
    for nb in [1, 2, 5, 10] {
        for policy in Policy::ALL {
            check(&stream, [9, 12], nb, policy, Direction::Forward, 0.9);
        }
    }
}

/// Where f32 blocks are narrowed on the way, E and F are those of the blocks before: to the rounding of f16 the twin's.
#[test]
fn cuda_lines_take_assembled_blocks_for_dsh() {
    let Some(stream) = test_stream() else { return };
    let (nb, seed) = (5, seed());
    let (wide, narrow) = (system([20, 20], nb, Policy::Ds, seed), system([20, 20], nb, Policy::Dsh, seed));
    let pattern = Arc::clone(wide.jac.pattern());
    let mut lines = LinesCuda::new(&stream, &pattern, nb, &wide.batches, Storage::F16).unwrap();
    let mut device = DeviceJacobian::upload(&stream, &wide.jac).unwrap();
    let b = stream.upload(&wide.b).unwrap();
    let expected = by_twin(&narrow, &SolveOptions::sweeps(4));
    let scale = expected.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for narrowed in [false, true] {
        if narrowed {
            device.narrow(Scaling::Global).unwrap();
        }
        lines.factor(&device).unwrap();
        let mut x = stream.upload(&wide.guess).unwrap();
        lines.solve(&b, &mut x, &SolveOptions::sweeps(4)).unwrap();
        let x = x.download().unwrap();
        let most = x.iter().zip(&expected).fold(0.0_f64, |m, (f, e)| m.max((f - e).abs()));
        assert!(most < 5e-3 * scale, "seed {seed}: {most:e} of {scale:e}");
    }
}

#[test]
fn cuda_lines_report_singular_rows_and_refuse_misuse() {
    let Some(stream) = test_stream() else { return };
    let nb = 3;
    let mut system = system([6, 9], nb, Policy::Ds, seed());
    let row = system.batches.lines().unwrap()[2] as usize;
    system.jac.diag[row * 9..(row + 1) * 9].fill(0.0); // the first of its line: B is D
    let pattern = Arc::clone(system.jac.pattern());
    let mut lines = LinesCuda::new(&stream, &pattern, nb, &system.batches, Storage::F32).unwrap();
    let b = stream.upload(&system.b).unwrap();
    let mut x = stream.upload(&system.guess).unwrap();
    let early = lines.solve(&b, &mut x, &SolveOptions::sweeps(1));
    assert!(matches!(early, Err(GpuError::Relax(_))), "nothing is factored");
    let report = lines.factor(&DeviceJacobian::upload(&stream, &system.jac).unwrap()).unwrap();
    assert_eq!(report.singular_rows, [row as u32]);
    let solve = lines.solve(&b, &mut x, &SolveOptions::sweeps(1)).unwrap();
    assert_eq!(solve.outcome, Outcome::Breakdown { row });
    let watched = lines.solve(&b, &mut x, &SolveOptions::tolerance(1e-3, 5));
    assert!(matches!(watched, Err(GpuError::Unsupported(_))));
    let large = LinesCuda::new(&stream, &pattern, 11, &system.batches, Storage::F32);
    assert!(matches!(large.map(|_| ()), Err(GpuError::Unsupported(_))));
    let together = RowBatches::single(pattern.rows()).of_lines(system.batches.lines().unwrap().to_vec());
    let dependent = LinesCuda::new(&stream, &pattern, nb, &together, Storage::F32);
    assert!(matches!(dependent.map(|_| ()), Err(GpuError::Relax(_))));
    let other = Arc::new(BlockPattern::new(2, vec![0, 1, 2], vec![1, 0]).unwrap());
    let other = DeviceJacobian::uninitialized(&stream, &other, nb, Storage::F32).unwrap();
    assert!(matches!(lines.factor(&other), Err(GpuError::OtherMatrix)));
}
