//! Velocities in the cells of a block of a structured grid as models of turbulence see them, whatever the equations of the flow: gradients, quadratic constitutive
//! relations, strain along the flow. Twin: velocities.cuh.

use super::spalart_allmaras::strain_rates;
use crate::config::Quadratic;
use crate::grid::Metrics;
use crate::viscous::{flux_quadratic, flux_quadratic_2020};

/// The same for kernels, behind common.cuh.
#[cfg(feature = "cuda")]
pub(crate) const VELOCITIES: &str = include_str!("velocities.cuh");

/// Velocities of a block.
#[derive(Clone, Copy)]
pub(crate) struct Velocities<'a> {
    pub metrics: &'a Metrics,
    /// Axes along which anything happens.
    pub active: [bool; 3],
    /// Components one after another over cells and ghosts, behind one that is none of them.
    pub state: &'a [f64],
}

/// What the stress has besides that of an eddy viscosity; arrays over cells and ghosts.
#[derive(Clone, Copy)]
pub(crate) struct Relation<'a> {
    pub quadratic: Quadratic,
    pub viscosity: &'a [f64],
    /// Of QCR2020, fw as its constants have it.
    pub fw: &'a [f64],
    /// Whether gradients at faces have the changes along them.
    pub full: bool,
}

impl Velocities<'_> {
    fn at(&self, at: usize) -> [f64; 3] {
        let len = self.metrics.cells.len();
        std::array::from_fn(|c| self.state[(1 + c) * len + at])
    }

    /// Sum of the areas of a cell's two faces along an axis.
    fn areas(&self, axis: usize, at: usize) -> [f64; 3] {
        let (low, high) =
            (self.metrics.face(axis, at), self.metrics.face(axis, at + self.metrics.cells.stride[axis]));
        std::array::from_fn(|c| low[c] + high[c])
    }

    /// d(u, v, w)_i / dx_k of a cell, from the means of both cells at each face.
    pub fn gradient(&self, at: usize) -> [[f64; 3]; 3] {
        let mut gradient = [[0.0; 3]; 3];
        for axis in (0..3).filter(|&axis| self.active[axis]) {
            let (s, area) = (self.metrics.cells.stride[axis], self.areas(axis, at));
            let (before, after) = (self.at(at - s), self.at(at + s));
            for i in 0..3 {
                let change = 0.25 * (after[i] - before[i]) / self.metrics.volume[at];
                (0..3).for_each(|k| gradient[i][k] += change * area[k]);
            }
        }
        gradient
    }

    /// The mean of the gradients of those cells at some places that are the block's own.
    pub fn mean_gradient(&self, places: [usize; 8]) -> [[f64; 3]; 3] {
        let (mut sum, mut count) = ([[0.0; 3]; 3], 0.0);
        for at in places.into_iter().filter(|&at| self.metrics.cells.number(at).is_some()) {
            let own = self.gradient(at);
            count += 1.0;
            (0..3).for_each(|i| (0..3).for_each(|k| sum[i][k] += own[i][k]));
        }
        sum.map(|row| row.map(|g| g / f64::max(count, 1.0)))
    }

    /// Volume through the area `n` between two cells, by the mean of their velocities.
    pub fn passing(&self, a: usize, b: usize, n: &[f64; 3]) -> f64 {
        let (a, b) = (self.at(a), self.at(b));
        (0..3).map(|c| 0.5 * (a[c] + b[c]) * n[c]).sum()
    }

    /// DS_ij/Dt of a cell in steady flow: the sum over its faces that are no boundary of U (S_j - S_i) / 2 over the volume, U the volume that leaves; `next` is the cell beyond a side
    /// and the area towards it.
    pub fn change_of_strain(&self, at: usize, next: impl Fn(usize) -> Option<(usize, [f64; 3])>) -> [f64; 6] {
        let (own, mut change) = (strain_rates(&self.gradient(at)), [0.0; 6]);
        for (beyond, n) in (0..6).filter_map(next) {
            let leaving = 0.5 * self.passing(at, beyond, &n) / self.metrics.volume[at];
            let there = strain_rates(&self.gradient(beyond));
            (0..6).for_each(|c| change[c] += leaving * (there[c] - own[c]));
        }
        change
    }

    /// What the relation adds to the viscous flux from one cell to the next along an axis through the area `n`: nothing of mass, momentum, its work. The gradient at the face is
    /// the difference across it over the mean volume, with the means of both cells' changes along the other axes.
    pub fn quadratic_flux(
        &self,
        relation: &Relation<'_>,
        axis: usize,
        places: [usize; 2],
        n: &[f64; 3],
    ) -> [f64; 5] {
        if n.iter().all(|n| *n == 0.0) {
            return [0.0; 5];
        }
        let volume = &self.metrics.volume;
        let [own, other] = places.map(|at| self.at(at));
        let mean = |values: &[f64]| 0.5 * (values[places[0]] + values[places[1]]);
        let (size, mut gradient) = (mean(volume), [[0.0; 3]; 4]);
        for i in 0..3 {
            for k in 0..3 {
                gradient[i][k] = (other[i] - own[i]) * n[k] / size;
            }
        }
        for at in places.into_iter().filter(|_| relation.full) {
            for along in (0..3).filter(|&along| along != axis && self.active[along]) {
                let s = self.metrics.cells.stride[along];
                let (before, after) = (self.at(at - s), self.at(at + s));
                let both = self.areas(along, at);
                for i in 0..3 {
                    for k in 0..3 {
                        gradient[i][k] += (after[i] - before[i]) * (0.125 * both[k] / volume[at]);
                    }
                }
            }
        }
        let face = std::array::from_fn(|c| if c < 3 { 0.5 * (own[c] + other[c]) } else { 0.0 });
        let viscosity = mean(relation.viscosity);
        if relation.quadratic == Quadratic::Qcr2020 {
            flux_quadratic_2020(viscosity, mean(relation.fw), &face, &gradient, n)
        } else {
            flux_quadratic(viscosity, &face, &gradient, n)
        }
    }
}
