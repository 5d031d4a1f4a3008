//! Finding the block size of a matrix of numbers.

use super::ScalarCsr;

/// Block sizes that are looked for.
const LARGEST: usize = 32;
/// Entries that are looked at.
const SAMPLE: usize = 100_000;
/// The blocks must be at most this part of what any shifted cut has.
const GAIN: f64 = 0.8;
/// Blocks must have this part of their entries.
const HALF_FULL: f64 = 0.5;
/// Parts of the entries that a shift takes to entries.
const MANY: f64 = 0.8;
const NEARLY_ALL: f64 = 0.99;

/// The largest block size for which cutting the matrix into blocks at multiples of it touches clearly fewer blocks
/// than cutting it anywhere else; failing that, the period with which the pattern repeats itself along the diagonal
/// (blocks with holes on a structured mesh); 1 where there is neither.
pub fn detect_block_size(matrix: &ScalarCsr) -> usize {
    let n = matrix.rows();
    if n != matrix.cols() {
        return 1;
    }
    let fits = |nb: &usize| n.is_multiple_of(*nb) && n >= 16 * nb;
    let aligned = (2..=LARGEST).rev().find(|nb| fits(nb) && stands_out(matrix, *nb));
    aligned.or_else(|| period(matrix).filter(fits)).unwrap_or(1)
}

/// The first shift (p, p) that takes nearly all entries to entries, when no smaller one takes many.
fn period(matrix: &ScalarCsr) -> Option<usize> {
    for p in 1..=LARGEST.min(matrix.rows().saturating_sub(1)) {
        let (mut hits, mut entries) = (0, 0);
        for row in 0..matrix.rows() - p {
            let shifted = matrix.columns(row + p);
            let inside = matrix.columns(row).iter().filter(|&&c| (c as usize) < matrix.cols() - p);
            for &c in inside {
                entries += 1;
                hits += usize::from(shifted.binary_search(&(c + p as u32)).is_ok());
            }
            if entries > SAMPLE {
                break;
            }
        }
        let part = hits as f64 / f64::from(entries.max(1) as u32);
        if part > MANY {
            return (part > NEARLY_ALL).then_some(p);
        }
    }
    None
}

fn stands_out(matrix: &ScalarCsr, nb: usize) -> bool {
    let aligned = blocks_per_entry(matrix, nb, 0);
    let full = aligned * (nb * nb) as f64 <= 1.0 / HALF_FULL;
    full && (1..nb).all(|shift| aligned <= GAIN * blocks_per_entry(matrix, nb, shift))
}

/// Blocks that hold an entry of the sample when the cuts lie at multiples of nb plus `shift`, by its entries.
fn blocks_per_entry(matrix: &ScalarCsr, nb: usize, shift: usize) -> f64 {
    let mut last_seen = vec![0; matrix.cols() / nb + 2];
    let (mut count, mut entries) = (0, 0);
    for (row, first) in (shift..=matrix.rows() - nb).step_by(nb).enumerate() {
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
            break;
        }
    }
    f64::from(count) / entries.max(1) as f64
}
