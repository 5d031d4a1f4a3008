//! From a rank's rows in global numbers to the rows that it works on: who owns which column, colors, the order inside.

use super::OwnedRows;
use crate::dist::{Items, Priority, Share};
use crate::order::{ColoringMethod, Order, PlanOptions, VertexOrder, priority_of};
use crate::solver::layout::{Layout, shifted};
use crate::solver::{Index, SolverError};
use crate::sparse::{PatternError, SIGMA, ShapeError};
use crate::{BlockPattern, Permutation, RowBatches};
use chromaflow_comm::post::{Ghosts, gather_all, swap};
use chromaflow_comm::{CommError, Communicator, Op};
use chromaflow_device::Team;
use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

/// A rank's rows, columns ascending in each: the global column, from 0, and the place of the block among the caller's.
pub(super) struct Parsed {
    ptr: Vec<usize>,
    blocks: Vec<(u32, u32)>,
    /// Global numbers, from 0.
    range: Range<usize>,
    /// Global numbers of all others' rows that they couple with, ascending.
    pub(super) ghosts: Vec<u32>,
}

impl Parsed {
    /// Reads a rank's arrays of a matrix with so many columns.
    pub(super) fn new<P: Index, C: Index>(
        given: &OwnedRows<'_, P, C>,
        range: Range<usize>,
        columns: usize,
    ) -> Result<Self, SolverError> {
        let first = given.base.first();
        let row_ptr = shifted("row_ptr", given.row_ptr, first)?;
        if row_ptr.first() != Some(&0) {
            return Err(PatternError::Start { first }.into());
        }
        let number = |row: usize| range.start + row + first;
        if let Some(row) = row_ptr.windows(2).position(|w| w[1] < w[0]) {
            return Err(PatternError::Decreasing { row: number(row) }.into());
        }
        let (end, len) = (row_ptr[range.len()], given.col_idx.len());
        if end != len as u64 {
            return Err(PatternError::End { end, len }.into());
        }
        // Diagonal blocks that come apart are counted behind.
        if len + range.len() >= u32::MAX as usize {
            return Err(PatternError::TooLarge { what: "blocks", count: len }.into());
        }
        let found = shifted("col_idx", given.col_idx, first)?;
        let mut blocks = Vec::with_capacity(len);
        let ptr: Vec<usize> = row_ptr.iter().map(|&p| p as usize).collect();
        for row in 0..range.len() {
            let own = blocks.len();
            for k in ptr[row]..ptr[row + 1] {
                if found[k] >= columns as u64 {
                    let (row, col) = (number(row), found[k] + first as u64);
                    return Err(PatternError::Column { row, col, cols: columns, first }.into());
                }
                blocks.push((found[k] as u32, k as u32));
            }
            let own = &mut blocks[own..];
            own.sort_unstable();
            if let Some(w) = own.windows(2).find(|w| w[0].0 == w[1].0) {
                return Err(
                    PatternError::Order { row: number(row), col: u64::from(w[1].0) + first as u64 }.into()
                );
            }
        }
        let mut ghosts: Vec<u32> =
            blocks.iter().map(|b| b.0).filter(|&c| !range.contains(&(c as usize))).collect();
        ghosts.sort_unstable();
        ghosts.dedup();
        Ok(Self { ptr, blocks, range, ghosts })
    }

    pub(super) fn rows(&self) -> usize {
        self.range.len()
    }

    fn row(&self, row: usize) -> &[(u32, u32)] {
        &self.blocks[self.ptr[row]..self.ptr[row + 1]]
    }

    /// The first row, from 0, with or without a diagonal block.
    fn first_with(&self, diagonal: bool) -> Option<usize> {
        let has = |row: &usize| {
            let own = (self.range.start + row) as u32;
            self.row(*row).binary_search_by_key(&own, |b| b.0).is_ok()
        };
        (0..self.rows()).find(|row| has(row) == diagonal)
    }

    /// Whether diagonal blocks come apart: rows of all ranks have theirs, or none has. Collective.
    pub(super) fn apart(&self, ranks: &dyn Communicator, first: usize) -> Result<bool, SolverError> {
        let without = self.first_with(false);
        let mut some =
            [f64::from(u8::from(self.first_with(true).is_some())), f64::from(u8::from(without.is_some()))];
        ranks.reduce(Op::Max, &mut some)?;
        if some != [1.0; 2] {
            return Ok(some[1] == 1.0);
        }
        let row = without.map(|row| row + self.range.start + first);
        let missing = row.map(|row| ShapeError::MissingDiagonal { row }.into());
        Err(super::error::first_of(ranks, missing.as_ref())?)
    }

    /// A column's place among own rows and, behind them, the rows of others in a list.
    fn place(&self, column: u32, others: &[u32]) -> u32 {
        let at = column as usize;
        if self.range.contains(&at) {
            return (at - self.range.start) as u32;
        }
        let ghost =
            others.binary_search(&column).expect("the list has all rows of others that own rows couple with");
        (self.rows() + ghost) as u32
    }
}

/// Own rows and rows of others around them, by places: own ones, then others in ascending order of their numbers.
struct Near {
    others: Vec<u32>,
    ghosts: Ghosts,
    /// Neighbors of own rows in the pattern of A + A^T, ascending; none where there are no colors.
    ptr: Vec<usize>,
    idx: Vec<u32>,
}

/// Who has which rows.
pub(super) struct Owners<'a> {
    pub(super) ranks: &'a dyn Communicator,
    /// Where the rows of each rank begin, and their end.
    pub(super) starts: &'a [u64],
}

impl Owners<'_> {
    fn of(&self, row: u32) -> u32 {
        (self.starts.partition_point(|&start| start <= u64::from(row)) - 1) as u32
    }
}

impl Near {
    /// The rows that own rows read, and, for colors, those that read own rows. Collective.
    fn new(rows: &Parsed, owners: &Owners<'_>, colored: bool) -> Result<Self, CommError> {
        let (ranks, n) = (owners.ranks, rows.rows());
        let own = |row: usize| (rows.range.start + row) as u32;
        let mut others = rows.ghosts.clone();
        // Own row, row of another rank that reads it.
        let mut readers: Vec<[u32; 2]> = Vec::new();
        if colored {
            let mut told = vec![Vec::new(); ranks.size()];
            for row in 0..n {
                let beyond = rows.row(row).iter().filter(|b| !rows.range.contains(&(b.0 as usize)));
                beyond.for_each(|b| told[owners.of(b.0) as usize].push([b.0, own(row)]));
            }
            readers = swap(ranks, told)?.concat();
            others.extend(readers.iter().map(|pair| pair[1]));
            others.sort_unstable();
            others.dedup();
        }
        let of_others = others.iter().zip(n as u32..).map(|(&row, at)| (at, owners.of(row), row));
        let ghosts = Ghosts::new(ranks, of_others, |row: u32| row - rows.range.start as u32)?;
        let (ptr, idx) =
            if colored { neighbors(rows, &others, &readers) } else { (vec![0; n + 1], Vec::new()) };
        Ok(Self { others, ghosts, ptr, idx })
    }

    /// A color for each row here, the same on any number of ranks: two where these are enough, else of greedy colorings in the order of the global
    /// numbers, or of rows with many neighbors first, those of one rank; for others those of a parallel one. Collective.
    fn colors(
        &self,
        rows: &Parsed,
        ranks: &dyn Communicator,
        method: ColoringMethod,
    ) -> Result<Vec<u32>, CommError> {
        let n = rows.rows();
        let mut degrees: Vec<u32> = self.ptr.windows(2).map(|w| (w[1] - w[0]) as u32).collect();
        degrees.resize(n + self.others.len(), 0);
        self.ghosts.exchange(ranks, &mut degrees)?;
        let numbers: Vec<u32> =
            (rows.range.start as u32..rows.range.end as u32).chain(self.others.iter().copied()).collect();
        let first = |degree: u32, row: usize| (degree, 0, usize::MAX - row);
        let of_row: &dyn Fn(u32, usize) -> Priority = match method {
            ColoringMethod::Greedy(VertexOrder::Natural) => &|_, row| first(0, row),
            ColoringMethod::Greedy(VertexOrder::LargestFirst) => &first,
            _ => &|degree, row| priority_of(degree as usize, row),
        };
        let priority: Vec<Priority> =
            degrees.iter().zip(&numbers).map(|(&degree, &row)| of_row(degree, row as usize)).collect();
        let items = Items {
            ranks,
            ghosts: &self.ghosts,
            owned: (0..n as u32).collect(),
            priority: &priority,
            numbers: &numbers,
            neighbors: |row: u32, visit: &mut dyn FnMut(u32)| {
                let near = &self.idx[self.ptr[row as usize]..self.ptr[row as usize + 1]];
                for &row in near {
                    visit(row);
                }
            },
        };
        items.few()
    }
}

/// Neighbors of own rows in the pattern of A + A^T, by places; `readers` are own rows and rows of others that read them.
fn neighbors(rows: &Parsed, others: &[u32], readers: &[[u32; 2]]) -> (Vec<usize>, Vec<u32>) {
    let n = rows.rows();
    let each = |visit: &mut dyn FnMut(usize, u32)| {
        for row in 0..n {
            for &(column, _) in rows.row(row) {
                let column = rows.place(column, others);
                if column as usize != row {
                    visit(row, column);
                    if (column as usize) < n {
                        visit(column as usize, row as u32);
                    }
                }
            }
        }
        for &[row, by] in readers {
            visit(row as usize - rows.range.start, rows.place(by, others));
        }
    };
    let mut ends = vec![0; n + 1];
    each(&mut |row, _| ends[row + 1] += 1);
    (0..n).for_each(|row| ends[row + 1] += ends[row]);
    let (mut next, mut found) = (ends.clone(), vec![0; ends[n]]);
    each(&mut |row, near| {
        found[next[row]] = near;
        next[row] += 1;
    });
    let (mut ptr, mut idx) = (vec![0], Vec::with_capacity(found.len()));
    for row in 0..n {
        let near = &mut found[ends[row]..ends[row + 1]];
        near.sort_unstable();
        let mut last = None;
        idx.extend(near.iter().copied().filter(|&row| last.replace(row) != Some(row)));
        ptr.push(idx.len());
    }
    (ptr, idx)
}

/// A rank's rows as they stand inside: own ones and ghosts in the order of the sweeps.
pub(super) struct Inside {
    pub(super) order: Order,
    pub(super) layout: Layout,
    /// Off-diagonal blocks of own rows; ghosts have none.
    pub(super) pattern: Arc<BlockPattern>,
    pub(super) share: Arc<Share>,
    /// Where the colors of the whole matrix begin in its order inside.
    pub(super) colors: Vec<u32>,
}

impl Inside {
    /// Numbers the rows of all ranks: color by color where there are colors, else rank by rank. A rank's own rows go in the caller's order or in
    /// reverse Cuthill-McKee's. Collective.
    pub(super) fn new(
        rows: &Parsed,
        ranks: Arc<dyn Communicator>,
        starts: &[u64],
        plan: PlanOptions,
        team: &Team,
    ) -> Result<Self, SolverError> {
        let n = rows.rows();
        let colored = !matches!(plan.coloring, ColoringMethod::None | ColoringMethod::Levels);
        let owners = Owners { ranks: &*ranks, starts };
        let near = Near::new(rows, &owners, colored)?;
        let (along, levels) = along(rows, plan, team)?;
        let all = n + near.others.len();
        let colors = if colored { near.colors(rows, owners.ranks, plan.coloring)? } else { vec![0; all] };
        let (whole, own) = sizes(rows, &colors[..n], owners.ranks)?;
        let mut of_color: Vec<Vec<u32>> = vec![Vec::new(); whole.len()];
        for row in along {
            of_color[colors[row as usize] as usize].push(row);
        }
        let (mut offsets, mut new) = (vec![0_u32], vec![0_u32; all]);
        for ((rows_of, before), whole) in of_color.iter_mut().zip(own).zip(&whole) {
            if colored {
                let length = |&row: &u32| Reverse(rows.row(row as usize).len());
                rows_of.chunks_mut(SIGMA).for_each(|window| window.sort_by_cached_key(length));
            }
            let first = offsets[offsets.len() - 1];
            rows_of.iter().zip(first + before..).for_each(|(&row, number)| new[row as usize] = number);
            offsets.push(first + whole[0] as u32);
        }
        near.ghosts.exchange(owners.ranks, &mut new)?;
        // Own rows and those of others that they read, in the order of their numbers.
        let of_ghost = |ghost: &u32| new[rows.place(*ghost, &near.others) as usize];
        let mut local: Vec<(u32, u32)> =
            new[..n].iter().copied().chain(rows.ghosts.iter().map(of_ghost)).zip(0..).collect();
        local.sort_unstable();
        let (global, old_of_new): (Vec<u32>, Vec<u32>) = local.into_iter().unzip();
        let permutation = Permutation::from_old_of_new(old_of_new).expect("each row once");
        let owner: Vec<u32> = (permutation.old_of_new().iter())
            .map(|&old| match (old as usize).checked_sub(n) {
                Some(ghost) => owners.of(rows.ghosts[ghost]),
                None => owners.ranks.rank() as u32,
            })
            .collect();
        let (pattern, layout) = inside(rows, &permutation);
        let bound = |&offset: &u32| global.partition_point(|&row| row < offset) as u32;
        let batches = RowBatches::new(offsets.iter().map(bound).collect());
        let share = Share::new(ranks, &pattern, &batches, &whole, global, &owner);
        let share = Arc::new(share.map_err(super::of_share)?);
        let batches = if plan.coloring == ColoringMethod::Levels { among(&share, levels) } else { batches };
        let order = Order::given(permutation, batches);
        Ok(Self { order, layout, pattern: Arc::new(pattern), share, colors: offsets })
    }
}

/// The levels of own rows, which stand one after the other, with the ghosts before and behind them as batches of their own.
fn among(share: &Share, levels: RowBatches) -> RowBatches {
    let Some(own) = share.owned().first() else {
        // Rows of others at most: one rank has no rows, and reads none.
        return levels;
    };
    let first = own.start as u32;
    let mut offsets: Vec<u32> = vec![0];
    offsets.extend(levels.offsets().iter().map(|&at| first + at));
    offsets.push(share.rows() as u32);
    offsets.dedup();
    RowBatches::new(offsets)
}

/// Own rows one after the other, colors aside, and their levels where sweeps go by them.
fn along(rows: &Parsed, plan: PlanOptions, team: &Team) -> Result<(Vec<u32>, RowBatches), SolverError> {
    let n = rows.rows();
    let (mut ptr, mut columns) = (vec![0], Vec::new());
    for row in 0..n {
        let own = rows.row(row).iter().filter(|b| rows.range.contains(&(b.0 as usize)));
        columns.extend(own.map(|b| b.0 - rows.range.start as u32));
        ptr.push(columns.len() as u32);
    }
    let own = BlockPattern::of_ascending(n, ptr, columns);
    let levels = plan.coloring == ColoringMethod::Levels;
    let coloring = if levels { ColoringMethod::Levels } else { ColoringMethod::None };
    let Order { permutation, batches, .. } = Order::new(&own, PlanOptions { coloring, ..plan }, team)?;
    Ok((permutation.old_of_new().to_vec(), batches))
}

/// Rows of each color, and their blocks and two more for each, on all ranks; and rows on the ranks before this one. Collective.
fn sizes(
    rows: &Parsed,
    colors: &[u32],
    ranks: &dyn Communicator,
) -> Result<(Vec<[usize; 2]>, Vec<u32>), CommError> {
    let mut count = [colors.iter().map(|&c| f64::from(c) + 1.0).fold(0.0, f64::max)];
    ranks.reduce(Op::Max, &mut count)?;
    let mut own = vec![[0_u64; 2]; count[0] as usize];
    for (row, &color) in colors.iter().enumerate() {
        let [rows_of, cost] = &mut own[color as usize];
        let diagonal = (rows.range.start + row) as u32;
        let off = rows.row(row).iter().filter(|b| b.0 != diagonal).count();
        *rows_of += 1;
        *cost += off as u64 + 2;
    }
    let (mut whole, mut before) = (vec![[0; 2]; own.len()], vec![0; own.len()]);
    for (rank, of) in gather_all(ranks, &own)?.iter().enumerate() {
        for ((whole, before), of) in whole.iter_mut().zip(&mut before).zip(of) {
            if rank < ranks.rank() {
                *before += of[0] as u32;
            }
            *whole = [whole[0] + of[0] as usize, whole[1] + of[1] as usize];
        }
    }
    Ok((whole, before))
}

/// The off-diagonal pattern inside, and where its blocks come from.
fn inside(rows: &Parsed, permutation: &Permutation) -> (BlockPattern, Layout) {
    let (n, count) = (rows.rows(), rows.blocks.len());
    let new_of_old = permutation.new_of_old();
    let (mut ptr, mut columns) = (vec![0], Vec::with_capacity(count));
    let (mut diagonal, mut off) = (Vec::with_capacity(permutation.len()), Vec::with_capacity(count));
    let mut row: Vec<(u32, u32)> = Vec::new();
    for &old in permutation.old_of_new() {
        row.clear();
        let mut own = Layout::GHOST;
        if (old as usize) < n {
            // Blocks that come apart are counted behind all others.
            own = count as u32 + old;
            for &(column, k) in rows.row(old as usize) {
                let at = rows.place(column, &rows.ghosts);
                if at == old {
                    own = k;
                } else {
                    row.push((new_of_old[at as usize], k));
                }
            }
            row.sort_unstable();
        }
        diagonal.push(own);
        columns.extend(row.iter().map(|block| block.0));
        off.extend(row.iter().map(|block| block.1));
        ptr.push(columns.len() as u32);
    }
    (BlockPattern::of_ascending(permutation.len(), ptr, columns), Layout::listed(diagonal, off))
}
