//! The header against the library.

use crate::programs::{compile, include, library, run};
use chromaflow_capi::arrays::{Array, ArrayMut};
use chromaflow_capi::{lines, solver};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::mem::offset_of;
use std::path::Path;
use std::process::Command;

/// Structs and their members with sizes and places, as the library has them.
fn layout() -> Vec<(String, usize)> {
    let mut all = Vec::new();
    macro_rules! layout {
        ($c:literal, $rust:ty: $($field:ident),*) => {
            all.push(($c.to_owned(), size_of::<$rust>()));
            $(all.push((
                format!("{}.{}", $c, stringify!($field).trim_start_matches("r#")),
                offset_of!($rust, $field),
            ));)*
        };
    }
    layout!("chromaflow_array", Array: data, len, r#type, place);
    layout!("chromaflow_array_mut", ArrayMut: data, len, r#type, place);
    layout!("chromaflow_pattern", solver::Pattern: size, rows, nb, base, row_ptr, col_idx, ghosts);
    layout!("chromaflow_set_report", solver::SetReport: size, pivoted, pivoted_row, underflowed, seconds);
    layout!("chromaflow_report", solver::Report: size, outcome, iterations, residual, history, history_len, seconds);
    layout!("chromaflow_shape", lines::Shape: size, lines, rows, rank, periodic, line, row, entry);
    all
}

/// Sizes and places as C and C++ see them, in the order of the header.
#[test]
fn structs_are_what_the_header_says() {
    let mut program =
        String::from("#include <chromaflow.h>\n#include <stdio.h>\n#include <stddef.h>\nint main(void) {\n");
    let mut expected = String::new();
    for (name, value) in layout() {
        let asked = name
            .split_once('.')
            .map_or_else(|| format!("sizeof({name})"), |(of, member)| format!("offsetof({of}, {member})"));
        let _ = writeln!(program, "printf(\"%d\\n\", (int){asked});");
        let _ = writeln!(expected, "{value}");
    }
    program += "return 0;\n}\n";
    let folder = tempfile::tempdir().unwrap();
    for (words, name) in
        [(["gcc", "-std=c99", "-pedantic"], "layout.c"), (["g++", "-std=c++17", "-pedantic"], "layout.cpp")]
    {
        let source = folder.path().join(name);
        std::fs::write(&source, &program).unwrap();
        let Some(program) = compile(folder.path(), &words, &source) else { continue };
        let found = run(words[0], &mut Command::new(program)).unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), expected, "{name}");
    }
}

/// The functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = std::fs::read_to_string(include().join("chromaflow.h")).unwrap();
    let names = header
        .lines()
        .filter(|line| {
            !line.starts_with([' ', '/', '*']) && !line.starts_with("static") && !line.starts_with("typedef")
        })
        .filter_map(|line| line.split_once('(')?.0.split([' ', '*']).next_back())
        .filter(|name| name.starts_with("chromaflow_"));
    names.map(str::to_owned).collect()
}

/// The library gives out the functions that the header declares, and no other name.
#[test]
fn the_library_exports_what_the_header_declares() {
    let declared = declared();
    assert!(declared.len() > 15, "{declared:?}");
    let mut nm = Command::new("nm");
    nm.args(["-D", "--defined-only"]).arg(library().join("libchromaflow_capi.so"));
    let Some(output) = run("nm", &mut nm) else { return };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let exported: BTreeSet<String> =
        text.lines().filter_map(|line| line.split(' ').next_back()).map(str::to_owned).collect();
    assert_eq!(exported, declared);
}

/// What programs that are built rely on, in a file: lines may come, none may change or go while the interface has this number.
#[test]
fn the_binary_interface_is_as_promised() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/interface-1.txt");
    let mut text = String::new();
    for name in declared() {
        let _ = writeln!(text, "{name}()");
    }
    for (name, value) in layout() {
        let _ = writeln!(text, "{name} {value}");
    }
    if std::env::var_os("CHROMAFLOW_UPDATE").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let promised = std::fs::read_to_string(&path).unwrap();
    assert_eq!(text, promised, "CHROMAFLOW_UPDATE=1 writes {}; look at what it changes", path.display());
}

#[test]
fn versions_are_said_once() {
    let read =
        |name: &str| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let api = read("include/chromaflow.h")
        .lines()
        .find_map(|l| l.strip_prefix("#define CHROMAFLOW_API ")?.parse().ok());
    let (mut found, mut numbers) = (0, [0; 3]);
    let [major, minor, patch] = &mut numbers;
    // SAFETY: four numbers to write to.
    unsafe { chromaflow_capi::json::chromaflow_version(&raw mut found, major, minor, patch) };
    assert_eq!(Some(found), api);
    let release = numbers.map(|n| n.to_string()).join(".");
    assert_eq!(release, env!("CARGO_PKG_VERSION"));
    assert!(read("cmake/chromaflowConfigVersion.cmake").contains(&format!("PACKAGE_VERSION \"{release}\"")));
    assert!(read("build.rs").contains(&format!("libchromaflow.so.{found}")));
    assert!(read("Cargo.toml").contains(&format!("version = \"{found}.0.0\"")));
}

#[test]
fn options_are_listed_as_json() {
    // SAFETY: a text that lives as long as the library.
    let text = unsafe { std::ffi::CStr::from_ptr(chromaflow_capi::json::chromaflow_options()) };
    let listed: serde_json::Value = serde_json::from_str(text.to_str().unwrap()).unwrap();
    let names = |of: &str| -> Vec<String> {
        let list = listed[of].as_array().unwrap();
        list.iter().map(|option| option["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("context"), ["threads", "pin", "device"]);
    assert_eq!(names("lines"), ["precision", "pivoting"]);
    assert_eq!(names("comm"), ["patience"]);
    assert!(names("solver").contains(&"preconditioner".to_owned()));
}
