//! `cargo xtask release`: what is given to users who build nothing: a tarball and a Debian package with the command, the C library,
//! headers, manual pages and completions, and a wheel for Python. Each is tried where nothing else is.

use crate::doors::install;
use crate::run;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

type Result<T> = std::result::Result<T, String>;

const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Where completions lie in Debian.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/chromaflow"),
    ("zsh", "share/zsh/vendor-completions/_chromaflow"),
    ("fish", "share/fish/vendor_completions.d/chromaflow.fish"),
];

/// Devices whose kernels the command brings along.
const ARCHITECTURES: &str = "sm_80,sm_90,sm_100";

/// `cargo xtask release [DIR] [--arch sm_90,...|none]`: builds all, puts the packages into a folder (`target/packages` unless given) and tries
/// them.
pub fn release(args: &[String]) -> Result<()> {
    let (to, architectures) = match args {
        [] => (None, ARCHITECTURES),
        [word, arch] if word == "--arch" => (None, arch.as_str()),
        [to] if !to.starts_with("--") => (Some(to), ARCHITECTURES),
        [to, word, arch] if word == "--arch" => (Some(to), arch.as_str()),
        _ => return Err("usage: cargo xtask release [DIR] [--arch sm_90,...|none]".to_owned()),
    };
    let to = to.map_or_else(|| install::target().join("packages"), PathBuf::from);
    let to = std::path::absolute(&to).map_err(|e| format!("{}: {e}", to.display()))?;
    let root = to.join("root");
    if root.exists() {
        fs::remove_dir_all(&root).map_err(|e| format!("{}: {e}", root.display()))?;
    }
    build(None)?;
    if architectures != "none"
        && let Some(pack) = kernels(architectures)?
    {
        build(Some(&pack))?;
    }
    stage(&root.join("usr"))?;
    let tarball = to.join(format!("chromaflow-{VERSION}-{}-linux.tar.gz", std::env::consts::ARCH));
    let (from, text) = (root.join("usr").display().to_string(), tarball.display().to_string());
    run::program(
        "tar",
        &["--create", "--gzip", "--owner=0", "--group=0", "--file", &text, "--directory", &from, "."],
    )?;
    let mut made = vec![tarball.clone()];
    if run::there("dpkg-deb") {
        made.push(debian(&root, &to)?);
    } else {
        println!("no Debian package: there is no dpkg-deb here");
    }
    try_in_an_empty_root(&to, &tarball)?;
    made.extend(wheel(&to)?);
    for file in made {
        let bytes = fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?.len();
        println!("{}: {:.1} MB", file.display(), bytes as f64 / 1e6);
    }
    Ok(())
}

/// Builds the programs, with a pack of kernels in the command. Always the same packages: what is built alone has other features.
fn build(pack: Option<&Path>) -> Result<()> {
    let mut cargo = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.args(["build", "--release", "--package", "chromaflow-cli", "--package", "chromaflow-capi"]);
    cargo.args(["--package", "chromaflow-bench"]).current_dir(run::root());
    cargo.envs(pack.map(|pack| ("CHROMAFLOW_KERNELS", pack)));
    match cargo.status() {
        Ok(status) if status.success() => Ok(()),
        ended => Err(format!("the release was not built: {ended:?}")),
    }
}

/// A pack of GPU kernels for these devices, by NVRTC from PyPI: a first run on a GPU then compiles nothing. None where it is not to be had.
fn kernels(architectures: &str) -> Result<Option<PathBuf>> {
    let nvrtc = install::target().join("nvrtc");
    let place = nvrtc.display().to_string();
    let words = [
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--upgrade",
        "--target",
        &place,
        "nvidia-cuda-nvrtc==13.0.*",
    ];
    if run::program("python3", &words).is_err() {
        println!(
            "no GPU kernels in the command, which compiles them at first use: nvidia-cuda-nvrtc could not be installed"
        );
        return Ok(None);
    }
    let (program, pack) =
        (install::target().join("release/chromaflow-kernels"), install::target().join("kernels.pack"));
    let mut compile = Command::new(&program);
    compile
        .args(["--arch", architectures, "--pack"])
        .arg(&pack)
        .env("LD_LIBRARY_PATH", nvrtc.join("nvidia/cu13/lib"));
    match compile.status() {
        Ok(status) if status.success() => Ok(Some(pack)),
        ended => Err(format!("{}: {ended:?}", program.display())),
    }
}

/// All files below a prefix.
fn stage(prefix: &Path) -> Result<()> {
    let root = run::root();
    let program = prefix.join("bin/chromaflow");
    install::install(prefix, "release")?;
    // Programs find library and headers wherever the package is unpacked.
    let pc = prefix.join("lib/pkgconfig/chromaflow.pc");
    let text = fs::read_to_string(&pc).map_err(|e| format!("{}: {e}", pc.display()))?;
    let movable = text.replacen(&prefix.display().to_string(), "${pcfiledir}/../..", 1);
    write(&pc, movable.as_bytes())?;
    copy(&install::target().join("release/chromaflow"), &program)?;
    for file in [&program, &prefix.join("lib/libchromaflow.so.1")] {
        if !Command::new("strip").arg("--strip-unneeded").arg(file).status().is_ok_and(|s| s.success()) {
            println!("{} is larger than need be: no program `strip`", file.display());
        }
    }
    for file in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "CHANGELOG.md"] {
        copy(&root.join(file), &prefix.join("share/doc/chromaflow").join(file))?;
    }
    let pages = prefix.join("share/man/man1");
    output(Command::new(&program).arg("man").arg(&pages))?;
    for (shell, place) in COMPLETIONS {
        let text = output(Command::new(&program).args(["completions", shell]))?;
        write(&prefix.join(place), text.as_bytes())?;
    }
    Ok(())
}

/// A Debian package of what is staged.
fn debian(root: &Path, to: &Path) -> Result<PathBuf> {
    let arch = output(Command::new("dpkg").arg("--print-architecture"))?;
    let arch = arch.trim();
    let control = format!(
        "Package: chromaflow\nVersion: {VERSION}\nArchitecture: {arch}\nMaintainer: The Chromaflow authors <chromaflow@users.noreply.github.com>\n\
         Depends: libc6, libgcc-s1\nSection: science\nPriority: optional\nHomepage: {}\n\
         Description: {}\n Flow cases and linear systems by a command, and the block-sparse solvers as a library for C, C++ and Fortran.\n",
        env!("CARGO_PKG_REPOSITORY"),
        env!("CARGO_PKG_DESCRIPTION"),
    );
    write(&root.join("DEBIAN/control"), control.as_bytes())?;
    let package = to.join(format!("chromaflow_{VERSION}_{arch}.deb"));
    let (from, text) = (root.display().to_string(), package.display().to_string());
    run::program("dpkg-deb", &["--root-owner-group", "--build", &from, &text])?;
    run::program("dpkg-deb", &["--info", &text, "control"])?;
    Ok(package)
}

/// Unpacks the tarball where there is nothing but the system's C library and runs what is in it: the command on a case that it makes
/// itself, and a C program built against the unpacked headers.
fn try_in_an_empty_root(to: &Path, tarball: &Path) -> Result<()> {
    let empty = to.join("empty");
    if empty.exists() {
        fs::remove_dir_all(&empty).map_err(|e| format!("{}: {e}", empty.display()))?;
    }
    fs::create_dir_all(empty.join("tmp")).map_err(|e| format!("{}: {e}", empty.display()))?;
    let usr = empty.join("usr");
    fs::create_dir_all(&usr).map_err(|e| format!("{}: {e}", usr.display()))?;
    let (text, into) = (tarball.display().to_string(), usr.display().to_string());
    run::program("tar", &["--extract", "--gzip", "--file", &text, "--directory", &into])?;
    let pages = ["chromaflow.1", "chromaflow-run.1"].map(|page| usr.join("share/man/man1").join(page));
    for file in pages.into_iter().chain(COMPLETIONS.map(|c| usr.join(c.1))) {
        let bytes = fs::metadata(&file).map_err(|e| format!("{}: {e}", file.display()))?.len();
        if bytes < 300 {
            return Err(format!("{} has {bytes} bytes", file.display()));
        }
    }
    let program = empty.join("tmp/implicit");
    let flags = output(
        Command::new("pkg-config")
            .args(["--cflags", "--libs", "chromaflow"])
            .env("PKG_CONFIG_PATH", usr.join("lib/pkgconfig")),
    )?;
    let mut words = vec!["-std=c99", "-O1", "examples/implicit.c", "-o"];
    let place = program.display().to_string();
    words.push(&place);
    words.extend(flags.split_whitespace());
    run::program("gcc", &words)?;
    for file in [usr.join("bin/chromaflow"), program] {
        for library in libraries(&file)? {
            let inside = empty.join(library.strip_prefix("/").unwrap_or(&library));
            if !inside.exists() && !library.starts_with(&usr) {
                copy(&library, &inside)?;
            }
        }
    }
    let said = inside(&empty, "/tmp/implicit", &[])?;
    if said.lines().count() != 3 {
        return Err(format!("the C example printed `{said}`"));
    }
    inside(&empty, "/usr/bin/chromaflow", &["--version"])?;
    inside(&empty, "/usr/bin/chromaflow", &["template", "wing", "/tmp/wing"])?;
    // One iteration reads the mesh, solves and writes every file; it ends short of the residual that the case asks for.
    let words = [
        "--quiet",
        "--threads",
        "1",
        "run",
        "/tmp/wing/case.toml",
        "--set",
        "march.iterations=1",
        "--out",
        "/tmp/out",
    ];
    let ended = chroot(&empty, "/usr/bin/chromaflow", &words).output().map_err(|e| e.to_string())?;
    let written = empty.join("tmp/out/volume.vtu").exists() && empty.join("tmp/out/convergence.svg").exists();
    if !written || !ended.stderr.is_empty() {
        return Err(format!(
            "the case ended with {}: {}",
            ended.status,
            String::from_utf8_lossy(&ended.stderr)
        ));
    }
    println!("in an empty root: the command, a case and a C program are good");
    fs::remove_dir_all(&empty).map_err(|e| format!("{}: {e}", empty.display()))
}

/// The shared libraries that a program needs, the loader among them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>> {
    let folder = program.ancestors().find(|f| f.join("usr/lib").exists()).map(|f| f.join("usr/lib"));
    let said = output(Command::new("ldd").arg(program).env("LD_LIBRARY_PATH", folder.unwrap_or_default()))?;
    Ok(said.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

/// A command whose root is this folder; where users may not do that themselves, in a user namespace.
fn chroot(root: &Path, program: &str, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--root"]).arg(root).arg(program).args(words);
    command.env_clear().env("PATH", "/usr/bin:/usr/sbin:/bin:/sbin").env("LD_LIBRARY_PATH", "/usr/lib");
    command
}

fn inside(root: &Path, program: &str, words: &[&str]) -> Result<String> {
    println!("$ {program} {} (in an empty root)", words.join(" "));
    output(&mut chroot(root, program, words))
}

/// The wheel, by maturin where it is, tried in an environment of its own.
fn wheel(to: &Path) -> Result<Option<PathBuf>> {
    if !run::there("maturin") {
        println!("no wheel: there is no maturin here (pip install maturin)");
        return Ok(None);
    }
    let (folder, venv) = (to.join("wheels"), to.join("venv"));
    let _ = fs::remove_dir_all(&folder);
    let text = folder.display().to_string();
    run::program(
        "maturin",
        &["build", "--release", "--out", &text, "--manifest-path", "crates/chromaflow-python/Cargo.toml"],
    )?;
    let made =
        fs::read_dir(&folder).ok().and_then(|mut files| files.next()?.ok()).ok_or("maturin made no wheel")?;
    let (venv, made) = (venv.display().to_string(), made.path());
    run::program("python3", &["-m", "venv", "--clear", &venv])?;
    let (pip, python) = (format!("{venv}/bin/pip"), format!("{venv}/bin/python"));
    run::program(&pip, &["install", "--quiet", &made.display().to_string(), "scipy"])?;
    run::program(&python, &["examples/implicit.py"])?;
    Ok(Some(made))
}

fn output(command: &mut Command) -> Result<String> {
    let ended = command.current_dir(run::root()).output().map_err(|e| format!("{command:?}: {e}"))?;
    if ended.status.success() {
        return Ok(String::from_utf8_lossy(&ended.stdout).into_owned());
    }
    Err(format!("{command:?}: {}: {}", ended.status, String::from_utf8_lossy(&ended.stderr)))
}

fn write(to: &Path, bytes: &[u8]) -> Result<()> {
    let parent = to.parent().unwrap_or(to);
    fs::create_dir_all(parent).map_err(|e| format!("{}: {e}", parent.display()))?;
    fs::write(to, bytes).map_err(|e| format!("{}: {e}", to.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().unwrap_or(to)).map_err(|e| format!("{}: {e}", to.display()))?;
    fs::copy(from, to).map(drop).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}
