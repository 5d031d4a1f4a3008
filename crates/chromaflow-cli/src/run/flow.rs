//! A flow under way, as runs see it.

use super::advice::{Around, Trouble};
use super::march::Finished;
use super::profiles::WallUnits;
use crate::context::Context;
use crate::error::CliResult;
use chromaflow::{BlockCsr, Outcome};
use chromaflow_flow::grid::Grid;
use chromaflow_flow::march::{FlowError, Host, March, Place};
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{Field, Restart, Resumed, VtuOptions, write_pieces};
use chromaflow_flow::unstructured::RankReport;
use serde_json::{Map, Value, json};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What kinds of case do differently: the solver, where its values are, what there is to say of it.
pub trait Flow {
    /// What the solver marches.
    type System: Host;

    /// The mesh and the method, for the second line of a run.
    fn headline(&self) -> String;

    /// What a run of the case may not be meant to do: said before it starts.
    fn cautions(&self) -> Vec<String> {
        Vec::new()
    }

    /// What the program makes of the case that its text does not say: said before it starts.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Prints what `run --check` found.
    ///
    /// # Errors
    /// A JSON file that cannot be written.
    fn check(&self, ctx: &Context) -> CliResult<()>;

    /// The solver.
    fn solver(&self) -> &March<Self::System>;

    /// The solver, to iterate.
    fn solver_mut(&mut self) -> &mut March<Self::System>;

    /// The points and cells that fields are on.
    fn mesh(&self) -> Cow<'_, Mesh>;

    /// The blocks, of a structured grid.
    fn grid(&self) -> Option<&Grid> {
        None
    }

    /// Fields to look at, on the points of [`Flow::mesh`].
    fn fields(&mut self) -> Vec<Field>;

    /// Those of [`Flow::fields`] that `wanted` picks by name.
    fn fields_of(&mut self, wanted: &dyn Fn(&str) -> bool) -> Vec<Field> {
        let mut fields = self.fields();
        fields.retain(|field| wanted(&field.name));
        fields
    }

    /// Writes [`Flow::fields`] and `more` as a list, `NAME.pvtu`, and pieces, `NAME/piece_K.vtu`: each rank its own, one piece where there
    /// is one rank. The paths, the list first.
    ///
    /// # Errors
    /// Status 3 when a rank cannot write.
    fn write_pieces(&mut self, list: &Path, more: &[Field], options: VtuOptions) -> CliResult<Vec<PathBuf>> {
        in_one_piece(self, list, more, options)
    }

    /// Whether forces are summed on a marker.
    fn is_wall(&self, marker: &str) -> bool;

    /// The axis along which lift points, where the case says.
    fn lift_axis(&self) -> Option<usize>;

    /// The units of a wall with this friction over the dynamic pressure, and the pressure and temperature there; `None` where they are
    /// not known.
    fn wall_units(&self, _friction: f64, _pressure: f64, _temperature: f64) -> Option<WallUnits> {
        None
    }

    /// What there is to say of a flow at the end of a run that ended so, besides its forces.
    fn remarks(&self, _outcome: Outcome) -> Vec<String> {
        Vec::new()
    }

    /// Writes everything that a run needs to go on, and `more` on the points of [`Flow::mesh`]. Over ranks each writes its range of the file.
    ///
    /// # Errors
    /// [`FlowError::Files`], [`FlowError::Ranks`].
    fn write_restart(&self, path: &Path, more: Restart) -> Result<(), FlowError>;

    /// Goes on from a restart file, with the progress of its run or `anew`; gives back its facts, and the fields of these names.
    ///
    /// # Errors
    /// [`FlowError::Files`], [`FlowError::Restart`], [`FlowError::Ranks`].
    fn resume(&mut self, path: &Path, how: (bool, &[String])) -> Result<Resumed, FlowError>;

    /// The linear system of the next iteration and its right-hand side, where there is one.
    fn linear_system(&mut self) -> Option<(BlockCsr, Vec<f64>)> {
        None
    }

    /// Names of the unknowns of systems beside the flow.
    fn coupled(&self) -> Vec<String> {
        Vec::new()
    }

    /// Norms of the residual, for scripts.
    fn residual(&self, norms: &[f64]) -> Value {
        json!(norms)
    }

    /// What scripts may want to know of the solver: `memory`, `mesh`, `solver`, `references` and more of its own.
    fn summary(&self) -> Map<String, Value>;

    /// How the time of each rank went; empty where there is one.
    fn rank_reports(&self) -> Vec<RankReport> {
        Vec::new()
    }

    /// Values of the solver's rows, `[rows, width]`, on the points of [`Flow::mesh`].
    fn on_points(&self, width: usize, rows: &[f64]) -> Vec<f64>;

    /// The cells around a place, where they are of different kinds and shapes.
    fn around(&self, _place: Place) -> Option<Around> {
        None
    }

    /// Whether flow passes through a marker.
    fn is_open(&self, _marker: &str) -> bool {
        false
    }

    /// What to try where a steady run did not converge, besides what is said of every kind of flow.
    fn hints(&self, trouble: &Trouble, finished: &Finished) -> Vec<String>;

    /// Gives back memory that only steps need: files are about to be written.
    fn release(&mut self) {}
}

/// The list and the piece of a flow on one rank.
///
/// # Errors
/// Status 3 when they cannot be written.
pub fn in_one_piece(
    flow: &mut (impl Flow + ?Sized),
    list: &Path,
    more: &[Field],
    options: VtuOptions,
) -> CliResult<Vec<PathBuf>> {
    let mut fields = flow.fields();
    fields.extend_from_slice(more);
    let mesh = flow.mesh();
    Ok(write_pieces(list, &mesh, &vec![0; mesh.nodes.len()], &fields, options)?)
}
