//! What goes into files: fields on the grid's points, restarts.

use super::block::BlockState;
use super::boundary::PatchState;
use super::{StructuredSolver, StructuredSystem};
use crate::bc::{Condition, ConditionClass, condition_class};
use crate::dual::dot;
use crate::equations::perfect_gas::{N, State};
use crate::equations::{Equations, PerfectGas};
use crate::gas::{Gas, conserved, entropy, primitive, temperature};
use crate::march::{FlowError, Host, March, Order, Outflow, SUMS, Spread, outflow_sums, over_ranks as ranks};
use crate::mesh::Mesh;
use crate::on_grid::{Shown, centers};
use crate::output::{Field, Restart};
use crate::ranks::BlockRanks;

/// The present state; the last finished time level; the one before.
const LEVELS: [&str; 3] = ["conserved", "conserved_last", "conserved_before"];
/// The share of the CFL number that each cell takes.
const CFL_SHARE: &str = "cfl_share";

/// Density, velocity, pressure, mach, temperature, cp, entropy from primitive states; `free` is the free stream's pressure.
pub(super) fn fields(gas: Gas<f64>, free: f64, mach: f64, points: &[State]) -> Vec<Field> {
    let dynamic = 0.5 * mach.powi(2);
    let scalar = |name: &str, f: &dyn Fn(&State) -> f64| Field::scalar(name, points.iter().map(f).collect());
    let velocity = points.iter().flat_map(|w| [w[1], w[2], w[3]]).collect();
    vec![
        scalar("density", &|w| w[0]),
        Field::vector("velocity", 3, velocity),
        scalar("pressure", &|w| w[4]),
        scalar("mach", &|w| crate::gas::mach(gas, w)),
        scalar("temperature", &|w| temperature(gas, w)),
        scalar("cp", &|w| (w[4] - free) / dynamic),
        scalar("entropy", &|w| entropy(gas, w)),
    ]
}

impl StructuredSolver {
    /// The centers of cells as the nodes of a mesh without elements: the places that restarts are written for.
    pub fn restart_places(&self) -> Mesh {
        centers(&self.host.grid)
    }
}

impl StructuredSolver {
    /// What leaves through each marker that gas passes, in the order of the grid. Over ranks all take part, and all have it.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn outflow(&self) -> Vec<Outflow> {
        // What cannot be told shows at the next step.
        let _ = self.host.tell(Order::Outflow);
        self.synced().outflow()
    }
}

impl Shown for StructuredSystem {
    /// Density, velocity, pressure, mach, temperature, at walls with a law of the wall theirs, cp, entropy on the points of [`Grid::to_mesh`](crate::grid::Grid::to_mesh),
    /// each the mean of the cells around it: on the boundary with those beyond it, which makes it the boundary's value. Of turbulent flow also what
    /// [`StructuredSystem::turbulence_fields`] says, of viscous flow what [`StructuredSystem::add_shear_fields`] says.
    fn fields(march: &mut March<Self>) -> Vec<Field> {
        let host = march.synced_mut();
        let _ = host.tell(Order::Fields);
        // Edges and corners too.
        host.fill_ghosts();
        host.fill_ghosts();
        let points = host.point_states();
        let mut fields = fields(host.physics.gas, host.free[4], host.config.freestream.mach, &points);
        fields.extend(host.turbulence_fields(&points));
        host.add_shear_fields(&mut fields);
        fields
    }

    fn row_restart(march: &March<Self>) -> Restart {
        let host = march.synced();
        let mut restart = march.start_restart();
        for (outlet, held) in host.held_everywhere() {
            let patch = &host.all_patches()[outlet[0]];
            Condition { held, ..patch.condition }.store(&patch.name, &mut restart);
        }
        let unsteady = host.config.unsteady().is_some();
        for (n, name) in LEVELS.iter().enumerate().take(if unsteady { 3 } else { 1 }) {
            let mut values = Vec::with_capacity(N * host.part.rows());
            for block in &host.blocks {
                let (w, len) = (if n == 0 { &block.w } else { &block.levels[n - 1] }, block.cells.len());
                for at in block.cells.places() {
                    let state = std::array::from_fn(|c| w[c * len + at]);
                    values.extend(conserved(host.physics.gas, &state));
                }
            }
            restart.fields.push(Field::vector(name, N, values));
        }
        let shares = host.cfl_shares();
        if !shares.is_empty() {
            restart.fields.push(Field::scalar(CFL_SHARE, shares));
        }
        host.store_turbulence(&mut restart);
        restart
    }

    fn block_ranks(&self) -> Option<&BlockRanks> {
        self.part.over.as_ref()
    }

    fn go_on(march: &mut March<Self>, restart: &Restart) -> Result<(), FlowError> {
        let found = march.host.states_of(restart);
        let found = found.and_then(|states| {
            let turbulence = march.host.turbulence_of(restart, states.len())?;
            Ok((turbulence, march.host.shares_of(restart)?, states))
        });
        let (turbulence, shares, states) = ranks::agreed(march.host.share(), found)?;
        let mut at_cell = 0;
        for block in &mut march.host_to_set().blocks {
            let (cells, len) = (block.cells, block.cells.len());
            for at in cells.places() {
                block.set(at, states[0][at_cell]);
                for (n, level) in block.levels.iter_mut().enumerate().filter(|(_, l)| !l.is_empty()) {
                    let w = states.get(n + 1).unwrap_or(&states[0])[at_cell];
                    for c in 0..N {
                        level[c * len + at] = w[c];
                    }
                }
                at_cell += 1;
            }
            block.last_good.copy_from_slice(&block.w);
        }
        march.host_to_set().set_cfl_shares(&shares);
        march.host_to_set().resume_turbulence(&turbulence);
        for patch in &mut march.host.patches {
            patch.condition.recall(&patch.name, restart);
        }
        march.resume_progress(restart, states.len() == 3);
        Ok(())
    }

    fn coupled_unknowns(&self) -> &'static [&'static str] {
        self.physics.turbulence.map_or(&[], |turbulence| turbulence.names())
    }

    fn walls(&self) -> Vec<(String, [Spread; 2])> {
        self.heights_at_walls()
    }

    fn follow(march: &March<Self>, order: Order) {
        if order == Order::Outflow {
            march.outflow();
        }
    }
}

impl StructuredSystem {
    /// States are those of faces, means of the cells on both sides.
    fn outflow(&self) -> Vec<Outflow> {
        let mut open: Vec<&str> = Vec::new();
        for patch in self.all_patches() {
            if condition_class(&patch.condition) == ConditionClass::Open && !open.contains(&&*patch.name) {
                open.push(&patch.name);
            }
        }
        let of_face = |patch: &PatchState, block: &BlockState, (cell, x): &([usize; 3], [f64; 3])| {
            let view = patch.view(block, block.cells.inside(*cell));
            let beyond = patch.ghosts(&self.physics, &view, x)[0];
            let w = std::array::from_fn(|c| 0.5 * (view.w[0][c] + beyond[c]));
            let f = patch.flux(&self.physics, &view, x).0;
            outflow_sums(self.physics.gas, &w, [f[0], f[4], dot(view.n, view.n).sqrt()])
        };
        // Block by block, as sums over ranks have it.
        let sums: Vec<Vec<[f64; SUMS]>> = open
            .iter()
            .map(|marker| {
                let mut of_blocks = vec![[0.0; SUMS]; self.blocks.len()];
                for patch in self.patches.iter().filter(|patch| patch.name == *marker) {
                    let (block, sums) =
                        (&self.blocks[patch.window.block], &mut of_blocks[patch.window.block]);
                    for face in &patch.faces {
                        let face = of_face(patch, block, face);
                        sums.iter_mut().zip(face).for_each(|(sum, value)| *sum += value);
                    }
                }
                of_blocks
            })
            .collect();
        let scale = [self.grid.plane().map_or(1.0, |(_, depth)| depth), self.scale.pressure];
        let total = |of_blocks: &[[f64; SUMS]]| -> [f64; SUMS] {
            std::array::from_fn(|k| self.part.sum(of_blocks.iter().map(|sums| sums[k])))
        };
        open.iter().zip(&sums).map(|(marker, sums)| Outflow::of(marker, &total(sums), scale)).collect()
    }

    /// Primitive states on points, in the order of [`Grid::to_mesh`](crate::grid::Grid::to_mesh).
    fn point_states(&self) -> Vec<State> {
        self.on_points(BlockState::state)
    }

    /// Means of the cells around points, ghosts included, in the same order; over ranks all of them on rank 0, none elsewhere.
    pub(super) fn on_points<const W: usize>(
        &self,
        value: impl Fn(&BlockState, usize) -> [f64; W] + Copy,
    ) -> Vec<[f64; W]> {
        self.around_points(|block, around| {
            let mut sum = [0.0; W];
            for at in around {
                let w = value(block, at);
                sum = std::array::from_fn(|c| sum[c] + 0.125 * w[c]);
            }
            sum
        })
    }

    /// Of the eight cells around each point, ghosts included, in the same order and over ranks alike; bit d of a cell's number says whether it is the one
    /// further along axis d.
    pub(super) fn around_points<const W: usize>(
        &self,
        value: impl Fn(&BlockState, [usize; 8]) -> [f64; W] + Copy,
    ) -> Vec<[f64; W]> {
        let block_points = |block: &BlockState| -> Vec<[f64; W]> {
            let [ni, nj, nk] = block.cells.count.map(|n| n + 1);
            let s = block.cells.stride;
            let below: [usize; 8] = std::array::from_fn(|n| (0..3).map(|d| (1 - (n >> d & 1)) * s[d]).sum());
            let points = (0..ni * nj * nk).map(|n| {
                let at = block.cells.inside([n % ni, n / ni % nj, n / (ni * nj)]);
                value(block, below.map(|below| at - below))
            });
            points.collect()
        };
        let blocks = self.of_all_blocks(self.blocks.iter().map(block_points).collect());
        if blocks.is_empty() || self.grid.planar_depth().is_none() {
            return blocks.concat();
        }
        let layer = |k: usize| {
            let plane = |b: usize| self.grid.blocks[b].points[0] * self.grid.blocks[b].points[1];
            let of =
                move |(b, points): (usize, &Vec<[f64; W]>)| points[k * plane(b)..(k + 1) * plane(b)].to_vec();
            blocks.iter().enumerate().flat_map(of)
        };
        layer(0).chain(layer(1)).collect()
    }

    /// The shares of the CFL number; older restarts have none, and all cells take the whole.
    fn shares_of(&self, restart: &Restart) -> Result<Vec<f64>, FlowError> {
        let whole = vec![1.0; self.cfl_shares().len()];
        if whole.is_empty() || restart.field(CFL_SHARE).is_none() {
            return Ok(whole);
        }
        let shares = self.part.field(restart, CFL_SHARE, 1)?;
        match shares.iter().position(|share| !(*share > 0.0 && *share <= 1.0)) {
            None => Ok(shares.to_vec()),
            Some(cell) => Err(FlowError::Restart {
                field: CFL_SHARE.to_owned(),
                problem: format!("is {} at cell {cell}: a share is above 0 and at most 1", shares[cell]),
            }),
        }
    }

    /// Primitive states of the time levels that a restart has.
    fn states_of(&self, restart: &Restart) -> Result<Vec<Vec<State>>, FlowError> {
        let unsteady = self.config.unsteady().is_some();
        let levels = self.part.levels(restart, LEVELS, N, unsteady)?;
        let states = levels.iter().zip(LEVELS).map(|(values, name)| {
            let states = values.as_chunks::<N>().0.iter().enumerate();
            let primitive = states.map(|(cell, q)| {
                let w = primitive(self.physics.gas, q);
                let problem = || format!("has no physical state at cell {cell}: {q:?}");
                let fault = || FlowError::Restart { field: name.to_owned(), problem: problem() };
                PerfectGas::is_admissible(&w).then_some(w).ok_or_else(fault)
            });
            primitive.collect()
        });
        states.collect()
    }
}
