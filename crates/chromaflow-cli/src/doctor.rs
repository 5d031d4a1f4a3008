//! `chromaflow doctor`: what this machine offers, and what to do about what it lacks.

use crate::context::Context;
use crate::error::{CliResult, Done};
use crate::plot;
use crate::run::bytes;
use chromaflow_comm::mpi::Mpi;
use chromaflow_device::cores::{self, Cpu};
use chromaflow_device::cuda::{CudaError, Exported, Gpu, Nccl};
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
    let (gpu, mpi) = (gpu(), mpi());
    let nodes = numa(&cores::layout(&cores::allowed()));
    if ctx.verbose() {
        println!("chromaflow      {}", env!("CARGO_PKG_VERSION"));
        println!("processor       {model}");
        println!("threads         {} (cores that this process may use; --threads changes it)", team.size());
        println!("NUMA nodes      {}", numa_in_words(&nodes));
        println!("instructions    {}", isa.name());
        println!("bandwidth       {:.1} GB/s read, {:.1} GB/s triad on one core", one.read, one.triad);
        println!(
            "                {:.1} GB/s read, {:.1} GB/s triad on {} threads",
            all.read,
            all.triad,
            team.size()
        );
        println!("memory          {}", memory.map_or_else(|| "unknown".to_owned(), bytes));
        for line in &gpu {
            println!("GPU             {line}");
        }
        for line in &mpi {
            println!("MPI             {line}");
        }
        println!(
            "plots           {}",
            if plot::AVAILABLE { "built in" } else { "build with --features plots" }
        );
    }
    ctx.write_json(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "processor": model,
        "threads": team.size(),
        "numa_nodes": nodes,
        "instructions": isa.name(),
        "read_gb_per_s": { "one_core": one.read, "all": all.read },
        "triad_gb_per_s": { "one_core": one.triad, "all": all.triad },
        "memory_bytes": memory,
        "gpu": gpu,
        "mpi": mpi,
        "plots": plot::AVAILABLE,
    }))?;
    Ok(Done::Success)
}

/// Cores of each NUMA node that this process may use, as the system writes lists.
fn numa(layout: &[Cpu]) -> Vec<String> {
    let of = |node: &[Cpu]| cores::in_words(&node.iter().map(|cpu| cpu.number).collect::<Vec<_>>());
    layout.chunk_by(|a, b| a.node == b.node).map(of).collect()
}

fn numa_in_words(nodes: &[String]) -> String {
    match nodes {
        [] => "unknown".to_owned(),
        [one] => format!("1: cores {one}"),
        all => format!(
            "{}: cores {} (ranks of one host keep to cores of one where they can)",
            all.len(),
            all.join(" | ")
        ),
    }
}

/// The MPI libraries that ranks of a launcher would use here, best first, and their interfaces.
fn mpi() -> Vec<String> {
    let found = Mpi::libraries();
    if found.is_empty() {
        let none = "no library found (ranks of one host need none: --ranks N; else load an MPI, or set CHROMAFLOW_MPI to its libmpi)";
        return vec![none.to_owned()];
    }
    found.iter().map(|f| format!("{}: {} interface, {}", f.library.display(), f.abi, f.version)).collect()
}

/// What there is to compute on besides the processor, or what is missing and how to get it.
fn gpu() -> Vec<String> {
    use chromaflow_device::cuda::{kernel_cache_folder, nvrtc_version, shipped};
    let count = match Gpu::count() {
        Ok(count) => count,
        Err(missing) => return vec![missing.to_string()],
    };
    let opened: Vec<_> = (0..count).map(Gpu::open).collect();
    let mut lines: Vec<String> = (0..count)
        .map(|ordinal| {
            let told = opened[ordinal]
                .as_ref()
                .map_err(ToString::to_string)
                .and_then(|gpu| told_of(gpu).map_err(|error| error.to_string()));
            told.unwrap_or_else(|error| format!("number {ordinal}: {error}"))
        })
        .collect();
    lines.extend(peers(&opened));
    lines.extend(opened.iter().flatten().take(1).map(between_processes));
    if count > 0 {
        lines.push(match Nccl::open() {
            Ok(nccl) => {
                format!("NCCL {} passes messages between GPUs of processes and of hosts", nccl.version())
            }
            Err(missing) => {
                format!("{missing}; without it ranks on several hosts need --halo staged: messages through the host")
            }
        });
    }
    if count == 0 {
        lines.push(
            "the driver shows no device (see `nvidia-smi`; CUDA_VISIBLE_DEVICES hides devices)".to_owned(),
        );
    }
    lines.push(match nvrtc_version() {
        Ok((major, minor)) => format!("NVRTC {major}.{minor} compiles the kernels"),
        Err(missing) => missing.to_string(),
    });
    if shipped() > 0 {
        lines.push(format!("{} kernels came with this program", shipped()));
    }
    lines.push(kernel_cache_folder().map_or_else(
        || "kernels are not kept on disk: set CHROMAFLOW_CACHE or HOME".to_owned(),
        |folder| format!("kernels are kept in {}", folder.display()),
    ));
    lines
}

/// A device in a line.
fn told_of(gpu: &Gpu) -> Result<String, CudaError> {
    let ((free, total), f) = (gpu.memory()?, gpu.facts());
    let copy = gpu.copy_bandwidth(free.min(2 << 30) / 4, 5)?;
    Ok(format!(
        "{}: capability {}.{}, {} multiprocessors, {} of {} free, {copy:.0} GB/s copied, driver for CUDA {}.{}",
        f.name,
        f.capability.0,
        f.capability.1,
        f.multiprocessors,
        bytes(free),
        bytes(total),
        f.driver.0,
        f.driver.1
    ))
}

/// Which of several devices reach one another's memory: what ranks of `--gpus` exchange by.
fn peers(opened: &[Result<Gpu, CudaError>]) -> Vec<String> {
    if opened.len() < 2 {
        return Vec::new();
    }
    let pairs =
        (0..opened.len()).flat_map(|a| (0..opened.len()).map(move |b| (a, b))).filter(|(a, b)| a != b);
    let apart: Vec<(usize, usize)> = pairs
        .filter(|&(a, b)| opened[a].as_ref().is_ok_and(|gpu| !gpu.reaches(b).unwrap_or(false)))
        .collect();
    vec![peers_in_words(opened.len(), &apart)]
}

/// Whether processes open one another's memory: what ranks of a launcher on one host exchange by.
fn between_processes(gpu: &Gpu) -> String {
    let handle = gpu.stream().and_then(|stream| Exported::zeroed(&stream, 1)?.handle());
    match handle {
        Ok(_) => {
            "CUDA IPC opens memory to other processes: ranks of mpirun on one host exchange by peer stores"
                .to_owned()
        }
        Err(error) => format!(
            "no CUDA IPC ({error}): ranks of mpirun on one host exchange by NCCL, or with --halo staged through the host"
        ),
    }
}

fn peers_in_words(count: usize, apart: &[(usize, usize)]) -> String {
    if apart.is_empty() {
        return format!("all {count} reach one another's memory: --gpus exchanges by peer stores");
    }
    let list: Vec<String> = apart.iter().map(|(a, b)| format!("{a} to {b}")).collect();
    format!(
        "peer access is missing from {}: --gpus over these exchanges by NCCL, or with --halo staged through the host",
        list.join(", ")
    )
}

/// The first value of a `name : value` line of a file of the system.
fn proc_field(path: &str, name: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    let (_, value) = text.lines().find_map(|l| l.split_once(':').filter(|(key, _)| key.trim() == name))?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::{Cpu, numa, numa_in_words, peers_in_words};

    #[test]
    fn nodes_are_shown_with_their_cores() {
        let cpu = |(number, node)| Cpu { node, core: number, number };
        let nodes = numa(&[(0, 0), (1, 0), (4, 0), (2, 1), (3, 1)].map(cpu));
        assert!(numa_in_words(&nodes).starts_with("2: cores 0-1,4 | 2-3 (ranks"));
        assert_eq!(numa_in_words(&nodes[1..]), "1: cores 2-3");
        assert_eq!(numa_in_words(&numa(&[])), "unknown");
    }

    #[test]
    fn missing_peer_access_names_the_devices() {
        assert!(peers_in_words(4, &[]).starts_with("all 4 reach"));
        assert!(peers_in_words(3, &[(0, 2), (2, 0)]).contains("from 0 to 2, 2 to 0:"));
    }
}
