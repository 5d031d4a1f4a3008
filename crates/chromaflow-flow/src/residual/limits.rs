//! Node-wise limiters: one factor per node and variable, the smallest of those of its edges.

use crate::config::Limiter;
use crate::dual::Dual;
use crate::equations::perfect_gas::{N, State};
use crate::gradient::{Added, Gradient, Mapping, NodeRecord};
use crate::limiter::{limiter_barth, limiter_venkatakrishnan, rise};
use crate::parallel;
use crate::real::{LaneKernel, Lanes, dispatch};
use chromaflow_device::{Isa, Team};
use std::ops::Range;

/// Computes the factors of Barth's or Venkatakrishnan's limiter, `[nodes]`; other limiters work along edges and leave
/// `out` as it is. `eps2` are squares of changes that Venkatakrishnan's
/// leaves alone.
pub fn node_limits(
    team: &Team,
    dual: &Dual,
    nodes: &[NodeRecord],
    (gradients, mapping): (&[Gradient], &Mapping),
    limiter: Limiter,
    eps2: State,
    out: &mut [State],
) {
    if !is_node_wise(limiter) {
        return;
    }
    parallel::rows(team, dual.nodes(), 1, out, |rows, out| {
        dispatch(
            Isa::detect(),
            Kernel { rows, dual, nodes, gradients, mapped: &mapping.by_row, limiter, eps2, out },
        );
    });
}

/// Whether a limiter works node by node.
pub fn is_node_wise(limiter: Limiter) -> bool {
    matches!(limiter, Limiter::Venkatakrishnan | Limiter::Barth)
}

struct Kernel<'a> {
    rows: Range<usize>,
    dual: &'a Dual,
    nodes: &'a [NodeRecord],
    gradients: &'a [Gradient],
    mapped: &'a Added<3>,
    limiter: Limiter,
    eps2: State,
    out: &'a mut [State],
}

impl LaneKernel for Kernel<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Lanes>(self) {
        // The lanes are the variables of one node.
        let mut eps2 = [1.0; 8];
        eps2[..N].copy_from_slice(&self.eps2);
        let eps2 = V::from_array(&eps2);
        for (i, out) in self.rows.zip(self.out) {
            let own = &self.nodes[i];
            let value = V::from_array(own);
            let (mut smallest, mut largest) = (value, value);
            let neighbors = self.dual.pattern.columns(i);
            for &j in neighbors {
                let other = V::from_array(&self.nodes[j as usize]);
                smallest = smallest.min(other);
                largest = largest.max(other);
            }
            let mut slopes = [[0.0; 8]; 3];
            for d in 0..3 {
                slopes[d][..N].copy_from_slice(&self.gradients[i][N * d..N * (d + 1)]);
            }
            let g = [V::from_array(&slopes[0]), V::from_array(&slopes[1]), V::from_array(&slopes[2])];
            let mut phi = V::c(1.0);
            let mapped = self.mapped.of(i);
            for (k, &j) in neighbors.iter().enumerate() {
                let other = &self.nodes[j as usize];
                let mut half =
                    [0.5 * (other[5] - own[5]), 0.5 * (other[6] - own[6]), 0.5 * (other[7] - own[7])];
                if let Some(added) = mapped.get(k) {
                    half = std::array::from_fn(|axis| half[axis] + 0.5 * added[axis]);
                }
                let slope = V::c(half[0]) * g[0] + V::c(half[1]) * g[1] + V::c(half[2]) * g[2];
                let allowed = rise(value, smallest, largest, slope);
                let edge = if self.limiter == Limiter::Barth {
                    limiter_barth(allowed, slope)
                } else {
                    limiter_venkatakrishnan(allowed, slope, eps2)
                };
                phi = phi.min(edge);
            }
            out.copy_from_slice(&phi.to_array()[..N]);
        }
    }
}
