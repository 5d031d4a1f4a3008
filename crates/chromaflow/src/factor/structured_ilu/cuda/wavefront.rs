//! Hyperplane after hyperplane, launched from the host: the paper's two styles.

use super::stencil::{DeviceStencil, Grids};
use super::{GpuIluEngine, kernel_source};
use crate::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Module, Stream};
use std::ops::Range;
use std::sync::Arc;

const TEXT: &str = include_str!("wavefront.cu");
const THREADS: usize = 256;

pub(super) fn wavefront_source(nb: usize) -> KernelSource {
    kernel_source("wavefront", TEXT, nb)
}

/// Cells by hyperplane, those of all grid blocks together (Alg. 1), and the kernels.
pub(super) struct Wavefront {
    stream: Stream,
    nb: usize,
    cells: usize,
    module: Arc<Module>,
    levels: Vec<Range<usize>>,
    /// The cell and the distances to its neighbors in k, j, i, `[cells, 4]`.
    down: DeviceBuffer<u32>,
    up: DeviceBuffer<u32>,
    work: DeviceBuffer<f64>,
}

/// Cells and their distances to the neighbors in k, j, i.
type Points = Vec<[u32; 4]>;

/// The hyperplanes as ranges of cells; each cell with its distances to the lower and to the upper neighbors.
pub(super) fn hyperplanes(grids: &Grids) -> (Vec<Range<usize>>, Points, Points) {
    let deepest = grids.dims.iter().filter(|d| d.iter().all(|&n| n > 0)).map(|d| d.iter().sum::<usize>() - 2);
    let mut count = vec![0; deepest.max().unwrap_or(0) + 1];
    let each = |visit: &mut dyn FnMut(usize, usize, [usize; 3], [usize; 3])| {
        for (&first, &[ni, nj, nk]) in grids.first.iter().zip(&grids.dims) {
            for k in 0..nk {
                for j in 0..nj {
                    for i in 0..ni {
                        visit(i + j + k, first + i + ni * (j + nj * k), [k, j, i], [nk, nj, ni]);
                    }
                }
            }
        }
    };
    each(&mut |level, _, _, _| count[level + 1] += 1);
    for level in 1..count.len() {
        count[level] += count[level - 1];
    }
    let levels = count.windows(2).map(|w| w[0]..w[1]).collect();
    let (mut down, mut up) = (vec![[0; 4]; grids.cells()], vec![[0; 4]; grids.cells()]);
    let mut next = count;
    each(&mut |level, cell, at, [nk, nj, ni]| {
        let step = [(ni * nj) as u32, ni as u32, 1];
        let (to, most) = (next[level], [nk, nj, ni]);
        next[level] += 1;
        (down[to][0], up[to][0]) = (cell as u32, cell as u32);
        for s in 0..3 {
            down[to][s + 1] = if at[s] > 0 { step[s] } else { 0 };
            up[to][s + 1] = if at[s] + 1 < most[s] { step[s] } else { 0 };
        }
    });
    (levels, down, up)
}

impl Wavefront {
    pub fn new(stream: &Stream, grids: &Grids, nb: usize) -> Result<Self, GpuError> {
        let (levels, down, up) = hyperplanes(grids);
        let most = levels.iter().map(Range::len).max().unwrap_or(0);
        Ok(Self {
            stream: stream.clone(),
            nb,
            cells: grids.cells(),
            module: stream.gpu().module(&wavefront_source(nb))?,
            down: stream.upload(down.as_flattened())?,
            up: stream.upload(up.as_flattened())?,
            work: DeviceBuffer::uninitialized(stream, 3 * most * nb * nb)?,
            levels,
        })
    }

    fn kernel(&self, name: &str) -> Result<Kernel, GpuError> {
        Ok(self.module.kernel(name)?)
    }

    /// Points and threads of a workgroup of the CL style.
    fn group(&self) -> (usize, usize) {
        let q = self.nb * self.nb;
        let points = if q > 288 { 1 } else { 288 / q };
        (points, points * q)
    }

    pub fn factor(
        &self,
        engine: GpuIluEngine,
        a: &DeviceStencil,
        shift: f64,
        inverse: &DeviceBuffer<f64>,
        findings: &DeviceBuffer<u32>,
    ) -> Result<(), GpuError> {
        let (nb, q, stream) = (self.nb, self.nb * self.nb, &self.stream);
        let warps = self.cells.div_ceil(THREADS / 32);
        // SAFETY: here and below, `a`, `inverse` and vectors were checked to hold all cells; hyperplanes name cells and
        // distances within them; `work` holds three blocks for each point of the largest hyperplane.
        unsafe {
            self.kernel("begin")?
                .launch(warps, THREADS)
                .arg(self.cells as u32)
                .arg(shift)
                .arg(&a.diag)
                .arg(inverse)
                .arg(findings.part(2..4))
                .enqueue(stream)?;
        }
        let names = ["acc_products", "acc_subtract", "acc_scale", "acc_eliminate", "acc_pivot"];
        if engine == GpuIluEngine::Cl {
            let (kernel, (points, threads)) = (self.kernel("cl_factor")?, self.group());
            for level in &self.levels {
                let launch = kernel.launch(level.len().div_ceil(points), threads).arg(level.len() as u32);
                let launch =
                    launch.arg(self.down.part(4 * level.start..4 * level.end)).arg(&a.lower).arg(&a.upper);
                // SAFETY: as above.
                unsafe { launch.arg(inverse).enqueue(stream)? };
            }
        } else {
            let [products, subtract, scale, eliminate, pivot] = names.map(|name| self.kernel(name));
            let (products, subtract, scale, eliminate, pivot) =
                (products?, subtract?, scale?, eliminate?, pivot?);
            for level in &self.levels {
                let (n, points) = (level.len(), self.down.part(4 * level.start..4 * level.end));
                let blocks = |per_point: usize| (n * per_point).div_ceil(THREADS);
                // SAFETY: as above.
                unsafe {
                    let launch = products.launch(blocks(q), THREADS).arg(n as u32).arg(points).arg(&a.lower);
                    launch.arg(inverse).arg(&self.work).enqueue(stream)?;
                    let launch = subtract.launch(blocks(q), THREADS).arg(n as u32).arg(points).arg(&a.upper);
                    launch.arg(inverse).arg(&self.work).enqueue(stream)?;
                    for r in 0..nb {
                        for (kernel, per_point) in
                            [(&scale, 2 * (nb - 1)), (&eliminate, (nb - 1) * (nb - 1)), (&pivot, 1)]
                        {
                            let launch =
                                kernel.launch(blocks(per_point), THREADS).arg(n as u32).arg(r as i32);
                            launch.arg(points).arg(inverse).enqueue(stream)?;
                        }
                    }
                }
            }
        }
        // SAFETY: as above.
        unsafe {
            self.kernel("find_singular")?
                .launch(warps, THREADS)
                .arg(self.cells as u32)
                .arg(inverse)
                .arg(findings.part(0..1))
                .enqueue(stream)?;
        }
        Ok(())
    }

    pub fn solve(
        &self,
        engine: GpuIluEngine,
        a: &DeviceStencil,
        inverse: &DeviceBuffer<f64>,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let stream = &self.stream;
        if engine == GpuIluEngine::Cl {
            let (points, threads) = self.group();
            let (forward, backward) = (self.kernel("cl_forward")?, self.kernel("cl_backward")?);
            for level in &self.levels {
                let launch = forward.launch(level.len().div_ceil(points), threads).arg(level.len() as u32);
                let launch = launch.arg(self.down.part(4 * level.start..4 * level.end)).arg(&a.lower);
                // SAFETY: as in `factor`.
                unsafe { launch.arg(inverse).arg(b).arg(x).enqueue(stream)? };
            }
            for level in self.levels.iter().rev() {
                let launch = backward.launch(level.len().div_ceil(points), threads).arg(level.len() as u32);
                let launch = launch.arg(self.up.part(4 * level.start..4 * level.end)).arg(&a.upper);
                // SAFETY: as in `factor`.
                unsafe { launch.arg(inverse).arg(x).enqueue(stream)? };
            }
            return Ok(());
        }
        let names = ["acc_forward_sum", "acc_backward_sum", "acc_diagonal"];
        let [forward, backward, diagonal] = names.map(|name| self.kernel(name));
        let (forward, backward, diagonal) = (forward?, backward?, diagonal?);
        let apply = |level: &Range<usize>, back: bool| -> Result<(), GpuError> {
            let (n, blocks) = (level.len(), (level.len() * self.nb).div_ceil(THREADS));
            let points = if back { &self.up } else { &self.down }.part(4 * level.start..4 * level.end);
            // SAFETY: as in `factor`.
            unsafe {
                if back {
                    let launch = backward.launch(blocks, THREADS).arg(n as u32).arg(points).arg(&a.upper);
                    launch.arg(x).arg(&self.work).enqueue(stream)?;
                } else {
                    let launch = forward.launch(blocks, THREADS).arg(n as u32).arg(points).arg(&a.lower);
                    launch.arg(b).arg(x).arg(&self.work).enqueue(stream)?;
                }
                let launch = diagonal.launch(blocks, THREADS).arg(n as u32).arg(i32::from(back)).arg(points);
                launch.arg(inverse).arg(&self.work).arg(x).enqueue(stream)?;
            }
            Ok(())
        };
        self.levels.iter().try_for_each(|level| apply(level, false))?;
        self.levels.iter().rev().try_for_each(|level| apply(level, true))
    }
}
