#![allow(unsafe_code)]
//! The factors of an approximate factorization, axis after axis: lines of blocks, or of waves.

use super::super::config::{Scheme, StepMethod};
use super::super::measure::{DIAGONAL, LINES as BLOCK_LINES};
use super::super::{StructuredSystem, ViscousTerms};
use super::arguments::{BlockLines, BlockSegments, Cells, Lines, TransposePlanes, WaveLines};
use super::setup::constants;
use super::{Step, kernel};
use crate::equations::perfect_gas::{N, NN};
use crate::grid::{GHOSTS, GridCuda};
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Kernel, KernelSource, Stream};
use chromaflow_device::{enqueue, kernel_arguments};

/// Lines of a thread block of `lines` and `waves`, two threads a line (`LINES` of lines.cu and diagonal.cu), and bytes of dynamic
/// shared memory: the larger one of what the elimination and the substitution have on their way.
const LINES: usize = 32;
const SHARED: usize = 90 * 2 * LINES * 8;
/// Threads of a thread block of `segments` (`THREADS` of segments.cu), most segments of a line, bytes of shared memory.
const SEGMENT_THREADS: usize = 64;
const SEGMENTS: usize = 16;
const SEGMENT_SHARED: usize = 2 * 55 * SEGMENT_THREADS * 8;
/// Lines along an axis below which they are cut into segments: fewer do not fill a GPU.
const FEW: usize = 2048;
/// Fewest cells of lines of waves that close on themselves.
const LEAST_CLOSED: usize = 6;

/// Texts of the kernels of blocks: open lines, segments, planes turned over.
pub(super) fn block_sources(constants: [u32; 2]) -> [KernelSource; 3] {
    let text = |text: &str| {
        format!(
            "#line 1 \"line.cuh\"\n{}\n#line 1 \"blocks.cuh\"\n{}\n#line 1 \"lines\"\n{text}",
            include_str!("line.cuh"),
            include_str!("blocks.cuh")
        )
    };
    // With |A| in the operator rows do not fit the registers: a name of its own where spills are looked for.
    let open = if constants[0] > 0 { "structured_lines_matrix" } else { "structured_lines" };
    [
        kernel(open, &text(include_str!("lines.cu")), constants).record::<BlockLines>(),
        kernel("structured_segments", &text(include_str!("segments.cu")), constants)
            .record::<BlockSegments>()
            .define("PARTS", SEGMENTS),
        turn_source(),
    ]
}

/// Texts of the kernels of waves: open lines, closed ones, planes turned over.
pub(super) fn wave_sources(constants: [u32; 2]) -> [KernelSource; 3] {
    let text = format!(
        "#line 1 \"line.cuh\"\n{}\n#line 1 \"diagonal.cu\"\n{}",
        include_str!("line.cuh"),
        include_str!("diagonal.cu")
    );
    let diagonal = |closed| {
        kernel("structured_diagonal", &text, constants).record::<WaveLines>().define("CLOSED", closed)
    };
    [diagonal(0), diagonal(1), turn_source()]
}

fn turn_source() -> KernelSource {
    kernel("structured_transpose", include_str!("transpose.cu"), [0, 0]).record::<TransposePlanes>()
}

/// Groups of lines along an axis: those for a kernel of many open lines, open lines cut into segments, and closed ones.
struct LineGroups {
    open: DeviceBuffer<u32>,
    few: DeviceBuffer<u32>,
    closed: DeviceBuffer<u32>,
}

/// The kernels of open lines and of the others, and what these keep of the elimination.
enum Form {
    Blocks {
        lines: Kernel,
        segments: Kernel,
        factors: DeviceBuffer<f64>,
        values: DeviceBuffer<f64>,
        loops: DeviceBuffer<f64>,
    },
    Waves {
        waves: Kernel,
        closed: Kernel,
        fourth: bool,
        kept: DeviceBuffer<f64>,
    },
}

/// Factors of all axes, and lines along i turned over so that they lie side by side: a warp reads the same row of 32 lines.
pub(super) struct Factors {
    form: Form,
    groups: [LineGroups; 3],
    transpose: Kernel,
    /// Tiles of planes that are turned over, and the blocks with their strides turned.
    turns: DeviceBuffer<u32>,
    turned_records: DeviceBuffer<u32>,
    /// State, residual and tau; areas along i and volumes.
    turned: DeviceBuffer<f64>,
    turned_metrics: DeviceBuffer<f64>,
}

impl Factors {
    pub(super) fn new(
        stream: &Stream,
        solver: &StructuredSystem,
        grid: &GridCuda,
        area: &DeviceBuffer<f64>,
        volume: &DeviceBuffer<f64>,
    ) -> Result<Self, GpuError> {
        let (len, cells) = (grid.len(), grid.interior());
        let terms: Option<ViscousTerms> = solver.physics.transport.is_some().then_some(solver.physics.terms);
        let constants = constants(solver.physics.scheme, terms);
        let fourth = match solver.config.implicit.method {
            StepMethod::Diagonal { fourth } => {
                Some(fourth && !matches!(solver.physics.scheme, Scheme::Roe { .. }))
            }
            _ => None,
        };
        let [i, j, k] = [0, 1, 2].map(|axis| line_groups(solver, axis, fourth.is_none()));
        let used = |which: usize| [&i, &j, &k].iter().any(|groups| !groups[which].is_empty());
        let room = |doubles: usize, wanted: bool| {
            DeviceBuffer::uninitialized(stream, if wanted { doubles * cells } else { 0 })
        };
        let module = |source: &KernelSource| stream.gpu().module(source);
        // What is largest comes first: a device that is too small says so at once.
        let form = if let Some(fourth) = fourth {
            if let Some((block, count)) = short_loop(solver) {
                return Err(GpuError::Unsupported(format!(
                    "block {block} closes on itself after {count} cells: on a GPU the diagonalized factors take \
                     {LEAST_CLOSED} at least; choose `beam_warming`"
                )));
            }
            let kept = room(if used(2) { 17 } else { 11 }, true)?;
            let [open, closed, _] = wave_sources(constants);
            let (waves, closed) = (module(&open)?.kernel("waves")?, module(&closed)?.kernel("closed_waves")?);
            waves.allow_shared(SHARED)?;
            Form::Waves { waves, closed, fourth, kept }
        } else {
            let (factors, values) = (room(NN, true)?, room(N, true)?);
            let loops = room(NN, used(1) || used(2))?;
            let [open, segments, _] = block_sources(constants);
            let (lines, segments) = (module(&open)?.kernel("lines")?, module(&segments)?.kernel("segments")?);
            lines.allow_shared(SHARED)?;
            segments.allow_shared(SEGMENT_SHARED)?;
            Form::Blocks { lines, segments, factors, values, loops }
        };
        let upload = |[open, few, closed]: [Vec<u32>; 3]| -> Result<LineGroups, GpuError> {
            let (open, few) = (stream.upload(&open)?, stream.upload(&few)?);
            Ok(LineGroups { open, few, closed: stream.upload(&closed)? })
        };
        let turns = stream.upload(&turns(solver))?;
        let turned = if turns.is_empty() { 0 } else { len };
        let buffer = |len| DeviceBuffer::<f64>::zeroed(stream, len);
        let records = grid.records_with(|c| [c.count[1] + 2 * GHOSTS, 1, c.stride[2]]);
        let this = Self {
            form,
            groups: [upload(i)?, upload(j)?, upload(k)?],
            transpose: module(&turn_source())?.kernel("transpose")?,
            turns,
            turned_records: stream.upload(&records)?,
            turned: buffer(11 * turned)?,
            turned_metrics: buffer(4 * turned)?,
        };
        let metrics = this.turned_metrics.slice();
        this.turn(stream, grid, [(area, 3), (volume, 1), (volume, 0)], &metrics, false)?;
        Ok(this)
    }

    /// Turns the planes of i and j of some components over into `to`, or back from there.
    fn turn(
        &self,
        stream: &Stream,
        grid: &GridCuda,
        plain: [(&DeviceBuffer<f64>, u32); 3],
        to: &DeviceSlice<'_, f64>,
        back: bool,
    ) -> Result<(), GpuError> {
        let components: u32 = plain.iter().map(|p| p.1).sum();
        let tiles = self.turns.len() / 4;
        let [(a, na), (b, nb), (c, nc)] = plain;
        // SAFETY: tiles lie in the blocks with their ghosts; each array has the components named.
        Ok(unsafe {
            enqueue! { self.transpose.launch(tiles * components as usize, 256), stream, TransposePlanes {
                total: grid.len() as u64, blocks: grid.records(), tiles: &self.turns, na, nb, nc, back, a, b, c,
                turned: to,
            } }
        }?)
    }

    /// The factor of one axis: r goes from the residual or the update so far to the solution.
    pub(super) fn solve(&self, step: &Step<'_>, axis: usize) -> Result<(), GpuError> {
        let total = step.grid.len();
        if axis > 0 {
            let area = step.area.part(3 * axis * total..3 * (axis + 1) * total);
            let arrays = [step.w.slice(), area, step.tau.slice(), step.volume.slice(), step.r.slice()];
            return self.solve_lines(step, axis, step.grid.records(), arrays);
        }
        if self.turns.is_empty() {
            return Ok(());
        }
        let plain = [(step.w, 5), (step.r, 5), (step.tau, 1)];
        self.turn(step.stream, step.grid, plain, &self.turned.slice(), false)?;
        let part = |from: usize, to: usize| self.turned.part(from * total..to * total);
        let metrics = [0..3 * total, 3 * total..4 * total].map(|range| self.turned_metrics.part(range));
        let arrays = [part(0, 5), metrics[0], part(10, 11), metrics[1], part(5, 10)];
        self.solve_lines(step, axis, &self.turned_records, arrays)?;
        let plain = [(step.r, 5), (step.w, 0), (step.tau, 0)];
        self.turn(step.stream, step.grid, plain, &part(5, 10), true)
    }

    /// The systems along an axis: state, areas along it, tau, volume, right-hand sides and solutions.
    fn solve_lines(
        &self,
        step: &Step<'_>,
        axis: usize,
        records: &DeviceBuffer<u32>,
        [w, area, tau, volume, r]: [DeviceSlice<'_, f64>; 5],
    ) -> Result<(), GpuError> {
        let groups = &self.groups[axis];
        let lines_of = |groups: &DeviceBuffer<u32>| {
            kernel_arguments! { Lines { total: step.total(), axis: axis as u32, blocks: records, groups } }
        };
        let cells = kernel_arguments! { Cells { w, area, taus: tau, volume, numbers: step.setup, r } };
        let bad = step.bad;
        match &self.form {
            Form::Blocks { lines, segments, factors, values, loops } => {
                let ends = step.ends();
                // SAFETY: groups begin at lines of their blocks; what is kept has the numbers of each cell; lines are
                // different cells.
                unsafe {
                    enqueue! { lines.launch(groups.open.len() / 2, 2 * LINES).shared(SHARED), step.stream, BlockLines {
                        lines: lines_of(&groups.open), ends, cells, factors, values, bad,
                    } }?;
                }
                for (groups, closed) in [(&groups.few, 0_u32), (&groups.closed, 1)] {
                    let launch = segments.launch(groups.len() / 2, SEGMENT_THREADS).shared(SEGMENT_SHARED);
                    // SAFETY: as above.
                    unsafe {
                        enqueue! { launch, step.stream, BlockSegments {
                            lines: lines_of(groups), closed, ends, cells, factors, values, loops, bad,
                        } }?;
                    }
                }
            }
            Form::Waves { waves, closed, fourth, kept } => {
                for (kernel, groups, threads, shared) in
                    [(waves, &groups.open, 2 * LINES, SHARED), (closed, &groups.closed, LINES, 0)]
                {
                    // SAFETY: as above.
                    unsafe {
                        enqueue! { kernel.launch(groups.len() / 2, threads).shared(shared), step.stream, WaveLines {
                            lines: lines_of(groups), fourth: *fourth, cells, kept, bad,
                        } }?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Doubles a cell that one factor has to move.
    pub(super) fn doubles(&self) -> f64 {
        match self.form {
            Form::Blocks { .. } => BLOCK_LINES,
            Form::Waves { .. } => DIAGONAL,
        }
    }
}

/// The first block whose closed lines are too short for waves, and their length.
fn short_loop(solver: &StructuredSystem) -> Option<(usize, usize)> {
    solver.blocks.iter().enumerate().find_map(|(b, block)| {
        let short = |d: &usize| block.closed[*d] && block.active[*d] && block.cells.count[*d] < LEAST_CLOSED;
        (0..3).find(short).map(|d| (b, block.cells.count[d]))
    })
}

/// Tiles {block, i, j, plane} of planes to be turned over, counted with ghosts.
fn turns(solver: &StructuredSystem) -> Vec<u32> {
    let mut tiles = Vec::new();
    for (b, block) in solver.blocks.iter().enumerate().filter(|(_, block)| block.active[0]) {
        let [ni, nj, nk] = block.cells.count;
        for k in GHOSTS..nk + GHOSTS {
            for j in (0..nj + 2 * GHOSTS).step_by(32) {
                for i in (0..ni + 2 * GHOSTS).step_by(32) {
                    tiles.extend([b, i, j, k].map(|n| n as u32));
                }
            }
        }
    }
    tiles
}

/// Segments of a line of `rows` rows, as segments.cu counts them: of two rows at least.
fn segments_of(rows: usize) -> usize {
    let mut parts = 1;
    while parts < SEGMENTS && 4 * parts <= rows {
        parts *= 2;
    }
    parts
}

/// Groups {block, first line} along an axis: open lines, open lines to be cut into segments (which `blocks` are, where they are
/// few), closed ones. The highest bit of the block tells that an axis came before.
fn line_groups(solver: &StructuredSystem, axis: usize, blocks: bool) -> [Vec<u32>; 3] {
    let active = || solver.blocks.iter().enumerate().filter(|(_, block)| block.active[axis]);
    let lines = |b: &super::super::block::BlockState| b.cells.interior() / b.cells.count[axis];
    let few = blocks && active().map(|(_, block)| lines(block)).sum::<usize>() < FEW;
    let mut groups = [const { Vec::new() }; 3];
    for (b, block) in active() {
        let kind = match (block.closed[axis], few) {
            (true, _) => 2,
            (false, few) => usize::from(few),
        };
        let together =
            if blocks && kind > 0 { SEGMENT_THREADS / segments_of(block.cells.count[axis]) } else { LINES };
        let scaled = u32::from(block.active[..axis].contains(&true)) << 31;
        for first in (0..lines(block)).step_by(together) {
            groups[kind].extend([b as u32 | scaled, first as u32]);
        }
    }
    groups
}
