//! The header against the library, and the library against misuse, by the C and C++ compilers of this machine.
#![allow(unsafe_code)]

use chromaflow_capi::arrays::{Array, ArrayMut};
use chromaflow_capi::{lines, solver};
use chromaflow_testkit::available;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::mem::offset_of;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// The folder of the shared library that these tests were built with.
fn library() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let folders = [here.parent().unwrap(), here.parent().unwrap().parent().unwrap()];
    let found = folders.into_iter().find(|f| f.join("libchromaflow_capi.so").exists());
    found.expect("cargo has built libchromaflow_capi.so").to_owned()
}

/// Runs a program that may be missing.
fn run(what: &str, command: &mut Command) -> Option<Output> {
    let output = available(what, command.output())?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    Some(output)
}

/// Compiles a program against the library and returns its path.
fn compile(folder: &Path, words: &[&str], source: &Path) -> Option<PathBuf> {
    let program = folder.join("program");
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(include()).arg(source);
    // cargo's library has the SONAME of the installed one.
    let link = folder.join("libchromaflow.so.1");
    if !link.exists() {
        std::os::unix::fs::symlink(library().join("libchromaflow_capi.so"), &link).unwrap();
        std::os::unix::fs::symlink(&link, folder.join("libchromaflow.so")).unwrap();
    }
    command.arg("-o").arg(&program).arg("-L").arg(folder).args(["-lchromaflow", "-lm", "-lpthread"]);
    command.arg(format!("-Wl,-rpath,{}", folder.display()));
    run(words[0], &mut command).map(|_| program)
}

/// A program of this folder ends well and prints nothing.
fn misuse(words: &[&str], name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
    let modules = format!("-J{}", folder.path().display());
    let module = include().join("chromaflow.f90").display().to_string();
    let fortran: &[&str] = if words[0] == "gfortran" { &[&modules, &module] } else { &[] };
    let Some(program) = compile(folder.path(), &[words, fortran].concat(), &source) else { return };
    let output = run(words[0], Command::new(program).env_remove("CHROMAFLOW_OPTIONS")).unwrap();
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn every_misuse_in_c_has_its_status_and_text() {
    misuse(&["gcc", "-std=c11"], "misuse.c");
}

/// No byte out of place, none lost.
#[test]
fn valgrind_finds_nothing_in_any_misuse() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/misuse.c");
    let Some(program) = compile(folder.path(), &["gcc", "-std=c11"], &source) else { return };
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9"]);
    run("valgrind", command.arg(program).arg("memcheck").env_remove("CHROMAFLOW_OPTIONS"));
}

#[test]
fn every_misuse_in_cpp_is_an_exception() {
    misuse(&["g++", "-std=c++17"], "misuse.cpp");
}

#[test]
fn every_misuse_in_fortran_has_its_stat_and_errmsg() {
    misuse(&["gfortran", "-std=f2018", "-fcheck=all", "-Wno-compare-reals"], "misuse.f90");
}

#[test]
fn threads_and_memory_that_the_system_refuses_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("refused.c");
    let text = r#"#include <chromaflow.h>
        static int32_t row_ptr[10001], col_idx[10000];
        int main(void) {
          chromaflow_context *c;
          chromaflow_solver *s;
          chromaflow_pattern p = {sizeof p, 10000, 128, 0, chromaflow_in_i32(row_ptr, 10001), chromaflow_in_i32(col_idx, 10000), 0};
          for (int i = 0; i < 10000; i++) col_idx[i] = i, row_ptr[i + 1] = i + 1;
          if (chromaflow_context_create("threads=100000", 0, &c) != CHROMAFLOW_NO_MEMORY) return 1;
          if (chromaflow_context_create("threads=1", 0, &c) != CHROMAFLOW_OK) return 2;
          return chromaflow_solver_create(c, &p, 0, &s) == CHROMAFLOW_NO_MEMORY ? 0 : 3;
        }"#;
    std::fs::write(&source, text).unwrap();
    let Some(program) = compile(folder.path(), &["gcc", "-std=c99"], &source) else { return };
    // A gigabyte has room for the stacks of some hundred threads, and for a third of the matrix.
    let script = format!("ulimit -v 1000000 && exec {}", program.display());
    let output = run("sh", Command::new("sh").args(["-c", &script])).unwrap();
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

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

/// The C program against the library under the address sanitizer: what is lent is neither read nor written beyond its ends.
#[test]
fn the_address_sanitizer_finds_nothing_in_any_misuse() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/misuse.c");
    let words = ["gcc", "-std=c11", "-g", "-fsanitize=address"];
    let Some(program) = compile(folder.path(), &words, &source) else { return };
    run("asan", Command::new(program).arg("memcheck").env_remove("CHROMAFLOW_OPTIONS"));
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
    assert!(names("solver").contains(&"preconditioner".to_owned()));
}
