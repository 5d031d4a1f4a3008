//! Colors that depend on the graph and on numbers of its rows, not on the order in which these stand: the same in any order of
//! the rows, on any number of threads, and, by the [twin](crate::dist::Items) for ranks, on any number of those.

use super::{Coloring, Palette};
use crate::order::Adjacency;
use chromaflow_device::Team;
use std::sync::atomic::Ordering::{AcqRel, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// In which order a parallel coloring visits rows, the largest first: many neighbors (by powers of two), then a hash of the row's number,
/// then that: no two rows are alike.
pub fn priority_of(degree: usize, row: usize) -> (u32, u32, usize) {
    let mut z = (row as u64).wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (usize::BITS - degree.leading_zeros(), (z >> 32) as u32, row)
}

const NONE: u32 = u32::MAX;

impl Coloring {
    /// By the rows' own numbers, no two alike: two colors where that is enough ([`Self::parity`]), else [`Self::parallel`] and once more color by
    /// color ([`Self::reduced`]).
    ///
    /// # Panics
    /// Without a number for each row.
    pub fn by_numbers(graph: &Adjacency, numbers: &[u32], team: &Team) -> Self {
        Self::parity(graph, numbers)
            .unwrap_or_else(|| Self::parallel(graph, numbers, team).recolored(graph, team))
    }

    /// Two colors where no cycle has an odd number of rows, as on meshes of quadrilaterals or hexahedra: in each part that hangs together the row with
    /// the lowest number has the first color, and rows as many steps away as an odd number says the second. None on other graphs.
    ///
    /// # Panics
    /// Without a number for each row.
    pub fn parity(graph: &Adjacency, numbers: &[u32]) -> Option<Self> {
        assert_eq!(numbers.len(), graph.rows(), "a number for each row");
        let mut colors = vec![NONE; graph.rows()];
        let mut part: Vec<u32> = Vec::new();
        for start in 0..graph.rows() {
            if colors[start] != NONE {
                continue;
            }
            colors[start] = 0;
            part.clear();
            part.push(start as u32);
            let (mut at, mut lowest) = (0, start);
            while at < part.len() {
                let row = part[at] as usize;
                if numbers[row] < numbers[lowest] {
                    lowest = row;
                }
                let other = 1 - colors[row];
                for &n in graph.neighbors(row) {
                    let color = &mut colors[n as usize];
                    if *color == NONE {
                        *color = other;
                        part.push(n);
                    } else if *color != other {
                        return None;
                    }
                }
                at += 1;
            }
            if colors[lowest] == 1 {
                for &row in &part {
                    colors[row as usize] ^= 1;
                }
            }
        }
        Some(Self::from_dense(colors))
    }

    /// Rows with many neighbors first, ties broken by a hash of the row's number: a row takes the lowest free color as soon as all neighbors that
    /// come before it have theirs. The result is that of the sequential loop in this order, hence the same for every number of
    /// threads.
    ///
    /// **Source**: Jones and Plassmann (1993); order by the logarithm of the degree: Hasenplaugh et al. (2014).
    ///
    /// # Panics
    /// Without a number for each row.
    pub fn parallel(graph: &Adjacency, numbers: &[u32], team: &Team) -> Self {
        assert_eq!(numbers.len(), graph.rows(), "a number for each row");
        let rows = graph.rows();
        let priority: Vec<AtomicU64> = (0..rows).map(|_| AtomicU64::new(0)).collect();
        // How many neighbors before a row have no color yet.
        let missing: Vec<AtomicU32> = (0..rows).map(|_| AtomicU32::new(0)).collect();
        let colors: Vec<AtomicU32> = (0..rows).map(|_| AtomicU32::new(NONE)).collect();
        let place = |row: usize| (priority[row].load(Relaxed), numbers[row]);
        team.run(|member| {
            let own = member.share(rows);
            for row in own.clone() {
                let (neighbors, hash, _) = priority_of(graph.degree(row), numbers[row] as usize);
                priority[row].store(u64::from(neighbors) << 32 | u64::from(hash), Relaxed);
            }
            member.barrier();
            let before = |row: usize, n: usize| place(n) > place(row);
            // Rows that wait for nobody. Who colors the last neighbor that a row waits for goes on with that row.
            let mut first = Vec::new();
            for row in own {
                let count = graph.neighbors(row).iter().filter(|&&n| before(row, n as usize)).count();
                missing[row].store(count as u32, Relaxed);
                if count == 0 {
                    first.push(row as u32);
                }
            }
            member.barrier();
            let (mut palette, mut ready) = (Palette::new(graph), Vec::new());
            for row in first {
                ready.push(row);
                while let Some(row) = ready.pop() {
                    let row = row as usize;
                    // Later neighbors have no color yet and get none before this row has.
                    let color = palette.lowest_free(row, graph, |n| colors[n].load(Relaxed));
                    colors[row].store(color, Relaxed);
                    for &n in graph.neighbors(row) {
                        // Who takes the last one sees the colors of all.
                        if before(n as usize, row) && missing[n as usize].fetch_sub(1, AcqRel) == 1 {
                            ready.push(n);
                        }
                    }
                }
            }
        });
        Self::from_dense(colors.into_iter().map(AtomicU32::into_inner).collect())
    }

    /// One pass of [`Self::reduced`] on all members of a team: rows of a color do not see one another.
    pub(in crate::order) fn recolored(self, graph: &Adjacency, team: &Team) -> Self {
        if team.size() == 1 {
            return self.reduced(graph, 1);
        }
        let (rows, batches) = self.renumber();
        let colors: Vec<AtomicU32> = (0..graph.rows()).map(|_| AtomicU32::new(NONE)).collect();
        team.run(|member| {
            let mut palette = Palette::new(graph);
            for color in (0..self.count).rev() {
                let batch = batches.range(color);
                let share = member.share(batch.len());
                for &row in &rows.old_of_new()[batch][share] {
                    let row = row as usize;
                    let color = palette.lowest_free(row, graph, |n| colors[n].load(Relaxed));
                    colors[row].store(color, Relaxed);
                }
                member.barrier();
            }
        });
        Self::from_dense(colors.into_iter().map(AtomicU32::into_inner).collect())
    }
}
