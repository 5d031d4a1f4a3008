//! Parts of graphs whose best cuts are known.

use super::{partition, partition_in_groups};

/// A grid of points, each joined with its neighbors.
fn grid(sides: [usize; 3]) -> (Vec<usize>, Vec<u32>) {
    let [ni, nj, nk] = sides;
    let (mut ptr, mut cols) = (vec![0], Vec::new());
    for n in 0..ni * nj * nk {
        let at = [n % ni, n / ni % nj, n / ni / nj];
        for (d, step) in [1, ni, ni * nj].into_iter().enumerate() {
            if at[d] > 0 {
                cols.push((n - step) as u32);
            }
            if at[d] + 1 < sides[d] {
                cols.push((n + step) as u32);
            }
        }
        ptr.push(cols.len());
    }
    (ptr, cols)
}

fn cut(ptr: &[usize], cols: &[u32], part: &[u32]) -> usize {
    let across = |i: usize| cols[ptr[i]..ptr[i + 1]].iter().filter(|&&j| part[j as usize] != part[i]).count();
    (0..part.len()).map(across).sum::<usize>() / 2
}

/// The heaviest part over its share.
fn balance(weights: &[u64], part: &[u32], shares: &[u32]) -> f64 {
    let whole = weights.iter().sum::<u64>() as f64 / f64::from(shares.iter().sum::<u32>());
    let of = |(k, &share): (u32, &u32)| {
        let own = part.iter().zip(weights).filter(|(p, _)| **p == k).map(|(_, w)| *w).sum::<u64>();
        own as f64 / (whole * f64::from(share))
    };
    (0..).zip(shares).map(of).fold(0.0, f64::max)
}

/// Squares and cubes in 2, 4, 8 parts: straight cuts through the middle are best; what is found crosses at most two fifths more
/// edges.
#[test]
fn grids_are_cut_as_by_rulers() {
    for (sides, parts, best) in [
        ([64, 64, 1], 2, 64),
        ([64, 64, 1], 4, 128),
        ([24, 24, 24], 2, 576),
        ([24, 24, 24], 8, 3 * 576),
        ([200, 10, 1], 5, 40),
    ] {
        let (ptr, cols) = grid(sides);
        let weights = vec![1; ptr.len() - 1];
        let shares = vec![1; parts];
        let part = partition(&ptr, &cols, &weights, &shares, 1);
        let (found, even) = (cut(&ptr, &cols, &part), balance(&weights, &part, &shares));
        assert!(even <= 1.015, "{sides:?} in {parts}: balance {even}");
        assert!(found * 5 <= best * 7, "{sides:?} in {parts}: {found} edges cut, {best} by a ruler");
        assert_eq!(part, partition(&ptr, &cols, &weights, &shares, 3), "the same again, by three threads");
    }
}

/// Shares that differ, weights that differ.
#[test]
fn parts_weigh_what_they_should() {
    let (ptr, cols) = grid([30, 20, 7]);
    let weights: Vec<u64> = (0..4200).map(|i| 3 + i * i % 11).collect();
    for shares in [&[1, 1, 1][..], &[3, 1], &[4, 4, 2, 1], &[1; 13]] {
        let part = partition(&ptr, &cols, &weights, shares, 1);
        let even = balance(&weights, &part, shares);
        assert!(even <= 1.03, "{shares:?}: {even}");
        assert!(part.iter().all(|&p| (p as usize) < shares.len()));
    }
}

/// No edges, several pieces, a hub that touches all, fewer vertices than parts, none at all.
#[test]
fn odd_graphs_have_parts_too() {
    let lonely = partition(&vec![0; 101], &[], &[1; 100], &[1; 4], 1);
    assert!(balance(&[1; 100], &lonely, &[1; 4]) <= 1.05);
    let mut cols: Vec<u32> = (1..500).collect();
    let mut ptr = vec![0, 499];
    (1..500).for_each(|i| {
        cols.push(0);
        ptr.push(499 + i);
    });
    let hub = partition(&ptr, &cols, &[1; 500], &[1; 3], 1);
    assert!(balance(&[1; 500], &hub, &[1; 3]) <= 1.05, "{}", balance(&[1; 500], &hub, &[1; 3]));
    let (ptr, cols) = grid([3, 1, 1]);
    let few = partition(&ptr, &cols, &[1; 3], &[1; 8], 1);
    assert!(few.iter().all(|&p| p < 8) && few[0] != few[1] && few[1] != few[2] && few[0] != few[2]);
    assert!(partition(&[0], &[], &[], &[1, 1], 1).is_empty());
    let (one, other) = (grid([40, 10, 1]), grid([20, 20, 1]));
    let mut ptr = one.0.clone();
    ptr.extend(other.0[1..].iter().map(|p| p + one.1.len()));
    let cols: Vec<u32> = one.1.iter().copied().chain(other.1.iter().map(|c| c + 400)).collect();
    let part = partition(&ptr, &cols, &[1; 800], &[1, 1], 1);
    assert!(cut(&ptr, &cols, &part) <= 12, "{} edges cut, none need be", cut(&ptr, &cols, &part));
}

/// Two hosts of three ranks on a long grid: one cut between hosts, two in each; one host of all is the plain partition.
#[test]
fn hosts_are_divided_first() {
    let (ptr, cols) = grid([120, 8, 1]);
    let weights = vec![1; 960];
    let part = partition_in_groups(&ptr, (&cols, Vec::new()), &weights, &[3, 3], 1);
    assert!(balance(&weights, &part, &[1; 6]) <= 1.04);
    let host: Vec<u32> = part.iter().map(|p| p / 3).collect();
    assert!(cut(&ptr, &cols, &host) <= 10 && cut(&ptr, &cols, &part) <= 50);
    assert_eq!(
        partition_in_groups(&ptr, (&cols, Vec::new()), &weights, &[4], 1),
        partition(&ptr, &cols, &weights, &[1; 4], 1)
    );
    let uneven = partition_in_groups(&ptr, (&cols, Vec::new()), &weights, &[1, 4], 1);
    assert!(balance(&weights, &uneven, &[1; 5]) <= 1.04);
}

/// A square whose edges along one side count a hundred times is cut across the others alone.
#[test]
fn heavy_edges_are_not_cut() {
    let (ptr, cols) = grid([12, 12, 1]);
    for along in [|n: usize| n / 12, |n: usize| n % 12] {
        let ends = (0..144).flat_map(|from| cols[ptr[from]..ptr[from + 1]].iter().map(move |&to| (from, to)));
        let edges: Vec<u32> =
            ends.map(|(from, to)| if along(from) == along(to as usize) { 100 } else { 1 }).collect();
        for groups in [&[2][..], &[1, 1]] {
            let part = partition_in_groups(&ptr, (&cols, edges.clone()), &[1; 144], groups, 1);
            let apart = |n: usize| (0..n).any(|m| along(m) == along(n) && part[m] != part[n]);
            assert!(!(0..144).any(apart), "{part:?}");
            assert_eq!(balance(&[1; 144], &part, &[1; 2]), 1.0);
        }
    }
}
