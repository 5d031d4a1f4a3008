//! Block ILU of each rank's own rows: additive Schwarz between ranks, restricted to what a rank owns.

use super::{BlockIlu, BlockIluOptions, BlockIluReport, SingularRow};
use crate::dist::{Folds, Links, Share};
use crate::sparse::{BlockPattern, Jacobian, OffDiagonal, ShapeError};
use chromaflow_device::{Buffer, Team};
use std::sync::Arc;

/// The rows of a rank that are factored, as a system of their own.
///
/// Rows that are images of factored ones are none of them: what a block in the column of an image is multiplied by is the row's vector turned, so that the block times
/// that rotation belongs in the row's own column. Factors see a sector that repeats as the whole circle does.
pub(super) struct FactoredRows {
    /// Local numbers, ascending.
    pub rows: Vec<u32>,
    /// Positions of their blocks in the local pattern.
    pub positions: Vec<u32>,
    /// Their blocks among themselves.
    pub pattern: Arc<BlockPattern>,
    /// Blocks in the columns of images.
    pub folds: Folds,
}

impl FactoredRows {
    pub(super) fn new(share: &Share, pattern: &BlockPattern) -> Self {
        let mut kept = vec![false; share.rows()];
        share.factored(pattern).iter().for_each(|&row| kept[row as usize] = true);
        let mut image_of = vec![None; share.rows()];
        for image in share.images().list.iter().filter(|image| kept[image.of as usize]) {
            image_of[image.row as usize] = Some((image.of, image.turn));
        }
        let rows: Vec<u32> = (0..share.rows())
            .filter(|&row| kept[row] && image_of[row].is_none())
            .map(|row| row as u32)
            .collect();
        let mut compact = vec![u32::MAX; share.rows()];
        for (at, &row) in rows.iter().enumerate() {
            compact[row as usize] = at as u32;
        }
        let (mut ptr, mut columns, mut positions, mut folds) =
            (vec![0], Vec::new(), Vec::new(), Folds::new());
        for (at, &row) in rows.iter().enumerate() {
            let mut blocks: Vec<(u32, Option<u32>, u32)> = Vec::new();
            for k in pattern.range(row as usize) {
                let column = pattern.col_idx()[k];
                let (of, turn) =
                    image_of[column as usize].map_or((column, None), |(of, turn)| (of, Some(turn)));
                if compact[of as usize] != u32::MAX {
                    blocks.push((compact[of as usize], turn, k as u32));
                }
            }
            // A row's own block before those of its images.
            blocks.sort_unstable();
            for blocks in blocks.chunk_by(|a, b| a.0 == b.0) {
                let (column, turn, from) = blocks[0];
                let place = if column == at as u32 {
                    [column, Folds::DIAGONAL | Folds::ADDS]
                } else {
                    columns.push(column);
                    positions.push(from);
                    [columns.len() as u32 - 1, if turn.is_none() { Folds::ADDS } else { 0 }]
                };
                for &(_, turn, from) in blocks {
                    if let Some(turn) = turn {
                        folds.push(place, [from, turn]);
                    }
                }
            }
            ptr.push(columns.len() as u32);
        }
        let own = BlockPattern::new(rows.len(), ptr, columns).expect("columns ascend");
        Self { rows, positions, pattern: Arc::new(own), folds }
    }
}

/// z = M r with each rank's factors of the rows it owns and, where the share overlaps, of the ghosts next to them. What a rank finds
/// for its own rows is kept, what it finds for ghosts is not.
///
/// Factors of a part know nothing of other parts, so that M depends on the number of ranks: a Krylov method or corrections around it
/// make up for that. Rows that are images of a part's own are [folded](FactoredRows) into it.
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
    folds: Folds,
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
        let FactoredRows { rows, positions, pattern: own, folds } = FactoredRows::new(share, pattern);
        let ilu = BlockIlu::new(&own, nb, options, team)?;
        let n = rows.len() * nb;
        let (work, all) = ([vec![0.0; n], vec![0.0; n]], vec![0.0; share.rows() * nb]);
        Ok(Self { share: Arc::clone(share), ilu, rows, positions, pattern: own, folds, nb, work, all })
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
        let mut off = match &a.off {
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
        if !self.folds.places.is_empty() {
            self.fold(a, &mut diag, &mut off);
        }
        Jacobian::new(Arc::clone(&self.pattern), self.nb, diag, off).expect("a part of a matrix")
    }

    /// Adds blocks in the columns of images to those in the columns of their rows. Sums of values in f16 are kept in f32: scaled as one value is they need not fit.
    fn fold(&self, a: &Jacobian, diag: &mut [f64], off: &mut OffDiagonal) {
        let q = self.nb * self.nb;
        if let OffDiagonal::F16 { .. } = off {
            let mut wide = Buffer::<f32>::zeroed(off.len());
            let mut block = vec![0.0; q];
            for row in 0..self.rows.len() {
                for k in self.pattern.range(row) {
                    off.block(q, row, k, &mut block);
                    wide[k * q..][..q].iter_mut().zip(&block).for_each(|(to, v)| *to = *v as f32);
                }
            }
            *off = OffDiagonal::F32(wide);
        }
        let (mut sum, mut block) = (vec![0.0; q], vec![0.0; q]);
        for ([place, kind], blocks) in self.folds.iter() {
            sum.fill(0.0);
            for &[from, turn] in blocks {
                let row = a.pattern().row_ptr().partition_point(|&begin| begin <= from) - 1;
                a.off.block(q, row, from as usize, &mut block);
                self.share.images().turn_block(turn, self.nb, &mut block);
                sum.iter_mut().zip(&block).for_each(|(sum, v)| *sum += v);
            }
            let at = place as usize * q..(place as usize + 1) * q;
            let there = if kind & Folds::ADDS == 0 { 0.0 } else { 1.0 };
            match off {
                _ if kind & Folds::DIAGONAL != 0 => {
                    diag[at].iter_mut().zip(&sum).for_each(|(to, v)| *to += v);
                }
                OffDiagonal::F64(off) => {
                    off[at].iter_mut().zip(&sum).for_each(|(to, v)| *to = there * *to + v);
                }
                OffDiagonal::F32(off) => {
                    off[at]
                        .iter_mut()
                        .zip(&sum)
                        .for_each(|(to, v)| *to = (there * f64::from(*to) + v) as f32);
                }
                OffDiagonal::F16 { .. } => unreachable!("widened"),
            }
        }
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
