#![allow(unsafe_code)]
//! Launches of step.cu: what a step does besides gradients, fluxes and Jacobian.

use super::arguments::{
    ApplyUpdate, CheckState, CompleteResidual, HeldResidual, HoldMirrors, HoldWalls, Kernels, LawResidual,
    MirrorResidual, RefreshNodes, ResidualNorms, WallForces, WallResidual,
};
use super::{AT_HAND, Count, FlowCuda, coupled};
use crate::coupled::CoupledSystemCuda;
use crate::gpu::{blocks, source};
use crate::jacobian::cuda::ReplacedRows;
use crate::march::Moment;
use chromaflow::gpu::GpuError;
use chromaflow_device::cuda::{DeviceSlice, KernelSource};
use chromaflow_device::enqueue;

/// The kernels of step.cu.
pub(crate) fn kernel_source() -> KernelSource {
    source("step", "", include_str!("step.cu")).records::<Kernels>()
}

impl FlowCuda {
    /// Whether the step is one of Newton's, with all that the flow depends on.
    pub(super) fn steps_by_newton(&self, at: &Moment) -> bool {
        self.config.implicit.nonlinear.is_newton() && at.together
    }

    /// Back pressures of outlets of given mass flow, by the state; with `hold` the next are adapted from them.
    pub(super) fn adapt_outlets(&self, at: &Moment, hold: bool) -> Result<(), GpuError> {
        let share = self.share.as_deref();
        let how = (!self.steps_by_newton(at), hold);
        self.residual_kernels.adapt_outlets(
            &self.stream,
            &self.boundary,
            &self.params,
            &self.nodes,
            share,
            how,
        )
    }

    pub(super) fn compute_residual(&mut self, at: &Moment) -> Result<(), GpuError> {
        self.exchange_states()?;
        if self.steps_by_newton(at) {
            self.adapt_outlets(at, false)?;
        }
        self.params.damp(at.damped, at.hard)?;
        let second_order = at.is_second_order(&self.config.space);
        if second_order || self.always_gradients {
            let (stream, mesh) = (&self.stream, &self.mesh);
            self.gradient.enqueue(stream, mesh, &self.nodes, &mut self.gradients)?;
            self.gradient.enqueue_mirrored(stream, mesh, &self.mirrors, &self.nodes, &mut self.gradients)?;
        }
        self.each_coupled(at, |system, view| system.prepare(view))?;
        let (stream, mesh, params) = (&self.stream, &self.mesh, &self.params);
        let mut second = None;
        if second_order {
            let kernels = &self.residual_kernels;
            kernels.limits(stream, mesh, params, &self.nodes, &self.gradients, &mut self.limits)?;
            if let Some(share) = self.share.as_ref().filter(|_| self.turns && !self.limits.is_empty()) {
                // Factors are a row's own, in its own axes.
                share.exchange_factors(5, &self.limits.slice())?;
            }
            second = Some((&self.gradients, &self.limits));
        }
        let kernels = &self.residual_kernels;
        kernels.fluxes(stream, mesh, params, &self.nodes, second, &mut self.fluxes)?;
        if let (Some(turned), Some(second)) = (&self.turned, second) {
            kernels.turned_fluxes(stream, turned, params, &self.nodes, second, &mut self.fluxes)?;
        }
        let relation = self.coupled.iter().find_map(CoupledSystemCuda::relation);
        let eddies = [coupled::eddies(&self.coupled), relation];
        if let Some(viscous) = &self.viscous {
            viscous.subtract(stream, params, &self.nodes, eddies, &mut self.fluxes)?;
        }
        kernels.gather(stream, mesh, &self.fluxes, &mut self.residual)?;
        kernels.add_boundaries(stream, &self.boundary, params, &self.nodes, &mut self.residual)?;
        if let Some(viscous) = &self.viscous {
            let (at, by) = ((&self.boundary, params), [&self.nodes, &self.gradients]);
            viscous.subtract_open(stream, at, by, eddies[0], &mut self.residual)?;
        }
        self.complete_residual(at.time_factors())?;
        self.clear_ghosts(&self.residual)
    }

    /// Time derivative, source, nodes that are held.
    pub(super) fn complete_residual(&mut self, time: Option<[f64; 3]>) -> Result<(), GpuError> {
        let (k, n, stream) = (&self.kernels, self.mesh.rows, &self.stream);
        let levels = self.levels.as_ref().filter(|_| time.is_some());
        let [now, last, before] = time.unwrap_or([0.0; 3]);
        // SAFETY: vectors have five values a row; the nodes of lists are rows.
        unsafe {
            if levels.is_some() || self.source.is_some() || self.planar {
                let launch = k.complete_residual.launch(blocks(5 * n, 256), 256);
                enqueue! { launch, stream, CompleteResidual {
                    rows: n as u32, volumes: &self.mesh.volumes, now, last, before, q: &self.q,
                    q_last: levels.map(|l| &l[0]), q_before: levels.map(|l| &l[1]),
                    source: self.source.as_ref(), planar: u32::from(self.planar), residual: &self.residual,
                } }?;
            }
            enqueue! { k.wall_residual.launch(blocks(self.wall_nodes(), 128), 128), stream, WallResidual {
                count: self.wall_nodes() as u32, walls: &self.fixed, friction: &self.friction,
                residual: &self.residual,
            } }?;
            enqueue! { k.law_residual.launch(blocks(self.law_nodes, 128), 128), stream, LawResidual {
                count: self.law_nodes as u32, laws: &self.laws, nodes: &self.nodes,
                params: &self.params.values,
                loads: self.friction.part(4 * self.wall_nodes()..self.friction.len()),
                residual: &self.residual,
            } }?;
            let mirrors = k.mirror_residual.launch(blocks(self.mirrors.count, 128), 128);
            enqueue! { mirrors, stream, MirrorResidual {
                count: self.mirrors.count as u32, mirrors: &self.mirrors.nodes, residual: &self.residual,
            } }?;
            enqueue! { k.held_residual.launch(blocks(self.held.len(), 128), 128), stream, HeldResidual {
                count: self.held.len() as u32, node_of: &self.held, residual: &self.residual,
            } }?;
        }
        Ok(())
    }

    /// Norms and forces.
    pub(super) fn measure(&mut self) -> Result<(), GpuError> {
        let (k, n, stream, walls) = (&self.kernels, self.mesh.rows, &self.stream, &self.walls);
        let [cx, cy, cz] = walls.walls.scale.center;
        // SAFETY: partial sums have room for five (twelve) numbers a thread block.
        unsafe {
            enqueue! { k.residual_norms.launch(self.sums.norm_blocks(), 256), stream, ResidualNorms {
                rows: n as u32, residual: &self.residual, volumes: &self.mesh.volumes, nodes: &self.nodes,
                partials: &self.sums.norms, first_bad: self.count(Count::BadResidual),
            } }?;
            enqueue! { self.sums.over_walls(&k.wall_forces), stream, WallForces {
                parts: &self.sums.parts, faces: &walls.nodes, areas: &walls.areas, normals: &walls.normals, nodes: &self.nodes,
                friction: &self.friction, free_pressure: walls.walls.scale.pressure, cx, cy, cz,
                partials: &self.sums.forces,
            } }?;
        }
        self.sums.add_up(stream, &k.add_parts)
    }

    pub(super) fn assemble(&mut self, cfl: f64, shift: f64) -> Result<(), GpuError> {
        let replaced = ReplacedRows {
            walls: (self.wall_nodes(), &self.fixed),
            laws: (self.law_nodes, &self.laws),
            mirrors: (self.mirrors.count, &self.mirrors.nodes),
            held: &self.held,
        };
        // Rows that are replaced later lose values that the search must not see.
        let replaced_none = self.friction.len() + self.mirrors.count + self.held.len() == 0;
        let target = self.linear.as_mut().expect(AT_HAND).target(replaced_none)?;
        self.assembly.assemble(
            &self.stream,
            &self.mesh,
            &self.boundary,
            &self.params,
            (&self.nodes, coupled::eddies(&self.coupled)),
            (cfl, &self.cfl_shares, shift),
            &replaced,
            &target,
        )
    }

    pub(super) fn apply_update(&mut self) -> Result<(), GpuError> {
        // Cuts are counted where rows are owned; ghosts follow them.
        self.clear_ghosts(&self.update)?;
        let (k, n, stream) = (&self.kernels, self.mesh.rows, &self.stream);
        // SAFETY: vectors have five values a row, nodes eight; the nodes of lists are rows.
        unsafe {
            enqueue! { k.apply_update.launch(blocks(n, 128), 128), stream, ApplyUpdate {
                rows: n as u32, x: &self.update, params: &self.params.values, planar: u32::from(self.planar),
                q: &self.q, last_good: &self.last_good, nodes: &self.nodes, cfl_shares: &self.cfl_shares,
                limited: self.count(Count::Limited),
            } }?;
            self.hold_walls()?;
            enqueue! { k.check_state.launch(blocks(n, 128), 128), stream, CheckState {
                rows: n as u32, q: &self.q, nodes: &self.nodes, first_bad: self.count(Count::BadState),
            } }?;
        }
        Ok(())
    }

    /// Gives nodes on walls without slip the velocity, and where it is given the temperature, of their wall, and takes from those on planes
    /// of symmetry what momentum points out of them.
    pub(super) fn hold_walls(&self) -> Result<(), GpuError> {
        let walls = self.kernels.hold_walls.launch(blocks(self.wall_nodes(), 128), 128);
        let mirrors = self.kernels.hold_mirrors.launch(blocks(self.mirrors.count, 128), 128);
        // SAFETY: the nodes of the lists are rows; five values and a record of eight a row.
        Ok(unsafe {
            enqueue! { walls, &self.stream, HoldWalls {
                count: self.wall_nodes() as u32, walls: &self.fixed, params: &self.params.values, q: &self.q,
                nodes: &self.nodes,
            } }?;
            enqueue! { mirrors, &self.stream, HoldMirrors {
                count: self.mirrors.count as u32, mirrors: &self.mirrors.nodes, params: &self.params.values,
                q: &self.q, nodes: &self.nodes,
            } }
        }?)
    }

    pub(super) fn refresh_nodes(&mut self) -> Result<(), GpuError> {
        let n = self.mesh.rows;
        // SAFETY: five values and a record of eight a row.
        Ok(unsafe {
            enqueue! { self.kernels.refresh_nodes.launch(blocks(n, 128), 128), &self.stream, RefreshNodes {
                rows: n as u32, q: &self.q, params: &self.params.values, nodes: &self.nodes,
            } }
        }?)
    }

    /// Nodes on walls without slip.
    pub(super) fn wall_nodes(&self) -> usize {
        self.friction.len() / 4 - self.law_nodes
    }

    /// A counter on the device.
    pub(super) fn count(&self, which: Count) -> DeviceSlice<'_, u32> {
        self.counts.part(which as usize..which as usize + 1)
    }

    pub(super) fn first(&self, which: Count) -> Option<usize> {
        let found = self.host_counts[which as usize];
        (found != u32::MAX).then_some(found as usize)
    }
}
