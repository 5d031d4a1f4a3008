use super::*;
use crate::flux::flux;
use crate::gas::tests::{D5, GAS, areas, assert_close, dual_block, states};
use crate::gas::{conserved, primitive, sound_speed};
use crate::real::Real;
use proptest::prelude::*;

/// Back in at Mach 0.02 from a stream of Mach 0.3: what skims the outlet keeps most of its velocity and entropy, what comes in straight has those of
/// the room.
#[test]
fn what_skims_an_outlet_keeps_what_it_carries() {
    let p = 1.0 / GAS.gamma;
    let outlet = Outlet::new(GAS, p, &[1.0, 0.3, 0.0, 0.0, p]);
    let back =
        |along: f64| bc_outlet(GAS, &[0.8, along, -0.02 / 0.8_f64.sqrt(), 0.0, p], outlet, &[0.0, 2.0, 0.0]);
    let [skims, straight] = [back(0.3), back(0.0)];
    assert!(skims[1] > 0.85 * 0.3 && (skims[0] - 0.8).abs() < 0.05, "{skims:?}");
    let room = (1.4 * straight[4] / straight[0] + 0.2 * straight[2].powi(2) - outlet.total_temperature).abs();
    assert!(room < 1e-12 && straight[1] == 0.0, "{straight:?}");
}

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

    #[test]
    fn a_wave_at_the_wall_pushes_back(w in states(), n in areas(), cutoff in 0.1..1.0f64) {
        let f = flux_wave_wall(GAS, &w, &n, cutoff);
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let c = sound_speed(GAS, &w);
        let v = (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area;
        prop_assert!(f[0] == 0.0 && f[4] == 0.0);
        let p = (f[1] * n[0] + f[2] * n[1] + f[3] * n[2]) / (area * area);
        prop_assert!(p > 0.0 && (p - w[4]) * v >= 0.0, "{p} for {} at {v}", w[4]);
        // To first order Roe's flux between the state and its mirror image.
        let mach = w[1..4].iter().map(|u| u * u).sum::<f64>().sqrt() / c;
        let low = mach.max(cutoff).min(1.0);
        prop_assert!((p - w[4] - w[0] * low * c * v).abs() <= w[0] * v * v * (1.0 + v.abs() / c).powi(6));
        prop_assume!([low * v / c + 1.0, mach - cutoff, mach - 1.0].iter().all(|x| x.abs() > 1e-6));
        let exact = dual_block(&conserved(GAS, &w), |q| {
            flux_wave_wall(GAS.lift(), &primitive(GAS.lift(), &q), &n.map(D5::c), D5::c(cutoff))
        });
        assert_close(&flux_wave_wall_jacobian(GAS, &w, &n, cutoff), &exact, 1e-10);
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
        let t = sound_speed(GAS, &wb).powi(2);
        // Both gases have pressure and velocity in common; the wave runs through the one inside.
        let at = |p: f64| sound_speed(GAS, &w) * (p / w[4]).powf(1.0 / 7.0);
        let invariant = |state: &[f64; 5]| along(state) + 5.0 * at(state[4]);
        if invariant(&w) > 5.0 * at(1.6 / 1.4) {
            // What is inside leaves against the total pressure, or at the speed of sound and more.
            prop_assert!((wb[4] - 1.6 / 1.4).abs() < 1e-12 || along(&wb) > t.sqrt() * (1.0 - 1e-9));
            prop_assert!(along(&wb) >= -1e-12 && (invariant(&wb) - invariant(&w)).abs() < 1e-11);
            prop_assert!((t / at(wb[4]).powi(2) - 1.0).abs() < 1e-12);
        } else {
            // T0 = T + (gamma-1)/2 u^2, p0 = p (T0/T)^(gamma/(gamma-1)).
            prop_assert!((t + 0.2 * speed2 - 1.15).abs() < 1e-12);
            prop_assert!((wb[4] * (1.15 / t).powf(3.5) - 1.6 / 1.4).abs() < 1e-12);
            // At the speed of sound more does not come in.
            prop_assert!(speed2 < t * (1.0 + 1e-12));
            if speed2 > t * (1.0 - 1e-9) {
                prop_assert!(invariant(&w) < invariant(&wb) + 1e-9);
            } else if speed2 > 0.0 {
                prop_assert!((invariant(&wb) - invariant(&w)).abs() < 1e-11);
            }
        }
        let inlet5 = inlet.lift();
        let exact = dual_block(&w, |w| bc_inlet(GAS.lift(), &w, inlet5, &n.map(D5::c)));
        assert_close(&bc_inlet_jacobian(GAS, &w, inlet, &n), &exact, 1e-9);
    }

    #[test]
    fn outlet_holds_its_pressure(w in states(), n in areas(), back in 0.001..1.5f64, width in 0.0..0.2f64) {
        let outlet = Outlet { pressure: back, total_temperature: 1.1, width };
        let wb = bc_outlet(GAS, &w, outlet, &n);
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let along = |w: &[f64; 5]| (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area;
        let mach = along(&w) / sound_speed(GAS, &w);
        if mach < -0.1 {
            // From gas at rest, straight in, no faster than sound.
            let speed2 = wb[1] * wb[1] + wb[2] * wb[2] + wb[3] * wb[3];
            let t = GAS.gamma * wb[4] / wb[0];
            prop_assert!((speed2 - along(&wb).powi(2)).abs() < 1e-12 && along(&wb) < 1e-15);
            prop_assert!((t + 0.2 * speed2 - 1.1).abs() < 1e-12 && speed2 < t * (1.0 + 1e-12));
            prop_assert!((wb[4] * (1.1 / t).powf(3.5) - back).abs() < 1e-12);
        } else if (0.0..1.0).contains(&mach) {
            // The back pressure, or the speed of sound where that would be exceeded.
            let leaves = along(&wb) / sound_speed(GAS, &wb);
            prop_assert!((wb[4] - back).abs() < 1e-15 || (wb[4] > back && (leaves - 1.0).abs() < 1e-12));
            prop_assert!(leaves < 1.0 + 1e-12);
            let invariant = |w: &[f64; 5]| along(w) + 5.0 * sound_speed(GAS, w);
            prop_assert!((invariant(&wb) - invariant(&w)).abs() < 1e-12);
            prop_assert!((wb[4] / wb[0].powf(1.4) - w[4] / w[0].powf(1.4)).abs() < 1e-11);
        } else if mach >= 1.0 {
            assert_close(&wb, &w, 1e-15);
        }
        let exact = dual_block(&w, |w| bc_outlet(GAS.lift(), &w, outlet.lift(), &n.map(D5::c)));
        assert_close(&bc_outlet_jacobian(GAS, &w, outlet, &n), &exact, 1e-9);
    }

    #[test]
    fn strong_walls_against_duals(w in states(), temperature in 0.5..2.0f64, u in areas()) {
        let q = conserved(GAS, &w);
        let block: [f64; 25] = std::array::from_fn(|i| (i as f64).sin());
        for (heat, velocity) in [WallHeat::Adiabatic, WallHeat::Isothermal].map(|h| [(h, [0.0; 3]), (h, u)]).concat() {
            let wall = Wall { temperature, velocity };
            let wall5 = Wall { temperature: D5::c(temperature), velocity: velocity.map(D5::c) };
            let exact = dual_block(&q, |q| {
                let residual: [D5; 5] = std::array::from_fn(|r| {
                    (0..5).fold(D5::c(0.0), |sum, c| sum + D5::c(block[c * 5 + r]) * q[c])
                });
                strong_wall_residual(GAS.lift(), heat, wall5, &q, &residual)
            });
            assert_close(&strong_wall_diagonal(GAS, heat, wall, &block), &exact, 1e-14);
            let at_wall = conserved(GAS, &strong_wall_state(GAS, heat, wall, &w));
            let residual = strong_wall_residual(GAS, heat, wall, &at_wall, &[0.0; 5]);
            assert_close(&residual, &[0.0; 5], 1e-14);
            let held = strong_wall_conserved(GAS, heat, wall, &q);
            assert_close(&strong_wall_residual(GAS, heat, wall, &held, &[0.0; 5]), &[0.0; 5], 1e-14);
        }
    }

    #[test]
    fn ghosts_have_the_wall_between(w in states(), u in areas(), temperature in 0.9..1.1f64) {
        let wall = Wall { temperature, velocity: u };
        for heat in [WallHeat::Adiabatic, WallHeat::Isothermal] {
            let ghost = ghost_no_slip(GAS, heat, wall, &w);
            let mean: [f64; 3] = std::array::from_fn(|k| 0.5 * (ghost[1 + k] + w[1 + k]));
            assert_close(&mean, &u, 1e-14);
            prop_assert_eq!(ghost[4], w[4]);
        }
    }

    #[test]
    fn velocity_inlet_holds_velocity_and_temperature(w in states(), velocity in areas(), n in areas(), t in 0.5..2.0f64) {
        let inlet = VelocityInlet { velocity, temperature: t };
        let wb = bc_velocity_inlet(GAS, &w, inlet, &n);
        prop_assert_eq!(&wb[1..4], &velocity);
        prop_assert!((GAS.gamma * wb[4] / wb[0] - t).abs() < 1e-13);
        // The wave from inside: p + rho c V.
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let along = |w: &[f64; 5]| (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area;
        let wave = w[4] + w[0] * sound_speed(GAS, &w) * (along(&w) - along(&wb));
        prop_assert!((wb[4] - wave.clamp(0.5 * w[4], 2.0 * w[4])).abs() < 1e-12);
        let exact = dual_block(&w, |w| bc_velocity_inlet(GAS.lift(), &w, inlet.lift(), &n.map(D5::c)));
        assert_close(&bc_velocity_inlet_jacobian(GAS, &w, inlet, &n), &exact, 1e-12);
        // Its own state from outside stays.
        let same = VelocityInlet { velocity: [w[1], w[2], w[3]], temperature: GAS.gamma * w[4] / w[0] };
        assert_close(&bc_velocity_inlet(GAS, &w, same, &n), &w, 1e-13);
    }

    /// The slope is the derivative of the flow by the back pressure, to first order in what the pressure changes.
    #[test]
    fn more_back_pressure_lets_less_out(w in states(), n in areas()) {
        let c = sound_speed(GAS, &w);
        let area = n.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mach = (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / (c * area);
        prop_assume!((0.0..0.9).contains(&mach) || mach < -0.11);
        let at = |pressure: f64| {
            let mut condition = Boundary::MassFlowOutlet { mass_flow: 1.0 }.condition(GAS, w);
            condition.held = pressure;
            outlet_flow(&condition, GAS, &w, &n)
        };
        let h = 1e-6 * w[4];
        let ([flow, slope], [up, _], [down, _]) = (at(w[4]), at(w[4] + h), at(w[4] - h));
        if mach < 0.0 {
            prop_assert!(flow < 0.0 && down > up && slope >= 0.0);
        } else {
            prop_assert!((flow - w[0] * mach * c * area).abs() < 1e-12);
            prop_assert!(((down - up) / (2.0 * h) / slope - 1.0).abs() < 1e-6);
        }
        let of = |mass_flow: f64, alone| {
            let condition = Boundary::MassFlowOutlet { mass_flow }.condition(GAS, w);
            adapted_pressure(&condition, GAS, flow, slope, alone) / condition.held
        };
        for alone in [0.0, 1.0] {
            prop_assert!(of(flow.abs() + 1.0, alone) < 1.0);
            prop_assert_eq!(of(flow.abs(), alone) == 1.0, flow > 0.0);
            prop_assert!(flow < 0.0 || of(0.999 * flow, alone) > 1.0);
        }
    }
}

#[test]
fn a_turning_wall_has_no_velocity_on_its_axis() {
    let motion = Motion { velocity: [0.0, 0.0, 0.5], rotation: [0.0, 0.0, 2.0], center: [1.0, 0.0, 7.0] };
    assert_eq!(motion_at(motion, &[1.0, 0.0, 3.0]), [0.0, 0.0, 0.5]);
    assert_eq!(motion_at(motion, &[2.0, 0.0, 3.0]), [0.0, 2.0, 0.5]);
    assert_eq!(motion_at(motion, &[1.0, 3.0, 0.0]), [-6.0, 0.0, 0.5]);
}

/// Every condition: the derivative of its flux is that of the flux.
#[test]
fn fluxes_of_all_conditions_against_duals() {
    let motion = Motion { velocity: [0.2, 0.0, 0.0], ..Motion::NONE };
    let all = [
        Boundary::Farfield,
        Boundary::SlipWall,
        Boundary::Symmetry,
        Boundary::NoSlipAdiabatic,
        Boundary::NoSlipIsothermal { temperature: 1.1 },
        Boundary::MovingWall { motion, temperature: None },
        Boundary::VelocityInlet { velocity: [0.4, 0.1, 0.0], temperature: 1.05 },
        Boundary::Inlet { total_pressure: 1.3, total_temperature: 1.1, direction: [1.0, 0.2, 0.0] },
        Boundary::Outlet { pressure: 0.9 },
        Boundary::Outlet { pressure: 0.1 },
        Boundary::MassFlowOutlet { mass_flow: 0.3 },
        Boundary::Extrapolation,
    ];
    let (free, w, n) = ([1.0, 0.5, 0.0, 0.0, 1.0 / 1.4], [1.1, 0.4, 0.1, -0.05, 0.8], [-0.7, 0.2, 0.1]);
    // The last two flow in and out at a Mach number at which an outflow is partly closed, and along the boundary.
    let [back, along] = [[1.1, 0.04, 0.0, 0.0, 0.8], [1.1, 0.2, 0.7, 0.0, 0.8]];
    for (boundary, w) in all.iter().flat_map(|b| [w, back, along].map(|w| (b, w))) {
        let condition = boundary.condition(GAS, free);
        let exact = dual_block(&conserved(GAS, &w), |q| {
            condition_flux(&condition.lift(), GAS.lift(), &primitive(GAS.lift(), &q), &n.map(D5::c))
        });
        assert_close(&condition_flux_jacobian(&condition, GAS, &w, &n), &exact, 1e-11);
    }
}

/// A duct between a total state and nothing that sets a pressure leaves at the speed of sound; with any such, or in a faster stream, as extrapolated.
#[test]
fn a_duct_to_nothing_leaves_at_the_speed_of_sound() {
    let inlet = Boundary::Inlet { total_pressure: 1.2, total_temperature: 1.05, direction: [1.0, 0.0, 0.0] };
    let of = |more: Option<Boundary>, mach: f64| {
        let sides = [("in", inlet), ("out", Boundary::Extrapolation), ("wall", Boundary::SlipWall)];
        let named = sides.into_iter().chain(more.map(|b| ("more", b)));
        let all = named.map(|(name, boundary)| (name.to_owned(), boundary)).collect();
        Boundary::of_marker(&all, "out", GAS, &[1.0, mach, 0.0, 0.0, 1.0 / 1.4])
    };
    for kept in
        [of(Some(Boundary::Farfield), 0.3), of(Some(Boundary::Outlet { pressure: 1.0 }), 0.3), of(None, 1.2)]
    {
        assert_eq!(kept, Boundary::Extrapolation);
    }
    let condition = of(None, 0.3).condition(GAS, [1.0, 0.3, 0.0, 0.0, 1.0 / 1.4]);
    let n = [0.5, 0.0, 0.0];
    // The mass flow of a gas that comes from rest and leaves at the speed of sound, by hand: rho* a*.
    let still = condition_flux(&condition, GAS, &[1.0, 0.0, 0.0, 0.0, 1.0 / 1.4], &n);
    assert!((still[0] - 0.5 * (2.0_f64 / 2.4).powf(6.0)).abs() < 1e-14, "{still:?}");
    let fast = [0.4, 1.4, 0.1, 0.0, 0.5];
    assert_eq!(condition_flux(&condition, GAS, &fast, &n), flux(GAS, &fast, &n));
}

/// What flows out is the state inside; nothing comes in; in between the flux is continuous.
#[test]
fn nothing_comes_in_through_an_outflow() {
    let (condition, n) =
        (Boundary::Extrapolation.condition(GAS, [1.0, 2.0, 0.0, 0.0, 1.0 / 1.4]), [0.3, 0.4, 0.0]);
    let at = |mach: f64| {
        let speed = mach * sound_speed(GAS, &[0.7, 0.0, 0.0, 0.0, 0.6]);
        let w = [0.7, 0.6 * speed, 0.8 * speed, 0.1, 0.6];
        (condition_flux(&condition, GAS, &w, &n), flux(GAS, &w, &n))
    };
    for mach in [0.0, 0.01, 0.5, 1.5, 4.0] {
        let (got, inside) = at(mach);
        assert_close(&got, &inside, 1e-14);
    }
    for mach in [-0.1, -0.5, -3.0] {
        let (got, _) = at(mach);
        assert_eq!((got[0], got[4]), (0.0, 0.0), "at {mach}");
        assert!(got[1] > 0.0 && got[1] < 0.6 * 0.3, "a wall that the gas leaves: {}", got[1]);
    }
    for k in 0..200 {
        let mach = -0.2 + 0.002 * f64::from(k);
        let (here, next) = (at(mach).0, at(mach + 0.002).0);
        assert!((0..5).all(|i| (next[i] - here[i]).abs() < 0.01), "at {mach}: {here:?} {next:?}");
        assert!(here[0] > -0.02, "hardly anything comes in: {}", here[0]);
    }
}

/// What a case file gives for each word makes its condition; what it lacks or has too much is named.
#[test]
fn words_and_parameters() {
    let values = |list: &[(&str, Value)]| list.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
    let make = |word: &str, list: &[(&str, Value)]| {
        Word::find(word)
            .unwrap()
            .boundary(&values(list), Stream { along: [1.0, 0.0, 0.0], mach: 0.5, gamma: 1.4 })
    };
    let (x, one) = (|| Value::Vector([1.0, 0.0, 0.0]), || Value::Number(1.0));
    assert_eq!(
        make("mass_flow_outlet", &[("mass_flow", one())]),
        Ok(Boundary::MassFlowOutlet { mass_flow: 1.0 })
    );
    let motion = Motion { rotation: [1.0, 0.0, 0.0], ..Motion::NONE };
    assert_eq!(
        make("moving_wall", &[("rotation", x())]),
        Ok(Boundary::MovingWall { motion, temperature: None })
    );
    let inlet = Boundary::VelocityInlet { velocity: [1.0, 0.0, 0.0], temperature: 1.0 };
    assert_eq!(make("velocity_inlet", &[("velocity", x()), ("temperature", one())]), Ok(inlet));
    assert_eq!(make("velocity_inlet", &[("velocity", x())]), Ok(inlet));
    // A sweep of velocities may begin at rest.
    let rest = Boundary::MovingWall { motion: Motion::NONE, temperature: None };
    assert_eq!(make("moving_wall", &[("velocity", Value::Vector([0.0; 3]))]), Ok(rest));
    for (word, list, part) in [
        ("mass_flow_outlet", &[][..], "needs `mass_flow`"),
        ("mass_flow_outlet", &[("mass_flow", Value::Number(-1.0))], "-1"),
        ("moving_wall", &[], "`velocity` or `rotation`"),
        ("velocity_inlet", &[("temperature", one())], "needs `velocity`"),
        ("velocity_inlet", &[("velocity", one()), ("temperature", one())], "three numbers"),
        ("farfield", &[("pressure", one())], "no parameter `pressure`"),
        ("outlet", &[("pressure", x())], "one number"),
    ] {
        let error = make(word, list).unwrap_err();
        assert!(error.contains(part), "{error}");
    }
}

/// What an inlet is not given it has of the stream, whatever its Mach number is: a supersonic one comes in as it is.
#[test]
fn an_inlet_without_values_is_the_streams() {
    let make = |mach: f64, list: &[(&str, Value)]| {
        let values = list.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
        let stream = Stream { along: [0.0, 1.0, 0.0], mach, gamma: 1.4 };
        Word::find("inlet").unwrap().boundary(&values, stream)
    };
    for mach in [0.1, 0.5, 0.9] {
        let Ok(Boundary::Inlet { total_pressure, total_temperature, direction }) = make(mach, &[]) else {
            panic!("no inlet at {mach}");
        };
        let stream = [1.0, 0.0, mach, 0.0, 1.0 / 1.4];
        let n = [0.0, -1.0, 0.0];
        let state = bc_inlet(GAS, &stream, Inlet::new(GAS, total_pressure, total_temperature, direction), &n);
        assert!((0..5).all(|i| (state[i] - stream[i]).abs() < 1e-12), "{mach}: {state:?}");
    }
    assert_eq!(make(3.0, &[]), Ok(Boundary::Farfield));
    let pressure = [("total_pressure", Value::Number(1.2))];
    assert!(matches!(make(3.0, &pressure), Ok(Boundary::Inlet { total_pressure: 1.2, .. })));
    let direction = [("direction", Value::Vector([1.0, 0.0, 0.0]))];
    assert!(make(3.0, &direction).unwrap_err().contains("`direction`"));
    assert!(matches!(make(0.3, &direction), Ok(Boundary::Inlet { direction: [1.0, 0.0, 0.0], .. })));
}

/// Mass and energy through an inlet go through zero without a jump where the inside begins to push out; what it pushes leaves.
#[test]
fn an_inlet_lets_out_what_the_inside_pushes() {
    let inlet = Inlet::new(GAS, 1.2, 1.05, [1.0, 0.0, 0.0]);
    let n = [-1.0, 0.0, 0.0];
    let still = |u: f64| bc_inlet(GAS, &[2.0, u, 0.3, 0.0, 1.2 / 1.4], inlet, &n);
    for u in [1e-9, -1e-9] {
        let out = flux_through(GAS, &still(u), &n);
        assert!(out[0].abs() < 3e-9 && out[4].abs() < 3e-8 && (out[1] + 1.2 / 1.4).abs() < 1e-8, "{out:?}");
    }
    assert_close(&still(-0.2), &[2.0, -0.2, 0.3, 0.0, 1.2 / 1.4], 1e-14);
    let pushed = [2.0, -1.5, 0.0, 0.0, 3.0];
    assert_close(&bc_inlet(GAS, &pushed, inlet, &n), &pushed, 1e-14);
}

/// Hot gas of the stream's pressure and velocity is no wave: it leaves as it is, and the stream comes in as it is.
#[test]
fn a_contact_at_the_farfield_makes_no_wave() {
    let stream = [1.0, 0.03, 0.2, 0.0, 1.0 / 1.4];
    let hot = [0.7, 0.03, 0.2, 0.0, 1.0 / 1.4];
    for (n, expected) in [([1.0, 8.0, 0.0], hot), ([-1.0, -8.0, 0.0], stream)] {
        assert_close(&bc_farfield(GAS, &hot, &stream, &n), &expected, 1e-14);
    }
}

#[test]
fn farfield_is_one_sided_when_supersonic() {
    let n = [1.0, 0.0, 0.0];
    let (w, free) = ([1.1, 2.0, 0.1, 0.0, 0.8], [1.0, 2.5, 0.0, 0.2, 1.0 / 1.4]);
    assert_close(&bc_farfield(GAS, &w, &free, &n), &w, 1e-14);
    assert_close(&bc_farfield(GAS, &w, &free, &[-1.0, 0.0, 0.0]), &free, 1e-14);
}

/// A supersonic stream holds a shock that stands at its boundary and one that would run inwards; one that is stronger leaves, and
/// less comes in.
#[test]
fn shocks_leave_against_a_supersonic_stream() {
    let (mach, n) = (2.0_f64, [-0.3, -0.1, 0.0]);
    let size = (n[0] * n[0] + n[1] * n[1]).sqrt();
    let along = n.map(|x| -x / size);
    let state = |rho: f64, speed: f64, p: f64| [rho, speed * along[0], speed * along[1], speed * along[2], p];
    let free = state(1.0, mach, 1.0 / 1.4);
    let behind = |mach: f64| {
        // At rest in the shock's frame, which moves at `mach` - 2 outwards.
        let ratio = 2.4 * mach * mach / (2.0 + 0.4 * mach * mach);
        state(ratio, mach / ratio - (mach - 2.0), (1.0 + 2.8 / 2.4 * (mach * mach - 1.0)) / 1.4)
    };
    let (stream, condition) = (flux(GAS, &free, &n), Boundary::Farfield.condition(GAS, free));
    let at = |w: &[f64; 5]| condition_flux(&condition, GAS, w, &n);
    assert_close(&at(&free), &stream, 1e-13);
    assert_close(&at(&state(1.2, 1.7, 0.9)), &stream, 1e-13);
    assert_close(&flux(GAS, &behind(2.0), &n), &stream, 1e-13);
    let held = at(&behind(2.0));
    // But for the entropy fix: |lambda| is half its width where the shock stands.
    for i in [0, 1, 2, 4] {
        assert!((held[i] - stream[i]).abs() < 0.03 * stream[i].abs(), "{i}: {} {}", held[i], stream[i]);
    }
    let (weaker, stronger) = (at(&behind(1.5)), at(&behind(2.6)));
    assert_close(&weaker, &stream, 1e-13);
    assert_close(&stronger, &flux(GAS, &behind(2.6), &n), 1e-12);
    assert!(stronger[0] > 0.9 * stream[0], "less comes in: {} {}", stronger[0], stream[0]);
}
