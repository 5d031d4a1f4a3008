//! Reverse Cuthill-McKee.

use super::{Adjacency, Permutation};
use chromaflow_device::Team;
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// How far from the diagonal a matrix reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// max |i - j| over neighbors i, j.
    pub bandwidth: usize,
    /// Sum over rows i of i - min(i, its neighbors): the blocks a lower skyline would hold.
    pub profile: u64,
}

impl Spread {
    /// Of a graph in its own order.
    pub fn of(graph: &Adjacency) -> Self {
        Self::of_with(graph, &Team::new(1))
    }

    /// The same on all members of a team.
    pub(super) fn of_with(graph: &Adjacency, team: &Team) -> Self {
        let all = Mutex::new(Self::default());
        team.run(|member| {
            let mut spread = Self::default();
            for row in member.share(graph.rows()) {
                if let Some(&first) = graph.neighbors(row).first() {
                    let reach = row.saturating_sub(first as usize);
                    spread.bandwidth = spread.bandwidth.max(reach);
                    spread.profile += reach as u64;
                }
            }
            let mut all = all.lock().expect("nobody panics with it");
            all.bandwidth = all.bandwidth.max(spread.bandwidth);
            all.profile += spread.profile;
        });
        all.into_inner().expect("nobody panicked")
    }

    /// Of a graph whose rows would stand at `position`.
    pub(super) fn at(graph: &Adjacency, position: &[u32]) -> Self {
        let mut spread = Self::default();
        for row in 0..graph.rows() {
            let first = graph.neighbors(row).iter().map(|&n| position[n as usize]).min();
            if let Some(first) = first {
                let reach = position[row].saturating_sub(first) as usize;
                spread.bandwidth = spread.bandwidth.max(reach);
                spread.profile += reach as u64;
            }
        }
        spread
    }
}

/// Renumbers the rows so that neighbors have numbers close to one another.
///
/// Each component is numbered level by level from a pseudo-peripheral row, the rows of a level in the order of their
/// first numbered neighbor and then by ascending degree; in the end the whole numbering is reversed. Ties go to the
/// lower old number, so the result is unique. Components keep the order of their lowest rows, reversed.
///
/// **Source**: Cuthill and McKee (1969); reversal: George (1971); start: George and Liu (1979), "An implementation of
/// a pseudoperipheral node finder", Algorithm 2.
pub fn reverse_cuthill_mckee(graph: &Adjacency) -> Permutation {
    reverse_cuthill_mckee_with(graph, &Team::new(1))
}

/// The same on all members of a team.
///
/// **Source**: levels by all threads: Karantasis et al. (2014), "Parallelization of reordering algorithms for bandwidth and wavefront
/// reduction".
pub(super) fn reverse_cuthill_mckee_with(graph: &Adjacency, team: &Team) -> Permutation {
    let rows = graph.rows();
    let mut order: Vec<u32> = Vec::with_capacity(rows);
    let search = Search { graph, team, from: (0..rows).map(|_| AtomicU32::new(NOT_FOUND)).collect() };
    for row in 0..rows {
        if graph.degree(row) == 0 {
            order.push(row as u32);
        } else if search.from[row].load(Relaxed) == NOT_FOUND {
            order.extend(search.component(row));
        }
    }
    order.reverse();
    Permutation::from_old_of_new_with(order, team).expect("every row is numbered once")
}

const NOT_FOUND: u32 = u32::MAX;
/// Rows of a level that are looked at sooner than a team meets.
const FEW: usize = 512;

/// Breadth-first searches whose work array serves all components.
struct Search<'a> {
    graph: &'a Adjacency,
    team: &'a Team,
    /// Of each row the place of the first row in its search's order that it is next to, from 1; 0 of the first row.
    from: Vec<AtomicU32>,
}

impl Search<'_> {
    /// The rows of the component of `any` in the order of Cuthill and McKee, from a row from which it is long: walks to a row of least
    /// degree in the last level until the number of levels no longer grows.
    fn component(&self, any: usize) -> Vec<u32> {
        let (mut order, mut levels) = self.levels(any);
        loop {
            let last = order[levels[levels.len() - 1]..].iter();
            let far = last.min_by_key(|&&r| (self.graph.degree(r as usize), r)).map_or(any, |&r| r as usize);
            self.each(order.len(), |part| {
                order[part].iter().for_each(|&row| self.from[row as usize].store(NOT_FOUND, Relaxed));
            });
            let further = self.levels(far);
            if further.1.len() <= levels.len() {
                return order;
            }
            (order, levels) = further;
        }
    }

    /// All rows that are reached from `start`, in the order of Cuthill and McKee, and where each level begins.
    fn levels(&self, start: usize) -> (Vec<u32>, Vec<usize>) {
        let (mut order, mut levels) = (vec![start as u32], vec![0]);
        self.from[start].store(0, Relaxed);
        loop {
            let first = levels[levels.len() - 1];
            let next = self.next(&order[first..], first);
            if next.is_empty() {
                return (order, levels);
            }
            levels.push(order.len());
            order.extend(next);
        }
    }

    /// The rows next to a level, whose places begin at `first`, that no level before had: those of the first row of the level, then those
    /// of the second, and so on; of one row by their number of neighbors, then ascending.
    fn next(&self, level: &[u32], first: usize) -> Vec<u32> {
        let near = |k: usize| ((first + k + 1) as u32, self.graph.neighbors(level[k] as usize).iter());
        let mut rows: Vec<u32> = Vec::new();
        if self.is_little(level.len()) {
            for (place, near) in (0..level.len()).map(near) {
                let at = rows.len();
                rows.extend(near.filter(|&&row| {
                    let from = &self.from[row as usize];
                    let new = from.load(Relaxed) == NOT_FOUND;
                    if new {
                        from.store(place, Relaxed);
                    }
                    new
                }));
                rows[at..].sort_by_key(|&row| self.graph.degree(row as usize)); // stable: ties stay ascending
            }
            return rows;
        }
        self.each(level.len(), |part| {
            for (place, near) in part.map(near) {
                for from in near.map(|&row| &self.from[row as usize]) {
                    if from.load(Relaxed) > place {
                        from.fetch_min(place, Relaxed);
                    }
                }
            }
        });
        let found = Mutex::new(Vec::new());
        self.each(level.len(), |part| {
            let (start, mut rows) = (part.start, Vec::<u32>::new());
            for (place, near) in part.map(near) {
                let at = rows.len();
                rows.extend(near.filter(|&&row| self.from[row as usize].load(Relaxed) == place));
                rows[at..].sort_by_key(|&row| self.graph.degree(row as usize));
            }
            found.lock().expect("nobody panics with it").push((start, rows));
        });
        let mut found = found.into_inner().expect("nobody panicked");
        found.sort_unstable_by_key(|(start, _)| *start);
        for (_, part) in found {
            rows.extend(part);
        }
        rows
    }

    /// Whether so many rows are done sooner by one thread.
    fn is_little(&self, rows: usize) -> bool {
        rows < FEW || self.team.size() == 1
    }

    /// Calls `f` with parts of `0..n`, on all members where there is something to do.
    fn each(&self, n: usize, f: impl Fn(Range<usize>) + Sync) {
        if self.is_little(n) {
            return f(0..n);
        }
        self.team.run(|member| f(member.share(n)));
    }
}
