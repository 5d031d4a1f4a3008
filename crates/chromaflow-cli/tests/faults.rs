//! Ranks that do not belong together: each says what is wrong and what to do, with status 3, before anything is computed.
#![cfg(target_os = "linux")]

mod common;

use common::{CASE, chromaflow, cube, launched, launcher, launchers};
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Status and words of two ranks, the first run in folder `a` of this one, the second in `b`, where hosts would be two.
fn apart(mpirun: &Path, folder: &Path, args: &str) -> (Option<i32>, String) {
    let mut command = launcher(mpirun, folder);
    for (at, name) in ["a", "b"].into_iter().enumerate() {
        if at > 0 {
            command.arg(":");
        }
        let run = format!("cd {name} && exec {} -q run {args}", env!("CARGO_BIN_EXE_chromaflow"));
        command.args(["-n", "1", "sh", "-c", &run]);
    }
    let done = command.output().unwrap();
    (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
}

fn write(folder: &Path, name: &str, text: &str) {
    for of in ["a", "b"] {
        std::fs::create_dir_all(folder.join(of)).unwrap();
        std::fs::write(folder.join(of).join(name), text).unwrap();
    }
}

#[test]
fn ranks_with_other_cases_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "cube.su2", &cube(3));
    write(folder, "case.toml", CASE);
    for mpirun in launchers() {
        let (status, said) = apart(&mpirun, folder, "case.toml --threads 1");
        assert_eq!(status, Some(0), "{}: {said}", mpirun.display());
    }
    std::fs::write(folder.join("b/case.toml"), CASE.replace("mach = 0.5", "mach = 0.6")).unwrap();
    for mpirun in launchers() {
        let (status, said) = apart(&mpirun, folder, "case.toml --threads 1");
        assert_eq!(status, Some(3), "{}: {said}", mpirun.display());
        let words = "reads another case file than rank 0: case.toml differs between hosts";
        assert!(said.contains("rank 1 (host ") && said.contains(words), "{}: {said}", mpirun.display());
    }
}

/// Meshes that all ranks read, by slices; of a mesh that rank 0 reads whole, others need no file.
#[test]
fn ranks_with_other_meshes_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "case.toml", CASE);
    std::fs::write(folder.join("a/cube.su2"), cube(3)).unwrap();
    let sliced = "case.toml --threads 1 --set mesh.reading=slices --set output.pieces=true";
    for mpirun in launchers() {
        let (status, said) = apart(&mpirun, folder, "case.toml --threads 1");
        assert_eq!(status, Some(0), "{}: {said}", mpirun.display());
        for other in [None, Some(cube(4))] {
            match &other {
                Some(mesh) => std::fs::write(folder.join("b/cube.su2"), mesh).unwrap(),
                None => drop(std::fs::remove_file(folder.join("b/cube.su2"))),
            }
            let (status, said) = apart(&mpirun, folder, sliced);
            assert_eq!(status, Some(3), "{}: {said}", mpirun.display());
            let words = "rank 1 has another mesh than rank 0: the mesh of case.toml differs between hosts";
            assert!(said.contains(words), "{}: {said}", mpirun.display());
        }
        std::fs::remove_file(folder.join("b/cube.su2")).unwrap();
    }
}

/// Two blocks side by side, as Plot3D text, `height` high.
fn two_blocks(height: f64) -> String {
    let mut text = "2\n3 3 3\n3 3 3\n".to_owned();
    for block in 0..2 {
        for c in 0..3 {
            for (k, j, i) in (0..27).map(|at| (at / 9, at / 3 % 3, at % 3)) {
                let x = [0.5 * i as f64 + f64::from(block), 0.5 * j as f64, 0.5 * height * k as f64][c];
                let _ = write!(text, "{x:?} ");
            }
            text.push('\n');
        }
    }
    text
}

#[test]
fn ranks_with_other_grids_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write(folder, "g.p3d", &two_blocks(1.0));
    for (of, args) in
        ["a", "b"].into_iter().flat_map(|of| [(of, &["mesh", "nmf", "g.p3d"][..]), (of, &["new", "g.p3d"])])
    {
        let (status, _, said) = chromaflow(&folder.join(of), args);
        assert_eq!(status, 0, "{said}");
    }
    let case = std::fs::read_to_string(folder.join("a/g.toml")).unwrap().replace("[mesh]", "[grid]");
    write(folder, "g.toml", &case);
    std::fs::write(folder.join("b/g.p3d"), two_blocks(1.001)).unwrap();
    for mpirun in launchers() {
        let (status, said) = apart(&mpirun, folder, "g.toml --threads 1");
        assert_eq!(status, Some(3), "{}: {said}", mpirun.display());
        let words = "rank 1 has another grid than rank 0: the grid of g.toml differs between hosts";
        assert!(said.contains(words), "{}: {said}", mpirun.display());
    }
}

/// A library of an MPI that is not the launcher's; one that is not there.
#[test]
fn libraries_of_other_launchers_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    std::fs::write(folder.join("cube.su2"), cube(3)).unwrap();
    std::fs::write(folder.join("case.toml"), CASE).unwrap();
    let all = launchers();
    // Each with the libraries beside it.
    let beside = |mpirun: &Path| {
        let root = std::fs::canonicalize(mpirun).ok()?.parent()?.parent()?.to_owned();
        let names = ["libmpi.so.40", "libmpi.so.12", "libmpi.so.80"];
        names.into_iter().map(|name| root.join("lib").join(name)).find(|path| path.exists())
    };
    let of = |mpirun: &Path, library: &Path| {
        let mut command: Command = launched(mpirun, 2, folder);
        command.args(["-q", "run", "case.toml", "--threads", "1"]).env("CHROMAFLOW_MPI", library);
        let done = command.output().unwrap();
        (done.status.code(), String::from_utf8_lossy(&done.stderr).into_owned())
    };
    let family = |library: &Path| library.extension().map(std::ffi::OsStr::to_owned);
    for mpirun in &all {
        let (status, said) = of(mpirun, Path::new("/none/libmpi.so.40"));
        assert_eq!(status, Some(3), "{}: {said}", mpirun.display());
        assert!(said.contains("CHROMAFLOW_MPI names /none/libmpi.so.40, which cannot be opened"), "{said}");
        let Some(own) = beside(mpirun) else { continue };
        for other in
            all.iter().filter_map(|other| beside(other)).filter(|other| family(other) != family(&own))
        {
            let (status, said) = of(mpirun, &other);
            if said.contains("Internal MPI error") {
                // MPICH under a launcher of PMIx ends by itself, as it begins.
                assert_ne!(status, Some(0), "{said}");
                continue;
            }
            assert_eq!(status, Some(3), "{} with {}: {said}", mpirun.display(), other.display());
            let words =
                format!("mpirun started 2 ranks, but {} sees 1: they belong to two MPIs", other.display());
            assert!(said.contains(&words), "{said}");
        }
    }
}
