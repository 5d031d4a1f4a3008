//! A solver whose nodes are divided among ranks. Rank 0 leads: what it is asked for it tells the others, who do their part of it in
//! [`FlowSolver::follow`].

mod pieces;

use super::periodic::{joined, pairs, without_sides};
use super::{FlowSolver, FlowSystem};
use crate::config::{Boundary, Equations, FlowConfig};
use crate::laps::Laps;
use crate::march::linear::numbering;
use crate::march::{FlowError, Order, over_ranks};
use crate::mesh::Mesh;
use crate::mesh::pairs::Pairs;
use crate::mesh::periodic::Images;
use crate::output::Restart;
use crate::parallel;
use crate::ranks::{FileNodes, Given, Held, Kept, Part, Quality, Ranks, Sliced, Turning, Whole, divide};
use crate::residual::element_colors;
use chromaflow::Permutation;
use chromaflow::dist::{Links, Share};
use chromaflow::order::Plan;
use chromaflow_device::Team;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// A part of a mesh, and what rank 0 knows of the whole.
pub(super) struct Divided {
    pub(super) part: Part,
    pub(super) whole: Option<Whole>,
    pub(super) kept: Option<Kept>,
    pub(super) ranks: Ranks,
}

impl FlowSolver {
    /// As [`FlowSolver::new`], over ranks: rank 0 has the mesh, the others get their parts of it. Rank 0 is then used as a solver
    /// alone would be, while the others [`follow`](FlowSolver::follow). Collective.
    ///
    /// Residual, matrix and sweeps of each row are those of one rank alone, bit for bit; sums over all rows are to rounding, or exact
    /// ([`Ranks::reproducible`]). Incomplete factors are of each rank's own rows: the number of ranks then shows in how fast
    /// linear systems are solved.
    ///
    /// # Errors
    /// As [`FlowSolver::new`]; [`FlowError::NotOverRanks`] for what one rank alone computes; [`FlowError::Ranks`].
    pub fn over_ranks(
        mesh: Option<&Mesh>,
        config: FlowConfig,
        team: Arc<Team>,
        ranks: Ranks,
    ) -> Result<Self, FlowError> {
        let laps = Laps::default();
        check_preconditioner(&config)?;
        let given = match mesh {
            Some(mesh) => {
                let (merged, images) = joined(mesh, &super::setup::completed(mesh, config.clone())?)?;
                Some((mesh, merged, images))
            }
            None => None,
        };
        Self::divided(given, config, (team, laps), ranks)
    }

    /// From the mesh of the file, what merging its periodic sides left, and which node became which, on the rank that has them.
    pub(super) fn divided(
        given: Option<(&Mesh, Cow<'_, Mesh>, Option<Images>)>,
        config: FlowConfig,
        (team, mut laps): (Arc<Team>, Laps),
        ranks: Ranks,
    ) -> Result<Self, FlowError> {
        let config = without_sides(config);
        let images = given.as_ref().and_then(|(_, _, images)| images.as_ref());
        let whole = given.as_ref().map(|(file, mesh, _)| Given {
            mesh,
            file: images.map_or(&[][..], |images| &images.first),
            turning: images
                .and_then(|images| Some(Turning { mesh: file, images, turned: images.turned.as_ref()? })),
        });
        let viscous = config.equations == Equations::Laminar;
        let color =
            |mesh: &Mesh, edges: &Pairs| if viscous { element_colors(mesh, edges) } else { Vec::new() };
        let lines = super::setup::lines_of(&config, images);
        let numbering = numbering(&config.implicit, lines.as_deref());
        let (part, whole) = divide(&*ranks.ranks, whole, numbering, (&team, &mut laps), color)?;
        let images = given.and_then(|(_, _, images)| images);
        Self::of_part(images, config, (team, laps), Divided { part, whole, kept: None, ranks })
    }

    /// As [`FlowSolver::over_ranks`], of a mesh that no rank has whole: each has read its slices of the file. Fields are then on the
    /// nodes of the boundary, [`FlowSolver::surface`], or written in pieces; a restart is gathered in the file's order.
    ///
    /// Neither the order of rows nor their colors depend on the number of ranks, so that a march is that of one rank by slices as [`FlowSolver::over_ranks`]
    /// has it; from one over a whole mesh it differs by rounding and by the colors.
    ///
    /// # Errors
    /// As [`FlowSolver::over_ranks`]; [`FlowError::Sliced`] for defects of the mesh, and for what wants a whole mesh.
    pub fn over_slices(
        mut sliced: Sliced,
        config: FlowConfig,
        team: Arc<Team>,
        ranks: Ranks,
    ) -> Result<Self, FlowError> {
        let mut laps = Laps::default();
        check_preconditioner(&config)?;
        let is_side = |name: &str| config.boundaries.get(name) == Some(&Boundary::Periodic);
        if config.boundaries.values().any(|of| *of == Boundary::Periodic) {
            sliced.join(&*ranks.ranks, is_side, |mesh| pairs(mesh, &config))?;
        }
        let config = without_sides(config);
        let viscous = config.equations == Equations::Laminar;
        let (part, kept) =
            sliced.divide(&*ranks.ranks, numbering(&config.implicit, None), (&team, &mut laps), viscous)?;
        Self::of_part(None, config, (team, laps), Divided { part, whole: None, kept: Some(kept), ranks })
    }

    /// On a rank's part of a mesh.
    fn of_part(
        images: Option<Images>,
        config: FlowConfig,
        (team, mut laps): (Arc<Team>, Laps),
        divided: Divided,
    ) -> Result<Self, FlowError> {
        let part = &divided.part;
        let config = super::setup::completed(&part.mesh, config)?;
        let edges = Pairs::edges_with(&part.mesh, team.size());
        let plan = Plan {
            permutation: Permutation::identity(part.global.len()),
            batches: part.batches(),
            report: part.report,
        };
        let mesh = part.mesh.clone();
        laps.end("edges");
        Self::numbered((mesh, plan, edges), config, (team, laps), (images, Some(divided)))
    }

    /// Does a rank's part of whatever rank 0 is asked for, until rank 0 ends ([`FlowSolver::dismiss`]). Between two wishes rank 0 may take as
    /// long as it likes.
    ///
    /// # Errors
    /// [`FlowError::Ranks`] when another rank has failed.
    pub fn follow(&mut self) -> Result<(), FlowError> {
        self.follow_within(Duration::MAX)
    }

    /// The same where rank 0 asks for something at least so often, but at the beginning and after fields, which it prepares and writes by itself: it
    /// has failed when it does not.
    ///
    /// # Errors
    /// [`FlowError::Ranks`] when another rank has failed.
    pub fn follow_within(&mut self, patience: Duration) -> Result<(), FlowError> {
        self.follow_by(patience, |me, order| {
            match order {
                Order::Fields => drop(me.fields()),
                Order::Pieces => me.host.write_piece()?,
                Order::Restart => drop(me.restart()),
                Order::WriteRestart => me.host.write_restart(&me.row_restart(), None)?,
                Order::ResumeFrom => drop(me.resume_by_ranges(None)?),
                Order::Resume => me.resume(&Restart::default())?,
                Order::Largest => {
                    let found = me.residuals();
                    drop(me.in_mesh_order(found.equations, &found.rates));
                    drop(me.largest_residual(&found));
                }
                Order::Release => me.release(),
                Order::Forces => drop(me.forces()),
                Order::Heights => drop(me.walls()),
                Order::Outflow => drop(me.outflow()),
                _ => {} // what all systems do alike
            }
            Ok(())
        })
    }

    /// The boundary of a mesh that no rank has whole, which fields are on; none where a rank has it.
    pub fn surface(&self) -> Option<&Mesh> {
        self.host.kept().map(|kept| &kept.surface)
    }

    /// The most bytes that this rank held of meshes at once while one was divided that no rank has whole, and when.
    pub fn held(&self) -> Option<Held> {
        self.host.kept().map(|kept| kept.held)
    }

    /// Values of all rows in the file's order, on rank 0; collective.
    #[cfg(test)]
    pub(crate) fn by_file(&self, width: usize, rows: &[f64]) -> Vec<f64> {
        self.host.to_file_order(width, rows.to_vec())
    }

    /// How the mesh was divided among ranks; none where it was not.
    pub fn division(&self) -> Option<Quality> {
        self.host.over.as_ref().map(|rows| rows.quality).filter(|quality| quality.ranks > 1)
    }
}

impl FlowSystem {
    /// The rank's rows, where there are ranks.
    pub(super) fn share(&self) -> Option<&Arc<Share>> {
        self.over.as_ref().map(|rows| &rows.share)
    }

    pub(super) fn check_ranks(&self) -> Result<(), FlowError> {
        over_ranks::check(self.share())
    }

    /// Ghosts get their owners' states: all that passes between two residuals.
    pub(super) fn exchange_states(&mut self) {
        let Some(share) = self.share().cloned() else { return };
        share.exchange(5, self.q.as_flattened_mut());
        // Not from q: a state that was given in primitive variables differs from them by rounding.
        share.exchange(8, self.nodes.as_flattened_mut());
        for system in &mut self.coupled {
            share.exchange(system.state.nb, &mut system.state.values);
        }
    }

    /// A row by its number in the whole mesh, the lowest of all ranks; a row of this solver where there are none.
    pub(super) fn lowest(&self, row: Option<usize>) -> Option<usize> {
        self.share().map_or(row, |share| share.lowest(row))
    }

    /// Number of a row in the mesh's file.
    pub(super) fn file_number(&self, row: usize) -> usize {
        match &self.over {
            None => self.file_node(self.plan.permutation.old_of_new()[row] as usize),
            Some(rows) => rows.file[row] as usize,
        }
    }

    /// What is kept of a mesh that no rank has whole.
    pub(super) fn kept(&self) -> Option<&Kept> {
        self.over.as_ref()?.kept.as_ref()
    }

    /// Values of rows as values of the nodes that the rank that leads knows: of the file, or, where no rank has the mesh whole, of its
    /// boundary. Nothing elsewhere.
    pub(super) fn to_known_nodes(&self, width: usize, values: Vec<f64>) -> Vec<f64> {
        match self.over.as_ref().zip(self.kept()) {
            Some((over, kept)) => over.on_surface(kept, width, &values),
            None => self.to_file_order(width, values),
        }
    }

    /// Values of rows as values of the mesh's nodes in the file's order: of all of them on the rank that leads, none elsewhere.
    pub(super) fn to_file_order(&self, width: usize, values: Vec<f64>) -> Vec<f64> {
        let (values, rows) = match &self.over {
            None => (values, Cow::Borrowed(self.plan.permutation.new_of_old())),
            Some(over) => {
                let all = over.gather(width, &values);
                let Some(rows) = over.of_file() else { return Vec::new() };
                (all, rows)
            }
        };
        let nodes = self.file_nodes();
        let mut out = vec![0.0; width * nodes];
        parallel::rows(&self.team, nodes, width, &mut out, |part, out| {
            for (node, numbers) in part.zip(out.chunks_exact_mut(width)) {
                numbers.copy_from_slice(&values[self.row_of_file(&rows, node) * width..][..width]);
                self.as_in_file(node, numbers);
            }
        });
        out
    }

    /// On rank 0 of a mesh that it has, what each node of the file is: rank and number of its row, how often it is turned.
    pub(super) fn whole_nodes(&self) -> Option<FileNodes> {
        let whole = self.over.as_ref()?.whole.as_ref()?;
        let of_old = whole.permutation.new_of_old();
        let rows: Vec<u32> =
            (0..self.file_nodes()).map(|node| self.row_of_file(of_old, node) as u32).collect();
        let owner = rows.iter().map(|&row| whole.owner[row as usize]).collect();
        let turned = self.images.as_ref().and_then(|images| images.turned.as_ref());
        Some(FileNodes { owner, rows, turns: turned.map(|turned| turned.by.clone()) })
    }

    /// The row of a node of the mesh's file, of `rows` in the mesh's own order.
    pub(super) fn row_of_file(&self, rows: &[u32], node: usize) -> usize {
        let node = self.images.as_ref().map_or(node, |images| images.merged[node] as usize);
        rows[node % rows.len()] as usize
    }

    /// A restart whose fields are by rows of this rank, from one of the leading rank's: all its facts and fields.
    pub(super) fn scattered(&self, restart: &Restart) -> Result<Option<Restart>, FlowError> {
        let Some(rows) = &self.over else { return Ok(None) };
        let scatter = |width: usize, values: &[f64]| rows.scatter(width, values);
        over_ranks::scattered(&**rows.share.ranks(), restart, self.file_nodes(), scatter).map(Some)
    }
}

/// Whether ranks can sweep as the set-up says.
fn check_preconditioner(config: &FlowConfig) -> Result<(), FlowError> {
    let around = config.implicit.preconditioner;
    if around.sweeps_in_levels() {
        return Err(FlowError::NotOverRanks {
            what: format!("the preconditioner `{around}`"),
            remedy: "choose `multicolor`, `lines` or `ilu0`",
        });
    }
    Ok(())
}
