//! `[output]`: what is written, and where.

use super::{Mode, Source};
use crate::error::CliResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What is written, and where.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct OutputSection {
    /// Folder, relative to the working directory; empty: `out/` and the name of the case file.
    pub folder: PathBuf,
    /// Write the whole field as volume.vtu.
    pub volume: bool,
    /// Write it, and snapshots, in pieces, which each rank writes itself: volume.pvtu lists volume/piece_0.vtu, ...; one where there is
    /// one rank.
    pub pieces: bool,
    /// Write the boundary as surface.vtu.
    pub surface: bool,
    /// Write all fields at the walls as surface.csv, too, a line a node.
    pub surface_csv: bool,
    /// Compress the .vtu files with zlib.
    pub compress: bool,
    /// Further files of the whole field: `cgns` (volume.cgns, HDF5), `vtkhdf` (volume.vtkhdf, for large fields), `solb`
    /// (volume.meshb and volume.solb, for programs that adapt meshes), `plot3d` (volume.xyz and volume.fun, of cases with `[grid]`).
    pub formats: Vec<FieldFormat>,
    /// Iterations (physical steps of an unsteady run) between restart files; 0: at the end only. Ctrl-C and
    /// divergence leave one, too.
    pub restart_every: usize,
    /// Physical steps between snapshots of the fields of an unsteady run, listed with their times in `volume.pvd`; 0: at the
    /// end only.
    pub fields_every: usize,
    /// Iteration after which the linear system of the next one is written, for `chromaflow solve`; 0: never.
    pub matrix: usize,
    /// File of that system in the output folder: .petsc (PETSc binary, right-hand side included) or .mtx (Matrix
    /// Market, right-hand side in NAME_b.mtx), compressed with .gz, .xz or .zst.
    pub matrix_file: PathBuf,
    /// Draw the convergence and the cuts as SVG and PNG.
    pub plots: bool,
    /// Planes through the walls along which Cp is written and drawn, for example `{ axis = "y", at = 0.96 }`.
    pub cuts: Vec<Cut>,
    /// Fields of an unsteady run whose means over its physical steps, and the root mean squares of what departs from them, are among the
    /// fields at its end, NAME_mean and NAME_rms, for example `["velocity", "pressure"]`; restarts keep them, those of structured grids in a file
    /// beside, restart_means.safetensors.
    pub averages: Vec<String>,
    /// First physical step that counts in them, and in the spectra of `probes`.
    pub averages_from: usize,
    /// Physical steps from one sample of `averages`, `probes` and `volume_means` to the next.
    pub samples_every: usize,
    /// Points at which fields are recorded after each physical step of an unsteady run (probe_0.csv, probe_1.csv, ...), with their
    /// spectral densities at its end (probe_0_spectrum.csv, ...), for example `[[1.5, 0.2, 0.0]]`.
    pub probes: Vec<[f64; 3]>,
    /// Names of these fields; empty: all. Those that gradients are needed for (`vorticity`, `q_criterion`, hybrid models' own) take the longest
    /// on large meshes.
    pub probe_fields: Vec<String>,
    /// Fields of an unsteady run whose means over the volume are recorded after each physical step in volume_means.csv; besides fields
    /// `kinetic_energy`, rho |u|^2 / 2, and in viscous flow `enstrophy`, rho |curl u|^2 / 2.
    pub volume_means: Vec<String>,
    /// Straight lines through the field along which all fields are written (profile_0.csv, profile_1.csv, ...), for example
    /// `{ from = [0.97, 0, 0], to = [0.97, 0.05, 0] }`. Where one begins at a wall without slip, u+ is drawn over y+.
    pub profiles: Vec<Profile>,
}

impl Default for OutputSection {
    fn default() -> Self {
        Self {
            folder: PathBuf::new(),
            volume: true,
            pieces: false,
            surface: true,
            surface_csv: true,
            compress: true,
            formats: Vec::new(),
            restart_every: 100,
            fields_every: 0,
            matrix: 0,
            matrix_file: PathBuf::from("system.petsc"),
            plots: true,
            cuts: Vec::new(),
            averages: Vec::new(),
            averages_from: 0,
            samples_every: 1,
            probes: Vec::new(),
            probe_fields: Vec::new(),
            volume_means: Vec::new(),
            profiles: Vec::new(),
        }
    }
}

impl OutputSection {
    /// Whether something is made of the fields of the whole mesh at the end of a run.
    pub fn wants_whole(&self) -> bool {
        let of_lines = !self.cuts.is_empty() || !self.profiles.is_empty() || !self.formats.is_empty();
        self.volume && !self.pieces || self.surface || self.surface_csv || of_lines
    }

    /// Checks what depends on the kind of march.
    ///
    /// # Errors
    /// What is recorded after physical steps, in a steady run.
    pub fn check(&self, mode: Mode, source: &Source) -> CliResult<()> {
        if self.samples_every == 0 {
            return Err(source.error(&["output", "samples_every"], "samples_every is 0: expected at least 1"));
        }
        if self.probes.is_empty() && !self.probe_fields.is_empty() {
            let what = "fields are recorded at points: give some in output.probes, or leave it out";
            return Err(source.error(&["output", "probe_fields"], what));
        }
        let of_steps = [
            ("averages", self.averages.is_empty()),
            ("probes", self.probes.is_empty()),
            ("volume_means", self.volume_means.is_empty()),
        ];
        match of_steps.iter().find(|(_, empty)| !empty && mode == Mode::Steady) {
            Some((key, _)) => Err(source.error(
                &["output", key],
                "values are recorded after the physical steps of unsteady runs: set march.mode = \"unsteady\", or leave it out",
            )),
            None => Ok(()),
        }
    }
}

/// A straight line through the field.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// Where it begins, mesh units: at a wall for profiles of boundary layers.
    pub from: [f64; 3],
    /// Where it ends.
    pub to: [f64; 3],
}

/// A file of the whole field besides volume.vtu.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FieldFormat {
    /// CGNS in HDF5, with the mesh: blocks of structured grids stay blocks.
    Cgns,
    /// VTK's HDF5 format.
    Vtkhdf,
    /// GMF.
    Solb,
    /// PLOT3D points and functions.
    Plot3d,
}

/// A plane through the walls.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cut {
    /// Axis that the plane is normal to.
    pub axis: Axis,
    /// Where it cuts that axis, mesh units.
    pub at: f64,
}

/// An axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    /// x.
    X,
    /// y.
    Y,
    /// z.
    Z,
}

impl Axis {
    /// 0, 1 or 2.
    pub fn index(self) -> usize {
        self as usize
    }

    /// Its letter.
    pub fn letter(self) -> char {
        ['x', 'y', 'z'][self.index()]
    }
}
