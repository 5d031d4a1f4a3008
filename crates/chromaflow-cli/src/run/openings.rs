//! What open markers let through, and what they were given and do not get.

use super::summary::apart;
use crate::numbers::Look;
use chromaflow_flow::config::Boundary;
use chromaflow_flow::march::Outflow;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// What a flow was given: the condition of each marker, the ratio of specific heats, and the Mach number of the free stream.
#[derive(Clone, Copy)]
pub struct Given<'a> {
    pub conditions: &'a BTreeMap<String, Boundary>,
    pub gamma: f64,
    pub mach: f64,
}

/// Adds what open markers let through, and what they were given and do not get.
pub fn insert(facts: &mut Map<String, Value>, markers: &[Outflow], given: Given) {
    facts.insert("outflow".to_owned(), outflow(markers));
    facts.insert("unmet".to_owned(), json!(unmet(markers, given)));
}

/// The same in words.
pub fn told(markers: &[Outflow], given: Given) -> Vec<String> {
    apart(through(markers, given.conditions), unmet(markers, given))
}

/// What leaves through open markers.
fn outflow(markers: &[Outflow]) -> Value {
    let of = |o: &Outflow| {
        json!({
            "mass_flow": o.mass_flow, "pressure": o.pressure,
            "total_pressure": o.total_pressure, "total_temperature": o.total_temperature,
        })
    };
    Value::Object(markers.iter().map(|o| (o.marker.clone(), of(o))).collect())
}

/// The same in words, where there is more than far fields.
fn through(markers: &[Outflow], conditions: &BTreeMap<String, Boundary>) -> Vec<String> {
    let far = |o: &Outflow| conditions.get(&o.marker).is_none_or(|b| *b == Boundary::Farfield);
    if markers.iter().all(far) {
        return Vec::new();
    }
    let head = format!(
        "{:20} {:>12} {:>12} {:>12} {:>12}",
        "leaves", "mass", "p / p_inf", "p0 / p_inf", "T0 / T_inf"
    );
    let masses = Look::of(markers.iter().map(|o| o.mass_flow));
    let line = |o: &Outflow| {
        let ratios = [o.pressure, o.total_pressure, o.total_temperature];
        let looks = ratios.map(|ratio| (Look::of([ratio]), ratio));
        // Where nothing passes there is no mean of what does.
        let text =
            |(look, ratio): (Look, f64)| if ratio.is_finite() { look.text(ratio) } else { "-".to_owned() };
        let [p, p0, t0] = looks.map(text);
        format!("{:20} {:>12} {p:>12} {p0:>12} {t0:>12}", o.marker, masses.text(o.mass_flow))
    };
    [head].into_iter().chain(markers.iter().map(line)).collect()
}

/// Part of a given mass flow by which it may be missed.
const MISSED: f64 = 0.01;

/// What markers were given and do not get.
fn unmet(markers: &[Outflow], Given { conditions, gamma, mach }: Given) -> Vec<String> {
    let of = |o: &Outflow| match *conditions.get(&o.marker)? {
        Boundary::Farfield if mach > 1.0 => pushed_out(o, gamma),
        Boundary::Outlet { pressure } => not_felt(o, pressure, gamma),
        Boundary::MassFlowOutlet { mass_flow } => missed(o, mass_flow),
        _ => None,
    };
    markers.iter().filter_map(of).collect()
}

/// The square of the Mach number of what passes, by its means.
fn mach_square(o: &Outflow, gamma: f64) -> f64 {
    2.0 / (gamma - 1.0) * ((o.total_pressure / o.pressure).powf((gamma - 1.0) / gamma) - 1.0)
}

/// A supersonic stream that does not enter as it is.
fn pushed_out(o: &Outflow, gamma: f64) -> Option<String> {
    let square = mach_square(o, gamma);
    (o.mass_flow < 0.0 && square < 1.0).then(|| {
        format!(
            "the free stream does not enter `{}` as it is: it comes in at Mach {:.2} and {:.4} of p_inf, behind \
             a shock that has left through it. What lies inside lets less pass (a throat, the pressure of an \
             outlet), or begins too near",
            o.marker,
            square.max(0.0).sqrt(),
            o.pressure
        )
    })
}

/// The pressure of an outlet that the flow leaves at supersonic speed, although it is more than the pressure behind a normal shock there,
/// p (1 + 2 gamma / (gamma + 1) (M^2 - 1)).
fn not_felt(o: &Outflow, pressure: f64, gamma: f64) -> Option<String> {
    let square = mach_square(o, gamma);
    let shocked = o.pressure * (1.0 + 2.0 * gamma / (gamma + 1.0) * (square - 1.0));
    (square > 1.0 && pressure > shocked).then(|| {
        format!(
            "the pressure of `{}`, {pressure}, is not felt: the flow leaves at Mach {:.2} and {:.4} of p_inf. It \
             is more than a normal shock there leaves behind, {shocked:.4}: beside this flow there is one with a \
             shock inside, which runs find that start without --restart, from slower flow (a lower flow.mach) \
             where that is supersonic",
            o.marker,
            square.sqrt(),
            o.pressure
        )
    })
}

/// A mass flow that does not come.
fn missed(o: &Outflow, mass_flow: f64) -> Option<String> {
    ((o.mass_flow - mass_flow).abs() > MISSED * mass_flow).then(|| {
        format!(
            "`{}` lets out {:.5} where its mass_flow is {mass_flow}: the flow chokes on its way there, or what \
             comes in is something else",
            o.marker, o.mass_flow
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mass flows of meshes in micrometres are legible, ratios beside them as they always are.
    #[test]
    fn what_passes_through_is_legible_in_any_unit() {
        let of = |marker: &str, mass_flow| Outflow {
            marker: marker.to_owned(),
            mass_flow,
            pressure: 1.0170814,
            total_pressure: 1.0168763,
            total_temperature: 1.0001444,
        };
        let conditions = [("left", Boundary::Extrapolation), ("right", Boundary::Extrapolation)];
        let conditions = conditions.map(|(name, b)| (name.to_owned(), b)).into();
        let lines = through(&[of("left", -2.5e-10), of("right", 2.25e-10)], &conditions);
        assert!(lines[1].contains(" -2.50000e-10    1.0170814 "), "{lines:?}");
        assert!(lines.iter().all(|line| line.len() == lines[0].len()), "{lines:?}");
        let lines = through(&[of("left", -0.25), of("right", -1e-12)], &conditions);
        assert!(lines[1].contains("  -0.2500000 ") && lines[2].contains("   0.0000000 "), "{lines:?}");
    }

    /// A nozzle that runs at Mach 1.85 against more, and against less, than a normal shock leaves; a choked outlet; a stream that spills.
    #[test]
    fn what_is_not_met_is_told() {
        let of = |marker: &str, mass_flow, pressure| Outflow {
            marker: marker.to_owned(),
            mass_flow,
            pressure,
            total_pressure: 1.0644,
            total_temperature: 1.018,
        };
        let told = |boundary, mass_flow, pressure| {
            let conditions = [("out".to_owned(), boundary)].into();
            unmet(&[of("out", mass_flow, pressure)], Given { conditions: &conditions, gamma: 1.4, mach: 2.0 })
        };
        // p0 / p = 6.25: M^2 = 3.44, behind a shock 0.1703 * 3.85 = 0.655.
        let against = |pressure| told(Boundary::Outlet { pressure }, 0.3, 0.1703);
        assert!(
            against(0.7)[0].contains("`out`, 0.7, is not felt: the flow leaves at Mach 1.85"),
            "{:?}",
            against(0.7)
        );
        assert!(against(0.7)[0].contains("0.6552"), "{:?}", against(0.7));
        assert_eq!(against(0.64), Vec::<String>::new());
        assert_eq!(told(Boundary::Outlet { pressure: 0.98 }, 0.3, 0.98), Vec::<String>::new());
        let drains = |mass_flow| told(Boundary::MassFlowOutlet { mass_flow }, 0.3, 0.98);
        assert!(drains(0.35)[0].contains("lets out 0.30000 where its mass_flow is 0.35"));
        assert_eq!(drains(0.301), Vec::<String>::new());
        let enters = |pressure| told(Boundary::Farfield, -0.3, pressure);
        assert!(
            enters(0.9)[0].contains("does not enter `out` as it is: it comes in at Mach 0.50 and 0.9000"),
            "{:?}",
            enters(0.9)
        );
        assert_eq!(enters(0.1703), Vec::<String>::new());
    }
}
