//! The same methods with vectors that stay on the device: a few numbers come back an iteration, together.

mod operator;
mod products;
mod smoother;

pub use operator::{LinearOperatorCuda, OfRankCuda, PreconditionerCuda};
pub use smoother::SmootherCuda;

use super::bicgstab::{self, Name, Space};
use super::gmres::{self, Basis};
use super::monitor::System;
use super::richardson::richardson;
use super::together::at_once;
use super::{Control, Solve};
use crate::gpu::{GpuError, Storage, Vectors};
use crate::relax::{Guess, MulticolorCuda, SolveOptions};
use chromaflow_device::cuda::{DeviceBuffer, Stream};
use operator::completed;
use products::{Family, Products};

/// Flexible GMRES, BiCGStab and Richardson's iteration on the device, with the vectors they need, which are kept between
/// solves.
///
/// The operator is a [`LinearOperatorCuda`]: a [`BlockMatrixCuda`](crate::sparse::cuda::BlockMatrixCuda), of storage `d` where products shall be in f64, or the caller's own. The methods are written once, over
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
    /// The best solution that was had.
    kept: DeviceBuffer<f64>,
    /// Basis vectors of GMRES; those of BiCGStab but z.
    basis: Family,
    /// Preconditioned vectors.
    directions: Family,
    products: Products,
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
            kept: DeviceBuffer::zeroed(stream, 0)?,
            basis: Family::new(stream)?,
            directions: Family::new(stream)?,
            products: Products::new(&vectors)?,
            vectors,
        })
    }

    /// Its operations on vectors.
    pub(crate) fn vectors(&self) -> &Vectors {
        &self.vectors
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

    /// Room for the best solution, which only exact operators need.
    fn reserve_kept(&mut self) -> Result<(), GpuError> {
        if self.kept.len() != self.r.len() {
            self.kept = DeviceBuffer::uninitialized(self.vectors.stream(), self.r.len())?;
        }
        Ok(())
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
        richardson(&mut DeviceSystem { krylov: self, a, m, b, x }, control, |system| {
            let KrylovCuda { vectors, r, directions, .. } = &mut *system.krylov;
            system.m.apply(r, &mut directions.vectors[0])?;
            vectors.axpby(1.0, &directions.vectors[0], 1.0, system.x)
        })
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
        richardson(&mut DeviceSystem { krylov: self, a, m, b, x }, control, |system| {
            relaxation.solve(system.b, system.x, &options).map(|_| ())
        })
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
        self.reserve_kept()?;
        let Self { vectors, work, r, kept, basis, directions, .. } = self;
        let ([shadow, p, v, t, ..], [z, ..]) = (&mut basis.vectors[..], &mut directions.vectors[..]) else {
            unreachable!("four vectors and one are there");
        };
        let all = [shadow, p, v, t, kept, z, r, x];
        bicgstab::bicgstab(&mut DeviceVectors { vectors, work, a, m, b, all }, control)
    }
}

/// |v|, over all ranks where there are others.
fn size_of(
    a: &dyn LinearOperatorCuda,
    vectors: &Vectors,
    work: &mut DeviceBuffer<f64>,
    v: &DeviceBuffer<f64>,
) -> Result<f64, GpuError> {
    let [square] = completed(a, [vectors.dot(v, v, work)?]);
    Ok(square.sqrt())
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
        size_of(self.a, vectors, work, self.b)
    }

    fn residual(&mut self) -> Result<f64, GpuError> {
        let KrylovCuda { vectors, work, r, .. } = &mut *self.krylov;
        self.a.residual(self.b, self.x, r)?;
        size_of(self.a, vectors, work, r)
    }
}

impl Basis for DeviceSystem<'_, '_> {
    type Error = GpuError;

    fn is_exact(&self) -> bool {
        self.a.is_exact()
    }

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
        products.orthogonalize(self.a.share(), stream, (basis, count), w, h)
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

    fn keep(&mut self) -> Result<(), GpuError> {
        self.krylov.reserve_kept()?;
        Ok(self.krylov.kept.copy_from(&self.x.slice())?)
    }

    fn recall(&mut self) -> Result<(), GpuError> {
        Ok(self.x.copy_from(&self.krylov.kept.slice())?)
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
        size_of(self.a, self.vectors, self.work, self.b)
    }

    fn residual(&mut self) -> Result<f64, GpuError> {
        let [x, r] = self.all.get_disjoint_mut([Name::X as usize, Name::R as usize]).expect("two vectors");
        self.a.residual(self.b, x, r)?;
        size_of(self.a, self.vectors, self.work, r)
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
