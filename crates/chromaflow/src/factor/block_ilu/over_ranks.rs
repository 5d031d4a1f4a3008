//! Block ILU of each rank's own rows: additive Schwarz between ranks, restricted to what a rank owns.

use super::{BlockIlu, BlockIluOptions, BlockIluReport, SingularRow};
use crate::dist::{Links, Share};
use crate::sparse::{BlockPattern, Jacobian, OffDiagonal, ShapeError};
use chromaflow_device::{Buffer, Team};
use std::sync::Arc;

/// The rows of a rank that are factored, as a system of their own.
pub(super) struct FactoredRows {
    /// Local numbers, ascending.
    pub rows: Vec<u32>,
    /// Positions of their blocks in the local pattern.
    pub positions: Vec<u32>,
    /// Their blocks among themselves.
    pub pattern: Arc<BlockPattern>,
}

impl FactoredRows {
    pub(super) fn new(share: &Share, pattern: &BlockPattern) -> Self {
        let rows = share.factored(pattern);
        let mut compact = vec![u32::MAX; share.rows()];
        for (at, &row) in rows.iter().enumerate() {
            compact[row as usize] = at as u32;
        }
        let (mut ptr, mut columns, mut positions) = (vec![0], Vec::new(), Vec::new());
        for &row in &rows {
            for k in pattern.range(row as usize) {
                let column = compact[pattern.col_idx()[k] as usize];
                if column != u32::MAX {
                    columns.push(column);
                    positions.push(k as u32);
                }
            }
            ptr.push(columns.len() as u32);
        }
        let own = BlockPattern::new(rows.len(), ptr, columns).expect("a part of a pattern in its order");
        Self { rows, positions, pattern: Arc::new(own) }
    }
}

/// z = M r with each rank's factors of the rows it owns and, where the share overlaps, of the ghosts next to them. What a rank finds
/// for its own rows is kept, what it finds for ghosts is not.
///
/// Factors of a part know nothing of other parts, so that M depends on the number of ranks: a Krylov method or corrections around it
/// make up for that.
///
/// **Source**: Cai and Sarkis (1999), SIAM J. Sci. Comput. 21, a restricted additive Schwarz preconditioner; without overlap it is
/// block ILU in each block with corrections between blocks as in Luo, Edwards, Luo and Mueller (2015).
pub struct IluOverRanks {
    share: Arc<Share>,
    ilu: BlockIlu,
    /// Local numbers of the factored rows, ascending.
    rows: Vec<u32>,
    /// Positions of their blocks in the local pattern.
    positions: Vec<u32>,
    pattern: Arc<BlockPattern>,
    nb: usize,
    /// Of the factored rows; and of all local ones.
    work: [Vec<f64>; 2],
    all: Vec<f64>,
}

impl IluOverRanks {
    /// The symbolic phase, for matrices on `pattern`, whose rows are those of `share`.
    ///
    /// # Errors
    /// As [`BlockIlu::new`].
    pub fn new(
        share: &Arc<Share>,
        pattern: &BlockPattern,
        nb: usize,
        options: BlockIluOptions,
        team: &Team,
    ) -> Result<Self, ShapeError> {
        let FactoredRows { rows, positions, pattern: own } = FactoredRows::new(share, pattern);
        let ilu = BlockIlu::new(&own, nb, options, team)?;
        let n = rows.len() * nb;
        let (work, all) = ([vec![0.0; n], vec![0.0; n]], vec![0.0; share.rows() * nb]);
        Ok(Self { share: Arc::clone(share), ilu, rows, positions, pattern: own, nb, work, all })
    }

    /// The numeric phase.
    ///
    /// # Errors
    /// [`SingularRow`] with the local number of the row.
    pub fn factor(&mut self, a: &Jacobian, team: &Team) -> Result<BlockIluReport, SingularRow> {
        let local = |row: usize| self.rows[row] as usize;
        let found = self.ilu.factor(&self.part_of(a), team);
        let mut report = found.map_err(|singular| SingularRow { row: local(singular.row) })?;
        report.pivoted.iter_mut().for_each(|row| *row = self.rows[*row as usize]);
        Ok(report)
    }

    /// The blocks of the factored rows.
    fn part_of(&self, a: &Jacobian) -> Jacobian {
        let q = self.nb * self.nb;
        let mut diag = Buffer::zeroed(self.rows.len() * q);
        for (to, &row) in diag.chunks_exact_mut(q).zip(&self.rows) {
            to.copy_from_slice(&a.diag[row as usize * q..][..q]);
        }
        fn blocks<T: Copy + bytemuck::Zeroable>(from: &[T], positions: &[u32], q: usize) -> Buffer<T> {
            let mut to = Buffer::zeroed(positions.len() * q);
            for (to, &k) in to.chunks_exact_mut(q).zip(positions) {
                to.copy_from_slice(&from[k as usize * q..][..q]);
            }
            to
        }
        let off = match &a.off {
            OffDiagonal::F64(v) => OffDiagonal::F64(blocks(v, &self.positions, q)),
            OffDiagonal::F32(v) => OffDiagonal::F32(blocks(v, &self.positions, q)),
            OffDiagonal::F16 { values, unscale } => OffDiagonal::F16 {
                values: blocks(values, &self.positions, q),
                unscale: match unscale.as_slice() {
                    [one] => vec![*one],
                    all => self.rows.iter().map(|&row| all[row as usize]).collect(),
                },
            },
        };
        Jacobian::new(Arc::clone(&self.pattern), self.nb, diag, off).expect("a part of a matrix")
    }

    /// z = M r. Ghosts of r do not count; those of z are their owners'.
    pub fn solve(&mut self, team: &Team, r: &[f64], z: &mut [f64]) {
        let nb = self.nb;
        let r = if self.share.overlaps() {
            self.all.copy_from_slice(r);
            self.share.exchange(nb, &mut self.all);
            &self.all
        } else {
            r
        };
        let [b, x] = &mut self.work;
        for (to, &row) in b.chunks_exact_mut(nb).zip(&self.rows) {
            to.copy_from_slice(&r[row as usize * nb..][..nb]);
        }
        self.ilu.solve(team, b, x);
        for (from, &row) in x.chunks_exact(nb).zip(&self.rows) {
            z[row as usize * nb..][..nb].copy_from_slice(from);
        }
        self.share.exchange(nb, z);
    }

    /// Bytes of the factors and their indices.
    pub fn bytes(&self) -> usize {
        self.ilu.bytes()
    }
}
