//! `chromaflow cite`: the references of what a run used.

mod references;

use crate::case::{Case, CaseFile};
use crate::context::Context;
use crate::error::{CliResult, Done};
use references::{GRIDS, MESHES, Reference, SHARED};
use serde_json::json;
use std::path::PathBuf;

/// Arguments of `chromaflow cite`.
#[derive(clap::Args)]
pub struct Args {
    /// A case file: the references of what it uses; without one, all
    case: Option<PathBuf>,
    /// As BibTeX
    #[arg(long)]
    bibtex: bool,
}

/// What every case of incompressible flow uses.
const INCOMPRESSIBLE: [&str; 3] = ["chorin1967", "rogers1990", "luo2015"];

/// [`of_case`] for a case of incompressible flow.
pub fn of_incompressible() -> serde_json::Value {
    let used = SHARED.iter().filter(|r| INCOMPRESSIBLE.contains(&r.key));
    used.map(|r| json!({ "key": r.key, "for": r.what, "text": text(r) })).collect()
}

/// The references of a case, or all.
fn used(case: Option<&CaseFile>) -> Vec<&'static Reference> {
    let Some(case) = case else { return [MESHES, GRIDS, SHARED].into_iter().flatten().collect() };
    let own = if case.grid.is_used() { GRIDS } else { MESHES };
    own.iter().chain(SHARED).filter(|r| (r.used)(case)).collect()
}

/// The references of a case as JSON: key, what for, and one line of text.
pub fn of_case(case: &CaseFile) -> serde_json::Value {
    used(Some(case)).iter().map(|r| json!({ "key": r.key, "for": r.what, "text": text(r) })).collect()
}

fn text(r: &Reference) -> String {
    format!("{}. {}. {}, {}.", r.authors.replace(" and ", ", "), r.title, r.place, r.year)
}

fn bibtex(r: &Reference) -> String {
    let place = if r.kind == "article" { "journal" } else { "booktitle" };
    format!(
        "@{}{{{},\n  author = {{{}}},\n  title = {{{}}},\n  {place} = {{{}}},\n  year = {{{}}}\n}}",
        r.kind, r.key, r.authors, r.title, r.place, r.year
    )
}

/// Prints the references.
///
/// # Errors
/// A case file that cannot be read.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let used = match args.case.as_deref().map(|path| Case::read(path, &[], ctx.global.backend)).transpose()? {
        Some((_, Case::Incompressible(_))) => {
            SHARED.iter().filter(|r| INCOMPRESSIBLE.contains(&r.key)).collect()
        }
        Some((_, Case::Unstructured(case) | Case::Structured(case))) => used(Some(&case)),
        None => used(None),
    };
    for r in &used {
        if args.bibtex {
            println!("{}\n", bibtex(r));
        } else {
            println!("{}: {}", r.what, text(r));
        }
    }
    let list: Vec<_> = used.iter().map(|r| json!({ "key": r.key, "for": r.what, "text": text(r) })).collect();
    ctx.write_json(&json!({ "references": list }))?;
    Ok(Done::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::Source;
    use crate::context::Backend;
    use std::path::Path;

    /// What a case of a grid cites are the steps that it takes, and its turbulence model.
    #[test]
    fn grids_cite_the_steps_that_they_take() {
        let keys = |more: &str| {
            let text = format!("[grid]\nfile = \"a.xyz\"\n{more}");
            let source = Source::of_text(Path::new("case.toml"), &text);
            let Case::Structured(case) = Case::of(source, &[], Backend::Cpu).unwrap().1 else {
                panic!("a case of a grid")
            };
            let keys: Vec<&str> = used(Some(&case)).into_iter().map(|r| r.key).collect();
            (case.step_title(), keys)
        };
        let (step, newton) = keys("");
        assert_eq!(step, "Newton-Krylov steps around block ILU");
        assert!(["knoll2004", "saad1993", "luo2015"].iter().all(|key| newton.contains(key)), "{newton:?}");
        assert!(!["beam1978", "stone2011"].iter().any(|key| newton.contains(key)), "{newton:?}");
        let (step, plain) = keys("[structured]\nmethod = \"beam_warming\"\n");
        assert_eq!(step, "approximate factorization");
        assert!(["beam1978", "stone2011"].iter().all(|key| plain.contains(key)), "{plain:?}");
        assert!(!plain.contains(&"knoll2004"), "{plain:?}");
        let turbulent = "[flow]\nequations = \"rans\"\nreynolds = 1e6\n[turbulence]\nmodel = \"sst\"\n";
        let (_, turbulent) = keys(turbulent);
        assert!(
            ["menter2003", "sutherland1893", "roe1981"].iter().all(|key| turbulent.contains(key)),
            "{turbulent:?}"
        );
    }
}
