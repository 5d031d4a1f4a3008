//! The papers' own numbers and matrices.

use chromaflow::gallery::tetrahedral;

/// A test matrix of Zubair, Nielsen, Luitjens and Hammond (2016), *An Optimized Multicolor Point-Implicit Solver for
/// Unstructured Grid Applications on Graphics Processing Units*, Table II.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PaperMatrix {
    /// Block rows.
    pub rows: usize,
    /// Off-diagonal blocks.
    pub nnzb: usize,
    /// Colors.
    pub colors: usize,
    /// Rows of the largest color.
    pub largest: usize,
    /// Rows of the smallest color.
    pub smallest: usize,
}

const fn row(rows: usize, nnzb: usize, colors: usize, largest: usize, smallest: usize) -> PaperMatrix {
    PaperMatrix { rows, nnzb, colors, largest, smallest }
}

/// The table.
pub const TABLE_II: [PaperMatrix; 6] = [
    row(6_309, 85_768, 10, 1_076, 5),
    row(103_178, 1_370_396, 10, 17_826, 15),
    row(204_983, 2_740_266, 10, 35_218, 42),
    row(394_745, 5_309_536, 10, 67_748, 96),
    row(800_322, 10_823_162, 11, 138_080, 1),
    row(983_633, 13_567_574, 11, 166_800, 3),
];

impl PaperMatrix {
    /// A pattern with this many rows and off-diagonal blocks, both times `scale`: see [`tetrahedral`].
    pub fn pattern(&self, scale: f64, seed: u64) -> (Vec<u32>, Vec<u32>) {
        let rows = ((self.rows as f64 * scale) as usize).max(2);
        tetrahedral(rows, (self.nnzb as f64 * scale) as usize / 2, seed)
    }
}

/// A row of Table III or IV of Zubair, Nielsen, Luitjens and Hammond (2016): milliseconds of one traversal of the matrix on a
/// K40, with library calls and optimized.
pub struct Published {
    pub library_ms: f64,
    pub optimized_ms: f64,
}

/// The rows of these matrices, block sizes from 1.
const TABLES: [(usize, &[(f64, f64)]); 5] = [
    (
        103_178,
        &[
            (9.3, 1.5),
            (11.8, 1.6),
            (14.7, 1.9),
            (16.2, 2.2),
            (19.6, 2.9),
            (27.1, 4.8),
            (28.5, 5.0),
            (30.3, 5.1),
            (42.8, 8.4),
            (45.7, 9.0),
        ],
    ),
    (
        204_983,
        &[
            (17.2, 2.7),
            (20.5, 3.0),
            (24.4, 3.6),
            (27.7, 4.3),
            (35.3, 5.5),
            (49.9, 9.3),
            (55.1, 9.7),
            (57.3, 10.0),
            (81.7, 16.5),
            (85.8, 17.8),
        ],
    ),
    (
        394_745,
        &[
            (31.4, 5.1),
            (39.1, 5.6),
            (47.5, 6.8),
            (52.5, 8.1),
            (66.5, 10.4),
            (96.5, 17.8),
            (104.7, 18.7),
            (107.9, 19.2),
            (155.9, 31.8),
            (165.9, 34.3),
        ],
    ),
    (800_322, &[(61.9, 10.1), (78.2, 11.1), (93.0, 13.7), (104.6, 16.3), (126.8, 21.1), (188.7, 36.1)]),
    (983_633, &[(74.9, 12.5), (92.7, 13.8), (112.1, 16.9), (130.0, 20.0), (164.9, 25.7), (236.0, 44.2)]),
];

/// What the paper has for a matrix and a block size, where it has numbers (its Figure 14, for 6,309 rows, is a plot only).
pub fn published(rows: usize, nb: usize) -> Option<Published> {
    let (_, table) = TABLES.iter().find(|(n, _)| *n == rows)?;
    let &(library_ms, optimized_ms) = table.get(nb.checked_sub(1)?)?;
    Some(Published { library_ms, optimized_ms })
}

/// The speedup of `dsh` over `ds` that the bytes promise (Walden, Nielsen, Diskin and Zubair, 2019, section on theory): bytes
/// of a row with `nnzr` off-diagonal blocks, D and b in f64, x in f32, indices of 4 bytes.
pub fn theory(nb: f64, nnzr: f64) -> f64 {
    let row = |off: f64| nnzr * (nb * nb * off + 4.0) + 8.0 * nb * nb + 8.0 * nb + 4.0 + 8.0 * nb;
    row(4.0) / row(2.0)
}

/// The same as the paper has it, its equation below Algorithm 3 (Figure 3): x is read once for every block.
pub fn theory_of_the_paper(nb: f64, nnzr: f64) -> f64 {
    let (single, double, index) = (4.0, 8.0, 4.0);
    let row = |off: f64| {
        nnzr * (nb * nb * off + nb * single + index) + double * (nb * nb + nb) + nb * single + 2.0 * index
    };
    row(single) / row(2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_comes_out_to_the_last_block() {
        for matrix in &TABLE_II[..2] {
            let (row_ptr, col_idx) = matrix.pattern(1.0, 1);
            assert_eq!((row_ptr.len() - 1, col_idx.len()), (matrix.rows, matrix.nnzb));
            let degree = |r: usize| row_ptr[r + 1] - row_ptr[r];
            let (least, most) =
                (0..matrix.rows).fold((99, 0), |(l, m), r| (degree(r).min(l), degree(r).max(m)));
            assert!(least < 8 && most > 18 && most < 27, "irregular rows: {least} to {most}");
        }
    }

    #[test]
    fn theory_is_the_papers() {
        // "The theoretical speedup (1.55x)" of its summary, at nb 5 and between 14 and 19 blocks a row.
        assert!((theory_of_the_paper(5.0, 14.0)..theory_of_the_paper(5.0, 19.0)).contains(&1.54));
        // Without end: (100 + 20 + 4) / (50 + 20 + 4).
        assert!((theory_of_the_paper(5.0, 1e9) - 124.0 / 74.0).abs() < 1e-6);
    }
}
