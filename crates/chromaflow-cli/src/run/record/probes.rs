//! Fields at points over the physical steps of a run, and their spectra.

use super::averages::found;
use super::profiles::names;
use super::spectrum::Spectrum;
use super::table::Table;
use crate::context::write_whole;
use crate::error::{CliError, CliResult};
use crate::numbers::Cell;
use crate::plot::{Picture, Series};
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{Field, Within, within};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The points of `output.probes`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    at: Vec<Within>,
    /// Of the fields that are recorded; empty: all.
    names: Vec<String>,
    tables: Vec<Table>,
}

impl Probes {
    /// Finds the cells around the points; `fields` has all that there are, `names` those that are to be recorded.
    ///
    /// # Errors
    /// Status 2 for a point that lies in no cell and a name that no field has.
    pub fn new(points: &[[f64; 3]], names: &[String], mesh: &Mesh, fields: &[Field]) -> CliResult<Self> {
        names.iter().try_for_each(|name| found(name, fields, "output.probe_fields").map(|_| ()))?;
        let mut at = Vec::new();
        for (number, found) in within(mesh, points).into_iter().enumerate() {
            let [x, y, z] = points[number];
            at.push(found.ok_or_else(|| {
                let what = "lies in no cell; give a point within the mesh, in its (scaled) unit";
                CliError::input(format!("output.probes[{number}]: ({x}, {y}, {z}) {what}"))
            })?);
        }
        let mut probes = Self { at, names: names.to_owned(), tables: Vec::new() };
        let recorded = columns(fields.iter().filter(|field| probes.reads(&field.name)));
        probes.tables = vec![Table { names: recorded, rows: Vec::new() }; probes.at.len()];
        Ok(probes)
    }

    /// Whether the field of this name is recorded.
    pub fn reads(&self, name: &str) -> bool {
        !self.at.is_empty() && (self.names.is_empty() || self.names.iter().any(|own| own == name))
    }

    /// The physical step of the last sample.
    pub fn last(&self) -> usize {
        self.tables.first().map_or(0, Table::last)
    }

    /// Whether there are points.
    pub fn is_empty(&self) -> bool {
        self.at.is_empty()
    }

    /// Takes the fields after a physical step.
    pub fn take(&mut self, (step, time): (usize, f64), fields: &[Field]) {
        let recorded: Vec<&Field> = fields.iter().filter(|field| self.reads(&field.name)).collect();
        for (at, table) in self.at.iter().zip(&mut self.tables) {
            let of = |field: &&Field| (0..field.components).map(|c| at.value(field, c)).collect::<Vec<_>>();
            table.rows.push((step, time, recorded.iter().flat_map(of).collect()));
        }
    }

    /// Writes `probe_0.csv` and so on; their paths.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, folder: &Path) -> CliResult<Vec<PathBuf>> {
        let paths = (0..self.tables.len()).map(|number| file(folder, number));
        let all = self.tables.iter().zip(paths);
        all.map(|(table, path)| table.write(&path).map(|()| path)).collect()
    }

    /// Goes on from what an earlier run left in a folder.
    ///
    /// # Errors
    /// Status 2 for files that are not such tables.
    pub fn recall(&mut self, folder: &Path, up_to: usize) -> CliResult<()> {
        let mut all = self.tables.iter_mut().enumerate();
        all.try_for_each(|(number, table)| table.recall(&file(folder, number), up_to))
    }

    /// Writes the spectra of the samples from a physical step on, where they are enough: `probe_0_spectrum.csv` and so on; their paths and
    /// pictures. `unit` is length over velocity of the Strouhal number.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_spectra(
        &self,
        folder: &Path,
        from: usize,
        (dt, unit): (f64, f64),
    ) -> CliResult<Vec<(PathBuf, String, Picture)>> {
        let mut out = Vec::new();
        for (number, table) in self.tables.iter().enumerate() {
            let rows: Vec<&Vec<f64>> =
                table.rows.iter().filter(|row| row.0 >= from).map(|row| &row.2).collect();
            let column = |k: usize| -> Vec<f64> { rows.iter().map(|row| row[k]).collect() };
            let all = (0..table.names.len()).map(|k| Spectrum::welch(&column(k), dt));
            let Some(spectra) = all.collect::<Option<Vec<Spectrum>>>().filter(|all| !all.is_empty()) else {
                continue;
            };
            let name = format!("probe_{number}_spectrum");
            let path = folder.join(format!("{name}.csv"));
            let mut text = String::from("frequency,strouhal");
            table.names.iter().for_each(|name| {
                let _ = write!(text, ",{name}");
            });
            for (k, f) in spectra[0].frequencies.iter().enumerate() {
                let _ = write!(text, "\n{},{}", Cell(*f), Cell(f * unit));
                let _ = spectra.iter().try_for_each(|s| write!(text, ",{}", Cell(s.density[k])));
            }
            text.push('\n');
            write_whole(&path, text.as_bytes())?;
            out.push((path, name, picture(number, &table.names, &spectra, unit)));
        }
        Ok(out)
    }
}

fn file(folder: &Path, number: usize) -> PathBuf {
    folder.join(format!("probe_{number}.csv"))
}

/// Names of all components of fields.
pub fn columns<'f>(fields: impl IntoIterator<Item = &'f Field>) -> Vec<String> {
    let mut text = String::new();
    for field in fields {
        names(field, &mut text);
    }
    text.split(',').skip(1).map(str::to_owned).collect()
}

/// Densities of velocity and pressure over the Strouhal number.
fn picture(number: usize, names: &[String], spectra: &[Spectrum], unit: f64) -> Picture {
    let shown = ["velocity_x", "velocity_y", "velocity_z", "pressure"];
    let series = shown.iter().filter_map(|name| {
        let spectrum = &spectra[names.iter().position(|n| n == name)?];
        let points = spectrum.frequencies.iter().zip(&spectrum.density).map(|(f, d)| (f * unit, *d));
        let points = points.filter(|(f, d)| *f > 0.0 && *d > 0.0).collect();
        Some(Series { name: (*name).into(), points, line: true })
    });
    Picture {
        title: format!("Spectra at probe {number}"),
        x: "Strouhal number",
        y: "spectral density",
        log: [true, true],
        series: series.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};

    fn fields(mesh: &Mesh, step: usize) -> Vec<Field> {
        let t = step as f64;
        let f = |x: &[f64; 3]| x[0] + 2.0 * x[1] + (0.25 * std::f64::consts::TAU * t).sin();
        vec![
            Field::scalar("pressure", mesh.nodes.iter().map(f).collect()),
            Field::vector("velocity", 3, mesh.nodes.iter().flat_map(|x| [t, x[2], 0.0]).collect()),
        ]
    }

    /// Values are those of the point, a restart goes on with them, and a wave has its frequency in the spectrum.
    #[test]
    fn probes_follow_a_wave() {
        let mesh = box_mesh([3, 3, 3], [1.0; 3], Cells::Tets, 0.1);
        let folder = tempfile::tempdir().unwrap();
        let new = || Probes::new(&[[0.4, 0.3, 0.6]], &[], &mesh, &fields(&mesh, 0)).unwrap();
        let (mut whole, mut first) = (new(), new());
        for step in 1..=256 {
            whole.take((step, 0.5 * step as f64), &fields(&mesh, step));
            if step <= 100 {
                first.take((step, 0.5 * step as f64), &fields(&mesh, step));
            }
        }
        assert_eq!(whole.tables[0].names, ["pressure", "velocity_x", "velocity_y", "velocity_z"]);
        let (_, _, values) = &whole.tables[0].rows[0];
        assert!((values[0] - 2.0).abs() < 1e-13 && (values[2] - 0.6).abs() < 1e-13, "{values:?}");
        first.write(folder.path()).unwrap();
        let mut resumed = new();
        resumed.recall(folder.path(), 90).unwrap();
        assert_eq!(resumed.last(), 90);
        (91..=256).for_each(|step| resumed.take((step, 0.5 * step as f64), &fields(&mesh, step)));
        assert_eq!(resumed, whole);
        // A period of four steps of 0.5: frequency 0.5.
        let spectra = whole.write_spectra(folder.path(), 2, (0.5, 2.0)).unwrap();
        let text = std::fs::read_to_string(&spectra[0].0).unwrap();
        let rows = text.lines().skip(1).map(|line| {
            let row: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
            (row[0], row[1], row[2])
        });
        let peak = rows.max_by(|a, b| a.2.total_cmp(&b.2)).unwrap();
        assert!((peak.0 - 0.5).abs() < 0.02 && (peak.1 - 2.0 * peak.0).abs() < 1e-12, "{peak:?}");
        assert!(whole.write_spectra(folder.path(), 240, (0.5, 2.0)).unwrap().is_empty(), "too few samples");
    }

    /// Of named fields these alone are recorded; a name that no field has is an error.
    #[test]
    fn named_fields_are_recorded() {
        let mesh = box_mesh([3, 3, 3], [1.0; 3], Cells::Tets, 0.1);
        let new = |name: &str| Probes::new(&[[0.4, 0.3, 0.6]], &[name.to_owned()], &mesh, &fields(&mesh, 0));
        let mut probes = new("pressure").unwrap();
        assert!(probes.reads("pressure") && !probes.reads("velocity"));
        probes.take((1, 0.5), &fields(&mesh, 1));
        assert_eq!((probes.tables[0].names.len(), probes.tables[0].rows[0].2.len()), (1, 1));
        let fault = new("speed").unwrap_err().to_string();
        assert!(fault.contains("output.probe_fields") && fault.contains("velocity"), "{fault}");
    }

    #[test]
    fn a_point_outside_is_named() {
        let mesh = box_mesh([2, 2, 2], [1.0; 3], Cells::Hexes, 0.0);
        let points = [[0.5, 0.5, 0.5], [0.5, 1.5, 0.5]];
        let fault = Probes::new(&points, &[], &mesh, &[]).unwrap_err().to_string();
        assert!(fault.contains("output.probes[1]") && fault.contains("(0.5, 1.5, 0.5)"), "{fault}");
    }
}
