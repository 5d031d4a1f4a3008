use super::*;
use crate::config::{Freestream, GasConfig};
use crate::real::Dual;
use proptest::prelude::*;

pub(crate) const GAS: Gas<f64> = Gas { gamma: 1.4 };
pub(crate) type D5 = Dual<f64, 5>;

/// Primitive states from Mach 0 to about 3 in any direction.
pub(crate) fn states() -> impl Strategy<Value = [f64; 5]> {
    (0.3..2.0f64, -1.8..1.8f64, -1.8..1.8f64, -1.8..1.8f64, 0.2..2.0f64)
        .prop_map(|(r, u, v, w, p)| [r, u, v, w, p])
}

/// Area vectors in any direction.
pub(crate) fn areas() -> impl Strategy<Value = [f64; 3]> {
    (-1.0..1.0f64, -1.0..1.0f64, -1.0..1.0f64)
        .prop_filter("an area", |n| n.0 * n.0 + n.1 * n.1 + n.2 * n.2 > 0.01)
        .prop_map(|n| [n.0, n.1, n.2])
}

/// The exact block d f / d(variables) from a function of duals.
pub(crate) fn dual_block(x: &[f64; 5], f: impl Fn([D5; 5]) -> [D5; 5]) -> [f64; 25] {
    let out = f(Dual::variables(x, 0));
    std::array::from_fn(|i| out[i % 5].d[i / 5])
}

/// The same by central differences, for functions of numbers.
pub(crate) fn difference_block(x: &[f64; 5], f: impl Fn([f64; 5]) -> [f64; 5]) -> [f64; 25] {
    let h = 1e-6;
    let mut block = [0.0; 25];
    for c in 0..5 {
        let (mut up, mut down) = (*x, *x);
        up[c] += h;
        down[c] -= h;
        let (up, down) = (f(up), f(down));
        for r in 0..5 {
            block[c * 5 + r] = (up[r] - down[r]) / (2.0 * h);
        }
    }
    block
}

pub(crate) fn assert_close<const N: usize>(a: &[f64; N], b: &[f64; N], tolerance: f64) {
    for i in 0..N {
        let scale = 1.0 + a[i].abs().max(b[i].abs());
        assert!((a[i] - b[i]).abs() <= tolerance * scale, "component {i}: {} {}\n{a:?}\n{b:?}", a[i], b[i]);
    }
}

proptest! {
    #[test]
    fn conversions_are_inverse(w in states()) {
        assert_close(&primitive(GAS, &conserved(GAS, &w)), &w, 1e-13);
        let product = multiply(&primitive_by_conserved(GAS, &w), &conserved_by_primitive(GAS, &w));
        assert_close(&product, &std::array::from_fn(|i| f64::from(i % 6 == 0)), 1e-12);
    }

    #[test]
    fn conversion_blocks_against_duals(w in states()) {
        let gas = GAS.lift();
        assert_close(&conserved_by_primitive(GAS, &w), &dual_block(&w, |w| conserved(gas, &w)), 1e-14);
        let q = conserved(GAS, &w);
        assert_close(&primitive_by_conserved(GAS, &w), &dual_block(&q, |q| primitive(gas, &q)), 1e-12);
        assert_close(&primitive_by_conserved(GAS, &w), &difference_block(&q, |q| primitive(GAS, &q)), 1e-6);
    }

    #[test]
    fn enthalpy_is_energy_and_pressure(w in states()) {
        let q = conserved(GAS, &w);
        prop_assert!((total_enthalpy(GAS, &w) - (q[4] + w[4]) / w[0]).abs() < 1e-12);
    }
}

#[test]
fn the_free_stream_has_unit_scales() {
    let stream =
        Freestream { mach: 0.84, alpha_deg: 3.06, beta_deg: 2.0, reynolds: 1e6, temperature_k: 300.0 };
    for axis in [1, 2] {
        let w = stream.primitive(GAS, axis);
        assert!((sound_speed(GAS, &w) - 1.0).abs() < 1e-15);
        assert!((temperature(GAS, &w) - 1.0).abs() < 1e-15);
        assert!((entropy(GAS, &w) - 1.0).abs() < 1e-15);
        let speed = (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]).sqrt();
        assert!((speed - 0.84).abs() < 1e-15);
        let lift: f64 =
            stream.lift_direction(axis).iter().zip(stream.direction(axis)).map(|(l, d)| l * d).sum();
        assert!(lift.abs() < 1e-15);
        assert!(w[1 + axis] > 0.0, "positive incidence blows along the lift");
    }
}

#[test]
fn viscosity_laws() {
    let stream = Freestream { mach: 0.5, reynolds: 1e6, temperature_k: 300.0, ..Default::default() };
    let mut config = GasConfig::default();
    let transport = config.transport(&stream);
    assert!((transport.scale - 0.5e-6).abs() < 1e-20);
    assert!((viscosity(transport, 1.0) - 1.0).abs() < 1e-15);
    // Air at 400 K against 300 K with S = 110.4 K: (4/3)^1.5 * 410.4 / 510.4.
    let expected = (4.0f64 / 3.0).powf(1.5) * 410.4 / 510.4;
    assert!((viscosity(transport, 4.0 / 3.0) - expected).abs() < 1e-14);
    config.sutherland = false;
    assert_eq!(viscosity(config.transport(&stream), 4.0 / 3.0), 1.0);
}
