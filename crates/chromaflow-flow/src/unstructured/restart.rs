//! Restarts: everything that a run needs to go on, in the order of the mesh's nodes. Over ranks each writes and reads its ranges of the file.

use super::periodic::turn;
use super::unsteady::TimeLevels;
use super::{FlowSolver, FlowSystem};
use crate::config::Time;
use crate::equations::perfect_gas::{N, State};
use crate::equations::{Equations, PerfectGas};
use crate::gas::primitive;
use crate::march::{FlowError, Host, Order, over_ranks};
use crate::mesh::Mesh;
use crate::output::{Field, Restart, Resumed};
use crate::ranks::{FileRows, ReadTask, Rows, WriteTask};
use std::collections::HashMap;
use std::path::Path;

/// The present state; the last finished time level; the one before. Those of other systems have the same endings.
const CONSERVED: &str = "conserved";
const LAST_LEVEL: &str = "conserved_last";
const LEVEL_BEFORE: &str = "conserved_before";
/// The share of the CFL number that each node takes.
const CFL_SHARE: &str = "cfl_share";

impl FlowSolver {
    /// Everything that a run needs to go on.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn restart(&self) -> Restart {
        let _ = self.host.tell(Order::Restart);
        let mut restart = self.row_restart();
        for field in &mut restart.fields {
            field.values = self.host.to_file_order(field.components, std::mem::take(&mut field.values));
        }
        restart
    }

    /// The same with fields by rows of this rank.
    pub(super) fn row_restart(&self) -> Restart {
        let host = self.synced();
        let mut restart = self.start_restart();
        for (patch, condition) in host.dual.patches.iter().zip(&host.boundaries) {
            condition.store(&patch.name, &mut restart);
        }
        let mut levels = vec![(CONSERVED, &host.q)];
        if matches!(host.config.time, Time::Unsteady(_)) {
            levels.extend([(LAST_LEVEL, &host.levels.last), (LEVEL_BEFORE, &host.levels.before)]);
        }
        for (name, q) in levels {
            restart.fields.push(Field::vector(name, N, q.as_flattened().to_vec()));
        }
        restart.fields.push(Field::scalar(CFL_SHARE, host.cfl_shares.clone()));
        host.store_coupled(&mut restart);
        restart
    }

    /// Writes [`restart`](Self::restart), with facts and fields (on the nodes of the file) that are none of the solver's: the file of
    /// [`Restart::write`], byte for byte. Over ranks each writes its own range of the nodes, and none has all; on rank 0, of the mesh of its
    /// file, which nobody looks at where no rank has it whole; collective.
    ///
    /// # Errors
    /// [`FlowError::Files`], on all ranks, when one of them cannot write: a file of that name is what it was then;
    /// [`FlowError::Ranks`].
    ///
    /// # Panics
    /// As [`restart`](Self::restart); if a field of `more` is not as long as the mesh.
    pub fn write_restart(&self, path: &Path, mesh: &Mesh, more: Restart) -> Result<(), FlowError> {
        if self.host.over.is_some() {
            self.host.tell(Order::WriteRestart)?;
            let task = WriteTask { path, more: &more };
            return self.host.write_restart(&self.row_restart(), Some((&task, mesh)));
        }
        let mut restart = self.restart();
        restart.extend(more);
        Ok(restart.write(path, mesh)?)
    }

    /// Goes on from a restart of the same mesh, in the very state it was written in: a run that was interrupted and one
    /// that was not are the same. An unsteady run that starts from a steady one takes its state as the first time level.
    /// Systems beside the flow that the restart does not have, [`Self::unknowns_missing_in`], stay as they are.
    ///
    /// # Errors
    /// [`FlowError::Restart`] when a field is missing, has the wrong length or is not a physical state.
    pub fn resume(&mut self, restart: &Restart) -> Result<(), FlowError> {
        self.host.tell(Order::Resume)?;
        let scattered = self.host.scattered(restart)?;
        self.go_on(scattered.as_ref().unwrap_or(restart))
    }

    /// The same from a restart that over ranks is one by rows of this rank.
    fn go_on(&mut self, restart: &Restart) -> Result<(), FlowError> {
        let host = &self.host;
        let unsteady = matches!(host.config.time, Time::Unsteady(_));
        let goes_on = unsteady && restart.field(LAST_LEVEL).is_some();
        let read = || {
            let mut q = vec![[0.0; N]; host.q.len()];
            host.read_level(restart, CONSERVED, &mut q)?;
            let mut levels = TimeLevels::default();
            if unsteady {
                levels = TimeLevels { last: q.clone(), before: q.clone() };
                if goes_on {
                    host.read_level(restart, LAST_LEVEL, &mut levels.last)?;
                    host.read_level(restart, LEVEL_BEFORE, &mut levels.before)?;
                }
            }
            Ok((q, levels, host.read_shares(restart)?, host.read_coupled(restart, goes_on)?))
        };
        let (q, levels, shares, coupled) = over_ranks::agreed(host.share(), read())?;
        let host = self.host_to_set();
        (host.q, host.levels, host.cfl_shares) = (q, levels, shares);
        for (system, state) in host.coupled.iter_mut().zip(coupled) {
            system.state = state;
        }
        host.last_good.copy_from_slice(&host.q);
        host.refresh_nodes();
        for (patch, condition) in host.dual.patches.iter().zip(&mut host.boundaries) {
            condition.recall(&patch.name, restart);
        }
        self.resume_progress(restart, goes_on);
        Ok(())
    }

    /// Goes on from a restart file as [`resume`](Self::resume) does; `anew`: from its state, with everything else as at a beginning. `whole` are
    /// names of fields that are wanted back on all nodes of the file. Over ranks each reads its range of the nodes; on rank 0, with a mesh as
    /// [`write_restart`](Self::write_restart) takes it; collective.
    ///
    /// # Errors
    /// [`FlowError::Files`], on all ranks, when one of them cannot read, or it is no restart of this mesh; else as [`resume`](Self::resume).
    pub fn resume_from(
        &mut self,
        path: &Path,
        mesh: &Mesh,
        (anew, whole): (bool, &[String]),
    ) -> Result<Resumed, FlowError> {
        let task = ReadTask { path, anew, whole };
        if self.host.over.is_some() {
            self.host.tell(Order::ResumeFrom)?;
            return self.resume_by_ranges(Some((&task, mesh)));
        }
        let restart = task.alone(mesh)?;
        self.go_on(&restart)?;
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
        let host = &self.host;
        let over = host.over.as_ref().expect("ranges are of ranks");
        let ranks = &**over.share.ranks();
        let in_file = host.in_file(over)?;
        let places = host.places_in_range(over, in_file, task.map(|(_, mesh)| mesh))?;
        let [own, restart] = in_file.read(ranks, task.map(|(task, _)| task), &over.file, &places)?;
        self.go_on(&own)?;
        Ok(Resumed { missing: self.unknowns_missing_in(&own), other_flow: self.differs_from(&own), restart })
    }
}

impl FlowSystem {
    /// A rank's part of writing a restart, of its rows; only rank 0 has a task.
    pub(super) fn write_restart(
        &self,
        own: &Restart,
        task: Option<(&WriteTask<'_>, &Mesh)>,
    ) -> Result<(), FlowError> {
        let over = self.over.as_ref().expect("ranges are of ranks");
        let in_file = self.in_file(over)?;
        let places = self.places_in_range(over, in_file, task.map(|(_, mesh)| mesh))?;
        let turned = over.seam.as_ref().map(|seam| seam.rotation);
        let turn = |by, numbers: &mut [f64]| turned.iter().for_each(|rotation| turn(rotation, by, numbers));
        Ok(in_file.write(&**over.share.ranks(), task.map(|(task, _)| task), own, &places, turn)?)
    }

    /// Which nodes of the file this rank's rows are, found when it is first asked for; collective then.
    fn in_file<'a>(&self, over: &'a Rows) -> Result<&'a FileRows, FlowError> {
        if over.in_file.get().is_none() {
            let found = match &over.kept {
                None => FileRows::of_whole(&over.share, self.whole_nodes().as_ref())?,
                Some(kept) => {
                    let own = || over.share.owned().iter().cloned().flatten();
                    let own = || own().map(|row| (over.file[row], row as u32));
                    let rows: HashMap<u32, u32> = own().filter(|_| !kept.twins.is_empty()).collect();
                    let twins = kept.twins.iter();
                    let twins = twins.filter_map(|(node, lowest, _)| Some((*node, *rows.get(lowest)?)));
                    let behind = self.rows() as u32;
                    let behind = own().filter(|_| self.planar).map(|(node, row)| (node + behind, row));
                    let own = own().chain(twins).chain(behind).map(|(node, row)| (node, row, 0));
                    FileRows::new(&**over.share.ranks(), self.file_nodes(), own)?
                }
            };
            let _ = over.in_file.set(found); // nobody else sets it
        }
        Ok(over.in_file.get().expect("set above"))
    }

    /// Places of the nodes of the file that this rank writes and reads, from the mesh of rank 0, or from rows where no rank has it whole.
    fn places_in_range(
        &self,
        over: &Rows,
        in_file: &FileRows,
        mesh: Option<&Mesh>,
    ) -> Result<Vec<[f64; 3]>, FlowError> {
        let ranks = &**over.share.ranks();
        let Some(kept) = &over.kept else {
            let places = in_file.dealt(ranks, 3, mesh.map(|mesh| mesh.nodes.as_flattened()))?;
            return Ok(places.as_chunks().0.to_vec());
        };
        let places: Vec<f64> = self.nodes.iter().flat_map(|node| [node[5], node[6], node[7]]).collect();
        let mut places = in_file.in_range(ranks, (3, &places), |_, _| {})?.as_chunks().0.to_vec();
        let range = in_file.range();
        let behind = range.clone().zip(&mut places).filter(|(node, _)| *node >= self.rows());
        for ((_, place), depth) in behind.zip(self.depth.iter().cycle()) {
            place[2] = *depth;
        }
        for &(node, _, at) in &kept.twins {
            if range.contains(&(node as usize)) {
                places[node as usize - range.start] = at;
            }
        }
        Ok(places)
    }

    /// One field of conserved states, checked, in the solver's order.
    fn read_level(&self, restart: &Restart, name: &str, out: &mut [State]) -> Result<(), FlowError> {
        let fault = |problem: String| FlowError::Restart { field: name.to_owned(), problem };
        let field = restart.field(name).ok_or_else(|| fault("is missing".to_owned()))?;
        let expected = N * self.restart_nodes();
        if field.components != N || field.values.len() != expected {
            return Err(fault(format!("has {} values, {expected} expected", field.values.len())));
        }
        for (i, row) in self.rows_of_restart() {
            let q: State = field.values[N * i..N * (i + 1)].try_into().expect("five components a node");
            let w = primitive(self.gas, &q);
            if !PerfectGas::is_admissible(&w) {
                let node = self.file_number(row);
                return Err(fault(format!("has no physical state at node {node}: {q:?}")));
            }
            out[row] = q;
        }
        Ok(())
    }

    /// The shares of the CFL number; older restarts have none, and all nodes take the whole.
    fn read_shares(&self, restart: &Restart) -> Result<Vec<f64>, FlowError> {
        let mut shares = vec![1.0; self.q.len()];
        let Some(field) = restart.field(CFL_SHARE) else { return Ok(shares) };
        let fault = |problem: String| FlowError::Restart { field: CFL_SHARE.to_owned(), problem };
        let expected = self.restart_nodes();
        if field.components != 1 || field.values.len() != expected {
            return Err(fault(format!("has {} values, {expected} expected", field.values.len())));
        }
        for (i, row) in self.rows_of_restart() {
            let share = field.values[i];
            if !(share > 0.0 && share <= 1.0) {
                let node = self.file_number(row);
                return Err(fault(format!("is {share} at node {node}: a share is above 0 and at most 1")));
            }
            shares[row] = share;
        }
        Ok(shares)
    }

    /// Nodes that a restart has where this solver reads it: over ranks it comes by the rank's own rows.
    pub(super) fn restart_nodes(&self) -> usize {
        if self.over.is_some() { self.q.len() } else { self.file_nodes() }
    }

    /// Where each row stands in such a restart, and the row.
    pub(super) fn rows_of_restart(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let rows = self.plan.permutation.new_of_old().iter();
        rows.enumerate()
            .map(|(i, &row)| (if self.over.is_some() { i } else { self.file_node(i) }, row as usize))
    }
}
