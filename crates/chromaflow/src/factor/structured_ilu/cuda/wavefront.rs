//! Hyperplane after hyperplane, launched from the host: the paper's two styles.

use super::stencil::{DeviceStencil, Grids};
use super::{GpuIluEngine, kernel_source};
use crate::gpu::GpuError;
use chromaflow_device::cuda::{DeviceBuffer, Kernel, KernelSource, Module, Read, Share, Stream, Write};
use chromaflow_device::{kernel_arguments, kernel_elements, kernel_record};
use std::ops::Range;
use std::sync::Arc;

const TEXT: &str = include_str!("wavefront.cu");
const THREADS: usize = 256;

pub(super) fn wavefront_source(nb: usize) -> KernelSource {
    let source = kernel_source("wavefront", TEXT, nb);
    source
        .records::<(Begin, FindSingular, Products, Subtract, Eliminate, Sums, Diagonal, FactorPlane, SolvePlane)>()
}

kernel_elements! {
    /// A cell and the distances to its neighbors in k, j, i.
    struct Point: "Point" in u32;
}

kernel_record! {
    /// `most` are the bits of the largest shift.
    struct Begin { cells: u32, shift: f64, diag: Read<f64>, inverse: Write<f64>, most: Share<u64> }
    struct FindSingular { cells: u32, inverse: Read<f64>, first: Share<u32> }

    /// Cells of a hyperplane.
    struct Plane { count: u32, points: Read<Point> }
    struct Products { plane: Plane, lower: Read<f64>, inverse: Read<f64>, work: Write<f64> }
    struct Subtract { plane: Plane, upper: Read<f64>, inverse: Write<f64>, work: Read<f64> }

    /// A step of the inversion of diagonal blocks.
    struct Eliminate { plane: Plane, r: i32, inverse: Write<f64> }

    /// b - L x, or U x without b.
    struct Sums { plane: Plane, couplings: Read<f64>, b: Read<f64>, x: Read<f64>, work: Write<f64> }
    struct Diagonal { plane: Plane, backward: i32, inverse: Read<f64>, work: Read<f64>, x: Write<f64> }
    struct FactorPlane { plane: Plane, lower: Read<f64>, upper: Read<f64>, inverse: Share<f64> }

    /// x = D^-1 (b - L x), or x -= D^-1 U x without b.
    struct SolvePlane { plane: Plane, couplings: Read<f64>, inverse: Read<f64>, b: Read<f64>, x: Share<f64> }
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

    /// A hyperplane's cells with their neighbors on one side.
    fn plane(points: &DeviceBuffer<u32>, level: &Range<usize>) -> Plane {
        let points = points.part(4 * level.start..4 * level.end);
        Plane { count: level.len() as u32, points: points.into() }
    }

    pub fn factor(
        &self,
        engine: GpuIluEngine,
        a: &DeviceStencil,
        shift: f64,
        inverse: &DeviceBuffer<f64>,
        findings: &DeviceBuffer<u32>,
    ) -> Result<(), GpuError> {
        let (nb, q, cells, stream) = (self.nb, self.nb * self.nb, self.cells as u32, &self.stream);
        let warps = self.cells.div_ceil(THREADS / 32);
        let most = Share::at(findings.part(2..4).ptr());
        let begin = kernel_arguments!(Begin { cells, shift, diag: &a.diag, inverse, most });
        // SAFETY: here and below, `a`, `inverse` and vectors were checked to hold all cells; hyperplanes name cells and
        // distances within them; `work` holds three blocks for each point of the largest hyperplane.
        unsafe { self.kernel("begin")?.launch(warps, THREADS).record(&begin).enqueue(stream)? };
        let names = ["acc_products", "acc_subtract", "acc_scale", "acc_eliminate", "acc_pivot"];
        if engine == GpuIluEngine::Cl {
            let (kernel, (points, threads)) = (self.kernel("cl_factor")?, self.group());
            for level in &self.levels {
                let (lower, upper, plane) = (&a.lower, &a.upper, Self::plane(&self.down, level));
                let arguments = kernel_arguments!(FactorPlane { plane, lower, upper, inverse });
                let launch = kernel.launch(level.len().div_ceil(points), threads).record(&arguments);
                // SAFETY: as above.
                unsafe { launch.enqueue(stream)? };
            }
        } else {
            let [products, subtract, scale, eliminate, pivot] = names.map(|name| self.kernel(name));
            let (products, subtract, scale, eliminate, pivot) =
                (products?, subtract?, scale?, eliminate?, pivot?);
            for level in &self.levels {
                let (plane, work) = (Self::plane(&self.down, level), &self.work);
                let blocks = |per_point: usize| (level.len() * per_point).div_ceil(THREADS);
                let multiply = kernel_arguments!(Products { plane, lower: &a.lower, inverse, work });
                let take = kernel_arguments!(Subtract { plane, upper: &a.upper, inverse, work });
                // SAFETY: as above.
                unsafe {
                    products.launch(blocks(q), THREADS).record(&multiply).enqueue(stream)?;
                    subtract.launch(blocks(q), THREADS).record(&take).enqueue(stream)?;
                    for r in 0..nb {
                        let step = kernel_arguments!(Eliminate { plane, r: r as i32, inverse });
                        for (kernel, per_point) in
                            [(&scale, 2 * (nb - 1)), (&eliminate, (nb - 1) * (nb - 1)), (&pivot, 1)]
                        {
                            kernel.launch(blocks(per_point), THREADS).record(&step).enqueue(stream)?;
                        }
                    }
                }
            }
        }
        let find = kernel_arguments!(FindSingular { cells, inverse, first: findings.part(0..1) });
        // SAFETY: as above.
        Ok(unsafe { self.kernel("find_singular")?.launch(warps, THREADS).record(&find).enqueue(stream) }?)
    }

    pub fn solve(
        &self,
        engine: GpuIluEngine,
        a: &DeviceStencil,
        inverse: &DeviceBuffer<f64>,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let (stream, work, cl) = (&self.stream, &self.work, engine == GpuIluEngine::Cl);
        let (group, threads) = self.group();
        let diagonal = self.kernel("acc_diagonal")?;
        for back in [false, true] {
            let (couplings, points) = if back { (&a.upper, &self.up) } else { (&a.lower, &self.down) };
            let b = if back { Read::NONE } else { b.into() };
            let kernel = self.kernel(match (cl, back) {
                (true, false) => "cl_forward",
                (true, true) => "cl_backward",
                (false, false) => "acc_forward_sum",
                (false, true) => "acc_backward_sum",
            })?;
            for at in 0..self.levels.len() {
                let level = &self.levels[if back { self.levels.len() - 1 - at } else { at }];
                let plane = Self::plane(points, level);
                if cl {
                    let pass = kernel_arguments!(SolvePlane { plane, couplings, inverse, b, x });
                    let launch = kernel.launch(level.len().div_ceil(group), threads).record(&pass);
                    // SAFETY: as in `factor`.
                    unsafe { launch.enqueue(stream)? };
                    continue;
                }
                let blocks = (level.len() * self.nb).div_ceil(THREADS);
                let sums = kernel_arguments!(Sums { plane, couplings, b, x, work });
                let solve = kernel_arguments!(Diagonal { plane, backward: back, inverse, work, x });
                // SAFETY: as in `factor`.
                unsafe {
                    kernel.launch(blocks, THREADS).record(&sums).enqueue(stream)?;
                    diagonal.launch(blocks, THREADS).record(&solve).enqueue(stream)?;
                }
            }
        }
        Ok(())
    }
}
