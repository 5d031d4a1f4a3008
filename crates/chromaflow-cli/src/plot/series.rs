//! What the pictures of a run show.

use super::Picture;
use crate::run::history::{Equations, Row, ends_of_steps};
use chromaflow_flow::output::Curve;
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

/// How far the linear systems were solved, where that was looked at.
pub fn linear(rows: &[Row]) -> Picture {
    let (rows, x) = abscissa(rows);
    let points = rows.iter().map(|(x, r)| (*x, r.linear)).filter(|p| p.1 > 0.0 && p.1.is_finite()).collect();
    let series = vec![Series { name: "linear systems".into(), points, line: true }];
    Picture {
        title: "Reduction of the linear residual".into(),
        x,
        y: "|b - A x| / |b|",
        log: [false, true],
        series,
    }
}

/// -Cp along a cut, one curve a side of each surface; `compare` is drawn as dots.
pub fn pressure(name: &str, curves: &[Curve], compare: Option<&[(f64, f64)]>) -> Picture {
    let along = axis_of(curves);
    let several = curves.iter().any(|c| c.marker != curves[0].marker);
    let series = |curve: &Curve| {
        let side = if curve.side > 0 { "upper side" } else { "lower side" };
        let name = if several { format!("{}, {side}", curve.marker).into() } else { side.into() };
        let points = curve.points.iter().map(|p| (p.position[along], -p.value)).collect();
        Series { name, points, line: true }
    };
    let mut series: Vec<Series> = curves.iter().map(series).collect();
    if let Some(points) = compare {
        let points = points.iter().map(|&(x, cp)| (x, -cp)).collect();
        series.push(Series { name: "compared with".into(), points, line: false });
    }
    let place = name.trim_start_matches("cut_").replacen('_', " = ", 1);
    let x = ["x", "y", "z"][along];
    Picture { title: format!("Pressure coefficient, {place}"), x, y: "-Cp", log: [false, false], series }
}

/// The axis along which a cut is drawn: x, or the longest one where the cut stands across the stream.
fn axis_of(curves: &[Curve]) -> usize {
    let points = || curves.iter().flat_map(|c| &c.points);
    let extent = |axis: usize| {
        let bounds = points().map(|p| p.position[axis]);
        let (low, high) = bounds.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
        high - low
    };
    let longest = (0..3).max_by(|&a, &b| extent(a).total_cmp(&extent(b))).unwrap_or(0);
    if extent(0) > 1e-9 * extent(longest) { 0 } else { longest }
}
