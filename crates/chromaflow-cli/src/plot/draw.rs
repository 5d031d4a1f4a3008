//! Drawing with kuva; nothing else knows it.

use super::Picture;
use crate::context::write_whole;
use crate::error::{CliError, CliResult};
use kuva::prelude::{Layout, LinePlot, Plot, ScatterPlot, SvgBackend, TickFormat};
use kuva::render::render::render_multiple;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Okabe and Ito's colors, which the color-blind can tell apart.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#999999", "#cc79a7", "#e69f00", "#56b4e9"];

pub fn draw(stem: &Path, picture: &Picture) -> CliResult<()> {
    if picture.series.iter().all(|s| s.points.is_empty()) {
        return Ok(());
    }
    let mut plots: Vec<Plot> = Vec::new();
    let lifts = [lift(picture, 0), lift(picture, 1)];
    for (series, color) in picture.series.iter().zip(COLORS.iter().cycle()) {
        let points = series.points.iter().map(|&(x, y)| (lifts[0] * x, lifts[1] * y));
        plots.push(if series.line {
            LinePlot::new()
                .with_data(points)
                .with_color(*color)
                .with_stroke_width(1.5)
                .with_legend(series.name.as_ref())
                .into()
        } else {
            ScatterPlot::new()
                .with_data(points)
                .with_color(*color)
                .with_size(2.0)
                .with_legend(series.name.as_ref())
                .into()
        });
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(&picture.title)
        .with_x_label(picture.x)
        .with_y_label(picture.y);
    layout = layout.with_x_tick_format(ticks(picture, 0)).with_y_tick_format(ticks(picture, 1));
    if picture.log[0] {
        layout = layout.with_log_x();
    }
    if picture.log[1] {
        layout = layout.with_log_y();
    }
    let scene = render_multiple(plots, layout);
    let png = kuva::PngBackend::new()
        .with_scale(2.0)
        .render_scene(&scene)
        .map_err(|e| CliError::environment(format!("cannot draw {}: {e}", stem.display())))?;
    write(&named(stem, "svg"), SvgBackend::default().render_scene(&scene).as_bytes())?;
    write(&named(stem, "png"), &png)
}

/// The values along an axis, positive ones only.
fn positive(picture: &Picture, axis: usize) -> impl Iterator<Item = f64> {
    let points = picture.series.iter().flat_map(|s| &s.points);
    points.map(move |&(x, y)| [x, y][axis]).filter(|v| *v > 0.0)
}

/// A power of ten that a logarithmic axis is drawn with, so that all of it is far above 1e-10, where the drawing library cuts such
/// axes off.
fn lift(picture: &Picture, axis: usize) -> f64 {
    let least = positive(picture, axis).fold(f64::INFINITY, f64::min);
    if picture.log[axis] && least < 1e-8 {
        10.0_f64.powi(-least.max(1e-290).log10().floor() as i32)
    } else {
        1.0
    }
}

/// How numbers along an axis are written. The drawing library's own way rounds to three decimals, 0.0125 to 0.013.
fn ticks(picture: &Picture, axis: usize) -> TickFormat {
    if picture.log[axis] {
        return log_ticks(picture, axis);
    }
    let values = picture.series.iter().flat_map(|s| &s.points).map(|&(x, y)| [x, y][axis].abs());
    let most = values.fold(0.0, f64::max);
    if (1e-3..=1e6).contains(&most) { TickFormat::Custom(Arc::new(decimal)) } else { TickFormat::Auto }
}

/// How numbers along a logarithmic axis are written: all as decimals, or, where the axis goes far from one, all as powers of ten.
fn log_ticks(picture: &Picture, axis: usize) -> TickFormat {
    let values = positive(picture, axis);
    let (least, most) = values.fold((1.0_f64, 1.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    let (lift, decimals) = (lift(picture, axis), least >= 1e-3 && most <= 1e6);
    TickFormat::Custom(Arc::new(move |v| if decimals { decimal(v) } else { scientific(v / lift) }))
}

fn decimal(v: f64) -> String {
    let text = format!("{v:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn scientific(v: f64) -> String {
    format!("{v:.0e}")
}

/// Adds an ending; `Path::with_extension` would cut the stem at a point inside it.
fn named(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(format!(".{ending}"));
    name.into()
}

fn write(path: &Path, bytes: &[u8]) -> CliResult<()> {
    write_whole(path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::Series;

    #[test]
    fn one_axis_has_one_way_of_writing_numbers() {
        let of = |values: &[f64]| {
            let points = values.iter().map(|&v| (1.0, v)).collect();
            let series = vec![Series { name: "s".into(), points, line: true }];
            let picture = Picture { title: String::new(), x: "", y: "", log: [false, true], series };
            let TickFormat::Custom(format) = log_ticks(&picture, 1) else { panic!("a format of ours") };
            [0.1, 0.5, 10f64.powi(-2) * 2.0, 1.0, 2000.0].map(|v| format(v * lift(&picture, 1)))
        };
        assert_eq!(of(&[0.05, 300.0]), ["0.1", "0.5", "0.02", "1", "2000"]);
        assert_eq!(of(&[1e-9, 0.0, 0.3]), ["1e-1", "5e-1", "2e-2", "1e0", "2e3"]);
    }

    #[test]
    fn linear_axes_lose_no_digits() {
        let of = |most: f64, v: f64| {
            let series = vec![Series { name: "s".into(), points: vec![(0.0, most)], line: true }];
            let picture = Picture { title: String::new(), x: "", y: "", log: [false; 2], series };
            ticks(&picture, 1).format(v)
        };
        assert_eq!(of(0.02, 0.0125), "0.0125");
        assert_eq!(of(0.02, 0.1 + 0.2), "0.3");
        assert_eq!(of(1.0, -1e-17), "0");
        assert_eq!(of(1e-9, 2e-10), "2e-10");
    }
}
