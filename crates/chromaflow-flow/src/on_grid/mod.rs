//! Unknowns in the cells of a structured grid, whatever their equations: what a rank has of the grid, how its cells are numbered, what
//! it tells the other ranks.

#[cfg(feature = "cuda")]
mod between;
mod restart;
mod shown;

pub use shown::Shown;

use crate::grid::{Cells, Exchange, Grid, Metrics};
use crate::march::forces::ForceScale;
use crate::march::over_ranks::{self as ranks, loads, part};
use crate::march::{BadPlace, Coefficients, FlowError, Forces, Holding, Host, LargestResidual, March, Place};
use crate::mesh::Mesh;
use crate::output::Restart;
use crate::ranks::{BlockExchange, BlockRanks, Ranks};
use chromaflow::dist::Share;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A rank's part of a grid that all ranks know: whole blocks. Rows are their cells, one block after another, i fastest.
pub struct GridPart {
    cells: Vec<Cells>,
    /// The first row of each block, and the number of rows.
    first: Vec<usize>,
    /// Copies into ghost cells beyond interfaces.
    pub(crate) exchange: BlockExchange,
    /// Where there are ranks, which blocks are this one's.
    pub(crate) over: Option<BlockRanks>,
    /// Name of every patch of the grid that counts, and whether it is a wall.
    pub(crate) patches: Vec<(String, bool)>,
    /// Which of them each patch of this rank is.
    pub(crate) numbers: Vec<usize>,
    /// How messages pass between devices, where devices compute.
    pub(crate) halo: Option<String>,
}

/// Walls of a rank by the numbers of its patches, each with what pressure and what friction do on it.
pub(crate) type WallLoads = Vec<(usize, [Coefficients; 2])>;

impl GridPart {
    /// This rank's part, and metrics of its blocks; no patches yet. Collective.
    ///
    /// # Errors
    /// [`FlowError::FewBlocks`], [`FlowError::Ranks`].
    pub(crate) fn new(grid: &Grid, given: Option<&Ranks>) -> Result<(Self, Vec<Metrics>), FlowError> {
        let over = ranks::blocks_of(grid, given)?;
        let (metrics, exchange) = match &over {
            None => (Metrics::of_grid(grid), BlockExchange::new(grid)),
            Some(own) => (Metrics::of_blocks(grid, own.blocks.iter().copied()), own.exchange(grid)),
        };
        let cells: Vec<Cells> = metrics.iter().map(|m| m.cells).collect();
        let mut first = vec![0];
        first.extend(cells.iter().scan(0, |sum, cells| {
            *sum += cells.interior();
            Some(*sum)
        }));
        let (patches, numbers) = (Vec::new(), Vec::new());
        Ok((Self { cells, first, exchange, over, patches, numbers, halo: None }, metrics))
    }

    /// Cells of this rank.
    pub(crate) fn rows(&self) -> usize {
        self.first[self.cells.len()]
    }

    /// Cells of all ranks.
    pub(crate) fn whole(&self) -> usize {
        self.over.as_ref().map_or(self.rows(), |over| over.share.whole())
    }

    /// Block and place in its arrays of a row.
    pub(crate) fn locate(&self, row: usize) -> (usize, usize) {
        let block = self.first.partition_point(|&first| first <= row) - 1;
        (block, self.cells[block].nth(row - self.first[block]))
    }

    /// The row of what lies at a place of a block's arrays; none of ghosts.
    pub(crate) fn row_at(&self, block: usize, at: usize) -> Option<usize> {
        Some(self.first[block] + self.cells[block].number(at)?)
    }

    /// The row of the cell at a place of a block's arrays.
    pub(crate) fn row(&self, block: usize, at: usize) -> usize {
        self.row_at(block, at).expect("a cell of the block")
    }

    /// This rank's block of a number in the grid.
    pub(crate) fn own(&self, block: usize) -> Option<usize> {
        self.over.as_ref().map_or(Some(block), |over| over.blocks.binary_search(&block).ok())
    }

    /// This rank's patch of a number among all of the grid's.
    pub(crate) fn own_patch(&self, patch: usize) -> Option<usize> {
        self.numbers.binary_search(&patch).ok()
    }

    /// The number in the grid of a block of this rank.
    pub(crate) fn number(&self, block: usize) -> usize {
        self.over.as_ref().map_or(block, |over| over.blocks[block])
    }

    /// See [`Host::share`].
    pub(crate) fn share(&self) -> Option<&Arc<Share>> {
        self.over.as_ref().map(|over| &over.share)
    }

    /// The lowest row in the grid of those that ranks have found, of this rank's `row` or none.
    pub(crate) fn lowest(&self, row: Option<usize>) -> Option<usize> {
        self.share().map_or(row, |share| share.lowest(row))
    }

    /// See [`Host::holding`]; of matrices with so many blocks a row.
    pub(crate) fn holding(&self, blocks: usize) -> Holding {
        let lists = self.exchange.lists();
        let sent = lists.iter().map(|list| list.send.len()).sum();
        Holding { rows: self.rows(), blocks: blocks * self.rows(), sent, neighbors: lists.len() }
    }

    /// The sum over all blocks of all ranks, in their order, of what each block of this rank has.
    pub(crate) fn sum(&self, own: impl Iterator<Item = f64>) -> f64 {
        match &self.over {
            None => own.sum(),
            Some(over) => over.sum_blocks(1, own.map(|value| [value]))[0],
        }
    }

    /// Values of this rank's rows as those of all rows on rank 0, none elsewhere: collective.
    ///
    /// **Shapes**: `[rows, width]`.
    pub(crate) fn gather<'a>(&self, width: usize, values: impl Into<Cow<'a, [f64]>>) -> Cow<'a, [f64]> {
        let values = values.into();
        match &self.over {
            None => values,
            Some(over) => Cow::Owned(over.gather(width, &values)),
        }
    }

    /// Lists of things, each of which a rank has with its block: all of them on rank 0, none elsewhere. `things` says block and length
    /// of each.
    pub(crate) fn gather_lists(
        &self,
        things: impl Iterator<Item = (usize, usize)>,
        own: Vec<Vec<f64>>,
    ) -> Vec<Vec<f64>> {
        match &self.over {
            None => own,
            Some(over) => over.gather_lists(things, &own),
        }
    }

    /// The fields `names` of a restart, `[rows, width]`: the present state and, where `unsteady` and there, two earlier time levels.
    ///
    /// # Errors
    /// [`FlowError::Restart`].
    pub(crate) fn levels<'a>(
        &self,
        restart: &'a Restart,
        names: [&str; 3],
        width: usize,
        unsteady: bool,
    ) -> Result<Vec<&'a [f64]>, FlowError> {
        let count = if unsteady && restart.field(names[1]).is_some() { 3 } else { 1 };
        names[..count].iter().map(|name| self.field(restart, name, width)).collect()
    }

    /// A field of a restart, `[rows, width]`.
    ///
    /// # Errors
    /// [`FlowError::Restart`] when it is missing or has another size.
    pub(crate) fn field<'a>(
        &self,
        restart: &'a Restart,
        name: &str,
        width: usize,
    ) -> Result<&'a [f64], FlowError> {
        let fault = |problem: String| FlowError::Restart { field: name.to_owned(), problem };
        let field = restart.field(name).ok_or_else(|| fault("is missing".to_owned()))?;
        let expected = width * self.rows();
        if field.components != width || field.values.len() != expected {
            return Err(fault(format!("has {} values, {expected} expected", field.values.len())));
        }
        Ok(&field.values)
    }

    /// Forces on all walls of the grid from this rank's; collective.
    pub(crate) fn forces(
        &self,
        scale: &ForceScale,
        counts: impl Fn(&str) -> bool,
        own: impl IntoIterator<Item = (usize, [Coefficients; 2])>,
    ) -> Forces {
        let mut all = vec![[Coefficients::default(); 2]; self.patches.len()];
        let own = own.into_iter().map(|(patch, of)| (self.numbers[patch], of));
        match &self.over {
            None => own.for_each(|(number, of)| all[number] = of),
            Some(over) => {
                let found = over.of_all(all.len(), own.map(|(number, of)| (number, loads(&of))));
                all = found.iter().map(|of| [part(&of[..6]), part(&of[6..])]).collect();
            }
        }
        let walls = self.patches.iter().zip(all).filter(|((_, wall), _)| *wall);
        let walls = walls.map(|((name, _), [pressure, viscous])| (name.as_str(), pressure, viscous));
        Forces::of_walls(scale, counts, walls)
    }
}

/// No row: a ghost that is no cell of a neighbor.
pub(crate) const NONE: u32 = u32::MAX;

/// The row of each cell of blocks, and of each ghost beyond their interfaces that of the cell there; [`NONE`] elsewhere. Rows of `others`, cells
/// that come from other ranks, follow those of the blocks.
pub(crate) fn rows_around(
    blocks: impl Iterator<Item = Cells>,
    exchange: &Exchange,
    others: usize,
) -> Vec<Vec<u32>> {
    let mut count = 0;
    let numbered = |cells: Cells| {
        let mut rows = vec![NONE; cells.len()];
        for at in cells.places() {
            rows[at] = count;
            count += 1;
        }
        rows
    };
    let mut rows: Vec<Vec<u32>> = blocks.map(numbered).collect();
    if others > 0 {
        rows.push((count..count + others as u32).collect());
    }
    exchange.fill(&mut rows, 1);
    rows
}

/// That each marker that needs a boundary condition has one, and each condition a marker.
pub(crate) fn check_markers<B>(
    grid: &Grid,
    boundaries: &BTreeMap<String, B>,
    needs: impl Fn(&str) -> bool,
) -> Result<(), FlowError> {
    let markers = grid.markers();
    let all = markers.join(", ");
    if let Some(&marker) = markers.iter().find(|m| needs(m) && !boundaries.contains_key(**m)) {
        return Err(FlowError::MissingBoundary { marker: marker.to_owned(), all });
    }
    match boundaries.keys().find(|name| !markers.contains(&name.as_str())) {
        Some(marker) => Err(FlowError::UnknownMarker { marker: marker.clone(), all }),
        None => Ok(()),
    }
}

/// A system with its unknowns in the cells of a structured grid.
pub trait OnGrid: Host {
    /// What this rank has of the grid.
    fn part(&self) -> &GridPart;

    /// Metrics of one of its blocks.
    fn metrics(&self, block: usize) -> &Metrics;

    /// What is said of the state at a place of a block's arrays where it goes wrong: marker, values, their names.
    fn seen(&self, block: usize, at: usize) -> (Option<String>, Vec<f64>, &'static str);

    /// The part of the sum of R^2/V that a cell has.
    fn residual_part(&self, block: usize, at: usize) -> f64;

    /// Centers and volumes of this rank's cells.
    fn cells(&self) -> Vec<([f64; 3], f64)> {
        let blocks = (0..self.part().cells.len()).map(|block| self.metrics(block));
        blocks.flat_map(|m| m.cells.places().map(|at| (m.center(at), m.volume[at]))).collect()
    }

    /// Volumes of this rank's cells.
    fn volumes(&self) -> Vec<f64> {
        self.cells().into_iter().map(|(_, volume)| volume).collect()
    }

    /// See [`Host::place`], of a row of this rank.
    fn place_here(&self, row: usize) -> BadPlace {
        let (block, at) = self.part().locate(row);
        let (metrics, (marker, state, variables)) = (self.metrics(block), self.seen(block, at));
        let cell = metrics.cells.cell(at).map(|n| n as usize);
        let place = Place::Cell { block: self.part().number(block), cell };
        BadPlace { place, at: metrics.center(at), marker, state, variables: variables.into(), rank: None }
    }

    /// See [`Host::place`].
    fn place_of(&self, row: usize) -> BadPlace {
        match self.part().share() {
            None => self.place_here(row),
            Some(share) => ranks::place(share, row, |row| self.place_here(row)),
        }
    }

    /// See [`Host::largest_of_ranks`].
    fn largest(&self) -> Option<Option<LargestResidual>> {
        let share = self.part().share()?;
        let part = |row: usize| {
            let (block, at) = self.part().locate(row);
            self.residual_part(block, at)
        };
        Some(ranks::largest(share, part, |row| self.place_here(row), |row| self.mach_and_pressure(row)))
    }
}

impl<S: OnGrid> March<S> {
    /// Number of ranks, and the most cells that one of them has over the mean; none where there is one.
    pub fn division(&self) -> Option<(usize, f64)> {
        self.host.part().over.as_ref()?.division()
    }

    /// How messages pass between the devices of ranks; none where no devices of ranks compute.
    pub fn halo_path(&self) -> Option<&str> {
        self.host.part().halo.as_deref()
    }

    /// Values of this rank's cells as those of all cells on rank 0, none elsewhere: collective, as
    /// [`March::residuals`](crate::march::March::residuals) says.
    ///
    /// **Shapes**: `[cells, width]`.
    pub fn of_all_cells<'a>(&self, width: usize, values: &'a [f64]) -> Cow<'a, [f64]> {
        self.host.part().gather(width, values)
    }

    /// Centers of all cells, in the order of [`March::cells`].
    pub fn centers(&self) -> Vec<[f64; 3]> {
        self.cells().into_iter().map(|(center, _)| center).collect()
    }

    /// Volumes of all cells, in the order of [`March::cells`].
    pub fn volumes(&self) -> Vec<f64> {
        self.host.volumes()
    }

    /// Center and volume of all cells: block by block, i fastest; over ranks of this one's.
    pub fn cells(&self) -> Vec<([f64; 3], f64)> {
        self.host.cells()
    }
}

/// Centers of all cells of a grid as the nodes of a mesh without elements: the places that restarts are written for.
pub fn centers(grid: &Grid) -> Mesh {
    let nodes = Metrics::all_cells(grid).into_iter().map(|(center, _)| center).collect();
    Mesh { nodes, ..Mesh::default() }
}
