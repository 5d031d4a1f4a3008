use super::*;
use crate::gas::tests::{D5, GAS, areas, assert_close, dual_block, states};
use crate::gas::{Transport, ViscosityLaw, conserved, primitive, viscosity};
use crate::real::Real;
use proptest::prelude::*;

const AIR: Transport<f64> =
    Transport { scale: 0.02, prandtl: 0.72, law: ViscosityLaw::Sutherland, sutherland: 0.4 };
const CONSTANT: Transport<f64> = Transport { law: ViscosityLaw::Constant, ..AIR };

const TET: [[f64; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [0.2, 0.9, -0.1], [0.3, 0.2, 0.8]];
const PYRAMID: [[f64; 3]; 5] =
    [[0.0, 0.0, 0.0], [1.0, 0.1, 0.1], [1.1, 1.2, -0.1], [-0.1, 0.9, 0.0], [0.5, 0.4, 0.9]];
const PRISM: [[f64; 3]; 6] =
    [[0.0, 0.0, 0.0], [1.0, 0.0, 0.1], [0.1, 1.0, -0.1], [0.0, 0.1, 1.0], [1.1, 0.0, 1.2], [0.0, 0.9, 0.8]];
const HEX: [[f64; 3]; 8] = [
    [0.0, 0.0, 0.0],
    [1.0, 0.1, -0.1],
    [1.2, 1.0, 0.1],
    [-0.1, 0.9, 0.0],
    [0.1, 0.0, 1.1],
    [0.9, -0.1, 0.9],
    [1.0, 1.1, 1.3],
    [0.0, 1.0, 0.8],
];

/// Linear functions have exact gradients, constants none, on warped cells of every type.
#[test]
fn cell_gradients_are_exact_for_linear_functions() {
    fn check<const N: usize>(x: &[[f64; 3]; N], cell: &CellWeights<f64, N>) {
        assert!(cell.volume > 0.0);
        let slope = [0.3, -1.2, 0.7];
        for k in 0..3 {
            let gradient: f64 = (0..N)
                .map(|i| cell.weight[i][k] * (2.0 + (0..3).map(|d| slope[d] * x[i][d]).sum::<f64>()))
                .sum();
            assert!((gradient - slope[k]).abs() < 1e-13, "{N} nodes, direction {k}: {gradient}");
            assert!(cell.weight.iter().map(|w| w[k]).sum::<f64>().abs() < 1e-13);
        }
    }
    check(&TET, &tet_weights(&TET));
    check(&PYRAMID, &pyramid_weights(&PYRAMID));
    check(&PRISM, &prism_weights(&PRISM));
    check(&HEX, &hex_weights(&HEX));
    // Volumes by hand: a corner of the unit cube, and a unit pyramid.
    let corner = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    assert!((tet_weights(&corner).volume - 1.0 / 6.0).abs() < 1e-15);
    let pyramid = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    assert!((pyramid_weights(&pyramid).volume - 1.0 / 3.0).abs() < 1e-15);
    let prism = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [0.0, 1.0, 0.0],
        [0.0, 0.0, 1.0],
        [1.0, 0.0, 1.0],
        [0.0, 1.0, 1.0],
    ];
    assert!((prism_weights(&prism).volume - 0.5).abs() < 1e-15);
}

/// Gradient of (u, v, w, T) in the tetrahedron, of four node states.
fn tet_gradient<T: Real>(weights: &CellWeights<f64, 4>, nodes: &[[T; 4]; 4]) -> [[T; 3]; 4] {
    std::array::from_fn(|i| {
        std::array::from_fn(|k| {
            (0..4).fold(T::c(0.0), |sum, node| sum + T::c(weights.weight[node][k]) * nodes[node][i])
        })
    })
}

proptest! {
    /// Exact on tetrahedra at constant viscosity, by every node.
    #[test]
    fn blocks_are_exact_on_tetrahedra(a in states(), b in states(), c in states(), d in states(), n in areas()) {
        let w = [a, b, c, d];
        let weights = tet_weights(&TET);
        let nodes = w.map(|w| velocity_and_temperature(GAS, &w));
        let gradient = tet_gradient(&weights, &nodes);
        let face: [f64; 4] = std::array::from_fn(|i| nodes.iter().map(|n| 0.25 * n[i]).sum());
        let force = traction(CONSTANT.scale, &gradient, &n);
        for node in 0..4 {
            let analytic = flux_viscous_block(
                GAS, CONSTANT, &w[node], &face, &force, &weights.weight[node], 0.25, &n,
            );
            let exact = dual_block(&conserved(GAS, &w[node]), |q| {
                let gas = GAS.lift::<D5>();
                let mut nodes = nodes.map(|n| n.map(D5::c));
                nodes[node] = velocity_and_temperature(gas, &primitive(gas, &q));
                let face: [D5; 4] = std::array::from_fn(|i| {
                    nodes.iter().fold(D5::c(0.0), |sum, n| sum + D5::c(0.25) * n[i])
                });
                let gradient = tet_gradient(&weights, &nodes);
                flux_viscous(gas, CONSTANT.lift(), &face, &gradient, &n.map(D5::c))
            });
            assert_close(&analytic, &exact, 1e-11);
        }
    }

    #[test]
    fn rigid_rotation_has_no_stress(x in -1.0..1.0f64, y in -1.0..1.0f64, z in -1.0..1.0f64, n in areas()) {
        let rotation = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0], [0.0; 3]];
        assert_close(&traction(1.0, &rotation, &n), &[0.0; 3], 1e-14);
        // Nor has uniform expansion, by Stokes' hypothesis.
        let expansion = [[x, 0.0, 0.0], [0.0, x, 0.0], [0.0, 0.0, x], [0.0; 3]];
        assert_close(&traction(1.0, &expansion, &n), &[0.0; 3], 1e-14);
    }

    /// Changes over areas are gradients: what goes across a face and what goes along it make the flux of theirs.
    #[test]
    fn changes_make_the_flux_of_their_gradient(w in states(), a in states(), b in states(), c in states(),
        n in areas(), m in areas(), l in areas(), inverse in 0.3..3.0f64) {
        let middle = velocity_and_temperature(GAS, &w);
        let (change, area) = ([a, b, c].map(|x| velocity_and_temperature(GAS, &x)), [n, m, l]);
        let gradient: [[f64; 3]; 4] = std::array::from_fn(|i| {
            std::array::from_fn(|k| inverse * (0..3).map(|d| change[d][i] * area[d][k]).sum::<f64>())
        });
        let expected = flux_viscous(GAS, AIR, &middle, &gradient, &n);
        let (ratio, mu) = (conductivity_by_mu(GAS, AIR), inverse * AIR.scale * viscosity(AIR, middle[3]));
        let [before, after] = [-0.5, 0.5].map(|s| std::array::from_fn(|i| middle[i] + s * change[0][i]));
        let across = flux_viscous_across(ratio, mu, &before, &after, &n);
        let along = flux_viscous_along(ratio, mu, &middle, &[change[1], change[2]], &[m, l], &n);
        let together: [f64; 4] = std::array::from_fn(|v| across[v] + along[v]);
        assert_close(&together, expected.last_chunk().unwrap(), 1e-13);
    }

    #[test]
    fn augmented_gradient_has_the_edge_difference(g in areas(), dx in areas(), difference in -1.0..1.0f64) {
        let out = edge_augmented(&g, difference, &dx);
        let dot = |a: &[f64; 3]| a[0] * dx[0] + a[1] * dx[1] + a[2] * dx[2];
        prop_assert!((dot(&out) - difference).abs() < 1e-12);
        assert_close(&edge_augmented(&g, dot(&g), &dx), &g, 1e-13);
    }
}

/// Heat alone: k grad T . n with k = mu / (Pr (gamma - 1)).
/// What a quadratic relation adds is -0.3 (O tau + (O tau)^T), a symmetric tensor without trace, which does work on the face; nothing
/// where the flow is strained without turning, or at rest.
#[test]
fn quadratic_stresses_are_symmetric_and_without_trace() {
    let gradient = [[0.4, -2.0, 0.3], [1.1, 0.2, -0.6], [-0.7, 0.9, 0.5], [3.0, 1.0, -2.0]];
    let face = [0.3, -0.2, 0.5, 1.0];
    let normals = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let rows = normals.map(|n| flux_quadratic(0.7, &face, &gradient, &n));
    let size: f64 = gradient[..3].iter().flatten().map(|g| g * g).sum::<f64>().sqrt();
    let bulk = -2.0 / 3.0 * (gradient[0][0] + gradient[1][1] + gradient[2][2]);
    let turn = |i: usize, k: usize| (gradient[i][k] - gradient[k][i]) / size;
    let stress =
        |i: usize, k: usize| 0.7 * (gradient[i][k] + gradient[k][i] + if i == k { bulk } else { 0.0 });
    let mut trace = 0.0;
    for i in 0..3 {
        for j in 0..3 {
            let sum: f64 = (0..3).map(|k| turn(i, k) * stress(j, k) + turn(j, k) * stress(i, k)).sum();
            assert!((rows[j][1 + i] + 0.3 * sum).abs() < 1e-14, "{i} {j}");
            assert!((rows[j][1 + i] - rows[i][1 + j]).abs() < 1e-14, "{i} {j}");
        }
        trace += rows[i][1 + i];
        let work: f64 = (0..3).map(|d| face[d] * rows[i][1 + d]).sum();
        assert!(rows[i][0] == 0.0 && (rows[i][4] - work).abs() < 1e-15);
    }
    assert!(trace.abs() < 1e-14 && rows[0][1].abs() > 0.01, "{trace}");
    let strained = [[1.0, 0.5, 0.0], [0.5, -1.0, 0.2], [0.0, 0.2, 0.3], [0.0; 3]];
    assert_eq!(flux_quadratic(0.7, &face, &strained, &normals[1]), [0.0; 5]);
    assert_eq!(flux_quadratic(0.7, &face, &[[0.0; 3]; 4], &normals[1]), [0.0; 5]);
}

#[test]
fn heat_goes_down_the_gradient() {
    let gradient = [[0.0; 3], [0.0; 3], [0.0; 3], [2.0, 0.0, 0.0]];
    let f = flux_viscous(GAS, AIR, &[0.0, 0.0, 0.0, 1.0], &gradient, &[1.0, 0.0, 0.0]);
    assert_close(&f, &[0.0, 0.0, 0.0, 0.0, 2.0 * 0.02 / (0.72 * 0.4)], 1e-14);
}

#[test]
fn viscous_radius_of_a_unit_cube() {
    let radius = spectral_radius_viscous(GAS, CONSTANT, &[2.0, 0.0, 0.0, 0.0, 1.0], &[0.0, 1.0, 0.0], 1.0);
    assert!((radius - 1.4 / 0.72 * 0.02 / 2.0).abs() < 1e-15);
}
