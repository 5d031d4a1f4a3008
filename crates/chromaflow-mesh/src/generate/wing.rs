//! A swept wing on a plane of symmetry.

use super::{Airfoil, graded};
use crate::{Marker, Mesh};

/// Half a swept and tapered wing of NACA 0012 or thinner sections on the plane y = 0, in hexahedra: O-grids around the
/// sections, one behind the other along the span. The root chord is 1, its leading edge at the origin, z is up. The wing is
/// rounded at its tip; beyond it the innermost layer of the O-grids closes on itself.
///
/// Markers: `wing`, `symmetry`, `farfield`. The planform's defaults are those of the ONERA M6 wing (Schmitt and Charpin, AGARD
/// AR-138, 1979) over its root chord.
#[derive(Clone, Copy, Debug)]
pub struct Wing {
    /// Cells around the section (even), away from it, along the wing and beyond its tip.
    pub cells: [usize; 4],
    /// Length of the half wing.
    pub span: f64,
    /// Sweep of the leading edge, degrees.
    pub sweep: f64,
    /// Tip chord over root chord.
    pub taper: f64,
    /// Largest thickness over the chord.
    pub thickness: f64,
    /// Distance of the outer boundary.
    pub radius: f64,
}

impl Default for Wing {
    fn default() -> Self {
        Self { cells: [64, 20, 18, 8], span: 1.476, sweep: 30.0, taper: 0.562, thickness: 0.1, radius: 10.0 }
    }
}

/// Ratio of neighboring cell heights away from the wing.
const GROWTH: f64 = 1.3;
/// Part of the span over which the tip is rounded.
const ROUND: f64 = 0.04;

impl Wing {
    /// Area of the half wing.
    pub fn area(&self) -> f64 {
        0.5 * (1.0 + self.taper) * self.span
    }

    /// Mean aerodynamic chord.
    pub fn mean_chord(&self) -> f64 {
        2.0 / 3.0 * (1.0 + self.taper + self.taper * self.taper) / (1.0 + self.taper)
    }

    /// The mesh.
    ///
    /// # Panics
    /// When there are no cells, an odd number of them around the section, or more nodes than 32-bit numbers count.
    pub fn mesh(&self) -> Mesh {
        let [around, away, along, beyond] = self.cells;
        assert!(
            self.cells.iter().all(|&n| n > 0) && around.is_multiple_of(2),
            "cells each way, an even number around"
        );
        let stations = along + beyond;
        let mut mesh = Mesh::default();
        // Nodes by station, ring and angle; where a section has no thickness its lower side is the upper one.
        let mut numbers = vec![0u32; (stations + 1) * (away + 1) * around];
        let at = |k: usize, j: usize, i: usize| (k * (away + 1) + j) * around + i % around;
        for k in 0..=stations {
            for j in 0..=away {
                for i in 0..around {
                    let closed = j == 0 && k >= along && i > around / 2;
                    numbers[at(k, j, i)] = if closed {
                        numbers[at(k, j, around - i)]
                    } else {
                        mesh.nodes.push(self.point(k, j, i));
                        u32::try_from(mesh.nodes.len() - 1).expect("too many nodes for 32-bit numbers")
                    };
                }
            }
        }
        let node = |k: usize, j: usize, i: usize| numbers[at(k, j, i)];
        let marker = |name: &str| Marker { name: name.into(), ..Marker::default() };
        let (mut wing, mut symmetry, mut farfield) = (marker("wing"), marker("symmetry"), marker("farfield"));
        for k in 0..stations {
            for j in 0..away {
                for i in 0..around {
                    // Along the section, away from it, along the span (into the wing's left): a right-handed order.
                    let face =
                        |k| [node(k, j, i), node(k, j, i + 1), node(k, j + 1, i + 1), node(k, j + 1, i)];
                    let ([a, b, c, d], [e, f, g, h]) = (face(k), face(k + 1));
                    mesh.hexes.push([a, b, c, d, e, f, g, h]);
                    if k == 0 {
                        symmetry.quads.push([a, d, c, b]);
                    }
                    if k + 1 == stations {
                        farfield.quads.push([e, f, g, h]);
                    }
                    if j == 0 && k < along {
                        wing.quads.push([a, b, f, e]);
                    }
                    if j + 1 == away {
                        farfield.quads.push([d, h, g, c]);
                    }
                }
            }
        }
        mesh.markers = vec![wing, symmetry, farfield];
        mesh
    }

    /// Chord and place of the leading edge at `y`.
    fn section(&self, y: f64) -> (f64, f64) {
        let on = (y / self.span).min(1.0);
        (1.0 + (self.taper - 1.0) * on, on * self.span * self.sweep.to_radians().tan())
    }

    fn point(&self, k: usize, j: usize, i: usize) -> [f64; 3] {
        let [around, away, along, beyond] = self.cells;
        let y = if k <= along {
            // Stations close up towards the tip.
            self.span * (1.0 - graded(along - k, along, 1.15))
        } else {
            self.span + (self.radius - self.span) * graded(k - along, beyond, 1.9)
        };
        let (chord, lead) = self.section(y);
        let (pi, inside) = (std::f64::consts::PI, (1.0 - y / self.span).max(0.0) / ROUND);
        let round = if inside < 1.0 { (inside * (2.0 - inside)).max(0.0).sqrt() } else { 1.0 };
        // From the trailing edge over the upper side: with y to the left of a stream along x, that is right-handed.
        let angle = 2.0 * pi * i as f64 / around as f64;
        let share = 0.5 * (1.0 + angle.cos());
        let half = Airfoil::half_thickness(share) * self.thickness / 0.12 * round * chord;
        let sign = if i == 0 || 2 * i == around { 0.0 } else { angle.sin().signum() };
        let wall = [lead + chord * share, sign * half];
        let far = [lead + 0.5 * chord + self.radius * angle.cos(), self.radius * sign.abs() * angle.sin()];
        let t = graded(j, away, GROWTH);
        [wall[0] + t * (far[0] - wall[0]), y, wall[1] + t * (far[1] - wall[1])]
    }
}
