//! Inviscid and laminar flow by Ni's form of the Lax-Wendroff scheme: explicit, of second order in space and time, unknowns in
//! the nodes.
//!
//! The balance of fluxes through a cell's faces, their states the means of four nodes, gives its change
//! dU = -dt/V sum F . S. Each corner takes an eighth of the second-order expansion in time,
//! ```text
//! dU_node V_node / dt_node = sum over cells of 1/8 (V dU / dt + (A dU - 2 F_viscous) . (+- S_i +- S_j +- S_k)),
//! ```
//! S the cell's mean areas with the sign of the corner. This is Ni's distribution weighted with volumes: with equal time steps
//! what a cell loses its neighbors get; local ones are a node's own, the least of its cells', so that a steady state does not
//! depend on them and its fluxes balance. Control volumes of nodes meet in the middles of cells, so that
//! viscous fluxes, of the gradient that the cell's corners have, pass through the quarters of S. Smoothing: second differences
//! at shocks and fourth ones elsewhere along grid lines, each cell giving a quarter to each of its edges. Boundary nodes get
//! what their cells give them, then the boundary's characteristics; nothing viscous passes through the boundary, and nodes of
//! walls without slip are at rest. Nodes of interfaces add up what comes from all sides.
//!
//! **Source**: Ni, *A multiple-grid scheme for solving the Euler equations* (1982); Davis, Ni & Carter, *Cascade viscous flow
//! analysis using the Navier-Stokes equations* (1987), as in MBFLO3; Stone et al. 2011, section IV.B. Differs in the weights by
//! volume and in the dissipation, which is that of Jameson, Schmidt & Turkel 1981.

mod block;
mod boundary;
mod cells;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod measure;
mod multigrid;
mod nodes;
mod output;
mod pointwise;
mod shared_nodes;
mod step;
#[cfg(test)]
mod tests;

pub use pointwise::{
    boundary_face_state, bounded_state, corner_face, corner_gradient, corner_mean, face_flux, slip_state,
    smoothing, smoothing_weights,
};

use super::config::{Scheme, StructuredConfig};
use super::{setup, turbulence};
use crate::bc::Outlet;
use crate::config::{Boundary, Equations, Time};
use crate::equations::perfect_gas::{N, State};
use crate::equations::{Equations as _, PerfectGas};
use crate::flux::Dissipation;
use crate::gas::{Gas, Transport, mach, primitive};
use crate::grid::Grid;
use crate::march::forces::ForceScale;
use crate::march::{
    Advanced, BadPlace, CourantControl, FlowError, Forces, Host, March, Measured, Moment, Part, PartTime,
    Place, Residuals, System, Times, not_turned,
};
use crate::parallel;
use block::NodeBlock;
use boundary::{NodePatch, Point};
use chromaflow_device::Team;
use multigrid::Level;
use shared_nodes::SharedNodes;
use std::sync::Arc;

/// Steps of the scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LaxWendroff {
    /// The local step over that in which the fastest wave crosses a cell; stable up to about 0.9.
    pub courant: f64,
    /// Coarse grids below the grid, in steady runs; fewer where blocks, patches or interfaces do not go into halves.
    pub coarse_grids: usize,
}

impl Default for LaxWendroff {
    fn default() -> Self {
        Self { courant: 0.8, coarse_grids: 0 }
    }
}

/// A solver for one grid and one set-up, with its state.
pub type LaxWendroffSolver = March<LaxWendroffSystem>;

/// Compressible flow in the nodes of one structured grid: the host's form.
pub struct LaxWendroffSystem {
    team: Arc<Team>,
    config: StructuredConfig,
    grid: Grid,
    gas: Gas<f64>,
    transport: Option<Transport<f64>>,
    dissipation: Dissipation<f64>,
    blocks: Vec<NodeBlock>,
    patches: Vec<NodePatch>,
    points: Vec<Point>,
    shared_nodes: SharedNodes,
    levels: Vec<Level>,
    scale: ForceScale,
    free: State,
    volume: f64,
    /// Forces of the state before the last step.
    forces: Forces,
    /// Of the present iteration.
    times: Times,
}

impl LaxWendroffSolver {
    /// A solver at rest in the free stream everywhere. The grid must have passed [`Grid::check`]. Of the configuration's implicit
    /// step nothing is used; the dissipation is that of [`Scheme::Scalar`].
    ///
    /// # Errors
    /// [`FlowError`] names the marker or the number that is wrong.
    pub fn new(
        grid: Grid,
        config: StructuredConfig,
        scheme: LaxWendroff,
        team: Arc<Team>,
    ) -> Result<Self, FlowError> {
        let courant = scheme.courant;
        let setup::Start { grid, config, metrics, gas, free, scale, .. } = setup::start(grid, config, None)?;
        if config.turbulence.is_some() {
            return Err(FlowError::TurbulenceOption { key: "model", problem: turbulence::STEPS });
        }
        if let Some(rotation) = grid.rotation() {
            let remedy = "choose another structured.method";
            return Err(not_turned(
                &rotation,
                "what nodes of the scheme `lax_wendroff` add up".to_owned(),
                remedy,
            ));
        }
        if !(courant > 0.0 && courant <= 1.0) {
            let expected = "expected more than 0, at most 1";
            return Err(FlowError::Value { name: "courant".into(), value: courant, expected });
        }
        let transport =
            (config.equations == Equations::Laminar).then(|| config.gas.transport(&config.freestream));
        let dissipation = match config.scheme {
            Scheme::Scalar(d) | Scheme::Matrix(d) => d,
            Scheme::Roe { .. } => Dissipation::DEFAULT,
        };
        let mut blocks: Vec<NodeBlock> =
            metrics.into_iter().enumerate().map(|(b, m)| NodeBlock::new(&grid, b, m)).collect();
        let shared_nodes = SharedNodes::new(&grid, &blocks);
        for block in &mut blocks {
            block.own_volume = block.volume.clone();
        }
        shared_nodes.add_up_volumes(&mut blocks);
        setup::not_by_condition(&config.boundaries)?;
        let patches: Vec<NodePatch> = grid
            .patches
            .iter()
            .map(|p| {
                let boundary = Boundary::of_marker(&config.boundaries, &p.name, gas, &free);
                let mut condition = boundary.condition(gas, free);
                // A node takes its state anew at each step: in a narrow width it soon had that of the room wherever the flow alternates.
                condition.outlet.width = Outlet::WIDEST;
                NodePatch { name: p.name.clone(), condition, window: p.window }
            })
            .collect();
        for patch in &patches {
            patch.check(&grid, &blocks[patch.window.block])?;
        }
        let levels = match config.steady() {
            Some(_) => Level::below(&grid, &patches, scheme.coarse_grids),
            None => Vec::new(),
        };
        let coarse = levels.len();
        let points = boundary::points(&grid, &blocks, &patches, &shared_nodes.shared);
        let volume = blocks.iter().map(|b| b.metrics.total_volume()).sum();
        let system = LaxWendroffSystem {
            team,
            config,
            grid,
            gas,
            transport,
            dissipation,
            blocks,
            patches,
            points,
            shared_nodes,
            levels,
            scale,
            free,
            volume,
            forces: Forces::default(),
            times: Times::default(),
        };
        let mut solver = Self::of(system, CourantControl::new(courant).with_coarse_grids(coarse));
        let q = crate::gas::conserved(gas, &free);
        solver.set_state(|_| q);
        Ok(solver)
    }
}

/// An iteration is an explicit step; in unsteady runs a physical one, in as many equal parts as stability asks for.
impl System for LaxWendroffSystem {
    fn residual(&mut self, at: &Moment) -> Result<Measured, FlowError> {
        let mut times = std::mem::take(&mut self.times);
        self.step_here(at, &mut times);
        let found = times.timed(Part::Misc, || {
            let found = Measured::new(self.squares(), self.forces.clone());
            let first_bad = self.first_bad();
            Measured { good: found.good && first_bad.is_none(), first_bad, ..found }
        });
        self.times = times;
        Ok(found)
    }

    fn advance(&mut self, _at: &Moment) -> Result<Advanced, FlowError> {
        Ok(Advanced::default())
    }

    fn restore(&mut self) -> Result<(), FlowError> {
        for block in &mut self.blocks {
            block.q.clone_from(&block.last_good);
        }
        Ok(())
    }

    fn next_level(&mut self) -> Result<(), FlowError> {
        Ok(())
    }

    fn times(&mut self) -> Result<Times, FlowError> {
        Ok(std::mem::take(&mut self.times))
    }

    fn parts(&mut self, at: &Moment, repeats: usize) -> Result<Vec<PartTime>, FlowError> {
        Ok(self.measure_here(at, repeats))
    }
}

impl Host for LaxWendroffSystem {
    type Control = CourantControl;

    const EXPLICIT: bool = true;

    fn problem(&self) -> String {
        self.config.problem()
    }

    fn time(&self) -> &Time {
        &self.config.time
    }

    fn time_mut(&mut self) -> &mut Time {
        &mut self.config.time
    }

    fn volume(&self) -> f64 {
        self.volume
    }

    fn rows(&self) -> usize {
        self.node_count()
    }

    fn first_bad(&self) -> Option<usize> {
        self.first_bad_node()
    }

    fn place(&self, row: usize) -> BadPlace {
        self.bad_place(row)
    }

    fn residuals(&mut self, at: &Moment) -> Residuals {
        let before: Vec<_> = self.blocks.iter().map(|b| b.q.clone()).collect();
        self.step_here(at, &mut Times::default());
        let found = self.rates();
        for (block, q) in self.blocks.iter_mut().zip(before) {
            block.q = q;
        }
        found
    }

    fn mach_and_pressure(&self, row: usize) -> Option<[f64; 2]> {
        let (block, node) = self.locate(row);
        let w = primitive(self.gas, &self.blocks[block].state(self.blocks[block].nodes.inside(node)));
        Some([mach(self.gas, &w), w[4] / self.free[4]])
    }
}

impl LaxWendroffSystem {
    /// Squares, summed over the domain, of what the last step changed over its time step, boundary conditions included.
    fn squares(&self) -> Vec<f64> {
        let mut all = [0.0; N];
        for block in &self.blocks {
            let [pi, pj, pk] = block.nodes.count;
            let len = block.nodes.len();
            let mut sums = vec![[0.0; N]; pj * pk];
            parallel::rows(&self.team, pj * pk, 1, &mut sums, |rows, sums| {
                for (row, sums) in rows.zip(sums) {
                    let place = [0, row % pj, row / pj];
                    let (at, number) = (block.nodes.inside(place), block.number(place));
                    let steps = &block.sums[block.sum_at(place) + N * pi..][..pi];
                    for (c, sum) in sums.iter_mut().enumerate() {
                        let now = block.q[c * len + at..][..pi].iter().zip(&block.last_good[c * len + at..]);
                        for ((q, old), (dt, volume)) in now.zip(steps.iter().zip(&block.own_volume[number..]))
                        {
                            let rate = (q - old) / dt;
                            *sum += rate * rate * volume;
                        }
                    }
                }
            });
            for row in sums {
                all = std::array::from_fn(|c| all[c] + row[c]);
            }
        }
        all.to_vec()
    }

    /// The first node with a state that is non-physical or not finite, in the order of blocks, i fastest.
    fn first_bad_node(&self) -> Option<usize> {
        let mut before = 0;
        for block in &self.blocks {
            let (len, [pi, pj, pk]) = (block.nodes.len(), block.nodes.count);
            let mut first = vec![None; pj * pk];
            parallel::rows(&self.team, pj * pk, 1, &mut first, |rows, out| {
                for (row, out) in rows.zip(out) {
                    let start = block.nodes.inside([0, row % pj, row / pj]);
                    *out = (start..start + pi).find(|&at| {
                        let q = block.state(at);
                        let good =
                            q.iter().all(|v| v.is_finite()) && q[0] > 0.0 && block.q[N * len + at] > 0.0;
                        !good
                    });
                }
            });
            if let Some(at) = first.into_iter().flatten().next() {
                return Some(before + block.number(block.nodes.cell(at).map(|n| n.max(0) as usize)));
            }
            before += block.nodes.interior();
        }
        None
    }

    /// What the last step changed over its time step, node by node.
    fn rates(&self) -> Residuals {
        let (mut rates, mut volumes) = (Vec::new(), Vec::new());
        for block in &self.blocks {
            let ([pi, pj, pk], len) = (block.nodes.count, block.nodes.len());
            for n in 0..pi * pj * pk {
                let place = [n % pi, n / pi % pj, n / (pi * pj)];
                let at = block.nodes.inside(place);
                let row = [0, place[1], place[2]];
                let dt = block.sums[block.sum_at(row) + N * pi + place[0]];
                rates.extend((0..N).map(|c| (block.last_good[c * len + at] - block.q[c * len + at]) / dt));
            }
            volumes.extend(&block.own_volume);
        }
        Residuals { rates, equations: N, volumes }
    }

    /// Block and place of a node by its number in the order of blocks, i fastest.
    fn locate(&self, number: usize) -> (usize, [usize; 3]) {
        let (mut b, mut rest) = (0, number);
        while rest >= self.blocks[b].nodes.interior() {
            rest -= self.blocks[b].nodes.interior();
            b += 1;
        }
        let [ni, nj, _] = self.blocks[b].nodes.count;
        (b, [rest % ni, rest / ni % nj, rest / (ni * nj)])
    }

    /// A node by its number.
    fn bad_place(&self, number: usize) -> BadPlace {
        let (b, node) = self.locate(number);
        // Every node of a layer lies on one of its planes, which says nothing.
        let thin = self.grid.planar_axis();
        let touching = self.patches.iter().find(|p| {
            let here = p.window.block == b && thin != Some(p.window.side.axis);
            here && p.window.nodes().any(|other| other == node)
        });
        BadPlace {
            place: Place::Node(number),
            at: self.grid.blocks[b].node(node),
            marker: touching.map(|p| p.name.clone()),
            state: self.blocks[b].state(self.blocks[b].nodes.inside(node)).to_vec(),
            variables: PerfectGas::CONSERVED.into(),
            rank: None,
        }
    }
}
