//! Work on several threads, with the same result for every number of them.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

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

/// `f(state, piece)` of each piece of a work, on so many threads that each have a state of their own; the results in their order.
fn each_in_turn<S, R: Send>(
    parts: usize,
    pieces: usize,
    state: impl Fn() -> S + Sync,
    f: impl Fn(&mut S, usize) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let found = each_part(parts, |_| {
        let mut state = state();
        let own = std::iter::from_fn(|| Some(next.fetch_add(1, Relaxed)).filter(|&piece| piece < pieces));
        own.map(|piece| (piece, f(&mut state, piece))).collect::<Vec<_>>()
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

/// Items of a pile that stand next to one another.
const RUN: usize = 256;

/// Items with the buckets they belong to, as one thread names them, in piles of neighboring buckets. A pile is some runs of places in
/// memory that the thread takes in large pieces: nothing moves as piles grow, and the system is asked for few pages.
pub(crate) struct Spread<T> {
    /// Binary logarithm of the buckets of a pile.
    shift: u32,
    /// Binary logarithm of the places of a piece of memory, of one run at least.
    size: u32,
    pieces: Vec<Vec<(u32, T)>>,
    /// The place of the next item of each pile; at the end of a run there is none yet.
    next: Vec<usize>,
    /// The first places of the runs of each pile.
    runs: Vec<Vec<usize>>,
    /// Places of all runs.
    taken: usize,
}

impl<T: Copy + Default> Spread<T> {
    /// Of so many piles.
    fn new(piles: usize, shift: u32, size: u32) -> Self {
        Self {
            shift,
            size,
            pieces: Vec::new(),
            next: vec![0; piles],
            runs: vec![Vec::new(); piles],
            taken: 0,
        }
    }

    /// One more item of a bucket.
    #[inline(always)]
    pub(crate) fn put(&mut self, bucket: u32, item: T) {
        let pile = (bucket >> self.shift) as usize;
        let mut at = self.next[pile];
        if at.is_multiple_of(RUN) {
            at = self.run(pile);
        }
        self.pieces[at >> self.size][at & ((1 << self.size) - 1)] = (bucket, item);
        self.next[pile] = at + 1;
    }

    /// Begins a run of a pile.
    #[cold]
    fn run(&mut self, pile: usize) -> usize {
        let at = self.taken;
        self.taken += RUN;
        if at >> self.size == self.pieces.len() {
            self.pieces.push(vec![(0, T::default()); 1 << self.size]);
        }
        self.runs[pile].push(at);
        at
    }

    /// The items of a pile in the order in which they came.
    fn pile(&self, pile: usize) -> impl Iterator<Item = &[(u32, T)]> {
        let runs = &self.runs[pile];
        runs.iter().enumerate().map(move |(k, &first)| {
            let count = if k + 1 < runs.len() { RUN } else { self.next[pile] - first };
            &self.pieces[first >> self.size][first & ((1 << self.size) - 1)..][..count]
        })
    }
}

/// The items of a range of buckets.
#[derive(Default)]
pub struct Buckets<T> {
    /// The number of the range among all.
    pub number: usize,
    /// The buckets.
    pub range: Range<usize>,
    ptr: Vec<u32>,
    items: Vec<T>,
}

impl<T: Copy + Default> Buckets<T> {
    /// Items of a bucket, in the order in which they were named.
    #[inline(always)]
    pub fn of(&self, bucket: usize) -> &[T] {
        let at = bucket - self.range.start;
        &self.items[self.ptr[at] as usize..self.ptr[at + 1] as usize]
    }

    /// Takes the items of a pile from all threads.
    fn fill(&mut self, number: usize, range: Range<usize>, spreads: &[Spread<T>]) {
        let runs = || spreads.iter().flat_map(|spread| spread.pile(number));
        let (ptr, items) = (&mut self.ptr, &mut self.items);
        ptr.clear();
        ptr.resize(range.len() + 2, 0);
        for (bucket, _) in runs().flatten() {
            ptr[*bucket as usize - range.start + 2] += 1;
        }
        for k in 2..ptr.len() {
            ptr[k] += ptr[k - 1];
        }
        // Beginnings become ends as items come, which are the beginnings one place before.
        items.clear();
        items.resize(ptr[range.len() + 1] as usize, T::default());
        for &(bucket, item) in runs().flatten() {
            let at = &mut ptr[bucket as usize - range.start + 1];
            items[*at as usize] = item;
            *at += 1;
        }
        (self.number, self.range) = (number, range);
    }
}

/// Piles of buckets at most: threads write as many places at once.
const PILES: usize = 512;

fn width(buckets: usize) -> usize {
    (buckets / PILES).next_power_of_two().max(FEW / 64)
}

/// The ranges of buckets `0..buckets` that are worked on at once.
pub(crate) fn ranges(buckets: usize) -> Vec<Range<usize>> {
    let width = width(buckets);
    (0..buckets.div_ceil(width)).map(|k| k * width..((k + 1) * width).min(buckets)).collect()
}

/// Sorts items into buckets `0..buckets`, and gives `f` of ranges of them, which together are all, in their order: `each(part, spread)` puts the
/// items of a part. The items of a bucket stand in the order of the parts and, of one part, in that of their putting.
///
/// Items go to piles first, then each pile into its buckets, where they stay in a core's cache: nothing is written at random places of a
/// large array, and threads share nothing. Linear, and no memory is written before the thread that uses it has it.
pub(crate) fn grouped<T: Copy + Default + Send + Sync, R: Send>(
    parts: usize,
    buckets: usize,
    each: impl Fn(usize, &mut Spread<T>) + Sync,
    f: impl Fn(&Buckets<T>) -> R + Sync,
) -> Vec<R> {
    let (ranges, shift) = (ranges(buckets), width(buckets).trailing_zeros());
    // Places at once: some for each bucket of a part.
    let size = (8 * buckets / parts).next_power_of_two().clamp(16 * RUN, 1 << 22).trailing_zeros();
    let spreads = each_part(parts, |part| {
        let mut spread = Spread::new(ranges.len(), shift, size);
        each(part, &mut spread);
        spread
    });
    each_in_turn(parts, ranges.len(), Buckets::default, |own, pile| {
        own.fill(pile, ranges[pile].clone(), &spreads);
        f(own)
    })
}

/// Lists one after another, copied by so many threads.
pub(crate) fn joined<T: Copy + Default + Send>(parts: usize, lists: Vec<Vec<T>>) -> Vec<T> {
    let mut ends = Vec::with_capacity(lists.len());
    let mut sum = 0;
    for list in &lists {
        sum += list.len();
        ends.push(sum);
    }
    let of_part: Vec<Range<usize>> = (0..parts).map(|part| split(lists.len(), parts, part)).collect();
    let last = |range: &Range<usize>| range.end.checked_sub(1).map_or(0, |last| ends[last]);
    let ends_of_parts: Vec<usize> = of_part.iter().map(last).collect();
    let lists: Vec<Mutex<Vec<Vec<T>>>> = {
        let mut rest = lists.into_iter();
        of_part.iter().map(|own| Mutex::new(rest.by_ref().take(own.len()).collect())).collect()
    };
    let mut all = vec![T::default(); sum];
    each_piece(&mut all, &ends_of_parts, |part, _, mut piece| {
        let own = std::mem::take(&mut *lists[part].lock().expect("each part takes its own"));
        for list in own {
            let (to, rest) = piece.split_at_mut(list.len());
            to.copy_from_slice(&list);
            piece = rest;
        }
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Several piles of many runs, some of them empty; items that were named in ascending order stand so.
    #[test]
    fn items_come_into_their_buckets_on_any_number_of_threads() {
        let (n, buckets) = (100_000_u32, 2000_u32);
        let bucket = |i: u32| i.wrapping_mul(2_654_435_761) % (buckets / 2) * 2;
        let expected: Vec<Vec<u32>> = {
            let mut all = vec![Vec::new(); buckets as usize];
            (0..n).for_each(|i| all[bucket(i) as usize].push(i));
            all
        };
        for parts in [1, 2, 3, 8] {
            let each = |part: usize, spread: &mut Spread<u32>| {
                split(n as usize, parts, part).for_each(|i| spread.put(bucket(i as u32), i as u32));
            };
            let found = grouped(parts, buckets as usize, each, |own| {
                own.range.clone().map(|b| own.of(b).to_vec()).collect::<Vec<_>>()
            });
            assert!(found.len() > 1);
            assert_eq!(found.concat(), expected, "{parts} threads");
            assert_eq!(joined(parts, found.concat()), expected.concat());
        }
        assert!(joined::<u32>(3, Vec::new()).is_empty());
        assert_eq!(joined(3, vec![vec![1], vec![2]]), [1, 2]);
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
            let squares: Vec<usize> = (0..20).map(|i| i * i).collect();
            let before = |state: &mut usize, i: usize| {
                assert!(i >= *state, "in their order");
                *state = i;
                i * i
            };
            assert_eq!(each_in_turn(parts, 20, || 0, before), squares);
        }
    }
}
