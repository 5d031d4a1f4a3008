//! Vorticity and the Q criterion, of gradients of the velocity; such gradients between the cells of a structured grid.

use super::Field;
use crate::mesh::{cross, dot, norm};

/// The fields `vorticity` and `q_criterion` of gradients d(u, v, w)_i / dx_k.
pub(crate) fn vortex_fields(gradients: &[[[f64; 3]; 3]]) -> [Field; 2] {
    let curls: Vec<[f64; 3]> = gradients.iter().map(vorticity).collect();
    [
        Field::vector("vorticity", 3, curls.into_flattened()),
        Field::scalar("q_criterion", gradients.iter().map(q_criterion).collect()),
    ]
}

/// The curl of the velocity, of its gradient du_i/dx_k.
fn vorticity(g: &[[f64; 3]; 3]) -> [f64; 3] {
    [g[2][1] - g[1][2], g[0][2] - g[2][0], g[1][0] - g[0][1]]
}

/// Q = (|W|^2 - |S|^2) / 2 with W and S the antisymmetric and the symmetric part of the gradient of the velocity: positive in
/// vortices (Hunt, Wray and Moin, CTR-S88, 1988).
fn q_criterion(g: &[[f64; 3]; 3]) -> f64 {
    let pairs = (0..3).flat_map(|i| (0..3).map(move |k| (i, k)));
    -0.5 * pairs.map(|(i, k)| g[i][k] * g[k][i]).sum::<f64>()
}

/// Share of the product of three edges below which eight places have no volume to speak of.
const FLAT: f64 = 1e-10;

/// d(u, v, w)_i / dx_k amid eight places with these velocities, by the trilinear function through them: exact where velocities are linear,
/// however places are spread. Bit d of a place's number says whether it is the one further along axis d; nothing changes along axes that are not
/// `active`. None where the places have no volume.
pub(crate) fn gradient_amid(
    places: &[[f64; 3]; 8],
    velocities: &[[f64; 3]; 8],
    active: [bool; 3],
) -> Option<[[f64; 3]; 3]> {
    let along = |values: &[[f64; 3]; 8], axis: usize| -> [f64; 3] {
        let sign = |n: usize| if n >> axis & 1 == 1 { 0.25 } else { -0.25 };
        std::array::from_fn(|c| (0..8).map(|n| sign(n) * values[n][c]).sum())
    };
    let edges: [[f64; 3]; 3] = std::array::from_fn(|axis| along(places, axis));
    let volume = dot(edges[0], cross(edges[1], edges[2]));
    let size: f64 = edges.into_iter().map(norm).product();
    if volume.abs() <= FLAT * size || volume.is_nan() {
        return None;
    }
    let mut gradient = [[0.0; 3]; 3];
    for axis in (0..3).filter(|&axis| active[axis]) {
        let (change, across) = (along(velocities, axis), cross(edges[(axis + 1) % 3], edges[(axis + 2) % 3]));
        for i in 0..3 {
            (0..3).for_each(|k| gradient[i][k] += change[i] * across[k] / volume);
        }
    }
    Some(gradient)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body that turns at the rate w has vorticity 2 w and Q = w^2; pure shear has no Q; pure strain a negative one.
    #[test]
    fn vortices_are_told_from_shear() {
        let turning = [[0.0, -3.0, 0.0], [3.0, 0.0, 0.0], [0.0; 3]];
        assert_eq!((vorticity(&turning), q_criterion(&turning)), ([0.0, 0.0, 6.0], 9.0));
        let shear = [[0.0, 0.0, 2.0], [0.0; 3], [0.0; 3]];
        assert_eq!((vorticity(&shear), q_criterion(&shear)), ([0.0, 2.0, 0.0], 0.0));
        let strain = [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0; 3]];
        assert_eq!((vorticity(&strain), q_criterion(&strain)), ([0.0; 3], -1.0));
    }

    /// Of linear velocities on a skewed, stretched cell, and of places in a plane.
    #[test]
    fn gradients_of_linear_velocities_are_exact() {
        let exact = [[1.0, -2.0, 0.5], [0.25, 3.0, -1.0], [4.0, 0.0, -4.0]];
        let place = |n: usize| {
            let [i, j, k] = [n & 1, n >> 1 & 1, n >> 2].map(|bit| bit as f64);
            [i + 0.4 * j, 1e-4 * (1.0 + i) * j + 0.1 * k, 0.3 * i + 0.7 * k * (1.0 + 0.2 * j)]
        };
        let places: [[f64; 3]; 8] = std::array::from_fn(place);
        let velocity = |x: [f64; 3]| exact.map(|row| 2.0 + row[0] * x[0] + row[1] * x[1] + row[2] * x[2]);
        let found = gradient_amid(&places, &places.map(velocity), [true; 3]).unwrap();
        for (row, own) in found.iter().zip(&exact) {
            for (g, e) in row.iter().zip(own) {
                assert!((g - e).abs() < 1e-10, "{found:?}");
            }
        }
        let flat = places.map(|[x, y, _]| [x, y, x + y]);
        assert!(gradient_amid(&flat, &flat, [true; 3]).is_none());
    }
}
