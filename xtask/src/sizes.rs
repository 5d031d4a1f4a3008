//! How long functions may be, and how many files a folder may have.

use crate::{rooms, run};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Lines of a Rust function, its signature and braces among them.
const FUNCTION: usize = 120;
/// The same for CUDA.
const KERNEL: usize = 150;
/// Files of one kind of a folder.
const FOLDER: usize = 15;

/// Functions that are longer, and folders (from the root) that have more. An entry that nothing needs is an error.
const DEBTS: &[&str] = &[
    "run",
    "ilu_factor",
    "pencil_factor",
    "sliced",
    "waves",
    "fluxes",
    "lines",
    "segments",
    "viscous_fluxes",
    "crates/chromaflow-flow/src/structured/cuda",
];

/// Holds the limits.
pub fn check() -> Result<(), String> {
    let root = run::root();
    let (mut faults, mut over) = (Vec::new(), BTreeSet::new());
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    for (extension, limit) in [("rs", FUNCTION), ("cu", KERNEL), ("cuh", KERNEL)] {
        for file in rooms::sources(&root.join("crates"), extension)? {
            let inside = file.strip_prefix(&root).expect("a file of the repository");
            if !inside.iter().any(|c| c == "src") {
                continue;
            }
            let folder = inside.parent().unwrap_or(Path::new("")).display().to_string();
            *folders.entry(folder).or_default() += 1;
            let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
            let functions = if extension == "rs" { rust_functions(&text) } else { cuda_functions(&text) };
            for (name, lines) in functions.into_iter().filter(|f| f.1 > limit) {
                if !DEBTS.contains(&name.as_str()) {
                    faults.push(format!("{}: {name} has {lines} lines (at most {limit})", inside.display()));
                }
                over.insert(name);
            }
        }
    }
    for (folder, count) in folders.into_iter().filter(|f| f.1 > FOLDER) {
        if !DEBTS.contains(&folder.as_str()) {
            faults.push(format!("{folder} has {count} source files (at most {FOLDER})"));
        }
        over.insert(folder);
    }
    let paid = DEBTS.iter().filter(|d| !over.contains(**d));
    faults.extend(paid.map(|d| format!("{d} keeps the limits: strike it from DEBTS in xtask/src/sizes.rs")));
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Name and lines of every function of a file that rustfmt has formatted: its last brace stands below its first letter.
fn rust_functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (i, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words = ["pub(crate) ", "pub(super) ", "pub ", "const ", "unsafe ", "extern \"C\" "];
        let code = words.iter().fold(code, |code, word| code.strip_prefix(word).unwrap_or(code));
        let Some(rest) = code.strip_prefix("fn ") else { continue };
        let indent = &line[..line.len() - line.trim_start().len()];
        let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
        let end = lines[i..].iter().position(|l| l.strip_prefix(indent) == Some("}"));
        let one = lines[i..].iter().position(|l| l.ends_with(';') || l.ends_with('}')).unwrap_or(0);
        let open = lines[i..].iter().position(|l| l.ends_with('{')).unwrap_or(usize::MAX);
        if let Some(end) = end.filter(|_| open <= one) {
            found.push((name, end + 1));
        }
    }
    found
}

/// Name and lines of every function at the margin of a CUDA file.
fn cuda_functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let (mut found, mut i) = (Vec::new(), 0);
    while i < lines.len() {
        let margin = lines[i].starts_with(|c: char| c.is_alphabetic() || c == '_');
        let signature =
            lines[i..].iter().take_while(|l| !l.ends_with('{') && !l.ends_with(';') && !l.is_empty()).count();
        let open = lines.get(i + signature).is_some_and(|l| l.ends_with('{'));
        let head = lines[i..(i + signature + 1).min(lines.len())].join(" ");
        let kind = ["struct ", "namespace ", "enum ", "union ", "class "];
        if !margin
            || !open
            || kind.iter().any(|k| head.starts_with(k) || head.contains(&format!("> {k}")))
            || !head.contains('(')
        {
            i += 1;
            continue;
        }
        let Some(end) = lines[i..].iter().position(|l| *l == "}") else { break };
        found.push((cuda_name(&head), end + 1));
        i += end + 1;
    }
    found
}

/// The word before the parameters.
fn cuda_name(head: &str) -> String {
    let bare = match head.split_once("__launch_bounds__(") {
        None => head,
        Some((_, rest)) => {
            let mut depth = 1;
            let end = rest.find(|c| {
                depth += match c {
                    '(' => 1,
                    ')' => -1,
                    _ => 0,
                };
                depth == 0
            });
            &rest[end.map_or(0, |e| e + 1)..]
        }
    };
    let before = bare.split('(').next().unwrap_or_default().trim_end();
    before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured() {
        let rust = "impl A {\n    pub fn a(\n        x: u8,\n    ) {\n        x;\n    }\n\n    fn b();\n}\n\nfn c() {}\n\nfn d() {\n}\n";
        assert_eq!(rust_functions(rust), [("a".to_owned(), 5), ("d".to_owned(), 2)]);
        let cuda = "struct S {\n    int f() { return 1; }\n};\ntemplate <int N>\n__device__ int g(int x) {\n    return x;\n}\n\
                    extern \"C\" __global__ void __launch_bounds__(T(1), 2)\nk(int a,\n  int b) {\n    g<3>(a);\n}\n";
        assert_eq!(cuda_functions(cuda), [("g".to_owned(), 4), ("k".to_owned(), 5)]);
    }

    #[test]
    fn limits_hold() {
        check().unwrap();
    }
}
