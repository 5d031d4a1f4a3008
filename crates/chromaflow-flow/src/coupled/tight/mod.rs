//! Tight coupling: one matrix of a flow and of a system that it depends on.
//!
//! ```text
//! | dR_flow/dq   dR_flow/dphi |   5 x 5 and nb x nb: the matrices of the flow and of the system, as they are
//! | dR_phi/dq    dR_phi/dphi  |   the rest, on the same neighbors: what joins them
//! ```
//! * **dR_flow/dphi**: the viscous fluxes are linear in the eddy viscosity, that of a face the mean of both nodes'. The flux of a unit of eddy viscosity through each edge
//!   ([`Tight::unit_fluxes`]) times half the derivative of the node's: all there is, with full stress, work and heat.
//! * **dR_phi/dq**: the flow's mass fluxes with which phi is carried, as the flow's own matrix has their derivatives (first order, Roe's dissipation as it is); molecular and eddy
//!   viscosity in what phi diffuses by and in its source, by density and pressure; the source by the gradients of velocity, which have the
//!   weights n / (2 V) of the faces here.
//!
//! The weights are those of the means of elements off boundaries where these are tetrahedra or, planar, triangles. Left out is what reaches further: nodes across a
//! quadrilateral (their part is with those along its sides), second order, distances from walls of hybrids, the change of strain along the flow of SA-RC,
//! the shear that laws of the wall give; and what enters through the boundary, the gradients in blending functions of SST but those in its sources, and the eddy viscosity by the flow.
//!
//! Unknowns and residuals are measured by the value of the node ([`Coupled::local_floor`](super::Coupled::local_floor)), which keeps all entries of a size.

#[cfg(feature = "cuda")]
mod arguments;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod formulas;

pub use formulas::{joint_by_state, joint_by_velocity, joint_carried, joint_mass_by_own};

use super::{CoupledSystem, FlowView};
use crate::config::Implicit;
use crate::equations::perfect_gas::{N, NN, State};
use crate::jacobian::Stored;
use crate::march::linear::LinearSolver;
use crate::march::{FlowError, Moment};
use crate::parallel;
use crate::residual::primitive_of;
use chromaflow::{Jacobian, OffDiagonal, RowBatches};
use chromaflow_device::Team;
use std::sync::Arc;

/// How what the equations take of a node changes, of one unknown phi.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[repr(C)]
pub struct NodeSlopes {
    /// The eddy viscosity by phi.
    pub eddy: f64,
    /// What phi diffuses by, by density and pressure.
    pub spread: [f64; 2],
    /// The source per volume by density and pressure.
    pub source: [f64; 2],
    /// The source per volume by d(u, v, w)_i / dx_k.
    pub turning: [[f64; 3]; 3],
}

/// The matrix of both, and what solves with it.
pub(crate) struct Tight {
    /// Unknowns of a node of the system beside the flow.
    nb: usize,
    jacobian: Jacobian,
    linear: LinearSolver,
    implicit: Implicit,
    /// Viscous flux of a unit of eddy viscosity through each edge, with the sign that edge fluxes have.
    unit_fluxes: Vec<State>,
    slopes: Vec<NodeSlopes>,
    /// What unknowns and residuals of the system are measured by, `[rows, nb]`.
    weights: Vec<f64>,
    /// Right-hand side and solution, `[rows, 5 + nb]`.
    b: Vec<f64>,
    x: Vec<f64>,
}

impl Tight {
    /// For a flow and a system of `nb` unknowns beside it.
    ///
    /// # Errors
    /// [`FlowError::Linear`].
    pub fn new(flow: &FlowView<'_>, nb: usize, batches: &RowBatches) -> Result<Self, FlowError> {
        let (n, implicit) = (flow.dual.nodes(), flow.config.implicit);
        let jacobian = zeroed(flow, N + nb, &implicit)?;
        let linear = LinearSolver::over(flow.team, batches, &jacobian, &implicit, flow.share())?;
        let vector = || vec![0.0; (N + nb) * n];
        Ok(Self {
            nb,
            jacobian,
            linear,
            implicit,
            unit_fluxes: vec![[0.0; N]; flow.dual.edges.len()],
            slopes: vec![NodeSlopes::default(); nb * n],
            weights: vec![1.0; nb * n],
            b: vector(),
            x: vector(),
        })
    }

    /// Unknowns of a node of the system beside the flow.
    #[cfg(feature = "cuda")]
    pub fn unknowns(&self) -> usize {
        self.nb
    }

    /// Where the viscous fluxes of a unit of eddy viscosity are to be.
    pub fn unit_fluxes(&mut self) -> &mut [State] {
        &mut self.unit_fluxes
    }

    /// The matrix, for what the flow's boundaries make of its rows.
    pub fn jacobian(&mut self) -> &mut Jacobian {
        &mut self.jacobian
    }

    /// What unknowns and residuals of the system are measured by.
    #[cfg(test)]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// Fills the matrix from the flow's and the system's, both as assembled, and with what joins them. Rows that boundaries of the flow replace are not its business.
    ///
    /// # Errors
    /// [`FlowError::Linear`].
    pub fn fill(
        &mut self,
        flow: &FlowView<'_>,
        own: &Jacobian,
        system: &CoupledSystem,
    ) -> Result<(), FlowError> {
        if self.jacobian.rows() != flow.dual.nodes() {
            self.jacobian = zeroed(flow, N + self.nb, &self.implicit)?;
        }
        self.jacobian.begin_assembly();
        system.physics.slopes(flow, &system.state, &mut self.slopes);
        for (i, weight) in self.weights.iter_mut().enumerate() {
            *weight = system.weight(i / self.nb, i % self.nb);
        }
        let diag = &mut self.jacobian.diag;
        let (slopes, unit_fluxes, weights) = (&self.slopes, &self.unit_fluxes, &self.weights);
        let parts = Parts { flow, own, system, slopes, unit_fluxes, weights };
        match (&mut self.jacobian.off, &own.off, &system.jacobian.off) {
            (OffDiagonal::F64(off), OffDiagonal::F64(own), OffDiagonal::F64(beside)) => {
                parts.fill(own, beside, off, diag);
            }
            (OffDiagonal::F32(off), OffDiagonal::F32(own), OffDiagonal::F32(beside)) => {
                parts.fill(own, beside, off, diag);
            }
            _ => unreachable!("assemblies of one policy have blocks of one kind"),
        }
        for &row in &system.state.held {
            self.clear(row as usize, N..N + self.nb, 0..N);
        }
        Ok(())
    }

    /// Makes nothing of some entries of all blocks of a row.
    pub fn clear(&mut self, row: usize, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) {
        let (nb, columns) = (N + self.nb, &columns);
        let positions = self.jacobian.pattern().range(row);
        let diag = &mut self.jacobian.diag;
        for e in columns.clone().flat_map(|c| rows.clone().map(move |r| c * nb + r)) {
            diag[row * nb * nb + e] = 0.0;
            for at in positions.clone().map(|k| k * nb * nb + e) {
                match &mut self.jacobian.off {
                    OffDiagonal::F64(off) => off[at] = 0.0,
                    OffDiagonal::F32(off) => off[at] = 0.0,
                    OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
                }
            }
        }
    }

    /// Changes the flow's rows of the columns that join it with the system, in all blocks of a row.
    pub fn change_columns(&mut self, row: usize, change: impl Fn(&State) -> State) {
        fn of<T: Stored>(blocks: &mut [T], nb: usize, change: &impl Fn(&State) -> State) {
            for block in blocks.chunks_exact_mut(nb * nb) {
                for column in block[N * nb..].chunks_exact_mut(nb) {
                    let changed = change(&std::array::from_fn(|k| column[k].wide()));
                    column.iter_mut().zip(changed).for_each(|(entry, value)| *entry = T::narrow(value));
                }
            }
        }
        let nb = N + self.nb;
        let (q, range) = (nb * nb, self.jacobian.pattern().range(row));
        of(&mut self.jacobian.diag[row * q..][..q], nb, &change);
        match &mut self.jacobian.off {
            OffDiagonal::F64(off) => of(&mut off[range.start * q..range.end * q], nb, &change),
            OffDiagonal::F32(off) => of(&mut off[range.start * q..range.end * q], nb, &change),
            OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
        }
    }

    /// Makes ready to solve with what was filled in; the row of a diagonal block that cannot be inverted comes back as an error.
    pub fn factor(&mut self) -> Result<(), usize> {
        self.linear.convert(&mut self.jacobian);
        self.linear.factor(&mut self.jacobian)
    }

    /// z = M^-1 r of the flow's part and of the system's: residuals to states. `of_flow` is what a node's residuals of the flow were divided by, `units` the
    /// units of the i-th unknown of the system and of its residual.
    pub fn precondition(
        &mut self,
        system: &CoupledSystem,
        (team, of_flow): (&Team, impl Fn(usize) -> f64 + Sync),
        (r, beside_r): (&[f64], &[f64]),
        (z, beside_z): (&mut [f64], &mut [f64]),
    ) {
        let units = &system.units;
        self.gather(team, |i, k| r[N * i + k] * of_flow(i), |i| beside_r[i] * units.at(i)[1]);
        self.linear.precondition(&self.jacobian, &self.b, &mut self.x);
        self.scatter(team, z, beside_z);
        parallel::each(team, beside_z, |i, x| x / units.at(i)[0]);
    }

    /// Solves for the updates of both; what is left of the residual, as [`LinearSolver::solve`] says.
    pub fn solve(
        &mut self,
        team: &Team,
        system: &mut CoupledSystem,
        residual: &[State],
        update: &mut [f64],
        measure: bool,
    ) -> Result<Option<f64>, usize> {
        let beside = &system.residual;
        self.gather(team, |i, k| residual[i][k], |i| beside[i]);
        self.linear.convert(&mut self.jacobian);
        let left = self.linear.solve(&mut self.jacobian, &self.b, &mut self.x, measure)?;
        self.scatter(team, update, &mut system.update);
        Ok(left)
    }

    fn gather(
        &mut self,
        team: &Team,
        own: impl Fn(usize, usize) -> f64 + Sync,
        beside: impl Fn(usize) -> f64 + Sync,
    ) {
        let (m, weights) = (self.nb, &self.weights);
        let n = self.b.len() / (N + m);
        parallel::rows(team, n, N + m, &mut self.b, |rows, b| {
            for (i, b) in rows.zip(b.chunks_exact_mut(N + m)) {
                for (k, b) in b[..N].iter_mut().enumerate() {
                    *b = own(i, k);
                }
                for (v, b) in b[N..].iter_mut().enumerate() {
                    *b = beside(m * i + v) / weights[m * i + v];
                }
            }
        });
    }

    fn scatter(&self, team: &Team, own: &mut [f64], beside: &mut [f64]) {
        let (m, x, weights) = (self.nb, &self.x, &self.weights);
        let n = x.len() / (N + m);
        parallel::rows2(team, n, (N, own), (m, beside), |rows, own, beside| {
            let parts = own.chunks_exact_mut(N).zip(beside.chunks_exact_mut(m));
            for (i, (own, beside)) in rows.zip(parts) {
                let (x, weights) = (&x[i * (N + m)..][..N + m], &weights[i * m..][..m]);
                own.copy_from_slice(&x[..N]);
                for v in 0..m {
                    beside[v] = x[N + v] * weights[v];
                }
            }
        });
    }

    /// Gives the memory of the matrix back until the next step.
    pub fn release(&mut self) {
        let empty = chromaflow::BlockPattern::new(0, vec![0], Vec::new()).expect("no rows, no blocks");
        self.jacobian = Jacobian::zeroed(empty, N + self.nb, chromaflow::Policy::D)
            .expect("a matrix without rows is square");
    }

    /// Bytes of the matrix without its pattern and of what solves with it; of work arrays.
    pub fn bytes(&self) -> [usize; 2] {
        let matrix = self.jacobian.bytes() - self.jacobian.pattern().bytes();
        let arrays =
            size_of_val(&*self.unit_fluxes) + size_of_val(&*self.slopes) + size_of_val(&*self.weights);
        let vectors = size_of_val(&*self.b) + size_of_val(&*self.x);
        [matrix + self.linear.bytes(), arrays + vectors + self.linear.work_bytes()]
    }
}

impl CoupledSystem {
    /// Makes the matrix, as it is to go into one with the flow's.
    ///
    /// # Errors
    /// [`FlowError::Linear`].
    pub(crate) fn assemble_joint(&mut self, flow: &FlowView<'_>, at: &Moment) -> Result<(), FlowError> {
        self.assemble(flow, at)?;
        self.physics.pseudo_time(flow, &self.state, at, &mut self.pseudo_time);
        Ok(())
    }
}

fn zeroed(flow: &FlowView<'_>, nb: usize, implicit: &Implicit) -> Result<Jacobian, FlowError> {
    Jacobian::zeroed(Arc::clone(&flow.dual.pattern), nb, implicit.policy)
        .map_err(|e| FlowError::Linear(e.to_string()))
}

/// What the matrix is made of.
struct Parts<'a> {
    flow: &'a FlowView<'a>,
    own: &'a Jacobian,
    system: &'a CoupledSystem,
    slopes: &'a [NodeSlopes],
    unit_fluxes: &'a [State],
    weights: &'a [f64],
}

/// What joins a row's residuals with the states of another node, or its own.
#[derive(Clone, Copy, Default)]
struct Joint {
    /// Of the flow by the unknowns, `[unknown][residual]`.
    of_flow: [[f64; N]; MOST],
    /// Of the system by the flow, `[residual][state]`.
    beside: [[f64; N]; MOST],
}

/// Most unknowns of a system.
const MOST: usize = 2;

impl Parts<'_> {
    fn fill<T: Stored>(&self, own: &[T], beside: &[T], off: &mut [T], diag: &mut [f64]) {
        let m = self.system.state.nb;
        let (nb, pattern) = (N + m, &self.flow.dual.pattern);
        let q = nb * nb;
        parallel::positions(self.flow.team, pattern.row_ptr(), (q, off), (q, diag), |rows, off, diag| {
            let first = pattern.range(rows.start).start;
            for (i, diag) in rows.zip(diag.chunks_exact_mut(q)) {
                let mut sum = self.at_node(i);
                for k in pattern.range(i) {
                    let own = &own[k * NN..][..NN];
                    let block = self.through(i, k, &std::array::from_fn(|c| own[c * N].wide()), &mut sum);
                    let out = &mut off[(k - first) * q..][..q];
                    let j = pattern.col_idx()[k] as usize;
                    let wide = |e: usize| own[e].wide();
                    self.put((i, j), wide, |e| beside[k * m * m + e].wide(), &block, out);
                }
                let (of_flow, of_system) =
                    (&self.own.diag[i * NN..], &self.system.jacobian.diag[i * m * m..]);
                self.put((i, i), |e| of_flow[e], |e| of_system[e], &sum, diag);
            }
        });
    }

    /// Writes a block, its unknowns and residuals measured by the values of their nodes.
    fn put<T: Stored>(
        &self,
        (i, j): (usize, usize),
        own: impl Fn(usize) -> f64,
        beside: impl Fn(usize) -> f64,
        joint: &Joint,
        out: &mut [T],
    ) {
        let (weights, m) = (self.weights, self.system.state.nb);
        let nb = N + m;
        for c in 0..N {
            for r in 0..N {
                out[c * nb + r] = T::narrow(own(c * N + r));
            }
            for r in 0..m {
                out[c * nb + N + r] = T::narrow(joint.beside[r][c] / weights[m * i + r]);
            }
        }
        for c in 0..m {
            let value = weights[m * j + c];
            for r in 0..N {
                out[(N + c) * nb + r] = T::narrow(joint.of_flow[c][r] * value);
            }
            for r in 0..m {
                out[(N + c) * nb + N + r] = T::narrow(beside(c * m + r) * value / weights[m * i + r]);
            }
        }
    }

    /// What a row's own state has of it without the faces.
    fn at_node(&self, i: usize) -> Joint {
        let (flow, m, mut sum) = (self.flow, self.system.state.nb, Joint::default());
        let (w, volume) = (primitive_of(&flow.nodes[i]), flow.dual.volumes[i]);
        for v in 0..m {
            let by = joint_by_state(flow.gas, &w, &self.slopes[m * i + v].source);
            sum.beside[v] = by.map(|by| -volume * by);
        }
        sum
    }

    /// What joins row i with the neighbor at position k, of whose block in the flow's matrix `mass_by` is the first row; `sum` gains what joins it with itself.
    fn through(&self, i: usize, k: usize, mass_by: &[f64; N], sum: &mut Joint) -> Joint {
        let (flow, system, m) = (self.flow, self.system, self.system.state.nb);
        let (j, edge) = (flow.dual.pattern.col_idx()[k] as usize, flow.dual.edge_of[k] as usize);
        let sign = if j > i { 1.0 } else { -1.0 };
        let n = flow.dual.areas[edge].map(|n| sign * n);
        let mass = sign * flow.fluxes[edge][0];
        let states = [i, j].map(|node| primitive_of(&flow.nodes[node]));
        let own_mass_by = joint_mass_by_own(&n, mass_by);
        let mut joint = Joint::default();
        for v in 0..m {
            let [own, other] = [i, j].map(|node| &self.slopes[m * node + v]);
            for r in 0..N {
                let unit = 0.5 * sign * self.unit_fluxes[edge][r];
                joint.of_flow[v][r] = unit * other.eddy;
                sum.of_flow[v][r] += unit * own.eddy;
            }
            let difference = system.state.values[m * j + v] - system.state.values[m * i + v];
            let (volume, densities) = (system.physics.carries_volume(), states[0][0] + states[1][0]);
            let carried = |by| joint_carried(volume, mass, densities, difference, by);
            // The source's gradients: a neighbor's velocity less the own one.
            let turning = std::array::from_fn(|d| {
                let t = &own.turning[d];
                -0.5 * (t[0] * n[0] + t[1] * n[1] + t[2] * n[2])
            });
            let back = turning.map(|t: f64| -t);
            let through = -0.5 * sign * system.physics.through(&system.state, [i, j], edge, v);
            let [to_own, to_other] = [(own, &states[0]), (other, &states[1])]
                .map(|(slopes, w)| joint_by_state(flow.gas, w, &slopes.spread.map(|by| through * by)));
            let parts = [carried(mass_by), to_other, joint_by_velocity(&states[1], &turning)];
            let own_parts = [carried(&own_mass_by), to_own, joint_by_velocity(&states[0], &back)];
            for c in 0..N {
                joint.beside[v][c] = parts.iter().map(|part| part[c]).sum();
                sum.beside[v][c] += own_parts.iter().map(|part| part[c]).sum::<f64>();
            }
        }
        joint
    }
}
