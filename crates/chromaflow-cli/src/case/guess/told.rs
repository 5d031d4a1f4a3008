//! What codes and names of markers say, where their shape and the other markers do not speak against it.

use super::names::{FAR, by_name, edge_by_name, says, says_side};
use super::{ACROSS, Guess, is_end, partner_of, plane_of, stands_inside};
use chromaflow_flow::mesh::{Marker, Mesh, Passage, passage};
use std::collections::BTreeMap;

/// What is told of markers, and by what.
pub(super) type Told<'a> = BTreeMap<&'a str, (Guess, &'static str)>;

const BY_CODE: &str = "by its type in the mesh's files";
const BY_NAME: &str = "by its name";

/// Of each marker whose code or name says something.
pub(super) fn told(mesh: &Mesh) -> Told<'_> {
    let of = |marker: &Marker| {
        let code = by_code(marker).map(|guess| (guess, BY_CODE));
        code.or_else(|| named(mesh, marker).map(|guess| (guess, BY_NAME)))
    };
    let mut told: Told<'_> =
        mesh.markers.iter().filter_map(|marker| Some((marker.name.as_str(), of(marker)?))).collect();
    nozzles(mesh, &mut told);
    around_an_outer_stream(&mut told);
    tops_of_channels(mesh, &mut told);
    told
}

/// Codes of FUN3D that need values, which `known` leaves out.
fn by_code(marker: &Marker) -> Option<Guess> {
    Some(match passage(marker.code?)? {
        Passage::In => Guess::Inlet,
        Passage::Out => Guess::Outlet,
    })
}

/// What a marker's name says, where its shape goes with it.
fn named(mesh: &Mesh, marker: &Marker) -> Option<Guess> {
    let name = &marker.name;
    let repeats = |m: &Marker| says(&m.name, &["per"]);
    match by_name(name) {
        // The top of a body is not far away from it.
        Some(Guess::Farfield) if stands_inside(mesh, marker) => None,
        // The core of a sector is cut out along its axis.
        Some(Guess::Symmetry) if says(name, &["axis"]) && plane_of(mesh, marker).is_none() => {
            Some(Guess::SlipWall)
        }
        Some(Guess::Inlet) if says(name, &["plenum", "chamber"]) && plane_of(mesh, marker).is_none() => None,
        // `pipe_in` may be an end of a pipe, or its inside.
        None | Some(Guess::Wall) if edge_by_name(name).is_some() && is_opening(mesh, marker) => {
            edge_by_name(name)
        }
        None if repeats(marker) && partner_of(mesh, marker, repeats).is_some() => Some(Guess::Periodic),
        other => other,
    }
}

/// Whether a marker lies in a plane at an end of the mesh, or across the stream.
fn is_opening(mesh: &Mesh, marker: &Marker) -> bool {
    let across = || plane_of(mesh, marker).is_some_and(|plane| plane.normal[0].abs() > ACROSS);
    is_end(mesh, marker).is_some() || across()
}

/// What comes out of a nozzle comes through a plane; its sides are walls. Its exit is where a jet comes in only where the flow leaves elsewhere and comes
/// from nowhere else.
fn nozzles<'a>(mesh: &'a Mesh, told: &mut Told<'a>) {
    let nozzles = mesh.markers.iter().filter(|m| says(&m.name, &["nozzle"]) && by_code(m).is_none());
    let others: Vec<Guess> =
        told.iter().filter(|(name, _)| !says(name, &["nozzle"])).map(|(_, (guess, _))| *guess).collect();
    let has_inlet = others.contains(&Guess::Inlet);
    let has_outlet = others.contains(&Guess::Outlet);
    for marker in nozzles {
        let is_plane = plane_of(mesh, marker).is_some();
        let guess = match told.get(marker.name.as_str()).map(|(guess, _)| *guess) {
            Some(Guess::Outlet) if is_plane && has_outlet && !has_inlet => Guess::Inlet,
            None | Some(Guess::Farfield) => {
                let is_inlet = is_plane && !says_side(&marker.name);
                let is_inlet = is_inlet && (!has_inlet || is_end(mesh, marker).is_some());
                if is_inlet { Guess::Inlet } else { Guess::Wall }
            }
            _ => continue,
        };
        told.insert(&marker.name, (guess, BY_NAME));
    }
}

/// The exit of an outer stream that comes in through a far field is far away, too.
fn around_an_outer_stream(told: &mut Told<'_>) {
    let any = |is: Guess| told.values().any(|(guess, _)| *guess == is);
    if any(Guess::Inlet) || !any(Guess::Farfield) {
        return;
    }
    for (name, (guess, reason)) in told.iter_mut() {
        if *guess == Guess::Outlet && *reason == BY_NAME && says(name, &["exit"]) {
            (*guess, *reason) = (Guess::Farfield, "the exit of a stream that comes in through a far field");
        }
    }
}

/// Of a channel with a bottom the top is another wall, unless it is told by its place to be far away.
fn tops_of_channels(mesh: &Mesh, told: &mut Told<'_>) {
    let is_duct =
        [Guess::Inlet, Guess::Outlet].iter().all(|end| told.values().any(|(guess, _)| guess == end));
    if is_duct && mesh.markers.iter().any(|m| says(&m.name, &["bot", "bottom"])) {
        told.retain(|name, (guess, _)| {
            *guess != Guess::Farfield || says(name, &FAR) || !says(name, &["top"])
        });
    }
}
