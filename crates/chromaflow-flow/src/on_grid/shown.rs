//! What solvers of structured grids show of themselves, whatever their equations and wherever their unknowns lie: what runs ask for.

use super::OnGrid;
use crate::march::{FlowError, Host, March, Order, Spread};
use crate::output::{Field, Restart};
use crate::ranks::BlockRanks;
use std::time::Duration;

/// A system that runs look at, on a structured grid.
pub trait Shown: Host {
    /// See [`March::fields`].
    fn fields(march: &mut March<Self>) -> Vec<Field>;

    /// Everything that a run needs to go on, of this rank's rows.
    fn row_restart(march: &March<Self>) -> Restart;

    /// Goes on from it; collective.
    ///
    /// # Errors
    /// As [`March::resume`].
    fn go_on(march: &mut March<Self>, restart: &Restart) -> Result<(), FlowError>;

    /// This rank's blocks, where there are ranks.
    fn block_ranks(&self) -> Option<&BlockRanks> {
        None
    }

    /// See [`March::coupled_unknowns`].
    fn coupled_unknowns(&self) -> &'static [&'static str] {
        &[]
    }

    /// See [`March::unknowns_missing_in`].
    fn missing_in(&self, restart: &Restart) -> Vec<String> {
        let names = self.coupled_unknowns().iter().filter(|name| restart.field(name).is_none());
        names.map(|name| (*name).to_owned()).collect()
    }

    /// See [`March::walls`].
    fn walls(&self) -> Vec<(String, [Spread; 2])> {
        Vec::new()
    }

    /// Does a rank's part of what rank 0 is asked for besides.
    fn follow(_march: &March<Self>, _order: Order) {}
}

impl<S: Shown> March<S> {
    /// Fields on the points of [`Grid::to_mesh`](crate::grid::Grid::to_mesh), or of all blocks one after another; on the boundary those of the boundary.
    /// Over ranks all of them on rank 0, none elsewhere.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn fields(&mut self) -> Vec<Field> {
        S::fields(self)
    }

    /// Names of the turbulence model's unknowns; none without a model.
    pub fn coupled_unknowns(&self) -> Vec<String> {
        self.host.coupled_unknowns().iter().map(|name| (*name).to_owned()).collect()
    }

    /// Those of them that a restart does not have: it was written without them.
    pub fn unknowns_missing_in(&self, restart: &Restart) -> Vec<String> {
        self.host.missing_in(restart)
    }

    /// y+ of the first cells at walls without slip of viscous flow (of incompressible flow, turbulent), by markers: how well the grid resolves the boundary layer. Ghost cells must be
    /// filled, as they are after a step.
    pub fn y_plus(&self) -> Vec<(String, Spread)> {
        self.walls().into_iter().map(|(wall, [y_plus, _])| (wall, y_plus)).collect()
    }

    /// Of each of these walls y+ of the first cells, and u_tau / nu per unit of the grid: what makes wall units of any height there.
    pub fn walls(&self) -> Vec<(String, [Spread; 2])> {
        let host = self.synced();
        let _ = host.tell(Order::Heights);
        host.walls()
    }
}

impl<S: Shown + OnGrid> March<S> {
    /// Does a rank's part of whatever rank 0 is asked for, until rank 0 ends ([`March::dismiss`]). Between two wishes rank 0 may take as
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
                Order::Restart => drop(me.restart()),
                Order::WriteRestart => me.write_by_ranges(None)?,
                Order::ResumeFrom => drop(me.resume_by_ranges(None)?),
                Order::Resume => me.resume(&Restart::default())?,
                Order::Largest => {
                    let found = me.residuals();
                    drop(me.of_all_cells(found.equations, &found.rates));
                    drop(me.largest_residual(&found));
                }
                Order::Heights => drop(me.walls()),
                other => S::follow(me, other), // what all systems do alike, or nothing
            }
            Ok(())
        })
    }
}
