//! Fields of shear on points: friction, heat, vorticity.

use super::flows::{couette, solve};
use super::*;
use crate::gas::{Gas, conserved};
use crate::output::Field;

fn field(solver: &mut StructuredSolver, name: &str) -> Field {
    solver.fields().into_iter().find(|field| field.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Vorticity and Q of linear velocities at points off the boundary, on a wavy, stretched grid of blocks that lie in axes of their own.
#[test]
fn vorticity_of_linear_velocities_is_exact() {
    let exact = [[0.1, -0.2, 0.05], [0.02, 0.3, -0.1], [0.4, 0.0, -0.4]];
    let mut grid = wavy([9, 7, 6]);
    for x in &mut grid.blocks[0].nodes {
        x[1] *= 0.3 + x[1];
    }
    let grid = blocks(grid);
    let config = config(&grid, SCHEMES[0], Equations::Laminar);
    let mut solver = StructuredSolver::new(grid, config, team(2)).unwrap();
    solver.set_state(|x| {
        let [u, v, w] = exact.map(|row| 0.1 + row[0] * x[0] + row[1] * x[1] + row[2] * x[2]);
        conserved(Gas::AIR, &[1.0, u, v, w, 1.0 / 1.4])
    });
    let (curl, q) = (field(&mut solver, "vorticity"), field(&mut solver, "q_criterion"));
    let mesh = solver.grid().to_mesh();
    let on_boundary =
        |node: u32| mesh.markers.iter().any(|m| m.quads.iter().any(|quad| quad.contains(&node)));
    let wanted = [exact[2][1] - exact[1][2], exact[0][2] - exact[2][0], exact[1][0] - exact[0][1]];
    let square: f64 = (0..9).map(|n| exact[n / 3][n % 3] * exact[n % 3][n / 3]).sum();
    let mut inside = 0;
    for node in (0..mesh.nodes.len()).filter(|&node| !on_boundary(node as u32)) {
        inside += 1;
        for c in 0..3 {
            let found = curl.values[3 * node + c];
            assert!((found - wanted[c]).abs() < 1e-12, "{:?}: {found}", mesh.nodes[node]);
        }
        assert!((q.values[node] + 0.5 * square).abs() < 1e-12, "{:?}: {}", mesh.nodes[node], q.values[node]);
    }
    assert!(inside > 8 * 6 * 5, "points on interfaces come with each block: {inside}");
    // Inviscid flow has none of it, as on meshes.
    let grid = blocks(wavy([9, 7, 6]));
    let config = super::config(&grid, SCHEMES[0], Equations::Euler);
    let mut solver = StructuredSolver::new(grid, config, team(1)).unwrap();
    assert_eq!(solver.fields().len(), 7);
}

/// Couette flow between a wall at rest of one temperature and one that moves without heat flux: what the moving wall does by friction leaves as heat
/// through the other one. Vorticity is that of the profile at every point, walls too.
#[test]
fn heat_of_friction_leaves_through_the_cold_wall() {
    let (speed, reynolds) = (0.4, 10.0);
    let errors = [8, 16].map(|n| {
        let mut grid = BoxGrid { cells: [4, n, 1], size: [0.5, 1.0, 0.2], wave: 0.0 }.grid();
        for x in &mut grid.blocks[0].nodes {
            x[1] *= 0.4 + 0.6 * x[1];
        }
        let grid = grid.periodic("xmin", "xmax").unwrap();
        let mut solver = solve(grid, couette(speed, SCHEMES[1], 8.0));
        let friction = (speed / reynolds) * speed / (0.5 * speed * speed);
        let [skin, heat, curl, q] =
            ["skin_friction", "heat_flux", "vorticity", "q_criterion"].map(|name| field(&mut solver, name));
        let mut largest = [0.0_f64; 4];
        for (node, x) in solver.grid().to_mesh().nodes.iter().enumerate() {
            let (pull, drawn) = match x[1] {
                0.0 => (friction, friction),
                1.0 => (-friction, 0.0),
                _ => (0.0, 0.0),
            };
            let off = [
                (skin.values[3 * node] - pull) / friction,
                (heat.values[node] - drawn) / friction,
                curl.values[3 * node + 2] / speed + 1.0,
                q.values[node] / (speed * speed),
            ];
            (0..4).for_each(|c| largest[c] = largest[c].max(off[c].abs()));
        }
        largest
    });
    eprintln!("friction, heat, vorticity, Q: {errors:?}");
    for c in 0..4 {
        assert!(errors[0][c] < 0.02 && errors[1][c] < 0.01, "{errors:?}");
    }
}
