//! Whole histories of plain steps, and a mesh whose graph has a hub.

use super::{Case, alone, apart, config, cube, near, over};
use crate::config::Boundary;
use crate::dual::elements;
use crate::mesh::{Marker, Mesh};
use crate::numbering::{Numbering, renumber};
use crate::ranks::{Division, graph};
use crate::testmesh::mixed_cube;
use chromaflow_device::Team;
use std::collections::HashMap;
use std::f64::consts::PI;

/// Plain steps in f64 down to six orders: a history differs by the rounding of its sums and by nothing that grows.
#[test]
fn histories_agree_to_twelve_digits_for_six_orders() {
    let case =
        Case { mesh: mixed_cube(4, 0.2), config: cube(&Boundary::SlipWall), bump: true, iterations: 90 };
    let expected = alone(&case);
    let [first, last] = [0, case.iterations - 1].map(|k| expected.residuals[k][0]);
    assert!(last < 1e-6 * first, "{last:e} of {first:e}");
    for size in [2, 3, 5] {
        let found = over(size, &case, false, None);
        assert_eq!(found.residuals.len(), expected.residuals.len());
        for (k, (a, b)) in found.residuals.iter().zip(&expected.residuals).enumerate() {
            assert!(apart(a, b) < 1e-12, "{size} ranks, iteration {k}: {a:?}, alone {b:?}");
        }
        near(&found, &expected, 1e-12, &format!("{size} ranks"));
    }
}

/// A ball of tetrahedra that meet in its middle, in a shell of prisms: the node in the middle has all of the inner sphere for neighbors.
fn ball() -> Mesh {
    const RINGS: usize = 11;
    const AROUND: usize = 12;
    let count = RINGS * AROUND + 2;
    let mut mesh = Mesh { nodes: vec![[0.5; 3]], ..Mesh::default() };
    for radius in [0.25, 0.35, 0.5] {
        let mut push = |theta: f64, phi: f64| {
            let unit = [theta.sin() * phi.cos(), theta.sin() * phi.sin(), theta.cos()];
            mesh.nodes.push(unit.map(|x| 0.5 + radius * x));
        };
        push(0.0, 0.0);
        for (i, j) in (0..RINGS).flat_map(|i| (0..AROUND).map(move |j| (i, j))) {
            push(PI * (i + 1) as f64 / (RINGS + 1) as f64, 2.0 * PI * j as f64 / AROUND as f64);
        }
        push(PI, 0.0);
    }
    // Counterclockwise seen from outside, on the inner sphere.
    let at = |i: usize, j: usize| (2 + i * AROUND + j % AROUND) as u32;
    let (north, south) = (1, count as u32);
    let mut faces = Vec::new();
    for j in 0..AROUND {
        faces.push([north, at(0, j), at(0, j + 1)]);
        faces.push([south, at(RINGS - 1, j + 1), at(RINGS - 1, j)]);
        for i in 0..RINGS - 1 {
            faces.push([at(i, j), at(i + 1, j), at(i + 1, j + 1)]);
            faces.push([at(i, j), at(i + 1, j + 1), at(i, j + 1)]);
        }
    }
    for [a, b, c] in faces {
        mesh.tets.push([a, c, b, 0]);
        for shell in 0..2 {
            let [inner, outer] = [shell, shell + 1].map(|k| [a, b, c].map(|v| v + k * count as u32));
            mesh.prisms.push([inner[0], inner[1], inner[2], outer[0], outer[1], outer[2]]);
        }
    }
    let mut once: HashMap<Vec<u32>, Option<[u32; 3]>> = HashMap::new();
    for (kind, nodes) in elements(&mesh) {
        for face in kind.faces() {
            let face: Vec<u32> = face.iter().map(|&i| nodes[i]).collect();
            let mut key = face.clone();
            key.sort_unstable();
            once.entry(key).and_modify(|face| *face = None).or_insert(face.try_into().ok());
        }
    }
    let mut triangles: Vec<[u32; 3]> = once.into_values().flatten().collect();
    triangles.sort_unstable();
    assert_eq!(triangles.len(), mesh.tets.len());
    mesh.markers = vec![Marker { name: "sphere".to_owned(), triangles, ..Marker::default() }];
    mesh
}

/// A node with more than a hundred neighbors, some of them on each other rank.
#[test]
fn a_hub_at_a_border_is_like_any_row() {
    let mesh = ball();
    let team = Team::new(1);
    let (_, plan, edges) = renumber(&mesh, Numbering::default(), &team);
    let rows = plan.permutation.len();
    let pattern = graph(&edges, rows, 1);
    let hub = plan.permutation.new_of_old()[0] as usize;
    let near_it = pattern.columns(hub);
    assert!(near_it.len() > 100, "{} neighbors", near_it.len());
    let case = Case { mesh, config: config(&[("sphere", Boundary::Farfield)]), bump: true, iterations: 12 };
    let expected = alone(&case);
    for size in [2, 3, 5, 8] {
        let division = Division::new(&pattern, None, &[size as u32], 1);
        let others = near_it.iter().filter(|&&row| division.owner[row as usize] != division.owner[hub]);
        assert!(others.count() > 10, "{size} ranks");
        near(&over(size, &case, false, None), &expected, 1e-12, &format!("a hub, {size} ranks"));
    }
}
