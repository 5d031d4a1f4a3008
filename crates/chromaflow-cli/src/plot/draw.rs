//! Drawing with kuva; nothing else knows it.

use super::Picture;
use crate::error::{CliError, CliResult};
use chromaflow::files::{AtomicFile, FileError};
use kuva::prelude::{Layout, LinePlot, Plot, ScatterPlot, SvgBackend, TickFormat};
use kuva::render::render::render_multiple;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Okabe and Ito's colors, which the color-blind can tell apart.
const COLORS: [&str; 7] = ["#0072b2", "#d55e00", "#009e73", "#999999", "#cc79a7", "#e69f00", "#56b4e9"];

pub fn draw(stem: &Path, picture: &Picture) -> CliResult<()> {
    if picture.series.iter().all(|s| s.points.is_empty()) {
        return Ok(());
    }
    let mut plots: Vec<Plot> = Vec::new();
    for (series, color) in picture.series.iter().zip(COLORS.iter().cycle()) {
        let points = series.points.iter().copied();
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
    if picture.log[0] {
        layout = layout.with_log_x().with_x_tick_format(log_ticks(picture, |p| p.0));
    }
    if picture.log[1] {
        layout = layout.with_log_y().with_y_tick_format(log_ticks(picture, |p| p.1));
    }
    let scene = render_multiple(plots, layout);
    let png = kuva::PngBackend::new()
        .with_scale(2.0)
        .render_scene(&scene)
        .map_err(|e| CliError::environment(format!("cannot draw {}: {e}", stem.display())))?;
    write(&named(stem, "svg"), SvgBackend::default().render_scene(&scene).as_bytes())?;
    write(&named(stem, "png"), &png)
}

/// How numbers along a logarithmic axis are written: all as decimals, or, where the axis goes far from one, all as powers of ten.
fn log_ticks(picture: &Picture, value: impl Fn(&(f64, f64)) -> f64) -> TickFormat {
    let values = picture.series.iter().flat_map(|s| s.points.iter().map(&value)).filter(|v| *v > 0.0);
    let (least, most) = values.fold((1.0_f64, 1.0_f64), |(a, b), v| (a.min(v), b.max(v)));
    let decimals = least >= 1e-3 && most <= 1e6;
    TickFormat::Custom(Arc::new(if decimals { decimal } else { scientific }))
}

fn decimal(v: f64) -> String {
    let text = format!("{v:.6}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
    let mut file = AtomicFile::create(path)?;
    file.write_all(bytes).map_err(|e| FileError::new("cannot write", path, e))?;
    Ok(file.commit()?)
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
            let TickFormat::Custom(format) = log_ticks(&picture, |p| p.1) else { panic!("a format of ours") };
            [0.1, 0.5, 10f64.powi(-2) * 2.0, 1.0, 2000.0].map(|v| format(v))
        };
        assert_eq!(of(&[0.05, 300.0]), ["0.1", "0.5", "0.02", "1", "2000"]);
        assert_eq!(of(&[1e-9, 0.0, 0.3]), ["1e-1", "5e-1", "2e-2", "1e0", "2e3"]);
    }
}
