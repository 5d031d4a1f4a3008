//! The boundary: states beyond it, fluxes through it, and their derivatives.

use super::block::BlockState;
use super::residual::Physics;
use crate::bc::{
    Inlet, bc_farfield, bc_farfield_jacobian, bc_inlet, bc_inlet_jacobian, bc_outlet, bc_outlet_jacobian,
    flux_slip_wall, flux_slip_wall_jacobian, flux_through, flux_through_jacobian,
};
use crate::config::Boundary;
use crate::flux::flux_jacobian;
use crate::gas::{Gas, temperature};
use crate::grid::{GHOSTS, Grid, Side, Window};
use crate::viscous::{flux_viscous, traction};

/// A patch with what its faces need.
#[derive(Clone, Debug)]
pub(super) struct PatchState {
    pub name: String,
    pub condition: Boundary,
    pub window: Window,
    /// The free stream.
    pub free: [f64; 5],
    /// Cells next to it and their faces' middles.
    pub faces: Vec<([usize; 3], [f64; 3])>,
    /// Cells next to it, with ghosts beyond its edges where they are the block's: each has two ghosts above it.
    pub wide: Vec<usize>,
}

/// A face as its cell sees it.
#[derive(Clone, Copy)]
pub(super) struct View {
    /// The cell, and the one further in (the same where there is none).
    pub w: [[f64; 5]; 2],
    /// Outward area.
    pub n: [f64; 3],
    /// Volume at the wall, continued from the two cells.
    pub volume: f64,
    /// Whether there is a second cell.
    pub deep: bool,
}

impl PatchState {
    pub fn new(
        grid: &Grid,
        name: &str,
        window: Window,
        condition: Boundary,
        free: [f64; 5],
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
                wide.push(block.cells.at(cell));
            }
        }
        Self { name: name.to_owned(), condition, window, free, faces, wide }
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
        let area = block.metrics.face(axis, if high { at + s } else { at });
        let [v1, v2] = [at, inner].map(|c| block.metrics.volume[c]);
        View {
            w: [block.state(at), block.state(inner)],
            n: if high { area } else { area.map(|x| -x) },
            volume: (1.5 * v1 - 0.5 * v2).max(0.5 * v1),
            deep,
        }
    }

    /// The state at the face itself.
    fn face_state(&self, physics: &Physics, view: &View) -> [f64; 5] {
        let gas = physics.gas;
        let inside = continued(&view.w, 0.5);
        match self.condition {
            Boundary::Farfield => bc_farfield(gas, &inside, &self.free, &view.n),
            Boundary::Inlet { total_pressure, total_temperature, direction } => {
                let inlet = Inlet::new(gas, total_pressure, total_temperature, direction);
                bc_inlet(gas, &inside, inlet, &view.n)
            }
            Boundary::Outlet { pressure } => bc_outlet(gas, &inside, pressure / gas.gamma, &view.n),
            _ => inside,
        }
    }

    /// States of the two ghosts, the nearer first.
    pub fn ghosts(&self, physics: &Physics, view: &View) -> [[f64; 5]; 2] {
        let [w1, w2] = view.w;
        match self.condition {
            Boundary::Symmetry => [mirrored(&w1, &view.n), mirrored(&w2, &view.n)],
            Boundary::SlipWall => {
                let first = continued(&view.w, 1.0);
                [first, continued(&[first, w1], 1.0)]
            }
            Boundary::NoSlipAdiabatic => [w1, w2].map(|w| [w[0], -w[1], -w[2], -w[3], w[4]]),
            Boundary::NoSlipIsothermal { temperature: wall } => [w1, w2].map(|w| {
                let t = temperature(physics.gas, &w);
                let ghost = (2.0 * wall - t).max(0.5 * t).min(2.0 * t);
                [physics.gas.gamma * w[4] / ghost, -w[1], -w[2], -w[3], w[4]]
            }),
            _ => {
                let face = self.face_state(physics, view);
                let first = continued(&[face, w1], 1.0);
                [first, continued(&[first, face], 1.0)]
            }
        }
    }

    /// Flux out through the face, and the friction of the fluid on it.
    pub fn flux(&self, physics: &Physics, view: &View) -> ([f64; 5], [f64; 3]) {
        let mut at_face = view.w[0];
        match self.condition {
            Boundary::SlipWall | Boundary::Symmetry => at_face[4] = self.wall_pressure(view),
            Boundary::NoSlipAdiabatic | Boundary::NoSlipIsothermal { .. } => {
                at_face[4] = self.wall_pressure(view);
                let mut flux = flux_slip_wall(&at_face, &view.n);
                let Some(transport) = physics.transport else { return (flux, [0.0; 3]) };
                let (face, gradient) = self.wall_gradient(physics.gas, view);
                let viscous = flux_viscous(physics.gas, transport, &face, &gradient, &view.n);
                for c in 0..5 {
                    flux[c] -= viscous[c];
                }
                let mu = transport.scale * crate::gas::viscosity(transport, face[3]);
                return (flux, traction(mu, &gradient, &view.n).map(|t| -t));
            }
            _ => {
                let wb = self.face_state(physics, view);
                return (flux_through(physics.gas, &wb, &view.n), [0.0; 3]);
            }
        }
        (flux_slip_wall(&at_face, &view.n), [0.0; 3])
    }

    /// Pressure at the face: continued from the two cells at slip walls; even across symmetry planes and no-slip walls.
    pub fn wall_pressure(&self, view: &View) -> f64 {
        let [p1, p2] = [view.w[0][4], view.w[1][4]];
        let share = if self.condition == Boundary::SlipWall { 0.5 } else { 0.125 };
        (p1 + share * (p1 - p2)).max(0.5 * p1).min(2.0 * p1)
    }

    /// (u, v, w, T) at a no-slip wall and their gradient there, from differences of second order across the wall.
    fn wall_gradient(&self, gas: Gas<f64>, view: &View) -> ([f64; 4], [[f64; 3]; 4]) {
        let [t1, t2] = view.w.map(|w| temperature(gas, &w));
        let wall = match self.condition {
            Boundary::NoSlipIsothermal { temperature } => temperature,
            // No slope at the wall.
            _ if view.deep => (9.0 * t1 - t2) / 8.0,
            _ => t1,
        };
        let at_wall = [0.0, 0.0, 0.0, wall];
        let cells = view.w.map(|w| [w[1], w[2], w[3], temperature(gas, &w)]);
        let mut gradient = [[0.0; 3]; 4];
        for i in 0..4 {
            // Inward derivative by the index at 0 from values at 0, 1/2 and 3/2.
            let slope = if view.deep {
                (9.0 * cells[0][i] - cells[1][i] - 8.0 * at_wall[i]) / 3.0
            } else {
                2.0 * (cells[0][i] - at_wall[i])
            };
            for k in 0..3 {
                gradient[i][k] = -slope * view.n[k] / view.volume;
            }
        }
        if self.condition == Boundary::NoSlipAdiabatic {
            gradient[3] = [0.0; 3];
        }
        (at_wall, gradient)
    }

    /// Derivative of the flux out by the cell's conserved variables, column-major.
    pub fn jacobian(&self, physics: &Physics, view: &View) -> [f64; 25] {
        let (gas, w, n) = (physics.gas, &view.w[0], &view.n);
        match self.condition {
            Boundary::SlipWall | Boundary::Symmetry => flux_slip_wall_jacobian(gas, w, n),
            Boundary::NoSlipAdiabatic | Boundary::NoSlipIsothermal { .. } => {
                let mut block = flux_slip_wall_jacobian(gas, w, n);
                if let Some(transport) = physics.transport {
                    // Three volumes' worth of the viscous radius: the slope of the wall's difference formula.
                    let volume = view.volume;
                    let damping = 3.0 * crate::viscous::spectral_radius_viscous(gas, transport, w, n, volume);
                    for c in 1..5 {
                        block[6 * c] += damping;
                    }
                }
                block
            }
            Boundary::Farfield => {
                let wb = bc_farfield(gas, w, &self.free, n);
                flux_through_jacobian(gas, w, &wb, &bc_farfield_jacobian(gas, w, &self.free, n), n)
            }
            Boundary::Inlet { total_pressure, total_temperature, direction } => {
                let inlet = Inlet::new(gas, total_pressure, total_temperature, direction);
                let wb = bc_inlet(gas, w, inlet, n);
                flux_through_jacobian(gas, w, &wb, &bc_inlet_jacobian(gas, w, inlet, n), n)
            }
            Boundary::Outlet { pressure } => {
                let back = pressure / gas.gamma;
                let wb = bc_outlet(gas, w, back, n);
                flux_through_jacobian(gas, w, &wb, &bc_outlet_jacobian(gas, w, back, n), n)
            }
            Boundary::Extrapolation => flux_jacobian(gas, w, n),
        }
    }
}

/// w1 + share (w1 - w2), density and pressure kept within a factor of two.
fn continued([w1, w2]: &[[f64; 5]; 2], share: f64) -> [f64; 5] {
    let mut w: [f64; 5] = std::array::from_fn(|c| w1[c] + share * (w1[c] - w2[c]));
    for c in [0, 4] {
        w[c] = w[c].max(0.5 * w1[c]).min(2.0 * w1[c]);
    }
    w
}

/// The state's mirror image in a plane of this normal.
fn mirrored(w: &[f64; 5], n: &[f64; 3]) -> [f64; 5] {
    let area2 = (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).max(1e-300);
    let twice = 2.0 * (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area2;
    [w[0], w[1] - twice * n[0], w[2] - twice * n[1], w[3] - twice * n[2], w[4]]
}

/// Fills the ghosts of a patch.
pub(super) fn fill_ghosts(physics: &Physics, patch: &PatchState, block: &mut BlockState) {
    let Side { axis, high } = patch.window.side;
    let s = block.cells.stride[axis];
    for &at in &patch.wide {
        let view = patch.view(block, at);
        let [first, second] = patch.ghosts(physics, &view);
        let (one, two) = if high { (at + s, at + 2 * s) } else { (at - s, at - 2 * s) };
        block.set(one, first);
        block.set(two, second);
    }
}

/// Adds the fluxes through a patch to the residual; the patch's pressure and friction forces go to `force`, face by face.
pub(super) fn add_fluxes(
    physics: &Physics,
    patch: &PatchState,
    block: &mut BlockState,
    mut force: impl FnMut([f64; 3], [f64; 3], f64, [f64; 3]),
) {
    let ni = block.cells.count[0];
    for (cell, middle) in &patch.faces {
        let at = block.cells.inside(*cell);
        let view = patch.view(block, at);
        let (flux, friction) = patch.flux(physics, &view);
        let place = block.residual_at(*cell);
        for c in 0..5 {
            block.r[place + c * ni] += flux[c];
        }
        if patch.condition.is_wall() {
            force(*middle, view.n, patch.wall_pressure(&view), friction);
        }
    }
}
