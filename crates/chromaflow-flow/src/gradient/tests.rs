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
        let mut g = vec![[0.0; 16]; nodes.len()];
        least_squares(&Team::new(2), &dual.pattern, &nodes, weights, &Added::default(), &mut g);
        for node in &g {
            for (i, value) in node[..SHOCK].iter().enumerate() {
                assert!((value - slope(i % 5, i / 5)).abs() < 1e-11, "{value}");
            }
        }
    }
}

#[test]
fn tuned_agrees_with_the_normal_equations() {
    let mesh = mixed_cube(4, 0.2);
    let dual = Dual::new(&mesh);
    let nodes = records(&mesh.nodes, |x, v| 1.2 + (x[0] + 2.0 * x[1] * x[2] + v as f64).sin());
    for weights in [GradientWeights::Unweighted, GradientWeights::InverseDistance] {
        let mut g = vec![[0.0; 16]; nodes.len()];
        least_squares(&Team::new(3), &dual.pattern, &nodes, weights, &Added::default(), &mut g);
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
    let mut g = vec![[1.0; 16]; 5];
    least_squares(&Team::new(1), &pattern, &nodes, GradientWeights::Unweighted, &Added::default(), &mut g);
    assert!((g[0][0] - 2.0).abs() < 1e-14 && (g[0][5] + 3.0).abs() < 1e-14 && g[0][10] == 0.0);
}

/// In layers thousands of times longer than high on a circle, a fit by plain increments loses the derivative across them; the mapped one has
/// it, and that along them.
#[test]
fn layers_on_a_curved_wall_keep_both_derivatives() {
    use crate::mesh::generate::Cylinder;
    let mesh = Cylinder { cells: [40, 48], radius: 4.0, growth: 1.25, triangles: false }.mesh();
    let dual = Dual::new(&mesh).collapsed(mesh.planar.unwrap().nodes_2d);
    let (team, n) = (Team::new(2), dual.nodes());
    let places = &mesh.nodes[..n];
    let polar = |x: &[f64; 3]| (x[0].hypot(x[1]), x[1].atan2(x[0]));
    let distance: Vec<f64> = places.iter().map(|x| polar(x).0 - 0.5).collect();
    let away: Vec<[f64; 3]> = places.iter().map(|x| [x[0] / polar(x).0, x[1] / polar(x).0, 0.0]).collect();
    let mapping = Mapping::new(&team, &dual, places, &distance, &away);
    assert!((1..n).contains(&mapping.nodes), "{} of {n} mapped: the outer cells are not flat", mapping.nodes);
    // Rows and edges have the same, and nothing where neither end is mapped.
    for (edge, &[a, b]) in dual.edges.iter().enumerate() {
        let of = |i: u32, j: u32| {
            let columns = dual.pattern.columns(i as usize);
            mapping.by_row.get(i as usize, columns.binary_search(&j).unwrap())
        };
        let (to, from) = (of(a, b), of(b, a));
        assert_eq!(mapping.by_edge.get(edge, 0), [to[0], to[1], to[2], from[0], from[1], from[2]]);
        let none = [a, b].iter().all(|&i| mapping.by_row.of(i as usize).is_empty());
        assert_eq!(mapping.by_edge.of(edge).is_empty(), none);
    }
    // u = 3 d, v = tanh(d / 0.02) sin(angle): d/dn and d/ds of both at the wall's third layer.
    let nodes = records(places, |x, v| {
        let (r, angle) = polar(x);
        if v == 1 { 3.0 * (r - 0.5) } else { ((r - 0.5) / 0.02).tanh() * angle.sin() }
    });
    let worst = |weights, mapped: &Added<3>| {
        let mut g = vec![[0.0; 16]; n];
        least_squares(&team, &dual.pattern, &nodes, weights, mapped, &mut g);
        let mut off = [0.0_f64; 2];
        for i in 40..120 {
            let (n, (r, angle)) = (away[i], polar(&places[i]));
            let across = n[0] * g[i][1] + n[1] * g[i][6];
            let along = -n[1] * g[i][2] + n[0] * g[i][7];
            let exact = ((r - 0.5) / 0.02).tanh() * angle.cos() / r;
            let largest = ((r - 0.5) / 0.02).tanh() / r;
            off = [off[0].max((across / 3.0 - 1.0).abs()), off[1].max((along - exact).abs() / largest)];
        }
        off
    };
    let plain = worst(GradientWeights::Unweighted, &Added::default());
    let mapped = worst(GradientWeights::Unweighted, &mapping.by_row);
    assert!(plain[0] > 0.5, "across: {plain:?}");
    // Normal equations square the shape of the cells: 1e-16 times (1e4)^2, at the least, is what rounding leaves of `across`.
    assert!(mapped[0] < 1e-7 && mapped[1] < 0.02, "mapped: {mapped:?}");
}
