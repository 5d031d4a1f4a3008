//! The solver of a given system on a GPU.

use super::{Method, PreconditionerKind, SolverOptions};
use crate::factor::block_ilu::cuda::DeviceBlockIlu;
use crate::factor::block_ilu::{BlockIluOptions, FactorStorage};
use crate::gpu::{DeviceJacobian, GpuError, Storage, Vectors};
use crate::krylov::{Control, KrylovCuda, PreconditionerCuda, Solve};
use crate::order::{Plan, PlanReport};
use crate::relax::{FactorReport, Guess, MulticolorCuda, SolveOptions};
use crate::sparse::check_len;
use crate::sparse::cuda::BlockMatrixCuda;
use crate::stop::GROWTH;
use crate::{BlockCsr, Jacobian, Outcome, Policy};
use chromaflow_device::Team;
use chromaflow_device::cuda::{DeviceBuffer, Stream};

/// Multicolor or Jacobi sweeps or corrections by block ILU(0), alone or inside flexible GMRES and BiCGStab, on a GPU: b goes
/// there, x comes back, and between them only norms and inner products do.
///
/// **Precision**: sweeps and factors by the policy; residuals and the products of Krylov methods with the matrix in f64, which is
/// kept beside the one of the sweeps. **Results** are the same bits on every run. **Twin**: [`LinearSolver`](super::LinearSolver).
///
/// **Source**: as [`MulticolorCuda`], [`DeviceBlockIlu`] and [`KrylovCuda`].
pub struct SolverCuda {
    options: SolverOptions,
    plan: Plan,
    nb: usize,
    inverse: Inverse,
    /// The matrix in f64, for residuals.
    matrix: BlockMatrixCuda,
    vectors: Vectors,
    krylov: KrylovCuda,
    factors: FactorReport,
}

/// What stands for an approximate inverse of the matrix.
enum Inverse {
    None,
    Sweeps(Box<MulticolorCuda>),
    Ilu(Box<DeviceBlockIlu>),
}

impl SolverCuda {
    /// Renumbers, colors and uploads `matrix`, and inverts its diagonal blocks or factors it.
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] for factors that the GPU does not have ([`DeviceBlockIlu::new`]), [`GpuError::Shape`] for a
    /// matrix that is not square or lacks a diagonal block, [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        team: &Team,
        matrix: &BlockCsr,
        options: SolverOptions,
    ) -> Result<Self, GpuError> {
        options.check().map_err(GpuError::Unsupported)?;
        let plan = Plan::with_team(matrix.pattern(), &options.effective_plan(), team)?;
        let matrix = matrix.permuted(&plan.permutation);
        let nb = matrix.nb();
        let upload = |policy| -> Result<DeviceJacobian, GpuError> {
            DeviceJacobian::upload(stream, &Jacobian::from_csr(&matrix, policy)?)
        };
        let whole = upload(Policy::D)?;
        let pattern = whole.pattern();
        let mut a = BlockMatrixCuda::new(stream, pattern, nb, Storage::F64)?;
        a.set_values(&whole)?;
        let mut factors = FactorReport::default();
        let storage = Storage::from(options.policy);
        let inverse = match options.preconditioner {
            PreconditionerKind::None => Inverse::None,
            PreconditionerKind::Ilu(fill) => {
                let setup = BlockIluOptions {
                    fill,
                    storage: FactorStorage::of(options.policy),
                    ..BlockIluOptions::default()
                };
                let mut ilu = DeviceBlockIlu::new(stream, pattern, nb, setup)?;
                ilu.factor(&whole)?;
                factors = match ilu.report()? {
                    Ok(found) => FactorReport {
                        pivoted: found.pivoted.len(),
                        pivoted_rows: found.pivoted,
                        ..FactorReport::default()
                    },
                    Err(bad) => FactorReport {
                        singular: 1,
                        singular_rows: vec![bad.row as u32],
                        ..FactorReport::default()
                    },
                };
                Inverse::Ilu(Box::new(ilu))
            }
            kind => {
                let mut sweeps = if kind == PreconditionerKind::Jacobi {
                    MulticolorCuda::jacobi(stream, pattern, nb, storage)?
                } else {
                    MulticolorCuda::new(stream, pattern, nb, &plan.batches, storage)?
                };
                // Sweeps of policy dsh round f32 values themselves.
                factors = if options.policy == Policy::D {
                    sweeps.factor(&whole)?
                } else {
                    sweeps.factor(&upload(Policy::Ds)?)?
                };
                Inverse::Sweeps(Box::new(sweeps))
            }
        };
        let (vectors, krylov) = (Vectors::new(stream, Storage::F64)?, KrylovCuda::new(stream)?);
        Ok(Self { options, plan, nb, inverse, matrix: a, vectors, krylov, factors })
    }

    /// Bandwidth, profile, colors.
    pub fn order(&self) -> &PlanReport {
        &self.plan.report
    }

    /// What factoring or inverting the diagonal blocks found; rows in the solver's order.
    pub fn factors(&self) -> &FactorReport {
        &self.factors
    }

    /// Solves A x = b by the method of the options, from zero.
    ///
    /// **Shapes**: `b`, `x [rows, nb]`, in the order of the matrix's rows as given.
    ///
    /// # Errors
    /// [`GpuError::Shape`], [`GpuError::Cuda`]. Numerical failure is an [`Outcome`].
    pub fn solve(&mut self, b: &[f64], x: &mut [f64]) -> Result<Solve, GpuError> {
        let n = self.plan.permutation.len() * self.nb;
        check_len("b", b.len(), n, || "rows * nb".to_owned())?;
        check_len("x", x.len(), n, || "rows * nb".to_owned())?;
        let mut ordered = vec![0.0; n];
        self.plan.permutation.gather(self.nb, b, &mut ordered);
        let stream = self.vectors.stream().clone();
        let (b, mut found) = (stream.upload(&ordered)?, DeviceBuffer::zeroed(&stream, n)?);
        let mut solve = if let Some(&row) = self.factors.singular_rows.first() {
            let outcome = Outcome::Breakdown { row: row as usize };
            Solve { outcome, iterations: 0, relative_residual: 1.0, history: vec![1.0] }
        } else if self.options.method == Method::Richardson && self.options.preconditioner.is_relaxation() {
            self.relax(&b, &mut found)?
        } else {
            self.iterate(&b, &mut found)?
        };
        if let Outcome::Breakdown { row } = &mut solve.outcome {
            *row = self.plan.permutation.old_of_new().get(*row).map_or(0, |&r| r as usize);
        }
        found.download_into(&mut ordered)?;
        self.plan.permutation.scatter(self.nb, &ordered, x);
        Ok(solve)
    }

    /// Sweeps alone: corrections to the f64 solution every `correction_sweeps`, or all in the policy's precision.
    fn relax(&mut self, b: &DeviceBuffer<f64>, x: &mut DeviceBuffer<f64>) -> Result<Solve, GpuError> {
        let Inverse::Sweeps(sweeps) = &mut self.inverse else { unreachable!("the method is one of sweeps") };
        let o = self.options;
        let fixed = o.tolerance == 0.0;
        let most = if fixed { o.sweeps } else { o.max_iterations };
        let options = SolveOptions {
            sweeps: most,
            tolerance: (!fixed).then_some(o.tolerance),
            direction: o.direction,
            damping: o.damping,
            guess: Guess::Zero,
            history: o.history || !fixed,
            restart: None,
        };
        let scale = self.krylov.norm(b)?;
        let scale = if scale > 0.0 { scale } else { 1.0 };
        let mut r = DeviceBuffer::uninitialized(self.vectors.stream(), b.len())?;
        if o.correction_sweeps == 0 {
            let report = sweeps.solve(b, x, &options)?;
            self.matrix.residual(b, x, &mut r)?;
            let relative_residual = self.krylov.norm(&r)? / scale;
            let (outcome, iterations, history) = (report.outcome, report.sweeps, report.history);
            return Ok(Solve { outcome, iterations, relative_residual, history });
        }
        let mut dx = DeviceBuffer::uninitialized(self.vectors.stream(), b.len())?;
        let (mut iterations, mut history) = (0, Vec::new());
        loop {
            self.matrix.residual(b, x, &mut r)?;
            let relative_residual = self.krylov.norm(&r)? / scale;
            history.push(relative_residual);
            let outcome = if !relative_residual.is_finite() || relative_residual > GROWTH * history[0] {
                Some(Outcome::Diverged { iteration: iterations })
            } else if !fixed && relative_residual <= o.tolerance {
                Some(Outcome::Converged)
            } else {
                (iterations >= most).then_some(Outcome::IterationLimit)
            };
            if let Some(outcome) = outcome {
                return Ok(Solve { outcome, iterations, relative_residual, history });
            }
            let count = o.correction_sweeps.min(most - iterations);
            let inner = SolveOptions { sweeps: count, tolerance: None, history: false, ..options };
            sweeps.solve(&r, &mut dx, &inner)?;
            self.vectors.axpby(1.0, &dx, 1.0, x)?;
            iterations += count;
        }
    }

    /// Krylov methods, with sweeps from zero or incomplete factors as preconditioner, and corrections by the latter alone.
    fn iterate(&mut self, b: &DeviceBuffer<f64>, x: &mut DeviceBuffer<f64>) -> Result<Solve, GpuError> {
        let o = self.options;
        let mut m = match &mut self.inverse {
            Inverse::None => PreconditionerCuda::Identity,
            Inverse::Ilu(ilu) => PreconditionerCuda::Ilu(ilu),
            Inverse::Sweeps(sweeps) => {
                let options = SolveOptions {
                    sweeps: o.sweeps,
                    direction: o.direction,
                    damping: o.damping,
                    ..SolveOptions::default()
                };
                PreconditionerCuda::Relaxation(sweeps, options)
            }
        };
        let control = Control { tolerance: o.tolerance, max_iterations: o.max_iterations };
        let (krylov, a) = (&mut self.krylov, &mut self.matrix);
        match o.method {
            Method::BiCgStab => krylov.bicgstab(a, &mut m, b, x, &control),
            Method::Richardson => {
                let fixed = o.tolerance == 0.0;
                let most = if fixed { o.sweeps } else { o.max_iterations };
                krylov.richardson(a, &mut m, b, x, &Control { max_iterations: most, ..control })
            }
            Method::Gmres => {
                krylov.gmres(a, &mut m, b, x, &control, (o.restart, o.longest_restart.max(o.restart)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factor::block_ilu::Fill;
    use crate::gallery::banded_lattice;
    use crate::gpu::test_stream;
    use crate::solver::{BlockLayout, LinearSolver};
    use std::sync::Arc;

    fn system(nb: usize) -> BlockCsr {
        let (row_ptr, col_idx) = banded_lattice(300, 300 * 6, 3);
        let mut rows = vec![0u32];
        let mut columns = Vec::new();
        for i in 0..300 {
            let mut row: Vec<u32> = col_idx[row_ptr[i] as usize..row_ptr[i + 1] as usize].to_vec();
            row.push(i as u32);
            row.sort_unstable();
            columns.extend(row);
            rows.push(columns.len() as u32);
        }
        let pattern = crate::BlockPattern::new(300, rows, columns).unwrap();
        let mut values = Vec::new();
        for i in 0..300 {
            for &c in pattern.columns(i) {
                for e in 0..nb * nb {
                    let noise = ((i * 31 + c as usize * 17 + e * 7) as f64).sin() / (8 * nb) as f64;
                    values.push(noise + if c as usize == i && e % (nb + 1) == 0 { 1.5 } else { 0.0 });
                }
            }
        }
        BlockCsr::new(pattern, nb, values).unwrap()
    }

    /// Factors and corrections beside the CPU's: the same iterations in every order of the rows.
    #[test]
    fn cuda_solver_factors_as_its_twin() {
        let Some(stream) = test_stream() else { return };
        let team = Arc::new(Team::new(2));
        for nb in [1, 4, 5] {
            let a = system(nb);
            let b: Vec<f64> = (0..300 * nb).map(|i| (i as f64).cos()).collect();
            for (method, policy, tolerance, sweeps) in [
                (Method::Richardson, Policy::D, 0.0, 3),
                (Method::Richardson, Policy::Ds, 1e-11, 1),
                (Method::Gmres, Policy::D, 1e-11, 1),
                (Method::Gmres, Policy::Ds, 1e-11, 1),
                (Method::BiCgStab, Policy::D, 1e-11, 1),
            ] {
                for (colored, rcm, fill) in [
                    (false, true, Fill::Level(0)),
                    (false, false, Fill::DiagonalOnly),
                    (true, true, Fill::Level(0)),
                ] {
                    let mut options = SolverOptions {
                        method,
                        preconditioner: PreconditionerKind::Ilu(fill),
                        policy,
                        tolerance,
                        sweeps,
                        colored,
                        ..SolverOptions::default()
                    };
                    options.plan.rcm = rcm;
                    let mut here =
                        LinearSolver::symbolic(Arc::clone(&team), a.pattern(), nb, options).unwrap();
                    here.numeric(a.values(), BlockLayout::ColumnMajor).unwrap();
                    let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
                    let expected = here.solve(&b, &mut x).unwrap();
                    let mut there = SolverCuda::new(&stream, &team, &a, options).unwrap();
                    let found = there.solve(&b, &mut y).unwrap();
                    let what = format!("nb {nb} {method} {policy} {fill} colored {colored}");
                    assert_eq!(
                        (found.outcome, found.iterations),
                        (expected.outcome, expected.iterations),
                        "{what}"
                    );
                    for (x, y) in x.iter().zip(&y) {
                        assert!((x - y).abs() <= 1e-9, "{what}: {x} {y}");
                    }
                }
            }
        }
    }

    #[test]
    fn cuda_solver_names_what_factors_it_lacks() {
        let Some(stream) = test_stream() else { return };
        let team = Arc::new(Team::new(1));
        let ilu = |level| PreconditionerKind::Ilu(Fill::Level(level));
        let options = SolverOptions { preconditioner: ilu(0), ..SolverOptions::default() };
        for (options, word) in [
            (SolverOptions { preconditioner: ilu(1), ..options }, "fill"),
            (SolverOptions { policy: Policy::Dsh, ..options }, "f32"),
        ] {
            let error = SolverCuda::new(&stream, &team, &system(2), options).err().unwrap();
            assert!(error.to_string().contains(word), "{error}");
        }
    }

    /// The CPU's solution by the same options, sweep by sweep and iteration by iteration.
    #[test]
    fn cuda_solver_agrees_with_its_twin() {
        let Some(stream) = test_stream() else { return };
        let team = Arc::new(Team::new(2));
        for nb in [1, 5, 11] {
            let a = system(nb);
            let b: Vec<f64> = (0..300 * nb).map(|i| (i as f64).cos()).collect();
            let (multicolor, jacobi) = (PreconditionerKind::Multicolor, PreconditionerKind::Jacobi);
            for (method, preconditioner, policy, tolerance, correction_sweeps) in [
                (Method::Richardson, multicolor, Policy::D, 0.0, 0),
                (Method::Richardson, multicolor, Policy::Ds, 1e-10, 1),
                (Method::Richardson, multicolor, Policy::Dsh, 1e-10, 2),
                (Method::Richardson, jacobi, Policy::D, 0.0, 0),
                (Method::Richardson, jacobi, Policy::Ds, 1e-10, 1),
                (Method::Gmres, multicolor, Policy::D, 1e-10, 0),
                (Method::Gmres, multicolor, Policy::Dsh, 1e-10, 0),
                (Method::BiCgStab, multicolor, Policy::D, 1e-10, 0),
            ] {
                let options = SolverOptions {
                    method,
                    preconditioner,
                    policy,
                    tolerance,
                    correction_sweeps,
                    ..SolverOptions::default()
                };
                let mut here = LinearSolver::symbolic(Arc::clone(&team), a.pattern(), nb, options).unwrap();
                here.numeric(a.values(), BlockLayout::ColumnMajor).unwrap();
                let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
                let expected = here.solve(&b, &mut x).unwrap();
                let found = SolverCuda::new(&stream, &team, &a, options).unwrap().solve(&b, &mut y).unwrap();
                let what = format!("nb {nb} {method} {preconditioner} {policy}");
                assert_eq!(found.outcome, expected.outcome, "{what}");
                assert!(found.iterations.abs_diff(expected.iterations) <= 1, "{what}");
                for (x, y) in x.iter().zip(&y) {
                    assert!((x - y).abs() <= 1e-8, "{what}: {x} {y}");
                }
            }
        }
    }
}
