//! Batches that lie in host memory, solved on a GPU: three ways across the bus.

use super::{GpuBatch, GpuOptions, GpuSolver, GpuTridiagError};
use crate::tridiag::{Batch, Layout, LineOutcome, Precision, Shape, TridiagError};
use bytemuck::Pod;
use chromaflow_device::Team;
use chromaflow_device::cuda::{DeviceBuffer, Event, Gpu, Pinned, Stream};
use std::ops::Range;
use std::str::FromStr;

/// How data go to the device and back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transfer {
    /// All arrays, one after the other; the solve; the solution: nothing overlaps.
    Synchronous,
    /// Plane by plane through page-locked buffers while the host prepares the next plane; then one solve, and the solution in
    /// one piece.
    Planes,
    /// Plane by plane, each with a solve and a transfer of its solution, in several streams.
    #[default]
    PlanesAndKernels,
}

impl Transfer {
    /// The three, in the order of the paper's Table 2.
    pub const ALL: [Transfer; 3] = [Transfer::Synchronous, Transfer::Planes, Transfer::PlanesAndKernels];

    /// The name on command lines and in results.
    pub fn name(self) -> &'static str {
        match self {
            Transfer::Synchronous => "sync",
            Transfer::Planes => "planes",
            Transfer::PlanesAndKernels => "streams",
        }
    }
}

impl FromStr for Transfer {
    type Err = TridiagError;
    fn from_str(s: &str) -> Result<Self, TridiagError> {
        Transfer::ALL.into_iter().find(|t| t.name() == s).ok_or(TridiagError::Unsupported {
            method: "the GPU",
            what: "this way across the bus",
            remedy: "sync, planes or streams",
        })
    }
}

/// Planes under way at once.
const STREAMS: usize = 4;

/// Arrays of some systems on the device.
struct Arrays<S> {
    lower: DeviceBuffer<S>,
    diag: DeviceBuffer<S>,
    upper: DeviceBuffer<S>,
    rhs: DeviceBuffer<S>,
    x: DeviceBuffer<S>,
}

impl<S: Pod> Arrays<S> {
    fn new(stream: &Stream, shape: Shape) -> Result<Self, GpuTridiagError> {
        let rows = shape.systems * shape.rows;
        let array = |width: usize| DeviceBuffer::uninitialized(stream, rows * width);
        let (q, m) = (shape.block(), shape.rank);
        Ok(Self { lower: array(q)?, diag: array(q)?, upper: array(q)?, rhs: array(m)?, x: array(m)? })
    }

    fn batch(&self) -> GpuBatch<'_, S> {
        GpuBatch { lower: &self.lower, diag: &self.diag, upper: &self.upper }
    }
}

/// A plane under way: its stream and the page-locked buffers that it leaves and comes back through.
struct Lane<P: Precision> {
    stream: Stream,
    out: Pinned<P::Store>,
    back: Pinned<P::Store>,
    /// With solves plane by plane.
    own: Option<(Arrays<P::Store>, GpuSolver<P>)>,
    /// The systems whose solution is to be fetched from `back`.
    pending: Option<Range<usize>>,
}

/// Solves batches in host memory, system by system ([`Layout::Aos`]), on a GPU.
///
/// **Source**: Stone et al. (2011), section IV.A, whose three implementations [`Transfer`] names.
pub struct HostSolver<P: Precision> {
    shape: Shape,
    periodic: bool,
    transfer: Transfer,
    /// Systems of a plane.
    plane: usize,
    stream: Stream,
    whole: Option<(Arrays<P::Store>, GpuSolver<P>)>,
    lanes: Vec<Lane<P>>,
}

impl<P: Precision> HostSolver<P>
where
    P::Store: Pod,
    P::Sum: Pod,
{
    /// A solver for batches of this shape in planes of `plane` systems (the last one may have fewer).
    ///
    /// # Errors
    /// As [`GpuSolver::new`].
    pub fn new(
        gpu: &Gpu,
        shape: Shape,
        plane: usize,
        options: GpuOptions,
        transfer: Transfer,
    ) -> Result<Self, GpuTridiagError> {
        let stream = gpu.stream()?;
        let plane = plane.clamp(1, shape.systems.max(1));
        let work = |stream: &Stream, shape: Shape| {
            let solver = GpuSolver::new(stream, shape, Layout::Aos, options)?;
            Ok::<_, GpuTridiagError>((Arrays::new(stream, shape)?, solver))
        };
        let own = transfer == Transfer::PlanesAndKernels;
        let mut lanes = Vec::new();
        if transfer != Transfer::Synchronous {
            let part = Shape { systems: plane, ..shape };
            let rows = plane * shape.rows;
            for _ in 0..STREAMS.min(shape.systems.div_ceil(plane)) {
                let stream = gpu.stream()?;
                let own = own.then(|| work(&stream, part)).transpose()?;
                let out = Pinned::zeroed(gpu, rows * (3 * shape.block() + shape.rank))?;
                let back = Pinned::zeroed(gpu, rows * shape.rank)?;
                lanes.push(Lane { stream, out, back, own, pending: None });
            }
        }
        let whole = (!own).then(|| work(&stream, shape)).transpose()?;
        // Other streams write to these arrays, which must exist by then.
        stream.synchronize()?;
        Ok(Self { shape, periodic: options.periodic, transfer, plane, stream, whole, lanes })
    }

    /// Solves every system of `batch` for its right-hand side; returns when `x` is there.
    ///
    /// **Shapes**: `rhs`, `x` `[systems, rows, rank]`. **Outcome**: as of [`Solver::solve`](crate::tridiag::Solver::solve).
    ///
    /// # Errors
    /// [`TridiagError::Length`], [`TridiagError::Unsupported`] for another layout than system by system, for batches that are
    /// periodic where the options were not (or the other way round), [`chromaflow_device::cuda::CudaError`].
    pub fn solve(
        &mut self,
        team: &Team,
        batch: &Batch<'_, P::Store>,
        rhs: &[P::Store],
        x: &mut [P::Store],
    ) -> Result<LineOutcome, GpuTridiagError> {
        let (shape, m) = (self.shape, self.shape.rank);
        if batch.layout != Layout::Aos {
            let (what, remedy) = ("this layout of host memory", "aos");
            return Err(TridiagError::Unsupported { method: "the GPU", what, remedy }.into());
        }
        if batch.periodic != self.periodic {
            let (what, remedy) = if batch.periodic {
                ("periodic lines by a solver of open ones", "GpuOptions::periodic")
            } else {
                ("open lines by a solver of periodic ones", "options without `periodic`")
            };
            return Err(TridiagError::Unsupported { method: "the GPU", what, remedy }.into());
        }
        let rows = shape.systems * shape.rows;
        TridiagError::check_len("lower", batch.lower.len(), rows * shape.block())?;
        TridiagError::check_len("rhs", rhs.len(), rows * m)?;
        TridiagError::check_len("x", x.len(), rows * m)?;
        if rows == 0 {
            return Ok(LineOutcome::Solved);
        }
        let q = shape.block();
        let arrays = [(batch.lower, q), (batch.diag, q), (batch.upper, q), (rhs, m)];
        match self.transfer {
            Transfer::Synchronous => self.synchronous(arrays, x)?,
            Transfer::Planes => self.planes(team, arrays, x)?,
            Transfer::PlanesAndKernels => self.streams(team, arrays, x)?,
        }
        // A solve that failed left numbers that are not finite.
        let fine = x.iter().all(|v| crate::tridiag::Real::to_f64(*v).is_finite());
        if fine {
            Ok(LineOutcome::Solved)
        } else {
            Ok(crate::tridiag::solver::diagnose::<P>(batch, rhs, x, 0))
        }
    }

    fn whole(&mut self) -> &mut (Arrays<P::Store>, GpuSolver<P>) {
        self.whole.as_mut().expect("made for this way")
    }

    fn synchronous(
        &mut self,
        arrays: [(&[P::Store], usize); 4],
        x: &mut [P::Store],
    ) -> Result<(), GpuTridiagError> {
        let stream = self.stream.clone();
        let (own, _) = self.whole();
        for (to, (from, _)) in
            [&mut own.lower, &mut own.diag, &mut own.upper, &mut own.rhs].into_iter().zip(arrays)
        {
            to.upload(from)?;
        }
        self.solve_whole(&stream, x)
    }

    /// The solve of what is on the device, and its solution in one piece.
    fn solve_whole(&mut self, stream: &Stream, x: &mut [P::Store]) -> Result<(), GpuTridiagError> {
        let (own, solver) = self.whole();
        solver.solve_in_place(
            stream,
            [&mut own.lower, &mut own.diag, &mut own.upper],
            &own.rhs,
            &mut own.x,
        )?;
        Ok(own.x.download_into(x)?)
    }

    fn planes(
        &mut self,
        team: &Team,
        arrays: [(&[P::Store], usize); 4],
        x: &mut [P::Store],
    ) -> Result<(), GpuTridiagError> {
        let (shape, plane, stream) = (self.shape, self.plane, self.stream.clone());
        let Some((own, _)) = &mut self.whole else { unreachable!("made for this way") };
        for (k, first) in (0..shape.systems).step_by(plane).enumerate() {
            let lane = &mut self.lanes[k % STREAMS.min(shape.systems.div_ceil(plane))];
            lane.stream.synchronize()?;
            let systems = first..(first + plane).min(shape.systems);
            let parts = stage(team, &arrays, shape.rows, systems.clone(), &mut lane.out);
            let targets = [&mut own.lower, &mut own.diag, &mut own.upper, &mut own.rhs];
            for ((to, part), (_, width)) in targets.into_iter().zip(parts).zip(arrays) {
                to.upload_later(&lane.stream, systems.start * shape.rows * width, &lane.out, part)?;
            }
        }
        for lane in &self.lanes {
            let done = Event::new(stream.gpu())?;
            done.record(&lane.stream)?;
            stream.wait(&done)?;
        }
        self.solve_whole(&stream, x)
    }

    fn streams(
        &mut self,
        team: &Team,
        arrays: [(&[P::Store], usize); 4],
        x: &mut [P::Store],
    ) -> Result<(), GpuTridiagError> {
        let (shape, plane) = (self.shape, self.plane);
        let count = self.lanes.len();
        let width = shape.rows * shape.rank;
        let fetch = |lane: &mut Lane<P>, x: &mut [P::Store]| {
            lane.stream.synchronize()?;
            if let Some(done) = lane.pending.take() {
                let len = done.len() * width;
                x[done.start * width..done.end * width].copy_from_slice(&lane.back[..len]);
            }
            Ok::<(), GpuTridiagError>(())
        };
        for (k, first) in (0..shape.systems).step_by(plane).enumerate() {
            let lane = &mut self.lanes[k % count];
            fetch(lane, x)?;
            let systems = first..(first + plane).min(shape.systems);
            let parts = stage(team, &arrays, shape.rows, systems.clone(), &mut lane.out);
            let Some((own, solver)) = &mut lane.own else { unreachable!("made for this way") };
            // A last plane of fewer systems leaves those of an earlier one behind them, which are solved again.
            let targets = [&mut own.lower, &mut own.diag, &mut own.upper, &mut own.rhs];
            for (to, part) in targets.into_iter().zip(parts) {
                to.upload_later(&lane.stream, 0, &lane.out, part)?;
            }
            let coefficients = [&mut own.lower, &mut own.diag, &mut own.upper];
            solver.solve_in_place(&lane.stream, coefficients, &own.rhs, &mut own.x)?;
            own.x.download_later(&mut lane.back)?;
            lane.pending = Some(systems);
        }
        self.lanes.iter_mut().try_for_each(|lane| fetch(lane, x))
    }

    /// The batch that was solved last in one piece, on the device (unspecified numbers where the options let coefficients be
    /// destroyed): None with solves plane by plane.
    pub fn resident(&self) -> Option<GpuBatch<'_, P::Store>> {
        self.whole.as_ref().map(|(own, _)| own.batch())
    }
}

/// Copies some systems' part of each array into one page-locked buffer, on all threads; returns where each part lies.
fn stage<S: Pod + Send + Sync>(
    team: &Team,
    arrays: &[(&[S], usize); 4],
    rows: usize,
    systems: Range<usize>,
    out: &mut Pinned<S>,
) -> [Range<usize>; 4] {
    let mut at = 0;
    let parts = arrays.map(|(values, width)| {
        let from = &values[systems.start * rows * width..systems.end * rows * width];
        at += from.len();
        (from, at - from.len()..at)
    });
    let to = crate::tridiag::Shared::new(&mut out[..at]);
    // Planes are small: the team meets once for all four.
    team.run(|member| {
        for (from, part) in &parts {
            let share = member.share(from.len());
            to.copy(part.start + share.start, &from[share]);
        }
    });
    parts.map(|(_, part)| part)
}
