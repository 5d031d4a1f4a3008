#![allow(unsafe_code)]
//! Newton-Krylov steps on a GPU. Twins: structured/newton/mod.rs, structured/newton/matrix.rs.

mod beside;
#[cfg(test)]
pub(super) mod tests;

use super::super::StructuredSystem;
use super::super::newton::{APART, GridNewton, GridRows, Place};
use super::arguments::{Assemble, NewtonKernels, PutUpdate, SetBeside, Slopes, TakeBase, Weigh};
use super::setup::face_numbers;
use super::turbulence::Rows;
use super::{Method, StructuredCuda, kernel};
use crate::config::NewtonKrylov;
use crate::equations::perfect_gas::{N, NN};
use crate::flux::RoeFix;
use crate::gpu::{blocks, optional};
use crate::jacobian::cuda::Target;
use crate::march::linear::LinearCuda;
use crate::march::newton::cuda::{self, ChangesCuda, NewtonStepCuda};
use crate::march::newton::{LEAST_SHARE, bears};
use crate::march::{FlowError, Moment};
use beside::BesideCuda;
use chromaflow::factor::block_ilu::cuda::DeviceBlockIlu;
use chromaflow::gpu::{GpuError, Storage, Vectors};
use chromaflow::krylov::KrylovCuda;
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, KernelSource, Stream, Write};
use chromaflow_device::enqueue;

/// Rows that a thread block assembles (`ROWS` of newton.cu), and the sides of a cell.
const ROWS: usize = 32;
const SIDES: usize = 6;
/// The bit of a link that is a face of the boundary.
const FACE: u32 = 1 << 31;
/// The link to a cell whose column the matrix leaves out (`APART` of structured.cuh).
const LEFT_OUT: u32 = FACE - 1;

/// Doubles a cell that an assembly moves: state, areas, volume and time step, the diagonal block, and those in single precision
/// beside it.
pub(super) const MATRIX: f64 = (5 + 9 + 2 + NN) as f64 + 0.5 * (SIDES * NN) as f64;

const AT_HAND: &str = "only steps take it, and give it back";

/// The kernels of newton.cu, for blocks assembled as `storage`; viscous flow has the same matrix with all terms as with some.
pub(super) fn source([_, viscous]: [u32; 2], storage: Storage) -> KernelSource {
    kernel("structured_newton", include_str!("newton.cu"), [0, viscous.min(1)])
        .records::<NewtonKernels>()
        .define("STORED", storage.assembled().bytes())
}

/// Where the rows of the matrix lie on the grid, and what is beyond their sides.
struct Table {
    rows: usize,
    /// Place and block of each row.
    places: DeviceBuffer<u32>,
    /// The row of each cell, by its number; the other way about for the host.
    row_of: DeviceBuffer<u32>,
    numbers: Vec<u32>,
    row_ptr: DeviceBuffer<u32>,
    /// Positions of the cells beyond, faces of the boundary, or `NONE`: `[sides, rows]`.
    links: DeviceBuffer<u32>,
    /// One and the number of the matrix by which vectors beyond are turned; empty where none are.
    turns: DeviceBuffer<u32>,
    matrices: DeviceBuffer<f64>,
}

impl Table {
    fn new(
        stream: &Stream,
        solver: &StructuredSystem,
        rows: &GridRows,
        offsets: &[usize],
    ) -> Result<Self, GpuError> {
        let GridRows { places, rows: row_of, pattern, .. } = rows;
        let mut numbers = vec![0; row_of.len()];
        row_of.iter().zip(0..).for_each(|(&row, number)| numbers[row as usize] = number);
        let at = |place: &Place| [offsets[place.block as usize] as u32 + place.at, place.block];
        let faces = face_numbers(solver);
        let each = || (0..SIDES).flat_map(|side| (0..places.len()).map(move |row| (row, side)));
        let links: Vec<u32> = each().map(|(row, side)| link(solver, rows, &faces, row, side)).collect();
        let turned = if rows.matrices.is_empty() { 0 } else { SIDES };
        let turns = each().take(turned * places.len());
        let turns: Vec<u32> = turns
            .map(|(row, side)| {
                let place = &places[row];
                u32::from(rows.turn(place, side, &solver.blocks[place.block as usize]))
            })
            .collect();
        Ok(Self {
            rows: places.len(),
            places: stream.upload(&places.iter().flat_map(at).collect::<Vec<_>>())?,
            row_of: stream.upload(row_of)?,
            numbers,
            row_ptr: stream.upload(pattern.row_ptr())?,
            links: stream.upload(&links)?,
            turns: stream.upload(&turns)?,
            matrices: stream.upload(rows.matrices.as_flattened().as_flattened())?,
        })
    }
}

impl Table {
    fn rows(&self) -> Rows<'_> {
        let Self { places, row_of, row_ptr, links, .. } = self;
        Rows { places, row_of, row_ptr, links }
    }

    /// The number of the cell at whose row a matrix cannot be inverted.
    fn cell(&self, linear: &LinearCuda) -> usize {
        self.numbers[linear.singular().unwrap_or_default()] as usize
    }

    /// Residuals of the flow over V/dt, or back.
    fn weigh(
        &self,
        kernels: &NewtonKernels,
        flow: &StructuredCuda,
        back: bool,
        from: &DeviceSlice<'_, f64>,
        to: &DeviceSlice<'_, f64>,
    ) -> Result<(), GpuError> {
        assert!(from.len() == N * self.rows && to.len() == from.len());
        // SAFETY: a row of five values for each cell.
        Ok(unsafe {
            enqueue! { flow.grid.launch(&kernels.weigh), &flow.stream, Weigh {
                over: flow.grid.chunk_records(), row_of: &self.row_of, tau: &flow.tau, back: u32::from(back),
                from, to,
            } }
        }?)
    }
}

/// What is beyond a side of a row, with the numbers of the boundary's faces.
fn link(
    solver: &StructuredSystem,
    rows: &GridRows,
    (side_ptr, face_of): &(Vec<u32>, Vec<u32>),
    row: usize,
    side: usize,
) -> u32 {
    let position = rows.positions[row][side];
    if position == APART {
        return LEFT_OUT;
    }
    if position != u32::MAX {
        assert!(position < LEFT_OUT, "one device has no more rows than it has memory for");
        return position;
    }
    let place = &rows.places[row];
    let block = &solver.blocks[place.block as usize];
    let first = side_ptr[SIDES * place.block as usize + side] as usize;
    let face = place.on_side(block, side).map_or(u32::MAX, |at| face_of[first + at]);
    if face == u32::MAX { face } else { face | FACE }
}

/// What Newton-Krylov steps need besides what all steps do.
pub(super) struct NewtonCuda {
    options: NewtonKrylov,
    /// The least convective fix of the matrix, of usual and of hard systems.
    least: [f64; 2],
    kernels: NewtonKernels,
    table: Table,
    pub(super) linear: LinearCuda,
    krylov: KrylovCuda,
    vectors: Vectors,
    /// Partial sums of inner products.
    sums: DeviceBuffer<f64>,
    /// The residual where the derivative is taken, and the update.
    b: DeviceBuffer<f64>,
    x: DeviceBuffer<f64>,
    /// A turbulence model's part, and the flow's residual alone; none and empty without a model.
    pub(super) beside: Option<BesideCuda>,
    base: DeviceBuffer<f64>,
    /// What finds how far states may move, and the state where the derivative is taken, where it may not move by any step of a difference; else empty.
    changes: ChangesCuda,
    tender: DeviceBuffer<f64>,
}

impl NewtonCuda {
    pub(super) fn new(
        stream: &Stream,
        solver: &StructuredSystem,
        newton: &GridNewton,
        offsets: &[usize],
        constants: [u32; 2],
    ) -> Result<Self, FlowError> {
        let GridNewton { options, implicit, rows, jacobian, .. } = newton;
        let storage = Storage::from(implicit.policy);
        let source = source(constants, storage);
        let mut sources = vec![source.clone(), Vectors::kernel_source(Storage::F64)];
        sources.extend(DeviceBlockIlu::kernel_sources(N, implicit.policy.storage(), storage.assembled()));
        stream.gpu().prepare(sources);
        let n = N * rows.places.len();
        let (pattern, batches) = (jacobian.pattern(), &rows.batches);
        // What is largest comes first: a device that is too small says so at once.
        let apart = solver.physics.turbulence.is_some_and(|model| model.is_k_omega());
        let new = if apart { LinearCuda::new } else { LinearCuda::preconditioner };
        let linear = new(stream, pattern, N, batches, implicit, false, None)?;
        let vectors = Vectors::new(stream, Storage::F64)?;
        let beside = solver.physics.turbulence.as_ref();
        let beside = beside.map(|model| BesideCuda::new(stream, newton, model)).transpose()?;
        let all = n + beside.as_ref().map_or(0, BesideCuda::len);
        Ok(Self {
            options: *options,
            least: [false, true].map(|hard| RoeFix::least_in_matrix(hard, solver.config.freestream.mach)),
            kernels: NewtonKernels::of(&stream.gpu().module(&source)?)?,
            table: Table::new(stream, solver, rows, offsets)?,
            linear,
            krylov: KrylovCuda::new(stream)?,
            sums: DeviceBuffer::zeroed(stream, vectors.partials() + 2)?,
            vectors,
            b: DeviceBuffer::zeroed(stream, all)?,
            x: DeviceBuffer::zeroed(stream, all)?,
            base: DeviceBuffer::zeroed(stream, if beside.is_some() { n } else { 0 })?,
            changes: ChangesCuda::new(stream)?,
            tender: DeviceBuffer::zeroed(stream, 0)?,
            beside,
        })
    }

    /// Writes V/dt + dR/dq of the first-order scheme at the present state; `shift` is what physical time adds to V/dt, over V;
    /// `least`: see [`RoeFix::in_matrix`].
    pub(super) fn assemble(&mut self, flow: &StructuredCuda, shift: f64, least: f64) -> Result<(), GpuError> {
        let Target::Rows(jacobian, _) = self.linear.target(false)? else {
            unreachable!("factors are made of blocks in the order of the pattern")
        };
        let (t, off) = (&self.table, jacobian.off.assembled()?);
        let launch = self.kernels.assemble.launch(blocks(t.rows, ROWS), SIDES * ROWS);
        // SAFETY: rows lie at cells, which have neighbors or ghosts on all sides; positions are those of their rows' blocks.
        Ok(unsafe {
            enqueue! { launch, &flow.stream, Assemble {
                rows: t.rows as u32, total: flow.total(), blocks: flow.grid.records(), places: &t.places,
                row_ptr: &t.row_ptr, links: &t.links, turns: optional(&t.turns), matrices: &t.matrices,
                faces: flow.face_count() as u64, jacobians: &flow.jacobians, w: &flow.w, area: &flow.area,
                volume: &flow.volume, eddies: flow.eddy_viscosity(), tau: &flow.tau, shift,
                least,
                setup: &flow.setup, off: Write::at(off), diag: &jacobian.diag,
            } }
        }?)
    }

    /// The same and the turbulence model's, if there is one: the flow's then has the change in time.
    pub(super) fn assemble_all(&mut self, flow: &StructuredCuda, at: &Moment) -> Result<(), GpuError> {
        let shift = at.bdf.filter(|_| self.beside.is_some()).map_or(0.0, |bdf| bdf.factors()[0]);
        self.assemble(flow, shift, self.least[usize::from(at.hard)])?;
        let rows = self.table.rows();
        self.beside.as_mut().map_or(Ok(()), |beside| beside.assemble(flow, &rows, at))
    }

    /// Solves (V/dt + dR/dq) x = R; -x takes the place of the residual. The relative residual that is left, or the number of a cell
    /// whose diagonal block cannot be inverted.
    fn solve(&mut self, flow: &mut StructuredCuda, at: &Moment) -> Result<Result<f64, usize>, GpuError> {
        flow.time_steps(at.cfl, 0.0)?;
        flow.boundary_jacobians()?;
        self.assemble_all(flow, at)?;
        if self.beside.is_some() && !at.together {
            // Each rank solves by itself; steps are chosen by what is left where most is.
            let solved = self.solve_apart(flow)?;
            if let Some(cell) = flow.lowest(solved.err()) {
                return Ok(Err(cell));
            }
            return Ok(Ok(flow.largest(solved.unwrap_or(0.0))));
        }
        let mut singular = None;
        for linear in [Some(&mut self.linear), self.beside.as_mut().map(|beside| &mut beside.linear)] {
            if let Some(linear) = linear.filter(|_| singular.is_none())
                && !linear.factor()?
            {
                singular = Some(self.table.cell(linear));
            }
        }
        if let Some(cell) = flow.lowest(singular) {
            return Ok(Err(cell));
        }
        let left = self.iterate(flow, at)?;
        self.put_update(flow, &self.x)?;
        if let Some(beside) = &self.beside {
            let own = self.x.part(self.base.len()..self.x.len());
            beside.put_update(flow, &self.table.rows(), &own)?;
        }
        Ok(Ok(left))
    }

    fn put_update(&self, flow: &StructuredCuda, x: &DeviceBuffer<f64>) -> Result<(), GpuError> {
        // SAFETY: a row for each cell.
        Ok(unsafe {
            enqueue! { flow.grid.launch(&self.kernels.put_update), &flow.stream, PutUpdate {
                over: flow.grid.chunk_records(), total: flow.total(), row_of: &self.table.row_of, x,
                r: &flow.r,
            } }
        }?)
    }

    /// The flow and the model each by itself, with its own matrix.
    fn solve_apart(&mut self, flow: &mut StructuredCuda) -> Result<Result<f64, usize>, GpuError> {
        let Some(mut beside) = self.beside.take() else { unreachable!("no flow is apart from nothing") };
        self.take_base(flow, &self.base, &beside.z)?;
        let left = self.linear.solve(&self.base, &mut beside.r, false)?;
        let mut solved = left.ok_or_else(|| self.table.cell(&self.linear));
        if solved.is_ok() {
            self.put_update(flow, &beside.r)?;
            if !beside.solve(flow, &self.table.rows())? {
                solved = Err(self.table.cell(&beside.linear));
            }
        }
        self.beside = Some(beside);
        Ok(solved)
    }

    /// Takes the flow's residual and conserved state in the order of rows.
    fn take_base(
        &self,
        flow: &StructuredCuda,
        base: &DeviceBuffer<f64>,
        q: &DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        // SAFETY: a row for each cell.
        Ok(unsafe {
            enqueue! { flow.grid.launch(&self.kernels.take_base), &flow.stream, TakeBase {
                over: flow.grid.chunk_records(), total: flow.total(), row_of: &self.table.row_of, w: &flow.w,
                r: &flow.r, setup: &flow.setup, base, q,
            } }
        }?)
    }

    /// GMRES around the factors at hand.
    fn iterate(&mut self, flow: &mut StructuredCuda, at: &Moment) -> Result<f64, GpuError> {
        let options = at.newton(&self.options);
        let share = flow.share.clone();
        self.at_base(flow, at, |step, krylov, x| {
            let (vectors, b) = (step.vectors, step.b);
            cuda::solve((krylov, vectors), step, &options, share.as_deref(), b, x)
        })
    }

    /// Lets `work` take derivatives at the present state, which comes back as it was.
    pub(super) fn at_base<T>(
        &mut self,
        flow: &mut StructuredCuda,
        at: &Moment,
        work: impl FnOnce(&mut GridStep<'_>, &mut KrylovCuda, &mut DeviceBuffer<f64>) -> Result<T, GpuError>,
    ) -> Result<T, GpuError> {
        match &self.beside {
            None => self.take_base(flow, &self.b, &self.x)?,
            Some(beside) => self.take_base(flow, &self.base, &beside.z)?,
        }
        let Self {
            kernels, table, linear, krylov, vectors, sums, b, x, beside, base, changes, tender, ..
        } = self;
        let directed = beside.is_some() && BesideCuda::is_directed(flow);
        let size = if let Some(beside) = beside {
            beside.r.copy_from(&base.slice())?;
            if directed {
                table.weigh(kernels, flow, false, &beside.r.slice(), &beside.r.slice())?;
            }
            let squares = vectors.dots([(&beside.z, &beside.z), (&beside.r, &beside.r)], sums)?;
            let [size, norm] = flow.sum(squares).map(f64::sqrt);
            let noise = if directed { 1.0 } else { at.noise };
            beside.set_base(flow, &table.rows(), (size, noise * norm), sums)?;
            let n = base.len();
            vectors.axpby_part(1.0, &beside.r.slice(), 0.0, (b, 0..n))?;
            beside.residual_into(&flow.stream, &b.part(n..b.len()))?;
            // A flow and what is beside it are as large; of a model that has derivatives itself steps go by the flow.
            if directed { size } else { size * 2.0_f64.sqrt() }
        } else {
            flow.sum([vectors.dot(x, x, sums)?])[0].sqrt()
        };
        let q = beside.as_ref().map_or(&*x, |beside| &beside.z);
        let most = changes.largest((&flow.stream, flow.share.as_deref()), table.rows, q, None)?;
        *tender = DeviceBuffer::zeroed(&flow.stream, if bears(size, most) { 0 } else { N * table.rows })?;
        if !tender.is_empty() {
            tender.copy_from(&q.slice())?;
        }
        flow.other.copy_from(&flow.w.slice())?;
        let (b, base) = if beside.is_some() { (&*b, &*base) } else { (&*b, &*b) };
        let beside = beside.as_mut();
        let at = *at;
        let mut step = GridStep {
            kernels,
            table,
            linear,
            vectors,
            sums,
            b,
            base,
            changes,
            tender,
            beside,
            directed,
            flow,
            at,
            size,
        };
        let done = work(&mut step, krylov, x)?;
        let GridStep { flow, beside, .. } = step;
        flow.w.copy_from(&flow.other.slice())?;
        if let Some(beside) = beside {
            beside.return_to_base(flow, &table.rows())?;
        }
        Ok(done)
    }
}

/// The step's system, its state in `other` of the flow, states beside it in `w`; unknowns of a model follow the flow's.
pub(super) struct GridStep<'a> {
    kernels: &'a NewtonKernels,
    table: &'a Table,
    linear: &'a mut LinearCuda,
    vectors: &'a Vectors,
    sums: &'a mut DeviceBuffer<f64>,
    b: &'a DeviceBuffer<f64>,
    /// The flow's residual where the derivative is taken.
    base: &'a DeviceBuffer<f64>,
    changes: &'a mut ChangesCuda,
    /// The state where it is taken, if it may not move by any step of a difference; else empty.
    tender: &'a DeviceBuffer<f64>,
    beside: Option<&'a mut BesideCuda>,
    /// Whether the model has derivatives itself; residuals of the flow are then measured by V/dt.
    directed: bool,
    flow: &'a mut StructuredCuda,
    at: Moment,
    /// |q|
    size: f64,
}

impl NewtonStepCuda for GridStep<'_> {
    fn size(&self) -> f64 {
        self.size
    }

    fn length(&mut self, v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        let whole = self.flow.sum([self.vectors.dot(v, v, self.sums)?])[0].sqrt();
        let Some(beside) = self.beside.as_mut().filter(|_| self.directed) else { return Ok(whole) };
        beside.r.copy_from(&v.part(0..self.base.len()))?;
        let of_flow = self.flow.sum([self.vectors.dot(&beside.r, &beside.r, self.sums)?])[0].sqrt();
        Ok(of_flow.max(LEAST_SHARE * whole))
    }

    fn relative_change(&mut self, v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        if self.tender.is_empty() {
            return Ok(0.0);
        }
        let on = (&self.flow.stream, self.flow.share.as_deref());
        self.changes.largest(on, self.table.rows, self.tender, Some(v))
    }

    fn differentiate(
        &mut self,
        h: f64,
        v: &DeviceBuffer<f64>,
        y: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let Self { kernels, table, base, beside, directed, flow, at, .. } = self;
        let (n, all) = (N * table.rows, v.len());
        assert!(all == n + beside.as_ref().map_or(0, |beside| beside.len()) && y.len() == all);
        let (total, row_of) = (flow.total(), &table.row_of);
        // SAFETY: a row for each cell; five values a row.
        unsafe {
            enqueue! { flow.grid.launch(&kernels.set_beside), &flow.stream, SetBeside {
                over: flow.grid.chunk_records(), total, row_of, from: &flow.other, h, v, setup: &flow.setup,
                w: &flow.w,
            } }?;
        }
        let (rows, own, rest) = (table.rows(), v.part(0..n), v.part(n..all));
        match beside {
            Some(beside) if *directed => {
                beside.direct(flow, &rows, h, (&own, &rest))?;
                flow.compute_derivative(at.bdf)?;
            }
            _ => {
                if let Some(beside) = beside {
                    beside.put(flow, &rows, h, &rest)?;
                }
                flow.compute_residual(at.bdf)?;
            }
        }
        // SAFETY: as above.
        unsafe {
            enqueue! { flow.grid.launch(&kernels.slopes), &flow.stream, Slopes {
                over: flow.grid.chunk_records(), total, row_of, r: &flow.r, base: *base, tau: &flow.tau, v,
                inverse: 1.0 / h, y: &*y,
            } }?;
        }
        let Some(beside) = beside else { return Ok(()) };
        let vectors = (&rest, &y.part(n..all));
        if !*directed {
            return beside.differentiate(flow, &rows, h, vectors);
        }
        table.weigh(kernels, flow, false, &y.part(0..n), &y.part(0..n))?;
        beside.derivative(flow, &rows, vectors)
    }

    fn precondition(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        let Some(beside) = &mut self.beside else { return self.linear.precondition(r, z) };
        let (n, all) = (self.base.len(), r.len());
        beside.r.copy_from(&r.part(0..n))?;
        if self.directed {
            self.table.weigh(self.kernels, self.flow, true, &beside.r.slice(), &beside.r.slice())?;
        }
        self.linear.precondition(&beside.r, &mut beside.z)?;
        self.vectors.axpby_part(1.0, &beside.z.slice(), 0.0, (z, 0..n))?;
        beside.precondition(&self.flow.stream, (&r.part(n..all), &z.part(n..all)))
    }
}

impl StructuredCuda {
    /// Lends what Newton-Krylov steps need besides what all steps do; none where steps are plain ones.
    pub(super) fn with_newton<T>(&mut self, work: impl FnOnce(&mut NewtonCuda, &mut Self) -> T) -> Option<T> {
        let Method::Newton(newton) = &mut self.method else { return None };
        let mut lent = newton.take().expect(AT_HAND);
        let done = work(&mut lent, self);
        self.method = Method::Newton(Some(lent));
        Some(done)
    }

    /// Whether steps are Newton-Krylov steps.
    pub(in crate::structured::cuda) fn steps_by_newton(&self) -> bool {
        matches!(self.method, Method::Newton(_))
    }

    /// The implicit part of a Newton-Krylov step; none where steps are plain ones.
    pub(super) fn solve_newton(&mut self, at: &Moment) -> Option<Result<Result<f64, usize>, GpuError>> {
        self.with_newton(|newton, flow| newton.solve(flow, at))
    }
}
