//! What tests of the solvers on a GPU have in common.

use crate::incompressible::Solver;
use crate::march::{FlowError, Forces, Host, March};
use crate::output::Restart;
use crate::structured::StructuredSolver;
use crate::structured::lax_wendroff::LaxWendroffSolver;
use crate::unstructured::FlowSolver;
use chromaflow_device::cuda::Gpu;
use std::fs::File;

/// The first GPU, or a skip.
pub fn gpu() -> Option<Gpu> {
    chromaflow_testkit::available("gpu", Gpu::open(0))
}

/// The same for a test of ranks: where there are several cards, for it alone, since kernels of two tests that wait for one another's cards would wait for ever.
pub fn gpus() -> Option<(Gpu, Option<File>)> {
    let gpu = gpu()?;
    let several = Gpu::count().is_ok_and(|count| count > 1);
    let alone = several.then(|| {
        let file = File::create(std::env::temp_dir().join("chromaflow-tests-of-ranks.lock")).unwrap();
        file.lock().unwrap();
        file
    });
    Some((gpu, alone))
}

/// The GPU of a solver's rank: a card of its own where there are enough, else ranks share them.
pub fn gpu_of<S: Host>(solver: &March<S>) -> Result<Gpu, FlowError> {
    let rank = solver.host.share().map_or(0, |share| share.ranks().rank());
    Ok(Gpu::open(rank % Gpu::count()?)?)
}

pub fn close(found: f64, expected: f64, relative: f64, floor: f64, what: &str) {
    let off = (found - expected).abs();
    assert!(off <= relative * expected.abs() + floor, "{what}: {found:e}, expected {expected:e}");
}

/// Residuals (to ten digits) and forces (to `relative` and `floor`) of a step there are those of the step here.
pub fn close_step(
    what: &str,
    (found, there): (&[f64], &Forces),
    (expected, here): (&[f64], &Forces),
    relative: f64,
    floor: f64,
) {
    let largest = expected.iter().copied().fold(0.0, f64::max);
    assert_eq!(found.len(), expected.len(), "{what}");
    for (v, (a, b)) in expected.iter().zip(found).enumerate() {
        close(*b, *a, 1e-10, 1e-10 * largest, &format!("{what}, residual {v}"));
    }
    assert_eq!(here.markers.len(), there.markers.len(), "{what}");
    for (x, y) in [(&here.pressure, &there.pressure), (&here.viscous, &there.viscous)] {
        for (p, q) in [(x.cl, y.cl), (x.cd, y.cd), (x.cm, y.cm)] {
            close(q, p, relative, floor, &format!("{what}, forces"));
        }
    }
}

/// A solver that steps here or on a GPU.
pub trait Marching {
    fn use_gpu(&mut self, gpu: &Gpu);
    fn step(&mut self);
    /// Runs to the end; the last residual.
    fn finish(&mut self) -> Vec<f64>;
    /// Brings the state to the host and writes it down.
    fn restart(&mut self) -> Restart;
    fn resume(&mut self, restart: &Restart);
}

macro_rules! marching {
    ($($solver:ty)*) => {$(
        impl Marching for $solver {
            fn use_gpu(&mut self, gpu: &Gpu) {
                self.use_gpu(gpu).unwrap();
            }

            fn step(&mut self) {
                self.try_step().unwrap();
            }

            fn finish(&mut self) -> Vec<f64> {
                let mut last = Vec::new();
                self.run(|report| {
                    last = report.residual.to_vec();
                    true
                });
                last
            }

            fn restart(&mut self) -> Restart {
                self.sync().unwrap();
                <$solver>::restart(self)
            }

            fn resume(&mut self, restart: &Restart) {
                self.resume(restart).unwrap();
            }
        }
    )*};
}
marching!(FlowSolver StructuredSolver LaxWendroffSolver Solver);

/// A restart written by the device after `steps` steps goes on on either side as one run would, to 1e-10 and `floor`, and
/// twice with the same bits; with those of the one run where restarts are `exact`.
pub fn restarts_go_on<S: Marching>(gpu: &Gpu, make: impl Fn() -> S, steps: usize, floor: f64, exact: bool) {
    let mut first = make();
    first.use_gpu(gpu);
    for _ in 0..steps {
        first.step();
    }
    let restart = first.restart();
    let resumed = |on_gpu: bool| {
        let mut solver = make();
        if on_gpu {
            solver.use_gpu(gpu);
        }
        solver.resume(&restart);
        solver.finish()
    };
    let (whole, there, here) = (first.finish(), resumed(true), resumed(false));
    assert_eq!(there, resumed(true), "the same bits");
    assert!(!exact || there == whole, "{there:?}, in one run {whole:?}");
    for (a, (b, c)) in whole.iter().zip(there.iter().zip(here)) {
        close(*b, *a, 1e-10, floor, "on the GPU");
        close(c, *a, 1e-10, floor, "on the CPU");
    }
}
