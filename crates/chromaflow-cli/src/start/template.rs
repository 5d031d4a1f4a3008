//! `chromaflow template`: a folder with a mesh and a case that can be run.

use super::{refuse_old, write_new};
use crate::context::Context;
use crate::error::{CliError, CliResult, Done};
use chromaflow_flow::mesh::generate::{Airfoil, Cylinder, FlatPlate, Wing};
use chromaflow_flow::mesh::{self, Mesh};
use clap::ValueEnum;
use serde_json::json;
use std::path::PathBuf;

/// Arguments of `chromaflow template`.
#[derive(clap::Args)]
pub struct Args {
    /// Which one
    #[arg(value_enum)]
    template: Template,
    /// Folder to make [default: the template's name]
    folder: Option<PathBuf>,
    /// Write over files that are there
    #[arg(long)]
    force: bool,
}

/// A template.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Template {
    /// Transonic airfoil, inviscid
    Naca0012,
    /// Transonic swept wing, inviscid
    Wing,
    /// Cylinder at Reynolds number 40, laminar
    Cylinder,
    /// Flat plate, laminar
    FlatPlate,
}

impl Template {
    /// Its name on the command line.
    fn name(self) -> &'static str {
        match self {
            Self::Naca0012 => "naca0012",
            Self::Wing => "wing",
            Self::Cylinder => "cylinder",
            Self::FlatPlate => "flat-plate",
        }
    }

    fn case(self) -> &'static str {
        match self {
            Self::Naca0012 => include_str!("templates/naca0012.toml"),
            Self::Wing => include_str!("templates/wing.toml"),
            Self::Cylinder => include_str!("templates/cylinder.toml"),
            Self::FlatPlate => include_str!("templates/flat-plate.toml"),
        }
    }

    fn mesh(self) -> Mesh {
        match self {
            Self::Naca0012 => {
                Airfoil { cells: [128, 40], radius: 20.0, growth: 1.18, triangles: false }.mesh()
            }
            Self::Wing => Wing::default().mesh(),
            Self::Cylinder => {
                Cylinder { cells: [96, 56], radius: 40.0, growth: 1.1, triangles: false }.mesh()
            }
            Self::FlatPlate => FlatPlate { cells: [16, 40, 56], height: 0.5, growth: 1.12 }.mesh(),
        }
    }
}

/// Makes the folder.
///
/// # Errors
/// Status 2 where its files are there already; status 3 where they cannot be written.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let name = args.template.name();
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from(name));
    let (case, grid) = (folder.join("case.toml"), folder.join("mesh.su2"));
    [&case, &grid].into_iter().try_for_each(|path| refuse_old(path, args.force))?;
    std::fs::create_dir_all(&folder)
        .map_err(|e| CliError::environment(format!("cannot make the folder {}: {e}", folder.display())))?;
    let made = args.template.mesh();
    mesh::write(&grid, &made)?;
    write_new(&case, args.template.case(), args.force)?;
    let nodes = made.planar.map_or(made.nodes.len(), |planar| planar.nodes_2d);
    if ctx.verbose() {
        println!("{}: {nodes} nodes\n{}", grid.display(), case.display());
        println!("\n    cd {} && chromaflow run case.toml && chromaflow report out/case", folder.display());
    }
    ctx.write_json(&json!({ "template": name, "case": case, "mesh": grid, "nodes": nodes }))?;
    Ok(Done::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Case, Source};
    use crate::context::Backend;
    use std::path::Path;

    #[test]
    fn every_template_is_a_case_for_its_mesh() {
        for template in Template::value_variants() {
            let (source, case) =
                Case::of(Source::of_text(Path::new("case.toml"), template.case()), &[], Backend::Cpu)
                    .unwrap();
            let Case::Unstructured(case) = case else { panic!("{template:?} is a case of a mesh") };
            let mesh = template.mesh();
            assert_eq!(mesh::check(&mesh, None).errors(), 0, "{template:?}");
            let markers: Vec<_> =
                mesh.markers.iter().map(|m| (m.name.clone(), crate::run::known(m))).collect();
            case.config(&source, &markers, mesh.planar.is_some()).unwrap();
            assert_eq!(template.to_possible_value().unwrap().get_name(), template.name());
        }
    }

    #[test]
    fn the_wings_reference_values_are_its_own() {
        let (wing, text) = (Wing::default(), Template::Wing.case());
        assert!(text.contains(&format!("area = {:.5}", wing.area())), "{}", wing.area());
        assert!(text.contains(&format!("length = {:.5}", wing.mean_chord())), "{}", wing.mean_chord());
    }
}
