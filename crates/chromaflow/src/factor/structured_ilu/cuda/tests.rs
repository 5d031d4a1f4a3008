//! The engines against the sequential reference.

use super::super::tests::system;
use super::super::{StencilMatrix, reference};
use super::*;
use crate::gpu::test_stream;

#[test]
fn hyperplanes_hold_every_cell_once_behind_its_lower_neighbors() {
    let grids = Grids::new(&[[3, 2, 4], [1, 1, 1], [1, 5, 2]]).unwrap();
    let (levels, down, up) = wavefront::hyperplanes(&grids);
    let mut level_of = vec![usize::MAX; grids.cells()];
    for (number, level) in levels.iter().enumerate() {
        for point in &down[level.clone()] {
            assert_eq!(std::mem::replace(&mut level_of[point[0] as usize], number), usize::MAX);
        }
    }
    let mut links = 0;
    for (down, up) in down.iter().zip(&up) {
        assert_eq!(down[0], up[0]);
        let cell = down[0] as usize;
        for &step in down[1..].iter().filter(|&&step| step > 0) {
            assert!(level_of[cell - step as usize] + 1 == level_of[cell]);
            links += 1;
        }
        for &step in up[1..].iter().filter(|&&step| step > 0) {
            assert!(level_of[cell + step as usize] == level_of[cell] + 1);
            links -= 1;
        }
    }
    assert_eq!((links, levels.len()), (0, 7));
}

/// Engines that take a block size.
fn engines(nb: usize) -> impl Iterator<Item = GpuIluEngine> {
    GpuIluEngine::ALL.into_iter().filter(move |e| *e != GpuIluEngine::Auto && nb <= e.largest_nb())
}

fn distance(x: &[f64], y: &[f64]) -> f64 {
    let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
    norm(&mut x.iter().zip(y).map(|(x, y)| x - y)) / norm(&mut y.iter().copied())
}

/// Every engine on several grid blocks at once; outputs start as NaN.
fn compare(stream: &Stream, cases: &[&str], shift: f64) {
    let systems: Vec<(StencilMatrix, Vec<f64>)> = cases.iter().map(|case| system(case)).collect();
    let matrices: Vec<&StencilMatrix> = systems.iter().map(|s| &s.0).collect();
    let a = DeviceStencil::upload(stream, &matrices).unwrap();
    let nb = a.nb();
    let right: Vec<f64> = systems.iter().flat_map(|s| s.1.iter().copied()).collect();
    let (mut inverse, mut x, mut r) = (Vec::new(), Vec::new(), Vec::new());
    for (a, b) in &systems {
        let factors = reference::factor(a, shift).unwrap();
        let solution = reference::solve(a, &factors, b);
        // Of another vector: a solution by exact factors leaves nothing but rounding errors.
        let other: Vec<f64> = b.iter().map(|v| 3.0 * v - 1.0).collect();
        r.extend(reference::residual(a, b, &other));
        x.extend(solution);
        inverse.extend(factors);
    }
    let options = StructuredIluOptions { shift, ..Default::default() };
    let nan = vec![f64::NAN; right.len()];
    let b = stream.upload(&right).unwrap();
    for engine in engines(nb) {
        let what = format!("{} {cases:?}", engine.name());
        let mut ilu = DeviceStructuredIlu::new(stream, a.dims(), nb, options, engine).unwrap();
        // Twice: nothing of the first run may help the second.
        for _ in 0..2 {
            ilu.factor(&a).unwrap();
            let report = ilu.report().unwrap().unwrap();
            assert_eq!(report.shifted > 0.0, shift > 0.0, "{what}");
            assert!(report.pivoted.is_empty(), "{what}");
            assert!(distance(&ilu.inverse().download().unwrap(), &inverse) < 1e-12, "{what}: factors");
            for _ in 0..2 {
                let mut found = stream.upload(&nan).unwrap();
                ilu.solve(&a, &b, &mut found).unwrap();
                let found = found.download().unwrap();
                assert!(distance(&found, &x) < 1e-12, "{what}: solution {}", distance(&found, &x));
            }
        }
        let other: Vec<f64> = right.iter().map(|v| 3.0 * v - 1.0).collect();
        let (other, mut found) = (stream.upload(&other).unwrap(), stream.upload(&nan).unwrap());
        ilu.residual(&a, &b, &other, &mut found).unwrap();
        assert!(distance(&found.download().unwrap(), &r) < 1e-11, "{what}: residual");
    }
}

#[test]
fn cuda_engines_are_the_reference_for_every_block_size() {
    let Some(stream) = test_stream() else { return };
    for nb in (1..=17).chain([24, 31, 32, 33, 48, 64]) {
        let case = |dims: &str| format!("grid7:{dims}:{nb}");
        compare(&stream, &[&case("5,4,3")], 0.0);
        compare(&stream, &[&case("3,2,2"), &case("1,1,1"), &case("4,1,3")], 0.01);
    }
}

#[test]
fn cuda_engines_take_thin_ragged_and_many_grid_blocks() {
    let Some(stream) = test_stream() else { return };
    for nb in [1, 4, 5, 6] {
        let case = |dims: &str| format!("grid7:{dims}:{nb}");
        for dims in
            ["1,1,1", "40,1,1", "1,40,1", "1,1,40", "1,19,23", "19,1,23", "19,23,1", "13,14,15", "7,31,8"]
        {
            compare(&stream, &[&case(dims)], 0.0);
        }
        let many: Vec<String> =
            (0..40).map(|n| case(&format!("{},{},{}", 1 + n % 7, 1 + n % 13, 1 + n * 5 % 9))).collect();
        compare(&stream, &many.iter().map(String::as_str).collect::<Vec<_>>(), 0.0);
    }
}

/// Every kernel that tuning may choose, also with tiles that the grids do not fill.
#[test]
fn cuda_tiles_of_every_kernel_are_the_reference() {
    // Side by side, as most of the time goes to compilations.
    std::thread::scope(|scope| {
        for nb in [3, 4, 5, 6, 7, 8, 9, 16, 17, 32] {
            scope.spawn(move || compare_tiles(nb));
        }
    });
}

fn compare_tiles(nb: usize) {
    let Some(stream) = test_stream() else { return };
    let (a, b) = system(&format!("grid7:5,9,7:{nb}"));
    let factors = reference::factor(&a, 0.0).unwrap();
    let solution = reference::solve(&a, &factors, &b);
    let device = DeviceStencil::upload(&stream, &[&a]).unwrap();
    let right = stream.upload(&b).unwrap();
    // A few tiles of each kernel, others for other block sizes.
    let few = |factor| {
        let mut seen = std::collections::HashMap::new();
        let mut all = Pencil::candidates(nb, factor, Storage::F64);
        all.retain(|p| {
            let count = seen.entry(p.kernel).or_insert(0);
            *count += 1;
            *count == 1 || *count % 13 == nb % 7
        });
        all
    };
    let (factor, passes) = (few(true), few(false));
    for number in 0..factor.len().max(passes.len()) {
        let pencils = [factor[number % factor.len()], passes[number % passes.len()]];
        let options = StructuredIluOptions::default();
        let engine = GpuIluEngine::Cuda;
        let ilu =
            DeviceStructuredIlu::with_pencils(&stream, device.dims(), nb, options, engine, Some(pencils));
        let mut ilu = ilu.unwrap();
        ilu.factor(&device).unwrap();
        assert!(ilu.report().unwrap().unwrap().pivoted.is_empty(), "{nb} {pencils:?}");
        let found = distance(&ilu.inverse().download().unwrap(), &factors);
        assert!(found < 1e-12, "{nb} {:?}: factors off by {found}", pencils[0]);
        for _ in 0..2 {
            let mut x = stream.upload(&vec![f64::NAN; b.len()]).unwrap();
            ilu.solve(&device, &right, &mut x).unwrap();
            let found = distance(&x.download().unwrap(), &solution);
            assert!(found < 1e-12, "{nb} {:?}: solution off by {found}", pencils[1]);
        }
    }
}

#[test]
fn cuda_corrections_converge_as_on_the_cpu() {
    let Some(stream) = test_stream() else { return };
    let (a, b) = system("grid7:9,11,10:6");
    let team = chromaflow_device::Team::new(1);
    let mut cpu =
        super::super::StructuredIlu::new(&[a.dims()], 6, StructuredIluOptions::default(), &team).unwrap();
    cpu.factor(&team, &[&a]).unwrap();
    let device = DeviceStencil::upload(&stream, &[&a]).unwrap();
    let right = stream.upload(&b).unwrap();
    for engine in engines(6) {
        let mut ilu =
            DeviceStructuredIlu::new(&stream, device.dims(), 6, StructuredIluOptions::default(), engine);
        let ilu = ilu.as_mut().unwrap();
        ilu.factor(&device).unwrap();
        for tolerance in [None, Some(1e-9)] {
            let until = CorrectionSteps { steps: 8, tolerance };
            let mut x = vec![vec![0.0; b.len()]];
            let expected = cpu.correct(&team, &[&a], &[&b], &mut x, until, |_, _| {});
            let mut found = DeviceBuffer::zeroed(&stream, b.len()).unwrap();
            let report = ilu.correct(&device, &right, &mut found, until, |_, _| Ok(())).unwrap();
            assert_eq!(
                (report.outcome, report.steps),
                (expected.outcome, expected.steps),
                "{}",
                engine.name()
            );
            assert_eq!(report.history.len(), expected.history.len());
            for (found, expected) in report.history.iter().zip(&expected.history) {
                assert!((found - expected).abs() < 1e-13 + 1e-10 * expected, "{}", engine.name());
            }
            assert!(distance(&found.download().unwrap(), &x[0]) < 1e-12);
        }
    }
}

#[test]
fn a_singular_cell_is_named_on_the_device() {
    let Some(stream) = test_stream() else { return };
    let (good, _) = system("grid7:3,3,3:4");
    let (mut bad, _) = system("grid7:3,4,3:4");
    bad.diag[5 * 16] = f64::NAN;
    let a = DeviceStencil::upload(&stream, &[&good, &bad]).unwrap();
    for engine in engines(4) {
        let mut ilu =
            DeviceStructuredIlu::new(&stream, a.dims(), 4, StructuredIluOptions::default(), engine).unwrap();
        ilu.factor(&a).unwrap();
        let singular = SingularCell { at: CellAt { block: 1, cell: 5 } };
        assert_eq!(ilu.report().unwrap(), Err(singular), "{}", engine.name());
    }
}

/// The tiles hold every column once, each behind the tiles of its lower neighbors; and in the order of steps of the kernel a
/// cell's neighbors within the tile are a step old.
#[test]
fn tiles_come_behind_those_they_wait_for() {
    let grids = Grids::new(&[[5, 13, 9], [1, 1, 1], [3, 4, 20], [0, 5, 5]]).unwrap();
    for (j, k) in [(4, 3), (1, 1), (6, 6)] {
        let pencil =
            Pencil { kernel: PencilKernel::PassesWarps, j, k, stages: 2, copiers: 0, storage: Storage::F64 };
        let mut done = std::collections::HashMap::new();
        for (number, [first, _, nj, nk, j0, k0, ..]) in pencil::tiles(&grids, pencil).into_iter().enumerate()
        {
            for column_k in k0..nk.min(k0 + k as u32) {
                for column_j in j0..nj.min(j0 + j as u32) {
                    for (other_j, other_k) in
                        [(column_j.wrapping_sub(1), column_k), (column_j, column_k.wrapping_sub(1))]
                    {
                        let inside = other_j >= j0 && other_j < nj && other_k >= k0 && other_k < nk;
                        if !inside && other_j < nj && other_k < nk {
                            assert!(done.get(&(first, other_j, other_k)).is_some_and(|&n| n < number));
                        }
                    }
                    assert!(done.insert((first, column_j, column_k), number).is_none());
                }
            }
        }
        assert_eq!(done.len(), 13 * 9 + 1 + 4 * 20);
    }
}

#[test]
fn a_zero_pivot_is_inverted_with_pivoting_on_the_device() {
    let Some(stream) = test_stream() else { return };
    for nb in [2, 4, 5, 9] {
        let (mut bad, b) = system(&format!("grid7:3,3,3:{nb}"));
        let (good, _) = system(&format!("grid7:2,1,3:{nb}"));
        bad.diag[..nb * nb].fill(0.0);
        for c in 0..nb {
            bad.diag[c * nb + (c + 1) % nb] = 1.0;
        }
        let a = DeviceStencil::upload(&stream, &[&good, &bad]).unwrap();
        let right = stream.upload(&[vec![1.0; 6 * nb], b.clone()].concat()).unwrap();
        let mut x = DeviceBuffer::zeroed(&stream, right.len()).unwrap();
        let mut ilu = DeviceStructuredIlu::new(
            &stream,
            a.dims(),
            nb,
            StructuredIluOptions::default(),
            GpuIluEngine::Cuda,
        )
        .unwrap();
        ilu.factor(&a).unwrap();
        assert_eq!(ilu.report().unwrap().unwrap().pivoted, [CellAt { block: 1, cell: 0 }]);
        ilu.solve(&a, &right, &mut x).unwrap();
        let expected = reference::solve(&bad, &reference::factor(&bad, 0.0).unwrap(), &b);
        assert!(distance(&x.download().unwrap()[6 * nb..], &expected) < 1e-12);
    }
}

/// Few cells, for compute-sanitizer.
#[test]
fn cuda_small_case() {
    let Some(stream) = test_stream() else { return };
    for nb in [4, 5] {
        let case = |dims: &str| format!("grid7:{dims}:{nb}");
        compare(&stream, &[&case("3,9,8"), &case("2,1,3")], 0.0);
    }
}

/// As on the CPU; couplings that lose nothing give the same bits.
#[test]
fn cuda_small_narrow_couplings() {
    let Some(stream) = test_stream() else { return };
    for nb in [1, 2, 5, 6, 9, 18] {
        let (mut a, b) = system(&format!("grid7:4,7,6:{nb}"));
        for rounded in [false, true] {
            if rounded {
                for values in [&mut a.lower, &mut a.upper] {
                    values.iter_mut().for_each(|v| *v = (*v * 4096.0).round() / 4096.0);
                }
            }
            let device = DeviceStencil::upload(&stream, &[&a, &a]).unwrap();
            let right = stream.upload(&[b.clone(), b.clone()].concat()).unwrap();
            let solved = |storage| {
                let options = StructuredIluOptions { storage, ..Default::default() };
                let ilu = DeviceStructuredIlu::new(&stream, device.dims(), nb, options, GpuIluEngine::Cuda);
                let mut ilu = ilu.unwrap();
                ilu.factor(&device).unwrap();
                ilu.report().unwrap().unwrap();
                let mut x = stream.upload(&vec![f64::NAN; 2 * b.len()]).unwrap();
                ilu.solve(&device, &right, &mut x).unwrap();
                x.download().unwrap()
            };
            let exact = solved(Storage::F64);
            for (storage, bits) in [(Storage::F32, 24), (Storage::F16, 11)] {
                let (found, unit) = (distance(&solved(storage), &exact), 0.5_f64.powi(bits));
                let most = if rounded || bits == 24 { 0.0 } else { unit };
                assert!(found <= most, "{nb} {storage:?}: off by {found}");
            }
        }
    }
}
