//! Periodic sides of meshes that no rank has whole.

use super::sliced::{Stored, check_pieces, check_residuals, stored};
use super::{Case, apart, over};
use crate::FlowSolver;
use crate::config::{Boundary, Equations, FlowConfig, TurbulenceConfig, TurbulenceModel};
use crate::march::FlowError;
use crate::mesh::Mesh;
use crate::mesh::generate::Cells;
use crate::ranks::SlicedError;
use crate::unstructured::periodic::sectors;
use crate::unstructured::periodic::testcases::{boxes, config, wavy};
use chromaflow::solver::PreconditionerKind;
use chromaflow_device::Team;
use std::sync::Arc;

const SIZES: [usize; 5] = [1, 2, 3, 5, 30];

/// Along x, or along x and y, above a wall.
fn case(cells: Cells, both: bool, set: impl Fn(&mut FlowConfig)) -> Case {
    let mesh = boxes(cells, 1, both);
    let mut config = config(&mesh, both, |marker| match marker {
        "zmin" => Boundary::NoSlipAdiabatic,
        "zmax" => Boundary::Farfield,
        _ => Boundary::Symmetry,
    });
    (config.equations, config.freestream.reynolds) = (Equations::Laminar, 500.0);
    config.implicit.preconditioner = PreconditionerKind::Multicolor;
    set(&mut config);
    Case { mesh, config, bump: true, iterations: 4 }
}

fn cases() -> Vec<(&'static str, Case)> {
    let turbulent = |config: &mut FlowConfig| {
        config.freestream.reynolds = 1e5;
        let model = TurbulenceModel::SaNeg;
        config.turbulence = Some(TurbulenceConfig { model, ..TurbulenceConfig::default() });
    };
    vec![
        ("laminar, one pair", case(Cells::Mixed, false, |_| {})),
        ("laminar, two pairs", case(Cells::Tets, true, |_| {})),
        ("turbulent, two pairs", case(Cells::Mixed, true, turbulent)),
    ]
}

fn refused(stored: &Stored, size: usize) -> Vec<FlowError> {
    stored.each(size, false, |_, solver| Ok(solver.err().expect("no solver")))
}

/// At a state that is none of rest and repeats.
#[test]
fn residuals_across_sides_are_those_of_the_whole_mesh() {
    for (what, case) in cases() {
        check_residuals(what, case, &SIZES, wavy);
    }
}

/// Bit for bit, restarts included.
#[test]
fn marches_across_sides_are_the_same_on_any_number_of_ranks() {
    for (what, case) in cases() {
        let stored = stored(case);
        let exact = stored.over(1, true, None);
        assert!(exact.residuals.iter().flatten().all(|r| r.is_finite() && *r > 0.0));
        for &size in &SIZES[1..] {
            assert!(stored.over(size, true, None) == exact, "{what} on {size} ranks");
        }
    }
}

/// Restarts have all nodes of the file, on both sides, where they are.
#[test]
fn restarts_across_sides_do_not_know_of_slices() {
    let stored = stored(case(Cells::Mixed, true, |_| {}));
    let half = stored.over(3, false, None);
    let mesh = &stored.case.mesh;
    assert!(half.restart.fields.iter().any(|field| field.values.len() == 5 * mesh.nodes.len()));
    let whole = over(2, &stored.case, false, Some(&half.restart));
    let again = stored.over(5, false, Some(&half.restart));
    assert!(apart(&whole.residuals[0], &again.residuals[0]) < 1e-11);
    let back = stored.over(2, false, Some(&whole.restart));
    let on = over(1, &stored.case, false, Some(&whole.restart));
    assert!(apart(&back.residuals[0], &on.residuals[0]) < 1e-11);
}

/// Cells of pieces are those of the file and do not reach around; both sides have their rows' values.
#[test]
fn pieces_across_sides_have_the_cells_and_values_of_the_whole() {
    let mut case = case(Cells::Mixed, true, |config| {
        config.equations = Equations::Euler;
        config.boundaries.insert("zmin".into(), Boundary::Farfield);
    });
    case.iterations = 0;
    check_pieces(&stored(case));
}

/// The error of the whole reader, by the file's numbers, on every rank; sides that are turned want a rank that has the mesh.
#[test]
fn sides_that_do_not_fit_are_told_by_all() {
    let mut bent = case(Cells::Tets, false, |_| {});
    let moved = bent.mesh.marker("xmax").unwrap().triangles[7][1];
    bent.mesh.nodes[moved as usize][1] += 0.01;
    let mut coarse = case(Cells::Hexes, false, |_| {});
    coarse.mesh = crate::mesh::generate::box_mesh([2, 4, 4], [1.0; 3], Cells::Hexes, 0.0);
    for case in [bent, coarse] {
        let stored = stored(case);
        let alone = FlowSolver::new(&stored.case.mesh, stored.case.config.clone(), Arc::new(Team::new(1)));
        let expected = alone.err().expect("sides do not fit").to_string();
        for size in [1, 3] {
            for error in refused(&stored, size) {
                assert_eq!(error.to_string(), expected, "{size} ranks");
            }
        }
    }
    let mesh: Mesh = sectors::ring([3, 4, 3], Cells::Hexes, 8, false);
    let config = sectors::config(&mesh, |_| Boundary::SlipWall);
    let turned = stored(Case { mesh, config, bump: false, iterations: 0 });
    for error in refused(&turned, 2) {
        assert!(
            matches!(&error, FlowError::Sliced(SlicedError::Whole { what, .. }) if what.contains("turned")),
            "{error}"
        );
    }
}
