use super::*;
use crate::flux::flux;
use crate::gas::tests::{D5, GAS, areas, assert_close, dual_block, states};
use crate::gas::{conserved, primitive, sound_speed};
use crate::real::Real;
use proptest::prelude::*;

proptest! {
    #[test]
    fn farfield_keeps_the_free_stream(w in states(), n in areas()) {
        assert_close(&bc_farfield(GAS, &w, &w, &n), &w, 1e-13);
        assert_close(&flux_through(GAS, &bc_farfield(GAS, &w, &w, &n), &n), &flux(GAS, &w, &n), 1e-13);
    }

    #[test]
    fn farfield_jacobian_against_duals(w in states(), free in states(), n in areas()) {
        let wb = bc_farfield(GAS, &w, &free, &n);
        prop_assume!(wb.iter().all(|x| x.is_finite()) && sound_speed(GAS, &wb) > 0.2);
        let (n5, free5) = (n.map(D5::c), free.map(D5::c));
        let dwb = bc_farfield_jacobian(GAS, &w, &free, &n);
        assert_close(&dwb, &dual_block(&w, |w| bc_farfield(GAS.lift(), &w, &free5, &n5)), 1e-11);
        let block = flux_through_jacobian(GAS, &w, &wb, &dwb, &n);
        let exact = dual_block(&conserved(GAS, &w), |q| {
            flux_through(GAS.lift(), &bc_farfield(GAS.lift(), &primitive(GAS.lift(), &q), &free5, &n5), &n5)
        });
        assert_close(&block, &exact, 1e-10);
    }

    #[test]
    fn slip_wall_lets_nothing_through(w in states(), n in areas()) {
        let f = flux_slip_wall(&w, &n);
        assert_close(&f, &[0.0, w[4] * n[0], w[4] * n[1], w[4] * n[2], 0.0], 0.0);
        let exact = dual_block(&conserved(GAS, &w), |q| {
            flux_slip_wall(&primitive(GAS.lift(), &q), &n.map(D5::c))
        });
        assert_close(&flux_slip_wall_jacobian(GAS, &w, &n), &exact, 1e-12);
    }
}

proptest! {
    #[test]
    fn inlet_holds_its_totals_and_the_invariant(w in states(), tilt in -0.5..0.5f64) {
        let inlet = Inlet::new(GAS, 1.6, 1.15, [1.0, tilt, 0.2]);
        let n = [-0.6, 0.1, 0.05];
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let along = |w: &[f64; 5]| (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area;
        let wb = bc_inlet(GAS, &w, inlet, &n);
        let speed2 = wb[1] * wb[1] + wb[2] * wb[2] + wb[3] * wb[3];
        // T0 = T + (gamma-1)/2 u^2, p0 = p (T0/T)^(gamma/(gamma-1)).
        let t = sound_speed(GAS, &wb).powi(2);
        prop_assert!((t + 0.2 * speed2 - 1.15).abs() < 1e-12);
        prop_assert!((wb[4] * (1.15 / t).powf(3.5) - 1.6 / 1.4).abs() < 1e-12);
        let invariant = |w: &[f64; 5]| along(w) + 5.0 * sound_speed(GAS, w);
        if speed2 > 0.0 && invariant(&w) > 2.0 {
            prop_assert!((invariant(&wb) - invariant(&w)).abs() < 1e-11);
        }
        let inlet5 = inlet.lift();
        let exact = dual_block(&w, |w| bc_inlet(GAS.lift(), &w, inlet5, &n.map(D5::c)));
        assert_close(&bc_inlet_jacobian(GAS, &w, inlet, &n), &exact, 1e-9);
    }

    #[test]
    fn outlet_holds_its_pressure(w in states(), n in areas(), back in 0.3..1.5f64) {
        let wb = bc_outlet(GAS, &w, back, &n);
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let along = |w: &[f64; 5]| (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area;
        if along(&w) < sound_speed(GAS, &w) {
            prop_assert_eq!(wb[4], back);
            let invariant = |w: &[f64; 5]| along(w) + 5.0 * sound_speed(GAS, w);
            prop_assert!((invariant(&wb) - invariant(&w)).abs() < 1e-12);
            prop_assert!((wb[4] / wb[0].powf(1.4) - w[4] / w[0].powf(1.4)).abs() < 1e-11);
        } else {
            prop_assert_eq!(wb, w);
        }
        let exact = dual_block(&w, |w| bc_outlet(GAS.lift(), &w, D5::c(back), &n.map(D5::c)));
        assert_close(&bc_outlet_jacobian(GAS, &w, back, &n), &exact, 1e-11);
    }

    #[test]
    fn strong_walls_against_duals(w in states(), temperature in 0.5..2.0f64) {
        let q = conserved(GAS, &w);
        let block: [f64; 25] = std::array::from_fn(|i| (i as f64).sin());
        for heat in [WallHeat::Adiabatic, WallHeat::Isothermal] {
            let exact = dual_block(&q, |q| {
                let residual: [D5; 5] = std::array::from_fn(|r| {
                    (0..5).fold(D5::c(0.0), |sum, c| sum + D5::c(block[c * 5 + r]) * q[c])
                });
                strong_wall_residual(GAS.lift(), heat, &q, D5::c(temperature), &residual)
            });
            assert_close(&strong_wall_diagonal(GAS, heat, temperature, &block), &exact, 1e-14);
            let at_wall = conserved(GAS, &strong_wall_state(GAS, heat, &w, temperature));
            let residual = strong_wall_residual(GAS, heat, &at_wall, temperature, &[0.0; 5]);
            assert_close(&residual, &[0.0; 5], 1e-14);
        }
    }
}

#[test]
fn inlet_at_rest_where_the_inside_pushes_out() {
    let inlet = Inlet::new(GAS, 1.2, 1.05, [1.0, 0.0, 0.0]);
    let wb = bc_inlet(GAS, &[2.0, -1.5, 0.0, 0.0, 3.0], inlet, &[-1.0, 0.0, 0.0]);
    assert_close(&wb, &[1.2 / 1.05, 0.0, 0.0, 0.0, 1.2 / 1.4], 1e-14);
}

#[test]
fn farfield_is_one_sided_when_supersonic() {
    let n = [1.0, 0.0, 0.0];
    let (w, free) = ([1.1, 2.0, 0.1, 0.0, 0.8], [1.0, 2.5, 0.0, 0.2, 1.0 / 1.4]);
    assert_close(&bc_farfield(GAS, &w, &free, &n), &w, 1e-14);
    assert_close(&bc_farfield(GAS, &w, &free, &[-1.0, 0.0, 0.0]), &free, 1e-14);
}
