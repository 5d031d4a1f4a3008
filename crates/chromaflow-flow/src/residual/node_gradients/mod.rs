//! Gradients at nodes from those of the elements around them.
//!
//! Least squares without weights lose the derivative across thin layers of cells on curved walls; Green-Gauss over elements
//! keeps it (Mavriplis, AIAA 2003-3986). A node has the mean of its elements' gradients, by their volumes: exact where the
//! function is linear, on any mesh.

#[cfg(feature = "cuda")]
mod arguments;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use super::ViscousElements;
use super::viscous::{CELLS_AHEAD, Cell, Group, Shape, in_plane, prefetch_nodes};
use crate::dual::drawn_together;
use crate::gradient::NodeRecord;
use crate::mesh::Planar;
use crate::mesh::periodic::Periods;
use crate::parallel;
use crate::real::{AHEAD, LANES, LaneKernel, Lanes, dispatch, prefetch};
use chromaflow_device::{Isa, Team};
use std::ops::Range;

/// Which elements are around each node, and room for their gradients: of the velocity and of M quantities phi besides, W = 3 (3 + M) + 1.
#[derive(Clone, Debug)]
pub struct NodeGradients<const M: usize = 1, const W: usize = 13> {
    row_ptr: Vec<u32>,
    /// Elements of each node, numbered through in the order of their groups.
    around: Vec<u32>,
    /// d(u, v, w, phi)_i / dx_k, row by row, and the volume it counts with.
    cells: Vec<[f64; W]>,
}

impl<const M: usize, const W: usize> Default for NodeGradients<M, W> {
    fn default() -> Self {
        Self { row_ptr: Vec::new(), around: Vec::new(), cells: Vec::new() }
    }
}

impl<const M: usize, const W: usize> NodeGradients<M, W> {
    /// Derivatives at a node.
    const COUNT: usize = W - 1;

    /// Of a mesh with `nodes` rows.
    pub fn new(elements: &ViscousElements, nodes: usize) -> Self {
        const { assert!(W == 3 * (3 + M) + 1) };
        let mut row_ptr = vec![0_u32; nodes + 1];
        elements.each(|_, list| list.iter().for_each(|&i| row_ptr[i as usize + 1] += 1));
        for i in 0..nodes {
            row_ptr[i + 1] += row_ptr[i];
        }
        let (mut next, mut cells) = (row_ptr.clone(), 0);
        let mut around = vec![0; row_ptr[nodes] as usize];
        elements.each(|cell, list| {
            cells = cell + 1;
            for &i in list {
                around[next[i as usize] as usize] = cell;
                next[i as usize] += 1;
            }
        });
        Self { row_ptr, around, cells: vec![[0.0; W]; cells as usize] }
    }

    /// Gradients of velocity and of `phi`, `[rows, M]`, at every node: `out`, `[rows, 3 + M, 3]`, has those of (u, v, w, phi)_v.
    pub fn compute(
        &mut self,
        team: &Team,
        elements: &ViscousElements,
        nodes: &[NodeRecord],
        phi: &[f64],
        out: &mut [f64],
    ) {
        let field =
            Field { nodes, phi: phi.as_chunks::<M>().0, planar: elements.planar, periods: elements.periods };
        let (tets, rest) = self.cells.split_at_mut(elements.tets.nodes.len());
        let (pyramids, rest) = rest.split_at_mut(elements.pyramids.nodes.len());
        let (prisms, hexes) = rest.split_at_mut(elements.prisms.nodes.len());
        of_cells(team, &elements.tets, field, tets);
        of_cells(team, &elements.pyramids, field, pyramids);
        of_cells(team, &elements.prisms, field, prisms);
        of_cells(team, &elements.hexes, field, hexes);
        let Self { row_ptr, around, cells } = self;
        parallel::rows(team, nodes.len(), Self::COUNT, out, |rows, out| {
            for (i, gradient) in rows.zip(out.chunks_exact_mut(Self::COUNT)) {
                let mut sum = [0.0; W];
                for at in row_ptr[i] as usize..row_ptr[i + 1] as usize {
                    if let Some(&later) = around.get(at + AHEAD) {
                        prefetch(cells, later);
                        prefetch(cells.as_flattened(), (W as u32).wrapping_mul(later).wrapping_add(8));
                    }
                    let part = &cells[around[at] as usize];
                    for k in 0..Self::COUNT {
                        sum[k] += part[Self::COUNT] * part[k];
                    }
                    sum[Self::COUNT] += part[Self::COUNT];
                }
                for (value, part) in gradient.iter_mut().zip(sum) {
                    *value = part / sum[Self::COUNT];
                }
            }
        });
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.row_ptr) + size_of_val(&*self.around) + size_of_val(&*self.cells)
    }
}

impl ViscousElements {
    /// Calls `f` with the number of each element and its rows; of a planar mesh those of one plane.
    fn each(&self, mut f: impl FnMut(u32, &[u32])) {
        let plane = self.planar.map_or(u32::MAX, |p| p.nodes_2d as u32);
        let mut cell = 0;
        let mut of = |nodes: &[u32]| {
            let mut list = [0; 8];
            let mut count = 0;
            for &i in nodes.iter().filter(|&&i| i < plane) {
                (list[count], count) = (i, count + 1);
            }
            f(cell, &list[..count]);
            cell += 1;
        };
        self.tets.nodes.iter().for_each(|nodes| of(nodes));
        self.pyramids.nodes.iter().for_each(|nodes| of(nodes));
        self.prisms.nodes.iter().for_each(|nodes| of(nodes));
        self.hexes.nodes.iter().for_each(|nodes| of(nodes));
    }
}

fn of_cells<const N: usize, const E: usize, const M: usize, const W: usize>(
    team: &Team,
    group: &Group<N, E>,
    field: Field<'_, M>,
    out: &mut [[f64; W]],
) where
    Cell<N>: Shape<N>,
{
    parallel::rows(team, group.nodes.len(), 1, out, |range, out| {
        dispatch(Isa::detect(), CellGradients { group, field, range, out });
    });
}

#[derive(Clone, Copy)]
struct Field<'a, const M: usize> {
    nodes: &'a [NodeRecord],
    phi: &'a [[f64; M]],
    planar: Option<Planar>,
    periods: Periods,
}

/// Gradients in a range of elements of one type.
struct CellGradients<'a, const N: usize, const E: usize, const M: usize, const W: usize> {
    group: &'a Group<N, E>,
    field: Field<'a, M>,
    range: Range<usize>,
    out: &'a mut [[f64; W]],
}

impl<const N: usize, const E: usize, const M: usize, const W: usize> LaneKernel
    for CellGradients<'_, N, E, M, W>
where
    Cell<N>: Shape<N>,
{
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let plane = self.field.planar.map_or(u32::MAX, |p| p.nodes_2d as u32);
        let depth = self.field.planar.map_or(0.0, |p| p.depth);
        let zero = V::c(0.0);
        let mut at = self.range.start;
        while at < self.range.end {
            let count = LANES.min(self.range.end - at);
            prefetch_nodes(&self.group.nodes, self.field.nodes, at + CELLS_AHEAD, plane);
            let (mut x, mut f, mut more) = ([[zero; 3]; N], [[zero; 3]; N], [[zero; M]; N]);
            for p in 0..N {
                let (mut index, mut lift) = ([0; LANES], [0.0; LANES]);
                for l in 0..LANES {
                    let node = self.group.nodes[at + l.min(count - 1)][p];
                    index[l] = in_plane(node, plane);
                    lift[l] = if node >= plane { depth } else { 0.0 };
                }
                let record = V::gather(self.field.nodes, &index);
                more[p] = V::gather(self.field.phi, &index);
                x[p] = [record[5], record[6], record[7] + V::from_array(&lift)];
                f[p] = [record[1], record[2], record[3]];
            }
            drawn_together(&self.field.periods, &mut x);
            let cell = <Cell<N> as Shape<N>>::weights(&x);
            let mut all = [zero; W];
            all[W - 1] = cell.volume;
            for p in 0..N {
                for d in 0..3 {
                    for v in 0..3 {
                        all[3 * v + d] += cell.weight[p][d] * f[p][v];
                    }
                    for v in 0..M {
                        all[9 + 3 * v + d] += cell.weight[p][d] * more[p][v];
                    }
                }
            }
            let from = at - self.range.start;
            V::scatter(&all, &mut self.out[from..from + count]);
            at += LANES;
        }
    }
}
