//! What `chromaflow solve` is told, and the options of the library that it means.

use crate::error::{CliError, CliResult};
use chromaflow::factor::block_ilu::Fill;
use chromaflow::order::{ColoringMethod, VertexOrder};
use chromaflow::relax::Direction;
use chromaflow::solver::{Method, MethodWord, NullSpace, PreconditionerKind, RowOrder};
use chromaflow::{Policy, SolverOptions};
use std::path::PathBuf;
use std::str::FromStr;

/// Options of the library by name, for every program that uses it; those of the command line come after and win.
const ENVIRONMENT: &str = "CHROMAFLOW_OPTIONS";

/// Arguments of `chromaflow solve`.
#[derive(clap::Args)]
#[command(
    after_help = "Options in the environment variable CHROMAFLOW_OPTIONS (preconditioner=ilu1, policy=d) count where none is given here."
)]
pub struct Args {
    /// Matrix: Matrix Market or PETSc binary, plain or compressed (.gz, .xz, .zst)
    pub(super) matrix: PathBuf,
    /// Size of the blocks [default: as the file says, or found from the pattern]
    #[arg(long, value_name = "N")]
    pub(super) block_size: Option<usize>,
    /// Right-hand side: a FILE, `ones`, `embedded` (the vector after a PETSc matrix, or NAME_b.mtx beside NAME.mtx), or
    /// `known` (A times a known solution, whose error is reported) [default: embedded, or ones where there is none]
    #[arg(long, value_name = "FILE|ones|embedded|known")]
    pub(super) rhs: Option<String>,
    /// The known solution of `--rhs known` [default: 1 + sin(i) / 2]
    #[arg(long, value_name = "FILE")]
    pub(super) known_solution: Option<PathBuf>,
    /// How to solve: gmres, bicgstab; multicolor, gauss_seidel, ssor, jacobi or ilu0: corrections by that alone [default: gmres]
    #[arg(long, value_parser = parse_method)]
    method: Option<MethodWord>,
    /// Preconditioner of gmres and bicgstab: ilu0, multicolor, gauss_seidel, ssor, jacobi or none [default: ilu0]
    #[arg(long, value_parser = parse_preconditioner)]
    precond: Option<PreconditionerKind>,
    /// Precision of the sweeps: d, ds or dsh [default: ds]
    #[arg(long, value_parser = Policy::from_str)]
    policy: Option<Policy>,
    /// Sweeps of a relaxation without tolerance [default: 15], or of the preconditioner [default: 1]
    #[arg(long, value_name = "K")]
    sweeps: Option<usize>,
    /// Stop when ||b - A x|| <= T ||b||; 0 does all iterations [default: 1e-10 for gmres and bicgstab, else 0]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    tol: Option<f64>,
    /// Most iterations: preconditioner applications, or sweeps [default: 2000]
    #[arg(long, value_name = "M")]
    max_iterations: Option<usize>,
    /// Iterations of gmres between restarts [default: 50]
    #[arg(long, value_name = "N")]
    restart: Option<usize>,
    /// Iterations up to which cycles of gmres may grow when they do not halve the residual, within 1 GiB of vectors
    /// [default: 1000]
    #[arg(long, value_name = "N")]
    longest_restart: Option<usize>,
    /// Sweeps of a relaxation between corrections in f64; 0: never [default: 1 with a tolerance, 0 without]
    #[arg(long, value_name = "N")]
    correction_sweeps: Option<usize>,
    /// Order of the colors: forward, backward or symmetric (both, as one sweep) [default: forward]
    #[arg(long, value_parser = parse_direction)]
    direction: Option<Direction>,
    /// Factor on every change within a sweep [default: 1]
    #[arg(long, allow_negative_numbers = true)]
    damping: Option<f64>,
    /// What the matrix takes to zero: none, or constant (of each component of the blocks where rows add up to zero, as of a pressure that nothing
    /// sets): x has mean zero then, and b loses the part that no x gives [default: none]
    #[arg(long, value_name = "none|constant", value_parser = parse_null_space)]
    null_space: Option<NullSpace>,
    /// Order of the rows before coloring: rcm (reverse Cuthill-McKee), natural (as in the file) or auto (rcm unless the
    /// rows of the file lie in a band); multicolor: block ILU,
    /// too, takes the rows color by color (after rcm) [default: auto]
    #[arg(long, value_parser = RowOrder::from_str)]
    order: Option<RowOrder>,
    /// Blocks that the factors of block ILU have: level of fill 0 (those of the matrix), 1, 2, ..., or diagonal (those of
    /// the matrix, only diagonal ones change: DILU) [default: 0]
    #[arg(long, value_name = "K|diagonal", value_parser = Fill::from_str)]
    fill: Option<Fill>,
    /// Order of the coloring: natural, largest-first, smallest-last, fewest (colors) or parallel [default: natural]
    #[arg(long, value_name = "ORDER", value_parser = parse_coloring)]
    coloring: Option<ColoringMethod>,
    /// Make the colors nearly equal in size
    #[arg(long)]
    balance: bool,
    /// Write the solution to FILE (.mtx or .petsc, .gz, .xz and .zst too); one that is not finite is not written
    #[arg(long, value_name = "FILE")]
    pub(super) solution: Option<PathBuf>,
    /// Write the relative residual of every iteration to FILE (CSV)
    #[arg(long, value_name = "FILE")]
    pub(super) history: Option<PathBuf>,
}

/// Lines come from a mesh, of which a matrix file knows nothing.
const NO_LINES: &str = "a matrix alone has no lines of strong coupling, a case with a mesh has (linear.method = \"lines\"): take ilu0, or ssor";

fn parse_method(s: &str) -> Result<MethodWord, String> {
    let known = MethodWord::ALL.iter().filter(|w| **w != MethodWord::Lines).map(|w| w.name());
    match s {
        "ilu" => Ok(MethodWord::Ilu0),
        "lines" => Err(NO_LINES.to_owned()),
        _ => s.parse().map_err(|_| expected(known)),
    }
}

fn parse_preconditioner(s: &str) -> Result<PreconditionerKind, String> {
    let known = PreconditionerKind::ALL.iter().filter(|k| **k != PreconditionerKind::Lines).map(|k| k.name());
    match s {
        "ilu" => Ok(PreconditionerKind::Ilu(Fill::default())),
        "lines" => Err(NO_LINES.to_owned()),
        _ => s.parse().map_err(|_| expected(known)),
    }
}

fn expected<'a>(known: impl Iterator<Item = &'a str>) -> String {
    format!("expected {}", known.collect::<Vec<_>>().join(", "))
}

fn parse_null_space(s: &str) -> Result<NullSpace, String> {
    match s {
        "none" => Ok(NullSpace::None),
        "constant" => Ok(NullSpace::Constant),
        _ => Err("expected none or constant".into()),
    }
}

fn parse_direction(s: &str) -> Result<Direction, String> {
    match s {
        "forward" => Ok(Direction::Forward),
        "backward" => Ok(Direction::Backward),
        "symmetric" => Ok(Direction::Symmetric),
        _ => Err("expected forward, backward or symmetric".into()),
    }
}

fn parse_coloring(s: &str) -> Result<ColoringMethod, String> {
    if s == "parallel" {
        return Ok(ColoringMethod::Parallel);
    }
    if s == "fewest" {
        return Ok(ColoringMethod::Fewest);
    }
    s.parse::<VertexOrder>().map(ColoringMethod::Greedy)
}

/// What the environment asks for.
pub(super) fn environment() -> String {
    std::env::var(ENVIRONMENT).map(|text| text.trim().to_owned()).unwrap_or_default()
}

impl Args {
    /// The options that are meant: defaults, those of the environment, those given here.
    ///
    /// # Errors
    /// Values that there are not, and options given here that would do nothing.
    pub(super) fn options(&self) -> CliResult<SolverOptions> {
        let options = self.over(&environment()).map_err(CliError::input)?;
        match self.idle(&options) {
            None => Ok(options),
            Some(what) => Err(CliError::input(what)),
        }
    }

    fn over(&self, environment: &str) -> Result<SolverOptions, String> {
        let default = SolverOptions::default();
        let mut options = default;
        options.set_all(environment).map_err(|e| format!("{ENVIRONMENT}: {e}"))?;
        let said = |key: &str| {
            environment
                .split([',', '\n'])
                .any(|pair| pair.split('=').next().unwrap_or_default().trim() == key)
        };
        let around = self.precond.unwrap_or(options.preconditioner);
        let fill = self.fill.or(around.fill()).unwrap_or_default();
        (options.method, options.preconditioner) = match self.method {
            Some(word) => word.choice(around, fill),
            None => (options.method, around.with_fill(fill)),
        };
        // A relaxation alone does a fixed number of sweeps unless a tolerance is given.
        if options.method == Method::Richardson {
            options.tolerance = if said("tolerance") { options.tolerance } else { 0.0 };
            options.sweeps = if said("sweeps") { options.sweeps } else { 15 };
        }
        options.tolerance = self.tol.unwrap_or(options.tolerance);
        if !said("correction_sweeps") {
            options.correction_sweeps = usize::from(options.tolerance > 0.0);
        }
        if let Some(order) = self.order {
            options.plan.rcm = order.rcm();
            options.colored = order == RowOrder::Multicolor;
        }
        options.plan.coloring = self.coloring.unwrap_or(options.plan.coloring);
        options.plan.balance |= self.balance;
        options.policy = self.policy.unwrap_or(options.policy);
        options.sweeps = self.sweeps.unwrap_or(options.sweeps);
        options.direction = self.direction.unwrap_or(options.direction);
        options.damping = self.damping.unwrap_or(options.damping);
        options.max_iterations = self.max_iterations.unwrap_or(options.max_iterations);
        options.restart = self.restart.unwrap_or(options.restart);
        options.longest_restart = self.longest_restart.unwrap_or(options.longest_restart);
        options.correction_sweeps = self.correction_sweeps.unwrap_or(options.correction_sweeps);
        options.null_space = self.null_space.unwrap_or(options.null_space);
        options.history = true;
        Ok(options)
    }

    /// The first option given here that would do nothing; at its default value it is let pass.
    fn idle(&self, o: &SolverOptions) -> Option<String> {
        let (default, kind) = (SolverOptions::default(), o.preconditioner);
        let (alone, ilu, relaxes) =
            (o.method == Method::Richardson, kind.fill().is_some(), kind.is_relaxation());
        let colors = kind == PreconditionerKind::Multicolor || ilu && o.colored;
        let counted = alone && o.tolerance == 0.0;
        let directed = relaxes && kind != PreconditionerKind::Ssor;
        let gmres = o.method == Method::Gmres;
        let other = |given: bool, needed: bool| given && !needed;
        let of_colors = "goes with colors: --precond multicolor, --method multicolor, or --order multicolor with block ILU";
        let of_sweeps = if alone {
            "counts sweeps where no tolerance is given: leave --tol out, or give --max-iterations"
        } else {
            "counts sweeps, which block ILU and none have not: take --precond multicolor, gauss_seidel, ssor or jacobi"
        };
        let of_relaxations =
            "goes with sweeps: multicolor, gauss_seidel, ssor or jacobi as --method or --precond";
        let rows = [
            (
                other(
                    self.precond.is_some_and(|k| k != default.preconditioner),
                    self.method.is_none() || !alone,
                ),
                "--precond",
                "is what gmres and bicgstab go around: leave out --method, or --precond",
            ),
            (
                other(self.fill.is_some_and(|fill| fill != Fill::default()), ilu),
                "--fill",
                "is that of block ILU: take --precond ilu0 or --method ilu0",
            ),
            (
                other(self.sweeps.is_some_and(|n| n != default.sweeps), counted || !alone && relaxes),
                "--sweeps",
                of_sweeps,
            ),
            (
                other(self.max_iterations.is_some_and(|n| n != default.max_iterations), !counted),
                "--max-iterations",
                "goes with a tolerance: give --tol, or --sweeps for so many sweeps",
            ),
            (
                other(self.restart.is_some_and(|n| n != default.restart), gmres),
                "--restart",
                "goes with --method gmres",
            ),
            (
                other(self.longest_restart.is_some_and(|n| n != default.longest_restart), gmres),
                "--longest-restart",
                "goes with --method gmres",
            ),
            (
                other(self.correction_sweeps.is_some_and(|n| n != usize::from(!counted)), alone && relaxes),
                "--correction-sweeps",
                "goes with a relaxation alone: --method multicolor, gauss_seidel, ssor or jacobi",
            ),
            (
                other(self.direction.is_some_and(|d| d != default.direction), directed),
                "--direction",
                "goes with sweeps that have one: multicolor, gauss_seidel or jacobi; ssor goes both ways",
            ),
            (other(self.damping.is_some_and(|d| d != default.damping), relaxes), "--damping", of_relaxations),
            (
                other(self.policy.is_some_and(|p| p != default.policy && p != Policy::D), relaxes || ilu),
                "--policy",
                "is the precision of sweeps and factors, and --precond none has neither",
            ),
            (
                other(self.order == Some(RowOrder::Multicolor), colors || kind.sweeps_in_levels()),
                "--order multicolor",
                "goes with block ILU: jacobi and none take rows in any order",
            ),
            (
                other(self.coloring.is_some_and(|c| c != default.plan.coloring), colors),
                "--coloring",
                of_colors,
            ),
            (other(self.balance, colors), "--balance", of_colors),
            (
                other(self.known_solution.is_some(), self.rhs.as_deref() == Some("known")),
                "--known-solution",
                "goes with --rhs known",
            ),
        ];
        let (_, option, why) = rows.into_iter().find(|row| row.0)?;
        Some(format!("{option} would do nothing: it {why}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn args(words: &str) -> Args {
        Command::try_parse_from(["solve", "a.mtx"].into_iter().chain(words.split_whitespace())).unwrap().args
    }

    /// Each option that is given changes what is done, or is refused with what it goes with.
    #[test]
    fn options_that_would_do_nothing_are_refused() {
        for (words, part) in [
            ("--fill 2 --precond multicolor", "--precond ilu0"),
            ("--fill 2 --method jacobi", "--precond ilu0"),
            ("--method multicolor --precond jacobi", "leave out --method"),
            ("--sweeps 3", "--precond multicolor"),
            ("--precond none --sweeps 3", "--precond multicolor"),
            ("--method multicolor --tol 1e-3 --sweeps 30", "--max-iterations"),
            ("--method multicolor --max-iterations 30", "--tol"),
            ("--method bicgstab --restart 30", "--method gmres"),
            ("--method ilu0 --longest-restart 30", "--method gmres"),
            ("--method gmres --precond jacobi --correction-sweeps 4", "relaxation alone"),
            ("--method ilu0 --correction-sweeps 4", "relaxation alone"),
            ("--direction backward", "multicolor, gauss_seidel"),
            ("--precond ssor --direction backward", "ssor goes both ways"),
            ("--damping 0.5", "goes with sweeps"),
            ("--precond none --policy dsh", "has neither"),
            ("--precond jacobi --order multicolor", "block ILU"),
            ("--coloring fewest", "--precond multicolor"),
            ("--precond ssor --balance", "--precond multicolor"),
            ("--known-solution x.mtx", "--rhs known"),
        ] {
            let args = args(words);
            let said = args.idle(&args.over("").unwrap()).unwrap_or_else(|| panic!("{words} is let pass"));
            assert!(said.starts_with("--") && said.contains(part), "{words}: {said}");
        }
        for words in [
            "",
            "--fill 0 --precond multicolor --sweeps 1",
            "--fill diagonal --policy d",
            "--method ilu0 --fill 2 --sweeps 4",
            "--method multicolor --sweeps 30 --correction-sweeps 3 --direction symmetric --damping 0.9",
            "--method multicolor --tol 1e-3 --max-iterations 30 --coloring fewest --balance",
            "--order multicolor --coloring fewest --balance",
            "--precond none --policy d --restart 10 --longest-restart 10",
            "--precond ssor --sweeps 2 --damping 1.1",
            "--rhs known --known-solution x.mtx",
        ] {
            let args = args(words);
            assert_eq!(args.idle(&args.over("").unwrap()), None, "{words}");
        }
    }

    #[test]
    fn the_environment_comes_before_the_command_line() {
        let over = |words: &str, environment: &str| args(words).over(environment);
        let asked = "preconditioner=ilu2, policy=d, restart=7, sweeps=3, tolerance=1e-3, correction_sweeps=5";
        let options = over("", asked).unwrap();
        assert_eq!(options.preconditioner, PreconditionerKind::Ilu(Fill::Level(2)));
        assert_eq!((options.policy, options.restart, options.tolerance), (Policy::D, 7, 1e-3));
        let options = over("--fill 1 --policy dsh --tol 1e-4 --restart 9", asked).unwrap();
        assert_eq!(options.preconditioner, PreconditionerKind::Ilu(Fill::Level(1)));
        assert_eq!((options.policy, options.restart, options.tolerance), (Policy::Dsh, 9, 1e-4));
        assert_eq!(over("--precond ilu0", asked).unwrap().preconditioner, PreconditionerKind::default());
        // Of a relaxation alone what is said counts, else its own defaults.
        let sweeps = over("--method multicolor", asked).unwrap();
        assert_eq!((sweeps.sweeps, sweeps.tolerance, sweeps.correction_sweeps), (3, 1e-3, 5));
        let sweeps = over("", "method=richardson, preconditioner=multicolor").unwrap();
        assert_eq!((sweeps.sweeps, sweeps.tolerance, sweeps.correction_sweeps), (15, 0.0, 0));
        let refused = over("", "tolerance=2").unwrap_err();
        assert!(refused.starts_with("CHROMAFLOW_OPTIONS: tolerance = `2`"), "{refused}");
    }

    #[test]
    fn without_words_the_options_are_those_of_the_library() {
        let options = args("").over("").unwrap();
        assert_eq!(options, SolverOptions { history: true, ..SolverOptions::default() });
    }
}
