//! Norms, forces, flows through markers, cells that went wrong.

use super::space::Patch;
use super::{IncompressibleSystem, Solver, residual, turbulence};
use crate::march::forces::ForceScale;
use crate::march::{Coefficients, Forces, Host, Order};
use crate::parallel;
use chromaflow_comm::Op;
use std::ops::Range;

impl IncompressibleSystem {
    /// Sums of R^2/V over the domain.
    pub(super) fn squares(&self) -> Vec<f64> {
        match &self.space.part.over {
            None => self.squares_of(0..self.space.rows),
            Some(over) => {
                over.sum_blocks(self.n, self.space.blocks.iter().map(|b| self.squares_of(b.rows())))
            }
        }
    }

    /// The same over some rows.
    fn squares_of(&self, all: Range<usize>) -> Vec<f64> {
        let n = self.n;
        parallel::reduce(
            &self.team,
            all.len(),
            |rows| {
                let rows = all.start + rows.start..all.start + rows.end;
                let mut sum = vec![0.0; n];
                let mut number = self.space.blocks.partition_point(|b| b.rows().end <= rows.start);
                for row in rows {
                    while row >= self.space.blocks[number].rows().end {
                        number += 1;
                    }
                    let block = &self.space.blocks[number];
                    let volume = block.metrics.volume[block.at(row)];
                    for (s, r) in sum.iter_mut().zip(&self.residual[row * n..(row + 1) * n]) {
                        *s += r * r / volume;
                    }
                }
                sum
            },
            |all, part: Vec<f64>| {
                all.resize(n, 0.0);
                for (a, p) in all.iter_mut().zip(part) {
                    *a += p;
                }
            },
        )
    }

    /// The first row whose residual or update is not finite.
    pub(super) fn first_bad_row(&self) -> Option<usize> {
        let n = self.n;
        let good = |row: usize| {
            let (block, cell) = self.system.place(row);
            let (residual, update) = (&self.residual[row * n..][..n], &self.update[block][cell * n..][..n]);
            residual.iter().chain(update).all(|v| v.is_finite())
        };
        (0..self.space.rows).find(|&row| !good(row))
    }

    /// Force and moment coefficients of the present state on all walls; ghost cells must be filled.
    pub(super) fn wall_forces(&self) -> Forces {
        let (scale, space) = (self.force_scale(), &self.space);
        let walls =
            space.patches.iter().enumerate().filter(|(_, patch)| patch.wall).map(|(number, patch)| {
                let (mut pressure, mut viscous) = (Coefficients::default(), Coefficients::default());
                let (block, field) = (&space.blocks[patch.block], &self.fields[patch.block]);
                for face in &patch.faces {
                    let p = 0.5 * (field[face.cell] + field[face.ghost]);
                    let eddies = turbulence::at_boundary(self.turbulence.as_ref(), patch, face);
                    let (fluid, block) = (&self.config.fluid, (block, &space.axes[..]));
                    let flux = residual::boundary_flux(fluid, block, field, (patch, face), eddies);
                    pressure.add(&scale, face.center, face.n.map(|n| p * n));
                    viscous.add(&scale, face.center, flux.friction);
                }
                (number, [pressure, viscous])
            });
        let counted = &self.config.reference.markers;
        let counts = |name: &str| counted.is_empty() || counted.iter().any(|c| c == name);
        space.part.forces(&scale, counts, walls)
    }

    /// Adds what flows out through a patch: volume, each scalar.
    fn add_outflow(&self, patch: &Patch, sum: &mut [f64]) {
        let fluid = &self.config.fluid;
        let (block, field) = (&self.space.blocks[patch.block], &self.fields[patch.block]);
        for face in &patch.faces {
            let axes = &self.space.axes;
            let volume = residual::boundary_flux(fluid, (block, axes), field, (patch, face), 0.0).inviscid[0]
                / fluid.compressibility;
            sum[0] += volume / self.space.depth;
            for (m, scalar) in fluid.scalars.iter().enumerate() {
                let (mean, slope) = residual::scalar_at_face(block, field, (patch, face), m);
                let of = (self.turbulence.as_ref(), patch, face, scalar.diffusivity);
                let diffuses = turbulence::diffusivity_at(of.0, of.1, of.2, of.3) * slope;
                sum[1 + m] += (volume * mean - diffuses) / self.space.depth;
            }
        }
    }

    pub(super) fn force_scale(&self) -> ForceScale {
        let reference = &self.config.reference;
        ForceScale {
            drag: reference.drag,
            lift: reference.lift,
            force: 0.5 * reference.velocity.powi(2) * reference.area * self.space.depth,
            length: reference.length,
            center: reference.center,
            lift_y: reference.lift[1].abs() > reference.lift[2].abs(),
            pressure: 0.0,
            turns_about: self.turns_about,
        }
    }
}

impl Solver {
    /// Force and moment coefficients of the present state on all walls; ghost cells must be filled, as they are after a
    /// step.
    pub fn forces(&self) -> Forces {
        self.host.wall_forces()
    }

    /// What flows out through a marker by time, of planar grids per depth: volume, then each scalar's transport and diffusion.
    pub fn outflow(&self, marker: &str) -> Vec<f64> {
        let (host, space, part) = (&self.host, &self.host.space, &self.host.space.part);
        let mut sum = vec![0.0; host.config.fluid.unknowns() - 3];
        let Some(share) = part.share() else {
            space
                .patches
                .iter()
                .filter(|p| p.name == marker)
                .for_each(|patch| host.add_outflow(patch, &mut sum));
            return sum;
        };
        let _ = host.tell(Order::Outflow);
        // Of each patch in its place, the others zero.
        let mut all = vec![0.0; sum.len() * part.patches.len()];
        for (patch, number) in space.patches.iter().zip(&part.numbers) {
            host.add_outflow(patch, &mut all[number * sum.len()..][..sum.len()]);
        }
        share.reduce(Op::Sum, &mut all);
        for ((name, _), of) in part.patches.iter().zip(all.chunks_exact(sum.len())) {
            if name == marker {
                sum.iter_mut().zip(of).for_each(|(sum, of)| *sum += of);
            }
        }
        sum
    }
}
