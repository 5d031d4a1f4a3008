//! A sphere in a round far field.

use super::planar::{graded, growth_of};
use crate::{Marker, Mesh};
use std::collections::HashMap;
use std::f64::consts::FRAC_PI_4;

/// Hexahedra between a sphere of diameter 1 at the origin and one around it: six squares, each projected from a side of a
/// cube, without a pole. Markers: `sphere`, `farfield`.
///
/// **Source** of the projection with equal angles: Ronchi, Iacono & Paolucci, *The "cubed sphere"* (1996).
#[derive(Clone, Copy, Debug)]
pub struct Sphere {
    /// Cells along the sides of each square, and away from the sphere.
    pub cells: [usize; 2],
    /// Radius of the outer boundary.
    pub radius: f64,
    /// Height of the first cells.
    pub first: f64,
}

impl Sphere {
    /// The mesh.
    ///
    /// # Panics
    /// When a number of cells is zero, or the nodes are more than 32-bit numbers count.
    pub fn mesh(&self) -> Mesh {
        let [n, away] = self.cells;
        assert!(n > 0 && away > 0, "cells each way");
        let shell = 6 * n * n + 2;
        assert!(u32::try_from(shell * (away + 1)).is_ok(), "too many nodes for 32-bit numbers");
        let mut numbers: HashMap<[usize; 3], u32> = HashMap::new();
        let mut directions = Vec::with_capacity(shell);
        let mut quads = Vec::with_capacity(6 * n * n);
        for (axis, high) in (0..3).flat_map(|axis| [(axis, false), (axis, true)]) {
            let mut node = |u: usize, v: usize| {
                let mut at = [if high { n } else { 0 }; 3];
                (at[(axis + 1) % 3], at[(axis + 2) % 3]) = (u, v);
                *numbers.entry(at).or_insert_with(|| {
                    let x = at.map(|a| (FRAC_PI_4 * (2.0 * a as f64 / n as f64 - 1.0)).tan());
                    let length = x.iter().map(|x| x * x).sum::<f64>().sqrt();
                    directions.push(x.map(|x| x / length));
                    directions.len() as u32 - 1
                })
            };
            for (u, v) in (0..n).flat_map(|u| (0..n).map(move |v| (u, v))) {
                let [a, b, c, d] = [node(u, v), node(u + 1, v), node(u + 1, v + 1), node(u, v + 1)];
                quads.push(if high { [a, b, c, d] } else { [a, d, c, b] });
            }
        }
        let growth = growth_of(self.first / (self.radius - 0.5), away);
        let mut mesh = Mesh::default();
        for j in 0..=away {
            let r = 0.5 + (self.radius - 0.5) * graded(j, away, growth);
            mesh.nodes.extend(directions.iter().map(|x| x.map(|x| r * x)));
        }
        let at = |q: [u32; 4], j: usize| q.map(|i| i + (shell * j) as u32);
        for j in 0..away {
            mesh.hexes.extend(quads.iter().map(|&q| {
                let ([a, b, c, d], [e, f, g, h]) = (at(q, j), at(q, j + 1));
                [a, b, c, d, e, f, g, h]
            }));
        }
        let marker = |name: &str, quads| Marker { name: name.into(), quads, ..Marker::default() };
        mesh.markers = vec![
            marker("sphere", quads.iter().map(|&[a, b, c, d]| [a, d, c, b]).collect()),
            marker("farfield", quads.iter().map(|&q| at(q, away)).collect()),
        ];
        mesh
    }
}
