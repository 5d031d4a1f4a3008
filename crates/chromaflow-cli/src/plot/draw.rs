//! Drawing with kuva; nothing else knows it.

use super::Picture;
use crate::error::{CliError, CliResult};
use chromaflow::files::{AtomicFile, FileError};
use kuva::prelude::{Layout, LinePlot, Plot, ScatterPlot, SvgBackend};
use kuva::render::render::render_multiple;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Okabe and Ito's colors, which the color-blind can tell apart.
const COLORS: [&str; 4] = ["#0072b2", "#d55e00", "#009e73", "#999999"];

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
                .with_legend(series.name)
                .into()
        } else {
            ScatterPlot::new()
                .with_data(points)
                .with_color(*color)
                .with_size(2.0)
                .with_legend(series.name)
                .into()
        });
    }
    let mut layout = Layout::auto_from_plots(&plots)
        .with_title(&picture.title)
        .with_x_label(picture.x)
        .with_y_label(picture.y);
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
