//! Tiles of engine cuda, tried.

use chromaflow::factor::structured_ilu::cuda::{GpuIluEngine, Pencil};
use chromaflow_cli::bench::ilu::gpu::OnDevice;
use chromaflow_cli::bench::timing::Timing;
use chromaflow_cli::error::{CliError, CliResult};

/// Tries tiles of the factorization, then of the passes; prints the times.
pub fn run(on: &mut OnDevice, budget: f64) -> CliResult<()> {
    let (nb, stream, points) = (on.a.nb(), on.stream.clone(), on.a.cells() as f64);
    let [factor, passes] = [true, false].map(|f| Pencil::candidates(nb, f, on.storage));
    for &pencil in &factor {
        let mut ilu = on.ilu(GpuIluEngine::Cuda, Some([pencil, passes[0]]))?;
        let t = Timing::on_device(&stream, budget, || ilu.factor(&on.a))?;
        print_tile(pencil, &t, points);
    }
    for &pencil in &passes {
        let mut ilu = on.ilu(GpuIluEngine::Cuda, Some([factor[0], pencil]))?;
        ilu.factor(&on.a).map_err(CliError::device)?;
        let t = Timing::on_device(&stream, budget, || ilu.solve(&on.a, &on.b, &mut on.x))?;
        print_tile(pencil, &t, points);
    }
    Ok(())
}

fn print_tile(pencil: Pencil, t: &Timing, points: f64) {
    let Pencil { kernel, j, k, stages, copiers, .. } = pencil;
    let (us, ns) = (1e6 * t.median, 1e9 * t.median / points);
    println!("{kernel:?} {j} x {k}, {stages} stages, {copiers} copiers: {us:8.1} us, {ns:.3} ns a point");
}
