#![allow(unsafe_code)]
//! Multicolor line relaxation on the device.
//!
//! Rows of a color that lie in lines are swept by the kernels of [`MulticolorCuda`] over a matrix without the couplings inside lines,
//! which leaves z = B^-1 (b - O x); `solve.cu` then goes up and down the lines. `factor.cu` eliminates them.

pub(super) mod arguments;
#[cfg(test)]
mod tests;

use super::LineTable;
use crate::gpu::{DeviceJacobian, GpuError, Storage};
use crate::order::RowBatches;
use crate::relax::{
    Direction, FactorReport, Guess, MulticolorCuda, RelaxError, SolveOptions, SolveReport, check_batches,
};
use crate::sparse::BlockPattern;
use crate::sparse::cuda::{RowSets, Tile};
use crate::{Outcome, sparse};
use arguments::{FactorLines, Line, SolveLines};
use chromaflow_device::cuda::{DeviceBuffer, Graph, Kernel, KernelSource, Read, Share, Stream, Write};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::sync::Arc;

const LINES: &str = include_str!("lines.cuh");
const FACTOR: &str = include_str!("factor.cu");
const SOLVE: &str = include_str!("solve.cu");

/// Rows of the largest blocks: three columns of each stand in a warp.
const MOST: usize = 10;
/// Lanes of a warp.
const WARP: usize = 32;

fn source(name: &'static str, text: &str, storage: Storage, nb: usize) -> KernelSource {
    crate::gpu::source(name, &format!("{LINES}\n#line 1 \"{name}.cu\"\n{text}"), storage).define("NB", nb)
}

/// The elimination of lines of blocks that are assembled in `from`.
fn factor_source(nb: usize, storage: Storage, from: Storage) -> KernelSource {
    source("factor_lines", FACTOR, storage, nb).record::<FactorLines>().define("IN", from.code())
}

/// Sweeps along lines; as many rows ahead as about 20 registers a buffer hold.
fn solve_source(nb: usize, storage: Storage) -> KernelSource {
    let ahead = (20 / nb / (storage.x_bytes() / 4)).clamp(1, 8);
    source("solve_lines", SOLVE, storage, nb).record::<SolveLines>().define("AHEAD", ahead)
}

/// Sources of the kernels for lines of blocks of a size, for building ahead; none where there are none.
pub(crate) fn kernel_sources(nb: usize, storage: Storage) -> Vec<KernelSource> {
    if nb > MOST {
        return Vec::new();
    }
    let mut sources = vec![solve_source(nb, storage), factor_source(nb, storage, storage.assembled())];
    if storage == Storage::F16 {
        sources.push(factor_source(nb, storage, Storage::F16));
    }
    sources
}

/// Multicolor line relaxation of A x = (T + O) x = b on a GPU:
///
/// `x_c <- T_c^-1 (b_c - O_c x)` for the lines of one batch (color) c after the other.
///
/// **Precision**: as [`LineRelaxation`](crate::relax::LineRelaxation); B is inverted and applied in f64, E and F are kept in the
/// precision of x. In policy `dsh` they are those of blocks before they are rounded to f16.
///
/// **Results** are the same bits on every run.
///
/// **Launch shape**: three launches a batch, each dependent on the one before: the rows of lines, the lines (as many as fit a warp, an
/// entry of x a lane), the rows that stand alone. **Twin**: [`LineRelaxation`](crate::relax::LineRelaxation).
pub struct LinesCuda {
    /// Sweeps over rows; of each color first those of lines, then those alone.
    points: MulticolorCuda,
    pattern: Arc<BlockPattern>,
    lines: DeviceBuffer<Line>,
    /// The lines of each color, and how many groups of a warp they are.
    colors: Vec<Range<u32>>,
    near: DeviceBuffer<u32>,
    couplings: [DeviceBuffer<u32>; 2],
    solve: Kernel,
    /// Eliminations by the storage of assembled blocks.
    factor: HashMap<Storage, Kernel>,
    graphs: HashMap<(Direction, usize, u64), Graph>,
    singular: Option<usize>,
}

/// Lines as warps go through them.
struct Groups {
    lines: Vec<Line>,
    colors: Vec<Range<u32>>,
    /// Rows of the longest lines of all groups.
    slots: usize,
}

impl Groups {
    fn new(batches: &RowBatches, nb: usize) -> Self {
        let starts = batches.lines().map_or(&[][..], |lines| lines);
        let (mut lines, mut colors, mut slots) = (Vec::new(), Vec::new(), 0);
        for batch in batches.iter() {
            let first = lines.len();
            let long = batch.start..batches.alone(batch.clone()).start;
            let inside = |start: &&[u32]| long.contains(&(start[0] as usize));
            let own: Vec<&[u32]> = starts.windows(2).filter(inside).collect();
            for group in own.chunks(WARP / nb) {
                // Long lines come first.
                let longest = group.first().map_or(0, |line| line[1] - line[0]);
                for (at, line) in group.iter().enumerate() {
                    let (row, rows) = (line[0], line[1] - line[0]);
                    lines.push(Line { row, rows, slot: slots as u32, lane: (at * nb) as u32 });
                }
                slots += longest as usize;
            }
            colors.push(first as u32..lines.len() as u32);
        }
        Self { lines, colors, slots }
    }
}

impl LinesCuda {
    /// Sets up for matrices with off-diagonal blocks of size `nb` on `pattern`, stored as `storage` in the sweeps, whose rows stand in
    /// the order of `batches` ([`Plan::of_lines`](crate::order::Plan::of_lines)).
    ///
    /// # Errors
    /// [`GpuError::Relax`]: batches that do not cover the rows or that join dependent lines; [`GpuError::Unsupported`] for blocks of
    /// more than 10 rows; [`GpuError::Shape`]; [`GpuError::Cuda`]: out of memory, no compiler, driver errors.
    pub fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
    ) -> Result<Self, GpuError> {
        sparse::check_nb(nb)?;
        if nb > MOST {
            return Err(GpuError::Unsupported(format!(
                "lines of blocks of {nb} x {nb} are not solved for on a GPU: blocks have at most {MOST} rows"
            )));
        }
        check_batches(pattern, batches, true)?;
        let table = LineTable::new(pattern, batches);
        let (rest, kept, near) = without_lines(pattern, batches, &table);
        let sets: Vec<Range<usize>> = batches
            .iter()
            .flat_map(|batch| {
                let alone = batches.alone(batch.clone());
                [batch.start..alone.start, alone]
            })
            .collect();
        let largest = batches.iter().map(|batch| batch.len()).max().unwrap_or(0);
        let tile = Tile::choose(nb, storage, largest, stream.gpu().facts().multiprocessors);
        let sets = RowSets::in_order(pattern.rows(), &sets);
        let points = MulticolorCuda::of_part(stream, &rest, nb, &sets, storage, tile, (pattern, &kept))?;
        let Groups { lines, colors, slots } = Groups::new(batches, nb);
        let words = slots * nb * WARP * storage.x_bytes() / 4;
        let solve = stream.gpu().module(&solve_source(nb, storage))?.kernel("solve_lines")?;
        Ok(Self {
            points,
            pattern: Arc::clone(pattern),
            lines: stream.upload(&lines)?,
            colors,
            near: stream.upload(&near)?,
            couplings: [DeviceBuffer::zeroed(stream, words)?, DeviceBuffer::zeroed(stream, words)?],
            solve,
            factor: HashMap::new(),
            graphs: HashMap::new(),
            singular: None,
        })
    }

    /// Sources of the kernels that [`Self::new`] asks for with batches the largest of which has so many rows, and that taking values
    /// of the usual storage asks for.
    pub fn kernel_sources(
        nb: usize,
        storage: Storage,
        largest: usize,
        processors: usize,
    ) -> Vec<KernelSource> {
        let mut sources = MulticolorCuda::kernel_sources(nb, storage, largest, processors).0;
        sources.extend(kernel_sources(nb, storage));
        sources
    }

    /// Takes the values of `jac` and eliminates the lines. `jac` is free to be assembled anew after this.
    ///
    /// # Errors
    /// [`GpuError::OtherMatrix`], [`GpuError::Unsupported`] for values of another storage, [`GpuError::Cuda`].
    pub fn factor(&mut self, jac: &DeviceJacobian) -> Result<FactorReport, GpuError> {
        self.factor_later(jac)?;
        let report = self.points.report()?;
        self.singular = report.singular_rows.first().map(|&row| row as usize);
        Ok(report)
    }

    /// [`Self::factor`] without waiting for its report, as [`MulticolorCuda::factor_later`].
    ///
    /// # Errors
    /// As [`Self::factor`].
    pub fn factor_later(&mut self, jac: &DeviceJacobian) -> Result<&DeviceBuffer<u32>, GpuError> {
        let (nb, storage, from) = (self.points.matrix().nb(), self.points.storage(), jac.off.storage());
        let before = self.points.matrix().unscale_arg();
        self.points.set_values(jac)?;
        if before != self.points.matrix().unscale_arg() {
            self.graphs.clear(); // they name the old memory
        }
        self.singular = None;
        let stream = self.points.stream().clone();
        let factor = match self.factor.entry(from) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                let module = stream.gpu().module(&factor_source(nb, storage, from))?;
                new.insert(module.kernel("factor_lines")?)
            }
        };
        let (unscale, unscale_stride) = jac.off.unscale();
        let [e, f] = &self.couplings;
        let arguments = FactorLines {
            lines: (&self.lines).into(),
            count: self.lines.len() as u32,
            near: (&self.near).into(),
            diag: (&jac.diag).into(),
            off: Read::at(jac.off.ptr()),
            unscale: Read::at(unscale),
            unscale_stride,
            b: (&self.points.matrix().diag).into(),
            e_out: Write::at(e.ptr()),
            f_out: Write::at(f.ptr()),
        };
        let warps = self.lines.len().div_ceil(WARP / (3 * nb));
        if warps > 0 {
            let launch = factor.launch(warps.div_ceil(4), 128).record(&arguments);
            // SAFETY: lines and blocks are those of the pattern, which `jac` has (checked as its values were taken); E and F have room
            // for the rows of all groups, B for all rows.
            unsafe { launch.enqueue(&stream)? };
        }
        self.points.factor_assembled_later()
    }

    /// Solves A x = b as `options` say, with `b` and `x` on the device in the order of the matrix's rows.
    ///
    /// **Shapes**: `b`, `x [rows, nb]`.
    ///
    /// # Errors
    /// [`RelaxError::NotFactored`], [`GpuError::Shape`], [`GpuError::Cuda`]; [`GpuError::Unsupported`] for tolerances, histories and
    /// restarts, which are for a Krylov method around the sweeps.
    pub fn solve(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        options: &SolveOptions,
    ) -> Result<SolveReport, GpuError> {
        if options.tolerance.is_some() || options.history || options.restart.is_some() {
            return Err(GpuError::Unsupported(
                "sweeps over lines look at no residual on a GPU: put a Krylov method around them".to_owned(),
            ));
        }
        let report =
            |outcome, sweeps| SolveReport { outcome, sweeps, relative_residual: None, history: Vec::new() };
        if let Some(row) = self.singular {
            return Ok(report(Outcome::Breakdown { row }, 0));
        }
        self.points.set_rhs(b)?;
        match options.guess {
            Guess::Zero => self.points.clear()?,
            Guess::Given => self.points.set_x(x)?,
        }
        self.sweeps(options.direction, options.sweeps, options.damping)?;
        self.points.get_x(x)?;
        Ok(report(Outcome::IterationLimit, options.sweeps))
    }

    /// `count` sweeps from the present x as one graph launch.
    ///
    /// # Errors
    /// [`RelaxError::NotFactored`], [`GpuError::Cuda`].
    pub fn sweeps(&mut self, direction: Direction, count: usize, damping: f64) -> Result<(), GpuError> {
        if !self.points.is_factored() {
            return Err(RelaxError::NotFactored.into());
        }
        let (key, stream) = ((direction, count, damping.to_bits()), self.points.stream().clone());
        if !self.graphs.contains_key(&key) {
            let mut failed = None;
            let graph = stream.capture(|| {
                failed = self.record(direction, count, damping).err();
                Ok(())
            });
            if let Some(error) = failed {
                return Err(error);
            }
            self.graphs.insert(key, graph?);
        }
        Ok(self.graphs.get_mut(&key).expect("it was put there above").launch(&stream)?)
    }

    fn record(&self, direction: Direction, count: usize, damping: f64) -> Result<(), GpuError> {
        let colors = self.colors.len();
        let forward = (0..colors).filter(|_| direction != Direction::Backward);
        let backward = (0..colors).rev().filter(|_| direction != Direction::Forward);
        let order: Vec<usize> = forward.chain(backward).collect();
        let mut dependent = false;
        for &color in (0..count).flat_map(|_| &order) {
            let lines = self.colors[color].clone();
            if !lines.is_empty() {
                self.points.launch_apart(2 * color, dependent)?;
                self.launch_lines(lines, damping)?;
                dependent = true;
            }
            if self.points.launch_in_place(2 * color + 1, damping, dependent)? {
                dependent = true;
            }
        }
        Ok(())
    }

    fn launch_lines(&self, lines: Range<u32>, omega: f64) -> Result<(), GpuError> {
        let nb = self.points.matrix().nb();
        let [e, f] = &self.couplings;
        let [x, room] = self.points.iterates();
        let arguments = SolveLines {
            lines: (&self.lines).into(),
            first: lines.start,
            end: lines.end,
            e: Read::at(e.ptr()),
            f: Read::at(f.ptr()),
            room: Share::at(room),
            x: Share::at(x),
            omega,
        };
        let blocks = lines.len().div_ceil(WARP / nb).div_ceil(2);
        let launch = self.solve.launch(blocks, 64).record(&arguments);
        // SAFETY: lines lie within the rows, their blocks within E and F; no line of a color reads another one's rows.
        Ok(unsafe { launch.dependent(true).enqueue(self.points.stream()) }?)
    }

    /// The matrix without the couplings inside lines, as the sweeps read it.
    pub fn points_mut(&mut self) -> &mut MulticolorCuda {
        &mut self.points
    }

    /// The storage of the off-diagonal blocks.
    pub fn storage(&self) -> Storage {
        self.points.storage()
    }

    /// Bytes of device memory.
    pub fn bytes(&self) -> usize {
        let [e, f] = &self.couplings;
        self.points.bytes() + self.lines.bytes() + self.near.bytes() + e.bytes() + f.bytes()
    }

    /// The smallest number of bytes a sweep must move: those of [`MulticolorCuda::minimal_bytes`] with E and F in the place of the
    /// couplings inside lines, and the room of lines written and read twice.
    pub fn minimal_bytes(&self) -> usize {
        let (nb, x) = (self.points.matrix().nb(), self.storage().x_bytes());
        let in_lines = self.pattern.nnzb() - self.points.matrix().pattern().nnzb();
        let room = self.couplings[0].bytes() / (nb * WARP) * (WARP / nb) * nb;
        self.points.minimal_bytes() + in_lines * nb * nb * x + 4 * room
    }
}

/// The pattern without the couplings inside lines, which of the blocks each of its own is, and of each row the blocks A and C.
fn without_lines(
    pattern: &BlockPattern,
    batches: &RowBatches,
    table: &LineTable,
) -> (Arc<BlockPattern>, Vec<u32>, Vec<u32>) {
    let (mut ptr, mut idx, mut kept) = (vec![0], Vec::new(), Vec::new());
    let (mut near, mut stored) = (Vec::with_capacity(2 * pattern.rows()), 0);
    for row in 0..pattern.rows() {
        let mut skipped = 0..0;
        if batches.line_of(row).len() > 1 {
            skipped = table.near(stored);
            stored += 1;
        }
        let column = |k: usize| pattern.col_idx()[k] as usize;
        let find = |wanted: Option<usize>| skipped.clone().find(|&k| Some(column(k)) == wanted);
        for wanted in [row.checked_sub(1), Some(row + 1)] {
            near.push(find(wanted).map_or(u32::MAX, |k| k as u32));
        }
        for k in pattern.range(row).filter(|k| !skipped.contains(k)) {
            idx.push(column(k) as u32);
            kept.push(k as u32);
        }
        ptr.push(idx.len() as u32);
    }
    let rest = BlockPattern::new(pattern.cols(), ptr, idx).expect("columns ascend as before");
    (Arc::new(rest), kept, near)
}
