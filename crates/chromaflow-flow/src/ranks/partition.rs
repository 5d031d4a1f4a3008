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
    /// numbers of ranks stand in `hosts`. Rows of a line, from one of `lines` to the next, stay together: lines are the vertices then, with the
    /// weight of their rows and as many edges between them. The number of threads does not show in the parts.
    pub fn new(pattern: &BlockPattern, lines: Option<&[u32]>, hosts: &[u32], threads: usize) -> Self {
        let ranks: u32 = hosts.iter().sum();
        let weights: Vec<u64> =
            (0..pattern.rows()).map(|row| pattern.columns(row).len() as u64 + BESIDES).collect();
        let owner = match lines {
            None => {
                let ptr: Vec<usize> = pattern.row_ptr().iter().map(|&p| p as usize).collect();
                partition_in_groups(&ptr, (pattern.col_idx(), Vec::new()), &weights, hosts, threads)
            }
            Some(lines) => {
                let whole = Contracted::new(pattern, lines, &weights);
                let Contracted { ptr, cols, edges, weights } = whole;
                let owner = partition_in_groups(&ptr, (&cols, edges), &weights, hosts, threads);
                let rows = lines.windows(2).map(|line| (line[1] - line[0]) as usize);
                rows.zip(owner).flat_map(|(rows, owner)| std::iter::repeat_n(owner, rows)).collect()
            }
        };
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

/// The graph of lines.
struct Contracted {
    ptr: Vec<usize>,
    cols: Vec<u32>,
    edges: Vec<u32>,
    weights: Vec<u64>,
}

impl Contracted {
    /// Of lines that begin at `starts`, and end at the next start, of rows with these weights.
    fn new(pattern: &BlockPattern, starts: &[u32], row_weights: &[u64]) -> Self {
        let mut line_of = Vec::with_capacity(pattern.rows());
        for (line, ends) in (0_u32..).zip(starts.windows(2)) {
            line_of.resize(line_of.len() + (ends[1] - ends[0]) as usize, line);
        }
        let lines = starts.len() - 1;
        let (mut ptr, mut cols, mut edges): (_, Vec<u32>, Vec<u32>) = (vec![0], Vec::new(), Vec::new());
        let mut weights = Vec::with_capacity(lines);
        // Where a line stands among the neighbors of the present one.
        let mut place = vec![usize::MAX; lines];
        for (own, ends) in (0_u32..).zip(starts.windows(2)) {
            let (rows, first) = (ends[0] as usize..ends[1] as usize, cols.len());
            for &column in rows.clone().flat_map(|row| pattern.columns(row)) {
                let other = line_of[column as usize];
                let at = &mut place[other as usize];
                if other == own {
                    continue;
                }
                if *at < first || *at == usize::MAX {
                    *at = cols.len();
                    cols.push(other);
                    edges.push(0);
                }
                edges[*at] += 1;
            }
            weights.push(row_weights[rows].iter().sum());
            ptr.push(cols.len());
        }
        Self { ptr, cols, edges, weights }
    }
}
