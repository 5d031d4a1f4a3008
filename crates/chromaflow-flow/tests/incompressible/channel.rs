//! Flow between plates, which second-order schemes have almost exactly, with what it carries.

use super::converged;
use chromaflow_flow::bc::Motion;
use chromaflow_flow::grid::generate::BoxGrid;
use chromaflow_flow::incompressible::{Boundary, Config, Given, Scalar, WallScalar};
use std::sync::Arc;

#[test]
fn plates_with_scalars() {
    let grid = BoxGrid { cells: [16, 12, 1], size: [2.0, 1.0, 1.0], wave: 0.0 }.grid();
    let nu = 0.1;
    let mut config = Config::default();
    config.fluid.viscosity = nu;
    let scalar = |name: &str, diffusivity| Scalar { name: name.into(), diffusivity, ..Scalar::default() };
    config.fluid.scalars = vec![scalar("heat", 0.05), scalar("dye", 0.0), scalar("salt", 0.2)];
    config.fluid.scalars[1].reference = 0.3;
    let inflow = Given::By(Arc::new(|x, _| vec![6.0 * x[1] * (1.0 - x[1]), 0.0, 0.0, 1.0, 0.3, x[1]]));
    let heated = Boundary::Wall { motion: Motion::straight([0.0; 3]), scalars: vec![WallScalar::Value(2.0)] };
    config.boundaries = [
        ("xmin", Boundary::Inflow(inflow)),
        ("xmax", Boundary::Outflow { pressure: 0.0 }),
        ("ymin", heated),
        ("ymax", Boundary::WALL),
        ("zmin", Boundary::Symmetry),
        ("zmax", Boundary::Symmetry),
    ]
    .map(|(name, boundary)| (name.to_owned(), boundary))
    .into();
    let solver = converged(&grid, config, 10.0);
    assert_eq!(solver.unknowns(), 7);
    // With walls at mirrored cells the discrete parabola lies G h^2/8 nu above the exact one, and the sum over cells has
    // its own error: the volume that flows in, 1 + h^2/2, is G/12 nu (1 + 2 h^2).
    let h2 = 1.0_f64 / 144.0;
    let gradient = 12.0 * nu * (1.0 + 0.5 * h2) / (1.0 + 2.0 * h2);
    let mut pressures = [0.0; 2];
    for (q, x) in solver.state().chunks(7).zip(solver.centers()) {
        let parabola = gradient / (2.0 * nu) * (x[1] * (1.0 - x[1]) + 0.25 * h2);
        if (0.7..1.8).contains(&x[0]) {
            assert!((q[1] - parabola).abs() < 0.003 && q[2].abs() < 0.001, "{x:?}: {q:?}, u {parabola}");
        }
        for (sum, at) in pressures.iter_mut().zip([0.9375, 1.4375]) {
            *sum += if (x[0] - at).abs() < 1e-9 { q[0] / 12.0 } else { 0.0 };
        }
        assert!((q[5] - 0.3).abs() < 1e-8, "a uniform scalar stays uniform: {}", q[5]);
    }
    let found = (pressures[0] - pressures[1]) / 0.5;
    assert!((found / gradient - 1.0).abs() < 0.002, "pressure falls by {found}, expected {gradient}");
    // What enters leaves, whatever it is.
    let mut sum = [0.0; 4];
    for marker in ["xmin", "xmax", "ymin", "ymax"] {
        for (s, f) in sum.iter_mut().zip(solver.outflow(marker)) {
            *s += f;
        }
    }
    assert!(sum.iter().all(|s| s.abs() < 1e-8), "{sum:?}");
    // The plates are dragged by what pushes the flow.
    let drag = solver.forces().viscous.force[0] * 0.5;
    assert!((drag / (2.0 * gradient) - 1.0).abs() < 0.005, "{drag}");
}
