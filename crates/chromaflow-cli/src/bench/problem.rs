//! The linear systems of the benchmarks.

use chromaflow::gallery::Case;
use chromaflow::order::{ColoringMethod, OffRow, Plan, PlanOptions, Rcm, Schedule, VertexOrder};
use chromaflow::solver::RowOrder;
use chromaflow::sparse::{HalfScale, ShapeError};
use chromaflow::{BlockCsr, BlockPattern, Jacobian, Permutation, Policy, RowBatches};
use chromaflow_device::Team;
use std::sync::Arc;

/// The new places of the rows, if they change, and the colors (single rows where there are none).
fn ordered(order: RowOrder, pattern: &BlockPattern, team: &Team) -> (Option<Permutation>, RowBatches) {
    let single_rows = || RowBatches::new((0..=pattern.rows() as u32).collect());
    let planned = |rcm, coloring| {
        let options = PlanOptions { rcm, coloring, ..PlanOptions::default() };
        Plan::with_team(pattern, &options, team).expect("a square pattern")
    };
    match order {
        RowOrder::Auto | RowOrder::Natural | RowOrder::Rcm if !order.rcm().reorders(pattern) => {
            (None, single_rows())
        }
        RowOrder::Auto | RowOrder::Natural | RowOrder::Rcm => {
            (Some(planned(Rcm::Always, ColoringMethod::None).permutation), single_rows())
        }
        RowOrder::Multicolor => {
            let plan = planned(Rcm::Never, ColoringMethod::Greedy(VertexOrder::Natural));
            (Some(plan.permutation), plan.batches)
        }
    }
}

/// A case with its values in a policy.
pub struct Problem {
    /// The matrix.
    pub jac: Jacobian,
    /// Colors, or single rows where there are none.
    pub batches: RowBatches,
    /// Right-hand side.
    pub b: Vec<f64>,
    /// First guess.
    pub guess: Vec<f64>,
}

impl Problem {
    /// Builds it, each row where its owner in `team` will use it.
    pub fn new(case: &Case, policy: Policy, order: RowOrder, team: &Arc<Team>) -> Self {
        let generated = case.pattern();
        let (n, nb) = (case.rows(), case.nb);
        let given = BlockPattern::new(n, generated.row_ptr, generated.col_idx).expect("generated in order");
        // Rows of the matrix as it is used, and the rows of the case that they are.
        let (permutation, mut batches) = ordered(order, &given, team);
        if let (None, Some(colors)) = (&permutation, generated.colors) {
            batches = RowBatches::new(colors);
        }
        let (pattern, old_positions, old_of_new) = match &permutation {
            None => (given.clone(), (0..given.nnzb() as u32).collect(), (0..n as u32).collect()),
            Some(permutation) => {
                let (pattern, positions) = given.permuted(permutation);
                (pattern, positions, permutation.old_of_new().to_vec())
            }
        };
        let schedule = Schedule::for_team(&pattern, nb, &batches, team);
        let mut jac = Jacobian::zeroed(pattern, nb, policy).expect("a square pattern");
        let stored = Arc::clone(jac.pattern());
        let q = nb * nb;
        jac.assemble(team, &schedule, |row, diag, mut off| {
            let (old, positions) = (old_of_new[row] as usize, stored.range(row));
            case.fill_diag(old, positions.len(), diag);
            let mut block = vec![0.0; q];
            for (k, position) in positions.enumerate() {
                let position: u32 = old_positions[position];
                case.fill_off(position as usize, &mut block);
                match &mut off {
                    OffRow::F64(v) => v[k * q..].iter_mut().zip(&block).for_each(|(to, &v)| *to = v.into()),
                    OffRow::F32(v) => v[k * q..(k + 1) * q].copy_from_slice(&block),
                }
            }
        });
        if policy == Policy::Dsh {
            jac.convert_to_f16(team, HalfScale::Global).expect("assembled in f32");
        }
        let vector = |f: &dyn Fn(usize) -> f64| {
            let entries = |&old: &u32| (0..nb).map(move |r| old as usize * nb + r);
            old_of_new.iter().flat_map(entries).map(f).collect()
        };
        let (b, guess) = (vector(&|i| case.rhs(i)), vector(&|i| case.guess(i)));
        Self { jac, batches, b, guess }
    }

    /// The same for a matrix from a file, from zero.
    ///
    /// # Errors
    /// A matrix that is not square or lacks a diagonal block.
    pub fn of_matrix(
        matrix: &BlockCsr,
        b: &[f64],
        policy: Policy,
        order: RowOrder,
        team: &Team,
    ) -> Result<Self, ShapeError> {
        let pattern = matrix.pattern();
        if pattern.rows() != pattern.cols() {
            return Err(ShapeError::NotSquare { rows: pattern.rows(), cols: pattern.cols() });
        }
        let (permutation, batches) = ordered(order, pattern, team);
        let (mut b, nb) = (b.to_vec(), matrix.nb());
        let mut jac = match &permutation {
            None => Jacobian::from_csr(matrix, policy)?,
            Some(permutation) => {
                let given = b.clone();
                permutation.gather(nb, &given, &mut b);
                Jacobian::from_csr(&matrix.permuted(permutation), policy)?
            }
        };
        if policy == Policy::Dsh {
            jac.convert_to_f16(team, HalfScale::Global).expect("values come in f32");
        }
        let guess = vec![0.0; b.len()];
        Ok(Self { jac, batches, b, guess })
    }
}
