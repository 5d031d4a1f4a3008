//! Values beyond boundaries, of numbers or of numbers with derivatives.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::residual::Physics;
use super::{GridTurbulence, MOST, Model};
use crate::bc::{ConditionClass, condition_class};
use crate::equations::perfect_gas::State;
use crate::gas::{temperature, viscosity};
use crate::grid::Side;
use crate::real::Real;
use crate::turbulence::k_omega::{KOmega, k_omega_wall};

/// The flow and the model's unknowns at places of a block.
pub(super) trait Values {
    type T: Real;
    /// rho, u, v, w and p.
    fn state(&self, at: usize) -> State<Self::T>;
    /// nut, or k and omega.
    fn turbulence(&self, at: usize) -> [Self::T; MOST];
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
}

/// Molecular viscosity over rho_inf a_inf and the grid's length unit.
#[inline(always)]
pub(super) fn molecular<T: Real>(physics: &Physics, w: &State<T>) -> T {
    let Some(transport) = &physics.transport else { return T::c(0.0) };
    let transport = transport.lift();
    transport.scale * viscosity(transport, temperature(physics.gas.lift(), w))
}

/// omega at the wall next to the cell at `at`, `beyond` its ghost: [`k_omega_wall`] by the cell's center and the gas at the wall.
pub(super) fn wall_omega<V: Values>(
    physics: &Physics,
    model: KOmega<f64>,
    block: &BlockState,
    values: &V,
    [at, beyond]: [usize; 2],
) -> V::T {
    let [own, ghost] = [at, beyond].map(|place| values.state(place));
    let w: State<V::T> = std::array::from_fn(|c| V::T::c(0.5) * (own[c] + ghost[c]));
    // Beyond edges that of the cell before.
    let (cell, count) = (block.cells.cell(at), block.cells.count);
    let near = std::array::from_fn(|d| cell[d].clamp(0, count[d] as isize - 1) as usize);
    let distance = V::T::c(block.eddies.distance[block.number(near)]);
    k_omega_wall(model.lift(), molecular(physics, &w) / w[0], distance)
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
    let of = |&(at, _): &(usize, [f64; 3])| {
        let [first, _] = places(patch, block, at);
        let inner = if block.cells.count[axis] == 1 { at } else { 2 * at - first };
        let own = [at, inner].map(|place| values.turbulence(place));
        match (class, turbulence.model) {
            (ConditionClass::NoSlip, Model::SpalartAllmaras(_)) => own.map(|[nut, rest]| [-nut, rest]),
            (ConditionClass::NoSlip, Model::KOmega(model)) => {
                let at_wall = V::T::c(2.0) * wall_omega(physics, model, block, values, [at, first]);
                own.map(|[k, omega]| [-k, at_wall - omega])
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
