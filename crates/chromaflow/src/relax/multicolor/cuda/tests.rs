//! The device sweeps against a sequential f64 reference on the CPU.

use super::MulticolorCuda;
use crate::gallery::tetrahedral;
use crate::gpu::{DeviceJacobian, DeviceOff, PlainSweep, Scaling, Storage, test_stream};
use crate::order::{Plan, PlanOptions, RowBatches};
use crate::relax::{Direction, Guess, SolveOptions};
use crate::sparse::cuda::Tile;
use crate::sparse::{BlockPattern, Jacobian, OffDiagonal};
use crate::{Outcome, Policy};
use chromaflow_device::Buffer;
use chromaflow_device::cuda::Stream;
use chromaflow_testkit::dense_solve;
use half::{bf16, f16};
use std::sync::Arc;

/// Random values, other ones for every seed.
fn random(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    }
}

/// A colored pattern with irregular rows, a hub, a row without neighbors and, where there are enough rows, colors that do
/// not fill a chunk.
fn problem(rows: usize, seed: u64) -> (Arc<BlockPattern>, RowBatches) {
    let (row_ptr, col_idx) = tetrahedral(rows, rows * 6, seed);
    let mut neighbors: Vec<Vec<u32>> =
        (0..rows).map(|r| col_idx[row_ptr[r] as usize..row_ptr[r + 1] as usize].to_vec()).collect();
    if rows > 8 {
        let lonely = rows / 2;
        for list in &mut neighbors {
            list.retain(|&c| c as usize != lonely);
        }
        neighbors[lonely].clear();
        for other in (1..rows).filter(|&r| r != lonely && r % 2 == 1) {
            neighbors[0].push(other as u32);
            neighbors[other].push(0);
        }
    }
    let (mut ptr, mut idx) = (vec![0], Vec::new());
    for mut list in neighbors {
        list.sort_unstable();
        list.dedup();
        idx.extend(list);
        ptr.push(idx.len() as u32);
    }
    let given = BlockPattern::new(rows, ptr, idx).unwrap();
    let plan = Plan::new(&given, &PlanOptions::default()).unwrap();
    (Arc::new(given.permuted(&plan.permutation).0), plan.batches)
}

/// A contractive matrix with random blocks in the storage's assembled form.
fn matrix(pattern: &Arc<BlockPattern>, nb: usize, storage: Storage, seed: u64) -> Jacobian {
    let mut next = random(seed);
    let (rows, q) = (pattern.rows(), nb * nb);
    let mut diag = Buffer::<f64>::zeroed(rows * q);
    for (i, v) in diag.iter_mut().enumerate() {
        let (r, c) = (i % nb, i / nb % nb);
        *v = 0.6 / nb as f64 * next() + if r == c { 1.0 } else { 0.0 };
    }
    let amplitude = 1.5 / (nb as f64 * 12.0);
    let off: Vec<f64> = (0..pattern.nnzb() * q).map(|_| amplitude * next()).collect();
    let off = if storage == Storage::F64 {
        OffDiagonal::F64(Buffer::from_slice(&off))
    } else {
        let single: Vec<f32> = off.iter().map(|&v| v as f32).collect();
        OffDiagonal::F32(Buffer::from_slice(&single))
    };
    Jacobian::new(pattern.clone(), nb, diag, off).unwrap()
}

/// Off-diagonal values as a storage keeps them, in f64.
fn kept(jac: &Jacobian, storage: Storage) -> Vec<f64> {
    match &jac.off {
        OffDiagonal::F64(v) => v.to_vec(),
        OffDiagonal::F32(v) => {
            let largest = v.iter().fold(0f32, |m, x| m.max(x.abs()));
            let beta = 65504.0 / largest;
            let keep = |x: f32| match storage {
                Storage::F16 => f64::from(f16::from_f32(x * beta).to_f32()) * f64::from(largest / 65504.0),
                Storage::Bf16 => f64::from(bf16::from_f32(x).to_f32()),
                _ => f64::from(x),
            };
            v.iter().map(|&x| keep(x)).collect()
        }
        OffDiagonal::F16 { .. } => unreachable!("assembled in f32"),
    }
}

/// One batch after the other, one row after the other, all in f64.
fn reference(
    jac: &Jacobian,
    off: &[f64],
    batches: &RowBatches,
    b: &[f64],
    x: &mut [f64],
    order: &[usize],
    damping: f64,
) {
    let (nb, q, p) = (jac.nb(), jac.nb() * jac.nb(), jac.pattern());
    for &batch in order {
        for row in batches.range(batch) {
            let mut r = b[row * nb..(row + 1) * nb].to_vec();
            for k in p.range(row) {
                let col = p.col_idx()[k] as usize;
                for c in 0..nb {
                    for i in 0..nb {
                        r[i] -= off[k * q + c * nb + i] * x[col * nb + c];
                    }
                }
            }
            let solved = dense_solve(&jac.diag[row * q..(row + 1) * q], &r).expect("the diagonal is regular");
            for i in 0..nb {
                let old = x[row * nb + i];
                x[row * nb + i] = old + damping * (solved[i] - old);
            }
        }
    }
}

fn difference(x: &[f64], y: &[f64]) -> f64 {
    let square = |v: f64| v * v;
    let d: f64 = x.iter().zip(y).map(|(a, b)| square(a - b)).sum();
    assert!(x.iter().all(|v| v.is_finite()), "not finite");
    (d / y.iter().map(|&v| square(v)).sum::<f64>()).sqrt()
}

/// Sums of the products are in f32 but for `d`.
fn tolerance(storage: Storage) -> f64 {
    chromaflow_testkit::rounding(storage == Storage::F64)
}

fn check(
    stream: &Stream,
    rows: usize,
    nb: usize,
    storage: Storage,
    tile: Option<Tile>,
    direction: Direction,
    seed: u64,
) {
    let (pattern, batches) = problem(rows, seed);
    let jac = matrix(&pattern, nb, storage, seed + 1);
    let mut next = random(seed + 2);
    let b: Vec<f64> = (0..rows * nb).map(|_| next()).collect();
    let guess: Vec<f64> = (0..rows * nb).map(|_| f64::from(next() as f32)).collect();
    let device = DeviceJacobian::upload(stream, &jac).unwrap();
    let mut mc = match tile {
        Some(tile) => MulticolorCuda::with_tile(stream, &pattern, nb, &batches, storage, tile),
        None => MulticolorCuda::new(stream, &pattern, nb, &batches, storage),
    }
    .unwrap();
    let report = mc.factor(&device).unwrap();
    assert_eq!(report.singular, 0);
    let device_b = stream.upload(&b).unwrap();
    let mut x = stream.upload(&guess).unwrap();
    let damping = if seed.is_multiple_of(2) { 1.0 } else { 0.8 };
    let options =
        SolveOptions { sweeps: 3, guess: Guess::Given, direction, damping, ..SolveOptions::default() };
    mc.solve(&device_b, &mut x, &options).unwrap();
    let forward: Vec<usize> = (0..batches.len()).collect();
    let backward: Vec<usize> = (0..batches.len()).rev().collect();
    let order = match direction {
        Direction::Forward => forward,
        Direction::Backward => backward,
        Direction::Symmetric => [forward, backward].concat(),
    };
    let mut expected = guess;
    let off = kept(&jac, storage);
    for _ in 0..3 {
        reference(&jac, &off, &batches, &b, &mut expected, &order, damping);
    }
    let found = difference(&x.download().unwrap(), &expected);
    assert!(found < tolerance(storage), "rows {rows} nb {nb} {storage:?} {tile:?} {direction:?}: {found:e}");
    // Again from the same guess: the same bits.
    x.fill_bytes(0xff).unwrap();
    let options = SolveOptions { guess: Guess::Zero, ..options };
    mc.solve(&device_b, &mut x, &options).unwrap();
    let zero_one = x.download().unwrap();
    mc.solve(&device_b, &mut x, &options).unwrap();
    assert!(zero_one == x.download().unwrap(), "not the same bits on a second run");
}

#[test]
fn cuda_sweeps_match_the_reference_for_every_block_size() {
    let Some(stream) = test_stream() else { return };
    for nb in 1..=64 {
        for storage in Storage::ALL {
            for (i, tile) in Tile::all(nb, storage).into_iter().enumerate() {
                let direction = [Direction::Forward, Direction::Backward, Direction::Symmetric][(nb + i) % 3];
                let rows = if nb <= 10 { 300 } else { 60 };
                check(&stream, rows, nb, storage, Some(tile), direction, 7 * nb as u64 + i as u64);
            }
        }
    }
    for nb in [65, 77, 96, 100, 127, 128] {
        for storage in Storage::ALL {
            check(&stream, 20, nb, storage, None, Direction::Forward, nb as u64);
        }
    }
}

#[test]
fn cuda_sweeps_at_awkward_sizes() {
    let Some(stream) = test_stream() else { return };
    for nb in [1, 2, 3, 5, 7, 10, 16, 17] {
        for rows in [1, 2, 3, 31, 33, 129, 1025] {
            for (storage, seed) in [(Storage::F64, 11), (Storage::F32, 12), (Storage::F16, 13)] {
                check(&stream, rows, nb, storage, None, Direction::Symmetric, seed * rows as u64 + nb as u64);
            }
        }
    }
}

#[test]
fn cuda_small_case_for_the_sanitizer() {
    let Some(stream) = test_stream() else { return };
    for nb in [1, 3, 5, 10, 16, 33] {
        for storage in [Storage::F64, Storage::F32, Storage::F16] {
            for tile in Tile::all(nb, storage) {
                check(&stream, 150, nb, storage, Some(tile), Direction::Forward, nb as u64);
            }
        }
    }
}

#[test]
fn cuda_one_color_is_a_block_diagonal_solve() {
    let Some(stream) = test_stream() else { return };
    let pattern = Arc::new(BlockPattern::new(40, vec![0; 41], vec![]).unwrap());
    let jac = matrix(&pattern, 5, Storage::F32, 3);
    let b = vec![1.0; 200];
    let mut mc = MulticolorCuda::new(&stream, &pattern, 5, &RowBatches::single(40), Storage::F32).unwrap();
    mc.factor(&DeviceJacobian::upload(&stream, &jac).unwrap()).unwrap();
    let mut x = stream.upload(&vec![f64::NAN; 200]).unwrap();
    mc.solve(&stream.upload(&b).unwrap(), &mut x, &SolveOptions::sweeps(1)).unwrap();
    let mut expected = vec![0.0; 200];
    reference(&jac, &[], &RowBatches::single(40), &b, &mut expected, &[0], 1.0);
    assert!(difference(&x.download().unwrap(), &expected) < 1e-7);
}

#[test]
fn cuda_solves_to_a_tolerance_on_the_device() {
    let Some(stream) = test_stream() else { return };
    for (nb, storage, tolerance) in
        [(5, Storage::F64, 1e-11), (4, Storage::F32, 1e-5), (20, Storage::F64, 1e-11)]
    {
        let (pattern, batches) = problem(200, 5);
        let jac = matrix(&pattern, nb, storage, 6);
        let mut mc = MulticolorCuda::new(&stream, &pattern, nb, &batches, storage).unwrap();
        mc.factor(&DeviceJacobian::upload(&stream, &jac).unwrap()).unwrap();
        let mut next = random(9);
        let b: Vec<f64> = (0..200 * nb).map(|_| next()).collect();
        let device_b = stream.upload(&b).unwrap();
        let mut x = stream.upload(&vec![0.0; 200 * nb]).unwrap();
        let options = SolveOptions { history: true, ..SolveOptions::tolerance(tolerance, 200) };
        let report = mc.solve(&device_b, &mut x, &options).unwrap();
        assert_eq!(report.outcome, Outcome::Converged, "{report:?}");
        assert!(report.sweeps < 200 && report.history.len() == report.sweeps + 1);
        assert!((report.history[0] - 1.0).abs() < 1e-12, "from zero the residual is b");
        assert!(report.relative_residual.unwrap() <= tolerance);
        // The residual formed apart from the solve is the one reported.
        let mut r = stream.upload(&vec![0.0; 200 * nb]).unwrap();
        mc.matrix_mut().residual(&device_b, &x, &mut r).unwrap();
        let norm = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
        let relative = norm(&r.download().unwrap()) / norm(&b);
        assert!((relative / report.relative_residual.unwrap() - 1.0).abs() < 1e-6);
        // A x by itself.
        let mut ax = stream.upload(&vec![0.0; 200 * nb]).unwrap();
        mc.matrix_mut().multiply(&x, &mut ax).unwrap();
        let sum: Vec<f64> =
            ax.download().unwrap().iter().zip(r.download().unwrap()).map(|(a, r)| a + r).collect();
        assert!(difference(&sum, &b) < 1e-12);
    }
}

#[test]
fn cuda_inverts_blocks_that_need_pivots_and_reports_singular_ones() {
    let Some(stream) = test_stream() else { return };
    for nb in [2, 5, 8, 9, 16, 40] {
        let rows = 37;
        let pattern = Arc::new(BlockPattern::new(rows, vec![0; rows + 1], vec![]).unwrap());
        let mut jac = matrix(&pattern, nb, Storage::F32, nb as u64);
        // Rows 0, 3, 6 ... : the diagonal block's columns turned by one place, so that it has small or no pivots on its diagonal.
        let q = nb * nb;
        for row in (0..rows).step_by(3) {
            jac.diag[row * q..(row + 1) * q].rotate_right(nb);
        }
        let mut mc =
            MulticolorCuda::new(&stream, &pattern, nb, &RowBatches::single(rows), Storage::F32).unwrap();
        let report = mc.factor(&DeviceJacobian::upload(&stream, &jac).unwrap()).unwrap();
        assert_eq!(report.singular, 0);
        assert!(report.pivoted > 3 && report.pivoted <= rows.div_ceil(3), "{report:?}");
        let b: Vec<f64> = (0..rows * nb).map(|i| (i % 7) as f64 - 3.0).collect();
        let mut x = stream.upload(&b).unwrap();
        mc.solve(&stream.upload(&b).unwrap(), &mut x, &SolveOptions::sweeps(1)).unwrap();
        let mut expected = vec![0.0; rows * nb];
        reference(&jac, &[], &RowBatches::single(rows), &b, &mut expected, &[0], 1.0);
        assert!(difference(&x.download().unwrap(), &expected) < 2e-7, "nb {nb}");
        // Two equal columns have no inverse.
        for i in 0..nb {
            jac.diag[11 * q + nb + i] = jac.diag[11 * q + i];
        }
        jac.diag[23 * q] = f64::NAN;
        let report = mc.factor(&DeviceJacobian::upload(&stream, &jac).unwrap()).unwrap();
        assert!(report.singular >= 1, "{report:?}");
        let outcome =
            mc.solve(&stream.upload(&b).unwrap(), &mut x, &SolveOptions::sweeps(1)).unwrap().outcome;
        assert!(matches!(outcome, Outcome::Breakdown { row } if row == 11 || row == 23), "{outcome:?}");
    }
}

#[test]
fn cuda_narrows_in_place_to_the_same_bits_as_out_of_place() {
    let Some(stream) = test_stream() else { return };
    // Sizes that are no multiple of a chunk or a vector, and one with many chunks.
    for (rows, nb) in [(3, 1), (50, 3), (300, 5), (4000, 7)] {
        for scaling in [Scaling::Global, Scaling::PerRow] {
            let (pattern, batches) = problem(rows, 4);
            let mut jac = matrix(&pattern, nb, Storage::F32, 8);
            let OffDiagonal::F32(off) = &mut jac.off else { unreachable!() };
            // A wide range, so that values vanish or become subnormal.
            for (i, v) in off.iter_mut().enumerate() {
                *v *= 10f32.powi(-((i % 12) as i32));
            }
            if off.len() > 20 {
                off[17] = 0.0;
                off[20] = f32::NAN;
            }
            let single = off.to_vec();
            let mut device = DeviceJacobian::upload(&stream, &jac).unwrap();
            let report = device.narrow(scaling).unwrap();
            let DeviceOff::F16 { values, unscale } = &device.off else { panic!("not narrowed") };
            let (found, unscale) = (values.download().unwrap(), unscale.download().unwrap());
            assert_eq!(found.len(), single.len());
            let largest = |v: &[f32]| v.iter().filter(|x| x.is_finite()).fold(0f32, |m, x| m.max(x.abs()));
            let (mut over, mut under, mut sub) = (0, 0, 0);
            for row in 0..pattern.rows() {
                let range = pattern.range(row).start * nb * nb..pattern.range(row).end * nb * nb;
                let m = if scaling == Scaling::Global {
                    largest(&single)
                } else {
                    largest(&single[range.clone()])
                };
                let beta = if m > 0.0 { 65504.0 / m } else { 1.0 };
                let back = unscale[if scaling == Scaling::Global { 0 } else { row }];
                assert_eq!(back, if m > 0.0 { m / 65504.0 } else { 1.0 });
                for i in range {
                    let expected = f16::from_f32(single[i] * beta);
                    if expected.is_nan() {
                        assert!(found[i].is_nan());
                    } else {
                        assert_eq!(found[i].to_bits(), expected.to_bits(), "value {i} of {}", single[i]);
                    }
                    let bits = expected.to_bits() & 0x7fff;
                    over += u64::from(bits >= 0x7c00);
                    under += u64::from(bits == 0 && single[i] != 0.0);
                    sub += u64::from(bits > 0 && bits < 0x400);
                }
            }
            assert_eq!((report.overflowed, report.underflowed, report.subnormal), (over, under, sub));
            if rows == 300 && scaling == Scaling::PerRow {
                // A sweep with one scale a row: the values kept, however they were scaled.
                let mut clean = matrix(&pattern, nb, Storage::F32, 8);
                let OffDiagonal::F32(off) = &mut clean.off else { unreachable!() };
                for row in 0..pattern.rows() {
                    let factor = 10f32.powi(-((row % 5) as i32));
                    off[pattern.range(row).start * nb * nb..pattern.range(row).end * nb * nb]
                        .iter_mut()
                        .for_each(|v| *v *= factor);
                }
                let mut device = DeviceJacobian::upload(&stream, &clean).unwrap();
                device.narrow(Scaling::PerRow).unwrap();
                let mut mc = MulticolorCuda::new(&stream, &pattern, nb, &batches, Storage::F16).unwrap();
                mc.factor(&device).unwrap();
                let b: Vec<f64> = (0..rows * nb).map(|i| (i % 11) as f64 - 5.0).collect();
                let device_b = stream.upload(&b).unwrap();
                let mut x = stream.upload(&vec![0.0; b.len()]).unwrap();
                mc.solve(&device_b, &mut x, &SolveOptions::sweeps(3)).unwrap();
                let plain = PlainSweep::new(&device).unwrap();
                let mut y = stream.upload(&vec![0.0; b.len()]).unwrap();
                for _ in 0..3 {
                    plain.sweep(&batches, &device_b, &mut y).unwrap();
                }
                assert!(plain.relative_difference(&x, &y).unwrap() < 2e-6);
            }
        }
    }
}

#[test]
fn cuda_plain_sweep_is_the_reference() {
    let Some(stream) = test_stream() else { return };
    for (nb, storage) in [(1, Storage::F64), (5, Storage::F32), (11, Storage::F64)] {
        let (pattern, batches) = problem(90, 2);
        let jac = matrix(&pattern, nb, storage, 3);
        let b: Vec<f64> = (0..90 * nb).map(|i| (i % 5) as f64 - 2.0).collect();
        let device = DeviceJacobian::upload(&stream, &jac).unwrap();
        let plain = PlainSweep::new(&device).unwrap();
        let device_b = stream.upload(&b).unwrap();
        let mut x = stream.upload(&vec![0.0; b.len()]).unwrap();
        let mut expected = vec![0.0; b.len()];
        let order: Vec<usize> = (0..batches.len()).collect();
        for _ in 0..2 {
            plain.sweep(&batches, &device_b, &mut x).unwrap();
            reference(&jac, &kept(&jac, storage), &batches, &b, &mut expected, &order, 1.0);
        }
        assert!(difference(&x.download().unwrap(), &expected) < 1e-13);
    }
}

#[test]
fn cuda_misuse_is_an_error() {
    let Some(stream) = test_stream() else { return };
    let pattern = Arc::new(BlockPattern::new(2, vec![0, 1, 2], vec![1, 0]).unwrap());
    let dependent = MulticolorCuda::new(&stream, &pattern, 2, &RowBatches::single(2), Storage::F32);
    assert!(dependent.err().unwrap().to_string().contains("same batch"));
    let batches = RowBatches::new(vec![0, 1, 2]);
    let mut mc = MulticolorCuda::new(&stream, &pattern, 2, &batches, Storage::F64).unwrap();
    let b = stream.upload(&[0.0; 4]).unwrap();
    let mut x = stream.upload(&[0.0; 4]).unwrap();
    assert!(mc.solve(&b, &mut x, &SolveOptions::sweeps(1)).is_err(), "not factored");
    // Values are widened, but not rounded.
    let upload = |policy| {
        DeviceJacobian::upload(&stream, &Jacobian::zeroed(pattern.clone(), 2, policy).unwrap()).unwrap()
    };
    assert!(mc.factor(&upload(Policy::Ds)).is_ok());
    let mut mc = MulticolorCuda::new(&stream, &pattern, 2, &batches, Storage::F32).unwrap();
    let error = mc.factor(&upload(Policy::D)).unwrap_err().to_string();
    assert!(error.contains("`ds`") && error.contains("`d`"), "{error}");
}

#[test]
fn cuda_out_of_memory_says_what_was_asked_and_what_is_free() {
    let Some(stream) = test_stream() else { return };
    let error = chromaflow_device::cuda::DeviceBuffer::<f64>::uninitialized(&stream, 1 << 40).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("8192.00 GiB") && text.contains("free"), "{text}");
    stream.synchronize().unwrap();
}
