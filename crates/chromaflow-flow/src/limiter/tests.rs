use super::*;
use crate::real::{Dual, Real};
use proptest::prelude::*;

type D1 = Dual<f64, 1>;

/// Value and slope of a function of one number.
fn at(x: f64, f: impl Fn(D1) -> D1) -> (f64, f64) {
    let y = f(D1::variable(x, 0));
    (y.v, y.d[0])
}

/// Neither the value nor the slope jumps at `x`.
fn assert_smooth(x: f64, f: impl Fn(D1) -> D1 + Copy) {
    let ((a, da), (b, db)) = (at(x - 1e-11, f), at(x + 1e-11, f));
    assert!((a - b).abs() < 1e-7 && (da - db).abs() < 1e-6, "at {x}: {a} {b}, slopes {da} {db}");
}

proptest! {
    #[test]
    fn limiters_lie_between_zero_and_one(allowed in 0.0..3.0f64, slope in 1e-6..3.0f64, eps2 in 0.0..0.1f64, sign in prop::bool::ANY) {
        let (allowed, slope) = if sign { (allowed, slope) } else { (-allowed, -slope) };
        for phi in [limiter_barth(allowed, slope), limiter_michalak(allowed, slope, 1.0, eps2)] {
            prop_assert!((0.0..=1.0 + 1e-12).contains(&phi), "{phi}");
        }
        prop_assert!((0.0..1.1).contains(&limiter_venkatakrishnan(allowed, slope, eps2)));
        // No new extremes: the limited change stays within what is allowed, without eps.
        prop_assert!((limiter_barth(allowed, slope) * slope).abs() <= allowed.abs() * (1.0 + 1e-12) + 1e-15);
        prop_assert!((limiter_venkatakrishnan(allowed, slope, 0.0) * slope).abs() <= allowed.abs() * (1.0 + 1e-12) + 1e-15);
        prop_assert!((limiter_michalak(allowed, slope, 1.0, 0.0) * slope).abs() <= allowed.abs() * (1.0 + 1e-12) + 1e-15);
    }

    #[test]
    fn van_albada_lies_between_zero_and_one(a in -2.0..2.0f64, b in -2.0..2.0f64, eps2 in 0.0..0.1f64) {
        let s = van_albada(a, b, eps2);
        prop_assert!((0.0..=1.0).contains(&s), "{s}");
        if a * b < 0.0 {
            prop_assert!(van_albada(a, b, 0.0) == 0.0);
        }
    }

    #[test]
    fn linear_fields_are_exact(own in -1.0..1.0f64, slope in -1.0..1.0f64, kappa in -1.0..1.0f64) {
        let middle = own + 0.5 * slope;
        prop_assert!((extrapolate(own, own + slope, slope, kappa, 1.0) - middle).abs() < 1e-14);
        prop_assert!((extrapolate_van_albada(own, own + slope, slope, kappa, 1e-6) - middle).abs() < 1e-14);
    }

    #[test]
    fn densities_stay_positive(extrapolated in -10.0..10.0f64, own in 0.01..5.0f64) {
        let kept = keep_positive(extrapolated, own);
        prop_assert!(kept > 0.0 && (kept == extrapolated || extrapolated < 0.25 * own));
    }
}

#[test]
fn no_kinks() {
    for eps2 in [0.0, 1e-3] {
        assert_smooth(0.0, |b| van_albada(D1::c(0.4), b, D1::c(eps2)));
        // Where the cubic end meets: x = 0.05.
        let b = 0.4 * (10.0 - 99.0f64.sqrt());
        assert_smooth(b, |b| van_albada(D1::c(0.4), b, D1::c(0.0)));
        assert_smooth(1.5, |a| limiter_michalak(a, D1::c(1.0), D1::c(1.0), D1::c(eps2)));
    }
    assert!((van_albada(0.4, 0.4 * (10.0 - 99.0f64.sqrt()), 0.0) - 0.1).abs() < 1e-12);
    for range in [0.1f64.sqrt(), 0.2f64.sqrt()] {
        assert_smooth(range, |r| limiter_michalak(D1::c(0.3), D1::c(1.0), r, D1::c(0.1)));
    }
    assert_smooth(0.25, |x| keep_positive(x, D1::c(1.0)));
    assert_eq!(limiter_michalak(2.0, 1.0, 1.0, 0.0), 1.0);
    assert_eq!(limiter_michalak(0.0, 1.0, 1.0, 0.0), 0.0);
    assert_eq!(limiter_michalak(0.0, 1.0, 0.1, 0.02), 1.0);
}

#[test]
fn kappa_weighs_the_differences() {
    // q = x^2 at nodes 0 and 1, seen from 0 with slope 0: kappa/2.
    assert_eq!(extrapolate(0.0, 1.0, 0.0, 0.5, 1.0), 0.25);
    // In a smooth monotone region the limited form tends to the unlimited one.
    let (own, other, projected) = (1.0, 1.1, 0.1001);
    let limited = extrapolate_van_albada(own, other, projected, 1.0 / 3.0, 0.0);
    let free = extrapolate(own, other, projected, 1.0 / 3.0, 1.0);
    assert!((limited - free).abs() < 1e-6);
}

/// Behind a base all differences are small beside those of a supersonic stream: they are limited there by the state's own size.
#[test]
fn what_is_small_goes_by_the_state_where_that_is_thin() {
    let stream = [0.33, 1.0, 1.0, 1.0, 0.41];
    let (to_r, to_l, one) = ([1.0, 0.0, 0.0], [-1.0, 0.0, 0.0], [1.0; 5]);
    let density_of = |own: f64, projected: f64| {
        let w = [own, 0.3, 0.0, 0.0, own];
        let mut gradient = [0.0; 16];
        gradient[0] = projected;
        face_states(FaceLimit::Edge, 0.5, &stream, &w, &w, &to_r, &to_l, &gradient, &gradient, &one, &one).0
            [0]
    };
    let free = |own: f64, projected: f64| extrapolate_van_albada(own, own, projected, 0.5, stream[0]);
    assert!(free(0.02, -0.06) < 0.3 * 0.02, "{}", free(0.02, -0.06));
    assert!(density_of(0.02, -0.06) > 0.8 * 0.02, "{}", density_of(0.02, -0.06));
    // From half of a change that is small in the stream upwards all is as it was.
    assert_eq!(density_of(0.4, -0.06), free(0.4, -0.06));
}
