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

/// Some rows of a color.
pub(super) enum Part<'a> {
    /// Those in a range, or the lines that begin there.
    Run(Range<usize>),
    /// Those of a list.
    List(&'a [u32]),
}

/// What a run of rows costs beside its rows, microseconds: ghosts and rows of the other kind part a rank's rows into runs of ten or twenty.
const RUN_US: f64 = 0.1;
/// What a message takes between hosts, and between ranks of one process.
const MESSAGE_US: [f64; 2] = [20.0, 1.0];

/// Whether a color's border rows come first, so that their values travel while its interior rows are worked on: where a message takes longer than
/// the members of a team lose by the many short runs that border and interior rows are. Results are the same either way.
fn hides(share: &Share, batch: &Batch, members: usize) -> bool {
    let message = MESSAGE_US[usize::from(share.ranks().in_process().is_some())];
    (batch.border.len() + batch.interior.len()) as f64 * RUN_US < message * members as f64
}

/// One pass over all colors, the last one before somebody looks at x where it `closes`. After a color, or while interior rows are worked on, the values
/// of its border rows pass, or as [`SweepExchange`] says. `update` writes the new values of some rows of a color, or of the lines that
/// begin among them, into `x`, of rows in `lists` where it takes them; it is told whether the color is one of few rows.
///
/// # Safety
/// `x` has `nb` values for each row of the share; nobody but `update` writes them, and it reads no row of the color but those of the
/// same line. All members of a team call it together.
pub(super) unsafe fn sweep<X: Elem>(
    share: &Share,
    member: &Member<'_>,
    (nb, x): (usize, *mut X),
    (backward, closes): (bool, bool),
    lists: bool,
    mut update: impl FnMut(Part<'_>, bool),
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
        let passes = when == SweepExchange::EveryColor && !batch.neighbors.is_empty();
        let in_order = lists && !(passes && hides(share, batch, member.size()));
        if in_order {
            update(Part::List(&batch.own[member.share(batch.own.len())]), chained);
        } else {
            each(&batch.border, member, |rows| update(Part::Run(rows), chained));
        }
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
            if !in_order {
                each(&batch.interior, member, |rows| update(Part::Run(rows), chained));
            }
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
