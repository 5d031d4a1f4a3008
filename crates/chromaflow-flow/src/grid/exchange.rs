//! Copies across interfaces.

use super::metrics::beyond;
use super::{Cells, Grid};

/// Which ghost cells take which cells: made once for a grid, used for any number of arrays.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// Every direction of every interface.
    copies: Vec<Copies>,
    /// Length of an array of one component, of each block.
    lengths: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Copies {
    to: usize,
    from: usize,
    /// Ghost cell of `to`, cell of `from`.
    pairs: Vec<[u32; 2]>,
}

impl Exchange {
    /// For all interfaces of a grid.
    ///
    /// # Panics
    /// When a block has 2^32 cells or more. Interfaces that do not fit their blocks may panic, too: see
    /// [`Grid::check`].
    pub fn new(grid: &Grid) -> Self {
        let cells: Vec<Cells> = grid.blocks.iter().map(|b| Cells::new(b.cells())).collect();
        let both = grid.interfaces.iter().flat_map(|i| [i.clone(), i.reversed()]);
        let copies = both.map(|interface| {
            let (to, from) = (interface.a.block, interface.b.block);
            let (low, high) = beyond(&interface.a, grid.blocks[to].points, 0);
            let mut pairs = Vec::new();
            let number = |n: usize| u32::try_from(n).expect("a block of fewer than 2^32 cells");
            for k in low[2]..high[2] {
                for j in low[1]..high[1] {
                    for i in low[0]..high[0] {
                        let ghost = cells[to].at([i, j, k]);
                        let source = cells[from].at(interface.map.cell([i, j, k]));
                        pairs.push([number(ghost), number(source)]);
                    }
                }
            }
            Copies { to, from, pairs }
        });
        Self { copies: copies.collect(), lengths: cells.iter().map(Cells::len).collect() }
    }

    /// Whether there is anything to copy.
    pub fn is_empty(&self) -> bool {
        self.copies.is_empty()
    }

    /// Fills ghost cells beyond interfaces. `fields[b]` has `components` arrays of block b one after another.
    ///
    /// Everything is read before anything is written, so that the order of interfaces does not matter. Edges and corners
    /// where interfaces meet take the neighbors' ghosts: they are right after a second call.
    ///
    /// **Shapes**: `[blocks][components, nk + 4, nj + 4, ni + 4]`, see [`Cells`].
    ///
    /// # Panics
    /// When an array has another length.
    pub fn fill<T: Copy, A: AsMut<[T]> + AsRef<[T]>>(&self, fields: &mut [A], components: usize) {
        for (field, n) in fields.iter().zip(&self.lengths) {
            assert_eq!(field.as_ref().len(), n * components, "components of all cells and ghosts");
        }
        let mut values =
            Vec::with_capacity(self.copies.iter().map(|c| c.pairs.len()).sum::<usize>() * components);
        for copies in &self.copies {
            let (field, n) = (fields[copies.from].as_ref(), self.lengths[copies.from]);
            for c in 0..components {
                values.extend(copies.pairs.iter().map(|&[_, from]| field[c * n + from as usize]));
            }
        }
        let mut values = values.into_iter();
        for copies in &self.copies {
            let (field, n) = (fields[copies.to].as_mut(), self.lengths[copies.to]);
            for c in 0..components {
                for (&[to, _], value) in copies.pairs.iter().zip(&mut values) {
                    field[c * n + to as usize] = value;
                }
            }
        }
    }
}
