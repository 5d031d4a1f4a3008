//! An explicit step: balances of cells, what they give their nodes, coarse grids, the boundary.

use super::super::block::each_row;
use super::block::NodeBlock;
use super::cells::{Balance, Changes, KEPT, STEP};
use super::nodes::{Gather, SUMS};
use super::{LaxWendroffSystem, boundary};
use crate::equations::perfect_gas::N;
use crate::gas::primitive;
use crate::grid::GHOSTS;
use crate::march::{Coefficients, Forces, Moment, Part, Times};
use crate::parallel;
use crate::real::dispatch;
use chromaflow_device::Isa;

impl LaxWendroffSystem {
    /// A step by this process's threads.
    pub(super) fn step_here(&mut self, at: &Moment, times: &mut Times) {
        for block in &mut self.blocks {
            let q = &block.q;
            parallel::rows(&self.team, q.len(), 1, &mut block.last_good, |part, out| {
                out.copy_from_slice(&q[part]);
            });
        }
        let courant = at.cfl;
        let Some(dt) = at.bdf.map(|bdf| bdf.dt) else {
            return self.explicit(courant, None, false, at.coarse_grids, times);
        };
        times.timed(Part::Residual, || self.balance(courant));
        let parts = (dt / self.smallest_step()).ceil().clamp(1.0, 1e6);
        for part in 0..parts as usize {
            self.explicit(courant, Some(dt / parts), part == 0, 0, times);
        }
    }

    /// One explicit step, with local time steps or the given one, and so many coarse grids at most.
    fn explicit(&mut self, courant: f64, dt: Option<f64>, balanced: bool, coarse: usize, times: &mut Times) {
        times.timed(Part::Residual, || {
            if !balanced {
                self.balance(courant);
            }
            self.distribute(dt);
        });
        times.timed(Part::Misc, || self.update());
        if coarse > 0 && !self.levels.is_empty() {
            times.timed(Part::Assembly, || self.carry_on(courant, coarse));
        }
    }

    /// The changes of the fine grid on the first `coarse` coarse ones.
    fn carry_on(&mut self, courant: f64, coarse: usize) {
        let change = |block: &NodeBlock| {
            let n = N * block.nodes.len();
            block.q[..n].iter().zip(&block.last_good[..n]).map(|(new, old)| new - old).collect::<Vec<f64>>()
        };
        let mut changes: Vec<Vec<f64>> = self.blocks.iter().map(change).collect();
        let mut shapes: Vec<_> = self.blocks.iter().map(|b| b.nodes).collect();
        for level in self.levels.iter_mut().take(coarse) {
            let what = (self.gas, courant);
            changes = level.carry(&self.team, what, &changes, &shapes, &mut self.blocks);
            shapes = level.shapes();
        }
        self.close_boundary();
    }

    /// Ghosts, balances and time steps of all cells; forces on the walls.
    pub(super) fn balance(&mut self, courant: f64) {
        for patch in &self.patches {
            boundary::continue_beyond(patch, &mut self.blocks[patch.window.block]);
        }
        self.shared_nodes.fill(&mut self.blocks);
        let (gas, transport) = (self.gas, self.transport);
        for block in &mut self.blocks {
            let mut kept = std::mem::take(&mut block.kept);
            let (rows, width) = (block.cells.count[1] * block.cells.count[2], KEPT * block.wide());
            let me = &*block;
            parallel::rows(&self.team, rows, width, &mut kept[..rows * width], |rows, out| {
                dispatch(Isa::detect(), Balance { block: me, gas, transport, courant, rows, out });
            });
            block.kept = kept;
        }
        let mut walls = Vec::new();
        for patch in &self.patches {
            let block = &mut self.blocks[patch.window.block];
            if !patch.counts(block) {
                continue;
            }
            let wide = block.wide();
            let mut pressure = Coefficients::default();
            let mut friction = Coefficients::default();
            let faces: Vec<_> = patch.faces(&self.grid, block).collect();
            for face in faces {
                let (w, flux) = patch.flux(gas, block, &face);
                let at = block.kept_at(face.cell);
                for c in 0..N {
                    block.kept[at + c * wide] += flux[c];
                }
                let push = w[4] - self.scale.pressure;
                pressure.add(&self.scale, face.middle, face.area.map(|v| push * v));
                if let (true, Some(transport)) = (patch.condition.kind.is_no_slip(), transport) {
                    friction.add(&self.scale, face.middle, face.friction(gas, transport, block));
                }
            }
            if patch.condition.kind.is_wall() {
                walls.push((patch.name.as_str(), pressure, friction));
            }
        }
        self.forces = Forces::of_walls(&self.scale, |wall| self.config.reference.counts(wall), walls);
    }

    /// The smallest local time step.
    fn smallest_step(&self) -> f64 {
        let mut least = f64::INFINITY;
        for block in &self.blocks {
            let (ni, wide) = (block.cells.count[0], block.wide());
            for row in block.kept.chunks_exact(KEPT * wide) {
                least = row[STEP * wide + 1..][..ni].iter().fold(least, |m, &v| m.min(v));
            }
        }
        least
    }

    /// Changes of the cells, given to their corners, with smoothing.
    pub(super) fn distribute(&mut self, step: Option<f64>) {
        let (gas, transport, dissipation) = (self.gas, self.transport, self.dissipation);
        for block in &mut self.blocks {
            let mut kept = std::mem::take(&mut block.kept);
            let (rows, width) = (block.cells.count[1] * block.cells.count[2], KEPT * block.wide());
            let me = &*block;
            parallel::rows(&self.team, rows, width, &mut kept[..rows * width], |rows, kept| {
                dispatch(
                    Isa::detect(),
                    Changes { block: me, gas, transport, step, carries: false, rows, kept },
                );
            });
            block.kept = kept;
            let mut sums = std::mem::take(&mut block.sums);
            let [pi, pj, pk] = block.nodes.count;
            let me = &*block;
            parallel::rows(&self.team, pj * pk, SUMS * pi, &mut sums, |rows, out| {
                dispatch(Isa::detect(), Gather { block: me, dissipation, rows, out });
            });
            block.sums = sums;
        }
        for patch in &self.patches {
            let block = &mut self.blocks[patch.window.block];
            if patch.counts(block) {
                patch.drop_second_order(&self.grid, block, gas, false);
            }
        }
        self.shared_nodes.join_sums(&mut self.blocks);
    }

    /// New states of all nodes, then of those on the boundary.
    fn update(&mut self) {
        for block in &mut self.blocks {
            let ([pi, pj, _], n) = (block.nodes.count, N * block.nodes.len());
            let mut q = std::mem::take(&mut block.q);
            let me = &*block;
            each_row(&self.team, me.nodes, &mut q[..n], |row, parts| {
                let place = [0, row % pj, row / pj];
                let (from, volumes) = (me.sum_at(place), &me.volume[me.number(place)..]);
                let steps = &me.sums[from + N * pi..][..pi];
                for (c, q) in parts.iter_mut().enumerate() {
                    let sums = me.sums[from + c * pi..][..pi].iter().zip(steps);
                    for ((q, (sum, dt)), volume) in q.iter_mut().zip(sums).zip(volumes) {
                        *q += dt * sum / volume;
                    }
                }
            });
            block.q = q;
        }
        self.close_boundary();
    }

    /// States of the nodes on the boundary, pressures of all.
    fn close_boundary(&mut self) {
        for point in &self.points {
            let (b, at) = point.copies[0];
            let q = point.state(self.gas, &self.blocks[b].state(at));
            for &(b, at) in &point.copies {
                let block = &mut self.blocks[b];
                let len = block.nodes.len();
                for c in 0..N {
                    block.q[c * len + at] = q[c];
                }
            }
        }
        self.pressures();
    }

    /// The sixth component.
    pub(super) fn pressures(&mut self) {
        let gas = self.gas;
        for block in &mut self.blocks {
            let nodes = block.nodes;
            let (states, pressure) = block.q.split_at_mut(N * nodes.len());
            let (width, rows) = (nodes.stride[1], nodes.len() / nodes.stride[1]);
            let edge = GHOSTS..GHOSTS + nodes.count[0];
            parallel::rows(&self.team, rows, width, &mut pressure[..rows * width], |rows, out| {
                for (row, out) in rows.zip(out.chunks_exact_mut(width)) {
                    for i in edge.clone() {
                        let q = std::array::from_fn(|c| states[c * nodes.len() + row * width + i]);
                        out[i] = primitive(gas, &q)[4];
                    }
                }
            });
        }
    }
}
