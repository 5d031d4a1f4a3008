//! The project's own commands: `cargo xtask test | check | kernels | bench | gpu-bundle`.
fn main() {}
