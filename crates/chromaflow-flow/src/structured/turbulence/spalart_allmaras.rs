//! Spalart-Allmaras: what passes the faces of a cell, its source, and the residual.

use super::super::block::BlockState;
use super::super::boundary::PatchState;
use super::super::boundary::laws::law_beside;
use super::super::config::ViscousTerms;
use super::super::residual::Physics;
use super::links::{Link, Outside};
use super::{Eddies, GridTurbulence, kappa};
use crate::bc::{ConditionClass, condition_class};
use crate::gas::{temperature, viscosity};
use crate::limiter::extrapolate;
use crate::parallel;
use crate::turbulence::hybrid::sa_hybrid_length;
use crate::turbulence::k_omega::deformation;
use crate::turbulence::spalart_allmaras::{
    SpalartAllmaras, sa_diffusivity, sa_diffusivity_to_wall, sa_rotating, sa_source_turning, sa_turning,
    sa_viscosities, vorticity,
};
use crate::wall_law::law_gradient;
use chromaflow_device::Team;

/// The model on a block with all its ghosts.
#[derive(Clone, Copy)]
pub(in crate::structured) struct SaTerms<'a> {
    physics: &'a Physics,
    sa: SpalartAllmaras<f64>,
    turbulence: GridTurbulence,
    pub(super) block: &'a BlockState,
    patches: &'a [PatchState],
    /// Whether diffusion has differences along faces, too.
    full: bool,
    kappa: f64,
}

/// A face as the cell on one of its sides has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SaFace {
    pub link: Link,
    /// nut on the other side.
    beyond: f64,
    /// What leaves besides min(U, 0) (nut beyond - nut) less what the same difference diffuses.
    rest: f64,
}

impl SaFace {
    /// What leaves, of a cell with this nut.
    fn leaves(&self, own: f64) -> f64 {
        self.rest - self.link.coupling(0) * (self.beyond - own)
    }
}

/// nu and eddy viscosity of all cells and ghosts.
pub(super) fn viscosities(
    team: &Team,
    physics: &Physics,
    sa: SpalartAllmaras<f64>,
    blocks: &mut [BlockState],
) {
    let Some(transport) = physics.transport else { return };
    for block in blocks {
        let (len, w, Eddies { values: nut, nu, viscosity: eddies, .. }) =
            (block.cells.len(), &block.w, &mut block.eddies);
        parallel::rows2(team, len, (1, nu), (1, eddies), |cells, nu, eddies| {
            for ((at, nu), eddies) in cells.zip(nu).zip(eddies) {
                let state = std::array::from_fn(|c| w[c * len + at]);
                let mu = viscosity(transport, temperature(physics.gas, &state));
                [*nu, *eddies] = sa_viscosities(sa, state[0], mu, nut[at]);
            }
        });
    }
}

fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// What leaves each cell of a block less what its source brings, into `eddies.r`, and the source's derivative.
pub(super) fn residual(
    team: &Team,
    physics: &Physics,
    (sa, turbulence): (SpalartAllmaras<f64>, GridTurbulence),
    patches: &[PatchState],
    block: &mut BlockState,
) {
    let (mut r, mut slope) = (std::mem::take(&mut block.eddies.r), std::mem::take(&mut block.eddies.terms));
    let terms = SaTerms::new(physics, (sa, turbulence), patches, block);
    let [ni, nj, _] = block.cells.count;
    parallel::rows2(team, terms.block.rows(), (ni, &mut r), (ni, &mut slope), |rows, r, slope| {
        for ((row, r), slope) in rows.zip(r.chunks_exact_mut(ni)).zip(slope.chunks_exact_mut(ni)) {
            for i in 0..ni {
                [r[i], slope[i]] = terms.residual([i, row % nj, row / nj]);
            }
        }
    });
    (block.eddies.r, block.eddies.terms) = (r, slope);
}

impl<'a> SaTerms<'a> {
    pub fn new(
        physics: &'a Physics,
        (sa, turbulence): (SpalartAllmaras<f64>, GridTurbulence),
        patches: &'a [PatchState],
        block: &'a BlockState,
    ) -> Self {
        let full = physics.terms == ViscousTerms::Full;
        Self { physics, sa, turbulence, block, patches, full, kappa: kappa(physics) }
    }

    /// Of a cell, and its source's derivative.
    fn residual(&self, cell: [usize; 3]) -> [f64; 2] {
        let at = self.block.cells.inside(cell);
        let own = self.block.eddies.values[at];
        let [source, slope] = self.source(cell, at);
        let faces = (0..6).filter_map(|side| self.face(cell, at, side));
        let leaves: f64 = faces.map(|face| face.leaves(own)).sum();
        [leaves - self.block.metrics.volume[at] * source, slope]
    }

    /// The source per volume and its derivative.
    fn source(&self, cell: [usize; 3], at: usize) -> [f64; 2] {
        let eddies = &self.block.eddies;
        let gradient = self.sheared(cell, at);
        let mut omega = vorticity(&gradient);
        if self.turbulence.rotating {
            omega = sa_rotating(omega, deformation(&gradient)[0]);
        }
        let number = self.block.number(cell);
        let mut produced = eddies.production.get(number).copied().unwrap_or(1.0);
        if self.turbulence.curved {
            produced *= sa_turning(&gradient, &self.change_of_strain(cell, at));
        }
        let (nu, nut) = (eddies.nu[at], eddies.values[at]);
        sa_source_turning(self.sa, nu, nut, omega, self.length(cell, at, &gradient)[0], produced)
    }

    /// What stands for a cell's distance from the wall, and the share of large eddy simulation in it: `gradient` d(u, v, w)_i / dx_k.
    pub(super) fn length(&self, cell: [usize; 3], at: usize, gradient: &[[f64; 3]; 3]) -> [f64; 2] {
        let (eddies, number) = (&self.block.eddies, self.block.number(cell));
        let distance = eddies.distance[number];
        eddies.hybrid.as_ref().map_or([distance, 0.0], |grid| {
            let (nu, nut, lengths) = (eddies.nu[at], eddies.values[at], grid.at(number, gradient));
            sa_hybrid_length(self.sa, grid.form(), nu, nut, distance, &lengths, gradient)
        })
    }

    /// d(u, v, w)_i / dx_k of a cell, next to walls with a law with its shear.
    pub(super) fn sheared(&self, cell: [usize; 3], at: usize) -> [[f64; 3]; 3] {
        let gradient = self.block.velocities().gradient(at);
        let law = self.turbulence.walls.and_then(|_| law_beside(self.patches, self.block, cell, at));
        match (law, self.physics.transport) {
            (Some(place), Some(transport)) => {
                law_gradient(self.physics.gas, transport, place, &self.block.state(at), &gradient)
            }
            _ => gradient,
        }
    }

    /// DS_ij/Dt of a cell in steady flow, S by differences alone.
    fn change_of_strain(&self, cell: [usize; 3], at: usize) -> [f64; 6] {
        self.block.velocities().change_of_strain(at, |side| {
            match Outside::of(self.block, self.patches, cell, at, side)? {
                Outside { beyond, n, patch: None } => Some((beyond, n)),
                Outside { .. } => None,
            }
        })
    }

    /// Sum of the areas of a cell's two faces along an axis.
    #[inline]
    fn areas(&self, axis: usize, at: usize) -> [f64; 3] {
        let metrics = &self.block.metrics;
        let (low, high) = (metrics.face(axis, at), metrics.face(axis, at + self.block.cells.stride[axis]));
        std::array::from_fn(|c| low[c] + high[c])
    }

    /// A cell's face on one of the sides; none along an axis that the grid lacks.
    pub(super) fn face(&self, cell: [usize; 3], at: usize, side: usize) -> Option<SaFace> {
        let Outside { beyond, n, patch } = Outside::of(self.block, self.patches, cell, at, side)?;
        Some(match patch {
            Some(patch) => self.at_boundary(condition_class(&patch.condition), at, beyond, &n),
            None => self.between(side / 2, at, beyond, &n),
        })
    }

    /// F/sigma (nu + ...) |n|^2 over a volume.
    #[inline]
    fn spread(&self, at: usize, beyond: usize, n: &[f64; 3], volume: f64) -> [f64; 2] {
        let eddies = &self.block.eddies;
        let (nu, nut) = ([at, beyond].map(|c| eddies.nu[c]), [at, beyond].map(|c| eddies.values[c]));
        let gamma = sa_diffusivity(self.sa, &nu, &nut);
        [gamma, gamma * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) / volume]
    }

    fn at_boundary(&self, class: ConditionClass, at: usize, beyond: usize, n: &[f64; 3]) -> SaFace {
        match class {
            ConditionClass::Slip => SaFace::default(),
            ConditionClass::NoSlip if self.turbulence.walls.is_some() => {
                let (nut, near) =
                    (self.block.eddies.values[at], 2.0 * dot(n, n) / self.block.metrics.volume[at]);
                let gamma = near * sa_diffusivity_to_wall(self.sa, self.block.eddies.nu[at], nut);
                let link = Link { passing: 0.0, spread: [gamma.max(0.0), 0.0] };
                SaFace { link, beyond: 0.0, rest: gamma.min(0.0) * nut }
            }
            ConditionClass::NoSlip => {
                // Half a cell away.
                let [_, spread] = self.spread(at, beyond, n, 0.5 * self.block.metrics.volume[at]);
                SaFace { link: Link { passing: 0.0, spread: [spread, 0.0] }, ..SaFace::default() }
            }
            ConditionClass::Open => {
                let passing = self.block.velocities().passing(at, beyond, n);
                let link = Link { passing, ..Link::default() };
                SaFace { link, beyond: self.turbulence.inflow[0], rest: 0.0 }
            }
        }
    }

    /// Of the area `n` from one cell to the next.
    fn between(&self, axis: usize, at: usize, beyond: usize, n: &[f64; 3]) -> SaFace {
        let (nut, volume) = (&self.block.eddies.values, &self.block.metrics.volume);
        let passing = self.block.velocities().passing(at, beyond, n);
        let [gamma, spread] = self.spread(at, beyond, n, 0.5 * (volume[at] + volume[beyond]));
        let mut rest = 0.0;
        if self.full && spread > 0.0 {
            rest -= 0.5 * gamma * (self.along(axis, at, n) + self.along(axis, beyond, n));
        }
        if self.turbulence.second_order {
            let (behind, far) = (2 * at - beyond, 2 * beyond - at);
            let (own, other) = (nut[at], nut[beyond]);
            let left = extrapolate(own, other, 0.5 * (other - nut[behind]), self.kappa, 1.0);
            let right = extrapolate(other, own, -0.5 * (nut[far] - own), self.kappa, 1.0);
            rest += passing.max(0.0) * (left - own) + passing.min(0.0) * (right - other);
        }
        SaFace { link: Link { passing, spread: [spread, 0.0] }, beyond: nut[beyond], rest }
    }

    /// grad nut . n of a cell's changes along the axes other than this one.
    #[inline]
    fn along(&self, axis: usize, at: usize, n: &[f64; 3]) -> f64 {
        let (block, mut sum) = (self.block, 0.0);
        for other in (0..3).filter(|&other| other != axis && block.active[other]) {
            let (s, area) = (block.cells.stride[other], self.areas(other, at));
            let change = block.eddies.values[at + s] - block.eddies.values[at - s];
            sum += change * (area[0] * n[0] + area[1] * n[1] + area[2] * n[2]);
        }
        0.25 * sum / block.metrics.volume[at]
    }
}
