//! The book `docs/src` and the pages of the root: every page is in the table of contents, every link and picture leads somewhere.

use crate::run;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Holds the above.
pub fn check() -> Result<(), String> {
    let root = run::root();
    let book = root.join("docs/src");
    let mut pages: Vec<PathBuf> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].map(|p| root.join(p)).into();
    pages.extend(markdown(&book)?);
    let (mut faults, mut listed) = (Vec::new(), BTreeSet::new());
    for page in &pages {
        let text = fs::read_to_string(page).map_err(|e| format!("{}: {e}", page.display()))?;
        let inside = page.strip_prefix(&root).unwrap_or(page).display().to_string();
        for link in links(&text) {
            if link.contains("://") || link.starts_with("mailto:") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            if !target.exists() {
                faults.push(format!("{inside}: {link} leads nowhere"));
                continue;
            }
            if inside.ends_with("SUMMARY.md") {
                listed.insert(target.clone());
            }
            if !anchor.is_empty() && target.extension().is_some_and(|e| e == "md") {
                let text = fs::read_to_string(&target).unwrap_or_default();
                if !anchors(&text).contains(anchor) {
                    faults.push(format!("{inside}: {link}: {} has no such heading", target.display()));
                }
            }
        }
    }
    for page in pages.iter().filter(|p| p.starts_with(&book) && !p.ends_with("SUMMARY.md")) {
        if !listed.contains(page) {
            faults.push(format!("{} is not in docs/src/SUMMARY.md", page.display()));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn markdown(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    let mut pages: Vec<PathBuf> =
        entries.flatten().map(|e| e.path()).filter(|p| p.extension().is_some_and(|e| e == "md")).collect();
    pages.sort();
    Ok(pages)
}

/// The text of a page without its blocks of code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        if line.trim_start().starts_with("```") {
            code = !code;
            return false;
        }
        !code && !line.starts_with("    ")
    })
}

/// Where links and pictures of a page lead.
pub fn links(text: &str) -> Vec<&str> {
    let mut links = Vec::new();
    for line in prose(text) {
        let mut rest = line;
        while let Some(at) = rest.find("](") {
            // Not in a span of code.
            let quoted = rest[..at].matches('`').count() % 2 > 0;
            rest = &rest[at + 2..];
            let end = rest.find([')', ' ']).unwrap_or(rest.len());
            if !quoted {
                links.push(&rest[..end]);
            }
        }
    }
    links
}

/// Anchors of the headings of a page, as mdbook and code hosts make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let headings =
        prose(text).filter_map(|line| line.strip_prefix('#')).map(|h| h.trim_start_matches('#').trim());
    let anchor = |heading: &str| -> String {
        let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_anchors_are_found() {
        let text = "# On a GPU\n[a](b.md#on-a-gpu), ![p](images/p.png \"title\") `[x](y)`\n```\n[no](no.md)\n```\n    [no](no)\n";
        assert_eq!(links(text), ["b.md#on-a-gpu", "images/p.png"]);
        assert!(anchors(text).contains("on-a-gpu"));
    }

    #[test]
    fn the_links_hold() {
        if let Err(faults) = check() {
            panic!("{faults}");
        }
    }
}
