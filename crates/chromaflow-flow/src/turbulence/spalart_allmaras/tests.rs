use super::*;
use crate::FlowSolver;
use crate::config::{Boundary, Equations, FlowConfig, TurbulenceModel};
use crate::real::{Dual, Real};
use crate::testmesh::mixed_cube;
use crate::turbulence::testcases::along_a_wall;
use chromaflow::BlockCsr;
use chromaflow_device::Team;
use std::sync::Arc;

type D1 = Dual<f64, 1>;

fn model<T: Real>(variant: SaVariant, scale: f64) -> SpalartAllmaras<T> {
    SpalartAllmaras { variant, scale: T::c(scale) }
}

const VARIANTS: [SaVariant; 3] = [SaVariant::Negative, SaVariant::Standard, SaVariant::NoFt2];
const KAPPA: f64 = 0.41;

/// Source and derivative at a state, and the source's own derivative by dual numbers.
fn slopes(variant: SaVariant, nu: f64, nut: f64, omega: f64, distance: f64, turning: f64) -> (f64, f64) {
    let [_, by] = sa_source_turning(model(variant, 1.0), nu, nut, omega, distance, turning);
    let own = D1::variable(nut, 0);
    let [nu, omega, distance, turning] = [nu, omega, distance, turning].map(D1::c);
    let dual = sa_source_turning(model(variant, 1.0), nu, own, omega, distance, turning);
    (by, dual[0].d[0])
}

/// By hand: a body's vorticity without strain has fr1 -1. Where the flow turns at the rate a, strain s and vorticity w change by (-2 a s, 2 a s)
/// in xx and yy, and r^ = 2 a w s^2 / (s^2 + w^2)^2: 0.05 for s, w 1 and a 0.1, fr1 = 2 (1 - atan 0.6) - 1; against the vorticity it grows.
#[test]
fn production_goes_by_how_the_flow_turns() {
    let body: [[f64; 3]; 3] = [[0.0, -2.0, 0.0], [2.0, 0.0, 0.0], [0.0; 3]];
    assert_eq!(sa_turning(&body, &[0.0; 6]), -1.0);
    // u_y = s - w, v_x = s + w.
    let curved: [[f64; 3]; 3] = [[0.0; 3], [2.0, 0.0, 0.0], [0.0; 3]];
    assert_eq!(strain_rates(&curved), [0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);
    for (a, expected) in
        [(0.1, 2.0 * (1.0 - 0.6_f64.atan()) - 1.0), (-0.1, 2.0 * (1.0 + 0.6_f64.atan()) - 1.0)]
    {
        let found = sa_turning(&curved, &[-2.0 * a, 2.0 * a, 0.0, 0.0, 0.0, 0.0]);
        assert!((found - expected).abs() < 1e-14, "{found} {expected}");
    }
    let [straight, turned] = [1.0, 0.4]
        .map(|turning| sa_source_turning(model(SaVariant::NoFt2, 1.0), 1.0, 5.0, 3.0, 0.5, turning)[0]);
    let s_hat =
        clipped_vorticity(3.0, 5.0 * (1.0 - 5.0 / (1.0 + eddy_ratio(5.0))) / (KAPPA * 0.5).powi(2))[0];
    assert!((straight - turned - 0.6 * 0.1355 * s_hat * 5.0).abs() < 1e-12);
}

#[test]
fn derivatives_against_dual_numbers_in_every_branch() {
    // Omega small: s < -c2 Omega (clipped) and r = 10; large: s is plain and r small; nut of both signs.
    let (mut clipped, mut large_r, mut negative) = (0, 0, 0);
    for variant in VARIANTS {
        for nu in [0.3, 1.0, 2.5] {
            for nut in [-40.0, -3.0, -1e-3, 1e-3, 0.4, 1.7, 3.0, 12.0, 300.0] {
                for omega in [0.0, 1e-3, 0.2, 1.0, 7.0, 300.0] {
                    // Other variants have no negative values.
                    if nut < 0.0 && variant != SaVariant::Negative {
                        continue;
                    }
                    for distance in [0.05, 0.7, 3.0, 90.0] {
                        for turning in [1.0, -0.7] {
                            let (by, exact) = slopes(variant, nu, nut, omega, distance, turning);
                            assert!(
                                (by - exact).abs() <= 1e-11 * (1.0 + exact.abs()),
                                "{variant:?}, nu {nu}, nut {nut}, omega {omega}, d {distance}: {by} {exact}"
                            );
                        }
                        let chi = nut.max(0.0) / nu;
                        let v2 = 1.0 - chi / (1.0 + eddy_ratio(chi));
                        let lift = nut.max(0.0) / (KAPPA * distance).powi(2);
                        let s_hat = clipped_vorticity(omega, lift * v2)[0];
                        clipped += usize::from(lift * v2 < -0.7 * omega);
                        large_r += usize::from(lift > 10.0 * s_hat);
                        negative += usize::from(nut < 0.0);
                    }
                }
            }
        }
    }
    assert!(clipped > 50 && large_r > 50 && negative > 50, "{clipped} {large_r} {negative}");
}

/// In a log layer nut = kappa y u_tau far above the viscosity and Omega is such that S^ = u_tau / (kappa y): r = fw = 1, and
/// production, destruction and diffusion balance.
#[test]
fn a_log_layer_balances() {
    let (u_tau, y, scale) = (1.0, 0.3, 1e-3);
    for variant in VARIANTS {
        // nut / nu_inf with F nut = kappa y u_tau.
        let nut = KAPPA * y * u_tau / scale;
        let chi: f64 = nut;
        let v2 = 1.0 - chi / (1.0 + eddy_ratio(chi));
        let omega = u_tau / (KAPPA * y) - scale * nut * v2 / (KAPPA * y).powi(2);
        let [source, _] = sa_source(model(variant, scale), 1.0, nut, omega, y);
        // F/sigma [(nut grad nut)' + cb2 grad nut^2], nut = a y, without the molecular part.
        let a = nut / y;
        let diffusion = 1.5 * scale * (1.0 + 0.622) * a * a;
        assert!((source + diffusion).abs() < 1e-12 * diffusion, "{variant:?}: {source} {diffusion}");
    }
}

/// The exact law of the wall: nut+ = kappa y+ down to the wall, where S^ is u_tau/(kappa y), whatever fv1; u+ from
/// du/dy (1 + nut+ fv1) = 1 integrates to the published closed form.
#[test]
fn the_exact_law_of_the_wall() {
    for y in [0.1, 1.0, 5.0, 11.0, 60.0, 900.0] {
        let nut = KAPPA * y;
        let shear = 1.0 / (1.0 + eddy_ratio(nut));
        // r = 1 at every height.
        let v2 = 1.0 - nut / (1.0 + eddy_ratio(nut));
        let [s_hat, _] = clipped_vorticity(shear, nut * v2 / (KAPPA * y).powi(2));
        assert!((s_hat * KAPPA * y - 1.0).abs() < 1e-12, "{y}: {s_hat}");
        let [source, _] = sa_source(model(SaVariant::NoFt2, 1.0), 1.0, nut, shear, y);
        let diffusion = 1.5 * (1.0 + 0.622) * KAPPA * KAPPA;
        assert!((source + diffusion).abs() < 1e-12, "{y}: {source}");
    }
    for (y, expected) in
        [(1.0, 0.999_984_212_29), (10.0, 8.954_466_961_4), (100.0, 16.320_216_076), (1000.0, 21.887_511_877)]
    {
        assert!((law_of_the_wall(y) - expected).abs() < 2e-9 * expected, "{y}: {}", law_of_the_wall(y));
        assert!((integral_of_shear(y) - expected).abs() < 1e-8 * expected, "{y}: {}", integral_of_shear(y));
    }
}

/// u+ = int dy / (1 + nu_t) by Simpson's rule.
fn integral_of_shear(y: f64) -> f64 {
    let n = 20_000;
    let h = y / n as f64;
    let f = |i: usize| 1.0 / (1.0 + eddy_ratio(KAPPA * i as f64 * h));
    (0..n / 2).map(|i| h / 3.0 * (f(2 * i) + 4.0 * f(2 * i + 1) + f(2 * i + 2))).sum()
}

/// Values and slopes are continuous across S = -c2 Omega and nut = 0; values across r = 10.
#[test]
fn branches_join() {
    let h = 1e-9;
    for omega in [0.1, 1.0, 30.0] {
        let [below, above] = [-h, h].map(|h| clipped_vorticity(omega, -0.7 * omega * (1.0 - h)));
        assert!((below[0] - above[0]).abs() < 1e-8 * omega && (below[1] - above[1]).abs() < 1e-7);
        for distance in [0.1, 1.0] {
            let at = |nut| sa_source(model(SaVariant::Negative, 1.0), 1.0, nut, omega, distance);
            let (below, above) = (at(-h), at(h));
            assert!((below[0] - above[0]).abs() < 1e-5 && (below[1] - above[1]).abs() < 1e-5 * (1.0 + omega));
        }
    }
    // Through r = 10: Omega falls at a given nut.
    let mut last: Option<f64> = None;
    for step in 0..4000 {
        let omega = 20.0 * 0.995_f64.powi(step);
        let [source, _] = sa_source(model(SaVariant::Negative, 1.0), 1.0, 5.0, omega, 1.0);
        assert!(last.is_none_or(|last| (last - source).abs() < 0.05 * (1.0 + source.abs())), "omega {omega}");
        last = Some(source);
    }
}

#[test]
fn diffusion_is_that_of_the_model() {
    let sa = model(SaVariant::Negative, 1.0);
    // Sum of both forms: (nu + nut) grad nut through the face, and cb2 |grad nut|^2 in the two halves beside it.
    let (nu, nut) = ([1.0, 1.2], [2.0, 5.0]);
    let own = sa_diffusivity(sa, &nu, &nut);
    let other = sa_diffusivity(sa, &[nu[1], nu[0]], &[nut[1], nut[0]]);
    assert!((0.5 * (own + other) - 1.5 * (1.1 + 3.5)).abs() < 1e-14);
    assert!((own - other - 1.5 * 0.622 * 3.0).abs() < 1e-14);
    // Not negative for any pair, and smooth through zero.
    for a in [-1e3, -20.0, -1.0, 0.0, 0.5, 40.0] {
        for b in [-1e3, -20.0, -1.0, 0.0, 0.5, 40.0] {
            assert!(sa_diffusivity(sa, &[1.0, 1.0], &[a, b]) >= 0.0, "{a} {b}");
        }
    }
    // nu + nut fn of one node stays positive.
    assert!((-4000..0).all(|k| 1.0 + sa_diffusing(1.0, 0.01 * f64::from(k)) > 0.0));
}

fn solver(turbulence: TurbulenceConfig, threads: usize) -> FlowSolver {
    FlowSolver::new(&mixed_cube(5, 0.2), along_a_wall(turbulence), Arc::new(Team::new(threads))).unwrap()
}

fn profile([x, y, z]: [f64; 3]) -> f64 {
    40.0 * z * (1.2 + (5.0 * x).sin() * (3.0 * y).cos())
}

/// Residual and matrix of a first step, in the solver's order.
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

/// For values that are not negative, on a mesh of all elements: nothing off the diagonal is positive, every row's sum is not
/// negative, and every diagonal entry is positive.
#[test]
fn rows_are_those_of_an_m_matrix() {
    let mut solver = solver(TurbulenceConfig::default(), 1);
    solver.set_unknown("nut", profile).unwrap();
    for cfl in [1.0, 1e300] {
        let (_, a) = system(&mut solver, cfl);
        for i in 0..a.pattern().rows() {
            let (mut sum, mut diagonal) = (0.0, 0.0);
            for (&j, k) in a.pattern().columns(i).iter().zip(a.pattern().range(i)) {
                let entry = a.block(k)[0];
                sum += entry;
                if j as usize == i {
                    diagonal = entry;
                } else {
                    assert!(entry <= 0.0, "row {i}, column {j}: {entry}");
                }
            }
            assert!(diagonal > 0.0 && sum >= -1e-12 * diagonal, "row {i}: {diagonal}, sum {sum}");
        }
    }
}

/// What Newton-Krylov steps take for V/dt is what the matrix has on its diagonal.
#[test]
fn pseudo_times_are_those_of_the_matrix() {
    let mut solver = solver(TurbulenceConfig::default(), 1);
    solver.set_unknown("nut", profile).unwrap();
    let diagonal = |a: &BlockCsr, i: usize| {
        let own = |k: &usize| a.pattern().col_idx()[*k] as usize == i;
        a.block(a.pattern().range(i).find(own).unwrap())[0]
    };
    let (_, still) = system(&mut solver, 1e300);
    let (_, stepping) = system(&mut solver, 3.0);
    let at = Moment::first(3.0);
    let mut coupled = std::mem::take(&mut solver.host.coupled);
    let view = solver.host.view(&[], &solver.host.fluxes);
    let mut times = vec![0.0; view.dual.nodes()];
    coupled[0].factor(&view, &at).unwrap();
    coupled[0].physics.pseudo_time(&view, &coupled[0].state, &at, &mut times);
    let held = std::mem::take(&mut coupled[0].state.held);
    for (i, time) in times.iter().enumerate().filter(|(i, _)| held.binary_search(&(*i as u32)).is_err()) {
        let [a, b] = [&stepping, &still].map(|m| diagonal(m, i));
        assert!(*time > 0.0 && (a - b - time).abs() < 1e-12 * a, "row {i}: {a} - {b}, {time}");
    }
}

/// The residual does not depend on the number of threads, walls keep nut = 0, and a step from a wild state with negative
/// values gives finite ones.
#[test]
fn negative_values_recover() {
    let residuals = [1, 3].map(|threads| {
        let mut solver = solver(TurbulenceConfig::default(), threads);
        solver.set_unknown("nut", profile).unwrap();
        system(&mut solver, 1.0).0
    });
    assert_eq!(residuals[0], residuals[1]);
    let mut solver = solver(TurbulenceConfig::default(), 1);
    solver.set_unknown("nut", |x| 10.0 * (20.0 * x[0]).sin() - 5.0).unwrap();
    for _ in 0..60 {
        let report = solver.step();
        assert!(!report.rejected, "{:?}", report.bad);
    }
    let state = &solver.host.coupled[0].state;
    assert!(
        state.values.iter().all(|nut| *nut > -1e-3),
        "{:?}",
        state.values.iter().copied().fold(0.0, f64::min)
    );
    assert!(state.held.iter().all(|&i| state.values[i as usize] == 0.0));
}

#[test]
fn plain_sa_stays_positive_and_fields_have_the_wall_distance() {
    let mut solver =
        solver(TurbulenceConfig { model: TurbulenceModel::Sa, ..TurbulenceConfig::default() }, 2);
    solver.set_unknown("nut", profile).unwrap();
    for _ in 0..10 {
        solver.step();
        assert!(solver.host.coupled[0].state.values.iter().all(|&nut| nut >= 0.0));
    }
    let (fields, mesh) = (solver.fields(), mixed_cube(5, 0.2));
    let distance = fields.iter().find(|f| f.name == "wall_distance").unwrap();
    for (x, d) in mesh.nodes.iter().zip(&distance.values) {
        assert!((x[2] - d).abs() < 1e-15, "{x:?} {d}");
    }
    assert!(fields.iter().any(|f| f.name == "y_plus" && f.values.iter().any(|y| *y > 1.0)));
}

#[test]
fn faults_are_named() {
    let config = |equations, wall| {
        let mut config =
            FlowConfig { turbulence: Some(TurbulenceConfig::default()), equations, ..FlowConfig::default() };
        config.freestream.reynolds = 1e4;
        for name in ["x0", "x1", "y0", "y1", "z0", "z1"] {
            config.boundaries.insert(name.to_owned(), if name == "z0" { wall } else { Boundary::Farfield });
        }
        config
    };
    let fault = |config| FlowSolver::new(&mixed_cube(2, 0.0), config, Arc::new(Team::new(1))).err().unwrap();
    let none = fault(config(Equations::Laminar, Boundary::SlipWall));
    assert!(matches!(none, FlowError::NoWall { .. }), "{none}");
    let inviscid = fault(config(Equations::Euler, Boundary::NoSlipAdiabatic));
    assert!(matches!(inviscid, FlowError::TurbulenceInviscid), "{inviscid}");
    let mut negative = config(Equations::Laminar, Boundary::NoSlipAdiabatic);
    negative.turbulence.as_mut().unwrap().inflow = -1.0;
    assert!(fault(negative).to_string().starts_with("turbulence.inflow = -1"));
}
