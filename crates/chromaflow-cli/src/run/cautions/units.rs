//! Values that look like those of another unit: kelvin, pascal or metres per second for ratios, whole turns for angles.

use chromaflow_flow::bc::Stream;
use chromaflow_flow::config::{Boundary, Freestream};
use std::collections::BTreeMap;

/// Ratio of temperatures from which on it may be meant to be kelvin, where the stream's own total temperature is no higher.
const HOT: f64 = 20.0;

/// Ratio of pressures from which on it may be meant to be pascal; chambers of rockets have some hundred times the pressure around them.
const HIGH: f64 = 2000.0;

/// Velocity over the speed of sound from which on it may be meant to be metres per second, where the stream is no faster.
const FAST: f64 = 20.0;

/// Degrees beyond which the stream comes from behind.
const BEHIND: f64 = 90.0;

/// Says of each such value what it is taken for; `lift`: the axis along which lift points at zero incidence.
pub fn odd(
    boundaries: &BTreeMap<String, Boundary>,
    stream: &Freestream,
    (gamma, lift): (f64, usize),
) -> Vec<String> {
    let [high, hot] = Stream { along: [1.0, 0.0, 0.0], mach: stream.mach, gamma }.total();
    let (hot, high, fast) = (hot.max(HOT), high.max(HIGH), stream.mach.max(FAST));
    let mut told = Vec::new();
    for (name, degrees) in [("alpha", stream.alpha_deg), ("beta", stream.beta_deg)] {
        if degrees.abs() > BEHIND {
            let side = if name == "alpha" { turned(degrees, lift) } else { String::new() };
            told.push(format!(
                "flow.{name} is {degrees} degrees: beyond {BEHIND} the stream comes from behind{side}"
            ));
        }
    }
    let speed = |v: &[f64; 3]| v.iter().map(|x| x * x).sum::<f64>().sqrt();
    for (marker, boundary) in boundaries {
        let (temperature, pressure, velocity) = match boundary {
            Boundary::NoSlipIsothermal { temperature } => (Some(*temperature), None, None),
            Boundary::MovingWall { motion, temperature } => {
                (*temperature, None, Some(speed(&motion.velocity)))
            }
            Boundary::VelocityInlet { velocity, temperature } => {
                (Some(*temperature), None, Some(speed(velocity)))
            }
            Boundary::Inlet { total_pressure, total_temperature, .. } => {
                (Some(*total_temperature), Some(*total_pressure), None)
            }
            Boundary::Outlet { pressure } => (None, Some(*pressure), None),
            _ => (None, None, None),
        };
        let mut tell = |value: Option<f64>, most: f64, what: &str, over: &str| {
            if let Some(value) = value.filter(|value| *value > most) {
                told.push(format!("`{marker}`: a {what} of {value} is that many times {over}"));
            }
        };
        tell(temperature, hot, "temperature", "the static temperature of the free stream, not kelvin");
        tell(pressure, high, "pressure", "the static pressure of the free stream, not pascal");
        tell(velocity, fast, "velocity", "the speed of sound of the free stream, not metres per second");
        if let Boundary::VelocityInlet { velocity, temperature } = boundary
            && speed(velocity) > temperature.sqrt()
            && speed(velocity) <= fast
        {
            told.push(format!(
                "`{marker}`: its velocity is Mach {:.3}, and a `velocity_inlet` is for inflow slower than sound; velocities are over the speed of sound of \
                 the free stream, not metres per second; \"farfield\" lets a faster stream in",
                speed(velocity) / temperature.sqrt()
            ));
        }
    }
    told
}

/// Where lift points, which stays across the stream, if not to its axis.
fn turned(alpha: f64, lift: usize) -> String {
    let (sine, cosine) = alpha.to_radians().sin_cos();
    let (part, axis) = if sine.abs() > cosine.abs() { (-sine, 0) } else { (cosine, lift) };
    let sign = if part < 0.0 { "-" } else { "" };
    if axis == lift && part > 0.0 {
        return String::new();
    }
    format!(", and lift, across it, to {sign}{}", ["x", "y", "z"][axis])
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::bc::Motion;

    /// Values in other units are told, those of hypersonic flow and of rockets are not.
    #[test]
    fn values_in_other_units_are_told() {
        let of = |mach: f64, boundary: Boundary| {
            let stream = Freestream { mach, ..Freestream::default() };
            odd(&[("side".to_owned(), boundary)].into(), &stream, (1.4, 2))
        };
        let wall = |temperature| Boundary::NoSlipIsothermal { temperature };
        let inlet = |total_pressure, total_temperature| Boundary::Inlet {
            total_pressure,
            total_temperature,
            direction: [1.0, 0.0, 0.0],
        };
        let velocity = |x: f64| Boundary::VelocityInlet { velocity: [x, 0.0, 0.0], temperature: 1.0 };
        let belt = |x: f64| {
            let motion = Motion { velocity: [x, 0.0, 0.0], ..Motion::NONE };
            Boundary::MovingWall { motion, temperature: Some(288.15) }
        };
        for (boundary, parts) in [
            (wall(300.0), &["`side`: a temperature of 300 ", "kelvin"][..]),
            (Boundary::Outlet { pressure: 101_325.0 }, &["a pressure of 101325 ", "pascal"]),
            (inlet(2e5, 300.0), &["kelvin", "pascal"]),
            (velocity(50.0), &["metres per second"]),
            (velocity(10.0), &["Mach 10.000", "metres per second"]),
            (belt(30.0), &["kelvin", "metres per second"]),
        ] {
            let told = of(0.5, boundary);
            assert!(parts.iter().all(|part| told.iter().any(|t| t.contains(part))), "{told:?}");
        }
        for (mach, boundary) in [
            (0.5, wall(8.0)),
            (0.01, inlet(500.0, 12.0)),
            (15.0, wall(40.0)),
            (25.0, inlet(1e7, 120.0)),
            (0.1, velocity(1.0)),
        ] {
            assert_eq!(of(mach, boundary), Vec::<String>::new(), "{boundary:?}");
        }
        let turned = |alpha_deg, beta_deg| {
            odd(&BTreeMap::new(), &Freestream { alpha_deg, beta_deg, ..Freestream::default() }, (1.4, 1))
        };
        assert!(turned(1000.0, 0.0)[0].contains("flow.alpha is 1000 degrees"));
        assert!(turned(177.0, 0.0)[0].ends_with("and lift, across it, to -y"));
        assert!(turned(93.0, 0.0)[0].ends_with("to -x") && turned(-93.0, 0.0)[0].ends_with("to x"));
        assert!(
            turned(-360.0, 0.0)[0].ends_with("from behind") && turned(0.0, 177.0)[0].ends_with("from behind")
        );
        assert_eq!([turned(90.0, -90.0).len(), turned(-91.0, 100.0).len()], [0, 2]);
    }
}
