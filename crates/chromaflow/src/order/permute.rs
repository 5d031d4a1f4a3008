//! Patterns and matrices in a new order of their rows (and columns alike).

use super::Permutation;
use crate::{BlockCsr, BlockPattern, Jacobian, OffDiagonal};
use bytemuck::Zeroable;
use chromaflow_device::Buffer;

impl BlockPattern {
    /// The pattern with rows and columns renumbered, columns ascending again, and for each block of the new pattern
    /// its position in this one.
    ///
    /// # Panics
    /// When the pattern is not square or the permutation has another length.
    pub fn permuted(&self, permutation: &Permutation) -> (BlockPattern, Vec<u32>) {
        assert_eq!((self.rows(), self.cols()), (permutation.len(), permutation.len()), "rows, columns");
        let mut row_ptr = Vec::with_capacity(self.rows() + 1);
        let mut col_idx = Vec::with_capacity(self.nnzb());
        let mut source = Vec::with_capacity(self.nnzb());
        // Column and old position of each block of a row, in one number each: they are sorted much faster.
        let mut row: Vec<u64> = Vec::new();
        row_ptr.push(0);
        for &old in permutation.old_of_new() {
            row.clear();
            let new = |k: usize| u64::from(permutation.new_of_old()[self.col_idx()[k] as usize]);
            row.extend(self.range(old as usize).map(|k| new(k) << 32 | k as u64));
            row.sort_unstable();
            col_idx.extend(row.iter().map(|block| (block >> 32) as u32));
            source.extend(row.iter().map(|&block| block as u32));
            row_ptr.push(col_idx.len() as u32);
        }
        (BlockPattern::of_ascending(self.cols(), row_ptr, col_idx), source)
    }
}

impl BlockCsr {
    /// P A P^T: the matrix with rows and columns renumbered.
    ///
    /// # Panics
    /// When the matrix is not square or the permutation has another length.
    pub fn permuted(&self, permutation: &Permutation) -> BlockCsr {
        let (pattern, source) = self.pattern().permuted(permutation);
        let mut values = Vec::with_capacity(self.values().len());
        for &k in &source {
            values.extend_from_slice(self.block(k as usize));
        }
        BlockCsr::new(pattern, self.nb(), values).expect("as many blocks as before")
    }
}

impl Jacobian {
    /// P A P^T: the matrix with rows and columns renumbered, in the precision it has.
    ///
    /// # Panics
    /// When the permutation has another length.
    pub fn permuted(&self, permutation: &Permutation) -> Jacobian {
        let q = self.nb() * self.nb();
        let (pattern, source) = self.pattern().permuted(permutation);
        let off = match &self.off {
            OffDiagonal::F64(v) => OffDiagonal::F64(gather(q, v, &source)),
            OffDiagonal::F32(v) => OffDiagonal::F32(gather(q, v, &source)),
            OffDiagonal::F16 { values, unscale } => {
                let mut moved = unscale.clone();
                if unscale.len() > 1 {
                    permutation.gather(1, unscale, &mut moved);
                }
                OffDiagonal::F16 { values: gather(q, values, &source), unscale: moved }
            }
        };
        let diag = gather(q, &self.diag, permutation.old_of_new());
        Jacobian::new(pattern, self.nb(), diag, off).expect("as many blocks as before")
    }
}

fn gather<T: Zeroable + Copy>(q: usize, blocks: &[T], source: &[u32]) -> Buffer<T> {
    let mut moved = Buffer::zeroed(blocks.len());
    for (to, &k) in moved.chunks_exact_mut(q).zip(source) {
        to.copy_from_slice(&blocks[k as usize * q..][..q]);
    }
    moved
}
