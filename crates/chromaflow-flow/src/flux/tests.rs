use super::*;
use crate::gas::tests::{D5, GAS, areas, assert_close, difference_block, dual_block, states};
use crate::gas::{Gas, conserved, primitive, total_enthalpy};
use crate::real::Real;
use proptest::prelude::*;

const FIX: RoeFix<f64> = RoeFix { acoustic: 0.1, convective: 0.02, cutoff_mach: 1.0, dissipation: 1.0 };

/// A flux beside the local Lax-Friedrichs flux, as [`super::positive`] has them, by conserved states.
struct Cut {
    /// The state between of the Lax-Friedrichs flux, and that flux.
    between: [f64; 5],
    least: [f64; 5],
    /// The flux's difference over the spectral radius, and that radius.
    x: [f64; 5],
    radius: f64,
}

impl Cut {
    fn new(wb: &[f64; 5], wc: &[f64; 5], n: &[f64; 3], f: [f64; 5]) -> Self {
        let (qb, qc) = (conserved(GAS, wb), conserved(GAS, wc));
        let (fb, fc) = (flux(GAS, wb, n), flux(GAS, wc, n));
        let radius = spectral_radius(GAS, wb, n).max(spectral_radius(GAS, wc, n));
        let between = std::array::from_fn(|i| 0.5 * (qb[i] + qc[i]) - 0.5 * (fc[i] - fb[i]) / radius);
        let least: [f64; 5] = std::array::from_fn(|i| 0.5 * (fb[i] + fc[i]) - 0.5 * radius * (qc[i] - qb[i]));
        Self { between, least, x: std::array::from_fn(|i| (f[i] - least[i]) / radius), radius }
    }

    /// The flux with its difference cut.
    fn flux(&self) -> [f64; 5] {
        let w = primitive(GAS, &self.between);
        let speed2: f64 = w[1..4].iter().map(|u| u * u).sum();
        let along: f64 = (1..4).map(|i| w[i] * self.x[i]).sum();
        let momentum2: f64 = (1..4).map(|i| (self.x[i] - w[i] * self.x[0]).powi(2)).sum();
        let energy = w[4] / (GAS.gamma - 1.0);
        let size = (self.x[0] / w[0]).powi(2)
            + ((self.x[4] - along + 0.5 * speed2 * self.x[0]) / energy).powi(2)
            + 0.5 * momentum2 / (w[0] * energy);
        let share = (1.0 + (size / 0.0625).powi(4)).powf(-0.125);
        std::array::from_fn(|i| self.least[i] + share * self.radius * self.x[i])
    }
}

proptest! {
    #[test]
    fn euler_jacobian_against_duals_and_differences(w in states(), n in areas()) {
        let q = conserved(GAS, &w);
        let exact = dual_block(&q, |q| flux(GAS.lift(), &primitive(GAS.lift(), &q), &n.map(D5::c)));
        let analytic = flux_jacobian(GAS, &w, &n);
        assert_close(&analytic, &exact, 1e-12);
        assert_close(&analytic, &difference_block(&q, |q| flux(GAS, &primitive(GAS, &q), &n)), 1e-6);
        // Homogeneous of degree one: F = A q.
        let product: [f64; 5] = std::array::from_fn(|r| (0..5).map(|c| analytic[c * 5 + r] * q[c]).sum());
        assert_close(&product, &flux(GAS, &w, &n), 1e-12);
    }

    /// |A| |A| = A A where no eigenvalue is rounded off; at w = wr = wl.
    #[test]
    fn absolute_jacobian_squares_to_the_square(w in states(), n in areas()) {
        let none = RoeFix { acoustic: 0.0, convective: 0.0, cutoff_mach: 1.0, dissipation: 1.0 };
        let (a, b) = (flux_jacobian(GAS, &w, &n), roe_absolute(GAS, &w, &w, &n, none));
        assert_close(&crate::gas::multiply(&b, &b), &crate::gas::multiply(&a, &a), 1e-10);
    }

    /// Roe's defining property: F(qr) - F(ql) = A (qr - ql) at the average; without entropy fix and with all waves
    /// running right, |A| = A.
    #[test]
    fn roe_takes_the_upwind_flux_of_supersonic_states(w in states(), m in 0.01..0.3f64) {
        let mut wl = w;
        let mut wr = w;
        wl[1] = 4.5 * (GAS.gamma * w[4] / w[0]).sqrt();
        wr[1] = wl[1] * (1.0 + m);
        wr[0] *= 1.0 - m;
        wr[4] *= 1.0 + m;
        let n = [0.7, 0.0, 0.0];
        assert_close(&flux_roe(GAS, &wl, &wr, &n, FIX), &flux(GAS, &wl, &n), 1e-12);
        wl[1] = -wl[1];
        wr[1] = -wr[1];
        assert_close(&flux_roe(GAS, &wl, &wr, &n, FIX), &flux(GAS, &wr, &n), 1e-12);
    }

    /// Less of the dissipation, and nothing else: from the mean of both fluxes that part of the way.
    #[test]
    fn roe_takes_part_of_its_dissipation(wl in states(), wr in states(), n in areas(), dissipation in 0.0..1.0f64) {
        let whole = flux_roe(GAS, &wl, &wr, &n, FIX);
        let part = flux_roe(GAS, &wl, &wr, &n, RoeFix { dissipation, ..FIX });
        let (fl, fr) = (flux(GAS, &wl, &n), flux(GAS, &wr, &n));
        let expected: [f64; 5] = std::array::from_fn(|i| {
            let mean = 0.5 * (fl[i] + fr[i]);
            mean + dissipation * (whole[i] - mean)
        });
        assert_close(&part, &expected, 1e-12);
    }

    #[test]
    fn roe_jacobians_freeze_the_dissipation(wl in states(), wr in states(), n in areas(), cutoff_mach in 0.1..1.0f64) {
        let fix = RoeFix { cutoff_mach, ..FIX };
        let (left, right) = flux_roe_jacobians(GAS, &wl, &wr, &n, fix);
        let frozen = roe_absolute(GAS, &wl, &wr, &n, fix);
        let frozen_flux = |a: [D5; 5], b: [D5; 5]| -> [D5; 5] {
            let gas: Gas<D5> = GAS.lift();
            let n = n.map(D5::c);
            let (fl, fr) = (flux(gas, &primitive(gas, &a), &n), flux(gas, &primitive(gas, &b), &n));
            std::array::from_fn(|r| {
                let mut f = fl[r] + fr[r];
                for c in 0..5 {
                    f -= D5::c(frozen[c * 5 + r]) * (b[c] - a[c]);
                }
                f * D5::c(0.5)
            })
        };
        let (ql, qr) = (conserved(GAS, &wl), conserved(GAS, &wr));
        assert_close(&left, &dual_block(&ql, |q| frozen_flux(q, qr.map(D5::c))), 1e-11);
        assert_close(&right, &dual_block(&qr, |q| frozen_flux(ql.map(D5::c), q)), 1e-11);
        let roe = flux_roe(GAS, &wl, &wr, &n, fix);
        assert_close(&roe, &frozen_flux(ql.map(D5::c), qr.map(D5::c)).map(|f| f.v), 1e-11);
    }

    /// The averages and the waves as Roe wrote them, one by one.
    #[test]
    fn roe_flux_is_the_sum_of_its_waves(wl in states(), wr in states(), n in areas(), acoustic in 0.0..1.0f64) {
        let none = RoeFix { acoustic: 0.0, convective: 0.0, cutoff_mach: 1.0, dissipation: 1.0 };
        for fix in [RoeFix { acoustic, convective: 0.3, ..none }, none] {
            assert_close(&flux_roe(GAS, &wl, &wr, &n, fix), &roe_by_waves(&wl, &wr, &n, fix), 1e-13);
        }
    }

    /// A (qr - ql) = F(qr) - F(ql) at the average, where all waves run right.
    #[test]
    fn roe_matrix_takes_states_to_fluxes(wl in states(), wr in states(), n in areas()) {
        let length = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let shift = |mut w: [f64; 5]| {
            (0..3).for_each(|i| w[1 + i] += 12.0 * n[i] / length);
            w
        };
        let (wl, wr) = (shift(wl), shift(wr));
        let a = roe_absolute(GAS, &wl, &wr, &n, FIX);
        let (ql, qr) = (conserved(GAS, &wl), conserved(GAS, &wr));
        let product: [f64; 5] = std::array::from_fn(|r| (0..5).map(|c| a[c * 5 + r] * (qr[c] - ql[c])).sum());
        let (fl, fr) = (flux(GAS, &wl, &n), flux(GAS, &wr, &n));
        assert_close(&product, &std::array::from_fn(|r| fr[r] - fl[r]), 1e-11);
    }

    /// Mean fluxes less dissipation, as the formulas have them, with one switch a cell.
    #[test]
    fn central_fluxes_by_their_formulas(wa in states(), wb in states(), wc in states(), wd in states(), n in areas()) {
        let fixed = Dissipation::DEFAULT;
        let switch = |a: &[f64; 5], b: &[f64; 5], c: &[f64; 5]| pressure_switch(a[4], b[4], c[4]);
        let second = fixed.second * switch(&wa, &wb, &wc).max(switch(&wb, &wc, &wd));
        let fourth = (fixed.fourth - second).max(0.0);
        let dissipated = |q: &dyn Fn(&[f64; 5]) -> [f64; 5]| -> [f64; 5] {
            let [a, b, c, d] = [&wa, &wb, &wc, &wd].map(q);
            std::array::from_fn(|i| second * (c[i] - b[i]) - fourth * (d[i] - 3.0 * c[i] + 3.0 * b[i] - a[i]))
        };
        let (fb, fc) = (flux(GAS, &wb, &n), flux(GAS, &wc, &n));
        let enthalpies = |w: &[f64; 5]| {
            let q = conserved(GAS, w);
            [q[0], q[1], q[2], q[3], q[4] + w[4]]
        };
        let (x, radius) = (dissipated(&enthalpies), 0.5 * (spectral_radius(GAS, &wb, &n) + spectral_radius(GAS, &wc, &n)));
        let scalar: [f64; 5] = std::array::from_fn(|i| 0.5 * (fb[i] + fc[i]) - radius * x[i]);
        let kept = |f| Cut::new(&wb, &wc, &n, f).flux();
        assert_close(&flux_scalar_dissipation(GAS, &wa, &wb, &wc, &wd, &n, fixed), &kept(scalar), 1e-12);
        let (x, m) = (dissipated(&|w| conserved(GAS, w)), dissipation_matrix(GAS, &wb, &wc, &n, fixed));
        let matrix: [f64; 5] = std::array::from_fn(|r| {
            0.5 * (fb[r] + fc[r]) - (0..5).map(|c| m[c * 5 + r] * x[c]).sum::<f64>()
        });
        assert_close(&flux_matrix_dissipation(GAS, &wa, &wb, &wc, &wd, &n, fixed), &kept(matrix), 1e-11);
        let mean = std::array::from_fn(|i| 0.5 * (wb[i] + wc[i]));
        let none = Dissipation { acoustic: 0.0, convective: 0.0, ..fixed };
        let (a, m) = (flux_jacobian(GAS, &mean, &n), dissipation_matrix(GAS, &wb, &wc, &n, none));
        assert_close(&crate::gas::multiply(&m, &m), &crate::gas::multiply(&a, &a), 1e-10);
    }

    /// In slow flow the matrix D of dissipation is P^-1 |P A|, so that (P D)^2 = (P A)^2, and a change of pressure alone dissipates by the spectral radius of
    /// P A and by P^-1.
    #[test]
    fn slow_central_fluxes_are_preconditioned(w in states(), slow in 0.01..0.2f64, cutoff in 0.05..0.9f64, n in areas()) {
        let [rho, u, v, s, p] = w;
        let (u, v, s) = (slow * u, slow * v, slow * s);
        let w = [rho, u, v, s, p];
        let (speed2, sound2) = (u * u + v * v + s * s, GAS.gamma * p / rho);
        let f2 = (speed2 / sound2).max(cutoff * cutoff).min(1.0);
        let enthalpy = sound2 / (GAS.gamma - 1.0) + 0.5 * speed2;
        let (along, by) = ([1.0, u, v, s, enthalpy], [0.5 * speed2, -u, -v, -s, 1.0].map(|x| (GAS.gamma - 1.0) * x));
        let dissipation = Dissipation { acoustic: 0.0, convective: 0.0, cutoff_mach: cutoff, ..Dissipation::DEFAULT };
        let preconditioner: [f64; 25] = std::array::from_fn(|e| {
            let (r, c) = (e % 5, e / 5);
            f64::from(u8::from(r == c)) + (f2 - 1.0) * along[r] * by[c] / sound2
        });
        let [d, a] = [dissipation_matrix(GAS, &w, &w, &n, dissipation), flux_jacobian(GAS, &w, &n)]
            .map(|m| crate::gas::multiply(&preconditioner, &m));
        assert_close(&crate::gas::multiply(&d, &d), &crate::gas::multiply(&a, &a), 1e-10);

        let jump = 1e-6 * p;
        let after = [rho, u, v, s, p + jump];
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let normal = (u * n[0] + v * n[1] + s * n[2]).abs();
        let radius = 0.5 * normal * (1.0 + f2) + (0.25 * (normal * (1.0 - f2)).powi(2) + f2 * sound2 * area * area).sqrt();
        let (fb, fc) = (flux(GAS, &w, &n), flux(GAS, &after, &n));
        // Of (rho, rho u, rho H) only the last changes; there is a sixteenth of the difference.
        let plain = [0.0, 0.0, 0.0, 0.0, GAS.gamma / (GAS.gamma - 1.0) * jump];
        let expected: [f64; 5] = std::array::from_fn(|i| {
            let change = plain[i] + (1.0 / f2 - 1.0) * jump / sound2 * along[i];
            0.5 * (fb[i] + fc[i]) - radius * change / 16.0
        });
        let found = flux_scalar_dissipation(GAS, &w, &w, &after, &after, &n, dissipation);
        let size = radius * jump / f2;
        for i in 0..5 {
            assert!((found[i] - expected[i]).abs() < 1e-4 * size * (1.0 + along[i].abs() / sound2), "{i}: {found:?} {expected:?}");
        }
    }

    /// Of any states, near vacuum and at Mach numbers of hundreds, too: with a central flux the states between have at least three quarters of the density and the
    /// pressure that they have with the local Lax-Friedrichs flux.
    #[test]
    fn central_fluxes_keep_states_positive(powers in prop::array::uniform8(-8.0..1.0f64), u in prop::array::uniform12(-9.0..9.0f64), n in areas()) {
        let state = |k: usize| [10f64.powf(powers[2 * k]), u[3 * k], u[3 * k + 1], u[3 * k + 2], 10f64.powf(powers[2 * k + 1])];
        let [wa, wb, wc, wd] = [0, 1, 2, 3].map(state);
        let fixed = Dissipation::DEFAULT;
        for f in [
            flux_scalar_dissipation(GAS, &wa, &wb, &wc, &wd, &n, fixed),
            flux_matrix_dissipation(GAS, &wa, &wb, &wc, &wd, &n, fixed),
        ] {
            let cut = Cut::new(&wb, &wc, &n, f);
            let middle = primitive(GAS, &cut.between);
            for sign in [-1.0, 1.0] {
                let made: [f64; 5] = std::array::from_fn(|i| cut.between[i] + sign * cut.x[i]);
                let after = primitive(GAS, &made);
                let rounding = 1e-11 * (cut.between[4] + made[4].abs());
                assert!(after[0] > 0.749 * middle[0], "{after:?} {middle:?}");
                assert!(after[4] > 0.749 * middle[4] - rounding, "{after:?} {middle:?}");
            }
        }
    }

    /// Both faces' values are those of the textbook's formula for one.
    #[test]
    fn extrapolation_to_both_faces(a in -2.0..2.0f64, b in -2.0..2.0f64, c in -2.0..2.0f64, kappa in -1.0..1.0f64) {
        for limited in [0.0, 1.0] {
            let toward = |far: f64, near: f64, beyond: f64| {
                let (back, ahead, tiny) = (near - far, beyond - near, 1e-6 * (near * near + 1.0));
                let smooth = (2.0 * back * ahead + tiny) / (back * back + ahead * ahead + tiny);
                let s = if limited == 1.0 { smooth.max(0.0) } else { 1.0 };
                near + 0.25 * s * ((1.0 - kappa * s) * back + (1.0 + kappa * s) * ahead)
            };
            let values = extrapolate_muscl(a, b, c, kappa, limited);
            assert_close(&values, &[toward(c, b, a), toward(a, b, c)], 1e-14);
        }
        prop_assert_eq!(extrapolate_muscl(b, b, b, kappa, 1.0), [b; 2]);
    }

    /// Exact where the two states agree.
    #[test]
    fn roe_jacobians_at_equal_states(w in states(), n in areas()) {
        let (left, right) = flux_roe_jacobians(GAS, &w, &w, &n, FIX);
        let q = conserved(GAS, &w);
        let gas: Gas<D5> = GAS.lift();
        let (constant, n5) = (w.map(D5::c), n.map(D5::c));
        let by_left = dual_block(&q, |q| flux_roe(gas, &primitive(gas, &q), &constant, &n5, FIX.lift()));
        let by_right = dual_block(&q, |q| flux_roe(gas, &constant, &primitive(gas, &q), &n5, FIX.lift()));
        assert_close(&left, &by_left, 1e-11);
        assert_close(&right, &by_right, 1e-11);
    }
}

proptest! {
    #[test]
    fn van_leer_jacobians_are_exact(wl in states(), wr in states(), n in areas()) {
        let (left, right) = flux_van_leer_jacobians(GAS, &wl, &wr, &n);
        let gas: Gas<D5> = GAS.lift();
        let n5 = n.map(D5::c);
        let (ql, qr) = (conserved(GAS, &wl), conserved(GAS, &wr));
        let by_left = dual_block(&ql, |q| flux_van_leer(gas, &primitive(gas, &q), &wr.map(D5::c), &n5));
        let by_right = dual_block(&qr, |q| flux_van_leer(gas, &wl.map(D5::c), &primitive(gas, &q), &n5));
        assert_close(&left, &by_left, 1e-11);
        assert_close(&right, &by_right, 1e-11);
        assert_close(&left, &difference_block(&ql, |q| flux_van_leer(GAS, &primitive(GAS, &q), &wr, &n)), 1e-5);
    }

    #[test]
    fn hllc_jacobians_freeze_the_outer_signals(wl in states(), wr in states(), n in areas()) {
        let (left, right) = flux_hllc_jacobians(GAS, &wl, &wr, &n);
        let gas: Gas<D5> = GAS.lift();
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let normal = n.map(|x| x / area);
        let waves = hllc::hllc_waves(GAS, &wl, &wr, &normal);
        let waves = hllc::HllcWaves { slow: D5::c(waves.slow), fast: D5::c(waves.fast) };
        let unit = |a: [D5; 5], b: [D5; 5]| {
            hllc::hllc_between(gas, &a, &b, &normal.map(D5::c), waves).map(|f| f * D5::c(area))
        };
        let (ql, qr) = (conserved(GAS, &wl), conserved(GAS, &wr));
        assert_close(&left, &dual_block(&ql, |q| unit(primitive(gas, &q), wr.map(D5::c))), 1e-10);
        assert_close(&right, &dual_block(&qr, |q| unit(wl.map(D5::c), primitive(gas, &q))), 1e-10);
    }

    /// Resolves a contact exactly: equal pressure and normal velocity, different density, moving at V.
    #[test]
    fn hllc_and_roe_keep_contacts(w in states(), rho in 0.3..2.0f64) {
        let n = [0.3, 0.0, 0.0];
        let mut other = w;
        other[0] = rho;
        let none = RoeFix { acoustic: 0.0, convective: 0.0, cutoff_mach: 1.0, dissipation: 1.0 };
        let upwind = if w[1] > 0.0 { w } else { other };
        assert_close(&flux_hllc(GAS, &w, &other, &n), &flux(GAS, &upwind, &n), 1e-12);
        assert_close(&flux_roe(GAS, &w, &other, &n, none), &flux(GAS, &upwind, &n), 1e-12);
    }
}

/// First-order steps on Sod's tube against the exact star states: p* = .3031302, u* = .9274526, and the densities on
/// both sides of the contact (gamma 1.4, Toro's table).
#[test]
fn sod_reaches_the_exact_star_states() {
    for (name, f) in FLUXES {
        let cells = 800_i32;
        let mut q: Vec<[f64; 5]> = (0..cells)
            .map(|i| {
                let w = if i < cells / 2 { [1.0, 0.0, 0.0, 0.0, 1.0] } else { [0.125, 0.0, 0.0, 0.0, 0.1] };
                conserved(GAS, &w)
            })
            .collect();
        let (dx, mut t) = (1.0 / f64::from(cells), 0.0);
        let dt = 0.4 * dx / 2.2;
        while t < 0.2 {
            let w: Vec<[f64; 5]> = q.iter().map(|q| primitive(GAS, q)).collect();
            for i in 0..cells as usize - 1 {
                let flux = f(&w[i], &w[i + 1], &[1.0, 0.0, 0.0]);
                for k in 0..5 {
                    q[i][k] -= dt / dx * flux[k];
                    q[i + 1][k] += dt / dx * flux[k];
                }
            }
            // The ends are at rest: their outer fluxes are the undisturbed pressures.
            q[0][1] += dt / dx;
            q[cells as usize - 1][1] -= dt / dx * 0.1;
            t += dt;
        }
        // At t = 0.2 the contact stands at 0.685, the shock at 0.850, the fan's tail at 0.486.
        let at = |x: f64| primitive(GAS, &q[(x / dx) as usize]);
        let (left, right) = (at(0.58), at(0.78));
        for (found, exact) in [
            (left[4], 0.3031302),
            (right[4], 0.3031302),
            (left[1], 0.9274526),
            (right[1], 0.9274526),
            (left[0], 0.4263194),
            (right[0], 0.2655737),
        ] {
            assert!((found - exact).abs() < 0.01 * exact, "{name}: {found} against {exact}");
        }
    }
}

/// What changes of velocity dissipate in slow flow, over rho V^2, is the same at every speed; without the fix it grows with 1/M.
#[test]
fn slow_flow_dissipates_by_its_own_speed() {
    let n = [0.6, 0.8, 0.0];
    let dissipated = |mach: f64, cutoff_mach: f64| {
        let [l, r] = [mach, 1.1 * mach].map(|u| [1.0, 0.6 * u, 0.8 * u, 0.0, 1.0 / 1.4]);
        let f = flux_roe(
            GAS,
            &l,
            &r,
            &n,
            RoeFix { acoustic: 0.005, convective: 0.005, cutoff_mach, dissipation: 1.0 },
        );
        let mean = 0.5 * (flux(GAS, &l, &n)[1] + flux(GAS, &r, &n)[1]);
        (f[1] - mean).abs() / (mach * mach)
    };
    let (fast, slow) = (dissipated(0.1, 0.3), dissipated(0.001, 0.003));
    assert!((slow / fast - 1.0).abs() < 0.1, "{fast} and {slow}");
    let grown = dissipated(0.001, 1.0) / dissipated(0.1, 1.0);
    assert!((80.0..120.0).contains(&grown), "{grown}");
}

/// Roe's flux from averages of velocity and total enthalpy, eigenvectors and strengths of waves.
fn roe_by_waves(wl: &[f64; 5], wr: &[f64; 5], n: &[f64; 3], fix: RoeFix<f64>) -> [f64; 5] {
    let dot = |a: &[f64; 3], b: &[f64; 3]| (0..3).map(|i| a[i] * b[i]).sum::<f64>();
    let area = dot(n, n).sqrt();
    let n = n.map(|x| x / area);
    let (root_l, root_r) = (wl[0].sqrt(), wr[0].sqrt());
    let average = |l: f64, r: f64| (root_l * l + root_r * r) / (root_l + root_r);
    let u: [f64; 3] = std::array::from_fn(|i| average(wl[1 + i], wr[1 + i]));
    let enthalpy = average(total_enthalpy(GAS, wl), total_enthalpy(GAS, wr));
    let c = ((GAS.gamma - 1.0) * (enthalpy - 0.5 * dot(&u, &u))).sqrt();
    let (rho, normal) = (root_l * root_r, dot(&u, &n));
    let du: [f64; 3] = std::array::from_fn(|i| wr[1 + i] - wl[1 + i]);
    let (d_rho, dp, dn) = (wr[0] - wl[0], wr[4] - wl[4], dot(&du, &n));
    let shear: [f64; 3] = std::array::from_fn(|i| rho * (du[i] - dn * n[i]));
    let sound = |sign: f64| {
        [
            1.0,
            u[0] + sign * c * n[0],
            u[1] + sign * c * n[1],
            u[2] + sign * c * n[2],
            enthalpy + sign * c * normal,
        ]
        .map(|x| x * (dp + sign * rho * c * dn) / (2.0 * c * c))
    };
    let entropy = [1.0, u[0], u[1], u[2], 0.5 * dot(&u, &u)].map(|x| x * (d_rho - dp / (c * c)));
    let waves = [
        (normal - c, fix.acoustic, sound(-1.0)),
        (normal, fix.convective, entropy),
        (normal, fix.convective, [0.0, shear[0], shear[1], shear[2], dot(&u, &shear)]),
        (normal + c, fix.acoustic, sound(1.0)),
    ];
    let (fl, fr) = (flux(GAS, wl, &n), flux(GAS, wr, &n));
    let mut out: [f64; 5] = std::array::from_fn(|i| 0.5 * area * (fl[i] + fr[i]));
    for (speed, limit, wave) in waves {
        let d = limit * (normal.abs() + c);
        let speed = if speed.abs() < d { (speed * speed + d * d) / (2.0 * d) } else { speed.abs() };
        (0..5).for_each(|i| out[i] -= 0.5 * area * speed * wave[i]);
    }
    out
}

#[test]
fn roe_takes_faces_of_no_area_and_gas_of_no_speed() {
    let (w, other) = ([1.0, 0.3, -0.2, 0.1, 0.7], [0.9, 0.1, 0.4, 0.0, 0.5]);
    assert_close(&flux_roe(GAS, &w, &other, &[0.0; 3], RoeFix::DEFAULT), &[0.0; 5], 1e-30);
    let (still, thin) = ([1.0, 0.0, 0.0, 0.0, 0.7], [1e-9, 0.0, 0.0, 0.0, 1e-10]);
    let n = [0.0, 2.0, 0.0];
    assert_close(&flux_roe(GAS, &still, &still, &n, RoeFix::DEFAULT), &flux(GAS, &still, &n), 1e-15);
    for (l, r) in [(still, thin), (thin, still), (thin, thin)] {
        let f = flux_roe(GAS, &l, &r, &n, RoeFix::DEFAULT);
        assert_close(&f, &roe_by_waves(&l, &r, &n, RoeFix::DEFAULT), 1e-13);
    }
}

type TwoPoint = fn(&[f64; 5], &[f64; 5], &[f64; 3]) -> [f64; 5];

const FLUXES: [(&str, TwoPoint); 3] = [
    ("roe", |l, r, n| flux_roe(GAS, l, r, n, FIX)),
    ("hllc", |l, r, n| flux_hllc(GAS, l, r, n)),
    ("van leer", |l, r, n| flux_van_leer(GAS, l, r, n)),
];

/// Turns by a fixed rotation.
fn turn(v: [f64; 3]) -> [f64; 3] {
    let (s, c) = 0.7f64.sin_cos();
    let [x, y, z] = [c * v[0] - s * v[1], s * v[0] + c * v[1], v[2]];
    [x, 0.6 * y - 0.8 * z, 0.8 * y + 0.6 * z]
}

fn turn_state(w: [f64; 5]) -> [f64; 5] {
    let [x, y, z] = turn([w[1], w[2], w[3]]);
    [w[0], x, y, z, w[4]]
}

proptest! {
    #[test]
    fn consistent_conservative_and_invariant(wl in states(), wr in states(), n in areas()) {
        for (name, f) in FLUXES {
            println!("{name}");
            assert_close(&f(&wl, &wl, &n), &flux(GAS, &wl, &n), 1e-13);
            let opposite = n.map(|x| -x);
            assert_close(&f(&wl, &wr, &n), &f(&wr, &wl, &opposite).map(|x| -x), 1e-12);
            let turned = f(&turn_state(wl), &turn_state(wr), &turn(n));
            assert_close(&turned, &turn_state(f(&wl, &wr, &n)), 1e-12);
        }
    }

    #[test]
    fn spectral_radius_bounds_the_flux(w in states(), n in areas()) {
        // Powers of A grow with its largest absolute eigenvalue: |A^16 x|^(1/16) tends to it from anywhere.
        let a = flux_jacobian(GAS, &w, &n);
        let mut x = [0.3, -0.2, 0.5, 0.1, 0.4];
        let norm = |x: &[f64; 5]| x.iter().map(|v| v * v).sum::<f64>().sqrt();
        let mut log = 0.0;
        for i in 0..400 {
            let y: [f64; 5] = std::array::from_fn(|r| (0..5).map(|c| a[c * 5 + r] * x[c]).sum());
            if i >= 200 {
                log += (norm(&y) / norm(&x)).ln();
            }
            x = y.map(|v| v / norm(&y));
        }
        let rate = (log / 200.0).exp();
        let radius = spectral_radius(GAS, &w, &n);
        prop_assert!(rate <= radius * 1.03 && rate >= radius * 0.9, "{rate} {radius}");
    }
}
