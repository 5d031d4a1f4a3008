//! What a run says while it runs: one line that is rewritten where a person watches, plain lines where not.

use super::history::{Equations, Row};
use crate::numbers::Look;
use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Instant;

/// When a run will be over.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// Orders of magnitude of the residual that has fallen least, or iterations.
    Steady {
        /// Orders.
        orders: f64,
        /// Most iterations.
        iterations: usize,
    },
    /// Physical steps.
    Unsteady {
        /// How many.
        steps: usize,
    },
}

/// Prints progress to standard error.
pub struct Screen {
    equations: Equations,
    interactive: bool,
    quiet: bool,
    goal: Goal,
    start: Instant,
    /// Iteration and orders at some earlier rows, for the estimate of the time that is left.
    trail: Vec<(usize, f64)>,
    lines: usize,
    rewriting: bool,
}

/// The names of the columns.
fn columns(equations: Equations) -> String {
    let [first, last] = equations.names();
    let names = format!("    iter {first:>10}   momentum {last:>10}");
    format!("{names}           CL           CD       CFL   linear   ms/it      left")
}

/// Plain lines between two column headers.
const PAGE: usize = 40;

impl Screen {
    /// A screen that is rewritten (`interactive`), or gets plain lines, or nothing.
    pub fn new(goal: Goal, equations: Equations, interactive: bool, quiet: bool) -> Self {
        Self {
            equations,
            interactive,
            quiet,
            goal,
            start: Instant::now(),
            trail: Vec::new(),
            lines: 0,
            rewriting: false,
        }
    }

    /// Shows an iteration; `orders` is how far the residual that has fallen least has, `last` whether this is the end.
    pub fn row(&mut self, row: &Row, orders: f64, last: bool) {
        if self.quiet {
            return;
        }
        self.trail.push((row.iteration, orders));
        if self.trail.len() > 50 {
            self.trail.remove(0);
        }
        let keep = last || row.iteration <= 5 || row.iteration.is_multiple_of(10);
        if !keep && !self.interactive {
            return;
        }
        let mut out = String::new();
        if self.rewriting {
            out.push_str("\r\x1b[2K");
        }
        if self.lines == 0 || (keep && self.lines.is_multiple_of(PAGE)) {
            let _ = writeln!(out, "{}", columns(self.equations));
        }
        out.push_str(&self.line(row, orders));
        if keep {
            self.lines += 1;
            out.push('\n');
        }
        self.rewriting = !keep;
        eprint!("{out}");
        let _ = std::io::stderr().flush();
    }

    fn line(&self, row: &Row, orders: f64) -> String {
        let momentum = row.momentum();
        let linear =
            if row.linear.is_finite() { format!("{:8.1e}", row.linear) } else { format!("{:>8}", "-") };
        let left = self.left(row, orders).map_or_else(|| "-".into(), duration);
        // Incompressible flow may carry nothing.
        let none = self.equations == Equations::Incompressible && row.residual[4] == 0.0;
        let last = if none { "-".to_owned() } else { format!("{:.3e}", row.residual[4]) };
        let [lift, drag, _] = row.forces;
        let look = Look::of([lift, drag]);
        let [lift, drag] = [lift, drag].map(|value| look.text(value));
        format!(
            "{:8} {:10.3e} {momentum:10.3e} {last:>10} {lift:>12} {drag:>12} {:9.3} {linear} {:7.1} {left:>9}",
            row.iteration,
            row.residual[0],
            row.cfl,
            1e3 * row.seconds
        )
    }

    /// Seconds to the goal, as the last iterations went.
    fn left(&self, row: &Row, orders: f64) -> Option<f64> {
        let elapsed = self.start.elapsed().as_secs_f64();
        let first = self.trail.first()?;
        match self.goal {
            Goal::Unsteady { steps } => {
                let done = row.time_step.max(1);
                Some(elapsed / done as f64 * steps.saturating_sub(done) as f64)
            }
            Goal::Steady { orders: target, iterations } => {
                let most = iterations.saturating_sub(row.iteration) as f64;
                let rate = (orders - first.1) / (row.iteration - first.0).max(1) as f64;
                let need = if rate > 1e-6 { ((target - orders) / rate).clamp(0.0, most) } else { most };
                (self.trail.len() > 5).then(|| need * elapsed / row.iteration.max(1) as f64)
            }
        }
    }

    /// Says something between two rows.
    pub fn note(&mut self, text: &str) {
        if self.quiet {
            return;
        }
        if self.rewriting {
            eprintln!();
            self.rewriting = false;
        }
        eprintln!("{text}");
    }
}

/// Seconds for people: `850 ms`, `12.3 s`, `4:05`, `1:02:03`.
pub fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match seconds {
        s if s < 1.0 => format!("{:.0} ms", 1e3 * s),
        s if s < 60.0 => format!("{s:.1} s"),
        s if s < 3600.0 => format!("{}:{:02}", whole / 60, whole % 60),
        _ => format!("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60),
    }
}

/// So many things: `1 block`, `2 blocks`.
pub fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// Bytes for people.
pub fn bytes(n: usize) -> String {
    let n = n as f64;
    match n {
        n if n < 1e3 => format!("{n} B"),
        n if n < 1e6 => format!("{:.1} kB", n / 1e3),
        n if n < 1e9 => format!("{:.1} MB", n / 1e6),
        n => format!("{:.2} GB", n / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_can_read_it() {
        assert_eq!(
            [0.85, 12.34, 245.2, 3723.0].map(duration),
            ["850 ms", "12.3 s", "4:05", "1:02:03"].map(String::from)
        );
        assert_eq!(
            [0, 1, 2].map(|n| counted(n, "block")),
            ["0 blocks", "1 block", "2 blocks"].map(String::from)
        );
        assert_eq!([12, 1500, 2_500_000, 3_000_000_000].map(bytes), ["12 B", "1.5 kB", "2.5 MB", "3.00 GB"]);
    }

    #[test]
    fn lines_stand_under_their_columns() {
        let goal = Goal::Steady { orders: 10.0, iterations: 100 };
        let row = Row {
            iteration: 123,
            residual: [1.5e-3; 5],
            forces: [-0.281, 0.0144, 0.0],
            cfl: 200.0,
            linear: 0.05,
            seconds: 0.0831,
            ..Row::default()
        };
        for equations in [Equations::Compressible, Equations::Incompressible] {
            let (screen, width) = (Screen::new(goal, equations, false, false), columns(equations).len());
            assert_eq!(screen.line(&row, 1.0).len(), width);
            assert_eq!(screen.line(&Row { linear: f64::NAN, ..row }, 1.0).len(), width);
            let mut other = row;
            (other.residual[4], other.forces) = (0.0, [-1.5e-8, -2.5e-7, 0.0]);
            let line = screen.line(&other, 1.0);
            assert!(line.len() == width && line.contains(" -1.50000e-8  -2.50000e-7 "), "{line}");
            assert_eq!(line.contains("  -  "), equations == Equations::Incompressible, "{line}");
            other.forces = [-1.5e-8, 0.3, 0.0];
            assert!(screen.line(&other, 1.0).contains("   0.0000000    0.3000000 "));
        }
    }
}
