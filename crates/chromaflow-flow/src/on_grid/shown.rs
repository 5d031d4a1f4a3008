//! What solvers of structured grids show of themselves, whatever their equations and wherever their unknowns lie: what runs ask for.

use super::OnGrid;
use crate::march::{FlowError, Host, March, Order, Spread};
use crate::output::{Field, Restart};

/// A system that runs look at, on a structured grid.
pub trait Shown: Host {
    /// See [`March::fields`].
    fn fields(march: &mut March<Self>) -> Vec<Field>;

    /// See [`March::restart`].
    fn restart(march: &March<Self>) -> Restart;

    /// See [`March::resume`].
    ///
    /// # Errors
    /// The same.
    fn resume(march: &mut March<Self>, restart: &Restart) -> Result<(), FlowError>;

    /// See [`March::coupled_unknowns`].
    fn coupled_unknowns(&self) -> &'static [&'static str] {
        &[]
    }

    /// See [`March::y_plus`].
    fn y_plus(&self) -> Vec<(String, Spread)> {
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

    /// Everything that a run needs to go on, at the centers of cells or in nodes. Over ranks of all of them on rank 0.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn restart(&self) -> Restart {
        S::restart(self)
    }

    /// Goes on from a restart of the same grid. An unsteady run that starts from a steady one takes its state as the first time level.
    ///
    /// # Errors
    /// [`FlowError::Restart`] when a field is missing, has another size or no physical states.
    pub fn resume(&mut self, restart: &Restart) -> Result<(), FlowError> {
        S::resume(self, restart)
    }

    /// Names of the turbulence model's unknowns; none without a model.
    pub fn coupled_unknowns(&self) -> Vec<String> {
        self.host.coupled_unknowns().iter().map(|name| (*name).to_owned()).collect()
    }

    /// Those of them that a restart does not have: it was written without them.
    pub fn unknowns_missing_in(&self, restart: &Restart) -> Vec<String> {
        self.coupled_unknowns().into_iter().filter(|name| restart.field(name).is_none()).collect()
    }

    /// y+ of the first cells at walls without slip of turbulent flow, by markers: how well the grid resolves the boundary layer. Ghost cells must be
    /// filled, as they are after a step.
    pub fn y_plus(&self) -> Vec<(String, Spread)> {
        let host = self.synced();
        let _ = host.tell(Order::Heights);
        host.y_plus()
    }
}

impl<S: Shown + OnGrid> March<S> {
    /// Does a rank's part of whatever rank 0 is asked for, until rank 0 ends ([`Self::dismiss`]).
    ///
    /// # Errors
    /// [`FlowError::Ranks`] when another rank has failed.
    pub fn follow(&mut self) -> Result<(), FlowError> {
        self.follow_by(|me, order| {
            match order {
                Order::Fields => drop(me.fields()),
                Order::Restart => drop(me.restart()),
                Order::Resume => me.resume(&Restart::default())?,
                Order::Largest => {
                    let found = me.residuals();
                    drop(me.of_all_cells(found.equations, &found.rates));
                    drop(me.largest_residual(&found));
                }
                Order::Heights => drop(me.y_plus()),
                other => S::follow(me, other), // what all systems do alike, or nothing
            }
            Ok(())
        })
    }
}
