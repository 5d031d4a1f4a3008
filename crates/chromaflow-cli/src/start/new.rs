//! `chromaflow new`: a commented case for a mesh.

use super::write_new;
use crate::case::guess::{GROUNDS, Proposal, bounds, is_outside, lines, proposals, reach_of, says};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use crate::numbers::without_negative_zero;
use crate::run::{WallCells, known};
use chromaflow_flow::mesh::{self, Marker, Mesh, Planar, ReadOptions};
use chromaflow_flow::turbulence::{plate_friction, plate_reynolds};
use serde_json::json;
use std::fmt::Write;
use std::path::{Component, Path, PathBuf};

/// Arguments of `chromaflow new`.
#[derive(clap::Args)]
pub struct Args {
    /// Mesh file
    mesh: PathBuf,
    /// Case file to write [default: the mesh's name with .toml, in the working directory]
    case: Option<PathBuf>,
    /// Names and codes of numbered markers, where the file beside the mesh has another name
    #[arg(long, value_name = "FILE")]
    mapbc: Option<PathBuf>,
    /// Equations [default: euler; laminar for bluff bodies; rans where a marker is a wall without slip or the mesh has layers at walls]
    #[arg(long, value_parser = ["euler", "laminar", "rans"])]
    equations: Option<String>,
    /// Write over a case file that is there
    #[arg(long)]
    force: bool,
}

/// What the walls of a mesh tell.
struct Body {
    low: [f64; 3],
    high: [f64; 3],
    /// Axis along which lift points: 1 or 2.
    up: usize,
    /// What lift sees of them.
    area: f64,
    /// Whether they bound a body by themselves.
    closed: bool,
    /// Whether they are a plate across the stream.
    plate: bool,
}

/// Of a plate across the stream, the most of its thickness over its sides.
const THIN: f64 = 0.2;

/// Mach number of a new case: compressible, without shocks on most bodies.
const MACH: f64 = 0.5;

/// Mach and Reynolds number (on the body's length) of a new case, such that its flow is steady: behind bluff bodies it is below a
/// Reynolds number of 47, along slender ones laminar flow is up to some thousands; turbulent flow has the one that the layers of the
/// mesh were made for, where it has any.
fn stream(equations: &str, bluff: bool, made_for: Option<(f64, f64)>) -> (f64, f64) {
    match (equations, bluff) {
        ("laminar", true) => (0.2, 40.0),
        ("laminar", false) => (MACH, 5e3),
        _ => (MACH, made_for.map_or(1e6, |(reynolds, _)| reynolds)),
    }
}

/// y+ of the first nodes for which layers are made: such that they resolve the viscous layer, or for wall functions.
const MADE_FOR: [f64; 2] = [1.0, 50.0];

/// y+ of the first nodes from which on a law of the wall has to stand for what the mesh does not resolve.
const UNRESOLVED: f64 = 5.0;

/// What a mesh with layers of flat cells was made for: the Reynolds number on `length`, to one digit, at which the first nodes off walls
/// stand at a y+ of 1, else of 50, on a turbulent plate, and that y+. None where its cells are not flat, or for less than turbulent flow.
fn made_for(cells: &WallCells, length: f64) -> Option<(f64, f64)> {
    let turbulent = MADE_FOR.into_iter().find_map(|y_plus| {
        let reynolds = plate_reynolds(cells.height / (y_plus * length));
        (3e5..=1e9).contains(&reynolds).then_some((reynolds, y_plus))
    });
    let (reynolds, y_plus) = turbulent.filter(|_| cells.are_layers())?;
    let digit = 10_f64.powf(reynolds.log10().floor());
    Some(((reynolds / digit).round() * digit, y_plus))
}

/// Writes a case.
///
/// # Errors
/// Status 2 for a mesh that cannot be read and a case file that is there; status 3 where it cannot be written.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let path = found(&args.mesh)?;
    let case = args.case.clone().unwrap_or_else(|| case_name(&args.mesh));
    super::refuse_old(&case, args.force)?;
    let options = ReadOptions { mapbc: args.mapbc.clone(), ..ReadOptions::default() };
    let (mesh, notes) = mesh::read_with_notes(&path, &options)?;
    let no_slip = |m: &Marker| known(m).is_some_and(|b| b.is_no_slip());
    let (inviscid, viscous) = (proposals(&mesh, false), proposals(&mesh, true));
    let without_slip =
        |of: &[Proposal], name: &str| of.iter().any(|p| p.marker == name && p.value == "\"no_slip\"");
    let says_viscous = mesh.markers.iter().any(|m| no_slip(m) || without_slip(&inviscid, &m.name));
    // Walls that gas sticks to where it is viscous; those with slip say nothing of layers.
    let sticks = |name: &str| {
        without_slip(&viscous, name) || mesh.markers.iter().any(|m| m.name == name && no_slip(m))
    };
    let is_wall = |m: &Marker| {
        known(m).is_some_and(|b| b.is_wall()) || inviscid.iter().any(|p| p.wall && p.marker == m.name)
    };
    let body = Body::of(&mesh, is_wall);
    // A row of bodies, whose sides repeat, stands in a stream, too.
    let repeats = |m: &Marker| known(m).is_some_and(|b| b.word() == "periodic");
    let outside = mesh.markers.iter().any(repeats)
        || inviscid.iter().any(|p| p.value == "\"farfield\"" || p.value.contains("\"periodic\""));
    let slender = mesh.markers.iter().any(|m| is_wall(m) && says_slender(&m.name));
    let bluff =
        outside && !slender && body.as_ref().is_some_and(|body| body.is_bluff() || has_bluff(&mesh, is_wall));
    let cells = WallCells::of(&mesh, sticks);
    let length = body.as_ref().map_or(1.0, Body::length);
    let made_for = cells.as_ref().and_then(|cells| made_for(cells, length));
    let equations = args.equations.as_deref().unwrap_or(match (says_viscous, bluff) {
        (true, _) => "rans",
        (false, true) if mesh.markers.iter().any(|m| sticks(&m.name)) => "laminar",
        (false, false) if made_for.is_some() => "rans",
        (false, _) => "euler",
    });
    let (mach, reynolds) = stream(equations, bluff, made_for);
    let open = if equations == "euler" { inviscid } else { viscous };
    let facts = Facts {
        args,
        case: &case,
        path: &path,
        mesh: &mesh,
        open: &open,
        equations,
        mach,
        reynolds,
        made_for: made_for.map(|(_, y_plus)| y_plus),
        cells,
        body: body.as_ref(),
    };
    let text = text(&facts);
    write_new(&case, &text, args.force)?;
    if ctx.verbose() {
        println!("{}", case.display());
        if !open.is_empty() {
            print!("\n[boundary], to be checked:\n{}", lines(&open));
        }
        println!("\n    chromaflow run {0} --check\n    chromaflow run {0}", case.display());
        for note in &notes {
            println!("note: {note}");
        }
    }
    ctx.write_json(&json!({ "case": case, "mesh": path, "equations": equations, "notes": notes }))?;
    Ok(Done::Success)
}

/// Whether a wall's name is that of a part that stands along the stream, however thick it looks where a row or half of it is meshed.
fn says_slender(name: &str) -> bool {
    says(name, &["wing", "airfoil", "blade", "vane", "nacelle", "cowl"])
}

/// Whether one of several walls is a closed body that stands across the stream.
fn has_bluff(mesh: &Mesh, is_wall: impl Fn(&Marker) -> bool) -> bool {
    let walls = mesh.markers.iter().filter(|m| is_wall(m));
    walls.clone().count() > 1
        && walls.filter_map(|wall| Body::of(mesh, |m| m.name == wall.name)).any(|b| b.closed && b.is_bluff())
}

/// The mesh file: as it is named, or in the data folder.
fn found(path: &Path) -> CliResult<PathBuf> {
    if path.exists() {
        return Ok(path.to_owned());
    }
    let data = std::env::var_os("CHROMAFLOW_DATA").map(|folder| Path::new(&folder).join(path));
    match data.filter(|p| p.exists()) {
        Some(path) => Ok(path),
        None => Err(CliError::input(format!("no such mesh: {}", path.display()))),
    }
}

/// The mesh's name up to its first point; of OpenFOAM's folders that of the case.
fn case_name(mesh: &Path) -> PathBuf {
    let whole = if mesh.is_dir() { mesh.canonicalize().ok() } else { None };
    let mut path = whole.as_deref().unwrap_or(mesh);
    while let (Some("polyMesh" | "constant"), Some(above)) =
        (path.file_name().and_then(|n| n.to_str()), path.parent())
    {
        path = above;
    }
    let name = path.file_name().and_then(|n| n.to_str()).unwrap_or("case");
    format!("{}.toml", name.split('.').next().unwrap_or("case")).into()
}

impl Body {
    fn of(mesh: &Mesh, is_wall: impl Fn(&Marker) -> bool) -> Option<Self> {
        let walls = mesh.markers.iter().filter(|m| is_wall(m));
        let (outside, inside): (Vec<&Marker>, Vec<&Marker>) = walls.partition(|m| is_outside(mesh, m));
        // The walls of a tunnel, and the ground, are no part of what stands between them.
        let walls = if inside.is_empty() { outside } else { inside };
        let faces = || {
            walls.iter().flat_map(|m| {
                let triangles = m.triangles.iter().map(|t| t.as_slice());
                triangles.chain(m.quads.iter().map(|q| q.as_slice()))
            })
        };
        let nodes = faces().flatten().map(|&n| mesh.nodes[n as usize]);
        let (low, high) = bounds(nodes);
        if !low[0].is_finite() {
            return None;
        }
        // What all faces show along an axis, and what is left where those of both signs are taken together.
        let shown = |axis: usize| {
            let (a, b) = ((axis + 1) % 3, (axis + 2) % 3);
            faces().fold((0.0, 0.0_f64), |(all, net), face| {
                let p = |i: usize| mesh.nodes[face[i % face.len()] as usize];
                let turn = (0..face.len()).map(|i| p(i)[a] * p(i + 1)[b] - p(i)[b] * p(i + 1)[a]);
                let part = 0.5 * turn.sum::<f64>();
                (all + part.abs(), net + part)
            })
        };
        // Without a plane of symmetry lift goes where most of the body is seen.
        let seen = || shown(1).0 > 1.5 * shown(2).0;
        let spanwise = across(mesh).map(|axis| axis == 2);
        let told = spanwise.or_else(|| ground(mesh).map(|axis| axis == 1));
        let sideways = mesh.planar.is_some() || told.unwrap_or_else(seen);
        let up = if sideways { 1 } else { 2 };
        // Upper and lower side of a closed body see the same planform; a wall that is open has one of them.
        let projected = |axis: usize| {
            let (all, net) = shown(axis);
            (0.5 * all).max(net.abs())
        };
        let [along, across] = if mesh.planar.is_some() {
            [high[0] - low[0], high[1] - low[1]]
        } else {
            [projected(up), projected(0)]
        };
        // Of walls that stand across the stream, the area that it meets: of plates, too, whose thickness says nothing.
        let sides = if mesh.planar.is_some() { 1..2 } else { 1..3 };
        let narrowest = sides.map(|k| high[k] - low[k]).fold(f64::INFINITY, f64::min);
        let plate = high[0] - low[0] < THIN * narrowest && projected(up) < THIN * projected(0);
        let area = if along > 1e-9 * across && !plate { along } else { across };
        let axes = if mesh.planar.is_some() { 0..2 } else { 0..3 };
        let closed = axes.map(shown).all(|(all, net)| net.abs() < 1e-6 * all);
        Some(Self { low, high, up, area, closed, plate })
    }

    /// Along x; of walls that stand across the stream their largest extent.
    fn length(&self) -> f64 {
        let extents: [f64; 3] = std::array::from_fn(|k| self.high[k] - self.low[k]);
        let largest = extents.into_iter().fold(0.0, f64::max);
        if extents[0] > 1e-6 * largest && !self.plate { extents[0] } else { largest }
    }

    /// Whether it stands across the stream: inviscid flow past it has no steady state worth having.
    fn is_bluff(&self) -> bool {
        self.high[self.up] - self.low[self.up] > 0.35 * self.length()
    }
}

/// The axis that a plane of symmetry is normal to.
fn across(mesh: &Mesh) -> Option<usize> {
    normal_of(mesh, |m| {
        known(m).is_some_and(|b| b.word() == "symmetry") || says(&m.name, &["sym", "symmetry"])
    })
}

/// The axis that the ground is normal to, along which lift points.
fn ground(mesh: &Mesh) -> Option<usize> {
    normal_of(mesh, |m| says(&m.name, &GROUNDS)).filter(|axis| *axis > 0)
}

/// The axis that the first such marker is normal to, where it lies in a plane.
fn normal_of(mesh: &Mesh, is_it: impl Fn(&Marker) -> bool) -> Option<usize> {
    let plane = mesh.markers.iter().find(|m| is_it(m))?;
    let (a, b) = reach_of(mesh, plane);
    let size = (0..3).map(|k| b[k] - a[k]).fold(0.0, f64::max);
    (0..3).find(|&k| b[k] - a[k] < 1e-6 * size)
}

struct Facts<'a> {
    args: &'a Args,
    case: &'a Path,
    path: &'a Path,
    mesh: &'a Mesh,
    open: &'a [Proposal],
    equations: &'a str,
    mach: f64,
    reynolds: f64,
    /// y+ of the first nodes, where the Reynolds number is what the mesh was made for.
    made_for: Option<f64>,
    cells: Option<WallCells>,
    body: Option<&'a Body>,
}

/// A path as the case file is to have it: relative paths are from the case file's folder, so that both can be moved together.
fn from_case(case: &Path, path: &Path) -> PathBuf {
    let folder = case.parent().filter(|p| !p.as_os_str().is_empty());
    let (Some(folder), false) = (folder, path.is_absolute()) else { return path.to_owned() };
    let whole = |p: &Path| p.canonicalize().unwrap_or_else(|_| p.to_owned());
    let (from, to) = (whole(folder), whole(path));
    let same = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    if same <= 1 {
        return to; // nothing but the root
    }
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    up.chain(to.components().skip(same)).collect()
}

fn text(facts: &Facts<'_>) -> String {
    let Facts { args, case, path, mesh, open, equations, mach, reynolds, made_for, cells, body } = facts;
    let mut out = String::new();
    let (low, high) = bounds(mesh.nodes.iter().copied());
    let nodes = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
    let form = if mesh.planar.is_some() { "two-dimensional" } else { "three-dimensional" };
    let stem = case.file_stem().and_then(|n| n.to_str()).unwrap_or("case");
    let _ = writeln!(
        out,
        "# Check it: chromaflow run {0} --check\n# Run it:   chromaflow run {0}\n# Look:     chromaflow report out/{stem}\n\
         # `chromaflow run --print-defaults` shows every key.\n",
        case.display()
    );
    let _ = writeln!(out, "[case]\ntitle = {stem:?}\n");
    let _ = writeln!(out, "# {form}, {nodes} nodes, {} cells;", mesh.elements());
    let _ = writeln!(out, "# {}.", reach(low, high, "", "..."));
    // A mesh of the data folder is found by its name there.
    let file = if args.mesh.exists() { from_case(case, path) } else { args.mesh.clone() };
    let _ = writeln!(out, "[mesh]\nfile = {:?}", file.display().to_string());
    if let Some(mapbc) = &args.mapbc {
        let _ = writeln!(out, "mapbc = {:?}", from_case(case, mapbc).display().to_string());
    }
    let length = body.map_or(1.0, Body::length);
    let _ = writeln!(
        out,
        "\n# With units instead: mach and altitude (metres), or velocity (m/s), temperature (K) and pressure (Pa);\n# `meters` says how long the mesh's unit is."
    );
    let _ = writeln!(
        out,
        "[flow]\nequations = {equations:?} # euler, laminar or rans\nmach = {mach:?}\nalpha = 0.0 # degrees"
    );
    if *equations != "euler" {
        let why = match made_for {
            Some(y_plus) if *equations == "rans" => {
                format!(": y+ of the first nodes off walls is about {y_plus}")
            }
            _ => String::new(),
        };
        let _ = writeln!(
            out,
            "reynolds = {reynolds:?} # on reynolds_length{why}\nreynolds_length = {}\ntemperature = 288.15 # kelvin",
            number(length)
        );
    }
    if *equations == "rans" {
        out += &cells.as_ref().map_or_else(String::new, |cells| law_of_the_wall(cells, length, *reynolds));
    }
    if let Some(body) = body {
        out += &reference(body, mesh);
    }
    let given: Vec<&Marker> = mesh
        .markers
        .iter()
        .filter(|m| known(m).is_some() && ![Planar::FRONT, Planar::BACK].contains(&&*m.name))
        .collect();
    let head = if open.is_empty() { "Conditions." } else { "Conditions, guessed: check them." };
    let _ = writeln!(out, "\n# {head}\n[boundary]\n{}", lines(open).trim_end());
    for marker in given {
        if let Some(condition) = known(marker) {
            let _ = writeln!(out, "# {}: {condition}, as the mesh's files say", marker.name);
        }
    }
    if *equations != "euler" {
        out += &cells.as_ref().map_or_else(String::new, |cells| heights(cells, length, *reynolds));
    }
    if let Some(body) = body.filter(|_| mesh.planar.is_none()) {
        let span = 3 - body.up;
        let at = [0.2, 0.5, 0.8].map(|share| body.low[span] + share * (body.high[span] - body.low[span]));
        let axis = ["x", "y", "z"][span];
        let size = body.high[span] - body.low[span];
        let cuts = at.map(|at| format!("{{ axis = \"{axis}\", at = {} }}", place(at, size)));
        let _ = writeln!(
            out,
            "\n# Cp across the body at 20, 50 and 80 % of its span.\n[output]\ncuts = [{}]",
            cuts.join(", ")
        );
    }
    out
}

/// Six digits, however small.
fn number(value: f64) -> String {
    if value == 0.0 || (1e-3..1e6).contains(&value.abs()) {
        return place(value, value.abs());
    }
    format!("{value:.5e}")
}

/// A place in a mesh or body of this size, to six digits of the size, wherever it lies.
fn place(value: f64, size: f64) -> String {
    let digits = if size > 0.0 { (5.0 - size.log10().floor()).clamp(6.0, 30.0) } else { 6.0 };
    without_negative_zero(format!("{value:.*}", digits as usize))
}

/// From where to where something reaches along each axis.
fn reach(low: [f64; 3], high: [f64; 3], from: &str, to: &str) -> String {
    let along = (0..3).map(|k| {
        let [low, high] = [low[k], high[k]].map(|x| place(x, high[k] - low[k]));
        format!("{} {from}{low} {to} {high}", ["x", "y", "z"][k])
    });
    along.collect::<Vec<_>>().join(", ")
}

/// Reference values of the walls' bounding box and of what lift sees of them.
fn reference(body: &Body, mesh: &Mesh) -> String {
    let Body { low, high, up, area, .. } = body;
    let length = body.length();
    let along = if high[0] - low[0] < length { "largest extent" } else { "length along x" };
    let mut out = format!("\n# The walls reach {}.\n", reach(*low, *high, "from ", "to"));
    let what = match (mesh.planar.is_some(), body.plate) {
        (true, _) => format!("their {along}"),
        (false, true) => "what the stream meets of them".to_owned(),
        (false, false) => "what lift sees of them".to_owned(),
    };
    // On the axes where the body lies about them, else in its middle.
    let center = |k: usize| match k {
        0 => low[0] + 0.25 * (high[0] - low[0]),
        2 if mesh.planar.is_some() => 0.0,
        _ if low[k] <= 0.0 && high[k] >= 0.0 => 0.0,
        _ => 0.5 * (low[k] + high[k]),
    };
    let nose: Vec<String> = (0..3).map(|k| place(center(k), length)).collect();
    let _ = writeln!(
        out,
        "[reference]\narea = {} # {what}\nlength = {} # their {along}",
        number(*area),
        number(length)
    );
    let _ = writeln!(out, "moment_center = [{}] # a quarter of it behind the nose", nose.join(", "));
    if mesh.planar.is_none() && *up == 1 {
        let _ = writeln!(out, "lift_axis = \"y\" # the span is along z");
    }
    out
}

/// A wall function where the first nodes stand too far off the walls to do without.
fn law_of_the_wall(cells: &WallCells, length: f64, reynolds: f64) -> String {
    let y_plus = cells.height / one_wall_unit(length, reynolds);
    if y_plus < UNRESOLVED {
        return String::new();
    }
    format!(
        "\n# The first nodes stand at y+ {y_plus:.0} or so: a law of the wall for what lies below them.\n[turbulence]\nwalls = \"automatic\"\n"
    )
}

/// y+ = 1 at the end of a turbulent plate of this length.
fn one_wall_unit(length: f64, reynolds: f64) -> f64 {
    length / (reynolds * (0.5 * plate_friction(reynolds)).sqrt())
}

/// How far the first nodes stand off the walls, and what y+ = 1 would ask for on a turbulent plate.
fn heights(cells: &WallCells, length: f64, reynolds: f64) -> String {
    let (low, high) = cells.heights;
    let one = one_wall_unit(length, reynolds);
    format!(
        "\n# y+: the first nodes stand {low:.3e} to {high:.3e} off the walls; at the Reynolds number above y+ = 1 is at about {one:.3e}.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};

    /// The body that some sides of a box of 2 x 3 x 5 are.
    fn body(walls: &[&str]) -> Body {
        let names = ["left", "right", "front", "back", "low", "high"];
        let mut mesh = box_mesh([2; 3], [2.0, 3.0, 5.0], Cells::Hexes, 0.0);
        assert_eq!(mesh.markers.len(), names.len());
        for marker in &mut mesh.markers {
            let faces = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
            let (a, b) = bounds(faces.map(|&n| mesh.nodes[n as usize]));
            let axis = (0..3).find(|&k| a[k] == b[k]).unwrap();
            marker.name = names[2 * axis + usize::from(a[axis] > 0.0)].to_owned();
            marker.code = None;
        }
        Body::of(&mesh, |m| walls.contains(&&*m.name)).unwrap()
    }

    #[test]
    fn reference_values_are_those_of_what_lift_sees() {
        for (walls, up, area, length) in [
            (&["low"][..], 2, 6.0, 2.0),        // an open wall shows its whole face
            (&["low", "high"], 2, 6.0, 2.0),    // two sides of one planform
            (&["front", "back"], 1, 10.0, 2.0), // the span is along z
            (&["left"], 2, 15.0, 5.0),          // it stands across the stream
            (&["left", "front", "back", "low", "high"], 1, 10.0, 2.0),
        ] {
            let body = body(walls);
            assert_eq!((body.up, body.length()), (up, length), "{walls:?}");
            assert!((body.area - area).abs() < 1e-12, "{walls:?}: {}", body.area);
        }
    }

    /// The thickness of a plate across the stream is no length to go by; one along it has a chord.
    #[test]
    fn plates_across_the_stream_are_as_long_as_they_are_high() {
        let of = |size: [f64; 3], planar: bool| {
            let mut mesh = box_mesh([2; 3], size, Cells::Hexes, 0.0);
            mesh.planar = planar.then_some(Planar { nodes_2d: 9, depth: size[2] });
            let names: Vec<String> = mesh.markers.iter().map(|m| m.name.clone()).collect();
            let sides = if planar { &names[..4] } else { &names[..] };
            let body = Body::of(&mesh, |m| sides.contains(&m.name)).unwrap();
            (body.area, body.length())
        };
        for (size, planar, area, length) in [
            ([0.002, 1.0, 1.0], true, 1.0, 1.0),
            ([1.0, 0.002, 1.0], true, 1.0, 1.0),
            ([0.5, 1.0, 1.0], true, 0.5, 0.5),
            ([0.01, 2.0, 3.0], false, 6.0, 3.0),
            ([1.0, 1.0, 10.0], false, 10.0, 1.0),
        ] {
            let found = of(size, planar);
            assert!((found.0 - area).abs() < 1e-9 && (found.1 - length).abs() < 1e-9, "{size:?}: {found:?}");
        }
    }

    /// Layers are made for y+ 1, else for wall functions; cells that are not flat, or too high for turbulent flow, for neither.
    #[test]
    fn layers_tell_what_they_were_made_for() {
        let of = |height: f64, aspect: f64| {
            made_for(&WallCells { heights: (height, height), height, aspect }, 2.0)
        };
        for (height, reynolds, y_plus) in [(1e-5, 5e6, 1.0), (1e-4, 4e5, 1.0), (2e-3, 1e6, 50.0)] {
            assert_eq!(of(height, 30.0), Some((reynolds, y_plus)), "{height}");
            let law = law_of_the_wall(
                &WallCells { heights: (height, height), height, aspect: 30.0 },
                2.0,
                reynolds,
            );
            assert_eq!(law.contains("walls = \"automatic\""), y_plus > 1.0, "{law}");
        }
        assert_eq!([of(1e-5, 5.0), of(2e-2, 30.0)], [None, None]);
    }

    /// The ground and the walls of a tunnel are no part of the body; a body stands on its ground, along which lift points.
    #[test]
    fn bodies_stand_on_their_ground() {
        for (axis, up) in [(1, 1), (2, 2)] {
            let mut mesh = box_mesh([4; 3], [1.0; 3], Cells::Hexes, 0.0);
            for marker in &mut mesh.markers {
                let x = marker.quads[0].map(|n| mesh.nodes[n as usize]);
                let low = (0..3).find(|&k| x.iter().all(|x| x[k] == 0.0));
                marker.name = if low == Some(axis) { "road" } else { "side" }.to_owned();
            }
            // A bump on the road is a marker of its own.
            let road = mesh.markers.iter().position(|m| m.name == "road").unwrap();
            let inner = |quad: &[u32; 4]| {
                quad.iter()
                    .all(|&n| (0..3).all(|k| k == axis || (0.2..0.8).contains(&mesh.nodes[n as usize][k])))
            };
            let (bump, rest) = mesh.markers[road].quads.iter().copied().partition(inner);
            mesh.markers[road].quads = rest;
            mesh.markers.push(Marker { name: "bump".to_owned(), quads: bump, ..Marker::default() });
            for x in &mut mesh.nodes {
                let inside = (0..3).all(|k| k == axis || (0.3..0.7).contains(&x[k]));
                x[axis] = if inside { 0.2 + 0.8 * x[axis] } else { x[axis] };
            }
            let body = Body::of(&mesh, |_| true).unwrap();
            assert_eq!(body.up, up);
            assert!((body.length() - 0.5).abs() < 1e-12 && (body.area - 0.25).abs() < 1e-12, "{}", body.area);
        }
    }

    #[test]
    fn cases_have_paths_from_their_folder_and_names_of_openfoam_cases() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("step/constant/polyMesh")).unwrap();
        std::fs::create_dir_all(at("cases")).unwrap();
        for mesh in ["step", "step/constant", "step/constant/polyMesh"] {
            assert_eq!(case_name(&at(mesh)), Path::new("step.toml"), "{mesh}");
        }
        assert_eq!(case_name(Path::new("wing.b8.ugrid")), Path::new("wing.toml"));
        let case = at("cases/a.toml");
        assert_eq!(from_case(&case, &at("step")), at("step"), "as it is given");
        assert_eq!(from_case(Path::new("a.toml"), Path::new("m/step")), Path::new("m/step"));
        assert_eq!(from_case(Path::new("src/a.toml"), Path::new("Cargo.toml")), Path::new("../Cargo.toml"));
    }

    #[test]
    fn small_numbers_keep_their_digits() {
        assert_eq!((number(0.0), number(1.25)), ("0.000000".to_owned(), "1.250000".to_owned()));
        assert_eq!(place(-1e-9, 1.0), "0.000000", "no sign");
        for value in [2.5e-7_f64, -3.25e-4, 7.5e8] {
            assert_eq!(number(value).parse::<f64>().unwrap().to_bits(), value.to_bits());
        }
    }
}
