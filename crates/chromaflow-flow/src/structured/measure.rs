//! Times of the parts of a step, for benchmarks.

use super::config::StepMethod;
use super::{StructuredSystem, residual};
use crate::equations::perfect_gas::N;
use crate::march::{Moment, PartTime};
use std::time::Instant;

impl PartTime {
    /// `work` of this process's threads, by the wall's clock.
    pub(super) fn of(name: &'static str, bytes: f64, repeats: usize, work: &mut dyn FnMut()) -> Self {
        let mut seconds = Vec::new();
        for _ in 0..repeats {
            let start = Instant::now();
            work();
            seconds.push(start.elapsed().as_secs_f64());
        }
        Self { name, bytes, seconds }
    }
}

/// Doubles a cell that the parts of a step move: states and residuals have 5, areas 9 (3 along one axis), volumes and time
/// steps 1, factors and right-hand sides of lines 30 out and 30 back.
pub(super) const TIME_STEP: f64 = 5.0 + 9.0 + 1.0 + 1.0;
pub(super) const FLUX: f64 = 5.0 + 9.0 + 5.0;
pub(super) const VISCOUS: f64 = 5.0 + 9.0 + 1.0 + 10.0;
pub(super) const LINES: f64 = 5.0 + 3.0 + 1.0 + 10.0 + 60.0;
/// The diagonalized form has eleven numbers of the elimination out and back, and makes the eigenvectors twice.
pub(super) const DIAGONAL: f64 = 2.0 * (5.0 + 3.0) + 1.0 + 10.0 + 22.0;
/// A sweep: states, updates out and back, residuals, areas, dissipation, time step.
pub(super) const SWEEP: f64 = 5.0 + 10.0 + 5.0 + 9.0 + 3.0 + 1.0;
pub(super) const UPDATE: f64 = 15.0;
pub(super) const NORMS: f64 = 5.0 + 1.0 + 2.0;

impl StructuredSystem {
    /// Bytes that a step must move.
    pub(super) fn step_bytes(&self) -> f64 {
        let viscous = if self.physics.transport.is_some() { VISCOUS } else { 0.0 };
        let step = FLUX + viscous + NORMS + TIME_STEP + self.implicit_doubles() + UPDATE;
        8.0 * self.grid.cells() as f64 * step
    }

    /// Doubles a cell that the implicit part of a step moves.
    fn implicit_doubles(&self) -> f64 {
        match self.config.implicit.method {
            StepMethod::BeamWarming => 3.0 * LINES,
            StepMethod::Diagonal { .. } => 3.0 * DIAGONAL,
            StepMethod::Ssor { sweeps, .. } => 2.0 * sweeps as f64 * SWEEP,
        }
    }

    /// Runs each part of a step `repeats` times.
    pub(super) fn measure_here(&mut self, at: &Moment, repeats: usize) -> Vec<PartTime> {
        let cells = self.grid.cells() as f64;
        let mut parts = Vec::new();
        let mut part = |name, doubles: f64, work: &mut dyn FnMut()| {
            parts.push(PartTime::of(name, 8.0 * cells * doubles, repeats, work));
        };
        let implicit = self.config.implicit;
        let (cfl, local) = (at.cfl, implicit.local_step);
        let fluxes = if self.physics.transport.is_some() { "grid_flux_viscous" } else { "grid_flux" };
        part("grid_time_step", TIME_STEP, &mut || {
            for block in &mut self.blocks {
                residual::time_steps(&self.team, &self.physics, cfl, local, block);
            }
        });
        part("grid_norms", NORMS, &mut || {
            let mut squares = [0.0; N];
            self.blocks.iter().for_each(|block| self.add_squares(block, &mut squares));
            std::hint::black_box(squares);
        });
        let doubles = self.implicit_doubles();
        let name = if let StepMethod::Ssor { .. } = implicit.method { "grid_sweeps" } else { "grid_lines" };
        part(name, doubles, &mut || {
            // An outcome matters to steps only.
            let _ = self.solve_implicit();
        });
        part("grid_ghosts", 0.0, &mut || self.fill_ghosts());
        part(fluxes, FLUX, &mut || {
            for block in &mut self.blocks {
                residual::residual(&self.team, &self.physics, block);
            }
        });
        parts
    }
}
