//! The state seen from outside: cells, fields on points, restarts.

use super::space::Block;
use super::{SetupError, Solver, ghosts};
use crate::config::Time;
use crate::march::course::Course;
use crate::output::{Field, Restart};
use chromaflow::BlockCsr;
use chromaflow::factor::structured_ilu::StencilMatrix;

const STATE: &str = "incompressible";
const LAST_LEVEL: &str = "incompressible_last";
const LEVEL_BEFORE: &str = "incompressible_before";

/// Bytes that a solver holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Blocks of the matrix.
    pub jacobian: usize,
    /// Factors, and vectors of the linear solver.
    pub factors: usize,
    /// Metrics, coefficients.
    pub grid: usize,
    /// State, earlier states, residual, update.
    pub state: usize,
    /// On a device that computes: its copies of all of this.
    pub device: usize,
}

impl Memory {
    /// All of it on the host.
    pub fn total(&self) -> usize {
        self.jacobian + self.factors + self.grid + self.state
    }
}

impl Solver {
    /// Unknowns a cell.
    pub fn unknowns(&self) -> usize {
        self.n
    }

    /// Names of the equations' residuals.
    pub fn equations(&self) -> Vec<String> {
        let flow = ["continuity", "momentum_x", "momentum_y", "momentum_z"];
        let scalars = self.config.fluid.scalars.iter().map(|s| s.name.clone());
        flow.iter().map(|s| (*s).to_owned()).chain(scalars).collect()
    }

    /// Centers of all cells, block after block, i fastest.
    pub fn centers(&self) -> Vec<[f64; 3]> {
        let of = |b: &Block, row| {
            let at = b.at(row);
            std::array::from_fn(|c| b.metrics.center[c][at])
        };
        self.space.blocks.iter().flat_map(|b| b.rows().map(move |row| of(b, row))).collect()
    }

    /// Volumes of all cells, in the order of [`Solver::centers`].
    pub fn volumes(&self) -> Vec<f64> {
        self.space.blocks.iter().flat_map(|b| b.rows().map(|row| b.metrics.volume[b.at(row)])).collect()
    }

    /// The state (p, u, v, w, scalars) of all cells, in the order of [`Solver::centers`].
    ///
    /// **Shapes**: `[cells, n]`.
    ///
    /// # Panics
    /// When a device computes and [`Solver::sync`] was not called since.
    pub fn state(&self) -> Vec<f64> {
        self.rows_of_state()
    }

    /// What rounding and boundary conditions make of the state: the residual of the steady equations with sources, as
    /// volumes and momentum that leave each cell.
    ///
    /// **Shapes**: `[cells, n]`.
    pub fn steady_residual(&mut self) -> Vec<f64> {
        let mut out = vec![0.0; self.space.rows * self.n];
        let (space, fluid) = (&self.space, &self.config.fluid);
        ghosts::fill_boundary(space, fluid, &mut self.fields);
        ghosts::exchange(space, self.n, &mut self.fields);
        super::residual::residual(&self.team, space, fluid, self.config.space, &self.fields, &mut out);
        out
    }

    /// The linear system of the next iteration: the matrix and its right-hand side.
    pub fn linear_system(&mut self) -> (BlockCsr, Vec<f64>) {
        self.prepare_system();
        (self.system.to_csr(), self.right_hand_side().to_vec())
    }

    /// The same as the solver has it: a 7-point stencil for each grid block, interfaces left out, and the right-hand side
    /// of all blocks, `[cells, n]` one behind the other.
    pub fn into_stencil_system(mut self) -> (Vec<StencilMatrix>, Vec<f64>) {
        self.prepare_system();
        (self.system.blocks, self.residual)
    }

    /// Fields on the points of every block, block after block, i fastest: pressure, velocity, scalars. A point's value is
    /// the mean of the cells around it, ghost cells included, so that boundary points have the boundary's values.
    ///
    /// # Panics
    /// When a device computes and [`Solver::sync`] was not called since.
    pub fn fields(&mut self) -> Vec<Field> {
        self.accelerator.assert_synced();
        ghosts::fill_boundary(&self.space, &self.config.fluid, &mut self.fields);
        ghosts::exchange(&self.space, self.n, &mut self.fields);
        let component = |c: usize| -> Vec<f64> {
            let blocks = self.space.blocks.iter().zip(&self.fields);
            blocks
                .flat_map(|(b, field)| {
                    let len = b.cells.len();
                    point_values(b, &self.space.axes, &field[c * len..(c + 1) * len])
                })
                .collect()
        };
        let (u, v, w) = (component(1), component(2), component(3));
        let velocity = (0..u.len()).flat_map(|i| [u[i], v[i], w[i]]).collect();
        let mut fields =
            vec![Field::scalar("pressure", component(0)), Field::vector("velocity", 3, velocity)];
        for (m, scalar) in self.config.fluid.scalars.iter().enumerate() {
            fields.push(Field::scalar(&scalar.name, component(4 + m)));
        }
        fields
    }

    /// Bytes held.
    pub fn memory(&self) -> Memory {
        let floats = |v: &[f64]| size_of_val(v);
        let grid = |b: &Block| {
            let len = b.cells.len();
            // 9 components of areas, volumes, 3 of centers, 3 masks, 9 products
            8 * 25 * len + size_of_val(&*b.corners)
        };
        let state: usize = self.fields.iter().map(|f| floats(f)).sum();
        let rows = 8 * self.space.rows * self.n;
        Memory {
            jacobian: self.system.bytes(),
            factors: self.linear.bytes(),
            grid: self.space.blocks.iter().map(grid).sum(),
            state: 2 * state + 2 * rows + floats(&self.levels[0]) + floats(&self.levels[1]),
            device: self.accelerator.device().map_or(0, |device| device.bytes()),
        }
    }

    /// Everything that a run needs to go on, cell by cell in the order of [`Solver::centers`].
    ///
    /// # Panics
    /// When a device computes and [`Solver::sync`] was not called since.
    pub fn restart(&self) -> Restart {
        let mut restart = Restart::default();
        self.course.store(&self.config.time, &mut restart);
        self.control.store(&mut restart);
        restart.fields.push(Field::vector(STATE, self.n, self.rows_of_state()));
        if let Time::Unsteady(_) = self.config.time {
            for (name, level) in [LAST_LEVEL, LEVEL_BEFORE].into_iter().zip(&self.levels) {
                restart.fields.push(Field::vector(name, self.n, level.clone()));
            }
        }
        restart
    }

    /// Goes on from a restart of the same cells. An unsteady run that starts from a steady one takes its state as the
    /// first time level.
    ///
    /// # Errors
    /// [`SetupError::Restart`] when a field is missing or has another size.
    pub fn resume(&mut self, restart: &Restart) -> Result<(), SetupError> {
        let size = self.space.rows * self.n;
        let field = |name: &str| {
            let fits = |f: &&Field| f.components == self.n && f.values.len() == size;
            restart.field(name).filter(fits).ok_or_else(|| SetupError::Restart(name.to_owned()))
        };
        let state = field(STATE)?.values.clone();
        let levels = match self.config.time {
            Time::Unsteady(_) if restart.field(LAST_LEVEL).is_some() => {
                Some([field(LAST_LEVEL)?.values.clone(), field(LEVEL_BEFORE)?.values.clone()])
            }
            _ => None,
        };
        self.set_rows(&state);
        self.keep_good();
        self.course = Course::recall(restart, levels.is_some());
        self.control.recall(restart);
        if let Some(levels) = levels {
            self.levels = levels;
            self.begin_step();
        } else {
            self.start_levels();
        }
        Ok(())
    }
}

/// Values on a block's points, i fastest. Ghost cells beyond two or three faces are continued linearly from those beyond
/// one; along the axis of a planar grid nothing changes.
fn point_values(block: &Block, axes: &[usize], field: &[f64]) -> Vec<f64> {
    let (cells, [ni, nj, nk]) = (block.cells, block.cells.count.map(|n| n as isize));
    let value = |cell: [isize; 3]| {
        let inside: [isize; 3] = std::array::from_fn(|d| cell[d].clamp(0, cells.count[d] as isize - 1));
        let center = field[cells.at(inside)];
        let mut sum = center;
        for &d in axes.iter().filter(|&&d| cell[d] != inside[d]) {
            let mut beyond = inside;
            beyond[d] = cell[d];
            sum += field[cells.at(beyond)] - center;
        }
        sum
    };
    let mut values = Vec::with_capacity(((ni + 1) * (nj + 1) * (nk + 1)) as usize);
    for k in 0..=nk {
        for j in 0..=nj {
            for i in 0..=ni {
                let corners = (0..8).map(|n| value([i - (n & 1), j - (n >> 1 & 1), k - (n >> 2)]));
                values.push(corners.sum::<f64>() / 8.0);
            }
        }
    }
    values
}
