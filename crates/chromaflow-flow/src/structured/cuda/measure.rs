//! Times of a step's kernels by device events, resident and with the transfers of the paper's benchmarks.

use super::super::measure::{FLUX, NORMS, TIME_STEP, UPDATE, VISCOUS};
use super::newton::MATRIX;
use super::{Method, StructuredCuda};
use crate::equations::perfect_gas::N;
use crate::march::PartTime;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Event, Pinned, Stream};
use std::time::Instant;

/// Launches between two events, whose own time is then no part of it.
const LAUNCHES: u32 = 10;

/// Seconds of `work` in each of `repeats`, by device events, after one run to warm up.
pub(in crate::structured) fn launch_seconds(
    stream: &Stream,
    repeats: usize,
    work: &mut dyn FnMut() -> Result<(), GpuError>,
) -> Result<Vec<f64>, GpuError> {
    work()?;
    let mut seconds = Vec::new();
    for _ in 0..repeats {
        let (start, end) = (Event::new(stream.gpu())?, Event::new(stream.gpu())?);
        start.record(stream)?;
        for _ in 0..LAUNCHES {
            work()?;
        }
        end.record(stream)?;
        seconds.push(1e-3 * end.milliseconds_since(&start)? / f64::from(LAUNCHES));
    }
    Ok(seconds)
}

impl StructuredCuda {
    /// Each kernel `repeats` times, after one run to warm up; the lines' systems are those of the present state.
    pub(super) fn measure_parts(&mut self, repeats: usize) -> Result<Vec<PartTime>, GpuError> {
        let (cells, cfl) = (self.grid.interior() as f64, 5.0);
        let mut parts = Vec::new();
        let mut part = |me: &mut Self,
                        name,
                        doubles: f64,
                        work: &mut dyn FnMut(&mut Self) -> Result<(), GpuError>|
         -> Result<(), GpuError> {
            let stream = me.stream.clone();
            let seconds = launch_seconds(&stream, repeats, &mut || work(me))?;
            parts.push(PartTime { name, bytes: 8.0 * cells * doubles, seconds });
            Ok(())
        };
        part(self, "grid_copy", 10.0, &mut |me| Ok(me.other.copy_from(&me.w.slice())?))?;
        part(self, "grid_ghosts", 0.0, &mut |me| me.fill_ghosts())?;
        part(self, "grid_boundary", 0.0, &mut |me| me.boundary_fluxes())?;
        part(self, "grid_flux", FLUX, &mut |me| me.fluxes())?;
        if self.viscous.is_some() {
            part(self, "grid_viscous", VISCOUS, &mut |me| me.viscous_fluxes())?;
        }
        part(self, "grid_norms", NORMS, &mut |me| me.finish_residual(None))?;
        part(self, "grid_time_step", TIME_STEP, &mut |me| me.time_steps(cfl, 0.0))?;
        match &self.method {
            Method::Factors(factors) => {
                let doubles = factors.doubles();
                for (axis, name) in ["grid_lines_i", "grid_lines_j", "grid_lines_k"].into_iter().enumerate() {
                    part(self, name, doubles, &mut |me| me.solve(Some(axis)))?;
                }
            }
            Method::Sweeps(sweeps) => {
                let doubles = sweeps.doubles();
                part(self, "grid_sweeps", doubles, &mut |me| me.solve(None))?;
            }
            Method::Newton(_) => {
                part(self, "grid_matrix", MATRIX, &mut |me| {
                    me.with_newton(|newton, flow| newton.assemble(flow, 0.0, 0.1)).unwrap_or(Ok(()))
                })?;
            }
        }
        part(self, "grid_update", UPDATE, &mut |me| me.apply_update())?;
        parts.extend(self.with_transfers(repeats)?);
        // The states that steps go on from.
        self.other.copy_from(&self.w.slice())?;
        Ok(parts)
    }

    /// As the paper has its Figures 4 and 5: states, areas and volumes go to the device and results come back each time,
    /// lumped, from page-locked memory.
    fn with_transfers(&mut self, repeats: usize) -> Result<Vec<PartTime>, GpuError> {
        let len = self.grid.len();
        let gpu = self.stream.gpu().clone();
        let mut states = Pinned::zeroed(&gpu, N * len)?;
        let mut metrics = Pinned::zeroed(&gpu, 9 * len)?;
        let mut volumes = Pinned::zeroed(&gpu, len)?;
        self.w.download_into(&mut states)?;
        self.area.download_into(&mut metrics)?;
        self.volume.download_into(&mut volumes)?;
        let mut results = Pinned::zeroed(&gpu, N * len)?;
        let mut step = Pinned::zeroed(&gpu, len)?;
        let mut parts = Vec::new();
        for (name, flux, kernel) in [
            ("grid_time_step_transfers_only", false, false),
            ("grid_time_step_with_transfers", false, true),
            ("grid_flux_transfers_only", true, false),
            ("grid_flux_with_transfers", true, true),
        ] {
            let mut seconds = Vec::new();
            for _ in 0..repeats {
                let start = Instant::now();
                self.w.upload(&states)?;
                self.area.upload(&metrics)?;
                if !flux {
                    self.volume.upload(&volumes)?;
                }
                if kernel && flux {
                    self.fluxes()?;
                } else if kernel {
                    self.time_steps(1.0, 0.0)?;
                }
                let back: (&DeviceBuffer<f64>, &mut Pinned<f64>) =
                    if flux { (&self.r, &mut results) } else { (&self.tau, &mut step) };
                back.0.download_into(back.1)?;
                seconds.push(start.elapsed().as_secs_f64());
            }
            let doubles = if flux { FLUX } else { TIME_STEP };
            parts.push(PartTime { name, bytes: 8.0 * self.grid.interior() as f64 * doubles, seconds });
        }
        Ok(parts)
    }
}
