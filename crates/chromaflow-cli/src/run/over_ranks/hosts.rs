//! What a rank has of its host: cores, a GPU, a way to the GPUs of others.

use super::lost;
use crate::context::Context;
use crate::error::{CliError, CliResult};
use chromaflow::gpu::Wish;
use chromaflow_comm::Communicator;
use chromaflow_device::cuda::Gpu;
use chromaflow_flow::unstructured::Ranks;
use clap::ValueEnum;

/// How values pass between GPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum HaloWord {
    /// By peer stores where the GPUs can, within sweeps where each rank has one of its own, else as `nccl`
    #[default]
    Shortest,
    /// By peer stores between kernels where the GPUs can, else as `nccl`
    Posted,
    /// By NCCL
    Nccl,
    /// Through page-locked memory of the host: slow, never chosen unasked
    Staged,
}

impl HaloWord {
    /// As a solver is told.
    pub fn wish(self) -> Wish {
        match self {
            Self::Shortest => Wish::Shortest,
            Self::Posted => Wish::Posted,
            Self::Nccl => Wish::Nccl,
            Self::Staged => Wish::Staged,
        }
    }
}

/// Whether values can pass between the GPUs of all ranks as they are to, before anybody reads a mesh.
///
/// # Errors
/// Status 3 with what was found and what to do, on every rank.
pub fn can_pass(ranks: &Ranks, ctx: &Context) -> CliResult<()> {
    let Some(gpu) = ctx.gpu() else { return Ok(()) };
    ctx.wish().check(&*ranks.ranks, gpu).map_err(CliError::device)
}

/// Whether this machine has so many GPUs as an option asks for.
///
/// # Errors
/// Status 3 with what there is.
pub fn enough_gpus(option: &str, asked: usize) -> CliResult<()> {
    let count = Gpu::count().map_err(|e| CliError::environment(format!("{option} {asked}: {e}")))?;
    if asked <= count {
        return Ok(());
    }
    let shown = if count == 1 { "1 GPU".to_owned() } else { format!("{count} GPUs") };
    Err(CliError::environment(format!(
        "{option} {asked}, but this machine shows {shown}: a rank computes on a GPU of its own; ask for at most {count} (`chromaflow \
         doctor` lists them; CUDA_VISIBLE_DEVICES hides devices)"
    )))
}

/// Ranks on this host that may use the same cores as this one.
pub(super) fn on_this_host(ranks: &dyn Communicator) -> CliResult<usize> {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let status = read("/proc/self/status");
    let cores = status.lines().find(|line| line.starts_with("Cpus_allowed_list")).unwrap_or_default();
    let own = format!("{}{cores}", read("/proc/sys/kernel/hostname"));
    let all = ranks.gather_all(own.as_bytes()).map_err(|e| lost(&e))?;
    Ok(all.iter().filter(|other| other.as_slice() == own.as_bytes()).count())
}

/// The GPU of a rank that is a process: that of its number among the ranks of its host, or the only one that its launcher shows it.
pub(super) fn gpu_of_process(ranks: &dyn Communicator, ctx: &Context) -> CliResult<Context> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let hosts = ranks.gather_all(host.as_bytes()).map_err(|e| lost(&e))?;
    let here: Vec<usize> = (0..hosts.len()).filter(|&rank| hosts[rank] == host.as_bytes()).collect();
    let own = here.iter().position(|&rank| rank == ranks.rank()).unwrap_or(0);
    let found = Gpu::count().map_err(|e| CliError::environment(format!("--backend cuda: {e}")));
    let opened = found.and_then(|count| match count {
        1 => ctx.on_gpu(0, hosts.len()),
        _ if here.len() <= count => ctx.on_gpu(own, hosts.len()),
        _ => Err(CliError::environment(format!(
            "{} ranks share this host, which shows {count} GPUs: start as many ranks a host as it has GPUs",
            here.len()
        ))),
    });
    // All know what all have before any of them ends.
    let uuid = opened.as_ref().ok().and_then(|ctx| Some(ctx.gpu()?.facts().uuid.clone())).unwrap_or_default();
    let all = ranks.gather_all(uuid.as_bytes()).map_err(|e| lost(&e))?;
    let opened = opened?;
    match all.iter().position(|other| other == uuid.as_bytes()).filter(|&other| other != ranks.rank()) {
        Some(other) => Err(CliError::environment(format!(
            "ranks {other} and {} both compute on GPU {uuid}: start as many ranks a host as it has GPUs, and leave the choice of GPUs to \
             the program or bind one to each task",
            ranks.rank()
        ))),
        None => Ok(opened),
    }
}
