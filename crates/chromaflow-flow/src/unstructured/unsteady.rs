//! Second-order backward differences in time.

use super::FlowSystem;
use crate::equations::perfect_gas::{N, State};
use crate::march::Moment;
use crate::parallel;

/// Earlier time levels of the conserved state. Empty in steady runs.
#[derive(Clone, Debug, Default)]
pub struct TimeLevels {
    /// State at the last time level.
    pub last: Vec<State>,
    /// State at the one before.
    pub before: Vec<State>,
}

impl FlowSystem {
    pub(super) fn add_time_derivative(&self, at: &Moment, residual: &mut [State]) {
        let Some([now, last, before]) = at.time_factors() else { return };
        let levels = &self.levels;
        parallel::rows(&self.team, self.q.len(), 1, residual, |rows, residual| {
            for (i, r) in rows.zip(residual) {
                for v in 0..N {
                    let rate = now * self.q[i][v] + last * levels.last[i][v] + before * levels.before[i][v];
                    r[v] += self.dual.volumes[i] * rate;
                }
            }
        });
    }
}
