//! What something ends: a run by Ctrl-C or a full disk, which leave the last good restart; output by a reader that has gone.
#![cfg(unix)]

mod common;

use common::{CASE, chromaflow, cube};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Flow over a box at an angle, some hundred iterations long.
fn case(folder: &Path) {
    std::fs::write(folder.join("cube.su2"), cube(6)).unwrap();
    let case = CASE
        .replace("side = \"farfield\"", "side = \"slip_wall\"")
        .replace("mach", "alpha = 5.0\nmach")
        .replace("iterations = 5", "iterations = 3000\nresidual_drop = 9.0\ncfl_max = 2.0\ncfl_start = 1.0");
    std::fs::write(folder.join("case.toml"), case).unwrap();
}

fn summary(folder: &Path) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join("summary.json")).unwrap()).unwrap()
}

#[test]
fn a_run_that_was_interrupted_goes_on_to_the_same_forces() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    case(folder);
    let run = |more: &[&str]| {
        let args = [&["-q", "--threads", "1", "run", "case.toml"], more].concat();
        let (status, _, message) = chromaflow(folder, &args);
        assert_eq!(status, 0, "{message}");
    };
    run(&["--out", "through"]);
    let through = summary(&folder.join("through"));
    for signal in ["-INT", "-TERM"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_chromaflow"))
            .args(["-q", "--threads", "1", "run", "case.toml", &format!("--out={signal}")])
            .args(["--set", "output.restart_every=10"])
            .current_dir(folder)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let out = folder.join(signal);
        let start = Instant::now();
        while !out.join("restart.safetensors").exists() && child.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(60), "no restart was written");
            std::thread::sleep(Duration::from_millis(2));
        }
        let kill = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
        assert!(kill.success(), "the run was over already");
        assert_eq!(child.wait().unwrap().code(), Some(1), "interrupted: short of what was asked");
        for name in ["history.csv", "summary.json", "volume.vtu", "surface.vtu"] {
            assert!(out.join(name).exists(), "{name}");
        }
        let (all, done) = (&through["iterations"], &summary(&out)["iterations"]);
        assert!((10..all.as_u64().unwrap()).contains(&done.as_u64().unwrap()), "{done} of {all}");
        run(&[&format!("--out={signal}"), "--resume"]);
        let whole = summary(&out);
        assert_eq!(whole["iterations"], through["iterations"]);
        for name in ["cl", "cd", "cm"] {
            let [a, b] = [&whole, &through].map(|r| r["forces"][name].as_f64().unwrap());
            assert!((a - b).abs() < 1e-9, "{name} {a} {b}");
        }
    }
}

/// A limit on the size of files stands for the full disk.
#[test]
fn a_full_disk_leaves_the_restart_before() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    case(folder);
    let set = ["--set", "march.iterations=20", "--set", "expect.iterations_suffice=true"];
    let args = [&["-q", "--threads", "1", "run", "case.toml", "--out", "o"], &set[..]].concat();
    assert_eq!(chromaflow(folder, &args).0, 0);
    let restart = folder.join("o/restart.safetensors");
    let before = std::fs::read(&restart).unwrap();
    // 512 or 1024 bytes a block: less than a restart in either case, and the write fails rather than ends the process.
    assert!(before.len() > 16 * 1024);
    // Several ranks learn it when one of them makes the file.
    for (ranks, what) in [("", "cannot write"), ("--ranks 3", "cannot create")] {
        let script = format!(
            "trap '' XFSZ; ulimit -f 8; exec \"$0\" -q --threads 1 run case.toml --out o --resume {ranks} \
             --set march.iterations=60 --set output.restart_every=10"
        );
        let run = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_chromaflow")])
            .current_dir(folder)
            .output()
            .unwrap();
        let message = String::from_utf8_lossy(&run.stderr);
        assert_eq!(run.status.code(), Some(3), "{message}");
        assert!(message.contains("restart.safetensors") && message.contains(what), "{message}");
        assert!(std::fs::read(&restart).unwrap() == before, "the old restart is as it was");
        let left = std::fs::read_dir(folder.join("o")).unwrap().map(|e| e.unwrap().file_name());
        let left: Vec<_> = left.collect();
        assert!(left.iter().all(|name| !name.to_string_lossy().contains("tmp")), "{left:?}");
    }
    let args = ["-q", "run", "case.toml", "--out", "o", "--resume", "--set", "march.iterations=40"];
    assert_eq!(chromaflow(folder, &args).0, 0, "and the run can go on from it");
    assert_eq!(summary(&folder.join("o"))["iterations"], 40);
}

#[test]
fn a_reader_that_has_gone_ends_the_command_without_a_panic() {
    use std::os::unix::process::ExitStatusExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cube.su2"), cube(2)).unwrap();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let child = Command::new(env!("CARGO_BIN_EXE_chromaflow"))
        .args(["mesh", "info", "cube.su2"])
        .current_dir(folder.path())
        .stdout(writer)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(output.status.signal(), Some(13), "SIGPIPE, as of any other tool: {:?}", output.status);
}
