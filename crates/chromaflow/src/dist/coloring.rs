//! Colors of items that ranks own, rows or elements: those of one rank, on any number of them.
//!
//! Twin on one rank: [`Coloring::by_numbers`](crate::order::Coloring::by_numbers), by other priorities
//! [`Coloring::greedy`](crate::order::Coloring::greedy) with the same beginning and end.

use chromaflow_comm::post::Ghosts;
use chromaflow_comm::{CommError, Communicator, Op};

/// What comes first, the larger: a parallel coloring has many neighbors, then a hash of the number in the whole, then the number
/// ([`priority_of`](crate::order::priority_of)).
pub type Priority = (u32, u32, usize);

/// Items and who is whose neighbor.
#[derive(Debug)]
pub struct Items<'a, F> {
    /// The ranks.
    pub ranks: &'a dyn Communicator,
    /// Items of others, which follow their owners.
    pub ghosts: &'a Ghosts,
    /// The items of this rank, whose neighbors are all here.
    pub owned: Vec<u32>,
    /// Of all items here.
    pub priority: &'a [Priority],
    /// The numbers of all items here in the whole.
    pub numbers: &'a [u32],
    /// Calls back with the neighbors of an item, some of them maybe more than once.
    pub neighbors: F,
}

const NONE: u32 = u32::MAX;

impl<F: Fn(u32, &mut dyn FnMut(u32))> Items<'_, F> {
    /// Two colors where these are enough ([`Self::parity`]), else those of [`Self::colors`], once more color by color.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    pub fn few(&self) -> Result<Vec<u32>, CommError> {
        match self.parity()? {
            Some(colors) => Ok(colors),
            None => self.reduced(&self.colors()?),
        }
    }

    /// Two colors where no cycle has an odd number of items: in each part that hangs together the item with the lowest number has the first color.
    /// Each rank joins the items here into parts, and learns from others' ghosts of lower numbers in the same part, until nobody learns
    /// any more: as many messages to each neighbor as parts of ranks lie between the lowest number and the last item.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    pub fn parity(&self) -> Result<Option<Vec<u32>>, CommError> {
        let all = self.priority.len();
        let mut sides = Sides::new(all);
        let mut odd = false;
        for &i in &self.owned {
            (self.neighbors)(i, &mut |j| odd |= i != j && !sides.join(i, j));
            if odd {
                break;
            }
        }
        let anywhere = |odd: bool| -> Result<bool, CommError> {
            let mut any = [f64::from(u8::from(odd))];
            self.ranks.reduce(Op::Max, &mut any)?;
            Ok(any[0] > 0.0)
        };
        if anywhere(odd)? {
            return Ok(None);
        }
        // Of each part here the lowest number known, and on which side of it the part's own root lies.
        let found: Vec<(u32, u32)> = (0..all as u32).map(|i| sides.find(i)).collect();
        let mut lowest = vec![[u32::MAX, 0]; all];
        for (i, &(root, side)) in found.iter().enumerate() {
            let number = self.numbers[i];
            if number < lowest[root as usize][0] {
                lowest[root as usize] = [number, side];
            }
        }
        let mut of_others = vec![[u32::MAX, 0]; all];
        loop {
            for (i, &(root, side)) in found.iter().enumerate() {
                let [number, of_root] = lowest[root as usize];
                of_others[i] = [number, of_root ^ side];
            }
            self.ghosts.exchange(self.ranks, &mut of_others)?;
            let (mut odd, mut news) = (false, false);
            for (&[number, color], &(root, side)) in of_others.iter().zip(&found) {
                let known = &mut lowest[root as usize];
                if number < known[0] {
                    (*known, news) = ([number, color ^ side], true);
                } else if number == known[0] {
                    odd |= color ^ side != known[1];
                }
            }
            let mut any = [f64::from(u8::from(odd)), f64::from(u8::from(news))];
            self.ranks.reduce(Op::Max, &mut any)?;
            if any[0] > 0.0 {
                return Ok(None);
            }
            if any[1] == 0.0 {
                return Ok(Some(of_others.iter().map(|&[_, color]| color).collect()));
            }
        }
    }

    /// Each item takes the lowest color that no neighbor before it has, those of high priority first: the colors that a sequential
    /// loop in this order would give. Ranks color all whose neighbors of others have their colors, tell them, and go on.
    ///
    /// **Source**: Jones and Plassmann (1993).
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    pub fn colors(&self) -> Result<Vec<u32>, CommError> {
        let mut colors = vec![NONE; self.priority.len()];
        let (mut palette, mut waiting) = (Palette::default(), self.owned.clone());
        waiting.sort_unstable_by_key(|&i| std::cmp::Reverse(self.priority[i as usize]));
        let mut own = vec![false; colors.len()];
        self.owned.iter().for_each(|&i| own[i as usize] = true);
        let others: Vec<u32> = (0..own.len() as u32).filter(|&i| !own[i as usize]).collect();
        let (mut known, mut before) = (0, usize::MAX);
        loop {
            // Without news of others nothing has become ready.
            let news = std::mem::replace(&mut before, known) != known;
            waiting.retain(|&i| {
                if !news {
                    return true;
                }
                let (mut ready, own) = (true, self.priority[i as usize]);
                palette.begin();
                (self.neighbors)(i, &mut |j| match colors[j as usize] {
                    NONE => ready &= self.priority[j as usize] < own || j == i,
                    color => palette.take(color),
                });
                if ready {
                    colors[i as usize] = palette.lowest_free();
                }
                !ready
            });
            self.ghosts.exchange(self.ranks, &mut colors)?;
            known = others.iter().filter(|&&i| colors[i as usize] != NONE).count();
            let mut left = [waiting.len() as f64];
            self.ranks.reduce(Op::Sum, &mut left)?;
            if left[0] == 0.0 {
                return Ok(colors);
            }
        }
    }

    /// Once more color by color, the last one first: items of a color are independent, and no more colors are needed.
    ///
    /// **Source**: Culberson (1992), iterated greedy.
    ///
    /// # Errors
    /// [`CommError`] when another rank has failed, has left or stays silent too long.
    pub fn reduced(&self, colors: &[u32]) -> Result<Vec<u32>, CommError> {
        let mut count = [colors.iter().map(|&color| f64::from(color) + 1.0).fold(0.0, f64::max)];
        self.ranks.reduce(Op::Max, &mut count)?;
        let mut of_color = vec![Vec::new(); count[0] as usize];
        self.owned.iter().for_each(|&i| of_color[colors[i as usize] as usize].push(i));
        let (mut new, mut palette) = (vec![NONE; colors.len()], Palette::default());
        for items in of_color.iter().rev() {
            for &i in items {
                palette.begin();
                (self.neighbors)(i, &mut |j| match new[j as usize] {
                    NONE => {}
                    color => palette.take(color),
                });
                new[i as usize] = palette.lowest_free();
            }
            self.ghosts.exchange(self.ranks, &mut new)?;
        }
        Ok(new)
    }
}

/// Items in parts that hang together, each on one of two sides of its part: a forest in which an item knows on which side of the one above it
/// is.
///
/// **Source**: union by size with halved paths (Tarjan and van Leeuwen 1984).
struct Sides {
    above: Vec<(u32, u32)>,
    sizes: Vec<u32>,
}

impl Sides {
    fn new(items: usize) -> Self {
        Self { above: (0..items as u32).map(|i| (i, 0)).collect(), sizes: vec![1; items] }
    }

    /// The root of an item's part, and the item's side of it.
    fn find(&mut self, mut item: u32) -> (u32, u32) {
        let mut side = 0;
        loop {
            let (up, own) = self.above[item as usize];
            if up == item {
                return (item, side);
            }
            let (over, of_up) = self.above[up as usize];
            // A root is on its own side: nothing changes below it.
            self.above[item as usize] = (over, own ^ of_up);
            side ^= own ^ of_up;
            item = over;
        }
    }

    /// Puts two items on different sides; whether they can be.
    fn join(&mut self, i: u32, j: u32) -> bool {
        let ((a, of_i), (b, of_j)) = (self.find(i), self.find(j));
        if a == b {
            return of_i != of_j;
        }
        let (low, high) = if self.sizes[a as usize] < self.sizes[b as usize] { (a, b) } else { (b, a) };
        self.above[low as usize] = (high, of_i ^ of_j ^ 1);
        self.sizes[high as usize] += self.sizes[low as usize];
        true
    }
}

/// Finds free colors.
#[derive(Default)]
struct Palette {
    /// By whom a color was last taken.
    stamps: Vec<u64>,
    now: u64,
}

impl Palette {
    fn begin(&mut self) {
        self.now += 1;
    }

    fn take(&mut self, color: u32) {
        let color = color as usize;
        if color >= self.stamps.len() {
            self.stamps.resize(color + 1, 0);
        }
        self.stamps[color] = self.now;
    }

    fn lowest_free(&self) -> u32 {
        let free = self.stamps.iter().position(|&stamp| stamp != self.now);
        free.unwrap_or(self.stamps.len()) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BlockPattern;
    use crate::order::{Adjacency, Coloring, priority_of};
    use chromaflow_comm::{Threads, run};
    use chromaflow_device::Team;
    use std::time::Duration;

    /// Items `0..n` of a graph, item i on rank `owner(i)`.
    fn over(size: usize, graph: &Adjacency, owner: fn(usize, usize) -> usize) -> Vec<u32> {
        let graph = graph.clone();
        let found = run(size, Duration::from_secs(20), move |ranks: &Threads| {
            let (n, rank) = (graph.rows(), ranks.rank());
            let of_others = (0..n).filter(|&i| owner(i, size) != rank);
            let of_others = of_others.map(|i| (i as u32, owner(i, size) as u32, i as u32));
            let ghosts = Ghosts::new(ranks, of_others, |i| i)?;
            let priority: Vec<Priority> = (0..n).map(|i| priority_of(graph.degree(i), i)).collect();
            let items = Items {
                ranks,
                ghosts: &ghosts,
                owned: (0..n as u32).filter(|&i| owner(i as usize, size) == rank).collect(),
                priority: &priority,
                numbers: &(0..n as u32).collect::<Vec<_>>(),
                neighbors: |i: u32, visit: &mut dyn FnMut(u32)| {
                    graph.neighbors(i as usize).iter().for_each(|&j| visit(j));
                },
            };
            items.few()
        });
        let found = found.unwrap();
        assert!(found.iter().all(|colors| *colors == found[0]), "ghosts have their owners' colors");
        found[0].clone()
    }

    /// Rings of even and odd length, two parts apart, a grid with and without one diagonal: as on one rank, whoever has the items.
    #[test]
    fn colors_by_numbers_are_those_of_one_rank() {
        let ring = |n: usize| (0..n).map(|i| (i * 7 % n, (i + 1) * 7 % n)).collect::<Vec<_>>();
        let mut apart = ring(10);
        apart.extend(ring(11).iter().map(|&(a, b)| (a + 12, b + 12)));
        let grid = (0..100).flat_map(|i| {
            let right = (i % 10 < 9).then_some((i, i + 1));
            right.into_iter().chain((i < 90).then_some((i, i + 10)))
        });
        let grid: Vec<_> = grid.collect();
        let cut = [&grid[..], &[(55, 66)]].concat();
        for (n, edges, colors) in
            [(20, ring(20), 2), (99, ring(99), 3), (24, apart, 3), (100, grid, 2), (100, cut, 3)]
        {
            let mut near = vec![Vec::new(); n];
            for (a, b) in edges {
                near[a].push(b as u32);
                near[b].push(a as u32);
            }
            for list in &mut near {
                list.sort_unstable();
            }
            let ptr = near.iter().scan(0, |end, list| {
                *end += list.len() as u32;
                Some(*end)
            });
            let ptr = std::iter::once(0).chain(ptr).collect();
            let graph = Adjacency::of(&BlockPattern::new(n, ptr, near.concat()).unwrap()).unwrap();
            let numbers: Vec<u32> = (0..n as u32).collect();
            let expected = Coloring::by_numbers(&graph, &numbers, &Team::new(1));
            assert!(expected.count() >= colors && (colors > 2 || expected.count() == 2));
            for size in [1, 2, 3, 5] {
                assert_eq!(over(size, &graph, |i, size| i % size), expected.colors());
                assert_eq!(over(size, &graph, |i, size| (i / 7) % size), expected.colors());
                assert_eq!(over(size, &graph, |_, size| size - 1), expected.colors());
            }
        }
    }
}
