//! Turbulence models: further unknowns of each cell, in the same matrix.
//!
//! | file | |
//! |---|---|
//! | `terms.rs` | sources and viscosities of cells, eight at once |
//! | `faces.rs` | what passes faces between cells, and its part of the matrix |
//! | `boundary.rs` | ghosts, what passes the boundary, and its part of the matrix |
//! | `laws.rs` | laws of the wall |
//! | `start.rs` | from a set-up to the state at the beginning |
//! | `output.rs` | fields, friction, y+ |
//!
//! **Space**, of cell i with neighbors j, phi nut, k or omega: U the volume that leaves through their face by the pressure's equation,
//! ```text
//! R_i = sum of min(U, 0) (phi_j - phi_i) - Gamma grad phi . n,  less V_i times the source
//! ```
//! a constant phi stays, whatever the flow does. Of nut Gamma takes |grad nut|^2 along and is the cell's own, see [`sa_diffusivity`]; of k and
//! omega it is the mean of both cells', and what skewed grids add to the difference across the face is bounded as [`skew_of_positive`] has it. Momentum has the
//! stress of the mean of both cells' eddy viscosities, nu_t (grad u + (grad u)^T) n, without 2/3 k; scalars diffuse by nu_t over the turbulent Prandtl number besides.
//!
//! **Hybrids** of RANS and large eddy simulation have their length in the sources, as on meshes; the grid's are the longest edge of a cell, its extent along the normal of the nearest wall, and
//! the ways from its middle to its corners.
//!
//! **Boundaries**: at walls nut = 0, k = 0 and Menter's omega, [`k_omega_wall`], by the center of the cell next to it; what enters through open boundaries has the values of
//! [`TurbulenceConfig`](crate::config::TurbulenceConfig), and nothing diffuses through these, planes of symmetry included.
//!
//! **Matrix**: for each unknown the first-order scheme with Gamma held fixed, an M-matrix; the derivative by the flow of the volumes that carry it; the exact derivative
//! of k's source by k and by omega, those of omega's by omega and of nut's by nut where they add to the diagonal; the derivative of momentum's stress by the model's unknowns.
//!
//! **Units**: residuals and updates of k and omega are over the cell's own values, which span orders of magnitude: rows and columns of the matrix are scaled by
//! them. No update takes more than four fifths of a value.
//!
//! [`sa_diffusivity`]: crate::turbulence::spalart_allmaras::sa_diffusivity
//! [`skew_of_positive`]: crate::coupled::skew_of_positive
//! [`k_omega_wall`]: crate::turbulence::k_omega::k_omega_wall

mod boundary;
mod faces;
mod laws;
mod output;
mod start;
mod terms;

#[cfg(feature = "cuda")]
pub(super) use boundary::class;
pub(super) use boundary::transposed_at;
pub(super) use faces::{Leaving, Side};
#[cfg(feature = "cuda")]
pub(super) use laws::SHEAR;

use super::space::{Block, Face, Patch, Space};
use super::system::System;
use crate::config::Quadratic;
use crate::parallel;
use crate::turbulence::cells::{GridTurbulence, Model, TERMS};
use crate::turbulence::hybrid::HybridForm;
use crate::turbulence::hybrid::cells::HybridCells;
use crate::turbulence::k_omega::{k_omega_slope, k_resolving};
use crate::turbulence::velocities::Relation;
use chromaflow_device::Team;

/// Coefficients with ghosts: eddy viscosity; what k and omega diffuse by, of QCR2020 fw in the first one's place; the derivatives of the first by the model's unknowns.
const COEFFICIENTS: usize = 5;
/// Where what k and omega diffuse by, and where derivatives begin.
const DIFFUSING: usize = 1;
const BY: usize = 3;
/// Where sources and their derivatives begin in the numbers of a cell.
const SOURCES: usize = 3;
const SLOPES: usize = 5;

/// The turbulence of a block.
pub(super) struct Eddies {
    /// `[COEFFICIENTS, cells]`
    coefficients: Vec<f64>,
    /// From the nearest wall, of cells.
    pub distance: Vec<f64>,
    /// What production is multiplied by, of cells; empty for 1.
    pub production: Vec<f64>,
    /// Of walls with laws, see [`laws::SHEAR`], of cells; else empty.
    shear: Vec<f64>,
    /// Of a hybrid, what it takes of the grid, with components one after another over cells and ghosts.
    pub grid: Option<HybridCells>,
}

impl Eddies {
    /// A coefficient of all cells and ghosts.
    pub(super) fn coefficient(&self, c: usize) -> &[f64] {
        let len = self.coefficients.len() / COEFFICIENTS;
        &self.coefficients[c * len..][..len]
    }
}

/// The turbulence of a rank's blocks.
pub(super) struct Turbulence {
    pub model: GridTurbulence,
    /// The number of its first unknown among a cell's.
    pub first: usize,
    /// Kinematic viscosity.
    nu: f64,
    pub blocks: Vec<Eddies>,
    /// Numbers of cells as [`k_omega_terms`](crate::turbulence::k_omega::k_omega_terms) has them, `[rows, TERMS]`; of nut the source, its derivative, the eddy viscosity and the
    /// derivative of that are in the places of k's.
    terms: Vec<f64>,
    /// Which hybrid it is, if it is one.
    pub form: Option<HybridForm>,
    /// Of hybrids, the length over that of RANS and the share of large eddy simulation, `[rows, 2]`.
    hybrid: Vec<f64>,
}

/// Unknowns a cell with those of a model.
pub(super) fn unknowns(flow: usize, turbulence: Option<&Turbulence>) -> usize {
    flow + turbulence.map_or(0, |t| t.model.unknowns())
}

/// The eddy viscosity at a face of the boundary: at walls that which gives a law's friction, none without a law or without a model.
pub(super) fn at_boundary(turbulence: Option<&Turbulence>, patch: &Patch, face: &Face) -> f64 {
    let Some(turbulence) = turbulence.filter(|t| !patch.wall || t.model.walls.is_some()) else { return 0.0 };
    turbulence.blocks[patch.block].coefficients[if patch.wall { face.ghost } else { face.cell }]
}

/// What a scalar of this diffusivity diffuses by at a face of the boundary.
pub(super) fn diffusivity_at(turbulence: Option<&Turbulence>, patch: &Patch, face: &Face, own: f64) -> f64 {
    turbulence.map_or(own, |turbulence| turbulence.diffusivity_at(patch, face, own))
}

impl Turbulence {
    /// Distance from walls of the cell at a place of a block.
    pub fn distance(&self, block: usize, at: usize) -> f64 {
        self.blocks[block].distance[at]
    }

    fn terms_of(&self, row: usize) -> &[f64; TERMS] {
        self.terms[row * TERMS..][..TERMS].try_into().expect("the numbers of a row")
    }

    /// The source of an unknown in a row, per volume.
    pub fn source(&self, row: usize, v: usize) -> f64 {
        self.terms_of(row)[SOURCES + v]
    }

    /// The derivative of what a cell loses per volume, `[residual][unknown]`.
    fn slope(&self, row: usize) -> [[f64; 2]; 2] {
        let terms = self.terms_of(row);
        match self.model.model {
            Model::SpalartAllmaras(_) => [[(-terms[SLOPES]).max(0.0), 0.0], [0.0; 2]],
            Model::KOmega(_) => k_omega_slope(&[terms[SLOPES], terms[SLOPES + 1], terms[SLOPES + 2]]),
        }
    }

    /// What a cell's unknowns are measured by: k and omega by their own values.
    fn weights(&self, field: &[f64], len: usize, at: usize) -> [f64; 2] {
        std::array::from_fn(|v| {
            if self.model.is_k_omega() && v < self.model.unknowns() {
                self.model.weight(v, field[(self.first + v) * len + at])
            } else {
                1.0
            }
        })
    }

    /// The largest viscosity of a cell.
    pub fn viscosity(&self, block: usize, at: usize) -> f64 {
        self.nu + self.blocks[block].coefficients[at]
    }

    /// Measures the residuals of rows, `[rows, n]`, by each cell's own values.
    pub fn scale_residual(&self, space: &Space, fields: &[Vec<f64>], residual: &mut [f64]) {
        if !self.model.is_k_omega() {
            return;
        }
        let n = self.first + self.model.unknowns();
        for (block, field) in space.blocks.iter().zip(fields) {
            for row in block.rows() {
                let weights = self.weights(field, block.cells.len(), block.at(row));
                for (r, weight) in residual[row * n + self.first..][..n - self.first].iter_mut().zip(weights)
                {
                    *r /= weight;
                }
            }
        }
    }

    /// Subtracts what a quadratic constitutive relation adds to the stress between cells from what leaves them by rows, `[rows, n]`.
    pub fn add_quadratic(&self, team: &Team, space: &Space, fields: &[Vec<f64>], out: &mut [f64]) {
        if self.model.quadratic == Quadratic::None {
            return;
        }
        let (n, axes) = (self.first + self.model.unknowns(), &space.axes[..]);
        for ((block, field), eddies) in space.blocks.iter().zip(fields).zip(&self.blocks) {
            let (viscosity, fw) = (eddies.coefficient(0), eddies.coefficient(DIFFUSING));
            let relation = Relation { quadratic: self.model.quadratic, viscosity, fw, full: true };
            let (velocities, rows) = (block.velocities(axes, field), block.rows());
            let out = &mut out[rows.start * n..rows.end * n];
            parallel::rows(team, rows.len(), n, out, |cells, out| {
                for (cell, out) in cells.zip(out.chunks_exact_mut(n)) {
                    let at = block.cells.nth(cell);
                    for side in 0..6 {
                        let Some((beyond, area)) = block.next(axes, at, side) else { continue };
                        let flux = velocities.quadratic_flux(&relation, side / 2, [at, beyond], &area);
                        (1..4).for_each(|c| out[c] -= flux[c]);
                    }
                }
            });
        }
    }

    /// Adds the derivatives of sources to a cell's block of the matrix, and what time steps have besides; `residual` is that of its row.
    pub fn add_sources(
        &self,
        space: &Block,
        row: usize,
        (cfl_part, residual): (f64, &[f64]),
        diag: &mut [f64],
    ) {
        let n = self.first + self.model.unknowns();
        let (volume, slope) = (space.metrics.volume[space.at(row)], self.slope(row));
        for c in 0..n - self.first {
            for r in 0..n - self.first {
                diag[(self.first + c) * n + self.first + r] += volume * slope[r][c];
            }
        }
        self.add_pseudo_time(space, row, (cfl_part, residual), |c, time| diag[c * (n + 1)] += time);
    }

    /// Has `add` take what the model's unknowns have besides `cfl_part` in V/dt of a row, whose residual is given, with their numbers among a cell's.
    pub fn add_pseudo_time(
        &self,
        space: &Block,
        row: usize,
        (cfl_part, residual): (f64, &[f64]),
        mut add: impl FnMut(usize, f64),
    ) {
        for v in 0..self.model.unknowns() {
            add(self.first + v, cfl_part * (1.0 / self.model.cfl_ratio - 1.0));
        }
        if self.model.is_k_omega() {
            let volume = space.metrics.volume[space.at(row)];
            let rate = -residual[self.first] / volume;
            add(self.first, volume * k_resolving(rate, self.terms_of(row)[SLOPES]));
        }
    }

    /// What an unknown of a cell, by its number among them, is measured by.
    pub fn weight(&self, field: &[f64], len: usize, at: usize, c: usize) -> f64 {
        c.checked_sub(self.first).map_or(1.0, |v| self.weights(field, len, at)[v])
    }

    /// Scales rows and columns of the model's unknowns by each cell's own values.
    pub fn scale_matrix(&self, space: &Space, fields: &[Vec<f64>], system: &mut System) {
        if !self.model.is_k_omega() {
            return;
        }
        let (first, n) = (self.first, self.first + self.model.unknowns());
        for ((block, field), a) in space.blocks.iter().zip(fields).zip(&mut system.blocks) {
            let (len, stride, q) = (block.cells.len(), block.cells.stride, n * n);
            for row in block.rows() {
                let (at, cell) = (block.at(row), row - block.first_row);
                let own = self.weights(field, len, at);
                let scale = |entries: &mut [f64], other: [f64; 2]| {
                    for (c, column) in entries.chunks_exact_mut(n).enumerate() {
                        if c >= first {
                            for entry in column.iter_mut() {
                                *entry *= other[c - first];
                            }
                        }
                        for (entry, own) in column[first..].iter_mut().zip(own) {
                            *entry /= own;
                        }
                    }
                };
                scale(&mut a.diag[cell * q..][..q], own);
                for &d in &space.axes {
                    let [below, above] =
                        [at - stride[d], at + stride[d]].map(|at| self.weights(field, len, at));
                    scale(&mut a.lower[(3 * cell + 2 - d) * q..][..q], below);
                    scale(&mut a.upper[(3 * cell + d) * q..][..q], above);
                }
            }
        }
    }

    /// Takes the update of a cell, measured as [`Self::scale_residual`] does; whether it was cut.
    pub fn update(&self, field: &mut [f64], len: usize, at: usize, update: &[f64]) -> bool {
        let weights = self.weights(field, len, at);
        let mut cut = false;
        for (v, x) in update[self.first..].iter().enumerate() {
            let value = &mut field[(self.first + v) * len + at];
            let x = x * weights[v];
            let new = self.model.updated(*value, x);
            cut |= self.model.is_cut(*value, x, new);
            *value = new;
        }
        cut
    }
}
