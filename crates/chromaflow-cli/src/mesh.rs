//! `chromaflow mesh`: look at, convert, refine, check or make meshes.

use crate::context::{Context, ensure_writable};
use crate::error::{CliError, CliResult, Done};
use chromaflow_flow::mesh::{
    self, Defect, Format, Info, Kind, Loaded, Mesh, MeshError, Range, ReadOptions, Report,
    generate::{Airfoil, Cells, Channel, Cylinder, FlatPlate, box_mesh},
};
use clap::ValueEnum;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `chromaflow mesh`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Counts, quality, markers, neighbors per node
    Info {
        #[command(flatten)]
        input: Input,
    },
    /// Find negative volumes, unmatched faces, unused nodes and the like; exit status 2 if there are any
    Check {
        #[command(flatten)]
        input: Input,
    },
    /// Write a mesh in another format, which the name tells
    Convert {
        #[command(flatten)]
        input: Input,
        /// File to write (.su2, .ugrid, .b8.ugrid, .lb8.ugrid, .msh, .vtu)
        output: PathBuf,
        /// Version and form of a .msh file [default: msh41]
        #[arg(long, value_enum)]
        msh: Option<Msh>,
    },
    /// Split every element into eight (a pyramid into ten)
    Refine {
        #[command(flatten)]
        input: Input,
        /// File to write
        output: PathBuf,
        /// How many times
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
    /// Make the mesh of a simple shape
    Generate {
        /// Which shape
        #[arg(value_enum)]
        shape: Shape,
        /// File to write
        output: PathBuf,
        /// Cells along each axis (box: 3 numbers; plate: before it, on it, away from it; others: along, away)
        #[arg(long, value_delimiter = ',', num_args = 1)]
        cells: Vec<usize>,
        /// Displace inner nodes of a box by up to this part of a cell
        #[arg(long, default_value_t = 0.0)]
        jitter: f64,
    },
}

/// A mesh to read.
#[derive(clap::Args)]
struct Input {
    /// Mesh file (.su2, .ugrid, .b8.ugrid, .lb8.ugrid, .msh, .meshb; .gz, .xz, .zst of these)
    mesh: PathBuf,
    /// Names and codes of numbered markers, where the file beside the mesh has another name
    #[arg(long, value_name = "FILE")]
    mapbc: Option<PathBuf>,
    /// Thickness of the layer that a two-dimensional mesh becomes [default: 1]
    #[arg(long)]
    depth: Option<f64>,
    /// Drop nodes that no element has
    #[arg(long)]
    drop_unused: bool,
    /// Accept elements that are folded over their neighbors
    #[arg(long)]
    allow_tangled: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Msh {
    /// Version 2.2, text
    Msh22,
    /// Version 2.2, binary
    Msh22Binary,
    /// Version 4.1, text
    Msh41,
    /// Version 4.1, binary
    Msh41Binary,
}

impl Msh {
    fn format(self) -> Format {
        let legacy = matches!(self, Self::Msh22 | Self::Msh22Binary);
        Format::Gmsh { legacy, binary: matches!(self, Self::Msh22Binary | Self::Msh41Binary) }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Shape {
    /// Unit cube of hexahedra
    BoxHexes,
    /// Unit cube of prisms
    BoxPrisms,
    /// Unit cube of tetrahedra
    BoxTets,
    /// Unit cube of all four types
    BoxMixed,
    /// Channel with a bump on its floor
    Channel,
    /// Flat plate with cells graded to it
    Plate,
    /// Circle in a round far field
    Cylinder,
    /// NACA 0012 in a round far field
    Airfoil,
}

/// Runs one mesh command.
///
/// # Errors
/// Bad input or an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    match &args.command {
        Command::Info { input } => {
            let loaded = input.sound()?;
            let info = mesh::info(&loaded.mesh);
            if ctx.verbose() {
                print_info(&loaded, &info);
            }
            ctx.write_json(&json_info(&loaded, &info))?;
            Ok(Done::Success)
        }
        Command::Check { input } => check(input, ctx),
        Command::Convert { input, output, msh } => {
            ensure_writable(output)?;
            let loaded = input.sound()?;
            if let Some(msh) = msh {
                let format = msh.format();
                if Format::of(output).map_err(cli)? != (Format::Gmsh { legacy: false, binary: false }) {
                    return Err(CliError::input(format!(
                        "--msh is for .msh files, not {}",
                        output.display()
                    )));
                }
                mesh::write_as(output, &loaded.mesh, format).map_err(cli)?;
                return said(output, &loaded.mesh, ctx);
            }
            save(output, &loaded.mesh, ctx)
        }
        Command::Refine { input, output, times } => {
            ensure_writable(output)?;
            let mut mesh = input.sound()?.mesh;
            for _ in 0..*times {
                mesh = mesh::refine(&mesh).map_err(|e| CliError::input(e.to_string()))?;
            }
            save(output, &mesh, ctx)
        }
        Command::Generate { shape, output, cells, jitter } => {
            ensure_writable(output)?;
            save(output, &generate(*shape, cells, *jitter)?, ctx)
        }
    }
}

impl Input {
    fn load(&self) -> Result<Loaded, MeshError> {
        let options = ReadOptions {
            format: None,
            mapbc: self.mapbc.clone(),
            depth: self.depth,
            drop_unused: self.drop_unused,
            allow_tangled: self.allow_tangled,
        };
        mesh::load(&self.mesh, &options)
    }

    /// A mesh without errors.
    fn sound(&self) -> CliResult<Loaded> {
        let loaded = self.load().map_err(cli)?;
        if loaded.report.errors() > 0 {
            return Err(CliError::input(format!("{}: {}", self.mesh.display(), loaded.report)));
        }
        Ok(loaded)
    }
}

fn cli(error: MeshError) -> CliError {
    match error {
        MeshError::File(e) => e.into(),
        other => CliError::input(other.to_string()),
    }
}

fn check(input: &Input, ctx: &Context) -> CliResult {
    let (report, notes) = match input.load() {
        Ok(loaded) => (loaded.report, loaded.notes),
        Err(MeshError::Broken { report, .. }) => (*report, Vec::new()),
        Err(e) => return Err(cli(e)),
    };
    ctx.write_json(&json!({
        "mesh": input.mesh, "errors": report.errors(), "warnings": report.warnings(),
        "findings": json_report(&report), "notes": notes,
    }))?;
    if report.errors() > 0 {
        return Err(CliError::input(format!("{}: {report}", input.mesh.display())));
    }
    if ctx.verbose() {
        println!("{}: {report}", input.mesh.display());
        for n in &notes {
            println!("note: {n}");
        }
    }
    Ok(Done::Success)
}

fn save(output: &Path, mesh: &Mesh, ctx: &Context) -> CliResult {
    mesh::write(output, mesh).map_err(cli)?;
    said(output, mesh, ctx)
}

/// Says what was written.
fn said(output: &Path, mesh: &Mesh, ctx: &Context) -> CliResult {
    let nodes = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
    let elements = mesh.elements();
    if ctx.verbose() {
        println!("{}: {nodes} nodes, {elements} elements, {} markers", output.display(), mesh.markers.len());
    }
    ctx.write_json(&json!({ "mesh": output, "nodes": mesh.nodes.len(), "elements": elements }))?;
    Ok(Done::Success)
}

fn generate(shape: Shape, cells: &[usize], jitter: f64) -> CliResult<Mesh> {
    let defaults: &[usize] = match shape {
        Shape::BoxHexes | Shape::BoxPrisms | Shape::BoxTets | Shape::BoxMixed => &[8, 8, 8],
        Shape::Plate => &[20, 44, 64],
        Shape::Channel => &[96, 32],
        Shape::Cylinder | Shape::Airfoil => &[128, 48],
    };
    let cells = if cells.is_empty() { defaults } else { cells };
    if cells.len() != defaults.len() || cells.contains(&0) {
        let what = format!("--cells takes {} positive numbers with commas here", defaults.len());
        return Err(CliError::input(what));
    }
    let nodes = cells.iter().try_fold(4usize, |n, c| n.checked_mul(c + 1));
    if nodes.is_none_or(|n| n > u32::MAX as usize) || !(0.0..0.5).contains(&jitter) {
        return Err(CliError::input("--cells gives too many nodes, or --jitter is not in 0 ... 0.5"));
    }
    let cube = |kind| box_mesh([cells[0], cells[1], cells[2]], [1.0; 3], kind, jitter);
    let plane = || [cells[0], cells[1]];
    Ok(match shape {
        Shape::BoxHexes => cube(Cells::Hexes),
        Shape::BoxPrisms => cube(Cells::Prisms),
        Shape::BoxTets => cube(Cells::Tets),
        Shape::BoxMixed => cube(Cells::Mixed),
        Shape::Channel => Channel { cells: plane(), thickness: 0.1, triangles: false }.mesh(),
        Shape::Plate => {
            FlatPlate { cells: [cells[0], cells[1], cells[2]], height: 2.0, growth: 1.125 }.mesh()
        }
        Shape::Cylinder => Cylinder { cells: plane(), radius: 20.0, growth: 1.1, triangles: false }.mesh(),
        Shape::Airfoil => Airfoil { cells: plane(), radius: 20.0, growth: 1.15, triangles: false }.mesh(),
    })
}

fn print_info(loaded: &Loaded, info: &Info) {
    println!("format     {}", loaded.format);
    match loaded.mesh.planar {
        Some(planar) => {
            println!("nodes      {} in the plane (one layer: {} in all)", planar.nodes_2d, info.nodes);
        }
        None => println!("nodes      {}", info.nodes),
    }
    println!("edges      {}", info.edges);
    let n = info.neighbors;
    println!("neighbors  {} ... {}, {:.2} on average", n.min, n.max, n.mean);
    let [a, b] = info.bounds;
    println!("bounds     {:.6} {:.6} {:.6} ... {:.6} {:.6} {:.6}", a[0], a[1], a[2], b[0], b[1], b[2]);
    println!("volume     {:.12e}", info.volume);
    if let Some(warp) = info.warp {
        println!("warp       {warp:.3} degrees at most between the halves of a quadrilateral");
    }
    println!(
        "\n{:<12} {:>9}  {:>22}  {:>16}  {:>20}",
        "elements", "count", "volume", "scaled Jacobian", "aspect ratio"
    );
    for k in &info.kinds {
        let (v, j, a) = (k.volume, k.scaled_jacobian, k.aspect_ratio);
        println!(
            "{:<12} {:>9}  {:>9.3e} ... {:>9.3e}  {:>6.3}, mean {:>5.3}  {:>9.3e}, mean {:>6.1}",
            k.kind.to_string(),
            k.count,
            v.min,
            v.max,
            j.min,
            j.mean,
            a.max,
            a.mean
        );
    }
    println!("\n{:<24} {:>9} {:>9} {:>14} {:>6}", "marker", "triangles", "quads", "area", "code");
    for m in &info.markers {
        let code = m.code.map_or_else(String::new, |c| c.to_string());
        println!("{:<24} {:>9} {:>9} {:>14.6e} {code:>6}", m.name, m.triangles, m.quads, m.area);
    }
    let (elements, faces) = (loaded.flipped.elements.iter().sum::<usize>(), loaded.flipped.faces);
    let counts = [(elements, "elements"), (faces, "boundary faces")];
    let turned: Vec<String> =
        counts.iter().filter(|c| c.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !turned.is_empty() {
        println!("\n{} stood the other way round and were turned over", turned.join(" and "));
    }
    for n in &loaded.notes {
        println!("note: {n}");
    }
}

fn json_info(loaded: &Loaded, info: &Info) -> Value {
    let range = |r: Range| json!({ "min": r.min, "mean": r.mean, "max": r.max });
    let flipped: Vec<_> =
        Kind::ALL.iter().zip(loaded.flipped.elements).map(|(k, n)| (k.to_string(), n)).collect();
    json!({
        "format": loaded.format.to_string(),
        "nodes": info.nodes,
        "edges": info.edges,
        "neighbors": range(info.neighbors),
        "bounds": info.bounds,
        "volume": info.volume,
        "warp_degrees": info.warp,
        "elements": info.kinds.iter().map(|k| json!({
            "kind": k.kind.to_string(), "count": k.count, "volume": range(k.volume),
            "scaled_jacobian": range(k.scaled_jacobian), "aspect_ratio": range(k.aspect_ratio),
        })).collect::<Vec<_>>(),
        "markers": info.markers.iter().map(|m| json!({
            "name": m.name, "code": m.code, "triangles": m.triangles, "quads": m.quads, "area": m.area,
        })).collect::<Vec<_>>(),
        "flipped": { "elements": flipped.into_iter().collect::<std::collections::BTreeMap<_, _>>(),
                     "faces": loaded.flipped.faces },
        "two_dimensional": loaded.mesh.planar.is_some(),
        "notes": loaded.notes,
    })
}

fn json_report(report: &Report) -> Value {
    let of = |&d: &Defect| {
        let first: Vec<_> =
            report.findings.iter().filter(|f| f.defect == d).map(ToString::to_string).collect();
        json!({ "defect": d.name(), "count": report.count(d), "first": first })
    };
    Defect::ALL.iter().filter(|&&d| report.count(d) > 0).map(of).collect()
}
