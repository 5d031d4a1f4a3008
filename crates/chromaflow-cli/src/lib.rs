//! The `chromaflow` command: flow cases, matrices, meshes, benchmarks and plots from one binary.
//!
//! Each subcommand is one file (or folder) with an `Args` struct and `fn run(args: &Args, ctx: &Context) -> CliResult`.
//! A subcommand returns [`Done`]; the exit status follows from that or from the [`CliError`].
#![deny(unsafe_code)]

pub mod bench;
pub mod case;
pub mod cite;
pub mod context;
pub mod doctor;
pub mod error;
pub mod mesh;
mod numbers;
pub mod plot;
pub mod report;
pub mod run;
pub mod shell;
pub mod solve;
pub mod start;
pub mod sweep;
pub mod watch;

use clap::{CommandFactory, Parser, Subcommand};
use context::{Context, GlobalArgs};
use error::{CliError, CliResult, Done};
use std::process::ExitCode;

/// Implicit computational fluid dynamics: multicolor block solvers and the flow solvers around them.
#[derive(Parser)]
#[command(
    name = "chromaflow",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    max_term_width = 110
)]
#[command(
    after_help = "Exit status: 0 done; 1 a numerical outcome short of what was asked; 2 bad usage or input; \
                        3 the environment (disk, memory, device)."
)]
struct Cli {
    #[command(flatten)]
    global: GlobalArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run a flow case: from a mesh to forces and fields
    Run(Box<run::Args>),
    /// Write a case for a mesh, with conditions and reference values guessed from it
    New(start::new::Args),
    /// Make a folder with a mesh and a case that can be run
    Template(start::template::Args),
    /// Run a case over values of one key: polars
    Sweep(sweep::Args),
    /// Watch a run while it runs, and steer it
    Watch(watch::Args),
    /// Solve a linear system read from a matrix file
    Solve(Box<solve::Args>),
    /// Look at, convert, refine, check or make meshes
    Mesh(mesh::Args),
    /// Measure the solvers on this machine
    Bench(Box<bench::Args>),
    /// Draw convergence, forces and pressure from the files of a run
    Plot(plot::Args),
    /// Make one HTML page of a run: convergence, forces, Cp, the surface; of several runs side by side
    Report(report::Args),
    /// Say what this machine offers: cores, SIMD, bandwidth, memory, GPU
    Doctor(doctor::Args),
    /// Print the references of what a case uses
    Cite(cite::Args),
    /// Print what a shell needs to complete these words
    Completions(shell::CompletionsArgs),
    /// Write manual pages
    Man(shell::ManArgs),
}

/// Machine code of GPU kernels that the program was built with.
#[cfg(kernels)]
static KERNELS: &[u8] = include_bytes!(env!("CHROMAFLOW_KERNEL_PACK"));

/// Parses the process's arguments, does what they ask, and returns the exit status.
pub fn main() -> ExitCode {
    #[cfg(kernels)]
    chromaflow_device::cuda::ship(KERNELS);
    sigpipe::reset(); // `chromaflow mesh info FILE | head` ends quietly, as other tools do
    let cli = Cli::parse(); // exits with status 2 on bad usage
    exit(dispatch(cli))
}

/// The exit status of a command; its error goes to standard error.
pub fn exit(result: CliResult) -> ExitCode {
    match result {
        Ok(Done::Success) => ExitCode::SUCCESS,
        Ok(Done::Short) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(error.status())
        }
    }
}

impl Command {
    /// Its name, and the global options that it has no use for.
    fn idle(&self) -> (&'static str, &'static [&'static str]) {
        match self {
            Command::Mesh(_) => ("mesh", &["--backend", "--threads"]),
            Command::Template(_) => ("template", &["--backend", "--threads"]),
            Command::Watch(_) => ("watch", &["--backend", "--threads", "--json"]),
            Command::Report(_) => ("report", &["--backend", "--threads", "--json"]),
            Command::Plot(_) => ("plot", &["--backend", "--threads", "--json"]),
            Command::Cite(_) => ("cite", &["--backend", "--threads"]),
            Command::Completions(_) => ("completions", &["--backend", "--threads", "--json"]),
            Command::Man(_) => ("man", &["--backend", "--threads", "--json"]),
            // What a script gives all commands does no harm here.
            Command::New(_)
            | Command::Run(_)
            | Command::Sweep(_)
            | Command::Solve(_)
            | Command::Bench(_)
            | Command::Doctor(_) => ("", &[]),
        }
    }
}

fn dispatch(cli: Cli) -> CliResult {
    let (name, idle) = cli.command.idle();
    if let Some(option) = cli.global.given().into_iter().find(|o| idle.contains(o)) {
        return Err(CliError::input(format!("`chromaflow {name}` does not use {option}: leave it out")));
    }
    let ctx = match &cli.command {
        // Ranks take a GPU each.
        Command::Run(args) if args.is_over_ranks() => Context::without_gpu(cli.global)?,
        Command::Bench(args) if args.takes_its_gpus() => Context::without_gpu(cli.global)?,
        Command::New(_) => Context::without_gpu(cli.global)?,
        _ => Context::new(cli.global)?,
    };
    match &cli.command {
        Command::Run(args) => run::run(args, &ctx),
        Command::New(args) => start::new::run(args, &ctx),
        Command::Template(args) => start::template::run(args, &ctx),
        Command::Sweep(args) => sweep::run(args, &ctx),
        Command::Watch(args) => watch::run(args, &ctx),
        Command::Solve(args) => solve::run(args, &ctx),
        Command::Mesh(args) => mesh::run(args, &ctx),
        Command::Bench(args) => bench::run(args, &ctx),
        Command::Plot(args) => plot::run(args, &ctx),
        Command::Report(args) => report::run(args, &ctx),
        Command::Doctor(args) => doctor::run(args, &ctx),
        Command::Cite(args) => cite::run(args, &ctx),
        Command::Completions(args) => shell::completions(args, Cli::command()),
        Command::Man(args) => shell::man(args, Cli::command()),
    }
}

#[cfg(test)]
mod tests {
    use super::Cli;
    use clap::Parser;
    use std::path::Path;

    /// Words of a line of a shell, up to a comment, a pipe, another command.
    fn words(line: &str) -> Vec<String> {
        let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
        for c in line.chars() {
            match (quote, c) {
                (Some(q), _) if c == q => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None, '#') if word.is_empty() => break,
                (None, '|' | ';' | '&' | '>') => break,
                (None, ' ') => words.push(std::mem::take(&mut word)),
                _ => word.push(c),
            }
        }
        words.push(word);
        words.retain(|w| !w.is_empty());
        words
    }

    /// Commands in the blocks of code and the spans of a page.
    fn commands(text: &str) -> Vec<String> {
        let (mut found, mut block) = (Vec::new(), false);
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                block = !block;
            } else if block || line.starts_with("    ") {
                found.push(line.trim().to_owned());
            } else {
                found.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
            }
        }
        let release = "cargo run --release -- ";
        let own = found
            .into_iter()
            .map(|c| c.strip_prefix(release).map_or(c.clone(), |c| format!("chromaflow {c}")));
        // Variables of a shell and letters for numbers stand for what a reader puts in.
        let open = |c: &str| ["...", "[", "$", "I,J,K"].iter().any(|mark| c.contains(mark));
        own.filter(|c| c.starts_with("chromaflow ") && !open(c)).collect()
    }

    #[test]
    fn the_commands_of_all_pages_are_understood() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = vec![root.join("README.md")];
        pages.extend(std::fs::read_dir(root.join("docs/src")).unwrap().map(|e| e.unwrap().path()));
        let mut count = 0;
        for page in pages.iter().filter(|p| p.extension().is_some_and(|e| e == "md")) {
            for command in commands(&std::fs::read_to_string(page).unwrap()) {
                let words = words(&command);
                // A span that names a subcommand is no command line.
                let only_named = words.len() <= 2 || words[1] == "mesh" && words.len() == 3;
                if let Err(error) = Cli::try_parse_from(&words)
                    && !only_named
                {
                    assert!(!error.use_stderr(), "{}: {command}\n{error}", page.display());
                }
                count += usize::from(!only_named);
            }
        }
        assert!(count > 40, "{count} commands");
    }
}
