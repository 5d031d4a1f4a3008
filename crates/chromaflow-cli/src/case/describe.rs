//! The case file's keys for people and programs: commented defaults, JSON schema, the book's reference.
//! All are made from the structs and their doc comments.

use super::CaseFile;
use crate::run::incompressible::case::IncompressibleCase;
use chromaflow_flow::bc::WORDS;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write;

/// The JSON schema of the case file.
pub fn schema() -> Value {
    schemars::schema_for!(CaseFile).to_value()
}

/// One key of a section.
struct Key {
    name: String,
    default: Option<Value>,
    text: String,
    /// The words that it takes, with what they mean.
    words: Vec<(String, String)>,
    kind: String,
}

struct Section {
    name: String,
    text: String,
    keys: Vec<Key>,
}

fn text_of(node: &Value) -> String {
    node["description"].as_str().unwrap_or("").replace('\n', " ")
}

fn resolve<'a>(root: &'a Value, node: &'a Value) -> &'a Value {
    let target = node.get("$ref").or_else(|| node.pointer("/allOf/0/$ref")).and_then(Value::as_str);
    match target {
        Some(path) => root.pointer(path.trim_start_matches('#')).unwrap_or(node),
        None => node,
    }
}

/// Sections and keys in the order of the structs (the schema's own maps are sorted by name).
fn sections<T: Default + Serialize + JsonSchema>() -> Vec<Section> {
    let root = schemars::schema_for!(T).to_value();
    let order = toml::to_string(&T::default()).expect("the defaults are plain values");
    let position = |needle: &str| order.find(needle).unwrap_or(usize::MAX);
    let defaults = serde_json::to_value(T::default()).expect("the defaults are plain values");
    let mut out = Vec::new();
    for (name, node) in root["properties"].as_object().into_iter().flatten() {
        let target = resolve(&root, node);
        let text = if node["description"].is_string() { text_of(node) } else { text_of(target) };
        let mut keys = Vec::new();
        for (key, spec) in target["properties"].as_object().into_iter().flatten() {
            let kind = resolve(&root, spec);
            let words = kind["oneOf"].as_array().into_iter().flatten();
            let words = words.filter_map(|w| Some((w["const"].as_str()?.to_owned(), text_of(w)))).collect();
            keys.push(Key {
                name: key.clone(),
                default: defaults[name].get(key).filter(|v| !v.is_null()).cloned(),
                text: if spec["description"].is_string() { text_of(spec) } else { text_of(kind) },
                words,
                kind: kind_name(kind),
            });
        }
        let section_at = position(&format!("[{name}]"));
        keys.sort_by_key(|k| {
            let from = section_at.min(order.len());
            order[from..].find(&format!("\n{} = ", k.name)).unwrap_or(usize::MAX)
        });
        out.push(Section { name: name.clone(), text, keys });
    }
    out.sort_by_key(|s| position(&format!("[{}]", s.name)));
    out
}

fn kind_name(node: &Value) -> String {
    let of = |v: &Value| match v.as_str() {
        Some("number") => "number",
        Some("integer") => "integer",
        Some("boolean") => "true or false",
        Some("string") => "text",
        Some("array") => "list",
        Some("object") => "table",
        _ => "",
    };
    match &node["type"] {
        Value::Array(all) => all.iter().map(of).find(|t| !t.is_empty()).unwrap_or("").to_owned(),
        one => of(one).to_owned(),
    }
}

fn toml_value(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(toml_value).collect::<Vec<_>>().join(", ")),
        other => other.to_string(), // JSON's numbers, booleans and plain strings are TOML's, too
    }
}

/// The sections that incompressible cases have of their own.
fn of_incompressible() -> Vec<Section> {
    let own = ["incompressible", "reference", "numerics", "linear"];
    sections::<IncompressibleCase>().into_iter().filter(|s| own.contains(&s.name.as_str())).collect()
}

/// A case file of a mesh with every key at its default, each explained; in comments, the sections of other kinds of case.
pub fn defaults() -> String {
    let mut out = String::from("# Every key of a case file at its default. Only [mesh] file is needed.\n");
    let (grid, mesh): (Vec<_>, Vec<_>) =
        sections::<CaseFile>().into_iter().partition(|s| ["grid", "structured"].contains(&s.name.as_str()));
    let (beside, mesh) = mesh.into_iter().partition(|s| ["turbulence", "scalar"].contains(&s.name.as_str()));
    out += &explained(mesh);
    out += "
# Cases of meshes may have these sections.
";
    out += &commented(&explained(beside));
    out += "\n# Cases of structured grids have these sections in the place of [mesh], [numerics] and [linear].\n";
    out += &commented(&explained(grid));
    out += "\n# Cases of incompressible flow have these sections, and [case], [grid], [boundary], [march], [output] and [expect] as above.\n";
    out + &commented(&explained(of_incompressible()))
}

fn commented(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let _ = writeln!(out, "{}{line}", if line.is_empty() { "" } else { "# " });
    }
    out
}

fn explained(sections: Vec<Section>) -> String {
    let mut out = String::new();
    for section in sections {
        let _ = writeln!(out, "\n# {}\n[{}]", section.text, section.name);
        for key in section.keys {
            let _ = writeln!(out, "# {}", key.text);
            if !key.words.is_empty() {
                let words: Vec<_> = key.words.iter().map(|(w, _)| w.as_str()).collect();
                let _ = writeln!(out, "#   one of: {}", words.join(", "));
            }
            match key.default {
                Some(value) => _ = writeln!(out, "{} = {}", key.name, toml_value(&value)),
                None => _ = writeln!(out, "# {} =", key.name),
            }
        }
    }
    out
}

/// The book's reference of the case file, in Markdown.
pub fn reference() -> String {
    let mut out = String::from(
        "# Case file reference\n\nMade from the program's own documentation (`chromaflow run --print-schema` has the \
         same for programs,\n`chromaflow run --print-defaults` a commented file to start from). A test keeps this page \
         up to date.\n",
    );
    out += &tables(sections::<CaseFile>());
    out += "\n# Incompressible cases\n\nThe sections that cases of [incompressible flow](incompressible.md) have of their own; `[case]`, \
            `[grid]`, `[march]`, `[output]` and `[expect]`\nare those above, the conditions of `[boundary]` on that page.\n";
    out += &tables(of_incompressible());
    out
}

fn tables(sections: Vec<Section>) -> String {
    let mut out = String::new();
    for section in sections {
        let _ = writeln!(out, "\n## [{}]\n\n{}", section.name, section.text);
        if section.keys.is_empty() {
            if section.name == "boundary" {
                let _ = writeln!(out, "\n| condition | |\n|---|---|");
                for word in WORDS {
                    let _ = writeln!(out, "| `{}` | {} |", word.name, word.text);
                }
                let _ = writeln!(out, "\n| condition | parameter | |\n|---|---|---|");
                for (word, p) in WORDS.iter().flat_map(|w| w.parameters.iter().map(move |p| (w, p))) {
                    let _ = writeln!(out, "| `{}` | `{}` | {} |", word.name, p.name, p.text);
                }
            }
            continue;
        }
        let _ = writeln!(out, "\n| key | default | meaning |\n|---|---|---|");
        for key in section.keys {
            let default =
                key.default.as_ref().map_or(String::from("none"), |v| format!("`{}`", toml_value(v)));
            let mut text = key.text.clone();
            for (i, (word, meaning)) in key.words.iter().enumerate() {
                let _ = write!(
                    text,
                    "{}`{word}`: {}",
                    if i == 0 { " " } else { "; " },
                    meaning.trim_end_matches('.')
                );
            }
            let _ = writeln!(
                out,
                "| `{}` | {default} | {text} ({}) |",
                key.name,
                if key.words.is_empty() { &key.kind } else { "word" }
            );
        }
    }
    out
}
