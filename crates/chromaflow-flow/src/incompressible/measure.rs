//! Norms, forces, flows through markers, cells that went wrong.

use super::Solver;
use super::report::BadCell;
use super::residual;
use crate::march::forces::ForceScale;
use crate::march::{Coefficients, Forces, MarkerForces};
use crate::parallel;

impl Solver {
    pub(super) fn norms(&self) -> Vec<f64> {
        let n = self.n;
        let sum = parallel::reduce(
            &self.team,
            self.space.rows,
            |rows| {
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
        );
        sum.into_iter().map(|s: f64| (s / self.space.volume).sqrt()).collect()
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

    pub(super) fn first_bad(&self) -> Option<BadCell> {
        self.first_bad_row().map(|row| self.bad_cell(row))
    }

    pub(super) fn bad_cell(&self, row: usize) -> BadCell {
        let number = self.space.blocks.partition_point(|b| b.rows().end <= row);
        let block = &self.space.blocks[number];
        let (at, len) = (block.at(row), block.cells.len());
        BadCell {
            block: number,
            cell: block.cells.cell(at).map(|i| i as usize),
            at: std::array::from_fn(|c| block.metrics.center[c][at]),
            state: (0..self.n).map(|c| self.fields[number][c * len + at]).collect(),
        }
    }

    /// Force and moment coefficients of the present state on all walls; ghost cells must be filled, as they are after a
    /// step.
    pub fn forces(&self) -> Forces {
        let scale = self.force_scale();
        let walls = self.space.patches.iter().filter(|p| p.wall).map(|patch| {
            let (mut pressure, mut viscous) = (Coefficients::default(), Coefficients::default());
            let (block, field) = (&self.space.blocks[patch.block], &self.fields[patch.block]);
            for face in &patch.faces {
                let p = 0.5 * (field[face.cell] + field[face.ghost]);
                let flux = residual::boundary_flux(&self.config.fluid, block, field, face);
                pressure.add(&scale, face.center, face.n.map(|n| p * n));
                viscous.add(&scale, face.center, flux.friction);
            }
            (pressure, viscous)
        });
        self.forces_of(&scale, walls)
    }

    pub(super) fn force_scale(&self) -> ForceScale {
        let reference = &self.config.reference;
        ForceScale {
            drag: reference.drag,
            lift: reference.lift,
            force: 0.5 * reference.velocity.powi(2) * reference.area,
            length: reference.length,
            center: reference.center,
            lift_y: reference.lift[1].abs() > reference.lift[2].abs(),
            pressure: 0.0,
        }
    }

    /// Markers and totals from pressure and friction of each patch of the walls.
    pub(super) fn forces_of(
        &self,
        scale: &ForceScale,
        walls: impl Iterator<Item = (Coefficients, Coefficients)>,
    ) -> Forces {
        let counted = &self.config.reference.markers;
        let mut all = Forces::default();
        for (patch, (pressure, viscous)) in self.space.patches.iter().filter(|p| p.wall).zip(walls) {
            if counted.is_empty() || counted.contains(&patch.name) {
                all.pressure.merge(scale, &pressure);
                all.viscous.merge(scale, &viscous);
            }
            match all.markers.iter_mut().find(|m| m.name == patch.name) {
                Some(marker) => {
                    marker.pressure.merge(scale, &pressure);
                    marker.viscous.merge(scale, &viscous);
                }
                None => all.markers.push(MarkerForces { name: patch.name.clone(), pressure, viscous }),
            }
        }
        all.total.merge(scale, &all.pressure.clone());
        all.total.merge(scale, &all.viscous.clone());
        all
    }

    /// What flows out through a marker by time: volume, then each scalar's transport and diffusion.
    pub fn outflow(&self, marker: &str) -> Vec<f64> {
        let fluid = &self.config.fluid;
        let mut sum = vec![0.0; self.n - 3];
        for patch in self.space.patches.iter().filter(|p| p.name == marker) {
            let (block, field) = (&self.space.blocks[patch.block], &self.fields[patch.block]);
            let len = block.cells.len();
            for face in &patch.faces {
                let volume =
                    residual::boundary_flux(fluid, block, field, face).inviscid[0] / fluid.compressibility;
                sum[0] += volume;
                for (m, scalar) in fluid.scalars.iter().enumerate() {
                    let (mean, slope) = residual::at_face(block, &field[(4 + m) * len..(5 + m) * len], face);
                    sum[1 + m] += volume * mean - scalar.diffusivity * slope;
                }
            }
        }
        sum
    }
}
