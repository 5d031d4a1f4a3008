//! Times of the parts of a step on the device.

use super::super::measure::{CELLS, NODES, RATES};
use super::LaxWendroffCuda;
use crate::structured::PartTime;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::Event;

/// Launches between two events, whose own time is then no part of it.
const LAUNCHES: u32 = 10;

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
            work(me)?;
            let mut seconds = Vec::new();
            for _ in 0..repeats {
                let (start, end) = (Event::new(me.stream.gpu())?, Event::new(me.stream.gpu())?);
                start.record(&me.stream)?;
                for _ in 0..LAUNCHES {
                    work(me)?;
                }
                end.record(&me.stream)?;
                seconds.push(1e-3 * end.milliseconds_since(&start)? / f64::from(LAUNCHES));
            }
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
