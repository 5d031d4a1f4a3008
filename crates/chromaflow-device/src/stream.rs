#![allow(unsafe_code)]
//! Measured memory bandwidth: what sweeps are held against.

use crate::{Buffer, Isa, Team};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Memory bandwidth of a team, in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bandwidth {
    /// Reading one array.
    pub read: f64,
    /// `a = b + 3 c`, 24 bytes an element (the line of `a` that is read before it is written is not counted).
    pub triad: f64,
}

/// Bytes read in one repeat: short enough that the fastest of many repeats meets no other work on the machine.
const PIECE: usize = 64 << 20;
/// Independent sums, so that loads and not additions set the pace.
const SUMS: usize = 64;

/// Measures with every member of the team on its own part of `bytes` of memory (rounded down to pieces of 64 MiB, of
/// which there are at least two); each repeat takes the next piece, so that caches smaller than `bytes` do not help.
/// The best of all repeats counts; they take `budget`, half of it for each figure.
///
/// ```no_run
/// use chromaflow_device::{Team, stream};
/// let b = stream::measure(&Team::all_cores(), 768 << 20, std::time::Duration::from_millis(500));
/// println!("{:.1} GB/s read, {:.1} GB/s triad", b.read / 1e9, b.triad / 1e9);
/// ```
#[must_use]
pub fn measure(team: &Team, bytes: usize, budget: Duration) -> Bandwidth {
    let pieces = (bytes / PIECE).max(2);
    let piece = PIECE / 8;
    let mut array = Buffer::<f64>::zeroed(pieces * piece);
    let start = Shared(array.as_mut_ptr());
    let third = pieces * piece / 3;
    team.run(|m| {
        // Owners touch what they will read, piece by piece.
        for p in 0..pieces {
            for i in m.share(piece) {
                // SAFETY: within the array; shares are disjoint.
                unsafe { *start.get().add(p * piece + i) = 1.0 + (i & 3) as f64 };
            }
        }
    });
    let isa = Isa::detect();
    let sink = AtomicU64::new(0);
    let read = best(budget / 2, |repeat| {
        let from = repeat % pieces * piece;
        team.run(|m| {
            let share = m.share(piece / SUMS);
            // SAFETY: within the array, which nobody writes now.
            let part = unsafe {
                std::slice::from_raw_parts(start.get().add(from + share.start * SUMS), share.len() * SUMS)
            };
            sink.fetch_add(sum(isa, part).to_bits(), Ordering::Relaxed);
        });
    });
    let triad_piece = piece / 3;
    let triad_pieces = third / triad_piece;
    let triad = best(budget / 2, |repeat| {
        let from = repeat % triad_pieces * triad_piece;
        team.run(|m| {
            let share = m.share(triad_piece);
            let at = |array: usize| start.get().wrapping_add(array * third + from + share.start);
            // SAFETY: three disjoint thirds of the array, disjoint shares of each.
            let (a, b, c) = unsafe {
                (
                    std::slice::from_raw_parts_mut(at(0), share.len()),
                    std::slice::from_raw_parts(at(1), share.len()),
                    std::slice::from_raw_parts(at(2), share.len()),
                )
            };
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + 3.0 * c;
            }
        });
    });
    std::hint::black_box(sink);
    Bandwidth { read: PIECE as f64 / read, triad: (24 * triad_piece) as f64 / triad }
}

/// Seconds of the fastest repeat.
fn best(budget: Duration, mut repeat: impl FnMut(usize)) -> f64 {
    let (start, mut least, mut count) = (Instant::now(), f64::INFINITY, 0);
    while count < 5 || start.elapsed() < budget {
        let begin = Instant::now();
        repeat(count);
        least = least.min(begin.elapsed().as_secs_f64());
        count += 1;
    }
    least
}

fn sum(isa: Isa, values: &[f64]) -> f64 {
    #[cfg(target_arch = "x86_64")]
    {
        match isa {
            // SAFETY: `Isa::detect` says that the machine has these instructions.
            Isa::Avx512 => return unsafe { sum_avx512(values) },
            // SAFETY: as above.
            Isa::Avx2 => return unsafe { sum_avx2(values) },
            Isa::Portable => {}
        }
    }
    let _ = isa;
    sum_lanes(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f")]
fn sum_avx512(values: &[f64]) -> f64 {
    sum_lanes(values)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn sum_avx2(values: &[f64]) -> f64 {
    sum_lanes(values)
}

#[inline(always)]
fn sum_lanes(values: &[f64]) -> f64 {
    let mut sums = [0.0; SUMS];
    for chunk in values.as_chunks::<SUMS>().0 {
        for i in 0..SUMS {
            sums[i] += chunk[i];
        }
    }
    sums.iter().sum()
}

struct Shared(*mut f64);
// SAFETY: members touch disjoint parts, see the uses.
unsafe impl Sync for Shared {}
impl Shared {
    fn get(&self) -> *mut f64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every element is read once, whatever the instructions: sums of small integers are exact in any order.
    #[test]
    fn sums_are_exact_on_every_instruction_set() {
        let values: Vec<f64> = (0..SUMS * 37).map(|i| (i % 1013) as f64).collect();
        let expected: f64 = values.iter().sum();
        for isa in Isa::available() {
            assert_eq!(sum(isa, &values), expected, "{}", isa.name());
            assert_eq!(sum(isa, &values[..SUMS]), (SUMS * (SUMS - 1) / 2) as f64, "{}", isa.name());
        }
    }

    /// Repeats are numbered from zero, there are at least five, and the fastest is no slower than their mean.
    #[test]
    fn the_fastest_repeat_counts() {
        let (start, mut seen) = (Instant::now(), Vec::new());
        let least = best(Duration::ZERO, |repeat| seen.push(repeat));
        assert_eq!(seen, [0, 1, 2, 3, 4]);
        assert!(least >= 0.0 && 5.0 * least <= start.elapsed().as_secs_f64());
    }

    /// Members' parts cover what is counted, for teams that do not divide it.
    #[test]
    fn a_team_measures() {
        let b = measure(&Team::new(3), 0, Duration::ZERO);
        assert!(b.read.is_finite() && b.read > 0.0 && b.triad.is_finite() && b.triad > 0.0, "{b:?}");
    }
}
