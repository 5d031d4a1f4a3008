//! `cargo xtask doors`: the example of every door to other languages, built against an installed library and run.
//!
//! It prints a line for each, beginning with its name and ending in `good` or in what failed, and installs what it
//! needs: compilers by apt-get where it may, Python packages into an environment of its own. All else that is said
//! goes to `target/doors/NAME.log`.

pub mod install;

use crate::run;
use chromaflow_testkit::required;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the examples are built with and where.
struct Doors {
    /// Everything that is made.
    work: PathBuf,
    /// The installed library.
    prefix: PathBuf,
}

/// A door's commands; their output goes to its log.
struct Door<'a> {
    doors: &'a Doors,
    log: PathBuf,
    /// The command that runs flow cases.
    program: Option<PathBuf>,
}

type Result<T> = std::result::Result<T, String>;

/// Builds and runs a door's example: what it prints.
type Build = fn(&mut Door<'_>) -> Result<String>;

/// How errors begin where a compiler or package is missing and cannot be had.
const MISSING: &str = "not to be had here: ";

/// `cargo xtask doors [--available]`: with the option a door whose compilers and packages are neither here nor can be installed is left
/// out, as tests are (unless CHROMAFLOW_REQUIRE names `doors`).
pub fn doors(args: &[String]) -> Result<()> {
    let may_lack = match args {
        [] => false,
        [word] if word == "--available" => !required("doors"),
        _ => return Err("usage: cargo xtask doors [--available]".to_owned()),
    };
    let work = install::target().join("doors");
    fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let doors = Doors { prefix: work.join("prefix"), work };
    let library = doors.library();
    let all: [(&str, Build); 5] =
        [("c", c), ("cpp", cpp), ("fortran", fortran), ("python", python), ("petsc", petsc)];
    let mut expected = None;
    let mut failed = false;
    for (name, door) in all {
        let result = library.clone().and_then(|()| door(&mut doors.door(name)?));
        // PETSc iterates by a method of its own: it is compared with itself.
        let result = result.and_then(|said| match name {
            "petsc" => Ok(()),
            _ => compare(name, &said, &mut expected),
        });
        let said = result.map_or_else(|e| e.replace('\n', " "), |()| "good".to_owned());
        let left_out = may_lack && said.starts_with(MISSING);
        failed |= said != "good" && !left_out;
        println!("{name}: {}{said}", if left_out { "skipped, " } else { "" });
    }
    if failed { Err(String::new()) } else { Ok(()) }
}

impl Doors {
    /// Builds and installs the library.
    fn library(&self) -> Result<()> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        // With all libraries, the Python package among them, and with examples, as tests are: what all stand on then has the same features,
        // and is built once.
        let words = ["build", "--workspace", "--lib", "--examples"];
        self.door("library")?.run(&cargo, &words)?;
        install::install(&self.prefix, "debug")
    }

    fn door(&self, name: &str) -> Result<Door<'_>> {
        let log = self.work.join(format!("{name}.log"));
        File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
        Ok(Door { doors: self, log, program: None })
    }
}

/// All examples solve one system: iterations and the last bit of the solution agree.
fn compare(name: &str, said: &str, expected: &mut Option<(String, String)>) -> Result<()> {
    let said = said.replace('E', "e").trim().to_owned();
    let (first, wanted) = expected.get_or_insert_with(|| (name.to_owned(), said.clone()));
    if *wanted == said && said.lines().count() == 3 {
        return Ok(());
    }
    Err(format!("printed `{said}`, but {first} printed `{wanted}`"))
}

impl Door<'_> {
    /// Runs a program from the repository's root; what it prints to standard output.
    fn run(&self, program: &str, args: &[&str]) -> Result<String> {
        let prefix = &self.doors.prefix;
        let log = |e: std::io::Error| format!("{}: {e}", self.log.display());
        let errors = File::options().append(true).open(&self.log).map_err(log)?;
        let mut command = Command::new(program);
        command.args(args).current_dir(run::root()).stderr(errors);
        command
            .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig"))
            .env("LD_LIBRARY_PATH", prefix.join("lib"));
        command.env("CMAKE_PREFIX_PATH", prefix);
        // Open MPI refuses to start programs of the root user, which is who runs tests in containers.
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        if let Some(program) = &self.program {
            command.env("CHROMAFLOW_PROGRAM", program);
        }
        command.env_remove("CHROMAFLOW_OPTIONS");
        let output = command.output().map_err(|e| format!("cannot start {program}: {e}"))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        fs::write(self.log.with_extension("out"), &said).map_err(log)?;
        if output.status.success() {
            return Ok(said);
        }
        let words = args.iter().take(3).copied().collect::<Vec<_>>().join(" ");
        Err(format!("{} {words} failed ({}): see {}", name_of(program), output.status, self.log.display()))
    }

    /// Has a program, from this Debian package where it is missing.
    fn need(&self, program: &str, package: &str) -> Result<()> {
        if run::there(program) {
            return Ok(());
        }
        self.packages(&[package])
    }

    /// Installs Debian packages.
    fn packages(&self, packages: &[&str]) -> Result<()> {
        if !run::there("apt-get") {
            return Err(format!("{MISSING}{} (there is no apt-get)", packages.join(" ")));
        }
        let words = [&["install", "--yes", "--no-install-recommends"], packages].concat();
        let installed = self.run("apt-get", &["update"]).and_then(|_| self.run("apt-get", &words));
        installed.map(drop).map_err(|why| format!("{MISSING}{} ({why})", packages.join(" ")))
    }

    fn path(&self, inside: &str) -> String {
        self.doors.work.join(inside).display().to_string()
    }
}

fn name_of(program: &str) -> &str {
    Path::new(program).file_name().and_then(|n| n.to_str()).unwrap_or(program)
}

fn c(door: &mut Door<'_>) -> Result<String> {
    door.need("gcc", "gcc")?;
    door.need("pkg-config", "pkg-config")?;
    // Under it the interface's tests run every misuse, where it is there: the example does without.
    let _ = door.need("valgrind", "valgrind");
    let flags = door.run("pkg-config", &["--cflags", "--libs", "chromaflow"])?;
    let program = door.path("implicit_c");
    let mut words = vec![
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
        "-O2",
        "examples/implicit.c",
        "-o",
        &program,
    ];
    words.extend(flags.split_whitespace());
    door.run("gcc", &words)?;
    door.run(&program, &[])
}

/// Builds a target of the examples' CMake project.
fn cmake(door: &Door<'_>, target: &str) -> Result<String> {
    door.need("cmake", "cmake")?;
    door.need("make", "make")?;
    door.need("g++", "g++")?;
    door.need("gfortran", "gfortran")?;
    let folder = door.path("cmake");
    door.run("cmake", &["-S", "examples", "-B", &folder])?;
    door.run("cmake", &["--build", &folder, "--target", target])?;
    door.run(&format!("{folder}/{target}"), &[])
}

fn cpp(door: &mut Door<'_>) -> Result<String> {
    cmake(door, "implicit_cpp")
}

/// The example, and a flow code that looks at its own order of accuracy.
fn fortran(door: &mut Door<'_>) -> Result<String> {
    cmake(door, "euler")?;
    cmake(door, "implicit_fortran")
}

/// The command that runs flow cases: one that has been built, else a debug build, the one that tests run: a build of its package alone has
/// other features, and would compile all of it once more.
fn command(door: &Door<'_>) -> Result<PathBuf> {
    let built =
        |profile: &str| Some(install::target().join(profile).join("chromaflow")).filter(|p| p.exists());
    if let Some(program) = built("release").or_else(|| built("debug")) {
        return Ok(program);
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    door.run(&cargo, &["build", "--workspace", "--examples", "--bin", "chromaflow"])?;
    built("debug").ok_or_else(|| "cargo has built no chromaflow".to_owned())
}

/// The package, as its wheel lays it out, in an environment of its own: of the library that all doors stand on, since the wheel's own build, which
/// `cargo xtask release` makes and tries, has other features and would compile it all once more.
fn python(door: &mut Door<'_>) -> Result<String> {
    let venv = door.path("venv");
    let bin = |name: &str| format!("{venv}/bin/{name}");
    if !run::there(&bin("pip")) {
        if door.run("python3", &["-m", "venv", &venv]).is_err() {
            door.packages(&["python3", "python3-venv"])?;
            door.run("python3", &["-m", "venv", &venv])?;
        }
        let packages = ["numpy", "scipy", "pytest"];
        let installed = door.run(&bin("pip"), &[&["install", "--quiet"], &packages[..]].concat());
        installed.map_err(|why| {
            let _ = fs::remove_dir_all(&venv); // so that the next time tries again
            format!("{MISSING}{} ({why})", packages.join(", "))
        })?;
    }
    let site = door.run(&bin("python"), &["-c", "import sysconfig; print(sysconfig.get_path('purelib'))"])?;
    package(&Path::new(site.trim()).join("chromaflow"))?;
    door.program = Some(command(door)?);
    door.run(
        &bin("python"),
        &["-m", "pytest", "-q", "-p", "no:cacheprovider", "crates/chromaflow-python/tests"],
    )?;
    if door.need("valgrind", "valgrind").is_ok() {
        misuse_under_valgrind(door, &bin("python"))?;
    }
    door.run(&bin("python"), &["examples/implicit.py"])
}

/// Puts the Python package with its extension module into a folder.
fn package(to: &Path) -> Result<()> {
    let _ = fs::remove_dir_all(to);
    fs::create_dir_all(to).map_err(|e| format!("{}: {e}", to.display()))?;
    let sources = run::root().join("crates/chromaflow-python/python/chromaflow");
    let listed = fs::read_dir(&sources).map_err(|e| format!("{}: {e}", sources.display()))?;
    for entry in listed.filter_map(|entry| Some(entry.ok()?.path()).filter(|path| path.is_file())) {
        install::copy(&entry, &to.join(entry.file_name().unwrap_or_default()))?;
    }
    install::copy(&install::target().join("debug/lib_chromaflow.so"), &to.join("_chromaflow.abi3.so"))
}

/// What goes wrong in Python, and what several threads do: no byte out of place. Values that are not set are not looked for: NumPy and the
/// interpreter read such.
fn misuse_under_valgrind(door: &Door<'_>, python: &str) -> Result<String> {
    let tests = "crates/chromaflow-python/tests";
    let suppressions = format!("--suppressions={tests}/valgrind.supp");
    let file = format!("{tests}/test_chromaflow.py");
    let mut words = vec![
        "PYTHONMALLOC=malloc",
        "valgrind",
        "--quiet",
        "--undef-value-errors=no",
        "--error-exitcode=9",
        &suppressions,
    ];
    words.extend([python, "-m", "pytest", "-q", "-p", "no:cacheprovider", &file]);
    words.extend(["-k", "misuse or other_forms or two_threads or several or dlpack"]);
    door.run("env", &words)
}

/// A program of PETSc's with its own block ILU(0) and with ours: the same iterations, the same solution. And, since MPI is here, a
/// program with a halo exchange of its own and one with global columns: the same on one rank and on two.
fn petsc(door: &mut Door<'_>) -> Result<String> {
    door.need("pkg-config", "pkg-config")?;
    if door.run("pkg-config", &["--exists", "PETSc"]).is_err() || !run::there("mpicc") {
        door.packages(&["libpetsc-real-dev", "petsc3.18-doc", "openmpi-bin"])?;
    }
    let flags = door.run("pkg-config", &["--cflags", "--libs", "chromaflow", "PETSc"])?;
    let (plugin, program) = (door.path("libpc_chromaflow.so"), door.path("implicit_petsc"));
    for (source, to, words) in [
        ("interop/petsc/pc_chromaflow.c", &plugin, &["-shared", "-fPIC"][..]),
        ("examples/implicit_petsc.c", &program, &[][..]),
    ] {
        let mut all = vec!["-O1", "-Wall", "-Wextra", "-Werror", source, "-o", to];
        all.extend(words.iter().copied().chain(flags.split_whitespace()));
        door.run("mpicc", &all)?;
    }
    for name in ["implicit_mpi", "implicit_global"] {
        let (ranks, source) = (door.path(name), format!("examples/{name}.c"));
        let mut words = vec!["-std=c11", "-O1", "-Wall", "-Wextra", "-Werror", &source, "-o", &ranks];
        words.extend(flags.split_whitespace());
        door.run("mpicc", &words)?;
        let on = |n: &str| door.run("mpirun", &["--oversubscribe", "-n", n, &ranks]);
        let (one, two) = (on("1")?, on("2")?);
        if one != two {
            return Err(format!("{name}: one rank printed `{one}`, two printed `{two}`"));
        }
    }
    let theirs = door.run(&program, &["-pc_type", "ilu"])?;
    let same = "preconditioner=ilu0, order=natural, policy=d";
    let ours =
        door.run(&program, &["-dll_append", &plugin, "-pc_type", "chromaflow", "-pc_chromaflow", same])?;
    if theirs == ours && ours.lines().count() == 3 {
        return Ok(ours);
    }
    Err(format!("printed `{ours}`, but with PETSc's own ILU it printed `{theirs}`"))
}
