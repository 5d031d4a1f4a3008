//! The GPU's engines for 7-point stencils and for any pattern: times by device events.

use super::{Parts, norm};
use crate::bench::timing::Timing;
use crate::error::{CliError, CliResult};
use chromaflow::factor::block_ilu::BlockIluOptions;
use chromaflow::factor::block_ilu::cuda::DeviceBlockIlu;
use chromaflow::factor::structured_ilu::cuda::{DeviceStencil, DeviceStructuredIlu, GpuIluEngine, Pencil};
use chromaflow::factor::structured_ilu::{StencilMatrix, StructuredIluOptions};
use chromaflow::gpu::{DeviceJacobian, GpuError};
use chromaflow::{Jacobian, Storage};
use chromaflow_device::cuda::{DeviceBuffer, Gpu, Stream};

/// A system with copies of one grid block on a device.
pub struct OnDevice {
    /// Where all work is enqueued.
    pub stream: Stream,
    /// The matrix.
    pub a: DeviceStencil,
    /// The right-hand side.
    pub b: DeviceBuffer<f64>,
    /// The solution.
    pub x: DeviceBuffer<f64>,
    /// The residual.
    pub r: DeviceBuffer<f64>,
    /// How factors are stored.
    pub storage: Storage,
}

impl OnDevice {
    /// Uploads `copies` of a block's matrix and right-hand side.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn new(gpu: &Gpu, a: &StencilMatrix, b: &[f64], copies: usize, storage: Storage) -> CliResult<Self> {
        let stream = gpu.stream().map_err(CliError::device)?;
        let a = DeviceStencil::upload(&stream, &vec![a; copies]).map_err(CliError::device)?;
        let b = stream.upload(&b.repeat(copies)).map_err(CliError::device)?;
        let vector = || DeviceBuffer::zeroed(&stream, b.len()).map_err(CliError::device);
        Ok(Self { x: vector()?, r: vector()?, a, b, stream, storage })
    }

    /// A factorization of these blocks, with the tiles given or the chosen ones.
    ///
    /// # Errors
    /// An engine that does not take the blocks, a GPU that fails.
    pub fn ilu(&self, engine: GpuIluEngine, pencils: Option<[Pencil; 2]>) -> CliResult<DeviceStructuredIlu> {
        let (dims, nb) = (self.a.dims(), self.a.nb());
        let options = StructuredIluOptions { storage: self.storage, ..StructuredIluOptions::default() };
        DeviceStructuredIlu::with_pencils(&self.stream, dims, nb, options, engine, pencils)
            .map_err(CliError::device)
    }

    /// Factors, applies and forms the residual.
    ///
    /// # Errors
    /// A singular block, a GPU that fails.
    pub fn measure(&mut self, engine: GpuIluEngine, budget: f64) -> CliResult<Parts> {
        let mut ilu = self.ilu(engine, None)?;
        let stream = self.stream.clone();
        let factor = Timing::on_device(&stream, budget, || ilu.factor(&self.a))?;
        ilu.report().map_err(CliError::device)?.map_err(CliError::device)?;
        let apply = Timing::on_device(&stream, budget, || ilu.solve(&self.a, &self.b, &mut self.x))?;
        let residual =
            Timing::on_device(&stream, budget, || ilu.residual(&self.a, &self.b, &self.x, &mut self.r))?;
        let x = self.x.download().map_err(CliError::device)?;
        Ok(Parts { factor, apply, residual, norm: norm(&x) })
    }

    /// Factors and applies as graphs; `None` where the engine's launches cannot be recorded.
    ///
    /// # Errors
    /// A GPU that fails.
    pub fn measure_graphs(&mut self, engine: GpuIluEngine, budget: f64) -> CliResult<Option<[Timing; 2]>> {
        let mut ilu = self.ilu(engine, None)?;
        let stream = self.stream.clone();
        let device = |e: GpuError| match e {
            GpuError::Cuda(e) => e,
            other => chromaflow_device::cuda::CudaError::Library { call: "graph", status: other.to_string() },
        };
        ilu.factor(&self.a).map_err(CliError::device)?;
        let Ok(mut factor) = stream.capture(|| ilu.factor(&self.a).map_err(device)) else { return Ok(None) };
        let apply = stream.capture(|| ilu.solve(&self.a, &self.b, &mut self.x).map_err(device));
        let Ok(mut apply) = apply else { return Ok(None) };
        let factor = Timing::on_device(&stream, budget, || Ok(factor.launch(&stream)?))?;
        Ok(Some([factor, Timing::on_device(&stream, budget, || Ok(apply.launch(&stream)?))?]))
    }
}

/// Times of factorization and apply of the general form, and the applied right-hand side.
///
/// # Errors
/// A singular block, a GPU that fails.
pub fn general(
    gpu: &Gpu,
    a: &Jacobian,
    b: &[f64],
    options: BlockIluOptions,
    budget: f64,
) -> CliResult<(Timing, Timing, Vec<f64>)> {
    let stream = gpu.stream().map_err(CliError::device)?;
    let device = DeviceJacobian::upload(&stream, a).map_err(CliError::device)?;
    let mut ilu = DeviceBlockIlu::new(&stream, a.pattern(), a.nb(), options).map_err(CliError::device)?;
    let factor = Timing::on_device(&stream, budget, || ilu.factor(&device))?;
    ilu.report().map_err(CliError::device)?.map_err(CliError::device)?;
    let b = stream.upload(b).map_err(CliError::device)?;
    let mut x = DeviceBuffer::zeroed(&stream, b.len()).map_err(CliError::device)?;
    let apply = Timing::on_device(&stream, budget, || ilu.solve(&b, &mut x))?;
    Ok((factor, apply, x.download().map_err(CliError::device)?))
}
