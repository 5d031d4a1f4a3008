//! Means of fields over the volume of the flow, over the physical steps of a run.

use super::probes::columns;
use super::table::Table;
use crate::error::{CliError, CliResult};
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{Field, volume_shares};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// Means that are no field's: rho |u|^2 / 2, and rho |omega|^2 / 2 where there is a field of vorticity; of incompressible flow with rho = 1.
const DERIVED: [(&str, &str); 2] = [("kinetic_energy", "velocity"), ("enstrophy", "vorticity")];

/// What `output.volume_means` names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct VolumeMeans {
    names: Vec<String>,
    shares: Vec<f64>,
    table: Table,
}

impl VolumeMeans {
    /// Of fields by their names, on `mesh`; `fields` has all that there are.
    ///
    /// # Errors
    /// Status 2 for a name that no field has.
    pub fn new(names: &[String], mesh: &Mesh, fields: &[Field]) -> CliResult<Self> {
        if names.is_empty() {
            return Ok(Self::default());
        }
        let wanted = names.iter().map(|name| found(name, fields)).collect::<CliResult<Vec<_>>>()?;
        let table = Table { names: columns(wanted.iter().map(|field| &**field)), rows: Vec::new() };
        Ok(Self { names: names.to_owned(), shares: volume_shares(mesh), table })
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The physical step of the last sample.
    pub fn last(&self) -> usize {
        self.table.last()
    }

    /// Whether a mean is of the field of this name, or derived from it.
    pub fn reads(&self, name: &str) -> bool {
        let derived =
            |own: &str| DERIVED.iter().any(|(d, of)| *d == own && (*of == name || name == "density"));
        self.names.iter().any(|own| own == name || derived(own))
    }

    /// Takes the fields after a physical step.
    ///
    /// # Errors
    /// Status 2 for a name that no field has.
    pub fn take(&mut self, (step, time): (usize, f64), fields: &[Field]) -> CliResult<()> {
        let mut means = Vec::new();
        for name in &self.names {
            let field = found(name, fields)?;
            means.extend((0..field.components).map(|c| {
                let values = field.values.iter().skip(c).step_by(field.components);
                self.shares.iter().zip(values).map(|(share, v)| share * v).sum::<f64>()
            }));
        }
        self.table.rows.push((step, time, means));
        Ok(())
    }

    /// Writes `volume_means.csv`; its path, where there is anything to write.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, folder: &Path) -> CliResult<Option<PathBuf>> {
        let path = file(folder);
        (!self.is_empty()).then(|| self.table.write(&path).map(|()| path)).transpose()
    }

    /// Goes on from what an earlier run left in a folder.
    ///
    /// # Errors
    /// Status 2 for a file that is no such table.
    pub fn recall(&mut self, folder: &Path, up_to: usize) -> CliResult<()> {
        if self.is_empty() { Ok(()) } else { self.table.recall(&file(folder), up_to) }
    }
}

fn file(folder: &Path) -> PathBuf {
    folder.join("volume_means.csv")
}

/// A field, or what is derived from one.
fn found<'f>(name: &str, fields: &'f [Field]) -> CliResult<Cow<'f, Field>> {
    let get = |name: &str| fields.iter().find(|field| field.name == name);
    if let Some(field) = get(name) {
        return Ok(Cow::Borrowed(field));
    }
    let of = DERIVED.iter().find(|(derived, _)| *derived == name);
    if let Some(vector) = of.and_then(|(_, vector)| get(vector)) {
        let density = get("density");
        let half = |(i, v): (usize, &[f64])| {
            0.5 * density.map_or(1.0, |rho| rho.values[i]) * v.iter().map(|c| c * c).sum::<f64>()
        };
        let values = vector.values.chunks(vector.components).enumerate().map(half).collect();
        return Ok(Cow::Owned(Field::scalar(name, values)));
    }
    let derived = DERIVED.iter().filter(|(_, vector)| get(vector).is_some()).map(|(name, _)| *name);
    let all: Vec<&str> = fields.iter().map(|field| field.name.as_str()).chain(derived).collect();
    let what = format!("output.volume_means: there is no field `{name}`; there are {}", all.join(", "));
    Err(CliError::input(what))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};

    #[test]
    fn means_of_fields_and_energy() {
        let mesh = box_mesh([4, 4, 4], [2.0, 1.0, 1.0], Cells::Hexes, 0.0);
        let fields = [
            Field::scalar("density", vec![2.0; mesh.nodes.len()]),
            Field::vector("velocity", 3, mesh.nodes.iter().flat_map(|x| [3.0, x[0], 0.0]).collect()),
        ];
        let names = ["velocity", "kinetic_energy"].map(str::to_owned);
        let mut means = VolumeMeans::new(&names, &mesh, &fields).unwrap();
        means.take((1, 0.1), &fields).unwrap();
        let (_, _, row) = &means.table.rows[0];
        // Cells take the mean of y^2 over their nodes: 4/3 + h^2/6 with h = 1/2.
        let exact = [3.0, 1.0, 0.0, 9.0 + 4.0 / 3.0 + 1.0 / 24.0];
        assert!(row.iter().zip(exact).all(|(a, b)| (a - b).abs() < 1e-13), "{row:?}");
        assert_eq!(means.table.names, ["velocity_x", "velocity_y", "velocity_z", "kinetic_energy"]);
        let fault = VolumeMeans::new(&["enstrophy".to_owned()], &mesh, &fields).unwrap_err().to_string();
        assert!(fault.contains("`enstrophy`") && fault.contains("velocity, kinetic_energy"), "{fault}");
    }
}
