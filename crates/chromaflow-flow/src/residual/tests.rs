use super::*;
use crate::config::{Boundary, FluxScheme, Limiter};
use crate::flux::{LayerFix, RoeFix};
use crate::gas::{Transport, ViscosityLaw};
use crate::gradient::{Added, least_squares};
use crate::mesh::generate::{Cells, FlatPlate, box_mesh};
use crate::testmesh::mixed_cube;

const FREE: [f64; 5] = [1.0, 0.4, 0.3, -0.2, 1.0 / 1.4];

fn residual(
    dual: &Dual,
    nodes: &[NodeRecord],
    space: &Space,
    kind: Boundary,
    threads: usize,
) -> Vec<[f64; 5]> {
    residual_with(LayerFix::NONE, dual, nodes, space, kind, threads)
}

fn residual_with(
    layers: LayerFix<f64>,
    dual: &Dual,
    nodes: &[NodeRecord],
    space: &Space,
    kind: Boundary,
    threads: usize,
) -> Vec<[f64; 5]> {
    let team = Team::new(threads);
    let boundaries = vec![kind.condition(Gas::AIR, FREE); dual.patches.len()];
    let inviscid = Inviscid {
        team: &team,
        dual,
        boundaries: &boundaries,
        fixed: &[],
        space,
        gas: Gas::AIR,
        layers,
        fix: RoeFix { acoustic: 0.005, convective: 0.005, cutoff_mach: 1.0, dissipation: 1.0 },
        eps2: [1e-2; 5],
        mapping: &Mapping::default(),
        moments: &[],
    };
    let mut gradients = vec![[0.0; 16]; nodes.len()];
    least_squares(&team, &dual.pattern, nodes, space.gradient, &Added::default(), &mut gradients);
    let mut fluxes = vec![[0.0; 5]; dual.edges.len()];
    let mut out = vec![[0.0; 5]; nodes.len()];
    inviscid.edge_fluxes(nodes, if space.second_order { &gradients } else { &[] }, &[], &mut fluxes);
    inviscid.gather(&fluxes, &mut out);
    inviscid.add_boundaries(nodes, &mut out);
    out
}

fn largest(r: &[[f64; 5]]) -> f64 {
    r.as_flattened().iter().fold(0.0, |m, v| m.max(v.abs()))
}

#[test]
fn the_free_stream_stays_on_mixed_meshes() {
    let mesh = mixed_cube(6, 0.25);
    let dual = Dual::new(&mesh);
    assert!(dual.closure_error() < 1e-13);
    let nodes: Vec<NodeRecord> =
        mesh.nodes.iter().map(|x| [FREE[0], FREE[1], FREE[2], FREE[3], FREE[4], x[0], x[1], x[2]]).collect();
    for flux in [FluxScheme::Roe, FluxScheme::Hllc, FluxScheme::VanLeer] {
        for limiter in [Limiter::None, Limiter::VanAlbada] {
            let space = Space { flux, limiter, ..Space::default() };
            let r = residual(&dual, &nodes, &space, Boundary::Farfield, 2);
            assert!(largest(&r) < 1e-14, "{flux:?} {}", largest(&r));
        }
    }
}

#[test]
fn mass_is_conserved_and_threads_change_nothing() {
    let mesh = mixed_cube(5, 0.2);
    let dual = Dual::new(&mesh);
    let nodes: Vec<NodeRecord> = mesh
        .nodes
        .iter()
        .map(|x| {
            let s = (3.0 * x[0] + 2.0 * x[1] - x[2]).sin();
            [1.0 + 0.2 * s, 0.3, 0.2 * s, -0.1, 0.7 + 0.1 * s, x[0], x[1], x[2]]
        })
        .collect();
    let one = residual(&dual, &nodes, &Space::default(), Boundary::SlipWall, 1);
    // Nothing passes walls: mass and energy stay inside.
    for v in [0, 4] {
        let sum: f64 = one.iter().map(|r| r[v]).sum();
        assert!(sum.abs() < 1e-13, "{sum}");
    }
    assert!(largest(&one) > 1e-3);
    for threads in [2, 3, 5] {
        assert_eq!(one, residual(&dual, &nodes, &Space::default(), Boundary::SlipWall, threads));
    }
}

/// On warped and skewed elements of all types, and on a planar mesh.
#[test]
fn gradients_at_nodes_are_exact_for_linear_fields() {
    let plate = FlatPlate { cells: [3, 6, 4], height: 0.5, growth: 1.4 }.mesh();
    for mesh in [mixed_cube(5, 0.2), plate] {
        let flat = mesh.planar.map(|planar| planar.nodes_2d);
        let dual = flat.map_or_else(|| Dual::new(&mesh), |n| Dual::new(&mesh).collapsed(n));
        let elements = ViscousElements::new(&mesh, &dual);
        let slope =
            |v: usize, d: usize| if flat.is_some() && d == 2 { 0.0 } else { 1.0 + v as f64 - 2.0 * d as f64 };
        let field =
            |x: &[f64; 3], v: usize| 0.3 + slope(v, 0) * x[0] + slope(v, 1) * x[1] + slope(v, 2) * x[2];
        let places = &mesh.nodes[..dual.nodes()];
        let nodes: Vec<NodeRecord> = places
            .iter()
            .map(|x| [1.0, field(x, 0), field(x, 1), field(x, 2), 1.0, x[0], x[1], x[2]])
            .collect();
        let phi: Vec<f64> = places.iter().map(|x| field(x, 3)).collect();
        let mut found = vec![0.0; 12 * dual.nodes()];
        let gradients = NodeGradients::new(&elements, &dual, &nodes);
        gradients.compute::<1>(&Team::new(2), &nodes, phi.as_chunks().0, &mut found);
        // Two quantities, of which the second is twice the first.
        let both: Vec<f64> = phi.iter().flat_map(|phi| [*phi, 2.0 * phi]).collect();
        let mut found_of_both = vec![0.0; 15 * dual.nodes()];
        gradients.compute::<2>(&Team::new(2), &nodes, both.as_chunks().0, &mut found_of_both);
        for (one, two) in found.chunks_exact(12).zip(found_of_both.chunks_exact(15)) {
            assert_eq!(one, &two[..12]);
            assert!((9..12).all(|k| two[k + 3] == 2.0 * two[k]));
        }
        for (x, gradient) in places.iter().zip(found.as_chunks::<3>().0.as_chunks::<4>().0) {
            for v in 0..4 {
                for d in 0..3 {
                    assert!(
                        (gradient[v][d] - slope(v, d)).abs() < 1e-10,
                        "{x:?}, {v}, {d}: {}",
                        gradient[v][d]
                    );
                }
            }
        }
    }
}

/// Nodes see along edges of their own: what shears from some station on does not reach the nodes before it.
#[test]
fn gradients_at_nodes_are_not_those_of_other_nodes() {
    let mesh = box_mesh([4, 4, 4], [1.0, 1.0, 1e-3], Cells::Hexes, 0.0);
    let dual = Dual::new(&mesh);
    let elements = ViscousElements::new(&mesh, &dual);
    let record = |x: &[f64; 3]| [1.0, if x[0] > 0.4 { x[2] } else { 0.0 }, 0.0, 0.0, 1.0, x[0], x[1], x[2]];
    let nodes: Vec<NodeRecord> = mesh.nodes.iter().map(record).collect();
    let mut found = vec![0.0; 9 * nodes.len()];
    let gradients = NodeGradients::new(&elements, &dual, &nodes);
    gradients.compute(&Team::new(1), &nodes, &vec![[]; nodes.len()], &mut found);
    for (x, gradient) in mesh.nodes.iter().zip(found.as_chunks::<9>().0) {
        let expected = if x[0] > 0.4 { 1.0 } else { 0.0 };
        assert!((gradient[2] - expected).abs() < 1e-12, "{x:?}: {}", gradient[2]);
    }
}

/// A node whose one element has a straight angle there: its gradient does not grow without bounds.
#[test]
fn gradients_at_flat_corners_are_bounded() {
    let gradient = |dent: f64| {
        let mut mesh = box_mesh([1, 1, 1], [1.0; 3], Cells::Hexes, 0.0);
        let at = mesh.nodes.iter().position(|x| *x == [1.0, 1.0, 1.0]).unwrap();
        for node in mesh.nodes.iter_mut().filter(|x| x[0] == 1.0 && x[1] == 1.0) {
            (node[0], node[1]) = (0.5 + dent, 0.5 + dent);
        }
        let dual = Dual::new(&mesh);
        let elements = ViscousElements::new(&mesh, &dual);
        let field = |x: &[f64; 3]| [1.0, x[0] * x[1], 0.0, 0.0, 1.0, x[0], x[1], x[2]];
        let nodes: Vec<NodeRecord> = mesh.nodes.iter().map(field).collect();
        let mut found = vec![0.0; 9 * nodes.len()];
        let gradients = NodeGradients::new(&elements, &dual, &nodes);
        gradients.compute(&Team::new(1), &nodes, &vec![[]; nodes.len()], &mut found);
        found[9 * at..][..3].iter().fold(0.0_f64, |most, d| most.max(d.abs()))
    };
    let [right, flat] = [0.5, 1e-9].map(gradient);
    assert!(right > 0.9 && flat < 10.0, "{right} {flat}");
}

/// Density that alternates from layer to layer of a flow along them is damped by the fix of convective waves alone: twenty times as
/// fast where layers are twenty times as wide as high.
#[test]
fn densities_of_thin_layers_are_coupled() {
    let mesh = box_mesh([6, 6, 6], [6.0, 6.0, 0.3], Cells::Hexes, 0.0);
    let dual = Dual::new(&mesh);
    let mut nodes: Vec<NodeRecord> =
        mesh.nodes.iter().map(|x| [1.0, 0.5, 0.0, 0.0, 1.0 / 1.4, x[0], x[1], x[2]]).collect();
    for node in &mut nodes {
        let layer = (node[7] / 0.05).round() as i64;
        node[0] += if layer % 2 == 0 { 1e-3 } else { -1e-3 };
    }
    let space = Space { second_order: false, ..Space::default() };
    let inviscid = LayerFix { most: 0.3, depth: 0.0 };
    let is_middle = |x: &[f64; 3]| x.iter().zip([3.0, 3.0, 0.15]).all(|(x, m)| (x - m).abs() < 1e-9);
    let middle = mesh.nodes.iter().position(is_middle).unwrap();
    let [plain, fixed] = [LayerFix::NONE, inviscid]
        .map(|layers| residual_with(layers, &dual, &nodes, &space, Boundary::Farfield, 1)[middle]);
    assert!(plain[0].abs() > 1e-8 && (fixed[0] / plain[0] - 20.0).abs() < 0.1, "{plain:?} {fixed:?}");
    // Cubes are left alone, to the last bit.
    let mesh = box_mesh([6; 3], [1.0; 3], Cells::Hexes, 0.0);
    let dual = Dual::new(&mesh);
    for (node, x) in nodes.iter_mut().zip(&mesh.nodes) {
        node[5..].copy_from_slice(x);
    }
    let [plain, fixed] = [LayerFix::NONE, inviscid]
        .map(|layers| residual_with(layers, &dual, &nodes, &space, Boundary::Farfield, 1)[middle]);
    assert!((0..5).all(|v| (fixed[v] - plain[v]).abs() < 1e-15), "{plain:?} {fixed:?}");
}

/// Velocity across an end that does not change along the duct: one stress everywhere, and nothing is left in any control volume, those of the ends
/// among them, on elements of all types; in turbulent flow of one eddy viscosity, too.
#[test]
fn shear_passes_open_ends() {
    let mesh = mixed_cube(5, 0.25);
    let dual = Dual::new(&mesh);
    let team = Team::new(2);
    let boundaries = vec![Boundary::Farfield.condition(Gas::AIR, FREE); dual.patches.len()];
    let elements = ViscousElements::new(&mesh, &dual);
    let transport = Transport { scale: 0.1, prandtl: 0.72, law: ViscosityLaw::Constant, sutherland: 0.0 };
    let state = |x: &[f64; 3]| [1.0, 0.2, 0.1, 0.6 + 1.1 * x[0] - 0.4 * x[1], 0.7, x[0], x[1], x[2]];
    let nodes: Vec<NodeRecord> = mesh.nodes.iter().map(state).collect();
    let mut gradients = vec![[0.0; 16]; nodes.len()];
    let weights = Space::default().gradient;
    least_squares(&team, &dual.pattern, &nodes, weights, &Added::default(), &mut gradients);
    // On the ends alone: sides have the other half of the stress.
    let size = |n: &[f64; 3]| n.iter().map(|v| v * v).sum::<f64>().sqrt();
    let mut is_side = vec![false; nodes.len()];
    for patch in &dual.patches {
        for (&i, n) in patch.nodes.iter().zip(&patch.areas) {
            is_side[i as usize] |= n[2].abs() < 0.999 * size(n);
        }
    }
    let left = |eddies: Eddies<'_>, open: bool| {
        let (mut fluxes, mut out) = (vec![[0.0; 5]; dual.edges.len()], vec![[0.0; 5]; nodes.len()]);
        elements.subtract(&team, Gas::AIR, transport, eddies, &nodes, &mut fluxes);
        for (edge, flux) in dual.edges.iter().zip(&fluxes) {
            for v in 0..N {
                out[edge[0] as usize][v] += flux[v];
                out[edge[1] as usize][v] -= flux[v];
            }
        }
        if open {
            let (team, dual, boundaries) = (&team, &dual, &boundaries);
            OpenStress { team, dual, boundaries, gas: Gas::AIR, transport, eddies }
                .subtract(&nodes, &gradients, &mut out);
        }
        let ends = out.iter().zip(&is_side).filter(|(_, side)| !**side);
        ends.flat_map(|(r, _)| &r[1..4]).fold(0.0, |m: f64, v| m.max(v.abs()))
    };
    let viscosity = vec![0.3; nodes.len()];
    for eddies in [Eddies::NONE, Eddies { viscosity: &viscosity, prandtl: 0.9, ..Eddies::NONE }] {
        assert!(left(eddies, true) < 1e-13 && left(eddies, false) > 1e-4, "{eddies:?}");
    }
}
