//! Sources and viscosities of cells.

use super::super::residual::{Line, load, next_line};
use super::super::space::Space;
use super::laws::SHEAR;
use super::{BY, COEFFICIENTS, DIFFUSING, Turbulence};
use crate::config::Quadratic;
use crate::equations::artificial_compressibility::GhostKind;
use crate::parallel;
use crate::real::{Dual, LANES, LaneKernel, Lanes, dispatch};
use crate::turbulence::cells::{MOST, Model, TERMS};
use crate::turbulence::hybrid::cells::grid_lengths;
use crate::turbulence::hybrid::sa_hybrid_length;
use crate::turbulence::k_omega::{deformation, k_omega_terms, k_omega_terms_of_hybrid};
use crate::turbulence::spalart_allmaras::{
    SpalartAllmaras, eddy_ratio, sa_relation, sa_rotating, sa_source_turning, sa_turning, vorticity,
};
use chromaflow_device::{Isa, Team};
use std::ops::Range;

struct TermsTask<'a> {
    space: &'a Space,
    fields: &'a [Vec<f64>],
    turbulence: &'a Turbulence,
    rows: Range<usize>,
    /// `[rows, TERMS]`
    out: &'a mut [f64],
    /// Of hybrids, as [`Turbulence::hybrid`] has them; else empty.
    shares: &'a mut [f64],
}

impl LaneKernel for TermsTask<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        let Turbulence { model, first, nu, form, .. } = self.turbulence;
        let nb = model.unknowns();
        let (mut row, mut number) = (self.rows.start, 0);
        while row < self.rows.end {
            let Line { block, number: b, at, count } = next_line(self.space, &mut number, row, self.rows.end);
            let (len, field, eddies) = (block.cells.len(), &self.fields[b], &self.turbulence.blocks[b]);
            // d(u, v, w, unknowns)_i / dx_k, from the means of both cells at each face.
            let mut gradients = [[V::c(0.0); 3]; 3 + MOST];
            let scale = V::c(0.25) / load::<V>(&block.metrics.volume, at);
            for &axis in &self.space.axes {
                let (s, area) = (block.cells.stride[axis], &block.metrics.area[axis]);
                for i in 0..3 + nb {
                    let values = &field[(if i < 3 { 1 + i } else { first + i - 3 }) * len..];
                    let change = load::<V>(values, at + s) - load::<V>(values, at - s);
                    for k in 0..3 {
                        let both = load::<V>(&area[k], at) + load::<V>(&area[k], at + s);
                        gradients[i][k] += scale * change * both;
                    }
                }
            }
            if !eddies.shear.is_empty() {
                replace_shear(&eddies.shear, len, at, &mut gradients);
            }
            let distance = load::<V>(&eddies.distance, at);
            let share =
                if eddies.production.is_empty() { V::c(1.0) } else { load::<V>(&eddies.production, at) };
            let mut turbulence = [V::c(0.0); MOST];
            for v in 0..nb {
                turbulence[v] = load::<V>(&field[(first + v) * len..], at);
            }
            let gradient = [gradients[0], gradients[1], gradients[2]];
            let grid = eddies
                .grid
                .as_ref()
                .map(|grid| grid_lengths(grid.arms, |c| load::<V>(&grid.numbers[c * len..], at), &gradient));
            let hybrid = form.as_ref().zip(grid);
            let mut shares = [V::c(1.0), V::c(0.0)];
            let terms = match model.model {
                Model::KOmega(of) => {
                    let gas = [V::c(1.0), V::c(*nu)];
                    let of = of.lift();
                    if let Some((form, grid)) = hybrid {
                        let (terms, [shortened, of_eddies]) = k_omega_terms_of_hybrid(
                            of,
                            *form,
                            &gas,
                            distance,
                            share,
                            &turbulence,
                            &gradients,
                            &grid,
                        );
                        shares = [V::c(1.0) / shortened, of_eddies];
                        terms
                    } else {
                        k_omega_terms(of, &gas, distance, share, &turbulence, &gradients)
                    }
                }
                Model::SpalartAllmaras(of) => {
                    let mut omega = vorticity(&gradient);
                    if model.rotating {
                        omega = sa_rotating(omega, deformation(&gradient)[0]);
                    }
                    let mut length = distance;
                    if let Some((form, grid)) = hybrid {
                        let (of, one, nut) = (of.lift(), V::c(1.0), turbulence[0]);
                        let [found, share] =
                            sa_hybrid_length(of, *form, one, nut, distance, &grid, &gradient);
                        length = found;
                        shares = [length / distance, share];
                    }
                    let mut produced = share;
                    if model.curved {
                        let (velocities, gradient) = (
                            block.velocities(&self.space.axes, field),
                            gradient.map(|g| g.map(Lanes::to_array)),
                        );
                        let mut turning = [1.0; LANES];
                        for l in 0..count {
                            let change = velocities
                                .change_of_strain(at + l, |side| block.next(&self.space.axes, at + l, side));
                            turning[l] = sa_turning(&gradient.map(|g| g.map(|g| g[l])), &change);
                        }
                        produced *= V::from_array(&turning);
                    }
                    let mut terms = nut_terms(of, turbulence[0], omega, length, produced);
                    if model.quadratic == Quadratic::Qcr2020 {
                        terms[DIFFUSING] =
                            sa_relation(of.lift(), V::c(1.0), turbulence[0], &gradient, distance);
                    }
                    terms
                }
            };
            if hybrid.is_some() {
                for c in 0..2 {
                    let values = shares[c].to_array();
                    for l in 0..count {
                        self.shares[(row + l - self.rows.start) * 2 + c] = values[l];
                    }
                }
            }
            for c in 0..TERMS {
                let values = terms[c].to_array();
                for l in 0..count {
                    self.out[(row + l - self.rows.start) * TERMS + c] = values[l];
                }
            }
            row += count;
        }
    }
}

/// Has the velocity's gradient in cells next to walls with laws take the law's shear across the wall; in others nothing changes.
#[inline(always)]
fn replace_shear<V: Lanes>(shear: &[f64], len: usize, at: usize, gradients: &mut [[V; 3]; 3 + MOST]) {
    let mut numbers = [V::c(0.0); SHEAR];
    for c in 0..SHEAR {
        numbers[c] = load::<V>(&shear[c * len..], at);
    }
    let [ax, ay, az, tx, ty, tz] = numbers;
    let (away, law) = ([ax, ay, az], [tx, ty, tz]);
    let (mut across, mut through) = ([V::c(0.0); 3], V::c(0.0));
    for i in 0..3 {
        for k in 0..3 {
            across[i] += gradients[i][k] * away[k];
        }
        through += across[i] * away[i];
    }
    for i in 0..3 {
        let missing = law[i] - (across[i] - through * away[i]);
        for k in 0..3 {
            gradients[i][k] += missing * away[k];
        }
    }
}

/// The source of nut and its derivative, the eddy viscosity and its derivative, in the places of those of k.
#[inline(always)]
fn nut_terms<V: Lanes>(sa: SpalartAllmaras<f64>, nut: V, omega: V, distance: V, share: V) -> [V; TERMS] {
    let (sa, zero) = (sa.lift::<V>(), V::c(0.0));
    let [source, slope] = sa_source_turning(sa, V::c(1.0), nut, omega, distance, share);
    let ratio = eddy_ratio(Dual { v: nut, d: [V::c(1.0)] });
    let eddy = sa.scale * ratio.v;
    [eddy, zero, zero, source, zero, slope, zero, zero, sa.scale * ratio.d[0], zero]
}

impl Turbulence {
    /// Terms of all cells, coefficients with those beyond boundaries and interfaces; ghosts of all unknowns are there.
    pub fn prepare(&mut self, team: &Team, space: &Space, fields: &[Vec<f64>]) {
        self.find_terms(team, space, fields);
        self.exchange(space);
    }

    /// The same of this rank's cells alone: what is beyond interfaces stays.
    pub fn find_terms(&mut self, team: &Team, space: &Space, fields: &[Vec<f64>]) {
        let mut terms = std::mem::take(&mut self.terms);
        let mut hybrid = std::mem::take(&mut self.hybrid);
        let width = if self.form.is_some() { 2 } else { 0 };
        let all = ((TERMS, &mut terms[..]), (width, &mut hybrid[..]));
        parallel::rows2(team, space.rows, all.0, all.1, |rows, out, shares| {
            dispatch(Isa::detect(), TermsTask { space, fields, turbulence: self, rows, out, shares });
        });
        self.hybrid = hybrid;
        for (block, eddies) in space.blocks.iter().zip(&mut self.blocks) {
            let len = block.cells.len();
            for (row, terms) in block.rows().zip(terms[block.rows().start * TERMS..].chunks_exact(TERMS)) {
                let at = block.at(row);
                eddies.coefficients[at] = terms[0];
                for v in 0..MOST {
                    eddies.coefficients[(DIFFUSING + v) * len + at] = terms[1 + v];
                    eddies.coefficients[(BY + v) * len + at] = terms[TERMS - MOST + v];
                }
            }
        }
        self.terms = terms;
        debug_assert!(space.patches.iter().all(|patch| !patch.wall || patch.kind == GhostKind::Velocity));
    }

    fn exchange(&mut self, space: &Space) {
        let mut all: Vec<&mut [f64]> =
            self.blocks.iter_mut().map(|eddies| &mut eddies.coefficients[..]).collect();
        space.part.exchange.fill(&mut all, COEFFICIENTS);
    }
}
