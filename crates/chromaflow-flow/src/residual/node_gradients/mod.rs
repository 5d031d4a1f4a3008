//! Gradients at nodes from those of the elements around them.
//!
//! Least squares without weights lose the derivative across thin layers of cells on curved walls; Green-Gauss over elements
//! keeps it (Mavriplis, AIAA 2003-3986). A node has the mean of its elements' gradients, by their volumes: exact where the
//! function is linear, on any mesh.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use super::ViscousElements;
use super::viscous::{Cell, Group, Shape};
use crate::gradient::NodeRecord;
use crate::mesh::Planar;
use crate::parallel;
use crate::real::{LANES, LaneKernel, Lanes, dispatch};
use chromaflow_device::{Isa, Team};
use std::ops::Range;

/// d(u, v, w, phi)_i / dx_k, row by row, and the volume it counts with.
type Cells = Vec<[f64; 13]>;

/// Which elements are around each node, and room for their gradients.
#[derive(Clone, Debug, Default)]
pub struct NodeGradients {
    row_ptr: Vec<u32>,
    /// Elements of each node, numbered through in the order of their groups.
    around: Vec<u32>,
    cells: Cells,
}

impl NodeGradients {
    /// Of a mesh with `nodes` rows.
    pub fn new(elements: &ViscousElements, nodes: usize) -> Self {
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
        Self { row_ptr, around, cells: vec![[0.0; 13]; cells as usize] }
    }

    /// Gradients of velocity and of `phi`, `[rows]`, at every node: `out[i][v]` is that of (u, v, w, phi)_v.
    pub fn compute(
        &mut self,
        team: &Team,
        elements: &ViscousElements,
        nodes: &[NodeRecord],
        phi: &[f64],
        out: &mut [[[f64; 3]; 4]],
    ) {
        let field = Field { nodes, phi: phi.as_chunks::<1>().0, planar: elements.planar };
        let (tets, rest) = self.cells.split_at_mut(elements.tets.nodes.len());
        let (pyramids, rest) = rest.split_at_mut(elements.pyramids.nodes.len());
        let (prisms, hexes) = rest.split_at_mut(elements.prisms.nodes.len());
        of_cells(team, &elements.tets, field, tets);
        of_cells(team, &elements.pyramids, field, pyramids);
        of_cells(team, &elements.prisms, field, prisms);
        of_cells(team, &elements.hexes, field, hexes);
        let Self { row_ptr, around, cells } = self;
        parallel::rows(team, nodes.len(), 1, out, |rows, out| {
            for (i, gradient) in rows.zip(out) {
                let mut sum = [0.0; 13];
                for &cell in &around[row_ptr[i] as usize..row_ptr[i + 1] as usize] {
                    let part = &cells[cell as usize];
                    for k in 0..12 {
                        sum[k] += part[12] * part[k];
                    }
                    sum[12] += part[12];
                }
                *gradient = std::array::from_fn(|v| std::array::from_fn(|k| sum[3 * v + k] / sum[12]));
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

fn of_cells<const N: usize, const E: usize>(
    team: &Team,
    group: &Group<N, E>,
    field: Field<'_>,
    out: &mut [[f64; 13]],
) where
    Cell<N>: Shape<N>,
{
    parallel::rows(team, group.nodes.len(), 1, out, |range, out| {
        dispatch(Isa::detect(), CellGradients { group, field, range, out });
    });
}

#[derive(Clone, Copy)]
struct Field<'a> {
    nodes: &'a [NodeRecord],
    phi: &'a [[f64; 1]],
    planar: Option<Planar>,
}

/// Gradients in a range of elements of one type.
struct CellGradients<'a, const N: usize, const E: usize> {
    group: &'a Group<N, E>,
    field: Field<'a>,
    range: Range<usize>,
    out: &'a mut [[f64; 13]],
}

impl<const N: usize, const E: usize> LaneKernel for CellGradients<'_, N, E>
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
            let (mut x, mut f) = ([[zero; 3]; N], [[zero; 4]; N]);
            for p in 0..N {
                let (mut index, mut lift) = ([0; LANES], [0.0; LANES]);
                for l in 0..LANES {
                    let node = self.group.nodes[at + l.min(count - 1)][p];
                    index[l] = node % plane;
                    lift[l] = if node >= plane { depth } else { 0.0 };
                }
                let record = V::gather(self.field.nodes, &index);
                let [phi] = V::gather(self.field.phi, &index);
                x[p] = [record[5], record[6], record[7] + V::from_array(&lift)];
                f[p] = [record[1], record[2], record[3], phi];
            }
            let cell = <Cell<N> as Shape<N>>::weights(&x);
            let mut all = [zero; 13];
            all[12] = cell.volume;
            for p in 0..N {
                for v in 0..4 {
                    for d in 0..3 {
                        all[3 * v + d] += cell.weight[p][d] * f[p][v];
                    }
                }
            }
            let from = at - self.range.start;
            V::scatter(&all, &mut self.out[from..from + count]);
            at += LANES;
        }
    }
}
