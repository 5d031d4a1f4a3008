//! Running other programs from the repository's root.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The repository's root.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_owned()
}

/// Whether a program can be started.
pub fn there(program: &str) -> bool {
    let status = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|s| s.success())
}

/// Runs cargo.
pub fn cargo(args: &[&str]) -> Result<(), String> {
    program(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), args)
}

/// Runs a program; its failure is an error that names the command.
pub fn program(program: &str, args: &[&str]) -> Result<(), String> {
    println!("$ {} {}", short(program), args.join(" "));
    let status = Command::new(program).args(args).current_dir(root()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("failed ({status}): {} {}", short(program), args.join(" "))),
        Err(e) => Err(format!("cannot start {program}: {e}")),
    }
}

/// The program that `--program FILE` names among a command's arguments, and its other arguments, which are no options.
pub fn program_given<'a>(
    command: &str,
    args: &'a [String],
) -> Result<(Option<PathBuf>, Vec<&'a str>), String> {
    let (mut program, mut names) = (None, Vec::new());
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--program" => {
                let file = words.next().ok_or("--program: which file?")?;
                program = Some(std::path::absolute(file).map_err(|e| e.to_string())?);
            }
            option if option.starts_with('-') => return Err(format!("{command}: no option {option}")),
            name => names.push(name),
        }
    }
    Ok((program, names))
}

/// The program given, or the one that cargo builds with these arguments.
pub fn program_or_built(given: Option<PathBuf>, build: &[&str]) -> Result<PathBuf, String> {
    if let Some(program) = given {
        return Ok(program);
    }
    cargo(build)?;
    let profile = if build.contains(&"--release") { "release" } else { "debug" };
    Ok(root().join("target").join(profile).join("chromaflow"))
}

fn short(program: &str) -> &str {
    Path::new(program).file_name().and_then(|n| n.to_str()).unwrap_or(program)
}

/// Runs cargo, shows its output as it comes (standard error joined to standard output) and hands it to `line` by
/// lines. Returns whether it succeeded.
pub fn watch(args: &[&str], env: &[(&str, &Path)], mut line: impl FnMut(&str)) -> Result<bool, String> {
    println!("$ cargo {}", args.join(" "));
    let (reader, writer) = std::io::pipe().map_err(|e| format!("cannot make a pipe: {e}"))?;
    let mut command = Command::new(std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    command.args(args).current_dir(root()).envs(env.iter().copied());
    command.stdout(writer.try_clone().map_err(|e| e.to_string())?).stderr(writer);
    let mut child = command.spawn().map_err(|e| format!("cannot start cargo: {e}"))?;
    drop(command); // and with it our ends of the pipe: reading ends when the child does
    for text in BufReader::new(reader).split(b'\n') {
        let text = text.map_err(|e| format!("cannot read cargo's output: {e}"))?;
        let text = String::from_utf8_lossy(&text);
        println!("{text}");
        line(&text);
    }
    child.wait().map(|status| status.success()).map_err(|e| format!("cargo does not end: {e}"))
}
