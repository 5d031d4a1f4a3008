//! Which rank owns which node: pieces of a curve of Hilbert through all of them, of equal weight.
//!
//! A node's key is its place on the curve through a cube around the mesh, with 32 bits an axis; nodes of one key stand in the order of
//! their numbers. The order is that of the mesh alone, and only the cuts are those of so many ranks. Cuts are found by bisection of keys,
//! each step a sum over ranks: exact, and no rank sees more than its own nodes.
//!
//! **Source**: Skilling (2004), "Programming the Hilbert curve"; partitions along curves: Warren and Salmon (1993).

use crate::parallel;
use crate::ranks::post::{gather_all, swap};
use bytemuck::{Pod, Zeroable};
use chromaflow_comm::{CommError, Communicator, Op};
use chromaflow_device::Team;

/// Bits of a key along each axis.
const BITS: u32 = 32;

/// Where a cell of a cube of 2^bits cells an axis stands on the curve of Hilbert through all of them.
fn place_on_curve(mut x: [u32; 3], bits: u32) -> u128 {
    let mut q = 1_u32 << (bits - 1);
    while q > 1 {
        let low = q - 1;
        for axis in 0..3 {
            if x[axis] & q != 0 {
                x[0] ^= low;
            } else {
                let t = (x[0] ^ x[axis]) & low;
                x[0] ^= t;
                x[axis] ^= t;
            }
        }
        q >>= 1;
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    let mut t = 0;
    q = 1 << (bits - 1);
    while q > 1 {
        if x[2] & q != 0 {
            t ^= q - 1;
        }
        q >>= 1;
    }
    let [a, b, c] = x.map(|x| spread_all(x ^ t));
    a << 2 | b << 1 | c
}

/// Bits of a number, each three places from the next.
fn spread_all(x: u32) -> u128 {
    u128::from(spread(u64::from(x >> 16))) << 48 | u128::from(spread(u64::from(x & 0xFFFF)))
}

/// The lowest 21 bits of a number, each three places from the next.
pub fn spread(x: u64) -> u64 {
    let mut x = x & 0x1f_ffff;
    for (shift, mask) in [
        (32, 0x001f_0000_0000_ffff),
        (16, 0x001f_0000_ff00_00ff),
        (8, 0x100f_00f0_0f00_f00f),
        (4, 0x10c3_0c30_c30c_30c3),
        (2, 0x1249_2492_4924_9249),
    ] {
        x = (x | (x << shift)) & mask;
    }
    x
}

/// A node on its way to its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Node {
    /// Where it is.
    pub at: [f64; 3],
    /// Its number in the file.
    pub number: u32,
    /// What its row costs.
    pub weight: u32,
}

/// The cube around all nodes: its corner and the length of its sides.
fn cube(ranks: &dyn Communicator, nodes: &[Node]) -> Result<([f64; 3], f64), CommError> {
    let mut ends = [f64::NEG_INFINITY; 6];
    for node in nodes {
        for d in 0..3 {
            ends[d] = ends[d].max(-node.at[d]);
            ends[d + 3] = ends[d + 3].max(node.at[d]);
        }
    }
    ranks.reduce(Op::Max, &mut ends)?;
    let low = [-ends[0], -ends[1], -ends[2]];
    let side = (0..3).map(|d| ends[d + 3] - low[d]).fold(0.0, f64::max);
    Ok((low, side))
}

/// Gives every node to its owner, whose nodes follow those of the part of the curve before it: this rank's nodes in the order of the curve,
/// and the owner of each node that was `given` here. `order` has the ranks as they stand along the curve.
pub fn divide(
    ranks: &dyn Communicator,
    team: &Team,
    given: &[Node],
    order: &[u32],
) -> Result<(Vec<Node>, Vec<u32>), CommError> {
    let (low, side) = cube(ranks, given)?;
    let cells = (1_u64 << BITS) as f64;
    let key = |node: &Node| {
        let along = |d: usize| {
            let share = if side > 0.0 { (node.at[d] - low[d]) / side } else { 0.0 };
            (share * cells).min(cells - 1.0) as u32
        };
        place_on_curve([along(0), along(1), along(2)], BITS)
    };
    let keys = parallel::map(team, given, key);
    let cuts = cuts(ranks, given, &keys)?;
    let owner: Vec<u32> = keys.iter().map(|key| order[cuts.partition_point(|cut| cut <= key)]).collect();
    drop(keys);
    let mut lists = vec![Vec::new(); ranks.size()];
    given.iter().zip(&owner).for_each(|(node, &owner)| lists[owner as usize].push(*node));
    let own = swap(ranks, lists)?.concat();
    let keys = parallel::map(team, &own, key);
    let mut sorted: Vec<(u128, u32, u32)> =
        (0..).zip(&own).zip(keys).map(|((at, node), key)| (key, node.number, at)).collect();
    sorted.sort_unstable();
    Ok((sorted.into_iter().map(|(_, _, at)| own[at as usize]).collect(), owner))
}

/// The first keys of all parts but the first.
fn cuts(ranks: &dyn Communicator, nodes: &[Node], keys: &[u128]) -> Result<Vec<u128>, CommError> {
    if ranks.size() == 1 {
        return Ok(Vec::new());
    }
    let mut order: Vec<u32> = (0..keys.len() as u32).collect();
    order.sort_unstable_by_key(|&i| keys[i as usize]);
    let sorted: Vec<u128> = order.iter().map(|&i| keys[i as usize]).collect();
    let mut below = vec![0.0];
    below.extend(order.iter().scan(0_u64, |sum, &i| {
        *sum += u64::from(nodes[i as usize].weight);
        Some(*sum as f64)
    }));
    let mut all = [below[keys.len()]];
    ranks.reduce(Op::Sum, &mut all)?;
    let parts = ranks.size();
    let aim = |part: usize| all[0] * part as f64 / parts as f64;
    // Whole numbers far below 2^53: sums are exact, and all ranks take the same steps.
    let mut ends = vec![[0, 1_u128 << (3 * BITS)]; parts - 1];
    while ends.iter().any(|[low, high]| low < high) {
        let middle = |[low, high]: [u128; 2]| low + (high - low) / 2;
        let lighter = |ends: &[u128; 2]| below[sorted.partition_point(|&key| key < middle(*ends))];
        let mut sums: Vec<f64> = ends.iter().map(lighter).collect();
        ranks.reduce(Op::Sum, &mut sums)?;
        for (part, (ends, sum)) in ends.iter_mut().zip(sums).enumerate().filter(|(_, (e, _))| e[0] < e[1]) {
            let at = middle(*ends);
            if sum < aim(part + 1) { ends[0] = at + 1 } else { ends[1] = at }
        }
    }
    Ok(ends.into_iter().map(|[low, _]| low).collect())
}

/// How many there are on the ranks before this one along `order`, of `own` here, and in all.
pub fn before(ranks: &dyn Communicator, order: &[u32], own: &[u64]) -> Result<Vec<[u64; 2]>, CommError> {
    let all = gather_all(ranks, own)?;
    let mut sums = vec![[0; 2]; own.len()];
    let mut passed = false;
    for &rank in order {
        passed |= rank as usize == ranks.rank();
        for (sum, count) in sums.iter_mut().zip(&all[rank as usize]) {
            sum[0] += if passed { 0 } else { *count };
            sum[1] += count;
        }
    }
    Ok(sums)
}

#[cfg(test)]
mod tests {
    use super::{place_on_curve, spread_all};

    /// Every cell once, and from each to the next one step along one axis.
    #[test]
    fn the_curve_goes_through_all_cells_by_steps_of_one() {
        for bits in 1..=4 {
            let n = 1_u32 << bits;
            let mut cells = vec![[u32::MAX; 3]; 1 << (3 * bits)];
            for x in 0..n {
                for y in 0..n {
                    for z in 0..n {
                        cells[place_on_curve([x, y, z], bits) as usize] = [x, y, z];
                    }
                }
            }
            assert!(cells.iter().all(|cell| *cell != [u32::MAX; 3]));
            for pair in cells.windows(2) {
                let step: u32 = (0..3).map(|d| pair[0][d].abs_diff(pair[1][d])).sum();
                assert_eq!(step, 1, "{bits} bits: {pair:?}");
            }
        }
        for x in [0, 1, 0x8001_0203, u32::MAX] {
            let expected: u128 = (0..32).map(|bit| u128::from(x >> bit & 1) << (3 * bit)).sum();
            assert_eq!(spread_all(x), expected, "{x:x}");
        }
    }
}
