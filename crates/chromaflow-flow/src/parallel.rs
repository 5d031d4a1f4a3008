//! Loops over rows on a team, each member writing its own contiguous part of the output. Nothing here depends on the
//! number of members but who computes what.

use chromaflow_device::{Team, split};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Calls `f(rows, part)` on every member: `part` holds the `width` values of each of its `rows` of `out`.
pub fn rows<T: Send>(
    team: &Team,
    n: usize,
    width: usize,
    out: &mut [T],
    f: impl Fn(Range<usize>, &mut [T]) + Sync,
) {
    assert_eq!(out.len(), n * width);
    if team.size() == 1 {
        return f(0..n, out);
    }
    let parts = cut(team.size(), out, |p| (split(n, team.size(), p), split(n, team.size(), p).len() * width));
    team.run(|m| {
        let mut part = parts[m.rank()].lock().expect("each member locks its own part once");
        let (range, values) = &mut *part;
        f(range.clone(), values);
    });
}

/// Those of a list in the order of their rows that are in `rows`.
pub fn within<'a, T>(list: &'a [T], rows: &Range<usize>, row_of: impl Fn(&T) -> u32) -> &'a [T] {
    let bound = |row: usize| list.partition_point(|item| (row_of(item) as usize) < row);
    &list[bound(rows.start)..bound(rows.end)]
}

/// Gives each value what `f` makes of its number and of the value.
pub fn each(team: &Team, values: &mut [f64], f: impl Fn(usize, f64) -> f64 + Sync) {
    rows(team, values.len(), 1, values, |range, values| {
        for (i, value) in range.zip(values) {
            *value = f(i, *value);
        }
    });
}

/// Calls `f(rows, part)` for pieces of `size` rows, with a value of `out` each, which members take in turn: where rows cost more or less.
pub fn in_turn<T: Send>(team: &Team, size: usize, out: &mut [T], f: impl Fn(Range<usize>, &mut [T]) + Sync) {
    let pieces: Vec<_> = out.chunks_mut(size).map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    team.run(|_| {
        loop {
            let k = next.fetch_add(1, Relaxed);
            let Some(piece) = pieces.get(k) else { return };
            let mut piece = piece.lock().expect("each piece is taken once");
            f(k * size..k * size + piece.len(), &mut piece);
        }
    });
}

/// As [`rows`], with two outputs.
pub fn rows2<T: Send, U: Send>(
    team: &Team,
    n: usize,
    (width1, out1): (usize, &mut [T]),
    (width2, out2): (usize, &mut [U]),
    f: impl Fn(Range<usize>, &mut [T], &mut [U]) + Sync,
) {
    assert_eq!((out1.len(), out2.len()), (n * width1, n * width2));
    if team.size() == 1 {
        return f(0..n, out1, out2);
    }
    let range = |p| split(n, team.size(), p);
    let first = cut(team.size(), out1, |p| (range(p), range(p).len() * width1));
    let second = cut(team.size(), out2, |p| (range(p), range(p).len() * width2));
    team.run(|m| {
        let mut one = first[m.rank()].lock().expect("each member locks its own part once");
        let mut two = second[m.rank()].lock().expect("each member locks its own part once");
        f(one.0.clone(), one.1, two.1);
    });
}

/// As [`rows2`], with three outputs.
pub fn rows3<T: Send, U: Send, V: Send>(
    team: &Team,
    n: usize,
    (width1, out1): (usize, &mut [T]),
    (width2, out2): (usize, &mut [U]),
    (width3, out3): (usize, &mut [V]),
    f: impl Fn(Range<usize>, &mut [T], &mut [U], &mut [V]) + Sync,
) {
    assert_eq!((out1.len(), out2.len(), out3.len()), (n * width1, n * width2, n * width3));
    let range = |p| split(n, team.size(), p);
    let first = cut(team.size(), out1, |p| (range(p), range(p).len() * width1));
    let second = cut(team.size(), out2, |p| (range(p), range(p).len() * width2));
    let third = cut(team.size(), out3, |p| (range(p), range(p).len() * width3));
    team.run(|m| {
        let mut one = first[m.rank()].lock().expect("each member locks its own part once");
        let mut two = second[m.rank()].lock().expect("each member locks its own part once");
        let mut three = third[m.rank()].lock().expect("each member locks its own part once");
        f(one.0.clone(), one.1, two.1, three.1);
    });
}

/// As [`rows2`], the first output with values for the positions of a pattern, the second with values for its rows; rows
/// are cut so that each member gets about as many positions as the others.
pub fn positions<T: Send, U: Send>(
    team: &Team,
    row_ptr: &[u32],
    (width1, out1): (usize, &mut [T]),
    (width2, out2): (usize, &mut [U]),
    f: impl Fn(Range<usize>, &mut [T], &mut [U]) + Sync,
) {
    let (n, size) = (row_ptr.len() - 1, team.size());
    assert_eq!((out1.len(), out2.len()), (row_ptr[n] as usize * width1, n * width2));
    let bound = |p: usize| {
        if p == size {
            n
        } else {
            row_ptr.partition_point(|&k| (k as usize) < row_ptr[n] as usize * p / size)
        }
    };
    let range = |p| bound(p)..bound(p + 1);
    let first = cut(size, out1, |p| {
        let count = row_ptr[range(p).end] - row_ptr[range(p).start];
        (range(p), count as usize * width1)
    });
    let second = cut(size, out2, |p| (range(p), range(p).len() * width2));
    team.run(|m| {
        let mut one = first[m.rank()].lock().expect("each member locks its own part once");
        let mut two = second[m.rank()].lock().expect("each member locks its own part once");
        f(one.0.clone(), one.1, two.1);
    });
}

type Part<'a, T> = Mutex<(Range<usize>, &'a mut [T])>;

fn cut<T>(
    size: usize,
    mut rest: &mut [T],
    part: impl Fn(usize) -> (Range<usize>, usize),
) -> Vec<Part<'_, T>> {
    (0..size)
        .map(|p| {
            let (range, len) = part(p);
            let (head, tail) = std::mem::take(&mut rest).split_at_mut(len);
            rest = tail;
            Mutex::new((range, head))
        })
        .collect()
}

/// Fewer items than these, of a face's work each, are done sooner than a team meets.
const FEW: usize = 256;

/// `f` of each item, in their order.
pub fn map<I: Sync, T: Send + Default + Clone>(
    team: &Team,
    items: &[I],
    f: impl Fn(&I) -> T + Sync,
) -> Vec<T> {
    if items.len() < FEW || team.size() == 1 {
        return items.iter().map(f).collect();
    }
    let mut all = vec![T::default(); items.len()];
    rows(team, items.len(), 1, &mut all, |range, out| {
        for (item, slot) in items[range].iter().zip(out) {
            *slot = f(item);
        }
    });
    all
}

/// Rows that one partial sum covers.
const CHUNK: usize = 2048;

/// Combines `f(rows)` over fixed chunks of `0..n` in their order, so that the result does not depend on the team.
pub fn reduce<A: Send + Default + Clone>(
    team: &Team,
    n: usize,
    f: impl Fn(Range<usize>) -> A + Sync,
    combine: impl Fn(&mut A, A),
) -> A {
    let chunks = n.div_ceil(CHUNK);
    let mut partial = vec![A::default(); chunks];
    rows(team, chunks, 1, &mut partial, |range, out| {
        for (chunk, slot) in range.zip(out) {
            *slot = f(chunk * CHUNK..((chunk + 1) * CHUNK).min(n));
        }
    });
    let mut all = A::default();
    for part in partial {
        combine(&mut all, part);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_is_written_once_by_any_team() {
        let row_ptr = [0, 3, 3, 4, 9, 10];
        for size in [1, 2, 3, 7] {
            let team = Team::new(size);
            let mut out = vec![0; 5 * 2];
            rows(&team, 5, 2, &mut out, |range, part| {
                for (row, values) in range.zip(part.chunks_mut(2)) {
                    values.fill(row + 1);
                }
            });
            assert_eq!(out, [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
            in_turn(&team, 3, &mut out, |range, part| {
                part.iter_mut().zip(range).for_each(|(value, row)| *value += 10 * row);
            });
            assert_eq!(out, [1, 11, 22, 32, 43, 53, 64, 74, 85, 95]);
            let (mut marks, mut rows) = (vec![0; 10], vec![0; 5]);
            positions(&team, &row_ptr, (1, &mut marks), (1, &mut rows), |range, part, rows| {
                let base = row_ptr[range.start];
                for (row, slot) in range.zip(rows) {
                    *slot = row;
                    for k in row_ptr[row]..row_ptr[row + 1] {
                        part[(k - base) as usize] += row + 1;
                    }
                }
            });
            assert_eq!(rows, [0, 1, 2, 3, 4]);
            assert_eq!(marks, [1, 1, 1, 3, 4, 4, 4, 4, 4, 5]);
            for n in [5, FEW + 5] {
                let doubled = map(&team, &(0..n).collect::<Vec<_>>(), |i| 2 * i);
                assert!(doubled.into_iter().eq((0..n).map(|i| 2 * i)), "{n} items");
            }
            let sum = reduce(
                &team,
                10_000,
                |r| r.map(|i| 1.0 / (1.0 + i as f64)).sum::<f64>(),
                |all, part| *all += part,
            );
            let one = reduce(
                &Team::new(1),
                10_000,
                |r| r.map(|i| 1.0 / (1.0 + i as f64)).sum::<f64>(),
                |all, part| *all += part,
            );
            assert_eq!(sum, one);
        }
    }
}
