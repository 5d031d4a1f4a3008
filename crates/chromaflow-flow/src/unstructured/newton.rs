//! The linear system of a Newton-Krylov step: its operator is the derivative of the residual, by differences, and the first-order
//! matrix preconditions it.

use super::FlowSystem;
use super::access::no_matrix;
use super::coupled::eddies;
use super::flow::AT_HAND;
use crate::bc::WallHeat;
use crate::config::NewtonKrylov;
use crate::flux::spectral_radius;
use crate::gas::{primitive, temperature};
use crate::march::Moment;
use crate::march::linear::LinearSolver;
use crate::parallel;
use crate::residual::primitive_of;
use crate::viscous::{molecular, spectral_radius_viscous_of, with_eddies};
use chromaflow::Jacobian;
use chromaflow::krylov::{Control, Gmres, LinearOperator, Preconditioner};
use chromaflow::vector::norm2;
use chromaflow_device::Team;
use std::cell::RefCell;
use std::sync::Arc;

/// A v = V/dt v + (R(q + h v) - R(q)) / h, with h = sqrt(eps) |q| / |v|. Rows of what walls and conditions hold are those of the
/// identity.
///
/// **Source**: Knoll and Keyes (2004), J. Comput. Phys. 193, eq. 10 to 12.
struct Derivative<'a> {
    system: RefCell<&'a mut FlowSystem>,
    at: Moment,
    /// The state and its residual.
    q: Vec<[f64; 5]>,
    residual: Vec<[f64; 5]>,
    /// V/dt of each node.
    pseudo_time: Vec<f64>,
    /// |q|
    size: f64,
}

impl LinearOperator for Derivative<'_> {
    fn len(&self) -> usize {
        5 * self.q.len()
    }

    fn apply(&self, team: &Team, v: &[f64], y: &mut [f64]) {
        let length = norm2(team, v);
        if length == 0.0 {
            return y.fill(0.0);
        }
        let h = f64::EPSILON.sqrt() * self.size / length;
        let system = &mut **self.system.borrow_mut();
        system.set_beside(&self.q, h, v);
        system.compute_residual(&self.at);
        let (moved, base, times, planar) =
            (&system.residual, &self.residual, &self.pseudo_time, system.planar);
        parallel::rows(team, self.q.len(), 5, y, |rows, y| {
            for (i, y) in rows.zip(y.as_chunks_mut::<5>().0) {
                for k in 0..5 {
                    let slope = (moved[i][k] - base[i][k]) / h;
                    y[k] = slope + times[i] * v[5 * i + k];
                }
                if planar {
                    y[3] = v[5 * i + 3];
                }
            }
        });
        for wall in &system.fixed {
            let (i, end) = (5 * wall.node as usize, if wall.heat == WallHeat::Isothermal { 5 } else { 4 });
            y[i + 1..i + end].copy_from_slice(&v[i + 1..i + end]);
        }
        for &node in &system.held {
            let i = 5 * node as usize;
            y[i..i + 5].copy_from_slice(&v[i..i + 5]);
        }
    }
}

/// The first-order matrix's approximate inverse.
struct FirstOrder<'a> {
    linear: &'a mut LinearSolver,
    jacobian: &'a Jacobian,
}

impl Preconditioner for FirstOrder<'_> {
    fn apply(&mut self, _team: &Team, r: &[f64], z: &mut [f64]) {
        self.linear.precondition(self.jacobian, r, z);
    }
}

impl FlowSystem {
    /// Solves (V/dt + dR/dq) x = R for the update x by flexible GMRES, around the first-order matrix in `jacobian`; the relative
    /// residual that is left, or the row of a diagonal block that cannot be inverted.
    pub(super) fn solve_newton(&mut self, at: &Moment, options: &NewtonKrylov) -> Result<f64, usize> {
        let mut linear = self.linear.take().expect(AT_HAND);
        let mut jacobian = std::mem::replace(&mut self.jacobian, no_matrix());
        let (team, mut x) = (Arc::clone(&self.team), std::mem::take(&mut self.update));
        x.fill(0.0);
        let solved = linear.factor(&mut jacobian).map(|()| {
            let (b, friction) = (self.residual.clone(), self.friction.clone());
            let derivative = Derivative {
                at: *at,
                size: norm2(&team, self.q.as_flattened()),
                q: self.q.clone(),
                residual: b.clone(),
                pseudo_time: self.pseudo_times(at),
                system: RefCell::new(self),
            };
            let mut m = FirstOrder { linear: &mut linear, jacobian: &jacobian };
            let control = Control { tolerance: options.tolerance, max_iterations: options.directions };
            let mut gmres = Gmres::new(options.directions);
            let solve = gmres.solve(&team, &derivative, &mut m, b.as_flattened(), &mut x, &control);
            let q = derivative.q;
            self.set_beside(&q, 0.0, q.as_flattened());
            (self.q, self.residual, self.friction) = (q, b, friction);
            if !self.coupled.is_empty() {
                // Its systems look at gradients and fluxes, too.
                self.compute_residual(at);
            }
            solve.relative_residual
        });
        self.update = x;
        (self.linear, self.jacobian) = (Some(linear), jacobian);
        solved
    }

    /// Sets the state to q + h v, with what walls hold in its place.
    fn set_beside(&mut self, q: &[[f64; 5]], h: f64, v: &[f64]) {
        let (gas, planar, n) = (self.gas, self.planar, q.len());
        parallel::rows2(&self.team, n, (1, &mut self.q), (1, &mut self.nodes), |rows, out, nodes| {
            for ((i, out), node) in rows.zip(out).zip(nodes) {
                *out = std::array::from_fn(|k| q[i][k] + h * v[5 * i + k]);
                if planar {
                    out[3] = 0.0;
                }
                node[..5].copy_from_slice(&primitive(gas, out));
            }
        });
        self.hold_walls();
    }

    /// V/dt of each node: the sum of the spectral radii over its faces, over the CFL number.
    fn pseudo_times(&self, at: &Moment) -> Vec<f64> {
        let (gas, dual, eddies) = (self.gas, &self.dual, eddies(&self.config, &self.coupled));
        let mut times = vec![0.0; dual.nodes()];
        parallel::rows(&self.team, dual.nodes(), 1, &mut times, |rows, times| {
            for (i, time) in rows.zip(times) {
                let w = primitive_of(&self.nodes[i]);
                let diffusing = self.viscous.as_ref().map(|(transport, _)| {
                    let own = molecular(gas, *transport, temperature(gas, &w));
                    let eddy_viscosity = eddies.viscosity.get(i).copied().unwrap_or(0.0);
                    with_eddies(gas, &own, eddy_viscosity, eddies.prandtl)
                });
                let sum: f64 = dual
                    .pattern
                    .range(i)
                    .map(|k| {
                        let n = &dual.areas[dual.edge_of[k] as usize];
                        let viscous = diffusing
                            .as_ref()
                            .map_or(0.0, |d| spectral_radius_viscous_of(gas, d, &w, n, dual.volumes[i]));
                        spectral_radius(gas, &w, n) + viscous
                    })
                    .sum();
                *time = sum / at.cfl;
            }
        });
        times
    }
}
