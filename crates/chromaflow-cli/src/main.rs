//! The `chromaflow` command.
fn main() {}
