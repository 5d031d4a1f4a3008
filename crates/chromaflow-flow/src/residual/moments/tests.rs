use super::*;
use crate::mesh::generate::{Cells, box_mesh};

/// How far sums of (x n) over control volumes away from the boundary are from their volumes times the unit tensor, over these: x in the
/// middle of each edge, and with moments besides.
fn off_linear(mesh: &Mesh, moments: &[[[f64; 3]; 3]]) -> f64 {
    let dual = Dual::new(mesh);
    let mut sums: Vec<[[f64; 3]; 3]> =
        dual.volumes.iter().map(|v| [[-v, 0.0, 0.0], [0.0, -v, 0.0], [0.0, 0.0, -v]]).collect();
    for (at, (&[a, b], area)) in dual.edges.iter().zip(&dual.areas).enumerate() {
        let middle = scale(0.5, add(mesh.nodes[a as usize], mesh.nodes[b as usize]));
        let moment = moments.get(at).unwrap_or(&[[0.0; 3]; 3]);
        for (d, k) in (0..9).map(|dk| (dk / 3, dk % 3)) {
            let along = middle[d] * area[k] + moment[d][k];
            sums[a as usize][d][k] += along;
            sums[b as usize][d][k] -= along;
        }
    }
    for &i in dual.patches.iter().flat_map(|patch| &patch.nodes) {
        sums[i as usize] = [[0.0; 3]; 3];
    }
    let sizes = sums.iter().zip(&dual.volumes).map(|(sum, volume)| norm(sum.map(norm)) / volume);
    sizes.fold(0.0, f64::max)
}

#[test]
fn least_moments_make_linear_fields_exact() {
    let moments = |mesh: &Mesh| least_moments(&Dual::new(mesh), mesh, 1.0, (&Team::new(2), None));
    for cells in [Cells::Hexes, Cells::Prisms, Cells::Mixed] {
        let mesh = box_mesh([6; 3], [1.0, 2.0, 0.3], cells, 0.4);
        let (without, with) = (off_linear(&mesh, &[]), off_linear(&mesh, &moments(&mesh)));
        assert!(without > 0.1 && with < 0.02 * without, "{cells:?}: {without} and {with}");
    }
    let tets = box_mesh([6; 3], [1.0, 2.0, 0.3], Cells::Tets, 0.4);
    assert!(moments(&tets).is_empty() && off_linear(&tets, &[]) < 1e-12);
}

#[test]
fn moments_do_not_depend_on_threads_and_stay_within_their_bound() {
    let mesh = box_mesh([7, 5, 6], [1.0, 1.0, 1e-3], Cells::Mixed, 0.4);
    let dual = Dual::new(&mesh);
    let [one, four] = [1, 4].map(|threads| least_moments(&dual, &mesh, 0.02, (&Team::new(threads), None)));
    assert_eq!(one, four);
    let length = |&[a, b]: &[u32; 2]| norm(crate::mesh::sub(mesh.nodes[b as usize], mesh.nodes[a as usize]));
    let bounds = dual.edges.iter().zip(&dual.areas).map(|(edge, area)| 0.02 * norm(*area) * length(edge));
    let parts: Vec<f64> =
        one.iter().zip(bounds).map(|(moment, bound)| norm(moment.map(norm)) / bound).collect();
    assert!(parts.iter().all(|part| *part < 1.0 + 1e-9) && parts.iter().any(|part| *part > 1.0 - 1e-9));
}
