//! The state seen from outside: cells, fields on points, restarts.

use super::space::Block;
use super::{IncompressibleSystem, Solver};
use crate::config::Time;
use crate::march::{FlowError, Host, March, Order, Spread, Times, over_ranks};
use crate::on_grid::Shown;
use crate::output::{Field, Restart, gradient_amid};
use crate::ranks::BlockRanks;
use chromaflow::BlockCsr;
use chromaflow::factor::structured_ilu::StencilMatrix;

/// The present state; the last finished time level; the one before.
const LEVELS: [&str; 3] = ["incompressible", "incompressible_last", "incompressible_before"];

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
        self.host.n
    }

    /// Names of the equations' residuals.
    pub fn equations(&self) -> Vec<String> {
        let flow = ["continuity", "momentum_x", "momentum_y", "momentum_z"];
        let scalars = self.host.config.fluid.scalars.iter().map(|s| s.name.clone());
        flow.iter().map(|s| (*s).to_owned()).chain(scalars).collect()
    }

    /// The state (p, u, v, w, scalars) of all cells, in the order of [`Solver::cells`](crate::march::March::cells).
    ///
    /// **Shapes**: `[cells, n]`.
    ///
    /// # Panics
    /// When a device computes and [`Solver::sync`] was not called since.
    pub fn state(&self) -> Vec<f64> {
        self.synced().rows_of_state()
    }

    /// What rounding and boundary conditions make of the state: the residual of the steady equations with sources, as
    /// volumes and momentum that leave each cell.
    ///
    /// **Shapes**: `[cells, n]`.
    pub fn steady_residual(&mut self) -> Vec<f64> {
        let host = self.synced_mut();
        let mut out = vec![0.0; host.space.rows * host.n];
        host.fill_ghosts(&mut Times::default());
        host.find_steady(&mut out);
        out
    }

    /// The linear system of the next iteration: the matrix and its right-hand side.
    pub fn linear_system(&mut self) -> (BlockCsr, Vec<f64>) {
        let at = self.moment();
        let host = self.synced_mut();
        host.prepare_system(&at);
        (host.system.to_csr(), host.residual.clone())
    }

    /// The same as the solver has it: a 7-point stencil for each grid block, interfaces left out, and the right-hand side
    /// of all blocks, `[cells, n]` one behind the other.
    pub fn into_stencil_system(mut self) -> (Vec<StencilMatrix>, Vec<f64>) {
        let at = self.moment();
        self.synced_mut().prepare_system(&at);
        (self.host.system.blocks, self.host.residual)
    }

    /// Bytes held.
    pub fn memory(&self) -> Memory {
        let floats = |v: &[f64]| size_of_val(v);
        let grid = |b: &Block| {
            let len = b.cells.len();
            // 9 components of areas, volumes, 3 of centers, 3 masks, 9 products
            8 * 25 * len + size_of_val(&*b.corners)
        };
        let host = &self.host;
        let state: usize = host.fields.iter().map(|f| floats(f)).sum();
        let rows = 8 * host.space.rows * host.n;
        Memory {
            jacobian: host.system.bytes(),
            factors: host.linear.bytes(),
            grid: host.space.blocks.iter().map(grid).sum(),
            state: 2 * state + 2 * rows + floats(&host.levels[0]) + floats(&host.levels[1]),
            device: self.device_bytes(),
        }
    }
}

impl Shown for IncompressibleSystem {
    /// Fields on the points of every block, block after block, i fastest: pressure, velocity, scalars, those of turbulence and of shear. A point's value is
    /// the mean of the cells around it, ghost cells included, so that boundary points have the boundary's values.
    fn fields(march: &mut March<Self>) -> Vec<Field> {
        let host = march.synced_mut();
        let _ = host.tell(Order::Fields);
        host.fill_ghosts(&mut Times::default());
        let (host, space) = (&march.host, &march.host.space);
        let gather = |width: usize, own: Vec<Vec<f64>>| -> Vec<f64> {
            let points = space.points.iter().map(|n| width * n).enumerate();
            space.part.gather_lists(points, own).concat()
        };
        let component = |c: usize| -> Vec<f64> {
            let of = |(b, field): (&Block, &Vec<f64>)| {
                let len = b.cells.len();
                b.point_values(&space.axes, &field[c * len..(c + 1) * len])
            };
            gather(1, space.blocks.iter().zip(&host.fields).map(of).collect())
        };
        let (u, v, w) = (component(1), component(2), component(3));
        let velocity = (0..u.len()).flat_map(|i| [u[i], v[i], w[i]]).collect();
        let mut fields =
            vec![Field::scalar("pressure", component(0)), Field::vector("velocity", 3, velocity)];
        for (m, scalar) in host.config.fluid.scalars.iter().enumerate() {
            fields.push(Field::scalar(&scalar.name, component(4 + m)));
        }
        if let Some(turbulence) = &host.turbulence {
            for (v, name) in turbulence.model.names().iter().enumerate() {
                fields.push(Field::scalar(name, component(turbulence.first + v)));
            }
        }
        for (name, width, own) in host.turbulence_fields().into_iter().chain(host.shear_fields()) {
            fields.push(Field::vector(&name, width, gather(width, own)));
        }
        fields
    }

    fn row_restart(march: &March<Self>) -> Restart {
        let host = march.synced();
        let mut restart = march.start_restart();
        let levels = [&host.rows_of_state(), &host.levels[0], &host.levels[1]];
        let unsteady = matches!(host.config.time, Time::Unsteady(_));
        for (name, level) in LEVELS.into_iter().zip(levels).take(if unsteady { 3 } else { 1 }) {
            restart.fields.push(Field::vector(name, host.n, level.clone()));
        }
        restart
    }

    fn block_ranks(&self) -> Option<&BlockRanks> {
        self.space.part.over.as_ref()
    }

    fn go_on(march: &mut March<Self>, restart: &Restart) -> Result<(), FlowError> {
        let (host, part) = (&march.host, &march.host.space.part);
        let unsteady = matches!(host.config.time, Time::Unsteady(_));
        let found = part.levels(restart, LEVELS, host.n, unsteady);
        let found = over_ranks::agreed(Host::share(host), found)?;
        march.resume_progress(restart, found.len() == 3);
        let time = march.progress.next_time(march.host.time());
        let host = march.host_to_set();
        host.set_rows(found[0]);
        if let [_, last, before] = found[..] {
            host.levels = [last.to_vec(), before.to_vec()];
            host.begin_step(time);
        } else {
            host.start_levels();
        }
        Ok(())
    }

    fn coupled_unknowns(&self) -> &'static [&'static str] {
        self.turbulence.as_ref().map_or(&[], |turbulence| turbulence.model.names())
    }

    fn missing_in(&self, _: &Restart) -> Vec<String> {
        Vec::new() // a state has all unknowns in one field
    }

    fn walls(&self) -> Vec<(String, [Spread; 2])> {
        self.heights_at_walls()
    }

    fn follow(march: &March<Self>, order: Order) {
        if order == Order::Outflow {
            march.outflow("");
        }
    }
}

impl Block {
    /// Values on a block's points, i fastest. Ghost cells beyond two or three faces are continued linearly from those beyond
    /// one; along the axis of a planar grid nothing changes.
    pub fn point_values(&self, axes: &[usize], field: &[f64]) -> Vec<f64> {
        let corners =
            |cell: [isize; 3]| (0..8).map(|n| self.continued(axes, field, below(cell, n))).sum::<f64>() / 8.0;
        self.cells_above_points().map(corners).collect()
    }

    /// d(u, v, w)_i / dx_k on a block's points, i fastest, of its whole field; where the eight cells around a point have no volume, the mean of those of the block's own
    /// cells among them.
    pub fn point_gradients(&self, axes: &[usize], field: &[f64]) -> Vec<[[f64; 3]; 3]> {
        let (len, velocities) = (self.cells.len(), self.velocities(axes, field));
        let component = |c: usize| &field[(1 + c) * len..(2 + c) * len];
        let around = |cell: [isize; 3]| {
            // Bit d of a corner's number: further along axis d.
            let cells: [[isize; 3]; 8] = std::array::from_fn(|n| below(cell, 7 - n as isize));
            let places = cells.map(|cell| self.metrics.center(self.cells.at(cell)));
            let values = cells.map(|cell| [0, 1, 2].map(|c| self.continued(axes, component(c), cell)));
            gradient_amid(&places, &values, velocities.active)
                .unwrap_or_else(|| velocities.mean_gradient(cells.map(|cell| self.cells.at(cell))))
        };
        self.cells_above_points().map(around).collect()
    }

    /// The cells, or ghosts, of which the block's points are the first ones, i fastest.
    fn cells_above_points(&self) -> impl Iterator<Item = [isize; 3]> + use<> {
        let [ni, nj, nk] = self.cells.count.map(|n| n as isize);
        (0..=nk).flat_map(move |k| (0..=nj).flat_map(move |j| (0..=ni).map(move |i| [i, j, k])))
    }

    /// A component in a cell or ghost; see [`Self::point_values`].
    fn continued(&self, axes: &[usize], field: &[f64], cell: [isize; 3]) -> f64 {
        let cells = self.cells;
        let inside: [isize; 3] = std::array::from_fn(|d| cell[d].clamp(0, cells.count[d] as isize - 1));
        let center = field[cells.at(inside)];
        let mut sum = center;
        for &d in axes.iter().filter(|&&d| cell[d] != inside[d]) {
            let mut beyond = inside;
            beyond[d] = cell[d];
            sum += field[cells.at(beyond)] - center;
        }
        sum
    }
}

/// The cell one lower along the axes whose bits are set.
fn below([i, j, k]: [isize; 3], n: isize) -> [isize; 3] {
    [i - (n & 1), j - (n >> 1 & 1), k - (n >> 2)]
}
