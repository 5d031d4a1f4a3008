//! Uniform flow on every mesh of the data set.

use chromaflow::Outcome;
use chromaflow_device::Team;
use chromaflow_flow::FlowSolver;
use chromaflow_flow::config::{Boundary, FlowConfig, FluxScheme, Space, Steady, Time};
use chromaflow_flow::dual::Dual;
use chromaflow_flow::flux::{LayerFix, RoeFix};
use chromaflow_flow::gas::Gas;
use chromaflow_flow::gradient::{Added, Mapping, NodeRecord, least_squares};
use chromaflow_flow::mesh::generate::{Cells, box_mesh};
use chromaflow_flow::mesh::{Mesh, ReadOptions, load};
use chromaflow_flow::residual::Inviscid;
use std::sync::Arc;

const MESHES: [&str; 16] = [
    "mesh2d/channel_bump_256x128.su2.xz",
    "mesh2d/cylinder_lam.su2.xz",
    "mesh2d/flatplate_lam_65x65.su2.xz",
    "mesh2d/flatplate_turb_035x025.su2.xz",
    "mesh2d/flatplate_turb_069x049.su2.xz",
    "mesh2d/flatplate_turb_137x97.su2.xz",
    "mesh2d/n0012_225-65.su2.xz",
    "mesh2d/naca0012_inv.su2.xz",
    "mesh3d/brick_prism.su2.xz",
    "mesh3d/brick_pyra.su2.xz",
    "mesh3d/bumpbox_all4types_gmsh_36k.su2.xz",
    "mesh3d/cigar001-surf01.lb8.ugrid.xz",
    "mesh3d/hc_tmr_mixed_prismhex_50k.b8.ugrid.xz",
    "mesh3d/hc_tmr_mixed_tetprism_50k.b8.ugrid.xz",
    "mesh3d/om6ste01.meshb.xz",
    "mesh3d/oneram6_sharpTE_gmsh_15k.su2.xz",
];
/// Takes seconds without optimization.
const LARGE: [&str; 2] =
    ["mesh3d/oneram6_sharpTE_gmsh_100k.su2.xz", "turbulence/oneram6/om6_coarse.b8.ugrid.xz"];

/// The largest residual of a uniform flow, second order, over the flux scale of its control volume: its surface times
/// rho a^2.
fn unrest(mesh: &Mesh, flux: FluxScheme) -> f64 {
    let planar = mesh.planar;
    let free =
        if planar.is_some() { [1.0, 0.4, 0.3, 0.0, 1.0 / 1.4] } else { [1.0, 0.4, 0.3, -0.2, 1.0 / 1.4] };
    let dual = Dual::new(mesh);
    let dual = planar.map_or_else(|| dual.clone(), |p| dual.collapsed(p.nodes_2d));
    let team = Team::new(2);
    let nodes: Vec<NodeRecord> = mesh.nodes[..dual.nodes()]
        .iter()
        .map(|x| [free[0], free[1], free[2], free[3], free[4], x[0], x[1], x[2]])
        .collect();
    let space = Space { flux, ..Space::default() };
    let boundaries = vec![Boundary::Farfield.condition(Gas::AIR, free); dual.patches.len()];
    let inviscid = Inviscid {
        team: &team,
        dual: &dual,
        boundaries: &boundaries,
        fixed: &[],
        space: &space,
        // As in the slowest flows, which round the most.
        layers: LayerFix::NONE,
        fix: RoeFix { acoustic: 0.005, convective: 0.005, cutoff_mach: 0.1, dissipation: 1.0 },
        gas: Gas::AIR,
        eps2: [1e-2; 5],
        mapping: &Mapping::default(),
        moments: &[],
    };
    let mut gradients = vec![[0.0; 16]; nodes.len()];
    least_squares(&team, &dual.pattern, &nodes, space.gradient, &Added::default(), &mut gradients);
    let mut fluxes = vec![[0.0; 5]; dual.edges.len()];
    let mut residual = vec![[0.0; 5]; nodes.len()];
    inviscid.edge_fluxes(&nodes, &gradients, &[], &mut fluxes);
    inviscid.gather(&fluxes, &mut residual);
    inviscid.add_boundaries(&nodes, &mut residual);

    let size = |n: &[f64; 3]| n.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut surface = vec![0.0; nodes.len()];
    for (edge, area) in dual.edges.iter().zip(&dual.areas) {
        for &i in edge {
            surface[i as usize] += size(area);
        }
    }
    for patch in &dual.patches {
        for (&i, area) in patch.nodes.iter().zip(&patch.areas) {
            surface[i as usize] += size(area);
        }
    }
    residual.iter().zip(surface).flat_map(|(r, s)| r.map(|v| v.abs() / s)).fold(0.0, |most, v| {
        assert!(!v.is_nan());
        f64::max(most, v)
    })
}

#[test]
fn uniform_flow_stays_on_every_mesh() {
    let large: &[&str] = if cfg!(debug_assertions) { &[] } else { &LARGE };
    for name in MESHES.iter().chain(large) {
        let Some(path) = chromaflow_testkit::data(name) else { continue };
        // A few cells of one file overlap: that spoils no control volume's closure.
        let mesh = load(&path, &ReadOptions::default()).unwrap().mesh;
        for flux in [FluxScheme::Roe, FluxScheme::Hllc, FluxScheme::VanLeer] {
            let found = unrest(&mesh, flux);
            println!("{name} {flux:?}: {found:.1e}");
            assert!(found < 1e-12, "{name} {flux:?}: {found:e}");
        }
    }
}

/// Rounding is all that there is in it, and more the slower it is: dissipation of slow flow takes differences of pressure apart by one over its Mach number.
#[test]
fn a_uniform_stream_is_at_rest_at_any_speed() {
    for (cells, mach) in
        [(Cells::Hexes, 0.3), (Cells::Hexes, 0.003), (Cells::Tets, 0.001), (Cells::Mixed, 0.01)]
    {
        let mesh = box_mesh([6, 4, 3], [1.0; 3], cells, 0.1);
        let mut config = FlowConfig::default();
        (config.freestream.mach, config.freestream.alpha_deg) = (mach, 1.0);
        config.boundaries = mesh.markers.iter().map(|m| (m.name.clone(), Boundary::Farfield)).collect();
        config.time = Time::Steady(Steady { iterations: 200, orders: 10.0 });
        let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(2))).unwrap();
        let outcome = solver.run(|_| true);
        assert_eq!(outcome, Outcome::Converged, "{cells:?} at Mach {mach}");
        assert!(solver.iteration() < 60, "{cells:?} at Mach {mach}: {}", solver.iteration());
    }
}
