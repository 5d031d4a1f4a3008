//! The matrix of an implicit step: diagonal blocks and off-diagonal blocks, each with its own precision.

use super::{BlockCsr, BlockPattern, ShapeError, SplitPattern, check_len, check_nb};
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

    /// Block k of `q` values, which lies in `row`, without scaling.
    pub(crate) fn block(&self, q: usize, row: usize, k: usize, out: &mut [f64]) {
        let at = k * q..(k + 1) * q;
        match self {
            OffDiagonal::F64(v) => out.copy_from_slice(&v[at]),
            OffDiagonal::F32(v) => out.iter_mut().zip(&v[at]).for_each(|(out, &x)| *out = x.into()),
            OffDiagonal::F16 { values, unscale } => {
                let unscale = f64::from(unscale[if unscale.len() == 1 { 0 } else { row }]);
                out.iter_mut().zip(&values[at]).for_each(|(out, &x)| *out = f64::from(x) * unscale);
            }
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

/// A block-sparse matrix A = D + O: D in f64, O in the precision of a policy.
///
/// The pattern holds the off-diagonal blocks only. Rows stand in the order in which they are swept, so that the rows
/// of a batch are contiguous ([`RowBatches`](crate::RowBatches)). There may be more columns than rows: columns of a part
/// of a larger system that belong to other parts (ghosts) come after its own. Such a matrix can be assembled and
/// multiplied with; relaxations and factorizations need a square one.
///
/// **States**: an assembly ([`Jacobian::begin_assembly`], [`Jacobian::assemble`]) makes it whole, whatever it was
/// before. Off-diagonal blocks may then be narrowed to f16 in place, after which it is the matrix of the rounded blocks,
/// and the diagonal blocks be factored in place by a relaxation, after which there is no matrix any more but what the
/// relaxation needs: [`Jacobian::is_whole`] says so, relaxations and factorizations answer with a typed error, products
/// panic.
///
/// **Shapes**: `diag [rows, nb (column), nb (row)]`, `off [nnzb, nb (column), nb (row)]`, blocks column-major.
/// **Source**: the storage of FUN3D, Walden et al. (2019), Eq. 7.
#[derive(Clone, Debug)]
pub struct Jacobian {
    pattern: Arc<BlockPattern>,
    nb: usize,
    /// Whether factors have replaced the diagonal blocks.
    factored: bool,
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
    /// [`ShapeError`] when `nb` lies outside 1..=128 or there are fewer columns than rows.
    pub fn zeroed(
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        policy: Policy,
    ) -> Result<Self, ShapeError> {
        let pattern = pattern.into();
        check_nb(nb)?;
        check_columns(&pattern)?;
        let (q, nnzb) = (nb * nb, pattern.nnzb());
        let off = match policy {
            Policy::D => OffDiagonal::F64(Buffer::zeroed(nnzb * q)),
            Policy::Ds | Policy::Dsh => OffDiagonal::F32(Buffer::zeroed(nnzb * q)),
        };
        Ok(Self { diag: Buffer::zeroed(pattern.rows() * q), factored: false, off, nb, pattern })
    }

    /// A matrix from its parts.
    ///
    /// # Errors
    /// [`ShapeError`] when the block size or a length is wrong or there are fewer columns than rows.
    pub fn new(
        pattern: impl Into<Arc<BlockPattern>>,
        nb: usize,
        diag: Buffer<f64>,
        off: OffDiagonal,
    ) -> Result<Self, ShapeError> {
        let pattern = pattern.into();
        check_nb(nb)?;
        check_columns(&pattern)?;
        let (rows, nnzb, q) = (pattern.rows(), pattern.nnzb(), nb * nb);
        check_len("diag", diag.len(), rows * q, || format!("{rows} blocks of {nb} x {nb}"))?;
        check_len("off", off.len(), nnzb * q, || format!("{nnzb} blocks of {nb} x {nb}"))?;
        if let OffDiagonal::F16 { unscale, .. } = &off
            && unscale.len() != 1
        {
            check_len("unscale", unscale.len(), rows, || "one for all rows, or one a row".to_owned())?;
        }
        Ok(Self { pattern, nb, factored: false, diag, off })
    }

    /// Splits a matrix into D and O, O in f64 (`d`) or f32 (`ds`, `dsh`).
    ///
    /// # Errors
    /// [`ShapeError::MissingDiagonal`] when a row has no diagonal block.
    pub fn from_csr(a: &BlockCsr, policy: Policy) -> Result<Self, ShapeError> {
        let (nb, q) = (a.nb(), a.nb() * a.nb());
        let SplitPattern { pattern, diagonal, off } = a.pattern().split()?;
        let mut jac = Self::zeroed(pattern, nb, policy)?;
        for (to, &k) in jac.diag.chunks_exact_mut(q).zip(&diagonal) {
            to.copy_from_slice(a.block(k as usize));
        }
        let from = off.iter().flat_map(|&k| a.block(k as usize));
        match &mut jac.off {
            OffDiagonal::F64(to) => to.iter_mut().zip(from).for_each(|(to, &v)| *to = v),
            OffDiagonal::F32(to) => to.iter_mut().zip(from).for_each(|(to, &v)| *to = v as f32),
            OffDiagonal::F16 { .. } => unreachable!("a new matrix has blocks in f64 or f32"),
        }
        Ok(jac)
    }

    /// Makes the matrix ready to be written: off-diagonal blocks that were narrowed in place have the memory of f32 again,
    /// and factors no longer count as diagonal blocks. **All values are meaningless until they are written.**
    pub fn begin_assembly(&mut self) {
        self.restore_f32();
        self.factored = false;
    }

    /// Whether the blocks are those of a matrix: not after a relaxation has factored the diagonal blocks in place.
    pub fn is_whole(&self) -> bool {
        !self.factored
    }

    /// The diagonal blocks, to be replaced by their factors, and the others.
    pub(crate) fn replace_diagonal(&mut self) -> (&mut Buffer<f64>, &OffDiagonal) {
        self.factored = true;
        (&mut self.diag, &self.off)
    }

    /// For what needs the blocks of the matrix and has no error to give back.
    pub(crate) fn assert_whole(&self) {
        assert!(
            self.is_whole(),
            "factors have replaced the diagonal blocks: assemble the matrix again, or factor it apart"
        );
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
    ///
    /// # Panics
    /// When factors have replaced the diagonal blocks.
    pub fn to_csr(&self) -> BlockCsr {
        self.assert_whole();
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
            BlockPattern::new(p.cols(), row_ptr, col_idx).expect("columns ascend, the diagonal among them");
        BlockCsr::new(pattern, self.nb, values).expect("one block an entry")
    }

    fn push_off(&self, row: usize, k: usize, out: &mut Vec<f64>) {
        let (at, q) = (out.len(), self.nb * self.nb);
        out.resize(at + q, 0.0);
        self.off.block(q, row, k, &mut out[at..]);
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

/// The columns of the rows themselves come first, whatever comes after.
fn check_columns(pattern: &BlockPattern) -> Result<(), ShapeError> {
    let (rows, cols) = (pattern.rows(), pattern.cols());
    if cols < rows { Err(ShapeError::MissingDiagonal { row: cols }) } else { Ok(()) }
}
