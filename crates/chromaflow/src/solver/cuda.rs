//! The solver of a given system on a GPU.

use super::{Method, PreconditionerKind, SolverOptions};
use crate::gpu::{DeviceJacobian, GpuError, Storage, Vectors};
use crate::krylov::{Control, KrylovCuda, PreconditionerCuda, Solve};
use crate::order::{Plan, PlanReport};
use crate::relax::{FactorReport, Guess, MulticolorCuda, SolveOptions};
use crate::sparse::check_len;
use crate::{BlockCsr, Jacobian, Outcome, Policy};
use chromaflow_device::Team;
use chromaflow_device::cuda::{DeviceBuffer, Stream};

/// Multicolor or Jacobi sweeps, alone or inside flexible GMRES and BiCGStab, on a GPU: b goes there, x comes back, and between
/// them only norms and inner products do.
///
/// **Precision**: sweeps by the policy; residuals and the products of Krylov methods with the matrix in f64, which is kept beside
/// the one of the sweeps. **Results** are the same bits on every run. **Twin**: [`Solver`](super::Solver).
///
/// **Source**: as [`MulticolorCuda`] and [`KrylovCuda`].
pub struct SolverCuda {
    options: SolverOptions,
    plan: Plan,
    nb: usize,
    sweeps: MulticolorCuda,
    /// The matrix in f64, for residuals.
    exact: MulticolorCuda,
    vectors: Vectors,
    krylov: KrylovCuda,
    factors: FactorReport,
}

impl SolverCuda {
    /// Renumbers, colors and uploads `matrix`, and inverts its diagonal blocks.
    ///
    /// # Errors
    /// [`GpuError::Unsupported`] for methods other than multicolor sweeps and GMRES with them (or nothing) as preconditioner,
    /// [`GpuError::Shape`] for a matrix that is not square or lacks a diagonal block, [`GpuError::Cuda`].
    pub fn new(
        stream: &Stream,
        team: &Team,
        matrix: &BlockCsr,
        options: SolverOptions,
    ) -> Result<Self, GpuError> {
        options.check().map_err(GpuError::Unsupported)?;
        let jacobi = match options.relaxation() {
            PreconditionerKind::Multicolor | PreconditionerKind::None => false,
            PreconditionerKind::Jacobi => true,
            PreconditionerKind::Ilu => {
                return Err(GpuError::Unsupported(
                    "incomplete factors of general patterns run on the CPU only: take multicolor or jacobi, alone or as \
                     preconditioner of gmres or bicgstab"
                        .to_owned(),
                ));
            }
        };
        let plan = Plan::with_team(matrix.pattern(), &options.effective_plan(), team)?;
        let matrix = matrix.permuted(&plan.permutation);
        let nb = matrix.nb();
        let upload = |policy| -> Result<DeviceJacobian, GpuError> {
            DeviceJacobian::upload(stream, &Jacobian::from_csr(&matrix, policy)?)
        };
        // Sweeps of policy dsh round f32 values themselves.
        let assembled = if options.policy == Policy::D { Policy::D } else { Policy::Ds };
        let relaxation = |policy: Policy, jac: &DeviceJacobian| -> Result<_, GpuError> {
            let (pattern, storage) = (jac.pattern(), Storage::from(policy));
            let mut relaxation = if jacobi || options.relaxation() == PreconditionerKind::None {
                MulticolorCuda::jacobi(stream, pattern, nb, storage)?
            } else {
                MulticolorCuda::new(stream, pattern, nb, &plan.batches, storage)?
            };
            let report = relaxation.factor(jac)?;
            Ok((relaxation, report))
        };
        let (sweeps, factors) = relaxation(options.policy, &upload(assembled)?)?;
        let (exact, _) = relaxation(Policy::D, &upload(Policy::D)?)?;
        let (vectors, krylov) = (Vectors::new(stream, Storage::F64)?, KrylovCuda::new(stream)?);
        Ok(Self { options, plan, nb, sweeps, exact, vectors, krylov, factors })
    }

    /// Bandwidth, profile, colors.
    pub fn order(&self) -> &PlanReport {
        &self.plan.report
    }

    /// What inverting the diagonal blocks found; rows in the solver's order.
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
        } else if matches!(self.options.method, Method::Gmres | Method::BiCgStab) {
            self.iterate(&b, &mut found)?
        } else {
            self.relax(&b, &mut found)?
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
            let report = self.sweeps.solve(b, x, &options)?;
            self.exact.residual_of(x, Some(b), &mut r)?;
            let relative_residual = self.krylov.norm(&r)? / scale;
            let (outcome, iterations, history) = (report.outcome, report.sweeps, report.history);
            return Ok(Solve { outcome, iterations, relative_residual, history });
        }
        let mut dx = DeviceBuffer::uninitialized(self.vectors.stream(), b.len())?;
        let (mut iterations, mut history) = (0, Vec::new());
        loop {
            self.exact.residual_of(x, Some(b), &mut r)?;
            let relative_residual = self.krylov.norm(&r)? / scale;
            history.push(relative_residual);
            let outcome = if !relative_residual.is_finite() || relative_residual > 1e10 * history[0] {
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
            self.sweeps.solve(&r, &mut dx, &inner)?;
            self.vectors.axpby(1.0, &dx, 1.0, x)?;
            iterations += count;
        }
    }

    /// Krylov methods, with sweeps from zero as preconditioner.
    fn iterate(&mut self, b: &DeviceBuffer<f64>, x: &mut DeviceBuffer<f64>) -> Result<Solve, GpuError> {
        let o = self.options;
        let sweeps = SolveOptions {
            sweeps: o.sweeps,
            direction: o.direction,
            damping: o.damping,
            ..SolveOptions::default()
        };
        let mut m = match o.preconditioner {
            PreconditionerKind::None => PreconditionerCuda::Identity,
            _ => PreconditionerCuda::Relaxation(&mut self.sweeps, sweeps),
        };
        let control = Control { tolerance: o.tolerance, max_iterations: o.max_iterations };
        let (krylov, a) = (&mut self.krylov, &mut self.exact);
        if o.method == Method::BiCgStab {
            krylov.bicgstab(a, &mut m, b, x, &control)
        } else {
            krylov.gmres(a, &mut m, b, x, &control, (o.restart, o.longest_restart.max(o.restart)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::test_stream;
    use crate::solver::{BlockLayout, Solver};
    use chromaflow_testkit::banded_lattice;
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

    /// The CPU's solution by the same options, sweep by sweep and iteration by iteration.
    #[test]
    fn cuda_solver_agrees_with_its_twin() {
        let Some(stream) = test_stream() else { return };
        let team = Arc::new(Team::new(2));
        for nb in [1, 5, 11] {
            let a = system(nb);
            let b: Vec<f64> = (0..300 * nb).map(|i| (i as f64).cos()).collect();
            for (method, policy, tolerance, correction_sweeps) in [
                (Method::Multicolor, Policy::D, 0.0, 0),
                (Method::Multicolor, Policy::Ds, 1e-10, 1),
                (Method::Multicolor, Policy::Dsh, 1e-10, 2),
                (Method::Jacobi, Policy::D, 0.0, 0),
                (Method::Jacobi, Policy::Ds, 1e-10, 1),
                (Method::Gmres, Policy::D, 1e-10, 0),
                (Method::Gmres, Policy::Dsh, 1e-10, 0),
                (Method::BiCgStab, Policy::D, 1e-10, 0),
            ] {
                let options = SolverOptions {
                    method,
                    policy,
                    tolerance,
                    correction_sweeps,
                    ..SolverOptions::default()
                };
                let mut here = Solver::with_pattern(Arc::clone(&team), a.pattern(), nb, options).unwrap();
                here.set_values(a.values(), BlockLayout::ColumnMajor).unwrap();
                let (mut x, mut y) = (vec![0.0; b.len()], vec![0.0; b.len()]);
                let expected = here.solve(&b, &mut x).unwrap();
                let found = SolverCuda::new(&stream, &team, &a, options).unwrap().solve(&b, &mut y).unwrap();
                let what = format!("nb {nb} {method} {policy}");
                assert_eq!(found.outcome, expected.outcome, "{what}");
                assert!(found.iterations.abs_diff(expected.iterations) <= 1, "{what}");
                for (x, y) in x.iter().zip(&y) {
                    assert!((x - y).abs() <= 1e-8, "{what}: {x} {y}");
                }
            }
        }
    }
}
