//! The nearest-neighbor Jacobian: first-order inviscid linearization, boundary terms, V/dt.
//!
//! Block (i, j) off the diagonal is the derivative of the flux from i to j by the state of j; the diagonal block of i is
//! the sum of the derivatives of the same fluxes by the state of i. Both come row by row, eight neighbors at a time: each
//! flux is linearized once from either side, which costs less than to move blocks between rows, and no two threads ever
//! write to one block.
//!
//! Of Roe's matrix the own side's part needs no block of its own per neighbor: A(q_i, n) is linear in n, so that the sum
//! over the neighbors is A(q_i) of the summed faces, and |A| is what the other side's block has taken already.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod positions;
#[cfg(test)]
mod tests;

use positions::RowBlocks;

use crate::bc::{
    Condition, MirrorNode, WallNode, condition_flux_jacobian, mirror_block, strong_wall_diagonal,
    strong_wall_off_diagonal,
};
use crate::config::JacobianScheme;
use crate::dual::Dual;
use crate::equations::perfect_gas::{N, NN, State, StateBlock};
use crate::flux::RoeFix;
use crate::gas::{Gas, Transport, by_conserved};
use crate::gradient::NodeRecord;
use crate::parallel;
use crate::real::{Dual as Slopes, Lanes, dispatch};
use crate::residual::{Eddies, primitive_of};
use crate::wall_law::{LawNode, law_flux, law_load};
use chromaflow::{Jacobian, OffDiagonal};
use chromaflow_device::{Isa, Team};

/// A number that off-diagonal blocks are stored in.
pub trait Stored: Copy + Send + Sync + Default {
    /// The number in f64.
    fn wide(self) -> f64;

    /// A number rounded to this type.
    fn narrow(value: f64) -> Self;

    /// Rounds the blocks in the lanes to this type and writes as many of them as `out` has room for.
    fn store<V: Lanes>(blocks: &StateBlock<V>, out: &mut [StateBlock<Self>]);
}

impl Stored for f64 {
    fn wide(self) -> f64 {
        self
    }

    fn narrow(value: f64) -> Self {
        value
    }

    #[inline(always)]
    fn store<V: Lanes>(blocks: &StateBlock<V>, out: &mut [StateBlock<Self>]) {
        V::scatter(blocks, out);
    }
}

impl Stored for f32 {
    fn wide(self) -> f64 {
        f64::from(self)
    }

    fn narrow(value: f64) -> Self {
        value as f32
    }

    #[inline(always)]
    fn store<V: Lanes>(blocks: &StateBlock<V>, out: &mut [StateBlock<Self>]) {
        V::scatter_single(blocks, out);
    }
}

/// What a Jacobian is assembled from.
pub struct Assembly<'a> {
    /// Who computes.
    pub team: &'a Team,
    /// The mesh's metrics.
    pub dual: &'a Dual,
    /// Boundary conditions of the dual's patches.
    pub boundaries: &'a [Condition<f64>],
    /// Linearization of the flux.
    pub scheme: JacobianScheme,
    /// Fixes of Roe's flux in the linearization.
    pub fix: RoeFix<f64>,
    /// The gas.
    pub gas: Gas<f64>,
    /// Viscosity, where there is any.
    pub transport: Option<Transport<f64>>,
    /// What turbulence adds to it.
    pub eddies: Eddies<'a>,
    /// CFL number of the pseudo-time step: V/dt is the sum of spectral radii over the faces, divided by it.
    pub cfl: f64,
    /// The share of it that each node takes; all of it where empty.
    pub shares: &'a [f64],
    /// Factor of V q in the physical time derivative, 0 in steady flow.
    pub shift: f64,
    /// Nodes on walls without slip.
    pub fixed: &'a [WallNode<f64>],
    /// Nodes on walls with a law of the wall.
    pub laws: &'a [LawNode<f64>],
    /// Nodes on planes of symmetry.
    pub mirrors: &'a [MirrorNode<f64>],
    /// Nodes whose whole state is given.
    pub held: &'a [u32],
}

/// The share of the CFL number that a node takes.
#[inline(always)]
pub(crate) fn share_at(shares: &[f64], node: usize) -> f64 {
    shares.get(node).copied().unwrap_or(1.0)
}

impl Assembly<'_> {
    /// Writes D and O at the state `nodes`, O in f32 where the policy is `dsh`.
    pub fn assemble(&self, nodes: &[NodeRecord], jac: &mut Jacobian) {
        jac.begin_assembly();
        match &mut jac.off {
            OffDiagonal::F64(off) => self.assemble_into(nodes, off, &mut jac.diag),
            OffDiagonal::F32(off) => self.assemble_into(nodes, off, &mut jac.diag),
            OffDiagonal::F16 { .. } => unreachable!("an assembly begins with blocks in f32"),
        }
        self.add_boundaries(nodes, &mut jac.diag);
        match &mut jac.off {
            OffDiagonal::F64(off) => self.hold_nodes(nodes, off, &mut jac.diag),
            OffDiagonal::F32(off) => self.hold_nodes(nodes, off, &mut jac.diag),
            OffDiagonal::F16 { .. } => {}
        }
    }

    fn assemble_into<T: Stored>(&self, nodes: &[NodeRecord], off: &mut [T], diag: &mut [f64]) {
        let row_ptr = self.dual.pattern.row_ptr();
        parallel::positions(self.team, row_ptr, (NN, off), (NN, diag), |rows, off, diag| {
            let kernel = RowBlocks {
                rows,
                dual: self.dual,
                nodes,
                scheme: self.scheme,
                fix: self.fix,
                gas: self.gas,
                transport: self.transport,
                eddies: self.eddies,
                cfl: self.cfl,
                shares: self.shares,
                shift: self.shift,
                off,
                diag,
            };
            dispatch(Isa::detect(), kernel);
        });
    }

    /// Rows of nodes on walls with a law: what it takes of the node off the wall. Rows of nodes on walls without slip: the velocity (and, at a given temperature, the internal energy) stays; rows of
    /// nodes of given state: all of it does.
    fn hold_nodes<T: Stored>(&self, nodes: &[NodeRecord], off: &mut [T], diag: &mut [f64]) {
        let (off, diag) = (off.as_chunks_mut::<NN>().0, diag.as_chunks_mut::<NN>().0);
        for &WallNode { node, heat, wall } in self.fixed {
            for block in &mut off[self.dual.pattern.range(node as usize)] {
                *block = strong_wall_off_diagonal(heat, wall, &block.map(T::wide)).map(T::narrow);
            }
            let block = &mut diag[node as usize];
            *block = strong_wall_diagonal(self.gas, heat, wall, block);
        }
        if let Some(transport) = self.transport {
            for law in self.laws {
                let range = self.dual.pattern.range(law.node as usize);
                let columns = &self.dual.pattern.col_idx()[range.clone()];
                let Some(at) = columns.iter().position(|&j| j == law.other) else { continue };
                let w = primitive_of(&nodes[law.other as usize]);
                let block = &mut off[range.start + at];
                for (entry, add) in block.iter_mut().zip(law_block(self.gas, transport, law, &w)) {
                    *entry = T::narrow(entry.wide() + add);
                }
            }
        }
        for MirrorNode { node, mirror, .. } in self.mirrors {
            let i = *node as usize;
            for block in &mut off[self.dual.pattern.range(i)] {
                *block = mirror_block(mirror, 0.0, &block.map(T::wide)).map(T::narrow);
            }
            diag[i] = mirror_block(mirror, 1.0, &diag[i]);
        }
        for &i in self.held {
            off[self.dual.pattern.range(i as usize)].fill([T::default(); NN]);
        }
    }

    fn add_boundaries(&self, nodes: &[NodeRecord], diag: &mut [f64]) {
        parallel::rows(self.team, self.dual.nodes(), NN, diag, |rows, diag| {
            let blocks = diag.as_chunks_mut::<NN>().0;
            for (patch, condition) in self.dual.patches.iter().zip(self.boundaries) {
                let (of_rows, areas) = patch.within(&rows);
                for (&i, n) in of_rows.iter().zip(areas) {
                    let w = primitive_of(&nodes[i as usize]);
                    let add = condition_flux_jacobian(condition, self.gas, &w, n);
                    for (d, a) in blocks[i as usize - rows.start].iter_mut().zip(add) {
                        *d += a;
                    }
                }
            }
        });
    }
}

/// Derivative of what a law of the wall takes from its node by the conserved state of the node off the wall, whose primitive one is `w`: column-major.
fn law_block(gas: Gas<f64>, transport: Transport<f64>, law: &LawNode<f64>, w: &State) -> StateBlock {
    type By = Slopes<f64, N>;
    let state: State<By> = std::array::from_fn(|c| By::variable(w[c], c));
    let place = law.place.lift();
    let flux = law_flux(place, &law_load(gas.lift(), transport.lift(), place, &state));
    let block = std::array::from_fn(|e| flux[e % N].d[e / N]);
    by_conserved(gas, w, &block)
}
