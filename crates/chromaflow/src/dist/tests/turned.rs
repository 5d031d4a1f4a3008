//! A sector of a ring: rows on its one side read those on the other one, turned.

use super::{PATIENCE, wave};
use crate::dist::{Image, Images, Share};
use crate::factor::block_ilu::{BlockIluOptions, IluOverRanks};
use crate::sparse::{BlockPattern, Jacobian, OffDiagonal};
use crate::{Policy, RowBatches, Storage};
use chromaflow_comm::{Threads, run};
use chromaflow_device::Team;
use std::sync::Arc;

/// A third of a ring, of so many rows with neighbors before and behind them, and images of the last and the first one.
pub(crate) fn third_of_a_ring(
    ranks: &Threads,
    (rows, nb): (usize, usize),
    policy: Policy,
) -> (Arc<Share>, Jacobian, Vec<f64>) {
    let (last, before, behind) = (rows as u32 - 1, rows as u32, rows as u32 + 1);
    let (mut ptr, mut columns) = (vec![0], Vec::new());
    for row in 0..rows as u32 {
        let mut near = [if row == 0 { before } else { row - 1 }, if row == last { behind } else { row + 1 }];
        near.sort_unstable();
        columns.extend(near);
        ptr.push(columns.len() as u32);
    }
    ptr.extend([columns.len() as u32; 2]);
    let pattern = BlockPattern::new(rows + 2, ptr, columns).unwrap();
    let (c, s) = (-0.5, 0.75_f64.sqrt());
    let images = Images {
        list: vec![Image { row: before, of: last, turn: 0 }, Image { row: behind, of: 0, turn: 1 }],
        on_axis: Vec::new(),
        turns: vec![
            [[1.0, 0.0, 0.0], [0.0, c, s], [0.0, -s, c]],
            [[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]],
        ],
    };
    let owners: Vec<u32> = (0..rows + 2).map(|row| u32::from(row >= rows)).collect();
    let (global, batches) = ((0..rows as u32 + 2).collect(), RowBatches::single(rows + 2));
    let whole = [[rows, rows]];
    let share =
        Share::with_images(Arc::new(ranks.clone()), &pattern, &batches, &whole, global, (&owners, images))
            .unwrap();
    let mut jacobian = Jacobian::zeroed(Arc::new(pattern), nb, policy).unwrap();
    match &mut jacobian.off {
        OffDiagonal::F64(off) => off.iter_mut().enumerate().for_each(|(i, v)| *v = wave(rows, i)),
        OffDiagonal::F32(off) => off.iter_mut().enumerate().for_each(|(i, v)| *v = wave(rows, i) as f32),
        OffDiagonal::F16 { .. } => unreachable!(),
    }
    for (i, v) in jacobian.diag.iter_mut().enumerate() {
        let unit = if i % (nb * nb) % (nb + 1) == 0 { 3.0 * nb as f64 } else { 0.0 };
        *v = unit + wave(nb, i);
    }
    let b = (0..(rows + 2) * nb).map(|i| wave(5, i)).collect();
    (Arc::new(share), jacobian, b)
}

/// The sector's rows make a full matrix once images are folded into them, and its incomplete factors are exact.
#[test]
fn factors_see_a_ring_across_its_seam() {
    let shapes = [(3, 5), (2, 5), (1, 5), (3, 6), (3, 1), (1, 2)];
    // Sums of values in f16 are rounded to f32.
    for ((rows, nb), (policy, bound)) in
        shapes.into_iter().flat_map(|shape| [(Policy::D, 1e-12), (Policy::Ds, 1e-6)].map(|how| (shape, how)))
    {
        let job = move |ranks: &Threads| -> Result<(), String> {
            let (share, mut jacobian, b) = third_of_a_ring(ranks, (rows, nb), policy);
            let team = Team::new(1);
            if policy == Policy::Ds {
                jacobian.narrow_to_f16_together(&team, &|largest| 3.0 * largest).unwrap();
            }
            let options = BlockIluOptions { storage: Storage::F64, ..BlockIluOptions::default() };
            let mut factors = IluOverRanks::new(&share, jacobian.pattern(), nb, options, &team).unwrap();
            factors.factor(&jacobian, &team).unwrap();
            let mut x = vec![0.0; b.len()];
            factors.solve(&team, &b, &mut x);
            // Images among x are those of its rows.
            let mut product = vec![0.0; b.len()];
            jacobian.multiply(&team, &x, &mut product);
            for i in 0..rows * nb {
                assert!((product[i] - b[i]).abs() < bound, "{rows} rows of {nb}: {} {}", product[i], b[i]);
            }
            Ok(())
        };
        run(1, PATIENCE, job).unwrap();
    }
}
