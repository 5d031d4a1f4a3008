//! What a rank has of its host: cores, a GPU, a way to the GPUs of others.

use super::lost;
use crate::context::Context;
use crate::error::{CliError, CliResult};
use chromaflow::gpu::Wish;
use chromaflow_comm::Communicator;
use chromaflow_device::cores;
use chromaflow_device::cuda::Gpu;
use chromaflow_flow::unstructured::Ranks;
use clap::ValueEnum;
use std::num::NonZeroUsize;

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
    ctx.told().wish.check(&*ranks.ranks, gpu).map_err(CliError::device)
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

/// Where the threads of ranks on one host run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum BindWord {
    /// Each rank on cores of its own, of one NUMA node where that costs no other rank a core
    #[default]
    Cores,
    /// Where the system puts them
    None,
}

/// A host, and what a rank may use of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seat {
    /// What tells hosts apart: name, and when it was started.
    host: String,
    /// Hardware threads that the rank may use.
    cores: Vec<usize>,
}

impl Seat {
    fn own() -> Self {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
        let host = format!("{} {}", host(), read("/proc/sys/kernel/random/boot_id"));
        Self { host, cores: cores::allowed() }
    }

    /// Of so many ranks of this process.
    pub fn of_threads(size: usize) -> Vec<Self> {
        vec![Self::own(); size]
    }

    /// Of all ranks; collective.
    ///
    /// # Errors
    /// Status 3 when another rank has failed.
    pub fn of_processes(ranks: &dyn Communicator) -> CliResult<Vec<Self>> {
        let Self { host, cores } = Self::own();
        let cores: Vec<String> = cores.iter().map(ToString::to_string).collect();
        let all =
            ranks.gather_all(format!("{host}\n{}", cores.join(" ")).as_bytes()).map_err(|e| lost(&e))?;
        let of = |said: &Vec<u8>| {
            let said = String::from_utf8_lossy(said).into_owned();
            let (host, cores) = said.split_once('\n').unwrap_or((&said, ""));
            Self {
                host: host.to_owned(),
                cores: cores.split_whitespace().filter_map(|cpu| cpu.parse().ok()).collect(),
            }
        };
        Ok(all.iter().map(of).collect())
    }

    /// The cores that a rank of this host keeps to: its share of those that ranks of the host may all use; none where a launcher has given them
    /// different ones, where it shares none with others, or where threads are more than a share.
    pub fn cores_of(all: &[Self], rank: usize, ctx: &Context) -> Option<Vec<usize>> {
        let own = &all[rank];
        let together: Vec<usize> = (0..all.len()).filter(|&other| all[other] == *own).collect();
        let at = together.iter().position(|&other| other == rank)?;
        if together.len() < 2 || ctx.told().unbound {
            return None;
        }
        let mut shares = cores::shared_out(&cores::layout(&own.cores), together.len())?;
        let threads = ctx.threads_of(together.len());
        // A share too small for its threads: they are better off where there is room.
        let fits = shares.iter().all(|share| share.len() >= threads);
        fits.then(|| shares.swap_remove(at))
    }

    /// Says which hosts have ranks with more threads than there are hardware threads for them.
    pub fn say_shared(all: &[Self], ctx: &Context) {
        for line in Self::shared(all, ctx) {
            eprintln!("note: {line}");
        }
    }

    /// These in words.
    fn shared(all: &[Self], ctx: &Context) -> Vec<String> {
        let mut lines = Vec::new();
        for (rank, own) in all.iter().enumerate() {
            let here: Vec<&Self> = all.iter().filter(|other| other.host == own.host).collect();
            if all[..rank].iter().any(|other| other.host == own.host) {
                continue;
            }
            let mut cores: Vec<usize> = here.iter().flat_map(|seat| seat.cores.clone()).collect();
            cores.sort_unstable();
            cores.dedup();
            // Each with its part of those that it shares with others.
            let threads = here.iter().map(|seat| {
                let together = here.iter().filter(|other| other.cores == seat.cores).count();
                ctx.global.threads.map_or((seat.cores.len() / together).max(1), NonZeroUsize::get)
            });
            let threads: usize = threads.sum();
            if !cores.is_empty() && threads > cores.len() {
                let name = own.host.split(' ').next().unwrap_or_default();
                let at = if rank == 0 { "this host".to_owned() } else { format!("host {name}") };
                let (n, m) = (here.len(), cores.len());
                let [ranks, word] =
                    [if n == 1 { "rank" } else { "ranks" }, if m == 1 { "core" } else { "cores" }];
                lines.push(format!(
                    "{n} {ranks} of {at} share {m} {word} for {threads} threads, which take turns"
                ));
            }
        }
        lines
    }
}

/// This host's name.
fn host() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned()
}

/// Where a rank is, as errors say it: its host where ranks may be on several, and its GPU.
pub fn seat(ranks: &dyn Communicator, ctx: &Context) -> String {
    let host = ranks.in_process().is_none().then(|| format!("host {}", host()));
    let gpu = ctx.gpu().map(|gpu| format!("GPU {}", gpu.facts().ordinal));
    host.into_iter().chain(gpu).collect::<Vec<_>>().join(", ")
}

/// The GPU of a rank that is a process: that of its number among the ranks of its host, or the only one that its launcher shows it.
pub(super) fn gpu_of_process(ranks: &dyn Communicator, ctx: &Context) -> CliResult<Context> {
    let host = host();
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
    match doubled(&all, ranks.rank()) {
        Some(other) => Err(CliError::environment(both_on_one(other, ranks.rank(), (&hosts, &uuid)))),
        None => Ok(opened),
    }
}

/// Another rank that computes on the device of this one.
fn doubled(devices: &[Vec<u8>], own: usize) -> Option<usize> {
    (0..devices.len())
        .find(|&other| other != own && !devices[own].is_empty() && devices[other] == devices[own])
}

fn both_on_one(other: usize, own: usize, (hosts, uuid): (&[Vec<u8>], &str)) -> String {
    let [first, second] = [other.min(own), other.max(own)];
    let host = String::from_utf8_lossy(&hosts[own]).trim().to_owned();
    format!(
        "ranks {first} and {second} on host {host} both compute on GPU {uuid}: start as many ranks a host as it has GPUs, and leave the \
         choice of GPUs to the program or bind one to each task"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{Backend, ForRanks, GlobalArgs};

    fn context(threads: usize, unbound: bool) -> Context {
        let global = GlobalArgs {
            threads: NonZeroUsize::new(threads),
            backend: Backend::Cpu,
            json: None,
            quiet: true,
        };
        let told = ForRanks { unbound, ..ForRanks::default() };
        Context::without_gpu(global).unwrap().telling(told)
    }

    fn seat(host: &str, cores: std::ops::Range<usize>) -> Seat {
        Seat { host: format!("{host} x"), cores: cores.collect() }
    }

    fn cores_of(all: &[Seat], ctx: &Context) -> Vec<Option<Vec<usize>>> {
        (0..all.len()).map(|rank| Seat::cores_of(all, rank, ctx)).collect()
    }

    /// Ranks that may use the same cores share them out; those that a launcher has bound stay where they are.
    #[test]
    fn ranks_of_a_host_keep_to_cores_of_their_own() {
        let free = [seat("a", 900..904), seat("a", 900..904), seat("b", 900..904)];
        let found = cores_of(&free, &context(2, false));
        assert_eq!(
            found,
            [Some(vec![900, 901]), Some(vec![902, 903]), None],
            "one rank has its host to itself"
        );
        assert_eq!(cores_of(&free, &context(2, true)), [None, None, None], "--bind none");
        assert_eq!(cores_of(&free, &context(3, false)), [None, None, None], "more threads than a share has");
        let bound = [seat("a", 900..902), seat("a", 902..904)];
        assert_eq!(cores_of(&bound, &context(1, false)), [None, None]);
        // Two sockets with two ranks each.
        let sockets = [seat("a", 900..902), seat("a", 900..902), seat("a", 902..904), seat("a", 902..904)];
        let found = cores_of(&sockets, &context(1, false));
        assert_eq!(found, [900, 901, 902, 903].map(|cpu| Some(vec![cpu])));
    }

    #[test]
    fn more_threads_than_cores_are_said() {
        let two = [seat("a", 900..904), seat("a", 900..904), seat("b", 900..901), seat("b", 900..901)];
        assert_eq!(
            Seat::shared(&two, &context(1, false)),
            ["2 ranks of host b share 1 core for 2 threads, which take turns"]
        );
        assert_eq!(
            Seat::shared(&two[..2], &context(4, false)),
            ["2 ranks of this host share 4 cores for 8 threads, which take turns"]
        );
        assert!(Seat::shared(&two[..2], &context(2, false)).is_empty());
    }

    /// Two ranks on one GPU are found by both, whoever else has none.
    #[test]
    fn two_ranks_on_one_gpu_are_found() {
        let devices = ["a", "b", "a", "", ""].map(|uuid| uuid.as_bytes().to_vec());
        let found: Vec<_> = (0..5).map(|own| doubled(&devices, own)).collect();
        assert_eq!(found, [Some(2), None, Some(0), None, None]);
        let hosts = vec![b"n14\n".to_vec(); 3];
        let said = both_on_one(2, 0, (&hosts, "GPU-1"));
        assert!(said.starts_with("ranks 0 and 2 on host n14 both compute on GPU GPU-1: start"), "{said}");
    }
}
