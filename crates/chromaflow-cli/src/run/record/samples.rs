//! What an unsteady run records of the state after each physical step.

use super::averages::Averages;
use super::probes::Probes;
use super::volume_means::VolumeMeans;
use crate::case::OutputSection;
use crate::error::CliResult;
use crate::plot::Picture;
use crate::run::flow::Flow;
use chromaflow_flow::output::{Field, Restart};
use std::path::{Path, PathBuf};

/// Means of fields, values at points, means over the volume.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Samples {
    averages: Averages,
    probes: Probes,
    volume_means: VolumeMeans,
    /// The first physical step that counts in spectra.
    from: usize,
    /// Physical steps from one sample to the next.
    every: usize,
    /// The physical step, mesh units over the speed of sound.
    dt: f64,
}

impl Samples {
    /// As `output` says, before a run begins that would end for want of a field or a place.
    ///
    /// # Errors
    /// Status 2 for a name that no field has and a point that lies in no cell.
    pub fn new(output: &OutputSection, dt: f64, flow: &mut impl Flow) -> CliResult<Self> {
        let averages = Averages::new(output);
        let (from, every) = (output.averages_from, output.samples_every);
        let mut samples = Self { averages, from, every, dt, ..Self::default() };
        if output.averages.is_empty() && output.probes.is_empty() && output.volume_means.is_empty() {
            return Ok(samples);
        }
        let fields = flow.fields();
        let mesh = flow.mesh();
        samples.averages.check(&fields)?;
        samples.probes = Probes::new(&output.probes, &output.probe_fields, &mesh, &fields)?;
        samples.volume_means = VolumeMeans::new(&output.volume_means, &mesh, &fields)?;
        Ok(samples)
    }

    /// Whether the state after a physical step is to be a sample.
    pub fn wants(&self, step: usize) -> bool {
        step.is_multiple_of(self.every)
            && (self.averages.wants(step) || self.probes_want(step) || self.means_want(step))
    }

    /// Whether samples take anything of the field of this name.
    pub fn reads(&self, name: &str) -> bool {
        self.probes.reads(name) || self.averages.reads(name) || self.volume_means.reads(name)
    }

    fn probes_want(&self, step: usize) -> bool {
        !self.probes.is_empty() && step > self.probes.last()
    }

    fn means_want(&self, step: usize) -> bool {
        !self.volume_means.is_empty() && step > self.volume_means.last()
    }

    /// Takes the fields after a physical step.
    ///
    /// # Errors
    /// Status 2 for a name that no field has.
    pub fn take(&mut self, step: usize, fields: &[Field]) -> CliResult<()> {
        let at = (step, step as f64 * self.dt);
        if self.averages.wants(step) {
            self.averages.take(step, fields)?;
        }
        if self.probes_want(step) {
            self.probes.take(at, fields);
        }
        if self.means_want(step) {
            self.volume_means.take(at, fields)?;
        }
        Ok(())
    }

    /// Fields of means and departures, once there are samples.
    pub fn fields(&self) -> Vec<Field> {
        self.averages.fields()
    }

    /// Puts what a restart keeps into it, and writes the tables beside it; their paths.
    ///
    /// # Errors
    /// When a table cannot be written.
    pub fn store(&self, restart: &mut Restart, folder: &Path) -> CliResult<Vec<PathBuf>> {
        self.averages.store(restart);
        let mut written = self.probes.write(folder)?;
        written.extend(self.volume_means.write(folder)?);
        Ok(written)
    }

    /// Names of the fields that a restart keeps for them.
    pub fn kept(&self) -> Vec<String> {
        self.averages.kept()
    }

    /// Goes on from a restart that was written in a folder during or after a physical step.
    ///
    /// # Errors
    /// Status 2 for files that are not such tables.
    pub fn recall(&mut self, restart: &Restart, folder: &Path, step: usize) -> CliResult<()> {
        self.averages.recall(restart);
        self.probes.recall(folder, step)?;
        self.volume_means.recall(folder, step)
    }

    /// Writes spectra; their paths, names and pictures. `unit` is length over velocity of the Strouhal number.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write_spectra(&self, folder: &Path, unit: f64) -> CliResult<Vec<(PathBuf, String, Picture)>> {
        self.probes.write_spectra(folder, self.from, (self.dt * self.every as f64, unit))
    }
}
