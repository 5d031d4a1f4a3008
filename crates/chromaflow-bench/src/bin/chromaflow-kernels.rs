//! `chromaflow-kernels`, what `cargo xtask kernels` runs: every GPU kernel compiled without a GPU, for several architectures; spills
//! are failures.
#![deny(unsafe_code)]

use chromaflow::factor::{block_ilu, structured_ilu};
use chromaflow::gpu::{Storage, Tiles, kernel_sources};
use chromaflow::tridiag;
use chromaflow_device::cuda::{Compiled, KernelSource, build_ahead, compile, pack as packed};
use chromaflow_flow::gpu as flow_gpu;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Block sizes up to which no kernel of a sweep may spill registers.
const NO_SPILLS: usize = 32;
/// Kernels that may spill, with the most bytes: the conversions and inversions, which run once a solve, keep a predicate or
/// two in memory at some sizes, as do factorizations of any pattern, of a hyperplane with 1024 threads and by warps of three
/// kinds; Jacobians and fluxes of structured grids keep to 128 registers for the sake of more threads; lines with |A| in the operator, and those that close on themselves, have four blocks of 25
/// numbers at hand.
const MAY_SPILL: [(&str, usize); 24] = [
    // IDDES, and with hybrids the derivatives for one matrix with the flow; a stress that is quadratic in the gradient.
    ("k_omega", 32),
    ("sa", 8),
    ("viscous", 4),
    // Fluxes over the true shape of faces.
    ("residual", 8),
    // At nb 31; four elsewhere.
    ("ilu", 8),
    // Of boundary nodes alone: an outlet has the matrix of what leaves beside that of what comes back in.
    ("jacobian_boundary", 44),
    // Of nodes off walls with a law alone, whose profile has nine numbers, and eight for what the scheme adds.
    ("jacobian_replaced", 24),
    ("tridiag_chunks", 108),
    ("tridiag_thomas", 1400),
    ("tridiag_cr", 700),
    ("tridiag_pcr", 8),
    ("convert", 16),
    ("invert", 16),
    ("wavefront", 16),
    ("factor_warps", 32),
    // At nb 10 alone.
    ("factor_lines", 8),
    ("structured_boundary", 8),
    // Matrix dissipation, of slow flow, too, beside the local Lax-Friedrichs flux that keeps it positive.
    ("structured_fluxes", 180),
    ("structured_step", 16),
    ("structured_lines_matrix", 600),
    ("structured_segments", 2200),
    ("structured_diagonal", 16),
    ("incompressible", 16),
    // Of SA-RC alone, which has the derivatives of six neighbors' deformations at hand.
    ("structured_eddies", 132),
];
/// Compilations of a kernel that spills more: NVRTC 13.0 does not allocate registers of sm_100 the same way each time. Of
/// `structured_step`, which spills nothing, one compilation in twenty spills 24 bytes.
const TRIES: usize = 4;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match kernels(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Compiles for `--arch sm_80,sm_90,sm_100` (all three unless given) and `--nb 1-64` (ranges and numbers, separated by commas),
/// with `--sweeps`, `--factors`, `--flows` those of multicolor sweeps, of factors and line solvers, of flows alone, with `--only WORD` those whose names begin with it. Sweeps are
/// those of matrices of any size, with `--candidates` all that tuning tries. `--sample` takes of sweeps those of large matrices, of the
/// kernels of flows, which have hundreds of variants, each by one architecture in turn. With `--store` it keeps the
/// results in the cache of kernels. With `--pack FILE` it writes those that runs ask for (blocks of 1, 2, 4 and 5 unless `--nb` is
/// given) into a file that a build of the command takes along: `CHROMAFLOW_KERNELS=FILE cargo build --release`. `--times` lists the
/// slowest, `--digests` a hash of the machine code of each, by which changes of a text that are to change nothing are told.
fn kernels(args: &[String]) -> Result<(), String> {
    let option = |name: &str| args.iter().position(|a| a == name).and_then(|i| args.get(i + 1)).cloned();
    let flag = |name: &str| args.iter().any(|a| a == name);
    if flag("--help") {
        println!(
            "chromaflow-kernels [--arch sm_90,...] [--nb 1-8,16] [--sweeps] [--factors] [--flows] [--sample | --candidates] [--only WORD] [--store] [--pack FILE] [--times] [--digests]"
        );
        return Ok(());
    }
    let pack = option("--pack").map(PathBuf::from);
    let architectures = option("--arch").unwrap_or_else(|| "sm_80,sm_90,sm_100".to_owned());
    let sizes = option("--nb").unwrap_or_else(|| if pack.is_some() { "1,2,4,5" } else { "1-64" }.to_owned());
    let sizes = ranges(&sizes).ok_or_else(|| format!("--nb {sizes}: expected ranges such as 1-8,16"))?;
    let candidates = flag("--candidates");
    let tiles = match [flag("--sample"), candidates] {
        [false, false] => Tiles::Chosen,
        [true, false] => Tiles::Largest,
        [false, true] => Tiles::Candidates,
        [true, true] => return Err("--sample and --candidates: name one of them".to_owned()),
    };
    let parts = ["--sweeps", "--factors", "--flows"].map(flag);
    let parts = if parts.contains(&true) { parts } else { [true; 3] };
    let mut work = work(&architectures, &sizes, pack.is_some(), tiles, parts);
    let only = option("--only").unwrap_or_default();
    work.retain(|w| w.source.name.starts_with(&only));
    let next = AtomicUsize::new(0);
    let (failures, allowed_ones) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let (most, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some(one) = work.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let Work { arch, nb, source, .. } = one;
                    let allowed = MAY_SPILL.iter().find(|m| m.0 == source.name).map_or(0, |m| m.1);
                    let checked = *nb <= NO_SPILLS && !candidates;
                    let start = Instant::now();
                    let make =
                        || if flag("--store") { build_ahead(source, arch) } else { compile(source, arch) };
                    let mut made = make();
                    for _ in 1..TRIES {
                        if !checked || made.as_ref().map_or(0, Compiled::spill_bytes) <= allowed {
                            break;
                        }
                        made = make();
                    }
                    let seconds = start.elapsed().as_secs_f64();
                    let what = format!("{arch} nb {nb} {} {}", one.storage.name(), source.options.join(" "));
                    match made {
                        Err(error) => failures.lock().expect("no panic").push(format!("{what}: {error}")),
                        Ok(compiled) => {
                            most.fetch_max(compiled.registers(), Ordering::Relaxed);
                            let spilled = compiled.spill_bytes();
                            if spilled > 0 && checked {
                                let text =
                                    format!("{}, {what}: {spilled} bytes of registers spilled", source.name);
                                let list = if spilled > allowed { &failures } else { &allowed_ones };
                                list.lock().expect("no panic").push(text);
                            }
                            let name = format!("{} {what}", source.name);
                            done.lock().expect("no panic").push((seconds, name, one, compiled.image));
                        }
                    }
                }
            });
        }
    });
    let (failures, mut done) =
        (failures.into_inner().expect("no panic"), done.into_inner().expect("no panic"));
    for text in allowed_ones.into_inner().expect("no panic") {
        println!("allowed: {text}");
    }
    println!("{} kernels compiled, at most {} registers", work.len(), most.into_inner());
    done.sort_by(|a, b| b.0.total_cmp(&a.0));
    if flag("--times") {
        let sum: f64 = done.iter().map(|d| d.0).sum();
        println!("{sum:.1} s of compilation");
        done.iter().take(40).for_each(|(seconds, name, ..)| println!("{seconds:8.2} s  {name}"));
    }
    if flag("--digests") {
        let mut lines: Vec<String> =
            done.iter().map(|(_, name, _, image)| format!("{name} {:016x}", digest(image))).collect();
        lines.sort();
        println!("{}", lines.join("\n"));
    }
    if !failures.is_empty() {
        return Err(failures.join("\n"));
    }
    let Some(path) = pack else { return Ok(()) };
    // The same bytes whatever the order of compilation.
    done.sort_by(|a, b| a.1.cmp(&b.1));
    let file = packed(done.iter().map(|(.., one, image)| (&one.source, one.arch.as_str(), image.as_slice())));
    std::fs::write(&path, &file).map_err(|e| format!("{}: {e}", path.display()))?;
    println!("{}: {:.1} MB", path.display(), file.len() as f64 / 1e6);
    Ok(())
}

fn digest(image: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(image);
    hasher.finish()
}

/// A kernel to compile.
struct Work {
    arch: String,
    /// 0 where there are no blocks.
    nb: usize,
    storage: Storage,
    source: KernelSource,
}

/// Kernels for each architecture and block size; for a pack every variant that runs ask for.
fn work(
    architectures: &str,
    sizes: &[usize],
    pack: bool,
    tiles: Tiles,
    [sweeps, factors, flows]: [bool; 3],
) -> Vec<Work> {
    let mut work = Vec::new();
    let count = architectures.split(',').count();
    for (number, arch) in architectures.split(',').enumerate() {
        let mut add = |nb, storage, sources: Vec<KernelSource>| {
            work.extend(sources.into_iter().map(|source| Work {
                arch: arch.to_owned(),
                nb,
                storage,
                source,
            }));
        };
        for &nb in sizes.iter().filter(|_| sweeps) {
            for storage in Storage::ALL.into_iter().filter(|s| !pack || *s != Storage::Bf16) {
                add(nb, storage, kernel_sources(nb, storage, tiles));
            }
        }
        for &nb in sizes.iter().filter(|_| factors) {
            add(nb, Storage::F64, structured_ilu::cuda::kernel_sources(nb, tiles == Tiles::Candidates));
            add(nb, Storage::F64, block_ilu::cuda::kernel_sources(nb));
            add(nb, Storage::F64, tridiag::cuda::kernel_sources(nb));
        }
        if !flows {
            continue;
        }
        let mut flow = if pack { flow_gpu::all_kernel_sources() } else { flow_gpu::kernel_sources() };
        if tiles == Tiles::Largest {
            flow = flow.into_iter().skip(number).step_by(count).collect();
        }
        add(0, Storage::F32, chromaflow::gpu::vector_sources());
        add(0, Storage::F32, flow);
    }
    // Storages share some.
    let mut seen = HashSet::new();
    work.retain(|w| {
        seen.insert((w.arch.clone(), digest(w.source.text.as_bytes()), w.source.options.clone()))
    });
    work
}

/// The numbers of `1-3,7`.
fn ranges(text: &str) -> Option<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        all.extend(first.parse().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(all)
}
