use super::*;
use crate::FlowSolver;
use crate::config::{Boundary, FlowConfig, TurbulenceModel, WallTreatment};
use crate::coupled::CoupledSystem;
use crate::mesh::generate::FlatPlate;
use crate::real::{Dual, Real};
use crate::testmesh::mixed_cube;
use crate::turbulence::testcases::along_a_wall;
use chromaflow::BlockCsr;
use chromaflow_device::Team;
use chromaflow_testkit::dense_solve;
use std::sync::Arc;

type D2 = Dual<f64, 2>;

const VARIANTS: [KOmegaVariant; 3] = [KOmegaVariant::Sst, KOmegaVariant::SstVorticity, KOmegaVariant::Wilcox];
const MODELS: [TurbulenceModel; 3] =
    [TurbulenceModel::Sst, TurbulenceModel::SstVorticity, TurbulenceModel::KOmega];

fn model(variant: KOmegaVariant) -> KOmega<f64> {
    KOmega { variant, ambient_k: 0.3, ambient_omega: 0.2, roughness: 0.0 }
}

/// Sources' derivatives against dual numbers, with limited and free production, with and without the limit of the eddy viscosity,
/// cross diffusion of both signs and below its limit.
#[test]
fn derivatives_against_dual_numbers_in_every_branch() {
    let (mut limited, mut bounded, mut sinks, mut cut) = (0, 0, 0, 0);
    for variant in VARIANTS {
        let (plain, dual) = (model(variant), model(variant).lift::<D2>());
        for f1 in [0.0, 0.4, 1.0] {
            for (k, omega) in [(1e-3, 0.2), (0.7, 1.3), (2.0, 40.0)] {
                for shear in [0.0, 0.1, 3.0, 60.0] {
                    for slope in [-80.0, -0.03, 0.0, 0.5] {
                        let deformation = [shear, 0.9 * shear, 0.8 * shear, 0.1 * shear];
                        let slopes = [[slope, 0.0, 0.0], [1.0, 0.0, 0.0]];
                        let lift = |a: [f64; 4]| a.map(D2::c);
                        let [of_k, of_omega] = [D2::variable(k, 0), D2::variable(omega, 1)];
                        let rate = k_omega_rate(plain, 1.0, omega, &deformation);
                        let rates = k_omega_rate(dual, D2::c(1.0), of_omega, &lift(deformation));
                        assert_eq!((rate[0], rate[1]), (rates[0].v, rates[0].d[1]));
                        let found =
                            k_omega_sources(plain, f1, &rate, 1.1, &[k, omega], &deformation, &slopes, 1.2);
                        let exact = k_omega_sources(
                            dual,
                            D2::c(f1),
                            &rates,
                            D2::c(1.1),
                            &[of_k, of_omega],
                            &lift(deformation),
                            &slopes.map(|s| s.map(D2::c)),
                            D2::c(1.2),
                        );
                        let what =
                            format!("{variant:?}, F1 {f1}, k {k}, omega {omega}, S {shear}, slope {slope}");
                        let expected = [exact[0].d[0], exact[0].d[1], exact[1].d[1]];
                        for (a, b) in found[2..].iter().zip(expected) {
                            assert!((a - b).abs() <= 1e-12 * (1.0 + b.abs()), "{what}: {a} {b}");
                        }
                        assert_eq!(exact[1].d[0], 0.0, "{what}");
                        limited += usize::from(shear * shear / rate[0] > 1.8 * omega);
                        bounded += usize::from(rate[1] == 0.0);
                        sinks += usize::from(slope < 0.0 && found[1].is_finite());
                        cut += usize::from(slope == -80.0 && f1 < 1.0 && omega < 1.0);
                    }
                }
            }
        }
    }
    assert!(
        [limited, bounded, sinks, cut].iter().all(|count| *count > 20),
        "{limited} {bounded} {sinks} {cut}"
    );
}

/// Without gradients k falls as (1 + beta omega_0 t)^(-beta*/beta): of SST far from walls F1 = 0 and beta is that of the outer set.
#[test]
fn turbulence_decays_as_it_should() {
    for (variant, beta) in
        [(KOmegaVariant::Sst, 0.0828), (KOmegaVariant::SstVorticity, 0.0828), (KOmegaVariant::Wilcox, 0.0708)]
    {
        let model = KOmega { variant, ambient_k: 0.0, ambient_omega: 0.0, roughness: 0.0 };
        let still = [[0.0; 3]; 2];
        let [f1, f2] = k_omega_blending(model, &[1.0, 1e-6], 1e9, &[0.01, 5.0], &still);
        assert!(variant == KOmegaVariant::Wilcox || (f1 < 1e-30 && f2 < 1e-10), "{f1} {f2}");
        let rates = |q: [f64; 2]| {
            let rate = k_omega_rate(model, f2, q[1], &[0.0; 4]);
            let [k, omega, ..] = k_omega_sources(model, f1, &rate, 1.0, &q, &[0.0; 4], &still, 1.0);
            [k, omega]
        };
        // Runge-Kutta of fourth order.
        let (mut q, steps, time) = ([0.01, 5.0], 4000, 20.0);
        let h = time / f64::from(steps);
        for _ in 0..steps {
            let add = |a: [f64; 2], s: f64, b: [f64; 2]| [a[0] + s * b[0], a[1] + s * b[1]];
            let one = rates(q);
            let two = rates(add(q, 0.5 * h, one));
            let three = rates(add(q, 0.5 * h, two));
            let four = rates(add(q, h, three));
            for v in 0..2 {
                q[v] += h / 6.0 * (one[v] + 2.0 * two[v] + 2.0 * three[v] + four[v]);
            }
        }
        let whole = 1.0 + beta * 5.0 * time;
        assert!((q[1] * whole / 5.0 - 1.0).abs() < 1e-8, "{variant:?}: {q:?}");
        assert!((q[0] * whole.powf(0.09 / beta) / 0.01 - 1.0).abs() < 1e-8, "{variant:?}: {q:?}");
    }
}

/// Sustaining terms hold what flows in where nothing else happens.
#[test]
fn ambient_turbulence_is_sustained() {
    for variant in VARIANTS {
        let model = model(variant);
        let q = [model.ambient_k, model.ambient_omega];
        for f1 in [0.0, 1.0] {
            let rate = k_omega_rate(model, 0.0, q[1], &[0.0; 4]);
            let [k, omega, ..] = k_omega_sources(model, f1, &rate, 1.0, &q, &[0.0; 4], &[[0.0; 3]; 2], 1.0);
            assert!(k.abs() < 1e-18 && omega.abs() < 1e-18, "{variant:?}: {k} {omega}");
        }
    }
}

/// In a log layer k = u_tau^2/0.3, omega = u_tau/(0.3 kappa y): production and destruction of k balance, and the diffusion of omega makes
/// up for what its production lacks: gamma = beta/beta* - sigma_omega kappa^2/0.3, which is SST-V's inner set by definition.
#[test]
fn a_log_layer_balances() {
    let model =
        KOmega { variant: KOmegaVariant::SstVorticity, ambient_k: 0.0, ambient_omega: 0.0, roughness: 0.0 };
    let (y, kappa) = (0.4, 0.41);
    let (k, omega, shear) = (1.0 / 0.3, 1.0 / (0.3 * kappa * y), 1.0 / (kappa * y));
    let deformation = deformation(&[[0.0, shear, 0.0], [0.0; 3], [0.0; 3]]);
    let slopes = [[0.0; 3], [0.0, -omega / y, 0.0]];
    let rate = k_omega_rate(model, 0.0, omega, &deformation);
    let [of_k, of_omega, ..] =
        k_omega_sources(model, 1.0, &rate, 1.0, &[k, omega], &deformation, &slopes, 1.0);
    assert!(of_k.abs() < 1e-12 * omega * k, "{of_k}");
    // d/dy (sigma nu_t domega/dy), nu_t = kappa y.
    let diffusion = 0.5 * kappa * omega / y;
    assert!((of_omega + diffusion).abs() < 1e-12 * diffusion, "{of_omega} {diffusion}");
}

/// Blending: 1 in the layer next to a wall, whatever k is, 0 far from it.
#[test]
fn blending_knows_where_it_is() {
    for variant in [KOmegaVariant::Sst, KOmegaVariant::SstVorticity] {
        let at = |distance: f64, k: f64, omega: f64| {
            k_omega_blending(model(variant), &[1.0, 1e-6], distance, &[k, omega], &[[0.0; 3]; 2])
        };
        for distance in [1e-6, 1e-5] {
            let [f1, f2] = at(distance, 1e-6, 6e-6 / (0.075 * distance * distance));
            assert!(f1 > 1.0 - 1e-12 && f2 > 1.0 - 1e-12, "{f1} {f2}");
        }
        // Far off both are those of sqrt(k) / (beta* omega d).
        let ([f1, f2], length) = (at(10.0, 1e-4, 10.0), 0.01_f64 / (0.09 * 10.0 * 10.0));
        assert!(
            (f1 - length.powi(4)).abs() < 1e-15 && (f2 - 4.0 * length * length).abs() < 1e-9,
            "{f1} {f2}"
        );
    }
}

fn solver(model: TurbulenceModel, threads: usize, change: impl Fn(&mut FlowConfig)) -> FlowSolver {
    let turbulence = TurbulenceConfig { model, ..TurbulenceConfig::default() };
    let mut config = along_a_wall(turbulence);
    change(&mut config);
    FlowSolver::new(&mixed_cube(5, 0.2), config, Arc::new(Team::new(threads))).unwrap()
}

/// A flow along the wall, and turbulence that varies in all directions.
fn scatter(solver: &mut FlowSolver) {
    solver.set_state(|[x, y, z]| {
        let u = 0.4 * z.sqrt() * (1.0 + 0.2 * (7.0 * x).sin());
        // Nowhere that of a far field along which nothing flows through: fluxes turn there.
        let p = 1.0 / 1.4 + 0.05 * (4.0 * x + 0.3).sin();
        [1.0 + 0.1 * (3.0 * y).cos(), u, 0.05 * (5.0 * z).sin(), 0.03 * x, p]
    });
    solver.set_unknown("k", |[x, y, z]| 1e-3 * z * (1.5 + (5.0 * x).sin() * (3.0 * y).cos())).unwrap();
    solver
        .set_unknown("omega", |[x, y, z]| (1.0 + 0.5 * (4.0 * x + y).sin()) * (1.0 + 0.1 / (z * z)))
        .unwrap();
}

fn system(solver: &mut FlowSolver, cfl: f64) -> (Vec<f64>, BlockCsr) {
    let at = Moment::first(cfl);
    solver.host.compute_residual(&at);
    solver.host.coupled_residuals(&at);
    let mut coupled = std::mem::take(&mut solver.host.coupled);
    let view = solver.host.view(&[], &solver.host.fluxes);
    let matrix = coupled[0].assemble(&view, &at).unwrap().to_csr();
    let residual = coupled[0].residual.clone();
    solver.host.coupled = coupled;
    (residual, matrix)
}

/// On a mesh of all elements the part of the matrix that belongs to one unknown has no positive entry off the diagonal, and that of omega a
/// positive diagonal and no negative sum of a row; omega does not depend on k. With k in the place of k's unknowns, a row's sum is the residual less what
/// diffusion across edges brings, which V/dt makes up for where k grows.
#[test]
fn rows_are_those_of_m_matrices() {
    for model in MODELS {
        let mut solver = solver(model, 1, |_| ());
        scatter(&mut solver);
        for cfl in [1.0, 1e300] {
            let (_, a) = system(&mut solver, cfl);
            for i in 0..a.pattern().rows() {
                for v in 0..2 {
                    let (mut sum, mut diagonal) = (0.0, 0.0);
                    for (&j, k) in a.pattern().columns(i).iter().zip(a.pattern().range(i)) {
                        // By columns.
                        let entry = a.block(k)[2 * v + v];
                        assert_eq!(a.block(k)[1], 0.0, "omega by k");
                        sum += entry;
                        if j as usize == i {
                            diagonal = entry;
                        } else {
                            assert!(entry <= 0.0, "{model:?}, row {i}, column {j}: {entry}");
                        }
                    }
                    assert!(
                        v == 0 || (diagonal > 0.0 && sum >= -1e-12 * diagonal),
                        "{model:?}, row {i}: {diagonal}, {sum}"
                    );
                }
            }
        }
    }
}

/// The matrix of k is an M-matrix with all of its source in it, however large the step, also where production is ten times the destruction: no entry off
/// the diagonal is positive, and A x = 1 has a positive x (Berman and Plemmons 1979, condition I27). Of `sst`; of `sst-v`, whose production is by vorticity, it
/// is not in this state.
#[test]
fn the_matrix_of_k_is_inverse_positive_where_k_grows() {
    let model = TurbulenceModel::Sst;
    let mesh = FlatPlate { cells: [6, 5, 8], height: 1.0, growth: 1.2 }.mesh();
    let mut config = along_a_wall(TurbulenceConfig { model, ..TurbulenceConfig::default() });
    let names: Vec<String> = mesh.markers.iter().map(|marker| marker.name.clone()).collect();
    config.boundaries = names
        .into_iter()
        .map(|name| {
            let wall = name.contains("plate") || name.contains("wall");
            (name, if wall { Boundary::NoSlipAdiabatic } else { Boundary::Symmetry })
        })
        .collect();
    let mut solver = FlowSolver::new(&mesh, config, Arc::new(Team::new(1))).unwrap();
    solver.set_state(|[x, y, _]| {
        [1.0, 0.3 * y.abs().sqrt() * (1.0 + 0.3 * (4.0 * x).sin()), 0.02 * x, 0.0, 1.0 / 1.4]
    });
    solver.set_unknown("k", |[x, y, _]| 1e-4 * (1.5 + (9.0 * x).sin() * (7.0 * y).cos())).unwrap();
    solver.set_unknown("omega", |_| 0.05).unwrap();
    let (_, a) = system(&mut solver, 1e300);
    let held = &solver.host.coupled[0].state.held;
    let (n, mut growing) = (a.pattern().rows(), 0);
    let mut of_k = vec![0.0; n * n];
    for i in 0..n {
        let mut sum = 0.0;
        for (&j, k) in a.pattern().columns(i).iter().zip(a.pattern().range(i)) {
            let entry = a.block(k)[0];
            assert!(entry <= 0.0 || j as usize == i, "{model:?}, row {i}, column {j}: {entry}");
            // Column-major.
            (of_k[j as usize * n + i], sum) = (entry, sum + entry);
        }
        growing += usize::from(sum < 0.0 && held.binary_search(&(i as u32)).is_err());
    }
    let x = dense_solve(&of_k, &vec![1.0; n]).expect("an M-matrix has an inverse");
    assert!(x.iter().all(|x| *x > 0.0), "{model:?}: {x:?}");
    assert!(growing > 20, "{model:?}: {growing} rows with more production than anything else");
}

/// The derivative along a direction against differences: of the residual, and of the eddy viscosity that the flow takes.
#[test]
fn derivatives_along_directions_are_those_of_differences() {
    for model in MODELS {
        let walls = [WallTreatment::Resolved, WallTreatment::Functions, WallTreatment::Automatic];
        for (second_order, walls) in
            [(false, walls[0]), (true, walls[0]), (false, walls[1]), (true, walls[2])]
        {
            let mut solver = solver(model, 2, |config| {
                let turbulence = config.turbulence.as_mut().unwrap();
                (turbulence.second_order, turbulence.walls) = (second_order, walls);
            });
            scatter(&mut solver);
            let at = Moment::first(1.0);
            let host = &mut solver.host;
            let way = |i: usize, k: usize| (0.7 * i as f64 + 1.9 * k as f64).sin();
            let (nodes, values, h) = (host.nodes.to_vec(), host.coupled[0].state.values.clone(), 1e-7);
            let held = host.coupled[0].state.held.clone();
            let mut found = Vec::new();
            for step in [-h, h, 0.0] {
                for (i, node) in host.nodes.iter_mut().enumerate() {
                    let wall = held.binary_search(&(i as u32)).is_ok();
                    for k in (0..5).filter(|k| !wall || *k == 0 || *k == 4) {
                        node[k] = nodes[i][k] + step * 0.1 * way(i, k);
                    }
                }
                for (i, value) in host.coupled[0].state.values.iter_mut().enumerate() {
                    *value = values[i] * (1.0 + step * way(i, 7));
                }
                host.compute_residual(&at);
                host.coupled_residuals(&at);
                let eddies = host.coupled[0].physics.eddy_viscosity().to_vec();
                found.push((
                    host.coupled[0].residual.clone(),
                    eddies,
                    host.nodes.to_vec(),
                    host.fluxes.to_vec(),
                ));
            }
            let (base, end) = (&found[2], &found[1]);
            let records: Vec<_> = (0..nodes.len())
                .map(|i| {
                    let mut record = nodes[i];
                    let wall = held.binary_search(&(i as u32)).is_ok();
                    for k in 0..5 {
                        record[k] = if !wall || k == 0 || k == 4 { 0.1 * way(i, k) } else { 0.0 };
                    }
                    record
                })
                .collect();
            let mut coupled = std::mem::take(&mut host.coupled);
            let flow = FlowView { nodes: &base.2, ..host.view(&[], &base.3) };
            let moved = FlowView { nodes: &end.2, ..host.view(&[], &end.3) };
            let direction = Direction { flow, nodes: &records, h };
            let CoupledSystem { physics, state, .. } = &mut coupled[0];
            let mut changes: Vec<f64> = values.iter().enumerate().map(|(i, v)| v * way(i, 7)).collect();
            physics.direct(&direction, state, &mut changes);
            let mut exact = vec![0.0; values.len()];
            physics.derivative(&direction, &moved, &at, state, &changes, &mut exact);
            let eddies = physics.eddy_viscosity().to_vec();
            let what = format!("{model:?}, second order {second_order}, {walls:?}");
            for v in 0..2 {
                let slope = |i: usize| (found[1].0[i] - found[0].0[i]) / (2.0 * h);
                let rows = (0..nodes.len()).filter(|i| held.binary_search(&(*i as u32)).is_err());
                let rows: Vec<usize> = rows.map(|i| 2 * i + v).collect();
                let largest = rows.iter().map(|&i| slope(i).abs()).fold(0.0, f64::max);
                assert!(largest > 0.0, "{what}");
                for i in rows {
                    let (a, b) = (exact[i], slope(i));
                    assert!((a - b).abs() < 2e-6 * largest, "{what}, {i}: {a} {b} of {largest}");
                }
            }
            let largest = eddies.iter().copied().fold(0.0, f64::max);
            for (i, (a, b)) in eddies.iter().zip(&end.1).enumerate() {
                assert!((a - b).abs() < 1e-11 * largest, "{what}, eddies at {i}: {a} {b}");
            }
            physics.leave_direction();
            assert_eq!(physics.eddy_viscosity(), &base.1[..], "{what}");
            host.coupled = coupled;
        }
    }
}

/// What Newton-Krylov steps take for V/dt is what the matrix has on its diagonal, growth of k included.
#[test]
fn pseudo_times_are_those_of_the_matrix() {
    let mut solver = solver(TurbulenceModel::Sst, 1, |_| ());
    scatter(&mut solver);
    let diagonal = |a: &BlockCsr, i: usize, v: usize| {
        let own = |k: &usize| a.pattern().col_idx()[*k] as usize == i;
        a.block(a.pattern().range(i).find(own).unwrap())[3 * v]
    };
    let [still, stepping] = [1e300, 3.0].map(|cfl| system(&mut solver, cfl).1);
    let mut coupled = std::mem::take(&mut solver.host.coupled);
    let view = solver.host.view(&[], &solver.host.fluxes);
    let [least, times] = [1e300, 3.0].map(|cfl| {
        let at = Moment::first(cfl);
        let mut times = vec![0.0; view.dual.nodes()];
        coupled[0].physics.pseudo_time(&view, &coupled[0].state, &at, &mut times);
        times
    });
    let held = std::mem::take(&mut coupled[0].state.held);
    // Growth of k asks for some however large the step.
    assert!(least.iter().any(|time| *time > 0.0));
    for i in (0..times.len()).filter(|i| held.binary_search(&(*i as u32)).is_err()) {
        for v in 0..2 {
            let [a, b] = [&stepping, &still].map(|m| diagonal(m, i, v));
            let added = times[i] - least[i];
            assert!(times[i] > 0.0 && (a - b - added).abs() < 1e-12 * a, "row {i}: {a} - {b}, {added}");
        }
    }
}

/// Residuals do not depend on the number of threads; walls have k = 0 and an omega that follows the gas there; steps from a wild state stay
/// positive.
#[test]
fn values_stay_positive_and_walls_follow_the_flow() {
    for model in MODELS {
        let residuals = [1, 3].map(|threads| {
            let mut solver = solver(model, threads, |_| ());
            scatter(&mut solver);
            system(&mut solver, 1.0).0
        });
        assert_eq!(residuals[0], residuals[1]);
        let mut solver = solver(model, 1, |_| ());
        scatter(&mut solver);
        solver.set_unknown("omega", |x| 10.0 * (20.0 * x[0]).sin().abs() + 1e-3).unwrap();
        for _ in 0..20 {
            assert!(!solver.step().rejected);
        }
        let at = Moment::first(1.0);
        solver.host.compute_residual(&at);
        let (host, state) = (&solver.host, &solver.host.coupled[0].state);
        let view = host.view(&[], &[]);
        let (gas, transport) = (view.gas, view.transport.unwrap());
        for (i, q) in state.values.chunks_exact(2).enumerate() {
            let wall = state.held.binary_search(&(i as u32)).is_ok();
            assert!(q[1] > 0.0 && if wall { q[0] == 0.0 } else { q[0] > 0.0 }, "{model:?}, {i}: {q:?}");
        }
        // Neighbors of the wall z = 0 off it: each wall node has one straight above, a cell of about 1/5 high.
        let beta = if model == TurbulenceModel::KOmega { 0.0708 } else { 0.075 };
        for &i in &state.held {
            let w = primitive_of(&host.nodes[i as usize]);
            let nu = transport.scale * viscosity(transport, temperature(gas, &w)) / w[0];
            let columns = host.dual.pattern.columns(i as usize).iter();
            let heights = columns.map(|&j| host.nodes[j as usize][7]).filter(|z| *z > 1e-9);
            let height = heights.fold(f64::INFINITY, f64::min);
            let expected = 60.0 * nu / (beta * height * height);
            let found = state.values[2 * i as usize + 1];
            assert!((found / expected - 1.0).abs() < 1e-12, "{model:?}, {i}: {found} {expected}");
        }
    }
}

/// Uniform turbulence that sources sustain stays what it is to the last digits, whatever the flow does around it: nothing of its
/// transport makes or loses any. The wall is far.
#[test]
fn a_free_stream_is_kept() {
    for model in MODELS {
        let mut solver = solver(model, 2, |config| {
            config.turbulence.as_mut().unwrap().sustained = true;
            config.freestream.reynolds = 1e9;
        });
        let inflow = [9e-9, 9e-9 / (0.009 * 0.4 / 1e9)];
        solver.set_unknown("k", |_| inflow[0]).unwrap();
        solver.set_unknown("omega", |_| inflow[1]).unwrap();
        let (residual, _) = system(&mut solver, 1.0);
        let host = &solver.host;
        let touches_wall = |i: usize| {
            let around = host.dual.pattern.columns(i).iter();
            let near = |j: &u32| {
                host.dual.pattern.columns(*j as usize).iter().any(|l| host.nodes[*l as usize][7] < 1e-9)
            };
            around.clone().any(near)
        };
        let mut seen = 0;
        for (i, r) in residual.chunks_exact(2).enumerate().filter(|(i, _)| !touches_wall(*i)) {
            let volume = host.dual.volumes[i];
            let destroyed = [0.09 * inflow[0] * inflow[1], 0.07 * inflow[1] * inflow[1]].map(|v| v * volume);
            assert!(
                r[0].abs() < 1e-12 * destroyed[0] && r[1].abs() < 1e-12 * destroyed[1],
                "{model:?}, {i}: {r:?} {destroyed:?}"
            );
            seen += 1;
        }
        assert!(seen > 50, "{seen}");
    }
}

/// At the beginning there is a layer of the walls' length in its own equilibrium: k / omega is kappa u_tau d where neither the wall nor the
/// layer's edge is near, and the free stream off it.
#[test]
fn runs_begin_with_a_turbulent_layer() {
    for model in MODELS {
        let solver = solver(model, 1, |config| config.freestream.reynolds = 1e9);
        let (host, system) = (&solver.host, &solver.host.coupled[0]);
        // The wall is the unit square.
        let slow = 1e9_f64.powf(-1.0 / 7.0);
        let (thickness, friction) = (0.16 * slow, 0.4 * (0.0135 * slow).sqrt());
        let (view, mut found) = (host.view(&[], &[]), [0.0; 2]);
        let inflow = [9e-9, 9e-9 / (0.009 * 0.4 / 1e9)];
        for (i, q) in system.state.values.chunks_exact(2).enumerate() {
            let z = host.nodes[i][7];
            system.physics.initial(&view, i, &mut found);
            assert_eq!(found, q, "{model:?}, {i}");
            if z < 1e-9 {
                continue;
            }
            assert!(q[0] >= inflow[0] && q[1] > inflow[1], "{model:?}, {i}: {q:?}");
            let share = (1.0 - z / thickness).max(0.0);
            let ratio = (q[0] - inflow[0]) / (q[1] - inflow[1]);
            let layer = 0.41 * friction * z * share * share;
            assert!((ratio - layer).abs() <= 1e-3 * layer + 1e-12, "{model:?}, {i}: {ratio} {layer}");
        }
    }
}
