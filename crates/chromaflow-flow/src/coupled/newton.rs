//! A system beside a flow in a Newton-Krylov step of that flow: its units, its derivative and its preconditioner.

use super::system::CoupledSystem;
use super::{Direction, FlowView};
use crate::march::Moment;
use crate::parallel;
use chromaflow::dist::Links;
use chromaflow_device::Team;

/// Units of unknowns and residuals, with which they are as large as the flow's.
#[derive(Clone, Debug, Default)]
pub(crate) struct Units {
    /// Of each unknown, and of its residual.
    pub(crate) of: Vec<[f64; 2]>,
    /// What the two are multiplied by, `[rows, nb]`: of local unknowns their value, and where residuals are measured by what they would change in a
    /// step that times V/dt; of others ones. Empty where no unknown is local.
    pub(crate) weights: Vec<[f64; 2]>,
}

impl Units {
    /// Of the `i`-th value.
    pub(crate) fn at(&self, i: usize) -> [f64; 2] {
        let [unit, residual] = self.of[i % self.of.len()];
        self.weights.get(i).map_or([unit, residual], |weights| [unit * weights[0], residual * weights[1]])
    }
}

/// What a local unknown of this weight and its residual are multiplied by; V/dt is `time`, which ghosts of other ranks do not have.
pub(crate) fn local_weights(weight: f64, time: f64, by_change: bool) -> [f64; 2] {
    let time = if time > 0.0 { time } else { 1.0 };
    [weight, if by_change { weight * time } else { 1.0 }]
}

/// The unit with which a part of a vector is as large as the whole.
pub(crate) fn unit_over(part: f64, whole: f64) -> f64 {
    Some(part / whole).filter(|ratio| ratio.is_normal()).unwrap_or(1.0)
}

impl CoupledSystem {
    /// Whether unknowns are measured by each node's own values.
    pub(crate) fn has_local(&self) -> bool {
        !self.units.weights.is_empty()
    }

    /// Whether its equations have the derivative of their residual themselves.
    pub(crate) fn has_derivative(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Makes the matrix, ready to precondition with; the row of a diagonal block that cannot be inverted comes back as an error.
    pub(crate) fn factor(&mut self, flow: &FlowView<'_>, at: &Moment) -> Result<(), usize> {
        self.assemble(flow, at).expect("the matrix was made once");
        self.physics.pseudo_time(flow, &self.state, at, &mut self.pseudo_time);
        self.linear.convert(&mut self.jacobian);
        self.linear.factor(&mut self.jacobian)
    }

    /// Takes the present state and residual as those at which the derivative is taken; unknowns and residuals are then measured in
    /// units with which each unknown is as large as a flow of this size, each residual as one of this norm; residuals of local unknowns are
    /// measured by what they would change in a step where that is asked for.
    pub(crate) fn measure(&mut self, flow: &FlowView<'_>, (size, norm): (f64, f64), by_change: bool) {
        let (nb, n) = (self.state.nb, flow.dual.nodes());
        for row in 0..if self.units.weights.is_empty() { 0 } else { n } {
            for v in 0..nb {
                let (weight, local) = (self.weight(row, v), self.floors[v].is_some());
                let time = if local { self.pseudo_time[row] } else { 1.0 };
                self.units.weights[row * nb + v] = local_weights(weight, time, by_change);
            }
        }
        let sums = self.sizes(flow);
        for (unit, sum) in self.units.of.iter_mut().zip(sums) {
            *unit = [unit_over(sum[0].sqrt(), size), unit_over(sum[1].sqrt(), norm)];
        }
    }

    /// Sums of squares of each unknown and of its residual, by the weights they are measured with.
    fn sizes(&self, flow: &FlowView<'_>) -> Vec<[f64; 2]> {
        let nb = self.state.nb;
        let squares = |i: usize| {
            let [value, residual] = self.units.weights.get(i).copied().unwrap_or([1.0; 2]);
            [(self.state.values[i] / value).powi(2), (self.residual[i] / residual).powi(2)]
        };
        if let Some(share) = &self.share {
            let sums = share.sums(2 * nb, |add| {
                for i in share.owned().iter().flat_map(|run| run.start * nb..run.end * nb) {
                    let [value, residual] = squares(i);
                    add(2 * (i % nb), value);
                    add(2 * (i % nb) + 1, residual);
                }
            });
            return sums.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect();
        }
        let mut sums = parallel::reduce(
            flow.team,
            flow.dual.nodes(),
            |rows| {
                let mut sum = vec![[0.0; 2]; nb];
                for i in rows.start * nb..rows.end * nb {
                    let ([value, residual], sum) = (squares(i), &mut sum[i % nb]);
                    *sum = [sum[0] + value, sum[1] + residual];
                }
                sum
            },
            |all: &mut Vec<[f64; 2]>, part| {
                all.resize(nb, [0.0; 2]);
                for (all, part) in all.iter_mut().zip(part) {
                    *all = [all[0] + part[0], all[1] + part[1]];
                }
            },
        );
        sums.resize(nb, [0.0; 2]);
        sums
    }

    /// The residual `base` in its units.
    pub(crate) fn measured_residual(&self, base: &[f64]) -> impl Iterator<Item = f64> {
        base.iter().enumerate().map(|(i, r)| r / self.units.at(i)[1])
    }

    /// Sets the values to `base` + h v, v in units of unknowns.
    pub(crate) fn set_beside(&mut self, team: &Team, base: &[f64], h: f64, v: &[f64]) {
        let units = &self.units;
        parallel::each(team, &mut self.state.values, |i, _| base[i] + h * units.at(i)[0] * v[i]);
    }

    /// Takes the direction `v`, in units of unknowns: what the flow takes of this system is that of a step along it, the values stay.
    pub(crate) fn direct(&mut self, way: &Direction<'_>, v: &[f64]) {
        let units = &self.units;
        parallel::each(way.flow.team, &mut self.changes, |i, _| units.at(i)[0] * v[i]);
        if let Some(share) = &self.share {
            share.exchange(self.state.nb, &mut self.changes);
        }
        self.physics.direct(way, &self.state, &mut self.changes);
        self.directed = true;
    }

    /// Leaves the direction.
    pub(crate) fn leave_direction(&mut self) {
        if std::mem::take(&mut self.directed) {
            self.physics.leave_direction();
        }
    }

    /// y = V/dt v + dR/dq v along the direction last taken, `moved` the flow at the end of the step; unknowns and residuals in their units.
    pub(crate) fn derivative(
        &mut self,
        way: &Direction<'_>,
        moved: &FlowView<'_>,
        at: &Moment,
        v: &[f64],
        y: &mut [f64],
    ) {
        self.physics.derivative(way, moved, at, &self.state, &self.changes, &mut self.residual);
        let residual = &self.residual;
        self.add_pseudo_time(moved.team, |i| residual[i], v, y);
    }

    /// y = V/dt v + (R(q + h v) - R(q)) / h, with the present residual that of q + h v and `base` that of q; unknowns and residuals
    /// in their units.
    pub(crate) fn differentiate(&self, team: &Team, h: f64, base: &[f64], v: &[f64], y: &mut [f64]) {
        let residual = &self.residual;
        self.add_pseudo_time(team, |i| (residual[i] - base[i]) / h, v, y);
    }

    fn add_pseudo_time(&self, team: &Team, slope: impl Fn(usize) -> f64 + Sync, v: &[f64], y: &mut [f64]) {
        let (nb, units, times) = (self.state.nb, &self.units, &self.pseudo_time);
        parallel::each(team, y, |i, _| {
            let [unit, residual_unit] = units.at(i);
            (slope(i) + times[i / nb] * unit * v[i]) / residual_unit
        });
        for &row in &self.state.held {
            let row = row as usize * nb..(row as usize + 1) * nb;
            y[row.clone()].copy_from_slice(&v[row]);
        }
    }

    /// z = M^-1 r with the matrix last factored; unknowns and residuals in their units.
    pub(crate) fn precondition(&mut self, team: &Team, r: &[f64], z: &mut [f64]) {
        // Where all units are alike, one factor afterwards will do.
        let (units, whole) = (&self.units, self.units.of[0][1]);
        if self.scaled.is_empty() {
            self.linear.precondition(&self.jacobian, r, z);
        } else {
            parallel::each(team, &mut self.scaled, |i, _| r[i] * (units.at(i)[1] / whole));
            self.linear.precondition(&self.jacobian, &self.scaled, z);
        }
        parallel::each(team, z, |i, z| z * (whole / units.at(i)[0]));
    }

    /// Sets the update, which is given in units of unknowns.
    pub(crate) fn set_update(&mut self, team: &Team, update: &[f64]) {
        let units = &self.units;
        parallel::each(team, &mut self.update, |i, _| units.at(i)[0] * update[i]);
    }
}
