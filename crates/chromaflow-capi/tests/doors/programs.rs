//! Programs in other languages against the library that these tests were built with, by the compilers of this machine.

use chromaflow_testkit::available;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The compilers of the doors.
pub const C: &[&str] = &["gcc", "-std=c11"];
pub const CPP: &[&str] = &["g++", "-std=c++17"];
pub const FORTRAN: &[&str] = &["gfortran", "-std=f2018", "-fcheck=all", "-Wno-compare-reals"];

pub fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// The folder of the shared library that these tests were built with.
pub fn library() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    let folders = [here.parent().unwrap(), here.parent().unwrap().parent().unwrap()];
    let found = folders.into_iter().find(|f| f.join("libchromaflow_capi.so").exists());
    found.expect("cargo has built libchromaflow_capi.so").to_owned()
}

/// Runs a program that may be missing.
pub fn run(what: &str, command: &mut Command) -> Option<Output> {
    let output = available(what, command.output())?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{out}{err}", output.status);
    Some(output)
}

/// Compiles a program of the folder `programs` beside this one against the library, of Fortran with its module.
pub fn build(folder: &Path, words: &[&str], name: &str) -> Option<PathBuf> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name);
    let modules = format!("-J{}", folder.display());
    let module = include().join("chromaflow.f90").display().to_string();
    let fortran: &[&str] = if words[0] == "gfortran" { &[&modules, &module] } else { &[] };
    compile(folder, &[words, fortran].concat(), &source)
}

/// Compiles a program against the library and returns its path.
pub fn compile(folder: &Path, words: &[&str], source: &Path) -> Option<PathBuf> {
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
