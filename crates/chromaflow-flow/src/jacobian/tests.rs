use super::*;
use crate::bc::{Wall, WallHeat, condition_flux, flux_through, strong_wall_residual};
use crate::config::{Boundary, FluxScheme, Space};
use crate::flux::{LayerFix, roe_absolute, spectral_radius};
use crate::gas::{ViscosityLaw, conserved, primitive, viscosity};
use crate::residual::Inviscid;
use crate::testmesh::mixed_cube;
use crate::viscous::{flux_viscous_of, velocity_and_temperature, weight_across};
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

const FIX: RoeFix<f64> = RoeFix { acoustic: 0.1, convective: 0.1, cutoff_mach: 1.0, dissipation: 1.0 };

/// An assembly of the inviscid terms alone.
fn assembly<'a>(
    team: &'a Team,
    dual: &'a Dual,
    boundaries: &'a [Condition<f64>],
    scheme: JacobianScheme,
) -> Assembly<'a> {
    Assembly {
        team,
        dual,
        boundaries,
        scheme,
        fix: FIX,
        gas: Gas::AIR,
        transport: None,
        eddies: Eddies::NONE,
        cfl: f64::INFINITY,
        shares: &[],
        shift: 0.0,
        fixed: &[],
        laws: &[],
        mirrors: &[],
        held: &[],
    }
}

fn written(assembly: &Assembly<'_>, nodes: &[NodeRecord], policy: Policy) -> Jacobian {
    let mut jac = Jacobian::zeroed(assembly.dual.pattern.clone(), 5, policy).unwrap();
    assembly.assemble(nodes, &mut jac);
    jac
}

fn assembled(
    dual: &Dual,
    nodes: &[NodeRecord],
    scheme: JacobianScheme,
    policy: Policy,
    threads: usize,
) -> Jacobian {
    let (team, boundaries) = (Team::new(threads), boundaries());
    written(&assembly(&team, dual, &boundaries, scheme), nodes, policy)
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
        fixed: &[],
        space: &space,
        gas: Gas::AIR,
        layers: LayerFix::NONE,
        fix: RoeFix { acoustic: 0.005, convective: 0.005, cutoff_mach: 1.0, dissipation: 1.0 },
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
    let q = conserved(Gas::AIR, &FREE);
    for (e, [a, b]) in dual.edges.iter().enumerate() {
        let k = dual.pattern.find(*a as usize, *b as usize).unwrap();
        for c in 0..5 {
            let step = 1e-6;
            let shifted = |s: f64| {
                let mut other = q;
                other[c] += s;
                crate::flux::flux_roe(Gas::AIR, &FREE, &primitive(Gas::AIR, &other), &dual.areas[e], FIX)
            };
            let (more, less) = (shifted(step), shifted(-step));
            for r in 0..5 {
                let expected = (more[r] - less[r]) / (2.0 * step);
                assert!((off[k * 25 + c * 5 + r] - expected).abs() < 1e-8);
            }
        }
    }
}

/// The first-order residual that Roe's matrix is the derivative of: what the matrix holds fixed stands as it was at the state
/// `nodes`. That is |A| of every face, and of viscous terms viscosity, conductivity and the velocity that stress works on.
struct HeldCoefficients<'a> {
    dual: &'a Dual,
    x: Vec<[f64; 3]>,
    absolute: Vec<[f64; 25]>,
    /// (mu, k) and (u, v, w, T) of every face; none without viscosity.
    diffusing: Vec<([f64; 2], [f64; 4])>,
}

impl<'a> HeldCoefficients<'a> {
    fn new(
        dual: &'a Dual,
        nodes: &[NodeRecord],
        transport: Option<Transport<f64>>,
        eddies: Eddies<'_>,
    ) -> Self {
        let state = |i: u32| primitive_of(&nodes[i as usize]);
        let faces = || dual.edges.iter().zip(&dual.areas);
        let diffusing = |[a, b]: [u32; 2], transport: Transport<f64>| {
            let (fa, fb) = (thermal(&state(a)), thermal(&state(b)));
            let face: [f64; 4] = std::array::from_fn(|v| 0.5 * (fa[v] + fb[v]));
            let mu = transport.scale * viscosity(transport, face[3]);
            let g1 = Gas::AIR.gamma - 1.0;
            let mut both = [mu, mu / (transport.prandtl * g1)];
            if !eddies.viscosity.is_empty() {
                let added = 0.5 * (eddies.viscosity[a as usize] + eddies.viscosity[b as usize]);
                both[0] += added;
                both[1] += added / (eddies.prandtl * g1);
            }
            (both, face)
        };
        Self {
            dual,
            x: nodes.iter().map(|n| [n[5], n[6], n[7]]).collect(),
            absolute: faces()
                .map(|([a, b], n)| roe_absolute(Gas::AIR, &state(*a), &state(*b), &n.map(|v| 0.5 * v), FIX))
                .collect(),
            diffusing: transport.map_or(Vec::new(), |t| faces().map(|(&e, _)| diffusing(e, t)).collect()),
        }
    }

    fn residual(&self, q: &[[f64; 5]]) -> Vec<[f64; 5]> {
        let w: Vec<[f64; 5]> = q.iter().map(|q| primitive(Gas::AIR, q)).collect();
        let mut out = vec![[0.0; 5]; q.len()];
        for (e, (&[a, b], n)) in self.dual.edges.iter().zip(&self.dual.areas).enumerate() {
            let (a, b) = (a as usize, b as usize);
            let half = n.map(|v| 0.5 * v);
            let (left, right) = (flux_through(Gas::AIR, &w[a], &half), flux_through(Gas::AIR, &w[b], &half));
            let mut flux: [f64; 5] = std::array::from_fn(|r| {
                let jump: f64 = (0..5).map(|c| self.absolute[e][c * 5 + r] * (q[b][c] - q[a][c])).sum();
                left[r] + right[r] - jump
            });
            if let Some((diffusing, face)) = self.diffusing.get(e) {
                let dx: [f64; 3] = std::array::from_fn(|d| self.x[b][d] - self.x[a][d]);
                let (weight, fa, fb) = (weight_across(n, &dx), thermal(&w[a]), thermal(&w[b]));
                let gradient = std::array::from_fn(|v| weight.map(|by| by * (fb[v] - fa[v])));
                let viscous = flux_viscous_of(diffusing, face, &gradient, n);
                (0..5).for_each(|r| flux[r] -= viscous[r]);
            }
            for r in 0..5 {
                out[a][r] += flux[r];
                out[b][r] -= flux[r];
            }
        }
        for (patch, condition) in self.dual.patches.iter().zip(&boundaries()) {
            for (&i, n) in patch.nodes.iter().zip(&patch.areas) {
                let flux = condition_flux(condition, Gas::AIR, &w[i as usize], n);
                (0..5).for_each(|r| out[i as usize][r] += flux[r]);
            }
        }
        out
    }
}

fn thermal(w: &[f64; 5]) -> [f64; 4] {
    velocity_and_temperature(Gas::AIR, w)
}

const VISCOUS: Transport<f64> =
    Transport { scale: 0.05, prandtl: 0.72, law: ViscosityLaw::Sutherland, sutherland: 0.4 };

fn eddy_viscosity(dual: &Dual) -> Vec<f64> {
    (0..dual.nodes()).map(|i| 0.02 * (1.0 + (i as f64).sin())).collect()
}

/// Roe's matrix whole, diagonal blocks and those on either side of it, in a flow that varies.
#[test]
fn roes_matrix_is_the_derivative_with_its_dissipation_held() {
    let (dual, nodes, q) = flow();
    let jac = assembled(&dual, &nodes, JacobianScheme::Roe, Policy::D, 2);
    let held = HeldCoefficients::new(&dual, &nodes, None, Eddies::NONE);
    is_the_derivative(&jac, &q, |q| held.residual(q));
}

/// The same with the viscous terms of laminar and of turbulent flow.
#[test]
fn viscous_blocks_are_the_derivative_with_the_viscosity_held() {
    let (dual, nodes, q) = flow();
    let (team, boundaries, added) = (Team::new(2), boundaries(), eddy_viscosity(&dual));
    for eddies in [Eddies::NONE, Eddies { viscosity: &added, prandtl: 0.9, ..Eddies::NONE }] {
        let inviscid = assembly(&team, &dual, &boundaries, JacobianScheme::Roe);
        let assembly = Assembly { transport: Some(VISCOUS), eddies, ..inviscid };
        let jac = written(&assembly, &nodes, Policy::D);
        let held = HeldCoefficients::new(&dual, &nodes, Some(VISCOUS), eddies);
        is_the_derivative(&jac, &q, |q| held.residual(q));
    }
}

/// Rows of walls without slip, at rest and moving, of either heat condition: the derivatives of the equations in their place.
#[test]
fn wall_rows_are_the_derivatives_of_the_walls_equations() {
    let (dual, nodes, q) = flow();
    let (team, boundaries) = (Team::new(2), boundaries());
    let walls: Vec<WallNode<f64>> = (0..dual.nodes() as u32)
        .step_by(4)
        .map(|node| WallNode {
            node,
            heat: if node % 8 == 0 { WallHeat::Adiabatic } else { WallHeat::Isothermal },
            wall: Wall {
                temperature: 1.1,
                velocity: if node % 16 < 8 { [0.0; 3] } else { [0.2, -0.1, 0.3] },
            },
        })
        .collect();
    let inviscid = assembly(&team, &dual, &boundaries, JacobianScheme::Roe);
    let assembly = Assembly { transport: Some(VISCOUS), fixed: &walls, ..inviscid };
    let jac = written(&assembly, &nodes, Policy::D);
    let held = HeldCoefficients::new(&dual, &nodes, Some(VISCOUS), Eddies::NONE);
    is_the_derivative(&jac, &q, |q| {
        let mut out = held.residual(q);
        for &WallNode { node, heat, wall } in &walls {
            let i = node as usize;
            out[i] = strong_wall_residual(Gas::AIR, heat, wall, &q[i], &out[i]);
        }
        out
    });
}

/// Rows of nodes of given state: no neighbor moves them, and their own block, that of a free node, lets a residual of zero
/// be answered by no change alone.
#[test]
fn held_rows_depend_on_nothing() {
    let (dual, nodes, _) = flow();
    let (team, boundaries) = (Team::new(2), boundaries());
    let held: Vec<u32> = (0..dual.nodes() as u32).step_by(3).collect();
    let free = Assembly { cfl: 10.0, ..assembly(&team, &dual, &boundaries, JacobianScheme::Roe) };
    let of_free = written(&free, &nodes, Policy::D);
    let of_held = written(&Assembly { held: &held, ..free }, &nodes, Policy::D);
    let [OffDiagonal::F64(free), OffDiagonal::F64(fixed)] = [&of_free.off, &of_held.off] else {
        panic!("policy d")
    };
    assert_eq!(&*of_free.diag, &*of_held.diag);
    for i in 0..dual.nodes() {
        let entries = dual.pattern.range(i);
        let (free, fixed) =
            (&free[entries.start * 25..entries.end * 25], &fixed[entries.start * 25..entries.end * 25]);
        if held.contains(&(i as u32)) {
            assert!(fixed.iter().all(|&v| v == 0.0) && free.iter().any(|&v| v != 0.0), "row {i}");
            let block = &of_held.diag[i * 25..(i + 1) * 25];
            let inverse = chromaflow::block::inverse(5, block).0;
            assert!(inverse.iter().all(|v| v.is_finite()), "row {i}");
        } else {
            assert_eq!(free, fixed, "row {i}");
        }
    }
}

/// What time adds to the diagonal: the sum of the faces' spectral radii over the CFL number, and V times the factor of the
/// physical time derivative.
#[test]
fn time_stands_on_the_diagonal() {
    let (dual, nodes, _) = flow();
    let (team, boundaries, added) = (Team::new(2), boundaries(), eddy_viscosity(&dual));
    let eddies = Eddies { viscosity: &added, prandtl: 0.9, ..Eddies::NONE };
    for transport in [None, Some(VISCOUS)] {
        let steady =
            Assembly { transport, eddies, ..assembly(&team, &dual, &boundaries, JacobianScheme::Roe) };
        let without = written(&steady, &nodes, Policy::D);
        let with = written(&Assembly { cfl: 4.0, shift: 3.0, ..steady }, &nodes, Policy::D);
        let mut radii = vec![0.0; dual.nodes()];
        for (&[a, b], n) in dual.edges.iter().zip(&dual.areas) {
            let (wa, wb) = (primitive_of(&nodes[a as usize]), primitive_of(&nodes[b as usize]));
            let n2: f64 = n.iter().map(|v| v * v).sum();
            for (i, w) in [(a as usize, wa), (b as usize, wb)] {
                radii[i] += spectral_radius(Gas::AIR, &w, n);
                if let Some(transport) = transport {
                    // Blazek, eq. 6.21, with the face's viscosity and conductivity.
                    let t = 0.5 * (thermal(&wa)[3] + thermal(&wb)[3]);
                    let mu = transport.scale * viscosity(transport, t);
                    let eddy = 0.5 * (added[a as usize] + added[b as usize]);
                    let heat = Gas::AIR.gamma * (mu / transport.prandtl + eddy / eddies.prandtl);
                    radii[i] += heat.max(4.0 / 3.0 * (mu + eddy)) / w[0] * n2 / dual.volumes[i];
                }
            }
        }
        for i in 0..dual.nodes() {
            for k in 0..25 {
                let expected = if k % 6 == 0 { radii[i] / 4.0 + 3.0 * dual.volumes[i] } else { 0.0 };
                let found = with.diag[i * 25 + k] - without.diag[i * 25 + k];
                assert!((found - expected).abs() < 1e-12, "{transport:?}, row {i}, {k}: {found} {expected}");
            }
        }
    }
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
