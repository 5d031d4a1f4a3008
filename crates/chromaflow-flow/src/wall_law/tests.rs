use super::*;
use crate::bc::{Wall, WallHeat};
use crate::gas::{Gas, Transport, ViscosityLaw};
use crate::turbulence::spalart_allmaras::law_of_the_wall;

const LAWS: [WallLaw; 5] = [
    WallLaw::SpalartAllmaras,
    WallLaw::SpalartAllmarasOfCells,
    WallLaw::Sst,
    WallLaw::SstVorticity,
    WallLaw::Wilcox,
];

/// u+ is that of the law and of the scheme at the y+ found, from creeping flow to y+ of 1e8, and the slope is the law's. What the scheme adds is as it was found in one
/// dimension, within 0.03 (0.07 about y+ 17).
#[test]
fn units_solve_the_law() {
    for k in -40..=60 {
        let reynolds = 10.0_f64.powf(0.2 * f64::from(k));
        for law in LAWS {
            let units = |reynolds: f64| -> [f64; 2] { law_units(law, reynolds) };
            let ([y, slope], h) = (units(reynolds), 1e-4 * reynolds);
            let ([up, _], [down, _]) = (units(reynolds + h), units(reynolds - h));
            // d ln(friction) / d ln Re of both functions.
            let difference =
                (2.0 * (up / down).ln() / ((reynolds + h) / (reynolds - h)).ln() - 1.0) * y * y / reynolds;
            let [ratio, by]: [f64; 2] = law_resistance(law, reynolds);
            assert!((ratio * reynolds / (y * y) - 1.0).abs() < 1e-12);
            assert!((by - difference).abs() < 1e-6 * ratio, "{law:?}, {y}: {by} {difference}");
            assert!(y > 0.01 || (slope - 1.0).abs() < 1e-4, "{law:?}, {y}: {slope}");
            let added = match law {
                WallLaw::SpalartAllmaras | WallLaw::SpalartAllmarasOfCells => {
                    reynolds / y - law_of_the_wall(y)
                }
                _ => continue,
            };
            let h = 1e-4 * y;
            let difference = (law_of_the_wall(y + h) - law_of_the_wall(y - h)) / (2.0 * h);
            assert!((slope - difference).abs() < 1e-6, "{reynolds}: {slope} {difference}");
            assert!((-1e-3..2.7).contains(&added), "{law:?}, {y}: {added}");
        }
    }
    let found = [1.0, 2.0, 3.0, 5.0, 8.0, 12.0, 20.0, 30.0, 100.0, 1000.0];
    let nodes = [0.036, 0.141, 0.265, 0.575, 1.150, 0.752, 0.269, 0.171, 0.152, 0.157];
    let cells = [0.121, 0.460, 0.817, 2.249, 2.312, 1.316, 0.592, 0.448, 0.425, 0.437];
    for (law, all) in [(WallLaw::SpalartAllmaras, nodes), (WallLaw::SpalartAllmarasOfCells, cells)] {
        for (y, added) in found.into_iter().zip(all) {
            let [units, _]: [f64; 2] = law_units(law, y * (law_of_the_wall(y) + added));
            let error = (y * (law_of_the_wall(y) + added)) / units - law_of_the_wall(units) - added;
            assert!(error.abs() < 0.075, "{law:?}, {y}: {units}, {error}");
        }
    }
}

/// u+ of the models' equations in one dimension where the stress is constant, by 3,000 points up to y+ 300,000.
#[test]
fn laws_are_the_models_own() {
    let places = [5.0, 10.0, 30.0, 60.0, 100.0, 200.0, 1000.0];
    let sst = [4.8911, 8.1872, 12.5449, 14.7067, 16.1564, 18.0136, 22.1000];
    let vorticity = [4.8905, 8.1809, 12.5220, 14.6737, 16.1166, 17.9654, 22.0338];
    let wilcox = [4.9115, 8.3211, 12.7468, 14.9378, 16.4087, 18.2964, 22.4592];
    for (law, all) in LAWS[2..].iter().zip([sst, vorticity, wilcox]) {
        for (y, u) in places.into_iter().zip(all) {
            let [found, _]: [f64; 2] = law_units(*law, y * u);
            assert!((found / y - 1.0).abs() < 1.5e-3, "{law:?}: {found} at {y}");
        }
    }
}

/// By hand: y+ of 100 at Re 1632.0216 for Spalart-Allmaras, and 100 times the 0.154 that nodes add.
#[test]
fn units_by_hand() {
    let [y, _]: [f64; 2] = law_units(WallLaw::SpalartAllmaras, 1632.0216076 + 15.4018);
    assert!((y - 100.0).abs() < 1e-4, "{y}");
}

fn place(law: WallLaw, heat: WallHeat) -> LawPlace<f64> {
    let wall = Wall { temperature: 1.3, velocity: [0.0; 3] };
    LawPlace { law, heat, area: 2.0, distance: 0.01, away: [0.0, 0.0, 1.0], wall }
}

fn air(scale: f64) -> Transport<f64> {
    Transport { scale, prandtl: 0.72, law: ViscosityLaw::Constant, sutherland: 0.0 }
}

/// In the viscous layer friction and heat are those of linear profiles, mu u / d and k (T - T_wall) / d.
#[test]
fn thin_cells_have_the_stress_of_a_linear_profile() {
    let (gas, transport) = (Gas::AIR, air(1e-3));
    for law in LAWS {
        // Re = 0.01.
        let w = [1.0, 0.0006, 0.0008, 0.3, 1.0 / 1.4];
        let [x, y, z, q] = law_load(gas, transport, place(law, WallHeat::Adiabatic), &w);
        let mu = 1e-3 / 0.01 * 2.0;
        assert!((x / (mu * 0.0006) - 1.0).abs() < 1e-3 && (y / x - 8.0 / 6.0).abs() < 1e-12, "{x} {y}");
        assert!(z == 0.0 && q == 0.0);
        let q = law_load(gas, transport, place(law, WallHeat::Isothermal), &w)[3];
        let conductivity = 1e-3 / (0.72 * 0.4);
        let expected = 2.0 * conductivity * (1.0 - 1.3) / 0.01;
        assert!((q / expected - 1.0).abs() < 1e-3, "{q} {expected}");
    }
}

/// Of a wall that moves the velocity relative to it counts, and its force does work.
#[test]
fn walls_that_move() {
    let (gas, transport) = (Gas::AIR, air(1e-6));
    let still = place(WallLaw::Sst, WallHeat::Adiabatic);
    let moving = LawPlace { wall: Wall { velocity: [0.2, 0.0, 0.0], ..still.wall }, ..still };
    let w = [1.0, 0.5, 0.0, 0.0, 1.0 / 1.4];
    let load = law_load(gas, transport, moving, &w);
    assert_eq!(load, law_load(gas, transport, still, &[1.0, 0.3, 0.0, 0.0, 1.0 / 1.4]));
    assert_eq!(law_flux(moving, &load)[4], 0.2 * load[0]);
}

/// The shear along the wall is the law's, u_tau / (kappa d) in the logarithmic layer, and nothing else of the gradient changes.
#[test]
fn gradients_have_the_shear_of_the_law() {
    let (gas, transport) = (Gas::AIR, air(1e-8));
    let gradient = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]];
    let w = [1.0, 0.0, 0.4, 0.1, 1.0 / 1.4];
    for (law, kappa) in LAWS.into_iter().zip([0.41, 0.41, 0.4082, 0.41, 0.40]) {
        let place = place(law, WallHeat::Adiabatic);
        let changed = law_gradient(gas, transport, place, &w, &gradient);
        let [y, friction] = law_friction(gas, transport, place, &w);
        assert!(y > 3000.0, "{y}");
        assert!((changed[1][2] * kappa * 0.01 / friction - 1.0).abs() < 0.02, "{law:?}: {changed:?}");
        for i in 0..3 {
            for k in 0..3 {
                assert!((i, k) == (1, 2) || changed[i][k] == gradient[i][k]);
            }
        }
    }
}

/// Kader's temperature is linear at the wall and logarithmic off it, with the slope 2.12 in ln y+.
#[test]
fn temperatures_follow_kader() {
    assert!((law_heat(0.72, 0.5_f64) / 0.36 - 1.0).abs() < 1e-3);
    let rise: f64 = law_heat(0.72, 2e4) - law_heat(0.72, 1e4);
    assert!((rise - 2.12 * 2.0_f64.ln()).abs() < 1e-3, "{rise}");
}
