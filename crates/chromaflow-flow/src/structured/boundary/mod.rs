//! The boundary: states beyond it, fluxes through it, and their derivatives.

pub(super) mod laws;
pub(super) mod turned;

use super::block::BlockState;
use super::residual::Physics;
use crate::bc::{
    Condition, ConditionClass, adapted_pressure, condition_class, condition_flux_jacobian, flux_slip_wall,
};
use crate::equations::perfect_gas::{
    N, State, StateBlock, continued_flux, face_flow, ghost_states, pressure_on, wall_friction_block,
    wall_gradient,
};
use crate::gas::Gas;
use crate::grid::{GHOSTS, Grid, Side, Window};
use crate::march::{FlowError, slides};
use crate::parallel;
use crate::viscous::{flux_viscous, traction};
use crate::wall_law::{WallLaw, law_ghosts};
use chromaflow_device::Team;
use laws::near_wall;

/// A patch with what its faces need.
#[derive(Clone, Debug)]
pub(super) struct PatchState {
    pub name: String,
    pub condition: Condition<f64>,
    pub window: Window,
    /// Cells next to it and their faces' middles.
    pub faces: Vec<([usize; 3], [f64; 3])>,
    /// Cells next to it, with ghosts beyond its edges where they are the block's, and their faces' middles: each has two ghosts above
    /// it.
    pub wide: Vec<(usize, [f64; 3])>,
    /// The law of the wall that holds there, if one does.
    pub law: Option<WallLaw>,
}

/// A face as its cell sees it.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// The cell, and the one further in (the same where there is none).
    pub w: [State; 2],
    /// Outward area.
    pub n: [f64; 3],
    /// Volume at the wall, continued from the two cells; that of the cell.
    pub volume: f64,
    pub own: f64,
    /// Whether there is a second cell.
    pub deep: bool,
    /// The cell's distance from walls, where a law of the wall holds.
    pub distance: f64,
}

impl PatchState {
    pub fn new(
        grid: &Grid,
        name: &str,
        window: Window,
        condition: Condition<f64>,
        block: &BlockState,
    ) -> Self {
        let side = window.side;
        let nodes = &grid.blocks[window.block];
        let [u, v] = side.tangential();
        let middle = |cell: [usize; 3]| {
            let mut x = [0.0; 3];
            for (du, dv) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let mut node = cell;
                node[side.axis] = window.low[side.axis];
                node[u] += du;
                node[v] += dv;
                let p = nodes.node(node);
                x = std::array::from_fn(|c| x[c] + 0.25 * p[c]);
            }
            x
        };
        let faces = window.cells().map(|cell| (cell, middle(cell))).collect();
        // Beyond the window's edges, places go on along straight lines.
        let continued = |[a, b]: [isize; 2]| {
            let mut near = [0; 3];
            let mut steps = [0; 2];
            for (d, (i, along)) in [(a, u), (b, v)].into_iter().enumerate() {
                let inside = i.clamp(window.low[along] as isize, window.high[along] as isize - 1);
                (near[along], steps[d]) = (inside as usize, i - inside);
            }
            let at = middle(near);
            let mut x = at;
            for (step, along) in steps.into_iter().zip([u, v]) {
                if step == 0 || window.high[along] - window.low[along] < 2 {
                    continue;
                }
                let mut inner = near;
                inner[along] = if step > 0 { near[along] - 1 } else { near[along] + 1 };
                let inner = middle(inner);
                x = std::array::from_fn(|c| x[c] + step.abs() as f64 * (at[c] - inner[c]));
            }
            x
        };
        let mut wide = Vec::new();
        let g = GHOSTS as isize;
        let range = |d: usize| {
            let (low, high, last) = (window.low[d], window.high[d], block.cells.count[d]);
            let from = if low == 0 { -g } else { low as isize };
            from..if high == last { last as isize + g } else { high as isize }
        };
        for b in range(v) {
            for a in range(u) {
                let mut cell = [0; 3];
                cell[side.axis] = if side.high { block.cells.count[side.axis] as isize - 1 } else { 0 };
                (cell[u], cell[v]) = (a, b);
                wide.push((block.cells.at(cell), continued([a, b])));
            }
        }
        Self { name: name.to_owned(), condition, window, faces, wide, law: None }
    }

    /// Of a block that another rank has: no more than its condition.
    pub fn distant(name: &str, window: Window, condition: Condition<f64>) -> Self {
        let (faces, wide) = (Vec::new(), Vec::new());
        Self { name: name.to_owned(), condition, window, faces, wide, law: None }
    }

    /// That a moving wall slides along itself.
    pub fn check_motion(&self, block: &BlockState) -> Result<(), FlowError> {
        let faces = self.faces.iter().map(|(cell, x)| (*x, self.view(block, block.cells.inside(*cell)).n));
        slides(&self.name, self.condition.motion.through(faces))
    }

    /// Outward area of the face of the cell at `at`.
    pub fn area(&self, block: &BlockState, at: usize) -> [f64; 3] {
        let Side { axis, high } = self.window.side;
        let area = block.metrics.face(axis, if high { at + block.cells.stride[axis] } else { at });
        if high { area } else { area.map(|x| -x) }
    }

    /// What the cell at `at` sees of its face.
    pub fn view(&self, block: &BlockState, at: usize) -> View {
        let Side { axis, high } = self.window.side;
        let s = block.cells.stride[axis];
        let deep = block.cells.count[axis] > 1;
        let inner = match (deep, high) {
            (false, _) => at,
            (true, true) => at - s,
            (true, false) => at + s,
        };
        let [v1, v2] = [at, inner].map(|c| block.metrics.volume[c]);
        View {
            w: [block.state(at), block.state(inner)],
            n: self.area(block, at),
            volume: (1.5 * v1 - 0.5 * v2).max(0.5 * v1),
            own: v1,
            deep,
            distance: if self.law.is_some() { near_wall(block, at) } else { 0.0 },
        }
    }

    /// States of the two ghosts beyond the face of middle `x`, the nearer first.
    pub fn ghosts(&self, physics: &Physics, view: &View, x: &[f64; 3]) -> [State; 2] {
        let ghosts = ghost_states(&self.condition, physics.gas, &view.w[0], &view.w[1], &view.n, x);
        match (self.law_at(view, x), physics.transport) {
            (Some(place), Some(transport)) => law_ghosts(physics.gas, transport, place, &view.w, &ghosts),
            _ => ghosts,
        }
    }

    /// Flux out through the face of middle `x`, and the friction of the fluid on it.
    pub fn flux(&self, physics: &Physics, view: &View, x: &[f64; 3]) -> (State, [f64; 3]) {
        let ([w1, w2], n) = (&view.w, &view.n);
        let class = condition_class(&self.condition);
        if class == ConditionClass::Open {
            return (continued_flux(&self.condition, physics.gas, w1, w2, n), [0.0; 3]);
        }
        let mut at_face = *w1;
        at_face[4] = self.wall_pressure(view);
        let mut flux = flux_slip_wall(&at_face, n);
        let (ConditionClass::NoSlip, Some(transport)) = (class, physics.transport) else {
            return (flux, [0.0; 3]);
        };
        if let Some(place) = self.law_at(view, x) {
            let (taken, friction) = laws::taken(physics, &place, w1);
            for c in 0..N {
                flux[c] += taken[c];
            }
            return (flux, friction);
        }
        let (face, gradient) = self.wall_gradient(physics, view, x);
        let viscous = flux_viscous(physics.gas, transport, &face, &gradient, n);
        for c in 0..N {
            flux[c] -= viscous[c];
        }
        let mu = transport.scale * crate::gas::viscosity(transport, face[3]);
        (flux, traction(mu, &gradient, n).map(|t| -t))
    }

    /// Pressure at a wall's face.
    pub fn wall_pressure(&self, view: &View) -> f64 {
        pressure_on(&self.condition, &view.w[0], &view.w[1])
    }

    /// (u, v, w, T) at a no-slip wall and their gradient there. Under turbulent flow it is that of the first cell alone, within the
    /// sublayer, where velocities are linear: exact however cells are stretched.
    pub fn wall_gradient(&self, physics: &Physics, view: &View, x: &[f64; 3]) -> ([f64; 4], [[f64; 3]; 4]) {
        let (deep, volume) = match (physics.turbulence, view.deep) {
            (Some(_), _) => (0.0, view.own),
            (None, true) => (1.0, view.volume),
            (None, false) => (0.0, view.volume),
        };
        wall_gradient(&self.condition, physics.gas, &view.w[0], &view.w[1], &view.n, x, volume, deep)
    }

    /// Derivative of the flux out by the cell's conserved variables, column-major; without the friction of a law of the wall, see
    /// [`PatchState::law_jacobian`].
    pub fn jacobian(&self, physics: &Physics, view: &View) -> StateBlock {
        let (gas, w, n) = (physics.gas, &view.w[0], &view.n);
        let mut block = condition_flux_jacobian(&self.condition, gas, w, n);
        let class = condition_class(&self.condition);
        if let (ConditionClass::NoSlip, Some(transport)) = (class, physics.transport) {
            if self.law.is_some() {
                return block;
            }
            if physics.turbulence.is_some() {
                let by = wall_friction_block(&self.condition, gas, transport, w, n, view.own);
                block.iter_mut().zip(by).for_each(|(entry, by)| *entry -= by);
                return block;
            }
            // Three volumes' worth of the viscous radius: the slope of the wall's difference formula.
            let damping = 3.0 * crate::viscous::spectral_radius_viscous(gas, transport, w, n, view.volume);
            for c in 1..N {
                block[(N + 1) * c] += damping;
            }
        }
        block
    }
}

/// Adapts the back pressure of outlets of given mass flow ([`adapted_pressure`]); the patches of a marker are one outlet, and each sum has the order
/// of their faces.
pub(super) fn adapt_outlets(gas: Gas<f64>, patches: &mut [PatchState], blocks: &[BlockState], alone: f64) {
    for outlet in outlets(patches) {
        let sum = outlet.iter().fold([0.0; 2], |sum, &p| patches[p].add_outflow(gas, blocks, sum));
        set_pressure(gas, patches, &outlet, sum, alone);
    }
}

/// Sets the pressure of an outlet on these of its patches, none on some ranks, from the flow through all of it and its slope.
pub(super) fn set_pressure(
    gas: Gas<f64>,
    patches: &mut [PatchState],
    outlet: &[usize],
    [flow, slope]: [f64; 2],
    alone: f64,
) {
    let Some(&first) = outlet.first() else { return };
    let pressure = adapted_pressure(&patches[first].condition, gas, flow, slope, alone);
    for &p in outlet {
        patches[p].condition.outlet.pressure = pressure;
    }
}

impl PatchState {
    /// Adds what flows out through the faces of an outlet, and its slope by the pressure.
    pub fn add_outflow(
        &self,
        gas: Gas<f64>,
        blocks: &[BlockState],
        [mut flow, mut slope]: [f64; 2],
    ) -> [f64; 2] {
        let block = &blocks[self.window.block];
        for (cell, _) in &self.faces {
            let view = self.view(block, block.cells.inside(*cell));
            let [f, s] = face_flow(&self.condition, gas, &view.w[0], &view.w[1], &view.n);
            (flow, slope) = (flow + f, slope + s);
        }
        [flow, slope]
    }
}

/// Outlets of given mass flow, each with the numbers of its patches.
pub(super) fn outlets(patches: &[PatchState]) -> Vec<Vec<usize>> {
    let mut outlets: Vec<Vec<usize>> = Vec::new();
    for (p, patch) in patches.iter().enumerate().filter(|(_, p)| p.condition.mass_flow > 0.0) {
        match outlets.iter_mut().find(|outlet| patches[outlet[0]].name == patch.name) {
            Some(outlet) => outlet.push(p),
            None => outlets.push(vec![p]),
        }
    }
    outlets
}

/// Fills the ghosts of a patch, none of which depends on another of them.
pub(super) fn fill_ghosts(team: &Team, physics: &Physics, patch: &PatchState, block: &mut BlockState) {
    let Side { axis, high } = patch.window.side;
    let s = block.cells.stride[axis];
    let states =
        parallel::map(team, &patch.wide, |(at, x)| patch.ghosts(physics, &patch.view(block, *at), x));
    for (&(at, _), [first, second]) in patch.wide.iter().zip(states) {
        let (one, two) = if high { (at + s, at + 2 * s) } else { (at - s, at - 2 * s) };
        block.set(one, first);
        block.set(two, second);
    }
}

/// Adds the fluxes through a patch to the residual; the patch's pressure and friction forces go to `force`, face by face.
pub(super) fn add_fluxes(
    team: &Team,
    physics: &Physics,
    patch: &PatchState,
    block: &mut BlockState,
    mut force: impl FnMut([f64; 3], [f64; 3], f64, [f64; 3]),
) {
    let ni = block.cells.count[0];
    let wall = patch.condition.kind.is_wall();
    let faces = parallel::map(team, &patch.faces, |(cell, x)| {
        let view = patch.view(block, block.cells.inside(*cell));
        let pressure = if wall { patch.wall_pressure(&view) } else { 0.0 };
        (patch.flux(physics, &view, x), view.n, pressure)
    });
    for ((cell, middle), ((flux, friction), n, pressure)) in patch.faces.iter().zip(faces) {
        let place = block.residual_at(*cell);
        for c in 0..N {
            block.r[place + c * ni] += flux[c];
        }
        if wall {
            force(*middle, n, pressure, friction);
        }
    }
}
