#![allow(unsafe_code)]
//! Multicolor line relaxation on the device.
//!
//! Rows of a color that lie in lines are swept by the kernels of [`MulticolorCuda`] over a matrix without the couplings inside lines,
//! which leaves z = B^-1 (b - O x); `solve.cu` then goes up and down the lines. `factor.cu` eliminates them.

pub(super) mod arguments;
mod layout;
mod sweep;
#[cfg(test)]
mod tests;

use super::{LineTable, starts};
use crate::dist::SweepExchange;
use crate::gpu::{DeviceJacobian, Direct, GpuError, MAIL, ShareCuda, Storage, Vectors};
use crate::order::RowBatches;
use crate::relax::over_ranks_cuda::Recorded;
use crate::relax::{Direction, FactorReport, MulticolorCuda, check_batches, invert_source};
use crate::sparse::cuda::{Mode, Tile};
use crate::sparse::{BlockPattern, check_len, check_nb};
use arguments::{FactorLines, Line, SolveLines, SolvePassingLines};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Stream, Write};
use chromaflow_device::kernel_arguments;
use layout::{Color, Groups, Parts, without_lines};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
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

/// Sweeps along lines, which may pass those of the border to other ranks; as many rows ahead as about 20 registers a buffer hold.
fn solve_source(nb: usize, storage: Storage, passes: bool) -> KernelSource {
    let ahead = (20 / nb / (storage.x_bytes() / 4)).clamp(1, 8);
    let source = if passes {
        source("solve_lines", &format!("{MAIL}\n#line 1 \"solve.cu\"\n{SOLVE}"), storage, nb)
            .record::<SolvePassingLines>()
    } else {
        source("solve_lines", SOLVE, storage, nb).record::<SolveLines>()
    };
    source.define("AHEAD", ahead).define("PASSES", u32::from(passes))
}

/// Whether lines of blocks of this size are solved for.
fn check_size(nb: usize) -> Result<(), GpuError> {
    check_nb(nb)?;
    if nb > MOST {
        return Err(GpuError::Unsupported(format!(
            "lines of blocks of {nb} x {nb} are not solved for on a GPU: blocks have at most {MOST} rows"
        )));
    }
    Ok(())
}

/// Sources of the kernels for lines of blocks of a size, for building ahead, over ranks and alone; none where there are none.
pub(crate) fn kernel_sources(nb: usize, storage: Storage) -> Vec<KernelSource> {
    if nb > MOST {
        return Vec::new();
    }
    let mut sources = Vec::from([false, true].map(|passes| solve_source(nb, storage, passes)));
    sources.push(factor_source(nb, storage, storage.assembled()));
    if storage == Storage::F16 {
        sources.push(factor_source(nb, storage, Storage::F16));
    }
    sources
}

/// Multicolor line relaxation of A x = (T + O) x = b on a GPU:
///
/// `x_c <- T_c^-1 (b_c - O_c x)` for the lines of one batch (color) c after the other.
///
/// **Precision**: as [`Smoother::lines`](crate::relax::Smoother::lines); B is inverted and applied in f64, E and F are kept in the
/// precision of x. In policy `dsh` they are those of blocks before they are rounded to f16.
///
/// **Results** are the same bits on every run.
///
/// **Launch shape**: three launches a batch, each dependent on the one before: the rows of lines, the lines (as many as fit a warp, an
/// entry of x a lane), the rows that stand alone. Over ranks without kernels that pass rows, so many for the border and for the rest. **Twin**: [`Smoother::lines`](crate::relax::Smoother::lines).
pub struct LinesCuda {
    /// Sweeps over rows, of each color by [`Color`].
    points: MulticolorCuda,
    pattern: Arc<BlockPattern>,
    lines: DeviceBuffer<Line>,
    colors: Vec<Color>,
    near: DeviceBuffer<u32>,
    couplings: [DeviceBuffer<u32>; 2],
    solve: Kernel,
    /// Eliminations by the storage of assembled blocks.
    factor: HashMap<Storage, Kernel>,
    graphs: Recorded<(Direction, usize, u64)>,
    singular: Option<usize>,
    share: Option<Arc<ShareCuda>>,
    /// Where kernels pass rows themselves: the sweep over rows in lines, which waits for other ranks.
    awaiting: Option<Kernel>,
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
        check_size(nb)?;
        check_batches(pattern, batches, true)?;
        let largest = batches.iter().map(|batch| batch.len()).max().unwrap_or(0);
        Self::build(stream, pattern, nb, (batches, &starts(batches)), (storage, largest), (None, None))
    }

    /// For the rows of a rank: right-hand sides are residuals and x solutions, as [`dist`](crate::dist) has it. Sweeps are those of one
    /// device alone, bit for bit, over lines each of which one rank owns: after each color its border, with the whole of its lines,
    /// passes to the neighbors while the interior is worked on; all sweeps of a solve are one graph where kernels pass it
    /// ([`Path::Direct`](crate::gpu::Path)).
    ///
    /// # Errors
    /// As [`Self::new`]; [`RelaxError::CutLine`](crate::relax::RelaxError::CutLine).
    pub fn over_ranks(
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
        share: &Arc<ShareCuda>,
    ) -> Result<Self, GpuError> {
        Self::over_ranks_delayed(pattern, nb, batches, storage, share, None)
    }

    /// The same with kernels that come and go at any time, later by up to so many nanoseconds, where they pass rows themselves.
    pub(crate) fn over_ranks_delayed(
        pattern: &Arc<BlockPattern>,
        nb: usize,
        batches: &RowBatches,
        storage: Storage,
        share: &Arc<ShareCuda>,
        delay: Option<u32>,
    ) -> Result<Self, GpuError> {
        check_size(nb)?;
        check_batches(pattern, batches, true)?;
        let (rows, stream) = (share.share(), share.stream());
        check_len("share", rows.rows(), pattern.rows(), || "the rows of the pattern".to_owned())?;
        let owned = LineTable::new(pattern, &starts(batches)).starts_of_owned(rows)?;
        // That of one device: with another tile sums of a row could be added in another order.
        let largest = rows.batches().iter().map(|batch| batch.whole[0]).max().unwrap_or(0);
        let words = pattern.rows() * nb * storage.x_bytes() / 4;
        let direct = match rows.sweep_exchange() {
            SweepExchange::EveryColor => share.direct(words, delay)?,
            SweepExchange::ColorLate | SweepExchange::EverySweep | SweepExchange::EverySolve => None,
        };
        let (passes, of_rank) = (direct.is_some(), (Some(share), direct));
        let made = Self::build(stream, pattern, nb, (batches, &owned), (storage, largest), of_rank)?;
        if passes {
            // Everybody's kernels are loaded before anybody's wait: loading may wait for them.
            rows.ranks().barrier()?;
        }
        Ok(made)
    }

    fn build(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        (batches, starts): (&RowBatches, &[u32]),
        (storage, largest): (Storage, usize),
        (share, direct): (Option<&Arc<ShareCuda>>, Option<Direct>),
    ) -> Result<Self, GpuError> {
        let table = LineTable::new(pattern, starts);
        let (rest, kept, near) = without_lines(pattern, starts, &table);
        let parts = Parts::of_colors(pattern, batches, starts, share.map(|share| &**share.share()));
        let tile = Tile::choose(nb, storage, largest, stream.gpu().facts().multiprocessors);
        let kernel = |source: KernelSource, name| -> Result<Kernel, GpuError> {
            let source = direct.iter().fold(source, |source, direct| direct.source(source));
            Ok(stream.gpu().module(&source)?.kernel(name)?)
        };
        let solve = kernel(solve_source(nb, storage, direct.is_some()), "solve_lines")?;
        let awaiting =
            direct.as_ref().map(|_| kernel(tile.source(nb, storage, Mode::AwaitSweep), tile.name()));
        let awaiting = awaiting.transpose()?;
        let (sets, part) = (Parts::sets(&parts), (&rest, pattern, &kept[..]));
        let points = MulticolorCuda::of_part(stream, part, nb, &sets, (storage, tile), (share, direct))?;
        let Groups { lines, colors, slots } = Groups::new(&parts, &points.matrix().batches, nb);
        let words = slots * nb * WARP * storage.x_bytes() / 4;
        Ok(Self {
            points,
            pattern: Arc::clone(pattern),
            lines: stream.upload(&lines)?,
            colors,
            near: stream.upload(&near)?,
            couplings: [DeviceBuffer::zeroed(stream, words)?, DeviceBuffer::zeroed(stream, words)?],
            solve,
            factor: HashMap::new(),
            graphs: Recorded::new(),
            singular: None,
            share: share.cloned(),
            awaiting,
        })
    }

    /// Sources of the kernels that [`Self::new`], or `over_ranks` [`Self::over_ranks`], asks for with batches the largest of which has so many
    /// rows, and that taking values of the usual storage asks for.
    pub fn kernel_sources(
        nb: usize,
        storage: Storage,
        largest: usize,
        processors: usize,
        over_ranks: bool,
    ) -> Vec<KernelSource> {
        let tile = Tile::choose(nb, storage, largest, processors);
        // Without the couplings inside lines rows have other lengths, and seldom stand in order.
        let mut modes = vec![Mode::Product, Mode::Sweep, Mode::PermutedSweep];
        if over_ranks {
            modes.extend([Mode::PeerSweep, Mode::AwaitSweep]);
        }
        let mut sources: Vec<KernelSource> =
            modes.into_iter().map(|mode| tile.source(nb, storage, mode)).collect();
        sources.push(tile.convert_source(nb, storage, storage.assembled()));
        sources.extend([invert_source(&tile, nb, storage), Vectors::kernel_source(storage)]);
        sources.push(factor_source(nb, storage, storage.assembled()));
        sources.push(solve_source(nb, storage, false));
        if over_ranks {
            sources.push(solve_source(nb, storage, true));
        }
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
        let arguments = kernel_arguments! { FactorLines {
            lines: &self.lines, count: self.lines.len() as u32, near: &self.near, diag: &jac.diag,
            off: Read::at(jac.off.ptr()), unscale: Read::at(unscale), unscale_stride,
            b: &self.points.matrix().diag, e_out: Write::at(e.ptr()), f_out: Write::at(f.ptr()),
        } };
        let warps = self.lines.len().div_ceil(WARP / (3 * nb));
        if warps > 0 {
            let launch = factor.launch(warps.div_ceil(4), 128).record(&arguments);
            // SAFETY: lines and blocks are those of the pattern, which `jac` has (checked as its values were taken); E and F have room
            // for the rows of all groups, B for all rows.
            unsafe { launch.enqueue(&stream)? };
        }
        self.points.factor_assembled_later()
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
