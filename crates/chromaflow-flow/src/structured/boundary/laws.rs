//! Laws of the wall at the faces of patches: what a cell sees of its wall, friction and heat, states beyond, derivatives. See [`crate::wall_law`].
//!
//! The law is that of the first cell's center. The wall takes up its friction and heat in the place of those of a linear profile; ghosts go on with the slope that
//! the law has at that center, [`law_ghosts`]; and the shear that turbulence models see in such cells is the law's, [`law_gradient`](crate::wall_law::law_gradient).

use super::super::block::BlockState;
use super::super::residual::Physics;
use super::{PatchState, View};
use crate::bc::wall_at;
use crate::equations::perfect_gas::{N, State, StateBlock};
use crate::gas::by_conserved;
use crate::real::Dual;
use crate::wall_law::{LawPlace, WallLaw, law_flux, law_load};

impl PatchState {
    /// The wall at the face of middle `x` as its cell sees it, where a law of the wall holds.
    pub fn law_at(&self, view: &View, x: &[f64; 3]) -> Option<LawPlace<f64>> {
        self.place(self.law?, view.distance, &view.n, x)
    }

    fn place(&self, law: WallLaw, distance: f64, n: &[f64; 3], x: &[f64; 3]) -> Option<LawPlace<f64>> {
        let area = n.iter().map(|n| n * n).sum::<f64>().sqrt();
        let (heat, wall) = (self.condition.heat, wall_at(&self.condition, x));
        let away = n.map(|n| -n / area);
        (area > 0.0).then_some(LawPlace { law, heat, area, distance, away, wall })
    }

    /// The same of the cell at `at` of a column of ghosts, beyond edges as the cell before them.
    pub fn law_of_column(&self, block: &BlockState, at: usize, x: &[f64; 3]) -> Option<LawPlace<f64>> {
        self.place(self.law?, near_wall(block, at), &self.area(block, at), x)
    }

    /// Middle of the face of a cell.
    pub fn middle_of(&self, cell: [usize; 3]) -> [f64; 3] {
        let (low, high, [u, v]) = (self.window.low, self.window.high, self.window.side.tangential());
        self.faces[cell[u] - low[u] + (high[u] - low[u]) * (cell[v] - low[v])].1
    }

    /// The derivative of [`taken`] by the cell's conserved variables, column-major; none where no law holds.
    pub fn law_jacobian(&self, physics: &Physics, view: &View, x: &[f64; 3]) -> Option<StateBlock> {
        type By = Dual<f64, N>;
        let (place, transport, w) = (self.law_at(view, x)?.lift(), physics.transport?.lift(), &view.w[0]);
        let state: State<By> = std::array::from_fn(|c| By::variable(w[c], c));
        let flux = law_flux(place, &law_load(physics.gas.lift(), transport, place, &state));
        let block = std::array::from_fn(|e| flux[e % N].d[e / N]);
        Some(by_conserved(physics.gas, w, &block))
    }
}

/// Flux of friction and heat out through a face with a law, and the friction of the fluid on it; `w` is the state of its cell.
pub(super) fn taken(physics: &Physics, place: &LawPlace<f64>, w: &State) -> (State, [f64; 3]) {
    let Some(transport) = physics.transport else { return ([0.0; N], [0.0; 3]) };
    let load = law_load(physics.gas, transport, *place, w);
    (law_flux(*place, &load), [load[0], load[1], load[2]])
}

/// Distance from the walls of the cell at `at`, beyond edges of the cell before; 0 without a model of turbulence.
pub(in crate::structured) fn near_wall(block: &BlockState, at: usize) -> f64 {
    let (cell, count) = (block.cells.cell(at), block.cells.count);
    let near = std::array::from_fn(|d| cell[d].clamp(0, count[d] as isize - 1) as usize);
    block.eddies.distance.get(block.number(near)).copied().unwrap_or(0.0)
}

/// The wall with a law next to a cell as it sees it, of several that whose face is nearest; none elsewhere.
pub(in crate::structured) fn law_beside(
    patches: &[PatchState],
    block: &BlockState,
    cell: [usize; 3],
    at: usize,
) -> Option<LawPlace<f64>> {
    let mut found: Option<LawPlace<f64>> = None;
    for side in 0..6 {
        let (axis, high) = (side / 2, side % 2 == 1);
        if !block.active[axis] || cell[axis] != if high { block.cells.count[axis] - 1 } else { 0 } {
            continue;
        }
        let [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
        let number = block.patch_of[side][cell[u] + block.cells.count[u] * cell[v]];
        let Some(patch) = patches.get(number as usize).filter(|patch| patch.law.is_some()) else { continue };
        let place = patch.law_of_column(block, at, &patch.middle_of(cell));
        // Of cells on two walls the larger face is the nearer one.
        found = place.filter(|place| found.is_none_or(|old| place.area > old.area)).or(found);
    }
    found
}
