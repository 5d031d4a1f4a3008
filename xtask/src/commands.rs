//! `cargo xtask commands`: the commands that the README and the book's pages show, run as a reader would type them.
//!
//! Every fenced block of a shell is run, page by page from top to bottom in one new folder with `cases` in it, and stays in the folder that it
//! went to. A comment above a block, which no reader sees, says otherwise:
//!
//! * `<!-- not run: WHY -->`,
//! * `<!-- before: COMMAND -->`: what makes the files of the reader's own,
//! * `<!-- as: THIS => THAT -->`: a smaller size, so that all of it takes less than a minute.
//!
//! `cargo run` is the program at hand; what else cargo is asked for builds for minutes, and is left out.

use crate::run;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// A fenced block of a shell.
#[derive(Debug, Default, PartialEq)]
struct Block {
    /// The line of its first command, from 1.
    line: usize,
    /// What is run.
    script: String,
    /// Why it is not.
    left_out: Option<String>,
}

/// The blocks of a page; a fault names the line.
fn blocks(text: &str) -> Result<Vec<Block>, String> {
    let (mut found, mut notes) = (Vec::new(), Vec::new());
    let mut lines = text.lines().zip(1..);
    while let Some((line, at)) = lines.next() {
        if let Some(note) = line.strip_prefix("<!-- ").and_then(|l| l.strip_suffix(" -->")) {
            notes.push((note, at));
            continue;
        }
        if line.trim_end() == "```sh" {
            let body: Vec<&str> =
                lines.by_ref().map(|(l, _)| l).take_while(|l| l.trim_end() != "```").collect();
            found.push(block(&body.join("\n"), &std::mem::take(&mut notes), at + 1)?);
        } else if line.starts_with("```") {
            lines.by_ref().find(|(l, _)| l.trim_end() == "```");
        } else if ["    chromaflow ", "    cargo ", "    mpirun "].iter().any(|w| line.starts_with(w)) {
            return Err(format!("{at}: a command outside a block: expected ```sh around it"));
        }
        if let Some((note, at)) = notes.first() {
            return Err(format!("{at}: {note}: expected a ```sh block under it"));
        }
    }
    Ok(found)
}

fn block(body: &str, notes: &[(&str, usize)], line: usize) -> Result<Block, String> {
    let mut block = Block { line, script: body.to_owned(), left_out: None };
    let mut before = String::new();
    for (note, at) in notes {
        let (word, what) = note.split_once(": ").unwrap_or((note, ""));
        match word {
            "not run" if !what.is_empty() => block.left_out = Some(what.to_owned()),
            "before" if !what.is_empty() => before.extend([what, "\n"]),
            "as" => {
                let (this, that) =
                    what.split_once(" => ").ok_or(format!("{at}: as: expected THIS => THAT"))?;
                if !block.script.contains(this) {
                    return Err(format!("{at}: as: the block has no {this}"));
                }
                block.script = block.script.replace(this, that);
            }
            _ => {
                return Err(format!(
                    "{at}: {note}: expected not run: WHY, before: COMMAND, or as: THIS => THAT"
                ));
            }
        }
    }
    block.script.insert_str(0, &before);
    Ok(block)
}

/// The README and the pages of the book that have such blocks.
fn pages() -> Result<Vec<(PathBuf, Vec<Block>)>, String> {
    let root = run::root();
    let book = root.join("docs/src");
    let entries = fs::read_dir(&book).map_err(|e| format!("{}: {e}", book.display()))?;
    let mut pages: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    pages.retain(|p| p.extension().is_some_and(|e| e == "md"));
    pages.push(root.join("README.md"));
    pages.sort();
    let mut found = Vec::new();
    for page in pages {
        let name = page.strip_prefix(&root).unwrap_or(&page).to_owned();
        let text = fs::read_to_string(&page).map_err(|e| format!("{}: {e}", page.display()))?;
        let blocks = blocks(&text).map_err(|e| format!("{}:{e}", name.display()))?;
        found.push((name, blocks));
    }
    found.retain(|(_, blocks)| !blocks.is_empty());
    Ok(found)
}

/// What the commands of a block see besides the program: where they stop, and what `cargo` is here.
const PROLOGUE: &str = r#"set -e
cargo() {
  if [ "$1" != run ]; then echo "not run: cargo $*"; return; fi
  while [ "$1" != -- ]; do shift; done
  shift
  chromaflow "$@"
}
"#;

/// `[--program FILE] [PAGE...]`: pages by their names without `.md`, all unless named; a debug build is made unless a program is given.
pub fn commands(args: &[String]) -> Result<(), String> {
    let (given, names) = run::program_given("commands", args)?;
    let program = run::program_or_built(given, &["build", "--workspace", "--bin", "chromaflow"])?;
    match table(&program, &names)? {
        (_, 0) => Ok(()),
        (_, failed) => Err(format!("{failed} blocks of commands failed")),
    }
}

/// Runs the blocks of the pages named (all if none is), prints what came of each, and counts those that passed and failed.
pub fn table(program: &Path, names: &[&str]) -> Result<(usize, usize), String> {
    let (mut passed, mut failed, mut left_out) = (0, 0, 0);
    let pages = pages()?;
    let stem = |page: &Path| page.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
    if let Some(name) = names.iter().find(|n| !pages.iter().any(|(page, _)| stem(page) == **n)) {
        return Err(format!("{name}: no page with commands of that name"));
    }
    println!("| commands | seconds | |\n|---|---|---|");
    for (page, blocks) in pages.iter().filter(|(p, _)| names.is_empty() || names.contains(&stem(p).as_str()))
    {
        let folder = run::root().join("target/commands").join(stem(page));
        let mut here = new_folder(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        for block in blocks {
            let name = format!("{}:{}", page.display(), block.line);
            if let Some(why) = &block.left_out {
                left_out += 1;
                println!("| {name} | | not run: {why} |");
                continue;
            }
            let start = Instant::now();
            let done = shell(program, &block.script, &mut here)?;
            let seconds = start.elapsed().as_secs_f64();
            match done {
                Ok(()) => passed += 1,
                Err(_) => failed += 1,
            }
            println!("| {name} | {seconds:.1} | {} |", if done.is_ok() { "good" } else { "FAILED" });
            if let Err(said) = done {
                println!("{}\n{said}", block.script);
                break; // what follows stands on it
            }
        }
    }
    println!("blocks of commands: {passed} passed, {failed} failed, {left_out} not run");
    Ok((passed, failed))
}

/// An empty folder with the cases in it.
fn new_folder(folder: &Path) -> std::io::Result<PathBuf> {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir_all(folder)?;
    let cases = folder.join("cases");
    fs::create_dir_all(cases.join("meshes"))?;
    for part in ["", "meshes"] {
        for entry in fs::read_dir(run::root().join("cases").join(part))?.flatten() {
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), cases.join(part).join(entry.file_name()))?;
            }
        }
    }
    Ok(folder.to_owned())
}

/// Runs a script in the folder `here`, which becomes the one that it ends in; the error is what it said.
fn shell(program: &Path, script: &str, here: &mut PathBuf) -> Result<Result<(), String>, String> {
    let bin = program.parent().unwrap_or(Path::new("."));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(bin.to_owned()).chain(std::env::split_paths(&path)));
    let end = run::root().join("target/commands/folder");
    let text = format!("{PROLOGUE}{script}\npwd > '{}'\n", end.display());
    let mut job = Command::new("sh");
    let job = job.args(["-c", &text]).current_dir(&*here).env("PATH", path.map_err(|e| e.to_string())?);
    let done = job.stdin(Stdio::null()).output().map_err(|e| format!("cannot start sh: {e}"))?;
    if done.status.success() {
        let text = fs::read_to_string(&end).map_err(|e| format!("{}: {e}", end.display()))?;
        *here = text.trim_end().into();
        return Ok(Ok(()));
    }
    let said = [done.stdout, done.stderr].map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned());
    Ok(Err(format!("{}\nended with {}", said.join("\n"), done.status)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_found_with_what_is_said_of_them() {
        let text = "a\n<!-- before: make it -->\n<!-- as: 64 => 4 -->\n```sh\nrun 64 64\n```\n```toml\n```sh\n```\n\
                    <!-- not run: a GPU -->\n```sh\ngo\n```\n";
        let first = Block { line: 5, script: "make it\nrun 4 4".into(), left_out: None };
        let second = Block { line: 12, script: "go".into(), left_out: Some("a GPU".into()) };
        assert_eq!(blocks(text), Ok(vec![first, second]));
    }

    #[test]
    fn faults_name_their_line() {
        let refused = |text: &str| blocks(text).unwrap_err();
        assert!(refused("\n<!-- as: 5 => 4 -->\n```sh\nrun\n```").starts_with("2: as: the block has no 5"));
        assert!(refused("<!-- slowly -->\n```sh\nrun\n```").contains("1: slowly: expected not run: WHY"));
        assert!(refused("<!-- not run: a -->\ntext").contains("expected a ```sh block under it"));
        assert!(refused("x\n    chromaflow run a.toml").starts_with("2: a command outside a block"));
    }

    #[test]
    fn all_pages_are_marked_rightly() {
        let pages = pages().unwrap();
        let run = pages.iter().flat_map(|(_, b)| b).filter(|b| b.left_out.is_none()).count();
        assert!(run >= 12, "{run} blocks are run");
    }
}
