//! The normal equations, one node at a time.

use super::{Gradient, NodeRecord, SHOCK};
use crate::config::GradientWeights;
use chromaflow::BlockPattern;

/// As [`super::least_squares`].
pub fn least_squares(
    pattern: &BlockPattern,
    nodes: &[NodeRecord],
    weights: GradientWeights,
) -> Vec<Gradient> {
    (0..nodes.len())
        .map(|i| {
            let mut a = [[0.0; 3]; 3];
            let mut b = [[0.0; 5]; 3];
            for &j in pattern.columns(i) {
                let diff: Vec<f64> = (0..8).map(|k| nodes[j as usize][k] - nodes[i][k]).collect();
                let d = &diff[5..];
                let weight = match weights {
                    GradientWeights::Unweighted => 1.0,
                    GradientWeights::InverseDistance => 1.0 / (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]),
                };
                for r in 0..3 {
                    for c in 0..3 {
                        a[r][c] += weight * d[r] * d[c];
                    }
                    for v in 0..5 {
                        b[r][v] += weight * d[r] * diff[v];
                    }
                }
            }
            let det = |m: &[[f64; 3]; 3]| {
                m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
                    - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
                    + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
            };
            // Cramer's rule.
            let mut g = [0.0; 16];
            for d in 0..3 {
                for v in 0..5 {
                    let mut m = a;
                    for r in 0..3 {
                        m[r][d] = b[r][v];
                    }
                    g[d * 5 + v] = det(&m) / det(&a);
                }
            }
            let p = |i: usize| nodes[i][4];
            let neighbors = pattern.range(i).map(|k| pattern.col_idx()[k] as usize);
            g[SHOCK] = neighbors.map(|j| ((p(j) - p(i)) / (p(j) + p(i))).powi(4)).sum();
            g
        })
        .collect()
}
