//! `chromaflow mesh`: look at, convert, refine, check or make meshes.

mod generate;
mod partition;
mod report;
mod structured;
mod transform;

use crate::case::guess::says;
use crate::context::{Context, ensure_writable};
use crate::error::{CliError, CliResult, Done};
use chromaflow_flow::grid::is_plot3d;
use chromaflow_flow::mesh::periodic::{merge, pairs_of};
use chromaflow_flow::mesh::{self, Format, Loaded, Mesh, MeshError, ReadOptions, vtk};
use clap::ValueEnum;
use report::{json_info, json_report, print_info};
use serde_json::json;
use std::num::NonZeroU32;
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
    /// Find negative volumes, unmatched faces, unused nodes and the like; exit status 2 if there are any. Warns of folded elements
    Check {
        #[command(flatten)]
        input: Input,
    },
    /// Write a mesh in another format, which the name tells
    Convert {
        #[command(flatten)]
        input: Input,
        /// File to write (.su2, .ugrid, .b8.ugrid, .lb8.ugrid, .msh, .meshb, .cgns, .vtu, .vtkhdf); structured grids stay blocks in
        /// .cgns and PLOT3D (.p3d, .xyz, ...)
        output: PathBuf,
        /// Version and form of a .msh file [default: msh41]
        #[arg(long, value_enum)]
        msh: Option<Msh>,
    },
    /// Split every element into eight (a pyramid into ten); curved walls stay the polygons that they were
    Refine {
        #[command(flatten)]
        input: Input,
        /// File to write
        output: PathBuf,
        /// How many times
        #[arg(long, default_value_t = 1)]
        times: u32,
    },
    /// Find which faces of a PLOT3D grid's blocks meet, and write the neutral map
    Nmf {
        /// PLOT3D grid
        grid: PathBuf,
        /// File to write [default: the grid's name with .nmf]
        output: Option<PathBuf>,
    },
    /// Mirror, scale, rotate and move a mesh or a PLOT3D grid, in this order
    Transform {
        #[command(flatten)]
        input: Input,
        /// File to write
        output: PathBuf,
        #[command(flatten)]
        steps: transform::Steps,
    },
    /// Write the surface of markers
    Extract {
        #[command(flatten)]
        input: Input,
        /// File to write (.stl, .vtu)
        output: PathBuf,
        /// Markers [default: all but planes of symmetry and far fields by their names]
        #[arg(long, value_delimiter = ',')]
        markers: Vec<String>,
    },
    /// Show how `run --ranks N` would divide a mesh
    Partition {
        #[command(flatten)]
        input: Input,
        /// Number of ranks
        #[arg(long, value_name = "N")]
        ranks: NonZeroU32,
        /// Between lines of rows, as viscous flow on stretched hexahedra is divided, rather than anywhere
        #[arg(long)]
        lines: bool,
        /// File to write with the rank of every node (.vtu)
        output: Option<PathBuf>,
    },
    /// Make the mesh of a simple shape
    Generate(generate::Request),
}

/// A mesh to read.
#[derive(clap::Args)]
struct Input {
    /// Mesh file (.su2, .ugrid, .b8.ugrid, .lb8.ugrid, .msh, .meshb, .mesh, .cgns, .vtu, .pvtu; PLOT3D: .p3d, .xyz, .g, .p3dfmt; .gz, .xz, .zst of these)
    mesh: PathBuf,
    /// Neutral map of a PLOT3D grid [default: the .nmf file beside it, else found from the points]
    #[arg(long, value_name = "FILE")]
    map: Option<PathBuf>,
    /// Names and codes of numbered markers, where the file beside the mesh has another name
    #[arg(long, value_name = "FILE")]
    mapbc: Option<PathBuf>,
    /// Thickness of the layer that a two-dimensional mesh becomes [default: 1]
    #[arg(long)]
    depth: Option<f64>,
    /// Drop nodes that no element has
    #[arg(long)]
    drop_unused: bool,
    /// Make one node of those at one place: joins blocks that were written side by side
    #[arg(long)]
    merge: bool,
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

/// Runs one mesh command.
///
/// # Errors
/// Bad input or an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    match &args.command {
        Command::Info { input } if is_plot3d(&input.mesh) => structured::info(input, ctx),
        Command::Info { input } => {
            let mut loaded = input.sound()?;
            loaded.notes = notes_of(&loaded);
            let info = mesh::info(&loaded.mesh);
            if ctx.verbose() {
                print_info(&loaded, &info);
            }
            ctx.write_json(&json_info(&loaded, &info))?;
            Ok(Done::Success)
        }
        Command::Check { input } if is_plot3d(&input.mesh) => structured::check(input, ctx),
        Command::Check { input } => check(input, ctx),
        Command::Convert { input, output, msh } => {
            ensure_writable(output)?;
            if structured::keeps_blocks(input, output)? {
                return structured::convert(input, output, ctx);
            }
            let mesh = input.mesh()?;
            if let Some(msh) = msh {
                let format = msh.format();
                if Format::of(output).map_err(cli)? != (Format::Gmsh { legacy: false, binary: false }) {
                    return Err(CliError::input(format!(
                        "--msh is for .msh files, not {}",
                        output.display()
                    )));
                }
                mesh::write_as(output, &mesh, format).map_err(cli)?;
                return said(output, &mesh, ctx);
            }
            save(output, &mesh, ctx)
        }
        Command::Refine { input, output, times } => {
            ensure_writable(output)?;
            let mut mesh = input.mesh()?;
            for _ in 0..*times {
                mesh = mesh::refine(&mesh).map_err(|e| CliError::input(e.to_string()))?;
            }
            if ctx.verbose() && *times > 0 {
                eprintln!("note: {STRAIGHT}");
            }
            save(output, &mesh, ctx)
        }
        Command::Nmf { grid, output } => structured::nmf(grid, output.as_deref(), ctx),
        Command::Transform { input, output, steps } => {
            ensure_writable(output)?;
            let map = steps.map()?;
            if is_plot3d(&input.mesh) {
                return structured::transform(&input.mesh, output, &map, ctx);
            }
            let mut mesh = input.mesh()?;
            mesh.transform(&map).map_err(cli)?;
            save(output, &mesh, ctx)
        }
        Command::Extract { input, output, markers } => extract(input, output, markers, ctx),
        Command::Partition { input, ranks, lines, output } => {
            output.as_deref().map_or(Ok(()), ensure_writable)?;
            partition::partition(&input.mesh()?, (*ranks, *lines), output.as_deref(), ctx)
        }
        Command::Generate(request) => {
            ensure_writable(&request.output)?;
            save(&request.output, &request.mesh()?, ctx)
        }
    }
}

/// Parts of a mesh that are named.
const PARTS: usize = 4;

/// What is said of uniform refinement.
pub const STRAIGHT: &str = "new nodes lie amid the old ones: curved walls stay the polygons that they were";

/// Notes of a file, and whether its mesh without errors is in parts, which only those ask who look at it.
fn notes_of(loaded: &Loaded) -> Vec<String> {
    let mut notes = loaded.notes.clone();
    if loaded.report.errors() == 0 {
        notes.extend(in_parts(&loaded.mesh));
    }
    notes
}

/// Says of a mesh that it is in parts.
pub fn in_parts(mesh: &Mesh) -> Option<String> {
    let parts = mesh.parts();
    let of = |(count, [x, y, z]): &(usize, [f64; 3])| format!("{count} elements about {x:.4} {y:.4} {z:.4}");
    let all: Vec<String> = parts.iter().take(PARTS).map(of).collect();
    let more = if parts.len() > PARTS { " and others" } else { "" };
    (parts.len() > 1).then(|| {
        let number = parts.len();
        format!(
            "the mesh is in {number} parts that share no node, between which nothing flows: {}{more}",
            all.join(", ")
        )
    })
}

impl Input {
    fn load(&self) -> Result<Loaded, MeshError> {
        let options = ReadOptions {
            format: None,
            mapbc: self.mapbc.clone(),
            depth: self.depth,
            drop_unused: self.drop_unused,
            merge: self.merge,
            allow_tangled: self.allow_tangled,
            threads: 0,
        };
        mesh::load(&self.mesh, &options)
    }

    /// A mesh without errors; a structured grid becomes one.
    fn mesh(&self) -> CliResult<Mesh> {
        if is_plot3d(&self.mesh) {
            let grid = structured::load(self)?;
            return grid
                .to_connected_mesh()
                .map_err(|e| CliError::input(format!("{}: {e}", self.mesh.display())));
        }
        Ok(self.sound()?.mesh)
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
    let (report, notes, pairs) = match input.load() {
        Ok(loaded) => {
            let pairs = pairs_of(&loaded.mesh);
            if loaded.report.errors() == 0 && !pairs.is_empty() {
                merge(&loaded.mesh, &pairs)
                    .map_err(|e| CliError::input(format!("{}: {e}", input.mesh.display())))?;
            }
            let notes = notes_of(&loaded);
            let mut report = loaded.report;
            if report.errors() == 0 {
                mesh::find_folded(&mut report, &loaded.mesh, Some(&loaded.places), 0);
            }
            (report, notes, pairs)
        }
        Err(MeshError::Broken { report, .. }) => (*report, Vec::new(), Vec::new()),
        Err(e) => return Err(cli(e)),
    };
    ctx.write_json(&json!({
        "mesh": input.mesh, "errors": report.errors(), "warnings": report.warnings(),
        "findings": json_report(&report), "notes": notes, "periodic": pairs,
    }))?;
    if report.errors() > 0 {
        return Err(CliError::input(format!("{}: {report}", input.mesh.display())));
    }
    if ctx.verbose() {
        println!("{}: {report}", input.mesh.display());
        for [one, other] in &pairs {
            println!("periodic: `{one}` and `{other}` match");
        }
        for n in &notes {
            println!("note: {n}");
        }
    }
    Ok(Done::Success)
}

fn extract(input: &Input, output: &Path, markers: &[String], ctx: &Context) -> CliResult {
    let ending = output.extension().map(|e| e.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    if !["stl", "vtu"].contains(&ending.as_str()) {
        return Err(CliError::input(format!(
            "a surface is written as .stl or .vtu, not {}",
            output.display()
        )));
    }
    ensure_writable(output)?;
    let mesh = input.mesh()?;
    let outer = |name: &str| says(name, &["sym", "symmetry", "far", "farfield", "inlet", "outlet"]);
    let mut names = markers.to_vec();
    if names.is_empty() {
        names.extend(mesh.markers.iter().map(|m| m.name.clone()).filter(|name| !outer(name)));
    }
    let surface = mesh.surface(&names).map_err(cli)?;
    if ending == "stl" {
        mesh::write_stl(output, &surface).map_err(cli)?;
    } else {
        vtk::write_surface(output, &surface, &[], vtk::VtuOptions::default())?;
    }
    let faces = surface.boundary_faces();
    if ctx.verbose() {
        println!("{}: {faces} faces of {}", output.display(), names.join(", "));
    }
    ctx.write_json(&json!({ "surface": output, "faces": faces, "markers": names }))?;
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
