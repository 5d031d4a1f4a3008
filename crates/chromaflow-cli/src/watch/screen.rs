//! The dashboard as lines of text.

use super::chart::{Curve, draw as chart};
use super::state::State;
use crate::run::duration;
use crate::run::history::{Row, ends_of_steps};
use std::io::Write;

/// A title, curves over one axis, and how its ends are written.
type Group<'a> = (&'a str, Vec<Curve>, &'a dyn Fn(f64) -> String);

/// The lines of the dashboard, `size` wide and high. `said` is what was asked of the run last.
pub fn draw(state: &State, said: &str, (width, height): (usize, usize)) -> Vec<String> {
    let mut lines = vec![format!("\x1b[1m{}\x1b[0m  {}", state.title, status(state))];
    let Some(last) = state.rows.last() else {
        lines.push("no iteration has ended yet".into());
        return lines;
    };
    lines.push(numbers(state, last));
    let unsteady = last.time_step > 0;
    let ends = ends_of_steps(&state.rows);
    let of = |value: &dyn Fn(&Row) -> f64| ends.iter().map(|row| value(row)).collect::<Vec<f64>>();
    let log = |v: f64| if v > 0.0 { v.log10() } else { f64::NAN };
    let [first, other] = state.equations.names();
    // Forces settle late: the first tenth would hide how.
    let settled = |mut values: Vec<f64>| values.split_off(values.len() / 10);
    let power = |v: f64| format!("{:.1e}", 10f64.powf(v));
    let number = |v: f64| format!("{v:.5}");
    let groups: [Group<'_>; 3] = [
        (
            "residuals",
            vec![
                Curve { name: other, color: 90, values: of(&|r| log(r.residual[4])) },
                Curve { name: "momentum", color: 33, values: of(&|r| log(r.momentum())) },
                Curve { name: first, color: 36, values: of(&|r| log(r.residual[0])) },
            ],
            &power,
        ),
        ("lift", vec![Curve { name: "CL", color: 32, values: settled(of(&|r| r.forces[0])) }], &number),
        ("drag", vec![Curve { name: "CD", color: 35, values: settled(of(&|r| r.forces[1])) }], &number),
    ];
    let room = height.saturating_sub(3 + groups.len()).max(9);
    let heights = [room - 2 * (room / 4), room / 4, room / 4];
    for ((title, curves, label), high) in groups.into_iter().zip(heights) {
        let names: Vec<String> =
            curves.iter().rev().map(|c| format!("\x1b[{}m{}\x1b[0m", c.color, c.name)).collect();
        let over = if unsteady { "time steps" } else { "iterations" };
        lines.push(format!("{title}: {} over {over}", names.join(", ")));
        lines.extend(chart(&curves, width, high, label));
    }
    let keys = if state.running {
        "q: leave   s: end the run   c: write a restart   +/-: CFL x 2, / 2   m: 100 iterations more"
    } else {
        "q: leave"
    };
    lines.push(format!("\x1b[90m{keys}\x1b[0m  {said}"));
    lines
}

fn status(state: &State) -> String {
    let goal = match (state.orders, state.most) {
        (Some(orders), Some(most)) => format!("to {orders} orders, {most} iterations at most"),
        (None, Some(steps)) => format!("to time step {steps}"),
        _ => String::new(),
    };
    if state.running { format!("\x1b[32mrunning\x1b[0m {goal}") } else { state.outcome.clone() }
}

fn numbers(state: &State, last: &Row) -> String {
    let recent: Vec<f64> = state.rows.iter().rev().take(20).map(|r| r.seconds).collect();
    let each = recent.iter().sum::<f64>() / recent.len() as f64;
    let whole: f64 = state.rows.iter().map(|r| r.seconds).sum();
    let step = if last.time_step > 0 { format!("time step {}  ", last.time_step) } else { String::new() };
    format!(
        "{step}iteration {}  down {:.2} orders  CL {:.6}  CD {:.6}  CM {:.6}  CFL {:.4}  {} an iteration, {} in all",
        last.iteration,
        state.fallen(),
        last.forces[0],
        last.forces[1],
        last.forces[2],
        last.cfl,
        duration(each),
        duration(whole)
    )
}

/// The lines without their colors, for files.
pub fn plain(lines: &[String]) -> String {
    let mut text = String::new();
    for (i, part) in lines.join("\n").split('\x1b').enumerate() {
        text += if i == 0 { part } else { part.split_once('m').map_or("", |(_, rest)| rest) };
    }
    text
}

/// Puts the lines on the screen, over those before.
pub fn show(lines: &[String]) {
    print!("\x1b[H{}\x1b[K\x1b[J", lines.join("\x1b[K\r\n"));
    let _ = std::io::stdout().flush();
}
