//! What every system beside a flow has: its state and the parts of an iteration.

use super::newton::Units;
use super::{Coupled, FlowView};
use crate::config::{Implicit, Time};
use crate::march::linear::LinearSolver;
use crate::march::{Advanced, FlowError, Moment};
use crate::parallel;
use chromaflow::dist::{Links, Share};
use chromaflow::{Jacobian, OffDiagonal, RowBatches};
use std::sync::Arc;

/// Unknowns of a system beside a flow, `[rows, nb]`.
#[derive(Clone, Debug, Default)]
pub struct CoupledState {
    /// Unknowns a node.
    pub nb: usize,
    /// The present values.
    pub values: Vec<f64>,
    /// The last ones known to be good.
    pub last_good: Vec<f64>,
    /// The last time level and the one before; empty in steady runs.
    pub levels: [Vec<f64>; 2],
    /// Nodes whose values are given, ascending.
    pub held: Vec<u32>,
    /// Those of them whose values are the equations' own, not set from outside.
    pub given: Vec<u32>,
    /// A source per volume, what manufactured solutions need; empty where there is none.
    pub source: Vec<f64>,
}

impl CoupledState {
    /// The present values as those of all earlier times.
    pub fn start_here(&mut self) {
        self.last_good.copy_from_slice(&self.values);
        for level in self.levels.iter_mut().filter(|level| !level.is_empty()) {
            level.copy_from_slice(&self.values);
        }
    }

    fn bytes(&self) -> usize {
        [&self.values, &self.last_good, &self.levels[0], &self.levels[1], &self.source]
            .map(|v| size_of_val(&**v))
            .iter()
            .sum()
    }
}

/// A system beside a flow, on the host: its equations, its state, its matrix and what solves with it.
pub struct CoupledSystem {
    pub(crate) physics: Box<dyn Coupled>,
    pub(crate) state: CoupledState,
    pub(crate) residual: Vec<f64>,
    pub(crate) update: Vec<f64>,
    pub(super) jacobian: Jacobian,
    /// V/dt of each row in a Newton-Krylov step of the flow, where this system drives it.
    pub(super) pseudo_time: Vec<f64>,
    pub(super) linear: LinearSolver,
    pub(super) share: Option<Arc<Share>>,
    /// How a Newton-Krylov step of the flow measures this system, where it drives it.
    pub(super) units: Units,
    /// What is preconditioned, in its own units; empty where these are the same for all unknowns.
    pub(super) scaled: Vec<f64>,
    /// Of each unknown, see [`Coupled::local_floor`].
    pub(super) floors: Vec<Option<f64>>,
    /// The direction of a derivative, `[rows, nb]`, where the equations have it themselves, else empty; and whether one is taken.
    pub(super) changes: Vec<f64>,
    pub(super) directed: bool,
    /// Norms of residuals that are nothing but rounding, one for each unknown.
    round_off: Vec<f64>,
}

/// Roundings of a sum of fluxes, each of the size of the value times the speed of sound times the area.
const ROUND_OFF: f64 = 4.0 * f64::EPSILON;

impl CoupledSystem {
    /// At its beginning beside the flow at its own.
    ///
    /// # Errors
    /// [`FlowError::Linear`].
    pub fn new(
        physics: Box<dyn Coupled>,
        flow: &FlowView<'_>,
        batches: &RowBatches,
    ) -> Result<Self, FlowError> {
        let (nb, n) = (physics.nb(), flow.dual.nodes());
        let mut values = vec![0.0; nb * n];
        for (row, out) in values.chunks_exact_mut(nb).enumerate() {
            physics.initial(flow, row, out);
        }
        let levels = match flow.config.time {
            Time::Steady(_) => [Vec::new(), Vec::new()],
            Time::Unsteady(_) => [values.clone(), values.clone()],
        };
        let implicit = &flow.config.implicit;
        let jacobian = zeroed(flow, nb, implicit)?;
        let linear = LinearSolver::over(flow.team, batches, &jacobian, implicit, flow.share())?;
        let rate = rounding_rate(flow);
        let floors: Vec<Option<f64>> = (0..nb).map(|v| physics.local_floor(v)).collect();
        let driving = physics.drives_flow();
        let weighted = if driving && floors.iter().any(Option::is_some) { nb * n } else { 0 };
        let scaled = if driving && (nb > 1 || weighted > 0) { nb * n } else { 0 };
        let held = physics.given(flow);
        Ok(Self {
            round_off: physics.scales().into_iter().map(|scale| ROUND_OFF * scale * rate).collect(),
            state: CoupledState {
                nb,
                last_good: values.clone(),
                values,
                levels,
                given: held.clone(),
                held,
                source: Vec::new(),
            },
            residual: vec![0.0; nb * n],
            update: vec![0.0; nb * n],
            pseudo_time: vec![0.0; if driving { n } else { 0 }],
            units: Units { of: vec![[1.0; 2]; nb], weights: vec![[1.0; 2]; weighted] },
            scaled: vec![0.0; scaled],
            floors,
            changes: vec![0.0; if driving && physics.has_derivative() { nb * n } else { 0 }],
            directed: false,
            jacobian,
            linear,
            share: flow.share().cloned(),
            physics,
        })
    }

    /// What the flow needs of this system, and the given values that follow the flow, before the flow's residual.
    pub(crate) fn prepare(&mut self, flow: &FlowView<'_>) {
        if self.directed {
            return;
        }
        let Self { physics, state, .. } = self;
        if physics.given_follow_flow() {
            for &row in &state.given {
                physics.initial(flow, row as usize, &mut state.values[row as usize * state.nb..][..state.nb]);
            }
            // Ghosts without all their neighbors cannot tell how far these are.
            if let Some(share) = &self.share {
                share.exchange(state.nb, &mut state.values);
            }
        }
        physics.prepare(flow, &state.values);
    }

    /// The residual; returns the sum of R^2/V of each unknown, of local ones that of (R / value)^2/V.
    pub(crate) fn compute_residual(&mut self, flow: &FlowView<'_>, at: &Moment) -> Vec<f64> {
        self.find_residual(flow, at);
        self.squares(flow)
    }

    /// The residual.
    pub(crate) fn find_residual(&mut self, flow: &FlowView<'_>, at: &Moment) {
        let (state, nb) = (&self.state, self.state.nb);
        self.physics.residual(flow, state, at, &mut self.residual);
        if !state.source.is_empty() {
            let rows = self.residual.chunks_exact_mut(nb).zip(state.source.chunks_exact(nb));
            for ((r, s), volume) in rows.zip(&flow.dual.volumes) {
                for v in 0..nb {
                    r[v] -= volume * s[v];
                }
            }
        }
        for &i in &state.held {
            self.residual[i as usize * nb..][..nb].fill(0.0);
        }
        if let Some(share) = &self.share {
            share.clear(nb, &mut self.residual);
        }
    }

    /// What an unknown's residual at a row is divided by in norms.
    pub(super) fn weight(&self, row: usize, v: usize) -> f64 {
        self.floors[v].map_or(1.0, |floor| self.state.values[row * self.state.nb + v].abs() + floor)
    }

    fn squares(&self, flow: &FlowView<'_>) -> Vec<f64> {
        let nb = self.state.nb;
        if let Some(share) = &self.share {
            return share.sums(nb, |add| {
                for i in share.owned().iter().cloned().flatten() {
                    for v in 0..nb {
                        let residual = self.residual[i * nb + v] / self.weight(i, v);
                        add(v, residual.powi(2) / flow.dual.volumes[i]);
                    }
                }
            });
        }
        let mut squares = parallel::reduce(
            flow.team,
            flow.dual.nodes(),
            |rows| {
                let mut sum = vec![0.0; nb];
                for i in rows {
                    for v in 0..nb {
                        let residual = self.residual[i * nb + v] / self.weight(i, v);
                        sum[v] += residual.powi(2) / flow.dual.volumes[i];
                    }
                }
                sum
            },
            |all: &mut Vec<f64>, part| {
                all.resize(nb, 0.0);
                for (all, part) in all.iter_mut().zip(part) {
                    *all += part;
                }
            },
        );
        squares.resize(nb, 0.0);
        squares
    }

    /// The matrix at the present state.
    pub(crate) fn assemble(&mut self, flow: &FlowView<'_>, at: &Moment) -> Result<&Jacobian, FlowError> {
        if self.jacobian.rows() != flow.dual.nodes() {
            self.jacobian = zeroed(flow, self.state.nb, &flow.config.implicit)?;
        }
        self.jacobian.begin_assembly();
        self.physics.assemble(flow, &self.state, at, &mut self.jacobian);
        self.replace_held_rows(flow);
        if let Some(rows) = flow.rows {
            rows.identities(&mut self.jacobian);
        }
        Ok(&self.jacobian)
    }

    fn replace_held_rows(&mut self, flow: &FlowView<'_>) {
        let (nb, q) = (self.state.nb, self.state.nb * self.state.nb);
        for &i in &self.state.held {
            let range = flow.dual.pattern.range(i as usize);
            let range = range.start * q..range.end * q;
            match &mut self.jacobian.off {
                OffDiagonal::F64(off) => off[range].fill(0.0),
                OffDiagonal::F32(off) => off[range].fill(0.0),
                OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
            }
            let block = &mut self.jacobian.diag[i as usize * q..][..q];
            for (e, entry) in block.iter_mut().enumerate() {
                *entry = if e % (nb + 1) == 0 { 1.0 } else { 0.0 };
            }
        }
    }

    /// The implicit part of a step.
    pub(crate) fn advance(&mut self, flow: &FlowView<'_>, at: &Moment) -> Result<Advanced, FlowError> {
        self.assemble(flow, at)?;
        self.linear.convert(&mut self.jacobian);
        let solved = self.linear.solve(&mut self.jacobian, &self.residual, &mut self.update, false);
        if let Err(row) = solved {
            return Ok(Advanced { singular: Some(row), ..Advanced::default() });
        }
        Ok(self.take_update())
    }

    /// Of each unknown, see [`Coupled::local_floor`].
    #[cfg(feature = "cuda")]
    pub(crate) fn floors(&self) -> &[Option<f64>] {
        &self.floors
    }

    /// Whether the flow depends on this system.
    pub(crate) fn drives_flow(&self) -> bool {
        self.physics.drives_flow()
    }

    /// Takes the update, cut where it leaves the unknowns' range.
    pub(crate) fn take_update(&mut self) -> Advanced {
        self.state.last_good.copy_from_slice(&self.state.values);
        let (nb, state) = (self.state.nb, &mut self.state);
        let updates = self.update.chunks_exact(nb);
        let cut = state.values.chunks_exact_mut(nb).zip(updates);
        let cut: Vec<bool> = cut.map(|(q, x)| self.physics.update(q, x)).collect();
        let limited = match &self.share {
            None => cut.iter().filter(|cut| **cut).count(),
            Some(share) => share.sum_rows(|i| [f64::from(u8::from(cut[i]))])[0] as usize,
        };
        let bad = self.first_bad_of(&self.state.values);
        let bad = self.share.as_ref().map_or(bad, |share| share.lowest(bad));
        Advanced { limited, bad, ..Advanced::default() }
    }

    /// Returns to the last good state.
    pub(crate) fn restore(&mut self) {
        self.state.values.copy_from_slice(&self.state.last_good);
    }

    /// The present state becomes the last time level.
    pub(crate) fn next_level(&mut self) {
        let CoupledState { values, levels, .. } = &mut self.state;
        if !levels[0].is_empty() {
            levels.swap(0, 1);
            levels[0].copy_from_slice(values);
        }
    }

    /// The first node, of those that a rank owns, with a residual that is not finite or an unknown out of its range.
    pub(crate) fn first_bad(&self, share: Option<&Arc<Share>>) -> Option<usize> {
        let nb = self.state.nb;
        if let Some(share) = share {
            let bad = |&i: &usize| {
                let row = i * nb..(i + 1) * nb;
                let finite = self.residual[row.clone()].iter().all(|v| v.is_finite());
                !(finite && self.physics.is_good(&self.state.values[row]))
            };
            return share.owned().iter().cloned().flatten().find(bad);
        }
        let residual =
            self.residual.chunks_exact(self.state.nb).position(|r| !r.iter().all(|v| v.is_finite()));
        match (self.first_bad_of(&self.state.values), residual) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        }
    }

    fn first_bad_of(&self, values: &[f64]) -> Option<usize> {
        values.chunks_exact(self.state.nb).position(|values| !self.physics.is_good(values))
    }

    /// Norms of residuals that are nothing but rounding, one for each unknown.
    pub(crate) fn round_off(&self) -> &[f64] {
        &self.round_off
    }

    /// Gives the memory of the matrix back until the next step.
    pub(crate) fn release(&mut self) {
        let empty = chromaflow::BlockPattern::new(0, vec![0], Vec::new()).expect("no rows, no blocks");
        self.jacobian = Jacobian::zeroed(empty, self.state.nb, chromaflow::Policy::D)
            .expect("a matrix without rows is square");
    }

    /// Bytes of the matrix without its pattern and of what solves with it; of the state; of work arrays.
    pub(crate) fn bytes(&self) -> [usize; 3] {
        let matrix = size_of_val(&*self.jacobian.diag)
            + match &self.jacobian.off {
                OffDiagonal::F64(off) => size_of_val(&**off),
                OffDiagonal::F32(off) => size_of_val(&**off),
                OffDiagonal::F16 { values, .. } => size_of_val(&**values),
            };
        let vectors = [&self.residual, &self.update, &self.scaled, &self.changes].map(|v| size_of_val(&**v));
        let units = size_of_val(&*self.units.weights);
        let work = vectors.iter().sum::<usize>() + units + self.linear.work_bytes();
        [matrix + self.linear.bytes(), self.state.bytes(), work]
    }
}

fn zeroed(flow: &FlowView<'_>, nb: usize, implicit: &Implicit) -> Result<Jacobian, FlowError> {
    Jacobian::zeroed(Arc::clone(&flow.dual.pattern), nb, implicit.policy)
        .map_err(|e| FlowError::Linear(e.to_string()))
}

/// Norm over the domain of the surface of each control volume over its volume: by how much a unit rounded once in each flux,
/// carried with the speed of sound, shows in the norm of a residual.
fn rounding_rate(flow: &FlowView<'_>) -> f64 {
    let dual = flow.dual;
    let size = |n: &[f64; 3]| (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt();
    let mut surface = vec![0.0; dual.nodes()];
    for (&[a, b], area) in dual.edges.iter().zip(&dual.areas) {
        let area = size(area);
        surface[a as usize] += area;
        surface[b as usize] += area;
    }
    if let Some(share) = flow.share() {
        let [sum, volume] = share.sum_rows(|i| [surface[i] * surface[i] / dual.volumes[i], dual.volumes[i]]);
        return (sum / volume).sqrt();
    }
    let sum: f64 = surface.iter().zip(&dual.volumes).map(|(s, v)| s * s / v).sum();
    (sum / dual.volumes.iter().sum::<f64>()).sqrt()
}
