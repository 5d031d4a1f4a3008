//! Colors of items that ranks own, rows or elements: those of one rank, on any number of them.
//!
//! Twin on one rank: [`Coloring::parallel`](crate::order::Coloring::parallel) with one pass of
//! [`Coloring::reduced`](crate::order::Coloring::reduced).

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
    /// Calls back with the neighbors of an item, some of them maybe more than once.
    pub neighbors: F,
}

const NONE: u32 = u32::MAX;

impl<F: Fn(u32, &mut dyn FnMut(u32))> Items<'_, F> {
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
