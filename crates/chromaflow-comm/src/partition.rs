//! Partition of a graph by its points, and the rows that each part works on.

use crate::Neighbor;

/// The part of every point, by recursive bisection of coordinates: a set is cut across its longest side where the
/// weights on both sides are as the numbers of parts. Ties go by the points' numbers, so the result is one and the same
/// wherever it is computed. A set with fewer points than parts leaves parts empty.
///
/// **Shapes**: points and weights `[n]`; weights are at least 0. **Panics** when lengths differ or `parts` is 0.
///
/// **Source**: Berger & Bokhari 1987, A partitioning strategy for nonuniform problems on multiprocessors.
pub fn bisect(points: &[[f64; 3]], weights: &[f64], parts: u32) -> Vec<u32> {
    assert_eq!(points.len(), weights.len());
    assert!(parts > 0);
    let mut owner = vec![0; points.len()];
    let mut order: Vec<u32> = (0..points.len() as u32).collect();
    let mut sets = vec![(order.as_mut_slice(), 0, parts)];
    while let Some((set, first, parts)) = sets.pop() {
        if parts == 1 {
            for &i in set.iter() {
                owner[i as usize] = first;
            }
            continue;
        }
        let axis = longest(points, set);
        let at = |i: u32| points[i as usize][axis];
        set.sort_unstable_by(|&i, &j| at(i).total_cmp(&at(j)).then(i.cmp(&j)));
        let low = parts / 2;
        let all: f64 = set.iter().map(|&i| weights[i as usize]).sum();
        let (aim, mut sum) = (all * f64::from(low) / f64::from(parts), 0.0);
        // A point belongs below the cut when its middle does.
        let below = |&i: &u32| {
            let weight = weights[i as usize];
            sum += weight;
            sum - 0.5 * weight < aim
        };
        let cut = set.iter().copied().take_while(below).count();
        let (left, right) = set.split_at_mut(cut);
        sets.push((left, first, low));
        sets.push((right, first + low, parts - low));
    }
    owner
}

fn longest(points: &[[f64; 3]], set: &[u32]) -> usize {
    let side = |axis: usize| {
        let range = set.iter().map(|&i| points[i as usize][axis]);
        range.clone().fold(f64::NEG_INFINITY, f64::max) - range.fold(f64::INFINITY, f64::min)
    };
    (1..3).fold(0, |best, axis| if side(axis) > side(best) { axis } else { best })
}

/// The rows of one part: those it owns, then its ghosts, each in ascending global order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    /// Global numbers.
    pub global: Vec<u32>,
    /// Rows owned; the others are ghosts.
    pub owned: usize,
    /// What it exchanges with each neighbor, in ascending order of rank.
    pub neighbors: Vec<Neighbor>,
}

impl Rows {
    /// The rows of a rank: ghosts are within `layers` edges of an owned row. The graph is symmetric, row `i` touching
    /// `cols[ptr[i]..ptr[i + 1]]`.
    pub fn new(owner: &[u32], ptr: &[usize], cols: &[u32], layers: usize, rank: usize) -> Self {
        let near = |rank: usize| ghosts(owner, ptr, cols, layers, rank);
        let mut global: Vec<u32> =
            (0..owner.len() as u32).filter(|&i| owner[i as usize] == rank as u32).collect();
        let owned = global.len();
        let own = near(rank);
        global.extend(&own);
        let local = |i: u32| -> u32 {
            let (base, part) = if owner[i as usize] == rank as u32 {
                (0, &global[..owned])
            } else {
                (owned, &global[owned..])
            };
            (base + part.binary_search(&i).expect("a row of this rank")) as u32
        };
        let mut ranks: Vec<u32> = own.iter().map(|&i| owner[i as usize]).collect();
        ranks.sort_unstable();
        ranks.dedup();
        // The graph is symmetric: who is near me, I am near to.
        let list = |other: &u32| Neighbor {
            rank: *other as usize,
            send: near(*other as usize)
                .into_iter()
                .filter(|&i| owner[i as usize] == rank as u32)
                .map(local)
                .collect(),
            receive: own.iter().filter(|&&i| owner[i as usize] == *other).map(|&i| local(i)).collect(),
        };
        let neighbors = ranks.iter().map(list).collect();
        Self { global, owned, neighbors }
    }
}

/// Rows of others within so many edges of a rank's own, in ascending order.
fn ghosts(owner: &[u32], ptr: &[usize], cols: &[u32], layers: usize, rank: usize) -> Vec<u32> {
    let mut seen: Vec<bool> = owner.iter().map(|&o| o == rank as u32).collect();
    let mut front: Vec<u32> = (0..owner.len() as u32).filter(|&i| seen[i as usize]).collect();
    let mut found = Vec::new();
    for _ in 0..layers {
        let mut next = Vec::new();
        for &i in &front {
            for &j in &cols[ptr[i as usize]..ptr[i as usize + 1]] {
                if !std::mem::replace(&mut seen[j as usize], true) {
                    next.push(j);
                }
            }
        }
        found.extend(&next);
        front = next;
    }
    found.sort_unstable();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CommError, Communicator, Halo, run};
    use std::time::Duration;

    /// A grid of points, apart by less and less, and two that nothing touches.
    fn grid() -> (Vec<[f64; 3]>, Vec<usize>, Vec<u32>) {
        let (ni, nj) = (9, 5);
        let mut points: Vec<[f64; 3]> =
            (0..ni * nj).map(|n| [(n % ni) as f64, ((n / ni) as f64).powi(2), 0.0]).collect();
        points.extend([[40.0, 0.0, 0.0], [-40.0, 3.0, 1.0]]);
        let (mut ptr, mut cols) = (vec![0], Vec::new());
        for n in 0..points.len() {
            if n < ni * nj {
                let (i, j) = (n % ni, n / ni);
                let near = [
                    (i > 0, n.wrapping_sub(1)),
                    (i + 1 < ni, n + 1),
                    (j > 0, n.wrapping_sub(ni)),
                    (j + 1 < nj, n + ni),
                ];
                cols.extend(near.iter().filter(|near| near.0).map(|near| near.1 as u32));
            }
            ptr.push(cols.len());
        }
        (points, ptr, cols)
    }

    #[test]
    fn parts_share_the_weights() {
        let (points, ..) = grid();
        let weights: Vec<f64> = (0..points.len()).map(|n| (1 + n % 3) as f64).collect();
        for parts in [1, 2, 3, 5, 8] {
            let owner = bisect(&points, &weights, parts);
            let mean = weights.iter().sum::<f64>() / f64::from(parts);
            for part in 0..parts {
                let of = |(o, w): (&u32, &f64)| if *o == part { *w } else { 0.0 };
                let sum: f64 = owner.iter().zip(&weights).map(of).sum();
                // Every cut is at most half a point off, and there are at most three above one another.
                assert!((sum - mean).abs() <= 4.5, "part {part} of {parts}: {sum}, mean {mean}");
            }
        }
        assert_eq!(bisect(&points[..1], &[1.0], 4).len(), 1);
    }

    #[test]
    fn rows_within_the_layers_are_there_with_their_owners_values() {
        for (parts, layers) in [(1, 1), (2, 1), (3, 2), (5, 2), (8, 3), (60, 2)] {
            let held = run(parts, Duration::from_secs(60), move |ranks| {
                let (points, ptr, cols) = grid();
                let owner = bisect(&points, &vec![1.0; points.len()], parts as u32);
                let rows = Rows::new(&owner, &ptr, &cols, layers, ranks.rank());
                let halo = Halo::new(ranks, rows.global.len(), rows.neighbors.clone())?;
                let of = |(row, &n): (usize, &u32)| if row < rows.owned { f64::from(n) } else { f64::NAN };
                let mut x: Vec<f64> = rows.global.iter().enumerate().map(of).collect();
                halo.exchange(ranks, 1, &mut x)?;
                assert!(x.iter().zip(&rows.global).all(|(x, &n)| *x == f64::from(n)));
                let far = |a: u32, b: u32| (a % 9).abs_diff(b % 9) + (a / 9).abs_diff(b / 9);
                for n in (0..45).filter(|&n| owner[n as usize] != ranks.rank() as u32) {
                    let near =
                        rows.global[..rows.owned].iter().any(|&o| o < 45 && far(o, n) <= layers as u32);
                    assert_eq!(rows.global[rows.owned..].contains(&n), near, "node {n}");
                }
                Ok::<_, CommError>(rows.owned)
            });
            assert_eq!(held.unwrap().iter().sum::<usize>(), 47);
        }
    }
}
