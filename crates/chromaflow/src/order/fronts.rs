//! Fronts of a reverse Cuthill-McKee order, colored so that incomplete factors have short chains of rows.

use super::{Adjacency, Permutation};

/// Reorders the rows of each front of `graph`, whose rows stand in reverse Cuthill-McKee order: rows that incomplete factors with levels of
/// fill up to `fill` may couple get different colors, and a front is worked off color by color.
///
/// Without fill the rows of a front hardly depend on one another. Fill couples rows with a common neighbor in the front before, and where these
/// stand as they happen to be numbered they chain a whole front together: layers of 116,565 nodes around a wing have 124 level sets without
/// fill and some 6,800 with one level of it, for each of which a parallel solve waits. Colors leave as many level sets as there are
/// fronts, times the few colors of each. Fronts stand where they stood, so that the band becomes at most twice as wide.
///
/// Couplings are taken from distances in the graph: at most `fill` + 1 edges through rows of the same or earlier fronts.
///
/// **Source**: level sets of incomplete factors, Saad (2003), section 11.6; multicolor orders of them, section 12.4.
pub(super) fn colored_fronts(graph: &Adjacency, fill: usize) -> Permutation {
    colored_fronts_and_count(graph, fill).0
}

/// The same, and the number of colors of all fronts together: there are no more level sets.
pub(super) fn colored_fronts_and_count(graph: &Adjacency, fill: usize) -> (Permutation, usize) {
    let rows = graph.rows();
    let front = fronts(graph);
    let mut color = vec![u32::MAX; rows];
    // The row at whose search another one was last seen, and one more than the row that last forbade a color.
    let (mut seen, mut forbidden) = (vec![u32::MAX; rows], vec![0_u32; 1]);
    let (mut here, mut next) = (Vec::new(), Vec::new());
    for row in 0..rows {
        seen[row] = row as u32;
        here.clear();
        here.push(row as u32);
        for _ in 0..=fill {
            next.clear();
            for &k in &here {
                for &j in graph.neighbors(k as usize) {
                    if front[j as usize] < front[row] || seen[j as usize] == row as u32 {
                        continue;
                    }
                    seen[j as usize] = row as u32;
                    next.push(j);
                    if front[j as usize] == front[row] && color[j as usize] != u32::MAX {
                        forbidden[color[j as usize] as usize] = row as u32 + 1;
                    }
                }
            }
            std::mem::swap(&mut here, &mut next);
        }
        let free = forbidden.iter().position(|&by| by != row as u32 + 1).unwrap_or(forbidden.len());
        if free + 1 >= forbidden.len() {
            forbidden.push(0);
        }
        color[row] = free as u32;
    }
    let key = |row: u32| (std::cmp::Reverse(front[row as usize]), color[row as usize]);
    let mut order: Vec<u32> = (0..rows as u32).collect();
    order.sort_by_key(|&row| key(row));
    let colors = order.chunk_by(|&a, &b| key(a) == key(b)).count();
    (Permutation::from_old_of_new(order).expect("sorted rows are the same rows"), colors)
}

/// The number of each row's front, ascending against the order of the rows: the search that numbered them went that way.
fn fronts(graph: &Adjacency) -> Vec<u32> {
    let mut front = vec![0; graph.rows()];
    let mut next = 0;
    for row in (0..graph.rows()).rev() {
        // The neighbor that was numbered first.
        let found = graph.neighbors(row).last().filter(|&&n| n as usize > row);
        front[row] = found.map_or(next, |&n| front[n as usize] + 1);
        next = next.max(front[row] + 1);
    }
    front
}
