//! Finding the block size of a matrix of numbers.

use super::ScalarCsr;

/// Block sizes that are looked for.
const LARGEST: usize = 32;
/// Entries that are looked at.
const SAMPLE: usize = 100_000;
/// The blocks must be at most this part of what any shifted cut has.
const GAIN: f64 = 0.9;

/// The largest block size for which cutting the matrix into blocks at multiples of it touches clearly fewer blocks
/// than cutting it anywhere else; 1 where there is none. Blocks need not be full.
pub fn detect_block_size(matrix: &ScalarCsr) -> usize {
    let n = matrix.rows();
    if n != matrix.cols() {
        return 1;
    }
    let fits = |nb: &usize| n.is_multiple_of(*nb) && n >= 4 * nb && stands_out(matrix, *nb);
    (2..=LARGEST).rev().find(fits).unwrap_or(1)
}

fn stands_out(matrix: &ScalarCsr, nb: usize) -> bool {
    let aligned = blocks(matrix, nb, 0) as f64;
    (1..nb).all(|shift| aligned <= GAIN * blocks(matrix, nb, shift) as f64)
}

/// Blocks that hold an entry of the sample when the cuts lie at multiples of nb plus `shift`.
fn blocks(matrix: &ScalarCsr, nb: usize, shift: usize) -> usize {
    let mut last_seen = vec![0; matrix.cols() / nb + 2];
    let (mut count, mut entries) = (0, 0);
    // The first, partial block row counts for no shift, so that all samples have the same number of whole rows.
    for (row, first) in (shift..matrix.rows() - nb).step_by(nb).enumerate() {
        for r in first..first + nb {
            let columns = matrix.columns(r);
            entries += columns.len();
            for &c in columns {
                let block = (c as usize + nb - shift) / nb;
                if last_seen[block] != row + 1 {
                    last_seen[block] = row + 1;
                    count += 1;
                }
            }
        }
        if entries > SAMPLE {
            // Shifted cuts end at other rows: compare densities.
            return count * 1000 / (row + 1);
        }
    }
    count
}
