//! Licences and bans of all dependencies, by the rules of `deny.toml` (cargo-deny reads the same file).

use crate::run;
use serde_json::Value;
use std::collections::BTreeSet;
use std::process::Command;

/// Holds `deny.toml`: every package of the lock file has a licence that is allowed, none is banned, no requirement is `*`.
pub fn check() -> Result<(), String> {
    let root = run::root();
    let text = std::fs::read_to_string(root.join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let rules: toml::Table = text.parse().map_err(|e| format!("deny.toml: {e}"))?;
    let list = |section: &str, key: &str| {
        rules
            .get(section)
            .and_then(|s| s.get(key))
            .and_then(toml::Value::as_array)
            .cloned()
            .unwrap_or_default()
    };
    let allowed: BTreeSet<String> =
        list("licenses", "allow").iter().filter_map(|l| l.as_str().map(str::to_owned)).collect();
    let banned: Vec<String> = list("bans", "deny")
        .iter()
        .filter_map(|b| b.get("crate").and_then(toml::Value::as_str).map(str::to_owned))
        .collect();
    if allowed.is_empty() || banned.is_empty() {
        return Err("deny.toml: expected [licenses] allow and [bans] deny".to_owned());
    }
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let told = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--all-features"])
        .current_dir(&root)
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if !told.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&told.stderr)));
    }
    let metadata: Value = serde_json::from_slice(&told.stdout).map_err(|e| format!("cargo metadata: {e}"))?;
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let faults: Vec<String> =
        packages.iter().flat_map(|package| faults(package, &allowed, &banned)).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// What is wrong with a package.
fn faults(package: &Value, allowed: &BTreeSet<String>, banned: &[String]) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let what = format!("{name} {}", package["version"].as_str().unwrap_or_default());
    let mut faults = Vec::new();
    match package["license"].as_str() {
        Some(licence) if is_allowed(licence, allowed) => {}
        Some(licence) => faults.push(format!("{what}: the licence {licence} is not allowed by deny.toml")),
        None => faults.push(format!("{what}: it names no licence")),
    }
    if banned.iter().any(|b| b == name) {
        faults.push(format!("{what} is banned by deny.toml"));
    }
    let own = package["source"].is_null();
    let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
    for dependency in dependencies.iter().filter(|d| own && d["req"] == "*" && d["path"].is_null()) {
        faults.push(format!("{what}: any version of {} is taken", dependency["name"]));
    }
    faults
}

/// Whether an SPDX expression leaves a choice of allowed licences.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut at = 0;
    let found = any_of(&words, &mut at, allowed);
    at == words.len() && found
}

fn any_of(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut found = all_of(words, at, allowed);
    while words.get(*at) == Some(&"OR") {
        *at += 1;
        found |= all_of(words, at, allowed);
    }
    found
}

fn all_of(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let mut found = one(words, at, allowed);
    while words.get(*at) == Some(&"AND") {
        *at += 1;
        found &= one(words, at, allowed);
    }
    found
}

fn one(words: &[&str], at: &mut usize, allowed: &BTreeSet<String>) -> bool {
    let word = words.get(*at).copied().unwrap_or_default();
    *at += 1;
    if word == "(" {
        let found = any_of(words, at, allowed);
        let closed = words.get(*at) == Some(&")");
        *at += 1;
        return found && closed;
    }
    if words.get(*at) == Some(&"WITH") {
        let with = format!("{word} WITH {}", words.get(*at + 1).copied().unwrap_or_default());
        *at += 2;
        // Without its exception a licence asks for more, not less.
        return allowed.contains(&with) || allowed.contains(word);
    }
    allowed.contains(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn expressions_are_read_as_spdx_means_them() {
        let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
        for good in [
            "MIT",
            "GPL-3.0 OR MIT",
            "MIT/Apache-2.0",
            "(MIT OR GPL-3.0) AND Zlib",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0",
            "MIT AND GPL-3.0",
            "Apache-2.0",
            "(MIT",
            "MIT Zlib",
            "GPL-2.0 WITH LLVM-exception",
        ] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
        // AND binds before OR.
        assert!(is_allowed("MIT OR Zlib AND GPL-3.0", &allowed));
    }

    #[test]
    fn packages_have_their_faults_told() {
        let allowed = ["MIT".to_owned()].into();
        let dependencies =
            json!([{ "name": "x", "req": "*", "path": null }, { "name": "y", "req": "*", "path": "/y" }]);
        let package = json!({ "name": "openssl-sys", "version": "1.0.0", "license": "GPL-3.0", "source": null,
                              "dependencies": dependencies });
        assert_eq!(faults(&package, &allowed, &["openssl-sys".to_owned()]).len(), 3);
        let package = json!({ "name": "a", "version": "1.0.0", "license": "MIT", "source": "registry", "dependencies": dependencies });
        assert!(faults(&package, &allowed, &["openssl-sys".to_owned()]).is_empty());
    }

    #[test]
    fn the_rules_hold() {
        if let Err(faults) = check() {
            panic!("{faults}");
        }
    }
}
