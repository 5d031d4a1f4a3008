//! Fields of shear on points: friction, what walls draw of scalars, vorticity.

use super::options::newton;
use super::*;
use crate::bc::Motion;
use crate::config::Steady;
use crate::grid::Block;
use crate::output::Field;
use chromaflow::Outcome;
use std::f64::consts::PI;

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
    let wall = |u: f64, t: f64| Boundary::Wall {
        motion: Motion::straight([u, 0.0, 0.0]),
        scalars: vec![WallScalar::Value(t)],
    };
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

/// Heat goes from the hot cylinder to the cold one around it, and not through the planes of symmetry, or walls that let no heat through, that cut the ring in half, although no
/// line of the grid leaves these at a right angle; forces and flows are per depth of the layer. Q = pi a / ln(r2 / r1) of the half.
#[test]
fn nothing_leaks_through_planes_of_symmetry_and_insulated_walls() {
    let (cells, diffusivity) = ([24, 16], 0.02);
    let heat = |depth: f64, side: &Boundary, buoyancy: f64| {
        let block = Block::new([cells[0] + 1, cells[1] + 1, 2], |[i, j, k]| {
            let (r, angle) = (2.6_f64.powf(j as f64 / 16.0), PI * (1.0 - i as f64 / 24.0));
            [r * angle.cos(), r * angle.sin(), depth * k as f64]
        });
        let grid = Grid::one_block(block, ["low", "high", "hot", "cold", "front", "back"].map(Some));
        let temperature = |value: f64| Boundary::Wall {
            motion: Motion::straight([0.0; 3]),
            scalars: vec![WallScalar::Value(value)],
        };
        let mut config = Config::default();
        let buoyancy = [0.3 * buoyancy, buoyancy, 0.0];
        config.fluid.viscosity = 0.02;
        config.fluid.scalars.push(Scalar { diffusivity, buoyancy, reference: 0.5, ..Scalar::default() });
        config.initial = vec![0.0, 0.0, 0.0, 0.0, 0.5];
        config.boundaries = [
            ("low", side.clone()),
            ("high", side.clone()),
            ("hot", temperature(1.0)),
            ("cold", temperature(0.0)),
            ("front", Boundary::Symmetry),
            ("back", Boundary::Symmetry),
        ]
        .map(|(name, boundary)| (name.to_owned(), boundary))
        .into();
        newton(&mut config, 1e6);
        config.time = Time::Steady(Steady { iterations: 60, orders: 10.0 });
        let mut solver = Solver::new(&grid, config, Arc::new(Team::new(1))).unwrap();
        assert_eq!(solver.run(|_| true), Outcome::Converged);
        let through = ["low", "high", "hot", "cold"].map(|marker| solver.outflow(marker)[1]);
        let forces = solver.forces();
        let force: [f64; 3] = std::array::from_fn(|c| forces.pressure.force[c] + forces.viscous.force[c]);
        (through, force)
    };
    let insulated = Boundary::Wall { motion: Motion::straight([0.0; 3]), scalars: vec![WallScalar::NoFlux] };
    let exact = PI * diffusivity / 2.6_f64.ln();
    for (what, side) in [("symmetry", Boundary::Symmetry), ("wall", insulated)] {
        let ([low, high, hot, cold], _) = heat(1.0, &side, 0.0);
        assert!(low.abs().max(high.abs()) < 1e-12 * exact, "{what}: {low:e} {high:e}");
        assert!((cold / exact - 1.0).abs() < 0.01, "{what}: {cold} for {exact}");
        assert!((hot + cold).abs() < 1e-8 * exact, "{what}: {hot} {cold}");
        let [(whole, force), (thin, of_thin)] = [1.0, 0.1].map(|depth| heat(depth, &side, 2.0));
        let off = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(whole[3] > 1.01 * exact && off(&whole, &thin) < 1e-7 * exact, "{whole:?} {thin:?}");
        assert!(force[1].abs() > 1e-3 && off(&force, &of_thin) < 1e-7, "{force:?} {of_thin:?}");
        assert!(whole[0].abs().max(whole[1].abs()) < 1e-12 * exact, "{whole:?}");
    }
}
