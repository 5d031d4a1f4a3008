//! Runs over ranks that lose one: all end, say why, and leave a restart that can be gone on from.
#![cfg(target_os = "linux")]

mod common;

use common::{CASE, chromaflow, cube, launched, launchers};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// An unsteady case that takes long, and writes a restart after every physical step.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cube.su2"), cube(6)).unwrap();
    let case = CASE
        .replace("side = \"farfield\"", "side = \"slip_wall\"")
        .replace("mach", "alpha = 5.0\nmach")
        .replace("iterations = 5", "mode = \"unsteady\"\ndt = 0.02\nsteps = 1000000\nsubiterations = 2");
    fs::write(folder.path().join("case.toml"), case).unwrap();
    folder
}

const LONG: [&str; 6] = ["-q", "run", "case.toml", "--set", "output.restart_every=1", "--threads"];

/// Starts the case on so many processes of a launcher.
fn launch(mpirun: &Path, ranks: usize, folder: &Path, out: &str, more: &[&str]) -> Child {
    let mut command = launched(mpirun, ranks, folder);
    command.args(LONG).args(["1", "--out", out]).args(more);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Processes of this program that write into a folder of this name, in the order they were started.
fn ranks_of(out: &str) -> Vec<u32> {
    let own = |pid: u32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = words.split(|b| *b == 0).collect();
        words[0].ends_with(b"chromaflow") && words.contains(&out.as_bytes())
    };
    let mut pids: Vec<u32> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|&pid| own(pid))
        .collect();
    pids.sort_unstable();
    pids
}

fn signal(pid: u32, name: &str) {
    let done = Command::new("kill").args([name, &pid.to_string()]).stderr(Stdio::null()).status();
    assert!(done.is_ok(), "no command `kill`");
}

/// The end of a process, which must come in time, and what it said; it is killed where it does not.
#[track_caller]
fn ended(mut child: Child, within: Duration, what: &str) -> (ExitStatus, String) {
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > within {
            child.kill().unwrap();
            panic!("{what}: still running after {within:?}");
        }
        sleep(Duration::from_millis(10));
    };
    let mut said = String::new();
    // Processes that outlive their launcher hold the pipe: what is there is read without waiting for them.
    if let Some(mut pipe) = child.stderr.take() {
        let _ = std::io::Read::read_to_string(&mut pipe, &mut said);
    }
    (status, said)
}

/// Draws numbers: Knuth's linear congruential generator, seeded by the clock.
struct Dice(u64);

impl Dice {
    fn new() -> Self {
        let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
        Self(clock.as_nanos() as u64)
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Whether one rank alone goes on from the restart of a run that was ended, if there is one.
#[track_caller]
fn goes_on(folder: &Path, out: &str, what: &str) -> bool {
    if !folder.join(out).join("restart.safetensors").exists() {
        return false;
    }
    let next = ["-q", "run", "case.toml", "--resume", "--out", out, "--set", "march.steps=1"];
    let (status, _, said) = chromaflow(folder, &next);
    assert_eq!(status, 0, "{what}: {said}");
    true
}

/// How often a rank is killed: `CHROMAFLOW_KILLS`, a dozen without it.
fn kills() -> usize {
    std::env::var("CHROMAFLOW_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(12)
}

/// `kill -9` of a random rank at a random time: the launcher ends all of them with a status that is not 0, and whenever a restart was
/// there, it is whole.
#[test]
fn a_rank_that_is_killed_ends_all_and_leaves_a_whole_restart() {
    let folder = folder();
    let (folder, mut dice, mut loaded) = (folder.path(), Dice::new(), 0);
    let launchers = launchers();
    if launchers.is_empty() {
        return;
    }
    for round in 0..kills() {
        let mpirun = &launchers[round % launchers.len()];
        let out = format!("killed-{}-{round}", std::process::id());
        let child = launch(mpirun, 2 + round % 2, folder, &out, &[]);
        let begun = Instant::now();
        while ranks_of(&out).len() < 2 + round % 2 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} starts no ranks", mpirun.display());
            sleep(Duration::from_millis(5));
        }
        // Every other one is hit at any time from the start, the others once there is something to lose.
        let restart = folder.join(&out).join("restart.safetensors");
        while round % 4 > 1 && !restart.exists() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} computes nothing", mpirun.display());
            sleep(Duration::from_millis(5));
        }
        let wait = dice.below(1500);
        sleep(Duration::from_millis(wait as u64));
        let pids = ranks_of(&out);
        let victim = dice.below(pids.len());
        signal(pids[victim], "-9");
        let what = format!("{}, process {victim} killed after {wait} ms", mpirun.display());
        let (status, said) = ended(child, Duration::from_secs(30), &what);
        assert!(!status.success(), "{what}: {said}");
        let alone = Instant::now();
        while !ranks_of(&out).is_empty() {
            assert!(alone.elapsed() < Duration::from_secs(30), "{what}: others go on");
            sleep(Duration::from_millis(5));
        }
        loaded += usize::from(goes_on(folder, &out, &what));
        let _ = fs::remove_dir_all(folder.join(&out));
    }
    assert!(loaded >= kills() / 2, "{loaded} restarts of {} runs", kills());
}

/// Ranks that are threads die together: the restart is whole all the same.
#[test]
fn a_process_that_is_killed_leaves_a_whole_restart() {
    let folder = folder();
    let (folder, mut dice, mut loaded) = (folder.path(), Dice::new(), 0);
    for round in 0..kills() {
        let out = format!("one-{round}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_chromaflow"));
        command.args(LONG).args(["1", "--ranks", "2", "--out", &out]).current_dir(folder);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        sleep(Duration::from_millis(200 + dice.below(600) as u64));
        child.kill().unwrap();
        assert!(!child.wait().unwrap().success());
        loaded += usize::from(goes_on(folder, &out, &out));
    }
    assert!(loaded > kills() / 4, "{loaded} restarts of {} runs", kills());
}

/// The rank that a process of a launcher is.
fn rank_of(pid: u32) -> Option<usize> {
    let all = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let of = |name: &str| {
        let mut words = all.split(|b| *b == 0).filter_map(|word| std::str::from_utf8(word).ok());
        words.find_map(|word| word.strip_prefix(name)?.parse().ok())
    };
    of("OMPI_COMM_WORLD_RANK=").or_else(|| of("PMI_RANK=")).or_else(|| of("PMIX_RANK="))
}

/// A rank that stands still, at any time, within a restart, too: the other one waits as long as it was told to, five times as long for
/// files, says who is silent and how to go on, and ends with status 3.
#[test]
fn a_rank_that_never_answers_ends_the_run() {
    let folder = folder();
    let (folder, mut dice) = (folder.path(), Dice::new());
    for (k, mpirun) in launchers().iter().enumerate() {
        for victim in [1, 0] {
            let out = format!("silent-{}-{k}-{victim}", std::process::id());
            let mut child = launch(mpirun, 2, folder, &out, &["--patience", "2"]);
            let begun = Instant::now();
            let restart = folder.join(&out).join("restart.safetensors");
            while !restart.exists() {
                assert!(begun.elapsed() < Duration::from_secs(60), "{} computes nothing", mpirun.display());
                sleep(Duration::from_millis(20));
            }
            let wait = dice.below(100);
            sleep(Duration::from_millis(wait as u64));
            let silent =
                ranks_of(&out).into_iter().find(|&pid| rank_of(pid) == Some(victim)).expect("the rank");
            signal(silent, "-STOP");
            let stopped = Instant::now();
            let status = loop {
                if let Some(status) = child.try_wait().unwrap() {
                    break status;
                }
                if stopped.elapsed() > Duration::from_secs(30) {
                    signal(silent, "-KILL");
                    child.kill().unwrap();
                    panic!("{}: still running, rank {victim} stopped after {wait} ms", mpirun.display());
                }
                sleep(Duration::from_millis(20));
            };
            signal(silent, "-KILL");
            let mut said = String::new();
            let _ = std::io::Read::read_to_string(&mut child.stderr.take().unwrap(), &mut said);
            let late =
                |seconds: u32| said.contains(&format!(" did not answer for {seconds} s at iteration "));
            assert!(said.contains(&format!("rank {victim} (host ")), "{}: {said}", mpirun.display());
            assert!(late(2) || late(10), "{}: {said}", mpirun.display());
            assert!(said.contains("go on from") && said.contains("--resume"), "{said}");
            assert!(stopped.elapsed() > Duration::from_millis(1500), "it waits");
            assert_eq!(status.code(), Some(3), "{}", mpirun.display());
            assert!(goes_on(folder, &out, "a silent rank"));
        }
    }
}

/// Rank 0 reads a mesh for longer than ranks have patience: it is waited for as long as it is there, and missed once it is not.
#[test]
fn a_rank_that_is_stopped_while_it_reads_ends_the_run() {
    let folder = folder();
    let folder = folder.path();
    for (k, mpirun) in launchers().iter().enumerate() {
        // A mesh that does not come: whoever opens a pipe waits for its writer.
        let mesh = format!("pipe{k}.su2");
        assert!(Command::new("mkfifo").arg(folder.join(&mesh)).status().unwrap().success());
        let out = format!("reading-{}-{k}", std::process::id());
        let file = format!("mesh.file={mesh}");
        let mut child = launch(mpirun, 2, folder, &out, &["--patience", "2", "--set", &file]);
        let begun = Instant::now();
        while ranks_of(&out).len() < 2 {
            assert!(begun.elapsed() < Duration::from_secs(60), "{} starts no ranks", mpirun.display());
            sleep(Duration::from_millis(20));
        }
        sleep(Duration::from_secs(7));
        assert!(child.try_wait().unwrap().is_none(), "{}: rank 0 is there", mpirun.display());
        let reader = ranks_of(&out).into_iter().find(|&pid| rank_of(pid) == Some(0)).expect("the rank");
        signal(reader, "-STOP");
        let stopped = Instant::now();
        while child.try_wait().unwrap().is_none() && stopped.elapsed() < Duration::from_secs(20) {
            sleep(Duration::from_millis(20));
        }
        let waited = stopped.elapsed();
        signal(reader, "-KILL");
        let (status, said) = ended(child, Duration::from_secs(10), &mpirun.display().to_string());
        assert!(waited < Duration::from_secs(20), "{}: {waited:?}", mpirun.display());
        assert_eq!(status.code(), Some(3), "{}: {said}", mpirun.display());
        assert!(said.contains("rank 0 (host ") && said.contains(" did not answer for 2 s"), "{said}");
    }
}
