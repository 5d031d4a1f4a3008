//! The matrix of an implicit step: diagonal blocks and off-diagonal blocks, each with its own precision.

use super::{BlockCsr, BlockPattern, ShapeError, check_len, check_nb};
use crate::Policy;
use chromaflow_device::Buffer;
use half::f16;
use std::sync::Arc;

/// Off-diagonal blocks in the precision of a [`Policy`], `[nnzb, nb (column), nb (row)]`.
#[derive(Clone, Debug)]
pub enum OffDiagonal {
    /// Policy `d`.
    F64(Buffer<f64>),
    /// Policy `ds`, and `dsh` until it is converted.
    F32(Buffer<f32>),
    /// Policy `dsh`: the stored value times `unscale` is the block's value.
    F16 {
        /// Scaled values.
        values: Buffer<f16>,
        /// 1 / beta, one for all rows (length 1) or one a row (length `rows`).
        unscale: Vec<f32>,
    },
}

impl OffDiagonal {
    /// The policy these blocks serve.
    pub fn policy(&self) -> Policy {
        match self {
            OffDiagonal::F64(_) => Policy::D,
            OffDiagonal::F32(_) => Policy::Ds,
            OffDiagonal::F16 { .. } => Policy::Dsh,
        }
    }

    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            OffDiagonal::F64(v) => v.len(),
            OffDiagonal::F32(v) => v.len(),
            OffDiagonal::F16 { values, .. } => values.len(),
        }
    }

    /// Whether there is no off-diagonal block at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A square block-sparse matrix A = D + O: D in f64, O in the precision of a policy.
///
/// The pattern holds the off-diagonal blocks only. Rows stand in the order in which they are swept, so that the rows
/// of a batch are contiguous ([`RowBatches`](crate::RowBatches)).
///
/// **Shapes**: `diag [rows, nb (column), nb (row)]`, `off [nnzb, nb (column), nb (row)]`, blocks column-major.
/// **Source**: the storage of FUN3D, Walden et al. (2019), Eq. 7.
#[derive(Clone, Debug)]
pub struct Jacobian {
    pattern: Arc<BlockPattern>,
    nb: usize,
    /// Diagonal blocks, `[rows, nb (column), nb (row)]`.
    pub diag: Buffer<f64>,
    /// Off-diagonal blocks, `[nnzb, nb (column), nb (row)]`.
    pub off: OffDiagonal,
}

impl Jacobian {
    /// A matrix of zeros on `pattern` (off-diagonal blocks only), ready to be assembled. For `dsh` the off-diagonal
    /// blocks start in f32 and are converted in place after assembly.
    ///
    /// # Errors
    /// [`ShapeError`] when `nb` lies outside 1..=128 or the pattern is not square.
    pub fn zeroed(
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        policy: Policy,
    ) -> Result<Self, ShapeError> {
        let pattern = pattern.into();
        check_nb(nb)?;
        if pattern.rows() != pattern.cols() {
            return Err(ShapeError::NotSquare { rows: pattern.rows(), cols: pattern.cols() });
        }
        let (q, nnzb) = (nb * nb, pattern.nnzb());
        let off = match policy {
            Policy::D => OffDiagonal::F64(Buffer::zeroed(nnzb * q)),
            Policy::Ds | Policy::Dsh => OffDiagonal::F32(Buffer::zeroed(nnzb * q)),
        };
        Ok(Self { diag: Buffer::zeroed(pattern.rows() * q), off, nb, pattern })
    }

    /// A matrix from its parts.
    ///
    /// # Errors
    /// [`ShapeError`] when the block size or a length is wrong or the pattern is not square.
    pub fn new(
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        diag: Buffer<f64>,
        off: OffDiagonal,
    ) -> Result<Self, ShapeError> {
        let pattern = pattern.into();
        check_nb(nb)?;
        let (rows, cols, nnzb, q) = (pattern.rows(), pattern.cols(), pattern.nnzb(), nb * nb);
        if rows != cols {
            return Err(ShapeError::NotSquare { rows, cols });
        }
        check_len("diag", diag.len(), rows * q, || format!("{rows} blocks of {nb} x {nb}"))?;
        check_len("off", off.len(), nnzb * q, || format!("{nnzb} blocks of {nb} x {nb}"))?;
        if let OffDiagonal::F16 { unscale, .. } = &off
            && unscale.len() != 1
        {
            check_len("unscale", unscale.len(), rows, || "one for all rows, or one a row".to_owned())?;
        }
        Ok(Self { pattern, nb, diag, off })
    }

    /// Splits a matrix into D and O, O in f64 (`d`) or f32 (`ds`, `dsh`).
    ///
    /// # Errors
    /// [`ShapeError`] when the matrix is not square or a row has no diagonal block.
    pub fn from_csr(a: &BlockCsr, policy: Policy) -> Result<Self, ShapeError> {
        let (p, nb) = (a.pattern(), a.nb());
        let rows = p.rows();
        if rows != p.cols() {
            return Err(ShapeError::NotSquare { rows, cols: p.cols() });
        }
        let mut row_ptr = Vec::with_capacity(rows + 1);
        let mut col_idx = Vec::with_capacity(p.nnzb().saturating_sub(rows));
        row_ptr.push(0);
        for row in 0..rows {
            p.find(row, row).ok_or(ShapeError::MissingDiagonal { row })?;
            col_idx.extend(p.columns(row).iter().filter(|&&c| c as usize != row));
            row_ptr.push(col_idx.len() as u32);
        }
        let pattern = BlockPattern::new(rows, row_ptr, col_idx).expect("a part of a pattern is a pattern");
        let mut jac = Self::zeroed(pattern, nb, policy)?;
        jac.copy_from(a)?;
        Ok(jac)
    }

    /// Takes the values of a matrix with diagonal blocks on the same pattern, off-diagonal blocks into the precision
    /// they have here.
    ///
    /// # Errors
    /// [`ShapeError`] when the block size, the rows or the number of blocks differ.
    ///
    /// # Panics
    /// When the off-diagonal blocks are in f16: `restore_f32` first.
    pub fn copy_from(&mut self, a: &BlockCsr) -> Result<(), ShapeError> {
        let (p, q) = (a.pattern(), self.nb * self.nb);
        check_len("values", a.values().len(), (self.pattern.nnzb() + self.rows()) * q, || {
            "the blocks of this matrix".to_owned()
        })?;
        let mut at = 0;
        for row in 0..p.rows() {
            for k in p.range(row) {
                let block = a.block(k);
                if p.col_idx()[k] as usize == row {
                    self.diag[row * q..(row + 1) * q].copy_from_slice(block);
                    continue;
                }
                match &mut self.off {
                    OffDiagonal::F64(v) => v[at..at + q].copy_from_slice(block),
                    OffDiagonal::F32(v) => {
                        for (to, &from) in v[at..at + q].iter_mut().zip(block) {
                            *to = from as f32;
                        }
                    }
                    OffDiagonal::F16 { .. } => panic!("restore_f32 comes before new values"),
                }
                at += q;
            }
        }
        Ok(())
    }

    /// All off-diagonal values in f64, without scaling, `[nnzb, nb, nb]`.
    #[must_use]
    pub fn off_f64(&self) -> Vec<f64> {
        match &self.off {
            OffDiagonal::F64(v) => v.to_vec(),
            OffDiagonal::F32(v) => v.iter().map(|&x| f64::from(x)).collect(),
            OffDiagonal::F16 { values, unscale } => {
                let q = self.nb * self.nb;
                let scale =
                    |row: usize| f64::from(if unscale.len() == 1 { unscale[0] } else { unscale[row] });
                let row_of = (0..self.rows()).flat_map(|row| self.pattern.range(row).map(move |_| row));
                row_of
                    .zip(values.chunks_exact(q))
                    .flat_map(|(row, block)| block.iter().map(move |v| v.to_f64() * scale(row)))
                    .collect()
            }
        }
    }

    /// The whole matrix in f64, diagonal blocks in their places; the inverse of [`from_csr`](Self::from_csr) where the
    /// off-diagonal blocks are in f64.
    pub fn to_csr(&self) -> BlockCsr {
        let (p, q, rows) = (&self.pattern, self.nb * self.nb, self.rows());
        let mut row_ptr = Vec::with_capacity(rows + 1);
        let mut col_idx = Vec::with_capacity(p.nnzb() + rows);
        let mut values = Vec::with_capacity((p.nnzb() + rows) * q);
        row_ptr.push(0);
        for row in 0..rows {
            let before = p.columns(row).partition_point(|&c| (c as usize) < row);
            let (range, mid) = (p.range(row), p.range(row).start + before);
            for k in range.start..mid {
                self.push_off(row, k, &mut values);
            }
            values.extend_from_slice(&self.diag[row * q..(row + 1) * q]);
            for k in mid..range.end {
                self.push_off(row, k, &mut values);
            }
            col_idx.extend_from_slice(&p.columns(row)[..before]);
            col_idx.push(row as u32);
            col_idx.extend_from_slice(&p.columns(row)[before..]);
            row_ptr.push(col_idx.len() as u32);
        }
        let pattern =
            BlockPattern::new(rows, row_ptr, col_idx).expect("columns ascend, the diagonal among them");
        BlockCsr::new(pattern, self.nb, values).expect("one block an entry")
    }

    fn push_off(&self, row: usize, k: usize, out: &mut Vec<f64>) {
        let at = k * self.nb * self.nb..(k + 1) * self.nb * self.nb;
        match &self.off {
            OffDiagonal::F64(v) => out.extend_from_slice(&v[at]),
            OffDiagonal::F32(v) => out.extend(v[at].iter().map(|&x| f64::from(x))),
            OffDiagonal::F16 { values, unscale } => {
                let unscale = f64::from(unscale[if unscale.len() == 1 { 0 } else { row }]);
                out.extend(values[at].iter().map(|&x| f64::from(x) * unscale));
            }
        }
    }

    /// Where the off-diagonal blocks are.
    pub fn pattern(&self) -> &Arc<BlockPattern> {
        &self.pattern
    }

    /// The block size.
    pub fn nb(&self) -> usize {
        self.nb
    }

    /// Number of block rows.
    pub fn rows(&self) -> usize {
        self.pattern.rows()
    }

    /// Bytes of blocks and indices as stored.
    pub fn bytes(&self) -> usize {
        let off = match &self.off {
            OffDiagonal::F64(v) => v.bytes(),
            OffDiagonal::F32(v) => v.bytes(),
            OffDiagonal::F16 { values, unscale } => values.bytes() + 4 * unscale.len(),
        };
        self.diag.bytes() + off + self.pattern.bytes()
    }
}
