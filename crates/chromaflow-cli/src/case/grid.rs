//! `[grid]`: structured grids, from files or built in.

use super::{Source, config};
use crate::error::{CliError, CliResult};
use chromaflow_flow::grid::generate::{
    Airfoil, AirfoilC, BoxGrid, Cavity, Channel, ChannelCylinder, Cylinder, FlatPlate, HalfChannel,
    SmoothChannel,
};
use chromaflow_flow::grid::{Grid, Plot3dOptions, read};
use chromaflow_flow::mesh::{Format, cgns};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A grid of blocks of hexahedra in the place of a mesh: a PLOT3D file with its neutral map file, or a built-in one. Cases
/// that name one are solved by approximate factorization (see `[structured]`), or as incompressible flow where they have
/// `[incompressible]`. The compressible ones have no `[mesh]`, `[numerics]` or `[linear]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct GridSection {
    /// PLOT3D file of the points (.xyz, .g, .p3dfmt and others, plain or compressed), or a CGNS file of structured zones, which needs
    /// no map; found as mesh files are.
    pub file: PathBuf,
    /// Neutral map file that says what is boundary and which blocks meet; its types of boundary are the markers. Empty: the
    /// name of the points with .nmf at its end.
    pub nmf: PathBuf,
    /// A built-in grid in the place of the files, for example `{ kind = "channel", cells = [96, 32], thickness = 0.1 }`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generate: Option<Generate>,
    /// Pairs of markers that are joined, each one side of a block: what leaves through one comes in through the other. One side is the other
    /// moved by a translation or, where none does it, turned about an axis: both are found from the points.
    pub periodic: Vec<[String; 2]>,
    /// Cuts of blocks in two, one after another: block, axis (0 to 2), node. Ranks compute whole blocks.
    pub split: Vec<[usize; 3]>,
}

/// A built-in grid.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, tag = "kind", rename_all = "snake_case")]
pub enum Generate {
    /// Ni's channel with a circular arc: `inlet`, `outlet`, `lower`, `upper`.
    Channel {
        /// Cells along and across.
        cells: [usize; 2],
        /// Height of the arc.
        thickness: f64,
    },
    /// A channel with a smooth bump: `inlet`, `outlet`, `lower`, `upper`.
    SmoothChannel {
        /// Cells along and across.
        cells: [usize; 2],
    },
    /// A plate of length 1 behind half a length of symmetry: `inlet`, `outlet`, `symmetry`, `wall`, `top`.
    FlatPlate {
        /// Cells before the plate, on it, away from it.
        cells: [usize; 3],
        /// Height of the domain.
        height: f64,
        /// Ratio of neighboring cell heights.
        growth: f64,
    },
    /// A ring around a circle of diameter 1: `cylinder`, `farfield`.
    Cylinder {
        /// Cells around and away.
        cells: [usize; 2],
        /// Radius of the outer boundary.
        radius: f64,
        /// Ratio of neighboring cell heights.
        growth: f64,
    },
    /// An O-grid around the NACA 0012: `airfoil`, `farfield`.
    AirfoilO {
        /// Cells around and away.
        cells: [usize; 2],
        /// Radius of the outer boundary, in chords.
        radius: f64,
        /// Ratio of neighboring cell heights.
        growth: f64,
    },
    /// A C-grid around the NACA 0012: `airfoil`, `farfield`.
    AirfoilC {
        /// Cells on one side of the wake, around the airfoil, away.
        cells: [usize; 3],
        /// Distance of the outer boundary, in chords.
        radius: f64,
        /// Ratio of neighboring cell heights.
        growth: f64,
    },
    /// The DFG benchmark's channel with a cylinder: `cylinder`, `inlet`, `outlet`, `wall`.
    ChannelCylinder {
        /// Cells around the cylinder (a multiple of four), away from it, along the channel behind it.
        cells: [usize; 3],
        /// Ratio of neighboring cell heights.
        growth: f64,
    },
    /// The lower half of a plane channel: `inlet`, `outlet`, `wall`, `middle`.
    HalfChannel {
        /// Cells along and across.
        cells: [usize; 2],
        /// Length, and half the distance of the walls.
        size: [f64; 2],
        /// Ratio of neighboring cell heights.
        growth: f64,
    },
    /// A square cavity: `wall` (three sides), `lid`.
    Cavity {
        /// Cells along x and y.
        cells: [usize; 2],
        /// How strongly points are drawn to the walls.
        #[serde(default)]
        clustering: f64,
    },
    /// A box: `xmin`, `xmax`, `ymin`, `ymax`, `zmin`, `zmax`.
    Box {
        /// Cells along x, y, z.
        cells: [usize; 3],
        /// Lengths.
        size: [f64; 3],
        /// Displacement of the points inside over the lengths.
        #[serde(default)]
        wave: f64,
    },
}

impl GridSection {
    /// Whether the case is one of a structured grid.
    pub fn is_used(&self) -> bool {
        self.generate.is_some() || !self.file.as_os_str().is_empty()
    }

    /// Reads or makes the grid.
    ///
    /// # Errors
    /// Status 2 with the key or the place in the file that is wrong.
    pub fn load(&self, source: &Source) -> CliResult<Grid> {
        let mut grid = match (self.file.as_os_str().is_empty(), self.generate) {
            (true, Some(generate)) => {
                generate.check().map_err(|what| source.error(&["grid", "generate"], &what))?;
                generate.grid()
            }
            (false, None) => self.read(source)?,
            _ => return Err(source.error(&["grid"], "expected either `file` or `generate`")),
        };
        for [low, high] in &self.periodic {
            grid =
                grid.periodic(low, high).map_err(|e| source.error(&["grid", "periodic"], &e.to_string()))?;
        }
        for &[block, axis, node] in &self.split {
            grid = grid
                .split(block, axis, node)
                .map_err(|e| source.error(&["grid", "split"], &e.to_string()))?;
        }
        grid.check().map_err(|e| source.error(&["grid"], &e.to_string()))?;
        Ok(grid)
    }

    fn read(&self, source: &Source) -> CliResult<Grid> {
        let points = config::find(source, ["grid", "file"], &self.file)?;
        if is_cgns(&points) {
            return Ok(cgns::read_grid(&points)?);
        }
        let map = if self.nmf.as_os_str().is_empty() {
            chromaflow::files::without_compression(&self.file).with_extension("nmf")
        } else {
            self.nmf.clone()
        };
        let map = config::find(source, ["grid", "nmf"], &map).map_err(|e| {
            let remedy = format!(
                "it lists boundaries and interfaces: `chromaflow mesh nmf {}` makes it of the points; set `nmf` if it has another name",
                points.display()
            );
            if self.nmf.as_os_str().is_empty() { CliError::input(format!("{e}; {remedy}")) } else { e }
        })?;
        Ok(read(&points, &map, &Plot3dOptions::default())?)
    }
}

/// Whether a name is that of a CGNS file.
fn is_cgns(path: &Path) -> bool {
    matches!(Format::of(path), Ok(Format::Cgns))
}

impl Generate {
    /// Cells and sizes that make a grid.
    fn check(self) -> Result<(), String> {
        // Name, value, least, most.
        type Number = (&'static str, f64, f64, f64);
        const ANY: f64 = f64::MAX;
        let (cells, numbers): (Vec<usize>, Vec<Number>) = match self {
            Self::Channel { cells, thickness } => (cells.into(), vec![("thickness", thickness, 1e-6, ANY)]),
            Self::SmoothChannel { cells } => (cells.into(), vec![]),
            Self::FlatPlate { cells, height, growth } => {
                (cells.into(), vec![("height", height, 1e-6, ANY), ("growth", growth, 1.0, ANY)])
            }
            // The circle's own radius is one half.
            Self::Cylinder { cells, radius, growth } => {
                (cells.into(), vec![("radius", radius, 0.5 + 1e-6, ANY), ("growth", growth, 1.0, ANY)])
            }
            Self::AirfoilO { cells, radius, growth } => {
                (cells.into(), vec![("radius", radius, 1.0, ANY), ("growth", growth, 1.0, ANY)])
            }
            Self::AirfoilC { cells, radius, growth } => {
                (cells.into(), vec![("radius", radius, 1.0, ANY), ("growth", growth, 1.0, ANY)])
            }
            Self::ChannelCylinder { cells, growth } => {
                if cells[0] % 4 != 0 {
                    return Err(format!(
                        "{} cells around the cylinder: expected a multiple of four",
                        cells[0]
                    ));
                }
                (cells.into(), vec![("growth", growth, 1.0, ANY)])
            }
            Self::HalfChannel { cells, size, growth } => {
                let sizes = size.map(|s| ("size", s, 1e-12, ANY));
                (cells.into(), sizes.into_iter().chain([("growth", growth, 1.0, ANY)]).collect())
            }
            Self::Cavity { cells, clustering } => (cells.into(), vec![("clustering", clustering, 0.0, ANY)]),
            Self::Box { cells, size, wave } => {
                let mut numbers: Vec<_> = size.iter().map(|&s| ("size", s, 1e-12, ANY)).collect();
                // Larger waves fold cells over.
                numbers.push(("wave", wave, 0.0, 0.08));
                (cells.into(), numbers)
            }
        };
        if let Some(n) = cells.iter().find(|n| !(1..=1 << 16).contains(*n)) {
            return Err(format!("`cells` has {n}: expected one or more along each axis, 65536 at most"));
        }
        if cells.iter().product::<usize>() > 1 << 31 {
            return Err(format!("{cells:?} cells: expected a grid of at most 2^31"));
        }
        match numbers.iter().find(|(_, value, least, most)| !(least..=most).contains(&value)) {
            Some((name, value, least, ANY)) => Err(format!("`{name}` is {value}: expected {least} or more")),
            Some((name, value, least, most)) => {
                Err(format!("`{name}` is {value}: expected {least} to {most}"))
            }
            None => Ok(()),
        }
    }

    fn grid(self) -> Grid {
        let triangles = false;
        match self {
            Self::Channel { cells, thickness } => Channel { cells, thickness, triangles }.grid(),
            Self::SmoothChannel { cells } => SmoothChannel { cells }.grid(),
            Self::FlatPlate { cells, height, growth } => FlatPlate { cells, height, growth }.grid(),
            Self::Cylinder { cells, radius, growth } => Cylinder { cells, radius, growth, triangles }.grid(),
            Self::AirfoilO { cells, radius, growth } => Airfoil { cells, radius, growth, triangles }.grid(),
            Self::AirfoilC { cells, radius, growth } => AirfoilC { cells, radius, growth }.grid(),
            Self::ChannelCylinder { cells, growth } => ChannelCylinder { cells, growth }.grid(),
            Self::HalfChannel { cells, size, growth } => HalfChannel { cells, size, growth }.grid(),
            Self::Cavity { cells, clustering } => Cavity { cells, clustering }.grid(),
            Self::Box { cells, size, wave } => BoxGrid { cells, size, wave }.grid(),
        }
    }
}
