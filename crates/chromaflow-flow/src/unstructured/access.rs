//! The state seen from outside: fields, memory, facts. Everything is in the mesh's own order of nodes.

use super::flow::AT_HAND;
use super::{FlowSolver, FlowSystem};
use crate::bc::ConditionKind;
use crate::coupled::{CoupledSystem, Tight};
use crate::dual::Patch;
use crate::equations::perfect_gas::{N, State};
use crate::gas::{entropy, mach, temperature, total_over_static};
use crate::march::{Host, Order};
use crate::output::Field;
use crate::parallel;
use crate::residual::primitive_of;
use chromaflow::krylov::Gmres;
use chromaflow::order::PlanReport;
use chromaflow::{BlockCsr, BlockPattern, Jacobian, Policy, RowBatches};
use chromaflow_device::Buffer;

/// Bytes that a solver holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Blocks and pattern of the Jacobian, whose diagonal sweeps invert in place; what Krylov methods and incomplete
    /// factors need besides.
    pub jacobian: usize,
    /// Dual metrics (without the pattern, which they share with the Jacobian) and node coordinates.
    pub mesh: usize,
    /// Conserved and primitive state, and earlier time levels.
    pub state: usize,
    /// Gradients, fluxes, residual, update, the sweeps' vector and the like.
    pub work: usize,
    /// Everything on a device that computes; the others are then there but hardly touched.
    pub device: usize,
}

impl Memory {
    /// All of the host's.
    pub fn total(&self) -> usize {
        self.jacobian + self.mesh + self.state + self.work
    }
}

impl FlowSolver {
    /// Fields to look at: density, velocity, pressure, mach, temperature, at walls with a law of the wall theirs, cp, entropy; with viscosity also, zero off walls without
    /// slip, skin_friction, friction per area over the dynamic pressure, heat_flux, the heat that an isothermal wall draws per
    /// area over rho V^3 / 2 of the free stream, and y_plus; and vorticity, over a_inf and the mesh unit, and q_criterion.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn fields(&self) -> Vec<Field> {
        // Over ranks, what cannot be told shows at the next step.
        let _ = self.host.tell(Order::Fields);
        self.synced().fields_in_file(&|_| true)
    }

    /// Those of [`Self::fields`] that `wanted` picks by name, at the cost of these alone where one rank computes.
    ///
    /// # Panics
    /// As [`Self::fields`].
    pub fn fields_of(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Field> {
        let mut fields = match self.host.share() {
            None => self.synced().fields_in_file(wanted),
            Some(_) => self.fields(),
        };
        fields.retain(|field| wanted(&field.name));
        fields
    }

    /// Markers of extrapolation through most of whose area the flow leaves below the speed of sound, where nothing sets its pressure. Of
    /// this rank's rows alone.
    ///
    /// # Panics
    /// As [`Self::restart`].
    pub fn leaves_below_sound(&self) -> Vec<&str> {
        let host = self.synced();
        let patches = host.dual.patches.iter().zip(&host.boundaries);
        let extrapolated = patches.filter(|(_, condition)| condition.kind == ConditionKind::Extrapolation);
        let mostly = |patch: &&Patch| {
            let mut sums = [0.0; 2];
            for (&i, area) in patch.nodes.iter().zip(&patch.areas) {
                let w = primitive_of(&host.nodes[i as usize]);
                let outward: f64 = (0..3).map(|k| w[1 + k] * area[k]).sum();
                let size = area.iter().map(|a| a * a).sum::<f64>().sqrt();
                sums[usize::from(outward > 0.0 && mach(host.gas, &w) < 1.0)] += size;
            }
            sums[1] > sums[0]
        };
        extrapolated.map(|(patch, _)| patch).filter(mostly).map(|patch| patch.name.as_str()).collect()
    }

    /// Of inviscid flow, the part of the slip walls' area along which it has lost half of its head, the largest total
    /// pressure less the mean pressure, and more: nothing but numerical dissipation makes that, where the flow has left the wall. Of this
    /// rank's rows alone; zero of viscous flow, and where a shock may lose a half of that: above Mach 1.5, behind which 7 % of the total pressure
    /// are lost, and below where the head is a smaller part of it.
    ///
    /// # Panics
    /// As [`Self::restart`].
    pub fn separated(&self) -> f64 {
        let host = self.synced();
        let states = || host.nodes.iter().map(primitive_of);
        let gamma = host.gas.gamma;
        let fastest = states().map(|w| mach(host.gas, &w)).fold(0.0, f64::max);
        if host.viscous.is_some() || fastest > FAST {
            return 0.0;
        }
        let total = |w: &State| w[4] * total_over_static(gamma, mach(host.gas, w))[0];
        let most = states().map(|w| total(&w)).fold(0.0, f64::max);
        // The whole volume is that of all ranks.
        let pressures = states().zip(&host.dual.volumes).map(|(w, volume)| w[4] * volume).sum::<f64>();
        let mean = pressures / host.dual.volumes.iter().sum::<f64>();
        if shock_loss(gamma, fastest) * most > 0.25 * (most - mean) {
            return 0.0;
        }
        let mut sums = [0.0; 2];
        for (patch, _) in
            host.dual.patches.iter().zip(&host.boundaries).filter(|(_, c)| c.kind == ConditionKind::SlipWall)
        {
            for (&i, area) in patch.nodes.iter().zip(&patch.sizes) {
                let lost = most - total(&primitive_of(&host.nodes[i as usize])) > 0.5 * (most - mean);
                sums[usize::from(lost)] += area;
            }
        }
        sums[1] / (sums[0] + sums[1]).max(f64::MIN_POSITIVE)
    }

    /// Bytes held, by purpose.
    pub fn memory(&self) -> Memory {
        Memory { device: self.device_bytes(), ..self.host.memory() }
    }

    /// Gives back the memory of the linear system, the gradients and the fluxes, most of what a solver holds, when fields
    /// are to be written and no further step is planned. A later step takes it again.
    pub fn release(&mut self) {
        let _ = self.host.tell(Order::Release);
        let host = &mut self.host;
        host.jacobian = no_matrix();
        host.linear.as_mut().expect(AT_HAND).vectors = Gmres::default();
        (host.gradients, host.fluxes) = (Buffer::default(), Buffer::default());
        host.coupled.iter_mut().for_each(CoupledSystem::release);
        if let Some(tight) = &mut host.tight {
            tight.release();
        }
    }

    /// Bytes that [`FlowSolver::release`] would give back.
    pub fn releasable(&self) -> usize {
        let host = &self.host;
        host.jacobian.bytes() - host.dual.pattern.bytes() + host.gradients.bytes() + host.fluxes.bytes()
    }

    /// Stages of the set-up, in their order, and their seconds on this rank.
    pub fn setup_seconds(&self) -> &[(&'static str, f64)] {
        self.host.laps.seconds()
    }

    /// How the nodes were ordered: bandwidth, colors.
    pub fn order(&self) -> &PlanReport {
        &self.host.plan.report
    }

    /// The Jacobian of the last step (in `dsh` with its off-diagonal blocks converted; after sweeps its diagonal blocks are inverted), its rows in the solver's order.
    pub fn jacobian(&self) -> &chromaflow::Jacobian {
        &self.host.jacobian
    }

    /// The linear system A dq = b that the next step would solve: the Jacobian at the present state and CFL number, its
    /// diagonal not yet inverted, and the residual (the step subtracts dq). Off-diagonal blocks have f32 values under
    /// the policies `ds` and `dsh`.
    ///
    /// **Shapes**: one row a node, in the mesh's own order (the first plane's of a planar mesh), blocks of 5 x 5,
    /// variables density, momentum and energy.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn linear_system(&mut self) -> (BlockCsr, Vec<f64>) {
        self.assembled();
        let host = &self.host;
        let permutation = &host.plan.permutation;
        let matrix = host.jacobian.to_csr().permuted(&permutation.inverse());
        let mut rhs = vec![0.0; N * host.q.len()];
        permutation.scatter(N, host.residual.as_flattened(), &mut rhs);
        (matrix, rhs)
    }

    /// The same system without a copy, its rows in the solver's order: D and O as assembled, the colors, b.
    ///
    /// # Panics
    /// When a device computes and [`Self::sync`] was not called since.
    pub fn assembled(&mut self) -> (&chromaflow::Jacobian, &RowBatches, &[f64]) {
        let at = self.next_moment();
        let host = self.synced_mut();
        host.compute_residual(&at);
        host.assemble(&at);
        (&host.jacobian, &host.plan.batches, host.residual.as_flattened())
    }

    /// Values of all rows in the mesh's own order of nodes.
    ///
    /// **Shapes**: `rows` is `[rows, width]` in the solver's order, the result `[nodes, width]`. Over ranks all take part, and the first has it;
    /// where no rank has the mesh whole, of the nodes of its boundary.
    pub fn in_mesh_order(&self, width: usize, rows: &[f64]) -> Vec<f64> {
        self.host.to_known_nodes(width, rows.to_vec())
    }

    /// The residual at the last step, in the solver's order.
    pub fn residual(&self) -> &[State] {
        &self.host.residual
    }
}

impl FlowSystem {
    /// Fields that `wanted` picks, and some besides that cost little, in the order of the file.
    fn fields_in_file(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Field> {
        let in_file =
            |field: Field| Field { values: self.to_known_nodes(field.components, field.values), ..field };
        self.row_fields(wanted).into_iter().map(in_file).collect()
    }

    /// The same by rows of this rank, ghosts as they come.
    pub(super) fn row_fields(&self, wanted: &dyn Fn(&str) -> bool) -> Vec<Field> {
        let free = self.scale.pressure;
        let dynamic = 0.5 * self.config.freestream.mach.powi(2);
        let gas = self.gas;
        let mut fields = Vec::new();
        let nodes = &self.nodes;
        let mut add = |name: &str, components: usize, f: &(dyn Fn(&State, &mut [f64]) + Sync)| {
            if wanted(name) {
                let mut values = vec![0.0; components * nodes.len()];
                parallel::rows(&self.team, nodes.len(), components, &mut values, |rows, out| {
                    let each = nodes[rows].iter().zip(out.chunks_exact_mut(components));
                    each.for_each(|(node, out)| f(&primitive_of(node), out));
                });
                fields.push(Field { name: name.to_owned(), components, values });
            }
        };
        add("density", 1, &|w, out| out[0] = w[0]);
        add("velocity", 3, &|w, out| out.copy_from_slice(&w[1..4]));
        add("pressure", 1, &|w, out| out[0] = w[4]);
        add("mach", 1, &|w, out| out[0] = mach(gas, w));
        add("temperature", 1, &|w, out| out[0] = temperature(gas, w));
        add("cp", 1, &|w, out| out[0] = (w[4] - free) / dynamic);
        add("entropy", 1, &|w, out| out[0] = entropy(gas, w));
        if let Some(field) = fields.iter_mut().find(|field| field.name == "temperature") {
            self.put_temperatures_of_laws(&mut field.values);
        }
        fields.extend(self.shear_fields(wanted));
        fields.extend(self.coupled_fields(wanted));
        fields
    }

    fn memory(&self) -> Memory {
        let (n, linear) = (self.q.len(), self.linear.as_ref().expect(AT_HAND));
        let coupled = self.coupled.iter().map(CoupledSystem::bytes);
        let [matrices, states, work] =
            coupled.fold([0; 3], |all, one| std::array::from_fn(|k| all[k] + one[k]));
        let [joint, joint_work] = self.tight.as_ref().map_or([0; 2], Tight::bytes);
        Memory {
            jacobian: self.jacobian.bytes() + linear.bytes() + matrices + joint,
            mesh: self.dual.bytes() - self.dual.pattern.bytes()
                + size_of_val(&*self.moments)
                + self.mapping.bytes()
                + self.viscous.as_ref().map_or(0, |(_, elements)| elements.bytes())
                + 24 * n,
            state: size_of_val(&*self.q)
                + size_of_val(&*self.last_good)
                + size_of_val(&*self.first)
                + size_of_val(&*self.cfl_shares)
                + size_of_val(&*self.levels.last)
                + size_of_val(&*self.levels.before)
                + states
                + 40 * n,
            work: size_of_val(&*self.gradients)
                + size_of_val(&*self.limits)
                + size_of_val(&*self.fluxes)
                + size_of_val(&*self.residual)
                + size_of_val(&*self.update)
                + linear.work_bytes()
                + work
                + joint_work,
            device: 0,
        }
    }

    /// Nodes of the mesh as given (both planes of a planar one).
    pub(super) fn file_nodes(&self) -> usize {
        let twins = self.kept().map_or(0, |kept| kept.twins.len());
        let all = self.rows() * if self.planar { 2 } else { 1 } + twins;
        self.images.as_ref().map_or(all, |images| images.merged.len())
    }
}

/// Mach number above which shocks lose so much that what is lost along walls says nothing of where a flow has left them.
const FAST: f64 = 1.5;

/// Part of the total pressure that a normal shock of this Mach number loses; none below 1.
///
/// **Source**: NACA Report 1135 (1953), eq. 99.
fn shock_loss(gamma: f64, mach: f64) -> f64 {
    let (g, square) = (gamma, mach.max(1.0).powi(2));
    let density = (g + 1.0) * square / ((g - 1.0) * square + 2.0);
    let pressure = (g + 1.0) / (2.0 * g * square - (g - 1.0));
    1.0 - density.powf(g / (g - 1.0)) * pressure.powf(1.0 / (g - 1.0))
}

/// A matrix that holds no memory.
pub(super) fn no_matrix() -> Jacobian {
    let empty = BlockPattern::new(0, vec![0], Vec::new()).expect("no rows, no blocks");
    Jacobian::zeroed(empty, N, Policy::D).expect("a matrix without rows is square")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By the tables of NACA Report 1135: p02 / p01 is 0.9298 at Mach 1.5 and 0.9928 at 1.2.
    #[test]
    fn shocks_lose_total_pressure() {
        for (mach, kept) in [(0.5, 1.0), (1.0, 1.0), (1.2, 0.9928), (1.5, 0.9298)] {
            assert!((shock_loss(1.4, mach) - 1.0 + kept).abs() < 5e-5, "{mach}");
        }
    }
}
