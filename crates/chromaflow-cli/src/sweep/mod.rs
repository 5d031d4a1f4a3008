//! `chromaflow sweep`: a case over values of one key, each from the last state that converged.

mod values;

use crate::context::{Context, write_whole};
use crate::error::{CliError, CliResult, Done};
use crate::plot::{self, Picture, Series};
use crate::run;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use values::Swept;

/// Arguments of `chromaflow sweep`.
#[derive(clap::Args)]
pub struct Args {
    /// Case file (TOML)
    case: PathBuf,
    /// The key to sweep, as FROM:TO:STEP or a list: --set flow.alpha=0:16:2; others change a key for all points
    #[arg(long = "set", value_name = "SECTION.KEY=VALUES", required = true)]
    sets: Vec<String>,
    /// Folder for all points [default: out/ and the case's name and -sweep]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Begin every point with the free stream
    #[arg(long)]
    cold: bool,
}

/// What came of a point.
struct Point {
    value: String,
    folder: PathBuf,
    /// Where it began: a folder's restart, or nothing.
    outcome: String,
    converged: bool,
    /// Its summary, where it has one.
    summary: Value,
}

/// Runs all points, writes `sweep.csv` after each, and pictures at the end.
///
/// # Errors
/// Status 2 for a case or values that cannot be read; a point that fails is a row of the table. The exit status is 1 where a point
/// did not converge.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let (swept, fixed) = values::split(&args.sets)?;
    let stem = args.case.file_stem().and_then(|n| n.to_str()).unwrap_or("case");
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("out/{stem}-sweep")));
    std::fs::create_dir_all(&out)
        .map_err(|e| CliError::environment(format!("cannot make the folder {}: {e}", out.display())))?;
    // What is wrong with the case itself is said before the first point.
    crate::case::Case::read(&args.case, &point_sets(&swept, &fixed, &swept.values[0]), ctx.global.backend)?;
    let quiet = ctx.quietly();
    if ctx.verbose() {
        println!(
            "{:>12}  {:12} {:>6} {:>12} {:>12} {:>12} {:>9}",
            swept.key, "outcome", "iter", "CL", "CD", "CM", "time"
        );
    }
    let (mut points, mut last): (Vec<Point>, Option<PathBuf>) = (Vec::new(), None);
    for value in &swept.values {
        let folder = out.join(format!("{}_{value}", swept.key.rsplit('.').next().unwrap_or_default()));
        let from = last.clone().filter(|_| !args.cold);
        let sets = point_sets(&swept, &fixed, value);
        let mut point = one(args, &quiet, &sets, &folder, from.as_deref(), value);
        // What the point before it has left behind may be another flow than the one asked for.
        let doubtful = !point.converged || !point.unmet().is_empty();
        if doubtful && from.is_some() && !run::interrupted() {
            point = one(args, &quiet, &sets, &folder, None, value);
        }
        if ctx.verbose() {
            println!("{}", row(&point));
            for what in point.unmet() {
                println!("{:14}{what}", "");
            }
        }
        if point.converged {
            last = Some(point.folder.join(run::RESTART));
        }
        points.push(point);
        write_table(&out.join("sweep.csv"), &swept.key, &points)?;
        if run::interrupted() {
            break;
        }
    }
    let mut written = vec![out.join("sweep.csv")];
    if plot::AVAILABLE {
        written.extend(draw(&out, &swept, &points)?);
    }
    if ctx.verbose() {
        println!();
        for path in &written {
            println!("{}", path.display());
        }
    }
    let list: Vec<Value> = points.iter().map(|p| json!({ "value": p.value, "outcome": p.outcome, "folder": p.folder, "forces": p.summary["forces"] })).collect();
    ctx.write_json(&json!({ "key": swept.key, "points": list }))?;
    let whole = points.len() == swept.values.len() && points.iter().all(|p| p.converged);
    Ok(if whole { Done::Success } else { Done::Short })
}

fn point_sets(swept: &Swept, fixed: &[String], value: &str) -> Vec<String> {
    fixed.iter().cloned().chain([format!("{}={value}", swept.key)]).collect()
}

impl Point {
    /// What its open markers were given and did not get.
    fn unmet(&self) -> Vec<&str> {
        self.summary["unmet"]
            .as_array()
            .map_or_else(Vec::new, |all| all.iter().filter_map(Value::as_str).collect())
    }
}

/// Runs one point. Whatever goes wrong is its outcome.
fn one(
    args: &Args,
    ctx: &Context,
    sets: &[String],
    folder: &Path,
    from: Option<&Path>,
    value: &str,
) -> Point {
    let _ = std::fs::remove_file(folder.join("summary.json")); // of an earlier sweep
    let done = run::run(&run::Args::of_point(&args.case, sets, folder, from), ctx);
    let summary = std::fs::read_to_string(folder.join("summary.json")).ok();
    let summary: Value = summary.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or(Value::Null);
    let (outcome, converged) = match done {
        Ok(done) => (summary["outcome"].as_str().unwrap_or("unknown").to_owned(), done == Done::Success),
        Err(error) => (format!("failed: {error}").replace(['\n', ','], " "), false),
    };
    Point { value: value.to_owned(), folder: folder.to_owned(), outcome, converged, summary }
}

fn number(point: &Point, path: &str) -> Option<f64> {
    point.summary.pointer(path).and_then(Value::as_f64)
}

const FORCES: [&str; 3] = ["/forces/cl", "/forces/cd", "/forces/cm"];

fn row(point: &Point) -> String {
    let cell = |path: &str| number(point, path).map_or_else(|| "-".to_owned(), |v| format!("{v:.7}"));
    let [cl, cd, cm] = FORCES.map(cell);
    let iterations = number(point, "/iterations").map_or_else(|| "-".to_owned(), |n| n.to_string());
    let time = number(point, "/time/total_s").map_or_else(|| "-".to_owned(), run::duration);
    format!("{:>12}  {:12} {iterations:>6} {cl:>12} {cd:>12} {cm:>12} {time:>9}", point.value, point.outcome)
}

fn write_table(path: &Path, key: &str, points: &[Point]) -> CliResult<()> {
    let mut text = format!("{key},outcome,iterations,residual_orders,cl,cd,cm,seconds,folder");
    for point in points {
        let cell = |path: &str| number(point, path).map_or_else(String::new, |v| v.to_string());
        let _ = write!(text, "\n{},{}", point.value, point.outcome);
        let columns = ["/iterations", "/residual_orders", FORCES[0], FORCES[1], FORCES[2], "/time/total_s"];
        for path in columns {
            let _ = write!(text, ",{}", cell(path));
        }
        let _ = write!(text, ",{}", point.folder.display());
    }
    text.push('\n');
    write_whole(path, text.as_bytes())
}

/// Coefficients over the key, and lift over drag, of the points that converged.
fn draw(out: &Path, swept: &Swept, points: &[Point]) -> CliResult<Vec<PathBuf>> {
    let good: Vec<&Point> = points.iter().filter(|p| p.converged).collect();
    let pairs = |x: &dyn Fn(&Point) -> Option<f64>, y: &str| -> Vec<(f64, f64)> {
        good.iter().filter_map(|p| Some((x(p)?, number(p, y)?))).collect()
    };
    let at = |p: &Point| p.value.parse().ok();
    let line = |name: &'static str, points| Series { name: name.into(), points, line: true };
    let over = |names: &[(&'static str, &str)], y| {
        let series = names.iter().map(|(name, path)| line(name, pairs(&at, path))).collect();
        Picture { title: format!("Over {}", swept.key), x: "value", y, log: [false; 2], series }
    };
    let polar = line("polar", pairs(&|p| number(p, FORCES[1]), FORCES[0]));
    let pictures = [
        ("lift", over(&[("CL", FORCES[0]), ("CM", FORCES[2])], "coefficient")),
        ("drag", over(&[("CD", FORCES[1])], "coefficient")),
        ("polar", Picture { title: "Polar".into(), x: "CD", y: "CL", log: [false; 2], series: vec![polar] }),
    ];
    let mut written = Vec::new();
    for (name, picture) in pictures {
        if picture.series.iter().all(|s| s.points.len() < 2) {
            continue; // the values are words, or one point
        }
        plot::draw(&out.join(name), &picture)?;
        written.extend(["svg", "png"].map(|ending| out.join(format!("{name}.{ending}"))));
    }
    Ok(written)
}
