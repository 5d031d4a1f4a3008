//! Streams across planes of symmetry, through which nothing can flow.

use super::side::{CROSSES, Side, inflow};
use chromaflow_flow::config::Boundary;
use std::collections::BTreeMap;

/// A stream, where it goes, and the inlet that it comes through.
type Stream<'a> = (String, [f64; 3], Option<&'a Side>);

/// Says of the free stream (where something lets it in) and of what inlets let in that it crosses a plane of symmetry. What comes in beside such a
/// plane, or across from it, goes where the inlet sends it.
pub fn crossing(sides: &[Side], boundaries: &BTreeMap<String, Boundary>, stream: [f64; 3]) -> Option<String> {
    let is_plane = |side: &&Side| boundaries.get(&side.marker) == Some(&Boundary::Symmetry);
    let planes = || sides.iter().filter(is_plane);
    let inlets = sides.iter().filter_map(|inlet| Some((inlet, inflow(boundaries.get(&inlet.marker)?)?)));
    let mut streams: Vec<Stream<'_>> = inlets
        .map(|(inlet, along)| (format!("what `{}` lets in", inlet.marker), along, Some(inlet)))
        .collect();
    let is_closed = |b: &Boundary| b.is_wall() || *b == Boundary::Symmetry;
    let closed = boundaries.values().all(is_closed);
    if (streams.is_empty() && !closed) || boundaries.values().any(|b| *b == Boundary::Farfield) {
        streams.push(("the free stream".to_owned(), stream, None));
    }
    let sine = |plane: &Side, (_, along, inlet): &Stream<'_>| {
        if inlet.is_some_and(|inlet| inlet.is_parallel(plane)) { 0.0 } else { plane.sine(*along) }
    };
    let largest = |plane: &Side| streams.iter().map(|s| sine(plane, s)).fold(0.0, f64::max);
    let crossed: Vec<&Side> = planes().filter(|plane| largest(plane) > CROSSES).collect();
    let most = crossed.iter().map(|plane| largest(plane)).reduce(f64::max)?;
    let crosses = |s: &&Stream<'_>| crossed.iter().any(|plane| sine(plane, s) > CROSSES);
    let what: Vec<&str> = streams.iter().filter(crosses).map(|(what, ..)| what.as_str()).collect();
    Some(format!(
        "{}: nothing flows through a plane of symmetry, and {} would, at up to {:.1} degrees; flow.alpha, flow.beta, reference.lift_axis and the \
         direction of inlets say where it goes, and kind = \"slip_wall\" turns it",
        super::listed(crossed.iter().map(|plane| &plane.marker)),
        what.join(" and "),
        most.asin().to_degrees()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::grid::generate::BoxGrid;

    /// The sides of a box across y are planes of symmetry; which streams cross them.
    #[test]
    fn streams_across_planes_of_symmetry_are_told() {
        let grid = BoxGrid { cells: [3, 2, 2], size: [1.0; 3], wave: 0.0 }.grid();
        let inlet = |direction| Boundary::Inlet { total_pressure: 1.1, total_temperature: 1.03, direction };
        let of = |xmin: Boundary, stream: [f64; 3]| {
            let sides = [("xmin", xmin), ("ymin", Boundary::Symmetry), ("ymax", Boundary::Symmetry)];
            let boundaries: BTreeMap<_, _> = sides.into_iter().map(|(m, b)| (m.to_owned(), b)).collect();
            let found = [Side::of_grid(&grid, &boundaries), Side::of_mesh(&grid.to_mesh(), &boundaries)];
            let [a, b] = found.map(|sides| crossing(&sides, &boundaries, stream));
            assert_eq!(a, b, "the grid and its mesh are one");
            a
        };
        let (in_plane, across) = ([0.8, 0.0, 0.6], [0.8, 0.6, 0.0]);
        assert_eq!(of(Boundary::Farfield, in_plane), None);
        let told = of(Boundary::Farfield, across).unwrap();
        assert!(told.starts_with("`ymin`, `ymax`: ") && told.contains("the free stream would"), "{told}");
        assert!(told.contains("36.9 degrees"), "{told}");
        assert_eq!(of(inlet(in_plane), across), None, "nothing lets the stream in");
        assert_eq!(of(Boundary::SlipWall, across), None, "nor in a closed box");
        let told = of(inlet(across), in_plane).unwrap();
        assert!(told.contains("and what `xmin` lets in would"), "{told}");
        assert_eq!(of(Boundary::VelocityInlet { velocity: [0.3, 0.0, 0.0], temperature: 1.0 }, across), None);
    }

    /// A jet out of a plane of symmetry, or from across, is no stream through it; one from beside is.
    #[test]
    fn jets_out_of_a_plane_of_symmetry_do_not_cross_it() {
        let mesh = BoxGrid { cells: [4, 2, 2], size: [1.0; 3], wave: 0.0 }.grid().to_mesh();
        let jet = Boundary::VelocityInlet { velocity: [0.0, 0.5, 0.0], temperature: 1.0 };
        let of = |inlet: &str| {
            let mut boundaries: BTreeMap<_, _> = [("ymin".to_owned(), Boundary::Symmetry)].into();
            boundaries.insert(inlet.to_owned(), jet);
            let mut mesh = mesh.clone();
            // Half of the floor.
            let floor = mesh.markers.iter_mut().find(|m| m.name == "ymin").unwrap();
            let quads = floor.quads.split_off(floor.quads.len() / 2);
            mesh.markers.push(chromaflow_flow::mesh::Marker {
                name: "slot".to_owned(),
                quads,
                ..Default::default()
            });
            crossing(&Side::of_mesh(&mesh, &boundaries), &boundaries, [1.0, 0.0, 0.0])
        };
        assert_eq!([of("slot"), of("ymax")], [None, None]);
        assert!(of("xmin").unwrap().contains("90.0 degrees"));
    }
}
