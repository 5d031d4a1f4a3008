//! The GPU engines against the CPU.

use super::*;
use crate::gpu::test_stream;
use crate::tridiag::tests::Data;
use crate::tridiag::{Double, Mixed, Options, Real, Single, Solver};
use chromaflow_device::Team;

const LAYOUTS: [Layout; 4] =
    [Layout::Aos, Layout::Soa, Layout::Interleaved { lanes: 8 }, Layout::Interleaved { lanes: 3 }];

/// A batch on the host with its solution, and on the device.
struct Twin<P: Precision> {
    shape: Shape,
    layout: Layout,
    exact: Vec<f64>,
    lower: DeviceBuffer<P::Store>,
    diag: DeviceBuffer<P::Store>,
    upper: DeviceBuffer<P::Store>,
    rhs: DeviceBuffer<P::Store>,
}

impl<P: Precision> Twin<P>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    fn new(stream: &Stream, shape: Shape, layout: Layout, periodic: bool) -> Self {
        let data = Data::<P::Store>::new(shape, layout, 1 + shape.rows as u64);
        let mut exact = vec![P::Store::from_f64(0.0); data.rhs.len()];
        let mut cpu = Solver::<P>::new(Options::default());
        let outcome = cpu.solve(&Team::new(2), &data.batch(periodic), &data.rhs, &mut exact).unwrap();
        assert_eq!(outcome, LineOutcome::Solved);
        let exact = exact.iter().map(|v| v.to_f64()).collect();
        let [lower, diag, upper, rhs] =
            [&data.lower, &data.diag, &data.upper, &data.rhs].map(|v| stream.upload(v).unwrap());
        Self { shape, layout, exact, lower, diag, upper, rhs }
    }

    fn batch(&self) -> GpuBatch<'_, P::Store> {
        GpuBatch { lower: &self.lower, diag: &self.diag, upper: &self.upper }
    }

    fn nothing(&self, stream: &Stream, columns: usize) -> DeviceBuffer<P::Store> {
        let len = self.layout.len(self.shape, self.shape.rank * columns).unwrap();
        stream.upload(&vec![P::Store::from_f64(f64::NAN); len]).unwrap()
    }

    /// Compares a solution for `columns` right-hand sides, column c being `scale^c` times the first.
    fn compare(&self, x: &DeviceBuffer<P::Store>, columns: usize, scale: f64, what: &str) {
        let (shape, layout, m) = (self.shape, self.layout, self.shape.rank);
        // Chunks and cyclic reduction add in another order than Thomas.
        let tolerance = P::Store::EPSILON.max(P::Sum::EPSILON) * 8.0 * (3 * m + 2) as f64;
        let x = x.download().unwrap();
        for s in 0..shape.systems {
            for k in 0..shape.rows * m * columns {
                let (i, c, r) = (k / (m * columns), k / m % columns, k % m);
                let got = x[layout.index(shape, m * columns, s, i, c * m + r)].to_f64();
                let exact = self.exact[layout.index(shape, m, s, i, r)] * scale.powi(c as i32);
                let close = (got - exact).abs() <= tolerance * scale.powi(c as i32);
                assert!(
                    close,
                    "{shape:?} {layout} {what} {}: system {s}, row {i}, entry {r}, column {c}: {got}, not {exact}",
                    P::NAME
                );
            }
        }
    }
}

/// Every engine that takes the shape against Thomas on the CPU; outputs start as NaN.
fn compare<P: Precision>(stream: &Stream, shape: Shape, layout: Layout, periodic: bool)
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let twin = Twin::<P>::new(stream, shape, layout, periodic);
    for engine in GpuEngine::ALL {
        let options = GpuOptions { engine, periodic, destroy: false };
        let mut solver = match GpuSolver::<P>::new(stream, shape, layout, options) {
            Ok(solver) => solver,
            Err(GpuTridiagError::Input(TridiagError::Unsupported { .. })) => continue,
            Err(other) => panic!("{other}"),
        };
        for time in ["kept", "again", "destroyed"] {
            let mut x = twin.nothing(stream, 1);
            if time == "destroyed" {
                let options = GpuOptions { destroy: true, ..options };
                let mut solver = GpuSolver::<P>::new(stream, shape, layout, options).unwrap();
                let [mut lower, mut diag, mut upper] = [&twin.lower, &twin.diag, &twin.upper]
                    .map(|v| stream.upload(&v.download().unwrap()).unwrap());
                let batch = [&mut lower, &mut diag, &mut upper];
                solver.solve_in_place(stream, batch, &twin.rhs, &mut x).unwrap();
                assert_eq!(solver.outcome(&twin.batch(), &twin.rhs, &x).unwrap(), LineOutcome::Solved);
            } else {
                solver.solve(stream, &twin.batch(), &twin.rhs, &mut x).unwrap();
                assert_eq!(solver.outcome(&twin.batch(), &twin.rhs, &x).unwrap(), LineOutcome::Solved);
            }
            twin.compare(&x, 1, 1.0, &format!("{engine} {time} periodic {periodic}"));
        }
    }
}

/// Factored once, solved for one and for three right-hand sides.
fn compare_factored<P: Precision>(stream: &Stream, shape: Shape, layout: Layout, periodic: bool)
where
    P::Store: Pod,
    P::Sum: Pod,
{
    let twin = Twin::<P>::new(stream, shape, layout, periodic);
    let mut solver = GpuFactoredSolver::<P>::new(stream, shape, layout, periodic).unwrap();
    solver.factor(stream, &twin.batch()).unwrap();
    let given = twin.rhs.download().unwrap();
    let (m, scale) = (shape.rank, 4.0f64);
    for columns in [1, 3] {
        let mut rhs = vec![P::Store::from_f64(0.0); layout.len(shape, m * columns).unwrap()];
        for s in 0..shape.systems {
            for k in 0..shape.rows * m * columns {
                let (i, c, r) = (k / (m * columns), k / m % columns, k % m);
                let value = given[layout.index(shape, m, s, i, r)].to_f64() * scale.powi(c as i32);
                rhs[layout.index(shape, m * columns, s, i, c * m + r)] = P::Store::from_f64(value);
            }
        }
        let (rhs, mut x) = (stream.upload(&rhs).unwrap(), twin.nothing(stream, columns));
        solver.solve(stream, columns, &rhs, &mut x).unwrap();
        assert_eq!(solver.outcome(columns, &x).unwrap(), LineOutcome::Solved);
        twin.compare(&x, columns, scale, &format!("factored, periodic {periodic}"));
    }
}

/// All precisions of one shape.
fn all(stream: &Stream, shape: Shape, layout: Layout, periodic: bool) {
    compare::<Double>(stream, shape, layout, periodic);
    compare::<Single>(stream, shape, layout, periodic);
    compare::<Mixed>(stream, shape, layout, periodic);
    compare_factored::<Double>(stream, shape, layout, periodic);
    compare_factored::<Single>(stream, shape, layout, periodic);
    compare_factored::<Mixed>(stream, shape, layout, periodic);
}

/// Every kernel once, with few systems: what a memory checker has time for.
#[test]
fn small_batches() {
    let Some(stream) = test_stream() else { return };
    for (systems, rows, rank) in [(3, 37, 1), (3, 66, 2), (35, 9, 4), (2, 70, 5), (2, 5, 10)] {
        let shape = Shape::new(systems, rows, rank);
        for (layout, periodic) in [(Layout::Aos, false), (Layout::Soa, rank > 1)] {
            compare::<Double>(&stream, shape, layout, periodic);
            compare::<Mixed>(&stream, shape, layout, periodic);
            compare_factored::<Single>(&stream, shape, layout, periodic);
        }
    }
    compare_transfers(&stream, Shape::new(9, 20, 3), 4, false);
}

#[test]
fn every_rank_by_every_engine_as_on_the_cpu() {
    let Some(stream) = test_stream() else { return };
    for rank in 1..=MAX_GPU_RANK {
        let (layout, periodic) = (LAYOUTS[rank % 4], rank % 3 == 0);
        for (systems, rows) in [(1, 1), (33, 2), (20, 37)] {
            let shape = Shape::new(systems, rows, rank);
            match rank {
                3 | 16 => all(&stream, shape, layout, periodic),
                _ => {
                    compare::<Double>(&stream, shape, layout, periodic);
                    compare_factored::<Double>(&stream, shape, layout, periodic);
                }
            }
        }
    }
}

#[test]
fn every_layout_open_and_periodic() {
    let Some(stream) = test_stream() else { return };
    for layout in LAYOUTS {
        for periodic in [false, true] {
            for (systems, rows, rank) in [(70, 100, 1), (45, 65, 5), (17, 33, 10)] {
                all(&stream, Shape::new(systems, rows, rank), layout, periodic);
            }
        }
    }
}

#[test]
fn long_lines_and_many_systems() {
    let Some(stream) = test_stream() else { return };
    for periodic in [false, true] {
        for (systems, rows, rank) in [
            (9000, 3, 5),
            (5, 1500, 1),
            (3, 2000, 4),
            (512, 128, 5),
            (1, 100_000, 1),
            (1, 20_001, 5),
            (2, 3000, 16),
        ] {
            let shape = Shape::new(systems, rows, rank);
            compare::<Double>(&stream, shape, Layout::Aos, periodic);
            compare::<Single>(&stream, shape, Layout::Soa, periodic);
            compare_factored::<Double>(&stream, shape, Layout::Aos, periodic);
        }
    }
}

/// From host memory and back, in three ways, twice.
fn compare_transfers(stream: &Stream, shape: Shape, plane: usize, periodic: bool) {
    let twin = Twin::<Double>::new(stream, shape, Layout::Aos, periodic);
    let [lower, diag, upper, rhs] =
        [&twin.lower, &twin.diag, &twin.upper, &twin.rhs].map(|v| v.download().unwrap());
    let batch = Batch::new(shape, Layout::Aos, &lower, &diag, &upper).unwrap();
    let batch = if periodic { batch.periodic() } else { batch };
    for transfer in Transfer::ALL {
        let options = GpuOptions { periodic, ..GpuOptions::default() };
        let mut solver = HostSolver::<Double>::new(stream.gpu(), shape, plane, options, transfer).unwrap();
        for _ in 0..2 {
            let mut x = vec![f64::NAN; twin.exact.len()];
            assert_eq!(solver.solve(&Team::new(2), &batch, &rhs, &mut x).unwrap(), LineOutcome::Solved);
            twin.compare(&stream.upload(&x).unwrap(), 1, 1.0, transfer.name());
        }
    }
}

#[test]
fn batches_in_host_memory_cross_the_bus_in_three_ways() {
    let Some(stream) = test_stream() else { return };
    for (systems, rows, rank, plane) in [(70, 33, 5, 16), (3, 20, 1, 1), (40, 64, 2, 64)] {
        for periodic in [false, true] {
            compare_transfers(&stream, Shape::new(systems, rows, rank), plane, periodic);
        }
    }
}

#[test]
fn scalars_by_warps_at_every_length() {
    let Some(stream) = test_stream() else { return };
    for rows in [3, 16, 31, 32, 33, 64, 100, 128, 129, 255, 256, 300, 512, 777, 1024, 1025] {
        let shape = Shape::new(67, rows, 1);
        compare::<Double>(&stream, shape, Layout::Aos, false);
        compare::<Single>(&stream, shape, Layout::Aos, false);
    }
}

#[test]
fn a_breakdown_on_the_device_names_system_and_row() {
    let Some(stream) = test_stream() else { return };
    for (layout, (shape, rows)) in LAYOUTS.into_iter().flat_map(|layout| {
        let cases = [(Shape::new(50, 20, 3), vec![0, 7, 19]), (Shape::new(50, 100, 1), vec![0, 50, 99])];
        cases.map(|case| (layout, case))
    }) {
        for row in rows {
            let mut data = Data::<f64>::new(shape, layout, 3);
            for e in 0..shape.block() {
                let at = layout.index(shape, shape.block(), 41, row, e);
                // A row of zeros but for C is singular in any order of elimination.
                (data.diag[at], data.lower[at], data.upper[at]) = (0.0, 0.0, 0.0);
            }
            let [lower, diag, upper, rhs] =
                [&data.lower, &data.diag, &data.upper, &data.rhs].map(|v| stream.upload(v).unwrap());
            let batch = GpuBatch { lower: &lower, diag: &diag, upper: &upper };
            let mut x = DeviceBuffer::zeroed(&stream, rhs.len()).unwrap();
            let expected = LineOutcome::Breakdown { system: 41, row };
            for engine in GpuEngine::ALL {
                let Ok(mut solver) = GpuSolver::<Double>::new(&stream, shape, layout, engine) else {
                    continue;
                };
                solver.solve(&stream, &batch, &rhs, &mut x).unwrap();
                assert_eq!(solver.outcome(&batch, &rhs, &x).unwrap(), expected, "{layout} {engine}");
            }
            let mut solver = GpuFactoredSolver::<Double>::new(&stream, shape, layout, false).unwrap();
            solver.factor(&stream, &batch).unwrap();
            solver.solve(&stream, 1, &rhs, &mut x).unwrap();
            assert_eq!(solver.outcome(1, &x).unwrap(), expected, "{layout}, factored");
        }
    }
}

#[test]
fn what_an_engine_does_not_do_is_said() {
    let Some(stream) = test_stream() else { return };
    let refused = |shape, options: GpuOptions| {
        GpuSolver::<Double>::new(&stream, shape, Layout::Aos, options).map(|_| ()).unwrap_err().to_string()
    };
    let periodic = GpuOptions { engine: GpuEngine::CyclicReduction, periodic: true, destroy: false };
    assert!(refused(Shape::new(2, 8, 5), periodic).contains("use chunks"));
    assert!(refused(Shape::new(2, 8, 9), GpuEngine::Thomas.into()).contains("use chunks"));
    assert!(refused(Shape::new(2, 8, 17), GpuEngine::Auto.into()).contains("the CPU"));
    assert!(refused(Shape::new(2, 8, 2), GpuEngine::Warp.into()).contains("blocks"));
    assert!(refused(Shape::new(2, 9999, 5), GpuEngine::CyclicReduction.into()).contains("shared memory"));
}

#[test]
fn the_engine_follows_the_measurements() {
    let choose =
        |systems, rows, rank, bytes| GpuEngine::choose(Shape::new(systems, rows, rank), None, false, bytes);
    assert_eq!(choose(16384, 128, 5, 8), GpuEngine::Thomas);
    assert_eq!(choose(16384, 128, 1, 4), GpuEngine::Warp);
    assert_eq!(choose(512, 128, 5, 8), GpuEngine::CyclicReduction);
    assert_eq!(choose(1, 1, 5, 8), GpuEngine::CyclicReduction);
    assert_eq!(choose(512, 2000, 1, 4), GpuEngine::CyclicReduction);
    // 2000 rows of rank 5 do not fit shared memory, nor do 100,000 scalars.
    assert_eq!(choose(512, 2000, 5, 8), GpuEngine::Chunks);
    assert_eq!(choose(1, 100_000, 1, 4), GpuEngine::Chunks);
    for (rows, rank, bytes) in [(100_000, 1, 4), (1025, 1, 4), (1500, 1, 8), (330, 8, 8), (360, 5, 8)] {
        let shape = Shape::new(128, rows, rank);
        let engine = GpuEngine::choose(shape, None, false, bytes);
        assert!(engine.takes(shape, false, [bytes; 2]), "{shape:?}: {engine}");
    }
    assert_eq!(choose(16384, 128, 12, 8), GpuEngine::Chunks);
    let periodic = GpuEngine::choose(Shape::new(16384, 128, 5), Some(Layout::Soa), true, 8);
    assert_eq!(periodic, GpuEngine::Chunks);
}

/// What the library chooses by, against all times of the same survey: the two are kept apart.
#[test]
fn the_choice_is_the_fastest_engine_of_each_batch_measured() {
    let text = include_str!("../../../../../bench/tridiag-h200.json");
    let all: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut batches = 0;
    for batch in all["survey"].as_array().unwrap() {
        let number = |name: &str| batch[name].as_u64().unwrap() as usize;
        let shape = Shape::new(number("systems"), number("rows"), number("rank"));
        let bytes = if batch["type"] == "f32" { 4 } else { 8 };
        let time = |engine: GpuEngine, layout: Layout| {
            batch[if layout == Layout::Soa { "soa_us" } else { "aos_us" }][engine.name()].as_f64()
        };
        for layout in [None, Some(Layout::Aos), Some(Layout::Soa)] {
            let own = |engine: GpuEngine| time(engine, layout.unwrap_or(engine.layout()));
            let chosen = GpuEngine::choose(shape, layout, false, bytes);
            let best = GpuEngine::ALL.into_iter().filter_map(own).fold(f64::INFINITY, f64::min);
            // Times are rounded to a tenth of a microsecond.
            let took = own(chosen).unwrap();
            assert!(
                took <= best + 0.1,
                "{shape:?} {bytes} {layout:?}: {chosen} takes {took} us, another {best}"
            );
            batches += 1;
        }
    }
    assert!(batches > 2500, "{batches} batches");
}
