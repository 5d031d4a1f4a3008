//! Free streams given with units: the Mach, Reynolds and temperature that they come to.

use super::{CaseFile, FlowSection, Source};
use crate::error::CliResult;

/// Gas constant of air, J / (kg K): US Standard Atmosphere (1976), Table 2.
const GAS_CONSTANT: f64 = 287.052_87;
/// Sutherland's viscosity of air at 273.15 K, Pa s.
const VISCOSITY_273: f64 = 1.716e-5;

/// Temperature and pressure at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Air {
    /// Kelvin.
    pub temperature: f64,
    /// Pascal.
    pub pressure: f64,
}

/// Geopotential height of a layer's foot in metres, its temperature and the change with height in kelvin a metre.
const LAYERS: [(f64, f64, f64); 7] = [
    (0.0, 288.15, -0.0065),
    (11_000.0, 216.65, 0.0),
    (20_000.0, 216.65, 0.001),
    (32_000.0, 228.65, 0.0028),
    (47_000.0, 270.65, 0.0),
    (51_000.0, 270.65, -0.0028),
    (71_000.0, 214.65, -0.002),
];
/// Highest altitude of the standard atmosphere, metres (geometric).
const HIGHEST: f64 = 84_000.0;
/// Lowest one.
const LOWEST: f64 = -2_000.0;

/// The standard atmosphere at a geometric altitude in metres.
///
/// **Source**: US Standard Atmosphere, 1976, equations 18, 23 and 33.
pub fn standard_atmosphere(altitude: f64) -> Air {
    let (earth, gravity) = (6_356_766.0, 9.806_65);
    let height = earth * altitude / (earth + altitude);
    let mut pressure = 101_325.0;
    for (i, &(foot, base, slope)) in LAYERS.iter().enumerate() {
        let head = LAYERS.get(i + 1).map_or(f64::INFINITY, |next| next.0);
        let top = height.min(head);
        let temperature = base + slope * (top - foot);
        pressure *= if slope == 0.0 {
            (-gravity * (top - foot) / (GAS_CONSTANT * base)).exp()
        } else {
            (base / temperature).powf(gravity / (GAS_CONSTANT * slope))
        };
        if height <= head {
            return Air { temperature, pressure };
        }
    }
    unreachable!("the last layer has no head")
}

/// Dynamic viscosity of air, Pa s, by Sutherland's law with the constant `sutherland` in kelvin.
fn viscosity(temperature: f64, sutherland: f64) -> f64 {
    let ratio: f64 = temperature / 273.15;
    VISCOSITY_273 * ratio.powf(1.5) * (273.15 + sutherland) / (temperature + sutherland)
}

impl FlowSection {
    /// Reynolds number on `reynolds_length` of the free stream `air` at `velocity` (m/s).
    fn reynolds_of(&self, air: Air, velocity: f64) -> f64 {
        let density = air.pressure / (GAS_CONSTANT * air.temperature);
        density * velocity * self.reynolds_length * self.meters / viscosity(air.temperature, self.sutherland)
    }

    fn sound(&self, temperature: f64) -> f64 {
        (self.gamma * GAS_CONSTANT * temperature).sqrt()
    }
}

impl CaseFile {
    /// Turns `altitude`, or `velocity` with `temperature` and `pressure`, into Mach number, Reynolds number and temperature.
    /// `table` is what the case file and its changes give.
    ///
    /// # Errors
    /// A value out of its range; two keys that say the same thing; one that is missing.
    pub(super) fn take_units(&mut self, source: &Source, table: &toml::Table) -> CliResult<()> {
        let given = |key: &str| table.get("flow").is_some_and(|flow| flow.get(key).is_some());
        let fail = |key: &str, message: &str| Err(source.error(&["flow", key], message));
        let f = &mut self.flow;
        let viscous = f.equations.is_viscous();
        if !(f.meters > 0.0 && f.meters.is_finite()) {
            return fail("meters", &format!("meters is {}: expected a positive number", f.meters));
        }
        for (key, value) in [("velocity", f.velocity), ("pressure", f.pressure)] {
            if value.is_some_and(|v| !(v > 0.0 && v.is_finite())) {
                return fail(
                    key,
                    &format!("{key} is {}: expected a positive number", value.unwrap_or_default()),
                );
            }
        }
        if let Some(altitude) = f.altitude {
            if !(LOWEST..=HIGHEST).contains(&altitude) {
                let range = format!("altitude is {altitude}: expected metres between {LOWEST} and {HIGHEST}");
                return fail("altitude", &range);
            }
            if let Some(key) = ["temperature", "pressure", "reynolds"].into_iter().find(|key| given(key)) {
                return fail(key, &format!("{key} follows from altitude: leave one of them out"));
            }
            let air = standard_atmosphere(altitude);
            (f.temperature, f.pressure) = (air.temperature, Some(air.pressure));
        }
        if let Some(velocity) = f.velocity {
            if given("mach") {
                return fail("velocity", "velocity and mach say the same: leave one of them out");
            }
            if !given("temperature") && f.altitude.is_none() {
                return fail("velocity", "velocity needs `temperature` (kelvin), or `altitude`");
            }
            if viscous && f.pressure.is_none() && !given("reynolds") {
                return fail(
                    "velocity",
                    "viscous flow of a given velocity needs `pressure` (pascal), `altitude` or `reynolds`",
                );
            }
            f.mach = velocity / f.sound(f.temperature);
        }
        if let Some(pressure) = f.pressure {
            if given("reynolds") {
                return fail("reynolds", "reynolds follows from pressure: leave one of them out");
            }
            if !given("temperature") && f.altitude.is_none() {
                return fail(
                    "pressure",
                    "pressure needs `temperature` (kelvin), or `altitude` in the place of both",
                );
            }
            let air = Air { temperature: f.temperature, pressure };
            f.reynolds = f.reynolds_of(air, f.mach * f.sound(f.temperature));
        } else if given("meters") {
            return fail(
                "meters",
                "meters is the mesh unit of a free stream with units: it needs `altitude` or `pressure`",
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Case;
    use super::*;
    use crate::context::Backend;
    use std::path::Path;

    fn flow(text: &str) -> Result<FlowSection, String> {
        let text = format!("[mesh]\nfile = \"m.su2\"\n[flow]\nequations = \"laminar\"\n{text}");
        match Case::of(Source::of_text(Path::new("c.toml"), &text), &[], Backend::Cpu) {
            Ok((_, Case::Unstructured(case))) => Ok(case.flow),
            Ok(_) => unreachable!("a case of a mesh"),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Tables of the US Standard Atmosphere (1976): temperature, pressure.
    #[test]
    fn the_atmosphere_is_the_standard_one() {
        let table = [
            (0.0, 288.15, 101_325.0),
            (5_000.0, 255.676, 54_048.0),
            (11_000.0, 216.774, 22_700.0),
            (20_000.0, 216.65, 5_529.3),
            (30_000.0, 226.509, 1_197.0),
            (50_000.0, 270.65, 79.779),
        ];
        for (altitude, temperature, pressure) in table {
            let air = standard_atmosphere(altitude);
            assert!((air.temperature - temperature).abs() < 2e-3, "{altitude} m: {air:?}");
            assert!((air.pressure / pressure - 1.0).abs() < 2e-4, "{altitude} m: {air:?}");
        }
    }

    #[test]
    fn units_make_the_numbers_of_the_free_stream() {
        // Sea level: a = 340.294 m/s, mu = 1.789e-5 Pa s, rho = 1.225 kg/m3.
        let sea = flow("mach = 0.5\naltitude = 0\nmeters = 2.0").unwrap();
        let reynolds = 1.225 * 170.147 * 2.0 / 1.789e-5;
        assert!((sea.reynolds / reynolds - 1.0).abs() < 2e-3, "{}", sea.reynolds);
        let same = flow("velocity = 170.147\ntemperature = 288.15\npressure = 101325\nmeters = 2.0").unwrap();
        assert!((same.mach - 0.5).abs() < 1e-5 && (same.reynolds / sea.reynolds - 1.0).abs() < 1e-5);
        let plain = flow("mach = 0.5\nreynolds = 100.0").unwrap();
        assert_eq!((plain.mach, plain.reynolds, plain.pressure), (0.5, 100.0, None));
    }

    #[test]
    fn what_is_given_twice_or_not_at_all_is_said() {
        let cases = [
            ("mach = 0.5\naltitude = 1e6", "expected metres between"),
            ("mach = 0.5\naltitude = 0\nreynolds = 10.0", "reynolds follows from altitude"),
            ("mach = 0.5\nvelocity = 10.0", "velocity and mach say the same"),
            ("velocity = 10.0\nreynolds = 10.0", "velocity needs `temperature`"),
            ("velocity = 10.0\ntemperature = 300.0", "needs `pressure`"),
            ("velocity = -1.0", "velocity is -1: expected a positive number"),
            ("mach = 0.5\npressure = 1e5", "pressure needs `temperature`"),
            ("mach = 0.5\nreynolds = 10.0\nmeters = 2.0", "meters is the mesh unit"),
        ];
        for (text, expected) in cases {
            let error = flow(text).unwrap_err();
            assert!(error.contains(expected) && error.starts_with("c.toml:"), "{text}: {error}");
        }
    }
}
