//! Work on several threads, with the same result for every number of them.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

/// As many threads as were asked for; 0 stands for one per core that this process may use.
pub(crate) fn threads(asked: usize) -> usize {
    if asked > 0 { asked } else { std::thread::available_parallelism().map_or(1, usize::from) }
}

/// Fewest items for which a thread is started.
const FEW: usize = 1 << 14;

/// As many parts as threads, fewer where each would have next to nothing of `items`.
pub(crate) fn parts(threads: usize, items: usize) -> usize {
    threads.min(items / FEW).max(1)
}

/// `0..n` cut into nearly equal ranges: that of a part.
pub(crate) fn split(n: usize, parts: usize, part: usize) -> Range<usize> {
    n * part / parts..n * (part + 1) / parts
}

/// `f(part)` of each part, each on a thread of its own; the results in their order.
pub(crate) fn each_part<R: Send>(parts: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    if parts == 1 {
        return vec![f(0)];
    }
    std::thread::scope(|scope| {
        let f = &f;
        let others: Vec<_> = (1..parts).map(|part| scope.spawn(move || f(part))).collect();
        let mut all = vec![f(0)];
        for other in others {
            all.push(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    })
}

/// Pieces of a work for each thread, which takes one after another: they cost more or less.
const PIECES: usize = 8;

/// As many pieces of a work as keep so many parts busy to the end.
pub(crate) fn pieces(parts: usize) -> usize {
    if parts == 1 { 1 } else { PIECES * parts }
}

/// `f(piece)` of each piece of a work, on so many threads; the results in their order.
pub(crate) fn each_in_turn<R: Send>(parts: usize, pieces: usize, f: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let found = each_part(parts, |_| {
        let own = std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|&piece| piece < pieces));
        own.map(|piece| (piece, f(piece))).collect::<Vec<_>>()
    });
    let mut found: Vec<_> = found.into_iter().flatten().collect();
    found.sort_unstable_by_key(|(piece, _)| *piece);
    found.into_iter().map(|(_, result)| result).collect()
}

/// `f(part, first, values)` of each part with its own piece of `values`, cut where `ends` says.
pub(crate) fn each_piece<T: Send, R: Send>(
    values: &mut [T],
    ends: &[usize],
    f: impl Fn(usize, usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    std::thread::scope(|scope| {
        let (f, mut rest, mut first) = (&f, values, 0);
        let mut waiting = Vec::new();
        for (part, &end) in ends.iter().enumerate() {
            let (piece, after) = rest.split_at_mut(end - first);
            let start = first;
            (rest, first) = (after, end);
            if part + 1 == ends.len() {
                // The last one on this thread.
                let last = f(part, start, piece);
                let join = |w: std::thread::ScopedJoinHandle<'_, R>| {
                    w.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                };
                return waiting.into_iter().map(join).chain([last]).collect();
            }
            waiting.push(scope.spawn(move || f(part, start, piece)));
        }
        Vec::new()
    })
}

/// A number that threads write.
pub(crate) trait Slot: Default + Send + Sync {
    type Value: Copy + Send;
    fn put(&self, value: Self::Value);
    fn take(self) -> Self::Value;
}

impl Slot for AtomicU32 {
    type Value = u32;
    fn put(&self, value: u32) {
        self.store(value, Relaxed);
    }
    fn take(self) -> u32 {
        self.into_inner()
    }
}

impl Slot for AtomicU64 {
    type Value = u64;
    fn put(&self, value: u64) {
        self.store(value, Relaxed);
    }
    fn take(self) -> u64 {
        self.into_inner()
    }
}

/// Adds one and gives what was there before.
fn next(count: &AtomicUsize, alone: bool) -> usize {
    if alone {
        let before = count.load(Relaxed);
        count.store(before + 1, Relaxed);
        return before;
    }
    count.fetch_add(1, Relaxed)
}

/// How many items each bucket of `0..buckets` has; `each(part, put)` names the bucket of every item of a part.
pub(crate) fn counts(
    parts: usize,
    buckets: usize,
    each: impl Fn(usize, &mut dyn FnMut(u32)) + Sync,
) -> Vec<usize> {
    let counts: Vec<AtomicUsize> = (0..buckets).map(|_| AtomicUsize::new(0)).collect();
    each_part(parts, |part| {
        each(part, &mut |bucket| {
            next(&counts[bucket as usize], parts == 1);
        });
    });
    counts.into_iter().map(AtomicUsize::into_inner).collect()
}

/// The items of the buckets `range` one bucket after another, within a bucket in no special order, from the number of items of each;
/// `each(part, put)` names bucket and item.
pub(crate) fn collect<S: Slot>(
    parts: usize,
    range: Range<usize>,
    counts: &[usize],
    each: impl Fn(usize, &mut dyn FnMut(u32, S::Value)) + Sync,
) -> Vec<S::Value> {
    let mut sum = 0;
    let start = |count: &usize| {
        sum += count;
        AtomicUsize::new(sum - count)
    };
    let at: Vec<AtomicUsize> = counts[range.clone()].iter().map(start).collect();
    let items: Vec<S> = (0..sum).map(|_| S::default()).collect();
    each_part(parts, |part| {
        each(part, &mut |bucket, item| {
            if let Some(at) = (bucket as usize).checked_sub(range.start).and_then(|b| at.get(b)) {
                items[next(at, parts == 1)].put(item);
            }
        });
    });
    items.into_iter().map(S::take).collect()
}

/// Ranges of the buckets `range` with nearly as many items each.
pub(crate) fn balanced(parts: usize, range: Range<usize>, counts: &[usize]) -> Vec<Range<usize>> {
    let total: usize = counts[range.clone()].iter().sum();
    let (mut ranges, mut first, mut sum) = (Vec::new(), range.start, 0);
    for b in range.clone() {
        sum += counts[b];
        if ranges.len() + 1 < parts && sum >= total * (ranges.len() + 1) / parts {
            ranges.push(first..b + 1);
            first = b + 1;
        }
    }
    ranges.push(first..range.end);
    ranges
}

/// Where the items of each of such ranges begin.
pub(crate) fn starts(ranges: &[Range<usize>], counts: &[usize]) -> Vec<usize> {
    let mut sum = 0;
    let start = |range: &Range<usize>| {
        let own: usize = counts[range.clone()].iter().sum();
        sum += own;
        sum - own
    };
    ranges.iter().map(start).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_come_into_their_buckets_on_any_number_of_threads() {
        let n = 1000_u32;
        let bucket = |i: u32| i * 7919 % 37;
        for parts in [1, 2, 3, 8] {
            let mine = |part| split(n as usize, parts, part);
            let counts = counts(parts, 37, |part, put| mine(part).for_each(|i| put(bucket(i as u32))));
            assert_eq!(counts.iter().sum::<usize>(), n as usize);
            for range in [0..37, 5..20] {
                let items = collect::<AtomicU32>(parts, range.clone(), &counts, |part, put| {
                    mine(part).for_each(|i| put(bucket(i as u32), i as u32));
                });
                let mut items = items.as_slice();
                for b in range.clone() {
                    let (own, rest) = items.split_at(counts[b]);
                    let mut own = own.to_vec();
                    own.sort_unstable();
                    let expected: Vec<u32> = (0..n).filter(|&i| bucket(i) as usize == b).collect();
                    assert_eq!(own, expected, "bucket {b} on {parts} threads");
                    items = rest;
                }
                assert!(items.is_empty());
                let ranges = balanced(parts, range.clone(), &counts);
                assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (range.start, range.end));
                assert!(ranges.len() <= parts && ranges.windows(2).all(|w| w[0].end == w[1].start));
            }
        }
    }

    #[test]
    fn pieces_are_written_once_and_results_keep_their_order() {
        let mut values = vec![0; 10];
        let firsts = each_piece(&mut values, &[3, 3, 10], |part, first, piece| {
            piece.fill(part + 1);
            first
        });
        assert_eq!((firsts, values), (vec![0, 3, 3], vec![1, 1, 1, 3, 3, 3, 3, 3, 3, 3]));
        assert_eq!(each_part(4, |part| part * part), [0, 1, 4, 9]);
        for parts in [1, 3] {
            let squares: Vec<usize> = (0..pieces(parts)).map(|i| i * i).collect();
            assert_eq!(each_in_turn(parts, pieces(parts), |i| i * i), squares);
        }
    }
}
