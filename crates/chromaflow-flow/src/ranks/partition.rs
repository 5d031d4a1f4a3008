//! Which rank owns which node.

use crate::mesh::Mesh;
use chromaflow_comm::bisect;

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
    /// Fewest and most rows of a rank.
    pub rows: [u64; 2],
}

/// A row costs its blocks and about two more, for its diagonal and its vectors.
const BESIDES: f64 = 2.0;

impl Division {
    /// By recursive bisection of the places of nodes, weighted by the blocks of their rows. `degrees` has the neighbors of each row;
    /// `mesh` is numbered by rows.
    pub fn new(mesh: &Mesh, degrees: &[u32], ranks: u32) -> Self {
        let weights: Vec<f64> = degrees.iter().map(|&d| f64::from(d) + BESIDES).collect();
        let owner = bisect(&mesh.nodes[..degrees.len()], &weights, ranks);
        let (mut sums, mut rows) = (vec![0.0; ranks as usize], vec![0; ranks as usize]);
        for (&owner, weight) in owner.iter().zip(&weights) {
            sums[owner as usize] += weight;
            rows[owner as usize] += 1;
        }
        let mean = sums.iter().sum::<f64>() / f64::from(ranks);
        let most = sums.iter().copied().fold(0.0, f64::max);
        let quality = Quality {
            ranks,
            balance: if mean > 0.0 { most / mean } else { 1.0 },
            rows: [rows.iter().copied().min().unwrap_or(0), rows.iter().copied().max().unwrap_or(0)],
        };
        Self { owner, quality }
    }
}
