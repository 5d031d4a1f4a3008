//! The `chromaflow` command; see the library of the same crate.

/// Meshes and their graphs are large arrays that threads touch first all at once.
#[global_allocator]
static MEMORY: chromaflow_device::LargePages = chromaflow_device::LargePages;

fn main() -> std::process::ExitCode {
    chromaflow_device::keep_freed();
    chromaflow_cli::main()
}
