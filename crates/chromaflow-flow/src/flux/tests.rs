use super::*;
use crate::gas::tests::{D5, GAS, areas, assert_close, difference_block, dual_block, states};
use crate::gas::{Gas, conserved, primitive};
use crate::real::Real;
use proptest::prelude::*;

const FIX: EntropyFix<f64> = EntropyFix { acoustic: 0.1, convective: 0.02 };

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
        let none = EntropyFix { acoustic: 0.0, convective: 0.0 };
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

    #[test]
    fn roe_jacobians_freeze_the_dissipation(wl in states(), wr in states(), n in areas()) {
        let (left, right) = flux_roe_jacobians(GAS, &wl, &wr, &n, FIX);
        let frozen = roe_absolute(GAS, &wl, &wr, &n, FIX);
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
        let roe = flux_roe(GAS, &wl, &wr, &n, FIX);
        assert_close(&roe, &frozen_flux(ql.map(D5::c), qr.map(D5::c)).map(|f| f.v), 1e-11);
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
        let none = EntropyFix { acoustic: 0.0, convective: 0.0 };
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
