//! An installed Chromaflow without cargo-c: library, headers, pkg-config and CMake files below a prefix.

use crate::run;
use std::fs;
use std::path::{Path, PathBuf};

/// The number of the interface, as in `chromaflow.h`.
const API: &str = "1";

/// Where cargo builds.
pub fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| run::root().join("target"), |dir| run::root().join(dir))
}

/// Copies a file.
pub fn copy(from: &Path, to: &Path) -> Result<(), String> {
    fs::create_dir_all(to.parent().unwrap_or(to)).map_err(|e| format!("{}: {e}", to.display()))?;
    fs::copy(from, to).map(drop).map_err(|e| format!("{} to {}: {e}", from.display(), to.display()))
}

/// Puts what a built `chromaflow-capi` of this profile consists of below `prefix`.
pub fn install(prefix: &Path, profile: &str) -> Result<(), String> {
    let capi = run::root().join("crates/chromaflow-capi");
    let built = target().join(profile);
    let (lib, shared) = (prefix.join("lib"), format!("libchromaflow.so.{API}"));
    copy(&built.join("libchromaflow_capi.so"), &lib.join(&shared))?;
    let link = lib.join("libchromaflow.so");
    let _ = fs::remove_file(&link);
    std::os::unix::fs::symlink(&shared, &link).map_err(|e| format!("{}: {e}", link.display()))?;
    for header in ["chromaflow.h", "chromaflow.hpp", "chromaflow.f90"] {
        copy(&capi.join("include").join(header), &prefix.join("include").join(header))?;
    }
    for file in ["chromaflowConfig.cmake", "chromaflowConfigVersion.cmake"] {
        copy(&capi.join("cmake").join(file), &prefix.join("share/chromaflow/cmake").join(file))?;
    }
    let text = format!(
        "prefix={}\nlibdir=${{prefix}}/lib\nincludedir=${{prefix}}/include\n\n\
         Name: chromaflow\nDescription: Block-sparse linear solvers for implicit flow codes\nVersion: {}\n\
         Libs: -L${{libdir}} -lchromaflow\nCflags: -I${{includedir}}\n",
        prefix.display(),
        env!("CARGO_PKG_VERSION"),
    );
    let file = lib.join("pkgconfig/chromaflow.pc");
    fs::create_dir_all(lib.join("pkgconfig")).map_err(|e| e.to_string())?;
    fs::write(&file, text).map_err(|e| format!("{}: {e}", file.display()))
}

/// `cargo xtask install PREFIX`: a release build, installed.
pub fn command(args: &[String]) -> Result<(), String> {
    let [prefix] = args else { return Err("usage: cargo xtask install PREFIX".to_owned()) };
    run::cargo(&["build", "--release", "--package", "chromaflow-capi"])?;
    let prefix = std::path::absolute(prefix).map_err(|e| format!("{prefix}: {e}"))?;
    install(&prefix, "release")?;
    println!("installed below {}", prefix.display());
    Ok(())
}
