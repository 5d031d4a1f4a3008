//! `chromaflow doctor`: what this machine offers, and what to do about what it lacks.

use crate::context::Context;
use crate::error::{CliResult, Done};
use crate::plot;
use crate::run::bytes;
use chromaflow_device::{Buffer, Isa, Team};
use serde_json::json;
use std::sync::Mutex;
use std::time::Instant;

/// Arguments of `chromaflow doctor`.
#[derive(clap::Args)]
pub struct Args {}

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
    let (one, all) = (read_bandwidth(&Team::new(1)), read_bandwidth(team));
    let gpu = "not built into this chromaflow: runs on the CPU";
    if ctx.talk() {
        println!("chromaflow      {}", env!("CARGO_PKG_VERSION"));
        println!("processor       {model}");
        println!("threads         {} (cores that this process may use; --threads changes it)", team.size());
        println!("instructions    {}", isa.name());
        println!("read bandwidth  {one:.1} GB/s on one core, {all:.1} GB/s on {} threads", team.size());
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
        "read_gb_per_s": { "one_core": one, "all": all },
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

/// GB/s at which a team sums an array that no cache holds: the best of five passes.
fn read_bandwidth(team: &Team) -> f64 {
    const N: usize = 1 << 25; // 256 MiB
    let mut data: Buffer<f64> = Buffer::zeroed(N);
    data.fill(1.0); // pages that were never written are all one page of zeros, in cache
    let sum = Mutex::new(0.0);
    let pass = || {
        let start = Instant::now();
        team.run(|m| {
            let mine = &data[m.share(N)];
            let mut lanes = [0.0; 32];
            for chunk in mine.chunks_exact(32) {
                for (lane, v) in lanes.iter_mut().zip(chunk) {
                    *lane += v;
                }
            }
            *sum.lock().expect("no member panics here") += lanes.iter().sum::<f64>();
        });
        start.elapsed().as_secs_f64()
    };
    let best = (0..5).map(|_| pass()).fold(f64::INFINITY, f64::min);
    let sum = sum.into_inner().expect("no member panics here");
    assert_eq!(sum, 5.0 * N as f64); // and so the reads cannot be left out
    8.0 * N as f64 / best / 1e9
}
