//! Restarts of structured grids: of all rows, or over ranks of those of each.

use super::Shown;
use crate::march::{FlowError, March, Order, over_ranks};
use crate::mesh::Mesh;
use crate::output::{Restart, Resumed};
use crate::ranks::{BlockRanks, FileRows, ReadTask, WriteTask};
use chromaflow_comm::CommError;
use std::path::Path;

impl<S: Shown> March<S> {
    /// Everything that a run needs to go on, at the centers of cells or in nodes. Over ranks of all of them on rank 0.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn restart(&self) -> Restart {
        let host = self.synced();
        let _ = host.tell(Order::Restart);
        let mut restart = S::row_restart(self);
        if let Some(over) = host.block_ranks() {
            for field in &mut restart.fields {
                field.values = over.gather(field.components, &field.values);
            }
        }
        restart
    }

    /// Goes on from a restart of the same grid. An unsteady run that starts from a steady one takes its state as the first time level.
    ///
    /// # Errors
    /// [`FlowError::Restart`] when a field is missing, has another size or no physical states.
    pub fn resume(&mut self, restart: &Restart) -> Result<(), FlowError> {
        self.host.tell(Order::Resume)?;
        let Some(over) = self.host.block_ranks() else { return S::go_on(self, restart) };
        let scatter = |width: usize, values: &[f64]| over.scatter(width, values);
        let (ranks, rows) = (&**over.share.ranks(), over.share.whole());
        let restart = over_ranks::scattered(ranks, restart, rows, scatter)?;
        S::go_on(self, &restart)
    }

    /// Writes [`restart`](Self::restart), of these places, with facts and fields (of all places) that are none of the solver's: the file
    /// of [`Restart::write`], byte for byte. Over ranks each writes its own range, and none has all; on rank 0; collective.
    ///
    /// # Errors
    /// [`FlowError::Files`], on all ranks, when one of them cannot write: a file of that name is what it was then;
    /// [`FlowError::Ranks`].
    ///
    /// # Panics
    /// As [`restart`](Self::restart); if a field of `more` has not as many values as there are places.
    pub fn write_restart(&self, path: &Path, places: &Mesh, more: Restart) -> Result<(), FlowError> {
        if self.host.block_ranks().is_some() {
            self.host.tell(Order::WriteRestart)?;
            return self.write_by_ranges(Some((&WriteTask { path, more: &more }, places)));
        }
        let mut restart = self.restart();
        restart.extend(more);
        Ok(restart.write(path, places)?)
    }

    /// A rank's part of it; only rank 0 has a task.
    pub(super) fn write_by_ranges(&self, task: Option<(&WriteTask<'_>, &Mesh)>) -> Result<(), FlowError> {
        let over = self.synced().block_ranks().expect("ranges are of ranks");
        let (in_file, places) = ranges(over, task.map(|(_, places)| places))?;
        let (ranks, own) = (&**over.share.ranks(), S::row_restart(self));
        Ok(in_file.write(ranks, task.map(|(task, _)| task), &own, &places, |_, _| {})?)
    }

    /// Goes on from a restart file as [`resume`](Self::resume) does; `anew`: from its state, with everything else as at a beginning. `whole` are
    /// names of fields that are wanted back in all places. Over ranks each reads its range; on rank 0; collective.
    ///
    /// # Errors
    /// [`FlowError::Files`], on all ranks, when one of them cannot read, or it is no restart of this grid; else as [`resume`](Self::resume).
    pub fn resume_from(
        &mut self,
        path: &Path,
        places: &Mesh,
        (anew, whole): (bool, &[String]),
    ) -> Result<Resumed, FlowError> {
        let task = ReadTask { path, anew, whole };
        if self.host.block_ranks().is_some() {
            self.host.tell(Order::ResumeFrom)?;
            return self.resume_by_ranges(Some((&task, places)));
        }
        let restart = task.alone(places)?;
        S::go_on(self, &restart)?;
        Ok(Resumed {
            missing: self.unknowns_missing_in(&restart),
            other_flow: self.differs_from(&restart),
            restart,
        })
    }

    /// A rank's part of it; only rank 0 has a task.
    pub(super) fn resume_by_ranges(
        &mut self,
        task: Option<(&ReadTask<'_>, &Mesh)>,
    ) -> Result<Resumed, FlowError> {
        let over = self.host.block_ranks().expect("ranges are of ranks");
        let (in_file, places) = ranges(over, task.map(|(_, places)| places))?;
        let (ranks, rows) = (&**over.share.ranks(), over.share.global());
        let [own, restart] = in_file.read(ranks, task.map(|(task, _)| task), rows, &places)?;
        S::go_on(self, &own)?;
        Ok(Resumed { missing: self.unknowns_missing_in(&own), other_flow: self.differs_from(&own), restart })
    }
}

/// Which cells are whose, and the places of those that this rank writes and reads. Rows have the order of the file.
fn ranges(over: &BlockRanks, places: Option<&Mesh>) -> Result<(FileRows, Vec<[f64; 3]>), CommError> {
    let ranks = &**over.share.ranks();
    let own = over.share.global().iter().zip(0..).map(|(&node, row)| (node, row, 0));
    let in_file = FileRows::new(ranks, over.share.whole(), own)?;
    let places = in_file.dealt(ranks, 3, places.map(|places| places.nodes.as_flattened()))?;
    Ok((in_file, places.as_chunks().0.to_vec()))
}
