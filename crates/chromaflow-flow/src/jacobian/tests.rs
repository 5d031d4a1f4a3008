use super::*;
use crate::bc::{condition_flux, flux_through};
use crate::config::{Boundary, FluxScheme, Space};
use crate::flux::roe_absolute;
use crate::gas::{conserved, primitive};
use crate::residual::Inviscid;
use crate::testmesh::mixed_cube;
use chromaflow::Policy;

const FREE: [f64; 5] = [1.0, 0.4, 0.3, -0.2, 1.0 / 1.4];

fn boundaries() -> Vec<Condition<f64>> {
    let kinds = [
        Boundary::Inlet { total_pressure: 1.25, total_temperature: 1.05, direction: [1.0, 0.1, 0.0] },
        Boundary::Outlet { pressure: 0.98 },
        Boundary::SlipWall,
        Boundary::Farfield,
        Boundary::Symmetry,
        Boundary::Extrapolation,
    ];
    kinds.map(|kind| kind.condition(Gas::AIR, FREE)).to_vec()
}

/// A smooth subsonic flow on a mixed mesh.
fn flow() -> (Dual, Vec<NodeRecord>, Vec<[f64; 5]>) {
    let mesh = mixed_cube(4, 0.2);
    let q: Vec<[f64; 5]> = mesh
        .nodes
        .iter()
        .map(|x| {
            let s = (2.0 * x[0] - x[1] + 3.0 * x[2]).sin();
            conserved(Gas::AIR, &[1.0 + 0.1 * s, 0.4 + 0.1 * s, 0.3 * s, -0.2, 0.7 - 0.1 * s])
        })
        .collect();
    let nodes = records(&mesh.nodes, &q);
    (Dual::new(&mesh), nodes, q)
}

fn records(x: &[[f64; 3]], q: &[[f64; 5]]) -> Vec<NodeRecord> {
    x.iter()
        .zip(q)
        .map(|(x, q)| {
            let w = primitive(Gas::AIR, q);
            [w[0], w[1], w[2], w[3], w[4], x[0], x[1], x[2]]
        })
        .collect()
}

fn assembled(
    dual: &Dual,
    nodes: &[NodeRecord],
    scheme: JacobianScheme,
    policy: Policy,
    threads: usize,
) -> Jacobian {
    let team = Team::new(threads);
    let boundaries = boundaries();
    let assembly = Assembly {
        team: &team,
        dual,
        boundaries: &boundaries,
        scheme,
        fix: RoeFix { acoustic: 0.1, convective: 0.1, cutoff_mach: 1.0 },
        gas: Gas::AIR,
        transport: None,
        eddies: Eddies::NONE,
        cfl: f64::INFINITY,
        shift: 0.0,
        fixed: &[],
        held: &[],
    };
    let mut jac = Jacobian::zeroed(dual.pattern.clone(), 5, policy).unwrap();
    assembly.assemble(nodes, &mut jac);
    jac
}

/// Every third column of a matrix of policy `d` against central differences of a residual at q.
fn is_the_derivative(jac: &Jacobian, q: &[[f64; 5]], residual: impl Fn(&[[f64; 5]]) -> Vec<[f64; 5]>) {
    let OffDiagonal::F64(off) = &jac.off else { panic!("policy d") };
    let step = 1e-6;
    for j in (0..q.len()).step_by(3) {
        for c in 0..5 {
            let (mut more, mut less) = (q.to_vec(), q.to_vec());
            more[j][c] += step;
            less[j][c] -= step;
            let (more, less) = (residual(&more), residual(&less));
            for i in 0..q.len() {
                for r in 0..5 {
                    let expected = (more[i][r] - less[i][r]) / (2.0 * step);
                    let found = if i == j {
                        jac.diag[i * 25 + c * 5 + r]
                    } else {
                        jac.pattern().find(i, j).map_or(0.0, |k| off[k * 25 + c * 5 + r])
                    };
                    assert!((found - expected).abs() < 1e-8, "({i}, {j}) [{r}, {c}]: {found} {expected}");
                }
            }
        }
    }
}

#[test]
fn van_leers_matrix_is_the_derivative_of_its_residual() {
    let (dual, nodes, q) = flow();
    let x: Vec<[f64; 3]> = nodes.iter().map(|n| [n[5], n[6], n[7]]).collect();
    let jac = assembled(&dual, &nodes, JacobianScheme::VanLeer, Policy::D, 2);
    let (team, boundaries) = (Team::new(1), boundaries());
    let space = Space { flux: FluxScheme::VanLeer, second_order: false, ..Space::default() };
    let inviscid = Inviscid {
        team: &team,
        dual: &dual,
        boundaries: &boundaries,
        space: &space,
        gas: Gas::AIR,
        fix: RoeFix { acoustic: 0.005, convective: 0.005, cutoff_mach: 1.0 },
        eps2: [1e-2; 5],
        mapping: &crate::gradient::Mapping::default(),
        moments: &[],
    };
    let residual = |q: &[[f64; 5]]| {
        let nodes = records(&x, q);
        let mut fluxes = vec![[0.0; 5]; dual.edges.len()];
        let mut out = vec![[0.0; 5]; q.len()];
        inviscid.edge_fluxes(&nodes, &[], &[], &mut fluxes);
        inviscid.gather(&fluxes, &mut out);
        inviscid.add_boundaries(&nodes, &mut out);
        out
    };
    is_the_derivative(&jac, &q, residual);
}

#[test]
fn roes_matrix_is_exact_in_uniform_flow() {
    // There the frozen |A| costs nothing: compare with finite differences at one state.
    let (dual, mut nodes, _) = flow();
    for node in &mut nodes {
        node[..5].copy_from_slice(&FREE);
    }
    let roe = assembled(&dual, &nodes, JacobianScheme::Roe, Policy::D, 1);
    let OffDiagonal::F64(off) = &roe.off else { panic!("policy d") };
    let fix = RoeFix { acoustic: 0.1, convective: 0.1, cutoff_mach: 1.0 };
    let q = conserved(Gas::AIR, &FREE);
    for (e, [a, b]) in dual.edges.iter().enumerate() {
        let k = dual.pattern.find(*a as usize, *b as usize).unwrap();
        for c in 0..5 {
            let step = 1e-6;
            let shifted = |s: f64| {
                let mut other = q;
                other[c] += s;
                crate::flux::flux_roe(Gas::AIR, &FREE, &primitive(Gas::AIR, &other), &dual.areas[e], fix)
            };
            let (more, less) = (shifted(step), shifted(-step));
            for r in 0..5 {
                let expected = (more[r] - less[r]) / (2.0 * step);
                assert!((off[k * 25 + c * 5 + r] - expected).abs() < 1e-8);
            }
        }
    }
}

/// Roe's matrix whole, diagonal blocks and those on either side of it, in a flow that varies: the derivative of the first-order
/// residual whose |A| stands still.
#[test]
fn roes_matrix_is_the_derivative_with_its_dissipation_held() {
    let (dual, nodes, q) = flow();
    let jac = assembled(&dual, &nodes, JacobianScheme::Roe, Policy::D, 2);
    let (fix, boundaries) = (RoeFix { acoustic: 0.1, convective: 0.1, cutoff_mach: 1.0 }, boundaries());
    let state = |i: u32| primitive_of(&nodes[i as usize]);
    let held: Vec<[f64; 25]> = dual
        .edges
        .iter()
        .zip(&dual.areas)
        .map(|([a, b], n)| roe_absolute(Gas::AIR, &state(*a), &state(*b), &n.map(|v| 0.5 * v), fix))
        .collect();
    let residual = |q: &[[f64; 5]]| {
        let w: Vec<[f64; 5]> = q.iter().map(|q| primitive(Gas::AIR, q)).collect();
        let mut out = vec![[0.0; 5]; q.len()];
        for ((&[a, b], n), absolute) in dual.edges.iter().zip(&dual.areas).zip(&held) {
            let (a, b) = (a as usize, b as usize);
            let half = n.map(|v| 0.5 * v);
            let (left, right) = (flux_through(Gas::AIR, &w[a], &half), flux_through(Gas::AIR, &w[b], &half));
            for r in 0..5 {
                let jump: f64 = (0..5).map(|c| absolute[c * 5 + r] * (q[b][c] - q[a][c])).sum();
                let flux = left[r] + right[r] - jump;
                out[a][r] += flux;
                out[b][r] -= flux;
            }
        }
        for (patch, condition) in dual.patches.iter().zip(&boundaries) {
            for (&i, n) in patch.nodes.iter().zip(&patch.areas) {
                let flux = condition_flux(condition, Gas::AIR, &w[i as usize], n);
                (0..5).for_each(|r| out[i as usize][r] += flux[r]);
            }
        }
        out
    };
    is_the_derivative(&jac, &q, residual);
}

#[test]
fn threads_change_nothing_and_ds_rounds_d() {
    let (dual, nodes, _) = flow();
    for scheme in [JacobianScheme::Roe, JacobianScheme::VanLeer] {
        let d = assembled(&dual, &nodes, scheme, Policy::D, 1);
        let ds = assembled(&dual, &nodes, scheme, Policy::Ds, 3);
        let (OffDiagonal::F64(wide), OffDiagonal::F32(narrow)) = (&d.off, &ds.off) else {
            panic!("policies")
        };
        assert!(wide.iter().zip(narrow.iter()).all(|(w, n)| *w as f32 == *n));
        for (w, n) in d.diag.iter().zip(ds.diag.iter()) {
            assert!((w - n).abs() < 1e-7);
        }
        let three = assembled(&dual, &nodes, scheme, Policy::D, 3);
        assert_eq!(&*d.diag, &*three.diag);
    }
}
