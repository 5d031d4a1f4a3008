//! `chromaflow new`: a commented case for a mesh.

mod body;
#[cfg(test)]
mod tests;

use super::write_new;
use crate::case::ModelName;
use crate::case::guess::{Proposal, bounds, lines, proposals, says};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use crate::numbers::without_negative_zero;
use crate::run::{WallCells, coincident, known};
use body::Body;
use chromaflow_flow::grid::is_plot3d;
use chromaflow_flow::mesh::{self, Marker, Mesh, Planar, ReadOptions};
use chromaflow_flow::turbulence::{plate_friction, plate_reynolds};
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};
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
    /// Mach number of the free stream [default: 0.5; 0.2 for bluff bodies]
    #[arg(long, value_parser = positive)]
    mach: Option<f64>,
    /// Reynolds number on the length that is found, of viscous flow: laminar below 100,000, unless --equations says more
    #[arg(long, value_name = "RE", value_parser = positive)]
    reynolds: Option<f64>,
    /// Turbulence model, for rans
    #[arg(long, value_name = "NAME", value_parser = model_named)]
    model: Option<ModelName>,
    /// Write over a case file that is there
    #[arg(long)]
    force: bool,
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value: &f64| *value > 0.0 && value.is_finite());
    value.ok_or_else(|| "expected a positive number".to_owned())
}

/// A model by its word in case files.
fn model_named(text: &str) -> Result<ModelName, String> {
    ModelName::deserialize(StrDeserializer::<Error>::new(text)).map_err(|e| e.to_string())
}

/// Reynolds number below which a flow that one is asked for is laminar.
const LAMINAR: f64 = 1e5;

impl Args {
    /// The equations that options ask for, where these are not what is `found`.
    fn equations(&self, found: &'static str) -> CliResult<&str> {
        match (self.equations.as_deref(), self.model, self.reynolds) {
            (Some(given @ ("euler" | "laminar")), Some(_), _) => {
                Err(CliError::input(format!("--model is for --equations rans, not {given}")))
            }
            (Some("euler"), None, Some(_)) => {
                Err(CliError::input("--reynolds is for --equations laminar and rans, not euler"))
            }
            (Some(given), ..) => Ok(given),
            (None, Some(_), _) => Ok("rans"),
            (None, None, Some(reynolds)) if found == "euler" => {
                Ok(if reynolds < LAMINAR { "laminar" } else { "rans" })
            }
            (None, None, _) => Ok(found),
        }
    }
}

/// What there is to say of a structured grid, whose case is one of a mesh.
const AS_GRID: &str = "the case takes the grid as a mesh; [grid] in the place of [mesh] keeps its blocks, and [incompressible] beside it in the place of [flow] \
                       makes the flow incompressible";

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
    let (mesh, mut notes) = mesh::read_with_notes(&path, &options)?;
    notes.extend(coincident(&mesh));
    if is_plot3d(&path) {
        notes.push(AS_GRID.to_owned());
    }
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
    let equations = args.equations(match (says_viscous, bluff) {
        (true, _) => "rans",
        (false, true) if mesh.markers.iter().any(|m| sticks(&m.name)) => "laminar",
        (false, false) if made_for.is_some() => "rans",
        (false, _) => "euler",
    })?;
    let (mach, reynolds) = stream(equations, bluff, made_for);
    let made_for = made_for.filter(|_| args.reynolds.is_none());
    let open = if equations == "euler" { inviscid } else { viscous };
    let facts = Facts {
        args,
        case: &case,
        path: &path,
        mesh: &mesh,
        open: &open,
        equations,
        mach: args.mach.unwrap_or(mach),
        reynolds: args.reynolds.unwrap_or(reynolds),
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
        let law = cells.as_ref().and_then(|cells| law_of_the_wall(cells, length, *reynolds));
        let model = args.model.map(|model| format!("model = {}\n", json!(model)));
        if law.is_some() || model.is_some() {
            let (why, law) = law.unwrap_or_default();
            let _ = write!(out, "\n{why}[turbulence]\n{}{law}", model.unwrap_or_default());
        }
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

/// Why a wall function is needed, and its line, where the first nodes stand too far off the walls to do without.
fn law_of_the_wall(cells: &WallCells, length: f64, reynolds: f64) -> Option<(String, &'static str)> {
    let y_plus = cells.height / one_wall_unit(length, reynolds);
    (y_plus >= UNRESOLVED).then(|| {
        let why = format!(
            "# The first nodes stand at y+ {y_plus:.0} or so: a law of the wall for what lies below them.\n"
        );
        (why, "walls = \"automatic\"\n")
    })
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
