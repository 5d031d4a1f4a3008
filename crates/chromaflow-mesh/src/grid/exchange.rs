//! Copies across interfaces.

use super::metrics::beyond;
use super::{Cells, Grid};
use crate::dot;
use crate::periodic::{Matrix, product};
use std::ops::Range;

/// Which ghost cells take which cells: made once for a grid, used for any number of arrays.
///
/// A ghost cell beyond two interfaces, on an edge or a corner of a block, continues to where the neighbor's ghost cell has
/// its value from: one pass fills all of them, and no copy reads what another writes.
///
/// Across sides that are turned about an axis numbers are copied and vectors turned: [`Exchange::fill`] is for fields without vectors, the
/// others are for states, whose components 1 to 3 are one.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// By blocks.
    copies: Vec<Copies>,
    /// Length of an array of one component, of each block.
    lengths: Vec<usize>,
    /// What turns vectors, where sides are turned.
    matrices: Vec<Matrix>,
}

/// What a rank and another one tell each other so that ghost cells beyond interfaces between their blocks can be filled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passing {
    /// The other rank.
    pub rank: usize,
    /// Block of this rank, and its cell, for each that the other needs.
    pub send: Vec<[u32; 2]>,
    /// Where cells of the other lie in the field behind those of the blocks.
    pub receive: Range<usize>,
}

#[derive(Clone, Debug)]
struct Copies {
    to: usize,
    from: usize,
    /// Number of the matrix that turns vectors.
    turn: Option<u32>,
    /// Ghost cell of `to`, cell of `from`.
    pairs: Vec<[u32; 2]>,
}

/// Most interfaces that a ghost cell may lie beyond; more is a circle.
const HOPS: usize = 8;

impl Exchange {
    /// For all interfaces of a grid.
    ///
    /// # Panics
    /// When the grid has 2^32 cells or more, ghosts included. Interfaces that do not fit their blocks may panic, too: see
    /// [`Grid::check`].
    pub fn new(grid: &Grid) -> Self {
        const NONE: u32 = u32::MAX;
        let cells: Vec<Cells> = grid.blocks.iter().map(|b| Cells::new(b.cells())).collect();
        let lengths: Vec<usize> = cells.iter().map(Cells::len).collect();
        let first = first_cells(&lengths);
        let all = lengths.iter().sum::<usize>();
        let number = |n: usize| u32::try_from(n).expect("fewer than 2^32 cells");
        number(all);
        // Where each cell of all blocks takes its value from.
        let mut source = vec![NONE; all];
        // How often it is turned on the way from there to the cell.
        let rotation = grid.rotation();
        let mut turns = vec![0_i8; if rotation.is_some() { all } else { 0 }];
        for interface in grid.interfaces.iter().flat_map(|i| [i.clone(), i.reversed()]) {
            let (to, from) = (interface.a.block, interface.b.block);
            let (low, high) = beyond(&interface.a, grid.blocks[to].points, 0);
            let turned = rotation.zip(interface.motion.rotation());
            let way =
                turned.map_or(
                    0,
                    |(all, own)| {
                        if dot(all.axis, own.axis) * all.angle * own.angle > 0.0 { 1 } else { -1 }
                    },
                );
            for k in low[2]..high[2] {
                for j in low[1]..high[1] {
                    for i in low[0]..high[0] {
                        let cell = cells[from].at(interface.map.cell([i, j, k]));
                        let ghost = first[to] + cells[to].at([i, j, k]);
                        source[ghost] = number(first[from] + cell);
                        if let Some(turns) = turns.get_mut(ghost) {
                            *turns = way;
                        }
                    }
                }
            }
        }
        let end = |mut cell: u32| {
            let mut turned = 0;
            for _ in 0..HOPS {
                match source[cell as usize] {
                    NONE => return Some((cell, turned)),
                    next => {
                        turned += turns.get(cell as usize).copied().map_or(0, i32::from);
                        cell = next;
                    }
                }
            }
            None
        };
        // By numbers of turns.
        let mut matrices: Vec<(i32, Matrix)> = Vec::new();
        let mut copies: Vec<Copies> = Vec::new();
        for (to, &start) in first.iter().enumerate() {
            let own = copies.len();
            for ghost in 0..lengths[to] {
                if source[start + ghost] == NONE {
                    continue;
                }
                let Some((cell, turned)) = end(number(start + ghost)) else { continue };
                let cell = cell as usize;
                let turn = rotation.filter(|_| turned != 0).map(|rotation| {
                    let known = matrices.iter().position(|(times, _)| *times == turned);
                    let at = known.unwrap_or(matrices.len());
                    if known.is_none() {
                        matrices.push((turned, rotation.matrix(turned)));
                    }
                    number(at)
                });
                let from = first.partition_point(|&f| f <= cell) - 1;
                let pair = [number(ghost), number(cell - first[from])];
                match copies[own..].iter_mut().find(|c| (c.from, c.turn) == (from, turn)) {
                    Some(copies) => copies.pairs.push(pair),
                    None => copies.push(Copies { to, from, turn, pairs: vec![pair] }),
                }
            }
        }
        Self { copies, lengths, matrices: matrices.into_iter().map(|(_, matrix)| matrix).collect() }
    }

    /// The copies within blocks alone: where a block meets itself.
    #[must_use]
    pub fn within_blocks(&self) -> Self {
        let copies = self.copies.iter().filter(|c| c.to == c.from).cloned();
        Self { copies: copies.collect(), ..self.clone() }
    }

    /// The copies into the blocks of a rank, which are numbered anew in ascending order; `owner` has the rank of each block. What comes from
    /// other ranks lies in one more field behind those of the blocks, cell after cell, and the lists say which cells pass.
    ///
    /// # Panics
    /// When there is no owner for a block.
    pub fn of_rank(&self, owner: &[u32], rank: u32) -> (Self, Vec<Passing>) {
        let mine: Vec<usize> = (0..owner.len()).filter(|&b| owner[b] == rank).collect();
        let local = |block: usize| mine.binary_search(&block).ok();
        // Both sides of a list sort it by block and cell.
        let between = |to: u32, from: u32| {
            let copies = self.copies.iter().filter(|c| owner[c.to] == to && owner[c.from] == from);
            let mut cells: Vec<(usize, u32)> =
                copies.flat_map(|c| c.pairs.iter().map(|pair| (c.from, pair[1]))).collect();
            cells.sort_unstable();
            cells.dedup();
            cells
        };
        let mut others: Vec<u32> = owner.iter().copied().filter(|&other| other != rank).collect();
        others.sort_unstable();
        others.dedup();
        let (mut lists, mut places, mut count) = (Vec::new(), Vec::new(), 0);
        for other in others {
            let (send, receive) = (between(other, rank), between(rank, other));
            if send.is_empty() && receive.is_empty() {
                continue;
            }
            let send = send.iter().filter_map(|&(block, cell)| Some([local(block)? as u32, cell])).collect();
            lists.push(Passing { rank: other as usize, send, receive: count..count + receive.len() });
            count += receive.len();
            places.extend(receive);
        }
        // By block and cell, where a cell of another rank lies.
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_unstable_by_key(|&at| places[at]);
        let place = |cell: (usize, u32)| {
            let found = order.partition_point(|&at| places[at] < cell);
            order[found] as u32
        };
        let of = |c: &Copies| {
            let (to, outside) = (local(c.to)?, local(c.from).is_none());
            let moved =
                |&[ghost, cell]: &[u32; 2]| [ghost, if outside { place((c.from, cell)) } else { cell }];
            let pairs = c.pairs.iter().map(moved).collect();
            Some(Copies { to, from: local(c.from).unwrap_or(mine.len()), turn: c.turn, pairs })
        };
        let lengths = mine.iter().map(|&b| self.lengths[b]).chain([count]).collect();
        let copies = self.copies.iter().filter_map(of).collect();
        (Self { copies, lengths, matrices: self.matrices.clone() }, lists)
    }

    /// Whether there is nothing to copy.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Where each block's cells begin when the arrays of all blocks lie one after another.
    pub fn first_cells(&self) -> Vec<usize> {
        first_cells(&self.lengths)
    }

    /// Cells of all blocks, ghosts included.
    pub fn cells(&self) -> usize {
        self.lengths.iter().sum()
    }

    /// Ghost cell and the cell whose value it takes as it is, in an array of all blocks where block b begins at `first[b]`, such as
    /// [`Exchange::first_cells`].
    pub fn pairs(&self, first: &[usize]) -> impl Iterator<Item = [u32; 2]> {
        self.copies.iter().filter(|c| c.turn.is_none()).flat_map(|c| c.placed(first))
    }

    /// Those whose vectors are turned, each with the number of its matrix.
    pub fn turned(&self, first: &[usize]) -> impl Iterator<Item = [u32; 3]> {
        let turned = self.copies.iter().filter_map(|c| Some((c, c.turn?)));
        turned.flat_map(|(c, turn)| c.placed(first).map(move |[ghost, cell]| [ghost, cell, turn]))
    }

    /// What turns vectors beyond sides that are turned.
    pub fn matrices(&self) -> &[Matrix] {
        &self.matrices
    }

    /// One and the number of the matrix that turns the vectors of each ghost cell, 0 for other cells: `[blocks][cells]`, or nothing where no
    /// sides are turned.
    pub fn turns(&self) -> Vec<Vec<u8>> {
        if self.matrices.is_empty() {
            return Vec::new();
        }
        let mut turns: Vec<Vec<u8>> = self.lengths.iter().map(|&n| vec![0; n]).collect();
        for copies in &self.copies {
            for &[ghost, _] in &copies.pairs {
                turns[copies.to][ghost as usize] = copies.turn.map_or(0, |turn| turn as u8 + 1);
            }
        }
        turns
    }

    /// Fills the ghost cells beyond interfaces with what their cells have. `fields[b]` has `components` arrays of block b one after another.
    ///
    /// **Shapes**: `[blocks][components, nk + 4, nj + 4, ni + 4]`, see [`Cells`].
    ///
    /// # Panics
    /// When an array has another length.
    pub fn fill<T: Copy, A: AsMut<[T]> + AsRef<[T]>>(&self, fields: &mut [A], components: usize) {
        self.fill_turning(fields, components, |_, _| ());
    }

    /// The same of states, whose components 1 to 3 are a vector.
    ///
    /// # Panics
    /// When an array has another length, or there are fewer components.
    pub fn fill_states<A: AsMut<[f64]> + AsRef<[f64]>>(&self, fields: &mut [A], components: usize) {
        self.fill_turning(fields, components, |matrix, values| {
            let count = values.len() / components;
            let [u, v, w] = [1, 2, 3].map(|c| c * count);
            for i in 0..count {
                let turned = product(matrix, [values[u + i], values[v + i], values[w + i]]);
                [values[u + i], values[v + i], values[w + i]] = turned;
            }
        });
    }

    /// The same of one array of states a block.
    ///
    /// **Shapes**: `[blocks][nk + 4, nj + 4, ni + 4]`
    ///
    /// # Panics
    /// When an array has another length.
    pub fn fill_rows<A: AsMut<[[f64; 5]]> + AsRef<[[f64; 5]]>>(&self, fields: &mut [A]) {
        self.fill_turning(fields, 1, |matrix, values| {
            for q in values {
                [q[1], q[2], q[3]] = product(matrix, [q[1], q[2], q[3]]);
            }
        });
    }

    /// `turn` has what is copied with one matrix, `[components, pairs]`.
    fn fill_turning<T: Copy, A: AsMut<[T]> + AsRef<[T]>>(
        &self,
        fields: &mut [A],
        components: usize,
        turn: impl Fn(&Matrix, &mut [T]),
    ) {
        for (field, n) in fields.iter().zip(&self.lengths) {
            assert_eq!(field.as_ref().len(), n * components, "components of all cells and ghosts");
        }
        let mut values = Vec::new();
        for copies in &self.copies {
            let pairs = &copies.pairs;
            let (from, to) = (self.lengths[copies.from], self.lengths[copies.to]);
            values.clear();
            let field = fields[copies.from].as_ref();
            values.extend(
                (0..components).flat_map(|c| pairs.iter().map(move |p| field[c * from + p[1] as usize])),
            );
            if let Some(number) = copies.turn {
                turn(&self.matrices[number as usize], &mut values);
            }
            let field = fields[copies.to].as_mut();
            for (c, values) in values.chunks(pairs.len()).enumerate() {
                for (&[ghost, _], &value) in pairs.iter().zip(values) {
                    field[c * to + ghost as usize] = value;
                }
            }
        }
    }
}

impl Copies {
    /// Its pairs in an array of all blocks where block b begins at `first[b]`.
    fn placed(&self, first: &[usize]) -> impl Iterator<Item = [u32; 2]> {
        let (to, from) = (first[self.to] as u32, first[self.from] as u32);
        self.pairs.iter().map(move |[ghost, cell]| [to + ghost, from + cell])
    }
}

fn first_cells(lengths: &[usize]) -> Vec<usize> {
    lengths
        .iter()
        .scan(0, |next, n| {
            *next += n;
            Some(*next - n)
        })
        .collect()
}
