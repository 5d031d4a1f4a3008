//! The matrix of one unknown that a flow carries.

use super::{FlowView, edge_weight};
use crate::jacobian::Stored;
use crate::parallel;
use chromaflow::{Jacobian, OffDiagonal};

/// What the matrix of an unknown is made of that is carried and that diffuses.
pub struct Carried<'a, F, S, E> {
    /// The flow.
    pub flow: &'a FlowView<'a>,
    /// Its CFL number.
    pub cfl: f64,
    /// Of row i, neighbor j and their edge: what passes the face from the edge's first node to its second, and the diffusivity
    /// as i sees it.
    pub face: F,
    /// Of row i: what the residual gains per volume and unknown by sources and time.
    pub slope: S,
    /// Of row i and the mass that leaves through a part of the boundary: what passes there.
    pub leaves: E,
}

impl<F, S, E> Carried<'_, F, S, E>
where
    F: Fn(usize, usize, usize) -> [f64; 2] + Sync,
    S: Fn(usize) -> f64 + Sync,
    E: Fn(usize, f64) -> f64 + Sync,
{
    /// Writes an M-matrix of blocks of one number: off the diagonal min(m, 0) - Gamma |n|^2 / (n . dx) of each face, m what passes from
    /// i to j; on it their sum with the other sign, what enters, the slope times the volume, and V/dt.
    pub fn assemble(&self, jacobian: &mut Jacobian) {
        let diag = &mut jacobian.diag;
        match &mut jacobian.off {
            OffDiagonal::F64(off) => self.fill_rows(off, diag),
            OffDiagonal::F32(off) => self.fill_rows(off, diag),
            OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
        }
        self.flow.each_open_node(|_, i, mass| {
            let passing = (self.leaves)(i, mass);
            diag[i] += -passing.min(0.0) + 0.5 * passing.abs() / self.cfl;
        });
    }

    /// Writes the V/dt of each row that [`Self::assemble`] puts on the diagonal.
    pub fn pseudo_time(&self, out: &mut [f64]) {
        let (flow, dual) = (self.flow, self.flow.dual);
        parallel::rows(flow.team, dual.nodes(), 1, out, |rows, out| {
            for (i, time) in rows.zip(out) {
                *time = dual.pattern.range(i).map(|k| self.through(i, k)[1]).sum::<f64>() / self.cfl;
            }
        });
        flow.each_open_node(|_, i, mass| out[i] += 0.5 * (self.leaves)(i, mass).abs() / self.cfl);
    }

    /// Of position k in row i: the entry off the diagonal with the other sign, and what it brings to the spectral radius.
    fn through(&self, i: usize, k: usize) -> [f64; 2] {
        let (flow, dual) = (self.flow, self.flow.dual);
        let (edge, j) = (dual.edge_of[k] as usize, dual.pattern.col_idx()[k] as usize);
        let sign = if j > i { 1.0 } else { -1.0 };
        let dx = std::array::from_fn(|d| sign * (flow.nodes[j][5 + d] - flow.nodes[i][5 + d]));
        let [passing, gamma] = (self.face)(i, j, edge);
        let passing = sign * passing;
        let through = gamma * edge_weight(&dual.areas[edge], &dx);
        [through - passing.min(0.0), 0.5 * passing.abs() + through]
    }

    fn fill_rows<T: Stored>(&self, off: &mut [T], diag: &mut [f64]) {
        let (flow, dual) = (self.flow, self.flow.dual);
        let pattern = &dual.pattern;
        parallel::positions(flow.team, pattern.row_ptr(), (1, off), (1, diag), |rows, off, diag| {
            let first = pattern.range(rows.start).start;
            for (i, diag) in rows.zip(diag) {
                let (mut sum, mut speed) = (0.0, 0.0);
                for k in pattern.range(i) {
                    let [entry, radius] = self.through(i, k);
                    off[k - first] = T::narrow(-entry);
                    sum += entry;
                    speed += radius;
                }
                *diag = sum + speed / self.cfl + dual.volumes[i] * (self.slope)(i);
            }
        });
    }
}
