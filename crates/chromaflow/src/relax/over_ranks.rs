#![allow(unsafe_code)]
//! Sweeps over rows that are divided among ranks: the same colors in the same order as on one rank, each color's values exchanged
//! before the next color reads them.

use super::sweep::{Precision, SweepData, sweep_rows};
use crate::dist::{Batch, Share, SweepExchange};
use chromaflow_device::{Isa, Member};
use std::ops::Range;

/// Batches with fewer rows and values than these are done row after row on one rank: see `order::Schedule`.
const CHAINED: [usize; 2] = [8, 8 * 1500];

/// One pass over all colors, the last one before somebody looks at x where it `closes`. A color's border rows come first, then their values
/// travel while its interior rows are worked on, or as [`SweepExchange`] says.
///
/// # Safety
/// As [`sweep_rows`], for all rows of the share. All members of a team call it together.
pub(super) unsafe fn sweep<P: Precision>(
    share: &Share,
    member: &Member<'_>,
    isa: Isa,
    nb: usize,
    data: &SweepData<'_, P>,
    (backward, closes): (bool, bool),
) {
    let batches = share.batches();
    let when = match share.sweep_exchange() {
        SweepExchange::EverySolve if closes => SweepExchange::EverySweep,
        when => when,
    };
    let order = |at: usize| &batches[if backward { batches.len() - 1 - at } else { at }];
    for at in 0..batches.len() {
        let batch = order(at);
        let [rows, cost] = batch.whole;
        let chained = rows < CHAINED[0] && cost * nb * nb < CHAINED[1];
        let work = |rows: Range<usize>| {
            // SAFETY: the caller's promise; rows of a color do not read one another, members have disjoint parts of them, and
            // barriers part the colors.
            unsafe { sweep_rows(isa, nb, data, rows, false, chained) };
        };
        each(&batch.border, member, work);
        let passes = when == SweepExchange::EveryColor && !batch.neighbors.is_empty();
        // SAFETY: ghosts are written, and border rows sent, by the first member between two barriers, while nobody else writes border
        // rows or reads ghosts of the color.
        unsafe {
            if passes {
                member.barrier();
                if member.rank() == 0 {
                    if cfg!(debug_assertions) {
                        poison(batch, nb, data.x_out);
                    }
                    send(share, batch, nb, data.x_out);
                }
            }
            each(&batch.interior, member, work);
            if passes && member.rank() == 0 {
                receive(share, batch, nb, data.x_out);
            }
            member.barrier();
            if when == SweepExchange::ColorLate {
                if member.rank() == 0 {
                    if at > 0 {
                        receive(share, order(at - 1), nb, data.x_out);
                    }
                    send(share, batch, nb, data.x_out);
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
                        send(share, batch, nb, data.x_out);
                    }
                }
                for at in late..batches.len() {
                    let batch = if when == SweepExchange::ColorLate { order(at) } else { &batches[at] };
                    receive(share, batch, nb, data.x_out);
                }
            }
        }
        member.barrier();
    }
}

/// A member's part of runs of rows: about as many rows as the others have.
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
        let Some(packed) = share.take(n.rank, n.receive.len() * width) else { return };
        for (&row, values) in n.receive.iter().zip(packed.chunks_exact(width)) {
            // SAFETY: the caller's promise; each chunk has the bytes of one row.
            unsafe {
                let ghost = x.add(row as usize * nb).cast::<u8>();
                std::ptr::copy_nonoverlapping(values.as_ptr(), ghost, width);
            }
        }
    }
}
