//! The linear system: a 7-point stencil for each block, and what couples blocks.

use super::space::Space;
use crate::march::turn_columns;
use crate::mesh::periodic::Matrix;
use chromaflow::factor::structured_ilu::StencilMatrix;
use chromaflow::sparse::ShapeError;
use chromaflow::{BlockCsr, BlockPattern};
use chromaflow_device::Team;

/// A cell's neighbor across an interface. Its block of the matrix lies where a neighbor inside the grid block would have its own,
/// which the factorization does not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub row: u32,
    /// i-, i+, j-, ...
    pub face: u8,
    /// One and the number of the matrix that turns the neighbor's velocity, 0 where none does.
    pub turn: u8,
    pub other: u32,
}

/// The matrix of all blocks, rows numbered through them.
pub(super) struct System {
    n: usize,
    /// The first row of each block, and the number of all rows.
    first: Vec<usize>,
    pub blocks: Vec<StencilMatrix>,
    pub links: Vec<Link>,
    /// Faces whose neighbor is the cell itself: their blocks are added to the diagonal.
    pub folds: Vec<Link>,
    pub matrices: Vec<Matrix>,
}

impl System {
    pub fn new(space: &Space, n: usize) -> Result<Self, ShapeError> {
        let blocks = space.blocks.iter().map(|b| StencilMatrix::zeroed(b.cells.count, n));
        let first = space.blocks.iter().map(|b| b.first_row).chain([space.rows]).collect();
        let (folds, links) = space.links.iter().partition::<Vec<Link>, _>(|l| l.row == l.other);
        let matrices = space.part.exchange.matrices().to_vec();
        Ok(Self { n, first, blocks: blocks.collect::<Result<_, _>>()?, links, folds, matrices })
    }

    /// Bytes of all blocks.
    pub fn bytes(&self) -> usize {
        self.blocks.iter().map(|b| b.diag.bytes() + b.lower.bytes() + b.upper.bytes()).sum()
    }

    /// Block and cell of a row.
    pub fn place(&self, row: usize) -> (usize, usize) {
        let block = self.first.partition_point(|&f| f <= row) - 1;
        (block, row - self.first[block])
    }

    /// The coupling of a cell through a face, its block and its cell given.
    fn coupling(&self, (block, cell): (usize, usize), face: u8) -> &[f64] {
        let (q, a, d) = (self.n * self.n, &self.blocks[block], usize::from(face) / 2);
        if face.is_multiple_of(2) {
            &a.lower[(3 * cell + 2 - d) * q..][..q]
        } else {
            &a.upper[(3 * cell + d) * q..][..q]
        }
    }

    /// Turns the couplings with cells that have other axes, and adds those of cells with themselves to the diagonal.
    pub fn join(&mut self) {
        let q = self.n * self.n;
        for &Link { row, face, turn, .. } in self.links.iter().chain(&self.folds).filter(|link| link.turn > 0)
        {
            let (block, cell) = self.place(row as usize);
            let (d, at) = (usize::from(face) / 2, &mut self.blocks[block]);
            let coupling = if face.is_multiple_of(2) {
                &mut at.lower[(3 * cell + 2 - d) * q..][..q]
            } else {
                &mut at.upper[(3 * cell + d) * q..][..q]
            };
            turn_columns(coupling, self.n, &self.matrices[usize::from(turn) - 1]);
        }
        for &Link { row, face, .. } in &self.folds {
            let (block, cell) = self.place(row as usize);
            let own = self.coupling((block, cell), face).to_vec();
            for (d, o) in self.blocks[block].diag[cell * q..][..q].iter_mut().zip(own) {
                *d += o;
            }
        }
    }

    /// `r = b - A x`, interfaces included, over all ranks: collective.
    ///
    /// **Shapes**: `b` `[rows, n]`; `x` and `r` `[cells, n]` of each block.
    pub fn residual(&self, team: &Team, space: &Space, b: &[f64], x: &[Vec<f64>], r: &mut [Vec<f64>]) {
        let (n, rows) = (self.n, space.rows);
        let others = space.part.exchange.received(n, |b, at, c| {
            // Ghosts beyond edges take values of ghosts, which a system has none of.
            space.blocks[b].cells.number(at).map_or(0.0, |cell| x[b][n * cell + c])
        });
        let count = space.part.exchange.count();
        for (((a, first), x), r) in self.blocks.iter().zip(&self.first).zip(x).zip(&mut *r) {
            a.residual(team, &b[first * n..][..x.len()], x, r);
        }
        for link in &self.links {
            let to = self.place(link.row as usize);
            let other = link.other as usize;
            let (block, cell) = self.place(other.min(rows - 1));
            let x = |c: usize| {
                if other < rows { x[block][cell * n + c] } else { others[c * count + other - rows] }
            };
            let r = &mut r[to.0][to.1 * n..][..n];
            for (column, x) in self.coupling(to, link.face).chunks(n).zip((0..n).map(x)) {
                for (r, a) in r.iter_mut().zip(column) {
                    *r -= a * x;
                }
            }
        }
    }

    /// The same matrix as block CSR.
    pub fn to_csr(&self) -> BlockCsr {
        let (n, q, rows) = (self.n, self.n * self.n, self.first[self.blocks.len()]);
        let (mut row_ptr, mut col_idx, mut values) = (vec![0_u32], Vec::new(), Vec::new());
        let mut links = self.links.iter().peekable();
        for row in 0..rows {
            let (block, cell) = self.place(row);
            let (a, [ni, nj, nk]) = (&self.blocks[block], self.blocks[block].dims());
            let at = [cell % ni, cell / ni % nj, cell / (ni * nj)];
            let mut all = vec![(row, &a.diag[cell * q..][..q])];
            for (d, (count, step)) in [(ni, 1), (nj, ni), (nk, ni * nj)].into_iter().enumerate() {
                if at[d] > 0 {
                    all.push((row - step, self.coupling((block, cell), 2 * d as u8)));
                }
                if at[d] + 1 < count {
                    all.push((row + step, self.coupling((block, cell), 2 * d as u8 + 1)));
                }
            }
            while let Some(link) = links.next_if(|l| l.row as usize == row) {
                all.push((link.other as usize, self.coupling((block, cell), link.face)));
            }
            all.sort_by_key(|entry| entry.0);
            for same in all.chunk_by(|a, b| a.0 == b.0) {
                col_idx.push(same[0].0 as u32);
                values.extend((0..q).map(|k| same.iter().map(|(_, block)| block[k]).sum::<f64>()));
            }
            row_ptr.push(col_idx.len() as u32);
        }
        let pattern = BlockPattern::new(rows, row_ptr, col_idx).expect("columns ascend");
        BlockCsr::new(pattern, n, values).expect("a block of each")
    }
}
