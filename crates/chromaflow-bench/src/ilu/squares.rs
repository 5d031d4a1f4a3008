//! Sums of squares of the residual over correction steps, by everybody.

use chromaflow::factor::structured_ilu::cuda::GpuIluEngine;
use chromaflow::factor::structured_ilu::{StencilMatrix, reference as sequential};
use chromaflow_cli::bench::ilu::gpu::OnDevice;
use chromaflow_cli::error::{CliError, CliResult};

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

/// Sums of squares of the residual before each of `steps` correction steps from zero, by the definition, cell by cell.
pub fn reference(a: &StencilMatrix, b: &[f64], steps: usize) -> CliResult<Vec<f64>> {
    let factors =
        sequential::factor(a, 0.0).map_err(|cell| CliError::input(format!("cell {cell} is singular")))?;
    let mut x = vec![0.0; b.len()];
    let mut all = Vec::with_capacity(steps);
    for _ in 0..steps {
        let r = sequential::residual(a, b, &x);
        all.push(sum_of_squares(&r));
        x.iter_mut().zip(sequential::solve(a, &factors, &r)).for_each(|(x, u)| *x += u);
    }
    Ok(all)
}

/// The same by an engine of the GPU.
pub fn on_device(on: &mut OnDevice, engine: GpuIluEngine, steps: usize) -> CliResult<Vec<f64>> {
    let mut ilu = on.ilu(engine, None)?;
    ilu.factor(&on.a).map_err(CliError::device)?;
    on.x.fill_bytes(0).map_err(CliError::device)?;
    let mut all = Vec::with_capacity(steps);
    for _ in 0..steps {
        ilu.residual(&on.a, &on.b, &on.x, &mut on.r).map_err(CliError::device)?;
        let r = on.r.download().map_err(CliError::device)?;
        all.push(sum_of_squares(&r));
        let mut x = on.x.download().map_err(CliError::device)?;
        ilu.solve(&on.a, &on.r, &mut on.x).map_err(CliError::device)?;
        let update = on.x.download().map_err(CliError::device)?;
        x.iter_mut().zip(&update).for_each(|(x, u)| *x += u);
        on.x.upload(&x).map_err(CliError::device)?;
    }
    Ok(all)
}
