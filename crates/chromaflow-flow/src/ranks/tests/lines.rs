//! Rows in lines over ranks.

use super::{Case, SIZES, alone, config, near, over};
use crate::config::{Boundary, Equations, NewtonKrylov, Nonlinear, TurbulenceConfig, TurbulenceModel};
use crate::mesh::Mesh;
use crate::mesh::generate::{Cells, box_mesh};
use chromaflow::Policy;
use chromaflow::solver::{Method, PreconditionerKind};

/// A box of hexahedra whose layers get thinner towards a wall at the top, from 0.4 of its height to 0.0016.
pub(crate) fn layers() -> Mesh {
    let mut mesh = box_mesh([8, 5, 12], [2.0, 1.0, 1.0], Cells::Hexes, 0.0);
    for x in &mut mesh.nodes {
        x[2] = 1.0 - (6.0 * (1.0 - x[2])).exp_m1() / 6.0_f64.exp_m1();
    }
    mesh
}

/// Viscous flow in layers at a wall by sweeps over lines alone.
pub(crate) fn lined_case(policy: Policy) -> Case {
    let sides = ["xmin", "xmax", "ymin", "ymax", "zmin"].map(|side| (side, Boundary::Farfield));
    let mut config = config(&sides);
    config.boundaries.insert("zmax".to_owned(), Boundary::NoSlipAdiabatic);
    (config.equations, config.freestream.reynolds) = (Equations::Laminar, 1e4);
    (config.implicit.preconditioner, config.implicit.policy) = (PreconditionerKind::Lines, policy);
    Case { mesh: layers(), config, bump: true, iterations: 6 }
}

/// Turbulent flow by Newton-Krylov steps around sweeps over lines.
pub(crate) fn lined_newton_case() -> Case {
    let mut case = lined_case(Policy::Ds);
    let implicit = &mut case.config.implicit;
    (implicit.method, implicit.preconditioner_sweeps) = (Method::Gmres, 4);
    implicit.nonlinear = Nonlinear::NewtonKrylov(NewtonKrylov::default());
    implicit.cfl.growth = 2.0;
    case.config.freestream.reynolds = 1e6;
    case.config.turbulence =
        Some(TurbulenceConfig { model: TurbulenceModel::SaNeg, ..TurbulenceConfig::default() });
    Case { bump: false, iterations: 8, ..case }
}

/// Lines are owned whole and colored as on one rank, so that sweeps over them are those of one rank: histories but for sums, and bit for
/// bit where these are exact.
#[test]
fn sweeps_over_lines_are_those_of_one_rank() {
    for policy in [Policy::D, Policy::Ds, Policy::Dsh] {
        let case = lined_case(policy);
        let expected = alone(&case);
        for size in SIZES {
            near(&over(size, &case, false, None), &expected, 1e-11, &format!("{policy}, {size} ranks"));
        }
    }
    let case = lined_newton_case();
    let expected = alone(&case);
    let exact = over(1, &case, true, None);
    near(&exact, &expected, 1e-6, "exact sums");
    for size in SIZES {
        near(&over(size, &case, false, None), &expected, 1e-6, &format!("Newton-Krylov, {size} ranks"));
        assert!(over(size, &case, true, None) == exact, "Newton-Krylov with exact sums, {size} ranks");
    }
}
