use super::*;
use crate::config::GradientWeights;
use crate::dual::Dual;
use crate::testmesh::mixed_cube;
use chromaflow_device::Team;

fn records(nodes: &[[f64; 3]], f: impl Fn(&[f64; 3], usize) -> f64) -> Vec<NodeRecord> {
    nodes.iter().map(|x| [f(x, 0), f(x, 1), f(x, 2), f(x, 3), f(x, 4), x[0], x[1], x[2]]).collect()
}

#[test]
fn exact_for_linear_fields_on_mixed_meshes() {
    let mesh = mixed_cube(6, 0.2);
    let dual = Dual::new(&mesh);
    let slope = |v: usize, d: usize| (1 + v) as f64 - 2.0 * d as f64;
    let nodes =
        records(&mesh.nodes, |x, v| 0.3 + slope(v, 0) * x[0] + slope(v, 1) * x[1] + slope(v, 2) * x[2]);
    for weights in [GradientWeights::Unweighted, GradientWeights::InverseDistance] {
        let mut g = vec![[0.0; 15]; nodes.len()];
        least_squares(&Team::new(2), &dual.pattern, &nodes, weights, &mut g);
        for node in &g {
            for (i, value) in node.iter().enumerate() {
                assert!((value - slope(i % 5, i / 5)).abs() < 1e-11, "{value}");
            }
        }
    }
}

#[test]
fn tuned_agrees_with_the_normal_equations() {
    let mesh = mixed_cube(4, 0.2);
    let dual = Dual::new(&mesh);
    let nodes = records(&mesh.nodes, |x, v| (x[0] + 2.0 * x[1] * x[2] + v as f64).sin());
    for weights in [GradientWeights::Unweighted, GradientWeights::InverseDistance] {
        let mut g = vec![[0.0; 15]; nodes.len()];
        least_squares(&Team::new(3), &dual.pattern, &nodes, weights, &mut g);
        let expected = reference::least_squares(&dual.pattern, &nodes, weights);
        for (a, b) in g.as_flattened().iter().zip(expected.as_flattened()) {
            assert!((a - b).abs() < 1e-11, "{a} {b}");
        }
    }
}

#[test]
fn nothing_changes_across_a_plane() {
    // A flat star of four neighbors.
    let nodes: Vec<NodeRecord> = [[0., 0.], [1., 0.], [0., 1.], [-1., 0.], [0., -1.]]
        .map(|[x, y]| [2.0 * x - 3.0 * y, 0., 0., 0., 1., x, y, 0.])
        .to_vec();
    let pattern =
        chromaflow::BlockPattern::new(5, vec![0, 4, 5, 6, 7, 8], vec![1, 2, 3, 4, 0, 0, 0, 0]).unwrap();
    let mut g = vec![[1.0; 15]; 5];
    least_squares(&Team::new(1), &pattern, &nodes, GradientWeights::Unweighted, &mut g);
    assert!((g[0][0] - 2.0).abs() < 1e-14 && (g[0][5] + 3.0).abs() < 1e-14 && g[0][10] == 0.0);
}
