//! Fluxes through faces at the seam of a mesh that repeats when it is turned.
//!
//! Such a face is seen from the rows on either side of it, and what leaves the one must enter the other one. Fluxes turn with the face, but
//! limiters do not: they look at components one by one. One row's axes are taken on both sides.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use super::{EdgeFluxes, Inviscid};
use crate::dual::Dual;
use crate::gradient::{Added, Gradient, NodeRecord};
use crate::mesh::periodic::{Matrix, product};
use crate::ranks::Seam;
use crate::real::dispatch;
use chromaflow::dist::Share;
use chromaflow_device::Isa;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Edges at the seam whose fluxes are those of the row beyond it, and their metrics in its axes.
#[derive(Clone, Debug, Default)]
pub struct TurnedEdges {
    /// Numbers of the edges, `[count]`.
    pub edges: Vec<u32>,
    /// Nodes of each, `[2 count]`.
    pub ends: Vec<u32>,
    /// The row whose factors of limiters each of these has, and whether they are to be [turned](mixed), `[2 count]`.
    pub factors: Vec<(u32, bool)>,
    /// What turns each to those axes, `[count]`.
    pub turns: Vec<Matrix>,
    /// Directed areas, `[count]`.
    pub areas: Vec<[f64; 3]>,
    /// What is added to increments.
    pub mapped: Added<6>,
    /// First moments of the faces, `[count]`; empty where fluxes do not vary over them.
    pub moments: Vec<[[f64; 3]; 3]>,
}

impl TurnedEdges {
    /// Those of a rank's rows, of the increments and moments of all edges. Of two rows the lower one's axes are taken; of a row and its own
    /// image those of what comes first about the axis; of a row on the axis and another one those of the other one.
    pub fn new(
        dual: &Dual,
        (seam, share): (&Seam, &Share),
        by_edge: &Added<6>,
        moments: &[[[f64; 3]; 3]],
    ) -> Self {
        let images: BTreeMap<u32, (u32, i32)> =
            seam.images.iter().map(|&(row, of, turns)| (row, (of, turns))).collect();
        let global = share.global();
        let on_axis = |row: u32| seam.on_axis.binary_search(&row).is_ok();
        let turns = |&[a, b]: &[u32; 2]| -> Option<i32> {
            let (own, image) = if share.owns(a as usize) { (a, b) } else { (b, a) };
            let &(of, turns) = images.get(&image).filter(|_| share.owns(own as usize))?;
            let beyond = match global[own as usize].cmp(&global[of as usize]) {
                _ if on_axis(own) => true,
                Ordering::Less => false,
                Ordering::Greater => true,
                Ordering::Equal => turns < 0,
            };
            beyond.then_some(turns)
        };
        let (mut out, mut mapped) = (Self::default(), vec![[0.0; 6]]);
        for (at, edge) in dual.edges.iter().enumerate() {
            let Some(turns) = turns(edge) else { continue };
            let m = seam.rotation.matrix(-turns);
            out.edges.push(at as u32);
            out.ends.extend(edge);
            // The row beyond is seen as it is, the other one as its image.
            let factor = |i: u32| images.get(&i).map_or((i, !on_axis(i)), |&(of, _)| (of, false));
            out.factors.extend(edge.map(factor));
            out.areas.push(product(&m, dual.areas[at]));
            if !by_edge.is_empty() {
                let [a, b, c, x, y, z] = by_edge.get(at, 0);
                let (to, from) = (product(&m, [a, b, c]), product(&m, [x, y, z]));
                mapped.push([to[0], to[1], to[2], from[0], from[1], from[2]]);
            }
            if let Some(moment) = moments.get(at) {
                out.moments.push(turned_moment(&m, moment));
            }
            out.turns.push(m);
        }
        if mapped.len() > 1 {
            out.mapped = Added { first: (1..mapped.len() as u32).collect(), values: mapped };
        }
        out
    }

    /// Factors of limiters at the ends, in the axes of each edge.
    fn factors_of(&self, limits: &[[f64; 5]]) -> Vec<[f64; 5]> {
        let factors = self.factors.iter().enumerate().filter(|_| !limits.is_empty());
        let of = |(at, &(row, turns)): (usize, &(u32, bool))| {
            let own = limits[row as usize];
            if turns { mixed(&self.turns[at / 2], own) } else { own }
        };
        factors.map(of).collect()
    }
}

/// Factors of turned components, as [`Images::fill_factors`](chromaflow::dist::Images::fill_factors) has them.
fn mixed(m: &Matrix, factors: [f64; 5]) -> [f64; 5] {
    let [a, u, v, w, b] = factors;
    let [u, v, w] = product(&m.map(|row| row.map(|c| c * c)), [u, v, w]);
    [a, u, v, w, b]
}

fn turned_node(m: &Matrix, node: &NodeRecord) -> NodeRecord {
    let mut out = *node;
    for at in [1, 5] {
        out[at..at + 3].copy_from_slice(&product(m, [node[at], node[at + 1], node[at + 2]]));
    }
    out
}

/// Derivatives along turned axes of a turned velocity and of numbers.
fn turned_gradient(m: &Matrix, gradient: &Gradient) -> Gradient {
    let mut out = *gradient;
    for v in 0..5 {
        let along = product(m, [gradient[v], gradient[5 + v], gradient[10 + v]]);
        (0..3).for_each(|d| out[d * 5 + v] = along[d]);
    }
    for d in 0..3 {
        let velocity = product(m, [out[d * 5 + 1], out[d * 5 + 2], out[d * 5 + 3]]);
        out[d * 5 + 1..d * 5 + 4].copy_from_slice(&velocity);
    }
    out
}

fn transposed(m: &Matrix) -> Matrix {
    std::array::from_fn(|r| std::array::from_fn(|c| m[c][r]))
}

/// A moment in turned axes, m M m^T.
pub(super) fn turned_moment(m: &Matrix, moment: &Matrix) -> Matrix {
    let rows = moment.map(|row| product(m, row));
    transposed(&transposed(&rows).map(|column| product(m, column)))
}

impl Inviscid<'_> {
    /// Replaces the fluxes of limited second order through edges at the seam by those in the other row's axes.
    pub fn turned_fluxes(
        &self,
        turned: &TurnedEdges,
        (nodes, gradients, limits): (&[NodeRecord], &[Gradient], &[[f64; 5]]),
        out: &mut [[f64; 5]],
    ) {
        let count = turned.edges.len();
        let ends = || turned.ends.iter().enumerate().map(|(at, &i)| (i as usize, &turned.turns[at / 2]));
        let mut fluxes = vec![[0.0; 5]; count];
        let kernel = EdgeFluxes {
            range: 0..count,
            edges: &(0..count as u32).map(|e| [2 * e, 2 * e + 1]).collect::<Vec<_>>(),
            areas: &turned.areas,
            nodes: &ends().map(|(i, m)| turned_node(m, &nodes[i])).collect::<Vec<_>>(),
            gradients: &ends().map(|(i, m)| turned_gradient(m, &gradients[i])).collect::<Vec<_>>(),
            limits: &turned.factors_of(limits),
            mapped: &turned.mapped,
            moments: &turned.moments,
            space: self.space,
            fix: self.fix,
            layers: self.layers,
            periods: &self.dual.periods,
            gas: self.gas,
            eps2: self.eps2,
            out: &mut fluxes,
        };
        dispatch(Isa::detect(), kernel);
        for ((e, m), flux) in turned.edges.iter().zip(&turned.turns).zip(&fluxes) {
            let momentum = product(&transposed(m), [flux[1], flux[2], flux[3]]);
            out[*e as usize] = [flux[0], momentum[0], momentum[1], momentum[2], flux[4]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mesh::periodic::Rotation;
    use crate::residual::primitive_of;

    /// The gradient of a turned field at a turned place.
    #[test]
    fn gradients_turn_with_their_field() {
        let m = Rotation { point: [0.0; 3], axis: [0.6, 0.0, 0.8], angle: 0.7 }.matrix(1);
        let mut gradient = [0.0; 16];
        for (k, g) in gradient.iter_mut().enumerate() {
            *g = (1.7 * k as f64 + 0.3).sin();
        }
        let field = |gradient: &Gradient, x: [f64; 3]| -> [f64; 5] {
            std::array::from_fn(|v| (0..3).map(|d| gradient[d * 5 + v] * x[d]).sum())
        };
        let turned = turned_gradient(&m, &gradient);
        assert_eq!(turned[15], gradient[15]);
        let x = [0.3, -0.4, 0.9];
        let node = |w: [f64; 5], x: [f64; 3]| [w[0], w[1], w[2], w[3], w[4], x[0], x[1], x[2]];
        let expected = turned_node(&m, &node(field(&gradient, x), x));
        let found = field(&turned, [expected[5], expected[6], expected[7]]);
        for (a, b) in found.iter().zip(primitive_of(&expected)) {
            assert!((a - b).abs() < 1e-15, "{found:?} {expected:?}");
        }
    }
}
