//! What the pictures of a run show.

use super::Picture;
use crate::run::history::{Equations, Row, ends_of_steps};
use chromaflow_flow::output::CutPoint;
use std::borrow::Cow;

/// A line or a set of points.
pub struct Series {
    /// Its name in the legend.
    pub name: Cow<'static, str>,
    /// Where it goes.
    pub points: Vec<(f64, f64)>,
    /// Joined by a line, or dots.
    pub line: bool,
}

/// The rows to draw and where they go: the ends of the physical steps of an unsteady run, else all iterations.
fn abscissa(rows: &[Row]) -> (Vec<(f64, &Row)>, &'static str) {
    let unsteady = rows.iter().any(|r| r.time_step > 0);
    let at = |r: &Row| if unsteady { r.time_step } else { r.iteration } as f64;
    let rows = ends_of_steps(rows).into_iter().map(|r| (at(r), r)).collect();
    (rows, if unsteady { "time step" } else { "iteration" })
}

/// Residuals over iterations, or at the ends of time steps.
pub fn convergence(rows: &[Row], equations: Equations, coupled: &[String]) -> Picture {
    let (rows, x) = abscissa(rows);
    let series = |name: Cow<'static, str>, value: &dyn Fn(&Row) -> f64| {
        let points = rows.iter().map(|(x, r)| (*x, value(r)));
        Series { name, points: points.filter(|p| p.1 > 0.0 && p.1.is_finite()).collect(), line: true }
    };
    let [first, last] = equations.names();
    let mut all = vec![
        series(first.into(), &|r| r.residual[0]),
        series("momentum".into(), &Row::momentum),
        series(last.into(), &|r| r.residual[4]),
        series("linear reduction".into(), &|r| r.linear),
    ];
    all.extend(coupled.iter().enumerate().map(|(k, name)| series(name.clone().into(), &|r| r.coupled[k])));
    all.retain(|s| !s.points.is_empty());
    Picture { title: "Convergence".into(), x, y: "residual (rms)", log: [false, true], series: all }
}

/// Lift and drag over iterations or time steps.
pub fn forces(rows: &[Row]) -> Picture {
    let (rows, x) = abscissa(rows);
    let series = |name: &'static str, k: usize| {
        let points = rows.iter().map(|(x, r)| (*x, r.forces[k]));
        Series { name: name.into(), points: points.filter(|p| p.1.is_finite()).collect(), line: true }
    };
    let series = vec![series("CL", 0), series("CD", 1)];
    Picture { title: "Forces".into(), x, y: "coefficient", log: [false, false], series }
}

/// -Cp along a cut.
pub fn pressure(name: &str, points: &[CutPoint]) -> Picture {
    let side = |name: &'static str, side: i8| {
        let points = points.iter().filter(|p| p.side == side);
        let points = points.map(|p| (p.position[0], -p.value)).collect();
        Series { name: name.into(), points, line: false }
    };
    let mut series = vec![side("upper side", 1), side("lower side", -1)];
    series.retain(|s| !s.points.is_empty());
    let place = name.trim_start_matches("cut_").replacen('_', " = ", 1);
    Picture { title: format!("Pressure coefficient, {place}"), x: "x", y: "-Cp", log: [false, false], series }
}
