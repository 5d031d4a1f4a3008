//! Finding the block size of a matrix of numbers.

use super::ScalarCsr;

/// Block sizes that are looked for.
const LARGEST: usize = 32;
/// Entries that are looked at.
const SAMPLE: usize = 100_000;
/// The blocks must be at most this part of what any shifted cut has.
const GAIN: f64 = 0.8;
/// Blocks must have this part of their entries, or ...
const HALF_FULL: f64 = 0.5;
/// ... those of the diagonal this one, and all together as many as diagonal ones would have: unknowns of a place coupled with one
/// another, and each with its like elsewhere.
const FULL: f64 = 0.8;
/// What a shift takes out of such blocks, in parts of what it takes from one side of the diagonal of a full one.
const LOST: f64 = 1.2;
/// Parts of the entries that a shift takes to entries.
const MANY: f64 = 0.8;
const NEARLY_ALL: f64 = 0.99;

/// The largest block size for which cutting the matrix into blocks at multiples of it touches clearly fewer blocks
/// than cutting it anywhere else, or for which the blocks of the diagonal are full and are not if they are cut anywhere else;
/// failing that, the period with which the pattern repeats itself along the diagonal (blocks with holes on a structured mesh);
/// 1 where there is none.
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
    let aligned = Cut::at(matrix, nb, 0);
    let shifts = || (1..nb).map(|shift| (shift, Cut::at(matrix, nb, shift)));
    let part = aligned.entries as f64 / (aligned.blocks * nb * nb).max(1) as f64;
    let fewer = |(_, cut): (usize, Cut)| aligned.blocks_per_entry() <= GAIN * cut.blocks_per_entry();
    if part >= HALF_FULL && shifts().all(fewer) {
        return true;
    }
    let diagonal = aligned.on_diagonal();
    diagonal >= FULL * (nb * nb) as f64
        && aligned.entries >= nb * aligned.blocks
        && shifts().all(|(shift, cut)| cut.on_diagonal() <= diagonal - LOST * (shift * (nb - shift)) as f64)
}

/// What cutting a sample of the matrix into blocks finds.
#[derive(Default)]
struct Cut {
    /// Block rows looked at.
    rows: usize,
    /// Blocks that hold an entry.
    blocks: usize,
    entries: usize,
    /// Those of them in diagonal blocks.
    diagonal: usize,
}

impl Cut {
    /// The cuts lie at multiples of nb plus `shift`.
    fn at(matrix: &ScalarCsr, nb: usize, shift: usize) -> Self {
        let mut last_seen = vec![0; matrix.cols() / nb + 2];
        let mut cut = Self::default();
        for (row, first) in (shift..=matrix.rows() - nb).step_by(nb).enumerate() {
            cut.rows += 1;
            for r in first..first + nb {
                let columns = matrix.columns(r);
                cut.entries += columns.len();
                for &c in columns {
                    let c = c as usize;
                    cut.diagonal += usize::from((first..first + nb).contains(&c));
                    let block = (c + nb - shift) / nb;
                    if last_seen[block] != row + 1 {
                        last_seen[block] = row + 1;
                        cut.blocks += 1;
                    }
                }
            }
            if cut.entries > SAMPLE {
                break;
            }
        }
        cut
    }

    fn blocks_per_entry(&self) -> f64 {
        self.blocks as f64 / self.entries.max(1) as f64
    }

    /// Entries of a diagonal block.
    fn on_diagonal(&self) -> f64 {
        self.diagonal as f64 / self.rows.max(1) as f64
    }
}
