//! The results of a run: as JSON, and as tables on the screen.

use super::advice::lagging;
use super::flow::Flow;
use super::history::Equations;
use super::march::{Finished, Run};
use super::oscillation::Oscillation;
use super::walls::height;
use super::{bytes, duration};
use crate::case::FlowSection;
use crate::context::Context;
use crate::numbers::{Cell, Look};
use chromaflow::Outcome;
use chromaflow_flow::StepReport;
use chromaflow_flow::config::{Boundary, Reference, Time, TurbulenceConfig, WallTreatment};
use chromaflow_flow::flux::RoeFix;
use chromaflow_flow::march::{BadPlace, Coefficients, Forces, Part, Spread};
use chromaflow_flow::turbulence::end_of_log_layer;
use chromaflow_flow::unstructured::RankReport;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What is said of runs that have gone over to a flux that damps more.
pub fn damped_flux() -> String {
    let [entropy, acoustic] = RoeFix::DAMPED;
    format!(
        "Roe's flux damps more than the case asks for, as by numerics.entropy_fix of {entropy} at least and acoustic_fix of {acoustic} at most"
    )
}

/// Everything that scripts may want. `facts` is what the flow said of itself while it had all its memory, `ranks` how the time of each
/// rank went, where there are several.
pub fn json(
    run: &Run<'_>,
    flow: &impl Flow,
    finished: &Finished,
    (facts, ranks): (Map<String, Value>, &[RankReport]),
) -> Value {
    let (last, times) = (&finished.last, flow.solver().times());
    let components: Map<String, Value> =
        times.components().into_iter().map(|(name, s)| (name.to_owned(), json!(s))).collect();
    let bad = last.bad.as_ref().map(bad_state);
    let mut all = json!({
        "case": run.source.path,
        "title": run.title,
        "outcome": finished.outcome.name(),
        "interrupted": finished.interrupted,
        "iterations": last.iteration,
        "time_steps": last.time_step,
        "unfinished_time_steps": finished.tally.unfinished,
        "residual_orders": last.orders,
        "flow_residual_orders": run.equations.fallen(&finished.rows).map(digits),
        "damped": last.damped,
        "hard_systems": last.hard,
        "residual": flow.residual(&last.residual),
        "coupled": coupled(&flow.coupled(), last),
        "forces": forces(&last.forces),
        "oscillation": finished.swings.filter(|(o, _)| o.settled).map(settled),
        "time": {
            "total_s": finished.seconds,
            "march_s": times.total,
            "per_iteration_s": times.total / finished.taken.max(1) as f64,
            "components": components,
        },
        "bad_place": bad,
        "versions": { "chromaflow": env!("CARGO_PKG_VERSION") },
    });
    let map = all.as_object_mut().expect("an object");
    map.extend(facts);
    for of_time in ["halo_s", "setup_s"] {
        if let Some(seconds) = map.remove(of_time) {
            map["time"][of_time] = seconds;
        }
    }
    if !ranks.is_empty() {
        let range = |(name, [least, mean, most]): (&str, [f64; 3])| {
            (name.to_owned(), json!({ "min": least, "mean": mean, "max": most }))
        };
        let all = of_ranks(ranks).into_iter().map(range);
        map["time"]["ranks"] = Value::Object(all.collect());
    }
    if let Some(turbulence) = map.get_mut("turbulence") {
        // A model is the last of the systems beside the flow; of several unknowns the slowest counts.
        let unknowns = turbulence["unknowns"].as_u64().unwrap_or(1) as usize;
        let orders = last.coupled_orders.iter().rev().take(unknowns).copied().reduce(f64::min);
        turbulence["residual_orders"] = json!(orders.map(digits));
    }
    map["memory"]["peak_bytes"] = json!(peak_bytes());
    all
}

/// Least, mean and most over ranks of the seconds of each component, of the march, and of exchanges and sums in it.
fn of_ranks(ranks: &[RankReport]) -> Vec<(&'static str, [f64; 3])> {
    let range = |of: &dyn Fn(&RankReport) -> f64| {
        let all = || ranks.iter().map(of);
        let mean = all().sum::<f64>() / ranks.len() as f64;
        [all().fold(f64::INFINITY, f64::min), mean, all().fold(0.0, f64::max)]
    };
    let mut rows: Vec<(&'static str, [f64; 3])> =
        Part::ALL.into_iter().map(|part| (part.name(), range(&|r: &RankReport| r.times[part]))).collect();
    rows.retain(|(_, [.., most])| *most > 0.0);
    rows.push(("march", range(&|r: &RankReport| r.times.total)));
    rows.push(("halo", range(&|r: &RankReport| r.halo)));
    rows
}

/// y+ by walls.
pub fn walls(y_plus: Vec<(String, Spread)>) -> Value {
    let walls = y_plus
        .into_iter()
        .map(|(wall, y)| (wall, json!({ "y_plus": { "min": y.min, "mean": y.mean, "max": y.max } })));
    Value::Object(walls.collect())
}

/// Two lists of lines with an empty one between them, where neither is empty.
pub fn apart(first: Vec<String>, second: Vec<String>) -> Vec<String> {
    let between = (!first.is_empty() && !second.is_empty()).then(String::new);
    first.into_iter().chain(between).chain(second).collect()
}

/// Mean y+ beyond which the first point off a wall lies outside of the viscous sublayer.
const SUBLAYER: f64 = 5.0;

/// First cells that are so many times too high for a law of the wall are not mended.
const MENDABLE: f64 = 100.0;

/// The same in words; `first`: what is first, and where. Walls of a turbulent flow of this Reynolds number that stand too far off for what is
/// made of them are told so.
pub fn heights_of(
    first: &str,
    y_plus: Vec<(String, Spread)>,
    (turbulence, reynolds): (Option<&TurbulenceConfig>, f64),
) -> Vec<String> {
    let far = |(wall, y): &(String, Spread)| {
        let (most, law) = match turbulence?.walls {
            WallTreatment::Resolved => (SUBLAYER, false),
            WallTreatment::Functions | WallTreatment::Automatic => (end_of_log_layer(reynolds), true),
        };
        (y.mean > most).then(|| {
            // No layer is made so much finer: such walls are grounds and the like, of which friction is not what is asked.
            if law && y.mean > MENDABLE * most {
                format!(
                    "`{wall}`: a law of the wall holds up to a y+ of {most:.0} or so here; its friction, and where flow leaves it, are not to be \
                     relied on. Where they do not matter, kind = \"slip_wall\" asks for no layer"
                )
            } else if law {
                format!(
                    "`{wall}`: a law of the wall holds up to a y+ of {most:.0} or so here; its friction, and where flow leaves it, are not to be \
                     relied on. Try first cells {:.0} times as thin",
                    (y.mean / most).max(2.0)
                )
            } else {
                format!(
                    "`{wall}` is taken for resolved, to which y+ near 1 belongs: its friction, and where flow leaves it, are not to be relied on. \
                     Try first cells {:.0} times as thin, or turbulence.walls = \"automatic\"",
                    y.mean
                )
            }
        })
    };
    let told: Vec<_> = y_plus.iter().filter_map(far).collect();
    let mut lines = heights(first, y_plus);
    lines.extend(told);
    lines
}

/// k_s+ up to which walls are smooth to a flow, where omega at them is Wilcox's of `turbulence.roughness`.
const SMOOTH: f64 = 5.0;

/// Says of walls whose roughness the flow would feel that omega there does not know it; `walls` as solvers give them.
pub fn rough(roughness: f64, walls: &[(String, [Spread; 2])]) -> Vec<String> {
    let felt = |(wall, [_, units]): &(String, [Spread; 2])| {
        let height = roughness * units.mean;
        (height > SMOOTH).then(|| {
            format!(
                "`{wall}`: turbulence.roughness is {height:.0} wall units high, and omega at walls is that of up to {SMOOTH:.0}, which are smooth to a \
                 flow: most of the friction that roughness adds is missing here (a third of all of it on a plate at 60)"
            )
        })
    };
    walls.iter().filter_map(felt).collect()
}

/// The same in words; `first`: what is first, and where.
pub fn heights(first: &str, y_plus: Vec<(String, Spread)>) -> Vec<String> {
    let of = |(wall, y): (String, Spread)| {
        let [low, high, mean] = [y.min, y.max, y.mean].map(|y| height(y, 3));
        format!("y+ of the first {first} {wall}: {low} to {high}, mean {mean}")
    };
    y_plus.into_iter().map(of).collect()
}

/// Orders of magnitude as JSON has them: no more than numbers have digits, where nothing but rounding is left.
fn digits(orders: f64) -> f64 {
    orders.min(-f64::EPSILON.log10())
}

/// Residuals of systems beside the flow, by the names of their unknowns.
fn coupled(names: &[String], last: &StepReport) -> Map<String, Value> {
    let residuals = last.coupled.iter().zip(&last.coupled_orders);
    let of = |(residual, orders): (&f64, &f64)| json!({ "residual": residual, "residual_orders": digits(*orders) });
    names.iter().cloned().zip(residuals.map(of)).collect()
}

/// Where a run computes, for its summary: threads, backend, the GPU's name.
pub fn machine(ctx: &Context, solver: Value) -> Value {
    let mut solver = solver;
    solver["threads"] = json!(ctx.team().size());
    solver["backend"] = json!(if ctx.gpu().is_some() { "cuda" } else { "cpu" });
    solver["gpu"] = json!(ctx.gpu().map(|gpu| gpu.facts().name.clone()));
    solver
}

/// The free stream, the markers' conditions and what coefficients refer to, in the words of case files.
pub fn conditions(
    flow: &FlowSection,
    boundaries: &BTreeMap<String, Boundary>,
    reference: &Reference,
) -> Value {
    let words = boundaries.iter().map(|(name, b)| (name.clone(), json!(b.to_string())));
    let mut all = json!({
        "equations": flow.equations,
        "mach": flow.mach,
        "alpha": flow.alpha,
        "beta": flow.beta,
        "gamma": flow.gamma,
        "lift_axis": reference.lift_axis.map(|axis| ["x", "y", "z"][axis]),
        "reference_area": reference.area,
        "reference_length": reference.length,
        "boundary": words.collect::<Map<_, _>>(),
    });
    let with_units =
        flow.pressure.map(|p| ("pressure", p)).into_iter().chain(flow.altitude.map(|h| ("altitude", h)));
    let viscous = [
        ("reynolds", flow.reynolds),
        ("reynolds_length", flow.reynolds_length),
        ("temperature", flow.temperature),
    ];
    let viscous = viscous.into_iter().filter(|_| flow.equations.is_viscous());
    viscous.chain(with_units).for_each(|(name, value)| all[name] = json!(value));
    all
}

/// The free stream of a plan, as numbers: what it comes to where it is given with units.
pub fn stream(flow: &FlowSection) -> String {
    let mach = format!("free stream: Mach {}", five_digits(flow.mach));
    if !flow.equations.is_viscous() {
        return mach;
    }
    let [reynolds, length, kelvin] = [flow.reynolds, flow.reynolds_length, flow.temperature].map(five_digits);
    format!("{mach}, Reynolds number {reynolds} on a length of {length} in the mesh's unit, {kelvin} K")
}

/// Five digits of a number, without zeros at its end.
fn five_digits(value: f64) -> String {
    let rounded: f64 = format!("{value:.4e}").parse().unwrap_or(value);
    if (1e-4..1e6).contains(&rounded.abs()) || rounded == 0.0 {
        rounded.to_string()
    } else {
        format!("{rounded:e}")
    }
}

/// Forces by marker, split into pressure and friction.
pub fn forces(f: &Forces) -> Value {
    let part = |c: &Coefficients| json!({ "cl": c.cl, "cd": c.cd, "cm": c.cm, "force": c.force, "moment": c.moment });
    let markers: serde_json::Map<String, Value> = f
        .markers
        .iter()
        .map(|m| (m.name.clone(), json!({ "pressure": part(&m.pressure), "viscous": part(&m.viscous) })))
        .collect();
    json!({
        "cl": f.total.cl,
        "cd": f.total.cd,
        "cm": f.total.cm,
        "pressure": part(&f.pressure),
        "viscous": part(&f.viscous),
        "markers": markers,
    })
}

/// What an unsteady run settled to, and its Strouhal number.
pub fn settled((o, strouhal): (Oscillation, f64)) -> Value {
    json!({
        "mean_cl": o.mean_cl, "mean_cd": o.mean_cd, "cl_amplitude": o.cl_amplitude,
        "strouhal": strouhal, "periods": o.periods,
    })
}

/// What the lift of an unsteady run does, and whether it has settled to that.
fn swinging((o, strouhal): &(Oscillation, f64)) -> String {
    if o.settled {
        return format!(
            "over the last {} periods: mean CL {:.5}, mean CD {:.5}, amplitude of CL {:.5}, Strouhal number {strouhal:.4}",
            o.periods, o.mean_cl, o.mean_cd, o.cl_amplitude
        );
    }
    let [[before, mean], [after, last_mean]] = o.ends;
    format!(
        "the lift swings and has not settled: from the first to the last of the last {} periods the amplitude of CL goes from {before:.5} to \
         {after:.5}, its mean from {mean:.5} to {last_mean:.5}; Strouhal number so far {strouhal:.4}",
        o.periods
    )
}

/// Where a flow stopped being one.
pub fn bad_state(bad: &BadPlace) -> String {
    format!("no physical state at {bad}")
}

/// By how many orders the residual of the flow fell, and that of an unknown beside it which fell less and so decides on the end of a run.
fn fallen(equations: Equations, names: &[String], finished: &Finished) -> String {
    let (measure, last) = (equations.measure(), &finished.last);
    match lagging(names, last) {
        None => format!("{measure} down {:.1} orders", last.orders),
        Some((name, orders)) => {
            let own = equations.fallen(&finished.rows);
            let flow = own.map_or_else(String::new, |own| format!("{measure} down {own:.1} orders, "));
            format!("{flow}that of {name} {orders:.1}")
        }
    }
}

/// How a run ended.
fn ended(run: &Run<'_>, finished: &Finished) -> String {
    match run.time {
        _ if finished.interrupted => "interrupted".to_owned(),
        Time::Unsteady(unsteady) if finished.outcome == Outcome::IterationLimit => {
            format!("{} time steps of {} done", finished.last.time_step, Cell(unsteady.dt))
        }
        _ => finished.outcome.to_string(),
    }
}

/// Physical steps whose equations were not solved as far as is asked for.
fn unfinished(run: &Run<'_>, finished: &Finished) -> Option<String> {
    let Time::Unsteady(unsteady) = run.time else { return None };
    let count = finished.tally.unfinished;
    (count > 0).then(|| {
        format!(
            "warning: {count} time steps ended after {} subiterations, short of the {} orders of march.subiteration_drop: what is missing adds to the error of each step, and mass may be lost; a smaller march.dt, more march.subiterations or march.nonlinear = \"newton_krylov\"",
            unsteady.subiterations, unsteady.orders
        )
    })
}

/// Prints how a run ended, the forces of every wall, what an unsteady run settled to, where the time went, what was written.
pub fn print(
    run: &Run<'_>,
    flow: &impl Flow,
    finished: &Finished,
    (written, ranks): (&[PathBuf], &[RankReport]),
) {
    let (f, times) = (&finished.last.forces, flow.solver().times());
    println!(
        "\n{} after {} iterations: {}, {}, {} at the peak",
        ended(run, finished),
        finished.last.iteration,
        fallen(run.equations, &flow.coupled(), finished),
        duration(finished.seconds),
        peak_bytes().map_or_else(|| "memory unknown".to_owned(), bytes)
    );
    if let Some(warning) = unfinished(run, finished) {
        println!("{warning}");
    }
    if finished.last.damped {
        println!("{}", damped_flux());
    }
    println!("\n{:20} {:>12} {:>12} {:>12}", "", "CL", "CD", "CM");
    let all = f.markers.iter().flat_map(|m| [&m.pressure, &m.viscous]).chain([&f.total]);
    let look = Look::of(all.flat_map(|c| [c.cl, c.cd, c.cm]));
    let line = |name: &str, c: &Coefficients| {
        let [cl, cd, cm] = [c.cl, c.cd, c.cm].map(|value| look.text(value));
        println!("{name:20} {cl:>12} {cd:>12} {cm:>12}");
    };
    for m in &f.markers {
        line(&format!("{} pressure", m.name), &m.pressure);
        if m.viscous.force != [0.0; 3] {
            line(&format!("{} viscous", m.name), &m.viscous);
        }
    }
    line("total", &f.total);
    let remarks = flow.remarks(finished.outcome);
    if !remarks.is_empty() {
        println!();
        for remark in remarks {
            println!("{remark}");
        }
    }
    if let Some(swings) = &finished.swings {
        println!("\n{}", swinging(swings));
    }
    println!("\n{:14} {:>10} {:>7}", "component", "seconds", "share");
    // What would print as zeros says nothing.
    for (name, seconds) in times.components().into_iter().filter(|(_, s)| *s > 5e-4 * times.total) {
        println!("{name:14} {seconds:10.3} {:6.1}%", 100.0 * seconds / times.total.max(1e-9));
    }
    println!("{:14} {:10.3}", "march", times.total);
    if !ranks.is_empty() {
        println!("\n{:14} {:>10} {:>10} {:>10}", "of all ranks", "least", "mean", "most");
        let all = of_ranks(ranks).into_iter();
        for (name, range) in all.filter(|(_, [.., most])| *most > 5e-4 * times.total) {
            println!("{name:14} {:10.3} {:10.3} {:10.3}", range[0], range[1], range[2]);
        }
    }
    let files: Vec<_> = written.iter().filter_map(|p| p.file_name()?.to_str()).collect();
    if let Some(folder) = written.first().and_then(|p| p.parent()) {
        println!("\n{}: {}", folder.display(), files.join(", "));
    }
}

/// The most memory that this process held, where the system tells.
pub fn peak_bytes() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<usize>().ok()? * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What grows is told as such.
    #[test]
    fn an_oscillation_that_grows_is_told() {
        let of = |settled| Oscillation {
            mean_cl: 0.0,
            mean_cd: 1.3,
            cl_amplitude: 0.224,
            steps_per_period: 36.0,
            periods: 4,
            ends: [[0.1, 0.0], [0.224, 0.0]],
            settled,
        };
        assert!(swinging(&(of(true), 0.165)).starts_with("over the last 4 periods: mean CL 0.00000"));
        let told = swinging(&(of(false), 0.135));
        assert!(told.contains("has not settled") && told.contains("from 0.10000 to 0.22400"), "{told}");
    }

    /// Roughness of 3e-4 where a wall unit is 5e-6 is 60 units high.
    #[test]
    fn roughness_that_a_flow_would_feel_is_told() {
        let of = |units| {
            let walls = [1.0, units].map(|mean| Spread { min: mean, mean, max: mean });
            rough(3e-4, &[("wall".to_owned(), walls)])
        };
        assert!(
            of(2e5)[0].starts_with("`wall`: turbulence.roughness is 60 wall units high"),
            "{:?}",
            of(2e5)
        );
        assert!(of(1.6e4).is_empty());
    }

    #[test]
    fn walls_that_a_mesh_does_not_resolve_are_told_so() {
        let spread = |mean| Spread { min: 0.1 * mean, mean, max: 3.0 * mean };
        let walls = || vec![("fine".to_owned(), spread(1.2)), ("coarse".to_owned(), spread(40.0))];
        let resolved = TurbulenceConfig::default();
        let by_law = TurbulenceConfig { walls: WallTreatment::Automatic, ..TurbulenceConfig::default() };
        assert_eq!(heights_of("nodes off", walls(), (None, 1e6)).len(), 2);
        assert_eq!(heights_of("nodes off", walls(), (Some(&by_law), 1e6)).len(), 2);
        let lines = heights_of("nodes off", walls(), (Some(&resolved), 1e6));
        assert!(
            lines.len() == 3 && lines[2].contains("`coarse`") && lines[2].contains("40 times"),
            "{lines:?}"
        );
        let far = vec![("far".to_owned(), spread(2000.0))];
        let lines = heights_of("nodes off", far.clone(), (Some(&by_law), 1e6));
        assert!(lines.len() == 2 && lines[1].contains("up to a y+ of 300"), "{lines:?}");
        assert_eq!(heights_of("nodes off", far, (Some(&by_law), 1e9)).len(), 1);
        let lines = heights_of("nodes off", vec![("ground".to_owned(), spread(6e6))], (Some(&by_law), 1e6));
        assert!(lines[1].contains("slip_wall") && !lines[1].contains("times as thin"), "{lines:?}");
    }
}
