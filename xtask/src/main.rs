//! The project's own commands: `cargo xtask test | check | bench | ...`; `cargo xtask` lists them.

mod book;
mod bundle;
mod cases;
mod commands;
mod cuda_format;
mod doors;
mod licences;
mod pictures;
mod release;
mod rooms;
mod run;
mod sizes;
mod test;
mod verify;

use std::process::ExitCode;

const USAGE: &str = "\
usage: cargo xtask COMMAND

  test [FILTER...]   format, lints, licences, documentation, all tests; arguments narrow the tests
  check              format (of CUDA text too), lints, direction of dependencies, sizes: what to run before a commit
  verify [CASE...]   every case against its stored values, as a table; --quick: those of a few seconds; --rest: of these
                     what `cargo xtask test` does not run; --ranks N: over N ranks, and says
                     which cases those do not compute
  commands [PAGE...] the commands that README and book show, run in folders of their own; says which are not run and why
  bench [ARGS...]    release build of the command, then `chromaflow bench ARGS`
  papers [ARGS...]   release build of what measures the papers' tables, then `chromaflow-papers ARGS`
  bundle [DIR]       release programs and GPU tests with a script that runs them on a machine with a GPU
  kernels [ARGS...]  every GPU kernel compiled by NVRTC without a GPU (--arch sm_90 --nb 1-8 --sweeps); spills are failures;
                     --pack FILE: for a build that brings them along, CHROMAFLOW_KERNELS=FILE
  doors              the example of every door to other languages, built and run; installs what it needs; --available: what cannot
                     be installed is left out
  install PREFIX     release build of the C library with headers, pkg-config and CMake files below PREFIX
  release [DIR]      tarball, Debian package and wheel, tried in an empty root; GPU kernels for sm_80, sm_90 and sm_100 among them, which
                     takes minutes (--arch sm_90: others; --arch none)
  pictures [NAME...] the pictures of the documentation, by the commands that they come from; says what it leaves out;
                     --program FILE, here and above: by that program, not by one built for it
  docs               the API documentation, and the book where mdbook is installed";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest = args.get(1..).unwrap_or_default();
    let result = match args.first().map(String::as_str) {
        Some("test") => test::test(rest),
        Some("check") => test::check(),
        Some("verify") => verify::verify(rest),
        Some("commands") => commands::commands(rest),
        Some("bench") => release("chromaflow-cli", &["bench"], rest),
        Some("papers") => release("chromaflow-bench", &[], rest),
        Some("bundle") => bundle::bundle(rest),
        Some("kernels") => kernels(rest),
        Some("pictures") => pictures::pictures(rest),
        Some("docs") => docs(),
        Some("doors") => doors::doors(rest),
        Some("install") => doors::install::command(rest),
        Some("release") => release::release(rest),
        _ => Err(USAGE.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

/// Builds what compiles kernels, with the features that all of the workspace has (so that the tests need not build the libraries
/// again), and runs it.
fn kernels(args: &[String]) -> Result<(), String> {
    // With examples, as tests are: what both stand on then has the same features, and is built once.
    run::cargo(&["build", "--quiet", "--workspace", "--examples", "--bin", "chromaflow-kernels"])?;
    let program = run::root().join("target/debug/chromaflow-kernels");
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    run::program(&program.to_string_lossy(), &words)
}

/// Builds a package's program for release and runs it.
fn release(package: &str, command: &[&str], args: &[String]) -> Result<(), String> {
    let mut words = vec!["run", "--release", "--quiet", "--package", package, "--"];
    words.extend(command.iter().copied().chain(args.iter().map(String::as_str)));
    run::cargo(&words)
}

fn docs() -> Result<(), String> {
    run::cargo(&["doc", "--workspace", "--no-deps"])?;
    if run::there("mdbook") {
        run::program("mdbook", &["build", "docs"])
    } else {
        println!("mdbook is not installed (cargo install mdbook); the book's pages are docs/src/*.md");
        Ok(())
    }
}
