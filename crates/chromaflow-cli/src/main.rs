//! The `chromaflow` command; see the library of the same crate.

fn main() -> std::process::ExitCode {
    chromaflow_cli::main()
}
