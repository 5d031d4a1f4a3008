//! `chromaflow doctor`: what this machine offers, and what to do about what it lacks.

use crate::context::Context;
use crate::error::{CliResult, Done};
use crate::plot;
use crate::run::bytes;
use chromaflow_device::stream::{self, Bandwidth};
use chromaflow_device::{Isa, Team};
use serde_json::json;
use std::time::Duration;

/// Arguments of `chromaflow doctor`.
#[derive(clap::Args)]
pub struct Args {}

/// More than caches hold.
const BYTES: usize = 768 << 20;
const BUDGET: Duration = Duration::from_millis(500);

/// Prints the report.
///
/// # Errors
/// When the `--json` file cannot be written.
pub fn run(_args: &Args, ctx: &Context) -> CliResult {
    let model =
        proc_field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory = proc_field("/proc/meminfo", "MemTotal").and_then(|kb| kb.split(' ').next()?.parse().ok());
    let memory = memory.map(|kb: usize| kb * 1024);
    let isa = Isa::detect();
    let team = ctx.team();
    let measure = |team: &Team| {
        let found = stream::measure(team, BYTES, BUDGET);
        Bandwidth { read: found.read / 1e9, triad: found.triad / 1e9 }
    };
    let (one, all) = (measure(&Team::new(1)), measure(team));
    let gpu = "not built into this chromaflow: runs on the CPU";
    if ctx.talk() {
        println!("chromaflow      {}", env!("CARGO_PKG_VERSION"));
        println!("processor       {model}");
        println!("threads         {} (cores that this process may use; --threads changes it)", team.size());
        println!("instructions    {}", isa.name());
        println!("bandwidth       {:.1} GB/s read, {:.1} GB/s triad on one core", one.read, one.triad);
        println!(
            "                {:.1} GB/s read, {:.1} GB/s triad on {} threads",
            all.read,
            all.triad,
            team.size()
        );
        println!("memory          {}", memory.map_or_else(|| "unknown".to_owned(), bytes));
        println!("GPU             {gpu}");
        println!(
            "plots           {}",
            if plot::AVAILABLE { "built in" } else { "build with --features plots" }
        );
    }
    ctx.write_json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "processor": model,
        "threads": team.size(),
        "instructions": isa.name(),
        "read_gb_per_s": { "one_core": one.read, "all": all.read },
        "triad_gb_per_s": { "one_core": one.triad, "all": all.triad },
        "memory_bytes": memory,
        "gpu": gpu,
        "plots": plot::AVAILABLE,
    }))?;
    Ok(Done::AsAsked)
}

/// The first value of a `name : value` line of a file of the system.
fn proc_field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let (_, value) = text.lines().find_map(|l| l.split_once(':').filter(|(key, _)| key.trim() == name))?;
    Some(value.trim().to_owned())
}
