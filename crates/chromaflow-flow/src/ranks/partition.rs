//! Which rank owns which node.

use chromaflow::BlockPattern;
use chromaflow_comm::partition_in_groups;

/// Who owns each row of a mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Division {
    /// The rank of each row.
    pub owner: Vec<u32>,
    /// How good it is.
    pub quality: Quality,
}

/// How even a division is, and what it cuts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Quality {
    /// Ranks.
    pub ranks: u32,
    /// Most blocks of the matrix that a rank has, over the mean: what a sweep waits for.
    pub balance: f64,
    /// Pairs of neighbors whose rows two ranks own.
    pub cut: u64,
    /// Fewest and most rows of a rank.
    pub rows: [u64; 2],
}

/// A row costs its blocks and about two more, for its diagonal and its vectors.
const BESIDES: u64 = 2;

impl Division {
    /// Parts of the rows' graph with equal numbers of blocks and few pairs of neighbors between them, and fewest between hosts, whose
    /// numbers of ranks stand in `hosts`. The number of threads does not show in them.
    pub fn new(pattern: &BlockPattern, hosts: &[u32], threads: usize) -> Self {
        let ranks: u32 = hosts.iter().sum();
        let weights: Vec<u64> =
            (0..pattern.rows()).map(|row| pattern.columns(row).len() as u64 + BESIDES).collect();
        let ptr: Vec<usize> = pattern.row_ptr().iter().map(|&p| p as usize).collect();
        let owner = partition_in_groups(&ptr, pattern.col_idx(), &weights, hosts, threads);
        let (mut sums, mut rows, mut cut) = (vec![0.0; ranks as usize], vec![0; ranks as usize], 0);
        for (row, (&own, &weight)) in owner.iter().zip(&weights).enumerate() {
            sums[own as usize] += weight as f64;
            rows[own as usize] += 1;
            cut += pattern.columns(row).iter().filter(|&&c| owner[c as usize] != own).count() as u64;
        }
        let mean = sums.iter().sum::<f64>() / f64::from(ranks);
        let most = sums.iter().copied().fold(0.0, f64::max);
        let quality = Quality {
            ranks,
            balance: if mean > 0.0 { most / mean } else { 1.0 },
            cut: cut / 2,
            rows: [rows.iter().copied().min().unwrap_or(0), rows.iter().copied().max().unwrap_or(0)],
        };
        Self { owner, quality }
    }

    /// The same with the parts given to other ranks: part k to `ranks[k]`.
    #[must_use]
    pub fn given_to(mut self, ranks: &[u32]) -> Self {
        self.owner.iter_mut().for_each(|owner| *owner = ranks[*owner as usize]);
        self
    }
}
