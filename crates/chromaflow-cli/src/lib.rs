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

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
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
    let matches = command().get_matches(); // exits with status 2 on bad usage
    let cli = Cli::from_arg_matches(&matches).unwrap_or_else(|e| e.format(&mut command()).exit());
    let fit = refuse_idle(matches.subcommand_name().unwrap_or_default(), &cli.global);
    exit(fit.and_then(|()| dispatch(cli)))
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

/// Subcommands, and the global options that they have no use for. What a script gives all commands does no harm to the others.
const IDLE: [(&str, &[&str]); 8] = [
    ("mesh", &["backend", "threads"]),
    ("template", &["backend", "threads"]),
    ("watch", &["backend", "threads", "json"]),
    ("report", &["backend", "threads", "json"]),
    ("plot", &["backend", "threads", "json"]),
    ("cite", &["backend", "threads"]),
    ("completions", &["backend", "threads", "json"]),
    ("man", &["backend", "threads", "json"]),
];

/// The command line; help and pages of a subcommand list the options that it takes.
fn command() -> clap::Command {
    let whole = Cli::command();
    let globals: Vec<clap::Arg> = whole.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    IDLE.iter().fold(whole, |whole, (name, idle)| {
        let hidden = globals.iter().filter(|arg| arg.get_long().is_some_and(|long| idle.contains(&long)));
        let hidden = hidden.map(|arg| arg.clone().hide(true));
        whole.mut_subcommand(name, |sub| sub.args(hidden))
    })
}

/// Refuses global options that the subcommand of this name has no use for.
fn refuse_idle(name: &str, global: &GlobalArgs) -> CliResult<()> {
    let idle = IDLE.iter().find(|(own, _)| *own == name).map_or(&[][..], |(_, idle)| idle);
    let found = global.given().into_iter().find(|option| idle.contains(&option.trim_start_matches('-')));
    found.map_or(Ok(()), |option| {
        Err(CliError::input(format!("`chromaflow {name}` does not use {option}: leave it out")))
    })
}

fn dispatch(cli: Cli) -> CliResult {
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
        Command::Completions(args) => shell::completions(args, command()),
        Command::Man(args) => shell::man(args, command()),
    }
}

#[cfg(test)]
mod tests {
    use super::{Cli, IDLE, command, refuse_idle};
    use clap::{FromArgMatches, Parser};
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

    /// Help of every subcommand, those of `mesh` too, lists the global options that it takes and no others, wherever they stand they are understood.
    #[test]
    fn help_lists_what_a_subcommand_takes() {
        let mut whole = command();
        whole.build();
        let help = |of: &clap::Command| of.clone().render_long_help().to_string();
        for sub in whole.get_subcommands().filter(|sub| sub.get_name() != "help") {
            let idle =
                IDLE.iter().find(|(name, _)| *name == sub.get_name()).map_or(&[][..], |(_, idle)| idle);
            let below = sub.get_subcommands().filter(|sub| sub.get_name() != "help");
            for of in std::iter::once(sub).chain(below) {
                for option in ["threads", "backend", "json", "quiet"] {
                    let listed = help(of).contains(&format!("--{option}"));
                    assert_eq!(listed, !idle.contains(&option), "{} --{option}", of.get_name());
                }
            }
        }
        assert!(IDLE.iter().all(|(name, _)| whole.find_subcommand(name).is_some()));
        for words in ["chromaflow mesh info a.su2 --threads 2", "chromaflow --threads 2 mesh info a.su2"] {
            let matches = command().try_get_matches_from(words.split(' ')).unwrap();
            let cli = Cli::from_arg_matches(&matches).unwrap();
            let refused = refuse_idle("mesh", &cli.global).unwrap_err().to_string();
            assert_eq!(refused, "`chromaflow mesh` does not use --threads: leave it out");
        }
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
