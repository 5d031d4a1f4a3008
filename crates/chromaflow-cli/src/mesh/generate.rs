//! `mesh generate`: shapes and their sizes.

use crate::error::{CliError, CliResult};
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::mesh::generate::{
    Airfoil, AirfoilC, AirfoilO, Cells, Channel, Cylinder, FlatPlate, Section, Sphere, Wing, box_mesh,
};
use clap::ValueEnum;
use std::path::PathBuf;

/// What to make.
#[derive(clap::Args)]
pub struct Request {
    /// Which shape
    #[arg(value_enum)]
    shape: Shape,
    /// File to write
    pub output: PathBuf,
    /// Cells along each axis (box: 3 numbers; plate: before it, on it, away from it; airfoil-c: wake, around, away; wing:
    /// around, away, along the span, beyond the tip; sphere: along a sixth, away; others: along, away)
    #[arg(long, value_delimiter = ',', num_args = 1)]
    cells: Vec<usize>,
    /// Displace inner nodes of a box by up to this part of a cell
    #[arg(long, default_value_t = 0.0)]
    jitter: f64,
    /// Four digits of an airfoil or a wing's section
    #[arg(long, value_name = "DIGITS", default_value = "0012")]
    naca: String,
    /// Radius of the far field, in chords or diameters [default: 20]
    #[arg(long)]
    radius: Option<f64>,
    /// Height of the first cells at the body (airfoil, airfoil-c, sphere)
    #[arg(long)]
    first: Option<f64>,
    /// Half span of a wing, in root chords [default: that of the ONERA M6, 1.476]
    #[arg(long)]
    span: Option<f64>,
    /// Tip chord of a wing over its root chord [default: 0.562]
    #[arg(long)]
    taper: Option<f64>,
    /// Sweep of a wing's leading edge, in degrees [default: 30]
    #[arg(long, allow_negative_numbers = true)]
    sweep: Option<f64>,
    /// Cut quadrilaterals into triangles (channel, cylinder, airfoil, airfoil-c)
    #[arg(long)]
    triangles: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
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
    /// NACA airfoil in a round far field
    Airfoil,
    /// NACA airfoil with a mesh that follows its wake
    AirfoilC,
    /// Swept tapered wing on a plane of symmetry
    Wing,
    /// Sphere in a round far field
    Sphere,
}

impl Request {
    /// The mesh.
    ///
    /// # Errors
    /// When sizes make no sense.
    pub fn mesh(&self) -> CliResult<Mesh> {
        let shape = self.shape;
        let defaults: &[usize] = match shape {
            Shape::BoxHexes | Shape::BoxPrisms | Shape::BoxTets | Shape::BoxMixed => &[8, 8, 8],
            Shape::Plate => &[20, 44, 64],
            Shape::Channel => &[96, 32],
            Shape::Cylinder | Shape::Airfoil => &[128, 48],
            Shape::AirfoilC => &[32, 128, 48],
            Shape::Wing => &[64, 20, 18, 8],
            Shape::Sphere => &[16, 40],
        };
        let cells = if self.cells.is_empty() { defaults } else { &self.cells };
        if cells.len() != defaults.len() || cells.contains(&0) {
            let what = format!("--cells takes {} positive numbers with commas here", defaults.len());
            return Err(CliError::input(what));
        }
        // Six squares make a sphere; a C-mesh has two wakes.
        let nodes = cells.iter().try_fold(12usize, |n, c| n.checked_mul(c + 1));
        if nodes.is_none_or(|n| n > u32::MAX as usize) || !(0.0..0.5).contains(&self.jitter) {
            return Err(CliError::input("--cells gives too many nodes, or --jitter is not in 0 ... 0.5"));
        }
        let radius = self.radius.unwrap_or(20.0);
        let (first, wake) = (self.first.unwrap_or(1e-3), matches!(shape, Shape::AirfoilC));
        if !(radius.is_finite() && radius > 2.0 && first > 0.0 && first < 0.1) {
            return Err(CliError::input("--radius must be above 2, and --first between 0 and 0.1"));
        }
        let around = cells[usize::from(wake)];
        if matches!(shape, Shape::Airfoil | Shape::AirfoilC | Shape::Wing) && (around < 4 || around % 2 > 0) {
            return Err(CliError::input(format!(
                "{around} cells around an airfoil: expected an even number, 4 or more"
            )));
        }
        let cut = [Shape::Channel, Shape::Cylinder, Shape::Airfoil, Shape::AirfoilC];
        if self.triangles && !cut.contains(&shape) {
            return Err(CliError::input(
                "--triangles cuts the quadrilaterals of channel, cylinder, airfoil and airfoil-c; a box of prisms is box-prisms, one of tetrahedra \
                 box-tets",
            ));
        }
        let section = Section::naca4(&self.naca).map_err(|e| CliError::input(e.to_string()))?;
        let cube = |kind| box_mesh([cells[0], cells[1], cells[2]], [1.0; 3], kind, self.jitter);
        let plane = || [cells[0], cells[1]];
        let triangles = self.triangles;
        Ok(match shape {
            Shape::BoxHexes => cube(Cells::Hexes),
            Shape::BoxPrisms => cube(Cells::Prisms),
            Shape::BoxTets => cube(Cells::Tets),
            Shape::BoxMixed => cube(Cells::Mixed),
            Shape::Channel => Channel { cells: plane(), thickness: 0.1, triangles }.mesh(),
            Shape::Plate => {
                FlatPlate { cells: [cells[0], cells[1], cells[2]], height: 2.0, growth: 1.125 }.mesh()
            }
            Shape::Cylinder => Cylinder { cells: plane(), radius, growth: 1.1, triangles }.mesh(),
            Shape::Airfoil if self.first.is_none() && self.naca == "0012" => {
                Airfoil { cells: plane(), radius, growth: 1.15, triangles }.mesh()
            }
            Shape::Airfoil => AirfoilO { section, cells: plane(), radius, first, triangles }.mesh(),
            Shape::AirfoilC => {
                AirfoilC { section, cells: [cells[0], cells[1], cells[2]], radius, first, triangles }.mesh()
            }
            Shape::Wing => self.wing(section, [cells[0], cells[1], cells[2], cells[3]], radius)?.mesh(),
            Shape::Sphere => Sphere { cells: plane(), radius, first }.mesh(),
        })
    }

    fn wing(&self, section: Section, cells: [usize; 4], radius: f64) -> CliResult<Wing> {
        if self.first.is_some() || section.camber > 0.0 || section.thickness > 0.12 {
            return Err(CliError::input(
                "a wing has a symmetric section of 12 % thickness or less (--naca 0012), and grades its cells without --first",
            ));
        }
        let common = Wing::default();
        let (span, taper, sweep) = (
            self.span.unwrap_or(common.span),
            self.taper.unwrap_or(common.taper),
            self.sweep.unwrap_or(common.sweep),
        );
        if !(span > 0.0 && span.is_finite() && (0.1..=2.0).contains(&taper) && sweep.abs() < 60.0) {
            return Err(CliError::input(
                "--span must be positive, --taper in 0.1 ... 2, --sweep within 60 degrees",
            ));
        }
        if sweep.to_radians().tan().abs() * span + taper > 0.5 * radius {
            return Err(CliError::input(format!(
                "the tip of this wing lies near the far field: --radius {radius} is too small"
            )));
        }
        Ok(Wing { cells, span, sweep, taper, thickness: section.thickness, radius })
    }
}
