#![allow(unsafe_code)]
//! Sweeps over rows that are divided among ranks: the same colors in the same order as on one rank, each color's values exchanged
//! before the next color reads them.

use crate::dist::{Batch, Share, SweepExchange};
use chromaflow_device::Member;
use chromaflow_simd::Elem;
use std::ops::Range;

/// Batches with fewer rows and values than these are done row after row on one rank: see `order::Schedule`.
const CHAINED: [usize; 2] = [8, 8 * 1500];

/// Whether a batch of so many rows and so high a cost is done row after row.
fn is_chained([rows, cost]: [usize; 2], nb: usize) -> bool {
    rows < CHAINED[0] && cost * nb * nb < CHAINED[1]
}

/// The same of all rows together, those of one rank's Jacobi relaxation.
pub(super) fn all_are_chained(share: &Share, nb: usize) -> bool {
    let all = share.batches().iter().fold([0; 2], |[r, c], batch| [r + batch.whole[0], c + batch.whole[1]]);
    is_chained(all, nb)
}

/// One pass over all colors, the last one before somebody looks at x where it `closes`. A color's border rows come first, then their values
/// travel while its interior rows are worked on, or as [`SweepExchange`] says. `update` writes the new values of some rows of a color, or
/// of the lines that begin among them, into `x`; it is told whether the color is one of few rows.
///
/// # Safety
/// `x` has `nb` values for each row of the share; nobody but `update` writes them, and it reads no row of the color but those of the
/// same line. All members of a team call it together.
pub(super) unsafe fn sweep<X: Elem>(
    share: &Share,
    member: &Member<'_>,
    (nb, x): (usize, *mut X),
    (backward, closes): (bool, bool),
    mut update: impl FnMut(Range<usize>, bool),
) {
    let batches = share.batches();
    let when = match share.sweep_exchange() {
        SweepExchange::EverySolve if closes => SweepExchange::EverySweep,
        when => when,
    };
    let order = |at: usize| &batches[if backward { batches.len() - 1 - at } else { at }];
    for at in 0..batches.len() {
        let batch = order(at);
        let chained = is_chained(batch.whole, nb);
        let mut work = |rows: Range<usize>| update(rows, chained);
        each(&batch.border, member, &mut work);
        let passes = when == SweepExchange::EveryColor && !batch.neighbors.is_empty();
        // SAFETY: ghosts are written, and border rows sent, by the first member between two barriers, while nobody else writes border
        // rows or reads ghosts of the color.
        unsafe {
            if passes {
                member.barrier();
                if member.rank() == 0 {
                    if cfg!(debug_assertions) {
                        poison(batch, nb, x);
                    }
                    send(share, batch, nb, x);
                }
            }
            each(&batch.interior, member, &mut work);
            if passes && member.rank() == 0 {
                receive(share, batch, nb, x);
            }
            member.barrier();
            // A row may be its own neighbor's image: images follow when nobody reads them.
            if when == SweepExchange::EveryColor && !batch.images.is_empty() {
                if member.rank() == 0 {
                    fill(share, batch, nb, x);
                }
                member.barrier();
            }
            if when == SweepExchange::ColorLate {
                if member.rank() == 0 {
                    if at > 0 {
                        receive(share, order(at - 1), nb, x);
                        fill(share, order(at - 1), nb, x);
                    }
                    send(share, batch, nb, x);
                }
                member.barrier();
            }
        }
    }
    if matches!(when, SweepExchange::ColorLate | SweepExchange::EverySweep) {
        if member.rank() == 0 {
            let late = if when == SweepExchange::ColorLate { batches.len().saturating_sub(1) } else { 0 };
            // SAFETY: all members wait for the first.
            unsafe {
                if when == SweepExchange::EverySweep {
                    for batch in batches {
                        send(share, batch, nb, x);
                    }
                }
                for at in late..batches.len() {
                    let batch = if when == SweepExchange::ColorLate { order(at) } else { &batches[at] };
                    receive(share, batch, nb, x);
                    fill(share, batch, nb, x);
                }
            }
        }
        member.barrier();
    }
}

/// A member's part of runs of rows: about as many rows as the others have, wherever lines begin among them.
fn each(runs: &[Range<usize>], member: &Member<'_>, mut work: impl FnMut(Range<usize>)) {
    if member.size() == 1 {
        return runs.iter().cloned().for_each(work);
    }
    let mine = member.share(runs.iter().map(ExactSizeIterator::len).sum());
    let mut first = 0;
    for run in runs {
        let (start, end) = (mine.start.max(first), mine.end.min(first + run.len()));
        if start < end {
            work(run.start + start - first..run.start + end - first);
        }
        first += run.len();
    }
}

/// Packs border rows for the neighbors.
///
/// # Safety
/// `x` has `nb` values for each row of the share, and nobody writes the border rows of the batch.
unsafe fn send<X>(share: &Share, batch: &Batch, nb: usize, x: *const X) {
    let width = nb * size_of::<X>();
    for n in batch.neighbors.iter().filter(|n| !n.send.is_empty()) {
        let mut packed = Vec::with_capacity(n.send.len() * width);
        for &row in &n.send {
            // SAFETY: the caller's promise.
            let values = unsafe { std::slice::from_raw_parts(x.add(row as usize * nb).cast::<u8>(), width) };
            packed.extend_from_slice(values);
        }
        share.post(n.rank, packed);
    }
}

/// Makes NaN of the ghosts of a batch that are on their way: whoever reads them before they are there, or gets others, shows.
///
/// # Safety
/// As [`receive`].
unsafe fn poison<X>(batch: &Batch, nb: usize, x: *mut X) {
    for &row in batch.neighbors.iter().flat_map(|n| &n.receive) {
        // SAFETY: the caller's promise; all bits set are NaN in every precision.
        unsafe { x.add(row as usize * nb).write_bytes(u8::MAX, nb) };
    }
}

/// Waits for the neighbors' border rows and writes them into the ghosts of the batch.
///
/// # Safety
/// `x` has `nb` values for each row of the share, and nobody else reads or writes the ghosts of the batch. Any bytes are a value
/// of X.
unsafe fn receive<X>(share: &Share, batch: &Batch, nb: usize, x: *mut X) {
    let width = nb * size_of::<X>();
    for n in batch.neighbors.iter().filter(|n| !n.receive.is_empty()) {
        let color = || {
            let color = share.batches().iter().position(|other| std::ptr::eq(other, batch));
            format!("color {} of {}", 1 + color.unwrap_or(0), share.batches().len())
        };
        let Some(packed) = share.take(n.rank, n.receive.len() * width, color) else { return };
        for (&row, values) in n.receive.iter().zip(packed.chunks_exact(width)) {
            // SAFETY: the caller's promise; each chunk has the bytes of one row.
            unsafe {
                let ghost = x.add(row as usize * nb).cast::<u8>();
                std::ptr::copy_nonoverlapping(values.as_ptr(), ghost, width);
            }
        }
    }
}

/// Images of the rows of a batch become what those are.
///
/// # Safety
/// `x` has `nb` values for each row of the share, and nobody else writes rows of the batch or reads or writes their images.
unsafe fn fill<X: Elem>(share: &Share, batch: &Batch, nb: usize, x: *mut X) {
    for image in &batch.images {
        // SAFETY: the caller's promise; rows of a share are those of x.
        unsafe {
            let from = std::slice::from_raw_parts(x.add(image.of as usize * nb), nb);
            let turned = share.images().turned(image, from);
            for (v, &value) in turned[..nb].iter().enumerate() {
                x.add(image.row as usize * nb + v).write(X::from_f64(value));
            }
        }
    }
}
