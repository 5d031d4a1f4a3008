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

#[test]
fn farfield_is_one_sided_when_supersonic() {
    let n = [1.0, 0.0, 0.0];
    let (w, free) = ([1.1, 2.0, 0.1, 0.0, 0.8], [1.0, 2.5, 0.0, 0.2, 1.0 / 1.4]);
    assert_close(&bc_farfield(GAS, &w, &free, &n), &w, 1e-14);
    assert_close(&bc_farfield(GAS, &w, &free, &[-1.0, 0.0, 0.0]), &free, 1e-14);
}
