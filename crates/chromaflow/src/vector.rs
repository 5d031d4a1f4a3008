//! Dense vectors: sums that do not depend on the number of threads.
//!
//! Sums run over fixed chunks of [`CHUNK`] entries, eight partial sums to a chunk, and the chunks are added in order;
//! members of the team only decide who adds which chunk. Vectors shorter than [`PARALLEL_FROM`] stay on the caller.

use chromaflow_device::{Team, split};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Entries per partial sum.
pub const CHUNK: usize = 4096;
/// Shorter vectors are not worth waking the team for.
pub const PARALLEL_FROM: usize = 4 * CHUNK;

/// How many of `rows`, which have so many `bytes` together, stay in the cache next to a core while one vector after another meets them.
pub(crate) fn rows_in_cache(bytes: usize, rows: usize) -> usize {
    /// A quarter of the second level of small processors.
    const NEAR: usize = 1 << 17;
    (NEAR * rows / bytes.max(1)).max(1)
}

/// x . y
///
/// **Precision**: f64, chunked sums. **Panics** when the lengths differ.
///
/// ```
/// use chromaflow::{Team, vector};
/// assert_eq!(vector::dot(&Team::new(2), &[1.0, 2.0, 3.0], &[4.0, 5.0, 6.0]), 32.0);
/// ```
pub fn dot(team: &Team, x: &[f64], y: &[f64]) -> f64 {
    assert_eq!(x.len(), y.len());
    chunked_sum(team, x.len(), |r| dot_chunk(&x[r.clone()], &y[r]))
}

/// The Euclidean norm of x; NaN or infinite when an entry is.
pub fn norm2(team: &Team, x: &[f64]) -> f64 {
    dot(team, x, x).sqrt()
}

/// `y += a x`
///
/// **Panics** when the lengths differ.
pub fn axpy(team: &Team, a: f64, x: &[f64], y: &mut [f64]) {
    assert_eq!(x.len(), y.len());
    for_shares(team, y, |r, y| {
        for (y, x) in y.iter_mut().zip(&x[r]) {
            *y += a * x;
        }
    });
}

/// `y = x + a y`
///
/// **Panics** when the lengths differ.
pub fn xpay(team: &Team, x: &[f64], a: f64, y: &mut [f64]) {
    assert_eq!(x.len(), y.len());
    for_shares(team, y, |r, y| {
        for (y, x) in y.iter_mut().zip(&x[r]) {
            *y = x + a * *y;
        }
    });
}

/// `y += sum of a[i] v[i]`, cache block by cache block.
///
/// **Panics** when lengths differ.
pub fn combine(team: &Team, a: &[f64], v: &[Vec<f64>], y: &mut [f64]) {
    assert_eq!(a.len(), v.len());
    assert!(v.iter().all(|v| v.len() == y.len()));
    for_shares(team, y, |share, y| {
        for (at, y) in share.step_by(CHUNK).zip(y.chunks_mut(CHUNK)) {
            for (&a, v) in a.iter().zip(v) {
                for (y, v) in y.iter_mut().zip(&v[at..]) {
                    *y += a * v;
                }
            }
        }
    });
}

/// `x *= a`
pub fn scale(team: &Team, a: f64, x: &mut [f64]) {
    for_shares(team, x, |_, x| x.iter_mut().for_each(|x| *x *= a));
}

/// The largest magnitude; entries that are NaN are passed over.
pub fn largest(team: &Team, x: &[f64]) -> f64 {
    let of = |x: &[f64]| x.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
    if x.len() < PARALLEL_FROM || team.size() == 1 {
        return of(x);
    }
    // Bits of numbers without sign are in the order of the numbers.
    let bits = AtomicU64::new(0);
    team.run(|m| {
        bits.fetch_max(of(&x[m.share(x.len())]).to_bits(), Relaxed);
    });
    f64::from_bits(bits.into_inner())
}

/// Position of the first entry that is NaN or infinite.
pub fn first_not_finite(team: &Team, x: &[f64]) -> Option<usize> {
    // Zero times a number is zero, unlike zero times NaN or infinity; the search itself is the exception.
    let sum = chunked_sum(team, x.len(), |r| x[r].iter().map(|v| v * 0.0).sum());
    if sum == 0.0 { None } else { x.iter().position(|v| !v.is_finite()) }
}

/// Calls `job` with each member's share of `y` (which range, and the entries); on the caller alone when `y` is short.
pub fn for_shares<T: Send>(team: &Team, y: &mut [T], job: impl Fn(Range<usize>, &mut [T]) + Sync) {
    let n = y.len();
    if n < PARALLEL_FROM || team.size() == 1 {
        return job(0..n, y);
    }
    shares(team, y, n, 1, job);
}

/// Cuts `y`, `width` entries to each of `rows` rows, into one share of rows a member.
pub(crate) fn shares<T: Send>(
    team: &Team,
    mut y: &mut [T],
    rows: usize,
    width: usize,
    job: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    let mut parts = Vec::with_capacity(team.size());
    for part in 0..team.size() {
        let (mine, rest) = std::mem::take(&mut y).split_at_mut(split(rows, team.size(), part).len() * width);
        parts.push(Mutex::new(mine));
        y = rest;
    }
    team.run(|m| {
        let mut mine = parts[m.rank()].lock().expect("each share is locked once");
        job(m.share(rows), &mut mine);
    });
}

fn chunked_sum(team: &Team, n: usize, job: impl Fn(Range<usize>) -> f64 + Sync) -> f64 {
    let chunks = n.div_ceil(CHUNK);
    let range = |c: usize| c * CHUNK..n.min((c + 1) * CHUNK);
    if n < PARALLEL_FROM || team.size() == 1 {
        return (0..chunks).map(|c| job(range(c))).sum();
    }
    let partial: Vec<AtomicU64> = (0..chunks).map(|_| AtomicU64::new(0)).collect();
    team.run(|m| {
        for c in m.share(chunks) {
            partial[c].store(job(range(c)).to_bits(), Relaxed);
        }
    });
    partial.iter().map(|sum| f64::from_bits(sum.load(Relaxed))).sum()
}

/// Eight partial sums, which the compiler keeps in vector registers.
fn dot_chunk(x: &[f64], y: &[f64]) -> f64 {
    const LANES: usize = 8;
    let mut acc = [0.0; LANES];
    let (xs, ys) = (x.chunks_exact(LANES), y.chunks_exact(LANES));
    let tail: f64 = xs.remainder().iter().zip(ys.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in xs.zip(ys) {
        for l in 0..LANES {
            acc[l] += x[l] * y[l];
        }
    }
    acc.iter().sum::<f64>() + tail
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(n: usize, seed: u64) -> Vec<f64> {
        (0..n as u64).map(|i| ((i * 2_654_435_761 + seed * 40_503) % 1000) as f64 / 7.0 - 70.0).collect()
    }

    #[test]
    fn sums_do_not_see_the_threads() {
        for n in [0, 1, 7, CHUNK - 1, PARALLEL_FROM, 3 * PARALLEL_FROM + 5] {
            let (x, y) = (sample(n, 1), sample(n, 2));
            let exact: f64 = x.iter().zip(&y).map(|(x, y)| x * y).sum();
            let one = Team::new(1);
            let expected = dot(&one, &x, &y);
            assert!((expected - exact).abs() <= 1e-12 * norm2(&one, &x) * norm2(&one, &y));
            for threads in [1, 2, 3, 5] {
                let team = Team::new(threads);
                assert_eq!(dot(&team, &x, &y).to_bits(), expected.to_bits(), "{n} {threads}");
            }
        }
    }

    #[test]
    fn updates_do_as_they_say() {
        for n in [5, 2 * PARALLEL_FROM + 3] {
            let team = Team::new(3);
            let (x, y) = (sample(n, 3), sample(n, 4));
            let (mut a, mut p, mut s, mut c) = (y.clone(), y.clone(), y.clone(), y.clone());
            axpy(&team, 2.0, &x, &mut a);
            xpay(&team, &x, 0.5, &mut p);
            scale(&team, -1.0, &mut s);
            combine(&team, &[2.0, -1.0], &[x.clone(), y.clone()], &mut c);
            for i in 0..n {
                assert_eq!((a[i], p[i], s[i]), (y[i] + 2.0 * x[i], x[i] + 0.5 * y[i], -y[i]));
                assert_eq!(c[i], y[i] + 2.0 * x[i] - y[i]);
            }
        }
    }
}
