//! Conditions that markers without one may be meant to have: by their code in a .mapbc file, their name, their place.

mod names;

pub use names::{GROUNDS, says};

use super::CaseFile;
use crate::run::{WallCells, known};
use chromaflow_flow::mesh::periodic::partner_of;
use chromaflow_flow::mesh::{Marker, Mesh, Passage, cross, norm, passage, sub};
use names::by_name;
use std::fmt::Write;

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
    let named = |marker: &Marker| match by_name(&marker.name) {
        // What comes out of a nozzle comes through a plane; its sides are walls.
        Some(Guess::Inlet) if says(&marker.name, &["nozzle"]) && plane_of(mesh, marker).is_none() => {
            Some(Guess::Wall)
        }
        // The top of a body is not far away from it.
        Some(Guess::Farfield) if stands_inside(mesh, marker) => None,
        other => other,
    };
    let told = |marker: &Marker| by_code(marker).or_else(|| named(marker));
    let is_duct =
        [Guess::Inlet, Guess::Outlet].iter().all(|end| mesh.markers.iter().any(|m| told(m) == Some(*end)));
    let body = if is_duct { body_inside(mesh, named) } else { None };
    let beside = |marker: &Marker| body.as_ref().is_some_and(|body| body.is_far(mesh, marker));
    let open = mesh.markers.iter().filter(|m| known(m).is_none());
    let mut guesses: Vec<(&Marker, Guess, &'static str)> = open
        .map(|marker| {
            let (guess, reason) = by_code(marker)
                .map(|guess| (guess, "by its code in the .mapbc file"))
                .or_else(|| named(marker).map(|guess| (guess, "by its name")))
                .unwrap_or_else(|| match by_place(mesh, marker, low, high) {
                    (Guess::Farfield, _) if is_duct && beside(marker) => {
                        (Guess::Farfield, "it bounds the mesh, far from the body inside")
                    }
                    (Guess::Farfield, _) if is_duct => {
                        (Guess::Wall, "it lies between an inlet and an outlet")
                    }
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
        let value = value(guess, viscous);
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
        matches!(guess, Guess::Farfield | Guess::Symmetry) && !reason.starts_with("by its")
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

/// Codes of FUN3D that need values, which `known` leaves out.
fn by_code(marker: &Marker) -> Option<Guess> {
    Some(match passage(marker.code?)? {
        Passage::In => Guess::Inlet,
        Passage::Out => Guess::Outlet,
    })
}

/// A marker that lies in one plane at an end of a three-dimensional mesh, along the stream, is a symmetry plane; one that reaches the bounds of the
/// mesh on several sides, or lies across the stream, is far away; all else is a wall.
fn by_place(mesh: &Mesh, marker: &Marker, low: [f64; 3], high: [f64; 3]) -> (Guess, &'static str) {
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
mod tests {
    use super::*;
    use chromaflow_flow::mesh::generate::{Airfoil, Cells, box_mesh};

    fn named(mut mesh: Mesh, names: &[&str]) -> Mesh {
        mesh.markers.iter_mut().zip(names).for_each(|(m, name)| m.name = (*name).to_owned());
        mesh
    }

    fn values(mesh: &Mesh, viscous: bool) -> Vec<String> {
        proposals(mesh, viscous).into_iter().map(|p| p.value).collect()
    }

    /// Sides of a sheared box are planes at its ends, whatever their direction; one that is bent is not, and the stream crosses those across it.
    #[test]
    fn planes_at_an_end_have_any_direction() {
        let mut mesh = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
        mesh.nodes.iter_mut().for_each(|x| x[1] += 0.4 * x[0] + 0.2 * x[2]);
        let sides = named(mesh, &["1", "2", "3", "4", "5", "6"]);
        let (far, along) = ("\"farfield\"", "\"symmetry\"");
        assert_eq!(values(&sides, false), [far, far, along, along, along, along]);
        let mut bent = sides;
        bent.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
        let (inlet, outlet) = ("\"inlet\"", "{ kind = \"outlet\", pressure = 1.0 }");
        let wall = "\"slip_wall\"";
        assert_eq!(values(&bent, false), [inlet, outlet, wall, wall, along, along], "a tube");
    }

    /// Where nothing else is a wall, a side with the cells of a boundary layer is one.
    #[test]
    fn flat_cells_lie_along_walls() {
        let mut mesh = box_mesh([4, 12, 4], [1.0; 3], Cells::Hexes, 0.0);
        mesh.nodes.iter_mut().for_each(|x| x[1] = x[1].powi(4));
        let sides = named(mesh, &["1", "2", "3", "4", "5", "6"]);
        let (far, along) = ("\"farfield\"", "\"symmetry\"");
        assert_eq!(values(&sides, true), [far, far, "\"no_slip\"", along, along, along]);
    }

    /// Of the sides of a tunnel, each a marker, those that the body does not reach are no planes of symmetry.
    #[test]
    fn planes_that_no_wall_reaches_are_far_away() {
        let mut mesh = box_mesh([4; 3], [1.0; 3], Cells::Hexes, 0.0);
        let names = ["1", "2", "3", "4", "5", "6"];
        mesh.markers.iter_mut().zip(names).for_each(|(m, name)| m.name = name.to_owned());
        // A bump, apart from the marker at z = 0 around it.
        let inner = |nodes: &[u32; 4]| {
            nodes.iter().all(|&n| {
                let x = mesh.nodes[n as usize];
                (0..2).all(|k| (0.2..0.8).contains(&x[k]))
            })
        };
        let (bump, floor) = mesh.markers[4].quads.iter().copied().partition(inner);
        mesh.markers[4].quads = floor;
        mesh.markers.push(Marker { name: "7".to_owned(), quads: bump, ..Marker::default() });
        for x in &mut mesh.nodes {
            let inside = (0..2).all(|k| (0.3..0.7).contains(&x[k]));
            x[2] = if inside { 0.1 + 0.9 * x[2] } else { x[2] };
        }
        let (far, along, wall) = ("\"farfield\"", "\"symmetry\"", "\"slip_wall\"");
        // The side at y = 0 may well be the plane of symmetry of a nozzle that ends before the mesh.
        assert_eq!(values(&mesh, false), [far, far, along, far, along, far, wall]);
        mesh.nodes.iter_mut().for_each(|x| x[1] -= 0.5);
        assert_eq!(values(&mesh, false), [far, far, far, far, along, far, wall]);
    }

    #[test]
    fn names_tell_what_markers_are() {
        let cube = box_mesh([1; 3], [1.0; 3], Cells::Hexes, 0.0);
        let mesh =
            named(cube.clone(), &["Inflow", "OUTLET", "sym plane", "Far-Field", "slipwall", "fuselage"]);
        let inlet = "\"inlet\"";
        let outlet = "{ kind = \"outlet\", pressure = 1.0 }";
        let rest = ["\"symmetry\"", "\"farfield\"", "\"slip_wall\""];
        for (viscous, wall) in [(false, "\"slip_wall\""), (true, "\"no_slip\"")] {
            let expected = [&[inlet, outlet][..], &rest, &[wall]].concat();
            assert_eq!(values(&mesh, viscous), expected);
        }
        let lines = lines(&proposals(&mesh, false));
        assert!(lines.contains("\"sym plane\" = \"symmetry\""), "{lines}");
        let parsed: toml::Table = toml::from_str(&lines).unwrap();
        assert_eq!(parsed.len(), 6, "they can be pasted");
    }

    /// What lies inside a mesh is not far away, whatever it is called; what bounds the mesh is, in pieces, too.
    #[test]
    fn what_stands_inside_is_not_far_away() {
        let airfoil = Airfoil { cells: [16, 4], radius: 10.0, growth: 1.5, triangles: false };
        let mut mesh = named(airfoil.mesh(), &["top", "far"]);
        // An eighth of the circle, which touches none of the bounds.
        let at = |n: u32| mesh.nodes[n as usize];
        let eighth =
            |q: &[u32; 4]| q.iter().all(|&n| at(n)[0] > 0.0 && at(n)[1] > 1.0 && at(n)[0] > 0.1 * at(n)[1]);
        let (piece, rest): (Vec<_>, _) = mesh.markers[1].quads.iter().copied().partition(eighth);
        assert!(!piece.is_empty());
        let (a, b) = bounds(piece.iter().flatten().map(|&n| at(n)));
        assert!(b[0] < 9.9 && b[1] < 9.9 && a[0] > 0.0, "{a:?} {b:?}");
        mesh.markers[1].quads = rest;
        mesh.markers.push(Marker { name: "far_top".to_owned(), quads: piece, ..Marker::default() });
        let far = "\"farfield\"";
        let told: Vec<_> = proposals(&mesh, false).into_iter().map(|p| (p.marker, p.value)).collect();
        let of = |name: &str| told.iter().find(|(marker, _)| marker == name).unwrap().1.as_str();
        assert_eq!([of("top"), of("far"), of("far_top")], ["\"slip_wall\"", far, far]);
    }

    /// What FUN3D's codes say of inflow and outflow goes before names.
    #[test]
    fn codes_tell_inlets_from_outlets() {
        let mut mesh =
            named(box_mesh([1; 3], [1.0; 3], Cells::Hexes, 0.0), &["out", "in", "3", "4", "5", "6"]);
        for (marker, code) in mesh.markers.iter_mut().zip([7011, 7012, 7021, 7031, 7036, 7105]) {
            marker.code = Some(code);
        }
        let (inlet, outlet) = ("\"inlet\"", "{ kind = \"outlet\", pressure = 1.0 }");
        assert_eq!(values(&mesh, false), [inlet, outlet, inlet, outlet, inlet, outlet]);
    }

    /// A jet comes out of a nozzle's plane; what is bent is the nozzle.
    #[test]
    fn sides_of_nozzles_are_walls() {
        let mut mesh = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
        mesh.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
        let got = values(&named(mesh, &["nozzle", "outlet", "nozzle_low", "NOZZLE high", "5", "6"]), false);
        assert_eq!(got[2..4], ["\"slip_wall\""; 2]);
        assert_eq!(got[0], "\"inlet\"");
    }

    /// What bounds a mesh with an inlet and an outlet are the walls of a duct; so it is without one of them where nothing else is a wall.
    #[test]
    fn sides_of_ducts_are_walls() {
        let mut mesh = box_mesh([3; 3], [1.0; 3], Cells::Hexes, 0.0);
        mesh.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
        let sides = |names: [&str; 6]| values(&named(mesh.clone(), &names), true)[2..4].to_vec();
        assert_eq!(sides(["inlet", "outlet", "low", "high", "5", "6"]), ["\"no_slip\""; 2]);
        assert_eq!(sides(["inlet", "end", "low", "high", "5", "6"]), ["\"no_slip\""; 2]);
        assert_eq!(sides(["inlet", "end", "low", "high", "plate", "6"]), ["\"farfield\""; 2]);
    }

    /// Sides of a mesh between an inlet and an outlet are open to the stream where they are far from a body inside, walls beside it.
    #[test]
    fn sides_far_from_a_body_are_open() {
        let mut mesh = box_mesh([12; 3], [1.0; 3], Cells::Hexes, 0.0);
        let node = |x: [f64; 3]| {
            let off = |y: &[f64; 3]| (0..3).map(|k| (x[k] - y[k]).abs()).fold(0.0, f64::max);
            mesh.nodes.iter().position(|y| off(y) < 1e-9).unwrap() as u32
        };
        // A plate across the stream.
        let plate = |low: f64, high: f64| {
            [[low, low], [high, low], [high, high], [low, high]].map(|[y, z]| node([0.5, y, z]))
        };
        let plates = [plate(5.0 / 12.0, 0.5), plate(0.25, 0.75)];
        mesh.nodes.iter_mut().for_each(|x| x[1] += 0.1 * x[0] * x[0]);
        let names = ["inlet", "outlet", "low", "high", "sym5", "sym6"];
        for (plate, expected) in plates.into_iter().zip(["\"farfield\"", "\"slip_wall\""]) {
            let mut mesh = named(mesh.clone(), &names);
            mesh.markers.push(Marker { name: "thing".to_owned(), quads: vec![plate], ..Marker::default() });
            let got = values(&mesh, false);
            assert_eq!([&got[2], &got[3], &got[6]], [expected, expected, "\"slip_wall\""]);
        }
    }

    #[test]
    fn numbers_are_told_apart_by_their_place() {
        let airfoil = Airfoil { cells: [16, 4], radius: 10.0, growth: 1.5, triangles: false };
        assert_eq!(values(&named(airfoil.mesh(), &["1", "2"]), false), ["\"slip_wall\"", "\"farfield\""]);
    }
}
