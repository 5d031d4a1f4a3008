//! Laws of the wall: friction, k and omega at walls, the shear next to them, by the velocity of the first cell.
//!
//! The friction of a face is u_tau^2 times its area along the velocity beside the wall, that of a viscosity nu y+ / u+ over half a cell: what it has over nu is kept as the eddy
//! viscosity of the cell beyond the face, with y+ beside it. The matrix has its derivative by that velocity, [`law_resistance`]. Scalars that are given at the wall take Kader's T+, [`law_heat`]. k and omega at the wall are [`k_omega_law_of_cells`](crate::turbulence::k_omega::k_omega_law_of_cells), and diffuse
//! there by what they diffuse by in the cell; nut is zero at the wall. The velocity's gradient in the cell, which sources see, has the law's shear across the wall.

use super::super::space::{Face, Patch, Space};
use super::{DIFFUSING, Turbulence};
use crate::turbulence::cells::WallFunctions;
use crate::wall_law::{law_heat, law_resistance, law_units};

/// Where y+ is kept beyond walls.
const UNITS: usize = DIFFUSING;
/// Numbers of a cell: the way off the wall, and the shear that the law has along it.
pub(in super::super) const SHEAR: usize = 6;

impl Turbulence {
    /// Finds what laws of the wall give with the present velocities.
    pub fn find_laws(&mut self, space: &Space, fields: &[Vec<f64>]) {
        let (Some(WallFunctions { law, .. }), nu, n) = (self.model.walls, self.nu, self.first) else {
            return;
        };
        for patch in space.patches.iter().filter(|patch| patch.wall) {
            let (eddies, field) = (&mut self.blocks[patch.block], &fields[patch.block]);
            let len = space.blocks[patch.block].cells.len();
            for (face, given) in patch.faces.iter().zip(patch.given.chunks_exact(n)) {
                let area = face.n.iter().map(|n| n * n).sum::<f64>().sqrt();
                if area <= 0.0 {
                    continue;
                }
                let away = face.n.map(|n| -n / area);
                let u: [f64; 3] = std::array::from_fn(|c| field[(1 + c) * len + face.cell] - given[1 + c]);
                let through: f64 = (0..3).map(|c| u[c] * away[c]).sum();
                let along: [f64; 3] = std::array::from_fn(|c| u[c] - through * away[c]);
                let speed = along.iter().map(|u| u * u).sum::<f64>().sqrt();
                let distance = eddies.distance[face.cell];
                let reynolds = speed * distance / nu;
                let [units, slope] = law_units(law, reynolds);
                let resists = if reynolds > 0.0 { units * units / reynolds - 1.0 } else { 0.0 };
                eddies.coefficients[face.ghost] = nu * resists;
                eddies.coefficients[UNITS * len + face.ghost] = units;
                let rate = (units / distance).powi(2) * nu * slope / speed.max(f64::MIN_POSITIVE);
                for c in 0..3 {
                    eddies.shear[c * len + face.cell] = away[c];
                    eddies.shear[(3 + c) * len + face.cell] = rate * along[c];
                }
            }
        }
    }

    /// What friction has in the matrix besides that of the viscosity which stands for it: nu u_i d(y+^2/Re)/du_j over half a cell, by the velocity of the cell, `relative` to the
    /// wall.
    pub fn add_friction_slope(&self, patch: &Patch, face: &Face, relative: &[f64; 3], diag: &mut [f64]) {
        let (Some(WallFunctions { law, .. }), n) = (self.model.walls, self.first + self.model.unknowns())
        else {
            return;
        };
        let area = face.n.iter().map(|n| n * n).sum::<f64>().sqrt();
        let through: f64 = (0..3).map(|c| relative[c] * face.n[c]).sum::<f64>() / area.max(f64::MIN_POSITIVE);
        let along: [f64; 3] =
            std::array::from_fn(|c| relative[c] - through * face.n[c] / area.max(f64::MIN_POSITIVE));
        let square: f64 = along.iter().map(|u| u * u).sum();
        let reynolds = square.sqrt() * self.blocks[patch.block].distance[face.cell] / self.nu;
        let [_, by] = law_resistance(law, reynolds);
        if square <= 0.0 {
            return;
        }
        let factor = 2.0 * face.slope[0] * self.nu * by / square;
        for j in 0..3 {
            for i in 0..3 {
                diag[(1 + j) * n + 1 + i] += factor * relative[i] * along[j];
            }
        }
    }

    /// y+ of the first cell's center at a wall with a law.
    pub(super) fn units(&self, patch: &Patch, face: &Face) -> Option<f64> {
        let eddies = &self.blocks[patch.block];
        (patch.wall && self.model.walls.is_some()).then(|| eddies.coefficient(UNITS)[face.ghost])
    }

    /// What a scalar diffuses by at a face of the boundary, `own` its diffusivity.
    pub(super) fn diffusivity_at(&self, patch: &Patch, face: &Face, own: f64) -> f64 {
        match self.units(patch, face) {
            Some(units) if own > 0.0 => self.nu * units / law_heat(self.nu / own, units),
            Some(_) => own,
            None => own + super::at_boundary(Some(self), patch, face) / self.model.prandtl,
        }
    }
}
