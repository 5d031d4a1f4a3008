//! Second-order backward differences in time.

use super::{FlowError, FlowSolver};
use crate::config::Time;
use crate::parallel;

/// Earlier time levels of the conserved state. Empty in steady runs.
#[derive(Clone, Debug, Default)]
pub struct TimeLevels {
    /// State at the last time level.
    pub last: Vec<[f64; 5]>,
    /// State at the one before.
    pub before: Vec<[f64; 5]>,
}

impl FlowSolver {
    /// Factors of q, of the last level and of the one before in dq/dt; `None` in steady runs.
    pub(super) fn time_factors(&self) -> Option<[f64; 3]> {
        let Time::Unsteady(unsteady) = self.config.time else { return None };
        Some(self.course.time_weights().map(|f| f / unsteady.dt))
    }

    /// Physical time of the last finished step.
    pub fn time(&self) -> f64 {
        self.course.time(&self.config.time)
    }

    pub(super) fn add_time_derivative(&self, residual: &mut [[f64; 5]]) {
        let Some([now, last, before]) = self.time_factors() else { return };
        let levels = &self.levels;
        parallel::rows(&self.team, self.q.len(), 1, residual, |rows, residual| {
            for (i, r) in rows.zip(residual) {
                for v in 0..5 {
                    let rate = now * self.q[i][v] + last * levels.last[i][v] + before * levels.before[i][v];
                    r[v] += self.dual.volumes[i] * rate;
                }
            }
        });
    }

    /// The present state is the solution of its time step.
    pub(super) fn next_time_level(&mut self) -> Result<(), FlowError> {
        if let Some(device) = self.accelerator.device_changes() {
            device.next_time_level()?;
        } else {
            std::mem::swap(&mut self.levels.last, &mut self.levels.before);
            self.levels.last.copy_from_slice(&self.q);
        }
        self.course.next_level();
        self.control.forget();
        Ok(())
    }
}
