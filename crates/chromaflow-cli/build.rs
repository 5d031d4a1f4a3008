//! Takes machine code of GPU kernels into the program where `CHROMAFLOW_KERNELS` names a pack of them
//! (`cargo xtask kernels --pack FILE`): its first run on a GPU then compiles nothing.

fn main() {
    println!("cargo:rustc-check-cfg=cfg(kernels)");
    println!("cargo:rerun-if-env-changed=CHROMAFLOW_KERNELS");
    println!("cargo:rerun-if-changed=build.rs");
    let Some(pack) = std::env::var_os("CHROMAFLOW_KERNELS").filter(|p| !p.is_empty()) else { return };
    let path = std::path::PathBuf::from(pack);
    let path = std::fs::canonicalize(&path)
        .unwrap_or_else(|e| panic!("CHROMAFLOW_KERNELS names {}, which cannot be read: {e}", path.display()));
    println!("cargo:rerun-if-changed={}", path.display());
    println!("cargo:rustc-env=CHROMAFLOW_KERNEL_PACK={}", path.display());
    println!("cargo:rustc-cfg=kernels");
}
