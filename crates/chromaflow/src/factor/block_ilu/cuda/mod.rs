#![allow(unsafe_code)]
//! Block ILU of any pattern on a GPU.
//!
//! A warp takes a row, in the order of the level sets; it waits for the values of the rows that it needs, not for whole
//! levels. The symbolic phase runs on the host once for a pattern; a numeric phase and applies stay on the device, enqueue
//! their work and wait for nothing.
//!
//! **Twin**: [`BlockIlu`](super::BlockIlu).

mod arguments;
mod over_ranks;
#[cfg(test)]
mod tests;

use arguments::{Backward, Factorize, Forward, Poison};
pub use over_ranks::DeviceIluOverRanks;

use super::{BlockIluOptions, BlockIluReport, Fill, SingularRow, fill_pattern};
use crate::factor::{FINDINGS, PIVOTED, device_source};
use crate::gpu::{DeviceJacobian, GpuError, Storage};
use crate::order::LevelSchedule;
use crate::sparse::{BlockPattern, ShapeError, check_len, index};
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Read, Share, Stream, Write};
use chromaflow_device::kernel_arguments;
use std::sync::Arc;

const TEXT: &str = include_str!("ilu.cu");

/// The largest block size of the kernels.
pub const MAX_GPU_NB: usize = 32;

fn ilu_source(nb: usize, factors: Storage, off: Storage, shape: Shape) -> KernelSource {
    let source = device_source("ilu", TEXT, nb).record::<Poison>().record::<Factorize>();
    let source = source.record::<Forward>().record::<Backward>();
    let source = source.define("FACTOR32", u32::from(factors == Storage::F32));
    source.define("OFF", off.code()).define("ROWS", shape.rows).define("LEAN", u32::from(shape.lean))
}

/// Sources of the kernels for a block size, for building ahead.
pub fn kernel_sources(nb: usize) -> Vec<KernelSource> {
    if nb > MAX_GPU_NB {
        return Vec::new();
    }
    let pairs = [
        (Storage::F32, Storage::F64),
        (Storage::F64, Storage::F64),
        (Storage::F32, Storage::F32),
        (Storage::F32, Storage::F16),
    ];
    let usual = Shape { rows: ROWS, lean: false };
    let mut sources: Vec<_> =
        pairs.iter().map(|&(factors, off)| ilu_source(nb, factors, off, usual)).collect();
    if nb <= AHEAD_NB {
        sources.push(ilu_source(nb, Storage::F64, Storage::F64, Shape { rows: 1, lean: true }));
    }
    sources
}

/// Rows of a thread block, fewer where their blocks do not fit shared memory.
const ROWS: usize = 4;
/// The largest block size for which a row keeps blocks of the rows above in shared memory, where there is room.
const AHEAD_NB: usize = 8;

/// What a thread block holds in shared memory.
#[derive(Clone, Copy, Debug)]
struct Shape {
    rows: usize,
    lean: bool,
}

impl Shape {
    /// For rows of this pattern in this much shared memory; none where not even one row fits.
    fn fitting(nb: usize, symbolic: &Symbolic, bytes: usize) -> Option<Self> {
        let rows = |lean| bytes / (8 * row_values(nb, symbolic.room, symbolic.most_updates, lean));
        let shapes = [false, true].map(|lean| Shape { rows: rows(lean).min(ROWS), lean });
        shapes.into_iter().find(|shape| shape.rows > 0)
    }
}

/// What the kernels know of a pattern, on the host.
struct Symbolic {
    /// Rows of the forward and of the backward pass.
    order: [Vec<u32>; 2],
    /// First block of each position, `[rows + 1]`, and the blocks' columns.
    first: [Vec<u32>; 2],
    columns: [Vec<u32>; 2],
    /// First upper block of each row.
    upper_at: Vec<u32>,
    /// Where levels of fill add blocks: those of the factors, and the place of each block of A in its row of them.
    filled: Option<(BlockPattern, Vec<u32>)>,
    /// For each block, the range of its updates.
    update_ptr: Vec<u32>,
    /// An upper block, and the place in the row that it changes.
    updates: Vec<[u32; 2]>,
    /// The most off-diagonal blocks of a row.
    room: usize,
    /// The most updates of a row.
    most_updates: usize,
    levels: [usize; 2],
}

impl Symbolic {
    fn new(of: &BlockPattern, fill: Fill) -> Result<Self, ShapeError> {
        let filled = match fill {
            Fill::Level(level @ 1..) => Some(fill_pattern(of, level)?),
            Fill::Level(0) | Fill::DiagonalOnly => None,
        };
        let pattern = filled.as_ref().unwrap_or(of);
        let n = pattern.rows();
        let schedules = [LevelSchedule::lower(pattern), LevelSchedule::upper(pattern)];
        let levels = [schedules[0].batches().len(), schedules[1].batches().len()];
        let order = schedules.map(|s| s.rows().to_vec());
        let (mut first, mut columns) = ([vec![0], vec![0]], [Vec::new(), Vec::new()]);
        let mut upper_at = vec![0; n];
        for side in [0, 1] {
            for &row in &order[side] {
                if side == 1 {
                    upper_at[row as usize] = columns[1].len() as u32;
                }
                let of_side = |c: &&u32| if side == 0 { **c < row } else { **c > row };
                columns[side].extend(pattern.columns(row as usize).iter().filter(of_side));
                first[side].push(columns[side].len() as u32);
            }
        }
        let (mut update_ptr, mut updates) = (vec![0], Vec::new());
        for i in 0..n {
            let row = pattern.columns(i);
            for &k in row {
                if (k as usize) < i {
                    let above = pattern.columns(k as usize).iter().filter(|&&j| j > k);
                    for (s, &j) in above.enumerate() {
                        let place = if j as usize == i {
                            Some(row.len())
                        } else if fill != Fill::DiagonalOnly {
                            row.binary_search(&j).ok()
                        } else {
                            None
                        };
                        updates.extend(place.map(|place| [upper_at[k as usize] + s as u32, place as u32]));
                    }
                }
                update_ptr.push(index("updates of block ILU", updates.len())?);
            }
        }
        let room = (0..n).map(|i| pattern.range(i).len()).max().unwrap_or(0);
        let updates_of = |i: usize| {
            let blocks = pattern.range(i);
            (update_ptr[blocks.end] - update_ptr[blocks.start]) as usize
        };
        let most_updates = (0..n).map(updates_of).max().unwrap_or(0);
        let filled = filled.map(|filled| {
            let place = |i: usize, j: u32| {
                filled.columns(i).binary_search(&j).expect("the factors have the blocks of A") as u32
            };
            let places = (0..n).flat_map(|i| of.columns(i).iter().map(move |&j| place(i, j))).collect();
            (filled, places)
        });
        Ok(Self { order, first, columns, upper_at, filled, update_ptr, updates, room, most_updates, levels })
    }
}

enum Factors {
    F64([DeviceBuffer<f64>; 2]),
    F32([DeviceBuffer<f32>; 2]),
}

/// A block ILU factorization on a device: symbolic once for a pattern, numeric for each set of values, applied often.
///
/// **Precision**: sums in f64; off-diagonal factors as [`Storage`] says; inverted diagonal blocks f64.
pub struct DeviceBlockIlu {
    pattern: Arc<BlockPattern>,
    nb: usize,
    options: BlockIluOptions,
    stream: Stream,
    shape: Shape,
    room: usize,
    most_updates: usize,
    levels: [usize; 2],
    order: [DeviceBuffer<u32>; 2],
    first: [DeviceBuffer<u32>; 2],
    columns: [DeviceBuffer<u32>; 2],
    upper_at: DeviceBuffer<u32>,
    /// Places of A's blocks in rows of the factors, and the factors' pattern, where it is not A's.
    filled: Option<[DeviceBuffer<u32>; 3]>,
    update_ptr: DeviceBuffer<u32>,
    updates: DeviceBuffer<[u32; 2]>,
    factors: Factors,
    inverse: DeviceBuffer<f64>,
    y: DeviceBuffer<f64>,
    tickets: DeviceBuffer<u32>,
    findings: DeviceBuffer<u32>,
    forward: Kernel,
    backward: Kernel,
}

impl DeviceBlockIlu {
    /// Sources of the kernels that [`Self::new`] and the factorization of values of the storage `from` ask for, where rows fit shared
    /// memory as they usually do.
    pub fn kernel_sources(nb: usize, factors: Storage, from: Storage) -> Vec<KernelSource> {
        let usual = Shape { rows: ROWS, lean: false };
        let own = if factors == Storage::F64 { Storage::F64 } else { Storage::F32 };
        let mut sources = vec![ilu_source(nb, factors, own, usual)];
        if from != own {
            sources.push(ilu_source(nb, factors, from, usual));
        }
        sources
    }

    /// The symbolic phase for `pattern` (off-diagonal blocks, as a [`DeviceJacobian`] has it).
    ///
    /// # Errors
    /// [`GpuError::Shape`] when the block size lies outside 1..=128 or the pattern is not square, [`GpuError::Unsupported`]
    /// for blocks above [`MAX_GPU_NB`], factors in f16 and rows whose blocks exceed shared memory, [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        pattern: &Arc<BlockPattern>,
        nb: usize,
        options: BlockIluOptions,
    ) -> Result<Self, GpuError> {
        crate::sparse::check_nb(nb)?;
        if pattern.rows() != pattern.cols() {
            return Err(ShapeError::NotSquare { rows: pattern.rows(), cols: pattern.cols() }.into());
        }
        if nb > MAX_GPU_NB {
            return Err(GpuError::Unsupported(format!(
                "block ILU on the GPU takes blocks up to {MAX_GPU_NB}, not {nb}: use the CPU"
            )));
        }
        if !matches!(options.storage, Storage::F64 | Storage::F32) {
            return Err(GpuError::Unsupported(
                "block ILU on the GPU has factors in f64 or f32: use the CPU for f16".to_owned(),
            ));
        }
        let symbolic = Symbolic::new(pattern, options.fill)?;
        let most = stream.gpu().facts().shared_bytes.saturating_sub(1024);
        let Some(shape) = Shape::fitting(nb, &symbolic, most) else {
            let of_row = 8 * row_values(nb, symbolic.room, symbolic.most_updates, true);
            return Err(GpuError::Unsupported(format!(
                "a row of {} blocks of size {nb} needs {of_row} bytes of shared memory where the GPU has {most}: use the CPU",
                symbolic.room + 1
            )));
        };
        let (n, q) = (pattern.rows(), nb * nb);
        let values = [symbolic.columns[0].len() * q, symbolic.columns[1].len() * q];
        let factors = match options.storage {
            Storage::F64 => Factors::F64([
                DeviceBuffer::uninitialized(stream, values[0])?,
                DeviceBuffer::uninitialized(stream, values[1])?,
            ]),
            _ => Factors::F32([
                DeviceBuffer::uninitialized(stream, values[0])?,
                DeviceBuffer::uninitialized(stream, values[1])?,
            ]),
        };
        let both = |v: &[Vec<u32>; 2]| -> Result<[DeviceBuffer<u32>; 2], GpuError> {
            Ok([stream.upload(&v[0])?, stream.upload(&v[1])?])
        };
        let mut y = DeviceBuffer::uninitialized(stream, n * nb)?;
        y.fill_bytes(0xff)?; // rows wait for values that are anything else
        // The passes do not know A's storage: that of the usual A spares a compilation.
        let usual = if options.storage == Storage::F64 { Storage::F64 } else { Storage::F32 };
        let source = ilu_source(nb, options.storage, usual, shape);
        let module = stream.gpu().module(&source)?;
        Ok(Self {
            pattern: Arc::clone(pattern),
            nb,
            options,
            stream: stream.clone(),
            shape,
            room: symbolic.room,
            most_updates: symbolic.most_updates,
            levels: symbolic.levels,
            order: both(&symbolic.order)?,
            first: both(&symbolic.first)?,
            columns: both(&symbolic.columns)?,
            upper_at: stream.upload(&symbolic.upper_at)?,
            filled: match &symbolic.filled {
                None => None,
                Some((pattern, places)) => Some([
                    stream.upload(places)?,
                    stream.upload(pattern.row_ptr())?,
                    stream.upload(pattern.col_idx())?,
                ]),
            },
            update_ptr: stream.upload(&symbolic.update_ptr)?,
            updates: stream.upload(&symbolic.updates)?,
            factors,
            inverse: DeviceBuffer::uninitialized(stream, n * q)?,
            y,
            tickets: DeviceBuffer::zeroed(stream, 2)?,
            findings: DeviceBuffer::zeroed(stream, FINDINGS)?,
            forward: module.kernel("ilu_forward")?,
            backward: module.kernel("ilu_backward")?,
        })
    }

    /// Number of levels of the lower and of the upper triangle.
    pub fn levels(&self) -> [usize; 2] {
        self.levels
    }

    fn addresses(&self) -> [u64; 2] {
        match &self.factors {
            Factors::F64(f) => [f[0].ptr(), f[1].ptr()],
            Factors::F32(f) => [f[0].ptr(), f[1].ptr()],
        }
    }

    /// Enqueues the numeric phase: factors the values of `a`.
    ///
    /// # Errors
    /// [`GpuError::Shape`] when `a` has another pattern or block size, [`GpuError::Cuda`]. What the factorization found is
    /// said by [`Self::report`].
    pub fn factor(&mut self, a: &DeviceJacobian) -> Result<(), GpuError> {
        check_len("block size", a.nb(), self.nb, || "that of the factorization".to_owned())?;
        let same = Arc::ptr_eq(a.pattern(), &self.pattern) || **a.pattern() == *self.pattern;
        check_len("pattern", usize::from(same) * a.pattern().nnzb(), self.pattern.nnzb(), || {
            "the blocks of the symbolic phase".to_owned()
        })?;
        self.findings.fill_bytes_of(0..1, 0xff)?;
        self.findings.fill_bytes_of(1..4, 0)?;
        let (stream, n) = (&self.stream, self.pattern.rows());
        let module =
            stream.gpu().module(&ilu_source(self.nb, self.options.storage, a.off.storage(), self.shape))?;
        let kernel = module.kernel("ilu_factor")?;
        let Shape { rows, lean } = self.shape;
        let shared = 8 * rows * row_values(self.nb, self.room, self.most_updates, lean);
        kernel.allow_shared(shared)?;
        let [lower, upper] = self.addresses();
        let q = self.nb * self.nb;
        let (unscale, stride) = a.off.unscale();
        let [places, row_ptr, col_idx] = match &self.filled {
            None => [Read::NONE, (&*a.row_ptr).into(), (&*a.col_idx).into()],
            Some(filled) => filled.each_ref().map(Read::from),
        };
        let poison = kernel_arguments! { Poison {
            upper_values: (self.columns[1].len() * q) as u64, diag_values: self.inverse.len() as u64,
            upper: Write::at(upper), inverse: &self.inverse,
        } };
        let factorize = kernel_arguments! { Factorize {
            rows: n as u32, tickets: &self.tickets, order: &self.order[0], a_ptr: &*a.row_ptr, places,
            row_ptr, col_idx, off: Read::at(a.off.ptr()), unscale: Read::at(unscale), unscale_stride: stride,
            diag: &a.diag, lower_at: &self.first[0], upper_at: &self.upper_at, update_ptr: &self.update_ptr,
            updates: Read::at(self.updates.ptr()), lower: Write::at(lower), upper: Share::at(upper),
            inverse: &self.inverse, shift: self.options.shift, guard: i32::from(self.options.pivot_guard),
            findings: &self.findings, room: self.room as u32, most_updates: self.most_updates as u32,
        } };
        // SAFETY: all arrays were made for this pattern and block size, which `a` has too; a row waits only for rows of
        // earlier tickets, which warps that run already hold; the last thread block returns the tickets.
        unsafe {
            let blocks = 4 * stream.gpu().facts().multiprocessors;
            module.kernel("ilu_poison")?.launch(blocks, 256).record(&poison).enqueue(stream)?;
            let launch = kernel.launch(n.div_ceil(rows), 32 * rows).shared(shared);
            launch.record(&factorize).enqueue(stream)?;
        }
        Ok(())
    }

    /// Waits for the factorization and says what it had to do, or which row has a singular diagonal block (the factors are not
    /// usable then).
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn report(&self) -> Result<Result<BlockIluReport, SingularRow>, GpuError> {
        let found = self.findings.download()?;
        if found[0] != u32::MAX {
            return Ok(Err(SingularRow { row: found[0] as usize }));
        }
        let mut pivoted = found[4..4 + (found[1] as usize).min(PIVOTED)].to_vec();
        pivoted.sort_unstable();
        let shifted = f64::from_bits(u64::from(found[2]) | u64::from(found[3]) << 32);
        Ok(Ok(BlockIluReport { pivoted, shifted }))
    }

    /// Enqueues x = M^-1 b.
    ///
    /// **Shapes**: `b`, `x` `[rows, nb]`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn solve(&mut self, b: &DeviceBuffer<f64>, x: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let n = self.pattern.rows();
        check_len("b", b.len(), n * self.nb, || "rows * nb".to_owned())?;
        check_len("x", x.len(), n * self.nb, || "rows * nb".to_owned())?;
        let Shape { rows, .. } = self.shape;
        let blocks = n.div_ceil(rows);
        let [lower, upper] = self.addresses();
        let (rows_of_all, tickets) = (n as u32, &self.tickets);
        let index = |of: &[DeviceBuffer<u32>; 2], side: usize| Read::from(&of[side]);
        let forward = kernel_arguments! { Forward {
            rows: rows_of_all, tickets, order: index(&self.order, 0), first: index(&self.first, 0),
            columns: index(&self.columns, 0), lower: Read::at(lower), b, y: &self.y, x: &*x,
        } };
        let backward = kernel_arguments! { Backward {
            rows: rows_of_all, tickets, order: index(&self.order, 1), first: index(&self.first, 1),
            columns: index(&self.columns, 1), upper: Read::at(upper), inverse: &self.inverse, y: &self.y,
            x: &*x,
        } };
        // SAFETY: as in `factor`; vectors have the lengths checked above.
        unsafe {
            self.forward.launch(blocks, 32 * rows).record(&forward).enqueue(&self.stream)?;
            self.backward.launch(blocks, 32 * rows).record(&backward).enqueue(&self.stream)?;
        }
        Ok(())
    }
}

/// Values of shared memory of a row: its blocks, two more, two vectors; for small blocks, unless they are to be lean, also upper blocks of
/// a row above, what they update, and two words for each lower block. As in ilu.cu.
fn row_values(nb: usize, room: usize, most_updates: usize, lean: bool) -> usize {
    let blocks = (room + 2) * nb * nb + 2 * nb;
    if lean || nb > AHEAD_NB { blocks } else { blocks + room * nb * nb + most_updates + room + 1 }
}
