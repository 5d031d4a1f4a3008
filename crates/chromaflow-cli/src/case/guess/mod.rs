//! Conditions that markers without one may be meant to have: by their code in a .mapbc file, their name, their place.

mod layer;
mod names;
mod told;

pub use layer::{is_both_planes, is_both_planes_of};
pub use names::{GROUNDS, says};

use super::CaseFile;
use crate::numbers::without_negative_zero;
use crate::run::{ENTERS, WallCells, known};
use chromaflow_flow::mesh::periodic::partner_of;
use chromaflow_flow::mesh::{Marker, Mesh, cross, norm, sub};
use std::fmt::Write;
use told::told;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Guess {
    Symmetry,
    Farfield,
    Inlet,
    Outlet,
    Extrapolation,
    NoSlip,
    SlipWall,
    /// Without slip in viscous flow, with it in inviscid flow.
    Wall,
    /// With the marker that is its image.
    Periodic,
}

impl Guess {
    const fn is_wall(self) -> bool {
        matches!(self, Self::NoSlip | Self::SlipWall | Self::Wall)
    }
}

/// Why a plane is taken for one of symmetry.
const AT_AN_END: &str = "it is a plane at an end of the mesh";

/// Why both sides of a planar mesh under one name are.
const BOTH_PLANES: &str = "both planes of a layer one cell deep";

/// A condition for a marker, as it stands in a case file, and why.
pub struct Proposal {
    /// The marker.
    pub marker: String,
    /// `"farfield"`, or a table.
    pub value: String,
    /// What speaks for it.
    pub reason: &'static str,
    /// Whether it is a wall.
    pub wall: bool,
}

/// A condition for every marker of a mesh that the mesh file itself does not give one. `viscous`: walls are without slip.
pub fn proposals(mesh: &Mesh, viscous: bool) -> Vec<Proposal> {
    let (low, high) = bounds(mesh.nodes.iter().copied());
    let told = told(mesh);
    let of = |marker: &Marker| told.get(marker.name.as_str()).copied();
    let is_duct =
        [Guess::Inlet, Guess::Outlet].iter().all(|end| told.values().any(|(guess, _)| guess == end));
    let body = if is_duct { body_inside(mesh, |marker| of(marker).map(|(guess, _)| guess)) } else { None };
    let beside = |marker: &Marker| body.as_ref().is_some_and(|body| body.is_far(mesh, marker));
    let open = mesh.markers.iter().filter(|m| known(m).is_none());
    let mut guesses: Vec<(&Marker, Guess, &'static str)> = open
        .map(|marker| {
            let (guess, reason) = of(marker).unwrap_or_else(|| match by_place(mesh, marker, low, high) {
                (Guess::Farfield, _) if is_duct && beside(marker) => {
                    (Guess::Farfield, "it bounds the mesh, far from the body inside")
                }
                (Guess::Farfield, _) if is_duct => (Guess::Wall, "it lies between an inlet and an outlet"),
                other => other,
            });
            (marker, guess, reason)
        })
        .collect();
    if !is_duct {
        far_from_walls(mesh, &mut guesses);
    }
    let in_file = mesh.markers.iter().any(|m| known(m).is_some_and(|b| b.is_wall()));
    if !in_file && !guesses.iter().any(|(_, guess, _)| guess.is_wall()) {
        without_walls(mesh, &mut guesses);
    }
    let proposals = guesses.into_iter().map(|(marker, guess, reason)| {
        if guess == Guess::Periodic {
            // Without an image on another marker it is left to the user to say with which.
            let partner = partner_of(mesh, marker, |_| true).map_or("...", |partner| &partner.name);
            let value = format!("{{ kind = \"periodic\", with = {partner:?} }}");
            return Proposal { marker: marker.name.clone(), value, reason, wall: false };
        }
        let direction = if guess == Guess::Inlet { way_in(mesh, marker) } else { None };
        let value = direction.unwrap_or_else(|| value(guess, viscous));
        Proposal { marker: marker.name.clone(), value, reason, wall: guess.is_wall() }
    });
    proposals.collect()
}

/// What stands free within a mesh that has an inlet and an outlet.
struct BodyInside {
    low: [f64; 3],
    high: [f64; 3],
}

/// Sides of a tunnel that are this many times a body's height away from it are open to the stream; nearer ones are walls.
const BESIDE: f64 = 3.0;

/// The walls that touch no bound of a planar mesh, of one in space those of planes of symmetry or periodic sides at most, and the end behind them.
fn body_inside(mesh: &Mesh, named: impl Fn(&Marker) -> Option<Guess>) -> Option<BodyInside> {
    let (low, high) = bounds(mesh.nodes.iter().copied());
    let axes = if mesh.planar.is_some() { 0..2 } else { 0..3 };
    let near = 1e-6 * axes.clone().map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let boxes = mesh.markers.iter().filter_map(|marker| {
        let wall = named(marker).map_or(by_place(mesh, marker, low, high).0, |guess| guess).is_wall();
        let (a, b) = reach_of(mesh, marker);
        let before = axes.clone().filter(|&k| a[k] - low[k] < near).count();
        let behind = axes.clone().skip(1).filter(|&k| high[k] - b[k] < near).count();
        let most = if mesh.planar.is_some() { 0 } else { 2 };
        (wall && a[0] - low[0] >= near && before + behind <= most).then_some([a, b])
    });
    let (low, high) = bounds(boxes.flatten());
    low[0].is_finite().then_some(BodyInside { low, high })
}

impl BodyInside {
    fn is_far(&self, mesh: &Mesh, marker: &Marker) -> bool {
        let axes = if mesh.planar.is_some() { 0..2 } else { 0..3 };
        let height = axes.clone().skip(1).map(|k| self.high[k] - self.low[k]).fold(0.0, f64::max);
        let off = |x: [f64; 3], k: usize| (self.low[k] - x[k]).max(x[k] - self.high[k]).max(0.0);
        let distance = |x: [f64; 3]| axes.clone().map(|k| off(x, k).powi(2)).sum::<f64>().sqrt();
        let mut nodes = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
        nodes.all(|&n| distance(mesh.nodes[n as usize]) >= BESIDE * height)
    }
}

/// A plane of symmetry cuts the body, or is a plane of coordinates, as in front of nozzles: others that are guessed to be one by their place and that no
/// wall reaches are far away, where there are walls.
fn far_from_walls(mesh: &Mesh, guesses: &mut [(&Marker, Guess, &'static str)]) {
    let nodes = |marker: &'_ Marker| -> Vec<u32> {
        let faces = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
        faces.copied().collect()
    };
    let mut of_walls = vec![false; mesh.nodes.len()];
    let in_file = mesh.markers.iter().filter(|m| matches!(m.code, Some(3000 | 4000)));
    let guessed = guesses.iter().filter(|(_, guess, _)| guess.is_wall()).map(|(marker, ..)| *marker);
    in_file.chain(guessed).flat_map(nodes).for_each(|n| of_walls[n as usize] = true);
    if !of_walls.contains(&true) {
        return;
    }
    let (low, high) = bounds(mesh.nodes.iter().copied());
    let within = 1e-6 * (0..3).map(|k| high[k] - low[k]).fold(0.0, f64::max);
    for (marker, guess, reason) in guesses.iter_mut().filter(|(_, _, reason)| *reason == AT_AN_END) {
        let nodes = nodes(marker);
        let (low, high) = bounds(nodes.iter().map(|&n| mesh.nodes[n as usize]));
        let of_coordinates = (0..3).any(|k| low[k].abs().max(high[k].abs()) < within);
        if !of_coordinates && !nodes.iter().any(|&n| of_walls[n as usize]) {
            (*guess, *reason) = (Guess::Farfield, "a plane at an end of the mesh that no wall reaches");
        }
    }
}

/// Where no marker is a wall, what flat cells lie along is one; else the bent sides of a tube are, whose ends lie across the stream. What names say stays.
fn without_walls(mesh: &Mesh, guesses: &mut [(&Marker, Guess, &'static str)]) {
    let by_place = |guess: Guess, reason: &str| {
        matches!(guess, Guess::Farfield | Guess::Symmetry)
            && !reason.starts_with("by its")
            && reason != BOTH_PLANES
    };
    let layered = |marker: &Marker| {
        WallCells::of(mesh, |name| name == marker.name).is_some_and(|cells| cells.are_layers())
    };
    let mut found = false;
    for (marker, guess, reason) in guesses.iter_mut().filter(|(_, guess, reason)| by_place(*guess, reason)) {
        if layered(marker) {
            (*guess, *reason, found) = (Guess::Wall, "flat cells lie along it", true);
        }
    }
    let (low, high) = bounds(mesh.nodes.iter().copied());
    let is_across = |marker: &Marker| is_end(mesh, marker).is_some_and(|along| along > ACROSS);
    let is_bent = |marker: &Marker| plane_of(mesh, marker).is_none();
    let is_tube = guesses.iter().any(|(marker, ..)| is_across(marker))
        && guesses.iter().any(|(marker, guess, reason)| by_place(*guess, reason) && is_bent(marker));
    if found || !is_tube {
        return;
    }
    for (marker, guess, reason) in guesses.iter_mut().filter(|(_, guess, reason)| by_place(*guess, reason)) {
        let (a, b) = reach_of(mesh, marker);
        let short = b[0] - a[0] < 0.5 * (high[0] - low[0]);
        (*guess, *reason) = if is_bent(marker) {
            (Guess::Wall, "it is the bent side of a tube")
        } else if is_across(marker) && a[0] + b[0] < low[0] + high[0] {
            (Guess::Inlet, "it is the end of a tube that the stream comes from")
        } else if is_across(marker) || (short && mesh.planar.is_none()) {
            (Guess::Outlet, "it is an end of a tube")
        } else {
            (Guess::Symmetry, "it is a plane side of a tube")
        };
    }
}

/// A marker that lies in one plane at an end of a three-dimensional mesh, along the stream, is a symmetry plane, as both planes of a layer one cell
/// deep are; one that reaches the bounds of the mesh on several sides, or lies across the stream, is far away; all else is a wall.
fn by_place(mesh: &Mesh, marker: &Marker, low: [f64; 3], high: [f64; 3]) -> (Guess, &'static str) {
    if is_both_planes(mesh, marker) {
        return (Guess::Symmetry, BOTH_PLANES);
    }
    let (a, b) = reach_of(mesh, marker);
    let axes = if mesh.planar.is_some() { 0..2 } else { 0..3 };
    let size = axes.clone().map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let near = |p: f64, q: f64| (p - q).abs() < 1e-6 * size;
    let touched = |k: usize| usize::from(near(a[k], low[k])) + usize::from(near(b[k], high[k]));
    let flat = axes.clone().any(|k| near(a[k], b[k]) && (near(a[k], low[k]) || near(a[k], high[k])));
    let end = if mesh.planar.is_some() { None } else { is_end(mesh, marker) };
    if end.is_some_and(|along| along > ACROSS) {
        (Guess::Farfield, "it is a plane across the stream at an end of the mesh")
    } else if mesh.planar.is_none() && (flat || end.is_some()) {
        (Guess::Symmetry, AT_AN_END)
    } else if flat || axes.map(touched).sum::<usize>() >= 3 {
        (Guess::Farfield, "it bounds the mesh")
    } else {
        (Guess::Wall, "it lies inside the mesh's bounds")
    }
}

/// Share of a unit normal along x, the direction of the stream in cases that are written, from which on a plane lies rather across it than along it.
const ACROSS: f64 = std::f64::consts::FRAC_1_SQRT_2;

/// Whether a marker lies in planes at the ends of the mesh: in one of any direction, or face by face in those of the box around it.
pub fn is_outside(mesh: &Mesh, marker: &Marker) -> bool {
    let (low, high) = bounds(mesh.nodes.iter().copied());
    let axes = if mesh.planar.is_some() { 0..2 } else { 0..3 };
    let near = 1e-6 * axes.clone().map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let on_box = |face: &[u32]| {
        let all_at =
            |k: usize, end: f64| face.iter().all(|&n| (mesh.nodes[n as usize][k] - end).abs() < near);
        axes.clone().any(|k| all_at(k, low[k]) || all_at(k, high[k]))
    };
    let in_box = || marker.triangles.iter().all(|t| on_box(t)) && marker.quads.iter().all(|q| on_box(q));
    in_box() || is_end(mesh, marker).is_some()
}

/// Faces of a marker that are looked at to see where it stands.
const LOOKED_AT: usize = 16;

/// Whether a marker stands free inside a mesh: it touches none of the mesh's bounds, of a mesh in space one at most, which may be a plane of symmetry, and
/// before most of its faces there is more of the mesh, behind what they bound.
fn stands_inside(mesh: &Mesh, marker: &Marker) -> bool {
    let (low, high) = bounds(mesh.nodes.iter().copied());
    let axes = if mesh.planar.is_some() { 0..2 } else { 0..3 };
    let within = 1e-6 * axes.clone().map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let (a, b) = reach_of(mesh, marker);
    let touched = axes.map(|k| usize::from(a[k] - low[k] < within) + usize::from(high[k] - b[k] < within));
    if touched.sum::<usize>() > usize::from(mesh.planar.is_none()) {
        return false;
    }
    let faces =
        marker.triangles.iter().map(|t| t.as_slice()).chain(marker.quads.iter().map(|q| q.as_slice()));
    let every = faces.clone().count().div_ceil(LOOKED_AT).max(1);
    let [mut before, mut all] = [0; 2];
    for face in faces.step_by(every) {
        let Some(plane) = plane_through(mesh, [face[0], face[1], face[2]], within) else { continue };
        all += 1;
        before += usize::from(mesh.nodes.iter().any(|&x| plane.beyond(x) > within));
    }
    2 * before > all
}

/// Of a marker that lies in one plane, of any direction, with the mesh on one side of it, as the sides of a sector: how much of its normal
/// lies along x.
fn is_end(mesh: &Mesh, marker: &Marker) -> Option<f64> {
    let plane = plane_of(mesh, marker)?;
    mesh.nodes.iter().all(|&x| plane.beyond(x) < plane.within).then(|| plane.normal[0].abs())
}

/// A plane.
struct Plane {
    point: [f64; 3],
    /// Of unit length, out of the mesh.
    normal: [f64; 3],
    /// How far what counts as in it may lie off it.
    within: f64,
}

impl Plane {
    fn beyond(&self, x: [f64; 3]) -> f64 {
        (0..3).map(|k| (x[k] - self.point[k]) * self.normal[k]).sum()
    }
}

/// Through three nodes that turn counterclockwise seen from outside; `within` as planes have it.
fn plane_through(mesh: &Mesh, [a, b, c]: [u32; 3], within: f64) -> Option<Plane> {
    let [a, b, c] = [a, b, c].map(|n| mesh.nodes[n as usize]);
    let normal = cross(sub(b, a), sub(c, a));
    let length = norm(normal);
    (length > 0.0).then(|| Plane { point: a, normal: normal.map(|n| n / length), within })
}

/// The plane in which all nodes of a marker lie, where there is one.
fn plane_of(mesh: &Mesh, marker: &Marker) -> Option<Plane> {
    let at = |n: u32| mesh.nodes[n as usize];
    let (low, high) = bounds(mesh.nodes.iter().copied());
    let axes = if mesh.planar.is_some() { 0..2 } else { 0..3 };
    let within = 1e-6 * axes.map(|k| high[k] - low[k]).fold(0.0, f64::max);
    let mut normal = [0.0; 3];
    let quads = marker.quads.iter().flat_map(|&[a, b, c, d]| [[a, b, c], [a, c, d]]);
    for [a, b, c] in marker.triangles.iter().copied().chain(quads) {
        let part = cross(sub(at(b), at(a)), sub(at(c), at(a)));
        (0..3).for_each(|k| normal[k] += part[k]);
    }
    let length = norm(normal);
    let mut nodes = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
    let &first = nodes.next()?;
    let plane = Plane { point: at(first), normal: normal.map(|n| n / length), within };
    (length > 0.0 && nodes.all(|&n| plane.beyond(at(n)).abs() < within)).then_some(plane)
}

/// The least and the largest coordinates of a marker's nodes.
pub fn reach_of(mesh: &Mesh, marker: &Marker) -> ([f64; 3], [f64; 3]) {
    let nodes = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
    bounds(nodes.map(|&n| mesh.nodes[n as usize]))
}

/// The least and the largest coordinates.
pub fn bounds(nodes: impl Iterator<Item = [f64; 3]>) -> ([f64; 3], [f64; 3]) {
    nodes.fold(([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]), |(low, high), x| {
        // 0 is added so that no bound is -0
        (std::array::from_fn(|k| low[k].min(x[k]) + 0.0), std::array::from_fn(|k| high[k].max(x[k]) + 0.0))
    })
}

fn value(guess: Guess, viscous: bool) -> String {
    let word = match guess {
        Guess::Symmetry => "symmetry",
        Guess::Periodic => "periodic",
        Guess::Farfield => "farfield",
        Guess::Extrapolation => "extrapolation",
        Guess::NoSlip => "no_slip",
        Guess::Wall if viscous => "no_slip",
        Guess::Wall | Guess::SlipWall => "slip_wall",
        // With the total state of the free stream, whatever its Mach number is set to.
        Guess::Inlet => "inlet",
        Guess::Outlet => return "{ kind = \"outlet\", pressure = 1.0 }".to_owned(),
    };
    format!("\"{word}\"")
}

/// The condition of a plane inlet that a stream along x would miss: straight in.
fn way_in(mesh: &Mesh, marker: &Marker) -> Option<String> {
    let outward = plane_of(mesh, marker)?.normal;
    let part = |n: f64| without_negative_zero(format!("{:?}", (-1e4 * n).round() / 1e4));
    let [x, y, z] = outward.map(part);
    (outward[0] > -ENTERS).then(|| format!("{{ kind = \"inlet\", direction = [{x}, {y}, {z}] }}"))
}

/// The lines of `[boundary]` for them.
pub fn lines(proposals: &[Proposal]) -> String {
    let mut text = String::new();
    let entries: Vec<String> =
        proposals.iter().map(|p| format!("{} = {}", key(&p.marker), p.value)).collect();
    let width = entries.iter().map(String::len).max().unwrap_or(0);
    for (entry, proposal) in entries.iter().zip(proposals) {
        let _ = writeln!(text, "{entry:width$}  # {}", proposal.reason);
    }
    text
}

/// A name as a key of TOML.
fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(bare) { name.to_owned() } else { format!("{name:?}") }
}

impl CaseFile {
    /// What to say of the markers that nothing gives a condition, neither the case nor, besides a mesh file, `known`: which they are, and lines
    /// to paste.
    pub fn without_condition(&self, mesh: &Mesh, known: impl Fn(&str) -> bool) -> Option<String> {
        let mut open = proposals(mesh, self.flow.equations.is_viscous());
        let spoken_for = |marker: &str| self.boundary.values().any(|spec| spec.partner() == Some(marker));
        let given =
            |marker: &String| self.boundary.contains_key(marker) || spoken_for(marker) || known(marker);
        open.retain(|p| !given(&p.marker));
        // A name that the mesh does not have is what to say first.
        let there = |name: &String| mesh.markers.iter().any(|m| m.name == *name);
        if open.is_empty() || !self.boundary.keys().all(there) {
            return None;
        }
        let names: Vec<String> = open.iter().map(|p| format!("`{}`", p.marker)).collect();
        let (s, it) = if open.len() == 1 { ("", "it") } else { ("s", "they") };
        Some(format!(
            "no condition for the mesh's marker{s} {}; what {it} may be meant to be, to paste under [boundary] and to check:\n\n{}",
            names.join(", "),
            lines(&open)
        ))
    }
}

#[cfg(test)]
mod tests;
