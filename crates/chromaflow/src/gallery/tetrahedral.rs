//! Patterns like those of tetrahedral meshes: irregular rows, about 13.6 neighbors each.

/// `(row_ptr, col_idx)` of a symmetric pattern without diagonal in which `edges` pairs of `rows` scattered points are
/// neighbors (fewer where there are not that many close pairs, about 13 a row). Points lie at random near the places
/// of a cubic lattice, the closest pairs become neighbors, and the rows are numbered at random, so that there is
/// something to order.
pub fn tetrahedral(rows: usize, edges: usize, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let side = (1..=rows).find(|s| s.pow(3) >= rows).expect("rows > 0");
    let bases = [0, 1, 2, 3].map(|s| super::case::base(seed.wrapping_mul(8).wrapping_add(100 + s)));
    let random = |stream: usize, i: usize| super::case::value(bases[stream], i);
    let place = |p: usize| [p % side, p / side % side, p / (side * side)];
    let point = |p: usize| {
        let lattice = place(p);
        [0, 1, 2].map(|d| lattice[d] as f64 + 0.7 * random(d, p))
    };
    let mut pairs: Vec<(u64, u32, u32)> = Vec::new();
    for p in 0..rows {
        let ([i, j, k], from) = (place(p), point(p));
        for step in 14..27_usize {
            // The later half of the 26 lattice neighbors, so that each pair comes up once.
            let to = [i + step % 3, j + step / 3 % 3, k + step / 9];
            if to.iter().any(|&t| t == 0 || t > side) {
                continue;
            }
            let q = to[0] - 1 + side * (to[1] - 1 + side * (to[2] - 1));
            if q < rows {
                let length: f64 = from.iter().zip(point(q)).map(|(a, b)| (a - b) * (a - b)).sum();
                pairs.push((length.to_bits(), p as u32, q as u32)); // bits of positive numbers ascend like them
            }
        }
    }
    let edges = edges.min(pairs.len());
    if edges < pairs.len() {
        pairs.select_nth_unstable(edges);
    }
    let mut number: Vec<u32> = (0..rows as u32).collect();
    number.sort_by_key(|&p| ((random(3, p as usize) + 1.0).to_bits(), p));
    let mut neighbors: Vec<Vec<u32>> = vec![Vec::new(); rows];
    for &(_, p, q) in &pairs[..edges] {
        let (p, q) = (number[p as usize], number[q as usize]);
        neighbors[p as usize].push(q);
        neighbors[q as usize].push(p);
    }
    let mut row_ptr = vec![0];
    let mut col_idx = Vec::with_capacity(2 * edges);
    for mut list in neighbors {
        list.sort_unstable();
        col_idx.extend(list);
        row_ptr.push(col_idx.len() as u32);
    }
    (row_ptr, col_idx)
}

/// `(row_ptr, col_idx)` of a symmetric pattern without diagonal on a cubic lattice in its natural order: the six neighbors
/// along the axes and, for every point, some of those across faces and the body, chosen at random so that there are about
/// `edges` pairs. Banded as a mesh after reverse Cuthill-McKee, with rows as irregular as those of a tetrahedral mesh.
pub fn banded_lattice(rows: usize, edges: usize, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let side = (1..=rows).find(|s| s.pow(3) >= rows).expect("rows > 0");
    let base = super::case::base(seed.wrapping_mul(8).wrapping_add(200));
    let place = |p: usize| [p % side, p / side % side, p / (side * side)];
    // The later half of the 26 lattice neighbors: steps 14, 16 and 22 (in base three) go along an axis.
    let pairs = |keep: f64, each: &mut dyn FnMut(usize, usize)| {
        for p in 0..rows {
            let [i, j, k] = place(p);
            for step in 14..27_usize {
                let to = [i + step % 3, j + step / 3 % 3, k + step / 9];
                if to.iter().any(|&t| t == 0 || t > side) {
                    continue;
                }
                let q = to[0] - 1 + side * (to[1] - 1 + side * (to[2] - 1));
                let axis = matches!(step, 14 | 16 | 22);
                if q < rows && (axis || super::case::value(base, 13 * p + step - 14) + 0.5 < keep) {
                    each(p, q);
                }
            }
        }
    };
    let (mut axes, mut all) = (0, 0);
    pairs(0.0, &mut |_, _| axes += 1);
    pairs(1.0, &mut |_, _| all += 1);
    let keep = (edges.saturating_sub(axes)) as f64 / (all - axes).max(1) as f64;
    let mut row_ptr = vec![0u32; rows + 1];
    pairs(keep, &mut |p, q| {
        row_ptr[p + 1] += 1;
        row_ptr[q + 1] += 1;
    });
    for r in 0..rows {
        row_ptr[r + 1] += row_ptr[r];
    }
    let mut next = row_ptr.clone();
    let mut col_idx = vec![0; row_ptr[rows] as usize];
    pairs(keep, &mut |p, q| {
        for (row, col) in [(p, q), (q, p)] {
            col_idx[next[row] as usize] = col as u32;
            next[row] += 1;
        }
    });
    for r in 0..rows {
        col_idx[row_ptr[r] as usize..row_ptr[r + 1] as usize].sort_unstable();
    }
    (row_ptr, col_idx)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_banded_lattice_has_about_the_blocks_asked_for() {
        let (row_ptr, col_idx) = banded_lattice(6309, 42_884, 1);
        assert_eq!(row_ptr.len(), 6310);
        assert!((col_idx.len() as f64 / 85_768.0 - 1.0).abs() < 0.02, "{}", col_idx.len());
        let wide = |r: usize| {
            (row_ptr[r]..row_ptr[r + 1]).all(|k| col_idx[k as usize].abs_diff(r as u32) <= 19 * 19 + 20)
        };
        assert!((0..6309).all(wide), "banded");
    }

    #[test]
    fn patterns_are_symmetric_without_diagonal() {
        for (row_ptr, col_idx) in [tetrahedral(200, 1300, 7), banded_lattice(200, 1300, 7)] {
            check_symmetric(&row_ptr, &col_idx);
        }
    }

    fn check_symmetric(row_ptr: &[u32], col_idx: &[u32]) {
        let columns = |r: usize| &col_idx[row_ptr[r] as usize..row_ptr[r + 1] as usize];
        for r in 0..200 {
            assert!(columns(r).windows(2).all(|w| w[0] < w[1]));
            for &c in columns(r) {
                assert!(c as usize != r && columns(c as usize).contains(&(r as u32)));
            }
        }
    }
}
