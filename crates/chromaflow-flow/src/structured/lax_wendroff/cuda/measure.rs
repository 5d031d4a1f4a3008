//! Times of the parts of a step on the device.

use super::super::measure::{CELLS, NODES, RATES};
use super::LaxWendroffCuda;
use crate::march::PartTime;
use crate::structured::cuda::launch_seconds;
use chromaflow::gpu::GpuError;

impl LaxWendroffCuda {
    /// Each kernel `repeats` times after one run to warm up.
    pub(super) fn measure_parts(&mut self, repeats: usize, courant: f64) -> Result<Vec<PartTime>, GpuError> {
        let nodes = self.tables.nodes.interior() as f64;
        let mut parts = Vec::new();
        let mut part = |me: &mut Self,
                        name,
                        doubles: f64,
                        work: &dyn Fn(&mut Self) -> Result<(), GpuError>|
         -> Result<(), GpuError> {
            let stream = me.stream.clone();
            let seconds = launch_seconds(&stream, repeats, &mut || work(me))?;
            parts.push(PartTime { name, bytes: 8.0 * nodes * doubles, seconds });
            Ok(())
        };
        part(self, "grid_ghosts", 0.0, &|me| me.fill_ghosts())?;
        part(self, "grid_boundary", 0.0, &|me| me.boundary_fluxes())?;
        part(self, "grid_cells", CELLS, &|me| me.work().cells(courant, 0.0, None))?;
        part(self, "grid_nodes", NODES, &|me| me.work().nodes(&me.next))?;
        part(self, "grid_close", 0.0, &|me| me.work().close_boundary(&me.next))?;
        part(self, "grid_norms", RATES, &|me| me.rates(&me.q))?;
        Ok(parts)
    }
}
