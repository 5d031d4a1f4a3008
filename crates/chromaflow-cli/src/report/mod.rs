//! `chromaflow report`: a run, or several side by side, as one HTML file that needs nothing else.
//!
//! The page carries the run's own files (summary, histories, cuts, surface) and reads them in the browser: what draws is in
//! `page/`, without other libraries.

use crate::context::{Context, write_whole};
use crate::error::{CliError, CliResult, Done};
use crate::plot;
use chromaflow::files::FileError;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// Arguments of `chromaflow report`.
#[derive(clap::Args)]
pub struct Args {
    /// The folder of a run; several are shown side by side
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// File to write [default: report.html in the run's folder; of several runs, in the working directory]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Values to draw beside Cp along cuts: a table with columns x and cp
    #[arg(long, value_name = "FILE.csv")]
    compare: Option<PathBuf>,
    /// Which zone of a file of Tecplot's: a part of its title
    #[arg(long, value_name = "TITLE", requires = "compare")]
    zone: Option<String>,
}

/// Largest field that a page carries, in bytes of its file.
const LARGEST_FIELD: u64 = 64_000_000;

/// Writes the page.
///
/// # Errors
/// Status 2 for a folder that is not a run's; status 3 where the page cannot be written.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let compare =
        args.compare.as_deref().map(|path| plot::compared(path, args.zone.as_deref())).transpose()?;
    let names = names(&args.runs);
    let runs =
        args.runs.iter().zip(names).map(|(folder, name)| gather(folder, &name, compare.as_deref(), ctx));
    let runs: Vec<Value> = runs.collect::<CliResult<_>>()?;
    let path = args.out.clone().unwrap_or_else(|| match &args.runs[..] {
        [one] => one.join("report.html"),
        _ => PathBuf::from("report.html"),
    });
    let page = page(&Value::Array(runs));
    write_whole(&path, page.as_bytes())?;
    if ctx.verbose() {
        println!("{}", path.display());
    }
    Ok(Done::Success)
}

/// What runs are called: their folders' names, whole paths where two have the same.
fn names(folders: &[PathBuf]) -> Vec<String> {
    let last = |p: &PathBuf| {
        let whole = p.canonicalize().unwrap_or_else(|_| p.clone());
        whole.file_name().map_or_else(|| p.display().to_string(), |n| n.to_string_lossy().into_owned())
    };
    let names: Vec<String> = folders.iter().map(last).collect();
    let alone = |name: &String| names.iter().filter(|n| *n == name).count() == 1;
    if names.iter().all(alone) { names } else { folders.iter().map(|p| p.display().to_string()).collect() }
}

fn text(path: &Path) -> CliResult<String> {
    Ok(std::fs::read_to_string(path).map_err(|e| FileError::new("cannot read", path, e))?)
}

/// All that the page shows of a run.
fn gather(folder: &Path, name: &str, compare: Option<&[(f64, f64)]>, ctx: &Context) -> CliResult<Value> {
    let summary = folder.join("summary.json");
    if !summary.exists() {
        let what = "not the folder of a run that has ended: expected summary.json there";
        return Err(CliError::input(format!("{}: {what}", folder.display())));
    }
    let bad = |e| CliError::input(format!("{} is not the summary of a run: {e}", summary.display()));
    let facts: Value = serde_json::from_str(&text(&summary)?).map_err(bad)?;
    if !(facts["forces"].is_object() && facts["time"].is_object()) {
        return Err(CliError::input(format!("{} is not the summary of a run", summary.display())));
    }
    let loads = folder.join("forces.csv");
    let loads = if loads.exists() { Some(text(&loads)?) } else { None };
    let mut cuts = Map::new();
    for path in plot::results_in(folder)? {
        let stem = path.file_stem().and_then(|n| n.to_str()).unwrap_or_default();
        if stem.starts_with("cut_") {
            cuts.insert(stem.to_owned(), json!(text(&path)?));
        }
    }
    Ok(json!({
        "name": name,
        "history": text(&folder.join("history.csv"))?,
        "loads": loads,
        "cuts": cuts,
        "compare": compare,
        "field": field(folder, &facts, ctx)?,
        "summary": facts,
    }))
}

/// The walls of a three-dimensional run, the field of a planar one; nothing where the run wrote none or a very large one.
fn field(folder: &Path, facts: &Value, ctx: &Context) -> CliResult<Value> {
    // Cp all along the walls is written of planar runs alone.
    let flat = facts["mesh"]["planar"] == true || folder.join("cut_wall.csv").exists();
    let path = folder.join(if flat { "volume.vtu" } else { "surface.vtu" });
    let Ok(size) = std::fs::metadata(&path).map(|m| m.len()) else { return Ok(Value::Null) };
    if size > LARGEST_FIELD {
        if ctx.verbose() {
            let at_most = crate::run::bytes(LARGEST_FIELD as usize);
            eprintln!("note: {} is left out: a page carries {at_most} at most", path.display());
        }
        return Ok(Value::Null);
    }
    let bytes = std::fs::read(&path).map_err(|e| FileError::new("cannot read", &path, e))?;
    let markers = facts["mesh"]["markers"].as_array().into_iter().flatten();
    let walls = facts["forces"]["markers"].as_object();
    let is_wall = |m: &Value| m.as_str().is_some_and(|m| walls.is_some_and(|w| w.contains_key(m)));
    let walls: Vec<usize> = markers.enumerate().filter(|(_, m)| is_wall(m)).map(|(i, _)| i).collect();
    Ok(json!({ "flat": flat, "walls": if flat { Vec::new() } else { walls }, "data": base64(&bytes) }))
}

/// Bytes as text: RFC 4648, section 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |i: usize| u32::from(three.get(i).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for k in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * k)) as usize & 63];
            out.push(if k > three.len() { '=' } else { char::from(letter) });
        }
    }
    out
}

/// The page with its data.
fn page(runs: &Value) -> String {
    // `</script>` inside a text would end the element; in JSON `<\/` says the same.
    let data = runs.to_string().replace("</", "<\\/");
    let parts = [
        ("{{style}}", include_str!("page/style.css")),
        ("{{plot}}", include_str!("page/plot.js")),
        ("{{vtu}}", include_str!("page/vtu.js")),
        ("{{view}}", include_str!("page/view.js")),
        ("{{page}}", include_str!("page/page.js")),
        ("{{data}}", &data), // last: it may hold anything
    ];
    parts
        .iter()
        .fold(include_str!("page/page.html").to_owned(), |page, (name, text)| page.replacen(name, text, 1))
}

/// The page of a run under way, which asks for `/state` again and again.
pub fn live_page() -> String {
    let page = include_str!("page/live.html").replacen("{{style}}", include_str!("page/style.css"), 1);
    page.replacen("{{plot}}", include_str!("page/plot.js"), 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of RFC 4648, section 10.
    #[test]
    fn bytes_become_the_text_of_the_standard() {
        let cases = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("foobar", "Zm9vYmFy"),
        ];
        for (bytes, text) in cases {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn no_text_of_a_run_ends_the_pages_data() {
        let page = page(&json!([{ "name": "</script><b>{{page}}" }]));
        assert_eq!(page.matches("</script>").count(), 2);
        assert!(page.contains("<\\/script><b>{{page}}"), "what looks like a place is text");
        assert!(!page.contains("src=") && !page.contains("href="), "nothing is fetched");
    }
}
