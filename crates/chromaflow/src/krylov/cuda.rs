#![allow(unsafe_code)]
//! The same methods with vectors that stay on the device: a few numbers come back an iteration, together.

use super::bicgstab::{self, Name, Space};
use super::gmres::{self, Basis};
use super::monitor::System;
use super::richardson::{self, Corrections};
use super::together::at_once;
use super::{Control, Solve};
use crate::factor::block_ilu::cuda::{DeviceBlockIlu, DeviceIluOverRanks};
use crate::gpu::{GpuError, ShareCuda, Storage, Vectors};
use crate::relax::{Guess, MulticolorCuda, SolveOptions};
use crate::sparse::cuda::BlockMatrixCuda;
use chromaflow_device::cuda::{DeviceBuffer, DeviceSlice, Kernel, Pinned, Stream};

/// A square linear map x -> A x on the device: a matrix, or the directional derivative of a residual. Twin:
/// [`LinearOperator`](super::LinearOperator).
pub trait LinearOperatorCuda {
    /// y = A x.
    ///
    /// # Errors
    /// [`GpuError`], as the operator has them.
    fn multiply(&mut self, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError>;

    /// r = b - A x.
    ///
    /// # Errors
    /// [`GpuError`], as the operator has them.
    fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError>;

    /// Where the rows are those of a rank: sums over them become sums over all ranks. Products and residuals are zero in ghosts then.
    fn share(&self) -> Option<&ShareCuda> {
        None
    }
}

/// A rank's part of a matrix: products are residuals.
pub struct OfRankCuda<'a> {
    matrix: &'a mut BlockMatrixCuda,
    share: &'a ShareCuda,
}

impl<'a> OfRankCuda<'a> {
    /// Of a matrix whose rows are those of the share.
    pub fn new(matrix: &'a mut BlockMatrixCuda, share: &'a ShareCuda) -> Self {
        Self { matrix, share }
    }
}

impl LinearOperatorCuda for OfRankCuda<'_> {
    fn multiply(&mut self, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        self.matrix.multiply(x, y)?;
        self.share.clear(self.matrix.nb(), &y.slice())
    }

    fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        self.matrix.residual(b, x, r)?;
        self.share.clear(self.matrix.nb(), &r.slice())
    }

    fn share(&self) -> Option<&ShareCuda> {
        Some(self.share)
    }
}

/// Inner products of a system, over all ranks where there are others.
fn completed<const N: usize>(a: &dyn LinearOperatorCuda, mut sums: [f64; N]) -> [f64; N] {
    if let Some(share) = a.share() {
        share.sum(&mut sums);
    }
    sums
}

impl LinearOperatorCuda for BlockMatrixCuda {
    fn multiply(&mut self, x: &DeviceBuffer<f64>, y: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        BlockMatrixCuda::multiply(self, x, y)
    }

    fn residual(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &DeviceBuffer<f64>,
        r: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        BlockMatrixCuda::residual(self, b, x, r)
    }
}

/// Writes z = M r, of r the first argument.
pub type Applied<'a> = dyn FnMut(&DeviceBuffer<f64>, &mut DeviceBuffer<f64>) -> Result<(), GpuError> + 'a;

/// What stands for an approximate inverse on the device.
pub enum PreconditionerCuda<'a> {
    /// The identity.
    Identity,
    /// Sweeps from zero.
    Relaxation(&'a mut MulticolorCuda, SolveOptions),
    /// A forward and a backward solve with incomplete factors.
    Ilu(&'a mut DeviceBlockIlu),
    /// The same of the rows of a rank.
    IluOverRanks(&'a mut DeviceIluOverRanks),
    /// The caller's own: writes z = M r, of r the first argument.
    Own(&'a mut Applied<'a>),
}

impl PreconditionerCuda<'_> {
    /// z = M r.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`].
    pub fn apply(&mut self, r: &DeviceBuffer<f64>, z: &mut DeviceBuffer<f64>) -> Result<(), GpuError> {
        match self {
            PreconditionerCuda::Identity => Ok(z.copy_from(&r.slice())?),
            PreconditionerCuda::Relaxation(relaxation, options) => {
                relaxation.solve(r, z, options).map(|_| ())
            }
            PreconditionerCuda::Ilu(ilu) => ilu.solve(r, z),
            PreconditionerCuda::IluOverRanks(ilu) => ilu.solve(r, z),
            PreconditionerCuda::Own(own) => own(r, z),
        }
    }
}

/// Flexible GMRES, BiCGStab and Richardson's iteration on the device, with the vectors they need, which are kept between
/// solves.
///
/// The operator is a [`LinearOperatorCuda`]: a [`BlockMatrixCuda`], of storage `d` where products shall be in f64, or the caller's own. The methods are written once, over
/// vectors wherever they live: iterations, outcomes and source are those of [`Gmres`](super::Gmres),
/// [`BiCgStab`](super::BiCgStab) and [`Richardson`](super::Richardson). The host waits once in an iteration of GMRES and four
/// times in a step of BiCGStab.
///
/// **Precision**: f64; inner products are added in a fixed order.
pub struct KrylovCuda {
    vectors: Vectors,
    /// Partial sums of inner products, and two results.
    work: DeviceBuffer<f64>,
    r: DeviceBuffer<f64>,
    /// Basis vectors of GMRES; those of BiCGStab but z.
    basis: Family,
    /// Preconditioned vectors.
    directions: Family,
    products: Products,
}

/// Vectors of one length, and where they lie, for kernels that run over many of them.
struct Family {
    vectors: Vec<DeviceBuffer<f64>>,
    table: DeviceBuffer<u64>,
}

impl Family {
    fn new(stream: &Stream) -> Result<Self, GpuError> {
        Ok(Self { vectors: Vec::new(), table: DeviceBuffer::zeroed(stream, 0)? })
    }

    /// At least `count` vectors of length `n`.
    fn grow(&mut self, stream: &Stream, count: usize, n: usize) -> Result<(), GpuError> {
        self.vectors.retain(|v| v.len() == n);
        while self.vectors.len() < count {
            self.vectors.push(DeviceBuffer::uninitialized(stream, n)?);
        }
        if self.table.len() != self.vectors.len() {
            self.table = stream.upload(&self.vectors.iter().map(DeviceBuffer::ptr).collect::<Vec<_>>())?;
        }
        Ok(())
    }
}

/// Inner products of one vector with many, and its combinations with them.
struct Products {
    many_dots: Kernel,
    combine: Kernel,
    /// Most thread blocks.
    blocks: usize,
    done: DeviceBuffer<u32>,
    partials: DeviceBuffer<f64>,
    /// Of the last pass.
    pass: DeviceBuffer<f64>,
    /// Squares of w before and after; sums over the passes.
    sums: DeviceBuffer<f64>,
    host: Pinned<f64>,
}

/// Squares of w before and after.
const NORMS: usize = 2;

impl Products {
    fn new(vectors: &Vectors) -> Result<Self, GpuError> {
        let stream = vectors.stream();
        let none = || DeviceBuffer::zeroed(stream, 0);
        Ok(Self {
            many_dots: vectors.kernel("many_dots")?,
            combine: vectors.kernel("combine")?,
            blocks: 4 * stream.gpu().facts().multiprocessors,
            done: DeviceBuffer::zeroed(stream, 1)?,
            partials: none()?,
            pass: none()?,
            sums: none()?,
            host: Pinned::zeroed(stream.gpu(), 0)?,
        })
    }

    /// Room for `count` vectors.
    fn grow(&mut self, stream: &Stream, count: usize) -> Result<(), GpuError> {
        if self.pass.len() < count {
            self.partials = DeviceBuffer::uninitialized(stream, (count + 1) * self.blocks)?;
            self.pass = DeviceBuffer::zeroed(stream, count)?;
            self.sums = DeviceBuffer::zeroed(stream, count + NORMS)?;
            self.host = Pinned::zeroed(stream.gpu(), count + NORMS)?;
        }
        Ok(())
    }

    /// Products of w with the first `count` of `v`, and with itself where `norm` says in which place.
    fn dots(
        &self,
        stream: &Stream,
        (v, count): (&Family, usize),
        w: &DeviceBuffer<f64>,
        first: bool,
        norm: Option<usize>,
    ) -> Result<(), GpuError> {
        let blocks = w.len().div_ceil(256).clamp(1, self.blocks);
        let launch = self.many_dots.launch(blocks, 256).arg(w.len() as u64).arg(count as u32).arg(&v.table);
        let launch = launch.arg(w).arg(&self.partials).arg(&self.done).arg(u32::from(first)).arg(&self.pass);
        let launch = launch.arg(self.sums.part(NORMS..NORMS + count));
        let launch = launch.arg(norm.map_or(0, |at| self.sums.part(at..at + 1).ptr()));
        // SAFETY: the table names at least `count` vectors as long as w; there is room for so many sums, and for a partial
        // sum of each, and one more, a thread block.
        Ok(unsafe { launch.enqueue(stream) }?)
    }

    /// Classical Gram-Schmidt, twice, with products that are summed over ranks: w becomes orthogonal to the first `count` of `v`. `h` gets
    /// the products and last |w|; |w| before comes back.
    fn orthogonalize_over(
        &mut self,
        share: &ShareCuda,
        stream: &Stream,
        (v, count): (&Family, usize),
        w: &mut DeviceBuffer<f64>,
        h: &mut [f64],
    ) -> Result<f64, GpuError> {
        let (mut products, mut before) = (vec![0.0; count + 1], 0.0);
        h[..count].fill(0.0);
        for first in [true, false] {
            self.dots(stream, (v, count), w, true, first.then_some(0))?;
            self.sums.download_later(&mut self.host)?;
            stream.synchronize()?;
            products[..count].copy_from_slice(&self.host[NORMS..NORMS + count]);
            products[count] = if first { self.host[0] } else { 0.0 };
            share.sum(&mut products);
            if first {
                before = products[count].sqrt();
            }
            h.iter_mut().zip(&products[..count]).for_each(|(h, product)| *h += product);
            self.pass.upload_part(0..count, &products[..count])?;
            self.combine(stream, (v, self.pass.part(0..count)), -1.0, w)?;
        }
        self.dots(stream, (v, 0), w, false, Some(1))?;
        self.sums.download_later(&mut self.host)?;
        stream.synchronize()?;
        let mut square = [self.host[1]];
        share.sum(&mut square);
        h[count] = square[0].sqrt();
        Ok(before)
    }

    /// y += sign * sum of a_i v_i
    fn combine(
        &self,
        stream: &Stream,
        (v, a): (&Family, DeviceSlice<'_, f64>),
        sign: f64,
        y: &mut DeviceBuffer<f64>,
    ) -> Result<(), GpuError> {
        let blocks = y.len().div_ceil(256).clamp(1, self.blocks);
        let launch = self.combine.launch(blocks, 256).arg(y.len() as u64).arg(a.len() as u32).arg(&v.table);
        // SAFETY: the table names at least as many vectors as there are factors, all as long as y.
        Ok(unsafe { launch.arg(a).arg(sign).arg(&*y).enqueue(stream) }?)
    }
}

impl KrylovCuda {
    /// For vectors in the order of `stream`.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn new(stream: &Stream) -> Result<Self, GpuError> {
        let vectors = Vectors::new(stream, Storage::F64)?;
        Ok(Self {
            work: DeviceBuffer::zeroed(stream, vectors.partials() + 2)?,
            r: DeviceBuffer::zeroed(stream, 0)?,
            basis: Family::new(stream)?,
            directions: Family::new(stream)?,
            products: Products::new(&vectors)?,
            vectors,
        })
    }

    /// Takes now what solves of `n` unknowns need, with cycles of up to `length` iterations; what is not taken ahead is taken
    /// when an iteration first needs it.
    ///
    /// # Errors
    /// [`GpuError::Cuda`]: out of memory.
    pub fn reserve(&mut self, n: usize, length: usize) -> Result<(), GpuError> {
        let stream = self.vectors.stream();
        if self.r.len() != n {
            self.r = DeviceBuffer::uninitialized(stream, n)?;
        }
        self.basis.grow(stream, length + 1, n)?;
        self.directions.grow(stream, length, n)?;
        self.products.grow(stream, length + 1)
    }

    /// |v|.
    ///
    /// # Errors
    /// [`GpuError::Cuda`].
    pub fn norm(&mut self, v: &DeviceBuffer<f64>) -> Result<f64, GpuError> {
        Ok(self.vectors.dot(v, v, &mut self.work)?.sqrt())
    }

    /// Solves A x = b by flexible GMRES from the guess in `x`: restarts after `restart` iterations, four times as many after a
    /// cycle that has not halved the residual, up to `longest`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`]. Numerical failure is an [`Outcome`](crate::Outcome).
    pub fn gmres(
        &mut self,
        a: &mut dyn LinearOperatorCuda,
        m: &mut PreconditionerCuda<'_>,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        control: &Control,
        (restart, longest): (usize, usize),
    ) -> Result<Solve, GpuError> {
        self.reserve(b.len(), 1)?;
        at_once(gmres::gmres(&mut DeviceSystem { krylov: self, a, m, b, x }, control, (restart, longest)))
    }

    /// Corrections x <- x + M (b - A x) from the guess in `x`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`]. Numerical failure is an [`Outcome`](crate::Outcome).
    pub fn richardson(
        &mut self,
        a: &mut dyn LinearOperatorCuda,
        m: &mut PreconditionerCuda<'_>,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        control: &Control,
    ) -> Result<Solve, GpuError> {
        self.reserve(b.len(), 1)?;
        richardson::richardson(&mut DeviceSystem { krylov: self, a, m, b, x }, 1.0, control)
    }

    /// Sweeps on x itself, in each iteration as many as the options say: no correction is formed, so that x keeps the
    /// precision of the sweeps. Residuals are those of `a`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`]. Numerical failure is an [`Outcome`](crate::Outcome).
    pub fn sweep_solution(
        &mut self,
        a: &mut dyn LinearOperatorCuda,
        relaxation: &mut MulticolorCuda,
        options: SolveOptions,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        control: &Control,
    ) -> Result<Solve, GpuError> {
        self.reserve(b.len(), 1)?;
        let options = SolveOptions { guess: Guess::Given, ..options };
        let m = &mut PreconditionerCuda::Identity;
        let system = DeviceSystem { krylov: self, a, m, b, x };
        richardson::richardson(&mut DeviceSweeps { system, relaxation, options }, 1.0, control)
    }

    /// Solves A x = b by BiCGStab from the guess in `x`.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`]. Numerical failure is an [`Outcome`](crate::Outcome).
    pub fn bicgstab(
        &mut self,
        a: &mut dyn LinearOperatorCuda,
        m: &mut PreconditionerCuda<'_>,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        control: &Control,
    ) -> Result<Solve, GpuError> {
        self.reserve(b.len(), 3)?;
        let Self { vectors, work, r, basis, directions, .. } = self;
        let ([shadow, p, v, t, ..], [z, ..]) = (&mut basis.vectors[..], &mut directions.vectors[..]) else {
            unreachable!("four vectors and one are there");
        };
        let all = [shadow, p, v, t, z, r, x];
        bicgstab::bicgstab(&mut DeviceVectors { vectors, work, a, m, b, all }, control)
    }
}

/// A system on the device with the vectors of GMRES and of corrections; w of GMRES is kept where r was.
struct DeviceSystem<'a, 'm> {
    krylov: &'a mut KrylovCuda,
    a: &'a mut dyn LinearOperatorCuda,
    m: &'a mut PreconditionerCuda<'m>,
    b: &'a DeviceBuffer<f64>,
    x: &'a mut DeviceBuffer<f64>,
}

impl System for DeviceSystem<'_, '_> {
    type Error = GpuError;

    fn size(&mut self) -> Result<f64, GpuError> {
        let KrylovCuda { vectors, work, .. } = &mut *self.krylov;
        let [square] = completed(&*self.a, [vectors.dot(self.b, self.b, work)?]);
        Ok(square.sqrt())
    }

    fn residual(&mut self) -> Result<f64, GpuError> {
        let KrylovCuda { vectors, work, r, .. } = &mut *self.krylov;
        self.a.residual(self.b, self.x, r)?;
        let [square] = completed(&*self.a, [vectors.dot(r, r, work)?]);
        Ok(square.sqrt())
    }
}

impl Corrections for DeviceSystem<'_, '_> {
    fn correct(&mut self, damping: f64) -> Result<(), GpuError> {
        let KrylovCuda { vectors, r, directions, .. } = &mut *self.krylov;
        self.m.apply(r, &mut directions.vectors[0])?;
        vectors.axpby(damping, &directions.vectors[0], 1.0, self.x)
    }
}

/// A system whose solution is swept in place.
struct DeviceSweeps<'a, 'm> {
    system: DeviceSystem<'a, 'm>,
    relaxation: &'a mut MulticolorCuda,
    options: SolveOptions,
}

impl System for DeviceSweeps<'_, '_> {
    type Error = GpuError;

    fn size(&mut self) -> Result<f64, GpuError> {
        System::size(&mut self.system)
    }

    fn residual(&mut self) -> Result<f64, GpuError> {
        System::residual(&mut self.system)
    }
}

impl Corrections for DeviceSweeps<'_, '_> {
    fn correct(&mut self, _damping: f64) -> Result<(), GpuError> {
        self.relaxation.solve(self.system.b, self.system.x, &self.options).map(|_| ())
    }
}

impl Basis for DeviceSystem<'_, '_> {
    type Error = GpuError;

    fn size(&mut self) -> Result<f64, GpuError> {
        System::size(self)
    }

    async fn residual(&mut self) -> Result<f64, GpuError> {
        System::residual(self)
    }

    fn begin(&mut self, beta: f64) -> Result<(), GpuError> {
        let k = &mut *self.krylov;
        k.vectors.axpby(1.0 / beta, &k.r, 0.0, &mut k.basis.vectors[0])
    }

    async fn expand(&mut self, j: usize, h: &mut [f64]) -> Result<f64, GpuError> {
        let k = &mut *self.krylov;
        k.reserve(self.b.len(), j + 1)?;
        let KrylovCuda { vectors, r: w, basis, directions, products, .. } = k;
        let (stream, count) = (vectors.stream(), j + 1);
        self.m.apply(&basis.vectors[j], &mut directions.vectors[j])?;
        self.a.multiply(&directions.vectors[j], w)?;
        if let Some(share) = self.a.share() {
            return products.orthogonalize_over(share, stream, (basis, count), w, h);
        }
        for first in [true, false] {
            products.dots(stream, (basis, count), w, first, first.then_some(0))?;
            products.combine(stream, (basis, products.pass.part(0..count)), -1.0, w)?;
        }
        products.dots(stream, (basis, 0), w, false, Some(1))?;
        products.sums.download_later(&mut products.host)?;
        stream.synchronize()?;
        h[..count].copy_from_slice(&products.host[NORMS..NORMS + count]);
        h[count] = products.host[1].sqrt();
        Ok(products.host[0].sqrt())
    }

    fn accept(&mut self, j: usize, length: f64) -> Result<(), GpuError> {
        let k = &mut *self.krylov;
        k.vectors.axpby(1.0 / length, &k.r, 0.0, &mut k.basis.vectors[j + 1])
    }

    async fn correct(&mut self, y: &[f64]) -> Result<(), GpuError> {
        let KrylovCuda { vectors, directions, products, .. } = &mut *self.krylov;
        if y.is_empty() {
            return Ok(());
        }
        products.pass.upload_part(0..y.len(), y)?;
        products.combine(vectors.stream(), (directions, products.pass.part(0..y.len())), 1.0, self.x)
    }
}

/// A system and the vectors of BiCGStab on the device.
struct DeviceVectors<'a, 'm> {
    vectors: &'a Vectors,
    work: &'a mut DeviceBuffer<f64>,
    a: &'a mut dyn LinearOperatorCuda,
    m: &'a mut PreconditionerCuda<'m>,
    b: &'a DeviceBuffer<f64>,
    all: [&'a mut DeviceBuffer<f64>; bicgstab::COUNT],
}

impl DeviceVectors<'_, '_> {
    /// One vector to read and another one to change.
    fn two(&mut self, from: Name, to: Name) -> (&DeviceBuffer<f64>, &mut DeviceBuffer<f64>) {
        let [from, to] = self.all.get_disjoint_mut([from as usize, to as usize]).expect("two vectors");
        (from, to)
    }
}

impl System for DeviceVectors<'_, '_> {
    type Error = GpuError;

    fn size(&mut self) -> Result<f64, GpuError> {
        let [square] = completed(&*self.a, [self.vectors.dot(self.b, self.b, self.work)?]);
        Ok(square.sqrt())
    }

    fn residual(&mut self) -> Result<f64, GpuError> {
        let [x, r] = self.all.get_disjoint_mut([Name::X as usize, Name::R as usize]).expect("two vectors");
        self.a.residual(self.b, x, r)?;
        let [square] = completed(&*self.a, [self.vectors.dot(r, r, self.work)?]);
        Ok(square.sqrt())
    }
}

impl Space for DeviceVectors<'_, '_> {
    fn product(&mut self, from: Name, to: Name) -> Result<(), GpuError> {
        let [from, z, to] =
            self.all.get_disjoint_mut([from, Name::Z, to].map(|v| v as usize)).expect("three vectors");
        self.m.apply(from, z)?;
        self.a.multiply(z, to)
    }

    fn copy(&mut self, from: Name, to: Name) -> Result<(), GpuError> {
        let (from, to) = self.two(from, to);
        Ok(to.copy_from(&from.slice())?)
    }

    fn add(&mut self, alpha: f64, from: Name, to: Name) -> Result<(), GpuError> {
        let vectors = self.vectors;
        let (from, to) = self.two(from, to);
        vectors.axpby(alpha, from, 1.0, to)
    }

    fn turn(&mut self, beta: f64) -> Result<(), GpuError> {
        let vectors = self.vectors;
        let (r, p) = self.two(Name::R, Name::P);
        vectors.axpby(1.0, r, beta, p)
    }

    fn dots<const N: usize>(&mut self, pairs: [(Name, Name); N]) -> Result<[f64; N], GpuError> {
        let pairs = pairs.map(|(x, y)| (&*self.all[x as usize], &*self.all[y as usize]));
        Ok(completed(&*self.a, self.vectors.dots(pairs, self.work)?))
    }
}
