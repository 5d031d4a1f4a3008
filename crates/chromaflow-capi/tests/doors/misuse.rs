//! Every misuse through every door that is compiled: status and text, no crash, nothing printed; and 1,000 times new values and a solve,
//! whose memory the programs count themselves.

use crate::programs::{C, CPP, FORTRAN, build, compile, run};
use std::process::Command;

/// A program ends well and prints nothing.
fn misuse(words: &[&str], name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = build(folder.path(), words, name) else { return };
    let output = run(words[0], Command::new(program).env_remove("CHROMAFLOW_OPTIONS")).unwrap();
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn every_misuse_in_c_has_its_status_and_text() {
    misuse(C, "misuse.c");
}

#[test]
fn every_misuse_in_cpp_is_an_exception() {
    misuse(CPP, "misuse.cpp");
}

#[test]
fn every_misuse_in_fortran_has_its_stat_and_errmsg() {
    misuse(FORTRAN, "misuse.f90");
}

/// No byte out of place, none lost.
fn valgrind(words: &[&str], name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let Some(program) = build(folder.path(), words, name) else { return };
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--leak-check=full", "--errors-for-leak-kinds=definite", "--error-exitcode=9"]);
    run("valgrind", command.arg(program).arg("memcheck").env_remove("CHROMAFLOW_OPTIONS"));
}

#[test]
fn valgrind_finds_nothing_in_any_misuse_in_c() {
    valgrind(C, "misuse.c");
}

#[test]
fn valgrind_finds_nothing_in_any_misuse_in_cpp() {
    valgrind(CPP, "misuse.cpp");
}

#[test]
fn valgrind_finds_nothing_in_any_misuse_in_fortran() {
    valgrind(FORTRAN, "misuse.f90");
}

/// The program under the address sanitizer: what is lent is neither read nor written beyond its ends, what is freed is not used, and nothing
/// is lost.
fn sanitizer(words: &[&str], name: &str) {
    let folder = tempfile::tempdir().unwrap();
    let words = [words, &["-g", "-fsanitize=address"]].concat();
    let Some(program) = build(folder.path(), &words, name) else { return };
    run("asan", Command::new(program).arg("memcheck").env_remove("CHROMAFLOW_OPTIONS"));
}

#[test]
fn the_address_sanitizer_finds_nothing_in_any_misuse_in_c() {
    sanitizer(C, "misuse.c");
}

#[test]
fn the_address_sanitizer_finds_nothing_in_any_misuse_in_cpp() {
    sanitizer(CPP, "misuse.cpp");
}

#[test]
fn the_address_sanitizer_finds_nothing_in_any_misuse_in_fortran() {
    sanitizer(FORTRAN, "misuse.f90");
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
          if (chromaflow_context_create("threads=1000", 0, &c) != CHROMAFLOW_NO_MEMORY) return 1;
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
