//! The derivative of k's and omega's residual along a direction of a Newton-Krylov step, exact by dual numbers: between walls and the free stream they span six
//! orders of magnitude, and no step of a difference suits them all.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::residual::Physics;
use super::ghosts::{Values, beyond, places};
use super::k_omega::{scatter, terms_one_by_one, through_boundary};
use super::lanes::{Along, Cells, Numbers};
use super::{GridTurbulence, MOST, Model, fill_interfaces};
use crate::equations::perfect_gas::{N, State, ghost_states};
use crate::march::Bdf;
use crate::ranks::BlockExchange;
use crate::real::{Dual, Real};
use crate::turbulence::k_omega::KOmega;
use crate::wall_law::law_ghosts;
use chromaflow_device::Team;
use std::marker::PhantomData;

/// A number and its derivative along the direction.
type D = Dual<f64, 1>;

/// Derivatives along the direction of what a block has, and where they are taken; arrays as [`BlockState`] and [`Eddies`](super::Eddies) have them.
#[derive(Default)]
pub(in crate::structured) struct Way {
    /// Of rho, u, v, w and p, and of k and omega; their own cells are given.
    pub w: Vec<f64>,
    pub turbulence: Vec<f64>,
    viscosity: Vec<f64>,
    diffusing: Vec<f64>,
    terms: Vec<f64>,
    /// The state, and the eddy viscosity in it.
    pub state: Vec<f64>,
    eddies: Vec<f64>,
}

impl Way {
    /// From the block's present state.
    pub fn new(block: &BlockState) -> Self {
        let eddies = &block.eddies;
        let zeros = |of: &[f64]| vec![0.0; of.len()];
        Self {
            w: zeros(&block.w),
            turbulence: zeros(&eddies.values),
            viscosity: zeros(&eddies.viscosity),
            diffusing: zeros(&eddies.diffusing),
            terms: zeros(&eddies.terms),
            state: block.w.clone(),
            eddies: eddies.viscosity.clone(),
        }
    }

    fn slopes(&self) -> Numbers<'_> {
        Numbers { w: &self.w, turbulence: &self.turbulence, diffusing: &self.diffusing, terms: &self.terms }
    }

    fn cells<'a>(
        &'a self,
        physics: &'a Physics,
        (model, turbulence): (KOmega<f64>, GridTurbulence),
        block: &'a BlockState,
    ) -> Cells<'a, Along> {
        let numbers = Numbers { w: &self.state, ..Numbers::of(block) };
        Cells { physics, turbulence, model, block, numbers, slopes: self.slopes(), kind: PhantomData }
    }
}

/// Numbers of a block with their derivatives.
struct Moving<'a>(&'a BlockState, &'a Way);

impl Values for Moving<'_> {
    type T = D;

    fn state(&self, at: usize) -> State<D> {
        let Self(block, way) = self;
        std::array::from_fn(|c| {
            let place = c * block.cells.len() + at;
            Dual { v: way.state[place], d: [way.w[place]] }
        })
    }

    fn turbulence(&self, at: usize) -> [D; MOST] {
        let Self(block, way) = self;
        std::array::from_fn(|v| {
            let place = v * block.cells.len() + at;
            Dual { v: block.eddies.values[place], d: [way.turbulence[place]] }
        })
    }

    fn diffusing(&self, at: usize) -> [D; MOST] {
        let Self(block, way) = self;
        std::array::from_fn(|v| {
            let place = v * block.cells.len() + at;
            Dual { v: block.eddies.diffusing[place], d: [way.diffusing[place]] }
        })
    }

    fn plain(value: D) -> f64 {
        value.v
    }

    fn kept(value: D) -> f64 {
        value.d[0]
    }
}

/// States beyond a patch, the nearer ghost first.
fn states_beyond(physics: &Physics, patch: &PatchState, block: &BlockState, way: &Way) -> Vec<[State<D>; 2]> {
    let (moving, condition) = (Moving(block, way), patch.condition.lift());
    let of = |(at, x): &(usize, [f64; 3])| {
        let [first, _] = places(patch, block, *at);
        let inner = if block.cells.count[patch.window.side.axis] == 1 { *at } else { 2 * at - first };
        let [w1, w2] = [*at, inner].map(|place| moving.state(place));
        let (gas, n) = (physics.gas.lift(), patch.area(block, *at).map(D::c));
        let ghosts = ghost_states(&condition, gas, &w1, &w2, &n, &x.map(D::c));
        match (patch.law_of_column(block, *at, x), &physics.transport) {
            (Some(place), Some(transport)) => {
                law_ghosts(gas, transport.lift(), place.lift(), &[w1, w2], &ghosts)
            }
            _ => ghosts,
        }
    };
    patch.wide.iter().map(of).collect()
}

/// Keeps derivatives at the ghosts beyond a patch.
fn keep<const W: usize>(patch: &PatchState, block: &BlockState, found: Vec<[[D; W]; 2]>, slopes: &mut [f64]) {
    for ((at, _), ghosts) in patch.wide.iter().zip(found) {
        for (place, ghost) in places(patch, block, *at).into_iter().zip(ghosts) {
            for c in 0..W {
                slopes[c * block.cells.len() + place] = ghost[c].d[0];
            }
        }
    }
}

/// Takes the directions that `ways` have of all cells: the eddy viscosity that the flow takes is that of a step of the length `h` along them.
pub(in crate::structured) fn direct(
    team: &Team,
    physics: &Physics,
    turbulence: GridTurbulence,
    patches: &[PatchState],
    (blocks, exchange): (&mut [BlockState], &BlockExchange),
    ways: &mut [Way],
    h: f64,
) {
    let Model::KOmega(model) = turbulence.model else { return };
    for _ in 0..2 {
        for patch in patches {
            let (block, way) = (&blocks[patch.window.block], &mut ways[patch.window.block]);
            let found = states_beyond(physics, patch, block, way);
            keep(patch, block, found, &mut way.w);
        }
        let mut states: Vec<&mut [f64]> = ways.iter_mut().map(|way| &mut way.w[..]).collect();
        exchange.fill_states(&mut states, N);
    }
    for _ in 0..2 {
        for patch in patches {
            let (block, way) = (&blocks[patch.window.block], &mut ways[patch.window.block]);
            let found = beyond(physics, turbulence, patch, block, &Moving(block, way));
            keep(patch, block, found, &mut way.turbulence);
        }
        fill_interfaces(exchange, ways.iter_mut().map(|way| &mut way.turbulence), MOST);
    }
    for (block, way) in blocks.iter_mut().zip(&mut *ways) {
        let mut terms = std::mem::take(&mut way.terms);
        let models = (model, turbulence);
        if block.eddies.hybrid.is_none() {
            way.cells(physics, models, block).find_terms(team, &mut terms);
        }
        terms_one_by_one(team, physics, models, patches, block, &Moving(block, way), &mut terms);
        scatter(block.cells, &terms, &mut way.viscosity, &mut way.diffusing);
        way.terms = terms;
    }
    fill_interfaces(exchange, ways.iter_mut().map(|way| &mut way.viscosity), 1);
    fill_interfaces(exchange, ways.iter_mut().map(|way| &mut way.diffusing), MOST);
    for (block, way) in blocks.iter_mut().zip(ways) {
        for ((eddies, base), slope) in block.eddies.viscosity.iter_mut().zip(&way.eddies).zip(&way.viscosity)
        {
            *eddies = base + h * slope;
        }
    }
}

/// The derivative of the residual along the direction last taken, into `eddies.r`.
pub(in crate::structured) fn derivative(
    team: &Team,
    physics: &Physics,
    turbulence: GridTurbulence,
    patches: &[PatchState],
    blocks: &mut [BlockState],
    ways: &[Way],
    bdf: Option<Bdf>,
) {
    let Model::KOmega(model) = turbulence.model else { return };
    for (b, (block, way)) in blocks.iter_mut().zip(ways).enumerate() {
        let mut r = std::mem::take(&mut block.eddies.r);
        way.cells(physics, (model, turbulence), block).find_residual(team, &mut r);
        for patch in patches.iter().filter(|patch| patch.window.block == b) {
            let add = |at: usize, leaves: D| r[at] += leaves.d[0];
            through_boundary(physics, (model, turbulence), patch, block, &Moving(block, way), add);
        }
        for (number, at) in block.cells.places().enumerate() {
            let slope = bdf.map_or(0.0, |bdf| block.turbulence_time_slope(turbulence, bdf, at));
            let place = block.turbulence_residual_at(number, MOST);
            for v in 0..MOST {
                r[place + v * block.cells.count[0]] += slope * way.turbulence[v * block.cells.len() + at];
            }
        }
        block.eddies.r = r;
    }
}
