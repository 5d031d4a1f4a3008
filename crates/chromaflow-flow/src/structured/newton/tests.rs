//! The matrix of sectors whose sides are turned, beside that of the ring that they are part of.

use super::*;
use crate::config::{Boundary, Equations, Nonlinear};
use crate::gas::Gas;
use crate::grid::Grid;
use crate::structured::{StructuredConfig, StructuredSolver};
use crate::testmesh::{off_turned, ring_of, sector, swirling};

/// A product with the matrix in a swirling flow, in the order of cells.
fn product(grid: Grid, config: &StructuredConfig, n: usize) -> Vec<f64> {
    let mut solver = StructuredSolver::new(grid, config.clone(), Arc::new(Team::new(2))).unwrap();
    solver.set_state(|x| conserved(Gas::AIR, &swirling(x, n)));
    solver.rates();
    let centers: Vec<[f64; 3]> = solver.cells().into_iter().map(|(x, _)| x).collect();
    let StructuredSystem { team, physics, blocks, patches, newton, .. } = solver.host_to_set();
    let GridNewton { rows, jacobian, .. } = &mut **newton.as_mut().unwrap();
    let times = vec![0.1; centers.len()];
    rows.assemble(team, (physics, 0.1), (blocks, patches), &times, jacobian);
    let mut x = vec![0.0; 5 * centers.len()];
    for (center, &row) in centers.iter().zip(&rows.rows) {
        let of = swirling([center[0] + 0.1, center[1], center[2]], n);
        x[5 * row as usize..][..5].copy_from_slice(&of);
    }
    let mut y = vec![0.0; x.len()];
    jacobian.to_csr().multiply(team, &x, &mut y);
    rows.rows.iter().flat_map(|&row| y[5 * row as usize..][..5].to_vec()).collect()
}

#[test]
fn the_matrix_of_a_sector_is_that_of_its_ring() {
    for equations in [Equations::Euler, Equations::Laminar] {
        for (cells, n) in [([5, 4, 3], 7), ([4, 2, 3], 4)] {
            let grid = sector(cells, n).periodic("ymin", "ymax").unwrap();
            let grid = grid.split(0, 0, 2).unwrap().reorient(1, [1, 2, 0], [true, false, false]);
            let mut config = StructuredConfig { equations, ..StructuredConfig::default() };
            (config.freestream.mach, config.freestream.reynolds) = (0.4, 50.0);
            let markers = grid.markers();
            config.boundaries = markers.iter().map(|m| ((*m).to_owned(), Boundary::Farfield)).collect();
            config.implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
            let off =
                off_turned(5, &product(grid.clone(), &config, n), &product(ring_of(&grid, n), &config, n), n);
            assert!(off < 1e-6, "{equations:?}, {n}: {off:e}");
        }
    }
}
