//! The matrix of unknowns that a flow carries.

use super::{FlowView, edge_weight};
use crate::jacobian::Stored;
use crate::parallel;
use chromaflow::{Jacobian, OffDiagonal};

/// What the matrix of NB unknowns is made of that are carried and that diffuse.
pub struct Carried<'a, const NB: usize, F, S, G, E> {
    /// The flow.
    pub flow: &'a FlowView<'a>,
    /// Its CFL number.
    pub cfl: f64,
    /// Of row i, neighbor j and their edge: what passes the face from the edge's first node to its second, and the diffusivity of each
    /// unknown as i sees it.
    pub face: F,
    /// Of row i: what the residual of each unknown, `[residual][unknown]`, gains per volume and unknown by sources and time.
    pub slope: S,
    /// Of row i: the rate at which an unknown grows, where it does. Steps do not lead over more than half of such a time: over longer ones what
    /// should grow would change its sign.
    pub growth: G,
    /// Of row i and the mass that leaves through a part of the boundary: what passes there.
    pub leaves: E,
}

impl<const NB: usize, F, S, G, E> Carried<'_, NB, F, S, G, E>
where
    F: Fn(usize, usize, usize) -> (f64, [f64; NB]) + Sync,
    S: Fn(usize) -> [[f64; NB]; NB] + Sync,
    G: Fn(usize) -> f64 + Sync,
    E: Fn(usize, f64) -> f64 + Sync,
{
    const BLOCK: usize = NB * NB;

    /// Writes an M-matrix for each unknown: off the diagonal min(m, 0) - Gamma |n|^2 / (n . dx) of each face, m what passes from i to j; on
    /// it their sum with the other sign, what enters, the slope times the volume, and V/dt, which all unknowns of a row share.
    pub fn assemble(&self, jacobian: &mut Jacobian) {
        let diag = &mut jacobian.diag;
        match &mut jacobian.off {
            OffDiagonal::F64(off) => self.fill_rows(off, diag),
            OffDiagonal::F32(off) => self.fill_rows(off, diag),
            OffDiagonal::F16 { .. } => unreachable!("an assembly has blocks in f64 or f32"),
        }
        self.flow.at_open_nodes(Self::BLOCK, diag, |open, diag| {
            let passing = (self.leaves)(open.node, open.mass);
            for v in 0..NB {
                diag[v * (NB + 1)] += -passing.min(0.0) + 0.5 * passing.abs() / self.cfl;
            }
        });
    }

    /// Writes the V/dt of each row that [`Self::assemble`] puts on the diagonal.
    pub fn pseudo_time(&self, out: &mut [f64]) {
        let (flow, dual) = (self.flow, self.flow.dual);
        parallel::rows(flow.team, dual.nodes(), 1, out, |rows, out| {
            for (i, time) in rows.zip(out) {
                let speed: f64 = dual.pattern.range(i).map(|k| self.through(i, k).1).sum();
                *time = speed / self.cfl + self.resolving(i);
            }
        });
        flow.at_open_nodes(1, out, |open, time| {
            time[0] += 0.5 * (self.leaves)(open.node, open.mass).abs() / self.cfl;
        });
    }

    /// What growth adds to V/dt.
    fn resolving(&self, i: usize) -> f64 {
        2.0 * self.flow.dual.volumes[i] * (self.growth)(i)
    }

    /// Of position k in row i: the entries off the diagonal with the other sign, and what the face brings to the spectral radius.
    fn through(&self, i: usize, k: usize) -> ([f64; NB], f64) {
        let (flow, dual) = (self.flow, self.flow.dual);
        let (edge, j) = (dual.edge_of[k] as usize, dual.pattern.col_idx()[k] as usize);
        let sign = if j > i { 1.0 } else { -1.0 };
        let dx = flow.between(i, j).map(|way| sign * way);
        let (passing, gammas) = (self.face)(i, j, edge);
        let passing = sign * passing;
        let weight = edge_weight(&dual.areas[edge], &dx);
        let through = gammas.map(|gamma| gamma * weight);
        let most = through.into_iter().fold(0.0, f64::max);
        (through.map(|through| through - passing.min(0.0)), 0.5 * passing.abs() + most)
    }

    fn fill_rows<T: Stored>(&self, off: &mut [T], diag: &mut [f64]) {
        let (flow, dual) = (self.flow, self.flow.dual);
        let pattern = &dual.pattern;
        let widths = ((Self::BLOCK, off), (Self::BLOCK, diag));
        parallel::positions(flow.team, pattern.row_ptr(), widths.0, widths.1, |rows, off, diag| {
            let first = pattern.range(rows.start).start;
            for (i, diag) in rows.zip(diag.chunks_exact_mut(Self::BLOCK)) {
                let (mut sum, mut speed) = ([0.0; NB], 0.0);
                for k in pattern.range(i) {
                    let (entries, radius) = self.through(i, k);
                    let block = &mut off[(k - first) * Self::BLOCK..][..Self::BLOCK];
                    block.fill(T::narrow(0.0));
                    for v in 0..NB {
                        block[v * (NB + 1)] = T::narrow(-entries[v]);
                        sum[v] += entries[v];
                    }
                    speed += radius;
                }
                let (slope, time) = ((self.slope)(i), speed / self.cfl + self.resolving(i));
                for r in 0..NB {
                    for c in 0..NB {
                        let own = if r == c { sum[r] + time } else { 0.0 };
                        diag[c * NB + r] = own + dual.volumes[i] * slope[r][c];
                    }
                }
            }
        });
    }
}
