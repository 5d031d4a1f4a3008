//! The systems beside a flow: which there are, what they see of it, and their part of an iteration.

use super::FlowSolver;
use super::FlowSystem;
use crate::config::{FlowConfig, Hybrid, Quadratic, TurbulenceModel};
use crate::coupled::{Coupled, CoupledState, CoupledSystem, FlowView};
use crate::equations::perfect_gas::State;
use crate::equations::{Equations, PerfectGas};
use crate::gradient::Gradient;
use crate::march::{Advanced, FlowError, Moment, Part, Times};
use crate::mesh::Mesh;
use crate::output::{Field, Restart};
use crate::residual::Eddies;
use crate::scalar::Scalar;
use crate::turbulence::k_omega::{KOmegaEquations, KOmegaVariant};
use crate::turbulence::spalart_allmaras::{SaEquation, SaVariant};
use crate::wall_distance::{NearWalls, no_wall};
use std::borrow::Cow;

/// Endings of the names of restart fields: present values, the last time level, the one before.
const ENDINGS: [&str; 3] = ["", "_last", "_before"];

/// What turbulence adds to the viscosity, for the viscous fluxes and their Jacobian; nothing where no system beside the flow has
/// an eddy viscosity.
pub(super) fn eddies<'a>(config: &FlowConfig, coupled: &'a [CoupledSystem]) -> Eddies<'a> {
    let mut all = coupled.iter().map(|system| system.physics.eddy_viscosity());
    let viscosity = all.find(|viscosity| !viscosity.is_empty()).unwrap_or(&[]);
    let prandtl = config.turbulence.as_ref().map_or(Eddies::NONE.prandtl, |model| model.prandtl);
    let quadratic = config.turbulence.as_ref().map_or(Quadratic::None, |model| model.quadratic);
    let relation = coupled.iter().map(|system| system.physics.relation()).find(|all| !all.is_empty());
    Eddies { viscosity, prandtl, quadratic, relation: relation.unwrap_or(&[]) }
}

impl FlowSystem {
    /// The systems that the set-up asks for on `mesh`, whose nodes are numbered as rows. A new one is registered here.
    fn registered(&self, mesh: &Mesh, walls: Option<&NearWalls>) -> Result<Vec<Box<dyn Coupled>>, FlowError> {
        let mut systems: Vec<Box<dyn Coupled>> = Vec::new();
        if let Some(scalar) = &self.config.scalar {
            systems.push(Box::new(Scalar::new(scalar, &self.view(&[], &[]))?));
        }
        if let Some(turbulence) = &self.config.turbulence {
            let (_, elements) = self.viscous.as_ref().ok_or(FlowError::TurbulenceInviscid)?;
            let view = self.view(&[], &[]);
            // Eddies in a box have no wall; a boundary layer that has none is a mistake.
            let nowhere =
                || (turbulence.hybrid != Hybrid::None).then(|| NearWalls::nowhere(mesh.nodes.len()));
            let walls = walls.map(Cow::Borrowed).or_else(|| nowhere().map(Cow::Owned));
            let walls = walls.ok_or_else(|| no_wall(mesh))?;
            let near = (mesh, &*walls);
            let sa = |variant| SaEquation::new(turbulence, variant, near, elements, &view);
            let k_omega = |variant| KOmegaEquations::new(turbulence, variant, near, elements, &view);
            systems.push(match turbulence.model {
                TurbulenceModel::SaNeg => Box::new(sa(SaVariant::Negative)?),
                TurbulenceModel::Sa => Box::new(sa(SaVariant::Standard)?),
                TurbulenceModel::SaNoFt2 => Box::new(sa(SaVariant::NoFt2)?),
                TurbulenceModel::Sst => Box::new(k_omega(KOmegaVariant::Sst)?),
                TurbulenceModel::SstVorticity => Box::new(k_omega(KOmegaVariant::SstVorticity)?),
                TurbulenceModel::KOmega => Box::new(k_omega(KOmegaVariant::Wilcox)?),
            });
        }
        Ok(systems)
    }

    /// Puts the systems that the set-up asks for beside the flow, each at its beginning.
    pub(super) fn start_coupled(&mut self, mesh: &Mesh, walls: Option<&NearWalls>) -> Result<(), FlowError> {
        if let Some(walls) = walls {
            self.start_laws(walls);
        }
        let (systems, view) = (self.registered(mesh, walls)?, self.view(&[], &[]));
        let start = |system| CoupledSystem::new(system, &view, &self.plan.batches);
        self.coupled = systems.into_iter().map(start).collect::<Result<_, _>>()?;
        self.start_tight()
    }

    /// The flow as other systems see it.
    pub(crate) fn view<'a>(&'a self, gradients: &'a [Gradient], fluxes: &'a [State]) -> FlowView<'a> {
        FlowView {
            team: &self.team,
            config: &self.config,
            dual: &self.dual,
            shifts: &self.mapping.shifts,
            moments: &self.moments,
            gas: self.gas,
            transport: self.viscous.as_ref().map(|(transport, _)| *transport),
            boundaries: &self.boundaries,
            walls: &self.fixed,
            laws: [&self.laws[0], &self.laws[1]],
            nodes: &self.nodes,
            gradients,
            fluxes,
            levels: [&self.levels.last, &self.levels.before],
            rows: self.over.as_ref(),
        }
    }

    /// Whether an iteration has gradients of the flow.
    pub(super) fn has_gradients(&self, at: &Moment) -> bool {
        at.is_second_order(&self.config.space) || self.needs_gradients()
    }

    /// Whether gradients are needed in steps of first order, too: by stresses at open boundaries, or by a system beside the flow.
    pub(super) fn needs_gradients(&self) -> bool {
        self.viscous.is_some() || self.coupled.iter().any(|system| system.physics.needs_gradients())
    }

    /// Calls `f` with the flow of the last residual and the systems beside it.
    pub(super) fn with_coupled<T>(
        &mut self,
        at: &Moment,
        f: impl FnOnce(&FlowView<'_>, &mut [CoupledSystem]) -> T,
    ) -> T {
        let with_gradients = self.has_gradients(at);
        let mut coupled = std::mem::take(&mut self.coupled);
        let gradients: &[Gradient] = if with_gradients { &self.gradients } else { &[] };
        let out = f(&self.view(gradients, &self.fluxes), &mut coupled);
        self.coupled = coupled;
        out
    }

    /// Before the flow's residual: what it needs of the others.
    pub(super) fn prepare_coupled(&mut self, gradients: &[Gradient]) {
        let mut coupled = std::mem::take(&mut self.coupled);
        let view = self.view(gradients, &[]);
        for system in &mut coupled {
            system.prepare(&view);
        }
        self.coupled = coupled;
    }

    /// Residuals of the systems beside the flow, after its own: the sum of R^2/V of each unknown.
    pub(crate) fn coupled_residuals(&mut self, at: &Moment) -> Vec<f64> {
        self.with_coupled(at, |view, coupled| {
            coupled.iter_mut().flat_map(|system| system.compute_residual(view, at)).collect()
        })
    }

    /// Residuals of the systems that the flow depends on, after its own, but for those that have its derivative themselves.
    pub(super) fn driving_residuals(&mut self, at: &Moment) {
        self.with_coupled(at, |view, coupled| {
            for system in coupled.iter_mut().filter(|system| system.drives_flow() && !system.has_derivative())
            {
                system.find_residual(view, at);
            }
        });
    }

    /// Matrices of the systems that the flow depends on, ready to precondition with; the row of a diagonal block that cannot be
    /// inverted comes back as an error.
    pub(super) fn factor_driving(&mut self, at: &Moment) -> Result<(), usize> {
        self.with_coupled(at, |view, coupled| {
            let mut driving = coupled.iter_mut().filter(|system| system.drives_flow());
            driving.try_for_each(|system| system.factor(view, at))
        })
    }

    /// The steps of the systems beside the flow, from the state that its own step starts from.
    pub(super) fn advance_coupled(&mut self, at: &Moment, times: &mut Times) -> Result<Advanced, FlowError> {
        let together = self.steps_by_newton(at) || self.is_tight(at);
        self.with_coupled(at, |view, coupled| {
            let mut all = Advanced::default();
            for system in coupled {
                // A Newton-Krylov step of the flow, or one by one matrix, has found the update of what it depends on, too.
                let driven = together && system.drives_flow();
                let step = times.timed(Part::Beside, || {
                    if driven { Ok(system.take_update()) } else { system.advance(view, at) }
                });
                all = all.with(&step?);
            }
            Ok(all)
        })
    }

    /// The unknowns of a row and what they are: the flow's, and those of the systems beside it.
    pub(super) fn unknowns_at(&self, row: usize) -> (Vec<f64>, Cow<'static, str>) {
        let (mut state, mut names) = (self.q[row].to_vec(), Cow::Borrowed(PerfectGas::CONSERVED));
        for system in &self.coupled {
            let nb = system.state.nb;
            state.extend(&system.state.values[row * nb..][..nb]);
            for name in system.physics.unknowns() {
                names.to_mut().push_str(", ");
                names.to_mut().push_str(name);
            }
        }
        (state, names)
    }
}

/// One of `nb` unknowns of each node.
fn one_of(values: &[f64], nb: usize, v: usize) -> Vec<f64> {
    values.iter().skip(v).step_by(nb).copied().collect()
}

/// Fields and restarts.
impl FlowSystem {
    /// The unknowns of the systems beside the flow, and what they show besides, by rows.
    pub(super) fn coupled_fields(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Field> {
        let mut fields = Vec::new();
        let view = self.view(&[], &[]);
        for CoupledSystem { physics, state, .. } in &self.coupled {
            for (v, name) in physics.unknowns().iter().enumerate().filter(|(_, name)| wanted(name)) {
                fields.push(Field::scalar(name, one_of(&state.values, state.nb, v)));
            }
            let more = physics.fields(&view, &state.values, wanted).into_iter();
            fields.extend(more.map(|(name, values)| Field::scalar(&name, values)));
        }
        fields
    }

    /// Puts their unknowns into a restart, by rows.
    pub(super) fn store_coupled(&self, restart: &mut Restart) {
        for CoupledSystem { physics, state, .. } in &self.coupled {
            let levels = [&state.values, &state.levels[0], &state.levels[1]];
            for (ending, values) in ENDINGS.into_iter().zip(levels).filter(|(_, values)| !values.is_empty()) {
                for (v, name) in physics.unknowns().iter().enumerate() {
                    let name = format!("{name}{ending}");
                    restart.fields.push(Field::scalar(&name, one_of(values, state.nb, v)));
                }
            }
        }
    }

    /// The states that a restart has; of systems that it does not have the present ones, at all time levels. `levels`:
    /// whether it has earlier ones.
    pub(super) fn read_coupled(
        &self,
        restart: &Restart,
        levels: bool,
    ) -> Result<Vec<CoupledState>, FlowError> {
        let read = |system: &CoupledSystem| {
            let (names, mut state) = (system.physics.unknowns(), system.state.clone());
            let known = names.iter().all(|name| restart.field(name).is_some());
            if known {
                self.read_unknowns(restart, names, ENDINGS[0], &mut state.values)?;
            }
            state.start_here();
            if known && levels {
                for (ending, level) in ENDINGS[1..].iter().zip(&mut state.levels) {
                    self.read_unknowns(restart, names, ending, level)?;
                }
            }
            let bad = state.values.chunks_exact(state.nb).position(|q| !system.physics.is_good(q));
            match bad {
                None => Ok(state),
                Some(row) => {
                    let node = self.file_number(row);
                    let problem = format!("is out of its range at node {node}");
                    Err(FlowError::Restart { field: names.join(", "), problem })
                }
            }
        };
        self.coupled.iter().map(read).collect()
    }

    fn read_unknowns(
        &self,
        restart: &Restart,
        names: &[String],
        ending: &str,
        out: &mut [f64],
    ) -> Result<(), FlowError> {
        for (v, name) in names.iter().enumerate() {
            let name = format!("{name}{ending}");
            let fault = |problem: String| FlowError::Restart { field: name.clone(), problem };
            let field = restart.field(&name).ok_or_else(|| fault("is missing".to_owned()))?;
            if field.components != 1 || field.values.len() != self.restart_nodes() {
                let (found, expected) = (field.values.len(), self.restart_nodes());
                return Err(fault(format!("has {found} values, {expected} expected")));
            }
            for (i, row) in self.rows_of_restart() {
                out[row * names.len() + v] = field.values[i];
            }
        }
        Ok(())
    }
}

/// Systems beside the flow, seen from outside.
impl FlowSolver {
    /// Names of the unknowns of the systems beside the flow, in the order of
    /// [`StepReport::coupled`](crate::march::StepReport::coupled).
    pub fn coupled_unknowns(&self) -> Vec<String> {
        self.host.coupled.iter().flat_map(|system| system.physics.unknowns()).cloned().collect()
    }

    /// Those of them that a restart does not have: it was written without them.
    pub fn unknowns_missing_in(&self, restart: &Restart) -> Vec<String> {
        self.coupled_unknowns().into_iter().filter(|name| restart.field(name).is_none()).collect()
    }

    /// Sets an unknown at each node from its place. Walls keep the values they are given.
    ///
    /// # Errors
    /// [`FlowError::NoUnknown`]; a device's, where one computes.
    pub fn set_unknown(&mut self, name: &str, value: impl Fn([f64; 3]) -> f64) -> Result<(), FlowError> {
        self.change_unknown(name, |state, v, places, _| {
            for (i, place) in places.iter().enumerate() {
                if state.held.binary_search(&(i as u32)).is_err() {
                    state.values[i * state.nb + v] = value(*place);
                }
            }
            Ok(())
        })
    }

    /// Holds the nodes of these markers at given values of an unknown, whatever their boundary condition, and all unknowns of
    /// its system with it: what an exact or manufactured solution needs.
    ///
    /// # Errors
    /// [`FlowError::NoUnknown`], [`FlowError::UnknownMarker`]; a device's, where one computes.
    pub fn hold_unknown(
        &mut self,
        name: &str,
        markers: &[&str],
        value: impl Fn([f64; 3]) -> f64,
    ) -> Result<(), FlowError> {
        self.change_unknown(name, |state, v, places, host| {
            for &marker in markers {
                let nodes = host.nodes_of(marker)?;
                for &i in nodes {
                    state.values[i as usize * state.nb + v] = value(places[i as usize]);
                }
                state.held.extend(nodes);
                state.given.retain(|node| nodes.binary_search(node).is_err());
            }
            state.held.sort_unstable();
            state.held.dedup();
            Ok(())
        })
    }

    /// Adds a source per volume to an unknown's equation: what a manufactured solution needs.
    ///
    /// # Errors
    /// [`FlowError::NoUnknown`]; a device's, where one computes.
    pub fn set_unknown_source(
        &mut self,
        name: &str,
        source: impl Fn([f64; 3]) -> f64,
    ) -> Result<(), FlowError> {
        self.change_unknown(name, |state, v, places, _| {
            state.source.resize(state.values.len(), 0.0);
            for (i, place) in places.iter().enumerate() {
                state.source[i * state.nb + v] = source(*place);
            }
            Ok(())
        })
    }

    /// Calls `f` with the state of the system that an unknown belongs to, its place there, and the places of all nodes.
    fn change_unknown(
        &mut self,
        name: &str,
        f: impl FnOnce(&mut CoupledState, usize, &[[f64; 3]], &FlowSystem) -> Result<(), FlowError>,
    ) -> Result<(), FlowError> {
        self.sync()?;
        let known = self.coupled_unknowns();
        let host = self.host_to_set();
        let of =
            |system: &CoupledSystem| system.physics.unknowns().iter().position(|unknown| unknown == name);
        let found = host.coupled.iter().enumerate().find_map(|(s, system)| Some((s, of(system)?)));
        let Some((s, v)) = found else {
            return Err(FlowError::NoUnknown { name: name.to_owned(), known });
        };
        let places: Vec<[f64; 3]> = host.nodes.iter().map(|node| [node[5], node[6], node[7]]).collect();
        let mut state = std::mem::take(&mut host.coupled[s].state);
        let done = f(&mut state, v, &places, host);
        state.start_here();
        host.coupled[s].state = state;
        done
    }
}
