//! Fields of shear on points: friction, what walls draw of scalars, vorticity.

use super::*;
use crate::config::Steady;
use crate::output::Field;

fn field(solver: &mut Solver, name: &str) -> Field {
    solver.fields().into_iter().find(|field| field.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Vorticity and Q of linear velocities at points off the boundary, on a wavy grid of two blocks.
#[test]
fn vorticity_of_linear_velocities_is_exact() {
    let exact = [[0.1, -0.2, 0.05], [0.02, 0.3, -0.1], [0.4, 0.0, -0.4]];
    let (grid, mut config) = passed([1.0, 0.4, 0.0], 0);
    config.fluid.viscosity = 0.01;
    let mut solver = Solver::new(&grid, config, Arc::new(Team::new(2))).unwrap();
    solver.set_state(|x| {
        let u = exact.map(|row| 0.1 + row[0] * x[0] + row[1] * x[1] + row[2] * x[2]);
        std::iter::once(0.0).chain(u).collect()
    });
    let (curl, q) = (field(&mut solver, "vorticity"), field(&mut solver, "q_criterion"));
    let mesh = grid.to_mesh();
    let on_boundary =
        |node: u32| mesh.markers.iter().any(|m| m.quads.iter().any(|quad| quad.contains(&node)));
    let wanted = [exact[2][1] - exact[1][2], exact[0][2] - exact[2][0], exact[1][0] - exact[0][1]];
    let square: f64 = (0..9).map(|n| exact[n / 3][n % 3] * exact[n % 3][n / 3]).sum();
    for node in (0..mesh.nodes.len()).filter(|&node| !on_boundary(node as u32)) {
        for c in 0..3 {
            assert!((curl.values[3 * node + c] - wanted[c]).abs() < 1e-12, "{:?}", mesh.nodes[node]);
        }
        assert!((q.values[node] + 0.5 * square).abs() < 1e-12, "{:?}: {}", mesh.nodes[node], q.values[node]);
    }
}

/// Couette flow between walls of two temperatures on a planar grid: u = y, T = 1 - y. Friction is that of the profile on both walls, the wall above draws what the
/// one below gives, vorticity is -1 at every point; no model of turbulence is needed.
#[test]
fn walls_have_the_friction_and_the_heat_of_couette_flow() {
    let (nu, diffusivity) = (0.05, 0.02);
    let mut grid = BoxGrid { cells: [4, 9, 1], size: [0.5, 1.0, 0.2], wave: 0.0 }.grid();
    for x in &mut grid.blocks[0].nodes {
        x[1] *= 0.4 + 0.6 * x[1];
    }
    let grid = grid.periodic("xmin", "xmax").unwrap();
    let mut config =
        Config { time: Time::Steady(Steady { iterations: 300, orders: 9.0 }), ..Config::default() };
    config.fluid.viscosity = nu;
    config.fluid.scalars.push(Scalar { name: "temperature".to_owned(), diffusivity, ..Scalar::default() });
    let wall =
        |u: f64, t: f64| Boundary::Wall { velocity: [u, 0.0, 0.0], scalars: vec![WallScalar::Value(t)] };
    config.boundaries = [("ymin".to_owned(), wall(0.0, 1.0)), ("ymax".to_owned(), wall(1.0, 0.0))].into();
    for side in ["zmin", "zmax"] {
        config.boundaries.insert(side.to_owned(), Boundary::Symmetry);
    }
    config.implicit.cfl = Cfl { start: 50.0, max: 1e4, ..config.implicit.cfl };
    let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1))).unwrap();
    assert_eq!(solver.run(|_| true), chromaflow::Outcome::Converged);
    let [skin, drawn, height, curl] =
        ["skin_friction", "temperature_flux", "y_plus", "vorticity"].map(|name| field(&mut solver, name));
    for (node, x) in grid.blocks[0].nodes.iter().enumerate() {
        let side = if x[1] == 0.0 { 1.0 } else { -1.0 };
        let (stress, flux, y) =
            if x[1] == 0.0 || x[1] == 1.0 { (nu, -diffusivity, 1.0) } else { (0.0, 0.0, 0.0) };
        assert!(
            (skin.values[3 * node] - side * stress / 0.5).abs() < 1e-6,
            "{x:?}: {}",
            skin.values[3 * node]
        );
        assert!((drawn.values[node] - side * flux).abs() < 1e-6, "{x:?}: {}", drawn.values[node]);
        assert!((height.values[node] > 0.0) == (y > 0.0), "{x:?}: {}", height.values[node]);
        assert!((curl.values[3 * node + 2] + 1.0).abs() < 1e-5, "{x:?}: {}", curl.values[3 * node + 2]);
    }
    // Half the first cell's height times the square root of stress, over viscosity.
    let first = 0.5 * (1.0 / 9.0) * (0.4 + 0.6 / 9.0);
    let expected = first * nu.sqrt() / nu;
    assert!((height.values[0] - expected).abs() < 1e-4 * expected, "{} {expected}", height.values[0]);
}
