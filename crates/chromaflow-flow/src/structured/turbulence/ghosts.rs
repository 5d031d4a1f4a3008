//! Values beyond boundaries, of numbers or of numbers with derivatives.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::boundary::laws::near_wall;
use super::super::residual::Physics;
use super::{GridTurbulence, MOST, Model};
use crate::bc::{ConditionClass, condition_class};
use crate::equations::perfect_gas::State;
use crate::gas::{temperature, viscosity};
use crate::grid::Side;
use crate::real::Real;
use crate::turbulence::k_omega::{KOmega, k_omega_law_of_cells, k_omega_wall};
use crate::wall_law::law_friction;

/// The flow and the model's unknowns at places of a block.
pub(super) trait Values {
    type T: Real;
    /// rho, u, v, w and p.
    fn state(&self, at: usize) -> State<Self::T>;
    /// nut, or k and omega.
    fn turbulence(&self, at: usize) -> [Self::T; MOST];
    /// What k and omega diffuse by.
    fn diffusing(&self, at: usize) -> [Self::T; MOST];
    /// A number without its derivative, and what is kept of one.
    fn plain(value: Self::T) -> f64;
    fn kept(value: Self::T) -> f64;
}

/// Those of a block with this many unknowns.
pub(super) struct Own<'a>(pub &'a BlockState, pub usize);

impl Values for Own<'_> {
    type T = f64;

    fn state(&self, at: usize) -> State {
        self.0.state(at)
    }

    fn turbulence(&self, at: usize) -> [f64; MOST] {
        std::array::from_fn(|v| if v < self.1 { self.0.turbulence(v, at) } else { 0.0 })
    }

    fn diffusing(&self, at: usize) -> [f64; MOST] {
        std::array::from_fn(|v| self.0.eddies.diffusing[v * self.0.cells.len() + at])
    }

    fn plain(value: f64) -> f64 {
        value
    }

    fn kept(value: f64) -> f64 {
        value
    }
}

/// Molecular viscosity over rho_inf a_inf and the grid's length unit.
#[inline(always)]
pub(super) fn molecular<T: Real>(physics: &Physics, w: &State<T>) -> T {
    let Some(transport) = &physics.transport else { return T::c(0.0) };
    let transport = transport.lift();
    transport.scale * viscosity(transport, temperature(physics.gas.lift(), w))
}

/// k and omega at the wall's face of middle `x` next to the cell at `at`, `beyond` its ghost: none and [`k_omega_wall`] by the cell's center and the gas at the wall, or
/// what a law of the wall has.
pub(super) fn at_wall<V: Values>(
    physics: &Physics,
    (model, turbulence): (KOmega<f64>, GridTurbulence),
    patch: &PatchState,
    block: &BlockState,
    values: &V,
    ([at, beyond], x): ([usize; 2], &[f64; 3]),
) -> [V::T; MOST] {
    let (model, distance) = (model.lift(), V::T::c(near_wall(block, at)));
    let law = patch.law_of_column(block, at, x).zip(turbulence.walls);
    if let (Some((place, walls)), Some(transport)) = (law, &physics.transport) {
        let (gas, transport) = (physics.gas.lift(), transport.lift());
        let [units, friction] = law_friction(gas, transport, place.lift(), &values.state(at));
        return k_omega_law_of_cells(model, walls.blended, units, friction * distance / units, distance);
    }
    let [own, ghost] = [at, beyond].map(|place| values.state(place));
    let w: State<V::T> = std::array::from_fn(|c| V::T::c(0.5) * (own[c] + ghost[c]));
    [V::T::c(0.0), k_omega_wall(model, molecular(physics, &w) / w[0], distance)]
}

/// Places of the two ghosts beyond a patch's face of the cell at `at`.
pub(super) fn places(patch: &PatchState, block: &BlockState, at: usize) -> [usize; 2] {
    let Side { axis, high } = patch.window.side;
    let s = block.cells.stride[axis];
    if high { [at + s, at + 2 * s] } else { [at - s, at - 2 * s] }
}

/// Unknowns of both ghosts beyond each of the patch's places: mirrored about the wall's value at walls without slip, mirrored at other closed boundaries; at open
/// ones those of the free stream where gas enters, else the cell's own.
pub(super) fn beyond<V: Values>(
    physics: &Physics,
    turbulence: GridTurbulence,
    patch: &PatchState,
    block: &BlockState,
    values: &V,
) -> Vec<[[V::T; MOST]; 2]> {
    let Side { axis, high } = patch.window.side;
    let class = condition_class(&patch.condition);
    let of = |&(at, x): &(usize, [f64; 3])| {
        let [first, _] = places(patch, block, at);
        let inner = if block.cells.count[axis] == 1 { at } else { 2 * at - first };
        let own = [at, inner].map(|place| values.turbulence(place));
        match (class, turbulence.model) {
            (ConditionClass::NoSlip, Model::SpalartAllmaras(_)) => own.map(|[nut, rest]| [-nut, rest]),
            (ConditionClass::NoSlip, Model::KOmega(model)) => {
                let models = (model, turbulence);
                let wall = at_wall(physics, models, patch, block, values, ([at, first], &x));
                let [twice_k, twice_omega] = wall.map(|value| V::T::c(2.0) * value);
                own.map(|[k, omega]| [twice_k - k, twice_omega - omega])
            }
            (ConditionClass::Slip, _) => own,
            (ConditionClass::Open, _) => {
                let n = block.metrics.face(axis, if high { first } else { at });
                let (wa, wb) = (values.state(at), values.state(first));
                let mut through = V::T::c(0.0);
                for c in 0..3 {
                    through += V::T::c(0.5) * (wa[1 + c] + wb[1 + c]) * V::T::c(n[c]);
                }
                let zero = V::T::c(0.0);
                let leaves = if high { through.ge(zero) } else { through.le(zero) };
                let ghost = |v: usize| V::T::select(leaves, own[0][v], V::T::c(turbulence.inflow[v]));
                [[ghost(0), ghost(1)]; 2]
            }
        }
    };
    patch.wide.iter().map(of).collect()
}

/// Fills the ghosts of a patch.
pub(super) fn fill(
    physics: &Physics,
    turbulence: GridTurbulence,
    patch: &PatchState,
    block: &mut BlockState,
) {
    let (nb, len) = (turbulence.unknowns(), block.cells.len());
    let found = beyond(physics, turbulence, patch, block, &Own(block, nb));
    for ((at, _), ghosts) in patch.wide.iter().zip(found) {
        for (place, ghost) in places(patch, block, *at).into_iter().zip(ghosts) {
            for v in 0..nb {
                block.eddies.values[v * len + place] = ghost[v];
            }
        }
    }
}
