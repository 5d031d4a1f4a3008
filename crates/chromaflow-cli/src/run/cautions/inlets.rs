//! Inlets that let nothing in, and domains that nothing leaves.

use super::listed;
use super::side::{Side, inflow, is_outlet};
use crate::numbers::without_negative_zero;
use chromaflow_flow::config::{Boundary, Time};
use std::collections::BTreeMap;

/// Share of an inlet's area that a stream may miss: the ends of a round one.
const MISSED: f64 = 0.02;

/// Cosine from which on a direction leads through a side rather than along it.
const THROUGH: f64 = 0.5;

/// Says of inlets whose direction or velocity does not lead into the mesh, and which outlets they may have been exchanged with.
pub fn missing(sides: &[Side], boundaries: &BTreeMap<String, Boundary>) -> Vec<String> {
    let of = |side: &Side| {
        let boundary = boundaries.get(&side.marker)?;
        let along = inflow(boundary)?;
        if side.missed <= MISSED {
            return None;
        }
        let is_out = side.leaves(along) > THROUGH;
        let (key, way) = (
            if matches!(boundary, Boundary::Inlet { .. }) { "direction" } else { "velocity" },
            if is_out { "out of the mesh" } else { "along its faces, or out" },
        );
        let enters = |other: &&Side| {
            boundaries.get(&other.marker).is_some_and(is_outlet) && other.leaves(along) < -THROUGH
        };
        let exchanged = listed(sides.iter().filter(enters).map(|other| &other.marker));
        let remedy = if is_out && !exchanged.is_empty() {
            format!("it would enter at {exchanged}: are inlet and outlet exchanged?")
        } else {
            format!("give it a `{key}` that leads into the mesh")
        };
        let [x, y, z] = along.map(|x| without_negative_zero(format!("{x:.3}")));
        Some(format!(
            "`{}`: its {key} [{x}, {y}, {z}] leads {way}, on {:.0} % of its area; {remedy}",
            side.marker,
            100.0 * side.missed
        ))
    };
    sides.iter().filter_map(of).collect()
}

/// Says of steady flows that come in and cannot leave.
pub fn filling(sides: &[Side], boundaries: &BTreeMap<String, Boundary>, time: &Time) -> Option<String> {
    let inlets = listed(boundaries.iter().filter(|(_, b)| inflow(b).is_some()).map(|(name, _)| name));
    let sucks = |side: &Side| match boundaries.get(&side.marker) {
        Some(&Boundary::VelocityInlet { velocity, .. }) => side.leaves(velocity) > 0.0,
        _ => false,
    };
    let opens = |b: &Boundary| is_outlet(b) || *b == Boundary::Farfield;
    let leaves = boundaries.values().any(opens) || sides.iter().any(sucks);
    (matches!(time, Time::Steady(_)) && !inlets.is_empty() && !leaves).then(|| {
        format!(
            "{inlets}: gas comes in, and no marker lets it out: there is no steady flow; kind = \"outlet\" with a pressure lets it out"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::config::{Steady, Unsteady};
    use chromaflow_flow::grid::generate::BoxGrid;
    use chromaflow_flow::mesh::Mesh;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};

    fn told(ends: [Boundary; 2], time: &Time) -> (Vec<String>, Option<String>) {
        let grid = BoxGrid { cells: [2; 3], size: [1.0; 3], wave: 0.0 }.grid();
        let boundaries = [("xmin", ends[0]), ("xmax", ends[1]), ("ymin", Boundary::SlipWall)];
        let boundaries: BTreeMap<_, _> = boundaries.into_iter().map(|(m, b)| (m.to_owned(), b)).collect();
        let found = [Side::of_grid(&grid, &boundaries), Side::of_mesh(&grid.to_mesh(), &boundaries)];
        let [a, b] = found.map(|sides| (missing(&sides, &boundaries), filling(&sides, &boundaries, time)));
        assert_eq!(a, b, "the grid and its mesh are one");
        a
    }

    /// Inlets along their own face, out of the mesh, exchanged with an outlet, and domains that only fill.
    #[test]
    fn inlets_that_do_not_enter_are_told() {
        let inlet = |direction| Boundary::Inlet { total_pressure: 1.1, total_temperature: 1.0, direction };
        let velocity = |x| Boundary::VelocityInlet { velocity: [x, 0.0, 0.0], temperature: 1.0 };
        let (steady, outlet) = (Time::Steady(Steady::default()), Boundary::Outlet { pressure: 1.0 });
        let of = |ends| told(ends, &steady).0;
        assert_eq!(of([inlet([1.0, 0.5, 0.0]), outlet]), Vec::<String>::new());
        assert_eq!(of([velocity(0.0), outlet]), Vec::<String>::new(), "it is closed for now");
        let along = of([inlet([0.0, 1.0, 0.0]), outlet]);
        assert!(along[0].starts_with("`xmin`: its direction [0.000, 1.000, 0.000] leads along"), "{along:?}");
        assert!(along[0].contains("100 %") && along[0].ends_with("into the mesh"), "{along:?}");
        let swapped = of([outlet, inlet([2.0, 0.0, 0.0])]);
        assert!(swapped[0].contains("at `xmin`: are inlet and outlet exchanged?"), "{swapped:?}");
        let out = of([velocity(-0.2), Boundary::Farfield]);
        assert!(out[0].contains("its velocity") && out[0].contains("leads out of the mesh"), "{out:?}");
        let fills = |ends| told(ends, &steady).1;
        let both = fills([inlet([1.0, 0.0, 0.0]), velocity(-0.3)]).unwrap();
        assert!(both.starts_with("`xmax`, `xmin`: gas comes in"), "{both}");
        assert_eq!([fills([velocity(0.3), velocity(0.3)]), fills([velocity(0.3), outlet])], [None, None]);
        assert_eq!(told([velocity(0.3), Boundary::SlipWall], &Time::Unsteady(Unsteady::default())).1, None);
    }

    /// The ends of a round inlet stand along the stream, which is no reason to warn.
    #[test]
    fn round_inlets_enter() {
        let mut mesh = box_mesh([1, 64, 1], [1.0; 3], Cells::Hexes, 0.0);
        for x in &mut mesh.nodes {
            let angle = std::f64::consts::PI * (x[1] - 0.5);
            (x[0], x[1]) = ((x[0] - 2.0) * angle.cos(), (2.0 - x[0]) * angle.sin());
        }
        let inlet = Boundary::VelocityInlet { velocity: [0.2, 0.0, 0.0], temperature: 1.0 };
        let boundaries = [("xmin".to_owned(), inlet)].into();
        let of = |mesh: &Mesh| missing(&Side::of_mesh(mesh, &boundaries), &boundaries);
        assert_eq!(of(&mesh), Vec::<String>::new());
        mesh.nodes.iter_mut().for_each(|x| (x[0], x[1]) = (-x[1], x[0]));
        assert!(of(&mesh)[0].contains(" on 50 % of its area"), "{:?}", of(&mesh));
    }
}
