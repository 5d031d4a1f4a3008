//! The GPU's engines for 7-point stencils: times by device events, tiles tried, correction steps beside the sequential ones.

use super::{Parts, norm};
use crate::bench::timing::Timing;
use crate::error::{CliError, CliResult};
use chromaflow::Jacobian;
use chromaflow::factor::block_ilu::BlockIluOptions;
use chromaflow::factor::block_ilu::cuda::DeviceBlockIlu;
use chromaflow::factor::structured_ilu::cuda::{DeviceStencil, DeviceStructuredIlu, GpuIluEngine, Pencil};
use chromaflow::factor::structured_ilu::{FactorStorage, StencilMatrix, StructuredIluOptions, reference};
use chromaflow::gpu::{DeviceJacobian, GpuError};
use chromaflow_device::cuda::{DeviceBuffer, Event, Gpu, Stream};
use std::time::Instant;

/// Errors of the device end a benchmark.
pub fn internal(error: impl std::fmt::Display) -> CliError {
    CliError::environment(error.to_string())
}

/// Seconds by device events: one run to warm up, then repeats for `budget` seconds, 3 to 400.
pub fn time(
    stream: &Stream,
    budget: f64,
    mut work: impl FnMut() -> Result<(), GpuError>,
) -> CliResult<Timing> {
    work().map_err(internal)?;
    stream.synchronize().map_err(internal)?;
    let (mut all, begin) = (Vec::new(), Instant::now());
    while all.len() < 3 || (begin.elapsed().as_secs_f64() < budget && all.len() < 400) {
        let gpu = stream.gpu();
        let (start, end) = (Event::new(gpu).map_err(internal)?, Event::new(gpu).map_err(internal)?);
        start.record(stream).map_err(internal)?;
        work().map_err(internal)?;
        end.record(stream).map_err(internal)?;
        all.push(1e-3 * end.milliseconds_since(&start).map_err(internal)?);
    }
    all.sort_unstable_by(f64::total_cmp);
    let at = |part: f64| all[((part * all.len() as f64) as usize).min(all.len() - 1)];
    Ok(Timing { median: at(0.5), least: all[0], p90: at(0.9), cpu: all[0], repeats: all.len() })
}

fn print_tile(pencil: Pencil, t: &Timing, points: f64) {
    let Pencil { kernel, j, k, stages, copiers, .. } = pencil;
    let (us, ns) = (1e6 * t.median, 1e9 * t.median / points);
    println!("{kernel:?} {j} x {k}, {stages} stages, {copiers} copiers: {us:8.1} us, {ns:.3} ns a point");
}

/// A system with copies of one grid block on a device.
pub struct OnDevice {
    pub stream: Stream,
    pub a: DeviceStencil,
    pub b: DeviceBuffer<f64>,
    x: DeviceBuffer<f64>,
    r: DeviceBuffer<f64>,
    storage: FactorStorage,
}

impl OnDevice {
    pub fn new(
        gpu: &Gpu,
        a: &StencilMatrix,
        b: &[f64],
        copies: usize,
        storage: FactorStorage,
    ) -> CliResult<Self> {
        let stream = gpu.stream().map_err(internal)?;
        let a = DeviceStencil::upload(&stream, &vec![a; copies]).map_err(internal)?;
        let b = stream.upload(&b.repeat(copies)).map_err(internal)?;
        let vector = || DeviceBuffer::zeroed(&stream, b.len()).map_err(internal);
        Ok(Self { x: vector()?, r: vector()?, a, b, stream, storage })
    }

    fn ilu(&self, engine: GpuIluEngine, pencils: Option<[Pencil; 2]>) -> CliResult<DeviceStructuredIlu> {
        let (dims, nb) = (self.a.dims(), self.a.nb());
        let options = StructuredIluOptions { storage: self.storage, ..StructuredIluOptions::default() };
        DeviceStructuredIlu::with_pencils(&self.stream, dims, nb, options, engine, pencils).map_err(internal)
    }

    /// Factors, applies and forms the residual.
    pub fn measure(&mut self, engine: GpuIluEngine, budget: f64) -> CliResult<Parts> {
        let mut ilu = self.ilu(engine, None)?;
        let stream = self.stream.clone();
        let factor = time(&stream, budget, || ilu.factor(&self.a))?;
        ilu.report().map_err(internal)?.map_err(internal)?;
        let apply = time(&stream, budget, || ilu.solve(&self.a, &self.b, &mut self.x))?;
        let residual = time(&stream, budget, || ilu.residual(&self.a, &self.b, &self.x, &mut self.r))?;
        let x = self.x.download().map_err(internal)?;
        Ok(Parts { factor, apply, residual, norm: norm(&x) })
    }

    /// Factors and applies as graphs; `None` where the engine's launches cannot be recorded.
    pub fn measure_graphs(&mut self, engine: GpuIluEngine, budget: f64) -> CliResult<Option<[Timing; 2]>> {
        let mut ilu = self.ilu(engine, None)?;
        let stream = self.stream.clone();
        let device = |e: GpuError| match e {
            GpuError::Cuda(e) => e,
            other => chromaflow_device::cuda::CudaError::Library { call: "graph", status: other.to_string() },
        };
        ilu.factor(&self.a).map_err(internal)?;
        let Ok(mut factor) = stream.capture(|| ilu.factor(&self.a).map_err(device)) else { return Ok(None) };
        let apply = stream.capture(|| ilu.solve(&self.a, &self.b, &mut self.x).map_err(device));
        let Ok(mut apply) = apply else { return Ok(None) };
        let factor = time(&stream, budget, || Ok(factor.launch(&stream)?))?;
        Ok(Some([factor, time(&stream, budget, || Ok(apply.launch(&stream)?))?]))
    }

    /// Tries tiles of the factorization, then of the passes; prints the times.
    pub fn tune(&mut self, budget: f64) -> CliResult<()> {
        let (nb, stream, points) = (self.a.nb(), self.stream.clone(), self.a.cells() as f64);
        let [factor, passes] = [true, false].map(|f| Pencil::candidates(nb, f, self.storage));
        for &pencil in &factor {
            let mut ilu = self.ilu(GpuIluEngine::Cuda, Some([pencil, passes[0]]))?;
            let t = time(&stream, budget, || ilu.factor(&self.a))?;
            print_tile(pencil, &t, points);
        }
        for &pencil in &passes {
            let mut ilu = self.ilu(GpuIluEngine::Cuda, Some([factor[0], pencil]))?;
            ilu.factor(&self.a).map_err(internal)?;
            let t = time(&stream, budget, || ilu.solve(&self.a, &self.b, &mut self.x))?;
            print_tile(pencil, &t, points);
        }
        Ok(())
    }

    /// Sums of squares of the residual before each of `steps` correction steps from zero.
    pub fn squares(&mut self, engine: GpuIluEngine, steps: usize) -> CliResult<Vec<f64>> {
        let mut ilu = self.ilu(engine, None)?;
        ilu.factor(&self.a).map_err(internal)?;
        self.x.fill_bytes(0).map_err(internal)?;
        let mut all = Vec::with_capacity(steps);
        for _ in 0..steps {
            ilu.residual(&self.a, &self.b, &self.x, &mut self.r).map_err(internal)?;
            let r = self.r.download().map_err(internal)?;
            all.push(sum_of_squares(&r));
            let mut x = self.x.download().map_err(internal)?;
            ilu.solve(&self.a, &self.r, &mut self.x).map_err(internal)?;
            let update = self.x.download().map_err(internal)?;
            x.iter_mut().zip(&update).for_each(|(x, u)| *x += u);
            self.x.upload(&x).map_err(internal)?;
        }
        Ok(all)
    }
}

/// With the rounding errors of the sum kept out of it: what is compared to eleven digits is the residual.
pub fn sum_of_squares(r: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for v in r {
        let next = v * v - lost;
        let total = sum + next;
        lost = (total - sum) - next;
        sum = total;
    }
    sum
}

/// The same by the definition, cell by cell.
pub fn reference_squares(a: &StencilMatrix, b: &[f64], steps: usize) -> CliResult<Vec<f64>> {
    let factors =
        reference::factor(a, 0.0).map_err(|cell| CliError::input(format!("cell {cell} is singular")))?;
    let mut x = vec![0.0; b.len()];
    let mut all = Vec::with_capacity(steps);
    for _ in 0..steps {
        let r = reference::residual(a, b, &x);
        all.push(sum_of_squares(&r));
        x.iter_mut().zip(reference::solve(a, &factors, &r)).for_each(|(x, u)| *x += u);
    }
    Ok(all)
}

/// Times of factorization and apply of the general form, and the applied right-hand side.
pub fn general(
    gpu: &Gpu,
    a: &Jacobian,
    b: &[f64],
    options: BlockIluOptions,
    budget: f64,
) -> CliResult<(Timing, Timing, Vec<f64>)> {
    let stream = gpu.stream().map_err(internal)?;
    let device = DeviceJacobian::upload(&stream, a).map_err(internal)?;
    let mut ilu = DeviceBlockIlu::new(&stream, a.pattern(), a.nb(), options).map_err(internal)?;
    let factor = time(&stream, budget, || ilu.factor(&device))?;
    ilu.report().map_err(internal)?.map_err(internal)?;
    let b = stream.upload(b).map_err(internal)?;
    let mut x = DeviceBuffer::zeroed(&stream, b.len()).map_err(internal)?;
    let apply = time(&stream, budget, || ilu.solve(&b, &mut x))?;
    Ok((factor, apply, x.download().map_err(internal)?))
}
